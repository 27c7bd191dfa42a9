/* dslash_ops.h - kernel table of the Wilson-like operators: one per backend and precision. */
#pragma once

#include <stddef.h>

#include "blas/blas_ops.h"
#include "lib/operator/domain_view.h"
#include "lib/operator/free_view.h"
#include "lib/core/launch.h"

/* Where the clover blocks act in the fused hop. */
enum { KAON_CLOVER_NONE = 0, KAON_CLOVER_ON_HOP = 1, KAON_CLOVER_ON_X = 2 };

/* What a kernel writes: out; the messages of a gather; `in` of an updated clover multiplication.
 * The sums |out|^2 and (w, out) are KAON_SUMS_NORM and KAON_SUMS_DOT (lib/core/launch.h). */
enum { KAON_WRITES_OUT = 64, KAON_WRITES_MESSAGES = 128, KAON_WRITES_UPDATED = 256 };

/* out = (a [C] + i twist[0] gamma_5) x + (b [C] + i twist[1] gamma_5) D in, on the sites of
 * `parity`. D is the hop of docs/conventions.md (dagger: s = -1). C is the clover block array
 * passed here: the term or its inverse. It multiplies x (KAON_CLOVER_ON_X), the hop's result
 * (KAON_CLOVER_ON_HOP; twist[1] is then 0) or nothing.
 * - x.data == NULL means a = 0.
 * - in has the other parity and must not alias out; x and out may be the same vector.
 * - nrhs counts inner columns (kaon_space.inner) as columns. If there are any, nothing is summed.
 * - links[p] is the link array of parity p in `recon` reals. Hops in direction mu have the factor
 *   coefficient[mu].
 * - sum: slot[0] <- sum |out|^2, slot[1] <- sum conj(w) out, with w on out's parity. In half both
 *   are taken from out before it is rounded. */
typedef struct kaon_hop_args {
  const kaon_stencil *stencil;
  int parity;
  int dagger;
  int nrhs;
  int recon;    /* 18, 12 or 8 */
  int backward; /* CPU: from the last block to the first, with the same result */
  int clover_on;
  double a, b, twist[2];
  double coefficient[4]; /* of the hops; equal in x, y and z; none of them 0 */
  const void *links[2];
  const void *clover;        /* 72 reals a site: [block][72][W], see lib/math/clover.h */
  const float *clover_scale; /* half: [block][chirality 2][W] */
  int part; /* KAON_PART_... (lib/core/launch.h). A hop runs INTERIOR, then BOUNDARY, with nothing in
               between */
  kaon_view in, x, w, out;
  kaon_view ghosts[KAON_DIRS];    /* BOUNDARY: the values received for the hops in each direction */
  const kaon_peer_exchange *peer; /* BOUNDARY waits for it, as does INTERIOR when it is given one;
                                     NULL: the ghosts are there already */
  kaon_gate gate;
  kaon_sum sum;
  const int32_t *list; /* CPU, without sums and faces: only these `listed` blocks; NULL: all */
  int64_t listed;
} kaon_hop_args;

/* Packs what the neighbours' hops to the sites of `parity` read on this rank into messages
 * (kaon_faces). in has the other parity. A message for forward hops holds projected spinors only.
 * One for backward hops is also multiplied by U^dagger and the antiperiodic sign; on a CPU also by
 * the factor of t relative to that of x. to: by direction of the hop. */
typedef struct kaon_gather_args {
  const kaon_stencil *stencil;
  int parity;
  int dagger;
  int nrhs;
  int recon;
  double coefficient[4]; /* as in kaon_hop_args */
  const void *links[2];
  kaon_view in;
  kaon_view to[KAON_DIRS];
  const kaon_peer_exchange *peer; /* `to` is in the neighbours' memory, and they are notified; else
                                     NULL */
  kaon_gate gate;
} kaon_gather_args;

/* out = C in, site by site (C: the clover term or its inverse). in and out may be the same. If
 * clover_writes has UPDATED and w.data is not NULL: first in += sign * slot[column] w. */
typedef struct kaon_clover_args {
  const kaon_stencil *stencil;
  int parity, nrhs;
  const void *clover;
  const float *clover_scale;
  kaon_view in, out;
  kaon_gate gate;
  kaon_sum sum; /* slot[0] <- |out|^2 */
  kaon_view w;  /* may be out */
  const kaon_column_state *state;
  int slot;
  double sign;
} kaon_clover_args;

/* out = a x + [C] (p [A] + i q gamma_5) in, on one parity: the site term of twisted mass, or its
 * inverse. A and C are clover block arrays; NULL: 1.
 * - x.data == NULL means a = 0.
 * - out may be the same vector as in or x.
 * - sum: as in kaon_hop_args. */
typedef struct kaon_twist_args {
  const kaon_stencil *stencil;
  int parity, nrhs;
  double a, p, q;
  const void *term, *after; /* A and C, as kaon_hop_args.clover */
  const float *term_scale, *after_scale;
  kaon_view in, x, w, out;
  kaon_gate gate;
  kaon_sum sum;
} kaon_twist_args;

/* out = a x + b M in on one parity, with M = P+ M+ + P- M-: real matrices between the `inner` sites
 * of the fifth dimension (lib/math/clover.h), for `nrhs` columns of vectors that have one. Site s of
 * the fifth dimension of column k is column s * nrhs + k of a hop.
 * - matrix: element (s, t) of chirality c (0: +, 1: -) is number kaon_inner_index(inner, c, s, t) of
 *   doubles in double, else of pairs of floats: the rounded value and the remainder.
 * - x.data == NULL means a = 0.
 * - out may be the same vector as in or x.
 * - sum: as in kaon_hop_args, over the fifth dimension too. */
typedef struct kaon_inner_args {
  const kaon_stencil *stencil;
  int parity, nrhs, inner;
  const void *matrix;
  double a, b;
  kaon_view in, x, w, out;
  kaon_gate gate;
  kaon_sum sum;
} kaon_inner_args;

/* Rows s are padded, so that a GPU's thread reads the elements of several rows at once. */
enum { KAON_INNER_ROWS = 4 };
static inline KAON_HD int kaon_inner_index(int inner, int chirality, int s, int t) {
  const int rows = (inner + KAON_INNER_ROWS - 1) / KAON_INNER_ROWS * KAON_INNER_ROWS;
  return (chirality * inner + t) * rows + s;
}

/* One list for each part: that of part i is list[first[i]] to list[first[i + 1]]. */
typedef struct kaon_part_lists {
  int64_t *first;
  int32_t *list;
} kaon_part_lists;

/* Tables for asynchronous blocks (lib/operator/free_blocks.h). A block here is a block of vector
 * lanes. Its index is the vectors', except in the lists of hops, where it counts within one parity.
 * All memory is host memory. */
typedef struct kaon_free_tables {
  int parts;
  kaon_part_lists own, domains;       /* blocks that the part writes; its domains */
  kaon_part_lists others;             /* parts that it reads, itself included */
  kaon_part_lists copied;             /* by index in others.list: which of their blocks */
  kaon_part_lists whole[2], local[2]; /* blocks that a hop computes for the part */
} kaon_free_tables;

/* whole: z -> r, through `between` where that is given. local: r -> q. copies and betweens hold one
 * vector like z, and one like `between`, for each thread. */
typedef struct kaon_free_args {
  const kaon_free_tables *tables;
  kaon_hop_args whole[2], local[2];
  kaon_shape shape;
  kaon_domain_view domains;
  const struct kaon_domain_ops *domain;
  const struct kaon_blas_ops *blas;
  kaon_view b, z, r, q, between;
  const kaon_view *copies, *betweens;
  double *work;
  int32_t *count;   /* [part]: cycles completed; 0 on entry */
  int32_t *version; /* [part]: odd while the part writes; any even value on entry */
  kaon_free_how how;
  kaon_free_lags *lags; /* the statistics are added to these */
  kaon_gate gate;
} kaon_free_args;

typedef struct kaon_dslash_ops {
  void (*hop)(const kaon_launch *launch, const kaon_hop_args *args);
  void (*clover)(const kaon_launch *launch, const kaon_clover_args *args);
  void (*gather)(const kaon_launch *launch, const kaon_gather_args *args);
  /* gather and both parts of the hop in one launch, with messages by args->peer; NULL: not built */
  void (*hop_fused)(const kaon_launch *launch, const kaon_gather_args *gather,
                    const kaon_hop_args *args);
  /* What the kernel for this hop, or for clover blocks alone, should write: bits KAON_WRITES_...
   * and KAON_SUMS_.... Separate kernels compute other sums and updates, also where they are faster.
   * NULL: all sums, no UPDATED. */
  int (*hop_writes)(const kaon_stencil *stencil, int columns);
  int (*clover_writes)(const kaon_stencil *stencil, int columns);
  /* NULL: this backend has no asynchronous blocks */
  void (*free_blocks)(const kaon_launch *launch, const kaon_free_args *args);
  void (*twist)(const kaon_launch *launch, const kaon_twist_args *args);
  void (*inner)(const kaon_launch *launch, const kaon_inner_args *args);
} kaon_dslash_ops;
