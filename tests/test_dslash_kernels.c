/* test_dslash_kernels.c - every kernel of every CPU dslash table against the reference:
 * instruction set x precision x reconstruction x clover x xpay x dagger x columns, in split and
 * plain site order.
 *
 * Bounds, relative in the 2-norm. e is the unit of the storage: 2^-52, 2^-23 or 1/32767.
 * - Floating point: a sum of 8 hops of 6 products has 1 + 6 + 8 + 2 roundings of at most e / 2.
 *   The absolute sum of its terms is at most sqrt(48) times the rms of the result: 60 e. Inputs
 *   rounded to storage add 1 e. Row 2 from 12 reals has 6 more roundings: 20 e.
 * - Half: links 0.5 / 0.41 (rms of a component of a link); spinors in, x and out 0.51 times max /
 *   rms <= 4 each: 8 e.
 * - 8 reals: elements are off by at most KAON_RECON8_BOUND e = 20 e, 0.41 rms, 3 terms in
 *   quadrature: 85 e; the same in half.
 * - Clover: 12 more products with a block of condition number below 2 double the bound. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dslash/dslash_ops.h"
#include "gauge/gauge_ops.h"
#include "lib/math/steps/recurrence.h"
#include "lib/vector/space.h"
#include "reference/reference.h"
#include "util/test_util.h"

enum { COLUMNS = 3 };
static const double unit_of[3] = {0x1p-52, 0x1p-23, 1.0 / 32767};
static const char *const precision_name[3] = {"double", "single", "half"};

typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  ref_lattice L;
  ref_dirac dirac;
  ref_complex *links;
  ref_complex *in[COLUMNS], *x[COLUMNS];   /* full lattice */
  ref_complex *hop[2][COLUMNS], *expected; /* hop[dagger] */
  double aniso;
} problem;

/* One set of device arrays in one precision. */
typedef struct {
  int precision, recon, nrhs;
  void *links[2], *clover;
  float *clover_scale;
  kaon_view in, x, out;
} storage;

static void *aligned(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
  memset(p, 0, (bytes + 127) / 64 * 64);
  return p;
}

static size_t site_index(const problem *p, const int x[4]) {
  return ref_site(&p->L, x);
}

static double component(const ref_complex *psi, size_t site, int c) {
  return ((const double *)(psi + site * 12))[c];
}

/* Writes the c-th number of (block, column, lane) in any precision; half: already an integer. */
static void put(void *data, int precision, int64_t index, double value) {
  if (precision == 0) ((double *)data)[index] = value;
  if (precision == 1) ((float *)data)[index] = (float)value;
  if (precision == 2) ((int16_t *)data)[index] = (int16_t)lrint(value);
}

static double get(const void *data, int precision, int64_t index) {
  if (precision == 0) return ((const double *)data)[index];
  if (precision == 1) return (double)((const float *)data)[index];
  return (double)((const int16_t *)data)[index];
}

static kaon_view spinor_new(const problem *p, int precision, int nrhs) {
  const kaon_stencil *st = &p->lattice->stencil;
  const size_t numbers = (size_t)st->nblocks * (size_t)nrhs * 24 * (size_t)st->width;
  kaon_view v = {aligned(numbers * kaon_precision_bytes((kaon_precision)precision)), NULL};
  if (precision == 2) v.scale = aligned(numbers / 24 * sizeof(float));
  return v;
}

static void spinor_put(const problem *p, kaon_view v, int precision, int nrhs, int parity,
                       ref_complex *const psi[]) {
  const kaon_stencil *st = &p->lattice->stencil;
  int x[4];
  for (int64_t b = 0; b < st->nblocks; b++)
    for (int k = 0; k < nrhs; k++)
      for (int l = 0; l < st->width; l++) {
        if (!kaon_lattice_site(p->lattice, parity, b, l, x)) continue;
        const size_t site = site_index(p, x);
        double factor = 1, largest = 0;
        if (precision == 2) {
          for (int c = 0; c < 24; c++) largest = larger(largest, fabs(component(psi[k], site, c)));
          v.scale[(b * nrhs + k) * st->width + l] = (float)largest;
          factor = largest > 0 ? 32767 / largest : 0;
        }
        for (int c = 0; c < 24; c++)
          put(v.data, precision, kaon_field_index(b, k, c, l, nrhs, 24, st->width),
              component(psi[k], site, c) * factor);
      }
}

/* |out - expected| / |expected| on one parity, column k; masked lanes must be zero. */
static double spinor_error(const problem *p, kaon_view v, int precision, int nrhs, int parity,
                           int k, const ref_complex *expected) {
  const kaon_stencil *st = &p->lattice->stencil;
  double error = 0, norm = 0;
  int x[4];
  for (int64_t b = 0; b < st->nblocks; b++)
    for (int l = 0; l < st->width; l++) {
      const int real_site = kaon_lattice_site(p->lattice, parity, b, l, x);
      for (int c = 0; c < 24; c++) {
        double value = get(v.data, precision, kaon_field_index(b, k, c, l, nrhs, 24, st->width));
        if (precision == 2) value *= (double)v.scale[(b * nrhs + k) * st->width + l] / 32767;
        if (!real_site) {
          if (value != 0) return HUGE_VAL;
          continue;
        }
        const double want = component(expected, site_index(p, x), c);
        error += (value - want) * (value - want);
        norm += want * want;
      }
    }
  return sqrt(error / norm);
}

static void links_put(const problem *p, storage *s, const kaon_launch *launch) {
  const kaon_stencil *st = &p->lattice->stencil;
  /* of a parity, times reals of a link */
  const size_t numbers = 4 * (size_t)kaon_link_blocks(st->nblocks) * (size_t)st->width;
  double *wide = aligned(2 * numbers * 18 * sizeof(double));
  int x[4];
  for (int parity = 0; parity < 2; parity++)
    for (int64_t b = 0; b < st->nblocks; b++)
      for (int l = 0; l < st->width; l++) {
        if (!kaon_lattice_site(p->lattice, parity, b, l, x)) continue;
        const double *u = (const double *)(p->links + site_index(p, x) * 36);
        for (int i = 0; i < 72; i++)
          wide[(size_t)parity * numbers * 18 +
               (size_t)kaon_link_index(b, i / 18, i % 18, l, st->nblocks, 18, st->width)] = u[i];
      }
  const size_t bytes =
      numbers * (size_t)s->recon * kaon_precision_bytes((kaon_precision)s->precision);
  s->links[0] = aligned(2 * bytes);
  s->links[1] = (char *)s->links[0] + bytes;
  const kaon_recode_args args = {.nblocks = st->nblocks,
                                 .stride = kaon_link_blocks(st->nblocks),
                                 .tail_lanes = {st->tail_lanes[0], st->tail_lanes[1]},
                                 .matrices = 4,
                                 .recon = s->recon,
                                 .wide = wide,
                                 .narrow = s->links[0]};
  p->ctx->backend->gauge[s->precision]->encode(launch, &args);
  free(wide);
}

static void clover_put(const problem *p, storage *s, int parity, const kaon_launch *launch) {
  const kaon_stencil *st = &p->lattice->stencil;
  double *wide = aligned((size_t)st->nblocks * 72 * (size_t)st->width * sizeof(double));
  int x[4];
  for (int64_t b = 0; b < st->nblocks; b++)
    for (int l = 0; l < st->width; l++) {
      if (!kaon_lattice_site(p->lattice, parity, b, l, x)) continue;
      ref_complex blocks[2][36];
      ref_chiral_blocks(p->dirac.clover + site_index(p, x) * 144, blocks[0], blocks[1]);
      for (int chirality = 0; chirality < 2; chirality++)
        for (int i = 0; i < 6; i++)
          for (int j = 0; j <= i; j++) {
            const ref_complex z = blocks[chirality][6 * i + j];
            const int c = 36 * chirality + (i == j ? i : 6 + 2 * (i * (i - 1) / 2 + j));
            wide[kaon_field_index(b, 0, c, l, 1, 72, st->width)] = creal(z);
            if (i != j) wide[kaon_field_index(b, 0, c + 1, l, 1, 72, st->width)] = cimag(z);
          }
    }
  s->clover = aligned((size_t)st->nblocks * 72 * (size_t)st->width * 8);
  s->clover_scale = aligned((size_t)st->nblocks * 2 * (size_t)st->width * sizeof(float));
  const kaon_clover_store_args args = {st->nblocks, wide, s->clover, s->clover_scale};
  p->ctx->backend->gauge[s->precision]->clover_store(launch, &args);
  free(wide);
}

static kaon_launch launch_make(int threads) {
  return (kaon_launch){
      .threads = threads,
      .partials = aligned(sizeof(double) * KAON_REDUCE_CHUNKS * COLUMNS * KAON_REDUCE_MAX)};
}

/* 0: this processor has not got the instruction set. */
static int problem_make(problem *p, kaon_isa isa, const int extents[4], kaon_boundary boundary,
                        int temporal) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU;
  options.isa = isa;
  options.threads = 2;
  memset(p, 0, sizeof *p);
  if (kaon_context_create(&options, &p->ctx) != KAON_OK) return 0;
  assert_int_equal(kaon_lattice_create(p->ctx, extents, boundary, &p->lattice), KAON_OK);
  p->L = ref_lattice_make(extents[0], extents[1], extents[2], extents[3]);
  p->links = ref_new(ref_links_size(&p->L));
  ref_weak_links(&p->L, p->links, 0.6, 17);
  if (temporal) {
    ref_complex *g = ref_new(ref_volume(&p->L) * 9);
    ref_temporal_gauge(&p->L, p->links, g);
    ref_gauge_transform_links(&p->L, g, p->links);
    free(g);
  }
  p->dirac = ref_dirac_make(&p->L, p->links, 0.125, 1.3, boundary == KAON_ANTIPERIODIC);
  p->dirac.aniso = 0.75;
  for (int k = 0; k < COLUMNS; k++) {
    p->in[k] = ref_new(ref_spinor_size(&p->L));
    p->x[k] = ref_new(ref_spinor_size(&p->L));
    ref_random_spinor(&p->L, p->in[k], 100 + (uint64_t)k);
    ref_random_spinor(&p->L, p->x[k], 200 + (uint64_t)k);
    for (int dagger = 0; dagger < 2; dagger++) {
      p->hop[dagger][k] = ref_new(ref_spinor_size(&p->L));
      ref_hop(&p->dirac, dagger ? -1 : 1, p->in[k], p->hop[dagger][k]);
    }
  }
  p->expected = ref_new(ref_spinor_size(&p->L));
  return 1;
}

static void problem_free(problem *p) {
  for (int k = 0; k < COLUMNS; k++) {
    free(p->in[k]);
    free(p->x[k]);
    free(p->hop[0][k]);
    free(p->hop[1][k]);
  }
  free(p->expected);
  ref_dirac_free(&p->dirac);
  free(p->links);
  kaon_lattice_destroy(&p->lattice);
  kaon_context_destroy(&p->ctx);
}

static void storage_make(const problem *p, storage *s, int precision, int recon, int nrhs,
                         int parity, const kaon_launch *launch) {
  *s = (storage){.precision = precision, .recon = recon, .nrhs = nrhs};
  links_put(p, s, launch);
  clover_put(p, s, parity, launch);
  s->in = spinor_new(p, precision, nrhs);
  s->x = spinor_new(p, precision, nrhs);
  s->out = spinor_new(p, precision, nrhs);
  spinor_put(p, s->in, precision, nrhs, 1 - parity, p->in);
  spinor_put(p, s->x, precision, nrhs, parity, p->x);
}

static void storage_free(storage *s) {
  const kaon_view views[3] = {s->in, s->x, s->out};
  for (int i = 0; i < 3; i++) {
    free(views[i].data);
    free(views[i].scale);
  }
  free(s->links[0]);
  free(s->clover);
  free(s->clover_scale);
}

/* y += i q gamma_5 x, which exchanges the halves of a spinor */
static void add_twist(const problem *p, double q, const ref_complex *x, ref_complex *y) {
  for (size_t i = 0; i < ref_spinor_size(&p->L); i++)
    y[i] += I * q * x[i / 12 * 12 + (i % 12 + 6) % 12];
}

/* expected = a [C] x + b [C] hop for column k */
static void expect(problem *p, int k, int dagger, int clover_on, double a, double b) {
  const size_t n = ref_spinor_size(&p->L);
  ref_complex *clover = ref_new(n);
  const ref_complex *hop = p->hop[dagger][k], *x = p->x[k];
  if (clover_on == KAON_CLOVER_ON_HOP) ref_clover_multiply(&p->dirac, hop, clover), hop = clover;
  if (clover_on == KAON_CLOVER_ON_X) ref_clover_multiply(&p->dirac, x, clover), x = clover;
  for (size_t i = 0; i < n; i++) p->expected[i] = a * x[i] + b * hop[i];
  free(clover);
}

static double hop_bound(int precision, int recon, int clover_on) {
  double units = precision == 2 ? 8 : recon == 18 ? 61 : 81;
  if (recon == 8) units += 85;
  return units * unit_of[precision] * (clover_on == KAON_CLOVER_NONE ? 1 : 2);
}

static kaon_hop_args hop_args(const problem *p, const storage *s, int parity, int dagger,
                              int clover_on, double a, double b) {
  kaon_hop_args args = {.stencil = &p->lattice->stencil,
                        .parity = parity,
                        .dagger = dagger,
                        .nrhs = s->nrhs,
                        .recon = s->recon,
                        .clover_on = clover_on,
                        .a = a,
                        .b = b,
                        .coefficient = {p->dirac.aniso, p->dirac.aniso, p->dirac.aniso, 1},
                        .links = {s->links[0], s->links[1]},
                        .clover = s->clover,
                        .clover_scale = s->clover_scale,
                        .in = s->in,
                        .out = s->out};
  if (a != 0) args.x = s->x;
  return args;
}

/* The same with twists of x and of the hop, which clover blocks on the hop leave out. */
static double error_with_twists(problem *p, storage *s, int parity, int clover_on,
                                const kaon_launch *launch) {
  const double twist[2] = {0.3, clover_on == KAON_CLOVER_ON_HOP ? 0 : -0.2};
  const int dagger = clover_on % 2;
  double worst = 0;
  kaon_hop_args args = hop_args(p, s, parity, dagger, clover_on, 0.5, -0.25);
  memcpy(args.twist, twist, sizeof args.twist);
  p->ctx->backend->dslash[s->precision]->hop(launch, &args);
  for (int k = 0; k < s->nrhs; k++) {
    expect(p, k, dagger, clover_on, 0.5, -0.25);
    add_twist(p, twist[0], p->x[k], p->expected);
    add_twist(p, twist[1], p->hop[dagger][k], p->expected);
    worst = larger(worst, spinor_error(p, s->out, s->precision, s->nrhs, parity, k, p->expected) /
                              hop_bound(s->precision, s->recon, clover_on));
  }
  return worst;
}

/* The worst error over dagger, clover and xpay, as a fraction of its bound. */
static double worst_of_storage(problem *p, storage *s, int parity, const kaon_launch *launch) {
  double worst = 0;
  for (int clover_on = 0; clover_on < 3; clover_on++)
    worst = larger(worst, error_with_twists(p, s, parity, clover_on, launch));
  for (int dagger = 0; dagger < 2; dagger++)
    for (int clover_on = 0; clover_on < 3; clover_on++)
      for (int xpay = 0; xpay < 2; xpay++) {
        const double a = xpay ? 0.5 : 0, b = xpay ? -0.25 : 1;
        if (clover_on == KAON_CLOVER_ON_X && !xpay) continue;
        kaon_hop_args args = hop_args(p, s, parity, dagger, clover_on, a, b);
        p->ctx->backend->dslash[s->precision]->hop(launch, &args);
        for (int k = 0; k < s->nrhs; k++) {
          expect(p, k, dagger, clover_on, a, b);
          const double error =
              spinor_error(p, s->out, s->precision, s->nrhs, parity, k, p->expected);
          worst = larger(worst, error / hop_bound(s->precision, s->recon, clover_on));
        }
      }
  return worst;
}

static void every_kernel_on(const int extents[4], kaon_boundary boundary, const char *shape) {
  static const kaon_isa isas[] = {KAON_ISA_SCALAR, KAON_ISA_X86_64, KAON_ISA_AVX2, KAON_ISA_AVX512};
  for (int i = 0; i < 4; i++) {
    problem p;
    if (!problem_make(&p, isas[i], extents, boundary, 0)) continue;
    kaon_launch launch = launch_make(2);
    for (int precision = 0; precision < 3; precision++)
      for (int recon = 18; recon >= 8; recon -= recon == 18 ? 6 : 4)
        for (int nrhs = 1; nrhs <= COLUMNS; nrhs += 2)
          for (int stream = 0; stream < 2; stream++) {
            char what[96];
            storage s;
            launch.stream_stores = stream;
            launch.prefetch = stream * (1 + (nrhs + recon / 2) / 2 % 2); /* either level */
            storage_make(&p, &s, precision, recon, nrhs, stream, &launch);
            snprintf(what, sizeof what, "%s %s %s r%d %d columns, error/bound", shape,
                     p.ctx->backend->isa, precision_name[precision], recon, nrhs);
            test_below(what, worst_of_storage(&p, &s, stream, &launch), 1);
            storage_free(&s);
          }
    free(launch.partials);
    problem_free(&p);
  }
}

static void agrees_in_the_split_order(void **state) {
  (void)state;
  every_kernel_on((const int[4]){4, 8, 4, 4}, KAON_ANTIPERIODIC, "4x8x4x4");
}

static void agrees_in_the_plain_order(void **state) {
  (void)state;
  every_kernel_on((const int[4]){4, 6, 2, 10}, KAON_ANTIPERIODIC, "4x6x2x10");
}

static void agrees_on_the_smallest_lattice(void **state) {
  (void)state;
  every_kernel_on((const int[4]){2, 2, 2, 2}, KAON_PERIODIC, "2x2x2x2");
}

/* Marks the t hops whose links are 1 in every lane. */
static uint32_t *mark_unit_links(const problem *p, int parity) {
  const kaon_stencil *st = &p->lattice->stencil;
  const size_t bytes = (size_t)st->nblocks * KAON_DIRS * sizeof(uint32_t);
  uint32_t *table = aligned(bytes);
  memcpy(table, st->neighbour[parity], bytes);
  for (int64_t b = 0; b < st->nblocks; b++)
    for (int back = 0; back < 2; back++) {
      int unit = 1, x[4];
      for (int l = 0; l < st->width; l++) {
        if (!kaon_lattice_site(p->lattice, parity, b, l, x)) continue;
        const int t = (x[3] - back + p->L.n[3]) % p->L.n[3];
        if (t == p->L.n[3] - 1) unit = 0;
      }
      if (unit) table[b * KAON_DIRS + 3 + 4 * back] |= KAON_NB_UNIT;
    }
  return table;
}

static void unit_links_are_skipped(void **state) {
  (void)state;
  static const int shapes[2][4] = {{4, 4, 4, 8}, {2, 6, 2, 10}};
  for (int i = 0; i < 2; i++) {
    problem p;
    if (!problem_make(&p, KAON_ISA_AUTO, shapes[i], KAON_ANTIPERIODIC, 1)) return;
    kaon_launch launch = launch_make(1);
    for (int precision = 0; precision < 3; precision++)
      for (int recon = 18; recon >= 8; recon -= recon == 18 ? 6 : 4)
        for (int nrhs = 1; nrhs <= COLUMNS; nrhs += 2) {
          storage s;
          storage_make(&p, &s, precision, recon, nrhs, 0, &launch);
          kaon_stencil marked = p.lattice->stencil;
          uint32_t *table = mark_unit_links(&p, 0);
          marked.neighbour[0] = table;
          kaon_hop_args args = hop_args(&p, &s, 0, 0, KAON_CLOVER_NONE, 0, 1);
          args.stencil = &marked;
          p.ctx->backend->dslash[precision]->hop(&launch, &args);
          expect(&p, nrhs - 1, 0, KAON_CLOVER_NONE, 0, 1);
          test_below("temporal gauge, relative error",
                     spinor_error(&p, s.out, precision, nrhs, 0, nrhs - 1, p.expected),
                     hop_bound(precision, recon, KAON_CLOVER_NONE));
          free(table);
          storage_free(&s);
        }
    free(launch.partials);
    problem_free(&p);
  }
}

static void clover_alone_agrees(void **state) {
  (void)state;
  problem p;
  if (!problem_make(&p, KAON_ISA_AUTO, (const int[4]){4, 6, 2, 10}, KAON_PERIODIC, 0)) return;
  kaon_launch launch = launch_make(2);
  for (int precision = 0; precision < 3; precision++) {
    storage s;
    storage_make(&p, &s, precision, 18, COLUMNS, 1, &launch);
    kaon_clover_args args = {.stencil = &p.lattice->stencil,
                             .nrhs = COLUMNS,
                             .clover = s.clover,
                             .clover_scale = s.clover_scale,
                             .in = s.x,
                             .out = s.x};
    p.ctx->backend->dslash[precision]->clover(&launch, &args);
    for (int k = 0; k < COLUMNS; k++) {
      ref_clover_multiply(&p.dirac, p.x[k], p.expected);
      test_below("clover in place, relative error",
                 spinor_error(&p, s.x, precision, COLUMNS, 1, k, p.expected),
                 hop_bound(precision, 18, KAON_CLOVER_ON_HOP));
    }
    storage_free(&s);
  }
  free(launch.partials);
  problem_free(&p);
}

/* |out|^2 and (x, out) on one parity. */
static void expected_sums(const problem *p, int parity, int k, double *norm, ref_complex *dot) {
  *norm = 0, *dot = 0;
  for (size_t site = 0; site < ref_volume(&p->L); site++)
    if (ref_parity(&p->L, site) == parity) {
      *norm += ref_norm2(p->expected + 12 * site, 12);
      *dot += ref_dot(p->x[k] + 12 * site, p->expected + 12 * site, 12);
    }
}

static void sums_agree_and_do_not_depend_on_threads(void **state) {
  (void)state;
  problem p;
  if (!problem_make(&p, KAON_ISA_AUTO, (const int[4]){4, 8, 8, 8}, KAON_ANTIPERIODIC, 0)) return;
  for (int precision = 0; precision < 3; precision++) {
    double slots[2][COLUMNS][3];
    for (int threads = 1; threads <= 2; threads++) {
      kaon_launch launch = launch_make(threads);
      storage s;
      storage_make(&p, &s, precision, 18, COLUMNS, 0, &launch);
      kaon_hop_args args = hop_args(&p, &s, 0, 1, KAON_CLOVER_ON_X, 0.5, -0.25);
      kaon_column_state *columns = calloc(COLUMNS, sizeof *columns);
      args.w = s.x;
      args.sum = (kaon_sum){.state = columns, .slot = {3, 5, KAON_NO_SLOT, KAON_NO_SLOT}};
      p.ctx->backend->dslash[precision]->hop(&launch, &args);
      for (int k = 0; k < COLUMNS; k++) {
        double norm;
        ref_complex dot;
        expect(&p, k, 1, KAON_CLOVER_ON_X, 0.5, -0.25);
        expected_sums(&p, 0, k, &norm, &dot);
        const double bound = 2 * hop_bound(precision, 18, KAON_CLOVER_ON_X);
        test_below("|out|^2, relative error", fabs(columns[k].slot[3][0] / norm - 1), bound);
        const double *d = columns[k].slot[5];
        test_below("(w, out) over |out|^2", cabs(d[0] + I * d[1] - dot) / norm, 2 * bound);
        slots[threads - 1][k][0] = columns[k].slot[3][0];
        slots[threads - 1][k][1] = d[0];
        slots[threads - 1][k][2] = d[1];
      }
      free(columns);
      free(launch.partials);
      storage_free(&s);
    }
    assert_memory_equal(slots[0], slots[1], sizeof slots[0]);
  }
  problem_free(&p);
}

static void frozen_columns_stay_as_they_are(void **state) {
  (void)state;
  problem p;
  if (!problem_make(&p, KAON_ISA_AUTO, (const int[4]){4, 4, 4, 4}, KAON_PERIODIC, 0)) return;
  for (int precision = 0; precision < 3; precision++) {
    kaon_launch launch = launch_make(2);
    storage s;
    storage_make(&p, &s, precision, 12, COLUMNS, 0, &launch);
    kaon_column_state *columns = calloc(COLUMNS, sizeof *columns);
    columns[0].gate = columns[2].gate = KAON_GATE_STEP;
    columns[1].gate = KAON_GATE_SERVICE;
    columns[1].slot[0][0] = 7;
    spinor_put(&p, s.out, precision, COLUMNS, 0, p.x);
    kaon_hop_args args = hop_args(&p, &s, 0, 0, KAON_CLOVER_NONE, 0, 1);
    args.gate = (kaon_gate){.state = columns, .mask = KAON_GATE_STEP};
    args.sum = (kaon_sum){.state = columns, .slot = {0, KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT}};
    p.ctx->backend->dslash[precision]->hop(&launch, &args);
    test_below("frozen column, change", spinor_error(&p, s.out, precision, COLUMNS, 0, 1, p.x[1]),
               precision == 2 ? 2 * unit_of[2] : unit_of[precision]);
    assert_true(columns[1].slot[0][0] == 7);
    assert_true(columns[2].slot[0][0] > 0);
    expect(&p, 2, 0, KAON_CLOVER_NONE, 0, 1);
    test_below("open column, error", spinor_error(&p, s.out, precision, COLUMNS, 0, 2, p.expected),
               hop_bound(precision, 12, KAON_CLOVER_NONE));
    free(columns);
    free(launch.partials);
    storage_free(&s);
  }
  problem_free(&p);
}

static void half_keeps_zero_and_shows_nan(void **state) {
  (void)state;
  problem p;
  if (!problem_make(&p, KAON_ISA_AUTO, (const int[4]){4, 4, 4, 4}, KAON_PERIODIC, 0)) return;
  kaon_launch launch = launch_make(1);
  const kaon_stencil *st = &p.lattice->stencil;
  storage s;
  memset(p.in[0], 0, ref_spinor_size(&p.L) * sizeof(ref_complex));
  storage_make(&p, &s, 2, 18, 1, 0, &launch);
  kaon_hop_args args = hop_args(&p, &s, 0, 0, KAON_CLOVER_NONE, 0, 1);
  p.ctx->backend->dslash[2]->hop(&launch, &args);
  for (int64_t i = 0; i < st->nblocks * 24 * st->width; i++)
    assert_int_equal(((int16_t *)s.out.data)[i], 0);
  s.in.scale[0] = NAN;
  p.ctx->backend->dslash[2]->hop(&launch, &args);
  int nans = 0;
  for (int64_t i = 0; i < st->nblocks * st->width; i++) nans += isnan(s.out.scale[i]) != 0;
  assert_int_equal(nans, 8);
  free(launch.partials);
  storage_free(&s);
  problem_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_in_the_split_order),
      cmocka_unit_test(agrees_in_the_plain_order),
      cmocka_unit_test(agrees_on_the_smallest_lattice),
      cmocka_unit_test(unit_links_are_skipped),
      cmocka_unit_test(clover_alone_agrees),
      cmocka_unit_test(sums_agree_and_do_not_depend_on_threads),
      cmocka_unit_test(frozen_columns_stay_as_they_are),
      cmocka_unit_test(half_keeps_zero_and_shows_nan),
  };
  return test_main(tests, NULL, NULL);
}
