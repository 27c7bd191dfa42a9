/* milc_files.h - readers, for tests only, of two MILC binary files: v5 gauge field and "FM" Wilson
 * propagator. The formats follow MILC's documentation and file headers (milc-qcd/milc_qcd,
 * include/file_types.h, io_lat.h, io_wprop.h). Data are in the writer's byte order, known from the
 * magic number. Both return NULL on success, else a sentence. They allocate the arrays; the caller
 * frees them. */
#ifndef MILC_FILES_H
#define MILC_FILES_H

#include "reference.h"

/* i32 20103, i32 X Y Z T, char[64] time stamp, i32 order (0), u32 sum29, sum31; then f32 3x3
 * matrices, mu = x, y, z, t a site, x fastest. The links are projected on SU(3) (rows 0 and 1
 * orthonormalised, row 2 completed): f32 links are unitary only to 1e-7. */
const char *milc_read_gauge(const char *path, ref_lattice *L, ref_complex **u);

/* i32 0x31ed, i32 X Y Z T, char[64] time stamp, i32 order (0), i32 n_spins, i32 spins[4]; then, for
 * every source spin and colour: i32 spin, i32 colour, u32 sum29, u32 sum31, f32 4x3 complex a site
 * (spin, then colour), x fastest. columns[spin * 3 + colour], in MILC's spin basis. sums_match: how
 * many of the 12 records have the stored checksums (a mismatch is no error here). */
const char *milc_read_propagator(const char *path, ref_lattice *L, ref_complex *columns[12],
                                 int *sums_match);

/* The binary data of a SciDAC file's first field of `reals` f32 a site, in file order; the extents
 * are the caller's. */
const char *milc_read_scidac(const char *path, const ref_lattice *L, size_t reals,
                             ref_complex **values);

/* MILC's M has (1 + gamma_mu) on the forward hop with the DeGrand-Rossi gammas: it is kaon's M with
 * the gammas -gamma_DR = gamma_5 gamma_DR gamma_5. psi(UKQCD) = V psi(MILC); V is unitary. */
void milc_to_ukqcd(ref_complex v[16]);

#endif
