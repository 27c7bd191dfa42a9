/* fuzz_nersc.c - libFuzzer harness: NERSC archives. */
#include "fuzz_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_gauge(data, size, KAON_FORMAT_NERSC);
  return 0;
}
