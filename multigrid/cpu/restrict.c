/* restrict.c - coarse = V^dagger fine on the CPU. For each site of W aggregates the products of some
 * vectors with some columns are summed over the site's components in registers, then added to the
 * coarse numbers. So V is read once, in the order of the sites, and every sum has the same order
 * for any number of columns, vectors and threads. */
#include "multigrid/cpu/columns.h"
#include "multigrid/cpu/kernels.h"

/* Rows of a half of basis vectors, and their scales in half precision. */
typedef struct tile {
  const stored *row[LONE_VECTORS];
  const float *scale[LONE_VECTORS];
} tile;

/* Adds, or with `begin` writes, the products of J vectors with R columns x to the coarse numbers y
 * of vectors next to each other. numbers: complex ones of a half. */
KAON_INLINE void products(const int J, const int R, const tile *v, const real *const *x,
                          int numbers, int begin, real *const *y) {
  for (int part = 0; part < KAON_VL * KAON_PARTS; part += KAON_VL) {
    vcomplex sum[LONE_VECTORS * PAIR];
    for (int i = 0; i < J * R; i++) sum[i] = c_make(v_set(0), v_set(0));
    for (int c = 0; c < numbers; c++) {
      const int at = 2 * c * KAON_W + part;
      vcomplex z[PAIR];
      for (int r = 0; r < R; r++)
        z[r] = c_make(v_load_real(x[r] + at), v_load_real(x[r] + at + KAON_W));
      for (int j = 0; j < J; j++) {
        const vcomplex a = c_load(v->row[j] + at);
        for (int r = 0; r < R; r++) sum[j * R + r] = c_conj_fma(a, z[r], sum[j * R + r]);
      }
    }
    for (int j = 0; j < J; j++) {
      const vreal step = step_of(KAON_IS_HALF ? v->scale[j] + part : NULL);
      for (int r = 0; r < R; r++) {
        real *to = y[r] + 2 * j * KAON_W + part;
        const vcomplex s = sum[j * R + r];
        const vreal re = times_step(s.re, step), im = times_step(s.im, step);
        v_store_real(to, begin ? re : v_load_real(to) + re);
        v_store_real(to + KAON_W, begin ? im : v_load_real(to + KAON_W) + im);
      }
    }
  }
}

/* Memory of a site: columns of the fine vector, turned, and rows of the basis that are gathered. */
typedef struct site_memory {
  room fine;
  stored rows[LONE_VECTORS * KAON_TRANSFER_REALS / 2 * KAON_W] __attribute__((aligned(64)));
  float scales[LONE_VECTORS][KAON_W] __attribute__((aligned(64)));
} site_memory;

static void load_fine(const kaon_transfer_args *args, const sites *at, const group *g,
                      site_memory *m) {
  const int reals = args->fine_reals;
  stored copy[KAON_TRANSFER_REALS * KAON_W] __attribute__((aligned(64)));
  float scales[KAON_W] __attribute__((aligned(64)));
  for (int k = 0; k < g->count; k++) {
    const int column = g->column[k];
    const stored *rows = site_rows(&args->fine, at, args->nrhs, column, reals, 0, reals, copy);
    const kaon_view one = {(void *)rows,
                           (float *)site_scales(&args->fine, at, args->nrhs, column, scales)};
    real *x = m->fine + k * reals * KAON_W;
    load_column(&one, 0, reals, x);
    if (args->turned) turn(x, reals);
  }
}

/* All columns of the group with J vectors from `j` on. */
KAON_INLINE void all_columns(const int J, const int R, const kaon_transfer_args *args, int j,
                             int half, const tile *v, const site_memory *m, const group *g, int k,
                             real *coarse, int begin) {
  const int reals = args->fine_reals, n = args->vectors;
  const real *x[PAIR];
  real *y[PAIR];
  for (int r = 0; r < R; r++) {
    x[r] = m->fine + ((k + r) * reals + half * reals / 2) * KAON_W;
    y[r] = coarse + (g->column[k + r] * 2 * n + half * n + j) * 2 * KAON_W;
  }
  products(J, R, v, x, reals / 4, begin, y);
}

static tile load_tile(const kaon_transfer_args *args, const sites *at, int j, int count, int half,
                      site_memory *m) {
  const int rows = args->fine_reals / 2;
  tile v;
  for (int i = 0; i < count; i++) {
    v.row[i] = site_rows(&args->basis, at, args->vectors, j + i, 2 * rows, half * rows, rows,
                         m->rows + i * rows * KAON_W);
    v.scale[i] = site_scales(&args->basis, at, args->vectors, j + i, m->scales[i]);
  }
  return v;
}

/* Vectors first .. end - 1 of a half at one site. */
static void add_site(const kaon_transfer_args *args, const sites *at, int half, int first, int end,
                     const group *g, site_memory *m, real *coarse, int begin) {
  const int most = g->count == 1 ? LONE_VECTORS : PAIR_VECTORS;
  for (int j = first; j < end;) {
    const int count = end - j >= most ? most : 1;
    const tile v = load_tile(args, at, j, count, half, m);
    int k = 0;
    for (; k + PAIR <= g->count; k += PAIR)
      if (count == PAIR_VECTORS)
        all_columns(PAIR_VECTORS, PAIR, args, j, half, &v, m, g, k, coarse, begin);
      else
        all_columns(1, PAIR, args, j, half, &v, m, g, k, coarse, begin);
    if (k < g->count) {
      if (count == LONE_VECTORS)
        all_columns(LONE_VECTORS, 1, args, j, half, &v, m, g, k, coarse, begin);
      else if (count == PAIR_VECTORS)
        all_columns(PAIR_VECTORS, 1, args, j, half, &v, m, g, k, coarse, begin);
      else
        all_columns(1, 1, args, j, half, &v, m, g, k, coarse, begin);
    }
    j += count;
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
      const sites at = sites_of(&args->aggregates, block, s);
      load_fine(args, &at, &g, &m);
      for (int half = 0; half < 2; half++)
        add_site(args, &at, half, first, end, &g, &m, coarse, s == 0);
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
