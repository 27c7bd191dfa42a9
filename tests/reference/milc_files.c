/* milc_files.c - MILC v5 gauge and FM Wilson propagator files, for tests (see milc_files.h). */
#include "milc_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAUGE_MAGIC = 20103, PROPAGATOR_MAGIC = 0x31ed, STAMP_WORDS = 16, MAX_EXTENT = 64 };

typedef struct {
  FILE *file;
  int swap;
  uint32_t rank, sum29, sum31; /* running checksums: word k rotated left by k % 29 and k % 31 */
} reader;

static uint32_t swap32(uint32_t w) {
  return w >> 24 | (w >> 8 & 0xff00) | (w << 8 & 0xff0000) | w << 24;
}

static uint32_t rotate_left(uint32_t w, uint32_t k) {
  return k ? w << k | w >> (32 - k) : w;
}

static int read_words(reader *r, uint32_t *words, size_t count) {
  if (fread(words, 4, count, r->file) != count) return 0;
  for (size_t i = 0; i < count; i++) {
    if (r->swap) words[i] = swap32(words[i]);
    r->sum29 ^= rotate_left(words[i], r->rank % 29);
    r->sum31 ^= rotate_left(words[i], r->rank % 31);
    r->rank++;
  }
  return 1;
}

static void start_sums(reader *r) {
  r->rank = 0;
  r->sum29 = r->sum31 = 0;
}

/* Complex numbers stored as pairs of f32. */
static int read_complex(reader *r, ref_complex *out, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint32_t words[2];
    float pair[2];
    if (!read_words(r, words, 2)) return 0;
    memcpy(pair, words, sizeof pair);
    out[i] = pair[0] + I * pair[1];
  }
  return 1;
}

/* Magic, extents, time stamp, order. */
static const char *read_header(reader *r, uint32_t magic, ref_lattice *L) {
  uint32_t head[5 + STAMP_WORDS + 1];
  if (!read_words(r, head, 1)) return "file is empty";
  if (head[0] != magic) r->swap = 1;
  if (r->swap && swap32(head[0]) != magic) return "not a MILC file of this kind";
  if (!read_words(r, head + 1, 5 + STAMP_WORDS)) return "header is cut short";
  for (int mu = 0; mu < 4; mu++) {
    if (head[1 + mu] < 1 || head[1 + mu] > MAX_EXTENT) return "extents are absurd";
    L->n[mu] = (int)head[1 + mu];
  }
  return head[5 + STAMP_WORDS] == 0 ? NULL : "sites are not in natural order";
}

static void project_su3(ref_complex u[9]) {
  double inv = 1 / sqrt(ref_norm2(u, 3));
  for (int i = 0; i < 3; i++) u[i] *= inv;
  ref_axpy(-ref_dot(u, u + 3, 3), u, u + 3, 3);
  inv = 1 / sqrt(ref_norm2(u + 3, 3));
  for (int i = 0; i < 3; i++) u[3 + i] *= inv;
  ref_complete_row2(u);
}

const char *milc_read_gauge(const char *path, ref_lattice *L, ref_complex **u) {
  uint32_t sums[2];
  reader r = {.file = fopen(path, "rb")};
  if (!r.file) return "cannot be opened";
  const char *error = read_header(&r, GAUGE_MAGIC, L);
  if (!error && !read_words(&r, sums, 2)) error = "header is cut short";
  *u = NULL;
  if (!error) {
    start_sums(&r);
    *u = ref_new(ref_links_size(L));
    if (!read_complex(&r, *u, ref_links_size(L)))
      error = "data is cut short";
    else if (r.sum29 != sums[0] || r.sum31 != sums[1])
      error = "checksum is wrong";
    for (size_t i = 0; !error && i < 4 * ref_volume(L); i++) project_su3(*u + 9 * i);
  }
  fclose(r.file);
  if (error) free(*u);
  return error;
}

const char *milc_read_propagator(const char *path, ref_lattice *L, ref_complex *columns[12],
                                 int *sums_match) {
  uint32_t spins[5], head[4];
  reader r = {.file = fopen(path, "rb")};
  memset(columns, 0, 12 * sizeof *columns);
  *sums_match = 0;
  if (!r.file) return "cannot be opened";
  const char *error = read_header(&r, PROPAGATOR_MAGIC, L);
  if (!error && (!read_words(&r, spins, 5) || spins[0] != 4)) error = "does not hold four spins";
  for (int k = 0; !error && k < 12; k++) {
    if (!read_words(&r, head, 4)) {
      error = "data is cut short";
    } else if (head[0] > 3 || head[1] > 2 || columns[3 * head[0] + head[1]]) {
      error = "source spin or colour is absurd";
    } else {
      start_sums(&r);
      ref_complex *column = columns[3 * head[0] + head[1]] = ref_new(ref_spinor_size(L));
      if (!read_complex(&r, column, ref_spinor_size(L))) error = "data is cut short";
      *sums_match += r.sum29 == head[2] && r.sum31 == head[3];
    }
  }
  fclose(r.file);
  return error;
}

/* Big-endian bytes. */
static uint64_t number_at(const unsigned char *p, int bytes) {
  uint64_t n = 0;
  for (int i = 0; i < bytes; i++) n = n << 8 | p[i];
  return n;
}

const char *milc_read_scidac(const char *path, const ref_lattice *L, size_t reals,
                             ref_complex **values) {
  enum { HEADER = 144 };
  const size_t count = ref_volume(L) * reals / 2;
  const char *error = "no field of this size";
  unsigned char head[HEADER];
  FILE *file = fopen(path, "rb");
  *values = NULL;
  if (!file) return "cannot be opened";
  while (error && fread(head, 1, HEADER, file) == HEADER && number_at(head, 4) == 0x456789ab) {
    const uint64_t bytes = number_at(head + 8, 8);
    if (strcmp((const char *)head + 16, "scidac-binary-data") != 0 || bytes != 8 * count) {
      if (fseek(file, (long)((bytes + 7) / 8 * 8), SEEK_CUR) != 0) break;
      continue;
    }
    reader r = {.file = file, .swap = 1};
    *values = ref_new(count);
    error = read_complex(&r, *values, count) ? NULL : "data is cut short";
  }
  fclose(file);
  if (error) free(*values);
  return error;
}

void milc_to_ukqcd(ref_complex v[16]) {
  ref_complex g5[16];
  ref_basis_change(REF_DEGRAND_ROSSI, REF_UKQCD, v);
  ref_gamma(REF_DEGRAND_ROSSI, 4, g5);
  ref_mul4(v, v, g5);
}
