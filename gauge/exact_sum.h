/* exact_sum.h - sums over sites that do not depend on their order, nor on how sites are divided
 * among lanes, threads and ranks: files store such means, and have the same bytes whoever wrote
 * them.
 *
 * Each site's number v, |v| <= 2^4, becomes a coarse part, v rounded to a multiple of 2^-s, and a
 * fine one, what is left of it rounded to a multiple of 2^-f: integers of fixed scale, held in
 * doubles. Sums of either over any of the lattice's sites, at most 2^w of them, are then multiples
 * of 2^-s below 2^(4 + w), and of 2^-f below 2^(w - s - 1) in size. With s = 49 - w and
 * f = 54 + s - w both are below 2^53 steps, so no addition rounds, the communicator's included, and
 * none can overflow. What a site loses is at most 2^-(f + 1), rounded to nearest: 2^-56
 * among 2^24 sites, 2^-44 among 2^30.
 *
 * Plaquettes and links of SU(3) give |v| <= 12. Larger numbers, of links that are off SU(3), and
 * NaN pass through: their sums round as ordinary ones do; an infinity becomes NaN. One instruction
 * set and one backend: another has other last bits in v itself. */
#ifndef KAON_GAUGE_EXACT_SUM_H
#define KAON_GAUGE_EXACT_SUM_H

#include <stdint.h>

#if defined(__FAST_MATH__)
#error "(v + c) - c is not v here: compile without -ffast-math"
#endif

enum { KAON_EXACT_PARTS = 2 };

/* Adding and taking away 1.5 * 2^(52 - s) rounds to multiples of 2^-s (Dekker; Ogita, Rump, Oishi,
 * SIAM J. Sci. Comput. 26, 2005). */
typedef struct kaon_exact_scale {
  double coarse, fine;
} kaon_exact_scale;

/* parts: coarse and fine, of a real or of a vector of them. */
#define KAON_EXACT_SPLIT(scale, value, parts)                            \
  do {                                                                   \
    (parts)[0] = ((value) + (scale).coarse) - (scale).coarse;            \
    (parts)[1] = (((value) - (parts)[0]) + (scale).fine) - (scale).fine; \
  } while (0)

/* For sums over `sites` in all, the same on all ranks. */
kaon_exact_scale kaon_exact_scale_of(int64_t sites);

#endif
