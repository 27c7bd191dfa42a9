/* fuzz_openqcd.c - libFuzzer harness: openQCD and DDalphaAMG. */
#include "fuzz_common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_gauge(data, size, KAON_FORMAT_OPENQCD);
  fuzz_gauge(data, size, KAON_FORMAT_DDALPHAAMG);
  return 0;
}
