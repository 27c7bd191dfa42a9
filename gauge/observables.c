/* observables.c - plaquette, link trace, Polyakov loop, topological charge, distance from SU(3).
 * All sums are taken in double over fixed chunks, so they do not depend on the number of
 * threads. */
#include "gauge/temporal.h"
#include "lib/core/threads.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

static kaon_status charge(const kaon_wide_links *wide, double *sum) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  kaon_results room;
  KAON_TRY(kaon_gauge_kernels(wide->lattice->ctx, &ops));
  KAON_TRY(kaon_launch_prepare(wide->lattice->ctx, 1, 0, &launch));
  kaon_status status = kaon_wide_ghosts(wide, kaon_results_create(wide->lattice->ctx, &room));
  *sum = 0;
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++) {
    double part = 0;
    const kaon_links_args args = kaon_links_on(wide, parity, NULL, room.device);
    ops->charge(&launch, &args);
    status = kaon_results_read(&room, KAON_CHARGE_RESULTS, &part);
    *sum += part;
  }
  kaon_results_release(&room);
  KAON_TRY(kaon_agree(wide->lattice->ctx, status));
  return kaon_comm_sum(wide->lattice->ctx, sum, 1);
}

static kaon_status polyakov(const kaon_wide_links *wide, double mean[2]) {
  kaon_transporter lines;
  double sum[2];
  kaon_status status = kaon_transporter_create(wide, &lines);
  if (status == KAON_OK) status = kaon_transporter_trace(&lines, wide, sum);
  kaon_transporter_release(&lines);
  const double slice = (double)wide->lattice->global_volume / wide->lattice->global[3];
  mean[0] = sum[0] / (3 * slice);
  mean[1] = sum[1] / (3 * slice);
  return status;
}

static kaon_status measure_wide(const kaon_wide_links *wide, kaon_observables *o) {
  double mean[KAON_PLAQUETTE_MEANS], deviation[KAON_INSPECT_RESULTS];
  KAON_TRY(kaon_wide_plaquette(wide, mean));
  o->plaquette_space = mean[0];
  o->plaquette_time = mean[1];
  o->plaquette = (mean[0] + mean[1]) / 2;
  o->link_trace = mean[2];
  KAON_TRY(polyakov(wide, o->polyakov));
  KAON_TRY(charge(wide, &o->charge));
  KAON_TRY(kaon_wide_inspect(wide, deviation));
  o->unitarity = deviation[0];
  return KAON_OK;
}

static kaon_status measure(const kaon_gauge *gauge, kaon_observables *observables) {
  kaon_wide_links wide;
  kaon_observables made = {0};
  KAON_TRY(kaon_wide_open(gauge, 0, &wide));
  const kaon_status status = measure_wide(&wide, &made);
  kaon_wide_close(&wide);
  kaon_output_fill(observables, &made, sizeof made);
  return status;
}

kaon_status kaon_gauge_measure(const kaon_gauge *gauge, kaon_observables *observables) {
  KAON_ENTER(KAON_OF(gauge), gauge, observables);
  KAON_TRY(kaon_output_check(gauge->ctx, "kaon_observables", observables));
  KAON_RETURN_UNTRAPPED(gauge->ctx, measure(gauge, observables));
}
