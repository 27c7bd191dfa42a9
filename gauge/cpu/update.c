/* update.c - Cabibbo-Marinari heatbath and over-relaxation of one direction's links on one parity
 * (gauge_ops.h). Those links do not enter each other's staples, so the order is free.
 * Heatbath: N. Cabibbo, E. Marinari, Phys. Lett. B 119 (1982) 387; over-relaxation: S. Adler, Phys.
 * Rev. D 23 (1981) 2901; F. Brown, T. Woch, Phys. Rev. Lett. 58 (1987) 2394. */
#if defined(KAON_PREC_DOUBLE) /* link physics is done in double alone */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/link_paths.h"

#if KAON_VL > 1
#define KAON_DRAW_LANES KAON_VL
#endif
#include "lib/math/su2_heatbath.h"

__attribute__((noinline)) static vsu2 draw_su2(const kaon_update_links_args *a, const int64_t *site,
                                               int subgroup, vreal alpha) {
  real strength[KAON_VL] __attribute__((aligned(64)));
  real x[4][KAON_VL] __attribute__((aligned(64)));
  v_store_real(strength, alpha);
  const kaon_draw draw = {a->seed, a->sweep, a->mu, subgroup, site};
  kaon_heatbath_su2(&draw, strength, x);
  vsu2 result;
  for (int i = 0; i < 4; i++) result.a[i] = v_load_real(x[i]);
  return result;
}

/* g = X v^dag for the SU(2) direction v of w = U staple: X random (heatbath) or v^dag, which keeps
 * tr (over-relaxation). Where the staple vanishes v = 1. */
static vsu2 subgroup_step(const kaon_update_links_args *a, const int64_t *site, const vsu3 *w,
                          const int subgroup, const int i, const int j) {
  vsu2 v = su2_part(w, i, j);
  const vreal norm2 = v.a[0] * v.a[0] + v.a[1] * v.a[1] + v.a[2] * v.a[2] + v.a[3] * v.a[3];
  const vreal norm = v_sqrt(norm2);
  const vreal inverse = v_set(1) / v_max(norm, v_set(1e-100));
  for (int c = 0; c < 4; c++) v.a[c] = v.a[c] * inverse;
  v.a[0] = v.a[0] + (v_set(1) - norm * inverse);
  if (a->kind == KAON_UPDATE_OVERRELAX) {
    const vsu2 x = {{v.a[0], -v.a[1], -v.a[2], -v.a[3]}};
    return su2_mul_dagger(&x, &v);
  }
  const vsu2 x = draw_su2(a, site, subgroup, norm * v_set(a->beta / 3));
  return su2_mul_dagger(&x, &v);
}

static void update_part(const kaon_update_links_args *a, int64_t block, int part) {
  const kaon_links_args *on = &a->on;
  const void *const *links = (const void *const *)on->links;
  const int64_t *site = on->sites + block * KAON_W + part * KAON_VL;
  const vsites x = sites_home(on->stencil, on->parity, block, part);
  vsu3 u, staple, w;
  su3_zero(&staple);
  for (int nu = 0; nu < 4; nu++)
    if (nu != a->mu) path_add_staple(on->stencil, links, &x, a->mu, nu, &staple);
  sites_link(on->stencil, links, &x, a->mu, &u);
  su3_mul(&w, &u, &staple);
  static const int pair[3][2] = {{0, 1}, {1, 2}, {0, 2}};
#pragma GCC unroll 3
  for (int s = 0; s < 3; s++) {
    const vsu2 g = subgroup_step(a, site, &w, s, pair[s][0], pair[s][1]);
    su2_left_multiply(&g, pair[s][0], pair[s][1], &u);
    su2_left_multiply(&g, pair[s][0], pair[s][1], &w);
  }
  su3_project(&u, 0); /* rounding does not add up over sweeps */
  sites_store((real *)on->links[on->parity] + kaon_link_index(block, a->mu, 0, part * KAON_VL,
                                                              on->stencil->nblocks, 18, KAON_W),
              &u);
}

static void update_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) update_part(args, block, part);
}

void KAON_EXPORT(kaon_update_links)(const kaon_launch *launch, const kaon_update_links_args *a) {
  chunks_run(launch, a->on.stencil->nblocks, 0, update_chunk, a);
}

#endif
