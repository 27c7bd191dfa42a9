/* precond.c - updates of preconditioned methods on the CPU (blas/precond_ops.h), one table for each
 * instruction set, in double and single. Sums are as in update.c. */
enum { OPERANDS = 10, COEFFICIENTS = 4, WRITTEN = 8 };

#include "blas/cpu/entry.h"
#include "blas/precond_ops.h"
#include "lib/math/steps/precond_step.h"
#include "lib/math/steps/update_rows.h"

#if !KAON_IS_HALF

/* Defines the formulas for each kind of product. */
#define KINDS(entry)                                                 \
  KAON_INLINE void entry##_real(vcomplex *v, const vcomplex *c) {    \
    kaon_precond_##entry(v, c, KAON_SCALED_REAL);                    \
  }                                                                  \
  KAON_INLINE void entry##_complex(vcomplex *v, const vcomplex *c) { \
    kaon_precond_##entry(v, c, KAON_SCALED_COMPLEX);                 \
  }

/* Defines the chunks of an entry: formula <entry>_<kind>, then its `nslots` sums by
 * <entry>_sums. */
#define KIND_CHUNK(entry, kind, shared, reads, writes, ncoefficients, nslots)                 \
  static void entry##_##kind##_chunk(const kaon_launch *launch, const kaon_update_args *args, \
                                     int64_t begin, int64_t end, double *partial) {           \
    (void)launch;                                                                             \
    EACH_SPAN(args, begin, end, {                                                             \
      update_unit(args, at, shared, reads, writes, ncoefficients, entry##_##kind);            \
      if (partial != NULL) entry##_sums(args, at, partial + 2 * nslots * at.column);          \
    });                                                                                       \
  }

#define FINISH(nslots)                                                                           \
  kaon_reduce_finish(launch->partials, runs_in(args), args->shape.nrhs, &args->gate, &args->sum, \
                     nslots)

/* Defines an entry without products. */
#define PLAIN_ENTRY(entry, reads, writes, ncoefficients, nslots)               \
  KINDS(entry)                                                                 \
  KIND_CHUNK(entry, complex, -1, reads, writes, ncoefficients, nslots)         \
  static void entry(const kaon_launch *launch, const kaon_update_args *args) { \
    run_chunks(launch, args, nslots, entry##_complex_chunk);                   \
    FINISH(nslots);                                                            \
  }

/* Defines an entry with products by operand 0, which has one column. */
#define SCALED_ENTRY(entry, reads, writes, ncoefficients, nslots)                       \
  KINDS(entry)                                                                          \
  KIND_CHUNK(entry, real, 0, reads, writes, ncoefficients, nslots)                      \
  KIND_CHUNK(entry, complex, 0, reads, writes, ncoefficients, nslots)                   \
  static void entry(const kaon_launch *launch, const kaon_update_args *args) {          \
    run_chunks(launch, args, nslots,                                                    \
               args->shape.complex_space ? entry##_complex_chunk : entry##_real_chunk); \
    FINISH(nslots);                                                                     \
  }

#define CYCLIC_ENTRY SCALED_ENTRY

/* sum d |v|^2 over a span with real d; of a complex d only the real part counts. */
static double unit_weighted(const kaon_update_args *args, int d, int v, span at) {
  const kaon_shape *s = &args->shape;
  unit ud = unit_shared(args, d, at.block, at.column), uv = unit_at(args, v, at.block, at.column);
  accumulator even = sum_zero(), odd = sum_zero(); /* used alternately */
  for (int j = 0;; j++) {
    for (int k = 0; k < s->ncomp; k++)
      for (int part = 0; part < KAON_PARTS; part++) {
        const int64_t i = k * KAON_W + part * KAON_VL;
        const int64_t w = s->complex_space && k % 2 ? i - KAON_W : i;
        const factor weighted = w_mul(sum_load(&ud, w), sum_load(&uv, i));
        const accumulator longer = sum_fma(weighted, sum_load(&uv, i), even);
        even = odd;
        odd = longer;
      }
    if (span_end(at, j)) break;
    unit_step(&ud, s, args->shared > 1 ? args->shared : 1);
    unit_step(&uv, s, s->nrhs);
  }
  return sum_total(even, odd, &ud, &uv);
}

KAON_INLINE void scaled_sums(const kaon_update_args *args, span at, double *partial) {
  unit_sum(args, 0, 1, 1, at, partial);
  unit_sum(args, 1, 3, 1, at, partial);
}

#define KAON_NORM(slot, i) unit_sum(args, slot, i, i, at, partial);
#define KAON_PRODUCT(slot, i, j) unit_sum(args, slot, i, j, at, partial);
#define KAON_WEIGHTED(slot_, d, i) \
  if (args->sum.slot[slot_] != KAON_NO_SLOT) partial[2 * slot_] += unit_weighted(args, d, i, at);
#define KAON_X(OP, entry, form, reads, summed, writes, ncoefficients, nslots, ...)        \
  KAON_INLINE void entry##_sums(const kaon_update_args *args, span at, double *partial) { \
    (void)args, (void)at, (void)partial;                                                  \
    __VA_ARGS__                                                                           \
  }                                                                                       \
  form##_ENTRY(entry, reads, writes, ncoefficients, nslots)
KAON_PRECOND_ROWS(KAON_X)
#undef KAON_X
#undef KAON_NORM
#undef KAON_PRODUCT
#undef KAON_WEIGHTED

/* The entry that also supports conj(d). */
KINDS(scaled)
KAON_INLINE void scaled_conj(vcomplex *v, const vcomplex *c) {
  kaon_precond_scaled(v, c, KAON_SCALED_CONJ);
}
KIND_CHUNK(scaled, real, 0, 0x5, 0x2, 0, 2)
KIND_CHUNK(scaled, complex, 0, 0x5, 0x2, 0, 2)
KIND_CHUNK(scaled, conj, 0, 0x5, 0x2, 0, 2)

static void scaled(const kaon_launch *launch, const kaon_update_args *args) {
  run_chunks(launch, args, 2,
             !args->shape.complex_space ? scaled_real_chunk
             : args->n == 1             ? scaled_conj_chunk
                                        : scaled_complex_chunk);
  FINISH(2);
}

const kaon_precond_ops KAON_EXPORT(kaon_precond_ops) = {
#define KAON_X(entry, formula_text) .entry = entry,
    KAON_PRECOND_OPS(KAON_X)
#undef KAON_X
};

#endif
