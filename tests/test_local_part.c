/* test_local_part.c - Wilson-like operators cut into blocks, against the reference with the same
 * hops left out. Blocks of many shapes, on split and plain lattices with partly filled vectors,
 * for every operator, precision, link storage and instruction set.
 *
 * Bounds: an application has at most two hops and three clover blocks, so 1e-14 in double, 2e-6 in
 * single and 2e-4 in half of the result's norm leave room. Links of 8 reals lose another factor of
 * ten. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/operator_internal.h"
#include "tests/util/dirac_case.h"

static const double kappa = 0.12, csw = 1.2, anisotropy = 0.9;

typedef struct shape {
  int extents[4], block[4];
} shape;

/* 4x6x2x10: plain order with a partly filled vector; 8x4x4x8 and 8^4 split, cut between lanes and
 * not. The last ones have blocks of odd extents. */
static const shape shapes[] = {
    {{8, 4, 4, 8}, {4, 4, 4, 4}},   {{8, 4, 4, 8}, {2, 2, 2, 2}},  {{8, 4, 4, 8}, {8, 4, 4, 8}},
    {{8, 4, 4, 8}, {0, 2, 0, 4}},   {{8, 4, 4, 8}, {0, 0, 0, 8}},  {{4, 6, 2, 10}, {4, 2, 2, 2}},
    {{4, 6, 2, 10}, {2, 6, 2, 10}}, {{4, 6, 2, 10}, {0, 6, 0, 0}}, {{12, 4, 4, 4}, {4, 4, 2, 4}},
    {{12, 4, 4, 4}, {3, 1, 4, 0}},  {{6, 6, 2, 10}, {3, 6, 1, 5}}, {{8, 4, 4, 8}, {1, 4, 1, 4}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static double allowed(kaon_precision precision, kaon_reconstruct reconstruct) {
  static const double bound[] = {1e-14, 2e-6, 2e-4};
  return bound[precision] * (reconstruct == KAON_RECONSTRUCT_8 ? 10 : 1);
}

static kaon_operator *local_of(dirac_case *c, kaon_operator *A, const int block[4],
                               kaon_precision precision, kaon_reconstruct reconstruct) {
  kaon_operator *local = NULL;
  must(c->ctx, kaon_operator_local_part(A, block, precision, reconstruct, &local));
  return local;
}

/* form NONE: M itself. */
static void expect(const ref_dirac *d, kaon_even_odd form, int parity, kaon_mode mode,
                   const ref_complex *in, ref_complex *out) {
  if (form == KAON_EVEN_ODD_NONE)
    (mode == KAON_PLAIN ? ref_apply : ref_apply_dagger)(d, in, out);
  else
    (mode == KAON_PLAIN ? ref_schur : ref_schur_dagger)(d, parity, form == KAON_EVEN_ODD_SYMMETRIC,
                                                        in, out);
}

/* The block-diagonal operator on `columns` columns against the reference; returns error / bound. */
static double check(dirac_case *c, const ref_dirac *d, kaon_operator *local, kaon_even_odd form,
                    int parity, kaon_reconstruct reconstruct, int columns) {
  const kaon_precision precision = kaon_operator_precision(local);
  const kaon_parity sites = form == KAON_EVEN_ODD_NONE ? KAON_FULL : (kaon_parity)parity;
  double worst = 0;
  ref_complex **in = case_random_columns(c, columns, 7), **out = case_random_columns(c, columns, 8);
  kaon_vector *x = case_vector(c, sites, precision, columns),
              *y = case_vector(c, sites, precision, columns);
  case_import(c, x, in);
  for (int mode = KAON_PLAIN; mode <= KAON_DAGGER; mode++) {
    must(c->ctx, kaon_operator_apply(local, (kaon_mode)mode, x, y));
    for (int k = 0; k < columns; k++) {
      if (sites != KAON_FULL) case_restrict(c, parity, in[k]);
      memset(out[k], 0, ref_spinor_size(&c->L) * sizeof **out);
      expect(d, form, parity, (kaon_mode)mode, in[k], out[k]);
    }
    worst = larger(worst, case_deviation(c, y, out) / allowed(precision, reconstruct));
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  case_free_columns(in, columns);
  case_free_columns(out, columns);
  return worst;
}

/* All forms of an operator on one lattice with one block. */
static double check_forms(dirac_case *c, const int block[4], double clover,
                          kaon_precision precision, kaon_reconstruct reconstruct) {
  ref_dirac d = case_reference(c, kappa, clover, anisotropy);
  memcpy(d.cut, block, sizeof d.cut);
  kaon_operator *M = case_dirac(c, kappa, clover, anisotropy, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *local = local_of(c, M, block, precision, reconstruct);
  double worst = check(c, &d, local, KAON_EVEN_ODD_NONE, 0, reconstruct, 1);
  kaon_operator_destroy(&local);
  for (int form = KAON_EVEN_ODD_SYMMETRIC; form <= KAON_EVEN_ODD_ASYMMETRIC; form++) {
    const int parity = form == KAON_EVEN_ODD_SYMMETRIC ? 0 : 1;
    kaon_operator *S = case_even_odd(c, M, (kaon_even_odd)form, (kaon_parity)parity, 0);
    local = local_of(c, S, block, precision, reconstruct);
    kaon_operator_destroy(&S); /* the local part stands by itself */
    worst = larger(worst, check(c, &d, local, (kaon_even_odd)form, parity, reconstruct, 2));
    kaon_operator_destroy(&local);
  }
  kaon_operator_destroy(&M);
  ref_dirac_free(&d);
  return worst;
}

static void blocks_of_every_shape(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (int i = 0; i < SHAPES; i++) {
      dirac_case c;
      if (!case_open_checked(&c, machine, shapes[i].extents, i % 2, LINKS_RANDOM, 5)) continue;
      double worst = 0;
      for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
        static const kaon_reconstruct recon[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                                 KAON_RECONSTRUCT_8};
        worst = larger(worst, check_forms(&c, shapes[i].block, i % 3 == 2 ? 0 : csw,
                                          (kaon_precision)p, recon[(p + i) % 3]));
      }
      printf("%s %dx%dx%dx%d in blocks of %d %d %d %d: error / bound %.3f\n", machine_name(machine),
             shapes[i].extents[0], shapes[i].extents[1], shapes[i].extents[2], shapes[i].extents[3],
             shapes[i].block[0], shapes[i].block[1], shapes[i].block[2], shapes[i].block[3], worst);
      assert_true(worst <= 1);
      case_close(&c);
    }
  }
}

/* In the temporal gauge links, sources and results are rotated; rotated back, the result is the
 * same. */
static void temporal_gauge(void **state) {
  (void)state;
  const int extents[4] = {8, 4, 4, 8}, block[4] = {4, 4, 4, 4};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 6));
  kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  ref_complex **psi = case_random_columns(&c, 1, 3), *result[2];
  kaon_vector *b = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1),
              *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1),
              *y = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  case_import(&c, b, psi);
  for (int temporal = 0; temporal < 2; temporal++) {
    kaon_operator *S = case_even_odd(&c, M, KAON_EVEN_ODD_NONE, KAON_EVEN, temporal);
    kaon_operator *local = local_of(&c, S, block, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    must(c.ctx, kaon_operator_prepare(S, b, x));
    must(c.ctx, kaon_operator_apply(local, KAON_PLAIN, x, y));
    must(c.ctx, kaon_operator_reconstruct(S, y, b, x));
    result[temporal] = case_export(&c, x, 0);
    kaon_operator_destroy(&local);
    kaon_operator_destroy(&S);
  }
  const double off = ref_rel_diff(result[1], result[0], ref_spinor_size(&c.L));
  printf("temporal gauge: off by %.1e\n", off);
  assert_true(off <= 1e-13);
  free(result[0]);
  free(result[1]);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  case_free_columns(psi, 1);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* NaN in one block does not reach another. On one rank without blocks nothing is cut: A's own
 * bits. */
static void blocks_know_nothing_of_each_other(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    const int extents[4] = {8, 4, 4, 8}, block[4] = {4, 4, 4, 4}, none[4] = {0};
    dirac_case c;
    if (machine_lacks(machine) || !case_open(&c, machine, extents, 1, LINKS_RANDOM, 6)) continue;
    kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_SINGLE, KAON_RECONSTRUCT_12);
    kaon_operator *local = local_of(&c, M, block, KAON_SINGLE, KAON_RECONSTRUCT_12),
                  *whole = local_of(&c, M, none, KAON_SINGLE, KAON_RECONSTRUCT_12);
    ref_complex **psi = case_random_columns(&c, 1, 3);
    kaon_vector *x = case_vector(&c, KAON_FULL, KAON_SINGLE, 1),
                *y = case_vector(&c, KAON_FULL, KAON_SINGLE, 1);
    case_import(&c, x, psi);
    must(c.ctx, kaon_operator_apply(M, KAON_PLAIN, x, y));
    ref_complex *first = case_export(&c, y, 0);
    must(c.ctx, kaon_operator_apply(whole, KAON_PLAIN, x, y));
    ref_complex *second = case_export(&c, y, 0);
    assert_memory_equal(first, second, ref_spinor_size(&c.L) * sizeof *first);
    free(first), free(second);
    must(c.ctx, kaon_operator_apply(local, KAON_PLAIN, x, y));
    first = case_export(&c, y, 0);
    for (size_t site = 0; site < ref_volume(&c.L); site++) {
      int at[4];
      ref_coords(&c.L, site, at);
      if (at[0] < 4 && at[3] < 4)
        for (int i = 0; i < 12; i++) psi[0][12 * site + (size_t)i] = NAN;
    }
    /* import refuses NaN, so kernels make it: the block times infinity, minus itself */
    kaon_vector *huge = case_vector(&c, KAON_FULL, KAON_SINGLE, 1);
    for (size_t i = 0; i < ref_spinor_size(&c.L); i++)
      psi[0][i] = isnan(creal(psi[0][i])) ? 1e30 : 0;
    case_import(&c, huge, psi);
    for (int i = 0; i < 2; i++) {
      must(c.ctx, kaon_vector_axpy(1e30, 0, huge, x));
      must(c.ctx, kaon_vector_axpy(-1e30, 0, huge, x));
    }
    must(c.ctx, kaon_operator_apply(local, KAON_PLAIN, x, y));
    second = case_export(&c, y, 0);
    int spoilt = 0;
    for (size_t site = 0; site < ref_volume(&c.L); site++) {
      int at[4];
      ref_coords(&c.L, site, at);
      if (at[0] < 4 && at[3] < 4)
        spoilt += !isfinite(creal(second[12 * site]));
      else
        assert_memory_equal(first + 12 * site, second + 12 * site, 12 * sizeof *first);
    }
    assert_true(spoilt > 0);
    free(first), free(second);
    kaon_vector *vectors[] = {huge, x, y};
    kaon_operator *operators[] = {whole, local, M};
    for (int i = 0; i < 3; i++) {
      kaon_vector_destroy(&vectors[i]);
      kaon_operator_destroy(&operators[i]);
    }
    case_free_columns(psi, 1);
    case_close(&c);
  }
}

/* Links and clover blocks are shared by all operators made of them; twins are cut too, and follow
 * new links. */
static void fields_are_shared(void **state) {
  (void)state;
  const int extents[4] = {8, 8, 8, 8}, block[4] = {4, 4, 4, 4};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 6));
  kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18), *twin = NULL;
  kaon_context_info before = KAON_CONTEXT_INFO_INIT, after = KAON_CONTEXT_INFO_INIT;
  must(c.ctx, kaon_context_query(c.ctx, &before));
  kaon_operator *local = local_of(&c, M, block, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  must(c.ctx, kaon_context_query(c.ctx, &after));
  const int64_t links = 4096 * 72 * 8;
  printf("a local part takes %lld bytes, links %lld\n",
         (long long)(after.memory_now - before.memory_now), (long long)links);
  assert_true(after.memory_now - before.memory_now < links / 10);
  must(c.ctx, local->ops->twin(local, KAON_SINGLE, KAON_RECONSTRUCT_12, &twin));
  ref_random_links(&c.L, c.u, 99);
  case_import_links(&c);
  must(c.ctx, kaon_dirac_update(local));
  ref_dirac d = case_reference(&c, kappa, csw, 1);
  memcpy(d.cut, block, sizeof d.cut);
  assert_true(check(&c, &d, twin, KAON_EVEN_ODD_NONE, 0, KAON_RECONSTRUCT_12, 1) <= 1);
  ref_dirac_free(&d);
  kaon_operator_destroy(&twin);
  kaon_operator_destroy(&local);
  kaon_operator_destroy(&M);
  case_close(&c);
}

static void what_cannot_be_cut_is_refused(void **state) {
  (void)state;
  const int extents[4] = {8, 4, 4, 12};
  static const int wrong[][4] = {
      {3, 4, 4, 4}, {4, 4, 4, 8}, {16, 4, 4, 4}, {-2, 4, 4, 4}, {0, 0, 0, 5}};
  const int block[4] = {4, 4, 4, 4};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 6));
  kaon_operator *M = case_dirac(&c, kappa, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18), *local = M;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    must_refuse(c.ctx, KAON_ERR_ARGUMENT,
                kaon_operator_local_part(M, wrong[i], KAON_HALF, KAON_RECONSTRUCT_18, &local));
    assert_null(local);
  }
  must_refuse(c.ctx, KAON_ERR_ARGUMENT,
              kaon_operator_local_part(NULL, block, KAON_HALF, KAON_RECONSTRUCT_18, &local));
  /* Schwarz methods need even blocks */
  const kaon_local odd = {{4, 1, 4, 4}, KAON_DOUBLE, KAON_RECONSTRUCT_18, 0};
  kaon_domains *domains = NULL;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, M->ops->local(M, &odd, &local, &domains));
  assert_null(domains);
  local = local_of(&c, M, block, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *again = NULL, *inverse = NULL;
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED,
              kaon_operator_local_part(local, block, KAON_HALF, KAON_RECONSTRUCT_18, &again));
  /* the reduction would not be cut */
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_dirac_even_odd(local, NULL, &again));
  kaon_solver *s = NULL;
  must(c.ctx, kaon_solver_create(M, 1, NULL, &s));
  must(c.ctx, kaon_solver_as_operator(s, &inverse));
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED,
              kaon_operator_local_part(inverse, block, KAON_HALF, KAON_RECONSTRUCT_18, &again));
  kaon_operator_destroy(&inverse);
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&local);
  kaon_operator_destroy(&M);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_of_every_shape),
      cmocka_unit_test(temporal_gauge),
      cmocka_unit_test(blocks_know_nothing_of_each_other),
      cmocka_unit_test(fields_are_shared),
      cmocka_unit_test(what_cannot_be_cut_is_refused),
  };
  return test_main(tests, NULL, NULL);
}
