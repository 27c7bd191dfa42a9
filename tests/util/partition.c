/* partition.c - Contract: partition.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>

#include "dslash/wilson/wilson.h"
#include "lib/math/steps/recurrence.h"
#include "lib/operator/couplings.h"

static const char *const precisions[] = {"double", "single", "half"};

/* ---- comparing ---- */

typedef struct {
  double worst, largest;
  int64_t differ;
} difference;

/* `reals` numbers a site: of the whole lattice, and of this rank's part of it. */
static void compare(const partition_pair *pair, const double *whole, const double *part, int reals,
                    difference *d) {
  for (int64_t i = 0; i < pair->part.lattice->volume; i++) {
    const int64_t at = partition_site(pair->part.lattice, i);
    for (int c = 0; c < reals; c++) {
      const double p = whole[reals * at + c], q = part[reals * i + c], off = fabs(p - q);
      if (!(off <= d->worst)) d->worst = off; /* a NaN stays */
      if (fabs(p) > d->largest) d->largest = fabs(p);
      d->differ += p != q;
    }
  }
}

static double *room(const partition_side *s, int reals) {
  double *p = calloc((size_t)s->lattice->volume * (size_t)reals, sizeof *p);
  assert_non_null(p);
  return p;
}

static void compare_vectors(const partition_pair *pair, const kaon_vector *whole,
                            const kaon_vector *part, difference *d) {
  const int ls = part->space->inner;
  double *a = room(&pair->whole, 24 * ls), *b = room(&pair->part, 24 * ls);
  for (int k = 0; k < kaon_vector_columns(part); k++) {
    must(pair->whole.ctx, kaon_vector_export(whole, k, a, KAON_BASIS_UKQCD));
    must(pair->part.ctx, kaon_vector_export(part, k, b, KAON_BASIS_UKQCD));
    for (int s = 0; s < ls; s++)
      compare(pair, a + 24 * s * pair->whole.lattice->volume,
              b + 24 * s * pair->part.lattice->volume, 24, d);
  }
  free(a);
  free(b);
}

void partition_compare_links(const partition_pair *pair, const char *what, const kaon_gauge *whole,
                             const kaon_gauge *part) {
  double *a = room(&pair->whole, 72), *b = room(&pair->part, 72);
  difference d = {0, 0, 0};
  char text[160];
  must(pair->whole.ctx, kaon_gauge_export(whole, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){a}));
  must(pair->part.ctx, kaon_gauge_export(part, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){b}));
  compare(pair, a, b, 72, &d);
  free(a);
  free(b);
  snprintf(text, sizeof text, "%s: links, %s", pair->name, what);
  test_below(text, (double)d.differ, 0);
}

static double relative(const difference *d) {
  return d->largest > 0 ? d->worst / d->largest : d->worst;
}

static void report(const partition_pair *pair, const char *what, const difference *d,
                   double bound) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s, %lld differ", pair->name, what, (long long)d->differ);
  test_below(text, relative(d), bound);
}

/* ---- vectors ---- */

static kaon_vector *like(const partition_side *s, const kaon_space *space, kaon_precision precision,
                         int nrhs) {
  kaon_vector *v = NULL;
  must(s->ctx, kaon_vector_create(s->ctx, space, precision, nrhs, &v));
  return v;
}

/* ---- hops ---- */

/* What two runs of a hop may differ by, of the largest component: another order of sums of 8
 * products of 3; in half the rounding of ghosts (each at most half a step of twice the largest of a
 * site, eight of them with links of length 1) and then of the result. */
static double hop_bound(kaon_precision precision) {
  if (precision == KAON_HALF) return 9.0 / 32767;
  return 64 * (precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24);
}

static void hops(partition_pair *pair, kaon_precision precision, int nrhs, difference *d) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  for (int parity = 0; parity < 2; parity++)
    for (int mode = 0; mode < 2; mode++) {
      kaon_vector *in[2], *out[2];
      for (int i = 0; i < 2; i++) {
        in[i] = partition_noise(sides[i], (kaon_parity)(1 - parity), precision, nrhs, 5);
        out[i] = partition_noise(sides[i], (kaon_parity)parity, precision, nrhs, 6);
        must(sides[i]->ctx,
             kaon_dirac_hop(sides[i]->M, (kaon_parity)parity, (kaon_mode)mode, in[i], out[i]));
      }
      compare_vectors(pair, out[0], out[1], d);
      for (int i = 0; i < 2; i++) {
        kaon_vector_destroy(&in[i]);
        kaon_vector_destroy(&out[i]);
      }
    }
}

static const struct {
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int nrhs;
} storages[] = {{KAON_DOUBLE, KAON_RECONSTRUCT_18, 1}, {KAON_DOUBLE, KAON_RECONSTRUCT_12, 2},
                {KAON_DOUBLE, KAON_RECONSTRUCT_8, 1},  {KAON_SINGLE, KAON_RECONSTRUCT_18, 3},
                {KAON_SINGLE, KAON_RECONSTRUCT_12, 1}, {KAON_SINGLE, KAON_RECONSTRUCT_8, 1},
                {KAON_HALF, KAON_RECONSTRUCT_18, 1},   {KAON_HALF, KAON_RECONSTRUCT_12, 1},
                {KAON_HALF, KAON_RECONSTRUCT_8, 2}};
enum { STORAGES = sizeof storages / sizeof *storages };

void partition_check_hops(partition_pair *pair, double anisotropy) {
  const int same =
      kaon_lattice_partitioned(pair->part.lattice) && partition_same_order(&pair->whole);
  difference d[3] = {{0, 0, 0}};
  for (int i = 0; i < STORAGES; i++) {
    kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
    options.precision = storages[i].precision;
    options.reconstruct = storages[i].reconstruct;
    options.anisotropy = anisotropy;
    partition_dirac(pair, &options);
    hops(pair, storages[i].precision, storages[i].nrhs, &d[storages[i].precision]);
  }
  if (same) must(pair->whole.ctx, kaon_context_set_tuning(pair->whole.ctx, NULL));
  for (int p = 0; p < 3; p++) {
    char what[40];
    snprintf(what, sizeof what, "hop %s", precisions[p]);
    report(pair, what, &d[p], same && p != KAON_HALF ? 0 : hop_bound((kaon_precision)p));
  }
}

/* ---- sums ---- */

enum { NORM = 2, DOT = 3, COLUMNS = 3 };

/* The hop onto x, in its place, with |x|^2 and (w, x), w = another x; column `closed` stays. */
static kaon_vector *summed_hop(const partition_side *s, kaon_precision precision, int nrhs,
                               int closed, kaon_column_state *states) {
  kaon_vector *in = partition_noise(s, KAON_ODD, precision, nrhs, 11);
  kaon_vector *x = partition_noise(s, KAON_EVEN, precision, nrhs, 12);
  kaon_vector *w = partition_noise(s, KAON_EVEN, precision, nrhs, 13);
  const kaon_fused fused = {1.25, x, -0.5, KAON_SITE_ON_X, KAON_SITE_TERM, NULL};
  kaon_scalars *scalars = NULL;
  kaon_pass pass = KAON_PASS_INIT;
  memset(states, 0, (size_t)nrhs * sizeof *states);
  for (int k = 0; k < nrhs; k++) states[k].gate = k == closed ? 0 : KAON_GATE_STEP;
  must(s->ctx, kaon_scalars_create(s->ctx, nrhs, &scalars));
  must(s->ctx, kaon_scalars_write(scalars, states));
  pass.scalars = scalars;
  pass.gate = KAON_GATE_STEP;
  pass.norm = NORM;
  pass.dot = DOT;
  pass.w = w;
  must(s->ctx, kaon_spinor_hop(kaon_fields_of(s->M), 0, KAON_PLAIN, &fused, in, x, &pass));
  must(s->ctx, kaon_scalars_read(scalars, states));
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&w);
  return x;
}

/* Sums of the same sites' numbers in another order, in double; in half of numbers that differ. */
static void check_sums(const partition_pair *pair, kaon_precision precision, int nrhs, int closed,
                       const kaon_column_state *whole, const kaon_column_state *part) {
  const double bound = precision == KAON_HALF ? 1e-4 : precision == KAON_SINGLE ? 1e-7 : 1e-13;
  double worst = 0;
  char text[200];
  for (int k = 0; k < nrhs; k++) {
    const double norm = whole[k].slot[NORM][0];
    assert_true(k == closed ? norm == 0 && part[k].slot[NORM][0] == 0 : norm > 0);
    if (k == closed) continue;
    const double off[3] = {part[k].slot[NORM][0] - norm,
                           part[k].slot[DOT][0] - whole[k].slot[DOT][0],
                           part[k].slot[DOT][1] - whole[k].slot[DOT][1]};
    for (int i = 0; i < 3; i++)
      if (!(fabs(off[i]) / norm <= worst)) worst = fabs(off[i]) / norm;
  }
  snprintf(text, sizeof text, "%s: sums of %d %s columns", pair->name, nrhs, precisions[precision]);
  test_below(text, worst, bound);
}

void partition_check_sums(partition_pair *pair, kaon_precision precision) {
  const partition_side *sides[2] = {&pair->whole, &pair->part};
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.precision = precision;
  options.csw = 1.1;
  options.kappa = 0.11;
  partition_dirac(pair, &options);
  for (int nrhs = 1; nrhs <= COLUMNS; nrhs += COLUMNS - 1) {
    const int closed = nrhs > 1 ? 1 : -1;
    kaon_column_state states[2][COLUMNS];
    kaon_vector *x[2];
    difference d = {0, 0, 0};
    for (int i = 0; i < 2; i++) x[i] = summed_hop(sides[i], precision, nrhs, closed, states[i]);
    compare_vectors(pair, x[0], x[1], &d);
    report(pair, "hop with x, clover blocks and sums", &d, 4 * hop_bound(precision));
    check_sums(pair, precision, nrhs, closed, states[0], states[1]);
    for (int i = 0; i < 2; i++) kaon_vector_destroy(&x[i]);
  }
}

/* ---- operators ---- */

static void apply_both(partition_pair *pair, kaon_operator *const A[2], const char *what,
                       kaon_precision precision, double bound) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  difference d = {0, 0, 0};
  for (int mode = 0; mode < 2; mode++) {
    kaon_vector *x[2], *y[2];
    for (int i = 0; i < 2; i++) {
      const kaon_space *space = kaon_operator_space(A[i]);
      x[i] = partition_noise_in(sides[i], space, precision, 2, 7);
      y[i] = like(sides[i], space, precision, 2);
      must(sides[i]->ctx, kaon_operator_apply(A[i], (kaon_mode)mode, x[i], y[i]));
    }
    compare_vectors(pair, y[0], y[1], &d);
    for (int i = 0; i < 2; i++) {
      kaon_vector_destroy(&x[i]);
      kaon_vector_destroy(&y[i]);
    }
  }
  report(pair, what, &d, bound);
}

void partition_check_couplings(partition_pair *pair, int turn) {
  const kaon_precision precision = storages[turn % STORAGES].precision;
  const int exact = !pair->whole.ctx->backend->host_accessible && precision != KAON_HALF;
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.precision = precision;
  options.reconstruct = storages[turn % STORAGES].reconstruct;
  options.anisotropy = turn % 2 ? 0.71 : 1;
  partition_dirac(pair, &options);
  for (int direction = 0; direction < 8; direction++) {
    const int block = (turn + direction) % 2 * 2;
    const kaon_coupling which = {direction, block, precision, options.reconstruct};
    kaon_operator *const M[2] = {pair->whole.M, pair->part.M};
    kaon_operator *parts[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
      const kaon_couplings *access = kaon_operator_capability(M[i], KAON_CAPABILITY_COUPLINGS);
      must(M[i]->ctx, access->couple(M[i], &which, &parts[i]));
    }
    apply_both(pair, parts, "hops in one direction", precision, exact ? 0 : hop_bound(precision));
    for (int i = 0; i < 2; i++) kaon_operator_destroy(&parts[i]);
  }
}

/* Source of the reduced system and the full solution that belongs to one. */
static void reduce_both(partition_pair *pair, kaon_operator *const A[2], kaon_precision precision,
                        const char *what, double bound) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  difference d = {0, 0, 0};
  kaon_vector *b[2], *reduced[2], *x[2];
  for (int i = 0; i < 2; i++) {
    b[i] = partition_noise_in(sides[i], A[i]->reduction->parent->space, precision, 1, 8);
    reduced[i] = like(sides[i], kaon_operator_space(A[i]), precision, 1);
    x[i] = like(sides[i], kaon_vector_space(b[i]), precision, 1);
    must(sides[i]->ctx, kaon_operator_prepare(A[i], b[i], reduced[i]));
    must(sides[i]->ctx, kaon_operator_reconstruct(A[i], reduced[i], b[i], x[i]));
  }
  compare_vectors(pair, reduced[0], reduced[1], &d);
  compare_vectors(pair, x[0], x[1], &d);
  for (int i = 0; i < 2; i++) {
    kaon_vector_destroy(&b[i]);
    kaon_vector_destroy(&reduced[i]);
    kaon_vector_destroy(&x[i]);
  }
  report(pair, what, &d, bound);
}

void partition_check_operators(partition_pair *pair, kaon_precision precision) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  /* two hops, and blocks of 6x6 numbers: some times what a hop has */
  const double bound = 4 * hop_bound(precision);
  static const char *const actions[PARTITION_ACTIONS] = {"clover", "twisted clover", "twisted",
                                                         "domain wall"};
  for (int action = 0; action < PARTITION_ACTIONS; action++) {
    partition_action(pair, (partition_actions)action, precision);
    kaon_operator *const M[2] = {pair->whole.M, pair->part.M};
    char what[80];
    snprintf(what, sizeof what, "%s %s", actions[action], precisions[precision]);
    apply_both(pair, M, what, precision, bound);
    for (int form = 0; form < 3; form++)
      for (int temporal = 0; temporal < 2; temporal++) {
        static const kaon_even_odd forms[] = {KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN_ODD_ASYMMETRIC,
                                              KAON_EVEN_ODD_NONE};
        if (forms[form] == KAON_EVEN_ODD_NONE && !temporal) continue;
        kaon_even_odd_options how = KAON_EVEN_ODD_OPTIONS_INIT;
        kaon_operator *A[2] = {NULL, NULL};
        how.form = forms[form];
        how.parity = form == 1 ? KAON_ODD : KAON_EVEN;
        how.temporal_gauge = temporal;
        for (int i = 0; i < 2; i++) must(sides[i]->ctx, kaon_dirac_even_odd(M[i], &how, &A[i]));
        snprintf(what, sizeof what, "%s %s form %d%s", actions[action], precisions[precision],
                 (int)how.form, temporal ? " temporal" : "");
        apply_both(pair, A, what, precision, bound);
        strcat(what, ", reduced");
        reduce_both(pair, A, precision, what, bound);
        for (int i = 0; i < 2; i++) kaon_operator_destroy(&A[i]);
      }
  }
}

/* ---- links ---- */

static void check_close(const partition_pair *pair, const char *what, double a, double b,
                        double bound) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s", pair->name, what);
  test_below(text, fabs(a - b), bound);
}

static void check_observables(partition_pair *pair, const char *what) {
  kaon_observables a = KAON_OBSERVABLES_INIT, b = KAON_OBSERVABLES_INIT;
  char text[100];
  must(pair->whole.ctx, kaon_gauge_measure(pair->whole.gauge, &a));
  must(pair->part.ctx, kaon_gauge_measure(pair->part.gauge, &b));
  /* the first three are summed exactly (gauge/exact_sum.h); means of numbers of at most 1, the
   * charge a sum of numbers of that size */
  const double eps = 64 * 0x1p-53, volume = (double)pair->part.lattice->global_volume;
  const struct {
    const char *name;
    double a, b, bound;
  } rows[] = {{"space plaquette", a.plaquette_space, b.plaquette_space, 0},
              {"time plaquette", a.plaquette_time, b.plaquette_time, 0},
              {"link trace", a.link_trace, b.link_trace, 0},
              {"Polyakov loop, real", a.polyakov[0], b.polyakov[0], 8 * eps},
              {"Polyakov loop, imaginary", a.polyakov[1], b.polyakov[1], 8 * eps},
              {"charge", a.charge, b.charge, eps * volume},
              {"distance from SU(3)", a.unitarity, b.unitarity, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(text, sizeof text, "%s, %s", what, rows[i].name);
    check_close(pair, text, rows[i].a, rows[i].b, rows[i].bound);
  }
}

static void check_logdet(partition_pair *pair) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  double value[2];
  int64_t negative[2];
  options.csw = 1.2;
  options.kappa = 0.1;
  partition_dirac(pair, &options);
  must(pair->whole.ctx, kaon_dirac_clover_logdet(pair->whole.M, KAON_ODD, &value[0], &negative[0]));
  must(pair->part.ctx, kaon_dirac_clover_logdet(pair->part.M, KAON_ODD, &value[1], &negative[1]));
  check_close(pair, "log det A", value[0], value[1],
              256 * 0x1p-53 * (double)pair->part.lattice->global_volume);
  assert_int_equal(negative[0], negative[1]);
}

void partition_check_links(partition_pair *pair) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  partition_compare_links(pair, "random", pair->whole.gauge, pair->part.gauge);
  check_observables(pair, "random links");
  partition_check_fatten(pair);
  for (int i = 0; i < 2; i++) {
    kaon_heatbath_options options = KAON_HEATBATH_OPTIONS_INIT;
    options.beta = 5.9;
    options.seed = 77;
    options.overrelaxation = 1;
    must(sides[i]->ctx, kaon_gauge_weak(sides[i]->gauge, 0.4, 4));
    must(sides[i]->ctx, kaon_gauge_heatbath(sides[i]->gauge, &options, 2));
  }
  partition_compare_links(pair, "weak, then heatbath", pair->whole.gauge, pair->part.gauge);
  check_observables(pair, "heatbath");
  check_logdet(pair);
  for (int i = 0; i < 2; i++)
    must(sides[i]->ctx, kaon_gauge_temporal(sides[i]->gauge, sides[i]->gauge));
  partition_compare_links(pair, "temporal gauge", pair->whole.gauge, pair->part.gauge);
  for (int i = 0; i < 2; i++) must(sides[i]->ctx, kaon_gauge_random(sides[i]->gauge, 20260));
}

/* ---- measurements ---- */

static void compare_source(partition_pair *pair, const char *what, kaon_vector *const v[2]) {
  difference d = {0, 0, 0};
  char text[200];
  compare_vectors(pair, v[0], v[1], &d);
  snprintf(text, sizeof text, "%s: %s", pair->name, what);
  test_below(text, (double)d.differ, 0);
}

void partition_check_measurements(partition_pair *pair) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  const int *n = pair->part.lattice->global, nt = n[3];
  const int point[4] = {n[0] - 1, n[1] / 2, 1, n[3] - 2};
  kaon_vector *v[2];
  for (int kind = 0; kind < 4; kind++) {
    static const char *const names[] = {"point source", "wall source", "Z4 noise", "Gauss noise"};
    for (int i = 0; i < 2; i++) {
      v[i] = like(sides[i], kaon_lattice_spinors(sides[i]->lattice, KAON_FULL), KAON_DOUBLE, 12);
      must(sides[i]->ctx, kind == 0   ? kaon_source_point(v[i], point)
                          : kind == 1 ? kaon_source_wall(v[i], nt - 1)
                          : kind == 2 ? kaon_source_z4(v[i], 3)
                                      : kaon_source_gauss(v[i], 3));
    }
    compare_source(pair, names[kind], v);
    if (kind < 3)
      for (int i = 0; i < 2; i++) kaon_vector_destroy(&v[i]);
  }
  double *c[2][2];
  double worst = 0, largest = 0;
  for (int i = 0; i < 2; i++) {
    for (int m = 0; m < 2; m++) {
      c[i][m] = calloc((size_t)nt, sizeof(double));
      assert_non_null(c[i][m]);
    }
    must(sides[i]->ctx, kaon_correlator_pion(v[i], 1, c[i][0]));
    must(sides[i]->ctx, kaon_correlator_rho(v[i], 1, c[i][1]));
    kaon_vector_destroy(&v[i]);
  }
  for (int m = 0; m < 2; m++)
    for (int t = 0; t < nt; t++) {
      const double off = fabs(c[0][m][t] - c[1][m][t]);
      if (!(off <= worst)) worst = off;
      if (fabs(c[0][m][t]) > largest) largest = fabs(c[0][m][t]);
    }
  for (int i = 0; i < 4; i++) free(c[i / 2][i % 2]);
  check_close(pair, "correlators", worst / largest, 0,
              0x1p-53 * (double)(pair->part.lattice->global_volume / nt));
}

/* ---- solvers ---- */

static void solve(partition_side *s, kaon_operator *A, const kaon_solver_options *options,
                  kaon_vector *x, int *iterations) {
  kaon_solver *solver = NULL;
  kaon_column_report report[2];
  kaon_vector *b = partition_noise(s, KAON_FULL, KAON_DOUBLE, 2, 9);
  must(s->ctx, kaon_solver_create(A, 2, options, &solver));
  must(s->ctx, kaon_vector_zero(x));
  must(s->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < 2; k++) {
    assert_int_equal(report[k].reason, KAON_CONVERGED);
    assert_true(report[k].residual <= 2 * options->tol);
    iterations[k] = report[k].iterations;
  }
  kaon_vector_destroy(&b);
  kaon_solver_destroy(&solver);
}

/* Two runs of one side: no number differs. */
static void check_same(const partition_side *s, const kaon_vector *a, const kaon_vector *b) {
  double *p = room(s, 24), *q = room(s, 24);
  int64_t differ = 0;
  for (int k = 0; k < 2; k++) {
    must(s->ctx, kaon_vector_export(a, k, p, KAON_BASIS_UKQCD));
    must(s->ctx, kaon_vector_export(b, k, q, KAON_BASIS_UKQCD));
    for (int64_t i = 0; i < 24 * s->lattice->volume; i++) differ += p[i] != q[i];
  }
  free(p);
  free(q);
  assert_int_equal(differ, 0);
}

void partition_check_solvers(partition_pair *pair) {
  static const struct {
    kaon_method method;
    kaon_precision inner;
    const char *name;
  } rows[] = {{KAON_CGNR, KAON_DOUBLE, "CGNR double"},
              {KAON_CGNR, KAON_HALF, "CGNR double/half"},
              {KAON_PIPECGNR, KAON_SINGLE, "pipelined CGNR double/single"},
              {KAON_BICGSTAB, KAON_SINGLE, "BiCGStab double/single"},
              {KAON_BICGSTAB, KAON_HALF, "BiCGStab double/half"},
              {KAON_PIPEBICGSTAB, KAON_SINGLE, "pipelined BiCGStab double/single"},
              {KAON_MR, KAON_SINGLE, "MR double/single"},
              {KAON_GCR, KAON_HALF, "GCR double/half"},
              {KAON_CGNE, KAON_SINGLE, "CGNE double/single"},
              {KAON_BLOCKCGNR, KAON_SINGLE, "block CGNR double/single"}};
  partition_side *sides[2] = {&pair->whole, &pair->part};
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_even_odd_options how = KAON_EVEN_ODD_OPTIONS_INIT;
  kaon_operator *A[2] = {NULL, NULL};
  kaon_vector *x[3];
  for (int i = 0; i < 2; i++) must(sides[i]->ctx, kaon_gauge_weak(sides[i]->gauge, 0.3, 6));
  options.kappa = 0.12;
  options.csw = 1;
  partition_dirac(pair, &options);
  for (int i = 0; i < 2; i++) must(sides[i]->ctx, kaon_dirac_even_odd(sides[i]->M, &how, &A[i]));
  for (int i = 0; i < 3; i++) {
    const partition_side *s = sides[i > 0];
    x[i] = like(s, kaon_lattice_spinors(s->lattice, KAON_FULL), KAON_DOUBLE, 2);
  }
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    int steps[3][2];
    difference d = {0, 0, 0};
    o.method = rows[r].method;
    o.sloppy = rows[r].inner;
    o.tol = 1e-9;
    o.max_iterations = 1000;
    solve(sides[0], A[0], &o, x[0], steps[0]);
    for (int i = 1; i < 3; i++) solve(sides[1], A[1], &o, x[i], steps[i]);
    compare_vectors(pair, x[0], x[1], &d);
    char what[100];
    snprintf(what, sizeof what, "%s, %d and %d steps", rows[r].name, steps[0][0], steps[1][0]);
    report(pair, what, &d, 1e-6); /* tol times a condition number */
    for (int k = 0; k < 2; k++) {
      assert_true(abs(steps[0][k] - steps[1][k]) <= 2 + steps[0][k] / 10);
      assert_int_equal(steps[1][k], steps[2][k]);
    }
    check_same(sides[1], x[1], x[2]);
  }
  for (int i = 0; i < 3; i++) kaon_vector_destroy(&x[i]);
  for (int i = 0; i < 2; i++) {
    kaon_operator_destroy(&A[i]);
    must(sides[i]->ctx, kaon_gauge_random(sides[i]->gauge, 20260));
  }
}
