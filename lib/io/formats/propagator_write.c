/* propagator_write.c - writes USQCD Dirac propagator files. Contract: include/kaon/io.h,
 * propagator_file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io/formats/gauge_job.h"
#include "lib/io/formats/propagator_file.h"
#include "lib/io/scidac.h"
#include "lib/io/spin_basis.h"
#include "lib/core/options_table.h"
#include "lib/core/entry.h"

const kaon_propagator_type kaon_propagator_types[KAON_PROPAGATOR_TYPES] = {
    {KAON_PROPAGATOR_TWELVE, "USQCD_DiracFermion_ScalarSource_TwelveSink", 2},
    {KAON_PROPAGATOR_PAIRS, "USQCD_DiracFermion_Source_Sink_Pairs", 24},
    {KAON_PROPAGATOR_SCALAR_PAIRS, "USQCD_DiracFermion_ScalarSource_Sink_Pairs", 2}};

enum { TEXT_MAX = 30000 }; /* QIO keeps tag values in 32768 bytes */
#define PROLOGUE "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"

typedef struct output {
  const kaon_context *ctx;
  const char *name;
  kaon_atomic_file *file;
  kaon_propagator_write_options options;
  const kaon_propagator_type *type;
  kaon_spinor_get *get;
  kaon_source_get *get_source;
  void *source;
  int column;
} output;

static void get_solution(void *user, int64_t site, double *values) {
  const output *o = user;
  const kaon_spin_row *rows = kaon_ukqcd_to_degrand_rossi;
  double a[24], b[24];
  if (o->options.basis == KAON_PROPAGATOR_DEGRAND_ROSSI) {
    o->get(o->source, o->column, site, values);
  } else if (o->options.kind != KAON_PROPAGATOR_TWELVE) {
    o->get(o->source, o->column, site, a);
    kaon_spin_rotate(rows, KAON_SQRT_HALF, a, values);
  } else { /* S G S^T: a source spin of the file is a sum of two of kaon's */
    const kaon_spin_row *row = &rows[o->column / 3];
    o->get(o->source, 3 * row->from[0] + o->column % 3, site, a);
    o->get(o->source, 3 * row->from[1] + o->column % 3, site, b);
    for (int i = 0; i < 24; i++) a[i] = row->sign[0] * a[i] + row->sign[1] * b[i];
    kaon_spin_rotate(rows, 0.5, a, values);
  }
}

static void get_source_site(void *user, int64_t site, double *values) {
  const output *o = user;
  const int spinor = o->type->source_reals == 24;
  double a[24];
  o->get_source(o->source, o->column, site, a);
  if (spinor && o->options.basis == KAON_PROPAGATOR_UKQCD)
    kaon_spin_rotate(kaon_ukqcd_to_degrand_rossi, KAON_SQRT_HALF, a, values);
  else
    memcpy(values, a, (size_t)o->type->source_reals * sizeof *a);
}

/* Makes PROLOGUE, before, escaped text, after; the caller frees *xml. */
static kaon_status make_xml(const output *o, const char *before, const char *text,
                            const char *after, char **xml) {
  size_t escaped = kaon_xml_escape(text, NULL, 0), head = strlen(PROLOGUE) + strlen(before);
  if (escaped > TEXT_MAX) {
    return kaon_fail(o->ctx, KAON_ERR_ARGUMENT,
                     "%s: a description of %zu characters (escaped), at most %d fit; shorten it",
                     o->name, escaped, TEXT_MAX);
  }
  *xml = malloc(head + escaped + strlen(after) + 1);
  if (!*xml) return kaon_fail(o->ctx, KAON_ERR_MEMORY, "%s: out of memory", o->name);
  sprintf(*xml, PROLOGUE "%s", before);
  kaon_xml_escape(text, *xml + head, escaped + 1);
  strcpy(*xml + head + escaped, after);
  return KAON_OK;
}

static kaon_status write_source(output *o) {
  int precision = o->options.precision, scalar = o->type->source_reals == 2;
  const kaon_scidac_output lime = {o->ctx, o->file, o->options.extents, o->options.date};
  const kaon_scidac_type type = {
      scalar ? (precision == 64 ? "USQCD_D_Complex" : "USQCD_F_Complex")
             : (precision == 64 ? "USQCD_D3_DiracFermion" : "USQCD_F3_DiracFermion"),
      precision,
      scalar ? 0 : 3,
      scalar ? 0 : 4,
      o->type->source_reals,
      1};
  const char *text = o->options.source_text ? o->options.source_text : "source";
  KAON_AUTOFREE char *xml = NULL;
  KAON_TRY(make_xml(o, "<usqcdSourceInfo><version>1.0</version><info>", text,
                    "</info></usqcdSourceInfo>", &xml));
  return kaon_scidac_write_field(&lime, &type, xml, 0, NULL, get_source_site, o);
}

static kaon_status write_solution(output *o) {
  int precision = o->options.precision;
  const kaon_scidac_output lime = {o->ctx, o->file, o->options.extents, o->options.date};
  const kaon_scidac_type type = {
      precision == 64 ? "USQCD_D3_DiracFermion" : "USQCD_F3_DiracFermion", precision, 3, 4, 24, 1};
  char xml[256], spin_colour[64] = "";
  if (o->options.kind == KAON_PROPAGATOR_TWELVE) {
    snprintf(spin_colour, sizeof spin_colour, "<spin>%d</spin><color>%d</color>", o->column / 3,
             o->column % 3);
  }
  snprintf(xml, sizeof xml,
           PROLOGUE "<usqcdPropInfo><version>1.0</version>%s<info>column %d</info></usqcdPropInfo>",
           spin_colour, o->column);
  return kaon_scidac_write_field(&lime, &type, xml, 0, NULL, get_solution, o);
}

static kaon_status write_records(output *o) {
  char before[200];
  KAON_AUTOFREE char *xml = NULL;
  snprintf(before, sizeof before, "<usqcdPropFile><version>1.0</version><type>%s</type><info>",
           o->type->name);
  KAON_TRY(make_xml(o, before, o->options.text ? o->options.text : "kaon",
                    "</info></usqcdPropFile>", &xml));
  KAON_TRY(kaon_scidac_write_file(o->file, o->options.extents, xml));
  for (o->column = 0; o->column < o->options.columns; o->column++) {
    if (o->column == 0 || o->options.kind != KAON_PROPAGATOR_TWELVE) KAON_TRY(write_source(o));
    KAON_TRY(write_solution(o));
  }
  return KAON_OK;
}

static kaon_status check_options(output *o) {
  const kaon_propagator_write_options *w = &o->options;
  int64_t volume;
  KAON_TRY(kaon_file_extents_check(o->ctx, o->name, w->extents, &volume));
  for (int i = 0; i < KAON_PROPAGATOR_TYPES; i++)
    if (kaon_propagator_types[i].kind == w->kind) o->type = &kaon_propagator_types[i];
  int twelve = w->kind == KAON_PROPAGATOR_TWELVE;
  if (!o->type || w->columns < 1 || (twelve && w->columns != 12)) {
    return kaon_fail(o->ctx, KAON_ERR_ARGUMENT,
                     "%s: %d columns were given for kind %d; give 12 for a full propagator, at "
                     "least 1 for pairs",
                     o->name, w->columns, (int)w->kind);
  }
  if ((w->precision != 32 && w->precision != 64) ||
      (unsigned)w->basis > KAON_PROPAGATOR_DEGRAND_ROSSI) {
    return kaon_fail(
        o->ctx, KAON_ERR_ARGUMENT,
        "%s: precision %d with basis %d is not supported; give 32 or 64, and a basis of io.h",
        o->name, w->precision, (int)w->basis);
  }
  return KAON_OK;
}

kaon_status kaon_propagator_file_write(const kaon_context *ctx, const char *path,
                                       const kaon_propagator_write_options *options,
                                       kaon_spinor_get *get, kaon_source_get *get_source,
                                       void *source) {
  KAON_ENTER(ctx, path, options, get, get_source);
  output o = {.ctx = ctx, .name = kaon_short_path(path), .get = get};
  o.get_source = get_source;
  o.source = source;
  if (kaon_options_take(KAON_OPTIONS_PROPAGATOR_WRITE, options, &o.options) != KAON_OK)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "%s: %s", o.name, kaon_last_error(NULL));
  KAON_TRY(check_options(&o));
  char date[64];
  o.options.date = kaon_file_date(o.options.date, date);
  KAON_TRY(kaon_atomic_open(ctx, path, &o.file));
  return kaon_atomic_end(&o.file, write_records(&o));
}
