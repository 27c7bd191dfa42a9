/* tuning_file.c - launch choices to JSON and back. Contract: tuning_file.h. */
#include "interfaces/common/tuning_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interfaces/common/report.h"

static const char *const kernels[] = {"hop", "vector"};
static const char *const precisions[] = {"double", "single", "half"};
static const char *const switches[] = {NULL, "off", "on"};

/* The members of a choice: two switches, then numbers. */
enum { SWITCHES = 2, CHOICES = 6 };
static const char *const choices[CHOICES] = {"prefetch", "stream", "level",
                                             "threads",  "group",  "blocks"};

static void values_of(const kaon_tuning_entry *e, int value[CHOICES]) {
  const int all[CHOICES] = {(int)e->prefetch, (int)e->stream, e->level,
                            e->threads,       e->group,       e->blocks};
  memcpy(value, all, sizeof all);
}

static void set_values(kaon_tuning_entry *e, const int value[CHOICES]) {
  e->prefetch = (kaon_choice)value[0];
  e->stream = (kaon_choice)value[1];
  e->level = value[2];
  e->threads = value[3];
  e->group = value[4];
  e->blocks = value[5];
}

json_t *tuning_new(const kaon_context *ctx) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  info.backend = info.device = info.isa = "";
  kaon_context_query(ctx, &info);
  return json_pack("{s:s s:s s:s s:s s:s s:i s:[]}", "kaon", kaon_version(), "commit",
                   kaon_commit(), "backend", info.backend, "device", info.device, "isa", info.isa,
                   "threads", info.threads, "entries");
}

void tuning_add(json_t *file, const kaon_tuning_entry *e, const int extents[4], double seconds,
                double seconds_by_rule) {
  int value[CHOICES];
  json_t *choice = json_object();
  values_of(e, value);
  for (int i = 0; i < CHOICES; i++)
    if (value[i])
      json_object_set_new(choice, choices[i],
                          i < SWITCHES ? json_string(switches[value[i]]) : json_integer(value[i]));
  json_array_append_new(
      json_object_get(file, "entries"),
      json_pack("{s:s s:s s:i s:i s:o s:o s:o s:o}", "kernel", kernels[e->kernel], "precision",
                precisions[e->precision], "links", e->reconstruct, "columns", e->columns, "lattice",
                report_ints(extents, 4), "choice", choice, "seconds", report_real(seconds),
                "seconds_by_rule", report_real(seconds_by_rule)));
}

const char *tuning_words(const kaon_tuning_entry *e, char text[128]) {
  int value[CHOICES], used = 0;
  values_of(e, value);
  snprintf(text, 128, "by rule");
  for (int i = 0; i < CHOICES; i++)
    if (value[i] && i < SWITCHES)
      used += snprintf(text + used, 128 - (size_t)used, "%s%s %s", used ? ", " : "", choices[i],
                       switches[value[i]]);
    else if (value[i])
      used += snprintf(text + used, 128 - (size_t)used, "%s%s %d", used ? ", " : "", choices[i],
                       value[i]);
  return text;
}

static int find(const char *const *names, int count, const char *word) {
  for (int i = 0; i < count; i++)
    if (names[i] && strcmp(names[i], word) == 0) return i;
  return -1;
}

static int wrong(const char *path, size_t number, const char *what, const char *word) {
  return cli_wrong(
      "--tuning %s: entry %zu: %s %s is not known; the file is not one that this kaon "
      "tune wrote",
      path, number, what, word);
}

/* -1, which the library refuses by name, for what no int of this file can be. */
static int in_range(json_int_t n) {
  return n < 0 || n > 1 << 20 ? -1 : (int)n;
}

static int read_choice(const char *path, size_t number, json_t *choice, kaon_tuning_entry *e) {
  int value[CHOICES] = {0};
  const char *name;
  json_t *given;
  json_object_foreach(choice, name, given) {
    const int i = find(choices, CHOICES, name);
    if (i < 0) return wrong(path, number, "choice", name);
    if (i >= SWITCHES && !json_is_integer(given)) return wrong(path, number, name, "of this kind");
    const char *word = json_is_string(given) ? json_string_value(given) : "of this kind";
    const json_int_t n = i < SWITCHES ? find(switches, 3, word) : json_integer_value(given);
    if (n < 0 && i < SWITCHES) return wrong(path, number, name, word);
    value[i] = in_range(n);
  }
  set_values(e, value);
  return EXIT_DONE;
}

static int read_entry(const char *path, size_t number, json_t *from, kaon_tuning_entry *e) {
  const char *kernel, *precision;
  json_t *choice, *seconds, *rule;
  json_error_t error;
  json_int_t n[2], x[4];
  if (json_unpack_ex(from, &error, JSON_STRICT, "{s:s s:s s:I s:I s:[IIII] s:o s:o s:o}", "kernel",
                     &kernel, "precision", &precision, "links", &n[0], "columns", &n[1], "lattice",
                     &x[0], &x[1], &x[2], &x[3], "choice", &choice, "seconds", &seconds,
                     "seconds_by_rule", &rule) != 0)
    return cli_wrong(
        "--tuning %s: entry %zu: %s; it must have kernel, precision, links, columns, "
        "lattice (4 numbers), choice, seconds, seconds_by_rule and nothing else",
        path, number, error.text);
  const int k = find(kernels, 2, kernel), p = find(precisions, 3, precision);
  if (k < 0) return wrong(path, number, "kernel", kernel);
  if (p < 0) return wrong(path, number, "precision", precision);
  if (!json_is_object(choice)) return wrong(path, number, "choice", "of this kind");
  e->kernel = (kaon_tuned)k;
  e->precision = (kaon_precision)p;
  e->reconstruct = in_range(n[0]);
  e->columns = in_range(n[1]);
  e->sites = 1;
  for (int mu = 0; mu < 4; mu++) { /* what is no extent makes 0 sites, which the library refuses */
    if (x[mu] < 1 || x[mu] > 4096) x[mu] = 0;
    e->sites *= x[mu];
  }
  return read_choice(path, number, choice, e);
}

static int use(kaon_context *ctx, const char *path, json_t *file) {
  kaon_tuning tuning = {0};
  const char *commit;
  json_t *entries;
  json_error_t error;
  int threads, code = EXIT_DONE;
  if (json_unpack_ex(file, &error, JSON_STRICT, "{s:s s:s s:s s:s s:s s:i s:o}", "kaon",
                     &tuning.version, "commit", &commit, "backend", &tuning.backend, "device",
                     &tuning.device, "isa", &tuning.isa, "threads", &threads, "entries",
                     &entries) != 0)
    return cli_wrong("--tuning %s: %s; the file is not one that kaon tune wrote", path, error.text);
  if (!json_is_array(entries)) return cli_wrong("--tuning %s: entries is not a list", path);
  const size_t count = json_array_size(entries);
  kaon_tuning_entry *all = calloc(count + 1, sizeof *all);
  if (!all) {
    cli_error("--tuning %s: out of memory for %zu entries", path, count);
    return EXIT_DEVICE;
  }
  for (size_t i = 0; i < count && code == EXIT_DONE; i++)
    code = read_entry(path, i, json_array_get(entries, i), &all[i]);
  tuning.count = (int)count;
  tuning.entries = all;
  if (code == EXIT_DONE) code = cli_status(ctx, kaon_context_set_tuning(ctx, &tuning), path);
  free(all);
  return code;
}

int tuning_use(kaon_context *ctx, const char *path) {
  json_error_t error;
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* from a pipe one would wait for ever */
    return cli_wrong("--tuning %s is %s; give a tuning file, which kaon tune --output FILE makes",
                     path, S_ISDIR(st.st_mode) ? "a directory" : "no ordinary file");
  json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!file && error.line < 0)
    return cli_wrong("--tuning %s: %s; give a file that kaon tune --output FILE made", path,
                     error.text);
  if (!file)
    return cli_wrong(
        "--tuning %s is no tuning file (line %d: %s); give one that kaon tune --output FILE made",
        path, error.line, error.text);
  const int code = use(ctx, path, file);
  json_decref(file);
  return code;
}
