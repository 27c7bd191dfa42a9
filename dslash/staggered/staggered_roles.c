/* staggered_roles.c - whether fat and long links can be what they are taken for.
 * Long links are c times products of three links in U(3): U U^dag is the same multiple of 1
 * everywhere, c^2. Fat links are sums of paths, so they are not, except on trivial fields, where
 * they are larger than long ones. From the thin links both can be made anew: |c| gives u0 of asqtad
 * (c = -1 / (24 u0^2)) or epsilon of HISQ (c = -(1 + epsilon) / 24). */
#include <math.h>

#include "dslash/staggered/staggered_internal.h"
#include "gauge/gauge_internal.h"
#include "lib/core/entry.h"

/* |U U^dag / c^2 - 1| of long links rounded to single precision is 1e-7; of fat ones on the
 * smoothest thermalised fields it is of order 0.1. */
#define UNITARY 1e-3
/* 1 - the cosine of the angle between two fields, which is half the square of their relative
 * distance: 1e-14 for files of single precision, of order 1 for other configurations. */
#define SAME 1e-3

/* Sums over all links of fields a and b. */
enum { A_NORM, A_FOURTH, B_NORM, B_FOURTH, OVERLAP, UNSIGNED, SUMS };

/* |U|^2 and |U U^dag|^2 */
static void powers(const double u[18], double *norm, double *fourth) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double re = 0, im = 0;
      for (int k = 0; k < 6; k += 2) {
        const double *p = u + 6 * i + k, *q = u + 6 * j + k;
        re += p[0] * q[0] + p[1] * q[1];
        im += p[1] * q[0] - p[0] * q[1];
      }
      if (i == j) *norm += re;
      *fourth += re * re + im * im;
    }
}

/* A field's links in double where the host reaches them. */
typedef struct field {
  kaon_wide_links wide;
  kaon_host_links host;
} field;

static kaon_status field_open(const kaon_gauge *links, field *f) {
  KAON_TRY(kaon_agree(links->ctx, kaon_wide_open(links, 0, &f->wide)));
  return kaon_agree(links->ctx, kaon_host_open(&f->wide, 1, &f->host));
}

static void field_close(field *f) {
  kaon_host_close(&f->host);
  kaon_wide_close(&f->wide);
}

static void add_site(const field *a, const field *b, const int site[4], double sum[SUMS]) {
  for (int mu = 0; mu < 4; mu++) {
    const kaon_host_link la = kaon_host_link_at(&a->host, site, mu);
    const kaon_host_link lb = kaon_host_link_at(&b->host, site, mu);
    double u[18], v[18], product = 0;
    for (int c = 0; c < 18; c++) {
      u[c] = *kaon_host_link_real(&la, c);
      v[c] = *kaon_host_link_real(&lb, c);
      product += u[c] * v[c];
    }
    powers(u, &sum[A_NORM], &sum[A_FOURTH]);
    powers(v, &sum[B_NORM], &sum[B_FOURTH]);
    sum[OVERLAP] += product;
    sum[UNSIGNED] += fabs(product);
  }
}

/* The sums over the links of all ranks, divided by their number. */
static kaon_status compare(const field *a, const field *b, double sum[SUMS]) {
  const kaon_lattice *lattice = a->wide.lattice;
  for (int i = 0; i < SUMS; i++) sum[i] = 0;
#pragma omp parallel for num_threads(lattice->ctx->threads) schedule(static) reduction(+ : sum[:SUMS])
  for (int64_t number = 0; number < lattice->volume; number++) {
    int site[4];
    kaon_site_coordinates(lattice->extents, number, site);
    add_site(a, b, site, sum);
  }
  const kaon_status status = kaon_comm_sum(lattice->ctx, sum, SUMS);
  for (int i = 0; i < SUMS; i++) sum[i] /= 4 * (double)lattice->global_volume;
  return status;
}

/* The root mean square of |U U^dag / n - 1|, with n = |U|^2 / 3 on average. */
static double off_unitary(double norm, double fourth) {
  return sqrt(fmax(9 * fourth / (norm * norm) - 3, 0));
}

static kaon_status check_pair(const field *fat, const field *naik, double *size) {
  double sum[SUMS];
  KAON_TRY(compare(fat, naik, sum));
  const double n[2] = {sqrt(sum[A_NORM] / 3), sqrt(sum[B_NORM] / 3)};
  const double off[2] = {off_unitary(sum[A_NORM], sum[A_FOURTH]),
                         off_unitary(sum[B_NORM], sum[B_FOURTH])};
  static const char *const names[2] = {"fat", "long"};
  const kaon_context *ctx = fat->wide.lattice->ctx;
  *size = n[1];
  for (int i = 0; i < 2; i++)
    if (off[i] < UNITARY && fabs(n[i] - 1) < UNITARY)
      return kaon_fail(
          ctx, KAON_ERR_ARGUMENT,
          "staggered links: the %s links are unitary, as thin links are; give %s links "
          "(--%s-links), and the thin ones by --gauge",
          names[i], names[i], names[i]);
  if (off[1] < UNITARY && (off[0] >= UNITARY || n[0] > n[1])) return KAON_OK;
  if (off[0] < UNITARY)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "staggered links: the fat links are %.4g times unitary matrices, as long links "
        "are, and the long links are not smaller multiples; exchange the two "
        "(--fat-links, --long-links)",
        n[0]);
  return kaon_fail(
      ctx, KAON_ERR_ARGUMENT,
      "staggered links: the long links are not multiples of unitary matrices (they are "
      "off by %.2g), which products of three thin links are; give the long links by "
      "--long-links",
      off[1]);
}

/* 0: b is a; 1: but for signs; 2: no. */
static int differs(const double sum[SUMS]) {
  const double both = sqrt(sum[A_NORM] * sum[B_NORM]);
  return !(sum[OVERLAP] >= (1 - SAME) * both) + !(sum[UNSIGNED] >= (1 - SAME) * both);
}

static kaon_status refuse(const kaon_context *ctx, const char *name, int how,
                          const double sum[SUMS]) {
  const double cosine = sum[OVERLAP] / sqrt(sum[A_NORM] * sum[B_NORM]);
  if (how == 1)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "staggered links: the %s links are those of the thin links but for signs "
        "(overlap %.3f); files have MILC's phases and the sign of an antiperiodic t in "
        "them: write them so",
        name, cosine);
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "staggered links: the %s links are not made of the thin links (overlap %.3f, "
                   "which should be 1), but of another configuration, gauge or action; give those "
                   "of one configuration, or without its thin links --gauge unit --lattice X Y Z T",
                   name, cosine);
}

/* Compares with links that were made from the thin ones. */
static kaon_status check_made(const kaon_gauge *made, const field *given, const char *name) {
  KAON_AUTO(field_close) field expected = {0};
  double sum[SUMS];
  KAON_TRY(field_open(made, &expected));
  KAON_TRY(compare(&expected, given, sum));
  const int how = differs(sum);
  return how == 0 ? KAON_OK : refuse(made->ctx, name, how, sum);
}

/* made[0]: fat, [1]: long; the caller destroys them. */
static kaon_status check_thin(const kaon_gauge *thin, kaon_fatten_action action, double size,
                              const field *fat, const field *naik, kaon_gauge *made[2]) {
  kaon_fatten_options o = KAON_FATTEN_OPTIONS_INIT;
  o.action = action;
  if (action == KAON_FATTEN_HISQ)
    o.naik_epsilon = 24 * size - 1;
  else
    o.u0 = 1 / sqrt(24 * size);
  for (int i = 0; i < 2; i++)
    KAON_TRY(kaon_gauge_create(thin->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &made[i]));
  KAON_TRY(kaon_fatten(thin, &o, made[0], made[1], NULL));
  KAON_TRY(check_made(made[1], naik, "long"));
  return check_made(made[0], fat, "fat");
}

kaon_status kaon_staggered_check_links(const kaon_gauge *fat, const kaon_gauge *naik,
                                       const kaon_gauge *thin, kaon_fatten_action action) {
  KAON_ENTER(KAON_OF(fat), fat, naik);
  KAON_AUTO(field_close) field fat_links = {0}, long_links = {0};
  kaon_gauge *made[2] = {NULL, NULL};
  double size = 0;
  if (fat->lattice != naik->lattice || (thin != NULL && thin->lattice != fat->lattice))
    return kaon_fail(fat->ctx, KAON_ERR_SHAPE,
                     "staggered links: the fields belong to several lattices; create them on one");
  KAON_TRY(field_open(fat, &fat_links));
  KAON_TRY(field_open(naik, &long_links));
  KAON_TRY(check_pair(&fat_links, &long_links, &size));
  if (size < 1e-3 || size > 10)
    return kaon_fail(fat->ctx, KAON_ERR_ARGUMENT,
                     "staggered links: long links are %.3g times unitary matrices, but this factor "
                     "is near 1/24; give long links with their coefficient",
                     size);
  if (thin == NULL) return KAON_OK;
  const kaon_status status = check_thin(thin, action, size, &fat_links, &long_links, made);
  for (int i = 0; i < 2; i++) kaon_gauge_destroy(&made[i]);
  return status;
}
