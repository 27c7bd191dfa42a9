/* fuzz_propagator.c - libFuzzer harness: USQCD propagator files. */
#include "fuzz_common.h"
#include "lib/io/formats/propagator_file.h"

typedef struct fuzz_spinors {
  const kaon_propagator_file_info *info;
  int64_t solutions, sources;
} fuzz_spinors;

static void check(const kaon_propagator_file_info *info, int column, int64_t site) {
  int64_t volume = 1;
  for (int d = 0; d < 4; d++) volume *= info->extents[d];
  require(column >= 0 && column < info->columns && site >= 0 && site < volume);
}

static void put_spinor(void *sink, int column, int64_t site, const double psi[24]) {
  fuzz_spinors *s = sink;
  (void)psi;
  check(s->info, column, site);
  s->solutions++;
}

static void put_source(void *sink, int column, int64_t site, const double *values) {
  fuzz_spinors *s = sink;
  (void)values;
  check(s->info, column, site);
  s->sources++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kaon_bytes bytes;
  kaon_propagator_file_info info = KAON_PROPAGATOR_FILE_INFO_INIT;
  kaon_propagator_read_options options = KAON_PROPAGATOR_READ_OPTIONS_INIT;
  kaon_bytes_from_memory(FUZZ_NAME, data, size, &bytes);
  for (int forgiving = 0; forgiving < 2; forgiving++) {
    fuzz_spinors spinors = {&info, 0, 0};
    options.ignore_checksum = forgiving;
    options.basis = forgiving ? KAON_PROPAGATOR_DEGRAND_ROSSI : KAON_PROPAGATOR_UKQCD;
    kaon_status status =
        kaon_propagator_bytes_read(NULL, &bytes, &options, &info, put_spinor, put_source, &spinors);
    fuzz_check_sentence(status);
    int64_t volume = 1;
    for (int d = 0; d < 4; d++) volume *= info.extents[d];
    require(status != KAON_OK || spinors.solutions == volume * info.columns);
  }
  return 0;
}
