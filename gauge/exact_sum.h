/* exact_sum.h - sums over sites that depend neither on their order nor on the distribution of sites
 * among lanes, threads and ranks. Files store such means, so their bytes do not depend on the ranks
 * that wrote them.
 *
 * Each site's value v, |v| <= 2^4, is split into two parts:
 * - a coarse part, v rounded to a multiple of 2^-s;
 * - a fine part, the rest rounded to a multiple of 2^-f.
 * Both are integers of fixed scale, held in doubles. Sums over any of the lattice's sites, at most
 * 2^w of them, are multiples of 2^-s below 2^(4 + w), and multiples of 2^-f below 2^(w - s - 1) in
 * size. With s = 49 - w and f = 54 + s - w both are below 2^53 steps. So no addition rounds, the
 * communicator's included, and none overflows. The error of a site is at most 2^-(f + 1): 2^-56 for
 * 2^24 sites, 2^-44 for 2^30.
 *
 * Plaquettes and links of SU(3) give |v| <= 12. Larger values, of links that are off SU(3), and NaN
 * pass through: their sums round like ordinary ones, and an infinity becomes NaN. All this holds
 * for one instruction set and backend; on another, v itself has other last bits. */
#pragma once

#include <stdint.h>

#if defined(__FAST_MATH__)
#error "(v + c) - c is not v here: compile without -ffast-math"
#endif

enum { KAON_EXACT_PARTS = 2 };

/* Adding and subtracting 1.5 * 2^(52 - s) rounds to multiples of 2^-s (Dekker; Ogita, Rump, Oishi,
 * SIAM J. Sci. Comput. 26, 2005). */
typedef struct kaon_exact_scale {
  double coarse, fine;
} kaon_exact_scale;

/* parts: coarse and fine, of a real or of a SIMD vector of reals. */
#define KAON_EXACT_SPLIT(scale, value, parts)                            \
  do {                                                                   \
    (parts)[0] = ((value) + (scale).coarse) - (scale).coarse;            \
    (parts)[1] = (((value) - (parts)[0]) + (scale).fine) - (scale).fine; \
  } while (0)

/* Scale for sums over `sites` in total, the same on all ranks. */
kaon_exact_scale kaon_exact_scale_of(int64_t sites);
