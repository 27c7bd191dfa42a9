/* clover_term.h - the clover term of a link field: blocks, inverse, determinant, storage.
 * Work arrays: one parity in double, [block][72][W] (lib/math/clover.h), in device memory. */
#ifndef KAON_GAUGE_CLOVER_TERM_H
#define KAON_GAUGE_CLOVER_TERM_H

#include <kaon/gauge.h>

/* blocks = A = 1 - (kappa csw / 2) sum sigma F on the sites of `parity`, from the field's links
 * (decoded to double if they are stored otherwise). Errors: MEMORY. */
kaon_status kaon_clover_term_build(const kaon_gauge *gauge, int parity, double kappa, double csw,
                                   double *blocks);
/* det A over some sites: its sign is (-1)^negative. */
typedef struct kaon_clover_det {
  double log_abs;   /* sum of log |det| */
  int64_t negative; /* of the 6x6 blocks, two a site, how many have det < 0 */
} kaon_clover_det;
/* blocks = blocks^-1, in place; collective; det: of the blocks before, or NULL. Errors: SINGULAR
 * (the site is named, kappa and csw quoted; the blocks are lost), MEMORY. */
kaon_status kaon_clover_term_invert(kaon_lattice *lattice, int parity, double kappa, double csw,
                                    double *blocks, kaon_clover_det *det);
/* to = blocks in `precision`; scale: half alone, a field of two
 * floats a site, one a chirality. */
kaon_status kaon_clover_term_store(const kaon_lattice *lattice, const double *blocks,
                                   kaon_precision precision, void *to, float *scale);

#endif
