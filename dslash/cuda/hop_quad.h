/* hop_quad.h - EXPERIMENT: four warps share 32 sites. Warp w = 2 part + back takes two directions,
 * then three rows of a chirality's clover block, then a spin of the result. */
#ifndef KAON_DSLASH_CUDA_HOP_QUAD_H
#define KAON_DSLASH_CUDA_HOP_QUAD_H

enum { QUAD_THREADS = 4 * KAON_LANES, SPIN_BYTES = 6 * (int)sizeof(stored) };

/* A spin of a site's spinor. */
typedef struct spin_part {
  vcomplex c[3];
} spin_part;

typedef real quad_room[4][2][HALF_REALS][KAON_LANES];
typedef real spin_room[4][6][KAON_LANES];

typedef struct quad_site {
  pair_site e; /* warp: the chirality, or half of a spinor */
  int w, part; /* spin of that half */
} quad_site;

static __device__ __forceinline__ quad_site quad_site_of(const hop_call &a) {
  quad_site q;
  q.e = pair_site_of(a);
  q.w = (int)threadIdx.x / KAON_LANES;
  q.part = q.w / 2;
  return q;
}

/* *own = the sum over the warps of the half that this one takes. All threads call it. */
static __device__ __forceinline__ void quad_exchange(const quad_site &q, quad_room &room,
                                                     half_spinor *own, const half_spinor &other) {
  const int lane = q.e.lane;
#pragma unroll
  for (int i = 0; i < 6; i++) {
    room[q.w][0][2 * i][lane] = own->c[i].re;
    room[q.w][0][2 * i + 1][lane] = own->c[i].im;
    room[q.w][1][2 * i][lane] = other.c[i].re;
    room[q.w][1][2 * i + 1][lane] = other.c[i].im;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 6; i++) {
    const vcomplex x = c_make(room[q.w ^ 1][1][2 * i][lane], room[q.w ^ 1][1][2 * i + 1][lane]);
    const vcomplex y = c_make(room[q.w ^ 2][0][2 * i][lane], room[q.w ^ 2][0][2 * i + 1][lane]);
    const vcomplex z = c_make(room[q.w ^ 3][1][2 * i][lane], room[q.w ^ 3][1][2 * i + 1][lane]);
    own->c[i] = c_add(c_add(own->c[i], x), c_add(y, z));
  }
}

static __device__ __forceinline__ spin_part spin_of(const quad_site &q, const half_spinor &h) {
  spin_part s;
#pragma unroll
  for (int i = 0; i < 3; i++) s.c[i] = q.part == 0 ? h.c[i] : h.c[3 + i];
  return s;
}

/* The warp's spin of 2 C d, from its chirality of d. All threads call it. */
static __device__ __forceinline__ spin_part quad_clover(const quad_site &q, const pair_block &block,
                                                        const half_spinor &own, spin_room &room) {
  const int lane = q.e.lane;
  vchiral in, out;
  spin_part s;
#pragma unroll
  for (int i = 0; i < 6; i++) in.c[i] = own.c[i];
  if (q.part == 0) { /* of each branch three rows are kept */
    clover_block(block.c, &in, &out);
#pragma unroll
    for (int i = 0; i < 3; i++) s.c[i] = out.c[i];
  } else {
    clover_block(block.c, &in, &out);
#pragma unroll
    for (int i = 0; i < 3; i++) s.c[i] = out.c[3 + i];
  }
#pragma unroll
  for (int i = 0; i < 3; i++) {
    if (KAON_HALF) s.c[i] = c_scale(s.c[i], block.unit);
    room[q.w][2 * i][lane] = s.c[i].re;
    room[q.w][2 * i + 1][lane] = s.c[i].im;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 3; i++) {
    const vcomplex o = c_make(room[q.w ^ 1][2 * i][lane], room[q.w ^ 1][2 * i + 1][lane]);
    s.c[i] = q.e.warp == 0 ? c_add(s.c[i], o) : c_sub(o, s.c[i]);
  }
  return s;
}

static __device__ __forceinline__ char *spin_address(const kaon_view &v, const quad_site &q,
                                                     int units, int i) {
  const int bytes = (2 * q.e.warp + q.part) * SPIN_BYTES + i * 2 * (int)sizeof(stored);
  char *first = (char *)packet_address<24>(v.data, packet_at<24>(q.e.at, units));
  return first + bytes / 16 * (KAON_LANES * 16) + bytes % 16;
}

enum { PAIR_BYTES = 2 * (int)sizeof(stored) };

static __device__ __forceinline__ real scale_of(const kaon_view &v, const quad_site &q, int units) {
  return KAON_HALF ? (real)kaon_half_unit(v.scale[scale_at(q.e.at, units)]) : (real)1;
}

/* The warp's spin. */
static __device__ __forceinline__ spin_part spin_read(const kaon_view &v, const quad_site &q,
                                                      int units) {
  spin_part s;
  const real unit = scale_of(v, q, units);
#pragma unroll
  for (int i = 0; i < 3; i++) {
    stored z[2];
    const words<PAIR_BYTES> x = read_cached<PAIR_BYTES>(spin_address(v, q, units, i));
    memcpy(z, &x, PAIR_BYTES);
    s.c[i] = c_load(z);
    if (KAON_HALF) s.c[i] = c_scale(s.c[i], unit);
  }
  return s;
}

#if KAON_HALF
/* The largest component of the site. All threads call it. */
static __device__ __forceinline__ float quad_largest(const quad_site &q, const spin_part &s,
                                                     float (*room)[KAON_LANES]) {
  float most = 0;
#pragma unroll
  for (int i = 0; i < 3; i++)
    most = quantise_largest(quantise_largest(most, s.c[i].re), s.c[i].im);
  room[q.w][q.e.lane] = most;
  __syncthreads();
#pragma unroll
  for (int k = 1; k < 4; k++) most = quantise_largest(most, room[q.w ^ k][q.e.lane]);
  return most;
}
#endif

/* Writes the site's spins; half: with one scale. All threads call it. */
static __device__ __forceinline__ void spin_write(const kaon_view &v, const quad_site &q, int units,
                                                  const spin_part &s) {
#if KAON_HALF
  __shared__ float largest[4][KAON_LANES];
  const float most = quad_largest(q, s, largest);
  const float factor = kaon_half_factor(most);
  if (q.e.is_site && q.w == 0) v.scale[scale_at(q.e.at, units)] = fmaf(most, 0.0f, most);
#endif
  if (!q.e.is_site) return;
#pragma unroll
  for (int i = 0; i < 3; i++) {
    words<PAIR_BYTES> x;
#if KAON_HALF
    x.w[0] = quantise_pair<true>(s.c[i].re, s.c[i].im, factor);
#else
    memcpy(&x, &s.c[i], PAIR_BYTES);
#endif
    *(words<PAIR_BYTES> *)spin_address(v, q, units, i) = x;
  }
}

/* out = a x + b own, b the factor that is left to it, and its sums. All threads call it. */
static __device__ __forceinline__ void quad_finish(const pair_call &call, const quad_site &q,
                                                   double b, spin_part *own) {
  const hop_call &a = call.h;
  const real rounded = (real)b, rest = (real)(b - (double)rounded), factor_x = (real)a.a;
  double sum[4] = {0, 0, 0, 0};
  if (b != 1)
    for (int i = 0; i < 3; i++) own->c[i] = c_scale_split(own->c[i], rounded, rest);
  if (a.x.data != NULL) {
    const spin_part x = spin_read(column_view(a.x, q.e.column), q, a.nrhs);
    for (int i = 0; i < 3; i++)
      own->c[i] = c_make(v_fma(factor_x, x.c[i].re, own->c[i].re),
                         v_fma(factor_x, x.c[i].im, own->c[i].im));
  }
  spin_write(column_view(a.out, q.e.column), q, a.nrhs, *own);
  if (call.let == 4) kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
  if (call.let == 2) kaon_let_next_start();
  if (q.e.is_site) {
    vreal re = 0, im = 0;
    for (int i = 0; i < 3; i++) {
      re = v_fma(own->c[i].re, own->c[i].re, re);
      im = v_fma(own->c[i].im, own->c[i].im, im);
    }
    sum[0] = (double)(re + im);
    if (a.w.data != NULL && sums_want(a.sums, 1)) {
      vcomplex dot = c_make(0, 0);
      const spin_part x = spin_read(column_view(a.w, q.e.column), q, a.nrhs);
      for (int i = 0; i < 3; i++) dot = c_conj_fma(x.c[i], own->c[i], dot);
      sum[2] = (double)dot.re;
      sum[3] = (double)dot.im;
    }
  }
  sums_finish<2, 8, true, false>(a.sums, q.e.column, q.e.chunk, sum);
}

template <int RECON, int SIGN>
static __device__ __forceinline__ bool quad_hop(const pair_call &a, const quad_site &q,
                                                vspinor *d) {
  if (q.part == 0)
    return q.e.warp == 0 ? pair_directions<RECON, 0, SIGN, 2, 2>(a, q.e, d)
                         : pair_directions<RECON, 4, SIGN, 2, 2>(a, q.e, d);
  return q.e.warp == 0 ? pair_directions<RECON, 0, SIGN, 0, 2>(a, q.e, d)
                       : pair_directions<RECON, 4, SIGN, 0, 2>(a, q.e, d);
}

template <int RECON>
static __global__ void __launch_bounds__(QUAD_THREADS, QUAD_BLOCKS)
    hop_quad_kernel(const __grid_constant__ pair_call call) {
  __shared__ quad_room room;
  __shared__ spin_room spins;
  const hop_call &a = call.h;
  const quad_site q = quad_site_of(a);
  const bool clover = a.clover_on != KAON_CLOVER_NONE;
  pair_block block;
  vspinor d;
  half_spinor own, other;
  spin_part s;
  if (!call.early) kaon_wait_for_previous();
  if (clover && KAON_HALF) block_read(a, q.e, &block);
  const bool open = a.dagger ? quad_hop<RECON, -1>(call, q, &d) : quad_hop<RECON, 1>(call, q, &d);
  if (!open) return;
  if (clover && !KAON_HALF) block_read(a, q.e, &block);
  if (clover) {
    own = chiral_of(&d, q.e.warp == 0 ? 1 : -1);
    other = chiral_of(&d, q.e.warp == 0 ? -1 : 1);
  } else {
    own = half_of(&d, q.e.warp);
    other = half_of(&d, 1 - q.e.warp);
  }
  quad_exchange(q, room, &own, other);
  if (clover)
    s = quad_clover(q, block, own, spins);
  else
    s = spin_of(q, own);
  quad_finish(call, q, clover ? 0.5 * a.b : a.b, &s);
}

/* in += c w, as blas/cuda/update.cu does it; the warp's spin as it is then stored. All threads call
 * it. */
static __device__ __forceinline__ spin_part quad_update(const pair_call &call, const quad_site &q,
                                                        const vcomplex c) {
  const int units = call.h.nrhs;
  const kaon_view in = column_view(call.h.in, q.e.column);
  spin_part s = spin_read(in, q, units);
  const spin_part w = spin_read(column_view(call.w, q.e.column), q, units);
#pragma unroll
  for (int i = 0; i < 3; i++) s.c[i] = c_fma(c, w.c[i], s.c[i]);
#if KAON_HALF
  __shared__ float largest[4][KAON_LANES];
  const float most = quad_largest(q, s, largest), factor = kaon_half_factor(most);
  const float scale = fmaf(most, 0.0f, most);
  const real unit = (real)kaon_half_unit(scale);
  if (q.e.is_site && q.w == 0) in.scale[scale_at(q.e.at, units)] = scale;
#endif
#pragma unroll
  for (int i = 0; i < 3; i++) {
    words<PAIR_BYTES> x;
#if KAON_HALF
    stored z[2];
    x.w[0] = quantise_pair<false>(s.c[i].re, s.c[i].im, factor);
    memcpy(z, &x, PAIR_BYTES);
    s.c[i] = c_scale(c_load(z), unit);
#else
    memcpy(&x, &s.c[i], PAIR_BYTES);
#endif
    if (q.e.is_site) *(words<PAIR_BYTES> *)spin_address(in, q, units, i) = x;
  }
  return s;
}

static __global__ void __launch_bounds__(QUAD_THREADS, QUAD_BLOCKS)
    clover_quad_kernel(const __grid_constant__ pair_call call) {
  __shared__ spin_room spins[2];
  const hop_call &a = call.h;
  const quad_site q = quad_site_of(a);
  pair_block block;
  spin_part s;
  if (!call.early) kaon_wait_for_previous();
  block_read(a, q.e, &block);
  kaon_wait_for_previous();
  const bool updates = call.w.data != NULL;
  vcomplex c = c_make(0, 0);
  const int gate = read_gate(a.sums.gate, q.e.column);
  if (updates) c = read_coefficient(call, q.e.column);
  if (updates) spinor_touch(column_view(call.w, q.e.column), q.e.at, a.nrhs);
  spinor_touch(column_view(a.in, q.e.column), q.e.at, a.nrhs);
  if (call.let < 3) kaon_let_next_start();
  if (gate == 0) return;
  s = updates ? quad_update(call, q, c) : spin_read(column_view(a.in, q.e.column), q, a.nrhs);
  const int spin = 2 * q.e.warp + q.part;
#pragma unroll
  for (int i = 0; i < 3; i++) {
    spins[0][spin][2 * i][q.e.lane] = s.c[i].re;
    spins[0][spin][2 * i + 1][q.e.lane] = s.c[i].im;
  }
  __syncthreads();
  vspinor d;
#pragma unroll
  for (int i = 0; i < 12; i++)
    d.s[i / 3][i % 3] =
        c_make(spins[0][i / 3][2 * (i % 3)][q.e.lane], spins[0][i / 3][2 * (i % 3) + 1][q.e.lane]);
  s = quad_clover(q, block, chiral_of(&d, q.e.warp == 0 ? 1 : -1), spins[1]);
  quad_finish(call, q, 0.5, &s);
}

#endif
