/* staggered_gather.c - packs what the neighbours' staggered hops read on this rank into messages,
 * on the CPU (staggered_ops.h). It works through the blocks of the face and stores each lane where
 * the neighbour's site expects it. Half: a forward ghost has the site's integers and scale, a
 * backward one is rounded like a site. */
#include "dslash/cpu/colour.h"
#include "lib/math/recon.h"

/* Ghosts of one direction. */
typedef struct colour_plan {
  const kaon_staggered_gather_args *args;
  const stored *links, *phase; /* of the direction, at the senders' own parity */
  int dir;
} colour_plan;

/* chi = U^dag chi, as in a backward hop (staggered.c). */
KAON_INLINE vcolour multiply(const colour_plan *plan, int64_t block, int part, const int recon,
                             vcolour chi) {
  real decoded[18 * KAON_VL] __attribute__((aligned(64)));
  vcolour product = colour_zero();
  vcomplex u[9];
  recon_decode(plan->links + block * recon * KAON_W + part * KAON_VL, recon, u);
  for (int i = 0; i < 9; i++) {
    v_store_real(decoded + 2 * i * KAON_VL, u[i].re);
    v_store_real(decoded + (2 * i + 1) * KAON_VL, u[i].im);
  }
  if (plan->phase != NULL) {
    const stored *y = plan->phase + block * KAON_W + part * KAON_VL;
    chi = colour_times_i(v_load(y) * v_set(KAON_LINK_UNIT), 1, &chi);
  }
  colour_add_link(decoded, KAON_LINK_BUFFER, 1, &chi, &product);
  return product;
}

/* Stores the lanes of a part of a block at their positions in the message. */
KAON_INLINE void store_lanes(const colour_plan *plan, const int32_t *target, int column,
                             const vcolour *d) {
  const kaon_staggered_gather_args *a = plan->args;
  const int group = a->faces->group[plan->dir & 3];
  const kaon_view to = a->to[plan->dir];
  stored room[KAON_STAGGERED_REALS * KAON_W] __attribute__((aligned(64)));
#if KAON_IS_HALF
  float scale[KAON_W] __attribute__((aligned(64)));
  colour_store((kaon_view){room, scale}, 1, 0, 0, 0, d, 0);
#else
  colour_store((kaon_view){room, NULL}, 1, 0, 0, 0, d, 0);
#endif
  for (int l = 0; l < KAON_VL; l++) {
    if (target[l] < 0) continue;
    stored *p = (stored *)to.data +
                kaon_ghost_index(target[l], column, 0, a->nrhs, KAON_STAGGERED_REALS, group);
    for (int i = 0; i < KAON_STAGGERED_REALS; i++) p[i * group] = room[i * KAON_W + l];
#if KAON_IS_HALF
    to.scale[kaon_ghost_index(target[l], column, 0, a->nrhs, 1, group)] = scale[l];
#endif
  }
}

static void colour_block(const colour_plan *plan, int64_t place) {
  const kaon_staggered_gather_args *a = plan->args;
  const int64_t block = a->faces->sender[a->parity][plan->dir][place];
  const int32_t *target = a->faces->target[a->parity][plan->dir] + place * KAON_W;
  for (int part = 0; part < KAON_PARTS; part++)
    for (int k = 0; k < a->nrhs; k++) {
      if (!kaon_gate_open(&a->gate, k)) continue;
      vcolour chi = colour_load(a->in, a->nrhs, block, part, k);
      if (plan->dir >= 4) {
        if (a->links.recon == 8)
          chi = multiply(plan, block, part, 8, chi);
        else if (a->links.recon == 12)
          chi = multiply(plan, block, part, 12, chi);
        else
          chi = multiply(plan, block, part, 18, chi);
      }
      store_lanes(plan, target + part * KAON_VL, k, &chi);
    }
}

void KAON_EXPORT(kaon_staggered_gather)(const kaon_launch *launch,
                                        const kaon_staggered_gather_args *args) {
  const int64_t blocks = kaon_link_blocks(kaon_matrix_blocks(args->stencil));
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int mu = dir & 3, other = 1 - args->parity, threads = launch->threads;
    const kaon_hop_links *l = &args->links;
    if (!args->faces->partitioned[mu]) continue;
    const colour_plan plan = {
        .args = args,
        .dir = dir,
        .links = (const stored *)l->links[other] + mu * blocks * l->recon * KAON_W,
        .phase = l->phase[other] != NULL ? (const stored *)l->phase[other] + mu * blocks * KAON_W
                                         : NULL};
    const int64_t n = args->faces->senders[args->parity][dir];
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t place = 0; place < n; place++) colour_block(&plan, place);
  }
}
