/* kaon_bench.c - the kaon-bench program: measures speed. */
#include <string.h>

#include "bench/bench.h"
#include "interfaces/common/program.h"

static int dispatch(int argc, char **argv) {
  if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
    return program_version("kaon-bench");
  return program_run(&command_bench, "kaon bench", argc, argv);
}

int main(int argc, char **argv) {
  return program_main(argc, argv, dispatch);
}
