/* context.c - creation and the services of a context. */
#include "lib/context.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kaon/options.h>

#include "lib/config.h"
#include "lib/cpu/backend.h"
#include "lib/cuda/backend.h"
#include "lib/tuning.h"
#include "lib/version.h"

const char *kaon_version(void) {
  return KAON_VERSION;
}

const char *kaon_commit(void) {
  return KAON_COMMIT;
}

static kaon_status choose_cpu(kaon_context *ctx, kaon_isa isa) {
  KAON_TRY(kaon_cpu_backend(isa, ctx->options.check, &ctx->backend));
  kaon_cpu_describe(ctx->device, sizeof ctx->device);
  return KAON_OK;
}

static kaon_status choose_cuda(kaon_context *ctx) {
#ifdef KAON_BUILD_CUDA
  return kaon_cuda_backend(&ctx->backend);
#else
  (void)ctx;
  return kaon_fail(NULL, KAON_ERR_NOT_BUILT,
                   "backend: cuda was asked for, but this kaon was built without it; configure "
                   "with -DKAON_CUDA=ON, or use --backend cpu (or the option backend=cpu)");
#endif
}

/* Chosen by rule: a device, if there is one whose tables are whole; but an instruction set that is
 * asked for means the CPU. */
static kaon_status choose_any(kaon_context *ctx, kaon_isa isa) {
  if (isa == KAON_ISA_AUTO && choose_cuda(ctx) == KAON_OK) {
    if (ctx->backend->gauge[KAON_DOUBLE] != NULL && ctx->backend->dslash[KAON_DOUBLE] != NULL)
      return KAON_OK;
  }
  return choose_cpu(ctx, isa);
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
  ctx->threads = ctx->options.threads > 0 ? ctx->options.threads : kaon_config_threads();
  ctx->cache_bytes = kaon_cpu_cache_bytes(3);
  ctx->core_cache_bytes = kaon_cpu_cache_bytes(2);
  return ctx->backend->open != NULL ? ctx->backend->open(ctx) : KAON_OK;
}

static kaon_status build(kaon_context *ctx) {
  KAON_TRY(choose_backend(ctx));
  KAON_TRY(kaon_pool_create(ctx, &ctx->pool));
  KAON_TRY(kaon_comm_single_create(ctx, &ctx->comm));
  if (ctx->options.reduce_delay > 0)
    KAON_TRY(kaon_comm_delay(ctx->comm, ctx->options.reduce_delay));
  kaon_log(ctx, KAON_LOG_DEBUG, "context: backend %s %s on %s, %d threads", ctx->backend->name,
           ctx->backend->isa, ctx->device, ctx->threads);
  return KAON_OK;
}

kaon_status kaon_context_create(const kaon_context_options *options, kaon_context **ctx) {
  static const kaon_context_options defaults = KAON_CONTEXT_OPTIONS_INIT;
  if (ctx == NULL)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT, "context: the address for the new context is NULL");
  *ctx = NULL;
  if (options == NULL) options = &defaults;
  KAON_TRY(kaon_options_check(KAON_OPTIONS_CONTEXT, options));
  kaon_context *made = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(NULL, KAON_ERR_MEMORY, "context: no host memory");
  kaon_error_forget(made);
  made->references = 1;
  made->options = *options;
  kaon_status status = build(made);
  if (status != KAON_OK) {
    if (kaon_last_error(made)[0] != '\0') kaon_fail(NULL, status, "%s", kaon_last_error(made));
    kaon_context_release(made);
    return status;
  }
  *ctx = made;
  return KAON_OK;
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
  if (ctx->pool != NULL) {
    kaon_pool_give(ctx, ctx->partials);
    kaon_pool_destroy(ctx, &ctx->pool);
  }
  if (ctx->comm != NULL) ctx->comm->ops->destroy(&ctx->comm);
  if (ctx->machine != NULL) ctx->backend->close(ctx);
  kaon_tuning_release(ctx);
  free(ctx);
}

kaon_status kaon_context_synchronise(kaon_context *ctx) {
  if (ctx == NULL)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT, "context synchronise: the context is NULL");
  return ctx->backend->memory->synchronise(ctx);
}

kaon_status kaon_context_energy(kaon_context *ctx, double *joules) {
  if (ctx == NULL || joules == NULL)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "context: energy needs a context and a place");
  *joules = ctx->backend->energy != NULL ? ctx->backend->energy(ctx) : NAN;
  return KAON_OK;
}

kaon_status kaon_context_query(const kaon_context *ctx, kaon_context_info *info) {
  if (ctx == NULL || info == NULL)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "context: query needs a context and a place");
  *info = (kaon_context_info){.backend = ctx->backend->name,
                              .device = ctx->device,
                              .isa = ctx->backend->isa,
                              .details = ctx->details,
                              .threads = ctx->threads,
                              .ranks = ctx->comm->ranks};
  const kaon_pool_use use = kaon_pool_usage((kaon_context *)(uintptr_t)ctx); /* asks the device */
  info->memory_now = use.now;
  info->memory_peak = use.peak;
  info->memory_held = use.held;
  info->memory_free = use.free;
  return KAON_OK;
}

void kaon_log(const kaon_context *ctx, kaon_log_level level, const char *format, ...) {
  if (ctx == NULL || ctx->options.log == NULL || level > ctx->options.log_level) return;
  char line[512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  ctx->options.log(ctx->options.log_user, level, line);
}

kaon_status kaon_field_check(const kaon_context *ctx, const char *what, size_t bytes) {
  const size_t most = ctx->backend->field_bytes;
  if (most == 0 || bytes <= most) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                   "%s: %.1f GB, but the kernels of backend %s number fields of at most %.1f GB; "
                   "take fewer columns or a smaller lattice",
                   what, (double)bytes * 1e-9, ctx->backend->name, (double)most * 1e-9);
}

/* Tickets stand behind the partials; kernels leave them at zero. */
static kaon_status grow_partials(kaon_context *ctx, int nrhs, size_t bytes) {
  const size_t tickets = (size_t)nrhs * sizeof *ctx->tickets;
  void *buffer = NULL;
  kaon_pool_give(ctx, ctx->partials);
  ctx->partials = NULL;
  ctx->partials_bytes = 0;
  KAON_TRY(kaon_pool_take(ctx, bytes + tickets, "reduction buffer", &buffer));
  ctx->partials = buffer;
  ctx->tickets = (uint32_t *)((char *)buffer + bytes);
  KAON_TRY(ctx->backend->memory->clear(ctx, ctx->tickets, tickets));
  ctx->partials_bytes = bytes;
  return KAON_OK;
}

kaon_status kaon_launch_prepare(kaon_context *ctx, int nrhs, size_t pass_bytes,
                                kaon_launch *launch) {
  size_t need = (size_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX * sizeof(double) * (size_t)nrhs;
  if (need > ctx->partials_bytes) KAON_TRY(grow_partials(ctx, nrhs, need));
  *launch = (kaon_launch){.threads = ctx->threads,
                          .stream_stores = pass_bytes > ctx->cache_bytes,
                          .prefetch = pass_bytes > 4 * (size_t)ctx->threads * ctx->core_cache_bytes,
                          .queue = ctx->queue,
                          .dependent = ctx->dependent,
                          .partials = ctx->partials,
                          .tickets = ctx->tickets};
  return KAON_OK;
}
