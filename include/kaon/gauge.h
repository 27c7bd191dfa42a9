/** @file gauge.h
 * SU(3) link fields: import and export, files, observables, generation, improved links.
 *
 * These functions find bad links by computing with them. They do not trap floating-point
 * exceptions, and leave the caller's floating-point environment (fenv.h) as it was. */
#ifndef KAON_GAUGE_H
#define KAON_GAUGE_H

#include <kaon/io.h>
#include <kaon/vector.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A field of links U(x, mu), mu = 0..3 for x, y, z, t. */
typedef struct kaon_gauge kaon_gauge;

/** Reals stored of a link. 18: all; 12: two rows; 8: the minimal set. 12 and 8 are for SU(3). */
typedef enum kaon_reconstruct {
  KAON_RECONSTRUCT_18 = 18,
  KAON_RECONSTRUCT_12 = 12,
  KAON_RECONSTRUCT_8 = 8
} kaon_reconstruct;

/** Orders of link arrays in host memory.
 *
 * A matrix is `[row][col][re, im]`. Sites are in lexicographic order, x fastest. In even-odd order
 * the even sites come first, then the odd ones. Parity counts coordinates in the whole lattice. A
 * rank's part with an odd number of sites has one more of the parity of its first site.
 *
 * - NATURAL: `u[site][mu]`
 * - QDP: four arrays `u[mu][even-odd site]`
 * - MILC: `u[even-odd site][mu]`
 * - CPS: as MILC, but a matrix is `[col][row][re, im]`
 * - OPENQCD: odd sites only, t slowest, then x, y, z. 8 matrices a site: U(x, mu) and U(x - mu, mu)
 *   for mu = t, x, y, z. This is the order of openQCD's exported configurations. */
typedef enum kaon_gauge_order {
  KAON_ORDER_NATURAL,
  KAON_ORDER_QDP,
  KAON_ORDER_MILC,
  KAON_ORDER_CPS,
  KAON_ORDER_OPENQCD
} kaon_gauge_order;

/** Creates a field of unit links with revision 0. `precision` and `reconstruct` say how links are
 * stored. Measurements, projection, heatbath, gauge fixing and files always compute in double
 * precision on all 18 reals, if necessary on a copy. Collective. Errors: ARGUMENT; NOT_BUILT (no
 * links in this precision on the backend); MEMORY. */
KAON_API kaon_status kaon_gauge_create(kaon_lattice *lattice, kaon_precision precision,
                                       kaon_reconstruct reconstruct, kaon_gauge **gauge);
/** Destroys a field. Operators that were made from it keep it alive. */
KAON_API void kaon_gauge_destroy(kaon_gauge **gauge);
/** Lattice of a field. Local. */
KAON_API kaon_lattice *kaon_gauge_lattice(const kaon_gauge *gauge);
/** A number that grows whenever links change, or may have changed in a call that failed. What was
 * made of the links compares it to find out whether it is stale. Local. */
KAON_API uint64_t kaon_gauge_revision(const kaon_gauge *gauge);

/** Sets links from host memory.
 *
 * - `arrays`: one pointer (NATURAL, MILC, CPS, OPENQCD) or four (QDP), 72 reals a site in all. With
 *   several ranks they have this rank's part in its own coordinates; OPENQCD is then UNSUPPORTED.
 * - `host_precision`: KAON_DOUBLE or KAON_SINGLE, the type of the reals.
 *
 * Links further than #KAON_UNITARITY_TOLERANCE from SU(3) are refused (UNITARITY, with site and
 * mu), and so are NaN (NOT_FINITE). The field is then unchanged. The arrays must not be memory of
 * the library. Collective. Errors: ARGUMENT (also: memory of a device), UNITARITY, NOT_FINITE,
 * MEMORY, NOT_BUILT, DEVICE. */
KAON_API kaon_status kaon_gauge_import(kaon_gauge *gauge, kaon_gauge_order order,
                                       kaon_precision host_precision, const void *const *arrays);
/** Numbers that an application has multiplied into its links. Fixed size. */
typedef struct kaon_link_factors {
  double factor[4];   /**< of the links of each direction: 1 if none, for example 1 / xi in space */
  int antiperiodic_t; /**< 1: the links U_t at t = L_t - 1 have the boundary's factor -1 */
} kaon_link_factors;
/** kaon_gauge_import() of links that were multiplied by `factors`, which are divided out first. Each
 * array is in memory of the host or, as for kaon_gauge_import_device(), of the context's device.
 *
 * Operators multiply their own: set the lattice's boundary and the anisotropy of
 * kaon_dirac_options. With several ranks L_t is that of the whole lattice, and all pass the same
 * `factors`. Collective. Errors: as for kaon_gauge_import(); ARGUMENT also for a factor that is 0
 * or not finite. */
KAON_API kaon_status kaon_gauge_import_factors(kaon_gauge *gauge, kaon_gauge_order order,
                                               kaon_precision host_precision,
                                               const void *const *arrays,
                                               const kaon_link_factors *factors);
/** kaon_gauge_import() for any finite 3x3 matrices, in a field of 18 reals: fat and long links, or
 * links with phases, boundary signs or 1 / xi multiplied in. Each array is in memory of the host
 * or, as for kaon_gauge_import_device(), of the context's device.
 *
 * Operators use the matrices as they are. If boundary signs or 1 / xi are multiplied in, take a
 * periodic lattice and anisotropy 1. The clover term is made of closed loops of these links: phases
 * and signs cancel there, other factors do not. In half precision operators need components of at
 * most 1 (UNSUPPORTED), except staggered ones, which scale the links. Reductions in temporal gauge
 * need unitary links (UNITARITY). Collective. Errors: ARGUMENT (also: a field of 12 or 8 reals),
 * NOT_FINITE, MEMORY, NOT_BUILT, DEVICE. */
KAON_API kaon_status kaon_gauge_import_matrices(kaon_gauge *gauge, kaon_gauge_order order,
                                                kaon_precision host_precision,
                                                const void *const *arrays);
/** Writes links to host memory, as kaon_gauge_import() reads them. Collective. Errors: ARGUMENT
 * (also: memory of a device), MEMORY, NOT_BUILT, DEVICE. */
KAON_API kaon_status kaon_gauge_export(const kaon_gauge *gauge, kaon_gauge_order order,
                                       kaon_precision host_precision, void *const *arrays);
/** kaon_gauge_import() from arrays on the context's device (on the CPU: in host memory). The bits
 * are the same. `arrays` itself, the list of pointers, is in host memory. Earlier work on the
 * arrays in the caller's streams must be done. When the function returns they may be used again.
 * Collective. Errors: as for import; ARGUMENT also for memory of the host or of another device. */
KAON_API kaon_status kaon_gauge_import_device(kaon_gauge *gauge, kaon_gauge_order order,
                                              kaon_precision precision, const void *const *arrays);
/** kaon_gauge_export() to arrays on the context's device, likewise. Collective. Errors: as for
 * export; ARGUMENT also for memory of the host or of another device. */
KAON_API kaon_status kaon_gauge_export_device(const kaon_gauge *gauge, kaon_gauge_order order,
                                              kaon_precision precision, void *const *arrays);
/** `to = from`, in the precision and reconstruction of `to`. Both are of one lattice. Equal storage
 * copies the bits. `to == from` does nothing. A copy of links of kaon_fatten() becomes STALE when
 * they do. 12 or 8 reals cannot store links that are not finite or not in SU(3), and half precision
 * cannot store components above 1. After these errors `to` is unchanged. Collective. Errors:
 * ARGUMENT, SHAPE (another lattice), UNITARITY, NOT_FINITE, UNSUPPORTED (half), MEMORY,
 * NOT_BUILT. */
KAON_API kaon_status kaon_gauge_copy(kaon_gauge *to, const kaon_gauge *from);

/** Sets all links to 1. Collective. Errors: ARGUMENT, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_gauge_unit(kaon_gauge *gauge);
/** Sets random links with the Haar measure. A link depends on seed, site and mu alone. Collective.
 * Errors: ARGUMENT, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_gauge_random(kaon_gauge *gauge, uint64_t seed);
/** Sets links near 1. Rows 1 and 2 are those of the unit matrix plus `eps u`, with u uniform in
 * [-1, 1] for each real component. Row 1 is then normalised, row 2 orthonormalised against it, and
 * row 0 completes SU(3). `|eps|` is at most 1e6. A link depends on seed, site and mu alone.
 * Collective. Errors: ARGUMENT, MEMORY, NOT_BUILT; UNITARITY (huge eps, 12 or 8 reals). */
KAON_API kaon_status kaon_gauge_weak(kaon_gauge *gauge, double eps, uint64_t seed);

/** Projects every link to SU(3) by Gram-Schmidt, in place, then rounds it to the field's precision.
 * Row 0 is normalised, row 1 orthonormalised against it, and row 2 is the conjugate of their cross
 * product. This is not the nearest matrix of SU(3). If row 0 is 0 or row 1 is a multiple of it, the
 * result is not in SU(3); the unitarity of kaon_gauge_measure() shows that. Collective. Errors:
 * ARGUMENT, MEMORY, NOT_BUILT; NOT_FINITE (12 or 8 reals; in 18 reals a NaN stays NaN). */
KAON_API kaon_status kaon_gauge_project(kaon_gauge *gauge);

/** Observables of a field (definitions: docs/conventions.md). */
typedef struct kaon_observables {
  size_t size;
  double plaquette;       /**< mean over the six planes; 1 for unit links */
  double plaquette_space; /**< mean over the three space-like planes */
  double plaquette_time;  /**< mean over the three time-like planes */
  double link_trace;      /**< mean of Re tr U / 3 */
  double polyakov[2];     /**< mean over space of tr(prod_t U_t) / 3 */
  double charge;          /**< topological charge of the clover field strength, without cooling */
  double unitarity;       /**< largest entry of `|U U^dag - 1|` */
} kaon_observables;
/** Initial value. */
#define KAON_OBSERVABLES_INIT KAON_SIZED(kaon_observables)
/** Measures all observables, in double precision. The bits do not depend on the number of threads.
 * The field is unchanged. Collective. Errors: ARGUMENT, MEMORY, NOT_BUILT; `*observables` is then
 * unspecified. */
KAON_API kaon_status kaon_gauge_measure(const kaon_gauge *gauge, kaon_observables *observables);

/** Temporal gauge: `to_mu(x) = g(x) from_mu(x) g(x + mu)^dag` with g = 1 on slice t = 0 and `g(x +
 * t) = g(x) U_t(x)`. The t links of `to` are the identity on all slices but t = T - 1, which keeps
 * the Polyakov line. Both fields are of one lattice, in any storage. `to == from` is allowed;
 * otherwise `from` is unchanged. Collective. Errors: ARGUMENT, SHAPE (another lattice), MEMORY,
 * NOT_BUILT; UNITARITY, NOT_FINITE (`to` in 12 or 8 reals). The links of `to` are then
 * unspecified. */
KAON_API kaon_status kaon_gauge_temporal(kaon_gauge *to, const kaon_gauge *from);

/** Options of the heatbath. */
typedef struct kaon_heatbath_options {
  size_t size;
  int version;
  double beta;        /**< coupling of the Wilson gauge action */
  int overrelaxation; /**< over-relaxation sweeps before each heatbath sweep */
  uint64_t seed;
  uint64_t sweep; /**< number of the first sweep. A run that continues at sweep n repeats the
                       uninterrupted run. Below 2^32 - sweeps */
} kaon_heatbath_options;
/** Defaults. */
#define KAON_HEATBATH_OPTIONS_INIT \
  { sizeof(kaon_heatbath_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_HEATBATH, 1), 6.0, 4, 1, 0 }

/** Updates links in place by the Wilson gauge action: `sweeps` times some over-relaxation sweeps
 * and one heatbath sweep. `sweeps` may be 0.
 *
 * A sweep visits, parity by parity and mu by mu, the three SU(2) subgroups of each link. The result
 * depends on the options and the links, not on the number of threads; instruction sets round
 * differently. Links that are not stored in double and 18 reals are rounded once, at the end.
 * Collective. Errors: ARGUMENT (options NULL or out of range; sweeps negative; sweep numbers beyond
 * 2^32 - 1), MEMORY, NOT_BUILT; UNITARITY, NOT_FINITE (12 or 8 reals).
 *
 * Sources: Cabibbo, Marinari, Phys. Lett. B 119 (1982) 387; Kennedy, Pendleton, Phys. Lett. B 156
 * (1985) 393. Over-relaxation: Adler, Phys. Rev. D 23 (1981) 2901; Brown, Woch, Phys. Rev. Lett. 58
 * (1987) 2394. */
KAON_API kaon_status kaon_gauge_heatbath(kaon_gauge *gauge, const kaon_heatbath_options *options,
                                         int sweeps);

/** Reads a configuration in any format of kaon/io.h.
 *
 * Checksum, plaquette, link trace and unitarity are verified, in the order and with the statuses of
 * docs/files.md. The file must have the lattice's extents; kaon_gauge_file_probe() tells them
 * beforehand. `options` may be NULL; its extents are 0 or the lattice's. `info` may be NULL; after
 * an error it has what is known of the file. The links are then unspecified. Collective. Errors:
 * ARGUMENT, SHAPE, IO, FORMAT, UNSUPPORTED, CHECKSUM, UNITARITY, NOT_FINITE, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_gauge_read(kaon_gauge *gauge, const char *path,
                                     const kaon_gauge_read_options *options,
                                     kaon_gauge_file_info *info);
/** Writes a configuration. `options` NULL: ILDG, 64 bits.
 *
 * Plaquette and link trace in the header are those that a reader computes: of the rounded links,
 * with the third row rebuilt if two are stored. The file appears under its name whole or not at
 * all. The field is unchanged. Collective. Errors: ARGUMENT (options that the format cannot hold),
 * IO, UNSUPPORTED (a format that is only read), NOT_FINITE, UNITARITY (two rows of a link that is
 * not in SU(3)), MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_gauge_write(const kaon_gauge *gauge, const char *path,
                                      const kaon_gauge_write_options *options);

/** @name Improved links
 * Fat and long links of improved staggered actions, from thin links. Links hold no signs: neither
 * staggered phases nor the antiperiodic boundary (docs/conventions.md). */
/** @{ */

/** Action. ASQTAD: fat7 and Lepage's term with the tadpole factor u0, Naik's links; one level.
 * HISQ: fat7, projection to U(3), then asqtad's paths with twice Lepage's term; two levels. */
typedef enum kaon_fatten_action { KAON_FATTEN_ASQTAD, KAON_FATTEN_HISQ } kaon_fatten_action;

/** Options of improved links. */
typedef struct kaon_fatten_options {
  size_t size;
  int version;
  kaon_fatten_action action;
  double u0;           /**< asqtad: a path of n links has a factor `u0^(1 - n)`. 0: the fourth root
                            of the mean plaquette */
  double naik_epsilon; /**< the link itself has a coefficient larger by epsilon / 8 */
  double svd_relative; /**< HISQ: see kaon_fatten_unitarise() */
  double svd_absolute; /**< likewise */
} kaon_fatten_options;
/** Defaults. */
#define KAON_FATTEN_OPTIONS_INIT                                                                   \
  {                                                                                                \
    sizeof(kaon_fatten_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_FATTEN, 1), KAON_FATTEN_ASQTAD, \
        1.0, 0.0, 1e-8, 1e-8                                                                       \
  }

/** What was done. Times are wall seconds and include the device's work. */
typedef struct kaon_fatten_report {
  size_t size;
  double seconds; /**< all of it, with changes of storage */
  double u0;      /**< as used; HISQ: 1 */
  int levels;
  double level_seconds[2];
  double level_flops; /**< of this rank; a product of matrices counts 198. Without the projection to
                           U(3) */
  double unitarise_seconds;
  int64_t svd_links;   /**< links of all ranks that were projected by singular values */
  double smallest_det; /**< HISQ: the smallest `|det|` before the projection */
  int site[4], mu;     /**< its place in the whole lattice */
} kaon_fatten_report;
/** Initial value. */
#define KAON_FATTEN_REPORT_INIT KAON_SIZED(kaon_fatten_report)

/** Coefficients of one level, one for each kind of path. Fixed size. */
typedef struct kaon_fatten_coefficients {
  double one;    /**< the link itself */
  double three;  /**< staples of three links */
  double five;   /**< of five links, in two more directions */
  double seven;  /**< of seven links, in three more directions */
  double lepage; /**< five links, two and two of them in one direction */
  double naik;   /**< the long link, a product of three along a line */
} kaon_fatten_coefficients;

/** Coefficients of `level` 0, or of level 1 of HISQ. `options` NULL: the defaults. With e =
 * naik_epsilon:
 *
 * - asqtad: 5/8 + e/8, 1/16 u0^-2, 1/64 u0^-4, 1/384 u0^-6, -1/16 u0^-4, -1/24 u0^-2
 * - HISQ, level 0: 1/8, 1/16, 1/64, 1/384, 0, 0
 * - HISQ, level 1: 1 + e/8, 1/16, 1/64, 1/384, -1/8, -1/24
 *
 * Epsilon is not in the long links: operators multiply them by 1 + epsilon
 * (kaon_staggered_options). Local. Errors: ARGUMENT (no such level, options out of range, u0 = 0).
 *
 * Sources: Orginos, Toussaint, Sugar, Phys. Rev. D 60 (1999) 054503, hep-lat/9903032; Follana et
 * al., Phys. Rev. D 75 (2007) 054502, hep-lat/0610092; Bazavov et al., Phys. Rev. D 82 (2010)
 * 074501, arXiv:1004.0342. */
KAON_API kaon_status kaon_fatten_action_coefficients(const kaon_fatten_options *options, int level,
                                                     kaon_fatten_coefficients *coefficients);

/** Computes fat and long links of an action.
 *
 * - `thin`: SU(3) links in any storage; unchanged
 * - `options`: NULL: the defaults
 * - `fat`: a field of 18 reals in double or single, which is also the precision of the arithmetic
 *   (double on a divided lattice). Not `thin`
 * - `naik`: likewise, in the precision of `fat`: long links with their coefficient. NULL: none
 * - `report`: may be NULL
 *
 * The bits do not depend on the number of threads and ranks. Three to five more fields of 18 reals
 * are needed meanwhile. After an error `fat` and `naik` are unspecified.
 *
 * If the thin links change, `fat` and `naik` are STALE until this function is called again.
 * Operators made of them, and functions such as kaon_staggered_update(), then return STALE.
 * Destroying the thin links makes nothing STALE. Collective. Errors: ARGUMENT, SHAPE (fields of
 * several lattices), UNSUPPORTED (storage of fat or naik), STALE (`thin` itself was made of others,
 * which changed), NOT_FINITE, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_fatten(const kaon_gauge *thin, const kaon_fatten_options *options,
                                 kaon_gauge *fat, kaon_gauge *naik, kaon_fatten_report *report);

/** Computes one level with the caller's coefficients. As kaon_fatten(), but links may be in U(3),
 * then with 18 reals. Links that deviate from U(3) give Lepage's term an error of that size. The
 * report has `levels = 1`. Collective. Errors: those of kaon_fatten(). */
KAON_API kaon_status kaon_fatten_paths(const kaon_gauge *links,
                                       const kaon_fatten_coefficients *coefficients,
                                       kaon_gauge *fat, kaon_gauge *naik,
                                       kaon_fatten_report *report);

/** Replaces every link V by the nearest unitary matrix `V (V^dag V)^(-1/2)`, in place. The
 * arithmetic is in double precision.
 *
 * The eigenvalues of `V^dag V` are used where they are accurate, else singular values. Eigenvalues
 * count as inaccurate where `|det V|^2` is below `svd_absolute`, or differs from their product by
 * more than the fraction `svd_relative` (0: everywhere). For a singular V one of many nearest
 * matrices is taken, always the same.
 *
 * `links` has 18 reals, double or single. `options` NULL: the defaults. `report` may be NULL; it
 * gets unitarise_seconds, svd_links, smallest_det, site and mu. Collective. Errors: ARGUMENT,
 * UNSUPPORTED, NOT_FINITE (the links are then unspecified), MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_fatten_unitarise(kaon_gauge *links, const kaon_fatten_options *options,
                                           kaon_fatten_report *report);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
