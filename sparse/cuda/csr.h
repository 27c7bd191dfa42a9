/* csr.h - how a thread block processes rows in CSR (csr.cu). 1 to 32 adjacent threads share a row:
 * they take its entries alternately and add their sums by shuffles. */
#pragma once

#include "sparse/cuda/rows.h"

template <int REALS, int COLS>
static __host__ __device__ constexpr int csr_batch() {
  return COLS > 1 ? 2 : 4;
}

typedef struct row_range {
  int64_t begin, end; /* entries */
} row_range;

KAON_DEVICE row_range row_read(const rows_call &a, unsigned row) {
  row_range r = {0, 0};
  if (row >= (unsigned)a.rows) return r;
  r.begin = start_read(a, row);
  r.end = start_read(a, row + 1);
  return r;
}

/* Entries i, i + lanes, ... below `end` of a row. */
template <int REALS, int HALF, int COLS, bool GHOSTS>
KAON_DEVICE void row_batch(const rows_call &a, const columns &cols, int64_t i, int64_t end,
                           uint64_t policy, kaon_packet<real, REALS> *s) {
  constexpr int BATCH = csr_batch<REALS, COLS>();
  int32_t c[BATCH];
  entry<REALS, HALF> v[BATCH];
  kaon_packet<real, REALS> x[BATCH][COLS];
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (i + u * a.lanes < end) c[u] = column_read(a.column + i + u * a.lanes, policy);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (i + u * a.lanes < end) v[u] = entry_read<REALS, HALF>(a.value, i + u * a.lanes, policy);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (i + u * a.lanes < end) {
      const kaon_packet<real, REALS> *from =
          source_of<REALS, COLS == 1, GHOSTS>(a, c[u]) + (COLS == 1 ? 0 : cols.first * KAON_LANES);
#pragma unroll
      for (int k = 0; k < COLS; k++)
        if (COLS == 1 || k < cols.count) x[u][k] = from[k * KAON_LANES];
    }
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (i + u * a.lanes < end) {
      const kaon_packet<real, REALS> n = entry_number<REALS, HALF>(v[u]);
#pragma unroll
      for (int k = 0; k < COLS; k++)
        if (COLS == 1 || k < cols.count) number_add<REALS>(&s[k], n, x[u][k]);
    }
}

/* The rows of a chunk, for the open columns of cols. sum: this thread's, if there is one column.
 * All threads must call it. */
template <int REALS, int COLS>
KAON_DEVICE void csr_chunk(const rows_call &a, const columns &cols, int chunk, uint64_t policy,
                           double *sum) {
  constexpr int BATCH = csr_batch<REALS, COLS>();
  typedef kaon_packet<real, REALS> number;
  const int lane = threadIdx.x & (a.lanes - 1);
  const unsigned end = (unsigned)a.last * KAON_LANES, tile = KAON_THREADS >> a.shift;
  unsigned base = (unsigned)a.first * KAON_LANES + chunk * tile; /* up to 2^32 including a step */
  for (; base < end; base += a.chunks * tile) {
    const unsigned row = base + (threadIdx.x >> a.shift);
    const row_range mine = row_read(a, row < end ? row : (unsigned)a.rows); /* none */
    number s[COLS] = {};
#pragma unroll 1
    for (int64_t i = mine.begin + lane; i < mine.end; i += a.lanes * BATCH) {
#if defined(KAON_PREC_SINGLE)
      if (a.half) {
        row_batch<REALS, 1, COLS, true>(a, cols, i, mine.end, policy, s);
        continue;
      }
#endif
      if (a.ghosts != NULL)
        row_batch<REALS, 0, COLS, true>(a, cols, i, mine.end, policy, s);
      else
        row_batch<REALS, 0, COLS, false>(a, cols, i, mine.end, policy, s);
    }
    for (int other = a.lanes / 2; other > 0; other /= 2)
#pragma unroll
      for (int k = 0; k < COLS; k++)
#pragma unroll
        for (int c = 0; c < REALS; c++) s[k].v[c] += __shfl_xor_sync(0xffffffffu, s[k].v[c], other);
    if (lane != 0 || row >= end) continue;
    const real scale = a.half ? row_scale<1>(a, (int)row) : (real)1;
    if constexpr (COLS == 1) {
      row_end<REALS>(a, row, scale, s[0], sum);
    } else {
      const int64_t to = number_at(a, (int)row) + cols.first * KAON_LANES;
#pragma unroll
      for (int k = 0; k < COLS; k++)
        if (cols.open >> k & 1) row_end<REALS>(a, to + k * KAON_LANES, scale, s[k]);
    }
  }
}
