/* spin_basis.c - Contract: spin_basis.h. */
#include "lib/io/spin_basis.h"

const kaon_spin_row kaon_ukqcd_to_degrand_rossi[4] = {
    {{1, 3}, {1, 1}}, {{0, 2}, {-1, -1}}, {{1, 3}, {1, -1}}, {{0, 2}, {-1, 1}}};
const kaon_spin_row kaon_degrand_rossi_to_ukqcd[4] = {
    {{1, 3}, {-1, -1}}, {{0, 2}, {1, 1}}, {{1, 3}, {-1, 1}}, {{0, 2}, {1, -1}}};

void kaon_spin_rotate(const kaon_spin_row rows[4], double factor, const double in[24],
                      double out[24]) {
  for (int s = 0; s < 4; s++) {
    const double *a = in + 6 * rows[s].from[0], *b = in + 6 * rows[s].from[1];
    for (int c = 0; c < 6; c++) {
      out[6 * s + c] = factor * (rows[s].sign[0] * a[c] + rows[s].sign[1] * b[c]);
    }
  }
}
