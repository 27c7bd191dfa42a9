/* orthonormal.c - Cholesky QR of the basis on every aggregate and half on the CPU: Gram matrices,
 * their factors, and the product of the basis with the inverse factor. All of it is in double. */
#include "multigrid/cpu/kernels.h"
#if !KAON_IS_HALF
#include <math.h>

#include "multigrid/cpu/columns.h"
#include "lib/cpu/wide.h"

/* Doubles of a vdouble, and vdoubles of W lanes. */
enum { DOUBLES = sizeof(vdouble) / sizeof(double), PIECES = KAON_W / DOUBLES };

typedef struct zdouble {
  vdouble re, im;
} zdouble;

KAON_INLINE vdouble load_double(const double *p) {
  return *(const vdouble *)p;
}

KAON_INLINE zdouble load_z(const double *p) {
  return (zdouble){load_double(p), load_double(p + KAON_W)};
}

KAON_INLINE void store_z(double *p, zdouble z) {
  *(vdouble *)p = z.re;
  *(vdouble *)(p + KAON_W) = z.im;
}

KAON_INLINE zdouble z_zero(void) {
  const vdouble zero = {0};
  return (zdouble){zero, zero};
}

/* c + a b, c + conj(a) b, c - conj(a) b. */
KAON_INLINE zdouble z_fma(zdouble a, zdouble b, zdouble c) {
  return (zdouble){(c.re + a.re * b.re) - a.im * b.im, (c.im + a.re * b.im) + a.im * b.re};
}
KAON_INLINE zdouble z_conj_fma(zdouble a, zdouble b, zdouble c) {
  return (zdouble){(c.re + a.re * b.re) + a.im * b.im, (c.im + a.re * b.im) - a.im * b.re};
}
KAON_INLINE zdouble z_conj_fnma(zdouble a, zdouble b, zdouble c) {
  return (zdouble){(c.re - a.re * b.re) - a.im * b.im, (c.im - a.re * b.im) + a.im * b.re};
}

/* ---- some complex components of all vectors of a half at W sites, in double ---- */

enum { WIDE_ROOM = (64 << 10) / sizeof(double) };
_Static_assert((int)WIDE_ROOM >= 2 * (int)KAON_TRANSFER_VECTORS * KAON_W, "a component fits");

/* Number c of vector i is at value + (i * count + c) * 2 * W. */
typedef struct piece {
  int first, count; /* complex components, from that of the half on */
  double value[WIDE_ROOM] __attribute__((aligned(64)));
} piece;

static int piece_most(const kaon_transfer_args *args) {
  const int most = WIDE_ROOM / (2 * args->vectors * KAON_W), all = args->fine_reals / 4;
  return most < all ? most : all;
}

KAON_INLINE int64_t row_of(const kaon_transfer_args *args, const piece *p, int half, int i) {
  return ((int64_t)i * 2 + half) * args->fine_reals / 2 + 2 * p->first;
}

static void piece_load(const kaon_transfer_args *args, const sites *at, int half, piece *p) {
  const int64_t block = (int64_t)args->vectors * args->fine_reals * KAON_W;
  const real *data = args->basis.data;
  const int rows = 2 * p->count;
  for (int i = 0; i < args->vectors; i++) {
    const int64_t row = row_of(args, p, half, i) * KAON_W;
    double *to = p->value + i * rows * KAON_W;
    for (int c = 0; at->aligned && c < rows * KAON_W; c += KAON_VL)
      w_store(to + c, w_from(v_load_real(data + at->block * block + row + c)));
    for (int l = 0; !at->aligned && l < KAON_W; l++) {
      const real *from = data + at->place[l] / KAON_W * block + row + at->place[l] % KAON_W;
      for (int c = 0; c < rows; c++) to[c * KAON_W + l] = (double)from[c * KAON_W];
    }
  }
}

/* list: the sites' entries of the table; lanes without one are not written. */
static void piece_store(const kaon_transfer_args *args, const sites *at, const int32_t *list,
                        int half, const piece *p) {
  const int64_t block = (int64_t)args->vectors * args->fine_reals * KAON_W;
  real *data = args->basis.data;
  const int rows = 2 * p->count;
  for (int i = 0; i < args->vectors; i++) {
    const int64_t row = row_of(args, p, half, i) * KAON_W;
    const double *from = p->value + i * rows * KAON_W;
    for (int c = 0; at->aligned && c < rows * KAON_W; c += KAON_VL)
      v_store_real(data + at->block * block + row + c, w_to_real(w_load(from + c)));
    for (int l = 0; !at->aligned && l < KAON_W; l++) {
      real *to = data + at->place[l] / KAON_W * block + row + at->place[l] % KAON_W;
      for (int c = 0; list[l] >= 0 && c < rows; c++) to[c * KAON_W] = (real)from[c * KAON_W + l];
    }
  }
}

static double *matrix_of(const kaon_transfer_args *args, int64_t block, int half) {
  return args->gram + (block * 2 + half) * args->vectors * args->vectors * 2 * KAON_W;
}

/* ---- Gram matrices ---- */

/* Adds the products of I vectors from `i` on with J vectors from `j` on. */
KAON_INLINE void add_products(const int I, const int J, const piece *p, int n, int i, int j,
                              double *gram) {
  const int vector = 2 * p->count * KAON_W;
  const double *left = p->value + i * vector, *right = p->value + j * vector;
  for (int lane = 0; lane < KAON_W; lane += DOUBLES) {
    zdouble sum[4];
    for (int e = 0; e < I * J; e++)
      sum[e] = load_z(gram + ((i + e / J) * n + j + e % J) * 2 * KAON_W + lane);
    for (int c = 0; c < p->count; c++) {
      const int at = 2 * c * KAON_W + lane;
      zdouble a[2], b[2];
      for (int e = 0; e < I; e++) a[e] = load_z(left + e * vector + at);
      for (int e = 0; e < J; e++) b[e] = load_z(right + e * vector + at);
      for (int e = 0; e < I * J; e++) sum[e] = z_conj_fma(a[e / J], b[e % J], sum[e]);
    }
    for (int e = 0; e < I * J; e++)
      store_z(gram + ((i + e / J) * n + j + e % J) * 2 * KAON_W + lane, sum[e]);
  }
}

static void add_piece(const piece *p, int n, double *gram) {
  for (int i = 0; i < n; i += 2) {
    if (i + 1 == n) {
      add_products(1, 1, p, n, i, i, gram);
      continue;
    }
    for (int j = i; j < n; j += 2)
      if (j + 1 < n)
        add_products(2, 2, p, n, i, j, gram);
      else
        add_products(2, 1, p, n, i, j, gram);
  }
}

static void gram_item(const kaon_transfer_args *args, int64_t item, int slices) {
  const int64_t block = item / 2;
  const int half = (int)(item % 2), n = args->vectors, most = piece_most(args);
  double *gram = matrix_of(args, block, half);
  piece p;
  (void)slices;
  for (int i = 0; i < n * n * 2 * KAON_W; i++) gram[i] = 0;
  for (int s = 0; s < args->aggregates.sites; s++) {
    const sites at = sites_of(&args->aggregates, block, s);
    for (p.first = 0; p.first < args->fine_reals / 4; p.first += p.count) {
      const int left = args->fine_reals / 4 - p.first;
      p.count = left < most ? left : most;
      piece_load(args, &at, half, &p);
      add_piece(&p, n, gram);
    }
  }
}

void KAON_EXPORT(kaon_transfer_gram)(const kaon_launch *launch, const kaon_transfer_args *args) {
  const items job = {args, gram_item, args->aggregates.coarse_blocks * 2, 1};
  items_run(launch, &job);
}

/* ---- factors ---- */

typedef struct factor_job {
  const kaon_transfer_args *args;
  int64_t block;
  int half;
  double *g;
} factor_job;

KAON_INLINE double *element(const factor_job *f, int i, int j, int lane) {
  return f->g + (i * f->args->vectors + j) * 2 * KAON_W + lane;
}

/* 1 / R_ii from the pivot, or 0 where vector i is dependent, which is noted. */
static vdouble invert_pivot(const factor_job *f, int i, int lane, vdouble pivot) {
  const double *diagonal = element(f, i, i, lane);
  const kaon_aggregate_view *v = &f->args->aggregates;
  const int32_t *list = v->list + f->block * v->sites * KAON_W + lane;
  int32_t *dependent = f->args->dependent + (f->block * KAON_W + lane) * 2 + f->half;
  double left[DOUBLES] __attribute__((aligned(64)));
  *(vdouble *)left = pivot;
  for (int l = 0; l < DOUBLES; l++) {
    const int good = left[l] > 0 && left[l] >= f->args->least * diagonal[l]; /* not NaN */
    left[l] = good ? 1 / sqrt(left[l]) : 0;
    if (!good && list[l] >= 0 && dependent[2 * l] == 0) dependent[2 * l] = i + 1;
  }
  return load_double(left);
}

/* Row i of R, with 1 / R_ii in the place of R_ii. */
static void factor_row(const factor_job *f, int i, int lane) {
  vdouble pivot = load_double(element(f, i, i, lane));
  for (int k = 0; k < i; k++) {
    const zdouble r = load_z(element(f, k, i, lane));
    pivot = (pivot - r.re * r.re) - r.im * r.im;
  }
  const vdouble inverse = invert_pivot(f, i, lane, pivot);
  store_z(element(f, i, i, lane), (zdouble){inverse, z_zero().im});
  for (int j = i + 1; j < f->args->vectors; j++) {
    zdouble sum = load_z(element(f, i, j, lane));
    for (int k = 0; k < i; k++)
      sum = z_conj_fnma(load_z(element(f, k, i, lane)), load_z(element(f, k, j, lane)), sum);
    store_z(element(f, i, j, lane), (zdouble){sum.re * inverse, sum.im * inverse});
  }
}

/* Column j of R^-1 replaces that of R; the columns before it are those of R^-1. */
static void invert_column(const factor_job *f, int j, int lane) {
  const vdouble inverse = load_double(element(f, j, j, lane));
  for (int i = 0; i < j; i++) {
    zdouble sum = z_zero();
    for (int k = i; k < j; k++)
      sum = z_fma(load_z(element(f, i, k, lane)), load_z(element(f, k, j, lane)), sum);
    store_z(element(f, i, j, lane), (zdouble){-sum.re * inverse, -sum.im * inverse});
  }
}

static void factor_item(const kaon_transfer_args *args, int64_t item, int slices) {
  const factor_job f = {args, item / 2, (int)(item % 2),
                        matrix_of(args, item / 2, (int)(item % 2))};
  (void)slices;
  for (int l = 0; l < KAON_W; l++) args->dependent[(f.block * KAON_W + l) * 2 + f.half] = 0;
  for (int lane = 0; lane < KAON_W; lane += DOUBLES) {
    for (int i = 0; i < args->vectors; i++) factor_row(&f, i, lane);
    for (int j = 0; j < args->vectors; j++) invert_column(&f, j, lane);
  }
}

void KAON_EXPORT(kaon_transfer_factor)(const kaon_launch *launch, const kaon_transfer_args *args) {
  const items job = {args, factor_item, args->aggregates.coarse_blocks * 2, 1};
  items_run(launch, &job);
}

/* ---- the basis times R^-1 ---- */

/* C components of vector j, in place: the vectors before it are still the old ones. */
KAON_INLINE void combine(const int C, piece *p, int n, int j, int c, const double *inverse,
                         int lane) {
  zdouble sum[2];
  for (int e = 0; e < C; e++) sum[e] = z_zero();
  for (int i = 0; i <= j; i++) {
    const zdouble r = load_z(inverse + (i * n + j) * 2 * KAON_W + lane);
    for (int e = 0; e < C; e++) {
      const zdouble v = load_z(p->value + (i * p->count + c + e) * 2 * KAON_W + lane);
      sum[e] = z_fma(v, r, sum[e]);
    }
  }
  for (int e = 0; e < C; e++)
    store_z(p->value + (j * p->count + c + e) * 2 * KAON_W + lane, sum[e]);
}

static void combine_piece(piece *p, int n, const double *inverse) {
  for (int j = n - 1; j >= 0; j--)
    for (int lane = 0; lane < KAON_W; lane += DOUBLES) {
      int c = 0;
      for (; c + 2 <= p->count; c += 2) combine(2, p, n, j, c, inverse, lane);
      if (c < p->count) combine(1, p, n, j, c, inverse, lane);
    }
}

static void transform_item(const kaon_transfer_args *args, int64_t item, int slices) {
  const int sites_of_block = args->aggregates.sites, most = piece_most(args);
  const int64_t block = item / sites_of_block;
  const sites at = sites_of(&args->aggregates, block, (int)(item % sites_of_block));
  const int32_t *list = args->aggregates.list + item * KAON_W;
  piece p;
  (void)slices;
  for (int half = 0; half < 2; half++)
    for (p.first = 0; p.first < args->fine_reals / 4; p.first += p.count) {
      const int left = args->fine_reals / 4 - p.first;
      p.count = left < most ? left : most;
      piece_load(args, &at, half, &p);
      combine_piece(&p, args->vectors, matrix_of(args, block, half));
      piece_store(args, &at, list, half, &p);
    }
}

void KAON_EXPORT(kaon_transfer_transform)(const kaon_launch *launch,
                                          const kaon_transfer_args *args) {
  const items job = {args, transform_item, args->aggregates.coarse_blocks * args->aggregates.sites,
                     1};
  items_run(launch, &job);
}
#endif
