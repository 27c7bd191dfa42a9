/* test_coarse.c - coarse operators with random matrices against the reference: applications, parts
 * of them, even-odd reductions, sums and gates, on every machine and site order, in double and
 * single precision and with matrices in half.
 *
 * Bound of an application: a number is a sum of 9 n complex products, or 18 n real ones, and x and
 * the matrices are rounded to the precision first. So its error is at most (18 n + 4) u times the
 * same sum of magnitudes (Higham, Accuracy and Stability, ch. 3; a factor sqrt 2 for magnitudes of
 * complex numbers), which the reference computes. Matrices in half are off by 0.51 / 32767 of the
 * largest component of their column, re and im. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dslash/coarse/coarse_ops.h"
#include "lib/operator/couplings.h"
#include "tests/util/coarse_case.h"

enum { ALL = 0x1ff, COLUMNS = 2 };

/* Split and plain order, blocks with places that have no site; extents of 2, where two hops reach
 * one site. */
typedef struct shape {
  int extents[4], reals, block[4];
} shape;
static const shape shapes[] = {{{4, 4, 4, 4}, 24, {2, 4, 1, 2}},
                               {{2, 2, 2, 2}, 48, {1, 2, 2, 1}},
                               {{4, 6, 2, 10}, 8, {2, 3, 2, 5}},
                               {{8, 4, 4, 2}, 12, {4, 2, 4, 2}},
                               {{2, 4, 6, 2}, 48, {2, 1, 3, 1}}};
enum { SHAPES = sizeof shapes / sizeof *shapes, FIRST = KAON_ISA_SCALAR };

static int open_case(coarse_case *c, int machine, const shape *s) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  if (machine != KAON_ISA_AUTO && machine_lacks(machine)) return 0;
  options.threads = 2;
  must(NULL, machine_open(machine, options, &ctx));
  if (ctx->backend->coarse[KAON_DOUBLE]->hop == NULL) {
    printf("%s: no coarse kernels, skipped\n", machine_name(machine));
    kaon_context_destroy(&ctx);
    return 0;
  }
  coarse_open(c, ctx, s->extents, s->reals, 5);
  return 1;
}

static double unit(kaon_precision precision) {
  return precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
}

/* Of |error| for these terms. */
static double bound_of(const coarse_case *c, const ref_coarse_terms *t, kaon_precision precision,
                       int half_matrices, const ref_complex *in) {
  const int n = c->r.numbers;
  ref_complex *sum = ref_new(coarse_size(c));
  ref_coarse_apply(&c->r, t, 1, in, sum);
  double bound = sqrt(2 * ref_norm2(sum, coarse_size(c))) * (18 * n + 4) * unit(precision);
  if (half_matrices) {
    ref_coarse off = {.L = c->r.L, .numbers = n};
    for (int m = 0; m < 9; m++) off.matrix[m] = ref_new(coarse_size(c) * (size_t)n);
    for (int m = 0; m < 9; m++)
      for (size_t site = 0; site < ref_volume(&c->r.L); site++)
        for (int j = 0; j < n; j++) {
          double largest = 0;
          for (int i = 0; i < n; i++) {
            const ref_complex z = ref_coarse_matrix(&c->r, m, site)[i * n + j];
            largest = fmax(largest, fmax(fabs(creal(z)), fabs(cimag(z))));
          }
          for (int i = 0; i < n; i++)
            ref_coarse_matrix(&off, m, site)[i * n + j] = M_SQRT2 * 0.51 / 32767 * largest;
        }
    ref_coarse_apply(&off, t, 1, in, sum);
    bound += sqrt(ref_norm2(sum, coarse_size(c)));
    ref_coarse_free(&off);
  }
  free(sum);
  return bound;
}

/* error / bound of the worst column of y = the terms of A x; x is noise of this seed. */
static double deviation(const coarse_case *c, const ref_coarse_terms *t, int half_matrices,
                        uint64_t seed, const kaon_vector *y) {
  double worst = 0;
  for (int k = 0; k < y->nrhs; k++) {
    ref_complex *in = coarse_random(c, seed + (uint64_t)k), *expected = ref_new(coarse_size(c));
    ref_complex *got = coarse_export(c, y, k);
    ref_coarse_apply(&c->r, t, 0, in, expected);
    ref_axpy(-1, expected, got, coarse_size(c));
    worst = larger(worst, sqrt(ref_norm2(got, coarse_size(c))) /
                              bound_of(c, t, y->precision, half_matrices, in));
    free(in);
    free(expected);
    free(got);
  }
  return worst;
}

/* All terms. odd: with links in single precision. */
static void check_applications(int machine, const shape *s, int odd) {
  coarse_case c;
  double worst = 0;
  if (!open_case(&c, machine, s)) return;
  for (int way = 0; way < 3; way++) {
    const kaon_precision precision = way == 0 ? KAON_DOUBLE : KAON_SINGLE;
    const ref_coarse_terms all = {.matrices = ALL};
    const kaon_precision links = way > 0 && odd ? KAON_SINGLE : KAON_DOUBLE;
    kaon_operator *A = coarse_operator(&c, links, precision, way == 2);
    kaon_vector *x = coarse_noise(&c, KAON_FULL, precision, COLUMNS, 7);
    kaon_vector *y = coarse_vector(&c, KAON_FULL, precision, COLUMNS);
    must(c.ctx, kaon_operator_apply(A, KAON_PLAIN, x, y));
    worst = larger(worst, deviation(&c, &all, way == 2, 7, y));
    must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_operator_apply(A, KAON_DAGGER, x, y));
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_operator_destroy(&A);
  }
  char what[80];
  snprintf(what, sizeof what, "%s %dx%dx%dx%d, %d reals: error / bound", machine_name(machine),
           s->extents[0], s->extents[1], s->extents[2], s->extents[3], c.reals);
  test_below(what, worst, 1);
  coarse_close(&c);
}

/* The large lattice fills a device, which then has other launches. */
static void applications(void **state) {
  (void)state;
  static const shape large = {{8, 8, 8, 10}, 12, {2, 2, 2, 2}};
  for (int i = SHAPES * FIRST; i < SHAPES * (MACHINE_LAST + 1); i++)
    check_applications(i / SHAPES, &shapes[i % SHAPES], i % 2);
  check_applications(KAON_ISA_AUTO, &large, 0);
}

/* The hops in a direction, those that leave blocks, and what is inside of blocks; together they are
 * A. */
static void parts(void **state) {
  (void)state;
  for (int i = SHAPES * FIRST; i < SHAPES * (MACHINE_LAST + 1); i++) {
    const int machine = i / SHAPES;
    const shape *s = &shapes[i % SHAPES];
    const int *block = s->block;
    const kaon_precision precision = (kaon_precision)((machine + i) % 2);
    const kaon_reconstruct none = KAON_RECONSTRUCT_18;
    coarse_case c;
    kaon_operator *part = NULL;
    if (!open_case(&c, machine, s)) continue;
    kaon_operator *A = coarse_operator(&c, KAON_DOUBLE, precision, 0);
    kaon_vector *x = coarse_noise(&c, KAON_FULL, precision, COLUMNS, 7);
    kaon_vector *y = coarse_vector(&c, KAON_FULL, precision, COLUMNS);
    kaon_vector *sum = coarse_vector(&c, KAON_FULL, precision, COLUMNS);
    const kaon_couplings *offers = kaon_operator_capability(A, KAON_CAPABILITY_COUPLINGS);
    assert_non_null(offers);
    assert_int_equal(offers->halves, KAON_HALVES_COMPONENTS);
    ref_coarse_terms terms = {ALL, {block[0], block[1], block[2], block[3]}, 0};
    must(c.ctx, kaon_operator_local_part(A, block, precision, none, &part));
    must(c.ctx, kaon_operator_apply(part, KAON_PLAIN, x, sum));
    double worst = deviation(&c, &terms, 0, 7, sum);
    kaon_operator_destroy(&part);
    for (int way = 0; way < 2; way++)
      for (int direction = 0; direction < 8; direction++) {
        const int extent = way == 0 ? block[direction % 4] : 0;
        terms = (ref_coarse_terms){1u << direction, {0}, way == 0};
        terms.block[direction % 4] = extent;
        const kaon_coupling which = {direction, extent, precision, none};
        must(c.ctx, offers->couple(A, &which, &part));
        must(c.ctx, kaon_operator_apply(part, KAON_PLAIN, x, y));
        worst = larger(worst, deviation(&c, &terms, 0, 7, y));
        if (way == 0) must(c.ctx, kaon_vector_axpy(1, 0, y, sum));
        kaon_operator_destroy(&part);
      }
    char what[80];
    snprintf(what, sizeof what, "%s %dx%dx%dx%d", machine_name(machine), s->extents[0],
             s->extents[1], s->extents[2], s->extents[3]);
    test_below(what, worst, 1);
    /* nine roundings more */
    test_below("  local part and couplings",
               deviation(&c, &(ref_coarse_terms){.matrices = ALL}, 0, 7, sum), 2);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_vector_destroy(&sum);
    kaon_operator_destroy(&A);
    coarse_close(&c);
  }
}

/* |b - A x| / |b| by the reference. */
static double residual(const coarse_case *c, const kaon_vector *x, uint64_t seed) {
  const ref_coarse_terms all = {.matrices = ALL};
  double worst = 0;
  for (int k = 0; k < x->nrhs; k++) {
    ref_complex *b = coarse_random(c, seed + (uint64_t)k), *r = ref_new(coarse_size(c));
    ref_complex *psi = coarse_export(c, x, k);
    ref_coarse_apply(&c->r, &all, 0, psi, r);
    worst = larger(worst, ref_rel_diff(r, b, coarse_size(c)));
    free(b);
    free(r);
    free(psi);
  }
  return worst;
}

/* Solves by GCR. The solver's own residual is at most 1.1 tol; the reference's differs by the
 * bound of an application, below 1e-13 |b| here. */
static void solve(const coarse_case *c, kaon_operator *A, const char *what) {
  const double tol = 1e-11;
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report[COLUMNS];
  kaon_vector *b = coarse_noise(c, KAON_FULL, KAON_DOUBLE, COLUMNS, 3);
  kaon_vector *x = coarse_vector(c, KAON_FULL, KAON_DOUBLE, COLUMNS);
  options.method = KAON_GCR;
  options.tol = tol;
  options.sloppy = KAON_SINGLE;
  must(c->ctx, kaon_solver_create(A, COLUMNS, &options, &solver));
  must(c->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < COLUMNS; k++) assert_int_equal(report[k].reason, KAON_CONVERGED);
  printf("  %s: %d steps\n", what, report[0].iterations);
  test_below("  residual by the reference", residual(c, x, 3), 1.1 * tol + 1e-13);
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
}

/* All forms solve the same system, also with matrices in half inside. */
static void reductions(void **state) {
  (void)state;
  for (int i = SHAPES * FIRST; i < SHAPES * (MACHINE_LAST + 1); i++) {
    const int machine = i / SHAPES;
    coarse_case c;
    kaon_operator *R = NULL;
    if (!open_case(&c, machine, &shapes[i % SHAPES])) continue;
    kaon_operator *A = coarse_operator(&c, KAON_DOUBLE, KAON_DOUBLE, i % 2);
    const kaon_couplings *offers = kaon_operator_capability(A, KAON_CAPABILITY_COUPLINGS);
    solve(&c, A, machine_name(machine));
    for (int form = KAON_EVEN_ODD_SYMMETRIC; form <= KAON_EVEN_ODD_ASYMMETRIC; form++) {
      must(c.ctx, offers->reduce(A, (kaon_even_odd)form, &R));
      solve(&c, R, form == KAON_EVEN_ODD_SYMMETRIC ? "symmetric" : "asymmetric");
      kaon_operator_destroy(&R);
    }
    must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, offers->reduce(A, KAON_EVEN_ODD_NONE, &R));
    kaon_operator_destroy(&A);
    coarse_close(&c);
  }
}

/* ---- columns, gates, sums ---- */

enum { NORM = 2, DOT = 3 };

/* y = S x, with sums; the column `closed` keeps its noise. */
static kaon_vector *summed(const coarse_case *c, kaon_operator *S, int columns, int closed,
                           kaon_column_state *states) {
  kaon_vector *x = coarse_noise(c, S->space->parity, S->precision, columns, 7);
  kaon_vector *w = coarse_noise(c, S->space->parity, S->precision, columns, 70);
  kaon_vector *y = coarse_noise(c, S->space->parity, S->precision, columns, 700);
  kaon_scalars *scalars = NULL;
  kaon_pass pass = KAON_PASS_INIT;
  memset(states, 0, (size_t)columns * sizeof *states);
  for (int k = 0; k < columns; k++) states[k].gate = k == closed ? 0 : KAON_GATE_STEP;
  must(c->ctx, kaon_scalars_create(c->ctx, columns, &scalars));
  must(c->ctx, kaon_scalars_write(scalars, states));
  pass.scalars = scalars;
  pass.norm = NORM;
  pass.dot = DOT;
  pass.w = w;
  must(c->ctx, S->ops->apply(S, KAON_PLAIN, x, y, &pass));
  must(c->ctx, kaon_scalars_read(scalars, states));
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&w);
  return y;
}

/* Sums of n products in double of numbers that are exact: at most n u of those of magnitudes, by
 * Cauchy and Schwarz |w| |y|. */
static void check_sums(const coarse_case *c, kaon_operator *S, const kaon_vector *y, int column,
                       const kaon_column_state *state) {
  const size_t size = coarse_size(c);
  ref_complex *psi = coarse_export(c, y, column);
  kaon_vector *noise = coarse_noise(c, S->space->parity, S->precision, 1, 70 + (uint64_t)column);
  ref_complex *w = coarse_export(c, noise, 0);
  const double norm = ref_norm2(psi, size), all = sqrt(norm * ref_norm2(w, size));
  const ref_complex dot = ref_dot(w, psi, size);
  const double bound = 4 * (double)size * 0x1p-53;
  assert_true(fabs(state->slot[NORM][0] - norm) <= bound * norm);
  assert_true(fabs(state->slot[DOT][0] - creal(dot)) <= bound * all);
  assert_true(fabs(state->slot[DOT][1] - cimag(dot)) <= bound * all);
  kaon_vector_destroy(&noise);
  free(psi);
  free(w);
}

/* A column has the same bits beside others and alone, with one thread and with two. A closed one
 * stays. */
static void columns_and_sums(void **state) {
  (void)state;
  enum { MANY = 24 };
  for (int i = 4 * FIRST; i < 4 * (MACHINE_LAST + 1); i++) {
    const int machine = i / 4, whole = i / 2 % 2, many = i % 2 ? MANY : 5;
    const kaon_precision precision = (kaon_precision)(i % 2);
    coarse_case c;
    kaon_operator *S = NULL;
    kaon_column_state states[MANY], one[1];
    if (!open_case(&c, machine, &shapes[whole ? 2 : 4])) continue;
    kaon_operator *A = coarse_operator(&c, KAON_DOUBLE, precision, i % 3 == 0);
    const kaon_couplings *offers = kaon_operator_capability(A, KAON_CAPABILITY_COUPLINGS);
    if (whole)
      kaon_operator_retain(S = A);
    else
      must(c.ctx, offers->reduce(A, (kaon_even_odd)(i % 2), &S));
    kaon_vector *y = summed(&c, S, many, 1, states);
    c.ctx->threads = 1;
    for (int k = 0; k < many; k++) {
      ref_complex *beside = coarse_export(&c, y, k);
      kaon_vector *before =
          coarse_noise(&c, S->space->parity, precision, 1, (k == 1 ? 700 : 7) + (uint64_t)k);
      kaon_vector *alone = coarse_vector(&c, S->space->parity, precision, 1);
      if (k != 1) must(c.ctx, kaon_operator_apply(S, KAON_PLAIN, before, alone));
      ref_complex *expected = coarse_export(&c, k == 1 ? before : alone, 0);
      assert_memory_equal(beside, expected, coarse_size(&c) * sizeof *beside);
      if (k != 1) check_sums(&c, S, y, k, &states[k]);
      kaon_vector_destroy(&before);
      kaon_vector_destroy(&alone);
      free(beside);
      free(expected);
    }
    kaon_vector_destroy(&y);
    y = summed(&c, S, 1, -1, one); /* with one thread */
    assert_memory_equal(one[0].slot[NORM], states[0].slot[NORM], sizeof one[0].slot[NORM]);
    assert_memory_equal(one[0].slot[DOT], states[0].slot[DOT], sizeof one[0].slot[DOT]);
    kaon_vector_destroy(&y);
    kaon_operator_destroy(&S);
    kaon_operator_destroy(&A);
    coarse_close(&c);
  }
}

/* ---- changes ---- */

/* New matrices reach twins, reductions and parts; a matrix without inverse is reported with its
 * site, and only where one is needed. */
static void updates(void **state) {
  (void)state;
  static const int site[4] = {3, 2, 1, 0};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    coarse_case c;
    kaon_operator *twin = NULL, *R = NULL, *again = NULL;
    if (!open_case(&c, machine, &shapes[0])) continue;
    const ref_coarse_terms all = {.matrices = ALL};
    kaon_operator *A = coarse_operator(&c, KAON_DOUBLE, KAON_DOUBLE, 1);
    const kaon_couplings *offers = kaon_operator_capability(A, KAON_CAPABILITY_COUPLINGS);
    must(c.ctx, A->ops->twin(A, KAON_SINGLE, KAON_RECONSTRUCT_12, &twin));
    must(c.ctx, offers->reduce(A, KAON_EVEN_ODD_SYMMETRIC, &R));
    ref_coarse_free(&c.r);
    c.r = ref_coarse_random(&c.r.L, c.r.numbers, 77);
    coarse_import(&c, kaon_coarse_links_of(twin));
    must(c.ctx, kaon_coarse_update(A));
    kaon_vector *x = coarse_noise(&c, KAON_FULL, KAON_SINGLE, 1, 7);
    kaon_vector *y = coarse_vector(&c, KAON_FULL, KAON_SINGLE, 1);
    must(c.ctx, kaon_operator_apply(twin, KAON_PLAIN, x, y));
    test_below(machine_name(machine), deviation(&c, &all, 1, 7, y), 1);
    solve(&c, R, "after an update");
    /* row 1 = i row 0: no inverse */
    ref_complex *m = ref_coarse_matrix(&c.r, 8, ref_site(&c.r.L, site));
    for (int j = 0; j < 12; j++) m[12 + j] = I * m[j];
    coarse_import(&c, kaon_coarse_links_of(A));
    must_refuse(c.ctx, KAON_ERR_SINGULAR, kaon_coarse_update(A));
    assert_non_null(strstr(kaon_last_error(c.ctx), "(3, 2, 1, 0)"));
    must_refuse(c.ctx, KAON_ERR_STALE, kaon_operator_apply(twin, KAON_PLAIN, x, y));
    kaon_operator *const old[] = {twin, R, A};
    for (int i = 0; i < 3; i++) kaon_operator_destroy(&(kaon_operator *){old[i]});
    A = coarse_operator(&c, KAON_DOUBLE, KAON_DOUBLE, 1); /* needs no inverse */
    must(c.ctx, A->ops->twin(A, KAON_SINGLE, KAON_RECONSTRUCT_12, &twin));
    must(c.ctx, kaon_operator_apply(twin, KAON_PLAIN, x, y));
    test_below("  a singular site", deviation(&c, &all, 1, 7, y), 1);
    must(c.ctx, offers->reduce(A, KAON_EVEN_ODD_ASYMMETRIC, &R)); /* inverts odd sites */
    must_refuse(c.ctx, KAON_ERR_SINGULAR, offers->reduce(A, KAON_EVEN_ODD_SYMMETRIC, &again));
    assert_null(again);
    kaon_operator_destroy(&R);
    must_refuse(c.ctx, KAON_ERR_UNSUPPORTED,
                A->ops->twin(A, KAON_HALF, KAON_RECONSTRUCT_18, &again));
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_operator_destroy(&twin);
    kaon_operator_destroy(&A);
    coarse_close(&c);
  }
}

/* The diagonal, and what the constructor refuses. */
static void diagonals_and_refusals(void **state) {
  (void)state;
  coarse_case c;
  kaon_operator *A = NULL;
  kaon_coarse_links links;
  assert_true(open_case(&c, KAON_ISA_AUTO, &shapes[0]));
  A = coarse_operator(&c, KAON_DOUBLE, KAON_SINGLE, 0);
  kaon_vector *d = coarse_vector(&c, KAON_FULL, KAON_SINGLE, 1);
  must(c.ctx, A->ops->diagonal(A, d));
  ref_complex *got = coarse_export(&c, d, 0);
  for (size_t i = 0; i < coarse_size(&c); i++) {
    const ref_complex z = ref_coarse_matrix(&c.r, 8, i / 12)[i % 12 * 13];
    assert_true((float)creal(z) == (float)creal(got[i]) && (float)cimag(z) == (float)cimag(got[i]));
  }
  free(got);
  kaon_vector_destroy(&d);
  kaon_operator_destroy(&A);
  must(c.ctx, kaon_coarse_links_create(c.lattice, 24, KAON_SINGLE, &links));
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_coarse_create(&links, KAON_HALF, 0, &A));
  assert_null(A);
  kaon_vector_destroy(&links.hop[3]);
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_coarse_create(&links, KAON_SINGLE, 0, &A));
  kaon_coarse_links_destroy(&links);
  must(c.ctx, kaon_coarse_links_create(c.lattice, 6, KAON_SINGLE, &links));
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_coarse_create(&links, KAON_SINGLE, 0, &A));
  assert_non_null(links.inside);
  kaon_coarse_links_destroy(&links);
  coarse_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(applications), cmocka_unit_test(parts),
      cmocka_unit_test(reductions),   cmocka_unit_test(columns_and_sums),
      cmocka_unit_test(updates),      cmocka_unit_test(diagonals_and_refusals),
  };
  return test_main(tests, NULL, NULL);
}
