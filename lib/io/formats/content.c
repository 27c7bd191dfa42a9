/* content.c - Contract: content.h. */
#include "lib/io/formats/content.h"

#include <stdio.h>
#include <string.h>

#include "lib/io/formats/gauge_job.h"
#include "lib/io/scidac.h"

enum { HEAD = 64 };

static const char gauge[] = "a gauge configuration (%s), which --gauge takes";
static const char links[] = "fat or long links, which --fat-links and --long-links take";

/* The kinds of SciDAC records, by their datatype and number of items a site. */
static const struct {
  const char *datatype;
  int64_t count; /* 0: any */
  const char *what;
} kinds[] = {{"ColorMatrix", 4,
              "four 3x3 matrices a site: a gauge configuration (--gauge), or fat or "
              "long links (--fat-links, --long-links)"},
             {"ColorMatrix", 0, "a field of 3x3 matrices, but not of four a site"},
             {"ColorVector", 0, "staggered vectors, which --guess takes"},
             {"DiracFermion", 0, "a field of spinors, without the headers of a propagator file"},
             {"DiracPropagator", 0, "a propagator in one record, which kaon does not read"},
             {"Complex", 0, "a field of complex numbers"},
             {"Real", 0, "a field of real numbers"}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* 1 if the file's text has this outermost element. */
static int announces(const kaon_scidac_scan *scan, const char *root) {
  KAON_AUTO(kaon_xml_free) kaon_xml xml = {0};
  kaon_scidac_user_xml(scan, "scidac-file-xml", scan->file_xml, scan->file_xml_length, &xml);
  return strcmp(kaon_xml_root(&xml), root) == 0;
}

/* 1 if the record has MILC's title of fat or long links. */
static int is_titled_links(const kaon_scidac_scan *scan, const kaon_scidac_record *record) {
  char title[32] = "";
  const int64_t most = sizeof title - 1, n = record->xml_length;
  kaon_bytes_read(scan->ctx, scan->bytes, record->xml, (size_t)(n < most ? n : most), title);
  return strstr(title, "Fat link") || strstr(title, "Long link");
}

static void name_record(const kaon_scidac_scan *scan, const kaon_scidac_record *record,
                        char text[KAON_CONTENT]) {
  char shown[64];
  snprintf(text, KAON_CONTENT, "a SciDAC field of type '%s'",
           kaon_printable(record->datatype, strlen(record->datatype), shown, sizeof shown));
  for (int i = KINDS - 1; i >= 0; i--) {
    const int counts = kinds[i].count == 0 || kinds[i].count == record->datacount;
    if (counts && strstr(record->datatype, kinds[i].datatype))
      snprintf(text, KAON_CONTENT, "%s", kinds[i].what);
  }
  if (is_titled_links(scan, record)) snprintf(text, KAON_CONTENT, "%s", links);
  if (record->ildg) snprintf(text, KAON_CONTENT, gauge, "ILDG");
  if (announces(scan, "kaonMultigrid"))
    snprintf(text, KAON_CONTENT, "vectors of multigrid, which --load-vectors takes");
  if (announces(scan, "usqcdPropFile"))
    snprintf(text, KAON_CONTENT, "a propagator of a Wilson-like action, which --guess takes");
}

static void name_lime(const kaon_context *ctx, const kaon_bytes *bytes, char text[KAON_CONTENT]) {
  kaon_scidac_scan scan;
  kaon_scidac_record record;
  int found = 0;
  kaon_scidac_open(ctx, bytes, &scan);
  if (kaon_scidac_next(&scan, &record, &found) == KAON_OK && found)
    name_record(&scan, &record, text);
  else
    snprintf(text, KAON_CONTENT, "a LIME file without a whole field");
}

/* The first characters up to the end of the line, else bytes in hexadecimal. */
static void name_beginning(const unsigned char *head, size_t n, char text[KAON_CONTENT]) {
  size_t line = 0;
  if (n > 16) n = 16;
  while (line < n && (head[line] == '\t' || (head[line] >= 0x20 && head[line] < 0x7f))) line++;
  if (line == n || (line > 0 && (head[line] == '\n' || head[line] == '\r'))) {
    char shown[24];
    snprintf(text, KAON_CONTENT, "a file that begins with '%s'",
             kaon_printable((const char *)head, line, shown, sizeof shown));
    return;
  }
  int used = snprintf(text, KAON_CONTENT, "a file that begins with the bytes");
  for (size_t i = 0; i < n; i++)
    used += snprintf(text + used, (size_t)(KAON_CONTENT - used), " %02x", head[i]);
}

static void name(const kaon_context *ctx, const kaon_bytes *bytes, char text[KAON_CONTENT]) {
  static const struct {
    size_t length;
    const char *bytes, *what;
  } others[] = {
      {14, "%%MatrixMarket", "a Matrix Market file, which kaon solve takes"},
      {2, "\x1f\x8b", "a gzip file; inflate it by gunzip"},
      {6, "\x89HDF\r\n", "an HDF5 file, which kaon does not read"},
      {4, "\x00\x00\x31\xed", "a propagator of MILC's own format, which kaon does not read"},
      {4, "\xed\x31\x00\x00", "a propagator of MILC's own format, which kaon does not read"},
      {2, "\xff\xfe", "text in UTF-16 (convert it: iconv -f UTF-16 -t UTF-8 FILE >NEW)"},
      {2, "\xfe\xff", "text in UTF-16 (convert it: iconv -f UTF-16 -t UTF-8 FILE >NEW)"},
      {4, "%\0%\0", "text in UTF-16 (convert it: iconv -f UTF-16LE -t UTF-8 FILE >NEW)"},
      {4, "\0%\0%", "text in UTF-16 (convert it: iconv -f UTF-16BE -t UTF-8 FILE >NEW)"}};
  static const kaon_gauge_format *const formats[] = {&kaon_gauge_nersc, &kaon_gauge_milc,
                                                     &kaon_gauge_openqcd};
  unsigned char head[HEAD] = {0};
  const size_t n = bytes->size < HEAD ? (size_t)bytes->size : HEAD;
  snprintf(text, KAON_CONTENT, "an empty file");
  if (n == 0 || kaon_bytes_read(ctx, bytes, 0, n, head) != KAON_OK) return;
  name_beginning(head, n, text);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (memcmp(head, others[i].bytes, others[i].length) == 0)
      snprintf(text, KAON_CONTENT, "%s", others[i].what);
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
    if (formats[i]->matches(head, n, bytes->size))
      snprintf(text, KAON_CONTENT, gauge, kaon_file_format_name(formats[i]->format));
  if (kaon_u32_at(head, 1) == KAON_LIME_MAGIC) name_lime(ctx, bytes, text);
}

const char *kaon_content_name(const kaon_context *ctx, const kaon_bytes *bytes,
                              char text[KAON_CONTENT]) {
  name(ctx, bytes, text);
  kaon_error_clear();
  return text;
}
