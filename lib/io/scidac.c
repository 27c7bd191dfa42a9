/* scidac.c - finds SciDAC and ILDG fields in a file: its headers, and where the data are. Contract:
 * scidac.h. */
#include "lib/io/scidac.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io/formats/gauge_job.h"

void kaon_scidac_open(const kaon_context *ctx, const kaon_bytes *bytes, kaon_scidac_scan *scan) {
  memset(scan, 0, sizeof *scan);
  scan->ctx = ctx;
  scan->bytes = bytes;
}

void kaon_scidac_warn(kaon_scidac_scan *scan, const char *format, ...) {
  kaon_scidac_warnings *w = &scan->warnings;
  va_list args;
  if (w->count == KAON_SCIDAC_WARNINGS) return;
  va_start(args, format);
  vsnprintf(w->text[w->count++], sizeof w->text[0], format, args);
  va_end(args);
}

/* ---- XML of records ---- */

/* QIO 2.0 left the last quote of ildg-format's attributes open (MILC's sample files have it so).
 * `text` has room for one byte more. Returns the length. */
static size_t close_quote(char *text, size_t length) {
  static const char open[] = "filefmt.xsd>";
  text[length] = '\0';
  char *at = strstr(text, open);
  if (at == NULL) return length;
  at += strlen(open) - 1;
  memmove(at + 1, at, (size_t)(text + length - at));
  *at = '"';
  return length + 1;
}

/* user: the text need not be XML. */
static kaon_status read_xml(const kaon_scidac_scan *scan, const char *type, int64_t at,
                            int64_t length, int user, kaon_xml *xml) {
  char where[400], shown[64];
  kaon_status status = KAON_OK;
  *xml = (kaon_xml){NULL, 0};
  snprintf(where, sizeof where, "%s: the %s record at offset %lld", scan->bytes->name,
           kaon_printable(type, strlen(type), shown, sizeof shown), (long long)at);
  if (length > KAON_XML_MAX) /* says so */
    return user ? KAON_OK : kaon_xml_parse(scan->ctx, where, NULL, (size_t)length, xml);
  KAON_AUTOFREE char *text = malloc((size_t)length + 1);
  if (text == NULL) return kaon_fail(scan->ctx, KAON_ERR_MEMORY, "%s: out of memory", where);
  status = kaon_bytes_read(scan->ctx, scan->bytes, at, (size_t)length, text);
  if (status == KAON_OK && (!user || kaon_xml_begins(text, (size_t)length))) {
    const size_t n = user ? (size_t)length : close_quote(text, (size_t)length);
    status = kaon_xml_parse(scan->ctx, where, text, n, xml);
  }
  return status;
}

kaon_status kaon_scidac_user_xml(const kaon_scidac_scan *scan, const char *type, int64_t at,
                                 int64_t length, kaon_xml *xml) {
  return read_xml(scan, type, at, length, 1, xml);
}

/* Turns a malformed text into a warning. */
static kaon_status pass_over(kaon_scidac_scan *scan, kaon_status status, const char *loss) {
  if (status != KAON_ERR_FORMAT) return status;
  kaon_scidac_warn(scan, "%s; %s", kaon_last_error(scan->ctx), loss);
  kaon_error_clear();
  return KAON_OK;
}

kaon_status kaon_scidac_record_xml(kaon_scidac_scan *scan, const kaon_scidac_record *record,
                                   kaon_xml *xml) {
  const kaon_status status =
      read_xml(scan, "scidac-record-xml", record->xml, record->xml_length, 1, xml);
  return pass_over(scan, status, "what it says was not used");
}

static kaon_status bad_xml(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                           const char *what) {
  return kaon_fail(
      scan->ctx, KAON_ERR_FORMAT,
      "%s: the %s record at offset %lld has no valid %s: the file is damaged; copy it again",
      scan->bytes->name, lime->type, (long long)lime->data, what);
}

static kaon_status parse_file(kaon_scidac_scan *scan, const kaon_lime_record *lime,
                              const kaon_xml *xml) {
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

/* A number from 0 to 2^31 - 1, so that products of two fit; 1 also if it is absent. */
static int take_count(const kaon_xml *xml, const char *name, int64_t *count) {
  return kaon_xml_integer(xml, name, count) >= 0 && *count >= 0 && *count <= INT32_MAX;
}

static kaon_status parse_private(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                                 const kaon_xml *xml, kaon_scidac_record *record) {
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
  if (!take_count(xml, "typesize", &record->typesize) ||
      !take_count(xml, "datacount", &record->datacount))
    return bad_xml(scan, lime, "<typesize> and <datacount>");
  return KAON_OK;
}

static kaon_status parse_ildg(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                              const kaon_xml *xml, kaon_scidac_record *record) {
  static const char *const tags[4] = {"lx", "ly", "lz", "lt"};
  int64_t bits = 0;
  char field[64] = "", shown[64];
  kaon_xml_string(xml, "field", field, sizeof field);
  if (field[0] != '\0' && strcmp(field, "su3gauge") != 0)
    return kaon_fail(scan->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: ildg-format says that it holds a field of %s, but only su3gauge is read",
                     scan->bytes->name, kaon_printable(field, strlen(field), shown, sizeof shown));
  for (int d = 0; d < 4; d++) {
    if (kaon_xml_integer(xml, tags[d], &record->ildg_extents[d]) != 1)
      return bad_xml(scan, lime, "<lx> <ly> <lz> <lt>");
  }
  record->has_ildg_extents = 1;
  if (kaon_xml_integer(xml, "precision", &bits) != 1 || (bits != 32 && bits != 64)) {
    return bad_xml(scan, lime, "<precision> (32 or 64)");
  }
  record->precision = (int)bits;
  return KAON_OK;
}

static kaon_status parse_checksum(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                                  const kaon_xml *xml, kaon_scidac_record *record) {
  if (kaon_xml_hex32(xml, "suma", &record->checksum[0]) != 1 ||
      kaon_xml_hex32(xml, "sumb", &record->checksum[1]) != 1) {
    return bad_xml(scan, lime, "<suma> and <sumb>");
  }
  record->has_checksum = 1;
  return KAON_OK;
}

/* ---- records ---- */

typedef enum kind {
  OTHER,
  FILE_HEADER,
  FILE_TEXT,
  RECORD_HEADER,
  RECORD_TEXT,
  ILDG_HEADER,
  ILDG_DATA,
  SCIDAC_DATA,
  CHECKSUM
} kind;

static kind kind_of(const kaon_lime_record *lime) {
  static const char *const types[] = {[FILE_HEADER] = "scidac-private-file-xml",
                                      [FILE_TEXT] = "scidac-file-xml",
                                      [RECORD_HEADER] = "scidac-private-record-xml",
                                      [RECORD_TEXT] = "scidac-record-xml",
                                      [ILDG_HEADER] = "ildg-format",
                                      [ILDG_DATA] = "ildg-binary-data",
                                      [SCIDAC_DATA] = "scidac-binary-data",
                                      [CHECKSUM] = "scidac-checksum"};
  for (int i = FILE_HEADER; i <= CHECKSUM; i++) {
    if (strcmp(lime->type, types[i]) == 0) return (kind)i;
  }
  return OTHER;
}

static kaon_status parse(kaon_scidac_scan *scan, const kaon_lime_record *lime, kind k,
                         kaon_scidac_record *record) {
  KAON_AUTO(kaon_xml_free) kaon_xml xml = {0};
  KAON_TRY(read_xml(scan, lime->type, lime->data, (int64_t)lime->length, 0, &xml));
  if (k == FILE_HEADER) KAON_TRY(parse_file(scan, lime, &xml));
  if (k == RECORD_HEADER) KAON_TRY(parse_private(scan, lime, &xml, record));
  if (k == ILDG_HEADER) KAON_TRY(parse_ildg(scan, lime, &xml, record));
  if (k == CHECKSUM) KAON_TRY(parse_checksum(scan, lime, &xml, record));
  return KAON_OK;
}

/* A checksum that cannot be read verifies nothing; the data are there all the same. */
static kaon_status take_checksum(kaon_scidac_scan *scan, const kaon_lime_record *lime,
                                 kaon_scidac_record *record) {
  const kaon_status status = parse(scan, lime, CHECKSUM, record);
  return pass_over(scan, status, "the data were not compared with it");
}

/* Bytes of the data by what the headers say; 0: they do not. */
static int64_t announced(const kaon_scidac_scan *scan, const kaon_scidac_record *record) {
  const int ildg = record->has_ildg_extents;
  const int64_t site = ildg ? 72 * record->precision / 8 : record->typesize * record->datacount;
  int64_t sites;
  if (!kaon_extents_volume(ildg ? record->ildg_extents : scan->extents, &sites)) return 0;
  return record->recordtype == 0 && site <= 1 << 20 ? sites * site : 0; /* at most 2^60 */
}

/* 1 if the data end at the end of the file, or a record begins after them. */
static kaon_status ends_well(const kaon_scidac_scan *scan, const kaon_lime_record *lime,
                             uint64_t length, int *well) {
  const int64_t size = scan->bytes->size;
  kaon_lime_record next;
  int end;
  *well = 0;
  if (length > (uint64_t)(size - lime->data)) return KAON_OK;
  const int64_t at = kaon_lime_after(scan->bytes, lime->data, (int64_t)length);
  KAON_TRY(kaon_lime_next(scan->ctx, scan->bytes, at, &next, &end));
  *well = end || next.fault == KAON_LIME_SOUND || next.fault == KAON_LIME_CUT;
  return KAON_OK;
}

/* Finds the data's length: what their LIME header says, or if that cannot be right, what the other
 * headers announce. */
static kaon_status take_data(kaon_scidac_scan *scan, kaon_lime_record *lime,
                             kaon_scidac_record *record) {
  const int64_t length = announced(scan, record);
  int well;
  KAON_TRY(ends_well(scan, lime, lime->length, &well));
  if (!well && length > 0) {
    KAON_TRY(ends_well(scan, lime, (uint64_t)length, &well));
    if (well && lime->length != (uint64_t)length) {
      kaon_scidac_warn(scan,
                       "%s: the %s record says that it has %llu bytes, but extents and precision "
                       "need %lld, which are there and are read",
                       scan->bytes->name, lime->type, (unsigned long long)lime->length,
                       (long long)length);
      lime->length = (uint64_t)length;
      lime->fault = KAON_LIME_SOUND;
    }
  }
  if (lime->fault != KAON_LIME_SOUND) return kaon_lime_refuse(scan->ctx, scan->bytes, lime);
  record->data = lime->data;
  record->length = (int64_t)lime->length;
  return KAON_OK;
}

/* A record after the data that cannot be read. It is a warning if no other field fits into what is
 * left of the file. */
static kaon_status leave_rest(kaon_scidac_scan *scan, const kaon_lime_record *lime, kind k,
                              const kaon_scidac_record *record) {
  const int64_t left = scan->bytes->size - lime->at;
  const int data = lime->fault == KAON_LIME_CUT && (k == ILDG_DATA || k == SCIDAC_DATA);
  if (data || left >= record->length) return kaon_lime_refuse(scan->ctx, scan->bytes, lime);
  kaon_scidac_warn(scan,
                   "%s: %lld bytes after the data, from offset %lld on, are no whole LIME record "
                   "and are not read; they may have been the data's checksum",
                   scan->bytes->name, (long long)left, (long long)lime->at);
  scan->at = scan->bytes->size;
  return KAON_OK;
}

/* If the last record does not close its message, the file may have been cut after its data. */
static kaon_status end_of_file(kaon_scidac_scan *scan, const kaon_scidac_record *record, int open) {
  if (open && !record->has_checksum)
    kaon_scidac_warn(scan,
                     "%s: it ends inside a LIME message, without a checksum of its last data; they "
                     "are all there, but what came after them may be missing",
                     scan->bytes->name);
  return KAON_OK;
}

kaon_status kaon_scidac_next(kaon_scidac_scan *scan, kaon_scidac_record *record, int *found) {
  kaon_lime_record lime;
  int end, flags = KAON_LIME_END;
  memset(record, 0, sizeof *record);
  *found = 0;
  for (;;) {
    KAON_TRY(kaon_lime_next(scan->ctx, scan->bytes, scan->at, &lime, &end));
    if (end) return end_of_file(scan, record, *found && !(flags & KAON_LIME_END));
    const kind k =
        lime.fault == KAON_LIME_SOUND || lime.fault == KAON_LIME_CUT ? kind_of(&lime) : OTHER;
    const int data = k == ILDG_DATA || k == SCIDAC_DATA;
    flags = lime.flags;
    /* The checksum follows its data; anything that opens another record ends this one. */
    if (*found && (data || k == RECORD_HEADER || k == ILDG_HEADER || k == FILE_HEADER))
      return KAON_OK;
    if (data) {
      KAON_TRY(take_data(scan, &lime, record));
      record->ildg = k == ILDG_DATA;
      *found = 1;
    } else if (lime.fault != KAON_LIME_SOUND) {
      return *found ? leave_rest(scan, &lime, k, record)
                    : kaon_lime_refuse(scan->ctx, scan->bytes, &lime);
    } else if (k == RECORD_TEXT && !*found) {
      record->xml = lime.data;
      record->xml_length = (int64_t)lime.length;
    } else if (k == FILE_TEXT) {
      scan->file_xml = lime.data;
      scan->file_xml_length = (int64_t)lime.length;
    } else if (k == CHECKSUM && *found) { /* one without data is skipped */
      KAON_TRY(take_checksum(scan, &lime, record));
    } else if (k == FILE_HEADER || k == RECORD_HEADER || k == ILDG_HEADER) {
      KAON_TRY(parse(scan, &lime, k, record));
    }
    scan->at = kaon_lime_after(scan->bytes, lime.data, (int64_t)lime.length);
  }
}

/* ---- extents and layout ---- */

/* The bits of a real if the data have `sites` times `reals` of them; else 0. */
static int bits_of(const kaon_scidac_record *record, int64_t sites, int reals) {
  const int64_t bytes = sites * reals * 4; /* at most 2^40 * 300 */
  return record->length == bytes ? 32 : record->length == 2 * bytes ? 64 : 0;
}

/* How well the extents agree with the data: 2 with the precision that is said, 1 with another. */
static int fits(const kaon_scidac_record *record, int reals, const int64_t extents[4]) {
  int64_t sites;
  if (!kaon_extents_volume(extents, &sites)) return 0;
  const int bits = bits_of(record, sites, reals);
  return bits == 0 ? 0 : 1 + (bits == record->precision);
}

static int are(const int64_t extents[4], const int given[4]) {
  for (int d = 0; d < 4; d++)
    if (extents[d] != given[d]) return 0;
  return 1;
}

kaon_status kaon_scidac_extents(kaon_scidac_scan *scan, const kaon_scidac_record *record, int reals,
                                const int given[4], const int64_t **extents) {
  const int64_t *a = record->ildg_extents, *b = scan->extents;
  *extents = record->has_ildg_extents ? a : scan->has_extents ? b : NULL;
  if (!record->has_ildg_extents || !scan->has_extents || memcmp(a, b, sizeof scan->extents) == 0)
    return KAON_OK;
  char text[200];
  const int by_a = fits(record, reals, a), by_b = fits(record, reals, b);
  snprintf(text, sizeof text,
           "ildg-format says %lldx%lldx%lldx%lld but the SciDAC header %lldx%lldx%lldx%lld",
           (long long)a[0], (long long)a[1], (long long)a[2], (long long)a[3], (long long)b[0],
           (long long)b[1], (long long)b[2], (long long)b[3]);
  if (by_a != by_b) {
    *extents = by_a > by_b ? a : b;
    kaon_scidac_warn(scan, "%s: %s; the data have the length of the %s, which is taken",
                     scan->bytes->name, text, by_a > by_b ? "first" : "second");
    return KAON_OK;
  }
  if (by_a && (are(a, given) || are(b, given))) {
    *extents = are(a, given) ? a : b;
    return KAON_OK;
  }
  return kaon_fail(scan->ctx, KAON_ERR_FORMAT, "%s: %s, and the data's %lld bytes fit %s; %s",
                   scan->bytes->name, text, (long long)record->length, by_a ? "both" : "neither",
                   by_a ? "pass the right ones (--lattice X Y Z T)" : "get a sound copy");
}

kaon_status kaon_scidac_layout(kaon_scidac_scan *scan, const kaon_scidac_record *record,
                               int64_t sites, int reals, kaon_site_layout *layout) {
  const int bits = bits_of(record, sites, reals);
  const int64_t bytes = sites * reals * 4;
  if (bits == 0)
    return kaon_fail(
        scan->ctx, KAON_ERR_FORMAT,
        "%s: %lld sites of %d reals need %lld bytes in 32 bits and %lld in 64, but the data record "
        "has %lld: the extents do not belong to these data; check them",
        scan->bytes->name, (long long)sites, reals, (long long)bytes, (long long)(2 * bytes),
        (long long)record->length);
  if (record->precision != 0 && record->precision != bits)
    kaon_scidac_warn(scan,
                     "%s: its header says that numbers have %d bits, but the data have the length "
                     "of %d bits, which is taken",
                     scan->bytes->name, record->precision, bits);
  *layout = (kaon_site_layout){record->data, sites, reals, bits, 1};
  return KAON_OK;
}
