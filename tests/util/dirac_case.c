/* dirac_case.c - see dirac_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "dirac_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const isa_names[] = {"default", "scalar", "x86-64", "avx2", "avx512", "cuda"};
const char *const precision_names[] = {"double", "single", "half"};

void case_import_links(dirac_case *c) {
  const void *arrays[1] = {c->u};
  must(c->ctx, kaon_gauge_import(c->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, arrays));
}

static int open_case(dirac_case *c, int isa, int check, const int extents[4], int antiperiodic,
                     links_kind kind, uint64_t seed) {
  memset(c, 0, sizeof *c);
  if (isa > KAON_ISA_AUTO && machine_lacks(isa)) return 0;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  /* one thread where every instruction set is tried on small lattices: teams are tested elsewhere
   */
  options.threads = isa == KAON_ISA_AUTO ? 2 : 1;
  options.check = check;
  kaon_status status = machine_open(isa, options, &c->ctx);
  if (status == KAON_ERR_NO_DEVICE || status == KAON_ERR_NOT_BUILT) {
    printf("  %s: skipped: %s\n", isa_names[isa], kaon_last_error(NULL));
    return 0;
  }
  must(NULL, status);
  if (c->ctx->backend->gauge[KAON_DOUBLE] == NULL) {
    printf("  %s: skipped: no link kernels yet\n", isa_names[isa]);
    kaon_context_destroy(&c->ctx);
    return 0;
  }
  c->isa = isa;
  c->antiperiodic = antiperiodic;
  c->L = ref_lattice_make(extents[0], extents[1], extents[2], extents[3]);
  c->u = ref_new(ref_links_size(&c->L));
  if (kind == LINKS_UNIT) ref_unit_links(&c->L, c->u);
  if (kind == LINKS_RANDOM) ref_random_links(&c->L, c->u, seed);
  if (kind == LINKS_WEAK) ref_weak_links(&c->L, c->u, 0.3, seed);
  must(c->ctx, kaon_lattice_create(c->ctx, extents,
                                   antiperiodic ? KAON_ANTIPERIODIC : KAON_PERIODIC, &c->lattice));
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &c->gauge));
  case_import_links(c);
  return 1;
}

int case_open(dirac_case *c, int isa, const int extents[4], int antiperiodic, links_kind kind,
              uint64_t seed) {
  return open_case(c, isa, 0, extents, antiperiodic, kind, seed);
}

int case_open_checked(dirac_case *c, int isa, const int extents[4], int antiperiodic,
                      links_kind kind, uint64_t seed) {
  return open_case(c, isa, 1, extents, antiperiodic, kind, seed);
}

void case_close(dirac_case *c) {
  kaon_gauge_destroy(&c->gauge);
  kaon_lattice_destroy(&c->lattice);
  kaon_context_destroy(&c->ctx);
  free(c->u);
}

kaon_operator *case_dirac(dirac_case *c, double kappa, double csw, double anisotropy,
                          kaon_precision precision, kaon_reconstruct reconstruct) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.kappa = kappa;
  options.csw = csw;
  options.anisotropy = anisotropy;
  options.precision = precision;
  options.reconstruct = reconstruct;
  kaon_operator *M = NULL;
  must(c->ctx, kaon_dirac_create(c->gauge, &options, &M));
  return M;
}

kaon_operator *case_even_odd(dirac_case *c, kaon_operator *M, kaon_even_odd form,
                             kaon_parity parity, int temporal) {
  kaon_even_odd_options options = KAON_EVEN_ODD_OPTIONS_INIT;
  options.form = form;
  options.parity = parity;
  options.temporal_gauge = temporal;
  kaon_operator *S = NULL;
  must(c->ctx, kaon_dirac_even_odd(M, &options, &S));
  return S;
}

ref_dirac case_reference(const dirac_case *c, double kappa, double csw, double anisotropy) {
  ref_dirac d = ref_dirac_make(&c->L, c->u, kappa, csw, c->antiperiodic);
  d.aniso = anisotropy;
  return d;
}

kaon_vector *case_vector(dirac_case *c, kaon_parity parity, kaon_precision precision, int nrhs) {
  kaon_vector *v = NULL;
  must(c->ctx,
       kaon_vector_create(c->ctx, kaon_lattice_spinors(c->lattice, parity), precision, nrhs, &v));
  return v;
}

void case_import(dirac_case *c, kaon_vector *v, ref_complex *const *psi) {
  for (int k = 0; k < kaon_vector_columns(v); k++)
    must(c->ctx, kaon_vector_import(v, k, (const double *)psi[k], KAON_BASIS_UKQCD));
}

ref_complex *case_export(dirac_case *c, const kaon_vector *v, int column) {
  ref_complex *psi = ref_new(ref_spinor_size(&c->L));
  must(c->ctx, kaon_vector_export(v, column, (double *)psi, KAON_BASIS_UKQCD));
  return psi;
}

ref_complex **case_random_columns(const dirac_case *c, int nrhs, uint64_t seed) {
  ref_complex **psi = ref_alloc((size_t)nrhs, sizeof *psi);
  for (int k = 0; k < nrhs; k++) {
    psi[k] = ref_new(ref_spinor_size(&c->L));
    ref_random_spinor(&c->L, psi[k], seed * 100 + (uint64_t)k);
  }
  return psi;
}

void case_free_columns(ref_complex **psi, int nrhs) {
  for (int k = 0; k < nrhs; k++) free(psi[k]);
  free(psi);
}

void case_restrict(const dirac_case *c, int parity, ref_complex *psi) {
  for (size_t site = 0; site < ref_volume(&c->L); site++)
    if (ref_parity(&c->L, site) != parity) memset(psi + 12 * site, 0, 12 * sizeof *psi);
}

double case_deviation(dirac_case *c, const kaon_vector *v, ref_complex *const *expected) {
  double worst = 0;
  for (int k = 0; k < kaon_vector_columns(v); k++) {
    ref_complex *psi = case_export(c, v, k);
    double deviation = ref_rel_diff(psi, expected[k], ref_spinor_size(&c->L));
    if (!(deviation <= worst)) worst = deviation;
    free(psi);
  }
  return worst;
}

static void normal(dirac_case *c, kaon_operator *A, const kaon_vector *x, kaon_vector *t,
                   kaon_vector *y) {
  must(c->ctx, kaon_operator_apply(A, KAON_PLAIN, x, t));
  must(c->ctx, kaon_operator_apply(A, KAON_DAGGER, t, y));
}

static double norm2(dirac_case *c, const kaon_vector *v) {
  double value = 0;
  must(c->ctx, kaon_vector_norm2(v, &value));
  return value;
}

double case_solve(dirac_case *c, kaon_operator *A, const kaon_vector *b, kaon_vector *x,
                  double tol) {
  const kaon_space *space = kaon_operator_space(A);
  enum { R, P, AP, T, N };
  kaon_vector *v[N] = {NULL};
  for (int i = 0; i < N; i++)
    must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, 1, &v[i]));
  must(c->ctx, kaon_vector_zero(x));
  must(c->ctx, kaon_operator_apply(A, KAON_DAGGER, b, v[R]));
  must(c->ctx, kaon_vector_copy(v[P], v[R]));
  double rr = norm2(c, v[R]);
  const double stop = tol * tol * rr;
  for (int i = 0; i < 2000 && rr > stop; i++) {
    normal(c, A, v[P], v[T], v[AP]);
    const double alpha = rr / norm2(c, v[T]), before = rr;
    must(c->ctx, kaon_vector_axpy(alpha, 0, v[P], x));
    must(c->ctx, kaon_vector_axpy(-alpha, 0, v[AP], v[R]));
    rr = norm2(c, v[R]);
    must(c->ctx, kaon_vector_copy(v[T], v[R]));
    must(c->ctx, kaon_vector_axpy(rr / before, 0, v[P], v[T]));
    must(c->ctx, kaon_vector_copy(v[P], v[T]));
  }
  must(c->ctx, kaon_operator_apply(A, KAON_PLAIN, x, v[T]));
  must(c->ctx, kaon_vector_axpy(-1, 0, b, v[T]));
  const double residual = sqrt(norm2(c, v[T]) / norm2(c, b));
  for (int i = 0; i < N; i++) kaon_vector_destroy(&v[i]);
  return residual;
}

rounding case_rounding(kaon_precision precision, kaon_reconstruct reconstruct) {
  const double u = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24; /* half computes in float */
  const double q = precision == KAON_HALF ? 0.5 / 32767 : 0;     /* per stored real of size 1 */
  /* |delta U|: 18 stored reals; the third row is a product of two erring rows; the minimal form
   * (lib/math/recon.h) loses the lowest bit of its reals and multiplies their error by 20 at most
   * in each of nine elements. */
  const double link = reconstruct == KAON_RECONSTRUCT_18   ? sqrt(3) * u + sqrt(18) * q
                      : reconstruct == KAON_RECONSTRUCT_12 ? 8 * u + sqrt(12 * 5) * q
                                                           : 3 * 20 * 2 * (u + q);
  /* Eight directions, (1 -+ gamma) of norm 2; a direction rounds once to project, 5 sqrt(3) times
   * to multiply by a unitary matrix, 8 times to accumulate. */
  rounding r;
  r.e_hop = 8 * 2 * ((1 + 5 * sqrt(3) + 8) * u + link);
  r.e_store = u + sqrt(24) * q;                 /* half: the scale is the site's largest real */
  r.e_clover = sqrt(6) * 30 * u + sqrt(72) * q; /* of |A|: rows of 12, rotations to chirality */
  return r;
}

rounding case_rounding_rms(kaon_precision precision, kaon_reconstruct reconstruct) {
  const double u = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  const double q = precision == KAON_HALF ? 0.5 / 32767 : 0;
  /* mean |delta U|^2 in the Frobenius norm, a stored real erring by e^2 / 3: 18 reals of size one
   * (as a unitary matrix has them, 3 in all, for relative errors); the third row errs by both
   * others; 8 reals that lose their lowest bit: five move row a by 2 e and the frame of the others
   * by sqrt(2) times that, three move the others (lib/math/recon.h). */
  const double e = 2 * (u + q);
  const double link2 = reconstruct == KAON_RECONSTRUCT_18   ? u * u + 6 * q * q
                       : reconstruct == KAON_RECONSTRUCT_12 ? 2 * u * u + 8 * q * q
                                                            : (5 * 4 * 3 + 3 * 4 * 2) * e * e / 3;
  rounding r;
  /* eight directions, |(1 -+ gamma) v|^2 = 2 |v|^2 on average; 18 operations each, u^2 / 3 an
   * operation */
  r.e_hop = sqrt(8 * 2 * (link2 / 3 + 18 * u * u / 3));
  /* half: 24 reals, q times the largest of them each; that is 2.4 standard deviations squared = 6
   */
  r.e_store = sqrt(u * u / 3 + 24 * q * q / 3 * 6 / 24);
  /* 30 operations; a row has one real and five complex stored elements, below the block's norm */
  r.e_clover = sqrt(30 * u * u / 3 + 11 * q * q / 3);
  return r;
}
