/* domain.h - vector functions on each domain separately (defined in blas/domain_ops.h). */
#pragma once

#include "lib/operator/domains.h"
#include "lib/operator/operator_internal.h"

/* 1: the context's backend has them in this precision. */
int kaon_domains_supported(const kaon_context *ctx, kaon_precision precision);
/* Size of the workspace of a step, in doubles. */
size_t kaon_domains_work(const kaon_space *space, const kaon_domains *domains, int columns);
/* x += a r (fresh: x = a r), r -= a q, with the minimal residual step length a of each domain and
 * column. Sums are local to a domain, so nothing is sent. Only the gate of pass is used. The caller
 * guarantees vectors of one space, precision and number of columns, without aliasing. Errors:
 * NOT_BUILT. */
kaon_status kaon_domains_mr(const kaon_domains *domains, double relaxation, int fresh,
                            kaon_vector *x, kaon_vector *r, const kaon_vector *q, double *work,
                            const kaon_pass *pass);
/* y = x in domains of `turn`, 0 elsewhere. */
kaon_status kaon_domains_mask(const kaon_domains *domains, int turn, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass);
