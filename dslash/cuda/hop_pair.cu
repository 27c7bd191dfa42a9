/* hop_pair.cu - hop and clover blocks on lattices with so few sites that one thread for each site
 * leaves most of the device idle. Two warps share 32 sites: one computes the forward directions,
 * the other the backward ones. They exchange halves of their sums through shared memory, so that
 * each has one chirality (without clover blocks: one half of the spinor), and each applies a clover
 * block. They exchange once more, and each finishes and writes one half of the spinor.
 *
 * A launch of this size is limited by memory latency. So data that no earlier kernel changes are
 * requested before the wait for the previous kernel (kaon_launch.early): links and clover blocks
 * are loaded if registers suffice, or clover blocks are prefetched into the second-level cache.
 * Spinors are prefetched into the first-level cache while the gate is read. The next kernel may
 * start at once if this one computes no sums, else after the stores (pair_lets). Compared with
 * hop_kernel.h, the sum over directions has another order. */
#include "dslash/cuda/hop_kernel.h"

enum {
  PAIR_BLOCKS = sizeof(real) == 8 ? 6 : 8,
  HALF_REALS = 12,
  PIECE = KAON_IS_HALF ? 4 : packets<24>::group, /* reals of half a spinor in one access */
  PIECES = HALF_REALS / PIECE,
  PIECE_BYTES = PIECE * (int)sizeof(stored)
};
static_assert(PAIR_THREADS == 2 * KAON_LANES, "two warps");

typedef struct pair_call {
  hop_call h;
  int early;   /* links and clover blocks may be read before the previous kernel has ended */
  kaon_view w; /* clover blocks: in += sign * slot w before they are applied; NULL: no update */
  const kaon_column_state *state;
  int slot;
  double sign;
} pair_call;

/* What the two warps exchange. */
typedef real pair_room[2][HALF_REALS][KAON_LANES];

/* Half a spinor: two spins. */
typedef struct half_spinor {
  vcomplex c[6]; /* spin * 3 + colour */
} half_spinor;

typedef struct pair_site {
  int column, chunk, warp, lane;
  uint32_t at; /* the site; the last one if this thread has none; 0 if there are no sites */
  bool is_site;
} pair_site;

KAON_DEVICE pair_site pair_site_of(const hop_call &a) {
  const unsigned columns = (unsigned)a.nrhs, nsites = (unsigned)a.sites.nsites;
  pair_site e;
  e.column = columns == 1 ? 0 : (int)(blockIdx.x % columns);
  e.chunk = (int)(columns == 1 ? blockIdx.x : blockIdx.x / columns);
  e.warp = (int)threadIdx.x / KAON_LANES;
  e.lane = (int)threadIdx.x % KAON_LANES;
  const uint32_t site = (uint32_t)e.chunk * KAON_LANES + (uint32_t)e.lane;
  e.is_site = site < nsites;
  e.at = e.is_site ? site : nsites - (nsites > 0);
  return e;
}

KAON_DEVICE int read_gate(const kaon_gate &gate, int column) {
  int x = KAON_GATE_ANY;
  if (gate.state != NULL)
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(&gate.state[column].gate));
  return x & gate.mask;
}

/* Prefetches the line into the first-level cache without waiting. */
KAON_DEVICE void touch(const void *p) {
  [[maybe_unused]] uint32_t x;
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(p));
}

KAON_DEVICE void spinor_touch(const kaon_view &v, uint32_t site, int units) {
  const char *first = packet_address<24>(v.data, packet_at<24>(site, units));
#pragma unroll
  for (int g = 0; g < packets<24>::count; g++) touch(first + g * (KAON_LANES * 16));
  if (KAON_IS_HALF) touch(v.scale + scale_at(site, units));
}

/* Half at 16^4 fits with much to spare, single just so. */
enum { PAIR_OVERLAPS = 1 << 16, PAIR_MANY = 512 }; /* sites times bytes of a real; blocks */

/* Number of sites above which clover blocks in half do not overlap with the next kernel: the
 * overlap makes the kernel slower there. Then clover blocks are also read after the hops, which is
 * slower on smaller lattices (bench/notes/speed-clover-small.md). */
enum { PAIR_SEPARATE_DOT = 1 << 14 };

KAON_DEVICE bool pair_separate_dot(const hop_call &a) {
  return KAON_IS_HALF && a.clover_on != KAON_CLOVER_NONE && a.sites.nsites > PAIR_SEPARATE_DOT;
}

/* Whether clover blocks are read before the wait. Only in half do registers hold them beside
 * links. */
KAON_DEVICE bool block_early(const hop_call &a) {
  return KAON_IS_HALF && !pair_separate_dot(a);
}

/* Prefetches the clover blocks of 32 sites, which are adjacent, into the second-level cache; each
 * warp requests half of them. The request follows the links, so that the blocks are there when the
 * hops are done. */
KAON_DEVICE void block_prefetch(const hop_call &a, const pair_site &e) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr int bytes = KAON_LANES * KAON_CLOVER_BLOCK * (int)sizeof(stored);
  if (e.lane != 0) return;
  const char *first =
      packet_address<KAON_CLOVER_REALS>(a.clover, packet_at<KAON_CLOVER_REALS>(e.at, 1));
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first + e.warp * bytes),
               "r"(bytes)
               : "memory");
#else
  (void)a, (void)e;
#endif
}

/* Whether the next kernel may start at once, else after the stores. A kernel that starts early
 * delays this one, and there is time enough while a sum is completed. If this kernel's blocks fill
 * the device, the next one starts gradually. Early starts are also avoided where links, clover
 * blocks and vectors just fit the second-level cache: each kernel would have its sites on other
 * multiprocessors, and the cache's two halves would hold much of it twice. */
KAON_DEVICE bool pair_lets(const hop_call &a) {
  return a.overlaps && !pair_separate_dot(a) &&
         (a.sums.sum.state == NULL || a.sums.chunks > PAIR_MANY);
}

/* ---- the exchange ---- */

KAON_DEVICE void half_leave(const pair_site &e, const half_spinor &h, pair_room &room) {
#pragma unroll
  for (int i = 0; i < 6; i++) {
    room[e.warp][2 * i][e.lane] = h.c[i].re;
    room[e.warp][2 * i + 1][e.lane] = h.c[i].im;
  }
}

KAON_DEVICE void half_take(const pair_site &e, const pair_room &room, half_spinor *h) {
#pragma unroll
  for (int i = 0; i < 6; i++)
    h->c[i] = c_make(room[1 - e.warp][2 * i][e.lane], room[1 - e.warp][2 * i + 1][e.lane]);
}

KAON_DEVICE void half_add(half_spinor *a, const half_spinor &b) {
#pragma unroll
  for (int i = 0; i < 6; i++) a->c[i] = c_add(a->c[i], b.c[i]);
}

KAON_DEVICE half_spinor half_of(const vspinor *d, int lower) {
  half_spinor h;
#pragma unroll
  for (int i = 0; i < 6; i++) h.c[i] = lower ? d->s[2 + i / 3][i % 3] : d->s[i / 3][i % 3];
  return h;
}

/* upper + s lower */
KAON_DEVICE half_spinor chiral_of(const vspinor *d, int s) {
  const vchiral c = s > 0 ? clover_chiral(d, 1) : clover_chiral(d, -1);
  half_spinor h;
#pragma unroll
  for (int i = 0; i < 6; i++) h.c[i] = c.c[i];
  return h;
}

/* ---- the directions ---- */

/* A link as loaded, and its neighbour. */
template <int RECON>
struct pair_link {
  stored raw[RECON];
  uint32_t from;
  real factor;
};

/* Whether all four links of a warp are read before the wait. */
template <int RECON>
KAON_DEVICE constexpr bool links_fit() {
  return RECON * sizeof(stored) <= 48;
}

template <int RECON, int DIR>
KAON_DEVICE void pair_link_site(const hop_call &a, const kaon_here &here, pair_link<RECON> *link) {
  int sign;
  link->from = (uint32_t)kaon_neighbour_of(&a.sites, &here, DIR, &sign);
  link->factor = hop_factor<DIR>(a, sign);
}

template <int RECON, int DIR, int SIGN>
KAON_DEVICE void pair_direction(const hop_call &a, const kaon_here &here, const kaon_view &in,
                                pair_link<RECON> *link, vspinor *d) {
  real u[18];
  raw_spinor psi;
  if (!links_fit<RECON>()) hop_link<RECON, DIR>(a, here, link->from, link->raw);
  link_numbers<RECON, true>(link->raw, u);
  raw_load(in, link->from, a.nrhs, &psi);
  hop_add<RECON, DIR, SIGN, false>(a, psi, u, link->factor, d);
}

/* The sum over directions BACK + 0..3, BACK = 0 or 4; false if the column's gate is closed. */
template <int RECON, int BACK, int SIGN>
KAON_DEVICE bool pair_directions(const hop_call &a, const pair_site &e, vspinor *d) {
  constexpr int set = (BACK == 0 ? 1 : -1) * SIGN > 0 ? 2 : 0; /* the half that t fills */
  const kaon_here here = kaon_here_of(&a.sites, a.parity, (int32_t)e.at);
  pair_link<RECON> link[4];
  pair_link_site<RECON, BACK + 0>(a, here, &link[0]);
  pair_link_site<RECON, BACK + 1>(a, here, &link[1]);
  pair_link_site<RECON, BACK + 2>(a, here, &link[2]);
  pair_link_site<RECON, BACK + 3>(a, here, &link[3]);
  if (links_fit<RECON>()) {
    hop_link<RECON, BACK + 3>(a, here, link[3].from, link[3].raw);
    hop_link<RECON, BACK + 2>(a, here, link[2].from, link[2].raw);
    hop_link<RECON, BACK + 1>(a, here, link[1].from, link[1].raw);
    hop_link<RECON, BACK + 0>(a, here, link[0].from, link[0].raw);
  }
  if (a.clover_on != KAON_CLOVER_NONE && !block_early(a)) block_prefetch(a, e);
  kaon_wait_for_previous();
  const int gate = read_gate(a.sums.gate, gate_column(a.sums.gate, e.column));
  const kaon_view in = column_view(a.in, e.column);
#pragma unroll
  for (int mu = 3; mu >= 0; mu--) spinor_touch(in, link[mu].from, a.nrhs);
  if (a.x.data != NULL) spinor_touch(column_view(a.x, e.column), e.at, a.nrhs);
  if (pair_lets(a)) kaon_let_next_start();
  if (gate == 0) return false;
#pragma unroll
  for (int c = 0; c < 3; c++) d->s[2 - set][c] = d->s[3 - set][c] = c_make(0, 0);
  pair_direction<RECON, BACK + 3, SIGN>(a, here, in, &link[3], d);
  pair_direction<RECON, BACK + 2, SIGN>(a, here, in, &link[2], d);
  pair_direction<RECON, BACK + 1, SIGN>(a, here, in, &link[1], d);
  pair_direction<RECON, BACK + 0, SIGN>(a, here, in, &link[0], d);
  return true;
}

template <int RECON, int SIGN>
KAON_DEVICE bool pair_hop(const hop_call &a, const pair_site &e, vspinor *d) {
  return e.warp == 0 ? pair_directions<RECON, 0, SIGN>(a, e, d)
                     : pair_directions<RECON, 4, SIGN>(a, e, d);
}

/* ---- the clover blocks ---- */

/* The block of the warp's chirality at a site. */
typedef struct pair_block {
  stored c[KAON_CLOVER_BLOCK];
  real unit;
} pair_block;

template <int Q>
KAON_DEVICE void block_read_of(const hop_call &a, uint32_t site, pair_block *block) {
  typedef packets<KAON_CLOVER_REALS> p;
  constexpr int begin = Q * KAON_CLOVER_BLOCK / p::group;
  constexpr int end = ((Q + 1) * KAON_CLOVER_BLOCK + p::group - 1) / p::group;
  const char *first =
      packet_address<KAON_CLOVER_REALS>(a.clover, packet_at<KAON_CLOVER_REALS>(site, 1));
  stored both[KAON_CLOVER_REALS];
  packets_read_some<KAON_CLOVER_REALS, true, begin, end - begin>(first, both);
#pragma unroll
  for (int i = 0; i < KAON_CLOVER_BLOCK; i++) block->c[i] = both[Q * KAON_CLOVER_BLOCK + i];
}

KAON_DEVICE void block_read(const hop_call &a, const pair_site &e, pair_block *block) {
  if (e.warp == 0)
    block_read_of<0>(a, e.at, block);
  else
    block_read_of<1>(a, e.at, block);
  block->unit =
      KAON_IS_HALF ? (real)kaon_half_unit(a.clover_scale[(uint64_t)e.at * 2 + e.warp]) : 1;
}

/* own = the warp's half of 2 d, from the warp's chirality of d. All threads must call it. */
KAON_DEVICE void pair_halves(const pair_site &e, pair_room &room, half_spinor *own) {
  half_spinor other;
  half_leave(e, *own, room);
  __syncthreads();
  half_take(e, room, &other);
#pragma unroll
  for (int i = 0; i < 6; i++)
    own->c[i] = e.warp == 0 ? c_add(own->c[i], other.c[i]) : c_sub(other.c[i], own->c[i]);
}

/* own = C own, the warp's chirality. */
KAON_DEVICE void pair_clover(const pair_block &block, half_spinor *own) {
  vchiral in, out;
#pragma unroll
  for (int i = 0; i < 6; i++) in.c[i] = own->c[i];
  clover_block(block.c, &in, &out);
#pragma unroll
  for (int i = 0; i < 6; i++) own->c[i] = KAON_IS_HALF ? c_scale(out.c[i], block.unit) : out.c[i];
}

/* own += i q x, as twist_spinor: gamma_5 is a sign of the chirality, or exchanges halves. */
KAON_DEVICE void pair_twist(double q, const half_spinor &x, half_spinor *own) {
  const real rounded = (real)q, rest = (real)(q - (double)rounded);
#pragma unroll
  for (int i = 0; i < 6; i++) own->c[i] = twist_add(own->c[i], x.c[i], rounded, rest);
}

/* own = b own */
KAON_DEVICE void pair_scale(double b, half_spinor *own) {
  const real rounded = (real)b, rest = (real)(b - (double)rounded);
#pragma unroll
  for (int i = 0; i < 6; i++) own->c[i] = c_scale_split(own->c[i], rounded, rest);
}

/* ---- the end ---- */

KAON_DEVICE char *piece_address(const kaon_view &v, const pair_site &e, int units, int piece) {
  const int bytes = (e.warp * PIECES + piece) * PIECE_BYTES; /* from the start of the spinor */
  char *first = (char *)packet_address<24>(v.data, packet_at<24>(e.at, units));
  return first + bytes / 16 * (KAON_LANES * 16) + bytes % 16;
}

/* Reads the warp's half of a site's spinor. */
KAON_DEVICE void half_read(const kaon_view &v, const pair_site &e, int units, half_spinor *h) {
  stored q[HALF_REALS];
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    const words<PIECE_BYTES> x = read_cached<PIECE_BYTES>(piece_address(v, e, units, i));
    memcpy(q + i * PIECE, &x, PIECE_BYTES);
  }
  const real unit = KAON_IS_HALF ? (real)kaon_half_unit(v.scale[scale_at(e.at, units)]) : (real)1;
#pragma unroll
  for (int i = 0; i < 6; i++) {
    h->c[i] = c_load(q + 2 * i);
    if (KAON_IS_HALF) h->c[i] = c_scale(h->c[i], unit);
  }
}

/* Writes both halves; half: with one scale. All threads must call it. */
KAON_DEVICE void half_write(const kaon_view &v, const pair_site &e, int units,
                            const half_spinor &h) {
  const real *value = (const real *)h.c;
#if KAON_IS_HALF
  __shared__ float largest[2][KAON_LANES];
  float most = 0;
#pragma unroll
  for (int i = 0; i < HALF_REALS; i++) most = quantise_largest(most, value[i]);
  largest[e.warp][e.lane] = most;
  __syncthreads();
  most = quantise_largest(most, largest[1 - e.warp][e.lane]);
  const float factor = kaon_half_factor(most);
  if (e.is_site && e.warp == 0) v.scale[scale_at(e.at, units)] = fmaf(most, 0.0f, most);
#endif
  if (!e.is_site) return;
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    words<PIECE_BYTES> x;
#if KAON_IS_HALF
    for (int k = 0; k < PIECE / 2; k++) {
      const vcomplex z = h.c[i * (PIECE / 2) + k];
      x.w[k] = quantise_pair<true>(z.re, z.im, factor);
    }
#else
    memcpy(&x, value + i * PIECE, PIECE_BYTES);
#endif
    *(words<PIECE_BYTES> *)piece_address(v, e, units, i) = x;
  }
}

/* out = (a + twist) x + b own, with b the remaining factor, and its sums. All threads must call
 * it. */
KAON_DEVICE void pair_finish(const hop_call &a, const pair_site &e, double b, half_spinor *own) {
  const real factor_x = (real)a.a;
  double sum[4] = {0, 0, 0, 0};
  half_spinor x;
  if (a.x.data != NULL) half_read(column_view(a.x, e.column), e, a.nrhs, &x);
  if (b != 1) pair_scale(b, own);
  if (a.x.data != NULL && a.twist[0] != 0) {
    pair_site across = e;
    half_spinor opposite;
    across.warp = 1 - e.warp;
    half_read(column_view(a.x, e.column), across, a.nrhs, &opposite);
    __syncthreads(); /* x may be out, and the other warp writes that half next */
    pair_twist(a.twist[0], opposite, own);
  }
  if (a.x.data != NULL)
    for (int i = 0; i < 6; i++)
      own->c[i] = c_make(v_fma(factor_x, x.c[i].re, own->c[i].re),
                         v_fma(factor_x, x.c[i].im, own->c[i].im));
  half_write(column_view(a.out, e.column), e, a.nrhs, *own);
  if (!pair_lets(a)) kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
  if (e.is_site) {
    vreal re = 0, im = 0;
    for (int i = 0; i < 6; i++) {
      re = v_fma(own->c[i].re, own->c[i].re, re);
      im = v_fma(own->c[i].im, own->c[i].im, im);
    }
    sum[0] = (double)(re + im);
    if (a.w.data != NULL && sums_want(a.sums, 1)) {
      vcomplex dot = c_make(0, 0);
      half_read(column_view(a.w, e.column), e, a.nrhs, &x);
      for (int i = 0; i < 6; i++) dot = c_conj_fma(x.c[i], own->c[i], dot);
      sum[2] = (double)dot.re;
      sum[3] = (double)dot.im;
    }
  }
  sums_finish<2, 16, true, false>(a.sums, e.column, e.chunk, sum);
}

/* ---- the kernels ---- */

template <int RECON>
static __global__ void __launch_bounds__(PAIR_THREADS, PAIR_BLOCKS)
    hop_pair_kernel(const __grid_constant__ pair_call call) {
  __shared__ pair_room room[2];
  const hop_call &a = call.h;
  const pair_site e = pair_site_of(a);
  const bool clover = a.clover_on != KAON_CLOVER_NONE, early = block_early(a);
  const bool twist = a.twist[1] != 0, chiral = clover || twist;
  pair_block block;
  vspinor d;
  half_spinor own, other;
  if (!call.early) kaon_wait_for_previous();
  if (clover && early) block_read(a, e, &block);
  const bool open = a.dagger ? pair_hop<RECON, -1>(a, e, &d) : pair_hop<RECON, 1>(a, e, &d);
  if (!open) return;
  if (clover && !early) block_read(a, e, &block);
  if (chiral) {
    own = chiral_of(&d, e.warp == 0 ? 1 : -1);
    other = chiral_of(&d, e.warp == 0 ? -1 : 1);
  } else {
    own = half_of(&d, e.warp);
    other = half_of(&d, 1 - e.warp);
  }
  half_leave(e, other, room[0]);
  __syncthreads();
  half_take(e, room[0], &other);
  half_add(&own, other);
  if (clover) pair_clover(block, &own);
  if (twist) { /* (b + i twist gamma_5) / 2 of the chirality */
    const half_spinor in = own;
    pair_scale(0.5 * a.b, &own);
    pair_twist(e.warp == 0 ? 0.5 * a.twist[1] : -0.5 * a.twist[1], in, &own);
  }
  if (chiral) pair_halves(e, room[1], &own);
  pair_finish(a, e, twist ? 1 : clover ? 0.5 * a.b : a.b, &own);
}

static_assert(sizeof(kaon_column_state) % 16 == 0, "a slot is read in one access");

/* A slot of the column, read after the wait. */
KAON_DEVICE vcomplex read_coefficient(const pair_call &call, int column) {
  double re, im;
  asm volatile("ld.global.v2.f64 {%0,%1}, [%2];"
               : "=d"(re), "=d"(im)
               : "l"(call.state[column].slot[call.slot]));
  return c_make((real)(call.sign * re), (real)(call.sign * im));
}

/* in += c w as in blas/cuda/update.cu, and *d = the stored result. Both warps compute the whole
 * spinor, and each stores its half. All threads must call it. */
KAON_DEVICE void pair_update(const pair_call &call, const pair_site &e, const vcomplex c,
                             vspinor *d) {
  const int units = call.h.nrhs;
  const kaon_view in = column_view(call.h.in, e.column);
  const kaon_view w = column_view(call.w, e.column);
  const uint32_t packet = packet_at<24>(e.at, units);
  stored q[24], z[24];
  packets_read<24, false>(packet_address<24>(in.data, packet), q);
  packets_read<24, false>(packet_address<24>(w.data, packet), z);
  real value[24], in_unit = 1, w_unit = 1;
  if (KAON_IS_HALF) {
    in_unit = (real)kaon_half_unit(in.scale[scale_at(e.at, units)]);
    w_unit = (real)kaon_half_unit(w.scale[scale_at(e.at, units)]);
  }
#pragma unroll
  for (int i = 0; i < 24; i += 2) {
    const vcomplex x = c_load(q + i), y = c_load(z + i);
    const vcomplex sum =
        c_fma(c, KAON_IS_HALF ? c_scale(y, w_unit) : y, KAON_IS_HALF ? c_scale(x, in_unit) : x);
    value[i] = sum.re;
    value[i + 1] = sum.im;
  }
#if KAON_IS_HALF
  const float scale = quantise_site<24>(value, q);
  const real unit = (real)kaon_half_unit(scale);
#else
  memcpy(q, value, sizeof q);
#endif
#pragma unroll
  for (int i = 0; i < 12; i++) {
    const vcomplex x = c_load(q + 2 * i);
#if KAON_IS_HALF
    d->s[i / 3][i % 3] = c_scale(x, unit);
#else
    d->s[i / 3][i % 3] = x;
#endif
  }
  __syncthreads(); /* the other warp has read the values that are overwritten next */
  if (!e.is_site) return;
#if KAON_IS_HALF
  if (e.warp == 0) in.scale[scale_at(e.at, units)] = scale;
#endif
#pragma unroll
  for (int i = 0; i < PIECES; i++) {
    words<PIECE_BYTES> x, upper, lower; /* selected word by word, so that q stays in registers */
    memcpy(&upper, q + i * PIECE, PIECE_BYTES);
    memcpy(&lower, q + HALF_REALS + i * PIECE, PIECE_BYTES);
#pragma unroll
    for (int k = 0; k < PIECE_BYTES / 4; k++) x.w[k] = e.warp == 0 ? upper.w[k] : lower.w[k];
    *(words<PIECE_BYTES> *)piece_address(in, e, units, i) = x;
  }
}

static __global__ void __launch_bounds__(PAIR_THREADS, PAIR_BLOCKS)
    clover_pair_kernel(const __grid_constant__ pair_call call) {
  __shared__ pair_room room;
  const hop_call &a = call.h;
  const pair_site e = pair_site_of(a);
  pair_block block;
  vspinor d;
  if (!call.early) kaon_wait_for_previous();
  block_read(a, e, &block);
  kaon_wait_for_previous();
  const bool updates = call.w.data != NULL;
  vcomplex c = c_make(0, 0);
  const int gate = read_gate(a.sums.gate, e.column);
  if (updates) c = read_coefficient(call, e.column);
  spinor_touch(column_view(a.in, e.column), e.at, a.nrhs);
  if (updates) spinor_touch(column_view(call.w, e.column), e.at, a.nrhs);
  if (pair_lets(a)) kaon_let_next_start();
  if (gate == 0) return;
  if (updates)
    pair_update(call, e, c, &d);
  else
    spinor_load(column_view(a.in, e.column), e.at, a.nrhs, &d);
  half_spinor own = chiral_of(&d, e.warp == 0 ? 1 : -1);
  pair_clover(block, &own);
  pair_halves(e, room, &own);
  pair_finish(a, e, 0.5, &own);
}

/* ---- launches ---- */

static unsigned pair_blocks(const kaon_launch *launch, hop_call *a, const kaon_gate *gate,
                            const kaon_sum *sum) {
  a->overlaps = a->sites.nsites * (int64_t)sizeof(stored) <= PAIR_OVERLAPS;
  const int chunks = a->sites.nsites > 0 ? (a->sites.nsites + KAON_LANES - 1) / KAON_LANES : 1;
  a->sums = kaon_cuda_sums_of(launch, gate, sum, chunks);
  if (a->w.data == NULL) a->sums.sum.slot[1] = KAON_NO_SLOT;
  return (unsigned)chunks * (unsigned)a->nrhs;
}

template <int RECON>
static void run_pair(const kaon_launch *launch, const kaon_kernel_choice *choice,
                     const kaon_gather_args *, const kaon_hop_args *args) {
  pair_call a = {call_of(args), launch->early};
  const unsigned blocks = pair_blocks(launch, &a.h, &args->gate, &args->sum);
  kaon_cuda_launch(launch, hop_pair_kernel<RECON>, blocks, (unsigned)choice->threads, a);
}

KAON_HOP_LAUNCHER(kaon_hop_pair, 18, run_pair)
KAON_HOP_LAUNCHER(kaon_hop_pair, 12, run_pair)
KAON_HOP_LAUNCHER(kaon_hop_pair, 8, run_pair)

extern "C" void KAON_EXPORT(kaon_clover_pair)(const kaon_launch *launch,
                                              const kaon_kernel_choice *choice,
                                              const kaon_clover_args *args) {
  pair_call a = {};
  a.early = launch->early;
  a.w = args->w;
  a.state = args->state;
  a.slot = args->slot;
  a.sign = args->sign;
  a.h.sites.nsites = (int32_t)args->stencil->sites[args->parity];
  a.h.nrhs = args->nrhs;
  a.h.clover = args->clover;
  a.h.clover_scale = args->clover_scale;
  a.h.in = args->in;
  a.h.out = args->out;
  const unsigned blocks = pair_blocks(launch, &a.h, &args->gate, &args->sum);
  kaon_cuda_launch(launch, clover_pair_kernel, blocks, (unsigned)choice->threads, a);
}
