/* test_hop_columns.c - the hop of several columns against the reference, on every machine. A GPU's
 * threads take two or three columns together, its blocks take columns in turn, and they walk over
 * tiles. So cases have columns left over, closed columns beside open ones, and lattices that tiles
 * do and do not fill. Every precision and link storage, factors that single precision holds and
 * one that it does not, the temporal gauge, both parities and the dagger. Operations fused into
 * the hop are compared with the hop of one column, which test_dslash_kernels and test_dirac
 * compare with the reference. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dslash/wilson/wilson.h"
#include "lib/math/steps/recurrence.h"
#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

enum { MOST = 13, NORM = 3, DOT = 5, STORAGES = 3, COUNTS = 8 };
static const int counts[COUNTS] = {1, 2, 3, 4, 5, 7, 12, 13};
static const kaon_reconstruct storages[STORAGES] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                                    KAON_RECONSTRUCT_8};

/* Tiles need x in multiples of 16 and y of 4 (dslash/cuda/hop_kernel.h) and follow each other in
 * boxes (lib/cuda/memory/neighbours.h), here three of 2 x 2 in y and t. The smallest lattice that
 * they fill is one block of 128 threads, or two of 64, whose neighbours all lie inside. */
static const int tiled[4] = {16, 8, 2, 12}, one_tile[4] = {16, 4, 2, 2}, untiled[4] = {4, 6, 2, 10};

typedef struct {
  double anisotropy;
  int temporal, threads, group; /* a tuning's, on a device; 0: by rule */
} variant;
/* 0.75 is a single-precision number and 0.8 is none. */
static const variant variants[] = {{1, 0, 0, 0},    {1, 0, 0, 16},     {0.8, 0, 0, 5},
                                   {0.75, 1, 0, 5}, {0.75, 1, 128, 0}, {0.8, 1, 64, 0}};
enum { VARIANTS = sizeof variants / sizeof *variants };

typedef struct {
  ref_complex **x, **hop[2][2]; /* hop[parity][dagger][k] */
} expected_set;

/* Links whose t components are the identity below the last slice, so the temporal gauge changes
 * only how they are read. It rotates by products of ones up to rounding. */
static void make_temporal(dirac_case *c) {
  ref_complex *g = ref_new(9 * ref_volume(&c->L));
  ref_temporal_gauge(&c->L, c->u, g);
  ref_gauge_transform_links(&c->L, g, c->u);
  free(g);
  case_import_links(c);
}

static expected_set expect(const dirac_case *c, double anisotropy) {
  expected_set e = {.x = case_random_columns(c, MOST, 5)};
  ref_dirac d = case_reference(c, 0.125, 0, anisotropy);
  for (int parity = 0; parity < 2; parity++)
    for (int dagger = 0; dagger < 2; dagger++) {
      e.hop[parity][dagger] = ref_alloc(MOST, sizeof *e.hop[parity][dagger]);
      for (int k = 0; k < MOST; k++) {
        e.hop[parity][dagger][k] = ref_new(ref_spinor_size(&c->L));
        ref_hop_parity(&d, dagger ? -1 : 1, parity, e.x[k], e.hop[parity][dagger][k]);
      }
    }
  ref_dirac_free(&d);
  return e;
}

static void forget(expected_set *e) {
  case_free_columns(e->x, MOST);
  for (int i = 0; i < 4; i++) case_free_columns(e->hop[i / 2][i % 2], MOST);
}

/* Error of one column relative to x, as test_dirac counts it, and its norm by the pass. */
static double error_of(dirac_case *c, const kaon_vector *out, int k, const ref_complex *expected,
                       const ref_complex *x, double sum) {
  const size_t n = ref_spinor_size(&c->L);
  ref_complex *psi = case_export(c, out, k);
  const double norm2 = ref_norm2(psi, n);
  const double e = ref_rel_diff(psi, expected, n) * sqrt(ref_norm2(expected, n) / ref_norm2(x, n));
  free(psi);
  /* half: summed before it is stored, 24 reals of each site */
  assert_true(fabs(sum / norm2 - 1) < (out->precision == KAON_HALF     ? 1e-4
                                       : out->precision == KAON_SINGLE ? 1e-5
                                                                       : 1e-12));
  return e;
}

/* The hop of `count` columns; column `closed` (-1: none) has a shut gate and must stay unchanged.
 */
static double hop_and_compare(dirac_case *c, const kaon_operator *A, const expected_set *e,
                              int count, int closed, int parity, int dagger) {
  const kaon_fields *fields = kaon_fields_of(A);
  const kaon_precision precision = fields->precision;
  const kaon_fused bare = {0, NULL, 1, KAON_SITE_NOWHERE, KAON_SITE_TERM, NULL};
  kaon_vector *in = case_vector(c, (kaon_parity)(1 - parity), precision, count);
  kaon_vector *out = case_vector(c, (kaon_parity)parity, precision, count);
  kaon_scalars *scalars = NULL;
  kaon_column_state *host = calloc((size_t)count, sizeof *host);
  kaon_pass pass = KAON_PASS_INIT;
  double before[MOST], after[MOST], worst = 0;
  case_import(c, in, e->x);
  case_import(c, out, e->x);
  must(c->ctx, kaon_vector_norm2(out, before));
  must(c->ctx, kaon_scalars_create(c->ctx, count, &scalars));
  for (int k = 0; k < count; k++) host[k].gate = k == closed ? KAON_GATE_SERVICE : KAON_GATE_STEP;
  must(c->ctx, kaon_scalars_write(scalars, host));
  pass.scalars = scalars;
  pass.norm = NORM;
  must(c->ctx, kaon_spinor_hop(fields, parity, (kaon_mode)dagger, &bare, in, out, &pass));
  must(c->ctx, kaon_scalars_read(scalars, host));
  must(c->ctx, kaon_vector_norm2(out, after));
  for (int k = 0; k < count; k++) {
    if (k == closed) {
      assert_true(after[k] == before[k]);
      assert_true(host[k].slot[NORM][0] == 0);
      continue;
    }
    const double error =
        error_of(c, out, k, e->hop[parity][dagger][k], e->x[k], host[k].slot[NORM][0]);
    if (!(error <= worst)) worst = error;
  }
  free(host);
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&out);
  return worst;
}

/* Sets a device's hop to blocks of so many threads, or to so many columns; does nothing on a CPU.
 */
static void tune(dirac_case *c, const variant *v, kaon_precision precision, int recon, int count) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  kaon_tuning_entry entry = {.kernel = KAON_TUNED_HOP,
                             .precision = precision,
                             .reconstruct = recon,
                             .columns = count,
                             .sites = kaon_lattice_volume(c->lattice),
                             .threads = v->threads,
                             .group = v->group};
  if (c->isa != MACHINE_CUDA || (v->threads == 0 && v->group == 0)) return;
  must(c->ctx, kaon_context_query(c->ctx, &info));
  const kaon_tuning tuning = {kaon_version(), info.backend, info.device, info.isa, 1, &entry};
  must(c->ctx, kaon_context_set_tuning(c->ctx, &tuning));
}

static void compare(dirac_case *c, const variant *v, const expected_set *e,
                    kaon_precision precision, kaon_reconstruct storage) {
  kaon_operator *M = case_dirac(c, 0.125, 0, v->anisotropy, precision, storage);
  kaon_operator *S = case_even_odd(c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, v->temporal);
  const rounding r = case_rounding_rms(precision, storage);
  double worst = 0;
  assert_int_equal(kaon_fields_of(S)->stencil.temporal, v->temporal);
  for (int i = 0; i < COUNTS; i++) {
    const int count = counts[i];
    if (test_brief() && i != (int)precision && count != 12) continue;
    tune(c, v, precision, (int)storage, count);
    /* none, the first, one in the middle and the last one closed, in turn */
    const int closed = count < 2 ? -1 : i % 4 == 0 ? -1 : (i % 4 - 1) * (count - 1) / 2;
    worst = larger(worst, hop_and_compare(c, S, e, count, closed, i % 2, i / 2 % 2));
    worst = larger(worst, hop_and_compare(c, S, e, count, -1, 1 - i % 2, i / 2 % 2));
  }
  must(c->ctx, kaon_context_set_tuning(c->ctx, NULL));
  char what[128];
  snprintf(what, sizeof what, "%dx%dx%dx%d %s %s r%d factor %.2f%s", c->L.n[0], c->L.n[1],
           c->L.n[2], c->L.n[3], isa_names[c->isa], precision_names[precision], (int)storage,
           v->anisotropy, v->temporal ? ", temporal" : "");
  /* x and the result are stored, |D x| = 4 |x|; the rotations leave 16 roundings a product of T of
   * them at each end of eight links */
  const double rotated = v->temporal ? 8 * 16 * (2 * c->L.n[3] + 2) * 0x1p-53 : 0;
  test_below(what, worst, 3 * sqrt(r.e_hop * r.e_hop + 32 * r.e_store * r.e_store) + rotated);
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&M);
}

/* Variants that differ in a device's tuning alone are one on a CPU, unless each has a precision and
 * a storage of its own. */
static int repeats_another(const dirac_case *c, const variant *v) {
  if (c->isa == MACHINE_CUDA || test_brief() || TEST_SLOWED) return 0;
  for (const variant *other = variants; other < v; other++)
    if (other->anisotropy == v->anisotropy && other->temporal == v->temporal) return 1;
  return 0;
}

static void columns_match_reference(const int extents[4], int antiperiodic) {
  expected_set e[VARIANTS] = {
      {NULL, {{NULL, NULL}, {NULL, NULL}}}}; /* by the first of its factor */
  /* tiles are a device's: a CPU takes the two smaller lattices */
  const int first = extents == tiled ? MACHINE_CUDA : KAON_ISA_SCALAR;
  for (int machine = first; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    if (!case_open(&c, machine, extents, antiperiodic, LINKS_RANDOM, 19)) continue;
    make_temporal(&c);
    for (int i = 0; i < VARIANTS; i++) {
      int same = 0;
      if (repeats_another(&c, &variants[i])) continue;
      while (variants[same].anisotropy != variants[i].anisotropy) same++;
      if (e[same].x == NULL) e[same] = expect(&c, variants[same].anisotropy);
      for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
        for (int s = 0; s < STORAGES; s++) {
          if (TEST_SLOWED && s != (p + i) % STORAGES) continue;
          if (test_brief() && (p != i % 3 || s != (i + i / 3) % STORAGES)) continue;
          compare(&c, &variants[i], &e[same], (kaon_precision)p, storages[s]);
        }
    }
    case_close(&c);
  }
  for (int i = 0; i < VARIANTS; i++)
    if (e[i].x != NULL) forget(&e[i]);
}

/* ---- what is fused into the hop ---- */

static const double kappa = 0.125, csw = 0.7;

typedef struct {
  double a;
  int in_place, clover_on; /* in_place: x is the result's vector */
} fusion;
static const fusion fusions[] = {{0, 0, KAON_SITE_ON_HOP},      {1.25, 0, KAON_SITE_ON_X},
                                 {1.25, 1, KAON_SITE_ON_HOP},   {0.5, 1, KAON_SITE_ON_X},
                                 {-0.75, 1, KAON_SITE_NOWHERE}, {1.25, 1, KAON_SITE_ON_BOTH}};
enum { FUSIONS = sizeof fusions / sizeof *fusions };

/* Columns psi[0 .. count - 1] through the fused hop with |out|^2 and (w, out), w = psi[1 ..]. */
static kaon_vector *fused_hop(dirac_case *c, const kaon_operator *M, const fusion *f, int count,
                              ref_complex *const *psi, kaon_column_state *host) {
  const kaon_fields *fields = kaon_fields_of(M);
  const kaon_precision precision = fields->precision;
  kaon_vector *in = case_vector(c, KAON_ODD, precision, count),
              *x = case_vector(c, KAON_EVEN, precision, count),
              *w = case_vector(c, KAON_EVEN, precision, count);
  kaon_vector *out = f->in_place ? x : case_vector(c, KAON_EVEN, precision, count);
  const kaon_fused fused = {f->a, f->a == 0 ? NULL : x, -0.5, f->clover_on, KAON_SITE_TERM, NULL};
  kaon_scalars *scalars = NULL;
  kaon_pass pass = KAON_PASS_INIT;
  case_import(c, in, psi);
  case_import(c, x, psi);
  case_import(c, w, psi + 1);
  memset(host, 0, (size_t)count * sizeof *host);
  for (int k = 0; k < count; k++) host[k].gate = KAON_GATE_STEP;
  must(c->ctx, kaon_scalars_create(c->ctx, count, &scalars));
  must(c->ctx, kaon_scalars_write(scalars, host));
  pass.scalars = scalars;
  pass.norm = NORM;
  pass.dot = DOT;
  pass.w = w;
  must(c->ctx, kaon_spinor_hop(fields, 0, KAON_PLAIN, &fused, in, out, &pass));
  must(c->ctx, kaon_scalars_read(scalars, host));
  kaon_scalars_destroy(&scalars);
  if (out != x) kaon_vector_destroy(&x);
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&w);
  return out;
}

/* `count` columns together, on a device as v says, and each alone: the distance of the results
 * relative to |psi|, and that of the sums. */
static double fused_distance(dirac_case *c, const kaon_operator *M, const variant *v,
                             const fusion *f, int count, ref_complex *const *psi, double *sums) {
  const size_t n = ref_spinor_size(&c->L);
  kaon_column_state *together = calloc((size_t)count, sizeof *together), alone;
  const kaon_fields *fields = kaon_fields_of(M);
  tune(c, v, fields->precision, (int)fields->reconstruct, count);
  kaon_vector *out = fused_hop(c, M, f, count, psi, together);
  must(c->ctx, kaon_context_set_tuning(c->ctx, NULL));
  double worst = 0;
  for (int k = 0; k < count; k++) {
    kaon_vector *one = fused_hop(c, M, f, 1, psi + k, &alone);
    ref_complex *a = case_export(c, out, k), *b = case_export(c, one, 0);
    const double norm2 = alone.slot[NORM][0];
    const double error = ref_rel_diff(a, b, n) * sqrt(ref_norm2(b, n) / ref_norm2(psi[k], n));
    if (!(error <= worst)) worst = error;
    assert_true(fabs(norm2 / ref_norm2(b, n) - 1) < 1e-3);
    /* (w, out) is small beside |w| |out|: random numbers */
    const double scale = sqrt(norm2 * ref_norm2(psi[k + 1], n));
    const double differences[3] = {(together[k].slot[NORM][0] - norm2) / norm2,
                                   (together[k].slot[DOT][0] - alone.slot[DOT][0]) / scale,
                                   (together[k].slot[DOT][1] - alone.slot[DOT][1]) / scale};
    for (int i = 0; i < 3; i++)
      if (!(fabs(differences[i]) <= *sums)) *sums = fabs(differences[i]);
    free(a);
    free(b);
    kaon_vector_destroy(&one);
  }
  kaon_vector_destroy(&out);
  free(together);
  return worst;
}

/* A clover operator, or one of twisted mass. */
static kaon_operator *fused_operator(dirac_case *c, int twisted, kaon_precision precision,
                                     kaon_reconstruct reconstruct) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_operator *M = NULL;
  options.kappa = kappa;
  options.csw = twisted ? 0 : csw;
  options.mu = twisted ? 0.9 : 0;
  options.precision = precision;
  options.reconstruct = reconstruct;
  must(c->ctx, kaon_dirac_create(c->gauge, &options, &M));
  return M;
}

/* Twists are compared on devices, which apply them in several kernels. */
static void columns_together_are_those_alone(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    dirac_case c;
    if (!case_open(&c, machine, test_brief() ? one_tile : tiled, 1, LINKS_RANDOM, 23)) continue;
    ref_complex **psi = case_random_columns(&c, MOST + 1, 5);
    for (int n = 0; n < (machine == MACHINE_CUDA ? 18 : 9); n += test_brief() ? 4 : 1) {
      const int i = n % 9, twisted = n / 9;
      const kaon_precision precision = (kaon_precision)(i / 3);
      kaon_operator *M = fused_operator(&c, twisted, precision, storages[i % 3]);
      const rounding r = case_rounding_rms(precision, storages[i % 3]);
      /* |C| <= norm, also of twists; |a| < 1.5, |b D psi| = 2 |psi|; both sides round */
      const double norm = 1 + 6 * kappa * csw;
      const double hop = 0.5 * norm * r.e_hop, clover = 3.5 * norm * r.e_clover,
                   store = 3.5 * norm * r.e_store;
      double worst = 0, sums = 0;
      for (int f = 0; f < FUSIONS; f++)
        for (int v = 0; v < VARIANTS; v++) { /* by rule; of 16, 5; of 128, 64 threads */
          if (v == 3 || (v > 0 && machine != MACHINE_CUDA)) continue;
          if (test_brief() && v % 3 != (f + i) % 3) continue;
          worst = larger(worst, fused_distance(&c, M, &variants[v], &fusions[f],
                                               f % 2 && !test_brief() ? MOST : 5, psi, &sums));
        }
      char what[128];
      snprintf(what, sizeof what, "%s %s r%d fused%s", isa_names[c.isa], precision_names[precision],
               (int)storages[i % 3], twisted ? ", twisted" : "");
      test_below(what, worst, 6 * sqrt(hop * hop + clover * clover + store * store));
      test_below("their sums", sums, 6 * sqrt(hop * hop + clover * clover + store * store));
      kaon_operator_destroy(&M);
    }
    case_free_columns(psi, MOST + 1);
    case_close(&c);
  }
}

static void columns_agree_where_tiles_fill_the_lattice(void **state) {
  (void)state;
  if (machine_lacks(MACHINE_CUDA)) skip();
  columns_match_reference(tiled, 1);
}
static void columns_agree_where_one_tile_is_the_lattice(void **state) {
  (void)state;
  columns_match_reference(one_tile, 0);
}
static void columns_agree_without_tiles(void **state) {
  (void)state;
  columns_match_reference(untiled, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_agree_where_tiles_fill_the_lattice),
      cmocka_unit_test(columns_agree_where_one_tile_is_the_lattice),
      cmocka_unit_test(columns_agree_without_tiles),
      cmocka_unit_test(columns_together_are_those_alone),
  };
  const struct CMUnitTest few[] = {
      cmocka_unit_test(columns_agree_where_one_tile_is_the_lattice),
      cmocka_unit_test(columns_agree_without_tiles),
      cmocka_unit_test(columns_together_are_those_alone),
  };
  if (test_brief()) return test_main(few, NULL, NULL);
  return test_main(tests, NULL, NULL);
}
