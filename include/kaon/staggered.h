/* staggered.h - staggered quarks: naive and improved operators, their even-odd reduction, links and
 * vectors in other codes' form. Conventions: docs/conventions.md, "Staggered operators". */
#ifndef KAON_STAGGERED_H
#define KAON_STAGGERED_H

#include <kaon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* eta_mu(x), the signs of hops in x, y, z, t:
 *   MILC    (-1)^t, (-1)^(t+x), (-1)^(t+x+y), 1
 *   CHROMA  1, (-1)^x, (-1)^(x+y), (-1)^(x+y+z)     (CPS's too) */
typedef enum kaon_staggered_phases { KAON_PHASES_MILC, KAON_PHASES_CHROMA } kaon_staggered_phases;

typedef struct kaon_staggered_options {
  size_t size;
  int version;
  double mass; /* quark mass in lattice units: M = 2 mass + D */
  kaon_staggered_phases phases;
  /* coefficient c of long links, U = c times a U(3) matrix; 0: -|c| as found */
  double naik;
  double naik_epsilon;      /* long links count 1 + naik_epsilon times */
  kaon_precision precision; /* of vectors and of the links that the operator keeps */
  kaon_reconstruct reconstruct;
} kaon_staggered_options;
#define KAON_STAGGERED_OPTIONS_INIT                                                  \
  {                                                                                  \
    sizeof(kaon_staggered_options), 1, 0.1, KAON_PHASES_MILC, 0.0, 0.0, KAON_DOUBLE, \
        KAON_RECONSTRUCT_18                                                          \
  }

/* M = 2 mass + D on full-lattice staggered vectors,
 *   (D chi)(x) = sum_mu eta_mu(x) [U_mu(x) chi(x+mu) - U_mu(x-mu)^dag chi(x-mu)
 *                + (1 + naik_epsilon) (L_mu(x) chi(x+3mu) - L_mu(x-3mu)^dag chi(x-3mu))],
 * each hop across the antiperiodic boundary times -1. D^dagger = -D.
 *   links   U: thin or fat links, without signs
 *   naik    L: long links with their coefficient, without signs; NULL: no such hops
 *   options NULL: the defaults
 *   reconstruct: reals a link of U where naik is NULL, else of L (U then has 18); 12 and 8 are for
 *           SU(3), and of L become 13 and 9 where it has phases of U(3)
 *
 * In half precision fat and long links have a scale of the whole field. Keeps both fields alive and
 * copies what it stores otherwise; becomes STALE when their links change (kaon_staggered_update).
 * *M is NULL on failure. Collective. Errors: ARGUMENT, SHAPE (fields of two lattices), UNSUPPORTED
 * (a divided lattice), UNITARITY (12 or 8 reals), NOT_FINITE, MEMORY, NOT_BUILT. */
kaon_status kaon_staggered_create(kaon_gauge *links, kaon_gauge *naik,
                                  const kaon_staggered_options *options, kaon_operator **M);
/* Refills, in place, the links of M and of everything made from it; M may be any of them. After a
 * failure they stay STALE. Collective. Errors: as of create. */
kaon_status kaon_staggered_update(kaon_operator *M);

/* D alone: out = D in on the sites of `parity` (KAON_EVEN or KAON_ODD), in of the other one.
 *   in, out  single-parity staggered vectors of M's lattice and precision, equal columns; in is
 *            unchanged
 * Collective; asynchronous on CUDA. Errors: ARGUMENT, SHAPE, PRECISION, STALE, UNSUPPORTED. */
kaon_status kaon_staggered_hop(kaon_operator *M, kaon_parity parity, const kaon_vector *in,
                               kaon_vector *out);

/* The reduction of M to the sites p of `parity`: A x_p = b' with
 *   A = 4 mass^2 - D_pq D_qp, b' = 2 mass b_p - D_pq b_q,   x_q = (b_q - D_qp x_p) / (2 mass).
 * A is p's block of M^dagger M, Hermitian and positive definite: for cg. A solver made on it
 * accepts sources of either space, as of kaon_dirac_even_odd: of p's alone it solves (M^dagger M) x
 * = b there. M comes from kaon_staggered_create, is kept alive, and has a mass that is not 0.
 * *reduced is NULL on failure. Collective. Errors: ARGUMENT, UNSUPPORTED, STALE, MEMORY, NOT_BUILT.
 */
kaon_status kaon_staggered_even_odd(kaon_operator *M, kaon_parity parity, kaon_operator **reduced);

/* ---- fat and long links: any 3x3 matrices, in fields of 18 reals ---- */

/* As kaon_gauge_import, but for SU(3): every finite matrix is taken. links: 18 reals. Collective.
 * Errors: ARGUMENT, NOT_FINITE, MEMORY, NOT_BUILT. */
kaon_status kaon_staggered_import_links(kaon_gauge *links, kaon_gauge_order order,
                                        kaon_precision host_precision, const void *const *arrays);
/* The first field of four 3x3 matrices a site of a SciDAC file (MILC's fat and long links), f32 or
 * f64; its checksum is verified; where there is none, or a wrong one is ignored, the context's log
 * is warned. After an error the links are unspecified. Collective. Errors: ARGUMENT, SHAPE, IO,
 * FORMAT, CHECKSUM, NOT_FINITE, MEMORY. */
kaon_status kaon_staggered_read_links(kaon_gauge *links, const char *path, int ignore_checksum);
/* Multiplies each link by eta_mu(x) and, where a hop of `steps` (1: thin or fat, 3: long) forward
 * from x crosses the antiperiodic boundary of the field's lattice, by -1: in place. What other
 * codes fold into their links is taken out so, and folded in by a second call. Collective. Errors:
 * ARGUMENT, UNSUPPORTED (a field not in double and 18 reals), MEMORY. */
kaon_status kaon_staggered_fold(kaon_gauge *links, int steps, kaon_staggered_phases phases);

/* ---- vectors in files ---- */

/* A column from a SciDAC file's first field of three colours a site (MILC's KS vectors); and all
 * columns to a file, a record each, in f32 or f64 (bits), with `text` as their title (NULL: none).
 * The vector is one on all sites. Checksums as with links. Collective. Errors: ARGUMENT, SHAPE, IO,
 * FORMAT, CHECKSUM, NOT_FINITE, MEMORY. */
kaon_status kaon_staggered_read_vector(kaon_vector *vector, int column, const char *path,
                                       int ignore_checksum);
kaon_status kaon_staggered_write_vectors(const kaon_vector *vector, const char *path, int bits,
                                         const char *text);

/* What the headers of such a file say. */
typedef struct kaon_staggered_file_info {
  int extents[4];
  int columns;     /* fields of three colours a site on all sites */
  int precision;   /* bits of a real */
  char text[1024]; /* the first one's title; "": none */
} kaon_staggered_file_info;
/* Headers only. All ranks of ctx together; ctx NULL: this process alone. Errors: ARGUMENT, IO,
 * FORMAT, UNSUPPORTED. */
kaon_status kaon_staggered_file_probe(const kaon_context *ctx, const char *path,
                                      kaon_staggered_file_info *info);
/* All columns of a file that has as many, on the vector's lattice: what
 * kaon_staggered_write_vectors wrote. The vector is one on all sites, and unspecified after an
 * error. Collective. Errors: ARGUMENT, SHAPE (lattices or numbers of columns differ), IO, FORMAT,
 * UNSUPPORTED, CHECKSUM, NOT_FINITE, MEMORY. */
kaon_status kaon_staggered_read_vectors(kaon_vector *vector, const char *path, int ignore_checksum);

#ifdef __cplusplus
}
#endif
#endif
