/* domains.h - the sites of a space divided into domains: the blocks of an operator whose couplings
 * between blocks are left out (local_part in lib/operator/operator_internal.h). Domains take turns: those of one turn
 * are not coupled and are worked on at once; on a lattice, in red-black order, there are two.
 * Tables are in the context's memory. */
#ifndef KAON_LIB_DOMAINS_H
#define KAON_LIB_DOMAINS_H

#include "lib/operator/domain_view.h"
#include "lib/vector/space.h"

typedef struct kaon_domains {
  kaon_context *ctx;
  int turns; /* that all ranks' domains take */
  int turn;  /* of the only domain, where there is one */
  kaon_domain_view view;
} kaon_domains;

/* From tables of the host: domain as above; order: the nsites site numbers in the order in which
 * sums over a domain take them; turn[count]. Of a single domain there are no tables: domain and
 * order are not looked at. Errors: MEMORY. */
kaon_status kaon_domains_create(const kaon_space *space, int count, const int32_t *domain,
                                const int32_t *order, const int32_t *turn, int turns,
                                kaon_domains **domains);
void kaon_domains_destroy(kaon_domains **domains);

#endif
