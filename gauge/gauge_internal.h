/* gauge_internal.h - the inside of kaon_gauge, and the double-precision ("wide") links on which
 * link physics works. */
#pragma once

#include <kaon/gauge.h>

#include "gauge/gauge_ops.h"
#include "lib/grid/site_table.h"
#include "lib/operator/revision.h"

/* Name, in messages, of links that were not made of other links. */
#define KAON_LINKS "links"

struct kaon_gauge {
  int references;
  kaon_context *ctx;
  kaon_lattice *lattice; /* retained */
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  kaon_revision *revision;
  void *links[2]; /* one array a parity, odd directly after even (lib/vector/README.md) */
};

void kaon_gauge_retain(kaon_gauge *gauge);
kaon_precision kaon_gauge_precision(const kaon_gauge *gauge);
kaon_reconstruct kaon_gauge_reconstruct(const kaon_gauge *gauge);
/* The link array of one parity, as the field stores it. */
const void *kaon_gauge_links(const kaon_gauge *gauge, int parity);

/* Links in 18 doubles: the field's own array if it has this storage, else a copy. */
typedef struct kaon_wide_links {
  kaon_lattice *lattice;
  void *links[2];
  int copy; /* 1: allocated from the pool */
} kaon_wide_links;

/* Allocates wide links with unspecified contents. */
kaon_status kaon_wide_create(kaon_lattice *lattice, kaon_wide_links *wide);
/* Opens the field's links for reading (fresh = 0), or memory for new ones (fresh = 1). The latter
 * is the field's own array if it is wide; then its content is lost if the new links are abandoned.
 * Collective. */
kaon_status kaon_wide_open(const kaon_gauge *gauge, int fresh, kaon_wide_links *wide);
/* Stores changed links in the field and counts the change. Refuses links off SU(3) (UNITARITY,
 * NOT_FINITE) if the field stores 12 or 8 reals, or always if `check`, and components that 18
 * reals in half cannot hold (UNSUPPORTED). `what` begins the message. */
kaon_status kaon_wide_commit(kaon_gauge *gauge, const kaon_wide_links *wide, int check,
                             const char *what);
/* Decodes the field's links into `wide`. */
kaon_status kaon_wide_decode(const kaon_gauge *gauge, const kaon_wide_links *wide);
void kaon_wide_close(kaon_wide_links *wide);

/* Fill the links beyond the faces of a partitioned lattice that paths from its sites reach: all of
 * them, or those of direction mu on one parity. `status`: the status of this rank so far, so that
 * no rank waits for one that failed. Collective. */
kaon_status kaon_wide_ghosts(const kaon_wide_links *wide, kaon_status status);
kaon_status kaon_wide_ghosts_of(const kaon_wide_links *wide, int parity, int mu);

/* Sums and the largest component (gauge_ops.h). Collective. */
kaon_status kaon_wide_size(const kaon_wide_links *wide, double size[KAON_SIZE_RESULTS]);
/* *largest = its maximum over all ranks. Collective. */
kaon_status kaon_largest_of_ranks(kaon_context *ctx, double *largest);
/* Finds the largest deviation from SU(3): `result` is filled as by the kernel `inspect`. */
kaon_status kaon_wide_inspect(const kaon_wide_links *wide, double result[KAON_INSPECT_RESULTS]);
/* Fails if a link is off SU(3) by more than KAON_UNITARITY_TOLERANCE. */
kaon_status kaon_wide_check(const kaon_wide_links *wide, const char *what);
/* Means over all ranks and both parities: Re tr / 3 of space planes, time planes and links. If
 * links are SU(3), the bits do not depend on ranks and threads (exact_sum.h). */
kaon_status kaon_wide_plaquette(const kaon_wide_links *wide, double mean[KAON_PLAQUETTE_MEANS]);

/* Host access to wide links for import, export and files: copies device links to host memory and
 * back. No copy if the host can read device memory. `load`: 1: copy the present links. */
typedef struct kaon_host_links {
  const kaon_wide_links *wide;
  double *links[2];
  int copy;
} kaon_host_links;
kaon_status kaon_host_open(const kaon_wide_links *wide, int load, kaon_host_links *host);
/* Sets the last blocks to zero, so that masked lanes are zero. */
void kaon_host_clear_tail(kaon_host_links *host);
kaon_status kaon_host_upload(kaon_host_links *host);
void kaon_host_close(kaon_host_links *host);

/* U_mu at a site; real c is at u[offset(c)]. */
typedef struct kaon_host_link {
  double *u;
  int width, pack;
} kaon_host_link;

static inline kaon_host_link kaon_host_link_at(const kaon_host_links *host, const int site[4],
                                               int mu) {
  const kaon_lattice *lattice = host->wide->lattice;
  const kaon_place at = kaon_lattice_place(lattice, site);
  const int width = lattice->stencil.width, pack = kaon_pack_of(lattice->ctx, 18, KAON_DOUBLE);
  double *links = host->links[at.parity];
  return (kaon_host_link){
      links + kaon_packed_link_index(at.block, mu, 0, at.lane,
                                     kaon_matrix_blocks(&lattice->stencil), 18, width, pack),
      width, pack};
}

static inline double *kaon_host_link_real(const kaon_host_link *link, int c) {
  return link->u + kaon_component_offset(c, link->width, link->pack);
}

/* Device memory for a kernel's results, and their copy to the host. */
typedef struct kaon_results {
  kaon_context *ctx;
  double *device;
} kaon_results;
kaon_status kaon_results_create(kaon_context *ctx, kaon_results *results);
kaon_status kaon_results_read(const kaon_results *results, int n, double *host);
void kaon_results_release(kaon_results *results);

/* Returns the double table, which has the link physics, or NOT_BUILT. */
kaon_status kaon_gauge_kernels(kaon_context *ctx, const kaon_gauge_ops **ops);

/* Arguments of kernels on wide links, for one parity. */
static inline kaon_links_args kaon_links_on(const kaon_wide_links *wide, int parity,
                                            const kaon_site_table *table, double *result) {
  return (kaon_links_args){.stencil = &wide->lattice->stencil,
                           .parity = parity,
                           .links = {wide->links[0], wide->links[1]},
                           .sites = table != NULL ? table->sites[parity] : NULL,
                           .result = result};
}
