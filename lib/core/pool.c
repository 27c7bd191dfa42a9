/* pool.c - the caching pool of a context: one list of blocks, released ones are reused.
 * The pool returns blocks to the system only if a request cannot be met otherwise, or when the
 * context ends. A solver allocates all it needs when it is created, so a solve never allocates.
 * Check mode caches nothing, so that a use after release traps. */
#include <stdlib.h>

#include "lib/core/context_internal.h"

typedef struct pool_block {
  void *pointer;
  size_t bytes;
  int used;
} pool_block;

struct kaon_pool {
  pool_block *blocks;
  int count, room;
  int64_t now, held, peak;
  uint64_t given; /* blocks released so far */
};

enum { GRANULE = 4096 };

kaon_status kaon_pool_create(kaon_context *ctx, kaon_pool **pool) {
  *pool = calloc(1, sizeof **pool);
  if (*pool == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "pool: out of host memory for its list");
  return KAON_OK;
}

static void drop(kaon_context *ctx, kaon_pool *pool, int i) {
  ctx->backend->memory->release(ctx, pool->blocks[i].pointer, pool->blocks[i].bytes);
  pool->held -= (int64_t)pool->blocks[i].bytes;
  pool->blocks[i] = pool->blocks[--pool->count];
}

static void trim(kaon_context *ctx, kaon_pool *pool) {
  for (int i = pool->count - 1; i >= 0; i--)
    if (!pool->blocks[i].used) drop(ctx, pool, i);
}

void kaon_pool_destroy(kaon_context *ctx, kaon_pool **pool) {
  if (*pool == NULL) return;
  while ((*pool)->count > 0) drop(ctx, *pool, (*pool)->count - 1);
  free((*pool)->blocks);
  free(*pool);
  *pool = NULL;
}

/* Free memory of the device plus idle blocks, which are returned to the system on demand, but at
 * most what the limit leaves. On a CPU the host's own figure counts only without a limit: it
 * ignores swap and memory that grows. */
static int64_t free_bytes(kaon_context *ctx, const kaon_pool *pool) {
  const kaon_memory_ops *memory = ctx->backend->memory;
  const int64_t limit = ctx->options.memory_limit, left = limit - pool->now;
  size_t available = 0;
  if (limit > 0 && ctx->backend->host_accessible) return left > 0 ? left : 0;
  if (memory->available == NULL || memory->available(ctx, &available) != KAON_OK)
    return limit == 0 ? -1 : left > 0 ? left : 0;
  const int64_t there = (int64_t)available + pool->held - pool->now;
  if (limit == 0 || there < left) return there;
  return left > 0 ? left : 0;
}

kaon_pool_use kaon_pool_usage(kaon_context *ctx) {
  const kaon_pool *pool = ctx->pool;
  return (kaon_pool_use){pool->now, pool->peak, pool->held, free_bytes(ctx, pool)};
}

kaon_status kaon_pool_require(kaon_context *ctx, size_t bytes, const char *what) {
  const int64_t there = free_bytes(ctx, ctx->pool);
  if (there < 0 || bytes <= (size_t)there) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "memory: %s needs %zu bytes, but %lld are free on %s%s besides the %lld in use; "
                   "take a smaller problem, fewer columns at once, or a lower precision%s",
                   what, bytes, (long long)there, ctx->device,
                   ctx->options.memory_limit > 0 ? " within the limit" : "",
                   (long long)ctx->pool->now,
                   ctx->backend->host_accessible && ctx->options.memory_limit == 0
                       ? ", or set a memory limit if there is more memory than that"
                       : "");
}

uint64_t kaon_pool_release_count(const kaon_pool *pool) {
  return pool->given;
}

/* Finds an idle block that wastes at most an eighth of its size. */
static int find_cached(const kaon_pool *pool, size_t bytes) {
  int best = -1;
  for (int i = 0; i < pool->count; i++) {
    const pool_block *b = &pool->blocks[i];
    if (b->used || b->bytes < bytes || b->bytes - bytes > bytes / 8) continue;
    if (best < 0 || b->bytes < pool->blocks[best].bytes) best = i;
  }
  return best;
}

static kaon_status grow_list(kaon_context *ctx, kaon_pool *pool) {
  if (pool->count < pool->room) return KAON_OK;
  int room = pool->room ? 2 * pool->room : 64;
  pool_block *blocks = realloc(pool->blocks, (size_t)room * sizeof *blocks);
  if (blocks == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "pool: out of host memory for a list of %d blocks",
                     room);
  pool->blocks = blocks;
  pool->room = room;
  return KAON_OK;
}

static kaon_status refused(kaon_context *ctx, const kaon_pool *pool, size_t bytes,
                           const char *what) {
  const kaon_memory_ops *memory = ctx->backend->memory;
  size_t available = 0;
  if (memory->available != NULL && memory->available(ctx, &available) == KAON_OK &&
      available < bytes)
    return kaon_fail(
        ctx, KAON_ERR_MEMORY,
        "memory: %s needs %zu bytes, but %zu are free on %s besides the %lld that this context "
        "holds; take a smaller problem, fewer columns at once, or a lower precision",
        what, bytes, available, ctx->device, (long long)pool->held);
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "memory: %s needs %zu bytes beyond the %lld in use, and the system refuses; "
                   "take a smaller problem, fewer columns at once, or a lower precision",
                   what, bytes, (long long)pool->held);
}

static kaon_status beyond(kaon_context *ctx, int64_t bytes, const char *what) {
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "memory: %s needs %lld bytes, but %lld of the limit of %lld bytes are in use; "
                   "raise memory_limit (the program: --memory-limit) "
                   "or take a smaller problem or fewer columns at once",
                   what, (long long)bytes, (long long)ctx->pool->held,
                   (long long)ctx->options.memory_limit);
}

kaon_status kaon_memory_allocate(kaon_context *ctx, size_t bytes, void **pointer) {
  const kaon_status status = ctx->backend->memory->allocate(ctx, bytes, pointer);
  if (status != KAON_ERR_MEMORY) return status;
  trim(ctx, ctx->pool);
  return ctx->backend->memory->allocate(ctx, bytes, pointer);
}

static kaon_status allocate(kaon_context *ctx, kaon_pool *pool, size_t bytes, const char *what,
                            void **pointer) {
  int64_t limit = ctx->options.memory_limit;
  if (limit > 0 && pool->held + (int64_t)bytes > limit) trim(ctx, pool);
  if (limit > 0 && pool->held + (int64_t)bytes > limit) return beyond(ctx, (int64_t)bytes, what);
  const kaon_status status = kaon_memory_allocate(ctx, bytes, pointer);
  return status == KAON_ERR_MEMORY ? refused(ctx, pool, bytes, what) : status;
}

kaon_status kaon_pool_allocate(kaon_context *ctx, size_t bytes, const char *what, void **pointer) {
  kaon_pool *pool = ctx->pool;
  *pointer = NULL;
  if (bytes > SIZE_MAX / 2)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "memory: %s needs more bytes than can be addressed",
                     what);
  bytes = (bytes + GRANULE - 1) / GRANULE * GRANULE;
  if (bytes == 0) bytes = GRANULE;
  int i = ctx->options.check ? -1 : find_cached(pool, bytes);
  if (i < 0) {
    KAON_TRY(grow_list(ctx, pool));
    void *fresh = NULL;
    KAON_TRY(allocate(ctx, pool, bytes, what, &fresh));
    i = pool->count++;
    pool->blocks[i] = (pool_block){fresh, bytes, 0};
    pool->held += (int64_t)bytes;
  }
  pool->blocks[i].used = 1;
  pool->now += (int64_t)pool->blocks[i].bytes;
  if (pool->now > pool->peak) pool->peak = pool->now;
  *pointer = pool->blocks[i].pointer;
  return KAON_OK;
}

kaon_status kaon_pool_account(kaon_context *ctx, int64_t bytes, const char *what) {
  kaon_pool *pool = ctx->pool;
  const int64_t limit = ctx->options.memory_limit;
  if (bytes > 0 && limit > 0 && pool->held + bytes > limit) trim(ctx, pool);
  if (bytes > 0 && limit > 0 && pool->held + bytes > limit) return beyond(ctx, bytes, what);
  pool->now += bytes;
  pool->held += bytes;
  if (pool->now > pool->peak) pool->peak = pool->now;
  return KAON_OK;
}

void kaon_pool_release(kaon_context *ctx, void *pointer) {
  if (pointer == NULL) return;
  kaon_pool *pool = ctx->pool;
  for (int i = 0; i < pool->count; i++) {
    pool_block *b = &pool->blocks[i];
    if (b->pointer != pointer) continue;
    b->used = 0;
    pool->given++;
    pool->now -= (int64_t)b->bytes;
    if (ctx->options.check) drop(ctx, pool, i);
    return;
  }
}
