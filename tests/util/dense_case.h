/* dense_case.h - random coarse operators, the same for every grid of ranks, and their reference.
 * Include the cmocka preamble before. */
#ifndef DENSE_CASE_H
#define DENSE_CASE_H

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/vector/space.h"
#include "multigrid/dense/dense_level.h"
#include "tests/util/test_util.h"

typedef double complex dense_number;
enum { DENSE_FIELDS = KAON_DIRS + 1 }; /* the hops, then inside */

/* What makes an operator: the same numbers on the whole lattice and on its parts. */
typedef struct dense_case {
  int extents[4], reals; /* of the whole lattice; reals of a site */
  uint64_t seed;
} dense_case;

static inline int dense_rows(const dense_case *c) {
  const int *n = c->extents;
  return n[0] * n[1] * n[2] * n[3] * c->reals / 2;
}

static inline dense_number dense_random(uint64_t seed, int64_t at) {
  uint64_t state = seed + (uint64_t)at * UINT64_C(0xd1342543de82ef95);
  const double re = test_uniform(&state);
  return re + I * test_uniform(&state);
}

/* In each row the number of inside that belongs to the next component is 2 times as large as all
 * others together can be: 9 matrices of numbers of magnitude at most sqrt 2. So rows must change
 * places in the elimination, but errors are those of a diagonally dominant matrix. */
static inline double dense_largest(const dense_case *c) {
  return 2 * DENSE_FIELDS * sqrt(2) * (c->reals / 2);
}

/* Element (i, j) of field `field` at a site of the whole lattice. */
static inline dense_number dense_element(const dense_case *c, int field, int64_t site, int i,
                                         int j) {
  const int n = c->reals / 2;
  const int64_t at = ((site * DENSE_FIELDS + field) * n + i) * n + j;
  if (field == KAON_DIRS && j == (i + 1) % n) return dense_largest(c);
  return dense_random(c->seed, at);
}

/* Index in the whole lattice of a site, moved by one step in direction dir. */
static inline int64_t dense_site(const int extents[4], const int x[4], int dir) {
  int64_t site = 0;
  for (int mu = 3; mu >= 0; mu--) {
    const int step = dir == mu ? 1 : dir == mu + 4 ? -1 : 0;
    site = site * extents[mu] + (x[mu] + step + extents[mu]) % extents[mu];
  }
  return site;
}

static inline void dense_coordinates(const int extents[4], int64_t site, int x[4]) {
  for (int mu = 0; mu < 4; mu++) {
    x[mu] = (int)(site % extents[mu]);
    site /= extents[mu];
  }
}

/* The matrix from its definition, row by row; the caller frees it. */
static inline dense_number *dense_matrix(const dense_case *c) {
  const int n = c->reals / 2, rows = dense_rows(c);
  dense_number *a = calloc((size_t)rows * (size_t)rows, sizeof *a);
  for (int row = 0; row < rows; row++) {
    int x[4];
    dense_coordinates(c->extents, row / n, x);
    for (int field = 0; field < DENSE_FIELDS; field++)
      for (int j = 0; j < n; j++)
        a[(size_t)row * (size_t)rows + (size_t)(dense_site(c->extents, x, field) * n + j)] +=
            dense_element(c, field, row / n, row % n, j);
  }
  return a;
}

/* Fills one column of a vector by a function of site and component. */
typedef dense_number dense_value(const void *user, int64_t site, int i);
static inline void dense_fill(kaon_vector *v, int column, dense_value *value, const void *user) {
  const kaon_lattice *l = v->space->lattice;
  const int n = v->space->ncomp / 2;
  dense_number *host = malloc((size_t)l->volume * (size_t)n * sizeof *host);
  for (int64_t local = 0; local < l->volume; local++) {
    int x[4];
    dense_coordinates(l->extents, local, x);
    for (int mu = 0; mu < 4; mu++) x[mu] += l->origin[mu];
    for (int i = 0; i < n; i++)
      host[local * n + i] = value(user, dense_site(l->global, x, KAON_DIRS), i);
  }
  must(v->ctx, kaon_vector_import(v, column, (const double *)host, KAON_BASIS_UKQCD));
  free(host);
}

typedef struct dense_column {
  const dense_case *c;
  int field, column;
} dense_column;

static inline dense_number dense_of_field(const void *user, int64_t site, int i) {
  const dense_column *u = user;
  return dense_element(u->c, u->field, site, i, u->column);
}

/* The right-hand side of column `column`. */
static inline dense_number dense_source(const void *user, int64_t site, int i) {
  const dense_column *u = user;
  return dense_random(u->c->seed + 99, (site * u->c->reals + i) * 1000 + u->column);
}

static inline kaon_vector *dense_vector(kaon_lattice *lattice, int reals, kaon_precision precision,
                                        int columns) {
  kaon_vector *v = NULL;
  const kaon_space *space = kaon_lattice_space(lattice, KAON_FULL, reals, 1);
  must(lattice->ctx, kaon_vector_create(lattice->ctx, space, precision, columns, &v));
  return v;
}

static inline kaon_vector *dense_sources(const dense_case *c, kaon_lattice *lattice,
                                         kaon_precision precision, int columns) {
  kaon_vector *v = dense_vector(lattice, c->reals, precision, columns);
  for (int k = 0; k < columns; k++) {
    const dense_column u = {c, 0, k};
    dense_fill(v, k, dense_source, &u);
  }
  return v;
}

static inline kaon_coarse_links dense_links(const dense_case *c, kaon_lattice *lattice) {
  kaon_coarse_links links;
  must(lattice->ctx, kaon_coarse_links_create(lattice, c->reals, KAON_DOUBLE, &links));
  for (int field = 0; field < DENSE_FIELDS; field++)
    for (int j = 0; j < c->reals / 2; j++) {
      const dense_column u = {c, field, j};
      dense_fill(field == KAON_DIRS ? links.inside : links.hop[field], j, dense_of_field, &u);
    }
  return links;
}

/* One column, of this rank's sites; the caller frees it. */
static inline dense_number *dense_export(const kaon_vector *v, int column) {
  const size_t count = (size_t)v->space->lattice->volume * (size_t)v->space->ncomp / 2;
  dense_number *host = malloc(count * sizeof *host);
  must(v->ctx, kaon_vector_export(v, column, (double *)host, KAON_BASIS_UKQCD));
  return host;
}

#endif
