/* test_market.c - Matrix Market files in every form are read exactly as they stand. A wrong file
 * is refused by a sentence with the line, both values and the remedy. */
#include "test_market_common.h"

#include <locale.h>
#include <sys/resource.h>

#include "lib/io/decimal.h"
#include "lib/math/philox.h"
#include "tests/util/comma_locale.h"

/* ---- what is right ---- */

static void coordinate_files_are_read_in_every_field_and_symmetry(void **state) {
  (void)state;
  kaon_csr *a = must_read(REAL "2 3 4\n1 1 1.5\n2 3 -2e-3\n1 2 3\n2 2 0\n");
  assert_int_equal(a->rows, 2);
  assert_int_equal(a->columns, 3);
  assert_int_equal(a->start[2], 4); /* the zero that stands there stays */
  assert_true(entry(a, 0, 0, 0) == 1.5 && entry(a, 0, 1, 0) == 3 && entry(a, 1, 2, 0) == -2e-3);
  kaon_csr_destroy(&a);

  a = must_read(SYMMETRIC "3 3 4\n1 1 1\n2 1 2\n3 2 3\n3 3 4\n");
  assert_int_equal(a->start[3], 6);
  assert_true(entry(a, 0, 1, 0) == 2 && entry(a, 1, 0, 0) == 2 && entry(a, 1, 2, 0) == 3);
  kaon_csr_destroy(&a);

  a = must_read("%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 7\n3 1 -1\n");
  assert_true(entry(a, 0, 1, 0) == -7 && entry(a, 1, 0, 0) == 7 && entry(a, 0, 2, 0) == 1);
  assert_int_equal(a->start[3], 4);
  kaon_csr_destroy(&a);

  a = must_read(
      "%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 1 0\n2 1 2 3\n2 2 4 0\n");
  assert_int_equal(a->reals, 2);
  assert_true(entry(a, 0, 1, 0) == 2 && entry(a, 0, 1, 1) == -3 && entry(a, 1, 0, 1) == 3);
  kaon_csr_destroy(&a);

  a = must_read("%%MatrixMarket matrix coordinate complex skew-symmetric\n2 2 1\n2 1 2 3\n");
  assert_true(entry(a, 0, 1, 0) == -2 && entry(a, 0, 1, 1) == -3);
  kaon_csr_destroy(&a);

  a = must_read("%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 2 3\n");
  assert_true(entry(a, 0, 1, 0) == 2 && entry(a, 0, 1, 1) == 3);
  kaon_csr_destroy(&a);

  a = must_read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n");
  assert_true(entry(a, 0, 1, 0) == 1 && entry(a, 1, 0, 0) == 1 && entry(a, 1, 1, 0) == 0);
  kaon_csr_destroy(&a);
}

static void arrays_are_read_in_every_symmetry(void **state) {
  (void)state;
  kaon_csr *a = must_read(ARRAY "2 3\n1\n2\n3\n0\n5\n6\n");
  assert_int_equal(a->start[2], 5); /* an array's zeros are no entries */
  assert_true(entry(a, 1, 0, 0) == 2 && entry(a, 0, 1, 0) == 3 && entry(a, 1, 2, 0) == 6);
  kaon_csr_destroy(&a);
  a = must_read("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n");
  assert_true(entry(a, 0, 1, 0) == 2 && entry(a, 1, 1, 0) == 3);
  kaon_csr_destroy(&a);
  a = must_read("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
  assert_true(entry(a, 1, 0, 0) == 1 && entry(a, 2, 0, 0) == 2 && entry(a, 1, 2, 0) == -3);
  kaon_csr_destroy(&a);
  a = must_read("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 5\n3 0\n");
  assert_true(entry(a, 0, 1, 1) == -5 && entry(a, 1, 0, 1) == 5);
  kaon_csr_destroy(&a);
  /* found by fuzzing: every one of the columns was gone through */
  a = must_read("%%MatrixMarket matrix array complex general\n0 2147483647\n");
  assert_true(a->rows == 0 && a->columns == 2147483647 && a->start[0] == 0);
  kaon_csr_destroy(&a);
}

static void text_is_forgiven_what_does_no_harm(void **state) {
  (void)state;
  static const char *const same[] = {
      "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 -0.5\n",
      "%%MatrixMarket matrix coordinate real general\r\n2 2 2\r\n1 1 1\r\n2 2 -0.5\r\n",
      "%%matrixmarket MATRIX Coordinate\tREAL  General \n%\n% words\n\n  % more\n 2  2\t2 \n\n\n1 "
      "1 "
      "1.0D+00\n% between\n\t2 2 -5.0d-1  \n\n",
      "%%MatrixMarket matrix coordinate real general\n2 2 2\n2 2 -.5E0\n1 1 +1.",
      "%%MatrixMarket matrix coordinate real general\n0002 2 2\n001 1 "
      "1.00000000000000000000000000000000000\n2 02 -5000000000000000000000e-22\n"};
  kaon_csr *first = must_read(same[0]);
  for (size_t i = 1; i < sizeof same / sizeof same[0]; i++) {
    kaon_csr *other = must_read(same[i]);
    assert_same_rows(first, other);
    kaon_csr_destroy(&other);
  }
  kaon_csr_destroy(&first);
  kaon_csr *empty = must_read(REAL "0 0 0\n");
  assert_int_equal(empty->rows, 0);
  kaon_csr_destroy(&empty);
  empty = must_read(REAL "3 2 0\n% nothing\n");
  assert_int_equal(empty->start[3], 0);
  kaon_csr_destroy(&empty);
}

static void duplicates_are_added_or_refused(void **state) {
  (void)state;
  static const char text[] = REAL "% comment\n3 3 4\n2 3 1\n1 1 5\n\n2 1 4\n2 3 10\n";
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_csr *a = must_read(text);
  assert_int_equal(a->start[3], 3);
  assert_true(entry(a, 1, 2, 0) == 11);
  kaon_csr_destroy(&a);
  options.duplicates = KAON_CSR_REFUSE;
  assert_int_equal(read_text(text, &options, &a), KAON_ERR_FORMAT);
  assert_null(a);
  print_message("%s\n", kaon_last_error(NULL));
  assert_non_null(strstr(kaon_last_error(NULL), "line 8"));
  assert_non_null(strstr(kaon_last_error(NULL), "line 4"));
  assert_non_null(strstr(kaon_last_error(NULL), "row 2 and column 3"));
}

/* ---- what is wrong ---- */

static const wrong wrongs[] = {
    {"", 0, BAD, {"empty", "%%MatrixMarket"}},
    {"1 1 1\n", 0, BAD, {"begins with '1", "%%MatrixMarket"}},
    {"%MatrixMarket matrix coordinate real general\n", 0, BAD, {"begins with '%"}},
    {"%%MatrixMarket vector coordinate real general\n", 1, KAON_ERR_UNSUPPORTED, {"'vector'"}},
    {"%%MatrixMarket matrix sparse real general\n", 1, BAD, {"'sparse'", "coordinate, array"}},
    {"%%MatrixMarket matrix coordinate quaternion general\n", 1, BAD, {"'quaternion'", "pattern"}},
    {"%%MatrixMarket matrix coordinate real\n", 1, BAD, {"''", "hermitian"}},
    {"%%MatrixMarket matrix coordinate real general extra\n", 1, BAD, {"'extra'", "remove"}},
    {"%%MatrixMarket matrix array pattern general\n", 1, BAD, {"array", "pattern", "'coordinate'"}},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", 1, BAD, {"'skew-symmetric'"}},
    {"%%MatrixMarket matrix coordinate real hermitian\n", 1, BAD, {"'complex'", "'real'"}},
    {REAL, 1, BAD, {"sizes"}},
    {REAL "% only words\n\n", 3, BAD, {"sizes"}},
    {REAL "2 2\n", 2, BAD, {"entries is missing"}},
    {REAL "2\n", 2, BAD, {"columns is missing"}},
    {REAL "-2 2 1\n", 2, BAD, {"rows is '-2'", "0 and more"}},
    {REAL "2 2 -1\n", 2, BAD, {"entries is '-1'"}},
    {REAL "2 2.5 1\n", 2, BAD, {"columns is '2.5'"}},
    {REAL "2 2 1e3\n", 2, BAD, {"entries is '1e3'"}},
    {REAL "2 2 99999999999999999999\n", 2, BAD, {"99999999999999999999", "beyond"}},
    {REAL "99999999999999999999999999999999 2 1\n", 2, BAD, {"beyond"}},
    {REAL "2147483648 2 1\n1 1 1\n", 2, KAON_ERR_UNSUPPORTED, {"2147483648", "2147483647"}},
    {REAL "2 2 1 7\n1 1 1\n", 2, BAD, {"'7'"}},
    {REAL "2 2 500\n1 1 1\n", 2, BAD, {"500 entries", "bytes"}},
    {SYMMETRIC "2 3 1\n1 1 1\n", 2, BAD, {"2 rows and 3 columns", "'general'"}},
    {REAL "2 2 3\n1 1 1\n2 2 1\n\n", 5, BAD, {"2 of the 3 entries of line 2"}},
    {REAL "2 2 1\n1 1 1\n% words\n2 2 1\n", 5, BAD, {"1 of line 2", "remove"}},
    {REAL "2 2 1\n0 1 1\n", 3, BAD, {"row is '0'", "1 to 2", "line 2"}},
    {REAL "2 2 1\n1 0 1\n", 3, BAD, {"column is '0'", "1 to 2"}},
    {REAL "2 3 1\n3 1 1\n", 3, BAD, {"row is '3'", "1 to 2"}},
    {REAL "2 3 1\n2 4 1\n", 3, BAD, {"column is '4'", "1 to 3"}},
    {REAL "2 2 1\n-1 1 1\n", 3, BAD, {"row is '-1'"}},
    {REAL "2 2 1\n1.0 1 1\n", 3, BAD, {"row is '1.0'"}},
    {REAL "2 2 1\n99999999999999999999 1 1\n", 3, BAD, {"row is '99999999999999999999'"}},
    {REAL "2 2 1\n1 x 1\n", 3, BAD, {"column is 'x'"}},
    {REAL "2 2 1\n1\n", 3, BAD, {"column is missing"}},
    {REAL "2 2 1\n1 1\n", 3, BAD, {"missing", "row, column and value"}},
    {REAL "2 2 1\n1 1 1 1\n", 3, BAD, {"'1' follows", "remove"}},
    {REAL "2 2 1\n1 1 1.5abc\n", 3, BAD, {"'1.5abc'"}},
    {REAL "2 2 1\n1 1 1e\n", 3, BAD, {"'1e'"}},
    {REAL "2 2 1\n1 1 1,5\n", 3, BAD, {"'1,5'"}},
    {REAL "2 2 1\n1 1 0x10\n", 3, BAD, {"'0x10'"}},
    {REAL "2 2 1\n1 1 .\n", 3, BAD, {"'.'"}},
    {REAL "2 2 1\n1 1 --1\n", 3, BAD, {"'--1'"}},
    {REAL "2 2 2\n1 1 1\n2 2 nan\n", 4, KAON_ERR_NOT_FINITE, {"'nan'"}},
    {REAL "2 2 1\n1 1 -Inf\n", 3, KAON_ERR_NOT_FINITE, {"'-Inf'"}},
    {REAL "2 2 1\n1 1 1e309\n", 3, KAON_ERR_NOT_FINITE, {"'1e309'", "1.8e308"}},
    {REAL "2 2 1\n1 1 -1D+400\n", 3, KAON_ERR_NOT_FINITE, {"'-1D+400'"}},
    {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n",
     3,
     BAD,
     {"'1.5'", "'integer'", "'real'"}},
    {"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1\n", 3, BAD, {"missing"}},
    {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n", 3, BAD, {"'1' follows"}},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 0\n",
     3,
     BAD,
     {"row 2 and column 2", "diagonal", "remove"}},
    {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 1 0.25\n",
     3,
     BAD,
     {"row 2", "0.25"}},
    {"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n% words\n2 5\n3 0.5\n",
     6,
     BAD,
     {"row 2", "0.5"}},
    {ARRAY "2 2\n1\n2\n3\n", 5, BAD, {"3 of the 4 entries"}},
    {ARRAY "2 2\n1\n2\n3\n4\n5\n", 7, BAD, {"4 of line 2"}},
    {ARRAY "2 2\n1 2\n3 4\n", 3, BAD, {"'2' follows", "one value"}},
    {ARRAY "2 2 4\n1\n2\n3\n4\n", 2, BAD, {"'4'", "rows and columns"}},
    {ARRAY "2000000 2000000\n1\n", 2, BAD, {"4000000000000"}},
    {REAL "2 2 1\n1 1 \x01\x02\n",
     3,
     BAD,
     {"'?"
      "?'"}}};

static void every_malformed_file_is_answered_with_its_line(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
    const wrong *w = &wrongs[i];
    check_wrong(w, w->text, strlen(w->text), 1);
    size_t size;
    unsigned char *gz = compressed(w->text, strlen(w->text), &size);
    if (!strstr(w->text, " 500\n") && strlen(w->text) > 0 && w->said[0][0] != '4')
      check_wrong(w, gz, size, 0); /* but for those that know how much a plain file holds */
    free(gz);
  }
}

static void nul_bytes_and_long_lines_are_refused(void **state) {
  (void)state;
  static const char nul[] = REAL "2 2 1\n1 1 \0 1\n";
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_csr *csr = NULL;
  assert_int_equal(read_bytes(nul, sizeof nul - 1, &options, &csr), KAON_ERR_FORMAT);
  print_message("%s\n", kaon_last_error(NULL));
  assert_non_null(strstr(kaon_last_error(NULL), "line 3"));

  enum { LONG = 9 << 20 };
  char *text = malloc(LONG + 200);
  for (int where = 0; where < 2; where++) { /* a comment, an entry */
    const int head = sprintf(text, "%s%s", REAL, where ? "2 2 1\n1 1" : "%");
    memset(text + head, ' ', LONG);
    strcpy(text + head + LONG, where ? "1\n" : "\n2 2 1\n1 1 1\n");
    assert_int_equal(read_text(text, &options, &csr), KAON_ERR_FORMAT);
    print_message("%s\n", kaon_last_error(NULL));
    assert_non_null(strstr(kaon_last_error(NULL), where ? "line 3" : "line 2"));
    assert_non_null(strstr(kaon_last_error(NULL), "1048576"));
  }
  /* A megabyte is no reason. */
  const int head = sprintf(text, "%s%%", REAL);
  memset(text + head, 'x', 1 << 20);
  strcpy(text + head + (1 << 20) - 2, "\n1 1 1\n1 1 7\n");
  assert_ok(read_text(text, &options, &csr));
  kaon_csr_destroy(&csr);
  free(text);
}

static void other_shapes_and_too_much_memory_are_refused_before_entries(void **state) {
  (void)state;
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_csr *csr = NULL;
  options.square = 1;
  assert_int_equal(read_text(REAL "2 3 1\nnonsense\n", &options, &csr), KAON_ERR_UNSUPPORTED);
  print_message("%s\n", kaon_last_error(NULL));
  assert_non_null(strstr(kaon_last_error(NULL), "2 rows and 3 columns"));
  options.square = 0;
  options.memory = 1000000;
  assert_int_equal(read_text(REAL "2000000 2000000 1\n1 1 1\n", &options, &csr), KAON_ERR_MEMORY);
  print_message("%s\n", kaon_last_error(NULL));
  assert_non_null(strstr(kaon_last_error(NULL), "0.016 GB"));
  assert_non_null(strstr(kaon_last_error(NULL), "0.001 GB"));
}

/* Found by fuzzing: 4.8 GB were asked for, and looked through. */
static void rows_without_columns_take_no_room(void **state) {
  (void)state;
  static const char text[] = REAL "600000000 0 0\n";
  kaon_bytes bytes;
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_market_header header;
  struct rusage before, after;
  double *values = NULL;
  options.duplicates = KAON_CSR_REFUSE;
  kaon_bytes_from_memory(NAME, text, sizeof text - 1, &bytes);
  getrusage(RUSAGE_SELF, &before);
  assert_ok(kaon_market_read_dense(NULL, &bytes, &options, &header, &values));
  getrusage(RUSAGE_SELF, &after);
  assert_int_equal(header.rows, 600000000);
  assert_int_equal(header.columns, 0);
  assert_true(after.ru_maxrss - before.ru_maxrss < 100000); /* KiB */
  free(values);
}

/* Every rank collects all of an array, and twice its share of a triangle: its rows and its
 * columns. */
static void memory_of_ranks_is_counted(void **state) {
  (void)state;
  enum { N = 40 };
  char array[N * N * 2 + 100], triangle[N * N * 8 + 200];
  size_t at = (size_t)sprintf(array, "%s%d %d\n", ARRAY, N, N);
  for (int i = 0; i < N * N; i++) at += (size_t)sprintf(array + at, "1\n");
  at = (size_t)sprintf(triangle, "%s%d %d %d\n", SYMMETRIC, N, N, N * (N + 1) / 2);
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= i; j++) at += (size_t)sprintf(triangle + at, "%d %d 1\n", i, j);
  const struct {
    const char *text;
    int64_t collecting;
  } files[] = {{array, 8 * N * N}, {triangle, 16 * (2 * (N * (N + 1) / 2 / 8) + 2)}};
  for (int f = 0; f < 2; f++)
    for (int enough = 0; enough < 2; enough++) {
      kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
      kaon_csr *csr = NULL;
      options.ranks = 8, options.rank = 3;
      const double each = f == 0 ? N * N / 8.0 : 2 * (N * (N + 1) / 2) / 8.0;
      const double keep = each * 12 + 8.0 * N / 8;
      options.memory = files[f].collecting + (int64_t)keep + (enough ? 1 : -1);
      assert_int_equal(read_text(files[f].text, &options, &csr),
                       enough ? KAON_OK : KAON_ERR_MEMORY);
      kaon_csr_destroy(&csr);
    }
}

/* ---- compressed ---- */
/* A random matrix in text: n rows, some entries each. */
static char *random_text(int n, int each, size_t *size) {
  char *text = malloc((size_t)n * (size_t)each * 64 + 200);
  size_t at = (size_t)sprintf(text, "%s%d %d %d\n", REAL, n, n, n * each);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < each; k++) {
      const kaon_philox r = kaon_random_bits(3, i, 0, 0, (uint32_t)k, 0);
      const int digits = (int)(r.v[3] % 17) + 1;
      at += (size_t)sprintf(text + at, "%d %d %.*g\n", i + 1, (int)(r.v[2] % (unsigned)n) + 1,
                            digits, kaon_uniform(r.v[0], r.v[1]) - 0.5);
    }
  *size = at;
  return text;
}

static void blocks_threads_and_compression_change_nothing(void **state) {
  (void)state;
  size_t size, gz_size;
  char *text = random_text(500, 7, &size);
  unsigned char *gz = compressed(text, size, &gz_size);
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_csr *plain = NULL, *other = NULL;
  assert_ok(read_bytes(text, size, &options, &plain));
  static const size_t blocks[] = {256, 1000, 4096, 1 << 20};
  for (int b = 0; b < 4; b++)
    for (int threads = 1; threads < 5; threads++) {
      options.block = blocks[b];
      options.threads = threads;
      assert_ok(read_bytes(text, size, &options, &other));
      assert_same_rows(plain, other);
      kaon_csr_destroy(&other);
      assert_ok(read_bytes(gz, gz_size, &options, &other));
      assert_same_rows(plain, other);
      kaon_csr_destroy(&other);
    }
  options = (kaon_market_options)KAON_MARKET_OPTIONS_INIT;
  for (options.ranks = 1; options.ranks < 8; options.ranks += 2) { /* rows of parts */
    int64_t row = 0;
    for (options.rank = 0; options.rank < options.ranks; options.rank++) {
      assert_ok(read_bytes(text, size, &options, &other));
      for (int64_t i = 0; i < other->rows; i++, row++)
        for (int64_t e = other->start[i]; e < other->start[i + 1]; e++) {
          const int64_t at = plain->start[row] + e - other->start[i];
          assert_int_equal(other->column[e], plain->column[at]);
          assert_true(other->value[e] == plain->value[at]);
        }
      kaon_csr_destroy(&other);
    }
    assert_int_equal(row, 500);
  }
  kaon_csr_destroy(&plain);
  free(gz);
  free(text);
}

static void members_follow_one_another(void **state) {
  (void)state;
  static const char head[] = REAL "2 2 2\n1 1 ", tail[] = "1\n2 2 2\n";
  size_t one, two;
  unsigned char *a = compressed(head, strlen(head), &one), *b = compressed(tail, 8, &two);
  unsigned char *both = calloc(1, one + two + 600);
  memcpy(both, a, one);
  memcpy(both + one, b, two);
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_csr *csr = NULL;
  assert_ok(read_bytes(both, one + two + 512, &options, &csr)); /* zeros of a tape behind them */
  assert_true(entry(csr, 0, 0, 0) == 1 && entry(csr, 1, 1, 0) == 2);
  kaon_csr_destroy(&csr);
  both[one + two + 5] = 1;
  assert_int_equal(read_bytes(both, one + two + 512, &options, &csr), KAON_ERR_FORMAT);
  print_message("%s\n", kaon_last_error(NULL));
  free(a);
  free(b);
  free(both);
}

static void a_damaged_gzip_is_refused(void **state) {
  (void)state;
  size_t size, gz_size;
  char *text = random_text(100, 3, &size);
  unsigned char *gz = compressed(text, size, &gz_size);
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_csr *csr = NULL;
  for (size_t cut = 2; cut < gz_size; cut += 41) {
    assert_int_equal(read_bytes(gz, cut, &options, &csr), KAON_ERR_FORMAT);
    assert_non_null(strstr(kaon_last_error(NULL), "truncated"));
  }
  print_message("%s\n", kaon_last_error(NULL));
  gz[gz_size / 2] ^= 0x10; /* found by the code, or by the checksum */
  assert_int_equal(read_bytes(gz, gz_size, &options, &csr), KAON_ERR_FORMAT);
  print_message("%s\n", kaon_last_error(NULL));
  free(gz);
  free(text);
}

static void a_decompression_bomb_is_refused(void **state) {
  (void)state;
  enum { BOMB = 64 << 20 };
  static const char *const heads[] = {REAL "%", REAL "2 2 1\n1 1 1\n%"};
  char *text = malloc(BOMB);
  for (int i = 0; i < 2; i++) {
    memset(text, '\n', BOMB);
    memcpy(text, heads[i], strlen(heads[i]));
    size_t size;
    unsigned char *gz = compressed(text, BOMB, &size);
    kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
    kaon_csr *csr = NULL;
    assert_true(size < BOMB / 500);
    assert_int_equal(read_bytes(gz, size, &options, &csr), KAON_ERR_FORMAT);
    print_message("%s\n", kaon_last_error(NULL));
    assert_non_null(strstr(kaon_last_error(NULL), "inflates to more"));
    free(gz);
  }
  free(text);
}

/* ---- numbers ---- */

/* Digits up to the longest line: 767 of them can matter for a double, and the rest decides a tie.
 */
static void numbers_of_any_length_are_read(void **state) {
  (void)state;
  enum { LINE = 1 << 20 };
  static const int lengths[] = {19, 1000, 1099, 1100, 1101, 5000, LINE - 16};
  char *text = malloc(LINE + 200);
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
    for (int tie = 0; tie < 2; tie++) {
      const int head = sprintf(text, "%s1 1 1\n1 1 %s", REAL, tie ? "9007199254740993." : "2.");
      const int digits = lengths[k] - 16 * tie > 0 ? lengths[k] - 16 * tie : 1;
      memset(text + head, tie ? '0' : '3', (size_t)digits);
      strcpy(text + head + digits, tie ? "1\n" : "\n");
      kaon_csr *a = must_read(text);
      assert_true(entry(a, 0, 0, 0) == (tie ? 9007199254740994.0 : 7.0 / 3));
      kaon_csr_destroy(&a);
    }
  free(text);
}

static void the_locale_changes_nothing(void **state) {
  (void)state;
  if (!comma_locale()) skip();
  kaon_csr *a = must_read(REAL "1 1 1\n1 1 1.2345678901234567890123\n");
  char text[KAON_DECIMAL_CAPACITY];
  const int length = kaon_decimal_write(0.125, text);
  setlocale(LC_ALL, "C");
  assert_true(entry(a, 0, 0, 0) == 1.2345678901234567890123);
  assert_true(length == 5 && memcmp(text, "0.125", 5) == 0);
  kaon_csr_destroy(&a);
}

/* ---- files of others ---- */

static void shared_matrices_are_as_their_manifest_says(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t n, entries;
    int symmetric;
  } files[] = {
      {"sparse/Chem97ZtZ.mtx", 2541, 7361, 1},    {"sparse/Trefethen_2000.mtx", 2000, 41906, 1},
      {"sparse/add32.mtx", 4960, 23884, 0},       {"sparse/bar.mtx", 600, 23402, 1},
      {"sparse/fv1.mtx", 9604, 85264, 1},         {"sparse/fv3.mtx", 9801, 87025, 1},
      {"sparse/ldg_diffusion.mtx", 966, 35338, 1}};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    char path[1024];
    kaon_bytes bytes;
    kaon_market_header header;
    kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
    kaon_csr *csr = NULL, *mirrored = NULL;
    NEED_DATA(files[i].name, path);
    options.duplicates = KAON_CSR_REFUSE;
    options.threads = 2;
    assert_ok(kaon_bytes_open(NULL, path, &bytes));
    assert_ok(kaon_market_read(NULL, &bytes, &options, &header, &csr));
    kaon_bytes_close(&bytes);
    assert_int_equal(csr->rows, files[i].n);
    assert_int_equal(csr->columns, files[i].n);
    assert_int_equal(csr->start[csr->rows], files[i].entries);
    assert_int_equal(header.symmetry == KAON_MARKET_SYMMETRIC, files[i].symmetric);
    assert_ok(kaon_csr_transpose(NULL, csr, 0, &mirrored));
    if (files[i].symmetric) assert_same_rows(csr, mirrored);
    kaon_csr_destroy(&csr);
    kaon_csr_destroy(&mirrored);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(coordinate_files_are_read_in_every_field_and_symmetry),
      cmocka_unit_test(arrays_are_read_in_every_symmetry),
      cmocka_unit_test(text_is_forgiven_what_does_no_harm),
      cmocka_unit_test(duplicates_are_added_or_refused),
      cmocka_unit_test(every_malformed_file_is_answered_with_its_line),
      cmocka_unit_test(nul_bytes_and_long_lines_are_refused),
      cmocka_unit_test(other_shapes_and_too_much_memory_are_refused_before_entries),
      cmocka_unit_test(rows_without_columns_take_no_room),
      cmocka_unit_test(memory_of_ranks_is_counted),
      cmocka_unit_test(blocks_threads_and_compression_change_nothing),
      cmocka_unit_test(members_follow_one_another),
      cmocka_unit_test(a_damaged_gzip_is_refused),
      cmocka_unit_test(a_decompression_bomb_is_refused),
      cmocka_unit_test(numbers_of_any_length_are_read),
      cmocka_unit_test(the_locale_changes_nothing),
      cmocka_unit_test(shared_matrices_are_as_their_manifest_says),
  };
  return test_main(tests, make_scratch, remove_scratch);
}
