/* market_header.c - reads the text of a Matrix Market file in blocks of whole lines, and parses the
 * banner and the size line. Contract: market_job.h. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm.h"
#include "lib/io/decimal.h"
#include "lib/io/formats/content.h"
#include "sparse/files/market_job.h"

enum {
  BLOCK = 4 << 20,
  HEAD_TEXT = 16 << 20, /* maximum comments and blank lines of a compressed file */
  ENTRY_TEXT = 128,     /* maximum text of an entry in it */
  DEFLATE_FACTOR = 1032 /* the largest factor of deflate (zlib's technical details) */
};
static const int64_t most_entries = INT64_C(1) << 56;

kaon_status kaon_market_fault(const kaon_market_job *job, kaon_status status, int64_t line,
                              const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return kaon_fail(job->ctx, status, "%s, line %lld: %s", job->bytes->name, (long long)line, text);
}

void kaon_rows_part(int64_t rows, int rank, int ranks, int64_t *first, int64_t *last) {
  const int64_t each = rows / ranks, more = rows % ranks;
  *first = each * rank + (rank < more ? rank : more);
  *last = *first + each + (rank < more);
}

/* ---- text ---- */

static kaon_status read_on(kaon_market_job *job) {
  while (!job->ended && job->have < job->room) {
    const size_t want = job->room - job->have;
    size_t got = 0;
    KAON_TRY(kaon_reader_read(job->reader, job->buffer + job->have, want, &got));
    job->have += got;
    job->text += (int64_t)got;
    job->ended = got < want;
    if (kaon_reader_is_compressed(job->reader) && job->text > job->text_limit)
      return kaon_fail(job->ctx, KAON_ERR_FORMAT,
                       "%s: this gzip file inflates to more than the %lld bytes that comments and "
                       "%lld entries can need; inflate it by gunzip and look at it",
                       job->bytes->name, (long long)job->text_limit, (long long)job->header.stored);
  }
  return KAON_OK;
}

kaon_status kaon_market_fill(kaon_market_job *job) {
  if (job->at < job->cut) return KAON_OK;
  memmove(job->buffer, job->buffer + job->at, job->have - job->at);
  job->have -= job->at;
  job->at = 0;
  job->cut = 0;
  KAON_TRY(read_on(job));
  job->cut = job->have;
  if (job->ended) return KAON_OK;
  while (job->cut > 0 && job->buffer[job->cut - 1] != '\n') job->cut--;
  if (job->cut > 0) return KAON_OK;
  return kaon_market_fault(job, KAON_ERR_FORMAT, job->line + 1,
                           "it is longer than %zu characters; break it into several, or correct "
                           "the file's ends of lines",
                           job->longest_line);
}

/* The next line without its end and its leading blanks; *text is NULL after the last line. */
static kaon_status next_line(kaon_market_job *job, const char **text, const char **end) {
  *text = *end = NULL;
  KAON_TRY(kaon_market_fill(job));
  if (job->at == job->cut) return KAON_OK;
  const char *begin = job->buffer + job->at;
  const char *stop = memchr(begin, '\n', job->cut - job->at);
  if (stop == NULL) stop = job->buffer + job->cut;
  job->at = (size_t)(stop - job->buffer) + (stop < job->buffer + job->cut);
  job->line++;
  if ((size_t)(stop - begin) > job->longest_line)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "it is longer than %zu characters; break it into several",
                             job->longest_line);
  while (begin < stop && isspace((unsigned char)*begin)) begin++;
  while (stop > begin && isspace((unsigned char)stop[-1])) stop--;
  *text = begin;
  *end = stop;
  return KAON_OK;
}

/* ---- banner ---- */

enum { BANNER_WORDS = 5, WORD = 24 };

/* The next word in lower case, truncated to what a message can show; "" if there is none. */
static const char *take_word(const char *p, const char *end, char word[WORD]) {
  int n = 0;
  while (p < end && isspace((unsigned char)*p)) p++;
  for (; p < end && !isspace((unsigned char)*p); p++)
    if (n < WORD - 1) word[n++] = *p > 0x20 && *p < 0x7f ? (char)tolower((unsigned char)*p) : '?';
  word[n] = '\0';
  return p;
}

typedef struct choice {
  const char *word;
  int value;
} choice;
static const choice formats[] = {{"coordinate", 0}, {"array", 1}, {NULL, 0}};
static const choice fields[] = {{"real", KAON_MARKET_REAL},
                                {"integer", KAON_MARKET_INTEGER},
                                {"complex", KAON_MARKET_COMPLEX},
                                {"pattern", KAON_MARKET_PATTERN},
                                {NULL, 0}};
static const choice symmetries[] = {{"general", KAON_MARKET_GENERAL},
                                    {"symmetric", KAON_MARKET_SYMMETRIC},
                                    {"skew-symmetric", KAON_MARKET_SKEW},
                                    {"hermitian", KAON_MARKET_HERMITIAN},
                                    {NULL, 0}};

static kaon_status choose(const kaon_market_job *job, const char *word, const char *what,
                          const choice *choices, int *value) {
  char names[96] = "";
  for (const choice *c = choices; c->word != NULL; c++) {
    if (strcmp(c->word, word) == 0) {
      *value = c->value;
      return KAON_OK;
    }
    if (c != choices) strcat(names, ", ");
    strcat(names, c->word);
  }
  return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                           "its %s is '%s', but must be one of %s; correct that word", what, word,
                           names);
}

static kaon_status check_banner(const kaon_market_job *job) {
  const kaon_market_header *h = &job->header;
  const char *symmetry = symmetries[h->symmetry].word;
  if (h->field == KAON_MARKET_PATTERN && h->array)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "an array cannot be a 'pattern'; write 'coordinate', or give values");
  if (h->field == KAON_MARKET_PATTERN && h->symmetry >= KAON_MARKET_SKEW)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "a pattern has no signs, so it cannot be '%s'; write 'general' or "
                             "'symmetric'",
                             symmetry);
  if (h->field != KAON_MARKET_COMPLEX && h->symmetry == KAON_MARKET_HERMITIAN)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "'hermitian' needs the field 'complex', not '%s'; a real one is "
                             "'symmetric'",
                             fields[h->field].word);
  return KAON_OK;
}

static kaon_status read_banner(kaon_market_job *job) {
  const char *p, *end;
  char words[BANNER_WORDS][WORD], rest[WORD];
  int value = 0;
  KAON_TRY(kaon_market_fill(job));
  if (job->cut > 2 && memcmp(job->buffer, "\xef\xbb\xbf", 3) == 0)
    job->at = 3; /* the mark of UTF-8 */
  KAON_TRY(next_line(job, &p, &end));
  if (p == NULL)
    return kaon_fail(job->ctx, KAON_ERR_FORMAT,
                     "%s: the file is empty; a Matrix Market file begins with a line "
                     "'%%%%MatrixMarket matrix coordinate real general'",
                     job->bytes->name);
  for (int i = 0; i < BANNER_WORDS; i++) p = take_word(p, end, words[i]);
  take_word(p, end, rest);
  if (strcmp(words[0], "%%matrixmarket") != 0 && !kaon_reader_is_compressed(job->reader)) {
    char text[KAON_CONTENT];
    return kaon_fail(job->ctx, KAON_ERR_FORMAT,
                     "%s: it is %s; but a Matrix Market file belongs here, which begins with "
                     "'%%%%MatrixMarket matrix ...'",
                     job->bytes->name, kaon_content_name(job->ctx, job->bytes, text));
  }
  if (strcmp(words[0], "%%matrixmarket") != 0)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "it begins with '%s', but a Matrix Market file with "
                             "'%%%%MatrixMarket matrix ...'; pass such a file",
                             words[0]);
  if (strcmp(words[1], "matrix") != 0)
    return kaon_market_fault(job, KAON_ERR_UNSUPPORTED, job->line,
                             "it announces a '%s', but only 'matrix' is read", words[1]);
  KAON_TRY(choose(job, words[2], "format", formats, &job->header.array));
  KAON_TRY(choose(job, words[3], "field", fields, &value));
  job->header.field = (kaon_market_field)value;
  KAON_TRY(choose(job, words[4], "symmetry", symmetries, &value));
  job->header.symmetry = (kaon_market_symmetry)value;
  if (rest[0] != '\0')
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "'%s' follows the five words of the banner; remove it", rest);
  job->reals = job->header.field == KAON_MARKET_COMPLEX ? 2 : 1;
  return check_banner(job);
}

/* ---- sizes ---- */

/* Reads one value of the size line, called `name`. */
static kaon_status take_size(const kaon_market_job *job, const char **p, const char *end,
                             const char *name, int64_t *size) {
  char word[WORD];
  while (*p < end && isspace((unsigned char)**p)) (*p)++;
  take_word(*p, end, word);
  const int found = kaon_decimal_count(p, end, most_entries, size);
  if (*p < end && !isspace((unsigned char)**p) && found >= 0)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "the number of %s is '%s', but must be a whole number of 0 and more; "
                             "correct it",
                             name, word);
  if (found == 0)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "the number of %s is missing; the line gives %s", name,
                             job->header.array ? "rows and columns" : "rows, columns and entries");
  if (found < 0)
    return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                             "the number of %s is %s, beyond %lld; correct it", name, word,
                             (long long)most_entries);
  return KAON_OK;
}

static kaon_status check_sizes(kaon_market_job *job) {
  const kaon_market_header *h = &job->header;
  if (h->rows > INT32_MAX || h->columns > INT32_MAX)
    return kaon_market_fault(job, KAON_ERR_UNSUPPORTED, h->line,
                             "%lld rows and %lld columns, but at most %d of either are supported",
                             (long long)h->rows, (long long)h->columns, INT32_MAX);
  if (h->symmetry != KAON_MARKET_GENERAL && h->rows != h->columns)
    return kaon_market_fault(job, KAON_ERR_FORMAT, h->line,
                             "%lld rows and %lld columns cannot be '%s', as line 1 says; correct "
                             "the sizes, or write 'general'",
                             (long long)h->rows, (long long)h->columns,
                             symmetries[h->symmetry].word);
  if (job->options->square && h->rows != h->columns)
    return kaon_market_fault(job, KAON_ERR_UNSUPPORTED, h->line,
                             "%lld rows and %lld columns, but systems are solved with square "
                             "matrices alone; pass one with as many rows as columns",
                             (long long)h->rows, (long long)h->columns);
  const int64_t factor = kaon_reader_is_compressed(job->reader) ? DEFLATE_FACTOR : 1;
  const int64_t most = (job->bytes->size / kaon_market_shortest(h) + 1) * factor;
  if (h->stored > most)
    return kaon_market_fault(
        job, KAON_ERR_FORMAT, h->line,
        "%lld entries are promised, but the file's %lld bytes cannot hold more "
        "than %lld; correct the sizes, or copy the file again",
        (long long)h->stored, (long long)job->bytes->size, (long long)most);
  return KAON_OK;
}

static int64_t array_entries(const kaon_market_header *h) {
  if (h->symmetry == KAON_MARKET_GENERAL) return h->rows * h->columns;
  return h->rows * (h->rows + (h->symmetry == KAON_MARKET_SKEW ? -1 : 1)) / 2;
}

static kaon_status read_sizes(kaon_market_job *job) {
  kaon_market_header *h = &job->header;
  const char *p, *end;
  char rest[WORD];
  do {
    KAON_TRY(next_line(job, &p, &end));
    if (p == NULL)
      return kaon_market_fault(job, KAON_ERR_FORMAT, job->line,
                               "the file ends here, before the line with its sizes; copy it again");
  } while (p == end || *p == '%');
  h->line = job->line;
  KAON_TRY(take_size(job, &p, end, "rows", &h->rows));
  KAON_TRY(take_size(job, &p, end, "columns", &h->columns));
  if (!h->array) KAON_TRY(take_size(job, &p, end, "entries", &h->stored));
  take_word(p, end, rest);
  if (rest[0] != '\0')
    return kaon_market_fault(
        job, KAON_ERR_FORMAT, job->line, "'%s' follows the sizes; %s files give %s", rest,
        formats[h->array].word, h->array ? "rows and columns" : "rows, columns and entries");
  if (h->array && h->rows <= INT32_MAX && h->columns <= INT32_MAX) h->stored = array_entries(h);
  return check_sizes(job);
}

/* A block for each of the first rank's threads, since all ranks share its reads, but no more than a
 * plain file contains. */
static kaon_status choose_room(kaon_market_job *job) {
  const size_t block = job->options->block > 0 ? job->options->block : BLOCK;
  job->parts =
      job->options->threads < KAON_MARKET_PARTS ? job->options->threads : KAON_MARKET_PARTS;
  int blocks = job->parts;
  KAON_TRY(kaon_broadcast(job->ctx, &blocks, sizeof blocks));
  job->room = block * (size_t)blocks;
  job->longest_line = block / 4;
  job->text_limit = HEAD_TEXT + (int64_t)job->room;
  if (!kaon_reader_is_compressed(job->reader) && job->bytes->size < (int64_t)job->room)
    job->room = (size_t)job->bytes->size + 1;
  return KAON_OK;
}

kaon_status kaon_market_begin(const kaon_context *ctx, const kaon_bytes *bytes,
                              const kaon_market_options *options, kaon_market_job *job) {
  *job = (kaon_market_job){.ctx = ctx, .bytes = bytes, .options = options, .parsing_ranks = 1};
  KAON_TRY(kaon_reader_open(ctx, bytes, &job->reader));
  KAON_TRY(choose_room(job));
  job->buffer = malloc(job->room);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, job->buffer != NULL,
                             "%s: out of host memory for %zu bytes of text", bytes->name,
                             job->room));
  KAON_TRY(read_banner(job));
  KAON_TRY(read_sizes(job));
  job->text_limit += job->header.stored * ENTRY_TEXT;
  kaon_rows_part(job->header.rows, options->rank, options->ranks, &job->first, &job->last);
  return KAON_OK;
}

void kaon_market_end(kaon_market_job *job) {
  kaon_reader_close(&job->reader);
  free(job->buffer);
  job->buffer = NULL;
}
