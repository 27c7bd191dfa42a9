/* test_market_common.h - Matrix Market files in memory, and their refusals. */
#ifndef KAON_TEST_MARKET_COMMON_H
#define KAON_TEST_MARKET_COMMON_H

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "test_io_common.h"

#include "sparse/files/market.h"

#define NAME "matrix-file"
#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define ARRAY "%%MatrixMarket matrix array real general\n"

static inline kaon_status read_bytes(const void *text, size_t size,
                                     const kaon_market_options *options, kaon_csr **csr) {
  kaon_market_header header;
  kaon_bytes bytes;
  kaon_bytes_from_memory(NAME, text, size, &bytes);
  return kaon_market_read(NULL, &bytes, options, &header, csr);
}

static inline kaon_status read_text(const char *text, const kaon_market_options *options,
                                    kaon_csr **csr) {
  return read_bytes(text, strlen(text), options, csr);
}

static inline kaon_csr *must_read(const char *text) {
  const kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_csr *csr = NULL;
  assert_ok(read_text(text, &options, &csr));
  return csr;
}

/* The entry (i, j) from 0, 0 where there is none. */
static inline double entry(const kaon_csr *csr, int i, int j, int part) {
  const int64_t at = kaon_csr_find(csr, i, j);
  return at < 0 ? 0 : csr->value[at * csr->reals + part];
}

static inline void assert_same_rows(const kaon_csr *a, const kaon_csr *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->columns, b->columns);
  assert_int_equal(a->reals, b->reals);
  const int64_t entries = a->start[a->rows];
  assert_memory_equal(a->start, b->start, ((size_t)a->rows + 1) * sizeof *a->start);
  if (entries == 0) return;
  assert_memory_equal(a->column, b->column, (size_t)entries * sizeof *a->column);
  assert_memory_equal(a->value, b->value, (size_t)(entries * a->reals) * sizeof *a->value);
}

static inline unsigned char *compressed(const void *data, size_t size, size_t *out) {
  z_stream z = {0};
  const size_t room = compressBound(size) + 64;
  unsigned char *to = malloc(room);
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = (unsigned char *)(uintptr_t)data;
  z.avail_in = (uInt)size;
  z.next_out = to;
  z.avail_out = (uInt)room;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  *out = room - z.avail_out;
  deflateEnd(&z);
  return to;
}

typedef struct wrong {
  const char *text;
  int line; /* that the sentence names; 0: none */
  kaon_status status;
  const char *said[3]; /* values and remedy */
} wrong;

#define BAD KAON_ERR_FORMAT
static inline void check_wrong(const wrong *w, const void *data, size_t size, int print) {
  for (int threads = 1; threads <= 3; threads += 2) {
    kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
    kaon_csr *csr = NULL;
    char line[32];
    options.threads = threads;
    const kaon_status status = read_bytes(data, size, &options, &csr);
    const char *said = kaon_last_error(NULL);
    if (print && threads == 1) print_message("%s\n", said);
    if (status != w->status) fail_msg("status %d for %s: %s", (int)status, w->text, said);
    assert_null(csr);
    snprintf(line, sizeof line, ", line %d: ", w->line);
    if (!strstr(said, NAME) || (w->line > 0 && !strstr(said, line)))
      fail_msg("no '%s%s' for %s: %s", NAME, line, w->text, said);
    for (int k = 0; k < 3 && w->said[k] != NULL; k++)
      if (!strstr(said, w->said[k])) fail_msg("no \"%s\" in: %s", w->said[k], said);
  }
}

#endif
