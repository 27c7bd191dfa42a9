/* restrict.c - coarse = V^dagger fine on the CPU. For each site of W aggregates the products of some
 * vectors with some columns are summed over the site's components in registers, then added to the
 * coarse numbers. So V is read once, in the order of the sites, and every sum has the same order
 * for any number of columns, vectors and threads. */
#include "multigrid/cpu/columns.h"
#include "multigrid/cpu/kernels.h"

/* Successive basis vectors at some sites. */
typedef struct basis_rows {
  const stored *row;  /* `reals` rows of each vector, side by side */
  const float *scale; /* half precision: W for each vector */
  const stored *next; /* their rows at the next sites; NULL: no prefetch */
  int reals, count;   /* of a site; vectors */
  int64_t half;       /* from coarse numbers of the first half to those of the second */
} basis_rows;

/* *to += a step, or with `begin` = a step. One operation, so that compilers do not choose whether to
 * contract it. */
KAON_INLINE void add_scaled(real *to, vreal a, vreal step, int begin) {
  const vreal old = begin ? v_set(0) : v_load_real(to);
  v_store_real(to, KAON_IS_HALF ? v_fma(a, step, old) : a + old);
}

/* Adds, or with `begin` writes, the products of a half of J vectors from `j` on with R columns x to
 * the coarse numbers y, whose first is that of the first vector of v. */
KAON_INLINE void products(const int J, const int R, const basis_rows *v, int j, int half,
                          const real *const *x, int begin, real *const *y) {
  const int rows = v->reals / 2, stride = v->reals * KAON_W;
  for (int part = 0; part < KAON_VL * KAON_PARTS; part += KAON_VL) {
    const int first = half * rows * KAON_W + part;
    const stored *row = v->row + j * stride + first;
    vcomplex sum[LONE_VECTORS * PAIR];
    for (int i = 0; i < J * R; i++) sum[i] = c_make(v_set(0), v_set(0));
    for (int at = 0; at < rows * KAON_W; at += 2 * KAON_W) {
      vcomplex z[PAIR];
      for (int r = 0; r < R; r++)
        z[r] = c_make(v_load_real(x[r] + first + at), v_load_real(x[r] + first + at + KAON_W));
      for (int i = 0; i < J; i++) {
        const vcomplex a = c_load(row + i * stride + at);
        for (int r = 0; r < R; r++) sum[i * R + r] = c_conj_fma(a, z[r], sum[i * R + r]);
      }
    }
    for (int i = 0; i < J; i++) {
      const vreal step = step_of(KAON_IS_HALF ? v->scale + (j + i) * KAON_W + part : NULL);
      for (int r = 0; r < R; r++) {
        real *to = y[r] + half * v->half + 2 * (j + i) * KAON_W + part;
        add_scaled(to, sum[i * R + r].re, step, begin);
        add_scaled(to + KAON_W, sum[i * R + r].im, step, begin);
      }
    }
  }
}

/* Both halves of J vectors. */
KAON_INLINE void both_products(const int J, const int R, const basis_rows *v, int j,
                               const real *const *x, int begin, real *const *y) {
  if (v->next != NULL) fetch(v->next + j * v->reals * KAON_W, J * v->reals * KAON_W);
  for (int half = 0; half < 2; half++) products(J, R, v, j, half, x, begin, y);
}

/* All vectors of v with one column, and with two. */
KAON_ONCE void lone_products(const basis_rows *v, const real *const *x, int begin, real *const *y) {
  int j = 0;
  for (; j + LONE_VECTORS <= v->count; j += LONE_VECTORS)
    both_products(LONE_VECTORS, 1, v, j, x, begin, y);
  for (; j < v->count; j++) both_products(1, 1, v, j, x, begin, y);
}

KAON_ONCE void pair_products(const basis_rows *v, const real *const *x, int begin, real *const *y) {
  int j = 0;
  for (; j + PAIR_VECTORS <= v->count; j += PAIR_VECTORS)
    both_products(PAIR_VECTORS, PAIR, v, j, x, begin, y);
  for (; j < v->count; j++) both_products(1, PAIR, v, j, x, begin, y);
}

/* Memory of a site: columns of the fine vector in halves, and gathered rows of the basis. */
typedef struct site_memory {
  room fine;
  stored rows[ROOM] __attribute__((aligned(64)));
  float scales[KAON_TRANSFER_VECTORS * KAON_W] __attribute__((aligned(64)));
} site_memory;

static void load_fine(const kaon_transfer_args *args, const sites *at, const group *g,
                      site_memory *m) {
  const int reals = args->fine_reals;
  stored copy[KAON_TRANSFER_REALS * KAON_W] __attribute__((aligned(64)));
  float scales[KAON_W] __attribute__((aligned(64)));
  for (int k = 0; k < g->count; k++) {
    const int column = g->column[k];
    const stored *rows = site_rows(&args->fine, at, args->nrhs, column, reals, copy);
    const kaon_view one = {(void *)rows,
                           (float *)site_scales(&args->fine, at, args->nrhs, column, scales)};
    real *x = m->fine + k * reals * KAON_W;
    load_column(&one, 0, reals, x);
    if (args->turned) turn(x, reals);
  }
}

/* Vectors from `first` on, at most `count`; gathered ones, as many as there is room for. next: the
 * next sites; NULL: none. */
static basis_rows load_basis(const kaon_transfer_args *args, const sites *at, const sites *next,
                             int first, int count, site_memory *m) {
  const int n = args->vectors, reals = args->fine_reals, most = ROOM / (reals * KAON_W);
  basis_rows v = {.reals = reals, .count = count, .half = 2 * n * KAON_W};
  if (at->aligned) {
    v.row = site_rows(&args->basis, at, n, first, reals, NULL);
    v.scale = site_scales(&args->basis, at, n, first, NULL);
    if (next != NULL) v.next = site_rows(&args->basis, next, n, first, reals, NULL);
    return v;
  }
  v.row = m->rows;
  v.scale = m->scales;
  v.count = count < most ? count : most;
  for (int j = 0; j < v.count; j++) {
    site_rows(&args->basis, at, n, first + j, reals, m->rows + j * reals * KAON_W);
    site_scales(&args->basis, at, n, first + j, m->scales + j * KAON_W);
  }
  return v;
}

/* Vectors first .. end - 1 at one site. */
static void add_site(const kaon_transfer_args *args, const sites *at, const sites *next, int first,
                     int end, const group *g, site_memory *m, real *coarse, int begin) {
  for (int j = first; j < end;) {
    basis_rows v = load_basis(args, at, next, j, end - j, m);
    for (int k = 0; k < g->count; k += PAIR) {
      const int pair = k + PAIR <= g->count;
      const real *x[PAIR];
      real *y[PAIR];
      for (int r = 0; r < (pair ? PAIR : 1); r++) {
        x[r] = m->fine + (k + r) * args->fine_reals * KAON_W;
        y[r] = coarse + (g->column[k + r] * 2 * args->vectors + j) * 2 * KAON_W;
      }
      (pair ? pair_products : lone_products)(&v, x, begin, y);
      v.next = NULL;
    }
    j += v.count;
  }
}

/* Lanes without an aggregate become 0. */
static void clear_lanes(const kaon_transfer_args *args, int64_t block, int first, int end,
                        const group *g, real *coarse) {
  const int32_t *list = args->aggregates.list + block * args->aggregates.sites * KAON_W;
  const int n = args->vectors;
  for (int l = 0; l < KAON_W; l++) {
    if (list[l] >= 0) continue;
    for (int k = 0; k < g->count; k++)
      for (int half = 0; half < 2; half++)
        for (int i = 2 * first; i < 2 * end; i++)
          coarse[((g->column[k] * 2 + half) * 2 * n + i) * KAON_W + l] = 0;
  }
}

/* A slice of the vectors on a coarse block. */
static void restrict_item(const kaon_transfer_args *args, int64_t item, int slices) {
  const int64_t block = item / slices, slice = item % slices;
  const int n = args->vectors, first = (int)(n * slice / slices);
  const int end = (int)(n * (slice + 1) / slices);
  real *coarse = (real *)args->coarse.data + block * args->nrhs * 4 * n * KAON_W;
  site_memory m;
  for (int k = 0; k < args->nrhs;) {
    const group g = next_group(args, &k);
    if (g.count == 0) break;
    for (int s = 0; s < args->aggregates.sites; s++) {
      const int last = s + 1 == args->aggregates.sites;
      const sites at = sites_of(&args->aggregates, block, s);
      const sites next = sites_of(&args->aggregates, block, last ? s : s + 1);
      load_fine(args, &at, &g, &m);
      add_site(args, &at, last ? NULL : &next, first, end, &g, &m, coarse, s == 0);
    }
    clear_lanes(args, block, first, end, &g, coarse);
  }
}

/* Slices of at least LONE_VECTORS vectors, so that all threads have several items. */
static int slices_of(const kaon_launch *launch, const kaon_transfer_args *args) {
  const int64_t wanted = 4 * launch->threads / args->aggregates.coarse_blocks;
  const int64_t most = (args->vectors + LONE_VECTORS - 1) / LONE_VECTORS;
  return (int)(wanted < 1 ? 1 : wanted > most ? most : wanted);
}

void KAON_EXPORT(kaon_transfer_restrict_to)(const kaon_launch *launch,
                                            const kaon_transfer_args *args) {
  const int slices = slices_of(launch, args);
  const items job = {args, restrict_item, args->aggregates.coarse_blocks * slices, slices};
  items_run(launch, &job);
}
