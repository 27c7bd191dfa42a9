/* tuning.h - how kernels are launched, where a measurement knows better than the rule. Without it
 * every choice is by rule, the same in every run; `kaon tune` measures and writes a file, which
 * `--tuning FILE` passes back through kaon_context_set_tuning.
 *
 * Determinism: results never depend on timings. Fields that kernels write have the same bits under
 * every choice on the CPU; on a GPU kaon tune keeps the choices that left the bits of the field
 * alone, but sums may be taken over other chunks, so there a tuning is part of what fixes the bits:
 * the same tuning, the same bits. */
#ifndef KAON_TUNING_H
#define KAON_TUNING_H

#include <stdint.h>
#include <kaon/context.h>
#include <kaon/vector.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels that have choices. */
typedef enum kaon_tuned {
  KAON_TUNED_HOP,   /* the hop of Wilson-like operators, with all that is fused into it */
  KAON_TUNED_VECTOR /* updates of vectors */
} kaon_tuned;

typedef enum kaon_choice { KAON_BY_RULE, KAON_OFF, KAON_ON } kaon_choice;

/* One choice and what it is for: kernel, precision, reals a link (18, 12, 8; 0 for vectors) and
 * columns as here, on a lattice (or matrix) of about `sites`: of several entries the nearest
 * counts, and none that is more than twice as large or small. 0 in a choice: by rule. */
typedef struct kaon_tuning_entry {
  kaon_tuned kernel;
  kaon_precision precision;
  int reconstruct;
  int columns;
  int64_t sites; /* of both parities */
  /* CPU */
  kaon_choice prefetch; /* hop: ask for the next site's data while this one is computed */
  int level;            /* hop: where it asks, into this level of cache: 1 or 2 */
  kaon_choice stream;   /* store past the caches; of vectors: zero and copy */
  /* CUDA; a kernel that was not compiled for a choice goes by its rule */
  int threads; /* hop: sites of a block; a power of two, 32 to 1024; 32: two threads share a site */
  int group;   /* hop: columns that a thread takes, 1 to 16; from 4 on one after another */
  int blocks;  /* vectors, where nothing is summed: at most so many a column, up to 65535 */
} kaon_tuning_entry;

/* What was measured where. Strings as kaon_version and kaon_context_query give them. */
typedef struct kaon_tuning {
  const char *version, *backend, *device, *isa;
  int count;
  const kaon_tuning_entry *entries;
} kaon_tuning;

/* The context goes by `tuning` (copied) from its next launch on; NULL: by rule again. Not during a
 * solve. Not collective, but ranks must be given the same. Errors, after which the context is as
 * before: ARGUMENT (another version, backend, device or instruction set; an entry out of range, for
 * another backend, or twice), MEMORY. */
kaon_status kaon_context_set_tuning(kaon_context *ctx, const kaon_tuning *tuning);

#ifdef __cplusplus
}
#endif
#endif
