/* sources.c - point, wall and noise sources (kaon/measure.h). Noise depends only on seed, column
 * and site. */
#include <kaon/measure.h>

#include "dslash/measure/measure_ops.h"
#include "dslash/measure/staggered_measure.h"
#include "lib/grid/site_table.h"
#include "lib/core/entry.h"

static kaon_status check(const kaon_vector *source) {
  const kaon_space *space = source->space;
  if (kaon_is_staggered(source)) return KAON_OK;
  if (space->lattice == NULL || space != kaon_lattice_spinors(space->lattice, KAON_FULL))
    return kaon_fail(
        source->ctx, KAON_ERR_SHAPE,
        "source: a vector of full-lattice spinors is needed, or a staggered one; create "
        "it on kaon_lattice_spinors(lattice, KAON_FULL), or _staggered");
  const kaon_backend *backend = source->ctx->backend;
  if (backend->measure[source->precision] == NULL)
    return kaon_fail(source->ctx, KAON_ERR_NOT_BUILT, "source: backend %s has no sources",
                     backend->name);
  return KAON_OK;
}

static kaon_status fill(kaon_vector *source, kaon_source_args args) {
  const kaon_argument given[] = {kaon_seed("seed", args.seed), kaon_whole("kind", args.kind),
                                 kaon_whole("first site", args.first),
                                 kaon_whole("end of sites", args.end)};
  KAON_AUTO(kaon_site_table_release) kaon_site_table table = {0};
  kaon_launch launch;
  KAON_TRY(kaon_same(source->ctx, KAON_OK, "source", given, 4));
  if (kaon_is_staggered(source)) return kaon_staggered_fill(source, &args, 0);
  kaon_status status = kaon_site_table_create(source->space->lattice, &table);
  if (status == KAON_OK) status = kaon_launch_prepare(source->ctx, source->nrhs, 0, &launch);
  if (status == KAON_OK) {
    args.nblocks = source->space->nblocks;
    args.nrhs = source->nrhs;
    args.stencil = &source->space->lattice->stencil;
    args.sites = table.sites[0]; /* odd sites follow the even ones, as in the vector */
    args.out = kaon_view_of(source);
    source->ctx->backend->measure[source->precision]->source(&launch, &args);
  }
  return kaon_agree(source->ctx, status);
}

kaon_status kaon_source_point(kaon_vector *source, const int site[4]) {
  KAON_ENTER(KAON_OF(source), source, site);
  KAON_TRY(check(source));
  const int *extents = source->space->lattice->global;
  for (int mu = 0; mu < 4; mu++)
    if (site[mu] < 0 || site[mu] >= extents[mu])
      return kaon_fail(source->ctx, KAON_ERR_ARGUMENT,
                       "source: point (%d, %d, %d, %d) is outside the %d x %d x %d x %d lattice",
                       site[0], site[1], site[2], site[3], extents[0], extents[1], extents[2],
                       extents[3]);
  const int64_t number = kaon_site_index(extents, site);
  return fill(source,
              (kaon_source_args){.kind = KAON_FILL_ONE, .first = number, .end = number + 1});
}

kaon_status kaon_source_wall(kaon_vector *source, int t) {
  KAON_ENTER(KAON_OF(source), source);
  KAON_TRY(check(source));
  const kaon_lattice *lattice = source->space->lattice;
  if (t < 0 || t >= lattice->global[3])
    return kaon_fail(source->ctx, KAON_ERR_ARGUMENT,
                     "source: wall at t = %d, but the lattice has slices 0 to %d", t,
                     lattice->global[3] - 1);
  const int64_t slice = lattice->global_volume / lattice->global[3];
  return fill(source, (kaon_source_args){
                          .kind = KAON_FILL_ONE, .first = slice * t, .end = slice * (t + 1)});
}

kaon_status kaon_source_z4(kaon_vector *source, uint64_t seed) {
  KAON_ENTER(KAON_OF(source), source);
  KAON_TRY(check(source));
  return fill(source, (kaon_source_args){.kind = KAON_FILL_Z4, .seed = seed});
}

kaon_status kaon_source_gauss(kaon_vector *source, uint64_t seed) {
  KAON_ENTER(KAON_OF(source), source);
  KAON_TRY(check(source));
  return fill(source, (kaon_source_args){.kind = KAON_FILL_GAUSS, .seed = seed});
}
