/* schwarz.c - Schwarz preconditioners: z ~ A^-1 b by approximate solves in the blocks of A's local
 * part.
 *   additive         z = sum over blocks of (A_b)^-1 b, on later cycles of b - A z
 *   multiplicative   for each turn: z += sum over blocks of that turn of (A_b)^-1 (b - A z)
 *   asynchronous     the same, but the turns of each cycle are drawn at random, and A z uses the
 *                    faces received so far (asynchronous exchanges, lib/comm/comm.h)
 * In the asynchronous kind a rank does not wait for its neighbours. On the threads of one rank,
 * blocks iterate without barriers (lib/operator/free_blocks.h).
 *
 * (A_b)^-1 is a fixed number of minimal-residual steps from 0, with a step length for each block.
 * So a block's solution depends on nothing outside it, nor on the distribution of blocks over
 * ranks. Luscher, Comput. Phys. Commun. 156 (2004) 209, has the same; Babich et al.,
 * arXiv:1109.2935, use one block a GPU. A rank that is one block uses ordinary vector updates,
 * whose sums stay on the rank.
 *
 * Columns that the outer gate closes are closed here, too. No step reads a value on the host.
 * Storage: 2 vectors, and with several blocks on a rank 3 doubles a site. A stage: `steps`
 * applications of the local part and as many updates; later stages 1 A before that. */
#include <kaon/context.h>
#include <kaon/lab.h>

#include <stdlib.h>

#include "blas/blas.h"
#include "blas/domain.h"
#include "lib/math/philox.h"
#include "lib/math/steps/recurrences.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "lib/operator/free_blocks.h"
#include "lib/core/entry.h"

enum { ORDERS = 8 }; /* random orders; cycles use them in turn */

/* Workspace for an application to a given number of columns. It is retained;
 * lib/operator/workspace.h says why. */
typedef struct room {
  struct room *next;
  int columns;
  kaon_scalars *scalars; /* sums stay on the rank */
  kaon_vector *r, *q;
  double *work; /* of steps by domain */
} room;

typedef struct schwarz {
  kaon_schwarz_options options; /* with the defaults of steps and cycles filled in */
  kaon_operator *A;             /* retained */
  kaon_operator *whole;         /* A in this preconditioner's precision, for residuals; NULL: no
                                   residual is needed */
  kaon_operator *local;         /* the same, with couplings between blocks dropped */
  kaon_domains *domains;
  kaon_free_blocks *free; /* asynchronous iteration without barriers; NULL: in turns */
  int stages;             /* local solves in an application */
  int loose;              /* residuals do not wait for other ranks */
  kaon_message_lags lags;
  const int32_t *orders[ORDERS]; /* asynchronous: turns of the domains */
  room *rooms;                   /* the first is that of the current application */
} schwarz;

static int by_domains(const schwarz *self) {
  return self->domains->view.count > 1;
}

static int turns(const schwarz *self) {
  if (self->options.kind == KAON_SCHWARZ_ASYNCHRONOUS) return self->options.groups;
  return self->options.kind == KAON_SCHWARZ_MULTIPLICATIVE ? self->domains->turns : 1;
}

/* ---- workspace ---- */

static void release_all(const schwarz *self, room *gone) {
  kaon_vector_destroy(&gone->r);
  kaon_vector_destroy(&gone->q);
  kaon_scalars_destroy(&gone->scalars);
  kaon_pool_release(self->local->ctx, gone->work);
  free(gone);
}

static kaon_status make_scalars(const schwarz *self, room *made) {
  kaon_context *ctx = self->local->ctx;
  const int columns = made->columns;
  KAON_TRY(kaon_scalars_create(ctx, columns, &made->scalars));
  made->scalars->local = 1;
  KAON_AUTOFREE kaon_column_state *host = calloc((size_t)columns, sizeof *host);
  if (host == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "schwarz: out of host memory");
  for (int k = 0; k < columns; k++) {
    host[k].gate = KAON_GATE_STEP;
    host[k].slot[KAON_S_RELAXATION][0] = self->options.relaxation;
  }
  return kaon_scalars_write(made->scalars, host);
}

/* Allocates what the asynchronous exchanges need, by an application that sends nothing. */
static kaon_status prepare_async(const schwarz *self, const room *made) {
  kaon_comm *comm = self->local->ctx->comm;
  kaon_pass gate = KAON_PASS_INIT;
  gate.scalars = made->scalars;
  KAON_TRY(kaon_blas_zero(made->r, &gate));
  (void)comm->ops->async_prepare(comm, self->stages);
  const kaon_status run = kaon_operator_run(self->whole, KAON_PLAIN, made->r, made->q, &gate);
  const kaon_status kept = comm->ops->async_prepare(comm, 0);
  return kaon_agree(comm->ctx, run != KAON_OK ? run : kept);
}

static kaon_status take(const schwarz *self, room *made) {
  const kaon_operator *local = self->local;
  kaon_context *ctx = local->ctx;
  const int columns = made->columns;
  KAON_TRY(kaon_vector_create(ctx, local->space, local->precision, columns, &made->r));
  KAON_TRY(kaon_vector_create(ctx, local->space, local->precision, columns, &made->q));
  KAON_TRY(make_scalars(self, made));
  if (by_domains(self)) {
    void *work = NULL;
    const size_t doubles = kaon_domains_work(local->space, self->domains, columns);
    KAON_TRY(kaon_pool_allocate(ctx, doubles * sizeof *made->work, "sums of domains", &work));
    made->work = work;
  }
  KAON_TRY(kaon_operator_reserve(self->local, KAON_PLAIN, columns));
  if (self->whole == NULL) return KAON_OK;
  KAON_TRY(kaon_operator_reserve(self->whole, KAON_PLAIN, columns));
  if (self->free != NULL) KAON_TRY(self->free->ops->reserve(self->free, columns));
  return self->loose ? prepare_async(self, made) : KAON_OK;
}

/* Moves the workspace for this number of columns to the front. */
static kaon_status get_room(kaon_operator *K, int columns) {
  schwarz *self = K->self;
  room **at = &self->rooms;
  while (*at != NULL && (*at)->columns != columns) at = &(*at)->next;
  room *chosen = *at;
  if (chosen != NULL) {
    *at = chosen->next;
  } else {
    kaon_status status = KAON_OK;
    chosen = calloc(1, sizeof *chosen);
    if (chosen == NULL) status = kaon_fail(K->ctx, KAON_ERR_MEMORY, "schwarz: out of host memory");
    KAON_TRY(kaon_agree(K->ctx, status));
    chosen->columns = columns;
    status = take(self, chosen);
    if (status != KAON_OK) {
      release_all(self, chosen);
      return status;
    }
  }
  chosen->next = self->rooms;
  self->rooms = chosen;
  return KAON_OK;
}

static kaon_status reserve(kaon_operator *K, kaon_mode mode, int columns) {
  (void)mode;
  return get_room(K, columns);
}

/* ---- an application ---- */

static kaon_pass plain(const schwarz *self) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = self->rooms->scalars;
  return pass;
}

/* Minimal-residual steps on A_b z = r, from the current z (fresh: from 0). Overwrites r. */
static kaon_status solve_blocks(schwarz *self, kaon_vector *r, kaon_vector *q, kaon_vector *z,
                                int fresh) {
  const kaon_pass gate = plain(self);
  kaon_pass alpha = gate;
  alpha.norm = KAON_S_Q2;
  alpha.dot = KAON_S_RQ;
  alpha.w = r;
  alpha.then = KAON_REC_LOCAL_ALPHA;
  const int domains = by_domains(self);
  if (fresh && !domains) KAON_TRY(kaon_blas_zero(z, &gate));
  for (int i = 0; i < self->options.steps; i++) {
    KAON_TRY(kaon_operator_run(self->local, KAON_PLAIN, r, q, domains ? &gate : &alpha));
    if (domains)
      KAON_TRY(kaon_domains_mr(self->domains, self->options.relaxation, fresh && i == 0, z, r, q,
                               self->rooms->work, &gate));
    else if (i + 1 < self->options.steps)
      KAON_TRY(kaon_blas_bicgstab_solution(KAON_NUMBER(0), q, KAON_PLUS(KAON_S_ALPHA), r,
                                           KAON_MINUS(KAON_S_ALPHA), q, z, &gate));
    else
      KAON_TRY(kaon_blas_axpy(KAON_PLUS(KAON_S_ALPHA), r, z, &gate));
  }
  return KAON_OK;
}

/* The domains with the turns of a stage's cycle. */
static kaon_domains turned(const schwarz *self, int number) {
  kaon_domains domains = *self->domains;
  const int32_t *order = self->orders[number / turns(self) % ORDERS];
  if (order != NULL) domains.view.turn = order;
  return domains;
}

/* One stage: the residual of its blocks, and their solves. The first residual is b. */
static kaon_status stage(schwarz *self, int number, const kaon_vector *b, kaon_vector *z) {
  const kaon_pass gate = plain(self);
  const room *in = self->rooms;
  const int turn = number % turns(self), every = turns(self) == 1;
  const kaon_vector *residual = b;
  if (number > 0) {
    kaon_comm *comm = self->local->ctx->comm;
    if (self->loose) comm->ops->async_round(comm, number - 1, &self->lags);
    KAON_TRY(kaon_operator_run(self->whole, KAON_PLAIN, z, in->q, &gate));
    KAON_TRY(kaon_blas_xpay(b, KAON_NUMBER(-1), in->q, &gate));
    residual = in->q;
  }
  const kaon_domains domains = turned(self, number);
  if (!every && !by_domains(self) && domains.turn != turn)
    return number == 0 ? kaon_blas_zero(z, &gate) : KAON_OK; /* it is the turn of other ranks */
  if (every || !by_domains(self))
    KAON_TRY(kaon_blas_copy(residual, in->r, &gate));
  else
    KAON_TRY(kaon_domains_mask(&domains, turn, residual, in->r, &gate));
  return solve_blocks(self, in->r, in->q, z, number == 0);
}

static kaon_status apply_free(schwarz *self, const kaon_vector *b, kaon_vector *z) {
  const kaon_schwarz_options *o = &self->options;
  const kaon_free_how how = {o->steps, o->cycles, o->lag, o->relaxation, o->seed};
  const kaon_pass gate = plain(self);
  const room *in = self->rooms;
  return self->free->ops->run(self->free, &how, b, z, in->r, in->q, in->work, &gate);
}

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  schwarz *self = K->self;
  if (mode == KAON_DAGGER)
    return kaon_fail(K->ctx, KAON_ERR_UNSUPPORTED,
                     "schwarz: the adjoint of a Schwarz preconditioner is not supported");
  KAON_TRY(get_room(K, x->nrhs));
  const room *in = self->rooms;
  KAON_TRY(kaon_blas_follow(pass, self->rooms->scalars));
  if (self->free != NULL) {
    KAON_TRY(apply_free(self, x, y));
  } else if (self->stages == 1) {
    const kaon_pass gate = plain(self);
    KAON_TRY(kaon_blas_copy(x, in->r, &gate));
    KAON_TRY(solve_blocks(self, in->r, in->q, y, 1));
  } else {
    kaon_status status = KAON_OK;
    for (int i = 0; i < self->stages && status == KAON_OK; i++) status = stage(self, i, x, y);
    if (self->loose) {
      const kaon_status end = K->ctx->comm->ops->async_end(K->ctx->comm);
      if (status == KAON_OK) status = end;
    }
    KAON_TRY(status);
  }
  return kaon_pass_sum_separately(y, pass);
}

static kaon_status make_twin(kaon_operator *K, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)precision;
  (void)reconstruct;
  *twin = NULL;
  return kaon_fail(K->ctx, KAON_ERR_UNSUPPORTED,
                   "schwarz: a preconditioner cannot change its precision; create a second one");
}

/* Each stage works on the blocks of one turn. */
static kaon_cost cost(const kaon_operator *K, int columns) {
  const schwarz *self = K->self;
  const kaon_cost local = self->local->ops->cost(self->local, columns);
  const double steps = (double)self->options.cycles * self->options.steps;
  kaon_cost c = {.flops = steps * local.flops, .bytes = steps * local.bytes};
  if (self->whole == NULL) return c;
  const kaon_cost whole = self->whole->ops->cost(self->whole, columns);
  c.flops += (self->stages - 1) * whole.flops;
  c.bytes += (self->stages - 1) * whole.bytes;
  return c;
}

static void destroy(kaon_operator *K) {
  schwarz *self = K->self;
  while (self->rooms != NULL) {
    room *gone = self->rooms;
    self->rooms = gone->next;
    release_all(self, gone);
  }
  for (int i = 0; i < ORDERS; i++) kaon_pool_release(K->ctx, (void *)self->orders[i]);
  if (self->free != NULL) self->free->ops->destroy(self->free);
  kaon_domains_destroy(&self->domains);
  kaon_operator_destroy(&self->local);
  kaon_operator_destroy(&self->whole);
  kaon_operator_destroy(&self->A);
}

static const kaon_operator_ops schwarz_ops = {.name = "schwarz",
                                              .apply = apply,
                                              .twin = make_twin,
                                              .reserve = reserve,
                                              .cost = cost,
                                              .destroy = destroy};

/* ---- creation ---- */

static kaon_status cut(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                       kaon_domains **domains) {
  KAON_TRY(kaon_operator_check_square(A, "local part"));
  if (A->ops->local == NULL)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED, "local part: operator '%s' cannot be cut",
                     A->ops->name);
  return A->ops->local(A, how, local, domains);
}

kaon_status kaon_operator_local_part(kaon_operator *A, const int block[4], kaon_precision precision,
                                     kaon_reconstruct reconstruct, kaon_operator **local) {
  if (local != NULL) *local = NULL;
  KAON_ENTER(KAON_OF(A), A, block, local);
  if ((int)precision < KAON_DOUBLE || (int)precision > KAON_HALF)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "local part: precision is %d, but must be 0 (double), 1 (single) or 2 (half)",
                     (int)precision);
  if (reconstruct != KAON_RECONSTRUCT_18 && reconstruct != KAON_RECONSTRUCT_12 &&
      reconstruct != KAON_RECONSTRUCT_8)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "local part: %d reals a link are not supported; give 18, 12 or 8",
                     (int)reconstruct);
  const kaon_local how = {{block[0], block[1], block[2], block[3]}, precision, reconstruct, 0};
  return cut(A, &how, local, NULL);
}

/* Shuffles the rank's domains and gives each turn an equal share of them. */
static kaon_status draw_order(schwarz *self, int number) {
  kaon_context *ctx = self->local->ctx;
  const int count = self->domains->view.count, groups = self->options.groups;
  KAON_AUTOFREE int32_t *place = malloc((size_t)count * sizeof *place);
  void *table = NULL;
  if (place == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "schwarz: out of host memory");
  for (int i = 0; i < count; i++) {
    const kaon_philox at = {{(uint32_t)i, (uint32_t)number, (uint32_t)ctx->comm->rank, 0}};
    const int other = (int)(kaon_philox4x32(at, self->options.seed).v[0] % (uint32_t)(i + 1));
    place[i] = place[other];
    place[other] = i;
  }
  for (int i = 0; i < count; i++) place[i] = (int32_t)((int64_t)place[i] * groups / count);
  const kaon_status status =
      kaon_table_upload(ctx, place, (size_t)count * sizeof *place, "turns of domains", &table);
  self->orders[number] = table;
  return status;
}

/* 1: this rank's exchanges need not be waited for. */
static int is_async(const kaon_context *ctx) {
  const kaon_backend *backend = ctx->backend;
  if (ctx->comm->ops->async_round == NULL) return 0;
  return backend->host_accessible || (backend->ranks != NULL && backend->ranks->by_host(ctx));
}

/* Prepares the asynchronous kind. It needs the same number of turns on all ranks, their order, and
 * a communicator with asynchronous exchanges. */
static kaon_status build_asynchronous(schwarz *self) {
  kaon_context *ctx = self->local->ctx;
  const kaon_comm *comm = ctx->comm;
  double divided = by_domains(self);
  kaon_status status = kaon_agree(ctx, KAON_OK); /* a rank whose part was not divided has already
                                                    failed */
  KAON_TRY(status);
  KAON_TRY(kaon_comm_sum(ctx, &divided, 1));
  if (self->options.groups == 0) self->options.groups = 2;
  if (divided == 0) self->options.groups = 1;
  self->stages = self->options.cycles * self->options.groups;
  self->loose = comm->ranks > 1 && self->stages > 1;
  if (self->loose && !is_async(ctx))
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "schwarz: %d ranks on backend %s with transport %s have no asynchronous "
                     "messages; use the additive kind, or on devices the transport host",
                     comm->ranks, ctx->backend->name, comm->ops->name);
  const int orders = self->options.cycles < ORDERS ? self->options.cycles : ORDERS;
  for (int i = 0; i < orders && by_domains(self) && status == KAON_OK; i++)
    status = draw_order(self, i);
  return status;
}

/* A in this preconditioner's precision. */
static kaon_status take_whole(schwarz *self) {
  kaon_operator *A = self->A;
  if (A->precision != self->local->precision)
    return A->ops->twin(A, self->options.precision, self->options.reconstruct, &self->whole);
  self->whole = A;
  kaon_operator_retain(A);
  return KAON_OK;
}

/* Prepares iteration without barriers, where no turns are requested and the operator supports
 * it. */
static kaon_status set_free(schwarz *self) {
  const kaon_schwarz_options *o = &self->options;
  const kaon_operator *A = self->A;
  const kaon_free_access *access = kaon_operator_capability(A, KAON_CAPABILITY_FREE_BLOCKS);
  if (o->kind != KAON_SCHWARZ_ASYNCHRONOUS || o->groups != 0 || A->ctx->comm->ranks > 1 ||
      access == NULL || !by_domains(self))
    return KAON_OK;
  KAON_TRY(take_whole(self));
  KAON_TRY(access->blocks(self->whole, self->local, self->domains, &self->free));
  if (self->free == NULL)
    kaon_operator_destroy(&self->whole);
  else
    self->stages = o->cycles + 1; /* each takes a residual */
  return KAON_OK;
}

static kaon_status build(schwarz *self) {
  const kaon_schwarz_options *o = &self->options;
  kaon_operator *A = self->A;
  const kaon_local how = {{o->block[0], o->block[1], o->block[2], o->block[3]},
                          o->precision,
                          o->reconstruct,
                          o->kind == KAON_SCHWARZ_MULTIPLICATIVE};
  KAON_TRY(cut(A, &how, &self->local, &self->domains));
  self->stages = o->cycles * turns(self);
  KAON_TRY(set_free(self));
  if (self->free != NULL) return KAON_OK;
  if (o->kind == KAON_SCHWARZ_ASYNCHRONOUS) KAON_TRY(build_asynchronous(self));
  const kaon_precision vectors = self->local->precision; /* of rows: single where values are half */
  if (by_domains(self) && !kaon_domains_supported(A->ctx, vectors))
    return kaon_fail(
        A->ctx, KAON_ERR_NOT_BUILT,
        "schwarz: backend %s has no blocks smaller than a rank's part; leave the blocks' extents 0",
        A->ctx->backend->name);
  return self->stages == 1 ? KAON_OK : take_whole(self);
}

kaon_status kaon_schwarz_create(kaon_operator *A, const kaon_schwarz_options *options,
                                kaon_operator **K) {
  kaon_schwarz_options own;
  if (K != NULL) *K = NULL;
  KAON_ENTER(KAON_OF(A), A, K);
  KAON_TRY(kaon_options_share(A->ctx, KAON_OK, KAON_OPTIONS_SCHWARZ, options, &own, NULL, 0));
  options = &own;
  kaon_operator *made = kaon_operator_new((kaon_operator){.ops = &schwarz_ops,
                                                          .ctx = A->ctx,
                                                          .space = A->space,
                                                          .precision = options->precision,
                                                          .exponent = -A->exponent},
                                          sizeof(schwarz));
  if (made == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "schwarz: out of host memory");
  schwarz *self = made->self;
  const int additive = options->kind == KAON_SCHWARZ_ADDITIVE;
  self->options = *options;
  if (options->steps == 0) self->options.steps = additive ? 10 : 4;
  if (options->cycles == 0) self->options.cycles = additive ? 1 : 5;
  self->A = A;
  kaon_operator_retain(A);
  const kaon_status status = kaon_agree(A->ctx, build(self));
  if (status != KAON_OK) {
    kaon_operator_destroy(&made);
  } else {
    made->precision = self->local->precision;
    made->revision = self->local->revision;
    *K = made;
  }
  return status;
}

static kaon_status check_kind(const kaon_operator *K) {
  if (K->ops == &schwarz_ops) return KAON_OK;
  return kaon_fail(K->ctx, KAON_ERR_ARGUMENT,
                   "schwarz: operator '%s' is no Schwarz preconditioner; pass one made by "
                   "kaon_schwarz_create",
                   K->ops->name);
}

kaon_status kaon_schwarz_describe(const kaon_operator *K, kaon_schwarz_options *options) {
  KAON_ENTER(KAON_OF(K), K, options);
  KAON_TRY(check_kind(K));
  KAON_TRY(kaon_output_check(K->ctx, "kaon_schwarz_options", options));
  kaon_output_fill(options, &((const schwarz *)K->self)->options, sizeof *options);
  return KAON_OK;
}

kaon_status kaon_schwarz_describe_lags(const kaon_operator *K, kaon_schwarz_lags *lags) {
  KAON_ENTER(KAON_OF(K), K, lags);
  KAON_TRY(check_kind(K));
  const schwarz *self = K->self;
  const kaon_message_lags *seen = &self->lags;
  KAON_TRY(kaon_output_check(K->ctx, "kaon_schwarz_lags", lags));
  kaon_schwarz_lags made = {.reads = seen->reads, .late = seen->late, .oldest = seen->oldest};
  if (self->free != NULL) {
    const kaon_free_lags *own = &self->free->lags;
    made = (kaon_schwarz_lags){
        .reads = own->reads, .late = own->late, .oldest = own->oldest, .parts = self->free->parts};
  }
  kaon_output_fill(lags, &made, sizeof made);
  return KAON_OK;
}
