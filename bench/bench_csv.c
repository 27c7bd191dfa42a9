/* bench_csv.c - writes rows as CSV. Every member that is a number, a text or a truth value has a
 * column, in order of first appearance. A member of a member is named "outer.inner". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "interfaces/common/report.h"

enum { NAME = 96 };

static int is_cell(const json_t *value) {
  return json_is_number(value) || json_is_string(value) || json_is_boolean(value) ||
         json_is_null(value);
}

/* Appends a name that is new. */
static void note(json_t *names, json_t *seen, const char *name) {
  if (json_object_get(seen, name)) return;
  json_object_set_new(seen, name, json_true());
  json_array_append_new(names, json_string(name));
}

static void note_row(json_t *names, json_t *seen, json_t *row) {
  const char *key, *inner;
  json_t *value, *part;
  char name[NAME];
  json_object_foreach(row, key, value) {
    if (is_cell(value)) note(names, seen, key);
    if (!json_is_object(value)) continue;
    json_object_foreach(value, inner, part) {
      snprintf(name, sizeof name, "%.40s.%.40s", key, inner);
      if (is_cell(part)) note(names, seen, name);
    }
  }
}

static json_t *find(json_t *row, const char *name) {
  json_t *value = json_object_get(row, name);
  const char *dot = strchr(name, '.');
  char outer[NAME];
  if (value || !dot) return value;
  snprintf(outer, sizeof outer, "%.*s", (int)(dot - name), name);
  return json_object_get(json_object_get(row, outer), dot + 1);
}

/* Writes a quoted text; quotes in it are doubled. */
static void put_text(FILE *to, const char *text) {
  fputc('"', to);
  for (; *text; text++) {
    if (*text == '"') fputc('"', to);
    fputc(*text == '\n' ? ' ' : *text, to);
  }
  fputc('"', to);
}

static void put(FILE *to, const json_t *value) {
  if (json_is_integer(value)) fprintf(to, "%lld", (long long)json_integer_value(value));
  if (json_is_real(value)) fprintf(to, "%.10g", json_real_value(value));
  if (json_is_boolean(value)) fputc(json_is_true(value) ? '1' : '0', to);
  if (json_is_string(value)) put_text(to, json_string_value(value));
}

int bench_csv(const bench *b, const char *path) {
  json_t *names = json_array(), *seen = json_object(), *row, *name;
  char *text = NULL;
  size_t length = 0, i, k;
  FILE *out = open_memstream(&text, &length);
  if (!out) return EXIT_DEVICE;
  json_array_foreach(b->rows, i, row) note_row(names, seen, row);
  json_array_foreach(names, k, name) fprintf(out, "%s%s", k ? "," : "", json_string_value(name));
  fputc('\n', out);
  json_array_foreach(b->rows, i, row) {
    json_array_foreach(names, k, name) {
      if (k) fputc(',', out);
      put(out, find(row, json_string_value(name)));
    }
    fputc('\n', out);
  }
  const int code = fclose(out) == 0 ? report_text(path, text, length) : EXIT_DEVICE;
  free(text);
  json_decref(names);
  json_decref(seen);
  return code;
}
