/* test_vector.c - vectors as a user sees them: import from and export to host arrays in every
 * basis, order and precision; sums; views; refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "blas/submit.h"
#include "lib/math/basis.h"
#include "reference/reference.h"
#include "util/vector_fixture.h"

static const kaon_basis bases[] = {KAON_BASIS_UKQCD, KAON_BASIS_DEGRAND_ROSSI,
                                   KAON_BASIS_DDALPHAAMG, KAON_BASIS_CHIRAL};
/* The chiral basis of QUDA and tmLQCD has the gamma matrices of openQCD. */
static const ref_basis ref_bases[] = {REF_UKQCD, REF_DEGRAND_ROSSI, REF_DDALPHAAMG, REF_OPENQCD};
enum { BASES = sizeof bases / sizeof *bases };

static void matrix_of(kaon_basis basis, number s[16]) {
  const kaon_basis_change *b = kaon_basis_find(basis);
  for (int i = 0; i < 16; i++) s[i] = b->scale * b->sign[i / 4][i % 4];
}

/* S gamma_mu(host) S^dag = gamma_mu inside, S unitary, and S is what the reference finds. Products
 * of 4 terms of magnitude at most 1/2, twice: 8 roundings of 2^-53. */
static void basis_changes_carry_the_gamma_matrices_over(void **state) {
  (void)state;
  for (int b = 0; b < BASES; b++) {
    number s[16], dagger[16], found[16];
    ref_complex expected[16];
    double worst = 0;
    matrix_of(bases[b], s);
    for (int i = 0; i < 16; i++) dagger[i] = conj(s[4 * (i % 4) + i / 4]);
    ref_basis_change(ref_bases[b], REF_UKQCD, expected);
    worst = larger(worst, ref_max_diff(s, expected, 16));
    for (int mu = 0; mu < 4; mu++) {
      ref_complex host[16];
      ref_gamma(ref_bases[b], mu, host);
      ref_gamma(REF_UKQCD, mu, expected);
      ref_mul4(found, s, host);
      ref_mul4(found, found, dagger);
      worst = larger(worst, ref_max_diff(found, expected, 16));
    }
    ref_mul4(found, s, dagger);
    for (int i = 0; i < 16; i++) worst = larger(worst, cabs(found[i] - (i % 5 == 0)));
    print_message("basis %d: largest deviation %.2e, bound %.2e\n", b, worst, 8 * 0x1p-53);
    assert_true(worst <= 8 * 0x1p-53);
  }
}

static int parity_of(const int extents[4], size_t site) {
  int sum = 0;
  for (int mu = 0; mu < 4; mu++) {
    sum += (int)(site % (size_t)extents[mu]);
    site /= (size_t)extents[mu];
  }
  return sum & 1;
}

/* Import in one basis, export in another: S_out^dag S_in psi on the vector's sites, nothing on the
 * others. Two changes of at most 4 terms: 10 u times the site's 2-norm; half 0.51 scale / 32767
 * through a matrix of rows of at most sum 2. */
static double round_trip(const fixture *b, const shape_case *shape, int in, int out) {
  ref_complex s[16], t[16], m[16];
  number psi[NUMBERS], *back = malloc(b->count * sizeof *back);
  ref_basis_change(ref_bases[in], REF_UKQCD, s);
  ref_basis_change(REF_UKQCD, ref_bases[out], t);
  matrix_of(bases[out], t);
  for (int i = 0; i < 16; i++) m[i] = conj(t[4 * (i % 4) + i / 4]);
  ref_mul4(m, m, s);
  for (size_t n = 0; n < b->count; n++) back[n] = 1e9;
  must(b->ctx, kaon_vector_import(b->v[0], 1, (const double *)b->noise, bases[in]));
  must(b->ctx, kaon_vector_export(b->v[0], 1, (double *)back, bases[out]));
  const double u = b->precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  double worst = 0;
  for (size_t site = 0; site < b->count / NUMBERS; site++) {
    const number *from = b->noise + site * NUMBERS, *to = back + site * NUMBERS;
    if (shape->parity != KAON_FULL && parity_of(shape->extents, site) != (int)shape->parity) {
      for (int i = 0; i < NUMBERS; i++) assert_true(to[i] == 1e9);
      continue;
    }
    const double norm = sqrt(ref_norm2(from, NUMBERS));
    const double bound = (10 * u + (b->precision == KAON_HALF ? 2 * 0.51 / 32767 : 0)) * norm;
    for (int i = 0; i < NUMBERS; i++) {
      psi[i] = 0;
      for (int j = 0; j < 4; j++) psi[i] += m[4 * (i / 3) + j] * from[3 * j + i % 3];
      worst = larger(worst, cabs(psi[i] - to[i]) / bound);
    }
  }
  free(back);
  return worst;
}

static void host_arrays_survive_the_door_in_every_basis(void **state) {
  (void)state;
  static const shape_case more[] = {{{4, 6, 2, 10}, KAON_FULL}, {{8, 4, 4, 8}, KAON_ODD}};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
      double worst = 0;
      for (int i = 0; i < 5 * 9; i++) {
        const shape_case *shape = i < 27 ? &shapes[i / 9] : &more[i / 9 - 3];
        fixture b;
        fixture_open(&b, isa, 1, shape, (kaon_precision)precision, 3);
        worst = larger(worst, round_trip(&b, shape, i % BASES, i / BASES % BASES));
        fixture_close(&b);
      }
      print_message("%s precision %d: error / bound %.3f\n", machine_name(isa), precision, worst);
      assert_true(worst <= 1);
    }
  }
}

/* Import in double without a change of basis is exact, by any number of threads; masked lanes and
 * other columns stay zero. */
static void import_touches_its_column_and_true_sites_alone(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    for (int threads = 1; threads <= 3; threads++) {
      fixture b;
      fixture_open(&b, isa, threads, &shapes[0], KAON_DOUBLE, 3);
      must(b.ctx, kaon_vector_import(b.v[0], 1, (const double *)b.noise, KAON_BASIS_UKQCD));
      const int64_t total = b.space->nblocks * b.space->width * NCOMP * 3;
      double *data = machine_read(b.ctx, b.v[0]->data, (size_t)total * sizeof *data);
      int64_t filled = 0, stray = 0;
      for (int64_t i = 0; i < total; i++) {
        filled += data[i] != 0;
        if (i / (NCOMP * b.space->width) % 3 != 1) stray += data[i] != 0;
      }
      free(data);
      assert_true(stray == 0 && filled == b.space->nsites * NCOMP);
      number *back = malloc(b.count * sizeof *back);
      memcpy(back, b.noise, b.count * sizeof *back);
      must(b.ctx, kaon_vector_export(b.v[0], 1, (double *)back, KAON_BASIS_UKQCD));
      assert_memory_equal(back, b.noise, b.count * sizeof *back);
      free(back);
      fixture_close(&b);
    }
  }
}

/* The contents of column 1 after an import and its export, through host memory (arrays NULL) or
 * the machine's. */
static void through_door(const fixture *b, int device, kaon_basis in, kaon_basis out,
                         number *back) {
  const size_t bytes = b->count * sizeof(number);
  for (size_t n = 0; n < b->count; n++) back[n] = 1e9;
  must(b->ctx, kaon_vector_zero(b->v[0]));
  if (!device) {
    must(b->ctx, kaon_vector_import(b->v[0], 1, (const double *)b->noise, in));
    must(b->ctx, kaon_vector_export(b->v[0], 1, (double *)back, out));
    return;
  }
  double *from = machine_array(b->ctx, b->noise, bytes), *to = machine_array(b->ctx, back, bytes);
  must(b->ctx, kaon_vector_import_device(b->v[0], 1, from, in));
  must(b->ctx, kaon_vector_export_device(b->v[0], 1, to, out));
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT; /* the same, through the host */
  layout.basis = in;
  must(b->ctx, kaon_vector_import_ordered(b->v[0], 1, from, bytes, &layout));
  layout.basis = out;
  must(b->ctx, kaon_vector_export_ordered(b->v[0], 1, to, bytes, &layout));
  void *found = machine_read(b->ctx, to, bytes);
  memcpy(back, found, bytes);
  free(found);
  machine_array_free(b->ctx, from);
  machine_array_free(b->ctx, to);
}

/* The scalar instruction set is the standard: import rounds a number once, wherever that happens
 * and wherever the array is. */
static void every_machine_and_both_memories_give_the_same_bits(void **state) {
  (void)state;
  static const shape_case more[] = {{{4, 6, 2, 10}, KAON_FULL},
                                    {{8, 4, 4, 8}, KAON_ODD},
                                    {{8, 8, 8, 8}, KAON_EVEN},
                                    {{4, 6, 2, 10}, KAON_EVEN},
                                    {{64, 32, 32, 8}, KAON_FULL}};
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    if (machine_lacks(isa)) continue;
    for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++)
      for (int i = 0; i < 5 * 9; i++) {
        fixture b, yardstick;
        const shape_case *shape = &more[i / 9];
        if (i / 9 == 4 && (i % 9 != 5 || isa < MACHINE_CUDA)) continue; /* more than one piece */
        fixture_open(&b, isa, 2, shape, (kaon_precision)precision, 2);
        fixture_open(&yardstick, KAON_ISA_SCALAR, 1, shape, (kaon_precision)precision, 2);
        number *expected = malloc(b.count * sizeof *expected);
        number *found = malloc(b.count * sizeof *found);
        through_door(&yardstick, 0, bases[i % BASES], bases[i / BASES % BASES], expected);
        for (int device = 0; device < 2; device++) {
          through_door(&b, device, bases[i % BASES], bases[i / BASES % BASES], found);
          assert_memory_equal(expected, found, b.count * sizeof *found);
        }
        free(expected);
        free(found);
        fixture_close(&b);
        fixture_close(&yardstick);
      }
    print_message("%s: the same bits through host and device memory\n", machine_name(isa));
  }
}

static void the_other_memory_is_refused(void **state) {
  (void)state;
  fixture b;
  if (machine_lacks(MACHINE_CUDA)) skip();
  fixture_open(&b, MACHINE_CUDA, 1, &shapes[2], KAON_SINGLE, 1);
  const size_t bytes = b.count * sizeof(number);
  double *device = machine_array(b.ctx, b.noise, bytes), *host = (double *)b.noise;
  const kaon_basis basis = KAON_BASIS_UKQCD;
  assert_int_equal(kaon_vector_import(b.v[0], 0, device, basis), KAON_ERR_ARGUMENT);
  print_message("%s\n", kaon_last_error(b.ctx));
  assert_non_null(strstr(kaon_last_error(b.ctx), "_device"));
  assert_int_equal(kaon_vector_export(b.v[0], 0, device, basis), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_vector_import_device(b.v[0], 0, host, basis), KAON_ERR_ARGUMENT);
  print_message("%s\n", kaon_last_error(b.ctx));
  assert_int_equal(kaon_vector_export_device(b.v[0], 0, host, basis), KAON_ERR_ARGUMENT);
  machine_array_free(b.ctx, device);
  fixture_close(&b);
}

static void numbers_that_cannot_be_stored_are_named(void **state) {
  (void)state;
  static const double bad[] = {NAN, INFINITY, -INFINITY, 1e39};
  for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
    fixture b;
    fixture_open(&b, KAON_ISA_AUTO, 2, &shapes[0], (kaon_precision)precision, 1);
    must(b.ctx, kaon_vector_import(b.v[0], 0, (const double *)b.noise, KAON_BASIS_UKQCD));
    export_all(&b, b.before);
    double *psi = malloc(b.count * sizeof(number));
    for (int i = 0; i < 4; i++) {
      memcpy(psi, b.noise, b.count * sizeof(number));
      /* site (3, 5, 1, 8) is odd, like the space; its neighbour is not, and import does not check
       * it */
      const size_t site = 3 + 4 * (5 + 6 * (1 + 2 * 8));
      psi[(site * NUMBERS + 7) * 2 + 1] = bad[i];
      psi[(site - 1) * NUMBERS * 2] = NAN;
      const int fits = precision == KAON_DOUBLE && i == 3;
      double *array = machine_array(b.ctx, psi, b.count * sizeof(number));
      const kaon_status there =
          kaon_vector_import_device(b.v[0], 0, array, KAON_BASIS_DEGRAND_ROSSI);
      char sentence[512];
      snprintf(sentence, sizeof sentence, "%s", kaon_last_error(b.ctx));
      machine_array_free(b.ctx, array);
      const kaon_status status = kaon_vector_import(b.v[0], 0, psi, KAON_BASIS_DEGRAND_ROSSI);
      assert_int_equal(status, fits ? KAON_OK : KAON_ERR_NOT_FINITE);
      assert_int_equal(there, status);
      assert_string_equal(sentence, kaon_last_error(b.ctx));
      if (fits) break;
      print_message("%s\n", kaon_last_error(b.ctx));
      assert_non_null(strstr(kaon_last_error(b.ctx), "site (3, 5, 1, 8), spin 2, colour 1, imag"));
      export_all(&b, b.after);
      assert_memory_equal(b.before[0], b.after[0], b.count * sizeof(number));
    }
    free(psi);
    fixture_close(&b);
  }
}

static void sums_and_axpy_are_those_of_the_reference(void **state) {
  (void)state;
  for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
    fixture b;
    double norm2[3], dot[3][2];
    fixture_open(&b, KAON_ISA_AUTO, 2, &shapes[0], (kaon_precision)precision, 3);
    fill(&b);
    export_all(&b, b.before);
    must(b.ctx, kaon_vector_norm2(b.v[0], norm2));
    must(b.ctx, kaon_vector_dot(b.v[0], b.v[1], dot));
    must(b.ctx, kaon_vector_axpy(0.25, -2, b.v[0], b.v[1]));
    export_all(&b, b.after);
    const double n =
        (double)b.space->nsites * NCOMP + (precision == KAON_HALF ? (NCOMP + 2) * 0x1p29 : 0);
    double worst = 0;
    for (int k = 0; k < 3; k++) {
      const number *x = b.before[0] + (size_t)k * b.count, *y = b.before[1] + (size_t)k * b.count;
      const double x2 = ref_norm2(x, b.count), y2 = ref_norm2(y, b.count);
      const number xy = ref_dot(x, y, b.count);
      worst = larger(worst, fabs(norm2[k] - x2) / (n * 0x1p-53 * x2));
      worst = larger(worst, cabs(dot[k][0] + I * dot[k][1] - xy) / (n * 0x1p-53 * sqrt(x2 * y2)));
      number *z = malloc(b.count * sizeof *z);
      memcpy(z, y, b.count * sizeof *z);
      ref_axpy(0.25 - 2 * I, x, z, b.count);
      const double u = precision == KAON_DOUBLE ? 6 * 0x1p-53 : 6 * 0x1p-24;
      /* a half site rounds 24 reals, each by at most 0.51 / 32767 of the site's norm */
      const double half = precision == KAON_HALF ? 0.51 / 32767 * sqrt(NCOMP) : 0;
      const double bound = u * (2.1 * sqrt(x2) + sqrt(y2)) + half * sqrt(ref_norm2(z, b.count));
      number *difference = b.after[1] + (size_t)k * b.count;
      for (size_t i = 0; i < b.count; i++) difference[i] -= z[i];
      worst = larger(worst, sqrt(ref_norm2(difference, b.count)) / bound);
      free(z);
    }
    print_message("precision %d: error / bound %.4f\n", precision, worst);
    assert_true(worst <= 1);
    fixture_close(&b);
  }
}

static void parities_are_views_of_the_full_lattice(void **state) {
  (void)state;
  for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
    fixture b;
    fixture_open(&b, KAON_ISA_AUTO, 1, &(shape_case){{4, 6, 2, 10}, KAON_FULL},
                 (kaon_precision)precision, 3);
    fill(&b);
    export_all(&b, b.before);
    for (int parity = 0; parity < 2; parity++) {
      kaon_vector view, nested;
      number *part = calloc(b.count, sizeof *part);
      must(b.ctx, kaon_vector_view(b.v[0], (kaon_parity)parity, &view));
      assert_ptr_equal(kaon_vector_space(&view),
                       kaon_lattice_spinors(b.lattice, (kaon_parity)parity));
      must(b.ctx, kaon_vector_export(&view, 2, (double *)part, KAON_BASIS_UKQCD));
      for (size_t n = 0; n < b.count; n++) {
        const int mine = parity_of(b.lattice->extents, n / NUMBERS) == parity;
        assert_true(part[n] == (mine ? b.before[0][2 * b.count + n] : 0));
      }
      must(b.ctx, kaon_vector_zero(&view));
      assert_int_equal(kaon_vector_view(&view, KAON_EVEN, &nested), KAON_ERR_SHAPE);
      assert_int_equal(kaon_vector_view(b.v[0], KAON_FULL, &nested), KAON_ERR_SHAPE);
      free(part);
    }
    double norm2[3];
    must(b.ctx, kaon_vector_norm2(b.v[0], norm2));
    assert_true(norm2[0] == 0 && norm2[1] == 0 && norm2[2] == 0);
    fixture_close(&b);
  }
}

/* All spaces share the context's column states: more columns and fewer, complex and real spaces
 * have the results that each would have alone, and nothing is allocated twice. */
static void sums_of_one_context_do_not_meet(void **state) {
  (void)state;
  enum { CASES = 6, MOST = 5 };
  static const int columns[CASES] = {1, 3, 2, 5, 1, 4};
  kaon_context *ctx = context_of(KAON_ISA_AUTO, 2);
  kaon_lattice *lattice = NULL;
  kaon_vector *v[CASES];
  must(ctx, kaon_lattice_create(ctx, (int[4]){4, 4, 4, 4}, KAON_PERIODIC, &lattice));
  kaon_space real = {.ctx = ctx, .inner = 1, .nsites = 64, .ncomp = 1};
  real.width = kaon_lattice_spinors(lattice, KAON_FULL)->width;
  real.nblocks = (real.nsites + real.width - 1) / real.width;
  for (int i = 0; i < CASES; i++) {
    const kaon_space *space = i % 2 ? &real : kaon_lattice_spinors(lattice, KAON_FULL);
    double *numbers = malloc(256 * 24 * sizeof *numbers);
    must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, columns[i], &v[i]));
    for (int k = 0; k < columns[i]; k++) {
      for (int n = 0; n < 256 * 24; n++) numbers[n] = i + 1; /* times 1 + i, of spinors */
      must(ctx, kaon_vector_import(v[i], k, numbers, KAON_BASIS_UKQCD));
    }
    free(numbers);
  }
  kaon_context_info before = KAON_CONTEXT_INFO_INIT, after = KAON_CONTEXT_INFO_INIT;
  for (int turn = 0; turn < 3 * CASES; turn++) {
    const int i = 5 * turn % CASES;
    const double expected = (i + 1) * (i + 1) * (i % 2 ? 64.0 : 256.0 * 24);
    double norm2[MOST], dot[MOST][2];
    must(ctx, kaon_vector_norm2(v[i], norm2));
    must(ctx, kaon_vector_dot(v[i], v[i], dot));
    for (int k = 0; k < columns[i]; k++)
      assert_true(norm2[k] == expected && dot[k][0] == expected && dot[k][1] == 0);
    if (turn == CASES) must(ctx, kaon_context_query(ctx, &before));
  }
  must(ctx, kaon_context_query(ctx, &after));
  assert_int_equal(after.memory_now, before.memory_now);
  for (int i = 0; i < CASES; i++) kaon_vector_destroy(&v[i]);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
}

static void vectors_keep_their_lattice_and_context_alive(void **state) {
  (void)state;
  kaon_context *ctx = context_of(KAON_ISA_AUTO, 1);
  kaon_lattice *lattice = NULL;
  kaon_vector *v = NULL;
  double norm2 = -1;
  must(ctx, kaon_lattice_create(ctx, (int[4]){4, 4, 4, 4}, KAON_PERIODIC, &lattice));
  must(ctx, kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_ODD), KAON_HALF, 1, &v));
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&ctx);
  assert_int_equal(kaon_vector_norm2(v, &norm2), KAON_OK);
  assert_true(norm2 == 0);
  assert_int_equal(kaon_vector_columns(v), 1);
  assert_int_equal(kaon_vector_precision(v), KAON_HALF);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&v);
  assert_null(v);
}

static void misuse_is_refused_with_a_sentence(void **state) {
  (void)state;
  fixture b, other;
  kaon_vector *v = NULL, *wide = NULL;
  double norm2[3], psi[1] = {0};
  fixture_open(&b, KAON_ISA_AUTO, 1, &shapes[2], KAON_DOUBLE, 3);
  fixture_open(&other, KAON_ISA_AUTO, 1, &shapes[2], KAON_DOUBLE, 3);
  must(b.ctx, kaon_vector_create(b.ctx, b.space, KAON_SINGLE, 2, &wide));
#define REFUSED(call, code)                        \
  do {                                             \
    assert_int_equal((call), code);                \
    print_message("%s\n", kaon_last_error(b.ctx)); \
  } while (0)
  REFUSED(kaon_vector_create(b.ctx, b.space, KAON_DOUBLE, 0, &v), KAON_ERR_ARGUMENT);
  REFUSED(kaon_vector_create(b.ctx, b.space, (kaon_precision)3, 1, &v), KAON_ERR_ARGUMENT);
  REFUSED(kaon_vector_create(b.ctx, other.space, KAON_DOUBLE, 1, &v), KAON_ERR_ARGUMENT);
  REFUSED(kaon_vector_create(b.ctx, NULL, KAON_DOUBLE, 1, &v), KAON_ERR_ARGUMENT);
  assert_null(v);
  REFUSED(kaon_vector_import(b.v[0], 3, psi, KAON_BASIS_UKQCD), KAON_ERR_SHAPE);
  REFUSED(kaon_vector_export(b.v[0], -1, psi, KAON_BASIS_UKQCD), KAON_ERR_SHAPE);
  REFUSED(kaon_vector_import(b.v[0], 0, NULL, KAON_BASIS_UKQCD), KAON_ERR_ARGUMENT);
  REFUSED(kaon_vector_import(b.v[0], 0, psi, (kaon_basis)7), KAON_ERR_ARGUMENT);
  REFUSED(kaon_vector_copy(b.v[0], other.v[0]), KAON_ERR_SHAPE);
  REFUSED(kaon_vector_copy(b.v[0], wide), KAON_ERR_SHAPE);
  REFUSED(kaon_vector_copy(b.v[0], NULL), KAON_ERR_ARGUMENT);
  REFUSED(kaon_vector_dot(b.v[0], NULL, NULL), KAON_ERR_ARGUMENT);
  REFUSED(kaon_vector_axpy(1, 1, b.v[0], b.v[0]), KAON_ERR_ALIAS);
#undef REFUSED
  assert_int_equal(kaon_vector_norm2(NULL, norm2), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_vector_import(NULL, 0, psi, KAON_BASIS_UKQCD), KAON_ERR_ARGUMENT);
  const kaon_backend *backend = b.ctx->backend; /* one whose kernels count no further */
  kaon_backend narrow = *backend;
  narrow.field_bytes = kaon_vector_bytes(b.v[0]);
  b.ctx->backend = &narrow;
  must(b.ctx, kaon_vector_create(b.ctx, b.space, KAON_DOUBLE, 3, &v));
  kaon_vector_destroy(&v);
  if (b.space->lattice != NULL) {
    assert_int_equal(kaon_vector_create(b.ctx, b.space, KAON_DOUBLE, 4, &v), KAON_ERR_UNSUPPORTED);
    print_message("%s\n", kaon_last_error(b.ctx));
    assert_null(v);
  }
  b.ctx->backend = backend;
  b.ctx->options.memory_limit = 1 << 28; /* what the limit forbids, and no kernel's numbers do */
  const int columns = (1 << 28) / (int)(kaon_vector_bytes(b.v[0]) / 3) + 1;
  assert_int_equal(kaon_vector_create(b.ctx, b.space, KAON_DOUBLE, columns, &v), KAON_ERR_MEMORY);
  print_message("%s\n", kaon_last_error(b.ctx));
  assert_int_equal(kaon_vector_copy(b.v[0], b.v[0]), KAON_OK);
  kaon_vector_destroy(&wide);
  fixture_close(&b);
  fixture_close(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(basis_changes_carry_the_gamma_matrices_over),
      cmocka_unit_test(host_arrays_survive_the_door_in_every_basis),
      cmocka_unit_test(import_touches_its_column_and_true_sites_alone),
      cmocka_unit_test(every_machine_and_both_memories_give_the_same_bits),
      cmocka_unit_test(the_other_memory_is_refused),
      cmocka_unit_test(numbers_that_cannot_be_stored_are_named),
      cmocka_unit_test(sums_and_axpy_are_those_of_the_reference),
      cmocka_unit_test(parities_are_views_of_the_full_lattice),
      cmocka_unit_test(sums_of_one_context_do_not_meet),
      cmocka_unit_test(vectors_keep_their_lattice_and_context_alive),
      cmocka_unit_test(misuse_is_refused_with_a_sentence),
  };
  return test_main(tests, NULL, NULL);
}
