/* scidac.c - reading SciDAC and ILDG fields. Contract: scidac.h. */
#include "lib/io/scidac.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io/checksum.h"
#include "lib/io/formats/gauge_job.h"

enum { XML_MAX = 1 << 15 }; /* QIO's limit for a value */

void kaon_scidac_open(const kaon_context *ctx, const kaon_bytes *bytes, kaon_scidac_scan *scan) {
  memset(scan, 0, sizeof *scan);
  scan->ctx = ctx;
  scan->bytes = bytes;
}

kaon_status kaon_scidac_text(const kaon_scidac_scan *scan, int64_t at, int64_t length, char *buffer,
                             size_t limit, kaon_text *text) {
  size_t n = length < (int64_t)limit ? (size_t)length : limit - 1;
  KAON_TRY(kaon_bytes_read(scan->ctx, scan->bytes, at, n, buffer));
  buffer[n] = '\0';
  text->at = buffer;
  text->length = n;
  return KAON_OK;
}

static kaon_status bad_xml(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                           const char *what) {
  char type[64];
  return kaon_fail(
      scan->ctx, KAON_ERR_FORMAT,
      "%s: the %s record at offset %lld has no valid %s: the file is damaged; copy it again",
      scan->bytes->name, kaon_printable(lime->type, 128, type, sizeof type), (long long)lime->data,
      what);
}

static kaon_status parse_file(kaon_scidac_scan *scan, const kaon_lime_record *lime, kaon_text xml) {
  int64_t split = 0;
  kaon_xml_integer(xml, "volfmt", &split);
  if (split == 0) kaon_xml_integer(xml, "multifile", &split);
  if (split != 0) {
    return kaon_fail(
        scan->ctx, KAON_ERR_UNSUPPORTED,
        "%s: is one part of a SciDAC file split over several (volume format %lld), kaon reads "
        "single files; join them with qio-convert-mesh-singlefs",
        scan->bytes->name, (long long)split);
  }
  int64_t dims[8];
  int n = kaon_xml_integers(xml, "dims", dims, 8);
  if (n < 1) return bad_xml(scan, lime, "<dims>");
  if (n != 4) {
    return kaon_fail(scan->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: holds a %d-dimensional lattice, kaon reads 4", scan->bytes->name, n);
  }
  memcpy(scan->extents, dims, sizeof scan->extents);
  scan->has_extents = 1;
  return KAON_OK;
}

static kaon_status parse_private(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                                 kaon_text xml, kaon_scidac_record *record) {
  char letter[8];
  kaon_xml_string(xml, "datatype", record->datatype, sizeof record->datatype);
  kaon_xml_string(xml, "precision", letter, sizeof letter);
  if (strcmp(letter, "F") == 0) record->precision = 32;
  if (strcmp(letter, "D") == 0) record->precision = 64;
  if (kaon_xml_integer(xml, "recordtype", &record->recordtype) ==
      0) { /* version 1.0 has globaldata */
    kaon_xml_integer(xml, "globaldata", &record->recordtype);
  }
  kaon_xml_integer(xml, "colors", &record->colors);
  kaon_xml_integer(xml, "spins", &record->spins);
  if (kaon_xml_integer(xml, "typesize", &record->typesize) < 0 || record->typesize < 0 ||
      kaon_xml_integer(xml, "datacount", &record->datacount) < 0 || record->datacount < 0) {
    return bad_xml(scan, lime, "<typesize> and <datacount>");
  }
  return KAON_OK;
}

static kaon_status parse_ildg(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                              kaon_text xml, kaon_scidac_record *record) {
  static const char *const tags[4] = {"lx", "ly", "lz", "lt"};
  int64_t bits = 0;
  char field[64] = "";
  kaon_xml_string(xml, "field", field, sizeof field);
  if (field[0] != '\0' && strcmp(field, "su3gauge") != 0)
    return kaon_fail(scan->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: ildg-format says that it holds a field of %s, but only su3gauge is read",
                     scan->bytes->name, field);
  for (int d = 0; d < 4; d++) {
    if (kaon_xml_integer(xml, tags[d], &record->ildg_extents[d]) != 1) {
      return bad_xml(scan, lime, "<lx> <ly> <lz> <lt>");
    }
    if (scan->has_extents && record->ildg_extents[d] != scan->extents[d]) {
      return kaon_fail(
          scan->ctx, KAON_ERR_FORMAT,
          "%s: ildg-format says <%s> %lld but the SciDAC header says %lld: the file is damaged",
          scan->bytes->name, tags[d], (long long)record->ildg_extents[d],
          (long long)scan->extents[d]);
    }
  }
  record->has_ildg_extents = 1;
  if (kaon_xml_integer(xml, "precision", &bits) != 1 || (bits != 32 && bits != 64)) {
    return bad_xml(scan, lime, "<precision> (32 or 64)");
  }
  record->precision = (int)bits;
  return KAON_OK;
}

static kaon_status parse_checksum(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                                  kaon_text xml, kaon_scidac_record *record) {
  if (kaon_xml_hex32(xml, "suma", &record->checksum[0]) != 1 ||
      kaon_xml_hex32(xml, "sumb", &record->checksum[1]) != 1) {
    return bad_xml(scan, lime, "<suma> and <sumb>");
  }
  record->has_checksum = 1;
  return KAON_OK;
}

static int is(const kaon_lime_record *lime, const char *type) {
  return strcmp(lime->type, type) == 0;
}

/* Parses the XML of a record that matters; its text is read into a buffer of XML_MAX. */
static kaon_status parse_xml(kaon_scidac_scan *scan, const kaon_lime_record *lime,
                             kaon_scidac_record *record) {
  int file = is(lime, "scidac-private-file-xml"),
      private_xml = is(lime, "scidac-private-record-xml");
  int ildg = is(lime, "ildg-format"), checksum = is(lime, "scidac-checksum");
  if (!file && !private_xml && !ildg && !checksum) return KAON_OK;
  if (lime->length >= XML_MAX) return bad_xml(scan, lime, "length");
  char *buffer = malloc(XML_MAX);
  if (!buffer) return kaon_fail(scan->ctx, KAON_ERR_MEMORY, "%s: out of memory", scan->bytes->name);
  kaon_text xml;
  kaon_status status = kaon_scidac_text(scan, lime->data, lime->length, buffer, XML_MAX, &xml);
  if (status == KAON_OK && file) status = parse_file(scan, lime, xml);
  if (status == KAON_OK && private_xml) status = parse_private(scan, lime, xml, record);
  if (status == KAON_OK && ildg) status = parse_ildg(scan, lime, xml, record);
  if (status == KAON_OK && checksum) status = parse_checksum(scan, lime, xml, record);
  free(buffer);
  return status;
}

/* If the last record does not close its message, the file was cut between records and the checksum
 * is missing. */
static kaon_status end_of_file(const kaon_scidac_scan *scan, const kaon_scidac_record *record,
                               int open) {
  if (!open || record->has_checksum) return KAON_OK;
  return kaon_fail(scan->ctx, KAON_ERR_FORMAT,
                   "%s: ends after %lld bytes inside a LIME message, without a checksum of its "
                   "last data: the file is "
                   "truncated; copy it again",
                   scan->bytes->name, (long long)scan->bytes->size);
}

kaon_status kaon_scidac_next(kaon_scidac_scan *scan, kaon_scidac_record *record, int *found) {
  kaon_lime_record lime;
  int end, flags = KAON_LIME_END;
  memset(record, 0, sizeof *record);
  *found = 0;
  for (;;) {
    KAON_TRY(kaon_lime_next(scan->ctx, scan->bytes, scan->at, &lime, &end));
    if (end) return end_of_file(scan, record, *found && !(flags & KAON_LIME_END));
    flags = lime.flags;
    int ildg_data = is(&lime, "ildg-binary-data");
    int data = ildg_data || is(&lime, "scidac-binary-data");
    /* The checksum follows its data; anything that opens another record ends this one. */
    if (*found && (data || is(&lime, "scidac-private-record-xml") || is(&lime, "ildg-format") ||
                   is(&lime, "scidac-private-file-xml"))) {
      return KAON_OK;
    }
    if (data) {
      record->data = lime.data;
      record->length = lime.length;
      record->ildg = ildg_data;
      *found = 1;
    } else if (is(&lime, "scidac-record-xml") && !*found) {
      record->xml = lime.data;
      record->xml_length = lime.length;
    } else if (is(&lime, "scidac-file-xml")) {
      scan->file_xml = lime.data;
      scan->file_xml_length = lime.length;
    } else if (*found || !is(&lime, "scidac-checksum")) { /* a checksum without data is skipped */
      KAON_TRY(parse_xml(scan, &lime, record));
    }
    scan->at = lime.next;
  }
}

kaon_status kaon_scidac_layout(const kaon_scidac_scan *scan, const kaon_scidac_record *record,
                               int64_t sites, int reals, kaon_site_layout *layout) {
  int64_t per_bit = sites * reals / 8; /* at most 2^40 * 300 */
  int bits = record->precision;
  if (bits == 0 && record->typesize) { /* not given directly: typesize * datacount is the bytes a
                                          site */
    if (record->typesize <= 1 << 20 && record->datacount <= 1 << 20) {
      int64_t site = record->typesize * record->datacount;
      bits = site == reals * 8 ? 64 : site == reals * 4 ? 32 : 0;
    }
  } else if (bits == 0) {
    bits = record->length == per_bit * 64 ? 64 : 32;
  }
  if (record->precision == 0 && record->typesize == 0 && record->length != per_bit * bits)
    return kaon_fail(
        scan->ctx, KAON_ERR_FORMAT,
        "%s: %lld sites of %d reals need %lld bytes in 32 bits and %lld in 64, but the "
        "data record has %lld: the extents do not belong to these data; check them",
        scan->bytes->name, (long long)sites, reals, (long long)(per_bit * 32),
        (long long)(per_bit * 64), (long long)record->length);
  if (bits == 0 || record->length != per_bit * bits) {
    return kaon_fail(scan->ctx, KAON_ERR_FORMAT,
                     "%s: %lld sites of %d reals in %d bits need %lld bytes but the data record "
                     "has %lld: extents "
                     "or precision do not belong to these data; check the extents",
                     scan->bytes->name, (long long)sites, reals, bits, (long long)(per_bit * bits),
                     (long long)record->length);
  }
  *layout = (kaon_site_layout){record->data, sites, reals, bits, 1};
  return KAON_OK;
}

typedef struct field_reader {
  kaon_scidac_field *field;
  size_t bytes_a_site;
  int reals;
  int64_t not_finite; /* first such site; -1: none */
  kaon_site_put *put;
  void *sink;
} field_reader;

static kaon_status take_site(void *user, int64_t site, const unsigned char *raw,
                             const double *values) {
  field_reader *r = user;
  kaon_scidac_checksum(r->field->checksum_computed, site, raw, r->bytes_a_site);
  for (int i = 0; i < r->reals; i++) {
    if (!isfinite(values[i]) && r->not_finite < 0) r->not_finite = site;
  }
  r->put(r->sink, site, values);
  return KAON_OK;
}

static kaon_status field_final_checks(const kaon_scidac_scan *scan,
                                      const kaon_scidac_record *record, const field_reader *r,
                                      int ignore_checksum) {
  const kaon_scidac_field *f = r->field;
  if (record->has_checksum && !ignore_checksum &&
      memcmp(f->checksum_computed, f->checksum_stored, sizeof f->checksum_stored) != 0) {
    return kaon_fail(
        scan->ctx, KAON_ERR_CHECKSUM,
        "%s: the data have checksums %08x %08x but the file stores %08x %08x; get a sound copy, or "
        "pass --ignore-checksum to use it as it is",
        scan->bytes->name, f->checksum_computed[0], f->checksum_computed[1], f->checksum_stored[0],
        f->checksum_stored[1]);
  }
  if (r->not_finite >= 0) {
    return kaon_fail(scan->ctx, KAON_ERR_NOT_FINITE,
                     "%s: site %lld holds NaN or infinity; get a sound copy", scan->bytes->name,
                     (long long)r->not_finite);
  }
  return KAON_OK;
}

/* Finds the file's next full-lattice record; *found = 0 if there is none. */
static kaon_status next_field(kaon_scidac_scan *scan, kaon_scidac_record *record, int *found) {
  do {
    KAON_TRY(kaon_scidac_next(scan, record, found));
  } while (*found && record->recordtype != 0);
  return KAON_OK;
}

/* Fills layout and description from the headers. */
static kaon_status describe_field(const kaon_scidac_scan *scan, const kaon_scidac_record *record,
                                  int reals, kaon_site_layout *layout, kaon_scidac_field *field) {
  const int64_t *extents = scan->has_extents ? scan->extents : record->ildg_extents;
  int64_t volume;
  memset(field, 0, sizeof *field);
  if (!(scan->has_extents || record->has_ildg_extents) || !kaon_extents_volume(extents, &volume)) {
    return kaon_fail(
        scan->ctx, KAON_ERR_FORMAT,
        "%s: extents %lld x %lld x %lld x %lld are missing or not even numbers from 2 to 32768: "
        "the file is damaged, or a lattice that kaon does not take",
        scan->bytes->name, (long long)extents[0], (long long)extents[1], (long long)extents[2],
        (long long)extents[3]);
  }
  KAON_TRY(kaon_scidac_layout(scan, record, volume, reals, layout));
  for (int d = 0; d < 4; d++) field->extents[d] = (int)extents[d];
  memcpy(field->datatype, record->datatype, sizeof field->datatype);
  memcpy(field->checksum_stored, record->checksum, sizeof field->checksum_stored);
  field->has_checksum = record->has_checksum;
  field->precision = layout->bits;
  field->ildg = record->ildg;
  return KAON_OK;
}

static kaon_status read_field(const kaon_scidac_scan *scan, const kaon_scidac_record *record,
                              const kaon_site_layout *layout, int ignore_checksum,
                              kaon_scidac_field *field, kaon_site_put *put, void *sink) {
  field_reader reader = {field, kaon_site_bytes(layout), layout->reals, -1, put, sink};
  KAON_TRY(kaon_sites_read(scan->ctx, scan->bytes, layout, take_site, &reader));
  return field_final_checks(scan, record, &reader, ignore_checksum);
}

kaon_status kaon_scidac_field_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                         int reals, int ignore_checksum, kaon_scidac_field *field,
                                         kaon_site_put *put, void *sink) {
  kaon_scidac_scan scan;
  kaon_scidac_record record;
  kaon_site_layout layout;
  int found;
  memset(field, 0, sizeof *field);
  kaon_scidac_open(ctx, bytes, &scan);
  KAON_TRY(next_field(&scan, &record, &found));
  if (!found) {
    return kaon_fail(ctx, KAON_ERR_FORMAT,
                     "%s: has no lattice field record; check what the file holds", bytes->name);
  }
  KAON_TRY(describe_field(&scan, &record, reals, &layout, field));
  return read_field(&scan, &record, &layout, ignore_checksum, field, put, sink);
}

kaon_status kaon_scidac_fields_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                          int reals, int ignore_checksum,
                                          kaon_scidac_fields *fields, kaon_site_put *put,
                                          kaon_field_done *done, void *sink) {
  kaon_scidac_scan scan;
  kaon_scidac_record record;
  kaon_site_layout layout;
  int found;
  memset(fields, 0, sizeof *fields);
  kaon_scidac_open(ctx, bytes, &scan);
  for (;; fields->count++) {
    KAON_TRY(next_field(&scan, &record, &found));
    if (!found) break;
    KAON_TRY(describe_field(&scan, &record, reals, &layout, &fields->field));
    if (fields->count == 0) {
      char xml[2 * KAON_SCIDAC_TITLE];
      kaon_text text, title = {"", 0};
      KAON_TRY(kaon_scidac_text(&scan, record.xml, record.xml_length, xml, sizeof xml, &text));
      kaon_xml_find(text, "title", &title);
      kaon_xml_unescape(title, fields->title, sizeof fields->title);
    }
    if (put == NULL) continue;
    KAON_TRY(read_field(&scan, &record, &layout, ignore_checksum, &fields->field, put, sink));
    KAON_TRY(done(sink, fields->count));
  }
  if (fields->count > 0) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_FORMAT,
                   "%s: has no lattice field record; check what the file holds", bytes->name);
}

kaon_status kaon_scidac_fields_read(const kaon_context *ctx, const char *path, int reals,
                                    int ignore_checksum, kaon_scidac_fields *fields,
                                    kaon_site_put *put, kaon_field_done *done, void *sink) {
  kaon_bytes bytes;
  KAON_TRY(kaon_bytes_open(ctx, path, &bytes));
  const kaon_status status =
      kaon_scidac_fields_bytes_read(ctx, &bytes, reals, ignore_checksum, fields, put, done, sink);
  kaon_bytes_close(&bytes);
  return status;
}

kaon_status kaon_scidac_field_read(const kaon_context *ctx, const char *path, int reals,
                                   int ignore_checksum, kaon_scidac_field *field,
                                   kaon_site_put *put, void *sink) {
  kaon_bytes bytes;
  KAON_TRY(kaon_bytes_open(ctx, path, &bytes));
  kaon_status status =
      kaon_scidac_field_bytes_read(ctx, &bytes, reals, ignore_checksum, field, put, sink);
  kaon_bytes_close(&bytes);
  return status;
}
