/** @file lab.h
 * What only experiments need: forms of issuing steps, delayed sums, exchanges and faults of
 * asynchronous relaxation, statistics of messages. Not part of kaon.h; may change between
 * versions. */
#ifndef KAON_LAB_H
#define KAON_LAB_H

#include <kaon/precond.h>
#include <kaon/relax.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Steps and sums */
/** @{ */

/** How solvers issue their steps. These forms give the same results:
 *
 * - AUTO: WHILE if device and operators allow it, else REPLAY, else PLAIN
 * - PLAIN: one operation after another
 * - REPLAY: the host replays recorded blocks of steps
 * - WHILE: the device repeats the recorded block, and serves columns by itself
 * - TAIL: each block launches what follows, as a graph of the device's own
 * - CDP: a kernel of the device launches those of a step, and then itself (dynamic parallelism)
 * - PERSISTENT: one kernel stays and runs all steps, for systems that fit into the device's cache
 *
 * CDP and PERSISTENT are for one column on one rank; matrices of real numbers in one precision,
 * double or single; methods cg, bicg, bicgstab and pipecg; without a preconditioner or with Jacobi.
 * Other solves use WHILE, with a warning in the log.
 *
 * These forms exist for comparison and differ by rounding:
 *
 * - SEPARATE: as PLAIN, but each update and each sum is a pass of its own. Nothing is fused, except
 *   the updates of pipelined and reordered methods, groppcg and chrongear (`fused` in the solve's
 *   report)
 * - LIBRARY: the same with updates and dot products by cuBLAS, which is found at run time. Results
 *   return to the host, where the recurrences run. CUDA, one rank, one column at a time, double and
 *   single; methods cg, cgne, cgnr, bicgstab, mr and gcr */
typedef enum kaon_issue {
  KAON_ISSUE_AUTO,
  KAON_ISSUE_PLAIN,
  KAON_ISSUE_REPLAY,
  KAON_ISSUE_WHILE,
  KAON_ISSUE_TAIL,
  KAON_ISSUE_CDP,
  KAON_ISSUE_PERSISTENT,
  KAON_ISSUE_SEPARATE,
  KAON_ISSUE_LIBRARY
} kaon_issue;

/** Experiments of a context, for kaon_context_options.lab. */
typedef struct kaon_lab_options {
  size_t size;
  int version;
  kaon_issue issue;    /**< the same on all ranks */
  double reduce_delay; /**< least seconds of a sum over ranks, also with one rank, to measure what
                            methods wait for and what they hide. 0: no delay. Changes no bit */
  int as_printed; /**< RBICGSTAB. 1: rho as printed in the paper, which loses accuracy by rounding.
                       0: from one more sum in the same message */
  double deflation_limit; /**< most bytes on a rank of deflation that solvers choose themselves
                               (kaon_solver_options.deflation = -1) */
} kaon_lab_options;
/** Defaults. */
#define KAON_LAB_OPTIONS_INIT                                                                     \
  {                                                                                               \
    sizeof(kaon_lab_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_LAB, 1), KAON_ISSUE_AUTO, 0.0, 0, \
        2147483648.0                                                                              \
  }

/** Changes the context's option `sync` from now on, to compare its values with the same fields and
 * solvers. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_context_set_sync(kaon_context *ctx, kaon_sync sync);

/** `*traffic` since the context was created. Of steps that a device repeats by itself, what was
 * recorded counts once; the report of a solve counts all. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_context_traffic(const kaon_context *ctx, kaon_traffic *traffic);
/** @} */

/** @name Asynchronous relaxation */
/** @{ */

/** How KAON_ASYNC on several ranks receives the rows of other ranks. All ranks ask for the same.
 *
 * With all forms but SYNC values are used as they arrive, without a barrier between ranks, for up
 * to `stride` iterations between two residuals. Residuals are taken synchronously, with either
 * driver. Each value comes with the number of its iteration.
 *
 * - AUTO: SYNC with driver LAUNCH; with FREE the first of PUSH and AMC that is possible
 * - AMC: through host memory: windows of MPI 3, written and read by atomic accesses
 * - DC: a rank's new rows are copied into the others' memory after each iteration (CUDA on one
 *   node: by copy engines)
 * - DK: others read them where they are (one node. CUDA: over the links between devices; CPU:
 *   shared memory)
 * - PUSH: each block stores its new rows into the memory of all that read them (one node)
 * - SYNC: only the products that take residuals exchange rows. In between a rank works on its own
 *   rows: one iteration with LAUNCH, `stride` with FREE
 *
 * With faults FREE pauses where one begins or ends, and at least every four iterations, so that
 * the monitor sees a residual. As an operator (tol = 0) it is SYNC. Source: Anzt and others
 * (kaon/relax.h), section 3.4, where x as a whole is in one memory. */
typedef enum kaon_relax_exchange {
  KAON_EXCHANGE_AUTO,
  KAON_EXCHANGE_AMC,
  KAON_EXCHANGE_DC,
  KAON_EXCHANGE_DK,
  KAON_EXCHANGE_PUSH,
  KAON_EXCHANGE_SYNC
} kaon_relax_exchange;

/** What is frozen: rows at random, consecutive rows, or all rows of a rank. */
typedef enum kaon_fault_kind { KAON_FAULT_ROWS, KAON_FAULT_BLOCK, KAON_FAULT_RANK } kaon_fault_kind;

/** Faults that are injected into two-stage and asynchronous solves with tol > 0.
 *
 * From iteration `begin` on some rows are no longer updated; `recovery` iterations later they are
 * restored. Bits of x flip silently, in each row with probability flip_rate an iteration.
 *
 * A monitor sees only residuals. It raises an alarm when one grows, or no longer falls as before.
 * With `repair` it then restores a copy of x, which is made every tenth iteration without an alarm,
 * or restores frozen rows. */
typedef struct kaon_fault_options {
  size_t size;
  int version;
  kaon_fault_kind kind;
  double share;     /**< of the rows, 0 to 1. 0: none are frozen */
  int rank;         /**< RANK: whose rows */
  int begin;        /**< iterations before rows are frozen */
  int recovery;     /**< iterations until they are restored. 0: only by repair */
  double flip_rate; /**< 0 to 1 */
  int flip_begin;   /**< bits flip from this iteration on */
  int flip_end;     /**< until this one. 0: always */
  int repair;       /**< 1: the monitor repairs */
  uint64_t seed;
} kaon_fault_options;
/** Defaults. */
#define KAON_FAULT_OPTIONS_INIT                                                                \
  {                                                                                            \
    sizeof(kaon_fault_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_FAULTS, 1), KAON_FAULT_ROWS, \
        0.0, 0, 10, 0, 0.0, 0, 0, 1, 1                                                         \
  }

/** Experiments of relaxation, for kaon_relax_options.lab. */
typedef struct kaon_lab_relax_options {
  size_t size;
  int version;
  kaon_relax_exchange exchange; /**< several ranks */
  int rank_lag; /**< iterations that a block may be ahead of blocks of other ranks that it reads.
                     -1: no bound */
  const kaon_fault_options *faults; /**< NULL: none. Copied */
} kaon_lab_relax_options;
/** Defaults. */
#define KAON_LAB_RELAX_OPTIONS_INIT                                                  \
  {                                                                                  \
    sizeof(kaon_lab_relax_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_LAB_RELAX, 1), \
        KAON_EXCHANGE_AUTO, -1, NULL                                                 \
  }

/** Histograms have shifts from -32 to 32; those beyond count at the ends. */
enum { KAON_RELAX_SHIFTS = 32 };
/** What happened in a solver's last solve, on this rank.
 *
 * A shift is the reader's number of iterations less that of the block that it reads: 0 as in a
 * synchronous method, negative for newer values, positive for older ones. It is noted when the
 * reader begins, and again when it has read all. A value is no older than the first note says. As a
 * rule it is no newer than the second note says, except for parts of an iteration that a block has
 * not finished. */
typedef struct kaon_relax_report {
  size_t size;
  double tau;          /**< as used */
  int colours, levels; /**< GS, SOR */
  int64_t blocks;      /**< two-stage, asynchronous */
  int64_t updates;     /**< asynchronous: iterations of single blocks, of all columns */
  int64_t shifts[2 * KAON_RELAX_SHIFTS + 1]; /**< reads by shift + 32, when the reader begins */
  int newest, oldest;                        /**< smallest and largest shift */
  double asynchronous;                       /**< share of reads with a shift other than 0 */
  int64_t shifts_after[2 * KAON_RELAX_SHIFTS + 1]; /**< when the reader has read all */
  int newest_after;                                /**< smallest of these */
  double asynchronous_after;                       /**< share of those other than 0 */
  int least, most;              /**< iterations of the slowest and of the fastest block */
  kaon_relax_exchange exchange; /**< several ranks: as used */
  char exchange_note[160];      /**< why another exchange than asked for was used. "": it was not */
  int64_t rank_shifts[2 * KAON_RELAX_SHIFTS +
                      1]; /**< of reads of other ranks' blocks, of all ranks. They are not among the
                               above */
  int rank_newest, rank_oldest;
  double rank_asynchronous;
  int64_t frozen;  /**< faults: frozen rows of all ranks */
  int frozen_at;   /**< iteration. -1: none were */
  int restored_at; /**< iteration. -1: they were not */
  int restored_by_monitor;
  int64_t flips;
  int alarms;
  int first_alarm; /**< its iteration. -1: none */
  int rollbacks;   /**< copies of x that were restored */
} kaon_relax_report;
/** Initial value. */
#define KAON_RELAX_REPORT_INIT KAON_SIZED(kaon_relax_report)
/** Reports a solver's last solve. Local. Errors: ARGUMENT (the solver has another method). */
KAON_API kaon_status kaon_solver_relaxation(const kaon_solver *solver, kaon_relax_report *report);
/** @} */

/** @name Asynchronous Schwarz */
/** @{ */

/** What an asynchronous Schwarz preconditioner has received so far, on this rank: other ranks'
 * faces, or values of other blocks if blocks run freely. All 0 if there is neither. */
typedef struct kaon_schwarz_lags {
  size_t size;
  int64_t reads; /**< faces that were looked for. Running freely: reads of other parts */
  int64_t late;  /**< of these: the newest message had not arrived, so an older one or 0 was used.
                      Running freely: the other part had ended fewer cycles than the reader */
  int oldest;    /**< how many residuals (running freely: cycles) old the oldest value was */
  int parts;     /**< running freely: parts that iterate independently; blocks that share vector
                      lanes are one part. Else 0 */
} kaon_schwarz_lags;
/** Initial value. */
#define KAON_SCHWARZ_LAGS_INIT KAON_SIZED(kaon_schwarz_lags)
/** Reports them. Local. Errors: ARGUMENT (K is no Schwarz preconditioner). */
KAON_API kaon_status kaon_schwarz_describe_lags(const kaon_operator *K, kaon_schwarz_lags *lags);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
