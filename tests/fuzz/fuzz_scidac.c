/* fuzz_scidac.c - libFuzzer harness: SciDAC fields of any type, and XML alone.
 */
#include "fuzz_common.h"
#include "lib/io/scidac.h"

typedef struct fuzz_sites {
  int reals;
  int64_t next;
} fuzz_sites;

static void put_site(void *sink, int64_t site, const double *values) {
  fuzz_sites *s = sink;
  require(site == s->next);
  s->next++;
  (void)values;
}

static kaon_status next_begins(void *sink, int number) {
  fuzz_sites *s = sink;
  require(number >= 0 && s->next > 0);
  s->next = 0;
  return KAON_OK;
}

static void fuzz_xml(const uint8_t *data, size_t size) {
  char text[64];
  int64_t numbers[4];
  uint32_t hex;
  double value, digit;
  kaon_xml xml;
  fuzz_check_sentence(kaon_xml_parse(NULL, FUZZ_NAME, (const char *)data, size, &xml));
  require(xml.length <= KAON_XML_MAX);
  require(kaon_xml_integers(&xml, "dims", numbers, 4) <= 4);
  kaon_xml_hex32(&xml, "suma", &hex);
  kaon_xml_decimal(&xml, "plaq", &value, &digit);
  kaon_xml_string(&xml, "datatype", text, sizeof text);
  require(strlen(text) < sizeof text);
  kaon_xml_string(&xml, NULL, text, sizeof text);
  kaon_xml_free(&xml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int reals[] = {2, 6, 24, 72};
  fuzz_xml(data, size);
  for (int i = 0; i < 4; i++) {
    kaon_bytes bytes;
    kaon_scidac_field field;
    fuzz_sites sites = {reals[i], 0};
    kaon_bytes_from_memory(FUZZ_NAME, data, size, &bytes);
    fuzz_check_sentence(
        kaon_scidac_field_bytes_read(NULL, &bytes, reals[i], i % 2, &field, put_site, &sites));
    kaon_scidac_fields fields;
    sites.next = 0;
    fuzz_check_sentence(kaon_scidac_fields_bytes_read(NULL, &bytes, reals[i], i % 2, &fields,
                                                      put_site, next_begins, &sites));
    require(strlen(fields.title) < sizeof fields.title);
  }
  return 0;
}
