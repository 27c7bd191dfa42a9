/* staggered_fields.c - the links of staggered operators in one precision and storage.
 *
 *   naive     fat: SU(3) in 12 or 8 reals, any matrices in 18; in half divided by the largest
 *             component, if that is above 1
 *   improved  fat: 18 reals; in half divided by the largest component of the whole field
 *             naik: 18 reals, in half likewise; in 12 or 8 divided by its coefficient, an SU(3)
 *             matrix and, where the links are U(3), a phase beside it (13 or 9) */
#include <stdlib.h>

#include "dslash/staggered/staggered_internal.h"
#include "lib/core/threads.h"

/* ---- filling ---- */

/* Links of 18 reals: any matrices. In half they are divided by their largest component, if that is
 * above `least`. */
static kaon_status fill_any(kaon_gauge *from, double least, kaon_staggered_links *to) {
  double largest, row;
  to->factor = 1;
  if (to->links == from) return KAON_OK;
  if (to->links->precision != KAON_HALF) return kaon_gauge_copy(to->links, from);
  KAON_TRY(kaon_staggered_measure(from, &largest, &row));
  if (largest <= least) return kaon_gauge_copy(to->links, from);
  to->factor = largest;
  return kaon_staggered_scale(from, 1 / to->factor, to->links);
}

static kaon_status fill_naik(const kaon_staggered_family *family, kaon_staggered_links *to) {
  kaon_gauge *from = family->base.links[1];
  if (to->links->reconstruct == KAON_RECONSTRUCT_18) {
    KAON_TRY(fill_any(from, 0, to));
  } else {
    double largest, row;
    KAON_TRY(kaon_staggered_measure(from, &largest, &row));
    to->factor = family->options.naik != 0 ? family->options.naik : -row;
    if (to->factor == 0)
      return kaon_fail(family->base.ctx, KAON_ERR_ARGUMENT,
                       "staggered: all long links are 0, so they are no multiples of U(3); pass "
                       "NULL for them, or keep 18 reals a link");
    KAON_TRY(kaon_staggered_split(from, 1 / to->factor, to));
  }
  to->factor *= 1 + family->options.naik_epsilon;
  return KAON_OK;
}

/* Fills the set without the ghost links. */
static kaon_status fill_local(kaon_staggered_fields *fields) {
  const kaon_staggered_family *family = kaon_staggered_family_of(&fields->base);
  kaon_gauge *fat = family->base.links[0];
  if (family->base.links[1] != NULL) {
    KAON_TRY(fill_any(fat, 0, &fields->fat));
    return fill_naik(family, &fields->naik);
  }
  if (fields->fat.links->reconstruct == KAON_RECONSTRUCT_18)
    return fill_any(fat, 1 + KAON_UNITARITY_TOLERANCE, &fields->fat);
  fields->fat.factor = 1;
  return fields->fat.links == fat ? KAON_OK : kaon_gauge_copy(fields->fat.links, fat);
}

static kaon_status fill_all(kaon_staggered_fields *fields) {
  const kaon_family *family = fields->base.family;
  const kaon_status status = fill_local(fields);
  if (kaon_lattice_partitioned(family->lattice)) {
    KAON_TRY(kaon_agree(family->ctx, status));
    KAON_TRY(kaon_staggered_ghosts_fill(&fields->fat, 1));
    if (family->links[1] != NULL) KAON_TRY(kaon_staggered_ghosts_fill(&fields->naik, 3));
  }
  return status;
}

kaon_status kaon_staggered_links_fill(kaon_fields *fields) {
  KAON_RETURN_UNTRAPPED(fields->family->ctx, fill_all((kaon_staggered_fields *)fields));
}

/* ---- storage ---- */

/* The family's own field if it has this storage; a scale or a coefficient requires a copy. */
static kaon_status place(kaon_gauge *from, kaon_precision precision, kaon_reconstruct reconstruct,
                         int shared, kaon_staggered_links *to) {
  if (shared && from->precision == precision && from->reconstruct == reconstruct) {
    to->links = from;
    kaon_gauge_retain(from);
    return KAON_OK;
  }
  return kaon_gauge_create(from->lattice, precision, reconstruct, &to->links);
}

kaon_status kaon_staggered_links_build(kaon_fields *base) {
  kaon_staggered_fields *fields = (kaon_staggered_fields *)base;
  kaon_gauge *fat = base->family->links[0], *naik = base->family->links[1];
  const kaon_context *ctx = base->family->ctx;
  const int whole = base->reconstruct == KAON_RECONSTRUCT_18;
  if (ctx->backend->staggered[base->precision] == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "staggered: backend %s %s has no staggered hop in this precision; choose "
                     "another backend or precision",
                     ctx->backend->name, ctx->backend->isa);
  if (naik == NULL) return place(fat, base->precision, base->reconstruct, 1, &fields->fat);
  KAON_TRY(place(fat, base->precision, KAON_RECONSTRUCT_18, 1, &fields->fat));
  return place(naik, base->precision, base->reconstruct, whole, &fields->naik);
}

static void links_release(kaon_context *ctx, kaon_staggered_links *links) {
  kaon_gauge_destroy(&links->links);
  kaon_pool_release(ctx, links->phase[0]);
  kaon_staggered_ghosts_release(ctx, links);
}

void kaon_staggered_links_release(kaon_fields *base) {
  kaon_staggered_fields *fields = (kaon_staggered_fields *)base;
  links_release(base->family->ctx, &fields->fat);
  links_release(base->family->ctx, &fields->naik);
}
