/* fuzz_common.h - shared by the libFuzzer harnesses of the file parsers.
 * A harness feeds the bytes to one parser through memory. What must hold: no crash, no sanitizer
 * report; sites and directions in range; a failure leaves a sentence that names the file; success
 * delivers every link once. */
#ifndef KAON_FUZZ_COMMON_H
#define KAON_FUZZ_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/io/formats/gauge_job.h"

#define FUZZ_NAME "fuzz-input"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int condition) {
  if (!condition) __builtin_trap();
}

typedef struct fuzz_links {
  const kaon_gauge_file_info *info;
  int64_t count;
} fuzz_links;

static inline void fuzz_put(void *sink, int64_t site, int mu, const double u[18]) {
  fuzz_links *l = sink;
  int64_t volume = 1;
  (void)u;
  for (int d = 0; d < 4; d++) volume *= l->info->extents[d];
  require(site >= 0 && site < volume && mu >= 0 && mu < 4);
  l->count++;
}

static inline void fuzz_check_sentence(kaon_status status) {
  require(status == KAON_OK || strstr(kaon_last_error(NULL), FUZZ_NAME) != NULL);
}

/* One input through one gauge parser: probe, strict read, forgiving read with extents given. */
static inline void fuzz_gauge(const uint8_t *data, size_t size, kaon_file_format format) {
  kaon_bytes bytes;
  kaon_gauge_file_info info = KAON_GAUGE_FILE_INFO_INIT;
  kaon_gauge_read_options options = KAON_GAUGE_READ_OPTIONS_INIT;
  kaon_bytes_from_memory(FUZZ_NAME, data, size, &bytes);
  options.format = format;
  fuzz_check_sentence(kaon_gauge_bytes_read(NULL, &bytes, &options, &info, NULL, NULL));
  for (int forgiving = 0; forgiving < 2; forgiving++) {
    fuzz_links links = {&info, 0};
    options.ignore_checksum = forgiving;
    kaon_status status = kaon_gauge_bytes_read(NULL, &bytes, &options, &info, fuzz_put, &links);
    fuzz_check_sentence(status);
    if (status != KAON_OK) {
      for (int d = 0; d < 4; d++) options.extents[d] = 2; /* for files that lack them */
      continue;
    }
    int64_t volume = 1;
    for (int d = 0; d < 4; d++) volume *= info.extents[d];
    require(links.count == 4 * volume);
  }
}

#endif
