/* staggered_files.c - reads and writes fat and long links, and staggered vectors, as SciDAC files.
 * All ranks read the same bytes and retain their own sites (lib/io). */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dslash/staggered/staggered_internal.h"
#include "lib/io/atomic_file.h"
#include "lib/io/scidac.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

/* Receives the values of all sites and retains those of this rank. */
typedef struct incoming {
  const kaon_lattice *lattice;
  const kaon_scidac_field *field; /* its extents are known before its values arrive */
  int reals;
  double *part;
} incoming;

static void put_site(void *sink, int64_t number, const double *values) {
  const incoming *in = sink;
  const kaon_lattice *l = in->lattice;
  int x[4];
  if (memcmp(in->field->extents, l->global, sizeof l->global) != 0) return;
  kaon_site_coordinates(l->global, number, x);
  for (int mu = 0; mu < 4; mu++) {
    x[mu] -= l->origin[mu];
    if (x[mu] < 0 || x[mu] >= l->extents[mu]) return;
  }
  const int *n = l->extents;
  const int64_t at = x[0] + n[0] * (x[1] + n[1] * (x[2] + (int64_t)n[2] * x[3]));
  memcpy(in->part + at * in->reals, values, (size_t)in->reals * sizeof *values);
}

/* Warns of what is wrong with the file and does not matter, and of a wrong checksum that was
 * ignored. */
static void warn(kaon_context *ctx, const char *path, const kaon_scidac_field *f) {
  char line[300];
  for (int i = 0; i < f->warnings.count; i++)
    kaon_log_once(ctx, KAON_LOG_WARNING, f->warnings.text[i]);
  if (!f->has_checksum ||
      memcmp(f->checksum_computed, f->checksum_stored, sizeof f->checksum_stored) == 0)
    return;
  snprintf(line, sizeof line,
           "%.160s: the data have checksums %08x %08x but the file stores %08x %08x; they are used "
           "as they are",
           kaon_short_path(path), f->checksum_computed[0], f->checksum_computed[1],
           f->checksum_stored[0], f->checksum_stored[1]);
  kaon_log_once(ctx, KAON_LOG_WARNING, line);
}

/* Reads this rank's part of the file's first field, `reals` values for each site; allocates it. */
static kaon_status read_field(const kaon_lattice *lattice, const char *path, int reals,
                              int ignore_checksum, double **part) {
  kaon_scidac_field field;
  const int *n = lattice->global;
  incoming in = {lattice, &field, reals,
                 calloc((size_t)lattice->volume * (size_t)reals, sizeof(double))};
  kaon_status status = KAON_AGREE_MEMORY(lattice->ctx, in.part != NULL,
                                         "staggered: out of host memory for a file's field");
  if (status == KAON_OK)
    status =
        kaon_scidac_field_read(lattice->ctx, path, reals, ignore_checksum, &field, put_site, &in);
  if (status == KAON_OK && memcmp(field.extents, n, sizeof field.extents) != 0)
    status = kaon_fail(lattice->ctx, KAON_ERR_SHAPE,
                       "%s: the file is %dx%dx%dx%d but the lattice is %dx%dx%dx%d", path,
                       field.extents[0], field.extents[1], field.extents[2], field.extents[3], n[0],
                       n[1], n[2], n[3]);
  if (status == KAON_OK && field.ildg)
    status = kaon_fail(lattice->ctx, KAON_ERR_FORMAT,
                       "%s: a gauge configuration (ildg-binary-data), not fat or long links, which "
                       "SciDAC files hold; read it as the thin links",
                       path);
  if (status != KAON_OK) {
    free(in.part);
    return status;
  }
  if (!field.has_checksum)
    kaon_log(lattice->ctx, KAON_LOG_WARNING,
             "%s: there is no checksum to verify (it has no scidac-checksum record), so only its "
             "length was verified, and that its numbers are finite; compare it with its origin, or "
             "get a copy that has one",
             kaon_short_path(path));
  warn(lattice->ctx, path, &field);
  *part = in.part;
  return KAON_OK;
}

kaon_status kaon_staggered_read_links(kaon_gauge *links, const char *path, int ignore_checksum) {
  KAON_ENTER(KAON_OF(links), links, path);
  KAON_AUTOFREE double *part = NULL;
  KAON_TRY(read_field(links->lattice, path, 72, ignore_checksum, &part));
  const void *arrays[1] = {part};
  return kaon_gauge_import_matrices(links, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays);
}

static kaon_status check_vector(const kaon_vector *v) {
  const kaon_lattice *lattice = v->space->lattice;
  if (lattice == NULL || v->space != &lattice->staggered[KAON_FULL])
    return kaon_fail(v->ctx, KAON_ERR_SHAPE,
                     "staggered vector: files hold vectors on all sites; create it on "
                     "kaon_lattice_staggered(lattice, KAON_FULL)");
  return KAON_OK;
}

kaon_status kaon_staggered_read_vector(kaon_vector *vector, int column, const char *path,
                                       int ignore_checksum) {
  KAON_ENTER(KAON_OF(vector), vector, path);
  KAON_AUTOFREE double *part = NULL;
  KAON_TRY(check_vector(vector));
  KAON_TRY(read_field(vector->space->lattice, path, KAON_STAGGERED_REALS, ignore_checksum, &part));
  const kaon_status status = kaon_vector_import(vector, column, part, KAON_BASIS_UKQCD);
  return kaon_agree(vector->ctx, status);
}

/* Receives columns and imports each when its sites are complete. */
typedef struct columns {
  incoming in;
  kaon_vector *vector;
  const char *path;
} columns;

static void put_column_site(void *sink, int64_t number, const double *values) {
  put_site(&((columns *)sink)->in, number, values);
}

static kaon_status check_vectors_file(const kaon_scidac_fields *file, const kaon_vector *v,
                                      const char *path) {
  const int *n = v->space->lattice->global, *m = file->field.extents;
  if (memcmp(m, n, sizeof file->field.extents) != 0)
    return kaon_fail(v->ctx, KAON_ERR_SHAPE,
                     "%s: the file is %dx%dx%dx%d but the lattice is %dx%dx%dx%d", path, m[0], m[1],
                     m[2], m[3], n[0], n[1], n[2], n[3]);
  if (file->count != v->nrhs)
    return kaon_fail(
        v->ctx, KAON_ERR_SHAPE,
        "%s: the file holds %d columns but the vector has %d; give a vector of as many", path,
        file->count, v->nrhs);
  return KAON_OK;
}

static kaon_status import_column(void *sink, int number) {
  columns *c = sink; /* all ranks go on to the next column, or none does */
  warn(c->vector->ctx, c->path, c->in.field);
  return kaon_agree(c->vector->ctx,
                    kaon_vector_import(c->vector, number, c->in.part, KAON_BASIS_UKQCD));
}

kaon_status kaon_staggered_file_probe(const kaon_context *ctx, const char *path,
                                      kaon_staggered_file_info *info) {
  KAON_ENTER(ctx, path, info);
  kaon_scidac_fields file;
  KAON_TRY(kaon_output_check(ctx, "kaon_staggered_file_info", info));
  kaon_staggered_file_info made = {0};
  kaon_output_fill(info, &made, sizeof made);
  KAON_TRY(kaon_scidac_fields_read(ctx, path, KAON_STAGGERED_REALS, 0, &file, NULL, NULL, NULL));
  memcpy(made.extents, file.field.extents, sizeof made.extents);
  made.columns = file.count;
  made.precision = file.field.precision;
  memcpy(made.text, file.title, sizeof made.text);
  kaon_output_fill(info, &made, sizeof made);
  return KAON_OK;
}

kaon_status kaon_staggered_read_vectors(kaon_vector *vector, const char *path,
                                        int ignore_checksum) {
  KAON_ENTER(KAON_OF(vector), vector, path);
  kaon_scidac_fields file;
  KAON_TRY(check_vector(vector));
  const kaon_lattice *lattice = vector->space->lattice;
  kaon_status status =
      kaon_scidac_fields_read(vector->ctx, path, KAON_STAGGERED_REALS, 0, &file, NULL, NULL, NULL);
  if (status == KAON_OK) status = check_vectors_file(&file, vector, path);
  KAON_TRY(kaon_agree(vector->ctx, status));
  KAON_AUTOFREE double *part = calloc((size_t)lattice->volume * KAON_STAGGERED_REALS, sizeof *part);
  columns c = {{lattice, &file.field, KAON_STAGGERED_REALS, part}, vector, path};
  if (part == NULL)
    status = kaon_fail(vector->ctx, KAON_ERR_MEMORY, "staggered: out of host memory for a column");
  status = kaon_agree(vector->ctx, status);
  if (status == KAON_OK)
    status = kaon_scidac_fields_read(vector->ctx, path, KAON_STAGGERED_REALS, ignore_checksum,
                                     &file, put_column_site, import_column, &c);
  return kaon_agree(vector->ctx, status);
}

static void get_site(void *source, int64_t site, double *values) {
  memcpy(values, (const double *)source + site * KAON_STAGGERED_REALS,
         KAON_STAGGERED_REALS * sizeof *values);
}

/* Writes all columns. Each is first gathered in `whole`, which has the sites of all ranks. */
static kaon_status write_fields(const kaon_vector *v, double *whole, kaon_atomic_file *file,
                                int bits, const char *record_xml) {
  const kaon_scidac_type type = {bits == 64 ? "USQCD_D3_ColorVector" : "USQCD_F3_ColorVector",
                                 bits,
                                 3,
                                 0,
                                 KAON_STAGGERED_REALS,
                                 1};
  const int *extents = v->space->lattice->global;
  char date[64];
  const kaon_scidac_output out = {v->ctx, file, extents, kaon_file_date(NULL, date)};
  KAON_TRY(kaon_scidac_write_file(file, extents,
                                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?><title>kaon</title>"));
  for (int column = 0; column < v->nrhs; column++) {
    KAON_TRY(kaon_vector_gather(v, column, whole, KAON_BASIS_UKQCD));
    KAON_TRY(kaon_scidac_write_field(&out, &type, record_xml, 0, NULL, get_site, whole));
  }
  return KAON_OK;
}

static kaon_status write_file(const kaon_vector *v, double *whole, const char *path, int bits,
                              const char *text) {
  char xml[1200], escaped[1024];
  kaon_atomic_file *file = NULL;
  if (kaon_xml_escape(text != NULL ? text : "", escaped, sizeof escaped) >= sizeof escaped)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT,
                     "staggered vector: the text is longer than %zu characters; shorten it",
                     sizeof escaped - 1);
  snprintf(xml, sizeof xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?><title>%s</title>", escaped);
  KAON_TRY(kaon_atomic_open(v->ctx, path, &file));
  return kaon_atomic_end(&file, write_fields(v, whole, file, bits, xml));
}

kaon_status kaon_staggered_write_vectors(const kaon_vector *vector, const char *path, int bits,
                                         const char *text) {
  KAON_ENTER(KAON_OF(vector), vector, path);
  KAON_TRY(check_vector(vector));
  if (bits != 32 && bits != 64)
    return kaon_fail(vector->ctx, KAON_ERR_ARGUMENT,
                     "staggered vector: %d bits a number were asked for, but must be 32 or 64",
                     bits);
  const size_t count = (size_t)vector->space->lattice->global_volume * KAON_STAGGERED_REALS;
  KAON_AUTOFREE double *whole = malloc(count * sizeof *whole);
  kaon_status status =
      KAON_AGREE_MEMORY(vector->ctx, whole != NULL, "staggered: out of host memory for a column");
  if (status == KAON_OK) status = write_file(vector, whole, path, bits, text);
  return kaon_agree(vector->ctx, status);
}
