/* test_transfer.c - aggregates and transfers on several ranks, whose parts may have an odd number of
 * aggregates, against one rank with the whole lattice: the same bits. A dependent vector is reported
 * alike by all ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ranks.h"
#include "tests/util/transfer_case.h"

typedef struct divided {
  shape s;
  int grid[4]; /* all 0: chosen for the fine lattice; the coarse one alone would get another */
} divided;
static const divided cases[] = {{{{8, 8, 8, 8}, {4, 4, 4, 4}, 24, 1, 5, 3}, {1, 1, 1, 1}},
                                {{{4, 4, 4, 12}, {2, 2, 2, 2}, 24, 1, 5, 3}, {1, 1, 1, 2}},
                                {{{8, 8, 8, 8}, {4, 4, 4, 4}, 24, 1, 6, 1}, {1, 1, 2, 1}},
                                {{{4, 6, 4, 6}, {2, 3, 2, 3}, 16, 0, 5, 2}, {1, 2, 1, 1}},
                                {{{4, 4, 12, 4}, {1, 1, 6, 1}, 48, 0, 2, 1}, {0}},
                                {{{4, 6, 4, 12}, {2, 3, 2, 2}, 24, 1, 5, 3}, {1, 2, 1, 2}},
                                {{{8, 8, 8, 8}, {4, 4, 4, 4}, 24, 1, 6, 1}, {1, 1, 2, 2}},
                                {{{4, 4, 4, 24}, {2, 2, 2, 2}, 16, 0, 5, 2}, {1, 1, 1, 4}},
                                {{{8, 4, 8, 12}, {2, 2, 2, 2}, 24, 1, 5, 3}, {1, 2, 2, 2}}};
enum { CASES = sizeof cases / sizeof *cases };

static int fits(const divided *d) {
  const int *g = d->grid;
  return g[0] == 0 ? world_size() == 2 : g[0] * g[1] * g[2] * g[3] == world_size();
}

/* Index in the whole lattice of this rank's site number `site`. */
static size_t whole_site(const kaon_lattice *lattice, size_t site) {
  ref_lattice part, whole;
  int x[4];
  memcpy(part.n, lattice->extents, sizeof part.n);
  memcpy(whole.n, lattice->global, sizeof whole.n);
  ref_coords(&part, site, x);
  for (int mu = 0; mu < 4; mu++) x[mu] += lattice->origin[mu];
  return ref_site(&whole, x);
}

/* Random numbers, functions of the site in the whole lattice. With `dependent` vector 2 is twice
 * vector 0 on the last aggregate. */
static kaon_vector *fill(const bed *b, kaon_precision precision, int columns, int dependent) {
  kaon_vector *v = vector_of(b, b->space, precision, columns);
  ref_complex *psi = ref_new(numbers_of(v));
  const size_t m = (size_t)b->r.numbers, last = ref_aggregates(&b->r) - 1;
  for (int k = 0; k < columns; k++) {
    for (size_t i = 0; i < numbers_of(v); i++) {
      const size_t site = whole_site(b->lattice, i / m);
      const int copy = dependent && k == 2 && ref_aggregate(&b->r, site) == last;
      uint64_t seed = ((site * m + i % m) * 64 + (size_t)(copy ? 0 : k)) * 7919;
      const double re = test_uniform(&seed);
      psi[i] = (copy ? 2 : 1) * (re + I * test_uniform(&seed));
    }
    must(b->ctx, kaon_vector_import(v, k, (const double *)psi, KAON_BASIS_UKQCD));
  }
  free(psi);
  return v;
}

/* The columns of `part` are those of `whole`. */
static void compare(const bed *part, const kaon_vector *p, const bed *whole, const kaon_vector *w) {
  ref_complex **mine = export(part, p), **all = export(whole, w);
  const size_t m = (size_t)p->space->ncomp / 2;
  for (int k = 0; k < p->nrhs; k++)
    for (size_t i = 0; i < numbers_of(p); i++)
      if (mine[k][i] != all[k][whole_site(p->space->lattice, i / m) * m + i % m])
        fail_msg("column %d differs in number %zu", k, i);
  case_free_columns(mine, p->nrhs);
  case_free_columns(all, p->nrhs);
}

/* The bed of one rank, then of all. */
static void open_both(bed b[2], const divided *d, kaon_precision precision, int isa) {
  const kaon_context_options options = ranks_options(isa);
  kaon_context *whole = NULL;
  must(NULL, kaon_context_create(&options, &whole));
  bed_open_on(&b[0], whole, &d->s, precision);
  bed_open_on(&b[1], ranks_open(isa, d->grid[0] == 0 ? NULL : d->grid), &d->s, precision);
  const kaon_aggregates *a = b[1].aggregates;
  assert_memory_equal(a->coarse->grid, a->fine->grid, sizeof a->fine->grid);
  int alone[4] = {0};
  must(NULL, kaon_ranks_grid(a->coarse->global, world_size(), alone));
  if (d->grid[0] == 0) assert_memory_not_equal(alone, a->coarse->grid, sizeof alone);
}

static void results_are_those_of_one_rank(void **state) {
  (void)state;
  static const int isas[2] = {KAON_ISA_AUTO, KAON_ISA_X86_64};
  int opened = 0;
  for (int i = 0; i < CASES; i++)
    for (int p = 0; fits(&cases[i]) && p < 3; p++) {
      const kaon_precision of_basis = p == KAON_HALF ? KAON_SINGLE : (kaon_precision)p;
      bed b[2];
      kaon_vector *fine[2], *coarse[2];
      open_both(b, &cases[i], (kaon_precision)p, isas[(i + p) % 2]);
      for (int n = 0; n < 2; n++) {
        const kaon_transfer *t = b[n].transfer;
        kaon_vector *v = fill(&b[n], of_basis, cases[i].s.n, 0);
        fine[n] = fill(&b[n], t->precision, cases[i].s.columns, 0);
        coarse[n] = vector_of(&b[n], t->coarse, t->coarse_precision, cases[i].s.columns);
        must(b[n].ctx, kaon_transfer_set(b[n].transfer, v, NULL));
        must(b[n].ctx, kaon_transfer_restrict(t, fine[n], coarse[n], NULL));
        must(b[n].ctx, kaon_transfer_prolong(t, coarse[n], 1, fine[n], NULL));
        kaon_vector_destroy(&v);
      }
      compare(&b[1], b[1].transfer->basis, &b[0], b[0].transfer->basis);
      compare(&b[1], coarse[1], &b[0], coarse[0]);
      compare(&b[1], fine[1], &b[0], fine[0]);
      for (int n = 0; n < 2; n++) {
        kaon_vector_destroy(&fine[n]);
        kaon_vector_destroy(&coarse[n]);
        bed_close(&b[n]);
      }
      opened++;
    }
  assert_true(opened > 0);
}

static void all_ranks_report_a_dependent_vector(void **state) {
  (void)state;
  for (int i = 0; i < CASES; i++) {
    const shape *s = &cases[i].s;
    bed b[2];
    if (!fits(&cases[i]) || s->n < 3) continue;
    open_both(b, &cases[i], KAON_DOUBLE, KAON_ISA_AUTO);
    for (int n = 0; n < 2; n++) {
      kaon_dependence found;
      kaon_vector *v = fill(&b[n], KAON_DOUBLE, s->n, 1);
      must_refuse(b[n].ctx, KAON_ERR_SINGULAR, kaon_transfer_set(b[n].transfer, v, &found));
      assert_int_equal(found.vector, 2);
      for (int mu = 0; mu < 4; mu++)
        assert_int_equal(found.site[mu], s->extents[mu] / s->block[mu] - 1);
      kaon_vector_destroy(&v);
    }
    for (int n = 0; n < 2; n++) bed_close(&b[n]);
  }
}

/* Blocks divide the whole lattice, but not a rank's part. */
static void aggregates_do_not_straddle_ranks(void **state) {
  (void)state;
  for (int i = 0; i < CASES; i++) {
    const divided *d = &cases[i];
    kaon_lattice *lattice = NULL;
    kaon_aggregates *none = NULL;
    if (!fits(d) || d->grid[3] < 2) continue;
    kaon_context *ctx = ranks_open(KAON_ISA_AUTO, d->grid);
    must(ctx, kaon_lattice_create(ctx, d->s.extents, KAON_PERIODIC, &lattice));
    const int block[4] = {1, 1, 1, lattice->extents[3] * 2};
    must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_aggregates_create(lattice, block, &none));
    assert_null(none);
    kaon_lattice_destroy(&lattice);
    kaon_context_destroy(&ctx);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(results_are_those_of_one_rank),
    cmocka_unit_test(all_ranks_report_a_dependent_vector),
    cmocka_unit_test(aggregates_do_not_straddle_ranks),
};
RANKS_MAIN(tests)
