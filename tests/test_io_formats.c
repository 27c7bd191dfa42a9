/* test_io_formats.c - files that other codes wrote. Each is read, and its plaquette, link trace
 * and checksums agree with those that an independent reader found (MANIFEST.md of the data
 * folder). */
#include "test_io_common.h"

#include "lib/io/scidac.h"

typedef struct sample {
  const char *name;
  kaon_file_format format;
  int e[4], given; /* given: the file does not say its extents */
  int bits, big, rows;
  double plaquette;
  int checksums;
  uint32_t checksum[2];
} sample;

#define NERSC KAON_FORMAT_NERSC
#define ILDG KAON_FORMAT_ILDG
#define SCIDAC KAON_FORMAT_SCIDAC
#define MILC KAON_FORMAT_MILC
static const sample samples[] = {
    {"gauge/ddalphaamg_4x4x4x4b6.0000id3n1",
     KAON_FORMAT_DDALPHAAMG,
     {4, 4, 4, 4},
     0,
     64,
     0,
     3,
     0.595565289703,
     0,
     {0, 0}},
    {"gauge/nersc_l8t4b3360", NERSC, {8, 8, 8, 4}, 0, 64, 1, 3, 0.503866446950, 1, {0xb379560a, 0}},
    {"gauge/ildg_l8t4b3360",
     ILDG,
     {8, 8, 8, 4},
     0,
     64,
     1,
     3,
     0.503866446950,
     2,
     {0x10d0ea1a, 0xa6a1b3b8}},
    {"gauge/glu_nersc_lat.400",
     NERSC,
     {4, 4, 4, 8},
     0,
     64,
     0,
     2,
     0.598545559083,
     1,
     {0xf2ee7c36, 0}},
    {"gauge/pyquda_weak_field.lime",
     ILDG,
     {4, 4, 4, 8},
     0,
     64,
     1,
     3,
     0.994804132267,
     2,
     {0xa2c41090, 0x11193c39}},
    {"gauge/julia_conf_08080808.ildg", ILDG, {8, 8, 8, 8}, 1, 64, 1, 3, 0.555243594507, 0, {0, 0}},
    {"gauge/julia_l4_heatbath_b5.7.ildg",
     ILDG,
     {4, 4, 4, 4},
     1,
     64,
     1,
     3,
     0.571478174356,
     0,
     {0, 0}},
    {"gauge/julia_l4_stag_m0.5.ildg", ILDG, {4, 4, 4, 4}, 1, 64, 1, 3, 0.575584039475, 0, {0, 0}},
    {"gauge/julia_l4_wilson_k0.141139.ildg",
     ILDG,
     {4, 4, 4, 4},
     1,
     64,
     1,
     3,
     0.565800226845,
     0,
     {0, 0}},
    {"gauge/lyncs_unity.lime", ILDG, {4, 4, 4, 4}, 0, 64, 1, 3, 1.0, 2, {0x35b49a1b, 0xb49a1b35}},
    {"gauge/openqcd_gen_8x8x8x8_b6.0",
     KAON_FORMAT_OPENQCD,
     {8, 8, 8, 8},
     0,
     64,
     0,
     3,
     0.591657673492,
     0,
     {0, 0}},
    {"milc/milc_lat.sample.l8888",
     MILC,
     {8, 8, 8, 8},
     0,
     32,
     0,
     3,
     0.593560240433,
     2,
     {0x4f9d000e, 0x8d72f72e}},
    {"milc/milc_lat.sample.l4444",
     MILC,
     {4, 4, 4, 4},
     0,
     32,
     0,
     3,
     0.594850158947,
     2,
     {0x02352c05, 0xd137321d}},
    {"milc/milc_lat.sample.l4444.ildg",
     ILDG,
     {4, 4, 4, 4},
     0,
     32,
     1,
     3,
     0.594850158947,
     2,
     {0x37affb9c, 0x2fc07bbf}},
    {"milc/milc_lat.sample.l4444.scidac",
     SCIDAC,
     {4, 4, 4, 4},
     0,
     32,
     1,
     3,
     0.594850158947,
     2,
     {0x37affb9c, 0x2fc07bbf}},
    {"milc/milc_lat.sample.l4448",
     MILC,
     {4, 4, 4, 8},
     0,
     32,
     1,
     3,
     0.569055724369,
     2,
     {0x13f3b413, 0x161f7dde}},
    {"milc/milc_lat.sample.l4448.scidac",
     SCIDAC,
     {4, 4, 4, 8},
     0,
     32,
     1,
     3,
     0.569055724369,
     2,
     {0x1c5a6cb5, 0x5dea327a}},
    {"milc/milc_lat.sample.l4448.foreign",
     ILDG,
     {4, 4, 4, 8},
     0,
     32,
     1,
     3,
     0.569055724369,
     0,
     {0, 0}},
    {"milc/milc_lat.sample.l4448.gf", MILC, {4, 4, 4, 8}, 0, 32, 1, 3, 0.569055724369, 2, {0, 0}},
    {"milc/milc_lat.sample.l6666", MILC, {6, 6, 6, 6}, 0, 32, 1, 3, 0.660648253452, 2, {0, 0}},
    {"milc/milc_lat.sample.hisq.f211b670.l6666",
     MILC,
     {6, 6, 6, 6},
     0,
     32,
     0,
     3,
     0.559339926018,
     2,
     {0x6297e604, 0x7bbd1714}},
    {"milc/milc_lat.sample.l8",
     SCIDAC,
     {8, 8, 8, 8},
     0,
     32,
     1,
     3,
     0.873640874413,
     2,
     {0xd2f7866d, 0x5f48ca3e}},
    {"milc/milc_gen_16x16x16x16_b6.00.lat",
     MILC,
     {16, 16, 16, 16},
     0,
     32,
     0,
     3,
     0.593943847078,
     2,
     {0, 0}},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

/* The recorded figure has 12 decimals; 18 V products of rounding size eps were summed. */
static double plaquette_bound(int64_t volume) {
  return 0.5e-12 + 18.0 * (double)volume * 0x1p-53;
}

/* The gauge-fixed file has the figure of its original field. Fixing rounded its links to single
 * precision once more: each of a plaquette's four by |dU| <= eps/2 sqrt(3), so the trace by 2 eps.
 */
static double sample_bound(const char *name, int64_t volume) {
  return plaquette_bound(volume) + (strstr(name, ".gf") ? 2 * 0x1p-24 * 2 : 0);
}

static field read_sample(const char *path, const int e[4], int ignore, kaon_gauge_file_info *info) {
  field f = field_new(e);
  kaon_gauge_read_options options = KAON_GAUGE_READ_OPTIONS_INIT;
  for (int d = 0; d < 4; d++) options.extents[d] = e[d];
  options.ignore_checksum = ignore;
  assert_ok(kaon_gauge_file_read(NULL, path, &options, info, put_link, &f));
  assert_int_equal(f.links, f.volume * 4);
  return f;
}

static void files_reproduce_their_recorded_figures(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLES; i++) {
    const sample *s = &samples[i];
    char path[512];
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    NEED_DATA(s->name, path);
    field f = read_sample(path, s->e, 0, &info);
    double p = plaquette(&f), bound = sample_bound(s->name, f.volume), trace = link_trace(&f);
    print_message("%-42s plaquette %.12f off by %.1e (bound %.1e), SU(3) to %.1e\n", s->name, p,
                  fabs(p - s->plaquette), bound, info.unitarity);
    assert_true(fabs(p - s->plaquette) <= bound);
    assert_int_equal(info.format, s->format);
    assert_int_equal(info.has_extents, !s->given);
    assert_memory_equal(info.extents, s->e, sizeof info.extents);
    assert_int_equal(info.precision, s->bits);
    assert_int_equal(info.big_endian, s->big);
    assert_int_equal(info.rows, s->rows);
    assert_int_equal(info.ambiguous, 0);
    assert_int_equal(info.checksums, s->checksums);
    assert_memory_equal(info.checksum_computed, info.checksum_stored,
                        (size_t)info.checksums * sizeof(uint32_t));
    if (s->checksum[0]) assert_memory_equal(info.checksum_stored, s->checksum, sizeof s->checksum);
    if (info.has_plaquette) {
      assert_true(fabs(p - info.plaquette) <= info.plaquette_tolerance);
      print_message("  header's plaquette off by %.1e (tolerance %.1e)\n", fabs(p - info.plaquette),
                    info.plaquette_tolerance);
    }
    assert_true(fabs(trace - info.link_trace_computed) <= 12.0 * (double)f.volume * 0x1p-53);
    assert_int_equal(info.warnings, 0);
    assert_int_equal(info.unitarity_violations, 0);
    free(f.u);
  }
}

static void headers_with_a_plaquette_are_recognised(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double plaquette, trace;
    int has_trace;
  } cases[] = {{"gauge/ddalphaamg_4x4x4x4b6.0000id3n1", 1.786695869109205 / 3, 0, 0},
               {"gauge/openqcd_gen_8x8x8x8_b6.0", 1.7749730204748 / 3, 0, 0},
               {"gauge/nersc_l8t4b3360", 0.5038664469, 0.005406083858, 1},
               {"gauge/glu_nersc_lat.400", 0.5985455591, -0.0007741846376, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char path[512];
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    NEED_DATA(cases[i].name, path);
    assert_ok(kaon_gauge_file_probe(NULL, path, NULL, &info));
    assert_true(info.has_plaquette);
    assert_true(fabs(info.plaquette - cases[i].plaquette) < 1e-12);
    assert_int_equal(info.has_link_trace, cases[i].has_trace);
    if (cases[i].has_trace) assert_true(info.link_trace == cases[i].trace);
  }
}

static double largest_difference(const field *a, const field *b) {
  double worst = 0;
  for (int64_t i = 0; i < a->volume * 72; i++) worst = larger(worst, fabs(a->u[i] - b->u[i]));
  return worst;
}

/* ulps: the ILDG and the NERSC file were written from fields that differ by a reunitarisation: 18
 * operations on numbers up to 1. The others are exact copies. */
static void one_field_in_several_formats_is_one_field(void **state) {
  (void)state;
  static const int l4444[4] = {4, 4, 4, 4}, l4448[4] = {4, 4, 4, 8}, l8t4[4] = {8, 8, 8, 4};
  static const struct {
    const char *a, *b;
    const int *e;
    double ulps;
  } pairs[] = {{"milc/milc_lat.sample.l4444", "milc/milc_lat.sample.l4444.ildg", l4444, 0},
               {"milc/milc_lat.sample.l4444", "milc/milc_lat.sample.l4444.scidac", l4444, 0},
               {"milc/milc_lat.sample.l4448", "milc/milc_lat.sample.l4448.scidac", l4448, 0},
               {"milc/milc_lat.sample.l4448", "milc/milc_lat.sample.l4448.foreign", l4448, 0},
               {"gauge/nersc_l8t4b3360", "gauge/ildg_l8t4b3360", l8t4, 18}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    char path[512];
    NEED_DATA(pairs[i].a, path);
    field a = read_sample(path, pairs[i].e, 0, NULL);
    NEED_DATA(pairs[i].b, path);
    field b = read_sample(path, pairs[i].e, 0, NULL);
    double worst = largest_difference(&a, &b), bound = pairs[i].ulps * 0x1p-53;
    print_message("%s, %s: differ by %.1e (bound %.1e)\n", pairs[i].a, pairs[i].b, worst, bound);
    assert_true(worst <= bound);
    free(a.u);
    free(b.u);
  }
}

static void a_wrong_stored_checksum_is_refused_unless_ignored(void **state) {
  (void)state;
  static const int e[4] = {4, 4, 4, 8};
  char path[512];
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  NEED_DATA("milc/milc_lat.sample.5p7", path);
  field f = field_new(e);
  assert_int_equal(kaon_gauge_file_read(NULL, path, NULL, &info, put_link, &f), KAON_ERR_CHECKSUM);
  print_message("%s\n", kaon_last_error(NULL));
  assert_non_null(strstr(kaon_last_error(NULL), "72d77a0a 19447b24"));
  assert_non_null(strstr(kaon_last_error(NULL), "2e218ab1 2d188e6b"));
  assert_non_null(strstr(kaon_last_error(NULL), "milc_lat.sample.5p7"));
  free(f.u);
  f = read_sample(path, e, 1, &info);
  print_message("read as it is: plaquette %.12f, %lld links off SU(3) by up to %.2g; %s\n",
                plaquette(&f), (long long)info.unitarity_violations, info.unitarity,
                info.warning[0]);
  assert_true(fabs(plaquette(&f) - 0.572689272204) <= plaquette_bound(f.volume));
  assert_true(info.warnings >= 1);
  assert_true(info.unitarity_violations > 0);
  free(f.u);
}

static void a_file_without_extents_says_so(void **state) {
  (void)state;
  static const int e[4] = {8, 8, 8, 8};
  char path[512];
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  NEED_DATA("gauge/julia_conf_08080808.ildg", path);
  assert_ok(kaon_gauge_file_probe(NULL, path, NULL, &info));
  assert_false(info.has_extents);
  field f = field_new(e);
  assert_int_equal(kaon_gauge_file_read(NULL, path, NULL, &info, put_link, &f), KAON_ERR_SHAPE);
  assert_non_null(strstr(kaon_last_error(NULL), "--lattice"));
  free(f.u);
}

static void wrong_extents_are_refused_with_both_values(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLES; i++) {
    const sample *s = &samples[i];
    char path[512];
    kaon_gauge_read_options options = KAON_GAUGE_READ_OPTIONS_INIT;
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    NEED_DATA(s->name, path);
    for (int d = 0; d < 4; d++) options.extents[d] = s->e[d] + (d == 1 ? 2 : 0);
    kaon_status status = kaon_gauge_file_probe(NULL, path, &options, &info);
    assert_int_equal(status, s->given ? KAON_ERR_FORMAT : KAON_ERR_SHAPE);
    assert_non_null(strstr(kaon_last_error(NULL), strrchr(s->name, '/') + 1));
  }
}

typedef struct counted {
  int reals;
  int64_t sites;
  double norm2;
} counted;

static void count_site(void *sink, int64_t site, const double *values) {
  counted *c = sink;
  assert_int_equal(site, c->sites);
  c->sites++;
  for (int i = 0; i < c->reals; i++) c->norm2 += values[i] * values[i];
}

static void staggered_links_and_vectors_are_read_by_the_same_layer(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int reals;
    uint32_t checksum[2];
  } cases[] = {{"milc/milc_fat.l8", 72, {0x8a62f398, 0x5766b5ab}},
               {"milc/milc_long.l8", 72, {0x04e252b1, 0x9ec87f89}},
               {"milc/milc_ksvector.src.sample.l8", 6, {0x18c175b6, 0xadc0f9ee}},
               {"milc/milc_ksvector.ans.Minv.sample.l8", 6, {0xc3433914, 0x14c177b1}},
               {"milc/milc_ksvector.ans.MdaggerMinv.sample.l8", 6, {0x125e4fb4, 0x7cd4ec7e}}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char path[512];
    kaon_scidac_field info;
    counted c = {cases[i].reals, 0, 0};
    NEED_DATA(cases[i].name, path);
    assert_ok(kaon_scidac_field_read(NULL, path, cases[i].reals, 0, &info, count_site, &c));
    assert_int_equal(c.sites, 8 * 8 * 8 * 8);
    assert_memory_equal(info.checksum_computed, cases[i].checksum, sizeof info.checksum_computed);
    print_message("%-46s %s, |v|^2 = %.6g\n", cases[i].name, info.datatype, c.norm2);
    assert_true(c.norm2 > 0);
  }
}

static void a_propagator_in_another_format_is_named_as_unknown(void **state) {
  (void)state;
  char path[512];
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  NEED_DATA("milc/milc_lprop.cl.sample.l4448", path);
  assert_int_equal(kaon_gauge_file_probe(NULL, path, NULL, &info), KAON_ERR_FORMAT);
  NEED_DATA("milc/milc_ksvector.src.sample.l8", path);
  assert_int_equal(kaon_gauge_file_probe(NULL, path, NULL, &info), KAON_ERR_FORMAT);
  print_message("%s\n", kaon_last_error(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_reproduce_their_recorded_figures),
      cmocka_unit_test(headers_with_a_plaquette_are_recognised),
      cmocka_unit_test(one_field_in_several_formats_is_one_field),
      cmocka_unit_test(a_wrong_stored_checksum_is_refused_unless_ignored),
      cmocka_unit_test(a_file_without_extents_says_so),
      cmocka_unit_test(wrong_extents_are_refused_with_both_values),
      cmocka_unit_test(staggered_links_and_vectors_are_read_by_the_same_layer),
      cmocka_unit_test(a_propagator_in_another_format_is_named_as_unknown),
  };
  return test_main(tests, NULL, NULL);
}
