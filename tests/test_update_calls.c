/* test_update_calls.c - what surrounds the update kernels: completion over ranks, recurrences
 * after sums, changes of precision, and misuse that is refused with a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "blas/precond_ops.h"
#include "blas/submit.h"
#include "lib/math/half.h"
#include "lib/math/steps/recurrences.h"
#include "lib/math/steps/update_rows.h"
#include "util/vector_fixture.h"

/* Two ranks played by one: a sum over ranks doubles. */
static kaon_status double_values(kaon_comm *comm, double *values, int n) {
  (void)comm;
  for (int i = 0; i < n; i++) values[i] *= 2;
  return KAON_OK;
}

static kaon_status nothing(kaon_comm *comm) {
  (void)comm;
  return KAON_OK;
}

static void slots_are_summed_over_ranks_once(void **state) {
  (void)state;
  static const enum op summed[] = {AXPY, SOLUTION, DOTS, MULTI_DOT};
  for (int i = 0; i < 4; i++) {
    fixture one, two;
    fixture_open(&one, MACHINE_CPU, 1, &shapes[0], KAON_SINGLE, 3);
    fixture_open(&two, MACHINE_CPU, 1, &shapes[0], KAON_SINGLE, 3);
    kaon_comm_ops ops = *two.ctx->comm->ops;
    const kaon_comm_ops *own = two.ctx->comm->ops;
    ops.sum_start = double_values;
    ops.sum_finish = nothing;
    two.ctx->comm->ops = &ops;
    two.ctx->comm->ranks = 2;
    run_op(&one, summed[i]);
    run_op(&two, summed[i]);
    must(one.ctx, kaon_scalars_read(one.scalars, one.state));
    must(two.ctx, kaon_scalars_read(two.scalars, two.state));
    for (int k = 0; k < 3; k++)
      for (int s = 0; s < KAON_SLOTS; s++)
        for (int c = 0; c < 2; c++) {
          const double a = one.state[k].slot[s][c], b = two.state[k].slot[s][c];
          assert_true(b == (s < 64 || a == SENTINEL ? a : 2 * a));
        }
    two.ctx->comm->ops = own;
    two.ctx->comm->ranks = 1;
    fixture_close(&one);
    fixture_close(&two);
  }
}

/* Column 0 and 2 open; KAON_REC_CG_BETA as an example. Scalar kernels: no fused multiply-adds, so
 * the recurrence has the same bits here. */
static void after_recurrence(fixture *b) {
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  for (int k = 0; k < b->nrhs; k += 2) kaon_recurrence_run(KAON_REC_CG_BETA, &b->state[k]);
}

static kaon_status call_with_norm(fixture *b, int which, const kaon_pass *pass) {
  kaon_vector **v = b->v;
  const int slots[3] = {KAON_NO_SLOT, pass->norm, KAON_NO_SLOT};
  switch (which) {
    case 0:
      return kaon_blas_axpy(KAON_PLUS(20), v[0], v[1], pass);
    case 1:
      return kaon_blas_copy(v[0], v[1], pass);
    case 2:
      return kaon_blas_dot(v[0], v[0], slots, pass);
    case 3:
      return kaon_blas_multi_dot(MULTI, v, v[MULTI], FIRST, pass);
    case 4:
      return kaon_blas_multi_axpy(0, NULL, NULL, v[1], pass);
    case 5:
      return kaon_blas_convert(v[0], v[1], 1, pass);
    default: /* a recurrence on the scalars as they are */
      return pass->then ? kaon_blas_recur(b->ctx, pass) : KAON_OK;
  }
}

static void recurrences_run_where_their_sums_are_complete(void **state) {
  (void)state;
  fixture plain, then;
  fixture_open(&plain, KAON_ISA_SCALAR, 1, &shapes[0], KAON_DOUBLE, 3);
  fixture_open(&then, KAON_ISA_SCALAR, 1, &shapes[0], KAON_DOUBLE, 3);
  fill(&plain);
  fill(&then);
  for (int which = 0; which < 7; which++) {
    kaon_pass pass = KAON_PASS_INIT;
    reset_scalars(&plain);
    reset_scalars(&then);
    pass.scalars = plain.scalars;
    pass.norm = KAON_S_R2;
    must(plain.ctx, call_with_norm(&plain, which, &pass));
    pass.scalars = then.scalars;
    pass.then = KAON_REC_CG_BETA;
    must(then.ctx, call_with_norm(&then, which, &pass));
    after_recurrence(&plain);
    must(then.ctx, kaon_scalars_read(then.scalars, then.state));
    assert_memory_equal(plain.state, then.state, 3 * sizeof *then.state);
  }
  fixture_close(&plain);
  fixture_close(&then);
}

/* error / bound of one number after a change of precision: a sum in double, one more rounding. */
static double conversion_error(kaon_precision to, number found, number value, double largest) {
  const number d = found - value;
  const double error = fmax(fabs(creal(d)), fabs(cimag(d)));
  const double u = to == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  double bound = (u + 0x1p-53) * cabs(value);
  if (to == KAON_HALF) bound += 0.51 / 32767 * largest;
  return error > 0 ? error / bound : 0;
}

static double check_conversion(const number *from, const number *old, const number *found,
                               size_t count, kaon_precision to, int add) {
  double worst = 0;
  for (size_t site = 0; site < count; site += NUMBERS) {
    number value[NUMBERS];
    double largest = 0;
    for (size_t i = 0; i < NUMBERS; i++) {
      value[i] = from[site + i] + (add ? old[site + i] : 0);
      largest = larger(largest, fmax(fabs(creal(value[i])), fabs(cimag(value[i]))));
    }
    for (size_t i = 0; i < NUMBERS; i++)
      worst = larger(worst, conversion_error(to, found[site + i], value[i], largest));
  }
  return worst;
}

/* Converts v[0] into a vector of precision `to`; column 1 is closed. */
static void convert_case(fixture *b, kaon_precision to, int add, double worst[2]) {
  kaon_vector *target = NULL;
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = b->scalars;
  pass.norm = NORM;
  must(b->ctx, kaon_vector_create(b->ctx, b->space, to, b->nrhs, &target));
  reset_scalars(b);
  number *from = calloc(b->count, sizeof *from), *old = calloc(b->count, sizeof *from),
         *found = calloc(b->count, sizeof *from);
  for (int k = 0; k < b->nrhs; k++)
    must(b->ctx, kaon_vector_import(target, k, (const double *)b->noise, KAON_BASIS_UKQCD));
  must(b->ctx, kaon_vector_export(target, 0, (double *)old, KAON_BASIS_UKQCD));
  must(b->ctx, kaon_blas_convert(b->v[0], target, add, &pass));
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  for (int k = 0; k < b->nrhs; k++) {
    must(b->ctx, kaon_vector_export(b->v[0], k, (double *)from, KAON_BASIS_UKQCD));
    must(b->ctx, kaon_vector_export(target, k, (double *)found, KAON_BASIS_UKQCD));
    if (k % 3 == 1) {
      assert_memory_equal(found, old, b->count * sizeof *old);
      assert_true(b->state[k].slot[NORM][0] == SENTINEL);
      continue;
    }
    worst[0] = larger(worst[0], check_conversion(from, old, found, b->count, to, add));
    long double norm = 0;
    for (size_t n = 0; n < b->count; n++)
      norm += (long double)creal(found[n]) * creal(found[n]) +
              (long double)cimag(found[n]) * cimag(found[n]);
    /* half to half is a copy: its norm is half's own sum (test_update_kernels.c) */
    const int own = to == KAON_HALF && b->precision == KAON_HALF && !add;
    const double bound =
        ((NCOMP + 8 + 2 * KAON_REDUCE_CHUNKS) * 0x1p-53 + (own ? (NCOMP + 2) * 0x1p-24 : 0)) *
        (double)norm;
    worst[1] = larger(worst[1], fabs(b->state[k].slot[NORM][0] - (double)norm) / bound);
  }
  free(from), free(old), free(found);
  kaon_vector_destroy(&target);
}

static void precision_changes_round_once(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    for (int from = KAON_DOUBLE; from <= KAON_HALF; from++)
      for (int to = KAON_DOUBLE; to <= KAON_HALF; to++)
        for (int add = 0; add < 2; add++) {
          double worst[2] = {0};
          for (int i = 0; i < 3; i++) {
            fixture b;
            fixture_open(&b, isa, 1, &shapes[i], (kaon_precision)from, i == 2 ? 12 : 3);
            fill(&b);
            convert_case(&b, (kaon_precision)to, add, worst);
            fixture_close(&b);
          }
          print_message("%s precision %d %s %d: error / bound %.3f, norm %.3f\n", machine_name(isa),
                        from, add ? "added to" : "to", to, worst[0], worst[1]);
          assert_true(worst[0] <= 1 && worst[1] <= 1);
        }
  }
}

/* Largest |stored - value| 32767 / scale over all sites. */
static double half_error(const number *stored, const number *value, size_t count) {
  double worst = 0;
  for (size_t site = 0; site < count; site += NUMBERS) {
    double scale = 0, error = 0;
    for (size_t i = site; i < site + NUMBERS; i++) {
      scale = larger(scale, fmax(fabs(creal(value[i])), fabs(cimag(value[i]))));
      error =
          larger(error, fmax(fabs(creal(stored[i] - value[i])), fabs(cimag(stored[i] - value[i]))));
    }
    if (error > 0) worst = larger(worst, error / scale * 32767);
  }
  return worst;
}

/* The import and the kernels share the source text, so they give the same bits. */
static void half_vectors_keep_to_their_bound(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    fixture b;
    kaon_vector *half = NULL;
    fixture_open(&b, isa, 1, &shapes[0], KAON_DOUBLE, 1);
    must(b.ctx, kaon_vector_create(b.ctx, b.space, KAON_HALF, 1, &half));
    const size_t lanes = (size_t)(b.space->nblocks * b.space->width);
    number *psi = calloc(b.count, sizeof *psi);
    memcpy(psi, b.noise, b.count * sizeof *psi);
    for (size_t i = 0; i < 8 * NUMBERS; i++) psi[i] *= i / NUMBERS % 4 < 2 ? 0 : 1e-37;
    must(b.ctx, kaon_vector_import(half, 0, (const double *)psi, KAON_BASIS_UKQCD));
    float *scale = machine_read(b.ctx, half->scale, lanes * sizeof *scale);
    int16_t *data = machine_read(b.ctx, half->data, lanes * NCOMP * sizeof *data);
    must(b.ctx, kaon_vector_import(b.v[0], 0, (const double *)psi, KAON_BASIS_UKQCD));
    must(b.ctx, kaon_vector_copy(half, b.v[0]));
    float *kernel_scale = machine_read(b.ctx, half->scale, lanes * sizeof *scale);
    int16_t *kernel_data = machine_read(b.ctx, half->data, lanes * NCOMP * sizeof *data);
    assert_memory_equal(scale, kernel_scale, lanes * sizeof *scale);
    assert_memory_equal(data, kernel_data, lanes * NCOMP * sizeof *data);
    free(kernel_scale), free(kernel_data);
    number *found = calloc(b.count, sizeof *found);
    must(b.ctx, kaon_vector_export(half, 0, (double *)found, KAON_BASIS_UKQCD));
    for (size_t i = 0; i < 8 * NUMBERS; i++) assert_true(cabs(found[i]) < KAON_HALF_TINY);
    memset(psi, 0, b.count * sizeof *psi); /* the other parity is left alone */
    must(b.ctx, kaon_vector_export(b.v[0], 0, (double *)psi, KAON_BASIS_UKQCD));
    const double worst = half_error(found + 8 * NUMBERS, psi + 8 * NUMBERS, b.count - 8 * NUMBERS);
    print_message("%s: half error %.4f of scale / 32767, bound 0.51\n", machine_name(isa), worst);
    assert_true(worst <= 0.51);
    free(psi), free(found), free(scale), free(data);
    kaon_vector_destroy(&half);
    fixture_close(&b);
  }
}

/* One NaN or infinity spoils its site, the norm, and nothing else. */
static void numbers_that_are_not_finite_stay_so_in_half(void **state) {
  (void)state;
  const double bad[] = {NAN, INFINITY, -INFINITY};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    fixture b;
    fixture_open(&b, isa, 1, &shapes[0], KAON_SINGLE, 1);
    kaon_vector *half = NULL;
    must(b.ctx, kaon_vector_create(b.ctx, b.space, KAON_HALF, 1, &half));
    number *found = calloc(b.count, sizeof *found);
    for (int i = 0; i < 3 * NCOMP; i++) {
      fill(&b);
      const int64_t at = kaon_packed_index(1, 0, i % NCOMP, 0, 1, NCOMP, b.space->width,
                                           kaon_pack_of(b.ctx, NCOMP, KAON_SINGLE));
      const float spoiler = (float)bad[i / NCOMP];
      machine_write(b.ctx, (float *)b.v[0]->data + at, &spoiler, sizeof spoiler);
      double norm2;
      must(b.ctx, kaon_vector_copy(half, b.v[0]));
      must(b.ctx, kaon_vector_norm2(half, &norm2));
      assert_true(!isfinite(norm2));
      must(b.ctx, kaon_vector_export(half, 0, (double *)found, KAON_BASIS_UKQCD));
      int spoilt = 0;
      for (size_t n = 0; n < b.count; n++)
        spoilt += !isfinite(creal(found[n])) && !isfinite(cimag(found[n]));
      assert_int_equal(spoilt, NUMBERS);
    }
    free(found);
    kaon_vector_destroy(&half);
    fixture_close(&b);
  }
}

static void overlapping_operands_are_refused(void **state) {
  (void)state;
  fixture b;
  fixture_open(&b, KAON_ISA_AUTO, 1, &shapes[2], KAON_DOUBLE, 3);
  kaon_vector **v = b.v, part;
  const kaon_coefficient one = KAON_NUMBER(1);
  kaon_vector *list[2] = {v[0], v[1]};
  const kaon_coefficient ones[2] = {KAON_NUMBER(1), KAON_NUMBER(1)};
  assert_int_equal(kaon_blas_copy(v[0], v[0], NULL), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_axpy(one, v[0], v[0], NULL), KAON_ERR_ALIAS);
  print_message("%s\n", kaon_last_error(b.ctx));
  assert_int_equal(kaon_blas_xpay(v[0], one, v[0], NULL), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_axpby(one, v[0], one, v[0], NULL), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_axpy_xpay(one, v[0], v[0], v[1], one, NULL), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_axpy_xpay(one, v[0], v[1], v[0], one, NULL), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_bicgstab_direction(v[0], one, v[0], one, v[1], NULL), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_bicgstab_solution(one, v[0], one, v[1], one, v[1], v[2], NULL),
                   KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_multi_axpy(2, ones, list, v[1], NULL), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_convert(v[0], v[0], 1, NULL), KAON_ERR_ALIAS);
  must(b.ctx, kaon_vector_view(v[0], KAON_EVEN, &part));
  assert_int_equal(kaon_blas_copy(&part, &part, NULL), KAON_ERR_ALIAS);
  assert_int_equal(
      kaon_blas_dot(v[0], v[0], (int[3]){KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT}, NULL), KAON_OK);
  fixture_close(&b);
}

/* Every fused update refuses what its row forbids: an operand that is missing, that has another
 * number of columns, or that shares memory with one that is written. There is no kernel to run. */
static void rows_say_what_an_update_checks(void **state) {
  (void)state;
#define KAON_X(OP, entry, form, reads, summed, writes, coefficients, sums, ...) \
  KAON_UPDATE_ROW(kaon_blas_ops, entry, form, reads, summed, writes, coefficients, sums),
#define KAON_Y(OP, entry, form, reads, summed, writes, coefficients, sums, ...) \
  KAON_UPDATE_ROW(kaon_precond_ops, entry, form, reads, summed, writes, coefficients, sums),
  static const kaon_update_row rows[] = {KAON_PIPELINED_ROWS(KAON_X) KAON_PRECOND_ROWS(KAON_Y)};
#undef KAON_X
#undef KAON_Y
  static const int slots[4] = {KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT};
  enum { MOST = 10, ROWS = sizeof rows / sizeof *rows };
  fixture b;
  kaon_vector *one = NULL, *two = NULL;
  kaon_coefficient c[4];
  for (int i = 0; i < 4; i++) c[i] = KAON_NUMBER(1);
  fixture_open(&b, KAON_ISA_AUTO, 1, &shapes[0], KAON_DOUBLE, 4);
  must(b.ctx, kaon_vector_create(b.ctx, b.space, KAON_DOUBLE, 1, &one));
  must(b.ctx, kaon_vector_create(b.ctx, b.space, KAON_DOUBLE, 2, &two));
  for (int i = 0; i < ROWS; i++) {
    const kaon_update_row *row = &rows[i];
    const unsigned all = row->reads | row->writes;
    kaon_operand v[MOST];
    for (int j = 0; j < MOST; j++)
      v[j] = (kaon_operand){"some", j < VECTORS ? b.v[j] : b.filling[j - VECTORS]};
    if (row->form == KAON_ROW_SCALED) v[0].vector = one;
    if (row->form == KAON_ROW_CYCLIC) v[0].vector = two;
#define RUN() kaon_update_run_row(row, NULL, v, c, slots, 0, NULL)
    assert_int_equal(RUN(), KAON_ERR_NOT_BUILT);
    assert_int_equal(all >> MOST, 0);
    for (int j = 0; j < MOST; j++) {
      const kaon_vector *own = v[j].vector;
      if (!(all >> j & 1)) continue;
      v[j].vector = NULL;
      assert_int_equal(RUN(), KAON_ERR_ARGUMENT);
      if (j > 0) {
        v[j].vector = two;
        assert_int_equal(RUN(), KAON_ERR_SHAPE);
      }
      for (int k = 1; k < MOST && j > 0; k++) {
        if (!(all >> k & 1) || k == j) continue;
        const int writes = row->writes >> j & 1 || row->writes >> k & 1;
        v[j].vector = v[k].vector;
        assert_int_equal(RUN(), writes ? KAON_ERR_ALIAS : KAON_ERR_NOT_BUILT);
      }
      v[j].vector = own;
    }
    if (row->form == KAON_ROW_SCALED) { /* one column for all, or a column for each in turn */
      v[0].vector = two;
      assert_int_equal(RUN(), KAON_ERR_SHAPE);
    }
#undef RUN
  }
  kaon_vector_destroy(&one);
  kaon_vector_destroy(&two);
  fixture_close(&b);
}

static void misuse_is_named(void **state) {
  (void)state;
  fixture b, other;
  fixture_open(&b, KAON_ISA_AUTO, 1, &shapes[0], KAON_DOUBLE, 3);
  fixture_open(&other, KAON_ISA_AUTO, 1, &shapes[2], KAON_DOUBLE, 3);
  kaon_vector *narrow = NULL, *single = NULL;
  must(b.ctx, kaon_vector_create(b.ctx, b.space, KAON_DOUBLE, 2, &narrow));
  must(b.ctx, kaon_vector_create(b.ctx, b.space, KAON_SINGLE, 3, &single));
  const kaon_coefficient one = KAON_NUMBER(1);
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = b.scalars;
  pass.norm = KAON_SLOTS;
#define REFUSED(call, code)         \
  assert_int_equal((call), (code)); \
  print_message("%s\n", kaon_last_error(b.ctx))
  REFUSED(kaon_blas_axpy(one, other.v[0], b.v[0], NULL), KAON_ERR_SHAPE);
  REFUSED(kaon_blas_axpy(one, narrow, b.v[0], NULL), KAON_ERR_SHAPE);
  REFUSED(kaon_blas_axpy(one, single, b.v[0], NULL), KAON_ERR_PRECISION);
  REFUSED(kaon_blas_axpy(one, NULL, b.v[0], NULL), KAON_ERR_ARGUMENT);
  REFUSED(kaon_blas_axpy(KAON_PLUS(0), b.v[1], b.v[0], NULL), KAON_ERR_ARGUMENT);
  REFUSED(kaon_blas_axpy(one, b.v[1], b.v[0], &pass), KAON_ERR_ARGUMENT);
  REFUSED(kaon_blas_scale(one, narrow, &pass), KAON_ERR_SHAPE);
  pass.norm = KAON_NO_SLOT;
  pass.dot = 0;
  REFUSED(kaon_blas_scale(one, b.v[0], &pass), KAON_ERR_UNSUPPORTED);
  REFUSED(kaon_blas_axpy(one, b.v[1], b.v[0], &pass), KAON_ERR_ARGUMENT); /* w is NULL */
  pass.dot = KAON_NO_SLOT;
  REFUSED(kaon_blas_multi_dot(33, b.v, b.v[0], 0, &pass), KAON_ERR_ARGUMENT);
  REFUSED(kaon_blas_multi_dot(2, b.v, b.v[2], KAON_SLOTS - 1, &pass), KAON_ERR_ARGUMENT);
  REFUSED(kaon_blas_multi_axpy(-1, NULL, NULL, b.v[0], NULL), KAON_ERR_ARGUMENT);
#undef REFUSED
  assert_int_equal(kaon_blas_zero(NULL, NULL), KAON_ERR_ARGUMENT);
  kaon_vector_destroy(&narrow);
  kaon_vector_destroy(&single);
  fixture_close(&b);
  fixture_close(&other);
}

/* Check mode: pages around every object trap, memory starts out as NaN. */
static void kernels_stay_inside_their_operands(void **state) {
  (void)state;
  check_mode = 1;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
      fixture b;
      double norm2[3], worst[2] = {0};
      fixture_open(&b, isa, 2, &shapes[0], (kaon_precision)precision, 3);
      for (int op = 0; op < OPS; op++) run_op(&b, (enum op)op);
      for (int to = KAON_DOUBLE; to <= KAON_HALF; to++)
        convert_case(&b, (kaon_precision)to, to % 2, worst);
      must(b.ctx, kaon_vector_norm2(b.v[1], norm2));
      for (int k = 0; k < 3; k++) assert_true(isfinite(norm2[k]));
      fixture_close(&b);
    }
  }
  check_mode = 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_are_summed_over_ranks_once),
      cmocka_unit_test(recurrences_run_where_their_sums_are_complete),
      cmocka_unit_test(precision_changes_round_once),
      cmocka_unit_test(half_vectors_keep_to_their_bound),
      cmocka_unit_test(numbers_that_are_not_finite_stay_so_in_half),
      cmocka_unit_test(kernels_stay_inside_their_operands),
      cmocka_unit_test(overlapping_operands_are_refused),
      cmocka_unit_test(rows_say_what_an_update_checks),
      cmocka_unit_test(misuse_is_named),
  };
  return test_main(tests, NULL, NULL);
}
