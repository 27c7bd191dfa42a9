/* rank_sums.h - the kernels of sums over ranks (rank_sums.cu). */
#ifndef KAON_LIB_CUDA_RANK_SUMS_H
#define KAON_LIB_CUDA_RANK_SUMS_H

#include <cuda_runtime_api.h>

#include "lib/core/launch.h"

/* Most ranks that write to each other; complex numbers (columns times slots) and slots that one sum
 * takes. */
enum { KAON_PEERS = 32, KAON_SUM_ENTRIES = 4096, KAON_SUM_SLOTS = 64 };

/* slot[slot[i]] of the open columns; `then`: a recurrence of a column, run at the end (0: none). */
typedef struct kaon_sum_call {
  kaon_column_state *state; /* NULL: what comes is dropped */
  int columns, gate, then;
  int n;
  int16_t slot[KAON_SUM_SLOTS];
} kaon_sum_call;

/* Mail between ranks: each has room for two sums of every rank, [turn % 2][sender][number][2 words]
 * with half of a double below a mark in each word (lib/cuda/reduction/reduce.h says why: no word needs
 * another one, and nothing is fenced). The mark is the number of the sum, from 1 on. A mark's mail
 * is overwritten two sums later, by a rank that has had ours of the sum in between, which we sent
 * when we had read it. Marks that come again, after 2^32 sums, find nothing of their last time
 * (peer_sum_clear_old in rank_sums.cu). */
enum { KAON_PEER_REDUCTION_WORDS = 4 * KAON_SUM_ENTRIES }; /* of one sender and turn */
typedef struct kaon_peer_reduction {
  uint32_t *turn;      /* ours: sums so far */
  uint32_t *ticket;    /* ours: 0 between sums */
  uint32_t *timeout_report; /* lib/core/launch.h */
  uint64_t patience; /* nanoseconds that a sum is waited for: a rank that does not come has ended */
  int rank, ranks;
  uint64_t *words[KAON_PEERS]; /* every rank's, ours among them */
} kaon_peer_reduction;

/* What of a sum a launch does; both: nothing comes in between. */
enum { KAON_SUM_SEND = 1, KAON_SUM_RECEIVE = 2 };

#ifdef __cplusplus
extern "C" {
#endif

/* By mail. */
void kaon_rank_sums_by_peers(const kaon_launch *launch, const kaon_sum_call *call,
                         const kaon_peer_reduction *box, int parts);
/* The numbers as a message, [column][slot][2], closed columns' too. */
void kaon_rank_sums_pack(const kaon_launch *launch, const kaon_sum_call *call, double *message);
/* slots = the sum of `ranks` messages in their order; then the recurrence. */
void kaon_rank_sums_unpack(const kaon_launch *launch, const kaon_sum_call *call,
                         const double *messages, int ranks);

#ifdef __cplusplus
}
#endif
#endif
