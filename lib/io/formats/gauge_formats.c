/* gauge_formats.c - finds the format of a gauge file and calls its parser; writes through the same
 * table. Contract: include/kaon/io.h. To add a format, add a kaon_gauge_format row (gauge_job.h) to
 * the table below. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "lib/io/formats/content.h"
#include "lib/io/formats/gauge_job.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

enum { HEAD = 64 };

/* Order matters for detection: magic words first, plausibility last. */
static const kaon_gauge_format *const formats[] = {&kaon_gauge_nersc,   &kaon_gauge_ildg,
                                                   &kaon_gauge_scidac,  &kaon_gauge_milc,
                                                   &kaon_gauge_openqcd, &kaon_gauge_ddalphaamg};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* The names of all formats, as the options have them. */
static const char *const *names_of_formats(void) {
  return kaon_options_table_of(KAON_OPTIONS_GAUGE_READ)->fields[0].names;
}

const char *kaon_file_format_name(kaon_file_format format) {
  const char *name = kaon_field_name(names_of_formats(), (int)format);
  return name != NULL ? name : "auto";
}

kaon_status kaon_file_format_parse(const char *name, kaon_file_format *format) {
  KAON_ENTER(NULL, name, format);
  const char *const *names = names_of_formats();
  for (int i = 0; names[i] != NULL; i++)
    if (strcasecmp(names[i], name) == 0) {
      *format = (kaon_file_format)i;
      return KAON_OK;
    }
  return kaon_fail(
      NULL, KAON_ERR_ARGUMENT,
      "'%.40s' is no file format; pass nersc, ildg, scidac, milc, openqcd, ddalphaamg or auto",
      name ? name : "");
}

static const kaon_gauge_format *format_row(kaon_file_format format) {
  for (int i = 0; i < FORMATS; i++)
    if (formats[i]->format == format) return formats[i];
  return NULL;
}

static kaon_status unknown_format(const kaon_context *ctx, const kaon_bytes *bytes,
                                  const unsigned char *head, size_t n) {
  char text[KAON_CONTENT];
  int64_t e[4], volume;
  if (n == 0) return kaon_fail(ctx, KAON_ERR_FORMAT, "%s: the file is empty", bytes->name);
  for (int d = 0; n >= 24 && d < 4; d++) e[d] = (int32_t)kaon_u32_at(head + 4 * d, 0);
  if (n >= 24 && kaon_extents_volume(e, &volume)) {
    if (24 + volume * 576 == bytes->size)
      return kaon_fail(
          ctx, KAON_ERR_FORMAT,
          "%s: has the length of an openQCD or DDalphaAMG file of %lld x %lld x %lld x %lld, but "
          "the number after its extents is no plaquette: the file is damaged; copy it again",
          bytes->name, (long long)e[0], (long long)e[1], (long long)e[2], (long long)e[3]);
    return kaon_fail(
        ctx, KAON_ERR_FORMAT,
        "%s: begins like an openQCD or DDalphaAMG file of %lld x %lld x %lld x %lld, which would "
        "have %lld bytes, but it has %lld: truncated, damaged or of another format",
        bytes->name, (long long)e[0], (long long)e[1], (long long)e[2], (long long)e[3],
        (long long)(24 + volume * 576), (long long)bytes->size);
  }
  return kaon_fail(
      ctx, KAON_ERR_FORMAT,
      "%s: it is %s; but a gauge configuration of format NERSC, ILDG, SciDAC, MILC v5, openQCD or "
      "DDalphaAMG belongs here; give one",
      bytes->name, kaon_content_name(ctx, bytes, text));
}

static kaon_status find_format(const kaon_gauge_job *job, const kaon_gauge_format **row) {
  unsigned char head[HEAD];
  size_t n = job->bytes->size < HEAD ? (size_t)job->bytes->size : HEAD;
  *row = format_row(job->options.format);
  if (*row) return KAON_OK;
  KAON_TRY(kaon_bytes_read(job->ctx, job->bytes, 0, n, head));
  for (int i = 0; i < FORMATS; i++) {
    if (formats[i]->matches && formats[i]->matches(head, n, job->bytes->size)) {
      *row = formats[i];
      return KAON_OK;
    }
  }
  return unknown_format(job->ctx, job->bytes, head, n);
}

kaon_status kaon_gauge_bytes_read(const kaon_context *ctx, const kaon_bytes *bytes,
                                  const kaon_gauge_read_options *options,
                                  kaon_gauge_file_info *info, kaon_link_put *put, void *sink) {
  kaon_gauge_file_info own;
  kaon_gauge_job job = {.ctx = ctx, .bytes = bytes, .put = put, .sink = sink};
  const kaon_gauge_format *row;
  job.info = info ? info : &own;
  memset(job.info, 0, sizeof *job.info);
  if (kaon_options_take(KAON_OPTIONS_GAUGE_READ, options, &job.options) != KAON_OK)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "%s: %s", bytes->name, kaon_last_error(NULL));
  KAON_TRY(find_format(&job, &row));
  job.info->format = row->format;
  KAON_TRY(row->probe(&job));
  return put ? row->read(&job) : KAON_OK;
}

static kaon_status open_and_read(const kaon_context *ctx, const char *path,
                                 const kaon_gauge_read_options *options, kaon_gauge_file_info *info,
                                 kaon_link_put *put, void *sink) {
  kaon_bytes bytes;
  kaon_gauge_file_info made = {0};
  KAON_TRY(kaon_output_check(ctx, "kaon_gauge_file_info", info));
  kaon_status status = kaon_bytes_open(ctx, path, &bytes);
  if (status == KAON_OK) {
    status = kaon_gauge_bytes_read(ctx, &bytes, options, &made, put, sink);
    kaon_bytes_close(&bytes);
  }
  kaon_output_fill(info, &made, sizeof made);
  return status;
}

kaon_status kaon_gauge_file_probe(const kaon_context *ctx, const char *path,
                                  const kaon_gauge_read_options *options,
                                  kaon_gauge_file_info *info) {
  KAON_ENTER(ctx, path);
  return open_and_read(ctx, path, options, info, NULL, NULL);
}

kaon_status kaon_gauge_file_read(const kaon_context *ctx, const char *path,
                                 const kaon_gauge_read_options *options, kaon_gauge_file_info *info,
                                 kaon_link_put *put, void *sink) {
  KAON_ENTER(ctx, path, put);
  return open_and_read(ctx, path, options, info, put, sink);
}

/* Replaces zeros by defaults and refuses what the format cannot store. */
static kaon_status resolve(kaon_gauge_output *out, const char *name, char date[64]) {
  kaon_gauge_write_options *o = &out->options;
  if (o->format == KAON_FORMAT_AUTO) o->format = KAON_FORMAT_ILDG;
  const int only32 = o->format == KAON_FORMAT_MILC, only64 = o->format == KAON_FORMAT_OPENQCD;
  if (o->precision == 0) o->precision = only32 ? 32 : 64;
  if (o->rows == 0) o->rows = 3;
  if (o->byte_order == KAON_BYTES_NATIVE)
    o->byte_order = kaon_host_big_endian() ? KAON_BYTES_BIG : KAON_BYTES_LITTLE;
  if ((o->precision != 32 && o->precision != 64) || (only32 && o->precision != 32) ||
      (only64 && o->precision != 64)) {
    return kaon_fail(out->ctx, KAON_ERR_ARGUMENT,
                     "%s: precision %d was given for format %s, which stores %s bits", name,
                     o->precision, kaon_file_format_name(o->format),
                     only32   ? "32"
                     : only64 ? "64"
                              : "32 or 64");
  }
  if (o->rows != 3 && (o->rows != 2 || o->format != KAON_FORMAT_NERSC)) {
    return kaon_fail(
        out->ctx, KAON_ERR_ARGUMENT, "%s: %d rows were given for format %s, which stores %s", name,
        o->rows, kaon_file_format_name(o->format), o->format == KAON_FORMAT_NERSC ? "2 or 3" : "3");
  }
  o->date = kaon_file_date(o->date, date);
  return KAON_OK;
}

kaon_status kaon_gauge_file_write(const kaon_context *ctx, const char *path,
                                  const kaon_gauge_write_options *options,
                                  const kaon_gauge_content *content, kaon_link_get *get,
                                  void *source) {
  KAON_ENTER(ctx, path, content, get);
  kaon_gauge_output out = {.ctx = ctx, .content = content, .get = get, .source = source};
  char date[64];
  if (kaon_options_take(KAON_OPTIONS_GAUGE_WRITE, options, &out.options) != KAON_OK)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "%s: %s", kaon_short_path(path),
                     kaon_last_error(NULL));
  KAON_TRY(resolve(&out, kaon_short_path(path), date));
  if (!isfinite(content->plaquette) || !isfinite(content->link_trace))
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "%s: plaquette %g and link trace %g are no means of Re tr / 3; give these means",
        kaon_short_path(path), content->plaquette, content->link_trace);
  KAON_TRY(kaon_file_extents_check(ctx, kaon_short_path(path), content->extents, &out.volume));
  const kaon_gauge_format *row = format_row(out.options.format);
  if (!row || !row->write) {
    return kaon_fail(
        ctx, KAON_ERR_UNSUPPORTED,
        "%s: format %s is read but not written; write nersc, ildg, scidac, milc or openqcd",
        kaon_short_path(path), kaon_file_format_name(out.options.format));
  }
  KAON_TRY(kaon_atomic_open(ctx, path, &out.file));
  return kaon_atomic_end(&out.file, row->write(&out));
}
