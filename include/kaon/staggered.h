/** @file staggered.h
 * Staggered quarks: naive and improved operators, their even-odd reduction, links and vectors of
 * other codes. Conventions: docs/conventions.md, "Staggered operators". */
#ifndef KAON_STAGGERED_H
#define KAON_STAGGERED_H

#include <kaon/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Signs eta_mu(x) of hops in x, y, z, t.
 *
 * - MILC: (-1)^t, (-1)^(t+x), (-1)^(t+x+y), 1
 * - CHROMA: 1, (-1)^x, (-1)^(x+y), (-1)^(x+y+z); also CPS's */
typedef enum kaon_staggered_phases { KAON_PHASES_MILC, KAON_PHASES_CHROMA } kaon_staggered_phases;

/** Options of staggered operators. */
typedef struct kaon_staggered_options {
  size_t size;
  int version;
  double mass; /**< quark mass in lattice units: M = 2 mass + D */
  kaon_staggered_phases phases;
  double naik; /**< coefficient c of long links, which are c times a U(3) matrix. 0: -|c| as found
                    in the links */
  double naik_epsilon;      /**< long links are multiplied by 1 + naik_epsilon */
  kaon_precision precision; /**< of vectors, and of the links that the operator keeps */
  kaon_reconstruct reconstruct;
} kaon_staggered_options;
/** Defaults. */
#define KAON_STAGGERED_OPTIONS_INIT                                                       \
  {                                                                                       \
    sizeof(kaon_staggered_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_STAGGERED, 1), 0.1, \
        KAON_PHASES_MILC, 0.0, 0.0, KAON_DOUBLE, KAON_RECONSTRUCT_18                      \
  }

/** Creates M = 2 mass + D on staggered vectors of all sites, with D^dagger = -D and
 *
 *     (D chi)(x) = sum_mu eta_mu(x) [ U_mu(x) chi(x + mu) - U_mu(x - mu)^dag chi(x - mu)
 *         + (1 + naik_epsilon) (L_mu(x) chi(x + 3 mu) - L_mu(x - 3 mu)^dag chi(x - 3 mu)) ]
 *
 * Hops across the antiperiodic boundary have a factor -1.
 *
 * - `links`: U, thin or fat links, without signs
 * - `naik`: L, long links with their coefficient, without signs. NULL: none
 * - `options`: NULL: the defaults. `reconstruct` applies to U if naik is NULL, else to L (U then
 *   has 18 reals). 12 and 8 are for SU(3); for L with phases of U(3) they become 13 and 9
 *
 * In half precision fat and long links have one scale for the whole field. M keeps both fields
 * alive and copies what it stores in another way. It becomes STALE when their links change, until
 * kaon_staggered_update(). Collective. Errors: ARGUMENT, SHAPE (fields of two lattices), STALE
 * (links of kaon_fatten() whose thin links changed), UNSUPPORTED (a divided lattice, on a backend
 * without such kernels), UNITARITY (12 or 8 reals), NOT_FINITE, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_staggered_create(kaon_gauge *links, kaon_gauge *naik,
                                           const kaon_staggered_options *options,
                                           kaon_operator **M);
/** Takes over the present links, in place: in M and in all that was made from it. M may be any of
 * them. After a failure all of them are STALE. Collective. Errors: those of
 * kaon_staggered_create(). */
KAON_API kaon_status kaon_staggered_update(kaon_operator *M);

/** D alone: out = D in on the sites of `parity` (KAON_EVEN or KAON_ODD); `in` has the other parity.
 * Both are staggered vectors of one parity, of M's lattice and precision, with equal columns. `in`
 * is unchanged. Collective; asynchronous on CUDA. Errors: ARGUMENT, SHAPE, PRECISION, STALE,
 * UNSUPPORTED. */
KAON_API kaon_status kaon_staggered_hop(kaon_operator *M, kaon_parity parity, const kaon_vector *in,
                                        kaon_vector *out);

/** Creates the reduction of M to the sites p of `parity`: A x_p = b' with
 *
 *     A = 4 mass^2 - D_pq D_qp,   b' = 2 mass b_p - D_pq b_q,   x_q = (b_q - D_qp x_p) / (2 mass)
 *
 * A is p's block of M^dagger M: Hermitian and positive definite, for method cg. A solver that was
 * made on it accepts right-hand sides of either space. For one on p alone it solves (M^dagger M) x
 * = b there. M comes from kaon_staggered_create(), has a mass other than 0, and is retained.
 * Collective. Errors: ARGUMENT, UNSUPPORTED, STALE, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_staggered_even_odd(kaon_operator *M, kaon_parity parity,
                                             kaon_operator **reduced);

/** @name Fat and long links
 * Any 3x3 matrices, in gauge fields of 18 reals (kaon_gauge_import_matrices()). */
/** @{ */

/** Reads the first field of four 3x3 matrices a site from a SciDAC file, as MILC writes fat and
 * long links, in 32 or 64 bits. The checksum is verified. If there is none, or a wrong one is
 * ignored, the context's log has a warning. After an error the links are unspecified. Collective.
 * Errors: ARGUMENT, SHAPE, IO, FORMAT, CHECKSUM, NOT_FINITE, MEMORY. */
KAON_API kaon_status kaon_staggered_read_links(kaon_gauge *links, const char *path,
                                               int ignore_checksum);
/** Multiplies signs into links, in place: each link by eta_mu(x), and by -1 where a hop of `steps`
 * sites forward from x crosses the antiperiodic boundary (1: thin or fat links; 3: long links). A
 * second call removes the signs again, as from links of codes that fold them in. Collective.
 * Errors: ARGUMENT, UNSUPPORTED (a field not in double and 18 reals), MEMORY. */
KAON_API kaon_status kaon_staggered_fold(kaon_gauge *links, int steps,
                                         kaon_staggered_phases phases);
/** Refuses links that cannot be what they are taken for, and names the likely mistake: fat and long
 * links exchanged, thin links in their place, links of another configuration, signs left in or
 * taken out twice.
 *
 * - `fat`, `naik`: without signs, in any storage; unchanged
 * - `thin`: their thin links, from which both are made anew and compared. The size of the long links
 *   gives u0 of asqtad or epsilon of HISQ. NULL: only the fat and the long ones are compared
 * - `action`: of the fattening
 *
 * Host work of a pass over all links; with `thin` also a kaon_fatten() and its memory. Collective.
 * Errors: ARGUMENT (the sentence says what is wrong), SHAPE (fields of several lattices), MEMORY,
 * NOT_BUILT. */
KAON_API kaon_status kaon_staggered_check_links(const kaon_gauge *fat, const kaon_gauge *naik,
                                                const kaon_gauge *thin, kaon_fatten_action action);
/** @} */

/** @name Vectors in files */
/** @{ */

/** Reads one column from the first field of three colours a site of a SciDAC file (MILC's KS
 * vectors). The vector is one on all sites. Checksums: as in kaon_staggered_read_links().
 * Collective. Errors: ARGUMENT, SHAPE, IO, FORMAT, CHECKSUM, NOT_FINITE, MEMORY. */
KAON_API kaon_status kaon_staggered_read_vector(kaon_vector *vector, int column, const char *path,
                                                int ignore_checksum);
/** Writes all columns to a file, one record each, with `bits` 32 or 64 and the title `text` (NULL:
 * none). The vector is one on all sites. Collective. Errors: ARGUMENT, SHAPE, IO, NOT_FINITE,
 * MEMORY. */
KAON_API kaon_status kaon_staggered_write_vectors(const kaon_vector *vector, const char *path,
                                                  int bits, const char *text);

/** What the headers of such a file say. */
typedef struct kaon_staggered_file_info {
  size_t size;
  int extents[4];
  int columns;     /**< fields of three colours a site, on all sites */
  int precision;   /**< bits of a real */
  char text[1024]; /**< title of the first one. "": none */
} kaon_staggered_file_info;
/** Initial value. */
#define KAON_STAGGERED_FILE_INFO_INIT KAON_SIZED(kaon_staggered_file_info)
/** Reads the headers. Collective over ctx; NULL: this process alone. Errors: ARGUMENT, IO, FORMAT,
 * UNSUPPORTED. */
KAON_API kaon_status kaon_staggered_file_probe(const kaon_context *ctx, const char *path,
                                               kaon_staggered_file_info *info);
/** Reads all columns of a file that kaon_staggered_write_vectors() wrote. Lattice and number of
 * columns must be the vector's, which is one on all sites. After an error the vector is
 * unspecified. Collective. Errors: ARGUMENT, SHAPE (lattices or columns differ), IO, FORMAT,
 * UNSUPPORTED, CHECKSUM, NOT_FINITE, MEMORY. */
KAON_API kaon_status kaon_staggered_read_vectors(kaon_vector *vector, const char *path,
                                                 int ignore_checksum);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
