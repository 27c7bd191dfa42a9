/* bytes.h - random-access input for the parsers: a file, or memory (fuzzing, tests).
 * Parsers read byte ranges. Every range is checked against the size, so no value in a header can
 * make a parser read outside. The file also converts stored words to doubles and prepares text for
 * messages. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/core/error.h"

/* With several ranks, rank 0 opens and reads the file, and all ranks receive the bytes and the
 * outcome. So every rank parses the same bytes with the same result. */
typedef struct kaon_bytes {
  const char *name;            /* for messages: the path, or the end of a long one; not owned */
  const unsigned char *memory; /* NULL: a file */
  int64_t size;
  int fd; /* -1: memory, or rank 0's file */
} kaon_bytes;

/* Opens a regular file. `path` must outlive *bytes. Collective over ctx's ranks (NULL: none), as is
 * kaon_bytes_read with the same ctx. Errors: IO, ARGUMENT. */
kaon_status kaon_bytes_open(const kaon_context *ctx, const char *path, kaon_bytes *bytes);
void kaon_bytes_from_memory(const char *name, const void *data, size_t size, kaon_bytes *bytes);
void kaon_bytes_close(kaon_bytes *bytes);

/* Copies [offset, offset + n) to `to`. Errors: FORMAT (beyond the end: truncated), IO. */
kaon_status kaon_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes, int64_t offset,
                            size_t n, void *to);

/* The last 200 characters of the path at most, as messages have limited length. */
const char *kaon_short_path(const char *path);

/* Convert words of 32 or 64 bits in the given byte order to and from doubles. No aliasing. */
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

/* Copies text from a file into a string that is safe in messages: at most to_size - 1 characters,
 * '?' for unprintable ones, up to the first NUL. Returns `to`. */
const char *kaon_printable(const char *text, size_t length, char *to, size_t to_size);

/* Bytes of the UTF-8 character at the beginning of a string that ends in NUL; 0 if there is none, or
 * one that XML forbids (a noncharacter). */
size_t kaon_utf8_length(const char *text);
