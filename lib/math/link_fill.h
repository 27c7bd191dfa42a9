/* link_fill.h - random and weak links. Rows 1 and 2 are drawn, orthonormalised and completed to
 * SU(3). A link depends only on seed, site and mu. */
#pragma once

#include "lib/math/philox.h"
#include "lib/math/su3_matrix.h"

/* Draws rows 1 and 2 of one link, before orthonormalisation; component (row - 1) * 6 + col * 2 +
 * reim. weak = 0: Gaussian, so that the link becomes Haar distributed. weak = 1: within eps of the
 * unit matrix. */
static inline KAON_HD void kaon_draw_rows(int weak, double eps, uint64_t seed, int64_t site, int mu,
                                          double rows[12]) {
  for (uint32_t pair = 0; pair < 6; pair++) {
    if (!weak) {
      kaon_gauss_pair(kaon_random_bits(seed, site, KAON_STREAM_RANDOM, mu, 0, pair),
                      rows + 2 * pair);
      continue;
    }
    const kaon_philox r = kaon_random_bits(seed, site, KAON_STREAM_WEAK, mu, 0, pair);
    rows[2 * pair] = eps * (2 * kaon_uniform(r.v[0], r.v[1]) - 1);
    rows[2 * pair + 1] = eps * (2 * kaon_uniform(r.v[2], r.v[3]) - 1);
  }
  if (weak) {
    rows[2] += 1;  /* element (1, 1) */
    rows[10] += 1; /* element (2, 2) */
  }
}

/* u = the link that these rows yield. */
KAON_MATH void link_from_rows(const vreal rows[12], vsu3 *u) {
  su3_zero(u);
  for (int i = 0; i < 12; i++) ((vreal *)u)[6 + i] = rows[i];
  su3_project(u, 1);
  su3_project(u,
              1); /* again: after one pass, nearly parallel rows are orthogonal only to 1 / sin of
                   * their angle */
}
