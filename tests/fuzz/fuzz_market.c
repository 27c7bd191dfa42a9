/* fuzz_market.c - libFuzzer harness: Matrix Market files, plain and gzip, as rows and as columns.
 * Beyond the common checks, rows are sorted and finite, parts of the rows join to the whole, and
 * neither blocks nor the treatment of duplicates change a verdict other than FORMAT. */
#include <math.h>
#include <stdlib.h>

#include "fuzz_common.h"
#include "sparse/files/market.h"

enum { MEMORY = 8 << 20 };

static void check_rows(const kaon_csr *csr, const kaon_market_header *header) {
  require(csr->columns == header->columns && csr->start[0] == 0);
  for (int64_t i = 0; i < csr->rows; i++) {
    require(csr->start[i + 1] >= csr->start[i]);
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++) {
      require(csr->column[n] >= 0 && csr->column[n] < csr->columns);
      require(n == csr->start[i] || csr->column[n] > csr->column[n - 1]);
    }
  }
}

static kaon_status read_rows(const kaon_bytes *bytes, const kaon_market_options *options,
                             kaon_market_header *header, int64_t *entries) {
  kaon_csr *csr = NULL;
  const kaon_status status = kaon_market_read(NULL, bytes, options, header, &csr);
  fuzz_check_sentence(status);
  require((csr != NULL) == (status == KAON_OK));
  if (csr != NULL) {
    check_rows(csr, header);
    *entries += csr->start[csr->rows];
    kaon_csr_destroy(&csr);
  }
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kaon_bytes bytes;
  kaon_market_options options = KAON_MARKET_OPTIONS_INIT;
  kaon_market_header header;
  int64_t whole = 0, parts = 0, other = 0;
  double *values = NULL;
  kaon_bytes_from_memory(FUZZ_NAME, data, size, &bytes);
  options.memory = MEMORY;
  options.block = 1 << 12;
  const kaon_status status = read_rows(&bytes, &options, &header, &whole);
  /* Whether all entries are in one triangle is known only to ranks that exchange what they have,
   * and without a context these do not. */
  const int may_pass = status == KAON_ERR_FORMAT && header.symmetry != KAON_MARKET_GENERAL;
  options.ranks = 2;
  for (options.rank = 0; options.rank < 2; options.rank++) {
    const kaon_status part = read_rows(&bytes, &options, &header, &parts);
    require(part == status || (part == KAON_OK && may_pass) || status == KAON_ERR_MEMORY ||
            part == KAON_ERR_MEMORY);
  }
  require(status != KAON_OK || whole == parts);
  options.rank = 0;
  options.ranks = 1;
  options.duplicates = KAON_CSR_REFUSE;
  const kaon_status strict = read_rows(&bytes, &options, &header, &other);
  require(strict == status || (status == KAON_OK && strict == KAON_ERR_FORMAT));
  const kaon_status dense = kaon_market_read_dense(NULL, &bytes, &options, &header, &values);
  fuzz_check_sentence(dense);
  require((values != NULL) == (dense == KAON_OK));
  free(values);
  return 0;
}
