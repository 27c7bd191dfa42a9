/* test_orderings.c - permutations, colourings, levels and shares of rows keep their promises,
 * checked by the test's own loops over the entries. All are whole numbers, so results are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/order/orderings.h"
#include "tests/util/row_case.h"
#include "tests/util/test_util.h"

static const char *const files[] = {"Chem97ZtZ", "Trefethen_2000", "add32", "bar", "fv1",
                                    "fv3",       "ldg_diffusion"};
enum { FILES = sizeof files / sizeof *files };

static kaon_csr *file_case(int n) {
  char name[64];
  snprintf(name, sizeof name, "sparse/%s.mtx", files[n]);
  return row_case_file(name);
}

/* where[order[i]] = i; fails where order is no permutation. */
static int32_t *inverse_of(int64_t rows, const int32_t *order) {
  int32_t *where = malloc(((size_t)rows + 1) * sizeof *where);
  assert_non_null(where);
  for (int64_t i = 0; i < rows; i++) where[i] = -1;
  for (int64_t i = 0; i < rows; i++) {
    assert_in_range(order[i], 0, rows - 1);
    assert_int_equal(where[order[i]], -1);
    where[order[i]] = (int32_t)i;
  }
  return where;
}

static int32_t *numbers(int64_t rows) {
  int32_t *n = malloc(((size_t)rows + 1) * sizeof *n);
  assert_non_null(n);
  return n;
}

/* ---- reverse Cuthill-McKee ---- */

/* For the matrix in its own and in random order: bandwidths before and after. */
static void check_rcm(const char *name, const kaon_csr *csr) {
  int32_t *order = numbers(csr->rows), *again = numbers(csr->rows);
  must(NULL, kaon_order_rcm(NULL, csr, order));
  must(NULL, kaon_order_rcm(NULL, csr, again));
  assert_memory_equal(order, again, (size_t)csr->rows * sizeof *order);
  int32_t *where = inverse_of(csr->rows, order);
  const int64_t before = kaon_bandwidth(csr, NULL), after = kaon_bandwidth(csr, where);
  kaon_csr *permuted = NULL;
  must(NULL, kaon_csr_permute(NULL, csr, order, &permuted));
  assert_int_equal(kaon_bandwidth(permuted, NULL), after);
  kaon_csr_destroy(&permuted);

  row_case_shuffle((int)csr->rows, 5, order);
  must(NULL, kaon_csr_permute(NULL, csr, order, &permuted));
  must(NULL, kaon_order_rcm(NULL, permuted, again));
  int32_t *back = inverse_of(csr->rows, again);
  const int64_t shuffled = kaon_bandwidth(permuted, NULL);
  const int64_t restored = kaon_bandwidth(permuted, back);
  printf("  %-16s rows %6lld: bandwidth %5lld -> %5lld; in random order %5lld -> %5lld\n", name,
         (long long)csr->rows, (long long)before, (long long)after, (long long)shuffled,
         (long long)restored);
  assert_true(after <= before);
  assert_true(restored <= shuffled);
  kaon_csr_destroy(&permuted);
  free(order), free(again), free(where), free(back);
}

static void test_rcm(void **state) {
  (void)state;
  for (int n = 0; n < FILES; n++) {
    kaon_csr *csr = file_case(n);
    if (csr == NULL) skip();
    check_rcm(files[n], csr);
    kaon_csr_destroy(&csr);
  }
}

/* A path in random order gets bandwidth 1 again. For 2-D Laplace, ordered from a corner along
 * diagonals, it is at most the shorter side plus 1. */
static void test_rcm_known(void **state) {
  (void)state;
  kaon_csr *path = row_case_tridiagonal(200, 2, 0), *shuffled = NULL;
  int32_t *order = numbers(2000);
  row_case_shuffle(200, 3, order);
  must(NULL, kaon_csr_permute(NULL, path, order, &shuffled));
  must(NULL, kaon_order_rcm(NULL, shuffled, order));
  int32_t *where = inverse_of(200, order);
  assert_true(kaon_bandwidth(shuffled, NULL) > 100);
  assert_int_equal(kaon_bandwidth(shuffled, where), 1);
  free(where);
  kaon_csr_destroy(&path);
  kaon_csr_destroy(&shuffled);

  kaon_csr *plane = row_case_laplace(50, 20, 1);
  row_case_shuffle(1000, 4, order);
  must(NULL, kaon_csr_permute(NULL, plane, order, &shuffled));
  must(NULL, kaon_order_rcm(NULL, shuffled, order));
  where = inverse_of(1000, order);
  assert_in_range(kaon_bandwidth(shuffled, where), 20, 21);
  kaon_csr_destroy(&plane);
  kaon_csr_destroy(&shuffled);
  free(order), free(where);
}

/* Two interleaved paths and isolated rows; ghosts; no rows at all. */
static void test_rcm_parts(void **state) {
  (void)state;
  int64_t row[64], column[64], n = 0;
  double value[64];
  for (int i = 0; i < 30; i++)
    if (i % 3 < 2 && i + 3 < 30) row[n] = i, column[n] = i + 3, value[n++] = 1;
  row[n] = 7, column[n] = 33, value[n++] = 1; /* a ghost */
  kaon_csr *csr = NULL;
  must(NULL, kaon_csr_from_triplets(NULL, 30, 40, 1, n, row, column, value, KAON_CSR_REFUSE, &csr));
  int32_t order[30];
  must(NULL, kaon_order_rcm(NULL, csr, order));
  int32_t *where = inverse_of(30, order);
  assert_int_equal(kaon_bandwidth(csr, where), 1);
  free(where);
  kaon_csr_destroy(&csr);
  must(NULL, kaon_csr_create(NULL, 0, 0, 1, 0, &csr));
  must(NULL, kaon_order_rcm(NULL, csr, order));
  kaon_csr_destroy(&csr);
  must(NULL, kaon_csr_from_triplets(NULL, 3, 2, 1, 0, NULL, NULL, NULL, KAON_CSR_ADD, &csr));
  assert_int_equal(kaon_order_rcm(NULL, csr, order), KAON_ERR_ARGUMENT);
  kaon_csr_destroy(&csr);
}

/* ---- colours ---- */

/* Neighbours differ in colour, at distance 2 also rows with a common neighbour. Each colour below
 * *colours occurs, and a row has the smallest one that its earlier neighbours leave. */
static void check_colours(const kaon_csr *csr, int distance, const int32_t *colour, int colours) {
  int32_t *used = calloc((size_t)colours + 1, sizeof *used);
  kaon_csr *other = NULL;
  must(NULL, kaon_csr_transpose(NULL, csr, 0, &other));
  const kaon_csr *both[2] = {csr, other};
  for (int64_t i = 0; i < csr->rows; i++) {
    assert_in_range(colour[i], 0, colours - 1);
    used[colour[i]] = 1;
    for (int side = 0; side < 2; side++)
      for (int64_t n = both[side]->start[i]; n < both[side]->start[i + 1]; n++) {
        const int64_t j = both[side]->column[n];
        if (j == i) continue;
        assert_int_not_equal(colour[j], colour[i]);
        for (int next = 0; next < 2 && distance == 2; next++)
          for (int64_t m = both[next]->start[j]; m < both[next]->start[j + 1]; m++)
            if (both[next]->column[m] != i)
              assert_int_not_equal(colour[both[next]->column[m]], colour[i]);
      }
  }
  for (int c = 0; c < colours; c++) assert_int_equal(used[c], 1);
  kaon_csr_destroy(&other);
  free(used);
}

static int colours_of(const kaon_csr *csr, int distance) {
  int32_t *colour = numbers(csr->rows);
  int colours = 0;
  must(NULL, kaon_colour(NULL, csr, distance, colour, &colours));
  check_colours(csr, distance, colour, colours);
  free(colour);
  return colours;
}

static void test_colours(void **state) {
  (void)state;
  for (int n = 0; n < FILES; n++) {
    kaon_csr *csr = file_case(n);
    if (csr == NULL) skip();
    const int one = colours_of(csr, 1), two = colours_of(csr, 2);
    printf("  %-16s colours: %d at distance 1, %d at distance 2\n", files[n], one, two);
    kaon_csr_destroy(&csr);
  }
  kaon_csr *plane = row_case_laplace(13, 9, 5), *skew = row_case_random(200, 4, 2, 0, 9);
  assert_int_equal(colours_of(plane, 1), 2);
  colours_of(skew, 1);
  colours_of(skew, 2);
  int32_t colour[600];
  int colours = 0;
  assert_int_equal(kaon_colour(NULL, plane, 3, colour, &colours), KAON_ERR_ARGUMENT);
  kaon_csr_destroy(&plane);
  kaon_csr_destroy(&skew);
}

/* Problems of the finite-element set: colours at distance 2 in row order. */
static void test_colours_fem(void **state) {
  (void)state;
  static const char *const names[] = {
      "problem1_complexity3_degree1", "problem1_complexity4_degree1",
      "problem1_complexity5_degree1", "problem1_complexity3_degree2",
      "problem1_complexity3_degree3", "problem3_complexity3_degree1"};
  /* counts of an independent greedy colouring in row order, for rows that share no column */
  static const int expected[] = {16, 19, 18, 34, 68, 16};
  for (int n = 0; n < 6; n++) {
    char name[96];
    snprintf(name, sizeof name, "sparse/kaczmarz/%s.txt", names[n]);
    kaon_csr *csr = row_case_file(name);
    if (csr == NULL) skip();
    const int one = colours_of(csr, 1), two = colours_of(csr, 2);
    printf("  %-30s rows %5lld: %2d colours at distance 1, %2d at distance 2 (expected %d)\n",
           names[n], (long long)csr->rows, one, two, expected[n]);
    assert_int_equal(two, expected[n]);
    kaon_csr_destroy(&csr);
  }
}

static void test_order_by_colour(void **state) {
  (void)state;
  const int32_t colour[7] = {2, 0, 1, 0, 2, 2, 1}, expected[7] = {1, 3, 2, 6, 0, 4, 5};
  int32_t order[7];
  int64_t first[4];
  must(NULL, kaon_order_by_colour(NULL, 7, colour, 3, order, first));
  assert_memory_equal(order, expected, sizeof order);
  assert_int_equal(first[0], 0);
  assert_int_equal(first[1], 2);
  assert_int_equal(first[2], 4);
  assert_int_equal(first[3], 7);
}

/* ---- levels ---- */

/* Each row once, after all rows that it needs, and directly after one of them. */
static void check_levels(const kaon_csr *csr, int upper, const int32_t *names) {
  kaon_level_sets *sets = NULL;
  must(NULL, kaon_level_sets_create(NULL, csr, upper, names, &sets));
  int32_t *level = numbers(csr->rows);
  free(inverse_of(csr->rows, sets->row));
  assert_int_equal(sets->first[0], 0);
  assert_int_equal(sets->first[sets->levels], csr->rows);
  for (int l = 0; l < sets->levels; l++) {
    assert_true(sets->first[l + 1] > sets->first[l]);
    for (int64_t n = sets->first[l]; n < sets->first[l + 1]; n++) {
      level[sets->row[n]] = l;
      if (n > sets->first[l]) assert_true(sets->row[n] > sets->row[n - 1]);
    }
  }
  for (int64_t i = 0; i < csr->rows; i++) {
    const int mine = level[names != NULL ? names[i] : i];
    int latest = -1;
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++) {
      const int64_t j = csr->column[n];
      if (j >= csr->rows || (upper ? j <= i : j >= i)) continue;
      const int theirs = level[names != NULL ? names[j] : j];
      if (theirs > latest) latest = theirs;
    }
    assert_int_equal(mine, latest + 1);
  }
  free(level);
  kaon_level_sets_destroy(&sets);
}

static void test_levels(void **state) {
  (void)state;
  kaon_csr *cases[3] = {row_case_random(300, 5, 1, 0, 1), row_case_laplace(10, 7, 6),
                        row_case_tridiagonal(50, 1, 1)};
  for (int n = 0; n < 3; n++) {
    int32_t *names = numbers(cases[n]->rows);
    row_case_shuffle((int)cases[n]->rows, 8, names);
    for (int upper = 0; upper < 2; upper++) {
      check_levels(cases[n], upper, NULL);
      check_levels(cases[n], upper, names);
    }
    free(names);
  }
  kaon_level_sets *sets = NULL;
  must(NULL, kaon_level_sets_create(NULL, cases[1], 0, NULL, &sets));
  assert_int_equal(sets->levels, 10 + 7 + 6 - 2); /* x + y + z */
  kaon_level_sets_destroy(&sets);
  for (int n = 0; n < 3; n++) kaon_csr_destroy(&cases[n]);
}

/* ---- shares of rows ---- */

static void check_parts(const kaon_csr *csr, int parts, const int32_t *part, double balance,
                        int64_t *cut) {
  int64_t *entries = calloc((size_t)parts, sizeof *entries), heaviest = 0, crossing = 0;
  for (int64_t i = 0; i < csr->rows; i++) {
    assert_in_range(part[i], 0, parts - 1);
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++)
      crossing += part[csr->column[n]] != part[i];
  }
  kaon_partition_weigh(csr, parts, part, entries, cut, &heaviest);
  assert_int_equal(*cut, crossing);
  const double mean = (double)csr->start[csr->rows] / parts;
  printf("    %d parts: %lld entries cross, the heaviest has %.3f of the mean\n", parts,
         (long long)*cut, (double)heaviest / mean);
  assert_true((double)heaviest <= balance * mean);
  free(entries);
}

static void test_partition(void **state) {
  (void)state;
  kaon_csr *plane = row_case_laplace(60, 60, 1), *shuffled = NULL;
  int32_t *part = numbers(plane->rows), *order = numbers(plane->rows);
  row_case_shuffle(3600, 6, order);
  must(NULL, kaon_csr_permute(NULL, plane, order, &shuffled));
  int64_t cut = 0, by_blocks = 0;
  for (int parts = 1; parts <= 7; parts += 3) {
    must(NULL, kaon_partition_rows(NULL, plane, KAON_PARTITION_BLOCKS, parts, part));
    for (int i = 1; i < 3600; i++) assert_true(part[i] >= part[i - 1]);
    check_parts(plane, parts, part, 1.01, &cut);
    must(NULL, kaon_partition_rows(NULL, shuffled, KAON_PARTITION_BLOCKS, parts, part));
    check_parts(shuffled, parts, part, 1.01, &by_blocks);
    if (!kaon_partition_by_graph()) {
      assert_int_equal(kaon_partition_rows(NULL, plane, KAON_PARTITION_GRAPH, parts, part),
                       KAON_ERR_NOT_BUILT);
      assert_non_null(strstr(kaon_last_error(NULL), "libmetis-dev"));
      continue;
    }
    must(NULL, kaon_partition_rows(NULL, shuffled, KAON_PARTITION_GRAPH, parts, part));
    check_parts(shuffled, parts, part, 1.05, &cut);
    if (parts > 1) assert_true(cut < by_blocks / 10);
    int32_t *again = numbers(plane->rows);
    must(NULL, kaon_partition_rows(NULL, shuffled, KAON_PARTITION_GRAPH, parts, again));
    assert_memory_equal(part, again, 3600 * sizeof *part);
    free(again);
  }
  assert_int_equal(kaon_partition_rows(NULL, plane, KAON_PARTITION_BLOCKS, 0, part),
                   KAON_ERR_ARGUMENT);
  kaon_csr *few = row_case_tridiagonal(5, 1, 1);
  must(NULL, kaon_partition_rows(NULL, few, KAON_PARTITION_BLOCKS, 9, part));
  for (int i = 0; i < 5; i++) assert_in_range(part[i], 0, 8);
  kaon_csr_destroy(&few);
  kaon_csr_destroy(&plane);
  kaon_csr_destroy(&shuffled);
  free(part), free(order);
}

/* ---- blocks of neighbours ---- */

/* Couplings between blocks, rows in this order. */
static int64_t cut_of(const kaon_csr *csr, int64_t blocks, const int32_t *order) {
  int32_t *block = numbers(csr->rows);
  int64_t cut = 0;
  for (int64_t k = 0; k < blocks; k++)
    for (int64_t i = csr->rows * k / blocks; i < csr->rows * (k + 1) / blocks; i++)
      block[order != NULL ? order[i] : i] = (int32_t)k;
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++)
      cut += block[i] != block[csr->column[n]];
  free(block);
  return cut;
}

/* A reproducible permutation with ascending blocks. Returns the number of couplings that it cuts.
 */
static int64_t check_blocks(const kaon_csr *csr, int64_t blocks) {
  int32_t *order = numbers(csr->rows), *again = numbers(csr->rows);
  must(NULL, kaon_order_by_blocks(NULL, csr, blocks, order));
  must(NULL, kaon_order_by_blocks(NULL, csr, blocks, again));
  assert_memory_equal(order, again, (size_t)csr->rows * sizeof *order);
  free(inverse_of(csr->rows, order));
  for (int64_t k = 0; k < blocks; k++)
    for (int64_t i = csr->rows * k / blocks + 1; i < csr->rows * (k + 1) / blocks; i++)
      assert_true(order[i - 1] < order[i]);
  const int64_t cut = cut_of(csr, blocks, order);
  free(order);
  free(again);
  return cut;
}

static kaon_csr *shuffled_case(const kaon_csr *csr) {
  kaon_csr *shuffled = NULL;
  int32_t *order = numbers(csr->rows);
  row_case_shuffle((int)csr->rows, 5, order);
  must(NULL, kaon_csr_permute(NULL, csr, order, &shuffled));
  free(order);
  return shuffled;
}

/* Blocks of a line are pieces of it, for any order of its rows, so each end of a block cuts one
 * coupling, which is two entries. On a grid many blocks cut less than as many strips of
 * consecutive numbers. */
static void test_blocks(void **state) {
  (void)state;
  static const int64_t blocks[] = {1, 2, 7, 16, 100, 600};
  for (int64_t k = 0; k < 6; k++) {
    kaon_csr *line = row_case_laplace(600, 1, 1), *grid = row_case_laplace(40, 40, 1);
    kaon_csr *mixed = shuffled_case(line), *shuffled = shuffled_case(grid);
    assert_int_equal(check_blocks(line, blocks[k]), 2 * (blocks[k] - 1));
    assert_int_equal(check_blocks(mixed, blocks[k]), 2 * (blocks[k] - 1));
    const int64_t by_number = cut_of(grid, blocks[k], NULL);
    const int64_t whole = check_blocks(grid, blocks[k]), other = check_blocks(shuffled, blocks[k]);
    print_message("40 x 40, %d blocks: cut %d and %d, by number %d\n", (int)blocks[k], (int)whole,
                  (int)other, (int)by_number);
    if (blocks[k] == 1) assert_int_equal(whole, 0);
    if (blocks[k] == 16 || blocks[k] == 100) assert_true(whole < by_number && other < by_number);
    kaon_csr_destroy(&line);
    kaon_csr_destroy(&grid);
    kaon_csr_destroy(&mixed);
    kaon_csr_destroy(&shuffled);
  }
}

static void test_blocks_of_files(void **state) {
  (void)state;
  for (int f = 0; f < FILES; f++) {
    kaon_csr *csr = file_case(f);
    if (csr == NULL) skip();
    print_message("%s, 64 blocks: cut %d, by number %d\n", files[f], (int)check_blocks(csr, 64),
                  (int)cut_of(csr, 64, NULL));
    kaon_csr_destroy(&csr);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rcm),         cmocka_unit_test(test_rcm_known),
      cmocka_unit_test(test_rcm_parts),   cmocka_unit_test(test_colours),
      cmocka_unit_test(test_colours_fem), cmocka_unit_test(test_order_by_colour),
      cmocka_unit_test(test_levels),      cmocka_unit_test(test_partition),
      cmocka_unit_test(test_blocks),      cmocka_unit_test(test_blocks_of_files),
  };
  return test_main(tests, NULL, NULL);
}
