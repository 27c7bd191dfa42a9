/* transfer_case.h - a lattice with aggregates and a transfer, and host arrays of its vectors. Include
 * the cmocka preamble before. */
#ifndef TRANSFER_CASE_H
#define TRANSFER_CASE_H

#include <math.h>
#include <string.h>

#include "multigrid/transfer.h"
#include "tests/reference/reference.h"
#include "tests/util/dirac_case.h"

typedef struct shape {
  int extents[4], block[4], reals, turned, n, columns;
} shape;
typedef struct bed {
  const shape *s;
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_aggregates *aggregates;
  kaon_transfer *transfer;
  const kaon_space *space;
  size_t fine, coarse; /* complex numbers of a column on the whole lattice */
  double u, e;
  ref_transfer r; /* with the basis of the transfer */
} bed;

/* Takes over the context. */
static inline void bed_open_on(bed *b, kaon_context *ctx, const shape *s,
                               kaon_precision precision) {
  *b = (bed){.s = s, .ctx = ctx};
  must(b->ctx, kaon_lattice_create(b->ctx, s->extents, KAON_ANTIPERIODIC, &b->lattice));
  must(b->ctx, kaon_aggregates_create(b->lattice, s->block, &b->aggregates));
  b->space = kaon_lattice_space(b->lattice, KAON_FULL, s->reals, 1);
  must(b->ctx, kaon_transfer_create(b->aggregates, b->space,
                                    s->turned ? KAON_HALVES_TURNED : KAON_HALVES_COMPONENTS, s->n,
                                    precision, &b->transfer));
  b->r = (ref_transfer){.numbers = s->reals / 2, .turned = s->turned, .n = s->n};
  memcpy(b->r.L.n, s->extents, sizeof b->r.L.n);
  memcpy(b->r.block, s->block, sizeof b->r.block);
  b->fine = ref_volume(&b->r.L) * (size_t)b->r.numbers;
  b->coarse = ref_aggregates(&b->r) * 2 * (size_t)s->n;
  b->u = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  b->e = precision == KAON_HALF ? 0.51 * sqrt(s->reals) / 32767 : 0;
}

static inline void bed_open(bed *b, int machine, const shape *s, kaon_precision precision,
                            int threads) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = threads;
  must(NULL, machine_open(machine, options, &ctx));
  bed_open_on(b, ctx, s, precision);
}

static inline void bed_close(bed *b) {
  if (b->r.v != NULL) case_free_columns((ref_complex **)b->r.v, b->s->n);
  kaon_transfer_destroy(&b->transfer);
  kaon_aggregates_destroy(&b->aggregates);
  kaon_lattice_destroy(&b->lattice);
  kaon_context_destroy(&b->ctx);
}

/* 0: the machine is not there. */
static inline int has(int machine) {
  return !machine_lacks(machine);
}

static inline kaon_vector *vector_of(const bed *b, const kaon_space *space,
                                     kaon_precision precision, int columns) {
  kaon_vector *v = NULL;
  must(b->ctx, kaon_vector_create(b->ctx, space, precision, columns, &v));
  return v;
}

static inline void import(const bed *b, kaon_vector *v, ref_complex *const *psi) {
  for (int k = 0; k < v->nrhs; k++)
    must(b->ctx, kaon_vector_import(v, k, (const double *)psi[k], KAON_BASIS_UKQCD));
}

static inline size_t numbers_of(const kaon_vector *v) {
  return (size_t)v->space->nsites * (size_t)v->space->ncomp / 2;
}

static inline ref_complex **export(const bed *b, const kaon_vector *v) {
  ref_complex **psi = ref_alloc((size_t)v->nrhs, sizeof *psi);
  for (int k = 0; k < v->nrhs; k++) {
    psi[k] = ref_new(numbers_of(v));
    must(b->ctx, kaon_vector_export(v, k, (double *)psi[k], KAON_BASIS_UKQCD));
  }
  return psi;
}

/* Random columns. */
static inline kaon_vector *random_vector(const bed *b, const kaon_space *space,
                                         kaon_precision precision, int columns, uint64_t seed) {
  kaon_vector *v = vector_of(b, space, precision, columns);
  ref_complex *psi = ref_new(numbers_of(v));
  for (int k = 0; k < columns; k++) {
    for (size_t i = 0; i < numbers_of(v); i++) {
      const double re = test_uniform(&seed);
      psi[i] = re + I * test_uniform(&seed);
    }
    must(b->ctx, kaon_vector_import(v, k, (const double *)psi, KAON_BASIS_UKQCD));
  }
  free(psi);
  return v;
}

#endif
