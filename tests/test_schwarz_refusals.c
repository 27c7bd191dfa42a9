/* test_schwarz_refusals.c - Schwarz preconditioners that cannot be made, and the behaviour of one
 * whose operator is destroyed or changed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

static void what_cannot_be_made_is_refused(void **state) {
  (void)state;
  const int extents[4] = {8, 4, 4, 8};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 5));
  kaon_operator *M = case_dirac(&c, 0.11, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18), *K = M;
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  o.block[0] = 3;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_create(M, &o, &K));
  assert_null(K);
  o.block[0] = 0;
  o.relaxation = -1;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_create(M, &o, &K));
  o.relaxation = 2; /* takes nothing off a residual */
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_create(M, &o, &K));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_create(NULL, NULL, &K));
  must(c.ctx, kaon_schwarz_create(M, NULL, &K));
  assert_int_equal(kaon_operator_precision(K), KAON_HALF);
  kaon_vector *x = case_vector(&c, KAON_FULL, KAON_HALF, 1),
              *y = case_vector(&c, KAON_FULL, KAON_HALF, 1);
  must_refuse(c.ctx, KAON_ERR_UNSUPPORTED, kaon_operator_apply(K, KAON_DAGGER, x, y));
  /* it keeps its operator alive */
  kaon_operator_destroy(&M);
  must(c.ctx, kaon_vector_zero(x));
  must(c.ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&K);
  case_close(&c);
}

/* A torus of three blocks cannot be coloured red and black; all blocks at once are possible. */
static void sap_needs_an_even_number_of_blocks(void **state) {
  (void)state;
  const int extents[4] = {12, 4, 6, 4};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 5));
  kaon_operator *M = case_dirac(&c, 0.11, 0, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18), *K = NULL;
  kaon_operator *R = case_even_odd(&c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  for (int reduced = 0; reduced < 2; reduced++) {
    kaon_operator *A = reduced ? R : M;
    o.kind = KAON_SCHWARZ_MULTIPLICATIVE;
    memcpy(o.block, (int[]){4, 0, 0, 0}, sizeof o.block);
    must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_create(A, &o, &K));
    assert_non_null(strstr(kaon_last_error(c.ctx), "12 / 4 = 3 blocks in X"));
    memcpy(o.block, (int[]){0, 0, 2, 0}, sizeof o.block);
    must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_schwarz_create(A, &o, &K));
    assert_non_null(strstr(kaon_last_error(c.ctx), "6 / 2 = 3 blocks in Z"));
    memcpy(o.block, (int[]){6, 4, 6, 2}, sizeof o.block); /* 2, 1, 1, 2 */
    must(c.ctx, kaon_schwarz_create(A, &o, &K));
    kaon_operator_destroy(&K);
    o.kind = KAON_SCHWARZ_ADDITIVE;
    memcpy(o.block, (int[]){4, 0, 2, 0}, sizeof o.block);
    must(c.ctx, kaon_schwarz_create(A, &o, &K));
    kaon_operator_destroy(&K);
  }
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&M);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_cannot_be_made_is_refused),
      cmocka_unit_test(sap_needs_an_even_number_of_blocks),
  };
  return test_main(tests, NULL, NULL);
}
