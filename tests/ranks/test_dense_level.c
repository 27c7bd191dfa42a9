/* test_dense_level.c - the dense inverse of a coarse operator on several ranks has the bits of that
 * on one: each rank holds rows of the same matrix, and rows are ordered by the whole lattice. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lib/operator/operator_internal.h"
#include "ranks.h"
#include "tests/util/dense_case.h"

enum { COLUMNS = 5, MOST = 4096 };
static const dense_case subject = {{4, 2, 2, 4}, 16, 7};
static const int grids[][4] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {2, 1, 1, 1}, {2, 1, 1, 2},
                               {1, 2, 2, 1}, {4, 1, 1, 1}, {2, 2, 2, 1}, {2, 1, 1, 4}};

typedef struct side {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_coarse_links links;
  kaon_operator *K;
  kaon_vector *y;
} side;

static void side_open(side *s, kaon_context *ctx, kaon_precision precision) {
  s->ctx = ctx;
  must(ctx, kaon_lattice_create(ctx, subject.extents, KAON_PERIODIC, &s->lattice));
  s->links = dense_links(&subject, s->lattice);
  kaon_dense_info info;
  must(ctx, kaon_dense_inverse(&s->links, precision, MOST, &s->K, &info));
  assert_int_equal(info.rows, dense_rows(&subject));
  kaon_vector *x = dense_sources(&subject, s->lattice, precision, COLUMNS);
  s->y = dense_vector(s->lattice, subject.reals, precision, COLUMNS);
  must(ctx, kaon_operator_run(s->K, KAON_PLAIN, x, s->y, NULL));
  kaon_vector_destroy(&x);
}

static void side_close(side *s) {
  kaon_vector_destroy(&s->y);
  kaon_operator_destroy(&s->K);
  kaon_coarse_links_destroy(&s->links);
  kaon_lattice_destroy(&s->lattice);
  kaon_context_destroy(&s->ctx);
}

static kaon_context *open_one(void) {
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  must(NULL, kaon_context_create(&options, &ctx));
  return ctx;
}

/* The numbers of this rank's sites. */
static void compare(const side *part, const side *whole) {
  const kaon_lattice *l = part->lattice;
  const int n = subject.reals / 2;
  for (int k = 0; k < COLUMNS; k++) {
    dense_number *own = dense_export(part->y, k), *all = dense_export(whole->y, k);
    for (int64_t local = 0; local < l->volume; local++) {
      int x[4];
      dense_coordinates(l->extents, local, x);
      for (int mu = 0; mu < 4; mu++) x[mu] += l->origin[mu];
      assert_memory_equal(own + local * n, all + dense_site(l->global, x, KAON_DIRS) * n,
                          (size_t)n * sizeof *own);
    }
    free(own);
    free(all);
  }
}

static void parts_have_the_bits_of_the_whole(void **state) {
  (void)state;
  int tried = 0;
  for (int precision = KAON_DOUBLE; precision <= KAON_SINGLE; precision++) {
    side whole;
    side_open(&whole, open_one(), (kaon_precision)precision);
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
      const int *g = grids[i];
      side part;
      if (g[0] * g[1] * g[2] * g[3] != world_size()) continue;
      side_open(&part, ranks_open(KAON_ISA_AUTO, g), (kaon_precision)precision);
      compare(&part, &whole);
      side_close(&part);
      tried++;
    }
    side_close(&whole);
  }
  if (tried == 0) skip();
}

/* Every rank gets the status and the sentence. */
static void refusals_are_those_of_all_ranks(void **state) {
  (void)state;
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, NULL);
  side s = {.ctx = ctx};
  must(ctx, kaon_lattice_create(ctx, subject.extents, KAON_PERIODIC, &s.lattice));
  s.links = dense_links(&subject, s.lattice);
  for (int d = 0; d < KAON_DIRS; d++) must(ctx, kaon_vector_zero(s.links.hop[d]));
  must(ctx, kaon_vector_zero(s.links.inside));
  must_refuse(ctx, KAON_ERR_SINGULAR, kaon_dense_inverse(&s.links, KAON_SINGLE, MOST, &s.K, NULL));
  assert_null(s.K);
  side_close(&s);
}

static const struct CMUnitTest dense_level[] = {
    cmocka_unit_test(parts_have_the_bits_of_the_whole),
    cmocka_unit_test(refusals_are_those_of_all_ranks),
};
RANKS_MAIN(dense_level)
