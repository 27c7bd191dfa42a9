/* market_job.h - one reading of a Matrix Market file: text in blocks of whole lines, the two lines
 * that say what follows, entries. Between the files market_*.c. */
#ifndef KAON_SPARSE_MARKET_JOB_H
#define KAON_SPARSE_MARKET_JOB_H

#include "lib/io/gzip.h"
#include "sparse/files/market.h"

enum { KAON_MARKET_PARTS = 16 }; /* more threads than a disk can feed gain nothing */

typedef struct kaon_market_job {
  const kaon_context *ctx;
  const kaon_bytes *bytes;
  const kaon_market_options *options;
  kaon_reader *reader;
  kaon_market_header header;
  int reals;           /* numbers a value, of a pattern none are stored: its values are 1 */
  int64_t first, last; /* rows that are kept */
  int parsing_ranks;         /* ranks that parse a share of each block; 1: all of it is parsed here */
  char *buffer;        /* [room]: [at, cut) are whole lines that were not looked at yet */
  size_t room, have, at, cut, longest_line;
  int parts;          /* of a block: threads that parse */
  int ended;          /* all of the file is in the buffer */
  int64_t line;       /* lines in front of `at` */
  int64_t text;       /* bytes so far, inflated */
  int64_t text_limit; /* of a compressed file: nothing that it says needs more */
} kaon_market_job;

static inline int kaon_market_is_pattern(const kaon_market_job *job) {
  return job->header.field == KAON_MARKET_PATTERN;
}
/* Entries say where they are. */
static inline int kaon_market_is_indexed(const kaon_market_job *job) {
  return !job->header.array;
}

/* Opens the text and reads up to and with the size line. Close it in any case. */
kaon_status kaon_market_begin(const kaon_context *ctx, const kaon_bytes *bytes,
                              const kaon_market_options *options, kaon_market_job *job);
void kaon_market_end(kaon_market_job *job);
/* More lines into an empty [at, cut); it stays empty at the file's end. */
kaon_status kaon_market_fill(kaon_market_job *job);

/* The failure `status` of line `line`: "NAME, line N: ...". */
kaon_status kaon_market_fault(const kaon_market_job *job, kaon_status status, int64_t line,
                              const char *format, ...) KAON_PRINTF(4, 5);

/* Entries of some lines. Coordinate files: row and column (from 0) and value of those that are
 * kept; arrays: values alone. */
typedef struct kaon_market_part {
  const char *text, *end;
  int64_t line;              /* lines in front of them */
  int report;                /* 1: a failure is put into words, `line` being right */
  int64_t room;              /* entries that the size line leaves */
  int64_t lines, seen, kept; /* of them, so far */
  int32_t *row, *column;
  double *value;
  kaon_status status;
} kaon_market_part;

/* Parses until the end, or the first failure, which is part->status. */
void kaon_market_parse(const kaon_market_job *job, kaon_market_part *part);
/* Bytes that the shortest entry takes in the file. */
int kaon_market_shortest(const kaon_market_header *header);
/* Entries in the file's order: those that are kept. */
typedef struct kaon_market_entries {
  int64_t count, room;
  int32_t *row, *column; /* NULL: an array */
  double *value;         /* NULL: a pattern */
} kaon_market_entries;
/* All of the file's, from behind the size line. *entries: zeros before, to be released in any case.
 * Errors: FORMAT, NOT_FINITE, MEMORY, IO. */
kaon_status kaon_market_collect(kaon_market_job *job, kaon_market_entries *entries);
void kaon_market_release(kaon_market_entries *entries);
/* Room for `need` of them, and then for half as many again. */
kaon_status kaon_market_reserve(const kaon_market_job *job, kaon_market_entries *entries,
                                  int64_t need);

/* Blocks that ranks parse together (market_shared.c): what the shares of all of them come to. */
typedef struct kaon_market_block_totals {
  int64_t lines, seen;
  int bad; /* a line is refused, or there are more than `rest` entries */
} kaon_market_block_totals;
/* Collective: the same verdict on all ranks. */
kaon_status kaon_market_block_sum(const kaon_market_job *job, const kaon_market_part *parts, int n,
                              int64_t rest, kaon_market_block_totals *verdict);
/* The failure in a block, in words: by all ranks, which have the same text. */
kaon_status kaon_market_explain(const kaon_market_job *job, int64_t rest);
/* The parts' entries to the ranks that want them, and theirs to `entries`. Collective, but its
 * outcome is not agreed on. */
kaon_status kaon_market_send(const kaon_market_job *job, const kaon_market_part *parts, int n,
                             kaon_market_entries *entries);
/* That one of them takes. */
size_t kaon_market_bytes_each(const kaon_market_job *job);
/* How many a rank is expected to collect: of an array all, of one triangle those of its rows and of
 * its columns. */
int64_t kaon_market_expected(const kaon_market_job *job);

/* What failures are described by once they are found without their lines: entries by their number
 * in the file (number >= 0), or by their place (number -1), the mirrored one too unless the file is
 * general. */
typedef struct kaon_market_target {
  int64_t number, row, column;
} kaon_market_target;
/* Reads the file again: the numbers of the first `wanted` lines with the target, 0 where there are
 * none. */
kaon_status kaon_market_lines_of(const kaon_market_job *job, const kaon_market_target *target,
                                 int wanted, int64_t *lines);

#endif
