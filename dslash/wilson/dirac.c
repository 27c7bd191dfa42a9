/* dirac.c - the Wilson and clover operator M = A - kappa D: its row in the frame
 * (dslash/operator/frame.h), and the public functions of Wilson-like operators. Without clover
 * blocks A is the number 1. With a mu that is not 0 the row is that of twisted mass. */
#include <kaon/context.h>

#include "dslash/wilson/wilson.h"
#include "lib/core/options_table.h"
#include "lib/core/entry.h"

static const kaon_action dirac = {
    .name = "dirac",
    .update = "kaon_dirac_update",
    .forms = {[KAON_FORM_SYMMETRIC] = "dirac even-odd symmetric",
              [KAON_FORM_ASYMMETRIC] = "dirac even-odd asymmetric",
              [KAON_FORM_NONE] = "dirac full lattice",
              [KAON_FORM_WHOLE] = "dirac"},
    .reals = KAON_SPINOR_REALS,
    .fields_size = sizeof(kaon_dirac_fields),
    .build = kaon_dirac_build,
    .fill = kaon_dirac_fill,
    .fill_sites = kaon_clover_fill,
    .release_fields = kaon_dirac_fields_release,
    .release_family = kaon_dirac_family_release,
    .hop = kaon_spinor_hop,
    .site = kaon_clover_site,
    .updated_site = kaon_clover_updated_site,
    .halos = kaon_spinor_halos,
    .cost = kaon_spinor_cost,
    .diagonal = kaon_clover_diagonal,
    .halves = KAON_HALVES_TURNED,
    .blocks = 1,
    .free_blocks = &kaon_spinor_free_blocks,
};

/* term: the application's A; NULL: A is made from links with csw. */
static kaon_status create(kaon_gauge *gauge, const kaon_dirac_options *options,
                          const kaon_host_clover *term, kaon_operator **M) {
  kaon_dirac_options own;
  kaon_family *family = NULL;
  KAON_TRY(kaon_options_share(gauge->ctx, KAON_OK, KAON_OPTIONS_DIRAC, options, &own, NULL, 0));
  if (term != NULL && own.csw != 0)
    return kaon_fail(
        gauge->ctx, KAON_ERR_ARGUMENT,
        "dirac: csw is %g, but a clover term is given, which contains its coefficient; "
        "set csw = 0",
        own.csw);
  const kaon_action *action = own.mu != 0 ? &kaon_twisted_action : &dirac;
  KAON_TRY(kaon_family_create(action, sizeof(kaon_dirac_family), gauge->lattice,
                              gauge->lattice->spinors, gauge, NULL, &family));
  kaon_dirac_family *self = (kaon_dirac_family *)family;
  self->kappa = own.kappa;
  self->csw = own.csw;
  self->electric = own.csw_electric;
  self->anisotropy = own.anisotropy;
  self->twist = 2 * own.kappa * own.mu;
  family->hop = -own.kappa;
  family->number = 1;
  family->has_sites = own.csw != 0 || own.mu != 0 || term != NULL;
  const kaon_status status = term != NULL ? kaon_clover_import(self, term) : KAON_OK;
  if (status != KAON_OK) {
    kaon_family_release(&family);
    return status;
  }
  if (term != NULL) family->revision->remedy = "kaon_dirac_set_clover";
  return kaon_lattice_operator_first(family, own.precision, own.reconstruct, M);
}

kaon_status kaon_dirac_create(kaon_gauge *gauge, const kaon_dirac_options *options,
                              kaon_operator **M) {
  if (M != NULL) *M = NULL;
  KAON_ENTER(KAON_OF(gauge), gauge, M);
  return create(gauge, options, NULL, M);
}

kaon_status kaon_dirac_create_clover(kaon_gauge *gauge, const kaon_dirac_options *options,
                                     kaon_gauge_order order, kaon_precision host_precision,
                                     const void *term, kaon_operator **M) {
  const kaon_host_clover given = {order, host_precision, term};
  if (M != NULL) *M = NULL;
  KAON_ENTER(KAON_OF(gauge), gauge, M);
  return create(gauge, options, &given, M);
}

kaon_status kaon_dirac_set_clover(kaon_operator *M, kaon_gauge_order order,
                                  kaon_precision host_precision, const void *term) {
  const kaon_host_clover given = {order, host_precision, term};
  KAON_ENTER(KAON_OF(M), M);
  KAON_TRY(kaon_lattice_operator_need(M, KAON_SPINOR_REALS, "dirac set clover"));
  kaon_family *family = kaon_fields_of(M)->family;
  kaon_dirac_family *self = (kaon_dirac_family *)family;
  if (self->given[0] == NULL)
    return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                     "dirac set clover: operator '%s' makes its site term itself; create it with "
                     "kaon_dirac_create_clover",
                     M->ops->name);
  KAON_TRY(kaon_clover_import(self, &given));
  return kaon_family_update(family);
}

kaon_status kaon_dirac_update(kaon_operator *M) {
  KAON_ENTER(KAON_OF(M), M);
  KAON_TRY(kaon_lattice_operator_need(M, KAON_SPINOR_REALS, "dirac update"));
  kaon_family *family = kaon_fields_of(M)->family;
  if (((kaon_dirac_family *)family)->given[0] != NULL)
    return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                     "dirac update: the clover term of '%s' was given, and belongs to the former "
                     "links; call kaon_dirac_set_clover, which takes the present links too",
                     M->ops->name);
  return kaon_family_update(family);
}

kaon_status kaon_dirac_hop(kaon_operator *M, kaon_parity parity, kaon_mode mode,
                           const kaon_vector *in, kaon_vector *out) {
  KAON_ENTER(KAON_OF(M), M, in, out);
  KAON_TRY(kaon_lattice_operator_need(M, KAON_SPINOR_REALS, "dirac hop"));
  return kaon_lattice_operator_hop(M, "dirac hop", parity, mode, in, out);
}

kaon_status kaon_dirac_site(kaon_operator *M, kaon_parity parity, kaon_mode mode, int inverse,
                            const kaon_vector *in, kaon_vector *out) {
  KAON_ENTER(KAON_OF(M), M, in, out);
  KAON_TRY(kaon_lattice_operator_need(M, KAON_SPINOR_REALS, "dirac site"));
  return kaon_lattice_operator_site(M, "dirac site", parity, mode,
                                    inverse ? KAON_SITE_INVERSE : KAON_SITE_TERM, in, out);
}

kaon_status kaon_dirac_even_odd(kaon_operator *M, const kaon_even_odd_options *options,
                                kaon_operator **reduced) {
  kaon_even_odd_options own;
  if (reduced != NULL) *reduced = NULL;
  KAON_ENTER(KAON_OF(M), M, reduced);
  KAON_TRY(kaon_options_share(M->ctx, KAON_OK, KAON_OPTIONS_EVEN_ODD, options, &own, NULL, 0));
  KAON_TRY(kaon_lattice_operator_need(M, KAON_SPINOR_REALS, "even-odd"));
  if (own.temporal_gauge && kaon_dirac_family_of(kaon_fields_of(M))->given[0] != NULL)
    return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                     "even-odd: the clover term of '%s' was given in the gauge of the links; set "
                     "temporal_gauge = 0",
                     M->ops->name);
  return kaon_lattice_operator_reduce(M, "even-odd", (kaon_form)own.form, own.parity,
                                      own.temporal_gauge, reduced);
}

kaon_status kaon_dirac_clover_logdet(kaon_operator *M, kaon_parity parity, double *logdet,
                                     int64_t *negative) {
  KAON_ENTER(KAON_OF(M), M, logdet);
  KAON_TRY(kaon_lattice_operator_need(M, KAON_SPINOR_REALS, "clover logdet"));
  if (parity != KAON_EVEN && parity != KAON_ODD && parity != KAON_FULL)
    return kaon_fail(M->ctx, KAON_ERR_ARGUMENT,
                     "clover logdet: parity is %d, but must be 0 (even), 1 (odd) or 2 (both)",
                     (int)parity);
  const kaon_fields *fields = kaon_fields_of(M);
  const kaon_dirac_family *family = kaon_dirac_family_of(fields);
  if (family->twist != 0)
    return kaon_fail(
        M->ctx, KAON_ERR_UNSUPPORTED,
        "clover logdet: mu is %g, so the site term is A + 2 i kappa mu gamma_5, whose determinant "
        "is not offered; for det A alone make the operator with mu = 0",
        family->twist / (2 * family->kappa));
  if (!kaon_has_clover(family))
    return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                     "clover logdet: csw is 0, so there is no clover term (its determinant is 1)");
  KAON_TRY(kaon_current(M->revision));
  kaon_clover_det det;
  KAON_TRY(kaon_dirac_family_det(family, parity, &det));
  if (negative == NULL && det.negative % 2 != 0)
    return kaon_fail(
        M->ctx, KAON_ERR_ARGUMENT,
        "clover logdet: det A is negative (%lld blocks are, at kappa = %g, csw = %g), so it has no "
        "real logarithm; ask for the number of negative blocks together with log |det A|",
        (long long)det.negative, family->kappa, family->csw);
  *logdet = det.log_abs;
  if (negative != NULL) *negative = det.negative;
  return KAON_OK;
}
