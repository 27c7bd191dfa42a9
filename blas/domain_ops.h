/* domain_ops.h - kernel table of work by domains (lib/operator/domains.h): one per backend and precision.
 * NULL table: the backend has none, and works on a rank's whole part alone. */
#ifndef KAON_BLAS_DOMAIN_OPS_H
#define KAON_BLAS_DOMAIN_OPS_H

#include "blas/blas_ops.h"
#include "lib/operator/domain_view.h"

/* On every open column.
 *   mr    a step of minimal residuals in each domain by itself, q = A r with A of domains that are
 *         not coupled: a = relaxation (q, r) / (q, q) with sums over the domain's sites, in the
 *         order of the list; x += a r (fresh: x = a r), then r -= a q, both with the old r. Where
 *         (q, q) is 0 or a is not finite, a = 0
 *   mask  x = r in domains of `turn`, 0 elsewhere */
typedef struct kaon_domain_args {
  kaon_shape shape;
  kaon_domain_view domains;
  kaon_view x, r, q;
  double relaxation;
  int fresh;
  int turn;
  double *work; /* mr: KAON_DOMAIN_WORK doubles a site, masked lanes too, and column, then 2 a
                   domain and column */
  kaon_gate gate;
  /* CPU, mr: these domains, which have these blocks of lanes for themselves; NULL: all */
  const int32_t *blocks, *list;
  int64_t nblocks;
  int listed;
} kaon_domain_args;

enum { KAON_DOMAIN_WORK = 3 };

typedef struct kaon_domain_ops {
  void (*mr)(const kaon_launch *launch, const kaon_domain_args *args);
  void (*mask)(const kaon_launch *launch, const kaon_domain_args *args);
} kaon_domain_ops;

#endif
