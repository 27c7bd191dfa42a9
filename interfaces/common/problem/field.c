/* field.c - gauge fields by name. Contract: field.h. */
#include "interfaces/common/problem/field.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interfaces/common/signals.h"

field_spec field_file(const char *text, const char *option, const char *takes) {
  return (field_spec){
      .kind = FIELD_FILE, .text = text, .option = option, .takes = takes, .seed = 1};
}

int field_parse(const char *text, field_spec *spec) {
  *spec = field_file(text, "--gauge", "a configuration file, unit, random:SEED or weak:EPS[:SEED]");
  if (strcmp(text, "unit") == 0) {
    spec->kind = FIELD_UNIT;
  } else if (strncmp(text, "random:", 7) == 0) {
    spec->kind = FIELD_RANDOM;
    if (!cli_read_seed(text + 7, &spec->seed))
      return cli_wrong("--gauge %s: the seed must be an integer from 0 to 2^64 - 1, as in random:7",
                       text);
  } else if (strncmp(text, "weak:", 5) == 0) {
    char *end;
    spec->kind = FIELD_WEAK;
    spec->eps = strtod(text + 5, &end);
    int good = end != text + 5 && spec->eps >= 0 && spec->eps <= 10;
    if (!good || (*end == ':' ? !cli_read_seed(end + 1, &spec->seed) : *end != '\0'))
      return cli_wrong(
          "--gauge %s: it must read weak:EPS or weak:EPS:SEED with EPS from 0 to 10 and an integer "
          "SEED from 0 to 2^64 - 1, as in weak:0.3:7",
          text);
  }
  return EXIT_DONE;
}

static kaon_gauge_read_options read_options(const int given[4], int ignore_checksum) {
  kaon_gauge_read_options options = KAON_GAUGE_READ_OPTIONS_INIT;
  memcpy(options.extents, given, sizeof options.extents);
  options.ignore_checksum = ignore_checksum;
  return options;
}

int field_extents(const kaon_context *ctx, const field_spec *spec, const int given[4],
                  int ignore_checksum, int extents[4]) {
  memcpy(extents, given, 4 * sizeof(int));
  if (spec->kind != FIELD_FILE) {
    if (given[0]) return EXIT_DONE;
    return cli_wrong("%s %s has no extents of its own; add --lattice X Y Z T", spec->option,
                     spec->text);
  }
  struct stat st;
  if (!ranks_launched() && stat(spec->text, &st) != 0) /* else it is the first rank's file */
    return cli_wrong("%s %s: %s; give %s", spec->option, spec->text, strerror(errno), spec->takes);
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  kaon_gauge_read_options options = read_options(given, ignore_checksum);
  int code = cli_status(ctx, kaon_gauge_file_probe(ctx, spec->text, &options, &info), NULL);
  if (code != EXIT_DONE || given[0]) return code;
  if (!info.has_extents)
    return cli_wrong("%s: this %s file does not say its extents; add --lattice X Y Z T", spec->text,
                     kaon_file_format_name(info.format));
  memcpy(extents, info.extents, sizeof info.extents);
  return EXIT_DONE;
}

static kaon_status fill(const field_spec *spec, const int given[4], int ignore_checksum, field *f) {
  kaon_gauge_read_options options = read_options(given, ignore_checksum);
  switch (spec->kind) {
    case FIELD_UNIT:
      return kaon_gauge_unit(f->gauge);
    case FIELD_RANDOM:
      return kaon_gauge_random(f->gauge, spec->seed);
    case FIELD_WEAK:
      return kaon_gauge_weak(f->gauge, spec->eps, spec->seed);
    case FIELD_FILE:
      break;
  }
  f->file = (kaon_gauge_file_info)KAON_GAUGE_FILE_INFO_INIT;
  return kaon_gauge_read(f->gauge, spec->text, &options, &f->file);
}

/* Prints what --ignore-checksum ignores. */
static void warn(const kaon_gauge_file_info *file) {
  for (int i = 0; i < file->warnings && i < KAON_GAUGE_FILE_WARNINGS; i++)
    cli_error("warning: %s", file->warning[i]);
}

/* Nor are files that could have a checksum, and have none, read without a word. */
static void note_no_checksum(const char *path, const kaon_gauge_file_info *file) {
  const int nersc = file->format == KAON_FORMAT_NERSC;
  const int lime = file->format == KAON_FORMAT_ILDG || file->format == KAON_FORMAT_SCIDAC;
  if (file->checksums > 0 || (!nersc && !lime)) return;
  cli_error(
      "note: %s: there is no checksum to verify (%s), so only its length%s%s and SU(3) were "
      "verified; compare it with its origin, or get a copy that has one",
      path, nersc ? "its header has no CHECKSUM line" : "it has no scidac-checksum record",
      file->has_plaquette ? ", plaquette" : "", file->has_link_trace ? ", link trace" : "");
}

int field_open(kaon_context *ctx, const field_spec *spec, const int given[4],
               kaon_boundary boundary, int ignore_checksum, field *f) {
  *f = (field){.spec = *spec};
  signals_stage(spec->kind == FIELD_FILE ? "reading the configuration" : "making the links",
                "nothing was computed or written");
  int code = field_extents(ctx, spec, given, ignore_checksum, f->extents);
  if (code != EXIT_DONE) return code;
  code = cli_status(ctx, kaon_lattice_create(ctx, f->extents, boundary, &f->lattice), NULL);
  if (code != EXIT_DONE) return code;
  code = cli_status(ctx, kaon_gauge_create(f->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &f->gauge),
                    NULL);
  if (code != EXIT_DONE) return code;
  code = cli_status(ctx, fill(spec, given, ignore_checksum, f), NULL);
  if (code == EXIT_DONE) warn(&f->file);
  if (code == EXIT_DONE) note_no_checksum(spec->text, &f->file);
  return code;
}

void field_close(field *f) {
  kaon_gauge_destroy(&f->gauge);
  kaon_lattice_destroy(&f->lattice);
}

double field_file_bytes(const int extents[4], const kaon_gauge_write_options *o) {
  const int bits = o->precision ? o->precision : o->format == KAON_FORMAT_MILC ? 32 : 64;
  const double sites = (double)extents[0] * extents[1] * extents[2] * extents[3];
  return sites * 4 * 6 * (o->rows ? o->rows : 3) * bits / 8;
}

json_t *field_checksum(const field *f) {
  const kaon_gauge_file_info *i = &f->file;
  char text[32] = "";
  if (f->spec.kind != FIELD_FILE || i->checksums == 0) return json_null();
  snprintf(text, sizeof text, "%08x", i->checksum_computed[0]);
  if (i->checksums > 1) snprintf(text + 8, sizeof text - 8, " %08x", i->checksum_computed[1]);
  return json_string(text);
}
