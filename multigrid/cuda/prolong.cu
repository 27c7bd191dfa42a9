/* prolong.cu - fine = V coarse, and halves of the basis as fine vectors, on the GPU
 * (transfer_ops.h). A thread has a fine site and a part of its components: a piece of either half,
 * so that it can turn them. Each load of V serves some right-hand sides; a sum has the order of the
 * vectors. The parts of a site are warps of one block, which find the scale of a site in half. */
#include "lib/cuda/reduction/quantise.h"
#include "multigrid/cuda/columns.h"

/* PART: complex numbers of a piece, if a thread has several right-hand sides. One right-hand side is
 * read in the largest pieces (piece_of), since nothing but V takes time then. */
enum { MOST_WARPS = 16, PART = MOST_PIECE < 2 ? MOST_PIECE : 2 };

typedef struct prolong_call {
  int64_t blocks; /* of the fine lattice */
  const int32_t *aggregate;
  int vectors, turned, nrhs, tiles;
  int piece;  /* MOST_PIECE or PART; 0: PART, but the last one of a half may be incomplete */
  int parts;  /* of a site */
  int beside; /* parts that a block has at a time; the same in half */
  int sets;   /* fine blocks of a block of threads */
  int add;
  int take; /* 1: columns of the basis instead of products */
  int half; /* take: this half, or 2 for both */
  field basis, fine, coarse;
  kaon_gate gate;
} prolong_call;

/* A thread's fine site. */
typedef struct site_place {
  int place, aggregate; /* aggregate < 0: nothing to do */
  int warp, set;
} site_place;

/* A part of a site: pieces of both halves. */
template <int PIECE>
struct part_values {
  vcomplex z[2][PIECE];
};

/* Whether number e of a part exists. WHOLE: all do, and a piece is read at once; else the last
 * piece of a half may be incomplete. */
template <int PIECE, bool WHOLE>
KAON_DEVICE bool part_has(const field &f, int part, int e) {
  return WHOLE || part * PIECE + e < f.reals / 4;
}

/* Numbers that do not exist are others of the site. */
template <int PIECE, bool WHOLE>
KAON_DEVICE void part_read(const field &f, int place, int column, int part, part_values<PIECE> *x) {
  const stored *from = (const stored *)f.data + column_at(f, place, column);
  if constexpr (WHOLE) {
    halves_read<PIECE>(f, from, part * PIECE, x->z);
  } else {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int first = h * (f.reals / 4) + part * PIECE;
#pragma unroll
      for (int e = 0; e < PIECE; e++)
        x->z[h][e] = number_at(f, from, part_has<PIECE, WHOLE>(f, part, e) ? first + e : first);
    }
  }
}

template <int PIECE>
KAON_DEVICE part_values<PIECE> part_zero(void) {
  part_values<PIECE> d;
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int e = 0; e < PIECE; e++) d.z[h][e] = c_make(0, 0);
  return d;
}

template <int PIECE>
KAON_DEVICE void part_scale(part_values<PIECE> *x, real unit) {
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int e = 0; e < PIECE; e++) x->z[h][e] = c_scale(x->z[h][e], unit);
}

/* d[k] = the sum over the vectors. */
template <int PIECE, bool WHOLE, int COLUMNS>
KAON_DEVICE void part_sum(const prolong_call &a, const column_tile &c, const site_place &p,
                          int part, part_values<PIECE> *d) {
  const int step = a.coarse.reals * KAON_LANES; /* from column to column */
  const real *coarse = (const real *)a.coarse.data + column_at(a.coarse, p.aggregate, c.first);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) d[k] = part_zero<PIECE>();
#pragma unroll(COLUMNS > 1 ? 2 : 4)
  for (int j = 0; j < a.vectors; j++) {
    part_values<PIECE> v;
    part_read<PIECE, WHOLE>(a.basis, p.place, j, part, &v);
    const real unit = unit_at(a.basis, p.place, j);
#pragma unroll
    for (int k = 0; k < COLUMNS; k++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        typedef kaon_packet<real, 2> pair;
        const pair x = *(const pair *)(coarse + min(k, c.count - 1) * step +
                                       kaon_component_offset(2 * (h * a.vectors + j), KAON_LANES,
                                                             a.coarse.pack));
        vcomplex factor = c_make(x.v[0], x.v[1]);
        if (KAON_IS_HALF) factor = c_scale(factor, unit);
#pragma unroll
        for (int e = 0; e < PIECE; e++) d[k].z[h][e] = c_fma(v.z[h][e], factor, d[k].z[h][e]);
      }
  }
}

/* The result of a column, from the sum: turned, and with what is there. */
template <int PIECE, bool WHOLE>
KAON_DEVICE void part_finish(const prolong_call &a, const site_place &p, int column, int part,
                             part_values<PIECE> *d) {
#pragma unroll
  for (int e = 0; e < PIECE; e++)
    if (a.turned) turn_pair(&d->z[0][e], &d->z[1][e]);
  if (!a.add) return;
  part_values<PIECE> old;
  part_read<PIECE, WHOLE>(a.fine, p.place, column, part, &old);
  const real unit = unit_at(a.fine, p.place, column);
  if (KAON_IS_HALF) part_scale(&old, unit);
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int e = 0; e < PIECE; e++) d->z[h][e] = c_add(old.z[h][e], d->z[h][e]);
}

/* A complex number as stored. factor: from numbers to integers, in half. */
typedef kaon_packet<stored, 2> stored_number;
KAON_DEVICE stored_number number_store(vcomplex z, real factor) {
  stored_number x;
#if KAON_IS_HALF
  const uint32_t both = quantise_pair<false>(z.re, z.im, factor);
  memcpy(&x, &both, sizeof both);
#else
  (void)factor;
  x.v[0] = z.re;
  x.v[1] = z.im;
#endif
  return x;
}

/* Numbers of a column that are side by side. */
template <int COUNT>
struct __align__(COUNT * sizeof(stored_number)) stored_group {
  stored_number number[COUNT];
};

template <int PIECE, bool WHOLE>
KAON_DEVICE void part_store(const field &f, int place, int column, int part, real factor,
                            const part_values<PIECE> &d) {
  constexpr int count = PIECE == SPINOR_PIECE ? 4 : PIECE; /* of a group */
  stored *to = (stored *)f.data + column_at(f, place, column);
  stored_number x[2 * PIECE];
#pragma unroll
  for (int i = 0; i < 2 * PIECE; i++) x[i] = number_store(d.z[i / PIECE][i % PIECE], factor);
#pragma unroll
  for (int i = 0; i < 2 * PIECE; i += WHOLE ? count : 1) {
    const int first = i / PIECE * (f.reals / 4) + part * PIECE + i % PIECE;
    stored *at = to + kaon_component_offset(2 * first, KAON_LANES, f.pack);
    if constexpr (WHOLE) {
      stored_group<count> g;
#pragma unroll
      for (int e = 0; e < count; e++) g.number[e] = x[i + e];
      *(stored_group<count> *)at = g;
    } else if (part_has<PIECE, WHOLE>(f, part, i % PIECE)) {
      *(stored_number *)at = x[i];
    }
  }
}

#if KAON_IS_HALF
template <int PIECE>
KAON_DEVICE float part_largest(const part_values<PIECE> &d) {
  float largest = 0;
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int e = 0; e < PIECE; e++)
      largest = quantise_largest(quantise_largest(largest, d.z[h][e].re), d.z[h][e].im);
  return largest;
}

/* The largest number of the site, of whose parts this thread has one. Called by all threads. */
KAON_DEVICE float site_largest(const prolong_call &a, const site_place &p, float own) {
  __shared__ float room[MOST_WARPS][KAON_LANES];
  const int lane = (int)threadIdx.x % KAON_LANES;
  float largest = 0;
  if (a.parts == 1) return own;
  __syncthreads(); /* an earlier column has read the room */
  room[p.warp][lane] = own;
  __syncthreads();
  for (int i = 0; i < a.parts; i++)
    largest = quantise_largest(largest, room[p.set * a.parts + i][lane]);
  return largest;
}
#endif

/* Stores a column's part. In half all threads call it, and the site's scale is stored too. */
template <int PIECE, bool WHOLE>
KAON_DEVICE void column_store(const prolong_call &a, const site_place &p, int column, int part,
                              bool wanted, const part_values<PIECE> &d) {
  real factor = 1;
#if KAON_IS_HALF
  const float largest = site_largest(a, p, part_largest(d));
  factor = kaon_half_factor(largest);
  if (wanted && part == 0)
    a.fine.scale[((int64_t)(p.place / KAON_LANES) * a.fine.columns + column) * KAON_LANES +
                 p.place % KAON_LANES] = fmaf(largest, 0.0f, largest);
#endif
  if (wanted) part_store<PIECE, WHOLE>(a.fine, p.place, column, part, factor, d);
}

template <int PIECE, bool WHOLE, int COLUMNS>
KAON_DEVICE void part_update(const prolong_call &a, const column_tile &c, const site_place &p,
                             int part) {
  part_values<PIECE> d[COLUMNS];
  const bool there = p.aggregate >= 0;
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) d[k] = part_zero<PIECE>();
  if (there) part_sum<PIECE, WHOLE, COLUMNS>(a, c, p, part, d);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    const bool wanted = there && (c.open >> k & 1);
    if (wanted) part_finish<PIECE, WHOLE>(a, p, c.first + k, part, &d[k]);
    column_store<PIECE, WHOLE>(a, p, c.first + k, part, wanted, d[k]);
  }
}

/* A column of the basis, as fine vectors have it. */
template <int PIECE, bool WHOLE>
KAON_DEVICE void part_take(const prolong_call &a, const site_place &p, int column, int part) {
  part_values<PIECE> d = part_zero<PIECE>();
  const bool there = p.aggregate >= 0;
  if (there) {
    part_read<PIECE, WHOLE>(a.basis, p.place, column, part, &d);
    const real unit = unit_at(a.basis, p.place, column);
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int e = 0; e < PIECE; e++)
        d.z[h][e] = c_scale(d.z[h][e], a.half == 1 - h ? (real)0 : unit);
    part_finish<PIECE, WHOLE>(a, p, column, part, &d);
  }
  column_store<PIECE, WHOLE>(a, p, column, part, there, d);
}

template <int PIECE, bool WHOLE>
KAON_DEVICE void site_update(const prolong_call &a, int tile, const site_place &p) {
  constexpr int most = PIECE == PART ? MOST_COLUMNS : 1;
  column_tile c;
  if (!a.take) c = column_tile_of(a.gate, tile, a.nrhs, MOST_COLUMNS);
  if (!a.take && c.open == 0) return;
  for (int part = p.warp % a.beside; part < a.parts; part += a.beside)
    if (a.take)
      part_take<PIECE, WHOLE>(a, p, tile, part);
    else if (c.count == 1)
      part_update<PIECE, WHOLE, 1>(a, c, p, part);
    else
      part_update<PIECE, WHOLE, most>(a, c, p, part);
}

static __global__ void __launch_bounds__(32 * MOST_WARPS)
    transfer_prolong(const __grid_constant__ prolong_call a) {
  const int tile = (int)(blockIdx.x % (unsigned)a.tiles);
  site_place p;
  p.warp = (int)threadIdx.x / KAON_LANES;
  p.set = p.warp / a.beside;
  const int64_t block = (int64_t)(blockIdx.x / (unsigned)a.tiles) * a.sets + p.set;
  p.place = (int)(block * KAON_LANES) + (int)threadIdx.x % KAON_LANES;
  kaon_wait_for_previous();
  p.aggregate = block < a.blocks ? a.aggregate[p.place] : -1;
  if (a.piece == MOST_PIECE)
    site_update<MOST_PIECE, true>(a, tile, p);
  else if (a.piece == PART)
    site_update<PART, true>(a, tile, p);
  else
    site_update<PART, false>(a, tile, p);
}

/* See prolong_call.piece. */
static int piece_for(int columns, int fine_reals) {
  const int piece = columns > 1 && PART < piece_of(fine_reals) ? PART : piece_of(fine_reals);
  return piece == MOST_PIECE || piece == PART ? piece : 0;
}

static void run(const kaon_launch *launch, const kaon_transfer_args *args, int take) {
  enum { WANTED = 8 }; /* warps of a block */
  const kaon_aggregate_view *v = &args->aggregates;
  prolong_call a = {};
  a.blocks = v->fine_blocks;
  a.aggregate = v->aggregate;
  a.vectors = args->vectors;
  a.turned = args->turned;
  a.piece = piece_for(take ? 1 : args->nrhs, args->fine_reals);
  a.nrhs = take ? args->vectors : args->nrhs;
  a.tiles = take ? args->vectors : column_tiles(args->nrhs, MOST_COLUMNS);
  const int numbers = a.piece > 0 ? a.piece : PART; /* of a part */
  a.parts = (args->fine_reals / 4 + numbers - 1) / numbers;
  a.beside = a.parts < MOST_WARPS ? a.parts : MOST_WARPS;
  a.sets = a.beside < WANTED ? WANTED / a.beside : 1;
  a.add = take ? 0 : args->add;
  a.take = take;
  a.half = take ? args->half : 2;
  a.basis = field_of(&args->basis, args->vectors, args->fine_reals, (int)sizeof(stored));
  a.fine = field_of(&args->fine, a.nrhs, args->fine_reals, (int)sizeof(stored));
  a.coarse = field_of(&args->coarse, args->nrhs, 4 * args->vectors, (int)sizeof(real));
  a.gate = args->gate;
  const int64_t blocks = (a.blocks + a.sets - 1) / a.sets;
  kaon_cuda_launch(launch, transfer_prolong, (unsigned)(blocks * a.tiles),
                   (unsigned)(a.beside * a.sets * KAON_LANES), a);
}

extern "C" void KAON_EXPORT(kaon_transfer_prolong)(const kaon_launch *launch,
                                                   const kaon_transfer_args *args) {
  run(launch, args, 0);
}

extern "C" void KAON_EXPORT(kaon_transfer_take_half)(const kaon_launch *launch,
                                                     const kaon_transfer_args *args) {
  run(launch, args, 1);
}
