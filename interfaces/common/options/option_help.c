/* option_help.c - --help and --help-all. argp of the C library lays them out; it wraps lines and
 * prints options in groups. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/options/option_list.h"

enum { SHORT_LIST = 48, FIRST_KEY = 1024 };

typedef struct help {
  struct argp_option row[CLI_OPTIONS_MAX + 3];
  char *owned[CLI_OPTIONS_MAX];
  int count;
} help;

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

/* Length of the first sentence, without its full stop; what stands in parentheses ends none. */
static int first_sentence(const char *text) {
  int depth = 0, i = 0;
  for (; text[i]; i++) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && (text[i] == '.' || text[i] == ';') && (text[i + 1] == ' ' || !text[i + 1]))
      break;
  }
  return i;
}

/* The text of an option. A long list of choices stands in it, since the column of placeholders is
 * narrow. */
static char *help_text(const cli_option *o, int all, const char **placeholder) {
  const int choices = o->kind == CLI_CHOICE || o->kind == CLI_SET;
  char *list = choices && strlen(o->value) > SHORT_LIST ? listed(o->value) : NULL, *text = NULL;
  *placeholder = list ? (o->kind == CLI_SET ? "NAME,..." : "NAME") : o->value;
  const int length = all ? (int)strlen(o->meaning) : first_sentence(o->meaning);
  const int told = o->preset != NULL && strstr(o->meaning, "(default") == NULL;
  if (asprintf(&text, "%.*s%s%s%s%s%s", length, o->meaning, list ? ": " : "", list ? list : "",
               told ? " (default " : "", told ? o->preset : "", told ? ")" : "") < 0)
    text = NULL;
  free(list);
  return text;
}

static void add(help *h, const cli_option *o, int group, int all) {
  struct argp_option *a = &h->row[h->count];
  a->group = group;
  if (o->kind == CLI_GROUP) {
    a->doc = o->name;
  } else {
    a->name = o->name;
    a->key = FIRST_KEY + h->count;
    a->doc = h->owned[h->count] = help_text(o, all, &a->arg);
  }
  h->count++;
}

/* Each in a group without a heading, which keeps the order. */
static void add_daily(help *h, const option_list *list) {
  char name[32];
  const char *names = list->command->daily;
  for (int group = 1; *names; group++) {
    const int length = (int)strcspn(names, " ");
    snprintf(name, sizeof name, "%.*s", length, names);
    const int i = options_find(list, name);
    if (i < 0) cli_error("a defect in %s: --%s of its help is no option", list->program, name);
    if (i >= 0) add(h, &list->row[i], group, 0);
    names += length + (int)strspn(names + length, " ");
  }
}

static void add_all(help *h, const option_list *list) {
  int group = 0;
  for (int i = 0; i < list->count; i++) {
    if (list->row[i].kind == CLI_GROUP) group++;
    if (list->row[i].kind != CLI_ALIAS) add(h, &list->row[i], group, 1);
  }
}

void options_help(const option_list *list, int all) {
  const cli_command *c = list->command;
  help h = {.count = 0};
  char *doc = NULL, *program = strdup(list->program);
  const char *text = strstr(c->examples, "\n\n");
  const int examples = text ? (int)(text - c->examples) : (int)strlen(c->examples);
  if (!c->daily) all = 1;
  if (all)
    add_all(&h, list);
  else
    add_daily(&h, list);
  h.row[h.count] = (struct argp_option){"help", '?', NULL, 0, "show the options of daily use", -1};
  h.row[h.count + 1] =
      (struct argp_option){"help-all", FIRST_KEY - 1, NULL, 0, "show all options", -1};
  if (asprintf(&doc, "%s\n\n%.*s\v%s", c->summary, examples, c->examples,
               all && text ? text + 2 : "") < 0 ||
      !program)
    exit(EXIT_DEVICE);
  const struct argp argp = {h.row, NULL, c->operand, doc, NULL, NULL, NULL};
  argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, program);
  for (int i = 0; i < h.count; i++) free(h.owned[i]);
  free(doc);
  free(program);
}
