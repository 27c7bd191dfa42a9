/* test_couplings.c - the hops of an operator in one direction alone, all of them or those that
 * leave blocks, against the reference: every action, machine, precision, link storage and site
 * order, on lattices that are whole or divided against themselves. Sites without such hops are 0.
 *
 * Bounds of |error| / |result| on random vectors, where errors add like independent ones, times 3:
 * - Spinors: one direction of eight has e_hop / sqrt(8) of |x| (case_rounding_rms), and the result
 *   is sqrt(2) |x|. Stores in half: of x, of the result and of ghosts.
 * - Staggered vectors: those of test_staggered.c, which hold for any number of hops, and in half
 *   0.6 steps of a ghost more. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/couplings.h"
#include "tests/util/staggered_case.h"

static const double kappa = 0.12, csw = 1.2, mu = 0.3, anisotropy = 0.9;
enum { COLUMNS = 2, WILSON, CLOVER, TWISTED, NAIVE, IMPROVED, ACTIONS };
static const char *const names[] = {[WILSON] = "wilson",
                                    [CLOVER] = "clover",
                                    [TWISTED] = "twisted clover",
                                    [NAIVE] = "naive staggered",
                                    [IMPROVED] = "improved"};

/* An operator on both sides. The case has links of all actions. */
typedef struct subject {
  staggered_case s;
  int spinors;
  ref_dirac d;
  ref_staggered r;
  kaon_operator *M;
  double bound;
} subject;

static double bound_of(int spinors, kaon_precision precision, kaon_reconstruct reconstruct) {
  const double eps = precision == KAON_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON;
  const int eight = reconstruct == KAON_RECONSTRUCT_8;
  const rounding r = case_rounding_rms(precision, reconstruct);
  if (spinors) return 3 * (r.e_hop / 4 + 3 * r.e_store);
  return precision == KAON_HALF ? 3 * (eight ? 6.6 : 2.1) / 32767 : 8 * (eight ? 10 : 1) * eps;
}

static void subject_make(subject *u, int action, kaon_precision precision,
                         kaon_reconstruct reconstruct) {
  dirac_case *c = &u->s.c;
  u->spinors = action < NAIVE;
  u->bound = bound_of(u->spinors, precision, reconstruct);
  if (!u->spinors) {
    u->M = staggered_operator(&u->s, 0.2, -0.3, KAON_PHASES_MILC, precision, reconstruct);
    u->r = staggered_reference(&u->s, 0.2, -0.3, KAON_PHASES_MILC);
    return;
  }
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.kappa = kappa;
  options.csw = action == WILSON ? 0 : csw;
  options.mu = action == TWISTED ? mu : 0;
  options.anisotropy = anisotropy;
  options.precision = precision;
  options.reconstruct = reconstruct;
  must(c->ctx, kaon_dirac_create(c->gauge, &options, &u->M));
  u->d = case_reference(c, kappa, 0, anisotropy);
}

static kaon_operator *part_of(kaon_operator *M, int direction, int block,
                              kaon_reconstruct reconstruct) {
  const kaon_couplings *c = kaon_operator_capability(M, KAON_CAPABILITY_COUPLINGS);
  const kaon_coupling which = {direction, block, kaon_operator_precision(M), reconstruct};
  kaon_operator *part = NULL;
  assert_non_null(c);
  must(M->ctx, c->couple(M, &which, &part));
  return part;
}

/* The hops that read the site in `direction`; the adjoint's read the opposite one. */
static void expect(const subject *u, int direction, int block, kaon_mode mode,
                   const ref_complex *in, ref_complex *out) {
  const int sign = mode == KAON_PLAIN ? 1 : -1;
  const int along = (direction + (mode == KAON_PLAIN ? 0 : 4)) % 8 + 1;
  ref_dirac d = u->d;
  ref_staggered r = u->r;
  d.along = r.along = along;
  d.cut[direction % 4] = r.block = block;
  if (u->spinors)
    ref_hop(&d, sign, in, out);
  else
    ref_staggered_hop(&r, -1, in, out);
  const size_t n = u->spinors ? ref_spinor_size(&d.L) : 3 * ref_volume(&r.L);
  for (size_t i = 0; i < n; i++) out[i] *= u->spinors ? -kappa : sign;
}

/* Numbers that are 0 in the reference must be 0. */
static void check_zeros(subject *u, const kaon_vector *y, ref_complex *const *expected) {
  const size_t n = u->spinors ? ref_spinor_size(&u->s.c.L) : staggered_size(&u->s);
  ref_complex *psi = ref_new(ref_spinor_size(&u->s.c.L));
  for (int k = 0; k < COLUMNS; k++) {
    must(u->s.c.ctx, kaon_vector_export(y, k, (double *)psi, KAON_BASIS_UKQCD));
    for (size_t i = 0; i < n; i++)
      if (expected[k][i] == 0 && psi[i] != 0) fail_msg("number %zu of column %d is not 0", i, k);
  }
  free(psi);
}

/* Error / bound of all directions. Blocks: none, the shortest, the rank's extent. */
static double check_directions(subject *u, const int extents[4], kaon_reconstruct reconstruct,
                               int turn) {
  dirac_case *c = &u->s.c;
  const kaon_precision precision = kaon_operator_precision(u->M);
  kaon_vector *x = u->spinors ? case_vector(c, KAON_FULL, precision, COLUMNS)
                              : staggered_vector(&u->s, KAON_FULL, precision, COLUMNS);
  kaon_vector *y = u->spinors ? case_vector(c, KAON_FULL, precision, COLUMNS)
                              : staggered_vector(&u->s, KAON_FULL, precision, COLUMNS);
  ref_complex **in = u->spinors ? case_random_columns(c, COLUMNS, 7)
                                : staggered_columns(&u->s, KAON_FULL, COLUMNS, 7);
  ref_complex **out = case_random_columns(c, COLUMNS, 8);
  double worst = 0;
  if (u->spinors)
    case_import(c, x, in);
  else
    staggered_import(&u->s, x, in);
  for (int direction = 0; direction < 8; direction++) {
    const int extent = extents[direction % 4];
    const kaon_mode mode = (kaon_mode)((direction / 4 + turn) % 2);
    int shortest = u->s.improved && !u->spinors ? 3 : 1 + direction % 2;
    while (extent % shortest != 0 && shortest < extent) shortest++;
    const int blocks[3] = {0, shortest <= extent ? shortest : 0, shortest <= extent ? extent : 0};
    const int block = blocks[(direction + turn) % 3];
    kaon_operator *part = part_of(u->M, direction, block, reconstruct);
    must(c->ctx, kaon_operator_apply(part, mode, x, y));
    for (int k = 0; k < COLUMNS; k++) expect(u, direction, block, mode, in[k], out[k]);
    worst = larger(
        worst,
        (u->spinors ? case_deviation(c, y, out) : staggered_deviation(&u->s, y, out)) / u->bound);
    check_zeros(u, y, out);
    kaon_operator_destroy(&part);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  case_free_columns(in, COLUMNS);
  case_free_columns(out, COLUMNS);
  return worst;
}

/* All actions of one case. */
static double check_actions(subject *u, const int extents[4], int turn) {
  static const kaon_reconstruct storages[3] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                               KAON_RECONSTRUCT_8};
  double worst = 0;
  for (int action = WILSON; action < ACTIONS; action++) {
    if (action >= NAIVE && (action == IMPROVED) != (u->s.improved != 0)) continue;
    for (int p = 0; p < 3; p++) {
      const kaon_reconstruct reconstruct = storages[(p + turn + action) % 3];
      /* on a CPU each action in one precision */
      if (u->s.c.isa != MACHINE_CUDA && (p + turn / 2 + action) % 3 != 0) continue;
      subject_make(u, action, (kaon_precision)p, reconstruct);
      const double off = check_directions(u, extents, reconstruct, turn + p);
      if (off > 1) printf("  %s %s: %.3g\n", names[action], precision_names[p], off);
      worst = larger(worst, off);
      kaon_operator_destroy(&u->M);
      if (u->spinors) ref_dirac_free(&u->d);
    }
  }
  return worst;
}

static void parts_of_every_action(void **state) {
  (void)state;
  static const int shapes[][4] = {{8, 4, 4, 8}, {4, 6, 4, 10}};
  static const int masks[] = {0, 15, 1, 2, 4, 8, 9, 6, 13};
  enum { MASKS = sizeof masks / sizeof *masks };
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int i = 0; i < 4 * MASKS; i++) {
      const int *extents = shapes[i % 2], mask = masks[i / 4];
      char what[96];
      subject u = {0};
      /* on a CPU half of the divisions with each site order and kind of links */
      if (machine_lacks(machine)) break;
      if (machine != MACHINE_CUDA && mask != 0 && (i / 4 + i + machine) % 4 != 0) continue;
      if (!staggered_open(&u.s, machine, extents, 1, i / 2 % 2 * 2)) continue;
      staggered_choose_way(&u.s, i, i % 5 == 4);
      staggered_divide(&u.s, extents, mask);
      snprintf(what, sizeof what, "%s %dx%dx%dx%d divided %x: error / bound", isa_names[machine],
               extents[0], extents[1], extents[2], extents[3], (unsigned)mask);
      test_below(what, check_actions(&u, extents, i), 1);
      staggered_close(&u.s);
    }
}

/* What is inside blocks and the hops that leave them, in all directions, add up to the operator. */
static void parts_add_up(void **state) {
  (void)state;
  static const int shapes[][4] = {{8, 4, 4, 8}, {12, 4, 2, 4}, {6, 6, 2, 10}},
                   blocks[][4] = {{4, 2, 4, 2}, {3, 1, 2, 4}, {3, 6, 1, 5}};
  for (int i = 0; i < 3 * (MACHINE_LAST + 1); i++) {
    const int machine = i / 3, *extents = shapes[i % 3], *block = blocks[i % 3];
    subject u = {0};
    kaon_operator *local = NULL;
    if (machine_lacks(machine) || !staggered_open(&u.s, machine, extents, 1, 0)) continue;
    dirac_case *c = &u.s.c;
    subject_make(&u, TWISTED, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    ref_complex **psi = case_random_columns(c, 1, 3), *expected[1];
    kaon_vector *x = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
    kaon_vector *y = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
    kaon_vector *sum = case_vector(c, KAON_FULL, KAON_DOUBLE, 1);
    case_import(c, x, psi);
    for (int mode = KAON_PLAIN; mode <= KAON_DAGGER; mode++) {
      must(c->ctx, kaon_operator_local_part(u.M, block, KAON_DOUBLE, KAON_RECONSTRUCT_18, &local));
      must(c->ctx, kaon_operator_apply(local, (kaon_mode)mode, x, sum));
      kaon_operator_destroy(&local);
      for (int direction = 0; direction < 8; direction++) {
        kaon_operator *part = part_of(u.M, direction, block[direction % 4], KAON_RECONSTRUCT_18);
        must(c->ctx, kaon_operator_apply(part, (kaon_mode)mode, x, y));
        must(c->ctx, kaon_vector_axpy(1, 0, y, sum));
        kaon_operator_destroy(&part);
      }
      must(c->ctx, kaon_operator_apply(u.M, (kaon_mode)mode, x, y));
      expected[0] = case_export(c, y, 0);
      test_below(isa_names[machine], case_deviation(c, sum, expected), 64 * 0x1p-53);
      free(expected[0]);
    }
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_vector_destroy(&sum);
    case_free_columns(psi, 1);
    kaon_operator_destroy(&u.M);
    ref_dirac_free(&u.d);
    staggered_close(&u.s);
  }
}

/* In the temporal gauge the links in t are those of the rotated field: rotated back, the sum over
 * all directions is the same. */
static void temporal_gauge(void **state) {
  (void)state;
  static const int extents[4] = {8, 4, 4, 8};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    if (!case_open(&c, machine, extents, 1, LINKS_RANDOM, 6)) continue;
    kaon_operator *M = case_dirac(&c, kappa, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_12);
    kaon_operator *S = case_even_odd(&c, M, KAON_EVEN_ODD_NONE, KAON_EVEN, 1);
    kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
    kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
    kaon_vector *y = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
    kaon_vector *sum = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
    ref_complex **psi = case_random_columns(&c, 1, 3);
    ref_dirac d = case_reference(&c, kappa, 0, 1);
    case_import(&c, b, psi);
    must(c.ctx, kaon_operator_prepare(S, b, x));
    must(c.ctx, kaon_vector_copy(sum, x));
    for (int direction = 0; direction < 8; direction++) {
      kaon_operator *part = part_of(S, direction, 0, KAON_RECONSTRUCT_12);
      must(c.ctx, kaon_operator_apply(part, KAON_PLAIN, x, y));
      must(c.ctx, kaon_vector_axpy(1, 0, y, sum));
      kaon_operator_destroy(&part);
    }
    must(c.ctx, kaon_operator_reconstruct(S, sum, b, y));
    ref_complex *expected = ref_new(ref_spinor_size(&c.L));
    ref_apply(&d, psi[0], expected);
    test_below(isa_names[machine], case_deviation(&c, y, (ref_complex *[]){expected}), 1e-13);
    free(expected);
    ref_dirac_free(&d);
    case_free_columns(psi, 1);
    kaon_vector *const vectors[] = {b, x, y, sum};
    for (int i = 0; i < 4; i++) kaon_vector_destroy(&(kaon_vector *){vectors[i]});
    kaon_operator_destroy(&S);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

static void refused(kaon_operator *M, int direction, int block, kaon_status status) {
  const kaon_couplings *c = kaon_operator_capability(M, KAON_CAPABILITY_COUPLINGS);
  const kaon_coupling which = {direction, block, KAON_DOUBLE, KAON_RECONSTRUCT_18};
  kaon_operator *part = M;
  must_refuse(M->ctx, status, c->couple(M, &which, &part));
  assert_null(part);
}

/* The capability says which halves a site has, and makes the reductions that the operator has. */
static void halves_and_reductions(void **state) {
  (void)state;
  static const int extents[4] = {8, 4, 4, 4};
  for (int action = WILSON; action <= NAIVE; action++) {
    subject u = {0};
    kaon_operator *R = NULL, *again = NULL;
    assert_true(staggered_open(&u.s, KAON_ISA_AUTO, extents, 1, 0));
    subject_make(&u, action, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    const kaon_couplings *c = kaon_operator_capability(u.M, KAON_CAPABILITY_COUPLINGS);
    assert_int_equal(c->halves, u.spinors ? KAON_HALVES_TURNED : KAON_HALVES_COMPONENTS);
    must_refuse(u.M->ctx, KAON_ERR_UNSUPPORTED, c->reduce(u.M, KAON_EVEN_ODD_NONE, &R));
    for (int form = KAON_EVEN_ODD_SYMMETRIC; form <= KAON_EVEN_ODD_ASYMMETRIC; form++) {
      if (!u.spinors) {
        must_refuse(u.M->ctx, KAON_ERR_UNSUPPORTED, c->reduce(u.M, (kaon_even_odd)form, &R));
        continue;
      }
      must(u.M->ctx, c->reduce(u.M, (kaon_even_odd)form, &R));
      assert_int_equal(R->space->parity, KAON_EVEN);
      assert_ptr_equal(R->reduction->parent, u.M);
      assert_null(kaon_operator_capability(R, KAON_CAPABILITY_COUPLINGS));
      kaon_operator_destroy(&R);
    }
    kaon_operator *part = part_of(u.M, 0, 0, KAON_RECONSTRUCT_18);
    must_refuse(u.M->ctx, KAON_ERR_UNSUPPORTED, c->reduce(part, KAON_EVEN_ODD_SYMMETRIC, &again));
    assert_null(again);
    kaon_operator_destroy(&part);
    kaon_operator_destroy(&u.M);
    if (u.spinors) ref_dirac_free(&u.d);
    staggered_close(&u.s);
  }
}

static void what_has_no_parts_is_refused(void **state) {
  (void)state;
  static const int extents[4] = {8, 4, 4, 12};
  subject u = {0};
  kaon_operator *S = NULL;
  assert_true(staggered_open(&u.s, KAON_ISA_AUTO, extents, 1, 1));
  subject_make(&u, WILSON, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  refused(u.M, -1, 0, KAON_ERR_ARGUMENT);
  refused(u.M, 8, 0, KAON_ERR_ARGUMENT);
  refused(u.M, 0, 3, KAON_ERR_ARGUMENT);
  refused(u.M, 0, 16, KAON_ERR_ARGUMENT);
  refused(u.M, 7, -4, KAON_ERR_ARGUMENT);
  kaon_operator *part = part_of(u.M, 3, 4, KAON_RECONSTRUCT_18), *again = NULL;
  const int block[4] = {4, 4, 4, 4};
  refused(part, 3, 4, KAON_ERR_UNSUPPORTED);
  must_refuse(u.s.c.ctx, KAON_ERR_UNSUPPORTED,
              kaon_operator_local_part(part, block, KAON_DOUBLE, KAON_RECONSTRUCT_18, &again));
  must_refuse(u.s.c.ctx, KAON_ERR_UNSUPPORTED, kaon_dirac_even_odd(part, NULL, &again));
  kaon_operator_destroy(&part);
  kaon_operator_destroy(&u.M);
  ref_dirac_free(&u.d);
  subject_make(&u, IMPROVED, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  refused(u.M, 3, 2, KAON_ERR_ARGUMENT); /* a hop of three sites would pass a whole block */
  must(u.s.c.ctx, kaon_staggered_even_odd(u.M, KAON_EVEN, &S));
  assert_null(kaon_operator_capability(S, KAON_CAPABILITY_COUPLINGS));
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&u.M);
  staggered_close(&u.s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_of_every_action),
      cmocka_unit_test(parts_add_up),
      cmocka_unit_test(temporal_gauge),
      cmocka_unit_test(halves_and_reductions),
      cmocka_unit_test(what_has_no_parts_is_refused),
  };
  return test_main(tests, NULL, NULL);
}
