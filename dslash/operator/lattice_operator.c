/* lattice_operator.c - the operators of a family: M on all sites, and what M, its reductions and
 * its cut parts share, such as twins, costs, checks, and the hop for users. */
#include <stdlib.h>

#include <kaon/context.h>

#include "dslash/operator/frame.h"
#include "lib/grid/overlap.h"
#include "lib/operator/fused_apply.h"

/* y_p = T x_p + c D_pq x_q on both parities; a coupling has no T. */
kaon_status kaon_lattice_operator_full(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                                       kaon_vector *y, const kaon_pass *pass) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_fields *fields = self->fields;
  const kaon_family *family = fields->family;
  const int has_sites = family->has_sites && !kaon_is_coupling(self);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_vector xs[2], ys[2];
  for (int p = 0; p < 2; p++) {
    KAON_TRY(kaon_vector_view(x, (kaon_parity)p, &xs[p]));
    KAON_TRY(kaon_vector_view(y, (kaon_parity)p, &ys[p]));
  }
  for (int p = 0; p < 2; p++) {
    const kaon_fused hop = {.a = has_sites ? 1 : family->number,
                            .x = kaon_is_coupling(self) ? NULL : &xs[p],
                            .b = family->hop,
                            .on = has_sites ? KAON_SITE_ON_X : KAON_SITE_NOWHERE,
                            .kind = KAON_SITE_TERM,
                            .stencil = kaon_stencil_of(self, mode)};
    KAON_TRY(family->action->hop(fields, p, mode, &hop, &xs[1 - p], &ys[p], &gate));
  }
  return kaon_pass_sum_separately(y, pass); /* a kernel covers one parity, but the sums are over
                                               both */
}

kaon_status kaon_lattice_operator_reserve(kaon_operator *A, kaon_mode mode, int columns) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_fields *fields = self->fields;
  kaon_halo *halos[2];
  kaon_overlap how;
  int count, fused;
  if (kaon_stencil_of(self, mode)->faces == NULL) return KAON_OK;
  KAON_TRY(fields->family->action->halos(fields, columns, halos, &count, &fused));
  return kaon_overlap_choose(halos[0], fused, &how);
}

static kaon_cost cost(const kaon_operator *A, int columns) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_cost site = self->fields->family->action->cost(self->fields, self->form, columns);
  const double sites = (double)A->space->nsites / (kaon_is_coupling(self) ? KAON_DIRS : 1);
  return (kaon_cost){.flops = sites * site.flops, .bytes = sites * site.bytes};
}

static kaon_status diagonal(kaon_operator *M, kaon_vector *d) {
  const kaon_fields *fields = kaon_fields_of(M);
  const kaon_family *family = fields->family;
  KAON_TRY(kaon_current(M->revision));
  KAON_AUTOFREE double *host =
      calloc((size_t)kaon_space_caller_rows(d->space) * (size_t)d->space->ncomp, sizeof *host);
  KAON_TRY(KAON_AGREE_MEMORY(M->ctx, host != NULL, "%s: out of host memory for the diagonal",
                             family->action->name));
  if (!kaon_is_coupling(kaon_lattice_operator_of(M)))
    KAON_TRY(family->action->diagonal(family, host));
  for (int column = 0; column < d->nrhs; column++)
    KAON_TRY(kaon_vector_import(d, column, host, KAON_BASIS_UKQCD));
  return KAON_OK;
}

/* ---- the objects ---- */

static void destroy(kaon_operator *A) {
  kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  kaon_vector_destroy(&self->scratch);
  kaon_part_destroy(A->ctx, &self->part);
  kaon_operator_destroy(&self->reduction.parent);
  kaon_fields_release(&self->fields);
}

static kaon_status operator_new(kaon_fields *fields, kaon_form form, kaon_parity parity,
                                kaon_operator **A) {
  kaon_family *family = fields->family;
  *A = kaon_operator_new((kaon_operator){.ops = &family->ops[form],
                                         .ctx = family->ctx,
                                         .space = &family->spaces[parity],
                                         .precision = fields->precision,
                                         .revision = family->revision},
                         sizeof(kaon_lattice_operator));
  if (*A == NULL)
    return kaon_fail(family->ctx, KAON_ERR_MEMORY, "%s: out of host memory for an operator",
                     family->action->name);
  *kaon_lattice_operator_of(*A) =
      (kaon_lattice_operator){.fields = fields, .form = form, .parity = parity};
  return KAON_OK;
}

/* What an operator of this form applies at its sites. */
static unsigned sites_of(kaon_form form, kaon_parity parity) {
  if (form == KAON_FORM_SYMMETRIC) return kaon_site_both(KAON_SITE_INVERSE);
  if (parity == KAON_FULL) return kaon_site_both(KAON_SITE_TERM);
  return kaon_site_bit(KAON_SITE_TERM, (int)parity) |
         kaon_site_bit(KAON_SITE_INVERSE, 1 - (int)parity);
}

static kaon_status make(kaon_family *family, kaon_form form, kaon_parity parity, int temporal,
                        kaon_precision precision, kaon_reconstruct reconstruct, unsigned sites,
                        kaon_operator **A) {
  kaon_fields *fields = NULL;
  KAON_TRY(kaon_fields_get(family, precision, reconstruct, temporal, sites, &fields));
  const kaon_status status = operator_new(fields, form, parity, A);
  if (status != KAON_OK) kaon_fields_release(&fields);
  return status;
}

kaon_status kaon_lattice_operator_make(kaon_family *family, kaon_form form, kaon_parity parity,
                                       int temporal, kaon_precision precision,
                                       kaon_reconstruct reconstruct, kaon_operator **A) {
  return make(family, form, parity, temporal, precision, reconstruct, sites_of(form, parity), A);
}

/* The operator's own kind in another storage; couples: without T. */
static kaon_status like(const kaon_operator *A, int couples, kaon_precision precision,
                        kaon_reconstruct reconstruct, kaon_operator **made) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  return make(self->fields->family, self->form, self->parity, self->fields->temporal, precision,
              reconstruct, couples ? 0 : sites_of(self->form, self->parity), made);
}

/* A twin has the hops that A has. A more precise twin of a reduction is a reduction too, of M's twin. A less
 * precise one is the inner operator of a solver, which prepares and lifts in the outer precision.
 * It has no parent, so that M's T is not stored a second time. */
static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  kaon_status status = KAON_OK;
  KAON_TRY(like(A, kaon_is_coupling(self), precision, reconstruct, twin));
  if (self->part != NULL) {
    status = kaon_part_make(*twin, self->part->along, self->part->block);
  } else if (A->reduction != NULL && precision < A->precision) {
    kaon_operator *parent = self->reduction.parent, *parent_twin = NULL;
    status = parent->ops->twin(parent, precision, reconstruct, &parent_twin);
    if (status == KAON_OK) status = kaon_schur_set_parent(*twin, parent_twin);
  }
  if (status != KAON_OK) kaon_operator_destroy(twin);
  return status;
}

/* Of a reduction: the reduction of the cut M. Blocks of sites are also blocks of one parity. It has
 * no parent, since sources are prepared by the whole operator. */
static kaon_status local_part(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                              kaon_domains **domains) {
  *local = NULL;
  KAON_TRY(kaon_local_check(A, how, domains != NULL));
  kaon_status status = like(A, 0, how->precision, how->reconstruct, local);
  if (status == KAON_OK) status = kaon_part_make(*local, 0, how->block);
  if (status == KAON_OK && domains != NULL)
    status = kaon_local_domains(A->space, how->block, domains);
  status = kaon_agree(A->ctx, status);
  if (status != KAON_OK) kaon_operator_destroy(local);
  return status;
}

static kaon_status couple(kaon_operator *A, const kaon_coupling *which, kaon_operator **part) {
  int block[4] = {0, 0, 0, 0};
  *part = NULL;
  KAON_TRY(kaon_coupling_check(A, which));
  block[which->direction % 4] = which->block;
  kaon_status status = like(A, 1, which->precision, which->reconstruct, part);
  if (status == KAON_OK) status = kaon_part_make(*part, which->direction + 1, block);
  status = kaon_agree(A->ctx, status);
  if (status != KAON_OK) kaon_operator_destroy(part);
  return status;
}

static kaon_status reduce(kaon_operator *A, kaon_even_odd form, kaon_operator **reduced) {
  const kaon_action *action = kaon_fields_of(A)->family->action;
  *reduced = NULL;
  if ((form != KAON_EVEN_ODD_SYMMETRIC && form != KAON_EVEN_ODD_ASYMMETRIC) ||
      action->forms[form] == NULL)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "even-odd: operator '%s' has no reduction of form %d (0 symmetric, 1 "
                     "asymmetric)",
                     A->ops->name, (int)form);
  return kaon_lattice_operator_reduce(A, "even-odd", (kaon_form)form, KAON_EVEN, 0, reduced);
}

/* The methods of the family's operators in this form. */
static void set_methods(kaon_family *family, kaon_form form) {
  static const kaon_updated_apply updated_apply = {kaon_schur_apply_updated};
  static const kaon_couplings couplings[] = {
      [KAON_HALVES_COMPONENTS] = {KAON_HALVES_COMPONENTS, couple, reduce},
      [KAON_HALVES_TURNED] = {KAON_HALVES_TURNED, couple, reduce}};
  const kaon_action *action = family->action;
  const int full = kaon_form_hops(form) == 1;
  const void **capabilities = family->capabilities[form];
  capabilities[KAON_CAPABILITY_FREE_BLOCKS] = action->free_blocks;
  if (full) capabilities[KAON_CAPABILITY_COUPLINGS] = &couplings[action->halves];
  if (form == KAON_FORM_SYMMETRIC) capabilities[KAON_CAPABILITY_UPDATED_APPLY] = &updated_apply;
  family->ops[form] =
      (kaon_operator_ops){.name = action->forms[form],
                          .capabilities = capabilities,
                          .apply = full ? kaon_lattice_operator_full : kaon_schur_apply,
                          .twin = make_twin,
                          .local = action->blocks ? local_part : NULL,
                          .diagonal = form == KAON_FORM_WHOLE ? diagonal : NULL,
                          .reserve = full ? kaon_lattice_operator_reserve : kaon_schur_reserve,
                          .cost = cost,
                          .destroy = destroy};
}

kaon_status kaon_lattice_operator_first(kaon_family *family, kaon_precision precision,
                                        kaon_reconstruct reconstruct, kaon_operator **M) {
  kaon_context *ctx = family->ctx;
  for (int form = 0; form < KAON_FORMS; form++)
    if (family->action->forms[form] != NULL) set_methods(family, (kaon_form)form);
  kaon_status status =
      kaon_lattice_operator_make(family, KAON_FORM_WHOLE, KAON_FULL, 0, precision, reconstruct, M);
  kaon_family_release(&family);
  status = kaon_agree(ctx, status);
  if (status != KAON_OK) kaon_operator_destroy(M);
  return status;
}

/* ---- for users ---- */

int kaon_is_lattice_operator(const kaon_operator *A, int reals) {
  return A->ops->destroy == destroy && kaon_fields_of(A)->family->action->reals == reals;
}

kaon_status kaon_lattice_operator_need(const kaon_operator *A, int reals, const char *what) {
  if (kaon_is_lattice_operator(A, reals)) return KAON_OK;
  return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                   "%s: operator '%s' is no %s one; pass one made by %s", what, A->ops->name,
                   reals == 24 ? "Wilson-like" : "staggered",
                   reals == 24 ? "kaon_dirac_create" : "kaon_staggered_create");
}

/* Checks vectors of a user: `out` on the sites of `parity`, `in` on those of `from`. */
static kaon_status check_vectors(const kaon_fields *fields, const char *what, kaon_parity parity,
                                 kaon_parity from, const kaon_vector *in, const kaon_vector *out) {
  static const char *const names[] = {"even", "odd"};
  const kaon_family *family = fields->family;
  kaon_context *ctx = family->ctx;
  if (out->space != &family->spaces[parity] || in->space != &family->spaces[from])
    return kaon_fail(ctx, KAON_ERR_SHAPE,
                     "%s: out must be a %s on the %s sites of the operator's lattice and in one on "
                     "the %s ones",
                     what,
                     family->action->reals != 24 ? "staggered vector"
                     : family->spaces->inner > 1 ? "spinor of kaon_lattice_spinors_5d()"
                                                 : "spinor",
                     names[parity], names[from]);
  if (in->nrhs != out->nrhs)
    return kaon_fail(ctx, KAON_ERR_SHAPE, "%s: in has %d columns and out %d", what, in->nrhs,
                     out->nrhs);
  if (in->precision != fields->precision || out->precision != fields->precision)
    return kaon_fail(ctx, KAON_ERR_PRECISION,
                     "%s: in, out and the operator have precisions %d, %d and %d (0 double, 1 "
                     "single, 2 half); convert with kaon_vector_copy",
                     what, (int)in->precision, (int)out->precision, (int)fields->precision);
  return KAON_OK;
}

static kaon_status check_parity(kaon_context *ctx, const char *what, kaon_parity parity,
                                kaon_mode mode) {
  if ((parity == KAON_EVEN || parity == KAON_ODD) && (mode == KAON_PLAIN || mode == KAON_DAGGER))
    return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "%s: parity is %d and mode %d, but must be 0 (even) or 1 (odd), and 0 (plain) "
                   "or 1 (dagger)",
                   what, (int)parity, (int)mode);
}

kaon_status kaon_lattice_operator_hop(kaon_operator *M, const char *what, kaon_parity parity,
                                      kaon_mode mode, const kaon_vector *in, kaon_vector *out) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(M);
  const kaon_fields *fields = self->fields;
  KAON_TRY(check_parity(M->ctx, what, parity, mode));
  KAON_TRY(check_vectors(fields, what, parity, (kaon_parity)(1 - parity), in, out));
  KAON_TRY(kaon_current(M->revision));
  const kaon_fused bare = {.b = 1, .stencil = kaon_stencil_of(self, mode)};
  return fields->family->action->hop(fields, (int)parity, mode, &bare, in, out, NULL);
}

kaon_status kaon_lattice_operator_site(kaon_operator *M, const char *what, kaon_parity parity,
                                       kaon_mode mode, kaon_site_kind kind, const kaon_vector *in,
                                       kaon_vector *out) {
  const kaon_fields *fields = kaon_fields_of(M);
  kaon_family *family = fields->family;
  KAON_TRY(check_parity(M->ctx, what, parity, mode));
  KAON_TRY(check_vectors(fields, what, parity, parity, in, out));
  KAON_TRY(kaon_current(M->revision));
  if (!family->has_sites) {
    const double number = kind == KAON_SITE_TERM ? family->number : 1 / family->number;
    const kaon_pass all = kaon_pass_gate_only(NULL);
    KAON_TRY(kaon_vector_copy(out, in));
    return number == 1 ? KAON_OK : kaon_blas_scale(KAON_NUMBER(number), out, &all);
  }
  kaon_fields *filled; /* the same set, which then has this kind, too */
  KAON_TRY(kaon_fields_get(family, fields->precision, fields->reconstruct, fields->temporal,
                           kaon_site_bit(kind, (int)parity), &filled));
  const kaon_status status = family->action->site(filled, (int)parity, mode, kind, in, out, NULL);
  kaon_fields_release(&filled);
  return status;
}
