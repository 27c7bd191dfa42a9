/* reference.h - slow, plain lattice QCD in C99 double complex: the oracle of the tests.
 *
 * Includes the C library only and shares nothing with kaon: no layout, no blocks, no projection
 * tricks. Every formula is written out as in docs/conventions.md, with full 4x4 gamma matrices.
 *
 * Host arrays, all lexicographic, x fastest (site = x + X (y + Y (z + Z t))):
 *   links    u[((site * 4 + mu) * 3 + row) * 3 + col]      ref_links_size(L) numbers
 *   spinors  psi[(site * 4 + spin) * 3 + colour]           ref_spinor_size(L) numbers
 *   6 planes of F, in the order (x,y) (x,z) (y,z) (x,t) (y,t) (z,t), see ref_plane_index
 * C99 `double complex` has the representation of `double[2]`, so the arrays can be handed to a
 * library that wants re, im pairs by a cast. Spin basis: UKQCD unless a basis is an argument.
 *
 * Functions that allocate end the program when memory is gone: this is test code. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <complex.h>
#include <stddef.h>
#include <stdint.h>

typedef double complex ref_complex;

/* ---- lattice (ref_lattice.c) ---- */

typedef struct {
  int n[4]; /* X, Y, Z, T */
} ref_lattice;

ref_lattice ref_lattice_make(int nx, int ny, int nz, int nt);
size_t ref_volume(const ref_lattice *L);
size_t ref_links_size(const ref_lattice *L);  /* 36 volume */
size_t ref_spinor_size(const ref_lattice *L); /* 12 volume */
size_t ref_site(const ref_lattice *L, const int x[4]);
void ref_coords(const ref_lattice *L, size_t site, int x[4]);
int ref_parity(const ref_lattice *L, size_t site); /* 0 even, 1 odd */
/* Neighbour at distance `steps` (either sign) along mu, periodic. */
size_t ref_shift(const ref_lattice *L, size_t site, int mu, int steps);
void *ref_alloc(size_t count, size_t size); /* zeroed */
ref_complex *ref_new(size_t count);         /* zeroed complex numbers */

/* ---- random numbers (ref_random.c): splitmix64 seeds xoshiro256** ---- */

typedef struct {
  uint64_t s[4];
} ref_rng;

void ref_rng_seed(ref_rng *r, uint64_t seed);
double ref_uniform(ref_rng *r); /* [0, 1) */
double ref_gauss(ref_rng *r);   /* mean 0, variance 1 */
void ref_random_su3(ref_rng *r, ref_complex u[9]);
/* `count` SU(3) matrices, Haar distributed: links (4 a site) or a transformation (1 a site). */
void ref_random_matrices(ref_complex *u, size_t count, uint64_t seed);
void ref_unit_links(const ref_lattice *L, ref_complex *u);
void ref_random_links(const ref_lattice *L, ref_complex *u, uint64_t seed);
void ref_weak_links(const ref_lattice *L, ref_complex *u, double eps, uint64_t seed);
void ref_random_spinor(const ref_lattice *L, ref_complex *psi, uint64_t seed); /* gaussian */
void ref_point_source(const ref_lattice *L, ref_complex *psi, const int x[4], int spin, int colour);

/* ---- 3x3 and n x n matrices (ref_matrix.c) ---- */

void ref_mul(ref_complex c[9], const ref_complex a[9], const ref_complex b[9]);    /* a b */
void ref_mul_na(ref_complex c[9], const ref_complex a[9], const ref_complex b[9]); /* a b^dag */
void ref_mul_an(ref_complex c[9], const ref_complex a[9], const ref_complex b[9]); /* a^dag b */
void ref_adjoint(ref_complex c[9], const ref_complex a[9]);
ref_complex ref_trace(const ref_complex a[9]);
ref_complex ref_det(const ref_complex a[9]);
double ref_su3_deviation(const ref_complex u[9]); /* max |u u^dag - 1|, |det u - 1| */
/* Row 2 = conj(row 0 x row 1). */
void ref_complete_row2(ref_complex u[9]);
/* n x n, row-major, Gauss elimination with row pivoting; 0 if singular. */
int ref_invert(int n, const ref_complex *a, ref_complex *inverse);
int ref_solve_dense(int n, const ref_complex *a, const ref_complex *b, ref_complex *x);
ref_complex ref_log_det(int n, const ref_complex *a); /* log of the determinant, |Im| <= pi */

/* ---- vectors of count numbers ---- */

double ref_norm2(const ref_complex *a, size_t count);
ref_complex ref_dot(const ref_complex *a, const ref_complex *b, size_t count); /* sum conj(a) b */
double ref_max_diff(const ref_complex *a, const ref_complex *b, size_t count);
double ref_rel_diff(const ref_complex *a, const ref_complex *b, size_t count); /* |a - b| / |b| */
void ref_axpy(ref_complex alpha, const ref_complex *x, ref_complex *y, size_t count);

/* ---- gamma matrices (ref_gamma.c) ---- */

typedef enum {
  REF_UKQCD,         /* kaon inside; gamma_4 = diag(1, 1, -1, -1) */
  REF_DEGRAND_ROSSI, /* Chroma, MILC, QDP++; gamma_5 = diag(1, 1, -1, -1) */
  REF_OPENQCD,       /* openQCD; gamma_1 gamma_2 gamma_3 gamma_4 = diag(-1, -1, 1, 1): openQCD calls
                        gamma_5 its gamma_0 gamma_1 gamma_2 gamma_3, the negative */
  REF_DDALPHAAMG,    /* DDalphaAMG BASIS0: openQCD's with x and z exchanged; diag(1, 1, -1, -1) */
  REF_BASES
} ref_basis;

/* mu = 0..3 (x, y, z, t), or 4 for gamma_5 = gamma_1 gamma_2 gamma_3 gamma_4. */
void ref_gamma(ref_basis basis, int mu, ref_complex g[16]);
void ref_sigma(ref_basis basis, int mu, int nu, ref_complex s[16]); /* (i/2) [gamma_mu, gamma_nu] */
/* Unitary S with gamma(to) = S gamma(from) S^dag, so psi(to) = S psi(from); the first non-zero
 * element in row order is real and positive. */
void ref_basis_change(ref_basis from, ref_basis to, ref_complex s[16]);
void ref_mul4(ref_complex c[16], const ref_complex a[16], const ref_complex b[16]);
/* out = (4x4 matrix m on spin) in, at every site; in place allowed. */
void ref_spin_multiply(const ref_lattice *L, const ref_complex m[16], const ref_complex *in,
                       ref_complex *out);

/* ---- gauge field (ref_gauge.c, ref_field_strength.c) ---- */

typedef struct {
  double all, space, time, link_trace;
} ref_plaquettes;

ref_plaquettes ref_plaquette(const ref_lattice *L, const ref_complex *u);
ref_complex ref_polyakov_loop(const ref_lattice *L, const ref_complex *u);
void ref_gauge_transform_links(const ref_lattice *L, const ref_complex *g, ref_complex *u);
void ref_gauge_transform_spinor(const ref_lattice *L, const ref_complex *g, ref_complex *psi);
/* The transformation g after which U_t = 1 everywhere except on slice t = T - 1. */
void ref_temporal_gauge(const ref_lattice *L, const ref_complex *u, ref_complex *g);
/* Coulomb gauge, in place, until the gradient of sum Re tr U_i is <= tol (rms over sites); returns
 * the sweeps, or 0 if max_sweeps were not enough. */
int ref_coulomb_gauge(const ref_lattice *L, ref_complex *u, double tol, int max_sweeps);
/* As MILC does it (milc_gauge.c): the step, counted from 0, whose functional grows by less than
 * tol, and that functional, the mean of Re tr U_i / 3. */
int ref_milc_coulomb(const ref_lattice *L, ref_complex *u, double boost, double tol, double *last);
/* Constant diagonal field: U = exp(i diag(q) angle), flux angles 2 pi n_xy / (X Y) in the (x, y)
 * plane and 2 pi n_zt / (Z T) in the (z, t) plane; charges q integer. F_xy, F_zt = sin(q angle). */
void ref_flux_links(const ref_lattice *L, ref_complex *u, int n_xy, int n_zt, const int q[3]);

int ref_plane_index(int mu, int nu); /* 0..5 for mu < nu */
void ref_field_strength(const ref_lattice *L, const ref_complex *u, size_t site, int mu, int nu,
                        ref_complex f[9]);
double ref_topological_charge(const ref_lattice *L, const ref_complex *u);

/* ---- Dirac operators (ref_dirac.c, ref_clover.c) ---- */

typedef struct {
  ref_lattice L;
  const ref_complex *u; /* not copied */
  double kappa, csw;
  double aniso;        /* factor nu / xi_0 on the spatial hops only; 1 = isotropic */
  int antiperiodic;    /* in t */
  int cut[4];          /* hops out of a block of so many sites in mu are left out; 0: none are */
  int along;           /* d + 1: only hops in direction d (4 + mu: backward), and if there are such
                          blocks only those out of them; 0: see `cut` */
  ref_complex *clover; /* A, 144 numbers a site, row-major, index spin * 3 + colour; NULL: A = 1 */
} ref_dirac;

/* kappa, csw, boundary; builds the clover term when csw != 0. ref_dirac_free releases it. */
ref_dirac ref_dirac_make(const ref_lattice *L, const ref_complex *u, double kappa, double csw,
                         int antiperiodic);
void ref_dirac_free(ref_dirac *d);
/* Adds 2 i kappa mu gamma_5 to A. Functions for adjoints take A as it is: give them an operator
 * with -mu. */
void ref_dirac_twist(ref_dirac *d, double mu);

/* out = D in (sign +1) or D^dag in (sign -1), on all sites of both parities. No kappa. */
void ref_hop(const ref_dirac *d, int sign, const ref_complex *in, ref_complex *out);
/* Same, only sites x of `parity` are written (others untouched); reads only the other parity. */
void ref_hop_parity(const ref_dirac *d, int sign, int parity, const ref_complex *in,
                    ref_complex *out);
void ref_clover_multiply(const ref_dirac *d, const ref_complex *in, ref_complex *out);
void ref_apply(const ref_dirac *d, const ref_complex *in, ref_complex *out);        /* M */
void ref_apply_dagger(const ref_dirac *d, const ref_complex *in, ref_complex *out); /* M^dag */
void ref_apply_normal(const ref_dirac *d, const ref_complex *in, ref_complex *out); /* M^dag M */
/* M as a dense row-major matrix of 12 volume rows, from its definition; caller frees. */
ref_complex *ref_dense(const ref_dirac *d);

/* A(x) = 1 - (kappa csw / 2) sum_{mu, nu} sigma_{mu nu} F_{mu nu}(x), 12x12, in any basis. Planes
 * with t have csw * electric. */
void ref_clover_site(const ref_lattice *L, const ref_complex *u, double kappa, double csw,
                     double electric, ref_basis basis, size_t site, ref_complex a[144]);
/* Chiral blocks of a UKQCD 12x12: plus (gamma_5 = +1) and minus, 6x6, index s * 3 + colour, in the
 * spin basis (upper_s +- lower_s) / sqrt(2). Returns the largest element outside the blocks. */
double ref_chiral_blocks(const ref_complex a[144], ref_complex plus[36], ref_complex minus[36]);

/* ---- even-odd (ref_evenodd.c). Vectors are full-lattice; the other parity is ignored or zero.
 * parity p = 0: the Schur complement lives on even sites, q = 1 - p is eliminated. ---- */

/* symmetric: 1 - kappa^2 A_p^-1 D_pq A_q^-1 D_qp;  asymmetric: A_p - kappa^2 D_pq A_q^-1 D_qp */
void ref_schur(const ref_dirac *d, int parity, int symmetric, const ref_complex *in,
               ref_complex *out);
/* Its adjoint. */
void ref_schur_dagger(const ref_dirac *d, int parity, int symmetric, const ref_complex *in,
                      ref_complex *out);
/* b_p + kappa D_pq A_q^-1 b_q, times A_p^-1 when symmetric. */
void ref_schur_prepare(const ref_dirac *d, int parity, int symmetric, const ref_complex *b,
                       ref_complex *out);
/* x_q = A_q^-1 (b_q + kappa D_qp x_p), written into the q sites of x. */
void ref_schur_reconstruct(const ref_dirac *d, int parity, const ref_complex *b, ref_complex *x);
/* out = A^-1 in on the sites of one parity. */
void ref_clover_solve_parity(const ref_dirac *d, int parity, const ref_complex *in,
                             ref_complex *out);

/* ---- domain walls (ref_domain_wall.c): psi[((s * volume + site) * 4 + spin) * 3 + colour] ---- */

typedef struct {
  ref_dirac wilson; /* links, boundary, blocks; kappa is not used */
  int ls;
  double m5, mass;
} ref_domain_wall;

size_t ref_domain_wall_size(const ref_domain_wall *d);
/* M, or M^dag. */
void ref_domain_wall_apply(const ref_domain_wall *d, int dagger, const ref_complex *in,
                           ref_complex *out);
/* With T the part of M without hops: 1 - T_p^-1 D_pq T_q^-1 D_qp / 4 if symmetric, else T_p - D_pq
 * T_q^-1 D_qp / 4, or the adjoint. Sites of the other parity are ignored, and 0 or left alone in
 * out. */
void ref_domain_wall_schur(const ref_domain_wall *d, int dagger, int parity, int symmetric,
                           const ref_complex *in, ref_complex *out);

/* ---- fat links (ref_fatten.c) ---- */

enum { REF_FAT_PATHS = 85 }; /* of a link at most: 1, 6, 24, 48, and 6 of Lepage's */
/* Coefficients of paths by their links; lepage: five links, two and two in one direction. */
typedef struct {
  double one, three, five, seven, lepage, naik;
} ref_fat_coefficients;

/* Every path whose coefficient is not 0: its steps (0..3 forward, 4..7 backward); how many. */
int ref_fat_paths(const ref_fat_coefficients *c, int mu, int paths[][7], int lengths[],
                  double factors[]);
/* naik may be NULL. Links any matrices; neither signs nor boundaries. */
void ref_fatten(const ref_lattice *L, const ref_complex *u, const ref_fat_coefficients *c,
                ref_complex *fat, ref_complex *naik);
/* w becomes the unitary matrix nearest to it; 0: it is singular. */
int ref_unitary_factor(ref_complex w[9]);

/* ---- staggered operators (ref_staggered.c): 3 colours a site, chi[site * 3 + colour] ---- */

enum { REF_PHASES_MILC, REF_PHASES_CHROMA };
typedef struct {
  ref_lattice L;
  const ref_complex *fat;  /* thin or fat links without phases; not copied, as naik */
  const ref_complex *naik; /* links of three steps, with their coefficient; NULL: none */
  double epsilon;          /* naik counts 1 + epsilon times */
  double mass;
  int antiperiodic; /* in t */
  int phases;
  int along, block; /* as ref_dirac.along and .cut */
} ref_staggered;

/* eta_mu(x), times -1 where a hop of `steps` forward from x crosses the antiperiodic boundary. */
double ref_staggered_sign(const ref_staggered *d, int mu, int steps, const int x[4]);
/* out = D in on the sites of `parity` (-1: all); others are left alone. */
void ref_staggered_hop(const ref_staggered *d, int parity, const ref_complex *in, ref_complex *out);
/* out = (2 m + sign D) in: M, or M^dag (sign -1). */
void ref_staggered_apply(const ref_staggered *d, int sign, const ref_complex *in, ref_complex *out);
/* out = (4 m^2 - D_pq D_qp) in on the sites of `parity`. */
void ref_staggered_normal(const ref_staggered *d, int parity, const ref_complex *in,
                          ref_complex *out);

/* ---- aggregation (ref_transfer.c): psi[site * numbers + c], coarse[(aggregate * 2 + half) * n +
 * j], with sites and aggregates in lexicographic order ---- */

typedef struct {
  ref_lattice L;
  int block[4]; /* sites of an aggregate in each direction */
  int numbers;  /* of a site; halves are the first and the second half of them */
  int turned;   /* halves of fine vectors: (upper + lower) / sqrt 2 and (upper - lower) / sqrt 2 */
  int n;
  ref_complex *const *v; /* the basis: n vectors in halves; not copied */
} ref_transfer;

size_t ref_aggregates(const ref_transfer *t); /* how many */
size_t ref_aggregate(const ref_transfer *t, size_t site);
/* A fine vector's numbers to its halves, or back. */
void ref_halves(const ref_transfer *t, const ref_complex *in, ref_complex *out);
/* Makes the basis orthonormal on each aggregate and half, with positive diagonal factors. */
void ref_gram_schmidt(const ref_transfer *t);
/* Largest |(V^dagger V - 1)_ij| of all aggregates and halves. */
double ref_unitarity(const ref_transfer *t);
void ref_restrict(const ref_transfer *t, const ref_complex *fine, ref_complex *coarse);
void ref_prolong(const ref_transfer *t, const ref_complex *coarse, ref_complex *fine);

/* ---- solvers (ref_solve.c); x starts at zero ---- */

typedef struct {
  int iterations;
  double residual;        /* |b - A x| / |b|, recomputed */
  double normal_residual; /* |M^dag (b - M x)| / |M^dag b|, recomputed (CGN only) */
} ref_report;

typedef void (*ref_operator)(const void *matrix, const ref_complex *in, ref_complex *out);

/* CG for a hermitian positive A; stops on the recurrence residual |r| <= tol |b|. */
ref_report ref_cg(ref_operator a, const void *matrix, const ref_complex *b, ref_complex *x,
                  size_t count, double tol, int max_iter);
/* CG on M^dag M x = M^dag b; stops on |M^dag r| <= tol |M^dag b| (stop_full 0) or on the full
 * system's |b - M x| <= tol |b|, from its own recurrence (stop_full 1). */
ref_report ref_cgn(const ref_dirac *d, const ref_complex *b, ref_complex *x, double tol,
                   int max_iter, int stop_full);
/* BiCGStab for any A; stops on |r| <= tol |b|. */
ref_report ref_bicgstab(ref_operator a, const void *matrix, const ref_complex *b, ref_complex *x,
                        size_t count, double tol, int max_iter);
/* M as a ref_operator; `matrix` is the ref_dirac. */
void ref_operator_m(const void *matrix, const ref_complex *in, ref_complex *out);

/* ---- preconditioned solvers (ref_krylov.c); x starts at zero, tol is for |r| / |b| as the
 * recurrence has it, at most `most` steps; the number of steps comes back ---- */

/* y = A x or A^dagger x, n numbers. */
typedef void ref_map(const void *user, int dagger, size_t n, const ref_complex *x, ref_complex *y);
typedef struct {
  size_t n;
  ref_map *a, *k; /* the system, the preconditioner (NULL: none) */
  const void *a_user, *k_user;
} ref_system;
enum { REF_HISTORY = 4096 };
typedef struct {
  int count; /* steps + 1 */
  double residual[REF_HISTORY];
} ref_history;

int ref_pcg(const ref_system *s, const ref_complex *b, ref_complex *x, double tol, int most,
            ref_history *h);
int ref_pipecg(const ref_system *s, const ref_complex *b, ref_complex *x, double tol, int most,
               ref_history *h);
int ref_pbicgstab(const ref_system *s, const ref_complex *b, ref_complex *x, double tol, int most,
                  ref_history *h);
/* printed: rho as the paper has it, -omega (r0, t) */
int ref_rbicgstab(const ref_system *s, int printed, const ref_complex *b, ref_complex *x,
                  double tol, int most, ref_history *h);
int ref_pbicg(const ref_system *s, const ref_complex *b, ref_complex *x, double tol, int most,
              ref_history *h);
/* |b - A x| / |b| */
double ref_system_residual(const ref_system *s, const ref_complex *b, const ref_complex *x);

/* ---- free field (ref_free.c) ---- */

/* Symbol of M on exp(i p x): 1 - 2 kappa sum_mu f_mu (cos p_mu - i gamma_mu sin p_mu), f_mu = aniso
 * on spatial mu. p_t = 2 pi (n + 1/2) / T when antiperiodic. */
void ref_free_symbol(double kappa, double aniso, const double p[4], ref_complex m[16]);
void ref_momentum(const ref_lattice *L, int antiperiodic, const int n[4], double p[4]);
/* The 4x4 spin matrix of M^-1 from `source` to `sink` for U = 1 (unit matrix in colour). */
void ref_free_propagator(const ref_lattice *L, double kappa, double aniso, int antiperiodic,
                         const int sink[4], const int source[4], ref_complex s[16]);

/* ---- hadrons (ref_meson.c) ---- */

/* Zero-momentum correlator of the flavoured meson ubar Gamma d from the 12 columns of a point
 * source, columns[spin0 * 3 + colour0] = M^-1 delta_{spin0, colour0}; c has T entries, c[0] at
 * slice t0: c(t) = -sum_x tr[Gamma S(x) Gammabar gamma_5 S(x)^dag gamma_5], Gammabar = gamma_4
 * Gamma^dag gamma_4. Real and positive on average, for every Gamma, up to the boundary sign. */
void ref_meson(const ref_lattice *L, ref_complex *const columns[12], const ref_complex gamma[16],
               int t0, ref_complex *c);
/* sum |S|^2: the pion (ref_meson for gamma_5). */
void ref_pion(const ref_lattice *L, ref_complex *const columns[12], int t0, double *c);
/* The vector meson: Re of ref_meson for gamma_k, mean over k = 1, 2, 3. */
void ref_rho(const ref_lattice *L, ref_complex *const columns[12], int t0, double *c);

/* ---- sparse matrices (ref_sparse.c): triplets, each added where it stands ---- */

typedef struct {
  size_t rows, entries, room; /* square */
  int64_t *row, *column;
  ref_complex *value;
} ref_sparse;

ref_sparse ref_sparse_new(size_t rows);
void ref_sparse_free(ref_sparse *a);
void ref_sparse_add(ref_sparse *a, size_t row, size_t column, ref_complex value);
/* y = A x, or A^dagger x. sum[row]: sum of |entry| |x|; longest[row]: how many there are. NULL: not
 * wanted. */
void ref_sparse_apply(const ref_sparse *a, int dagger, const ref_complex *x, ref_complex *y,
                      double *sum, int *count);
/* 5 and 7 points on n^2 and n^3 sites with Dirichlet boundaries; wind: (1 +- wind) on the first
 * axis. */
ref_sparse ref_sparse_laplace(int n, int dimensions, double mass, double wind);
/* About `mean` entries a row at random places, imaginary parts if `complex_values`; a diagonal of
 * `diagonal`, which gives a dominant one where it is above twice the mean. */
ref_sparse ref_sparse_random(size_t rows, double mean, double diagonal, int complex_values,
                             uint64_t seed);

/* ---- relaxation (ref_relax.c) ---- */

/* Rows by arrays: row i is [start[i], start[i + 1]), in any order, none twice. */
typedef struct {
  size_t rows;
  const int64_t *start;
  const int32_t *column;
  const ref_complex *value;
} ref_rows;

/* One sweep each, x in place. Jacobi: x += tau D^-1 (b - A x). SOR: a row after another, in this
 * order (NULL: as they stand). Blocks of rows: couplings to other blocks with x from before the
 * sweep (renew = 0) or as it is by then (1), then Jacobi sweeps inside. */
void ref_relax_jacobi(const ref_rows *a, double tau, const ref_complex *b, ref_complex *x);
void ref_relax_sor(const ref_rows *a, double omega, const size_t *order, const ref_complex *b,
                   ref_complex *x);
void ref_relax_blocks(const ref_rows *a, size_t block, int sweeps, double factor, int renew,
                      const ref_complex *b, ref_complex *x);
double ref_relax_residual(const ref_rows *a, const ref_complex *b, const ref_complex *x);
/* ---- row projections (ref_kaczmarz.c) ---- */

typedef struct {
  enum {
    REF_SINGLE_SWEEP, /* forward */
    REF_DOUBLE_SWEEP, /* forward, then backward */
    REF_BLOCK_SWEEPS, /* the same in blocks with averages after each */
    REF_ALL_ROWS      /* x += lambda A^H D^-1 (b - A x), twice */
  } kind;
  double lambda;
  const int64_t *order; /* of the rows of a sweep; NULL: 0, 1, ... In blocks: places n k / blocks
                           on hold block k's rows */
  size_t blocks;        /* block k: from row n k / blocks on */
} ref_projection;

/* x becomes what the sweeps for the right-hand side b (NULL: 0) make of it. */
void ref_project(const ref_sparse *a, const ref_projection *p, const ref_complex *b,
                 ref_complex *x);
/* CG on x = (what the sweeps make of x) from x = 0, in the product that blocks weight, until |b - A
 * x| < tol |b|; the steps taken, at most `most`. */
int ref_projection_cg(const ref_sparse *a, const ref_projection *how, const ref_complex *b,
                      double tol, int most, ref_complex *x);

/* ---- reconstruction (ref_codec.c): what 12 and 8 reals mean, not how a library packs them ---- */

void ref_encode12(const ref_complex u[9], double r[12]);
void ref_decode12(const double r[12], ref_complex u[9]);
/* Minimal form: the pivot row k with the largest off-column weight is completed from 8 reals; k is
 * returned and must be given back. */
int ref_encode8(const ref_complex u[9], double r[8]);
void ref_decode8(const double r[8], int pivot, ref_complex u[9]);

/* ---- coarse operators (ref_coarse.c) ---- */

/* out(X) = matrix[8](X) in(X) + sum over d < 8 of matrix[d](X) in(X + d), periodic; directions 0 to
 * 3 are forward x, y, z, t, 4 to 7 backward. Vectors: [site][number]; matrices: [site][row][column]
 * of `numbers` rows. */
typedef struct {
  ref_lattice L;
  int numbers;
  ref_complex *matrix[9];
} ref_coarse;
/* Which terms: a bit for each matrix; hops inside blocks of such extents (0: all), or only those
 * that leave blocks. */
typedef struct {
  unsigned matrices;
  int block[4], leaving;
} ref_coarse_terms;

/* Random matrices whose sum is well-conditioned, with eigenvalues around 1.5 - 0.5 i. */
ref_coarse ref_coarse_random(const ref_lattice *L, int numbers, uint64_t seed);
void ref_coarse_free(ref_coarse *c);
ref_complex *ref_coarse_matrix(const ref_coarse *c, int m, size_t site);
/* magnitudes: 1: of |matrix| and |in|, element by element, for bounds. */
void ref_coarse_apply(const ref_coarse *c, const ref_coarse_terms *t, int magnitudes,
                      const ref_complex *in, ref_complex *out);

#endif
