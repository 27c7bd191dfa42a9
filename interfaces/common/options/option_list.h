/* option_list.h - the rows of a command's options as one list: what parsing and help share. */
#ifndef KAON_COMMON_OPTION_LIST_H
#define KAON_COMMON_OPTION_LIST_H

#include "interfaces/common/cli.h"

typedef struct option_list {
  const cli_command *command;
  const char *program; /* "kaon invert" */
  cli_option row[CLI_OPTIONS_MAX];
  int count;
} option_list;

/* Index of the option of this name, of an alias that of its target; -1: there is none. */
int options_find(const option_list *list, const char *name);
/* Reads the words from argv[*next] on, as many as the option takes, into `to`, and moves *next
 * behind them. Exit status; a wrong word is reported. */
int option_read(const cli_option *o, char **argv, int argc, int *next, void *to);
/* Prints the help to stdout: the options of daily use, or all of them in groups. */
void options_help(const option_list *list, int all);

#endif
