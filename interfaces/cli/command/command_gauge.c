/* command_gauge.c - kaon gauge FILE: what a configuration is, and conversion between formats. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/cli/command/commands.h"
#include "interfaces/common/cli.h"
#include "interfaces/common/problem/field.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

typedef struct gauge_args {
  cli_common common;
  int lattice[4];
  int ignore_checksum;
  const char *convert;
  int format; /* index into nersc|ildg|scidac|milc|openqcd */
  int bits;
  int rows;
} gauge_args;

#define AT(member) offsetof(gauge_args, member)
static const cli_option options[] = {
    {CLI_GROUP, "Reading:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_EXTENTS, "lattice", "X Y Z T", NULL, AT(lattice), 0, 0,
     "extents, each even. Needed where the file does not contain them."},
    {CLI_FLAG, "ignore-checksum", NULL, NULL, AT(ignore_checksum), 0, 0,
     "continue, with a warning, where checksum, stored plaquette or unitarity are wrong"},
    {CLI_GROUP, "Converting:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_FILE, "convert", "OUT", NULL, AT(convert), 0, 0, "write the same links to OUT"},
    {CLI_CHOICE, "format", "nersc|ildg|scidac|milc|openqcd", NULL, AT(format), 0, 0,
     "format of OUT (default ildg)"},
    {CLI_CHOICE, "bits", "auto|32|64", NULL, AT(bits), 0, 0,
     "bits of a real number in OUT (default auto: 32 for milc, else 64)"},
    {CLI_CHOICE, "rows", "auto|2|3", NULL, AT(rows), 0, 0,
     "rows stored of each matrix in OUT (default auto: 3). 2: nersc only."},
    {CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

static void print_file(const cli_common *common, const kaon_gauge_file_info *f) {
  cli_print(common, "format        %s, %d-bit, %s-endian, %d rows\n",
            kaon_file_format_name(f->format), f->precision, f->big_endian ? "big" : "little",
            f->rows);
  for (int i = 0; i < f->checksums; i++)
    cli_print(common, "checksum      stored %08x, computed %08x: %s\n", f->checksum_stored[i],
              f->checksum_computed[i],
              f->checksum_stored[i] == f->checksum_computed[i] ? "correct" : "WRONG");
  if (!f->checksums) cli_print(common, "checksum      none in this file\n");
  if (f->has_plaquette)
    cli_print(common, "plaquette     %.12g, stored in the file\n", f->plaquette);
  if (f->has_link_trace)
    cli_print(common, "link trace    %.12g, stored in the file\n", f->link_trace);
}

static void print(const cli_common *common, const field *f, const kaon_observables *o) {
  const int *e = f->extents;
  cli_print(common, "file          %s\n", f->spec.text);
  cli_print(common, "lattice       %d %d %d %d\n", e[0], e[1], e[2], e[3]);
  print_file(common, &f->file);
  const int usual = fabs(o->plaquette_space) < 10 && fabs(o->plaquette_time) < 10;
  cli_print(common,
            usual ? "plaquette     %.12f, measured  (space %.12f, time %.12f)\n"
                  : "plaquette     %.6g, measured  (space %.6g, time %.6g)\n",
            o->plaquette, o->plaquette_space, o->plaquette_time);
  cli_print(common, "link trace    %.12g, measured  (mean of Re tr U / 3)\n", o->link_trace);
  cli_print(common, "Polyakov loop %.12g %+.12g i\n", o->polyakov[0], o->polyakov[1]);
  cli_print(common, "charge        %.8g  (topological, from clover leaves, without cooling)\n",
            o->charge);
  cli_print(common, "unitarity     %.2e  (largest entry of |U U^dag - 1|)\n", o->unitarity);
}

static json_t *describe(const kaon_context *ctx, const field *f, const kaon_observables *o) {
  const kaon_gauge_file_info *i = &f->file;
  json_t *stored = json_array(), *computed = json_array(), *r = report_new(ctx, "gauge");
  char word[16];
  for (int k = 0; k < i->checksums; k++) {
    snprintf(word, sizeof word, "%08x", i->checksum_stored[k]);
    json_array_append_new(stored, json_string(word));
    snprintf(word, sizeof word, "%08x", i->checksum_computed[k]);
    json_array_append_new(computed, json_string(word));
  }
  json_t *more =
      json_pack("{s:o s:o s:s s:i s:b s:i s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "file",
                report_string(f->spec.text), "lattice", report_ints(f->extents, 4), "format",
                kaon_file_format_name(i->format), "bits", i->precision, "big_endian", i->big_endian,
                "rows", i->rows, "checksum_stored", stored, "checksum_computed", computed,
                "plaquette", report_real(o->plaquette), "plaquette_space",
                report_real(o->plaquette_space), "plaquette_time", report_real(o->plaquette_time),
                "link_trace", report_real(o->link_trace), "polyakov", report_reals(o->polyakov, 2),
                "charge", report_real(o->charge), "unitarity", report_real(o->unitarity));
  json_object_update(r, more);
  json_decref(more);
  if (i->has_plaquette) json_object_set_new(r, "plaquette_stored", report_real(i->plaquette));
  if (i->has_link_trace) json_object_set_new(r, "link_trace_stored", report_real(i->link_trace));
  json_object_set_new(r, "gauge_checksum", field_checksum(f));
  json_object_set_new(r, "warnings", json_integer(i->warnings));
  return r;
}

static kaon_file_format convert_format(const gauge_args *a) {
  static const kaon_file_format formats[] = {KAON_FORMAT_NERSC, KAON_FORMAT_ILDG,
                                             KAON_FORMAT_SCIDAC, KAON_FORMAT_MILC,
                                             KAON_FORMAT_OPENQCD};
  return a->format < 0 ? KAON_FORMAT_ILDG : formats[a->format];
}

static kaon_gauge_write_options convert_options(const gauge_args *a) {
  kaon_gauge_write_options write = KAON_GAUGE_WRITE_OPTIONS_INIT;
  write.format = convert_format(a);
  write.precision = a->bits < 0 ? 0 : 32 * a->bits; /* auto|32|64 */
  write.rows = a->rows > 0 ? a->rows + 1 : 0;
  return write;
}

/* Looks for room before all of FILE is read. */
static int convert_fits(const kaon_context *ctx, const gauge_args *a, const field_spec *spec) {
  const kaon_gauge_write_options write = convert_options(a);
  int extents[4];
  if (!a->convert) return EXIT_DONE;
  const int code = field_extents(ctx, spec, a->lattice, a->ignore_checksum, extents);
  if (code != EXIT_DONE) return code;
  const double bytes = field_file_bytes(extents, &write);
  return cli_check_disk_space("--convert", a->convert, bytes, bytes);
}

static int convert(const kaon_context *ctx, const gauge_args *a, const field *f) {
  const kaon_gauge_write_options write = convert_options(a);
  signals_output(a->convert);
  signals_enter("converting", "the file was not written");
  int code = cli_write_status(ctx, kaon_gauge_write(f->gauge, a->convert, &write), "--convert");
  signals_leave(code == EXIT_DONE ? a->convert : NULL);
  if (code == EXIT_DONE)
    cli_print(&a->common, "written       %s, %s\n", a->convert,
              kaon_file_format_name(write.format));
  return code;
}

/* What the writer would refuse once all of FILE has been read. */
static int check_format(const gauge_args *a) {
  const kaon_file_format format = convert_format(a);
  const char *name = kaon_file_format_name(format);
  const int bits = a->bits < 0 ? 0 : 32 * a->bits;
  if ((format == KAON_FORMAT_MILC && bits == 64) || (format == KAON_FORMAT_OPENQCD && bits == 32))
    return cli_wrong(
        "--bits is %d, but files of format %s store %d bits; leave --bits out, or choose "
        "another --format",
        bits, name, 96 - bits);
  if (a->rows == 1 && format != KAON_FORMAT_NERSC) /* auto|2|3 */
    return cli_wrong(
        "--rows is 2, but files of format %s store 3; leave --rows out, or add --format nersc",
        name);
  return EXIT_DONE;
}

static int check(const gauge_args *a) {
  const char *idle = a->format >= 0 ? "--format" : a->bits >= 0 ? "--bits" : "--rows";
  if (!a->convert && (a->format >= 0 || a->bits >= 0 || a->rows >= 0))
    return cli_wrong("%s is for --convert OUT, which is missing; nothing would be written", idle);
  const cli_path paths[] = {{"FILE", a->common.operand},
                            {"--tuning", a->common.tuning},
                            {"--convert", a->convert},
                            {"--report", a->common.report}};
  int code = cli_distinct(paths, 4);
  return code == EXIT_DONE ? check_format(a) : code;
}

static int run(void *arguments) {
  static const char all_done[] = "all was done by then";
  const gauge_args *a = arguments;
  const field_spec spec = field_file(a->common.operand, "FILE", "a configuration file");
  kaon_context *ctx = NULL;
  kaon_observables o = KAON_OBSERVABLES_INIT;
  field f = {0};
  int code = check(a);
  if (code == EXIT_DONE) code = ranks_context(&a->common, (const int[4]){0, 0, 0, 0}, &ctx);
  if (code == EXIT_DONE) code = convert_fits(ctx, a, &spec);
  if (code == EXIT_DONE)
    code = field_open(ctx, &spec, a->lattice, KAON_PERIODIC, a->ignore_checksum, &f);
  if (code == EXIT_DONE) code = cli_status(ctx, kaon_gauge_measure(f.gauge, &o), NULL);
  if (code == EXIT_DONE) {
    signals_stage("printing what was found", "no file was written");
    print(&a->common, &f, &o);
    signals_stage("", a->convert || a->common.report ? "no file was written" : all_done);
    if (!isfinite(o.plaquette)) {
      cli_error("%s: links are so large that their products are no numbers; get a sound copy",
                f.spec.text);
      code = EXIT_USAGE;
    }
    if (code == EXIT_DONE && a->convert) code = convert(ctx, a, &f);
    json_t *report = describe(ctx, &f, &o);
    int written = code == EXIT_DONE ? report_write(a->common.report, report) : code;
    json_decref(report);
    code = written;
    if (code == EXIT_DONE) signals_stage("", all_done);
  }
  field_close(&f);
  kaon_context_destroy(&ctx);
  return code;
}

const cli_command command_gauge = {
    .name = "gauge",
    .summary = "Show what a configuration file holds; convert it.",
    .operand = "FILE",
    .examples =
        "Examples:\n"
        "  kaon gauge config.lime\n"
        "  kaon gauge old.lat --convert new.lime --format ildg\n\n"
        "The format is recognised from the content: NERSC, ILDG, SciDAC, MILC v5, openQCD, "
        "DDalphaAMG. "
        "Checksum, stored plaquette, link trace and unitarity are verified; a file that fails is "
        "refused unless --ignore-checksum.",
    .options = options,
    .arguments = sizeof(gauge_args),
    .run = run,
    .daily = "lattice convert format bits rows ignore-checksum backend threads report quiet"};
