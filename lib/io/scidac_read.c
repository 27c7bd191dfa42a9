/* scidac_read.c - reads the data of SciDAC and ILDG fields. Contract: scidac.h. */
#include <math.h>
#include <string.h>

#include "lib/io/checksum.h"
#include "lib/io/formats/content.h"
#include "lib/io/formats/gauge_job.h"
#include "lib/io/scidac.h"

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

/* Refuses a field of another kind, before its length is taken for a sign of damage. */
static kaon_status check_kind(const kaon_scidac_scan *scan, const kaon_scidac_record *record,
                              int reals) {
  const int64_t site = record->ildg ? 72 * 4 : record->typesize * record->datacount;
  char text[KAON_CONTENT];
  if (site == 0 || site == 4 * reals || site == 8 * reals) return KAON_OK;
  return kaon_fail(scan->ctx, KAON_ERR_FORMAT,
                   "%s: it is %s; but a field of %s belongs here; give one", scan->bytes->name,
                   kaon_content_name(scan->ctx, scan->bytes, text),
                   reals == 6    ? "colour vectors"
                   : reals == 72 ? "four 3x3 matrices a site"
                                 : "another kind");
}

/* Fills layout and description from the headers. */
static kaon_status describe_field(kaon_scidac_scan *scan, const kaon_scidac_record *record,
                                  int reals, kaon_site_layout *layout, kaon_scidac_field *field) {
  static const int none[4] = {0, 0, 0, 0};
  static const int64_t missing[4] = {0, 0, 0, 0};
  const int64_t *extents;
  int64_t volume;
  memset(field, 0, sizeof *field);
  KAON_TRY(check_kind(scan, record, reals));
  KAON_TRY(kaon_scidac_extents(scan, record, reals, none, &extents));
  if (extents == NULL) extents = missing;
  if (!kaon_extents_volume(extents, &volume)) {
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
  field->warnings = scan->warnings;
  return KAON_OK;
}

static kaon_status read_field(const kaon_scidac_scan *scan, const kaon_scidac_record *record,
                              const kaon_site_layout *layout, int ignore_checksum,
                              kaon_scidac_field *field, kaon_site_put *put, void *sink) {
  field_reader reader = {field, kaon_site_bytes(layout), layout->reals, -1, put, sink};
  KAON_TRY(kaon_sites_read(scan->ctx, scan->bytes, layout, take_site, &reader));
  return field_final_checks(scan, record, &reader, ignore_checksum);
}

static kaon_status no_field(const kaon_scidac_scan *scan) {
  return kaon_fail(scan->ctx, KAON_ERR_FORMAT,
                   "%s: has no lattice field record; check what the file holds", scan->bytes->name);
}

kaon_status kaon_scidac_field_next(kaon_scidac_scan *scan, int reals, int ignore_checksum,
                                   kaon_scidac_field *field, kaon_site_put *put, void *sink) {
  kaon_scidac_record record;
  kaon_site_layout layout;
  int found;
  memset(field, 0, sizeof *field);
  KAON_TRY(next_field(scan, &record, &found));
  if (!found) return no_field(scan);
  KAON_TRY(describe_field(scan, &record, reals, &layout, field));
  return read_field(scan, &record, &layout, ignore_checksum, field, put, sink);
}

kaon_status kaon_scidac_field_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                         int reals, int ignore_checksum, kaon_scidac_field *field,
                                         kaon_site_put *put, void *sink) {
  kaon_scidac_scan scan;
  kaon_scidac_open(ctx, bytes, &scan);
  return kaon_scidac_field_next(&scan, reals, ignore_checksum, field, put, sink);
}

static kaon_status read_title(kaon_scidac_scan *scan, const kaon_scidac_record *record,
                              char title[KAON_SCIDAC_TITLE]) {
  KAON_AUTO(kaon_xml_free) kaon_xml xml = {0};
  const kaon_status status = kaon_scidac_record_xml(scan, record, &xml);
  const int is_title = strcmp(kaon_xml_root(&xml), "title") == 0;
  kaon_xml_string(&xml, is_title ? NULL : "title", title, KAON_SCIDAC_TITLE);
  return status;
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
    if (fields->count == 0) KAON_TRY(read_title(&scan, &record, fields->title));
    if (put == NULL) continue;
    KAON_TRY(read_field(&scan, &record, &layout, ignore_checksum, &fields->field, put, sink));
    KAON_TRY(done(sink, fields->count));
  }
  return fields->count > 0 ? KAON_OK : no_field(&scan);
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
