/* schwarz.c - Schwarz preconditioners: z ~ A^-1 b by approximate solves in the blocks of A's local
 * part.
 *   additive         z = sum over blocks of (A_b)^-1 b, on later cycles of b - A z
 *   multiplicative   for each turn: z += sum over blocks of that turn of (A_b)^-1 (b - A z)
 * (A_b)^-1: a fixed number of minimal-residual steps from 0, with a step length for each block, so
 * that a block's solution depends on nothing outside it, and neither on how blocks are shared out
 * among ranks (Luscher, Comput. Phys. Commun. 156 (2004) 209, has the same; Babich et al.,
 * arXiv:1109.2935, a block a GPU). A rank that is one block is served by ordinary vector updates,
 * whose sums stay on the rank.
 * Columns that the outer gate closes are closed in here, too. No step reads a number on the host.
 * Storage: 2 vectors, and a rank of several blocks 3 doubles a site. A
 * stage: `steps` applications of the local part and as many updates; later ones 1 A before that. */
#include <kaon/options.h>

#include <stdlib.h>

#include "blas/blas.h"
#include "blas/domain.h"
#include "lib/math/recurrences.h"

/* What an application to so many columns works in; kept, as lib/workspace.h says why. */
typedef struct room {
  struct room *next;
  int columns;
  kaon_scalars *scalars; /* local */
  kaon_vector *r, *q;
  double *work; /* of steps domain by domain */
} room;

typedef struct schwarz {
  kaon_schwarz_options options; /* steps and cycles by rule filled in */
  kaon_operator *A;             /* kept alive */
  kaon_operator *whole;         /* A in our precision, for residuals; NULL: none is taken */
  kaon_operator *local;         /* and cut */
  kaon_domains *domains;
  int stages;  /* local solves of an application */
  room *rooms; /* the first: of the application under way */
} schwarz;

static int by_domains(const schwarz *self) {
  return self->domains->view.count > 1;
}

static int turns(const schwarz *self) {
  return self->options.kind == KAON_SCHWARZ_MULTIPLICATIVE ? self->domains->turns : 1;
}

/* ---- workspace ---- */

static void let_go(const schwarz *self, room *gone) {
  kaon_vector_destroy(&gone->r);
  kaon_vector_destroy(&gone->q);
  kaon_scalars_destroy(&gone->scalars);
  kaon_pool_give(self->local->ctx, gone->work);
  free(gone);
}

static kaon_status make_scalars(const schwarz *self, room *made) {
  kaon_context *ctx = self->local->ctx;
  const int columns = made->columns;
  KAON_TRY(kaon_scalars_create(ctx, columns, &made->scalars));
  made->scalars->local = 1;
  kaon_column_state *host = calloc((size_t)columns, sizeof *host);
  if (host == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "schwarz: no host memory");
  for (int k = 0; k < columns; k++) {
    host[k].gate = KAON_GATE_STEP;
    host[k].slot[KAON_S_RELAXATION][0] = self->options.relaxation;
  }
  const kaon_status status = kaon_scalars_write(made->scalars, host);
  free(host);
  return status;
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
    KAON_TRY(kaon_pool_take(ctx, doubles * sizeof *made->work, "sums of domains", &work));
    made->work = work;
  }
  if (local->ops->reserve != NULL) KAON_TRY(local->ops->reserve(self->local, columns));
  if (self->whole == NULL || self->whole->ops->reserve == NULL) return KAON_OK;
  return self->whole->ops->reserve(self->whole, columns);
}

/* The room of so many columns comes first. */
static kaon_status reserve(kaon_operator *K, int columns) {
  schwarz *self = K->self;
  room **at = &self->rooms;
  while (*at != NULL && (*at)->columns != columns) at = &(*at)->next;
  room *chosen = *at;
  if (chosen != NULL) {
    *at = chosen->next;
  } else {
    kaon_status status = KAON_OK;
    chosen = calloc(1, sizeof *chosen);
    if (chosen == NULL) status = kaon_fail(K->ctx, KAON_ERR_MEMORY, "schwarz: no host memory");
    KAON_TRY(kaon_agree(K->ctx, status));
    chosen->columns = columns;
    status = take(self, chosen);
    if (status != KAON_OK) {
      let_go(self, chosen);
      return status;
    }
  }
  chosen->next = self->rooms;
  self->rooms = chosen;
  return KAON_OK;
}

/* ---- an application ---- */

static kaon_pass plain(const schwarz *self) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = self->rooms->scalars;
  return pass;
}

/* Steps of minimal residuals on A_b z = r, from the z that there is (fresh: from 0); r is used up.
 */
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

/* One stage: its blocks' part of the residual, and their solves. The first residual is b. */
static kaon_status stage(schwarz *self, int number, const kaon_vector *b, kaon_vector *z) {
  const kaon_pass gate = plain(self);
  const room *in = self->rooms;
  const int turn = number % turns(self), every = turns(self) == 1;
  const kaon_vector *residual = b;
  if (number > 0) {
    KAON_TRY(kaon_operator_run(self->whole, KAON_PLAIN, z, in->q, &gate));
    KAON_TRY(kaon_blas_xpay(b, KAON_NUMBER(-1), in->q, &gate));
    residual = in->q;
  }
  if (!every && !by_domains(self) && self->domains->turn != turn)
    return number == 0 ? kaon_blas_zero(z, &gate) : KAON_OK; /* the other ranks' turn */
  if (every || !by_domains(self))
    KAON_TRY(kaon_blas_copy(residual, in->r, &gate));
  else
    KAON_TRY(kaon_domains_mask(self->domains, turn, residual, in->r, &gate));
  return solve_blocks(self, in->r, in->q, z, number == 0);
}

static kaon_status apply(kaon_operator *K, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  schwarz *self = K->self;
  if (mode == KAON_DAGGER)
    return kaon_fail(K->ctx, KAON_ERR_UNSUPPORTED,
                     "schwarz: the dagger of a Schwarz preconditioner is not offered");
  KAON_TRY(reserve(K, x->nrhs));
  const room *in = self->rooms;
  KAON_TRY(kaon_blas_follow(pass, self->rooms->scalars));
  if (self->stages == 1) {
    const kaon_pass gate = plain(self);
    KAON_TRY(kaon_blas_copy(x, in->r, &gate));
    KAON_TRY(solve_blocks(self, in->r, in->q, y, 1));
  } else {
    for (int i = 0; i < self->stages; i++) KAON_TRY(stage(self, i, x, y));
  }
  return kaon_pass_sum_apart(y, pass);
}

static kaon_status at_precision(kaon_operator *K, kaon_precision precision,
                                kaon_reconstruct reconstruct, kaon_operator **twin) {
  (void)precision;
  (void)reconstruct;
  *twin = NULL;
  return kaon_fail(K->ctx, KAON_ERR_UNSUPPORTED,
                   "schwarz: a preconditioner has no twin in another precision; make a second one");
}

static kaon_status check(const kaon_operator *K) {
  const kaon_operator *local = ((const schwarz *)K->self)->local;
  return local->ops->check != NULL ? local->ops->check(local) : KAON_OK;
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
    let_go(self, gone);
  }
  kaon_domains_destroy(&self->domains);
  kaon_operator_destroy(&self->local);
  kaon_operator_destroy(&self->whole);
  kaon_operator_destroy(&self->A);
  kaon_context *ctx = K->ctx;
  free(self);
  free(K);
  kaon_context_release(ctx);
}

static const kaon_operator_ops schwarz_ops = {.name = "schwarz",
                                              .apply = apply,
                                              .at_precision = at_precision,
                                              .reserve = reserve,
                                              .check = check,
                                              .cost = cost,
                                              .destroy = destroy};

/* ---- creation ---- */

static kaon_status cut(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                       kaon_domains **domains) {
  if (A->ops->local_part == NULL)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED, "local part: operator '%s' cannot be cut",
                     A->ops->name);
  return A->ops->local_part(A, how, local, domains);
}

kaon_status kaon_operator_local_part(kaon_operator *A, const int block[4], kaon_precision precision,
                                     kaon_reconstruct reconstruct, kaon_operator **local) {
  if (local != NULL) *local = NULL;
  if (A == NULL || block == NULL || local == NULL)
    return kaon_fail(A != NULL ? A->ctx : NULL, KAON_ERR_ARGUMENT,
                     "local part: the operator, the extents of a block and the address of the "
                     "result are needed");
  const kaon_local how = {{block[0], block[1], block[2], block[3]}, precision, reconstruct, 0};
  return cut(A, &how, local, NULL);
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
  const kaon_precision vectors = self->local->precision; /* of rows: single where values are half */
  if (by_domains(self) && !kaon_domains_served(A->ctx, vectors))
    return kaon_fail(A->ctx, KAON_ERR_NOT_BUILT,
                     "schwarz: backend %s works on a rank's whole part alone; leave the blocks' "
                     "extents 0",
                     A->ctx->backend->name);
  if (self->stages == 1) return KAON_OK;
  if (A->precision != vectors)
    return A->ops->at_precision(A, o->precision, o->reconstruct, &self->whole);
  self->whole = A;
  kaon_operator_retain(A);
  return KAON_OK;
}

kaon_status kaon_schwarz_create(kaon_operator *A, const kaon_schwarz_options *options,
                                kaon_operator **K) {
  static const kaon_schwarz_options defaults = KAON_SCHWARZ_OPTIONS_INIT;
  if (K != NULL) *K = NULL;
  if (A == NULL || K == NULL)
    return kaon_fail(A != NULL ? A->ctx : NULL, KAON_ERR_ARGUMENT,
                     "schwarz: the operator and the address of the result are needed");
  if (options == NULL) options = &defaults;
  if (kaon_options_check(KAON_OPTIONS_SCHWARZ, options) != KAON_OK)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "%s", kaon_last_error(NULL));
  kaon_operator *made = calloc(1, sizeof *made);
  schwarz *self = calloc(1, sizeof *self);
  if (made == NULL || self == NULL) {
    free(made);
    free(self);
    return kaon_fail(A->ctx, KAON_ERR_MEMORY, "schwarz: no host memory");
  }
  const int multiplicative = options->kind == KAON_SCHWARZ_MULTIPLICATIVE;
  self->options = *options;
  if (options->steps == 0) self->options.steps = multiplicative ? 4 : 10;
  if (options->cycles == 0) self->options.cycles = multiplicative ? 5 : 1;
  self->A = A;
  kaon_operator_retain(A);
  *made = (kaon_operator){.ops = &schwarz_ops,
                          .ctx = A->ctx,
                          .space = A->space,
                          .precision = options->precision,
                          .references = 1,
                          .self = self};
  kaon_context_retain(A->ctx);
  const kaon_status status = kaon_agree(A->ctx, build(self));
  if (status != KAON_OK) {
    kaon_operator_destroy(&made);
  } else {
    made->precision = self->local->precision;
    *K = made;
  }
  return status;
}
