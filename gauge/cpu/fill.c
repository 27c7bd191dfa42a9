/* fill.c - unit, random and weak links, and the projection to SU(3), on the CPU (gauge_ops.h). */
#if defined(KAON_PREC_DOUBLE) /* link physics exists only in double */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/link_fill.h"

static void random_links(const kaon_fill_links_args *a, const int64_t *site, int mu, vsu3 *u) {
  real lanes[12][KAON_VL] __attribute__((aligned(64)));
  vreal given[12];
  for (int l = 0; l < KAON_VL; l++) {
    double rows[12] = {0};
    if (site[l] >= 0) kaon_draw_rows(a->kind == KAON_FILL_WEAK, a->eps, a->seed, site[l], mu, rows);
    for (int i = 0; i < 12; i++) lanes[i][l] = (real)rows[i];
  }
  for (int i = 0; i < 12; i++) given[i] = v_load_real(lanes[i]);
  link_from_rows(given, u);
}

static void unit_links(const int64_t *site, vsu3 *u) {
  real lanes[KAON_VL] __attribute__((aligned(64)));
  for (int l = 0; l < KAON_VL; l++) lanes[l] = site[l] >= 0 ? 1 : 0;
  su3_zero(u);
  for (int i = 0; i < 3; i++) u->e[i][i].re = v_load_real(lanes);
}

static void fill_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_fill_links_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int mu = 0; mu < 4; mu++)
      for (int part = 0; part < KAON_PARTS; part++) {
        const int64_t *site = a->on.sites + block * KAON_W + part * KAON_VL;
        vsu3 u;
        if (a->kind == KAON_FILL_UNIT)
          unit_links(site, &u);
        else
          random_links(a, site, mu, &u);
        sites_store((real *)a->on.links[a->on.parity] +
                        kaon_link_index(block, mu, 0, part * KAON_VL,
                                        kaon_matrix_blocks(a->on.stencil), 18, KAON_W),
                    &u);
      }
}

void KAON_EXPORT(kaon_links_fill)(const kaon_launch *launch, const kaon_fill_links_args *a) {
  chunks_run(launch, a->on.stencil->nblocks, 0, fill_chunk, a);
}

static void project_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_links_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = sites_local(a->stencil, a->parity, block, part);
      for (int mu = 0; mu < 4; mu++) {
        vsu3 u;
        sites_link(a->stencil, (const void *const *)a->links, &x, mu, &u);
        su3_project(&u, 0);
        sites_store((real *)a->links[a->parity] + kaon_link_index(block, mu, 0, part * KAON_VL,
                                                                  kaon_matrix_blocks(a->stencil),
                                                                  18, KAON_W),
                    &u);
      }
    }
}

void KAON_EXPORT(kaon_links_project)(const kaon_launch *launch, const kaon_links_args *a) {
  chunks_run(launch, a->stencil->nblocks, 0, project_chunk, a);
}

#endif
