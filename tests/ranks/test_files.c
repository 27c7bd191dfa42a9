/* test_files.c - files and whole columns on several ranks: the bytes that one rank writes, the
 * links that one rank reads, and failures that only the rank with the file notices. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "ranks.h"

static const int extents[4] = {8, 4, 8, 8};
static char folder[64] = "/tmp/kaon-ranks-XXXXXX"; /* the first rank's, known to all */

static const struct {
  kaon_file_format format;
  int precision, rows;
  const char *name;
} files[] = {{KAON_FORMAT_NERSC, 64, 3, "nersc"}, {KAON_FORMAT_NERSC, 32, 2, "nersc-32"},
             {KAON_FORMAT_ILDG, 64, 3, "ildg"},   {KAON_FORMAT_SCIDAC, 32, 3, "scidac"},
             {KAON_FORMAT_MILC, 32, 3, "milc"},   {KAON_FORMAT_OPENQCD, 64, 3, "openqcd"}};
enum { FILES = sizeof files / sizeof *files };

typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
} side;

static void open_side(side *s, kaon_context *ctx) {
  s->ctx = ctx;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &s->lattice));
  must(ctx, kaon_gauge_create(s->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &s->gauge));
  must(ctx, kaon_gauge_random(s->gauge, 12));
}

static void close_side(side *s) {
  kaon_gauge_destroy(&s->gauge);
  kaon_lattice_destroy(&s->lattice);
  kaon_context_destroy(&s->ctx);
}

/* All ranks together, and this one alone. */
static void open_both(side *many, side *one) {
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *alone = NULL;
  must(NULL, kaon_context_create(&options, &alone));
  open_side(one, alone);
  open_side(many, ranks_open(KAON_ISA_AUTO, NULL));
}

static void path_of(char path[128], const char *name, const char *who) {
  snprintf(path, 128, "%s/%s-%s", folder, name, who);
}

static unsigned char *slurp(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  unsigned char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, f), *size);
  fclose(f);
  return bytes;
}

static long bytes_that_differ(const char *a, const char *b) {
  size_t n, m;
  unsigned char *p = slurp(a, &n), *q = slurp(b, &m);
  assert_int_equal(n, m);
  long differ = 0;
  for (size_t i = 0; i < n; i++) differ += p[i] != q[i];
  free(p);
  free(q);
  return differ;
}

/* The means in headers are sums over ranks, too; openQCD stores them to the last bit. The date
 * that some headers have is given. */
static void files_have_the_bytes_of_one_rank(void **state) {
  (void)state;
  side many, one;
  open_both(&many, &one);
  for (int i = 0; i < FILES; i++) {
    kaon_gauge_write_options options = KAON_GAUGE_WRITE_OPTIONS_INIT;
    char ours[128], theirs[128];
    options.format = files[i].format;
    options.precision = files[i].precision;
    options.rows = files[i].rows;
    options.date = "Thu Jan  1 00:00:00 1970 UTC";
    path_of(ours, files[i].name, "many");
    path_of(theirs, files[i].name, "one");
    must(many.ctx, kaon_gauge_write(many.gauge, ours, &options));
    if (world_rank() == 0) {
      must(one.ctx, kaon_gauge_write(one.gauge, theirs, &options));
      const long differ = bytes_that_differ(ours, theirs);
      printf("  %-10s %ld bytes differ\n", files[i].name, differ);
      assert_int_equal(differ, 0);
    }
  }
  close_side(&many);
  close_side(&one);
}

static void links_come_back(void **state) {
  (void)state;
  side many, one;
  open_both(&many, &one);
  const int64_t reals = many.lattice->volume * 72;
  double *links = malloc((size_t)reals * sizeof *links),
         *again = malloc((size_t)reals * sizeof *again);
  assert_non_null(links);
  assert_non_null(again);
  must(many.ctx, kaon_gauge_export(many.gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){links}));
  for (int i = 0; i < FILES; i++) {
    char path[128];
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    double worst = 0;
    path_of(path, files[i].name, "many");
    must(many.ctx, kaon_gauge_unit(many.gauge));
    must(many.ctx, kaon_gauge_read(many.gauge, path, NULL, &info));
    assert_int_equal(info.format, files[i].format);
    assert_int_equal(info.warnings, 0);
    must(many.ctx,
         kaon_gauge_export(many.gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){again}));
    for (int64_t k = 0; k < reals; k++)
      if (!(fabs(links[k] - again[k]) <= worst)) worst = fabs(links[k] - again[k]);
    /* the third row of two is worked out: products of two numbers rounded to single */
    test_below(files[i].name, worst, files[i].precision == 64 ? 0 : 4 * 0x1p-24);
  }
  free(links);
  free(again);
  close_side(&many);
  close_side(&one);
}

/* A failure that only the first rank sees: all ranks return it, and the next call works. */
static void failures_reach_all_ranks(void **state) {
  (void)state;
  side many, one;
  char path[128], cut[128];
  open_both(&many, &one);
  must_refuse(many.ctx, KAON_ERR_IO, kaon_gauge_read(many.gauge, "/nowhere/x.lime", NULL, NULL));
  assert_non_null(strstr(kaon_last_error(many.ctx), "/nowhere/x.lime"));
  must_refuse(many.ctx, KAON_ERR_IO, kaon_gauge_write(many.gauge, "/nowhere/x.lime", NULL));
  assert_non_null(strstr(kaon_last_error(many.ctx), "/nowhere/x.lime"));
  path_of(path, "ildg", "many");
  path_of(cut, "cut", "many");
  if (world_rank() == 0) {
    size_t n;
    unsigned char *bytes = slurp(path, &n);
    bytes[n / 2] ^= 4; /* a bit of a link */
    FILE *f = fopen(cut, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    free(bytes);
  }
  must_refuse(many.ctx, KAON_ERR_CHECKSUM, kaon_gauge_read(many.gauge, cut, NULL, NULL));
  if (world_rank() == 0) assert_int_equal(truncate(cut, 5000), 0);
  const kaon_status status = kaon_gauge_read(many.gauge, cut, NULL, NULL);
  assert_true(status == KAON_ERR_FORMAT || status == KAON_ERR_IO);
  must(many.ctx, kaon_gauge_read(many.gauge, path, NULL, NULL));
  close_side(&many);
  close_side(&one);
}

static void whole_columns(void **state) {
  (void)state;
  side many, one;
  open_both(&many, &one);
  const size_t reals = 24 * (size_t)one.lattice->volume;
  double *a = calloc(reals, sizeof *a), *b = calloc(reals, sizeof *b);
  kaon_vector *v = NULL, *w = NULL, *alone = NULL, *odd = NULL;
  const kaon_space *space = kaon_lattice_spinors(many.lattice, KAON_FULL);
  must(many.ctx, kaon_vector_create(many.ctx, space, KAON_DOUBLE, 2, &v));
  must(many.ctx, kaon_vector_create(many.ctx, space, KAON_DOUBLE, 2, &w));
  must(many.ctx, kaon_vector_create(many.ctx, kaon_lattice_spinors(many.lattice, KAON_ODD),
                                    KAON_DOUBLE, 2, &odd));
  must(one.ctx, kaon_vector_create(one.ctx, kaon_lattice_spinors(one.lattice, KAON_FULL),
                                   KAON_DOUBLE, 2, &alone));
  must(many.ctx, kaon_source_gauss(v, 4));
  must(one.ctx, kaon_source_gauss(alone, 4));
  for (int k = 0; k < 2; k++) {
    must(many.ctx, kaon_vector_gather(v, k, a, KAON_BASIS_UKQCD));
    must(one.ctx, kaon_vector_export(alone, k, b, KAON_BASIS_UKQCD));
    assert_memory_equal(a, b, reals * sizeof *a);
    must(many.ctx, kaon_vector_scatter(w, k, a, KAON_BASIS_UKQCD));
    must(many.ctx, kaon_vector_gather(w, k, b, KAON_BASIS_UKQCD));
    assert_memory_equal(a, b, reals * sizeof *a);
  }
  must_refuse(many.ctx, KAON_ERR_SHAPE, kaon_vector_gather(odd, 0, a, KAON_BASIS_UKQCD));
  /* a NaN in the last rank's part alone */
  a[reals - 1] = NAN;
  must_refuse(many.ctx, KAON_ERR_NOT_FINITE, kaon_vector_scatter(w, 1, a, KAON_BASIS_UKQCD));
  must(many.ctx, kaon_vector_gather(w, 1, a, KAON_BASIS_UKQCD));
  assert_memory_equal(a, b, reals * sizeof *a);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&w);
  kaon_vector_destroy(&odd);
  kaon_vector_destroy(&alone);
  free(a);
  free(b);
  close_side(&many);
  close_side(&one);
}

/* A column with a fifth dimension is columns of four dimensions, one s after the other. */
static void whole_columns_of_five_dimensions(void **state) {
  (void)state;
  side many, one;
  open_both(&many, &one);
  const size_t reals = 24 * (size_t)one.lattice->volume;
  const size_t own = 24 * (size_t)many.lattice->volume;
  double *a = calloc(2 * reals, sizeof *a), *b = calloc(2 * reals, sizeof *b);
  kaon_vector *v = NULL, *w = NULL;
  must(many.ctx, kaon_vector_create(many.ctx, kaon_lattice_spinors(many.lattice, KAON_FULL),
                                    KAON_DOUBLE, 2, &v));
  must(many.ctx, kaon_vector_create(many.ctx, kaon_lattice_spinors_5d(many.lattice, 2, KAON_FULL),
                                    KAON_DOUBLE, 2, &w));
  must(many.ctx, kaon_source_gauss(v, 4));
  for (int s = 0; s < 2; s++)
    must(many.ctx, kaon_vector_gather(v, s, a + (size_t)s * reals, KAON_BASIS_UKQCD));
  must(many.ctx, kaon_vector_scatter(w, 1, a, KAON_BASIS_UKQCD));
  must(many.ctx, kaon_vector_gather(w, 1, b, KAON_BASIS_UKQCD));
  assert_memory_equal(a, b, 2 * reals * sizeof *a);
  must(many.ctx, kaon_vector_export(w, 1, a, KAON_BASIS_UKQCD));
  for (int s = 0; s < 2; s++) {
    must(many.ctx, kaon_vector_export(v, s, b, KAON_BASIS_UKQCD));
    assert_memory_equal(a + (size_t)s * own, b, own * sizeof *a);
  }
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&w);
  free(a);
  free(b);
  close_side(&many);
  close_side(&one);
}

/* Source of a propagator's file: each rank has its part, one slice at a time. */
static void slices_are_those_of_the_whole_column(void **state) {
  (void)state;
  side many, one;
  open_both(&many, &one);
  const size_t slice = 24 * (size_t)(one.lattice->volume / extents[3]);
  double *whole = calloc(slice * (size_t)extents[3], sizeof *whole);
  double *part = calloc(24 * (size_t)many.lattice->volume, sizeof *part);
  double *found = calloc(slice, sizeof *found);
  kaon_vector *v = NULL;
  must(many.ctx, kaon_vector_create(many.ctx, kaon_lattice_spinors(many.lattice, KAON_FULL),
                                    KAON_DOUBLE, 1, &v));
  must(many.ctx, kaon_source_gauss(v, 4));
  must(many.ctx, kaon_vector_gather(v, 0, whole, KAON_BASIS_UKQCD));
  must(many.ctx, kaon_vector_export(v, 0, part, KAON_BASIS_UKQCD));
  for (int t = extents[3] - 1; t >= 0; t--) {
    must(many.ctx, kaon_lattice_gather_slice(many.lattice, t, 24, part, found));
    assert_memory_equal(found, whole + (size_t)t * slice, slice * sizeof *found);
  }
  must_refuse(many.ctx, KAON_ERR_ARGUMENT,
              kaon_lattice_gather_slice(many.lattice, extents[3], 24, part, found));
  kaon_vector_destroy(&v);
  free(whole);
  free(part);
  free(found);
  close_side(&many);
  close_side(&one);
}

static int make_folder(void **state) {
  (void)state;
  if (world_rank() == 0 && mkdtemp(folder) == NULL) return 1;
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  char path[128];
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() != 0) return 0;
  for (int i = 0; i < FILES; i++) {
    path_of(path, files[i].name, "many");
    unlink(path);
    path_of(path, files[i].name, "one");
    unlink(path);
  }
  path_of(path, "cut", "many");
  unlink(path);
  return rmdir(folder); /* fails where a part of a file was left */
}

static const struct CMUnitTest ranks_files[] = {
    cmocka_unit_test(files_have_the_bytes_of_one_rank),
    cmocka_unit_test(links_come_back),
    cmocka_unit_test(failures_reach_all_ranks),
    cmocka_unit_test(whole_columns),
    cmocka_unit_test(whole_columns_of_five_dimensions),
    cmocka_unit_test(slices_are_those_of_the_whole_column),
};
RANKS_MAIN_WITH(ranks_files, make_folder, remove_folder)
