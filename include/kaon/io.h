/* io.h - gauge-field and propagator files: formats, options, what a file says of itself.
 * Readers detect the format by content, stream in small buffers and verify all that the format lets
 * them verify; a failing read leaves the sink's content undefined. Writers go to a temporary file
 * that takes the final name when all is on disk: a file of that name is whole or untouched. Byte
 * formats and their sources: docs/files.md. */
#ifndef KAON_IO_H
#define KAON_IO_H

#include <stddef.h>
#include <stdint.h>
#include <kaon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kaon_file_format {
  KAON_FORMAT_AUTO,    /* reading: by content; writing: ILDG */
  KAON_FORMAT_NERSC,   /* NERSC archive, two or three rows, 32 or 64 bits, either endianness */
  KAON_FORMAT_ILDG,    /* LIME with ildg-binary-data; written inside SciDAC records, as QIO does */
  KAON_FORMAT_SCIDAC,  /* LIME with scidac-binary-data */
  KAON_FORMAT_MILC,    /* MILC version 5, 32 bits */
  KAON_FORMAT_OPENQCD, /* openQCD export, 64 bits */
  KAON_FORMAT_DDALPHAAMG /* DDalphaAMG; read only */
} kaon_file_format;

typedef enum kaon_byte_order {
  KAON_BYTES_NATIVE,
  KAON_BYTES_BIG,
  KAON_BYTES_LITTLE
} kaon_byte_order;

/* "nersc", "ildg", "scidac", "milc", "openqcd", "ddalphaamg", "auto"; never NULL. */
const char *kaon_file_format_name(kaon_file_format format);
/* The format of that name, in any case of letters; ARGUMENT lists the names otherwise. */
kaon_status kaon_file_format_parse(const char *name, kaon_file_format *format);

/* Links whose |U U^dag - 1| or |det U - 1| exceeds this, entry by entry, are refused. */
#define KAON_UNITARITY_TOLERANCE 1e-4

/* Checks that ignore_checksum lets pass: checksum, SU(3), link trace, plaquette. */
enum { KAON_GAUGE_FILE_WARNINGS = 4 };

/* What a gauge file says of itself, and what was found. Filled as far as known even on failure. */
typedef struct kaon_gauge_file_info {
  kaon_file_format format;
  int has_extents; /* 0: the file does not say; give options.extents */
  int extents[4];  /* X, Y, Z, T */
  int precision;   /* bits of a real: 32 or 64; 0: unknown before the extents are */
  int big_endian;
  int rows;      /* of each matrix stored: 3, or 2 (third row rebuilt) */
  int ambiguous; /* 1: openQCD and DDalphaAMG fit alike; openqcd is assumed. If the plaquette then
                    differs from the stored one, read again with options.format = DDALPHAAMG */

  int has_plaquette; /* stored, here at most 1; the caller compares with the links' own */
  double plaquette;
  double plaquette_tolerance; /* from the digits printed and the rounding of such a sum */
  int has_link_trace;         /* stored mean of Re tr U / 3; compared by the reader */
  double link_trace;
  double link_trace_tolerance;

  int checksums; /* stored checksum words: 0, 1 or 2 */
  uint32_t checksum_stored[2];

  /* Found while reading (not by a probe): */
  uint32_t checksum_computed[2];
  double link_trace_computed;
  double unitarity;             /* the largest deviation from SU(3) */
  int64_t unitarity_violations; /* links beyond KAON_UNITARITY_TOLERANCE */
  int warnings;                 /* how many checks failed that ignore_checksum let pass */
  char warning[KAON_GAUGE_FILE_WARNINGS][512]; /* a sentence of each: file, what is stored, what
                                                  was found */
} kaon_gauge_file_info;

typedef struct kaon_gauge_read_options {
  size_t size;
  int version;
  kaon_file_format format; /* AUTO: by content */
  int extents[4]; /* X, Y, Z, T; 0: as the file says. Needed where it does not; else must agree */
  int ignore_checksum; /* 1: wrong checksum, link trace or plaquette, and links off SU(3), become
                          warnings in the info. NaN, truncation and wrong extents stay errors */
} kaon_gauge_read_options;
#define KAON_GAUGE_READ_OPTIONS_INIT \
  { sizeof(kaon_gauge_read_options), 1, KAON_FORMAT_AUTO, {0, 0, 0, 0}, 0 }

typedef struct kaon_gauge_write_options {
  size_t size;
  int version;
  kaon_file_format format;    /* AUTO: ILDG */
  int precision;              /* 32 or 64; 0: 32 for MILC, else 64 */
  int rows;                   /* NERSC: 3 or 2; 0: 3. The others store 3 */
  kaon_byte_order byte_order; /* NERSC and MILC; the others fix it */
  const char *lfn;            /* ILDG: logical file name; NULL: none */
  const char *label; /* one line about the field (NERSC ENSEMBLE_LABEL, SciDAC info); may be NULL */
  const char *ensemble; /* NERSC ENSEMBLE_ID; NULL: "kaon" */
  int sequence;         /* NERSC SEQUENCE_NUMBER */
  const char *date;     /* at most 63 characters; NULL: now */
} kaon_gauge_write_options;
#define KAON_GAUGE_WRITE_OPTIONS_INIT                                                           \
  {                                                                                             \
    sizeof(kaon_gauge_write_options), 1, KAON_FORMAT_AUTO, 0, 0, KAON_BYTES_NATIVE, NULL, NULL, \
        NULL, 0, NULL                                                                           \
  }

/* Reads the header only: format, extents, precision, stored figures. For a NERSC file that hides
 * its endianness the data are summed as well. options may be NULL; its extents and format are
 * honoured. Not collective. Errors: IO, FORMAT, SHAPE, UNSUPPORTED. */
kaon_status kaon_gauge_file_probe(const kaon_context *ctx, const char *path,
                                  const kaon_gauge_read_options *options,
                                  kaon_gauge_file_info *info);

/* One link, u[row][col][re,im], of lexicographic site x + X (y + Y (z + Z t)), mu = 0..3 = x, y, z,
 * t. */
typedef void kaon_link_put(void *sink, int64_t site, int mu, const double u[18]);
typedef void kaon_link_get(void *source, int64_t site, int mu, double u[18]);

/* Reads a gauge file, handing each link once to `put` in the file's order. options may be NULL;
 * info too. Verifies checksums, unitarity, NaN, link trace, length and extents; the plaquette is
 * the caller's to compare (info->plaquette). On failure the sink's content is undefined. Not
 * collective. Errors: IO, FORMAT, SHAPE, UNSUPPORTED, CHECKSUM, UNITARITY, NOT_FINITE, MEMORY. */
kaon_status kaon_gauge_file_read(const kaon_context *ctx, const char *path,
                                 const kaon_gauge_read_options *options, kaon_gauge_file_info *info,
                                 kaon_link_put *put, void *sink);

/* What the header of a gauge file needs besides the links. */
typedef struct kaon_gauge_content {
  int extents[4];
  double plaquette;  /* mean of Re tr / 3, 1 for unit links; likewise: */
  double link_trace; /* mean of Re tr U / 3 */
} kaon_gauge_content;

/* Writes a gauge file, asking `get` for each link once in the file's order. Not collective.
 * Errors: ARGUMENT, IO, NOT_FINITE, UNITARITY (two rows of a matrix that is not SU(3)),
 * UNSUPPORTED, MEMORY. */
kaon_status kaon_gauge_file_write(const kaon_context *ctx, const char *path,
                                  const kaon_gauge_write_options *options,
                                  const kaon_gauge_content *content, kaon_link_get *get,
                                  void *source);

/* ---- propagators: USQCD Dirac propagator files, SciDAC in LIME ----
 * Chosen over HDF5: the reader of the gauge files reads them, MILC, Chroma and other USQCD codes do
 * too, every record carries its checksum, and no library is added. The files hold the DeGrand-Rossi
 * basis. */

typedef enum kaon_propagator_kind {
  KAON_PROPAGATOR_TWELVE, /* one complex scalar source, 12 solutions: column = 3 spin + colour of
                             the source */
  KAON_PROPAGATOR_PAIRS,  /* any number of (spinor source, solution) pairs */
  KAON_PROPAGATOR_SCALAR_PAIRS /* any number of (complex scalar source, solution) pairs */
} kaon_propagator_kind;

/* Spin basis of what the callbacks give and take. */
typedef enum kaon_propagator_basis {
  KAON_PROPAGATOR_UKQCD,        /* the library's own; converted at this door */
  KAON_PROPAGATOR_DEGRAND_ROSSI /* the file's; bits go through unchanged */
} kaon_propagator_basis;

typedef struct kaon_propagator_file_info {
  kaon_propagator_kind kind;
  int extents[4];
  int precision;         /* bits of a real */
  int columns;           /* solutions */
  int has_source;        /* 1: every source record is a full field, and put_source is called */
  int checksums_missing; /* records without a stored checksum */
  int warnings;          /* wrong checksums that ignore_checksum let pass */
  char text[32768];      /* the file's <info>, unescaped; whole, as QIO takes no longer value */
} kaon_propagator_file_info;

/* psi[spin][colour][re,im] at a lexicographic site of column `column`. */
typedef void kaon_spinor_put(void *sink, int column, int64_t site, const double psi[24]);
typedef void kaon_spinor_get(void *source, int column, int64_t site, double psi[24]);
/* Sources: 2 reals (scalar; column 0 for TWELVE) or 24 (PAIRS). */
typedef void kaon_source_put(void *sink, int column, int64_t site, const double *values);
typedef void kaon_source_get(void *source, int column, int64_t site, double *values);

typedef struct kaon_propagator_write_options {
  size_t size;
  int version;
  int extents[4];
  kaon_propagator_kind kind;
  int columns;   /* TWELVE: 12 */
  int precision; /* 32 or 64 */
  kaon_propagator_basis basis;
  const char *text; /* what was computed (kappa, csw, source, gauge file ...): any text, XML or not;
                       escaped */
  const char *source_text; /* about the source; NULL: none */
  const char *date;        /* at most 63 characters; NULL: now */
} kaon_propagator_write_options;
#define KAON_PROPAGATOR_WRITE_OPTIONS_INIT                                                  \
  {                                                                                         \
    sizeof(kaon_propagator_write_options), 1, {0, 0, 0, 0}, KAON_PROPAGATOR_TWELVE, 12, 64, \
        KAON_PROPAGATOR_UKQCD, NULL, NULL, NULL                                             \
  }

/* Writes the file, asking for sites in lexicographic order, source before its solution. With TWELVE
 * in the UKQCD basis both the sink's and the source's spin are converted, so that column 3 s + c of
 * the file belongs to DeGrand-Rossi source spin s: each site of a column is then asked for twice.
 * get, get_source must not be NULL. Not collective. Errors: ARGUMENT, IO, NOT_FINITE, MEMORY. */
kaon_status kaon_propagator_file_write(const kaon_context *ctx, const char *path,
                                       const kaon_propagator_write_options *options,
                                       kaon_spinor_get *get, kaon_source_get *get_source,
                                       void *source);

typedef struct kaon_propagator_read_options {
  size_t size;
  int version;
  int extents[4]; /* 0: as the file says; else must agree */
  kaon_propagator_basis basis;
  int ignore_checksum;
} kaon_propagator_read_options;
#define KAON_PROPAGATOR_READ_OPTIONS_INIT \
  { sizeof(kaon_propagator_read_options), 1, {0, 0, 0, 0}, KAON_PROPAGATOR_UKQCD, 0 }

/* Headers only. Not collective. Errors: IO, FORMAT, UNSUPPORTED, SHAPE. */
kaon_status kaon_propagator_file_probe(const kaon_context *ctx, const char *path,
                                       kaon_propagator_file_info *info);

/* Hands over each site of each column once, in any order. options, info, put_source may be NULL. On
 * failure the sink's content is undefined. Not collective. Errors: IO, FORMAT, SHAPE, UNSUPPORTED,
 * CHECKSUM, NOT_FINITE, MEMORY. */
kaon_status kaon_propagator_file_read(const kaon_context *ctx, const char *path,
                                      const kaon_propagator_read_options *options,
                                      kaon_propagator_file_info *info, kaon_spinor_put *put,
                                      kaon_source_put *put_source, void *sink);

#ifdef __cplusplus
}
#endif
#endif
