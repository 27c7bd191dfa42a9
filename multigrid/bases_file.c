/* bases_file.c - files of the bases of all levels, in SciDAC records (docs/files.md).
 *
 * A file holds what K cannot compute: V of each level, and the candidates in terms of V, which REFRESH
 * begins with. Coarse matrices follow from V and A. V is stored as it is held, its halves apart, so
 * its bits come back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/entry.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "lib/grid/site_table.h"
#include "lib/grid/slices.h"
#include "lib/io/decimal.h"
#include "lib/io/scidac.h"
#include "lib/math/half.h"
#include "multigrid/bases_header.h"
#include "multigrid/hierarchy.h"

#define PROLOGUE "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"

/* ---- the operator ---- */

/* |A r| / |r| for random r, which tells apart operators with other links or other parameters. */
static kaon_status norm_of(const kaon_multigrid *mg, double *norm) {
  kaon_operator *A = mg->A;
  KAON_AUTO(kaon_vector_destroy) kaon_vector *r = NULL, *y = NULL;
  double size, image;
  KAON_TRY(kaon_vector_create(A->ctx, A->space, A->precision, 1, &r));
  KAON_TRY(kaon_vector_create(A->ctx, A->space, A->precision, 1, &y));
  KAON_TRY(kaon_random_columns(r, 0, 1));
  KAON_TRY(kaon_operator_run(A, KAON_PLAIN, r, y, NULL));
  KAON_TRY(kaon_vector_norm2(r, &size));
  KAON_TRY(kaon_vector_norm2(y, &image));
  *norm = sqrt(image / size);
  return KAON_OK;
}

/* Sums in other orders differ by less than 1e-12, links in single precision by 1e-6. */
static kaon_status compare_operator(const kaon_multigrid *mg, const kaon_bases_header *h,
                                    const char *path) {
  const double tolerance = h->exact && mg->A->precision == KAON_DOUBLE ? 1e-11 : 1e-5;
  double norm;
  KAON_TRY(norm_of(mg, &norm));
  if (fabs(norm - h->norm) > tolerance * norm)
    kaon_log(mg->A->ctx, KAON_LOG_WARNING,
             "%s: its vectors are of an operator with other links or parameters (|A r| / |r| is "
             "%.12g there, %.12g here), so solves may take more steps; refresh them, or make new "
             "ones",
             kaon_short_path(path), h->norm, norm);
  return KAON_OK;
}

/* ---- a column in host memory ---- */

typedef struct column {
  const kaon_lattice *lattice;
  int reals;
  double *part;          /* of this rank */
  kaon_slices slices;    /* writing */
  const int *in_extents; /* reading: of the record */
} column;

static kaon_status column_open(const kaon_vector *v, column *c) {
  *c = (column){.lattice = v->space->lattice, .reals = v->space->ncomp};
  c->part = calloc((size_t)c->lattice->volume * (size_t)c->reals, sizeof *c->part);
  return KAON_AGREE_MEMORY(v->ctx, c->part != NULL, "multigrid: out of host memory for a column");
}

/* ---- reading ---- */

/* Every rank receives every site and stores its own. */
static void put_site(void *sink, int64_t number, const double *values) {
  const column *c = sink;
  const kaon_lattice *l = c->lattice;
  int x[4];
  if (memcmp(c->in_extents, l->global, sizeof l->global) != 0) return;
  kaon_site_coordinates(l->global, number, x);
  for (int mu = 0; mu < 4; mu++) {
    x[mu] -= l->origin[mu];
    if (x[mu] < 0 || x[mu] >= l->extents[mu]) return;
  }
  memcpy(c->part + kaon_site_index(l->extents, x) * c->reals, values,
         (size_t)c->reals * sizeof *values);
}

static kaon_status read_column(kaon_scidac_scan *scan, column *c, kaon_vector *v, int k) {
  kaon_scidac_field f;
  c->in_extents = f.extents;
  KAON_TRY(kaon_scidac_field_next(scan, c->reals, 1, &f, put_site, c));
  if (memcmp(f.extents, c->lattice->global, sizeof f.extents) != 0 || !f.has_checksum)
    return kaon_fail(scan->ctx, KAON_ERR_FORMAT,
                     "%s: a record is of another lattice than its level, or has no checksum: the "
                     "file is damaged; copy it again, or make new vectors",
                     scan->bytes->name);
  const uint32_t *sum = f.checksum_computed, *stored = f.checksum_stored;
  if (memcmp(sum, stored, sizeof f.checksum_stored) != 0)
    return kaon_fail(scan->ctx, KAON_ERR_CHECKSUM,
                     "%s: the data have checksums %08x %08x but the file stores %08x %08x; copy it "
                     "again, or make new vectors",
                     scan->bytes->name, sum[0], sum[1], stored[0], stored[1]);
  return kaon_vector_import(v, k, c->part, KAON_BASIS_UKQCD);
}

static kaon_status read_columns(kaon_scidac_scan *scan, kaon_vector *v) {
  column c;
  kaon_status status = column_open(v, &c);
  for (int k = 0; k < v->nrhs && status == KAON_OK; k++) status = read_column(scan, &c, v, k);
  free(c.part);
  return status;
}

static kaon_status read_levels(kaon_multigrid *mg, const kaon_bytes *bytes, const char *path) {
  kaon_scidac_scan scan;
  kaon_bases_header h;
  KAON_TRY(kaon_bases_header_read(mg->A->ctx, bytes, &h));
  const int numbers = mg->A->space->ncomp / 2;
  if (h.numbers != numbers)
    return kaon_fail(
        mg->A->ctx, KAON_ERR_SHAPE,
        "%s: its vectors have %d numbers a site, but the operator's have %d; load them "
        "for one like theirs, or make new ones",
        bytes->name, h.numbers, numbers);
  kaon_scidac_open(mg->A->ctx, bytes, &scan);
  for (kaon_mg_level *level = &mg->level[0]; level->below != NULL; level++) {
    KAON_TRY(read_columns(&scan, level->transfer->basis));
    KAON_TRY(read_columns(&scan, level->coordinates));
  }
  return compare_operator(mg, &h, path);
}

kaon_status kaon_bases_read(kaon_multigrid *mg, const char *path) {
  kaon_bytes bytes;
  KAON_TRY(kaon_bytes_open(mg->A->ctx, path, &bytes));
  const kaon_status status = read_levels(mg, &bytes, path);
  kaon_bytes_close(&bytes);
  return status;
}

/* ---- writing ---- */

static void local_site(const void *user, const int site[4], double *values) {
  const column *c = user;
  memcpy(values, c->part + kaon_site_index(c->lattice->extents, site) * c->reals,
         (size_t)c->reals * sizeof *values);
}

static void get_site(void *source, int64_t number, double *values) {
  column *c = source;
  memcpy(values, kaon_slices_site(&c->slices, number), (size_t)c->reals * sizeof *values);
}

/* 1 if a site of this scale, in 16 bits, reads back as these values. */
static int is_scale(float scale, int reals, const double *values) {
  const float factor = kaon_half_factor(scale), unit = kaon_half_unit(scale);
  for (int i = 0; i < reals; i++)
    if ((double)(lrintf((float)values[i] * factor) * unit) != values[i]) return 0;
  return 1;
}

/* The largest value of a site is its scale but for rounding. Replaces it by the scale, so that a
 * reader who rounds to 16 bits gets the site's integers and scale again. */
static void restore_scale(int reals, double *values) {
  float most = 0, scale;
  for (int i = 0; i < reals; i++) most = fmaxf(most, fabsf((float)values[i]));
  scale = nextafterf(nextafterf(most, 0), 0);
  for (int i = 0; i < 4 && !is_scale(scale, reals, values); i++)
    scale = nextafterf(scale, INFINITY);
  if (!is_scale(scale, reals, values)) return; /* infinite */
  for (int i = 0; i < reals; i++)
    if (fabs(values[i]) == (double)most) values[i] = copysign(scale, values[i]);
}

static kaon_status export_column(const kaon_vector *v, int k, column *c) {
  KAON_TRY(kaon_vector_export(v, k, c->part, KAON_BASIS_UKQCD));
  if (v->precision != KAON_HALF) return KAON_OK;
#pragma omp parallel for num_threads(v->ctx->threads)
  for (int64_t site = 0; site < c->lattice->volume; site++)
    restore_scale(c->reals, c->part + site * c->reals);
  return KAON_OK;
}

/* Where a column belongs. */
typedef struct place {
  int level;
  const char *kind;
} place;

static kaon_status write_column(const kaon_scidac_output *out, const place *at, int k, column *c) {
  const int spinor = at->level == 0 && c->reals == 24;
  const kaon_scidac_type type = {spinor ? "USQCD_F3_DiracFermion" : "kaon_F_Numbers",
                                 32,
                                 spinor ? 3 : 0,
                                 spinor ? 4 : 0,
                                 c->reals,
                                 1};
  char xml[256];
  snprintf(xml, sizeof xml,
           PROLOGUE
           "<kaonMultigridField><level>%d</level><kind>%s</kind><column>%d</column>"
           "</kaonMultigridField>",
           at->level, at->kind, k);
  kaon_status status = kaon_slices_open(c->lattice, c->reals, local_site, c, &c->slices);
  if (status == KAON_OK) status = kaon_scidac_write_field(out, &type, xml, 0, NULL, get_site, c);
  if (status == KAON_OK) status = c->slices.status;
  kaon_slices_close(&c->slices);
  return status;
}

static kaon_status write_columns(const kaon_scidac_output *out, const place *at,
                                 const kaon_vector *v) {
  column c;
  kaon_status status = column_open(v, &c);
  for (int k = 0; k < v->nrhs && status == KAON_OK; k++) {
    status = kaon_agree(v->ctx, export_column(v, k, &c));
    if (status == KAON_OK) status = write_column(out, at, k, &c);
  }
  free(c.part);
  return status;
}

/* Begins the records of a level's lattice. */
static kaon_status write_lattice(const kaon_mg_level *level, const char *xml,
                                 kaon_scidac_output *out) {
  out->extents = level->A->space->lattice->global;
  return kaon_scidac_write_file(out->file, out->extents, xml);
}

static void describe(const kaon_multigrid *mg, double norm, size_t room, char *xml) {
  const kaon_multigrid_options *o = &mg->options;
  char blocks[160] = "", vectors[64] = "";
  for (int l = 0; l + 1 < o->levels; l++) {
    const int *b = o->block[l];
    const size_t at = strlen(blocks), of = strlen(vectors);
    snprintf(blocks + at, sizeof blocks - at, "%d %d %d %d ", b[0], b[1], b[2], b[3]);
    snprintf(vectors + of, sizeof vectors - of, "%d ", o->vectors[l]);
  }
  kaon_decimal_printf(xml, room,
                      PROLOGUE "<" KAON_BASES_ROOT
                               "><version>1</version><levels>%d</levels><numbers>%d"
                               "</numbers><blocks>%s</blocks><vectors>%s</vectors><operator>%s"
                               "</operator><bits>%d</bits><norm>%.17g</norm></" KAON_BASES_ROOT ">",
                      o->levels, mg->A->space->ncomp / 2, blocks, vectors, mg->A->ops->name,
                      mg->A->precision == KAON_DOUBLE ? 64 : 32, norm);
}

/* Records follow each other by lattice: V of level 0; coordinates of level 0 and V of level 1, ... */
static kaon_status write_levels(const kaon_multigrid *mg, const char *header_xml,
                                kaon_scidac_output *out) {
  char xml[128];
  KAON_TRY(write_lattice(&mg->level[0], header_xml, out));
  for (const kaon_mg_level *level = &mg->level[0]; level->below != NULL; level++) {
    const place basis = {level->number, "basis"}, coordinates = {level->number, "coordinates"};
    KAON_TRY(write_columns(out, &basis, level->transfer->basis));
    snprintf(xml, sizeof xml, PROLOGUE "<level>%d</level>", level->number + 1);
    KAON_TRY(write_lattice(level->below, xml, out));
    KAON_TRY(write_columns(out, &coordinates, level->coordinates));
  }
  return KAON_OK;
}

kaon_status kaon_bases_write(const kaon_multigrid *mg, const char *path) {
  char xml[1024], date[64];
  double norm;
  kaon_scidac_output out = {mg->A->ctx, NULL, NULL, kaon_file_date(NULL, date)};
  KAON_TRY(norm_of(mg, &norm));
  describe(mg, norm, sizeof xml, xml);
  KAON_TRY(kaon_atomic_open(mg->A->ctx, path, &out.file));
  return kaon_atomic_end(&out.file, write_levels(mg, xml, &out));
}

/* ---- the options of a file ---- */

kaon_status kaon_bases_complete(const kaon_context *ctx, const char *path, const int whole[4],
                                kaon_multigrid_options *options) {
  kaon_bytes bytes;
  KAON_TRY(kaon_bytes_open(ctx, path, &bytes));
  const kaon_status status = kaon_bases_header_take(ctx, &bytes, whole, options);
  kaon_bytes_close(&bytes);
  return status;
}

kaon_status kaon_multigrid_probe(const kaon_context *ctx, const char *path, const int extents[4],
                                 kaon_multigrid_options *options) {
  KAON_ENTER(ctx, path, extents, options);
  kaon_multigrid_options own;
  KAON_TRY(kaon_output_check(ctx, "kaon_multigrid_options", options));
  KAON_TRY(kaon_options_take(KAON_OPTIONS_MULTIGRID, options, &own));
  KAON_TRY(kaon_bases_complete(ctx, path, extents, &own));
  kaon_output_fill(options, &own, sizeof own);
  return KAON_OK;
}
