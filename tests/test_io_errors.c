/* test_io_errors.c - malformed files: truncated anywhere, with flipped bits, NaN or absurd
 * numbers. Each gives the right status and a sentence that names the file. None is accepted as
 * sound, and nothing crashes. */
#include "test_io_common.h"

#include "lib/io/formats/gauge_job.h"
#include "lib/io/formats/propagator_file.h"

#define NAME "malformed-file"
static const int extents[4] = {2, 4, 2, 2};
enum { VOLUME = 32 };

typedef struct blob {
  unsigned char *data;
  size_t size, header; /* where the links begin */
  kaon_file_format format;
} blob;

/* A sound file of ours in memory. */
static blob make(kaon_file_format format, int precision, int rows, kaon_byte_order order) {
  kaon_gauge_write_options o = KAON_GAUGE_WRITE_OPTIONS_INIT;
  field f = field_random(extents, 11);
  kaon_gauge_content content = {{2, 4, 2, 2}, plaquette(&f), link_trace(&f)};
  blob b = {.format = format};
  o.format = format;
  o.precision = precision;
  o.rows = rows;
  o.byte_order = order;
  o.date = "Thu Jan 01 00:00:00 1970 UTC";
  assert_ok(kaon_gauge_file_write(NULL, scratch("sound"), &o, &content, get_link, &f));
  b.data = load_file(scratch("sound"), &b.size);
  unlink(scratch("sound"));
  free(f.u);
  size_t links =
      (size_t)VOLUME * 24 * (size_t)(rows ? rows : 3) * (size_t)(precision ? precision : 32) / 8;
  b.header = b.size - links;
  if (format == KAON_FORMAT_ILDG || format == KAON_FORMAT_SCIDAC) {
    const char *type = format == KAON_FORMAT_ILDG ? "ildg-binary-data" : "scidac-binary-data";
    b.header = 0;
    while (memcmp(b.data + b.header, type, strlen(type)) != 0) b.header++;
    b.header += 128;
  }
  return b;
}

enum { BLOBS = 8 };
static blob make_number(int i) {
  switch (i) {
    case 0:
      return make(KAON_FORMAT_NERSC, 64, 3, KAON_BYTES_BIG);
    case 1:
      return make(KAON_FORMAT_NERSC, 32, 2, KAON_BYTES_LITTLE);
    case 2:
      return make(KAON_FORMAT_ILDG, 64, 0, KAON_BYTES_NATIVE);
    case 3:
      return make(KAON_FORMAT_SCIDAC, 32, 0, KAON_BYTES_NATIVE);
    case 4:
      return make(KAON_FORMAT_MILC, 32, 0, KAON_BYTES_BIG);
    case 5:
      return make(KAON_FORMAT_MILC, 32, 0, KAON_BYTES_LITTLE);
    case 6:
      return make(KAON_FORMAT_SCIDAC, 64, 0, KAON_BYTES_NATIVE);
    default:
      return make(KAON_FORMAT_OPENQCD, 64, 0, KAON_BYTES_NATIVE);
  }
}

static size_t site_bytes(int i) {
  return (size_t)24 * (i == 1 ? 2 : 3) * (i == 0 || i == 2 || i > 5 ? 8 : 4);
}

static void ignore_link(void *sink, int64_t site, int mu, const double u[18]) {
  (void)sink, (void)mu, (void)u;
  assert_in_range(site, 0, VOLUME - 1);
}

static kaon_status read_blob(const unsigned char *data, size_t size, kaon_file_format format,
                             int ignore) {
  kaon_bytes bytes;
  kaon_gauge_read_options options = KAON_GAUGE_READ_OPTIONS_INIT;
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  options.format = format;
  options.ignore_checksum = ignore;
  kaon_bytes_from_memory(NAME, data, size, &bytes);
  kaon_status status = kaon_gauge_bytes_read(NULL, &bytes, &options, &info, ignore_link, NULL);
  if (status != KAON_OK && !strstr(kaon_last_error(NULL), NAME)) {
    fail_msg("the sentence does not name the file: %s", kaon_last_error(NULL));
  }
  return status;
}

/* Every length from 0 to a little into the links, and around the end. LIME files have records after
 * the links, without which they are read. */
static void a_file_cut_before_the_end_of_its_links_is_refused(void **state) {
  (void)state;
  for (int i = 0; i < BLOBS; i++) {
    blob b = make_number(i);
    const size_t end = b.header + VOLUME * site_bytes(i);
    int refused = 0;
    assert_int_equal(read_blob(b.data, b.size, b.format, 0), KAON_OK);
    for (size_t n = 0; n < b.size; n++) {
      if (n > b.header + 600 && n + 600 < end) n += 97;
      kaon_status status = read_blob(b.data, n, b.format, 0);
      if (status != (n < end ? KAON_ERR_FORMAT : KAON_OK))
        fail_msg("format %d cut at %zu: status %d", b.format, n, status);
      refused += status != KAON_OK;
    }
    print_message("%s: %d cut files refused\n", kaon_file_format_name(b.format), refused);
    free(b.data);
  }
}

/* Less than a site more is a warning: other extents would make a larger difference. */
static void bytes_after_the_end_are_a_warning_or_refused(void **state) {
  (void)state;
  for (int i = 0; i < BLOBS; i++) {
    blob b = make_number(i);
    const int lime = b.format == KAON_FORMAT_ILDG || b.format == KAON_FORMAT_SCIDAC;
    const size_t site = site_bytes(i), most = VOLUME * site;
    unsigned char *longer = calloc(1, b.size + most);
    memcpy(longer, b.data, b.size);
    assert_int_equal(read_blob(longer, b.size + 8, b.format, 0), KAON_OK);
    assert_int_equal(read_blob(longer, b.size + site - 1, b.format, 0), KAON_OK);
    if (!lime) assert_int_equal(read_blob(longer, b.size + site, b.format, 0), KAON_ERR_FORMAT);
    assert_int_equal(read_blob(longer, b.size + most, b.format, 0), KAON_ERR_FORMAT);
    free(longer);
    free(b.data);
  }
}

static void a_flipped_bit_in_the_links_is_found_where_there_is_a_checksum(void **state) {
  (void)state;
  for (int i = 0; i < BLOBS - 1; i++) {
    blob b = make_number(i);
    size_t words = VOLUME * site_bytes(i) / 4;
    for (size_t k = 0; k < words; k += 37) {
      size_t at = b.header + 4 * k + k % 4;
      b.data[at] ^= (unsigned char)(1 << k % 8);
      assert_int_equal(read_blob(b.data, b.size, b.format, 0), KAON_ERR_CHECKSUM);
      b.data[at] ^= (unsigned char)(1 << k % 8);
    }
    free(b.data);
  }
}

/* With the checksum ignored the links themselves are checked: NaN is always refused, and links off
 * SU(3) are counted. openQCD files have no checksum, so such links are refused there. */
static void nan_and_links_off_su3_are_found(void **state) {
  (void)state;
  for (int i = 0; i < BLOBS; i++) {
    blob b = make_number(i);
    int bits = i == 0 || i == 2 || i == 6 || i == 7 ? 64 : 32;
    int big = i == 0 || i == 2 || i == 3 || i == 4 || i == 6;
    double old, bad[3] = {NAN, INFINITY, 3.0};
    unsigned char *at = b.data + b.header + 40 * (size_t)bits / 8;
    kaon_words_to_doubles(at, 1, bits, big, &old);
    for (int k = 0; k < 3; k++) {
      kaon_doubles_to_words(&bad[k], 1, bits, big, at);
      kaon_status strict = read_blob(b.data, b.size, b.format, 0);
      kaon_status want = i < BLOBS - 1 ? KAON_ERR_CHECKSUM
                         : k < 2       ? KAON_ERR_NOT_FINITE
                                       : KAON_ERR_UNITARITY;
      assert_int_equal(strict, want);
      assert_int_equal(read_blob(b.data, b.size, b.format, 1),
                       k < 2 ? KAON_ERR_NOT_FINITE : KAON_OK);
    }
    print_message("%s\n", kaon_last_error(NULL));
    kaon_doubles_to_words(&old, 1, bits, big, at);
    assert_int_equal(read_blob(b.data, b.size, b.format, 0), KAON_OK);
    free(b.data);
  }
}

/* A text in a file written by kaon, replaced by another of any length; the caller chooses the
 * padding. */
static blob with(const blob *b, const char *from, const char *to) {
  size_t n = strlen(from), m = strlen(to), at = 0;
  while (at + n <= b->size && memcmp(b->data + at, from, n) != 0) at++;
  if (at + n > b->size) fail_msg("'%s' is not in the file", from);
  blob c = {malloc(b->size - n + m), b->size - n + m, 0, b->format};
  memcpy(c.data, b->data, at);
  memcpy(c.data + at, to, m);
  memcpy(c.data + at + m, b->data + at + n, b->size - at - n);
  return c;
}

typedef struct edit {
  const char *from, *to;
  kaon_status want;
} edit;

static void check_edits(const blob *b, const edit *edits, size_t n) {
  for (size_t i = 0; i < n; i++) {
    blob c = with(b, edits[i].from, edits[i].to);
    kaon_status status = read_blob(c.data, c.size, c.format, 0);
    if (status != edits[i].want) {
      fail_msg("'%s' -> '%s': %s, wanted %s: %s", edits[i].from, edits[i].to,
               kaon_status_name(status), kaon_status_name(edits[i].want), kaon_last_error(NULL));
    }
    if (status != KAON_OK) print_message("%s\n", kaon_last_error(NULL));
    free(c.data);
  }
}

static void absurd_nersc_headers_are_refused(void **state) {
  (void)state;
  static const edit edits[] = {
      {"DIMENSION_2 = 4", "DIMENSION_2 = -4", KAON_ERR_FORMAT},
      {"DIMENSION_2 = 4", "DIMENSION_2 = 0", KAON_ERR_FORMAT},
      {"DIMENSION_2 = 4", "DIMENSION_2 = 3", KAON_ERR_SHAPE},
      {"DIMENSION_2 = 4", "DIMENSION_2 = 4.5", KAON_ERR_FORMAT},
      {"DIMENSION_2 = 4", "DIMENSION_2 = four", KAON_ERR_FORMAT},
      {"DIMENSION_2 = 4", "DIMENSION_2 = 4294967300", KAON_ERR_FORMAT},
      {"DIMENSION_2 = 4", "DIMENSION_2 = 99999999999999999999999", KAON_ERR_FORMAT},
      {"DIMENSION_2 = 4", "DIMENSION_2 = 32768", KAON_ERR_FORMAT},
      {"DIMENSION_2 = 4", "DIMENSION_5 = 4", KAON_ERR_FORMAT},
      {"DATATYPE = 4D_SU3_GAUGE_3x3", "DATATYPE = 4D_SU2_GAUGE", KAON_ERR_FORMAT},
      {"DATATYPE = 4D_SU3_GAUGE_3x3", "DATATYPE = 4D_SU3_GAUGE", KAON_ERR_FORMAT},
      {"FLOATING_POINT = IEEE64BIG", "FLOATING_POINT = IEEE16", KAON_ERR_FORMAT},
      {"FLOATING_POINT = IEEE64BIG", "FLOATING_POINT = IEEE32BIG", KAON_ERR_FORMAT},
      {"FLOATING_POINT = IEEE64BIG", "FLOATING_POINT = IEEE64LITTLE", KAON_ERR_CHECKSUM},
      {"FLOATING_POINT = IEEE64BIG", "NOTHING = IEEE64BIG", KAON_ERR_FORMAT},
      {"CHECKSUM = ", "CHECKSUM = 1", KAON_ERR_FORMAT}, /* nine digits */
      {"CHECKSUM = ", "CHECKSUM = zz", KAON_ERR_FORMAT},
      {"PLAQUETTE = ", "PLAQUETTE = nan", KAON_ERR_FORMAT},
      {"LINK_TRACE = ", "LINK_TRACE = 0.3\nOLD = ", KAON_ERR_CHECKSUM},
      {"END_HEADER", "AND_HEADER", KAON_ERR_FORMAT},
      {"BEGIN_HEADER", "BEGUN_HEADER", KAON_ERR_FORMAT},
      {"DIMENSION_1 = 2", "dimension_1=2   ", KAON_OK},
      {"DIMENSION_1 = 2\n", "DIMENSION_1 = 2\r\nEXTRA = 17\n\njunk\n", KAON_OK}};
  blob b = make_number(0);
  check_edits(&b, edits, sizeof edits / sizeof edits[0]);
  free(b.data);
}

static void absurd_lime_headers_are_refused(void **state) {
  (void)state;
  static const edit edits[] = {
      {"<lx>2</lx>", "<lx>0</lx>", KAON_OK}, /* dims are those of the data */
      {"<lx>2</lx>", "<lx>4</lx>", KAON_OK},
      {"<lx>2</lx>", "<lx>x</lx>", KAON_ERR_FORMAT},
      {"<lx>2</lx>", "<ly>2</ly>", KAON_ERR_FORMAT},
      {"<precision>64</precision>", "<precision>32</precision>", KAON_OK},
      {"<precision>64</precision>", "<precision>16</precision>", KAON_ERR_FORMAT},
      {"<dims>2 4 2 2 </dims>", "<dims>2 4 2 -2</dims>",
       KAON_OK}, /* <lx> ... are those of the data */
      {"<dims>2 4 2 2 </dims>", "<dims>2 4 2   </dims>", KAON_ERR_UNSUPPORTED},
      {"<dims>2 4 2 2 </dims>", "<dims>a 4 2 2 </dims>", KAON_ERR_FORMAT},
      {"<volfmt>0</volfmt>", "<volfmt>1</volfmt>", KAON_ERR_UNSUPPORTED},
      {"<typesize>144</typesize>", "<typesize>-44</typesize>", KAON_ERR_FORMAT},
      {"<suma>", "<sumo>", KAON_OK}, /* a warning */
      {"ildg-binary-data", "ildg-binary-date", KAON_ERR_FORMAT},
      {"<lx>2</lx>", "<lx>\n </lx>", KAON_ERR_FORMAT}};
  blob b = make_number(2);
  enum { EDITS = sizeof edits / sizeof edits[0] };
  check_edits(&b, edits, EDITS - 1);
  size_t at = 0; /* record lengths: the first record's, then that of the links */
  static const uint64_t lengths[] = {UINT64_MAX, (uint64_t)INT64_MAX, 1ull << 40, 0};
  for (size_t i = 0; i < 4; i++) {
    for (int which = 0; which < 2; which++) {
      at = which ? b.header - 144 : 0;
      uint64_t old = kaon_u64_at(b.data + at + 8, 1);
      kaon_u64_put(b.data + at + 8, lengths[i], 1);
      assert_int_equal(read_blob(b.data, b.size, b.format, 0), which ? KAON_OK : KAON_ERR_FORMAT);
      kaon_u64_put(b.data + at + 8, old, 1);
    }
  }
  kaon_u32_put(b.data + b.header - 144, 0, 1);
  assert_int_equal(read_blob(b.data, b.size, b.format, 0), KAON_ERR_FORMAT);
  free(b.data);
}

static void absurd_binary_headers_are_refused(void **state) {
  (void)state;
  static const struct {
    int32_t number;
    kaon_status want;
  } cases[] = {{-4, KAON_ERR_FORMAT},    {0, KAON_ERR_FORMAT},        {3, KAON_ERR_SHAPE},
               {6, KAON_ERR_FORMAT},     {32768, KAON_ERR_FORMAT},    {INT32_MAX, KAON_ERR_FORMAT},
               {32770, KAON_ERR_FORMAT}, {INT32_MIN, KAON_ERR_FORMAT}};
  for (int i = 4; i < BLOBS; i++) {
    if (i == 6) continue;
    blob b = make_number(i);
    int big = i == 4, milc = b.format == KAON_FORMAT_MILC;
    for (int d = 0; d < 4; d++) {
      unsigned char *at = b.data + (milc ? 4 : 0) + 4 * d;
      uint32_t old = kaon_u32_at(at, big);
      for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        kaon_u32_put(at, (uint32_t)cases[k].number, big);
        assert_int_equal(read_blob(b.data, b.size, b.format, 0), cases[k].want);
        assert_int_not_equal(read_blob(b.data, b.size, KAON_FORMAT_AUTO, 0), KAON_OK);
      }
      kaon_u32_put(at, old, big);
    }
    if (milc) { /* node-dump order */
      kaon_u32_put(b.data + 84, 1, big);
      assert_int_equal(read_blob(b.data, b.size, b.format, 0), KAON_ERR_UNSUPPORTED);
      print_message("%s\n", kaon_last_error(NULL));
    } else { /* a plaquette outside [-3, 3] */
      double p = 3.5;
      kaon_doubles_to_words(&p, 1, 64, 0, b.data + 16);
      assert_int_equal(read_blob(b.data, b.size, b.format, 0), KAON_ERR_FORMAT);
    }
    free(b.data);
  }
}

static void files_of_no_known_format_are_named(void **state) {
  (void)state;
  static const char *const texts[] = {"", "x", "hello, this is no gauge field at all",
                                      "\x89HDF\r\n\x1a\n"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    for (int format = 0; format <= KAON_FORMAT_DDALPHAAMG; format++) {
      kaon_status status =
          read_blob((const unsigned char *)texts[i], strlen(texts[i]), (kaon_file_format)format, 1);
      assert_int_equal(status, KAON_ERR_FORMAT);
    }
    print_message("%s\n", kaon_last_error(NULL));
  }
}

static void paths_that_cannot_be_read_are_named(void **state) {
  (void)state;
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  assert_int_equal(kaon_gauge_file_probe(NULL, scratch("absent"), NULL, &info), KAON_ERR_IO);
  assert_non_null(strstr(kaon_last_error(NULL), "absent"));
  assert_int_equal(kaon_gauge_file_probe(NULL, scratch_folder, NULL, &info), KAON_ERR_IO);
  assert_int_equal(kaon_gauge_file_probe(NULL, "/dev/null", NULL, &info), KAON_ERR_IO);
  assert_int_equal(kaon_gauge_file_probe(NULL, "", NULL, &info), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_gauge_file_probe(NULL, NULL, NULL, &info), KAON_ERR_ARGUMENT);
}

static void options_out_of_range_are_refused_and_leave_no_file(void **state) {
  (void)state;
  field f = field_random(extents, 3);
  const kaon_gauge_content good = {{2, 4, 2, 2}, 0, 0};
  static const struct {
    kaon_gauge_write_options o;
    int e1;
    kaon_status want;
  } cases[] = {{{.format = KAON_FORMAT_MILC, .precision = 64}, 4, KAON_ERR_ARGUMENT},
               {{.format = KAON_FORMAT_OPENQCD, .precision = 32}, 4, KAON_ERR_ARGUMENT},
               {{.format = KAON_FORMAT_ILDG, .rows = 2}, 4, KAON_ERR_ARGUMENT},
               {{.format = KAON_FORMAT_NERSC, .rows = 1}, 4, KAON_ERR_ARGUMENT},
               {{.format = KAON_FORMAT_NERSC, .precision = 16}, 4, KAON_ERR_ARGUMENT},
               {{.format = KAON_FORMAT_DDALPHAAMG}, 4, KAON_ERR_UNSUPPORTED},
               {{.format = KAON_FORMAT_ILDG}, 3, KAON_ERR_ARGUMENT},
               {{.format = KAON_FORMAT_ILDG}, -4, KAON_ERR_ARGUMENT}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    kaon_gauge_write_options o = cases[i].o;
    kaon_gauge_content content = good;
    content.extents[1] = cases[i].e1;
    o.size = sizeof o;
    o.version = KAON_OPTIONS_VERSION(KAON_OPTIONS_GAUGE_WRITE, 1);
    assert_int_equal(kaon_gauge_file_write(NULL, scratch("o"), &o, &content, get_link, &f),
                     cases[i].want);
    assert_int_equal(access(scratch("o"), F_OK), -1);
    o.version = 99;
    assert_int_equal(kaon_gauge_file_write(NULL, scratch("o"), &o, &good, get_link, &f),
                     KAON_ERR_ARGUMENT);
  }
  free(f.u);
}

/* ---- propagators ---- */

static void get_spinor(void *source, int column, int64_t site, double psi[24]) {
  (void)source;
  for (int i = 0; i < 24; i++) psi[i] = (double)(column + site + i);
}
static void get_source(void *source, int column, int64_t site, double *values) {
  (void)source;
  values[0] = site == column;
  values[1] = 0;
}
static void ignore_spinor(void *sink, int column, int64_t site, const double psi[24]) {
  (void)sink, (void)psi;
  assert_in_range(site, 0, VOLUME - 1);
  assert_in_range(column, 0, 11);
}

static blob make_propagator(void) {
  kaon_propagator_write_options o = KAON_PROPAGATOR_WRITE_OPTIONS_INIT;
  blob b = {0};
  memcpy(o.extents, extents, sizeof extents);
  o.precision = 32;
  assert_ok(kaon_propagator_file_write(NULL, scratch("p"), &o, get_spinor, get_source, NULL));
  b.data = load_file(scratch("p"), &b.size);
  unlink(scratch("p"));
  return b;
}

static kaon_status read_propagator(const unsigned char *data, size_t size, int ignore) {
  kaon_bytes bytes;
  kaon_propagator_read_options o = KAON_PROPAGATOR_READ_OPTIONS_INIT;
  kaon_propagator_file_info info = KAON_PROPAGATOR_FILE_INFO_INIT;
  o.ignore_checksum = ignore;
  kaon_bytes_from_memory(NAME, data, size, &bytes);
  kaon_status status =
      kaon_propagator_bytes_read(NULL, &bytes, &o, &info, ignore_spinor, NULL, NULL);
  if (status != KAON_OK) assert_non_null(strstr(kaon_last_error(NULL), NAME));
  return status;
}

static void malformed_propagators_are_refused(void **state) {
  (void)state;
  static const edit edits[] = {
      {"USQCD_DiracFermion_ScalarSource_TwelveSink", "LHPC_DiracPropagator", KAON_ERR_UNSUPPORTED},
      {"USQCD_DiracFermion_ScalarSource_TwelveSink", "USQCD_DiracFermion_Source_Sink_Pairs",
       KAON_ERR_FORMAT},
      {"usqcdPropFile", "usqcdPropPile", KAON_ERR_FORMAT},
      {"<dims>2 4 2 2 </dims>", "<dims>2 4 2 4 </dims>", KAON_ERR_FORMAT},
      {"<spin>1</spin><color>1</color>", "<spin>1</spin><color>0</color>", KAON_ERR_FORMAT},
      {"<spin>1</spin><color>1</color>", "<spin>4</spin><color>0</color>", KAON_ERR_FORMAT},
      {"<spin>3</spin><color>2</color>", "<spin>3</spin><color>3</color>", KAON_ERR_FORMAT},
      {"scidac-checksum", "scidac-checksun", KAON_OK}};
  blob b = make_propagator();
  assert_int_equal(read_propagator(b.data, b.size, 0), KAON_OK);
  for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
    /* Texts keep their length: lengths of LIME records stand elsewhere. */
    char to[128];
    snprintf(to, sizeof to, "%-*s", (int)strlen(edits[i].from), edits[i].to);
    blob c = with(&b, edits[i].from, to);
    kaon_status status = read_propagator(c.data, c.size, 0);
    if (status != KAON_OK) print_message("%s\n", kaon_last_error(NULL));
    assert_int_equal(status, edits[i].want);
    free(c.data);
  }
  const size_t end = b.size - 144 - 136; /* of the last column's data */
  for (size_t n = 0; n < end; n += 61)
    assert_int_equal(read_propagator(b.data, n, 0), KAON_ERR_FORMAT);
  assert_int_equal(read_propagator(b.data, end - 1, 0), KAON_ERR_FORMAT);
  for (size_t n = end; n < b.size; n += 13)
    assert_int_equal(read_propagator(b.data, n, 0), KAON_OK);
  size_t at = b.size - 300 - 1000; /* in the last column's data */
  b.data[at] ^= 1;
  assert_int_equal(read_propagator(b.data, b.size, 0), KAON_ERR_CHECKSUM);
  print_message("%s\n", kaon_last_error(NULL));
  assert_int_equal(read_propagator(b.data, b.size, 1), KAON_OK);
  memset(b.data + at / 4 * 4, 0xff, 8);
  assert_int_equal(read_propagator(b.data, b.size, 1), KAON_ERR_NOT_FINITE);
  free(b.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_cut_before_the_end_of_its_links_is_refused),
      cmocka_unit_test(bytes_after_the_end_are_a_warning_or_refused),
      cmocka_unit_test(a_flipped_bit_in_the_links_is_found_where_there_is_a_checksum),
      cmocka_unit_test(nan_and_links_off_su3_are_found),
      cmocka_unit_test(absurd_nersc_headers_are_refused),
      cmocka_unit_test(absurd_lime_headers_are_refused),
      cmocka_unit_test(absurd_binary_headers_are_refused),
      cmocka_unit_test(files_of_no_known_format_are_named),
      cmocka_unit_test(paths_that_cannot_be_read_are_named),
      cmocka_unit_test(options_out_of_range_are_refused_and_leave_no_file),
      cmocka_unit_test(malformed_propagators_are_refused),
  };
  return test_main(tests, make_scratch, remove_scratch);
}
