/* update.c - vector updates and reductions on the CPU (blas_ops.h), one table for each instruction
 * set and precision.
 * A span (unit.h) is updated while it is in the first-level cache, then read again for the sums. So
 * sums describe the stored values, rounding to half included, and cost no memory traffic.
 * Order of a sum: components within each lane, a fixed tree over the lanes, spans in block order
 * within a chunk, chunks in order. So the bits do not depend on the number of threads.
 * Error of a sum, relative to the sum of the magnitudes: at most 2^-53 times (values in a lane of a
 * span + 8 + spans in a chunk + chunks). Half adds (ncomp + 2) 2^-24, because its products are
 * added in float over the components of a lane. */
#include <string.h>

enum { OPERANDS = 8, COEFFICIENTS = 4, WRITTEN = 6 };

#include "blas/cpu/block.h"
#include "blas/cpu/entry.h"
#include "lib/math/steps/update.h"
#include "lib/math/steps/update_rows.h"

/* Defines an entry whose units are updated by kaon_update_<entry>. Slot 0 receives |v[norm]|^2, and
 * slot 1 (v[dot], v[norm]) if dot >= 0. */
#define UPDATE_ENTRY(entry, reads, writes, ncoefficients, norm, dot)                          \
  static void entry##_chunk(const kaon_launch *launch, const kaon_update_args *args,          \
                            int64_t begin, int64_t end, double *partial) {                    \
    (void)launch;                                                                             \
    EACH_SPAN(args, begin, end, {                                                             \
      update_unit(args, at, -1, reads, writes, ncoefficients, kaon_update_##entry);           \
      if (partial == NULL) continue;                                                          \
      unit_sum(args, 0, norm, norm, at, partial + 4 * at.column);                             \
      if (dot >= 0) unit_sum(args, 1, dot >= 0 ? dot : 0, norm, at, partial + 4 * at.column); \
    });                                                                                       \
  }                                                                                           \
  ENTRY(entry, 2)

UPDATE_ENTRY(scale, 1, 1, 1, 0, -1)
UPDATE_ENTRY(axpy, 3, 2, 1, 1, 2)
UPDATE_ENTRY(xpay, 3, 2, 1, 1, -1)
UPDATE_ENTRY(axpby, 3, 2, 2, 1, -1)
UPDATE_ENTRY(axpy_xpay, 7, 6, 2, 1, -1)
UPDATE_ENTRY(bicgstab_direction, 7, 2, 2, 1, -1)
UPDATE_ENTRY(bicgstab_solution, 15, 10, 3, 1, 4)

/* Defines an entry by its row: formula kaon_update_<entry>, then the row's sums. */
#define KAON_NORM(slot, i) unit_sum(args, slot, i, i, at, partial);
#define KAON_PRODUCT(slot, i, j) unit_sum(args, slot, i, j, at, partial);
#define KAON_NORM_BESIDE(slot_, i) \
  if (args->sum.slot[slot_] != KAON_NO_SLOT) partial[2 * slot_ + 1] += unit_norm(args, i, at);
#define KAON_X(OP, entry, form, reads, summed, writes, ncoefficients, nslots, ...)        \
  KAON_INLINE void entry##_sums(const kaon_update_args *args, span at, double *partial) { \
    __VA_ARGS__                                                                           \
  }                                                                                       \
  static void entry##_chunk(const kaon_launch *launch, const kaon_update_args *args,      \
                            int64_t begin, int64_t end, double *partial) {                \
    (void)launch;                                                                         \
    EACH_SPAN(args, begin, end, {                                                         \
      update_unit(args, at, -1, reads, writes, ncoefficients, kaon_update_##entry);       \
      if (partial != NULL) entry##_sums(args, at, partial + 2 * nslots * at.column);      \
    });                                                                                   \
  }                                                                                       \
  ENTRY(entry, nslots)
KAON_PIPELINED_ROWS(KAON_X)
#undef KAON_X
#undef KAON_NORM
#undef KAON_PRODUCT
#undef KAON_NORM_BESIDE

/* Writes zeros (from == NULL) or copies the stored bits. If `stream`, stores bypass the cache. */
static void fill(stored *to, const stored *from, int ncomp, int stream) {
  static const stored zeros[KAON_VL] __attribute__((aligned(64)));
  const int count = ncomp * KAON_W;
  if (stream) {
    for (int i = 0; i < count; i += KAON_VL) v_stream_copy(to + i, from != NULL ? from + i : zeros);
  } else if (from != NULL) {
    memcpy(to, from, (size_t)count * sizeof *to);
  } else {
    memset(to, 0, (size_t)count * sizeof *to);
  }
}

KAON_INLINE void fill_units(const kaon_launch *launch, const kaon_update_args *args, span at,
                            const int copied) {
  for (int j = 0;; j++) {
    const unit from = unit_at(args, 0, at.block + j, at.column);
    const unit to = unit_at(args, copied, at.block + j, at.column);
    fill(to.data, copied ? from.data : NULL, args->shape.ncomp, launch->stream_stores);
#if KAON_IS_HALF
    v_store_real(to.scale, copied ? v_load_real(from.scale) : v_set(0));
#endif
    if (span_end(at, j)) return;
  }
}

static void zero_chunk(const kaon_launch *launch, const kaon_update_args *args, int64_t begin,
                       int64_t end, double *partial) {
  (void)partial;
  EACH_SPAN(args, begin, end, { fill_units(launch, args, at, 0); });
}

/* The norm is computed from the source, which has the same bits and is in the cache. */
static void copy_chunk(const kaon_launch *launch, const kaon_update_args *args, int64_t begin,
                       int64_t end, double *partial) {
  EACH_SPAN(args, begin, end, {
    fill_units(launch, args, at, 1);
    if (partial != NULL) unit_sum(args, 0, 0, 0, at, partial + 2 * at.column);
  });
}

ENTRY(zero, 0)
ENTRY(copy, 1)

/* target += sum_i c_i x_i over a group of 1 or 4 operands. */
KAON_INLINE void accumulate_pair(const unit *x, const vcomplex *c, real *target, int64_t i,
                                 const int pair, const int group) {
  vcomplex v[OPERANDS];
  for (int o = 0; o < group; o++) v[o] = unit_pair(&x[o], i, pair);
  v[group] =
      (vcomplex){v_load_real(target + i), pair ? v_load_real(target + i + KAON_W) : v_set(0)};
  if (group == 4)
    kaon_update_axpy4(v, c);
  else
    kaon_update_axpy(v, c);
  v_store_real(target + i, v[group].re);
  if (pair) v_store_real(target + i + KAON_W, v[group].im);
}

/* target: that of the first block. */
KAON_INLINE void accumulate(const kaon_update_args *args, int first, span at, real *target,
                            const int group) {
  const kaon_shape *s = &args->shape;
  unit x[4];
  vcomplex c[COEFFICIENTS];
  for (int o = 0; o < group; o++) {
    x[o] = unit_at(args, first + o, at.block, at.column);
    c[o] = coefficient(args, first + o, at.column);
  }
  for (int j = 0;; j++) {
    int k = 0;
    for (; k + 1 < s->ncomp; k += 2)
      for (int part = 0; part < KAON_PARTS; part++)
        accumulate_pair(x, c, target, k * KAON_W + part * KAON_VL, 1, group);
    if (k < s->ncomp)
      for (int part = 0; part < KAON_PARTS; part++)
        accumulate_pair(x, c, target, k * KAON_W + part * KAON_VL, 0, group);
    if (span_end(at, j)) return;
    for (int o = 0; o < group; o++) unit_step(&x[o], s, s->nrhs);
    target += (int64_t)s->nrhs * s->ncomp * KAON_W;
  }
}

/* y stays in the cache (half: in float) while the x_i are read, four at a time. */
static void multi_axpy_unit(const kaon_update_args *args, span at) {
  unit y = unit_at(args, args->n, at.block, at.column);
#if KAON_IS_HALF
  scratch sum;
  y.target = sum;
  for (int c = 0; c < args->shape.ncomp; c++)
    v_store_real(sum + c * KAON_W, unit_load(&y, c * KAON_W));
#endif
  int i = 0;
  for (; i + 3 < args->n; i += 4) accumulate(args, i, at, y.target, 4);
  for (; i < args->n; i++) accumulate(args, i, at, y.target, 1);
#if KAON_IS_HALF
  for (int c = 0; c < args->shape.ncomp; c++)
    y.largest = quantise_largest(y.largest, v_load_real(sum + c * KAON_W));
  quantise_store(y.data, y.scale, sum, args->shape.ncomp, y.largest);
#endif
}

static void multi_axpy_chunk(const kaon_launch *launch, const kaon_update_args *args, int64_t begin,
                             int64_t end, double *partial) {
  (void)launch;
  EACH_SPAN(args, begin, end, {
    multi_axpy_unit(args, at);
    if (partial != NULL) unit_sum(args, 0, args->n, args->n, at, partial + 2 * at.column);
  });
}

ENTRY(multi_axpy, 1)

static void dot_chunk(const kaon_launch *launch, const kaon_update_args *args, int64_t begin,
                      int64_t end, double *partial) {
  (void)launch;
  if (partial == NULL) return;
  EACH_SPAN(args, begin, end, {
    unit_sum(args, 0, 0, 1, at, partial + 6 * at.column);
    unit_sum(args, 1, 0, 0, at, partial + 6 * at.column);
    unit_sum(args, 2, 1, 1, at, partial + 6 * at.column);
  });
}

ENTRY(dot, 3)

/* |v|^2 of a site. */
KAON_INLINE double site_norm(const unit *u, int ncomp, int lane) {
  double sum = 0;
  for (int c = 0; c < ncomp; c++) {
    const double value = (double)u->data[c * KAON_W + lane];
    sum += value * value;
  }
#if KAON_IS_HALF
  const double step = (double)kaon_half_unit(u->scale[lane]);
  sum *= step * step;
#endif
  return sum;
}

static void site_ratios(const kaon_update_args *args, span at, double sum[2]) {
  const int ncomp = args->shape.ncomp;
  for (int j = 0;; j++) {
    const unit r = unit_at(args, 0, at.block + j, at.column);
    const unit x = unit_at(args, 1, at.block + j, at.column);
    for (int lane = 0; lane < KAON_W; lane++)
      kaon_site_ratio(site_norm(&r, ncomp, lane), site_norm(&x, ncomp, lane), sum);
    if (span_end(at, j)) return;
  }
}

static void site_ratio_chunk(const kaon_launch *launch, const kaon_update_args *args, int64_t begin,
                             int64_t end, double *partial) {
  (void)launch;
  if (partial == NULL) return;
  EACH_SPAN(args, begin, end, { site_ratios(args, at, partial + 2 * at.column); });
}

ENTRY(site_ratio, 1)

/* Partial sums: (v_i, v_n) in slots i < n, |v_n|^2 in slot n. */
static void multi_dot_chunk(const kaon_launch *launch, const kaon_update_args *args, int64_t begin,
                            int64_t end, double *partial) {
  (void)launch;
  const int n = args->n, stride = 2 * (n + 1);
  if (partial == NULL) return;
  EACH_SPAN(args, begin, end, {
    double *sum = partial + stride * at.column;
    int i = 0;
    for (; i + DOT_GROUP <= n; i += DOT_GROUP) unit_dots(args, i, DOT_GROUP, n, at, sum + 2 * i);
    for (; i < n; i++) unit_dot(args, i, n, at, sum + 2 * i);
    if (args->sum.slot[1] != KAON_NO_SLOT) sum[2 * n] += unit_norm(args, n, at);
  });
}

static void multi_dot(const kaon_launch *launch, const kaon_update_args *args) {
  const kaon_shape *s = &args->shape;
  const int nslots = args->n + 1, count = kaon_chunk_count(runs_in(args));
  run_chunks(launch, args, nslots, multi_dot_chunk);
  if (args->sum.state == NULL) return;
  for (int k = 0; k < s->nrhs; k++) {
    if (!kaon_gate_open(&args->gate, k)) continue;
    double total[KAON_REDUCE_MAX] = {0};
    for (int chunk = 0; chunk < count; chunk++) {
      const double *p = kaon_partial(launch->partials, chunk, k, s->nrhs, nslots);
      for (int i = 0; i < 2 * nslots; i++) total[i] += p[i];
    }
    kaon_column_state *state = &args->sum.state[k];
    for (int i = 0; i < nslots; i++) {
      if (i == args->n && args->sum.slot[1] == KAON_NO_SLOT) continue;
      double *slot = state->slot[i < args->n ? args->sum.slot[0] + i : args->sum.slot[1]];
      slot[0] = total[2 * i];
      slot[1] = total[2 * i + 1];
    }
    if (args->sum.then != 0) KAON_EXPORT_ISA(kaon_run_recurrence)(args->sum.then, state);
  }
}

static void recur(const kaon_launch *launch, const kaon_update_args *args) {
  (void)launch;
  for (int k = 0; k < args->shape.nrhs; k++)
    if (kaon_gate_open(&args->gate, k))
      KAON_EXPORT_ISA(kaon_run_recurrence)(args->sum.then, &args->sum.state[k]);
}

/* Entries defined in block.c, under the names of the table. */
static void gram(const kaon_launch *launch, const kaon_update_args *args) {
  KAON_EXPORT(kaon_gram)(launch, args);
}

static void block_axpy(const kaon_launch *launch, const kaon_update_args *args) {
  KAON_EXPORT(kaon_block_axpy)(launch, args);
}

static void block_rotate(const kaon_launch *launch, const kaon_update_args *args) {
  KAON_EXPORT(kaon_block_rotate)(launch, args);
}

const kaon_blas_ops KAON_EXPORT(kaon_blas_ops) = {
#define KAON_X(entry, formula_text) .entry = entry,
    KAON_BLAS_OPS(KAON_X)
#undef KAON_X
};
