/* relax.h - relaxation: Jacobi, Gauss-Seidel, SOR, two-stage and asynchronous iteration, as methods
 * of kaon_solver (kaon/solver.h: KAON_JACOBI to KAON_ASYNC); made into an operator, a solver with
 * tol = 0 is a preconditioner or smoother of max_iterations sweeps. What they take beyond
 * kaon_solver_options, what is known of them beforehand, and what they report afterwards.
 *
 * An iteration is a global sweep: each unknown is updated once, in two-stage and asynchronous
 * iteration `local_sweeps` times within its block. The residual that is watched and reported is
 * always that of one x, taken after all have written.
 *
 * Sources: Anzt, Tomov, Dongarra, Heuveline, A block-asynchronous relaxation method for graphics
 * processing units (2012); Strikwerda, Linear Algebra Appl. 253 (1997) 15 (asynchronous iterations
 * converge if the spectral radius of |B| is below 1, B = 1 - D^-1 A); Frommer, Szyld, J. Comput.
 * Appl. Math. 123 (2000) 201. */
#ifndef KAON_RELAX_H
#define KAON_RELAX_H

#include <kaon/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How blocks of KAON_ASYNC come to work.
 *   LAUNCH  each once an iteration, in any order, reading what the others have written so far; the
 *           residual is taken after each iteration
 *   FREE    each goes on by itself, with no barrier, at most `lag` iterations ahead of those that
 *           it reads, until all have done `stride` of them or the residual as they see it in
 *           passing is small enough; then the residual is taken. Not recorded on a device; as an
 *           operator (tol = 0) it is LAUNCH. On several ranks: see kaon_relax_exchange. */
typedef enum kaon_relax_driver { KAON_RELAX_LAUNCH, KAON_RELAX_FREE } kaon_relax_driver;

/* How KAON_ASYNC on several ranks comes by the rows of others. Anything but SYNC: as they arrive,
 * with no barrier between ranks, for up to `stride` iterations between two residuals, which are
 * taken synchronously, with either driver; each value comes with the iteration that it is of. All
 * ranks ask for the same.
 *   AUTO  SYNC with LAUNCH; with FREE the first there is of PUSH and AMC
 *   AMC   through memory of the host: windows of MPI 3, written and read by atomic accesses
 *   DC    a rank's new rows are copied into the others' memory behind each iteration (CUDA, one
 *         node: copy engines)
 *   DK    others read them where they are (one node: CUDA, over the links between devices; CPU:
 *         shared memory)
 *   PUSH  each block stores its new rows into the memory of all that read them (likewise)
 *   SYNC  by the products that take residuals, alone: between two of these a rank works on its own
 *         rows, one iteration with LAUNCH, `stride` with FREE
 * With faults a stretch ends where one begins or ends, and after four iterations at most, for the
 * monitor to look. As an operator (tol = 0) it is SYNC.
 * Source: Anzt and others (above), section 3.4, where x as a whole is in one memory. */
typedef enum kaon_relax_exchange {
  KAON_EXCHANGE_AUTO,
  KAON_EXCHANGE_AMC,
  KAON_EXCHANGE_DC,
  KAON_EXCHANGE_DK,
  KAON_EXCHANGE_PUSH,
  KAON_EXCHANGE_SYNC
} kaon_relax_exchange;

/* What is frozen: rows at random, rows that follow one another, or all of one rank. */
typedef enum kaon_fault_kind { KAON_FAULT_ROWS, KAON_FAULT_BLOCK, KAON_FAULT_RANK } kaon_fault_kind;

/* Faults of two-stage and asynchronous solves (tol > 0), for experiments. From iteration `begin` on
 * the rows in question are no longer updated; `recovery` iterations later they are given back. Bits
 * of x flip silently, each row's with probability flip_rate an iteration. The monitor sees
 * residuals alone: it raises an alarm where one grows or stops falling as it did before, and where
 * `repair` is set it then goes back to a copy of x (of every tenth iteration without alarm) or
 * gives frozen rows back. */
typedef struct kaon_fault_options {
  size_t size;
  int version;
  kaon_fault_kind kind;
  double share;             /* of the rows, 0 to 1; 0: none are frozen */
  int rank;                 /* RANK */
  int begin;                /* t0: iterations before the rows are frozen */
  int recovery;             /* t_r; 0: never, but by repair */
  double flip_rate;         /* 0 to 1 */
  int flip_begin, flip_end; /* iterations in which bits flip; end 0: always */
  int repair;
  uint64_t seed;
} kaon_fault_options;
#define KAON_FAULT_OPTIONS_INIT \
  { sizeof(kaon_fault_options), 1, KAON_FAULT_ROWS, 0.0, 0, 10, 0, 0.0, 0, 0, 1, 1 }

typedef struct kaon_relax_options {
  size_t size;
  int version;
  double omega;     /* SOR, and within blocks: factor of every update, in (0, 2) */
  double tau;       /* Jacobi, two-stage, asynchronous: x += tau D^-1 (b - A x); 1: none; 0: 2 /
                       (lambda_1 + lambda_n) of D^-1 A, by Lanczos, for Hermitian A > 0 */
  int by_colour;    /* GS, SOR: rows by colours, those of one at once; 0: in their order */
  int block;        /* two-stage, asynchronous: rows of a block, 1 to 1024 */
  int local_sweeps; /* Jacobi sweeps in a block an iteration */
  kaon_relax_driver driver;
  int lag;    /* FREE: 0 to 1000000 */
  int stride; /* FREE, and exchanges but SYNC: iterations at most between two residuals, 1 to 255 */
  int together;  /* LAUNCH on one rank: blocks at work at once; 0: CPU one, CUDA all that the device
                    holds. CPU: a thread reads for so many before it writes the first. CUDA: so many
                    thread blocks take blocks of rows as they get done */
  uint64_t seed; /* blocks begin in an order that changes with every iteration (CUDA: where
                    `together` is set); 0: as they stand */
  const kaon_fault_options *faults; /* NULL: none; copied */
  kaon_relax_exchange exchange;     /* several ranks */
  int rank_lag; /* iterations that a block may be ahead of other ranks' that it reads, from 0 on;
                   -1: no bound */
} kaon_relax_options;
#define KAON_RELAX_OPTIONS_INIT                                                                \
  {                                                                                            \
    sizeof(kaon_relax_options), 1, 1.0, 1.0, 0, 448, 5, KAON_RELAX_LAUNCH, 2, 128, 0, 0, NULL, \
        KAON_EXCHANGE_AUTO, -1                                                                 \
  }

/* What happened in a solver's last solve; of this rank. */
enum { KAON_RELAX_SHIFTS = 32 };
typedef struct kaon_relax_report {
  double tau;          /* that was used */
  int colours, levels; /* GS, SOR */
  int64_t blocks;      /* two-stage, asynchronous */
  /* ASYNC. A shift: the reader's number of iterations less that of the block it reads: 0 as in a
   * synchronous method, < 0 newer, > 0 older; those beyond +-32 count there. Noted twice: as the
   * reader begins, and when it has read what others have. What it read is no older than the first
   * says and as a rule, but for what a block has written of an iteration that it has not ended, no
   * newer than the second. */
  int64_t updates;                           /* iterations of single blocks, all columns */
  int64_t shifts[2 * KAON_RELAX_SHIFTS + 1]; /* [shift + 32] */
  int newest, oldest;                        /* smallest and largest shift seen */
  double asynchronous;                       /* share of reads with another shift than 0 */
  int64_t shifts_after[2 * KAON_RELAX_SHIFTS + 1];
  int newest_after;          /* smallest shift when the reader has read */
  double asynchronous_after; /* share of those other than 0 */
  int least, most;           /* iterations of the slowest and the fastest block */
  /* Several ranks: the exchange that was used, why it is another than was asked for ("": it is
   * not), and the shifts of reads of other ranks' blocks, of all ranks; they are not among the
   * above. */
  kaon_relax_exchange exchange;
  char exchange_note[160];
  int64_t rank_shifts[2 * KAON_RELAX_SHIFTS + 1];
  int rank_newest, rank_oldest;
  double rank_asynchronous;
  /* faults */
  int64_t frozen;             /* rows, all ranks */
  int frozen_at, restored_at; /* iteration; -1: not */
  int restored_by_monitor;
  int64_t flips;
  int alarms, first_alarm; /* and its iteration; -1: none */
  int rollbacks;
} kaon_relax_report;
/* Errors: ARGUMENT (no solver of these methods). Not collective. */
kaon_status kaon_solver_relaxation(const kaon_solver *solver, kaon_relax_report *report);

/* What decides whether relaxation converges: of D^-1 A and B = 1 - D^-1 A, D the diagonal of A. */
typedef struct kaon_spectrum {
  int hermitian;       /* A = A^H as products with noise tell, and positive definite or
                          semi-definite */
  double low, high;    /* of D^-1 A, by Lanczos; NaN where not hermitian. low = 0: A is singular,
                          to some roundings of its precision */
  double rho;          /* spectral radius of B: synchronous iteration converges below 1 */
  double rho_absolute; /* of |B|: so does asynchronous iteration; NaN where |A| is not offered */
  double tau;          /* 2 / (low + high), of a singular A with the smallest eigenvalue seen
                          besides its 0 in low's place; NaN */
  int steps;           /* products with A and |A| that were made */
  double
      most_absolute; /* no class of rows that read each other has a radius of |B| above this, as
                        far as its rows still count beside the largest ones; NaN as rho_absolute */
  double rho_error;  /* rho, of a singular A high - 1, may be larger by so much (than 1), as the
                        process' last steps tell */
  int indefinite;    /* A = A^H has a positive diagonal, but is not positive definite: D^-1 A has an
                        eigenvalue <= 0, so rho is 1 or more, and no damping helps */
} kaon_spectrum;
/* steps: of each process at most, so 3 steps + 3 products in all (0: 300; 2400 of |A|, which takes
 * more). An estimate. Where A is hermitian rho and rho_absolute are from below: below 1 alone they
 * promise nothing. Where it is indefinite rho is 1 or more. There and elsewhere rho is the growth
 * of vectors by powers of B, which few steps can overestimate, but never beyond most_absolute, the
 * bound of Collatz and Wielandt, max (|B| x)_i / x_i: below 1 it is certain. Collective. Errors:
 * ARGUMENT, UNSUPPORTED (A does not know its diagonal), SINGULAR, MEMORY, those of A. */
kaon_status kaon_spectrum_estimate(kaon_operator *A, int steps, kaon_spectrum *spectrum);

#ifdef __cplusplus
}
#endif
#endif
