/* options_table.c - the rows. Pointer fields (callbacks, preconditioners) have no row, as they have
 * no text form. */
#include "lib/core/options_table.h"

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "lib/operator/shifts.h"

static const char *const precisions[] = {"double", "single", "half", NULL};
static const char *const reconstructs[] = {"18", "12", "8", NULL};
static const char *const phases[] = {"milc", "chroma", NULL};
static const char *const file_formats[] = {"auto", "nersc",   "ildg",       "scidac",
                                           "milc", "openqcd", "ddalphaamg", NULL};
static const char *const propagator_bases[] = {"ukqcd", "degrand-rossi", NULL};
#define KAON_X(value, descriptor, name, purpose) name,
static const char *const methods[] = {KAON_METHOD_LIST(KAON_X) NULL};
#undef KAON_X

/* The rows of a struct S: INT, REAL(field, default, low, high, help); SEED(field, default, help);
 * ENUM(field, default, names, help). */
#define ROW(field, type, standard, low, high, names, help) \
  { #field, type, offsetof(S, field), standard, low, high, names, help }
#define INT(field, standard, low, high, help) \
  ROW(field, KAON_FIELD_INT, standard, low, high, NULL, help)
#define REAL(field, standard, low, high, help) \
  ROW(field, KAON_FIELD_DOUBLE, standard, low, high, NULL, help)
#define SEED(field, standard, help) \
  ROW(field, KAON_FIELD_UINT64, standard, 0, 1.8446744073709551e19, NULL, help)
#define ENUM(field, standard, names, help) ROW(field, KAON_FIELD_ENUM, standard, 0, 0, names, help)
#define EACH_OF(row) row(0, x), row(1, y), row(2, z), row(3, t)
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define END \
  { NULL, KAON_FIELD_INT, 0, 0, 0, 0, NULL, NULL }

#define S kaon_context_options
static const kaon_field context_fields[] = {
    ENUM(backend, KAON_BACKEND_AUTO, NAMES("auto", "cpu", "cuda"), "where kernels run"),
    ENUM(isa, KAON_ISA_AUTO, NAMES("auto", "scalar", "x86-64", "avx2", "avx512"),
         "CPU instruction set"),
    INT(threads, 0, 0, 4096, "CPU threads; 0: OMP_NUM_THREADS, else every processor"),
    INT(check, 0, 0, 1, "1: guard pages, poisoned memory, slow"),
    ENUM(log_level, KAON_LOG_WARNING, NAMES("error", "warning", "info", "debug"),
         "most detailed level that reaches the log callback"),
    ROW(memory_limit, KAON_FIELD_INT64, 0, 0, 1e18, NULL,
        "bytes that the pool may hold; 0: no limit"),
    ENUM(transport, KAON_TRANSPORT_AUTO, NAMES("auto", "peer", "direct", "nccl", "host"),
         "how devices of several ranks exchange messages"),
    ENUM(overlap, KAON_OVERLAP_AUTO, NAMES("auto", "fused", "staged", "none", "updates"),
         "how messages between ranks overlap with work"),
    REAL(patience, 600.0, 0.01, 1e6, "seconds that a rank waits for another one"),
    ENUM(sync, KAON_SYNC_AUTO, NAMES("auto", "polling", "blocking"),
         "how the host waits for its device"),
    END};
#undef S

#define S kaon_lab_options
static const kaon_field lab_fields[] = {
    ENUM(issue, KAON_ISSUE_AUTO,
         NAMES("auto", "plain", "replay", "while", "tail", "cdp", "persistent", "separate",
               "library"),
         "how solvers issue steps on a device"),
    REAL(reduce_delay, 0.0, 0.0, 1.0, "least seconds that a sum over ranks takes"),
    INT(as_printed, 0, 0, 1, "RBICGSTAB: 1: rho as the paper prints it"),
    REAL(deflation_limit, 2147483648.0, 0.0, 1e18,
         "CG, CGNR: most bytes a rank of automatic deflation"),
    END};
#undef S

#define S kaon_dirac_options
static const kaon_field dirac_fields[] = {
    REAL(kappa, 0.125, 1e-6, 10.0, "hopping parameter, 1 / (2 mass + 8)"),
    REAL(csw, 0.0, -100.0, 100.0, "clover coefficient; 0: Wilson"),
    REAL(anisotropy, 1.0, 1e-3, 1e3, "factor nu / xi_0 on the spatial hops"),
    ENUM(precision, KAON_DOUBLE, precisions, "precision of vectors and links"),
    ENUM(reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals stored a link"),
    REAL(mu, 0.0, -100.0, 100.0, "twisted mass; 0: none"),
    REAL(csw_electric, 1.0, -100.0, 100.0, "clover coefficient of planes with t, over csw"),
    END};
#undef S

#define S kaon_domain_wall_options
static const kaon_field domain_wall_fields[] = {
    REAL(mass, 0.1, -100.0, 100.0, "quark mass"),
    REAL(m5, 1.8, -100.0, 100.0, "domain-wall height"),
    INT(ls, 8, 1, 64, "sites of the fifth dimension"),
    ENUM(precision, KAON_DOUBLE, precisions, "precision of vectors and links"),
    ENUM(reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals stored a link"),
    END};
#undef S

#define S kaon_even_odd_options
static const kaon_field even_odd_fields[] = {
    ENUM(form, KAON_EVEN_ODD_SYMMETRIC, NAMES("symmetric", "asymmetric", "none"),
         "form of the Schur complement"),
    ENUM(parity, KAON_EVEN, NAMES("even", "odd"), "sites of the reduced system"),
    INT(temporal_gauge, 0, 0, 1, "1: t links are the identity on all slices but one"), END};
#undef S

#define S kaon_solver_options
static const kaon_field solver_fields[] = {
    ENUM(method, KAON_CGNR, methods, "iteration"),
    REAL(tol, 1e-10, 0.0, 1.0, "relative residual to reach; 0: run max_iterations steps unchecked"),
    INT(max_iterations, 10000, 0, 2147483647.0, "steps a column"),
    ENUM(stop, KAON_STOP_FULL, NAMES("full", "reduced", "normal"), "which residual tol bounds"),
    ENUM(sloppy, KAON_DOUBLE, precisions, "precision of the inner iteration"),
    ENUM(reconstruct, KAON_RECONSTRUCT_18, reconstructs,
         "reals stored a link in the inner iteration"),
    ENUM(refinement, KAON_REFINE_RELIABLE, NAMES("reliable", "restart"),
         "how the inner iteration is corrected"),
    REAL(delta, 0.0, 0.0, 1.0, "residual replacement after this drop; 0: automatic, then adaptive"),
    INT(check_interval, 10, 1, 256, "steps between host polls"),
    INT(subspace, 16, 1, 32, "GCR: directions kept"),
    INT(deflation, -1, -1, 24,
        "CG, CGNR: vector pairs against rounding near criticality; -1: automatic, 0: none"),
    REAL(heavy_quark_tol, 0.0, 0.0, 1.0, "heavy-quark residual to reach too; 0: any"),
    END};
#undef S

#define S kaon_heatbath_options
static const kaon_field heatbath_fields[] = {
    REAL(beta, 6.0, 0.0, 1e4, "Wilson gauge action coupling 6 / g^2"),
    INT(overrelaxation, 4, 0, 1000, "over-relaxation sweeps before each heatbath sweep"),
    SEED(seed, 1, "random numbers"), SEED(sweep, 0, "number of the first sweep"), END};
#undef S

#define S kaon_schwarz_options
#define BLOCK(mu, letter)                                                                 \
  {                                                                                       \
    "block_" #letter, KAON_FIELD_INT, offsetof(S, block[mu]), 0, 0, 2147483647.0, NULL,   \
        "extent of the blocks in " #letter                                                \
        ", even, or, of a matrix, x: rows of a block; 0: the rank's part, or all of them" \
  }
static const kaon_field schwarz_fields[] = {
    ENUM(kind, KAON_SCHWARZ_ADDITIVE, NAMES("additive", "multiplicative", "asynchronous"),
         "all blocks at once, in red-black order, or without waiting for each other"),
    EACH_OF(BLOCK),
    INT(steps, 0, 0, 1000, "MR steps in a block; 0: additive 10, others 4"),
    INT(cycles, 0, 0, 1000, "cycles over all blocks; 0: additive 1, others 5"),
    REAL(relaxation, 1.0, 1e-3, 1.99, "factor of the MR step lengths"),
    ENUM(precision, KAON_HALF, precisions, "precision of all vectors in it"),
    ENUM(reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals stored a link"),
    INT(groups, 0, 0, 64, "asynchronous: groups of a rank's blocks, in turn; 0: automatic"),
    SEED(seed, 1, "seed of their order"),
    INT(lag, 2, 0, 1000, "cycles that a block may be ahead of its neighbours"),
    END};
#undef BLOCK
#undef S

#define S kaon_multigrid_options
static const char *const smoothers[] = {"gcr", "mr", "sap", "async", NULL};
#define LEVEL(field, l, type, standard, low, high, names, help) \
  { #field "_" #l, type, offsetof(S, field[l]), standard, low, high, names, help }
#define BLOCK(l, mu, axis)                                                              \
  {                                                                                     \
    "block_" #l "_" #axis, KAON_FIELD_INT, offsetof(S, block[l][mu]), 0, 0, 4096, NULL, \
        "sites of an aggregate in " #axis " on level " #l "; 0: automatic"              \
  }
#define LEVEL_ROWS(l)                                                                          \
  BLOCK(l, 0, x), BLOCK(l, 1, y), BLOCK(l, 2, z), BLOCK(l, 3, t),                              \
      LEVEL(vectors, l, KAON_FIELD_INT, 0, 0, 32, NULL, "vectors of the basis; 0: 20, 24"),    \
      LEVEL(smoother, l, KAON_FIELD_ENUM, KAON_SMOOTHER_GCR, 0, 0, smoothers,                  \
            "what smooths on level " #l),                                                      \
      LEVEL(steps, l, KAON_FIELD_INT, 0, 0, 32, NULL, "of the smoother; 0: 4; sap, async 3"),  \
      LEVEL(cycle, l, KAON_FIELD_INT, 0, 0, 32, NULL,                                          \
            "GCR steps that solve the level below; 1: a V-cycle; 0: 2"),                       \
      LEVEL(precision, l, KAON_FIELD_ENUM, l == 0 ? KAON_HALF : KAON_SINGLE, 0, 0, precisions, \
            "precision of the cycle on level " #l)
static const kaon_field multigrid_fields[] = {
    INT(levels, 0, 0, KAON_MULTIGRID_LEVELS, "2 to 4; 0: automatic"),
    LEVEL_ROWS(0),
    LEVEL_ROWS(1),
    LEVEL_ROWS(2),
    INT(setup, 4, 0, 32, "rounds of the set-up"),
    INT(dense, 4096, 0, 16384, "most unknowns of a coarsest level that is inverted"),
    SEED(seed, 1, "seed of the first vectors"),
    END};
#undef LEVEL_ROWS
#undef BLOCK
#undef LEVEL
#undef S

#define S kaon_matrix_options
static const kaon_field matrix_fields[] = {
    ENUM(ordering, KAON_ORDERING_NONE, NAMES("none", "rcm"), "order in which rows are stored"),
    INT(window, 0, 0, 2147483647.0, "rows that may be reordered by length; 0: automatic, 1: none"),
    INT(refuse_duplicates, 0, 0, 1, "1: duplicate entries are refused, 0: they are added"),
    ENUM(partition, KAON_PARTITION_GIVEN, NAMES("given", "metis", "auto"),
         "which rank stores which rows"),
    END};
#undef S

#define S kaon_matrix_operator_options
static const kaon_field matrix_operator_fields[] = {
    ENUM(precision, KAON_DOUBLE, precisions,
         "precision of vectors and values; half: of the values only"),
    ENUM(format, KAON_STORE_AUTO, NAMES("auto", "csr", "ell", "sell"),
         "how rows are stored for products"),
    END};
#undef S

#define S kaon_precond_options
static const kaon_field precond_fields[] = {
    ENUM(kind, KAON_PRECOND_IC0,
         NAMES("block-jacobi", "dic", "dilu", "ssor", "gs", "ic0", "ilu0", "ainv", "fsai"),
         "kind of preconditioner"),
    ENUM(order, KAON_PRECOND_NATURAL, NAMES("natural", "colour"),
         "order of the rows in a factorisation"),
    ENUM(precision, KAON_DOUBLE, precisions,
         "precision of vectors and values; half: of the values only"),
    INT(sweeps, 0, 0, 100, "Jacobi sweeps a triangle; 0: solved level by level"),
    REAL(omega, 1.0, 1e-3, 1.999, "SSOR: relaxation factor"),
    INT(block, 4, 1, 32, "block Jacobi: rows of a block"),
    REAL(drop, 0.1, 0.0, 1e3, "AINV: drop smaller entries"),
    INT(fill, 0, 0, 2147483647.0, "AINV: entries a direction; 0: no limit"),
    REAL(shift, 0.0, 0.0, 1e6, "the diagonal is multiplied by 1 + shift"),
    INT(tries, 0, 0, 60, "retries with a doubled shift after a breakdown"),
    INT(power, 1, 1, 8, "FSAI: the factor has the pattern of this power of A"),
    END};
#undef S

#define S kaon_shell_options
static const kaon_field shell_fields[] = {
    ENUM(precision, KAON_DOUBLE, precisions, "precision of the vectors passed to the function"),
    INT(any_precision, 0, 0, 1, "1: the function accepts double and single"),
    REAL(flops, 0.0, 0.0, 1e300, "operations of an application to one column"),
    REAL(bytes, 0.0, 0.0, 1e300, "bytes moved by an application to one column"), END};
#undef S

#define S kaon_chebyshev_options
static const kaon_field chebyshev_fields[] = {
    INT(degree, 4, 1, 64, "products with A per application"),
    INT(scaled, 1, 0, 1, "1: of D^-1 A, D the diagonal; 0: of A"),
    REAL(low, 0.0, 0.0, 1e300, "lower end of the interval of eigenvalues"),
    REAL(high, 0.0, 0.0, 1e300, "upper end; 0: both are estimated"),
    INT(steps, 16, 2, 64, "steps of the estimate"),
    REAL(safety, 1.1, 1.0, 10.0, "high / largest eigenvalue estimated"),
    REAL(ratio, 30.0, 1.1, 1e6, "largest high / low"),
    END};
#undef S

#define S kaon_multishift_options
static const kaon_field multishift_fields[] = {
    REAL(tol, 1e-10, 1e-300, 1.0, "relative residual of every shift"),
    INT(max_iterations, 10000, 1, 2147483647.0, "steps of the iteration"),
    ENUM(sloppy, KAON_DOUBLE, precisions, "precision once its rounding keeps errors below tol"),
    INT(normal, 0, 0, 1, "1: solve with A^dag A instead of A"),
    INT(check_interval, 10, 1, 256, "steps between host polls"),
    ENUM(reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals a link of the sloppy operators"),
    END};
#undef S

#define S kaon_relax_options
static const kaon_field relax_fields[] = {
    REAL(omega, 1.0, 1e-3, 1.999, "factor of updates: SOR, and within blocks"),
    REAL(tau, 1.0, 0.0, 1e3, "damping; 0: from the eigenvalues of D^-1 A"),
    INT(by_colour, 0, 0, 1, "1: rows by colours"),
    INT(block, 448, 1, KAON_ROW_BLOCK, "rows of a block"),
    INT(local_sweeps, 5, 1, 1000, "Jacobi sweeps in a block an iteration"),
    ENUM(driver, KAON_RELAX_LAUNCH, NAMES("launch", "free"),
         "how asynchronous blocks are scheduled"),
    INT(lag, 2, 0, 1000000, "iterations that a free block may be ahead"),
    INT(stride, 128, 1, 255, "most free iterations between two residuals"),
    INT(together, 0, 0, 2147483647.0, "CPU: blocks that read before one of them writes; 0: one"),
    SEED(seed, 0, "CPU: seed of the order of blocks; 0: in order"),
    END};
#undef S

#define S kaon_lab_relax_options
static const kaon_field lab_relax_fields[] = {
    ENUM(exchange, KAON_EXCHANGE_AUTO, NAMES("auto", "amc", "dc", "dk", "push", "sync"),
         "how values of other ranks' rows arrive"),
    INT(rank_lag, -1, -1, 1000000,
        "iterations that a block may be ahead of other ranks' blocks; -1: no bound"),
    END};
#undef S

#define S kaon_fault_options
static const kaon_field fault_fields[] = {
    ENUM(kind, KAON_FAULT_ROWS, NAMES("rows", "block", "rank"), "which rows are lost"),
    REAL(share, 0.0, 0.0, 1.0, "share of the rows that are lost"),
    INT(rank, 0, 0, 2147483647.0, "kind rank: whose rows"),
    INT(begin, 10, 0, 2147483647.0, "iterations before they are lost"),
    INT(recovery, 0, 0, 2147483647.0, "iterations until they are updated again; 0: only by repair"),
    REAL(flip_rate, 0.0, 0.0, 1.0, "bit flips per row and iteration"),
    INT(flip_begin, 0, 0, 2147483647.0, "first iteration with bit flips"),
    INT(flip_end, 0, 0, 2147483647.0, "end of the bit flips; 0: the last iteration"),
    INT(repair, 1, 0, 1, "1: what the monitor finds is repaired"),
    SEED(seed, 1, "seed of rows and flips"),
    END};
#undef S

#define S kaon_kaczmarz_options
static const kaon_field kaczmarz_fields[] = {
    ENUM(kind, KAON_KACZMARZ_DOUBLE, NAMES("sweep", "double", "carp", "cimmino"),
         "what a sweep is"),
    ENUM(order, KAON_SWEEP_ROWS,
         NAMES("rows", "permutation", "random", "colours", "groups", "strides", "sections"),
         "order of the rows in a sweep"),
    REAL(lambda, 0.0, 0.0, 1000.0, "relaxation factor of the projections; 0: automatic"),
    INT(blocks, 0, 0, 2147483647.0, "CARP: blocks of rows; 0: of 128 rows each"),
    INT(colour, 0, 0, 1, "CARP: 1: rows of a block by colour"),
    INT(groups, 0, 0, 1073741823.0, "GROUPS: groups a class; 0: as many as possible"),
    SEED(seed, 1, "RANDOM: seed of the permutation"),
    INT(dimensions, 0, 0, 3, "SECTIONS: dimensions of the coordinates"),
    ENUM(block_rows, KAON_CARP_NEAR, NAMES("near", "consecutive"), "CARP: which rows a block has"),
    END};
#undef S

#define S kaon_staggered_options
static const kaon_field staggered_fields[] = {
    REAL(mass, 0.1, -1e3, 1e3, "quark mass: M = 2 mass + D"),
    ENUM(phases, KAON_PHASES_MILC, phases, "convention of the signs eta_mu(x)"),
    REAL(naik, 0.0, -1e3, 1e3, "coefficient of the long links; 0: from the links, negative"),
    REAL(naik_epsilon, 0.0, -10.0, 10.0, "long links are multiplied by 1 + this"),
    ENUM(precision, KAON_DOUBLE, precisions, "precision of vectors and links"),
    ENUM(reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals stored a (long) link"),
    END};
#undef S

#define S kaon_fatten_options
static const kaon_field fatten_fields[] = {
    ENUM(action, KAON_FATTEN_ASQTAD, NAMES("asqtad", "hisq"), "action of the fat and long links"),
    REAL(u0, 1.0, 0, 10.0, "asqtad: tadpole factor; 0: the fourth root of the mean plaquette"),
    REAL(naik_epsilon, 0.0, -10.0, 10.0, "the coefficient of the link itself grows by this / 8"),
    REAL(svd_relative, 1e-8, 0, 1, "hisq: singular values where eigenvalues are off by more"),
    REAL(svd_absolute, 1e-8, 0, 1e3, "hisq: singular values where |det|^2 is smaller"),
    END};
#undef S

/* Extents are checked against the file or the field. */
#define EXTENT(mu, letter)                                                                       \
  {                                                                                              \
    "extent_" #letter, KAON_FIELD_INT, offsetof(S, extents[mu]), 0, -2147483648.0, 2147483647.0, \
        NULL, "sites in " #letter "; 0: as the file says"                                        \
  }

#define S kaon_gauge_read_options
static const kaon_field gauge_read_fields[] = {
    ENUM(format, KAON_FORMAT_AUTO, file_formats,
         "format of the file; auto: detected from its content"),
    EACH_OF(EXTENT), INT(ignore_checksum, 0, 0, 1, "1: failed checks are warnings"), END};
#undef S

#define S kaon_gauge_write_options
static const kaon_field gauge_write_fields[] = {
    ENUM(format, KAON_FORMAT_AUTO, file_formats, "format of the file; auto: ildg"),
    INT(precision, 0, -2147483648.0, 2147483647.0,
        "bits of a real, 32 or 64; 0: milc 32, others 64"),
    INT(rows, 0, -2147483648.0, 2147483647.0, "rows of a matrix; nersc: 3 or 2, others 3; 0: 3"),
    ENUM(byte_order, KAON_BYTES_NATIVE, NAMES("native", "big", "little"),
         "nersc and milc; fixed in other formats"),
    INT(sequence, 0, -2147483648.0, 2147483647.0, "nersc: SEQUENCE_NUMBER"),
    END};
#undef S

#define S kaon_propagator_read_options
static const kaon_field propagator_read_fields[] = {
    EACH_OF(EXTENT),
    ENUM(basis, KAON_PROPAGATOR_UKQCD, propagator_bases, "spin basis of the caller's spinors"),
    INT(ignore_checksum, 0, 0, 1, "1: wrong checksums are warnings"), END};
#undef S

#define S kaon_propagator_write_options
static const kaon_field propagator_write_fields[] = {
    EACH_OF(EXTENT),
    ENUM(kind, KAON_PROPAGATOR_TWELVE, NAMES("twelve", "pairs", "scalar-pairs"),
         "what the file holds"),
    INT(columns, 12, -2147483648.0, 2147483647.0, "solutions; twelve: 12"),
    INT(precision, 64, -2147483648.0, 2147483647.0, "bits of a real, 32 or 64"),
    ENUM(basis, KAON_PROPAGATOR_UKQCD, propagator_bases, "spin basis of the caller's spinors"),
    END};
#undef S

const kaon_options_table *kaon_options_table_of(kaon_options_kind kind) {
#define T(kind, name, type, fields) \
  [kind] = { name, sizeof(type), KAON_OPTIONS_VERSION(kind, 1), fields }
  static const kaon_options_table tables[] = {
      T(KAON_OPTIONS_CONTEXT, "context", kaon_context_options, context_fields),
      T(KAON_OPTIONS_DIRAC, "dirac", kaon_dirac_options, dirac_fields),
      T(KAON_OPTIONS_DOMAIN_WALL, "domain wall", kaon_domain_wall_options, domain_wall_fields),
      T(KAON_OPTIONS_EVEN_ODD, "even-odd", kaon_even_odd_options, even_odd_fields),
      T(KAON_OPTIONS_SOLVER, "solver", kaon_solver_options, solver_fields),
      T(KAON_OPTIONS_HEATBATH, "heatbath", kaon_heatbath_options, heatbath_fields),
      T(KAON_OPTIONS_SCHWARZ, "schwarz", kaon_schwarz_options, schwarz_fields),
      T(KAON_OPTIONS_MATRIX, "matrix", kaon_matrix_options, matrix_fields),
      T(KAON_OPTIONS_MATRIX_OPERATOR, "matrix operator", kaon_matrix_operator_options,
        matrix_operator_fields),
      T(KAON_OPTIONS_SHELL, "shell", kaon_shell_options, shell_fields),
      T(KAON_OPTIONS_PRECOND, "preconditioner", kaon_precond_options, precond_fields),
      T(KAON_OPTIONS_RELAX, "relaxation", kaon_relax_options, relax_fields),
      T(KAON_OPTIONS_FAULTS, "faults", kaon_fault_options, fault_fields),
      T(KAON_OPTIONS_CHEBYSHEV, "chebyshev", kaon_chebyshev_options, chebyshev_fields),
      T(KAON_OPTIONS_MULTISHIFT, "multishift", kaon_multishift_options, multishift_fields),
      T(KAON_OPTIONS_KACZMARZ, "kaczmarz", kaon_kaczmarz_options, kaczmarz_fields),
      T(KAON_OPTIONS_STAGGERED, "staggered", kaon_staggered_options, staggered_fields),
      T(KAON_OPTIONS_FATTEN, "fatten", kaon_fatten_options, fatten_fields),
      T(KAON_OPTIONS_LAB, "lab", kaon_lab_options, lab_fields),
      T(KAON_OPTIONS_LAB_RELAX, "relaxation lab", kaon_lab_relax_options, lab_relax_fields),
      T(KAON_OPTIONS_GAUGE_READ, "gauge read", kaon_gauge_read_options, gauge_read_fields),
      T(KAON_OPTIONS_GAUGE_WRITE, "gauge write", kaon_gauge_write_options, gauge_write_fields),
      T(KAON_OPTIONS_PROPAGATOR_READ, "propagator read", kaon_propagator_read_options,
        propagator_read_fields),
      T(KAON_OPTIONS_PROPAGATOR_WRITE, "propagator write", kaon_propagator_write_options,
        propagator_write_fields),
      T(KAON_OPTIONS_MULTIGRID, "multigrid", kaon_multigrid_options, multigrid_fields),
  };
#undef T
  if ((unsigned)kind >= sizeof tables / sizeof *tables) return NULL;
  return &tables[kind];
}
