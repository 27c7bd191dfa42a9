/* pass.h - a pass: one trip through vectors, the sums of its result, and what follows from them.
 *
 * A pass says which columns an operation works on, which products of its result y are summed into
 * slots, and which recurrence runs once the sums are complete, that is, cover all ranks. They are
 * complete before the next operation, unless the method says otherwise. It may BEGIN a sum, issue
 * work that does not need it, and then call kaon_pass_complete(). Or it may DEFER a sum: it then
 * shares the message of the next sum that is not deferred. The rest is decided in blas/pass.c, from
 * what kernels, operators and the backend offer: whether the operation's own kernel or a separate
 * one computes the sums, and how they reach the other ranks. */
#pragma once

#include <kaon/operator.h>

#include "lib/core/launch.h"

/* Slots that one kernel fills, and slots of a message: those of a kernel and deferred ones. */
enum { KAON_KERNEL_SLOTS = 64, KAON_DEFERRED_SLOTS = 6 };
enum { KAON_MESSAGE_SLOTS = KAON_KERNEL_SLOTS + KAON_DEFERRED_SLOTS };

/* Scalars of a batch of columns, in the context's memory (lib/math/steps/recurrence.h). The members
 * after `local` belong to blas/pass.c. */
typedef struct kaon_scalars {
  kaon_context *ctx;
  int columns;
  kaon_column_state *state; /* device memory */
  int local;                /* 1: sums are this rank's alone; nothing is sent */
  /* The slots whose sums are deferred or, if under_way, being sent. */
  int nslots, slots[KAON_MESSAGE_SLOTS];
  int under_way;
  double *message; /* their values, if the host sends them */
  kaon_deferred_sums deferred;
} kaon_scalars;

kaon_status kaon_scalars_create(kaon_context *ctx, int columns, kaon_scalars **scalars);
void kaon_scalars_destroy(kaon_scalars **scalars);
/* Borrows the context's own scalars for the sums of one call. Every column is open to
 * KAON_GATE_STEP. Slots may have any content; gates must stay as they are. They are made once,
 * since making them takes as long as a short sum. `scalars` is valid until the next borrow. Not for
 * backends with host_scalars. */
kaon_status kaon_scalars_borrow(kaon_context *ctx, int columns, kaon_scalars *scalars);
/* Drops deferred sums whose message was not sent because of a failure. */
static inline void kaon_scalars_drop_deferred(kaon_scalars *scalars) {
  if (!scalars->under_way) scalars->nslots = 0;
  scalars->deferred.left = 0;
}
/* Copy the states to and from the host. Only the loop runner's polls and services call them. */
kaon_status kaon_scalars_read(const kaon_scalars *scalars, kaon_column_state *host);
kaon_status kaon_scalars_write(kaon_scalars *scalars, const kaon_column_state *host);

/* ---- what a method writes ---- */

enum { KAON_SUM_NOW, KAON_SUM_BEGIN, KAON_SUM_DEFER };
typedef struct kaon_pass {
  kaon_scalars *scalars; /* NULL: all columns, no sums */
  int gate;              /* columns to work on */
  int norm;              /* slot for sum |y|^2, or KAON_NO_SLOT */
  int dot;               /* slot for sum conj(w) y, or KAON_NO_SLOT */
  const kaon_vector *w;  /* of y's space */
  int then;              /* recurrence that runs on each open column afterwards (DEFER: 0) */
  int sum;               /* KAON_SUM_... */
  /* DEFER: the operator whose next application makes the next sum that is not deferred, if there is
   * one. The slots may get their values only then, even on one rank. NULL: not known. */
  const kaon_operator *completed_by;
} kaon_pass;
#define KAON_PASS_INIT \
  { NULL, KAON_GATE_STEP, KAON_NO_SLOT, KAON_NO_SLOT, NULL, 0, KAON_SUM_NOW, NULL }

/* Completes a pass with KAON_SUM_BEGIN, which must have had a sum, as must the pass that completes
 * deferred ones. Work since then must not have needed the sums nor the
 * results of `then`. On columns that `then` closes it may or may not have run, depending on the
 * number of ranks, so nothing may depend on what it wrote there. A context has one begun sum at a
 * time. Collective. Errors: COMM. */
kaon_status kaon_pass_complete(const kaon_pass *pass);

/* The same gate without sums and recurrence, for all operations of a sequence except the last. */
kaon_pass kaon_pass_gate_only(const kaon_pass *pass);
/* Refuses sums without scalars (ARGUMENT) and scalars of another number of columns (SHAPE). NULL is
 * accepted. `name`: the function, for the message. */
kaon_status kaon_pass_check(const kaon_context *ctx, const char *name, const kaon_pass *pass,
                            int columns);

/* ---- what a function with kernels writes ----
 *   const kaon_kernel_sums sums = kaon_sums_for_kernel(y, pass, offers);
 *   launch a kernel with kaon_pass_gate(pass), sums.sum and sums.w
 *   return kaon_sums_after_kernel(&sums);
 * A function in which no kernel writes all of y ends with kaon_pass_sum_separately(y, pass). */

/* Sums of a kernel, from before its launch until after it. */
typedef struct kaon_kernel_sums {
  const kaon_vector *y;
  const kaon_pass *pass; /* NULL: no sums */
  int separate;          /* a kernel of its own computes the sums of y */
  kaon_sum sum;          /* for the kernel */
  kaon_view w;           /* the pass's w, if the kernel computes the dot product */
  int nslots, slots[KAON_KERNEL_SLOTS];
} kaon_kernel_sums;

kaon_gate kaon_pass_gate(const kaon_pass *pass); /* NULL, or without scalars: all columns */
/* The same for kernels that process the inner columns of v as columns of their own. */
kaon_gate kaon_pass_gate_inner(const kaon_pass *pass, const kaon_vector *v);
/* offers: what the kernel's table offers, as KAON_SUMS_ bits (lib/core/launch.h). Slot 0 of the
 * kernel's sums is for |y|^2, slot 1 for (w, y). */
kaon_kernel_sums kaon_sums_for_kernel(const kaon_vector *y, const kaon_pass *pass, int offers);
/* The same if the caller has filled slots, nslots and sum.slot. */
void kaon_sums_plan(kaon_kernel_sums *sums, int offers);
/* Collective if there are sums. Errors: COMM; ARGUMENT (more slots than a message holds); INTERNAL
 * (an earlier pass named another operator in completed_by). */
kaon_status kaon_sums_after_kernel(const kaon_kernel_sums *sums);
kaon_status kaon_pass_sum_separately(const kaon_vector *y, const kaon_pass *pass);
