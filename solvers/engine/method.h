/* method.h - the private structure of a solver, and the table that a method fills in.
 *
 * A method is a table of short sequences of gated vector operations and operator applications. A
 * method never reads a value on the host: coefficients come from the device's scalars and sums go
 * back into them. lib/math/steps/recurrences.h computes one from the other. The runner (runner.c)
 * decides when a step is issued. The service (service.c) treats the columns that wait.
 *
 * A solve has two precisions:
 * - outer: system, outer.b, outer.x, outer.r;
 * - inner: inner, x_inner, r, work.
 * Where both are the same there is one x and one r: x_inner == outer.x, r == outer.r. */
#pragma once

#include <kaon/lab.h>
#include <kaon/solver.h>

#include "lib/cpu/clock.h"
#include "blas/blas.h"
#include "lib/math/steps/block_recurrences.h"
#include "lib/operator/null_space.h"
#include "solvers/engine/scaling.h"

enum { KAON_SOLVER_WORK = 2 * KAON_GCR_MAX };

/* Traits beside those of kaon/solver.h. */
enum {
  KAON_METHOD_DEFLATES = 1 << 16,  /* deflate.h */
  KAON_METHOD_LATE_NORM = 1 << 17, /* where A^dag r is monitored, |r|^2 is needed and summed only in
                                        `finish` */
  KAON_METHOD_KEEPS_NORM = 1 << 18, /* `renew` sends |r|^2 of a replaced residual with its first
                                        sum */
  KAON_METHOD_TAKES_DAGGER =
      1 << 19, /* `renew` reads A^dag r from chosen_r if knows_dagger is set */
  KAON_METHOD_FIXED_STEPS = 1 << 20, /* with tol = 0 it makes at most `subspace` steps */
  KAON_METHOD_PUBLIC = (1 << 16) - 1
};

/* Inner vectors beside x and r. */
typedef struct kaon_method_storage {
  int vectors;
  int wide;              /* more, with the columns of x (kaon_solver.solutions) */
  int general, diagonal; /* more with a general K, and with a diagonal K */
  int per_direction;     /* more for each direction of the subspace */
  /* work[scratch] holds the chosen residual during a service, if both precisions are the same. Its
   * old content must not be needed after `finish`. */
  int scratch;
} kaon_method_storage;

/* Applications of A, or of K. */
typedef struct kaon_method_calls {
  int step, start, proceed, finish; /* `proceed`: continue_process; `finish`: in a service */
  /* Of `step`: skipped when the step freezes its column, unless A^dag r is monitored. */
  int saved;
  /* Of `step`: between begin and completion of its last sum. On one rank the sum is complete before
   * them, so a step that freezes its column skips them. */
  int hidden;
} kaon_method_calls;

/* When residuals are replaced, where options do not say; by inner precision. */
typedef struct kaon_method_replacement {
  double delta[KAON_PRECISIONS], delta_restart[KAON_PRECISIONS];
  /* Steps after which the residual is replaced in any case, since recurrences drift while r does
   * not drop. */
  int period[KAON_PRECISIONS];
  double delta_alone; /* where both precisions are the same. 0: no replacement, r does not drift
                         enough to matter */
} kaon_method_replacement;

typedef struct kaon_method_ops kaon_method_ops;
struct kaon_method_ops {
  const char *title, *option; /* kaon_method_info */
  unsigned traits;            /* bits of kaon_method_trait and those above */
  kaon_method_storage storage;
  kaon_method_calls products, preconditions;
  /* As in kaon_method_info: without K, with K, with a diagonal K. */
  kaon_method_cost cost[3];
  kaon_method_replacement replacement;
  unsigned flags;                /* bits KAON_FLAG_... of its columns */
  const kaon_method_ops *normal; /* the same for any A, on A^dag A; NULL: none */
  /* One step; position counts from 0 within a cycle. Gate STEP. */
  kaon_status (*step)(kaon_solver *s, int position);
  /* r is new: restart the Krylov process. Gate START. NULL: there is nothing to do. */
  kaon_status (*start)(kaon_solver *s);
  /* r was replaced: continue the process. Gate CONTINUE. NULL, as before. */
  kaon_status (*continue_process)(kaon_solver *s);
  /* Both in one sequence of gate KAON_GATE_RENEW. Its last kernel must run KAON_REC_RESUME. NULL:
   * start, then continue_process. */
  kaon_status (*renew)(kaon_solver *s);
  /* Adds the updates of x that the method defers, for the columns of `gate`. NULL: it defers
   * none. */
  kaon_status (*finish)(kaon_solver *s, int gate);
};

/* cg.c: for methods whose x += alpha p is one step late, and for those that also have its p, A p
 * and K r. work[0] is p. */
kaon_status kaon_finish_late(kaon_solver *s, int gate);
kaon_status kaon_start_cg(kaon_solver *s);
kaon_status kaon_renew_cg(kaon_solver *s);

#define KAON_X(value, descriptor, name, purpose) \
  extern const kaon_method_ops kaon_method_##descriptor;
KAON_METHOD_LIST(KAON_X)
#undef KAON_X

/* methods.c: the descriptor of a method (NULL: there is none), and its name. */
const kaon_method_ops *kaon_method_find(kaon_method method);
const char *kaon_method_name(kaon_method method);
static inline int kaon_method_has(const kaon_method_ops *m, unsigned trait) {
  return (m->traits & trait) != 0;
}

/* One column's residuals by iteration. count: entries read from the device's ring so far. */
typedef struct kaon_column_history {
  double *residual;
  int count, room;
} kaon_column_history;

/* The state that a recording is valid for. */
typedef struct kaon_recorded {
  kaon_view b, x;
  uint64_t given;   /* blocks released to the pool until then */
  uint64_t tunings; /* tables of launch choices set until then: a recorded launch is not re-tuned */
  int reduces, block;
  kaon_issue form; /* AUTO: there is no recording */
} kaon_recorded;

/* The inner process. */
typedef struct kaon_solver_process {
  int mixed; /* the inner precision differs from the outer */
  int cycle; /* steps of a cycle, in which columns stay in lockstep; 0: none */
  int flush; /* steps between additions of x_inner to x; 0: only in services */
  int nwork;
  double delta;
  double damping; /* of MR and RICHARDSON */
  int unknowns;               /* kaon_column_state */
  double sites, parent_sites; /* of the vectors of the system and its parent, on all ranks */
  const kaon_vector *scaling; /* d, in the inner precision, if K x = d x component by component */
  /* Input and output of a preconditioner in another precision; else NULL. */
  kaon_vector *precond_input, *precond_output;
  int knows_dagger; /* chosen_r holds A^dag r of the residual just computed */
  /* Flops of one application to one column, summed over all ranks. sweep: of a step of relaxation,
   * in addition to these. */
  struct {
    double inner, outer, preconditioner, sweep;
  } flops;
  int counting; /* at creation: vectors are counted, not allocated */
  size_t bytes; /* counted bytes */
} kaon_solver_process;

/* The states of the columns. */
typedef struct kaon_solver_states {
  kaon_scalars *scalars;
  kaon_scalars *of_x;      /* of the columns of x: the same; of shifts: own ones behind them */
  kaon_column_state *host; /* host copies of both, for polls and services */
  kaon_scalars *sums;      /* norms before and after the run, every column open */
  kaon_column_state *sums_host;
  double *norm2, *norm2_full; /* |b|^2 of the system, of the user */
} kaon_solver_states;

/* Vectors in the outer precision. */
typedef struct kaon_solver_outer {
  const kaon_vector *b; /* set by a solve */
  kaon_vector *x;
  kaon_vector *r;
  /* A^dag r or the parent's residual. Valid only until its norm is computed, except in the first
   * service from x = 0. */
  kaon_vector *chosen_r;
  /* Storage, owned; NULL where another vector serves. */
  kaon_vector *own_b, *own_x;   /* source and solution of the reduced system */
  kaon_vector *user_b, *user_x; /* b and x in the outer precision, if A has another one */
  kaon_vector *full_r;          /* the parent's residual */
  kaon_vector *own_chosen_r, *own_x_inner;
} kaon_solver_outer;

/* The solve under way. */
typedef struct kaon_solver_solve_state {
  const kaon_vector *b; /* the user's vectors; scaled copies if b was scaled */
  kaon_vector *x;
  kaon_scaling units;
  int reduces;           /* b and x are of the parent's space (A is a reduction) */
  int from_zero;         /* x = 0 at the start in every column */
  int inverts;           /* the solver is used as an operator */
  int zero_guess;        /* the same as from_zero, until the first residual is computed */
  int ended_early;       /* the end was enqueued after the last step, before the poll */
  kaon_issue issued;     /* how its steps are issued */
  kaon_traffic repeated; /* traffic of its replays */
} kaon_solver_solve_state;

/* The slot of a product with a null vector. Otherwise only several shifts use it. */
enum { KAON_S_NULL = KAON_S_SIGMA };
/* The null space of A (null_space.c). */
typedef struct kaon_solver_null {
  int count;
  int is_left; /* A^dag has the same one */
  /* Orthonormal, in the outer precision, in every column; shadow: in the inner one, if a shadow
   * residual needs them, else NULL. */
  kaon_vector *vector[KAON_NULL_MOST], *shadow[KAON_NULL_MOST];
  double *unreachable; /* [column] size over |b| of b's part in the null space; 0: not known */
} kaon_solver_null;

typedef struct kaon_solver_history_state {
  kaon_column_history *column;
  int monitored; /* the ring is read at each poll (and the monitor called) */
} kaon_solver_history_state;

/* Recorded steps and services (replay.c). */
typedef struct kaon_solver_replay {
  kaon_recorder *recorder; /* NULL: the backend has no recorder */
  kaon_recorded recorded;
  int block;                         /* steps of a recorded block */
  kaon_traffic of_block, of_service; /* network traffic of a recorded block and service */
  int recording;           /* a service is being recorded: no value can be read on the host */
  int unrecordable;        /* recording failed */
  int unlisted;            /* recording failed in the forms that use kernel lists */
  double rate;             /* seconds a step, measured at the last polls; 0: not known */
  int ended_at_first_poll; /* the last solve had ended at its first poll */
} kaon_solver_replay;

/* Recorded begin and end of a solve, and solves of a single launch (solve_launch.c). */
typedef struct kaon_solver_launch {
  kaon_recorder *before_after, *first; /* recorded begin and end; recorded first service; or NULL */
  kaon_recorder *whole;                /* recording of the whole solve */
  kaon_scalars *prepared;              /* initial states of a single-launch solve; or NULL */
  kaon_recorded seen, ends;  /* the last solve's vectors; what the recordings are valid for */
  kaon_traffic of_begin_end; /* traffic of the recorded begin, first service and end */
  int replays;               /* this solve replays the recorded begin and end */
  int single;                /* begin, loop and end are one launch */
  int has_whole;             /* `whole` is recorded; -1: recording it failed */
  int unrecordable;
} kaon_solver_launch;

struct kaon_solver {
  kaon_context *ctx;
  int references, at_work; /* at_work: kaon_begin_work */
  kaon_solver_options options;
  const kaon_method_ops *method;
  int columns;
  int solutions; /* columns of x for each column of b: 1, or the number of shifts */

  kaon_operator *A;        /* the user's */
  kaon_operator *system;   /* A, or its twin in double: for residuals and the outer solution */
  kaon_operator *inner;    /* system, A, or a sloppy twin: for the Krylov process */
  kaon_operator *K;        /* the preconditioner: the user's, or its twin in the inner precision */
  kaon_revision *revision; /* made of these; every solve begins with kaon_current() */
  kaon_vector *x_inner, *r;
  kaon_vector *work[KAON_SOLVER_WORK];

  kaon_solver_process process;
  kaon_solver_states states;
  kaon_solver_outer outer;
  kaon_solver_solve_state solve;
  kaon_solver_null null;
  kaon_solver_history_state history;
  kaon_solver_replay replay;
  kaon_solver_launch launch;
  struct kaon_deflation *deflation; /* deflate.h; NULL: none */
  struct kaon_relaxation *relax;    /* relaxation methods only (relax_internal.h); else NULL */
  struct kaon_multishift *shifts;   /* CG of several shifts only (shifted.h); else NULL */
};

/* Slots of the sums before and after the run:
 * - OF_B, OF_X: |b|^2 and |x|^2 of the user's vectors;
 * - OF_SOURCE: the square that residuals are relative to, if that is not |b|^2;
 * - OF_RESIDUAL: |r|^2 at the end;
 * - OF_CHOSEN: that of the chosen residual, if it is another one;
 * - OF_NULL: products of the system's source with null vectors, at the beginning. */
enum {
  KAON_OF_B = KAON_S_R2,
  KAON_OF_X = KAON_S_S2,
  KAON_OF_SOURCE = KAON_S_TRUE,
  KAON_OF_RESIDUAL = KAON_S_OUTER,
  KAON_OF_CHOSEN = KAON_OF_X,  /* |x|^2 is read only at the beginning */
  KAON_OF_NULL = KAON_S_METHOD /* and the next ones: (n, b) for each null vector n */
};

/* Columns that a service has verified and that continue. */
enum { KAON_GATE_RENEW = KAON_GATE_START | KAON_GATE_CONTINUE };

/* A pass that stores its result's norm in `slot` of s->states.sums. */
static inline kaon_pass kaon_solver_norm_pass(const kaon_solver *s, int slot) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = s->states.sums;
  pass.norm = slot;
  return pass;
}

/* norm2[k] = slot of column k. Needs s->states.sums_host, read by kaon_scalars_read. */
static inline void kaon_solver_take_norms(const kaon_solver *s, int slot, double *norm2) {
  for (int k = 0; k < s->columns; k++) norm2[k] = s->states.sums_host[k].slot[slot][0];
}

/* Gate and sums of one operation; slots or KAON_NO_SLOT. */
static inline kaon_pass kaon_gated(const kaon_solver *s, int gate) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = s->states.scalars;
  pass.gate = gate;
  return pass;
}

static inline kaon_pass kaon_gated_norm(const kaon_solver *s, int gate, int norm, int then) {
  kaon_pass pass = kaon_gated(s, gate);
  pass.norm = norm;
  pass.then = then;
  return pass;
}

/* Sum conj(w) y in addition to sum |y|^2. */
static inline kaon_pass kaon_gated_dot(const kaon_solver *s, int gate, int norm,
                                       const kaon_vector *w, int dot, int then) {
  kaon_pass pass = kaon_gated_norm(s, gate, norm, then);
  pass.w = w;
  pass.dot = dot;
  return pass;
}

/* runner.c: returns 1 if the host sees that no column is open to `gate`, so that nothing need be
 * issued. Returns 0 where reading the states from a device would cost more than it saves. */
int kaon_gate_closed(const kaon_solver *s, int gate);

static inline kaon_status kaon_method_start(kaon_solver *s) {
  return s->method->start != NULL ? s->method->start(s) : KAON_OK;
}

static inline kaon_status kaon_method_finish(kaon_solver *s, int gate) {
  return s->method->finish != NULL ? s->method->finish(s, gate) : KAON_OK;
}

static inline kaon_status kaon_recur(const kaon_solver *s, int gate, int then) {
  const kaon_pass pass = kaon_gated_norm(s, gate, KAON_NO_SLOT, then);
  return kaon_blas_recur(s->ctx, &pass);
}

/* precondition.c: z = K r, or K^dag r; a copy without a preconditioner. Sums as in an operator
 * application. */
kaon_status kaon_precondition(kaon_solver *s, kaon_mode mode, const kaon_vector *r, kaon_vector *z,
                              const kaon_pass *pass);

/* 1: the tolerance is for the parent's residual, and that one does not follow from the system's
 * residual (kaon_reduction.residual). */
static inline int kaon_solver_monitors_residual(const kaon_solver *s) {
  return s->options.stop == KAON_STOP_FULL && s->solve.reduces &&
         s->system->reduction->residual != NULL;
}

/* 1: the heavy-quark residual is that of the parent's system. */
static inline int kaon_solver_heavy_of_parent(const kaon_solver *s) {
  return s->options.heavy_quark_tol > 0 && s->options.stop == KAON_STOP_FULL && s->solve.reduces;
}

/* 1: a solve from x = 0 reuses A^dag b, computed for |A^dag b| and rounded once. It does not apply
 * the operator to b again. */
static inline int kaon_solver_takes_dagger(const kaon_solver *s) {
  return s->process.mixed && kaon_method_has(s->method, KAON_METHOD_TAKES_DAGGER) &&
         s->options.stop == KAON_STOP_NORMAL;
}

/* runner.c: everything between the first residual and the end of the last column. */
kaon_status kaon_runner_run(kaon_solver *s);
/* runner.c: the same after the first service: until no column is open. */
kaon_status kaon_runner_loop(kaon_solver *s);
/* runner.c: `steps` steps from the source s->outer.b (and s->outer.x unless zero_guess), without
 * verification. *cancelled becomes 1 if the monitor stopped the solve. */
kaon_status kaon_runner_fixed(kaon_solver *s, int steps, int *cancelled);
/* Number of steps of a solver with tol = 0. */
int kaon_solver_fixed_steps(const kaon_solver *s);

static inline kaon_traffic kaon_traffic_since(const kaon_context *ctx, const kaon_traffic *before) {
  const kaon_traffic *now = &ctx->comm->traffic;
  return (kaon_traffic){.sums = now->sums - before->sums,
                        .exchanges = now->exchanges - before->exchanges,
                        .bytes = now->bytes - before->bytes,
                        .hidden = now->hidden - before->hidden,
                        .ahead = now->ahead - before->ahead};
}

/* create_solver.c: makes a solver from complete options. shifts: of CG of several shifts, whose
 * states and vectors kaon_shifted_create adds; else NULL. Collective. */
kaon_status kaon_solver_make(kaon_operator *A, int columns, const kaon_solver_options *options,
                             struct kaon_multishift *shifts, kaon_solver **solver);

/* replay.c: steps of a recorded block: one cycle, or the steps between two flushes. */
int kaon_solver_block(const kaon_solver *s);

/* solve.c: sets the host's copies of all states to idle. */
void kaon_solver_idle(kaon_solver *s);
/* solve_begin.c.
 * check_vectors: refuses unsuitable vectors.
 * bind: sets s->outer.b and s->outer.x from s->solve.
 * begin: everything before the run. norm2_full = |b|^2 of the user's b, norm2 = that of the
 * system's source. */
kaon_status kaon_solver_check_vectors(const kaon_solver *s, const kaon_vector *b,
                                      const kaon_vector *x);
void kaon_solver_bind(kaon_solver *s);
kaon_status kaon_solver_begin(kaon_solver *s);
/* Enqueues what a solve does before its first wait (solve_begin.c) and after its last step
 * (solve.c). */
kaon_status kaon_solver_issue_begin(kaon_solver *s);
kaon_status kaon_solver_issue_end(kaon_solver *s);
/* solve_begin.c.
 * kaon_solver_issue_guess: computes the system's initial guess.
 * kaon_solver_source_slot: the slot of sums with the square of the source.
 * kaon_least_norm2: the |b|^2 below which b is refused as too small.
 * kaon_solver_norm_range: the |b|^2 of columns that are solved without scaling. */
kaon_status kaon_solver_issue_guess(kaon_solver *s);
int kaon_solver_source_slot(const kaon_solver *s);
double kaon_least_norm2(double tol);
kaon_norm_range kaon_solver_norm_range(const kaon_solver *s);
/* solve.c: fills the host's copies of the states, for sources with the squares in norm2. */
void kaon_solver_prepare_states(kaon_solver *s);
/* solve_launch.c: checks whether recordings exist for the vectors of this solve, or makes them
 * (s->launch.replays). Also decides whether it can be a single launch (s->launch.single). */
kaon_status kaon_solve_launch_prepare(kaon_solver *s);
/* solve_launch.c.
 * issue: enqueues a single-launch solve with up to `blocks` blocks of steps and a poll after it.
 * poll: takes the norms from the poll's result. *refused = 1: the solve must begin again in the
 * ordinary way. */
kaon_status kaon_solve_launch_issue(kaon_solver *s, int blocks);
void kaon_solve_launch_poll(kaon_solver *s, int *refused);
/* solve.c: where a recorded loop is expected to end soon, the end of the solve may be enqueued
 * before the host polls. If the loop continues, the end is enqueued again later. */
int kaon_solver_can_end_early(const kaon_solver *s);
kaon_status kaon_solver_end_early(kaon_solver *s);
/* solve.c: 1 if a single-launch solve has its end after the loop, run once no column is open. */
int kaon_solver_ends_behind(const kaon_solver *s);
/* 1: vectors of A's space are also those of the operator that A is a reduction of. */
static inline int kaon_reduces_within(const kaon_operator *A) {
  return A->reduction != NULL && A->reduction->parent->space == A->space;
}
/* 1: K is a solver on such a reduction, that is, an inverse of the parent. */
int kaon_inverts_within(const kaon_operator *K);
/* kaon_operator.exponent of the operator that b and x belong to: A, or its parent. */
static inline int kaon_solver_exponent(const kaon_solver *s, int reduces) {
  return reduces ? s->A->reduction->parent->exponent : s->A->exponent;
}
/* solve.c: x = approximately A'^-1 b from zero. Used by a solver that is an operator. */
kaon_status kaon_solver_invert(kaon_solver *s, const kaon_vector *b, kaon_vector *x);

/* service.c: verifies, replaces residuals and restarts, for all columns that wait. */
kaon_status kaon_service_run(kaon_solver *s);

/* null_space.c.
 * choose: asks A for its null space; fill: the vectors' values.
 * project: removes x's part in it, for the columns of `gate`.
 * project_shadow: the same for a residual of the adjoint system, whose part no step would remove.
 * issue_source: (n, b) into KAON_OF_NULL of s->states.sums. take_source: `unreachable` from them.
 * unreachable: of column k; 0: not known. ends: 1: it keeps the column above the tolerance. */
kaon_status kaon_null_choose(kaon_solver *s);
int kaon_null_has_shadow(const kaon_solver *s);
kaon_status kaon_null_fill(kaon_solver *s);
void kaon_null_destroy(kaon_solver *s);
kaon_status kaon_null_project(kaon_solver *s, int gate);
kaon_status kaon_null_project_shadow(kaon_solver *s, kaon_vector *shadow, int gate);
kaon_status kaon_null_issue_source(kaon_solver *s);
void kaon_null_take_source(kaon_solver *s);
double kaon_null_unreachable(const kaon_solver *s, int k);
int kaon_null_ends(const kaon_solver *s, int k);

/* history.c: reads new entries of the rings in s->states.host. *cancel becomes 1 if the monitor
 * stops the solve. */
kaon_status kaon_history_drain(kaon_solver *s, int *cancel);
void kaon_history_clear(kaon_solver *s);
kaon_status kaon_history_create(kaon_solver *s);
void kaon_history_destroy(kaon_solver *s);
