/* output.h - output structs of the public interface: filled as far as the caller's goes.
 *
 * An output struct begins with its size, which the caller has set (its _INIT macro). Structs grow
 * from version to version of the library, at their end:
 *   smaller than here  what the caller does not know is left out
 *   larger than here   what this library does not know becomes 0 */
#ifndef KAON_LIB_OUTPUT_H
#define KAON_LIB_OUTPUT_H

#include <stddef.h>

#include "lib/core/error.h"

/* Refuses (ARGUMENT) a size that is not set. `what` names the struct, such as
 * "kaon_context_info". NULL: the caller wants no output, which is accepted. */
kaon_status kaon_output_check(const kaon_context *ctx, const char *what, const void *output);

/* Copies `made`, of `size` bytes, into an output that was checked, or NULL. */
void kaon_output_fill(void *output, const void *made, size_t size);

#endif
