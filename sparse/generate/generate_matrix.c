/* generate_matrix.c - names of generated matrices, and rows from their generators. Contract:
 * generate_matrix.h. */
#include "sparse/generate/generate_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kaon/sparse.h"
#include "lib/core/output.h"
#include "lib/io/decimal.h"
#include "sparse/storage/host_memory.h"
#include "lib/core/entry.h"

enum { MOST_NUMBERS = 3 };

/* Parameters after the colon: their names and limits; the first `least` are required. */
typedef struct maker {
  const char *name;
  int least, most;
  struct {
    const char *name;
    double low, high;
    int whole;
  } number[MOST_NUMBERS];
  kaon_status (*make)(const kaon_context *ctx, const double *numbers, int count, kaon_generator *g);
} maker;

static const maker makers[] = {
    {"laplace2d", 1, 1, {{"N", 1, 46340, 1}}, kaon_generate_laplace2d},
    {"laplace3d", 1, 1, {{"N", 1, 1290, 1}}, kaon_generate_laplace3d},
    {"laplace3d27", 1, 1, {{"N", 1, 1290, 1}}, kaon_generate_laplace3d27},
    {"convdiff3d", 2, 2, {{"N", 1, 1290, 1}, {"PECLET", 0, 1e9, 0}}, kaon_generate_convdiff3d},
    {"cavity3d", 1, 1, {{"N", 2, 1290, 1}}, kaon_generate_cavity3d},
    {"elasticity", 1, 1, {{"N", 2, 890, 1}}, kaon_generate_elasticity},
    {"trefethen", 1, 1, {{"N", 1, 50000000, 1}}, kaon_generate_trefethen},
    {"banded",
     2,
     3,
     {{"N", 1, 2147483647, 1}, {"B", 0, 100000, 1}, {"SEED", 0, 9e15, 1}},
     kaon_generate_banded},
    {"fem",
     3,
     3,
     {{"PROBLEM", 1, 3, 1}, {"DEGREE", 1, 3, 1}, {"LEVEL", 0, 11, 1}},
     kaon_generate_fem}};
enum { MAKERS = sizeof makers / sizeof makers[0] };

/* "convdiff3d:N,PECLET", "banded:N,B[,SEED]" */
static void signature(const maker *m, char *to, size_t room) {
  size_t at = 0;
  const char *text = m->name;
  for (int i = -1; i < m->most && at + 24 < room; i++) {
    if (i >= 0) {
      if (i >= m->least) to[at++] = '[';
      to[at++] = i == 0 ? ':' : ',';
      text = m->number[i].name;
    }
    memcpy(to + at, text, strlen(text));
    at += strlen(text);
    if (i >= m->least) to[at++] = ']';
  }
  to[at] = '\0';
}

static kaon_status unknown(const kaon_context *ctx, const char *name) {
  char names[320] = "", one[48];
  for (int i = 0; i < MAKERS; i++) {
    signature(&makers[i], one, sizeof one);
    if (i > 0) strcat(names, ", ");
    strcat(names, one);
  }
  return kaon_fail(ctx, KAON_ERR_ARGUMENT, "matrix '%.60s' is not known; there are %s", name,
                   names);
}

static const maker *find(const char *name) {
  const size_t length = strcspn(name, ":");
  for (int i = 0; i < MAKERS; i++)
    if (strlen(makers[i].name) == length && memcmp(makers[i].name, name, length) == 0)
      return &makers[i];
  return NULL;
}

static kaon_status take_number(const kaon_context *ctx, const maker *m, const char *name,
                               const char **at, int i, double *number) {
  const char *end = *at + strlen(*at);
  const kaon_decimal kind = kaon_decimal_read(at, end, number);
  if (kind <= KAON_DECIMAL_FRACTION && (*at == end || **at == ',') && *number >= m->number[i].low &&
      *number <= m->number[i].high && (!m->number[i].whole || *number == floor(*number)))
    return KAON_OK;
  return kaon_fail(
      ctx, KAON_ERR_ARGUMENT, "matrix '%.60s': %s must be a %snumber from %.17g to %.17g", name,
      m->number[i].name, m->number[i].whole ? "whole " : "", m->number[i].low, m->number[i].high);
}

static kaon_status parse(const kaon_context *ctx, const char *name, const maker *m,
                         double numbers[MOST_NUMBERS], int *count) {
  char wanted[48];
  const char *at = name + strlen(m->name);
  *count = 0;
  while (*at != '\0' && *count < m->most) {
    at++; /* skips the colon or a comma */
    KAON_TRY(take_number(ctx, m, name, &at, *count, &numbers[*count]));
    (*count)++;
  }
  if (*at == '\0' && *count >= m->least) return KAON_OK;
  signature(m, wanted, sizeof wanted);
  return kaon_fail(ctx, KAON_ERR_ARGUMENT, "matrix '%.60s' has too %s numbers; write %s", name,
                   *at == '\0' ? "few" : "many", wanted);
}

kaon_status kaon_matrix_generate_check(const char *name) {
  KAON_ENTER(NULL, name);
  double numbers[MOST_NUMBERS];
  int count = 0;
  const maker *m = find(name);
  return m == NULL ? unknown(NULL, name) : parse(NULL, name, m, numbers, &count);
}

static kaon_status make_generator(const kaon_context *ctx, const char *name, const maker *m,
                                  const double *numbers, int count, kaon_generator **generator) {
  kaon_generator *g = calloc(1, sizeof *g);
  if (g == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix '%.60s': out of host memory", name);
  g->release = free;
  kaon_status status = m->make(ctx, numbers, count, g);
  if (status == KAON_OK && g->rows > INT32_MAX)
    status = kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                       "matrix '%.60s' has %lld rows, but at most %d are supported", name,
                       (long long)g->rows, INT32_MAX);
  *generator = g;
  if (status != KAON_OK) kaon_generator_destroy(generator);
  return status;
}

kaon_status kaon_generator_create(const kaon_context *ctx, const char *name,
                                  kaon_generator **generator) {
  *generator = NULL;
  if (name == NULL) name = "";
  const maker *m = find(name);
  if (m == NULL) return unknown(ctx, name);
  double numbers[MOST_NUMBERS] = {0, 0, 0};
  int count = 0;
  KAON_TRY(parse(ctx, name, m, numbers, &count));
  return make_generator(ctx, name, m, numbers, count, generator);
}

void kaon_generator_destroy(kaon_generator **generator) {
  if (*generator == NULL) return;
  (*generator)->release((*generator)->table);
  free(*generator);
  *generator = NULL;
}

/* ---- rows ---- */

/* Where a thread writes a row that is only counted. */
typedef struct scratch {
  int32_t *column;
  double *value;
} scratch;

static int get_scratch(const kaon_generator *g, scratch *s) {
  s->column = malloc((size_t)g->longest * sizeof *s->column);
  s->value = malloc((size_t)g->longest * sizeof *s->value);
  return s->column != NULL && s->value != NULL;
}

static void free_scratch(scratch *s) {
  free(s->column);
  free(s->value);
}

/* length[i] = entries of row first + i. Returns 0 if there is no memory. */
static int count_rows(const kaon_generator *g, int64_t first, int64_t rows, int threads,
                      int64_t *length) {
  int failed = 0;
#pragma omp parallel num_threads(threads) reduction(| : failed)
  {
    scratch s;
    failed = !get_scratch(g, &s);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
      double rhs;
      if (!failed) length[i] = g->row(g, first + i, s.column, s.value, &rhs);
    }
    free_scratch(&s);
  }
  return !failed;
}

static void fill_rows(const kaon_generator *g, int64_t first, int threads, kaon_csr *csr,
                      double *own) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < csr->rows; i++) {
    double rhs = 0;
    g->row(g, first + i, csr->column + csr->start[i], csr->value + csr->start[i], &rhs);
    if (own != NULL) own[i] = rhs;
  }
}

static double bytes_of(int64_t rows, int64_t entries, int has_rhs) {
  return 12.0 * (double)entries + (has_rhs ? 16.0 : 8.0) * (double)rows;
}

kaon_status kaon_matrix_generate_query(const char *name, kaon_matrix_file_info *info) {
  KAON_ENTER(NULL, name, info);
  enum { MOST_LEVEL = 6 }; /* of fem, whose cells are divided by four at every level */
  double numbers[MOST_NUMBERS] = {0, 0, 0}, times = 1;
  int count = 0;
  kaon_generator *g = NULL;
  KAON_TRY(kaon_matrix_generate_check(name));
  KAON_TRY(kaon_output_check(NULL, "kaon_matrix_file_info", info));
  const maker *m = find(name);
  KAON_TRY(parse(NULL, name, m, numbers, &count));
  if (m->make == kaon_generate_fem && numbers[2] > MOST_LEVEL) {
    times = pow(4, numbers[2] - MOST_LEVEL);
    numbers[2] = MOST_LEVEL;
  }
  KAON_TRY(make_generator(NULL, name, m, numbers, count, &g));
  kaon_matrix_file_info made = {
      .rows = (int64_t)(times * (double)g->rows),
      .entries = (int64_t)(times * (double)g->entries),
      .stored = times > 1 ? 0 : g->entries,
      .reals = 1,
      .halves = m->make != kaon_generate_convdiff3d && m->make != kaon_generate_banded};
  made.bytes_rows = bytes_of(made.rows, made.entries, g->has_rhs);
  made.bytes_reading = made.bytes_rows;
  kaon_generator_destroy(&g);
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}

static kaon_status require_memory(const kaon_context *ctx, int64_t rows, int64_t entries,
                                  int has_rhs) {
  const double need = bytes_of(rows, entries, has_rhs), have = (double)kaon_host_memory();
  if (need <= have) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "a generated matrix of %lld rows and %lld entries needs %.3f GB of host memory, "
                   "but the machine has %.3f GB; take a smaller one, or more ranks",
                   (long long)rows, (long long)entries, need * 1e-9, have * 1e-9);
}

/* Checks memory before rows are counted: all rows have the known number of entries; a part has at
 * least one entry in each row. */
static kaon_status expect_rows(const kaon_context *ctx, const kaon_generator *g, int64_t rows,
                               int has_rhs) {
  if (rows == g->rows) return require_memory(ctx, rows, g->entries, has_rhs);
  const double need = bytes_of(rows, rows, has_rhs), have = (double)kaon_host_memory();
  if (need <= have) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "%lld of the %lld rows of a generated matrix need at least %.3f GB of host "
                   "memory, but the machine has %.3f GB; take a smaller one, or more ranks",
                   (long long)rows, (long long)g->rows, need * 1e-9, have * 1e-9);
}

/* Converts lengths to starts, in place. */
static int64_t sum_up(int64_t *start, int64_t rows) {
  int64_t entries = 0;
  for (int64_t i = 0; i <= rows; i++) {
    const int64_t length = i < rows ? start[i] : 0;
    start[i] = entries;
    entries += length;
  }
  return entries;
}

static kaon_status make_rows(const kaon_context *ctx, const kaon_generator *g, int64_t first,
                             int threads, int64_t *start, int64_t rows, kaon_csr **csr,
                             double *own) {
  if (!count_rows(g, first, rows, threads, start))
    return kaon_fail(ctx, KAON_ERR_MEMORY, "a generated matrix: out of host memory for a row of %d",
                     g->longest);
  const int64_t entries = sum_up(start, rows);
  KAON_TRY(require_memory(ctx, rows, entries, own != NULL));
  KAON_TRY(kaon_csr_create(ctx, rows, g->rows, 1, entries, csr));
  memcpy((*csr)->start, start, ((size_t)rows + 1) * sizeof *start);
  fill_rows(g, first, threads, *csr, own);
  return KAON_OK;
}

kaon_status kaon_generate_rows(const kaon_context *ctx, const kaon_generator *g, int64_t first,
                               int64_t last, int threads, kaon_csr **csr, double **own) {
  const int64_t rows = last - first;
  const int rhs = own != NULL && g->has_rhs;
  *csr = NULL;
  if (own != NULL) *own = NULL;
  KAON_TRY(expect_rows(ctx, g, rows, rhs));
  int64_t *start = malloc(((size_t)rows + 1) * sizeof *start);
  double *values = rhs ? malloc(((size_t)rows + 1) * sizeof *values) : NULL;
  kaon_status status = KAON_OK;
  if (start == NULL || (rhs && values == NULL))
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "a generated matrix: out of host memory for %lld rows",
                       (long long)rows);
  else
    status = make_rows(ctx, g, first, threads, start, rows, csr, values);
  free(start);
  if (status != KAON_OK)
    free(values);
  else if (rhs)
    *own = values;
  return status;
}
