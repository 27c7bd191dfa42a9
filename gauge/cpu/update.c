/* update.c - heatbath and over-relaxation of the links of one direction and parity, on the CPU
 * (gauge_ops.h, lib/math/link_update.h). These links do not occur in each other's staples, so any
 * order is correct. */
#if defined(KAON_PREC_DOUBLE) /* link physics exists only in double */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/link_paths.h"
#include "lib/math/link_update.h"

static void update_part(const kaon_update_links_args *a, int64_t block, int part) {
  const kaon_links_args *on = &a->on;
  const void *const *links = (const void *const *)on->links;
  const int64_t *site = on->sites + block * KAON_W + part * KAON_VL;
  const vsites x = sites_local(on->stencil, on->parity, block, part);
  const link_update how = {.overrelax = a->kind == KAON_UPDATE_OVERRELAX,
                           .beta = a->beta,
                           .draw = {.seed = a->seed, .sweep = a->sweep, .mu = a->mu, .site = site}};
  vsu3 u, staple;
  su3_zero(&staple);
  for (int nu = 0; nu < 4; nu++)
    if (nu != a->mu) path_add_staple(on->stencil, links, &x, a->mu, nu, 1, &staple);
  sites_link(on->stencil, links, &x, a->mu, &u);
  link_next(&how, &staple, &u);
  sites_store(
      (real *)on->links[on->parity] + kaon_link_index(block, a->mu, 0, part * KAON_VL,
                                                      kaon_matrix_blocks(on->stencil), 18, KAON_W),
      &u);
}

static void update_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) update_part(args, block, part);
}

void KAON_EXPORT(kaon_links_update)(const kaon_launch *launch, const kaon_update_links_args *a) {
  chunks_run(launch, a->on.stencil->nblocks, 0, update_chunk, a);
}

#endif
