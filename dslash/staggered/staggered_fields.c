/* staggered_fields.c - the links that the operators of a staggered family share: one set for each
 * precision and storage in use. This file fills them and detects when they are stale.
 *
 *   naive     fat: SU(3) in 18, 12 or 8 reals
 *   improved  fat: 18 reals; in half divided by the largest component of the whole field
 *             naik: 18 reals, in half likewise; in 12 or 8 divided by its coefficient, an SU(3)
 *             matrix and, where the links are U(3), a phase beside it (13 or 9) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>

#include "dslash/staggered/staggered_internal.h"
#include "lib/core/threads.h"

/* ---- filling ---- */

/* Links of 18 reals: any matrices. */
static kaon_status fill_any(kaon_gauge *from, kaon_staggered_links *to) {
  double largest, row;
  to->factor = 1;
  if (to->links == from) return KAON_OK;
  if (to->links->precision != KAON_HALF) return kaon_gauge_copy(to->links, from);
  KAON_TRY(kaon_staggered_measure(from, &largest, &row));
  to->factor = largest > 0 ? largest : 1;
  return kaon_staggered_scale(from, 1 / to->factor, to->links);
}

static kaon_status fill_naik(const kaon_staggered_family *family, kaon_staggered_links *to) {
  kaon_gauge *from = family->naik;
  if (to->links->reconstruct == KAON_RECONSTRUCT_18) {
    KAON_TRY(fill_any(from, to));
  } else {
    double largest, row;
    KAON_TRY(kaon_staggered_measure(from, &largest, &row));
    to->factor = family->options.naik != 0 ? family->options.naik : -row;
    if (to->factor == 0)
      return kaon_fail(family->ctx, KAON_ERR_ARGUMENT,
                       "staggered: all long links are 0, so they are no multiples of U(3); pass "
                       "NULL for them, or keep 18 reals a link");
    KAON_TRY(kaon_staggered_split(from, 1 / to->factor, to));
  }
  to->factor *= 1 + family->options.naik_epsilon;
  return KAON_OK;
}

/* Fills the set without the ghost links. */
static kaon_status fill_local(kaon_staggered_fields *fields) {
  const kaon_staggered_family *family = fields->family;
  if (family->naik == NULL) {
    fields->fat.factor = 1;
    if (fields->fat.links != family->fat) KAON_TRY(kaon_gauge_copy(fields->fat.links, family->fat));
  } else {
    KAON_TRY(fill_any(family->fat, &fields->fat));
    KAON_TRY(fill_naik(family, &fields->naik));
    fields->revision[1] = kaon_gauge_revision(family->naik);
  }
  fields->revision[0] = kaon_gauge_revision(family->fat);
  return KAON_OK;
}

static kaon_status fill_all(kaon_staggered_fields *fields) {
  const kaon_staggered_family *family = fields->family;
  fields->filled = 0;
  const kaon_status status = fill_local(fields);
  if (kaon_lattice_partitioned(family->lattice)) {
    KAON_TRY(kaon_agree(family->ctx, status));
    KAON_TRY(kaon_staggered_ghosts_fill(&fields->fat, 1));
    if (family->naik != NULL) KAON_TRY(kaon_staggered_ghosts_fill(&fields->naik, 3));
  }
  KAON_TRY(status);
  fields->filled = 1;
  return KAON_OK;
}

static kaon_status fill(kaon_staggered_fields *fields) {
  KAON_RETURN_UNTRAPPED(fields->family->ctx, fill_all(fields));
}

kaon_status kaon_staggered_family_update(kaon_staggered_family *family) {
  kaon_status worst = KAON_OK;
  for (kaon_staggered_fields *f = family->first; f != NULL; f = f->next) {
    const kaon_status status = fill(f);
    if (status != KAON_OK) worst = status;
  }
  return worst;
}

kaon_status kaon_staggered_fields_check(const kaon_staggered_fields *fields) {
  const kaon_staggered_family *family = fields->family;
  if (!fields->filled)
    return kaon_fail(family->ctx, KAON_ERR_STALE,
                     "staggered: the last kaon_staggered_update of this operator failed; remove "
                     "the cause and call it again");
  const kaon_gauge *const links[2] = {family->fat, family->naik};
  for (int i = 0; i < 2; i++) {
    if (links[i] == NULL || kaon_gauge_revision(links[i]) == fields->revision[i]) continue;
    return kaon_fail(family->ctx, KAON_ERR_STALE,
                     "staggered: the links are at revision %llu but this operator was made from "
                     "revision %llu; call kaon_staggered_update",
                     (unsigned long long)kaon_gauge_revision(links[i]),
                     (unsigned long long)fields->revision[i]);
  }
  return KAON_OK;
}

/* ---- sets of fields ---- */

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

static kaon_status build(kaon_staggered_fields *fields) {
  const kaon_staggered_family *family = fields->family;
  const kaon_precision precision = fields->precision;
  if (family->naik == NULL) {
    KAON_TRY(place(family->fat, precision, fields->reconstruct, 1, &fields->fat));
  } else {
    const int whole = fields->reconstruct == KAON_RECONSTRUCT_18;
    KAON_TRY(place(family->fat, precision, KAON_RECONSTRUCT_18, 1, &fields->fat));
    KAON_TRY(place(family->naik, precision, fields->reconstruct, whole, &fields->naik));
  }
  return fill(fields);
}

static void links_release(kaon_context *ctx, kaon_staggered_links *links) {
  kaon_gauge_destroy(&links->links);
  kaon_pool_release(ctx, links->phase[0]);
  kaon_staggered_ghosts_release(ctx, links);
}

void kaon_staggered_family_release(kaon_staggered_family **family) {
  kaon_staggered_family *gone = *family;
  *family = NULL;
  if (gone == NULL || --gone->references > 0) return;
  for (int i = 0; i < 2; i++) kaon_hop_table_destroy(gone->ctx, &gone->reach[i]);
  kaon_gauge_destroy(&gone->naik);
  kaon_gauge_destroy(&gone->fat);
  free(gone);
}

void kaon_staggered_fields_release(kaon_staggered_fields **fields) {
  kaon_staggered_fields *gone = *fields;
  *fields = NULL;
  if (gone == NULL || --gone->references > 0) return;
  kaon_staggered_fields **at = &gone->family->first;
  while (*at != NULL && *at != gone) at = &(*at)->next;
  if (*at == gone) *at = gone->next;
  links_release(gone->family->ctx, &gone->fat);
  links_release(gone->family->ctx, &gone->naik);
  kaon_staggered_family_release(&gone->family);
  free(gone);
}

kaon_status kaon_staggered_fields_get(kaon_staggered_family *family, kaon_precision precision,
                                      kaon_reconstruct reconstruct,
                                      kaon_staggered_fields **fields) {
  for (kaon_staggered_fields *f = family->first; f != NULL; f = f->next) {
    if (f->precision != precision || f->reconstruct != reconstruct) continue;
    KAON_TRY(kaon_staggered_fields_check(f));
    f->references++;
    *fields = f;
    return KAON_OK;
  }
  kaon_staggered_fields *made = calloc(1, sizeof *made);
  if (made == NULL)
    return kaon_fail(family->ctx, KAON_ERR_MEMORY,
                     "staggered: out of host memory for a set of links");
  *made = (kaon_staggered_fields){.references = 1,
                                  .family = family,
                                  .next = family->first,
                                  .precision = precision,
                                  .reconstruct = reconstruct};
  family->references++;
  family->first = made;
  const kaon_status status = build(made);
  if (status != KAON_OK)
    kaon_staggered_fields_release(&made);
  else
    *fields = made;
  return status;
}
