/* coarse_case.c - Contract: coarse_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "tests/util/coarse_case.h"
#include "tests/util/partition.h"

void coarse_open(coarse_case *c, kaon_context *ctx, const int extents[4], int reals,
                 uint64_t seed) {
  const ref_lattice L = ref_lattice_make(extents[0], extents[1], extents[2], extents[3]);
  *c = (coarse_case){.ctx = ctx, .reals = reals};
  must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &c->lattice));
  c->r = ref_coarse_random(&L, reals / 2, seed);
}

void coarse_close(coarse_case *c) {
  ref_coarse_free(&c->r);
  kaon_lattice_destroy(&c->lattice);
  kaon_context_destroy(&c->ctx);
}

size_t coarse_size(const coarse_case *c) {
  return ref_volume(&c->r.L) * (size_t)c->r.numbers;
}

ref_complex *coarse_random(const coarse_case *c, uint64_t seed) {
  ref_complex *psi = ref_new(coarse_size(c));
  ref_rng r;
  ref_rng_seed(&r, seed);
  for (size_t i = 0; i < coarse_size(c); i++) {
    const double re = ref_gauss(&r), im = ref_gauss(&r);
    psi[i] = re + I * im;
  }
  return psi;
}

/* This rank's part of numbers of the whole lattice. */
static void import_column(const coarse_case *c, kaon_vector *v, int column,
                          const ref_complex *whole) {
  const size_t n = (size_t)c->r.numbers, sites = (size_t)c->lattice->volume;
  ref_complex *part = ref_new(sites * n);
  for (size_t i = 0; i < sites; i++) {
    const size_t at = (size_t)partition_site(c->lattice, (int64_t)i);
    for (size_t k = 0; k < n; k++) part[i * n + k] = whole[at * n + k];
  }
  must(c->ctx, kaon_vector_import(v, column, (double *)part, KAON_BASIS_UKQCD));
  free(part);
}

void coarse_import(const coarse_case *c, const kaon_coarse_links *links) {
  const size_t n = (size_t)c->r.numbers, sites = ref_volume(&c->r.L);
  ref_complex *column = ref_new(sites * n);
  for (int m = 0; m < 9; m++)
    for (size_t j = 0; j < n; j++) {
      for (size_t site = 0; site < sites; site++)
        for (size_t i = 0; i < n; i++)
          column[site * n + i] = ref_coarse_matrix(&c->r, m, site)[i * n + j];
      import_column(c, m == 8 ? links->inside : links->hop[m], (int)j, column);
    }
  free(column);
}

kaon_operator *coarse_operator(const coarse_case *c, kaon_precision precision_links,
                               kaon_precision precision, int half_matrices) {
  kaon_coarse_links links;
  kaon_operator *A = NULL;
  must(c->ctx, kaon_coarse_links_create(c->lattice, c->reals, precision_links, &links));
  coarse_import(c, &links);
  must(c->ctx, kaon_coarse_create(&links, precision, half_matrices, &A));
  assert_null(links.inside);
  return A;
}

kaon_vector *coarse_vector(const coarse_case *c, kaon_parity parity, kaon_precision precision,
                           int columns) {
  const kaon_space *space = kaon_lattice_space(c->lattice, parity, c->reals, 1);
  kaon_vector *v = NULL;
  must(c->ctx, kaon_vector_create(c->ctx, space, precision, columns, &v));
  return v;
}

kaon_vector *coarse_noise(const coarse_case *c, kaon_parity parity, kaon_precision precision,
                          int columns, uint64_t seed) {
  kaon_vector *v = coarse_vector(c, parity, precision, columns);
  for (int k = 0; k < columns; k++) {
    ref_complex *psi = coarse_random(c, seed + (uint64_t)k);
    import_column(c, v, k, psi);
    free(psi);
  }
  return v;
}

ref_complex *coarse_export(const coarse_case *c, const kaon_vector *v, int column) {
  ref_complex *psi = ref_new((size_t)c->lattice->volume * (size_t)c->r.numbers);
  must(c->ctx, kaon_vector_export(v, column, (double *)psi, KAON_BASIS_UKQCD));
  return psi;
}
