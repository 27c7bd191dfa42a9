/* milc.h - what MILC's calls share: its ways to name lattice, precisions and targets, in the
 * parameters of quda.h. Precisions are 1 (single) and 2 (double) there. */
#pragma once

#include "fields.h"
#include "quda_milc_interface.h"

/* Parameters of Wilson links in an array of MILC's order. Errors: STATE (no qudaInit()), ARGUMENT. */
kaon_status kaon_quda_milc_links(int precision, QudaGaugeParam *param);
/* Parameters of a solve on host arrays in MILC's orders, in double outside; mixed_precision 0, 1
 * (single inside) and 2 (half). Errors: as before. */
kaon_status kaon_quda_milc_solve(int external, int internal, int mixed, QudaInvertParam *param);
/* Residuals to reach: |r| / |b|, and the heavy-quark residual. 0: any. Errors: ARGUMENT (both are
 * 0, or one is below it or NaN). */
kaon_status kaon_quda_milc_targets(QudaInvertParam *param, double target, double fermilab);

/* A number that differs if the reals of an array do, 72 a site, and not 0: of all of them, or of
 * some 4096 (`sample`). `more` is mixed in: what else says how the array is read. 0: the array
 * is NULL. */
uint64_t kaon_quda_milc_digest(const void *array, QudaPrecision precision, int sample,
                               uint64_t more);
/* 1 on all ranks if `mine` is 1 on one. */
kaon_status kaon_quda_milc_any(int mine, int *any);
/* Loads links, unless those of this digest are loaded already. `fresh` 1: they are new. */
kaon_status kaon_quda_milc_load(const void *array, const QudaGaugeParam *param, uint64_t digest,
                                int fresh);
