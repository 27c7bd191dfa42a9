/* domain_view.h - tables of a division into domains (lib/operator/domains.h), as kernels read
 * them. */
#pragma once

#include <stdint.h>

/* Tables in the context's memory. The index of a site is block * width + lane. */
typedef struct kaon_domain_view {
  int count;             /* number of domains */
  const int32_t *domain; /* [site]: its domain; -1: a masked lane */
  const int32_t *turn;   /* [domain]: the turn in which it is updated */
  const int64_t *first;  /* [count + 1]: the sites of domain d begin at list[first[d]] */
  const int32_t *list;   /* in an order that does not depend on the position of the domain */
} kaon_domain_view;
