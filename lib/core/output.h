/* output.h - output structs of the public interface, filled up to the size that the caller knows.
 *
 * An output struct begins with its size, which the caller has set (its _INIT macro). New versions
 * of the library add members at the end of a struct:
 *   smaller than here  members beyond the caller's size are omitted
 *   larger than here   members that this library does not know become 0 */
#pragma once

#include <stddef.h>

#include "lib/core/error.h"

/* Fails with ARGUMENT if the size is not set. `what` names the struct, such as "kaon_context_info".
 * output NULL: the caller wants no output; returns KAON_OK. */
kaon_status kaon_output_check(const kaon_context *ctx, const char *what, const void *output);

/* Copies `made`, of `size` bytes, into an output that was checked. output NULL: does nothing. */
void kaon_output_fill(void *output, const void *made, size_t size);
