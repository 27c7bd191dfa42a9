/* output.c - writes output structs of the public interface; no other code does. */
#include "lib/core/output.h"

#include <string.h>

/* Larger than any struct: a size above it was never set. */
static const size_t most_bytes = (size_t)1 << 20;

kaon_status kaon_output_check(const kaon_context *ctx, const char *what, const void *output) {
  if (output == NULL) return KAON_OK;
  const size_t size = *(const size_t *)output;
  if (size >= sizeof size && size <= most_bytes) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "%s: its member size is %zu, which is not the size of such a struct; start from "
                   "its _INIT macro",
                   what, size);
}

void kaon_output_fill(void *output, const void *made, size_t size) {
  if (output == NULL) return;
  const size_t room = *(size_t *)output;
  const size_t known = room < size ? room : size;
  memcpy(output, made, known);
  if (room > known) memset((char *)output + known, 0, room - known);
  *(size_t *)output = room;
}
