/* lime.c - Contract: lime.h. */
#include "lib/io/lime.h"

#include <string.h>

#include "lib/io/formats/content.h"

int64_t kaon_lime_after(const kaon_bytes *bytes, int64_t data, int64_t length) {
  const int64_t end = data + length, padding = (8 - length % 8) % 8;
  return end + (padding < bytes->size - end ? padding : bytes->size - end);
}

kaon_status kaon_lime_next(const kaon_context *ctx, const kaon_bytes *bytes, int64_t at,
                           kaon_lime_record *record, int *end) {
  unsigned char h[KAON_LIME_HEADER] = {0};
  const int64_t left = bytes->size - at;
  *end = left <= 0;
  if (*end) return KAON_OK;
  *record = (kaon_lime_record){.at = at, .data = at + KAON_LIME_HEADER};
  KAON_TRY(kaon_bytes_read(ctx, bytes, at, left < (int64_t)sizeof h ? (size_t)left : sizeof h, h));
  record->magic = kaon_u32_at(h, 1);
  memcpy(record->type, h + 16, 128);
  record->flags = h[6] << 8 | h[7];
  record->length = kaon_u64_at(h + 8, 1);
  if (left < KAON_LIME_HEADER)
    record->fault = KAON_LIME_SHORT;
  else if (record->magic != KAON_LIME_MAGIC || (h[4] << 8 | h[5]) != 1)
    record->fault = KAON_LIME_FOREIGN;
  else if (record->length > (uint64_t)(left - KAON_LIME_HEADER))
    record->fault = KAON_LIME_CUT;
  return KAON_OK;
}

kaon_status kaon_lime_refuse(const kaon_context *ctx, const kaon_bytes *bytes,
                             const kaon_lime_record *r) {
  const int64_t left = bytes->size - r->at;
  char type[64], content[KAON_CONTENT];
  if (r->at == 0 && r->magic != KAON_LIME_MAGIC)
    return kaon_fail(ctx, KAON_ERR_FORMAT,
                     "%s: it is %s; but a LIME file (ILDG, SciDAC) belongs here; give one",
                     bytes->name, kaon_content_name(ctx, bytes, content));
  if (r->fault == KAON_LIME_SHORT)
    return kaon_fail(
        ctx, KAON_ERR_FORMAT,
        "%s: %lld bytes at offset %lld are too few for a LIME record header of 144 bytes: the "
        "file is truncated or followed by something else; copy it again",
        bytes->name, (long long)left, (long long)r->at);
  if (r->fault == KAON_LIME_FOREIGN)
    return kaon_fail(
        ctx, KAON_ERR_FORMAT,
        "%s: at offset %lld stands %08x where LIME needs %08x version 1: the file is damaged; copy "
        "it again",
        bytes->name, (long long)r->at, r->magic, KAON_LIME_MAGIC);
  return kaon_fail(ctx, KAON_ERR_FORMAT,
                   "%s: LIME record '%s' at offset %lld claims %llu bytes but %lld are left: the "
                   "file is truncated or damaged; copy it again",
                   bytes->name, kaon_printable(r->type, 128, type, sizeof type), (long long)r->at,
                   (unsigned long long)r->length, (long long)(left - KAON_LIME_HEADER));
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
