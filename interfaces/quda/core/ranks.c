/* ranks.c - contexts of several ranks over MPI. Contract: ranks.h. */
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

static int count(const int grid[4]) {
  return grid[0] * grid[1] * grid[2] * grid[3];
}

#ifdef KAON_QUDA_MPI
#include <mpi.h>

/* This rank's number with x fastest, which is kaon's order; -1 if the application's map never gives
 * its number `mine`. */
static int number_of(const kaon_quda_ranks *ranks, int mine) {
  for (int n = 0; n < count(ranks->grid); n++) {
    int coordinates[4], rest = n;
    for (int d = 0; d < 4; d++) {
      coordinates[d] = rest % ranks->grid[d];
      rest /= ranks->grid[d];
    }
    if (ranks->rank_of(coordinates, ranks->user) == mine) return n;
  }
  return -1;
}

static kaon_status create_on(MPI_Comm all, const kaon_quda_ranks *ranks, kaon_context **ctx) {
  MPI_Comm ordered;
  int size, mine;
  MPI_Comm_size(all, &size);
  MPI_Comm_rank(all, &mine);
  const int *g = ranks->grid, number = ranks->rank_of != NULL ? number_of(ranks, mine) : mine;
  if (size != count(g))
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "there are %d ranks, but the grid %d x %d x %d x %d has %d; start as "
                            "many ranks as the grid has",
                            size, g[0], g[1], g[2], g[3], count(g));
  int missing = number < 0; /* every rank returns the same */
  MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT, MPI_SUM, all);
  if (missing > 0)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "the map of coordinates to ranks leaves out %d of %d ranks; it must "
                            "give each of them once",
                            missing, size);
  if (MPI_Comm_split(all, 0, number, &ordered) != MPI_SUCCESS)
    return kaon_quda_refuse(KAON_ERR_COMM,
                            "MPI_Comm_split failed on %d ranks; check the MPI installation and "
                            "the communicator",
                            size);
  const kaon_status status = kaon_context_create_ranks(NULL, &ordered, g, ctx);
  MPI_Comm_free(&ordered); /* the context has a copy */
  return status;
}

kaon_status kaon_quda_create_context(const kaon_quda_ranks *ranks, kaon_context **ctx) {
  int started = 0;
  MPI_Initialized(&started);
  if (!started) { /* the application has no ranks of its own */
    if (count(ranks->grid) == 1) return kaon_context_create(NULL, ctx);
    return kaon_quda_refuse(KAON_ERR_STATE,
                            "a grid of %d ranks was asked for, but MPI is not initialised; call "
                            "MPI_Init() first",
                            count(ranks->grid));
  }
  MPI_Comm all = MPI_COMM_WORLD;
  if (ranks->has_communicator) memcpy(&all, ranks->communicator, sizeof all);
  return create_on(all, ranks, ctx);
}

void kaon_quda_keep_communicator(const void *communicator) {
  kaon_quda_ranks *ranks = &kaon_quda()->ranks;
  _Static_assert(sizeof(MPI_Comm) <= sizeof ranks->communicator, "an MPI_Comm fits");
  ranks->has_communicator = communicator != NULL;
  if (communicator != NULL) memcpy(ranks->communicator, communicator, sizeof(MPI_Comm));
}

void kaon_quda_abort_ranks(void) {
  int started = 0, ended = 0, size = 1;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started && !ended) MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

#else

kaon_status kaon_quda_create_context(const kaon_quda_ranks *ranks, kaon_context **ctx) {
  if (count(ranks->grid) == 1) return kaon_context_create(NULL, ctx);
  return kaon_quda_refuse(KAON_ERR_NOT_BUILT,
                          "a grid of %d ranks was asked for, but this libquda was built without "
                          "MPI; build kaon with -DKAON_COMM=MPI",
                          count(ranks->grid));
}

void kaon_quda_keep_communicator(const void *communicator) {
  (void)communicator;
}

void kaon_quda_abort_ranks(void) {}

#endif
