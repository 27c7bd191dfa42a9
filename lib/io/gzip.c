/* gzip.c - sequential plain or gzip files. Contract: gzip.h. Inflation streams through one buffer,
 * so memory does not grow with the size of the inflated data. */
#include "lib/io/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/comm/comm.h"

enum { PIECE = 1 << 18, GZIP_WINDOW = 15 + 16, GZIP_HEADER = 2 };

struct kaon_reader {
  const kaon_context *ctx;
  const kaon_bytes *bytes;
  int64_t offset; /* of the next unread byte */
  int compressed;
  int inside; /* 1: inside a gzip member */
  z_stream z;
  unsigned char piece[]; /* [PIECE] if compressed */
};

kaon_status kaon_reader_open(const kaon_context *ctx, const kaon_bytes *bytes,
                             kaon_reader **reader) {
  *reader = NULL;
  unsigned char magic[GZIP_HEADER] = {0, 0};
  if (bytes->size >= GZIP_HEADER) KAON_TRY(kaon_bytes_read(ctx, bytes, 0, GZIP_HEADER, magic));
  const int compressed = magic[0] == 0x1f && magic[1] == 0x8b;
  kaon_status status = KAON_OK;
  kaon_reader *r = calloc(1, sizeof *r + (compressed ? PIECE : 0));
  if (r != NULL && compressed && inflateInit2(&r->z, GZIP_WINDOW) == Z_OK) r->compressed = 1;
  if (r == NULL || r->compressed != compressed)
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "%s: out of memory", bytes->name);
  *reader = r;
  status = kaon_agree(ctx, status);
  if (status != KAON_OK) {
    kaon_reader_close(reader);
    return status;
  }
  r->ctx = ctx;
  r->bytes = bytes;
  r->inside = compressed;
  return KAON_OK;
}

void kaon_reader_close(kaon_reader **reader) {
  if (*reader == NULL) return;
  if ((*reader)->compressed) inflateEnd(&(*reader)->z);
  free(*reader);
  *reader = NULL;
}

int kaon_reader_is_compressed(const kaon_reader *reader) {
  return reader->compressed;
}

static size_t rest_of(const kaon_reader *r, size_t room) {
  const int64_t rest = r->bytes->size - r->offset;
  return rest < (int64_t)room ? (size_t)rest : room;
}

/* Reads more of the compressed file when the buffer is used up. */
static kaon_status refill(kaon_reader *r) {
  if (r->z.avail_in > 0) return KAON_OK;
  const size_t n = rest_of(r, PIECE);
  KAON_TRY(kaon_bytes_read(r->ctx, r->bytes, r->offset, n, r->piece));
  r->offset += (int64_t)n;
  r->z.next_in = r->piece;
  r->z.avail_in = (uInt)n;
  return KAON_OK;
}

static kaon_status damaged(const kaon_reader *r) {
  return kaon_fail(r->ctx, KAON_ERR_FORMAT,
                   "%s: this gzip file is damaged near byte %lld of %lld (%s); copy it again",
                   r->bytes->name, (long long)(r->offset - r->z.avail_in),
                   (long long)r->bytes->size, r->z.msg != NULL ? r->z.msg : "zlib cannot say how");
}

/* Called at the end of a member; *follows = 1 if another one follows. */
static kaon_status next_member(kaon_reader *r, int *follows) {
  for (;;) { /* zeros between members are ignored, as gzip does: tapes pad with them */
    KAON_TRY(refill(r));
    *follows = r->z.avail_in > 0;
    if (!*follows) return KAON_OK;
    if (r->z.next_in[0] != 0) break;
    r->z.next_in++;
    r->z.avail_in--;
  }
  if (inflateReset(&r->z) != Z_OK) return damaged(r);
  r->inside = 1;
  return KAON_OK;
}

static kaon_status read_compressed(kaon_reader *r, unsigned char *to, size_t room, size_t *got) {
  while (*got < room) {
    if (!r->inside) {
      int follows = 0;
      KAON_TRY(next_member(r, &follows));
      if (!follows) return KAON_OK;
    }
    KAON_TRY(refill(r));
    if (r->z.avail_in == 0)
      return kaon_fail(r->ctx, KAON_ERR_FORMAT,
                       "%s: this gzip file ends after %lld bytes, in the middle of its data: it is "
                       "truncated; copy it again",
                       r->bytes->name, (long long)r->bytes->size);
    const size_t want = room - *got < PIECE ? room - *got : PIECE;
    r->z.next_out = to + *got;
    r->z.avail_out = (uInt)want;
    const int code = inflate(&r->z, Z_NO_FLUSH);
    *got += want - r->z.avail_out;
    if (code == Z_STREAM_END)
      r->inside = 0;
    else if (code != Z_OK && code != Z_BUF_ERROR)
      return damaged(r);
  }
  return KAON_OK;
}

kaon_status kaon_reader_read(kaon_reader *r, void *to, size_t room, size_t *got) {
  *got = 0;
  if (r->compressed) return read_compressed(r, to, room, got);
  const size_t n = rest_of(r, room);
  KAON_TRY(kaon_bytes_read(r->ctx, r->bytes, r->offset, n, to));
  r->offset += (int64_t)n;
  *got = n;
  return KAON_OK;
}

struct kaon_writer {
  const kaon_context *ctx;
  kaon_atomic_file *file;
  int compressed;
  z_stream z;
  unsigned char piece[PIECE];
};

kaon_status kaon_writer_open(const kaon_context *ctx, const char *path, kaon_writer **writer) {
  *writer = NULL;
  kaon_atomic_file *file = NULL;
  KAON_TRY(kaon_atomic_open(ctx, path, &file));
  kaon_writer *w = calloc(1, sizeof *w);
  const size_t length = strlen(path);
  const int compressed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
  if (w == NULL || (compressed && deflateInit2(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                               GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)) {
    kaon_atomic_abandon(&file);
    free(w);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "%s: out of memory", kaon_short_path(path));
  }
  w->ctx = ctx;
  w->file = file;
  w->compressed = compressed;
  *writer = w;
  return KAON_OK;
}

/* Writes the available output to the file; with Z_FINISH all of it. */
static kaon_status deflate_to_file(kaon_writer *w, int flush) {
  int code;
  do {
    w->z.next_out = w->piece;
    w->z.avail_out = PIECE;
    code = deflate(&w->z, flush);
    if (code == Z_STREAM_ERROR)
      return kaon_fail(w->ctx, KAON_ERR_INTERNAL, "%s: compressing failed",
                       kaon_atomic_name(w->file));
    KAON_TRY(kaon_atomic_write(w->file, w->piece, PIECE - w->z.avail_out));
  } while (w->z.avail_out == 0 || (flush == Z_FINISH && code != Z_STREAM_END));
  return KAON_OK;
}

kaon_status kaon_writer_put(kaon_writer *w, const void *data, size_t n) {
  if (!w->compressed) return kaon_atomic_write(w->file, data, n);
  const unsigned char *from = data;
  while (n > 0) {
    const size_t take = n < PIECE ? n : PIECE;
    w->z.next_in = (unsigned char *)from;
    w->z.avail_in = (uInt)take;
    KAON_TRY(deflate_to_file(w, Z_NO_FLUSH));
    from += take;
    n -= take;
  }
  return KAON_OK;
}

static void release(kaon_writer **writer) {
  if ((*writer)->compressed) deflateEnd(&(*writer)->z);
  free(*writer);
  *writer = NULL;
}

kaon_status kaon_writer_commit(kaon_writer **writer) {
  kaon_writer *w = *writer;
  kaon_status status = KAON_OK;
  if (w->compressed) {
    w->z.avail_in = 0;
    status = deflate_to_file(w, Z_FINISH);
  }
  if (status == KAON_OK)
    status = kaon_atomic_commit(&w->file);
  else
    kaon_atomic_abandon(&w->file);
  release(writer);
  return status;
}

void kaon_writer_abandon(kaon_writer **writer) {
  if (*writer == NULL) return;
  kaon_atomic_abandon(&(*writer)->file);
  release(writer);
}
