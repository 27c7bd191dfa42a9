/* gauge_file.c - link fields from and to files (formats: lib/io). The reader verifies checksum,
 * link trace, SU(3) and length while reading. The plaquette needs the whole field, so it is
 * compared here. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gauge/gauge_internal.h"
#include "lib/io/formats/gauge_job.h"
#include "lib/grid/slices.h"
#include "lib/core/threads.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

/* Every rank receives every link and stores its own. */
static void put_link(void *sink, int64_t number, int mu, const double u[18]) {
  const kaon_host_links *host = sink;
  const kaon_lattice *lattice = host->wide->lattice;
  int site[4];
  kaon_site_coordinates(lattice->global, number, site);
  for (int nu = 0; nu < 4; nu++) {
    site[nu] -= lattice->origin[nu];
    if (site[nu] < 0 || site[nu] >= lattice->extents[nu]) return;
  }
  const kaon_host_link to = kaon_host_link_at(host, site, mu);
  for (int c = 0; c < 18; c++) *kaon_host_link_real(&to, c) = u[c];
}

static void read_link(const kaon_host_links *host, const int site[4], int mu, double u[18]) {
  const kaon_host_link from = kaon_host_link_at(host, site, mu);
  for (int c = 0; c < 18; c++) u[c] = *kaon_host_link_real(&from, c);
}

static void read_site(const void *user, const int site[4], double *values) {
  for (int mu = 0; mu < 4; mu++) read_link(user, site, mu, values + 18 * mu);
}

/* Links to be written to a file: the rank's own, or slices that are sent to all ranks. */
typedef struct outgoing {
  kaon_host_links host;
  kaon_slices slices;
} outgoing;

static void get_link(void *source, int64_t number, int mu, double u[18]) {
  outgoing *out = source;
  const kaon_lattice *lattice = out->host.wide->lattice;
  int site[4];
  if (lattice->ctx->comm->ranks > 1) {
    memcpy(u, kaon_slices_site(&out->slices, number) + 18 * mu, 18 * sizeof *u);
    return;
  }
  kaon_site_coordinates(lattice->extents, number, site);
  read_link(&out->host, site, mu, u);
}

static kaon_status read_links(const kaon_wide_links *wide, const char *path,
                              const kaon_gauge_read_options *options, kaon_gauge_file_info *info) {
  kaon_context *ctx = wide->lattice->ctx;
  KAON_AUTO(kaon_host_close) kaon_host_links host = {0};
  KAON_TRY(kaon_agree(ctx, kaon_host_open(wide, 0, &host)));
  kaon_host_clear_tail(&host);
  KAON_TRY(kaon_gauge_file_read(ctx, path, options, info, put_link, &host));
  return kaon_agree(ctx, kaon_host_upload(&host));
}

static kaon_status plaquette_deviation(const kaon_wide_links *wide,
                                       const kaon_gauge_file_info *info, double *plaquette,
                                       int *agrees) {
  double mean[KAON_PLAQUETTE_MEANS];
  KAON_TRY(kaon_wide_plaquette(wide, mean));
  *plaquette = (mean[0] + mean[1]) / 2;
  *agrees = !info->has_plaquette || fabs(*plaquette - info->plaquette) <= info->plaquette_tolerance;
  return KAON_OK;
}

static kaon_status refuse_plaquette(const kaon_wide_links *wide, const char *path,
                                    const kaon_gauge_read_options *options, double plaquette,
                                    kaon_gauge_file_info *info) {
  char text[512];
  snprintf(text, sizeof text,
           "%.300s: the links' plaquette is %.12f but the file stores %.12f (tolerance %.1e)",
           kaon_short_path(path), plaquette, info->plaquette, info->plaquette_tolerance);
  if (!options->ignore_checksum)
    return kaon_fail(wide->lattice->ctx, KAON_ERR_CHECKSUM,
                     "%s: it is damaged or of another field; get a sound copy, or pass "
                     "--ignore-checksum to use it as it is",
                     text);
  kaon_gauge_warn(info, text);
  return KAON_OK;
}

/* Reads the file. If the header also fits openQCD but the plaquette does not, reads it again as
 * DDalphaAMG. */
static kaon_status read_verified(const kaon_wide_links *wide, const char *path,
                                 kaon_gauge_read_options *options, kaon_gauge_file_info *info) {
  double plaquette = 0;
  int agrees = 0;
  KAON_TRY(read_links(wide, path, options, info));
  KAON_TRY(plaquette_deviation(wide, info, &plaquette, &agrees));
  if (!agrees && info->ambiguous) {
    kaon_gauge_file_info other = KAON_GAUGE_FILE_INFO_INIT;
    options->format = KAON_FORMAT_DDALPHAAMG;
    KAON_TRY(read_links(wide, path, options, &other));
    KAON_TRY(plaquette_deviation(wide, &other, &plaquette, &agrees));
    *info = other;
  }
  return agrees ? KAON_OK : refuse_plaquette(wide, path, options, plaquette, info);
}

static kaon_status read_into(kaon_gauge *gauge, const char *path, kaon_gauge_read_options *options,
                             kaon_gauge_file_info *info) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_TRY(kaon_wide_open(gauge, 1, &wide));
  kaon_status status = read_verified(&wide, path, options, info);
  kaon_replaced(gauge->revision, KAON_LINKS, NULL); /* the old links are lost */
  if (status == KAON_OK) status = kaon_wide_commit(gauge, &wide, 0, path);
  return status;
}

static kaon_status read_and_tell(kaon_gauge *gauge, const char *path,
                                 kaon_gauge_read_options *options, kaon_gauge_file_info *info) {
  kaon_gauge_file_info made = KAON_GAUGE_FILE_INFO_INIT;
  const kaon_status status = read_into(gauge, path, options, &made);
  kaon_output_fill(info, &made, sizeof made);
  return status;
}

kaon_status kaon_gauge_read(kaon_gauge *gauge, const char *path,
                            const kaon_gauge_read_options *options, kaon_gauge_file_info *info) {
  KAON_ENTER(KAON_OF(gauge), gauge, path);
  kaon_gauge_read_options own;
  if (kaon_options_take(KAON_OPTIONS_GAUGE_READ, options, &own) != KAON_OK)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT, "%s: %s", path, kaon_last_error(NULL));
  KAON_TRY(kaon_output_check(gauge->ctx, "kaon_gauge_file_info", info));
  for (int mu = 0; mu < 4; mu++) {
    const int extent = gauge->lattice->global[mu];
    if (own.extents[mu] != 0 && own.extents[mu] != extent)
      return kaon_fail(gauge->ctx, KAON_ERR_SHAPE,
                       "gauge: the options say extent %c is %d but the field's lattice has %d",
                       "XYZT"[mu], own.extents[mu], extent);
    own.extents[mu] = extent;
  }
  KAON_RETURN_UNTRAPPED(gauge->ctx, read_and_tell(gauge, path, &own, info));
}

/* The part of a link that a file stores. */
typedef struct kept {
  int rows, bits;
} kept;

static kept kept_of(const kaon_gauge_write_options *o) {
  const int bits = o->format == KAON_FORMAT_MILC ? 32 : 64;
  return (kept){o->rows == 2 ? 2 : 3, o->precision != 0 ? o->precision : bits};
}

/* Computes the link that a reader gets. The writer refuses values beyond a float. */
static void read_back(kept k, double u[18]) {
  for (int c = 0; c < 18 && k.bits == 32; c++)
    if (fabs(u[c]) <= FLT_MAX) u[c] = (float)u[c];
  if (k.rows == 2) kaon_su3_third_row(u);
}

static kaon_status make_read_back(const kaon_wide_links *wide, kept k,
                                  const kaon_wide_links *stored) {
  const kaon_lattice *lattice = wide->lattice;
  KAON_AUTO(kaon_host_close) kaon_host_links from = {0}, to = {0};
  kaon_status status = kaon_host_open(wide, 1, &from);
  if (status == KAON_OK) status = kaon_host_open(stored, 1, &to);
  if (status == KAON_OK) {
#pragma omp parallel for num_threads(lattice->ctx->threads) schedule(static)
    for (int64_t number = 0; number < 4 * lattice->volume; number++) {
      const int mu = (int)(number % 4);
      int site[4];
      double u[18];
      kaon_site_coordinates(lattice->extents, number / 4, site);
      read_link(&from, site, mu, u);
      read_back(k, u);
      const kaon_host_link link = kaon_host_link_at(&to, site, mu);
      for (int c = 0; c < 18; c++) *kaon_host_link_real(&link, c) = u[c];
    }
    status = kaon_host_upload(&to);
  }
  return status;
}

/* Computes the means of the links as stored, which readers compare with their own. */
static kaon_status stored_means(const kaon_wide_links *wide, kept k,
                                double mean[KAON_PLAQUETTE_MEANS]) {
  kaon_context *ctx = wide->lattice->ctx;
  if (k.rows == 3 && k.bits == 64) return kaon_wide_plaquette(wide, mean);
  KAON_AUTO(kaon_wide_close) kaon_wide_links stored = {0};
  KAON_TRY(kaon_agree(ctx, kaon_wide_create(wide->lattice, &stored)));
  KAON_TRY(kaon_agree(ctx, make_read_back(wide, k, &stored)));
  return kaon_wide_plaquette(&stored, mean);
}

static kaon_status write_links(const kaon_wide_links *wide, const char *path,
                               const kaon_gauge_write_options *options) {
  const kaon_lattice *lattice = wide->lattice;
  outgoing out = {.slices.status = KAON_OK};
  double mean[KAON_PLAQUETTE_MEANS];
  KAON_TRY(stored_means(wide, kept_of(options), mean));
  kaon_gauge_content content = {.plaquette = (mean[0] + mean[1]) / 2, .link_trace = mean[2]};
  for (int mu = 0; mu < 4; mu++) content.extents[mu] = lattice->global[mu];
  kaon_status status = kaon_agree(lattice->ctx, kaon_host_open(wide, 1, &out.host));
  if (status == KAON_OK && lattice->ctx->comm->ranks > 1)
    status = kaon_slices_open(lattice, 72, read_site, &out.host, &out.slices);
  if (status == KAON_OK)
    status = kaon_gauge_file_write(lattice->ctx, path, options, &content, get_link, &out);
  if (status == KAON_OK) status = out.slices.status;
  kaon_slices_close(&out.slices);
  kaon_host_close(&out.host);
  return status;
}

static kaon_status write_from(const kaon_gauge *gauge, const char *path,
                              const kaon_gauge_write_options *options) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_TRY(kaon_wide_open(gauge, 0, &wide));
  return write_links(&wide, path, options);
}

kaon_status kaon_gauge_write(const kaon_gauge *gauge, const char *path,
                             const kaon_gauge_write_options *options) {
  KAON_ENTER(KAON_OF(gauge), gauge, path);
  kaon_gauge_write_options own;
  if (kaon_options_take(KAON_OPTIONS_GAUGE_WRITE, options, &own) != KAON_OK)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT, "%s: %s", path, kaon_last_error(NULL));
  KAON_RETURN_UNTRAPPED(gauge->ctx, write_from(gauge, path, &own));
}
