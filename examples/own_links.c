/* own_links.c [KAPPA] - computes a propagator column from links and a source in the application's
 * memory.
 *
 * The links are in MILC order: u[site][mu][row][col][re, im], even sites before odd ones, x fastest
 * within each. For single precision pass KAON_SINGLE. The spinors are psi[site][spin][colour][re,
 * im], x fastest, in the DeGrand-Rossi basis of Chroma. MILC's spinors have the other sign in spins
 * 2 and 3 (docs/conventions.md). Here the links are those of a weak field, to have a system to
 * solve. */
#include <stdio.h>
#include <stdlib.h>
#include <kaon/kaon.h>
#define CHECK(call) \
  if ((call) != KAON_OK) return fprintf(stderr, "%s\n", kaon_last_error(ctx)), 2

enum { X = 4, Y = 4, Z = 4, T = 8, VOLUME = X * Y * Z * T };

/* Replaces the application: fills u in MILC order. */
static kaon_status application_links(kaon_lattice *lattice, double *u) {
  void *arrays[1] = {u};
  kaon_gauge *weak = NULL;
  kaon_status s = kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &weak);
  if (s == KAON_OK) s = kaon_gauge_weak(weak, 0.3, 1);
  if (s == KAON_OK) s = kaon_gauge_export(weak, KAON_ORDER_MILC, KAON_DOUBLE, arrays);
  kaon_gauge_destroy(&weak);
  return s;
}

int main(int argc, char **argv) {
  static kaon_context *ctx;
  static kaon_lattice *lattice;
  static kaon_gauge *links;
  static kaon_operator *M, *schur;
  static kaon_solver *solver;
  static kaon_vector *b, *x;
  double *u = calloc(VOLUME * 72, sizeof *u), *psi = calloc(VOLUME * 24, sizeof *psi);
  kaon_dirac_options wilson = KAON_DIRAC_OPTIONS_INIT;
  kaon_solver_options cg = KAON_SOLVER_OPTIONS_INIT;
  kaon_observables seen = KAON_OBSERVABLES_INIT;
  kaon_column_report done;
  if (!u || !psi) return 3;
  wilson.kappa = argc > 1 ? atof(argv[1]) : 0.12;
  CHECK(kaon_context_create(NULL, &ctx));
  CHECK(kaon_lattice_create(ctx, (const int[4]){X, Y, Z, T}, KAON_ANTIPERIODIC, &lattice));
  CHECK(application_links(lattice, u));

  CHECK(kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &links));
  CHECK(kaon_gauge_import(links, KAON_ORDER_MILC, KAON_DOUBLE, (const void *const[1]){u}));
  CHECK(kaon_gauge_measure(links, &seen)); /* compare it with the application's plaquette */
  printf("plaquette %.10f\n", seen.plaquette);

  CHECK(kaon_dirac_create(links, &wilson, &M));
  CHECK(kaon_dirac_even_odd(M, &(kaon_even_odd_options)KAON_EVEN_ODD_OPTIONS_INIT, &schur));
  CHECK(kaon_solver_create(schur, 1, &cg, &solver));
  CHECK(kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 1, &b));
  CHECK(kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 1, &x));
  psi[0] = 1; /* a point source at the origin: spin 0, colour 0 */
  CHECK(kaon_vector_import(b, 0, psi, KAON_BASIS_DEGRAND_ROSSI));
  CHECK(kaon_solver_solve(solver, b, x, &done, NULL));
  CHECK(kaon_vector_export(x, 0, psi, KAON_BASIS_DEGRAND_ROSSI));
  printf("%s after %d steps, residual %.1e, psi(0) = %.9f\n", kaon_stop_reason_name(done.reason),
         done.iterations, done.residual, psi[0]);
  return done.reason == KAON_CONVERGED ? 0 : 1;
}
