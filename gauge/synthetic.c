/* synthetic.c - unit, random and weak link fields. The links depend only on the seed, the site and
 * mu. */
#include <math.h>

#include "gauge/gauge_internal.h"
#include "lib/core/threads.h"
#include "lib/core/entry.h"

static kaon_status run(kaon_wide_links *wide, const kaon_site_table *table, int kind, double eps,
                       uint64_t seed) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_TRY(kaon_gauge_kernels(wide->lattice->ctx, &ops));
  KAON_TRY(kaon_launch_prepare(wide->lattice->ctx, 1, 0, &launch));
  for (int parity = 0; parity < 2; parity++) {
    const kaon_fill_links_args args = {
        .on = kaon_links_on(wide, parity, table, NULL), .kind = kind, .eps = eps, .seed = seed};
    ops->fill(&launch, &args);
  }
  return KAON_OK;
}

static kaon_status fill_links(kaon_gauge *gauge, int kind, double eps, uint64_t seed,
                              const char *what) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_AUTO(kaon_site_table_release) kaon_site_table table = {0};
  KAON_TRY(kaon_wide_open(gauge, 1, &wide));
  kaon_replaced(gauge->revision, KAON_LINKS, NULL);
  kaon_status status = kaon_site_table_create(gauge->lattice, &table);
  if (status == KAON_OK) status = run(&wide, &table, kind, eps, seed);
  KAON_TRY(kaon_agree(gauge->ctx, status));
  return kaon_wide_commit(gauge, &wide, 0, what);
}

static kaon_status fill(kaon_gauge *gauge, int kind, double eps, uint64_t seed, const char *what) {
  const kaon_argument given[] = {kaon_real("eps", eps), kaon_seed("seed", seed)};
  KAON_TRY(kaon_same(gauge->ctx, KAON_OK, what, given, 2));
  KAON_RETURN_UNTRAPPED(gauge->ctx, fill_links(gauge, kind, eps, seed, what));
}

kaon_status kaon_gauge_unit(kaon_gauge *gauge) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  return fill(gauge, KAON_FILL_UNIT, 0, 0, "gauge: unit");
}

kaon_status kaon_gauge_random(kaon_gauge *gauge, uint64_t seed) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  return fill(gauge, KAON_FILL_RANDOM, 0, seed, "gauge: random");
}

kaon_status kaon_gauge_weak(kaon_gauge *gauge, double eps, uint64_t seed) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  if (!isfinite(eps) || fabs(eps) > 1e6)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                     "gauge: weak: eps is %g, but a number between -1e6 and 1e6 is needed", eps);
  return fill(gauge, KAON_FILL_WEAK, eps, seed, "gauge: weak");
}
