/* fuzz_detect.c - libFuzzer harness: detection of the format by content, then its parser. */
#include "fuzz_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_gauge(data, size, KAON_FORMAT_AUTO);
  return 0;
}
