/* block.cu - vector updates that join columns, on the GPU (blas_ops.h): products of tall matrices
 * by small ones on the tensor units (lib/cuda/reduction/mma.h). Sums are in double; in half they
 * are in float, with each value in two parts of 11 bits.
 * A warp works on a tile: some positions of all columns. Lane 4 g + t has columns 4 k + t at
 * position g, of operands and results alike. So no value moves between lanes, updates work in
 * place, and half rounds a site where it is. The small matrices are in shared memory, in the layout
 * of the tensor units. */
#include "blas/cuda/items.h"
#include "lib/cuda/reduction/mma.h"
#include "lib/math/steps/block_recurrences.h"

enum op { AXPY, ROTATE };

/* Largest number of blocks in a launch; largest number of matrices; shared memory for all of their
 * panels. */
enum { MOST_BLOCKS = 2048, MATRICES = 3, PANEL_BYTES = 72 << 10 };
/* Quads of four columns in a panel of results. */
enum { PANEL = 3 };
/* Positions in a tile; the items of a column that a lane has there; the rows of 16 in them. */
enum {
  PLACES = NUMBERS == 2 ? 16 : 8,
  ITEMS = NUMBERS == 2 ? 2 : 1,
  ROWS = ITEMS * NUMBERS / 4,
  SPINOR_GROUPS = 3
};

/* Blocks that a multiprocessor should hold, as far as registers allow. */
enum { THREADS = 128 };
template <int QUADS, int GROUPS>
static __host__ __device__ constexpr int blocks_wanted() {
  return QUADS > PANEL ? 2 : GROUPS > 1 ? 3 : 4;
}

template <int OP>
static __host__ __device__ constexpr int matrices() {
  return OP == AXPY ? 1 : 3;
}

typedef struct block_call {
  items w;
  int vectors, complex_space;
  int quads;  /* quads of four columns, padded with zeros; at least PANEL */
  int panels; /* panels of the matrices in shared memory: all, or 1 */
  int64_t tiles;
  kaon_view v[MATRICES];
  const kaon_column_state *state;
  int slot[MATRICES];
  double sign[MATRICES];
  kaon_gate gate;
} block_call;

#if !KAON_IS_HALF
typedef double sum_real;
typedef double2 entry; /* a lane's two values of a matrix */
#else
typedef float sum_real;
typedef float4 entry; /* their high parts, then their low parts */
#endif

/* ---- the matrices ---- */

/* A lane's values of rows 4 k .. and columns 4 j .. of matrix m, as the map (re, im) -> (re,
 * im). */
KAON_DEVICE entry matrix_entry(const block_call &a, int m, int k, int j, uint64_t open) {
  const int lane = threadIdx.x % 32, row = 4 * k + lane % 4, column = 4 * j + lane / 8;
  double re = 0, im = 0;
  if ((m < a.vectors || m == 0) && (open >> row & open >> column & 1)) {
    const double *z = a.state[column].slot[a.slot[m] + row];
    re = a.sign[m] * z[0];
    im = a.complex_space ? a.sign[m] * z[1] : 0;
  }
  const double first = lane & 4 ? im : re, second = lane & 4 ? re : -im;
#if !KAON_IS_HALF
  return make_double2(first, second);
#else
  entry e;
  tf32_split((float)first, &e.x, &e.z);
  tf32_split((float)second, &e.y, &e.w);
  return e;
#endif
}

/* Loads the panels from `first` on. The entry of matrix m, rows k, columns j of panel p is at (((p
 * matrices + m) quads + k) PANEL + j) 32 + lane. */
template <int OP>
KAON_DEVICE void load_panels(const block_call &a, int first, uint64_t open, entry *panel) {
  const int warp = threadIdx.x / 32, count = a.panels * matrices<OP>() * a.quads * PANEL;
  for (int e = warp; e < count; e += blockDim.x / 32) {
    const int j = e % PANEL, k = e / PANEL % a.quads, m = e / (PANEL * a.quads) % matrices<OP>();
    const int column = (first + e / (PANEL * a.quads * matrices<OP>())) * PANEL + j;
    panel[e * 32 + threadIdx.x % 32] =
        column < a.quads ? matrix_entry(a, m, k, column, open) : entry{};
  }
}

/* Returns matrix m of panel p, loading it if necessary. Called by all threads of the block. */
template <int OP>
KAON_DEVICE const entry *panel_at(const block_call &a, int p, uint64_t open, entry *panel) {
  if (a.panels > 1 || a.quads <= PANEL) return panel + p * matrices<OP>() * a.quads * PANEL * 32;
  __syncthreads();
  load_panels<OP>(a, p, open, panel);
  __syncthreads();
  return panel;
}

/* ---- a tile ---- */

/* The position of a lane, for all columns, and which of them are open. */
typedef struct place {
  int64_t at;    /* index of its first item of quad 0 */
  int64_t site;  /* half: index of its site's scale there */
  uint64_t open; /* bit 4 k: its column of quad k is open */
} place;

KAON_DEVICE place place_of(const block_call &a, int64_t tile, uint64_t open) {
  const int lane = threadIdx.x % 32, column = lane % 4;
  place p;
#if !KAON_IS_HALF
  p.at = item_at(a.w, tile * PLACES + lane / 4, column);
  p.site = 0;
#else
  const int64_t unit = tile / 4 * a.w.nrhs + column;
  p.at = unit * a.w.unit + tile % 4 * 8 + lane / 4;
  p.site = unit * KAON_LANES + tile % 4 * 8 + lane / 4;
#endif
  p.open = tile < a.tiles ? open >> column : 0;
  return p;
}

/* The index of item i of group `group` of quad k. */
KAON_DEVICE int64_t at_of(const block_call &a, const place &p, int k, int group, int i) {
  return p.at + (int64_t)(4 * k) * a.w.unit + group * KAON_LANES + 8 * i;
}

KAON_DEVICE bool is_open(const place &p, int k) {
  return (p.open >> 4 * k & 1) != 0;
}

/* The factor from the integers of quad k to values; 1 except in half. */
KAON_DEVICE float step_of(const kaon_view &v, const place &p, int k) {
  if (!KAON_IS_HALF) return 1;
  return is_open(p, k) ? kaon_half_unit(v.scale[p.site + 4 * k * KAON_LANES]) : 0;
}

/* A lane's part of an operand: QUADS quads, and in half GROUPS groups of a site. */
template <int QUADS, int GROUPS>
struct operand {
  item x[QUADS][GROUPS][ITEMS];
  float step[QUADS];
};

template <int QUADS, int GROUPS>
KAON_DEVICE void operand_read(const block_call &a, const kaon_view &v, const place &p, int group,
                              operand<QUADS, GROUPS> *o) {
#pragma unroll
  for (int k = 0; k < QUADS; k++) {
    o->step[k] = step_of(v, p, k);
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
      for (int i = 0; i < ITEMS; i++) {
        const item zero = {};
        o->x[k][g][i] =
            is_open(p, k) ? item_read(v, a.w, at_of(a, p, k, group + g, i), GROUPS > 1) : zero;
      }
  }
}

/* Real r of a lane's values at a position, counted through its items. */
KAON_DEVICE sum_real number_of(const item *x, float step, int r) {
#if !KAON_IS_HALF
  (void)step;
  return (sum_real)x[r / NUMBERS].v[r % NUMBERS];
#else
  return item_integer(x[0], r) * step;
#endif
}

/* Half: forces recomputation from an item for each matrix, since registers are scarcer than
 * instructions. */
KAON_DEVICE item item_once(const item &x) {
  item y = x;
#if KAON_IS_HALF
  asm volatile("" : "+r"(y.v[0]), "+r"(y.v[1]), "+r"(y.v[2]), "+r"(y.v[3]));
#endif
  return y;
}

/* sum += x m. Values 0 .. 3 of x and sum are (re, im) of two rows. */
KAON_DEVICE void add_rows(sum_real *sum, const sum_real *x, const entry &m) {
#if !KAON_IS_HALF
  const double left[4] = {x[0], x[2], x[1], x[3]}, right[2] = {m.x, m.y};
  mma_double(sum, left, right);
#else
  const float high[2] = {m.x, m.y}, low[2] = {m.z, m.w};
  float left[4], rest[4];
  tf32_split(x[0], &left[0], &rest[0]);
  tf32_split(x[2], &left[1], &rest[1]);
  tf32_split(x[1], &left[2], &rest[2]);
  tf32_split(x[3], &left[3], &rest[3]);
  mma_tf32(sum, rest, high);
  mma_tf32(sum, left, low);
  mma_tf32(sum, left, high);
#endif
}

/* Results of PANEL quads. */
template <int GROUPS>
struct sums {
  sum_real s[PANEL][GROUPS * ROWS][4];
};

/* sum += x M with matrix m of the panel. */
template <int QUADS, int GROUPS>
KAON_DEVICE void add_products(const block_call &a, const entry *panel, int m,
                              const operand<QUADS, GROUPS> &x, sums<GROUPS> *sum) {
  const entry *mine = panel + m * (QUADS > PANEL ? a.quads : QUADS) * PANEL * 32 + threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < QUADS; k++) {
    if (QUADS > PANEL && k >= a.quads) break;
    entry e[PANEL];
#pragma unroll
    for (int j = 0; j < PANEL; j++) e[j] = mine[(k * PANEL + j) * 32];
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      item once[ITEMS];
#pragma unroll
      for (int i = 0; i < ITEMS; i++) once[i] = item_once(x.x[k][g][i]);
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        sum_real number[4];
#pragma unroll
        for (int c = 0; c < 4; c++) number[c] = number_of(once, x.step[k], 4 * r + c);
#pragma unroll
        for (int j = 0; j < PANEL; j++) add_rows(sum->s[j][g * ROWS + r], number, e[j]);
      }
    }
  }
}

/* sum = the present values, or 0. */
template <int GROUPS>
KAON_DEVICE void sums_begin(const block_call &a, const kaon_view *v, const place &p, int first,
                            int group, sums<GROUPS> *sum) {
#pragma unroll
  for (int j = 0; j < PANEL; j++) {
    const bool open = v != NULL && is_open(p, first + j);
    const float step = open ? step_of(*v, p, first + j) : 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      item x[ITEMS] = {};
#pragma unroll
      for (int i = 0; i < ITEMS; i++)
        if (open) x[i] = item_read(*v, a.w, at_of(a, p, first + j, group + g, i), GROUPS > 1);
#pragma unroll
      for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int c = 0; c < 4; c++) sum->s[j][g * ROWS + r][c] = number_of(x, step, 4 * r + c);
    }
  }
}

/* How results are written. Half: if a lane has all of a site at once (ALL), it rounds them.
 * Otherwise one pass finds the largest value (LOOK), and a second computes them again and rounds
 * (ROUND). */
enum way { ALL, LOOK, ROUND };

#if !KAON_IS_HALF

template <int GROUPS>
KAON_DEVICE void sums_write(const block_call &a, const kaon_view &v, const place &p, int first,
                            int group, way how, float *largest, const sums<GROUPS> &sum) {
  (void)how, (void)largest;
#pragma unroll
  for (int j = 0; j < PANEL; j++) {
    if (!is_open(p, first + j)) continue;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      item x;
#pragma unroll
      for (int r = 0; r < NUMBERS; r++)
        x.v[r] = (real)sum.s[j][(i * NUMBERS + r) / 4][(i * NUMBERS + r) % 4];
      ((item *)v.data)[at_of(a, p, first + j, group, i)] = x;
    }
  }
}

#else

/* largest: that of quad `first` and the following ones, for this result. */
template <int GROUPS>
KAON_DEVICE void sums_write(const block_call &a, const kaon_view &v, const place &p, int first,
                            int group, way how, float *largest, const sums<GROUPS> &sum) {
#pragma unroll
  for (int j = 0; j < PANEL; j++) {
    float most = how == ALL ? 0 : largest[j];
    if (how != ROUND)
#pragma unroll
      for (int r = 0; r < GROUPS * ROWS; r++)
#pragma unroll
        for (int c = 0; c < 4; c++) most = quantise_largest(most, sum.s[j][r][c]);
    if (how == LOOK) largest[j] = most;
    if (how == LOOK || !is_open(p, first + j)) continue;
    const float factor = kaon_half_factor(most);
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
      item_round(v, a.w, at_of(a, p, first + j, group + g, 0), GROUPS > 1, sum.s[j][g * ROWS],
                 factor);
    if (how == ALL) v.scale[p.site + 4 * (first + j) * KAON_LANES] = fmaf(most, 0.0f, most);
  }
}

#endif

/* Half with one panel reads an operand where it is needed, and v1 twice (the second time from a
 * cache). That saves registers. */
template <int QUADS>
static __host__ __device__ constexpr bool reads_late() {
  return KAON_IS_HALF && QUADS <= PANEL;
}

/* Computes a panel of results from quad `first` on, for the groups from `group` on. largest: as in
 * sums_write; the results are `stride` apart. */
template <int OP, int QUADS, int GROUPS>
KAON_DEVICE void update_panel(const block_call &a, const entry *panel, const place &p, int first,
                              int group, way how, operand<QUADS, GROUPS> *x, float *largest,
                              int stride) {
  constexpr int grows = OP == AXPY ? 1 : 2; /* the result that is added to */
  constexpr int times = OP == AXPY ? 0 : 1; /* the operand that it adds */
  constexpr bool late = OP == ROTATE && reads_late<QUADS>();
  sums<GROUPS> sum;
  if (OP == AXPY || a.vectors > 2) {
    if (late) operand_read<QUADS, GROUPS>(a, a.v[times], p, group, &x[times]);
    sums_begin<GROUPS>(a, &a.v[grows], p, first, group, &sum);
    add_products<QUADS, GROUPS>(a, panel, OP == AXPY ? 0 : 2, x[times], &sum);
    sums_write<GROUPS>(a, a.v[grows], p, first, group, how, largest + grows * stride, sum);
  }
  if (OP == AXPY) return;
  if (late) operand_read<QUADS, GROUPS>(a, a.v[0], p, group, &x[0]);
  sums_begin<GROUPS>(a, NULL, p, first, group, &sum);
  add_products<QUADS, GROUPS>(a, panel, 0, x[0], &sum);
  sums_write<GROUPS>(a, a.v[0], p, first, group, how, largest, sum);
  if (a.vectors == 1) return;
  if (late) operand_read<QUADS, GROUPS>(a, a.v[times], p, group, &x[times]);
  add_products<QUADS, GROUPS>(a, panel, 1, x[times], &sum);
  sums_write<GROUPS>(a, a.v[1], p, first, group, how, largest + stride, sum);
}

template <int OP, int QUADS, int GROUPS>
KAON_DEVICE void read_operands(const block_call &a, const place &p, int group,
                               operand<QUADS, GROUPS> *x) {
  if (OP == ROTATE && reads_late<QUADS>()) return;
  operand_read<QUADS, GROUPS>(a, a.v[0], p, group, &x[0]);
  if (OP == ROTATE && a.vectors > 1)
    operand_read<QUADS, GROUPS>(a, a.v[1], p, group, &x[OP == ROTATE ? 1 : 0]);
}

/* Updates all groups of a site, GROUPS at a time. The old scales are read until all new values are
 * known. */
template <int OP, int QUADS, int GROUPS>
KAON_DEVICE void update_in_turns(const block_call &a, const place &p, uint64_t open, entry *panel) {
#if KAON_IS_HALF
  enum { STRIDE = (QUADS + PANEL - 1) / PANEL * PANEL };
  float largest[MATRICES * STRIDE];
  for (int e = 0; e < MATRICES * STRIDE; e++) largest[e] = 0;
  for (int how = LOOK; how <= ROUND; how++)
    for (int group = 0; group < a.w.groups; group += GROUPS) {
      operand<QUADS, GROUPS> x[2];
      read_operands<OP, QUADS, GROUPS>(a, p, group, x);
      for (int j = 0; j < a.quads; j += PANEL)
        update_panel<OP, QUADS, GROUPS>(a, panel_at<OP>(a, j / PANEL, open, panel), p, j, group,
                                        (way)how, x, largest + j, STRIDE);
    }
  for (int o = OP == AXPY ? 1 : 0; o < (OP == AXPY ? 2 : a.vectors); o++)
    for (int j = 0; j < a.quads; j++)
      if (is_open(p, j))
        a.v[o].scale[p.site + 4 * j * KAON_LANES] =
            fmaf(largest[o * STRIDE + j], 0.0f, largest[o * STRIDE + j]);
#endif
}

template <int OP, int QUADS, int GROUPS>
static __global__ void __launch_bounds__(THREADS, (blocks_wanted<QUADS, GROUPS>()))
    block_kernel(const __grid_constant__ block_call a) {
  extern __shared__ __align__(16) char shared[];
  entry *panel = (entry *)shared;
  const uint64_t open = open_columns(a.gate, a.w.nrhs);
  if (open == 0) return;
  load_panels<OP>(a, 0, open, panel);
  __syncthreads();
  const int64_t warps = blockDim.x / 32, step = gridDim.x * warps;
  for (int64_t first = blockIdx.x * warps; first < a.tiles; first += step) {
    const place p = place_of(a, first + threadIdx.x / 32, open);
    if (KAON_IS_HALF && GROUPS == 1) {
      update_in_turns<OP, QUADS, GROUPS>(a, p, open, panel);
      continue;
    }
    operand<QUADS, GROUPS> x[2];
    read_operands<OP, QUADS, GROUPS>(a, p, 0, x);
    for (int j = 0; j < (QUADS > PANEL ? a.quads : 1); j += PANEL)
      update_panel<OP, QUADS, GROUPS>(a, panel_at<OP>(a, j / PANEL, open, panel), p, j, 0, ALL, x,
                                      NULL, 0);
  }
}

template <int OP, int QUADS, int GROUPS>
static void launch_kernel(const kaon_launch *launch, const block_call &a) {
  const int panels = (a.quads + PANEL - 1) / PANEL;
  const size_t one = (size_t)(matrices<OP>() * a.quads * PANEL * 32) * sizeof(entry);
  block_call call = a;
  call.panels = one * (size_t)panels <= PANEL_BYTES ? panels : 1;
  const size_t bytes = one * (size_t)call.panels;
  const int64_t warps = THREADS / 32, turns = (a.tiles + warps - 1) / warps;
  if (bytes > 48 << 10)
    cudaFuncSetAttribute((const void *)block_kernel<OP, QUADS, GROUPS>,
                         cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  block_kernel<OP, QUADS, GROUPS><<<(unsigned)(turns < MOST_BLOCKS ? turns : MOST_BLOCKS), THREADS,
                                    bytes, (cudaStream_t)launch->queue>>>(call);
}

template <int OP>
static void launch_block(const kaon_launch *launch, const kaon_update_args *args) {
  block_call a = {};
  a.w = items_of(&args->shape);
  a.vectors = OP == AXPY ? 2 : args->v[1].data == NULL ? 1 : args->v[2].data == NULL ? 2 : 3;
  a.complex_space = args->shape.complex_space;
  a.quads = args->shape.nrhs <= 4 * PANEL ? PANEL : (args->shape.nrhs + 3) / 4;
  a.tiles = KAON_IS_HALF ? args->shape.nblocks * (KAON_LANES / PLACES) : a.w.count / PLACES;
  for (int i = 0; i < MATRICES; i++) {
    a.v[i] = args->v[i];
    a.slot[i] = args->c.slot[i];
    a.sign[i] = args->c.sign[i];
  }
  a.state = args->c.state;
  a.gate = args->gate;
  enum { FEW = PANEL, SOME = 2 * PANEL, ALL_QUADS = KAON_BLOCK_MAX / 4 };
  if (KAON_IS_HALF && a.quads <= FEW && a.w.groups == SPINOR_GROUPS && a.w.pack == NUMBERS)
    launch_kernel<OP, FEW, KAON_IS_HALF ? SPINOR_GROUPS : 1>(launch, a);
  else if (a.quads <= FEW)
    launch_kernel<OP, FEW, 1>(launch, a);
  else if (a.quads <= SOME)
    launch_kernel<OP, SOME, 1>(launch, a);
  else
    launch_kernel<OP, ALL_QUADS, 1>(launch, a);
}

extern "C" void KAON_EXPORT(kaon_block_rotate)(const kaon_launch *launch,
                                               const kaon_update_args *args) {
  launch_block<ROTATE>(launch, args);
}

/* The norms, if wanted, are computed in a separate sweep. */
extern "C" void KAON_EXPORT(kaon_block_axpy)(const kaon_launch *launch,
                                             const kaon_update_args *args) {
  launch_block<AXPY>(launch, args);
  if (args->sum.state == NULL) return;
  kaon_update_args sums = *args;
  sums.v[0] = args->v[1];
  sums.sum.slot[2] = args->sum.slot[0];
  sums.sum.slot[0] = KAON_NO_SLOT;
  KAON_EXPORT(kaon_dot)(launch, &sums);
}
