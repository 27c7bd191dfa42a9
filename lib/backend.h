/* backend.h - the only seam between the library and a machine: one constant table per backend (and
 * CPU instruction set). A NULL entry means: composed from required entries where that is possible,
 * otherwise KAON_ERR_NOT_BUILT. */
#ifndef KAON_LIB_BACKEND_H
#define KAON_LIB_BACKEND_H

#include <kaon/context.h>

#include "lib/launch.h"

struct kaon_blas_ops;
struct kaon_convert_ops;
struct kaon_door_ops;
struct kaon_dslash_ops;
struct kaon_measure_ops;
struct kaon_gauge_ops;
struct kaon_sparse_ops;
struct kaon_coarse_ops;

enum { KAON_PRECISIONS = 3 };

/* Where memory that a user hands over can be reached from. */
enum { KAON_AT_HOST = 1, KAON_AT_DEVICE = 2 };

/* Raw memory of the backend's device, below the pool. Sizes in bytes; alignment at least 64. Host
 * memory handed in may be reused when a call returns; what to_host brings is complete. */
typedef struct kaon_memory_ops {
  kaon_status (*allocate)(kaon_context *ctx, size_t bytes, void **pointer);
  void (*release)(kaon_context *ctx, void *pointer, size_t bytes);
  kaon_status (*to_device)(kaon_context *ctx, void *device, const void *host, size_t bytes);
  kaon_status (*to_host)(kaon_context *ctx, void *host, const void *device, size_t bytes);
  kaon_status (*clear)(kaon_context *ctx, void *device, size_t bytes);
  kaon_status (*synchronise)(
      kaon_context *ctx); /* waits, and reports the first error of asynchronous work */
  kaon_status (*available)(kaon_context *ctx, size_t *bytes); /* not yet taken; NULL: unknown */
  int (*place)(kaon_context *ctx, const void *pointer);       /* KAON_AT_...; NULL: both, always */
} kaon_memory_ops;

typedef struct kaon_backend {
  const char *name;        /* "cpu", "cuda" */
  const char *isa;         /* CPU: "avx512", ... */
  int width;               /* lanes of a block (W) */
  int access;              /* bytes that a lane reads at once (kaon_pack); 0: one component */
  int host_accessible;     /* device pointers may be read by the host: the CPU */
  int computed_neighbours; /* plain site order, neighbours worked out by kernels: no tables */
  /* What a context needs of the machine: ctx->machine, queue, device, details. NULL: nothing. */
  kaon_status (*open)(kaon_context *ctx);
  void (*close)(kaon_context *ctx);
  /* Joules drawn so far (kaon_context_energy); NaN: not known. NULL: never known. */
  double (*energy)(kaon_context *ctx);
  const kaon_memory_ops *memory;
  const struct kaon_door_ops *door; /* NULL where the host reaches the memory */
  const struct kaon_convert_ops *convert;
  const struct kaon_blas_ops *blas[KAON_PRECISIONS];
  const struct kaon_gauge_ops *gauge[KAON_PRECISIONS];
  const struct kaon_dslash_ops *dslash[KAON_PRECISIONS];
  const struct kaon_measure_ops *measure[KAON_PRECISIONS];
  const struct kaon_sparse_ops *sparse[KAON_PRECISIONS];
  const struct kaon_coarse_ops *coarse[KAON_PRECISIONS];
} kaon_backend;

#endif
