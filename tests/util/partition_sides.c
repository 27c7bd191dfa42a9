/* partition_sides.c - the two sides and their operators. Contract: partition.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "tests/util/partition.h"

static void open_side(partition_side *s, kaon_context *ctx, const int extents[4], int mask,
                      kaon_boundary boundary) {
  *s = (partition_side){.ctx = ctx};
  for (int mu = 0; mu < 4; mu++) ctx->comm->partitioned[mu] = mask >> mu & 1;
  must(ctx, kaon_lattice_create(ctx, extents, boundary, &s->lattice));
  must(ctx, kaon_gauge_create(s->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &s->gauge));
  must(ctx, kaon_gauge_random(s->gauge, 20260));
}

void partition_open(partition_pair *pair, kaon_context *whole, kaon_context *part,
                    const int extents[4], int mask, kaon_boundary boundary) {
  open_side(&pair->whole, whole, extents, 0, boundary);
  open_side(&pair->part, part, extents, mask, boundary);
  const kaon_lattice *l = pair->part.lattice;
  char cuts[5] = "";
  for (int mu = 0; mu < 4; mu++)
    if (l->partitioned[mu]) cuts[strlen(cuts)] = "xyzt"[mu];
  snprintf(pair->name, sizeof pair->name, "%s %dx%dx%dx%d [%s] on %dx%dx%dx%d",
           part->backend->isa[0] != '\0' ? part->backend->isa : part->backend->name, extents[0],
           extents[1], extents[2], extents[3], cuts, l->grid[0], l->grid[1], l->grid[2],
           l->grid[3]);
}

static void close_side(partition_side *s) {
  kaon_operator_destroy(&s->M);
  kaon_gauge_destroy(&s->gauge);
  kaon_lattice_destroy(&s->lattice);
  kaon_context_destroy(&s->ctx);
}

void partition_close(partition_pair *pair) {
  close_side(&pair->whole);
  close_side(&pair->part);
}

void partition_dirac(partition_pair *pair, const kaon_dirac_options *options) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  for (int i = 0; i < 2; i++) {
    kaon_operator_destroy(&sides[i]->M);
    must(sides[i]->ctx, kaon_dirac_create(sides[i]->gauge, options, &sides[i]->M));
  }
}

void partition_action(partition_pair *pair, partition_actions action, kaon_precision precision) {
  partition_side *sides[2] = {&pair->whole, &pair->part};
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_domain_wall_options walls = KAON_DOMAIN_WALL_OPTIONS_INIT;
  options.precision = walls.precision = precision;
  options.kappa = 0.11;
  options.csw = action != PARTITION_TWISTED ? 1.1 : 0;
  options.mu = action != PARTITION_CLOVER ? 0.3 : 0;
  walls.ls = 3;
  if (action != PARTITION_DOMAIN_WALL) {
    partition_dirac(pair, &options);
    return;
  }
  for (int i = 0; i < 2; i++) {
    kaon_operator_destroy(&sides[i]->M);
    must(sides[i]->ctx, kaon_domain_wall_create(sides[i]->gauge, &walls, &sides[i]->M));
  }
}

int partition_same_order(const partition_side *whole) {
  enum { MOST = 3, ENTRIES = 3 * 3 * MOST };
  static const int links[3] = {18, 12, 8};
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  kaon_tuning_entry entries[ENTRIES];
  if (whole->ctx->backend->host_accessible) return 0;
  must(whole->ctx, kaon_context_query(whole->ctx, &info));
  for (int i = 0; i < ENTRIES; i++)
    entries[i] = (kaon_tuning_entry){.kernel = KAON_TUNED_HOP,
                                     .precision = (kaon_precision)(i % 3),
                                     .reconstruct = links[i / 3 % 3],
                                     .columns = 1 + i / 9,
                                     .sites = kaon_lattice_volume(whole->lattice),
                                     .threads = 64};
  const kaon_tuning tuning = {kaon_version(), info.backend, info.device,
                              info.isa,       ENTRIES,      entries};
  must(whole->ctx, kaon_context_set_tuning(whole->ctx, &tuning));
  return 1;
}
