/* correlators.c - pion and rho at zero momentum from 12 columns (kaon/measure.h). The kernel
 * returns one value for each site. Slices are summed here in lexicographic order, then over ranks
 * in rank order. So the result depends neither on threads nor on the instruction set's site
 * order. */
#include <stdlib.h>

#include <kaon/measure.h>

#include "dslash/measure/measure_ops.h"
#include "dslash/measure/staggered_measure.h"
#include "lib/grid/site_table.h"
#include "lib/core/entry.h"

static kaon_status check(const kaon_vector *propagator, int t0) {
  const kaon_space *space = propagator->space;
  if (space->lattice == NULL || space != kaon_lattice_spinors(space->lattice, KAON_FULL) ||
      propagator->nrhs != 12)
    return kaon_fail(propagator->ctx, KAON_ERR_SHAPE,
                     "correlator: 12 columns of full-lattice spinors are needed, one for each "
                     "source spin and colour, but the vector has %d",
                     propagator->nrhs);
  if (t0 < 0 || t0 >= space->lattice->global[3])
    return kaon_fail(propagator->ctx, KAON_ERR_ARGUMENT,
                     "correlator: source slice %d, but the lattice has slices 0 to %d", t0,
                     space->lattice->global[3] - 1);
  if (propagator->ctx->backend->measure[propagator->precision] == NULL)
    return kaon_fail(propagator->ctx, KAON_ERR_NOT_BUILT,
                     "correlator: backend %s has no contractions", propagator->ctx->backend->name);
  return KAON_OK;
}

static void sum_slices(const kaon_lattice *lattice, const double *density, int t0,
                       double *correlator) {
  const int nt = lattice->global[3];
  const kaon_stencil *st = &lattice->stencil;
  for (int t = 0; t < nt; t++) correlator[t] = 0;
  for (int64_t number = 0; number < lattice->volume; number++) {
    int site[4];
    kaon_site_coordinates(lattice->extents, number, site);
    const kaon_place at = kaon_lattice_place(lattice, site);
    correlator[(site[3] + lattice->origin[3] - t0 + nt) % nt] +=
        density[(at.parity * st->nblocks + at.block) * st->width + at.lane];
  }
}

static kaon_status correlate(const kaon_vector *propagator, int meson, int t0, double *correlator) {
  KAON_TRY(check(propagator, t0));
  kaon_context *ctx = propagator->ctx;
  const kaon_space *space = propagator->space;
  const size_t bytes = (size_t)(space->nblocks * space->width) * sizeof(double);
  kaon_launch launch;
  void *device = NULL;
  double *density = malloc(bytes);
  kaon_status status = kaon_launch_prepare(ctx, 1, 0, &launch);
  if (density == NULL)
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "correlator: out of host memory for %zu bytes", bytes);
  if (status == KAON_OK) status = kaon_pool_allocate(ctx, bytes, "correlator density", &device);
  if (status == KAON_OK) {
    const kaon_meson_args args = {.nblocks = space->nblocks,
                                  .meson = meson,
                                  .propagator = kaon_view_of(propagator),
                                  .density = device};
    ctx->backend->measure[propagator->precision]->meson(&launch, &args);
    status = ctx->backend->memory->to_host(ctx, density, device, bytes);
  }
  if (status == KAON_OK) sum_slices(space->lattice, density, t0, correlator);
  kaon_pool_release(ctx, device);
  free(density);
  KAON_TRY(kaon_agree(ctx, status));
  return kaon_comm_sum(ctx, correlator, space->lattice->global[3]);
}

kaon_status kaon_correlator_pion(const kaon_vector *propagator, int t0, double *pion) {
  KAON_ENTER(KAON_OF(propagator), propagator, pion);
  if (kaon_is_staggered(propagator)) {
    const int slices = propagator->space->lattice->global[3];
    if (propagator->nrhs != 3 || t0 < 0 || t0 >= slices)
      return kaon_fail(propagator->ctx, KAON_ERR_SHAPE,
                       "correlator: 3 columns of a staggered propagator are needed, one a colour, "
                       "and a source slice from 0 to %d, but the vector has %d and the slice is %d",
                       slices - 1, propagator->nrhs, t0);
    return kaon_staggered_pion(propagator, t0, pion);
  }
  return correlate(propagator, KAON_MESON_PION, t0, pion);
}

kaon_status kaon_correlator_rho(const kaon_vector *propagator, int t0, double *rho) {
  KAON_ENTER(KAON_OF(propagator), propagator, rho);
  return correlate(propagator, KAON_MESON_RHO, t0, rho);
}
