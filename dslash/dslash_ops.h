/* dslash_ops.h - kernel table of the Wilson-like operators: one per backend and precision. */
#ifndef KAON_DSLASH_OPS_H
#define KAON_DSLASH_OPS_H

#include "blas/blas_ops.h"
#include "lib/operator/domain_view.h"
#include "lib/operator/free_view.h"
#include "lib/core/launch.h"

/* Where the clover blocks act in the fused hop. */
enum { KAON_CLOVER_NONE = 0, KAON_CLOVER_ON_HOP = 1, KAON_CLOVER_ON_X = 2 };

/* Of a partitioned lattice (stencil->faces): the blocks that meet no ghost, or those that do. The
 * sums of BOUNDARY are over both; a pass is INTERIOR, then BOUNDARY, with nothing else in between.
 * FUSED: gather, INTERIOR and BOUNDARY in one launch (hop_fused). */
enum { KAON_PART_ALL, KAON_PART_INTERIOR, KAON_PART_BOUNDARY, KAON_PART_FUSED };

/* out = a [C] x + b [C] D in, on the sites of `parity`; D is the hop of docs/conventions.md
 * (dagger: s = -1). C on x (KAON_CLOVER_ON_X) or on the hop's result (KAON_CLOVER_ON_HOP) or
 * nowhere; C = the blocks handed in (the clover term or its inverse). x.data == NULL: a is taken as
 * 0. in is of the other parity; x and out may be the same vector; in must not alias out. links[p]:
 * the link array of parity p in `recon` reals; direction mu's hops carry coefficient[mu]. sum:
 * slot[0] <- sum |out|^2, slot[1] <- sum conj(w) out (w: a vector of out's parity); half: of out
 * as it is before it is rounded. */
typedef struct kaon_hop_args {
  const kaon_stencil *stencil;
  int parity;
  int dagger;
  int nrhs;
  int recon;    /* 18, 12 or 8 */
  int backward; /* CPU: from the last block to the first; the same result */
  int clover_on;
  double a, b;
  double coefficient[4]; /* of the hops in x, y, z, which are equal and not 0, and t */
  const void *links[2];
  const void *clover;        /* 72 reals a site: [block][72][W], see lib/math/clover.h */
  const float *clover_scale; /* half: [block][chirality 2][W] */
  int part;
  kaon_view in, x, w, out;
  kaon_view ghosts[KAON_DIRS];    /* BOUNDARY: what came for hops in each direction */
  const kaon_peer_exchange *peer; /* BOUNDARY waits for it, and INTERIOR where it has one; NULL: it
                                     is there already */
  kaon_gate gate;
  kaon_sum sum;
  const int32_t *list; /* CPU, no sums, no faces: these blocks alone, `listed`; NULL: all */
  int64_t listed;
} kaon_hop_args;

/* What the neighbours' hops to the sites of `parity` meet here, into messages (kaon_faces): of
 * `in`, which is of the other parity, with every factor of the hop for the backward ones, projected
 * alone for the forward ones. to: by direction of the hop. */
typedef struct kaon_gather_args {
  const kaon_stencil *stencil;
  int parity;
  int dagger;
  int nrhs;
  int recon;
  double coefficient[4]; /* as kaon_hop_args has them */
  const void *links[2];
  kaon_view in;
  kaon_view to[KAON_DIRS];
  const kaon_peer_exchange *peer; /* `to` is the neighbours' memory and they are told; else NULL */
  kaon_gate gate;
} kaon_gather_args;

/* out = C in, site by site (C: clover term or inverse). in and out may be the same. */
typedef struct kaon_clover_args {
  const kaon_stencil *stencil;
  int parity, nrhs;
  const void *clover;
  const float *clover_scale;
  kaon_view in, out;
  kaon_gate gate;
  kaon_sum sum; /* slot[0] <- |out|^2 */
  kaon_view w;  /* updated_clover: in += sign * slot[column] w first; w and out may be the same */
  const kaon_column_state *state;
  int slot;
  double sign;
} kaon_clover_args;

/* Lists of parts: that of part i is list[first[i]] to list[first[i + 1]]. */
typedef struct kaon_part_lists {
  int64_t *first;
  int32_t *list;
} kaon_part_lists;

/* Blocks that go on by themselves (lib/operator/free_blocks.h). Blocks of lanes are numbered as the vectors
 * have them, in lists of hops as their parity has them. All memory is the host's. */
typedef struct kaon_free_tables {
  int parts;
  kaon_part_lists own, domains;       /* blocks that it writes; its domains */
  kaon_part_lists others;             /* parts that it reads, itself among them */
  kaon_part_lists copied;             /* by place in others.list: which blocks of these */
  kaon_part_lists whole[2], local[2]; /* that a hop works out for it */
} kaon_free_tables;

/* whole: z -> r, by way of `between` where that is given; local: r -> q. copies, betweens: a vector
 * like z and one like `between` for each thread. */
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
  int32_t *count;   /* [part]: cycles that it has ended; 0 before */
  int32_t *version; /* [part]: odd while it writes; any even number before */
  kaon_free_how how;
  kaon_free_lags *lags; /* added to */
  kaon_gate gate;
} kaon_free_args;

typedef struct kaon_dslash_ops {
  /* From so many sites on, a hop of one column takes longer with (w, out) than both apart do; 0:
   * never. */
  int64_t separate_dot_sites;
  /* sum: of hops that are cut (stencil->cut) not where neighbours are computed: NULL there */
  void (*hop)(const kaon_launch *launch, const kaon_hop_args *args);
  void (*clover)(const kaon_launch *launch, const kaon_clover_args *args);
  void (*gather)(const kaon_launch *launch, const kaon_gather_args *args);
  /* gather and both parts of hop at once, the messages by args->peer; NULL: not built */
  void (*hop_fused)(const kaon_launch *launch, const kaon_gather_args *gather,
                    const kaon_hop_args *args);
  /* 0, and nothing done: not for this call. NULL: for none. */
  int (*updated_clover)(const kaon_launch *launch, const kaon_clover_args *args);
  /* NULL: blocks do not go on by themselves here */
  void (*free_blocks)(const kaon_launch *launch, const kaon_free_args *args);
} kaon_dslash_ops;

#endif
