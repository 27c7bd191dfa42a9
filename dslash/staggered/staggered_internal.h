/* staggered_internal.h - the fields of staggered operators in the frame (dslash/operator/frame.h):
 * vectors of 6 reals a site, links of hops of one site and perhaps of three. */
#pragma once

#include <kaon/staggered.h>

#include "dslash/operator/frame.h"
#include "dslash/staggered/staggered_ops.h"

/* The coordinates whose parities make up eta_mu, one bit for each direction. */
void kaon_staggered_masks(kaon_staggered_phases phases, uint8_t masks[4]);

/* eta_mu(site) times the boundary sign of a forward hop of `steps` sites. Coordinates are those of
 * the whole lattice. */
int kaon_staggered_sign(const kaon_lattice *lattice, const uint8_t masks[4], int mu, int steps,
                        const int site[4]);

/* Creates tables of hops of `steps` sites (hop_table.c); none where kernels compute neighbours. */
kaon_status kaon_hop_table_create(kaon_lattice *lattice, int steps, const uint8_t masks[4],
                                  kaon_hop_table *reach);
void kaon_hop_table_destroy(kaon_context *ctx, kaon_hop_table *reach);

/* links[0] of the family are thin or fat links, links[1] long ones (NULL: naive action). */
typedef struct kaon_staggered_family {
  kaon_family base;
  kaon_staggered_options options;
  uint8_t masks[4];
  kaon_hop_table reach[2];
} kaon_staggered_family;

/* Links of one kind in one storage. */
typedef struct kaon_staggered_links {
  kaon_gauge *links; /* the family's own field if it has this storage, else a copy */
  void *phase[2];    /* one allocation, odd after even; NULL: no phases */
  double factor;
  /* Ghost links beyond the backward face in each direction (staggered_ghosts.c): even links, odd
   * links, then their phases. NULL: none. */
  void *ghosts[4];
  size_t ghost_sites[4], ghost_bytes[4]; /* sites of a parity, in whole blocks; bytes of all */
} kaon_staggered_links;

typedef struct kaon_staggered_fields {
  kaon_fields base;
  kaon_staggered_links fat, naik;
} kaon_staggered_fields;

static inline const kaon_staggered_family *kaon_staggered_family_of(const kaon_fields *fields) {
  return (const kaon_staggered_family *)fields->family;
}
static inline const kaon_staggered_fields *kaon_staggered_fields_of(const kaon_fields *fields) {
  return (const kaon_staggered_fields *)fields;
}

/* ---- parts of the action (staggered_fields.c, staggered_hop.c) ---- */

kaon_status kaon_staggered_links_build(kaon_fields *fields);
kaon_status kaon_staggered_links_fill(kaon_fields *fields);
void kaon_staggered_links_release(kaon_fields *fields);
kaon_status kaon_colour_hop(const kaon_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass);
kaon_status kaon_colour_halos(const kaon_fields *fields, int columns, kaon_halo *halos[2],
                              int *count, int *fused);
kaon_cost kaon_colour_cost(const kaon_fields *fields, kaon_form form, int columns);

/* ---- preparing links (staggered_links.c); `from` has 18 reals ---- */

/* Over all ranks: the largest |component|, and the square root of the mean of |row|^2. Errors:
 * NOT_FINITE. */
kaon_status kaon_staggered_measure(const kaon_gauge *from, double *largest, double *row);
/* to = factor * from. `to` has 18 reals and its own storage. */
kaon_status kaon_staggered_scale(const kaon_gauge *from, double factor, kaon_gauge *to);
/* Splits factor * from = e^{i theta} V: V goes into `to`, theta into its phases. If all phases are
 * 1, none are stored. */
kaon_status kaon_staggered_split(const kaon_gauge *from, double factor, kaon_staggered_links *to);

/* ---- ghost links (staggered_ghosts.c) ---- */

/* Receives the ghost links of hops of `steps` sites from the neighbours, if kernels need them
 * (kaon_staggered_ops.face_links); else does nothing. Collective; all ranks return the same status.
 * Uses host memory. Errors: MEMORY, COMM, DEVICE. */
kaon_status kaon_staggered_ghosts_fill(kaon_staggered_links *links, int steps);
void kaon_staggered_ghosts_release(kaon_context *ctx, kaon_staggered_links *links);

/* The links in the form that kernels read. */
kaon_hop_links kaon_staggered_links_of(const kaon_staggered_links *from);
