/* fields.h - links and clover terms that clients have loaded, until they are freed or replaced.
 * loadGaugeQuda() and loadCloverQuda() fill them, solves and observables read them. */
#pragma once

#include "state.h"

/* What is loaded. Errors: ARGUMENT (a type that kaon does not keep), STATE (nothing loaded; the
 * sentence names the call that is missing). */
kaon_status kaon_quda_loaded(QudaLinkType type, const kaon_quda_links **links);
kaon_status kaon_quda_loaded_clover(const kaon_quda_clover **clover);

/* Ends the process if an argument of the client's call that must not be NULL is. */
#define KAON_QUDA_NEED(argument) \
  ((argument) != NULL            \
       ? (void)0                 \
       : kaon_quda_check(        \
             __func__,           \
             kaon_quda_refuse(KAON_ERR_ARGUMENT, "%s is NULL; pass a pointer to it", #argument)))

/* loadGaugeQuda() and loadCloverQuda() for calls that have an error of their own. After a failure
 * nothing of this type is loaded. Errors: ARGUMENT, STATE, UNSUPPORTED, NOT_FINITE, MEMORY. */
kaon_status kaon_quda_load(const void *array, const QudaGaugeParam *param);
kaon_status kaon_quda_load_clover(void *clover, void *inverse, QudaInvertParam *param);

/* A clover term belongs to the links that were loaded when it was. Call this before these links
 * change or go: it keeps them if the term is not made yet. `move` 0: it keeps a copy. 1: it takes the
 * field itself, and `links` has none afterwards. Errors: MEMORY. */
kaon_status kaon_quda_clover_keeps(kaon_quda_links *links, int move);

/* A field of 18 reals in double for a client's links. */
kaon_status kaon_quda_make_links(kaon_lattice *lattice, kaon_gauge **links);
/* A copy of links with the signs, phases and factors that they lost. */
kaon_status kaon_quda_as_loaded(const kaon_quda_links *links, kaon_gauge **copy);

/* Links from an array of a client, in any QudaGaugeFieldOrder, precision and location (param), into
 * a field of 18 reals in double. `factors` NULL: any matrices, as they are. Otherwise links in SU(3)
 * after these were divided out. Errors: UNITARITY (the field is then unchanged). */
kaon_status kaon_quda_import_links(kaon_gauge *gauge, const void *array,
                                   const QudaGaugeParam *param, const kaon_link_factors *factors);
kaon_status kaon_quda_export_links(const kaon_gauge *gauge, void *array,
                                   const QudaGaugeParam *param);

/* The number that multiplies the link of direction mu at a site x of the whole lattice, which has
 * `extents`. */
typedef double kaon_quda_link_factor(const int x[4], int mu, const int extents[4],
                                     const QudaGaugeParam *param);
/* Multiplies all links of a field of 18 reals in double. */
kaon_status kaon_quda_multiply_links(kaon_gauge *links, const QudaGaugeParam *param,
                                     kaon_quda_link_factor *factor);
