/* clover.c - clover blocks from links, their inverse and their square, on the CPU (gauge_ops.h). */
#if defined(KAON_PREC_DOUBLE) /* link physics exists only in double */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/clover_build.h"

static void term_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_clover_term_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = sites_local(a->on.stencil, a->on.parity, block, part);
      vsu3 b[3], e[3];
      clover_fields(a->on.stencil, (const void *const *)a->on.links, &x, b, e);
      double *to = a->blocks + kaon_field_index(block, 0, 0, part * KAON_VL, 1, 72, KAON_W);
      clover_store_chirality(b, e, a->electric, a->coefficient, to);
      clover_store_chirality(b, e, -a->electric, a->coefficient, to + 36 * KAON_W);
    }
}

void KAON_EXPORT(kaon_links_clover_term)(const kaon_launch *launch,
                                         const kaon_clover_term_args *a) {
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

void KAON_EXPORT(kaon_links_clover_invert)(const kaon_launch *launch,
                                           const kaon_clover_invert_args *a) {
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

static void square_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_clover_square_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int lane = 0; lane < KAON_W; lane++)
      for (int chirality = 0; chirality < 2; chirality++) {
        double *at = a->blocks + kaon_field_index(block, 0, 36 * chirality, lane, 1, 72, KAON_W);
        double packed[36];
        for (int i = 0; i < 36; i++) packed[i] = at[i * KAON_W];
        kaon_block_square(packed, a->shift, packed);
        for (int i = 0; i < 36; i++) at[i * KAON_W] = packed[i];
      }
}

void KAON_EXPORT(kaon_links_clover_square)(const kaon_launch *launch,
                                           const kaon_clover_square_args *a) {
  chunks_run(launch, a->stencil->nblocks, 0, square_chunk, a);
}

#endif
