/* test_matrix_files.c - Matrix Market files and generated matrices on several ranks: the parts
 * join to the matrix of one rank, files have the bytes that one rank writes, and all ranks return
 * a failure. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "ranks.h"
#include "sparse/generate/generate_matrix.h"
#include "sparse/files/market.h"

static char folder[64] = "/tmp/kaon-ranks-XXXXXX"; /* the first rank's, known to all */
static kaon_context *ctx;

static int setup(void **state) {
  (void)state;
  if (world_rank() == 0 && mkdtemp(folder) == NULL) return -1;
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  ctx = ranks_open(KAON_ISA_AUTO, NULL);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  kaon_context_destroy(&ctx);
  return world_rank() == 0 ? rmdir(folder) : 0; /* fails if a file was left behind */
}

typedef struct path {
  char text[128];
} path;
static path at(const char *name) {
  path p;
  snprintf(p.text, sizeof p.text, "%s/%s", folder, name);
  return p;
}

static void must_be_equal_files(const char *a, const char *b) {
  FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
  assert_non_null(f);
  assert_non_null(g);
  int x, y;
  do {
    x = getc(f);
    y = getc(g);
    assert_int_equal(x, y);
  } while (x != EOF);
  fclose(f);
  fclose(g);
}

/* This rank's rows of a generated matrix, and all of them by itself. */
static void generate(const char *name, int64_t *first, kaon_csr **mine, kaon_csr **all) {
  kaon_generator *g = NULL;
  int64_t last;
  must(NULL, kaon_generator_create(NULL, name, &g));
  kaon_rows_part(g->rows, world_rank(), world_size(), first, &last);
  must(NULL, kaon_generate_rows(NULL, g, *first, last, 1, mine, NULL));
  must(NULL, kaon_generate_rows(NULL, g, 0, g->rows, 1, all, NULL));
  kaon_generator_destroy(&g);
}

static void must_be_rows_of(const kaon_csr *part, int64_t first, const kaon_csr *all) {
  for (int64_t i = 0; i < part->rows; i++) {
    const int64_t here = part->start[i], there = all->start[first + i];
    const size_t count = (size_t)(part->start[i + 1] - here);
    assert_int_equal(count, all->start[first + i + 1] - there);
    if (count == 0) continue;
    assert_memory_equal(part->column + here, all->column + there, count * sizeof *all->column);
    assert_memory_equal(part->value + here, all->value + there, count * sizeof *all->value);
  }
}

/* More entries than are exchanged at a time, rows longer than that, fewer rows than ranks. */
static void rows_are_written_and_read_as_by_one_rank(void **state) {
  (void)state;
  static const char *const names[] = {"laplace3d:20", "banded:600,500", "laplace2d:2", "fem:1,1,2"};
  for (int n = 0; n < 4; n++)
    for (int form = 0; form < 4; form++) {
      const int symmetric = form & 1 && n != 1;
      const path many = at(form & 2 ? "many.mtx.gz" : "many.mtx"),
                 one = at(form & 2 ? "one.mtx.gz" : "one.mtx");
      kaon_csr *mine = NULL, *all = NULL, *back = NULL;
      int64_t first, last;
      generate(names[n], &first, &mine, &all);
      must(ctx, kaon_market_write(ctx, many.text, mine, first, KAON_MARKET_REAL, symmetric));
      if (world_rank() == 0) {
        must(NULL, kaon_market_write(NULL, one.text, all, 0, KAON_MARKET_REAL, symmetric));
        must_be_equal_files(many.text, one.text);
        unlink(one.text);
      }
      kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
      kaon_market_header header;
      kaon_bytes bytes;
      options.rank = world_rank();
      options.ranks = world_size();
      must(ctx, kaon_bytes_open(ctx, many.text, &bytes));
      must(ctx, kaon_market_read(ctx, &bytes, &options, &header, &back));
      kaon_bytes_close(&bytes);
      kaon_rows_part(header.rows, options.rank, options.ranks, &first, &last);
      assert_int_equal(back->rows, last - first);
      must_be_rows_of(back, first, all);
      kaon_csr_destroy(&mine);
      kaon_csr_destroy(&all);
      kaon_csr_destroy(&back);
      if (world_rank() == 0) unlink(many.text);
    }
}

/* Whatever order a rank keeps its rows in. */
static void matrices_are_written_in_the_callers_order(void **state) {
  (void)state;
  static const char *const names[] = {"fem:2,2,2", "convdiff3d:6,9", "laplace2d:2"};
  const path many = at("many.mtx"), again = at("again.mtx"), one = at("one.mtx");
  for (int n = 0; n < 3; n++)
    for (int window = 0; window < 2; window++) {
      kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
      kaon_matrix *matrix = NULL;
      double *own = NULL;
      options.window = window;
      must(ctx, kaon_matrix_generate(ctx, names[n], &options, &matrix, &own));
      assert_int_equal(own != NULL, n == 0);
      must(ctx, kaon_matrix_write(matrix, many.text));
      kaon_matrix_destroy(&matrix);
      free(own);
      must(ctx, kaon_matrix_read(ctx, many.text, &options, &matrix));
      must(ctx, kaon_matrix_write(matrix, again.text));
      kaon_matrix_destroy(&matrix);
      if (world_rank() != 0) continue;
      kaon_csr *mine = NULL, *all = NULL;
      int64_t first;
      generate(names[n], &first, &mine, &all);
      must(NULL, kaon_market_write(NULL, one.text, all, 0, KAON_MARKET_REAL, n != 1));
      must_be_equal_files(many.text, one.text);
      must_be_equal_files(again.text, one.text);
      kaon_csr_destroy(&mine);
      kaon_csr_destroy(&all);
      unlink(many.text);
      unlink(again.text);
      unlink(one.text);
    }
}

static double number(int64_t i, int64_t j, int part) {
  return sin((double)(3 * i + 7 * j + 11 * part));
}

static void columns_are_joined_and_known_to_all(void **state) {
  (void)state;
  enum { ROWS = 30001, COLUMNS = 2 };
  const path file = at("columns.mtx");
  int64_t first, last, rows = 0, columns = 0;
  int found = 0;
  kaon_rows_part(ROWS, world_rank(), world_size(), &first, &last);
  for (int reals = 1; reals <= 2; reals++) {
    const int64_t mine = last - first;
    double *values = malloc((size_t)(mine * COLUMNS * reals + 1) * sizeof *values), *back = NULL;
    for (int64_t j = 0; j < COLUMNS; j++)
      for (int64_t i = 0; i < mine; i++)
        for (int c = 0; c < reals; c++)
          values[(j * mine + i) * reals + c] = number(first + i, j, c);
    must(ctx, kaon_array_write(ctx, file.text, mine, COLUMNS, reals, values));
    must(ctx, kaon_array_read(ctx, file.text, &rows, &columns, &found, &back));
    assert_int_equal(rows, ROWS);
    assert_int_equal(columns, COLUMNS);
    assert_int_equal(found, reals);
    for (int64_t j = 0; j < COLUMNS; j++)
      for (int64_t i = 0; i < ROWS; i++)
        for (int c = 0; c < reals; c++)
          assert_true(back[(j * ROWS + i) * reals + c] == number(i, j, c));
    free(values);
    free(back);
    if (world_rank() == 0) unlink(file.text);
  }
}

static void all_ranks_return_one_failure(void **state) {
  (void)state;
  static const struct {
    const char *text;
    kaon_status status;
    const char *said;
  } cases[] = {{"%%MatrixMarket matrix coordinate real general\n8 8 2\n1 1 1\n9 1 1\n",
                KAON_ERR_FORMAT, "line 4"},
               /* Only the rank with the last row meets this one. */
               {"%%MatrixMarket matrix coordinate real general\n8 8 3\n8 1 1\n1 1 1\n8 1 1\n",
                KAON_ERR_FORMAT, "line 5: row 8 and column 1 have an entry on line 3"},
               {"%%MatrixMarket matrix coordinate real general\n8 7 1\n1 1 1\n",
                KAON_ERR_UNSUPPORTED, "8 rows and 7 columns"}};
  const path file = at("bad.mtx");
  for (int c = 0; c < 3; c++) {
    if (world_rank() == 0) {
      FILE *f = fopen(file.text, "w");
      assert_non_null(f);
      fputs(cases[c].text, f);
      fclose(f);
    }
    kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
    kaon_matrix *matrix = NULL;
    options.refuse_duplicates = 1;
    assert_int_equal(kaon_matrix_read(ctx, file.text, &options, &matrix), cases[c].status);
    print_message("  %s\n", kaon_last_error(ctx));
    assert_non_null(strstr(kaon_last_error(ctx), cases[c].said));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (world_rank() == 0) unlink(file.text);
  kaon_matrix *matrix = NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  assert_int_equal(kaon_matrix_read(ctx, file.text, NULL, &matrix), KAON_ERR_IO);
  assert_int_equal(kaon_matrix_generate(ctx, "fem:1,1,99", NULL, &matrix, NULL), KAON_ERR_ARGUMENT);
}

/* ---- lines that the ranks parse together ---- */

typedef struct text {
  char *at;
  size_t size, room;
} text;

static void say(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  t->size += (size_t)vsnprintf(t->at + t->size, t->room - t->size, format, args);
  va_end(args);
  assert_true(t->size < t->room);
}

/* A file of `entries` unordered entries, some at the same place, among comments and empty lines.
 * The first entry from line `wrong` on is invalid (0: all are valid), and `more` entries follow
 * beyond the announced number. */
static text make_text(const char *field, const char *symmetry, int rows, int entries, int wrong,
                      int more) {
  text t = {malloc(1 << 18), 0, 1 << 18};
  uint32_t seed = 12345;
  int lines = 2;
  assert_non_null(t.at);
  say(&t, "%%%%MatrixMarket matrix coordinate %s %s\n%d %d %d\n", field, symmetry, rows, rows,
      entries);
  for (int n = 0; n < entries + more; n++) {
    int i = (int)((seed = seed * 1664525u + 1013904223u) >> 8) % rows + 1;
    int j = (int)((seed = seed * 1664525u + 1013904223u) >> 8) % rows + 1;
    if (strcmp(symmetry, "general") != 0 && j > i) {
      const int other = i;
      i = j;
      j = other;
    }
    if (strcmp(symmetry, "skew-symmetric") == 0 && i == j) i == rows ? j-- : i++;
    if (n % 7 == 3 && ++lines) say(&t, n % 2 ? "\n" : "%% a comment\n");
    if (++lines >= wrong && wrong > 0) {
      say(&t, "%d x\n", i);
      wrong = 0;
      continue;
    }
    say(&t, "%d %d", i, j);
    if (strcmp(field, "pattern") != 0) say(&t, " %.17g", sin(n));
    if (strcmp(field, "complex") == 0)
      say(&t, " %.17g", i == j && strcmp(symmetry, "hermitian") == 0 ? 0 : cos(n));
    say(&t, "\n");
  }
  return t;
}

/* What this rank gets of a text: with the others, and by itself. */
static kaon_status read_text(const kaon_context *with, const text *t, size_t block, int threads,
                             kaon_csr **csr) {
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_market_header header;
  kaon_bytes bytes;
  options.rank = world_rank();
  options.ranks = world_size();
  options.block = block;
  options.threads = threads;
  kaon_bytes_from_memory("text.mtx", t->at, t->size, &bytes);
  return kaon_market_read(with, &bytes, &options, &header, csr);
}

static void must_be_same(const kaon_csr *a, const kaon_csr *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->columns, b->columns);
  assert_int_equal(a->reals, b->reals);
  assert_memory_equal(a->start, b->start, (size_t)(a->rows + 1) * sizeof *a->start);
  const size_t entries = (size_t)a->start[a->rows];
  if (entries == 0) return;
  assert_memory_equal(a->column, b->column, entries * sizeof *a->column);
  assert_memory_equal(a->value, b->value, entries * (size_t)a->reals * sizeof *a->value);
}

static const size_t blocks[] = {512, 4096, 0};

/* Ranks with unequal numbers of threads, which b distinguishes. */
static int threads_here(int b) {
  return 1 + (b + world_rank()) % 3;
}

/* Sums of entries of one place have the bits of the file's order. */
static void lines_are_parsed_by_shares(void **state) {
  (void)state;
  static const char *const forms[][2] = {{"real", "general"},        {"real", "symmetric"},
                                         {"pattern", "general"},     {"pattern", "symmetric"},
                                         {"real", "skew-symmetric"}, {"complex", "general"},
                                         {"complex", "hermitian"},   {"complex", "symmetric"}};
  static const int sizes[][2] = {{37, 200}, {3, 60}, {1000, 100}, {5, 0}};
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
      const text t = make_text(forms[f][0], forms[f][1], sizes[n][0], sizes[n][1], 0, 0);
      for (int b = 0; b < 3; b++) {
        kaon_csr *mine = NULL, *alone = NULL;
        must(NULL, read_text(NULL, &t, blocks[b], 1, &alone));
        must(ctx, read_text(ctx, &t, blocks[b], threads_here(b), &mine));
        must_be_same(mine, alone);
        kaon_csr_destroy(&mine);
        kaon_csr_destroy(&alone);
      }
      free(t.at);
    }
}

/* The first rank reads for all, as much as each of them is to have. */
static void files_are_read_whatever_threads_ranks_have(void **state) {
  (void)state;
  const path file = at("threads.mtx");
  const text t = make_text("real", "general", 50, 3000, 0, 0);
  if (world_rank() == 0) {
    FILE *f = fopen(file.text, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(t.at, 1, t.size, f), t.size);
    fclose(f);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int b = 0; b < 3; b++) {
    kaon_csr *mine = NULL, *alone = NULL;
    kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
    kaon_market_header header;
    kaon_bytes bytes;
    options.rank = world_rank();
    options.ranks = world_size();
    options.block = blocks[b];
    options.threads = threads_here(b);
    must(NULL, read_text(NULL, &t, blocks[b], 1, &alone));
    must(ctx, kaon_bytes_open(ctx, file.text, &bytes));
    must(ctx, kaon_market_read(ctx, &bytes, &options, &header, &mine));
    kaon_bytes_close(&bytes);
    must_be_same(mine, alone);
    kaon_csr_destroy(&mine);
    kaon_csr_destroy(&alone);
  }
  free(t.at);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) unlink(file.text);
}

/* The sentence and the line of one rank by itself, on all. */
static void what_is_wrong_is_said_by_all_ranks(void **state) {
  (void)state;
  static const int cases[][2] = {{3, 0},   {4, 0}, {57, 0},  {250, 0}, {440, 0},
                                 {457, 0}, {0, 1}, {0, 300}, {0, -1},  {0, -399}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int b = 0; b < 3; b++) {
      const text t =
          make_text("real", c % 2 ? "symmetric" : "general", 100, 400, cases[c][0], cases[c][1]);
      kaon_csr *csr = NULL;
      char said[500];
      const kaon_status alone = read_text(NULL, &t, blocks[b], 1, &csr);
      assert_null(csr);
      snprintf(said, sizeof said, "%s", kaon_last_error(NULL));
      assert_int_equal(alone, KAON_ERR_FORMAT);
      assert_int_equal(read_text(ctx, &t, blocks[b], threads_here(b), &csr), alone);
      assert_null(csr);
      assert_string_equal(kaon_last_error(ctx), said);
      free(t.at);
    }
}

/* Of one triangle, whichever it is, ranks get the same rows. Of both, which different ranks may see,
 * all say what one rank says that reads the whole file. */
static void triangles_are_told_apart_by_all_ranks(void **state) {
  (void)state;
  enum { N = 40 };
  text lower = {malloc(1 << 14), 0, 1 << 14}, upper = {malloc(1 << 14), 0, 1 << 14};
  text both = {malloc(1 << 14), 0, 1 << 14};
  text *const all[] = {&lower, &upper, &both};
  for (int k = 0; k < 3; k++)
    say(all[k], "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", N, N, 2 * N - 1);
  for (int i = 1; i <= N; i++) {
    for (int k = 0; k < 3; k++) say(all[k], "%d %d 4\n", i, i);
    if (i == N) break;
    say(&lower, "%d %d -%d\n", i + 1, i, i);
    say(&upper, "%d %d -%d\n", i, i + 1, i);
    say(&both, "%d %d -%d\n", i + (i < N - 2), i + (i >= N - 2), i);
  }
  kaon_csr *a = NULL, *b = NULL;
  must(ctx, read_text(ctx, &lower, 512, 2, &a));
  must(ctx, read_text(ctx, &upper, 512, 1, &b));
  must_be_same(a, b);
  kaon_csr_destroy(&a);
  kaon_csr_destroy(&b);
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_market_header header;
  kaon_bytes bytes;
  kaon_bytes_from_memory("text.mtx", both.at, both.size, &bytes);
  assert_int_equal(kaon_market_read(NULL, &bytes, &options, &header, &a), KAON_ERR_FORMAT);
  char said[500];
  snprintf(said, sizeof said, "%s", kaon_last_error(NULL));
  assert_non_null(strstr(said, "row 38 and column 39 above the diagonal"));
  assert_int_equal(read_text(ctx, &both, 512, 1, &b), KAON_ERR_FORMAT);
  assert_string_equal(kaon_last_error(ctx), said);
  for (int k = 0; k < 3; k++) free(all[k]->at);
}

static const struct CMUnitTest matrix_files[] = {
    cmocka_unit_test(rows_are_written_and_read_as_by_one_rank),
    cmocka_unit_test(matrices_are_written_in_the_callers_order),
    cmocka_unit_test(columns_are_joined_and_known_to_all),
    cmocka_unit_test(all_ranks_return_one_failure),
    cmocka_unit_test(lines_are_parsed_by_shares),
    cmocka_unit_test(files_are_read_whatever_threads_ranks_have),
    cmocka_unit_test(what_is_wrong_is_said_by_all_ranks),
    cmocka_unit_test(triangles_are_told_apart_by_all_ranks),
};
RANKS_MAIN_WITH(matrix_files, setup, teardown)
