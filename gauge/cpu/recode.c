/* recode.c - converts links and clover blocks from double to the storage of the other tables and
 * back, on the CPU (gauge_ops.h). These are the only gauge kernels that use two precisions. Storage
 * of links: lib/math/recon.h; of clover blocks in half: lib/math/half.h. */
#include <string.h>

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/math/half.h"
#include "lib/math/recon.h"

/* The number of lanes of a block of matrices that hold sites. */
static int lanes_of(const kaon_recode_args *a, int64_t block) {
  const int64_t at = block % a->stride, parity = block / (a->stride * a->matrices);
  return at < a->nblocks - 1 ? KAON_W : at == a->nblocks - 1 ? a->tail_lanes[parity] : 0;
}

/* Masked lanes get zeros, which every kernel decodes to finite values. */
static void encode8(const double *from, stored *to, int lanes) {
  for (int l = 0; l < KAON_W; l++) {
    double u[18];
    for (int i = 0; i < 18; i++) u[i] = from[i * KAON_W + l];
    if (l < lanes)
      recon_encode8(u, to + l, KAON_W);
    else
      for (int i = 0; i < 8; i++) to[i * KAON_W + l] = 0;
  }
}

static void encode_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_recode_args *a = args;
  for (int64_t block = begin; block < end; block++) {
    const double *from = (const double *)a->wide + block * 18 * KAON_W;
    stored *to = (stored *)a->narrow + block * a->recon * KAON_W;
    if (a->recon == 8)
      encode8(from, to, lanes_of(a, block));
    else
      for (int i = 0; i < a->recon * KAON_W; i++) to[i] = recon_plain(from[i]);
  }
}

void KAON_EXPORT(kaon_links_encode)(const kaon_launch *launch, const kaon_recode_args *a) {
  chunks_run(launch, 2 * a->stride * a->matrices, 0, encode_chunk, a);
}

/* Masked lanes become zeros again, because sums over links rely on that. */
static void decode_part(const stored *from, const int recon, double *to, int lanes) {
  vcomplex u[9];
  recon_decode(from, recon, u);
  for (int i = 0; i < 18; i++) {
    real values[KAON_VL] __attribute__((aligned(64)));
    v_store_real(values, i % 2 ? u[i / 2].im : u[i / 2].re);
    for (int l = 0; l < KAON_VL; l++) to[i * KAON_W + l] = l < lanes ? (double)values[l] : 0;
  }
}

static void decode_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_recode_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int first = 0; first < KAON_W; first += KAON_VL) {
      const stored *from = (const stored *)a->narrow + block * a->recon * KAON_W + first;
      double *to = (double *)a->wide + block * 18 * KAON_W + first;
      const int lanes = lanes_of(a, block) - first;
      if (a->recon == 8)
        decode_part(from, 8, to, lanes);
      else if (a->recon == 12)
        decode_part(from, 12, to, lanes);
      else
        decode_part(from, 18, to, lanes);
    }
}

void KAON_EXPORT(kaon_links_decode)(const kaon_launch *launch, const kaon_recode_args *a) {
  chunks_run(launch, 2 * a->stride * a->matrices, 0, decode_chunk, a);
}

void KAON_EXPORT(kaon_copy_links)(const kaon_launch *launch, void *to, const void *from,
                                  size_t bytes) {
  (void)launch;
  memcpy(to, from, bytes);
}

#if KAON_IS_HALF
static void store_scaled(const double *from, stored *to, float *scale) {
  for (int l = 0; l < KAON_W; l++) {
    float largest = 0;
    for (int i = 0; i < 36; i++) largest = fmaxf(largest, fabsf((float)from[i * KAON_W + l]));
    scale[l] = largest;
    const float factor = kaon_half_factor(largest);
    for (int i = 0; i < 36; i++)
      to[i * KAON_W + l] = (stored)lrintf((float)from[i * KAON_W + l] * factor);
  }
}
#endif

static void clover_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_clover_store_args *a = args;
  for (int64_t block = begin; block < end; block++) {
    const double *from = a->wide + block * 72 * KAON_W;
    stored *to = (stored *)a->narrow + block * 72 * KAON_W;
#if KAON_IS_HALF
    float *scale = a->scale + block * 2 * KAON_W;
    for (int c = 0; c < 2; c++)
      store_scaled(from + c * 36 * KAON_W, to + c * 36 * KAON_W, scale + c * KAON_W);
#else
    for (int i = 0; i < 72 * KAON_W; i++) to[i] = (stored)from[i];
#endif
  }
}

void KAON_EXPORT(kaon_links_clover_store)(const kaon_launch *launch,
                                          const kaon_clover_store_args *a) {
  chunks_run(launch, a->nblocks, 0, clover_chunk, a);
}
