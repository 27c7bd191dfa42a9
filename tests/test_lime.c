/* test_lime.c - LIME files written by hand: XML in every form that the standard allows, faults of
 * bookkeeping around data that are all there, and headers that contradict each other. */
#include "test_io_common.h"

#include "lib/io/checksum.h"
#include "lib/io/formats/gauge_job.h"
#include "lib/io/lime.h"
#include "lib/io/xml.h"

#define NAME "hand-made"
static const int extents[4] = {2, 4, 2, 6}; /* in every other order the checks below would fail */
enum { VOLUME = 96, DATA = VOLUME * 72 * 8, ROOM = DATA + 8192 };

typedef struct file {
  unsigned char bytes[ROOM];
  size_t size;
} file;

/* Appends a record whose header says `length` bytes. */
static void add_as(file *f, const char *type, int flags, uint64_t length, const void *data,
                   size_t size) {
  unsigned char *h = f->bytes + f->size;
  assert_true(f->size + KAON_LIME_HEADER + size + 8 <= ROOM);
  memset(h, 0, KAON_LIME_HEADER + size + 8);
  kaon_u32_put(h, KAON_LIME_MAGIC, 1);
  h[5] = 1;
  h[6] = (unsigned char)(flags >> 8);
  kaon_u64_put(h + 8, length, 1);
  memcpy(h + 16, type, strlen(type));
  memcpy(h + KAON_LIME_HEADER, data, size);
  f->size += KAON_LIME_HEADER + (size + 7) / 8 * 8;
}
static void add(file *f, const char *type, int flags, const char *text) {
  add_as(f, type, flags, strlen(text), text, strlen(text));
}

#define FORMAT_OF(x, y, z, t)                                                                 \
  "<ildgFormat><version>1.0</version><field>su3gauge</field><precision>64</precision><lx>" #x \
  "</lx><ly>" #y "</ly><lz>" #z "</lz><lt>" #t "</lt></ildgFormat>"
#define PLAIN FORMAT_OF(2, 4, 2, 6)
#define DIMS(dims) "<scidacFile><dims>" dims "</dims><volfmt>0</volfmt></scidacFile>"
enum { BEGIN = KAON_LIME_BEGIN, END = KAON_LIME_END, BOTH = BEGIN | END };

/* Unit links, and their checksum. */
static unsigned char links[DATA];
static char checksum[200];
static void make_links(void) {
  uint32_t sum[2] = {0, 0};
  double unit[18] = {0};
  unit[0] = unit[8] = unit[16] = 1;
  for (int i = 0; i < 4 * VOLUME; i++) kaon_doubles_to_words(unit, 18, 64, 1, links + 144 * i);
  for (int i = 0; i < VOLUME; i++) kaon_scidac_checksum(sum, i, links + 576 * i, 576);
  snprintf(checksum, sizeof checksum,
           "<scidacChecksum><suma>%x</suma><sumb>%x</sumb></scidacChecksum>", sum[0], sum[1]);
}

static void put_unit(void *sink, int64_t site, int mu, const double u[18]) {
  (void)mu;
  assert_in_range(site, 0, VOLUME - 1);
  assert_true(u[0] == 1 && u[1] == 0);
  ++*(int *)sink;
}

static kaon_status read_as(const file *f, const int given[4], kaon_gauge_file_info *info) {
  kaon_gauge_read_options options = KAON_GAUGE_READ_OPTIONS_INIT;
  kaon_bytes bytes;
  int count = 0;
  *info = (kaon_gauge_file_info)KAON_GAUGE_FILE_INFO_INIT;
  if (given) memcpy(options.extents, given, sizeof options.extents);
  kaon_bytes_from_memory(NAME, f->bytes, f->size, &bytes);
  const kaon_status status = kaon_gauge_bytes_read(NULL, &bytes, &options, info, put_unit, &count);
  if (status != KAON_OK)
    assert_non_null(strstr(kaon_last_error(NULL), NAME));
  else
    assert_int_equal(count, 4 * VOLUME);
  for (int i = 0; i < info->warnings; i++) assert_non_null(strstr(info->warning[i], NAME));
  return status;
}

/* Reads a file of these extents with `warnings` warnings; the first one contains `words`. */
static void reads(const file *f, int warnings, const char *words) {
  kaon_gauge_file_info info;
  if (read_as(f, NULL, &info) != KAON_OK) fail_msg("%s", kaon_last_error(NULL));
  assert_memory_equal(info.extents, extents, sizeof extents);
  assert_int_equal(info.warnings, warnings);
  if (warnings) print_message("%s\n", info.warning[0]);
  if (warnings && !strstr(info.warning[0], words)) fail_msg("no '%s' in it", words);
}
static void refuses(const file *f, kaon_status wanted, const char *words) {
  kaon_gauge_file_info info;
  const kaon_status status = read_as(f, NULL, &info);
  print_message("%s\n", kaon_last_error(NULL));
  assert_int_equal(status, wanted);
  if (!strstr(kaon_last_error(NULL), words)) fail_msg("no '%s' in it", words);
}

/* ---- XML ---- */

/* An ILDG file with this ildg-format record, of which `size` bytes are taken. */
static void of_format(file *f, const char *text, size_t size) {
  f->size = 0;
  add_as(f, "ildg-format", BEGIN, size, text, size);
  add_as(f, "ildg-binary-data", 0, DATA, links, DATA);
  add(f, "scidac-checksum", END, checksum);
}

/* The same in UTF-16, with a byte-order mark. */
static size_t utf16(const char *text, int big, char *to) {
  size_t n = 0;
  const char *p = big ? "\xfe\xff" : "\xff\xfe";
  to[n++] = p[0], to[n++] = p[1];
  for (p = text; *p; p++) {
    to[n++] = big ? 0 : *p;
    to[n++] = big ? *p : 0;
  }
  return n;
}

static void every_form_of_xml_is_read(void **state) {
  static const char *const texts[] = {
      PLAIN,
      "\n\n<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" PLAIN,
      "\xef\xbb\xbf<?xml version='1.0'?>" PLAIN,
      "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><!-- R\xfc\x63k --><?note lx=8?>" PLAIN,
      "<ildgFormat><!-- <lx>6</lx><lt>2</lt> --><precision>64</precision><lx>2</lx><ly>4</ly>"
      "<lz>2</lz><lt>6</lt></ildgFormat><!-- <lt>8</lt> -->",
      "<ildgFormat><note><![CDATA[<lx>6</lx>]]></note><precision><![CDATA[64]]></precision>"
      "<lx> 2 </lx><ly>4<!-- 6 --></ly><lz>&#50;</lz><lt>\n6\n</lt></ildgFormat>",
      "<i:ildgFormat xmlns:i='urn:ildg' xmlns:o='urn:other'><o:lx>6</o:lx><i:precision>64"
      "</i:precision><i:lx unit='a &lt;lx&gt;'>2</i:lx><i:ly>4</i:ly><i:lz>2</i:lz><i:lt>6</i:lt>"
      "</i:ildgFormat>",
      "<ildgFormat xmlns='urn:ildg'><lx xmlns='urn:other'>6</lx><precision>64</precision>"
      "<lx>2</lx><ly>4</ly><lz>2</lz><lt>6</lt></ildgFormat>",
      "<ildgFormat><old><lx>6</lx></old><precision>64</precision><lx>2</lx><ly>4</ly><lz>2</lz>"
      "<lt>6</lt></ildgFormat>",
      "<!DOCTYPE ildgFormat [<!ENTITY four '4'>]><ildgFormat><precision>6&four;</precision>"
      "<lx>2</lx><ly>&four;</ly><lz>2</lz><lt>6</lt></ildgFormat>"};
  static file f;
  char wide[2 * sizeof PLAIN + 8];
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    for (size_t nul = 0; nul < 2; nul++) { /* some writers count the NUL */
      of_format(&f, texts[i], strlen(texts[i]) + nul);
      reads(&f, 0, "");
    }
  for (int big = 0; big < 2; big++)
    for (size_t nul = 0; nul < 3; nul++) {
      memset(wide, 0, sizeof wide);
      const size_t n = utf16(PLAIN, big, wide);
      of_format(&f, wide, n + nul);
      reads(&f, 0, "");
    }
}

static void malformed_xml_is_named_by_record_and_line(void **state) {
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"<ildgFormat>\n<lx>2</lx>\n<ly>4</lx></ildgFormat>", "line 3, column 8: mismatched tag"},
      {"\n\n<ildgFormat><lx>2</lx>", "line 3, column 23: no element found"},
      {"<ildgFormat><lx>2 < 3</lx></ildgFormat>", "line 1"},
      {"<ildgFormat>\n&nothing;</ildgFormat>", "line 2, column 1: undefined entity"},
      {"<i:ildgFormat><i:lx>2</i:lx></i:ildgFormat>", "unbound prefix"},
      {"<?xml version='1.0' encoding='UTF-8'?>\n<ildgFormat>R\xfc\x63k</ildgFormat>", "line 2"},
      {"<?xml version='1.0' encoding='koi8-r'?><ildgFormat/>", "unknown encoding"},
      {PLAIN PLAIN, "junk after document element"},
      {"extents 2 4 2 6", "line 1"},
      {"", "no element found"},
      {"<ildgFormat/>", "no valid <lx> <ly> <lz> <lt>"},
      {"<ildgFormat><precision>64</precision><lx>2</lx><lx>4</lx><ly>4</ly><lz>2</lz><lt>6</lt>"
       "</ildgFormat>",
       "no valid <lx>"}};
  static file f;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    of_format(&f, cases[i].text, strlen(cases[i].text));
    refuses(&f, KAON_ERR_FORMAT, cases[i].words);
    assert_non_null(strstr(kaon_last_error(NULL), "the ildg-format record at offset 144"));
  }
}

/* Nothing outside the file is read, and a short text cannot grow without limit. */
static void hostile_entities_are_refused(void **state) {
  static const char *const texts[] = {
      "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/hostname'>]><a><lx>&e;</lx></a>",
      "<!DOCTYPE a SYSTEM 'http://localhost/a.dtd'><a><lx>&e;</lx></a>",
      "<!DOCTYPE a [<!ENTITY % p SYSTEM 'file:///etc/hostname'>%p;]><a><lx>&e;</lx></a>",
      "<!DOCTYPE a [<!ENTITY e '&e;'>]><a><lx>&e;</lx></a>"};
  static file f;
  char bomb[2048] = "<!DOCTYPE a [<!ENTITY e0 'ha ha ha ha '>";
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    of_format(&f, texts[i], strlen(texts[i]));
    refuses(&f, KAON_ERR_FORMAT, "line 1");
  }
  for (int i = 1; i < 12; i++) {
    char *at = bomb + strlen(bomb);
    at += sprintf(at, "<!ENTITY e%d '", i);
    for (int k = 0; k < 10; k++) at += sprintf(at, "&e%d;", i - 1);
    strcpy(at, "'>");
  }
  strcat(bomb, "]><a><lx>&e11;</lx></a>");
  of_format(&f, bomb, strlen(bomb));
  refuses(&f, KAON_ERR_FORMAT, "limit on input amplification");
}

/* Texts that kaon writes can be read, whatever their bytes are. */
static void escaped_text_comes_back(void **state) {
  static const char text[] =
      "a<b & \"c\" 'd' \xc3\xa9 \xff\xc3(\x01\xed\xa0\x80\xef\xbf\xbf]]> end";
  static const char want[] = "a<b & \"c\" 'd' \xc3\xa9   (       ]]> end";
  char xml[400] = "<a><b>", back[200];
  kaon_xml parsed;
  (void)state;
  kaon_xml_escape(text, xml + 6, sizeof xml - 20);
  strcat(xml, "</b></a>");
  assert_ok(kaon_xml_parse(NULL, NAME, xml, strlen(xml), &parsed));
  assert_string_equal(kaon_xml_root(&parsed), "a");
  kaon_xml_string(&parsed, "b", back, sizeof back);
  print_message("'%s'\n", back);
  assert_int_equal(strlen(back), sizeof want - 1);
  assert_memory_equal(back, want, 18);
  assert_non_null(strstr(back, "]]> end"));
  kaon_xml_string(&parsed, "b", back, 17); /* not half a character */
  assert_string_equal(back, "a<b & \"c\" 'd' \xc3\xa9");
  kaon_xml_string(&parsed, "b", back, 16);
  assert_string_equal(back, "a<b & \"c\" 'd' ");
  kaon_xml_free(&parsed);
}

/* ---- bookkeeping ---- */

static void whole_data_are_read_whatever_the_records_say(void **state) {
  static const int flags[][3] = {{0, 0, 0}, {BEGIN, 0, 0}, {END, END, BEGIN}, {BOTH, BOTH, BOTH}};
  static file f;
  (void)state;
  for (size_t i = 0; i < 4; i++) { /* marks of messages, with and without a checksum */
    f.size = 0;
    add(&f, "ildg-format", flags[i][0], PLAIN);
    add_as(&f, "ildg-binary-data", flags[i][1], DATA, links, DATA);
    reads(&f, !(flags[i][1] & END), "ends inside a LIME message");
    add(&f, "scidac-checksum", flags[i][2], checksum);
    reads(&f, 0, "");
  }
  static const uint64_t lengths[] = {0, 8, DATA - 8, DATA + 8, 1ull << 33, UINT64_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) { /* of the data, of what follows */
    f.size = 0;
    add(&f, "ildg-format", BEGIN, PLAIN);
    add_as(&f, "ildg-binary-data", 0, lengths[i], links, DATA);
    reads(&f, 2, "are there and are read");
    add(&f, "scidac-checksum", END, checksum);
    reads(&f, 1, "are there and are read");
    f.size = 0;
    add(&f, "ildg-format", BEGIN, PLAIN);
    add_as(&f, "ildg-binary-data", 0, DATA, links, DATA);
    add_as(&f, "ildg-data-lfn", 0, lengths[i] == 0 ? 1 : lengths[i], "lfn://none-of-your-business",
           28);
    reads(&f, 1, "after the data");
  }
  const size_t data_end = 2 * KAON_LIME_HEADER + (sizeof PLAIN + 6) / 8 * 8 + DATA;
  of_format(&f, PLAIN, strlen(PLAIN));
  const size_t all = f.size;
  for (f.size = all - 8; f.size > data_end; f.size -= 7) reads(&f, 1, "after the data");
  for (f.size = data_end - 1; f.size > 0; f.size -= f.size > 2000 ? 401 : 1)
    refuses(&f, KAON_ERR_FORMAT, f.size < 4 ? "" : "truncated");
  f.size = all + 200; /* zeros */
  assert_true(f.size < ROOM);
  memset(f.bytes + all, 0, 200);
  reads(&f, 1, "after the data");
}

static void a_checksum_that_cannot_be_read_is_a_warning(void **state) {
  static file f;
  (void)state;
  for (int i = 0; i < 2; i++) {
    f.size = 0;
    add(&f, "ildg-format", BEGIN, PLAIN);
    add_as(&f, "ildg-binary-data", 0, DATA, links, DATA);
    add(&f, "scidac-checksum", END,
        i ? "<scidacChecksum><suma>1\n</scidacChecksum>"
          : "<scidacChecksum><suma>x</suma></scidacChecksum>");
    kaon_error_clear();
    reads(&f, 1, i ? "line 2" : "no valid <suma>");
    assert_string_equal(kaon_last_error(NULL), "");
  }
}

/* A second field is missing data, whatever else is in order. */
static void a_damaged_record_before_more_data_is_refused(void **state) {
  static file f;
  (void)state;
  f.size = 0;
  add(&f, "ildg-format", BEGIN, FORMAT_OF(2, 2, 2, 2));
  add_as(&f, "ildg-binary-data", 0, 16 * 576, links, 16 * 576);
  add_as(&f, "scidac-checksum", END, 1ull << 40, checksum, strlen(checksum));
  add(&f, "ildg-format", BEGIN, FORMAT_OF(2, 2, 2, 2));
  add_as(&f, "ildg-binary-data", 0, 16 * 576, links, 16 * 576);
  refuses(&f, KAON_ERR_FORMAT, "claims 1099511627776 bytes");
}

/* ---- headers against the data ---- */

static void the_datas_length_decides_between_headers(void **state) {
  static const int other[4] = {4, 2, 2, 6}, third[4] = {6, 2, 2, 4};
  static const struct {
    const char *dims, *format;
    int warnings; /* -1: both fit, -2: neither does */
  } cases[] = {{"2 4 2 6", PLAIN, 0},
               {"8 8 8 8", PLAIN, 1},
               {"0 0 0 0", PLAIN, 1},
               {"2 4 2 6", FORMAT_OF(2, 4, 2, 8), 1},
               {"2 4 2 6", FORMAT_OF(3, 4, 2, 6), 1},
               {"4 2 2 6", PLAIN, -1},
               {"4 4 4 4", FORMAT_OF(6, 6, 6, 6), -2}};
  static file f;
  kaon_gauge_file_info info;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    f.size = 0;
    char head[200];
    snprintf(head, sizeof head, DIMS("%s"), cases[i].dims);
    add(&f, "scidac-private-file-xml", BOTH, head);
    add(&f, "ildg-format", BEGIN, cases[i].format);
    add_as(&f, "ildg-binary-data", 0, DATA, links, DATA);
    add(&f, "scidac-checksum", END, checksum);
    if (cases[i].warnings >= 0) {
      reads(&f, cases[i].warnings, "which is taken");
      continue;
    }
    refuses(&f, KAON_ERR_FORMAT, cases[i].warnings == -1 ? "fit both" : "fit neither");
    if (cases[i].warnings == -2) continue;
    assert_int_equal(read_as(&f, third, &info), KAON_ERR_FORMAT);
    assert_int_equal(read_as(&f, other, &info), KAON_OK); /* the remedy */
    assert_int_equal(info.extents[0], 4);
    assert_int_equal(read_as(&f, extents, &info), KAON_OK);
    assert_int_equal(info.extents[0], 2);
  }
  of_format(&f, PLAIN, strlen(PLAIN));
  memcpy(strstr((char *)f.bytes + KAON_LIME_HEADER, "64<"), "32", 2);
  reads(&f, 1, "32 bits, but the data have the length of 64 bits");
  of_format(&f, FORMAT_OF(2, 4, 2, 8), strlen(PLAIN)); /* not "the lattice is", which is right */
  assert_int_equal(read_as(&f, extents, &info), KAON_ERR_FORMAT);
  assert_non_null(strstr(kaon_last_error(NULL), "the extents do not belong to these data"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_form_of_xml_is_read),
      cmocka_unit_test(malformed_xml_is_named_by_record_and_line),
      cmocka_unit_test(hostile_entities_are_refused),
      cmocka_unit_test(escaped_text_comes_back),
      cmocka_unit_test(whole_data_are_read_whatever_the_records_say),
      cmocka_unit_test(a_checksum_that_cannot_be_read_is_a_warning),
      cmocka_unit_test(a_damaged_record_before_more_data_is_refused),
      cmocka_unit_test(the_datas_length_decides_between_headers),
  };
  make_links();
  return test_main(tests, NULL, NULL);
}
