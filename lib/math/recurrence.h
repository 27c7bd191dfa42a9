/* recurrence.h - the per-column state of an iteration and the one place where its scalars advance.
 * Common subset of C and CUDA C. A reduction that completes a recurrence's inputs runs it for every
 * gated column, on the CPU after its partial sums, on a GPU in its last block; so a solver loop
 * never asks the host for a number. */
#ifndef KAON_LIB_MATH_RECURRENCE_H
#define KAON_LIB_MATH_RECURRENCE_H

#include <math.h>
#include <stdint.h>

#include "lib/layout.h"

enum { KAON_SLOTS = 64, KAON_NO_SLOT = -1, KAON_HISTORY = 256 };

/* Bits of kaon_column_state.gate; a kernel works on a column when (state.gate & its own mask) is
 * not 0. */
enum {
  KAON_GATE_STEP = 1, /* the column iterates */
  KAON_GATE_SERVICE =
      2, /* the column waits, frozen, for the host: reliable update, restart or verification */
  KAON_GATE_ANY = 3
};

typedef struct kaon_column_state {
  double slot[KAON_SLOTS][2];   /* complex scalars; the method's header names them */
  double history[KAON_HISTORY]; /* |residual|^2 of iteration i at [i % KAON_HISTORY] */
  int32_t gate;                 /* KAON_GATE_ bits; 0: finished */
  int32_t reason;               /* why it finished or waits: kaon_stop_reason, kaon_service */
  int32_t iterations;
  int32_t aux; /* the method's own counter (GCR: position in the cycle) */
} kaon_column_state;

#endif
