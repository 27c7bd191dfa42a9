/* scidac.h - SciDAC/QIO and ILDG fields in a LIME file, of any kind: links, fat links, colour
 * vectors, spinors, complex numbers.
 * Reading follows the content:
 * - private-file-xml gives the extents;
 * - private-record-xml gives datatype, precision, typesize and datacount;
 * - ildg-format gives extents and precision;
 * - then follow ildg- or scidac-binary-data and scidac-checksum.
 * Other record types are skipped. Data are big endian, sites lexicographic with x fastest. Source:
 * QIO 2.3 manual (DeTar), sec. 2 and app. A; ILDG binary file format 1.1.
 *
 * Data that are all there are read, with a warning, where what the file says about them is wrong
 * or missing: marks of messages, the length of their record, records after them, precision, or one
 * of two statements of the extents. The length of the data decides what is right. */
#pragma once

#include "lib/io/lime.h"
#include "lib/io/sites.h"
#include "lib/io/xml.h"

/* One field of the file; values that the file does not give are 0 or "". */
typedef struct kaon_scidac_record {
  int64_t data, length;    /* of the binary data */
  int ildg;                /* 1: ildg-binary-data */
  int64_t xml, xml_length; /* the user's record XML */
  char datatype[64];       /* "USQCD_D3_ColorMatrix" */
  int64_t recordtype;      /* 0: all sites; 1: global values; 2: a hypercube */
  int64_t colors, spins, typesize, datacount;
  int precision;        /* 32 or 64, from ildg-format, else precision F/D; 0: not given */
  int has_ildg_extents; /* from ildg-format */
  int64_t ildg_extents[4];
  int has_checksum;
  uint32_t checksum[2];
} kaon_scidac_record;

/* What was wrong and did not matter: sentences that begin with the file's name. */
enum { KAON_SCIDAC_WARNINGS = 4 };
typedef struct kaon_scidac_warnings {
  int count;
  char text[KAON_SCIDAC_WARNINGS][400];
} kaon_scidac_warnings;

/* State of a pass over a file. */
typedef struct kaon_scidac_scan {
  const kaon_context *ctx;
  const kaon_bytes *bytes;
  int64_t at;      /* next LIME header */
  int has_extents; /* from private-file-xml */
  int64_t extents[4];
  int64_t file_xml, file_xml_length; /* the user's file XML */
  kaon_scidac_warnings warnings;
} kaon_scidac_scan;

void kaon_scidac_open(const kaon_context *ctx, const kaon_bytes *bytes, kaon_scidac_scan *scan);
/* Finds the next record with binary data; *found = 0 at the end. Errors: FORMAT, UNSUPPORTED (split
 * files), IO, MEMORY. */
kaon_status kaon_scidac_next(kaon_scidac_scan *scan, kaon_scidac_record *record, int *found);

/* Parses a text of the user, which need not be XML: another text has the root "". `type`: the LIME
 * type of its record, for messages. Release *xml by kaon_xml_free, also after a failure. Errors:
 * FORMAT, IO, MEMORY. */
kaon_status kaon_scidac_user_xml(const kaon_scidac_scan *scan, const char *type, int64_t at,
                                 int64_t length, kaon_xml *xml);
/* The same of a record's text, which is not needed: malformed XML is a warning, and an empty
 * *xml. */
kaon_status kaon_scidac_record_xml(kaon_scidac_scan *scan, const kaon_scidac_record *record,
                                   kaon_xml *xml);
/* Adds a warning. */
void kaon_scidac_warn(kaon_scidac_scan *scan, const char *format, ...) KAON_PRINTF(2, 3);

/* Chooses the extents of a record's data: of ildg-format or the SciDAC header. Where they differ,
 * those that `reals` values a site and the data's length agree with; if both do, those that are
 * `given` (zeros: none are). *extents = NULL if the file has none. They may be absurd. Errors:
 * FORMAT. */
kaon_status kaon_scidac_extents(kaon_scidac_scan *scan, const kaon_scidac_record *record, int reals,
                                const int given[4], const int64_t **extents);
/* Finds the layout of a record's data: `reals` values a site, over `sites` sites. The length of the
 * data tells the bits. Errors: FORMAT. */
kaon_status kaon_scidac_layout(kaon_scidac_scan *scan, const kaon_scidac_record *record,
                               int64_t sites, int reals, kaon_site_layout *layout);

/* Reads one field (fat and long links, colour vectors): the file's first full-lattice record of
 * `reals` values a site. Verifies length, checksum and finiteness; any value is allowed. */
typedef struct kaon_scidac_field {
  int extents[4];
  int precision;
  int ildg; /* 1: a gauge configuration */
  char datatype[64];
  int has_checksum;
  uint32_t checksum_stored[2], checksum_computed[2];
  kaon_scidac_warnings warnings; /* of the file so far */
} kaon_scidac_field;
typedef void kaon_site_put(void *sink, int64_t site, const double *values);
typedef void kaon_site_get(void *source, int64_t site, double *values);
kaon_status kaon_scidac_field_read(const kaon_context *ctx, const char *path, int reals,
                                   int ignore_checksum, kaon_scidac_field *field,
                                   kaon_site_put *put, void *sink);
kaon_status kaon_scidac_field_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                         int reals, int ignore_checksum, kaon_scidac_field *field,
                                         kaon_site_put *put, void *sink);

/* Reads the next such field of a scan, likewise. Errors: also FORMAT if there is none. */
kaon_status kaon_scidac_field_next(kaon_scidac_scan *scan, int reals, int ignore_checksum,
                                   kaon_scidac_field *field, kaon_site_put *put, void *sink);

/* Reads all such fields of a file, one after the other (columns of vectors). `done` is called after
 * each, with its index from 0; its error ends the reading. put NULL: only the headers. Errors:
 * those of one field. */
enum { KAON_SCIDAC_TITLE = 1024 };
typedef struct kaon_scidac_fields {
  kaon_scidac_field field; /* the last one */
  int count;
  char title[KAON_SCIDAC_TITLE]; /* <title> of the first one, unescaped; "": none */
} kaon_scidac_fields;
typedef kaon_status kaon_field_done(void *sink, int number);
kaon_status kaon_scidac_fields_read(const kaon_context *ctx, const char *path, int reals,
                                    int ignore_checksum, kaon_scidac_fields *fields,
                                    kaon_site_put *put, kaon_field_done *done, void *sink);
kaon_status kaon_scidac_fields_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                          int reals, int ignore_checksum,
                                          kaon_scidac_fields *fields, kaon_site_put *put,
                                          kaon_field_done *done, void *sink);

/* ---- writing ---- */

/* Content of private-record-xml. spins = 0: omitted. */
typedef struct kaon_scidac_type {
  const char *datatype;
  int precision; /* 32 or 64 */
  int colors, spins;
  int reals; /* of one of the `datacount` items of a site */
  int datacount;
} kaon_scidac_type;

/* Writes the file's first message: extents and the user's file XML. */
kaon_status kaon_scidac_write_file(kaon_atomic_file *file, const int extents[4],
                                   const char *file_xml);

/* Writes one field: QIO's four records. If `ildg`, adds ildg-format and (lfn not NULL)
 * ildg-data-lfn. `get` fills reals * datacount values a site, in order. NaN and values that
 * overflow 32 bits are refused. Errors: IO, NOT_FINITE, MEMORY. */
typedef struct kaon_scidac_output {
  const kaon_context *ctx;
  kaon_atomic_file *file;
  const int *extents;
  const char *date;
} kaon_scidac_output;
kaon_status kaon_scidac_write_field(const kaon_scidac_output *out, const kaon_scidac_type *type,
                                    const char *record_xml, int ildg, const char *lfn,
                                    kaon_site_get *get, void *source);
