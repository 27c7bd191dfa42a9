/* recurrence.h - the state of one column of an iteration. Common subset of C and CUDA C.
 * The reduction that completes the inputs of a recurrence runs it (recurrences.h) for every gated
 * column. The CPU does so after its partial sums, a GPU in its last block. So a solver loop never
 * reads a scalar on the host. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "lib/vector/layout.h"

enum { KAON_SLOTS = 624, KAON_NO_SLOT = -1, KAON_HISTORY = 256 };

/* Bits of kaon_column_state.gate. A kernel works on a column if (state.gate & mask) is not 0, where
 * mask is an argument of the kernel. A waiting column has SERVICE and some of the bits after it. */
enum {
  KAON_GATE_STEP = 1,      /* the column iterates */
  KAON_GATE_SERVICE = 2,   /* the column waits for the host: residual replacement, restart,
                          * verification or end */
  KAON_GATE_SOLUTION = 4,  /* its inner solution is finite and is to be added */
  KAON_GATE_START = 8,     /* restarts the Krylov process */
  KAON_GATE_CONTINUE = 16, /* continues the old process with the replaced residual */
  KAON_GATE_FLUSH = 32,    /* with STEP: the inner solution is due to be added to the outer one */
  KAON_GATE_VERIFY = 64,   /* with SERVICE: the chosen residual is to be recomputed */
  KAON_GATE_ANY = 127
};

/* Aligned so that a state can be copied in accesses of 16 bytes. */
#ifdef __cplusplus
#define KAON_SLOT_ALIGNED alignas(16)
#else
#define KAON_SLOT_ALIGNED _Alignas(16)
#endif

typedef struct kaon_column_state {
  KAON_SLOT_ALIGNED double slot[KAON_SLOTS][2]; /* complex scalars, named in recurrences.h */
  double history[KAON_HISTORY]; /* relative squared residual of iteration i at [i % KAON_HISTORY] */

  /* Stopping. `watched` is the squared residual norm that the recurrence knows. `true` is the one
   * that the user chose, recomputed in the outer precision while the column waits. */
  double reference; /* |b|^2 in the chosen sense */
  double limit;     /* true / reference below which the column has converged: tol^2 */
  double relative;  /* true / reference at the last verification */
  double threshold; /* value of watched at which the column requests verification */
  double scale;     /* watched times scale = true / reference, set at the last verification */
  double delta2;    /* replace the residual when watched < delta2 * peak; 0: never */
  double peak;      /* largest watched since the last replacement */
  double epsilon2;  /* unit roundoff squared of the inner precision */
  double drift;     /* true |r|^2 over that of the recurrence, less 1, at the last verification */
  double lowest;    /* smallest watched since the last progress */
  double first;     /* true / reference at the start */
  double best;      /* smallest true / reference so far */
  double mark;      /* true / reference at the last restart after a breakdown */
  double source;    /* |b|^2 of the user's b, if the host did not read it (start.h) */

  int32_t gate;       /* KAON_GATE_ bits; 0: finished */
  int32_t reason;     /* why it finished (kaon_stop_reason) or waits (KAON_WAIT_) */
  int32_t iterations; /* completed steps */
  int32_t aux;        /* a counter of the method (GCR: position in the cycle) */
  int32_t max_iterations;
  int32_t cycle;     /* GCR: steps in a cycle; 0: no cycles */
  int32_t flags;     /* KAON_FLAG_ bits */
  int32_t updates;   /* residual replacements */
  int32_t lowest_at; /* iteration of `lowest` */
  int32_t stalls;    /* verifications in a row without progress */
  int32_t restarts;  /* number of restarts after breakdowns */
  int32_t flush;     /* steps between additions of the inner solution to the outer one; 0: never */
  int32_t renewed;   /* iteration at which the inner process last restarted or continued */
  int32_t deflated;  /* services that computed beta by deflation (kaon_cg_deflated) */
  int32_t trusted;   /* replacements that did not recompute the chosen residual */
  int32_t period;    /* steps after which the residual is replaced in any case; 0: never */
  int32_t period_begin; /* first iteration to which `period` applies */
  int32_t cause;        /* KAON_CAUSE_ of the last breakdown; 0: none */
  int32_t best_at;      /* MONITOR: iteration at which `best` last improved clearly */
  int32_t unknowns;     /* unknowns of the system, or INT32_MAX if there are more */

  /* The heavy-quark residual (kaon_rec_heavy). */
  double heavy2;       /* its square at the last verification */
  double heavy_limit2; /* the largest square at which the column may converge; 0: any */
  double heavy_sites;  /* sites that it is the mean over */
} kaon_column_state;
