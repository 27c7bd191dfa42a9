/* apply_quda.c - dslashQuda() and its relatives: operators applied to a client's spinors.
 *
 * MatQuda() undoes what invertQuda() does with the same parameters, for every normalisation. QUDA
 * does not divide by 2 m here for staggered quarks; kaon does. */
#include "operators.h"
#include "system.h"

#include <kaon/staggered.h>

/* What is applied: a whole operator, or to the sites of a parity a part of M. */
typedef enum kind { OPERATOR, NORMAL, HOP, SITE, SITE_INVERSE } kind;

/* A^dagger A, or A A^dagger. */
static kaon_status apply_operator(const kaon_quda_request *request, int normal, kaon_operator *A,
                                  kaon_vector *in, kaon_vector *out) {
  const kaon_mode mode = request->adjoint ? KAON_DAGGER : KAON_PLAIN,
                  then = request->adjoint ? KAON_PLAIN : KAON_DAGGER;
  kaon_status status = kaon_operator_apply(A, mode, in, out);
  if (normal && status == KAON_OK) status = kaon_vector_copy(in, out);
  if (normal && status == KAON_OK) status = kaon_operator_apply(A, then, in, out);
  return status;
}

/* T^-1 D, where there is a T. Its adjoint is T^-1 D^dagger too, but D^dagger T^-dagger for a twisted
 * mass in symmetric form. */
static kaon_status apply_hop(const QudaInvertParam *param, const kaon_quda_request *request,
                             kaon_operator *M, kaon_parity parity, kaon_vector *in,
                             kaon_vector *out) {
  const kaon_mode mode = param->dagger == QUDA_DAG_YES ? KAON_DAGGER : KAON_PLAIN;
  if (!request->wilson) return kaon_staggered_hop(M, parity, in, out);
  const int twisted = param->dslash_type == QUDA_TWISTED_MASS_DSLASH ||
                      param->dslash_type == QUDA_TWISTED_CLOVER_DSLASH;
  const int site = twisted || param->dslash_type == QUDA_CLOVER_WILSON_DSLASH;
  const int first = twisted && mode == KAON_DAGGER && request->form == KAON_EVEN_ODD_SYMMETRIC;
  kaon_status status = KAON_OK;
  if (site && first) status = kaon_dirac_site(M, (kaon_parity)(1 - parity), mode, 1, in, in);
  if (status == KAON_OK) status = kaon_dirac_hop(M, parity, mode, in, out);
  if (status == KAON_OK && site && !first) status = kaon_dirac_site(M, parity, mode, 1, out, out);
  return status;
}

static kaon_status apply_part(const QudaInvertParam *param, const kaon_quda_request *request,
                              kind what, const kaon_quda_system *system, kaon_parity parity,
                              kaon_vector *in, kaon_vector *out) {
  if (what == OPERATOR || what == NORMAL)
    return apply_operator(request, what == NORMAL, system->A, in, out);
  if (what == HOP) return apply_hop(param, request, system->M, parity, in, out);
  return kaon_dirac_site(system->M, parity, KAON_PLAIN, what == SITE_INVERSE, in, out);
}

/* Imports, applies, exports: `columns` arrays. */
static kaon_status apply(const QudaInvertParam *param, const kaon_quda_request *request, kind what,
                         kaon_parity in_parity, kaon_parity out_parity, void **h_out, void **h_in,
                         int columns) {
  kaon_quda_system *system;
  kaon_vector *in = NULL, *out = NULL;
  kaon_status status = kaon_quda_find(&request->key, &system);
  if (status == KAON_OK) status = kaon_quda_vector(request, in_parity, columns, &in);
  if (status == KAON_OK) status = kaon_quda_vector(request, out_parity, columns, &out);
  if (status == KAON_OK) status = kaon_quda_import(param, h_in, in);
  if (status == KAON_OK) status = apply_part(param, request, what, system, out_parity, in, out);
  if (status == KAON_OK) status = kaon_quda_scale(out, request->factor);
  if (status == KAON_OK) status = kaon_quda_export(param, out, h_out);
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&out);
  return status;
}

/* ---- whole operators ---- */

static kaon_status matrix(void *h_out, void *h_in, const QudaInvertParam *param, int normal) {
  kaon_quda_use use = {.apply = 1};
  kaon_quda_request request;
  kaon_status status = kaon_quda_solution_of(param->solution_type, &use.pc, &use.normal);
  use.reduced = use.pc;
  use.normal = normal;
  if (status == KAON_OK) status = kaon_quda_ask(param, &use, &request);
  if (status != KAON_OK) return status;
  const kaon_parity parity = kaon_quda_parity(&request);
  return apply(param, &request, normal ? NORMAL : OPERATOR, parity, parity, &h_out, &h_in, 1);
}

void MatQuda(void *h_out, void *h_in, QudaInvertParam *inv_param) {
  KAON_QUDA_NEED(inv_param);
  kaon_quda_check(__func__, matrix(h_out, h_in, inv_param, 0));
}

void MatDagMatQuda(void *h_out, void *h_in, QudaInvertParam *inv_param) {
  KAON_QUDA_NEED(inv_param);
  kaon_quda_check(__func__, matrix(h_out, h_in, inv_param, 1));
}

/* ---- hops and site terms ---- */

static const kaon_quda_use site_use = {.site = 1};

/* Sets p to the parity of kaon's vectors. Arrays in CPS's order have the other one. */
static kaon_status parity_of(const QudaInvertParam *param, QudaParity parity, kaon_parity *p) {
  if (parity != QUDA_EVEN_PARITY && parity != QUDA_ODD_PARITY)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "parity is %d, but must be 0 (even) or 1 (odd)",
                            (int)parity);
  const int other = param->dirac_order == QUDA_CPS_WILSON_DIRAC_ORDER;
  *p = (kaon_parity)(other ? 1 - (int)parity : (int)parity);
  return KAON_OK;
}

static kaon_status hop(void **h_out, void **h_in, const QudaInvertParam *param, QudaParity parity,
                       int columns) {
  kaon_quda_request request;
  kaon_parity p = KAON_EVEN;
  kaon_status status = parity_of(param, parity, &p);
  if (status == KAON_OK) status = kaon_quda_ask(param, &site_use, &request);
  if (status != KAON_OK) return status;
  if (!request.wilson) {
    if (param->dagger == QUDA_DAG_YES) request.factor = -1;
    if (param->mass_normalization == QUDA_KAPPA_NORMALIZATION) request.factor /= 2 * param->mass;
  }
  status = kaon_quda_check_factor(param, request.factor);
  if (status != KAON_OK) return status;
  return apply(param, &request, HOP, (kaon_parity)(1 - (int)p), p, h_out, h_in, columns);
}

void dslashQuda(void *h_out, void *h_in, QudaInvertParam *inv_param, QudaParity parity) {
  KAON_QUDA_NEED(inv_param);
  kaon_quda_check(__func__, hop(&h_out, &h_in, inv_param, parity, 1));
}

void dslashMultiSrcQuda(void **h_x, void **h_b, QudaInvertParam *param, QudaParity parity) {
  KAON_QUDA_NEED(param);
  KAON_QUDA_NEED(h_x);
  KAON_QUDA_NEED(h_b);
  kaon_status status = kaon_quda_check_columns(param->num_src);
  if (status == KAON_OK) status = hop(h_x, h_b, param, parity, param->num_src);
  kaon_quda_check(__func__, status);
}

static kaon_status clover(void *h_out, void *h_in, const QudaInvertParam *param, QudaParity parity,
                          int inverse) {
  QudaInvertParam bare = *param; /* the clover term without a twist */
  kaon_quda_request request;
  kaon_parity p = KAON_EVEN;
  if (param->dslash_type != QUDA_CLOVER_WILSON_DSLASH &&
      param->dslash_type != QUDA_TWISTED_CLOVER_DSLASH)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "dslash_type is %d, which has no clover term; set it to %d (clover) or "
                            "%d (twisted clover)",
                            (int)param->dslash_type, (int)QUDA_CLOVER_WILSON_DSLASH,
                            (int)QUDA_TWISTED_CLOVER_DSLASH);
  bare.dslash_type = QUDA_CLOVER_WILSON_DSLASH;
  kaon_status status = parity_of(param, parity, &p);
  if (status == KAON_OK) status = kaon_quda_ask(&bare, &site_use, &request);
  if (status != KAON_OK) return status;
  return apply(&bare, &request, inverse ? SITE_INVERSE : SITE, p, p, &h_out, &h_in, 1);
}

void cloverQuda(void *h_out, void *h_in, QudaInvertParam *inv_param, QudaParity parity,
                int inverse) {
  KAON_QUDA_NEED(inv_param);
  kaon_quda_check(__func__, clover(h_out, h_in, inv_param, parity, inverse));
}
