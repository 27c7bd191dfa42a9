/* shell.c - an application's function as an operator (kaon_operator_create_shell).
 *
 * The function knows neither gates nor sums. If columns are closed, it writes to a private vector
 * of the operator, whose open columns are then copied. Sums are computed afterwards.
 * To find out whether any column is open, the host must read the states, which cannot be recorded.
 * So a recording is refused before the function is called, and the solver enqueues its steps
 * directly. */
#include <stdlib.h>

#include <kaon/context.h>

#include "blas/blas.h"
#include "lib/operator/workspace.h"
#include "lib/core/options_table.h"

typedef struct shell {
  const kaon_space *space;
  kaon_shell_apply *apply;
  void *user;
  kaon_shell_options options;
  kaon_workspace *result;   /* used if columns are closed */
  kaon_column_state *state; /* host copies */
  int columns;              /* their capacity */
} shell;

static kaon_status get_states(kaon_operator *A, int columns) {
  shell *self = A->self;
  kaon_status status = KAON_OK;
  if (self->columns >= columns) return KAON_OK;
  kaon_column_state *state = realloc(self->state, (size_t)columns * sizeof *state);
  if (state == NULL)
    status =
        kaon_fail(A->ctx, KAON_ERR_MEMORY, "shell: out of host memory for %d columns", columns);
  KAON_TRY(kaon_agree(A->ctx, status));
  self->state = state;
  self->columns = columns;
  return KAON_OK;
}

static kaon_status work_of(kaon_operator *A, int columns, kaon_workspace **set) {
  shell *self = A->self;
  KAON_TRY(get_states(A, columns));
  return kaon_workspace_get(A, 1, columns, &self->result, set);
}

static kaon_status reserve(kaon_operator *A, kaon_mode mode, int columns) {
  kaon_workspace *unused;
  (void)mode;
  return work_of(A, columns, &unused);
}

static kaon_status called(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  const shell *self = A->self;
  /* completes x for the function; fails while steps are recorded */
  KAON_TRY(A->ctx->backend->memory->synchronise(A->ctx));
  kaon_error_clear(A->ctx); /* an earlier message would be taken for the function's */
  const kaon_status status = self->apply(self->user, mode, x, y);
  if (status != KAON_OK && kaon_last_error(A->ctx)[0] == '\0')
    return kaon_fail(A->ctx, status, "shell: the application's function returned %s",
                     kaon_status_name(status));
  return status;
}

static kaon_status apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  shell *self = A->self;
  if (pass == NULL || pass->scalars == NULL) return called(A, mode, x, y);
  kaon_workspace *work;
  KAON_TRY(work_of(A, y->nrhs, &work));
  KAON_TRY(kaon_scalars_read(pass->scalars, self->state));
  int open = 0;
  for (int k = 0; k < y->nrhs; k++) open += (self->state[k].gate & pass->gate) != 0;
  if (open > 0 && open < y->nrhs) {
    const kaon_pass gate = kaon_pass_gate_only(pass);
    KAON_TRY(called(A, mode, x, work->vector[0]));
    KAON_TRY(kaon_blas_copy(work->vector[0], y, &gate));
  } else if (open > 0) {
    KAON_TRY(called(A, mode, x, y));
  }
  return kaon_pass_sum_separately(y, pass);
}

static kaon_status make(const kaon_space *space, const shell *like, kaon_operator **A);

static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const shell *self = A->self;
  shell like = *self;
  (void)reconstruct;
  *twin = NULL;
  if (!self->options.any_precision && precision != A->precision)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "shell: precision %d (0 double, 1 single) was asked for, but the function "
                     "accepts only %d; set any_precision if it accepts both",
                     (int)precision, (int)A->precision);
  like.options.precision = precision == KAON_HALF ? KAON_SINGLE : precision;
  return kaon_agree(A->ctx, make(A->space, &like, twin));
}

static kaon_cost cost(const kaon_operator *A, int columns) {
  const shell *self = A->self;
  (void)columns;
  return (kaon_cost){.flops = self->options.flops, .bytes = self->options.bytes};
}

static void destroy(kaon_operator *A) {
  shell *self = A->self;
  kaon_context *ctx = A->ctx;
  kaon_workspace_free(&self->result);
  free(self->state);
  kaon_space_release(self->space);
  free(self);
  free(A);
  kaon_context_release(ctx);
}

static const kaon_operator_ops shell_ops = {.name = "shell",
                                            .apply = apply,
                                            .twin = make_twin,
                                            .reserve = reserve,
                                            .cost = cost,
                                            .destroy = destroy};

static kaon_status make(const kaon_space *space, const shell *like, kaon_operator **A) {
  kaon_operator *made = calloc(1, sizeof *made);
  shell *self = calloc(1, sizeof *self);
  if (made == NULL || self == NULL) {
    free(made);
    free(self);
    return kaon_fail(space->ctx, KAON_ERR_MEMORY, "shell: out of host memory");
  }
  *self = (shell){.space = space, .apply = like->apply, .user = like->user};
  self->options = like->options;
  *made = (kaon_operator){.ops = &shell_ops,
                          .ctx = space->ctx,
                          .space = space,
                          .precision = like->options.precision,
                          .references = 1,
                          .self = self};
  kaon_context_retain(space->ctx);
  kaon_space_retain(space);
  *A = made;
  return KAON_OK;
}

kaon_status kaon_operator_create_shell(const kaon_space *space, kaon_shell_apply *function,
                                       void *user, const kaon_shell_options *options,
                                       kaon_operator **A) {
  kaon_shell_options own;
  if (A != NULL) *A = NULL;
  if (space == NULL || function == NULL || A == NULL)
    return kaon_fail(space != NULL ? space->ctx : NULL, KAON_ERR_ARGUMENT,
                     "shell: the space, the function and the address of the result are needed");
  if (kaon_options_take(KAON_OPTIONS_SHELL, options, &own) != KAON_OK)
    return kaon_fail(space->ctx, KAON_ERR_ARGUMENT, "%s", kaon_last_error(NULL));
  if (own.precision == KAON_HALF)
    return kaon_fail(space->ctx, KAON_ERR_UNSUPPORTED,
                     "shell: functions cannot take vectors in half precision; use single");
  const shell like = {.apply = function, .user = user, .options = own};
  return kaon_agree(space->ctx, make(space, &like, A));
}
