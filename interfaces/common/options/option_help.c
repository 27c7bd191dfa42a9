/* option_help.c - --help and --help-all: lays out the rows of a command's options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/options/option_list.h"

enum { SHORT_LIST = 48, WIDTH = 79, MARGIN = 29 };

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

/* Length of the first sentence, without its full stop; a full stop in parentheses ends none. */
static int first_sentence(const char *text) {
  int depth = 0, i = 0;
  for (; text[i]; i++) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && (text[i] == '.' || text[i] == ';') && (text[i + 1] == ' ' || !text[i + 1]))
      break;
  }
  return i;
}

/* The text of an option. It includes a long list of choices, since the column of placeholders is
 * narrow. */
static char *help_text(const cli_option *o, int all, const char **placeholder) {
  const int choices = o->kind == CLI_CHOICE || o->kind == CLI_SET;
  char *list = choices && strlen(o->value) > SHORT_LIST ? listed(o->value) : NULL, *text = NULL;
  *placeholder = list ? (o->kind == CLI_SET ? "NAME,..." : "NAME") : o->value;
  const int length = all ? (int)strlen(o->meaning) : first_sentence(o->meaning);
  const char *before = length && o->meaning[length - 1] == '.' ? " Values: " : ": ";
  const int told = o->preset != NULL && strstr(o->meaning, "(default") == NULL;
  if (asprintf(&text, "%.*s%s%s%s%s%s", length, o->meaning, list ? before : "", list ? list : "",
               told ? " (default " : "", told ? o->preset : "", told ? ")" : "") < 0)
    text = NULL;
  free(list);
  return text;
}

/* Prints the words of one line of text, broken before WIDTH; the cursor is at `column`, further
 * lines begin at `margin`. */
static void print_words(const char *text, int column, int margin) {
  for (int first = 1; *text && *text != '\n'; first = 0) {
    const int length = (int)strcspn(text, " \n");
    if (!first && column + 1 + length > WIDTH) {
      printf("\n%*s", margin, "");
      column = margin;
    } else if (!first) {
      putchar(' ');
      column++;
    }
    printf("%.*s", length, text);
    column += length;
    text += length + (int)strspn(text + length, " ");
  }
  putchar('\n');
}

/* Paragraphs; lines that begin with spaces, which are examples, stay as they are. */
static void print_text(const char *text) {
  while (text && *text) {
    const int length = (int)strcspn(text, "\n");
    if (*text == ' ')
      printf("%.*s\n", length, text);
    else if (length == 0)
      putchar('\n');
    else
      print_words(text, 0, 0);
    text += length + (text[length] == '\n');
  }
}

static void print_row(const char *name, const char *value, const char *text) {
  const int used = printf("      --%s%s%s", name, value ? "=" : "", value ? value : "");
  if (used >= MARGIN)
    printf("\n%*s", MARGIN, "");
  else
    printf("%*s", MARGIN - used, "");
  print_words(text, MARGIN, MARGIN);
}

static void print_option(const cli_option *o, int all) {
  const char *value = NULL;
  char *text = help_text(o, all, &value);
  print_row(o->name, value, text ? text : "");
  free(text);
}

static void print_daily(const option_list *list) {
  char name[32];
  for (const char *names = list->command->daily; *names;) {
    const int length = (int)strcspn(names, " ");
    snprintf(name, sizeof name, "%.*s", length, names);
    const int i = options_find(list, name);
    if (i < 0) cli_error("a defect in %s: --%s of its help is no option", list->program, name);
    if (i >= 0) print_option(&list->row[i], 0);
    names += length + (int)strspn(names + length, " ");
  }
}

static void print_all(const option_list *list) {
  for (int i = 0; i < list->count; i++) {
    const cli_option *o = &list->row[i];
    if (o->kind == CLI_GROUP)
      printf("%s %s\n", i > 0 ? "\n" : "", o->name);
    else if (o->kind != CLI_ALIAS)
      print_option(o, 1);
  }
  putchar('\n');
}

void options_help(const option_list *list, int all) {
  const cli_command *c = list->command;
  const char *more = strstr(c->examples, "\n\n");
  const int examples = more ? (int)(more - c->examples) : (int)strlen(c->examples);
  printf("Usage: %s [OPTION...]%s%s\n", list->program, c->operand ? " " : "",
         c->operand ? c->operand : "");
  print_words(c->summary, 0, 0);
  printf("\n%.*s\n\n", examples, c->examples);
  all = all || !c->daily;
  if (all)
    print_all(list);
  else
    print_daily(list);
  print_row("help", NULL, "show the options of daily use");
  print_row("help-all", NULL, "show all options");
  if (all && more) {
    putchar('\n');
    print_text(more + 2);
  }
}
