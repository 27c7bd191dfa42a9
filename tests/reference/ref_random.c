/* ref_random.c - random numbers, links, spinors (test oracle).
 * Generators: splitmix64 (Steele, Lea, Flood, OOPSLA 2014) seeding xoshiro256** (Blackman, Vigna,
 * ACM Trans. Math. Softw. 47 (2021) 36). The streams are not those of the library. */
#include "reference.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static uint64_t splitmix64(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k) {
  return (x << k) | (x >> (64 - k));
}

void ref_rng_seed(ref_rng *r, uint64_t seed) {
  for (int i = 0; i < 4; i++) r->s[i] = splitmix64(&seed);
}

static uint64_t next(ref_rng *r) {
  uint64_t *s = r->s;
  const uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

double ref_uniform(ref_rng *r) {
  return (double)(next(r) >> 11) * 0x1p-53;
}

double ref_gauss(ref_rng *r) {
  double radius = sqrt(-2 * log(1 - ref_uniform(r)));
  return radius * cos(2 * pi * ref_uniform(r));
}

static void normalise(ref_complex *row) {
  double inv = 1 / sqrt(ref_norm2(row, 3));
  for (int i = 0; i < 3; i++) row[i] *= inv;
}

/* Row 1 normalised, row 2 orthonormalised against it, row 0 completes SU(3): the contract's order.
 * det U = 1 needs row 0 = conj(row 1 x row 2). */
static void complete_from_rows_1_2(ref_complex u[9]) {
  ref_complex *r0 = u, *r1 = u + 3, *r2 = u + 6;
  normalise(r1);
  ref_complex overlap = ref_dot(r1, r2, 3);
  for (int i = 0; i < 3; i++) r2[i] -= overlap * r1[i];
  normalise(r2);
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    r0[i] = conj(r1[j] * r2[k] - r1[k] * r2[j]);
  }
}

/* Two gaussian rows, orthonormalised: Haar measure. */
void ref_random_su3(ref_rng *r, ref_complex u[9]) {
  for (int i = 3; i < 9; i++) {
    double re = ref_gauss(r), im = ref_gauss(r);
    u[i] = re + I * im;
  }
  complete_from_rows_1_2(u);
}

void ref_random_matrices(ref_complex *u, size_t count, uint64_t seed) {
  ref_rng r;
  ref_rng_seed(&r, seed);
  for (size_t i = 0; i < count; i++) ref_random_su3(&r, u + 9 * i);
}

void ref_random_links(const ref_lattice *L, ref_complex *u, uint64_t seed) {
  ref_random_matrices(u, 4 * ref_volume(L), seed);
}

void ref_unit_links(const ref_lattice *L, ref_complex *u) {
  for (size_t i = 0; i < ref_links_size(L); i++) u[i] = (i % 9) % 4 == 0;
}

/* weak:EPS:SEED of docs/conventions.md (the meaning; the random stream is this file's). */
void ref_weak_links(const ref_lattice *L, ref_complex *u, double eps, uint64_t seed) {
  ref_rng r;
  ref_rng_seed(&r, seed);
  for (size_t link = 0; link < 4 * ref_volume(L); link++) {
    ref_complex *v = u + 9 * link;
    for (int i = 3; i < 9; i++) {
      double re = 2 * ref_uniform(&r) - 1, im = 2 * ref_uniform(&r) - 1;
      v[i] = (i == 4 || i == 8) + eps * (re + I * im);
    }
    complete_from_rows_1_2(v);
  }
}

void ref_random_spinor(const ref_lattice *L, ref_complex *psi, uint64_t seed) {
  ref_rng r;
  ref_rng_seed(&r, seed);
  for (size_t i = 0; i < ref_spinor_size(L); i++) {
    double re = ref_gauss(&r), im = ref_gauss(&r);
    psi[i] = re + I * im;
  }
}

void ref_point_source(const ref_lattice *L, ref_complex *psi, const int x[4], int spin,
                      int colour) {
  for (size_t i = 0; i < ref_spinor_size(L); i++) psi[i] = 0;
  psi[12 * ref_site(L, x) + 3 * (size_t)spin + (size_t)colour] = 1;
}
