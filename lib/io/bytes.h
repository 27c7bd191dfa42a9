/* bytes.h - random-access input for the parsers: a file, or memory (fuzzing, tests).
 * Parsers ask for byte ranges; every range is checked against the size, so that no header number
 * can make a parser read outside. Also: the conversion of stored words to doubles, and text for
 * sentences. */
#ifndef KAON_LIB_IO_BYTES_H
#define KAON_LIB_IO_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/core/error.h"

/* Of a context with several ranks a file is rank 0's: it opens and reads, and all ranks get the
 * bytes and the outcome. So every rank parses the same bytes and comes to the same verdict. */
typedef struct kaon_bytes {
  const char *name;            /* for sentences: the path, its end if it is long; not owned */
  const unsigned char *memory; /* NULL: a file */
  int64_t size;
  int fd; /* -1: memory, or rank 0's file */
} kaon_bytes;

/* Opens a regular file. `path` must outlive *bytes. Collective over ctx' ranks (NULL: none), as is
 * kaon_bytes_read of it with the same ctx. Errors: IO, ARGUMENT. */
kaon_status kaon_bytes_open(const kaon_context *ctx, const char *path, kaon_bytes *bytes);
void kaon_bytes_from_memory(const char *name, const void *data, size_t size, kaon_bytes *bytes);
void kaon_bytes_close(kaon_bytes *bytes);

/* Copies [offset, offset + n) to `to`. Errors: FORMAT (beyond the end: truncated), IO. */
kaon_status kaon_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes, int64_t offset,
                            size_t n, void *to);

/* The path's last 200 characters at most: sentences have limited room. */
const char *kaon_short_path(const char *path);

/* Words of 32 or 64 bits in the given byte order to and from doubles. Aliasing is not allowed. */
void kaon_words_to_doubles(const unsigned char *words, size_t n, int bits, int big_endian,
                           double *values);
void kaon_doubles_to_words(const double *values, size_t n, int bits, int big_endian,
                           unsigned char *words);

uint32_t kaon_u32_at(const unsigned char *p, int big_endian);
uint64_t kaon_u64_at(const unsigned char *p, int big_endian);
void kaon_u32_put(unsigned char *p, uint32_t value, int big_endian);
void kaon_u64_put(unsigned char *p, uint64_t value, int big_endian);

/* 1 on a big-endian machine. */
int kaon_host_big_endian(void);

/* Copies text from a file into a sentence-safe string: at most to_size - 1 characters, '?' for
 * those that do not print, stopped by NUL. Returns `to`. */
const char *kaon_printable(const char *text, size_t length, char *to, size_t to_size);

#endif
