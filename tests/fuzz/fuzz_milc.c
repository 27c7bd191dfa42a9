/* fuzz_milc.c - libFuzzer harness: MILC version 5. */
#include "fuzz_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_gauge(data, size, KAON_FORMAT_MILC);
  return 0;
}
