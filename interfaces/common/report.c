/* report.c - JSON by jansson (Debian libjansson-dev). Contract: report.h. */
#include "interfaces/common/report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/common/signals.h"

json_t *report_real(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

json_t *report_string(const char *text) {
  json_t *string = json_string(text);
  char *ascii = string ? NULL : strdup(text);
  for (char *c = ascii; c && *c; c++)
    if (*c & 0x80) *c = '?';
  if (ascii) string = json_string(ascii);
  free(ascii);
  return string ? string : json_null();
}

json_t *report_reals(const double *x, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) json_array_append_new(list, report_real(x[i]));
  return list;
}

json_t *report_ints(const int *x, int count) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) json_array_append_new(list, json_integer(x[i]));
  return list;
}

json_t *report_seed(uint64_t seed) {
  char text[32];
  if (seed <= INT64_MAX) return json_integer((json_int_t)seed);
  snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
  return json_string(text);
}

const char *report_transport(const kaon_context_info *info, char text[64]) {
  if (info->transport && *info->transport) return info->transport;
  snprintf(text, 64, "%.48s, by hosts", kaon_ranks_library());
  return info->ranks > 1 ? text : "";
}

static json_t *command_line;

void report_command_line(int argc, char **argv) {
  command_line = json_array();
  for (int i = 0; i < argc; i++) json_array_append_new(command_line, report_string(argv[i]));
}

/* Adds what tells one run from another: the command line, when and where it ran. */
static void add_run(json_t *report) {
  char date[32] = "", host[128] = "";
  const time_t now = time(NULL);
  struct tm utc;
  gethostname(host, sizeof host - 1);
  if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  json_object_set_new(report, "argv", json_copy(command_line));
  json_object_set_new(report, "date", json_string(date));
  json_object_set_new(report, "host", report_string(host));
  json_object_set_new(report, "seed", json_null());
}

json_t *report_new(const kaon_context *ctx, const char *command) {
  char text[64];
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  info.backend = info.device = info.isa = "";
  if (ctx) kaon_context_query(ctx, &info);
  json_t *report = json_pack(
      "{s:s s:s s:s s:s s:s s:s s:i s:i s:s s:n s:n s:n s:[]}", "kaon", kaon_version(), "commit",
      kaon_commit(), "command", command, "backend", info.backend, "device", info.device, "isa",
      info.isa, "threads", info.threads, "ranks", info.ranks, "transport",
      report_transport(&info, text), "seconds", "gflops", "joules", "solves");
  add_run(report);
  return report;
}

void report_part(json_t *report, const kaon_lattice *lattice) {
  int part[4], grid[4];
  kaon_lattice_part(lattice, part, NULL, grid);
  json_object_set_new(report, "grid", report_ints(grid, 4));
  json_object_set_new(report, "local_lattice", report_ints(part, 4));
}

void report_solve(json_t *report, int column, const kaon_column_report *solve, int other_stop) {
  json_t *entry = json_pack("{s:i s:i s:o s:s s:i}", "column", column, "iterations",
                            solve->iterations, "residual", report_real(solve->residual), "status",
                            kaon_stop_reason_name(solve->reason), "updates", solve->updates);
  if (solve->breakdown != KAON_BREAKDOWN_NONE)
    json_object_set_new(entry, "breakdown", json_string(kaon_breakdown_text(solve->breakdown)));
  if (solve->unreachable > 0)
    json_object_set_new(entry, "unreachable", report_real(solve->unreachable));
  if (other_stop) json_object_set_new(entry, "stop_residual", report_real(solve->stop_residual));
  json_array_append_new(json_object_get(report, "solves"), entry);
}

static int write_all(int fd, const char *text, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, text, length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return 0;
    text += n;
    length -= (size_t)n;
  }
  return 1;
}

static int write_aside(const char *path, const char *text, size_t length) {
  char part[4096];
  int n = snprintf(part, sizeof part, "%s.%ld-0.part", path, (long)getpid());
  if (n >= (int)sizeof part) return cli_wrong("%s: the path is too long", path);
  signals_output(path);
  int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  int good = fd >= 0 && write_all(fd, text, length);
  if (fd >= 0 && close(fd) != 0) good = 0;
  if (good && rename(part, path) == 0) return EXIT_DONE;
  cli_error("%s: writing failed: %s; free disk space or write elsewhere", path, strerror(errno));
  if (fd >= 0) unlink(part);
  return EXIT_DEVICE;
}

/* A symbolic link stays; its target is replaced. */
static int write_text(const char *path, const char *text, size_t length) {
  char *target = cli_target(path);
  const int code = write_aside(target ? target : path, text, length);
  free(target);
  return code;
}

int report_text(const char *path, const char *text, size_t length) {
  return ranks_agree(ranks_first() ? write_text(path, text, length) : EXIT_DONE);
}

/* The text with its last line's end, *length bytes; the caller's. NULL: no memory. */
static char *text_of(const json_t *report, size_t *length) {
  char *text = json_dumps(report, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  *length = text ? strlen(text) + 1 : 0;
  char *line = text ? realloc(text, *length + 1) : NULL;
  if (!line) free(text);
  if (line) line[*length - 1] = '\n';
  return line;
}

void report_in_case(const char *path, json_t *report, int first, int count) {
  size_t i, length = 0;
  json_t *solve;
  json_array_foreach(json_object_get(report, "solves"), i, solve) {
    const json_int_t column = json_integer_value(json_object_get(solve, "column"));
    if (column < first || column >= first + count) continue;
    json_object_set_new(solve, "iterations", json_null());
    json_object_set_new(solve, "residual", json_null());
    if (json_object_get(solve, "stop_residual"))
      json_object_set_new(solve, "stop_residual", json_null());
  }
  json_object_set_new(report, "interrupted", json_true());
  char *target = path && ranks_first() ? cli_target(path) : NULL;
  char *text = target ? text_of(report, &length) : NULL;
  json_decref(report);
  signals_report(target, text, length);
}

int report_write(const char *path, const json_t *report) {
  size_t length;
  if (!path) return EXIT_DONE;
  char *line = text_of(report, &length);
  if (!line) {
    cli_error("%s: out of memory for the report", path);
    return EXIT_DEVICE;
  }
  int code = report_text(path, line, length);
  signals_report(NULL, NULL, 0);
  free(line);
  return code;
}
