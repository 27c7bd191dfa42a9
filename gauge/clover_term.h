/* clover_term.h - the clover term of a link field: blocks, inverse, determinant, storage.
 * Work arrays: one parity in double, [block][72][W] (lib/math/clover.h), in device memory. */
#pragma once

#include <kaon/gauge.h>

/* Computes blocks = A = 1 - (kappa csw / 2) sum sigma F on the sites of `parity`, from the field's
 * links (decoded to double if needed). Planes with t have csw * electric. Errors: MEMORY. */
kaon_status kaon_clover_term_build(const kaon_gauge *gauge, int parity, double kappa, double csw,
                                   double electric, double *blocks);
/* Replaces blocks by blocks^2 + shift. */
kaon_status kaon_clover_term_square(const kaon_lattice *lattice, double shift, double *blocks);
/* det A over some sites; its sign is (-1)^negative. */
typedef struct kaon_clover_det {
  double log_abs;   /* sum of log |det| */
  int64_t negative; /* number of 6x6 blocks with det < 0 (two blocks a site) */
} kaon_clover_det;
/* Replaces blocks by their inverses. det: of the original blocks; NULL: not wanted. Collective.
 * Errors: SINGULAR (the message has the site, kappa and csw; the blocks are lost), MEMORY. csw is 0
 * for a term that was not made from links. */
kaon_status kaon_clover_term_invert(kaon_lattice *lattice, int parity, double kappa, double csw,
                                    double *blocks, kaon_clover_det *det);
/* Stores blocks in `precision` in `to`. scale: only in half, a field of two floats a site, one a
 * chirality. */
kaon_status kaon_clover_term_store(const kaon_lattice *lattice, const double *blocks,
                                   kaon_precision precision, void *to, float *scale);
