/* program.c - what the main functions of kaon and kaon-bench share: start, one command, end. */
#include "interfaces/common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/common/build_facts.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

int program_asks_help(const char *word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "--help-all") == 0 ||
         strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0;
}

int program_version(const char *name) {
  printf("%s %s\n", name, kaon_version());
  printf("commit            %s\n", kaon_commit());
  printf("compiler          %s\n", KAON_FACT_COMPILER);
  printf("CUDA              %s\n", KAON_FACT_CUDA);
  printf("ranks             %s\n", KAON_FACT_RANKS);
  printf("NCCL              %s\n", KAON_FACT_NCCL);
  printf("METIS             %s\n", KAON_FACT_METIS);
  printf("instruction sets  %s\n", KAON_FACT_ISAS);
  return EXIT_DONE;
}

int program_run(const cli_command *command, const char *name, int argc, char **argv) {
  char first[64], long_help[] = "--help";
  const int help = argc > 1 && program_asks_help(argv[1]);
  if (help && argv[1][1] != '-') argv[1] = long_help; /* -h and -? */
  if (command->absent && !help) {
    cli_error("%s", command->absent);
    return EXIT_DEVICE;
  }
  snprintf(first, sizeof first, "%s", name);
  argv[0] = first;
  void *arguments = calloc(1, command->arguments);
  if (!arguments || !signals_start()) {
    free(arguments);
    return EXIT_DEVICE;
  }
  cli_parse(command, argc, argv, arguments);
  const int code = command->run(arguments);
  free(arguments);
  return signals_finish(code);
}

/* A descriptor that the caller closed would go to the next file that is opened, and its contents
 * would be read or printed to. /dev/null is opened the wrong way round, so that reading and
 * printing fail as they do where the descriptor is closed. */
static void open_standard_descriptors(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest: fd */
}

int program_main(int argc, char **argv, int (*dispatch)(int argc, char **argv)) {
  open_standard_descriptors();
  report_command_line(argc, argv);
  cli_spin_shortly(argv);
  signal(SIGXFSZ, SIG_IGN); /* a file-size limit becomes an error of write, which is handled */
  signal(SIGPIPE, SIG_IGN); /* and so does a reader of what is printed that has gone */
  ranks_start();
  const int code = cli_printed(dispatch(argc, argv));
  ranks_end(code);
  return code;
}
