/* method.h - the inside of a solver, and what a method must bring.
 *
 * A method is a table of four short sequences of gated vector operations and operator applications.
 * None of them asks for a number: coefficients come from the scalars, sums go back into them, and
 * lib/math/steps/recurrences.h turns one into the other. The runner (runner.c) decides when a step is
 * issued, the service (service.c) what happens to columns that wait.
 *
 * Two precisions: the outer one (system, b, x, outer_r) and the inner one (inner, x_inner, r,
 * work). Where both are the same there is one x and one r: x_inner == x, r == outer_r. */
#ifndef KAON_SOLVERS_METHOD_H
#define KAON_SOLVERS_METHOD_H

#include <kaon/lab.h>
#include <kaon/solver.h>

#include "blas/blas.h"
#include "lib/math/steps/block_recurrences.h"
#include "solvers/engine/scaling.h"

enum { KAON_SOLVER_WORK = 2 * KAON_GCR_MAX };

/* Whose error deflation makes least (deflate.h): in the norm of A, or the residual. */
enum { KAON_DEFLATES_NOT, KAON_DEFLATES_ERROR, KAON_DEFLATES_RESIDUAL };

typedef struct kaon_method_ops {
  const char *name;
  int vectors;             /* inner vectors beside x and r */
  int preconditioned;      /* 1: takes a preconditioner K, with these vectors more: */
  int extra, extra_scaled; /* where K is any operator, and where it multiplies by a vector */
  int per_direction;       /* and so many for each direction of the subspace */
  int scratch;      /* work[scratch] holds a service's chosen residual where both precisions are
                       one: what it held before is needed neither after `finish` nor later */
  int applications; /* of the operator in a step */
  int applications_at_start;     /* of the operator in start */
  int applications_at_continue;    /* and in inject */
  int saved;        /* not made in a step that freezes its column (unless A^dag r is watched) */
  int hidden;       /* made between the two halves of a step's last sum: on one rank, where the sum
                       ends first, not in a step that freezes its column */
  int precond_calls, precond_calls_at_start,
      precond_calls_at_continue; /* applications of K, likewise; precond_calls_at_finish: and */
  int precond_calls_at_finish; /* once a service */
  int no_half;         /* its recurrences do not bear a process in half precision */
  int late_norm;       /* where A^dag r is watched, finish sums |r|^2, which is not needed before */
  int keeps_norm;      /* renew sends |r|^2 of a replaced residual with its first sum */
  int takes_dagger;    /* renew takes A^dag r from chosen_r where knows_dagger says so */
  int fused;           /* its updates are entries of their own, composed of nothing else */
  int dagger;          /* applies A^dagger, and K^dagger */
  int relaxes;  /* a relaxation: s->relax is made; r is recomputed from x_inner in each step */
  int deflates; /* KAON_DEFLATES_ */
  int block;    /* columns are joined: they step, wait and go on as one */
  double delta[KAON_PRECISIONS];         /* by rule: reliable updates with this inner precision */
  double delta_restart[KAON_PRECISIONS]; /* by rule: restarted refinement */
  int period[KAON_PRECISIONS]; /* by inner precision: steps after which the residual is replaced
                                  anyway, as what follows recurrences drifts while r does not drop
                                */
  double delta_alone; /* by rule: where both precisions are one; 0: no replacement, r does not drift
                         enough to matter */
  /* One step; position counts from 0 within a cycle. Gate STEP. */
  kaon_status (*step)(kaon_solver *s, int position);
  /* r is new: a fresh process. Gate START. */
  kaon_status (*start)(kaon_solver *s);
  /* r was replaced: the process goes on. Gate INJECT. */
  kaon_status (*continue_process)(kaon_solver *s);
  /* Both in one sequence of gate KAON_GATE_RENEW, which ends with KAON_REC_RESUME in its last kernel;
   * NULL: start, then inject. */
  kaon_status (*renew)(kaon_solver *s);
  /* Updates of x that the method defers, for the columns of `gate`. */
  kaon_status (*finish)(kaon_solver *s, int gate);
} kaon_method_ops;

/* For methods that keep nothing between steps and defer no update. */
kaon_status kaon_start_nothing(kaon_solver *s);
kaon_status kaon_finish_nothing(kaon_solver *s, int gate);

extern const kaon_method_ops kaon_method_cg, kaon_method_cgnr, kaon_method_cgne,
    kaon_method_bicgstab, kaon_method_mr, kaon_method_gcr, kaon_method_blockcg,
    kaon_method_blockcgnr, kaon_method_pipecg, kaon_method_pipecgnr, kaon_method_pipebicgstab,
    kaon_method_bicg, kaon_method_rbicgstab, kaon_method_groppcg, kaon_method_chrongear,
    kaon_method_jacobi, kaon_method_gs, kaon_method_sor, kaon_method_two_stage, kaon_method_async,
    kaon_method_richardson;

/* One column's residuals by iteration, and how much of the device's ring has been taken. */
typedef struct kaon_column_history {
  double *residual;
  int count, room;
} kaon_column_history;

/* What a recording holds for. */
typedef struct kaon_recorded {
  kaon_view b, x;
  uint64_t given;   /* blocks given back to the pool by then */
  uint64_t tunings; /* and tables of launch choices set: a recorded launch keeps its shape */
  int reduces, block;
  kaon_issue form; /* AUTO: there is none */
} kaon_recorded;

struct kaon_solver {
  kaon_context *ctx;
  kaon_solver_options options;
  const kaon_method_ops *method;
  int columns;
  /* of an application to one column, of all ranks together, whose parts may be unequal */
  struct {
    double inner, outer, preconditioner, sweep; /* sweep: of a relaxation's step, beside these */
  } flops;
  int unknowns; /* kaon_column_state */
  int cycle;    /* steps of a cycle in which columns stay in lockstep; 0: none */
  int flush;    /* steps between additions of x_inner to x; 0: only in services */
  double delta;

  kaon_operator *A;      /* the user's; not owned */
  kaon_operator *system; /* A, or its twin in double: residuals and the outer solution */
  kaon_operator *inner;  /* system, A, or a sloppy twin: the Krylov process */
  int mixed;             /* inner precision differs from the outer */
  kaon_operator *K;      /* the preconditioner: the user's, or its twin in the inner precision */
  const kaon_vector *scaling; /* K x = d x component by component, in the inner precision: d */
  int reduces;                /* this solve's b and x are of the space that A is a reduction of */
  int from_zero;              /* x = 0 at the start in every column */
  int zero_guess;             /* the same until the first residual is taken */
  int knows_dagger;           /* chosen_r is A^dag r of the residual that has just been taken */

  kaon_scalars *scalars;
  kaon_column_state *host; /* copies, for looks and services */
  kaon_scalars *sums;      /* norms before and after the run, every column open */
  kaon_column_state *sums_host;
  double *norm2, *norm2_full; /* of the sources: of the system's, of the user's */

  const kaon_vector *b; /* outer; set by a solve */
  kaon_vector *x;
  kaon_vector *outer_r, *chosen_r; /* chosen_r: A^dag r or the parent's residual, squared and, but
                                      at the first service from 0, forgotten */
  kaon_vector *x_inner, *r;
  kaon_vector *work[KAON_SOLVER_WORK];
  int nwork;
  kaon_vector *precond_input, *precond_output; /* what goes into a preconditioner of another precision, and comes out
                                of it; else NULL */

  /* owned storage behind the pointers above; NULL where another vector serves */
  kaon_vector *own_b, *own_x;   /* reduced source and solution */
  kaon_vector *user_b, *user_x; /* b and x in the outer precision where A is not */
  kaon_vector *full_r;          /* the parent's residual */
  kaon_vector *own_chosen_r, *own_x_inner;

  struct kaon_deflation *deflation; /* deflate.h; NULL: none */
  struct kaon_relaxation *relax;    /* of relaxation methods (relax.h); else NULL */

  int counting; /* vectors are counted, not made */
  size_t bytes; /* that they will take */

  kaon_column_history *history;
  int monitored; /* history is drained (and the monitor called) */

  const kaon_vector *end_b; /* the user's, for the end of the solve; b may be scaled, then x is */
  kaon_vector *end_x;
  kaon_scaling units;
  int ended_early;                     /* the end was queued behind the last step */
  kaon_recorder *before_after, *first; /* of begin and end, of the first service; or NULL */
  kaon_recorder *whole;                /* of all of a solve (all in solve_launch.c) */
  kaon_scalars *prepared;              /* states that a solve in one go begins with; or NULL */
  kaon_recorded seen, ends;            /* the last solve's vectors; what the recordings hold for */
  int replays_begin_end;                    /* in this solve */
  int single_launch;                        /* it is issued in one go (solve_launch.c) */
  int has_whole;                       /* whole is recorded; -1: tried in vain */
  int begin_end_unrecordable;

  kaon_recorder *recorder; /* of steps and services; NULL: the machine offers none */
  kaon_recorded recorded;
  int block;                         /* steps of a recorded block */
  kaon_traffic of_block, of_service; /* what a recorded block and service ask of the network */
  kaon_traffic of_begin_end;              /* and recorded begin, first service and end (solve_launch.c) */
  kaon_traffic repeated;             /* and what the device has asked in this solve, see replay.c */
  int recording;                     /* a service is: numbers cannot be asked for */
  int unrecordable;                  /* tried in vain */
  int unlisted;                      /* so were the forms that go through lists of kernels */
  double rate;                       /* seconds a step, as the last looks saw it; 0: not known */
  int ended_at_first_poll;                         /* the last solve was over at the first look */
  kaon_issue issued;                 /* how this solve's steps are */
};

/* Slots of sums: squares of the user's b and x, of what residuals are relative to, where that is
 * not b, of the residual at the end, and of the chosen one, where that is another. */
enum {
  KAON_OF_B = KAON_S_R2,
  KAON_OF_X = KAON_S_S2,
  KAON_OF_SOURCE = KAON_S_TRUE,
  KAON_OF_RESIDUAL = KAON_S_OUTER,
  KAON_OF_CHOSEN = KAON_OF_X /* of which nobody asks behind the beginning */
};

/* Columns that a service has verified and that go on. */
enum { KAON_GATE_RENEW = KAON_GATE_START | KAON_GATE_CONTINUE };

/* For a pass that leaves its result's norm there as it goes. */
static inline kaon_pass kaon_solver_norm_pass(const kaon_solver *s, int slot) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = s->sums;
  pass.norm = slot;
  return pass;
}

/* norm2[k] = what was asked for; the host waits in kaon_scalars_read. */
static inline void kaon_solver_take_norms(const kaon_solver *s, int slot, double *norm2) {
  for (int k = 0; k < s->columns; k++) norm2[k] = s->sums_host[k].slot[slot][0];
}

/* Gate and sums of one operation; slots or KAON_NO_SLOT. */
static inline kaon_pass kaon_gated(const kaon_solver *s, int gate) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = s->scalars;
  pass.gate = gate;
  return pass;
}

static inline kaon_pass kaon_gated_norm(const kaon_solver *s, int gate, int norm, int then) {
  kaon_pass pass = kaon_gated(s, gate);
  pass.norm = norm;
  pass.then = then;
  return pass;
}

/* sum conj(w) y beside sum |y|^2 */
static inline kaon_pass kaon_gated_dot(const kaon_solver *s, int gate, int norm,
                                       const kaon_vector *w, int dot, int then) {
  kaon_pass pass = kaon_gated_norm(s, gate, norm, then);
  pass.w = w;
  pass.dot = dot;
  return pass;
}

/* runner.c: 1: the host sees that no column is open to `gate`, so that nothing need be issued; 0
 * where to ask a device would cost more than it saves. */
int kaon_gate_closed(const kaon_solver *s, int gate);
/* The same of any states; host: room for a copy of theirs. */
int kaon_states_closed(const kaon_scalars *scalars, kaon_column_state *host, int gate);

static inline kaon_status kaon_recur(const kaon_solver *s, int gate, int then) {
  const kaon_pass pass = kaon_gated_norm(s, gate, KAON_NO_SLOT, then);
  return kaon_blas_recur(s->ctx, &pass);
}

/* precondition.c: z = K r, or K^dag r; without a preconditioner a copy. Sums as by an operator. */
kaon_status kaon_precondition(kaon_solver *s, kaon_mode mode, const kaon_vector *r, kaon_vector *z,
                              const kaon_pass *pass);

/* 1: the residual that the tolerance is for is the parent's, and does not follow from the system's
 * (kaon_reduction.residual). */
static inline int kaon_solver_monitors_residual(const kaon_solver *s) {
  return s->options.stop == KAON_STOP_FULL && s->reduces && s->system->reduction->residual != NULL;
}

/* 1: a solve from 0 begins with A^dag b as it was worked out for |A^dag b|, once rounded, and
 * applies nothing to b again. */
static inline int kaon_solver_takes_dagger(const kaon_solver *s) {
  return s->mixed && s->method->takes_dagger && s->options.stop == KAON_STOP_NORMAL;
}

/* runner.c: everything between the first residual and the last column's end. */
kaon_status kaon_runner_run(kaon_solver *s);
/* runner.c: `steps` steps from the source s->b (and s->x unless zero_guess), unverified.
 * *cancelled becomes 1 where the monitor asked for the end. */
kaon_status kaon_runner_fixed(kaon_solver *s, int steps, int *cancelled);
/* Steps of a solver with tol = 0. */
int kaon_solver_fixed_steps(const kaon_solver *s);
/* runner.c: seconds of a clock that never goes back. */
double kaon_solver_clock(void);

static inline kaon_traffic kaon_traffic_since(const kaon_context *ctx, const kaon_traffic *before) {
  const kaon_traffic *now = &ctx->comm->traffic;
  return (kaon_traffic){.sums = now->sums - before->sums,
                        .exchanges = now->exchanges - before->exchanges,
                        .bytes = now->bytes - before->bytes,
                        .hidden = now->hidden - before->hidden,
                        .ahead = now->ahead - before->ahead};
}

/* replay.c: steps of a recorded block: a cycle, or from flush to flush. */
int kaon_solver_block(const kaon_solver *s);

/* solve.c: the host's copies of all states to their idle values. */
void kaon_solver_idle(kaon_solver *s);
/* solve_begin.c: what is refused; s->b and s->x from end_b and end_x; everything before the run, with the
 * squares of the user's b in norm2_full and of the system's source in norm2. */
kaon_status kaon_solver_check_vectors(const kaon_solver *s, const kaon_vector *b,
                                      const kaon_vector *x);
void kaon_solver_bind(kaon_solver *s);
kaon_status kaon_solver_begin(kaon_solver *s);
/* What a solve issues before its first wait (solve_begin.c), and after its last step (solve.c). */
kaon_status kaon_solver_issue_begin(kaon_solver *s);
kaon_status kaon_solver_issue_end(kaon_solver *s);
/* solve_begin.c: the system's guess; in which slot of sums the sources' squares are; |b|^2 below which b
 * is too small, and those that are solved for as they are. */
kaon_status kaon_solver_issue_guess(kaon_solver *s);
int kaon_solver_source_slot(const kaon_solver *s);
double kaon_least_norm2(double tol);
kaon_norm_range kaon_solver_norm_range(const kaon_solver *s);
/* solve.c: the host's copies of states for sources whose squares are in norm2. */
void kaon_solver_prepare_states(kaon_solver *s);
/* solve_launch.c: finds out whether this solve (end_b, end_x, bound) has recordings of these, or makes them
 * (replays_begin_end), and whether it can be issued in one go (straight). */
kaon_status kaon_solve_launch_prepare(kaon_solver *s);
/* solve_launch.c: issues a solve that is straight, with up to so many blocks of steps, and a look behind
 * it; and, once that has come, takes norms from it: *refused where the solve has to be begun as
 * others are. */
kaon_status kaon_solve_launch_issue(kaon_solver *s, int blocks);
void kaon_solve_launch_poll(kaon_solver *s, int *refused);
/* solve.c: where a recorded loop is expected to be over soon, the end of the solve may be queued
 * behind it before the host looks. If the loop goes on, it is queued again later. */
int kaon_solver_can_end_early(const kaon_solver *s);
kaon_status kaon_solver_end_early(kaon_solver *s);
/* solve.c: a solve in one go has an end of its own behind the loop, once no column is open. */
int kaon_solver_ends_behind(const kaon_solver *s);
/* 1: vectors of A's space are those of the operator that A is a reduction of. */
static inline int kaon_reduces_within(const kaon_operator *A) {
  return A->reduction != NULL && A->reduction->parent->space == A->space;
}
/* 1: K is a solver on such a reduction, so an inverse of what is reduced. */
int kaon_inverts_within(const kaon_operator *K);
/* solve.c: x = approximately A^-1 b from zero; what the solver does as an operator. */
kaon_status kaon_solver_invert(kaon_solver *s, const kaon_vector *b, kaon_vector *x);

/* service.c: verifies, replaces residuals, restarts; for all columns that wait. */
kaon_status kaon_service_run(kaon_solver *s);

/* history.c: takes new entries of the rings in s->host; *cancel is set when the monitor says so. */
kaon_status kaon_history_drain(kaon_solver *s, int *cancel);
void kaon_history_clear(kaon_solver *s);
kaon_status kaon_history_create(kaon_solver *s);
void kaon_history_destroy(kaon_solver *s);

#endif
