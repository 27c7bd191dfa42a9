/* shell_operator.c - see shell_operator.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "shell_operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "lib/operator/workspace.h"
#include "tests/reference/reference.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/sparse_case.h"

typedef struct {
  shell_map *map;
  const void *user;
  size_t n;
  shell_complex *in, *out; /* one column */
  kaon_column_state *state;
  int columns; /* of `state` */
  int *applications, own;
  size_t cut; /* numbers of a block whose couplings to others are left out; 0: the whole map */
} shell;

int shell_machine = KAON_ISA_AUTO;

void shell_open(shell_case *c, const int extents[4], int threads) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  must(NULL, machine_open(shell_machine, options, &c->ctx));
  must(c->ctx, kaon_lattice_create(c->ctx, extents, KAON_PERIODIC, &c->lattice));
  c->space = kaon_lattice_spinors(c->lattice, KAON_FULL);
  c->n = 12 * (size_t)kaon_lattice_volume(c->lattice);
}

void shell_close(shell_case *c) {
  kaon_lattice_destroy(&c->lattice);
  kaon_context_destroy(&c->ctx);
}

/* out = the map of in, or of each block of it alone. */
static void map_blocks(shell *self, int dagger) {
  if (self->cut == 0) {
    self->map(self->user, dagger, self->n, self->in, self->out);
    return;
  }
  shell_complex *in = malloc(self->n * sizeof *in), *out = malloc(self->n * sizeof *out);
  for (size_t first = 0; first < self->n; first += self->cut) {
    memset(in, 0, self->n * sizeof *in);
    memcpy(in + first, self->in + first, self->cut * sizeof *in);
    self->map(self->user, dagger, self->n, in, out);
    memcpy(self->out + first, out + first, self->cut * sizeof *out);
  }
  free(in);
  free(out);
}

static kaon_status apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  shell *self = A->self;
  const kaon_scalars *scalars = pass != NULL ? pass->scalars : NULL;
  int any = 0;
  if (scalars != NULL) {
    self->state = realloc(self->state, (size_t)scalars->columns * sizeof *self->state);
    KAON_TRY(kaon_scalars_read(scalars, self->state));
  }
  for (int k = 0; k < x->nrhs; k++) {
    if (scalars != NULL && (self->state[k].gate & pass->gate) == 0) continue;
    any = 1;
    KAON_TRY(kaon_vector_export(x, k, (double *)self->in, KAON_BASIS_UKQCD));
    map_blocks(self, mode == KAON_DAGGER);
    KAON_TRY(kaon_vector_import(y, k, (double *)self->out, KAON_BASIS_UKQCD));
  }
  *self->applications += any;
  return kaon_pass_sum_separately(y, pass); /* as an operator without fused sums would take them */
}

static kaon_operator *make(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                           const shell *like);

static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)reconstruct;
  *twin = make(A->ctx, A->space, precision, A->self);
  return KAON_OK;
}

/* Blocks of block[0] sites in lexicographic order, which have two colours by turns. */
static kaon_status local_part(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                              kaon_domains **domains) {
  const kaon_lattice *lattice = A->space->lattice;
  const int *n = lattice->extents, size = how->block[0];
  const int sites = (int)lattice->volume, count = sites / size;
  *local = make(A->ctx, A->space, how->precision, A->self);
  ((shell *)(*local)->self)->cut = 12 * (size_t)size;
  if (domains == NULL) return KAON_OK;
  int32_t *domain = malloc((size_t)(A->space->nblocks * A->space->width) * sizeof *domain);
  int32_t *order = malloc((size_t)sites * sizeof *order);
  int32_t *colour = malloc((size_t)count * sizeof *colour);
  for (int64_t i = 0; i < A->space->nblocks * A->space->width; i++) domain[i] = -1;
  for (int d = 0; d < count; d++) colour[d] = d % 2;
  for (int i = 0; i < sites; i++) {
    const int x[4] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1] % n[2], i / n[0] / n[1] / n[2]};
    const kaon_place p = kaon_lattice_place(lattice, x);
    order[i] =
        (int32_t)((p.parity * lattice->stencil.nblocks + p.block) * A->space->width + p.lane);
    domain[order[i]] = i / size;
  }
  const kaon_status status =
      kaon_domains_create(A->space, count, domain, order, colour, 2, domains);
  free(domain);
  free(order);
  free(colour);
  return status;
}

/* Asked of the map, a unit vector at a time. */
static kaon_status diagonal(kaon_operator *A, kaon_vector *d) {
  const shell *self = A->self;
  shell_complex *unit = calloc(self->n, sizeof *unit), *image = calloc(self->n, sizeof *image),
                *host = calloc(self->n, sizeof *host);
  for (size_t i = 0; i < self->n; i++) {
    unit[i] = 1;
    self->map(self->user, 0, self->n, unit, image);
    host[i] = image[i];
    unit[i] = 0;
  }
  const kaon_status status = kaon_vector_import(d, 0, (double *)host, KAON_BASIS_UKQCD);
  free(unit);
  free(image);
  free(host);
  return status;
}

static kaon_cost cost(const kaon_operator *A, int columns) {
  const shell *self = A->self;
  (void)columns;
  return (kaon_cost){.flops = 10.0 * (double)self->n, .bytes = 32.0 * (double)self->n};
}

static void destroy(kaon_operator *A) {
  shell *self = A->self;
  free(self->in);
  free(self->out);
  free(self->state);
  if (self->own) free(self->applications);
}

static const kaon_operator_ops shell_ops = {.name = "shell",
                                            .apply = apply,
                                            .twin = make_twin,
                                            .local = local_part,
                                            .diagonal = diagonal,
                                            .cost = cost,
                                            .destroy = destroy};

static kaon_operator *make(kaon_context *ctx, const kaon_space *space, kaon_precision precision,
                           const shell *like) {
  kaon_operator *A = kaon_operator_new(
      (kaon_operator){.ops = &shell_ops, .ctx = ctx, .space = space, .precision = precision},
      sizeof(shell));
  shell *self = A->self;
  *self = *like;
  self->in = calloc(self->n, sizeof *self->in);
  self->out = calloc(self->n, sizeof *self->out);
  self->state = NULL;
  self->own = 0;
  return A;
}

kaon_operator *shell_operator(shell_case *c, kaon_precision precision, shell_map *map,
                              const void *user) {
  const shell like = {.map = map, .user = user, .n = c->n, .applications = calloc(1, sizeof(int))};
  kaon_operator *A = make(c->ctx, kaon_lattice_spinors(c->lattice, KAON_FULL), precision, &like);
  ((shell *)A->self)->own = 1;
  return A;
}

int shell_applications(const kaon_operator *A) {
  return *((const shell *)A->self)->applications;
}

/* ---- the map as a matrix ---- */

typedef struct {
  kaon_operator *A; /* the library's; half: in single */
  kaon_workspace *wide;
} carried;

static kaon_precision carried_in(kaon_precision asked) {
  return asked == KAON_HALF ? KAON_SINGLE : asked;
}

/* Twins in half round what goes in and what comes out, as a shell's do. */
static kaon_status apply_carried(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                                 kaon_vector *y, const kaon_pass *pass) {
  carried *self = A->self;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_workspace *wide;
  if (A->precision != KAON_HALF) {
    KAON_TRY(kaon_operator_run(self->A, mode, x, y, &gate));
    return kaon_pass_sum_separately(y, pass);
  }
  KAON_TRY(kaon_workspace_get(self->A, self->A->space, 2, x->nrhs, &self->wide, &wide));
  KAON_TRY(kaon_blas_convert(x, wide->vector[0], 0, &gate));
  KAON_TRY(kaon_operator_run(self->A, mode, wide->vector[0], wide->vector[1], &gate));
  KAON_TRY(kaon_blas_convert(wide->vector[1], y, 0, &gate));
  return kaon_pass_sum_separately(y, pass);
}

static kaon_operator *carry(kaon_operator *inner, kaon_precision precision);

static kaon_status carried_twin(kaon_operator *A, kaon_precision precision,
                                kaon_reconstruct reconstruct, kaon_operator **twin) {
  const carried *self = A->self;
  kaon_operator *inner = NULL;
  *twin = NULL;
  KAON_TRY(self->A->ops->twin(self->A, carried_in(precision), reconstruct, &inner));
  *twin = carry(inner, precision);
  return KAON_OK;
}

static kaon_status reserve_carried(kaon_operator *A, kaon_mode mode, int columns) {
  carried *self = A->self;
  kaon_workspace *unused;
  KAON_TRY(kaon_operator_reserve(self->A, mode, columns));
  return A->precision == KAON_HALF
             ? kaon_workspace_get(self->A, self->A->space, 2, columns, &self->wide, &unused)
             : KAON_OK;
}

static kaon_cost cost_carried(const kaon_operator *A, int columns) {
  const carried *self = A->self;
  return self->A->ops->cost(self->A, columns);
}

static void destroy_carried(kaon_operator *A) {
  carried *self = A->self;
  kaon_workspace_free(&self->wide);
  kaon_operator_destroy(&self->A);
}

static const kaon_operator_ops carried_ops = {.name = "map as a matrix",
                                              .apply = apply_carried,
                                              .twin = carried_twin,
                                              .reserve = reserve_carried,
                                              .cost = cost_carried,
                                              .destroy = destroy_carried};

/* Takes `inner` over. */
static kaon_operator *carry(kaon_operator *inner, kaon_precision precision) {
  kaon_operator *A = kaon_operator_new(
      (kaon_operator){
          .ops = &carried_ops, .ctx = inner->ctx, .space = inner->space, .precision = precision},
      sizeof(carried));
  ((carried *)A->self)->A = inner;
  return A;
}

kaon_operator *shell_matrix(shell_case *c, kaon_precision precision, shell_map *map,
                            const void *user) {
  ref_sparse entries = ref_sparse_new(c->n);
  shell_complex *unit = calloc(c->n, sizeof *unit), *image = calloc(c->n, sizeof *image);
  for (size_t j = 0; j < c->n; j++) {
    unit[j] = 1;
    map(user, 0, c->n, unit, image);
    unit[j] = 0;
    for (size_t i = 0; i < c->n; i++)
      if (image[i] != 0) ref_sparse_add(&entries, i, j, image[i]);
  }
  kaon_matrix *matrix = sparse_matrix(c->ctx, &entries, 2, NULL);
  kaon_operator *inner = sparse_operator(matrix, carried_in(precision), KAON_STORE_AUTO);
  kaon_matrix_destroy(&matrix); /* the operator keeps it */
  ref_sparse_free(&entries);
  free(unit);
  free(image);
  return carry(inner, precision);
}

kaon_operator *shell_placed(shell_case *c, shell_map *map, const void *user) {
  kaon_operator *A = shell_machine == MACHINE_CUDA ? shell_matrix(c, KAON_DOUBLE, map, user)
                                                   : shell_operator(c, KAON_DOUBLE, map, user);
  c->space = kaon_operator_space(A);
  return A;
}

/* ---- vectors ---- */

kaon_vector *shell_vector(shell_case *c, kaon_precision precision, int columns) {
  kaon_vector *v = NULL;
  must(c->ctx, kaon_vector_create(c->ctx, c->space, precision, columns, &v));
  return v;
}

void shell_import(shell_case *c, kaon_vector *v, int column, const shell_complex *x) {
  must(c->ctx, kaon_vector_import(v, column, (const double *)x, KAON_BASIS_UKQCD));
}

void shell_export(shell_case *c, const kaon_vector *v, int column, shell_complex *x) {
  must(c->ctx, kaon_vector_export(v, column, (double *)x, KAON_BASIS_UKQCD));
}

shell_complex *shell_random(const shell_case *c, uint64_t seed) {
  shell_complex *x = calloc(c->n, sizeof *x);
  ref_rng rng;
  ref_rng_seed(&rng, seed);
  for (size_t i = 0; i < c->n; i++) {
    const double re = 2 * ref_uniform(&rng) - 1;
    x[i] = re + I * (2 * ref_uniform(&rng) - 1);
  }
  return x;
}

kaon_vector *shell_random_vector(shell_case *c, kaon_precision precision, int columns,
                                 uint64_t seed) {
  kaon_vector *v = shell_vector(c, precision, columns);
  for (int k = 0; k < columns; k++) {
    shell_complex *x = shell_random(c, seed + (uint64_t)k);
    shell_import(c, v, k, x);
    free(x);
  }
  return v;
}

double shell_residual(shell_case *c, shell_map *map, const void *user, const kaon_vector *b,
                      const kaon_vector *x, int column) {
  shell_complex *hb = calloc(c->n, sizeof *hb), *hx = calloc(c->n, sizeof *hx),
                *ax = calloc(c->n, sizeof *ax);
  double r2 = 0, b2 = 0;
  shell_export(c, b, column, hb);
  shell_export(c, x, column, hx);
  map(user, 0, c->n, hx, ax);
  for (size_t i = 0; i < c->n; i++) {
    const shell_complex r = hb[i] - ax[i];
    r2 += creal(r) * creal(r) + cimag(r) * cimag(r);
    b2 += creal(hb[i]) * creal(hb[i]) + cimag(hb[i]) * cimag(hb[i]);
  }
  free(hb);
  free(hx);
  free(ax);
  return sqrt(r2 / b2);
}

/* ---- maps ---- */

void map_diagonal(const void *user, int dagger, size_t n, const shell_complex *x,
                  shell_complex *y) {
  const spectrum *s = user;
  (void)dagger;
  for (size_t i = 0; i < n; i++) {
    const int k = (int)(i % (size_t)s->distinct);
    y[i] = (s->low + (s->high - s->low) * k / (s->distinct > 1 ? s->distinct - 1 : 1)) * x[i];
  }
}

void map_chain(const void *user, int dagger, size_t n, const shell_complex *x, shell_complex *y) {
  const chain *c = user;
  const double wind = dagger ? -c->wind : c->wind;
  const shell_complex up = (1 - wind) * cexp(I * c->phase), down = (1 + wind) * cexp(-I * c->phase);
  for (size_t i = 0; i < n; i++) {
    y[i] = (2 + c->mass) * x[i];
    if (i > 0) y[i] -= down * x[i - 1];
    if (i + 1 < n) y[i] -= up * x[i + 1];
  }
}

void map_dense(const void *user, int dagger, size_t n, const shell_complex *x, shell_complex *y) {
  const shell_complex *a = user;
  for (size_t i = 0; i < n; i++) {
    shell_complex total = 0;
    for (size_t j = 0; j < n; j++) total += (dagger ? conj(a[j * n + i]) : a[i * n + j]) * x[j];
    y[i] = total;
  }
}

kaon_status shell_gather(kaon_comm *comm, const double *mine, int n, double *all) {
  for (int i = 0; i < comm->ranks * n; i++) all[i] = mine[i % n];
  return KAON_OK;
}
