/* records.h - arrays in a host's order read and written by a warp: each lane has a record of N
 * numbers of type T somewhere, neighbouring lanes mostly side by side. The lanes go through the
 * warp's records together, so memory sees whole rows, and exchange them in shared memory: a room of
 * RECORDS_SHARED_BYTES(N) numbers of a warp, whose rows of N + 1 keep the lanes out of each other's banks
 * (N is even). All 32 lanes call; `mine` NULL: a lane without a record, which reads zeros. */
#ifndef KAON_LIB_CUDA_RECORDS_H
#define KAON_LIB_CUDA_RECORDS_H

#define RECORDS_SHARED_BYTES(n) (32 * ((n) + 1))

template <typename T>
static __device__ __forceinline__ T *record_of(T *mine, int lane) {
  return (T *)__shfl_sync(0xffffffffu, (unsigned long long)mine, lane);
}

template <typename T, int N>
static __device__ __forceinline__ void records_read(const T *mine, T *room, double *value) {
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
static __device__ __forceinline__ void records_write(T *mine, T *room, const double *value) {
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

#endif
