/* ranks.h - what tests on several ranks share: contexts on all processes, rank grids, and a main()
 * in which only rank 0 prints. Include the cmocka preamble before. */
#ifndef RANKS_H
#define RANKS_H

#include <kaon/kaon.h>
#include <mpi.h>
#ifdef RANKS_BY_QMP
#include <qmp.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm.h"
#include "lib/core/context_internal.h"
#include "lib/vector/space.h"
#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

static inline int world_rank(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static inline int world_size(void) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

/* On the machine that KAON_TEST_MACHINE names: a CUDA device, or else the CPU. */
static inline kaon_context_options ranks_options(int isa) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  const char *only = getenv("KAON_TEST_MACHINE");
  const int cuda = only != NULL && strcmp(only, machine_name(MACHINE_CUDA)) == 0;
  options.backend = cuda ? KAON_BACKEND_CUDA : KAON_BACKEND_CPU;
  options.isa = cuda ? KAON_ISA_AUTO : (kaon_isa)isa;
  options.threads = 1;
  /* AUTO exchanges through the host if ranks share a device; tests may want other transports there
   */
  const char *transport = getenv("KAON_TEST_TRANSPORT");
  char text[64];
  snprintf(text, sizeof text, "transport=%s", transport != NULL ? transport : "auto");
  if (cuda && world_size() > 1)
    must(NULL, kaon_options_parse(KAON_OPTIONS_CONTEXT, &options, text));
  return options;
}

/* A context of all processes. */
static inline kaon_context *ranks_open(int isa, const int grid[4]) {
  const kaon_context_options options = ranks_options(isa);
  kaon_context *ctx = NULL;
  must(NULL, kaon_context_create_ranks(&options, NULL, grid, &ctx));
  return ctx;
}

/* Equal parts. With `skewed` later ranks have more rows, and the first may have none. */
static inline int64_t ranks_first_row(int64_t rows, int rank, int ranks, int skewed) {
  const int64_t r = rank, n = ranks;
  return skewed && n > 1 ? rows * r * (r - 1) / (n * (n - 1)) : rows * r / n;
}

/* The tests of `group` between MPI's beginning and end; only rank 0 is heard. The job's status is
 * that of test_end(): it was skipped if no rank ran a case. */
#define RANKS_MAIN_WITH(group, setup, teardown)                                   \
  int main(int argc, char **argv) {                                               \
    MPI_Init(&argc, &argv);                                                       \
    if (world_rank() != 0 && freopen("/dev/null", "w", stdout) == NULL) return 2; \
    int here = test_main(group, setup, teardown), all = 0;                        \
    if (here != 0 && here != TEST_SKIPPED) MPI_Abort(MPI_COMM_WORLD, 1);          \
    MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);              \
    MPI_Finalize();                                                               \
    return all;                                                                   \
  }
#define RANKS_MAIN(group) RANKS_MAIN_WITH(group, NULL, NULL)

#endif
