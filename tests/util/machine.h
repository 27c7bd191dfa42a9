/* machine.h - what tests loop over: the CPU's instruction sets, then the CUDA device. A machine
 * that is not present is left out with a message. KAON_ISA_AUTO stands for the default:
 * KAON_BACKEND and KAON_ISA, else the best. Device memory is accessed through machine_read and
 * machine_write only. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/context_internal.h"
#include "lib/cpu/backend.h"

enum { MACHINE_CUDA = KAON_ISA_AVX512 + 1, MACHINE_LAST = MACHINE_CUDA };
/* The CPU's best, for tests that read memory directly or play several ranks. */
enum { MACHINE_CPU = -1 };

static inline const char *machine_name(int machine) {
  static const char *const names[] = {"default", "scalar", "x86-64", "avx2", "avx512", "cuda"};
  return machine == MACHINE_CPU ? "cpu" : names[machine];
}

/* A context on it; what kaon_context_create returns. */
static inline kaon_status machine_open(int machine, kaon_context_options options,
                                       kaon_context **ctx) {
  options.backend = machine == MACHINE_CUDA    ? KAON_BACKEND_CUDA
                    : machine == KAON_ISA_AUTO ? KAON_BACKEND_AUTO
                                               : KAON_BACKEND_CPU;
  options.isa =
      machine == MACHINE_CUDA || machine == MACHINE_CPU ? KAON_ISA_AUTO : (kaon_isa)machine;
  return kaon_context_create(&options, ctx);
}

/* The one instruction set that a program runs on under KAON_TEST_BRIEF. All have the same sources, so
 * each program takes one of the processor's, by its name, and the programs together take all. */
static inline int machine_brief(void) {
  extern const char *__progname; /* of the C library: this program's name */
  unsigned hash = 0, count = 0;
  for (const char *c = __progname; *c != '\0'; c++) hash = 31 * hash + (unsigned char)*c;
  for (int isa = KAON_ISA_X86_64; isa <= KAON_ISA_AVX512; isa++)
    count += kaon_cpu_has((kaon_isa)isa) != 0;
  return count == 0 ? KAON_ISA_SCALAR : KAON_ISA_X86_64 + (int)(hash % count);
}

/* 1, with a message, if the machine cannot be used. KAON_TEST_MACHINE names the only one wanted;
 * MACHINE_CPU stands for any but the device. */
static inline int machine_lacks(int machine) {
  static int lacks_device = -1;
  static char why[512];
  const char *only = getenv("KAON_TEST_MACHINE");
  if (machine == MACHINE_CPU) return only != NULL && strcmp(only, machine_name(MACHINE_CUDA)) == 0;
  if (only != NULL && strcmp(only, machine_name(machine)) != 0) return 1;
  if (machine != MACHINE_CUDA && machine != KAON_ISA_AUTO && getenv("KAON_TEST_BRIEF") != NULL &&
      machine != machine_brief())
    return 1;
  if (machine != MACHINE_CUDA) {
    if (kaon_cpu_has((kaon_isa)machine)) return 0;
    printf("%s: not on this processor, skipped\n", machine_name(machine));
    return 1;
  }
  if (lacks_device < 0) {
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    kaon_context *ctx = NULL;
    lacks_device = machine_open(machine, options, &ctx) != KAON_OK;
    snprintf(why, sizeof why, "%s", lacks_device ? kaon_last_error(NULL) : "");
    kaon_context_destroy(&ctx);
  }
  if (lacks_device) printf("cuda: skipped: %s\n", why);
  return lacks_device;
}

/* Device memory in new host memory (free it), and back. */
static inline void *machine_read(kaon_context *ctx, const void *device, size_t bytes) {
  void *host = malloc(bytes);
  if (host == NULL || ctx->backend->memory->to_host(ctx, host, device, bytes) != KAON_OK) {
    printf("machine_read: %s\n", kaon_last_error(ctx));
    abort();
  }
  return host;
}

static inline void machine_write(kaon_context *ctx, void *device, const void *host, size_t bytes) {
  if (ctx->backend->memory->to_device(ctx, device, host, bytes) != KAON_OK) {
    printf("machine_write: %s\n", kaon_last_error(ctx));
    abort();
  }
}

/* A user's array in the machine's memory with the host's contents, and its release; functions
 * whose names end in _device take it. */
static inline void *machine_array(kaon_context *ctx, const void *host, size_t bytes) {
  void *device = NULL;
  if (kaon_pool_allocate(ctx, bytes, "a test's array", &device) != KAON_OK) {
    printf("machine_array: %s\n", kaon_last_error(ctx));
    abort();
  }
  machine_write(ctx, device, host, bytes);
  return device;
}

static inline void machine_array_free(kaon_context *ctx, void *device) {
  kaon_pool_release(ctx, device);
}

#endif
