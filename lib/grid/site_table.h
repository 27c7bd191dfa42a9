/* site_table.h - the lexicographic index in the whole lattice of every lane's site, for kernels
 * that need it (random numbers, slices, sources). */
#pragma once

#include "lib/vector/space.h"

/* sites[parity][block * width + lane] in device memory, -1 if the lane is masked; odd follows even
 * directly. Kernels that compute indices themselves (computed_neighbours) have no table: both are
 * NULL. */
typedef struct kaon_site_table {
  kaon_context *ctx;
  int64_t *sites[2];
} kaon_site_table;

/* Errors: MEMORY. `table` may be released after success and after failure. */
kaon_status kaon_site_table_create(const kaon_lattice *lattice, kaon_site_table *table);
void kaon_site_table_release(kaon_site_table *table);

/* Site index x + X (y + Y (z + Z t)) and back. */
static inline int64_t kaon_site_index(const int extents[4], const int site[4]) {
  return site[0] + (int64_t)extents[0] *
                       (site[1] + (int64_t)extents[1] * (site[2] + (int64_t)extents[2] * site[3]));
}

static inline void kaon_site_coordinates(const int extents[4], int64_t number, int site[4]) {
  for (int mu = 0; mu < 4; mu++) {
    site[mu] = (int)(number % extents[mu]);
    number /= extents[mu];
  }
}
