/* partition.h - the same physics twice: on one rank with the whole lattice, and on a lattice
 * divided among ranks or against itself (its faces send messages to itself). Links and spinors are
 * functions of seed and global site, so comparisons need no messages. Include the cmocka preamble
 * before. */
#ifndef PARTITION_H
#define PARTITION_H

#include <kaon/kaon.h>

#include "lib/comm/comm.h"
#include "lib/vector/space.h"
#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge; /* random links */
  kaon_operator *M;
} partition_side;

typedef struct {
  partition_side whole, part;
  char name[64]; /* for what is printed */
} partition_pair;

/* Takes over both contexts. Bit mu of mask: direction mu of `part` uses messages whatever its
 * grid. */
void partition_open(partition_pair *pair, kaon_context *whole, kaon_context *part,
                    const int extents[4], int mask, kaon_boundary boundary);
void partition_close(partition_pair *pair);
void partition_dirac(partition_pair *pair, const kaon_dirac_options *options);
typedef enum {
  PARTITION_CLOVER,
  PARTITION_TWISTED_CLOVER,
  PARTITION_TWISTED,
  PARTITION_DOMAIN_WALL,
  PARTITION_ACTIONS
} partition_actions;
/* The operators of an action with some numbers. */
void partition_action(partition_pair *pair, partition_actions action, kaon_precision precision);

/* The number in the whole lattice of site i of this rank. */
int64_t partition_site(const kaon_lattice *l, int64_t i);
/* Noise, the same on both sides: of one parity, what a full field of that seed has there. */
kaon_vector *partition_noise(const partition_side *s, kaon_parity parity, kaon_precision precision,
                             int nrhs, uint64_t seed);
/* The same in a space of spinors, with or without a fifth dimension. */
kaon_vector *partition_noise_in(const partition_side *s, const kaon_space *space,
                                kaon_precision precision, int nrhs, uint64_t seed);

/* On an undivided lattice of few sites a device adds the directions in another order than on a
 * divided one (dslash/cuda/hop_pair.cu), unless a tuning requests one thread a site. Sets such a
 * tuning on `whole` for 1 to 3 columns and returns 1: bits must be equal. Returns 0 on the CPU,
 * which needs none. */
int partition_same_order(const partition_side *whole);

/* Each prints what it measured and fails beyond its bound. Hops: every precision and link storage,
 * both parities, plain and dagger; on a device in double and single bit by bit. */
void partition_check_hops(partition_pair *pair, double anisotropy);
/* The parts of Wilson operators that hop in one direction, and their adjoints; all hops, or those
 * that leave blocks of 2 sites. turn: selects the storage. On a device in double and single bit by
 * bit. */
void partition_check_couplings(partition_pair *pair, int turn);
/* The hop with x, clover blocks and sums, of one column and of several with one closed. */
void partition_check_sums(partition_pair *pair, kaon_precision precision);
/* Clover, twisted clover, twisted mass and domain wall, even-odd and not, in the temporal gauge and
 * not; source and solution. */
void partition_check_operators(partition_pair *pair, kaon_precision precision);
/* Links after random, weak, heatbath and temporal gauge, fat and long ones, bit by bit;
 * observables; log det A. */
void partition_check_links(partition_pair *pair);
void partition_check_fatten(partition_pair *pair); /* of those */
/* Two fields of equal links, bit by bit. */
void partition_compare_links(const partition_pair *pair, const char *what, const kaon_gauge *whole,
                             const kaon_gauge *part);
/* Sources, bit by bit; correlators of a noise propagator. */
void partition_check_measurements(partition_pair *pair);
/* Every method and inner precision: equal steps within a few, equal solutions within the
 * tolerance, and equal bits when repeated. */
void partition_check_solvers(partition_pair *pair);

#endif
