/* linear_options.h - rows of the option tables of commands that pose A x = b (linear.h).
 * AT(member): offset of a linear_args member in the command's arguments. */
#ifndef KAON_COMMON_LINEAR_OPTIONS_H
#define KAON_COMMON_LINEAR_OPTIONS_H

#include "interfaces/common/linear/linear.h"

#define LINEAR_OPTIONS_MATRIX(AT)                                                    \
  {CLI_TEXT,                                                                         \
   "matrix",                                                                         \
   "FILE.mtx|NAME",                                                                  \
   NULL,                                                                             \
   AT(matrix),                                                                       \
   0,                                                                                \
   0,                                                                                \
   "a Matrix Market file (also .gz), or laplace2d:N, laplace3d:N, laplace3d27:N, "   \
   "convdiff3d:N,PECLET, cavity3d:N, elasticity:N, trefethen:N, banded:N,B[,SEED], " \
   "fem:PROBLEM,DEGREE,LEVEL"},                                                      \
      {CLI_CHOICE,                                                                   \
       "format",                                                                     \
       LINEAR_FORMATS,                                                               \
       "auto",                                                                       \
       AT(format),                                                                   \
       0,                                                                            \
       0,                                                                            \
       "how rows are stored; auto: by their statistics, and it says which and why"}, \
      {CLI_CHOICE,                                                                   \
       "ordering",                                                                   \
       LINEAR_ORDERINGS,                                                             \
       "none",                                                                       \
       AT(ordering),                                                                 \
       0,                                                                            \
       0,                                                                            \
       "rcm: rows are in reverse Cuthill-McKee order; vectors stay in yours"},       \
      {CLI_CHOICE,                                                                   \
       "partition",                                                                  \
       LINEAR_PARTITIONS,                                                            \
       "blocks",                                                                     \
       AT(partition),                                                                \
       0,                                                                            \
       0,                                                                            \
       "which rank keeps which rows; metis: few entries between ranks"},             \
  {                                                                                  \
    CLI_INT, "window", "N", NULL, AT(window), 1, 1e9,                                \
        "rows that may change places for sell (default: by rule; 1: none)"           \
  }

#define LINEAR_OPTIONS_PRECOND(AT)                                                                 \
  {CLI_CHOICE,                                                                                     \
   "precond",                                                                                      \
   LINEAR_PRECONDS,                                                                                \
   "none",                                                                                         \
   AT(precond),                                                                                    \
   0,                                                                                              \
   0,                                                                                              \
   "jacobi and block-jacobi scale; dic, dilu, ic0, ilu0 factorise; ssor and gs sweep; ainv and "   \
   "(where A = A^H) fsai are approximate inverses, chebyshev a polynomial in A; jacobi-sweeps to " \
   "cimmino "                                                                                      \
   "are --sweeps of relaxation and of row projections, with the options of these (gs-sweeps, "     \
   "sor-sweeps and kaczmarz to cimmino not Hermitian, so for gcr and the bicgstab methods); of "   \
   "--method gcr alone: async, and approximate solves in blocks of rows, all at once (schwarz, "   \
   "which sends nothing) or by colours (sap)"},                                                    \
      LINEAR_OPTIONS_PRECOND_FIGURES(AT), LINEAR_OPTIONS_SCHWARZ(AT)

/* bench has options of these names for lattices. */
#define LINEAR_OPTIONS_SCHWARZ(AT)                                                     \
  {CLI_INT,                                                                            \
   "schwarz-block",                                                                    \
   "N",                                                                                \
   NULL,                                                                               \
   AT(schwarz_block),                                                                  \
   1,                                                                                  \
   2147483647.0,                                                                       \
   "schwarz, sap: rows of a block (default: a block is all that a rank has)"},         \
      {CLI_INT,                                                                        \
       "schwarz-steps",                                                                \
       "N",                                                                            \
       NULL,                                                                           \
       AT(schwarz_steps),                                                              \
       1,                                                                              \
       1000,                                                                           \
       "minimal-residual steps in a block (default: schwarz 10, sap 4)"},              \
      {CLI_INT,                                                                        \
       "schwarz-cycles",                                                               \
       "N",                                                                            \
       NULL,                                                                           \
       AT(schwarz_cycles),                                                             \
       1,                                                                              \
       1000,                                                                           \
       "cycles over blocks (default: schwarz 1, sap 5)"},                              \
  {                                                                                    \
    CLI_REAL, "schwarz-relaxation", "OMEGA", NULL, AT(schwarz_relaxation), 1e-3, 1.99, \
        "factor of the step lengths in blocks (default 1)"                             \
  }

#define LINEAR_OPTIONS_PRECOND_FIGURES(AT)                                                        \
  {CLI_INT,                                                                                       \
   "precond-block",                                                                               \
   "N",                                                                                           \
   NULL,                                                                                          \
   AT(precond_block),                                                                             \
   1,                                                                                             \
   32,                                                                                            \
   "block-jacobi: rows of a block (default 4)"},                                                  \
      {CLI_REAL,                                                                                  \
       "omega",                                                                                   \
       "W",                                                                                       \
       NULL,                                                                                      \
       AT(precond_omega),                                                                         \
       1e-3,                                                                                      \
       1.999,                                                                                     \
       "ssor, sor, sor-sweeps, two-stage, async: relaxation (default 1)"},                        \
      {CLI_REAL,                                                                                  \
       "drop",                                                                                    \
       "TAU",                                                                                     \
       NULL,                                                                                      \
       AT(precond_drop),                                                                          \
       0,                                                                                         \
       1,                                                                                         \
       "ainv: entries below this are dropped, the diagonal being 1 (default 0.1)"},               \
      {CLI_INT,                                                                                   \
       "fill",                                                                                    \
       "N",                                                                                       \
       NULL,                                                                                      \
       AT(precond_fill),                                                                          \
       1,                                                                                         \
       100000,                                                                                    \
       "ainv: at most so many entries a direction (default: no limit)"},                          \
      {CLI_INT,                                                                                   \
       "power",                                                                                   \
       "P",                                                                                       \
       NULL,                                                                                      \
       AT(precond_power),                                                                         \
       1,                                                                                         \
       8,                                                                                         \
       "fsai: the factor has the pattern of A^P: fewer steps, longer ones (default 1)"},          \
      {CLI_CHOICE,                                                                                \
       "precond-order",                                                                           \
       "natural|colour",                                                                          \
       NULL,                                                                                      \
       AT(precond_order),                                                                         \
       0,                                                                                         \
       0,                                                                                         \
       "dic to ilu0, ssor: rows as --ordering has them, or by colours: few levels, so faster "    \
       "sweeps on many cores, but more steps (default natural)"},                                 \
      {CLI_INT,                                                                                   \
       "sweeps",                                                                                  \
       "N",                                                                                       \
       NULL,                                                                                      \
       AT(precond_sweeps),                                                                        \
       1,                                                                                         \
       100,                                                                                       \
       "dic to ilu0: solve triangles by so many Jacobi sweeps (default: exactly); jacobi-sweeps " \
       "to "                                                                                      \
       "cimmino: sweeps of an application (default 3)"},                                          \
      {CLI_REAL,                                                                                  \
       "shift",                                                                                   \
       "S",                                                                                       \
       NULL,                                                                                      \
       AT(precond_shift),                                                                         \
       0,                                                                                         \
       1000,                                                                                      \
       "factors are those of A with its diagonal times 1 + S (default: 0, and after a "           \
       "breakdown 0.001, doubled up to 10 times)"},                                               \
      {CLI_INT,                                                                                   \
       "degree",                                                                                  \
       "N",                                                                                       \
       NULL,                                                                                      \
       AT(precond_degree),                                                                        \
       1,                                                                                         \
       64,                                                                                        \
       "chebyshev: products with A (default 4)"},                                                 \
      {CLI_REAL,                                                                                  \
       "low",                                                                                     \
       "L",                                                                                       \
       NULL,                                                                                      \
       AT(precond_low),                                                                           \
       0,                                                                                         \
       0,                                                                                         \
       "chebyshev: smallest eigenvalue of D^-1 A to damp, D its diagonal; goes with --high "      \
       "(default: both are estimated)"},                                                          \
      {CLI_REAL,         "high", "H", NULL,                                                       \
       AT(precond_high), 0,      0,   "chebyshev: the largest eigenvalue of D^-1 A"},             \
  {                                                                                               \
    CLI_CHOICE, "precond-precision", "double|single|half", NULL, AT(precond_precision), 0, 0,     \
        "of block-jacobi to fsai, schwarz to cimmino (default: that of --sloppy; half, but of "   \
        "sweeps: 16 bits an "                                                                     \
        "entry)"                                                                                  \
  }

#define RELAX_EXCHANGES "auto|amc|dc|dk|push|sync"
#define LINEAR_OPTIONS_RELAX(AT)                                                                   \
  {CLI_REAL,                                                                                       \
   "tau",                                                                                          \
   "T",                                                                                            \
   NULL,                                                                                           \
   AT(relax_tau),                                                                                  \
   0,                                                                                              \
   1000,                                                                                           \
   "jacobi, two-stage, async: factor of an update (default 1); 0: by the eigenvalues of D^-1 A"},  \
      {CLI_INT,         "block", "B",  NULL,                                                       \
       AT(relax_block), 1,       1024, "two-stage, async: rows of a block (default 448)"},         \
      {CLI_INT,                                                                                    \
       "local-sweeps",                                                                             \
       "K",                                                                                        \
       NULL,                                                                                       \
       AT(relax_sweeps),                                                                           \
       1,                                                                                          \
       1000,                                                                                       \
       "two-stage, async: Jacobi sweeps in a block an iteration (default 5)"},                     \
      {CLI_CHOICE,                                                                                 \
       "async-driver",                                                                             \
       "launch|free",                                                                              \
       NULL,                                                                                       \
       AT(relax_driver),                                                                           \
       0,                                                                                          \
       0,                                                                                          \
       "launch: each block once an iteration, in any order; free: blocks go on by themselves, "    \
       "without barriers (default launch)"},                                                       \
      {CLI_INT,       "lag",                                                                       \
       "N",           "-1",                                                                        \
       AT(relax_lag), -1,                                                                          \
       1000000,       "free: iterations that a block may be ahead of those it reads (default 2)"}, \
      {CLI_INT,                                                                                    \
       "stride",                                                                                   \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(relax_stride),                                                                           \
       1,                                                                                          \
       255,                                                                                        \
       "free, and exchanges: iterations between two residuals at most (default 128)"},             \
      {CLI_CHOICE,                                                                                 \
       "exchange",                                                                                 \
       RELAX_EXCHANGES,                                                                            \
       NULL,                                                                                       \
       AT(relax_exchange),                                                                         \
       0,                                                                                          \
       0,                                                                                          \
       "async on several ranks: others' rows as they arrive, through the host's memory (amc), by " \
       "copies (dc), read or written by the kernels (dk, push), or with residuals alone (sync); "  \
       "auto: sync, with free push or amc"},                                                       \
      {CLI_INT,                                                                                    \
       "rank-lag",                                                                                 \
       "N",                                                                                        \
       "-1",                                                                                       \
       AT(relax_rank_lag),                                                                         \
       -1,                                                                                         \
       1000000,                                                                                    \
       "async, exchanges: iterations that a block may be ahead of other ranks' that it reads "     \
       "(default: no bound)"},                                                                     \
      {CLI_INT,                                                                                    \
       "together",                                                                                 \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(relax_together),                                                                         \
       1,                                                                                          \
       1e9,                                                                                        \
       "blocks at work at once: on a CPU a thread reads for so many before it writes the first "   \
       "(default 1); on a GPU so many thread blocks take them in turn (default: all of them)"},    \
      {CLI_SEED,                                                                                   \
       "order-seed",                                                                               \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(relax_seed),                                                                             \
       0,                                                                                          \
       0,                                                                                          \
       "blocks begin in another order each iteration (default: as they stand)"},                   \
  {                                                                                                \
    CLI_FLAG, "spectrum", NULL, NULL, AT(spectrum), 0, 0,                                          \
        "estimate the spectral radii that decide whether relaxation converges, and warn (without " \
        "it jacobi, two-stage and async look shortly, in some 50 products, and warn alone)"        \
  }

#define LINEAR_OPTIONS_PROJECTIONS(AT)                                                            \
  {CLI_REAL,                                                                                      \
   "lambda",                                                                                      \
   "L",                                                                                           \
   NULL,                                                                                          \
   AT(lambda),                                                                                    \
   0,                                                                                             \
   1000,                                                                                          \
   "kaczmarz, cgmnc, carpcg, cimmino: relaxation of the projections (default 1; cimmino 0.35; "   \
   "0, and carpcg with as many --carp-blocks as rows: by a rule of the matrix)"},                 \
      {CLI_FLAG,                                                                                  \
       "coloring",                                                                                \
       NULL,                                                                                      \
       NULL,                                                                                      \
       AT(relax_colour),                                                                          \
       0,                                                                                         \
       0,                                                                                         \
       "gs, sor, kaczmarz, cgmnc: rows by colours, those of a colour at once; carpcg: within "    \
       "blocks"},                                                                                 \
      {CLI_CHOICE,                                                                                \
       "sweep-order",                                                                             \
       LINEAR_SWEEP_ORDERS,                                                                       \
       NULL,                                                                                      \
       AT(sweep_order),                                                                           \
       0,                                                                                         \
       0,                                                                                         \
       "kaczmarz, cgmnc: rows as --ordering has them, at random (--seed), or in classes worked "  \
       "on at once: by colour, in groups of a banded matrix (S1), in strides (S2), in sections "  \
       "of "                                                                                      \
       "space (of a NAME that has points)"},                                                      \
      {CLI_TEXT,                                                                                  \
       "permutation",                                                                             \
       "FILE",                                                                                    \
       NULL,                                                                                      \
       AT(permutation),                                                                           \
       0,                                                                                         \
       0,                                                                                         \
       "kaczmarz, cgmnc: rows in the order of this text, a row number a line, counted from 1 as " \
       "in Matrix Market files (lines that begin with # or % are comments); carpcg: its blocks "  \
       "are of rows that follow one another there"},                                              \
      {CLI_INT,                                                                                   \
       "carp-blocks",                                                                             \
       "N",                                                                                       \
       NULL,                                                                                      \
       AT(carp_blocks),                                                                           \
       1,                                                                                         \
       2147483647.0,                                                                              \
       "carpcg: blocks of rows with copies of their own (default: of 128 rows each)"},            \
  {                                                                                               \
    CLI_CHOICE, "carp-rows", LINEAR_CARP_ROWS, NULL, AT(carp_rows), 0, 0,                         \
        "carpcg: its blocks are of rows near one another in the matrix, with few copies, or of "  \
        "consecutive numbers (default near)"                                                      \
  }

/* Of solve and bench faults. */
#define LINEAR_OPTIONS_FAULTS(AT)                                                              \
  {CLI_REAL,        "fault-share", "S", NULL,                                                  \
   AT(fault_share), 1e-9,          1,   "this share of the rows is lost: no longer updated"},  \
      {CLI_CHOICE,                                                                             \
       "fault-kind",                                                                           \
       LINEAR_FAULTS,                                                                          \
       NULL,                                                                                   \
       AT(fault_kind),                                                                         \
       0,                                                                                      \
       0,                                                                                      \
       "lost rows are drawn at random, or follow one another (default rows)"},                 \
      {CLI_INT,                                                                                \
       "fault-rank",                                                                           \
       "N",                                                                                    \
       "-1",                                                                                   \
       AT(fault_rank),                                                                         \
       -1,                                                                                     \
       1e6,                                                                                    \
       "all rows of this rank are lost instead; counted from 0 (default: of none)"},           \
      {CLI_INT,                                                                                \
       "fault-begin",                                                                          \
       "T0",                                                                                   \
       "-1",                                                                                   \
       AT(fault_begin),                                                                        \
       -1,                                                                                     \
       1e9,                                                                                    \
       "iterations before rows are lost (default 10)"},                                        \
      {CLI_INT,                                                                                \
       "fault-recovery",                                                                       \
       "TR",                                                                                   \
       NULL,                                                                                   \
       AT(fault_recovery),                                                                     \
       1,                                                                                      \
       1e9,                                                                                    \
       "iterations until lost rows are given back (default: never, but by the monitor, which " \
       "sees residuals alone)"},                                                               \
      {CLI_REAL,                                                                               \
       "flip-rate",                                                                            \
       "P",                                                                                    \
       NULL,                                                                                   \
       AT(flip_rate),                                                                          \
       1e-12,                                                                                  \
       1,                                                                                      \
       "bits of x flip unseen, one of a row in an iteration with this probability"},           \
      {CLI_INT,                                                                                \
       "flip-begin",                                                                           \
       "N",                                                                                    \
       NULL,                                                                                   \
       AT(flip_begin),                                                                         \
       1,                                                                                      \
       1e9,                                                                                    \
       "iteration from which on bits flip (default: the first)"},                              \
      {CLI_INT,      "flip-end", "N", NULL,                                                    \
       AT(flip_end), 1,          1e9, "iteration until which bits flip (default: the last)"},  \
      {CLI_FLAG,                                                                               \
       "no-repair",                                                                            \
       NULL,                                                                                   \
       NULL,                                                                                   \
       AT(no_repair),                                                                          \
       0,                                                                                      \
       0,                                                                                      \
       "the monitor raises alarms, but neither goes back to a copy of x nor gives rows back"}, \
  {                                                                                            \
    CLI_SEED, "fault-seed", "N", "1", AT(fault_seed), 0, 0,                                    \
        "seed of which rows are lost and which bits flip"                                      \
  }

#define LINEAR_OPTIONS_SOLVER(AT)                                                                  \
  {CLI_CHOICE,                                                                                     \
   "method",                                                                                       \
   LINEAR_METHODS,                                                                                 \
   NULL,                                                                                           \
   AT(method),                                                                                     \
   0,                                                                                              \
   0,                                                                                              \
   "default: gcr under --precond schwarz, sap and async, else cg where A = A^H (and the "          \
   "preconditioner is Hermitian), cgnr where A = -A^H and there is none, else bicgstab. cg, "      \
   "pipecg, groppcg, chrongear and blockcg need a Hermitian "                                      \
   "positive definite A; cgnr and cgne take any, on the normal equations; pipecg, groppcg, "       \
   "rbicgstab and pipebicgstab hide their sums over ranks, chrongear has one a step; jacobi to "   \
   "async are relaxation; "                                                                        \
   "kaczmarz projects onto row after row, cgmnc, carpcg and cimmino do cg on such sweeps; of "     \
   "these four cimmino alone runs on several ranks"},                                              \
      {CLI_REAL, "tol", "EPS", "1e-8",                                                             \
       AT(tol),  1e-16, 1,     "stop at this |b - A x| / |b|, without preconditioner"},            \
      {CLI_INT, "max-iter", "N", "10000", AT(max_iter), 1, 1e9, "steps allowed a column"},         \
      {CLI_CHOICE,                                                                                 \
       "precision",                                                                                \
       "double|single",                                                                            \
       "double",                                                                                   \
       AT(precision),                                                                              \
       0,                                                                                          \
       0,                                                                                          \
       "precision of the solution; residuals are recomputed in double"},                           \
      {CLI_CHOICE,                                                                                 \
       "sloppy",                                                                                   \
       "double|single|half",                                                                       \
       NULL,                                                                                       \
       AT(sloppy),                                                                                 \
       0,                                                                                          \
       0,                                                                                          \
       "precision of the inner iteration (default: that of --precision); half: 16 bits an entry, " \
       "vectors in single"},                                                                       \
      {CLI_CHOICE,                                                                                 \
       "refinement",                                                                               \
       "reliable|restart",                                                                         \
       "reliable",                                                                                 \
       AT(refinement),                                                                             \
       0,                                                                                          \
       0,                                                                                          \
       "how a coarser inner iteration is corrected: its residual replaced on the way, or "         \
       "restarted"},                                                                               \
  {                                                                                                \
    CLI_TEXT, "set", "KEY=VALUE,...", NULL, AT(set), 0, 0,                                         \
        "further solver options: delta, check_interval, subspace (of gcr), relaxation (of mr), "   \
        "deflation (of cg), "                                                                      \
        "as_printed (of rbicgstab)"                                                                \
  }

#endif
