/* cli_options.c - reads a command line by a table of options. getopt_long of the C library finds
 * names and abbreviations; a row of the table is the only place of a name, its default, its range
 * and its help. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/options/option_list.h"

static const cli_option common_options[] = {
    CLI_GROUP_ROW("Everywhere:"),
    {CLI_CHOICE, "backend", "auto|cpu|cuda", "auto", offsetof(cli_common, backend), 0, 0,
     "where to compute"},
    {CLI_INT, "threads", "N", NULL, offsetof(cli_common, threads), 1, 4096,
     "CPU threads (default: OMP_NUM_THREADS, else every processor). Results do not depend on it, "
     "except those of asynchronous methods."},
    {CLI_REAL, "memory-limit", "GIB", NULL, offsetof(cli_common, memory_limit), 1e-3, 1e6,
     "most memory that fields may take on the backend (default: all that is free)"},
    {CLI_REAL, "patience", "SECONDS", "600", offsetof(cli_common, patience), 0.01, 1e6,
     "a rank that waits longer than this for another one ends the job"},
    {CLI_TEXT, "tuning", "FILE.json", NULL, offsetof(cli_common, tuning), 0, 0,
     "launch kernels as this file of kaon tune says (default: built-in rules)"},
    {CLI_FILE, "report", "FILE.json", NULL, offsetof(cli_common, report), 0, 0,
     "write inputs and results as JSON"},
    {CLI_FLAG, "quiet", NULL, NULL, offsetof(cli_common, quiet), 0, 0, "print errors only"},
    CLI_END_ROW};

#define COMMON(member) offsetof(cli_common, member)

const cli_option cli_ranks_rows[] = {
    {CLI_CHOICE, "transport", CLI_TRANSPORTS, "auto", COMMON(transport), 0, 0,
     "how devices exchange messages: peer, stores into peers' memory; direct, MPI on device "
     "memory; nccl; host, through the hosts' memory"},
    {CLI_CHOICE, "overlap", CLI_OVERLAPS, "auto", COMMON(overlap), 0, 0,
     "how messages overlap with work: fused, inside one kernel; staged, during several kernels; "
     "none. updates: also during vector updates, with --method pipecg on a matrix."},
    CLI_END_ROW};

const cli_option cli_regime_rows[] = {
    {CLI_CHOICE, "regime", CLI_REGIMES, "auto", COMMON(regime), 0, 0,
     "how kernels of an iteration are issued. cublas: by cuBLAS, scalars on the host; kernels: one "
     "for each update and sum; merged: fused kernels; replay: recorded blocks of iterations; "
     "dynamic...: by the device itself (a loop, graphs, kernels that launch kernels, one "
     "persistent kernel). auto: a loop on a device."},
    CLI_END_ROW};

const cli_option cli_sync_rows[] = {
    {CLI_CHOICE, "sync", CLI_SYNCS, "auto", COMMON(sync), 0, 0,
     "how the host waits for a device. polling: occupies a core, lowest latency; blocking: sleeps; "
     "auto: polls for short waits."},
    CLI_END_ROW};

/* Keys of getopt_long; those of a row count from FIRST_KEY. */
enum { HELP_KEY = 512, HELP_ALL_KEY, FIRST_KEY = 1024 };

typedef struct parse {
  option_list list;
  cli_common *common;
  char **argv;
  int argc;
  int first[CLI_OPTIONS_MAX], last[CLI_OPTIONS_MAX]; /* words of the value: first .. last - 1 */
} parse;

int cli_option_given(const cli_common *common, const char *option) {
  for (int i = 0; i < CLI_OPTIONS_MAX; i++)
    if (common->given[i] && strcmp(common->given[i], option) == 0) return 1;
  return 0;
}

int options_find(const option_list *list, const char *name) {
  for (int i = 0; i < list->count; i++) {
    const cli_option *o = &list->row[i];
    if (o->kind == CLI_GROUP || strcmp(o->name, name) != 0) continue;
    return o->kind == CLI_ALIAS ? options_find(list, o->value) : i;
  }
  return -1;
}

static void add_table(option_list *list, const cli_option *table, size_t offset) {
  for (; table->name; table++) {
    if (table->kind == CLI_TABLE) {
      add_table(list, (const cli_option *)(const void *)table->value, offset + table->offset);
      continue;
    }
    if (list->count == CLI_OPTIONS_MAX) {
      cli_error("a defect in kaon: more than %d options", CLI_OPTIONS_MAX);
      exit(EXIT_DEVICE);
    }
    list->row[list->count] = *table;
    list->row[list->count++].offset += offset;
  }
}

static void *target(const parse *p, int i) {
  return (char *)p->common + p->list.row[i].offset;
}

static int set_presets(parse *p) {
  int code = EXIT_DONE;
  for (int i = 0; i < p->list.count && code == EXIT_DONE; i++) {
    const cli_option *o = &p->list.row[i];
    char *word = (char *)(uintptr_t)o->preset;
    int next = 0;
    if (o->kind == CLI_ALIAS) continue;
    if (!o->preset && o->kind == CLI_REAL) *(double *)target(p, i) = NAN;
    if (!o->preset && o->kind == CLI_CHOICE) *(int *)target(p, i) = -1;
    if (o->preset) code = option_read(o, &word, 1, &next, target(p, i));
  }
  return code;
}

/* Threads and memory concern a rank's own machine and may differ between ranks. */
static void note_for_ranks(const parse *p, const cli_option *o, int from, int to) {
  if (strcmp(o->name, "threads") == 0 || strcmp(o->name, "memory-limit") == 0) return;
  ranks_note_option(o->name);
  for (; from < to; from++) ranks_note_option(p->argv[from]);
}

/* The words of a value: "8 8 8 16". */
static const char *words_of(const parse *p, int from, int to, char text[256]) {
  text[0] = '\0';
  for (; from < to; from++) {
    const size_t used = strlen(text);
    snprintf(text + used, 256 - used, "%s%s", used ? " " : "", p->argv[from]);
  }
  return text;
}

static int refuse_twice(const parse *p, int i, int from, int to) {
  char text[2][256];
  const cli_option *o = &p->list.row[i];
  if (o->kind == CLI_FLAG) return cli_wrong("--%s is given twice; give it once", o->name);
  return cli_wrong("--%s is given twice, as %s and as %s; give it once", o->name,
                   words_of(p, p->first[i], p->last[i], text[0]), words_of(p, from, to, text[1]));
}

/* Option i, whose value is `value` (NULL: it takes none). */
static int on_option(parse *p, int i, char *value) {
  const cli_option *o = &p->list.row[i];
  const int repeatable = o->kind == CLI_LATTICES || o->kind == CLI_TEXTS;
  int from = value ? optind - 1 : optind, next = from;
  char *word = p->argv[from];
  if (value && value != word && strncmp(word, "--", 2) == 0) /* --name=value */
    p->argv[from] = value;
  else if (value && strncmp(value, "--", 2) == 0 && o->kind != CLI_EXTENTS &&
           o->kind != CLI_LATTICES)
    return cli_wrong("--%s needs a value (%s), but %s follows", o->name, o->value, value);
  int code = option_read(o, p->argv, p->argc, &next, target(p, i));
  if (code != EXIT_DONE) return code;
  if (value) optind = next;
  if (p->common->given[i] && !repeatable) return refuse_twice(p, i, from, next);
  p->common->given[i] = o->name;
  p->first[i] = from;
  p->last[i] = next;
  note_for_ranks(p, o, from, next);
  return EXIT_DONE;
}

/* All names, "a|b|c", or those that begin with `start`. */
static char *names_of(const option_list *list, const char *start) {
  char *names = calloc(CLI_OPTIONS_MAX, 40), *to = names;
  for (int i = 0; names && i < list->count; i++)
    if (list->row[i].kind != CLI_GROUP && strncmp(list->row[i].name, start, strlen(start)) == 0)
      to += snprintf(to, 40, "%s%s", to == names ? "" : "|", list->row[i].name);
  return names;
}

/* A word that is no option, or the beginning of several. */
static int on_unknown(const parse *p, const char *word) {
  char name[64], otherwise[128], hint[160];
  const char *start = word + strspn(word, "-");
  snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
  char *several = names_of(&p->list, name), *all = names_of(&p->list, "");
  if (!several || !all) exit(EXIT_DEVICE);
  snprintf(otherwise, sizeof otherwise, "; %s --help-all lists them", p->list.program);
  int code;
  if (options_find(&p->list, name) >= 0 && word[1] == '-')
    code = cli_wrong("--%s takes no value; found %s", name, word);
  else if (name[0] && several[0] && word[1] == '-')
    code = cli_wrong("--%s is the beginning of several options (%s); write one of them", name,
                     several);
  else
    code = cli_wrong("%.*s is not an option of %s%s", (int)strcspn(word, "="), word,
                     p->list.program, cli_did_you_mean(name, all, "--", otherwise, hint));
  free(several);
  free(all);
  return code;
}

static int on_operand(parse *p, const char *word) {
  const char *operand = p->list.command->operand;
  if (!operand)
    return cli_wrong("%s takes options only; %s is not one (options begin with --)",
                     p->list.program, word);
  if (p->common->operand)
    return cli_wrong("%s takes one %s; found %s and %s", p->list.program, operand,
                     p->common->operand, word);
  p->common->operand = word;
  ranks_note_option(word);
  return EXIT_DONE;
}

static _Noreturn void show_help(const parse *p, int all) {
  options_help(&p->list, all);
  exit(cli_printed(EXIT_DONE));
}

static void make_names(const option_list *list, struct option names[CLI_OPTIONS_MAX + 3]) {
  int n = 0;
  for (int i = 0; i < list->count; i++) {
    const int key = list->row[i].kind == CLI_GROUP ? -1 : options_find(list, list->row[i].name);
    if (key < 0) continue;
    const int value = list->row[key].kind != CLI_FLAG;
    names[n++] = (struct option){list->row[i].name, value, NULL, FIRST_KEY + key};
  }
  names[n++] = (struct option){"help", 0, NULL, HELP_KEY};
  names[n] = (struct option){"help-all", 0, NULL, HELP_ALL_KEY};
}

static int read_words(parse *p) {
  struct option names[CLI_OPTIONS_MAX + 3] = {{0}};
  int code = EXIT_DONE;
  make_names(&p->list, names);
  opterr = 0;
  while (code == EXIT_DONE) {
    const int at = optind > 0 ? optind : 1;
    const int key = getopt_long(p->argc, p->argv, "-:", names, NULL);
    if (key == -1) break;
    if (key == HELP_KEY || key == HELP_ALL_KEY) show_help(p, key == HELP_ALL_KEY);
    if (key == 1)
      code = on_operand(p, optarg);
    else if (key == ':')
      code = cli_wrong("--%s needs a value: %s", p->list.row[optopt - FIRST_KEY].name,
                       p->list.row[optopt - FIRST_KEY].value);
    else if (key == '?')
      code = on_unknown(p, p->argv[at]);
    else
      code = on_option(p, key - FIRST_KEY, optarg);
  }
  while (code == EXIT_DONE && optind < p->argc) code = on_operand(p, p->argv[optind++]);
  if (code == EXIT_DONE && p->list.command->operand && !p->common->operand)
    code = cli_wrong("%s: %s is missing; see %s --help", p->list.program, p->list.command->operand,
                     p->list.program);
  return code;
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
  parse p = {.list = {.command = command, .program = argv[0]},
             .common = arguments,
             .argv = argv,
             .argc = argc};
  memset(arguments, 0, command->arguments);
  ranks_note_option(command->name);
  keep_line(arguments, argc, argv);
  if (command->options) add_table(&p.list, command->options, 0);
  add_table(&p.list, common_options, 0);
  int code = set_presets(&p);
  if (code == EXIT_DONE) code = read_words(&p);
  if (code != EXIT_DONE) exit(code);
}
