/* fuzz_rational.c - libFuzzer harness: coefficients of rational approximations. An accepted file
 * has its poles outside its interval and is within its error at both ends. */
#include <math.h>

#include "fuzz_common.h"
#include "solvers/shifts/rational_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kaon_rational r = {.terms = -1};
  kaon_bytes bytes;
  kaon_bytes_from_memory(FUZZ_NAME, data, size, &bytes);
  const kaon_status status = kaon_rational_from_bytes(NULL, &bytes, &r);
  fuzz_check_sentence(status);
  require((r.terms > 0) == (status == KAON_OK));
  if (status != KAON_OK) return 0;
  require(r.terms <= KAON_MULTISHIFT_MAX && r.lo > 0 && r.hi > r.lo);
  for (int i = 0; i < r.terms; i++) require(r.pole[i] > -r.lo && isfinite(r.residue[i]));
  require(fabs(kaon_rational_value(&r, r.lo) / pow(r.lo, r.power) - 1) <= 1.02 * r.error + 1e-12);
  return 0;
}
