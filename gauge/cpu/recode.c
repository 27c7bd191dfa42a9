/* recode.c - links and clover blocks between wide doubles and the storages of the other tables, on
 * the CPU (gauge_ops.h): the only gauge kernels that see two precisions.
 * Half links: integer = 32767 component, rounded; the 8-real form as lib/math/recon.h says. */
#include <string.h>

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/math/half.h"

/* A component of modulus at most `bound` in storage form, and back. */
static inline stored narrow_component(double x, double bound) {
#if KAON_HALF
  const double integer = rint(x * ((double)KAON_HALF_MAX / bound));
  return (stored)(integer > 32767 ? 32767 : integer < -32767 ? -32767 : integer);
#else
  (void)bound;
  return (stored)x;
#endif
}

static inline double wide_component(stored x, double bound) {
#if KAON_HALF
  return (double)x * (bound / (double)KAON_HALF_MAX);
#else
  (void)bound;
  return (double)x;
#endif
}

/* Row 2 = conj(row 0 x row 1); u[(3 row + col) 2 + reim]. */
static void complete_row2(double u[18]) {
  for (int i = 0; i < 3; i++) {
    const double *aj = u + 2 * ((i + 1) % 3), *ak = u + 2 * ((i + 2) % 3);
    const double *bj = aj + 6, *bk = ak + 6;
    u[12 + 2 * i] = (aj[0] * bk[0] - aj[1] * bk[1]) - (ak[0] * bj[0] - ak[1] * bj[1]);
    u[13 + 2 * i] = (ak[0] * bj[1] + ak[1] * bj[0]) - (aj[0] * bk[1] + aj[1] * bk[0]);
  }
}

static void encode_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_recode_args *a = args;
  for (int64_t block = begin; block < end; block++) {
    const double *from = (const double *)a->wide + block * 18 * KAON_W;
    stored *to = (stored *)a->narrow + block * a->recon * KAON_W;
    for (int i = 0; i < a->recon * KAON_W; i++) to[i] = narrow_component(from[i], 1.0);
  }
}

void KAON_EXPORT(kaon_encode)(const kaon_launch *launch, const kaon_recode_args *a) {
  chunks_run(launch, a->blocks, 0, encode_chunk, a);
}

static void decode_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_recode_args *a = args;
  for (int64_t block = begin; block < end; block++) {
    const stored *from = (const stored *)a->narrow + block * a->recon * KAON_W;
    double *to = (double *)a->wide + block * 18 * KAON_W;
    for (int i = 0; i < a->recon * KAON_W; i++) to[i] = wide_component(from[i], 1.0);
    if (a->recon == 18) continue;
    for (int l = 0; l < KAON_W; l++) {
      double u[18];
      for (int i = 0; i < 12; i++) u[i] = to[i * KAON_W + l];
      complete_row2(u);
      for (int i = 12; i < 18; i++) to[i * KAON_W + l] = u[i];
    }
  }
}

void KAON_EXPORT(kaon_decode)(const kaon_launch *launch, const kaon_recode_args *a) {
  chunks_run(launch, a->blocks, 0, decode_chunk, a);
}

void KAON_EXPORT(kaon_copy_links)(const kaon_launch *launch, void *to, const void *from,
                                  size_t bytes) {
  (void)launch;
  memcpy(to, from, bytes);
}

#if KAON_HALF
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
#if KAON_HALF
    float *scale = a->scale + block * 2 * KAON_W;
    for (int c = 0; c < 2; c++)
      store_scaled(from + c * 36 * KAON_W, to + c * 36 * KAON_W, scale + c * KAON_W);
#else
    for (int i = 0; i < 72 * KAON_W; i++) to[i] = (stored)from[i];
#endif
  }
}

void KAON_EXPORT(kaon_clover_store)(const kaon_launch *launch, const kaon_clover_store_args *a) {
  chunks_run(launch, a->nblocks, 0, clover_chunk, a);
}
