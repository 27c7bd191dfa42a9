/* memory.c - memory of the CPU backend, with huge pages for large blocks, and the guarded blocks of
 * check mode. In check mode a block lies between two inaccessible pages and ends directly before
 * the second. It is filled with 0xff (NaN in double and single) when allocated, and unmapped when
 * released. So overruns, uninitialised reads and uses after release fail at once. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/core/context_internal.h"
#include "lib/cpu/backend.h"
#include "lib/cpu/free_memory.h"
#include "lib/core/error.h"

enum { PAGE = 4096, HUGE_PAGE = 2 << 20, PIECE = 1 << 18 };

static kaon_status allocate(kaon_context *ctx, size_t bytes, void **pointer) {
  (void)ctx;
  size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : PAGE;
  if (posix_memalign(pointer, alignment, bytes) != 0) return KAON_ERR_MEMORY;
  if (alignment == HUGE_PAGE)
    madvise(*pointer, bytes, MADV_HUGEPAGE); /* only a hint: failure is harmless */
  return KAON_OK;
}

static void release(kaon_context *ctx, void *pointer, size_t bytes) {
  (void)ctx, (void)bytes;
  free(pointer);
}

/* from NULL: zeros */
static void fill_piece(char *to, const char *from, size_t bytes) {
  if (from != NULL)
    memcpy(to, from, bytes);
  else
    memset(to, 0, bytes);
}

/* The threads divide large blocks evenly, as kernels do. So new memory lies near the processors
 * that will use it. */
static void fill(const kaon_context *ctx, char *to, const char *from, size_t bytes) {
  if (bytes <= 4 * PIECE) {
    fill_piece(to, from, bytes);
    return;
  }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
  for (size_t begin = 0; begin < bytes; begin += PIECE)
    fill_piece(to + begin, from != NULL ? from + begin : NULL,
               bytes - begin < PIECE ? bytes - begin : PIECE);
}

static kaon_status to_device(kaon_context *ctx, void *device, const void *host, size_t bytes) {
  fill(ctx, device, host, bytes);
  return KAON_OK;
}

static kaon_status to_host(kaon_context *ctx, void *host, const void *device, size_t bytes) {
  (void)ctx;
  memcpy(host, device, bytes);
  return KAON_OK;
}

static kaon_status clear(kaon_context *ctx, void *device, size_t bytes) {
  fill(ctx, device, NULL, bytes);
  return KAON_OK;
}

static kaon_status copy(kaon_context *ctx, void *to, size_t to_step, const void *from,
                        size_t from_step, size_t bytes, size_t pieces) {
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
  for (size_t i = 0; i < pieces; i++)
    memcpy((char *)to + i * to_step, (const char *)from + i * from_step, bytes);
  return KAON_OK;
}

static kaon_status synchronise(kaon_context *ctx) {
  (void)ctx;
  return KAON_OK;
}

static kaon_status available(kaon_context *ctx, size_t *bytes) {
  const int64_t there = kaon_cpu_free_memory("");
  (void)ctx;
  if (there < 0) return KAON_ERR_UNSUPPORTED; /* unknown; no error message */
  *bytes = (size_t)there;
  return KAON_OK;
}

/* bytes is a multiple of PAGE (the pool's granule). */
static kaon_status allocate_guarded(kaon_context *ctx, size_t bytes, void **pointer) {
  (void)ctx;
  char *base = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return KAON_ERR_MEMORY;
  if (mprotect(base + PAGE, bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(base, bytes + 2 * PAGE);
    return KAON_ERR_MEMORY;
  }
  memset(base + PAGE, 0xff, bytes);
  *pointer = base + PAGE;
  return KAON_OK;
}

static void release_guarded(kaon_context *ctx, void *pointer, size_t bytes) {
  (void)ctx;
  munmap((char *)pointer - PAGE, bytes + 2 * PAGE);
}

const kaon_memory_ops kaon_cpu_memory = {
    .allocate = allocate,
    .release = release,
    .to_device = to_device,
    .to_host = to_host,
    .clear = clear,
    .copy = copy,
    .synchronise = synchronise,
    .available = available,
};

const kaon_memory_ops kaon_cpu_memory_checked = {
    .allocate = allocate_guarded,
    .release = release_guarded,
    .to_device = to_device,
    .to_host = to_host,
    .clear = clear,
    .copy = copy,
    .synchronise = synchronise,
    .available = available,
};
