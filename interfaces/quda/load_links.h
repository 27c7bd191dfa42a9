/* load_links.h - loadGaugeQuda() and loadCloverQuda() for functions of the interface that have an error of
 * their own. */
#pragma once

#include "fields.h"

/* Loads links. After a failure none of this type are loaded. Errors: ARGUMENT, STATE, UNSUPPORTED,
 * NOT_FINITE, MEMORY. */
kaon_status kaon_quda_load(const void *array, const QudaGaugeParam *param);
/* Loads a clover term. After a failure none is loaded. Errors: ARGUMENT, STATE, UNSUPPORTED,
 * NOT_FINITE, MEMORY. */
kaon_status kaon_quda_load_clover(void *clover, void *inverse, QudaInvertParam *param);

/* A copy of links with the signs, phases and factors that they lost. */
kaon_status kaon_quda_as_loaded(const kaon_quda_links *links, kaon_gauge **copy);
