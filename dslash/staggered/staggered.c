/* staggered.c - M = 2 m + D on staggered vectors, with thin links or with fat and long ones: its
 * row in the frame (dslash/operator/frame.h) and its public functions. D is anti-Hermitian, so the
 * even-odd reduction is the squared one, 4 m^2 - D_pq D_qp. */
#include <kaon/context.h>

#include "dslash/staggered/staggered_internal.h"
#include "lib/core/options_table.h"
#include "lib/core/entry.h"

static kaon_status diagonal(const kaon_family *family, double *host) {
  const size_t count = (size_t)family->lattice->volume * KAON_STAGGERED_REALS;
  for (size_t i = 0; i < count; i += 2) host[i] = family->number;
  return KAON_OK;
}

static void release_family(kaon_family *family) {
  kaon_staggered_family *self = (kaon_staggered_family *)family;
  for (int i = 0; i < 2; i++) kaon_hop_table_destroy(family->ctx, &self->reach[i]);
}

static const kaon_action staggered = {
    .name = "staggered",
    .update = "kaon_staggered_update",
    .forms = {[KAON_FORM_SQUARED] = "staggered even-odd", [KAON_FORM_WHOLE] = "staggered"},
    .reals = KAON_STAGGERED_REALS,
    .fields_size = sizeof(kaon_staggered_fields),
    .build = kaon_staggered_links_build,
    .fill = kaon_staggered_links_fill,
    .release_fields = kaon_staggered_links_release,
    .release_family = release_family,
    .hop = kaon_colour_hop,
    .halos = kaon_colour_halos,
    .cost = kaon_colour_cost,
    .diagonal = diagonal,
};

static kaon_status refuse(kaon_gauge *links, kaon_gauge *naik,
                          const kaon_staggered_options *options) {
  kaon_context *ctx = links->ctx;
  if (naik != NULL && naik->lattice != links->lattice)
    return kaon_fail(ctx, KAON_ERR_SHAPE,
                     "staggered: fat and long links are of two lattices; create both on one "
                     "kaon_lattice");
  const kaon_gauge *const fields[2] = {links, naik};
  for (int i = 0; i < 2 && naik != NULL; i++)
    if (fields[i]->reconstruct != KAON_RECONSTRUCT_18 || fields[i]->precision == KAON_HALF)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "staggered: %s links are stored in %d reals of precision number %d, but "
                       "general matrices need 18 in double or single",
                       i == 0 ? "fat" : "long", (int)fields[i]->reconstruct,
                       (int)fields[i]->precision);
  const kaon_staggered_ops *ops = ctx->backend->staggered[options->precision];
  if (!kaon_lattice_partitioned(links->lattice) || ops == NULL) return KAON_OK;
  if (ops->gather == NULL)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "staggered: backend %s has no operators on a lattice that is divided among "
                     "ranks; use one rank, or --backend cpu",
                     ctx->backend->name);
  return naik != NULL ? kaon_faces_far(links->lattice) : KAON_OK;
}

kaon_status kaon_staggered_create(kaon_gauge *links, kaon_gauge *naik,
                                  const kaon_staggered_options *options, kaon_operator **M) {
  kaon_staggered_options own;
  if (M != NULL) *M = NULL;
  KAON_ENTER(KAON_OF(links), links, M);
  kaon_family *family = NULL;
  kaon_context *ctx = links->ctx;
  kaon_status status = KAON_OK;
  KAON_TRY(kaon_options_share(ctx, KAON_OK, KAON_OPTIONS_STAGGERED, options, &own, NULL, 0));
  KAON_TRY(refuse(links, naik, &own));
  KAON_TRY(kaon_family_create(&staggered, sizeof(kaon_staggered_family), links->lattice,
                              links->lattice->staggered, links, naik, &family));
  kaon_staggered_family *self = (kaon_staggered_family *)family;
  self->options = own;
  family->hop = 1;
  family->number = 2 * own.mass;
  family->reach = naik != NULL ? 3 : 1;
  kaon_staggered_masks(own.phases, self->masks);
  for (int i = 0; i < (naik != NULL ? 2 : 1) && status == KAON_OK; i++)
    status = kaon_hop_table_create(links->lattice, 2 * i + 1, self->masks, &self->reach[i]);
  if (status == KAON_OK)
    return kaon_lattice_operator_first(family, own.precision, own.reconstruct, M);
  kaon_family_release(&family);
  return kaon_agree(ctx, status);
}

kaon_status kaon_staggered_update(kaon_operator *M) {
  KAON_ENTER(KAON_OF(M), M);
  KAON_TRY(kaon_lattice_operator_need(M, KAON_STAGGERED_REALS, "staggered update"));
  return kaon_family_update(kaon_fields_of(M)->family);
}

kaon_status kaon_staggered_hop(kaon_operator *M, kaon_parity parity, const kaon_vector *in,
                               kaon_vector *out) {
  KAON_ENTER(KAON_OF(M), M, in, out);
  KAON_TRY(kaon_lattice_operator_need(M, KAON_STAGGERED_REALS, "staggered hop"));
  return kaon_lattice_operator_hop(M, "staggered hop", parity, KAON_PLAIN, in, out);
}

kaon_status kaon_staggered_even_odd(kaon_operator *M, kaon_parity parity, kaon_operator **reduced) {
  if (reduced != NULL) *reduced = NULL;
  KAON_ENTER(KAON_OF(M), M, reduced);
  if (parity != KAON_EVEN && parity != KAON_ODD)
    return kaon_fail(M->ctx, KAON_ERR_ARGUMENT,
                     "staggered even-odd: parity is %d, but must be 0 (even) or 1 (odd)",
                     (int)parity);
  KAON_TRY(kaon_lattice_operator_need(M, KAON_STAGGERED_REALS, "staggered even-odd"));
  if (kaon_fields_of(M)->family->number == 0)
    return kaon_fail(M->ctx, KAON_ERR_ARGUMENT,
                     "staggered even-odd: the mass is 0, so the solution on the other parity "
                     "cannot be reconstructed; take a mass that is not 0");
  return kaon_lattice_operator_reduce(M, "staggered even-odd", KAON_FORM_SQUARED, parity, 0,
                                      reduced);
}
