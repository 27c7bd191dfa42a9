/* test_staggered.c - staggered operators on a lattice divided among ranks, against one rank with
 * the whole lattice, which every process holds too: hops of one and of three sites, of one column
 * and of several, in every subset of directions and every way of hiding messages, and solves. In
 * double and single the bits are equal, and in half on devices, whose ghosts are the stored
 * numbers. Half on a CPU has the bound of test_staggered_partition.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <complex.h>
#include <math.h>

#include <kaon/staggered.h>

#include "lib/operator/couplings.h"
#include "ranks.h"

static const int extents[4] = {8, 8, 8, 8};
enum { SITE = 6, LINKS = 72, COLUMNS = 5 };
static const double mass = 0.2;

typedef struct side {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *thin, *fat, *naik;
} side;

typedef struct pair {
  side whole, part;
  char name[96];
} pair;

/* ---- the whole lattice's numbers, and this rank's ---- */

static size_t sites_of(const side *s) {
  return (size_t)s->lattice->volume;
}

static double *cut(const side *part, const double *whole, int reals) {
  const kaon_lattice *l = part->lattice;
  const int *n = l->extents, *o = l->origin, *g = l->global;
  double *mine = malloc(sites_of(part) * (size_t)reals * sizeof *mine);
  assert_non_null(mine);
  for (int64_t i = 0; i < l->volume; i++) {
    const int x = o[0] + (int)(i % n[0]), y = o[1] + (int)(i / n[0] % n[1]);
    const int z = o[2] + (int)(i / n[0] / n[1] % n[2]), t = o[3] + (int)(i / n[0] / n[1] / n[2]);
    const int64_t at = x + g[0] * (y + g[1] * (z + (int64_t)g[2] * t));
    memcpy(mine + i * reals, whole + at * reals, (size_t)reals * sizeof *mine);
  }
  return mine;
}

static double *noise(const side *whole, int reals, uint64_t seed) {
  const size_t count = sites_of(whole) * (size_t)reals;
  double *v = malloc(count * sizeof *v);
  assert_non_null(v);
  for (size_t i = 0; i < count; i++) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    v[i] = (double)(int64_t)(seed >> 11) * 0x1p-52 - 1;
  }
  return v;
}

/* Random links of the whole lattice. */
static double *random_links(const side *whole, uint64_t seed) {
  double *u = malloc(sites_of(whole) * LINKS * sizeof *u);
  assert_non_null(u);
  must(whole->ctx, kaon_gauge_random(whole->thin, seed));
  must(whole->ctx, kaon_gauge_export(whole->thin, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){u}));
  return u;
}

static void import_links(side *s, const double *u, kaon_gauge **links) {
  must(s->ctx, kaon_gauge_create(s->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links));
  must(s->ctx,
       kaon_gauge_import_matrices(*links, KAON_ORDER_NATURAL, KAON_DOUBLE, (const void *[]){u}));
}

/* Fat links are no unitary matrices; long ones a number times U(3). */
static void make_links(pair *p) {
  double *u = random_links(&p->whole, 21), *v = random_links(&p->whole, 22);
  double *w = random_links(&p->whole, 23), *phase = noise(&p->whole, 4, 24);
  for (size_t i = 0; i < sites_of(&p->whole) * LINKS; i++) u[i] = 0.9 * u[i] + 0.7 * v[i];
  for (size_t i = 0; i < sites_of(&p->whole) * LINKS; i += 2) {
    const double complex turned =
        (w[i] + I * w[i + 1]) * -0.1653413 * cexp(I * 3.14 * phase[i / 18]);
    w[i] = creal(turned);
    w[i + 1] = cimag(turned);
  }
  import_links(&p->whole, u, &p->whole.fat);
  import_links(&p->whole, w, &p->whole.naik);
  double *mine = cut(&p->part, u, LINKS), *mine_too = cut(&p->part, w, LINKS);
  import_links(&p->part, mine, &p->part.fat);
  import_links(&p->part, mine_too, &p->part.naik);
  must(p->whole.ctx, kaon_gauge_random(p->whole.thin, 20));
  must(p->part.ctx, kaon_gauge_random(p->part.thin, 20));
  double *const all[] = {u, v, w, phase, mine, mine_too};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* ---- both sides ---- */

/* Distributes factors of 2 over the directions of `mask`, from `first` on, while 4 sites are left.
 */
static int grid_of(int mask, int first, int grid[4]) {
  int left = world_size();
  for (int mu = 0; mu < 4; mu++) grid[mu] = 1;
  for (int tries = 0; tries < 16 && left > 1; tries++) {
    const int mu = (first + tries) % 4;
    if (!(mask >> mu & 1) || extents[mu] / grid[mu] % 8 != 0) continue;
    grid[mu] *= 2;
    left /= 2;
  }
  return left == 1;
}

/* A CPU has no choice of transport, and AUTO is STAGED. */
typedef struct way {
  kaon_transport transport;
  kaon_overlap overlap;
  int on_cpu;
} way;
static const way ways[] = {{KAON_TRANSPORT_AUTO, KAON_OVERLAP_AUTO, 1},
                           {KAON_TRANSPORT_AUTO, KAON_OVERLAP_STAGED, 0},
                           {KAON_TRANSPORT_AUTO, KAON_OVERLAP_NONE, 1},
                           {KAON_TRANSPORT_HOST, KAON_OVERLAP_STAGED, 0}};
enum { WAYS = sizeof ways / sizeof *ways };

static void open_side(side *s, const int sites[4], int mask) {
  for (int mu = 0; mu < 4; mu++) s->ctx->comm->partitioned[mu] = mask >> mu & 1;
  must(s->ctx, kaon_lattice_create(s->ctx, sites, KAON_ANTIPERIODIC, &s->lattice));
  must(s->ctx, kaon_gauge_create(s->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &s->thin));
}

static int way_is_here(const way *how) {
  return how->on_cpu || ranks_options(KAON_ISA_AUTO).backend != KAON_BACKEND_CPU;
}

static void open_on(pair *p, const int sites[4], const int grid[4], int mask, const way *how) {
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  memset(p, 0, sizeof *p);
  must(NULL, kaon_context_create(&options, &p->whole.ctx));
  options.transport = how->transport;
  options.overlap = how->overlap;
  must(NULL, kaon_context_create_ranks(&options, NULL, grid, &p->part.ctx));
  open_side(&p->whole, sites, 0);
  open_side(&p->part, sites, mask);
  make_links(p);
  const int *n = p->part.lattice->extents;
  snprintf(p->name, sizeof p->name, "%s, subset %d on %dx%dx%dx%d, %dx%dx%dx%d sites, way %d",
           p->part.ctx->backend->name, mask, grid[0], grid[1], grid[2], grid[3], n[0], n[1], n[2],
           n[3], (int)(how - ways));
}

static int open_pair(pair *p, int mask, int first, const way *how) {
  int grid[4];
  if (!way_is_here(how) || !grid_of(mask, first, grid)) return 0;
  open_on(p, extents, grid, mask, how);
  return 1;
}

static void close_pair(pair *p) {
  side *const sides[2] = {&p->whole, &p->part};
  for (int i = 0; i < 2; i++) {
    kaon_gauge_destroy(&sides[i]->thin);
    kaon_gauge_destroy(&sides[i]->fat);
    kaon_gauge_destroy(&sides[i]->naik);
    kaon_lattice_destroy(&sides[i]->lattice);
    kaon_context_destroy(&sides[i]->ctx);
  }
}

static kaon_operator *operator_of(side *s, int improved, kaon_precision precision,
                                  kaon_reconstruct reconstruct) {
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  kaon_operator *M = NULL;
  o.mass = mass;
  o.phases = reconstruct == KAON_RECONSTRUCT_12 ? KAON_PHASES_CHROMA : KAON_PHASES_MILC;
  o.precision = precision;
  o.reconstruct = reconstruct;
  must(s->ctx,
       kaon_staggered_create(improved ? s->fat : s->thin, improved ? s->naik : NULL, &o, &M));
  return M;
}

/* Columns with the same numbers on both sides; `all`: those of the whole lattice, one column after
 * another. */
static kaon_vector *vector_of(const pair *p, side *s, kaon_parity parity, kaon_precision precision,
                              int columns, const double *all) {
  kaon_vector *v = NULL;
  must(s->ctx, kaon_vector_create(s->ctx, kaon_lattice_staggered(s->lattice, parity), precision,
                                  columns, &v));
  for (int k = 0; k < columns && all != NULL; k++) {
    double *mine = cut(s, all + (size_t)k * SITE * sites_of(&p->whole), SITE);
    must(s->ctx, kaon_vector_import(v, k, mine, KAON_BASIS_UKQCD));
    free(mine);
  }
  return v;
}

/* |part - whole|^2 and |whole|^2 on this rank's sites, and how many numbers differ. */
typedef struct difference {
  double off, all;
  int64_t numbers;
} difference;

static void compare(const pair *p, const kaon_vector *whole, const kaon_vector *part,
                    difference *d) {
  const size_t count = SITE * sites_of(&p->part);
  double *a = calloc(SITE * sites_of(&p->whole), sizeof *a), *b = calloc(count, sizeof *b);
  assert_true(a != NULL && b != NULL);
  for (int k = 0; k < kaon_vector_columns(part); k++) {
    must(p->whole.ctx, kaon_vector_export(whole, k, a, KAON_BASIS_UKQCD));
    must(p->part.ctx, kaon_vector_export(part, k, b, KAON_BASIS_UKQCD));
    double *mine = cut(&p->part, a, SITE);
    for (size_t i = 0; i < count; i++) {
      d->off += (mine[i] - b[i]) * (mine[i] - b[i]);
      d->all += mine[i] * mine[i];
      d->numbers += mine[i] != b[i];
    }
    free(mine);
  }
  free(a);
  free(b);
}

/* ---- hops ---- */

/* Hops in one direction: those that leave this rank's part, and their adjoints, or all. */
static void check_coupling(pair *p, kaon_operator *const M[2], int direction, const double *all,
                           difference *d) {
  side *const sides[2] = {&p->whole, &p->part};
  const int block = direction % 3 == 0 ? 0 : p->part.lattice->extents[direction % 4];
  kaon_vector *x[2], *y[2];
  for (int i = 0; i < 2; i++) {
    const kaon_couplings *access = kaon_operator_capability(M[i], KAON_CAPABILITY_COUPLINGS);
    const kaon_precision precision = kaon_operator_precision(M[i]);
    const kaon_coupling which = {direction, block, precision, KAON_RECONSTRUCT_12};
    kaon_operator *part = NULL;
    must(sides[i]->ctx, access->couple(M[i], &which, &part));
    x[i] = vector_of(p, sides[i], KAON_FULL, precision, 1, all);
    y[i] = vector_of(p, sides[i], KAON_FULL, precision, 1, NULL);
    must(sides[i]->ctx,
         kaon_operator_apply(part, direction < 5 ? KAON_PLAIN : KAON_DAGGER, x[i], y[i]));
    kaon_operator_destroy(&part);
  }
  compare(p, y[0], y[1], d);
  for (int i = 0; i < 2; i++) {
    kaon_vector_destroy(&x[i]);
    kaon_vector_destroy(&y[i]);
  }
}

static void check_hops(pair *p, int improved, kaon_precision precision,
                       kaon_reconstruct reconstruct) {
  side *const sides[2] = {&p->whole, &p->part};
  double *all = noise(&p->whole, SITE * COLUMNS, 31);
  kaon_operator *M[2];
  difference d = {0, 0, 0};
  char what[192];
  for (int i = 0; i < 2; i++) M[i] = operator_of(sides[i], improved, precision, reconstruct);
  for (int turn = 0; turn < 4; turn++) {
    const kaon_parity parity = (kaon_parity)(turn % 2), other = (kaon_parity)(1 - turn % 2);
    const int columns = turn < 2 ? 1 : COLUMNS;
    kaon_vector *x[2], *y[2];
    for (int i = 0; i < 2; i++) {
      x[i] = vector_of(p, sides[i], other, precision, columns, all);
      y[i] = vector_of(p, sides[i], parity, precision, columns, NULL);
      must(sides[i]->ctx, kaon_staggered_hop(M[i], parity, x[i], y[i]));
    }
    compare(p, y[0], y[1], &d);
    for (int i = 0; i < 2; i++) {
      kaon_vector_destroy(&x[i]);
      kaon_vector_destroy(&y[i]);
    }
  }
  for (int i = 0; i < 4; i++) check_coupling(p, M, 2 * i + (int)precision % 2, all, &d);
  for (int i = 0; i < 2; i++) kaon_operator_destroy(&M[i]);
  free(all);
  snprintf(what, sizeof what, "%s: %s, precision %d, %d reals", p->name,
           improved ? "improved" : "naive", (int)precision, (int)reconstruct);
  assert_true(d.all > 0);
  if (precision == KAON_HALF && p->part.ctx->backend->host_accessible)
    test_below(what, sqrt(d.off / d.all), 3e-4);
  else
    test_below(what, (double)d.numbers, 0);
}

static const kaon_reconstruct storages[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                            KAON_RECONSTRUCT_8};

static void check_all_hops(int mask, int first, const way *how) {
  pair p;
  if (!open_pair(&p, mask, first, how)) return;
  for (int i = 0; i < 6; i++)
    check_hops(&p, i / 3, (kaon_precision)(i % 3), storages[(i + mask) % 3]);
  close_pair(&p);
}

static void hops_across_every_subset_of_faces(void **state) {
  (void)state;
  for (int mask = 0; mask < 16; mask++) check_all_hops(mask, mask % 4, &ways[0]);
}

static void every_way_of_hiding_messages(void **state) {
  (void)state;
  for (int i = 1; i < WAYS; i++)
    for (int mask = 7; mask < 16; mask += 4) check_all_hops(mask, 3 - i, &ways[i]);
}

/* Parts of odd extents, three sites and more, where neighbours have the opposite signs and
 * parities. */
static const struct {
  int extents[4], grid[4], mask;
} odd_parts[] = {{{8, 8, 8, 6}, {1, 1, 1, 2}, 0},  {{4, 6, 6, 10}, {1, 1, 2, 1}, 15},
                 {{8, 10, 8, 8}, {1, 2, 1, 1}, 0}, {{4, 6, 6, 12}, {1, 1, 2, 2}, 0},
                 {{8, 6, 6, 4}, {2, 2, 1, 1}, 15}, {{8, 4, 4, 12}, {1, 1, 1, 4}, 7},
                 {{4, 6, 6, 6}, {1, 2, 2, 2}, 15}, {{8, 6, 10, 4}, {2, 2, 2, 1}, 15},
                 {{6, 8, 8, 8}, {2, 1, 1, 1}, 0},  {{10, 6, 4, 4}, {2, 2, 1, 1}, 15},
                 {{12, 4, 4, 6}, {4, 1, 1, 1}, 0}, {{6, 6, 10, 4}, {2, 2, 2, 1}, 15},
                 {{6, 10, 6, 6}, {2, 2, 2, 2}, 15}};
enum { ODD_PARTS = sizeof odd_parts / sizeof *odd_parts };

static int open_odd(pair *p, int which, const way *how) {
  int grid[4];
  memcpy(grid, odd_parts[which].grid, sizeof grid);
  if (!way_is_here(how)) return 0;
  if (grid[0] * grid[1] * grid[2] * grid[3] != world_size()) return 0;
  open_on(p, odd_parts[which].extents, grid, odd_parts[which].mask, how);
  return 1;
}

static void hops_of_odd_parts(void **state) {
  (void)state;
  int opened = 0;
  for (int i = 0; i < ODD_PARTS * WAYS; i++) {
    pair p;
    if (!open_odd(&p, i / WAYS, &ways[i % WAYS])) continue;
    for (int k = 0; k < 6; k++)
      check_hops(&p, k / 3, (kaon_precision)(k % 3), storages[(k + i) % 3]);
    close_pair(&p);
    opened++;
  }
  assert_true(opened > 0 || world_size() == 1);
}

/* Naik's hops go no further than the next rank. */
static void parts_of_two_sites_are_refused(void **state) {
  (void)state;
  const int sites[4] = {4, 4, 4, 2 * world_size()}, grid[4] = {1, 1, 1, world_size()};
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  kaon_operator *M = NULL;
  pair p;
  if (world_size() == 1) skip();
  open_on(&p, sites, grid, 0, &ways[0]);
  must_refuse(p.part.ctx, KAON_ERR_UNSUPPORTED,
              kaon_staggered_create(p.part.fat, p.part.naik, &o, &M));
  assert_non_null(strstr(kaon_last_error(p.part.ctx), "2 sites in T"));
  close_pair(&p);
}

/* ---- solves ---- */

/* The reported residual is that of all ranks' sites. r is 1e-10 b, with an error of 1e-15 b. */
static void check_heavy_quark(side *s, int improved, const kaon_vector *b, const kaon_vector *x,
                              const kaon_column_report *report) {
  double heavy[2];
  kaon_vector *r = NULL;
  kaon_operator *M = operator_of(s, improved, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  must(s->ctx, kaon_vector_create(s->ctx, kaon_operator_space(M), KAON_DOUBLE, 2, &r));
  must(s->ctx, kaon_operator_apply(M, KAON_PLAIN, x, r));
  must(s->ctx, kaon_vector_axpy(-1, 0, b, r));
  must(s->ctx, kaon_vector_heavy_quark(r, x, heavy));
  for (int k = 0; k < 2; k++) {
    assert_true(heavy[k] > 0 && heavy[k] < 1e-8);
    assert_true(fabs(report[k].heavy_quark - heavy[k]) <= 1e-4 * heavy[k]);
  }
  kaon_vector_destroy(&r);
  kaon_operator_destroy(&M);
}

static void solve(side *s, kaon_operator *A, int improved, kaon_precision inner,
                  const kaon_vector *b, kaon_vector *x, int *iterations) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report[2];
  o.method = KAON_CG;
  o.sloppy = inner;
  o.reconstruct = KAON_RECONSTRUCT_12;
  o.tol = 1e-10;
  o.heavy_quark_tol = 1; /* it is reported, and stops nothing */
  must(s->ctx, kaon_solver_create(A, 2, &o, &solver));
  must(s->ctx, kaon_vector_zero(x));
  must(s->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < 2; k++) {
    assert_int_equal(report[k].reason, KAON_CONVERGED);
    assert_true(report[k].residual <= 1.1 * o.tol);
    iterations[k] = report[k].iterations;
  }
  check_heavy_quark(s, improved, b, x, report);
  kaon_solver_destroy(&solver);
}

/* |x - x'| <= (|r| + |r'|) / (2 mass), since D is anti-Hermitian: 2.2e-10 |b| / (2 mass). Again:
 * the same bits. */
static void check_solve(pair *p, int improved, kaon_precision inner) {
  side *const sides[2] = {&p->whole, &p->part};
  double *all = noise(&p->whole, 2 * SITE, 41), norm = 0;
  kaon_operator *A[2], *M;
  kaon_vector *x[3], *b[2];
  int steps[3][2];
  difference d = {0, 0, 0};
  char what[192];
  for (size_t i = 0; i < 2 * SITE * sites_of(&p->whole); i++) norm += all[i] * all[i];
  for (int i = 0; i < 2; i++) {
    M = operator_of(sides[i], improved, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    must(sides[i]->ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A[i]));
    kaon_operator_destroy(&M);
    b[i] = vector_of(p, sides[i], KAON_FULL, KAON_DOUBLE, 2, all);
  }
  for (int i = 0; i < 3; i++) {
    side *s = sides[i > 0];
    x[i] = vector_of(p, s, KAON_FULL, KAON_DOUBLE, 2, NULL);
    solve(s, A[i > 0], improved, inner, b[i > 0], x[i], steps[i]);
  }
  compare(p, x[0], x[1], &d);
  snprintf(what, sizeof what, "%s: %s, inner precision %d, %d and %d steps", p->name,
           improved ? "improved" : "naive", (int)inner, steps[0][0], steps[1][0]);
  test_below(what, sqrt(d.off / norm), 2.2e-10 / (2 * mass));
  double *first = calloc(SITE * sites_of(&p->part), sizeof *first);
  double *again = calloc(SITE * sites_of(&p->part), sizeof *again);
  assert_true(first != NULL && again != NULL);
  for (int k = 0; k < 2; k++) {
    assert_true(abs(steps[0][k] - steps[1][k]) <= 2 + steps[0][k] / 10);
    assert_int_equal(steps[1][k], steps[2][k]);
    must(p->part.ctx, kaon_vector_export(x[1], k, first, KAON_BASIS_UKQCD));
    must(p->part.ctx, kaon_vector_export(x[2], k, again, KAON_BASIS_UKQCD));
    assert_memory_equal(first, again, SITE * sites_of(&p->part) * sizeof *first);
  }
  free(first);
  free(again);
  free(all);
  for (int i = 0; i < 3; i++) kaon_vector_destroy(&x[i]);
  for (int i = 0; i < 2; i++) {
    kaon_vector_destroy(&b[i]);
    kaon_operator_destroy(&A[i]);
  }
}

static void solves_on_two_grids(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    pair p;
    if (!open_pair(&p, i ? 15 : 14, i ? 0 : 3, &ways[0])) continue;
    check_solve(&p, 0, KAON_DOUBLE);
    check_solve(&p, 1, KAON_SINGLE);
    check_solve(&p, 1, KAON_HALF);
    close_pair(&p);
  }
}

static void solves_of_odd_parts(void **state) {
  (void)state;
  for (int i = 0; i < ODD_PARTS; i++) {
    pair p;
    if (!open_odd(&p, i, &ways[0])) continue;
    check_solve(&p, i % 2, i % 2 ? KAON_SINGLE : KAON_HALF);
    close_pair(&p);
  }
}

/* Links that change: what stands beyond the faces is brought anew. */
static void updates_reach_beyond_the_faces(void **state) {
  (void)state;
  pair p;
  if (!open_pair(&p, 15, 0, &ways[0])) return;
  side *const sides[2] = {&p.whole, &p.part};
  double *all = noise(&p.whole, SITE, 51);
  kaon_vector *x[2], *y[2];
  difference d = {0, 0, 0};
  for (int i = 0; i < 2; i++) {
    kaon_operator *M = operator_of(sides[i], 0, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    x[i] = vector_of(&p, sides[i], KAON_ODD, KAON_DOUBLE, 1, all);
    y[i] = vector_of(&p, sides[i], KAON_EVEN, KAON_DOUBLE, 1, NULL);
    must(sides[i]->ctx, kaon_gauge_random(sides[i]->thin, 99));
    must_refuse(sides[i]->ctx, KAON_ERR_STALE, kaon_staggered_hop(M, KAON_EVEN, x[i], y[i]));
    must(sides[i]->ctx, kaon_staggered_update(M));
    must(sides[i]->ctx, kaon_staggered_hop(M, KAON_EVEN, x[i], y[i]));
    kaon_operator_destroy(&M);
  }
  compare(&p, y[0], y[1], &d);
  test_below("after an update: numbers that differ", (double)d.numbers, 0);
  for (int i = 0; i < 2; i++) {
    kaon_vector_destroy(&x[i]);
    kaon_vector_destroy(&y[i]);
  }
  free(all);
  close_pair(&p);
}

static void interval_of(const side *s, kaon_operator *S, kaon_operator **K, double interval[2]) {
  if (*K == NULL) must(s->ctx, kaon_precond_chebyshev(S, NULL, K));
  must(s->ctx, kaon_precond_chebyshev_interval(*K, &interval[0], &interval[1]));
}

/* The interval is estimated by all ranks together, at its first use. test_derived.c has the
 * rest. */
static void what_is_derived_follows_on_all_ranks(void **state) {
  (void)state;
  pair p;
  if (!open_pair(&p, 15, 0, &ways[0])) return;
  side *s = &p.part;
  double before[2], after[2], fresh[2];
  kaon_operator *S = NULL, *K = NULL, *anew = NULL;
  must(s->ctx, kaon_fatten(s->thin, NULL, s->fat, s->naik, NULL));
  kaon_operator *M = operator_of(s, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  must(s->ctx, kaon_staggered_even_odd(M, KAON_EVEN, &S));
  interval_of(s, S, &K, before);
  kaon_vector *x = vector_of(&p, s, KAON_EVEN, KAON_DOUBLE, 1, NULL);
  kaon_vector *y = vector_of(&p, s, KAON_EVEN, KAON_DOUBLE, 1, NULL);
  must(s->ctx, kaon_vector_zero(x));
  must(s->ctx, kaon_gauge_unit(s->thin));
  must_refuse(s->ctx, KAON_ERR_STALE, kaon_operator_apply(K, KAON_PLAIN, x, y));
  must_refuse(s->ctx, KAON_ERR_STALE, kaon_staggered_update(M));
  must(s->ctx, kaon_fatten(s->thin, NULL, s->fat, s->naik, NULL));
  must_refuse(s->ctx, KAON_ERR_STALE, kaon_operator_apply(K, KAON_PLAIN, x, y));
  must(s->ctx, kaon_staggered_update(M));
  must(s->ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
  interval_of(s, S, &K, after);
  interval_of(s, S, &anew, fresh);
  assert_true(after[0] == fresh[0] && after[1] == fresh[1] && after[1] != before[1]);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&anew);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&M);
  close_pair(&p);
}

/* The same verdict and sentence on all ranks. */
static void links_in_each_others_place_are_refused_by_all(void **state) {
  (void)state;
  pair p;
  if (!open_pair(&p, 15, 0, &ways[0])) return;
  char said[2][400];
  for (int i = 0; i < 2; i++) {
    const side *s = i ? &p.part : &p.whole;
    must(s->ctx, kaon_staggered_check_links(s->fat, s->naik, NULL, KAON_FATTEN_ASQTAD));
    must_refuse(s->ctx, KAON_ERR_ARGUMENT,
                kaon_staggered_check_links(s->naik, s->fat, NULL, KAON_FATTEN_ASQTAD));
    must_refuse(s->ctx, KAON_ERR_ARGUMENT,
                kaon_staggered_check_links(s->fat, s->naik, s->thin, KAON_FATTEN_ASQTAD));
    snprintf(said[i], sizeof said[i], "%s", kaon_last_error(s->ctx));
    must(s->ctx, kaon_fatten(s->thin, NULL, s->fat, s->naik, NULL));
    must(s->ctx, kaon_staggered_check_links(s->fat, s->naik, s->thin, KAON_FATTEN_ASQTAD));
  }
  assert_string_equal(said[0], said[1]);
  close_pair(&p);
}

static const struct CMUnitTest staggered[] = {
    cmocka_unit_test(hops_across_every_subset_of_faces),
    cmocka_unit_test(every_way_of_hiding_messages),
    cmocka_unit_test(hops_of_odd_parts),
    cmocka_unit_test(parts_of_two_sites_are_refused),
    cmocka_unit_test(solves_of_odd_parts),
    cmocka_unit_test(solves_on_two_grids),
    cmocka_unit_test(updates_reach_beyond_the_faces),
    cmocka_unit_test(what_is_derived_follows_on_all_ranks),
    cmocka_unit_test(links_in_each_others_place_are_refused_by_all),
};
RANKS_MAIN(staggered)
