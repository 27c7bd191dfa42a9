/* tuning_internal.h - the lookup that stands between a call and its launch. Host code that submits a kernel
 * with choices calls kaon_tuning_apply after kaon_launch_prepare; the launcher then finds
 * `prefetch` (a level of cache) and `stream_stores` decided, and in `tuned` what it may obey: 0 is
 * its own rule, and a shape that it was not compiled for is answered by its rule as well. */
#ifndef KAON_LIB_TUNING_H
#define KAON_LIB_TUNING_H

#include <kaon/context.h>

#include "lib/core/context_internal.h"

/* The entry for this call, or NULL: by rule. sites: of both parities. */
const kaon_tuning_entry *kaon_tuning_lookup(const kaon_context *ctx, kaon_tuned kernel,
                                            kaon_precision precision, int reconstruct, int columns,
                                            int64_t sites);
void kaon_tuning_apply(const kaon_context *ctx, kaon_tuned kernel, kaon_precision precision,
                       int reconstruct, int columns, int64_t sites, kaon_launch *launch);
void kaon_tuning_release(kaon_context *ctx);

#endif
