/* cli_options.c - option tables to glibc's argp and back.
 * argp does the parsing, abbreviations, messages and the layout of --help. It is part of libc on
 * Debian and Ubuntu (nothing to install), as old and well kept as libc itself, and knows option
 * groups; a table of ours per subcommand is the single source of names, defaults, ranges and help.
 */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/cli.h"

static const cli_option common_options[] = {
    {CLI_GROUP, "Everywhere:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_CHOICE, "backend", "auto|cpu|cuda", "auto", offsetof(cli_common, backend), 0, 0,
     "where to compute"},
    {CLI_INT, "threads", "N", NULL, offsetof(cli_common, threads), 1, 4096,
     "CPU threads (default: OMP_NUM_THREADS, else every processor); results do not depend on it, "
     "but of asynchronous methods"},
    {CLI_REAL, "memory-limit", "GIB", NULL, offsetof(cli_common, memory_limit), 1e-3, 1e6,
     "most memory that fields may take where they are computed (default: all that is free); on a "
     "CPU "
     "it counts in place of what seems to be free"},
    {CLI_REAL, "patience", "SECONDS", "120", offsetof(cli_common, patience), 0.01, 1e6,
     "a device that waits longer for another rank's ends the job, saying for which"},
    {CLI_TEXT, "tuning", "FILE.json", NULL, offsetof(cli_common, tuning), 0, 0,
     "launch kernels as this file of kaon tune says (default: by rule)"},
    {CLI_FILE, "report", "FILE.json", NULL, offsetof(cli_common, report), 0, 0,
     "write what was done and found as JSON"},
    {CLI_FLAG, "quiet", NULL, NULL, offsetof(cli_common, quiet), 0, 0, "print errors only"},
    {CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

/* What concerns a rank's own machine alone. */
static int may_differ(const cli_option *o) {
  return strcmp(o->name, "threads") == 0 || strcmp(o->name, "memory-limit") == 0;
}

enum { FIRST_KEY = 1024, OPTIONS_MAX = CLI_OPTIONS_MAX, HELP_KEY = '?', USAGE_KEY = 512 };

/* argp's own would leave by exit(0) whether or not the help could be printed. */
static const struct argp_option help_options[] = {
    {"help", HELP_KEY, NULL, 0, "show this help", -1},
    {"usage", USAGE_KEY, NULL, 0, "show the options in short", -1}};
enum { HELP_OPTIONS = sizeof help_options / sizeof *help_options };

typedef struct parse {
  const cli_command *command;
  char *arguments;
  const cli_option *table[OPTIONS_MAX];
  struct argp_option argp[OPTIONS_MAX + HELP_OPTIONS + 1];
  char *owned[OPTIONS_MAX];
  int count;
} parse;

int cli_option_given(const cli_common *common, const char *option) {
  for (int i = 0; i < OPTIONS_MAX; i++)
    if (common->given[i] && strcmp(common->given[i], option) == 0) return 1;
  return 0;
}

const char *cli_choice(const char *choices, int index, char name[32]) {
  for (; index > 0 && choices; index--) {
    choices = strchr(choices, '|');
    if (choices) choices++;
  }
  if (!choices) return strcpy(name, "?");
  size_t length = strcspn(choices, "|");
  if (length > 31) length = 31;
  memcpy(name, choices, length);
  name[length] = '\0';
  return name;
}

static int choice_index(const char *choices, const char *word) {
  char name[32];
  int index = 0;
  for (const char *c = choices; c; index++) {
    if (strcmp(cli_choice(c, 0, name), word) == 0) return index;
    c = strchr(c, '|');
    if (c) c++;
  }
  return -1;
}

static int read_integer(const char *word, long *number) {
  char *end;
  errno = 0;
  *number = strtol(word, &end, 10);
  return errno == 0 && end != word && *end == '\0';
}

static int read_extents(const char *word, long least, int extents[4]) {
  for (int mu = 0; mu < 4; mu++) {
    char *end;
    errno = 0;
    long n = strtol(word, &end, 10);
    if (errno || end == word || n < least || n > 1 << 20) return 0;
    extents[mu] = (int)n;
    if (mu < 3 && *end != 'x' && *end != ',') return 0;
    if (mu == 3 && *end != '\0') return 0;
    word = end + 1;
  }
  return 1;
}

int cli_read_extents(const char *word, int extents[4]) {
  return read_extents(word, 1, extents);
}

static const char *example_of(const cli_option *o) {
  if (o->preset) return o->preset;
  return strcmp(o->name, "grid") == 0 ? "1 1 2 2" : "8 8 8 16";
}

/* "8x8x8x16" in one word, or this word and the next three. */
static void set_extents(const cli_option *o, const char *word, int extents[4],
                        struct argp_state *state) {
  static const char *const numbers[] = {"none", "one", "two", "three"};
  const long least = o->max > 0 ? (long)o->min : 1; /* the row has a range: 0 may be in it */
  if (read_extents(word, least, extents)) return;
  for (int mu = 0; mu < 4; mu++) {
    long n = 0;
    if (mu > 0) {
      word = state->next < state->argc ? state->argv[state->next] : "--";
      if (strncmp(word, "--", 2) == 0)
        argp_error(state, "--%s needs four numbers (%s), found %s; such as %s", o->name, o->value,
                   numbers[mu], example_of(o));
      state->next++;
    }
    if (!read_integer(word, &n) || n < least || n > 1 << 20)
      argp_error(state, "--%s takes four %s integers (%s), such as %s; found %s", o->name,
                 least > 0 ? "positive" : "non-negative", o->value, example_of(o), word);
    extents[mu] = (int)n;
  }
}

static void set_number(const cli_option *o, const char *word, void *to, struct argp_state *state) {
  int ranged = o->min != 0 || o->max != 0;
  if (o->kind == CLI_REAL) {
    char *end;
    double x = strtod(word, &end);
    if (end == word || *end != '\0' || !isfinite(x))
      argp_error(state, "--%s takes a number; found %s", o->name, word);
    if (ranged && (x < o->min || x > o->max))
      argp_error(state, "--%s is %g; it must lie between %g and %g", o->name, x, o->min, o->max);
    *(double *)to = x;
    return;
  }
  long n = 0;
  if (!read_integer(word, &n)) argp_error(state, "--%s takes an integer; found %s", o->name, word);
  if (ranged && ((double)n < o->min || (double)n > o->max))
    argp_error(state, "--%s is %ld; it must lie between %.0f and %.0f", o->name, n, o->min, o->max);
  *(int *)to = (int)n;
}

int cli_read_seed(const char *word, uint64_t *seed) {
  char *end;
  errno = 0;
  *seed = strtoull(word, &end, 10);
  return errno == 0 && word[0] >= '0' && word[0] <= '9' && *end == '\0';
}

static void set_seed(const cli_option *o, const char *word, void *to, struct argp_state *state) {
  if (!cli_read_seed(word, to))
    argp_error(state, "--%s takes an integer from 0 to 2^64 - 1; found %s", o->name, word);
}

static void set_entries(const cli_option *o, const char *words, unsigned *to,
                        struct argp_state *state) {
  char word[32];
  if (!*words)
    argp_error(state, "--%s is empty; it must be a list, with commas, of %s", o->name, o->value);
  for (*to = 0; *words; words += *words == ',') {
    int length = (int)strcspn(words, ",");
    snprintf(word, sizeof word, "%.*s", length, words);
    words += length;
    int index = choice_index(o->value, word);
    if (index < 0)
      argp_error(state, "--%s has %s; it must be a list, with commas, of %s", o->name, word,
                 o->value);
    *to |= 1u << index;
  }
}

static void set_counts(const cli_option *o, const char *words, cli_counts *to,
                       struct argp_state *state) {
  to->count = 0;
  for (;;) {
    char *end;
    long n = strtol(words, &end, 10);
    if (end == words || n < o->min || n > o->max || to->count == CLI_COUNTS_MAX)
      argp_error(state, "--%s takes up to %d numbers from %.0f to %.0f, with commas; found %s",
                 o->name, CLI_COUNTS_MAX, o->min, o->max, words);
    to->value[to->count++] = (int)n;
    if (*end == '\0') return;
    words = end + (*end == ',');
  }
}

static void check_file(const cli_option *o, const char *word, struct argp_state *state) {
  char *trouble = cli_file_trouble(word);
  if (trouble) argp_error(state, "--%s %s", o->name, trouble);
  free(trouble);
}

static void set(const cli_option *o, char *word, void *to, struct argp_state *state) {
  switch (o->kind) {
    case CLI_GROUP:
      break;
    case CLI_FLAG:
      *(int *)to = 1;
      break;
    case CLI_INT:
    case CLI_REAL:
      set_number(o, word, to, state);
      break;
    case CLI_SEED:
      set_seed(o, word, to, state);
      break;
    case CLI_FILE:
      if (!word[0])
        argp_error(state, "--%s is empty; it takes the name of a file to write", o->name);
      check_file(o, word, state); /* fallthrough */
    case CLI_TEXT:
      *(const char **)to = word;
      break;
    case CLI_CHOICE:
      *(int *)to = choice_index(o->value, word);
      if (*(int *)to < 0)
        argp_error(state, "--%s is %s; it must be one of %s", o->name, word, o->value);
      break;
    case CLI_SET:
      set_entries(o, word, to, state);
      break;
    case CLI_COUNTS:
      set_counts(o, word, to, state);
      break;
    case CLI_EXTENTS:
      set_extents(o, word, to, state);
      break;
    case CLI_LATTICES: {
      cli_lattices *list = to;
      if (list->count == CLI_LATTICES_MAX)
        argp_error(state, "--%s may be given at most %d times", o->name, CLI_LATTICES_MAX);
      set_extents(o, word, list->extents[list->count++], state);
      break;
    }
    case CLI_TEXTS: {
      cli_texts *list = to;
      if (list->count == CLI_TEXTS_MAX)
        argp_error(state, "--%s may be given at most %d times", o->name, CLI_TEXTS_MAX);
      list->text[list->count++] = word;
      break;
    }
  }
}

/* The option's full name, and its words from the one at `from` on, which followed the first. */
static void tell_ranks(const cli_option *o, const char *word, int from,
                       const struct argp_state *state) {
  if (may_differ(o)) return;
  ranks_note_option(o->name);
  if (word) ranks_note_option(word);
  for (; from < state->next; from++) ranks_note_option(state->argv[from]);
}

enum { HELP_PARTS = ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC };

static error_t on_option(int key, char *word, struct argp_state *state) {
  parse *p = state->input;
  cli_common *common = (cli_common *)p->arguments;
  if (key >= FIRST_KEY && key < FIRST_KEY + p->count) {
    const cli_option *o = p->table[key - FIRST_KEY];
    const int next = state->next;
    set(o, word, p->arguments + o->offset, state);
    tell_ranks(o, word, next, state);
    common->given[key - FIRST_KEY] = o->name;
    return 0;
  }
  if (key == HELP_KEY || key == USAGE_KEY) {
    argp_state_help(state, stdout, key == HELP_KEY ? HELP_PARTS : ARGP_HELP_USAGE);
    exit(cli_printed(EXIT_DONE));
  }
  if (key == ARGP_KEY_ARG) {
    if (!p->command->operand)
      argp_error(state, "it takes options only; %s is not one (options begin with --)", word);
    if (common->operand)
      argp_error(state, "it takes one %s; found %s and %s", p->command->operand, common->operand,
                 word);
    common->operand = word;
    ranks_note_option(word);
    return 0;
  }
  if (key == ARGP_KEY_END && p->command->operand && !common->operand)
    argp_error(state, "%s is missing", p->command->operand);
  return key == ARGP_KEY_ARG || key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

/* "a, b, c" of "a|b|c" */
static char *listed(const char *choices) {
  char *text = malloc(2 * strlen(choices) + 1), *to = text;
  for (; text && *choices; choices++) {
    *to++ = *choices == '|' ? ',' : *choices;
    if (*choices == '|') *to++ = ' ';
  }
  if (text) *to = '\0';
  return text;
}

/* What --help says of an option. A long list of choices stands in its text: argp's columns are made
 * for placeholders of a word or two. */
static char *help_text(const cli_option *o, const char **placeholder) {
  enum { SHORT = 48 };
  const int choices = o->kind == CLI_CHOICE || o->kind == CLI_SET;
  char *list = choices && strlen(o->value) > SHORT ? listed(o->value) : NULL, *text = NULL;
  *placeholder = list ? (o->kind == CLI_SET ? "NAME,..." : "NAME") : o->value;
  const int told = o->preset != NULL && strstr(o->meaning, "(default") == NULL;
  const char *before = told ? " (default " : "", *after = told ? ")" : "";
  if (asprintf(&text, "%s%s%s%s%s%s", list ? list : "", list ? ": " : "", o->meaning, before,
               told ? o->preset : "", after) < 0)
    text = NULL;
  free(list);
  return text;
}

/* Adds a table's rows; group numbers keep the headings in table order. */
static void add_table(parse *p, const cli_option *table, int *group) {
  for (; table->name; table++) {
    struct argp_option *a = &p->argp[p->count];
    if (p->count == OPTIONS_MAX) {
      cli_error("a defect in kaon: more than %d options", OPTIONS_MAX);
      exit(EXIT_DEVICE);
    }
    p->table[p->count] = table;
    if (table->kind == CLI_GROUP) {
      a->doc = table->name;
      a->group = ++*group;
    } else {
      a->name = table->name;
      a->key = FIRST_KEY + p->count;
      a->group = *group;
      a->doc = p->owned[p->count] = help_text(table, &a->arg);
    }
    p->count++;
  }
}

/* Another run repeats what was measured without these. */
static int is_left_out(const char *word, int *with_value) {
  static const char *const outputs[] = {"--json", "--report"};
  *with_value = 0;
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    size_t length = strlen(outputs[i]);
    *with_value = strcmp(word, outputs[i]) == 0;
    if (*with_value || (strncmp(word, outputs[i], length) == 0 && word[length] == '=')) return 1;
  }
  return strcmp(word, "--quiet") == 0;
}

static void keep_line(cli_common *common, int argc, char **argv) {
  int with_value;
  snprintf(common->line, sizeof common->line, "%s", argv[0]);
  for (int i = 1; i < argc; i++) {
    if (is_left_out(argv[i], &with_value)) {
      i += with_value;
      continue;
    }
    size_t used = strlen(common->line);
    const char *equals = argv[i][0] == '-' ? strchr(argv[i], '=') : NULL;
    int option = equals ? (int)(equals - argv[i]) + 1 : 0;
    snprintf(common->line + used, sizeof common->line - used, " %.*s%s", option, argv[i],
             cli_name(argv[i] + option));
  }
}

void cli_parse(const cli_command *command, int argc, char **argv, void *arguments) {
  parse p = {.command = command, .arguments = arguments};
  int group = 0;
  memset(arguments, 0, command->arguments);
  ranks_note_option(command->name);
  keep_line(arguments, argc, argv);
  if (command->options) add_table(&p, command->options, &group);
  add_table(&p, common_options, &group);
  memcpy(p.argp + p.count, help_options, sizeof help_options);
  struct argp_state nobody = {.name = argv[0], .argc = 0, .argv = argv, .err_stream = stderr};
  for (int i = 0; i < p.count; i++) {
    const cli_option *o = p.table[i];
    if (!o->preset && o->kind == CLI_REAL) *(double *)(p.arguments + o->offset) = NAN;
    if (!o->preset && o->kind == CLI_CHOICE) *(int *)(p.arguments + o->offset) = -1;
    if (o->preset)
      set(p.table[i], (char *)(uintptr_t)p.table[i]->preset, p.arguments + p.table[i]->offset,
          &nobody);
  }
  char *doc = NULL;
  if (asprintf(&doc, "%s\v%s", command->summary, command->examples) < 0) exit(EXIT_DEVICE);
  const struct argp argp = {p.argp, on_option, command->operand, doc, NULL, NULL, NULL};
  argp_err_exit_status = EXIT_USAGE;
  error_t failed = argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &p);
  free(doc);
  for (int i = 0; i < p.count; i++) free(p.owned[i]);
  if (failed) exit(EXIT_USAGE);
}
