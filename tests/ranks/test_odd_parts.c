/* test_odd_parts.c - lattices divided into parts of odd extents, where neighbouring ranks exchange
 * the roles of the two parities. Results equal those of one rank with the whole lattice, on rank
 * grids of several shapes. Impossible grids are refused. Arrays in the orders of applications go
 * in and out. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include <kaon/staggered.h>

#include "ranks.h"
#include "tests/util/partition.h"

/* Parts with one, two and three odd extents, of one site and more; with even extents split in
 * halves for the lanes of CPUs (8 8 4 6: t is whole) and without. */
typedef struct {
  int extents[4], grid[4];
} shape;
static const shape shapes[] = {
    {{4, 6, 6, 6}, {1, 1, 1, 2}},  {{4, 6, 6, 4}, {1, 1, 2, 1}},   {{4, 6, 4, 6}, {1, 2, 1, 1}},
    {{8, 8, 8, 6}, {1, 1, 1, 2}},  {{8, 8, 6, 8}, {1, 1, 2, 1}},   {{8, 10, 8, 8}, {1, 2, 1, 1}},
    {{4, 4, 4, 2}, {1, 1, 1, 2}},  {{4, 6, 6, 12}, {1, 1, 2, 2}},  {{4, 6, 6, 12}, {1, 2, 1, 2}},
    {{8, 4, 4, 12}, {1, 1, 1, 4}}, {{4, 6, 6, 6}, {1, 1, 2, 2}},   {{4, 10, 6, 4}, {1, 2, 2, 1}},
    {{8, 6, 4, 4}, {2, 2, 1, 1}},  {{8, 4, 6, 4}, {2, 1, 2, 1}},   {{8, 8, 6, 6}, {1, 1, 2, 2}},
    {{4, 4, 2, 2}, {1, 1, 2, 2}},  {{4, 2, 2, 2}, {1, 2, 2, 2}},   {{4, 6, 6, 6}, {1, 2, 2, 2}},
    {{8, 6, 6, 4}, {2, 2, 2, 1}},  {{12, 4, 6, 10}, {2, 1, 2, 2}}, {{8, 12, 4, 6}, {1, 4, 1, 2}},
    {{8, 8, 8, 24}, {1, 1, 1, 8}}, {{8, 6, 6, 6}, {2, 2, 2, 2}},   {{6, 4, 4, 4}, {2, 1, 1, 1}},
    {{6, 8, 8, 8}, {2, 1, 1, 1}},  {{6, 6, 6, 4}, {2, 2, 1, 1}},   {{6, 4, 4, 6}, {2, 1, 1, 2}},
    {{12, 4, 2, 8}, {4, 1, 1, 1}}, {{6, 6, 6, 4}, {2, 2, 2, 1}},   {{2, 4, 6, 4}, {2, 1, 2, 1}},
    {{6, 6, 6, 6}, {2, 2, 2, 2}},  {{10, 6, 2, 6}, {2, 2, 2, 2}},  {{6, 6, 6, 2}, {2, 2, 2, 2}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* mask: directions that also use messages to the rank itself. 0: not for this number of ranks. */
static int open_pair(partition_pair *pair, int which, int mask, kaon_overlap overlap) {
  const shape *s = &shapes[which];
  static const int isas[3] = {KAON_ISA_AUTO, KAON_ISA_X86_64,
                              KAON_ISA_SCALAR}; /* narrow ones too */
  kaon_context_options options = ranks_options(isas[which % 3]);
  kaon_context *whole = NULL, *part = NULL;
  if (s->grid[0] * s->grid[1] * s->grid[2] * s->grid[3] != world_size()) return 0;
  must(NULL, kaon_context_create(&options, &whole));
  options.overlap = overlap;
  must(NULL, kaon_context_create_ranks(&options, NULL, s->grid, &part));
  partition_open(pair, whole, part, s->extents, mask,
                 which % 4 ? KAON_ANTIPERIODIC : KAON_PERIODIC);
  return 1;
}

static void parities_are_the_whole_lattice_s(void **state) {
  (void)state;
  int opened = 0;
  for (int i = 0; i < SHAPES; i++) {
    partition_pair pair;
    if (!open_pair(&pair, i, 0, KAON_OVERLAP_AUTO)) continue;
    const kaon_lattice *l = pair.part.lattice;
    const int *o = l->origin;
    int64_t odd = 0;
    for (int64_t n = 0; n < l->volume; n++) {
      const int *e = l->extents;
      const int x[4] = {(int)(n % e[0]), (int)(n / e[0] % e[1]), (int)(n / e[0] / e[1] % e[2]),
                        (int)(n / e[0] / e[1] / e[2])};
      const kaon_place place = kaon_lattice_place(l, x);
      int back[4];
      assert_int_equal(place.parity, (x[0] + o[0] + x[1] + o[1] + x[2] + o[2] + x[3] + o[3]) % 2);
      assert_true(kaon_lattice_site(l, place.parity, place.block, place.lane, back));
      assert_memory_equal(back, x, sizeof x);
      odd += place.parity;
    }
    assert_int_equal(odd, l->stencil.sites[1]);
    assert_int_equal(l->volume - odd, l->stencil.sites[0]);
    partition_close(&pair);
    opened++;
  }
  assert_true(opened > 0 || world_size() == 1);
}

static void hops(void **state) {
  (void)state;
  static const kaon_overlap overlaps[] = {KAON_OVERLAP_AUTO, KAON_OVERLAP_STAGED,
                                          KAON_OVERLAP_NONE};
  for (int i = 0; i < SHAPES; i++)
    for (int way = 0; way < 3; way++) {
      partition_pair pair;
      if (test_brief() && way != i / 2 % 3) continue; /* i % 3: instruction sets */
      if (!open_pair(&pair, i, way == 0 ? 0 : 15, overlaps[way])) continue;
      partition_check_hops(&pair, 1);
      partition_close(&pair);
    }
}

static void sums(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    partition_pair pair;
    if (!open_pair(&pair, i, 0, KAON_OVERLAP_AUTO)) continue;
    partition_check_sums(&pair, (kaon_precision)(i % 3));
    partition_close(&pair);
  }
}

static void operators(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    partition_pair pair;
    if (!open_pair(&pair, i, i % 2 ? 15 : 0, KAON_OVERLAP_AUTO)) continue;
    for (int p = 0; p < 3; p++)
      if (!test_brief() || p == i % 3) partition_check_operators(&pair, (kaon_precision)p);
    partition_close(&pair);
  }
}

static void links(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    partition_pair pair;
    if (!open_pair(&pair, i, i % 2 ? 0 : 15, KAON_OVERLAP_AUTO)) continue;
    partition_check_links(&pair);
    partition_check_measurements(&pair);
    partition_close(&pair);
  }
}

/* Staggered signs in links, by coordinates in the whole lattice. */
static void signs_in_links(void **state) {
  (void)state;
  for (int i = 0; i < 4 * SHAPES; i++) {
    partition_pair pair;
    if (!open_pair(&pair, i / 4, 0, KAON_OVERLAP_AUTO)) continue;
    const kaon_staggered_phases phases = i % 2 ? KAON_PHASES_CHROMA : KAON_PHASES_MILC;
    const int steps = i / 2 % 2 ? 3 : 1;
    must(pair.whole.ctx, kaon_staggered_fold(pair.whole.gauge, steps, phases));
    must(pair.part.ctx, kaon_staggered_fold(pair.part.gauge, steps, phases));
    partition_compare_links(&pair, "signs", pair.whole.gauge, pair.part.gauge);
    partition_close(&pair);
  }
}

static void solvers(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i += 3) {
    partition_pair pair;
    if (!open_pair(&pair, i, 0, KAON_OVERLAP_AUTO)) continue;
    partition_check_solvers(&pair);
    partition_close(&pair);
  }
}

/* ---- arrays ---- */

/* Links of this rank's part in the order `order`, whose even sites are the whole lattice's,
 * derived from the order without parities. */
static void check_even_odd(const partition_side *s, kaon_gauge_order order) {
  const kaon_lattice *l = s->lattice;
  const int *n = l->extents, *o = l->origin;
  const size_t all = (size_t)l->volume * 72;
  double *natural = malloc(all * sizeof *natural), *other = malloc(all * sizeof *other);
  kaon_gauge *again = NULL;
  assert_true(natural != NULL && other != NULL);
  void *arrays[4];
  for (int mu = 0; mu < 4; mu++) arrays[mu] = other + (size_t)mu * all / 4;
  must(s->ctx, kaon_gauge_export(s->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){natural}));
  must(s->ctx, kaon_gauge_export(s->gauge, order, KAON_DOUBLE, arrays));
  int64_t seen[2] = {0, l->stencil.sites[0]};
  for (int64_t i = 0; i < l->volume; i++) {
    const int64_t x = i % n[0], y = i / n[0] % n[1], z = i / n[0] / n[1] % n[2];
    const int odd = (int)(x + y + z + i / n[0] / n[1] / n[2] + o[0] + o[1] + o[2] + o[3]) % 2;
    const int64_t at = seen[odd]++;
    for (int mu = 0; mu < 4; mu++) {
      const double *u =
          order == KAON_ORDER_QDP ? (double *)arrays[mu] + 18 * at : other + 18 * (4 * at + mu);
      assert_memory_equal(u, natural + 72 * i + 18 * mu, 18 * sizeof *u);
    }
  }
  must(s->ctx, kaon_gauge_create(s->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &again));
  must(s->ctx, kaon_gauge_import(again, order, KAON_DOUBLE, (const void *const *)arrays));
  must(s->ctx, kaon_gauge_export(again, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){other}));
  assert_memory_equal(other, natural, all * sizeof *other);
  kaon_gauge_destroy(&again);
  free(natural);
  free(other);
}

/* Refused on every divided lattice. */
static void check_openqcd(const partition_side *s) {
  double *u = calloc((size_t)s->lattice->volume * 72, sizeof *u);
  assert_non_null(u);
  must_refuse(s->ctx, KAON_ERR_UNSUPPORTED,
              kaon_gauge_export(s->gauge, KAON_ORDER_OPENQCD, KAON_DOUBLE, (void *[]){u}));
  assert_non_null(strstr(kaon_last_error(s->ctx), "use another order"));
  must_refuse(s->ctx, KAON_ERR_UNSUPPORTED,
              kaon_gauge_import(s->gauge, KAON_ORDER_OPENQCD, KAON_DOUBLE, (const void *[]){u}));
  free(u);
}

/* A vector of one parity imports and exports the whole lattice's sites of that parity, and no
 * others. */
static void check_one_parity(const partition_side *s, kaon_parity parity) {
  const kaon_lattice *l = s->lattice;
  const int *n = l->extents, *o = l->origin;
  const size_t all = (size_t)l->volume * 24;
  double *psi = malloc(all * sizeof *psi), *back = malloc(all * sizeof *back);
  kaon_vector *v = NULL;
  assert_true(psi != NULL && back != NULL);
  for (size_t i = 0; i < all; i++) {
    const int64_t site = (int64_t)(i / 24), x = site % n[0], y = site / n[0] % n[1];
    const int64_t z = site / n[0] / n[1] % n[2], t = site / n[0] / n[1] / n[2];
    const int mine = (x + y + z + t + o[0] + o[1] + o[2] + o[3]) % 2 == (int64_t)parity;
    psi[i] = mine ? (double)i : (double)NAN;
    back[i] = -1;
  }
  must(s->ctx,
       kaon_vector_create(s->ctx, kaon_lattice_spinors(s->lattice, parity), KAON_DOUBLE, 1, &v));
  must(s->ctx, kaon_vector_import(v, 0, psi, KAON_BASIS_UKQCD));
  must(s->ctx, kaon_vector_export(v, 0, back, KAON_BASIS_UKQCD));
  for (size_t i = 0; i < all; i++) assert_true(back[i] == (isnan(psi[i]) ? -1 : psi[i]));
  const size_t hit = isnan(psi[0]) ? 24 : 0; /* the first site or its neighbour in x */
  if (world_rank() == world_size() - 1) psi[hit] = INFINITY;
  must_refuse(s->ctx, KAON_ERR_NOT_FINITE, kaon_vector_import(v, 0, psi, KAON_BASIS_UKQCD));
  kaon_vector_destroy(&v);
  free(psi);
  free(back);
}

/* The vector in even-odd order, and that of one parity alone, has the numbers of the lexicographic
 * array in the order in which the parities occur there. The length is refused on every rank if it
 * is wrong on one. */
static void check_vector_orders(const partition_side *s, kaon_parity parity) {
  const kaon_lattice *l = s->lattice;
  const int *n = l->extents, *o = l->origin;
  const size_t all = (size_t)l->volume * 6;
  double *psi = malloc(all * sizeof *psi);
  float *ordered = malloc(all * sizeof *ordered);
  kaon_vector *v = NULL;
  assert_true(psi != NULL && ordered != NULL);
  for (size_t i = 0; i < all; i++) psi[i] = (double)i;
  must(s->ctx,
       kaon_vector_create(s->ctx, kaon_lattice_staggered(s->lattice, parity), KAON_DOUBLE, 1, &v));
  must(s->ctx, kaon_vector_import(v, 0, psi, KAON_BASIS_UKQCD));
  for (int order = KAON_SITES_EVEN_ODD; order <= KAON_SITES_ONE_PARITY; order++) {
    const int half = order == KAON_SITES_ONE_PARITY;
    if (half && parity == KAON_FULL) continue;
    kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
    layout.sites = (kaon_site_order)order;
    layout.precision = KAON_SINGLE;
    const size_t bytes =
        (size_t)(half ? l->stencil.sites[parity] : l->volume) * 6 * sizeof *ordered;
    for (size_t i = 0; i < all; i++) ordered[i] = -1;
    must(s->ctx, kaon_vector_export_ordered(v, 0, ordered, bytes, &layout));
    int64_t seen[2] = {0, half ? 0 : l->stencil.sites[0]};
    for (int64_t i = 0; i < l->volume; i++) {
      const int64_t x = i % n[0], y = i / n[0] % n[1], z = i / n[0] / n[1] % n[2];
      const int odd = (int)(x + y + z + i / n[0] / n[1] / n[2] + o[0] + o[1] + o[2] + o[3]) % 2;
      const int64_t at = seen[odd]++;
      const int mine = parity == KAON_FULL || odd == (int)parity;
      for (int c = 0; c < 6 && (mine || !half); c++)
        assert_true((double)ordered[6 * at + c] == (mine ? psi[6 * i + c] : -1));
    }
    must(s->ctx, kaon_vector_zero(v));
    must(s->ctx, kaon_vector_import_ordered(v, 0, ordered, bytes, &layout));
    double *back = calloc(all, sizeof *back);
    assert_non_null(back);
    must(s->ctx, kaon_vector_export(v, 0, back, KAON_BASIS_UKQCD));
    for (size_t i = 0; i < all; i++) assert_true(back[i] == 0 || back[i] == psi[i]);
    free(back);
    const size_t wrong = bytes + (world_rank() == world_size() - 1 ? 4 : 0);
    must_refuse(s->ctx, KAON_ERR_SHAPE, kaon_vector_import_ordered(v, 0, ordered, wrong, &layout));
    must_refuse(s->ctx, KAON_ERR_SHAPE, kaon_vector_export_ordered(v, 0, ordered, wrong, &layout));
  }
  kaon_vector_destroy(&v);
  free(psi);
  free(ordered);
}

/* Links that were multiplied by factors; the ranks with the last slice also have the boundary's
 * sign, and undo it. */
static void check_factors(const partition_side *s) {
  static const kaon_link_factors factors = {{0.5, 0.5, 0.5, 1}, 1};
  const kaon_lattice *l = s->lattice;
  const size_t all = (size_t)l->volume * 72, slice = all / (size_t)l->extents[3];
  double *natural = malloc(all * sizeof *natural), *other = malloc(all * sizeof *other);
  kaon_gauge *again = NULL;
  assert_true(natural != NULL && other != NULL);
  must(s->ctx, kaon_gauge_export(s->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){natural}));
  for (size_t i = 0; i < all; i++) {
    const int mu = (int)(i / 18 % 4), t = l->origin[3] + (int)(i / slice);
    other[i] = factors.factor[mu] * (mu == 3 && t == l->global[3] - 1 ? -1 : 1) * natural[i];
  }
  must(s->ctx, kaon_gauge_create(s->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &again));
  must(s->ctx, kaon_gauge_import_factors(again, KAON_ORDER_NATURAL, KAON_DOUBLE,
                                         (const void *[]){other}, &factors));
  must(s->ctx, kaon_gauge_export(again, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){other}));
  assert_memory_equal(other, natural, all * sizeof *other);
  kaon_gauge_destroy(&again);
  free(natural);
  free(other);
}

/* Number in MILC's order of site i in the natural one. */
static int64_t milc_number(const kaon_lattice *l, int64_t i) {
  const int *n = l->extents, *o = l->origin;
  const int64_t sum = i % n[0] + i / n[0] % n[1] + i / n[0] / n[1] % n[2] + i / n[0] / n[1] / n[2];
  return (sum + o[0] + o[1] + o[2] + o[3]) % 2 * l->stencil.sites[0] + i / 2;
}

/* y = S x of the asymmetric reduction with a clover term that is a function of the global site. */
static double *with_given_clover(const partition_side *s) {
  const kaon_lattice *l = s->lattice;
  const kaon_even_odd_options form = {sizeof form, KAON_OPTIONS_VERSION(KAON_OPTIONS_EVEN_ODD, 1),
                                      KAON_EVEN_ODD_ASYMMETRIC, KAON_EVEN, 0};
  double *term = malloc((size_t)l->volume * 72 * sizeof *term);
  double *y = calloc((size_t)l->volume * 24, sizeof *y);
  kaon_operator *M = NULL, *S = NULL;
  kaon_vector *out = NULL;
  assert_true(term != NULL && y != NULL);
  for (int64_t i = 0; i < l->volume; i++)
    for (int c = 0; c < 72; c++) /* diagonally dominant: 10 elements of at most 0.05 a row */
      term[72 * milc_number(l, i) + c] =
          (c % 36 < 6) + 0.05 * sin((double)(72 * partition_site(l, i) + c));
  must(s->ctx, kaon_dirac_create_clover(s->gauge, NULL, KAON_ORDER_MILC, KAON_DOUBLE, term, &M));
  must(s->ctx, kaon_dirac_even_odd(M, &form, &S));
  kaon_vector *in = partition_noise(s, KAON_EVEN, KAON_DOUBLE, 1, 5);
  must(s->ctx, kaon_vector_create(s->ctx, kaon_operator_space(S), KAON_DOUBLE, 1, &out));
  must(s->ctx, kaon_operator_apply(S, KAON_PLAIN, in, out));
  must(s->ctx, kaon_vector_export(out, 0, y, KAON_BASIS_UKQCD));
  /* a term that one rank alone cannot take is refused on all */
  if (l->volume == l->global_volume || world_rank() == world_size() - 1) term[71] = NAN;
  must_refuse(s->ctx, KAON_ERR_NOT_FINITE,
              kaon_dirac_set_clover(M, KAON_ORDER_MILC, KAON_DOUBLE, term));
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&out);
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&M);
  free(term);
  return y;
}

/* Two hops of 8 products of 3, and two blocks of 6. */
static void check_given_clover(const partition_pair *pair) {
  double *whole = with_given_clover(&pair->whole), *part = with_given_clover(&pair->part);
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < pair->part.lattice->volume; i++)
    for (int c = 0; c < 24; c++) {
      const double y = whole[24 * partition_site(pair->part.lattice, i) + c];
      worst = larger(worst, fabs(y - part[24 * i + c]));
      largest = larger(largest, fabs(y));
    }
  test_below("a given clover term, over the largest number", worst / largest, 160 * 0x1p-53);
  free(whole);
  free(part);
}

static void arrays_of_applications(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) {
    partition_pair pair;
    if (!open_pair(&pair, i, 0, KAON_OVERLAP_AUTO)) continue;
    check_even_odd(&pair.part, KAON_ORDER_QDP);
    check_even_odd(&pair.part, KAON_ORDER_MILC);
    check_openqcd(&pair.part);
    check_factors(&pair.part);
    check_given_clover(&pair);
    for (int p = 0; p < 2; p++) check_one_parity(&pair.part, (kaon_parity)p);
    for (int p = 0; p < 3; p++) check_vector_orders(&pair.part, (kaon_parity)p);
    partition_close(&pair);
  }
}

/* ---- grids ---- */

static void must_not_divide(const int grid[4], const int extents[4], const char *says) {
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, grid);
  kaon_lattice *lattice = NULL;
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  assert_null(lattice);
  if (strstr(kaon_last_error(ctx), says) == NULL) fail_msg("%s", kaon_last_error(ctx));
  kaon_context_destroy(&ctx);
}

static void grids_that_cannot_be_taken(void **state) {
  (void)state;
  const int n = world_size();
  if (n <= 2) skip();
  must_not_divide((int[4]){1, 1, 1, n}, (int[4]){4, 4, 4, 3 * n + 2}, "not divide into equal");
}

static void check_choice(const int extents[4], const int expected[4]) {
  int predicted_solve[4] = {0};
  must(NULL, kaon_ranks_grid(extents, world_size(), predicted_solve));
  assert_memory_equal(predicted_solve, expected, sizeof predicted_solve);
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  kaon_lattice *lattice = NULL;
  int grid[4];
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
  kaon_lattice_part(lattice, NULL, NULL, grid);
  assert_memory_equal(grid, expected, sizeof grid);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
}

/* Parts of three sites or more in divided directions, as hops of three need: even ones if
 * possible, else odd ones, in x only if no other direction is as thick. */
static void a_grid_is_chosen(void **state) {
  (void)state;
  if (world_size() == 2) {
    check_choice((int[4]){8, 6, 6, 6}, (int[4]){2, 1, 1, 1});
    check_choice((int[4]){4, 6, 6, 6}, (int[4]){1, 1, 1, 2});
    check_choice((int[4]){4, 4, 4, 4}, (int[4]){1, 1, 1, 2});
    check_choice((int[4]){6, 6, 6, 6}, (int[4]){1, 1, 1, 2});
    check_choice((int[4]){6, 6, 6, 2}, (int[4]){1, 1, 2, 1});
    check_choice((int[4]){6, 4, 4, 4}, (int[4]){2, 1, 1, 1});
  } else if (world_size() == 4) {
    check_choice((int[4]){4, 4, 8, 12}, (int[4]){1, 1, 2, 2});
    check_choice((int[4]){4, 4, 4, 12}, (int[4]){1, 1, 1, 4});
    check_choice((int[4]){4, 4, 4, 4}, (int[4]){1, 1, 2, 2});
    check_choice((int[4]){2, 2, 2, 12}, (int[4]){1, 1, 1, 4});
    check_choice((int[4]){6, 2, 6, 6}, (int[4]){1, 1, 2, 2});
  } else if (world_size() == 8) {
    check_choice((int[4]){6, 6, 6, 6}, (int[4]){1, 2, 2, 2});
  }
}

static const struct CMUnitTest odd_parts[] = {
    cmocka_unit_test(parities_are_the_whole_lattice_s),
    cmocka_unit_test(hops),
    cmocka_unit_test(sums),
    cmocka_unit_test(operators),
    cmocka_unit_test(links),
    cmocka_unit_test(signs_in_links),
    cmocka_unit_test(solvers),
    cmocka_unit_test(arrays_of_applications),
    cmocka_unit_test(grids_that_cannot_be_taken),
    cmocka_unit_test(a_grid_is_chosen),
};
RANKS_MAIN(odd_parts)
