/* vector_fixture.h - operands for tests of vector functions: one context, one space and eight random
 * vectors, each with an image on the host. Functions are static. Include the cmocka preamble
 * before. */
#ifndef VECTOR_FIXTURE_H
#define VECTOR_FIXTURE_H

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

typedef double complex number;

enum { NCOMP = 24, NUMBERS = 12, MULTI = 7, VECTORS = MULTI + 1, OUTPUTS = 6 };
enum { NORM = 600, DOT = 601, FIRST = 500, SENTINEL = -77 };

typedef struct shape_case {
  int extents[4];
  kaon_parity parity;
} shape_case;
static const shape_case shapes[] = {
    {{4, 6, 2, 10}, KAON_ODD}, {{8, 8, 8, 8}, KAON_EVEN}, {{4, 4, 4, 4}, KAON_FULL}};

/* One context, one space, vectors and their host images: host[v][column][site * 12 + i]. */
typedef struct fixture {
  kaon_context *ctx;
  kaon_lattice *lattice;
  const kaon_space *space;
  kaon_precision precision;
  int nrhs;
  int bits_only; /* no host images wanted */
  int filled;    /* `before` is what every filling gives */
  size_t count;  /* numbers of a full-lattice host array */
  kaon_vector *v[VECTORS], *filling[VECTORS];
  number *before[VECTORS], *after[VECTORS], *noise;
  kaon_scalars *scalars;
  kaon_column_state *state;
} fixture;

static uint64_t random_state = 1;

static inline double uniform(void) { /* [-1, 1), splitmix64 */
  uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)(int64_t)(z ^ (z >> 31)) * 0x1p-63;
}

static int check_mode; /* of the contexts that beds make: guard pages, poison */

static inline kaon_context *context_of(int machine, int threads) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  options.check = check_mode;
  kaon_context *ctx = NULL;
  assert_int_equal(machine_open(machine, options, &ctx), KAON_OK);
  return ctx;
}

static inline void export_all(const fixture *b, number *const *to) {
  for (int i = 0; i < VECTORS; i++)
    for (int k = 0; k < b->nrhs; k++)
      must(b->ctx, kaon_vector_export(b->v[i], k, (double *)(to[i] + (size_t)k * b->count),
                                      KAON_BASIS_UKQCD));
}

/* Random vectors; sites differ in magnitude by up to 10^3, as half's scales must. */
static inline void fill(const fixture *b) {
  for (int i = 0; i < VECTORS; i++) must(b->ctx, kaon_vector_copy(b->v[i], b->filling[i]));
}

static inline void make_filling(fixture *b) {
  for (int i = 0; i < VECTORS; i++) {
    must(b->ctx, kaon_vector_create(b->ctx, b->space, b->precision, b->nrhs, &b->filling[i]));
    for (int k = 0; k < b->nrhs; k++) {
      const number *psi = b->noise + (size_t)(i * b->nrhs + k) * 7 * NUMBERS;
      must(b->ctx, kaon_vector_import(b->filling[i], k, (const double *)psi, KAON_BASIS_UKQCD));
    }
  }
}

static inline number *make_noise(size_t count) {
  number *noise = calloc(count, sizeof *noise);
  random_state = 4711;
  for (size_t n = 0; n < count; n++) {
    static const double size[] = {0.03, 30, 1, 0.1, 10, 3, 0.3};
    noise[n] = size[n / NUMBERS % 7] * (uniform() + I * uniform());
  }
  return noise;
}

/* Random coefficients in slots 0 .. 63, all others marked; every third column is closed. */
static inline void reset_scalars(fixture *b) {
  random_state = 17;
  for (int k = 0; k < b->nrhs; k++) {
    b->state[k].gate = k % 3 == 1 ? KAON_GATE_SERVICE : KAON_GATE_STEP;
    for (int s = 0; s < KAON_SLOTS; s++)
      for (int c = 0; c < 2; c++) b->state[k].slot[s][c] = s < 64 ? uniform() : SENTINEL;
  }
  must(b->ctx, kaon_scalars_write(b->scalars, b->state));
}

static inline void fixture_open(fixture *b, int machine, int threads, const shape_case *shape,
                                kaon_precision precision, int nrhs) {
  *b = (fixture){.precision = precision, .nrhs = nrhs};
  b->ctx = context_of(machine, threads);
  must(b->ctx, kaon_lattice_create(b->ctx, shape->extents, KAON_PERIODIC, &b->lattice));
  b->space = kaon_lattice_spinors(b->lattice, shape->parity);
  b->count = (size_t)kaon_lattice_volume(b->lattice) * NUMBERS;
  b->noise = make_noise(b->count + (size_t)(VECTORS * nrhs) * 7 * NUMBERS);
  for (int i = 0; i < VECTORS; i++) {
    must(b->ctx, kaon_vector_create(b->ctx, b->space, precision, nrhs, &b->v[i]));
    b->before[i] = calloc(b->count * (size_t)nrhs, sizeof(number));
    b->after[i] = calloc(b->count * (size_t)nrhs, sizeof(number));
  }
  make_filling(b);
  must(b->ctx, kaon_scalars_create(b->ctx, nrhs, &b->scalars));
  b->state = calloc((size_t)nrhs, sizeof *b->state);
}

static inline void fixture_close(fixture *b) {
  for (int i = 0; i < VECTORS; i++) {
    kaon_vector_destroy(&b->v[i]);
    kaon_vector_destroy(&b->filling[i]);
    free(b->before[i]);
    free(b->after[i]);
  }
  free(b->state);
  free(b->noise);
  kaon_scalars_destroy(&b->scalars);
  kaon_lattice_destroy(&b->lattice);
  kaon_context_destroy(&b->ctx);
}

enum op {
  ZERO,
  COPY,
  SCALE,
  AXPY,
  XPAY,
  AXPBY,
  AXPY_XPAY,
  DIRECTION,
  SOLUTION,
  PIPECG,
  PIPECGNR,
  PIPE_DIRECTION,
  PIPE_SOLUTION,
  MULTI_AXPY,
  DOTS,
  MULTI_DOT,
  OPS
};
static const char *const op_names[] = {"zero",
                                       "copy",
                                       "scale",
                                       "axpy",
                                       "xpay",
                                       "axpby",
                                       "axpy_xpay",
                                       "bicgstab_direction",
                                       "bicgstab_solution",
                                       "pipecg",
                                       "pipecgnr",
                                       "pipebicgstab_direction",
                                       "pipebicgstab_solution",
                                       "multi_axpy",
                                       "dot",
                                       "multi_dot"};

/* Those whose sums are named one by one, in slots FIRST and on. */
static inline int is_pipelined(enum op op) {
  return op == PIPECG || op == PIPECGNR || op == PIPE_DIRECTION || op == PIPE_SOLUTION;
}

/* Coefficient i is slot i, every second one with a minus sign. */
static inline kaon_coefficient coefficient(int i) {
  return i % 2 ? KAON_MINUS(i) : KAON_PLUS(i);
}

static inline kaon_status call(fixture *b, enum op op, kaon_pass pass) {
  kaon_vector **v = b->v;
  kaon_coefficient c[MULTI];
  for (int i = 0; i < MULTI; i++) c[i] = coefficient(i);
  const int slots[3] = {DOT, NORM, FIRST}, first[4] = {FIRST, FIRST + 1, FIRST + 2, FIRST + 3};
  const kaon_pipecg_vectors cg = {
      .q = v[0], .z = v[1], .w = v[2], .s = v[3], .r = v[4], .p = v[5], .x = v[6]};
  const kaon_pipecgnr_vectors cgnr = {.u = v[0], .s = v[1], .r = v[2], .p = v[3], .x = v[4]};
  const kaon_pipebicgstab_vectors direction = {
      .r = v[0], .w = v[1], .t = v[2], .p = v[3], .s = v[4], .z = v[5], .v = v[6], .r0 = v[7]};
  const kaon_pipebicgstab_vectors solution = {
      .p = v[0], .r = v[1], .w = v[2], .t = v[3], .v = v[4], .x = v[5], .r0 = v[6]};
  pass.norm = op == ZERO || op == DOTS || is_pipelined(op) ? KAON_NO_SLOT : NORM;
  if (op == AXPY || op == SOLUTION) {
    pass.dot = DOT;
    pass.w = v[4];
  }
  switch (op) {
    case ZERO:
      return kaon_blas_zero(v[0], &pass);
    case COPY:
      return kaon_blas_copy(v[0], v[1], &pass);
    case SCALE:
      return kaon_blas_scale(c[0], v[0], &pass);
    case AXPY:
      return kaon_blas_axpy(c[0], v[0], v[1], &pass);
    case XPAY:
      return kaon_blas_xpay(v[0], c[0], v[1], &pass);
    case AXPBY:
      return kaon_blas_axpby(c[0], v[0], c[1], v[1], &pass);
    case AXPY_XPAY:
      return kaon_blas_axpy_xpay(c[0], v[1], v[2], v[0], c[1], &pass);
    case DIRECTION:
      return kaon_blas_bicgstab_direction(v[0], c[0], v[1], c[1], v[2], &pass);
    case SOLUTION:
      return kaon_blas_bicgstab_solution(c[0], v[0], c[1], v[1], c[2], v[2], v[3], &pass);
    case PIPECG:
      return kaon_blas_pipecg(1, 0, &cg, first, &pass);
    case PIPECGNR:
      return kaon_blas_pipecgnr(1, 0, &cgnr, first, &pass);
    case PIPE_DIRECTION:
      return kaon_blas_pipebicgstab_direction(2, 0, 1, &direction, first, &pass);
    case PIPE_SOLUTION:
      return kaon_blas_pipebicgstab_solution(0, 1, &solution, first, &pass);
    case MULTI_AXPY:
      return kaon_blas_multi_axpy(MULTI, c, v, v[MULTI], &pass);
    case DOTS:
      return kaon_blas_dot(v[0], v[1], slots, &pass);
    default:
      return kaon_blas_multi_dot(MULTI, v, v[MULTI], FIRST, &pass);
  }
}

/* The team works on the op alone: filling would only make idle threads spin. */
static inline void run_op(fixture *b, enum op op) {
  const int threads = b->ctx->threads;
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = b->scalars;
  b->ctx->threads = 1;
  reset_scalars(b);
  fill(b);
  b->ctx->threads = threads;
  if (!b->bits_only && !b->filled) export_all(b, b->before);
  b->filled = !b->bits_only;
  must(b->ctx, call(b, op, pass));
  if (!b->bits_only) export_all(b, b->after);
}

#endif
