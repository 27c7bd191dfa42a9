/* gauge.h - SU(3) link fields: import, export, files, observables, generation. Links that are none
 * are found by computing with them: floating-point exceptions are not trapped in these functions,
 * those of fatten.h, and where operators are made of links; the caller's environment (fenv.h) is as
 * before. */
#ifndef KAON_GAUGE_H
#define KAON_GAUGE_H

#include <kaon/io.h>
#include <kaon/vector.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kaon_gauge kaon_gauge;

/* Reals kept a link: 18 all; 12 two rows; 8 the minimal set. 12 and 8 act on SU(3) links. */
typedef enum kaon_reconstruct {
  KAON_RECONSTRUCT_18 = 18,
  KAON_RECONSTRUCT_12 = 12,
  KAON_RECONSTRUCT_8 = 8
} kaon_reconstruct;

/* Orders of host link arrays. Sites are lexicographic, x fastest; "even-odd": the even sites in
 * that order, then the odd ones, by coordinates in the whole lattice where ranks have parts of it
 * (of an odd number of sites a part has one more of the parity of its first site).
 * A matrix is [row][col][re, im].
 *   NATURAL  u[site][mu]
 *   QDP      four arrays u[mu][even-odd site]
 *   MILC     u[even-odd site][mu]
 *   CPS      as MILC, but a matrix is [col][row]
 *   OPENQCD  odd sites alone, t slowest, then x, y, z fastest; 8 matrices each: U(x, mu) and
 *            U(x - mu, mu) for mu = t, x, y, z (the order of openQCD's exported configurations) */
typedef enum kaon_gauge_order {
  KAON_ORDER_NATURAL,
  KAON_ORDER_QDP,
  KAON_ORDER_MILC,
  KAON_ORDER_CPS,
  KAON_ORDER_OPENQCD
} kaon_gauge_order;

/* Creates a field of unit links, of revision 0, that keeps `lattice` alive. precision and
 * reconstruct say how links are stored: link physics (measure, project, heatbath, temporal, files)
 * is done in double on all 18 reals, on a copy where the field is stored otherwise. *gauge is NULL
 * on failure. Collective. Errors: ARGUMENT, NOT_BUILT (no links in this precision on the backend),
 * MEMORY. */
kaon_status kaon_gauge_create(kaon_lattice *lattice, kaon_precision precision,
                              kaon_reconstruct reconstruct, kaon_gauge **gauge);
/* Lets go of it and sets *gauge to NULL; NULL is allowed. Operators made from it keep it alive. */
void kaon_gauge_destroy(kaon_gauge **gauge);
/* Of a field that is not NULL. Not collective. */
kaon_lattice *kaon_gauge_lattice(const kaon_gauge *gauge);
/* Grows whenever the links change, or may have changed in a call that failed; fields derived from
 * links remember it. Not collective. */
uint64_t kaon_gauge_revision(const kaon_gauge *gauge);

/* Links from and to host memory; with several ranks the rank's own part of the lattice, in its own
 * coordinates (openQCD: UNSUPPORTED there). `arrays`: one pointer (natural, MILC, CPS, openQCD) or
 * four (QDP), to 72 reals a site in all, double or float as host_precision (KAON_DOUBLE,
 * KAON_SINGLE) says; not the library's memory. Import refuses links further than
 * KAON_UNITARITY_TOLERANCE from SU(3) (UNITARITY; site and mu are named) and NaN (NOT_FINITE); the
 * field is then unchanged. Export leaves the field unchanged. On a GPU links are put in order
 * there. Collective. Errors: ARGUMENT (also: memory of a device), MEMORY, NOT_BUILT, DEVICE;
 * import: UNITARITY, NOT_FINITE. */
kaon_status kaon_gauge_import(kaon_gauge *gauge, kaon_gauge_order order,
                              kaon_precision host_precision, const void *const *arrays);
kaon_status kaon_gauge_export(const kaon_gauge *gauge, kaon_gauge_order order,
                              kaon_precision host_precision, void *const *arrays);
/* The same, bit by bit, for arrays in the memory of the context's device (on the CPU: of the host),
 * which do not leave it; `arrays` itself is in host memory. What filled or reads the arrays must
 * have ended before, in the caller's streams; when the function returns they may be used again.
 * Collective. Errors: as above; ARGUMENT also for memory of the host or of another device. */
kaon_status kaon_gauge_import_device(kaon_gauge *gauge, kaon_gauge_order order,
                                     kaon_precision precision, const void *const *arrays);
kaon_status kaon_gauge_export_device(const kaon_gauge *gauge, kaon_gauge_order order,
                                     kaon_precision precision, void *const *arrays);
/* to = from in to's precision and reconstruction, both of one lattice; equal storage copies the
 * bits, to == from is allowed and does nothing. Links off SU(3) or not finite do not go into 12 or
 * 8 reals: the links of `to` are then unchanged. Collective. Errors: ARGUMENT, SHAPE (another
 * lattice), UNITARITY, NOT_FINITE, MEMORY, NOT_BUILT. */
kaon_status kaon_gauge_copy(kaon_gauge *to, const kaon_gauge *from);

/* Synthetic fields; links depend on seed, site and mu alone. unit: U = 1. random: Haar-distributed.
 * weak: rows 1 and 2 = unit matrix + eps u, u uniform in [-1, 1] for each real component; row 1
 * normalised, row 2 orthonormalised against it, row 0 completes SU(3); |eps| at most 1e6.
 * Collective. Errors: ARGUMENT, MEMORY, NOT_BUILT; weak with a huge eps into 12 or 8 reals:
 * UNITARITY. */
kaon_status kaon_gauge_unit(kaon_gauge *gauge);
kaon_status kaon_gauge_random(kaon_gauge *gauge, uint64_t seed);
kaon_status kaon_gauge_weak(kaon_gauge *gauge, double eps, uint64_t seed);

/* Every link back to SU(3) by Gram-Schmidt, not to the nearest matrix: row 0 is normalised, row 1
 * orthonormalised against it, row 2 the conjugate of their cross product, whatever it was. Rows 0
 * and 1 that are 0 or multiples of one another have no such matrix: what comes out is none of SU(3)
 * (kaon_gauge_measure's unitarity says so). In place; then rounded to the field's precision.
 * Collective. Errors: ARGUMENT, MEMORY, NOT_BUILT; NOT_FINITE (12 or 8 reals; in 18 a NaN stays
 * one). */
kaon_status kaon_gauge_project(kaon_gauge *gauge);

typedef struct kaon_observables {
  double plaquette;       /* mean over the six planes; 1 for unit links */
  double plaquette_space; /* the three space-like planes */
  double plaquette_time;  /* the three time-like planes */
  double link_trace;      /* mean Re tr U / 3 */
  double polyakov[2];     /* mean over space of tr(prod_t U_t) / 3 */
  double charge;          /* topological charge of the clover-leaf field strength; no cooling */
  double unitarity;       /* largest |U U^dag - 1| entry */
} kaon_observables;
/* Measures all of them (definitions: docs/conventions.md), in double whatever the field's storage,
 * with the same bits for any number of threads. The field is unchanged. Collective. Errors:
 * ARGUMENT, MEMORY, NOT_BUILT; *observables is then unspecified. */
kaon_status kaon_gauge_measure(const kaon_gauge *gauge, kaon_observables *observables);

/* Temporal gauge: to_mu(x) = g(x) from_mu(x) g(x+mu)^dag for all four mu, with g = 1 on slice t = 0
 * and g(x+t) = g(x) U_t(x): the t links of `to` are exactly the identity on every slice but t = T -
 * 1, which keeps the Polyakov line. Both fields of one lattice, in any storage; to == from is
 * allowed, otherwise `from` is unchanged. Collective. Errors: ARGUMENT, SHAPE (another lattice),
 * MEMORY, NOT_BUILT; UNITARITY, NOT_FINITE (`to` in 12 or 8 reals). After an error the links of
 * `to` are unspecified. */
kaon_status kaon_gauge_temporal(kaon_gauge *to, const kaon_gauge *from);

typedef struct kaon_heatbath_options {
  size_t size;
  int version;
  double beta;        /* Wilson gauge action */
  int overrelaxation; /* over-relaxation sweeps before each heatbath sweep */
  uint64_t seed;
  uint64_t sweep; /* number of the first sweep, below 2^32 - sweeps: a run continued at sweep n
                     repeats the uninterrupted one */
} kaon_heatbath_options;
#define KAON_HEATBATH_OPTIONS_INIT \
  { sizeof(kaon_heatbath_options), 1, 6.0, 4, 1, 0 }

/* `sweeps` times (options->overrelaxation over-relaxation sweeps, one heatbath sweep) of the Wilson
 * gauge action, in place; `sweeps` may be 0. A sweep visits parity by parity and mu by mu the three
 * SU(2) subgroups of each link. The result depends on the options and the links alone, not on
 * threads; instruction sets differ in rounding. A field stored otherwise than in double and 18
 * reals is rounded to its storage once, at the end of the call. Collective. Sources: Cabibbo,
 * Marinari, Phys. Lett. B 119 (1982) 387; Kennedy, Pendleton, Phys. Lett. B 156 (1985) 393;
 * over-relaxation: Adler, Phys. Rev. D 23 (1981) 2901; Brown, Woch, Phys. Rev. Lett. 58 (1987)
 * 2394. Errors: ARGUMENT (options is NULL or out of range, sweeps < 0, sweep numbers beyond 2^32 -
 * 1), MEMORY, NOT_BUILT; UNITARITY, NOT_FINITE (12 or 8 reals). */
kaon_status kaon_gauge_heatbath(kaon_gauge *gauge, const kaon_heatbath_options *options,
                                int sweeps);

/* Reads a configuration; the file's checksum, plaquette, link trace and unitarity are verified, in
 * the order and with the statuses of docs/files.md. The file must have the lattice's extents
 * (kaon_gauge_file_probe, io.h, tells them beforehand). options may be NULL; its extents are 0 or
 * the lattice's. info may be NULL; what is known of the file is in it after an error too. After an
 * error the links are unspecified. Collective. Errors: ARGUMENT, SHAPE, IO, FORMAT, UNSUPPORTED,
 * CHECKSUM, UNITARITY, NOT_FINITE, MEMORY, NOT_BUILT. */
kaon_status kaon_gauge_read(kaon_gauge *gauge, const char *path,
                            const kaon_gauge_read_options *options, kaon_gauge_file_info *info);
/* Writes a configuration in double or float as options say (NULL: ILDG, 64 bits), whatever the
 * field's storage; plaquette and link trace of its header are those of the links that a reader
 * makes of it: rounded, and the third row rebuilt where two are stored. The file is written aside
 * and then renamed: a file of this name is whole or untouched, after an error too. The field is
 * unchanged. Collective. Errors: ARGUMENT (options that the format cannot hold), IO, UNSUPPORTED (a
 * format that is only read), NOT_FINITE, UNITARITY (two rows of a link off SU(3)), MEMORY,
 * NOT_BUILT. */
kaon_status kaon_gauge_write(const kaon_gauge *gauge, const char *path,
                             const kaon_gauge_write_options *options);

#ifdef __cplusplus
}
#endif
#endif
