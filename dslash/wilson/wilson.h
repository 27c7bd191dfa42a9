/* wilson.h - the fields of Wilson-like operators in the frame (dslash/operator/frame.h): spinors of
 * 24 reals a site, one field of links, clover blocks. Their two kernels are the fused hop and the
 * clover multiplication of dslash/dslash_ops.h. */
#pragma once

#include "dslash/dslash_ops.h"
#include "dslash/operator/frame.h"
#include "gauge/clover_term.h"

enum { KAON_SPINOR_REALS = 24 };

/* Recorded hops, with all their launch arguments. `count` may exceed the capacity: then some hops
 * were not recorded. */
enum { KAON_RECORDED_HOPS = 2 };
typedef struct kaon_recorded_hops {
  int count;
  kaon_hop_args hop[KAON_RECORDED_HOPS];
} kaon_recorded_hops;

typedef struct kaon_dirac_family {
  kaon_family base;
  double kappa, csw, anisotropy;
  double electric;  /* clover coefficient of planes with t, over csw */
  double twist;     /* 2 kappa mu; 0: no twisted mass */
  double *given[2]; /* by parity: A of the application, as in gauge/clover_term.h; NULL: A is made
                       from the links with csw */
  int backward;     /* direction of the last hop's walk: where links mostly fit a core's cache, each
                       walk reverses the last one and begins with what that one read last */
  kaon_recorded_hops *recorded_hops; /* not NULL: hops are recorded here instead of run */
} kaon_dirac_family;

/* 0: A is the number 1. */
static inline int kaon_has_clover(const kaon_dirac_family *family) {
  return family->csw != 0 || family->given[0] != NULL;
}

/* Clover blocks of one kind and parity. */
typedef struct kaon_blocks {
  void *data;   /* [block][72][W], see lib/math/clover.h; NULL: not stored */
  float *scale; /* half: [block][chirality][W] */
} kaon_blocks;

typedef struct kaon_dirac_fields {
  kaon_fields base;
  kaon_gauge *links; /* the family's own field if it has this storage, else a copy */
  kaon_blocks blocks[KAON_SITE_KINDS][2];
  uint32_t *neighbour[2]; /* temporal gauge: private tables that mark unit links */
} kaon_dirac_fields;

static inline kaon_dirac_family *kaon_dirac_family_of(const kaon_fields *fields) {
  return (kaon_dirac_family *)fields->family;
}
static inline const kaon_dirac_fields *kaon_dirac_fields_of(const kaon_fields *fields) {
  return (const kaon_dirac_fields *)fields;
}

/* ---- parts of an action (wilson_fields.c, clover.c, clover_import.c, spinor_hop.c) ---- */

kaon_status kaon_dirac_build(kaon_fields *fields);
kaon_status kaon_dirac_fill(kaon_fields *fields);
void kaon_dirac_fields_release(kaon_fields *fields);
/* A clover term in host memory, as in kaon_dirac_create_clover(). */
typedef struct kaon_host_clover {
  kaon_gauge_order order;
  kaon_precision precision;
  const void *reals;
} kaon_host_clover;
/* Makes it the family's `given`, which is unchanged after a failure. Collective. Errors: ARGUMENT,
 * NOT_FINITE, MEMORY. */
kaon_status kaon_clover_import(kaon_dirac_family *family, const kaon_host_clover *term);
void kaon_dirac_family_release(kaon_family *family);
/* The clover blocks: A as T, and (A^2 + twist^2)^-1, or without a twist A^-1, as T^-1. */
kaon_status kaon_clover_fill(kaon_fields *fields, unsigned sites);
kaon_status kaon_clover_diagonal(const kaon_family *family, double *psi);
kaon_status kaon_clover_site(const kaon_fields *fields, int parity, kaon_mode mode,
                             kaon_site_kind kind, const kaon_vector *in, kaon_vector *out,
                             const kaon_pass *pass);
kaon_status kaon_clover_updated_site(const kaon_fields *fields, int parity, kaon_mode mode,
                                     kaon_site_kind kind, int slot, double sign,
                                     const kaon_vector *w, kaon_vector *in, kaon_vector *out,
                                     const kaon_pass *pass);
kaon_status kaon_spinor_hop(const kaon_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass);
kaon_status kaon_spinor_halos(const kaon_fields *fields, int columns, kaon_halo *halos[2],
                              int *count, int *fused);
kaon_cost kaon_spinor_cost(const kaon_fields *fields, kaon_form form, int columns);
extern const kaon_free_access kaon_spinor_free_blocks;

/* The row of twisted mass (dslash/twisted/twisted.c). */
extern const kaon_action kaon_twisted_action;

/* det A over the sites of `parity` (KAON_FULL: of both). */
kaon_status kaon_dirac_family_det(const kaon_dirac_family *family, kaon_parity parity,
                                  kaon_clover_det *det);
