/* fields.c - families of lattice operators and the sets of fields that they share: one set for each
 * precision and link storage in use. Sets are filled from the family's links. */
#include <stdlib.h>

#include <kaon/context.h>

#include "dslash/operator/frame.h"

static kaon_status links_current(const kaon_gauge *links, const kaon_gauge *more) {
  if (links != NULL) KAON_TRY(kaon_current(links->revision));
  return more != NULL ? kaon_current(more->revision) : KAON_OK;
}

kaon_status kaon_family_create(const kaon_action *action, size_t size, kaon_lattice *lattice,
                               const kaon_space *spaces, kaon_gauge *links, kaon_gauge *more,
                               kaon_family **family) {
  KAON_TRY(links_current(links, more));
  kaon_family *made = calloc(1, size);
  if (made == NULL)
    return kaon_fail(lattice->ctx, KAON_ERR_MEMORY, "%s: out of host memory for an operator",
                     action->name);
  *made = (kaon_family){.action = action,
                        .references = 1,
                        .ctx = lattice->ctx,
                        .lattice = lattice,
                        .links = {links, more},
                        .spaces = spaces,
                        .reach = 1,
                        .has_sites = action->site != NULL};
  kaon_lattice_retain(lattice);
  for (int i = 0; i < 2; i++)
    if (made->links[i] != NULL) kaon_gauge_retain(made->links[i]);
  kaon_status status =
      kaon_revision_create(made->ctx, action->name, action->update, &made->revision);
  for (int i = 0; i < 2 && status == KAON_OK; i++)
    if (made->links[i] != NULL) kaon_made_of(made->revision, made->links[i]->revision);
  if (status != KAON_OK) kaon_family_release(&made);
  *family = made;
  return status;
}

void kaon_family_release(kaon_family **family) {
  kaon_family *gone = *family;
  *family = NULL;
  if (gone == NULL || --gone->references > 0) return;
  if (gone->action->release_family != NULL) gone->action->release_family(gone);
  for (int i = 0; i < 2; i++) kaon_gauge_destroy(&gone->links[i]);
  kaon_lattice_destroy(&gone->lattice);
  kaon_revision_release(&gone->revision);
  free(gone);
}

/* ---- filling ---- */

static kaon_status fill(kaon_fields *fields) {
  const kaon_family *family = fields->family;
  KAON_TRY(family->action->fill(fields));
  if (fields->rotation != NULL) KAON_TRY(kaon_temporal_update(fields->rotation, family->links[0]));
  fields->filled = 1;
  return KAON_OK;
}

kaon_status kaon_family_update(kaon_family *family) {
  KAON_TRY(links_current(family->links[0], family->links[1]));
  kaon_status worst = KAON_OK;
  for (kaon_fields *f = family->first; f != NULL; f = f->next) f->filled = 0;
  for (int doubles = 1; doubles >= 0;
       doubles--) /* the other precisions may round what these hold */
    for (kaon_fields *f = family->first; f != NULL; f = f->next) {
      if ((f->precision == KAON_DOUBLE) != doubles) continue;
      const kaon_status status = fill(f);
      if (status != KAON_OK) worst = status;
    }
  worst = kaon_agree(family->ctx, worst);
  kaon_made_anew(family->revision, worst);
  return worst;
}

kaon_status kaon_fields_need_rotation(kaon_fields *fields) {
  if (!fields->temporal || fields->rotation != NULL) return KAON_OK;
  return kaon_temporal_create(fields->family->links[0], &fields->rotation);
}

/* ---- sets of fields ---- */

void kaon_fields_release(kaon_fields **fields) {
  kaon_fields *gone = *fields;
  *fields = NULL;
  if (gone == NULL || --gone->references > 0) return;
  kaon_fields **at = &gone->family->first;
  while (*at != NULL && *at != gone) at = &(*at)->next;
  if (*at == gone) *at = gone->next;
  gone->family->action->release_fields(gone);
  kaon_temporal_destroy(&gone->rotation);
  kaon_family_release(&gone->family);
  free(gone);
}

/* Adds the T and T^-1 that an existing set lacks. */
static kaon_status extend(kaon_fields *fields, unsigned sites) {
  const unsigned missing = sites & ~fields->sites;
  if (missing == 0 || !fields->family->has_sites) return KAON_OK;
  KAON_TRY(fields->family->action->fill_sites(fields, missing));
  fields->sites |= missing;
  return KAON_OK;
}

static kaon_status build(kaon_fields *fields) {
  KAON_TRY(fields->family->action->build(fields));
  return fill(fields);
}

kaon_status kaon_fields_get(kaon_family *family, kaon_precision precision,
                            kaon_reconstruct reconstruct, int temporal, unsigned sites,
                            kaon_fields **fields) {
  KAON_TRY(kaon_current(family->revision));
  if (family->links[0] == NULL) reconstruct = KAON_RECONSTRUCT_18; /* there are none to store */
  for (kaon_fields *f = family->first; f != NULL; f = f->next) {
    if (f->precision != precision || f->reconstruct != reconstruct || f->temporal != temporal)
      continue;
    KAON_TRY(extend(f, sites));
    f->references++;
    *fields = f;
    return KAON_OK;
  }
  kaon_fields *made = calloc(1, family->action->fields_size);
  if (made == NULL)
    return kaon_fail(family->ctx, KAON_ERR_MEMORY, "%s: out of host memory for a set of fields",
                     family->action->name);
  *made = (kaon_fields){.references = 1,
                        .family = family,
                        .next = family->first,
                        .precision = precision,
                        .reconstruct = reconstruct,
                        .temporal = temporal,
                        .sites = sites,
                        .stencil = family->lattice->stencil};
  family->references++;
  family->first = made;
  const kaon_status status = build(made);
  *fields = made;
  if (status != KAON_OK) kaon_fields_release(fields);
  return status;
}
