/* philox.h - counter-based random numbers, Philox4x32-10. Common subset of C and CUDA C.
 * A number is a function of (seed, site, stream, ...). There is no state, so results do not depend
 * on threads, ranks or site order.
 * Source: Salmon, Moraes, Dror, Shaw, SC'11, "Parallel random numbers: as easy as 1, 2, 3". */
#pragma once

#include <math.h>
#include <stdint.h>

#include "lib/math/elementary.h"

typedef struct kaon_philox {
  uint32_t v[4];
} kaon_philox;

/* Ten rounds on a 128-bit counter with a 64-bit key. */
static inline KAON_HD kaon_philox kaon_philox4x32(kaon_philox counter, uint64_t key) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)0xD2511F53u * counter.v[0];
    const uint64_t b = (uint64_t)0xCD9E8D57u * counter.v[2];
    kaon_philox next;
    next.v[0] = (uint32_t)(b >> 32) ^ counter.v[1] ^ k0;
    next.v[1] = (uint32_t)b;
    next.v[2] = (uint32_t)(a >> 32) ^ counter.v[3] ^ k1;
    next.v[3] = (uint32_t)a;
    counter = next;
    k0 += 0x9E3779B9u; /* golden ratio */
    k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
  }
  return counter;
}

/* Purposes of streams. Streams of one seed never overlap. */
enum {
  KAON_STREAM_HEATBATH = 1, /* which = mu; major = sweep; minor = subgroup, trial, half */
  KAON_STREAM_RANDOM = 2,   /* Haar links: which = mu; minor = pair number */
  KAON_STREAM_WEAK = 3,     /* weak links: as RANDOM */
  KAON_STREAM_Z4 = 4,       /* noise: major = column */
  KAON_STREAM_GAUSS = 5,    /* noise: major = column; minor = component */
  KAON_STREAM_BANDED = 6,   /* band matrices: which = 0: entries, major = column; 1: rhs */
  KAON_STREAM_BASIS = 7     /* multigrid: major = column; minor = quarter of a site */
};

/* Block (major, minor) of 128 random bits in stream (purpose, which) of a site. site is the
 * lexicographic index, below 2^48. */
static inline KAON_HD kaon_philox kaon_random_bits(uint64_t seed, int64_t site, int purpose,
                                                   int which, uint32_t major, uint32_t minor) {
  kaon_philox counter;
  counter.v[0] = (uint32_t)site;
  counter.v[1] =
      (uint32_t)(((uint64_t)site >> 32) & 0xffff) | (uint32_t)purpose << 16 | (uint32_t)which << 24;
  counter.v[2] = major;
  counter.v[3] = minor;
  return kaon_philox4x32(counter, seed);
}

/* Uniform in the open interval (0, 1): 52 bits of two words, half a step away from both ends. */
static inline KAON_HD double kaon_uniform(uint32_t high, uint32_t low) {
  const uint64_t bits = ((uint64_t)high << 32 | low) >> 12;
  return kaon_double_of(UINT64_C(0x3ff0000000000000) | bits) - (1.0 - 0x1p-53);
}

/* The same from one word, in steps of 2^-32. */
static inline KAON_HD double kaon_uniform32(uint32_t word) {
  return (kaon_double_of(UINT64_C(0x4330000000000000) | word) - 4503599627370495.5) *
         (1.0 / 4294967296.0);
}

/* Two independent Gaussians of variance 1 from 128 bits (Box and Muller 1958). */
static inline KAON_HD void kaon_gauss_pair(kaon_philox bits, double gauss[2]) {
  const double radius = sqrt(-2.0 * kaon_ln(kaon_uniform(bits.v[0], bits.v[1])));
  double cosine, sine;
  kaon_cos_sin_2pi(kaon_uniform(bits.v[2], bits.v[3]), &cosine, &sine);
  gauss[0] = radius * cosine;
  gauss[1] = radius * sine;
}
