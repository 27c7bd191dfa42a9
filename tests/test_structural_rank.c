/* test_structural_rank.c - the structural rank: the largest number of rows that can each be given
 * a column of their own. It agrees with trying all choices and with patterns whose answer is known
 * by construction. kaon_matrix_describe reports it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>

#include "sparse/order/matching.h"
#include "tests/util/machine.h"
#include "tests/util/sparse_case.h"
#include "tests/util/test_util.h"

enum { MOST_ENTRIES = 200000 };

typedef struct pattern {
  int64_t rows, entries, row[MOST_ENTRIES], column[MOST_ENTRIES];
  double value[MOST_ENTRIES];
} pattern;

static void add(pattern *p, int64_t row, int64_t column, double value) {
  assert_true(p->entries < MOST_ENTRIES);
  p->row[p->entries] = row;
  p->column[p->entries] = column;
  p->value[p->entries++] = value;
}

static uint32_t next_number(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's */
  return (uint32_t)(*state >> 33);
}

static int64_t rank_of(const pattern *p, char *taken) {
  kaon_csr *a = NULL;
  int64_t rank = -1, count = 0;
  must(NULL, kaon_csr_from_triplets(NULL, p->rows, p->rows, 1, p->entries, p->row, p->column,
                                    p->value, KAON_CSR_ADD, &a));
  must(NULL, kaon_csr_structural_rank(NULL, a, &rank, taken));
  for (int64_t i = 0; i < p->rows; i++) count += taken[i];
  assert_int_equal(count, rank);
  kaon_csr_destroy(&a);
  return rank;
}

/* The best of all choices of columns for row i and the following ones, with the columns in `free`
 * available. */
static int64_t tried_out(const uint32_t *columns, int64_t rows, int64_t i, uint32_t free) {
  if (i == rows) return 0;
  int64_t best = tried_out(columns, rows, i + 1, free); /* without it */
  for (uint32_t left = columns[i] & free; left != 0 && best < rows - i; left &= left - 1) {
    const int64_t with = 1 + tried_out(columns, rows, i + 1, free & ~(left & -left));
    if (with > best) best = with;
  }
  return best;
}

static void small_patterns_against_all_choices(void **state) {
  pattern *p = *state;
  uint64_t seed = 1;
  int deficient = 0;
  for (int trial = 0; trial < 4000; trial++) {
    uint32_t columns[7] = {0};
    char taken[7];
    *p = (pattern){.rows = 1 + trial % 7};
    for (int64_t i = 0; i < p->rows; i++)
      for (int64_t j = 0; j < p->rows; j++) {
        const uint32_t dice = next_number(&seed) % 8;
        if (dice > 2) continue;
        add(p, i, j, dice == 0 ? 0 : -1.5); /* a stored zero is none */
        if (dice != 0) columns[i] |= 1u << j;
      }
    const int64_t wanted = tried_out(columns, p->rows, 0, (1u << p->rows) - 1);
    assert_int_equal(rank_of(p, taken), wanted);
    deficient += wanted < p->rows;
  }
  assert_in_range(deficient, 1000, 3900); /* both kinds were met */
}

/* Shuffled rows that hold a permutation, further entries before its diagonal, and a block of k
 * rows that have k - lost columns between them. */
static void large_patterns_as_they_were_made(void **state) {
  enum { ROWS = 30000, BLOCK = 1000 };
  pattern *p = *state;
  char *taken = malloc(ROWS);
  int32_t *place = malloc(ROWS * sizeof *place);
  assert_true(taken != NULL && place != NULL);
  for (int lost = 0; lost < 40; lost += 13) {
    uint64_t seed = 7 + (uint64_t)lost;
    *p = (pattern){.rows = ROWS};
    for (int32_t i = 0; i < ROWS; i++) place[i] = i;
    for (int32_t i = ROWS - 1; i > 0; i--) {
      const uint32_t other = next_number(&seed) % (uint32_t)(i + 1);
      const int32_t was = place[i];
      place[i] = place[other];
      place[other] = was;
    }
    for (int64_t i = BLOCK; i < ROWS; i++) {
      add(p, place[i], ROWS - 1 - i, 1);
      if (i > BLOCK) add(p, place[i], ROWS - i, 1);
      add(p, place[i], ROWS - 1 - next_number(&seed) % ROWS, 1);
    }
    for (int64_t i = 0; i < BLOCK; i++)
      for (int64_t j = i; j < i + 3; j++) add(p, place[i], ROWS - 1 - j % (BLOCK - lost), 1);
    assert_int_equal(rank_of(p, taken), ROWS - lost);
  }
  free(place);
  free(taken);
}

/* Only one assignment exists: every first choice must move by one column, through all rows. */
static void a_way_through_all_rows(void **state) {
  enum { ROWS = 50000 };
  pattern *p = *state;
  char *taken = malloc(ROWS);
  assert_non_null(taken);
  *p = (pattern){.rows = ROWS};
  for (int64_t i = 0; i + 1 < ROWS; i++) {
    add(p, i, i, 1);
    add(p, i, i + 1, 1);
  }
  add(p, ROWS - 1, 0, 1);
  assert_int_equal(rank_of(p, taken), ROWS);
  p->entries--;
  assert_int_equal(rank_of(p, taken), ROWS - 1);
  assert_int_equal(taken[ROWS - 1], 0);
  free(taken);
}

/* The answer does not depend on the order in which rows are stored; entries may be imaginary.
 * Without its last entry, rows 3 and 4 share column 4. */
static void what_a_matrix_says(void **state) {
  static const int64_t row[] = {0, 0, 1, 1, 2, 3, 4, 3}, column[] = {1, 3, 1, 3, 0, 4, 4, 2};
  static const double i_times[] = {0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 1, 0, 2, 0, 1};
  (void)state;
  kaon_context *ctx = NULL;
  must(NULL, machine_open(KAON_ISA_AUTO, (kaon_context_options)KAON_CONTEXT_OPTIONS_INIT, &ctx));
  for (int trial = 0; trial < 4; trial++) {
    const int singular = trial % 2;
    kaon_triplet_arrays a = {.global_rows = 5, .rows = 5, .reals = 2, .entries = singular ? 7 : 8};
    kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
    kaon_matrix *matrix = NULL;
    kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
    a.row = row;
    a.column = column;
    a.values = i_times;
    options.ordering = trial / 2 ? KAON_ORDERING_RCM : KAON_ORDERING_NONE;
    must(ctx, kaon_matrix_create_triplets(ctx, &a, &options, &matrix));
    must(ctx, kaon_matrix_describe(matrix, &info));
    assert_int_equal(info.structural_rank, singular ? 4 : 5);
    if (singular)
      assert_in_range(info.first_unmatched, 3, 4);
    else
      assert_int_equal(info.first_unmatched, -1);
    kaon_matrix_destroy(&matrix);
  }
  kaon_context_destroy(&ctx);
}

static int make_pattern(void **state) {
  *state = malloc(sizeof(pattern));
  return *state == NULL;
}

static int free_pattern(void **state) {
  free(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_patterns_against_all_choices),
      cmocka_unit_test(large_patterns_as_they_were_made),
      cmocka_unit_test(a_way_through_all_rows),
      cmocka_unit_test(what_a_matrix_says),
  };
  return test_main(tests, make_pattern, free_pattern);
}
