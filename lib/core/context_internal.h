/* context_internal.h - the inside of kaon_context, and the services that every object uses: pool,
 * log, launch, references. */
#pragma once

#include <kaon/context.h>
#include <kaon/lab.h>
#include <kaon/vector.h>

#include "lib/core/backend.h"
#include "lib/comm/comm.h"
#include "lib/core/error.h"
#include "lib/core/launch.h"

typedef struct kaon_pool kaon_pool;

/* Lines that kaon_log_once remembers. */
enum { KAON_LOGGED = 64 };

struct kaon_context {
  int references;
  const void
      *thread; /* the thread that is in `calls` public calls (lib/core/entry.h); NULL: none */
  int calls;
  int forks; /* kaon_forks() when it was created */
  const kaon_backend *backend;
  kaon_comm *comm;
  kaon_pool *pool;
  kaon_context *whole; /* of all ranks, if this is one of fewer: it owns the pool; retained */
  kaon_context_options options;
  kaon_lab_options lab; /* experiments */
  int threads;
  double *partials;                     /* reduction buffer of the launches */
  size_t partials_bytes, besides_bytes; /* of the partials, and of all that follows them */
  uint32_t *tickets;                    /* stored after the partials */
  uint64_t *marked;                     /* sequence-tagged sums, stored after the tickets; devices
                                           only */
  double *left;                         /* deferred partial sums, stored there too; devices only */
  void *states;                         /* open states for sums of single calls
                                           (blas/vector_arithmetic.c) */
  int states_columns;                   /* columns of these states; 0: there are none */
  unsigned blocks_allocated;            /* by the backend's memory, to stagger block addresses */
  /* A call that touches more bytes stores past the caches (kaon_cpu_stream_bytes). */
  size_t cache_bytes;
  /* Second-level cache of one core. Kernels prefetch if they touch far more bytes. */
  size_t core_cache_bytes;
  int prefetch_level;               /* cache level to prefetch into (kaon_cpu_prefetch_level) */
  struct kaon_tuning_entry *tuning; /* lib/core/tuning_internal.h; NULL: all automatic */
  int tuning_count;
  uint64_t tunings; /* how often the table was set: recorded launches are valid for one value */
  char device[128];
  char details[160]; /* of a device: memory, compute capability, driver */
  void *machine;     /* private to the backend (open, close) */
  void *queue;       /* CUDA: the only stream of the context */
  /* CUDA: a launch may overlap the end of the previous one (lib/cuda/queue/dependent.h). */
  int dependent;
  /* The last submitted kernel writes only vectors or scalars (kaon_launch.early). */
  int no_flush_needed;
  struct kaon_timeline *timeline; /* for kaon_launch; set by measurements */
  void *library;                  /* CUDA: another library for vector work (blas/cuda/library.h) */
  /* CUDA: for kernels that sum over ranks themselves (lib/cuda/ranks/peer_sums.h). NULL: they may
   * not; else no sum is under way. */
  const void *peer_reduction;
  /* 1: steps are recorded instead of run (lib/cuda/queue/graph.c). Then no result may be read and
   * no memory allocated. */
  int recording;
  struct kaon_launch_list *list; /* CUDA: for kaon_launch; set while a list is recorded */
  uint32_t logged[KAON_LOGGED];  /* hashes of the lines of kaon_log_once */
  unsigned logged_count;
  /* 1: a pass failed between two of its kernels. Tickets and sequence tags must be reset. */
  int pass_incomplete;
};

/* A context for the ranks of ctx that give the same colour, in the order of their keys, on this grid,
 * with the options, machine and pool of ctx. For machines whose memory the host reaches, and communicators
 * that can be divided. Collective; the ranks of ctx agree. Errors: COMM, MEMORY. */
kaon_status kaon_context_split(kaon_context *ctx, int colour, int key, const int grid[4],
                               kaon_context **part);
void kaon_context_retain(kaon_context *ctx);
void kaon_context_release(kaon_context *ctx);

/* 1: nothing is fused; updates and sums are separate passes (kaon_issue). */
static inline int kaon_separate(const kaon_context *ctx) {
  return ctx->lab.issue >= KAON_ISSUE_SEPARATE;
}

/* Passes one line to the user's log callback if it wants that level. */
void kaon_log(const kaon_context *ctx, kaon_log_level level, const char *format, ...)
    KAON_PRINTF(3, 4);
/* 1 if lines of this level are wanted. */
static inline int kaon_logs(const kaon_context *ctx, kaon_log_level level) {
  return ctx->options.log != NULL && level <= ctx->options.log_level;
}
/* Passes on a line that this context has not logged yet, or not among its last KAON_LOGGED ones. */
void kaon_log_once(kaon_context *ctx, kaon_log_level level, const char *line);

/* Device memory from the context's caching pool, aligned to 64 bytes at least. Its contents are
 * unspecified (check mode: poisoned). `what` names the object in an out-of-memory message. */
kaon_status kaon_pool_allocate(kaon_context *ctx, size_t bytes, const char *what, void **pointer);
void kaon_pool_release(kaon_context *ctx, void *pointer); /* NULL allowed */
/* Device memory that the pool neither keeps nor counts, for a short time; its idle blocks make room.
 * Release it by the backend's memory->release. Errors: MEMORY, without a sentence. */
kaon_status kaon_memory_allocate(kaon_context *ctx, size_t bytes, void **pointer);
/* Counts device memory that was allocated (bytes > 0) or released (< 0) without the pool, as if it
 * were the pool's. Fails with MEMORY beyond the limit. */
kaon_status kaon_pool_account(kaon_context *ctx, int64_t bytes, const char *what);
kaon_status kaon_pool_create(kaon_context *ctx, kaon_pool **pool);
void kaon_pool_destroy(kaon_context *ctx, kaon_pool **pool);
typedef struct kaon_pool_use {
  int64_t now, peak; /* bytes allocated by objects, and their maximum */
  int64_t held;      /* allocated from the system, idle blocks included */
  int64_t free;      /* still available; -1: not known */
} kaon_pool_use;
kaon_pool_use kaon_pool_usage(kaon_context *ctx);
/* Fails with MEMORY if `bytes` are known not to be available; the message names both values.
 * Callers ask before a job begins, so that it does not fail half-way. Allocates nothing. */
kaon_status kaon_pool_require(kaon_context *ctx, size_t bytes, const char *what);
/* Number of blocks released so far. While it is unchanged, addresses obtained before stay valid. */
uint64_t kaon_pool_release_count(const kaon_pool *pool);

/* Fails with UNSUPPORTED if the backend's kernels cannot index a lattice field of this size (a
 * vector, the clover blocks of a parity). */
kaon_status kaon_field_check(const kaon_context *ctx, const char *what, size_t bytes);

/* Fills a launch for kernels with `nrhs` columns that touch `pass_bytes`. Grows the partials buffer
 * if needed; never inside a solve, as kaon_solver_create sizes it. Code that submits a kernel which
 * writes only vectors or scalars sets ctx->no_flush_needed afterwards. */
kaon_status kaon_launch_prepare(kaon_context *ctx, int nrhs, size_t pass_bytes,
                                kaon_launch *launch);
