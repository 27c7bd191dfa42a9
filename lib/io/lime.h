/* lime.h - LIME container: records of a 144-byte big-endian header, data, padding to 8 bytes.
 * Header: u32 magic 456789ab, u16 version 1, u16 flags (8000 message begins, 4000 message ends),
 * u64 length, 128 characters of type. Source: the format description of c-lime (USQCD). */
#pragma once

#include "lib/io/atomic_file.h"
#include "lib/io/bytes.h"

enum { KAON_LIME_HEADER = 144, KAON_LIME_BEGIN = 0x8000, KAON_LIME_END = 0x4000 };
#define KAON_LIME_MAGIC 0x456789abu

typedef enum kaon_lime_fault {
  KAON_LIME_SOUND,
  KAON_LIME_SHORT,   /* too few bytes for a header */
  KAON_LIME_FOREIGN, /* no header begins there */
  KAON_LIME_CUT      /* the data reach beyond the end of the file */
} kaon_lime_fault;

typedef struct kaon_lime_record {
  int64_t at;     /* offset of the header */
  char type[129]; /* as in the file */
  int flags;
  int64_t data;    /* offset of the data */
  uint64_t length; /* bytes of the data, as the header says */
  kaon_lime_fault fault;
  uint32_t magic; /* what stands where the header begins */
} kaon_lime_record;

/* Reads the record whose header is at `at`. *end = 1 at the end of the file (then no record). What
 * is wrong with the record is its `fault`, which kaon_lime_refuse turns into a failure. Errors:
 * IO. */
kaon_status kaon_lime_next(const kaon_context *ctx, const kaon_bytes *bytes, int64_t at,
                           kaon_lime_record *record, int *end);
kaon_status kaon_lime_refuse(const kaon_context *ctx, const kaon_bytes *bytes,
                             const kaon_lime_record *record);
/* Offset of the header after `length` bytes of data at `data`. The last record's padding may be
 * missing. */
int64_t kaon_lime_after(const kaon_bytes *bytes, int64_t data, int64_t length);

/* Appends a header; the caller writes exactly `length` bytes, then calls kaon_lime_pad. */
kaon_status kaon_lime_begin(kaon_atomic_file *file, const char *type, int flags, int64_t length);
kaon_status kaon_lime_pad(kaon_atomic_file *file, int64_t length);
/* Writes a whole text record with its NUL, as QIO does. */
kaon_status kaon_lime_text(kaon_atomic_file *file, const char *type, int flags, const char *text);
