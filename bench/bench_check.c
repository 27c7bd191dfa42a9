/* bench_check.c - what of the command line the chosen benchmark would not obey, or cannot. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

#define BIT(kind) (1u << (kind))
enum {
  FATTEN = BIT(BENCH_FATTEN),
  ON_LATTICES =
      BIT(BENCH_DSLASH) | BIT(BENCH_VECTOR) | BIT(BENCH_SOLVE) | BIT(BENCH_SCALING) | FATTEN,
  OF_LINKS = BIT(BENCH_DSLASH) | BIT(BENCH_SOLVE) | BIT(BENCH_SCALING),
  PROJECT = BIT(BENCH_KACZMARZ),
  SAMPLED = BIT(BENCH_DSLASH) | BIT(BENCH_VECTOR) | BIT(BENCH_SCALING) | BIT(BENCH_SPMV) | FATTEN,
  SOLVE = BIT(BENCH_SOLVE),
  OF_ACTIONS = BIT(BENCH_SOLVE) | BIT(BENCH_SCALING),
  SCALING = BIT(BENCH_SCALING),
  TABLES = BIT(BENCH_REGIMES) | BIT(BENCH_PIPELINED),
  KRYLOV = BIT(BENCH_KRYLOV) | TABLES,
  WITH_FORMATS = BIT(BENCH_SPMV) | KRYLOV,
  RELAX = BIT(BENCH_ASYNC) | BIT(BENCH_FAULTS),
  ON_MATRICES = WITH_FORMATS | RELAX,
  SOLVES = OF_ACTIONS | KRYLOV,
  METHODS = BIT(BENCH_KRYLOV) | BIT(BENCH_REGIMES),
  ALL = ON_LATTICES | ON_MATRICES
};

static const struct {
  const char *option;
  unsigned used; /* BIT(kind) of those that look at it */
} options_of[] = {{"lattice", ON_LATTICES},
                  {"local-lattice", ON_LATTICES},
                  {"grid", ON_LATTICES},
                  {"reconstruct", OF_LINKS},
                  {"calls", SAMPLED},
                  {"in-turn", BIT(BENCH_DSLASH)},
                  {"samples", SAMPLED | BIT(BENCH_ASYNC) | PROJECT},
                  {"gauge", SOLVE},
                  {"action", OF_ACTIONS | BIT(BENCH_DSLASH)},
                  {"ignore-checksum", SOLVE},
                  {"kappa", OF_ACTIONS},
                  {"mass", OF_ACTIONS},
                  {"csw", OF_ACTIONS},
                  {"solver", SOLVE},
                  {"tol", SOLVES | RELAX},
                  {"stop", SOLVE},
                  {"max-iter", SOLVES},
                  {"refinement", SOLVES},
                  {"even-odd", OF_ACTIONS},
                  {"set", SOLVES},
                  {"temporal-gauge", OF_LINKS},
                  {"reduce-delay", SOLVE | BIT(BENCH_KRYLOV) | BIT(BENCH_PIPELINED)},
                  {"outer", (SOLVES & ~(unsigned)BIT(BENCH_REGIMES)) | RELAX},
                  {"effective", SOLVE},
                  {"model", SCALING},
                  {"latency", SCALING},
                  {"bandwidth", SCALING},
                  {"node", SCALING},
                  {"preconditioner", SOLVE},
                  {"schwarz-block", SOLVE},
                  {"schwarz-steps", SOLVE},
                  {"schwarz-cycles", SOLVE},
                  {"schwarz-groups", SOLVE},
                  {"schwarz-relaxation", SOLVE},
                  {"schwarz-precision", SOLVE},
                  {"matrix", ON_MATRICES},
                  {"format", WITH_FORMATS},
                  {"ordering", ON_MATRICES},
                  {"partition", ON_MATRICES},
                  {"window", ON_MATRICES},
                  {"columns", ALL & ~(unsigned)(TABLES | FATTEN | RELAX)},
                  {"precision", ALL & ~(unsigned)(BIT(BENCH_PIPELINED) | RELAX)},
                  {"regime", SOLVE | SCALING | BIT(BENCH_KRYLOV) | BIT(BENCH_PIPELINED)},
                  {"method", METHODS},
                  {"precond", KRYLOV},
                  {"precond-block", KRYLOV},
                  {"omega", KRYLOV},
                  {"drop", KRYLOV},
                  {"degree", KRYLOV},
                  {"low", KRYLOV},
                  {"high", KRYLOV},
                  {"sweeps", KRYLOV},
                  {"fill", KRYLOV},
                  {"power", KRYLOV},
                  {"shift", KRYLOV},
                  {"precond-order", KRYLOV},
                  {"precond-precision", KRYLOV},
                  {"regimes", BIT(BENCH_REGIMES)},
                  {"csv", BIT(BENCH_REGIMES) | PROJECT | RELAX},
                  {"seconds", TABLES | PROJECT},
                  {"join", TABLES | BIT(BENCH_ASYNC)},
                  {"table", BIT(BENCH_ASYNC)},
                  {"runs", BIT(BENCH_ASYNC)},
                  {"block", RELAX | BIT(BENCH_KRYLOV)},
                  {"local-sweeps", RELAX | BIT(BENCH_KRYLOV)},
                  {"lag", BIT(BENCH_ASYNC)},
                  {"exchange", BIT(BENCH_ASYNC)},
                  {"rank-lag", BIT(BENCH_ASYNC)},
                  {"together", BIT(BENCH_ASYNC)},
                  {"order-seed", BIT(BENCH_ASYNC)},
                  {"histories", RELAX},
                  {"tables", PROJECT},
                  {"kaczmarz-sweeps", PROJECT},
                  {"kaczmarz-level", PROJECT},
                  {"kaczmarz-problem", PROJECT},
                  {"kaczmarz-degree", PROJECT},
                  {"cpu-seconds", PROJECT},
                  {"lambda", BIT(BENCH_KRYLOV)},
                  {"coloring", BIT(BENCH_KRYLOV)},
                  {"sweep-order", BIT(BENCH_KRYLOV)},
                  {"permutation", BIT(BENCH_KRYLOV)},
                  {"carp-blocks", BIT(BENCH_KRYLOV)},
                  {"carp-rows", BIT(BENCH_KRYLOV)},
                  {"fault-share", BIT(BENCH_FAULTS)},
                  {"fault-kind", BIT(BENCH_FAULTS)},
                  {"fault-rank", BIT(BENCH_FAULTS)},
                  {"fault-begin", BIT(BENCH_FAULTS)},
                  {"fault-recovery", BIT(BENCH_FAULTS)},
                  {"flip-rate", BIT(BENCH_FAULTS)},
                  {"flip-begin", BIT(BENCH_FAULTS)},
                  {"flip-end", BIT(BENCH_FAULTS)},
                  {"fault-seed", BIT(BENCH_FAULTS)},
                  {"no-repair", 0}};

/* "krylov or regimes" */
static void users_of(unsigned used, char text[96]) {
  char name[32];
  text[0] = '\0';
  for (int i = 0; i < BENCHES; i++) {
    if (!(used >> i & 1)) continue;
    used &= ~(1u << i);
    const char *before = !*text ? "" : used ? ", " : " or ";
    const size_t at = strlen(text);
    snprintf(text + at, 96 - at, "%s%s", before, cli_choice(BENCH_NAMES, i, name));
  }
}

/* An option that the chosen benchmark does not look at would be obeyed by nobody. */
static int check_idle(const bench_args *a, bench_kind kind) {
  char name[32], users[96];
  for (size_t i = 0; i < sizeof options_of / sizeof *options_of; i++) {
    if (options_of[i].used >> kind & 1 || !cli_option_given(&a->common, options_of[i].option)) continue;
    if (!options_of[i].used)
      return cli_wrong("--%s has no effect on a benchmark; leave it out, or run kaon solve",
                       options_of[i].option);
    users_of(options_of[i].used, users);
    return cli_wrong("--%s has no effect on bench %s; leave it out, or run bench %s",
                     options_of[i].option, cli_choice(BENCH_NAMES, (int)kind, name), users);
  }
  return EXIT_DONE;
}

/* What belongs to --model alone. */
static int check_model_idle(const bench_args *a) {
  static const char *const of_models[] = {"latency", "bandwidth", "node"};
  for (size_t i = 0; i < sizeof of_models / sizeof *of_models && !a->models.count; i++)
    if (cli_option_given(&a->common, of_models[i]))
      return cli_wrong("--%s is for --model FILE.json, which is missing", of_models[i]);
  return EXIT_DONE;
}

/* --model measures nothing: what says how to measure, or where, has no effect. */
static int check_model(const bench_args *a) {
  static const char *const used[] = {"model",   "latency", "bandwidth",   "node",
                                     "lattice", "json",    "report",      "quiet",
                                     "backend", "threads", "memory-limit"};
  for (int i = 0; i < CLI_OPTIONS_MAX && a->models.count; i++) {
    int known = a->common.given[i] == NULL;
    for (size_t k = 0; k < sizeof used / sizeof *used && !known; k++)
      known = strcmp(used[k], a->common.given[i]) == 0;
    if (!known)
      return cli_wrong(
          "--%s has no effect on bench scaling --model, which measures nothing; "
          "leave it out",
          a->common.given[i]);
  }
  if (a->models.count && a->lattices.count > 1)
    return cli_wrong(
        "--model foretells one lattice, but --lattice is given %d times; leave all "
        "but one out",
        a->lattices.count);
  for (int i = 0; i < a->models.count; i++) {
    const cli_path paths[] = {
        {"--model", a->models.text[i]}, {"--json", a->json}, {"--report", a->common.report}};
    if (cli_distinct(paths, 3) != EXIT_DONE) return EXIT_USAGE;
  }
  return EXIT_DONE;
}

/* The whole lattice's extents are even; what else a grid must do the library says. Without a grid
 * ranks stand in t. */
static int check_parts(const bench_args *a) {
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

static int check_tables(const bench_args *a, bench_kind kind) {
  if (!((TABLES | BIT(BENCH_ASYNC)) >> kind & 1)) return EXIT_DONE;
  if (kind == BENCH_REGIMES && cli_option_given(&a->common, "precision") && a->precision >> KAON_HALF & 1)
    return cli_wrong(
        "--precision half is not a precision that bench regimes solves in; leave it out");
  if (a->joined.count && !a->matrices.count && cli_option_given(&a->common, "seconds"))
    return cli_wrong(
        "--seconds has no effect on --join without --matrix, which measures nothing; leave it out");
  return EXIT_DONE;
}

/* Nothing that is read is written over, and nothing written twice. */
static int check_paths(const bench_args *a) {
  const cli_path outputs[] = {{"--json", a->json},
                              {"--csv", a->csv},
                              {"--histories", a->histories},
                              {"--report", a->common.report}};
  const int count = (int)(sizeof outputs / sizeof *outputs);
  int code = cli_distinct(outputs, count);
  if (code == EXIT_DONE) code = cli_check_overwrite("--gauge", a->problem.gauge, outputs, count);
  if (code == EXIT_DONE) code = cli_check_overwrite("--tuning", a->common.tuning, outputs, count);
  if (code == EXIT_DONE) code = cli_check_overwrite("--permutation", a->linear.permutation, outputs, count);
  for (int i = 0; i < a->matrices.count && code == EXIT_DONE; i++)
    if (linear_is_file(a->matrices.text[i]))
      code = cli_check_overwrite("--matrix", a->matrices.text[i], outputs, count);
  for (int i = 0; i < a->joined.count && code == EXIT_DONE; i++)
    code = cli_check_overwrite("--join", a->joined.text[i], outputs, count);
  return code;
}

int bench_check(const bench_args *a, bench_kind kind) {
  int code = check_idle(a, kind);
  if (code == EXIT_DONE) code = check_model_idle(a);
  if (code == EXIT_DONE) code = check_model(a);
  if (code == EXIT_DONE) code = check_parts(a);
  if (code == EXIT_DONE) code = check_tables(a, kind);
  return code == EXIT_DONE ? check_paths(a) : code;
}
