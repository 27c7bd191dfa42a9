/* access.h - how CUDA kernels read and write fields (lib/vector/layout.h). The 32 lanes of a warp
 * are the lanes of a block. A lane's group of components is one access of up to 16 bytes.
 *
 *   kaon_group<T, NCOMP>()     components in a group of a field of NCOMP reals of type T
 *   site_read<T, NCOMP>(...)   loads the NCOMP components of a lane, group by group
 *   site_write<T, NCOMP>(...)  stores them
 *
 * `base` points at the unit: component 0 of lane 0 of a column of a block. NCOMP = 0: the number
 * of components is known only at run time; then components are accessed one by one, with
 * site_offset. */
#pragma once

#include <stdint.h>

#include "lib/vector/layout.h"
#include "lib/cuda/lanes.h"

template <typename T, int NCOMP>
static __host__ __device__ constexpr int kaon_group() {
  int group = KAON_ACCESS / (int)sizeof(T);
  while (group > 1 && NCOMP % group != 0) group /= 2;
  return group;
}

/* A group of components as one access. */
template <typename T, int N>
struct __align__(sizeof(T) * N) kaon_packet {
  T v[N];
};

template <typename T, int NCOMP>
KAON_DEVICE void site_read(const T *base, int lane, T *value) {
  constexpr int group = kaon_group<T, NCOMP>();
  typedef kaon_packet<T, group> packet;
  const packet *p = (const packet *)base + lane;
#pragma unroll
  for (int g = 0; g < NCOMP / group; g++) {
    const packet x = p[g * KAON_LANES];
#pragma unroll
    for (int i = 0; i < group; i++) value[g * group + i] = x.v[i];
  }
}

template <typename T, int NCOMP>
KAON_DEVICE void site_write(T *base, int lane, const T *value) {
  constexpr int group = kaon_group<T, NCOMP>();
  typedef kaon_packet<T, group> packet;
  packet *p = (packet *)base + lane;
#pragma unroll
  for (int g = 0; g < NCOMP / group; g++) {
    packet x;
#pragma unroll
    for (int i = 0; i < group; i++) x.v[i] = value[g * group + i];
    p[g * KAON_LANES] = x;
  }
}

/* The offset of component c of a lane, for fields with any number of components. */
KAON_DEVICE int site_offset(int c, int lane, int pack) {
  return lane * pack + kaon_component_offset(c, KAON_LANES, pack);
}
