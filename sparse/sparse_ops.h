/* sparse_ops.h - kernel table of sparse matrices: one per backend and precision of vectors (double
 * and single).
 *
 * Row i of a rank is lane i % W of block i / W of its vectors, W = the backend's width. A real
 * matrix has one component a row, a complex one two. Rows are in the space's order
 * (sparse/storage/matrix.h): rows without ghosts come first. */
#pragma once

#include "lib/core/launch.h"
#include "lib/operator/shifts.h"

/* How a matrix is stored for products.
 *   CSR   start[row], entries of a row side by side
 *   SELL  SELL-C-sigma with C = W: blocks of W rows, padded to the longest; the j-th entries of a
 *         block's rows are side by side; sigma is the space's order. start[block] in units of W
 *         entries. Padding has value 0 and the column of the row's last entry (its own row, if it
 *         has none).
 *   ELL   SELL whose blocks are all `length` long; start is NULL */
enum { KAON_STORED_CSR, KAON_STORED_SELL, KAON_STORED_ELL };

/* How SELL and ELL store columns. Entry number e of block b has W columns side by side (a line);
 * lane l has column
 *   32BIT   column[e * W + l]; CSR always
 *   16BIT   ~line[e] + columns16[e * W + l]: 16 bits from the least column of the line
 *   SHARED  b * W + column[(pattern[b] + e - begin of b) * W + l]: columns relative to the block's
 *           first row; blocks with the same relative columns share one list
 *
 * A CPU also marks runs in line[e]. A run is a line whose W columns belong to this rank and are
 * consecutive, except for padding in lanes whose bit is not set in lanes_in[e]. Runs come first in
 * a block: there a kernel reads no column indices and needs no gather. The entries of a row are
 * then in no particular order. line[] of a run is the column of lane 0 (SHARED: one line[] for each
 * line of the list, relative to the block's first row). line[] of another line is negative (SHARED:
 * KAON_NO_RUN). line NULL: not 16BIT, runs unknown. A device has no runs. */
enum { KAON_COLUMNS_32BIT, KAON_COLUMNS_16BIT, KAON_COLUMNS_SHARED };
#define KAON_NO_RUN INT32_MIN

/* A work unit of a product with long rows: a range of columns, all of this rank or all ghosts, and
 * the slices whose entries lie in it. near: copying its x to shared memory pays off. */
typedef struct kaon_long_unit {
  int32_t column, columns; /* first column, number of columns */
  int32_t slice, slices;
  int32_t near;
} kaon_long_unit;

/* Long rows among short ones, stored separately for a device. A row is divided into chunks where
 * its columns pass from one range into the next, so chunks of different rows share the same few x.
 * A slice is 32 chunks of similar length, the longest first. It is padded to the longest, and the
 * j-th entries are side by side. Each chunk's sum has its own position, those of a row side by
 * side. Finally the sums of each row are added. */
enum { KAON_LONG_SHARED_BYTES = 96 << 10 }; /* bytes of x in a range */
typedef struct kaon_long_entries {
  int64_t rows, entries, chunks, units;
  int range_columns; /* most columns of a range */
  const kaon_long_unit *unit;
  const int64_t *start;   /* [slices + 1] in units of 32 entries */
  const uint16_t *column; /* relative to the unit's first; padding: a chunk's last, with value 0 */
  const void *value;      /* complex: (re, im) */
  const int32_t *place;   /* [slices * 32] position of a chunk's sum; -1: padding */
  void *sum;              /* [chunks * reals] workspace of a product, in the table's precision */
  const int32_t *row;     /* [rows] index of the row */
  const int64_t *first;   /* [rows + 1] first of a row's sums */
  const float *scale;     /* half: [rows] */
} kaon_long_entries;

/* A matrix as kernels read it. The chunks of a sum never depend on the distribution of rows. */
typedef struct kaon_stored_matrix {
  int form;
  int reals; /* reals of a value: 1 or 2. SELL, ELL: packed as a vector's components
                (kaon_packed_index with the entry number as the block) */
  int half;  /* values are int16, value = integer * scale[row] / 32767 (tables of single) */
  int wide;  /* start holds int64_t, else int32_t */
  int64_t rows, blocks;
  int64_t interior; /* number of leading blocks whose rows have no ghosts; the others follow */
  int64_t entries;  /* entries stored here, without padding */
  int length;       /* of the longest row of the blocks; ELL: of all rows */
  int lanes;        /* CSR on a GPU: threads that share a row, 1 to 32, a power of two; 0: rows
                       divided by entries (skewed matrices) */
  const void *start;
  int columns;           /* KAON_COLUMNS_... */
  const int32_t *column; /* below `rows`: of this rank; rows + n: ghost n */
  const uint16_t *columns16;
  const int32_t *line;
  const uint32_t *lanes_in; /* bit masks of the lanes, as for `line` */
  const int32_t *pattern;   /* in units of W columns; W times the largest fits into 31 bits */
  const void *value;
  const float *scale;                        /* half: one for each row, for whole blocks */
  const struct kaon_long_entries *long_part; /* SELL on a device: rows that are empty here; or
                                                NULL */
} kaon_stored_matrix;

/* y = A x on the rows of the part (KAON_ROWS_...), or y = b + a A x if b.data is set (b may be y).
 * x must not alias y. Sums of the stored values: slot[0] <- sum |y|^2, slot[1] <- sum conj(w) y,
 * slot[2] <- sum |w|^2. A pass in two parts is INTERIOR, then BOUNDARY, with nothing else in
 * between; the sums of BOUNDARY then cover both parts. ghosts: [column][ghost][component], columns
 * as in a vector: ghost n is lane n % W of block n / W. */
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

/* to[n] = x[row[n]], n < count: the values of x that a message needs. Both are laid out as vectors
 * of nrhs columns with `reals` components. */
typedef struct kaon_pick_args {
  int nrhs, reals;
  int64_t count;
  const int32_t *row;
  kaon_view x, to;
  kaon_gate gate;
} kaon_pick_args;

enum { KAON_PIPELINE_THREADS = 64 }; /* at most */
/* Least number of threads that share a level's rows. With fewer, one thread that goes by row index
 * is as fast. */
enum { KAON_LEVEL_THREADS = 8 };

/* How CPU threads process rows in index order concurrently (sparse/sweeps/pipeline.h). Rows are
 * counted in the order of the sweep: downwards row n is rows - 1 - n. */
typedef struct kaon_pipeline {
  int threads;
  int strips, chunks;
  int32_t *strip; /* first chunk of each strip; [strips]: number of chunks */
  int32_t *chunk; /* first row of each chunk; [chunks]: number of rows */
  int32_t *need;  /* [chunk * threads + t]: rows that thread t must have passed before; 0 for the
                     own thread */
  double gain;    /* predicted speed-up over one thread, if no thread waits for memory */
} kaon_pipeline;

/* One sweep of a triangular solve, level (or colour) by level, for factors, Gauss-Seidel and SSOR.
 * For each level from first to last (from last to first if `backward`) and its rows i:
 *   y_i = (x_i - sum_{j in row i of T} t_ij y_j) * d_i
 * T is strictly triangular in the order of levels, so the y_j are known. level[n]: position in
 * `row` of the first row of level n. */
typedef struct kaon_levels_args {
  const kaon_stored_matrix *matrix; /* CSR */
  int nrhs, backward;
  int levels;
  const int64_t *level; /* host and device copies; a CPU kernel reads the device copy */
  const int64_t *level_host;
  const int32_t *row;
  int in_order; /* 1, -1: rows by index, upwards or downwards, are an equally valid order; 0:
                   they are not */
  const kaon_pipeline *pipeline; /* CPU: how threads do that concurrently; NULL: one thread does */
  const void *diagonal;          /* d, one value a row in the table's precision; NULL: 1 */
  kaon_view x, y;
  kaon_gate gate;
} kaon_levels_args;

struct kaon_peer_messages;

/* Rows arranged in blocks. Block n has the positions [n * block, (n + 1) * block). It is divided
 * into slices of `width` rows (1, or the lanes of a warp): slice n * slices + i has the rows of
 * block n from i * width on. The j-th entries of a slice's rows are side by side, at (start[slice]
 * + j) * width + lane. Padding has value 0 and the row itself as its column. The diagonal is stored
 * separately, by position. */
typedef struct kaon_block_entries {
  const int64_t *start; /* [blocks * slices + 1] */
  const int32_t *column;
  const void *value;
} kaon_block_entries;

typedef struct kaon_row_blocks {
  int reals, width, block, slices;
  int64_t rows, blocks;
  const int32_t *row;         /* [position] row of the space */
  kaon_block_entries inside;  /* couplings within the block; column: position from 0 in the block */
  kaon_block_entries outside; /* couplings to other blocks of this rank; column: row of the space */
  const void *diagonal, *inverse; /* [position * reals + part] a_ii and 1 / a_ii */
  const int64_t *reads;           /* [blocks + 1] into `other` */
  const int32_t *other;           /* the blocks that a block reads */
} kaon_row_blocks;

/* How blocks exchange values with those of other ranks: which values they read as they arrive, and
 * where they store their own. All NULL: no exchange.
 * Addresses are of column 0; column k is k elements, or counters, further on. A counter is a
 * block's number of global iterations. KAON_BLOCK_FINISHED is set in it when the block ends, so
 * that no rank waits for it. Values are stored before the counter that counts them is raised, and
 * the counter is read before them. So the values read are at least as new as the counter says. */
enum { KAON_BLOCK_FINISHED = 1 << 30 };
typedef struct kaon_block_ghosts {
  const int64_t *start;         /* [slice + 1] entries, as in kaon_block_entries */
  const void *value;            /* [entry * reals + part] */
  const uint64_t *from;         /* [entry] address; 0: padding */
  const int64_t *reads;         /* [blocks + 1] into `there` */
  const uint64_t *there;        /* addresses of the counters of the blocks that a block reads */
  const int64_t *sends;         /* [blocks + 1] into `place` and `to` */
  const int32_t *place;         /* position of the row in its block */
  const uint64_t *to;           /* address that the value is stored to */
  const int64_t *notifications; /* [blocks + 1] into `notify` */
  const uint64_t *notify;       /* addresses of copies of a block's own counter, one for each rank
                              that reads it */
} kaon_block_ghosts;

/* Arguments of kaon_row_sweep for BLOCKS (lib/operator/row_sweeps.h). x is updated in place, but
 * from 0 if `cut`. column: the only column to update (rounds > 1); -1: all open ones. */
typedef struct kaon_relax_args {
  const kaon_row_blocks *rows;
  int nrhs, column;
  int inner, cut, rounds, lag, together;
  double omega; /* includes damping */
  uint64_t shuffle;
  double goal, limit;
  const uint8_t *frozen; /* [row of the space]; NULL: none */
  int32_t *count;        /* [column][block] global iterations so far */
  double *seen;          /* [column][block] |b - A x|^2 of the block as computed during the
                            sweep; rounds > 1 */
  int32_t *stop;         /* [column] 0 before, 1: ended */
  uint64_t *ticket;      /* [column] CUDA, `together` > 0: counter of blocks handed out, over all
                            launches */
  int64_t *shifts;       /* [KAON_SHIFT_BINS], when blocks begin */
  int64_t *shifts_after; /* the same after they have read the other blocks */
  void *work;            /* CPU: [position * reals] twice, for one column */
  kaon_view b, x;
  kaon_gate gate;
  /* Several ranks, without barriers. rounds = 0: no iteration, but x and the counters are stored
   * for the ranks that read them. */
  const kaon_block_ghosts *ghosts; /* NULL: none, and the fields below are ignored */
  int rank_lag;         /* most iterations that a block may be ahead of the other ranks' blocks that
                        it reads; < 0: no bound */
  int64_t pause;        /* nanoseconds to sleep before each iteration (for tests) */
  uint64_t patience;    /* timeout in nanoseconds of waiting for another rank's block; then all
                        blocks end */
  int64_t *rank_shifts; /* [KAON_SHIFT_BINS] for reads of other ranks' blocks */
  /* CPU, rounds > 1: called by one thread repeatedly until all have ended, so that values arrive. A
   * result other than 0 ends all blocks. NULL: not called */
  int (*move)(void *user);
  void *user;
} kaon_relax_args;
/* The order of a sweep of row projections. Launches run one after another. Groups of a launch touch
 * no common values, so they run concurrently. A group's steps run one after another. Rows of a step
 * touch no common values.
 *   launch[l]  host: first group of launch l, launches + 1 entries
 *   group[g]   first step of group g; NULL: group g is step g, launch by launch
 *   step[s]    first row of step s in `row`; NULL: step s is only row[s]
 *   part[g]    first value of y that group g touches; values below part[g + 1] are private to it.
 *              NULL: no group has private values
 * All arrays but `launch` are in the matrix' memory; launch_there is its copy there. Steps need a
 * single launch. */
typedef struct kaon_sweep_order_view {
  int launches;
  const int64_t *launch, *launch_there;
  const int64_t *group, *step, *part;
  const int32_t *row;
  int64_t longest; /* rows of the longest group */
  int64_t largest; /* values in the largest part */
} kaon_sweep_order_view;

/* One sweep in place. For the rows i of the order, or of its reverse: c = weight_i b_i - a_i y and
 * y += c a_i^H (lib/math/steps/projection.h). y is laid out like a vector, with as many rows as the
 * matrix has columns. b.data NULL: 0. */
typedef struct kaon_project_args {
  const kaon_stored_matrix *matrix; /* CSR, values in the table's precision */
  const kaon_sweep_order_view *order;
  int nrhs, backward;
  const void *weight; /* one real a row in the table's precision */
  kaon_view b, y;
  kaon_gate gate;
} kaon_project_args;

typedef struct kaon_sparse_ops {
  /* What a product with `nrhs` columns offers for its sums (KAON_SUMS_, lib/core/launch.h). */
  int (*sums)(const kaon_stored_matrix *matrix, int nrhs);
  void (*spmv)(const kaon_launch *launch, const kaon_spmv_args *args);
  /* The product on all rows including its messages, in one launch. The kernel stores the picked
   * values into the neighbours' memory (pick->to is not used). It computes the boundary when the
   * neighbours' values have arrived (kaon_ranks_ops.exchange_in_kernel). pick NULL: this rank's
   * values are already sent (exchange_start). Sums as for a single part. Returns 0 if not built for
   * these arguments; then nothing was done. NULL: not built at all. */
  int (*spmv_with_exchange)(const kaon_launch *launch, const kaon_spmv_args *args,
                            const kaon_pick_args *pick, const struct kaon_peer_messages *post);
  void (*pick)(const kaon_launch *launch, const kaon_pick_args *args);
  void (*levels)(const kaon_launch *launch, const kaon_levels_args *args);
  void (*relax)(const kaon_launch *launch, const kaon_relax_args *args);
  void (*project)(const kaon_launch *launch, const kaon_project_args *args);
} kaon_sparse_ops;
