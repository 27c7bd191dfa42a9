/* rank_sums.h - the kernels of sums over ranks (rank_sums.cu). */
#pragma once

#include <cuda_runtime_api.h>

#include "lib/core/launch.h"

/* Limits: ranks that write to each other; complex values (columns times slots) of a sum; slots of a
 * sum. */
enum { KAON_PEERS = 32, KAON_SUM_ENTRIES = 4096, KAON_SUM_SLOTS = 64 };

/* Sums slot[slot[i]] of the open columns. then: the recurrence to run on each column afterwards (0:
 * none). */
typedef struct kaon_sum_call {
  kaon_column_state *state; /* NULL: the result is discarded */
  int columns, gate, then;
  int n;
  int16_t slot[KAON_SUM_SLOTS];
} kaon_sum_call;

/* The buffer for peer reductions. Each rank has space for two sums of every rank: [turn %
 * 2][sender][value][2 words]. Each word holds half of a double and above it the sequence tag.
 * lib/cuda/reduction/reduce.h explains why this needs no order between words and no fence. The tag
 * is the number of the sum, starting at 1.
 * A value is overwritten two sums later. The rank that overwrites it has received this rank's part
 * of the sum in between, which was sent after the value was read. Tags repeat after 2^32 sums; by
 * then no old one is left (peer_sum_clear_old in peer_sums.h). */
enum { KAON_PEER_REDUCTION_WORDS = 4 * KAON_SUM_ENTRIES }; /* of one sender and sum */
typedef struct kaon_peer_reduction {
  uint32_t *turn;           /* local: number of sums so far */
  uint32_t *ticket;         /* local: 0 between sums */
  uint32_t *timeout_report; /* lib/core/launch.h */
  uint64_t patience; /* nanoseconds to wait for a sum before the other rank counts as ended */
  int rank, ranks;
  uint64_t *words[KAON_PEERS]; /* buffers of all ranks, including this one */
} kaon_peer_reduction;

/* The parts of a sum that a launch performs. With both, nothing happens in between. */
enum { KAON_SUM_SEND = 1, KAON_SUM_RECEIVE = 2 };

KAON_BEGIN_C

/* By stores into peers' memory. */
void kaon_rank_sums_by_peers(const kaon_launch *launch, const kaon_sum_call *call,
                             const kaon_peer_reduction *box, int parts);
/* Packs the values as a message, [column][slot][2], including closed columns. */
void kaon_rank_sums_pack(const kaon_launch *launch, const kaon_sum_call *call, double *message);
/* slots = the sum of `ranks` messages in rank order. Then runs the recurrence. */
void kaon_rank_sums_unpack(const kaon_launch *launch, const kaon_sum_call *call,
                           const double *messages, int ranks);

KAON_END_C
