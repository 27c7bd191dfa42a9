/* clover.c - clover blocks from links, and their inverse, on the CPU (gauge_ops.h).
 * In the chiral basis of docs/conventions.md sigma_{ij} = -eps_{ijk} sigma_k and sigma_{k4} = +-
 * sigma_k, so a block is 1 - c sum_k sigma_k G_k, G = B +- E, B = (-F_yz, F_xz, -F_xy), E = (F_xt,
 * F_yt, F_zt): [[1 - c G_3, h.c.], [-c (G_1 + i G_2), 1 + c G_3]]. */
#if defined(KAON_PREC_DOUBLE) /* link physics is done in double alone */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/clover_block.h"
#include "lib/math/link_paths.h"

/* b[k], e[k] = B_k, E_k */
static void fields(const kaon_links_args *on, const vsites *x, vsu3 b[3], vsu3 e[3]) {
  static const int plane[3][2] = {{1, 2}, {0, 2}, {0, 1}};
  for (int k = 0; k < 3; k++) {
    const void *const *links = (const void *const *)on->links;
    path_field_strength(on->stencil, links, x, plane[k][0], plane[k][1], &b[k]);
    path_field_strength(on->stencil, links, x, k, 3, &e[k]);
    if (k == 1) continue;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) b[k].e[i][j] = c_make(-b[k].e[i][j].re, -b[k].e[i][j].im);
  }
}

/* One chirality (sign = +1, -1) into 36 reals, KAON_W apart. */
static void store_chirality(const vsu3 b[3], const vsu3 e[3], int sign, double coefficient,
                            double *to) {
  const vreal one = v_set(1), c = v_set(coefficient), s = v_set(sign);
  for (int i = 0; i < 3; i++) {
    const vreal g = v_fma(s, e[2].e[i][i].re, b[2].e[i][i].re);
    v_store_real(to + i * KAON_W, v_fnma(c, g, one));
    v_store_real(to + (3 + i) * KAON_W, v_fma(c, g, one));
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double *mixed = to + kaon_block_index(3 + i, j) * KAON_W; /* -c (G_1 + i G_2) */
      const vcomplex g1 = c_make(v_fma(s, e[0].e[i][j].re, b[0].e[i][j].re),
                                 v_fma(s, e[0].e[i][j].im, b[0].e[i][j].im));
      const vcomplex g2 = c_make(v_fma(s, e[1].e[i][j].re, b[1].e[i][j].re),
                                 v_fma(s, e[1].e[i][j].im, b[1].e[i][j].im));
      v_store_real(mixed, c * (g2.im - g1.re));
      v_store_real(mixed + KAON_W, -c * (g1.im + g2.re));
      if (j >= i) continue;
      double *upper = to + kaon_block_index(i, j) * KAON_W;
      double *lower = to + kaon_block_index(3 + i, 3 + j) * KAON_W;
      const vreal re = c * v_fma(s, e[2].e[i][j].re, b[2].e[i][j].re);
      const vreal im = c * v_fma(s, e[2].e[i][j].im, b[2].e[i][j].im);
      v_store_real(upper, -re);
      v_store_real(upper + KAON_W, -im);
      v_store_real(lower, re);
      v_store_real(lower + KAON_W, im);
    }
}

static void term_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_clover_term_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = sites_home(a->on.stencil, a->on.parity, block, part);
      vsu3 b[3], e[3];
      fields(&a->on, &x, b, e);
      double *to = a->blocks + kaon_field_index(block, 0, 0, part * KAON_VL, 1, 72, KAON_W);
      store_chirality(b, e, 1, a->coefficient, to);
      store_chirality(b, e, -1, a->coefficient, to + 36 * KAON_W);
    }
}

void KAON_EXPORT(kaon_clover_term)(const kaon_launch *launch, const kaon_clover_term_args *a) {
  chunks_run(launch, a->on.stencil->nblocks, 0, term_chunk, a);
}

static void invert_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_clover_invert_args *a = args;
  partial[1] = HUGE_VAL;
  for (int64_t block = begin; block < end; block++)
    for (int lane = 0; lane < KAON_W; lane++)
      for (int chirality = 0; chirality < 2; chirality++) {
        const int64_t first = kaon_field_index(block, 0, 36 * chirality, lane, 1, 72, KAON_W);
        const int64_t site = a->sites[block * KAON_W + lane];
        double packed[36], log_det = 0;
        int negative = 0;
        for (int i = 0; i < 36; i++) packed[i] = a->blocks[first + i * KAON_W];
        if (site >= 0) {
          const double ratio = kaon_block_invert(packed, packed, &log_det, &negative);
          partial[0] += log_det;
          partial[3] += negative;
          if (!(ratio >= partial[1])) {
            partial[1] = ratio;
            partial[2] = (double)site;
          }
        }
        for (int i = 0; i < 36; i++) a->inverse[first + i * KAON_W] = packed[i];
      }
}

void KAON_EXPORT(kaon_clover_invert)(const kaon_launch *launch, const kaon_clover_invert_args *a) {
  const int64_t nblocks = a->stencil->nblocks;
  chunks_run(launch, nblocks, KAON_INVERT_RESULTS, invert_chunk, a);
  double total[KAON_INVERT_RESULTS] = {0, HUGE_VAL, 0, 0};
  for (int chunk = 0; chunk < kaon_chunk_count(nblocks); chunk++) {
    const double *p = launch->partials + chunk * KAON_INVERT_RESULTS;
    total[0] += p[0];
    total[3] += p[3];
    if (p[1] < total[1] || p[1] != p[1]) {
      total[1] = p[1];
      total[2] = p[2];
    }
  }
  for (int i = 0; i < KAON_INVERT_RESULTS; i++) a->result[i] = total[i];
}

#endif
