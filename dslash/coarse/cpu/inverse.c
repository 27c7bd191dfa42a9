/* inverse.c - inverses of the matrices at the sites of a coarse lattice on the CPU (coarse_ops.h):
 * Gauss and Jordan's elimination in place, with row pivots, in double, a site at a time. */
#include "dslash/coarse/cpu/kernels.h"

#include <math.h>
#include <string.h>

enum { INVERSE_MOST = KAON_COARSE_REALS / 2, FOUR = 4 };

typedef double four __attribute__((vector_size(FOUR * sizeof(double)), aligned(8)));

/* A row has its real parts, then its imaginary ones, in whole groups of four. */
typedef struct elimination {
  int n, padded;
  double row[INVERSE_MOST][2 * INVERSE_MOST];
  int pivot[INVERSE_MOST];
} elimination;

static double inverse_size(const elimination *e, int i, int j) {
  const double re = e->row[i][j], im = e->row[i][e->padded + j];
  return re * re + im * im;
}

/* The largest sum of magnitudes in a column. */
static double inverse_norm(const elimination *e) {
  double largest = 0;
  for (int j = 0; j < e->n; j++) {
    double sum = 0;
    for (int i = 0; i < e->n; i++) sum += sqrt(inverse_size(e, i, j));
    if (!(sum <= largest)) largest = sum;
  }
  return largest;
}

static void inverse_load(const kaon_coarse_inverse_args *a, int64_t block, int lane,
                         elimination *e) {
  const real *from = (const real *)a->matrix.data + block * e->n * a->reals * a->width + lane;
  for (int i = 0; i < e->n; i++) memset(e->row[i], 0, 2 * (size_t)e->padded * sizeof(double));
  for (int j = 0; j < e->n; j++)
    for (int i = 0; i < e->n; i++) {
      e->row[i][j] = (double)from[(j * a->reals + 2 * i) * a->width];
      e->row[i][e->padded + j] = (double)from[(j * a->reals + 2 * i + 1) * a->width];
    }
}

static void inverse_store(const kaon_coarse_inverse_args *a, int64_t block, int lane, int there,
                          const elimination *e) {
  real *to = (real *)a->inverse.data + block * e->n * a->reals * a->width + lane;
  for (int j = 0; j < e->n; j++)
    for (int i = 0; i < e->n; i++) {
      to[(j * a->reals + 2 * i) * a->width] = there ? (real)e->row[i][j] : 0;
      to[(j * a->reals + 2 * i + 1) * a->width] = there ? (real)e->row[i][e->padded + j] : 0;
    }
}

/* row i -= (re + i im) row k, without column k */
static void inverse_subtract(elimination *e, int i, int k, double re, double im) {
  const double *x = e->row[k], *y = x + e->padded;
  double *p = e->row[i], *q = p + e->padded;
  for (int j = 0; j < e->padded; j += FOUR) {
    const four u = *(const four *)(x + j), v = *(const four *)(y + j);
    *(four *)(p + j) = *(four *)(p + j) - re * u + im * v;
    *(four *)(q + j) = *(four *)(q + j) - re * v - im * u;
  }
}

/* Finds the pivot of column k and brings its row to place k. */
static void inverse_pivot(elimination *e, int k) {
  int best = k;
  for (int i = k + 1; i < e->n; i++)
    if (inverse_size(e, i, k) > inverse_size(e, best, k)) best = i;
  e->pivot[k] = best;
  for (int j = 0; j < 2 * e->padded && best != k; j++) {
    const double was = e->row[k][j];
    e->row[k][j] = e->row[best][j];
    e->row[best][j] = was;
  }
}

/* Column k becomes that of the inverse. */
static void inverse_eliminate(elimination *e, int k) {
  const int p = e->padded;
  const double size = inverse_size(e, k, k);
  const double re = e->row[k][k] / size, im = -e->row[k][p + k] / size; /* 1 / pivot */
  e->row[k][k] = 1;
  e->row[k][p + k] = 0;
  for (int j = 0; j < e->n; j++) {
    const double x = e->row[k][j], y = e->row[k][p + j];
    e->row[k][j] = re * x - im * y;
    e->row[k][p + j] = re * y + im * x;
  }
  for (int i = 0; i < e->n; i++) {
    const double x = e->row[i][k], y = e->row[i][p + k];
    if (i == k) continue;
    e->row[i][k] = e->row[i][p + k] = 0;
    inverse_subtract(e, i, k, x, y);
  }
}

/* The rows of A were exchanged, so the columns of its inverse are, in the opposite order. */
static void inverse_restore(elimination *e) {
  for (int k = e->n - 1; k >= 0; k--)
    for (int i = 0; i < e->n && e->pivot[k] != k; i++)
      for (int part = 0; part <= e->padded; part += e->padded) {
        double *row = e->row[i] + part;
        const double was = row[k];
        row[k] = row[e->pivot[k]];
        row[e->pivot[k]] = was;
      }
}

/* Returns |A|_1 |A^-1|_1; infinity if a pivot is 0 or not a number. */
static double inverse_of(elimination *e) {
  const double norm = inverse_norm(e);
  for (int k = 0; k < e->n; k++) {
    inverse_pivot(e, k);
    if (!(inverse_size(e, k, k) > 0 && isfinite(inverse_size(e, k, k)))) return (double)INFINITY;
    inverse_eliminate(e, k);
  }
  inverse_restore(e);
  const double product = norm * inverse_norm(e);
  return isfinite(product) ? product : (double)INFINITY;
}

void KAON_EXPORT(kaon_coarse_inverse)(const kaon_launch *launch,
                                      const kaon_coarse_inverse_args *args) {
  const uint8_t *there = args->site_places;
  const int threads = launch->threads, n = args->reals / 2;
#pragma omp parallel num_threads(threads)
  {
    elimination e = {.n = n, .padded = (n + FOUR - 1) / FOUR * FOUR};
#pragma omp for schedule(static)
    for (int64_t place = 0; place < args->blocks * args->width; place++) {
      const int64_t block = place / args->width;
      const int lane = (int)(place % args->width);
      if (there[place]) {
        inverse_load(args, block, lane, &e);
        args->worst[place] = inverse_of(&e);
      } else {
        args->worst[place] = 0;
      }
      inverse_store(args, block, lane, there[place], &e);
    }
  }
}
