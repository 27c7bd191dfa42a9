/* checksum.h - the checksums that gauge-file formats store, computed in file order.
 * - SciDAC: for site rank r, c = CRC-32 of the site's bytes as stored; suma ^= rotl(c, r mod 29),
 *   sumb ^= rotl(c, r mod 31)   (QIO's "DML checksum").
 * - MILC: for 32-bit word number k of the data, sum29 ^= rotl(w, k mod 29), sum31 ^= rotl(w, k
 *   mod 31).
 * - NERSC: the sum modulo 2^32 of all 32-bit words (a double counts as two). */
#pragma once

#include <stddef.h>
#include <stdint.h>

void kaon_scidac_checksum(uint32_t sums[2], int64_t site, const unsigned char *bytes, size_t n);
/* first_word: index of the first of `words` words. */
void kaon_milc_checksum(uint32_t sums[2], int64_t first_word, const unsigned char *bytes,
                        size_t words, int big_endian);
void kaon_nersc_checksum(uint32_t *sum, const unsigned char *bytes, size_t words, int big_endian);
