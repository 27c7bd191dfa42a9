/* domains.h - the sites of a space divided into domains: the blocks of an operator without
 * couplings between blocks (`local` in lib/operator/operator_internal.h). Domains are updated in
 * turns. Those of one turn are not coupled and are updated concurrently. On a lattice in red-black
 * order there are two turns. Tables are in the context's memory. */
#pragma once

#include "lib/operator/domain_view.h"
#include "lib/vector/space.h"

typedef struct kaon_domains {
  kaon_context *ctx;
  int turns; /* turns of all ranks' domains */
  int turn;  /* of the only domain, if there is one */
  kaon_domain_view view;
} kaon_domains;

/* Makes the tables from host tables. domain: as in kaon_domain_view. order: the nsites site indices
 * in the order in which sums over a domain add them. turn: count entries. A single domain has no
 * tables; domain and order are then ignored. Errors: MEMORY. */
kaon_status kaon_domains_create(const kaon_space *space, int count, const int32_t *domain,
                                const int32_t *order, const int32_t *turn, int turns,
                                kaon_domains **domains);
void kaon_domains_destroy(kaon_domains **domains);
