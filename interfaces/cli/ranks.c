/* ranks.c - the program as one of several processes. Contract: cli.h. Every rank runs the same
 * command; the first one prints and writes text files, and what only it can know the others hear
 * from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tuning_file.h"

/* By process, like signals: there is one launcher. */
static struct {
  int launched, rank, launchers; /* ranks by the launcher; 0: it does not say */
  kaon_context *ctx;             /* of all ranks, while there is one; not ours */
  int several, ended;
} world;

/* The launcher ends all ranks when one fails: a silent one that fails waits until the first, which
 * mostly fails alike, has said why. */
static void let_first_speak(void) {
  const struct timespec second = {1, 0};
  if (!world.ended) nanosleep(&second, NULL);
}

/* What launchers leave in the environment: Open MPI, PMIx (srun --mpi=pmix), PMI (MPICH's and
 * Intel's mpiexec, srun --mpi=pmi2), MVAPICH. */
static const char *const variables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}};

/* One process of a launcher's is a process by itself. */
void ranks_start(void) {
  for (size_t i = 0; i < sizeof variables / sizeof *variables && !world.launched; i++) {
    const char *rank = getenv(variables[i][0]), *ranks = getenv(variables[i][1]);
    if (rank == NULL || *rank == '\0') continue;
    world.launchers = ranks != NULL ? atoi(ranks) : 0;
    if (world.launchers == 1) return;
    world.launched = 1;
    world.rank = atoi(rank);
  }
  if (world.rank == 0) return;
  atexit(let_first_speak);
  if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
    world.rank = -1; /* and is heard */
}

int ranks_launched(void) {
  return world.launched;
}

int ranks_first(void) {
  return world.rank <= 0;
}

static int started_alone(const int grid[4]) {
  double places = 1;
  for (int mu = 0; mu < 4; mu++) places *= grid[mu] > 0 ? grid[mu] : 1;
  if (places == 1) return EXIT_DONE;
  if (kaon_ranks_library()[0] == '\0') {
    cli_error(
        "several ranks are not built into this kaon; configure with -DKAON_COMM=MPI, or leave "
        "--grid out");
    return EXIT_DEVICE;
  }
  return cli_wrong(
      "--grid %d %d %d %d is for %.0f ranks, but this process was started alone; write: "
      "mpirun -n %.0f kaon ...",
      grid[0], grid[1], grid[2], grid[3], places, places);
}

int ranks_context(const cli_common *common, const int grid[4], kaon_context **ctx) {
  if (!world.launched) {
    const int code = started_alone(grid);
    return code == EXIT_DONE ? cli_context(common, ctx) : code;
  }
  const kaon_context_options options = cli_context_options(common);
  kaon_context_info info;
  int code = cli_status(
      NULL, kaon_context_create_ranks(&options, NULL, grid[0] > 0 ? grid : NULL, ctx), NULL);
  if (code != EXIT_DONE) return code;
  kaon_context_query(*ctx, &info);
  if (world.launchers > 0 && world.launchers != info.ranks) {
    cli_error(
        "the launcher started %d processes, but kaon's MPI knows of %d: it belongs to another MPI "
        "than kaon was built with (kaon info); use that one's mpirun",
        world.launchers, info.ranks);
    return EXIT_DEVICE;
  }
  world.several = info.ranks > 1;
  world.ctx = *ctx;
  return common->tuning ? ranks_agree(tuning_use(*ctx, common->tuning)) : EXIT_DONE;
}

int ranks_agree(int code) {
  if (!world.several) return code;
  const kaon_status mine = code == EXIT_DONE    ? KAON_OK
                           : code == EXIT_USAGE ? KAON_ERR_ARGUMENT
                                                : KAON_ERR_DEVICE;
  const kaon_status all = kaon_context_agree(world.ctx, mine);
  if (all == KAON_OK || code != EXIT_DONE) return code;
  return all == KAON_ERR_ARGUMENT ? EXIT_USAGE : EXIT_DEVICE;
}

/* A rank that failed may be the only one: it does not wait for the others, and the launcher ends
 * them. */
void ranks_end(int code) {
  if (!world.launched || (code != EXIT_DONE && code != EXIT_NOT_CONVERGED)) return;
  kaon_ranks_end();
  world.ended = 1;
}
