/* gauge_lime.c - gauge fields in LIME: ILDG, SciDAC (QIO), and files with only ildg-binary-data.
 * Reads the first record that is a field of four 3x3 matrices a site. Plaquette and link trace come
 * from a usqcdInfo record XML, where their meaning is defined. Format: scidac.h. */
#include <string.h>

#include "lib/io/checksum.h"
#include "lib/io/decimal.h"
#include "lib/io/formats/content.h"
#include "lib/io/formats/gauge_job.h"
#include "lib/io/scidac.h"

enum { REALS = 4 * 18 };

static int matches(const unsigned char *head, size_t n, int64_t file_size) {
  (void)file_size;
  return n >= 4 && kaon_u32_at(head, 1) == KAON_LIME_MAGIC;
}

static int is_gauge(const kaon_scidac_record *record) {
  if (record->recordtype != 0) return 0;
  if (record->ildg) return 1;
  return record->datacount == 4 && (record->typesize == 72 || record->typesize == 144);
}

/* Finds the gauge field's record. */
static kaon_status find_links(kaon_gauge_job *job, kaon_scidac_scan *scan,
                              kaon_scidac_record *record) {
  int found;
  char text[KAON_CONTENT];
  kaon_scidac_open(job->ctx, job->bytes, scan);
  for (;;) {
    KAON_TRY(kaon_scidac_next(scan, record, &found));
    if (!found) break;
    if (is_gauge(record)) return KAON_OK;
  }
  return kaon_fail(
      job->ctx, KAON_ERR_FORMAT,
      "%s: it is %s; but a gauge configuration belongs here. Give one, or copy the file "
      "again if it is truncated",
      job->bytes->name, kaon_content_name(job->ctx, job->bytes, text));
}

/* Reads values from <usqcdInfo>. Other user XML has no defined meaning and is not used. */
static kaon_status parse_figures(kaon_gauge_job *job, kaon_scidac_scan *scan,
                                 const kaon_scidac_record *record) {
  double number, digit;
  KAON_AUTO(kaon_xml_free) kaon_xml xml = {0};
  const kaon_status status = kaon_scidac_record_xml(scan, record, &xml);
  if (strcmp(kaon_xml_root(&xml), "usqcdInfo") == 0) {
    if (kaon_xml_decimal(&xml, "plaq", &number, &digit) == 1)
      kaon_gauge_set_plaquette(job, number, digit);
    if (kaon_xml_decimal(&xml, "linktr", &number, &digit) == 1)
      kaon_gauge_set_link_trace(job, number, digit);
  }
  return status;
}

static kaon_status probe_fields(kaon_gauge_job *job, kaon_scidac_scan *scan) {
  kaon_gauge_file_info *info = job->info;
  kaon_scidac_record record;
  kaon_site_layout layout;
  const int64_t *extents;
  KAON_TRY(find_links(job, scan, &record));
  info->format = record.ildg ? KAON_FORMAT_ILDG : KAON_FORMAT_SCIDAC;
  info->rows = 3;
  info->big_endian = 1;
  info->precision = record.precision;
  info->checksums = record.has_checksum ? 2 : 0;
  memcpy(info->checksum_stored, record.checksum, sizeof info->checksum_stored);
  KAON_TRY(kaon_scidac_extents(scan, &record, REALS, job->options.extents, &extents));
  KAON_TRY(kaon_gauge_set_extents(job, extents));
  if (info->extents[0] == 0) return KAON_OK; /* a probe of a file without extents */
  KAON_TRY(kaon_scidac_layout(scan, &record, kaon_gauge_volume(job), REALS, &layout));
  KAON_TRY(kaon_gauge_match_extents(job));
  info->precision = layout.bits;
  job->data = layout.offset;
  return parse_figures(job, scan, &record);
}

static kaon_status probe(kaon_gauge_job *job) {
  kaon_scidac_scan scan;
  const kaon_status status = probe_fields(job, &scan);
  for (int i = 0; i < scan.warnings.count; i++) kaon_gauge_warn(job->info, scan.warnings.text[i]);
  return status;
}

static kaon_status take_site(void *user, int64_t site, const unsigned char *raw,
                             const double *values) {
  kaon_gauge_job *job = user;
  kaon_scidac_checksum(job->info->checksum_computed, site, raw,
                       REALS * (size_t)job->info->precision / 8);
  for (int mu = 0; mu < 4; mu++) kaon_gauge_deliver(job, site, mu, values + 18 * mu);
  return KAON_OK;
}

static kaon_status read_links(kaon_gauge_job *job) {
  kaon_site_layout layout = {job->data, kaon_gauge_volume(job), REALS, job->info->precision, 1};
  KAON_TRY(kaon_sites_read(job->ctx, job->bytes, &layout, take_site, job));
  return kaon_gauge_final_checks(job);
}

static void get_site(void *source, int64_t site, double *values) {
  kaon_gauge_output *out = source;
  for (int mu = 0; mu < 4; mu++) out->get(out->source, site, mu, values + 18 * mu);
}

static kaon_status write_lime(kaon_gauge_output *out) {
  const kaon_gauge_write_options *o = &out->options;
  const kaon_scidac_type type = {
      o->precision == 64 ? "USQCD_D3_ColorMatrix" : "USQCD_F3_ColorMatrix",
      o->precision,
      3,
      0,
      18,
      4};
  const kaon_scidac_output lime = {out->ctx, out->file, out->content->extents, o->date};
  char label[4096], xml[4600];
  if (kaon_xml_escape(o->label ? o->label : "", label, sizeof label) >= sizeof label) {
    return kaon_fail(out->ctx, KAON_ERR_ARGUMENT,
                     "%s: the label is longer than %zu characters; shorten it",
                     kaon_atomic_name(out->file), sizeof label - 1);
  }
  KAON_TRY(kaon_scidac_write_file(
      out->file, out->content->extents,
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><title>kaon gauge configuration</title>"));
  kaon_decimal_printf(xml, sizeof xml,
                      "<?xml version=\"1.0\" "
                      "encoding=\"UTF-8\"?><usqcdInfo><version>1.0</version><plaq>%.12e</plaq>"
                      "<linktr>%.12e</linktr><info>%s</info></usqcdInfo>",
                      out->content->plaquette, out->content->link_trace, label);
  return kaon_scidac_write_field(&lime, &type, xml, o->format == KAON_FORMAT_ILDG, o->lfn, get_site,
                                 out);
}

const kaon_gauge_format kaon_gauge_ildg = {.format = KAON_FORMAT_ILDG,
                                           .matches = matches,
                                           .probe = probe,
                                           .read = read_links,
                                           .write = write_lime};
const kaon_gauge_format kaon_gauge_scidac = {.format = KAON_FORMAT_SCIDAC,
                                             .matches = NULL, /* found by ILDG's probe */
                                             .probe = probe,
                                             .read = read_links,
                                             .write = write_lime};
