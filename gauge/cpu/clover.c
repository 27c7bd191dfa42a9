/* clover.c - clover blocks from links, their inverse and their square, on the CPU (gauge_ops.h). */
#if defined(KAON_PREC_DOUBLE) /* link physics exists only in double */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/clover_block.h"

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

/* The 36 reals of a chirality in the lanes of a part. */
static double *block_at(double *blocks, int64_t block, int part, int chirality) {
  return blocks + kaon_field_index(block, 0, 36 * chirality, part * KAON_VL, 1, 72, KAON_W);
}

static void block_load(const double *from, vreal packed[36]) {
  for (int i = 0; i < 36; i++) packed[i] = v_load_real(from + i * KAON_W);
}

static void block_store(double *to, const vreal packed[36]) {
  for (int i = 0; i < 36; i++) v_store_real(to + i * KAON_W, packed[i]);
}

/* What is learnt by inverting a part's blocks, [i][lane]: six pivots, the smallest of them over the
 * largest element, and a number with the sign of the determinant. */
enum { PIVOT_RATIO = 6, SIGN, SHOWN };
typedef double shown[SHOWN][KAON_VL] __attribute__((aligned(64)));

static void invert_part(double *blocks, int64_t block, int part, int chirality, shown s) {
  double *at = block_at(blocks, block, part, chirality);
  vreal packed[36], pivots[6], sign;
  block_load(at, packed);
  v_store_real(s[PIVOT_RATIO], block_invert(packed, packed, pivots, &sign));
  v_store_real(s[SIGN], sign);
  for (int c = 0; c < 6; c++) v_store_real(s[c], pivots[c]);
  block_store(at, packed);
}

static void add_shown(const shown s, int lane, int64_t site, double *result) {
  double log_det = 0;
  for (int c = 0; c < 6; c++) log_det += log(s[c][lane]);
  result[0] += log_det;
  result[3] += s[SIGN][lane] < 0;
  if (s[PIVOT_RATIO][lane] >= result[1]) return;
  result[1] = s[PIVOT_RATIO][lane];
  result[2] = (double)site;
}

static void invert_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_clover_invert_args *a = args;
  partial[1] = HUGE_VAL;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      shown found[2];
      for (int chirality = 0; chirality < 2; chirality++)
        invert_part(a->blocks, block, part, chirality, found[chirality]);
      const int64_t first = block * KAON_W + part * KAON_VL;
      for (int lane = 0; lane < KAON_VL && first + lane < a->stencil->sites[a->parity]; lane++)
        for (int chirality = 0; chirality < 2; chirality++)
          add_shown(found[chirality], lane, first + lane, partial);
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
    for (int half = 0; half < 2 * KAON_PARTS; half++) {
      double *at = block_at(a->blocks, block, half / 2, half % 2);
      vreal packed[36];
      block_load(at, packed);
      block_square(packed, a->shift, packed);
      block_store(at, packed);
    }
}

void KAON_EXPORT(kaon_links_clover_square)(const kaon_launch *launch,
                                           const kaon_clover_square_args *a) {
  chunks_run(launch, a->stencil->nblocks, 0, square_chunk, a);
}

#endif
