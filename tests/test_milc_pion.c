/* test_milc_pion.c - Goldstone pions of wall sources as MILC recorded them
 * (ks_spectrum_asqtad.nl.2: asqtad links, u0 = .8696, mass .05, Coulomb gauge). The test fattens
 * links path by path; MILC's recorded fat and long links of another lattice confirm that to f32.
 * Operator, sources, solver and correlator are the library's.
 *
 * MILC's correlator is ours divided by 16 ("1 / 16" of its input). Walls are not gauge invariant,
 * and MILC stopped fixing 3e-5 short of the maximum, so the same relaxation does as many steps
 * here: odd sites, then even ones; SU(2) subgroups of rows (1, 2), (2, 3), (3, 1); the best
 * element a0 + i a.sigma with a stretched by (w a0^2 + a^2) / (a0^2 + a^2), w = 1.8 (Mandula,
 * Ogilvie, Phys. Lett. B 248 (1990) 156; MILC's generic/gaugefix2). The log gives the functional
 * after 20, 40, 60 and 80 steps and at the end, with 9 digits.
 *
 * Bound: correlators have 7 digits, at most 5e-7 of their size, and solutions are good to 1e-8.
 * Together 1e-6. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/vector/space.h"
#include "tests/reference/milc_files.h"
#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

static const int extents[4] = {8, 8, 8, 8};

/* ---- fattening, by the tables of paths (Orginos, Toussaint, Sugar, hep-lat/9903032) ---- */

/* sum += c times the product of links along steps[]: mu + 1 forward, -(mu + 1) back. */
static void add_path(const ref_lattice *L, const ref_complex *u, size_t x, const int *steps, int n,
                     double c, ref_complex sum[9]) {
  ref_complex p[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, next[9];
  for (int i = 0; i < n; i++) {
    const int mu = abs(steps[i]) - 1;
    if (steps[i] < 0) x = ref_shift(L, x, mu, -1);
    if (steps[i] > 0)
      ref_mul(next, p, u + 9 * (4 * x + (size_t)mu));
    else
      ref_mul_na(next, p, u + 9 * (4 * x + (size_t)mu));
    memcpy(p, next, sizeof p);
    if (steps[i] > 0) x = ref_shift(L, x, mu, 1);
  }
  for (int i = 0; i < 9; i++) sum[i] += c * p[i];
}

/* Staples of one to three directions around mu, none used twice; depth: how many are used so far.
 */
static void add_staples(const ref_lattice *L, const ref_complex *u, size_t x, int mu, int *around,
                        int depth, const double c[4], ref_complex sum[9]) {
  int steps[7];
  for (int i = 0; i < depth; i++) {
    steps[i] = around[i];
    steps[2 * depth - i] = -around[i];
  }
  steps[depth] = mu + 1;
  add_path(L, u, x, steps, 2 * depth + 1, c[depth], sum);
  if (depth == 3) return;
  for (int nu = -4; nu <= 4; nu++) {
    int used = nu == 0 || abs(nu) == mu + 1;
    for (int i = 0; i < depth; i++) used |= abs(around[i]) == abs(nu);
    if (used) continue;
    around[depth] = nu;
    add_staples(L, u, x, mu, around, depth + 1, c, sum);
  }
}

/* Fat links, and long ones with their coefficient. */
static void fatten(const ref_lattice *L, const ref_complex *u, double u0, ref_complex *fat,
                   ref_complex *naik) {
  const double w = 1 / (u0 * u0);
  const double c[4] = {5.0 / 8, w / 16, w * w / 64, w * w * w / 384};
  for (size_t x = 0; x < ref_volume(L); x++)
    for (int mu = 0; mu < 4; mu++) {
      const size_t at = 9 * (4 * x + (size_t)mu);
      int around[3];
      memset(fat + at, 0, 9 * sizeof *fat);
      memset(naik + at, 0, 9 * sizeof *naik);
      add_staples(L, u, x, mu, around, 0, c, fat + at);
      for (int nu = -4; nu <= 4; nu++)
        if (nu != 0 && abs(nu) != mu + 1) /* Lepage's */
          add_path(L, u, x, (const int[5]){nu, nu, mu + 1, -nu, -nu}, 5, -w * w / 16, fat + at);
      add_path(L, u, x, (const int[3]){mu + 1, mu + 1, mu + 1}, 3, -w / 24, naik + at);
    }
}

/* ---- MILC's own fat links ---- */

/* As the library reads them, without MILC's signs. */
static ref_complex *recorded(dirac_case *c, const char *path, int steps) {
  kaon_gauge *g = NULL;
  ref_complex *u = ref_new(ref_links_size(&c->L));
  void *const out[1] = {u};
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &g));
  must(c->ctx, kaon_staggered_read_links(g, path, 0));
  must(c->ctx, kaon_staggered_fold(g, steps, KAON_PHASES_MILC));
  must(c->ctx, kaon_gauge_export(g, KAON_ORDER_NATURAL, KAON_DOUBLE, out));
  kaon_gauge_destroy(&g);
  return u;
}

static void fattening_here_is_milcs(void **state) {
  char thin[1024], fat[1024], naik[1024];
  dirac_case c;
  ref_complex *u = NULL;
  (void)state;
  if (!test_data("milc/milc_lat.sample.l8", thin) || !test_data("milc/milc_fat.l8", fat) ||
      !test_data("milc/milc_long.l8", naik))
    skip();
  assert_true(case_open(&c, MACHINE_CPU, extents, 1, LINKS_UNIT, 0));
  assert_null(milc_read_scidac(thin, &c.L, 72, &u));
  ref_complex *U = ref_new(ref_links_size(&c.L)), *N = ref_new(ref_links_size(&c.L));
  fatten(&c.L, u, 0.502, U, N);
  ref_complex *theirs = recorded(&c, fat, 1);
  test_below("fat links off MILC's, relative", ref_rel_diff(U, theirs, ref_links_size(&c.L)), 1e-6);
  free(theirs);
  theirs = recorded(&c, naik, 3);
  test_below("long links", ref_rel_diff(N, theirs, ref_links_size(&c.L)), 1e-6);
  free(theirs);
  free(u);
  free(U);
  free(N);
  case_close(&c);
}

/* ---- pions ---- */

/* sources by parity: 0 even, 1 even and odd, 2 even minus odd */
static void wall(kaon_context *ctx, int kind, kaon_vector *b) {
  kaon_vector odd;
  must(ctx, kaon_source_wall(b, 0));
  must(ctx, kaon_vector_view(b, KAON_ODD, &odd));
  if (kind == 0) must(ctx, kaon_vector_zero(&odd));
  if (kind == 2) { /* odd -= 2 odd */
    kaon_vector *copy = NULL;
    must(ctx, kaon_vector_create(ctx, odd.space, KAON_DOUBLE, 3, &copy));
    must(ctx, kaon_vector_copy(copy, &odd));
    must(ctx, kaon_vector_axpy(-2, 0, copy, &odd));
    kaon_vector_destroy(&copy);
  }
}

static double spatial_trace(const ref_lattice *L, const ref_complex *u) {
  double sum = 0;
  for (size_t i = 0; i < 4 * ref_volume(L); i++)
    if (i % 4 < 3) sum += creal(ref_trace(u + 9 * i)) / (9 * (double)ref_volume(L));
  return sum;
}

/* The links that a gauge rotation g of the site multiplies from the left, in space. */
static void links_around(const ref_lattice *L, const ref_complex *u, size_t x, ref_complex s[9]) {
  memset(s, 0, 9 * sizeof *s);
  for (int mu = 0; mu < 3; mu++) {
    ref_complex back[9];
    ref_adjoint(back, u + 9 * (4 * ref_shift(L, x, mu, -1) + (size_t)mu));
    for (int i = 0; i < 9; i++) s[i] += u[9 * (4 * x + (size_t)mu) + (size_t)i] + back[i];
  }
}

/* Re tr g s is largest for g = a0 + i a.sigma in rows p and q; stretched. */
static void rotation(const ref_complex s[9], int p, int q, double w, ref_complex g[9]) {
  const ref_complex pp = s[4 * p], qq = s[4 * q], pq = s[3 * p + q], qp = s[3 * q + p];
  double a[4] = {creal(pp + qq), -cimag(qp + pq), creal(qp - pq), -cimag(pp - qq)};
  const double a2 = a[1] * a[1] + a[2] * a[2] + a[3] * a[3], a02 = a[0] * a[0];
  const double x = (w * a02 + a2) / (a02 + a2), r = sqrt(a02 + x * x * a2);
  a[0] /= r;
  for (int i = 1; i < 4; i++) a[i] *= x / r;
  for (int i = 0; i < 9; i++) g[i] = i % 4 == 0;
  g[4 * p] = a[0] + I * a[3];
  g[4 * q] = a[0] - I * a[3];
  g[3 * p + q] = a[2] + I * a[1];
  g[3 * q + p] = -a[2] + I * a[1];
}

/* The mean of the functional after the odd sites and after the even ones, as MILC prints it. */
static double relax(const ref_lattice *L, ref_complex *u) {
  static const int rows[3][2] = {{0, 1}, {1, 2}, {2, 0}};
  double functional = 0;
  for (int parity = 1; parity >= 0; parity--) {
    for (int k = 0; k < 3; k++)
      for (size_t x = 0; x < ref_volume(L); x++) {
        ref_complex s[9], g[9], turned[9];
        if (ref_parity(L, x) != parity) continue;
        links_around(L, u, x, s);
        rotation(s, rows[k][0], rows[k][1], 1.8, g);
        for (int mu = 0; mu < 4; mu++) {
          ref_complex *ahead = u + 9 * (4 * x + (size_t)mu);
          ref_complex *back = u + 9 * (4 * ref_shift(L, x, mu, -1) + (size_t)mu);
          ref_mul(turned, g, ahead);
          memcpy(ahead, turned, sizeof turned);
          ref_mul_na(turned, back, g);
          memcpy(back, turned, sizeof turned);
        }
      }
    functional += 0.5 * spatial_trace(L, u);
  }
  return functional;
}

/* As far as MILC went, by its log. */
static void fix_gauge(const ref_lattice *L, ref_complex *u) {
  static const struct {
    int steps;
    double functional;
  } logged[] = {{20, 8.73432119e-01},
                {40, 8.76698059e-01},
                {60, 8.77135975e-01},
                {80, 8.77249813e-01},
                {86, 8.77263803e-01}};
  int steps = 0;
  double functional = 0;
  for (int i = 0; i < 5; i++) {
    char text[64];
    for (; steps < logged[i].steps; steps++) functional = relax(L, u);
    snprintf(text, sizeof text, "functional after %d steps, off the log", steps);
    test_below(text, fabs(functional - logged[i].functional), 1e-9);
  }
}

static kaon_gauge *import(dirac_case *c, const ref_complex *u) {
  kaon_gauge *g = NULL;
  const void *const in[1] = {u};
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &g));
  must(c->ctx, kaon_gauge_import_matrices(g, KAON_ORDER_NATURAL, KAON_DOUBLE, in));
  return g;
}

/* Correlators "PION_PS..." of corrfile_t0 in order. */
static int read_pions(const char *path, double pions[3][8]) {
  char line[256];
  FILE *file = fopen(path, "r");
  int found = 0, inside = 0, t = 0;
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL && found < 3) {
    double value;
    int at;
    if (strncmp(line, "correlator:", 11) == 0) inside = strstr(line, "PION_PS") != NULL, t = 0;
    if (!inside || sscanf(line, "%d %lf", &at, &value) != 2 || at != t) continue;
    pions[found][t++] = value;
    if (t == 8) found++, inside = 0;
  }
  fclose(file);
  return found;
}

static void recorded_pions_are_reproduced(void **state) {
  static const char *const names[] = {"even wall", "even and odd wall", "even minus odd wall"};
  char lattice[1024], log[1024];
  double theirs[3][8], ours[8];
  dirac_case c;
  ref_complex *u = NULL;
  (void)state;
  if (!test_data("milc/milc_lat.sample.l8888", lattice) ||
      !test_data("milc/ks_spectrum_asqtad.nl.2.corrfile_t0.sample-out", log))
    skip();
  assert_int_equal(read_pions(log, theirs), 3);
  assert_true(case_open(&c, MACHINE_CPU, extents, 1, LINKS_UNIT, 0));
  assert_null(milc_read_gauge(lattice, &c.L, &u));
  fix_gauge(&c.L, u);
  ref_complex *U = ref_new(ref_links_size(&c.L)), *N = ref_new(ref_links_size(&c.L));
  fatten(&c.L, u, 0.8696, U, N);
  kaon_gauge *fat = import(&c, U), *naik = import(&c, N);
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  kaon_operator *M = NULL, *A = NULL;
  kaon_solver *solver = NULL;
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_vector *b = NULL, *x = NULL;
  const kaon_space *space = kaon_lattice_staggered(c.lattice, KAON_FULL);
  o.mass = 0.05;
  options.method = KAON_CG;
  must(c.ctx, kaon_staggered_create(fat, naik, &o, &M));
  must(c.ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  must(c.ctx, kaon_vector_create(c.ctx, space, KAON_DOUBLE, 3, &b));
  must(c.ctx, kaon_vector_create(c.ctx, space, KAON_DOUBLE, 3, &x));
  must(c.ctx, kaon_solver_create(A, 3, &options, &solver));
  for (int kind = 0; kind < 3; kind++) {
    double worst = 0;
    wall(c.ctx, kind, b);
    must(c.ctx, kaon_vector_zero(x));
    must(c.ctx, kaon_solver_solve(solver, b, x, NULL, NULL));
    must(c.ctx, kaon_correlator_pion(x, 0, ours));
    for (int t = 0; t < 8; t++) worst = larger(worst, fabs(ours[t] / 16 / theirs[kind][t] - 1));
    printf("  %s:", names[kind]);
    for (int t = 0; t < 8; t++) printf(" %.6f", ours[t] / 16 / theirs[kind][t]);
    printf(" of MILC's\n");
    test_below("largest relative deviation", worst, 1e-6);
  }
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&fat);
  kaon_gauge_destroy(&naik);
  free(u);
  free(U);
  free(N);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fattening_here_is_milcs),
      cmocka_unit_test(recorded_pions_are_reproduced),
  };
  return test_main(tests, NULL, NULL);
}
