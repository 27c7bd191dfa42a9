/* bytes.c - random-access input over a file or memory, and byte order. Contract: bytes.h. */
#include "lib/io/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/comm/comm.h"

enum { SHORT_PATH = 200 };

const char *kaon_short_path(const char *path) {
  size_t length = strlen(path);
  return length > SHORT_PATH ? path + length - SHORT_PATH : path;
}

static kaon_status open_here(const kaon_context *ctx, const char *path, kaon_bytes *bytes) {
  const char *name = kaon_short_path(path);
  /* O_NONBLOCK: opening a pipe must not block. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return kaon_fail(ctx, KAON_ERR_IO, "%s: cannot be opened for reading: %s; check the path", name,
                     strerror(errno));
  }
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(fd);
    return kaon_fail(ctx, KAON_ERR_IO, "%s: is not a regular file; pass a file on disk", name);
  }
  bytes->size = (int64_t)st.st_size;
  bytes->fd = fd;
  return KAON_OK;
}

kaon_status kaon_bytes_open(const kaon_context *ctx, const char *path, kaon_bytes *bytes) {
  if (!path || !*path) {
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "no file name was given; pass the path of a file");
  }
  *bytes = (kaon_bytes){.name = kaon_short_path(path), .fd = -1};
  KAON_TRY(kaon_agree(ctx, kaon_is_first(ctx) ? open_here(ctx, path, bytes) : KAON_OK));
  return kaon_broadcast(ctx, &bytes->size, sizeof bytes->size);
}

void kaon_bytes_from_memory(const char *name, const void *data, size_t size, kaon_bytes *bytes) {
  static const unsigned char nothing[1] = {0};
  bytes->name = name;
  bytes->memory = data ? data : nothing;
  bytes->size = (int64_t)size;
  bytes->fd = -1;
}

void kaon_bytes_close(kaon_bytes *bytes) {
  if (bytes->fd >= 0) close(bytes->fd);
  bytes->fd = -1;
  bytes->memory = NULL;
}

static kaon_status read_here(const kaon_context *ctx, const kaon_bytes *bytes, int64_t offset,
                             size_t n, void *to) {
  unsigned char *out = to;
  while (n > 0) {
    ssize_t got = pread(bytes->fd, out, n, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return kaon_fail(ctx, KAON_ERR_IO, "%s: reading at offset %lld failed: %s; check the disk",
                       bytes->name, (long long)offset,
                       got < 0 ? strerror(errno) : "the file became shorter meanwhile");
    }
    out += got;
    offset += got;
    n -= (size_t)got;
  }
  return KAON_OK;
}

kaon_status kaon_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes, int64_t offset,
                            size_t n, void *to) {
  if (offset < 0 || offset > bytes->size || n > (uint64_t)(bytes->size - offset)) {
    return kaon_fail(
        ctx, KAON_ERR_FORMAT,
        "%s: %zu bytes are needed at offset %lld but the file has %lld bytes: it is truncated; "
        "copy it again",
        bytes->name, n, (long long)offset, (long long)bytes->size);
  }
  if (bytes->memory) {
    memcpy(to, bytes->memory + offset, n);
    return KAON_OK;
  }
  KAON_TRY(kaon_agree(ctx, kaon_is_first(ctx) ? read_here(ctx, bytes, offset, n, to) : KAON_OK));
  return kaon_broadcast(ctx, to, n);
}

int kaon_host_big_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

uint32_t kaon_u32_at(const unsigned char *p, int big_endian) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return big_endian == kaon_host_big_endian() ? v : __builtin_bswap32(v);
}

uint64_t kaon_u64_at(const unsigned char *p, int big_endian) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return big_endian == kaon_host_big_endian() ? v : __builtin_bswap64(v);
}

void kaon_u32_put(unsigned char *p, uint32_t value, int big_endian) {
  if (big_endian != kaon_host_big_endian()) value = __builtin_bswap32(value);
  memcpy(p, &value, sizeof value);
}

void kaon_u64_put(unsigned char *p, uint64_t value, int big_endian) {
  if (big_endian != kaon_host_big_endian()) value = __builtin_bswap64(value);
  memcpy(p, &value, sizeof value);
}

void kaon_words_to_doubles(const unsigned char *words, size_t n, int bits, int big_endian,
                           double *values) {
  for (size_t i = 0; i < n; i++) {
    if (bits == 64) {
      uint64_t w = kaon_u64_at(words + 8 * i, big_endian);
      memcpy(&values[i], &w, sizeof w);
    } else {
      uint32_t w = kaon_u32_at(words + 4 * i, big_endian);
      float f;
      memcpy(&f, &w, sizeof f);
      values[i] = f;
    }
  }
}

void kaon_doubles_to_words(const double *values, size_t n, int bits, int big_endian,
                           unsigned char *words) {
  for (size_t i = 0; i < n; i++) {
    if (bits == 64) {
      uint64_t w;
      memcpy(&w, &values[i], sizeof w);
      kaon_u64_put(words + 8 * i, w, big_endian);
    } else {
      float f = (float)values[i];
      uint32_t w;
      memcpy(&w, &f, sizeof w);
      kaon_u32_put(words + 4 * i, w, big_endian);
    }
  }
}

const char *kaon_printable(const char *text, size_t length, char *to, size_t to_size) {
  size_t n = 0;
  while (n < length && n + 1 < to_size && text[n] != '\0') {
    unsigned char c = (unsigned char)text[n];
    to[n] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    n++;
  }
  to[n] = '\0';
  return to;
}

size_t kaon_utf8_length(const char *text) {
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *p = (const unsigned char *)text;
  const size_t length = p[0] < 0x80 ? p[0] != 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
  uint32_t c = length < 2 ? p[0] : p[0] & (0xffu >> (length + 1));
  if (p[0] >= 0xf8 || (p[0] & 0xc0) == 0x80) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    c = c << 6 | (p[i] & 0x3f);
  }
  const int surrogate = c >= 0xd800 && c < 0xe000;
  return c < least[length] || surrogate || c > 0x10ffff || (c & 0xfffe) == 0xfffe ? 0 : length;
}
