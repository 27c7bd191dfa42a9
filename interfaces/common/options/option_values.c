/* option_values.c - the value of an option: from words to numbers, with ranges. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/options/option_list.h"

enum { EXTENT_MAX = 1 << 20 };

const char *cli_choice(const char *choices, int index, char name[32]) {
  for (; index > 0 && choices; index--) {
    choices = strchr(choices, '|');
    if (choices) choices++;
  }
  if (!choices) return strcpy(name, "?");
  snprintf(name, 32, "%.*s", (int)strcspn(choices, "|"), choices);
  return name;
}

int cli_choice_index(const char *choices, const char *word) {
  char name[32];
  for (int i = 0; cli_choice(choices, i, name)[0] != '?'; i++)
    if (strcmp(name, word) == 0) return i;
  return -1;
}

static int read_integer(const char *word, long *number) {
  char *end;
  errno = 0;
  *number = strtol(word, &end, 10);
  return errno == 0 && end != word && *end == '\0';
}

int cli_read_seed(const char *word, uint64_t *seed) {
  char *end;
  errno = 0;
  *seed = strtoull(word, &end, 10);
  return errno == 0 && word[0] >= '0' && word[0] <= '9' && *end == '\0';
}

/* Four numbers in one word. */
static int read_extents(const char *word, long least, int extents[4]) {
  for (int mu = 0; mu < 4; mu++) {
    char *end;
    errno = 0;
    const long n = strtol(word, &end, 10);
    if (errno || end == word || n < least || n > EXTENT_MAX) return 0;
    extents[mu] = (int)n;
    if (mu < 3 && *end != 'x' && *end != ',') return 0;
    if (mu == 3 && *end != '\0') return 0;
    word = end + 1;
  }
  return 1;
}

/* "8x8x8x16" in one word, or this word and the next three. */
static int set_extents(const cli_option *o, char **argv, int argc, int *next, int extents[4]) {
  static const char *const found[] = {"none", "one", "two", "three"};
  const long least = o->max > 0 ? (long)o->min : 1; /* a row with a range may allow 0 */
  const char *example = strcmp(o->name, "grid") == 0 ? "1 1 2 2" : "8 8 8 16";
  if (read_extents(argv[*next], least, extents)) return ++*next, EXIT_DONE;
  for (int mu = 0; mu < 4; mu++, ++*next) {
    long n = 0;
    const char *word = *next < argc ? argv[*next] : "--";
    if (strncmp(word, "--", 2) == 0)
      return cli_wrong("--%s needs four numbers (%s), found %s; such as %s", o->name, o->value,
                       found[mu], example);
    if (!read_integer(word, &n) || n < least || n > EXTENT_MAX)
      return cli_wrong("--%s takes four %s integers (%s), such as %s; found %s", o->name,
                       least > 0 ? "positive" : "non-negative", o->value, example, word);
    extents[mu] = (int)n;
  }
  return EXIT_DONE;
}

static int set_real(const cli_option *o, const char *word, double *to) {
  char *end;
  *to = strtod(word, &end);
  if (end == word || *end != '\0' || !isfinite(*to))
    return cli_wrong("--%s takes a number; found %s", o->name, word);
  if ((o->min != 0 || o->max != 0) && (*to < o->min || *to > o->max))
    return cli_wrong("--%s is %g; it must lie between %g and %g", o->name, *to, o->min, o->max);
  return EXIT_DONE;
}

static int set_integer(const cli_option *o, const char *word, int *to) {
  long n = 0;
  if (!read_integer(word, &n)) return cli_wrong("--%s takes an integer; found %s", o->name, word);
  if ((o->min != 0 || o->max != 0) && ((double)n < o->min || (double)n > o->max))
    return cli_wrong("--%s is %ld; it must lie between %.0f and %.0f", o->name, n, o->min, o->max);
  *to = (int)n;
  return EXIT_DONE;
}

static int set_choice(const cli_option *o, const char *word, int *to) {
  char hint[160];
  *to = cli_choice_index(o->value, word);
  if (*to >= 0) return EXIT_DONE;
  return cli_wrong("--%s is %s; it must be one of %s%s", o->name, word, o->value,
                   cli_did_you_mean(word, o->value, "", "", hint));
}

static int set_entries(const cli_option *o, const char *words, unsigned *to) {
  char word[32], hint[160];
  if (!*words)
    return cli_wrong("--%s is empty; it must be a list, with commas, of %s", o->name, o->value);
  for (*to = 0; *words; words += *words == ',') {
    const int length = (int)strcspn(words, ",");
    snprintf(word, sizeof word, "%.*s", length, words);
    words += length;
    const int index = cli_choice_index(o->value, word);
    if (index < 0)
      return cli_wrong("--%s has %s; it must be a list, with commas, of %s%s", o->name, word,
                       o->value, cli_did_you_mean(word, o->value, "", "", hint));
    *to |= 1u << index;
  }
  return EXIT_DONE;
}

static int set_counts(const cli_option *o, const char *words, cli_counts *to) {
  for (to->count = 0;; to->count++) {
    char *end;
    const long n = strtol(words, &end, 10);
    if (end == words || n < o->min || n > o->max || to->count == CLI_COUNTS_MAX)
      return cli_wrong("--%s takes up to %d numbers from %.0f to %.0f, with commas; found %s",
                       o->name, CLI_COUNTS_MAX, o->min, o->max, words);
    to->value[to->count] = (int)n;
    words = end + (*end == ',');
    if (*end == '\0') break;
  }
  to->count++;
  return EXIT_DONE;
}

static int set_file(const cli_option *o, const char *word) {
  if (word[0]) {
    char name[128];
    snprintf(name, sizeof name, "--%s", o->name);
    return cli_writable(name, word);
  }
  return cli_wrong("--%s is empty; it takes the name of a file to write", o->name);
}

static int too_many(const cli_option *o, int most) {
  return cli_wrong("--%s may be given at most %d times", o->name, most);
}

/* Options of one word. */
static int set_word(const cli_option *o, char *word, void *to) {
  cli_texts *texts = to;
  switch (o->kind) {
    case CLI_INT:
      return set_integer(o, word, to);
    case CLI_REAL:
      return set_real(o, word, to);
    case CLI_SEED:
      if (cli_read_seed(word, to)) return EXIT_DONE;
      return cli_wrong("--%s takes an integer from 0 to 2^64 - 1; found %s", o->name, word);
    case CLI_CHOICE:
      return set_choice(o, word, to);
    case CLI_SET:
      return set_entries(o, word, to);
    case CLI_COUNTS:
      return set_counts(o, word, to);
    case CLI_TEXTS:
      if (texts->count == CLI_TEXTS_MAX) return too_many(o, CLI_TEXTS_MAX);
      texts->text[texts->count++] = word;
      return EXIT_DONE;
    case CLI_FILE:
      if (set_file(o, word) != EXIT_DONE) return EXIT_USAGE; /* fallthrough */
    default:
      *(const char **)to = word;
      return EXIT_DONE;
  }
}

int option_read(const cli_option *o, char **argv, int argc, int *next, void *to) {
  cli_lattices *lattices = to;
  switch (o->kind) {
    case CLI_FLAG:
      *(int *)to = 1;
      return EXIT_DONE;
    case CLI_EXTENTS:
      return set_extents(o, argv, argc, next, to);
    case CLI_LATTICES:
      if (lattices->count == CLI_LATTICES_MAX) return too_many(o, CLI_LATTICES_MAX);
      return set_extents(o, argv, argc, next, lattices->extents[lattices->count++]);
    default:
      return set_word(o, argv[(*next)++], to);
  }
}
