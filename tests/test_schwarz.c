/* test_schwarz.c - Schwarz preconditioners against block-by-block solves by the reference, on
 * Wilson-like operators and on one that is not; frozen columns, precisions, and GCR preconditioned
 * with them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "tests/util/dirac_case.h"
#include "tests/util/shell_operator.h"
#include "tests/util/test_util.h"

/* ---- the expected result: blocks one after another, in double, of any linear map ---- */

typedef struct method {
  shell_map *whole, *cut; /* the latter leaves out what couples blocks */
  const void *user;
  size_t n;
  const int *block, *colour; /* of each number; block: of each block */
  int blocks, colours;
} method;

static void solve_block(const method *m, const kaon_schwarz_options *o, int block,
                        const shell_complex *residual, shell_complex *z) {
  shell_complex *r = calloc(m->n, sizeof *r), *q = calloc(m->n, sizeof *q);
  for (size_t i = 0; i < m->n; i++)
    if (m->block[i] == block) r[i] = residual[i];
  for (int step = 0; step < o->steps; step++) {
    shell_complex qr = 0;
    double qq = 0;
    m->cut(m->user, 0, m->n, r, q);
    for (size_t i = 0; i < m->n; i++) {
      if (m->block[i] != block) continue;
      qr += conj(q[i]) * r[i];
      qq += creal(conj(q[i]) * q[i]);
    }
    for (size_t i = 0; i < m->n && qq > 0; i++) {
      if (m->block[i] != block) continue;
      z[i] += o->relaxation * qr / qq * r[i];
      r[i] -= o->relaxation * qr / qq * q[i];
    }
  }
  free(r);
  free(q);
}

static shell_complex *oracle(const method *m, const kaon_schwarz_options *o,
                             const shell_complex *b) {
  const int multiplicative = o->kind == KAON_SCHWARZ_MULTIPLICATIVE;
  shell_complex *z = calloc(m->n, sizeof *z), *r = calloc(m->n, sizeof *r);
  for (int stage = 0; stage < o->cycles * (multiplicative ? m->colours : 1); stage++) {
    m->whole(m->user, 0, m->n, z, r);
    for (size_t i = 0; i < m->n; i++) r[i] = b[i] - r[i];
    for (int block = 0; block < m->blocks; block++)
      if (!multiplicative || m->colour[block] == stage % m->colours) solve_block(m, o, block, r, z);
  }
  free(r);
  return z;
}

/* ---- Wilson-like operators ---- */

typedef struct lattice_method {
  ref_dirac whole, cut;
  int form, parity; /* as test_local_part.c */
} lattice_method;

static void apply_reference(const ref_dirac *d, const lattice_method *l, const shell_complex *x,
                            shell_complex *y) {
  memset(y, 0, ref_spinor_size(&d->L) * sizeof *y);
  if (l->form == KAON_EVEN_ODD_NONE)
    ref_apply(d, x, y);
  else
    ref_schur(d, l->parity, l->form == KAON_EVEN_ODD_SYMMETRIC, x, y);
}

static void map_whole(const void *user, int dagger, size_t n, const shell_complex *x,
                      shell_complex *y) {
  (void)dagger, (void)n;
  apply_reference(&((const lattice_method *)user)->whole, user, x, y);
}

static void map_cut(const void *user, int dagger, size_t n, const shell_complex *x,
                    shell_complex *y) {
  (void)dagger, (void)n;
  apply_reference(&((const lattice_method *)user)->cut, user, x, y);
}

/* block: none is 0. */
static method method_of(const dirac_case *c, lattice_method *l, const int extent[4], int **block,
                        int **colour) {
  const int *n = c->L.n;
  const int count[4] = {n[0] / extent[0], n[1] / extent[1], n[2] / extent[2], n[3] / extent[3]};
  const size_t size = ref_spinor_size(&c->L);
  *block = calloc(size, sizeof **block);
  *colour = calloc(size, sizeof **colour);
  for (size_t i = 0; i < size; i++) {
    int x[4], number = 0, sum = 0;
    ref_coords(&c->L, i / 12, x);
    for (int mu = 0; mu < 4; mu++) {
      number = number * count[mu] + x[mu] / extent[mu];
      sum += x[mu] / extent[mu];
    }
    (*block)[i] = number;
    (*colour)[number] = sum % 2;
  }
  return (method){.whole = map_whole,
                  .cut = map_cut,
                  .user = l,
                  .n = size,
                  .block = *block,
                  .colour = *colour,
                  .blocks = count[0] * count[1] * count[2] * count[3],
                  .colours = count[0] * count[1] * count[2] * count[3] > 1 ? 2 : 1};
}

typedef struct lattice_row {
  int extents[4], block[4];
  kaon_even_odd form;
  kaon_schwarz_kind kind;
  int steps, cycles;
  double relaxation, csw;
} lattice_row;

static const lattice_row rows[] = {
    {{8, 4, 4, 8}, {4, 4, 4, 4}, KAON_EVEN_ODD_SYMMETRIC, KAON_SCHWARZ_ADDITIVE, 4, 1, 1, 1.2},
    {{8, 4, 4, 8},
     {4, 4, 4, 4},
     KAON_EVEN_ODD_SYMMETRIC,
     KAON_SCHWARZ_MULTIPLICATIVE,
     2,
     2,
     1,
     1.2},
    {{8, 4, 4, 8}, {4, 2, 4, 2}, KAON_EVEN_ODD_NONE, KAON_SCHWARZ_MULTIPLICATIVE, 2, 1, 0.9, 0},
    {{4, 6, 2, 8},
     {2, 6, 2, 2},
     KAON_EVEN_ODD_ASYMMETRIC,
     KAON_SCHWARZ_MULTIPLICATIVE,
     2,
     2,
     1,
     1.2},
    {{4, 6, 2, 10}, {4, 2, 2, 10}, KAON_EVEN_ODD_NONE, KAON_SCHWARZ_ADDITIVE, 3, 2, 0.8, 1.2},
    {{8, 4, 4, 8}, {8, 4, 4, 8}, KAON_EVEN_ODD_SYMMETRIC, KAON_SCHWARZ_ADDITIVE, 4, 1, 1, 0},
    {{8, 4, 4, 8},
     {8, 4, 4, 8},
     KAON_EVEN_ODD_SYMMETRIC,
     KAON_SCHWARZ_MULTIPLICATIVE,
     3,
     2,
     1,
     1.2},
};

/* |K b - expected| / |expected|. Ill-conditioned blocks would amplify rounding, but these are well
 * conditioned (kappa 0.11 on random links): a hop's bound times the applications, with room. */
static void compare_with_oracle(dirac_case *c, const lattice_row *row) {
  static const double bound[] = {1e-14, 2e-6, 5e-4};
  const int parity = row->form == KAON_EVEN_ODD_ASYMMETRIC ? 1 : 0;
  lattice_method l = {.form = (int)row->form, .parity = parity};
  l.whole = case_reference(c, 0.11, row->csw, 1);
  l.cut = l.whole;
  memcpy(l.cut.cut, row->block, sizeof l.cut.cut);
  int *block = NULL, *colour = NULL;
  const method m = method_of(c, &l, row->block, &block, &colour);
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  o.kind = row->kind;
  memcpy(o.block, row->block, sizeof o.block);
  o.steps = row->steps;
  o.cycles = row->cycles;
  o.relaxation = row->relaxation;
  const kaon_parity sites = row->form == KAON_EVEN_ODD_NONE ? KAON_FULL : (kaon_parity)parity;
  ref_complex **b = case_random_columns(c, 2, 21), *expected[2];
  for (int k = 0; k < 2; k++) {
    if (sites != KAON_FULL) case_restrict(c, parity, b[k]);
    expected[k] = oracle(&m, &o, b[k]);
  }
  kaon_operator *M = case_dirac(c, 0.11, row->csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18), *A = M;
  if (row->form != KAON_EVEN_ODD_NONE) A = case_even_odd(c, M, row->form, (kaon_parity)parity, 0);
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
    kaon_operator *K = NULL;
    o.precision = (kaon_precision)p;
    must(c->ctx, kaon_schwarz_create(A, &o, &K));
    kaon_vector *x = case_vector(c, sites, (kaon_precision)p, 2),
                *y = case_vector(c, sites, (kaon_precision)p, 2);
    case_import(c, x, b);
    must(c->ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
    const double off = case_deviation(c, y, expected);
    printf("%s %s: off by %.1e\n", isa_names[c->isa], precision_names[p], off);
    assert_true(off <= bound[p]);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_operator_destroy(&K);
  }
  if (A != M) kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  for (int k = 0; k < 2; k++) free(expected[k]);
  case_free_columns(b, 2);
  ref_dirac_free(&l.whole);
  free(block);
  free(colour);
}

static void blocks_are_solved_one_by_one(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      dirac_case c;
      if (machine_lacks(machine)) continue;
      if (!case_open_checked(&c, machine, rows[i].extents, 1, LINKS_RANDOM, 5)) continue;
      if (c.ctx->backend->domain[KAON_DOUBLE] != NULL ||
          memcmp(rows[i].extents, rows[i].block, 16) == 0)
        compare_with_oracle(&c, &rows[i]);
      case_close(&c);
    }
}

/* ---- an operator that is none of a lattice ---- */

typedef struct cut_chain {
  chain c;
  size_t size;
} cut_chain;

static void map_cut_chain(const void *user, int dagger, size_t n, const shell_complex *x,
                          shell_complex *y) {
  const cut_chain *c = user;
  for (size_t first = 0; first < n; first += c->size)
    map_chain(&c->c, dagger, c->size, x + first, y + first);
}

static void map_whole_chain(const void *user, int dagger, size_t n, const shell_complex *x,
                            shell_complex *y) {
  map_chain(&((const cut_chain *)user)->c, dagger, n, x, y);
}

/* GCR with K takes less than half of the steps. */
static void gcr_gains(shell_case *t, kaon_operator *A, kaon_operator *K, const chain *user,
                      const kaon_vector *x, kaon_vector *y) {
  kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
  kaon_column_report report[2];
  so.method = KAON_GCR;
  so.tol = 1e-10;
  for (int with = 0; with < 2; with++) {
    kaon_solver *s = NULL;
    so.preconditioner = with ? K : NULL;
    must(t->ctx, kaon_solver_create(A, 1, &so, &s));
    must(t->ctx, kaon_vector_zero(y));
    must(t->ctx, kaon_solver_solve(s, x, y, &report[with], NULL));
    assert_int_equal(report[with].reason, KAON_CONVERGED);
    assert_true(shell_residual(t, map_chain, user, x, y, 0) <= 1.1e-10);
    kaon_solver_destroy(&s);
  }
  printf("gcr: %d steps, with Schwarz %d\n", report[0].iterations, report[1].iterations);
  assert_true(2 * report[1].iterations < report[0].iterations);
}

static void another_operator(void **state) {
  (void)state;
  const int extents[4] = {4, 4, 2, 4}, sites = 8;
  shell_case t;
  const cut_chain user = {{0.3, 0.2, 0.4}, 12 * (size_t)sites};
  shell_open(&t, extents, 1);
  const int blocks = (int)(t.n / user.size);
  int *block = calloc(t.n, sizeof *block), *colour = calloc((size_t)blocks, sizeof *colour);
  for (size_t i = 0; i < t.n; i++) block[i] = (int)(i / user.size);
  for (int i = 0; i < blocks; i++) colour[i] = i % 2;
  const method m = {.whole = map_whole_chain,
                    .cut = map_cut_chain,
                    .user = &user,
                    .n = t.n,
                    .block = block,
                    .colour = colour,
                    .blocks = blocks,
                    .colours = 2};
  kaon_operator *A = shell_operator(&t, KAON_DOUBLE, map_chain, &user.c);
  for (int kind = KAON_SCHWARZ_ADDITIVE; kind <= KAON_SCHWARZ_MULTIPLICATIVE; kind++) {
    kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
    o.kind = (kaon_schwarz_kind)kind;
    o.block[0] = sites;
    o.precision = KAON_DOUBLE;
    kaon_operator *K = NULL;
    must(t.ctx, kaon_schwarz_create(A, &o, &K));
    o.steps = kind == KAON_SCHWARZ_ADDITIVE ? 10 : 4; /* what 0 stands for */
    o.cycles = kind == KAON_SCHWARZ_ADDITIVE ? 1 : 5;
    shell_complex *b = shell_random(&t, 3), *found = calloc(t.n, sizeof *found);
    shell_complex *expected = oracle(&m, &o, b);
    kaon_vector *x = shell_vector(&t, KAON_DOUBLE, 1), *y = shell_vector(&t, KAON_DOUBLE, 1);
    shell_import(&t, x, 0, b);
    must(t.ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
    shell_export(&t, y, 0, found);
    const double off = ref_rel_diff(found, expected, t.n);
    printf("chain, kind %d: off by %.1e\n", kind, off);
    assert_true(off <= 1e-13);
    gcr_gains(&t, A, K, &user.c, x, y);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    free(b);
    free(found);
    free(expected);
    kaon_operator_destroy(&K);
  }
  kaon_operator_destroy(&A);
  free(block);
  free(colour);
  shell_close(&t);
}

/* ---- columns and gates ---- */

/* Closed columns are neither read, NaN or not, nor written, and do not affect open ones. */
static void frozen_columns_are_not_seen(void **state) {
  (void)state;
  const int extents[4] = {8, 4, 4, 8};
  for (int kind = KAON_SCHWARZ_ADDITIVE; kind <= KAON_SCHWARZ_MULTIPLICATIVE; kind++)
    for (int blocks = 0; blocks < 2; blocks++) {
      dirac_case c;
      assert_true(case_open_checked(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 5));
      kaon_operator *M = case_dirac(&c, 0.11, 1.2, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18), *K = NULL;
      kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
      o.kind = (kaon_schwarz_kind)kind;
      o.precision = KAON_SINGLE;
      o.cycles = 2;
      for (int mu = 0; mu < 4 && blocks; mu++) o.block[mu] = 4;
      must(c.ctx, kaon_schwarz_create(M, &o, &K));
      ref_complex **b = case_random_columns(&c, 2, 21);
      kaon_vector *x = case_vector(&c, KAON_FULL, KAON_SINGLE, 2),
                  *y = case_vector(&c, KAON_FULL, KAON_SINGLE, 2),
                  *z = case_vector(&c, KAON_FULL, KAON_SINGLE, 2);
      case_import(&c, x, b);
      must(c.ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
      kaon_scalars *scalars = NULL;
      kaon_column_state host[2];
      must(c.ctx, kaon_scalars_create(c.ctx, 2, &scalars));
      must(c.ctx, kaon_scalars_read(scalars, host));
      host[0].gate = 0;
      must(c.ctx, kaon_scalars_write(scalars, host));
      kaon_pass pass = KAON_PASS_INIT;
      pass.scalars = scalars;
      case_import(&c, z, b);
      must(c.ctx, kaon_operator_run(K, KAON_PLAIN, x, z, &pass));
      ref_complex *kept = case_export(&c, z, 0), *was = case_export(&c, x, 0);
      ref_complex *all = case_export(&c, y, 1), *one = case_export(&c, z, 1);
      assert_memory_equal(kept, was, ref_spinor_size(&c.L) * sizeof *kept);
      assert_memory_equal(all, one, ref_spinor_size(&c.L) * sizeof *all);
      free(kept);
      free(was);
      free(all);
      free(one);
      kaon_scalars_destroy(&scalars);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_vector_destroy(&z);
      case_free_columns(b, 2);
      kaon_operator_destroy(&K);
      kaon_operator_destroy(&M);
      case_close(&c);
    }
}

/* ---- GCR ---- */

/* GCR reaches BiCGStab's solution with fewer sums, in every inner precision with a preconditioner
 * in half. */
static void gcr_with_schwarz(void **state) {
  (void)state;
  const int extents[4] = {8, 8, 8, 8};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_WEAK, 5));
  kaon_operator *M = case_dirac(&c, 0.130, 1.0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *A = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  ref_complex **b = case_random_columns(&c, 3, 21), *solution = NULL;
  kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 3),
              *y = case_vector(&c, KAON_FULL, KAON_DOUBLE, 3);
  case_import(&c, x, b);
  int64_t sums = 0;
  for (int run = 0; run < 8; run++) { /* 0: BiCGStab, 1: GCR alone */
    kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
    kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
    kaon_operator *K = NULL;
    kaon_solver *s = NULL;
    kaon_column_report columns[3];
    kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
    so.method = run == 0 ? KAON_BICGSTAB : KAON_GCR;
    so.tol = 1e-9;
    if (run > 1) {
      so.sloppy = (kaon_precision)(run / 2 - 1);
      o.kind = run % 2 ? KAON_SCHWARZ_MULTIPLICATIVE : KAON_SCHWARZ_ADDITIVE;
      for (int mu = 0; mu < 4; mu++) o.block[mu] = 4;
      must(c.ctx, kaon_schwarz_create(A, &o, &K));
      so.preconditioner = K;
    }
    must(c.ctx, kaon_solver_create(A, 3, &so, &s));
    must(c.ctx, kaon_vector_zero(y));
    must(c.ctx, kaon_solver_solve(s, x, y, columns, &report));
    printf("run %d: %d %d %d steps, %lld sums, residual %.1e\n", run, columns[0].iterations,
           columns[1].iterations, columns[2].iterations, (long long)report.traffic.sums,
           columns[0].residual);
    for (int k = 0; k < 3; k++) assert_int_equal(columns[k].reason, KAON_CONVERGED);
    assert_int_equal(report.traffic.exchanges, 0);
    ref_complex *found = case_export(&c, y, 2);
    if (run == 0) {
      solution = found;
      sums = report.traffic.sums;
    } else {
      assert_true(ref_rel_diff(found, solution, ref_spinor_size(&c.L)) <= 1e-7);
      free(found);
    }
    if (run > 1) assert_true((run % 2 ? 2 : 1) * report.traffic.sums < sums);
    kaon_solver_destroy(&s);
    kaon_operator_destroy(&K);
  }
  free(solution);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  case_free_columns(b, 3);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  case_close(&c);
}

/* run 0: BiCGStab; 1, 2: GCR with additive Schwarz, with SAP. */
static kaon_solve_report solve_real(dirac_case *c, kaon_operator *A, int run, const kaon_vector *x,
                                    kaon_vector *y) {
  static const char *const names[] = {"bicgstab", "gcr with additive Schwarz", "gcr with SAP"};
  kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  kaon_operator *K = NULL;
  kaon_solver *s = NULL;
  kaon_column_report column;
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  so.method = run == 0 ? KAON_BICGSTAB : KAON_GCR;
  so.sloppy = KAON_HALF;
  if (run > 0) {
    o.kind = run == 2 ? KAON_SCHWARZ_MULTIPLICATIVE : KAON_SCHWARZ_ADDITIVE;
    for (int mu = 0; mu < 4; mu++) o.block[mu] = run == 2 || mu > 1 ? 4 : 8;
    must(c->ctx, kaon_schwarz_create(A, &o, &K));
    so.preconditioner = K;
  }
  must(c->ctx, kaon_solver_create(A, 1, &so, &s));
  must(c->ctx, kaon_vector_zero(y));
  must(c->ctx, kaon_solver_solve(s, x, y, &column, &report));
  assert_int_equal(column.reason, KAON_CONVERGED);
  printf("%s: %d steps, %lld sums\n", names[run], column.iterations,
         (long long)report.traffic.sums);
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&K);
  return report;
}

/* A quenched configuration near criticality: at least five times fewer sums than BiCGStab, and the
 * solution is the reference operator's. */
static void a_real_configuration(void **state) {
  (void)state;
  const int extents[4] = {8, 8, 8, 8};
  const double kappa = 0.1345, csw = 1.769;
  char path[1024];
  dirac_case c;
  if (test_data("milc/milc_lat.sample.l8888", path) == NULL) skip();
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_UNIT, 0));
  must(c.ctx, kaon_gauge_read(c.gauge, path, NULL, NULL));
  must(c.ctx, kaon_gauge_export(c.gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){c.u}));
  ref_dirac d = case_reference(&c, kappa, csw, 1);
  kaon_operator *M = case_dirac(&c, kappa, csw, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  kaon_operator *A = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  ref_complex **b = case_random_columns(&c, 1, 21), *image = ref_new(ref_spinor_size(&c.L));
  kaon_vector *x = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1),
              *y = case_vector(&c, KAON_FULL, KAON_DOUBLE, 1);
  case_import(&c, x, b);
  int64_t sums[3];
  for (int run = 0; run < 3; run++) {
    const kaon_solve_report report = solve_real(&c, A, run, x, y);
    ref_complex *found = case_export(&c, y, 0);
    ref_apply(&d, found, image);
    const double residual = ref_rel_diff(image, b[0], ref_spinor_size(&c.L));
    sums[run] = report.traffic.sums;
    printf("residual %.2e\n", residual);
    assert_true(residual <= 1.2e-10);
    free(found);
  }
  assert_true(2 * sums[1] < sums[0]);
  assert_true(5 * sums[2] < sums[0]);
  free(image);
  case_free_columns(b, 1);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  ref_dirac_free(&d);
  case_close(&c);
}

/* The result of a column depends neither on the other columns nor on the number of threads. */
static void bits_do_not_depend_on_company(void **state) {
  (void)state;
  const int extents[4] = {8, 4, 4, 8};
  ref_complex *first = NULL;
  for (int run = 0; run < 3; run++) {
    dirac_case c;
    int machine = KAON_ISA_AUTO, best = KAON_ISA_SCALAR; /* two threads; by its name, one */
    for (int isa = best; isa <= KAON_ISA_AVX512; isa++)
      if (kaon_cpu_has((kaon_isa)isa)) best = isa;
    if (run == 2 && !machine_lacks(best)) machine = best;
    assert_true(case_open(&c, machine, extents, 1, LINKS_RANDOM, 5));
    kaon_operator *M = case_dirac(&c, 0.11, 1.2, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18), *K = NULL;
    kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
    const int columns = run == 1 ? 3 : 1;
    for (int mu = 0; mu < 4; mu++) o.block[mu] = 4;
    o.precision = KAON_SINGLE;
    o.kind = KAON_SCHWARZ_MULTIPLICATIVE;
    must(c.ctx, kaon_schwarz_create(M, &o, &K));
    ref_complex **b = case_random_columns(&c, columns, 21);
    kaon_vector *x = case_vector(&c, KAON_FULL, KAON_SINGLE, columns),
                *y = case_vector(&c, KAON_FULL, KAON_SINGLE, columns);
    case_import(&c, x, b);
    must(c.ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
    ref_complex *found = case_export(&c, y, 0);
    if (run == 0)
      first = found;
    else
      assert_memory_equal(first, found, ref_spinor_size(&c.L) * sizeof *found);
    if (run > 0) free(found);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    case_free_columns(b, columns);
    kaon_operator_destroy(&K);
    kaon_operator_destroy(&M);
    case_close(&c);
  }
  free(first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_solved_one_by_one),
      cmocka_unit_test(another_operator),
      cmocka_unit_test(frozen_columns_are_not_seen),
      cmocka_unit_test(gcr_with_schwarz),
      cmocka_unit_test(a_real_configuration),
      cmocka_unit_test(bits_do_not_depend_on_company),
  };
  return test_main(tests, NULL, NULL);
}
