/* test_update_kernels.c - every entry of the vector kernel tables, for every instruction set and
 * precision, against plain C on exported arrays.
 *
 * Bounds, with u = 2^-53 or 2^-24:
 * - Updates: each of the k complex multiply-adds behind a component rounds at most 5 times
 *   (coefficient to float, two products, two sums), so its error is at most (5 k + 1) u times the
 *   sum of its terms' magnitudes. Half adds one quantisation, 0.51 scale / 32767
 *   (lib/math/half.h).
 * - Sums: (ncomp + 8 + blocks in a chunk + chunks) 2^-53 times the sum of the magnitudes, half
 *   (ncomp + 2) 2^-24 more, against long double sums over the exported result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "blas/blas_ops.h"
#include "lib/math/half.h"
#include "util/vector_fixture.h"

/* Slot i of a column, with the sign that coefficient(i) has. */
static number coefficient_value(const fixture *b, int i, int column) {
  const double *slot = b->state[column].slot[i];
  return (i % 2 ? -1 : 1) * (slot[0] + I * slot[1]);
}

/* The expected number of a written vector: value, sum of the magnitudes of its terms, and depth in
 * multiply-adds. */
typedef struct expected {
  int vector;
  number value;
  double magnitude;
  int depth;
} expected;

static expected sum_of_terms(int vector, int n, const number *terms) {
  expected e = {vector, 0, 0, n};
  for (int i = 0; i < n; i++) {
    e.value += terms[i];
    const double re = creal(terms[i]), im = cimag(terms[i]); /* far from what overflows */
    e.magnitude += sqrt(re * re + im * im);
  }
  return e;
}

/* The pipelined methods' updates; alpha, beta, omega: slots. */
static int pipecg_formula(const number *v, number beta, number alpha, expected out[OUTPUTS]) {
  out[0] = sum_of_terms(1, 2, (number[]){v[0], beta * v[1]});
  out[1] = sum_of_terms(3, 2, (number[]){v[2], beta * v[3]});
  out[2] = sum_of_terms(5, 2, (number[]){v[4], beta * v[5]});
  out[3] = sum_of_terms(6, 3, (number[]){v[6], alpha * v[4], alpha * beta * v[5]});
  out[4] = sum_of_terms(4, 3, (number[]){v[4], -alpha * v[2], -alpha * beta * v[3]});
  out[5] = sum_of_terms(2, 3, (number[]){v[2], -alpha * v[0], -alpha * beta * v[1]});
  return 6;
}

static int pipecgnr_formula(const number *v, number beta, number alpha, expected out[OUTPUTS]) {
  out[0] = sum_of_terms(1, 2, (number[]){v[0], beta * v[1]});
  out[1] = sum_of_terms(3, 2, (number[]){v[2], beta * v[3]});
  out[2] = sum_of_terms(4, 3, (number[]){v[4], alpha * v[2], alpha * beta * v[3]});
  out[3] = sum_of_terms(2, 3, (number[]){v[2], -alpha * v[0], -alpha * beta * v[1]});
  return 4;
}

static int pipe_direction_formula(const number *v, number beta, number omega, number alpha,
                                  expected out[OUTPUTS]) {
  const number bo = -beta * omega, ab = -alpha * beta;
  out[0] = sum_of_terms(3, 3, (number[]){v[0], beta * v[3], bo * v[4]});
  out[1] = sum_of_terms(4, 3, (number[]){v[1], beta * v[4], bo * v[5]});
  out[2] = sum_of_terms(5, 3, (number[]){v[2], beta * v[5], bo * v[6]});
  out[3] = sum_of_terms(0, 4, (number[]){v[0], -alpha * v[1], ab * v[4], -ab * omega * v[5]});
  out[4] = sum_of_terms(1, 4, (number[]){v[1], -alpha * v[2], ab * v[5], -ab * omega * v[6]});
  return 5;
}

static int pipe_solution_formula(const number *v, number alpha, number omega,
                                 expected out[OUTPUTS]) {
  out[0] = sum_of_terms(5, 3, (number[]){v[5], alpha * v[0], omega * v[1]});
  out[1] = sum_of_terms(1, 2, (number[]){v[1], -omega * v[2]});
  out[2] = sum_of_terms(2, 3, (number[]){v[2], -omega * v[3], omega * alpha * v[4]});
  return 3;
}

/* v: the old numbers of all vectors; c: coefficients. Returns how many vectors are written. */
static int formula(enum op op, const number *v, const number *c, expected out[OUTPUTS]) {
  number many[MULTI + 1];
  switch (op) {
    case ZERO:
      out[0] = (expected){0, 0, 0, 0};
      return 1;
    case COPY:
      out[0] = (expected){1, v[0], 0, 0};
      return 1;
    case SCALE:
      out[0] = sum_of_terms(0, 1, (number[]){c[0] * v[0]});
      return 1;
    case AXPY:
      out[0] = sum_of_terms(1, 2, (number[]){v[1], c[0] * v[0]});
      return 1;
    case XPAY:
      out[0] = sum_of_terms(1, 2, (number[]){v[0], c[0] * v[1]});
      return 1;
    case AXPBY:
      out[0] = sum_of_terms(1, 2, (number[]){c[0] * v[0], c[1] * v[1]});
      return 1;
    case AXPY_XPAY:
      out[0] = sum_of_terms(2, 2, (number[]){v[2], c[0] * v[1]});
      out[1] = sum_of_terms(1, 2, (number[]){v[0], c[1] * v[1]});
      return 2;
    case DIRECTION:
      out[0] = sum_of_terms(1, 3, (number[]){v[0], c[0] * v[1], c[0] * c[1] * v[2]});
      return 1;
    case SOLUTION:
      out[0] = sum_of_terms(3, 3, (number[]){v[3], c[0] * v[0], c[1] * v[1]});
      out[1] = sum_of_terms(1, 2, (number[]){v[1], c[2] * v[2]});
      return 2;
    case PIPECG: /* c[1] and the like carry a minus sign that these updates do not have */
      return pipecg_formula(v, c[0], -c[1], out);
    case PIPECGNR:
      return pipecgnr_formula(v, c[0], -c[1], out);
    case PIPE_DIRECTION:
      return pipe_direction_formula(v, c[0], -c[1], c[2], out);
    case PIPE_SOLUTION:
      return pipe_solution_formula(v, c[0], -c[1], out);
    case MULTI_AXPY:
      for (int i = 0; i < MULTI; i++) many[i] = c[i] * v[i];
      many[MULTI] = v[MULTI];
      out[0] = sum_of_terms(MULTI, MULTI + 1, many);
      return 1;
    default:
      return 0;
  }
}

static double unit_roundoff(kaon_precision precision) {
  return precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
}

/* A written vector's 12 numbers of a site against theirs; returns the largest error / bound.
 * roundings: quantisations on the way to a half result; the scale of all but the last is at most
 * the sum of the terms' magnitudes, like the number that it ends up in. */
static double check_site(const fixture *b, const number *after, const expected e[NUMBERS],
                         int roundings) {
  double worst = 0, largest = 0;
  for (int i = 0; i < NUMBERS; i++) {
    const double size = fmax(fabs(creal(e[i].value)), fabs(cimag(e[i].value)));
    largest = larger(largest, roundings > 1 ? e[i].magnitude : size);
  }
  for (int i = 0; i < NUMBERS; i++) {
    const number difference = after[i] - e[i].value;
    const double error = fmax(fabs(creal(difference)), fabs(cimag(difference)));
    double bound = (5 * e[i].depth + 1) * unit_roundoff(b->precision) * e[i].magnitude;
    if (e[i].depth == 0) bound = 0;
    if (b->precision == KAON_HALF && e[i].depth > 0)
      bound += roundings * 0.51 / 32767 * (largest + bound);
    if (error > 0) worst = larger(worst, error / bound);
  }
  return worst;
}

static int open_column(const fixture *b, int k) {
  return (b->state[k].gate & KAON_GATE_STEP) != 0;
}

/* Largest error / bound of all written vectors; everything else must be untouched. */
static double check_vectors(const fixture *b, enum op op, int roundings) {
  double worst = 0;
  for (int k = 0; k < b->nrhs; k++) {
    number c[MULTI];
    for (int i = 0; i < MULTI; i++) c[i] = coefficient_value(b, i, k);
    expected e[OUTPUTS][NUMBERS], none[OUTPUTS];
    const size_t column = (size_t)k * b->count;
    int written[VECTORS] = {0};
    const int outputs = open_column(b, k) ? formula(op, (number[VECTORS]){0}, c, none) : 0;
    for (int o = 0; o < outputs; o++) written[none[o].vector] = 1;
    for (int i = 0; i < VECTORS; i++)
      if (!written[i]) /* cmocka compares byte by byte */
        assert_int_equal(
            memcmp(b->before[i] + column, b->after[i] + column, b->count * sizeof(number)), 0);
    for (size_t site = 0; site < b->count && outputs > 0; site += NUMBERS) {
      for (int i = 0; i < NUMBERS; i++) {
        number v[VECTORS];
        expected out[OUTPUTS];
        for (int j = 0; j < VECTORS; j++) v[j] = b->before[j][column + site + (size_t)i];
        formula(op, v, c, out);
        for (int o = 0; o < outputs; o++) e[o][i] = out[o];
      }
      for (int o = 0; o < outputs; o++)
        worst =
            larger(worst, check_site(b, b->after[e[o][0].vector] + column + site, e[o], roundings));
    }
  }
  return worst;
}

static double sum_bound(const fixture *b) {
  const double blocks = (double)b->space->nblocks;
  const double chunks = fmin(blocks, KAON_REDUCE_CHUNKS);
  const double bound = (NCOMP + 8 + ceil(blocks / chunks) + chunks) * 0x1p-53;
  return b->precision == KAON_HALF ? bound + (NCOMP + 2) * 0x1p-24 : bound;
}

/* |found - (x, y)| / bound with x, y from the exported results. */
static double sum_error(const fixture *b, const double found[2], int x, int y, int k) {
  const number *a = b->after[x] + (size_t)k * b->count, *c = b->after[y] + (size_t)k * b->count;
  long double re = 0, im = 0, magnitude = 0;
  for (size_t n = 0; n < b->count; n++) {
    const long double ar = creal(a[n]), ai = cimag(a[n]), cr = creal(c[n]), ci = cimag(c[n]);
    re += ar * cr + ai * ci;
    im += ar * ci - ai * cr;
    magnitude += fabsl(ar * cr) + fabsl(ai * ci) + fabsl(ar * ci) + fabsl(ai * cr);
  }
  const double error = fmax(fabs(found[0] - (double)re), fabs(found[1] - (double)im));
  return error / (sum_bound(b) * (double)magnitude);
}

static double check_sum(const fixture *b, int slot, int x, int y, int k) {
  return sum_error(b, b->state[k].slot[slot], x, y, k);
}

/* Sum i of a pipelined method's update is the product of these vectors. */
static const struct {
  enum op op;
  int sums, pair[4][2];
} pipelined_sums[] = {{PIPECG, 2, {{4, 4}, {4, 2}}},
                      {PIPECGNR, 4, {{2, 2}, {2, 1}, {3, 1}, {3, 2}}},
                      {PIPE_DIRECTION, 4, {{0, 1}, {1, 1}, {7, 4}, {7, 5}}},
                      {PIPE_SOLUTION, 3, {{1, 1}, {6, 1}, {6, 2}}}};

static double check_pipelined_sums(const fixture *b, enum op op, int k) {
  int row = 0;
  double worst = 0;
  while (pipelined_sums[row].op != op) row++;
  for (int i = 0; i < pipelined_sums[row].sums; i++) {
    const double *slot = b->state[k].slot[FIRST + i];
    const int *pair = pipelined_sums[row].pair[i];
    const int joined = op == PIPE_DIRECTION && i == 1; /* |w|^2 and, beside it, |r|^2 */
    const double norms[2][2] = {{slot[0], 0}, {slot[1], 0}};
    worst = larger(worst, sum_error(b, joined ? norms[0] : slot, pair[0], pair[1], k));
    if (joined) worst = larger(worst, sum_error(b, norms[1], 0, 0, k));
  }
  return worst;
}

static double check_column_sums(const fixture *b, enum op op, int k) {
  static const int norm_of[OPS] = {-1, 1, 0, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, MULTI, 0, MULTI};
  double worst = 0;
  if (is_pipelined(op)) return check_pipelined_sums(b, op, k);
  if (norm_of[op] >= 0) worst = check_sum(b, NORM, norm_of[op], norm_of[op], k);
  if (op == AXPY || op == SOLUTION) worst = larger(worst, check_sum(b, DOT, 4, 1, k));
  if (op == DOTS) {
    worst = larger(worst, check_sum(b, DOT, 0, 1, k));
    worst = larger(worst, check_sum(b, FIRST, 1, 1, k));
  }
  if (op == MULTI_DOT)
    for (int i = 0; i < MULTI; i++) worst = larger(worst, check_sum(b, FIRST + i, i, MULTI, k));
  return worst;
}

static double check_sums(fixture *b, enum op op) {
  double worst = 0;
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  for (int k = 0; k < b->nrhs; k++) {
    if (open_column(b, k)) {
      worst = larger(worst, check_column_sums(b, op, k));
      continue;
    }
    for (int s = 64; s < KAON_SLOTS; s++) /* a closed column's slots are untouched */
      for (int c = 0; c < 2; c++) assert_true(b->state[k].slot[s][c] == SENTINEL);
  }
  return worst;
}

/* error / bound of [op][vectors, sums] over all entries on one set of vectors. */
static void run_all(fixture *b, double worst[OPS][2]) {
  for (int op = 0; op < OPS; op++) {
    run_op(b, (enum op)op);
    worst[op][0] = larger(worst[op][0], check_vectors(b, (enum op)op, 1));
    worst[op][1] = larger(worst[op][1], check_sums(b, (enum op)op));
  }
}

static void every_entry_agrees_with_plain_c(void **state) {
  (void)state;
  static const int columns[] = {1, 3, 12};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
      double worst[OPS][2] = {{0}};
      for (int i = 0; i < 9; i++) {
        if (i == 5) continue; /* 12 columns on the smaller lattices alone */
        fixture b;
        fixture_open(&b, isa, 1, &shapes[i / 3], (kaon_precision)precision, columns[i % 3]);
        run_all(&b, worst);
        fixture_close(&b);
      }
      for (int op = 0; op < OPS; op++) {
        print_message("%s precision %d %-18s error / bound: vectors %.3f, sums %.3f\n",
                      machine_name(isa), precision, op_names[op], worst[op][0], worst[op][1]);
        assert_true(worst[op][0] <= 1 && worst[op][1] <= 1);
      }
    }
  }
}

/* The bits of all results of all entries, combined into one number (FNV-1a). */
static uint64_t chain(uint64_t hash, const void *data, size_t bytes) {
  const char *p = data;
  for (size_t i = 0; i + 4 <= bytes; i += 4) {
    uint32_t word;
    memcpy(&word, p + i, 4);
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
  }
  return hash;
}

static uint64_t chain_device(uint64_t hash, kaon_context *ctx, const void *data, size_t bytes) {
  void *host = machine_read(ctx, data, bytes);
  hash = chain(hash, host, bytes);
  free(host);
  return hash;
}

static uint64_t chain_vectors(uint64_t hash, const fixture *b) {
  for (int i = 0; i < VECTORS; i++) {
    const size_t bytes = (size_t)b->space->nblocks * (size_t)(b->space->width * NCOMP * b->nrhs) *
                         kaon_precision_bytes(b->precision);
    hash = chain_device(hash, b->ctx, b->v[i]->data, bytes);
    if (b->precision == KAON_HALF)
      hash = chain_device(hash, b->ctx, b->v[i]->scale, bytes / NCOMP * 2);
  }
  return hash;
}

static uint64_t fingerprint(int isa, int threads, const shape_case *shape,
                            kaon_precision precision) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  fixture b;
  fixture_open(&b, isa, threads, shape, precision, 3);
  b.bits_only = 1;
  for (int op = 0; op < OPS; op++) {
    run_op(&b, (enum op)op);
    must(b.ctx, kaon_scalars_read(b.scalars, b.state));
    hash = chain_vectors(hash, &b);
    hash = chain(hash, b.state, 3 * sizeof *b.state);
  }
  fixture_close(&b);
  return hash;
}

static void bits_do_not_depend_on_the_number_of_threads(void **state) {
  (void)state;
  static const shape_case small[] = {{{4, 6, 2, 10}, KAON_ODD}, {{4, 4, 8, 16}, KAON_EVEN}};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++)
      for (int i = 0; i < 2; i++) {
        uint64_t hash[3];
        for (int t = 0; t < 3; t++)
          hash[t] = fingerprint(isa, t + 1, &small[i], (kaon_precision)precision);
        print_message("%s precision %d lattice %d: %016llx %016llx %016llx\n", machine_name(isa),
                      precision, i, (unsigned long long)hash[0], (unsigned long long)hash[1],
                      (unsigned long long)hash[2]);
        assert_true(hash[1] == hash[0] && hash[2] == hash[0]);
      }
  }
}

/* On a device in half: small lattices take a thread a packet, this one a thread a site where it
 * sums. */
static void larger_lattices_agree_with_plain_c(void **state) {
  (void)state;
  static const shape_case larger = {{8, 8, 16, 18}, KAON_FULL};
  if (machine_lacks(MACHINE_CUDA)) return;
  for (int nrhs = 1; nrhs <= 2; nrhs++) {
    double worst[OPS][2] = {{0}};
    fixture b;
    fixture_open(&b, MACHINE_CUDA, 1, &larger, KAON_HALF, nrhs);
    run_all(&b, worst);
    fixture_close(&b);
    for (int op = 0; op < OPS; op++) assert_true(worst[op][0] <= 1 && worst[op][1] <= 1);
  }
}

static void entries_that_a_backend_lacks_are_composed(void **state) {
  (void)state;
  for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
    fixture b;
    fixture_open(&b, KAON_ISA_AUTO, 1, &shapes[0], (kaon_precision)precision, 3);
    const kaon_backend *whole = b.ctx->backend;
    kaon_backend poor = *whole;
    kaon_blas_ops table = *whole->blas[precision];
    table.axpy_xpay = table.bicgstab_direction = table.bicgstab_solution = NULL;
    table.multi_axpy = table.multi_dot = NULL;
    poor.blas[precision] = &table;
    b.ctx->backend = &poor;
    for (int op = AXPY_XPAY; op < OPS; op++) {
      if (is_pipelined((enum op)op)) continue; /* every backend has them */
      run_op(&b, (enum op)op);
      const double worst = check_vectors(&b, (enum op)op, MULTI);
      const double worst_sum = check_sums(&b, (enum op)op);
      print_message("precision %d composed %-18s error/bound: vectors %.3f, sums %.3f\n", precision,
                    op_names[op], worst, worst_sum);
      assert_true(worst <= 1 && worst_sum <= 1);
    }
    table.axpy = NULL;
    kaon_pass pass = KAON_PASS_INIT;
    pass.scalars = b.scalars;
    assert_int_equal(call(&b, AXPY, pass), KAON_ERR_NOT_BUILT);
    print_message("%s\n", kaon_last_error(b.ctx));
    b.ctx->backend = whole;
    fixture_close(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_entry_agrees_with_plain_c),
      cmocka_unit_test(bits_do_not_depend_on_the_number_of_threads),
      cmocka_unit_test(larger_lattices_agree_with_plain_c),
      cmocka_unit_test(entries_that_a_backend_lacks_are_composed),
  };
  return test_main(tests, NULL, NULL);
}
