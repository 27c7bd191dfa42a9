/* fuzz_multigrid.c - libFuzzer harness: headers of files of multigrid's bases. Options that a file
 * completes are within its ranges. */
#include "fuzz_common.h"
#include "multigrid/bases_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int extents[4] = {2, 2, 2, 2};
  kaon_multigrid_options o = KAON_MULTIGRID_OPTIONS_INIT;
  kaon_bytes bytes;
  kaon_bytes_from_memory(FUZZ_NAME, data, size, &bytes);
  const kaon_status status = kaon_bases_header_take(NULL, &bytes, extents, &o);
  fuzz_check_sentence(status);
  if (status != KAON_OK) return 0;
  require(o.levels >= 2 && o.levels <= KAON_MULTIGRID_LEVELS);
  for (int l = 0; l + 1 < o.levels; l++) {
    require(o.vectors[l] >= 1 && o.vectors[l] <= 32);
    for (int mu = 0; mu < 4; mu++) require(o.block[l][mu] >= 1 && o.block[l][mu] <= 4096);
  }
  return 0;
}
