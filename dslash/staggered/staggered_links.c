/* staggered_links.c - prepares fat and long links for an operator: statistics of a whole field, its
 * scale, splitting U(3) links into phases and SU(3), folding signs in or out. This is set-up, done
 * on the host in double. */
#include <math.h>
#include <stdlib.h>

#include "dslash/staggered/staggered_internal.h"
#include "lib/core/entry.h"

/* A function applied to every link of a field. `u` has 18 reals and may be changed. at: the index
 * of (block, mu, lane) in a field of one real for each link. */
typedef struct visit {
  const kaon_lattice *lattice;
  int parity, mu;
  int64_t block, at;
  int lane;
} visit;
typedef void visitor(void *user, const visit *v, double u[18]);

/* Visits all links; with threads if `user` is not written to (shared = 0). write: stores the
 * links. */
static void visit_all(const kaon_host_links *host, int write, int threads, visitor *act,
                      void *user) {
  const kaon_lattice *lattice = host->wide->lattice;
  const kaon_stencil *st = &lattice->stencil;
  const int width = st->width, pack = kaon_pack_of(lattice->ctx, 18, KAON_DOUBLE);
  const int64_t all = kaon_matrix_blocks(st);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < 8 * st->nblocks; i++) {
    visit v = {.lattice = lattice, .block = i % st->nblocks};
    v.mu = (int)(i / st->nblocks % 4);
    v.parity = (int)(i / st->nblocks / 4);
    const int lanes = v.block == st->nblocks - 1 ? st->tail_lanes[v.parity] : width;
    for (v.lane = 0; v.lane < lanes; v.lane++) {
      double *p = host->links[v.parity] +
                  kaon_packed_link_index(v.block, v.mu, 0, v.lane, all, 18, width, pack);
      double u[18];
      v.at = kaon_link_index(v.block, v.mu, 0, v.lane, all, 1, width);
      for (int c = 0; c < 18; c++) u[c] = p[kaon_component_offset(c, width, pack)];
      act(user, &v, u);
      for (int c = 0; c < 18 && write; c++) p[kaon_component_offset(c, width, pack)] = u[c];
    }
  }
}

static int threads_of(const kaon_lattice *lattice) {
  return lattice->ctx->threads > 1 ? lattice->ctx->threads : 1;
}

/* ---- statistics ---- */

/* The sum is sum + low, with twice the digits of a double. A coefficient of the whole field is made
 * from it, so its error would affect all links alike. Its bits must not depend on how many ranks
 * share the field. */
typedef struct figures {
  double largest, sum, low;
  int bad;
} figures;

/* Knuth's sum of two numbers with its error. `term` is already rounded, not part of an fma. */
static void add_exactly(figures *f, double term) {
  const volatile double given = term;
  const double sum = f->sum + given, other = sum - f->sum;
  f->low += (f->sum - (sum - other)) + (given - other);
  f->sum = sum;
}

static void note(void *user, const visit *v, double u[18]) {
  figures *f = user;
  (void)v;
  for (int c = 0; c < 18; c++) {
    if (!isfinite(u[c])) f->bad = 1;
    f->largest = fmax(f->largest, fabs(u[c]));
    add_exactly(f, u[c] * u[c]);
  }
}

/* Combines the ranks: the largest value, the sum, and whether any rank found a bad value. */
static kaon_status reduce_over_ranks(kaon_context *ctx, figures *f) {
  kaon_comm *comm = ctx->comm;
  if (comm->ranks == 1) return KAON_OK;
  enum { NUMBERS = 4 };
  const double mine[NUMBERS] = {f->largest, f->sum, f->low, f->bad};
  KAON_AUTOFREE double *all = malloc((size_t)comm->ranks * sizeof mine);
  kaon_status status = KAON_AGREE_MEMORY(ctx, all != NULL, "staggered: out of host memory");
  if (status == KAON_OK) status = comm->ops->gather(comm, mine, NUMBERS, all);
  *f = (figures){0};
  for (int r = 0; r < comm->ranks && status == KAON_OK; r++) {
    const double *its = all + (size_t)NUMBERS * (size_t)r;
    f->largest = fmax(f->largest, its[0]);
    add_exactly(f, its[1]);
    f->low += its[2];
    f->bad |= its[3] != 0;
  }
  return status;
}

kaon_status kaon_staggered_measure(const kaon_gauge *from, double *largest, double *row) {
  figures f = {0};
  kaon_wide_links wide;
  kaon_host_links host = {0};
  KAON_TRY(kaon_wide_open(from, 0, &wide));
  kaon_status status = kaon_agree(from->ctx, kaon_host_open(&wide, 1, &host));
  if (status == KAON_OK)
    visit_all(&host, 0, 1, note, &f); /* one thread, so that the order of the
                                                              sum is fixed */
  kaon_host_close(&host);
  kaon_wide_close(&wide);
  if (status == KAON_OK) status = reduce_over_ranks(from->ctx, &f);
  KAON_TRY(status);
  if (f.bad)
    return kaon_fail(from->ctx, KAON_ERR_NOT_FINITE,
                     "staggered: the links hold NaN or infinity; read or compute them anew");
  *largest = f.largest;
  *row = sqrt((f.sum + f.low) / (12 * (double)from->lattice->global_volume));
  return KAON_OK;
}

/* ---- new links from old ones ---- */

/* Copies the field's links to host memory `wide` and applies `act` to each. The caller closes
 * it. */
static kaon_status made_of(const kaon_gauge *from, visitor *act, void *user,
                           kaon_wide_links *wide) {
  KAON_AUTO(kaon_host_close) kaon_host_links host = {0};
  kaon_status status = kaon_wide_create(from->lattice, wide);
  if (status == KAON_OK) status = kaon_wide_decode(from, wide);
  if (status == KAON_OK) status = kaon_host_open(wide, 1, &host);
  if (status == KAON_OK) {
    visit_all(&host, 1, threads_of(from->lattice), act, user);
    status = kaon_host_upload(&host);
  }
  return kaon_agree(from->ctx, status);
}

static void multiply(void *user, const visit *v, double u[18]) {
  (void)v;
  for (int c = 0; c < 18; c++) u[c] *= *(const double *)user;
}

kaon_status kaon_staggered_scale(const kaon_gauge *from, double factor, kaon_gauge *to) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_TRY(made_of(from, multiply, &factor, &wide));
  return kaon_wide_commit(to, &wide, 0, "staggered");
}

/* ---- U(3) ---- */

typedef struct splitting {
  double factor;
  double *phase[2];
} splitting;

typedef struct number {
  double re, im;
} number;

static number times(number a, number b) {
  return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static number determinant(const double u[18]) {
  number sum = {0, 0};
  const number *e = (const number *)u;
  for (int j = 0; j < 3; j++) {
    const number a = times(e[3 + (j + 1) % 3], e[6 + (j + 2) % 3]);
    const number b = times(e[3 + (j + 2) % 3], e[6 + (j + 1) % 3]);
    const number term = times(e[j], (number){a.re - b.re, a.im - b.im});
    sum.re += term.re;
    sum.im += term.im;
  }
  return sum;
}

static void split_link(void *user, const visit *v, double u[18]) {
  splitting *s = user;
  number *e = (number *)u;
  for (int c = 0; c < 18; c++) u[c] *= s->factor;
  const number det = determinant(u);
  const double theta = atan2(det.im, det.re) / 3;
  const number back = {cos(theta), -sin(theta)};
  for (int i = 0; i < 9; i++) e[i] = times(e[i], back);
  s->phase[v->parity][v->at] = theta;
}

static double largest_of(const double *values, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(values[i]));
  return largest;
}

/* Stores tan(theta / 2) in the precision of `to` in device memory. */
static kaon_status store_phases(const double *theta, size_t count, kaon_staggered_links *to) {
  kaon_context *ctx = to->links->ctx;
  const kaon_precision precision = to->links->precision;
  const size_t bytes = count * kaon_precision_bytes(precision);
  KAON_AUTOFREE void *host = malloc(bytes);
  void *device = NULL;
  if (host == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "staggered: out of host memory for the links' phases");
  for (size_t i = 0; i < count; i++) {
    const double y = tan(theta[i] / 2);
    if (precision == KAON_DOUBLE) ((double *)host)[i] = y;
    if (precision == KAON_SINGLE) ((float *)host)[i] = (float)y;
    if (precision == KAON_HALF) ((int16_t *)host)[i] = (int16_t)lrint(y * 32767);
  }
  kaon_status status = KAON_OK;
  if (to->phase[0] == NULL)
    status = kaon_pool_allocate(ctx, bytes, "phases of long links", &device);
  if (to->phase[0] == NULL) to->phase[0] = device;
  if (status == KAON_OK) status = ctx->backend->memory->to_device(ctx, to->phase[0], host, bytes);
  to->phase[1] = (char *)to->phase[0] + bytes / 2;
  return status;
}

/* Phases below this are rounding errors of 32-bit files and are treated as 0. */
#define PHASE_TOLERANCE 2e-6

kaon_status kaon_staggered_split(const kaon_gauge *from, double factor, kaon_staggered_links *to) {
  const kaon_lattice *lattice = from->lattice;
  const size_t count = 4 * (size_t)kaon_link_blocks(kaon_matrix_blocks(&lattice->stencil)) *
                       (size_t)lattice->stencil.width;
  splitting s = {.factor = factor, .phase = {calloc(2 * count, sizeof(double)), NULL}};
  kaon_wide_links wide = {0};
  KAON_TRY(
      KAON_AGREE_MEMORY(from->ctx, s.phase[0] != NULL, "staggered: out of host memory for phases"));
  s.phase[1] = s.phase[0] + count;
  kaon_status status = made_of(from, split_link, &s, &wide);
  figures f = {0};
  if (status == KAON_OK) {
    f.largest = largest_of(s.phase[0], 2 * count);
    status = reduce_over_ranks(from->ctx, &f);
  }
  if (status == KAON_OK)
    status = kaon_wide_commit(to->links, &wide, 0, "staggered: long links over their coefficient");
  if (status == KAON_OK && f.largest > PHASE_TOLERANCE)
    status = kaon_agree(from->ctx, store_phases(s.phase[0], 2 * count, to));
  if (status == KAON_OK && f.largest <= PHASE_TOLERANCE) {
    kaon_pool_release(from->ctx, to->phase[0]);
    to->phase[0] = to->phase[1] = NULL;
  }
  kaon_wide_close(&wide);
  free(s.phase[0]);
  return status;
}

/* ---- signs ---- */

typedef struct folding {
  uint8_t masks[4];
  int steps;
} folding;

static void fold_link(void *user, const visit *v, double u[18]) {
  const folding *f = user;
  int site[4];
  kaon_lattice_site(v->lattice, v->parity, v->block, v->lane, site);
  for (int mu = 0; mu < 4; mu++) site[mu] += v->lattice->origin[mu];
  const double sign = kaon_staggered_sign(v->lattice, f->masks, v->mu, f->steps, site);
  for (int c = 0; c < 18; c++) u[c] *= sign;
}

kaon_status kaon_staggered_fold(kaon_gauge *links, int steps, kaon_staggered_phases phases) {
  KAON_ENTER(KAON_OF(links), links);
  if ((steps != 1 && steps != 3) || (phases != KAON_PHASES_MILC && phases != KAON_PHASES_CHROMA))
    return kaon_fail(links->ctx, KAON_ERR_ARGUMENT,
                     "staggered fold: steps is %d and phases %d, but must be 1 (thin or fat) or 3 "
                     "(long), and 0 (MILC) or 1 (Chroma)",
                     steps, (int)phases);
  if (links->reconstruct != KAON_RECONSTRUCT_18 || links->precision != KAON_DOUBLE)
    return kaon_fail(links->ctx, KAON_ERR_UNSUPPORTED,
                     "staggered fold: a field in double and 18 reals is needed; copy it to one");
  folding f = {.steps = steps};
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  kaon_staggered_masks(phases, f.masks);
  KAON_TRY(made_of(links, fold_link, &f, &wide));
  return kaon_wide_commit(links, &wide, 0, "staggered fold");
}
