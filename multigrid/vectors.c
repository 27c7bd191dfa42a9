/* vectors.c - the columns that a set-up works on: random ones, of norm 1, orthonormal. */
#include <math.h>
#include <stdlib.h>

#include "lib/core/context_internal.h"
#include "lib/math/steps/block_recurrences.h"
#include "multigrid/hierarchy.h"

/* ---- random numbers ---- */

static kaon_status fill_columns(kaon_vector *v, int first, kaon_random_args *args) {
  kaon_launch launch;
  for (args->column = first; args->column < v->nrhs; args->column++) {
    KAON_TRY(kaon_launch_prepare(v->ctx, v->nrhs, 0, &launch));
    v->ctx->backend->transfer[KAON_DOUBLE]->random(&launch, args);
    KAON_TRY(kaon_vector_import_device(v, args->column, args->to, KAON_BASIS_UKQCD));
  }
  return KAON_OK;
}

kaon_status kaon_random_columns(kaon_vector *v, int first, uint64_t seed) {
  const kaon_lattice *lattice = v->space->lattice;
  kaon_random_args args = {.seed = seed, .sites = lattice->volume, .reals = v->space->ncomp};
  const size_t bytes = (size_t)args.sites * (size_t)args.reals * sizeof(double);
  void *room = NULL;
  for (int mu = 0; mu < 4; mu++) {
    args.extents[mu] = lattice->extents[mu];
    args.origin[mu] = lattice->origin[mu];
    args.global[mu] = lattice->global[mu];
  }
  /* not the pool's, which would keep it */
  kaon_status status = kaon_memory_allocate(v->ctx, bytes, &room);
  if (status == KAON_ERR_MEMORY)
    status = kaon_fail(v->ctx, KAON_ERR_MEMORY,
                       "multigrid: out of memory on %s for a random column of %zu bytes; take a "
                       "smaller lattice, or more ranks",
                       v->ctx->device, bytes);
  status = kaon_agree(v->ctx, status);
  args.to = room;
  if (status == KAON_OK) status = fill_columns(v, first, &args);
  if (room != NULL) v->ctx->backend->memory->release(v->ctx, room, bytes);
  return status;
}

/* ---- norms ---- */

kaon_status kaon_normalise_columns(kaon_vector *v) {
  double norm2[KAON_BLOCK_MAX], factor[KAON_BLOCK_MAX][2];
  KAON_TRY(kaon_vector_norm2(v, norm2));
  for (int k = 0; k < v->nrhs; k++) {
    factor[k][0] = norm2[k] > 0 ? 1 / sqrt(norm2[k]) : 1;
    factor[k][1] = 0;
  }
  return kaon_vector_scale((const double(*)[2])factor, v);
}

/* ---- orthonormal columns ---- */

typedef struct complex_number {
  double re, im;
} complex_number;

static complex_number times_conjugate(complex_number a, complex_number b) { /* conj(a) b */
  return (complex_number){a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}
static complex_number product(complex_number a, complex_number b) {
  return (complex_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* G = R^dagger R in place, row by row: R is upper triangular. A column that depends on those before
 * it gets the pivot 0. */
static void factor(complex_number *g, int n) {
  for (int i = 0; i < n; i++) {
    const double whole = g[i * n + i].re;
    for (int k = 0; k < i; k++) {
      const complex_number r = g[k * n + i];
      g[i * n + i].re -= r.re * r.re + r.im * r.im;
    }
    const double pivot = g[i * n + i].re > 1e-10 * whole ? sqrt(g[i * n + i].re) : 0;
    for (int j = i + 1; j < n; j++) {
      for (int k = 0; k < i; k++) {
        const complex_number p = times_conjugate(g[k * n + i], g[k * n + j]);
        g[i * n + j].re -= p.re;
        g[i * n + j].im -= p.im;
      }
      g[i * n + j].re *= pivot > 0 ? 1 / pivot : 0;
      g[i * n + j].im *= pivot > 0 ? 1 / pivot : 0;
    }
    g[i * n + i] = (complex_number){pivot, 0};
  }
}

/* t = R^-1, upper triangular; columns of dependent vectors are those of the identity. */
static void invert(const complex_number *r, int n, complex_number *t) {
  for (int j = 0; j < n; j++) {
    const double pivot = r[j * n + j].re;
    for (int i = 0; i < n; i++) t[i * n + j] = (complex_number){0, 0};
    t[j * n + j].re = pivot > 0 ? 1 / pivot : 1;
    for (int i = j - 1; i >= 0 && pivot > 0; i--) {
      complex_number sum = {0, 0};
      for (int k = i + 1; k <= j; k++) {
        const complex_number p = product(r[i * n + k], t[k * n + j]);
        sum.re += p.re;
        sum.im += p.im;
      }
      if (r[i * n + i].re > 0)
        t[i * n + j] = (complex_number){-sum.re / r[i * n + i].re, -sum.im / r[i * n + i].re};
    }
  }
}

/* The matrix in the states of n columns, read and written as that of kaon_blas_gram. */
static kaon_status orthonormalise(kaon_vector *v, kaon_scalars *scalars, kaon_column_state *host,
                                  complex_number *g, complex_number *t) {
  const int n = v->nrhs;
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  for (int k = 0; k < n; k++) host[k].gate = KAON_GATE_STEP;
  KAON_TRY(kaon_scalars_write(scalars, host));
  KAON_TRY(kaon_blas_gram(v, v, 1, KAON_S_GRAM, &pass));
  KAON_TRY(kaon_scalars_read(scalars, host));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      g[i * n + j] = (complex_number){host[j].slot[KAON_S_GRAM + i][0],
                                      j == i ? 0 : host[j].slot[KAON_S_GRAM + i][1]};
  factor(g, n);
  invert(g, n, t);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      host[j].slot[KAON_S_GRAM + i][0] = t[i * n + j].re;
      host[j].slot[KAON_S_GRAM + i][1] = t[i * n + j].im;
    }
  KAON_TRY(kaon_scalars_write(scalars, host));
  return kaon_blas_block_rotate(KAON_PLUS(KAON_S_GRAM), v, KAON_NUMBER(0), NULL, KAON_NUMBER(0),
                                NULL, &pass);
}

kaon_status kaon_orthonormalise_columns(kaon_vector *v) {
  const size_t n = (size_t)v->nrhs;
  KAON_AUTO(kaon_scalars_destroy) kaon_scalars *scalars = NULL;
  KAON_AUTOFREE kaon_column_state *host = calloc(n, sizeof *host);
  KAON_AUTOFREE complex_number *g = calloc(2 * n * n, sizeof *g);
  KAON_TRY(KAON_AGREE_MEMORY(v->ctx, host != NULL && g != NULL,
                             "multigrid: out of host memory for %d columns", v->nrhs));
  KAON_TRY(kaon_scalars_create(v->ctx, v->nrhs, &scalars));
  return orthonormalise(v, scalars, host, g, g + n * n);
}
