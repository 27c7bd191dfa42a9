/* convert.c - vectors from one precision to another on the CPU: the only kernel file that sees two.
 * One table for each instruction set. All precisions share one order of sites, so this streams. A
 * row (one component of the W lanes) is widened to double, added if asked for, and rounded once;
 * half takes a whole unit (ncomp rows) to find its scale (lib/math/half.h). The sums are of the
 * stored values, as in update.c. */
#if !defined(KAON_PREC_DOUBLE) && !defined(KAON_PREC_SINGLE) && !defined(KAON_PREC_HALF)
#define KAON_PREC_HALF /* vreal: W floats, and int16 loads and stores */
#endif
#include <string.h>

#include "blas/blas_ops.h"
#include "lib/kernel.h"
#include "lib/cpu/reduce.h"
#include "lib/math/half.h"
#include "lib/math/vreal.h"

enum { DOUBLE, SINGLE, HALF };

/* One double a lane; loops over lanes become vector instructions. */
typedef struct row {
  double lane[KAON_W];
} row;

#define LANES _Pragma("omp simd") for (int l = 0; l < KAON_W; l++)

/* A unit: ncomp rows. step: what integers are worth (half). */
typedef struct unit {
  void *data;
  float *scale;
  float step[KAON_W];
} unit;

KAON_INLINE size_t bytes_of(const int precision) {
  return precision == DOUBLE ? 8 : precision == SINGLE ? 4 : 2;
}

KAON_INLINE unit unit_at(const kaon_convert_args *args, int operand, const int precision,
                         int64_t at) {
  unit u = {.data = (char *)args->v[operand].data +
                    (size_t)(at * args->shape.ncomp * KAON_W) * bytes_of(precision)};
  if (precision != HALF) return u;
  u.scale = args->v[operand].scale + at * KAON_W;
  LANES u.step[l] = kaon_half_unit(u.scale[l]);
  return u;
}

KAON_INLINE row load(const unit *u, const int precision, int c) {
  row r;
  if (precision == DOUBLE) {
    const double *p = (const double *)u->data + c * KAON_W;
    LANES r.lane[l] = p[l];
  } else if (precision == SINGLE) {
    const float *p = (const float *)u->data + c * KAON_W;
    LANES r.lane[l] = (double)p[l];
  } else {
    const int16_t *p = (const int16_t *)u->data + c * KAON_W;
    LANES r.lane[l] = (double)((float)p[l] * u->step[l]);
  }
  return r;
}

KAON_INLINE row load_sum(const unit *from, const int from_precision, const unit *to,
                         const int to_precision, const int add, int c) {
  row r = load(from, from_precision, c);
  if (!add) return r;
  const row old = load(to, to_precision, c);
  LANES r.lane[l] += old.lane[l];
  return r;
}

KAON_INLINE void convert_rows(const unit *from, const int from_precision, const unit *to,
                              const int to_precision, const int add, int ncomp) {
  for (int c = 0; c < ncomp; c++) {
    const row r = load_sum(from, from_precision, to, to_precision, add, c);
    if (to_precision == DOUBLE) {
      double *p = (double *)to->data + c * KAON_W;
      LANES p[l] = r.lane[l];
    } else {
      float *p = (float *)to->data + c * KAON_W;
      LANES p[l] = (float)r.lane[l];
    }
  }
}

/* x * 0 is NaN for NaN and infinity: it spoils the scale. */
KAON_INLINE void convert_half(const unit *from, const int from_precision, unit *to, const int add,
                              int ncomp) {
  float values[KAON_HALF_COMPONENTS * KAON_W] __attribute__((aligned(64)));
  float factor[KAON_W] __attribute__((aligned(64)));
  vreal largest = v_set(0), poison = v_set(0);
  for (int c = 0; c < ncomp; c++) {
    const row r = load_sum(from, from_precision, to, HALF, add, c);
    float *p = values + c * KAON_W;
    LANES p[l] = (float)r.lane[l];
    largest = v_max(largest, v_abs(v_load_real(p)));
    poison = v_fma(v_load_real(p), v_set(0), poison);
  }
  v_store_real(factor, largest);
  LANES factor[l] = kaon_half_factor(factor[l]);
  int16_t *integers = to->data;
  for (int c = 0; c < ncomp; c++)
    v_store_int16(integers + c * KAON_W, v_load_real(values + c * KAON_W) * v_load_real(factor));
  v_store_real(to->scale, largest + poison);
  LANES to->step[l] = kaon_half_unit(to->scale[l]);
}

KAON_INLINE double unit_norm(const unit *u, const int precision, int ncomp) {
  row sum = {{0}};
  for (int c = 0; c < ncomp; c++) {
    const row r = load(u, precision, c);
    LANES sum.lane[l] += r.lane[l] * r.lane[l];
  }
  for (int n = KAON_W / 2; n > 0; n /= 2)
    for (int l = 0; l < n; l++) sum.lane[l] += sum.lane[l + n];
  return sum.lane[0];
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

static void convert_chunk(const kaon_convert_args *args, int64_t begin, int64_t end,
                          double *partial) {
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
  const int64_t nblocks = args->shape.nblocks;
  const int nrhs = args->shape.nrhs, threads = launch->threads;
  const int wanted = args->sum.state != NULL && args->sum.slot[0] != KAON_NO_SLOT;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int t = 0; t < threads; t++) {
    const int last = kaon_chunk_of_thread(nblocks, t + 1, threads);
    for (int chunk = kaon_chunk_of_thread(nblocks, t, threads); chunk < last; chunk++) {
      double *partial = NULL;
      if (wanted) {
        kaon_partial_clear(launch->partials, chunk, nrhs, 1);
        partial = kaon_partial(launch->partials, chunk, 0, nrhs, 1);
      }
      convert_chunk(args, kaon_chunk_begin(nblocks, chunk), kaon_chunk_begin(nblocks, chunk + 1),
                    partial);
    }
  }
  kaon_reduce_finish(launch->partials, nblocks, nrhs, &args->gate, &args->sum, 1);
}

const kaon_convert_ops KAON_PASTE3(kaon, convert_ops, KAON_ISA_NAME) = {.convert = convert};
