/* propagator_read.c - reads USQCD Dirac propagator files. Contract: include/kaon/io.h,
 * propagator_file.h.
 * All headers are read first, then the data. The twelve solutions of a propagator are read
 * together, a few sites at a time, since rotating the source spin mixes columns. Pairs are read one
 * after another. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io/checksum.h"
#include "lib/io/formats/content.h"
#include "lib/io/formats/gauge_job.h"
#include "lib/io/formats/propagator_file.h"
#include "lib/io/scidac.h"
#include "lib/io/spin_basis.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

enum { COLUMNS_MAX = 1 << 16, SITES = 64, REALS = 24, GROUP = 12 };

typedef struct column {
  kaon_scidac_record record;
  kaon_site_layout layout;
  uint32_t computed[2];
  int64_t not_finite; /* first such site; -1: none */
} column;

typedef struct input {
  const kaon_context *ctx;
  const kaon_bytes *bytes;
  kaon_propagator_read_options options;
  kaon_propagator_file_info *info;
  kaon_scidac_scan scan;
  const kaon_propagator_type *type;
  int64_t volume;
  column *solutions, *sources; /* sources[i] belongs to solutions[i]; one for TWELVE */
  int n_solutions, n_sources, room;
  kaon_spinor_put *put;
  kaon_source_put *put_source;
  void *sink;
} input;

static void warn(input *in, const char *text) {
  if (in->info->warnings++ == 0) snprintf(in->info->warning, sizeof in->info->warning, "%s", text);
}

static kaon_status check_extents(input *in) {
  if (in->scan.has_extents && kaon_extents_volume(in->scan.extents, &in->volume)) {
    for (int d = 0; d < 4; d++) in->info->extents[d] = (int)in->scan.extents[d];
    return KAON_OK;
  }
  return kaon_fail(
      in->ctx, KAON_ERR_FORMAT,
      "%s: extents %lld x %lld x %lld x %lld are missing or not even numbers from 2 to "
      "32768: the file is damaged, or a lattice that kaon does not take",
      in->bytes->name, (long long)in->scan.extents[0], (long long)in->scan.extents[1],
      (long long)in->scan.extents[2], (long long)in->scan.extents[3]);
}

/* Once the data's lengths have shown that the extents are theirs. */
static kaon_status match_extents(const input *in) {
  const int *have = in->info->extents, *wanted = in->options.extents;
  const int given = wanted[0] || wanted[1] || wanted[2] || wanted[3];
  char file[64], lattice[64];
  if (!given || memcmp(wanted, have, sizeof in->info->extents) == 0) return KAON_OK;
  return kaon_fail(in->ctx, KAON_ERR_SHAPE,
                   "%s: file is %s but the lattice is %s; pass the file's extents", in->bytes->name,
                   kaon_extents_text(have, file), kaon_extents_text(wanted, lattice));
}

/* Takes the type and the text for the caller from the file XML. */
static kaon_status use_file_xml(input *in, const kaon_xml *xml) {
  char type[64], shown[64];
  if (strcmp(kaon_xml_root(xml), "usqcdPropFile") != 0) {
    char text[KAON_CONTENT];
    return kaon_fail(
        in->ctx, KAON_ERR_FORMAT,
        "%s: it is %s; but a propagator with a usqcdPropFile header belongs here; give "
        "one",
        in->bytes->name, kaon_content_name(in->ctx, in->bytes, text));
  }
  kaon_xml_string(xml, "type", type, sizeof type);
  for (int i = 0; i < KAON_PROPAGATOR_TYPES; i++) {
    if (strcmp(kaon_propagator_types[i].name, type) == 0) in->type = &kaon_propagator_types[i];
  }
  if (!in->type) {
    return kaon_fail(in->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: propagator type '%s', kaon reads %s, %s and %s", in->bytes->name,
                     kaon_printable(type, strlen(type), shown, sizeof shown),
                     kaon_propagator_types[0].name, kaon_propagator_types[1].name,
                     kaon_propagator_types[2].name);
  }
  in->info->kind = in->type->kind;
  kaon_xml_string(xml, "info", in->info->text, sizeof in->info->text);
  return KAON_OK;
}

static kaon_status parse_file_xml(input *in) {
  KAON_AUTO(kaon_xml_free) kaon_xml xml = {0};
  KAON_TRY(kaon_scidac_user_xml(&in->scan, "scidac-file-xml", in->scan.file_xml,
                                in->scan.file_xml_length, &xml));
  return use_file_xml(in, &xml);
}

static kaon_status make_room(input *in) {
  if (in->n_solutions < in->room && in->n_sources < in->room) return KAON_OK;
  int room = in->room ? 2 * in->room : 16;
  column *a = room <= COLUMNS_MAX ? realloc(in->solutions, (size_t)room * sizeof *a) : NULL;
  if (a) in->solutions = a;
  column *b = a ? realloc(in->sources, (size_t)room * sizeof *b) : NULL;
  if (b) in->sources = b;
  if (!b) {
    return kaon_fail(in->ctx, KAON_ERR_MEMORY, "%s: out of memory for a table of %d records",
                     in->bytes->name, room);
  }
  in->room = room;
  return KAON_OK;
}

static kaon_status wrong_place(const input *in, const char *what, int64_t at) {
  return kaon_fail(
      in->ctx, KAON_ERR_FORMAT,
      "%s: %s at offset %lld, which a file of type %s does not have there: the file is damaged",
      in->bytes->name, what, (long long)at, in->type->name);
}

/* For TWELVE, the column that <spin> and <color> give; without them, the next one. */
static kaon_status place_solution(input *in, const kaon_xml *info, column *c) {
  int64_t spin, colour;
  int at = in->n_solutions;
  if (in->type->kind == KAON_PROPAGATOR_TWELVE) {
    int said =
        kaon_xml_integer(info, "spin", &spin) == 1 && kaon_xml_integer(info, "color", &colour) == 1;
    if (said && (spin < 0 || spin > 3 || colour < 0 || colour > 2)) {
      return wrong_place(in, "a solution of impossible source spin and colour", c->record.data);
    }
    if (said) at = (int)(3 * spin + colour);
    if (at >= GROUP || in->n_solutions == GROUP) {
      return wrong_place(in, "a thirteenth solution", c->record.data);
    }
    if (in->solutions[at].record.data != 0) {
      return wrong_place(in, "a second solution of one source spin and colour", c->record.data);
    }
  } else if (in->n_sources != at + 1) {
    return wrong_place(in, "a solution without its source", c->record.data);
  }
  in->solutions[at] = *c;
  in->n_solutions++;
  return KAON_OK;
}

static kaon_status place_source(input *in, const column *c) {
  int wanted = in->type->kind == KAON_PROPAGATOR_TWELVE ? 0 : in->n_solutions;
  if (in->n_sources != wanted) return wrong_place(in, "a source", c->record.data);
  in->sources[in->n_sources++] = *c;
  if (c->record.recordtype != 0) in->info->has_source = 0; /* other types are time slices */
  return KAON_OK;
}

static kaon_status take_described(input *in, const kaon_scidac_record *record,
                                  const kaon_xml *xml) {
  const char *root = kaon_xml_root(xml);
  const int is_source = strcmp(root, "usqcdSourceInfo") == 0;
  const int is_solution = strcmp(root, "usqcdPropInfo") == 0 || strcmp(root, "usqcdInfo") == 0;
  column c = {.record = *record, .not_finite = -1};
  if (!is_source && !is_solution) return KAON_OK; /* an additional record */
  if (!record->has_checksum) in->info->checksums_missing++;
  if (is_source && record->recordtype != 0) return place_source(in, &c);
  KAON_TRY(kaon_scidac_layout(&in->scan, record, in->volume,
                              is_source ? in->type->source_reals : REALS, &c.layout));
  in->info->precision = c.layout.bits;
  return is_source ? place_source(in, &c) : place_solution(in, xml, &c);
}

static kaon_status take_record(input *in, const kaon_scidac_record *record) {
  KAON_AUTO(kaon_xml_free) kaon_xml xml = {0};
  KAON_TRY(make_room(in));
  KAON_TRY(
      kaon_scidac_user_xml(&in->scan, "scidac-record-xml", record->xml, record->xml_length, &xml));
  return take_described(in, record, &xml);
}

static kaon_status scan_records(input *in) {
  kaon_scidac_record record;
  int found;
  kaon_scidac_open(in->ctx, in->bytes, &in->scan);
  in->info->has_source = 1;
  for (int first = 1;; first = 0) {
    KAON_TRY(kaon_scidac_next(&in->scan, &record, &found));
    if (!found) break;
    if (first) {
      KAON_TRY(check_extents(in));
      KAON_TRY(parse_file_xml(in));
      KAON_TRY(make_room(in));
      memset(in->solutions, 0, (size_t)in->room * sizeof *in->solutions);
    }
    KAON_TRY(take_record(in, &record));
  }
  for (int i = 0; i < in->scan.warnings.count; i++) warn(in, in->scan.warnings.text[i]);
  if (in->n_sources == 0) in->info->has_source = 0;
  in->info->columns = in->n_solutions;
  int wanted = in->type && in->type->kind == KAON_PROPAGATOR_TWELVE ? GROUP : in->n_sources;
  if (in->n_solutions == 0 || in->n_solutions != wanted) {
    return kaon_fail(in->ctx, KAON_ERR_FORMAT,
                     "%s: holds %d solutions and %d sources where %d solutions belong: the file is "
                     "truncated or no "
                     "propagator; copy it again",
                     in->bytes->name, in->n_solutions, in->n_sources, wanted ? wanted : 1);
  }
  return match_extents(in);
}

/* Reads sites [site, site + n) of one record into values[n][reals], and updates checksum and
 * finiteness. */
static kaon_status load(const input *in, column *c, int64_t site, int n, unsigned char *raw,
                        double *values) {
  size_t size = kaon_site_bytes(&c->layout);
  int reals = c->layout.reals;
  KAON_TRY(kaon_bytes_read(in->ctx, in->bytes, c->layout.offset + site * (int64_t)size,
                           (size_t)n * size, raw));
  kaon_words_to_doubles(raw, (size_t)(n * reals), c->layout.bits, 1, values);
  for (int i = 0; i < n; i++) {
    kaon_scidac_checksum(c->computed, site + i, raw + (size_t)i * size, size);
    for (int k = 0; k < reals && c->not_finite < 0; k++) {
      if (!isfinite(values[i * reals + k])) c->not_finite = site + i;
    }
  }
  return KAON_OK;
}

/* Passes on one site of all twelve columns: G_UKQCD = S^T G_DR S. */
static void deliver_twelve(const input *in, int64_t site, const double *columns[GROUP]) {
  const kaon_spin_row *rows = kaon_degrand_rossi_to_ukqcd;
  for (int k = 0; k < GROUP; k++) {
    const kaon_spin_row *row = &rows[k / 3];
    const double *a = columns[3 * row->from[0] + k % 3], *b = columns[3 * row->from[1] + k % 3];
    double sum[REALS], psi[REALS];
    for (int i = 0; i < REALS; i++) sum[i] = row->sign[0] * a[i] + row->sign[1] * b[i];
    kaon_spin_rotate(rows, 0.5, sum, psi);
    in->put(in->sink, k, site, psi);
  }
}

static void deliver_one(const input *in, int k, int64_t site, const double *values, int is_source) {
  double psi[REALS];
  int turn =
      in->options.basis == KAON_PROPAGATOR_UKQCD && (!is_source || in->type->source_reals == REALS);
  if (turn) kaon_spin_rotate(kaon_degrand_rossi_to_ukqcd, KAON_SQRT_HALF, values, psi);
  if (is_source)
    in->put_source(in->sink, k, site, turn ? psi : values);
  else
    in->put(in->sink, k, site, turn ? psi : values);
}

static kaon_status read_twelve(input *in, unsigned char *raw, double *values) {
  for (int64_t site = 0; site < in->volume; site += SITES) {
    int n = in->volume - site < SITES ? (int)(in->volume - site) : SITES;
    for (int k = 0; k < GROUP; k++) {
      KAON_TRY(load(in, &in->solutions[k], site, n, raw, values + k * SITES * REALS));
    }
    for (int i = 0; i < n; i++) {
      const double *columns[GROUP];
      for (int k = 0; k < GROUP; k++) columns[k] = values + (k * SITES + i) * REALS;
      if (in->options.basis == KAON_PROPAGATOR_UKQCD) {
        deliver_twelve(in, site + i, columns);
      } else {
        for (int k = 0; k < GROUP; k++) in->put(in->sink, k, site + i, columns[k]);
      }
    }
  }
  return KAON_OK;
}

static kaon_status read_one(input *in, column *c, int k, int is_source, unsigned char *raw,
                            double *values) {
  for (int64_t site = 0; site < in->volume; site += SITES) {
    int n = in->volume - site < SITES ? (int)(in->volume - site) : SITES;
    KAON_TRY(load(in, c, site, n, raw, values));
    for (int i = 0; i < n; i++) {
      deliver_one(in, k, site + i, values + i * c->layout.reals, is_source);
    }
  }
  return KAON_OK;
}

static kaon_status verdict(input *in, const column *c, const char *what, int k) {
  if (c->record.has_checksum && memcmp(c->computed, c->record.checksum, sizeof c->computed) != 0) {
    char text[400];
    snprintf(text, sizeof text, "%s: %s %d has checksums %08x %08x but the file stores %08x %08x",
             in->bytes->name, what, k, c->computed[0], c->computed[1], c->record.checksum[0],
             c->record.checksum[1]);
    if (!in->options.ignore_checksum)
      return kaon_fail(in->ctx, KAON_ERR_CHECKSUM,
                       "%s; get a sound copy, or pass --ignore-checksum to use it as it is", text);
    warn(in, text);
  }
  if (c->not_finite >= 0) {
    return kaon_fail(in->ctx, KAON_ERR_NOT_FINITE,
                     "%s: %s %d holds NaN or infinity at site %lld; get a sound copy",
                     in->bytes->name, what, k, (long long)c->not_finite);
  }
  return KAON_OK;
}

static kaon_status read_data(input *in, unsigned char *raw, double *values) {
  if (in->put_source && in->info->has_source) {
    for (int k = 0; k < in->n_sources; k++) {
      KAON_TRY(read_one(in, &in->sources[k], k, 1, raw, values));
      KAON_TRY(verdict(in, &in->sources[k], "source", k));
    }
  }
  int twelve = in->type->kind == KAON_PROPAGATOR_TWELVE;
  if (twelve) KAON_TRY(read_twelve(in, raw, values));
  for (int k = 0; k < in->n_solutions; k++) {
    if (!twelve) KAON_TRY(read_one(in, &in->solutions[k], k, 0, raw, values));
    KAON_TRY(verdict(in, &in->solutions[k], "column", k));
  }
  return KAON_OK;
}

kaon_status kaon_propagator_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                       const kaon_propagator_read_options *options,
                                       kaon_propagator_file_info *info, kaon_spinor_put *put,
                                       kaon_source_put *put_source, void *sink) {
  input in = {.ctx = ctx, .bytes = bytes, .put = put, .put_source = put_source, .sink = sink};
  if (kaon_options_take(KAON_OPTIONS_PROPAGATOR_READ, options, &in.options) != KAON_OK)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "%s: %s", bytes->name, kaon_last_error(NULL));
  /* 32 KiB of text are too much for the stack. */
  KAON_AUTOFREE kaon_propagator_file_info *own = malloc(sizeof *own);
  KAON_AUTOFREE double *values = malloc(sizeof *values * GROUP * SITES * REALS);
  KAON_AUTOFREE unsigned char *raw = malloc(sizeof *values * SITES * REALS);
  in.info = info ? info : own;
  kaon_status status = KAON_CHECK_MEMORY(ctx, own != NULL && values != NULL && raw != NULL,
                                         "%s: out of memory for read buffers", bytes->name);
  if (status == KAON_OK) {
    memset(in.info, 0, sizeof *in.info);
    status = scan_records(&in);
  }
  if (status == KAON_OK && put) status = read_data(&in, raw, values);
  free(in.solutions);
  free(in.sources);
  return status;
}

static kaon_status open_and_read(const kaon_context *ctx, const char *path,
                                 const kaon_propagator_read_options *options,
                                 kaon_propagator_file_info *info, kaon_spinor_put *put,
                                 kaon_source_put *put_source, void *sink) {
  kaon_bytes bytes;
  KAON_TRY(kaon_output_check(ctx, "kaon_propagator_file_info", info));
  kaon_propagator_file_info *made = calloc(1, sizeof *made); /* long: not on the stack */
  if (made == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "%s: out of memory", kaon_short_path(path));
  kaon_status status = kaon_bytes_open(ctx, path, &bytes);
  if (status == KAON_OK) {
    status = kaon_propagator_bytes_read(ctx, &bytes, options, made, put, put_source, sink);
    kaon_bytes_close(&bytes);
  }
  kaon_output_fill(info, made, sizeof *made);
  free(made);
  return status;
}

kaon_status kaon_propagator_file_probe(const kaon_context *ctx, const char *path,
                                       kaon_propagator_file_info *info) {
  KAON_ENTER(ctx, path);
  return open_and_read(ctx, path, NULL, info, NULL, NULL, NULL);
}

kaon_status kaon_propagator_file_read(const kaon_context *ctx, const char *path,
                                      const kaon_propagator_read_options *options,
                                      kaon_propagator_file_info *info, kaon_spinor_put *put,
                                      kaon_source_put *put_source, void *sink) {
  KAON_ENTER(ctx, path, put);
  return open_and_read(ctx, path, options, info, put, put_source, sink);
}
