/* fuzz_lime.c - libFuzzer harness: gauge fields in LIME, ILDG and SciDAC. */
#include "fuzz_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_gauge(data, size, KAON_FORMAT_ILDG);
  return 0;
}
