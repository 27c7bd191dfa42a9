/* linear_options.c - options of commands that solve A x = b with a sparse matrix (linear.h). */
#include "interfaces/common/options/linear_options.h"

#define AT(member) offsetof(linear_args, member)

const cli_option linear_matrix_rows[] = {
    {CLI_TEXT, "matrix", "FILE.mtx|NAME", NULL, AT(matrix), 0, 0,
     "a Matrix Market file (also .gz), or the NAME of a generator. Generators: laplace2d:N, "
     "laplace3d:N, laplace3d27:N, convdiff3d:N,PECLET, cavity3d:N, elasticity:N, trefethen:N, "
     "banded:N,B[,SEED], fem:PROBLEM,DEGREE,LEVEL."},
    {CLI_CHOICE, "format", LINEAR_FORMATS, "auto", AT(format), 0, 0,
     "how rows are stored. auto: chosen by the statistics of the rows, and printed."},
    {CLI_CHOICE, "ordering", LINEAR_ORDERINGS, "none", AT(ordering), 0, 0,
     "order of the rows inside kaon. rcm: reverse Cuthill-McKee. Files of vectors keep the order "
     "of "
     "the matrix."},
    {CLI_CHOICE, "partition", LINEAR_PARTITIONS, "blocks", AT(partition), 0, 0,
     "which rank holds which rows. metis: few entries between ranks."},
    {CLI_INT, "window", "N", NULL, AT(window), 1, 1e9,
     "rows that sell may reorder (default: automatic; 1: none)"},
    CLI_END_ROW};

const cli_option linear_precond_rows[] = {
    {CLI_CHOICE, "precond", LINEAR_PRECOND_CHOICES, "auto", AT(precond), 0, 0,
     "preconditioner (default auto: none, jacobi, ic0, ilu0, ainv or fsai, by the matrix; what and "
     "why is printed). jacobi and block-jacobi scale; dic, dilu, "
     "ic0 and ilu0 factorise; ssor and gs sweep. ainv and (where A = A^H) fsai are approximate "
     "inverses, chebyshev is a polynomial in A. jacobi-sweeps to cimmino are --sweeps of "
     "relaxation or of row projections, with their options. gs-sweeps, sor-sweeps and kaczmarz to "
     "cimmino are not Hermitian: use them with gcr and the bicgstab methods. With --method gcr or "
     "fcg only: async, and approximate solves in blocks of rows, all at once (schwarz, which sends "
     "nothing) or by colours (sap)."},
    CLI_ALIAS_ROW("preconditioner", "precond"),
    CLI_END_ROW};

/* Benchmarks on lattices have options of these names with other values. */
const cli_option linear_schwarz_rows[] = {
    {CLI_INT, "schwarz-block", "N", NULL, AT(schwarz_block), 1, 2147483647.0,
     "schwarz, sap: rows of a block (default: all rows of a rank)"},
    {CLI_INT, "schwarz-steps", "N", NULL, AT(schwarz_steps), 1, 1000,
     "minimal-residual steps in a block (default: schwarz 10, sap 4)"},
    {CLI_INT, "schwarz-cycles", "N", NULL, AT(schwarz_cycles), 1, 1000,
     "cycles over all blocks (default: schwarz 1, sap 5)"},
    {CLI_REAL, "schwarz-relaxation", "OMEGA", NULL, AT(schwarz_relaxation), 1e-3, 1.99,
     "factor of the step lengths in blocks (default 1)"},
    CLI_END_ROW};

const cli_option linear_precond_figure_rows[] = {
    {CLI_INT, "precond-block", "N", NULL, AT(precond_block), 1, 32,
     "block-jacobi: rows of a block (default 4)"},
    {CLI_REAL, "omega", "W", NULL, AT(precond_omega), 1e-3, 1.999,
     "ssor, sor, sor-sweeps, two-stage, async: relaxation factor (default 1)"},
    {CLI_REAL, "drop", "TAU", NULL, AT(precond_drop), 0, 1,
     "ainv: drop entries below this, relative to the diagonal (default 0.1)"},
    {CLI_INT, "fill", "N", NULL, AT(precond_fill), 1, 100000,
     "ainv: most entries of a direction (default: no limit)"},
    {CLI_INT, "power", "P", NULL, AT(precond_power), 1, 8,
     "fsai: the factor has the pattern of A^P (default 1). Larger: fewer and more expensive "
     "iterations."},
    {CLI_CHOICE, "precond-order", "natural|colour", NULL, AT(precond_order), 0, 0,
     "dic to ilu0, ssor: order of the rows (default natural). colour: fewer levels, so faster "
     "sweeps on many cores, but more iterations."},
    {CLI_INT, "sweeps", "N", NULL, AT(precond_sweeps), 1, 100,
     "sweeps of an application. dic to ilu0: N Jacobi sweeps solve the triangles (default: solved "
     "exactly); jacobi-sweeps to cimmino: N sweeps (default 3)."},
    {CLI_REAL, "shift", "S", NULL, AT(precond_shift), 0, 1000,
     "factorise A with its diagonal times 1 + S (default: 0; after a breakdown 0.001, doubled up "
     "to 10 times)"},
    {CLI_INT, "degree", "N", NULL, AT(precond_degree), 1, 64,
     "chebyshev: products with A (default 4)"},
    {CLI_REAL, "low", "L", NULL, AT(precond_low), 0, 0,
     "chebyshev: smallest eigenvalue of D^-1 A to damp, D its diagonal (default: estimated). Give "
     "--high as well."},
    {CLI_REAL, "high", "H", NULL, AT(precond_high), 0, 0,
     "chebyshev: largest eigenvalue of D^-1 A"},
    {CLI_CHOICE, "precond-precision", "double|single|half", NULL, AT(precond_precision), 0, 0,
     "precision of block-jacobi to fsai and schwarz to cimmino (default: that of --sloppy). half: "
     "16 bits an entry, not for sweeps."},
    CLI_END_ROW};

const cli_option linear_relax_rows[] = {
    {CLI_REAL, "tau", "T", NULL, AT(relax_tau), 0, 1000,
     "mr, richardson, jacobi, two-stage, async: factor of an update (default 1). 0, in the last "
     "three: from the eigenvalues of D^-1 A."},
    {CLI_INT, "block", "B", NULL, AT(relax_block), 1, 1024,
     "two-stage, async: rows of a block (default 448)"},
    {CLI_INT, "local-sweeps", "K", NULL, AT(relax_sweeps), 1, 1000,
     "two-stage, async: Jacobi sweeps in a block an iteration (default 5)"},
    {CLI_CHOICE, "async-driver", "launch|free", NULL, AT(relax_driver), 0, 0,
     "how async runs (default launch). launch: each block once an iteration, in any order. free: "
     "blocks iterate on their own, without barriers."},
    {CLI_INT, "lag", "N", "-1", AT(relax_lag), -1, 1000000,
     "free: iterations that a block may be ahead of the blocks it reads (default 2)"},
    {CLI_INT, "stride", "N", NULL, AT(relax_stride), 1, 255,
     "free, and several ranks: most iterations between two checks of the residual (default 128)"},
    {CLI_CHOICE, "exchange", RELAX_EXCHANGES, NULL, AT(relax_exchange), 0, 0,
     "async on several ranks: how values of other ranks' rows arrive. amc: asynchronously through "
     "the host's memory; dc: by copies; dk, push: read or written by the kernels; sync: with the "
     "residuals only; auto: sync, and with free push or amc."},
    {CLI_INT, "rank-lag", "N", "-1", AT(relax_rank_lag), -1, 1000000,
     "async on several ranks: iterations that a block may be ahead of the other ranks' blocks it "
     "reads (default: no bound)"},
    {CLI_INT, "together", "N", NULL, AT(relax_together), 1, 1e9,
     "blocks in work at the same time. CPU: a thread reads the values of N blocks before it writes "
     "the first (default 1). GPU: N thread blocks share all blocks (default: one each)."},
    {CLI_SEED, "order-seed", "N", NULL, AT(relax_seed), 0, 0,
     "start blocks in a new random order each iteration (default: in their order)"},
    {CLI_FLAG, "spectrum", NULL, NULL, AT(spectrum), 0, 0,
     "estimate the spectral radii that decide whether relaxation converges, and warn. Without it "
     "jacobi, two-stage and async make a short estimate (about 50 products) and only warn."},
    CLI_END_ROW};

const cli_option linear_projection_rows[] = {
    {CLI_REAL, "lambda", "L", NULL, AT(lambda), 0, 1000,
     "kaczmarz, cgmnc, carpcg, cimmino: relaxation factor of the projections (default 1; cimmino "
     "0.35). 0, and the default of carpcg with a block a row: computed from the matrix."},
    {CLI_FLAG, "coloring", NULL, NULL, AT(relax_colour), 0, 0,
     "gs, sor, kaczmarz, cgmnc: sweep colour by colour, all rows of a colour at once. carpcg: "
     "inside of blocks."},
    {CLI_CHOICE, "sweep-order", LINEAR_SWEEP_ORDERS, NULL, AT(sweep_order), 0, 0,
     "kaczmarz, cgmnc: order of the rows. rows: that of --ordering; random: by --seed. The others "
     "are classes whose rows are updated at once: colours, groups of a banded matrix (S1), strides "
     "(S2), sections of space (of a generator with points)."},
    {CLI_TEXT, "permutation", "FILE", NULL, AT(permutation), 0, 0,
     "kaczmarz, cgmnc, carpcg: order of the rows from a text file. It has one row index a line, "
     "counted from 1; lines that begin with # or % are comments. carpcg makes its blocks of "
     "consecutive rows of this order."},
    {CLI_INT, "carp-blocks", "N", NULL, AT(carp_blocks), 1, 2147483647.0,
     "carpcg: blocks of rows, each with its own copies of x (default: 128 rows each)"},
    {CLI_CHOICE, "carp-rows", LINEAR_CARP_ROWS, NULL, AT(carp_rows), 0, 0,
     "carpcg: a block has rows that are near in the matrix, with few copies, or consecutive rows "
     "(default near)"},
    CLI_END_ROW};

const cli_option linear_fault_rows[] = {
    {CLI_REAL, "fault-share", "S", NULL, AT(fault_share), 1e-9, 1,
     "this share of the rows is lost: no longer updated"},
    {CLI_CHOICE, "fault-kind", LINEAR_FAULTS, NULL, AT(fault_kind), 0, 0,
     "lost rows are random, or consecutive (default rows)"},
    {CLI_INT, "fault-rank", "N", "-1", AT(fault_rank), -1, 1e6,
     "lose all rows of this rank instead, counted from 0 (default: none)"},
    {CLI_INT, "fault-begin", "T0", "-1", AT(fault_begin), -1, 1e9,
     "iterations before rows are lost (default 10)"},
    {CLI_INT, "fault-recovery", "TR", NULL, AT(fault_recovery), 1, 1e9,
     "iterations until lost rows are updated again (default: only when the monitor of residuals "
     "finds the fault)"},
    {CLI_REAL, "flip-rate", "P", NULL, AT(flip_rate), 1e-12, 1,
     "probability that an undetected bit flip hits a row's x in an iteration"},
    {CLI_INT, "flip-begin", "N", NULL, AT(flip_begin), 1, 1e9,
     "first iteration with bit flips (default: 1)"},
    {CLI_INT, "flip-end", "N", NULL, AT(flip_end), 1, 1e9,
     "last iteration with bit flips (default: the last)"},
    {CLI_FLAG, "no-repair", NULL, NULL, AT(no_repair), 0, 0,
     "the monitor reports alarms, but neither restores a copy of x nor recovers rows"},
    {CLI_SEED, "fault-seed", "N", "1", AT(fault_seed), 0, 0,
     "seed of the lost rows and of the bit flips"},
    CLI_END_ROW};

const cli_option linear_solver_rows[] = {
    {CLI_CHOICE, "method", LINEAR_METHODS, NULL, AT(method), 0, 0,
     "method (default: chosen from the matrix and --precond). The choice: gcr under --precond "
     "schwarz, sap and async, else cg where A = A^H and the preconditioner is Hermitian, cgnr "
     "where "
     "A = -A^H without preconditioner, else bicgstab. --precond auto takes cg only where the "
     "entries leave room for a positive definite A." METHOD_PURPOSES " kaczmarz: projections onto "
     "row after row. cgmnc, carpcg, cimmino: cg on such sweeps. Of these four only cimmino runs on "
     "several ranks."},
    {CLI_REAL, "tol", "EPS", "1e-8", AT(tol), 1e-16, 1,
     "stop when |b - A x| / |b| is at most EPS, without preconditioner"},
    {CLI_INT, "max-iter", "N", "10000", AT(max_iter), 1, 1e9, "iterations allowed"},
    CLI_ALIAS_ROW("solver", "method"),
    {CLI_CHOICE, "precision", "double|single", "double", AT(precision), 0, 0,
     "precision of the solution. Residuals are always recomputed in double."},
    {CLI_CHOICE, "sloppy", "double|single|half", NULL, AT(sloppy), 0, 0,
     "precision of the inner iteration (default: that of --precision). half: 16 bits an entry, "
     "vectors in single."},
    {CLI_CHOICE, "refinement", "reliable|restart", "reliable", AT(refinement), 0, 0,
     "how an inner iteration in lower precision is corrected: reliable updates, or restarts"},
    {CLI_TEXT, "set", "KEY=VALUE,...", NULL, AT(set), 0, 0,
     "further solver options: delta, check_interval, subspace (of gcr), relaxation (of mr and "
     "richardson), "
     "deflation (of cg)"},
    CLI_END_ROW};
