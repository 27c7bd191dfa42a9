/* coarse_internal.h - the fields of coarse operators in the frame (dslash/operator/frame.h). */
#pragma once

#include "dslash/coarse/coarse.h"
#include "dslash/coarse/coarse_ops.h"
#include "dslash/operator/frame.h"

typedef struct kaon_coarse_family {
  kaon_family base;
  kaon_coarse_links links; /* as given, owned */
  int half_matrices;       /* 1: fields in single precision have matrices in half */
} kaon_coarse_family;

typedef struct kaon_coarse_fields {
  kaon_fields base;
  kaon_coarse_links links; /* the family's own if they have this precision, else copies */
  int owns;                /* 1: copies */
  kaon_vector *inverse[2]; /* T^-1 by parity; NULL: not stored */
} kaon_coarse_fields;

static inline const kaon_coarse_family *kaon_coarse_family_of(const kaon_fields *fields) {
  return (const kaon_coarse_family *)fields->family;
}
static inline const kaon_coarse_fields *kaon_coarse_fields_of(const kaon_fields *fields) {
  return (const kaon_coarse_fields *)fields;
}
static inline const kaon_coarse_ops *kaon_coarse_table(const kaon_fields *fields) {
  return fields->family->ctx->backend->coarse[fields->precision];
}
/* Numbers of a site. */
static inline int kaon_coarse_reals(const kaon_fields *fields) {
  return fields->family->spaces->ncomp;
}

/* ---- parts of the action (coarse_hop.c) ---- */

kaon_status kaon_coarse_hop(const kaon_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass);
kaon_status kaon_coarse_site(const kaon_fields *fields, int parity, kaon_mode mode,
                             kaon_site_kind kind, const kaon_vector *in, kaon_vector *out,
                             const kaon_pass *pass);
kaon_status kaon_coarse_halos(const kaon_fields *fields, int columns, kaon_halo *halos[2],
                              int *count, int *fused);
kaon_cost kaon_coarse_cost(const kaon_fields *fields, kaon_form form, int columns);
