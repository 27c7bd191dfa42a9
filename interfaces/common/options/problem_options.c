/* problem_options.c - options of commands that solve the Dirac equation (problem.h). */
#include "interfaces/common/problem/problem.h"

#define AT(member) offsetof(problem_args, member)

const cli_option problem_rows[] = {
    CLI_GROUP_ROW("The problem:"),
    {CLI_TEXT, "gauge", "FILE|unit|random:SEED|weak:EPS[:SEED]", NULL, AT(gauge), 0, 0,
     "links: a configuration file of any format that kaon gauge reads, or a synthetic field"},
    {CLI_EXTENTS, "lattice", "X Y Z T", NULL, AT(lattice), 0, 0,
     "extents, each even. Needed where --gauge does not contain them."},
    {CLI_FLAG, "ignore-checksum", NULL, NULL, AT(ignore_checksum), 0, 0,
     "continue, with a warning, where checksum, stored plaquette or unitarity are wrong"},
    {CLI_CHOICE, "action", PROBLEM_ACTIONS, "clover", AT(action), 0, 0, PROBLEM_ACTION_TEXT},
    {CLI_REAL, "kappa", "K", NULL, AT(kappa), 1e-6, 10,
     "Wilson-like actions: hopping parameter. Give this or --mass."},
    {CLI_REAL, "mass", "M", NULL, AT(mass), -3.9, 1e5,
     "bare mass. Wilson-like actions: kappa = 1 / (2 (1 + 3 F + M)), with F = 1 or --anisotropy. "
     "Staggered actions need it; their operator is 2 M + D."},
    {CLI_TEXT, "csw", "C|C_S,C_T", NULL, AT(csw), 0, 0,
     "clover actions: coefficient of that term; or, with --anisotropy, two: of planes in space and "
     "of planes with t"},
    {CLI_REAL, "mu", "MU", NULL, AT(mu), -100, 100,
     "twisted, twisted-clover: twisted mass, M = A + 2 i kappa MU gamma_5 - kappa D"},
    {CLI_REAL, "anisotropy", "F", "1", AT(anisotropy), 1e-3, 1e3,
     "factor nu / xi_0 of the spatial hops"},
    {CLI_CHOICE, "boundary-t", "antiperiodic|periodic", "antiperiodic", AT(boundary_t), 0, 0,
     "boundary condition of the fermions in t"},
    {CLI_TEXT, "u0", "U|auto", "1", AT(u0), 0, 0,
     "asqtad: tadpole factor. auto: the fourth root of the plaquette."},
    {CLI_REAL, "naik-epsilon", "E", "0", AT(naik_epsilon), -10, 10,
     "asqtad, hisq: the long links are multiplied by 1 + E, and the fat links change with them"},
    {CLI_TEXT, "fat-links", "FILE", NULL, AT(fat_links), 0, 0, PROBLEM_FAT_TEXT},
    {CLI_TEXT, "long-links", "FILE", NULL, AT(long_links), 0, 0,
     "ready-made long links, needed with --fat-links"},
    {CLI_TEXT, "source", PROBLEM_SOURCES, "point:0,0,0,0", AT(source), 0, 0,
     "right-hand sides: 1 at one site, 1 on one time slice, or noise. corner: staggered, 1 on "
     "every second site of each direction of a slice. z4, gauss: noise on all sites."},
    CLI_END_ROW};

const cli_option problem_precond_rows[] = {
    {CLI_CHOICE, "precond", PROBLEM_PRECONDITIONERS, "none", AT(preconditioner), 0, 0,
     PROBLEM_PRECONDITIONER_TEXT},
    CLI_ALIAS_ROW("preconditioner", "precond"),
    {CLI_EXTENTS, "schwarz-block", "X Y Z T", NULL, AT(schwarz_block), 0, 4096, PROBLEM_BLOCK_TEXT},
    {CLI_INT, "schwarz-steps", "N", NULL, AT(schwarz_steps), 1, 1000,
     "minimal-residual steps in a block (default: schwarz 10, others 4)"},
    {CLI_INT, "schwarz-cycles", "N", NULL, AT(schwarz_cycles), 1, 1000,
     "cycles over all blocks (default: schwarz 1, others 5)"},
    {CLI_INT, "schwarz-groups", "N", NULL, AT(schwarz_groups), 1, 64,
     "async-schwarz: random groups of blocks that are updated one after another in a cycle "
     "(default: 2; one rank of a CPU needs none, its threads run asynchronously)"},
    {CLI_REAL, "schwarz-relaxation", "OMEGA", NULL, AT(schwarz_relaxation), 1e-3, 1.99,
     "factor of the step lengths in blocks (default 1)"},
    {CLI_CHOICE, "schwarz-precision", "double|single|half", NULL, AT(schwarz_precision), 0, 0,
     "precision of the preconditioner (default half)"},
    {CLI_TEXT, "multigrid", "KEY=VALUE,...", NULL, AT(multigrid), 0, 0, PROBLEM_MULTIGRID_TEXT},
    CLI_END_ROW};

const cli_option problem_solver_rows[] = {
    CLI_GROUP_ROW("The solver:"),
    {CLI_CHOICE, "method", PROBLEM_SOLVERS, "cg", AT(solver), 0, 0, PROBLEM_SOLVER_TEXT},
    CLI_ALIAS_ROW("solver", "method"),
    {CLI_REAL, "tol", "EPS", "1e-10", AT(tol), 1e-16, 1,
     "stop when |b - A x| / |b| is at most EPS"},
    {CLI_INT, "max-iter", "N", "10000", AT(max_iter), 1, 1e9, "iterations allowed"},
    {CLI_CHOICE, "precision", "double|single", "double", AT(precision), 0, 0,
     "precision of the solution. Residuals are always recomputed in double."},
    {CLI_CHOICE, "sloppy", "double|single|half", NULL, AT(sloppy), 0, 0,
     "precision of the inner iteration (default single). half is fastest; the result is as "
     "accurate."},
    {CLI_CHOICE, "reconstruct", "18|12|8", "18", AT(reconstruct), 0, 0,
     "reals stored of each link in the inner iteration. Fewer need less memory traffic."},
    {CLI_CHOICE, "refinement", "reliable|restart", "reliable", AT(refinement), 0, 0,
     PROBLEM_REFINEMENT_TEXT},
    {CLI_CHOICE, "even-odd", "symmetric|asymmetric|none", "symmetric", AT(even_odd), 0, 0,
     PROBLEM_EVEN_ODD_TEXT},
    {CLI_CHOICE, "stop", "full|schur|normal", "full", AT(stop), 0, 0, PROBLEM_STOP_TEXT},
    {CLI_FLAG, "temporal-gauge", NULL, NULL, AT(temporal_gauge), 0, 0, PROBLEM_TEMPORAL_TEXT},
    {CLI_EXTENTS, "grid", "a b c d", NULL, AT(grid), 0, 0, CLI_GRID_TEXT},
    {CLI_TEXT, "set", "KEY=VALUE,...", NULL, AT(set), 0, 0, PROBLEM_SET_TEXT},
    CLI_END_ROW};
