/* sparse_ops.h - kernel table of sparse matrices: one per backend and precision of vectors (double
 * and single).
 *
 * Row i of a rank is lane i % W of block i / W of its vectors, W = the backend's width; a real
 * matrix has one component a row, a complex one two. Rows stand in the space's own order
 * (sparse/storage/matrix.h), whose rows without ghosts come first. */
#ifndef KAON_SPARSE_OPS_H
#define KAON_SPARSE_OPS_H

#include "lib/core/launch.h"
#include "lib/operator/shifts.h"

/* How a matrix is stored for products.
 *   CSR   start[row], entries of a row side by side
 *   SELL  SELL-C-sigma with C = W: blocks of W rows, padded to the longest; the j-th entries of a
 *         block's rows are side by side; sigma is the space's order. start[block] in units of W
 *         entries. Padding has value 0 and the column of the row's last entry (its own row, where
 *         it has none).
 *   ELL   SELL whose blocks are all `length` long; start is NULL */
enum { KAON_STORED_CSR, KAON_STORED_SELL, KAON_STORED_ELL };

/* How SELL and ELL store the column of lane l of entry number e, W entries side by side (a line) of
 * block b:
 *   WHOLE   column[e * W + l]; CSR always
 *   NARROW  ~line[e] + narrow[e * W + l]: 16 bits from the least column of the line
 *   SHARED  b * W + column[(pattern[b] + e - begin of b) * W + l]: columns relative to the block's
 *           first row, one list for all blocks in which they are the same (on grids few lists serve
 *           all blocks)
 * On a CPU line[e] also marks the runs: lines whose W columns are this rank's and follow one
 * another, but for padding in lanes that are not in lanes_in[e] (a bit each). They come first in a
 * block, so that a kernel reads neither `column` nor `narrow` there nor gathers; the entries of a
 * row are in no order. A run's line[] is the column of lane 0 (SHARED: by line of the list,
 * relative to the block's first row), that of another line is negative (SHARED: KAON_NO_RUN). line
 * NULL: not NARROW, runs unknown. A device has no runs. */
enum { KAON_COLUMNS_32BIT, KAON_COLUMNS_16BIT, KAON_COLUMNS_SHARED };
#define KAON_NO_RUN INT32_MIN

/* A unit of a product with long rows: a stretch of columns, all of this rank or all ghosts, and
 * slices whose entries lie in it. near: its x is worth a copy in shared memory. */
typedef struct kaon_long_unit {
  int32_t column, columns; /* the first, and how many */
  int32_t slice, slices;
  int32_t near;
} kaon_long_unit;

/* Rows that are long among short ones, for a device: cut into pieces where their columns go from
 * one stretch into the next, so that pieces meet the same few x whosever they are. 32 pieces of
 * about one length, the longest first, are a slice, padded to it, with the j-th entries side by
 * side. Each piece's sum has a place of its own, a row's side by side; then rows are added up. */
enum { KAON_LONG_SHARED_BYTES = 96 << 10 }; /* bytes of x of a stretch */
typedef struct kaon_long_entries {
  int64_t rows, entries, pieces, units;
  int stretch; /* columns at most */
  const kaon_long_unit *unit;
  const int64_t *start;   /* [slices + 1] in units of 32 entries */
  const uint16_t *column; /* from the unit's first on; padding: a piece's last, of value 0 */
  const void *value;      /* complex: (re, im) */
  const int32_t *place;   /* [slices * 32] of a piece's sum; -1: padding */
  void *sum;              /* [pieces * reals] while a product is made, in the table's precision */
  const int32_t *row;     /* [rows] which ones they are */
  const int64_t *first;   /* [rows + 1] of a row's sums */
  const float *scale;     /* half: [rows] */
} kaon_long_entries;

/* Rows [first, last) of blocks; a chunk of a sum never depends on how rows are shared out. */
typedef struct kaon_stored_matrix {
  int form;
  int reals; /* of a value: 1 or 2. SELL, ELL: packed as a vector's components are
                (kaon_packed_index with the entry number in the place of the block) */
  int half;  /* values are int16, value = integer * scale[row] / 32767 (tables of single) */
  int wide;  /* start holds int64_t, else int32_t */
  int64_t rows, blocks;
  int64_t interior; /* blocks from 0 whose rows meet no ghost; the others come behind */
  int64_t entries;  /* stored here, without padding */
  int length;       /* of the longest row of blocks: in ELL of all */
  int lanes;        /* CSR on a GPU: threads that share a row, 1 to 32, a power of two; 0: rows
                       shared out by entries (skewed matrices) */
  const void *start;
  int columns;           /* KAON_COLUMNS_... */
  const int32_t *column; /* below `rows`: of this rank; rows + n: ghost n */
  const uint16_t *columns16;
  const int32_t *line;
  const uint32_t *lanes_in; /* as `line` */
  const int32_t *pattern;   /* in units of W columns; W times the largest fits into 31 bits */
  const void *value;
  const float *scale;                     /* half: one a row, of whole blocks */
  const struct kaon_long_entries *long_part; /* SELL on a device: rows that are empty here; or NULL */
} kaon_stored_matrix;

/* y = A x on the rows of the part (KAON_ROWS_...), or y = b + a A x where b.data is set (b may be
 * y). Sums over what is stored: slot[0] <- sum |y|^2, slot[1] <- sum conj(w) y, slot[2] <-
 * sum |w|^2; those of BOUNDARY are over both parts, a pass is INTERIOR, then BOUNDARY, with nothing
 * else in between. x must not alias y. ghosts: [column][ghost][component], columns as in a vector:
 * ghost n is lane n % W of block n / W. */
enum { KAON_ROWS_ALL, KAON_ROWS_INTERIOR, KAON_ROWS_BOUNDARY };
typedef struct kaon_spmv_args {
  const kaon_stored_matrix *matrix;
  int nrhs;
  int part;
  double a;
  kaon_view x, ghosts, b, w, y;
  kaon_gate gate;
  kaon_sum sum;
} kaon_spmv_args;

/* Whether a GPU takes the sums of a product by so many columns behind it, by the kernel of vectors:
 * where rows are shared out by entries or long ones are added later, what the product's threads
 * have of y is not final; and by several columns registers for sums cost more than reading y and w
 * again. */
static inline int kaon_sums_separate(const kaon_stored_matrix *m, int nrhs) {
  return nrhs > 1 || m->long_part != NULL || (m->form == KAON_STORED_CSR && m->lanes == 0);
}

/* to[n] = x[row[n]], n < count, both laid out as vectors of nrhs columns with `reals` components:
 * what a message takes from x. */
typedef struct kaon_pick_args {
  int nrhs, reals;
  int64_t count;
  const int32_t *row;
  kaon_view x, to;
  kaon_gate gate;
} kaon_pick_args;

enum { KAON_PIPELINE_THREADS = 64 }; /* at most */
/* Levels are shared out among so many threads at least: fewer are not faster than one that goes by
 * numbers. */
enum { KAON_LEVEL_THREADS = 8 };

/* How threads of a processor go through rows in the order of numbers at one time
 * (sparse/sweeps/pipeline.h). Rows are counted in the order of the sweep: downwards row n is rows - 1 - n.
 */
typedef struct kaon_pipeline {
  int threads;
  int strips, pieces;
  int32_t *strip; /* [strip], [strips]: first piece, and how many there are */
  int32_t *piece; /* [piece], [pieces]: first row, and how many there are */
  int32_t *need;  /* [piece * threads + t]: rows that thread t has to have passed; 0 of its own */
  double gain;    /* times as fast as one thread, of which nobody waits for memory */
} kaon_pipeline;

/* One sweep of a triangular solve over the rows of one level (or colour) after another, for
 * factors, Gauss-Seidel and SSOR: for each level from first to last (or from last to first where
 * `backward`), for its rows i: y_i = (x_i - sum_{j in row i of T} t_ij y_j) * d_i; T is strictly
 * triangular in the order of levels, so y_j are done. level[n]: first row of level n in `row`. */
typedef struct kaon_levels_args {
  const kaon_stored_matrix *matrix; /* CSR */
  int nrhs, backward;
  int levels;
  const int64_t *level; /* host and device copies: a CPU reads device memory */
  const int64_t *level_host;
  const int32_t *row;
  int in_order; /* 1, -1: rows by their numbers, upwards or downwards, are as good an order; 0: not
                 */
  const kaon_pipeline *pipeline; /* CPU: how threads do that at one time; NULL: one does */
  const void *diagonal;          /* d, one value a row in the table's precision; NULL: 1 */
  kaon_view x, y;
  kaon_gate gate;
} kaon_levels_args;

struct kaon_peer_messages;

/* Rows by place: those of block n stand at places [n * block, (n + 1) * block), and are divided
 * into slices of `width` (1, or the lanes of a warp): slice (n * slices + i) has the rows i * width
 * on of block n. The j-th entries of a slice's rows are side by side,
 * (start[slice] + j) * width + lane; padding has value 0 and the row itself for its column. Without
 * the diagonal, which stands beside them, by place. */
typedef struct kaon_block_entries {
  const int64_t *start; /* [blocks * slices + 1] */
  const int32_t *column;
  const void *value;
} kaon_block_entries;

typedef struct kaon_row_blocks {
  int reals, width, block, slices;
  int64_t rows, blocks;
  const int32_t *row;         /* [place] row of the space */
  kaon_block_entries inside;  /* couplings within the block; column: place, from 0 in the block */
  kaon_block_entries outside; /* to other blocks of this rank; column: row of the space */
  const void *diagonal, *inverse; /* [place * reals + part] a_ii and 1 / a_ii */
  const int64_t *reads;           /* [blocks + 1] into `other` */
  const int32_t *other;           /* blocks that a block reads */
} kaon_row_blocks;

/* What blocks have to do with those of other ranks: which numbers they read as they arrive, and
 * where they put their own. Addresses are of column 0; column k stands k elements, or counters,
 * further on. A counter is a block's number of global iterations; KAON_BLOCK_FINISHED is set in it when
 * there will be no more, so that nobody waits. Values are stored before the counter that counts
 * them is raised, and the counter is read before them: what is read is at least as new as it says.
 * All NULL: none. */
enum { KAON_BLOCK_FINISHED = 1 << 30 };
typedef struct kaon_block_ghosts {
  const int64_t *start;  /* [slice + 1] entries, as in kaon_block_entries */
  const void *value;     /* [entry * reals + part] */
  const uint64_t *from;  /* [entry] address; 0: padding */
  const int64_t *reads;  /* [blocks + 1] into `there` */
  const uint64_t *there; /* addresses of the counters of the blocks that a block reads */
  const int64_t *sends;  /* [blocks + 1] into `place` and `to` */
  const int32_t *place;  /* of the row in its block */
  const uint64_t *to;    /* address */
  const int64_t *notifications;  /* [blocks + 1] into `tell` */
  const uint64_t *notify;  /* addresses of a block's own counter, one for each rank that reads it */
} kaon_block_ghosts;

/* kaon_row_sweep of BLOCKS (lib/operator/row_sweeps.h). x: in place, but from 0 where `cut`. column: the
 * only one to be worked on (rounds > 1); -1: all open ones. */
typedef struct kaon_relax_args {
  const kaon_row_blocks *rows;
  int nrhs, column;
  int inner, cut, rounds, lag, together;
  double omega; /* with damping */
  uint64_t shuffle;
  double goal, limit;
  const uint8_t *frozen; /* [row of the space]; NULL: none */
  int32_t *count;        /* [column][block] global iterations so far */
  double *seen;          /* [column][block] |b - A x|^2 of the block, in passing; rounds > 1 */
  int32_t *stop;         /* [column] 1: over; 0 before */
  uint64_t *ticket;      /* [column] CUDA, `together` > 0: blocks handed out, of all launches */
  int64_t *shifts;       /* [KAON_SHIFT_BINS], as blocks begin */
  int64_t *shifts_after; /* the same when they have read what others have */
  void *work;            /* CPU: [place * reals] twice, of one column */
  kaon_view b, x;
  kaon_gate gate;
  /* Of several ranks, without barriers. rounds = 0: no iteration, but x and count as they are to
   * those who read them. */
  const kaon_block_ghosts *ghosts; /* NULL: none, and the rest is not looked at */
  int rank_lag;      /* how far a block may be ahead of other ranks' that it reads; < 0: no bound */
  int64_t pause;     /* nanoseconds before each iteration (for tests) */
  uint64_t patience; /* nanoseconds that a block waits for one of another rank, then all is over */
  int64_t *rank_shifts;    /* [KAON_SHIFT_BINS] of reads of other ranks' blocks */
  int (*move)(void *user); /* CPU, rounds > 1: what one thread does again and again until all have
                              ended, for numbers to arrive; not 0: all is over. NULL: nothing */
  void *user;
} kaon_relax_args;
/* The order of a sweep of row projections. Launches follow one another; groups of a launch touch
 * nothing in common, so they are worked on at once; a group's steps follow one another, and rows of
 * a step touch nothing in common again.
 *   launch[l]  host: first group of launch l, launches + 1 of them
 *   group[g]   first step of group g; NULL: group g is step g, launch by launch
 *   step[s]    first row of step s in `row`; NULL: step s is row[s] alone
 *   part[g]    first number of y that group g touches, numbers below part[g + 1] being its own;
 * NULL: no group has numbers of its own launch_there and all but launch are in the matrix' memory.
 * Steps come with one launch alone. */
typedef struct kaon_sweep_order_view {
  int launches;
  const int64_t *launch, *launch_there;
  const int64_t *group, *step, *part;
  const int32_t *row;
  int64_t longest; /* rows of the longest group */
  int64_t largest; /* numbers of the largest part */
} kaon_sweep_order_view;

/* One sweep in place: for the rows i of the order, or of its reverse, c = weight_i b_i - a_i y and
 * y
 * += c a_i^H (lib/math/steps/projection.h). y is laid out like a vector but of any number of rows: the
 * matrix' columns. b.data NULL: 0. */
typedef struct kaon_project_args {
  const kaon_stored_matrix *matrix; /* CSR, values in the table's precision */
  const kaon_sweep_order_view *order;
  int nrhs, backward;
  const void *weight; /* one real a row in the table's precision */
  kaon_view b, y;
  kaon_gate gate;
} kaon_project_args;

typedef struct kaon_sparse_ops {
  void (*spmv)(const kaon_launch *launch, const kaon_spmv_args *args);
  /* The product on all rows, messages among it, in one launch: who picks (pick->to is not used)
   * stores into the neighbours' memory, and the boundary is worked on when theirs are there
   * (kaon_ranks_ops.exchange_in_kernel). pick NULL: this rank's are sent (exchange_start). Sums as of
   * one part. 0: not built for these arguments, nothing was done. NULL: not built at all. */
  int (*spmv_with_exchange)(const kaon_launch *launch, const kaon_spmv_args *args,
                     const kaon_pick_args *pick, const struct kaon_peer_messages *post);
  void (*pick)(const kaon_launch *launch, const kaon_pick_args *args);
  void (*levels)(const kaon_launch *launch, const kaon_levels_args *args);
  void (*relax)(const kaon_launch *launch, const kaon_relax_args *args);
  void (*project)(const kaon_launch *launch, const kaon_project_args *args);
} kaon_sparse_ops;

#endif
