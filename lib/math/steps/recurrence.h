/* recurrence.h - the per-column state of an iteration.
 * Common subset of C and CUDA C. A reduction that completes a recurrence's inputs runs it
 * (lib/math/steps/recurrences.h) for every gated column, on the CPU after its partial sums, on a GPU in
 * its last block; so a solver loop never asks the host for a number. */
#ifndef KAON_LIB_MATH_RECURRENCE_H
#define KAON_LIB_MATH_RECURRENCE_H

#include <math.h>
#include <stdint.h>

#include "lib/vector/layout.h"

enum { KAON_SLOTS = 624, KAON_NO_SLOT = -1, KAON_HISTORY = 256 };

/* Bits of kaon_column_state.gate; a kernel works on a column when (state.gate & its own mask) is
 * not 0. A column that waits carries SERVICE and some of the bits below it. */
enum {
  KAON_GATE_STEP = 1,    /* the column iterates */
  KAON_GATE_SERVICE = 2, /* the column waits, frozen, for the host: residual replacement, restart,
                            verification, end */
  KAON_GATE_SOLUTION = 4,    /* its inner solution is finite and is to be added */
  KAON_GATE_START = 8,   /* goes on with a fresh process */
  KAON_GATE_CONTINUE = 16, /* goes on with the old process and the replaced residual */
  KAON_GATE_FLUSH = 32,  /* beside STEP: its inner solution is due to be added to the outer one */
  KAON_GATE_VERIFY = 64, /* beside SERVICE: the chosen residual is to be recomputed */
  KAON_GATE_ANY = 127
};

/* A state is whole accesses of 16 bytes. */
#ifdef __cplusplus
#define KAON_SLOT_ALIGNED alignas(16)
#else
#define KAON_SLOT_ALIGNED _Alignas(16)
#endif

typedef struct kaon_column_state {
  KAON_SLOT_ALIGNED double slot[KAON_SLOTS]
                               [2]; /* complex scalars; lib/math/steps/recurrences.h names them */
  double history[KAON_HISTORY]; /* relative residual squared of iteration i at [i % KAON_HISTORY] */

  /* Stopping. `watched` is the residual norm squared that the recurrence knows, `true` the one that
   * the user chose, recomputed in the outer precision while the column waits. */
  double reference; /* |b|^2 in the chosen sense */
  double limit;     /* true / reference that counts as converged: tol^2 */
  double relative;  /* true / reference at the last verification */
  double threshold; /* watched residual squared at which the column asks to be verified */
  double scale;     /* watched times scale = true / reference, as of the last verification */
  double delta2;    /* replace the residual when watched < delta2 * peak; 0: never */
  double peak;      /* largest watched since the last replacement */
  double epsilon2;  /* unit roundoff squared of the inner precision */
  double drift;     /* true over recurrence |r|^2 at the last verification, less 1 */
  double lowest;    /* smallest watched since the last progress */
  double first;     /* true / reference at the start */
  double best;      /* the smallest so far */
  double mark;      /* at the last restart after a breakdown */
  double source;    /* |b|^2 of the user's b, where the host did not ask for it (start.h) */

  int32_t gate;       /* KAON_GATE_ bits; 0: finished */
  int32_t reason;     /* why it finished (kaon_stop_reason) or waits (KAON_WAIT_) */
  int32_t iterations; /* completed steps */
  int32_t aux;        /* the method's own counter (GCR: position in the cycle) */
  int32_t max_iterations;
  int32_t cycle;     /* GCR: steps of a cycle; 0: none */
  int32_t flags;     /* KAON_FLAG_ bits */
  int32_t updates;   /* residual replacements */
  int32_t lowest_at; /* iteration of `lowest` */
  int32_t stalls;    /* verifications in a row without progress */
  int32_t restarts;  /* after breakdowns */
  int32_t flush;     /* steps between additions of the inner solution to the outer one; 0: never */
  int32_t renewed;   /* iteration at which the inner process last began or went on */
  int32_t deflated;  /* services that worked beta out (kaon_cg_deflated) */
  int32_t trusted;   /* replacements whose chosen residual was not recomputed */
  int32_t period;    /* steps after which the residual is replaced anyway; 0: never */
  int32_t period_begin; /* from this iteration on */
  int32_t cause;        /* KAON_CAUSE_: what the recurrence last broke down at; 0: it did not */
  int32_t best_at;      /* WATCH: iteration of `best`, when it was last well below the one before */
  int32_t unknowns;     /* of the system, or the largest number there is */
} kaon_column_state;

#endif
