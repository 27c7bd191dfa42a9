/* gather.c - packs what the neighbours' hops read on this rank into messages, on the CPU
 * (dslash_ops.h). It works through the blocks of the face and stores each lane where the
 * neighbour's site expects it. Half: a ghost is quantised like a site, with its own scale. */
#include "dslash/cpu/kernels.h"
#include "dslash/cpu/site.h"
#include "lib/math/recon.h"

/* Ghosts of one direction. */
typedef struct gather_plan {
  const kaon_gather_args *args;
  site_plan site;
  const kaon_faces *faces;
  int dir;
  real factor, rest; /* of backward hops in t, else 1; its relative rounding error */
} gather_plan;

KAON_INLINE void gather_scale(const gather_plan *plan, vreal f, vhalf *h) {
  const vreal rest = f * v_set(plan->rest);
  for (int i = 0; i < 2; i++)
    for (int c = 0; c < 3; c++)
      h->s[i][c] = plan->rest == 0 ? c_scale(h->s[i][c], f) : c_scale_split(h->s[i][c], f, rest);
}

/* Decodes a link to a whole matrix. */
KAON_INLINE void gather_decode(const stored *link, const int recon, real *decoded) {
  vcomplex u[9];
  recon_decode(link, recon, u);
  for (int i = 0; i < 9; i++) {
    v_store_real(decoded + 2 * i * KAON_VL, u[i].re);
    v_store_real(decoded + (2 * i + 1) * KAON_VL, u[i].im);
  }
}

/* h = U_mu^dag h */
static void gather_multiply(const gather_plan *plan, int64_t block, int part, vhalf *h) {
  const kaon_gather_args *a = plan->args;
  const int64_t at = kaon_link_index(block, plan->dir & 3, 0, part * KAON_VL,
                                     kaon_matrix_blocks(a->stencil), a->recon, KAON_W);
  const stored *link = (const stored *)a->links[1 - a->parity] + at;
  const vhalf in = *h;
  real decoded[18 * KAON_VL] __attribute__((aligned(64)));
  if (a->recon == 18)
    gather_decode(link, 18, decoded);
  else if (a->recon == 12)
    gather_decode(link, 12, decoded);
  else
    gather_decode(link, 8, decoded);
  for (int c = 0; c < 3; c++) {
    const vpair g = link_times_half(decoded, KAON_LINK_BUFFER, 1, c, &in);
    h->s[0][c] = g.s[0];
    h->s[1][c] = g.s[1];
  }
}

/* Stores the lanes of a part of a block at their positions in the message. */
static void gather_store(const gather_plan *plan, const int32_t *target, int column,
                         const vhalf *h) {
  const kaon_gather_args *a = plan->args;
  const int group = plan->faces->group[plan->dir & 3];
  const kaon_view to = a->to[plan->dir];
  const vreal *values = (const vreal *)h;
  real room[KAON_GHOST_REALS][KAON_VL] __attribute__((aligned(64)));
#if KAON_IS_HALF
  real scale[KAON_VL] __attribute__((aligned(64)));
  vreal largest = v_set(0);
  for (int i = 0; i < KAON_GHOST_REALS; i++) largest = quantise_largest(largest, values[i]);
  const vreal factor = v_set(KAON_HALF_MAX) / v_max(largest, v_set(KAON_HALF_TINY));
  v_store_real(scale, largest);
  for (int i = 0; i < KAON_GHOST_REALS; i++) {
    int16_t rounded[KAON_W] __attribute__((aligned(64)));
    v_store_int16(rounded, values[i] * factor);
    for (int l = 0; l < KAON_VL; l++) room[i][l] = rounded[l];
  }
#else
  for (int i = 0; i < KAON_GHOST_REALS; i++) v_store_real(room[i], values[i]);
#endif
  for (int l = 0; l < KAON_VL; l++) {
    if (target[l] < 0) continue;
    stored *p = (stored *)to.data +
                kaon_ghost_index(target[l], column, 0, a->nrhs, KAON_GHOST_REALS, group);
    for (int i = 0; i < KAON_GHOST_REALS; i++) p[i * group] = (stored)room[i][l];
#if KAON_IS_HALF
    to.scale[kaon_ghost_index(target[l], column, 0, a->nrhs, 1, group)] = scale[l];
#endif
  }
}

/* Projects with the direction's projector, which is known at compile time. All other code is shared
 * by all directions. */
static void gather_project(const gather_plan *plan, const stored *psi, vhalf *h) {
  const stored *upper = psi + plan->site.upper, *lower = psi + plan->site.lower;
#define PROJECT(dir) spin_project((dir)&3, (dir) < 4 ? 1 : -1, upper, lower, h)
  switch (plan->dir) {
    case 0:
      PROJECT(0);
      break;
    case 1:
      PROJECT(1);
      break;
    case 2:
      PROJECT(2);
      break;
    case 3:
      PROJECT(3);
      break;
    case 4:
      PROJECT(4);
      break;
    case 5:
      PROJECT(5);
      break;
    case 6:
      PROJECT(6);
      break;
    default:
      PROJECT(7);
      break;
  }
#undef PROJECT
}

static void gather_block(const gather_plan *plan, int64_t place) {
  const kaon_gather_args *a = plan->args;
  const int dir = plan->dir;
  const int64_t block = plan->faces->sender[a->parity][dir][place];
  const int32_t *target = plan->faces->target[a->parity][dir] + place * KAON_W;
  for (int part = 0; part < KAON_PARTS; part++)
    for (int k = 0; k < a->nrhs; k++) {
      if (!kaon_inner_gate_open(&a->gate, k)) continue;
      const stored *psi = (const stored *)a->in.data + site_spinor(&plan->site, block, part, k);
      vreal f = v_set(plan->factor);
      vhalf h;
      gather_project(plan, psi, &h);
#if KAON_IS_HALF
      f = f * site_unit(&plan->site, a->in.scale, block, part, k);
#endif
      if (KAON_IS_HALF || dir == 7) gather_scale(plan, f, &h);
      if (dir >= 4) gather_multiply(plan, block, part, &h); /* forward hops need no link */
      gather_store(plan, target + part * KAON_VL, k, &h);
    }
}

static void gather_blocks(const gather_plan *plan, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) gather_block(plan, i);
}

void KAON_EXPORT(kaon_dslash_gather)(const kaon_launch *launch, const kaon_gather_args *args) {
  const kaon_sum none = {.slot = {KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT}};
  gather_plan plan = {.args = args, .faces = args->stencil->faces};
  plan.site = site_plan_make(launch, args->stencil, args->parity, args->nrhs, args->in, &none);
  if (args->dagger) {
    plan.site.upper = 12 * KAON_W;
    plan.site.lower = 0;
  }
  for (plan.dir = 0; plan.dir < KAON_DIRS; plan.dir++) {
    const int mu = plan.dir & 3, threads = launch->threads;
    if (!plan.faces->partitioned[mu]) continue;
    const double f = plan.dir == 7 ? 2 * args->coefficient[3] / args->coefficient[0] : 1;
    plan.factor = (real)(f * (double)(plan.dir < 4 ? 1 : plan.faces->sign[plan.dir]));
    plan.rest = (real)((f - (double)(real)f) / f);
    const int64_t n = plan.faces->senders[args->parity][plan.dir];
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) gather_blocks(&plan, n * t / threads, n * (t + 1) / threads);
  }
}
