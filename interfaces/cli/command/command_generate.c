/* command_generate.c - kaon generate: quenched configurations by heatbath and over-relaxation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cli/command/commands.h"
#include "interfaces/common/cli.h"
#include "interfaces/common/problem/field.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

typedef struct generate_args {
  cli_common common;
  int lattice[4], grid[4];
  int ignore_checksum;
  double beta;
  uint64_t seed;
  int sweeps, overrelax, first_sweep, every;
  const char *start;
  const char *output;
  int format;
} generate_args;

#define AT(member) offsetof(generate_args, member)
static const cli_option options[] = {
    {CLI_GROUP, "The field:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_EXTENTS, "lattice", "X Y Z T", NULL, AT(lattice), 0, 0,
     "extents, each even. Needed unless --start is a file."},
    {CLI_REAL, "beta", "B", "6.0", AT(beta), 0, 1000, "coupling of the Wilson gauge action"},
    {CLI_GROUP, "The run:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_SEED, "seed", "N", "1", AT(seed), 0, 0,
     "seed of the random numbers. The links depend on it, not on --threads."},
    {CLI_INT, "sweeps", "N", "200", AT(sweeps), 0, 1e9, "heatbath sweeps"},
    {CLI_INT, "overrelax", "N", "4", AT(overrelax), 0, 1000,
     "over-relaxation sweeps before each heatbath sweep"},
    {CLI_TEXT, "start", "cold|hot|FILE", "cold", AT(start), 0, 0,
     "start from unit links, random links, or a configuration"},
    {CLI_INT, "first-sweep", "N", "0", AT(first_sweep), 0, 1e9,
     "number of the first sweep. A run that continues from sweep N with the same seed gives the "
     "links of an uninterrupted one, if --start has them in 64 bits (milc has 32)."},
    {CLI_INT, "every", "N", "10", AT(every), 1, 1e9, "print the plaquette every N sweeps"},
    {CLI_EXTENTS, "grid", "a b c d", NULL, AT(grid), 0, 0, CLI_GRID_TEXT},
    CLI_RANKS_OPTIONS,
    {CLI_FLAG, "ignore-checksum", NULL, NULL, AT(ignore_checksum), 0, 0,
     "continue, with a warning, where checksum, stored plaquette or unitarity of the --start file "
     "are wrong"},
    {CLI_GROUP, "The result:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_FILE, "output", "FILE", NULL, AT(output), 0, 0, "the file to write. Needed."},
    {CLI_CHOICE, "format", "nersc|ildg|scidac|milc|openqcd", "ildg", AT(format), 0, 0,
     "format of --output"},
    {CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

static field_spec start_spec(const generate_args *a) {
  field_spec spec = field_file(a->start, "--start", "cold, hot or a configuration file");
  if (strcmp(a->start, "cold") == 0) {
    spec.kind = FIELD_UNIT;
  } else if (strcmp(a->start, "hot") == 0) {
    spec.kind = FIELD_RANDOM;
    spec.seed = a->seed;
  }
  return spec;
}

static int start_field(kaon_context *ctx, const generate_args *a, field *f) {
  const field_spec spec = start_spec(a);
  if (spec.kind != FIELD_FILE && !a->lattice[0])
    return cli_wrong("--lattice X Y Z T is missing, as in --lattice 8 8 8 16");
  return field_open(ctx, &spec, a->lattice, KAON_PERIODIC, a->ignore_checksum, f);
}

static kaon_status observe(const generate_args *a, const field *f, int sweep, json_t *history) {
  kaon_observables o = KAON_OBSERVABLES_INIT;
  kaon_status status = kaon_gauge_measure(f->gauge, &o);
  if (status != KAON_OK) return status;
  cli_print(&a->common, "%8d   %.10f   %.10f   %.10f\n", sweep, o.plaquette, o.plaquette_space,
            o.plaquette_time);
  json_array_append_new(history, json_pack("[i,o]", sweep, report_real(o.plaquette)));
  return KAON_OK;
}

/* One sweep a call, so that Ctrl-C is seen between sweeps. *reached: number of the next sweep. */
static int sweep(const kaon_context *ctx, const generate_args *a, const field *f, json_t *history,
                 int *reached) {
  kaon_heatbath_options heatbath = KAON_HEATBATH_OPTIONS_INIT;
  heatbath.beta = a->beta;
  heatbath.overrelaxation = a->overrelax;
  heatbath.seed = a->seed;
  *reached = a->first_sweep;
  cli_print(&a->common, "   sweep   plaquette      space          time\n");
  kaon_status status = observe(a, f, *reached, history);
  for (int n = 1; n <= a->sweeps && status == KAON_OK; n++) {
    int stopped;
    const int code = ranks_interrupted(&stopped);
    if (code != EXIT_DONE || stopped) return code;
    heatbath.sweep = (uint64_t)*reached;
    status = kaon_gauge_heatbath(f->gauge, &heatbath, 1);
    if (status != KAON_OK) break;
    ++*reached;
    if (n % a->every == 0 || n == a->sweeps) status = observe(a, f, *reached, history);
  }
  return cli_status(ctx, status, NULL);
}

static kaon_gauge_write_options write_options(const generate_args *a) {
  static const kaon_file_format formats[] = {KAON_FORMAT_NERSC, KAON_FORMAT_ILDG,
                                             KAON_FORMAT_SCIDAC, KAON_FORMAT_MILC,
                                             KAON_FORMAT_OPENQCD};
  kaon_gauge_write_options write = KAON_GAUGE_WRITE_OPTIONS_INIT;
  write.format = formats[a->format];
  return write;
}

/* Looks for room before the first sweep. */
static int fits(const kaon_context *ctx, const generate_args *a) {
  const field_spec spec = start_spec(a);
  const kaon_gauge_write_options write = write_options(a);
  int extents[4];
  if (spec.kind != FIELD_FILE && !a->lattice[0]) return EXIT_DONE; /* start_field says it */
  int code = field_extents(ctx, &spec, a->lattice, a->ignore_checksum, extents);
  if (code == EXIT_DONE) code = cli_status(ctx, kaon_lattice_check(ctx, extents), NULL);
  if (code != EXIT_DONE) return code;
  const double bytes = field_file_bytes(extents, &write);
  return cli_check_disk_space("--output", a->output, bytes, bytes);
}

static int save(const kaon_context *ctx, const generate_args *a, const field *f, int reached) {
  kaon_gauge_write_options write = write_options(a);
  char label[128];
  snprintf(label, sizeof label, "kaon generate: beta %.15g, seed %llu, sweep %d, overrelax %d",
           a->beta, (unsigned long long)a->seed, reached, a->overrelax);
  write.label = label;
  write.sequence = reached;
  signals_enter("writing the configuration", "the file was not written");
  int code = cli_write_status(ctx, kaon_gauge_write(f->gauge, a->output, &write), NULL);
  signals_leave(code == EXIT_DONE ? a->output : NULL);
  if (code == EXIT_DONE) cli_print(&a->common, "written: %s\n", a->output);
  if (code == EXIT_DONE && write.format == KAON_FORMAT_MILC)
    cli_print(
        &a->common,
        "note: milc has 32 bits, so a continued run differs from an uninterrupted one; the other "
        "formats have 64\n");
  else if (code == EXIT_DONE)
    cli_print(&a->common,
              "continue with: kaon generate --start %s%s --first-sweep %d --beta %.15g "
              "--overrelax %d --seed %llu --output NEXT\n",
              strcmp(a->output, "cold") == 0 || strcmp(a->output, "hot") == 0 ? "./" : "",
              a->output, reached, a->beta, a->overrelax, (unsigned long long)a->seed);
  return code;
}

static int produce(kaon_context *ctx, const generate_args *a, const field *f) {
  int reached = 0;
  json_t *history = json_array(), *report = report_new(ctx, "generate");
  signals_stage("generating", "the sweeps are lost, nothing was written");
  double started = cli_now();
  int stopped = 0, code = sweep(ctx, a, f, history, &reached);
  double seconds = cli_now() - started;
  if (code == EXIT_DONE) code = ranks_interrupted(&stopped);
  if (code == EXIT_DONE && !stopped) {
    code = save(ctx, a, f, reached);
    double last =
        json_real_value(json_array_get(json_array_get(history, json_array_size(history) - 1), 1));
    json_t *more = json_pack(
        "{s:o s:f s:o s:i s:o s:o s:O s:o}", "lattice", report_ints(f->extents, 4), "beta", a->beta,
        "seed", report_seed(a->seed), "next_sweep", reached, "seconds", report_real(seconds),
        "plaquette", report_real(last), "history", history, "output", report_string(a->output));
    json_object_update(report, more);
    json_decref(more);
    report_part(report, f->lattice);
    if (code == EXIT_DONE) code = report_write(a->common.report, report);
  }
  json_decref(history);
  json_decref(report);
  return code;
}

static int check(const generate_args *a) {
  if (!a->output)
    return cli_wrong("--output FILE is missing: where the configuration is to be written");
  int file = strcmp(a->start, "cold") != 0 && strcmp(a->start, "hot") != 0;
  if (a->ignore_checksum && !file)
    return cli_wrong("--ignore-checksum is for a file of --start, which is %s; leave it out",
                     a->start);
  const cli_path paths[] = {{"--start", file ? a->start : NULL},
                            {"--tuning", a->common.tuning},
                            {"--output", a->output},
                            {"--report", a->common.report}};
  return cli_distinct(paths, 4);
}

static int run(void *arguments) {
  const generate_args *a = arguments;
  kaon_context *ctx = NULL;
  field f = {0};
  int code = check(a);
  if (code != EXIT_DONE) return code;
  signals_output(a->output);
  code = ranks_context(&a->common, a->grid, &ctx);
  if (code == EXIT_DONE) code = ranks_check(&a->common, ctx);
  if (code == EXIT_DONE) code = fits(ctx, a);
  if (code == EXIT_DONE) code = start_field(ctx, a, &f);
  if (code == EXIT_DONE) code = produce(ctx, a, &f);
  field_close(&f);
  kaon_context_destroy(&ctx);
  return code;
}

const cli_command command_generate = {
    .name = "generate",
    .summary = "Make a quenched configuration by heatbath and over-relaxation.",
    .examples =
        "Examples:\n"
        "  kaon generate --lattice 8 8 8 16 --sweeps 200 --output config.lime\n"
        "  kaon generate --start config.lime --first-sweep 200 --output next.lime\n\n"
        "At beta 6.0 the plaquette of a large lattice settles near 0.5937, after some 100 sweeps.",
    .options = options,
    .arguments = sizeof(generate_args),
    .run = run,
    .daily =
        "lattice beta sweeps seed output format start first-sweep overrelax every backend threads "
        "report"};
