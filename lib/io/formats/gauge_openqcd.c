/* gauge_openqcd.c - openQCD exports and DDalphaAMG files, which have the same header.
 * Both: little endian; four i32 extents, t slowest; f64 plaquette, the mean of Re tr P in [0, 3];
 * then V * 4 matrices in f64.
 * - openQCD (N0 = t, N1 = x, N2 = y, N3 = z): only sites with odd t+x+y+z, t slowest, z fastest;
 *   eight matrices each: U(x,t), U(x-t,t), U(x,x), U(x-x,x), ... y, z. Source: openQCD doc,
 *   "export_cnfg".
 * - DDalphaAMG (T, Z, Y, X): every site, t slowest, x fastest; mu in the order T, Z, Y, X.
 *   Source: its reader.
 * Extents, length and header cannot distinguish them. In the right reading, the mean of a sample of
 * plaquettes agrees with the header. Fields without correlations between links (weak random ones)
 * remain undecided: then info->ambiguous is set, openQCD is assumed, and the caller's exact
 * plaquette decides. */
#include <math.h>
#include <string.h>

#include "lib/io/formats/gauge_job.h"
#include "lib/io/sites.h"

enum { HEADER = 24, LINK = 144, SAMPLE = 96 };

static int64_t file_bytes(const int64_t extents[4]) {
  return HEADER + extents[0] * extents[1] * extents[2] * extents[3] * 4 * LINK;
}

static void header_extents(const unsigned char *h, int64_t n[4]) {
  for (int d = 0; d < 4; d++) n[d] = (int32_t)kaon_u32_at(h + 4 * d, 0);
}

/* Links stored in 32 bits have values off by a factor 1 + 2^-24. They deviate from SU(3) by at most
 * sqrt(3) 2^-24, products of four by 4.2e-7. */
#define PLAQUETTE_MOST (1.0 + 5e-7)

static double header_plaquette(const unsigned char *h) {
  double p;
  kaon_words_to_doubles(h + 16, 1, 64, 0, &p);
  return p / 3.0;
}

static int matches(const unsigned char *head, size_t n, int64_t file_size) {
  int64_t e[4], volume;
  if (n < HEADER) return 0;
  header_extents(head, e);
  return kaon_extents_volume(e, &volume) && fabs(header_plaquette(head)) <= PLAQUETTE_MOST &&
         file_bytes(e) == file_size;
}

static void coordinates(const int extents[4], int64_t site, int x[4]) {
  for (int d = 0; d < 4; d++) {
    x[d] = (int)(site % extents[d]);
    site /= extents[d];
  }
}

static int64_t lexicographic(const int e[4], const int x[4]) {
  return x[0] + (int64_t)e[0] * (x[1] + (int64_t)e[1] * (x[2] + (int64_t)e[2] * x[3]));
}

/* Index of the matrix U_mu(x) in an openQCD file: it is stored with its odd end. */
static int64_t openqcd_index(const int e[4], const int x[4], int mu) {
  int odd[4] = {x[0], x[1], x[2], x[3]};
  int backward = (x[0] + x[1] + x[2] + x[3]) % 2 == 0;
  if (backward) odd[mu] = (odd[mu] + 1) % e[mu];
  int64_t rank = ((odd[3] * (int64_t)e[0] + odd[0]) * e[1] + odd[1]) * e[2] + odd[2];
  return rank / 2 * 8 + 2 * ((mu + 1) % 4) + backward;
}

static int64_t ddalphaamg_index(const int e[4], const int x[4], int mu) {
  return lexicographic(e, x) * 4 + 3 - mu;
}

static const struct reading {
  kaon_file_format format;
  int direction[4]; /* of the file -> x, y, z, t = 0..3 */
  int64_t (*index)(const int e[4], const int x[4], int mu);
} openqcd = {KAON_FORMAT_OPENQCD, {3, 0, 1, 2}, openqcd_index},
  ddalphaamg = {KAON_FORMAT_DDALPHAAMG, {3, 2, 1, 0}, ddalphaamg_index};

static kaon_status load(const kaon_gauge_job *job, const struct reading *r, const int x[4], int mu,
                        double u[18]) {
  unsigned char raw[LINK];
  int64_t at = HEADER + r->index(job->info->extents, x, mu) * LINK;
  KAON_TRY(kaon_bytes_read(job->ctx, job->bytes, at, LINK, raw));
  kaon_words_to_doubles(raw, 18, 64, 0, u);
  return KAON_OK;
}

/* c = a b, with either factor conjugate-transposed on request. */
static void product(const double a[18], int a_dag, const double b[18], int b_dag, double c[18]) {
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      double re = 0, im = 0;
      for (int k = 0; k < 3; k++) {
        const double *p = a + 2 * (a_dag ? 3 * k + i : 3 * i + k),
                     *q = b + 2 * (b_dag ? 3 * j + k : 3 * k + j);
        double pi = a_dag ? -p[1] : p[1], qi = b_dag ? -q[1] : q[1];
        re += p[0] * q[0] - pi * qi;
        im += p[0] * qi + pi * q[0];
      }
      c[2 * (3 * i + j)] = re;
      c[2 * (3 * i + j) + 1] = im;
    }
  }
}

/* Re tr U_mu(x) U_nu(x+mu) U_mu(x+nu)^dag U_nu(x)^dag / 3 under one reading. */
static kaon_status one_plaquette(const kaon_gauge_job *job, const struct reading *r, const int x[4],
                                 int mu, int nu, double *value) {
  double a[18], b[18], c[18], d[18], ab[18], cd[18], p[18];
  int x_mu[4], x_nu[4];
  memcpy(x_mu, x, sizeof x_mu);
  memcpy(x_nu, x, sizeof x_nu);
  x_mu[mu] = (x[mu] + 1) % job->info->extents[mu];
  x_nu[nu] = (x[nu] + 1) % job->info->extents[nu];
  KAON_TRY(load(job, r, x, mu, a));
  KAON_TRY(load(job, r, x_mu, nu, b));
  KAON_TRY(load(job, r, x_nu, mu, c));
  KAON_TRY(load(job, r, x, nu, d));
  product(a, 0, b, 0, ab);
  product(c, 1, d, 1, cd);
  product(ab, 0, cd, 0, p);
  *value = (p[0] + p[8] + p[16]) / 3.0;
  return KAON_OK;
}

/* Computes the mean over a sample of plaquettes and its statistical error. */
static kaon_status sample(const kaon_gauge_job *job, const struct reading *r, double *mean,
                          double *error) {
  int64_t volume = kaon_gauge_volume(job);
  double sum = 0, squares = 0;
  for (int i = 0; i < SAMPLE; i++) {
    int x[4], mu = i % 4, nu = (mu + 1 + i / 4 % 3) % 4;
    double p;
    coordinates(job->info->extents,
                (int64_t)(((uint64_t)i * 0x9e3779b97f4a7c15u) % (uint64_t)volume), x);
    KAON_TRY(one_plaquette(job, r, x, mu, nu, &p));
    sum += p;
    squares += p * p;
  }
  *mean = sum / SAMPLE;
  *error = sqrt(fmax(squares / SAMPLE - *mean * *mean, 0.0) / SAMPLE);
  return KAON_OK;
}

/* 1 if the mean agrees with the header within 5 standard errors (and rounding); 0 for NaN. */
static int fits(double mean, double error, double header) {
  return fabs(mean - header) <= 5 * error + 1e-9;
}

static kaon_status probe_header(kaon_gauge_job *job, const struct reading *r) {
  unsigned char h[HEADER];
  int64_t n[4], extents[4];
  KAON_TRY(kaon_bytes_read(job->ctx, job->bytes, 0, HEADER, h));
  header_extents(h, n);
  for (int d = 0; d < 4; d++) extents[r->direction[d]] = n[d];
  job->info->format = r->format;
  job->info->precision = 64;
  job->info->rows = 3;
  job->info->big_endian = 0;
  job->data = HEADER;
  KAON_TRY(kaon_gauge_set_extents(job, extents));
  KAON_TRY(kaon_gauge_expect_size(job, kaon_gauge_volume(job) * 4 * LINK));
  double plaquette = header_plaquette(h);
  if (!(fabs(plaquette) <= PLAQUETTE_MOST)) {
    return kaon_fail(job->ctx, KAON_ERR_FORMAT,
                     "%s: its header says that the mean of Re tr P is %g, but it must lie in [-3, "
                     "3]: the file is damaged or of another format",
                     job->bytes->name, 3 * plaquette);
  }
  kaon_gauge_set_plaquette(job, plaquette, 0.0);
  return KAON_OK;
}

/* Decides which of the two readings fits the sample; ambiguous if both or neither do. */
static kaon_status detect_format(kaon_gauge_job *job) {
  static const struct reading *const readings[2] = {&openqcd, &ddalphaamg};
  int fit[2];
  for (int i = 0; i < 2; i++) {
    double mean, error;
    KAON_TRY(probe_header(job, readings[i]));
    KAON_TRY(sample(job, readings[i], &mean, &error));
    fit[i] = fits(mean, error, job->info->plaquette);
  }
  int ambiguous = fit[0] == fit[1];
  KAON_TRY(probe_header(job, readings[!ambiguous && fit[1]]));
  job->info->ambiguous = ambiguous;
  return KAON_OK;
}

static kaon_status probe_openqcd(kaon_gauge_job *job) {
  const int any = job->options.format == KAON_FORMAT_AUTO;
  KAON_TRY(any ? detect_format(job) : probe_header(job, &openqcd));
  return kaon_gauge_match_extents(job);
}

static kaon_status probe_ddalphaamg(kaon_gauge_job *job) {
  KAON_TRY(probe_header(job, &ddalphaamg));
  return kaon_gauge_match_extents(job);
}

static kaon_status take_ddalphaamg(void *user, int64_t site, const unsigned char *raw,
                                   const double *values) {
  (void)raw;
  for (int mu = 0; mu < 4; mu++) kaon_gauge_deliver(user, site, mu, values + 18 * (3 - mu));
  return KAON_OK;
}

/* Coordinates of the n-th odd site of openQCD. */
static void odd_site(const int e[4], int64_t n, int x[4]) {
  int64_t half = e[2] / 2, row = n / half;
  x[1] = (int)(row % e[1]);
  x[0] = (int)(row / e[1] % e[0]);
  x[3] = (int)(row / e[1] / e[0]);
  x[2] = (int)(2 * (n % half) + (x[0] + x[1] + x[3] + 1) % 2);
}

/* The site whose link in direction mu is matrix `backward` (0 or 1) of direction mu at the odd site
 * x. */
static int64_t link_site(const int e[4], const int x[4], int mu, int backward) {
  int y[4] = {x[0], x[1], x[2], x[3]};
  if (backward) y[mu] = (y[mu] + e[mu] - 1) % e[mu];
  return lexicographic(e, y);
}

static kaon_status take_openqcd(void *user, int64_t n, const unsigned char *raw,
                                const double *values) {
  kaon_gauge_job *job = user;
  const int *e = job->info->extents;
  int x[4];
  (void)raw;
  odd_site(e, n, x);
  for (int i = 0; i < 8; i++) {
    int mu = openqcd.direction[i / 2];
    kaon_gauge_deliver(job, link_site(e, x, mu, i % 2), mu, values + 18 * i);
  }
  return KAON_OK;
}

static kaon_status read_links(kaon_gauge_job *job) {
  const int odd = job->info->format == KAON_FORMAT_OPENQCD;
  const int64_t volume = kaon_gauge_volume(job);
  kaon_site_layout layout = {HEADER, odd ? volume / 2 : volume, odd ? 8 * 18 : 4 * 18, 64, 0};
  KAON_TRY(
      kaon_sites_read(job->ctx, job->bytes, &layout, odd ? take_openqcd : take_ddalphaamg, job));
  return kaon_gauge_final_checks(job);
}

static kaon_status write_openqcd(kaon_gauge_output *out) {
  const int *e = out->content->extents;
  unsigned char h[HEADER];
  for (int d = 0; d < 4; d++) kaon_u32_put(h + 4 * d, (uint32_t)e[openqcd.direction[d]], 0);
  double p = 3.0 * out->content->plaquette;
  /* The format is recognised by this bound. */
  if (!(fabs(out->content->plaquette) <= PLAQUETTE_MOST))
    return kaon_fail(out->ctx, KAON_ERR_ARGUMENT,
                     "openqcd: the mean plaquette is %g, but this format holds 1 at most; write "
                     "ildg, scidac, milc or nersc",
                     out->content->plaquette);
  kaon_doubles_to_words(&p, 1, 64, 0, h + 16);
  KAON_TRY(kaon_atomic_write(out->file, h, HEADER));
  for (int64_t n = 0; n < out->volume / 2; n++) {
    int x[4];
    odd_site(e, n, x);
    for (int i = 0; i < 8; i++) {
      int mu = openqcd.direction[i / 2];
      double u[18];
      unsigned char words[LINK];
      KAON_TRY(kaon_gauge_get_link(out, link_site(e, x, mu, i % 2), mu, u));
      kaon_doubles_to_words(u, 18, 64, 0, words);
      KAON_TRY(kaon_atomic_write(out->file, words, LINK));
    }
  }
  return KAON_OK;
}

const kaon_gauge_format kaon_gauge_openqcd = {.format = KAON_FORMAT_OPENQCD,
                                              .matches = matches,
                                              .probe = probe_openqcd,
                                              .read = read_links,
                                              .write = write_openqcd};
const kaon_gauge_format kaon_gauge_ddalphaamg = {.format = KAON_FORMAT_DDALPHAAMG,
                                                 .matches = NULL, /* found by openQCD's probe */
                                                 .probe = probe_ddalphaamg,
                                                 .read = read_links,
                                                 .write = NULL};
