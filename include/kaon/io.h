/** @file io.h
 * Files of gauge fields and propagators: formats, options, what a file says of itself.
 *
 * Readers find the format by the content, read in small buffers, and verify all that the format
 * lets them verify. Writers fill a temporary file and give it the final name when all is on disk. A
 * file of that name is therefore whole or untouched. Byte formats and their sources:
 * docs/files.md. */
#ifndef KAON_IO_H
#define KAON_IO_H

#include <stddef.h>
#include <stdint.h>
#include <kaon/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Formats of gauge fields. */
typedef enum kaon_file_format {
  KAON_FORMAT_AUTO,   /**< reading: by content; writing: ILDG */
  KAON_FORMAT_NERSC,  /**< NERSC archive: two or three rows, 32 or 64 bits, either endianness */
  KAON_FORMAT_ILDG,   /**< LIME with ildg-binary-data; written inside SciDAC records, as QIO does */
  KAON_FORMAT_SCIDAC, /**< LIME with scidac-binary-data */
  KAON_FORMAT_MILC,   /**< MILC version 5, 32 bits */
  KAON_FORMAT_OPENQCD,   /**< openQCD export, 64 bits */
  KAON_FORMAT_DDALPHAAMG /**< DDalphaAMG; only read */
} kaon_file_format;

/** Order of bytes in a file. */
typedef enum kaon_byte_order {
  KAON_BYTES_NATIVE,
  KAON_BYTES_BIG,
  KAON_BYTES_LITTLE
} kaon_byte_order;

/** Name of a format: "nersc", "ildg", "scidac", "milc", "openqcd", "ddalphaamg" or "auto". Never
 * NULL. Local. */
KAON_API const char *kaon_file_format_name(kaon_file_format format);
/** Format of a name, in any case of letters. Local. Errors: ARGUMENT, with the names. */
KAON_API kaon_status kaon_file_format_parse(const char *name, kaon_file_format *format);

/** Links are refused if an entry of `|U U^dag - 1|`, or `|det U - 1|`, exceeds this. */
#define KAON_UNITARITY_TOLERANCE 1e-4

/** Sentences that fit into an info. Warnings are about checks that ignore_checksum ignores
 * (checksum, SU(3), link trace, plaquette), and about data that are all there although the file
 * says otherwise. */
enum { KAON_GAUGE_FILE_WARNINGS = 8 };

/** What a gauge file says of itself, and what was found in it. After an error it has all that is
 * known. */
typedef struct kaon_gauge_file_info {
  size_t size;
  kaon_file_format format;
  int has_extents; /**< 0: the file has none; the options must give them */
  int extents[4];  /**< X, Y, Z, T */
  int precision;   /**< bits of a real, 32 or 64. 0: not known before the extents are */
  int big_endian;
  int rows;      /**< rows stored of a matrix: 3, or 2 (the third is rebuilt) */
  int ambiguous; /**< 1: the file may be openQCD or DDalphaAMG; openQCD is assumed. If the plaquette
                      differs, read again with format DDALPHAAMG */

  int has_plaquette; /**< 1: the file has a plaquette. The caller compares it with the links' own */
  double plaquette;  /**< 1 for unit links */
  double plaquette_tolerance; /**< from its digits, and from the rounding of such a sum */
  int has_link_trace; /**< 1: the file has the mean of Re tr U / 3. The reader compares it */
  double link_trace;
  double link_trace_tolerance;

  int checksums; /**< number of stored checksums: 0, 1 or 2 */
  uint32_t checksum_stored[2];

  uint32_t checksum_computed[2]; /**< this and what follows: only after reading, not after a
                                      probe */
  double link_trace_computed;
  double unitarity;             /**< largest deviation from SU(3) */
  int64_t unitarity_violations; /**< links beyond #KAON_UNITARITY_TOLERANCE */
  int warnings;                 /**< what was wrong and accepted; also after a probe */
  char warning[KAON_GAUGE_FILE_WARNINGS][512]; /**< a sentence about each */
} kaon_gauge_file_info;
/** Initial value. */
#define KAON_GAUGE_FILE_INFO_INIT KAON_SIZED(kaon_gauge_file_info)

/** Options of reading a gauge field. */
typedef struct kaon_gauge_read_options {
  size_t size;
  int version;
  kaon_file_format format; /**< AUTO: by content */
  int extents[4]; /**< X, Y, Z, T. 0: those of the file. Needed if the file has none; else they must
                       agree */
  int ignore_checksum; /**< 1: a wrong checksum, link trace or plaquette, and links off SU(3),
                            become warnings in the info. NaN, truncation and wrong extents stay
                            errors */
} kaon_gauge_read_options;
/** Defaults. */
#define KAON_GAUGE_READ_OPTIONS_INIT                                                   \
  {                                                                                    \
    sizeof(kaon_gauge_read_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_GAUGE_READ, 1), \
        KAON_FORMAT_AUTO, {0, 0, 0, 0}, 0                                              \
  }

/** Options of writing a gauge field. */
typedef struct kaon_gauge_write_options {
  size_t size;
  int version;
  kaon_file_format format;    /**< AUTO: ILDG */
  int precision;              /**< 32 or 64. 0: 32 for MILC, else 64 */
  int rows;                   /**< NERSC: 3 or 2; 0: 3. Other formats store 3 */
  kaon_byte_order byte_order; /**< NERSC and MILC. Other formats have a fixed order */
  const char *lfn;            /**< ILDG: logical file name. NULL: none */
  const char *label;    /**< one line about the field (NERSC ENSEMBLE_LABEL, SciDAC info). NULL:
                             none */
  const char *ensemble; /**< NERSC ENSEMBLE_ID. NULL: "kaon" */
  int sequence;         /**< NERSC SEQUENCE_NUMBER */
  const char *date;     /**< at most 63 characters. NULL: now */
} kaon_gauge_write_options;
/** Defaults. */
#define KAON_GAUGE_WRITE_OPTIONS_INIT                                                    \
  {                                                                                      \
    sizeof(kaon_gauge_write_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_GAUGE_WRITE, 1), \
        KAON_FORMAT_AUTO, 0, 0, KAON_BYTES_NATIVE, NULL, NULL, NULL, 0, NULL             \
  }

/** Reads the header of a gauge file: format, extents, precision, stored figures. A NERSC file that
 * hides its endianness is read in full. `ctx`, `options` and `info` may be NULL; of the options,
 * format and extents count. Local. Errors: ARGUMENT, IO, FORMAT, SHAPE, UNSUPPORTED. */
KAON_API kaon_status kaon_gauge_file_probe(const kaon_context *ctx, const char *path,
                                           const kaon_gauge_read_options *options,
                                           kaon_gauge_file_info *info);

/** Takes a link `u[row][col][re, im]` from a reader. `site` = x + X (y + Y (z + Z t)); mu = 0..3
 * for x, y, z, t. */
typedef void kaon_link_put(void *sink, int64_t site, int mu, const double u[18]);
/** Gives a link to a writer, likewise. */
typedef void kaon_link_get(void *source, int64_t site, int mu, double u[18]);

/** Reads a gauge file and passes each link once to `put`, in the file's order. `ctx`, `options` and
 * `info` may be NULL. Checksums, unitarity, NaN, link trace, length and extents are verified; the caller
 * compares the plaquette (`info->plaquette`). After an error the content of the sink is undefined.
 * Local. Errors: ARGUMENT, IO, FORMAT, SHAPE, UNSUPPORTED, CHECKSUM, UNITARITY, NOT_FINITE,
 * MEMORY. */
KAON_API kaon_status kaon_gauge_file_read(const kaon_context *ctx, const char *path,
                                          const kaon_gauge_read_options *options,
                                          kaon_gauge_file_info *info, kaon_link_put *put,
                                          void *sink);

/** What the header of a gauge file needs besides the links. Fixed size. */
typedef struct kaon_gauge_content {
  int extents[4];
  double plaquette;  /**< mean of Re tr / 3 over all plaquettes; 1 for unit links */
  double link_trace; /**< mean of Re tr U / 3 */
} kaon_gauge_content;

/** Writes a gauge file and asks `get` for each link once, in the file's order. `ctx` may be NULL;
 * `options` NULL: the defaults. Local. Errors: ARGUMENT, IO, NOT_FINITE, UNITARITY (two rows of a matrix that is not in SU(3)), UNSUPPORTED,
 * MEMORY. */
KAON_API kaon_status kaon_gauge_file_write(const kaon_context *ctx, const char *path,
                                           const kaon_gauge_write_options *options,
                                           const kaon_gauge_content *content, kaon_link_get *get,
                                           void *source);

/** @name Propagators
 * USQCD Dirac propagator files: SciDAC records in LIME, as MILC, Chroma and other USQCD codes read
 * and write them. Every record has a checksum. Files are in the DeGrand-Rossi basis. */
/** @{ */

/** What a propagator file holds. */
typedef enum kaon_propagator_kind {
  KAON_PROPAGATOR_TWELVE, /**< one complex scalar source and 12 solutions; column = 3 spin + colour
                               of the source */
  KAON_PROPAGATOR_PAIRS,  /**< any number of (spinor source, solution) pairs */
  KAON_PROPAGATOR_SCALAR_PAIRS /**< any number of (complex scalar source, solution) pairs */
} kaon_propagator_kind;

/** Spin basis of what the callbacks give and take. */
typedef enum kaon_propagator_basis {
  KAON_PROPAGATOR_UKQCD,        /**< the library's own; converted */
  KAON_PROPAGATOR_DEGRAND_ROSSI /**< the file's; bits are unchanged */
} kaon_propagator_basis;

/** What a propagator file says of itself. */
typedef struct kaon_propagator_file_info {
  size_t size;
  kaon_propagator_kind kind;
  int extents[4];
  int precision;         /**< bits of a real */
  int columns;           /**< solutions */
  int has_source;        /**< 1: every source is a full field, and put_source is called */
  int checksums_missing; /**< records without a stored checksum */
  int warnings;          /**< what was wrong and accepted, as of a gauge file */
  char text[32768];      /**< the file's `info` text, unescaped. QIO accepts no longer one */
  char warning[512];     /**< a sentence about the first one */
} kaon_propagator_file_info;
/** Initial value. */
#define KAON_PROPAGATOR_FILE_INFO_INIT KAON_SIZED(kaon_propagator_file_info)

/** Takes `psi[spin][colour][re, im]` of a site of column `column` from a reader. Sites are
 * lexicographic, x fastest. */
typedef void kaon_spinor_put(void *sink, int column, int64_t site, const double psi[24]);
/** Gives a spinor to a writer, likewise. */
typedef void kaon_spinor_get(void *source, int column, int64_t site, double psi[24]);
/** Takes a site of a source from a reader: 2 reals for a scalar source (TWELVE: column 0), or 24
 * for PAIRS. */
typedef void kaon_source_put(void *sink, int column, int64_t site, const double *values);
/** Gives a site of a source to a writer, likewise. */
typedef void kaon_source_get(void *source, int column, int64_t site, double *values);

/** Options of writing propagators. */
typedef struct kaon_propagator_write_options {
  size_t size;
  int version;
  int extents[4]; /**< X, Y, Z, T */
  kaon_propagator_kind kind;
  int columns;   /**< TWELVE: 12 */
  int precision; /**< 32 or 64 */
  kaon_propagator_basis basis;
  const char *text; /**< what was computed: kappa, csw, source, gauge file, ... Any text; escaped */
  const char *source_text; /**< about the source. NULL: none */
  const char *date;        /**< at most 63 characters. NULL: now */
} kaon_propagator_write_options;
/** Defaults. The extents have to be set. */
#define KAON_PROPAGATOR_WRITE_OPTIONS_INIT                                                         \
  {                                                                                                \
    sizeof(kaon_propagator_write_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_PROPAGATOR_WRITE, 1), \
        {0, 0, 0, 0}, KAON_PROPAGATOR_TWELVE, 12, 64, KAON_PROPAGATOR_UKQCD, NULL, NULL, NULL      \
  }

/** Writes a propagator file. Asks for sites in lexicographic order, a source before its solution.
 * `options`, `get` and `get_source` are not NULL, `ctx` may be.
 *
 * With TWELVE in the UKQCD basis, the spins of sink and source are both converted: column 3 s + c
 * of the file belongs to source spin s in the DeGrand-Rossi basis. Each site of a column is then
 * asked for twice. Local. Errors: ARGUMENT, IO, NOT_FINITE, MEMORY. */
KAON_API kaon_status kaon_propagator_file_write(const kaon_context *ctx, const char *path,
                                                const kaon_propagator_write_options *options,
                                                kaon_spinor_get *get, kaon_source_get *get_source,
                                                void *source);

/** Options of reading propagators. */
typedef struct kaon_propagator_read_options {
  size_t size;
  int version;
  int extents[4]; /**< 0: those of the file; else they must agree */
  kaon_propagator_basis basis;
  int ignore_checksum; /**< 1: wrong checksums become warnings */
} kaon_propagator_read_options;
/** Defaults. */
#define KAON_PROPAGATOR_READ_OPTIONS_INIT                                                        \
  {                                                                                              \
    sizeof(kaon_propagator_read_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_PROPAGATOR_READ, 1), \
        {0, 0, 0, 0}, KAON_PROPAGATOR_UKQCD, 0                                                   \
  }

/** Reads the headers of a propagator file. `ctx` and `info` may be NULL. Local. Errors: ARGUMENT, IO, FORMAT,
 * UNSUPPORTED, SHAPE. */
KAON_API kaon_status kaon_propagator_file_probe(const kaon_context *ctx, const char *path,
                                                kaon_propagator_file_info *info);

/** Reads a propagator file and passes each site of each column once to `put`, in any order. `ctx`,
 * `options`, `info` and `put_source` may be NULL. After an error the content of the sink is
 * undefined. Local. Errors: ARGUMENT, IO, FORMAT, SHAPE, UNSUPPORTED, CHECKSUM, NOT_FINITE,
 * MEMORY. */
KAON_API kaon_status kaon_propagator_file_read(const kaon_context *ctx, const char *path,
                                               const kaon_propagator_read_options *options,
                                               kaon_propagator_file_info *info,
                                               kaon_spinor_put *put, kaon_source_put *put_source,
                                               void *sink);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
