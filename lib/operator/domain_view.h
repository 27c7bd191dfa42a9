/* domain_view.h - what kernels see of a division into domains (lib/operator/domains.h). */
#ifndef KAON_LIB_DOMAIN_VIEW_H
#define KAON_LIB_DOMAIN_VIEW_H

#include <stdint.h>

/* Tables in the context's memory. A site's number is block * width + lane. */
typedef struct kaon_domain_view {
  int count;             /* of domains */
  const int32_t *domain; /* [site]: its domain; -1: a masked tail lane */
  const int32_t *turn;   /* [domain]: which turn is its */
  const int64_t *first;  /* [count + 1]: domain d has the sites list[first[d]] .. */
  const int32_t *list;   /* in an order that does not depend on where the domain lies */
} kaon_domain_view;

#endif
