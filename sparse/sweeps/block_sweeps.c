/* block_sweeps.c - Jacobi sweeps within blocks of a matrix' rows: two-stage and asynchronous
 * relaxation (lib/operator/row_sweeps.h, BLOCKS). The kernels count each block's global iterations
 * and the shifts that it saw. This file collects the counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/submit.h"
#include "lib/core/context_internal.h"
#include "sparse/ranks/remote_values.h"
#include "sparse/sweeps/row_blocks.h"
#include "sparse/sweeps/sweeps.h"

typedef struct sweeps_blocks {
  kaon_blocked *rows;
  double omega;
  int columns;      /* capacity in columns */
  int32_t *count;   /* device memory, like all below: [column][block] */
  double *seen;     /* [column][block] */
  int32_t *stop;    /* [column] */
  uint64_t *ticket; /* [column]; never cleared between consecutive launches */
  int64_t *shifts;  /* [3 * KAON_SHIFT_BINS]: local blocks, blocks of other ranks, local ones in
                       reads */
  void *work;
  kaon_remote_values *remote_values; /* NULL: no rows of other ranks are read */
  uint8_t *frozen;                   /* [row of the space, in whole blocks] */
  int freezes;
  int fresh;      /* count is 0 everywhere, and the next sweep uses `sweep` (not recorded) */
  int32_t *host;  /* host copy of count */
  int64_t *total; /* [column][block] sums from before count was last cleared */
} sweeps_blocks;

static sweeps_blocks *self_of(const kaon_row_sweeps *S) {
  return S->self;
}

static size_t counters(const sweeps_blocks *self) {
  return (size_t)self->columns * (size_t)self->rows->rows.blocks;
}

static void release_all(kaon_row_sweeps *S) {
  sweeps_blocks *self = self_of(S);
  kaon_pool_release(S->ctx, self->count);
  kaon_pool_release(S->ctx, self->seen);
  kaon_pool_release(S->ctx, self->stop);
  kaon_pool_release(S->ctx, self->ticket);
  free(self->host);
  free(self->total);
  self->count = self->stop = self->host = NULL;
  self->seen = NULL;
  self->ticket = NULL;
  self->total = NULL;
  self->columns = 0;
}

static kaon_status clear(const kaon_row_sweeps *S) {
  const sweeps_blocks *self = self_of(S);
  const kaon_memory_ops *memory = S->ctx->backend->memory;
  KAON_TRY(memory->clear(S->ctx, self->count, counters(self) * sizeof *self->count + 4));
  return memory->clear(S->ctx, self->stop, (size_t)self->columns * sizeof *self->stop);
}

static kaon_status take(kaon_row_sweeps *S, int columns) {
  sweeps_blocks *self = self_of(S);
  void *p[4] = {NULL};
  self->columns = columns;
  const size_t n = counters(self);
  kaon_status status =
      kaon_pool_allocate(S->ctx, n * sizeof *self->count + 4, "counts of blocks", &p[0]);
  if (status == KAON_OK)
    status = kaon_pool_allocate(S->ctx, n * sizeof *self->seen + 8, "residuals of blocks", &p[1]);
  if (status == KAON_OK)
    status =
        kaon_pool_allocate(S->ctx, (size_t)columns * sizeof *self->stop, "ends of columns", &p[2]);
  if (status == KAON_OK)
    status = kaon_pool_allocate(S->ctx, (size_t)columns * sizeof *self->ticket, "tickets", &p[3]);
  self->count = p[0];
  self->seen = p[1];
  self->stop = p[2];
  self->ticket = p[3];
  self->host = calloc(n + 1, sizeof *self->host);
  self->total = calloc(n + 1, sizeof *self->total);
  if (status == KAON_OK && (self->host == NULL || self->total == NULL))
    status =
        kaon_fail(S->ctx, KAON_ERR_MEMORY, "blocks of rows: out of host memory for %zu counts", n);
  if (status == KAON_OK)
    status = S->ctx->backend->memory->clear(S->ctx, p[3], (size_t)columns * sizeof *self->ticket);
  return status == KAON_OK ? clear(S) : status;
}

static kaon_status reserve(kaon_row_sweeps *S, int columns) {
  sweeps_blocks *self = self_of(S);
  if (self->columns == columns) return KAON_OK;
  release_all(S);
  kaon_status status = take(S, columns);
  if (self->remote_values != NULL) {
    status = kaon_agree(S->ctx, status);
    if (status == KAON_OK) status = kaon_remote_values_reserve(self->remote_values, columns);
  }
  if (status != KAON_OK) release_all(S);
  return status;
}

/* ---- counts ---- */

/* Adds count to total and clears it, so that blocks that wait for each other begin with equal
 * counts. */
static kaon_status harvest(kaon_row_sweeps *S) {
  sweeps_blocks *self = self_of(S);
  const size_t n = counters(self);
  if (n == 0) return KAON_OK;
  KAON_TRY(
      S->ctx->backend->memory->to_host(S->ctx, self->host, self->count, n * sizeof *self->count));
  for (size_t i = 0; i < n; i++) self->total[i] += self->host[i];
  return clear(S);
}

static kaon_status rounds(kaon_row_sweeps *S, int *done) {
  sweeps_blocks *self = self_of(S);
  const int64_t blocks = self->rows->rows.blocks;
  KAON_TRY(harvest(S));
  for (int k = 0; k < self->columns; k++) {
    int64_t sum = 0;
    for (int64_t n = 0; n < blocks; n++) sum += self->host[k * blocks + n];
    done[k] = blocks > 0 ? (int)((sum + blocks - 1) / blocks) : 0;
  }
  self->fresh = 1;
  return KAON_OK;
}

static kaon_status reset(kaon_row_sweeps *S) {
  sweeps_blocks *self = self_of(S);
  if (self->columns == 0) return KAON_OK;
  self->fresh = 0;
  memset(self->total, 0, counters(self) * sizeof *self->total);
  KAON_TRY(S->ctx->backend->memory->clear(S->ctx, self->shifts,
                                          3 * KAON_SHIFT_BINS * sizeof *self->shifts));
  return clear(S);
}

static kaon_status record(kaon_row_sweeps *S, kaon_row_record *to) {
  sweeps_blocks *self = self_of(S);
  memset(to, 0, sizeof *to);
  if (self->columns == 0) return KAON_OK;
  KAON_TRY(harvest(S));
  int64_t shifts[3 * KAON_SHIFT_BINS];
  KAON_TRY(S->ctx->backend->memory->to_host(S->ctx, shifts, self->shifts, sizeof shifts));
  memcpy(to->shifts, shifts, sizeof to->shifts);
  memcpy(to->rank_shifts, shifts + KAON_SHIFT_BINS, sizeof to->rank_shifts);
  memcpy(to->shifts_after, shifts + 2 * KAON_SHIFT_BINS, sizeof to->shifts_after);
  for (size_t i = 0; i < counters(self); i++) {
    to->updates += self->total[i];
    if (i == 0 || self->total[i] < to->least) to->least = (int)self->total[i];
    if (self->total[i] > to->most) to->most = (int)self->total[i];
  }
  return KAON_OK;
}

static kaon_status freeze(kaon_row_sweeps *S, const uint8_t *frozen) {
  sweeps_blocks *self = self_of(S);
  const size_t bytes = (size_t)S->space->nblocks * (size_t)S->space->width;
  void *room = self->frozen;
  self->freezes = frozen != NULL;
  if (frozen == NULL) return KAON_OK;
  if (room == NULL) KAON_TRY(kaon_pool_allocate(S->ctx, bytes, "frozen rows", &room));
  self->frozen = room;
  return S->ctx->backend->memory->to_device(S->ctx, room, frozen, (size_t)S->space->nsites);
}

/* ---- a sweep ---- */

static kaon_status submit(kaon_row_sweeps *S, const kaon_relax_args *args) {
  const sweeps_blocks *self = self_of(S);
  const size_t bytes = (size_t)self->rows->bytes +
                       2 * (size_t)args->nrhs * 8 * (size_t)(S->space->nsites * S->space->ncomp);
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(S->ctx, args->nrhs, bytes, &launch));
  S->ctx->backend->sparse[S->precision]->relax(&launch, args);
  S->ctx->no_flush_needed = 0; /* the kernel writes counts besides vectors */
  self_of(S)->fresh = 0;
  return KAON_OK;
}

static kaon_relax_args args_of(const kaon_row_sweeps *S, const kaon_row_sweep *how,
                               const kaon_vector *b, const kaon_vector *x, const kaon_pass *pass) {
  const sweeps_blocks *self = self_of(S);
  return (kaon_relax_args){.rows = &self->rows->rows,
                           .nrhs = x->nrhs,
                           .column = -1,
                           .inner = how->inner,
                           .cut = how->cut,
                           .rounds = 1,
                           .lag = how->lag,
                           .together = how->together,
                           .omega = self->omega * how->damping,
                           .shuffle = how->shuffle,
                           .frozen = self->freezes ? self->frozen : NULL,
                           .count = self->count,
                           .seen = self->seen,
                           .stop = self->stop,
                           .ticket = self->ticket,
                           .shifts = self->shifts,
                           .shifts_after = self->shifts + 2 * KAON_SHIFT_BINS,
                           .work = self->work,
                           .b = kaon_view_of(b),
                           .x = kaon_view_of(x),
                           .gate = kaon_pass_gate(pass)};
}

/* Each column separately. */
static kaon_status submit_free(kaon_row_sweeps *S, const kaon_row_sweep *how,
                               kaon_relax_args *args) {
  args->rounds = how->rounds;
  for (int k = 0; k < args->nrhs; k++) {
    args->column = k;
    args->goal = how->goal != NULL ? how->goal[k] : 0;
    args->limit = how->limit != NULL ? how->limit[k] : HUGE_VAL;
    KAON_TRY(submit(S, args));
  }
  return KAON_OK;
}

/* Launches rounds one after another. In between the host does what remote values need to arrive. If
 * only the host brings them, it also waits for ranks that are too far behind. */
static kaon_status launch_rounds(kaon_row_sweeps *S, const kaon_row_sweep *how,
                                 kaon_relax_args *args) {
  kaon_remote_values *remote_values = self_of(S)->remote_values;
  const int amc = kaon_remote_values_exchange(remote_values) == KAON_EXCHANGE_AMC;
  if (amc) args->rank_lag = -1;
  for (int round = 0; round < how->rounds; round++) {
    for (int k = 0; k < args->nrhs && amc && how->rank_lag >= 0; k++)
      if (how->open == NULL || how->open[k])
        KAON_TRY(kaon_remote_values_await(remote_values, k, round - how->rank_lag));
    KAON_TRY(submit(S, args));
    KAON_TRY(kaon_remote_values_progress(remote_values));
    if (args->shuffle != 0) args->shuffle = args->shuffle * UINT64_C(0x9e3779b97f4a7c15) | 1;
  }
  return KAON_OK;
}

static kaon_status run_ranks(kaon_row_sweeps *S, const kaon_row_sweep *how, kaon_relax_args *args) {
  kaon_remote_values *remote_values = self_of(S)->remote_values;
  const int free = how->free && how->rounds > 1 && kaon_remote_values_by_kernels(remote_values);
  if (!free) return launch_rounds(S, how, args);
  if (kaon_remote_values_exchange(remote_values) == KAON_EXCHANGE_AMC) {
    args->move = kaon_remote_values_progress_once;
    args->user = remote_values;
  }
  KAON_TRY(submit_free(S, how, args));
  return kaon_remote_values_failure(remote_values);
}

/* Before the first block begins, all counts are 0 and all ranks have exchanged x. After the last
 * one has ended, all ranks know the common status. A rank that fails in between announces that it
 * has left, since others may be waiting for it. */
static kaon_status sweep_ranks(kaon_row_sweeps *S, const kaon_row_sweep *how,
                               kaon_relax_args *args) {
  sweeps_blocks *self = self_of(S);
  kaon_context *ctx = S->ctx;
  args->ghosts = kaon_remote_values_ghosts(self->remote_values);
  args->rank_lag = how->rank_lag;
  args->patience = (uint64_t)(ctx->options.patience * 1e9);
  args->pause = ctx->comm->pause;
  args->rank_shifts = self->shifts + KAON_SHIFT_BINS;
  kaon_status status = self->fresh ? KAON_OK : harvest(S);
  args->rounds = 0;
  if (status == KAON_OK) status = submit(S, args);
  args->rounds = 1;
  KAON_TRY(kaon_remote_values_synchronise(self->remote_values, status));
  status = kaon_remote_values_failure(self->remote_values);
  if (status == KAON_OK) status = run_ranks(S, how, args);
  if (status == KAON_OK) status = ctx->backend->memory->synchronise(ctx);
  if (status != KAON_OK) kaon_remote_values_finish(self->remote_values);
  return kaon_agree(ctx, status);
}

static kaon_status sweep(kaon_row_sweeps *S, const kaon_row_sweep *how, const kaon_vector *b,
                         kaon_vector *x, const kaon_pass *pass) {
  KAON_TRY(reserve(S, x->nrhs));
  kaon_relax_args args = args_of(S, how, b, x, pass);
  if (how->exchange) return sweep_ranks(S, how, &args);
  if (how->rounds <= 1) return submit(S, &args);
  if (!self_of(S)->fresh) KAON_TRY(harvest(S));
  return submit_free(S, how, &args);
}

/* ---- information and creation ---- */

static void describe(const kaon_row_sweeps *S, kaon_row_info *info) {
  const sweeps_blocks *self = self_of(S);
  *info = (kaon_row_info){.blocks = self->rows->rows.blocks,
                          .exchange = kaon_remote_values_exchange(self->remote_values),
                          .exchange_note = kaon_remote_values_note(self->remote_values)};
}

static kaon_cost cost(const kaon_row_sweeps *S, int columns) {
  const sweeps_blocks *self = self_of(S);
  const double reals = S->space->ncomp, number = (double)kaon_precision_bytes(S->precision);
  const double rows = (double)S->space->nsites, entries = (double)self->rows->entries;
  return (kaon_cost){
      .flops = (reals == 2 ? 8 : 2) * entries,
      .bytes = (entries * (4 + number * reals) + rows * 4) / columns + 3 * number * reals * rows};
}

static void destroy(kaon_row_sweeps *S) {
  sweeps_blocks *self = self_of(S);
  if (self->rows != NULL) release_all(S);
  kaon_pool_release(S->ctx, self->shifts);
  kaon_pool_release(S->ctx, self->work);
  kaon_pool_release(S->ctx, self->frozen);
  kaon_remote_values_destroy(&self->remote_values);
  kaon_blocked_destroy(&self->rows);
  free(self);
}

static const kaon_row_sweeps_ops blocks_ops = {.name = "blocks",
                                               .sweep = sweep,
                                               .reserve = reserve,
                                               .reset = reset,
                                               .record = record,
                                               .rounds = rounds,
                                               .freeze = freeze,
                                               .describe = describe,
                                               .cost = cost,
                                               .destroy = destroy};

kaon_status kaon_sweeps_blocks(kaon_matrix *matrix, const kaon_row_how *how,
                               kaon_row_sweeps *sweeps) {
  kaon_context *ctx = matrix->ctx;
  sweeps_blocks *self = calloc(1, sizeof *self);
  void *p = NULL;
  if (self == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "relaxation: out of host memory");
  sweeps->ops = &blocks_ops;
  sweeps->self = self;
  self->omega = how->omega;
  KAON_TRY(kaon_blocked_create(matrix, how->block, sweeps->precision, &self->rows));
  KAON_TRY(kaon_pool_allocate(ctx, 3 * KAON_SHIFT_BINS * sizeof *self->shifts, "shifts", &p));
  self->shifts = p;
  KAON_TRY(ctx->backend->memory->clear(ctx, p, 3 * KAON_SHIFT_BINS * sizeof *self->shifts));
  if (!ctx->backend->host_accessible) return KAON_OK;
  const size_t numbers = (size_t)(self->rows->rows.rows * self->rows->rows.reals);
  KAON_TRY(kaon_pool_allocate(ctx, 2 * numbers * kaon_precision_bytes(sweeps->precision) + 64,
                              "iterates of blocks", &self->work));
  return KAON_OK;
}

kaon_status kaon_sweeps_blocks_exchange(kaon_matrix *matrix, kaon_relax_exchange wanted,
                                        kaon_row_sweeps *sweeps) {
  sweeps_blocks *self = self_of(sweeps);
  return kaon_remote_values_create(matrix, self->rows, wanted, &self->remote_values);
}
