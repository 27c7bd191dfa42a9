/* scidac_write.c - writes SciDAC and ILDG fields in QIO's layout. Contract: scidac.h.
 * File version 1.1, record version 1.1, checksum version 1.0, ILDG format 1.0. Texts end in NUL, as
 * QIO's do. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/io/checksum.h"
#include "lib/io/scidac.h"

#define PROLOGUE "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"

kaon_status kaon_scidac_write_file(kaon_atomic_file *file, const int e[4], const char *file_xml) {
  char xml[320];
  snprintf(xml, sizeof xml,
           PROLOGUE
           "<scidacFile><version>1.1</version><spacetime>4</spacetime><dims>%d %d %d %d </dims>"
           "<volfmt>0</volfmt></scidacFile>",
           e[0], e[1], e[2], e[3]);
  KAON_TRY(kaon_lime_text(file, "scidac-private-file-xml", KAON_LIME_BEGIN, xml));
  return kaon_lime_text(file, "scidac-file-xml", KAON_LIME_END, file_xml);
}

static kaon_status write_private(const kaon_scidac_output *out, const kaon_scidac_type *type) {
  char xml[512], colors[40] = "", spins[40] = "";
  if (type->colors) snprintf(colors, sizeof colors, "<colors>%d</colors>", type->colors);
  if (type->spins) snprintf(spins, sizeof spins, "<spins>%d</spins>", type->spins);
  snprintf(xml, sizeof xml,
           PROLOGUE
           "<scidacRecord><version>1.1</version><date>%.63s</date><recordtype>0</recordtype>"
           "<datatype>%.60s</datatype><precision>%c</precision>%s%s<typesize>%d</typesize>"
           "<datacount>%d</datacount></scidacRecord>",
           out->date, type->datatype, type->precision == 64 ? 'D' : 'F', colors, spins,
           type->reals * type->precision / 8, type->datacount);
  return kaon_lime_text(out->file, "scidac-private-record-xml", KAON_LIME_BEGIN, xml);
}

static kaon_status write_ildg(const kaon_scidac_output *out, int precision, const char *lfn) {
  char xml[512];
  const int *e = out->extents;
  snprintf(xml, sizeof xml,
           PROLOGUE
           "<ildgFormat xmlns=\"http://www.lqcd.org/ildg\" "
           "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
           "xsi:schemaLocation=\"http://www.lqcd.org/ildg/filefmt.xsd\"><version>1.0</version>"
           "<field>su3gauge</field><precision>%d</precision><lx>%d</lx><ly>%d</ly><lz>%d</lz>"
           "<lt>%d</lt></ildgFormat>",
           precision, e[0], e[1], e[2], e[3]);
  KAON_TRY(kaon_lime_text(out->file, "ildg-format", 0, xml));
  return lfn ? kaon_lime_text(out->file, "ildg-data-lfn", 0, lfn) : KAON_OK;
}

static kaon_status check_values(const kaon_scidac_output *out, const double *values, int n,
                                int64_t site, double largest) {
  for (int i = 0; i < n; i++) {
    if (!(fabs(values[i]) <= largest)) {
      return kaon_fail(
          out->ctx, KAON_ERR_NOT_FINITE,
          "%s: site %lld holds NaN, infinity or a number too large for the file's precision; "
          "nothing was written",
          kaon_atomic_name(out->file), (long long)site);
    }
  }
  return KAON_OK;
}

static kaon_status write_sites(const kaon_scidac_output *out, const kaon_scidac_type *type,
                               int64_t volume, kaon_site_get *get, void *source, uint32_t sums[2]) {
  int reals = type->reals * type->datacount;
  double largest = type->precision == 32 ? FLT_MAX : DBL_MAX;
  size_t bytes = (size_t)reals * (size_t)type->precision / 8;
  KAON_AUTOFREE double *values = malloc((size_t)reals * sizeof *values);
  KAON_AUTOFREE unsigned char *words = malloc(bytes);
  kaon_status status = KAON_CHECK_MEMORY(out->ctx, values != NULL && words != NULL,
                                         "%s: out of memory", kaon_atomic_name(out->file));
  for (int64_t site = 0; status == KAON_OK && site < volume; site++) {
    get(source, site, values);
    status = check_values(out, values, reals, site, largest);
    if (status != KAON_OK) break;
    kaon_doubles_to_words(values, (size_t)reals, type->precision, 1, words);
    kaon_scidac_checksum(sums, site, words, bytes);
    status = kaon_atomic_write(out->file, words, bytes);
  }
  return status;
}

kaon_status kaon_scidac_write_field(const kaon_scidac_output *out, const kaon_scidac_type *type,
                                    const char *record_xml, int ildg, const char *lfn,
                                    kaon_site_get *get, void *source) {
  int64_t volume = 1;
  for (int d = 0; d < 4; d++) volume *= out->extents[d];
  int64_t length = volume * type->reals * type->datacount * (type->precision / 8);
  uint32_t sums[2] = {0, 0};
  KAON_TRY(write_private(out, type));
  KAON_TRY(kaon_lime_text(out->file, "scidac-record-xml", 0, record_xml));
  if (ildg) KAON_TRY(write_ildg(out, type->precision, lfn));
  KAON_TRY(kaon_lime_begin(out->file, ildg ? "ildg-binary-data" : "scidac-binary-data", 0, length));
  KAON_TRY(write_sites(out, type, volume, get, source, sums));
  KAON_TRY(kaon_lime_pad(out->file, length));
  char xml[200];
  snprintf(xml, sizeof xml,
           PROLOGUE
           "<scidacChecksum><version>1.0</version><suma>%x</suma><sumb>%x</sumb></scidacChecksum>",
           sums[0], sums[1]);
  return kaon_lime_text(out->file, "scidac-checksum", KAON_LIME_END, xml);
}
