/* cli_ranks.c - the program as one of several processes. Contract: cli.h. Every rank runs the same
 * command. The first one prints and writes text files, and sends the others what only it knows. */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/common/signals.h"
#include "interfaces/common/tuning_file.h"

/* Seconds that a rank which failed waits for the others' end. */
enum { PATIENCE = 3 };

/* Numbers that one gather brings from a rank. */
enum { ROOM = RANKS_TEXT > 2 * RANKS_NUMBERS ? RANKS_TEXT : 2 * RANKS_NUMBERS };

/* By process, like signals: there is one launcher. */
static struct {
  int launched, rank, launchers; /* ranks by the launcher; 0: it does not say */
  uint64_t command;              /* a hash of the command and its options as given */
  kaon_context *ctx;             /* of all ranks, while there is one; not ours */
  int several;
  int ended;          /* nothing is left to be waited for, or said */
  int count, on_node; /* ranks by the library; 0: no context yet */
  double *room;       /* [count][ROOM] */
  int waited;         /* the others had their time to come to the end */
  int saved_stderr;   /* of a silent rank: stderr as it was */
  char held[1024];    /* what it would have said there */
} world;

/* The launcher ends all ranks when one fails. A silent rank that fails waits until the first rank,
 * which mostly fails alike, has reported why. If it still runs by then, or the first rank ended
 * well, it failed alone and reports its own message. */
static void let_first_speak(void) {
  const struct timespec moment = {0, 10000000};
  if (world.ended) return;
  for (int i = 0; i < 100 * PATIENCE && !world.waited && !signals_interrupted(); i++)
    nanosleep(&moment, NULL);
  if (world.saved_stderr > 0 && world.held[0] && !signals_interrupted())
    (void)!write(world.saved_stderr, world.held, strlen(world.held));
}

int ranks_hold_back(const char *format, va_list args) {
  const size_t used = strlen(world.held), room = sizeof world.held;
  if (world.saved_stderr <= 0) return 0;
  int n = snprintf(world.held + used, room - used, "kaon: rank %d: ", world.rank);
  const size_t begun = used + (size_t)n;
  if (n < 0 || begun + 2 >= room) return 1;
  vsnprintf(world.held + begun, room - begun - 1, format, args);
  strcat(world.held, "\n");
  return 1;
}

/* What launchers leave in the environment: Open MPI, PMIx (srun --mpi=pmix), PMI (MPICH's and
 * Intel's mpiexec, srun --mpi=pmi2, Flux), MVAPICH, HPE's PALS, which has a count only beside PMI.
 */
static const char *const variables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                           {"PALS_RANKID", "PMI_SIZE"}};

/* FNV-1a over words, each with its end. */
void ranks_note_option(const char *word) {
  do world.command = (world.command ^ (unsigned char)*word) * 0x100000001b3u;
  while (*word++ != '\0');
}

/* Takes the first launcher that started several processes, else the first that does not say how
 * many. A single process of a launcher counts as started alone. */
static void find_launcher(void) {
  int alone = 0; /* one said that this is all there is */
  for (size_t i = 0; i < sizeof variables / sizeof *variables && world.launchers == 0; i++) {
    const char *rank = getenv(variables[i][0]), *ranks = getenv(variables[i][1]);
    const int count = ranks != NULL ? atoi(ranks) : 0;
    if (rank != NULL && *rank != '\0' && count == 1) alone = 1;
    if (rank == NULL || *rank == '\0' || count == 1 || ((world.launched || alone) && count < 1))
      continue;
    world.launched = 1;
    world.launchers = count > 1 ? count : 0;
    world.rank = atoi(rank);
  }
}

void ranks_start(void) {
  world.command = 0xcbf29ce484222325u;
  find_launcher();
  if (world.rank == 0) return;
  atexit(let_first_speak);
  world.saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
    world.rank = world.saved_stderr = -1; /* and is heard */
}

int ranks_launched(void) {
  return world.launched;
}

int ranks_first(void) {
  return world.rank <= 0;
}

int ranks_started(void) {
  return world.launched ? world.launchers : 1;
}

int ranks_count(void) {
  return world.several ? world.count : 1;
}

int ranks_on_node(void) {
  return world.several ? world.on_node : 1;
}

/* Values that are not finite are sent as a flag beside a zero, since a transport may add them. */
static kaon_status join(double *x, int n, int sum) {
  double mine[2 * RANKS_NUMBERS] = {0};
  if (!world.several) return KAON_OK;
  for (int i = 0; i < n; i++) {
    mine[i] = isfinite(x[i]) ? x[i] : 0;
    mine[n + i] = !isfinite(x[i]);
  }
  const kaon_status status = kaon_context_gather(world.ctx, mine, 2 * n, world.room);
  for (int i = 0; i < n && status == KAON_OK; i++) {
    const double *all = world.room + i;
    double y = sum ? 0 : all[0];
    for (int r = 0; r < world.count; r++, all += 2 * n) {
      if (all[n] > 0) y = NAN;
      if (sum)
        y += all[0];
      else if (all[0] > y)
        y = all[0];
    }
    x[i] = y;
  }
  return status;
}

kaon_status ranks_most(double *x, int n) {
  return join(x, n, 0);
}

kaon_status ranks_sum(double *x, int n) {
  return join(x, n, 1);
}

int ranks_interrupted(int *any) {
  double asked = signals_interrupted();
  const kaon_status status = ranks_most(&asked, 1);
  *any = asked > 0;
  if (*any) signals_raise();
  return status == KAON_OK ? EXIT_DONE : cli_status(world.ctx, status, NULL);
}

kaon_status ranks_texts(const char *mine, char (*all)[RANKS_TEXT]) {
  double letters[RANKS_TEXT] = {0};
  snprintf(all[0], RANKS_TEXT, "%s", mine);
  if (!world.several) return KAON_OK;
  for (int i = 0; i < RANKS_TEXT && all[0][i]; i++) letters[i] = (unsigned char)all[0][i];
  const kaon_status status = kaon_context_gather(world.ctx, letters, RANKS_TEXT, world.room);
  for (int r = 0; r < world.count && status == KAON_OK; r++)
    for (int i = 0; i < RANKS_TEXT; i++)
      all[r][i] = (char)(unsigned char)world.room[r * RANKS_TEXT + i];
  return status;
}

/* Ranks of one node have one host name. */
static kaon_status find_node_ranks(void) {
  char mine[RANKS_TEXT] = "";
  char(*hosts)[RANKS_TEXT] = calloc((size_t)world.count, sizeof *hosts);
  free(world.room);
  world.on_node = 0;
  world.room = calloc((size_t)world.count, ROOM * sizeof *world.room);
  kaon_status status =
      kaon_context_agree(world.ctx, hosts && world.room ? KAON_OK : KAON_ERR_MEMORY);
  gethostname(mine, sizeof mine - 1);
  if (status == KAON_OK) status = ranks_texts(mine, hosts);
  for (int r = 0; r < world.count && status == KAON_OK; r++)
    world.on_node += strcmp(hosts[r], mine) == 0;
  free(hosts);
  return status;
}

/* Refuses ranks with different options, which would compute different things or wait for ever. The
 * same result on all ranks. */
static int options_agree(void) {
  const double told = (double)(world.command >> 12); /* exact */
  const int code =
      cli_status(world.ctx, kaon_context_gather(world.ctx, &told, 1, world.room), NULL);
  if (code != EXIT_DONE) return code;
  for (int r = 1; r < world.count; r++)
    if (world.room[r] != world.room[0])
      return cli_wrong(
          "rank %d was started with other options than rank 0; give all ranks the same command "
          "(--threads and --memory-limit may differ)",
          r);
  return EXIT_DONE;
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

/* Several processes, as the launcher says. */
static int started_for(const int grid[4]) {
  double places = 1;
  for (int mu = 0; mu < 4; mu++) places *= grid[mu];
  if (places == 0 || world.launchers < 1 || places == world.launchers) return EXIT_DONE;
  return cli_wrong(
      "--grid %d %d %d %d is for %.0f ranks, but %d processes were started; write: mpirun -n %.0f "
      "kaon ..., or leave --grid out",
      grid[0], grid[1], grid[2], grid[3], places, world.launchers, places);
}

/* Refuses processes that do not know of each other: each would do the whole job and write the same
 * files. Where the launcher does not give their number, a rank's own number may exceed it. */
static int same_launcher(const kaon_context_info *info) {
  const int least = world.launchers > 0 ? world.launchers : world.rank + 1;
  if (world.launchers > 0 ? least == info->ranks : least <= info->ranks) return EXIT_DONE;
  cli_error(
      "the launcher started %s%d processes, but kaon's MPI knows of %d: it belongs to another MPI "
      "than kaon was built with (kaon info); use that one's mpirun",
      world.launchers > 0 ? "" : "at least ", least, info->ranks);
  return EXIT_DEVICE;
}

int ranks_context(const cli_common *common, const int grid[4], kaon_context **ctx) {
  if (!world.launched) {
    const int code = started_alone(grid);
    return code == EXIT_DONE ? cli_context(common, ctx) : code;
  }
  kaon_lab_options lab;
  const kaon_context_options options = cli_context_options(common, &lab);
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  const int wrong = started_for(grid);
  if (wrong != EXIT_DONE) return wrong;
  int code = cli_status(
      NULL, kaon_context_create_ranks(&options, NULL, grid[0] > 0 ? grid : NULL, ctx), NULL);
  if (code != EXIT_DONE) return code;
  kaon_context_query(*ctx, &info);
  if (same_launcher(&info) != EXIT_DONE) return EXIT_DEVICE;
  world.several = info.ranks > 1;
  world.count = info.ranks;
  world.ctx = *ctx;
  if (world.several) code = cli_status(*ctx, find_node_ranks(), NULL);
  if (world.several && code == EXIT_DONE) code = options_agree();
  if (code != EXIT_DONE) return code;
  return common->tuning ? ranks_agree(tuning_use(*ctx, common->tuning)) : EXIT_DONE;
}

int ranks_check(const cli_common *common, const kaon_context *ctx) {
  char name[32];
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  int code = cli_status(ctx, kaon_context_query(ctx, &info), NULL);
  if (code != EXIT_DONE || strcmp(info.backend, "cpu") != 0) return code;
  if (common->transport != 0)
    return cli_wrong(
        "--transport %s is for devices, but the backend is cpu; leave it out, or take --backend "
        "cuda",
        cli_choice(CLI_TRANSPORTS, common->transport, name));
  if (common->overlap == KAON_OVERLAP_FUSED)
    return cli_wrong(
        "--overlap fused is for devices, but the backend is cpu; take staged, none or auto, or "
        "--backend cuda");
  return EXIT_DONE;
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

/* A rank that failed alone waits for the others for a limited time; the launcher ends them. */
void ranks_end(int code) {
  const int failed = code != EXIT_DONE && code != EXIT_NOT_CONVERGED;
  int first = code;
  if (!world.launched) return;
  free(world.room);
  world.room = NULL;
  if (failed && world.count == 0) return; /* never met the others */
  world.waited = failed;
  if (!kaon_ranks_finish(code, failed ? PATIENCE : -1, &first)) return;
  world.ended = !failed || (first != EXIT_DONE && first != EXIT_NOT_CONVERGED);
}
