/* milc_case.h - a lattice as MILC has it: links with staggered signs inside, arrays with the even
 * sites first, one part on each rank. Also its operator in plain C on the whole lattice. */
#ifndef MILC_CASE_H
#define MILC_CASE_H

#include <stdint.h>

/* The whole lattice is on every rank, in lexicographic order. */
typedef struct milc_case {
  int extents[4], grid[4], local[4], origin[4];
  int64_t sites, part; /* of the lattice, of this rank */
  double *fat, *naik;  /* [site][mu][3][3][2], with signs */
} milc_case;

/* `general` 1: any matrices. 0: fat and long links are -1 / 24 (long) times SU(3), times signs. */
void milc_open(milc_case *c, const int extents[4], const int grid[4], int rank, int general);
void milc_close(milc_case *c);

/* Random numbers of the whole lattice, `reals` a site. */
double *milc_random(const milc_case *c, int reals, uint64_t seed);
/* This rank's part in MILC's order, as double or float; to be freed. And back, with the rest 0. */
void *milc_part(const milc_case *c, const double *whole, int reals, int bytes);
void milc_whole(const milc_case *c, const void *part, int reals, int bytes, double *whole);

/* out = D in on one parity (0 even, 1 odd), from the other one. The rest of out is unchanged. naik
 * NULL: without long links. */
void milc_hop(const milc_case *c, const double *fat, const double *naik, int parity,
              const double *in, double *out);
/* Residuals of (offset - D D) x = b on one parity: |r| / |b|, and the heavy-quark residual. */
void milc_residual(const milc_case *c, const double *naik, int parity, double offset,
                   const double *x, const double *b, double residual[2]);

#endif
