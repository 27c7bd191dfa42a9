/* linear_permutation.c - --permutation FILE: the rows of a matrix in the order of a sweep. A row
 * number a line, counted from 1 as in Matrix Market files; empty lines and those that begin with #
 * or % count for nothing. Contract: linear.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interfaces/common/linear/linear.h"

enum { LINE_MAX_BYTES = 4096 };

typedef struct order_file {
  const char *path, *matrix;
  int64_t rows;
  int64_t found; /* numbers in the file */
  int64_t *row;  /* of the first `rows` of them: the number as it stands there */
  int64_t *line; /* and where */
} order_file;

/* The word that is no number, as far as it can be shown. */
static void show(const char *word, char text[40]) {
  int n = 0;
  for (; n < 36 && word[n] && word[n] != '\n' && word[n] != '\r'; n++)
    text[n] = isprint((unsigned char)word[n]) ? word[n] : '?';
  text[n] = '\0';
}

/* The number of one line, if it has one. Exit status. */
static int take_line(order_file *f, const char *text, size_t length, int64_t line) {
  const char *word = text + strspn(text, " \t\r\n\v\f");
  char *end = NULL, shown[40];
  if (word == text + length || *word == '#' || *word == '%') return EXIT_DONE;
  errno = 0;
  const long long number = strtoll(word, &end, 10);
  const int whole = end != word && end + strspn(end, " \t\r\n\v\f") == text + length;
  show(word, shown);
  if (!whole)
    return cli_wrong(
        "--permutation %s, line %lld: '%s' is not a row number; give one a line, the rows of "
        "--matrix %s counted from 1 to %lld",
        f->path, (long long)line, shown, f->matrix, (long long)f->rows);
  if (errno || number < 1 || number > f->rows)
    return cli_wrong(
        "--permutation %s, line %lld: %s is not a row of --matrix %s; its rows are counted from 1 "
        "to %lld",
        f->path, (long long)line, shown, f->matrix, (long long)f->rows);
  if (f->found < f->rows) {
    f->row[f->found] = number;
    f->line[f->found] = line;
  }
  f->found++;
  return EXIT_DONE;
}

/* A line with its end, as far as there is room, which a file that never ends one does not decide;
 * its length, 0 at the file's end. */
static size_t read_line(FILE *in, char *text, size_t room) {
  size_t length = 0;
  for (int c = 0; c != '\n' && length + 1 < room && (c = getc(in)) != EOF;)
    text[length++] = (char)c;
  text[length] = '\0';
  return length;
}

static int take_lines(order_file *f, FILE *in) {
  char text[LINE_MAX_BYTES];
  int code = EXIT_DONE;
  size_t length;
  errno = 0;
  for (int64_t line = 1; code == EXIT_DONE && (length = read_line(in, text, sizeof text)) > 0;
       line++) {
    if (length + 1 == sizeof text && text[length - 1] != '\n')
      code = cli_wrong(
          "--permutation %s, line %lld: longer than %d characters; give a row number a line",
          f->path, (long long)line, LINE_MAX_BYTES - 2);
    else
      code = take_line(f, text, length, line);
  }
  if (code == EXIT_DONE && !feof(in))
    code = cli_wrong("--permutation %s cannot be read: %s", f->path, strerror(errno));
  return code;
}

/* Each row once; order[n]: the n-th row, from 0. */
static int take_order(const order_file *f, int32_t *order) {
  int64_t *first = calloc((size_t)f->rows + 1, sizeof *first);
  int code = EXIT_DONE;
  if (!first) {
    cli_error("out of memory for the %lld rows of --permutation", (long long)f->rows);
    return EXIT_DEVICE;
  }
  for (int64_t n = 0; n < f->found && n < f->rows && code == EXIT_DONE; n++) {
    const int64_t row = f->row[n];
    if (first[row])
      code = cli_wrong(
          "--permutation %s, line %lld: row %lld was on line %lld already; each row comes once",
          f->path, (long long)f->line[n], (long long)row, (long long)first[row]);
    first[row] = f->line[n];
    order[n] = (int32_t)(row - 1);
  }
  free(first);
  return code;
}

int permutation_read(const char *path, const char *matrix, int64_t rows, int32_t **order) {
  const size_t room = (size_t)rows + 1;
  order_file f = {
      path, matrix, rows, 0, malloc(room * sizeof *f.row), malloc(room * sizeof *f.line)};
  struct stat st;
  const int odd = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
  FILE *in = odd ? NULL : fopen(path, "r");
  int code = EXIT_DONE;
  *order = malloc(room * sizeof **order);
  if (odd) {
    code = cli_wrong("--permutation %s is no ordinary file; give one that has a row number a line",
                     path);
  } else if (!in) {
    code = cli_wrong("--permutation %s cannot be opened: %s", path, strerror(errno));
  } else if (!f.row || !f.line || !*order) {
    cli_error("out of memory for the %lld rows of --permutation", (long long)rows);
    code = EXIT_DEVICE;
  }
  if (code == EXIT_DONE) code = take_lines(&f, in);
  if (code == EXIT_DONE && f.found != rows)
    code = cli_wrong(
        "--permutation %s has %lld row numbers, but --matrix %s has %lld rows; give each row once",
        path, (long long)f.found, matrix, (long long)rows);
  if (code == EXIT_DONE) code = take_order(&f, *order);
  if (in) fclose(in);
  free(f.row);
  free(f.line);
  if (code != EXIT_DONE) {
    free(*order);
    *order = NULL;
  }
  return code;
}

int permutation_draw(int64_t rows, int32_t **order) {
  uint64_t state = 1;
  *order = malloc(((size_t)rows + 1) * sizeof **order);
  if (!*order) {
    cli_error("out of memory for an order of %lld rows", (long long)rows);
    return EXIT_DEVICE;
  }
  for (int64_t i = 0; i < rows; i++) (*order)[i] = (int32_t)i;
  for (int64_t i = rows - 1; i > 0; i--) { /* Fisher and Yates, with Knuth's MMIX generator */
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const int64_t other = (int64_t)((state >> 33) % (uint64_t)(i + 1));
    const int32_t was = (*order)[i];
    (*order)[i] = (*order)[other];
    (*order)[other] = was;
  }
  return EXIT_DONE;
}
