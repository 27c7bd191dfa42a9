/* gauge_job.c - checks common to all gauge-file formats. Contract: gauge_job.h.
 * The tolerance of a stored mean is the sum of
 * - one unit of its last printed digit;
 * - N eps, the worst case of a naive sum of N terms in double (Higham, Accuracy and Stability,
 *   sec. 4.2);
 * - 1e-5 if the links are in single precision, since codes that write those commonly sum in
 *   single precision too. */
#include "lib/io/formats/gauge_job.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { EXTENT_MAX = 1 << 15 };
#define VOLUME_MAX (1LL << 40)
#define SINGLE_SUM_TOLERANCE 1e-5

static void multiply_conj(const double a[2], const double b[2],
                          double sum[2]) { /* sum += a conj(b) */
  sum[0] += a[0] * b[0] + a[1] * b[1];
  sum[1] += a[1] * b[0] - a[0] * b[1];
}

/* out = a x b (cross product of two rows, not conjugated). */
static void cross(const double *a, const double *b, double out[6]) {
  for (int i = 0; i < 3; i++) {
    int j = 2 * ((i + 1) % 3), k = 2 * ((i + 2) % 3);
    out[2 * i] = a[j] * b[k] - a[j + 1] * b[k + 1] - a[k] * b[j] + a[k + 1] * b[j + 1];
    out[2 * i + 1] = a[j] * b[k + 1] + a[j + 1] * b[k] - a[k] * b[j + 1] - a[k + 1] * b[j];
  }
}

void kaon_su3_third_row(double u[18]) {
  cross(u, u + 6, u + 12);
  for (int i = 13; i < 18; i += 2) u[i] = -u[i];
}

/* The square of the largest entry of |U U^dag / scale - 1|. */
static double rows_distance(const double u[18], double scale) {
  double worst = 0;
  for (int i = 0; i < 3; i++) {
    for (int j = i; j < 3; j++) {
      double sum[2] = {i == j ? -scale : 0.0, 0.0};
      for (int k = 0; k < 3; k++) multiply_conj(u + 6 * i + 2 * k, u + 6 * j + 2 * k, sum);
      double size = (sum[0] * sum[0] + sum[1] * sum[1]) / (scale * scale);
      if (!(size <= worst)) worst = size; /* keeps NaN */
    }
  }
  return worst;
}

double kaon_su3_distance(const double u[18]) {
  double worst = rows_distance(u, 1), c[6], det[2] = {-1.0, 0.0};
  cross(u, u + 6, c);
  for (int k = 0; k < 3; k++) {
    det[0] += c[2 * k] * u[12 + 2 * k] - c[2 * k + 1] * u[13 + 2 * k];
    det[1] += c[2 * k] * u[13 + 2 * k] + c[2 * k + 1] * u[12 + 2 * k];
  }
  double size = det[0] * det[0] + det[1] * det[1];
  if (!(size <= worst)) worst = size;
  return isnan(worst) ? INFINITY : sqrt(worst);
}

int kaon_extents_volume(const int64_t extents[4], int64_t *volume) {
  *volume = 1;
  for (int d = 0; d < 4; d++) {
    if (extents[d] < 2 || extents[d] > EXTENT_MAX || extents[d] % 2 != 0) return 0;
    *volume *= extents[d]; /* at most 2^60 */
  }
  return *volume <= VOLUME_MAX;
}

const char *kaon_extents_text(const int extents[4], char text[64]) {
  snprintf(text, 64, "%dx%dx%dx%d", extents[0], extents[1], extents[2], extents[3]);
  return text;
}

kaon_status kaon_file_extents_check(const kaon_context *ctx, const char *name, const int extents[4],
                                    int64_t *volume) {
  const int64_t wide[4] = {extents[0], extents[1], extents[2], extents[3]};
  char text[64];
  if (kaon_extents_volume(wide, volume)) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "%s: extents %s are not supported; give even numbers from 2 to 32768", name,
                   kaon_extents_text(extents, text));
}

static kaon_status refuse_extents(const kaon_gauge_job *job, const int64_t e[4], int from_file) {
  int sane = 1; /* 1: a possible lattice, though not one that kaon supports */
  for (int d = 0; d < 4; d++) sane &= e[d] >= 1 && e[d] <= EXTENT_MAX;
  kaon_status status = sane || !from_file ? KAON_ERR_SHAPE : KAON_ERR_FORMAT;
  return kaon_fail(
      job->ctx, status,
      "%s: %s extents %lld x %lld x %lld x %lld, but kaon takes even extents from 2 to %d and at "
      "most 2^40 sites; %s",
      job->bytes->name, from_file ? "its header says" : "given were", (long long)e[0],
      (long long)e[1], (long long)e[2], (long long)e[3], EXTENT_MAX,
      sane ? "use another lattice" : "the file is damaged or of another format");
}

kaon_status kaon_gauge_set_extents(kaon_gauge_job *job, const int64_t extents[4]) {
  kaon_gauge_file_info *info = job->info;
  int64_t volume, wanted[4];
  int given = 0;
  for (int d = 0; d < 4; d++) {
    wanted[d] = job->options.extents[d];
    given |= wanted[d] != 0;
  }
  if (given && !kaon_extents_volume(wanted, &volume)) return refuse_extents(job, wanted, 0);
  if (!extents && !given) {
    if (!job->put) return KAON_OK; /* a probe reports missing extents */
    return kaon_fail(job->ctx, KAON_ERR_SHAPE,
                     "%s: the file does not say its extents; pass them (--lattice X Y Z T)",
                     job->bytes->name);
  }
  if (extents && !kaon_extents_volume(extents, &volume)) return refuse_extents(job, extents, 1);
  info->has_extents = extents != NULL;
  for (int d = 0; d < 4; d++) info->extents[d] = (int)(extents ? extents[d] : wanted[d]);
  return KAON_OK;
}

kaon_status kaon_gauge_match_extents(const kaon_gauge_job *job) {
  const int *have = job->info->extents, *wanted = job->options.extents;
  const int given = wanted[0] || wanted[1] || wanted[2] || wanted[3];
  char file[64], lattice[64];
  if (!given || memcmp(have, wanted, sizeof job->info->extents) == 0) return KAON_OK;
  return kaon_fail(job->ctx, KAON_ERR_SHAPE,
                   "%s: file is %s but the lattice is %s; pass --lattice %d %d %d %d",
                   job->bytes->name, kaon_extents_text(have, file),
                   kaon_extents_text(wanted, lattice), have[0], have[1], have[2], have[3]);
}

int64_t kaon_gauge_volume(const kaon_gauge_job *job) {
  int64_t volume = 1;
  for (int d = 0; d < 4; d++) volume *= job->info->extents[d];
  return volume;
}

kaon_status kaon_gauge_expect_size(const kaon_gauge_job *job, int64_t data_bytes) {
  const int64_t more = job->bytes->size - job->data - data_bytes;
  char text[400], extents[64];
  if (more == 0) return KAON_OK;
  if (more > 0 && more < data_bytes / kaon_gauge_volume(job)) {
    snprintf(text, sizeof text, "%s: %lld bytes follow the data and are not read", job->bytes->name,
             (long long)more);
    kaon_gauge_warn(job->info, text);
    return KAON_OK;
  }
  return kaon_fail(
      job->ctx, KAON_ERR_FORMAT,
      "%s: links of a %s lattice of %d bits, %d rows need %lld bytes after the header but %lld "
      "are there: %s",
      job->bytes->name, kaon_extents_text(job->info->extents, extents), job->info->precision,
      job->info->rows, (long long)data_bytes, (long long)(data_bytes + more),
      more < 0 ? "the file is truncated; copy it again"
               : "the header does not belong to these data; check where it came from");
}

static double mean_tolerance(const kaon_gauge_job *job, double digit, double terms) {
  return digit + (terms + 2) * (DBL_EPSILON / 2) +
         (job->info->precision == 32 ? SINGLE_SUM_TOLERANCE : 0.0);
}

void kaon_gauge_set_plaquette(kaon_gauge_job *job, double plaquette, double digit) {
  job->info->has_plaquette = 1;
  job->info->plaquette = plaquette;
  job->info->plaquette_tolerance =
      mean_tolerance(job, digit, 18.0 * (double)kaon_gauge_volume(job));
}

void kaon_gauge_set_link_trace(kaon_gauge_job *job, double trace, double digit) {
  job->info->has_link_trace = 1;
  job->info->link_trace = trace;
  job->info->link_trace_tolerance =
      mean_tolerance(job, digit, 12.0 * (double)kaon_gauge_volume(job));
}

/* Counts what a matrix off SU(3) may be instead of a link, to single precision. */
static void classify(kaon_gauge_job *job, const double u[18]) {
  double norm = 0, sum = 0; /* of |U|^2, |U + U^dag|^2 */
  for (int i = 0; i < 18; i++) norm += u[i] * u[i];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const double *a = u + 6 * i + 2 * j, *b = u + 6 * j + 2 * i;
      sum += (a[0] + b[0]) * (a[0] + b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
    }
  if (sum <= 1e-10 * norm)
    job->anti_hermitian++;
  else if (rows_distance(u, norm / 3) <= 1e-10)
    job->scaled++;
}

/* What a file holds whose matrices are nearly all off SU(3), and what to do; NULL if only some
 * are. */
static const char *likely_role(const kaon_gauge_job *job) {
  const double most = 0.9 * 4 * (double)kaon_gauge_volume(job);
  if ((double)job->anti_hermitian > most)
    return "nearly all are anti-Hermitian, as momenta and forces are, not links; give the links";
  if ((double)job->scaled > most)
    return "nearly all are multiples of unitary matrices, as long links are; give them by "
           "--long-links, and here the thin links";
  return (double)job->off_su3 > most
             ? "nearly all are, as fat links are; give them by --fat-links, and here the thin links"
             : NULL;
}

void kaon_gauge_deliver(kaon_gauge_job *job, int64_t site, int mu, const double u[18]) {
  double sum = 0;
  for (int i = 0; i < 18; i++) sum += fabs(u[i]);
  if (!(sum <= DBL_MAX)) { /* NaN, infinity, and a sum of 18 that overflows */
    if (job->not_finite++ == 0) job->not_finite_site = site, job->not_finite_mu = mu;
  } else {
    double distance = kaon_su3_distance(u);
    if (!(distance <= job->info->unitarity)) job->info->unitarity = distance;
    if (!(distance <= KAON_UNITARITY_TOLERANCE)) {
      if (job->off_su3++ == 0) {
        job->off_su3_site = site;
        job->off_su3_mu = mu;
        job->off_su3_size = distance;
      }
      classify(job, u);
    }
    job->trace_sum += u[0] + u[8] + u[16];
  }
  job->put(job->sink, site, mu, u);
}

void kaon_gauge_warn(kaon_gauge_file_info *info, const char *text) {
  const size_t room = sizeof info->warning[0];
  if (info->warnings < KAON_GAUGE_FILE_WARNINGS)
    snprintf(info->warning[info->warnings], room, "%.*s", (int)room - 1, text);
  info->warnings++;
}

/* Reports a failed check, which ignore_checksum turns into a warning. */
static kaon_status doubt(kaon_gauge_job *job, kaon_status status, const char *format, ...)
    KAON_PRINTF(3, 4);
static kaon_status doubt(kaon_gauge_job *job, kaon_status status, const char *format, ...) {
  char text[700];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!job->options.ignore_checksum) {
    return kaon_fail(job->ctx, status,
                     "%s; get a sound copy, or pass --ignore-checksum to use it as it is", text);
  }
  kaon_gauge_warn(job->info, text);
  return KAON_OK;
}

static const char *place(const kaon_gauge_job *job, int64_t site, int mu, char text[96]) {
  int x[4];
  for (int d = 0; d < 4; d++) {
    x[d] = (int)(site % job->info->extents[d]);
    site /= job->info->extents[d];
  }
  snprintf(text, 96, "link U_%c(%d,%d,%d,%d)", "xyzt"[mu], x[0], x[1], x[2], x[3]);
  return text;
}

static kaon_status check_checksums(kaon_gauge_job *job) {
  const kaon_gauge_file_info *info = job->info;
  int wrong = 0;
  for (int i = 0; i < info->checksums; i++)
    wrong |= info->checksum_stored[i] != info->checksum_computed[i];
  if (!wrong) return KAON_OK;
  if (info->checksums == 1) {
    return doubt(job, KAON_ERR_CHECKSUM,
                 "%s: the data have checksum %08x but the header stores %08x", job->bytes->name,
                 info->checksum_computed[0], info->checksum_stored[0]);
  }
  return doubt(job, KAON_ERR_CHECKSUM,
               "%s: the data have checksums %08x %08x but the file stores %08x %08x",
               job->bytes->name, info->checksum_computed[0], info->checksum_computed[1],
               info->checksum_stored[0], info->checksum_stored[1]);
}

kaon_status kaon_gauge_final_checks(kaon_gauge_job *job) {
  kaon_gauge_file_info *info = job->info;
  char where[96];
  info->unitarity_violations = job->off_su3;
  info->link_trace_computed = job->trace_sum / (12.0 * (double)kaon_gauge_volume(job));
  KAON_TRY(check_checksums(job));
  if (job->not_finite) {
    char more[64] = " holds";
    if (job->not_finite > 1)
      snprintf(more, sizeof more, " and %lld more links hold", (long long)job->not_finite - 1);
    return kaon_fail(job->ctx, KAON_ERR_NOT_FINITE, "%s: %s%s NaN or infinity; get a sound copy",
                     job->bytes->name, place(job, job->not_finite_site, job->not_finite_mu, where),
                     more);
  }
  if (job->off_su3) {
    char more[64] = "";
    if (job->off_su3 > 1)
      snprintf(more, sizeof more, ", and so %s %lld more link%s", job->off_su3 > 2 ? "are" : "is",
               (long long)job->off_su3 - 1, job->off_su3 > 2 ? "s" : "");
    const char *role = likely_role(job);
    const char *link = place(job, job->off_su3_site, job->off_su3_mu, where);
    if (role != NULL && !job->options.ignore_checksum)
      return kaon_fail(job->ctx, KAON_ERR_UNITARITY,
                       "%s: %s is %.3g away from SU(3), and %s. Or pass --ignore-checksum to use "
                       "them as they are",
                       job->bytes->name, link, job->off_su3_size, role);
    KAON_TRY(doubt(job, KAON_ERR_UNITARITY, "%s: %s is %.3g away from SU(3) (allowed is %.0e)%s",
                   job->bytes->name, link, job->off_su3_size, KAON_UNITARITY_TOLERANCE, more));
  }
  double off = fabs(info->link_trace_computed - info->link_trace);
  if (info->has_link_trace && !(off <= info->link_trace_tolerance)) {
    KAON_TRY(doubt(
        job, KAON_ERR_CHECKSUM,
        "%s: the links' mean trace is %.12g but the header stores %.12g (tolerance %.1e)",
        job->bytes->name, info->link_trace_computed, info->link_trace, info->link_trace_tolerance));
  }
  return KAON_OK;
}

kaon_status kaon_gauge_get_link(kaon_gauge_output *out, int64_t site, int mu, double u[18]) {
  const double largest = out->options.precision == 32 ? FLT_MAX : DBL_MAX;
  out->get(out->source, site, mu, u);
  for (int i = 0; i < 18; i++) {
    if (!(fabs(u[i]) <= largest)) {
      return kaon_fail(
          out->ctx, KAON_ERR_NOT_FINITE,
          "%s: the link of site %lld, mu %d holds NaN, infinity or a number beyond %d bits; "
          "nothing was written",
          kaon_atomic_name(out->file), (long long)site, mu, out->options.precision);
    }
  }
  double distance = out->options.rows == 2 ? kaon_su3_distance(u) : 0.0;
  if (!(distance <= KAON_UNITARITY_TOLERANCE)) {
    return kaon_fail(
        out->ctx, KAON_ERR_UNITARITY,
        "%s: the link of site %lld, mu %d is %.3g away from SU(3) (allowed is %.0e), so two rows "
        "do not determine it; write three rows",
        kaon_atomic_name(out->file), (long long)site, mu, distance, KAON_UNITARITY_TOLERANCE);
  }
  return KAON_OK;
}

kaon_status kaon_gauge_get_site_links(kaon_gauge_output *out, int64_t site, int big_endian,
                                      unsigned char words[4 * 18 * 8], size_t *n) {
  size_t reals = (size_t)out->options.rows * 6,
         bytes = reals * (size_t)(out->options.precision / 8);
  for (int mu = 0; mu < 4; mu++) {
    double u[18];
    KAON_TRY(kaon_gauge_get_link(out, site, mu, u));
    kaon_doubles_to_words(u, reals, out->options.precision, big_endian, words + (size_t)mu * bytes);
  }
  *n = 4 * bytes;
  return KAON_OK;
}
