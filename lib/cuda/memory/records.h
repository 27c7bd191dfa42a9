/* records.h - a warp reads and writes arrays in the host's order. Each lane has a record of N
 * values of type T; records of neighbouring lanes are mostly adjacent.
 * The lanes go through the records of the warp together, so memory accesses cover whole rows. They
 * exchange the values in shared memory: RECORDS_SHARED_BYTES(N) values for each warp, in rows of N
 * + 1 to avoid bank conflicts (N is even). All 32 lanes call these functions. A lane with `mine`
 * NULL has no record and reads zeros. */
#pragma once

#include "lib/vector/layout.h"

#define RECORDS_SHARED_BYTES(n) (32 * ((n) + 1))

template <typename T>
KAON_DEVICE T *record_of(T *mine, int lane) {
  return (T *)__shfl_sync(0xffffffffu, (unsigned long long)mine, lane);
}

template <typename T, int N>
KAON_DEVICE void records_read(const T *mine, T *room, double *value) {
  const int lane = threadIdx.x % 32;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < N; i++) {
    const int owner = (32 * i + lane) / N, c = (32 * i + lane) % N;
    const T *from = record_of(mine, owner);
    room[owner * (N + 1) + c] = from != NULL ? from[c] : (T)0;
  }
  __syncwarp();
#pragma unroll
  for (int c = 0; c < N; c++) value[c] = (double)room[lane * (N + 1) + c];
}

template <typename T, int N>
KAON_DEVICE void records_write(T *mine, T *room, const double *value) {
  const int lane = threadIdx.x % 32;
  __syncwarp();
#pragma unroll
  for (int c = 0; c < N; c++) room[lane * (N + 1) + c] = (T)value[c];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < N; i++) {
    const int owner = (32 * i + lane) / N, c = (32 * i + lane) % N;
    T *to = record_of(mine, owner);
    if (to != NULL) to[c] = room[owner * (N + 1) + c];
  }
}
