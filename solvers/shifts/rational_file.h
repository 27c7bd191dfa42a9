/* rational_file.h - reads coefficients from bytes, of a file or of memory (for fuzzing). */
#pragma once

#include <kaon/multishift.h>

#include "lib/io/bytes.h"

/* As kaon_rational_read. */
kaon_status kaon_rational_from_bytes(const kaon_context *ctx, const kaon_bytes *bytes,
                                     kaon_rational *r);
