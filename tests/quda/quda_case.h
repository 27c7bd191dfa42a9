/* quda_case.h - kaon's own side of tests of libquda: a context of the same ranks, a lattice, links. */
#ifndef QUDA_CASE_H
#define QUDA_CASE_H

#include <kaon/kaon.h>

typedef struct quda_case {
  int ranks, rank, grid[4], local[4], origin[4], extents[4];
  size_t sites; /* of this rank */
  kaon_context *ctx;
  kaon_lattice *lattice; /* antiperiodic */
  kaon_gauge *gauge;     /* random, SU(3) */
} quda_case;

/* Starts MPI, if the build has it, and sets ranks and their grid. */
void quda_case_start(int *argc, char ***argv, quda_case *c);
/* Starts libquda by qudaInit() and makes kaon's objects on this lattice. */
void quda_case_open(quda_case *c, const int extents[4]);
void quda_case_close(quda_case *c);
void quda_case_end(void);
/* The sum over ranks. */
double quda_case_sum(double mine);

/* A field of 18 reals in double on the case's lattice. */
kaon_gauge *quda_case_field(const quda_case *c);
/* Links in one of kaon's orders; QDP: four arrays one after the other. To be freed. */
double *quda_case_links(const quda_case *c, const kaon_gauge *gauge, kaon_gauge_order order);
/* Coordinates in the whole lattice of site `index` in even-odd order. */
void quda_case_site(const quda_case *c, size_t index, int x[4]);

#endif
