/* bench_lattice.c - benchmarks on lattices: extents, parts of ranks, numbers for vectors. */
#include "bench/bench_lattice.h"

#include <stdlib.h>
#include <string.h>

#define AT LATTICE_PROBLEM

const cli_option lattice_rank_rows[] = {
    CLI_GROUP_ROW("Several ranks, under mpirun:"),
    {CLI_EXTENTS, "grid", "a b c d", NULL, LATTICE_AT(grid), 0, 0, CLI_GRID_TEXT},
    {CLI_LATTICES, "local-lattice", "X Y Z T", NULL, LATTICE_AT(local), 0, 0,
     "extents of one rank's part, in place of --lattice (default grid: ranks in t)"},
    CLI_RANKS_OPTIONS,
    CLI_SYNC_OPTION,
    CLI_END_ROW};

const cli_option lattice_solve_rows[] = {
    {CLI_REAL, "kappa", "K", NULL, AT(kappa), 1e-6, 10, "hopping parameter (default 0.125)"},
    {CLI_REAL, "mass", "M", NULL, AT(mass), -3.9, 1e5, "bare mass, instead of --kappa"},
    {CLI_TEXT, "csw", "C", NULL, AT(csw), 0, 0, "clover coefficient (default 1 with clover)"},
    {CLI_REAL, "mu", "MU", NULL, AT(mu), -100, 100, "twisted mass (default 0.01 with twisted)"},
    {CLI_REAL, "tol", "EPS", "1e-10", AT(tol), 1e-16, 1, "stop at this relative residual"},
    {CLI_INT, "max-iter", "N", "10000", AT(max_iter), 1, 1e9, "iterations allowed"},
    CLI_END_ROW};

const cli_option lattice_detail_rows[] = {
    BENCH_OPTION_OUTER(LATTICE_AT),
    {CLI_CHOICE, "refinement", "reliable|restart", "reliable", AT(refinement), 0, 0,
     PROBLEM_REFINEMENT_TEXT},
    {CLI_CHOICE, "even-odd", "symmetric|asymmetric|none", "symmetric", AT(even_odd), 0, 0,
     PROBLEM_EVEN_ODD_TEXT},
    {CLI_TEXT, "set", "KEY=VALUE,...", NULL, AT(set), 0, 0, PROBLEM_SET_TEXT},
    CLI_REGIME_OPTION,
    CLI_END_ROW};

kaon_status lattice_fill(bench *b, kaon_vector *v, const kaon_lattice *lattice) {
  size_t n = 24u * (size_t)kaon_lattice_volume(lattice) / (size_t)b->info.ranks;
  kaon_status status = KAON_OK;
  if (b->numbers_count != n) { /* Knuth's MMIX generator; the quality does not matter */
    uint64_t state = 1;
    free(b->numbers);
    b->numbers = malloc(n * sizeof *b->numbers);
    b->numbers_count = b->numbers ? n : 0;
    for (size_t i = 0; i < b->numbers_count; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      b->numbers[i] = (double)(state >> 40) / (double)(1 << 23) - 1;
    }
  }
  if (!b->numbers) return KAON_ERR_MEMORY;
  for (int k = 0; k < kaon_vector_columns(v) && status == KAON_OK; k++)
    status = kaon_vector_import(v, k, b->numbers, KAON_BASIS_UKQCD);
  return status;
}

/* Checks all lattices before any is measured, so that a mistake in the last one costs nothing. */
int lattice_check_extents(const kaon_context *ctx, const lattice_args *a) {
  const char *option = a->local.count ? "--local-lattice" : "--lattice";
  int code = EXIT_DONE;
  for (int i = 0; i < a->lattices.count && code == EXIT_DONE; i++)
    code = cli_status(ctx, kaon_lattice_check(ctx, a->lattices.extents[i]), option);
  return code;
}

/* A part may have odd extents where the whole lattice has even ones. The library checks the rest.
 * Without a grid, ranks divide t. */
static int check_parts(const lattice_args *a) {
  const int started = ranks_started() > 0 ? ranks_started() : 1;
  for (int i = 0; i < a->local.count; i++)
    for (int mu = 0; mu < 4; mu++) {
      const int *e = a->local.extents[i], ranks = a->grid[0] ? a->grid[mu] : mu == 3 ? started : 1;
      if (e[mu] % 2 != 0 && ranks % 2 != 0)
        return cli_wrong(
            "--local-lattice %d %d %d %d: the part of a rank in %c is %d, but odd extents are for "
            "an even number of ranks, and in %c there are %d; take %d",
            e[0], e[1], e[2], e[3], "XYZT"[mu], e[mu], "XYZT"[mu], ranks, e[mu] + 1);
    }
  return EXIT_DONE;
}

static void stand_in_t(lattice_args *a) {
  memcpy(a->grid, (const int[]){1, 1, 1, ranks_started()}, sizeof a->grid);
}

/* Computes the whole lattices: parts times the grid. */
static int place(lattice_args *a) {
  if (a->lattices.count)
    return cli_wrong("--lattice and --local-lattice both say the extents; leave one of them out");
  if (!a->grid[0] && ranks_started() < 1)
    return cli_wrong(
        "--local-lattice needs --grid: the launcher does not say how many ranks it started");
  if (!a->grid[0]) stand_in_t(a);
  a->lattices = a->local;
  for (int i = 0; i < a->lattices.count; i++)
    for (int mu = 0; mu < 4; mu++) a->lattices.extents[i][mu] *= a->grid[mu];
  return EXIT_DONE;
}

/* A part with odd extents fits only where ranks divide t. */
static void place_both(lattice_args *a) {
  for (int i = 0; i < a->local.count && !a->grid[0] && ranks_started() > 0; i++)
    for (int mu = 1; mu < 4; mu++)
      if (a->local.extents[i][mu] % 2 != 0) stand_in_t(a);
}

int lattice_check(lattice_args *a, int both) {
  int code = check_parts(a);
  if (code == EXIT_DONE && both) place_both(a);
  if (code == EXIT_DONE && !both && a->local.count) code = place(a);
  if (code == EXIT_DONE && !ranks_launched()) code = lattice_check_extents(NULL, a);
  return code == EXIT_DONE && a->reduce_delay
             ? cli_read_time("reduce-delay", a->reduce_delay, &a->bench.common.reduce_delay)
             : code;
}

int lattice_run(lattice_args *a, const cli_option *options, bench_function *measure) {
  bench b;
  int code = bench_check_files(options, a);
  if (code == EXIT_DONE) code = lattice_check(a, 0);
  if (code != EXIT_DONE) return code;
  code = bench_begin(&b, &a->bench, a->grid);
  if (code == EXIT_DONE) code = lattice_check_extents(b.ctx, a);
  if (code == EXIT_DONE) code = bench_open_machine(&b);
  return bench_finish(&b, code == EXIT_DONE ? measure(&b) : code);
}
