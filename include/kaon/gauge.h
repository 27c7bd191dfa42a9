/* gauge.h - SU(3) link fields: import, export, files, observables, generation. */
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
 * that order, then the odd ones. A matrix is [row][col][re, im].
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

/* Creates a unit field. precision and reconstruct say how links are stored. Collective. */
kaon_status kaon_gauge_create(kaon_lattice *lattice, kaon_precision precision,
                              kaon_reconstruct reconstruct, kaon_gauge **gauge);
void kaon_gauge_destroy(kaon_gauge **gauge);
kaon_lattice *kaon_gauge_lattice(const kaon_gauge *gauge);
/* Grows by one whenever the links change; fields derived from links remember it. */
uint64_t kaon_gauge_revision(const kaon_gauge *gauge);

/* Links from and to host memory. `arrays`: one pointer (natural, MILC, CPS, openQCD) or four (QDP),
 * of double or float as host_precision says. Import refuses links further than
 * KAON_UNITARITY_TOLERANCE from SU(3) (UNITARITY; site and mu are named) and NaN (NOT_FINITE); the
 * field is then unchanged. Collective. Errors: ARGUMENT, UNITARITY, NOT_FINITE, MEMORY. */
kaon_status kaon_gauge_import(kaon_gauge *gauge, kaon_gauge_order order,
                              kaon_precision host_precision, const void *const *arrays);
kaon_status kaon_gauge_export(const kaon_gauge *gauge, kaon_gauge_order order,
                              kaon_precision host_precision, void *const *arrays);
/* to = from in to's precision and reconstruction (of one lattice); equal storage copies the bits.
 * Links off SU(3) do not go into 12 or 8 reals (UNITARITY). Errors: SHAPE, UNITARITY, MEMORY. */
kaon_status kaon_gauge_copy(kaon_gauge *to, const kaon_gauge *from);

/* Synthetic fields; links depend on seed, site and mu alone. unit: U = 1. random: Haar-distributed.
 * weak: rows 1 and 2 = unit matrix + eps u, u uniform in [-1, 1] for each real component; row 1
 * normalised, row 2 orthonormalised against it, row 0 completes SU(3). Errors: ARGUMENT, MEMORY. */
kaon_status kaon_gauge_unit(kaon_gauge *gauge);
kaon_status kaon_gauge_random(kaon_gauge *gauge, uint64_t seed);
kaon_status kaon_gauge_weak(kaon_gauge *gauge, double eps, uint64_t seed);

/* Projects every link to the nearest-row SU(3) matrix (Gram-Schmidt, third row from the first two).
 */
kaon_status kaon_gauge_project(kaon_gauge *gauge);

typedef struct kaon_observables {
  double plaquette;       /* mean over the six planes, in [0, 1] */
  double plaquette_space; /* the three space-like planes */
  double plaquette_time;  /* the three time-like planes */
  double link_trace;      /* mean Re tr U / 3 */
  double polyakov[2];     /* mean over space of tr(prod_t U_t) / 3 */
  double charge;          /* topological charge of the clover-leaf field strength; no cooling */
  double unitarity;       /* largest |U U^dag - 1| entry */
} kaon_observables;
kaon_status kaon_gauge_measure(const kaon_gauge *gauge, kaon_observables *observables);

/* Temporal gauge: fills `to` with g(x) U g(x+t)^dag whose t links are the identity on every slice
 * but t = T - 1. */
kaon_status kaon_gauge_temporal(kaon_gauge *to, const kaon_gauge *from);

typedef struct kaon_heatbath_options {
  size_t size;
  int version;
  double beta;        /* Wilson gauge action */
  int overrelaxation; /* over-relaxation sweeps before each heatbath sweep */
  uint64_t seed;
  uint64_t sweep; /* number of the first sweep: a run continued at sweep n repeats the uninterrupted
                     one */
} kaon_heatbath_options;
#define KAON_HEATBATH_OPTIONS_INIT \
  { sizeof(kaon_heatbath_options), 1, 6.0, 4, 1, 0 }

/* `sweeps` times (over-relaxation sweeps, one Cabibbo-Marinari heatbath sweep). The result depends
 * on the options and the links alone, not on threads. Collective. */
kaon_status kaon_gauge_heatbath(kaon_gauge *gauge, const kaon_heatbath_options *options,
                                int sweeps);

/* Reads a configuration; the file's checksum, plaquette, link trace and unitarity are verified.
 * info may be NULL. kaon_gauge_file_probe (io.h) tells the extents beforehand. Collective. Errors:
 * IO, FORMAT, CHECKSUM, UNITARITY, NOT_FINITE, SHAPE; the links are unspecified then. */
kaon_status kaon_gauge_read(kaon_gauge *gauge, const char *path,
                            const kaon_gauge_read_options *options, kaon_gauge_file_info *info);
/* Writes to a temporary name, then renames: a file of this name is whole or untouched. Collective.
 */
kaon_status kaon_gauge_write(const kaon_gauge *gauge, const char *path,
                             const kaon_gauge_write_options *options);

#ifdef __cplusplus
}
#endif
#endif
