/* gauge_nersc.c - the NERSC archive format.
 * ASCII lines KEY = VALUE between BEGIN_HEADER and END_HEADER, in any order and number; then the
 * links. Sites are lexicographic, x fastest, mu = x, y, z, t, with 2 rows (DATATYPE
 * 4D_SU3_GAUGE) or 3 (4D_SU3_GAUGE_3x3), IEEE32 or IEEE64 in BIG or LITTLE order. If only IEEE32
 * or IEEE64 is given, the byte order is the one whose CHECKSUM matches, else the one in which
 * the first link looks like SU(3). Source: the archive file format page of the Gauge Connection
 * (qcd.nersc.gov). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io/checksum.h"
#include "lib/io/decimal.h"
#include "lib/io/formats/gauge_job.h"
#include "lib/io/sites.h"
#include "lib/io/xml.h"

enum { HEADER_MAX = 1 << 16 };
static const char begin_mark[] = "BEGIN_HEADER";

static int matches(const unsigned char *head, size_t n, int64_t file_size) {
  (void)file_size;
  return n >= sizeof begin_mark - 1 && memcmp(head, begin_mark, sizeof begin_mark - 1) == 0;
}

/* Returns the line at *at without its end and moves *at past it; 0 if no complete line is left. */
static int next_line(kaon_text header, size_t *at, kaon_text *line) {
  const char *start = header.at + *at, *end = memchr(start, '\n', header.length - *at);
  if (!end) return 0;
  line->at = start;
  line->length = (size_t)(end - start);
  *at += line->length + 1;
  return 1;
}

/* Finds the value of `key` (any case); the last such line counts. 1 if found. */
static int lookup(kaon_text header, const char *key, kaon_text *value) {
  size_t at = 0;
  int found = 0;
  kaon_text line;
  while (next_line(header, &at, &line)) {
    const char *equals = memchr(line.at, '=', line.length);
    if (!equals) continue;
    kaon_text name = {line.at, (size_t)(equals - line.at)};
    if (!kaon_text_is(name, key)) continue;
    value->at = equals + 1;
    value->length = line.length - name.length - 1;
    *value = kaon_text_trim(*value);
    found = 1;
  }
  return found;
}

/* Reads the header into `buffer`; sets job->data. */
static kaon_status read_header(kaon_gauge_job *job, char *buffer, kaon_text *header) {
  const kaon_bytes *bytes = job->bytes;
  size_t n = bytes->size < HEADER_MAX ? (size_t)bytes->size : HEADER_MAX;
  KAON_TRY(kaon_bytes_read(job->ctx, bytes, 0, n, buffer));
  if (!matches((unsigned char *)buffer, n, bytes->size)) {
    return kaon_fail(job->ctx, KAON_ERR_FORMAT,
                     "%s: does not begin with BEGIN_HEADER, so it is no NERSC file; use format "
                     "auto to detect the format",
                     bytes->name);
  }
  kaon_text all = {buffer, n}, line;
  size_t at = 0, before = 0;
  for (; next_line(all, &at, &line); before = at) {
    if (kaon_text_is(line, "END_HEADER")) {
      header->at = buffer;
      header->length = before;
      job->data = (int64_t)at;
      return KAON_OK;
    }
  }
  return kaon_fail(
      job->ctx, KAON_ERR_FORMAT,
      "%s: no END_HEADER line in the first %zu bytes of this NERSC file: it is truncated or "
      "damaged; copy it again",
      bytes->name, n);
}

static kaon_status bad_value(const kaon_gauge_job *job, const char *key, kaon_text value,
                             const char *wanted) {
  char text[48];
  return kaon_fail(job->ctx, KAON_ERR_FORMAT, "%s: NERSC header says %s = '%s', but %s is needed",
                   job->bytes->name, key, kaon_printable(value.at, value.length, text, sizeof text),
                   wanted);
}

static kaon_status parse_shape(kaon_gauge_job *job, kaon_text header) {
  kaon_gauge_file_info *info = job->info;
  int64_t extents[4];
  kaon_text value = {"", 0};
  for (int d = 0; d < 4; d++) {
    char key[16];
    snprintf(key, sizeof key, "DIMENSION_%d", d + 1);
    if (!lookup(header, key, &value) || !kaon_text_integer(value, &extents[d])) {
      return bad_value(job, key, value, "a whole number");
    }
    value.length = 0;
  }
  if (!lookup(header, "DATATYPE", &value))
    return bad_value(job, "DATATYPE", value, "one of the format's words");
  info->rows = kaon_text_is(value, "4D_SU3_GAUGE_3x3") ? 3 : 2;
  if (info->rows == 2 && !kaon_text_is(value, "4D_SU3_GAUGE"))
    return bad_value(job, "DATATYPE", value, "4D_SU3_GAUGE or 4D_SU3_GAUGE_3x3");
  return kaon_gauge_set_extents(job, extents);
}

static int64_t data_bytes(const kaon_gauge_job *job) {
  return kaon_gauge_volume(job) * 4 * 6 * job->info->rows * (job->info->precision / 8);
}

static kaon_site_layout layout_of(const kaon_gauge_job *job) {
  const kaon_gauge_file_info *info = job->info;
  return (kaon_site_layout){job->data, kaon_gauge_volume(job), 24 * info->rows, info->precision,
                            info->big_endian};
}

typedef struct order_sums {
  uint32_t sum[2]; /* little, big */
  size_t words;
} order_sums;

static kaon_status sum_both(void *user, int64_t site, const unsigned char *raw,
                            const double *values) {
  order_sums *s = user;
  (void)site, (void)values;
  for (int big = 0; big < 2; big++) kaon_nersc_checksum(&s->sum[big], raw, s->words, big);
  return KAON_OK;
}

/* Finds the byte order of a file that does not give it. */
static kaon_status find_order(kaon_gauge_job *job) {
  kaon_gauge_file_info *info = job->info;
  kaon_site_layout layout = layout_of(job);
  int fits[2] = {0, 0};
  if (info->checksums) {
    order_sums sums = {{0, 0}, kaon_site_bytes(&layout) / 4};
    KAON_TRY(kaon_sites_read(job->ctx, job->bytes, &layout, sum_both, &sums));
    for (int big = 0; big < 2; big++) fits[big] = sums.sum[big] == info->checksum_stored[0];
  }
  if (fits[0] == fits[1]) {
    unsigned char raw[18 * 8];
    size_t reals = 6 * (size_t)info->rows;
    KAON_TRY(
        kaon_bytes_read(job->ctx, job->bytes, job->data, reals * (size_t)info->precision / 8, raw));
    for (int big = 0; big < 2; big++) {
      double u[18];
      kaon_words_to_doubles(raw, reals, info->precision, big, u);
      if (info->rows == 2) kaon_su3_third_row(u);
      fits[big] = kaon_su3_distance(u) < 1e-2;
    }
  }
  info->big_endian = fits[0] == fits[1] ? kaon_host_big_endian() : fits[1];
  return KAON_OK;
}

static kaon_status parse_words(kaon_gauge_job *job, kaon_text header) {
  static const struct {
    const char *name;
    int precision, big;
  } kinds[] = {{"IEEE32BIG", 32, 1}, {"IEEE32LITTLE", 32, 0}, {"IEEE32", 32, -1},
               {"IEEE64BIG", 64, 1}, {"IEEE64LITTLE", 64, 0}, {"IEEE64", 64, -1}};
  kaon_text value = {"", 0};
  if (!lookup(header, "FLOATING_POINT", &value))
    return bad_value(job, "FLOATING_POINT", value, "one of the format's words");
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (!kaon_text_is(value, kinds[i].name)) continue;
    job->info->precision = kinds[i].precision;
    job->info->big_endian = kinds[i].big == 1;
    KAON_TRY(kaon_gauge_expect_size(job, data_bytes(job)));
    KAON_TRY(kaon_gauge_match_extents(job));
    return kinds[i].big < 0 ? find_order(job) : KAON_OK;
  }
  return bad_value(job, "FLOATING_POINT", value,
                   "IEEE32 or IEEE64, followed by BIG or LITTLE or nothing");
}

static kaon_status parse_figure(kaon_gauge_job *job, kaon_text header, const char *key,
                                void (*set)(kaon_gauge_job *job, double number, double digit)) {
  kaon_text value;
  double number, digit;
  if (!lookup(header, key, &value)) return KAON_OK;
  if (!kaon_text_decimal(value, &number, &digit)) return bad_value(job, key, value, "a number");
  set(job, number, digit);
  return KAON_OK;
}

static kaon_status probe(kaon_gauge_job *job) {
  KAON_AUTOFREE char *buffer = malloc(HEADER_MAX);
  if (!buffer) return kaon_fail(job->ctx, KAON_ERR_MEMORY, "%s: out of memory", job->bytes->name);
  kaon_text header, value;
  KAON_TRY(read_header(job, buffer, &header));
  KAON_TRY(parse_shape(job, header));
  if (lookup(header, "CHECKSUM", &value)) {
    if (!kaon_text_hex32(value, &job->info->checksum_stored[0])) {
      return bad_value(job, "CHECKSUM", value, "a hexadecimal number of 32 bits");
    }
    job->info->checksums = 1;
  }
  KAON_TRY(parse_words(job, header));
  KAON_TRY(parse_figure(job, header, "PLAQUETTE", kaon_gauge_set_plaquette));
  return parse_figure(job, header, "LINK_TRACE", kaon_gauge_set_link_trace);
}

static kaon_status take_site(void *user, int64_t site, const unsigned char *raw,
                             const double *values) {
  kaon_gauge_job *job = user;
  const kaon_gauge_file_info *info = job->info;
  size_t reals = 6 * (size_t)info->rows;
  kaon_nersc_checksum(&job->info->checksum_computed[0], raw,
                      4 * reals * (size_t)info->precision / 32, info->big_endian);
  for (int mu = 0; mu < 4; mu++) {
    double u[18];
    memcpy(u, values + (size_t)mu * reals, reals * sizeof *u);
    if (info->rows == 2) kaon_su3_third_row(u);
    kaon_gauge_deliver(job, site, mu, u);
  }
  return KAON_OK;
}

static kaon_status read_links(kaon_gauge_job *job) {
  kaon_site_layout layout = layout_of(job);
  KAON_TRY(kaon_sites_read(job->ctx, job->bytes, &layout, take_site, job));
  return kaon_gauge_final_checks(job);
}

/* Makes one header line of any text from the caller. */
static void one_line(const char *text, char *to, size_t to_size) {
  kaon_printable(text, strlen(text), to, to_size);
}

/* Writes the header; *checksum_at is the offset of its eight digits. */
static kaon_status write_header(kaon_gauge_output *out, int big, int64_t *checksum_at) {
  const kaon_gauge_write_options *o = &out->options;
  const kaon_gauge_content *c = out->content;
  char ensemble[128], label[512], means[96];
  one_line(o->ensemble ? o->ensemble : "kaon", ensemble, sizeof ensemble);
  one_line(o->label ? o->label : "", label, sizeof label);
  KAON_TRY(kaon_atomic_printf(
      out->file, "BEGIN_HEADER\nHDR_VERSION = 1.0\nDATATYPE = %s\nSTORAGE_FORMAT = 1.0\n",
      o->rows == 2 ? "4D_SU3_GAUGE" : "4D_SU3_GAUGE_3x3"));
  for (int d = 0; d < 4; d++) {
    KAON_TRY(kaon_atomic_printf(out->file, "DIMENSION_%d = %d\n", d + 1, c->extents[d]));
  }
  kaon_decimal_printf(means, sizeof means, "LINK_TRACE = %.12f\nPLAQUETTE = %.12f\n", c->link_trace,
                      c->plaquette);
  KAON_TRY(kaon_atomic_printf(out->file, "%s", means));
  for (int d = 0; d < 4; d++)
    KAON_TRY(kaon_atomic_printf(out->file, "BOUNDARY_%d = PERIODIC\n", d + 1));
  KAON_TRY(kaon_atomic_printf(out->file, "CHECKSUM = "));
  *checksum_at = kaon_atomic_position(out->file);
  KAON_TRY(kaon_atomic_printf(out->file, "00000000\nENSEMBLE_ID = %s\nENSEMBLE_LABEL = %s\n",
                              ensemble, label));
  KAON_TRY(kaon_atomic_printf(out->file,
                              "SEQUENCE_NUMBER = %d\nCREATOR = kaon\nCREATOR_HARDWARE = unknown\n"
                              "CREATION_DATE = %s\nARCHIVE_DATE = %s\n",
                              o->sequence, o->date, o->date));
  return kaon_atomic_printf(out->file, "FLOATING_POINT = IEEE%d%s\nEND_HEADER\n", o->precision,
                            big ? "BIG" : "LITTLE");
}

static kaon_status write_file(kaon_gauge_output *out) {
  int big = out->options.byte_order == KAON_BYTES_BIG;
  int64_t checksum_at;
  uint32_t sum = 0;
  KAON_TRY(write_header(out, big, &checksum_at));
  for (int64_t site = 0; site < out->volume; site++) {
    unsigned char words[4 * 18 * 8];
    size_t n;
    KAON_TRY(kaon_gauge_get_site_links(out, site, big, words, &n));
    kaon_nersc_checksum(&sum, words, n / 4, big);
    KAON_TRY(kaon_atomic_write(out->file, words, n));
  }
  char digits[9];
  snprintf(digits, sizeof digits, "%08x", sum);
  return kaon_atomic_patch(out->file, checksum_at, digits, 8);
}

const kaon_gauge_format kaon_gauge_nersc = {.format = KAON_FORMAT_NERSC,
                                            .matches = matches,
                                            .probe = probe,
                                            .read = read_links,
                                            .write = write_file};
