/* options.c - defaults, range checks, printing and key=value parsing of every options struct, all
 * from its table. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/error.h"
#include "lib/io/decimal.h"
#include "lib/core/options_table.h"
#include "lib/core/entry.h"

enum { STRUCT_MAX = 512, TOKEN_MAX = 128 };

/* Every options struct starts with these members. */
typedef struct options_head {
  size_t size;
  int version;
} options_head;

/* Large enough for every options struct. */
typedef union options_struct {
  options_head head;
  double number;
  void *pointer;
  char bytes[STRUCT_MAX];
} options_struct;

static kaon_status table_for(kaon_options_kind kind, const kaon_options_table **table) {
  *table = kaon_options_table_of(kind);
  if (*table != NULL) return KAON_OK;
  return kaon_fail(NULL, KAON_ERR_ARGUMENT, "options: kind %d is not known", (int)kind);
}

static double get(const kaon_field *field, const void *options) {
  const char *at = (const char *)options + field->offset;
  switch (field->type) {
    case KAON_FIELD_UINT64:
      return (double)*(const uint64_t *)at;
    case KAON_FIELD_INT64:
      return (double)*(const int64_t *)at;
    case KAON_FIELD_DOUBLE:
      return *(const double *)at;
    default:
      return *(const int *)at;
  }
}

static void put(const kaon_field *field, void *options, double value) {
  char *at = (char *)options + field->offset;
  switch (field->type) {
    case KAON_FIELD_UINT64:
      *(uint64_t *)at = (uint64_t)value;
      break;
    case KAON_FIELD_INT64:
      *(int64_t *)at = (int64_t)value;
      break;
    case KAON_FIELD_DOUBLE:
      *(double *)at = value;
      break;
    default:
      *(int *)at = (int)value;
      break;
  }
}

int kaon_field_value(const char *const *names, int i) {
  return names[i][0] >= '0' && names[i][0] <= '9' ? atoi(names[i]) : i;
}

const char *kaon_field_name(const char *const *names, int value) {
  for (int i = 0; names[i] != NULL; i++)
    if (kaon_field_value(names, i) == value) return names[i];
  return NULL;
}

/* Writes "a, b or c" for an enumeration, "low to high" for a number. */
static void describe_range(const kaon_field *field, char *text, size_t room) {
  if (field->type != KAON_FIELD_ENUM) {
    snprintf(text, room, "%.10g to %.10g", field->low, field->high);
    return;
  }
  size_t used = 0;
  text[0] = '\0';
  for (const char *const *n = field->names; *n != NULL && used < room; n++)
    used += (size_t)snprintf(text + used, room - used, "%s%s",
                             n == field->names ? ""
                             : n[1] != NULL    ? ", "
                                               : " or ",
                             *n);
}

static int in_range(const kaon_field *field, double value) {
  if (field->type != KAON_FIELD_ENUM) /* These comparisons do not trap on NaN. */
    return isgreaterequal(value, field->low) && islessequal(value, field->high);
  return kaon_field_name(field->names, (int)value) != NULL;
}

static kaon_status check_field(const kaon_options_table *table, const kaon_field *field,
                               double value) {
  if (in_range(field, value)) return KAON_OK;
  char allowed[256];
  describe_range(field, allowed, sizeof allowed);
  return kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s options: %s is %.10g, but must be %s", table->name,
                   field->name, value, allowed);
}

/* Sets the defaults in a struct of the table's size. */
static void fill(const kaon_options_table *table, void *options) {
  memset(options, 0, table->size);
  *(options_head *)options = (options_head){table->size, table->version};
  for (const kaon_field *field = table->fields; field->name != NULL; field++)
    put(field, options, field->standard);
}

kaon_status kaon_options_init(kaon_options_kind kind, void *options, size_t size) {
  KAON_ENTER(NULL, options);
  const kaon_options_table *table;
  options_struct all;
  KAON_TRY(table_for(kind, &table));
  if (size < sizeof(options_head))
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "%s options: %zu bytes do not hold size and version; give the sizeof of the "
                     "struct",
                     table->name, size);
  fill(table, &all);
  memset(options, 0, size);
  memcpy(options, &all, size < table->size ? size : table->size);
  ((options_head *)options)->size = size;
  return KAON_OK;
}

/* Computes how many bytes of `options`, which has the caller's size, this library knows. */
static kaon_status known_bytes(const kaon_options_table *table, const void *options,
                               size_t *known) {
  const options_head *head = options;
  const kaon_options_table *other = kaon_options_table_of((kaon_options_kind)(head->version / 256));
  if (other != NULL && other != table && head->version == other->version)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "%s options: the struct holds %s options; pass the other struct, or the other "
                     "kind",
                     table->name, other->name);
  if (head->size < sizeof *head || head->version != table->version)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "%s options: the struct has size %zu, version %d, but this library has size "
                     "%zu, version %d; start from its _INIT macro",
                     table->name, head->size, head->version, table->size, table->version);
  *known = head->size < table->size ? head->size : table->size;
  int beyond = head->size > STRUCT_MAX;
  for (size_t i = *known; i < head->size && !beyond; i++) beyond = ((const char *)options)[i] != 0;
  if (!beyond) return KAON_OK;
  return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                   "%s options: the struct has size %zu, and a byte beyond the %zu bytes that this "
                   "library knows is not 0: the application sets an option of a newer kaon; link "
                   "that one, or leave the option at 0",
                   table->name, head->size, table->size);
}

kaon_status kaon_options_take(kaon_options_kind kind, const void *given, void *taken) {
  const kaon_options_table *table = kaon_options_table_of(kind);
  size_t known;
  fill(table, taken);
  if (given == NULL) return KAON_OK;
  KAON_TRY(known_bytes(table, given, &known));
  memcpy(taken, given, known);
  ((options_head *)taken)->size = table->size;
  for (const kaon_field *field = table->fields; field->name != NULL; field++)
    KAON_TRY(check_field(table, field, get(field, taken)));
  return KAON_OK;
}

kaon_status kaon_options_check(kaon_options_kind kind, const void *options) {
  KAON_ENTER(NULL, options);
  const kaon_options_table *table;
  options_struct all;
  KAON_TRY(table_for(kind, &table));
  return kaon_options_take(kind, options, &all);
}

/* Parses integers beyond 2^53, which a double cannot represent. Returns 0 if the text is not digits
 * only or exceeds 64 bits. */
static int parse_digits(const kaon_field *field, const char *text, void *options) {
  char *end = NULL, *at = (char *)options + field->offset;
  if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') return 0;
  errno = 0;
  const unsigned long long whole = strtoull(text, &end, 10);
  if (errno == ERANGE || *end != '\0') return 0;
  if (field->type == KAON_FIELD_UINT64) *(uint64_t *)at = whole;
  if (field->type == KAON_FIELD_INT64 && whole <= INT64_MAX) *(int64_t *)at = (int64_t)whole;
  return field->type == KAON_FIELD_UINT64 || whole <= INT64_MAX;
}

static kaon_status parse_number(const kaon_options_table *table, const kaon_field *field,
                                const char *text, void *options) {
  char *end = NULL;
  errno = 0;
  double value = kaon_decimal_strtod(text, &end);
  int whole = field->type != KAON_FIELD_DOUBLE;
  if (end == text || *end != '\0' || errno == ERANGE || (whole && value != floor(value)) ||
      !isfinite(value))
    return kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s options: %s=%s is not a %snumber", table->name,
                     field->name, text, whole ? "whole " : "");
  KAON_TRY(check_field(table, field, value));
  const int wide = field->type == KAON_FIELD_UINT64 || field->type == KAON_FIELD_INT64;
  if (wide && parse_digits(field, text, options)) return KAON_OK;
  if (wide && !(value < 0x1p63))
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "%s options: %s=%s is beyond 64 bits; give a smaller number, in digits",
                     table->name, field->name, text);
  put(field, options, value);
  return KAON_OK;
}

static kaon_status parse_name(const kaon_options_table *table, const kaon_field *field,
                              const char *text, void *options) {
  for (int i = 0; field->names[i] != NULL; i++)
    if (strcmp(field->names[i], text) == 0) {
      put(field, options, kaon_field_value(field->names, i));
      return KAON_OK;
    }
  char allowed[256];
  describe_range(field, allowed, sizeof allowed);
  return kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s options: %s=%s, but must be %s", table->name,
                   field->name, text, allowed);
}

/* 1: the field is within the first `known` bytes. */
static int has(const kaon_field *field, size_t known) {
  const int narrow = field->type == KAON_FIELD_INT || field->type == KAON_FIELD_ENUM;
  return field->offset + (narrow ? sizeof(int) : sizeof(double)) <= known;
}

/* 1: the text before `end` has a value for this field. */
static int is_given_before(const kaon_field *field, const char *text, const char *end) {
  const size_t length = strlen(field->name);
  while (text < end) {
    text += strspn(text, ", \t\n");
    if (text < end && strncmp(text, field->name, length) == 0 && text[length] == '=') return 1;
    text += strcspn(text, ", \t\n");
  }
  return 0;
}

static kaon_status parse_pair(const kaon_options_table *table, const char *text, const char *at,
                              char *pair, size_t room, void *options) {
  char *value = strchr(pair, '=');
  if (value == NULL)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s options: \"%s\" is not of the form key=value",
                     table->name, pair);
  *value++ = '\0';
  for (const kaon_field *field = table->fields; field->name != NULL; field++)
    if (strcmp(field->name, pair) == 0 && has(field, room)) {
      if (is_given_before(field, text, at))
        return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                         "%s options: %s is given twice, the second time as %s; leave one of them "
                         "out",
                         table->name, pair, value);
      return field->type == KAON_FIELD_ENUM ? parse_name(table, field, value, options)
                                            : parse_number(table, field, value, options);
    }
  char known[256] = "";
  size_t used = 0;
  for (const kaon_field *field = table->fields; field->name != NULL && used < sizeof known; field++)
    used +=
        (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", field->name);
  return kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s options: no field is called %s; there are %s",
                   table->name, pair, known);
}

kaon_status kaon_options_parse(kaon_options_kind kind, void *options, const char *text) {
  KAON_ENTER(NULL, options, text);
  const kaon_options_table *table;
  KAON_TRY(table_for(kind, &table));
  options_struct copy;
  size_t room;
  KAON_TRY(known_bytes(table, options, &room));
  memcpy(&copy, options, room);
  const char *const all = text;
  while (*text != '\0') {
    size_t skip = strspn(text, ", \t\n");
    size_t length = strcspn(text += skip, ", \t\n");
    if (length == 0) break;
    if (length >= TOKEN_MAX)
      return kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s options: a word of %zu characters is too long",
                       table->name, length);
    char pair[TOKEN_MAX];
    memcpy(pair, text, length);
    pair[length] = '\0';
    KAON_TRY(parse_pair(table, all, text, pair, room, &copy));
    text += length;
  }
  memcpy(options, &copy, room);
  return KAON_OK;
}

static void format_value(const kaon_field *field, double value, char *text, size_t room) {
  if (field->type == KAON_FIELD_ENUM) {
    const char *name = kaon_field_name(field->names, (int)value);
    snprintf(text, room, "%s", name != NULL ? name : "?");
  } else if (field->type != KAON_FIELD_DOUBLE) {
    snprintf(text, room, "%.0f", value);
  } else {
    kaon_decimal_printf(text, room, "%.17g", value);
    double back = NAN;
    for (int digits = 1; digits <= 17 && back != value;
         digits++) { /* finds the shortest text that reads back equal */
      kaon_decimal_printf(text, room, "%.*g", digits, value);
      back = kaon_decimal_strtod(text, NULL);
    }
  }
}

kaon_status kaon_options_print(kaon_options_kind kind, const void *options, char *text, size_t room,
                               size_t *length) {
  KAON_ENTER(NULL, options);
  const kaon_options_table *table;
  KAON_TRY(table_for(kind, &table));
  size_t used = 0, known;
  KAON_TRY(known_bytes(table, options, &known));
  if (room > 0 && text == NULL)
    return kaon_fail(
        NULL, KAON_ERR_ARGUMENT,
        "options print: a buffer of %zu characters is announced, but its address is NULL", room);
  if (room > 0) text[0] = '\0';
  for (const kaon_field *field = table->fields; field->name != NULL; field++) {
    char value[64];
    if (!has(field, known)) continue;
    format_value(field, get(field, options), value, sizeof value);
    if (field->type == KAON_FIELD_UINT64)
      snprintf(value, sizeof value, "%llu",
               (unsigned long long)*(const uint64_t *)((const char *)options + field->offset));
    if (field->type == KAON_FIELD_INT64)
      snprintf(value, sizeof value, "%lld",
               (long long)*(const int64_t *)((const char *)options + field->offset));
    size_t left = used < room ? room - used : 0;
    used += (size_t)snprintf(left ? text + used : NULL, left, "%s%s=%s", used ? ", " : "",
                             field->name, value);
  }
  if (length != NULL) *length = used + 1;
  return KAON_OK;
}

const char *kaon_options_help(kaon_options_kind kind, int field) {
  static _Thread_local char line[512];
  const kaon_options_table *table = kaon_options_table_of(kind);
  if (table == NULL || field < 0) return NULL;
  for (int i = 0; i <= field; i++)
    if (table->fields[i].name == NULL) return NULL;
  const kaon_field *f = &table->fields[field];
  char allowed[256], standard[64];
  describe_range(f, allowed, sizeof allowed);
  format_value(f, f->standard, standard, sizeof standard);
  snprintf(line, sizeof line, "%s (%s) %s: %s", f->name, standard, allowed, f->help);
  return line;
}
