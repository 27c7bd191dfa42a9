/* main.c - the kaon program: finds the subcommand, hands it its arguments. */
#include <stdio.h>
#include <string.h>

#include "interfaces/cli/command/commands.h"
#include "interfaces/common/program.h"

static const cli_command *const commands[] = {&command_info,   &command_gauge, &command_generate,
                                              &command_invert, &command_solve, &command_bench,
                                              &command_tune};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_overview(FILE *to) {
  fputs(
      "kaon solves A x = b for the operators of lattice QCD and for sparse matrices.\n\n"
      "Usage: kaon COMMAND [OPTION...]\n\nCommands:\n",
      to);
  for (int i = 0; i < COMMANDS; i++)
    fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  fputs(
      "\nkaon COMMAND --help shows an example and the options of daily use,\n"
      "kaon COMMAND --help-all every option; kaon --version the facts of this build.\n\n"
      "A first session:\n"
      "  kaon generate --lattice 8 8 8 16 --sweeps 200 --output config.lime\n"
      "  kaon gauge config.lime\n"
      "  kaon invert --gauge config.lime --action clover --kappa 0.130 --csw 1.769 \\\n"
      "      --sloppy half --output propagator.lime --correlators correlators.txt\n"
      "With a sparse matrix:\n"
      "  kaon solve --matrix A.mtx --rhs b.mtx --precond jacobi --output x.mtx\n\n"
      "Exit status: 0 all done and converged; 1 something did not converge; 2 bad input\n"
      "or usage; 3 resources or device; 130 interrupted.\n",
      to);
}

static const cli_command *find(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i]->name, name) == 0) return commands[i];
  return NULL;
}

static int not_a_command(const char *word) {
  char names[256] = "", hint[160];
  for (int i = 0; i < COMMANDS; i++) {
    if (i > 0) strcat(names, "|");
    strcat(names, commands[i]->name);
  }
  return cli_wrong("%s is not a command of kaon%s", word,
                   cli_did_you_mean(word, names, "", "; kaon --help lists them", hint));
}

static int run(const cli_command *command, int argc, char **argv) {
  char name[64];
  snprintf(name, sizeof name, "kaon %s", command->name);
  return program_run(command, name, argc, argv);
}

static int dispatch(int argc, char **argv) {
  const char *first = argc > 1 ? argv[1] : "";
  if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) return program_version("kaon");
  if (program_asks_help(first) || strcmp(first, "help") == 0) {
    const cli_command *topic = argc > 2 ? find(argv[2]) : NULL;
    if (argc > 2 && !topic) return not_a_command(argv[2]);
    if (!topic) {
      print_overview(stdout);
      return EXIT_DONE;
    }
    char *ask[] = {argv[0], (char[]){"--help"}, NULL};
    return run(topic, 2, ask);
  }
  if (argc < 2) {
    print_overview(stderr);
    return EXIT_USAGE;
  }
  const cli_command *command = find(first);
  if (!command && first[0] == '-')
    return cli_wrong("%s comes before the command; write: kaon COMMAND %s ... (see kaon --help)",
                     first, first);
  if (!command) return not_a_command(first);
  return run(command, argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  bench_become(argc, argv);
  return program_main(argc, argv, dispatch);
}
