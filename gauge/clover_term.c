/* clover_term.c - builds, inverts and stores clover blocks from links. */
#include "gauge/clover_term.h"

#include "gauge/gauge_internal.h"
#include "lib/core/threads.h"

/* A block has lost all digits if its smallest pivot is below this fraction of its largest element:
 * 36 elements, each rounded in six eliminations. */
#define KAON_SINGULAR_RATIO (36 * 6 * 2.3e-16)

static kaon_status build(const kaon_gauge *gauge, int parity, double kappa, double csw,
                         double electric, double *blocks) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_TRY(kaon_gauge_kernels(gauge->ctx, &ops));
  KAON_TRY(kaon_wide_open(gauge, 0, &wide));
  const kaon_status status =
      kaon_wide_ghosts(&wide, kaon_launch_prepare(gauge->ctx, 1, 0, &launch));
  const kaon_clover_term_args args = {.on = kaon_links_on(&wide, parity, NULL, NULL),
                                      .coefficient = kappa * csw,
                                      .electric = electric,
                                      .blocks = blocks};
  if (status == KAON_OK) ops->clover_term(&launch, &args);
  return status;
}

kaon_status kaon_clover_term_build(const kaon_gauge *gauge, int parity, double kappa, double csw,
                                   double electric, double *blocks) {
  KAON_RETURN_UNTRAPPED(gauge->ctx, build(gauge, parity, kappa, csw, electric, blocks));
}

static kaon_status invert(kaon_lattice *lattice, int parity, double *blocks,
                          double found[KAON_INVERT_RESULTS]) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_AUTO(kaon_results_release) kaon_results room = {0};
  KAON_TRY(kaon_gauge_kernels(lattice->ctx, &ops));
  KAON_TRY(kaon_launch_prepare(lattice->ctx, 1, 0, &launch));
  KAON_TRY(kaon_results_create(lattice->ctx, &room));
  const kaon_clover_invert_args args = {
      .stencil = &lattice->stencil, .parity = parity, .blocks = blocks, .result = room.device};
  ops->clover_invert(&launch, &args);
  return kaon_results_read(&room, KAON_INVERT_RESULTS, found);
}

static kaon_status singular(const kaon_lattice *lattice, int parity, double kappa, double csw,
                            const double found[KAON_INVERT_RESULTS]) {
  int x[4];
  const int width = lattice->stencil.width;
  const int64_t at = (int64_t)found[2];
  (void)kaon_lattice_site(lattice, parity, at / width, (int)(at % width), x);
  for (int mu = 0; mu < 4; mu++) x[mu] += lattice->origin[mu];
  if (csw == 0)
    return kaon_fail(lattice->ctx, KAON_ERR_SINGULAR,
                     "clover: the block at site (%d, %d, %d, %d) of the given term cannot be "
                     "inverted: smallest pivot over largest element is %.3g; give another term, or "
                     "take even_odd = none",
                     x[0], x[1], x[2], x[3], found[1]);
  return kaon_fail(lattice->ctx, KAON_ERR_SINGULAR,
                   "clover: the block at site (%d, %d, %d, %d) cannot be inverted at kappa = %g, "
                   "csw = %g (kappa csw = %g): smallest pivot over largest element is %.3g; take a "
                   "smaller kappa csw or smoother links, or even_odd = none",
                   x[0], x[1], x[2], x[3], kappa, csw, kappa * csw, found[1]);
}

static kaon_status invert_all(kaon_lattice *lattice, int parity, double kappa, double csw,
                              double *blocks, kaon_clover_det *det) {
  double found[KAON_INVERT_RESULTS] = {0};
  kaon_status status = invert(lattice, parity, blocks, found);
  if (det != NULL) *det = (kaon_clover_det){found[0], (int64_t)found[3]};
  if (status == KAON_OK && !(found[1] > KAON_SINGULAR_RATIO))
    status = singular(lattice, parity, kappa, csw, found);
  return kaon_agree(lattice->ctx, status);
}

/* Pivots show whether a block is singular, so floating-point traps are off. */
kaon_status kaon_clover_term_invert(kaon_lattice *lattice, int parity, double kappa, double csw,
                                    double *blocks, kaon_clover_det *det) {
  KAON_RETURN_UNTRAPPED(lattice->ctx, invert_all(lattice, parity, kappa, csw, blocks, det));
}

kaon_status kaon_clover_term_square(const kaon_lattice *lattice, double shift, double *blocks) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_TRY(kaon_gauge_kernels(lattice->ctx, &ops));
  KAON_TRY(kaon_launch_prepare(lattice->ctx, 1, 0, &launch));
  const kaon_clover_square_args args = {
      .stencil = &lattice->stencil, .shift = shift, .blocks = blocks};
  ops->clover_square(&launch, &args);
  return KAON_OK;
}

static kaon_status store(const kaon_lattice *lattice, const double *blocks,
                         kaon_precision precision, void *to, float *scale) {
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(lattice->ctx, 1, 0, &launch));
  const kaon_clover_store_args args = {
      .nblocks = lattice->stencil.nblocks, .wide = blocks, .narrow = to, .scale = scale};
  lattice->ctx->backend->gauge[precision]->clover_store(&launch, &args);
  return KAON_OK;
}

kaon_status kaon_clover_term_store(const kaon_lattice *lattice, const double *blocks,
                                   kaon_precision precision, void *to, float *scale) {
  KAON_RETURN_UNTRAPPED(lattice->ctx, store(lattice, blocks, precision, to, scale));
}
