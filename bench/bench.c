/* bench.c - the frame of every benchmark: its run, its rows. Contract: bench.h. Every figure stands
 * beside what the machine reached in the same run: streaming reads, STREAM triad or copy, and the
 * multiply-add peak. */
#include "bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

const cli_option bench_sample_rows[] = {
    {CLI_INT, "samples", "N", "7", BENCH_AT(samples), 1, 1000, "samples; their median counts"},
    {CLI_INT, "calls", "N", NULL, BENCH_AT(calls), 1, 1000000,
     "calls a sample (default: 100, or 20 ms of them, at most half a second)"},
    CLI_END_ROW};

const cli_option bench_rank_rows[] = {CLI_GROUP_ROW("Several ranks, under mpirun:"),
                                      CLI_RANKS_OPTIONS, CLI_SYNC_OPTION, CLI_END_ROW};

double bench_size(kaon_precision precision) {
  static const double sizes[] = {8, 4, 2};
  return sizes[precision];
}

int bench_stopped(void) {
  int stopped;
  return ranks_interrupted(&stopped) != EXIT_DONE || stopped;
}

kaon_status bench_bandwidth(bench *b) {
  machine *m = &b->machine, *all = &b->all;
  (void)bench_stopped(); /* all ranks begin together */
  machine_bandwidth(m);
  double sums[] = {m->read_gbs, m->triad_gbs, m->copy_gbs, m->fma_gflops[0], m->fma_gflops[1]};
  const kaon_status status = ranks_sum(sums, 5);
  *all = (machine){.read_gbs = sums[0],
                   .triad_gbs = sums[1],
                   .copy_gbs = sums[2],
                   .fma_gflops = {sums[3], sums[4]}};
  return status;
}

void bench_stage(const bench *b) {
  char kept[256];
  snprintf(kept, sizeof kept, "the %d row%s measured so far %s in %.180s",
           (int)json_array_size(b->rows), json_array_size(b->rows) == 1 ? "" : "s",
           json_array_size(b->rows) == 1 ? "is" : "are", b->args->json ? b->args->json : "");
  const int some = b->args->json && json_array_size(b->rows) > 0;
  signals_stage("measuring", some ? kept : "no results were written");
}

static void describe_ranks(const bench *b) {
  char overlap[32];
  if (b->info.ranks == 1) return;
  cli_print(
      &b->args->common,
      "%d ranks by %s%s%s, overlap %s; GFLOPS and bandwidths are those of all together, times "
      "the slowest rank's\n",
      b->info.ranks, b->info.communicator, *bench_transport(b) ? ", messages by " : "",
      bench_transport(b), cli_choice(CLI_OVERLAPS, b->args->common.overlap, overlap));
}

int bench_end(const bench *b, int code) {
  if (code != EXIT_DONE || !b->unconverged) return code;
  cli_error("not all solves converged; the status of each stands in its row%s",
            b->args->common.quiet ? ", which --quiet does not print" : "");
  return EXIT_NOT_CONVERGED;
}

const char *bench_transport(const bench *b) {
  return b->info.transport ? b->info.transport : "";
}

static void print_heads(const bench *b, const char *about) {
  const int host = bench_on_host(b), matrix = strcmp(about, "matrix") == 0;
  cli_print(&b->args->common, "%-15s %-14s %-13s %5s %4s %11s %8s %8s %7s %6s\n", "bench", about,
            "precision", matrix ? "form" : "links", "col", "seconds", "GFLOPS", "ideal",
            host ? "%triad" : "%read", "%peak");
}

void bench_header(const bench *b, const char *about) {
  const machine *m = &b->all;
  int host = bench_on_host(b);
  cli_print(&b->args->common, "kaon %s (%s), %s, %s, %d threads\n", kaon_version(), kaon_commit(),
            b->info.device, *b->info.isa ? b->info.isa : b->info.backend, b->info.threads);
  describe_ranks(b);
  cli_print(
      &b->args->common,
      "machine: read %.1f GB/s, %s %.1f GB/s, multiply-add %.1f (double) %.1f (single) GFLOPS\n",
      m->read_gbs, host ? "triad" : "copy", host ? m->triad_gbs : m->copy_gbs, m->fma_gflops[0],
      m->fma_gflops[1]);
  cli_print(
      &b->args->common,
      "ideal GB/s: the least traffic over the time; %%%s; %%peak: of the multiply-add peak\n\n",
      host ? "triad: of the triad measured with the row" : "read: of the reads");
  print_heads(b, about);
}

const char *bench_form(const char *words, char form[16]) {
  size_t n = strcspn(words, " ,-:");
  if (n > 15) n = 15;
  for (size_t i = 0; i < n; i++)
    form[i] = words[i] >= 'A' && words[i] <= 'Z' ? (char)(words[i] + 'a' - 'A') : words[i];
  form[n] = '\0';
  return form;
}

/* 0: not measured. */
static json_t *figure(double x) {
  return report_real(x > 0 ? x : NAN);
}

json_t *bench_describe(const bench *b, const bench_row *r) {
  char when[32] = "";
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  char overlap[32], transport[64];
  return json_pack(
      "{s:s s:o s:s s:s s:s s:s s:i s:o s:s s:s s:i s:s s:o s:s s:o s:i}", "bench", r->name,
      "command", report_string(b->args->common.line), "measured", when, "backend", b->info.backend,
      "device", b->info.device, "commit", kaon_commit(), "ranks", b->info.ranks, "grid",
      r->extents ? report_ints(r->grid, 4) : json_null(), "transport",
      report_transport(&b->info, transport), "overlap",
      cli_choice(CLI_OVERLAPS, b->args->common.overlap, overlap), "threads", b->info.threads, "isa",
      b->info.isa, "lattice", r->extents ? report_ints(r->extents, 4) : json_null(), "precision",
      r->precision_text ? r->precision_text : precision_name(r->precision), "links",
      r->extents ? json_integer(r->links) : json_null(), "columns", r->columns);
}

/* The subject of a row: the lattice and its links, or the matrix and its storage. */
static void subject_of(const bench_row *r, char subject[64], char form[16]) {
  const int *e = r->extents;
  if (e) {
    snprintf(subject, 64, "%dx%dx%dx%d", e[0], e[1], e[2], e[3]);
    snprintf(form, 16, "%d", r->links);
  } else {
    snprintf(subject, 64, "%s", r->matrix);
    snprintf(form, 16, "%s", r->stored);
  }
}

json_t *bench_add(bench *b, const bench_row *r) {
  const machine *m = &b->all;
  const double gflops = 1e-9 * r->flops / r->seconds, gbs = 1e-9 * r->bytes / r->seconds;
  const double peak = m->fma_gflops[r->precision != KAON_DOUBLE];
  const double limit = bench_on_host(b) ? m->triad_gbs : m->read_gbs;
  char subject[64], form[16];
  subject_of(r, subject, form);
  cli_print(&b->args->common, "%-15s %-14s %-13s %5s %4d %11.4e %8.2f ", r->name, subject,
            r->precision_text ? r->precision_text : precision_name(r->precision), form, r->columns,
            r->seconds, gflops);
  if (r->bytes > 0)
    cli_print(&b->args->common, "%8.2f %6.0f%% %5.0f%%\n", gbs, 100 * gbs / limit,
              100 * gflops / peak);
  else
    cli_print(&b->args->common, "%8s %7s %5.0f%%\n", "-", "-", 100 * gflops / peak);
  if (b->info.ranks > 1 && r->extents)
    cli_print(&b->args->common, "    grid %dx%dx%dx%d: %.2f GFLOPS a rank\n", r->grid[0],
              r->grid[1], r->grid[2], r->grid[3], gflops / b->info.ranks);
  json_t *row = bench_describe(b, r);
  json_object_update_new(
      row, json_pack("{s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o s:i s:i}", "seconds",
                     report_real(r->seconds), "seconds_min", figure(r->least), "seconds_max",
                     figure(r->most), "issue_seconds", figure(r->issue), "gflops",
                     report_real(gflops), "gflops_rank", report_real(gflops / b->info.ranks),
                     "ideal_gbs", figure(gbs), "limit_gbs", report_real(m->read_gbs), "copy_gbs",
                     report_real(m->copy_gbs), "triad_gbs", report_real(m->triad_gbs), "fma_gflops",
                     report_real(peak), "resident_bytes", figure(r->resident), "calls",
                     r->calls ? r->calls : 1, "samples", r->samples ? r->samples : 1));
  if (b->args->in_turn) json_object_set_new(row, "in_turn", json_true());
  json_array_append_new(b->rows, row);
  return row;
}

/* Called after each row, so that an interrupted run leaves its rows. */
kaon_status bench_save(bench *b) {
  const int code = report_write(b->args->json, b->rows);
  bench_stage(b);
  b->failed = code;
  return code == EXIT_DONE ? KAON_OK : KAON_ERR_CANCELLED; /* the error is already reported */
}

/* --- files --- */

/* Options whose value is a file that is read. */
static int is_input(const char *option) {
  static const char *const inputs[] = {"gauge", "matrix", "permutation", "join", "model"};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
    if (strcmp(option, inputs[i]) == 0) return 1;
  return 0;
}

enum { OUTPUTS_MAX = 4 };

/* Checks the files that one option names: a text or a list of texts. */
static int check_input(const cli_option *o, const char *at, const cli_path *outputs, int count) {
  char option[64];
  const cli_texts *list = (const cli_texts *)at;
  const char *const *files = o->kind == CLI_TEXTS ? list->text : (const char *const *)at;
  const int several = o->kind == CLI_TEXTS ? list->count : 1;
  int code = EXIT_DONE;
  snprintf(option, sizeof option, "--%s", o->name);
  for (int i = 0; i < several && code == EXIT_DONE; i++)
    code = cli_check_overwrite(option, files[i], outputs, count);
  return code;
}

/* Appends the files that are written; names: of their options. */
static int find_outputs(const cli_option *o, const char *args, cli_path outputs[OUTPUTS_MAX],
                        char names[OUTPUTS_MAX][32], int count) {
  for (; o->name; o++) {
    const char *at = args + o->offset;
    if (o->kind == CLI_TABLE)
      count = find_outputs((const cli_option *)(const void *)o->value, at, outputs, names, count);
    if (o->kind != CLI_FILE) continue;
    snprintf(names[count], sizeof *names, "--%s", o->name);
    outputs[count] = (cli_path){names[count], *(const char *const *)at};
    count++;
  }
  return count;
}

static int check_inputs(const cli_option *o, const char *args, const cli_path *outputs, int count) {
  int code = EXIT_DONE;
  for (; o->name && code == EXIT_DONE; o++) {
    const char *at = args + o->offset;
    if (o->kind == CLI_TABLE)
      code = check_inputs((const cli_option *)(const void *)o->value, at, outputs, count);
    if ((o->kind == CLI_TEXT || o->kind == CLI_TEXTS) && is_input(o->name))
      code = check_input(o, at, outputs, count);
  }
  return code;
}

int bench_check_files(const cli_option *options, const void *args) {
  const cli_common *common = args;
  cli_path outputs[OUTPUTS_MAX] = {{"--report", common->report}};
  char names[OUTPUTS_MAX][32];
  const int count = find_outputs(options, args, outputs, names, 1);
  int code = cli_distinct(outputs, count);
  if (code == EXIT_DONE) code = cli_check_overwrite("--tuning", common->tuning, outputs, count);
  return code == EXIT_DONE ? check_inputs(options, args, outputs, count) : code;
}

void bench_complete_rows(json_t *rows) {
  json_t *first = json_object(), *row;
  size_t k;
  json_array_foreach(rows, k, row) {
    const char *name = bench_word(row, "bench");
    if (!*name || json_object_get(row, "command")) continue;
    json_t *base = json_object_get(first, name);
    if (base)
      json_object_update_missing(row, base);
    else
      json_object_set(first, name, row);
  }
  json_decref(first);
}

int bench_merge_rows(bench *b, const cli_texts *files, const char *name) {
  for (int i = 0; i < files->count; i++) {
    json_error_t error = {.text = ""};
    json_t *rows = json_load_file(files->text[i], 0, &error), *row;
    const size_t before = json_array_size(b->rows);
    size_t k;
    bench_complete_rows(rows);
    json_array_foreach(rows, k, row) {
      if (strcmp(bench_word(row, "bench"), name) == 0) json_array_append(b->rows, row);
    }
    json_decref(rows);
    if (json_array_size(b->rows) == before)
      return cli_wrong("--join %s: %s%sit is no file of kaon bench %s --json", files->text[i],
                       error.text, *error.text ? "; " : "", name);
  }
  return EXIT_DONE;
}

const char *bench_word(const json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text ? text : "";
}

double bench_number(const json_t *row, const char *key) {
  const json_t *x = json_object_get(row, key);
  return json_is_number(x) ? json_number_value(x) : NAN;
}

int bench_first_of_matrix(const json_t *rows, size_t i, const char *name) {
  const json_t *row = json_array_get(rows, i);
  if (strcmp(bench_word(row, "bench"), name) != 0) return 0;
  for (size_t k = 0; k < i; k++) {
    const json_t *other = json_array_get(rows, k);
    if (strcmp(bench_word(other, "bench"), name) == 0 &&
        strcmp(bench_word(other, "matrix"), bench_word(row, "matrix")) == 0)
      return 0;
  }
  return 1;
}

/* --- the run --- */

int bench_begin(bench *b, const bench_args *args, const int grid[4]) {
  *b = (bench){.args = args, .info = KAON_CONTEXT_INFO_INIT};
  bench_stage(b);
  int code = ranks_context(&args->common, grid, &b->ctx);
  if (code == EXIT_DONE) code = ranks_check(&args->common, b->ctx);
  if (code == EXIT_DONE) code = cli_status(b->ctx, kaon_context_query(b->ctx, &b->info), NULL);
  b->rows = json_array();
  return code;
}

int bench_open_machine(bench *b) {
  (void)bench_stopped(); /* all ranks begin together */
  const char *missing =
      machine_open(b->info.backend, b->info.threads, ranks_on_node(), &b->machine);
  if (missing) cli_error("%s", missing);
  const int code = ranks_agree(missing ? EXIT_DEVICE : EXIT_DONE);
  return code == EXIT_DONE ? cli_status(b->ctx, bench_bandwidth(b), NULL) : code;
}

static int write_rows(bench *b) {
  const bench_args *a = b->args;
  int code = json_array_size(b->rows) ? EXIT_DONE : report_write(a->json, b->rows);
  if (code != EXIT_DONE || !a->common.report) return code;
  json_t *report = report_new(b->ctx, "bench");
  json_object_set(report, "rows", b->rows);
  code = report_write(a->common.report, report);
  json_decref(report);
  return code;
}

int bench_finish(bench *b, int code) {
  if (b->failed) code = b->failed;
  if ((code == EXIT_DONE || code == EXIT_NOT_CONVERGED) && write_rows(b) != EXIT_DONE)
    code = EXIT_DEVICE;
  json_decref(b->rows);
  free(b->numbers);
  machine_close(&b->machine);
  kaon_context_destroy(&b->ctx);
  return code;
}

int bench_run(const bench_args *args, const cli_option *options, bench_function *measure) {
  static const int chosen[4] = {0};
  bench b;
  int code = bench_check_files(options, args);
  if (code != EXIT_DONE) return code;
  code = bench_begin(&b, args, chosen);
  if (code == EXIT_DONE) code = bench_open_machine(&b);
  return bench_finish(&b, code == EXIT_DONE ? measure(&b) : code);
}
