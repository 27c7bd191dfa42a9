/* market_parse.c - parses the entries of a Matrix Market file, line by line. Contract:
 * market_job.h. Threads parse without making messages. After a failure one thread parses the lines
 * again, with the correct line number, and makes the message. */
#include <stdlib.h>
#include <string.h>

#include "lib/io/decimal.h"
#include "sparse/files/market_job.h"

static inline int blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

static inline const char *skip(const char *p, const char *end) {
  while (p < end && blank(*p)) p++;
  return p;
}

/* The position of a line, for failures. */
typedef struct place {
  const kaon_market_job *job;
  const kaon_market_part *part;
} place;

#define FAULT(at, status, ...)                                                                   \
  ((at)->part->report                                                                            \
       ? kaon_market_fault((at)->job, status, (at)->part->line + (at)->part->lines, __VA_ARGS__) \
       : (status))

enum { SHOWN = 25 };

/* The word at p, as shown in a message. */
static const char *shown(const char *p, const char *end, char text[SHOWN]) {
  const char *stop = p;
  while (stop < end && !blank(*stop)) stop++;
  return kaon_printable(p, (size_t)(stop - p), text, SHOWN);
}

static const char *const coordinate_lines[] = {"row, column and value", "row, column and value",
                                               "row, column, real and imaginary part",
                                               "row and column"};
static const char *const array_lines[] = {"one value", "one value", "real and imaginary part", ""};

static const char *expected(const kaon_market_header *h) {
  return h->array ? array_lines[h->field] : coordinate_lines[h->field];
}

static kaon_status bad_index(const place *at, const char *what, const char *p, const char *end,
                             int64_t limit) {
  char text[SHOWN];
  if (p == end)
    return FAULT(at, KAON_ERR_FORMAT, "the %s is missing: a line gives %s; complete it", what,
                 expected(&at->job->header));
  return FAULT(
      at, KAON_ERR_FORMAT,
      "the %s is '%s', but line %lld says that it is a whole number from 1 to %lld; correct "
      "one of them",
      what, shown(p, end, text), (long long)at->job->header.line, (long long)limit);
}

/* A whole number from 1 to limit, followed by a blank or the end of the line. */
static inline kaon_status take_index(const place *at, const char *what, const char **p,
                                     const char *end, int64_t limit, int64_t *index) {
  const char *q = *p;
  if (kaon_decimal_count(&q, end, limit, index) != 1 || *index < 1 || (q < end && !blank(*q)))
    return bad_index(at, what, *p, end, limit);
  *p = skip(q, end);
  return KAON_OK;
}

static kaon_status bad_value(const place *at, kaon_decimal kind, const char *p, const char *end) {
  char text[SHOWN];
  if (p == end)
    return FAULT(at, KAON_ERR_FORMAT, "a number is missing: a line gives %s; complete it",
                 expected(&at->job->header));
  if (kind == KAON_DECIMAL_INFINITE)
    return FAULT(
        at, KAON_ERR_NOT_FINITE,
        "the value '%s' is no finite number that a double can hold (up to 1.8e308); correct "
        "it",
        shown(p, end, text));
  if (kind == KAON_DECIMAL_FRACTION)
    return FAULT(at, KAON_ERR_FORMAT,
                 "the value '%s' is no whole number, but line 1 says 'integer'; write 'real' there",
                 shown(p, end, text));
  return FAULT(at, KAON_ERR_FORMAT, "the value '%s' is no number; correct it", shown(p, end, text));
}

static inline kaon_status take_value(const place *at, const char **p, const char *end,
                                     double *value) {
  const char *q = *p;
  kaon_decimal kind = kaon_decimal_read(&q, end, value);
  if (q < end && !blank(*q)) kind = KAON_DECIMAL_NONE; /* other characters follow directly */
  if (kind > KAON_DECIMAL_FRACTION ||
      (kind == KAON_DECIMAL_FRACTION && at->job->header.field == KAON_MARKET_INTEGER))
    return bad_value(at, kind, *p, end);
  *p = skip(q, end);
  return KAON_OK;
}

static kaon_status check_diagonal(const place *at, int64_t i, const double value[2]) {
  const kaon_market_symmetry symmetry = at->job->header.symmetry;
  if (symmetry == KAON_MARKET_SKEW)
    return FAULT(
        at, KAON_ERR_FORMAT,
        "row %lld and column %lld lie on the diagonal, which a skew-symmetric file has not "
        "(it is 0); remove the line",
        (long long)i, (long long)i);
  if (symmetry == KAON_MARKET_HERMITIAN && value[1] != 0)
    return FAULT(at, KAON_ERR_FORMAT,
                 "the diagonal entry of row %lld has the imaginary part %g, but a Hermitian matrix "
                 "has 0 there; correct it, or write 'general' on line 1 and both triangles",
                 (long long)i, value[1]);
  return KAON_OK;
}

/* Nothing may follow, and the entry must be within the number given by the size line. */
static inline kaon_status finish(const place *at, const char *p, const char *end) {
  char text[SHOWN];
  if (p < end)
    return FAULT(at, KAON_ERR_FORMAT, "'%s' follows the entry: a line gives %s; remove it",
                 shown(p, end, text), expected(&at->job->header));
  if (at->part->seen >= at->part->room)
    return FAULT(at, KAON_ERR_FORMAT,
                 "it is one entry more than the %lld of line %lld; correct that number, or remove "
                 "what is too much",
                 (long long)at->job->header.stored, (long long)at->job->header.line);
  return KAON_OK;
}

static inline kaon_status coordinate(const kaon_market_job *job, kaon_market_part *part,
                                     const char *p, const char *end) {
  const place at = {job, part};
  const kaon_market_header *h = &job->header;
  int64_t i = 0, j = 0;
  double value[2] = {0, 0};
  KAON_TRY(take_index(&at, "row", &p, end, h->rows, &i));
  KAON_TRY(take_index(&at, "column", &p, end, h->columns, &j));
  if (h->field != KAON_MARKET_PATTERN) KAON_TRY(take_value(&at, &p, end, &value[0]));
  if (job->reals == 2) KAON_TRY(take_value(&at, &p, end, &value[1]));
  KAON_TRY(finish(&at, p, end));
  if (h->symmetry != KAON_MARKET_GENERAL && j == i) KAON_TRY(check_diagonal(&at, i, value));
  part->seen++;
  i--;
  j--;
  if ((i < job->first || i >= job->last) &&
      (h->symmetry == KAON_MARKET_GENERAL || j < job->first || j >= job->last))
    return KAON_OK;
  part->row[part->kept] = (int32_t)i;
  part->column[part->kept] = (int32_t)j;
  if (h->field != KAON_MARKET_PATTERN)
    memcpy(part->value + part->kept * job->reals, value, (size_t)job->reals * sizeof *value);
  part->kept++;
  return KAON_OK;
}

static inline kaon_status array(const kaon_market_job *job, kaon_market_part *part, const char *p,
                                const char *end) {
  const place at = {job, part};
  double *value = part->value + part->kept * job->reals;
  for (int c = 0; c < job->reals; c++) KAON_TRY(take_value(&at, &p, end, value + c));
  KAON_TRY(finish(&at, p, end));
  part->seen++;
  part->kept++;
  return KAON_OK;
}

static kaon_status parse_line(const kaon_market_job *job, kaon_market_part *part, const char *p,
                              const char *end) {
  if ((size_t)(end - p) > job->longest_line) {
    const place at = {job, part};
    return FAULT(&at, KAON_ERR_FORMAT, "it is longer than %zu characters; break it into several",
                 job->longest_line);
  }
  p = skip(p, end);
  if (p == end || *p == '%') return KAON_OK;
  return job->header.array ? array(job, part, p, end) : coordinate(job, part, p, end);
}

void kaon_market_parse(const kaon_market_job *job, kaon_market_part *part) {
  part->lines = part->seen = part->kept = 0;
  part->status = KAON_OK;
  for (const char *p = part->text; p < part->end;) {
    const char *end = memchr(p, '\n', (size_t)(part->end - p));
    if (end == NULL) end = part->end;
    part->lines++;
    part->status = parse_line(job, part, p, end);
    if (part->status != KAON_OK) return;
    p = end + 1;
  }
}

int kaon_market_shortest(const kaon_market_header *header) {
  static const int coordinates[] = {6, 6, 8, 4}; /* "1 1 1\n", ... */
  return header->array ? (header->field == KAON_MARKET_COMPLEX ? 4 : 2)
                       : coordinates[header->field];
}

typedef struct search {
  const kaon_market_target *target;
  int wanted, found;
  int64_t *lines;
  int64_t seen; /* entries so far */
} search;

static int is_target(const kaon_market_job *job, const search *s, const kaon_market_part *part) {
  const kaon_market_target *t = s->target;
  if (part->kept != 1) return 0;
  if (t->number >= 0) return s->seen == t->number;
  const int64_t i = *part->row, j = *part->column;
  return (i == t->row && j == t->column) ||
         (job->header.symmetry != KAON_MARKET_GENERAL && i == t->column && j == t->row);
}

/* Searches the lines in the buffer. */
static kaon_status look_for(kaon_market_job *job, search *s) {
  int32_t i = 0, j = 0;
  double value[2];
  while (job->at < job->cut && s->found < s->wanted) {
    const char *text = job->buffer + job->at;
    const char *end = memchr(text, '\n', job->cut - job->at);
    if (end == NULL) end = job->buffer + job->cut;
    kaon_market_part part = {.text = text,
                             .end = end,
                             .line = job->line,
                             .room = 1,
                             .report = 1,
                             .row = &i,
                             .column = &j,
                             .value = value};
    kaon_market_parse(job, &part);
    KAON_TRY(part.status);
    job->line++;
    if (is_target(job, s, &part)) s->lines[s->found++] = job->line;
    s->seen += part.seen;
    job->at = (size_t)(end - job->buffer) + (end < job->buffer + job->cut);
  }
  return KAON_OK;
}

kaon_status kaon_market_lines_of(const kaon_market_job *job, const kaon_market_target *target,
                                 int wanted, int64_t *lines) {
  kaon_market_options all = *job->options;
  kaon_market_job again;
  search s = {target, wanted, 0, lines, 0};
  memset(lines, 0, (size_t)wanted * sizeof *lines);
  all.rank = 0;
  all.ranks = 1;
  kaon_status status = kaon_market_begin(job->ctx, job->bytes, &all, &again);
  while (status == KAON_OK && s.found < wanted) {
    status = kaon_market_fill(&again);
    if (again.at == again.cut) break;
    if (status == KAON_OK) status = look_for(&again, &s);
  }
  kaon_market_end(&again);
  return status;
}
