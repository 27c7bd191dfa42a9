/* spin_basis.h - converts between the library's UKQCD basis (docs/conventions.md) and the
 * DeGrand-Rossi basis of USQCD propagator files.
 * DeGrand-Rossi has the unimproved sign of gamma_2, as USQCD prescribes (DeTar, Edwards, Osborn,
 * "USQCD Propagator File Format Proposal", 2007):
 *   gamma_1 = [[0, i s1], [-i s1, 0]],   gamma_2 = [[0, -i s2], [i s2, 0]],
 *   gamma_3 = [[0, i s3], [-i s3, 0]],   gamma_4 = [[0, 1], [1, 0]].
 * psi_DR = S psi_UKQCD with S = [[1, 1], [1, -1]] (x) i s2 / sqrt(2). S is real and orthogonal, has
 * two entries a row, and S gamma_UKQCD S^T = gamma_DR. A propagator transforms as S G S^T. */
#pragma once

/* Row s of sqrt(2) S (or of its inverse): sign[0] e_{from[0]} + sign[1] e_{from[1]}. */
typedef struct kaon_spin_row {
  int from[2];
  double sign[2];
} kaon_spin_row;
extern const kaon_spin_row kaon_ukqcd_to_degrand_rossi[4], kaon_degrand_rossi_to_ukqcd[4];

/* out[s] = factor * sum of the row's two spins of in. in, out: [spin][colour][re,im], no aliasing.
 * factor = 1/sqrt(2) gives S; 1/2 is for a spinor that already sums two source spins. */
void kaon_spin_rotate(const kaon_spin_row rows[4], double factor, const double in[24],
                      double out[24]);
