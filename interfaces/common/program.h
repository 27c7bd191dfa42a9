/* program.h - what the main functions of kaon and kaon-bench share: start, one command, end. */
#ifndef KAON_COMMON_PROGRAM_H
#define KAON_COMMON_PROGRAM_H

#include "interfaces/common/cli.h"

/* 1: the word is --help or -h. */
int program_asks_help(const char *word);
/* Prints version and commit of the program `name`. Returns an exit status. */
int program_version(const char *name);
/* Parses the options of `command` and runs it. argv[0] is replaced by `name`, which begins usage
 * lines and messages. Returns an exit status. */
int program_run(const cli_command *command, const char *name, int argc, char **argv);
/* The whole of main: prepares descriptors, signals, threads and ranks, calls `dispatch`, flushes
 * stdout and leaves together with the other ranks. Returns an exit status. */
int program_main(int argc, char **argv, int (*dispatch)(int argc, char **argv));

#endif
