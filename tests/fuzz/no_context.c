/* no_context.c - what parsers would call of a context. Harnesses pass none, so nothing is called. */
#include <stdlib.h>

#include "lib/core/context_internal.h"
#include "lib/core/threads.h"

int kaon_forks(void) {
  return 0;
}

void kaon_context_retain(kaon_context *ctx) {
  (void)ctx;
  abort();
}

void kaon_context_release(kaon_context *ctx) {
  (void)ctx;
  abort();
}
