/* test_dirac.c - M, M^dagger and the bare hop against the reference, for every precision, link
 * storage and instruction set, on plain and split site orders. Also clover blocks,
 * log-determinants, diagonals, cost figures, stale operators and bad input. */
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

/* csw kappa small enough that |A - 1| <= 6 kappa csw < 1 on any links (|F| <= 1, |sigma| = 1). */
static const double kappa = 0.124, csw = 0.7, aniso = 0.8;

static const int plain_extents[4] = {4, 6, 2, 10}, small_extents[4] = {8, 4, 4, 8},
                 cube_extents[4] = {8, 8, 8, 8},
                 tail_extents[4] = {6, 2, 2, 10}; /* 120 sites a parity: 7.5 blocks of 16 */
static const kaon_reconstruct storages[3] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                             KAON_RECONSTRUCT_8};
enum { COLUMNS = 12 };

static double clover_norm(double c) {
  return 1 + 6 * kappa * c;
}

/* Error of M x over |x| for random x: hop, clover blocks, storing x and M x. The reference rounds
 * too, in double: sqrt(2). */
static double full_bound(kaon_precision precision, kaon_reconstruct storage, double c) {
  const rounding r = case_rounding_rms(precision, storage);
  const double a = clover_norm(c), size2 = a * a + 16 * kappa * kappa;
  const double clover = c == 0 ? 0 : a * r.e_clover;
  return 3 * sqrt(2) *
         sqrt(pow(kappa * r.e_hop, 2) + clover * clover + 2 * size2 * r.e_store * r.e_store);
}

/* The worst of the columns of v against `expected`, as an error over |x|. */
static double error_over(dirac_case *c, const kaon_vector *v, ref_complex *const *expected,
                         ref_complex *const *x) {
  const size_t n = ref_spinor_size(&c->L);
  double worst = 0;
  for (int k = 0; k < kaon_vector_columns(v); k++) {
    ref_complex *psi = case_export(c, v, k);
    double e =
        ref_rel_diff(psi, expected[k], n) * sqrt(ref_norm2(expected[k], n) / ref_norm2(x[k], n));
    if (!(e <= worst)) worst = e;
    free(psi);
  }
  return worst;
}

typedef struct {
  ref_complex **x, **y[2]; /* y[mode] = M x, M^dagger x */
} expected_set;

static expected_set expect(const dirac_case *c, double cs, double an) {
  expected_set e = {.x = case_random_columns(c, COLUMNS, 5)};
  ref_dirac d = case_reference(c, kappa, cs, an);
  for (int mode = 0; mode < 2; mode++) {
    e.y[mode] = ref_alloc(COLUMNS, sizeof *e.y[mode]);
    for (int k = 0; k < COLUMNS; k++) {
      e.y[mode][k] = ref_new(ref_spinor_size(&c->L));
      (mode ? ref_apply_dagger : ref_apply)(&d, e.x[k], e.y[mode][k]);
    }
  }
  ref_dirac_free(&d);
  return e;
}

static void forget(expected_set *e) {
  case_free_columns(e->x, COLUMNS);
  for (int mode = 0; mode < 2; mode++) case_free_columns(e->y[mode], COLUMNS);
}

/* One operator against the set, both modes, one column and twelve. */
static void compare(dirac_case *c, const expected_set *e, double cs, double an,
                    kaon_precision precision, kaon_reconstruct storage) {
  kaon_operator *M = case_dirac(c, kappa, cs, an, precision, storage);
  double worst = 0;
  for (int nrhs = 1; nrhs <= COLUMNS; nrhs += COLUMNS - 1) {
    kaon_vector *x = case_vector(c, KAON_FULL, precision, nrhs);
    kaon_vector *y = case_vector(c, KAON_FULL, precision, nrhs);
    case_import(c, x, e->x);
    for (int mode = 0; mode < 2; mode++) {
      must(c->ctx, kaon_operator_apply(M, (kaon_mode)mode, x, y));
      worst = larger(worst, error_over(c, y, e->y[mode], e->x));
    }
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
  }
  char what[128];
  snprintf(what, sizeof what, "%dx%dx%dx%d %s %s r%d csw %.1f", c->L.n[0], c->L.n[1], c->L.n[2],
           c->L.n[3], isa_names[c->isa], precision_names[precision], (int)storage, cs);
  test_below(what, worst, full_bound(precision, storage, cs));
  kaon_operator_destroy(&M);
}

/* Every instruction set, precision and link storage; the links and so the expected columns are the
 * same for all. */
static void matrix_matches_reference(const int extents[4], int check, int antiperiodic, double cs,
                                     double an) {
  expected_set e = {NULL, {NULL, NULL}};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!(check ? case_open_checked : case_open)(&c, isa, extents, antiperiodic, LINKS_RANDOM, 1))
      continue;
    if (e.x == NULL) e = expect(&c, cs, an);
    for (int precision = 0; precision < 3; precision++)
      for (int s = 0; s < 3; s++) compare(&c, &e, cs, an, (kaon_precision)precision, storages[s]);
    case_close(&c);
  }
  forget(&e);
}

/* Masked lanes contribute nothing to any site, although fresh memory is poisoned. */
static void test_masked_tail_and_poisoned_memory_reach_no_site(void **state) {
  (void)state;
  matrix_matches_reference(tail_extents, 1, 1, csw, aniso);
}
static void test_wilson_matches_reference_on_plain_order(void **state) {
  (void)state;
  matrix_matches_reference(plain_extents, 0, 1, 0, 1);
}
static void test_clover_matches_reference_on_plain_order(void **state) {
  (void)state;
  matrix_matches_reference(plain_extents, 0, 1, csw, aniso);
}
static void test_wilson_matches_reference_on_split_order(void **state) {
  (void)state;
  matrix_matches_reference(small_extents, 0, 1, 0, aniso);
}
static void test_clover_matches_reference_on_split_order(void **state) {
  (void)state;
  matrix_matches_reference(small_extents, 0, 0, csw, 1);
}
static void test_clover_matches_reference_on_8888(void **state) {
  (void)state;
  matrix_matches_reference(cube_extents, 0, 1, csw, 1);
}

static void test_hop_matches_reference(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_RANDOM, 2));
  kaon_operator *M = case_dirac(&c, kappa, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_12);
  ref_dirac d = case_reference(&c, kappa, 0, 1);
  ref_complex **x = case_random_columns(&c, 2, 7);
  const rounding r = case_rounding_rms(KAON_DOUBLE, KAON_RECONSTRUCT_12);
  for (int p = 0; p < 2; p++)
    for (int mode = 0; mode < 2; mode++) {
      ref_complex *expected[2];
      for (int k = 0; k < 2; k++) {
        expected[k] = ref_new(ref_spinor_size(&c.L));
        ref_hop_parity(&d, mode ? -1 : 1, p, x[k], expected[k]);
      }
      kaon_vector *in = case_vector(&c, (kaon_parity)(1 - p), KAON_DOUBLE, 2);
      kaon_vector *out = case_vector(&c, (kaon_parity)p, KAON_DOUBLE, 2);
      case_import(&c, in, x);
      must(c.ctx, kaon_dirac_hop(M, (kaon_parity)p, (kaon_mode)mode, in, out));
      test_below(p ? "hop onto odd sites" : "hop onto even sites", error_over(&c, out, expected, x),
                 2 * r.e_hop);
      must_refuse(c.ctx, KAON_ERR_SHAPE,
                  kaon_dirac_hop(M, (kaon_parity)p, (kaon_mode)mode, out, in));
      kaon_vector_destroy(&in);
      kaon_vector_destroy(&out);
      for (int k = 0; k < 2; k++) free(expected[k]);
    }
  case_free_columns(x, 2);
  ref_dirac_free(&d);
  kaon_operator_destroy(&M);
  case_close(&c);
}

static void logdet_on(const int extents[4]) {
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 3));
  kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  ref_dirac d = case_reference(&c, kappa, csw, 1);
  double expected[3] = {0}, largest = 0;
  for (size_t site = 0; site < ref_volume(&c.L); site++) {
    const double part = creal(ref_log_det(12, d.clover + 144 * site));
    expected[ref_parity(&c.L, site)] += part;
    expected[KAON_FULL] += part;
    largest = larger(largest, fabs(part));
  }
  /* 12 pivots a site, each with a relative error of some 12^2 roundings at most */
  const double bound = (double)ref_volume(&c.L) * 12 * 144 * DBL_EPSILON;
  for (int p = 0; p < 3; p++) {
    double logdet = 0;
    int64_t negative = -1;
    must(c.ctx, kaon_dirac_clover_logdet(M, (kaon_parity)p, &logdet, &negative));
    test_close("log |det A|", logdet, expected[p], bound);
    assert_int_equal(negative, 0);
    must(c.ctx, kaon_dirac_clover_logdet(M, (kaon_parity)p, &logdet, NULL));
    test_close("log det A", logdet, expected[p], bound);
  }
  printf("  largest |log det| of a site %.3g\n", largest);
  ref_dirac_free(&d);
  kaon_operator_destroy(&M);
  M = case_dirac(&c, kappa, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  double nothing = 0;
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_dirac_clover_logdet(M, KAON_EVEN, &nothing, NULL));
  kaon_operator_destroy(&M);
  case_close(&c);
}

static void test_clover_logdet_matches_reference(void **state) {
  (void)state;
  logdet_on(plain_extents);
  logdet_on(small_extents);
}

/* A strong clover term on random links has blocks of either sign, which are counted. A negative
 * determinant has no logarithm unless the caller asks for the sign. */
static void test_negative_clover_determinants_are_counted(void **state) {
  (void)state;
  int refused = 0, taken = 0;
  for (uint64_t seed = 1; seed < 9; seed++) {
    dirac_case c;
    assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_RANDOM, seed));
    kaon_operator *M = case_dirac(&c, 0.2, 5, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    ref_dirac d = case_reference(&c, 0.2, 5, 1);
    int64_t expected[3] = {0};
    for (size_t site = 0; site < ref_volume(&c.L); site++) {
      ref_complex block[2][36];
      ref_chiral_blocks(d.clover + 144 * site, block[0], block[1]);
      for (int chirality = 0; chirality < 2; chirality++) {
        const int below = cos(cimag(ref_log_det(6, block[chirality]))) < 0;
        expected[ref_parity(&c.L, site)] += below;
        expected[KAON_FULL] += below;
      }
    }
    for (int p = 0; p < 3; p++) {
      double logdet = 0, signless = 77;
      int64_t negative = 0;
      must(c.ctx, kaon_dirac_clover_logdet(M, (kaon_parity)p, &logdet, &negative));
      assert_int_equal(negative, expected[p]);
      if (negative % 2 == 0) {
        must(c.ctx, kaon_dirac_clover_logdet(M, (kaon_parity)p, &signless, NULL));
        assert_true(signless == logdet);
        taken++;
      } else {
        must_refuse(c.ctx, KAON_ERR_ARGUMENT,
                    kaon_dirac_clover_logdet(M, (kaon_parity)p, &signless, NULL));
        assert_true(signless == 77);
        refused++;
      }
    }
    printf("  %d of %d blocks\n", (int)expected[KAON_FULL], 2 * (int)ref_volume(&c.L));
    assert_true(expected[KAON_FULL] > 0);
    ref_dirac_free(&d);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
  assert_true(refused > 0 && taken > 0);
}

/* Column k is 1 in component k of every site. Subtracting the reference's kappa D leaves M's
 * clover part, site by site. */
static void test_clover_blocks_match_reference_matrices(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_RANDOM, 4));
  kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  ref_dirac d = case_reference(&c, kappa, csw, 1);
  kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  kaon_vector *y = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  double worst = 0;
  for (int parity = 0; parity < 2; parity++)
    for (size_t component = 0; component < 12; component++) {
      ref_complex *psi = ref_new(ref_spinor_size(&c.L));
      for (size_t site = 0; site < ref_volume(&c.L); site++)
        psi[12 * site + component] = ref_parity(&c.L, site) == parity;
      case_import(&c, x, &psi); /* zero on the other parity: no hop reaches these sites */
      must(c.ctx, kaon_operator_apply(M, KAON_PLAIN, x, y));
      ref_complex *out = case_export(&c, y, 0);
      for (size_t site = 0; site < ref_volume(&c.L); site++)
        for (size_t row = 0; row < 12 && ref_parity(&c.L, site) == parity; row++)
          worst = larger(worst,
                         cabs(out[12 * site + row] - d.clover[144 * site + 12 * row + component]));
      free(psi);
      free(out);
    }
  /* an entry is a sum of 6 planes of 4 leaves of 3 matrix products: 6 * 4 * 3 * 6 roundings */
  test_below("entry of A against the field strength", worst, 432 * DBL_EPSILON * 6 * kappa * csw);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  ref_dirac_free(&d);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* Twins in other precisions and storages, made before the links change, follow kaon_dirac_update.
 */
static void test_twins_follow_an_update_of_the_links(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_RANDOM, 6));
  kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *S = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_ODD, 1);
  kaon_operator *twins[3] = {NULL};
  for (int i = 0; i < 3; i++)
    must(c.ctx, M->ops->twin(M, (kaon_precision)i, storages[i], &twins[i]));
  ref_random_links(&c.L, c.u, 7);
  case_import_links(&c);
  expected_set e = expect(&c, csw, 1);
  for (int updated = 0; updated < 2; updated++) {
    if (updated) must(c.ctx, kaon_dirac_update(S));
    for (int i = 0; i < 3; i++) {
      kaon_vector *x = case_vector(&c, KAON_FULL, (kaon_precision)i, 1);
      kaon_vector *y = case_vector(&c, KAON_FULL, (kaon_precision)i, 1);
      case_import(&c, x, e.x);
      if (!updated) {
        must_refuse(c.ctx, KAON_ERR_STALE, kaon_operator_apply(twins[i], KAON_PLAIN, x, y));
      } else {
        must(c.ctx, kaon_operator_apply(twins[i], KAON_PLAIN, x, y));
        test_below(precision_names[i], error_over(&c, y, e.y[0], e.x),
                   full_bound((kaon_precision)i, storages[i], csw));
      }
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
    }
  }
  forget(&e);
  for (int i = 0; i < 3; i++) kaon_operator_destroy(&twins[i]);
  kaon_operator_destroy(&M); /* S keeps it alive */
  kaon_vector *half = case_vector(&c, KAON_ODD, KAON_DOUBLE, 2);
  kaon_vector *other = case_vector(&c, KAON_ODD, KAON_DOUBLE, 2);
  must(c.ctx, kaon_operator_apply(S, KAON_PLAIN, half, other));
  kaon_vector_destroy(&half);
  kaon_vector_destroy(&other);
  kaon_operator_destroy(&S);
  case_close(&c);
}

static void test_diagonal_is_that_of_the_clover_blocks(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_RANDOM, 8));
  ref_dirac d = case_reference(&c, kappa, csw, 1);
  ref_complex *expected = ref_new(ref_spinor_size(&c.L));
  for (size_t site = 0; site < ref_volume(&c.L); site++)
    for (size_t i = 0; i < 12; i++) expected[12 * site + i] = d.clover[144 * site + 13 * i];
  for (int precision = 0; precision < 3; precision++) {
    kaon_operator *M =
        case_dirac(&c, kappa, csw, 1, (kaon_precision)precision, KAON_RECONSTRUCT_18);
    kaon_vector *v = case_vector(&c, KAON_FULL, (kaon_precision)precision, 2);
    must(c.ctx, M->ops->diagonal(M, v));
    ref_complex *both[2] = {expected, expected};
    const rounding r = case_rounding((kaon_precision)precision, KAON_RECONSTRUCT_18);
    test_below("diagonal of M", case_deviation(&c, v, both), r.e_store + 432 * DBL_EPSILON);
    kaon_vector_destroy(&v);
    kaon_operator_destroy(&M);
  }
  free(expected);
  ref_dirac_free(&d);
  case_close(&c);
}

/* Flops and ideal bytes a site, as docs/conventions.md counts them. */
static void test_costs_are_the_agreed_counts(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_UNIT, 0));
  const double sites = (double)kaon_lattice_volume(c.lattice);
  for (int clover = 0; clover < 2; clover++) {
    kaon_operator *M = case_dirac(&c, kappa, clover * csw, 1, KAON_HALF, KAON_RECONSTRUCT_12);
    kaon_operator *S = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
    kaon_cost cost;
    must(c.ctx, kaon_operator_cost(M, 4, &cost));
    assert_true(cost.flops == sites * (clover ? 1872 : 1368));
    const double hop = 2 * (48 + 4) + (8 * 12 * 2 + clover * (72 * 2 + 4)) / 4.0;
    assert_true(cost.bytes == sites * hop);
    must(c.ctx, kaon_operator_cost(S, 4, &cost));
    assert_true(cost.flops == sites / 2 * (clover ? 3792 : 2688));
    assert_true(cost.bytes == sites / 2 * 2 * hop);
    kaon_operator_destroy(&S);
    kaon_operator_destroy(&M);
  }
  case_close(&c);
}

static void refuse_options(dirac_case *c, double k, double cs, double an) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.kappa = k;
  options.csw = cs;
  options.anisotropy = an;
  kaon_operator *M = NULL;
  must_refuse(c->ctx, KAON_ERR_ARGUMENT, kaon_dirac_create(c->gauge, &options, &M));
  assert_null(M);
}

static void test_bad_input_is_refused_with_a_sentence(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_UNIT, 0));
  refuse_options(&c, 0, 0, 1);
  refuse_options(&c, -0.1, 0, 1);
  refuse_options(&c, NAN, 0, 1);
  refuse_options(&c, INFINITY, 0, 1);
  refuse_options(&c, 1e9, 0, 1);
  refuse_options(&c, 0.12, NAN, 1);
  refuse_options(&c, 0.12, 1, 0);
  kaon_operator *M = NULL;
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_dirac_create(NULL, NULL, &M));
  M = case_dirac(&c, kappa, 0, 1, KAON_SINGLE, KAON_RECONSTRUCT_18);
  kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  kaon_vector *y = case_vector(&c, KAON_FULL, KAON_SINGLE, 1);
  kaon_vector *even = case_vector(&c, KAON_EVEN, KAON_SINGLE, 1);
  must_refuse(c.ctx, KAON_ERR_PRECISION, kaon_operator_apply(M, KAON_PLAIN, x, y));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_operator_apply(M, KAON_PLAIN, even, y));
  must_refuse(c.ctx, KAON_ERR_ALIAS, kaon_operator_apply(M, KAON_PLAIN, y, y));
  kaon_operator *S = case_even_odd(&c, M, KAON_EVEN_ODD_ASYMMETRIC, KAON_EVEN, 0), *again = NULL;
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_dirac_even_odd(S, NULL, &again));
  assert_null(again);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&even);
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* A constant abelian field: A has the eigenvalues 1 +- kappa csw (F_xy +- F_zt) with F = sin(q
 * angle), so kappa csw can be chosen to make one of them vanish. */
static void test_singular_clover_block_names_its_site(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_UNIT, 0));
  const int q[3] = {1, -1, 0};
  ref_flux_links(&c.L, c.u, 2, 0, q);
  case_import_links(&c);
  ref_complex f[9];
  ref_field_strength(&c.L, c.u, 0, 0, 1, f);
  const double strength = cabs(f[0]);
  kaon_operator *M =
      case_dirac(&c, 0.125, 1 / (0.125 * strength), 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *S = NULL;
  must_refuse(c.ctx, KAON_ERR_SINGULAR, kaon_dirac_even_odd(M, NULL, &S));
  assert_null(S);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* An abelian field in one plane: four plaquettes around an odd site, and so those around the site
 * two away, have the flux pi / 2. There F_xy = +-1, and |F| <= 1 / 2 at even sites. */
static void make_odd_flux(dirac_case *c) {
  static const int at[4] = {1, 2, 2, 2};
  for (int i = 0; i < 4; i++) {
    const int site[4] = {at[0] - i % 2, at[1] + (i < 2 ? 1 : -1), at[2], at[3]};
    ref_complex *u = c->u + 36 * ref_site(&c->L, site);
    u[0] = i < 2 ? -I : I;
    u[4] = conj(u[0]);
  }
  case_import_links(c);
}

/* Even blocks are inverted before the odd one fails. After an update of the links they are those of
 * the old ones, and must not be taken. */
static void test_blocks_of_a_failed_reduction_are_forgotten(void **state) {
  (void)state;
  dirac_case c;
  kaon_operator *S[2] = {NULL, NULL}, *M[2];
  ref_complex *out[2];
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_UNIT, 0));
  make_odd_flux(&c);
  M[0] = case_dirac(&c, 0.125, 8, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  must_refuse(c.ctx, KAON_ERR_SINGULAR, kaon_dirac_even_odd(M[0], NULL, &S[0]));
  ref_weak_links(&c.L, c.u, 0.1, 5);
  case_import_links(&c);
  must(c.ctx, kaon_dirac_update(M[0]));
  M[1] = case_dirac(&c, 0.125, 8, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  ref_complex **psi = case_random_columns(&c, 1, 3);
  kaon_vector *x = case_vector(&c, KAON_EVEN, KAON_DOUBLE, 1);
  kaon_vector *y = case_vector(&c, KAON_EVEN, KAON_DOUBLE, 1);
  case_import(&c, x, psi);
  for (int i = 0; i < 2; i++) {
    must(c.ctx, kaon_dirac_even_odd(M[i], NULL, &S[i]));
    must(c.ctx, kaon_operator_apply(S[i], KAON_PLAIN, x, y));
    out[i] = case_export(&c, y, 0);
  }
  assert_memory_equal(out[0], out[1], ref_spinor_size(&c.L) * sizeof *out[0]);
  for (int i = 0; i < 2; i++) {
    free(out[i]);
    kaon_operator_destroy(&S[i]);
    kaon_operator_destroy(&M[i]);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  case_free_columns(psi, 1);
  case_close(&c);
}

/* A backend whose kernels address 71 reals a site of a parity: enough for links and vectors, not
 * for the 72 of clover blocks. */
static void test_clover_blocks_beyond_what_kernels_number_are_refused(void **state) {
  (void)state;
  dirac_case c;
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_operator *M = NULL;
  assert_true(case_open(&c, KAON_ISA_AUTO, small_extents, 1, LINKS_RANDOM, 3));
  const kaon_backend *backend = c.ctx->backend;
  kaon_backend narrow = *backend;
  narrow.field_bytes = 71 * sizeof(double) * (size_t)kaon_lattice_volume(c.lattice) / 2;
  c.ctx->backend = &narrow;
  options.kappa = kappa;
  must(c.ctx, kaon_dirac_create(c.gauge, &options, &M));
  kaon_operator_destroy(&M);
  options.csw = csw;
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_dirac_create(c.gauge, &options, &M));
  assert_null(M);
  c.ctx->backend = backend;
  must(c.ctx, kaon_dirac_create(c.gauge, &options, &M));
  kaon_operator_destroy(&M);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wilson_matches_reference_on_plain_order),
      cmocka_unit_test(test_clover_matches_reference_on_plain_order),
      cmocka_unit_test(test_wilson_matches_reference_on_split_order),
      cmocka_unit_test(test_clover_matches_reference_on_split_order),
      cmocka_unit_test(test_clover_matches_reference_on_8888),
      cmocka_unit_test(test_masked_tail_and_poisoned_memory_reach_no_site),
      cmocka_unit_test(test_hop_matches_reference),
      cmocka_unit_test(test_clover_blocks_match_reference_matrices),
      cmocka_unit_test(test_clover_logdet_matches_reference),
      cmocka_unit_test(test_negative_clover_determinants_are_counted),
      cmocka_unit_test(test_twins_follow_an_update_of_the_links),
      cmocka_unit_test(test_diagonal_is_that_of_the_clover_blocks),
      cmocka_unit_test(test_costs_are_the_agreed_counts),
      cmocka_unit_test(test_bad_input_is_refused_with_a_sentence),
      cmocka_unit_test(test_singular_clover_block_names_its_site),
      cmocka_unit_test(test_blocks_of_a_failed_reduction_are_forgotten),
      cmocka_unit_test(test_clover_blocks_beyond_what_kernels_number_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
