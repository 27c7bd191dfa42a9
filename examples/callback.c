/* callback.c - kaon inside an application: the links come from the application's own arrays, the
 * solve reports to the application's own monitor, which may end it.
 * Usage: callback [MAX_STEPS]. The field is a constant, Abelian one: each link is
 * diag(e^{i a}, e^{i b}, e^{-i(a+b)}) with angles that depend on its direction. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <kaon/kaon.h>

enum { X = 4, Y = 4, Z = 4, T = 8, VOLUME = X * Y * Z * T, COLUMNS = 2 };

/* The application's links, here as QDP keeps them: an array a direction, even sites before odd,
 * then u[row][col][re, im]. */
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

/* What the application wants to know while the solver runs. */
typedef struct watch {
  int calls, steps_allowed;
  double last;
} watch;

static int monitor(void *user, int iteration, int column, double residual) {
  watch *w = user;
  w->calls++;
  w->last = residual;
  if (column == 0) printf("step %3d: residual %.2e\n", iteration, residual);
  return iteration >= w->steps_allowed; /* not 0: the solver stops, x is the last iterate */
}

static kaon_status work(kaon_context *ctx, watch *w, kaon_lattice **lattice, kaon_gauge **links,
                        kaon_operator **M, kaon_solver **solver, kaon_vector **b, kaon_vector **x,
                        link_array *u[4], kaon_column_report reports[COLUMNS]) {
  const int extents[4] = {X, Y, Z, T};
  const void *arrays[4] = {u[0], u[1], u[2], u[3]};
  kaon_dirac_options wilson = KAON_DIRAC_OPTIONS_INIT;
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_status s;
  wilson.kappa = 0.115;
  options.method = KAON_BICGSTAB;
  options.monitor = monitor;
  options.monitor_user = w;
  options.check_interval = 1;
  if ((s = kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, lattice))) return s;
  if ((s = kaon_gauge_create(*lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links))) return s;
  if ((s = kaon_gauge_import(*links, KAON_ORDER_QDP, KAON_DOUBLE, arrays))) return s;
  if ((s = kaon_dirac_create(*links, &wilson, M))) return s;
  if ((s = kaon_solver_create(*M, COLUMNS, &options, solver))) return s;
  const kaon_space *spinors = kaon_lattice_spinors(*lattice, KAON_FULL);
  if ((s = kaon_vector_create(ctx, spinors, KAON_DOUBLE, COLUMNS, b))) return s;
  if ((s = kaon_vector_create(ctx, spinors, KAON_DOUBLE, COLUMNS, x))) return s;
  if ((s = kaon_source_z4(*b, 7))) return s;
  return kaon_solver_solve(*solver, *b, *x, reports, NULL);
}

int main(int argc, char **argv) {
  kaon_context *ctx = NULL;
  kaon_lattice *lattice = NULL;
  kaon_gauge *links = NULL;
  kaon_operator *M = NULL;
  kaon_solver *solver = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_column_report reports[COLUMNS] = {{0}};
  link_array *u[4] = {NULL};
  watch w = {.steps_allowed = argc > 1 ? atoi(argv[1]) : 1000};
  for (int mu = 0; mu < 4; mu++)
    if (!(u[mu] = calloc(1, sizeof *u[mu]))) return 3;
  fill(u);
  kaon_status status = kaon_context_create(NULL, &ctx);
  if (status == KAON_OK) status = work(ctx, &w, &lattice, &links, &M, &solver, &b, &x, u, reports);
  if (status != KAON_OK) fprintf(stderr, "%s\n", kaon_last_error(ctx));
  for (int k = 0; k < COLUMNS && status == KAON_OK; k++)
    printf("column %d: %s after %d steps, residual %.2e\n", k,
           kaon_stop_reason_name(reports[k].reason), reports[k].iterations, reports[k].residual);
  printf("the monitor was called %d times, last residual %.2e\n", w.calls, w.last);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&links);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
  for (int mu = 0; mu < 4; mu++) free(u[mu]);
  return status == KAON_OK ? 0 : 2;
}
