/* test_tuning.c - launch choices: which settings a context accepts, which entry applies, and that
 * a hop has the same bits under every one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/core/tuning_internal.h"
#include "tests/util/link_case.h"

static kaon_tuning tuning_of(const kaon_context *ctx, int count, const kaon_tuning_entry *entries) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  must(ctx, kaon_context_query(ctx, &info));
  return (kaon_tuning){.version = kaon_version(),
                       .backend = info.backend,
                       .device = info.device,
                       .isa = info.isa,
                       .count = count,
                       .entries = entries};
}

static const kaon_tuning_entry hop = {.kernel = KAON_TUNED_HOP,
                                      .precision = KAON_SINGLE,
                                      .reconstruct = 12,
                                      .columns = 4,
                                      .sites = 4096};

static void the_nearest_entry_of_the_case_counts(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  kaon_launch launch = {.prefetch = 0, .stream_stores = 1};
  must(NULL, machine_open(MACHINE_CPU, options, &ctx));
  kaon_tuning_entry e[4] = {hop, hop, hop, hop};
  e[0].prefetch = KAON_ON;
  e[0].level = 2;
  e[1].sites = 6000;
  e[1].stream = KAON_OFF;
  e[2].columns = 5;
  e[2].prefetch = e[2].stream = KAON_OFF;
  e[3].precision = KAON_HALF;
  const kaon_tuning tuning = tuning_of(ctx, 4, e);
  must(ctx, kaon_context_set_tuning(ctx, &tuning));
  memset(e, 0xff, sizeof e); /* the context has a copy */
  static const struct {
    int64_t sites;
    int entry; /* -1: by rule */
  } expected[] = {{4096, 0}, {2048, 0}, {2047, -1}, {4957, 0}, {4958, 1}, {12000, 1}, {12001, -1}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const kaon_tuning_entry *found =
        kaon_tuning_lookup(ctx, KAON_TUNED_HOP, KAON_SINGLE, 12, 4, expected[i].sites);
    assert_int_equal(found == NULL ? -1 : found - ctx->tuning, expected[i].entry);
  }
  assert_null(kaon_tuning_lookup(ctx, KAON_TUNED_HOP, KAON_SINGLE, 18, 4, 4096));
  assert_null(kaon_tuning_lookup(ctx, KAON_TUNED_VECTOR, KAON_SINGLE, 12, 4, 4096));
  kaon_tuning_apply(ctx, KAON_TUNED_HOP, KAON_SINGLE, 12, 4, 4096, &launch);
  assert_true(launch.prefetch == 2 && launch.stream_stores == 1); /* the second by rule */
  kaon_tuning_apply(ctx, KAON_TUNED_HOP, KAON_SINGLE, 12, 5, 4096, &launch);
  assert_true(launch.prefetch == 0 && launch.stream_stores == 0);
  must(ctx, kaon_context_set_tuning(ctx, NULL));
  assert_null(kaon_tuning_lookup(ctx, KAON_TUNED_HOP, KAON_SINGLE, 12, 4, 4096));
  kaon_context_destroy(&ctx);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  must(NULL, machine_open(MACHINE_CPU, options, &ctx));
  kaon_tuning_entry e[2] = {hop, hop};
  kaon_tuning good = tuning_of(ctx, 1, &hop), bad = good;
  must(ctx, kaon_context_set_tuning(ctx, &good));
#define REFUSED() must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_context_set_tuning(ctx, &bad))
#define REFUSED_ENTRY(member, value) \
  do {                               \
    e[0] = hop;                      \
    e[0].member = value;             \
    bad = tuning_of(ctx, 1, e);      \
    REFUSED();                       \
  } while (0)
  bad.version = "0.0.0", REFUSED(), bad = good;
  bad.backend = "cuda", REFUSED(), bad = good;
  bad.device = "another", REFUSED(), bad = good;
  bad.isa = NULL, REFUSED(), bad = good;
  bad.count = -1, REFUSED();
  bad = tuning_of(ctx, 1, NULL), REFUSED();
  bad = tuning_of(ctx, 2, e), REFUSED(); /* twice */
  REFUSED_ENTRY(kernel, (kaon_tuned)2);
  REFUSED_ENTRY(kernel, KAON_TUNED_VECTOR); /* has no links */
  REFUSED_ENTRY(precision, (kaon_precision)3);
  REFUSED_ENTRY(reconstruct, 9);
  REFUSED_ENTRY(columns, 0);
  REFUSED_ENTRY(sites, 0);
  REFUSED_ENTRY(prefetch, (kaon_choice)3);
  REFUSED_ENTRY(level, 3);
  REFUSED_ENTRY(level, -1);
  REFUSED_ENTRY(threads, 128); /* a GPU's */
  REFUSED_ENTRY(group, 2);
  REFUSED_ENTRY(blocks, 512);
#undef REFUSED_ENTRY
#undef REFUSED
  assert_int_equal(ctx->tuning_count, 1); /* as before */
  assert_int_equal(kaon_context_set_tuning(NULL, &good), KAON_ERR_ARGUMENT);
  kaon_context_destroy(&ctx);
}

/* The kernels' results by rule, and under each choice. */
static void check_bits(dirac_case *c) {
  static const int threads[] = {0, 32, 64, 128}, groups[] = {0, 1, 2, 3, 6};
  const int on_cpu = c->ctx->backend->host_accessible;
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
    for (int recon = 18; recon >= 8; recon = recon == 18 ? 12 : recon - 4) {
      kaon_operator *M = case_dirac(c, 0.12, 0, 1, (kaon_precision)p, (kaon_reconstruct)recon);
      kaon_vector *in = case_vector(c, KAON_ODD, (kaon_precision)p, 6),
                  *out = case_vector(c, KAON_EVEN, (kaon_precision)p, 6),
                  *expected = case_vector(c, KAON_EVEN, (kaon_precision)p, 6);
      const size_t count = (size_t)kaon_lattice_volume(c->lattice) * 24;
      double *psi = malloc(count * sizeof *psi);
      for (size_t i = 0; i < count; i++) psi[i] = (double)(i * 2654435761u % 1000003) / 1e6;
      for (int k = 0; k < 6; k++) must(c->ctx, kaon_vector_import(in, k, psi, KAON_BASIS_UKQCD));
      must(c->ctx, kaon_dirac_hop(M, KAON_EVEN, KAON_PLAIN, in, expected));
      /* other instantiations on a GPU may contract differently: 100 roundings, in half an integer
       * more or less of 24; kaon tune excludes such choices */
      const double u = p == KAON_DOUBLE ? 100 * 0x1p-53 : 100 * 0x1p-24;
      double bound[6];
      must(c->ctx, kaon_vector_norm2(expected, bound));
      for (int k = 0; k < 6; k++)
        bound[k] *= on_cpu ? 0 : u * u + (p == KAON_HALF ? 24 / 32767. / 32767. : 0);
      for (int i = 0; i < (on_cpu ? 12 : 20); i++) {
        kaon_tuning_entry e = {.kernel = KAON_TUNED_HOP,
                               .precision = (kaon_precision)p,
                               .reconstruct = recon,
                               .columns = 6,
                               .sites = kaon_lattice_volume(c->lattice)};
        if (on_cpu) {
          e.prefetch = i % 4 < 3 ? (kaon_choice)(i % 4) : KAON_ON;
          e.level = i % 4 < 3 ? 1 : 2;
          e.stream = (kaon_choice)(i / 4);
        } else {
          e.threads = threads[i % 4];
          e.group = groups[i / 4];
        }
        const kaon_tuning tuning = tuning_of(c->ctx, 1, &e);
        double norm2[6];
        must(c->ctx, kaon_context_set_tuning(c->ctx, &tuning));
        must(c->ctx, kaon_dirac_hop(M, KAON_EVEN, KAON_PLAIN, in, out));
        must(c->ctx, kaon_vector_axpy(-1, 0, expected, out));
        must(c->ctx, kaon_vector_norm2(out, norm2));
        for (int k = 0; k < 6; k++) assert_true(norm2[k] <= bound[k]);
        must(c->ctx, kaon_context_set_tuning(c->ctx, NULL));
      }
      free(psi);
      kaon_vector_destroy(&in);
      kaon_vector_destroy(&out);
      kaon_vector_destroy(&expected);
      kaon_operator_destroy(&M);
    }
}

static void a_hop_has_the_same_bits_under_every_choice(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_bits);
}

/* Copies, additions and conversions, with as many blocks as a tuning says. */
static void check_vectors(dirac_case *c) {
  static const int blocks[] = {0, 1, 3, 256, 65535};
  const int on_cpu = c->ctx->backend->host_accessible;
  const size_t count = (size_t)kaon_lattice_volume(c->lattice) * 24;
  double *psi = malloc(count * sizeof *psi), *expected = malloc(count * sizeof *psi);
  double *found = malloc(count * sizeof *psi);
  for (size_t i = 0; i < count; i++) psi[i] = (double)(i * 2654435761u % 1000003) / 1e6;
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
    for (int i = 0; i < (on_cpu ? 3 : 5); i++) {
      kaon_tuning_entry e[2];
      kaon_vector *x = case_vector(c, KAON_FULL, (kaon_precision)p, 2),
                  *y = case_vector(c, KAON_FULL, (kaon_precision)p, 2),
                  *z = case_vector(c, KAON_FULL, KAON_SINGLE, 2);
      for (int k = 0; k < 2; k++) {
        e[k] = (kaon_tuning_entry){.kernel = KAON_TUNED_VECTOR,
                                   .precision = k == 0 ? (kaon_precision)p : KAON_SINGLE,
                                   .columns = 2,
                                   .sites = kaon_lattice_volume(c->lattice)};
        if (on_cpu)
          e[k].stream = (kaon_choice)i;
        else
          e[k].blocks = blocks[i];
        must(c->ctx, kaon_vector_import(x, k, psi, KAON_BASIS_UKQCD));
      }
      const kaon_tuning tuning = tuning_of(c->ctx, p == KAON_SINGLE ? 1 : 2, e);
      must(c->ctx, kaon_context_set_tuning(c->ctx, &tuning));
      must(c->ctx, kaon_vector_copy(y, x));
      must(c->ctx, kaon_vector_axpy(0.3, -0.7, x, y));
      must(c->ctx, kaon_vector_copy(z, y));
      must(c->ctx, kaon_vector_export(z, 1, found, KAON_BASIS_UKQCD));
      if (i == 0) memcpy(expected, found, count * sizeof *found);
      assert_memory_equal(expected, found, count * sizeof *found);
      must(c->ctx, kaon_context_set_tuning(c->ctx, NULL));
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_vector_destroy(&z);
    }
  free(psi), free(expected), free(found);
}

static void vectors_have_the_same_bits_under_every_choice(void **state) {
  (void)state;
  for_all_cases(LINKS_UNIT, check_vectors);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_nearest_entry_of_the_case_counts),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(a_hop_has_the_same_bits_under_every_choice),
      cmocka_unit_test(vectors_have_the_same_bits_under_every_choice),
  };
  return test_main(tests, NULL, NULL);
}
