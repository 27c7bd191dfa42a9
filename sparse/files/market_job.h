/* market_job.h - the state of reading one Matrix Market file: text in blocks of whole lines, the
 * banner and the size line, entries. Private to the files market_*.c. */
#pragma once

#include "lib/io/gzip.h"
#include "sparse/files/market.h"

enum { KAON_MARKET_PARTS = 16 }; /* more threads than a disk can supply gain nothing */

typedef struct kaon_market_job {
  const kaon_context *ctx;
  const kaon_bytes *bytes;
  const kaon_market_options *options;
  kaon_reader *reader;
  kaon_market_header header;
  int reals;           /* reals in a value; patterns store none, and their values are 1 */
  int64_t first, last; /* rows to collect */
  int parsing_ranks;   /* ranks that parse a share of each block; 1: this rank parses all of
                                it */
  char *buffer;        /* [room]: [at, cut) are whole lines that were not parsed yet */
  size_t room, have, at, cut, longest_line;
  int parts;          /* threads that parse a block */
  int ended;          /* the rest of the file is in the buffer */
  int64_t line;       /* lines before `at` */
  int64_t text;       /* bytes so far, after decompression */
  int64_t text_limit; /* of a compressed file: the most that its size line can need */
} kaon_market_job;

static inline int kaon_market_is_pattern(const kaon_market_job *job) {
  return job->header.field == KAON_MARKET_PATTERN;
}
/* Whether entries contain their indices. */
static inline int kaon_market_is_indexed(const kaon_market_job *job) {
  return !job->header.array;
}

/* Opens the text and reads up to the size line, inclusive. The caller must close it even after
 * failure. */
kaon_status kaon_market_begin(const kaon_context *ctx, const kaon_bytes *bytes,
                              const kaon_market_options *options, kaon_market_job *job);
void kaon_market_end(kaon_market_job *job);
/* Reads more lines into an empty [at, cut), which stays empty at the end of the file. */
kaon_status kaon_market_fill(kaon_market_job *job);

/* Reports the failure `status` of line `line`: "NAME, line N: ...". */
kaon_status kaon_market_fault(const kaon_market_job *job, kaon_status status, int64_t line,
                              const char *format, ...) KAON_PRINTF(4, 5);

/* Entries of some lines. Coordinate files: row and column (from 0) and value of the retained ones.
 * Arrays: only values. */
typedef struct kaon_market_part {
  const char *text, *end;
  int64_t line;              /* lines before them */
  int report;                /* 1: report a failure, with `line` being correct */
  int64_t room;              /* number of entries left by the size line */
  int64_t lines, seen, kept; /* lines, entries and retained entries so far */
  int32_t *row, *column;
  double *value;
  kaon_status status;
} kaon_market_part;

/* Parses until the end, or until the first failure, which is stored in part->status. */
void kaon_market_parse(const kaon_market_job *job, kaon_market_part *part);
/* The least bytes of an entry in the file. */
int kaon_market_shortest(const kaon_market_header *header);
/* The retained entries in file order. */
typedef struct kaon_market_entries {
  int64_t count, room;
  int32_t *row, *column; /* NULL: an array */
  double *value;         /* NULL: a pattern */
} kaon_market_entries;
/* Collects all entries after the size line. *entries must be zero initially and must be released in
 * any case. Errors: FORMAT, NOT_FINITE, MEMORY, IO. */
kaon_status kaon_market_collect(kaon_market_job *job, kaon_market_entries *entries);
void kaon_market_release(kaon_market_entries *entries);
/* Provides capacity for `need` entries. If it must grow, half as many are added. */
kaon_status kaon_market_reserve(const kaon_market_job *job, kaon_market_entries *entries,
                                int64_t need);

/* Totals over the ranks' shares of a block that ranks parse together (market_shared.c). */
typedef struct kaon_market_block_totals {
  int64_t lines, seen;
  int bad; /* a line is refused, or there are more than `rest` entries */
} kaon_market_block_totals;
/* Collective: the result is the same on all ranks. */
kaon_status kaon_market_block_sum(const kaon_market_job *job, const kaon_market_part *parts, int n,
                                  int64_t rest, kaon_market_block_totals *verdict);
/* Reports the failure in a block, on all ranks, which have the same text. */
kaon_status kaon_market_explain(const kaon_market_job *job, int64_t rest);
/* Sends the parts' entries to the ranks that need them, and appends the received ones to `entries`.
 * Collective, but the status may differ between ranks. */
kaon_status kaon_market_send(const kaon_market_job *job, const kaon_market_part *parts, int n,
                             kaon_market_entries *entries);
/* The bytes of one entry in memory. */
size_t kaon_market_bytes_each(const kaon_market_job *job);
/* How many entries a rank is expected to collect: all of an array; of one triangle those of its
 * rows and of its columns. */
int64_t kaon_market_expected(const kaon_market_job *job);

/* Turns the value of an entry off the diagonal into that of its mirror image. */
static inline void kaon_market_mirror(const kaon_market_job *job, double value[2]) {
  const kaon_market_symmetry symmetry = job->header.symmetry;
  if (symmetry == KAON_MARKET_SKEW) value[0] = -value[0];
  if (symmetry == KAON_MARKET_SKEW || symmetry == KAON_MARKET_HERMITIAN) value[1] = -value[1];
}

/* Describes an entry whose failure was found without its line: by its index in the file (number >=
 * 0), or by row and column (number -1). Unless the file is general, its mirror image matches
 * too. */
typedef struct kaon_market_target {
  int64_t number, row, column;
} kaon_market_target;
/* Reads the file again and finds the first `wanted` line numbers that match the target; 0 for
 * missing ones. */
kaon_status kaon_market_lines_of(const kaon_market_job *job, const kaon_market_target *target,
                                 int wanted, int64_t *lines);
/* The target of the first rank that has one (row >= 0), on all ranks. */
kaon_status kaon_market_share_target(const kaon_context *ctx, kaon_market_target *target);
/* Refuses a coordinate file with a symmetry that has entries in both triangles, and says what to do
 * (market_triangle.c). Collective. Errors: FORMAT, MEMORY. */
kaon_status kaon_market_check_triangle(const kaon_market_job *job,
                                       const kaon_market_entries *entries);
