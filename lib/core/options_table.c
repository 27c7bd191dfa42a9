/* options_table.c - the rows. Pointer fields (callbacks, preconditioners) have no row, as they have
 * no text form. */
#include "lib/core/options_table.h"

#include <stdint.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "lib/operator/shifts.h"

static const kaon_field_name backends[] = {
    {"auto", KAON_BACKEND_AUTO}, {"cpu", KAON_BACKEND_CPU}, {"cuda", KAON_BACKEND_CUDA}, {NULL, 0}};
static const kaon_field_name isas[] = {{"auto", KAON_ISA_AUTO},     {"scalar", KAON_ISA_SCALAR},
                                       {"x86-64", KAON_ISA_X86_64}, {"avx2", KAON_ISA_AVX2},
                                       {"avx512", KAON_ISA_AVX512}, {NULL, 0}};
static const kaon_field_name levels[] = {{"error", KAON_LOG_ERROR},
                                         {"warning", KAON_LOG_WARNING},
                                         {"info", KAON_LOG_INFO},
                                         {"debug", KAON_LOG_DEBUG},
                                         {NULL, 0}};
static const kaon_field_name issues[] = {{"auto", KAON_ISSUE_AUTO},
                                         {"plain", KAON_ISSUE_PLAIN},
                                         {"replay", KAON_ISSUE_REPLAY},
                                         {"while", KAON_ISSUE_WHILE},
                                         {"tail", KAON_ISSUE_TAIL},
                                         {"cdp", KAON_ISSUE_CDP},
                                         {"persistent", KAON_ISSUE_PERSISTENT},
                                         {"separate", KAON_ISSUE_SEPARATE},
                                         {"library", KAON_ISSUE_LIBRARY},
                                         {NULL, 0}};
static const kaon_field_name transports[] = {
    {"auto", KAON_TRANSPORT_AUTO}, {"peer", KAON_TRANSPORT_PEER}, {"direct", KAON_TRANSPORT_DIRECT},
    {"nccl", KAON_TRANSPORT_NCCL}, {"host", KAON_TRANSPORT_HOST}, {NULL, 0}};
static const kaon_field_name overlaps[] = {
    {"auto", KAON_OVERLAP_AUTO}, {"fused", KAON_OVERLAP_FUSED},     {"staged", KAON_OVERLAP_STAGED},
    {"none", KAON_OVERLAP_NONE}, {"updates", KAON_OVERLAP_UPDATES}, {NULL, 0}};
static const kaon_field_name syncs[] = {{"auto", KAON_SYNC_AUTO},
                                        {"polling", KAON_SYNC_POLLING},
                                        {"blocking", KAON_SYNC_BLOCKING},
                                        {NULL, 0}};
static const kaon_field_name precisions[] = {
    {"double", KAON_DOUBLE}, {"single", KAON_SINGLE}, {"half", KAON_HALF}, {NULL, 0}};
static const kaon_field_name reconstructs[] = {
    {"18", KAON_RECONSTRUCT_18}, {"12", KAON_RECONSTRUCT_12}, {"8", KAON_RECONSTRUCT_8}, {NULL, 0}};
static const kaon_field_name forms[] = {{"symmetric", KAON_EVEN_ODD_SYMMETRIC},
                                        {"asymmetric", KAON_EVEN_ODD_ASYMMETRIC},
                                        {"none", KAON_EVEN_ODD_NONE},
                                        {NULL, 0}};
static const kaon_field_name phases[] = {
    {"milc", KAON_PHASES_MILC}, {"chroma", KAON_PHASES_CHROMA}, {NULL, 0}};
static const kaon_field_name parities[] = {{"even", KAON_EVEN}, {"odd", KAON_ODD}, {NULL, 0}};
#define KAON_X(value, descriptor, name, purpose) {name, value},
static const kaon_field_name methods[] = {KAON_METHOD_LIST(KAON_X){NULL, 0}};
#undef KAON_X
static const kaon_field_name stops[] = {{"full", KAON_STOP_FULL},
                                        {"reduced", KAON_STOP_REDUCED},
                                        {"normal", KAON_STOP_NORMAL},
                                        {NULL, 0}};
static const kaon_field_name schwarz_kinds[] = {{"additive", KAON_SCHWARZ_ADDITIVE},
                                                {"multiplicative", KAON_SCHWARZ_MULTIPLICATIVE},
                                                {"asynchronous", KAON_SCHWARZ_ASYNCHRONOUS},
                                                {NULL, 0}};
static const kaon_field_name refinements[] = {
    {"reliable", KAON_REFINE_RELIABLE}, {"restart", KAON_REFINE_RESTART}, {NULL, 0}};

static const kaon_field_name orderings[] = {
    {"none", KAON_ORDERING_NONE}, {"rcm", KAON_ORDERING_RCM}, {NULL, 0}};
static const kaon_field_name partitions[] = {{"given", KAON_PARTITION_GIVEN},
                                             {"metis", KAON_PARTITION_METIS},
                                             {"auto", KAON_PARTITION_AUTO},
                                             {NULL, 0}};
static const kaon_field_name matrix_formats[] = {{"auto", KAON_STORE_AUTO},
                                                 {"csr", KAON_STORE_CSR},
                                                 {"ell", KAON_STORE_ELL},
                                                 {"sell", KAON_STORE_SELL},
                                                 {NULL, 0}};

static const kaon_field_name precond_kinds[] = {{"block-jacobi", KAON_PRECOND_BLOCK_JACOBI},
                                                {"dic", KAON_PRECOND_DIC},
                                                {"dilu", KAON_PRECOND_DILU},
                                                {"ssor", KAON_PRECOND_SSOR},
                                                {"gs", KAON_PRECOND_GS},
                                                {"ic0", KAON_PRECOND_IC0},
                                                {"ilu0", KAON_PRECOND_ILU0},
                                                {"ainv", KAON_PRECOND_AINV},
                                                {"fsai", KAON_PRECOND_FSAI},
                                                {NULL, 0}};
static const kaon_field_name precond_orders[] = {
    {"natural", KAON_PRECOND_NATURAL}, {"colour", KAON_PRECOND_COLOUR}, {NULL, 0}};

static const kaon_field_name relax_drivers[] = {
    {"launch", KAON_RELAX_LAUNCH}, {"free", KAON_RELAX_FREE}, {NULL, 0}};
static const kaon_field_name relax_exchanges[] = {{"auto", KAON_EXCHANGE_AUTO},
                                                  {"amc", KAON_EXCHANGE_AMC},
                                                  {"dc", KAON_EXCHANGE_DC},
                                                  {"dk", KAON_EXCHANGE_DK},
                                                  {"push", KAON_EXCHANGE_PUSH},
                                                  {"sync", KAON_EXCHANGE_SYNC},
                                                  {NULL, 0}};
static const kaon_field_name fault_kinds[] = {
    {"rows", KAON_FAULT_ROWS}, {"block", KAON_FAULT_BLOCK}, {"rank", KAON_FAULT_RANK}, {NULL, 0}};
static const kaon_field_name kaczmarz_kinds[] = {{"sweep", KAON_KACZMARZ_SWEEP},
                                                 {"double", KAON_KACZMARZ_DOUBLE},
                                                 {"carp", KAON_KACZMARZ_CARP},
                                                 {"cimmino", KAON_KACZMARZ_CIMMINO},
                                                 {NULL, 0}};
static const kaon_field_name carp_rows[] = {
    {"near", KAON_CARP_NEAR}, {"consecutive", KAON_CARP_CONSECUTIVE}, {NULL, 0}};
static const kaon_field_name sweep_orders[] = {
    {"rows", KAON_SWEEP_ROWS},         {"permutation", KAON_SWEEP_PERMUTATION},
    {"random", KAON_SWEEP_RANDOM},     {"colours", KAON_SWEEP_COLOURS},
    {"groups", KAON_SWEEP_GROUPS},     {"strides", KAON_SWEEP_STRIDES},
    {"sections", KAON_SWEEP_SECTIONS}, {NULL, 0}};

/* One row. F(struct, field, type, default, low, high, help); for an enumeration E(struct, field,
 * default, names, help). */
#define F(s, field, type, standard, low, high, help) \
  { #field, type, offsetof(s, field), standard, low, high, NULL, help }
#define E(s, field, standard, names, help) \
  { #field, KAON_FIELD_ENUM, offsetof(s, field), standard, 0, 0, names, help }
#define END \
  { NULL, KAON_FIELD_INT, 0, 0, 0, 0, NULL, NULL }

#define S kaon_context_options
static const kaon_field context_fields[] = {
    E(S, backend, KAON_BACKEND_AUTO, backends, "where kernels run"),
    E(S, isa, KAON_ISA_AUTO, isas, "CPU instruction set"),
    F(S, threads, KAON_FIELD_INT, 0, 0, 4096,
      "CPU threads; 0: OMP_NUM_THREADS, else every processor"),
    F(S, check, KAON_FIELD_INT, 0, 0, 1, "1: guard pages, poisoned memory, slow"),
    E(S, log_level, KAON_LOG_WARNING, levels, "most detailed level that reaches the log callback"),
    F(S, memory_limit, KAON_FIELD_INT64, 0, 0, 1e18, "bytes that the pool may hold; 0: no limit"),
    E(S, transport, KAON_TRANSPORT_AUTO, transports,
      "how devices of several ranks exchange messages"),
    E(S, overlap, KAON_OVERLAP_AUTO, overlaps, "how messages between ranks overlap with work"),
    F(S, patience, KAON_FIELD_DOUBLE, 600.0, 0.01, 1e6,
      "seconds that a rank waits for another one"),
    E(S, sync, KAON_SYNC_AUTO, syncs, "how the host waits for its device"),
    END};
#undef S

#define S kaon_lab_options
static const kaon_field lab_fields[] = {
    E(S, issue, KAON_ISSUE_AUTO, issues, "how solvers issue steps on a device"),
    F(S, reduce_delay, KAON_FIELD_DOUBLE, 0.0, 0.0, 1.0,
      "least seconds that a sum over ranks takes"),
    F(S, as_printed, KAON_FIELD_INT, 0, 0, 1, "RBICGSTAB: 1: rho as the paper prints it"),
    F(S, deflation_limit, KAON_FIELD_DOUBLE, 2147483648.0, 0.0, 1e18,
      "CG, CGNR: most bytes a rank of automatic deflation"),
    END};
#undef S

#define S kaon_dirac_options
static const kaon_field dirac_fields[] = {
    F(S, kappa, KAON_FIELD_DOUBLE, 0.125, 1e-6, 10.0, "hopping parameter, 1 / (2 mass + 8)"),
    F(S, csw, KAON_FIELD_DOUBLE, 0.0, -100.0, 100.0, "clover coefficient; 0: Wilson"),
    F(S, anisotropy, KAON_FIELD_DOUBLE, 1.0, 1e-3, 1e3, "factor nu / xi_0 on the spatial hops"),
    E(S, precision, KAON_DOUBLE, precisions, "precision of vectors and links"),
    E(S, reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals stored a link"),
    F(S, mu, KAON_FIELD_DOUBLE, 0.0, -100.0, 100.0, "twisted mass; 0: none"),
    F(S, csw_electric, KAON_FIELD_DOUBLE, 1.0, -100.0, 100.0,
      "clover coefficient of planes with t, over csw"),
    END};
#undef S

#define S kaon_domain_wall_options
static const kaon_field domain_wall_fields[] = {
    F(S, mass, KAON_FIELD_DOUBLE, 0.1, -100.0, 100.0, "quark mass"),
    F(S, m5, KAON_FIELD_DOUBLE, 1.8, -100.0, 100.0, "domain-wall height"),
    F(S, ls, KAON_FIELD_INT, 8, 1, 64, "sites of the fifth dimension"),
    E(S, precision, KAON_DOUBLE, precisions, "precision of vectors and links"),
    E(S, reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals stored a link"),
    END};
#undef S

#define S kaon_even_odd_options
static const kaon_field even_odd_fields[] = {
    E(S, form, KAON_EVEN_ODD_SYMMETRIC, forms, "form of the Schur complement"),
    E(S, parity, KAON_EVEN, parities, "sites of the reduced system"),
    F(S, temporal_gauge, KAON_FIELD_INT, 0, 0, 1,
      "1: t links are the identity on all slices but one"),
    END};
#undef S

#define S kaon_solver_options
static const kaon_field solver_fields[] = {
    E(S, method, KAON_CGNR, methods, "iteration"),
    F(S, tol, KAON_FIELD_DOUBLE, 1e-10, 0.0, 1.0,
      "relative residual to reach; 0: run max_iterations steps unchecked"),
    F(S, max_iterations, KAON_FIELD_INT, 10000, 0, 2147483647.0, "steps a column"),
    E(S, stop, KAON_STOP_FULL, stops, "which residual tol bounds"),
    E(S, sloppy, KAON_DOUBLE, precisions, "precision of the inner iteration"),
    E(S, reconstruct, KAON_RECONSTRUCT_18, reconstructs,
      "reals stored a link in the inner iteration"),
    E(S, refinement, KAON_REFINE_RELIABLE, refinements, "how the inner iteration is corrected"),
    F(S, delta, KAON_FIELD_DOUBLE, 0.0, 0.0, 1.0,
      "residual replacement after this drop; 0: automatic, then adaptive"),
    F(S, check_interval, KAON_FIELD_INT, 10, 1, 256, "steps between host polls"),
    F(S, subspace, KAON_FIELD_INT, 16, 1, 32, "GCR: directions kept"),
    F(S, relaxation, KAON_FIELD_DOUBLE, 1.0, 1e-3, 2.0, "MR, RICHARDSON: step factor omega"),
    F(S, deflation, KAON_FIELD_INT, -1, -1, 24,
      "CG, CGNR: vector pairs against rounding near criticality; -1: automatic, 0: none"),
    END};
#undef S

#define S kaon_heatbath_options
static const kaon_field heatbath_fields[] = {
    F(S, beta, KAON_FIELD_DOUBLE, 6.0, 0.0, 1e4, "Wilson gauge action coupling 6 / g^2"),
    F(S, overrelaxation, KAON_FIELD_INT, 4, 0, 1000,
      "over-relaxation sweeps before each heatbath sweep"),
    F(S, seed, KAON_FIELD_UINT64, 1, 0, 1.8446744073709551e19, "random numbers"),
    F(S, sweep, KAON_FIELD_UINT64, 0, 0, 1.8446744073709551e19, "number of the first sweep"), END};
#undef S

#define S kaon_schwarz_options
#define BLOCK(mu, letter)                                                                 \
  {                                                                                       \
    "block_" #letter, KAON_FIELD_INT, offsetof(S, block[mu]), 0, 0, 2147483647.0, NULL,   \
        "extent of the blocks in " #letter                                                \
        ", even, or, of a matrix, x: rows of a block; 0: the rank's part, or all of them" \
  }
static const kaon_field schwarz_fields[] = {
    E(S, kind, KAON_SCHWARZ_ADDITIVE, schwarz_kinds,
      "all blocks at once, in red-black order, or without waiting for each other"),
    BLOCK(0, x),
    BLOCK(1, y),
    BLOCK(2, z),
    BLOCK(3, t),
    F(S, steps, KAON_FIELD_INT, 0, 0, 1000, "MR steps in a block; 0: additive 10, others 4"),
    F(S, cycles, KAON_FIELD_INT, 0, 0, 1000, "cycles over all blocks; 0: additive 1, others 5"),
    F(S, relaxation, KAON_FIELD_DOUBLE, 1.0, 1e-3, 1.99, "factor of the MR step lengths"),
    E(S, precision, KAON_HALF, precisions, "precision of all vectors in it"),
    E(S, reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals stored a link"),
    F(S, groups, KAON_FIELD_INT, 0, 0, 64,
      "asynchronous: groups of a rank's blocks, in turn; 0: automatic"),
    F(S, seed, KAON_FIELD_UINT64, 1, 0, 1.8446744073709551e19, "seed of their order"),
    F(S, lag, KAON_FIELD_INT, 2, 0, 1000, "cycles that a block may be ahead of its neighbours"),
    END};
#undef BLOCK
#undef S

#define S kaon_matrix_options
static const kaon_field matrix_fields[] = {
    E(S, ordering, KAON_ORDERING_NONE, orderings, "order in which rows are stored"),
    F(S, window, KAON_FIELD_INT, 0, 0, 2147483647.0,
      "rows that may be reordered by length; 0: automatic, 1: none"),
    F(S, refuse_duplicates, KAON_FIELD_INT, 0, 0, 1,
      "1: duplicate entries are refused, 0: they are added"),
    E(S, partition, KAON_PARTITION_GIVEN, partitions, "which rank stores which rows"), END};
#undef S

#define S kaon_matrix_operator_options
static const kaon_field matrix_operator_fields[] = {
    E(S, precision, KAON_DOUBLE, precisions,
      "precision of vectors and values; half: of the values only"),
    E(S, format, KAON_STORE_AUTO, matrix_formats, "how rows are stored for products"), END};
#undef S

#define S kaon_precond_options
static const kaon_field precond_fields[] = {
    E(S, kind, KAON_PRECOND_IC0, precond_kinds, "kind of preconditioner"),
    E(S, order, KAON_PRECOND_NATURAL, precond_orders, "order of the rows in a factorisation"),
    E(S, precision, KAON_DOUBLE, precisions,
      "precision of vectors and values; half: of the values only"),
    F(S, sweeps, KAON_FIELD_INT, 0, 0, 100, "Jacobi sweeps a triangle; 0: solved level by level"),
    F(S, omega, KAON_FIELD_DOUBLE, 1.0, 1e-3, 1.999, "SSOR: relaxation factor"),
    F(S, block, KAON_FIELD_INT, 4, 1, 32, "block Jacobi: rows of a block"),
    F(S, drop, KAON_FIELD_DOUBLE, 0.1, 0.0, 1e3, "AINV: drop smaller entries"),
    F(S, fill, KAON_FIELD_INT, 0, 0, 2147483647.0, "AINV: entries a direction; 0: no limit"),
    F(S, shift, KAON_FIELD_DOUBLE, 0.0, 0.0, 1e6, "the diagonal is multiplied by 1 + shift"),
    F(S, tries, KAON_FIELD_INT, 0, 0, 60, "retries with a doubled shift after a breakdown"),
    F(S, power, KAON_FIELD_INT, 1, 1, 8, "FSAI: the factor has the pattern of this power of A"),
    END};
#undef S

#define S kaon_shell_options
static const kaon_field shell_fields[] = {
    E(S, precision, KAON_DOUBLE, precisions, "precision of the vectors passed to the function"),
    F(S, any_precision, KAON_FIELD_INT, 0, 0, 1, "1: the function accepts double and single"),
    F(S, flops, KAON_FIELD_DOUBLE, 0.0, 0.0, 1e300, "operations of an application to one column"),
    F(S, bytes, KAON_FIELD_DOUBLE, 0.0, 0.0, 1e300, "bytes moved by an application to one column"),
    END};
#undef S

#define S kaon_chebyshev_options
static const kaon_field chebyshev_fields[] = {
    F(S, degree, KAON_FIELD_INT, 4, 1, 64, "products with A per application"),
    F(S, scaled, KAON_FIELD_INT, 1, 0, 1, "1: of D^-1 A, D the diagonal; 0: of A"),
    F(S, low, KAON_FIELD_DOUBLE, 0.0, 0.0, 1e300, "lower end of the interval of eigenvalues"),
    F(S, high, KAON_FIELD_DOUBLE, 0.0, 0.0, 1e300, "upper end; 0: both are estimated"),
    F(S, steps, KAON_FIELD_INT, 16, 2, 64, "steps of the estimate"),
    F(S, safety, KAON_FIELD_DOUBLE, 1.1, 1.0, 10.0, "high / largest eigenvalue estimated"),
    F(S, ratio, KAON_FIELD_DOUBLE, 30.0, 1.1, 1e6, "largest high / low"),
    END};
#undef S

#define S kaon_multishift_options
static const kaon_field multishift_fields[] = {
    F(S, tol, KAON_FIELD_DOUBLE, 1e-10, 1e-300, 1.0, "relative residual of every shift"),
    F(S, max_iterations, KAON_FIELD_INT, 10000, 1, 2147483647.0, "steps of the iteration"),
    E(S, sloppy, KAON_DOUBLE, precisions, "precision once its rounding keeps errors below tol"),
    F(S, normal, KAON_FIELD_INT, 0, 0, 1, "1: solve with A^dag A instead of A"),
    F(S, check_interval, KAON_FIELD_INT, 10, 1, 256, "steps between host polls"),
    E(S, reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals a link of the sloppy operators"),
    END};
#undef S

#define S kaon_relax_options
static const kaon_field relax_fields[] = {
    F(S, omega, KAON_FIELD_DOUBLE, 1.0, 1e-3, 1.999, "factor of updates: SOR, and within blocks"),
    F(S, tau, KAON_FIELD_DOUBLE, 1.0, 0.0, 1e3, "damping; 0: from the eigenvalues of D^-1 A"),
    F(S, by_colour, KAON_FIELD_INT, 0, 0, 1, "1: rows by colours"),
    F(S, block, KAON_FIELD_INT, 448, 1, KAON_ROW_BLOCK, "rows of a block"),
    F(S, local_sweeps, KAON_FIELD_INT, 5, 1, 1000, "Jacobi sweeps in a block an iteration"),
    E(S, driver, KAON_RELAX_LAUNCH, relax_drivers, "how asynchronous blocks are scheduled"),
    F(S, lag, KAON_FIELD_INT, 2, 0, 1000000, "iterations that a free block may be ahead"),
    F(S, stride, KAON_FIELD_INT, 128, 1, 255, "most free iterations between two residuals"),
    F(S, together, KAON_FIELD_INT, 0, 0, 2147483647.0,
      "CPU: blocks that read before one of them writes; 0: one"),
    F(S, seed, KAON_FIELD_UINT64, 0, 0, 1.8446744073709551e19,
      "CPU: seed of the order of blocks; 0: in order"),
    END};
#undef S

#define S kaon_lab_relax_options
static const kaon_field lab_relax_fields[] = {
    E(S, exchange, KAON_EXCHANGE_AUTO, relax_exchanges, "how values of other ranks' rows arrive"),
    F(S, rank_lag, KAON_FIELD_INT, -1, -1, 1000000,
      "iterations that a block may be ahead of other ranks' blocks; -1: no bound"),
    END};
#undef S

#define S kaon_fault_options
static const kaon_field fault_fields[] = {
    E(S, kind, KAON_FAULT_ROWS, fault_kinds, "which rows are lost"),
    F(S, share, KAON_FIELD_DOUBLE, 0.0, 0.0, 1.0, "share of the rows that are lost"),
    F(S, rank, KAON_FIELD_INT, 0, 0, 2147483647.0, "kind rank: whose rows"),
    F(S, begin, KAON_FIELD_INT, 10, 0, 2147483647.0, "iterations before they are lost"),
    F(S, recovery, KAON_FIELD_INT, 0, 0, 2147483647.0,
      "iterations until they are updated again; 0: only by repair"),
    F(S, flip_rate, KAON_FIELD_DOUBLE, 0.0, 0.0, 1.0, "bit flips per row and iteration"),
    F(S, flip_begin, KAON_FIELD_INT, 0, 0, 2147483647.0, "first iteration with bit flips"),
    F(S, flip_end, KAON_FIELD_INT, 0, 0, 2147483647.0,
      "end of the bit flips; 0: the last iteration"),
    F(S, repair, KAON_FIELD_INT, 1, 0, 1, "1: what the monitor finds is repaired"),
    F(S, seed, KAON_FIELD_UINT64, 1, 0, 1.8446744073709551e19, "seed of rows and flips"),
    END};
#undef S

#define S kaon_kaczmarz_options
static const kaon_field kaczmarz_fields[] = {
    E(S, kind, KAON_KACZMARZ_DOUBLE, kaczmarz_kinds, "what a sweep is"),
    E(S, order, KAON_SWEEP_ROWS, sweep_orders, "order of the rows in a sweep"),
    F(S, lambda, KAON_FIELD_DOUBLE, 0.0, 0.0, 1000.0,
      "relaxation factor of the projections; 0: automatic"),
    F(S, blocks, KAON_FIELD_INT, 0, 0, 2147483647.0, "CARP: blocks of rows; 0: of 128 rows each"),
    F(S, colour, KAON_FIELD_INT, 0, 0, 1, "CARP: 1: rows of a block by colour"),
    F(S, groups, KAON_FIELD_INT, 0, 0, 1073741823.0,
      "GROUPS: groups a class; 0: as many as possible"),
    F(S, seed, KAON_FIELD_UINT64, 1, 0, 1.8446744073709551e19, "RANDOM: seed of the permutation"),
    F(S, dimensions, KAON_FIELD_INT, 0, 0, 3, "SECTIONS: dimensions of the coordinates"),
    E(S, block_rows, KAON_CARP_NEAR, carp_rows, "CARP: which rows a block has"),
    END};
#undef S

#define S kaon_staggered_options
static const kaon_field staggered_fields[] = {
    F(S, mass, KAON_FIELD_DOUBLE, 0.1, -1e3, 1e3, "quark mass: M = 2 mass + D"),
    E(S, phases, KAON_PHASES_MILC, phases, "convention of the signs eta_mu(x)"),
    F(S, naik, KAON_FIELD_DOUBLE, 0.0, -1e3, 1e3,
      "coefficient of the long links; 0: from the links, negative"),
    F(S, naik_epsilon, KAON_FIELD_DOUBLE, 0.0, -10.0, 10.0,
      "long links are multiplied by 1 + this"),
    E(S, precision, KAON_DOUBLE, precisions, "precision of vectors and links"),
    E(S, reconstruct, KAON_RECONSTRUCT_18, reconstructs, "reals stored a (long) link"),
    END};
#undef S

static const kaon_field_name fatten_actions[] = {
    {"asqtad", KAON_FATTEN_ASQTAD}, {"hisq", KAON_FATTEN_HISQ}, {NULL, 0}};
#define S kaon_fatten_options
static const kaon_field fatten_fields[] = {
    E(S, action, KAON_FATTEN_ASQTAD, fatten_actions, "action of the fat and long links"),
    F(S, u0, KAON_FIELD_DOUBLE, 1.0, 0, 10.0,
      "asqtad: tadpole factor; 0: the fourth root of the mean plaquette"),
    F(S, naik_epsilon, KAON_FIELD_DOUBLE, 0.0, -10.0, 10.0,
      "the coefficient of the link itself grows by this / 8"),
    F(S, svd_relative, KAON_FIELD_DOUBLE, 1e-8, 0, 1,
      "hisq: singular values where eigenvalues are off by more"),
    F(S, svd_absolute, KAON_FIELD_DOUBLE, 1e-8, 0, 1e3,
      "hisq: singular values where |det|^2 is smaller"),
    END};
#undef S

static const kaon_field_name file_formats[] = {{"auto", KAON_FORMAT_AUTO},
                                               {"nersc", KAON_FORMAT_NERSC},
                                               {"ildg", KAON_FORMAT_ILDG},
                                               {"scidac", KAON_FORMAT_SCIDAC},
                                               {"milc", KAON_FORMAT_MILC},
                                               {"openqcd", KAON_FORMAT_OPENQCD},
                                               {"ddalphaamg", KAON_FORMAT_DDALPHAAMG},
                                               {NULL, 0}};
static const kaon_field_name byte_orders[] = {{"native", KAON_BYTES_NATIVE},
                                              {"big", KAON_BYTES_BIG},
                                              {"little", KAON_BYTES_LITTLE},
                                              {NULL, 0}};
static const kaon_field_name propagator_kinds[] = {{"twelve", KAON_PROPAGATOR_TWELVE},
                                                   {"pairs", KAON_PROPAGATOR_PAIRS},
                                                   {"scalar-pairs", KAON_PROPAGATOR_SCALAR_PAIRS},
                                                   {NULL, 0}};
static const kaon_field_name propagator_bases[] = {
    {"ukqcd", KAON_PROPAGATOR_UKQCD}, {"degrand-rossi", KAON_PROPAGATOR_DEGRAND_ROSSI}, {NULL, 0}};
/* Extents are checked against the file or the field. */
#define EXTENT(mu, letter)                                                                       \
  {                                                                                              \
    "extent_" #letter, KAON_FIELD_INT, offsetof(S, extents[mu]), 0, -2147483648.0, 2147483647.0, \
        NULL, "sites in " #letter "; 0: as the file says"                                        \
  }

#define S kaon_gauge_read_options
static const kaon_field gauge_read_fields[] = {
    E(S, format, KAON_FORMAT_AUTO, file_formats,
      "format of the file; auto: detected from its content"),
    EXTENT(0, x),
    EXTENT(1, y),
    EXTENT(2, z),
    EXTENT(3, t),
    F(S, ignore_checksum, KAON_FIELD_INT, 0, 0, 1, "1: failed checks are warnings"),
    END};
#undef S

#define S kaon_gauge_write_options
static const kaon_field gauge_write_fields[] = {
    E(S, format, KAON_FORMAT_AUTO, file_formats, "format of the file; auto: ildg"),
    F(S, precision, KAON_FIELD_INT, 0, -2147483648.0, 2147483647.0,
      "bits of a real, 32 or 64; 0: milc 32, others 64"),
    F(S, rows, KAON_FIELD_INT, 0, -2147483648.0, 2147483647.0,
      "rows of a matrix; nersc: 3 or 2, others 3; 0: 3"),
    E(S, byte_order, KAON_BYTES_NATIVE, byte_orders, "nersc and milc; fixed in other formats"),
    F(S, sequence, KAON_FIELD_INT, 0, -2147483648.0, 2147483647.0, "nersc: SEQUENCE_NUMBER"),
    END};
#undef S

#define S kaon_propagator_read_options
static const kaon_field propagator_read_fields[] = {
    EXTENT(0, x),
    EXTENT(1, y),
    EXTENT(2, z),
    EXTENT(3, t),
    E(S, basis, KAON_PROPAGATOR_UKQCD, propagator_bases, "spin basis of the caller's spinors"),
    F(S, ignore_checksum, KAON_FIELD_INT, 0, 0, 1, "1: wrong checksums are warnings"),
    END};
#undef S

#define S kaon_propagator_write_options
static const kaon_field propagator_write_fields[] = {
    EXTENT(0, x),
    EXTENT(1, y),
    EXTENT(2, z),
    EXTENT(3, t),
    E(S, kind, KAON_PROPAGATOR_TWELVE, propagator_kinds, "what the file holds"),
    F(S, columns, KAON_FIELD_INT, 12, -2147483648.0, 2147483647.0, "solutions; twelve: 12"),
    F(S, precision, KAON_FIELD_INT, 64, -2147483648.0, 2147483647.0, "bits of a real, 32 or 64"),
    E(S, basis, KAON_PROPAGATOR_UKQCD, propagator_bases, "spin basis of the caller's spinors"),
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
  };
#undef T
  if ((unsigned)kind >= sizeof tables / sizeof *tables) return NULL;
  return &tables[kind];
}
