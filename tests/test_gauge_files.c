/* test_gauge_files.c - configurations written by other codes have the plaquettes that an
 * independent reader found (MANIFEST.md of the data folder), and files that kaon writes are read
 * back unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <math.h>
#include <cmocka.h>

#include "tests/util/link_case.h"

static const struct {
  const char *name;
  int extents[4];
  double plaquette;
  double unitarity; /* 1e-14: double links; 1e-6: float; the exceptions as recorded */
} files[] = {
    {"gauge/ddalphaamg_4x4x4x4b6.0000id3n1", {4, 4, 4, 4}, 0.595565289703, 1e-13},
    {"gauge/nersc_l8t4b3360", {8, 8, 8, 4}, 0.503866446950, 1e-13},
    {"gauge/ildg_l8t4b3360", {8, 8, 8, 4}, 0.503866446950, 1e-13},
    {"gauge/glu_nersc_lat.400", {4, 4, 4, 8}, 0.598545559083, 1e-13},
    {"gauge/pyquda_weak_field.lime", {4, 4, 4, 8}, 0.994804132267, 1e-13},
    {"gauge/julia_conf_08080808.ildg", {8, 8, 8, 8}, 0.555243594507, 1e-13},
    {"gauge/julia_l4_heatbath_b5.7.ildg", {4, 4, 4, 4}, 0.571478174356, 1e-13},
    {"gauge/julia_l4_stag_m0.5.ildg", {4, 4, 4, 4}, 0.575584039475, 2e-10},
    {"gauge/julia_l4_wilson_k0.141139.ildg", {4, 4, 4, 4}, 0.565800226845, 2e-10},
    {"gauge/lyncs_unity.lime", {4, 4, 4, 4}, 1, 0},
    {"gauge/openqcd_gen_8x8x8x8_b6.0", {8, 8, 8, 8}, 0.591657673492, 1e-13},
    {"milc/milc_lat.sample.l8888", {8, 8, 8, 8}, 0.593560240433, 2e-6},
    {"milc/milc_lat.sample.l4444", {4, 4, 4, 4}, 0.594850158947, 2e-6},
    {"milc/milc_lat.sample.l4444.ildg", {4, 4, 4, 4}, 0.594850158947, 2e-6},
    {"milc/milc_lat.sample.l4444.scidac", {4, 4, 4, 4}, 0.594850158947, 2e-6},
    {"milc/milc_lat.sample.l4448", {4, 4, 4, 8}, 0.569055724369, 2e-6},
    {"milc/milc_lat.sample.l4448.scidac", {4, 4, 4, 8}, 0.569055724369, 2e-6},
    {"milc/milc_lat.sample.l4448.foreign", {4, 4, 4, 8}, 0.569055724369, 2e-6},
    {"milc/milc_lat.sample.l4448.gf", {4, 4, 4, 8}, 0.569055724369, 2e-6},
    {"milc/milc_lat.sample.l6666", {6, 6, 6, 6}, 0.660648253452, 2e-6},
    {"milc/milc_lat.sample.hisq.f211b670.l6666", {6, 6, 6, 6}, 0.559339926018, 2e-6},
    {"milc/milc_lat.sample.l8", {8, 8, 8, 8}, 0.873640874413, 2e-6},
    {"milc/milc_gen_16x16x16x16_b6.00.lat", {16, 16, 16, 16}, 0.593943847078, 2e-6},
};
enum { FILES = sizeof files / sizeof files[0] };

static void open_field(dirac_case *c, const int extents[4]) {
  assert_true(case_open(c, KAON_ISA_AUTO, extents, 0, LINKS_UNIT, 0));
}

static void recorded_plaquettes_are_reproduced(void **state) {
  (void)state;
  char path[1024];
  for (int i = 0; i < FILES; i++) {
    if (test_data(files[i].name, path) == NULL) skip();
    dirac_case c;
    kaon_observables o = KAON_OBSERVABLES_INIT;
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    open_field(&c, files[i].extents);
    must(c.ctx, kaon_gauge_read(c.gauge, path, NULL, &info));
    must(c.ctx, kaon_gauge_measure(c.gauge, &o));
    /* twelve decimals are recorded; the two fixtures of one field differ by its gauge fixing,
     * 1e-7 of float links over sqrt(planes) */
    const double fixed = strstr(files[i].name, ".gf") ? 1e-8 : 0;
    test_close(files[i].name, o.plaquette, files[i].plaquette, 0.51e-12 + fixed);
    test_below("unitarity", o.unitarity, files[i].unitarity);
    if (info.has_plaquette)
      test_close("stored in the file", info.plaquette, o.plaquette, info.plaquette_tolerance);
    if (info.has_link_trace)
      test_close("link trace in the file", info.link_trace, o.link_trace,
                 info.link_trace_tolerance);
    case_close(&c);
  }
}

/* The field of milc_lat.sample.5p7: stored checksum wrong, boundary links off SU(3). */
static void a_damaged_file_needs_a_word(void **state) {
  (void)state;
  char path[1024];
  static const int extents[4] = {4, 4, 4, 8}, other[4] = {4, 4, 4, 4};
  if (test_data("milc/milc_lat.sample.5p7", path) == NULL) skip();
  dirac_case c;
  kaon_gauge_read_options options = KAON_GAUGE_READ_OPTIONS_INIT;
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  kaon_observables o = KAON_OBSERVABLES_INIT;
  open_field(&c, extents);
  const uint64_t revision = kaon_gauge_revision(c.gauge);
  must_refuse(c.ctx, KAON_ERR_CHECKSUM, kaon_gauge_read(c.gauge, path, NULL, NULL));
  assert_true(kaon_gauge_revision(c.gauge) > revision); /* what depends on the links must know */
  options.ignore_checksum = 1;
  must(c.ctx, kaon_gauge_read(c.gauge, path, &options, &info));
  assert_true(info.warnings > 1); /* checksum and SU(3), each with a sentence that names the file */
  for (int i = 0; i < info.warnings; i++) {
    printf("  %s\n", info.warning[i]);
    assert_non_null(strstr(info.warning[i], "milc_lat.sample.5p7: "));
  }
  assert_non_null(strstr(info.warning[0], "checksum"));
  assert_non_null(strstr(info.warning[1], "SU(3)"));
  must(c.ctx, kaon_gauge_measure(c.gauge, &o));
  test_close("plaquette", o.plaquette, 0.572689272204, 0.51e-12);
  kaon_gauge *compressed = NULL; /* 12 reals would make other links of these */
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_12, &compressed));
  must_refuse(c.ctx, KAON_ERR_UNITARITY, kaon_gauge_copy(compressed, c.gauge));
  must_refuse(c.ctx, KAON_ERR_UNITARITY, kaon_gauge_read(compressed, path, &options, NULL));
  kaon_gauge_destroy(&compressed);
  case_close(&c);
  open_field(&c, other);
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_gauge_read(c.gauge, path, NULL, NULL));
  options.extents[3] = 8;
  must_refuse(c.ctx, KAON_ERR_SHAPE, kaon_gauge_read(c.gauge, path, &options, NULL));
  case_close(&c);
}

static void written_fields_read_back(void **state) {
  (void)state;
  static const struct {
    kaon_file_format format;
    int precision;
  } kinds[] = {{KAON_FORMAT_NERSC, 64},  {KAON_FORMAT_NERSC, 32},  {KAON_FORMAT_ILDG, 64},
               {KAON_FORMAT_ILDG, 32},   {KAON_FORMAT_SCIDAC, 64}, {KAON_FORMAT_MILC, 32},
               {KAON_FORMAT_OPENQCD, 64}};
  static const int extents[4] = {4, 6, 2, 10};
  dirac_case c;
  kaon_gauge *back = NULL;
  char folder[] = "/tmp/kaon-gauge-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/links", folder);
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 0, LINKS_RANDOM, 5));
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &back));
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    kaon_gauge_write_options options = KAON_GAUGE_WRITE_OPTIONS_INIT;
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    options.format = kinds[i].format;
    options.precision = kinds[i].precision;
    must(c.ctx, kaon_gauge_write(c.gauge, path, &options));
    must(c.ctx, kaon_gauge_read(back, path, NULL, &info));
    assert_int_equal(info.format, kinds[i].format);
    ref_complex *u = case_links(&c, back);
    const double worst = ref_max_diff(u, c.u, ref_links_size(&c.L));
    printf(" %s\n", kaon_file_format_name(kinds[i].format));
    test_below("links, written and read", worst, kinds[i].precision == 64 ? 0 : sqrt(2) * 6e-8);
    free(u);
  }
  unlink(path);
  rmdir(folder);
  kaon_gauge_destroy(&back);
  case_close(&c);
}

/* A field of floats, unitary to 1e-7 only. The header of each NERSC file must describe the links
 * in the file, which differ slightly from the field's; otherwise reading it back refuses it. */
static void nersc_headers_are_those_of_the_links_they_hold(void **state) {
  (void)state;
  static const int extents[4] = {4, 6, 2, 10};
  dirac_case c;
  kaon_gauge *rough = NULL, *back = NULL;
  kaon_observables o = KAON_OBSERVABLES_INIT, p = KAON_OBSERVABLES_INIT;
  char folder[] = "/tmp/kaon-gauge-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/links", folder);
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 0, LINKS_RANDOM, 5));
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_SINGLE, KAON_RECONSTRUCT_18, &rough));
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &back));
  must(c.ctx, kaon_gauge_copy(rough, c.gauge));
  must(c.ctx, kaon_gauge_measure(rough, &p));
  assert_true(p.unitarity > 1e-8);
  for (int variant = 0; variant < 8; variant++) {
    kaon_gauge_write_options options = KAON_GAUGE_WRITE_OPTIONS_INIT;
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    options.format = KAON_FORMAT_NERSC;
    options.rows = 2 + variant % 2;
    options.precision = variant / 2 % 2 ? 64 : 32;
    must(c.ctx, kaon_gauge_write(variant / 4 ? c.gauge : rough, path, &options));
    must(c.ctx, kaon_gauge_read(back, path, NULL, &info));
    must(c.ctx, kaon_gauge_measure(back, &o));
    printf(" %d rows, %d bits\n", info.rows, info.precision);
    assert_int_equal(info.rows, options.rows);
    assert_int_equal(info.precision, options.precision);
    test_close("plaquette", info.plaquette, o.plaquette, 0.51e-12); /* twelve decimals */
    test_close("link trace", info.link_trace, o.link_trace, 0.51e-12);
  }
  unlink(path);
  rmdir(folder);
  kaon_gauge_destroy(&rough);
  kaon_gauge_destroy(&back);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_plaquettes_are_reproduced),
      cmocka_unit_test(a_damaged_file_needs_a_word),
      cmocka_unit_test(written_fields_read_back),
      cmocka_unit_test(nersc_headers_are_those_of_the_links_they_hold),
  };
  return test_main(tests, NULL, NULL);
}
