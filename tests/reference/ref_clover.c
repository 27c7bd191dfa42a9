/* ref_clover.c - the clover term as a 12x12 matrix a site and its chiral blocks (test oracle).
 * A = 1 - (kappa csw / 2) sum over ordered pairs of sigma_{mu nu} F_{mu nu} (Sheikholeslami,
 * Wohlert, Nucl. Phys. B 259 (1985) 572; Luescher et al., Nucl. Phys. B 478 (1996) 365). */
#include "reference.h"

#include <math.h>

#include "tests/util/max_error.h"

void ref_clover_site(const ref_lattice *L, const ref_complex *u, double kappa, double csw,
                     double electric, ref_basis basis, size_t site, ref_complex a[144]) {
  for (int i = 0; i < 144; i++) a[i] = i % 13 == 0;
  for (int mu = 0; mu < 4; mu++)
    for (int nu = 0; nu < 4; nu++) {
      if (mu == nu) continue;
      const double c = mu == 3 || nu == 3 ? csw * electric : csw;
      ref_complex f[9], sigma[16];
      ref_field_strength(L, u, site, mu, nu, f);
      ref_sigma(basis, mu, nu, sigma);
      for (int s = 0; s < 4; s++)
        for (int r = 0; r < 4; r++)
          for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
              a[12 * (3 * s + i) + 3 * r + j] -= 0.5 * kappa * c * sigma[4 * s + r] * f[3 * i + j];
    }
}

/* Rows of the change to the chiral basis: state (chirality, s) = (upper_s +- lower_s) / sqrt(2). */
static ref_complex chiral_element(const ref_complex a[144], int sign_row, int row, int sign_column,
                                  int column) {
  int i = row, j = column, ii = row + 6, jj = column + 6;
  return 0.5 * (a[12 * i + j] + sign_column * a[12 * i + jj] + sign_row * a[12 * ii + j] +
                sign_row * sign_column * a[12 * ii + jj]);
}

double ref_chiral_blocks(const ref_complex a[144], ref_complex plus[36], ref_complex minus[36]) {
  double outside = 0;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      plus[6 * i + j] = chiral_element(a, 1, i, 1, j);
      minus[6 * i + j] = chiral_element(a, -1, i, -1, j);
      outside = larger(outside, cabs(chiral_element(a, 1, i, -1, j)));
      outside = larger(outside, cabs(chiral_element(a, -1, i, 1, j)));
    }
  return outside;
}
