/* test_matrix_files.c - matrices and columns of numbers go to files and back bit by bit, in the
 * caller's order whatever order the library stores. Files that cannot be a system are refused. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "test_io_common.h"

#include <kaon/kaon.h>

#include "lib/math/philox.h"
#include "sparse/files/market.h"
#include "sparse/storage/matrix.h"

static kaon_context *ctx;

static int open_all(void **state) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.threads = 2;
  options.backend = KAON_BACKEND_CPU;
  return make_scratch(state) || kaon_context_create(&options, &ctx) != KAON_OK;
}

static int close_all(void **state) {
  kaon_context_destroy(&ctx);
  return remove_scratch(state);
}

static void must_be_equal_files(const char *a, const char *b) {
  size_t na, nb;
  unsigned char *x = load_file(a, &na), *y = load_file(b, &nb);
  assert_int_equal(na, nb);
  assert_memory_equal(x, y, na);
  free(x);
  free(y);
}

/* scratch() has one buffer. */
typedef struct path {
  char text[128];
} path;
static path at(const char *name) {
  path p;
  snprintf(p.text, sizeof p.text, "%s/%s", scratch_folder, name);
  return p;
}

static double number(uint32_t i, uint32_t k) {
  const kaon_philox r = kaon_random_bits(9, i, 0, 0, k, 0);
  const double u = kaon_uniform(r.v[0], r.v[1]) - 0.5;
  return r.v[2] % 5 == 0 ? floor(100 * u) : ldexp(u, (int)(r.v[3] % 300) - 150);
}

static void matrices_come_back_bit_by_bit(void **state) {
  (void)state;
  static const char *const names[] = {"laplace2d:9", "elasticity:4", "banded:70,4", "fem:2,2,1",
                                      "convdiff3d:4,7"};
  static const struct {
    kaon_ordering ordering;
    int window;
  } orders[] = {{KAON_ORDERING_NONE, 1}, {KAON_ORDERING_NONE, 64}, {KAON_ORDERING_RCM, 0}};
  for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
    for (int o = 0; o < 3; o++) {
      kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
      kaon_matrix *made = NULL, *back = NULL;
      const path plain = at("plain.mtx"), gz = at("packed.mtx.gz"), again = at("again.mtx"),
                 first = at("first.mtx");
      options.ordering = orders[o].ordering;
      options.window = orders[o].window;
      const kaon_status status = kaon_matrix_generate(ctx, names[n], &options, &made, NULL);
      if (status == KAON_ERR_UNSUPPORTED && orders[o].ordering != KAON_ORDERING_NONE) {
        print_message("  %s\n", kaon_last_error(ctx));
        continue;
      }
      must(ctx, status);
      must(ctx, kaon_matrix_write(made, plain.text));
      must(ctx, kaon_matrix_write(made, gz.text));
      kaon_matrix_destroy(&made);
      must(ctx, kaon_matrix_read(ctx, gz.text, &options, &back));
      must(ctx, kaon_matrix_write(back, again.text));
      kaon_matrix_destroy(&back);
      must_be_equal_files(plain.text, again.text);
      if (o == 0)
        must(ctx, rename(plain.text, first.text) == 0 ? KAON_OK : KAON_ERR_IO);
      else
        must_be_equal_files(first.text, plain.text);
      unlink(plain.text);
      unlink(gz.text);
      unlink(again.text);
    }
  unlink(at("first.mtx").text);
}

/* Row by row, three entries each; SKEW has none on the diagonal. */
typedef struct mirror_case {
  int reals;
  kaon_market_symmetry symmetry;
  const char *banner;
} mirror_case;

enum { MIRROR_ROWS = 40 };

static int64_t mirrored(const mirror_case *m, int64_t *start, int64_t *column, double *values) {
  const kaon_market_symmetry kind = m->symmetry;
  int64_t count = 0;
  for (int i = 0; i < MIRROR_ROWS; i++) {
    start[i] = count;
    for (int j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= MIRROR_ROWS || (kind == KAON_MARKET_SKEW && j == i)) continue;
      const int upper = kind != KAON_MARKET_GENERAL && j < i;
      const int low = upper ? j : i, side = upper ? 2 : j - i + 1;
      double *v = values + count * m->reals;
      for (int c = 0; c < m->reals; c++)
        v[c] = number((uint32_t)low, (uint32_t)(2 * side + c)) *
               (upper && kind == KAON_MARKET_SKEW ? -1 : 1);
      if (upper && kind == KAON_MARKET_HERMITIAN) v[1] *= -1;
      if (kind == KAON_MARKET_HERMITIAN && j == i) v[1] = 0;
      column[count++] = j;
    }
  }
  start[MIRROR_ROWS] = count;
  return count;
}

static void matrices_keep_their_symmetry(void **state) {
  (void)state;
  static const mirror_case cases[] = {{1, KAON_MARKET_GENERAL, "real general\n40 40 118\n"},
                                      {1, KAON_MARKET_SYMMETRIC, "real symmetric\n40 40 79\n"},
                                      {1, KAON_MARKET_SKEW, "real skew-symmetric\n40 40 39\n"},
                                      {2, KAON_MARKET_GENERAL, "complex general\n40 40 118\n"},
                                      {2, KAON_MARKET_SYMMETRIC, "complex symmetric\n40 40 79\n"},
                                      {2, KAON_MARKET_SKEW, "complex skew-symmetric\n40 40 39\n"},
                                      {2, KAON_MARKET_HERMITIAN, "complex hermitian\n40 40 79\n"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int64_t start[MIRROR_ROWS + 1], column[3 * MIRROR_ROWS];
    double values[6 * MIRROR_ROWS];
    const int64_t count = mirrored(&cases[k], start, column, values);
    const kaon_csr_arrays arrays = {.global_rows = MIRROR_ROWS,
                                    .rows = MIRROR_ROWS,
                                    .reals = cases[k].reals,
                                    .start64 = start,
                                    .column64 = column,
                                    .values = values};
    kaon_matrix *made = NULL, *back = NULL;
    size_t size;
    must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &made));
    const path file = at("mirrored.mtx"), again = at("again.mtx");
    must(ctx, kaon_matrix_write(made, file.text));
    unsigned char *text = load_file(file.text, &size);
    char banner[96];
    snprintf(banner, sizeof banner, "%%%%MatrixMarket matrix coordinate %s", cases[k].banner);
    assert_memory_equal(text, banner, strlen(banner));
    free(text);
    kaon_market_header header;
    const kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
    kaon_bytes bytes;
    kaon_csr *csr = NULL;
    must(ctx, kaon_bytes_open(NULL, file.text, &bytes));
    must(ctx, kaon_market_read(NULL, &bytes, &options, &header, &csr));
    kaon_bytes_close(&bytes);
    assert_int_equal(csr->start[csr->rows], count);
    assert_memory_equal(csr->value, values, (size_t)(cases[k].reals * count) * sizeof *values);
    kaon_csr_destroy(&csr);
    must(ctx, kaon_matrix_read(ctx, file.text, NULL, &back));
    must(ctx, kaon_matrix_write(back, again.text));
    must_be_equal_files(file.text, again.text);
    kaon_matrix_destroy(&made);
    kaon_matrix_destroy(&back);
    unlink(file.text);
    unlink(again.text);
  }
}

/* Which a skew-symmetric file cannot spell out. */
static void a_skew_matrix_with_zeros_on_its_diagonal_is_written_whole(void **state) {
  (void)state;
  const int64_t start[] = {0, 2, 4}, column[] = {0, 1, 0, 1};
  const double values[] = {0, 2, -2, 0};
  const kaon_csr_arrays arrays = {.global_rows = 2,
                                  .rows = 2,
                                  .reals = 1,
                                  .start64 = start,
                                  .column64 = column,
                                  .values = values};
  const path file = at("skew.mtx");
  kaon_matrix *made = NULL;
  size_t size;
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &made));
  must(ctx, kaon_matrix_write(made, file.text));
  kaon_matrix_destroy(&made);
  unsigned char *text = load_file(file.text, &size);
  const char *banner = "%%MatrixMarket matrix coordinate real general\n2 2 4\n";
  assert_memory_equal(text, banner, strlen(banner));
  free(text);
  unlink(file.text);
}

static void refused(kaon_status status, kaon_status expected, const char *first,
                    const char *second) {
  print_message("  %s\n", kaon_last_error(ctx));
  assert_int_equal(status, expected);
  assert_non_null(strstr(kaon_last_error(ctx), first));
  assert_non_null(strstr(kaon_last_error(ctx), second));
}

/* Whole numbers, and entries without any, of all kinds that there are. */
static void numbers_are_whole_or_left_out_where_asked_for(void **state) {
  (void)state;
  static const int64_t start[] = {0, 2, 4, 5}, column[] = {0, 1, 0, 1, 2};
  static const double values[] = {4, -9007199254740991.0, -9007199254740991.0, 0, 7};
  static const struct {
    kaon_matrix_field field;
    const char *text;
  } wanted[] = {
      {KAON_FIELD_INTEGER,
       "%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n1 1 4\n2 1 "
       "-9007199254740991\n2 2 0\n3 3 7\n"},
      {KAON_FIELD_PATTERN,
       "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 1\n2 2\n3 3\n"}};
  kaon_csr_arrays arrays = {.global_rows = 3,
                            .rows = 3,
                            .reals = 1,
                            .start64 = start,
                            .column64 = column,
                            .values = values};
  const path file = at("numbers.mtx");
  kaon_matrix *made = NULL, *back = NULL;
  kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
  size_t size;
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &made));
  for (int k = 0; k < 2; k++) {
    must(ctx, kaon_matrix_write_as(made, wanted[k].field, file.text));
    unsigned char *text = load_file(file.text, &size);
    assert_int_equal(size, strlen(wanted[k].text));
    assert_memory_equal(text, wanted[k].text, size);
    free(text);
    must(ctx, kaon_matrix_read(ctx, file.text, NULL, &back));
    must(ctx, kaon_matrix_describe(back, &info));
    assert_int_equal(info.entries, 5);
    kaon_matrix_destroy(&back);
  }
  kaon_matrix_destroy(&made);
  unlink(file.text);
  static const double parts[] = {4, 1.5, 1.5, 0, 7, 0, 0, 0, 0, 0};
  arrays.values = parts;
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &made));
  refused(kaon_matrix_write_as(made, KAON_FIELD_INTEGER, file.text), KAON_ERR_ARGUMENT,
          "row 1, column 2 is 1.5", "whole");
  refused(kaon_matrix_write_as(made, (kaon_matrix_field)7, file.text), KAON_ERR_ARGUMENT, "field 7",
          "PATTERN");
  kaon_matrix_destroy(&made);
  arrays.reals = 2;
  must(ctx, kaon_matrix_create_csr(ctx, &arrays, NULL, &made));
  refused(kaon_matrix_write_as(made, KAON_FIELD_INTEGER, file.text), KAON_ERR_ARGUMENT, "complex",
          "KAON_FIELD_FULL");
  must(ctx, kaon_matrix_write_as(made, KAON_FIELD_PATTERN, file.text));
  kaon_matrix_destroy(&made);
  unlink(file.text);
}

static void own_sides_come_where_there_are_some(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int own;
  } cases[] = {{"laplace3d:4", 0},
               {"elasticity:3", 1},
               {"fem:1,1,2", 1},
               {"trefethen:50", 0},
               {"banded:30,2", 1}};
  for (int c = 0; c < 5; c++) {
    kaon_matrix *matrix = NULL;
    double *own = NULL;
    kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
    must(ctx, kaon_matrix_generate(ctx, cases[c].name, NULL, &matrix, &own));
    assert_int_equal(own != NULL, cases[c].own);
    must(ctx, kaon_matrix_describe(matrix, &info));
    if (own != NULL) { /* all are there */
      double sum = 0;
      for (int64_t i = 0; i < info.rows; i++) sum += own[i] * own[i];
      assert_true(isfinite(sum) && sum > 0);
    }
    free(own);
    kaon_matrix_destroy(&matrix);
  }
}

static void columns_come_back_bit_by_bit(void **state) {
  (void)state;
  enum { ROWS = 20000, COLUMNS = 3 };
  double *values = malloc(2 * ROWS * COLUMNS * sizeof *values);
  for (int i = 0; i < 2 * ROWS * COLUMNS; i++) values[i] = number((uint32_t)i, 77);
  values[5] = -0.0;
  values[6] = 5e-324;
  values[7] = -1.7976931348623157e308;
  for (int reals = 1; reals <= 2; reals++)
    for (int packed = 0; packed < 2; packed++) {
      const path file = at(packed ? "columns.mtx.gz" : "columns.mtx");
      int64_t rows = 0, columns = 0;
      int found = 0;
      double *back = NULL;
      must(ctx, kaon_array_write(ctx, file.text, ROWS, COLUMNS, reals, values));
      must(ctx, kaon_array_read(ctx, file.text, &rows, &columns, &found, &back));
      assert_int_equal(rows, ROWS);
      assert_int_equal(columns, COLUMNS);
      assert_int_equal(found, reals);
      assert_memory_equal(back, values, ROWS * COLUMNS * (size_t)reals * sizeof *values);
      free(back);
      unlink(file.text);
    }
  free(values);
}

static void save(const char *file, const char *text) {
  FILE *f = fopen(file, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void sparse_columns_are_filled_up(void **state) {
  (void)state;
  const path file = at("sparse.mtx");
  int64_t rows, columns;
  int reals;
  double *values = NULL;
  save(file.text, "%%MatrixMarket matrix coordinate real general\n4 2 3\n2 1 5\n4 2 7\n2 1 1\n");
  must(ctx, kaon_array_read(ctx, file.text, &rows, &columns, &reals, &values));
  const double expected[] = {0, 6, 0, 0, 0, 0, 0, 7};
  assert_int_equal(rows * columns * reals, 8);
  assert_memory_equal(values, expected, sizeof expected);
  free(values);
  save(file.text, "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n");
  must(ctx, kaon_array_read(ctx, file.text, &rows, &columns, &reals, &values));
  const double full[] = {1, 0, 2, 3, 2, -3, 4, 0};
  assert_int_equal(reals, 2);
  assert_memory_equal(values, full, sizeof full);
  free(values);
  unlink(file.text);
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  const path file = at("bad.mtx"), none = at("none.mtx"), folder = at("none/out.mtx"),
             nowhere = at("nowhere.mtx");
  kaon_matrix *matrix = NULL;
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  int64_t rows, columns;
  int reals;
  double *values = NULL;
  save(file.text, "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
  refused(kaon_matrix_read(ctx, file.text, NULL, &matrix), KAON_ERR_UNSUPPORTED,
          "line 2: 2 rows and 3 columns", "square");
  assert_null(matrix);
  save(file.text, "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 1 2\n");
  options.refuse_duplicates = 1;
  refused(kaon_matrix_read(ctx, file.text, &options, &matrix), KAON_ERR_FORMAT, "line 4", "line 3");
  must(ctx, kaon_matrix_read(ctx, file.text, NULL, &matrix));
  refused(kaon_matrix_write(matrix, folder.text), KAON_ERR_IO, "none/out.mtx", "folder");
  refused(kaon_matrix_write(matrix, ""), KAON_ERR_ARGUMENT, "no output file", "path");
  assert_int_equal(symlink(none.text, nowhere.text), 0);
  refused(kaon_matrix_write(matrix, nowhere.text), KAON_ERR_IO, "nowhere.mtx", "symbolic link");
  save(none.text, "old"); /* a link that leads somewhere stays */
  must(ctx, kaon_matrix_write(matrix, nowhere.text));
  must_be_equal_files(none.text, nowhere.text);
  assert_int_equal(unlink(none.text) + unlink(nowhere.text), 0);
  kaon_matrix_destroy(&matrix);
  refused(kaon_matrix_read(ctx, none.text, NULL, &matrix), KAON_ERR_IO, "none.mtx", "path");
  refused(kaon_matrix_read(ctx, "", NULL, &matrix), KAON_ERR_ARGUMENT, "no file name", "path");
  refused(kaon_matrix_generate(ctx, "hilbert:3", NULL, &matrix, NULL), KAON_ERR_ARGUMENT,
          "'hilbert:3'", "fem:");
  refused(kaon_matrix_generate(ctx, "", NULL, &matrix, NULL), KAON_ERR_ARGUMENT, "''", "fem:");
  refused(kaon_array_read(ctx, none.text, &rows, &columns, &reals, &values), KAON_ERR_IO,
          "none.mtx", "path");
  refused(kaon_array_write(ctx, file.text, 2, 1, 3, (double[]){1, 2}), KAON_ERR_ARGUMENT, "3 reals",
          "1 (real)");
  refused(kaon_array_write(ctx, file.text, 2, 1, 1, NULL), KAON_ERR_ARGUMENT, "2 rows",
          "no values");
  unlink(file.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrices_come_back_bit_by_bit),
      cmocka_unit_test(matrices_keep_their_symmetry),
      cmocka_unit_test(a_skew_matrix_with_zeros_on_its_diagonal_is_written_whole),
      cmocka_unit_test(numbers_are_whole_or_left_out_where_asked_for),
      cmocka_unit_test(own_sides_come_where_there_are_some),
      cmocka_unit_test(columns_come_back_bit_by_bit),
      cmocka_unit_test(sparse_columns_are_filled_up),
      cmocka_unit_test(what_cannot_be_is_refused),
  };
  return test_main(tests, open_all, close_all);
}
