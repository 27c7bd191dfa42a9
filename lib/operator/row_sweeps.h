/* row_sweeps.h - an operator by its rows, for methods that take these one after another or by
 * blocks (`rows` of kaon_operator_ops): what they need of it beyond products and its diagonal.
 *
 * A kaon_row_sweeps belongs to one operator, one precision and one kind of sweep. Its rows are this
 * rank's alone: couplings to other ranks are left out, so who works on several ranks hands over a
 * residual for b and a correction from 0 for x, which is the same in exact arithmetic. Nothing of
 * it sends a message but what the head of a kind says, and BLOCKS with an exchange: reserve, and a
 * sweep with `exchange` set, in which couplings to other ranks are in. */
#ifndef KAON_LIB_ROW_SWEEPS_H
#define KAON_LIB_ROW_SWEEPS_H

#include <kaon/operator.h>
#include <kaon/lab.h>
#include <kaon/relax.h>

#include "lib/operator/shifts.h"

struct kaon_pass;
typedef struct kaon_row_sweeps kaon_row_sweeps;

/*   TRIANGLE  x = (D / omega + L)^-1 b, L the entries before the diagonal in the order of the rows:
 *             what a sweep of Gauss-Seidel or SOR adds to the iterate if b is its residual
 *   BLOCKS    Jacobi sweeps within blocks of `block` rows, from x, with what x has outside the
 *             block: x_i += omega ((b_i - sum_j a_ij x_j) / a_ii); two-stage and asynchronous
 *   PROJECT   x += omega (b_i - a_i x) / |a_i|^2 a_i^H, a row after another (Kaczmarz) */
typedef enum kaon_row_kind { KAON_ROW_TRIANGLE, KAON_ROW_BLOCKS, KAON_ROW_PROJECT } kaon_row_kind;

typedef struct kaon_row_how {
  kaon_row_kind kind;
  int by_colour; /* TRIANGLE, PROJECT: rows in the order of a greedy colouring's colours, a colour's
                    at once; 0: in the caller's order (or in that of the ordering asked for) */
  int64_t block; /* BLOCKS: rows of a block, in that order; 1 to KAON_ROW_BLOCK */
  double omega;
  int both;                     /* TRIANGLE: backward sweeps too */
  kaon_relax_exchange exchange; /* BLOCKS, several ranks: how others' rows come while a sweep is
                                   under way; AUTO: the best that there is; SYNC: not */
} kaon_row_how;

/* One call of `sweep`. TRIANGLE, PROJECT: `backward` alone. BLOCKS: the others.
 *   A block reads b, x outside and x inside, takes `inner` sweeps and writes x inside: a global
 * iteration of it. Blocks are worked on at once, each reads what the others have written so far, by
 * relaxed atomic accesses. cut = 1: x is 0 at first and couplings between blocks are left out, so
 * no block reads another's (two-stage, with a residual for b).
 *   rounds = 1: one global iteration of each block. rounds > 1: blocks go on by themselves, with no
 * barrier, until each has done so many or one saw that sum |b - A x|^2, as the blocks see it in
 * passing, is at most `goal` or above `limit`; none begins an iteration more than `lag` ahead of
 * a block that it reads. Of several columns each runs by itself. */
typedef struct kaon_row_sweep {
  int backward;
  int inner, cut;
  double damping; /* tau: x += tau omega ..., 1: none */
  int rounds, lag;
  int together;     /* on a CPU: blocks that read before the first of them writes (on a thread); 0:
                       one. As many as there are: Jacobi between blocks. CUDA, rounds = 1, no
                       exchange: blocks at work at once; 0: all */
  uint64_t shuffle; /* seed of the order in which blocks begin; 0: as they stand */
  const double *goal, *limit; /* [column], rounds > 1 */
  /* Several ranks, all of which make the call (collective, agreed on): `rounds` iterations of each
   * block, with other ranks' rows as they arrive; x is the iterate itself, b its source. free = 0:
   * each block once, then each once more, and so on; 1: blocks go on by themselves, where numbers
   * arrive without the host's doing. rank_lag: how far a block may be ahead of other ranks' that
   * it reads; < 0: no bound. open[column]: the gate lets it through (NULL: all). */
  int exchange, free, rank_lag;
  const int *open;
} kaon_row_sweep;

/* What BLOCKS did since kaon_row_sweeps_ops.reset. A shift is the reader's number of global
 * iterations less that of the block it reads, as it begins: 0 as in a synchronous method, < 0
 * fresher, > 0 older; one count for each iteration of a block and each block that it reads. */
typedef struct kaon_row_record {
  int64_t updates;                       /* global iterations of blocks, all columns */
  int64_t shifts[KAON_SHIFT_BINS];       /* [shift + KAON_SHIFTS], as the block begins */
  int64_t shifts_after[KAON_SHIFT_BINS]; /* when it has read what others have */
  int64_t rank_shifts[KAON_SHIFT_BINS];  /* of reads of other ranks' blocks, which are not above */
  int least, most;                       /* iterations of the slowest and the fastest block */
} kaon_row_record;

typedef struct kaon_row_info {
  int64_t blocks;               /* BLOCKS */
  int colours, levels;          /* by_colour; turns that a sweep takes */
  kaon_relax_exchange exchange; /* that sweeps can have; SYNC: none */
  const char *exchange_note;    /* why it is not the one that was asked for; "" */
} kaon_row_info;

typedef struct kaon_row_sweeps_ops {
  const char *name;
  /* b: unchanged, of A's space and of the sweeps' precision, as x, which is no alias but in
   * TRIANGLE. Gated by pass, whose sums are not taken. */
  kaon_status (*sweep)(kaon_row_sweeps *S, const kaon_row_sweep *how, const kaon_vector *b,
                       kaon_vector *x, const struct kaon_pass *pass);
  /* Takes what sweeps of up to `columns` columns need, so that none inside a solve allocates. */
  kaon_status (*reserve)(kaon_row_sweeps *S, int columns);
  /* BLOCKS: counts from 0 again; what has been counted (waits for the device); rows that are no
   * longer updated: frozen[row], 1 byte a row of the space, NULL: none. NULL: other kinds. */
  kaon_status (*reset)(kaon_row_sweeps *S);
  kaon_status (*record)(kaon_row_sweeps *S, kaon_row_record *record);
  /* BLOCKS: done[column] global iterations, on average and rounded up, in the last sweep of rounds
   * > 1; waits for the device. */
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

/* Lets go of it and sets *sweeps to NULL; NULL allowed. */
void kaon_row_sweeps_destroy(kaon_row_sweeps **sweeps);

#endif
