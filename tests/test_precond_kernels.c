/* test_precond_kernels.c - updates of preconditioned methods (blas/precond_updates.h) on every
 * machine, on real and complex rows of several sizes. Results agree with plain C on exported
 * arrays, sums agree with the stored numbers, and closed columns stay untouched.
 *
 * Bounds: up to 8 roundings of products of numbers below 8; a sum of n products below 8, added in
 * double one after another somewhere, has n roundings of 8 n. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/precond_updates.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

typedef double complex number;
/* Vectors 1 .. 9 by the letters of the formulas; D has one column, W is for sums alone. */
enum { D, N, M, Z, Q, W, S, R, U, P, X, VECTORS };
enum { ROWS = 77, COLUMNS = 3, A = 0, B = 1, O = 2, FIRST = 10 };

typedef struct {
  kaon_context *ctx;
  kaon_space space;
  kaon_precision precision;
  int numbers; /* of a column */
  kaon_vector *v[VECTORS];
  number *before[VECTORS], *after[VECTORS], *want[VECTORS]; /* [column][number] */
  kaon_scalars *scalars;
  kaon_column_state state[COLUMNS];
} bench;

static uint64_t seed;
static int reals(const bench *b) {
  return b->space.complex_space ? 2 : 1;
}

static void take(const bench *b, number *const *to) {
  double *host = calloc((size_t)(b->numbers * reals(b)), sizeof *host);
  for (int i = 0; i < VECTORS; i++)
    for (int k = 0; k < b->v[i]->nrhs; k++) {
      must(b->ctx, kaon_vector_export(b->v[i], k, host, KAON_BASIS_UKQCD));
      for (int n = 0; n < b->numbers; n++)
        to[i][k * b->numbers + n] =
            reals(b) == 2 ? host[2 * n] + I * host[2 * n + 1] : (number)host[n];
    }
  free(host);
}

static void open_bench(bench *b, int machine, int ncomp, int complex_space,
                       kaon_precision precision) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  memset(b, 0, sizeof *b);
  must(NULL, machine_open(machine, options, &b->ctx));
  const int width = b->ctx->backend->width;
  b->space = (kaon_space){.ctx = b->ctx,
                          .inner = 1,
                          .nblocks = (ROWS + width - 1) / width,
                          .nsites = ROWS,
                          .width = width,
                          .ncomp = ncomp,
                          .complex_space = complex_space};
  b->precision = precision;
  b->numbers = ROWS * ncomp / reals(b);
  double *host = calloc((size_t)(ROWS * ncomp), sizeof *host);
  for (int i = 0; i < VECTORS; i++) {
    const int columns = i == D ? 1 : COLUMNS;
    must(b->ctx, kaon_vector_create(b->ctx, &b->space, precision, columns, &b->v[i]));
    b->before[i] = calloc((size_t)(b->numbers * COLUMNS), sizeof(number));
    b->after[i] = calloc((size_t)(b->numbers * COLUMNS), sizeof(number));
    b->want[i] = calloc((size_t)(b->numbers * COLUMNS), sizeof(number));
    for (int k = 0; k < columns; k++) {
      for (int n = 0; n < ROWS * ncomp; n++) host[n] = test_uniform(&seed);
      must(b->ctx, kaon_vector_import(b->v[i], k, host, KAON_BASIS_UKQCD));
    }
  }
  free(host);
  must(b->ctx, kaon_scalars_create(b->ctx, COLUMNS, &b->scalars));
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  for (int k = 0; k < COLUMNS; k++) {
    b->state[k].gate = k == 1 ? KAON_GATE_SERVICE : KAON_GATE_STEP;
    for (int s = 0; s < 3; s++)
      for (int c = 0; c < 2; c++) b->state[k].slot[s][c] = test_uniform(&seed);
  }
  must(b->ctx, kaon_scalars_write(b->scalars, b->state));
  take(b, b->before);
}

static void close_bench(bench *b) {
  for (int i = 0; i < VECTORS; i++) {
    kaon_vector_destroy(&b->v[i]);
    free(b->before[i]), free(b->after[i]), free(b->want[i]);
  }
  kaon_scalars_destroy(&b->scalars);
  kaon_context_destroy(&b->ctx);
}

/* d real in a complex space: what pipelined CG takes for granted. */
static void make_scaling_real(bench *b) {
  double *host = calloc((size_t)(b->numbers * reals(b)), sizeof *host);
  for (int n = 0; n < b->numbers; n++) host[n * reals(b)] = creal(b->before[D][n]);
  must(b->ctx, kaon_vector_import(b->v[D], 0, host, KAON_BASIS_UKQCD));
  free(host);
  take(b, b->before);
}

enum op {
  SCALED,
  ADJOINT,
  RESIDUAL,
  PIPEPCG,
  PIPEPCG_D,
  HALVES, /* one after the other */
  HALVES_D,
  HALVES_PLAIN,
  GROPP_DIRECTION,
  GROPP_RESIDUAL,
  CHRONGEAR,
  CHRONGEAR_D,
  RBI_HALF,
  RBI_END,
  OPS
};
static const char *const op_names[] = {"scaled",           "adjoint",          "residual_scaled",
                                       "pipepcg",          "pipepcg with d",   "pipepcg in halves",
                                       "same with d",      "pipecg in halves", "groppcg_direction",
                                       "groppcg_residual", "chrongear",        "chrongear with d",
                                       "rbicgstab_half",   "rbicgstab_end"};

static void run_halves(bench *b, const kaon_pipepcg_vectors *v, const int slots[3],
                       const kaon_pass *pass) {
  must(b->ctx, kaon_blas_pipepcg_ahead(A, B, v, pass));
  must(b->ctx, kaon_blas_pipepcg_behind(A, B, v, slots, pass));
}

/* The entry by the library; sums into slots FIRST, FIRST + 1, ... */
static void run(bench *b, enum op op) {
  static const int slots[4] = {FIRST, FIRST + 1, FIRST + 2, FIRST + 3};
  static const int spread[4] = {FIRST, KAON_NO_SLOT, FIRST + 1, KAON_NO_SLOT};
  kaon_vector **v = b->v;
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = b->scalars;
  const kaon_pipepcg_vectors pipe = {.n = v[N],
                                     .m = v[M],
                                     .z = v[Z],
                                     .q = v[Q],
                                     .w = v[W],
                                     .s = v[S],
                                     .r = v[R],
                                     .u = v[U],
                                     .p = v[P],
                                     .x = v[X]},
                             with_d = {.d = v[D],
                                       .n = v[N],
                                       .m = v[M],
                                       .z = v[Z],
                                       .w = v[W],
                                       .s = v[S],
                                       .r = v[R],
                                       .p = v[P],
                                       .x = v[X]};
  kaon_pipepcg_vectors without_k = pipe;
  without_k.m = without_k.q = without_k.u = NULL;
  const kaon_groppcg_vectors gropp = {
      .q = v[Q], .w = v[W], .z = v[Z], .p = v[P], .s = v[S], .x = v[X], .r = v[R]};
  const kaon_chrongear_vectors gear = {
      .w = v[W], .u = v[U], .s = v[S], .r = v[R], .p = v[P], .x = v[X]};
  kaon_chrongear_vectors gear_d = gear;
  gear_d.d = v[D];
  const kaon_rbicgstab_vectors rbi = {.r0 = v[N],
                                      .s = v[S],
                                      .v = v[Q],
                                      .t = v[W],
                                      .m = v[M],
                                      .z = v[Z],
                                      .y = v[P],
                                      .r = v[R],
                                      .x = v[X]};
  if (op == SCALED || op == ADJOINT) {
    pass.norm = FIRST;
    pass.dot = FIRST + 1;
    pass.w = v[W];
    must(b->ctx, kaon_blas_scaled(v[D], op == ADJOINT, v[X], v[Z], &pass));
  }
  if (op == RESIDUAL)
    must(b->ctx, kaon_blas_residual_scaled(KAON_MINUS(A), v[Q], v[R], v[D], v[Z], slots, &pass));
  if (op == PIPEPCG) must(b->ctx, kaon_blas_pipepcg(A, B, &pipe, slots, &pass));
  if (op == PIPEPCG_D) must(b->ctx, kaon_blas_pipepcg(A, B, &with_d, slots, &pass));
  if (op == HALVES) run_halves(b, &pipe, slots, &pass);
  if (op == HALVES_D) run_halves(b, &with_d, slots, &pass);
  if (op == HALVES_PLAIN) run_halves(b, &without_k, slots, &pass);
  if (op == GROPP_DIRECTION) must(b->ctx, kaon_blas_groppcg_direction(B, &gropp, slots[0], &pass));
  if (op == GROPP_RESIDUAL) must(b->ctx, kaon_blas_groppcg_residual(A, &gropp, slots, &pass));
  if (op == CHRONGEAR) must(b->ctx, kaon_blas_chrongear(A, B, &gear, spread, &pass));
  if (op == CHRONGEAR_D) must(b->ctx, kaon_blas_chrongear(A, B, &gear_d, slots, &pass));
  if (op == RBI_HALF) must(b->ctx, kaon_blas_rbicgstab_half(A, &rbi, slots, &pass));
  if (op == RBI_END) must(b->ctx, kaon_blas_rbicgstab_end(A, O, B, &rbi, slots[0], &pass));
}

/* The same of one number. */
static void formula(number *v, enum op op, number a, number c, number o) {
  const int with_k = op == PIPEPCG || op == HALVES, with_d = op == PIPEPCG_D || op == HALVES_D;
  if (op == SCALED) v[Z] = v[D] * v[X];
  if (op == ADJOINT) v[Z] = conj(v[D]) * v[X];
  if (op == RESIDUAL) {
    v[R] -= a * v[Q];
    v[Z] = v[D] * v[R];
  }
  if (with_k || with_d || op == HALVES_PLAIN) {
    const number u = with_k ? v[U] : with_d ? v[D] * v[R] : v[R];
    v[Z] = v[N] + c * v[Z];
    if (with_k) v[Q] = v[M] + c * v[Q];
    v[S] = v[W] + c * v[S];
    v[P] = u + c * v[P];
    v[X] += a * v[P];
    v[R] -= a * v[S];
    if (with_k) v[U] -= a * v[Q];
    v[W] -= a * v[Z];
    if (with_d) v[M] = v[D] * v[W];
  }
  if (op == GROPP_DIRECTION) {
    v[P] = v[Z] + c * v[P];
    v[S] = v[W] + c * v[S];
  }
  if (op == GROPP_RESIDUAL) {
    v[X] += a * v[P];
    v[R] -= a * v[S];
    v[Z] -= a * v[Q];
  }
  if (op == CHRONGEAR || op == CHRONGEAR_D) {
    v[S] = v[W] + c * v[S];
    v[P] = (op == CHRONGEAR ? v[U] : v[D] * v[R]) + c * v[P];
    v[X] += a * v[P];
    v[R] -= a * v[S];
    if (op == CHRONGEAR_D) v[U] = v[D] * v[R];
  }
  if (op == RBI_HALF) {
    v[Z] -= a * v[S];
    v[R] -= a * v[Q];
  }
  if (op == RBI_END) {
    v[X] += a * v[P] + o * v[Z];
    v[R] -= o * v[W];
    v[Z] -= o * v[M];
    v[P] = v[Z] + c * (v[P] - o * v[S]);
  }
}

/* The sums of one number, as stored; how many. */
static int sums_of(const number *v, enum op op, number *sum) {
  const number squares = conj(v[R]) * v[R];
  sum[0] = squares;
  switch (op) {
    case SCALED:
    case ADJOINT:
      sum[0] = conj(v[Z]) * v[Z];
      sum[1] = conj(v[W]) * v[Z];
      return 2;
    case RESIDUAL:
    case GROPP_RESIDUAL:
      sum[1] = conj(v[R]) * v[Z];
      return 2;
    case HALVES_PLAIN:
      sum[1] = conj(v[R]) * v[W];
      return 2;
    case PIPEPCG:
    case HALVES:
      sum[1] = conj(v[R]) * v[U];
      sum[2] = conj(v[W]) * v[U];
      return 3;
    case PIPEPCG_D:
    case HALVES_D:
      sum[1] = v[D] * squares;
      sum[2] = conj(v[W]) * v[D] * v[R];
      return 3;
    case GROPP_DIRECTION:
      sum[0] = conj(v[P]) * v[S];
      return 1;
    case CHRONGEAR:
      sum[1] = conj(v[P]) * v[S];
      return 2;
    case CHRONGEAR_D:
      sum[1] = conj(v[U]) * v[S];
      sum[2] = conj(v[P]) * v[S];
      sum[3] = conj(v[R]) * v[U];
      return 4;
    case RBI_HALF:
      sum[1] = conj(v[N]) * v[R];
      return 2;
    default:
      return 1;
  }
}

static void check(const bench *b, enum op op) {
  const double eps = b->precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  double worst = 0, apart = 0;
  kaon_column_state state[COLUMNS];
  must(b->ctx, kaon_scalars_read(b->scalars, state));
  for (int k = 0; k < COLUMNS; k++) {
    const int complex_space = b->space.complex_space;
    number slot[4], total[4] = {0, 0, 0, 0};
    int count = 0;
    for (int s = 0; s < 3; s++)
      slot[s] = state[k].slot[s][0] + (complex_space ? I * state[k].slot[s][1] : 0);
    for (int n = 0; n < b->numbers; n++) {
      number want[VECTORS], stored[VECTORS], sum[4];
      for (int i = 0; i < VECTORS; i++) {
        const int at = (i == D ? 0 : k * b->numbers) + n;
        want[i] = b->before[i][at];
        stored[i] = b->after[i][at];
      }
      if (k != 1) formula(want, op, slot[A], slot[B], slot[O]);
      for (int i = 0; i < VECTORS; i++) worst = larger(worst, cabs(want[i] - stored[i]));
      count = sums_of(stored, op, sum);
      for (int s = 0; s < count; s++) total[s] += sum[s];
    }
    for (int s = 0; s < count && k != 1; s++) {
      const double *got = state[k].slot[FIRST + s];
      const number value = got[0] + (complex_space ? I * got[1] : 0);
      apart = larger(apart, cabs(value - total[s]));
    }
  }
  if (!(worst <= 8 * 8 * eps)) print_message("%s: %g off\n", op_names[op], worst);
  assert_true(worst <= 8 * 8 * eps);
  /* with d real sum 2 is taken of the stored m = d w, which is rounded once more */
  const double rounding = b->numbers * 0x1p-53 + (op == PIPEPCG_D || op == HALVES_D ? 4 * eps : 0);
  assert_true(apart <= b->numbers * 8 * rounding);
}

static void entries_do_what_they_say(void **state) {
  static const struct {
    int ncomp, complex_space;
  } spaces[] = {{1, 0}, {2, 0}, {3, 0}, {2, 1}, {6, 1}, {24, 1}};
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
      for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++)
        for (int op = 0; op < OPS; op++) {
          bench b;
          open_bench(&b, machine, spaces[i].ncomp, spaces[i].complex_space, (kaon_precision)p);
          if (op == PIPEPCG_D || op == HALVES_D) make_scaling_real(&b);
          run(&b, (enum op)op);
          take(&b, b.after);
          check(&b, (enum op)op);
          close_bench(&b);
        }
    printf("  %s: %d entries on %zu spaces\n", machine_name(machine), OPS,
           sizeof spaces / sizeof *spaces);
  }
}

/* Two passes leave the bits of one, in vectors and sums. */
static void check_halves(int machine, int ncomp, int complex_space, kaon_precision precision,
                         int kind) {
  static const enum op whole[] = {PIPEPCG, PIPEPCG_D, OPS},
                       cut[] = {HALVES, HALVES_D, HALVES_PLAIN};
  static const int slots[2] = {FIRST, FIRST + 1};
  const uint64_t begin = seed;
  kaon_column_state one[COLUMNS], two[COLUMNS];
  bench a, b;
  open_bench(&a, machine, ncomp, complex_space, precision);
  seed = begin;
  open_bench(&b, machine, ncomp, complex_space, precision);
  if (kind == 1) {
    make_scaling_real(&a);
    make_scaling_real(&b);
  }
  if (kind < 2) {
    run(&a, whole[kind]);
  } else {
    const kaon_pipecg_vectors v = {
        .q = a.v[N], .z = a.v[Z], .w = a.v[W], .s = a.v[S], .r = a.v[R], .p = a.v[P], .x = a.v[X]};
    kaon_pass pass = KAON_PASS_INIT;
    pass.scalars = a.scalars;
    must(a.ctx, kaon_blas_pipecg(A, B, &v, slots, &pass));
  }
  run(&b, cut[kind]);
  take(&a, a.after);
  take(&b, b.after);
  must(a.ctx, kaon_scalars_read(a.scalars, one));
  must(b.ctx, kaon_scalars_read(b.scalars, two));
  for (int i = 0; i < VECTORS; i++)
    assert_memory_equal(a.after[i], b.after[i],
                        (size_t)(a.v[i]->nrhs * a.numbers) * sizeof(number));
  for (int k = 0; k < COLUMNS; k++)
    for (int s = FIRST; s < FIRST + (kind < 2 ? 3 : 2) && k != 1; s++)
      assert_memory_equal(one[k].slot[s], two[k].slot[s], sizeof one[k].slot[s]);
  close_bench(&a);
  close_bench(&b);
}

static void halves_have_the_bits_of_the_whole(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (int i = 0; i < 2 * 2 * 3; i++) {
      const int complex_space = i / 6;
      check_halves(machine, complex_space ? 6 : 1, complex_space, (kaon_precision)(i / 3 % 2),
                   i % 3);
    }
  }
}

static void wrong_operands_are_refused(void **state) {
  static const int slots[3] = {FIRST, FIRST + 1, FIRST + 2};
  kaon_pass pass = KAON_PASS_INIT;
  bench b;
  (void)state;
  open_bench(&b, MACHINE_CPU, 2, 1, KAON_DOUBLE);
  pass.scalars = b.scalars;
  assert_int_equal(kaon_blas_scaled(b.v[W], 0, b.v[X], b.v[Z], &pass), KAON_ERR_SHAPE);
  assert_int_equal(kaon_blas_scaled(b.v[D], 0, b.v[Z], b.v[Z], &pass), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_scaled(NULL, 0, b.v[X], b.v[Z], &pass), KAON_ERR_ARGUMENT);
  assert_int_equal(
      kaon_blas_residual_scaled(KAON_MINUS(A), b.v[Q], b.v[Q], b.v[D], b.v[Z], slots, &pass),
      KAON_ERR_ALIAS);
  close_bench(&b);
  open_bench(&b, MACHINE_CPU, 2, 1, KAON_HALF);
  pass.scalars = b.scalars;
  assert_int_equal(kaon_blas_scaled(b.v[D], 0, b.v[X], b.v[Z], &pass), KAON_ERR_NOT_BUILT);
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_do_what_they_say),
      cmocka_unit_test(halves_have_the_bits_of_the_whole),
      cmocka_unit_test(wrong_operands_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
