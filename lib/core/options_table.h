/* options_table.h - one row a field: the only place that has the defaults, ranges and meanings of
 * an options struct. */
#pragma once

#include <kaon/context.h>

typedef enum kaon_field_type {
  KAON_FIELD_INT,
  KAON_FIELD_UINT64,
  KAON_FIELD_INT64,
  KAON_FIELD_DOUBLE,
  KAON_FIELD_ENUM /* stored as an enum (int); `names` lists its values */
} kaon_field_type;

typedef struct kaon_field {
  const char *name;
  kaon_field_type type;
  size_t offset;
  double standard, low, high; /* default and closed range; enumerations: default only */
  const char *const *names; /* of an enumeration, then NULL; a number is its own value, other names
                               have the values 0, 1, ... */
  const char *help;
} kaon_field;

typedef struct kaon_options_table {
  const char *name;
  size_t size;
  int version;
  const kaon_field *fields; /* ends with name = NULL */
} kaon_options_table;

/* Converts options from a caller to this library's struct. New versions of the library add members
 * at the end of an options struct. `size` says how many the caller knows:
 *   smaller than here  the fields beyond it take their defaults
 *   larger than here   accepted if the bytes beyond are 0, else refused (ARGUMENT)
 * `taken`, a struct of this library's size, receives the result; given NULL: the defaults. Then all
 * ranges are checked. Every function with options calls this first. The message of an error is
 * stored for no context. */
kaon_status kaon_options_take(kaon_options_kind kind, const void *given, void *taken);

/* NULL for an unknown kind. */
const kaon_options_table *kaon_options_table_of(kaon_options_kind kind);

/* The value of an enumeration's name `i`, and the name of a value, or NULL. */
int kaon_field_value(const char *const *names, int i);
const char *kaon_field_name(const char *const *names, int value);
