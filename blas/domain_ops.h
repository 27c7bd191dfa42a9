/* domain_ops.h - kernel table of operations on domains (lib/operator/domains.h), one for each
 * backend and precision. NULL table: the backend supports only one domain, the rank's whole
 * part. */
#pragma once

#include "blas/blas_ops.h"
#include "lib/operator/domain_view.h"

/* For every open column:
 *   mr    one minimal residual step in each domain separately, with q = A r and A without couplings
 *         between domains: a = relaxation (q, r) / (q, q), summed over the domain's sites in the
 *         order of the list; x += a r (fresh: x = a r), then r -= a q, both with the old r. a = 0
 *         if (q, q) is 0 or a is not finite
 *   mask  x = r in domains of `turn`, 0 elsewhere */
typedef struct kaon_domain_args {
  kaon_shape shape;
  kaon_domain_view domains;
  kaon_view x, r, q;
  double relaxation;
  int fresh;
  int turn;
  /* mr: KAON_DOMAIN_WORK doubles for each site (masked lanes too) and column, then 2 for each
   * domain and column. */
  double *work;
  kaon_gate gate;
  /* CPU, mr: only these domains, whose lanes fill these blocks; NULL: all */
  const int32_t *blocks, *list;
  int64_t nblocks;
  int listed;
} kaon_domain_args;

enum { KAON_DOMAIN_WORK = 3 };

typedef struct kaon_domain_ops {
  void (*mr)(const kaon_launch *launch, const kaon_domain_args *args);
  void (*mask)(const kaon_launch *launch, const kaon_domain_args *args);
} kaon_domain_ops;
