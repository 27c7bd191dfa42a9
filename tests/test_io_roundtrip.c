/* test_io_roundtrip.c - kaon reads back what it writes: every gauge format x precision x byte
 * order x number of rows x shape bit by bit, one format into another, every kind of propagator,
 * and conversions of spin bases. Output appears complete or not at all. */
#include "test_io_common.h"

#include "lib/io/atomic_file.h"
#include "lib/io/scidac.h"
#include "lib/io/spin_basis.h"

static const int shapes[][4] = {{4, 4, 4, 4}, {4, 6, 2, 10}, {2, 2, 2, 2}, {6, 2, 4, 2}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static const kaon_gauge_write_options variants[] = {
    {.format = KAON_FORMAT_NERSC, .precision = 64, .rows = 3, .byte_order = KAON_BYTES_BIG},
    {.format = KAON_FORMAT_NERSC, .precision = 64, .rows = 3, .byte_order = KAON_BYTES_LITTLE},
    {.format = KAON_FORMAT_NERSC, .precision = 64, .rows = 2, .byte_order = KAON_BYTES_BIG},
    {.format = KAON_FORMAT_NERSC, .precision = 64, .rows = 2, .byte_order = KAON_BYTES_LITTLE},
    {.format = KAON_FORMAT_NERSC, .precision = 32, .rows = 3, .byte_order = KAON_BYTES_BIG},
    {.format = KAON_FORMAT_NERSC, .precision = 32, .rows = 3, .byte_order = KAON_BYTES_LITTLE},
    {.format = KAON_FORMAT_NERSC, .precision = 32, .rows = 2, .byte_order = KAON_BYTES_BIG},
    {.format = KAON_FORMAT_NERSC, .precision = 32, .rows = 2, .byte_order = KAON_BYTES_LITTLE},
    {.format = KAON_FORMAT_ILDG,
     .precision = 64,
     .lfn = "lfn://kaon/test",
     .label = "a <b> & \"c\""},
    {.format = KAON_FORMAT_ILDG, .precision = 32},
    {.format = KAON_FORMAT_SCIDAC, .precision = 64},
    {.format = KAON_FORMAT_SCIDAC, .precision = 32},
    {.format = KAON_FORMAT_MILC, .byte_order = KAON_BYTES_BIG},
    {.format = KAON_FORMAT_MILC, .byte_order = KAON_BYTES_LITTLE},
    {.format = KAON_FORMAT_OPENQCD},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static kaon_gauge_write_options variant(int i) {
  kaon_gauge_write_options o = variants[i];
  const kaon_gauge_write_options defaults = KAON_GAUGE_WRITE_OPTIONS_INIT;
  o.size = defaults.size;
  o.version = defaults.version;
  o.date = "Thu Jan 01 00:00:00 1970 UTC";
  return o;
}

static void write_field(const field *f, const char *path, const kaon_gauge_write_options *o) {
  kaon_gauge_content content = {{f->e[0], f->e[1], f->e[2], f->e[3]}, plaquette(f), link_trace(f)};
  assert_ok(kaon_gauge_file_write(NULL, path, o, &content, get_link, (void *)f));
}

/* What must come back: the numbers as stored. A rebuilt third row is 6 products and 5 sums of
 * stored numbers of size 1 whose relative error is eps: 8 eps. */
static void compare(const field *f, const field *g, int bits, int rows) {
  double eps = bits == 32 ? 0x1p-24 : 0x1p-53, worst = 0;
  for (int64_t i = 0; i < f->volume * 72; i++) {
    double want = bits == 32 ? (double)(float)f->u[i] : f->u[i];
    if (i % 18 < 6 * rows)
      assert_true(g->u[i] == want);
    else
      worst = larger(worst, fabs(g->u[i] - f->u[i]));
  }
  assert_true(worst <= 8 * eps);
}

static void every_gauge_format_returns_the_bits_it_was_given(void **state) {
  (void)state;
  for (int s = 0; s < SHAPES; s++) {
    field f = field_random(shapes[s], 17 + (uint64_t)s);
    for (int i = 0; i < VARIANTS; i++) {
      kaon_gauge_write_options o = variant(i);
      const char *path = scratch("gauge");
      kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
      kaon_gauge_read_options read = KAON_GAUGE_READ_OPTIONS_INIT;
      write_field(&f, path, &o);
      if (o.format == KAON_FORMAT_OPENQCD)
        read.format = o.format; /* uncorrelated links: ambiguous */
      field g = field_new(shapes[s]);
      assert_ok(kaon_gauge_file_read(NULL, path, &read, &info, put_link, &g));
      assert_int_equal(g.links, g.volume * 4);
      int bits = info.precision, rows = o.rows ? o.rows : 3;
      compare(&f, &g, bits, rows);
      assert_int_equal(info.format, o.format);
      assert_int_equal(info.rows, rows);
      if (o.precision) assert_int_equal(bits, o.precision);
      if (o.byte_order) assert_int_equal(info.big_endian, o.byte_order == KAON_BYTES_BIG);
      assert_memory_equal(info.extents, shapes[s], sizeof info.extents);
      if (info.has_plaquette) {
        assert_true(fabs(info.plaquette - plaquette(&f)) <= info.plaquette_tolerance);
      }
      assert_int_equal(info.has_plaquette, o.format != KAON_FORMAT_MILC);
      unlink(path);
      free(g.u);
    }
    free(f.u);
  }
}

static void formats_convert_into_each_other(void **state) {
  (void)state;
  field f = field_random(shapes[1], 5);
  for (int i = 0; i < VARIANTS; i++) {
    for (int j = 0; j < VARIANTS; j++) {
      kaon_gauge_write_options a = variant(i), b = variant(j);
      kaon_gauge_read_options read = KAON_GAUGE_READ_OPTIONS_INIT;
      kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
      if (a.rows == 2 || b.rows == 2) continue; /* the others show the bits */
      write_field(&f, scratch("a"), &a);
      field g = field_new(f.e), h = field_new(f.e);
      read.format = a.format;
      assert_ok(kaon_gauge_file_read(NULL, scratch("a"), &read, &info, put_link, &g));
      int bits = info.precision;
      write_field(&g, scratch("b"), &b);
      read.format = b.format;
      assert_ok(kaon_gauge_file_read(NULL, scratch("b"), &read, &info, put_link, &h));
      if (info.precision < bits) bits = info.precision;
      compare(&f, &h, bits, 3);
      free(g.u);
      free(h.u);
    }
  }
  unlink(scratch("a"));
  unlink(scratch("b"));
  free(f.u);
}

/* A correlated field: pure gauge, with plaquette 1 if read correctly and about 0 otherwise. */
static void openqcd_files_of_correlated_fields_are_recognised(void **state) {
  (void)state;
  static const int e[4] = {4, 6, 8, 2};
  field f = field_new(e), g = field_new(e);
  uint64_t seed = 3;
  double *gauge = malloc((size_t)f.volume * 18 * sizeof *gauge);
  for (int64_t s = 0; s < f.volume; s++) random_su3(gauge + 18 * s, &seed);
  for (int64_t s = 0; s < f.volume; s++) {
    for (int mu = 0; mu < 4; mu++) {
      multiply(gauge + 18 * s, 0, gauge + 18 * neighbour(e, s, mu), 1, link_at(&f, s, mu));
    }
  }
  kaon_gauge_write_options o = variant(VARIANTS - 1);
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  kaon_gauge_read_options read = KAON_GAUGE_READ_OPTIONS_INIT;
  memcpy(read.extents, e, sizeof e);
  write_field(&f, scratch("q"), &o);
  assert_ok(kaon_gauge_file_read(NULL, scratch("q"), &read, &info, put_link, &g));
  assert_int_equal(info.format, KAON_FORMAT_OPENQCD);
  assert_int_equal(info.ambiguous, 0);
  compare(&f, &g, 64, 3);
  unlink(scratch("q"));
  free(gauge);
  free(f.u);
  free(g.u);
}

/* Replaces text in a file of ours by text of the same length. */
static void replace(const char *path, const char *from, const char *to) {
  size_t size, n = strlen(from);
  assert_int_equal(n, strlen(to));
  unsigned char *data = load_file(path, &size);
  for (size_t i = 0; i + n <= size; i++) {
    if (memcmp(data + i, from, n) == 0) memcpy(data + i, to, n);
  }
  FILE *f = fopen(path, "wb");
  assert_int_equal(fwrite(data, 1, size, f), size);
  fclose(f);
  free(data);
}

static void nersc_files_that_hide_their_byte_order_are_read(void **state) {
  (void)state;
  field f = field_random(shapes[1], 9), g = field_new(shapes[1]);
  for (int i = 0; i < 8; i++) {
    kaon_gauge_write_options o = variant(i);
    kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
    const char *path = scratch("bare");
    for (int with_checksum = 0; with_checksum < 2; with_checksum++) {
      write_field(&f, path, &o);
      if (o.byte_order == KAON_BYTES_BIG) {
        replace(path, o.precision == 32 ? "IEEE32BIG\n" : "IEEE64BIG\n",
                o.precision == 32 ? "IEEE32   \n" : "IEEE64   \n");
      } else {
        replace(path, o.precision == 32 ? "IEEE32LITTLE\n" : "IEEE64LITTLE\n",
                o.precision == 32 ? "ieee32     \r\n" : "ieee64     \r\n");
      }
      replace(path, "DATATYPE =", " datatype=");
      if (!with_checksum) replace(path, "CHECKSUM", "NOTHING_");
      assert_ok(kaon_gauge_file_read(NULL, path, NULL, &info, put_link, &g));
      assert_int_equal(info.big_endian, o.byte_order == KAON_BYTES_BIG);
      compare(&f, &g, info.precision, o.rows);
    }
    unlink(path);
  }
  free(f.u);
  free(g.u);
}

static void two_rows_of_a_link_off_su3_and_nan_are_not_written(void **state) {
  (void)state;
  for (int i = 0; i < VARIANTS; i++) {
    kaon_gauge_write_options o = variant(i);
    field f = field_random(shapes[0], 9);
    kaon_gauge_content content = {{4, 4, 4, 4}, 0, 0};
    f.u[1000] += 0.5;
    kaon_status want = o.rows == 2 ? KAON_ERR_UNITARITY : KAON_OK;
    assert_int_equal(kaon_gauge_file_write(NULL, scratch("x"), &o, &content, get_link, &f), want);
    unlink(scratch("x"));
    f.u[1000] = NAN;
    assert_int_equal(kaon_gauge_file_write(NULL, scratch("x"), &o, &content, get_link, &f),
                     KAON_ERR_NOT_FINITE);
    assert_int_equal(access(scratch("x"), F_OK), -1);
    free(f.u);
  }
}

static void output_appears_whole_or_not_at_all(void **state) {
  (void)state;
  const char *path = scratch("report");
  kaon_atomic_file *f;
  for (int round = 0; round < 2; round++) {
    assert_ok(kaon_atomic_open(NULL, path, &f));
    assert_ok(kaon_atomic_printf(f, "round %d of %s\n", round, "two"));
    assert_int_equal(access(path, F_OK), round - 1); /* the old one, if any, is still there */
    assert_ok(kaon_atomic_commit(&f));
    assert_null(f);
  }
  assert_ok(kaon_atomic_open(NULL, path, &f));
  assert_ok(kaon_atomic_printf(f, "never seen"));
  kaon_atomic_abandon(&f);
  size_t size;
  unsigned char *data = load_file(path, &size);
  assert_int_equal(size, strlen("round 1 of two\n"));
  assert_memory_equal(data, "round 1 of two\n", size);
  free(data);
  unlink(path);
  assert_int_equal(kaon_atomic_open(NULL, scratch("no/such/folder"), &f), KAON_ERR_IO);
  assert_non_null(strstr(kaon_last_error(NULL), "no/such/folder"));
  assert_int_equal(kaon_atomic_open(NULL, "/dev/null", &f), KAON_ERR_IO);
  assert_int_equal(kaon_atomic_open(NULL, scratch_folder, &f), KAON_ERR_IO);
  assert_int_equal(kaon_atomic_open(NULL, "", &f), KAON_ERR_ARGUMENT);
}

/* ---- propagators ---- */

typedef struct propagator {
  int64_t volume;
  int columns;
  double *psi;    /* [column][site][24] */
  double *source; /* [column][site][24] */
  int64_t spinors, sources;
} propagator;

static propagator propagator_new(const int e[4], int columns, uint64_t seed) {
  propagator p = {(int64_t)e[0] * e[1] * e[2] * e[3], columns, NULL, NULL, 0, 0};
  size_t n = (size_t)p.volume * (size_t)columns * 24;
  p.psi = calloc(n, sizeof *p.psi);
  p.source = calloc(n, sizeof *p.source);
  for (size_t i = 0; seed && i < n; i++) {
    p.psi[i] = uniform(&seed);
    p.source[i] = uniform(&seed);
  }
  return p;
}

static void propagator_free(propagator *p) {
  free(p->psi);
  free(p->source);
}

static double *spinor_at(double *psi, const propagator *p, int column, int64_t site) {
  return psi + ((int64_t)column * p->volume + site) * 24;
}

static void get_spinor(void *source, int column, int64_t site, double psi[24]) {
  propagator *p = source;
  memcpy(psi, spinor_at(p->psi, p, column, site), 24 * sizeof *psi);
}

static void put_spinor(void *sink, int column, int64_t site, const double psi[24]) {
  propagator *p = sink;
  assert_in_range(column, 0, p->columns - 1);
  assert_in_range(site, 0, p->volume - 1);
  memcpy(spinor_at(p->psi, p, column, site), psi, 24 * sizeof *psi);
  p->spinors++;
}

static void get_spinor_source(void *source, int column, int64_t site, double *values) {
  propagator *p = source;
  memcpy(values, spinor_at(p->source, p, column, site), 24 * sizeof *values);
}

static void put_spinor_source(void *sink, int column, int64_t site, const double *values) {
  propagator *p = sink;
  memcpy(spinor_at(p->source, p, column, site), values, 24 * sizeof *values);
  p->sources++;
}

static void get_scalar_source(void *source, int column, int64_t site, double *values) {
  propagator *p = source;
  memcpy(values, spinor_at(p->source, p, column, site), 2 * sizeof *values);
}

static void put_scalar_source(void *sink, int column, int64_t site, const double *values) {
  propagator *p = sink;
  memcpy(spinor_at(p->source, p, column, site), values, 2 * sizeof *values);
  p->sources++;
}

/* QIO takes values of up to 32767 bytes, the writer refuses what would be longer. */
static void a_long_description_comes_back_whole(void **state) {
  (void)state;
  static char text[30002];
  static kaon_propagator_file_info info = KAON_PROPAGATOR_FILE_INFO_INIT;
  kaon_propagator_write_options w = KAON_PROPAGATOR_WRITE_OPTIONS_INIT;
  memcpy(w.extents, shapes[1], sizeof w.extents);
  w.kind = KAON_PROPAGATOR_PAIRS;
  w.columns = 1;
  w.text = text;
  propagator p = propagator_new(shapes[1], 1, 77);
  for (int i = 0; i < 30000; i++) text[i] = (char)('a' + i % 26);
  assert_ok(
      kaon_propagator_file_write(NULL, scratch("prop"), &w, get_spinor, get_spinor_source, &p));
  assert_ok(kaon_propagator_file_probe(NULL, scratch("prop"), &info));
  assert_string_equal(info.text, text);
  text[30000] = 'x';
  assert_int_equal(
      kaon_propagator_file_write(NULL, scratch("prop"), &w, get_spinor, get_spinor_source, &p),
      KAON_ERR_ARGUMENT);
  unlink(scratch("prop"));
  propagator_free(&p);
}

static void propagators_of_every_kind_come_back(void **state) {
  (void)state;
  static const char text[] = "<kappa>0.1345</kappa> & \"c_sw\" = 1.769, source 'point' 0 0 0 0";
  for (int variant = 0; variant < 12; variant++) {
    kaon_propagator_write_options w = KAON_PROPAGATOR_WRITE_OPTIONS_INIT;
    kaon_propagator_read_options r = KAON_PROPAGATOR_READ_OPTIONS_INIT;
    kaon_propagator_file_info info = KAON_PROPAGATOR_FILE_INFO_INIT;
    memcpy(w.extents, shapes[1], sizeof w.extents);
    w.kind = (kaon_propagator_kind)(variant % 3);
    w.columns = w.kind == KAON_PROPAGATOR_TWELVE ? 12 : 5;
    w.precision = variant / 3 % 2 ? 32 : 64;
    w.basis = r.basis = variant / 6 ? KAON_PROPAGATOR_DEGRAND_ROSSI : KAON_PROPAGATOR_UKQCD;
    w.text = text;
    int scalar = w.kind != KAON_PROPAGATOR_PAIRS;
    propagator p = propagator_new(shapes[1], w.columns, 77),
               q = propagator_new(shapes[1], w.columns, 0);
    assert_ok(kaon_propagator_file_write(NULL, scratch("prop"), &w, get_spinor,
                                         scalar ? get_scalar_source : get_spinor_source, &p));
    assert_ok(kaon_propagator_file_probe(NULL, scratch("prop"), &info));
    assert_int_equal(info.columns, w.columns);
    assert_ok(kaon_propagator_file_read(NULL, scratch("prop"), &r, &info, put_spinor,
                                        scalar ? put_scalar_source : put_spinor_source, &q));
    unlink(scratch("prop"));
    assert_int_equal(info.kind, w.kind);
    assert_int_equal(info.precision, w.precision);
    assert_true(info.has_source);
    assert_int_equal(info.checksums_missing, 0);
    assert_string_equal(info.text, text);
    assert_int_equal(q.spinors, p.volume * w.columns);
    assert_int_equal(q.sources, p.volume * (w.kind == KAON_PROPAGATOR_TWELVE ? 1 : 5));
    /* Rotated twice: sums of up to 4 numbers of size 1 there and back, and the file's rounding of
     * numbers up to 2: 8 eps of each. Not rotated: equal bits. */
    double eps = w.precision == 32 ? 0x1p-24 : 0x1p-53, worst = 0;
    for (int64_t i = 0; i < p.volume * w.columns * 24; i++) {
      worst = larger(worst, fabs(p.psi[i] - q.psi[i]));
    }
    double bound = w.basis == KAON_PROPAGATOR_UKQCD ? 8 * eps : w.precision == 32 ? eps / 2 : 0;
    print_message("kind %d, %d bits, basis %d: off by %.1e (bound %.1e)\n", w.kind, w.precision,
                  w.basis, worst, bound);
    assert_true(worst <= bound);
    for (int64_t s = 0; s < p.volume; s++) {
      for (int i = 0; i < (scalar ? 2 : 24); i++) {
        double d = fabs(spinor_at(p.source, &p, 0, s)[i] - spinor_at(q.source, &q, 0, s)[i]);
        assert_true(d <= fmax(bound, w.precision == 32 ? eps : 0));
      }
    }
    propagator_free(&p);
    propagator_free(&q);
  }
}

typedef struct matrix {
  double _Complex m[4][4];
} matrix;

static matrix product(matrix a, matrix b) {
  matrix c = {{{0}}};
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 4; j++) {
      for (int k = 0; k < 4; k++) c.m[i][j] += a.m[i][k] * b.m[k][j];
    }
  }
  return c;
}

/* Off-diagonal blocks [[0, f s_k], [conj(f) s_k, 0]]. */
static matrix gamma_of(const double _Complex s[2][2], double _Complex f) {
  matrix g = {{{0}}};
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 2; j++) {
      g.m[i][2 + j] = f * s[i][j];
      g.m[2 + i][j] = -f * s[i][j];
    }
  }
  return g;
}

static void the_basis_change_maps_every_gamma_matrix_exactly(void **state) {
  (void)state;
  const double _Complex i1 = __builtin_complex(0.0, 1.0);
  const double _Complex sigma[3][2][2] = {{{0, 1}, {1, 0}}, {{0, -i1}, {i1, 0}}, {{1, 0}, {0, -1}}};
  matrix s = {{{0}}}, s_inverse = {{{0}}};
  for (int a = 0; a < 4; a++) { /* sqrt(2) S: entries +-1 */
    for (int k = 0; k < 2; k++) {
      s.m[a][kaon_ukqcd_to_degrand_rossi[a].from[k]] = kaon_ukqcd_to_degrand_rossi[a].sign[k];
      s_inverse.m[a][kaon_degrand_rossi_to_ukqcd[a].from[k]] =
          kaon_degrand_rossi_to_ukqcd[a].sign[k];
    }
  }
  for (int mu = 0; mu < 4; mu++) {
    matrix ukqcd = {{{0}}}, rossi = {{{0}}};
    if (mu < 3) {
      ukqcd = gamma_of(sigma[mu], i1);
      rossi = gamma_of(sigma[mu], mu == 1 ? -i1 : i1);
    } else {
      for (int k = 0; k < 4; k++) {
        ukqcd.m[k][k] = k < 2 ? 1 : -1;
        rossi.m[k][(k + 2) % 4] = 1;
      }
    }
    matrix turned = product(product(s, ukqcd), s_inverse); /* 2 S gamma S^-1, whole numbers */
    for (int a = 0; a < 4; a++) {
      for (int b = 0; b < 4; b++) assert_true(turned.m[a][b] == 2 * rossi.m[a][b]);
    }
  }
}

static void a_propagator_turns_in_source_and_sink(void **state) {
  (void)state;
  static const int e[4] = {2, 2, 2, 2};
  kaon_propagator_write_options w = KAON_PROPAGATOR_WRITE_OPTIONS_INIT;
  kaon_propagator_read_options r = KAON_PROPAGATOR_READ_OPTIONS_INIT;
  memcpy(w.extents, e, sizeof e);
  propagator p = propagator_new(e, 12, 0), q = propagator_new(e, 12, 0);
  /* G = gamma_4 in UKQCD: diag(1, 1, -1, -1); in DeGrand-Rossi spin s goes to (s + 2) mod 4. */
  for (int k = 0; k < 12; k++) {
    for (int64_t site = 0; site < p.volume; site++) {
      spinor_at(p.psi, &p, k, site)[2 * k] = k < 6 ? 1 : -1;
    }
  }
  r.basis = KAON_PROPAGATOR_DEGRAND_ROSSI;
  assert_ok(kaon_propagator_file_write(NULL, scratch("g"), &w, get_spinor, get_scalar_source, &p));
  assert_ok(kaon_propagator_file_read(NULL, scratch("g"), &r, NULL, put_spinor, NULL, &q));
  unlink(scratch("g"));
  for (int k = 0; k < 12; k++) {
    for (int c = 0; c < 24; c++) {
      assert_true(spinor_at(q.psi, &q, k, 3)[c] == (c == 2 * ((k + 6) % 12) ? 1.0 : 0.0));
    }
  }
  propagator_free(&p);
  propagator_free(&q);
}

static void get_counted(void *source, int64_t site, double *values) {
  for (int i = 0; i < 6; i++) values[i] = *(double *)source + (double)site + 0.125 * i;
}
static void put_counted(void *sink, int64_t site, const double *values) {
  for (int i = 0; i < 6; i++) assert_true(values[i] == *(double *)sink + (double)site + 0.125 * i);
}

static void a_general_field_comes_back(void **state) {
  (void)state;
  kaon_atomic_file *file;
  double offset = 0.5;
  kaon_scidac_field info;
  const kaon_scidac_type type = {"QDP_D3_ColorVector", 64, 3, 0, 6, 1};
  assert_ok(kaon_atomic_open(NULL, scratch("v"), &file));
  assert_ok(kaon_scidac_write_file(file, shapes[1], "a colour vector"));
  const kaon_scidac_output out = {NULL, file, shapes[1], "today"};
  assert_ok(kaon_scidac_write_field(&out, &type, "record", 0, NULL, get_counted, &offset));
  assert_ok(kaon_atomic_commit(&file));
  assert_ok(kaon_scidac_field_read(NULL, scratch("v"), 6, 0, &info, put_counted, &offset));
  unlink(scratch("v"));
  assert_memory_equal(info.extents, shapes[1], sizeof info.extents);
  assert_string_equal(info.datatype, "QDP_D3_ColorVector");
  assert_memory_equal(info.checksum_computed, info.checksum_stored, sizeof info.checksum_stored);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_gauge_format_returns_the_bits_it_was_given),
      cmocka_unit_test(formats_convert_into_each_other),
      cmocka_unit_test(openqcd_files_of_correlated_fields_are_recognised),
      cmocka_unit_test(nersc_files_that_hide_their_byte_order_are_read),
      cmocka_unit_test(two_rows_of_a_link_off_su3_and_nan_are_not_written),
      cmocka_unit_test(output_appears_whole_or_not_at_all),
      cmocka_unit_test(a_long_description_comes_back_whole),
      cmocka_unit_test(propagators_of_every_kind_come_back),
      cmocka_unit_test(the_basis_change_maps_every_gamma_matrix_exactly),
      cmocka_unit_test(a_propagator_turns_in_source_and_sink),
      cmocka_unit_test(a_general_field_comes_back),
  };
  return test_main(tests, make_scratch, remove_scratch);
}
