/* sites.h - links and matrices at a thread's site and along its paths, on the GPU. With
 * lib/cuda/memory/site_steps.h it provides what lib/math/link_paths.h needs. The stencil is a copy
 * in the kernel's arguments. */
#pragma once

#include "lib/core/kernel.h"
#include "lib/cuda/memory/access.h"
#include "lib/cuda/memory/site_steps.h"
#include "lib/math/su3_matrix.h"

/* The block of U_mu that contains a site; the block of a field of `ncomp` reals. */
KAON_MATH real *sites_link_block(const kaon_stencil *st, void *links, unsigned rank, int mu) {
  const int64_t block = mu * kaon_link_blocks(kaon_matrix_blocks(st)) + rank / KAON_LANES;
  return (real *)links + block * 18 * KAON_LANES;
}

KAON_MATH real *sites_block(void *field, unsigned rank, int ncomp) {
  return (real *)field + (int64_t)(rank / KAON_LANES) * ncomp * KAON_LANES;
}

/* U_mu at the site; links[parity] in 18 reals. */
KAON_MATH void sites_link(const kaon_stencil *st, const void *const links[2], const vsites *s,
                          int mu, vsu3 *u) {
  const unsigned rank = sites_rank(st, s);
  void *of_parity = (void *)(s->parity ? links[1] : links[0]);
  site_read<real, 18>(sites_link_block(st, of_parity, rank, mu), rank % KAON_LANES, (real *)u);
}

/* A site field of 3x3 matrices (a gauge transformation). */
KAON_MATH void sites_matrix(const kaon_stencil *st, const void *const field[2], const vsites *s,
                            vsu3 *g) {
  const unsigned rank = sites_rank(st, s);
  void *of_parity = (void *)(s->parity ? field[1] : field[0]);
  site_read<real, 18>(sites_block(of_parity, rank, 18), rank % KAON_LANES, (real *)g);
}

/* Stores U_mu at local site i. */
KAON_MATH void sites_store_link(const kaon_stencil *st, void *links, int64_t i, int mu,
                                const vsu3 *u) {
  const unsigned rank = (unsigned)i;
  site_write<real, 18>(sites_link_block(st, links, rank, mu), rank % KAON_LANES, (const real *)u);
}

KAON_MATH void sites_store_matrix(void *field, int64_t i, const vsu3 *g) {
  const unsigned rank = (unsigned)i;
  site_write<real, 18>(sites_block(field, rank, 18), rank % KAON_LANES, (const real *)g);
}
