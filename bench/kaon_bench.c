/* kaon_bench.c - the kaon-bench program: finds the benchmark, and hands it its arguments. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "interfaces/common/program.h"

/* Those of papers follow the others. */
static const cli_command *const benchmarks[] = {&bench_dslash,  &bench_vector,  &bench_solve,
                                                &bench_fatten,  &bench_spmv,    &bench_krylov,
                                                &bench_scaling, &bench_regimes, &bench_pipelined,
                                                &bench_async,   &bench_faults,  &bench_kaczmarz};
enum { BENCHMARKS = sizeof benchmarks / sizeof *benchmarks, OF_PAPERS = 6 };

static void print_overview(FILE *to) {
  fputs(
      "kaon-bench measures speed, and compares it with the limits of the machine.\n\n"
      "Usage: kaon bench BENCHMARK [OPTION...]\n\nBenchmarks:\n",
      to);
  for (int i = 0; i < BENCHMARKS; i++) {
    if (i == OF_PAPERS)
      fputs("Figures and tables of papers (see docs/papers.md), and models:\n", to);
    fprintf(to, "  %-10s %s\n", benchmarks[i]->name, benchmarks[i]->summary);
  }
  fputs(
      "\nkaon bench BENCHMARK --help shows its options, their defaults and examples.\n"
      "Everywhere: --backend, --threads, --memory-limit, --patience, --tuning,\n"
      "--report, --quiet.\n\n"
      "Examples:\n"
      "  kaon bench dslash --lattice 16 16 16 32 --precision single --columns 1\n"
      "  kaon bench spmv --matrix laplace3d:64 --json rows.json\n"
      "  mpirun -np 4 kaon bench dslash --grid 1 1 1 4 --local-lattice 32 32 32 64\n\n"
      "Exit status: as of kaon; a benchmark never falls back to another method.\n",
      to);
}

static const cli_command *find(const char *name) {
  for (int i = 0; i < BENCHMARKS; i++)
    if (strcmp(benchmarks[i]->name, name) == 0) return benchmarks[i];
  return NULL;
}

static int refuse(const char *name) {
  char names[256] = "";
  for (int i = 0; i < BENCHMARKS; i++) {
    const size_t at = strlen(names);
    snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", benchmarks[i]->name);
  }
  return cli_wrong("bench %s is not known; it is one of %s", name, names);
}

static int dispatch(int argc, char **argv) {
  const char *first = argc > 1 ? argv[1] : "";
  char name[64], help[] = "--help", *ask[] = {argv[0], help, NULL};
  if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
    return program_version("kaon-bench");
  const int topic = strcmp(first, "help") == 0;
  if ((topic && argc < 3) || program_asks_help(first)) {
    print_overview(stdout);
    return EXIT_DONE;
  }
  if (argc < 2) {
    print_overview(stderr);
    return EXIT_USAGE;
  }
  if (first[0] == '-')
    return cli_wrong("%s comes before the benchmark; write: kaon bench BENCHMARK %s ...", first,
                     first);
  const cli_command *benchmark = find(argv[1 + topic]);
  if (!benchmark) return refuse(argv[1 + topic]);
  snprintf(name, sizeof name, "kaon bench %s", benchmark->name);
  return topic ? program_run(benchmark, name, 2, ask)
               : program_run(benchmark, name, argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  return program_main(argc, argv, dispatch);
}
