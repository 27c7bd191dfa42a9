/* gzip.h - sequential reading and writing of files, compressed by gzip or plain. */
#pragma once

#include "lib/io/atomic_file.h"
#include "lib/io/bytes.h"

typedef struct kaon_reader kaon_reader;

/* Reads from the beginning of `bytes`, which must stay open. Input in gzip format is inflated, one
 * member after another. Collective like kaon_bytes_read, as is kaon_reader_read. Errors: MEMORY,
 * IO. */
kaon_status kaon_reader_open(const kaon_context *ctx, const kaon_bytes *bytes,
                             kaon_reader **reader);
void kaon_reader_close(kaon_reader **reader); /* NULL allowed */
/* Reads up to `room` bytes to `to`; *got < room only at the end. Errors: FORMAT (truncated or
 * damaged gzip), IO. */
kaon_status kaon_reader_read(kaon_reader *reader, void *to, size_t room, size_t *got);
int kaon_reader_is_compressed(const kaon_reader *reader);

typedef struct kaon_writer kaon_writer;

/* Starts a new version of `path`, compressed if its name ends in ".gz"; otherwise as
 * atomic_file.h. */
kaon_status kaon_writer_open(const kaon_context *ctx, const char *path, kaon_writer **writer);
kaon_status kaon_writer_put(kaon_writer *writer, const void *data, size_t n);
/* Always frees *writer. */
kaon_status kaon_writer_commit(kaon_writer **writer);
void kaon_writer_abandon(kaon_writer **writer); /* NULL allowed */
