/* even_odd.c - even-odd reductions of M = A - kappa D, and the temporal gauge.
 *
 * With p the sites of the reduced system and q the others, x_q = A_qq^-1 (b_q + kappa D_qp x_p) and
 * S x_p = b', where
 *
 *   symmetric    S  = 1 - kappa^2 A_pp^-1 D_pq A_qq^-1 D_qp
 *                b' = A_pp^-1 (b_p + kappa D_pq A_qq^-1 b_q)
 *   asymmetric   S  = A_pp - kappa^2 D_pq A_qq^-1 D_qp
 *                b' = b_p + kappa D_pq A_qq^-1 b_q
 *
 * Source: DeGrand, Comput. Phys. Commun. 52 (1988) 161; with the clover term Jansen, Liu, Comput.
 * Phys. Commun. 99 (1997) 221. An application is two fused hops. The symmetric dagger has one more
 * multiplication with A_pp^-1, whose result is held in y. The parent's residual vanishes on q; on p
 * it is A_pp r' (symmetric) or r' (asymmetric).
 *
 * Temporal gauge: the operator works on U'_mu(x) = g(x) U_mu(x) g(x+mu)^dag. So prepare turns b
 * into g b, and reconstruct turns x' into g^dag x'; A' = g A g^dag.
 *
 * Storage: one single-parity vector besides the fields. Clover blocks are A^-1 on both parities
 * (symmetric), or A on p and A^-1 on q (asymmetric). */
#include <kaon/context.h>

#include "blas/blas.h"
#include "dslash/operator/dirac_internal.h"
#include "gauge/temporal.h"
#include "lib/operator/fused_apply.h"
#include "lib/core/options_table.h"

static int is_symmetric(const kaon_dirac *dirac) {
  return dirac->form.form == KAON_EVEN_ODD_SYMMETRIC;
}

/* Retains one vector on the sites of q, with the largest column count so far. */
static kaon_status reserve(kaon_operator *A, kaon_mode mode, int columns) {
  kaon_dirac *dirac = kaon_dirac_of(A);
  KAON_TRY(kaon_dirac_reserve(A, mode, columns));
  if (dirac->scratch != NULL && dirac->scratch->nrhs >= columns) return KAON_OK;
  kaon_vector_destroy(&dirac->scratch);
  kaon_lattice *lattice = dirac->fields->family->lattice;
  const kaon_space *space = &lattice->spinors[1 - (int)dirac->form.parity];
  return kaon_vector_create(A->ctx, space, A->precision, columns, &dirac->scratch);
}

/* A view into that vector. */
static kaon_status get_scratch(kaon_operator *A, int columns, kaon_vector *view) {
  const kaon_dirac *dirac = kaon_dirac_of(A);
  KAON_TRY(reserve(A, KAON_PLAIN, columns));
  *view = *dirac->scratch;
  view->nrhs = columns;
  view->owns = 0;
  return KAON_OK;
}

static int begins_with_blocks(const kaon_dirac *dirac, kaon_mode mode) {
  return is_symmetric(dirac) && mode == KAON_DAGGER && dirac->fields->family->csw != 0;
}

/* y = S x. For a dagger with clover blocks, y holds A_pp^-1 x on entry. */
static kaon_status apply_hops(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass) {
  const kaon_dirac *dirac = kaon_dirac_of(A);
  const kaon_dirac_fields *fields = dirac->fields;
  const int p = (int)dirac->form.parity, q = 1 - p;
  const double kappa2 = fields->family->kappa * fields->family->kappa;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_vector *u = begins_with_blocks(dirac, mode) ? y : x;
  kaon_vector t;
  KAON_TRY(get_scratch(A, x->nrhs, &t));
  const kaon_stencil *stencil = kaon_dirac_stencil(dirac);
  const kaon_fused first = {0, NULL, 1, KAON_CLOVER_ON_HOP, KAON_BLOCKS_INVERSE, stencil};
  KAON_TRY(kaon_dslash_hop(fields, q, mode, &first, u, &t, &gate));

  kaon_fused second = {1, x, -kappa2, KAON_CLOVER_ON_X, KAON_BLOCKS_TERM, stencil};
  if (is_symmetric(dirac)) {
    second.clover_on = mode == KAON_PLAIN ? KAON_CLOVER_ON_HOP : KAON_CLOVER_NONE;
    second.kind = KAON_BLOCKS_INVERSE;
  }
  return kaon_dslash_hop(fields, p, mode, &second, &t, y, pass);
}

static kaon_status apply_schur(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                               kaon_vector *y, const kaon_pass *pass) {
  const kaon_dirac *dirac = kaon_dirac_of(A);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const int p = (int)dirac->form.parity;
  KAON_TRY(kaon_dirac_fields_check(dirac->fields));
  if (begins_with_blocks(dirac, mode))
    KAON_TRY(kaon_dslash_clover(dirac->fields, p, KAON_BLOCKS_INVERSE, x, y, &gate));
  return apply_hops(A, mode, x, y, pass);
}

/* The update and the clover blocks are one kernel where the backend has one. */
static kaon_status apply_schur_updated(kaon_operator *A, kaon_mode mode, int slot, double sign,
                                       const kaon_vector *w, kaon_vector *x, kaon_vector *y,
                                       const kaon_pass *pass) {
  const kaon_dirac *dirac = kaon_dirac_of(A);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const int p = (int)dirac->form.parity;
  KAON_TRY(kaon_dirac_fields_check(dirac->fields));
  if (begins_with_blocks(dirac, mode)) {
    KAON_TRY(kaon_dslash_updated_clover(dirac->fields, p, KAON_BLOCKS_INVERSE, slot, sign, w, x, y,
                                        &gate));
    return apply_hops(A, mode, x, y, pass);
  }
  KAON_TRY(kaon_blas_axpy((kaon_coefficient){slot, sign}, w, x, &gate));
  return apply_hops(A, mode, x, y, pass);
}

static kaon_status apply_full(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass) {
  return kaon_dirac_full(kaon_dirac_of(A), mode, x, y, pass);
}

/* PLAIN: out = g in; DAGGER: out = g^dag in, on `parity`. Without the temporal gauge it copies.
 * Only the gate of `pass` is used; NULL: all columns. */
static kaon_status rotate_gated(const kaon_dirac *dirac, int parity, kaon_mode mode,
                                const kaon_vector *in, kaon_vector *out, const kaon_pass *pass) {
  const kaon_pass gate_only = kaon_pass_gate_only(pass);
  const kaon_gate gate = kaon_pass_gate(pass);
  if (dirac->fields->temporal)
    return kaon_temporal_rotate(dirac->fields->rotation, parity, mode, in, out, &gate);
  return in->data == out->data ? KAON_OK : kaon_blas_copy(in, out, &gate_only);
}

static kaon_status rotate(const kaon_dirac *dirac, int parity, kaon_mode mode,
                          const kaon_vector *in, kaon_vector *out) {
  return rotate_gated(dirac, parity, mode, in, out, NULL);
}

/* t = A_qq^-1 g b_q */
static kaon_status eliminated_source(const kaon_dirac *dirac, const kaon_vector *b_q,
                                     kaon_vector *t) {
  const kaon_dirac_fields *fields = dirac->fields;
  const int q = 1 - (int)dirac->form.parity;
  if (!fields->temporal) return kaon_dslash_clover(fields, q, KAON_BLOCKS_INVERSE, b_q, t, NULL);
  KAON_TRY(rotate(dirac, q, KAON_PLAIN, b_q, t));
  return kaon_dslash_clover(fields, q, KAON_BLOCKS_INVERSE, t, t, NULL);
}

static kaon_status prepare_schur(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b) {
  const kaon_dirac *dirac = kaon_dirac_of(R);
  const kaon_dirac_fields *fields = dirac->fields;
  const int p = (int)dirac->form.parity;
  KAON_TRY(kaon_dirac_fields_check(fields));
  kaon_vector b_p, b_q, t;
  KAON_TRY(kaon_vector_view(b, (kaon_parity)p, &b_p));
  KAON_TRY(kaon_vector_view(b, (kaon_parity)(1 - p), &b_q));
  KAON_TRY(get_scratch(R, b->nrhs, &t));
  KAON_TRY(eliminated_source(dirac, &b_q, &t));
  const kaon_vector *rotated = &b_p;
  if (fields->temporal || !is_symmetric(dirac)) {
    KAON_TRY(rotate(dirac, p, KAON_PLAIN, &b_p, reduced_b));
    rotated = reduced_b;
  }
  kaon_fused hop = {1,   reduced_b, fields->family->kappa, KAON_CLOVER_NONE, KAON_BLOCKS_INVERSE,
                    NULL};
  if (is_symmetric(dirac)) {
    KAON_TRY(kaon_dslash_clover(fields, p, KAON_BLOCKS_INVERSE, rotated, reduced_b, NULL));
    hop.clover_on = KAON_CLOVER_ON_HOP;
  }
  return kaon_dslash_hop(fields, p, KAON_PLAIN, &hop, &t, reduced_b, NULL);
}

static kaon_status reconstruct_schur(kaon_operator *R, const kaon_vector *reduced_x,
                                     const kaon_vector *b, kaon_vector *x) {
  const kaon_dirac *dirac = kaon_dirac_of(R);
  const kaon_dirac_fields *fields = dirac->fields;
  const int p = (int)dirac->form.parity, q = 1 - p;
  KAON_TRY(kaon_dirac_fields_check(fields));
  kaon_vector b_q, x_p, x_q;
  KAON_TRY(kaon_vector_view(b, (kaon_parity)q, &b_q));
  KAON_TRY(kaon_vector_view(x, (kaon_parity)p, &x_p));
  KAON_TRY(kaon_vector_view(x, (kaon_parity)q, &x_q));
  KAON_TRY(eliminated_source(dirac, &b_q, &x_q));
  const kaon_fused hop = {1,   &x_q, fields->family->kappa, KAON_CLOVER_ON_HOP, KAON_BLOCKS_INVERSE,
                          NULL};
  KAON_TRY(kaon_dslash_hop(fields, q, KAON_PLAIN, &hop, reduced_x, &x_q, NULL));
  KAON_TRY(rotate(dirac, q, KAON_DAGGER, &x_q, &x_q));
  return rotate(dirac, p, KAON_DAGGER, reduced_x, &x_p);
}

/* Uses the parent's A_pp, whose links are not rotated, so no extra blocks are stored. */
static kaon_status lift_schur(kaon_operator *R, const kaon_vector *reduced_r, kaon_vector *r,
                              const kaon_pass *pass) {
  const kaon_dirac *dirac = kaon_dirac_of(R);
  const kaon_dirac_fields *parent = kaon_dirac_of(dirac->reduction.parent)->fields;
  const int p = (int)dirac->form.parity;
  KAON_TRY(kaon_dirac_fields_check(parent));
  const kaon_vector *rotated = reduced_r;
  if (dirac->fields->temporal) {
    KAON_TRY(rotate_gated(dirac, p, KAON_DAGGER, reduced_r, r, pass));
    rotated = r;
  }
  if (is_symmetric(dirac)) return kaon_dslash_clover(parent, p, KAON_BLOCKS_TERM, rotated, r, pass);
  return kaon_pass_sum_separately(r, pass);
}

/* ---- form NONE: only the rotations ---- */

static kaon_status prepare_full(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b) {
  KAON_TRY(kaon_dirac_fields_check(kaon_dirac_of(R)->fields));
  return rotate(kaon_dirac_of(R), KAON_FULL, KAON_PLAIN, b, reduced_b);
}

static kaon_status reconstruct_full(kaon_operator *R, const kaon_vector *reduced_x,
                                    const kaon_vector *b, kaon_vector *x) {
  (void)b;
  KAON_TRY(kaon_dirac_fields_check(kaon_dirac_of(R)->fields));
  return rotate(kaon_dirac_of(R), KAON_FULL, KAON_DAGGER, reduced_x, x);
}

static kaon_status lift_full(kaon_operator *R, const kaon_vector *reduced_r, kaon_vector *r,
                             const kaon_pass *pass) {
  KAON_TRY(kaon_dirac_fields_check(kaon_dirac_of(R)->fields));
  KAON_TRY(rotate_gated(kaon_dirac_of(R), KAON_FULL, KAON_DAGGER, reduced_r, r, pass));
  return kaon_pass_sum_separately(r, pass);
}

static kaon_status guess_schur(kaon_operator *R, const kaon_vector *x, kaon_vector *reduced_x) {
  const kaon_dirac *dirac = kaon_dirac_of(R);
  kaon_vector x_p;
  KAON_TRY(kaon_dirac_fields_check(dirac->fields));
  KAON_TRY(kaon_vector_view(x, dirac->form.parity, &x_p));
  return rotate(dirac, (int)dirac->form.parity, KAON_PLAIN, &x_p, reduced_x);
}

/* ---- the operator objects ---- */

static kaon_cost cost_schur(const kaon_operator *A, int columns) {
  return kaon_dirac_cost(kaon_dirac_of(A)->fields, A->space->nsites, 2, columns);
}

static kaon_cost cost_full(const kaon_operator *A, int columns) {
  return kaon_dirac_cost(kaon_dirac_of(A)->fields, A->space->nsites, 1, columns);
}

static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin);
static kaon_status local_part(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                              kaon_domains **domains);

static const kaon_updated_apply updated_apply = {apply_schur_updated};
static const void *const symmetric_capabilities[KAON_CAPABILITIES] = {
    [KAON_CAPABILITY_FREE_BLOCKS] = &kaon_dirac_free_access,
    [KAON_CAPABILITY_UPDATED_APPLY] = &updated_apply};
static const void *const capabilities[KAON_CAPABILITIES] = {[KAON_CAPABILITY_FREE_BLOCKS] =
                                                                &kaon_dirac_free_access};

static const kaon_operator_ops symmetric_ops = {.name = "dirac even-odd symmetric",
                                                .apply = apply_schur,
                                                .capabilities = symmetric_capabilities,
                                                .twin = make_twin,
                                                .local = local_part,
                                                .reserve = reserve,
                                                .check = kaon_dirac_operator_check,
                                                .cost = cost_schur,
                                                .destroy = kaon_dirac_operator_destroy};
static const kaon_operator_ops asymmetric_ops = {.name = "dirac even-odd asymmetric",
                                                 .capabilities = capabilities,
                                                 .apply = apply_schur,
                                                 .twin = make_twin,
                                                 .local = local_part,
                                                 .reserve = reserve,
                                                 .check = kaon_dirac_operator_check,
                                                 .cost = cost_schur,
                                                 .destroy = kaon_dirac_operator_destroy};
static const kaon_operator_ops full_ops = {.name = "dirac full lattice",
                                           .capabilities = capabilities,
                                           .apply = apply_full,
                                           .twin = make_twin,
                                           .local = local_part,
                                           .check = kaon_dirac_operator_check,
                                           .reserve = kaon_dirac_reserve,
                                           .cost = cost_full,
                                           .destroy = kaon_dirac_operator_destroy};

static unsigned blocks_of(const kaon_even_odd_options *form) {
  const int p = (int)form->parity;
  if (form->form == KAON_EVEN_ODD_SYMMETRIC) return kaon_blocks_both(KAON_BLOCKS_INVERSE);
  if (form->form == KAON_EVEN_ODD_NONE) return kaon_blocks_both(KAON_BLOCKS_TERM);
  return kaon_blocks_bit(KAON_BLOCKS_TERM, p) | kaon_blocks_bit(KAON_BLOCKS_INVERSE, 1 - p);
}

/* The reduction without its parent, which the caller sets. */
static kaon_status make(kaon_dirac_family *family, const kaon_even_odd_options *form,
                        kaon_precision precision, kaon_reconstruct reconstruct,
                        kaon_operator **reduced) {
  static const kaon_operator_ops *const ops[] = {[KAON_EVEN_ODD_SYMMETRIC] = &symmetric_ops,
                                                 [KAON_EVEN_ODD_ASYMMETRIC] = &asymmetric_ops,
                                                 [KAON_EVEN_ODD_NONE] = &full_ops};
  const int full = form->form == KAON_EVEN_ODD_NONE;
  const kaon_space *space = &family->lattice->spinors[full ? KAON_FULL : form->parity];
  kaon_dirac_fields *fields = NULL;
  KAON_TRY(kaon_dirac_fields_get(family, precision, reconstruct, form->temporal_gauge,
                                 blocks_of(form), &fields));
  KAON_TRY(kaon_dirac_operator_new(ops[form->form], fields, space, reduced));
  kaon_dirac_of(*reduced)->form = *form;
  return KAON_OK;
}

/* Takes over one reference of `parent`. */
static kaon_status set_parent(kaon_operator *R, kaon_operator *parent) {
  kaon_dirac *dirac = kaon_dirac_of(R);
  const int full = dirac->form.form == KAON_EVEN_ODD_NONE;
  const int same = !dirac->form.temporal_gauge && dirac->form.form != KAON_EVEN_ODD_SYMMETRIC;
  dirac->reduction = (kaon_reduction){.parent = parent,
                                      .prepare = full ? prepare_full : prepare_schur,
                                      .reconstruct = full ? reconstruct_full : reconstruct_schur,
                                      .lift = same   ? NULL
                                              : full ? lift_full
                                                     : lift_schur,
                                      .guess = full ? prepare_full : guess_schur};
  R->reduction = &dirac->reduction;
  return kaon_dirac_fields_need_rotation(dirac->fields);
}

/* A more precise twin is a reduction too, of M's twin. A less precise one is the inner operator of
 * a solver, which prepares and lifts in the outer precision. It has no parent, so that M's blocks
 * are not stored a second time. */
static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const kaon_dirac *dirac = kaon_dirac_of(A);
  kaon_dirac_family *family = dirac->fields->family;
  KAON_TRY(make(family, &dirac->form, precision, reconstruct, twin));
  if (dirac->cut != NULL) {
    const kaon_status cut = kaon_dirac_cut_make(*twin, dirac->cut->block, NULL);
    if (cut != KAON_OK) kaon_operator_destroy(twin);
    return cut;
  }
  if (precision >= A->precision || A->reduction == NULL) return KAON_OK;
  kaon_operator *parent = dirac->reduction.parent, *parent_twin = NULL;
  kaon_status status = parent->ops->twin(parent, precision, reconstruct, &parent_twin);
  if (status == KAON_OK) status = set_parent(*twin, parent_twin);
  if (status != KAON_OK) kaon_operator_destroy(twin);
  return status;
}

/* The Schur complement of the cut M. Blocks of sites are also blocks of p. It has no parent, since
 * sources are prepared by the whole operator. */
static kaon_status local_part(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                              kaon_domains **domains) {
  const kaon_dirac *dirac = kaon_dirac_of(A);
  *local = NULL;
  KAON_TRY(kaon_dirac_cut_check(A, how));
  kaon_status status =
      make(dirac->fields->family, &dirac->form, how->precision, how->reconstruct, local);
  if (status == KAON_OK) status = kaon_dirac_cut_make(*local, how->block, domains);
  status = kaon_agree(A->ctx, status);
  if (status != KAON_OK) kaon_operator_destroy(local);
  return status;
}

kaon_status kaon_dirac_even_odd(kaon_operator *M, const kaon_even_odd_options *options,
                                kaon_operator **reduced) {
  kaon_even_odd_options own;
  if (reduced != NULL) *reduced = NULL;
  if (M == NULL || reduced == NULL)
    return kaon_fail(M != NULL ? M->ctx : NULL, KAON_ERR_ARGUMENT,
                     "even-odd: the operator and the address of the result are needed");
  kaon_status status = kaon_options_take(KAON_OPTIONS_EVEN_ODD, options, &own);
  if (status != KAON_OK) return kaon_fail(M->ctx, status, "%s", kaon_last_error(NULL));
  if (M->ops != &kaon_dirac_ops)
    return kaon_fail(
        M->ctx, KAON_ERR_UNSUPPORTED,
        "even-odd: operator '%s' is not the full operator M; pass one made by kaon_dirac_create",
        M->ops->name);
  const kaon_dirac_fields *fields = kaon_dirac_of(M)->fields;
  status = make(fields->family, &own, fields->precision, fields->reconstruct, reduced);
  KAON_TRY(kaon_agree(M->ctx, status));
  kaon_operator_retain(M);
  status = kaon_agree(M->ctx, set_parent(*reduced, M));
  if (status != KAON_OK) kaon_operator_destroy(reduced);
  return status;
}
