/* row_sweeps.h - access to an operator by rows, for methods that update rows one after another or
 * in blocks (KAON_CAPABILITY_ROWS), and |A| (KAON_CAPABILITY_ABSOLUTE).
 *
 * A kaon_row_sweeps belongs to one operator, one precision and one kind of sweep. It has only this
 * rank's rows, without couplings to other ranks. A method on several ranks therefore passes a
 * residual as b and a correction from 0 as x, which is the same in exact arithmetic. Only two
 * functions send messages: reserve, and a BLOCKS sweep with `exchange` set, which includes
 * couplings to other ranks. */
#pragma once

#include <kaon/operator.h>
#include <kaon/lab.h>
#include <kaon/relax.h>

#include "lib/operator/shifts.h"

struct kaon_pass;
typedef struct kaon_row_sweeps kaon_row_sweeps;

/* Kinds of sweeps.
 *   TRIANGLE  x = (D / omega + L)^-1 b, with L the entries before the diagonal in the row order:
 *             the update of Gauss-Seidel or SOR if b is the residual
 *   BLOCKS    Jacobi sweeps within blocks of `block` rows, starting from x, with the values that x
 *             has outside the block: x_i += omega ((b_i - sum_j a_ij x_j) / a_ii). For two-stage
 *             and asynchronous iteration
 *   PROJECT   x += omega (b_i - a_i x) / |a_i|^2 a_i^H, one row after another (Kaczmarz) */
typedef enum kaon_row_kind { KAON_ROW_TRIANGLE, KAON_ROW_BLOCKS, KAON_ROW_PROJECT } kaon_row_kind;

typedef struct kaon_row_how {
  kaon_row_kind kind;
  /* TRIANGLE, PROJECT: 1: rows in the order of a greedy colouring, one colour concurrently; 0: in
   * the caller's order (or in the requested ordering). */
  int by_colour;
  int64_t block; /* BLOCKS: rows of a block, in that order; 1 to KAON_ROW_BLOCK */
  double omega;
  int both; /* TRIANGLE: 1: backward sweeps too */
  /* BLOCKS, several ranks: how remote values arrive during a sweep. AUTO: the best available; SYNC:
   * they do not. */
  kaon_relax_exchange exchange;
} kaon_row_how;

/* One call of `sweep`. TRIANGLE and PROJECT read only `backward`, BLOCKS the other members.
 *
 * A block reads b, x outside and x inside, does `inner` sweeps and writes x inside: this is one
 * global iteration of the block. Blocks run concurrently. Each reads what the others have written
 * so far, by relaxed atomic accesses.
 * - cut = 1: x starts from 0 and couplings between blocks are dropped, so no block reads another
 *   (two-stage, with a residual for b).
 * - rounds = 1: one global iteration of each block.
 * - rounds > 1: blocks iterate asynchronously, without a barrier. They stop after `rounds`
 *   iterations each, or when one finds sum |b - A x|^2, as the blocks compute it in passing, to
 *   be at most `goal` or above `limit`. None begins an iteration more than `lag` ahead of a block
 *   that it reads. Each column runs separately. */
typedef struct kaon_row_sweep {
  int backward;
  int inner, cut;
  double damping; /* tau: x += tau omega ...; 1: none */
  int rounds, lag;
  /* CPU: blocks that a thread reads before it writes the first of them; 0: one. With all blocks
   * this is Jacobi between blocks. CUDA, with rounds = 1 and no exchange: blocks that run at once;
   * 0: all. */
  int together;
  uint64_t shuffle;           /* seed of the order in which blocks begin; 0: ascending */
  const double *goal, *limit; /* [column], rounds > 1 */
  /* Several ranks, which all make the call (collective; all return the same status): `rounds`
   * iterations of each block, with remote values as they arrive. x is the iterate itself, b its
   * source.
   *   free      0: each block once, then each once more, and so on; 1: asynchronous blocks, if
   *             values arrive without the host
   *   rank_lag  how far a block may be ahead of the remote blocks that it reads; < 0: no bound
   *   open      [column]: the gate lets it through (NULL: all) */
  int exchange, free, rank_lag;
  const int *open;
} kaon_row_sweep;

/* Statistics of BLOCKS since kaon_row_sweeps_ops.reset. A shift is the reader's number of global
 * iterations minus that of the block that it reads: 0 as in a synchronous method, < 0 newer values,
 * > 0 older ones. There is one count for each iteration of a block and each block that it reads. */
typedef struct kaon_row_record {
  int64_t updates;                       /* global iterations of blocks, all columns */
  int64_t shifts[KAON_SHIFT_BINS];       /* [shift + KAON_SHIFTS], when the block begins */
  int64_t shifts_after[KAON_SHIFT_BINS]; /* when it has read the others' values */
  int64_t rank_shifts[KAON_SHIFT_BINS];  /* of reads of remote blocks, which the others exclude */
  int least, most;                       /* iterations of the slowest and the fastest block */
} kaon_row_record;

typedef struct kaon_row_info {
  int64_t blocks;               /* BLOCKS */
  int colours, levels;          /* by_colour; sequential stages of a sweep */
  kaon_relax_exchange exchange; /* best exchange available; SYNC: none */
  const char *exchange_note;    /* why it is not the one requested, or "" */
} kaon_row_info;

typedef struct kaon_row_sweeps_ops {
  const char *name;
  /* One sweep. b is unchanged. b and x are of A's space and of the sweeps' precision; they may
   * alias only with TRIANGLE. Gated by pass; its sums are not computed. */
  kaon_status (*sweep)(kaon_row_sweeps *S, const kaon_row_sweep *how, const kaon_vector *b,
                       kaon_vector *x, const struct kaon_pass *pass);
  /* Allocates what sweeps of up to `columns` columns need, so that no sweep inside a solve
   * allocates. */
  kaon_status (*reserve)(kaon_row_sweeps *S, int columns);
  /* BLOCKS; NULL for other kinds. reset: sets the counts to 0. record: reads them, and waits for
   * the device. */
  kaon_status (*reset)(kaon_row_sweeps *S);
  kaon_status (*record)(kaon_row_sweeps *S, kaon_row_record *record);
  /* BLOCKS; NULL for other kinds.
   * rounds: done[column] is the average number of global iterations, rounded up, in the last sweep
   * with rounds > 1; waits for the device.
   * freeze: rows with frozen[row] != 0 (1 byte for each row of the space; NULL: none) are no longer
   * updated. */
  kaon_status (*rounds)(kaon_row_sweeps *S, int *done);
  kaon_status (*freeze)(kaon_row_sweeps *S, const uint8_t *frozen);
  void (*describe)(const kaon_row_sweeps *S, kaon_row_info *info);
  kaon_cost (*cost)(const kaon_row_sweeps *S, int columns); /* of a sweep; BLOCKS: inner = 1 */
  void (*destroy)(kaon_row_sweeps *S);                      /* frees self and what it holds */
} kaon_row_sweeps_ops;

struct kaon_row_sweeps {
  const kaon_row_sweeps_ops *ops;
  kaon_context *ctx;
  const kaon_space *space;
  kaon_precision precision;
  void *self;
};

/* Destroys it and sets *sweeps to NULL; NULL allowed. */
void kaon_row_sweeps_destroy(kaon_row_sweeps **sweeps);

typedef struct kaon_row_access {
  /* A new object in A's precision: A's rows on this rank. Collective. */
  kaon_status (*rows)(kaon_operator *A, const kaon_row_how *how, kaon_row_sweeps **rows);
} kaon_row_access;

typedef struct kaon_absolute_values {
  /* A new object in A's precision: |A|, whose entries are the absolute values of A's.
   * Collective. */
  kaon_status (*absolute)(kaon_operator *A, kaon_operator **absolute);
} kaon_absolute_values;
