/* propagator.c CONFIGURATION KAPPA CSW - prints the pion of a clover propagator. It leaves memory
 * to the end of the process; callback.c shows how to release it. */
#include <stdio.h>
#include <stdlib.h>
#include <kaon/kaon.h>
#define CHECK(call) \
  if ((call) != KAON_OK) return fprintf(stderr, "%s\n", kaon_last_error(ctx)), 2

int main(int argc, char **argv) {
  static kaon_context *ctx;
  static kaon_lattice *lattice;
  static kaon_gauge *links;
  static kaon_operator *M, *schur;
  static kaon_solver *solver;
  static kaon_vector *b, *x;
  kaon_gauge_file_info file = KAON_GAUGE_FILE_INFO_INIT;
  kaon_dirac_options clover = KAON_DIRAC_OPTIONS_INIT;
  kaon_solver_options cg = KAON_SOLVER_OPTIONS_INIT;
  kaon_column_report done[12];
  static double pion[4096]; /* longer than any lattice */
  clover.kappa = argc > 2 ? atof(argv[2]) : 0.125;
  clover.csw = argc > 3 ? atof(argv[3]) : 1.0;
  cg.sloppy = KAON_HALF; /* fast inner iterations; the residual still reaches 1e-10 in double */
  CHECK(kaon_context_create(NULL, &ctx));
  CHECK(kaon_gauge_file_probe(ctx, argv[1], NULL, &file));
  CHECK(kaon_lattice_create(ctx, file.extents, KAON_ANTIPERIODIC, &lattice));
  CHECK(kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &links));
  CHECK(kaon_gauge_read(links, argv[1], NULL, NULL));
  CHECK(kaon_dirac_create(links, &clover, &M));
  CHECK(kaon_dirac_even_odd(M, &(kaon_even_odd_options)KAON_EVEN_ODD_OPTIONS_INIT, &schur));
  CHECK(kaon_solver_create(schur, 12, &cg, &solver));
  CHECK(kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 12, &b));
  CHECK(kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 12, &x));
  CHECK(kaon_source_point(b, (const int[4]){0, 0, 0, 0}));
  CHECK(kaon_solver_solve(solver, b, x, done, NULL));
  for (int k = 0; k < 12; k++)
    if (done[k].reason != KAON_CONVERGED) return fprintf(stderr, "column %d: no solution\n", k), 1;
  CHECK(kaon_correlator_pion(x, 0, pion));
  for (int t = 0; t < file.extents[3]; t++) printf("%2d  %.10e\n", t, pion[t]);
}
