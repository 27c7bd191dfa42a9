/* command_bench.c - kaon bench: hands over to the program kaon-bench. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/cli/command/commands.h"

static const char other[] = "kaon-bench";

/* Its path beside this program into `path`; 0: it does not fit, or this program's is not known. */
static int beside(char path[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
  if (length <= 0 || length == PATH_MAX) return 0;
  path[length] = '\0';
  char *name = strrchr(path, '/');
  if (!name || (size_t)(name + 1 - path) + sizeof other > PATH_MAX) return 0;
  memcpy(name + 1, other, sizeof other);
  return 1;
}

void bench_become(int argc, char **argv) {
  char path[PATH_MAX], name[sizeof other];
  const int topic = argc > 2 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], "bench") == 0;
  if (!topic && (argc < 2 || strcmp(argv[1], "bench") != 0)) return;
  memcpy(name, other, sizeof other);
  char **words = argv + 1 + topic, *first = words[0];
  words[0] = name;
  char help[] = "--help", *ask[] = {name, help, NULL};
  if (topic) words = ask;
  if (beside(path)) execv(path, words);
  execvp(other, words);
  argv[1 + topic] = first;
}

static const cli_option none[] = {{CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

const cli_command command_bench = {
    .name = "bench",
    .summary = "Measure speed, and compare it with the limits of the machine.",
    .operand = "BENCHMARK",
    .examples =
        "The benchmarks are a program of their own, kaon-bench, which is not installed "
        "here.",
    .options = none,
    .arguments = sizeof(cli_common),
    .absent =
        "kaon bench is the program kaon-bench, which is neither in the folder of kaon nor on PATH; "
        "to build it, run in the build folder: cmake -DKAON_BUILD_BENCH=ON . && cmake --build . "
        "--target kaon_bench"};
