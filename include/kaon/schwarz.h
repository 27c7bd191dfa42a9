/* schwarz.h - operators cut into blocks, and Schwarz preconditioners made of them. */
#ifndef KAON_SCHWARZ_H
#define KAON_SCHWARZ_H

#include <kaon/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is left of A where its couplings between blocks, and between ranks, are left out: Dirichlet
 * boundaries round every block. An even-odd reduction becomes the reduction of the cut operator,
 * with the same clover blocks.
 *   block        extents of the blocks in x, y, z, t: even, and divisors of the rank's part (all
 *                that the rank has where they are equal to that, which cuts the hops around a
 *                lattice that is not divided too); 0: hops of that direction are left out between
 *                ranks alone
 *   precision, reconstruct    of the result's vectors, and its links; links and clover blocks are
 *                shared with A and what was made of it wherever these have them
 * *local is NULL on failure; its applications send nothing. It follows kaon_dirac_update.
 * Collective. Errors: ARGUMENT (such a block), UNSUPPORTED (A cannot be cut: a solver, a cut
 * operator), STALE, MEMORY, NOT_BUILT; UNITARITY, NOT_FINITE, SINGULAR. */
kaon_status kaon_operator_local_part(kaon_operator *A, const int block[4], kaon_precision precision,
                                     kaon_reconstruct reconstruct, kaon_operator **local);

typedef enum kaon_schwarz_kind {
  KAON_SCHWARZ_ADDITIVE, /* all blocks at once, from the same residual */
  /* Blocks in red-black order, the residual renewed in between (SAP). In each direction the whole
   * lattice has 1 block or an even number of them: else the last one and the first, neighbours
   * across the boundary, would have one colour. */
  KAON_SCHWARZ_MULTIPLICATIVE,
  /* As additive, but nobody waits for anybody. On one rank of the CPU blocks go on by themselves:
   * threads take them by tickets, each with the residual of what the others have written by then,
   * none more than `lag` cycles ahead of a neighbour. Where `groups` says so, on devices, and on
   * several ranks, blocks take turns in an order drawn anew for each cycle, each with the residual
   * of what the others last wrote, and of other ranks with what has come of their faces by then,
   * however old. Results differ from run to run on ranks, and where blocks go on by themselves on
   * more than one thread. */
  KAON_SCHWARZ_ASYNCHRONOUS
} kaon_schwarz_kind;

typedef struct kaon_schwarz_options {
  size_t size;
  int version;
  kaon_schwarz_kind kind;
  int block[4];      /* as above; on a text line block_x, block_y, block_z, block_t */
  int steps;         /* of minimal residuals in a block; 0: 10 (additive), 4 (the others) */
  int cycles;        /* over all blocks; 0: 1 (additive), 5 (the others) */
  double relaxation; /* factor w of their step lengths, up to 1.99: a step takes w (2 - w) of what
                        one with w = 1 takes off |r|^2, at 2 nothing */
  kaon_precision precision; /* of all vectors in it */
  kaon_reconstruct reconstruct;
  int groups;    /* asynchronous: turns that a rank's blocks take in a cycle; 1: all at once (always
                    where a rank is one block); 0: none, by themselves where they can, else 2 */
  uint64_t seed; /* and of their order */
  int lag;       /* by themselves: cycles that a block may be ahead of those that it reads */
} kaon_schwarz_options;
#define KAON_SCHWARZ_OPTIONS_INIT                                                               \
  {                                                                                             \
    sizeof(kaon_schwarz_options), 1, KAON_SCHWARZ_ADDITIVE, {0, 0, 0, 0}, 0, 0, 1.0, KAON_HALF, \
        KAON_RECONSTRUCT_18, 0, 1, 2                                                            \
  }

/* K ~ A^-1 on vectors of A's space in the options' precision: each block solves its cut operator
 * approximately, by a fixed number of minimal-residual steps with a step length of its own. As
 * preconditioner of gcr it may have another precision than the solver's process. Additive with one
 * cycle sends nothing. A cycle of the multiplicative one applies A once for each colour, but for
 * the first. Keeps A alive. Not linear. An application never fails because blocks do not converge;
 * KAON_DAGGER is not offered. *K is NULL on failure. Collective. Sources: Luscher, Comput. Phys.
 * Commun. 156 (2004) 209; Babich et al., SC 2011 (arXiv:1109.2935); asynchronous: Frommer,
 * Schwandt, Szyld, ETNA 5 (1997) 48. The asynchronous one applies A for each turn but the first,
 * and at an application's end takes in what its neighbours sent; among ranks it is there over
 * MPI, on devices by the transport host. Errors: those of kaon_operator_local_part; ARGUMENT (an
 * option out of range; an odd number of blocks, not 1, in a direction of the multiplicative one);
 * UNSUPPORTED (asynchronous over QMP, or on devices by another transport). */
kaon_status kaon_schwarz_create(kaon_operator *A, const kaon_schwarz_options *options,
                                kaon_operator **K);

/* What K was made with, steps and cycles as they were chosen. Not collective. Errors: ARGUMENT (K
 * is no Schwarz preconditioner). */
kaon_status kaon_schwarz_describe(const kaon_operator *K, kaon_schwarz_options *options);

/* What an asynchronous K's applications so far took of other ranks' messages, or, where blocks go
 * on by themselves, of each other; all 0 where there is neither. A message is a face of one hop.
 * Not collective: of this rank. */
typedef struct kaon_schwarz_lags {
  int64_t reads; /* faces that were looked for */
  int64_t late;  /* of them those whose newest message had not come: older ones were taken, or 0 */
  int oldest;    /* how many residuals back the oldest was that was taken */
  int parts;     /* > 0: blocks go on by themselves, in so many parts (those that share vector lanes
                    go together). reads: of other parts; late: of such as had not ended as many
                    cycles as the reader; oldest: by how many cycles at most */
} kaon_schwarz_lags;
/* Errors: ARGUMENT (K is no Schwarz preconditioner). */
kaon_status kaon_schwarz_describe_lags(const kaon_operator *K, kaon_schwarz_lags *lags);

#ifdef __cplusplus
}
#endif
#endif
