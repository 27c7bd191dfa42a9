/* ref_fatten.c - fat and long links, every path written out and multiplied link by link, and the
 * unitary factor of a matrix by Newton's iteration. */
#include <math.h>
#include <string.h>

#include "reference.h"
#include "tests/util/max_error.h"

/* p = p times the link of a step in direction dir (0..3 forward, 4..7 backward); the site after. */
static size_t follow(const ref_lattice *L, const ref_complex *u, size_t x, int dir,
                     ref_complex p[9]) {
  const int mu = dir % 4;
  const size_t to = ref_shift(L, x, mu, dir < 4 ? 1 : -1);
  ref_complex q[9];
  if (dir < 4)
    ref_mul(q, p, u + 9 * (4 * x + (size_t)mu));
  else
    ref_mul_na(q, p, u + 9 * (4 * to + (size_t)mu));
  memcpy(p, q, sizeof q);
  return to;
}

static void path_product(const ref_lattice *L, const ref_complex *u, size_t x, const int *path,
                         int length, ref_complex p[9]) {
  for (int i = 0; i < 9; i++) p[i] = i % 4 == 0;
  for (int i = 0; i < length; i++) x = follow(L, u, x, path[i], p);
}

/* The coefficient of the path that goes out by `bends` steps, along mu, and back by them; 0: not a
 * path of the action's. */
static double coefficient(const ref_fat_coefficients *c, int mu, int bends, const int out[3]) {
  const double by_bends[4] = {c->one, c->three, c->five, c->seven};
  for (int i = 0; i < bends; i++)
    if (out[i] % 4 == mu) return 0;
  if (bends == 2 && out[0] == out[1]) return c->lepage;
  for (int i = 0; i < bends; i++)
    for (int j = 0; j < i; j++)
      if (out[i] % 4 == out[j] % 4) return 0;
  return by_bends[bends];
}

int ref_fat_paths(const ref_fat_coefficients *c, int mu, int paths[][7], int lengths[],
                  double factors[]) {
  int count = 0;
  for (int bends = 0, choices = 1; bends <= 3; bends++, choices *= 8)
    for (int n = 0; n < choices; n++) {
      const int out[3] = {n % 8, n / 8 % 8, n / 64};
      const double factor = coefficient(c, mu, bends, out);
      if (factor == 0) continue;
      for (int i = 0; i < bends; i++) {
        paths[count][i] = out[i];
        paths[count][2 * bends - i] = (out[i] + 4) % 8;
      }
      paths[count][bends] = mu;
      lengths[count] = 2 * bends + 1;
      factors[count++] = factor;
    }
  return count;
}

void ref_fatten(const ref_lattice *L, const ref_complex *u, const ref_fat_coefficients *c,
                ref_complex *fat, ref_complex *naik) {
  static int paths[4][REF_FAT_PATHS][7], lengths[4][REF_FAT_PATHS];
  double factors[4][REF_FAT_PATHS];
  int count[4];
  for (int mu = 0; mu < 4; mu++)
    count[mu] = ref_fat_paths(c, mu, paths[mu], lengths[mu], factors[mu]);
  memset(fat, 0, ref_links_size(L) * sizeof *fat);
  for (size_t x = 0; x < ref_volume(L); x++)
    for (int mu = 0; mu < 4; mu++) {
      const int line[3] = {mu, mu, mu};
      ref_complex p[9];
      for (int n = 0; n < count[mu]; n++) {
        path_product(L, u, x, paths[mu][n], lengths[mu][n], p);
        ref_axpy(factors[mu][n], p, fat + 9 * (4 * x + (size_t)mu), 9);
      }
      if (naik == NULL) continue;
      path_product(L, u, x, line, 3, p);
      for (size_t i = 0; i < 9; i++) naik[9 * (4 * x + (size_t)mu) + i] = c->naik * p[i];
    }
}

/* W <- (s W + (s W)^-dag) / 2 (Newton); s: the root of the ratio of the norms of W^-1 and W, for
 * few steps from anywhere (Higham, SIAM J. Sci. Stat. Comput. 7 (1986) 1160). */
int ref_unitary_factor(ref_complex w[9]) {
  double change = 1, before = 2;
  for (int step = 0; step < 60; step++) {
    ref_complex inverse[9], adjoint[9];
    if (!ref_invert(3, w, inverse)) return 0;
    ref_adjoint(adjoint, inverse);
    const double s = change > 1e-2 ? pow(ref_norm2(inverse, 9) / ref_norm2(w, 9), 0.25) : 1;
    double moved = 0;
    for (int i = 0; i < 9; i++) {
      const ref_complex next = (s * w[i] + adjoint[i] / s) / 2;
      moved = larger(moved, cabs(next - w[i]));
      w[i] = next;
    }
    before = change;
    change = moved;
    if (change < 1e-15 || (change < 1e-12 && change >= before)) return 1;
  }
  return 1;
}
