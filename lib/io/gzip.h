/* gzip.h - files read and written from front to back, compressed by gzip or plain. */
#ifndef KAON_LIB_IO_GZIP_H
#define KAON_LIB_IO_GZIP_H

#include "lib/io/atomic_file.h"
#include "lib/io/bytes.h"

typedef struct kaon_reader kaon_reader;

/* From the beginning of `bytes`, which the caller keeps open; what begins as a gzip file is
 * inflated on the way, one member after another. Collective as kaon_bytes_read is, as is
 * kaon_reader_read. Errors: MEMORY, IO. */
kaon_status kaon_reader_open(const kaon_context *ctx, const kaon_bytes *bytes,
                             kaon_reader **reader);
void kaon_reader_close(kaon_reader **reader); /* NULL allowed */
/* Up to `room` bytes to `to`; *got < room at the end alone. Errors: FORMAT (truncated or damaged
 * gzip), IO. */
kaon_status kaon_reader_read(kaon_reader *reader, void *to, size_t room, size_t *got);
int kaon_reader_is_compressed(const kaon_reader *reader);

typedef struct kaon_writer kaon_writer;

/* A new content of `path`, compressed where its name ends in ".gz"; as atomic_file.h otherwise. */
kaon_status kaon_writer_open(const kaon_context *ctx, const char *path, kaon_writer **writer);
kaon_status kaon_writer_put(kaon_writer *writer, const void *data, size_t n);
/* Frees *writer in any case. */
kaon_status kaon_writer_commit(kaon_writer **writer);
void kaon_writer_abandon(kaon_writer **writer); /* NULL allowed */

#endif
