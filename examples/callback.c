/* callback.c - kaon inside an application. The links come from the application's arrays. The solve
 * reports to the application's monitor, which may end it. Usage: callback [MAX_STEPS]. The field is
 * constant and Abelian: each link is diag(e^{ia}, e^{ib}, e^{-i(a+b)}) with angles that depend on
 * its direction. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <kaon/kaon.h>

enum { X = 4, Y = 4, Z = 4, T = 8, VOLUME = X * Y * Z * T, COLUMNS = 2 };

/* The application's links, here in QDP order: one array for each direction, even sites before odd
 * ones, then u[row][col][re, im]. */
typedef double link_array[VOLUME][3][3][2];

static void fill(link_array *u[4]) {
  for (int mu = 0; mu < 4; mu++)
    for (int site = 0; site < VOLUME; site++) {
      const double angle[3] = {0.1 * (mu + 1), -0.05 * mu, -0.1 * (mu + 1) + 0.05 * mu};
      for (int c = 0; c < 3; c++) {
        (*u[mu])[site][c][c][0] = cos(angle[c]);
        (*u[mu])[site][c][c][1] = sin(angle[c]);
      }
    }
}

/* What the application records while the solver runs. */
typedef struct watch {
  int calls, steps_allowed;
  double last;
} watch;

static int monitor(void *user, int iteration, int column, double residual) {
  watch *w = user;
  w->calls++;
  w->last = residual;
  if (column == 0) printf("step %3d: residual %.2e\n", iteration, residual);
  return iteration >= w->steps_allowed; /* not 0: the solver stops, and x is the last iterate */
}

typedef struct application {
  link_array *u[4];
  watch watch;
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *links;
  kaon_operator *M;
  kaon_solver *solver;
  kaon_vector *b, *x;
  kaon_column_report reports[COLUMNS];
} application;

static kaon_status prepare(application *a) {
  const int extents[4] = {X, Y, Z, T};
  const void *arrays[4] = {a->u[0], a->u[1], a->u[2], a->u[3]};
  kaon_dirac_options wilson = KAON_DIRAC_OPTIONS_INIT;
  kaon_status s;
  wilson.kappa = 0.115;
  if ((s = kaon_context_create(NULL, &a->ctx))) return s;
  if ((s = kaon_lattice_create(a->ctx, extents, KAON_ANTIPERIODIC, &a->lattice))) return s;
  if ((s = kaon_gauge_create(a->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &a->links))) return s;
  if ((s = kaon_gauge_import(a->links, KAON_ORDER_QDP, KAON_DOUBLE, arrays))) return s;
  return kaon_dirac_create(a->links, &wilson, &a->M);
}

static kaon_status solve(application *a) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  const kaon_space *spinors = kaon_lattice_spinors(a->lattice, KAON_FULL);
  kaon_status s;
  options.method = KAON_BICGSTAB;
  options.monitor = monitor;
  options.monitor_user = &a->watch;
  options.check_interval = 1;
  if ((s = kaon_solver_create(a->M, COLUMNS, &options, &a->solver))) return s;
  if ((s = kaon_vector_create(a->ctx, spinors, KAON_DOUBLE, COLUMNS, &a->b))) return s;
  if ((s = kaon_vector_create(a->ctx, spinors, KAON_DOUBLE, COLUMNS, &a->x))) return s;
  if ((s = kaon_source_z4(a->b, 7))) return s;
  return kaon_solver_solve(a->solver, a->b, a->x, a->reports, NULL);
}

static void clean(application *a) {
  kaon_vector_destroy(&a->x);
  kaon_vector_destroy(&a->b);
  kaon_solver_destroy(&a->solver);
  kaon_operator_destroy(&a->M);
  kaon_gauge_destroy(&a->links);
  kaon_lattice_destroy(&a->lattice);
  kaon_context_destroy(&a->ctx);
  for (int mu = 0; mu < 4; mu++) free(a->u[mu]);
}

int main(int argc, char **argv) {
  static application a;
  a.watch.steps_allowed = argc > 1 ? atoi(argv[1]) : 1000;
  for (int mu = 0; mu < 4; mu++)
    if (!(a.u[mu] = calloc(1, sizeof *a.u[mu]))) return 3;
  fill(a.u);
  kaon_status status = prepare(&a);
  if (status == KAON_OK) status = solve(&a);
  if (status != KAON_OK) fprintf(stderr, "%s\n", kaon_last_error(a.ctx));
  for (int k = 0; k < COLUMNS && status == KAON_OK; k++)
    printf("column %d: %s after %d steps, residual %.2e\n", k,
           kaon_stop_reason_name(a.reports[k].reason), a.reports[k].iterations,
           a.reports[k].residual);
  printf("the monitor was called %d times, last residual %.2e\n", a.watch.calls, a.watch.last);
  clean(&a);
  return status == KAON_OK ? 0 : 2;
}
