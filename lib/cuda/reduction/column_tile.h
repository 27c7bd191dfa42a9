/* column_tile.h - the right-hand sides of a block of threads that share its loads: up to `most` of
 * them, side by side. */
#pragma once

#include "lib/cuda/reduction/reduce.h"

/* open: one bit for each right-hand side that the gate leaves open. */
typedef struct column_tile {
  int first, count;
  uint32_t open;
} column_tile;

static inline int column_tiles(int nrhs, int most) {
  return (nrhs + most - 1) / most;
}

KAON_DEVICE column_tile column_tile_of(const kaon_gate &gate, int tile, int nrhs, int most) {
  column_tile c;
  c.first = tile * most;
  c.count = min(most, nrhs - c.first);
  c.open = 0;
  for (int k = 0; k < c.count; k++)
    if (inner_gate_open(gate, c.first + k)) c.open |= 1u << k;
  return c;
}

/* The index of a tile's column k; beyond the last one the last one is read again. */
KAON_DEVICE int column_of(const column_tile &c, int k) {
  return c.first + min(k, c.count - 1);
}
