/* field.h - the gauge field that a command line names: FILE | unit | random:SEED |
 * weak:EPS[:SEED]. */
#ifndef KAON_COMMON_FIELD_H
#define KAON_COMMON_FIELD_H

#include "interfaces/common/cli.h"

typedef enum field_kind { FIELD_FILE, FIELD_UNIT, FIELD_RANDOM, FIELD_WEAK } field_kind;

typedef struct field_spec {
  field_kind kind;
  const char *text;   /* as typed: a file's path */
  const char *option; /* the option or operand with this value: "--gauge", "--start", "FILE" */
  const char *takes;  /* what that option takes, for messages */
  double eps;
  uint64_t seed;
} field_spec;

typedef struct field {
  field_spec spec;
  int extents[4];
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  kaon_gauge_file_info file; /* of FIELD_FILE */
} field;

/* Reads the notation of --gauge; exit status. */
int field_parse(const char *text, field_spec *spec);
/* The spec of a configuration file `text` that was given to `option`. */
field_spec field_file(const char *text, const char *option, const char *takes);
/* The extents that a field will have: `given` (X = 0: not given), else the file's. Exit status. */
int field_extents(const kaon_context *ctx, const field_spec *spec, const int given[4],
                  int ignore_checksum, int extents[4]);
/* Creates lattice and links (double, 18 reals) and fills them. Exit status; field_close in any
 * case. */
int field_open(kaon_context *ctx, const field_spec *spec, const int given[4],
               kaon_boundary boundary, int ignore_checksum, field *f);
void field_close(field *f);
/* Checksum words of the file in hexadecimal: CRC-32 sums of SciDAC and ILDG, the sum of NERSC and
 * MILC. null: synthetic links, or a file without checksum. */
json_t *field_checksum(const field *f);
/* Bytes of the links in a file of these options; its header, a few KB, is not counted. */
double field_file_bytes(const int extents[4], const kaon_gauge_write_options *options);

#endif
