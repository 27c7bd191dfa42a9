/** @file context.h
 * Contexts: the device, its threads and its memory. Several ranks, tuning, options by name. */
#ifndef KAON_CONTEXT_H
#define KAON_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <kaon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** All options structs. */
typedef enum kaon_options_kind {
  KAON_OPTIONS_CONTEXT,
  KAON_OPTIONS_DIRAC,
  KAON_OPTIONS_EVEN_ODD,
  KAON_OPTIONS_SOLVER,
  KAON_OPTIONS_HEATBATH,
  KAON_OPTIONS_SCHWARZ,
  KAON_OPTIONS_MATRIX,
  KAON_OPTIONS_MATRIX_OPERATOR,
  KAON_OPTIONS_SHELL,
  KAON_OPTIONS_PRECOND,
  KAON_OPTIONS_CHEBYSHEV,
  KAON_OPTIONS_MULTISHIFT,
  KAON_OPTIONS_RELAX,
  KAON_OPTIONS_FAULTS,
  KAON_OPTIONS_KACZMARZ,
  KAON_OPTIONS_STAGGERED,
  KAON_OPTIONS_FATTEN,
  KAON_OPTIONS_LAB,
  KAON_OPTIONS_LAB_RELAX,
  KAON_OPTIONS_GAUGE_READ,
  KAON_OPTIONS_GAUGE_WRITE,
  KAON_OPTIONS_PROPAGATOR_READ,
  KAON_OPTIONS_PROPAGATOR_WRITE,
  KAON_OPTIONS_DOMAIN_WALL,
  KAON_OPTIONS_MULTIGRID
} kaon_options_kind;
/** Member `version` of an options struct, as its `_INIT` macro sets it: number `n` of its kind. A
 * struct of another kind is refused. */
#define KAON_OPTIONS_VERSION(kind, n) ((int)(kind)*256 + (n))

/** Precision of stored numbers. HALF: 16-bit integers and one float scale for each site and column;
 * arithmetic is in single precision. */
typedef enum kaon_precision { KAON_DOUBLE, KAON_SINGLE, KAON_HALF } kaon_precision;

/** Where kernels run. AUTO: the environment's `KAON_BACKEND`; else CUDA if there is a usable
 * device; else the CPU. */
typedef enum kaon_backend_kind {
  KAON_BACKEND_AUTO,
  KAON_BACKEND_CPU,
  KAON_BACKEND_CUDA
} kaon_backend_kind;

/** Instruction set of the CPU. AUTO: the widest that this processor has. */
typedef enum kaon_isa {
  KAON_ISA_AUTO,
  KAON_ISA_SCALAR,
  KAON_ISA_X86_64,
  KAON_ISA_AVX2,
  KAON_ISA_AVX512
} kaon_isa;

/** How devices of several ranks exchange messages. Results do not depend on it.
 *
 * - PEER: kernels store into the neighbours' memory. All ranks are on one node, and their devices
 *   have access to each other.
 * - DIRECT: the communicator takes device memory (CUDA-aware MPI).
 * - NCCL: by that library, if it is found at run time.
 * - HOST: through the host's memory.
 * - AUTO: the first of PEER, NCCL, DIRECT, HOST that works on all ranks. If two ranks share a
 *   device, the first of DIRECT and HOST, with a warning.
 *
 * PEER on a shared device: a kernel that waits for another rank's kernel may keep that kernel from
 * running. A message then takes some milliseconds, until the device changes between processes.
 * Under CUDA's Multi-Process Service a large product may leave no room for the other kernel; the
 * job then ends after `patience` seconds. */
typedef enum kaon_transport {
  KAON_TRANSPORT_AUTO,
  KAON_TRANSPORT_PEER,
  KAON_TRANSPORT_DIRECT,
  KAON_TRANSPORT_NCCL,
  KAON_TRANSPORT_HOST
} kaon_transport;

/** How hops of a divided lattice, and products of a divided matrix, overlap with their messages.
 *
 * - FUSED: one kernel sends, works on the interior, then on the faces. Only with transport PEER.
 * - STAGED: kernels one after another; messages overlap with the kernel of the interior.
 * - NONE: nothing overlaps with the messages.
 * - AUTO: FUSED where possible, else STAGED.
 * - UPDATES: as AUTO. In addition, pipelined CG on a divided matrix first updates and sends what
 *   its product needs; these messages overlap with the other updates. A step then reads two more
 *   vectors, or three with a preconditioner. This gains with NCCL, for parts of up to about 1e6
 *   rows.
 *
 * Results do not depend on it, with one exception: FUSED products of divided matrices add up their
 * sums in another order, the same in every run. Storage formats without a fused kernel use
 * STAGED. */
typedef enum kaon_overlap {
  KAON_OVERLAP_AUTO,
  KAON_OVERLAP_FUSED,
  KAON_OVERLAP_STAGED,
  KAON_OVERLAP_NONE,
  KAON_OVERLAP_UPDATES
} kaon_overlap;

/** How the host waits for its device. Results do not depend on it; it has no effect on the CPU.
 *
 * - POLLING: spin until the device is done. Lowest latency, occupies one core.
 * - BLOCKING: sleep. Frees the core, adds about 50 us, or about 5 us after similar solves.
 * - AUTO: spin for 300 us, then sleep. For steps that the device repeats by itself: sleep at
 *   once. */
typedef enum kaon_sync { KAON_SYNC_AUTO, KAON_SYNC_POLLING, KAON_SYNC_BLOCKING } kaon_sync;

/** How important a line of the log is. */
typedef enum kaon_log_level {
  KAON_LOG_ERROR,
  KAON_LOG_WARNING,
  KAON_LOG_INFO,
  KAON_LOG_DEBUG
} kaon_log_level;

/** Receives one line, without a newline, on the thread that called kaon. */
typedef void kaon_log_fn(void *user, kaon_log_level level, const char *line);

/** Options of a context. */
typedef struct kaon_context_options {
  size_t size;
  int version;
  kaon_backend_kind backend;
  kaon_isa isa;
  int threads; /**< CPU threads. 0: the environment's `OMP_NUM_THREADS`, else all processors */
  int check;   /**< 1: guard pages and poisoned memory, slow. What an operator of the application
                    does not write is NaN. Aliasing and stale fields are always checked */
  kaon_log_level log_level; /**< the least important level that is logged */
  kaon_log_fn *log;         /**< NULL: no log */
  void *log_user;           /**< passed to `log` */
  int64_t memory_limit;     /**< most bytes that the pool may hold, on the CPU even if less seems to
                                 be free. 0: no limit; requests beyond the free memory are
                                 refused */
  kaon_transport transport; /**< several ranks on devices */
  kaon_overlap overlap;     /**< several ranks */
  double patience; /**< seconds that a host or a device waits for another rank before its work ends
                        with COMM. Must exceed the longest time that a rank is busy elsewhere, for
                        example with a file. Over QMP, hosts wait for ever */
  kaon_sync sync;
  const struct kaon_lab_options *lab; /**< experiments (kaon/lab.h). NULL: none. Copied */
} kaon_context_options;

/** Defaults. */
#define KAON_CONTEXT_OPTIONS_INIT                                                \
  {                                                                              \
    sizeof(kaon_context_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_CONTEXT, 1), \
        KAON_BACKEND_AUTO, KAON_ISA_AUTO, 0, 0, KAON_LOG_WARNING, NULL, NULL, 0, \
        KAON_TRANSPORT_AUTO, KAON_OVERLAP_AUTO, 600.0, KAON_SYNC_AUTO, NULL      \
  }

/** Creates a context of one rank. `options` NULL: the defaults. Several contexts may exist at once,
 * each used by one thread at a time.
 *
 * A context and its objects belong to the process that created them: after a fork the child's calls
 * with them are STATE. The child creates its own context. If the parent had one of several threads,
 * the child's has one thread (`threads` 0 or 1; more are STATE), because OpenMP's threads do not
 * survive a fork. Local. Errors: ARGUMENT, STATE, NO_DEVICE, NOT_BUILT, MEMORY. */
KAON_API kaon_status kaon_context_create(const kaon_context_options *options, kaon_context **ctx);

/** Destroys a context. Objects that were made from it keep it alive until they are destroyed. The
 * end of a context of several ranks is collective: MPI frees its communicator. Local for one
 * rank. */
KAON_API void kaon_context_destroy(kaon_context **ctx);

/** Facts about a context. Strings live as long as the context. */
typedef struct kaon_context_info {
  size_t size;
  const char *backend; /**< "cpu" or "cuda" */
  const char *device;  /**< name of the processor or GPU */
  const char *isa;     /**< "scalar", "x86-64", "avx2", "avx512"; "" on CUDA */
  int threads;
  int ranks;
  int64_t memory_now;       /**< bytes in use by objects */
  int64_t memory_peak;      /**< the largest value of memory_now so far */
  const char *details;      /**< CUDA: memory, compute capability, driver. "" on the CPU */
  int64_t memory_held;      /**< bytes taken from the system, with idle blocks of the pool */
  int64_t memory_free;      /**< bytes that can still be had from the device or within memory_limit.
                                 Ranks that share a device all see the same memory. -1: not known */
  const char *communicator; /**< "single", "MPI" or "QMP" */
  int rank;                 /**< this rank's number, from 0 */
  int local_rank;           /**< its number among the ranks of this node, from 0 */
  const char *transport;    /**< "peer stores", "CUDA-aware MPI", "NCCL", "host memory". "" for one
                                 rank and on the CPU */
} kaon_context_info;
/** Initial value. */
#define KAON_CONTEXT_INFO_INIT KAON_SIZED(kaon_context_info)

/** Fills `*info`. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_context_query(const kaon_context *ctx, kaon_context_info *info);

/** Waits until the device has done all work of this context. Call it before taking times, and
 * before passing device memory to other libraries. Does nothing on the CPU. Local. Errors:
 * ARGUMENT; DEVICE (the first error of asynchronous work). */
KAON_API kaon_status kaon_context_synchronise(kaon_context *ctx);

/** `*joules` = energy that the whole device has used since an unknown moment in the past; take
 * differences. All other work on the device is included. NaN: there is no counter, or it may not be
 * read. A call takes some milliseconds and does not wait for the device. Local. Errors: ARGUMENT.
 *
 * - GPU: NVML's counter, which moves every 20 to 100 ms.
 * - CPU: the packages' counters of Linux powercap, usually readable by root alone. They wrap after
 *   about 260 kJ. */
KAON_API kaon_status kaon_context_energy(kaon_context *ctx, double *joules);

/** Messages among ranks that iterations, operators and vector functions needed. Fixed size. */
typedef struct kaon_traffic {
  int64_t sums;      /**< sums over all ranks; several numbers may share one. Also counted where a
                          rank has nothing to add. Not counted: sums that end the last column, and
                          those of the host's polls of a solve */
  int64_t exchanges; /**< exchanges of faces with the neighbours */
  int64_t bytes;     /**< bytes that this rank sent in these exchanges */
  int64_t hidden;    /**< sums that had other work issued between their begin and their result */
  int64_t ahead;     /**< exchanges that began before updates of vectors */
  int64_t spare[3];  /**< 0 */
} kaon_traffic;

/** @name Several ranks
 * Several processes ("ranks") work on one lattice or matrix, each on a part.
 *
 * All ranks make the same calls in the same order with the same arguments. Of a context's options,
 * only `threads` and `memory_limit` may differ between ranks. A collective function returns the
 * same status on all ranks, and the sentence of the first rank that failed. Failures other than
 * COMM take precedence.
 *
 * Devices wait for each other. A rank that does not begin its part of a collective function within
 * the context's `patience` ends the work of the others with COMM. With transport PEER a kernel
 * waits: the process then loses all its other work on that device, also outside kaon.
 *
 * This header needs no MPI. Functions that need it return NOT_BUILT if kaon was built without. */
/** @{ */

/** Creates a context that is one of several ranks.
 *
 * - `communicator`: address of the application's `MPI_Comm`; kaon works on a copy of it. If kaon
 *   was built over QMP: address of a `QMP_comm_t`, which must outlive the context. NULL: all
 *   processes that were started together; MPI or QMP is started if the application has not done so.
 * - `grid`: ranks in x, y, z, t. Their product is the number of ranks. Rank r is at `x = r mod
 *   grid[0]`, `y = r / grid[0] mod grid[1]`, and so on; `MPI_Comm_split` can put another order into
 *   this one. NULL: a grid with small faces is chosen for each lattice.
 *
 * All ranks need the same backend and instruction set, and the same options `transport` and
 * `overlap`. The ranks of a node take its devices in turn, by their number on the node, and make
 * theirs the current device. A transport that was asked for by name and does not work is
 * UNSUPPORTED, with the reason. Where NCCL is tried, `NCCL_NVLS_ENABLE=0` is set in the
 * environment. Collective. Errors: those of
 * kaon_context_create(); COMM; NOT_BUILT; ARGUMENT (the grid; options differ); UNSUPPORTED
 * (machines differ). */
KAON_API kaon_status kaon_context_create_ranks(const kaon_context_options *options,
                                               const void *communicator, const int grid[4],
                                               kaon_context **ctx);

/** Chooses or checks the grid of ranks for a lattice of `extents` = X, Y, Z, T sites. Each extent
 * is even, from 2 to 4096. Nothing is created.
 *
 * - `grid[0] = 0`: writes the grid that `ranks` ranks have by default.
 * - else: checks `grid`; `ranks` is not used.
 *
 * All parts are equal. The default prefers parts of at least 3 sites in divided directions, then
 * even extents of parts (odd ones in y, z and t before x, an odd number of sites last), then small
 * faces. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_ranks_grid(const int extents[4], int ranks, int grid[4]);

/** "MPI" or "QMP", the library of several ranks. "" if none is built in. Local. */
KAON_API const char *kaon_ranks_library(void);

/** Agrees on a status, for steps of an application that may fail on one rank alone. Returns the
 * status of the first rank that failed, or OK. A COMM counts after all others, because it may be a
 * consequence. All ranks then have that rank's sentence in `kaon_last_error(ctx)`. A `mine` other
 * than OK must be the status of the last kaon function that failed on ctx. Collective. */
KAON_API kaon_status kaon_context_agree(kaon_context *ctx, kaon_status mine);

/** `all[r * n + i] = mine[i]` of rank r, on all ranks. n is at least 1. All numbers are finite. The
 * arrays do not overlap. It is also a barrier of the hosts, but not of the devices
 * (kaon_context_synchronise()). Collective. Errors: ARGUMENT, COMM. */
KAON_API kaon_status kaon_context_gather(kaon_context *ctx, const double *mine, int n, double *all);

/** Ends MPI or QMP if kaon started it, else does nothing. Call it once, after the last context with
 * several ranks was destroyed. Collective. */
KAON_API void kaon_ranks_end(void);

/** kaon_ranks_end() for a program that ends with `status`, perhaps because this rank alone failed.
 * Waits at most `seconds` (negative: without limit) until all ranks have called it. `status` is not
 * negative. Collective, but it may be called where some ranks never come.
 *
 * Returns 1 if MPI was ended, or was not kaon's to end; `*first` is then the status of rank 0.
 * Returns 0 if other ranks did not come; `*first` is then this rank's status, and the program can
 * only exit. QMP cannot wait for a limited time: a negative `seconds` assumes that all ranks come,
 * and another value that they do not. */
KAON_API int kaon_ranks_finish(int status, double seconds, int *first);
/** @} */

/** @name Tuning
 * Measured launch choices, in place of the built-in rules. `kaon tune` measures and writes a file.
 * `--tuning FILE` passes it to kaon_context_set_tuning().
 *
 * Nothing is timed during a solve. Without a tuning all choices follow rules and are the same in
 * every run. On the CPU no choice changes a bit of a field. On a GPU `kaon tune` selects only
 * choices that change no bit of a field. They may change the order of sums, so results have the
 * same bits only under the same tuning. */
/** @{ */

/** Kernels that have choices. */
typedef enum kaon_tuned {
  KAON_TUNED_HOP,   /**< hop of Wilson-like operators, with all that is fused into it */
  KAON_TUNED_VECTOR /**< updates of vectors */
} kaon_tuned;

/** A choice. */
typedef enum kaon_choice { KAON_BY_RULE, KAON_OFF, KAON_ON } kaon_choice;

/** One choice, and the launches that it is for. Choices that are 0 follow the rule. A launch uses
 * the entry of the same kernel, precision, reconstruct and columns whose `sites` is nearest to its
 * own, within a factor of 2. */
typedef struct kaon_tuning_entry {
  kaon_tuned kernel;
  kaon_precision precision;
  int reconstruct; /**< reals of a link: 18, 12, 8; 0 for vectors */
  int columns;
  int64_t sites;        /**< sites of both parities, or rows */
  kaon_choice prefetch; /**< CPU, hop: prefetch the next site's data */
  int level;            /**< CPU, hop: into this level of cache, 1 or 2 */
  kaon_choice stream;   /**< CPU: store past the caches; for vectors: in zero and copy */
  int threads;          /**< CUDA, hop: sites of a block, a power of two from 32 to 1024. 32: two
                             threads share a site. Ignored if the kernel was not compiled for it */
  int group;  /**< CUDA, hop: columns of a thread, 1 to 16. Up to 3 are processed together, more one
                   after another. Ignored if the kernel was not compiled for it */
  int blocks; /**< CUDA, vector updates without sums: most blocks of a column, up to 65535 */
} kaon_tuning_entry;

/** All choices for one machine. Strings are those of kaon_version() and kaon_context_query(). */
typedef struct kaon_tuning {
  const char *version, *backend, *device, *isa;
  int count; /**< number of entries */
  const kaon_tuning_entry *entries;
} kaon_tuning;

/** Uses `tuning` (copied) from the next launch on. NULL: rules again. Not during a solve. Local,
 * but all ranks must set the same. Errors, which change nothing: ARGUMENT (another version,
 * backend, device or instruction set; an entry out of range, for another backend, or twice);
 * MEMORY. */
KAON_API kaon_status kaon_context_set_tuning(kaon_context *ctx, const kaon_tuning *tuning);
/** @} */

/** @name Options by name
 * Options structs as text "key=value, key=value". Keys are field names; enumerations have names, as
 * in "sloppy=half". Pointers and callbacks have no text form. */
/** @{ */

/** Fills `options`, of `size` = sizeof bytes, with the defaults, as the `_INIT` macro does. Local.
 * Errors: ARGUMENT. */
KAON_API kaon_status kaon_options_init(kaon_options_kind kind, void *options, size_t size);
/** Sets fields from text. After an error nothing has changed. Local. Errors: ARGUMENT (unknown key,
 * bad value, value out of range; the sentence says what is allowed). */
KAON_API kaon_status kaon_options_parse(kaon_options_kind kind, void *options, const char *text);
/** Checks size, version and all ranges. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_options_check(kaon_options_kind kind, const void *options);
/** Writes all fields as text, at most `room` bytes with the final NUL. `*length` (NULL allowed):
 * bytes that the whole text takes. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_options_print(kaon_options_kind kind, const void *options, char *text,
                                        size_t room, size_t *length);
/** Help line of one field: "name (default) range: meaning". Call with `field` = 0, 1, ... until it
 * returns NULL. Valid until the thread's next call. Local. */
KAON_API const char *kaon_options_help(kaon_options_kind kind, int field);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
