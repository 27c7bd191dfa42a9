/* test_inner_columns.c - vectors with a fifth dimension: import and export, gates and sums of
 * right-hand sides, many columns, right-hand sides that stop each by itself, hops along one
 * direction. The operator is that of domain walls. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/couplings.h"
#include "lib/vector/space.h"
#include "tests/util/test_util.h"
#include "tests/util/wall_case.h"

static const int plain_extents[4] = {4, 6, 2, 10}, split_extents[4] = {8, 4, 4, 8};

/* ---- spaces and vectors ---- */

/* s comes last in host arrays, and places in memory say which s they hold. */
static void test_vectors_go_in_and_out(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!case_open_checked(&c, isa, plain_extents, 1, LINKS_UNIT, 1)) continue;
    enum { LS = 5 };
    const size_t n = wall_length(&c, LS), volume = ref_volume(&c.L);
    ref_complex *psi = wall_random(&c, LS, 3), *mine = ref_new(n);
    for (int parity = 0; parity <= KAON_FULL; parity++) {
      const kaon_space *space = kaon_lattice_spinors_5d(c.lattice, LS, (kaon_parity)parity);
      assert_ptr_equal(space, kaon_lattice_spinors_5d(c.lattice, LS, (kaon_parity)parity));
      memcpy(mine, psi, n * sizeof *mine);
      if (parity < KAON_FULL) wall_restrict(&c, LS, parity, mine);
      for (int p = 0; p < 3; p++) {
        kaon_vector *v = wall_vector(&c, space, (kaon_precision)p, 2);
        kaon_vector_storage storage = KAON_VECTOR_STORAGE_INIT;
        wall_import(&c, v, 1, psi);
        ref_complex *back = wall_export(&c, v, 1), *other = wall_export(&c, v, 0);
        /* half: of the largest real of a site, some 3.5 of a norm of sqrt 12 */
        const double bound = p == 0 ? 0 : p == 1 ? 0x1p-24 : 0.5 / 32767 * 3.5;
        test_below("out of the vector", ref_rel_diff(back, mine, n), bound);
        assert_true(ref_norm2(other, n) == 0);
        free(back);
        void *array = machine_array(c.ctx, psi, n * sizeof *psi);
        must(c.ctx, kaon_vector_import_device(v, 0, array, KAON_BASIS_UKQCD));
        machine_write(c.ctx, array, mine, n * sizeof *psi);
        must(c.ctx, kaon_vector_export_device(v, 1, array, KAON_BASIS_UKQCD));
        back = machine_read(c.ctx, array, n * sizeof *psi);
        free(other);
        other = wall_export(&c, v, 0);
        assert_memory_equal(back, other, n * sizeof *back); /* the zeros of mine stay */
        machine_array_free(c.ctx, array);
        must(c.ctx, kaon_vector_locate(v, &storage));
        int64_t *site = malloc((size_t)storage.places * sizeof *site);
        must(c.ctx, kaon_space_order(space, storage.places, site));
        int64_t sites = 0;
        for (int64_t i = 0; i < storage.places; i++) {
          assert_true(site[i] < (int64_t)(LS * volume));
          sites += site[i] >= 0;
          if (p > 0 || site[i] < 0 || c.isa == MACHINE_CUDA) continue;
          assert_true(((double *)storage.data)[kaon_storage_index(&storage, i, 1, 2)] ==
                      creal(psi[12 * site[i] + 1]));
        }
        assert_int_equal(sites, (int64_t)(LS * volume) / (parity < KAON_FULL ? 2 : 1));
        free(site);
        free(back);
        free(other);
        kaon_vector_destroy(&v);
      }
    }
    free(psi);
    free(mine);
    case_close(&c);
  }
}

static void test_bad_spaces_and_numbers_are_refused(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, plain_extents, 1, LINKS_WEAK, 1));
  assert_null(kaon_lattice_spinors_5d(NULL, 4, KAON_FULL));
  assert_null(kaon_lattice_spinors_5d(c.lattice, 0, KAON_FULL));
  assert_null(kaon_lattice_spinors_5d(c.lattice, 65, KAON_FULL));
  assert_null(kaon_lattice_spinors_5d(c.lattice, 4, (kaon_parity)3));
  assert_ptr_equal(kaon_lattice_spinors_5d(c.lattice, 1, KAON_ODD),
                   kaon_lattice_spinors(c.lattice, KAON_ODD));
  kaon_operator *M = wall_operator(&c, 4, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_vector *v = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 1);
  kaon_vector *w = wall_vector(&c, kaon_lattice_spinors(c.lattice, KAON_FULL), KAON_DOUBLE, 1);
  kaon_vector *even = wall_vector(&c, kaon_lattice_spinors(c.lattice, KAON_EVEN), KAON_DOUBLE, 1);
  kaon_vector *odd = wall_vector(&c, kaon_lattice_spinors(c.lattice, KAON_ODD), KAON_DOUBLE, 1);
  ref_complex *psi = wall_random(&c, 4, 1);
  const int bad[4] = {3, 4, 1, 9};
  psi[wall_length(&c, 2) + 12 * ref_site(&c.L, bad) + 7] = INFINITY;
  must_refuse(c.ctx, KAON_ERR_NOT_FINITE,
              kaon_vector_import(v, 0, (double *)psi, KAON_BASIS_UKQCD));
  assert_non_null(strstr(kaon_last_error(c.ctx), "(3, 4, 1, 9) of s = 2, spin 2, colour 1"));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_operator_apply(M, KAON_PLAIN, v, w));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_vector_axpy(1, 0, v, w));
  assert_non_null(strstr(kaon_last_error(c.ctx), "4 x 24 reals"));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_dirac_hop(M, KAON_EVEN, KAON_PLAIN, odd, even));
  assert_non_null(strstr(kaon_last_error(c.ctx), "kaon_lattice_spinors_5d()"));
  double logdet;
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_dirac_clover_logdet(M, KAON_FULL, &logdet, NULL));
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_source_z4(v, 1));
  kaon_domain_wall_options options = KAON_DOMAIN_WALL_OPTIONS_INIT;
  kaon_operator *none = NULL;
  options.m5 = 4;
  options.mass = -1;
  must_refuse(c.ctx, KAON_ERR_SINGULAR, kaon_domain_wall_create(c.gauge, &options, &none));
  assert_non_null(strstr(kaon_last_error(c.ctx), "m5 = 4, ls = 8 and mass = -1"));
  options.ls = 65;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_domain_wall_create(c.gauge, &options, &none));
  assert_null(none);
  free(psi);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&w);
  kaon_vector_destroy(&even);
  kaon_vector_destroy(&odd);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* ---- right-hand sides ---- */

/* A closed column keeps its bits, and the sums of an wall_application are those of right-hand sides.
 * Sums of n numbers, once as the kernel has them and once of the stored result; in half of it
 * before it is rounded. */
static void test_gates_and_sums_are_of_right_hand_sides(void **state) {
  (void)state;
  enum { LS = 3, NORM = 2, DOT = 3, CLOSED = 1 };
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!case_open(&c, isa, plain_extents, 1, LINKS_RANDOM, 5)) continue;
    for (int i = 0; i < 3 * WALL_APPLICATIONS; i++) {
      const wall_application a = wall_application_of(i % WALL_APPLICATIONS);
      const kaon_precision precision = (kaon_precision)(i / WALL_APPLICATIONS);
      if (isa < KAON_ISA_AVX2 && (int)precision != isa % 3) continue; /* narrow ones: one each */
      kaon_operator *M = wall_operator(&c, LS, precision, KAON_RECONSTRUCT_18);
      kaon_operator *A = wall_in_form(&c, M, a.form, a.parity, 0);
      kaon_vector *v[4];
      for (int j = 0; j < 4; j++) {
        v[j] = wall_vector(&c, kaon_operator_space(A), precision, WALL_COLUMNS);
        wall_fill(&c, v[j], 10 * (uint64_t)(j + 1));
      }
      kaon_scalars *scalars = NULL;
      kaon_column_state states[WALL_COLUMNS];
      memset(states, 0, sizeof states);
      for (int k = 0; k < WALL_COLUMNS; k++) states[k].gate = k == CLOSED ? 0 : KAON_GATE_STEP;
      must(c.ctx, kaon_scalars_create(c.ctx, WALL_COLUMNS, &scalars));
      must(c.ctx, kaon_scalars_write(scalars, states));
      kaon_pass pass = KAON_PASS_INIT;
      pass.scalars = scalars;
      pass.norm = NORM;
      pass.dot = DOT;
      pass.w = v[3];
      must(c.ctx, kaon_operator_run(A, (kaon_mode)a.dagger, v[0], v[1], &pass));
      must(c.ctx, kaon_scalars_read(scalars, states));
      must(c.ctx, kaon_operator_apply(A, (kaon_mode)a.dagger, v[0], v[2]));
      double norm[WALL_COLUMNS], dot[WALL_COLUMNS][2], worst = 0;
      must(c.ctx, kaon_vector_norm2(v[2], norm));
      must(c.ctx, kaon_vector_dot(v[3], v[2], dot));
      for (int k = 0; k < WALL_COLUMNS; k++) {
        ref_complex *got = wall_export(&c, v[1], k);
        kaon_vector *other = v[2];
        if (k == CLOSED) {
          other = wall_vector(&c, kaon_operator_space(A), precision, WALL_COLUMNS);
          wall_fill(&c, other, 20);
          assert_true(states[k].slot[NORM][0] == 0 && states[k].slot[DOT][0] == 0);
        } else {
          worst = larger(worst, fabs(states[k].slot[NORM][0] / norm[k] - 1));
          worst = larger(
              worst, hypot(states[k].slot[DOT][0] - dot[k][0], states[k].slot[DOT][1] - dot[k][1]) /
                         norm[k]);
        }
        ref_complex *expected = wall_export(&c, other, k);
        assert_memory_equal(got, expected, wall_length(&c, LS) * sizeof *got);
        if (k == CLOSED) kaon_vector_destroy(&other);
        free(got);
        free(expected);
      }
      char what[80];
      snprintf(what, sizeof what, "sums, %s %s, form %d", isa_names[isa],
               precision_names[precision], a.form);
      test_below(what, worst,
                 precision == KAON_DOUBLE   ? 1e-14
                 : precision == KAON_SINGLE ? 1e-6
                                            : 3e-4);
      kaon_scalars_destroy(&scalars);
      for (int j = 0; j < 4; j++) kaon_vector_destroy(&v[j]);
      kaon_operator_destroy(&A);
      kaon_operator_destroy(&M);
    }
    case_close(&c);
  }
}

/* 12 columns of ls = 12 are 144 columns of a hop. The first and the last column are those that one
 * column alone gives: on a CPU in every bit, on a device possibly by another kernel. */
static void test_many_columns(void **state) {
  (void)state;
  enum { LS = 12, MANY = 12 };
  static const int extents[4] = {16, 4, 4, 4};
  for (int isa = KAON_ISA_AVX2; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!case_open(&c, isa, extents, 1, LINKS_RANDOM, 7)) continue;
    for (int p = 0; p < 3; p++) {
      kaon_operator *M = wall_operator(&c, LS, (kaon_precision)p, KAON_RECONSTRUCT_12);
      kaon_operator *A = wall_in_form(&c, M, 0, 1, 0);
      kaon_vector *x = wall_vector(&c, kaon_operator_space(A), (kaon_precision)p, MANY);
      kaon_vector *y = wall_vector(&c, kaon_operator_space(A), (kaon_precision)p, MANY);
      kaon_vector *one = wall_vector(&c, kaon_operator_space(A), (kaon_precision)p, 1);
      kaon_vector *out = wall_vector(&c, kaon_operator_space(A), (kaon_precision)p, 1);
      double worst = 0;
      wall_fill(&c, x, 3);
      must(c.ctx, kaon_operator_apply(A, KAON_DAGGER, x, y));
      for (int k = 0; k < MANY; k += MANY - 1) {
        wall_fill(&c, one, 3 + (uint64_t)k);
        must(c.ctx, kaon_operator_apply(A, KAON_DAGGER, one, out));
        ref_complex *got = wall_export(&c, y, k), *alone = wall_export(&c, out, 0);
        worst = larger(worst, ref_rel_diff(got, alone, wall_length(&c, LS)));
        free(got);
        free(alone);
      }
      char what[80];
      snprintf(what, sizeof what, "%d columns of ls = %d, %s %s", MANY, LS, isa_names[isa],
               precision_names[p]);
      test_below(what, worst,
                 isa == MACHINE_CUDA ? wall_bound(LS, (kaon_precision)p, KAON_RECONSTRUCT_12) : 0);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_vector_destroy(&one);
      kaon_vector_destroy(&out);
      kaon_operator_destroy(&A);
      kaon_operator_destroy(&M);
    }
    case_close(&c);
  }
}

/* Right-hand sides stop each by itself. Solved together they have the steps and bits of one alone:
 * on the CPU, where one kernel has them all. */
static void test_columns_solve_as_if_alone(void **state) {
  (void)state;
  enum { LS = 4 };
  static const int form[2] = {0, 2};
  dirac_case c;
  kaon_column_report together[WALL_COLUMNS], alone;
  if (!case_open(&c, KAON_ISA_AVX2, split_extents, 1, LINKS_WEAK, 3)) skip();
  kaon_operator *M = wall_operator(&c, LS, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_vector *b = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, WALL_COLUMNS);
  kaon_vector *x = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, WALL_COLUMNS);
  kaon_vector *b1 = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 1);
  kaon_vector *x1 = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 1);
  ref_complex *psi[WALL_COLUMNS];
  for (int k = 0; k < WALL_COLUMNS; k++) psi[k] = wall_random(&c, LS, 5 + (uint64_t)k);
  memset(psi[1], 0, wall_length(&c, LS) * sizeof **psi);          /* ends at once */
  for (size_t i = 0; i < wall_length(&c, LS); i++) psi[2][i] = 1; /* takes other steps than noise */
  for (int k = 0; k < WALL_COLUMNS; k++) wall_import(&c, b, k, psi[k]);
  for (int i = 0; i < 2; i++) {
    kaon_operator *A = wall_in_form(&c, M, form[i], 0, 0);
    wall_solve(&c, A, KAON_CGNR, KAON_DOUBLE, 1e-10, b, x, together);
    assert_int_equal(together[1].iterations, 0);
    assert_true(together[0].iterations != together[2].iterations);
    for (int k = 0; k < WALL_COLUMNS; k++) {
      wall_import(&c, b1, 0, psi[k]);
      wall_solve(&c, A, KAON_CGNR, KAON_DOUBLE, 1e-10, b1, x1, &alone);
      assert_int_equal(together[k].iterations, alone.iterations);
      ref_complex *got = wall_export(&c, x, k), *one = wall_export(&c, x1, 0);
      assert_memory_equal(got, one, wall_length(&c, LS) * sizeof *got);
      free(got);
      free(one);
    }
    kaon_operator_destroy(&A);
  }
  for (int k = 0; k < WALL_COLUMNS; k++) free(psi[k]);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b1);
  kaon_vector_destroy(&x1);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* ---- hops in one direction ---- */

/* The eight parts of M, and the part inside blocks, add up to M, in both modes. */
static void test_directions_add_up(void **state) {
  (void)state;
  enum { LS = 3, DIRECTIONS = 8 };
  static const int block[4] = {4, 2, 4, 2};
  for (int isa = KAON_ISA_AUTO; isa <= MACHINE_LAST; isa += MACHINE_LAST - KAON_ISA_AUTO) {
    dirac_case c;
    if (!case_open(&c, isa, split_extents, 1, LINKS_RANDOM, 8)) continue;
    kaon_operator *M = wall_operator(&c, LS, KAON_DOUBLE, KAON_RECONSTRUCT_18), *local = NULL;
    const kaon_couplings *access = kaon_operator_capability(M, KAON_CAPABILITY_COUPLINGS);
    kaon_vector *v[4];
    for (int i = 0; i < 4; i++) v[i] = wall_vector(&c, kaon_operator_space(M), KAON_DOUBLE, 2);
    wall_fill(&c, v[0], 4);
    must(c.ctx, kaon_operator_local_part(M, block, KAON_DOUBLE, KAON_RECONSTRUCT_18, &local));
    for (int mode = 0; mode < 2; mode++) {
      must(c.ctx, kaon_operator_apply(M, (kaon_mode)mode, v[0], v[1]));
      must(c.ctx, kaon_operator_apply(local, (kaon_mode)mode, v[0], v[3]));
      for (int direction = 0; direction < DIRECTIONS; direction++) {
        const kaon_coupling which = {direction, block[direction % 4], KAON_DOUBLE,
                                     KAON_RECONSTRUCT_18};
        kaon_operator *part = NULL;
        must(c.ctx, access->couple(M, &which, &part));
        must(c.ctx, kaon_operator_apply(part, (kaon_mode)mode, v[0], v[2]));
        must(c.ctx, kaon_vector_axpy(1, 0, v[2], v[3]));
        kaon_operator_destroy(&part);
      }
      ref_complex *a = wall_export(&c, v[1], 1), *b = wall_export(&c, v[3], 1);
      test_below("sum over blocks and directions", ref_rel_diff(b, a, wall_length(&c, LS)),
                 wall_bound(LS, KAON_DOUBLE, KAON_RECONSTRUCT_18));
      free(a);
      free(b);
    }
    for (int i = 0; i < 4; i++) kaon_vector_destroy(&v[i]);
    kaon_operator_destroy(&local);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vectors_go_in_and_out),
      cmocka_unit_test(test_bad_spaces_and_numbers_are_refused),
      cmocka_unit_test(test_gates_and_sums_are_of_right_hand_sides),
      cmocka_unit_test(test_many_columns),
      cmocka_unit_test(test_columns_solve_as_if_alone),
      cmocka_unit_test(test_directions_add_up),
  };
  return test_main(tests, NULL, NULL);
}
