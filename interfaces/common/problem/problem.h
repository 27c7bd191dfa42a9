/* problem.h - a Dirac equation as the command line poses it: links, action, reduction, solver,
 * sources. Shared by invert, its --dry-run and bench solve. */
#ifndef KAON_COMMON_PROBLEM_H
#define KAON_COMMON_PROBLEM_H

#include "interfaces/common/cli.h"
#include "interfaces/common/problem/field.h"
#include "interfaces/common/solving.h"

/* What the options of a problem fill. Their rows: problem_rows and its neighbours below. */
typedef struct problem_args {
  const char *gauge;
  int lattice[4];
  int ignore_checksum;
  int action;
  double kappa, mass, mu, anisotropy; /* NaN: not given */
  const char *csw;                    /* one number or two; NULL: not given */
  const char *u0;                     /* a number, or auto */
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
  const char *multigrid;                   /* KEY=VALUE,... or NULL */
  const char *load_vectors, *save_vectors; /* NULL: not given */
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
  double kappa, mu, csw, csw_time; /* clover coefficients of planes without and with t */
  int twisted;                     /* mu is the action's, 0 or not */
  int staggered;                   /* the vectors are staggered ones, of this mass: */
  double mass;
  double u0;                    /* asqtad; 0: from the plaquette */
  int ready_made;               /* links were read: PROBLEM_ACTIONS' index; else 0 */
  kaon_gauge *fat, *naik;       /* staggered.c: links of improved actions */
  kaon_fatten_report fattening; /* levels = 0: the links were read from files */
  kaon_operator *M, *R;         /* R NULL: solved without reduction */
  kaon_schwarz_options schwarz;
  kaon_multigrid_options multigrid;
  int counted;      /* 1: multigrid is not made, only the links that it would take (forecasts) */
  kaon_operator *K; /* the preconditioner, or NULL */
  kaon_solver_options options;
  kaon_solver *solver;
  kaon_precision precision;
  double made[2];   /* seconds of creation: operators and preconditioner; last solver */
  double off_group; /* with --temporal-gauge: largest entry of |U U^dag - 1|; else 0 */
} problem;

/* Refuses what can be refused without the links: notation and ranges. Fills the members of *p that
 * are not pointers to objects. Exit status. */
int problem_check(const problem_args *args, problem *p, field_spec *spec);
/* Refuses more columns at a time than the method supports. Exit status. */
int problem_check_together(const problem *p, int columns);
/* Refuses a source outside the lattice of these extents. Exit status. */
int problem_check_source(const problem_args *args, const problem *p, const int extents[4]);
/* The stages of a problem: problem_links creates the links, problem_operator the operator and its
 * reduction, problem_solver a solver for `columns`. Exit statuses. Call problem_close after success
 * and after failure. */
int problem_links(kaon_context *ctx, const problem_args *args, const field_spec *spec, problem *p);
/* Chooses the link storage of the outer operator, which is the system as the user posed it: 18
 * reals, unless there is no inner operator and --reconstruct keeps the links to within rounding. A
 * message says why --reconstruct is not used. */
kaon_status problem_outer_links(problem *p);
int problem_operator(kaon_context *ctx, const problem_args *args, problem *p);
int problem_solver(kaon_context *ctx, int columns, problem *p);
/* cli_status for an object made from links, with advice. */
int problem_status(const kaon_context *ctx, const problem *p, kaon_status status);
/* Space of the problem's vectors, and their number of reals a site. */
const kaon_space *problem_space(const problem *p);
int problem_reals(const problem *p);
/* Columns of a whole propagator: 12 spins and colours, or 3 colours. */
int problem_components(const problem *p);
/* The value of --columns. Not given: all components. */
int problem_columns(const cli_common *common, const problem_args *args);
/* --- problem_staggered.c --- */
int staggered_action(const problem_args *args);
/* Refuses options that staggered actions do not take, and missing ones. Exit status. */
int staggered_check(const problem_args *args, problem *p);
/* Makes fat and long links for benchmarks of asqtad and hisq: fat links are the field's, long
 * links -1/24 times them, with phases. */
kaon_status staggered_synthetic(const field *f, int action, kaon_gauge **fat, kaon_gauge **naik);
/* Prints advice about --reconstruct, if long links were read that it cannot store. */
void staggered_hint(const problem *p);
kaon_status staggered_make(const problem_args *args, problem *p);
/* Prints how the links were fattened, or which share of `seconds` of solving that took. Other
 * actions: prints nothing. */
void staggered_print(const cli_common *common, const problem *p, double seconds);
void staggered_describe(const problem_args *args, const problem *p, json_t *report);
/* 1: the reduction is Hermitian positive definite. */
int staggered_hermitian(const problem_args *args);
/* --- problem_precond.c --- */
/* Which of PROBLEM_PRECONDITIONERS --precond or --method asks for. */
int problem_precond_asked(const problem_args *args);
/* Refuses options of preconditioners that were not asked for, and chooses for multigrid what it
 * needs: method, precision and the system on all sites. Call it first. Exit status. */
int problem_precond_complete(const cli_common *common, problem_args *args);
/* Refuses blocks that do not fit a rank's part of a lattice of `extents`, before an operator
 * exists. Exit status. */
int problem_precond_fits(const problem_args *args, const int part[4], const int extents[4]);
/* Fills p->schwarz or p->multigrid. Refuses methods other than gcr. Exit status. */
int problem_precond_check(const problem_args *args, problem *p);
kaon_status problem_precond_make(const problem_args *args, problem *p);
/* Adds the preconditioner with its parameters and the directions whose hops are cut. Without a
 * preconditioner it adds null. Call it after problem_links. */
void problem_precond_add(const problem_args *args, const problem *p, json_t *to);
/* Adds "sums", "exchanges" and "bytes_sent" of this rank. */
void schwarz_add_traffic(const kaon_traffic *traffic, json_t *to);
/* ", preconditioned by ..." for a line of text, or "". */
const char *problem_precond_text(const problem_args *args, const problem *p, char text[96]);
/* --- problem_multigrid.c: what the functions above do for --precond multigrid --- */
int multigrid_asked(const problem_args *args);
int multigrid_complete(const cli_common *common, problem_args *args);
int multigrid_check(const problem_args *args, problem *p);
/* Sets it up, or loads its vectors, and saves them if that was asked for. */
kaon_status multigrid_make(const problem_args *args, problem *p);
void multigrid_add(const problem_args *args, const problem *p, json_t *report);
/* The levels on a lattice of these extents, and their memory. Exit status. */
int multigrid_plan(const kaon_context *ctx, const problem_args *args, const problem *p,
                   const int extents[4], const int grid[4], kaon_multigrid_info *info);
/* Refuses --save-vectors where the disk has no room for these levels. Exit status. */
int multigrid_fits(const problem_args *args, const kaon_multigrid_info *info);
/* Prints a line a level. */
void multigrid_print_levels(const cli_common *common, const problem *p,
                            const kaon_multigrid_info *info);
/* Prints the levels of --precond multigrid before its set-up. Else it does nothing. Exit status. */
int multigrid_announce(const cli_common *common, const kaon_context *ctx, const problem_args *args,
                       const problem *p);
/* Prints the seconds of the set-up by part. */
void multigrid_print_setup(const cli_common *common, const problem *p);

/* Fills all columns of b with the source. */
kaon_status problem_source(const problem *p, kaon_vector *b);
void problem_close(problem *p);
/* Time slice of the source; 0 for noise. */
int problem_slice(const problem *p);

#define PROBLEM_SOURCES "point:x,y,z,t|wall:t|corner:t|z4:SEED|gauss:SEED"
#define PROBLEM_SOLVERS METHOD_CHOICES "async-schwarz" /* the last is gcr with --precond */
#define PROBLEM_ACTIONS "wilson|clover|twisted|twisted-clover|staggered|asqtad|hisq"
enum {
  ACTION_WILSON,
  ACTION_CLOVER,
  ACTION_TWISTED,
  ACTION_TWISTED_CLOVER,
  ACTION_STAGGERED,
  ACTION_ASQTAD,
  ACTION_HISQ
};
#define PROBLEM_PRECONDITIONERS "none|schwarz|sap|async-schwarz|multigrid"
enum { PROBLEM_MULTIGRID = 4 };
#define PROBLEM_SOLVER_TEXT                                                                     \
  "method. With operators that are not Hermitian positive definite, such as Wilson-like ones, " \
  "cg, blockcg and pipecg solve the normal equations." METHOD_PURPOSES                          \
  " async-schwarz: gcr with --precond async-schwarz."
#define PROBLEM_ACTION_TEXT \
  "the Dirac operator. Links of asqtad and hisq are made from --gauge, or read: --fat-links."
#define PROBLEM_FAT_TEXT                                                                         \
  "asqtad, hisq: ready-made fat links as MILC writes them (SciDAC, with MILC's signs, "          \
  "antiperiodic in t). Give --long-links as well, and --gauge for the extents. Leave --u0 out, " \
  "except for asqtad with --reconstruct 12 or 8: the factor of the long links, or auto, which "  \
  "measures their scale."
#define PROBLEM_REFINEMENT_TEXT \
  "how an inner iteration in lower precision is corrected: reliable updates, or restarts"
#define PROBLEM_EVEN_ODD_TEXT \
  "form of the Schur complement that is solved on the even sites. none: solve on all sites."
#define PROBLEM_STOP_TEXT \
  "system whose residual --tol bounds: as posed (full), even-odd (schur), or the normal equations"
#define PROBLEM_TEMPORAL_TEXT                                                                  \
  "solve in temporal gauge, where the t links of all slices but one are 1. The links must be " \
  "SU(3) to within --tol."
#define PROBLEM_SET_TEXT                                                                       \
  "further solver options: delta (drop of the residual between corrections; 0: automatic), "   \
  "check_interval (iterations between checks of convergence by the host), subspace (of gcr), " \
  "relaxation (of mr and richardson), deflation (of cg: vector pairs that are kept against "   \
  "rounding near "                                                                             \
  "criticality; -1: automatic, 0: none)"
#define PROBLEM_PRECONDITIONER_TEXT                                                               \
  "preconditioner, with --method gcr. multigrid, which takes gcr by itself, pays for light "      \
  "quarks and many right-hand sides: its set-up takes as long as some solves. schwarz solves in " \
  "blocks, all at once, and sends nothing; sap solves in blocks in red-black order. "             \
  "async-schwarz uses neighbours' values as they arrive, so no two runs are alike."
#define PROBLEM_MULTIGRID_TEXT                                                                   \
  "details of multigrid: levels (2 to 4), setup (rounds), dense (most unknowns of a coarsest "   \
  "level that is inverted), seed; and on level L, from 0: block_L_x (also y, z, t), vectors_L, " \
  "smoother_L (gcr, mr, sap, async), steps_L (of the smoother), cycle_L (GCR steps with the "    \
  "level below; 1: a V-cycle), precision_L"
#define PROBLEM_BLOCK_TEXT                                                                        \
  "extents of a block, even divisors of the rank's part. 0 (default) in a direction: the block "  \
  "is the rank's part, and only hops between ranks are cut. A block as large as the rank's part " \
  "also cuts the hops around a single rank."

/* Rows of the option tables; their offsets count from a problem_args. */
extern const cli_option problem_rows[], problem_precond_rows[], problem_solver_rows[];
/* The same for a table of a command. AT(member): offset of a problem_args member in the command's
 * arguments. */
#define PROBLEM_ROWS(rows, AT) CLI_TABLE_ROW(rows, (AT(gauge)) - offsetof(problem_args, gauge))
#define PROBLEM_OPTIONS_PROBLEM(AT) PROBLEM_ROWS(problem_rows, AT)
#define PROBLEM_OPTIONS_PRECOND(AT) PROBLEM_ROWS(problem_precond_rows, AT)
#define PROBLEM_OPTIONS_SOLVER(AT) PROBLEM_ROWS(problem_solver_rows, AT), CLI_RANKS_OPTIONS

#endif
