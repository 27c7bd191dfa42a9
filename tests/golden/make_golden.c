/* make_golden.c - the expected figures of tests/golden, from the independent reference alone: it
 * includes nothing of kaon's. Not a test; README.md has the commands.
 *
 *   make_golden CONFIG.lime FOLDER
 *
 * reads an ILDG configuration of 64-bit numbers and writes into FOLDER: expected.json (plaquette,
 * pion correlator, norm of M^-1) and a sparse system whose answer is known exactly (matrix.mtx,
 * rhs.mtx, answer.mtx). */
#include "../reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X = 4, Y = 4, Z = 4, T = 8, POWER_STEPS = 30, SIDE = 10, ROWS = SIDE * SIDE };
static const double kappa = 0.125, csw = 1;

static void end(const char *why) {
  fprintf(stderr, "make_golden: %s\n", why);
  exit(1);
}

static uint64_t big_endian(const unsigned char *bytes, int count) {
  uint64_t number = 0;
  for (int i = 0; i < count; i++) number = number << 8 | bytes[i];
  return number;
}

/* The links of the record ildg-binary-data: 64-bit big-endian numbers, x fastest, mu = x, y, z, t a
 * site, matrices by rows. */
static ref_complex *read_links(const char *path, const ref_lattice *L) {
  const size_t reals = 2 * ref_links_size(L);
  double *u = ref_alloc(reals, sizeof *u);
  unsigned char head[144], number[8];
  FILE *file = fopen(path, "rb");
  if (file == NULL) end("cannot open the configuration");
  for (;;) {
    if (fread(head, 1, sizeof head, file) != sizeof head) end("no record ildg-binary-data");
    const uint64_t length = big_endian(head + 8, 8);
    if (big_endian(head, 4) != 0x456789ab) end("this is no LIME file");
    if (strcmp((const char *)head + 16, "ildg-binary-data") == 0) {
      if (length != 8 * reals) end("other extents or another precision");
      break;
    }
    if (fseek(file, (long)((length + 7) / 8 * 8), SEEK_CUR) != 0) end("the file ends too early");
  }
  for (size_t i = 0; i < reals; i++) {
    if (fread(number, 1, 8, file) != 8) end("the file ends too early");
    const uint64_t bits = big_endian(number, 8);
    memcpy(&u[i], &bits, sizeof bits);
  }
  fclose(file);
  return (ref_complex *)u;
}

static void normal(const void *d, const ref_complex *in, ref_complex *out) {
  ref_apply_normal(d, in, out);
}

/* |M^-1| = 1 / (smallest singular value of M), from below, by power iteration on (M^dag M)^-1. */
static double inverse_norm(const ref_dirac *d) {
  const size_t count = ref_spinor_size(&d->L);
  ref_complex *v = ref_new(count), *w = ref_new(count);
  double growth = 0;
  ref_random_spinor(&d->L, v, 1);
  for (int step = 0; step < POWER_STEPS; step++) {
    const double norm = sqrt(ref_norm2(v, count));
    for (size_t i = 0; i < count; i++) v[i] /= norm;
    ref_cg(normal, d, v, w, count, 1e-8, 10000);
    growth = sqrt(ref_norm2(w, count));
    memcpy(v, w, count * sizeof *v);
  }
  free(v);
  free(w);
  return sqrt(growth);
}

static FILE *open_in(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  if (file == NULL) end("cannot write into the folder");
  return file;
}

static void write_numbers(FILE *file, const char *name, const double *number, int count) {
  fprintf(file, "  \"%s\": [", name);
  for (int i = 0; i < count; i++) fprintf(file, "%s%.17g", i > 0 ? ", " : "", number[i]);
  fprintf(file, "],\n");
}

static void write_lattice(const char *config, const char *folder) {
  const ref_lattice L = ref_lattice_make(X, Y, Z, T);
  const int origin[4] = {0, 0, 0, 0};
  ref_complex *u = read_links(config, &L), *b = ref_new(ref_spinor_size(&L)), *column[12];
  ref_dirac d = ref_dirac_make(&L, u, kappa, csw, 1);
  const ref_plaquettes plaquette = ref_plaquette(&L, u);
  double pion[T], rho[T];
  for (int i = 0; i < 12; i++) {
    column[i] = ref_new(ref_spinor_size(&L));
    ref_point_source(&L, b, origin, i / 3, i % 3);
    const ref_report report = ref_cgn(&d, b, column[i], 1e-14, 10000, 1);
    if (report.residual > 1e-13) end("a column did not converge");
  }
  ref_pion(&L, column, 0, pion);
  ref_rho(&L, column, 0, rho);
  FILE *file = open_in(folder, "expected.json");
  fprintf(file, "{\n  \"lattice\": [%d, %d, %d, %d],\n", X, Y, Z, T);
  fprintf(file, "  \"kappa\": %g,\n  \"csw\": %g,\n", kappa, csw);
  fprintf(file, "  \"plaquette\": %.17g,\n", plaquette.all);
  fprintf(file, "  \"link_trace\": %.17g,\n", plaquette.link_trace);
  write_numbers(file, "pion", pion, T);
  write_numbers(file, "rho", rho, T);
  fprintf(file, "  \"inverse_norm\": %.6g\n}\n", inverse_norm(&d));
  fclose(file);
  for (int i = 0; i < 12; i++) free(column[i]);
  ref_dirac_free(&d);
  free(u);
  free(b);
}

/* Five points on a square with wind along both axes, in whole numbers: A x is exact, and every
 * row's diagonal exceeds the sum of the other entries' sizes by at least 1, so no entry of A^-1 b is
 * larger than the largest of b. */
static void write_matrix(const char *folder) {
  static const int step[4][3] = {{-1, 0, -3}, {1, 0, -1}, {0, -1, -2}, {0, 1, -1}};
  FILE *matrix = open_in(folder, "matrix.mtx"), *rhs = open_in(folder, "rhs.mtx");
  FILE *answer = open_in(folder, "answer.mtx");
  fprintf(matrix, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", ROWS, ROWS,
          5 * ROWS - 4 * SIDE);
  fprintf(rhs, "%%%%MatrixMarket matrix array real general\n%d 1\n", ROWS);
  fprintf(answer, "%%%%MatrixMarket matrix array real general\n%d 1\n", ROWS);
  for (int row = 0; row < ROWS; row++) {
    int sum = 8 * (7 * row % 11 - 5);
    fprintf(matrix, "%d %d 8\n", row + 1, row + 1);
    for (int i = 0; i < 4; i++) {
      const int x = row % SIDE + step[i][0], y = row / SIDE + step[i][1];
      if (x < 0 || x >= SIDE || y < 0 || y >= SIDE) continue;
      fprintf(matrix, "%d %d %d\n", row + 1, x + SIDE * y + 1, step[i][2]);
      sum += step[i][2] * (7 * (x + SIDE * y) % 11 - 5);
    }
    fprintf(rhs, "%d\n", sum);
    fprintf(answer, "%d\n", 7 * row % 11 - 5);
  }
  fclose(matrix);
  fclose(rhs);
  fclose(answer);
}

int main(int argc, char **argv) {
  if (argc != 3) end("usage: make_golden CONFIG.lime FOLDER");
  write_matrix(argv[2]);
  write_lattice(argv[1], argv[2]);
  return 0;
}
