/* checksum.c - Contract: checksum.h. CRC-32 is zlib's. */
#include "lib/io/checksum.h"

#include <zlib.h>

#include "lib/io/bytes.h"

static uint32_t rotate_left(uint32_t v, unsigned by) {
  return by ? v << by | v >> (32 - by) : v;
}

void kaon_scidac_checksum(uint32_t sums[2], int64_t site, const unsigned char *bytes, size_t n) {
  uint32_t crc = (uint32_t)crc32_z(0, bytes, n);
  sums[0] ^= rotate_left(crc, (unsigned)(site % 29));
  sums[1] ^= rotate_left(crc, (unsigned)(site % 31));
}

void kaon_milc_checksum(uint32_t sums[2], int64_t first_word, const unsigned char *bytes,
                        size_t words, int big_endian) {
  unsigned by29 = (unsigned)(first_word % 29), by31 = (unsigned)(first_word % 31);
  for (size_t k = 0; k < words; k++) {
    uint32_t w = kaon_u32_at(bytes + 4 * k, big_endian);
    sums[0] ^= rotate_left(w, by29);
    sums[1] ^= rotate_left(w, by31);
    if (++by29 == 29) by29 = 0;
    if (++by31 == 31) by31 = 0;
  }
}

void kaon_nersc_checksum(uint32_t *sum, const unsigned char *bytes, size_t words, int big_endian) {
  uint32_t s = *sum;
  for (size_t k = 0; k < words; k++) s += kaon_u32_at(bytes + 4 * k, big_endian);
  *sum = s;
}
