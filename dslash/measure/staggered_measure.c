/* staggered_measure.c - sources and the Goldstone pion of staggered vectors (kaon/measure.h,
 * kaon/staggered.h). Columns pass through host memory, since this is done once for each solve.
 * Noise depends only on seed, column and site; its random numbers are those of
 * dslash/measure/source.h. */
#include <stdlib.h>

#include "dslash/measure/source.h"
#include "dslash/measure/staggered_measure.h"
#include "lib/grid/site_table.h"
#include "lib/core/entry.h"

int kaon_is_staggered(const kaon_vector *v) {
  const kaon_lattice *lattice = v->space->lattice;
  return lattice != NULL && v->space == &lattice->staggered[KAON_FULL];
}

/* A staggered site takes the values of a spinor's first spin. Column k of a unit source has colour
 * k mod 3. */
static void source_site(const kaon_source_args *a, int corners, const int x[4], int64_t number,
                        int column, double chi[6]) {
  double psi[24];
  for (int i = 0; i < 6; i++) chi[i] = 0;
  if (a->kind == KAON_FILL_ONE) {
    const int corner = x[0] % 2 == 0 && x[1] % 2 == 0 && x[2] % 2 == 0;
    if (number >= a->first && number < a->end && (!corners || corner)) chi[2 * (column % 3)] = 1;
    return;
  }
  kaon_source_site(a, number, column, psi);
  for (int i = 0; i < 6; i++) chi[i] = psi[i];
}

kaon_status kaon_staggered_fill(kaon_vector *source, const kaon_source_args *args, int corners) {
  const kaon_lattice *lattice = source->space->lattice;
  KAON_AUTOFREE double *host = malloc((size_t)lattice->volume * 6 * sizeof *host);
  kaon_status status =
      KAON_CHECK_MEMORY(source->ctx, host != NULL, "source: out of host memory for a column");
  for (int column = 0; column < source->nrhs && status == KAON_OK; column++) {
#pragma omp parallel for num_threads(source->ctx->threads) schedule(static)
    for (int64_t i = 0; i < lattice->volume; i++) {
      int x[4];
      kaon_site_coordinates(lattice->extents, i, x);
      for (int mu = 0; mu < 4; mu++) x[mu] += lattice->origin[mu];
      source_site(args, corners, x, kaon_site_index(lattice->global, x), column, host + 6 * i);
    }
    status = kaon_vector_import(source, column, host, KAON_BASIS_UKQCD);
  }
  return kaon_agree(source->ctx, status);
}

kaon_status kaon_source_corner(kaon_vector *source, int t) {
  KAON_ENTER(KAON_OF(source), source);
  if (!kaon_is_staggered(source))
    return kaon_fail(source->ctx, KAON_ERR_SHAPE,
                     "source: a corner wall is one of staggered vectors on all sites; create it on "
                     "kaon_lattice_staggered(lattice, KAON_FULL)");
  const kaon_lattice *lattice = source->space->lattice;
  if (t < 0 || t >= lattice->global[3])
    return kaon_fail(source->ctx, KAON_ERR_ARGUMENT,
                     "source: corner wall at t = %d, but the lattice has slices 0 to %d", t,
                     lattice->global[3] - 1);
  const int64_t slice = lattice->global_volume / lattice->global[3];
  const kaon_source_args args = {.kind = KAON_FILL_ONE, .first = slice * t, .end = slice * (t + 1)};
  return kaon_staggered_fill(source, &args, 1);
}

kaon_status kaon_staggered_pion(const kaon_vector *propagator, int t0, double *pion) {
  const kaon_lattice *lattice = propagator->space->lattice;
  const int nt = lattice->global[3];
  const size_t slice = (size_t)(lattice->volume / lattice->extents[3]) * 6;
  double *host = malloc((size_t)lattice->volume * 6 * sizeof *host);
  kaon_status status = KAON_CHECK_MEMORY(propagator->ctx, host != NULL,
                                         "correlator: out of host memory for a column");
  for (int t = 0; t < nt; t++) pion[t] = 0;
  for (int column = 0; column < propagator->nrhs && status == KAON_OK; column++) {
    status = kaon_vector_export(propagator, column, host, KAON_BASIS_UKQCD);
    for (int t = 0; t < lattice->extents[3] && status == KAON_OK; t++) {
      double sum = 0;
      for (size_t i = (size_t)t * slice; i < (size_t)(t + 1) * slice; i++) sum += host[i] * host[i];
      pion[(t + lattice->origin[3] - t0 + nt) % nt] += sum;
    }
  }
  free(host);
  KAON_TRY(kaon_agree(propagator->ctx, status));
  return kaon_comm_sum(propagator->ctx, pion, nt);
}
