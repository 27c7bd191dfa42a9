/* transform.c - transport along t and gauge transformations of links on the CPU (gauge_ops.h). */
#if defined(KAON_PREC_DOUBLE) /* link physics exists only in double */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"

/* g(x) = g(x - t) U_t(x - t) in the lanes that lie on slice t. Other lanes stay unchanged. */
static void transport_part(const kaon_transport_args *a, int64_t block, int part) {
  const kaon_links_args *on = &a->on;
  const int64_t *site = on->sites + block * KAON_W + part * KAON_VL;
  const int64_t begin = a->slice * a->t, end = begin + a->slice;
  int any = 0;
  for (int l = 0; l < KAON_VL; l++) any |= site[l] >= begin && site[l] < end;
  if (!any) return;
  vsu3 product;
  su3_unit(&product);
  if (a->t > 0) {
    const vsites x = sites_local(on->stencil, on->parity, block, part);
    const vsites back = sites_step(on->stencil, &x, 7);
    vsu3 g, u;
    sites_matrix(on->stencil, (const void *const *)a->g, &back, &g);
    sites_link(on->stencil, (const void *const *)on->links, &back, 3, &u);
    su3_mul(&product, &g, &u);
  }
  real *to =
      (real *)a->g[on->parity] + kaon_field_index(block, 0, 0, part * KAON_VL, 1, 18, KAON_W);
  for (int i = 0; i < 18; i++) {
    real lanes[KAON_VL] __attribute__((aligned(64)));
    v_store_real(lanes, ((const vreal *)&product)[i]);
    for (int l = 0; l < KAON_VL; l++)
      if (site[l] >= begin && site[l] < end) to[i * KAON_W + l] = lanes[l];
  }
}

static void transport_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) transport_part(args, block, part);
}

void KAON_EXPORT(kaon_links_transport)(const kaon_launch *launch, const kaon_transport_args *a) {
  chunks_run(launch, a->on.stencil->nblocks, 0, transport_chunk, a);
}

/* Sets the lanes with site index below `limit` to exactly 1. */
static void set_unit_below(const int64_t *site, int64_t limit, vsu3 *u) {
  vreal *values = (vreal *)u;
  for (int i = 0; i < 18; i++) {
    real lanes[KAON_VL] __attribute__((aligned(64)));
    v_store_real(lanes, values[i]);
    for (int l = 0; l < KAON_VL; l++)
      if (site[l] >= 0 && site[l] < limit) lanes[l] = i == 0 || i == 8 || i == 16;
    values[i] = v_load_real(lanes);
  }
}

static void transform_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_transform_args *a = args;
  const kaon_links_args *on = &a->on;
  const void *const *fields = a->g;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = sites_local(on->stencil, on->parity, block, part);
      vsu3 here, there, u, gu;
      sites_matrix(on->stencil, fields, &x, &here);
      for (int mu = 0; mu < 4; mu++) {
        const vsites forward = sites_step(on->stencil, &x, mu);
        sites_matrix(on->stencil, fields, &forward, &there);
        sites_link(on->stencil, (const void *const *)on->links, &x, mu, &u);
        su3_mul(&gu, &here, &u);
        su3_mul_dagger(&u, &gu, &there);
        if (mu == 3 && a->unit_below > 0)
          set_unit_below(on->sites + block * KAON_W + part * KAON_VL, a->unit_below, &u);
        sites_store((real *)a->to + kaon_link_index(block, mu, 0, part * KAON_VL,
                                                    kaon_matrix_blocks(on->stencil), 18, KAON_W),
                    &u);
      }
    }
}

void KAON_EXPORT(kaon_links_transform)(const kaon_launch *launch, const kaon_transform_args *a) {
  chunks_run(launch, a->on.stencil->nblocks, 0, transform_chunk, a);
}

#endif
