/* test_locale.c - a program whose locale writes decimal commas: files and texts of options keep
 * their points. */
#include "test_io_common.h"

#include <kaon/kaon.h>

#include "tests/util/comma_locale.h"

static const int shape[4] = {4, 4, 2, 6};

static void write_in_locale(const field *f, const char *path, kaon_file_format format) {
  kaon_gauge_write_options o = KAON_GAUGE_WRITE_OPTIONS_INIT;
  kaon_gauge_content content = {{f->e[0], f->e[1], f->e[2], f->e[3]}, plaquette(f), link_trace(f)};
  o.format = format;
  o.precision = 64;
  o.date = "Thu Jan 01 00:00:00 1970 UTC";
  if (!comma_locale()) skip();
  const kaon_status status =
      kaon_gauge_file_write(NULL, path, &o, &content, get_link, (void *)(uintptr_t)f);
  setlocale(LC_ALL, "C");
  assert_ok(status);
}

/* The number after `word` in the file must equal `value` to 12 decimals. */
static void has_number(const char *path, const char *word, double value) {
  static char text[8192];
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  const size_t n = fread(text, 1, sizeof text - 1, in);
  fclose(in);
  for (size_t i = 0; i < n; i++)
    if (text[i] == '\0') text[i] = ' ';
  text[n] = '\0';
  const char *at = strstr(text, word);
  assert_non_null(at);
  char *end;
  const double found = strtod(at + strlen(word), &end);
  if (!(fabs(found - value) <= 1e-12) || *end == ',')
    fail_msg("%.40s where %.12f is to stand", at, value);
}

static void links_are_written_with_points_and_read_back(void **state) {
  (void)state;
  static const struct {
    kaon_file_format format;
    const char *plaquette, *trace;
  } kinds[] = {{KAON_FORMAT_NERSC, "PLAQUETTE = ", "LINK_TRACE = "},
               {KAON_FORMAT_ILDG, "<plaq>", "<linktr>"},
               {KAON_FORMAT_SCIDAC, "<plaq>", "<linktr>"}};
  field f = field_random(shape, 5);
  for (int k = 0; k < 3; k++) {
    const char *path = scratch("links");
    kaon_gauge_read_options read = KAON_GAUGE_READ_OPTIONS_INIT;
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    field g = field_new(shape);
    write_in_locale(&f, path, kinds[k].format);
    has_number(path, kinds[k].plaquette, plaquette(&f));
    has_number(path, kinds[k].trace, link_trace(&f));
    assert_true(comma_locale());
    const kaon_status status = kaon_gauge_file_read(NULL, path, &read, &info, put_link, &g);
    setlocale(LC_ALL, "C");
    assert_ok(status);
    assert_int_equal(g.links, g.volume * 4);
    unlink(path);
    free(g.u);
  }
  free(f.u);
}

static void options_are_read_and_printed_with_points(void **state) {
  (void)state;
  kaon_solver_options a = KAON_SOLVER_OPTIONS_INIT, b = KAON_SOLVER_OPTIONS_INIT;
  char text[1024];
  if (!comma_locale()) skip();
  const kaon_status parsed = kaon_options_parse(KAON_OPTIONS_SOLVER, &a, "tol=2.5e-7");
  const kaon_status printed = kaon_options_print(KAON_OPTIONS_SOLVER, &a, text, sizeof text, NULL);
  setlocale(LC_ALL, "C");
  assert_ok(parsed);
  assert_ok(printed);
  assert_true(a.tol == 2.5e-7);
  assert_non_null(strstr(text, "tol=2.5e-07"));
  assert_ok(kaon_options_parse(KAON_OPTIONS_SOLVER, &b, text));
  assert_true(b.tol == 2.5e-7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(links_are_written_with_points_and_read_back, make_scratch,
                                      remove_scratch),
      cmocka_unit_test(options_are_read_and_printed_with_points),
  };
  return test_main(tests, NULL, NULL);
}
