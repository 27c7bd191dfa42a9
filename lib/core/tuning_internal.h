/* tuning_internal.h - the lookup of measured choices between a call and its launch.
 * Host code that submits a kernel with choices calls kaon_tuning_apply after kaon_launch_prepare.
 * Then `prefetch` (a cache level) and `stream_stores` are final. `tuned` holds shapes for the
 * launcher, which uses its default for 0 and for a shape that it was not compiled for. */
#pragma once

#include <kaon/context.h>

#include "lib/core/context_internal.h"

/* Returns the entry for this call, or NULL: automatic. sites: of both parities. */
const kaon_tuning_entry *kaon_tuning_lookup(const kaon_context *ctx, kaon_tuned kernel,
                                            kaon_precision precision, int reconstruct, int columns,
                                            int64_t sites);
void kaon_tuning_apply(const kaon_context *ctx, kaon_tuned kernel, kaon_precision precision,
                       int reconstruct, int columns, int64_t sites, kaon_launch *launch);
void kaon_tuning_release(kaon_context *ctx);
