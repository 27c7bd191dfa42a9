/* fatten.h - fat and long links of improved staggered actions from thin links. Links hold no signs:
 * neither staggered phases nor the antiperiodic boundary (docs/conventions.md). */
#ifndef KAON_FATTEN_H
#define KAON_FATTEN_H

#include <kaon/gauge.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ASQTAD  fat7 and Lepage's term with the tadpole factor u0, Naik's links: one level
 * HISQ    fat7, back to U(3), then asqtad's paths with twice Lepage's term: two levels */
typedef enum kaon_fatten_action { KAON_FATTEN_ASQTAD, KAON_FATTEN_HISQ } kaon_fatten_action;

typedef struct kaon_fatten_options {
  size_t size;
  int version;
  kaon_fatten_action action;
  double u0;           /* asqtad: a path of n links has a factor u0^(1 - n); 0: the fourth root of
                          the mean plaquette */
  double naik_epsilon; /* fat links count the link itself epsilon / 8 more */
  double svd_relative; /* HISQ: which links go back to U(3) by singular values, */
  double svd_absolute; /* see kaon_fatten_unitarise */
} kaon_fatten_options;
#define KAON_FATTEN_OPTIONS_INIT \
  { sizeof(kaon_fatten_options), 1, KAON_FATTEN_ASQTAD, 1.0, 0.0, 1e-8, 1e-8 }

/* What was done; seconds are wall seconds, the device's work in them. */
typedef struct kaon_fatten_report {
  double seconds; /* all of it, changes of storage too */
  double u0;      /* as used; HISQ: 1 */
  int levels;
  double level_seconds[2];
  double level_flops; /* of this rank: a product of matrices is 198; links back to U(3) are not in
                         it */
  double unitarise_seconds;
  int64_t svd_links;   /* of all ranks: taken back to U(3) by singular values */
  double smallest_det; /* HISQ: the smallest |det| before that; */
  int site[4], mu;     /* where, in the whole lattice */
} kaon_fatten_report;

/* Coefficients of one level, by the links of a path: itself, staples of three, five and seven links
 * in as many directions more, lepage: five links, two and two of them in one direction; each for
 * every path. naik: of the long link, the product of three along a line. */
typedef struct kaon_fatten_coefficients {
  double one, three, five, seven, lepage, naik;
} kaon_fatten_coefficients;

/* The coefficients of `level` 0, or of HISQ's level 1; NULL options: the defaults. Asqtad, e the
 * epsilon: 5/8 + e/8, 1/16 u0^-2, 1/64 u0^-4, 1/384 u0^-6, -1/16 u0^-4, -1/24 u0^-2; HISQ: 1/8,
 * 1/16, 1/64, 1/384, 0, 0, then 1 + e/8, 1/16, 1/64, 1/384, -1/8, -1/24. Epsilon is not in the long
 * links: operators count them 1 + epsilon times (kaon_staggered_options). Not collective. Errors:
 * ARGUMENT (a level that there is not, options out of range, u0 = 0). Sources: Orginos, Toussaint,
 * Sugar, Phys. Rev. D 60 (1999) 054503, hep-lat/9903032; Follana et al., Phys. Rev. D 75 (2007)
 * 054502, hep-lat/0610092; Bazavov et al., Phys. Rev. D 82 (2010) 074501, arXiv:1004.0342. */
kaon_status kaon_fatten_action_coefficients(const kaon_fatten_options *options, int level,
                                            kaon_fatten_coefficients *coefficients);

/* Fat and long links of an action.
 *   thin     SU(3) links in any storage; unchanged
 *   options  NULL: the defaults
 *   fat      a field of 18 reals in double or single, which is also the arithmetic's (on a divided
 *            lattice double); not thin
 *   naik     likewise, of fat's precision: long links with their coefficient; NULL: not wanted
 *   report   may be NULL
 * The same bits for any number of threads and ranks. Takes room for three to five fields of 18
 * reals meanwhile. After an error fat and naik are unspecified. Collective. Errors: ARGUMENT, SHAPE
 * (fields of several lattices), UNSUPPORTED (storage of fat or naik), NOT_FINITE, MEMORY,
 * NOT_BUILT. */
kaon_status kaon_fatten(const kaon_gauge *thin, const kaon_fatten_options *options, kaon_gauge *fat,
                        kaon_gauge *naik, kaon_fatten_report *report);

/* One level with coefficients of the caller's. As kaon_fatten, but links may be in U(3), 18 reals
 * then; off U(3) Lepage's term is not what it says by as much. *report: levels = 1. */
kaon_status kaon_fatten_paths(const kaon_gauge *links, const kaon_fatten_coefficients *coefficients,
                              kaon_gauge *fat, kaon_gauge *naik, kaon_fatten_report *report);

/* Every link V becomes V (V^dag V)^(-1/2), the unitary matrix nearest to it, in place and in double
 * whatever the field's precision: by the eigenvalues of V^dag V, or by singular values where |det
 * V|^2 is below options->svd_absolute or off the product of the eigenvalues by more than
 * options->svd_relative of it (0: all links). Where V is singular the matrix is one of many, always
 * the same. *report (may be NULL) has unitarise_seconds, svd_links, smallest_det, site and mu.
 * options: NULL: the defaults. links: 18 reals, double or single. Collective. Errors: ARGUMENT,
 * UNSUPPORTED, NOT_FINITE (the links are then unspecified), MEMORY, NOT_BUILT. */
kaon_status kaon_fatten_unitarise(kaon_gauge *links, const kaon_fatten_options *options,
                                  kaon_fatten_report *report);

#ifdef __cplusplus
}
#endif
#endif
