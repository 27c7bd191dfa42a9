/* test_generate.c - generated matrices: shapes, numbers of entries, row sums, symmetry, and
 * spectra and energies known from theory. Finite elements agree with files of other authors. The
 * rows are the same when made in parts and by several threads. */
#include <math.h>
#include <string.h>

#include "test_io_common.h"
#include "tests/util/test_util.h"

#include "sparse/generate/generate_matrix.h"
#include "sparse/files/market.h"
#include <complex.h>
#define lapack_complex_float float complex
#define lapack_complex_double double complex
#include <lapacke.h>

static kaon_csr *make(const char *name, double **own) {
  kaon_generator *g = NULL;
  kaon_csr *csr = NULL;
  assert_ok(kaon_generator_create(NULL, name, &g));
  assert_ok(kaon_generate_rows(NULL, g, 0, g->rows, 2, &csr, own));
  assert_true(own == NULL || (*own != NULL) == g->has_rhs);
  kaon_generator_destroy(&g);
  return csr;
}

static double entry(const kaon_csr *a, int64_t i, int64_t j) {
  const int64_t at = kaon_csr_find(a, i, (int32_t)j);
  return at < 0 ? 0 : a->value[at];
}

static void apply(const kaon_csr *a, const double *x, double *y) {
  for (int64_t i = 0; i < a->rows; i++) {
    y[i] = 0;
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) y[i] += a->value[n] * x[a->column[n]];
  }
}

static double energy(const kaon_csr *a, const double *x) {
  double *y = malloc((size_t)a->rows * sizeof *y), sum = 0;
  apply(a, x, y);
  for (int64_t i = 0; i < a->rows; i++) sum += x[i] * y[i];
  free(y);
  return sum;
}

static int is_symmetric(const kaon_csr *a) {
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++)
      if (entry(a, a->column[n], i) != a->value[n]) return 0;
  return 1;
}

static const char *const small[] = {
    "laplace2d:1",     "laplace2d:7", "laplace3d:1",  "laplace3d:6",    "laplace3d27:5",
    "convdiff3d:5,40", "cavity3d:4",  "elasticity:2", "elasticity:5",   "trefethen:1",
    "trefethen:150",   "banded:90,3", "banded:4,9,7", "fem:1,1,0",      "fem:1,1,2",
    "fem:2,2,1",       "fem:3,3,1",   "fem:2,3,0",    "convdiff3d:3,0", "fem:3,2,2"};
enum { SMALL = sizeof small / sizeof small[0] };

static void rows_are_the_same_in_parts_and_by_threads(void **state) {
  (void)state;
  for (int s = 0; s < SMALL; s++) {
    kaon_generator *g = NULL;
    double *own = NULL, *part_own = NULL;
    kaon_csr *all = make(small[s], &own), *part = NULL;
    assert_int_equal(all->start[0], 0);
    const int64_t entries = all->start[all->rows];
    for (int64_t n = 0; n < all->start[all->rows]; n++) {
      assert_in_range(all->column[n], 0, all->rows - 1);
      assert_true(isfinite(all->value[n]));
    }
    for (int64_t i = 0; i < all->rows; i++)
      for (int64_t n = all->start[i] + 1; n < all->start[i + 1]; n++)
        assert_true(all->column[n] > all->column[n - 1]);
    assert_ok(kaon_generator_create(NULL, small[s], &g));
    assert_int_equal(all->rows, g->rows);
    assert_int_equal(entries, g->entries); /* what refusals for memory say */
    const int64_t cuts[] = {0, g->rows / 3, g->rows / 3, g->rows * 2 / 3, g->rows};
    for (int c = 0; c < 4; c++) {
      assert_ok(kaon_generate_rows(NULL, g, cuts[c], cuts[c + 1], c + 1, &part, &part_own));
      assert_int_equal(part->rows, cuts[c + 1] - cuts[c]);
      assert_int_equal(part->columns, g->rows);
      for (int64_t i = 0; i < part->rows; i++) {
        const int64_t here = part->start[i], there = all->start[cuts[c] + i];
        const int64_t count = part->start[i + 1] - here;
        assert_int_equal(count, all->start[cuts[c] + i + 1] - there);
        for (int64_t n = 0; n < count; n++) {
          assert_int_equal(part->column[here + n], all->column[there + n]);
          assert_true(part->value[here + n] == all->value[there + n]);
        }
        if (own != NULL) assert_true(part_own[i] == own[cuts[c] + i]);
      }
      kaon_csr_destroy(&part);
      free(part_own);
    }
    kaon_generator_destroy(&g);
    kaon_csr_destroy(&all);
    free(own);
  }
}

static void numbers_of_rows_and_entries_are_those_of_the_formulas(void **state) {
  (void)state;
  for (int64_t n = 2; n < 12; n += 3) {
    const int64_t line = 3 * n - 2, m = n - 1;
    const struct {
      const char *form;
      int64_t rows, entries;
    } cases[] = {{"laplace2d:%lld", n * n, 5 * n * n - 4 * n},
                 {"laplace3d:%lld", n * n * n, 7 * n * n * n - 6 * n * n},
                 {"convdiff3d:%lld,3", n * n * n, 7 * n * n * n - 6 * n * n},
                 {"cavity3d:%lld", n * n * n, 7 * n * n * n - 6 * n * n},
                 {"laplace3d27:%lld", n * n * n, line * line * line},
                 {"elasticity:%lld", 3 * n * n * m, 9 * (3 * m - 2) * line * line}};
    for (int c = 0; c < 6; c++) {
      char name[64];
      snprintf(name, sizeof name, cases[c].form, (long long)n);
      kaon_csr *a = make(name, NULL);
      assert_int_equal(a->rows, cases[c].rows);
      assert_int_equal(a->start[a->rows], cases[c].entries);
      kaon_csr_destroy(&a);
    }
  }
  /* The Kaczmarz paper's numbers of unknowns, degree 1. */
  static const int64_t unknowns[] = {10, 30, 103, 381, 1465, 5745, 22753};
  for (int level = 0; level < 7; level++) {
    char name[32];
    snprintf(name, sizeof name, "fem:1,1,%d", level);
    kaon_csr *a = make(name, NULL);
    assert_int_equal(a->rows, unknowns[level]);
    kaon_csr_destroy(&a);
  }
  kaon_csr *banded = make("banded:1000,2", NULL);
  assert_int_equal(banded->start[1000], 5 * 1000 - 6);
  kaon_csr_destroy(&banded);
}

static void matrices_are_symmetric_to_the_last_bit_or_not(void **state) {
  (void)state;
  for (int s = 0; s < SMALL; s++) {
    kaon_csr *a = make(small[s], NULL);
    const int symmetric =
        strncmp(small[s], "banded", 6) != 0 && strcmp(small[s], "convdiff3d:5,40");
    if (is_symmetric(a) != symmetric) fail_msg("%s", small[s]);
    kaon_csr_destroy(&a);
  }
}

static void rows_add_up_to_what_boundaries_leave(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double neighbour; /* a missing one adds as much to the row's sum */
    int points;
  } cases[] = {{"laplace2d:6", 1, 5}, {"laplace3d:5", 1, 7}, {"laplace3d27:4", 1, 27}};
  for (int c = 0; c < 3; c++) {
    kaon_csr *a = make(cases[c].name, NULL);
    for (int64_t i = 0; i < a->rows; i++) {
      double sum = 0;
      for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) sum += a->value[n];
      assert_true(sum == (double)(cases[c].points - (a->start[i + 1] - a->start[i])));
    }
    kaon_csr_destroy(&a);
  }
  kaon_csr *a = make("cavity3d:4", NULL);
  for (int64_t i = 0; i < a->rows; i++) {
    double sum = 0;
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) sum += a->value[n];
    assert_true(sum == (i == 0 ? 3 : 0)); /* the corner cell has three neighbours, held twice */
  }
  kaon_csr_destroy(&a);
  a = make("convdiff3d:4,10", NULL); /* the cells' number is 10 / 5 = 2 */
  assert_true(entry(a, 21, 21) == 12 && entry(a, 21, 20) == -3 && entry(a, 21, 22) == -1);
  assert_true(entry(a, 21, 17) == -3 && entry(a, 21, 25) == -1 && entry(a, 21, 5) == -3);
  assert_true(entry(a, 21, 37) == -1);
  kaon_csr_destroy(&a);
}

/* Eigenvalues of a symmetric matrix, ascending. */
static double *spectrum(const kaon_csr *a) {
  const size_t n = (size_t)a->rows;
  double *dense = calloc(n * n, sizeof *dense), *w = malloc(n * sizeof *w);
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
      dense[(size_t)i * n + (size_t)a->column[k]] = a->value[k];
  assert_int_equal(
      LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'L', (lapack_int)n, dense, (lapack_int)n, w), 0);
  free(dense);
  return w;
}

static void symmetric_ones_are_positive_definite(void **state) {
  (void)state;
  static const char *const names[] = {
      "laplace2d:12",  "laplace3d:6", "laplace3d27:6", "cavity3d:6", "elasticity:5",
      "trefethen:300", "fem:1,1,3",   "fem:2,2,2",     "fem:3,3,2",  "convdiff3d:6,0"};
  for (size_t s = 0; s < sizeof names / sizeof names[0]; s++) {
    kaon_csr *a = make(names[s], NULL);
    double *w = spectrum(a);
    print_message("  %s: eigenvalues from %g to %g\n", names[s], w[0], w[a->rows - 1]);
    assert_true(w[0] > 1e-6 * w[a->rows - 1]);
    if (strncmp(names[s], "laplace2d", 9) == 0) /* 8 sin^2(pi / (2 (N + 1))) */
      test_close("smallest", w[0], 8 * pow(sin(M_PI / 26), 2), 1e-12);
    if (strcmp(names[s], "laplace3d:6") == 0)
      test_close("largest", w[215], 12 * pow(cos(M_PI / 14), 2), 1e-12);
    free(w);
    kaon_csr_destroy(&a);
  }
}

/* u_x = x has the energy C_11 V, u_y = x the energy C_66 V (twice 1/2 each), exactly. */
static void elastic_energies_are_those_of_the_material(void **state) {
  (void)state;
  enum { N = 5 };
  double *load = NULL;
  kaon_csr *a = make("elasticity:5", &load);
  double *u = calloc((size_t)a->rows, sizeof *u), *f = malloc((size_t)a->rows * sizeof *f);
  const double volume = (N - 1) * (N - 1) * (N - 1), nu = 0.3;
  for (int64_t node = 0; node < a->rows / 3; node++) u[3 * node] = (double)(node % (N - 1) + 1);
  test_close("stretched", energy(a, u), volume * (1 - nu) / ((1 + nu) * (1 - 2 * nu)), 1e-11);
  apply(a, u, f); /* forces act at the far end and across alone */
  for (int64_t node = 0; node < a->rows / 3; node++) {
    const int64_t x = node % (N - 1) + 1, y = node / (N - 1) % N, z = node / ((N - 1) * N);
    if (x == N - 1 || y == 0 || y == N - 1 || z == 0 || z == N - 1) continue;
    for (int c = 0; c < 3; c++) assert_true(fabs(f[3 * node + c]) < 1e-13);
  }
  for (int64_t node = 0; node < a->rows / 3; node++) {
    u[3 * node + 1] = u[3 * node];
    u[3 * node] = 0;
  }
  test_close("sheared", energy(a, u), volume / (2 * (1 + nu)), 1e-11);
  double sums[3] = {0, 0, 0};
  for (int64_t i = 0; i < a->rows; i++) sums[i % 3] += load[i];
  /* The clamped nodes carry half of the first layer's weight. */
  test_close("weight", -sums[2], volume - 0.5 * (N - 1) * (N - 1), 1e-12);
  assert_true(sums[0] == 0 && sums[1] == 0);
  free(u);
  free(f);
  free(load);
  kaon_csr_destroy(&a);
}

static void random_bands_are_uniform_and_hang_on_the_seed(void **state) {
  (void)state;
  double *own = NULL, mean = 0, square = 0;
  kaon_csr *a = make("banded:20000,2", &own), *b = make("banded:20000,2,2", NULL),
           *c = make("banded:20000,2,1", NULL);
  const int64_t count = a->start[a->rows];
  int64_t same = 0;
  for (int64_t n = 0; n < count; n++) {
    assert_true(fabs(a->value[n]) < 1);
    mean += a->value[n] / (double)count;
    square += a->value[n] * a->value[n] / (double)count;
    same += a->value[n] == b->value[n];
    assert_true(a->value[n] == c->value[n]); /* 1 is what is meant without a seed */
  }
  assert_int_equal(same, 0);
  test_close("mean", mean, 0, 5 / sqrt(3.0 * (double)count));
  test_close("mean square", square, 1.0 / 3, 5 * sqrt(4.0 / 45 / (double)count));
  double mine = 0;
  for (int64_t i = 0; i < a->rows; i++) {
    assert_true(fabs(own[i]) < 1 && own[i] != entry(a, i, i));
    mine += own[i] * own[i] / (double)a->rows;
  }
  test_close("right-hand side's", mine, 1.0 / 3, 5 * sqrt(4.0 / 45 / (double)a->rows));
  free(own);
  kaon_csr_destroy(&a);
  kaon_csr_destroy(&b);
  kaon_csr_destroy(&c);
}

static void trefethen_2000_is_the_file(void **state) {
  (void)state;
  char path[1024];
  kaon_bytes bytes;
  kaon_market_header header;
  const kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_csr *file = NULL, *made = make("trefethen:2000", NULL);
  assert_true(entry(made, 1999, 1999) == 17389 && entry(made, 0, 1024) == 1);
  NEED_DATA("sparse/Trefethen_2000.mtx", path);
  assert_ok(kaon_bytes_open(NULL, path, &bytes));
  assert_ok(kaon_market_read(NULL, &bytes, &options, &header, &file));
  kaon_bytes_close(&bytes);
  const size_t entries = (size_t)made->start[2000];
  assert_int_equal(file->start[2000], made->start[2000]);
  assert_memory_equal(file->start, made->start, 2001 * sizeof *file->start);
  assert_memory_equal(file->column, made->column, entries * sizeof *file->column);
  assert_memory_equal(file->value, made->value, entries * sizeof *file->value);
  kaon_csr_destroy(&file);
  kaon_csr_destroy(&made);
}

/* Six digits are printed; numbers that ought to vanish differ by rounding. */
static void check_digits(const char *name, double made, double printed) {
  const double bound = 5.1e-6 * fabs(printed) + 1e-12;
  if (!(fabs(made - printed) <= bound)) fail_msg("%s: %.17g is %.6g there", name, made, printed);
}

static void compare_system(FILE *f, const char *name) {
  double *own = NULL;
  kaon_csr *a = make(name, &own);
  long entries, rows, columns;
  assert_int_equal(fscanf(f, "%ld %ld %ld", &entries, &rows, &columns), 3);
  assert_int_equal(a->rows, rows);
  assert_int_equal(a->start[a->rows], entries);
  for (long n = 0; n < entries; n++) {
    int i, j;
    double value;
    assert_int_equal(fscanf(f, "%d %d %lf", &i, &j, &value), 3);
    if (kaon_csr_find(a, i, j) < 0) fail_msg("%s has no entry %d, %d", name, i, j);
    check_digits(name, entry(a, i, j), value);
  }
  for (long i = 0; i < rows; i++) {
    double value;
    assert_int_equal(fscanf(f, "%lf", &value), 1);
    check_digits(name, own[i], value);
  }
  free(own);
  kaon_csr_destroy(&a);
}

static void finite_elements_agree_with_the_papers_files(void **state) {
  (void)state;
  int found = 0;
  char folder[1024];
  NEED_DATA("sparse/kaczmarz", folder);
  for (int problem = 1; problem <= 3; problem++)
    for (int level = 1; level <= 8; level++)
      for (int degree = 1; degree <= 3; degree++) {
        char file[128], path[1024], name[32];
        snprintf(file, sizeof file, "sparse/kaczmarz/problem%d_complexity%d_degree%d.txt", problem,
                 level, degree);
        if (!test_data_path(file, path, sizeof path)) continue;
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        snprintf(name, sizeof name, "fem:%d,%d,%d", problem, degree, level);
        compare_system(f, name);
        fclose(f);
        found++;
      }
  print_message("  %d files of the Kaczmarz paper\n", found);
  assert_true(found >= 12);
}

/* The basis functions add up to 1, so the load's entries add up to the integral of f: for problem
 * 1 9 * 1000 + 2 * (2 * 3 * (4.5 - 9)), minus the part of the boundary's functions, whose support
 * halves with every level. */
static void finite_elements_integrate_their_load(void **state) {
  (void)state;
  double before = INFINITY;
  for (int level = 2; level < 6; level++) {
    char name[32];
    double *own = NULL, sum = 0;
    snprintf(name, sizeof name, "fem:1,2,%d", level);
    kaon_csr *a = make(name, &own);
    for (int64_t i = 0; i < a->rows; i++) sum += own[i];
    const double missing = 8946 - sum;
    print_message("  level %d: boundary functions have %g of 8946\n", level, missing);
    assert_true(missing > 0 && (level == 2 || fabs(missing / before - 0.5) < 0.001));
    before = missing;
    free(own);
    kaon_csr_destroy(&a);
  }
}

static void bad_names_are_answered(void **state) {
  (void)state;
  static const char *const bad[][3] = {{"poisson:3", "'poisson:3'", "banded:N,B[,SEED]"},
                                       {"", "''", "laplace2d:N"},
                                       {"laplace2d", "few", "laplace2d:N"},
                                       {"laplace2d:", "N must", "from 1 to 46340"},
                                       {"laplace2d:0", "N must", "whole"},
                                       {"laplace2d:-3", "N must", "from 1"},
                                       {"laplace2d:2.5", "N must", "whole"},
                                       {"laplace2d:1e99999", "N must", "whole"},
                                       {"laplace2d:7x", "N must", "whole"},
                                       {"laplace2d:3,3", "many", "laplace2d:N"},
                                       {"laplace3d:1291", "N must", "to 1290"},
                                       {"convdiff3d:5", "few", "convdiff3d:N,PECLET"},
                                       {"convdiff3d:5,-1", "PECLET must", "from 0"},
                                       {"convdiff3d:5,nan", "PECLET must", "from 0"},
                                       {"elasticity:1", "N must", "from 2"},
                                       {"fem:4,1,1", "PROBLEM must", "to 3"},
                                       {"fem:1,4,1", "DEGREE must", "to 3"},
                                       {"fem:1,1,12", "LEVEL must", "to 11"},
                                       {"fem:1,1", "few", "fem:PROBLEM,DEGREE,LEVEL"},
                                       {"banded:10,2,1,1", "many", "banded:N,B[,SEED]"}};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
    kaon_generator *g = NULL;
    assert_int_equal(kaon_generator_create(NULL, bad[k][0], &g), KAON_ERR_ARGUMENT);
    assert_null(g);
    print_message("  %s\n", kaon_last_error(NULL));
    assert_non_null(strstr(kaon_last_error(NULL), bad[k][1]));
    assert_non_null(strstr(kaon_last_error(NULL), bad[k][2]));
  }
}

/* The announced sizes are those of the matrix or named upper bounds; nothing is allocated before.
 */
static void what_no_machine_holds_is_refused_with_true_numbers(void **state) {
  (void)state;
  static const struct {
    const char *name, *entries;
  } known[] = {{"laplace2d:46340", "10736792640"}, {"elasticity:890", "170730602640"}};
  for (int k = 0; k < 2; k++) {
    kaon_generator *g = NULL;
    assert_ok(kaon_generator_create(NULL, known[k].name, &g));
    assert_true(g->entries == strtoll(known[k].entries, NULL, 10));
    kaon_generator_destroy(&g);
  }
  const int64_t rows = INT64_C(1) << 50;
  const kaon_generator huge = {.rows = rows, .entries = 5 * rows - 4, .longest = 5};
  kaon_csr *csr = NULL;
  assert_int_equal(kaon_generate_rows(NULL, &huge, 0, rows, 1, &csr, NULL), KAON_ERR_MEMORY);
  print_message("  %s\n", kaon_last_error(NULL));
  assert_non_null(
      strstr(kaon_last_error(NULL), "of 1125899906842624 rows and 5629499534213116 ent"));
  assert_non_null(
      strstr(kaon_last_error(NULL), "needs 76561193.665 GB")); /* 12 an entry, 8 a row */
  assert_int_equal(kaon_generate_rows(NULL, &huge, 0, rows / 2, 1, &csr, NULL), KAON_ERR_MEMORY);
  print_message("  %s\n", kaon_last_error(NULL));
  assert_non_null(strstr(kaon_last_error(NULL), "562949953421312 of the 1125899906842624 rows"));
  assert_non_null(strstr(kaon_last_error(NULL), "at least 11258999.068 GB"));
  assert_null(strstr(kaon_last_error(NULL), "entries"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_the_same_in_parts_and_by_threads),
      cmocka_unit_test(numbers_of_rows_and_entries_are_those_of_the_formulas),
      cmocka_unit_test(matrices_are_symmetric_to_the_last_bit_or_not),
      cmocka_unit_test(rows_add_up_to_what_boundaries_leave),
      cmocka_unit_test(symmetric_ones_are_positive_definite),
      cmocka_unit_test(elastic_energies_are_those_of_the_material),
      cmocka_unit_test(random_bands_are_uniform_and_hang_on_the_seed),
      cmocka_unit_test(trefethen_2000_is_the_file),
      cmocka_unit_test(finite_elements_agree_with_the_papers_files),
      cmocka_unit_test(finite_elements_integrate_their_load),
      cmocka_unit_test(bad_names_are_answered),
      cmocka_unit_test(what_no_machine_holds_is_refused_with_true_numbers),
  };
  return test_main(tests, make_scratch, remove_scratch);
}
