/* test_multigrid_files.c - multigrid preconditioners whose bases went through a file: K has the same
 * bits, also in what a refresh makes of it. Files that are damaged or of something else, and options
 * that differ from a file's, are refused, and nothing is left. */
#define _XOPEN_SOURCE 700
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "tests/util/machine.h"
#include "tests/util/multigrid_case.h"

enum { REALS = 8 * 4 * 4 * 8 * 24 };
static const int extents[4] = {8, 4, 4, 8};
static char folder[] = "/tmp/kaon-multigrid-XXXXXX", file[64], other[64];

/* ---- the log ---- */

static char warning[1024];

static void listen(void *user, kaon_log_level level, const char *line) {
  (void)user;
  if (level == KAON_LOG_WARNING) snprintf(warning, sizeof warning, "%s", line);
}

static void warned(const char *words) {
  if (words == NULL) assert_string_equal(warning, "");
  if (words != NULL) assert_non_null(strstr(warning, words));
  if (words != NULL) printf("  %s\n", warning);
  warning[0] = '\0';
}

/* ---- cases ---- */

static multigrid_case open_case(int machine, const int n[4]) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = 1;
  options.log = listen;
  must(NULL, machine_open(machine, options, &ctx));
  multigrid_case c = multigrid_open(ctx, n);
  must(ctx, kaon_gauge_weak(c.gauge, 0.4, 3));
  multigrid_dirac(&c, 0.135, 1, 0);
  return c;
}

/* Three levels; level 1 has more vectors than level 0, so both kinds of candidates are kept. */
static kaon_multigrid_options options_of(kaon_precision precision) {
  kaon_multigrid_options o = multigrid_small();
  o.block[1][1] = o.block[1][2] = 1;
  o.vectors[0] = 6;
  o.precision[0] = precision;
  return o;
}

static kaon_operator *loaded(multigrid_case *c, const kaon_multigrid_options *o) {
  kaon_operator *K = NULL;
  must(c->ctx, kaon_multigrid_load(c->A, o, file, &K));
  return K;
}

/* K r in host memory. */
static double *image(multigrid_case *c, kaon_operator *K) {
  const kaon_space *space = kaon_lattice_spinors(c->lattice, KAON_FULL);
  kaon_vector *r = NULL, *y = NULL;
  double *host = calloc(REALS, sizeof *host);
  must(c->ctx, kaon_vector_create(c->ctx, space, kaon_operator_precision(K), 1, &r));
  must(c->ctx, kaon_vector_create(c->ctx, space, kaon_operator_precision(K), 1, &y));
  must(c->ctx, kaon_source_gauss(r, 1));
  must(c->ctx, kaon_operator_apply(K, KAON_PLAIN, r, y));
  must(c->ctx, kaon_vector_export(y, 0, host, KAON_BASIS_UKQCD));
  kaon_vector_destroy(&r);
  kaon_vector_destroy(&y);
  return host;
}

static void same(multigrid_case *c, kaon_operator *a, kaon_operator *b) {
  double *of_a = image(c, a), *of_b = image(c, b);
  assert_memory_equal(of_a, of_b, REALS * sizeof *of_a);
  free(of_a);
  free(of_b);
}

/* ---- bits ---- */

/* The bits of K; those after a refresh, which begins with the candidates; those of a K that was saved
 * and loaded twice. Open options and those of K are alike. */
static void bits_of(int machine, kaon_precision precision) {
  multigrid_case c = open_case(machine, extents);
  const kaon_multigrid_options o = options_of(precision);
  kaon_multigrid_options open = KAON_MULTIGRID_OPTIONS_INIT;
  kaon_multigrid_info info = KAON_MULTIGRID_INFO_INIT;
  kaon_operator *K = multigrid_of(&c, &o);
  must(c.ctx, kaon_multigrid_save(K, file));
  open.precision[0] = precision;
  kaon_operator *L = loaded(&c, &open);
  must(c.ctx, kaon_multigrid_describe(L, &info));
  assert_int_equal(info.levels, 3);
  assert_int_equal(info.level[0].vectors, 6);
  assert_int_equal(info.last, KAON_MULTIGRID_UPDATE);
  same(&c, K, L);
  must(c.ctx, kaon_multigrid_save(L, file));
  kaon_operator_destroy(&L);
  L = loaded(&c, &o);
  same(&c, K, L);
  must(c.ctx, kaon_multigrid_update(K, KAON_MULTIGRID_REFRESH));
  must(c.ctx, kaon_multigrid_update(L, KAON_MULTIGRID_REFRESH));
  same(&c, K, L);
  must(c.ctx, kaon_multigrid_save(K, file));
  must(c.ctx, kaon_multigrid_update(L, KAON_MULTIGRID_UPDATE)); /* which changes nothing */
  same(&c, K, L);
  warned(NULL);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&L);
  multigrid_close(&c);
}

static void bits_come_back(void **state) {
  (void)state;
  for (int machine = MACHINE_CPU; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    bits_of(machine, KAON_HALF);
    if (machine == MACHINE_CPU) bits_of(machine, KAON_SINGLE);
  }
}

/* ---- other operators ---- */

static void another_operator_is_a_warning(void **state) {
  (void)state;
  multigrid_case c = open_case(MACHINE_CPU, extents);
  const kaon_multigrid_options o = options_of(KAON_HALF);
  kaon_operator *K = multigrid_of(&c, &o);
  const int steps = multigrid_solve(&c, K, 1, 1, NULL);
  must(c.ctx, kaon_multigrid_save(K, file));
  kaon_operator_destroy(&K);
  multigrid_dirac(&c, 0.13501, 1, 0);
  K = loaded(&c, NULL);
  warned("other links or parameters");
  kaon_operator_destroy(&K);
  must(c.ctx, kaon_gauge_weak(c.gauge, 0.4, 4));
  multigrid_dirac(&c, 0.135, 1, 0);
  K = loaded(&c, NULL);
  warned("other links or parameters");
  must(c.ctx, kaon_multigrid_update(K, KAON_MULTIGRID_REFRESH));
  assert_true(multigrid_solve(&c, K, 1, 1, NULL) <= 1.5 * steps);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

/* ---- what is refused ---- */

static int64_t memory_of(const kaon_context *ctx) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  must(ctx, kaon_context_query(ctx, &info));
  return info.memory_now;
}

/* The status, a sentence with these words and no K. The second attempt leaves no more memory than
 * the first. */
static void refused(kaon_operator *A, const kaon_context *ctx, const kaon_multigrid_options *o,
                    const char *path, kaon_status status, const char *words) {
  int64_t left[2];
  for (int i = 0; i < 2; i++) {
    kaon_operator *K = A;
    assert_int_equal(kaon_multigrid_load(A, o, path, &K), status);
    assert_null(K);
    if (i == 0 && words != NULL) printf("  refused: %s\n", kaon_last_error(ctx));
    if (words != NULL && strstr(kaon_last_error(ctx), words) == NULL)
      fail_msg("it does not say '%s'", words);
    left[i] = memory_of(ctx);
  }
  assert_int_equal(left[0], left[1]);
}

static void options_that_differ(void **state) {
  (void)state;
  static const int larger[4] = {8, 4, 8, 8};
  multigrid_case c = open_case(MACHINE_CPU, extents), d = open_case(MACHINE_CPU, larger);
  kaon_multigrid_options o = options_of(KAON_HALF);
  kaon_operator *K = multigrid_of(&c, &o);
  must(c.ctx, kaon_multigrid_save(K, file));
  refused(d.A, d.ctx, NULL, file, KAON_ERR_SHAPE, "8x4x4x8, but the operator's is 8x4x8x8");
  o.vectors[1] = 9;
  refused(c.A, c.ctx, &o, file, KAON_ERR_ARGUMENT,
          "vectors of level 1 is 8 there, but the options ask for 9");
  o.vectors[1] = 0;
  o.block[0][3] = 4;
  refused(c.A, c.ctx, &o, file, KAON_ERR_ARGUMENT,
          "block in t of level 0 is 2 there, but the options ask for 4");
  o.block[0][3] = 0;
  o.levels = 2;
  refused(c.A, c.ctx, &o, file, KAON_ERR_ARGUMENT, "it has 3 levels, but the options ask for 2");
  o.levels = 0;
  must(c.ctx, kaon_multigrid_probe(NULL, file, extents, &o));
  assert_int_equal(o.levels, 3);
  assert_int_equal(o.vectors[1], 8);
  assert_int_equal(o.block[0][3], 2);
  must_refuse(NULL, KAON_ERR_SHAPE, kaon_multigrid_probe(NULL, file, larger, &o));
  kaon_operator_destroy(&K);
  multigrid_close(&c);
  multigrid_close(&d);
}

static unsigned char *bytes_of(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  unsigned char *bytes = malloc(*size);
  assert_int_equal(fread(bytes, 1, *size, f), *size);
  fclose(f);
  return bytes;
}

static void put_bytes(const char *path, const void *bytes, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  fclose(f);
}

/* Cut anywhere, with a wrong number, with another header, or of another kind. */
static void damaged_files(void **state) {
  (void)state;
  enum { CUTS = 40, PADDING = 8 };
  multigrid_case c = open_case(MACHINE_CPU, extents);
  const kaon_multigrid_options o = options_of(KAON_HALF);
  kaon_operator *K = multigrid_of(&c, &o);
  size_t size;
  must(c.ctx, kaon_multigrid_save(K, file));
  unsigned char *bytes = bytes_of(file, &size);
  for (size_t i = 0; i <= CUTS; i++) {
    kaon_operator *L = NULL;
    put_bytes(other, bytes, i < CUTS ? size * i / CUTS : size - PADDING - 1);
    assert_int_equal(kaon_multigrid_load(c.A, NULL, other, &L), KAON_ERR_FORMAT);
    assert_null(L);
    assert_non_null(strstr(kaon_last_error(c.ctx), other));
  }
  refused(c.A, c.ctx, NULL, other, KAON_ERR_FORMAT, "no checksum");
  bytes[size / 2] ^= 4; /* of a number: columns are longer than headers */
  put_bytes(other, bytes, size);
  refused(c.A, c.ctx, NULL, other, KAON_ERR_CHECKSUM, "copy it again");
  bytes[size / 2] ^= 4;
  for (size_t i = 0; i + 10 < 2000; i++)
    if (memcmp(bytes + i, "<vectors>6", 10) == 0) memcpy(bytes + i, "<vectors>x", 10);
  put_bytes(other, bytes, size);
  refused(c.A, c.ctx, NULL, other, KAON_ERR_FORMAT, "<vectors>");
  free(bytes);
  must(c.ctx, kaon_gauge_write(c.gauge, other, NULL));
  refused(c.A, c.ctx, NULL, other, KAON_ERR_FORMAT, "it is a gauge configuration (ILDG)");
  put_bytes(other, "kaon\n", 5);
  refused(c.A, c.ctx, NULL, other, KAON_ERR_FORMAT, "begins with 'kaon'");
  unlink(other);
  refused(c.A, c.ctx, NULL, other, KAON_ERR_IO, other);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

static void calls_that_cannot_be(void **state) {
  (void)state;
  multigrid_case c = open_case(MACHINE_CPU, extents);
  const kaon_multigrid_options o = options_of(KAON_HALF);
  kaon_operator *K = multigrid_of(&c, &o), *L = K, *R = NULL;
  must(c.ctx, kaon_multigrid_save(K, file));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_save(c.A, other));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_multigrid_save(NULL, other));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_save(K, NULL));
  must_refuse(c.ctx, KAON_ERR_IO, kaon_multigrid_save(K, "/nowhere/vectors"));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_multigrid_load(c.A, NULL, NULL, &L));
  assert_null(L);
  must(c.ctx, kaon_dirac_even_odd(c.A, NULL, &R));
  refused(R, c.ctx, NULL, file, KAON_ERR_UNSUPPORTED, "kaon_dirac_create()");
  must(c.ctx, kaon_dirac_update(c.A));
  must_refuse(c.ctx, KAON_ERR_STALE, kaon_multigrid_save(K, other));
  assert_int_equal(access(other, F_OK), -1);
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&K);
  multigrid_close(&c);
}

static int begin(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(file, sizeof file, "%s/vectors", folder);
  snprintf(other, sizeof other, "%s/other", folder);
  return 0;
}

static int end(void **state) {
  (void)state;
  unlink(file);
  unlink(other);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_come_back),       cmocka_unit_test(another_operator_is_a_warning),
      cmocka_unit_test(options_that_differ),  cmocka_unit_test(damaged_files),
      cmocka_unit_test(calls_that_cannot_be),
  };
  return test_main(tests, begin, end);
}
