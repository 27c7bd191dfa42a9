/* context_internal.h - the inside of kaon_context, and the services that every object uses: pool, log,
 * launch, references. */
#ifndef KAON_LIB_CONTEXT_H
#define KAON_LIB_CONTEXT_H

#include <kaon/context.h>
#include <kaon/lab.h>
#include <kaon/vector.h>

#include "lib/core/backend.h"
#include "lib/comm/comm.h"
#include "lib/core/error.h"
#include "lib/core/launch.h"

typedef struct kaon_pool kaon_pool;

struct kaon_context {
  int references;
  const kaon_backend *backend;
  kaon_comm *comm;
  kaon_pool *pool;
  kaon_context_options options;
  kaon_lab_options lab; /* experiments */
  int threads;
  double *partials;                     /* the launches' reduction buffer */
  size_t partials_bytes, besides_bytes; /* of the partials, and of what stands behind them */
  uint32_t *tickets;                    /* behind the partials */
  uint64_t *marked;                     /* behind those, on a device */
  double *left;                         /* there too */
  void *states;                         /* open ones, for sums of single calls (blas/vector_arithmetic.c); */
  int states_columns;                   /* of so many columns; 0: there are none */
  unsigned blocks_allocated;            /* by the backend's memory, to stagger their addresses */
  size_t cache_bytes;      /* a call through more stores past the caches (kaon_cpu_stream_bytes) */
  size_t core_cache_bytes; /* second-level cache of one core: far beyond it kernels ask ahead */
  int prefetch_level;      /* into this level of cache (kaon_cpu_prefetch_level) */
  struct kaon_tuning_entry *tuning; /* lib/core/tuning_internal.h; NULL: all by rule */
  int tuning_count;
  uint64_t tunings; /* how often the table was set: recorded launches hold for one of them */
  char device[128];
  char details[160]; /* of a device: memory, compute capability, driver */
  void *machine;     /* the backend's own (open, close) */
  void *queue;       /* CUDA: the context's one stream */
  int dependent; /* CUDA: launches may overlap the end of the one before (lib/cuda/queue/dependent.h) */
  int no_flush_needed;      /* the last kernel submitted writes vectors or scalars alone (kaon_launch.early) */
  struct kaon_timeline *timeline; /* for kaon_launch; whoever measures sets it */
  void *library;                  /* CUDA: vector work by another library (blas/cuda/library.h) */
  const void *peer_reduction; /* CUDA: kernels may sum over ranks by themselves (lib/cuda/ranks/peer_sums.h), and no
                          sum is under way; NULL: they may not */
  int recording; /* steps are recorded instead of done (lib/cuda/queue/graph.c): no answers, no fresh
                    memory */
  struct kaon_launch_list *list; /* CUDA: for kaon_launch; set while steps are listed */
  int pass_incomplete; /* a pass ended between two of its kernels: tickets and marks tell of it */
};

void kaon_context_retain(kaon_context *ctx);
void kaon_context_release(kaon_context *ctx);

/* 1: nothing is fused, updates and sums are passes of their own (kaon_issue). */
static inline int kaon_separate(const kaon_context *ctx) {
  return ctx->lab.issue >= KAON_ISSUE_SEPARATE;
}

/* One line to the user's log callback, if the level is wanted. */
void kaon_log(const kaon_context *ctx, kaon_log_level level, const char *format, ...)
    KAON_PRINTF(3, 4);

/* Device memory from the context's caching pool, 64-byte aligned at least; contents unspecified
 * (check mode: poisoned). `what` names the object in the out-of-memory sentence. */
kaon_status kaon_pool_allocate(kaon_context *ctx, size_t bytes, const char *what, void **pointer);
void kaon_pool_release(kaon_context *ctx, void *pointer); /* NULL allowed */
/* Counts device memory that was taken past the pool (bytes > 0) or given back (< 0): it is in use
 * like the pool's own. Refuses what is beyond the limit. */
kaon_status kaon_pool_account(kaon_context *ctx, int64_t bytes, const char *what);
kaon_status kaon_pool_create(kaon_context *ctx, kaon_pool **pool);
void kaon_pool_destroy(kaon_context *ctx, kaon_pool **pool);
typedef struct kaon_pool_use {
  int64_t now, peak; /* bytes handed out, and the most there were */
  int64_t held;      /* taken from the system, idle blocks too */
  int64_t free;      /* that could still be had; -1: not known */
} kaon_pool_use;
kaon_pool_use kaon_pool_usage(kaon_context *ctx);
/* MEMORY, with a sentence that names both numbers, where `bytes` are known not to be there: said
 * before a job is begun, not in the middle of it. Takes nothing. */
kaon_status kaon_pool_require(kaon_context *ctx, size_t bytes, const char *what);
/* How many blocks were given back so far: while it stays, addresses taken before are still theirs.
 */
uint64_t kaon_pool_release_count(const kaon_pool *pool);

/* UNSUPPORTED, with a sentence, where the backend's kernels cannot number a lattice field (a
 * vector, a parity's clover blocks) of so many bytes. */
kaon_status kaon_field_check(const kaon_context *ctx, const char *what, size_t bytes);

/* A launch for kernels with `nrhs` columns that touch `pass_bytes`. Grows the partials
 * buffer if need be (never inside a solve: kaon_solver_create sizes it). Who submits a kernel that
 * writes vectors or scalars alone sets ctx->no_flush_needed afterwards. */
kaon_status kaon_launch_prepare(kaon_context *ctx, int nrhs, size_t pass_bytes,
                                kaon_launch *launch);

#endif
