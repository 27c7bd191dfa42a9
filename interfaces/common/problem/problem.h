/* problem.h - a Dirac equation as the command line poses it: links, action, reduction, solver,
 * sources. Shared by invert, its --dry-run and bench solve. */
#ifndef KAON_COMMON_PROBLEM_H
#define KAON_COMMON_PROBLEM_H

#include "interfaces/common/cli.h"
#include "interfaces/common/problem/field.h"

/* What the options of a problem fill; tables refer to it by PROBLEM_OPTIONS. */
typedef struct problem_args {
  const char *gauge;
  int lattice[4];
  int ignore_checksum;
  int action;
  double kappa, mass, csw, anisotropy; /* NaN: not given */
  const char *u0;                      /* a number, or auto */
  double naik_epsilon;
  const char *fat_links, *long_links; /* NULL: not given */
  int synthetic_links;                /* benchmarks: improved actions on links made up */
  int boundary_t;
  const char *source;
  int columns;
  int solver;
  double tol;
  int max_iter;
  int precision, sloppy; /* kaon_precision; sloppy -1: not given */
  int reconstruct;       /* index into 18|12|8 */
  int refinement, even_odd, stop;
  int temporal_gauge;
  int grid[4];
  const char *set;
  int preconditioner; /* index into PROBLEM_PRECONDITIONERS */
  int schwarz_block[4], schwarz_steps, schwarz_cycles, schwarz_groups; /* 0: not
                                                                                  given */
  double schwarz_relaxation;
  int schwarz_precision;
} problem_args;

typedef enum source_kind {
  SOURCE_POINT,
  SOURCE_WALL,
  SOURCE_CORNER,
  SOURCE_Z4,
  SOURCE_GAUSS
} source_kind;
typedef struct source_spec {
  source_kind kind;
  int site[4]; /* POINT; WALL, CORNER: site[3] is the slice */
  uint64_t seed;
} source_spec;

typedef struct problem {
  field field;
  source_spec source;
  double kappa, csw;
  int staggered; /* the vectors are staggered ones, of this mass: */
  double mass;
  double u0;                    /* asqtad; 0: from the plaquette */
  int ready_made;               /* links were read: PROBLEM_ACTIONS' index; else 0 */
  kaon_gauge *fat, *naik;       /* staggered.c: links of improved actions */
  kaon_fatten_report fattening; /* levels 0: they were not made here */
  kaon_operator *M, *R;         /* R NULL: solved without reduction */
  kaon_schwarz_options schwarz;
  kaon_operator *K; /* the preconditioner, or NULL */
  kaon_solver_options options;
  kaon_solver *solver;
  kaon_precision precision;
  double made[2];   /* seconds that operators and preconditioner took, and the last solver */
  double off_group; /* with --temporal-gauge: largest entry of |U U^dag - 1|; else 0 */
} problem;

/* All that can be refused without reading the links: notation, ranges, what is not built yet. Fills
 * the plain members of *p. Exit status. */
int problem_check(const problem_args *args, problem *p, field_spec *spec);
/* Of the columns that are solved together: what the method can take. Exit status. */
int problem_check_together(const problem *p, int columns);
/* The source's place on the lattice of these extents. Exit status. */
int problem_check_source(const problem_args *args, const problem *p, const int extents[4]);
/* Links, then operator and reduction, then a solver for `columns` (one stage each). Exit status;
 * problem_close in any case. */
int problem_links(kaon_context *ctx, const problem_args *args, const field_spec *spec, problem *p);
/* The outer operator is the system as the user posed it, on the links as they are. Without an inner
 * one of its own it carries --reconstruct, but only where that keeps the links to within rounding;
 * else sets 18 reals and says why. */
kaon_status problem_outer_links(problem *p);
int problem_operator(kaon_context *ctx, const problem_args *args, problem *p);
int problem_solver(kaon_context *ctx, int columns, problem *p);
/* cli_status of what was made of the links, and what may help. */
int problem_status(const kaon_context *ctx, const problem *p, kaon_status status);
/* What its vectors are, and how many reals a site they have. */
const kaon_space *problem_space(const problem *p);
int problem_reals(const problem *p);
/* Columns of a whole propagator: 12 spins and colours, or 3 colours. */
int problem_components(const problem *p);
/* --columns, or all components where it was not given. */
int problem_columns(const cli_common *common, const problem_args *args);
/* --- staggered.c --- */
int staggered_action(const problem_args *args);
/* What staggered actions need and refuse. Exit status. */
int staggered_check(const problem_args *args, problem *p);
/* Links that cost what those of asqtad or hisq (with phases) do: fat ones are the field's, long
 * ones -1/24 times them. */
kaon_status staggered_synthetic(const field *f, int action, kaon_gauge **fat, kaon_gauge **naik);
/* Of ready-made links that are not what a few reals of each need. */
void staggered_hint(const problem *p);
kaon_status staggered_make(const problem_args *args, problem *p);
/* How the links were fattened, or what that took beside `seconds` of solving; nothing where they
 * were not. */
void staggered_print(const cli_common *common, const problem *p, double seconds);
void staggered_describe(const problem_args *args, const problem *p, json_t *report);
/* The method on the reduction, which is Hermitian positive definite. */
kaon_method staggered_method(const problem_args *args, kaon_method method);
/* --- schwarz.c --- */
/* Which of PROBLEM_PRECONDITIONERS --preconditioner or --solver asks for. */
int schwarz_asked(const problem_args *args);
/* Refuses --schwarz-... on the command line without a preconditioner. Exit status. */
int schwarz_idle(const cli_common *common, const problem_args *args);
/* Refuses, before there is an operator that would, blocks that do not fit a rank's part of a
 * lattice of `extents`. Exit status. */
int schwarz_fits(const problem_args *args, const int part[4], const int extents[4]);
/* Of the solver that the other options have chosen. Exit status. */
int schwarz_check(const problem_args *args, problem *p);
kaon_status schwarz_make(const problem_args *args, problem *p);
/* What was used, all numbers by rule filled in, and the directions whose hops are cut; null without
 * a preconditioner. Once the links are there. */
void schwarz_add(const problem_args *args, const problem *p, json_t *to);
/* "sums", "exchanges", "bytes_sent" of this rank. */
void schwarz_add_traffic(const kaon_traffic *traffic, json_t *to);
/* ", preconditioned by ..." for a line of text, or "". */
const char *schwarz_text(const problem_args *args, const problem *p, char text[96]);

/* Every column of the source. */
kaon_status problem_source(const problem *p, kaon_vector *b);
void problem_close(problem *p);
/* The source's slice, 0 for noise. */
int problem_slice(const problem *p);

#define PROBLEM_SOURCES "point:x,y,z,t|wall:t|corner:t|z4:SEED|gauss:SEED"
#define PROBLEM_SOLVERS "cg|cgnr|cgne|bicgstab|gcr|mr|blockcg|pipecg|pipebicgstab|async-schwarz"
#define PROBLEM_ACTIONS "wilson|clover|staggered|asqtad|hisq"
#define PROBLEM_SOLVER_TEXT                                                                      \
  "method; cg means cgnr, the normal equations, on these operators, and blockcg, whose columns " \
  "share one search space, likewise; pipecg (likewise) and pipebicgstab hide their sums over "   \
  "ranks behind the operator; async-schwarz is gcr with --preconditioner async-schwarz"
#define PROBLEM_ACTION_TEXT \
  "the Dirac operator; links of asqtad and hisq are made from --gauge, or read: --fat-links"
#define PROBLEM_FAT_TEXT                                                                          \
  "asqtad, hisq: ready-made fat links as MILC writes them, SciDAC, with its signs, for an "       \
  "antiperiodic t; give --long-links likewise, --gauge for the extents, and no --u0, but for "    \
  "asqtad with --reconstruct 12 or 8: that of the long ones, or auto, which takes their size as " \
  "it is found"
#define PROBLEM_REFINEMENT_TEXT \
  "how a coarser inner iteration is corrected: its residual replaced on the way, or restarted"
#define PROBLEM_EVEN_ODD_TEXT \
  "form of the Schur complement that is solved on the even sites; none: all sites"
#define PROBLEM_STOP_TEXT \
  "whose residual --tol is for: the system as posed, the even-odd one, the normal equations"
#define PROBLEM_TEMPORAL_TEXT                                                                    \
  "solve in temporal gauge: t links are the identity on all slices but one; for links that are " \
  "SU(3) to within --tol"
#define PROBLEM_SET_TEXT                                                                        \
  "further solver options: delta (drop of the residual between corrections; 0: by rule), "      \
  "check_interval (steps between looks), subspace (of gcr), relaxation (of mr), deflation (of " \
  "cg: "                                                                                        \
  "pairs kept against rounding near criticality; -1: by rule, 0: none)"

#define PROBLEM_PRECONDITIONERS "none|schwarz|sap|async-schwarz"
#define PROBLEM_PRECONDITIONER_TEXT                                                                \
  "of --solver gcr: approximate solves in blocks, all at once (schwarz, which sends nothing), in " \
  "red-black order (sap), or with neighbours' data as it arrives, without waiting "                \
  "(async-schwarz, "                                                                               \
  "no two runs alike)"

#define PROBLEM_BLOCK_TEXT                                                                      \
  "extents of a block, even divisors of the rank's part; 0, the default, in a direction: hops " \
  "are cut between ranks alone, on one rank none; 8 8 8 8 on a rank of 8x8x8x8 cuts those "     \
  "around it too"

/* Rows of the option tables. AT(member): offset of a problem_args member in the command's
 * arguments. */
#define PROBLEM_OPTIONS_PROBLEM(AT)                                                                 \
  {CLI_GROUP, "The problem:", NULL, NULL, 0, 0, 0, NULL},                                           \
      {CLI_TEXT,                                                                                    \
       "gauge",                                                                                     \
       "FILE|unit|random:SEED|weak:EPS[:SEED]",                                                     \
       NULL,                                                                                        \
       AT(gauge),                                                                                   \
       0,                                                                                           \
       0,                                                                                           \
       "links: a configuration file (its format is recognised), or a synthetic field"},             \
      {CLI_EXTENTS, "lattice",                                                                      \
       "X Y Z T",   NULL,                                                                           \
       AT(lattice), 0,                                                                              \
       0,           "extents, each even; needed where --gauge does not say them"},                  \
      {CLI_FLAG,                                                                                    \
       "ignore-checksum",                                                                           \
       NULL,                                                                                        \
       NULL,                                                                                        \
       AT(ignore_checksum),                                                                         \
       0,                                                                                           \
       0,                                                                                           \
       "go on, with warnings, where checksum, stored plaquette or unitarity fail"},                 \
      {CLI_CHOICE, "action", PROBLEM_ACTIONS, "clover", AT(action), 0, 0, PROBLEM_ACTION_TEXT},     \
      {CLI_REAL,  "kappa", "K", NULL,                                                               \
       AT(kappa), 1e-6,    10,  "Wilson, clover: hopping parameter; needed, or --mass"},            \
      {CLI_REAL, "mass",                                                                            \
       "M",      NULL,                                                                              \
       AT(mass), -3.9,                                                                              \
       1e5,      "bare mass: kappa = 1 / (2 M + 8); staggered actions need it: 2 M + D"},           \
      {CLI_TEXT, "u0", "U|auto", "1",                                                               \
       AT(u0),   0,    0,        "asqtad: tadpole factor; auto: the fourth root of the plaquette"}, \
      {CLI_REAL,                                                                                    \
       "naik-epsilon",                                                                              \
       "E",                                                                                         \
       "0",                                                                                         \
       AT(naik_epsilon),                                                                            \
       -10,                                                                                         \
       10,                                                                                          \
       "asqtad, hisq: long links count 1 + E times, and fat ones follow"},                          \
      {CLI_TEXT, "fat-links", "FILE", NULL, AT(fat_links), 0, 0, PROBLEM_FAT_TEXT},                 \
      {CLI_TEXT,                                                                                    \
       "long-links",                                                                                \
       "FILE",                                                                                      \
       NULL,                                                                                        \
       AT(long_links),                                                                              \
       0,                                                                                           \
       0,                                                                                           \
       "ready-made long links, beside --fat-links"},                                                \
      {CLI_REAL, "csw", "C", NULL,                                                                  \
       AT(csw),  -10,   10,  "clover coefficient; needed by --action clover"},                      \
      {CLI_REAL,       "anisotropy", "F", "1",                                                      \
       AT(anisotropy), 1e-3,         1e3, "factor nu / xi_0 on the spatial hops"},                  \
      {CLI_CHOICE,                                                                                  \
       "boundary-t",                                                                                \
       "antiperiodic|periodic",                                                                     \
       "antiperiodic",                                                                              \
       AT(boundary_t),                                                                              \
       0,                                                                                           \
       0,                                                                                           \
       "boundary condition of the fermions in t"},                                                  \
  {                                                                                                 \
    CLI_TEXT, "source", PROBLEM_SOURCES, "point:0,0,0,0", AT(source), 0, 0,                         \
        "right-hand sides: a unit at one site, ones on one slice (corner: staggered, on every "     \
        "second site of each direction), or noise on all sites"                                     \
  }

#define PROBLEM_OPTIONS_SCHWARZ(AT)                                                                \
  {CLI_CHOICE, "preconditioner",           PROBLEM_PRECONDITIONERS, "none", AT(preconditioner), 0, \
   0,          PROBLEM_PRECONDITIONER_TEXT},                                                       \
      {CLI_EXTENTS, "schwarz-block",   "X Y Z T", NULL, AT(schwarz_block), 0,                      \
       4096,        PROBLEM_BLOCK_TEXT},                                                           \
      {CLI_INT,                                                                                    \
       "schwarz-steps",                                                                            \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(schwarz_steps),                                                                          \
       1,                                                                                          \
       1000,                                                                                       \
       "minimal-residual steps in a block (default: schwarz 10, others 4)"},                       \
      {CLI_INT,                                                                                    \
       "schwarz-cycles",                                                                           \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(schwarz_cycles),                                                                         \
       1,                                                                                          \
       1000,                                                                                       \
       "cycles over blocks (default: schwarz 1, others 5)"},                                       \
      {CLI_INT,                                                                                    \
       "schwarz-groups",                                                                           \
       "N",                                                                                        \
       NULL,                                                                                       \
       AT(schwarz_groups),                                                                         \
       1,                                                                                          \
       64,                                                                                         \
       "async-schwarz: turns that a rank's blocks take in a cycle, drawn by lot (default: on one " \
       "rank of a CPU none, its threads' blocks go on by themselves; else 2)"},                    \
      {CLI_REAL,                                                                                   \
       "schwarz-relaxation",                                                                       \
       "OMEGA",                                                                                    \
       NULL,                                                                                       \
       AT(schwarz_relaxation),                                                                     \
       1e-3,                                                                                       \
       1.99,                                                                                       \
       "factor of the step lengths in blocks (default 1)"},                                        \
  {                                                                                                \
    CLI_CHOICE, "schwarz-precision", "double|single|half", NULL, AT(schwarz_precision), 0, 0,      \
        "of the preconditioner (default half)"                                                     \
  }

#define PROBLEM_OPTIONS_SOLVER(AT)                                                                 \
  {CLI_GROUP, "The solver:", NULL, NULL, 0, 0, 0, NULL},                                           \
      {CLI_CHOICE, "solver", PROBLEM_SOLVERS, "cg", AT(solver), 0, 0, PROBLEM_SOLVER_TEXT},        \
      {CLI_REAL, "tol", "EPS", "1e-10", AT(tol), 1e-16, 1, "stop at this relative residual"},      \
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
       "precision of the inner iteration (default single): half is fastest, the result as exact"}, \
      {CLI_CHOICE,                                                                                 \
       "reconstruct",                                                                              \
       "18|12|8",                                                                                  \
       "18",                                                                                       \
       AT(reconstruct),                                                                            \
       0,                                                                                          \
       0,                                                                                          \
       "reals kept a link in the inner iteration; fewer is less memory traffic"},                  \
      {CLI_CHOICE, "refinement",           "reliable|restart", "reliable", AT(refinement), 0,      \
       0,          PROBLEM_REFINEMENT_TEXT},                                                       \
      {CLI_CHOICE, "even-odd", "symmetric|asymmetric|none", "symmetric", AT(even_odd),             \
       0,          0,          PROBLEM_EVEN_ODD_TEXT},                                             \
      {CLI_CHOICE, "stop", "full|schur|normal", "full", AT(stop), 0, 0, PROBLEM_STOP_TEXT},        \
      {CLI_FLAG, "temporal-gauge", NULL, NULL, AT(temporal_gauge), 0, 0, PROBLEM_TEMPORAL_TEXT},   \
      {CLI_EXTENTS, "grid", "a b c d", NULL, AT(grid), 0, 0, CLI_GRID_TEXT}, CLI_RANKS_OPTIONS, {  \
    CLI_TEXT, "set", "KEY=VALUE,...", NULL, AT(set), 0, 0, PROBLEM_SET_TEXT                        \
  }

#endif
