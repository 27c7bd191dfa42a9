/* make_corpus.c - seeds for the fuzz harnesses: small valid files. Usage: make_corpus FOLDER. It
 * writes FOLDER/<harness>/<seed>; the folders must exist. */
#include <stdio.h>
#include <string.h>

#include "fuzz_common.h"
#include "lib/io/scidac.h"
#include "sparse/files/market.h"

static const int extents[4] = {2, 2, 2, 2};

/* The unit matrix, or a rotation that differs from link to link. */
static void get_link(void *source, int64_t site, int mu, double u[18]) {
  static const double c[3] = {1.0, 0.6, 0.28}, s[3] = {0.0, 0.8, 0.96};
  int k = *(int *)source ? (int)((site + mu) % 3) : 0;
  memset(u, 0, 18 * sizeof *u);
  u[0] = u[8] = c[k];
  u[2] = s[k];
  u[6] = -s[k];
  u[16] = 1.0;
}

static void get_spinor(void *source, int column, int64_t site, double psi[24]) {
  (void)source;
  for (int i = 0; i < 24; i++) psi[i] = (double)(column + site) / (i + 1);
}

static void get_source(void *source, int column, int64_t site, double *values) {
  for (int i = 0; i < *(int *)source; i++) values[i] = site == column;
}

static void get_site(void *source, int64_t site, double *values) {
  for (int i = 0; i < *(int *)source; i++) values[i] = (double)(site + i);
}

static int failed(kaon_status status) {
  if (status != KAON_OK) fprintf(stderr, "%s\n", kaon_last_error(NULL));
  return status != KAON_OK;
}

static int make_gauge(const char *folder) {
  static const struct {
    const char *harness;
    kaon_file_format format;
    int precision, rows;
    kaon_byte_order order;
  } seeds[] = {{"nersc", KAON_FORMAT_NERSC, 64, 3, KAON_BYTES_BIG},
               {"nersc", KAON_FORMAT_NERSC, 64, 2, KAON_BYTES_LITTLE},
               {"nersc", KAON_FORMAT_NERSC, 32, 3, KAON_BYTES_LITTLE},
               {"nersc", KAON_FORMAT_NERSC, 32, 2, KAON_BYTES_BIG},
               {"lime", KAON_FORMAT_ILDG, 64, 3, KAON_BYTES_NATIVE},
               {"lime", KAON_FORMAT_SCIDAC, 32, 3, KAON_BYTES_NATIVE},
               {"milc", KAON_FORMAT_MILC, 32, 3, KAON_BYTES_BIG},
               {"milc", KAON_FORMAT_MILC, 32, 3, KAON_BYTES_LITTLE},
               {"openqcd", KAON_FORMAT_OPENQCD, 64, 3, KAON_BYTES_NATIVE}};
  int bad = 0;
  for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
    for (int turned = 0; turned < 2; turned++) {
      kaon_gauge_write_options o = KAON_GAUGE_WRITE_OPTIONS_INIT;
      kaon_gauge_content content = {{2, 2, 2, 2}, 1.0, 1.0};
      char path[512];
      o.format = seeds[i].format;
      o.precision = seeds[i].precision;
      o.rows = seeds[i].rows;
      o.byte_order = seeds[i].order;
      o.date = "then";
      if (turned) o.lfn = "lfn", o.label = "label";
      if (turned) content.link_trace = content.plaquette = 0.7;
      snprintf(path, sizeof path, "%s/%s/seed-%zu-%d", folder, seeds[i].harness, i, turned);
      bad |= failed(kaon_gauge_file_write(NULL, path, &o, &content, get_link, &turned));
      snprintf(path, sizeof path, "%s/detect/seed-%zu-%d", folder, i, turned);
      bad |= failed(kaon_gauge_file_write(NULL, path, &o, &content, get_link, &turned));
    }
  }
  return bad;
}

static int make_propagators(const char *folder) {
  int bad = 0;
  for (int i = 0; i < 3; i++) {
    kaon_propagator_write_options o = KAON_PROPAGATOR_WRITE_OPTIONS_INIT;
    char path[512];
    int reals = i == KAON_PROPAGATOR_PAIRS ? 24 : 2;
    memcpy(o.extents, extents, sizeof extents);
    o.kind = (kaon_propagator_kind)i;
    o.columns = i == KAON_PROPAGATOR_TWELVE ? 12 : 1;
    o.precision = 32;
    o.date = "then";
    snprintf(path, sizeof path, "%s/propagator/seed-%d", folder, i);
    bad |= failed(kaon_propagator_file_write(NULL, path, &o, get_spinor, get_source, &reals));
  }
  return bad;
}

static int make_text(const char *folder, const char *harness, int number, const char *text) {
  char path[512];
  kaon_atomic_file *file;
  snprintf(path, sizeof path, "%s/%s/text-%d", folder, harness, number);
  if (failed(kaon_atomic_open(NULL, path, &file))) return 1;
  if (failed(kaon_atomic_write(file, text, strlen(text)))) return 1;
  return failed(kaon_atomic_commit(&file));
}

static int make_fields(const char *folder) {
  static const kaon_scidac_type types[] = {{"QDP_F3_ColorVector", 32, 3, 0, 6, 1},
                                           {"QDP_D3_ColorMatrix", 64, 3, 0, 18, 4},
                                           {"USQCD_F_Complex", 32, 0, 0, 2, 1},
                                           {"USQCD_F3_DiracFermion", 32, 3, 4, 24, 1}};
  static const char *const records[] = {
      "record", "<title>a &lt; b</title>",
      "<a xmlns='a'><!-- <b/> --><dims><![CDATA[1]]> 2</dims></a>",
      "<!DOCTYPE a [<!ENTITY e '7'>]><a><dims>&e; &#52;</dims></a>"};
  for (int i = 0; i < 4; i++) {
    char path[512];
    int reals = types[i].reals * types[i].datacount;
    kaon_atomic_file *file;
    snprintf(path, sizeof path, "%s/scidac/seed-%d", folder, i);
    if (failed(kaon_atomic_open(NULL, path, &file))) return 1;
    const kaon_scidac_output out = {NULL, file, extents, "then"};
    if (failed(kaon_scidac_write_file(file, extents, "file"))) return 1;
    if (failed(kaon_scidac_write_field(&out, &types[i], records[i], 0, NULL, get_site, &reals)))
      return 1;
    if (failed(kaon_atomic_commit(&file))) return 1;
    if (make_text(folder, "scidac", i, records[i])) return 1; /* for the parser of XML alone */
  }
  return 0;
}

static int make_bases(const char *folder) {
  static const kaon_scidac_type type = {"USQCD_F3_DiracFermion", 32, 3, 4, 24, 1};
  static const char header[] =
      "<kaonMultigrid><version>1</version><levels>3</levels><numbers>12</numbers>"
      "<blocks>2 2 2 2 1 1 1 1</blocks><vectors>1 2</vectors><operator>dirac</operator>"
      "<bits>64</bits><norm>1.25</norm></kaonMultigrid>";
  char path[512];
  int reals = 24;
  kaon_atomic_file *file;
  snprintf(path, sizeof path, "%s/multigrid/seed", folder);
  if (failed(kaon_atomic_open(NULL, path, &file))) return 1;
  const kaon_scidac_output out = {NULL, file, extents, "then"};
  if (failed(kaon_scidac_write_file(file, extents, header))) return 1;
  if (failed(kaon_scidac_write_field(&out, &type, "basis", 0, NULL, get_site, &reals))) return 1;
  return failed(kaon_atomic_commit(&file));
}

/* Of every kind, plain and compressed. */
static int make_matrices(const char *folder) {
  static const char *const texts[] = {
      "%%MatrixMarket matrix coordinate real general\n% c\n2 3 3\n1 1 1.5\n2 3 -2D-3\n1 2 3\n",
      "%%MatrixMarket matrix coordinate real symmetric\r\n3 3 2\r\n1 1 1\r\n3 1 .5\r\n",
      "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 1\n2 1 7\n",
      "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 2 3\n",
      "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 3\n1 1\n2 1\n2 1\n",
      "%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4e2\n",
      "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 5\n3 0\n",
      "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n-3\n"};
  int bad = 0;
  for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++)
    bad |= make_text(folder, "market", i, texts[i]);
  for (int reals = 1; reals <= 2; reals++)
    for (int i = 0; i < 4; i++) {
      static const double values[] = {1, -0.5, 3e-7, 4, 0, 1e300, 12345.678, 9};
      int64_t start[] = {0, 1, 4};
      int32_t column[] = {0, 0, 1, 2};
      const kaon_csr rows = {2, 3, reals, start, column, (double *)(uintptr_t)values};
      char path[512];
      snprintf(path, sizeof path, "%s/market/seed-%d-%d%s", folder, i, reals, i & 1 ? ".gz" : "");
      bad |= failed(i & 2 ? kaon_market_write_dense(NULL, path, 2, 2, reals, values)
                          : kaon_market_write(NULL, path, &rows, 0,
                                              reals == 2 ? KAON_MARKET_COMPLEX : KAON_MARKET_REAL,
                                              KAON_MARKET_GENERAL));
    }
  return bad;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: make_corpus FOLDER\n");
    return 2;
  }
  return make_gauge(argv[1]) | make_propagators(argv[1]) | make_fields(argv[1]) |
         make_bases(argv[1]) | make_matrices(argv[1]);
}
