/* ref_lattice.c - lexicographic site index, neighbours, parity, allocation (test oracle). */
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>

ref_lattice ref_lattice_make(int nx, int ny, int nz, int nt) {
  ref_lattice L = {{nx, ny, nz, nt}};
  return L;
}

size_t ref_volume(const ref_lattice *L) {
  return (size_t)L->n[0] * (size_t)L->n[1] * (size_t)L->n[2] * (size_t)L->n[3];
}

size_t ref_links_size(const ref_lattice *L) {
  return 36 * ref_volume(L);
}

size_t ref_spinor_size(const ref_lattice *L) {
  return 12 * ref_volume(L);
}

size_t ref_site(const ref_lattice *L, const int x[4]) {
  return (size_t)x[0] +
         (size_t)L->n[0] *
             ((size_t)x[1] + (size_t)L->n[1] * ((size_t)x[2] + (size_t)L->n[2] * (size_t)x[3]));
}

void ref_coords(const ref_lattice *L, size_t site, int x[4]) {
  for (int mu = 0; mu < 4; mu++) {
    x[mu] = (int)(site % (size_t)L->n[mu]);
    site /= (size_t)L->n[mu];
  }
}

int ref_parity(const ref_lattice *L, size_t site) {
  int x[4];
  ref_coords(L, site, x);
  return (x[0] + x[1] + x[2] + x[3]) & 1;
}

size_t ref_shift(const ref_lattice *L, size_t site, int mu, int steps) {
  int x[4];
  ref_coords(L, site, x);
  x[mu] = ((x[mu] + steps) % L->n[mu] + L->n[mu]) % L->n[mu];
  return ref_site(L, x);
}

void *ref_alloc(size_t count, size_t size) {
  void *p = calloc(count ? count : 1, size);
  if (!p) {
    fprintf(stderr, "reference: no memory for %zu x %zu bytes\n", count, size);
    exit(70);
  }
  return p;
}

ref_complex *ref_new(size_t count) {
  return ref_alloc(count, sizeof(ref_complex));
}
