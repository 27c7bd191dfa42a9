/* milc.h - what MILC's calls share: its lattice, and its ways to name precisions and parities. */
#pragma once

#include "quda_milc_interface.h"
#include "state.h"

/* Kinds of kaon_quda_key. */
enum { KAON_QUDA_MILC_FN = 101 };

/* The lattice that qudaInit() or qudaSetLayout() named, with this boundary. Errors: STATE (neither
 * was called). */
kaon_status kaon_quda_milc_lattice(kaon_boundary boundary, kaon_lattice **lattice);
/* Extents of this rank's part; 0: no layout. */
const int *kaon_quda_milc_extents(void);
/* Its sites. */
int64_t kaon_quda_milc_sites(void);

/* How a call computes. */
typedef struct kaon_quda_milc_call {
  kaon_precision host;   /* of arrays: double or single */
  kaon_precision sloppy; /* of the inner process */
  kaon_parity parity;    /* even or odd */
} kaon_quda_milc_call;

/* Precisions are 1 and 2 there, mixed_precision 0, 1 (single inside) and 2 (half). Errors:
 * ARGUMENT. */
kaon_status kaon_quda_milc_precisions(int external, int internal, int mixed,
                                      kaon_quda_milc_call *call);
kaon_status kaon_quda_milc_parity(QudaParity parity, kaon_quda_milc_call *call);

/* A number that differs if the reals of an array do: of all of them, or of some 4096 (`sample`). */
uint64_t kaon_quda_milc_digest(const void *array, int64_t reals, kaon_precision precision,
                               int sample);
/* 1 on all ranks if `mine` is 1 on one. */
kaon_status kaon_quda_milc_any(int mine, int *any);

/* Heavy-quark residuals of the columns of x for (A + sigma[i]) x_i = b. b has one column, or as many
 * as x. `sigma` NULL: 0. */
kaon_status kaon_quda_heavy_quark(kaon_operator *A, const double *sigma, const kaon_vector *b,
                                  const kaon_vector *x, double *residual);
/* A line if a column did not reach its tolerance. */
void kaon_quda_warn(const char *function, const kaon_column_report *column, double tol);
