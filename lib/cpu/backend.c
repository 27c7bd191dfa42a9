/* backend.c - the tables of the CPU backend and their selection. */
#include "lib/cpu/backend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef KAON_BUILD_X86
#include <cpuid.h>
#endif

#include "blas/blas_ops.h"
#include "blas/domain_ops.h"
#include "blas/precond_ops.h"
#include "dslash/coarse/coarse_ops.h"
#include "dslash/dslash_ops.h"
#include "dslash/measure/measure_ops.h"
#include "dslash/staggered/staggered_ops.h"
#include "gauge/gauge_ops.h"
#include "lib/core/error.h"
#include "multigrid/transfer_ops.h"
#include "sparse/sparse_ops.h"

#define KAON_TABLES(isa)                                                                      \
  extern const kaon_convert_ops kaon_convert_ops_##isa;                                       \
  extern const kaon_blas_ops kaon_blas_ops_##isa##_d, kaon_blas_ops_##isa##_s,                \
      kaon_blas_ops_##isa##_h;                                                                \
  extern const kaon_domain_ops kaon_domain_ops_##isa##_d, kaon_domain_ops_##isa##_s,          \
      kaon_domain_ops_##isa##_h;                                                              \
  extern const kaon_precond_ops kaon_precond_ops_##isa##_d, kaon_precond_ops_##isa##_s;       \
  extern const kaon_dslash_ops kaon_dslash_ops_##isa##_d, kaon_dslash_ops_##isa##_s,          \
      kaon_dslash_ops_##isa##_h;                                                              \
  extern const kaon_staggered_ops kaon_staggered_ops_##isa##_d, kaon_staggered_ops_##isa##_s, \
      kaon_staggered_ops_##isa##_h;                                                           \
  extern const kaon_gauge_ops kaon_gauge_ops_##isa##_d, kaon_gauge_ops_##isa##_s,             \
      kaon_gauge_ops_##isa##_h;                                                               \
  extern const kaon_measure_ops kaon_measure_ops_##isa##_d, kaon_measure_ops_##isa##_s,       \
      kaon_measure_ops_##isa##_h;                                                             \
  extern const kaon_sparse_ops kaon_sparse_ops_##isa##_d, kaon_sparse_ops_##isa##_s;          \
  extern const kaon_coarse_ops kaon_coarse_ops_##isa##_d, kaon_coarse_ops_##isa##_s;          \
  extern const kaon_transfer_ops kaon_transfer_ops_##isa##_d, kaon_transfer_ops_##isa##_s,    \
      kaon_transfer_ops_##isa##_h;

#define KAON_BACKEND_TABLE(isa_, text, lanes, memory_)                                             \
  {                                                                                                \
    .name = "cpu", .isa = text, .width = lanes, .host_accessible = 1, .memory = &memory_,          \
    .energy = kaon_cpu_energy, .convert = &kaon_convert_ops_##isa_,                                \
    .blas = {&kaon_blas_ops_##isa_##_d, &kaon_blas_ops_##isa_##_s, &kaon_blas_ops_##isa_##_h},     \
    .domain = {&kaon_domain_ops_##isa_##_d, &kaon_domain_ops_##isa_##_s,                           \
               &kaon_domain_ops_##isa_##_h},                                                       \
    .precond = {&kaon_precond_ops_##isa_##_d, &kaon_precond_ops_##isa_##_s, NULL},                 \
    .dslash = {&kaon_dslash_ops_##isa_##_d, &kaon_dslash_ops_##isa_##_s,                           \
               &kaon_dslash_ops_##isa_##_h},                                                       \
    .staggered = {&kaon_staggered_ops_##isa_##_d, &kaon_staggered_ops_##isa_##_s,                  \
                  &kaon_staggered_ops_##isa_##_h},                                                 \
    .measure = {&kaon_measure_ops_##isa_##_d, &kaon_measure_ops_##isa_##_s,                        \
                &kaon_measure_ops_##isa_##_h},                                                     \
    .gauge = {&kaon_gauge_ops_##isa_##_d, &kaon_gauge_ops_##isa_##_s, &kaon_gauge_ops_##isa_##_h}, \
    .sparse = {&kaon_sparse_ops_##isa_##_d, &kaon_sparse_ops_##isa_##_s},                          \
    .coarse = {&kaon_coarse_ops_##isa_##_d, &kaon_coarse_ops_##isa_##_s},                          \
    .transfer = {&kaon_transfer_ops_##isa_##_d, &kaon_transfer_ops_##isa_##_s,                     \
                 &kaon_transfer_ops_##isa_##_h},                                                   \
  }

#define KAON_BACKEND_PAIR(isa, text, lanes)                           \
  {                                                                   \
    KAON_BACKEND_TABLE(isa, text, lanes, kaon_cpu_memory),            \
        KAON_BACKEND_TABLE(isa, text, lanes, kaon_cpu_memory_checked) \
  }

KAON_TABLES(scalar)
static const kaon_backend scalar[2] = KAON_BACKEND_PAIR(scalar, "scalar", 1);
#ifdef KAON_BUILD_X86
KAON_TABLES(x86_64)
KAON_TABLES(avx2)
KAON_TABLES(avx512)
static const kaon_backend x86_64[2] = KAON_BACKEND_PAIR(x86_64, "x86-64", 4);
static const kaon_backend avx2[2] = KAON_BACKEND_PAIR(avx2, "avx2", 8);
static const kaon_backend avx512[2] = KAON_BACKEND_PAIR(avx512, "avx512", 16);
#endif

int kaon_cpu_has(kaon_isa isa) {
  if (isa == KAON_ISA_SCALAR) return 1;
#ifdef KAON_BUILD_X86
  if (isa == KAON_ISA_X86_64) return 1;
  if (isa == KAON_ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == KAON_ISA_AVX512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
  return 0;
}

kaon_status kaon_cpu_backend(kaon_isa isa, int check, const kaon_backend **backend) {
  static const char *const names[] = {"auto", "scalar", "x86-64", "avx2", "avx512"};
  for (int i = KAON_ISA_AVX512; isa == KAON_ISA_AUTO && i >= KAON_ISA_SCALAR; i--)
    if (kaon_cpu_has((kaon_isa)i)) isa = (kaon_isa)i;
  if (isa < KAON_ISA_SCALAR || isa > KAON_ISA_AVX512)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT, "backend: instruction set number %d is not known",
                     (int)isa);
  if (!kaon_cpu_has(isa))
    return kaon_fail(NULL, KAON_ERR_NO_DEVICE,
                     "backend: instruction set %s was asked for, but this processor or build lacks "
                     "it; use isa=auto",
                     names[isa]);
  check = check != 0;
  switch (isa) {
#ifdef KAON_BUILD_X86
    case KAON_ISA_X86_64:
      *backend = &x86_64[check];
      break;
    case KAON_ISA_AVX2:
      *backend = &avx2[check];
      break;
    case KAON_ISA_AVX512:
      *backend = &avx512[check];
      break;
#endif
    default:
      *backend = &scalar[check];
      break;
  }
  return KAON_OK;
}

void kaon_cpu_describe(char *text, size_t room) {
  snprintf(text, room, "unknown processor");
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (file == NULL) return;
  char line[256];
  while (fgets(line, sizeof line, file) != NULL) {
    const char *value = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || value == NULL) continue;
    snprintf(text, room, "%s", value + 2);
    text[strcspn(text, "\n")] = '\0';
    break;
  }
  fclose(file);
}

size_t kaon_cpu_stream_bytes(size_t last, int threads) {
  /* a core's part of a socket's cache */
  const size_t least = (size_t)64 << 20, part = (size_t)threads << 22;
  const size_t most = part > least ? part : least;
  return last < most ? last : most;
}

/* Zen 4 (AMD family 25 with AVX-512): prefetches into the first level compete for the few misses
 * that a core may have outstanding, and hops take up to twice as long. */
int kaon_cpu_prefetch_level(void) {
#ifdef KAON_BUILD_X86
  unsigned a, b, c, d;
  if (__builtin_cpu_is("amd") && __get_cpuid(1, &a, &b, &c, &d)) {
    const unsigned family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
    if (family == 25 && __builtin_cpu_supports("avx512f")) return 2;
  }
#endif
  return 1;
}

/* Read from Linux sysfs, since sysconf reports ten times as much on some AMD machines. */
size_t kaon_cpu_cache_bytes(int level) {
  const size_t usual = level == 2 ? (size_t)1 << 20 : (size_t)32 << 20;
  for (int index = level; index >= 2; index--) { /* without a third level the second is the last */
    char path[80], unit = 0;
    size_t size = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue;
    const int read = fscanf(file, "%zu%c", &size, &unit);
    fclose(file);
    if (read == 2 && size > 0 && (unit == 'K' || unit == 'M'))
      return size << (unit == 'K' ? 10 : 20);
  }
  return usual;
}
