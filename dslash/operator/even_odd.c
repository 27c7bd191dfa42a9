/* even_odd.c - even-odd reductions of M = T + c D, and the temporal gauge.
 *
 * With p the sites of the reduced system and q the others, x_q = T_qq^-1 (b_q - c D_qp x_p) and
 * S x_p = b', where
 *
 *   S = W (T_pp - c^2 D_pq T_qq^-1 D_qp),   b' = W (b_p - c D_pq T_qq^-1 b_q)
 *
 *   symmetric    W = T_pp^-1
 *   asymmetric   W = 1
 *   squared      W = T, for a T that is a number: S = T^2 - c^2 D_pq D_qp
 *
 * Source: DeGrand, Comput. Phys. Commun. 52 (1988) 161; with the clover term Jansen, Liu, Comput.
 * Phys. Commun. 99 (1997) 221. An application is two fused hops. The symmetric dagger begins with
 * one more multiplication, by T_pp^-dagger, whose result is kept in y. The parent's residual
 * vanishes on q; on p it is W^-1 r'. A squared S is Hermitian if D is anti-Hermitian: it is the p
 * block of M^dagger M, as in staggered operators.
 *
 * Temporal gauge: the operator works on U'_mu(x) = g(x) U_mu(x) g(x+mu)^dag. So prepare turns b
 * into g b, and reconstruct turns x' into g^dag x'; T' = g T g^dag.
 *
 * Storage: one single-parity vector besides the fields, which have T^-1 on both parities
 * (symmetric), or T on p and T^-1 on q (asymmetric). A T that is a number is part of the
 * coefficients of the hops. */
#include "dslash/operator/frame.h"

static int is_symmetric(const kaon_lattice_operator *self) {
  return self->form == KAON_FORM_SYMMETRIC;
}

/* W, where T is a number. */
static double weight(const kaon_lattice_operator *self) {
  const double number = self->fields->family->number;
  return self->form == KAON_FORM_SQUARED ? number : is_symmetric(self) ? 1 / number : 1;
}

/* Retains one vector on the sites of q, with the largest column count so far. */
kaon_status kaon_schur_reserve(kaon_operator *A, kaon_mode mode, int columns) {
  kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  KAON_TRY(kaon_lattice_operator_reserve(A, mode, columns));
  if (self->scratch != NULL && self->scratch->nrhs >= columns) return KAON_OK;
  kaon_vector_destroy(&self->scratch);
  const kaon_space *space = &self->fields->family->spaces[1 - (int)self->parity];
  return kaon_vector_create(A->ctx, space, A->precision, columns, &self->scratch);
}

/* A view into that vector. */
static kaon_status get_scratch(kaon_operator *A, int columns, kaon_vector *view) {
  KAON_TRY(kaon_schur_reserve(A, KAON_PLAIN, columns));
  *view = *kaon_lattice_operator_of(A)->scratch;
  view->nrhs = columns;
  view->owns = 0;
  return KAON_OK;
}

/* ---- application ---- */

static int begins_with_sites(const kaon_lattice_operator *self, kaon_mode mode) {
  return is_symmetric(self) && mode == KAON_DAGGER && self->fields->family->has_sites;
}

/* y = S x. Where it begins with T_pp^-dagger, y holds T_pp^-dagger x on entry. */
static kaon_status apply_hops(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_fields *fields = self->fields;
  const kaon_family *family = fields->family;
  const int p = (int)self->parity, q = 1 - p;
  const kaon_stencil *stencil = kaon_stencil_of(self, mode);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_vector *u = begins_with_sites(self, mode) ? y : x;
  kaon_vector t;
  KAON_TRY(get_scratch(A, x->nrhs, &t));
  kaon_fused first = {.b = 1, .kind = KAON_SITE_INVERSE, .stencil = stencil};
  kaon_fused second = {.a = 1, .x = x, .b = -family->hop * family->hop, .stencil = stencil};
  if (!family->has_sites) {
    second.a = weight(self) * family->number;
    second.b *= weight(self) / family->number;
  } else {
    first.on = KAON_SITE_ON_HOP;
    second.kind = is_symmetric(self) ? KAON_SITE_INVERSE : KAON_SITE_TERM;
    second.on = !is_symmetric(self)  ? KAON_SITE_ON_X
                : mode == KAON_PLAIN ? KAON_SITE_ON_HOP
                                     : KAON_SITE_NOWHERE;
  }
  KAON_TRY(family->action->hop(fields, q, mode, &first, u, &t, &gate));
  return family->action->hop(fields, p, mode, &second, &t, y, pass);
}

kaon_status kaon_schur_apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                             const kaon_pass *pass) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_fields *fields = self->fields;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  if (self->form == KAON_FORM_SQUARED) mode = KAON_PLAIN;
  if (begins_with_sites(self, mode))
    KAON_TRY(fields->family->action->site(fields, (int)self->parity, mode, KAON_SITE_INVERSE, x, y,
                                          &gate));
  return apply_hops(A, mode, x, y, pass);
}

/* The update and T_pp^-dagger are one kernel where the action has one. */
kaon_status kaon_schur_apply_updated(kaon_operator *A, kaon_mode mode, int slot, double sign,
                                     const kaon_vector *w, kaon_vector *x, kaon_vector *y,
                                     const kaon_pass *pass) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_fields *fields = self->fields;
  const kaon_action *action = fields->family->action;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  if (begins_with_sites(self, mode) && action->updated_site != NULL) {
    KAON_TRY(action->updated_site(fields, (int)self->parity, mode, KAON_SITE_INVERSE, slot, sign, w,
                                  x, y, &gate));
    return apply_hops(A, mode, x, y, pass);
  }
  KAON_TRY(kaon_blas_axpy((kaon_coefficient){slot, sign}, w, x, &gate));
  return kaon_schur_apply(A, mode, x, y, pass);
}

/* ---- sources and solutions ---- */

/* PLAIN: out = g in; DAGGER: out = g^dag in, on `parity`. Without the temporal gauge it copies.
 * Only the gate of `pass` is used; NULL: all columns. */
static kaon_status rotate(const kaon_lattice_operator *self, int parity, kaon_mode mode,
                          const kaon_vector *in, kaon_vector *out, const kaon_pass *pass) {
  const kaon_pass gate_only = kaon_pass_gate_only(pass);
  const kaon_gate gate = kaon_pass_gate_inner(pass, in);
  if (!self->fields->temporal)
    return in->data == out->data ? KAON_OK : kaon_blas_copy(in, out, &gate_only);
  const kaon_vector from = kaon_vector_flat(in);
  kaon_vector to = kaon_vector_flat(out);
  return kaon_temporal_rotate(self->fields->rotation, parity, mode, &from, &to, &gate);
}

/* *source = g b on `parity`: b itself, or in `room`. */
static kaon_status rotated(const kaon_lattice_operator *self, int parity, const kaon_vector *b,
                           kaon_vector *room, const kaon_vector **source) {
  *source = b;
  if (!self->fields->temporal) return KAON_OK;
  *source = room;
  return rotate(self, parity, KAON_PLAIN, b, room, NULL);
}

static kaon_status prepare(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(R);
  const kaon_fields *fields = self->fields;
  const kaon_family *family = fields->family;
  const int p = (int)self->parity, q = 1 - p;
  const kaon_vector *from_q;
  kaon_vector b_p, b_q, t;
  kaon_fused hop = {.a = 1, .b = -family->hop, .kind = KAON_SITE_INVERSE};
  KAON_TRY(kaon_vector_view(b, (kaon_parity)p, &b_p));
  KAON_TRY(kaon_vector_view(b, (kaon_parity)q, &b_q));
  KAON_TRY(get_scratch(R, b->nrhs, &t));
  KAON_TRY(rotated(self, q, &b_q, &t, &from_q));
  KAON_TRY(rotated(self, p, &b_p, reduced_b, &hop.x));
  if (!family->has_sites) {
    hop.a = weight(self);
    hop.b *= weight(self) / family->number;
  } else {
    KAON_TRY(family->action->site(fields, q, KAON_PLAIN, KAON_SITE_INVERSE, from_q, &t, NULL));
    from_q = &t;
    hop.on = is_symmetric(self) ? KAON_SITE_ON_BOTH : KAON_SITE_NOWHERE;
  }
  return family->action->hop(fields, p, KAON_PLAIN, &hop, from_q, reduced_b, NULL);
}

static kaon_status reconstruct(kaon_operator *R, const kaon_vector *reduced_x, const kaon_vector *b,
                               kaon_vector *x) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(R);
  const kaon_fields *fields = self->fields;
  const kaon_family *family = fields->family;
  const int p = (int)self->parity, q = 1 - p;
  kaon_vector b_q, x_p, x_q;
  kaon_fused hop = {.a = 1, .b = -family->hop, .kind = KAON_SITE_INVERSE};
  KAON_TRY(kaon_vector_view(b, (kaon_parity)q, &b_q));
  KAON_TRY(kaon_vector_view(x, (kaon_parity)p, &x_p));
  KAON_TRY(kaon_vector_view(x, (kaon_parity)q, &x_q));
  KAON_TRY(rotated(self, q, &b_q, &x_q, &hop.x));
  if (!family->has_sites) {
    hop.a = 1 / family->number;
    hop.b *= hop.a;
  } else {
    hop.on = KAON_SITE_ON_BOTH;
  }
  KAON_TRY(family->action->hop(fields, q, KAON_PLAIN, &hop, reduced_x, &x_q, NULL));
  KAON_TRY(rotate(self, q, KAON_DAGGER, &x_q, &x_q, NULL));
  return rotate(self, p, KAON_DAGGER, reduced_x, &x_p, NULL);
}

/* Uses the parent's T_pp, whose links are not rotated, so no extra T is stored. */
static kaon_status lift(kaon_operator *R, const kaon_vector *reduced_r, kaon_vector *r,
                        const kaon_pass *pass) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(R);
  const kaon_fields *parent = kaon_fields_of(self->reduction.parent);
  const kaon_family *family = parent->family;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const int p = (int)self->parity;
  if (family->has_sites && is_symmetric(self) && !self->fields->temporal)
    return family->action->site(parent, p, KAON_PLAIN, KAON_SITE_TERM, reduced_r, r, pass);
  KAON_TRY(rotate(self, p, KAON_DAGGER, reduced_r, r, pass));
  if (family->has_sites && is_symmetric(self))
    return family->action->site(parent, p, KAON_PLAIN, KAON_SITE_TERM, r, r, pass);
  if (!family->has_sites && weight(self) != 1)
    KAON_TRY(kaon_blas_scale(KAON_NUMBER(1 / weight(self)), r, &gate));
  return kaon_pass_sum_separately(r, pass);
}

static kaon_status guess(kaon_operator *R, const kaon_vector *x, kaon_vector *reduced_x) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(R);
  kaon_vector x_p;
  KAON_TRY(kaon_vector_view(x, self->parity, &x_p));
  return rotate(self, (int)self->parity, KAON_PLAIN, &x_p, reduced_x, NULL);
}

/* ---- form NONE: only the rotations ---- */

static kaon_status prepare_full(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b) {
  return rotate(kaon_lattice_operator_of(R), KAON_FULL, KAON_PLAIN, b, reduced_b, NULL);
}

static kaon_status reconstruct_full(kaon_operator *R, const kaon_vector *reduced_x,
                                    const kaon_vector *b, kaon_vector *x) {
  (void)b;
  return rotate(kaon_lattice_operator_of(R), KAON_FULL, KAON_DAGGER, reduced_x, x, NULL);
}

static kaon_status lift_full(kaon_operator *R, const kaon_vector *reduced_r, kaon_vector *r,
                             const kaon_pass *pass) {
  KAON_TRY(rotate(kaon_lattice_operator_of(R), KAON_FULL, KAON_DAGGER, reduced_r, r, pass));
  return kaon_pass_sum_separately(r, pass);
}

/* ---- reductions ---- */

kaon_status kaon_schur_set_parent(kaon_operator *R, kaon_operator *parent) {
  kaon_lattice_operator *self = kaon_lattice_operator_of(R);
  const int full = self->form == KAON_FORM_NONE;
  const int same = !self->fields->temporal && (full || self->form == KAON_FORM_ASYMMETRIC);
  self->reduction = (kaon_reduction){.parent = parent,
                                     .prepare = full ? prepare_full : prepare,
                                     .reconstruct = full ? reconstruct_full : reconstruct,
                                     .lift = same   ? NULL
                                             : full ? lift_full
                                                    : lift,
                                     .guess = full ? prepare_full : guess};
  R->reduction = &self->reduction;
  return kaon_fields_need_rotation(self->fields);
}

kaon_status kaon_lattice_operator_reduce(kaon_operator *M, const char *what, kaon_form form,
                                         kaon_parity parity, int temporal,
                                         kaon_operator **reduced) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(M);
  const kaon_fields *fields = self->fields;
  if (self->form != KAON_FORM_WHOLE || self->part != NULL)
    return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: operator '%s' %s already; pass the operator M that it was made of", what,
                     M->ops->name,
                     self->part != NULL ? "has only some of its hops" : "is a reduction");
  kaon_status status =
      kaon_lattice_operator_make(fields->family, form, form == KAON_FORM_NONE ? KAON_FULL : parity,
                                 temporal, fields->precision, fields->reconstruct, reduced);
  status = kaon_agree(M->ctx, status);
  if (status == KAON_OK) {
    kaon_operator_retain(M);
    status = kaon_agree(M->ctx, kaon_schur_set_parent(*reduced, M));
  }
  if (status != KAON_OK) kaon_operator_destroy(reduced);
  return status;
}
