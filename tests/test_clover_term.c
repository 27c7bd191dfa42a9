/* test_clover_term.c - clover blocks against the reference's sigma F, their inverse and
 * determinant, and their storage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "gauge/clover_term.h"
#include "lib/vector/space.h"
#include "tests/util/link_case.h"

static double *work_array(dirac_case *c) {
  void *work = NULL;
  const kaon_stencil *st = &c->lattice->stencil;
  must(c->ctx, kaon_pool_allocate(c->ctx, (size_t)(st->nblocks * st->width) * 72 * sizeof(double),
                                  "test blocks", &work));
  return work;
}

/* The blocks on the host, in the device's order. */
static double *host_blocks(dirac_case *c, const double *blocks) {
  const kaon_stencil *st = &c->lattice->stencil;
  return machine_read(c->ctx, blocks, (size_t)(st->nblocks * st->width) * 72 * sizeof *blocks);
}

/* Block `chirality` (0: +, 1: -) of a site as a full 6x6 matrix. */
static void block_of(const dirac_case *c, const double *blocks, const int site[4], int chirality,
                     ref_complex a[36]) {
  const kaon_place at = kaon_lattice_place(c->lattice, site);
  const int width = c->lattice->stencil.width, pack = kaon_pack_of(c->ctx, 72, KAON_DOUBLE);
  double p[36];
  for (int i = 0; i < 36; i++)
    p[i] = blocks[kaon_packed_index(at.block, 0, 36 * chirality + i, at.lane, 1, 72, width, pack)];
  for (int i = 0; i < 6; i++) {
    a[7 * i] = p[i];
    for (int j = 0; j < i; j++) {
      const int k = 6 + 2 * (i * (i - 1) / 2 + j); /* the elements below the diagonal, by rows */
      a[6 * i + j] = p[k] + I * p[k + 1];
      a[6 * j + i] = conj(a[6 * i + j]);
    }
  }
}

/* Calls visit for every site and chirality of a parity. */
static const double electric = 0.6; /* planes with t have a coefficient of their own */
typedef void visit_block(dirac_case *c, const double *blocks, size_t x, int chirality,
                         const ref_complex expected[36], double *worst);
static double over_blocks(dirac_case *c, const double *device, int parity, double kappa, double csw,
                          visit_block *visit) {
  double worst = 0, *blocks = host_blocks(c, device);
  for (size_t x = 0; x < ref_volume(&c->L); x++) {
    if (ref_parity(&c->L, x) != parity) continue;
    ref_complex a[144], block[2][36];
    ref_clover_site(&c->L, c->u, kappa, csw, electric, REF_UKQCD, x, a);
    assert_true(ref_chiral_blocks(a, block[0], block[1]) < 1e-13);
    for (int chirality = 0; chirality < 2; chirality++)
      visit(c, blocks, x, chirality, block[chirality], &worst);
  }
  free(blocks);
  return worst;
}

static void compare(dirac_case *c, const double *blocks, size_t x, int chirality,
                    const ref_complex expected[36], double *worst) {
  int site[4];
  ref_complex a[36];
  ref_coords(&c->L, x, site);
  block_of(c, blocks, site, chirality, a);
  *worst = larger(*worst, ref_max_diff(a, expected, 36));
}

/* |A^-1 A - 1|, relative to the condition: |A^-1| |A|. */
static void compare_inverse(dirac_case *c, const double *blocks, size_t x, int chirality,
                            const ref_complex expected[36], double *worst) {
  int site[4];
  ref_complex a[36];
  ref_coords(&c->L, x, site);
  block_of(c, blocks, site, chirality, a);
  const double condition = sqrt(ref_norm2(a, 36) * ref_norm2(expected, 36));
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      ref_complex sum = -(i == j);
      for (int k = 0; k < 6; k++) sum += a[6 * i + k] * expected[6 * k + j];
      *worst = larger(*worst, cabs(sum) / condition);
    }
}

static void check_blocks(dirac_case *c) {
  const double kappa = 0.12, csw = 1.3;
  double *blocks = work_array(c);
  for (int parity = 0; parity < 2; parity++) {
    double expected = 0;
    kaon_clover_det det;
    must(c->ctx, kaon_clover_term_build(c->gauge, parity, kappa, csw, electric, blocks));
    /* F: sixteen products of 8 roundings, over 8; three F an element, times kappa csw */
    test_below("A", over_blocks(c, blocks, parity, kappa, csw, compare),
               (2 * 128 * 3 * kappa * csw + 4) * ROUND);
    must(c->ctx, kaon_clover_term_invert(c->lattice, parity, kappa, csw, blocks, &det));
    /* Gauss elimination with pivoting: growth at most 2^5, 6 rows, here and in the product */
    test_below("A^-1 A - 1 over |A| |A^-1|",
               over_blocks(c, blocks, parity, kappa, csw, compare_inverse), 6 * 32 * 2 * ROUND);
    for (size_t x = 0; x < ref_volume(&c->L); x++) {
      if (ref_parity(&c->L, x) != parity) continue;
      ref_complex a[144];
      ref_clover_site(&c->L, c->u, kappa, csw, electric, REF_UKQCD, x, a);
      expected += creal(ref_log_det(12, a));
    }
    /* per site: 12 pivots, each off by a few roundings times the condition, below 1e3 here */
    const double v = (double)ref_volume(&c->L) / 2;
    test_close("log |det|", det.log_abs, expected, (12 * 1e3 * v + v * fabs(expected)) * ROUND);
  }
  kaon_pool_release(c->ctx, blocks);
}

static void blocks_inverse_and_determinant_match_the_reference(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_blocks);
}

/* Storing: single rounds; half keeps 0.51 / 32767 of the block's largest element. */
static void check_storing(dirac_case *c) {
  const kaon_stencil *st = &c->lattice->stencil;
  const size_t lanes = (size_t)(st->nblocks * st->width);
  double *blocks = work_array(c);
  must(c->ctx, kaon_clover_term_build(c->gauge, 1, 0.13, 1.7, 1, blocks));
  void *device[3];
  for (int i = 0; i < 3; i++)
    must(c->ctx, kaon_pool_allocate(c->ctx, lanes * 72 * sizeof(float), "test blocks", &device[i]));
  must(c->ctx, kaon_clover_term_store(c->lattice, blocks, KAON_SINGLE, device[0], NULL));
  must(c->ctx, kaon_clover_term_store(c->lattice, blocks, KAON_HALF, device[1], device[2]));
  double *wide = host_blocks(c, blocks);
  float *single = machine_read(c->ctx, device[0], lanes * 72 * sizeof *single);
  int16_t *half = machine_read(c->ctx, device[1], lanes * 72 * sizeof *half);
  float *scale = machine_read(c->ctx, device[2], lanes * 2 * sizeof *scale);
  const int pack_scale = kaon_pack_of(c->ctx, 2, KAON_SINGLE);
  const int pack[] = {kaon_pack_of(c->ctx, 72, KAON_DOUBLE), kaon_pack_of(c->ctx, 72, KAON_SINGLE),
                      kaon_pack_of(c->ctx, 72, KAON_HALF)};
  double worst_single = 0, worst_half = 0, worst_scale = 0;
  for (int64_t b = 0; b < st->nblocks; b++)
    for (int l = 0; l < st->width; l++)
      for (int chirality = 0; chirality < 2; chirality++) {
        const float s = scale[kaon_packed_index(b, 0, chirality, l, 1, 2, st->width, pack_scale)];
        double largest = 0;
        for (int i = 0; i < 36; i++) {
          int64_t at[3];
          for (int p = 0; p < 3; p++)
            at[p] = kaon_packed_index(b, 0, 36 * chirality + i, l, 1, 72, st->width, pack[p]);
          const double element = wide[at[0]];
          largest = larger(largest, fabs(element));
          worst_single = larger(worst_single, fabs((double)single[at[1]] - element) / 2);
          worst_half =
              larger(worst_half, fabs(half[at[2]] * (double)s / 32767 - element) / (double)s);
        }
        worst_scale = larger(worst_scale, fabs((double)s / largest - 1));
      }
  test_below("single", worst_single, 6e-8);
  test_below("half, over scale", worst_half, 0.51 / 32767);
  test_below("scale is the largest element", worst_scale, 6e-8);
  free(wide), free(single), free(half), free(scale);
  for (int i = 0; i < 3; i++) kaon_pool_release(c->ctx, device[i]);
  kaon_pool_release(c->ctx, blocks);
}

static void stored_blocks_keep_their_precision(void **state) {
  (void)state;
  for_all_cases(LINKS_WEAK, check_storing);
}

/* A constant diagonal field makes A diagonal, and kappa csw can be chosen to make an entry vanish.
 */
static void a_singular_block_is_named(void **state) {
  (void)state;
  static const int q[3] = {1, 1, -2}, shape[4] = {8, 8, 8, 8};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 0, LINKS_UNIT, 0));
  ref_flux_links(&c.L, c.u, 8, 8, q);
  case_import_links(&c);
  double *blocks = work_array(&c), *host;
  must(c.ctx, kaon_clover_term_build(c.gauge, 0, 1, 1, 1, blocks));
  ref_complex a[36];
  const int site[4] = {2, 2, 2, 2};
  host = host_blocks(&c, blocks);
  block_of(&c, host, site, 1, a);
  free(host);
  const double strength = 1 - creal(a[0]); /* entry = 1 - (kappa csw) strength */
  assert_true(fabs(strength) > 0.1);
  must(c.ctx, kaon_clover_term_build(c.gauge, 0, 1 / strength, 1, 1, blocks));
  must_refuse(c.ctx, KAON_ERR_SINGULAR,
              kaon_clover_term_invert(c.lattice, 0, 1 / strength, 1, blocks, NULL));
  must(c.ctx, kaon_clover_term_build(c.gauge, 0, 0.1 / strength, 1, 1, blocks));
  const kaon_stencil *st = &c.lattice->stencil;
  const size_t numbers = (size_t)(st->nblocks * st->width) * 72;
  host = host_blocks(&c, blocks); /* one block of NaN, before regular ones */
  for (int i = 0; i < 36; i++)
    host[kaon_packed_index(0, 0, i, 0, 1, 72, st->width, kaon_pack_of(c.ctx, 72, KAON_DOUBLE))] =
        NAN;
  must(c.ctx, c.ctx->backend->memory->to_device(c.ctx, blocks, host, numbers * sizeof *host));
  free(host);
  must_refuse(c.ctx, KAON_ERR_SINGULAR,
              kaon_clover_term_invert(c.lattice, 0, 0.1 / strength, 1, blocks, NULL));
  kaon_pool_release(c.ctx, blocks);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_inverse_and_determinant_match_the_reference),
      cmocka_unit_test(stored_blocks_keep_their_precision),
      cmocka_unit_test(a_singular_block_is_named),
  };
  return test_main(tests, NULL, NULL);
}
