/* quda_case.c - kaon's own side of tests of libquda. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "quda_case.h"
#include "quda_milc_interface.h"

#ifdef KAON_QUDA_MPI
#include <mpi.h>
static MPI_Comm all;
#endif

void quda_case_start(int *argc, char ***argv, quda_case *c) {
  static const int by_ranks[5][4] = {
      {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 2}, {1, 1, 1, 1}, {1, 2, 1, 2}};
  *c = (quda_case){.ranks = 1};
#ifdef KAON_QUDA_MPI
  MPI_Init(argc, argv);
  all = MPI_COMM_WORLD;
  MPI_Comm_size(all, &c->ranks);
  MPI_Comm_rank(all, &c->rank);
#else
  (void)argc, (void)argv;
#endif
  memcpy(c->grid, by_ranks[c->ranks], sizeof c->grid);
}

void quda_case_open(quda_case *c, const int extents[4]) {
  const QudaInitArgs_t args = {.verbosity = QUDA_SILENT, .layout = {extents, c->grid, -1}};
  memcpy(c->extents, extents, sizeof c->extents);
#ifdef KAON_QUDA_MPI
  qudaSetMPICommHandle(&all);
  assert_int_equal(kaon_context_create_ranks(NULL, &all, c->grid, &c->ctx), KAON_OK);
#else
  assert_int_equal(kaon_context_create(NULL, &c->ctx), KAON_OK);
#endif
  qudaInit(args);
  assert_int_equal(kaon_lattice_create(c->ctx, extents, KAON_ANTIPERIODIC, &c->lattice), KAON_OK);
  kaon_lattice_part(c->lattice, c->local, c->origin, NULL);
  c->sites = (size_t)(c->local[0] * c->local[1] * c->local[2] * c->local[3]);
  c->gauge = quda_case_field(c);
  assert_int_equal(kaon_gauge_random(c->gauge, 7), KAON_OK);
}

void quda_case_close(quda_case *c) {
  kaon_gauge_destroy(&c->gauge);
  kaon_lattice_destroy(&c->lattice);
  kaon_context_destroy(&c->ctx);
  qudaFinalize();
}

void quda_case_end(void) {
#ifdef KAON_QUDA_MPI
  MPI_Finalize();
#endif
}

double quda_case_sum(double mine) {
#ifdef KAON_QUDA_MPI
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, all);
#endif
  return mine;
}

kaon_gauge *quda_case_field(const quda_case *c) {
  kaon_gauge *gauge = NULL;
  assert_int_equal(kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge),
                   KAON_OK);
  return gauge;
}

double *quda_case_links(const quda_case *c, const kaon_gauge *gauge, kaon_gauge_order order) {
  double *links = malloc(c->sites * 72 * sizeof *links);
  void *arrays[4];
  for (size_t mu = 0; mu < 4; mu++)
    arrays[mu] = links + (order == KAON_ORDER_QDP ? mu : 0) * c->sites * 18;
  assert_int_equal(kaon_gauge_export(gauge, order, KAON_DOUBLE, arrays), KAON_OK);
  return links;
}

void quda_case_site(const quda_case *c, size_t index, int x[4]) {
  const size_t half = c->sites / 2, s = index % half;
  size_t rest = s / (size_t)(c->local[0] / 2);
  const int parity = (int)(index / half);
  for (int d = 1; d < 4; rest /= (size_t)c->local[d], d++) x[d] = (int)(rest % (size_t)c->local[d]);
  x[0] = 2 * (int)(s % (size_t)(c->local[0] / 2)) + (x[1] + x[2] + x[3] + parity) % 2;
  for (int d = 0; d < 4; d++) x[d] += c->origin[d];
}
