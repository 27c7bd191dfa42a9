/* convert.c - converts vectors between precisions on the CPU. It is the only kernel file that uses
 * two precisions; there is one table for each instruction set.
 * All precisions share one order of sites, so the conversion streams. A row (one component of the W
 * lanes) is widened to double, added to the target if requested, and rounded once. Half needs a
 * whole unit (ncomp rows) to find its scale (lib/math/half.h). The norm is that of the stored
 * values, summed in double. */
#if !defined(KAON_PREC_DOUBLE) && !defined(KAON_PREC_SINGLE) && !defined(KAON_PREC_HALF)
#define KAON_PREC_HALF /* vreal is then W floats with int16 loads and stores */
#endif
#include <string.h>

#include "blas/blas_ops.h"
#include "lib/core/kernel.h"
#include "lib/cpu/reduce.h"
#include "lib/cpu/team.h"
#include "lib/math/vreal.h"
#include "lib/cpu/quantise.h"
#include "lib/cpu/wide.h"

enum { DOUBLE, SINGLE, HALF };

/* A unit: one column of one block, ncomp rows. step: factor from integers to values (half). */
typedef struct unit {
  void *data;
  float *scale;
  vreal step;
} unit;

KAON_INLINE size_t bytes_of(const int precision) {
  return precision == DOUBLE ? 8 : precision == SINGLE ? 4 : 2;
}

KAON_INLINE unit unit_at(const kaon_convert_args *args, int operand, const int precision,
                         int64_t at) {
  unit u;
  u.data = (char *)args->v[operand].data +
           (size_t)(at * args->shape.ncomp * KAON_W) * bytes_of(precision);
  u.scale = NULL;
  u.step = v_set(0);
  if (precision != HALF) return u;
  u.scale = args->v[operand].scale + at * KAON_W;
  u.step = v_load_real(u.scale) * v_set(KAON_HALF_STEP);
  return u;
}

KAON_INLINE vwide load(const unit *u, const int precision, int c) {
  if (precision == DOUBLE) return w_load((const double *)u->data + c * KAON_W);
  if (precision == SINGLE) return w_from(v_load_real((const float *)u->data + c * KAON_W));
  return w_from(v_from_int(v_load_int16((const int16_t *)u->data + c * KAON_W)) * u->step);
}

KAON_INLINE vwide load_sum(const unit *from, const int from_precision, const unit *to,
                           const int to_precision, const int add, int c) {
  const vwide x = load(from, from_precision, c);
  return add ? w_add(load(to, to_precision, c), x) : x;
}

KAON_INLINE void convert_rows(const unit *from, const int from_precision, const unit *to,
                              const int to_precision, const int add, int ncomp) {
  for (int c = 0; c < ncomp; c++) {
    const vwide x = load_sum(from, from_precision, to, to_precision, add, c);
    if (to_precision == DOUBLE)
      w_store((double *)to->data + c * KAON_W, x);
    else
      v_store_real((float *)to->data + c * KAON_W, w_to_real(x));
  }
}

KAON_INLINE void convert_half(const unit *from, const int from_precision, unit *to, const int add,
                              int ncomp) {
  float values[KAON_HALF_COMPONENTS * KAON_W] __attribute__((aligned(64)));
  vreal largest = v_set(0);
  for (int c = 0; c < ncomp; c++) {
    const vreal x = w_to_real(load_sum(from, from_precision, to, HALF, add, c));
    v_store_real(values + c * KAON_W, x);
    largest = quantise_largest(largest, x);
  }
  quantise_store(to->data, to->scale, values, ncomp, largest);
  to->step = largest * v_set(KAON_HALF_STEP);
}

/* Zero has zero bits in every precision. */
KAON_INLINE void clear_unit(const unit *u, const int precision, int ncomp) {
  memset(u->data, 0, (size_t)ncomp * KAON_W * bytes_of(precision));
  if (precision == HALF) memset(u->scale, 0, KAON_W * sizeof *u->scale);
}

KAON_INLINE double unit_norm(const unit *u, const int precision, int ncomp) {
  vwide sum = w_zero();
  for (int c = 0; c < ncomp; c++) {
    const vwide x = load(u, precision, c);
    sum = w_fma(x, x, sum);
  }
  return w_sum(sum);
}

KAON_INLINE void convert_unit(const kaon_convert_args *args, const int from_precision,
                              const int to_precision, int64_t at, double *partial) {
  const int ncomp = args->shape.ncomp;
  const unit from = unit_at(args, 0, from_precision, at);
  unit to = unit_at(args, 1, to_precision, at);
  if (to_precision == HALF && args->add)
    convert_half(&from, from_precision, &to, 1, ncomp);
  else if (to_precision == HALF)
    convert_half(&from, from_precision, &to, 0, ncomp);
  else if (args->add)
    convert_rows(&from, from_precision, &to, to_precision, 1, ncomp);
  else
    convert_rows(&from, from_precision, &to, to_precision, 0, ncomp);
  if (args->clear) clear_unit(&from, from_precision, ncomp);
  if (partial != NULL) *partial += unit_norm(&to, to_precision, ncomp);
}

KAON_INLINE void convert_blocks(const kaon_convert_args *args, const int from, const int to,
                                int64_t begin, int64_t end, double *partial) {
  for (int64_t block = begin; block < end; block++)
    for (int k = 0; k < args->shape.nrhs; k++)
      if (kaon_gate_open(&args->gate, k))
        convert_unit(args, from, to, block * args->shape.nrhs + k,
                     partial == NULL ? NULL : partial + 2 * k);
}

static void convert_chunk(const void *job, int chunk, double *partial) {
  const kaon_convert_args *args = job;
  const int64_t begin = kaon_chunk_begin(args->shape.nblocks, chunk),
                end = kaon_chunk_begin(args->shape.nblocks, chunk + 1);
#define PAIR(from_, to_)                                   \
  case 3 * from_ + to_:                                    \
    convert_blocks(args, from_, to_, begin, end, partial); \
    break;
  switch (3 * args->from + args->to) {
    PAIR(DOUBLE, DOUBLE)
    PAIR(DOUBLE, SINGLE)
    PAIR(DOUBLE, HALF)
    PAIR(SINGLE, DOUBLE)
    PAIR(SINGLE, SINGLE)
    PAIR(SINGLE, HALF)
    PAIR(HALF, DOUBLE)
    PAIR(HALF, SINGLE)
    PAIR(HALF, HALF)
  }
#undef PAIR
}

static void convert(const kaon_launch *launch, const kaon_convert_args *args) {
  const kaon_shape *s = &args->shape;
  const int wanted = args->sum.state != NULL && args->sum.slot[0] != KAON_NO_SLOT;
  const kaon_chunks chunks = {s->nblocks,    s->nrhs, 1, wanted ? launch->partials : NULL,
                              convert_chunk, args};
  const int threads = kaon_team_of(launch, s->nblocks * s->ncomp * s->nrhs * KAON_W);
  kaon_team_run(threads, kaon_chunks_share, &chunks);
  kaon_reduce_finish(launch->partials, s->nblocks, s->nrhs, &args->gate, &args->sum, 1);
}

const kaon_convert_ops KAON_PASTE3(kaon, convert_ops, KAON_ISA_NAME) = {.convert = convert};
