/* test_even_odd.c - Schur complements against the reference: both forms, both parities, every
 * precision, link storage and instruction set. Also their adjoints, preparation, reconstruction
 * and lifting of vectors, and the temporal gauge. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/operator_internal.h"
#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

static const double kappa = 0.124, csw = 0.7;

static const int plain_extents[4] = {4, 6, 2, 10}, small_extents[4] = {8, 4, 4, 8},
                 cube_extents[4] = {8, 8, 8, 8},
                 tail_extents[4] = {6, 2, 2, 10}; /* 120 sites a parity: 7.5 blocks of 16 */
enum { COLUMNS = 12, SHAPES = 8 };                /* form, parity, mode: bits 0, 1, 2 */

static kaon_even_odd form_of(int shape) {
  return shape & 1 ? KAON_EVEN_ODD_ASYMMETRIC : KAON_EVEN_ODD_SYMMETRIC;
}

/* Error of S x over |x| for random x. Norms: |A| <= 1 + w, |A^-1| <= 1 / (1 - w), w = 6 kappa csw;
 * |D x| = 4 |x|. A half step t = A^-1 D x has size^2 t2 and errs by step2; the symmetric dagger
 * stores A^-1 x once more. The reference rounds too, in double: sqrt(2). */
static double schur_bound(int shape, kaon_precision precision, kaon_reconstruct storage,
                          double cs) {
  const rounding r = case_rounding_rms(precision, storage);
  const double w = 6 * kappa * cs, a2 = (1 + w) * (1 + w), inv2 = 1 / ((1 - w) * (1 - w));
  const double k4 = pow(kappa, 4), hop2 = r.e_hop * r.e_hop, store2 = r.e_store * r.e_store;
  const double clover2 = cs == 0 ? 0 : r.e_clover * r.e_clover;
  const double t2 = 16 * inv2, step2 = inv2 * hop2 + t2 * (clover2 + store2);
  double error2, size2;
  if (form_of(shape) == KAON_EVEN_ODD_SYMMETRIC) {
    size2 = 1 + k4 * t2 * t2;
    error2 = k4 * (inv2 * hop2 * t2 + 16 * inv2 * step2 + t2 * t2 * clover2);
    if (shape & 4 && cs != 0) error2 += k4 * t2 * t2 * (clover2 + store2);
  } else {
    size2 = a2 + k4 * 16 * t2;
    error2 = a2 * clover2 + k4 * (hop2 * t2 + 16 * step2);
  }
  return 3 * sqrt(2) * sqrt(error2 + 2 * size2 * store2);
}

typedef struct {
  ref_complex **x, **y[SHAPES];
} expected_set;

static expected_set expect(const dirac_case *c, double cs) {
  expected_set e = {.x = case_random_columns(c, COLUMNS, 5)};
  ref_dirac d = case_reference(c, kappa, cs, 1);
  for (int shape = 0; shape < SHAPES; shape++) {
    e.y[shape] = ref_alloc(COLUMNS, sizeof *e.y[shape]);
    for (int k = 0; k < COLUMNS; k += COLUMNS - 1) { /* the first and the last are compared */
      e.y[shape][k] = ref_new(ref_spinor_size(&c->L));
      (shape & 4 ? ref_schur_dagger : ref_schur)(&d, shape >> 1 & 1, !(shape & 1), e.x[k],
                                                 e.y[shape][k]);
      case_restrict(c, shape >> 1 & 1, e.y[shape][k]);
    }
  }
  ref_dirac_free(&d);
  return e;
}

static void forget(expected_set *e) {
  case_free_columns(e->x, COLUMNS);
  for (int shape = 0; shape < SHAPES; shape++) case_free_columns(e->y[shape], COLUMNS);
}

/* |S x - expected| / |x| on the operator's parity, of the first and the last column. */
static double apply_and_compare(dirac_case *c, kaon_operator *S, int shape, int nrhs,
                                const expected_set *e) {
  const int parity = shape >> 1 & 1;
  const size_t n = ref_spinor_size(&c->L);
  kaon_vector *x = case_vector(c, (kaon_parity)parity, kaon_operator_precision(S), nrhs);
  kaon_vector *y = case_vector(c, (kaon_parity)parity, kaon_operator_precision(S), nrhs);
  case_import(c, x, e->x);
  must(c->ctx, kaon_operator_apply(S, (kaon_mode)(shape >> 2), x, y));
  double worst = 0;
  for (int k = 0; k < nrhs; k += COLUMNS - 1) {
    ref_complex *out = case_export(c, y, k), *in = ref_new(n);
    memcpy(in, e->x[k], n * sizeof *in);
    case_restrict(c, parity, in);
    const double size = sqrt(ref_norm2(e->y[shape][k], n) / ref_norm2(in, n));
    worst = larger(worst, ref_rel_diff(out, e->y[shape][k], n) * size);
    free(out);
    free(in);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  return worst;
}

static void compare_storage(dirac_case *c, const expected_set *e, double cs,
                            kaon_precision precision, kaon_reconstruct storage) {
  kaon_operator *M = case_dirac(c, kappa, cs, 1, precision, storage);
  double worst = 0, tightest = HUGE_VAL;
  for (int shape = 0; shape < SHAPES; shape++) {
    kaon_operator *S = case_even_odd(c, M, form_of(shape), (kaon_parity)(shape >> 1 & 1), 0);
    const double bound = schur_bound(shape, precision, storage, cs);
    for (int nrhs = 1; nrhs <= COLUMNS; nrhs += COLUMNS - 1)
      worst = larger(worst, apply_and_compare(c, S, shape, nrhs, e) / bound);
    tightest = fmin(tightest, bound);
    kaon_operator_destroy(&S);
  }
  char what[128];
  snprintf(what, sizeof what, "%dx%dx%dx%d %s %s r%d csw %.1f", c->L.n[0], c->L.n[1], c->L.n[2],
           c->L.n[3], isa_names[c->isa], precision_names[precision], (int)storage, cs);
  test_below(what, worst * tightest, tightest);
  kaon_operator_destroy(&M);
}

static void schur_matches_reference(const int extents[4], int antiperiodic, double cs) {
  static const kaon_reconstruct storages[3] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                               KAON_RECONSTRUCT_8};
  expected_set e = {0}; /* the same links for every instruction set */
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!case_open(&c, isa, extents, antiperiodic, LINKS_RANDOM, 11)) continue;
    if (e.x == NULL) e = expect(&c, cs);
    for (int precision = 0; precision < 3; precision++)
      for (int s = 0; s < 3; s++)
        compare_storage(&c, &e, cs, (kaon_precision)precision, storages[s]);
    case_close(&c);
  }
  forget(&e);
}

static void test_clover_schur_matches_reference_on_plain_order(void **state) {
  (void)state;
  schur_matches_reference(plain_extents, 1, csw);
}
static void test_wilson_schur_matches_reference_on_plain_order(void **state) {
  (void)state;
  schur_matches_reference(plain_extents, 0, 0);
}
static void test_clover_schur_matches_reference_on_split_order(void **state) {
  (void)state;
  schur_matches_reference(small_extents, 1, csw);
}

/* <y, S x> = <S^dagger y, x> by the library's own dot, in double. */
static void test_dagger_is_the_adjoint(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, cube_extents, 1, LINKS_RANDOM, 12));
  kaon_operator *M = case_dirac(&c, kappa, csw, 0.9, KAON_DOUBLE, KAON_RECONSTRUCT_12);
  ref_complex **x = case_random_columns(&c, 2, 3), **y = case_random_columns(&c, 2, 4);
  for (int shape = 0; shape < 4; shape++)
    for (int temporal = 0; temporal < 2; temporal++) {
      const kaon_parity parity = (kaon_parity)(shape >> 1 & 1);
      kaon_operator *S = case_even_odd(&c, M, form_of(shape), parity, temporal);
      kaon_vector *v[4];
      for (int i = 0; i < 4; i++) v[i] = case_vector(&c, parity, KAON_DOUBLE, 2);
      case_import(&c, v[0], x);
      case_import(&c, v[1], y);
      must(c.ctx, kaon_operator_apply(S, KAON_PLAIN, v[0], v[2]));
      must(c.ctx, kaon_operator_apply(S, KAON_DAGGER, v[1], v[3]));
      double left[2][2], right[2][2], nx[2], ny[2], worst = 0;
      must(c.ctx, kaon_vector_dot(v[1], v[2], left));
      must(c.ctx, kaon_vector_dot(v[3], v[0], right));
      must(c.ctx, kaon_vector_norm2(v[0], nx));
      must(c.ctx, kaon_vector_norm2(v[1], ny));
      for (int k = 0; k < 2; k++)
        worst = fmax(
            worst, hypot(left[k][0] - right[k][0], left[k][1] - right[k][1]) / sqrt(nx[k] * ny[k]));
      test_below("<y, S x> - <S^dag y, x> over |x| |y|", worst,
                 schur_bound(shape, KAON_DOUBLE, KAON_RECONSTRUCT_12, csw));
      for (int i = 0; i < 4; i++) kaon_vector_destroy(&v[i]);
      kaon_operator_destroy(&S);
    }
  case_free_columns(x, 2);
  case_free_columns(y, 2);
  kaon_operator_destroy(&M);
  case_close(&c);
}

static void test_prepare_matches_reference(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_RANDOM, 13));
  ref_dirac d = case_reference(&c, kappa, csw, 1);
  ref_complex **b = case_random_columns(&c, 2, 6);
  kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  for (int shape = 0; shape < 4; shape++) {
    const kaon_parity p = (kaon_parity)(shape >> 1 & 1);
    kaon_operator *S = case_even_odd(&c, M, form_of(shape), p, 0);
    kaon_vector *full = case_vector(&c, KAON_FULL, KAON_DOUBLE, 2);
    kaon_vector *reduced = case_vector(&c, p, KAON_DOUBLE, 2);
    case_import(&c, full, b);
    must(c.ctx, kaon_operator_prepare(S, full, reduced));
    ref_complex *expected[2];
    for (int k = 0; k < 2; k++) {
      expected[k] = ref_new(ref_spinor_size(&c.L));
      ref_schur_prepare(&d, (int)p, !(shape & 1), b[k], expected[k]);
      case_restrict(&c, (int)p, expected[k]);
    }
    test_below("prepared source", case_deviation(&c, reduced, expected),
               /* kappa instead of kappa^2 before the hops */
               schur_bound(shape, KAON_DOUBLE, KAON_RECONSTRUCT_18, csw) / kappa);
    for (int k = 0; k < 2; k++) free(expected[k]);
    kaon_vector_destroy(&full);
    kaon_vector_destroy(&reduced);
    kaon_operator_destroy(&S);
  }
  case_free_columns(b, 2);
  ref_dirac_free(&d);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* For any x_p, with r' = b' - S x_p and x = reconstruct(x_p), the residual b - M x of the full
 * system vanishes on q and equals lift(r') on p. This is exact algebra, so only rounding remains.
 */
static void residual_lifts(dirac_case *c, kaon_operator *M, int shape, int temporal,
                           ref_complex *const *b, ref_complex *const *guess) {
  const kaon_parity p = (kaon_parity)(shape >> 1 & 1);
  const kaon_even_odd form = shape == 4 ? KAON_EVEN_ODD_NONE : form_of(shape);
  const kaon_parity kept = form == KAON_EVEN_ODD_NONE ? KAON_FULL : p;
  kaon_operator *S = case_even_odd(c, M, form, p, temporal);
  kaon_vector *full_b = case_vector(c, KAON_FULL, KAON_DOUBLE, 2);
  kaon_vector *full_x = case_vector(c, KAON_FULL, KAON_DOUBLE, 2);
  kaon_vector *full_r = case_vector(c, KAON_FULL, KAON_DOUBLE, 2);
  kaon_vector *rb = case_vector(c, kept, KAON_DOUBLE, 2),
              *rx = case_vector(c, kept, KAON_DOUBLE, 2);
  kaon_vector *rr = case_vector(c, kept, KAON_DOUBLE, 2);
  kaon_vector *lifted = case_vector(c, kept, KAON_DOUBLE, 2);
  case_import(c, full_b, b);
  case_import(c, rx, guess);
  must(c->ctx, kaon_operator_prepare(S, full_b, rb));
  must(c->ctx, kaon_operator_reconstruct(S, rx, full_b, full_x));
  must(c->ctx, kaon_operator_apply(S, KAON_PLAIN, rx, rr));
  must(c->ctx, kaon_vector_axpy(-1, 0, rb, rr)); /* -r' */
  if (S->reduction->lift != NULL)
    must(c->ctx, S->reduction->lift(S, rr, lifted, NULL));
  else
    must(c->ctx, kaon_vector_copy(lifted, rr));
  must(c->ctx, kaon_operator_apply(M, KAON_PLAIN, full_x, full_r));
  must(c->ctx, kaon_vector_axpy(-1, 0, full_b, full_r)); /* -r */
  double worst = 0;
  const size_t n = ref_spinor_size(&c->L);
  for (int k = 0; k < 2; k++) {
    ref_complex *expected = case_export(c, full_r, k), *got = case_export(c, lifted, k);
    worst = larger(worst, ref_rel_diff(got, expected, n));
    free(expected);
    free(got);
  }
  char what[96];
  snprintf(what, sizeof what, "lifted residual, form %d on parity %d, temporal gauge %d", (int)form,
           (int)p, temporal);
  /* two routes of four applications, each below the symmetric form's error */
  test_below(what, worst, 8 * schur_bound(0, KAON_DOUBLE, KAON_RECONSTRUCT_18, csw));
  kaon_vector *all[] = {full_b, full_x, full_r, rb, rx, rr, lifted};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) kaon_vector_destroy(&all[i]);
  kaon_operator_destroy(&S);
}

static void test_full_residual_is_the_lifted_one_and_vanishes_elsewhere(void **state) {
  (void)state;
  static const int *const shapes[2] = {plain_extents, small_extents};
  for (int lattice = 0; lattice < 2; lattice++)
    for (int clover = 0; clover < 2; clover++) {
      dirac_case c;
      assert_true(case_open(&c, KAON_ISA_AUTO, shapes[lattice], 1, LINKS_RANDOM, 14));
      ref_complex **b = case_random_columns(&c, 2, 7), **guess = case_random_columns(&c, 2, 8);
      kaon_operator *M = case_dirac(&c, kappa, clover * csw, 0.9, KAON_DOUBLE, KAON_RECONSTRUCT_18);
      for (int shape = 0; shape < 5; shape++)
        for (int temporal = 0; temporal < 2; temporal++)
          residual_lifts(&c, M, shape, temporal, b, guess);
      case_free_columns(b, 2);
      case_free_columns(guess, 2);
      kaon_operator_destroy(&M);
      case_close(&c);
    }
}

/* The solution of the reduced system, reconstructed, is that of the full one. |M - 1| <= 8 kappa +
 * 6 kappa csw < 1 bounds the condition number; the normal equations cost another factor of it, and
 * x_p moves x_q by less than itself. */
static void test_reduced_solution_is_the_full_one(void **state) {
  (void)state;
  const double k = 0.09, cs = 0.3, tol = 1e-12, off = 8 * k + 6 * k * cs;
  const double cond = (1 + off) / (1 - off);
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_WEAK, 15));
  kaon_operator *M = case_dirac(&c, k, cs, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  ref_complex **psi = case_random_columns(&c, 1, 9);
  kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  case_import(&c, b, psi);
  test_below("|b - M x| / |b| of the full system", case_solve(&c, M, b, x, tol), cond * tol);
  ref_complex *full = case_export(&c, x, 0);
  for (int shape = 0; shape < 5; shape++)
    for (int temporal = 0; temporal < 2; temporal++) {
      const kaon_even_odd form = shape == 4 ? KAON_EVEN_ODD_NONE : form_of(shape);
      const kaon_parity p = (kaon_parity)(shape >> 1 & 1);
      const kaon_parity kept = form == KAON_EVEN_ODD_NONE ? KAON_FULL : p;
      kaon_operator *S = case_even_odd(&c, M, form, p, temporal);
      kaon_vector *rb = case_vector(&c, kept, KAON_DOUBLE, 1);
      kaon_vector *rx = case_vector(&c, kept, KAON_DOUBLE, 1);
      must(c.ctx, kaon_operator_prepare(S, b, rb));
      case_solve(&c, S, rb, rx, tol);
      must(c.ctx, kaon_operator_reconstruct(S, rx, b, x));
      char what[96];
      snprintf(what, sizeof what, "solution, form %d on parity %d, temporal gauge %d", (int)form,
               (int)p, temporal);
      test_below(what, case_deviation(&c, x, &full), 4 * cond * cond * tol);
      kaon_vector_destroy(&rb);
      kaon_vector_destroy(&rx);
      kaon_operator_destroy(&S);
    }
  free(full);
  case_free_columns(psi, 1);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* Gates and sums: a frozen column keeps its values; norm and dot product of the others are those
 * of the result. */
static void gates_and_sums(const int extents[4]) {
  dirac_case c;
  assert_true(case_open_checked(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 16));
  kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *ops[4] = {M, NULL, NULL, NULL};
  ops[1] = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  ops[2] = case_even_odd(&c, M, KAON_EVEN_ODD_ASYMMETRIC, KAON_ODD, 0);
  ops[3] = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_ODD, 1);
  ref_complex **psi = case_random_columns(&c, 3, 10);
  for (int i = 0; i < 8; i++) {
    kaon_operator *A = ops[i / 2];
    const kaon_mode mode = (kaon_mode)(i % 2);
    kaon_vector *v[3];
    for (int j = 0; j < 3; j++)
      must(c.ctx, kaon_vector_create(c.ctx, kaon_operator_space(A), KAON_DOUBLE, 3, &v[j]));
    case_import(&c, v[0], psi);
    must(c.ctx, kaon_operator_apply(A, mode, v[0], v[1]));
    double norm[3], dot[3][2], before[3], after[3];
    must(c.ctx, kaon_vector_norm2(v[1], norm));
    must(c.ctx, kaon_vector_dot(v[0], v[1], dot));
    case_import(&c, v[2], psi);
    must(c.ctx, kaon_vector_norm2(v[2], before));
    kaon_scalars *scalars = NULL;
    must(c.ctx, kaon_scalars_create(c.ctx, 3, &scalars));
    kaon_column_state *host = calloc(3, sizeof *host);
    for (int k = 0; k < 3; k++) host[k].gate = k == 1 ? KAON_GATE_SERVICE : KAON_GATE_STEP;
    must(c.ctx, kaon_scalars_write(scalars, host));
    kaon_pass pass = KAON_PASS_INIT;
    pass.scalars = scalars;
    pass.norm = 3;
    pass.dot = 5;
    pass.w = v[0];
    must(c.ctx, kaon_operator_run(A, mode, v[0], v[2], &pass));
    must(c.ctx, kaon_scalars_read(scalars, host));
    must(c.ctx, kaon_vector_norm2(v[2], after));
    double worst = 0;
    for (int k = 0; k < 3; k += 2) {
      worst = larger(worst, fabs(host[k].slot[3][0] - norm[k]) / norm[k]);
      worst = larger(
          worst, hypot(host[k].slot[5][0] - dot[k][0], host[k].slot[5][1] - dot[k][1]) / norm[k]);
      assert_true(after[k] == norm[k]);
    }
    assert_true(after[1] == before[1]);
    assert_true(host[1].slot[3][0] == 0);
    /* sums of n positive terms in another order: n eps at most */
    test_below(A->ops->name, worst, (double)ref_spinor_size(&c.L) * 2 * DBL_EPSILON);
    free(host);
    kaon_scalars_destroy(&scalars);
    for (int j = 0; j < 3; j++) kaon_vector_destroy(&v[j]);
  }
  case_free_columns(psi, 3);
  for (int i = 3; i >= 0; i--) kaon_operator_destroy(&ops[i]);
  case_close(&c);
}

static void test_pass_gates_columns_and_sums_in_the_same_go(void **state) {
  (void)state;
  gates_and_sums(small_extents);
  gates_and_sums(plain_extents);
  gates_and_sums(tail_extents);
}

/* On p, M of a vector that is zero on q is T of it. T^-1 T = 1 within the condition of the blocks,
 * which is below 100 on these links; 12 products round by 12 eps each. The adjoints are those of the
 * products. */
static void site_terms(dirac_case *c, kaon_operator *M, kaon_parity p) {
  kaon_vector *whole = case_vector(c, KAON_FULL, KAON_DOUBLE, 2),
              *image = case_vector(c, KAON_FULL, KAON_DOUBLE, 2);
  kaon_vector *in = case_vector(c, p, KAON_DOUBLE, 2), *out = case_vector(c, p, KAON_DOUBLE, 2),
              *part = case_vector(c, p, KAON_DOUBLE, 2);
  ref_complex **psi = case_random_columns(c, 2, 3);
  double norm[2], off[2], dot[2][2], other[2][2];
  case_import(c, in, psi);
  must(c->ctx, kaon_vector_copy_parity(whole, in));
  must(c->ctx, kaon_vector_norm2(in, norm));
  for (int mode = 0; mode < 2; mode++) {
    must(c->ctx, kaon_operator_apply(M, (kaon_mode)mode, whole, image));
    must(c->ctx, kaon_vector_copy_parity(part, image));
    must(c->ctx, kaon_dirac_site(M, p, (kaon_mode)mode, 0, in, out));
    must(c->ctx, kaon_vector_dot(in, out, mode == 0 ? dot : other));
    must(c->ctx, kaon_vector_axpy(-1, 0, out, part));
    must(c->ctx, kaon_vector_norm2(part, off));
    test_below("T against M", sqrt(off[1] / norm[1]), 100 * 12 * DBL_EPSILON);
    must(c->ctx, kaon_dirac_site(M, p, (kaon_mode)mode, 1, out, out));
    must(c->ctx, kaon_vector_axpy(-1, 0, in, out));
    must(c->ctx, kaon_vector_norm2(out, off));
    test_below("T^-1 T", sqrt(off[1] / norm[1]), 100 * 12 * DBL_EPSILON);
  }
  test_close("(x, T x)", dot[0][1], -other[0][1], 100 * 12 * DBL_EPSILON * norm[0]);
  must_refuse(c->ctx, KAON_ERR_SHAPE, kaon_dirac_site(M, (kaon_parity)(1 - p), 0, 0, in, out));
  must_refuse(c->ctx, KAON_ERR_SHAPE, kaon_vector_copy_parity(whole, image));
  must_refuse(c->ctx, KAON_ERR_SHAPE, kaon_vector_copy_parity(in, out));
  case_free_columns(psi, 2);
  kaon_vector_destroy(&whole);
  kaon_vector_destroy(&image);
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&out);
  kaon_vector_destroy(&part);
}

static void test_site_terms_are_parts_of_the_operator(void **state) {
  dirac_case c;
  (void)state;
  for (int machine = 0; machine <= MACHINE_CUDA; machine += MACHINE_CUDA) {
    if (!case_open(&c, machine, small_extents, 1, LINKS_WEAK, 16)) continue;
    for (int mu = 0; mu < 2; mu++)
      for (int clover = 0; clover < 2; clover++) {
        kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
        kaon_operator *M = NULL;
        options.kappa = kappa;
        options.csw = clover ? csw : 0;
        options.mu = mu ? 0.3 : 0;
        must(c.ctx, kaon_dirac_create(c.gauge, &options, &M));
        site_terms(&c, M, KAON_EVEN);
        site_terms(&c, M, KAON_ODD);
        kaon_operator_destroy(&M);
      }
    case_close(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clover_schur_matches_reference_on_plain_order),
      cmocka_unit_test(test_wilson_schur_matches_reference_on_plain_order),
      cmocka_unit_test(test_clover_schur_matches_reference_on_split_order),
      cmocka_unit_test(test_dagger_is_the_adjoint),
      cmocka_unit_test(test_prepare_matches_reference),
      cmocka_unit_test(test_full_residual_is_the_lifted_one_and_vanishes_elsewhere),
      cmocka_unit_test(test_reduced_solution_is_the_full_one),
      cmocka_unit_test(test_pass_gates_columns_and_sums_in_the_same_go),
      cmocka_unit_test(test_site_terms_are_parts_of_the_operator),
  };
  return test_main(tests, NULL, NULL);
}
