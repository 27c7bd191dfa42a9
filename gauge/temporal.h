/* temporal.h - the temporal gauge: the transformation g(x) that makes t links the identity on all
 * slices except the last, g(x, t + 1) = g(x, t) U_t(x, t), g(x, 0) = 1; and its action on
 * spinors. */
#pragma once

#include <kaon/operator.h>

#include "gauge/gauge_internal.h"

/* g in double, [parity][block][18][W], with the site table used to build it. */
typedef struct kaon_transporter {
  kaon_lattice *lattice;
  kaon_site_table table;
  void *g[2];
} kaon_transporter;

kaon_status kaon_transporter_create(const kaon_wide_links *wide, kaon_transporter *transporter);
/* Computes the sum over space of tr prod_t U_t. */
kaon_status kaon_transporter_trace(const kaon_transporter *transporter, const kaon_wide_links *wide,
                                   double sum[2]);
void kaon_transporter_release(kaon_transporter *transporter);

/* A stored g that rotates spinors of every precision. */
typedef struct kaon_temporal kaon_temporal;
/* Builds g. Retains the lattice, not the field. Collective. Errors: MEMORY. */
kaon_status kaon_temporal_create(const kaon_gauge *gauge, kaon_temporal **rotation);
/* Rebuilds g in place from the field's present links. Collective. Errors: SHAPE (another lattice),
 * MEMORY. */
kaon_status kaon_temporal_update(kaon_temporal *rotation, const kaon_gauge *gauge);
void kaon_temporal_destroy(kaon_temporal **rotation);
/* PLAIN: out = g in; DAGGER: out = g^dag in; in and out may be the same vector. Both are spinors of
 * `parity` (KAON_EVEN, KAON_ODD or KAON_FULL) of the rotation's lattice, of one precision and
 * number of columns. gate: the columns to work on, NULL: all. Asynchronous. Errors: SHAPE,
 * PRECISION. */
kaon_status kaon_temporal_rotate(const kaon_temporal *rotation, int parity, kaon_mode mode,
                                 const kaon_vector *in, kaon_vector *out, const kaon_gate *gate);
