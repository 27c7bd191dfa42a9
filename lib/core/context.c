/* context.c - creation and the services of a context. */
#include "lib/core/entry.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kaon/context.h>
#include <kaon/lab.h>

#include "lib/core/config.h"
#include "lib/cpu/backend.h"
#include "lib/cuda/backend.h"
#include "lib/core/options_table.h"
#include "lib/core/refusal.h"
#include "lib/core/threads.h"
#include "lib/core/tuning_internal.h"
#include "lib/version.h"
#include "lib/core/output.h"

const char *kaon_version(void) {
  return KAON_VERSION_TEXT;
}

static kaon_status choose_cpu(kaon_context *ctx, kaon_isa isa) {
  KAON_TRY(kaon_cpu_backend(isa, ctx->options.check, &ctx->backend));
  kaon_cpu_describe(ctx->device, sizeof ctx->device);
  return KAON_OK;
}

static kaon_status choose_cuda(kaon_context *ctx) {
#ifdef KAON_BUILD_CUDA
  const kaon_comm *comm = ctx->comm; /* several ranks on a node use one device each */
  KAON_TRY(kaon_cuda_backend(comm->local_ranks > 1 ? comm->local_rank : -1, &ctx->backend));
  if (ctx->lab.issue == KAON_ISSUE_LIBRARY) ctx->backend = &kaon_cuda_library_table;
  return KAON_OK;
#else
  (void)ctx;
  const kaon_cuda_status_facts none = {.compiled = NULL};
  return kaon_cuda_usable(&none);
#endif
}

/* Automatic choice: a device with complete tables if there is one. If the caller asks for an
 * instruction set, the CPU. */
static kaon_status choose_any(kaon_context *ctx, kaon_isa isa) {
  if (isa == KAON_ISA_AUTO && choose_cuda(ctx) == KAON_OK) {
    if (ctx->backend->gauge[KAON_DOUBLE] != NULL && ctx->backend->dslash[KAON_DOUBLE] != NULL)
      return KAON_OK;
  }
  kaon_error_clear();
  return choose_cpu(ctx, isa);
}

/* With issue=library, scalars are in host memory, so other ranks and delays cannot reach them. */
static kaon_status check_library(kaon_context *ctx) {
  if (ctx->lab.issue != KAON_ISSUE_LIBRARY) return KAON_OK;
  if (!ctx->backend->host_scalars)
    return kaon_fail(NULL, KAON_ERR_UNSUPPORTED,
                     "context: issue=library (--regime cublas) needs cuBLAS, but the backend is "
                     "%s; choose backend cuda, or issue=separate (--regime kernels)",
                     ctx->backend->name);
  if (ctx->comm->ranks > 1 || ctx->lab.reduce_delay > 0)
    return kaon_fail(NULL, KAON_ERR_UNSUPPORTED,
                     "context: issue=library (--regime cublas) needs one rank and no reduce_delay "
                     "(--reduce-delay), but there are %d ranks and a delay of %g s; choose "
                     "issue=separate (--regime kernels)",
                     ctx->comm->ranks, ctx->lab.reduce_delay);
  return KAON_OK;
}

static kaon_status choose_backend(kaon_context *ctx) {
  kaon_backend_kind kind = ctx->options.backend;
  kaon_isa isa = ctx->options.isa;
  KAON_TRY(kaon_config_backend(&kind));
  KAON_TRY(kaon_config_isa(&isa));
  if (kind == KAON_BACKEND_CUDA)
    KAON_TRY(choose_cuda(ctx));
  else if (kind == KAON_BACKEND_AUTO)
    KAON_TRY(choose_any(ctx, isa));
  else
    KAON_TRY(choose_cpu(ctx, isa));
  ctx->threads = ctx->options.threads > 0 ? ctx->options.threads
                 : kaon_team_lost()       ? 1
                                          : kaon_config_threads();
  KAON_TRY(kaon_threads_check(ctx->threads));
  ctx->cache_bytes = kaon_cpu_stream_bytes(kaon_cpu_cache_bytes(3), ctx->threads);
  ctx->core_cache_bytes = kaon_cpu_cache_bytes(2);
  ctx->prefetch_level = kaon_cpu_prefetch_level();
  KAON_TRY(check_library(ctx));
  return ctx->backend->open != NULL ? ctx->backend->open(ctx) : KAON_OK;
}

/* Needs ctx->comm: the device is chosen by its local_rank. */
static kaon_status build(kaon_context *ctx) {
  KAON_TRY(choose_backend(ctx));
  KAON_TRY(kaon_pool_create(ctx, &ctx->pool));
  if (ctx->lab.reduce_delay > 0) KAON_TRY(kaon_comm_delay(ctx->comm, ctx->lab.reduce_delay));
  kaon_log(ctx, KAON_LOG_DEBUG, "context: backend %s %s on %s, %d threads", ctx->backend->name,
           ctx->backend->isa, ctx->device, ctx->threads);
  return KAON_OK;
}

/* Opens the backend's exchanges between ranks; one rank may be divided against itself. */
static kaon_status open_ranks(kaon_context *ctx) {
  const kaon_ranks_ops *ranks = ctx->backend->ranks;
  return ranks != NULL ? ranks->open(ctx) : KAON_OK;
}

static kaon_status begin(const kaon_context_options *options, kaon_context **ctx) {
  kaon_context_options own;
  kaon_lab_options lab;
  *ctx = NULL;
  KAON_TRY(kaon_options_take(KAON_OPTIONS_CONTEXT, options, &own));
  KAON_TRY(kaon_options_take(KAON_OPTIONS_LAB, own.lab, &lab));
  kaon_context *made = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(NULL, KAON_ERR_MEMORY, "context: out of host memory");
  made->references = 1;
  made->forks = kaon_forks();
  made->options = own;
  made->options.lab = NULL;
  made->lab = lab;
  *ctx = made;
  return KAON_OK;
}

/* On failure, releases the context. */
static kaon_status end(kaon_status status, kaon_context **ctx) {
  if (status == KAON_OK) return KAON_OK;
  if (*ctx != NULL) kaon_context_release(*ctx);
  *ctx = NULL;
  return status;
}

kaon_status kaon_context_create(const kaon_context_options *options, kaon_context **ctx) {
  KAON_ENTER(NULL, ctx);
  KAON_TRY(begin(options, ctx));
  kaon_status status = kaon_comm_single_create(*ctx, &(*ctx)->comm);
  if (status == KAON_OK) status = build(*ctx);
  if (status == KAON_OK) status = open_ranks(*ctx);
  return end(status, ctx);
}

/* ---- several ranks ---- */

static kaon_status take_grid(kaon_context *ctx, const int grid[4]) {
  kaon_comm *comm = ctx->comm;
  int64_t product = 1;
  if (grid == NULL) return KAON_OK;
  for (int mu = 0; mu < 4; mu++) {
    if (grid[mu] < 1 || grid[mu] > comm->ranks)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "ranks: the grid has %d ranks in direction %c, but 1 to %d are possible",
                       grid[mu], "XYZT"[mu], comm -> ranks);
    product *= grid[mu];
  }
  if (product != comm->ranks)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "ranks: the grid %d x %d x %d x %d is made for %lld ranks, but there are %d; "
                     "start as many ranks as the grid needs",
                     grid[0], grid[1], grid[2], grid[3], (long long)product, comm->ranks);
  memcpy(comm->grid, grid, sizeof comm->grid);
  return KAON_OK;
}

/* Messages are in the backend's site order, which is equal on all ranks only if block widths
 * are. */
static kaon_status same_machine(kaon_context *ctx) {
  const kaon_backend *backend = ctx->backend;
  double first[2] = {backend->width, backend->access};
  KAON_TRY(ctx->comm->ops->broadcast(ctx->comm, first, sizeof first, 0));
  kaon_status status = KAON_OK;
  if (first[0] != backend->width || first[1] != backend->access)
    status = kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                       "ranks: backend %s %s has blocks of %d sites, but that of rank 0 has %d; "
                       "all ranks need the same: set KAON_BACKEND and KAON_ISA, or the options "
                       "backend and isa",
                       backend->name, backend->isa, backend->width, (int)first[0]);
  return kaon_agree(ctx, status);
}

/* Options that decide what ranks do. */
static kaon_status same_options(kaon_context *ctx) {
  const kaon_argument given[] = {
      kaon_enumeration(KAON_OPTIONS_CONTEXT, "transport", ctx->options.transport),
      kaon_enumeration(KAON_OPTIONS_CONTEXT, "overlap", ctx->options.overlap),
      kaon_enumeration(KAON_OPTIONS_LAB, "issue", ctx->lab.issue),
      kaon_whole("grid[0]", ctx->comm->grid[0]),
      kaon_whole("grid[1]", ctx->comm->grid[1]),
      kaon_whole("grid[2]", ctx->comm->grid[2]),
      kaon_whole("grid[3]", ctx->comm->grid[3])};
  return kaon_same(ctx, KAON_OK, "ranks", given, 7);
}

/* wrong: the status of this rank's options, OK if they are valid. */
static kaon_status join(kaon_context *ctx, kaon_status wrong, const void *communicator,
                        const int grid[4]) {
  KAON_TRY(kaon_comm_ranks_create(ctx, communicator, &ctx->comm));
  kaon_status status = wrong == KAON_OK ? take_grid(ctx, grid) : wrong;
  kaon_launch unused; /* allocates the reduction buffer before any rank waits for another */
  if (status == KAON_OK) status = build(ctx);
  if (status == KAON_OK) status = kaon_launch_prepare(ctx, 1, 0, &unused);
  KAON_TRY(kaon_agree(ctx, status));
  KAON_TRY(same_machine(ctx));
  KAON_TRY(same_options(ctx));
  return open_ranks(ctx);
}

kaon_status kaon_context_create_ranks(const kaon_context_options *options, const void *communicator,
                                      const int grid[4], kaon_context **ctx) {
  KAON_ENTER(NULL, ctx);
  const kaon_status status = begin(options, ctx);
  /* The other ranks wait for this status: report it through a context with default options. */
  if (status != KAON_OK && begin(NULL, ctx) != KAON_OK) return status;
  return end(join(*ctx, status, communicator, grid), ctx);
}

/* The machine of a context on fewer of its ranks. */
static void take_machine(kaon_context *part, kaon_context *ctx) {
  kaon_context_retain(ctx);
  part->whole = ctx;
  part->backend = ctx->backend;
  part->pool = ctx->pool;
  part->threads = ctx->threads;
  part->cache_bytes = ctx->cache_bytes;
  part->core_cache_bytes = ctx->core_cache_bytes;
  part->prefetch_level = ctx->prefetch_level;
  memcpy(part->device, ctx->device, sizeof part->device);
}

kaon_status kaon_context_split(kaon_context *ctx, int colour, int key, const int grid[4],
                               kaon_context **part) {
  kaon_context_options options = ctx->options;
  kaon_launch unused; /* as in join */
  options.lab = &ctx->lab;
  kaon_status status = begin(&options, part);
  if (status == KAON_OK) take_machine(*part, ctx);
  status = kaon_agree(ctx, status);
  if (status == KAON_OK)
    status = kaon_agree(ctx, ctx->comm->ops->split(ctx->comm, colour, key, *part, &(*part)->comm));
  if (status == KAON_OK) status = take_grid(*part, grid);
  if (status == KAON_OK && ctx->comm->delay != NULL)
    status = kaon_comm_delay((*part)->comm, ctx->lab.reduce_delay);
  if (status == KAON_OK) status = kaon_launch_prepare(*part, 1, 0, &unused);
  return end(kaon_agree(ctx, status), part);
}

kaon_status kaon_context_agree(kaon_context *ctx, kaon_status mine) {
  kaon_saved_error failed;
  kaon_error_save(&failed);
  KAON_ENTER(ctx, ctx);
  if (mine != KAON_OK) kaon_error_restore(&failed);
  if ((int)mine < KAON_OK || mine > KAON_ERR_INTERNAL)
    mine = kaon_fail(ctx, KAON_ERR_ARGUMENT, "ranks: %d is no status", (int)mine);
  if (mine != KAON_OK && failed.text[0] == '\0') kaon_fail(ctx, mine, "%s", kaon_status_text(mine));
  kaon_error_mark_agreed(0); /* each agreement is independent of earlier ones */
  return kaon_agree(ctx, mine);
}

kaon_status kaon_context_gather(kaon_context *ctx, const double *mine, int n, double *all) {
  KAON_ENTER(ctx, ctx, mine, all);
  if (n < 1)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "ranks: gather needs at least 1 number, but n is %d",
                     n);
  return ctx->comm->ops->gather(ctx->comm, mine, n, all);
}

const char *kaon_ranks_library(void) {
  return kaon_comm_ranks_name();
}

void kaon_ranks_end(void) {
  kaon_comm_ranks_end();
}

int kaon_ranks_finish(int status, double seconds, int *first) {
  int unused;
  if (first == NULL) first = &unused;
  *first = status;
  return kaon_comm_ranks_finish(seconds, first);
}

void kaon_context_destroy(kaon_context **ctx) {
  if (ctx == NULL || *ctx == NULL) return;
  kaon_context_release(*ctx);
  *ctx = NULL;
}

void kaon_context_retain(kaon_context *ctx) {
  ctx->references++;
}

void kaon_context_release(kaon_context *ctx) {
  if (--ctx->references > 0) return;
  if (ctx->forks != kaon_forks()) return; /* its device and communicator are another process's */
  if (ctx->machine != NULL && ctx->backend->ranks != NULL) ctx->backend->ranks->close(ctx);
  if (ctx->pool != NULL) {
    kaon_pool_release(ctx, ctx->partials);
    kaon_pool_release(ctx, ctx->states);
    if (ctx->whole == NULL) kaon_pool_destroy(ctx, &ctx->pool);
  }
  if (ctx->comm != NULL) ctx->comm->ops->destroy(&ctx->comm);
  if (ctx->machine != NULL) ctx->backend->close(ctx);
  kaon_tuning_release(ctx);
  if (ctx->whole != NULL) kaon_context_release(ctx->whole);
  free(ctx);
}

kaon_status kaon_context_synchronise(kaon_context *ctx) {
  KAON_ENTER(ctx, ctx);
  return ctx->backend->memory->synchronise(ctx);
}

kaon_status kaon_context_set_sync(kaon_context *ctx, kaon_sync sync) {
  KAON_ENTER(ctx, ctx);
  if (sync < KAON_SYNC_AUTO || sync > KAON_SYNC_BLOCKING)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "context sync: auto, polling or blocking (0 to 2) are needed; sync is %d",
                     (int)sync);
  ctx->options.sync = sync;
  return KAON_OK;
}

kaon_status kaon_context_energy(kaon_context *ctx, double *joules) {
  KAON_ENTER(ctx, ctx, joules);
  *joules = ctx->backend->energy != NULL ? ctx->backend->energy(ctx) : NAN;
  return KAON_OK;
}

kaon_status kaon_context_traffic(const kaon_context *ctx, kaon_traffic *traffic) {
  KAON_ENTER(ctx, ctx, traffic);
  *traffic = ctx->comm->traffic;
  return KAON_OK;
}

kaon_status kaon_context_query(const kaon_context *ctx, kaon_context_info *info) {
  KAON_ENTER(ctx, ctx, info);
  KAON_TRY(kaon_output_check(ctx, "kaon_context_info", info));
  /* This may query the device. */
  const kaon_pool_use use = kaon_pool_usage((kaon_context *)(uintptr_t)ctx);
  kaon_context_info made = {.backend = ctx->backend->name,
                            .device = ctx->device,
                            .isa = ctx->backend->isa,
                            .details = ctx->details,
                            .threads = ctx->threads,
                            .ranks = ctx->comm->ranks,
                            .communicator = ctx->comm->ops->name,
                            .rank = ctx->comm->rank,
                            .local_rank = ctx->comm->local_rank,
                            .transport = "",
                            .memory_now = use.now,
                            .memory_peak = use.peak,
                            .memory_held = use.held,
                            .memory_free = use.free};
  if (ctx->backend->ranks != NULL && ctx->comm->ranks > 1)
    made.transport = ctx->backend->ranks->transport(ctx);
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}

void kaon_log(const kaon_context *ctx, kaon_log_level level, const char *format, ...) {
  if (ctx == NULL || !kaon_logs(ctx, level)) return;
  char line[512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  ctx->options.log(ctx->options.log_user, level, line);
}

void kaon_log_once(kaon_context *ctx, kaon_log_level level, const char *line) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  if (!kaon_logs(ctx, level)) return;
  for (const char *c = line; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
  for (unsigned i = 0; i < ctx->logged_count && i < KAON_LOGGED; i++)
    if (ctx->logged[i] == hash) return;
  ctx->logged[ctx->logged_count++ % KAON_LOGGED] = hash;
  kaon_log(ctx, level, "%s", line);
}

kaon_status kaon_field_check(const kaon_context *ctx, const char *what, size_t bytes) {
  const size_t most = ctx->backend->field_bytes;
  if (most == 0 || bytes <= most) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                   "%s: it needs %.1f GB, but the kernels of backend %s can index fields of at "
                   "most %.1f GB; take fewer columns or a smaller lattice",
                   what, (double)bytes * 1e-9, ctx->backend->name, (double)most * 1e-9);
}

/* Tickets, sequence-tagged sums and deferred partial sums are stored after the partials. All begin
 * at zero, and kernels leave tickets at zero. */
static kaon_status grow_partials(kaon_context *ctx, int nrhs, size_t bytes) {
  const int here = ctx->backend->host_accessible;
  const size_t marked = here ? 0 : KAON_MARKED * sizeof *ctx->marked;
  const size_t left = here ? 0 : (size_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX * sizeof *ctx->left;
  const size_t besides = marked + left + (size_t)nrhs * sizeof *ctx->tickets;
  void *buffer = NULL;
  kaon_pool_release(ctx, ctx->partials);
  ctx->partials = NULL;
  ctx->partials_bytes = 0;
  KAON_TRY(kaon_pool_allocate(ctx, bytes + besides, "reduction buffer", &buffer));
  ctx->partials = buffer;
  ctx->marked = marked > 0 ? (uint64_t *)((char *)buffer + bytes) : NULL;
  ctx->left = left > 0 ? (double *)((char *)buffer + bytes + marked) : NULL;
  ctx->tickets = (uint32_t *)((char *)buffer + bytes + marked + left);
  KAON_TRY(ctx->backend->memory->clear(ctx, (char *)buffer + bytes, besides));
  ctx->partials_bytes = bytes;
  ctx->besides_bytes = besides;
  return KAON_OK;
}

/* Partial sums of a pass that was never completed must not be added to those of the next. */
static kaon_status reset_incomplete_pass(kaon_context *ctx) {
  if (ctx->partials != NULL) {
    char *behind = (char *)ctx->partials + ctx->partials_bytes;
    KAON_TRY(ctx->backend->memory->clear(ctx, behind, ctx->besides_bytes));
  }
  ctx->pass_incomplete = 0;
  return KAON_OK;
}

/* Prefetching slows down passes whose data fit into the cores' caches. */
static int prefetch_rule(const kaon_context *ctx, size_t pass_bytes) {
  return pass_bytes > 4 * (size_t)ctx->threads * ctx->core_cache_bytes ? ctx->prefetch_level : 0;
}

kaon_status kaon_launch_prepare(kaon_context *ctx, int nrhs, size_t pass_bytes,
                                kaon_launch *launch) {
  size_t need = (size_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX * sizeof(double) * (size_t)nrhs;
  if (need > ctx->partials_bytes) KAON_TRY(grow_partials(ctx, nrhs, need));
  if (ctx->backend->enter != NULL) ctx->backend->enter(ctx);
  if (ctx->pass_incomplete) KAON_TRY(reset_incomplete_pass(ctx));
  *launch = (kaon_launch){.threads = ctx->threads,
                          .stream_stores = pass_bytes > ctx->cache_bytes,
                          .prefetch = prefetch_rule(ctx, pass_bytes),
                          .queue = ctx->queue,
                          .dependent = ctx->dependent,
                          .early = ctx->no_flush_needed && ctx->list == NULL,
                          .partials = ctx->partials,
                          .tickets = ctx->tickets,
                          .marked = nrhs == 1 ? ctx->marked : NULL,
                          .left = nrhs == 1 ? ctx->left : NULL,
                          .timeline = ctx->timeline,
                          .log = kaon_logs(ctx, KAON_LOG_DEBUG) ? ctx : NULL,
                          .peer_reduction = ctx->peer_reduction,
                          .library = ctx->library,
                          .list = ctx->list};
  ctx->no_flush_needed = 0;
  return KAON_OK;
}
