/* config.c - environment variables: KAON_BACKEND, KAON_ISA, OMP_NUM_THREADS. No other code outside
 * interfaces/ reads the environment. The library sets one variable, NCCL_NVLS_ENABLE. */
#include "lib/core/config.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/error.h"

typedef struct named_value {
  const char *name;
  int value;
} named_value;

static kaon_status look_up(const char *variable, const named_value *names, int *value) {
  const char *text = getenv(variable);
  if (text == NULL || text[0] == '\0') return KAON_OK;
  for (const named_value *n = names; n->name != NULL; n++)
    if (strcmp(n->name, text) == 0) {
      *value = n->value;
      return KAON_OK;
    }
  char allowed[128] = "";
  for (const named_value *n = names; n->name != NULL; n++) {
    if (n != names) strcat(allowed, ", ");
    strcat(allowed, n->name);
  }
  return kaon_fail(NULL, KAON_ERR_ARGUMENT, "environment: %s is \"%s\" but must be one of %s",
                   variable, text, allowed);
}

kaon_status kaon_config_backend(kaon_backend_kind *backend) {
  static const named_value names[] = {{"auto", KAON_BACKEND_AUTO},
                                      {"cpu", KAON_BACKEND_CPU},
                                      {"cuda", KAON_BACKEND_CUDA},
                                      {NULL, 0}};
  int value = *backend;
  if (value == KAON_BACKEND_AUTO) KAON_TRY(look_up("KAON_BACKEND", names, &value));
  *backend = (kaon_backend_kind)value;
  return KAON_OK;
}

kaon_status kaon_config_isa(kaon_isa *isa) {
  static const named_value names[] = {{"auto", KAON_ISA_AUTO},     {"scalar", KAON_ISA_SCALAR},
                                      {"x86-64", KAON_ISA_X86_64}, {"avx2", KAON_ISA_AVX2},
                                      {"avx512", KAON_ISA_AVX512}, {NULL, 0}};
  int value = *isa;
  if (value == KAON_ISA_AUTO) KAON_TRY(look_up("KAON_ISA", names, &value));
  *isa = (kaon_isa)value;
  return KAON_OK;
}

int kaon_config_threads(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  if (text != NULL) {
    char *end = NULL;
    long n = strtol(text, &end, 10);
    if (end != text && n >= 1 && n <= 4096) return (int)n;
  }
  return omp_get_num_procs(); /* of the process: OMP_PROC_BIND may bind this thread to one */
}

void kaon_config_no_multicast(void) {
  setenv("NCCL_NVLS_ENABLE", "0", 1);
}
