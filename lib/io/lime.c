/* lime.c - Contract: lime.h. */
#include "lib/io/lime.h"

#include <string.h>

kaon_status kaon_lime_next(const kaon_context *ctx, const kaon_bytes *bytes, int64_t at,
                           kaon_lime_record *record, int *end) {
  unsigned char h[KAON_LIME_HEADER];
  int64_t left = bytes->size - at;
  *end = left <= 0;
  if (*end) return KAON_OK;
  if (left < KAON_LIME_HEADER) {
    return kaon_fail(
        ctx, KAON_ERR_FORMAT,
        "%s: %lld bytes at offset %lld are too few for a LIME record header of 144 bytes: the "
        "file is truncated or followed by something else; copy it again",
        bytes->name, (long long)left, (long long)at);
  }
  KAON_TRY(kaon_bytes_read(ctx, bytes, at, sizeof h, h));
  uint32_t magic = kaon_u32_at(h, 1);
  int version = h[4] << 8 | h[5];
  if (at == 0 && magic != KAON_LIME_MAGIC)
    return kaon_fail(ctx, KAON_ERR_FORMAT,
                     "%s: it begins with %08x where a LIME file has %08x: it is a file of another "
                     "kind; give one in LIME (ILDG, SciDAC)",
                     bytes->name, magic, KAON_LIME_MAGIC);
  if (magic != KAON_LIME_MAGIC || version != 1) {
    return kaon_fail(
        ctx, KAON_ERR_FORMAT,
        "%s: at offset %lld stands %08x version %d where LIME needs %08x version 1: the file is "
        "damaged; copy it again",
        bytes->name, (long long)at, magic, version, KAON_LIME_MAGIC);
  }
  memcpy(record->type, h + 16, 128);
  record->type[128] = '\0';
  record->flags = h[6] << 8 | h[7];
  record->data = at + KAON_LIME_HEADER;
  uint64_t length = kaon_u64_at(h + 8, 1);
  left -= KAON_LIME_HEADER;
  if (length > (uint64_t)left) {
    char type[64];
    return kaon_fail(
        ctx, KAON_ERR_FORMAT,
        "%s: LIME record '%s' at offset %lld claims %llu bytes but %lld are left: the file is "
        "truncated or damaged; copy it again",
        bytes->name, kaon_printable(record->type, 128, type, sizeof type), (long long)at,
        (unsigned long long)length, (long long)left);
  }
  record->length = (int64_t)length;
  int64_t padding = (8 - record->length % 8) % 8;
  record->next = record->data + record->length;
  record->next += padding < bytes->size - record->next ? padding : bytes->size - record->next;
  return KAON_OK;
}

kaon_status kaon_lime_begin(kaon_atomic_file *file, const char *type, int flags, int64_t length) {
  unsigned char h[KAON_LIME_HEADER] = {0};
  kaon_u32_put(h, KAON_LIME_MAGIC, 1);
  h[5] = 1;
  h[6] = (unsigned char)(flags >> 8);
  h[7] = (unsigned char)flags;
  kaon_u64_put(h + 8, (uint64_t)length, 1);
  memcpy(h + 16, type, strnlen(type, 127));
  return kaon_atomic_write(file, h, sizeof h);
}

kaon_status kaon_lime_pad(kaon_atomic_file *file, int64_t length) {
  static const unsigned char zeros[8] = {0};
  return kaon_atomic_write(file, zeros, (size_t)((8 - length % 8) % 8));
}

kaon_status kaon_lime_text(kaon_atomic_file *file, const char *type, int flags, const char *text) {
  int64_t length = (int64_t)strlen(text) + 1;
  KAON_TRY(kaon_lime_begin(file, type, flags, length));
  KAON_TRY(kaon_atomic_write(file, text, (size_t)length));
  return kaon_lime_pad(file, length);
}
