/* test_market_forms.c - Matrix Market files in forms that other programs write: the other triangle,
 * both triangles, other encodings, other files. */
#include "test_market_common.h"

/* A symmetric file has one triangle, whichever it is. With both, it says what is wrong, and the
 * remedy that it names leads to the matrix: `cure` is the text after it. */
static void a_symmetric_file_has_one_triangle(void **state) {
#define HERMITIAN "%%MatrixMarket matrix coordinate complex hermitian\n"
#define SKEW "%%MatrixMarket matrix coordinate real skew-symmetric\n"
  static const struct {
    const char *lower, *text; /* the same matrix */
    int line;                 /* where `text` is refused; 0: it is not */
    const char *said, *cure;
  } cases[] = {
      {SYMMETRIC "3 3 3\n1 1 4\n2 1 -1\n3 2 -2\n", SYMMETRIC "3 3 3\n1 1 4\n1 2 -1\n2 3 -2\n", 0,
       NULL, NULL},
      {SKEW "3 3 2\n2 1 7\n3 2 5\n", SKEW "3 3 2\n1 2 -7\n2 3 -5\n", 0, NULL, NULL},
      {HERMITIAN "2 2 2\n1 1 3 0\n2 1 1 2\n", HERMITIAN "2 2 2\n1 2 1 -2\n1 1 3 0\n", 0, NULL,
       NULL},
      {SYMMETRIC "3 3 3\n1 1 4\n2 1 -1\n3 2 -2\n",
       SYMMETRIC "3 3 5\n1 1 4\n1 2 -1\n2 1 -1\n2 3 -2\n3 2 -2\n", 5,
       "line 4, and so all the others; write 'general' on line 1",
       REAL "3 3 5\n1 1 4\n1 2 -1\n2 1 -1\n2 3 -2\n3 2 -2\n"},
      {HERMITIAN "2 2 2\n1 1 3 0\n2 1 1 2\n", HERMITIAN "2 2 3\n1 1 3 0\n2 1 1 2\n1 2 1 -2\n", 5,
       "write 'general' on line 1",
       "%%MatrixMarket matrix coordinate complex general\n2 2 3\n1 1 3 0\n2 1 1 2\n1 2 1 -2\n"},
      {SYMMETRIC "3 3 3\n1 1 4\n2 1 -1\n3 2 -2\n", SYMMETRIC "3 3 3\n1 1 4\n1 2 -1\n3 2 -2\n", 4,
       "without mirror images; exchange row and column of those above (1)",
       SYMMETRIC "3 3 3\n1 1 4\n2 1 -1\n3 2 -2\n"},
      {SKEW "3 3 2\n2 1 7\n3 2 5\n", SKEW "3 3 2\n2 1 7\n2 3 -5\n", 4,
       "negate, and exchange row and column of those above (1)", SKEW "3 3 2\n2 1 7\n3 2 5\n"},
      {SYMMETRIC "3 3 3\n1 1 4\n2 1 -1\n3 2 -2\n",
       SYMMETRIC "3 3 4\n1 1 4\n1 2 -1\n2 1 -1\n2 3 -2\n", 5,
       "leave out what is above the diagonal where its mirror image is there (1), and "
       "exchange row and column of the others (1)",
       SYMMETRIC "3 3 3\n1 1 4\n2 1 -1\n3 2 -2\n"},
      {REAL "2 2 3\n1 1 4\n1 2 -1\n2 1 -3\n", SYMMETRIC "2 2 3\n1 1 4\n1 2 -1\n2 1 -3\n", 5,
       "line 4, and their values differ; leave one of them out, or write 'general' on line 1",
       REAL "2 2 3\n1 1 4\n1 2 -1\n2 1 -3\n"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    kaon_csr *want = must_read(cases[i].lower), *have;
    const wrong w = {cases[i].text, cases[i].line, BAD, {cases[i].said}};
    if (cases[i].line > 0) check_wrong(&w, w.text, strlen(w.text), 1);
    have = must_read(cases[i].line > 0 ? cases[i].cure : cases[i].text);
    assert_same_rows(want, have);
    kaon_csr_destroy(&want);
    kaon_csr_destroy(&have);
  }
}

/* A mark of UTF-8 is skipped; UTF-16 is named, with what converts it. Bytes never reach a message. */
static void other_encodings_are_read_or_named(void **state) {
  static const char text[] = REAL "1 1 1\n1 1 7\n", utf16[] = "\xff\xfe%\0%\0M\0",
                    no_mark[] = "%\0%\0M\0", lime[] = "\x45\x67\x89\xab\0\1",
                    nersc[] = "BEGIN_HEADER\n";
  static const struct {
    const char *bytes;
    size_t size;
    const char *said;
  } cases[] = {
      {utf16, sizeof utf16, "text in UTF-16 (convert it: iconv -f UTF-16 -t UTF-8 FILE >NEW)"},
      {no_mark, sizeof no_mark, "iconv -f UTF-16LE"},
      {lime, sizeof lime, "a LIME file"},
      {nersc, sizeof nersc, "a gauge configuration (nersc), which --gauge takes"},
      {"\xef\xbb\xbf hello", 9, "bytes ef bb bf 20"},
      {"h\xe4llo\n", 6, "bytes 68 e4"}};
  char marked[sizeof text + 3] = "\xef\xbb\xbf";
  (void)state;
  kaon_csr *a = must_read(text), *b = must_read(strcat(marked, text));
  assert_same_rows(a, b);
  kaon_csr_destroy(&a);
  kaon_csr_destroy(&b);
  size_t size;
  unsigned char *gz = compressed(marked, strlen(marked), &size);
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  assert_ok(read_bytes(gz, size, &options, &a));
  kaon_csr_destroy(&a);
  free(gz);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const wrong w = {"bytes", 0, BAD, {cases[i].said}};
    check_wrong(&w, cases[i].bytes, cases[i].size, 1);
    for (const char *p = kaon_last_error(NULL); *p; p++) assert_true(*p >= 0x20 && *p < 0x7f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_symmetric_file_has_one_triangle),
      cmocka_unit_test(other_encodings_are_read_or_named),
  };
  return test_main(tests, NULL, NULL);
}
