/* options_table.h - one row a field: the only place that has the defaults, ranges and meanings of
 * an options struct. */
#ifndef KAON_LIB_OPTIONS_TABLE_H
#define KAON_LIB_OPTIONS_TABLE_H

#include <kaon/options.h>

typedef enum kaon_field_type {
  KAON_FIELD_INT,
  KAON_FIELD_UINT64,
  KAON_FIELD_INT64,
  KAON_FIELD_DOUBLE,
  KAON_FIELD_ENUM /* stored as an enum (int); `names` lists its values */
} kaon_field_type;

typedef struct kaon_field_name {
  const char *name;
  int value;
} kaon_field_name;

typedef struct kaon_field {
  const char *name;
  kaon_field_type type;
  size_t offset;
  double standard, low, high; /* default and closed range; enumerations: default only */
  const kaon_field_name *names;
  const char *help;
} kaon_field;

typedef struct kaon_options_table {
  const char *name;
  size_t size;
  int version;
  const kaon_field *fields; /* ends with name = NULL */
} kaon_options_table;

/* NULL for an unknown kind. */
const kaon_options_table *kaon_options_table_of(kaon_options_kind kind);

#endif
