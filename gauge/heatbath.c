/* heatbath.c - quenched updates of the Wilson gauge action: over-relaxation and Cabibbo-Marinari
 * heatbath sweeps, parity by parity and direction by direction. Random numbers are functions of
 * (seed, sweep, site, mu), so neither threads nor site order matter. */
#include <kaon/context.h>

#include "gauge/gauge_internal.h"
#include "lib/core/threads.h"
#include "lib/core/entry.h"

static kaon_status check(const kaon_gauge *gauge, const kaon_heatbath_options *options, int sweeps,
                         kaon_heatbath_options *own) {
  const kaon_argument more = kaon_whole("sweeps", sweeps);
  KAON_TRY(kaon_options_share(gauge->ctx, KAON_OK, KAON_OPTIONS_HEATBATH, options, own, &more, 1));
  if (sweeps < 0)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                     "heatbath: %d sweeps were asked for, but the number must be at least 0",
                     sweeps);
  if (own->sweep > UINT32_MAX - (uint64_t)sweeps)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                     "heatbath: sweep numbers %llu to %llu reach beyond %llu, where random numbers "
                     "would repeat; take another seed",
                     (unsigned long long)own->sweep,
                     (unsigned long long)(own->sweep + (uint64_t)sweeps),
                     (unsigned long long)UINT32_MAX);
  return KAON_OK;
}

/* Updates links and sends those that neighbours read at once. */
static kaon_status sweep_links(const kaon_gauge_ops *ops, const kaon_launch *launch,
                               const kaon_wide_links *wide, const kaon_site_table *table,
                               kaon_update_links_args *args) {
  for (int parity = 0; parity < 2; parity++)
    for (args->mu = 0; args->mu < 4; args->mu++) {
      args->on = kaon_links_on(wide, parity, table, NULL);
      ops->update(launch, args);
      KAON_TRY(kaon_wide_ghosts_of(wide, parity, args->mu));
    }
  return KAON_OK;
}

static kaon_status run(const kaon_wide_links *wide, const kaon_site_table *table,
                       const kaon_heatbath_options *options, int sweeps) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_TRY(kaon_gauge_kernels(wide->lattice->ctx, &ops));
  KAON_TRY(kaon_wide_ghosts(wide, kaon_launch_prepare(wide->lattice->ctx, 1, 0, &launch)));
  kaon_update_links_args args = {.beta = options->beta, .seed = options->seed};
  for (int i = 0; i < sweeps; i++) {
    args.sweep = (uint32_t)(options->sweep + (uint64_t)i);
    args.kind = KAON_UPDATE_OVERRELAX;
    for (int over = 0; over < options->overrelaxation; over++)
      KAON_TRY(sweep_links(ops, &launch, wide, table, &args));
    args.kind = KAON_UPDATE_HEATBATH;
    KAON_TRY(sweep_links(ops, &launch, wide, table, &args));
  }
  return KAON_OK;
}

static kaon_status update(kaon_gauge *gauge, const kaon_heatbath_options *options, int sweeps) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_AUTO(kaon_site_table_release) kaon_site_table table = {0};
  KAON_TRY(kaon_wide_open(gauge, 0, &wide));
  KAON_TRY(kaon_agree(gauge->ctx, kaon_site_table_create(gauge->lattice, &table)));
  KAON_TRY(run(&wide, &table, options, sweeps));
  return kaon_wide_commit(gauge, &wide, 0, "heatbath");
}

kaon_status kaon_gauge_heatbath(kaon_gauge *gauge, const kaon_heatbath_options *options,
                                int sweeps) {
  KAON_ENTER(KAON_OF(gauge), gauge, options);
  kaon_heatbath_options own;
  KAON_TRY(check(gauge, options, sweeps, &own));
  KAON_RETURN_UNTRAPPED(gauge->ctx, update(gauge, &own, sweeps));
}
