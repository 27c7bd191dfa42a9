/* shell.c - an operator of the application (kaon_shell_create, kaon_operator_create_shell).
 *
 * The application's function knows neither gates nor sums. If columns are closed, it writes to a
 * private vector of the operator, whose open columns are then copied. Sums are computed afterwards.
 * To find out whether any column is open, the host must read the states, which cannot be recorded.
 * So a recording is refused before the function is called, and the solver enqueues its steps
 * directly. */
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>

#include "blas/blas.h"
#include "lib/core/options_table.h"
#include "lib/operator/pointwise.h"
#include "lib/operator/row_sweeps.h"
#include "lib/operator/workspace.h"
#include "lib/core/entry.h"

/* Shared by an operator and its twins. */
typedef struct application {
  int references;
  kaon_shell_methods methods;
  void *user;
  kaon_revision *revision; /* counts the calls of kaon_shell_changed() */
} application;

typedef struct shell {
  kaon_operator_ops ops; /* the methods that the application has */
  const void *capabilities[KAON_CAPABILITIES];
  application *application;
  kaon_shell_options options;
  const kaon_vector *factors;
  kaon_workspace *result[2]; /* by mode; used if columns are closed */
  kaon_column_state *state;  /* host copies */
  int columns;               /* their capacity */
} shell;

static shell *self_of(const kaon_operator *A) {
  return A->self;
}

/* The methods of the application, which get its pointer. */
static const kaon_shell_methods *methods_of(const kaon_operator *A) {
  return &self_of(A)->application->methods;
}

static void *user_of(const kaon_operator *A) {
  return self_of(A)->application->user;
}

/* Ends a call of one of the application's functions (kaon_callback_begin). Gives its status a
 * sentence, if it left none. `what` names the function. */
static kaon_status explain(const kaon_operator *A, int calls, const char *what,
                           kaon_status status) {
  kaon_callback_end(calls);
  if (status == KAON_OK || kaon_last_error(A->ctx)[0] != '\0') return status;
  return kaon_fail(A->ctx, status, "shell: the application's %s returned %s", what,
                   kaon_status_name(status));
}

/* ---- workspace ---- */

static kaon_status get_states(kaon_operator *A, int columns) {
  shell *self = self_of(A);
  kaon_status status = KAON_OK;
  if (self->columns >= columns) return KAON_OK;
  kaon_column_state *state = realloc(self->state, (size_t)columns * sizeof *state);
  if (state != NULL)
    self->state = state;
  else
    status =
        kaon_fail(A->ctx, KAON_ERR_MEMORY, "shell: out of host memory for %d columns", columns);
  KAON_TRY(kaon_agree(A->ctx, status));
  self->columns = columns;
  return KAON_OK;
}

static kaon_status work_of(kaon_operator *A, kaon_mode mode, int columns, kaon_workspace **set) {
  KAON_TRY(get_states(A, columns));
  return kaon_workspace_get(A, kaon_operator_to(A, mode), 1, columns, &self_of(A)->result[mode],
                            set);
}

static kaon_status reserve(kaon_operator *A, kaon_mode mode, int columns) {
  kaon_workspace *unused;
  KAON_TRY(work_of(A, mode, columns, &unused));
  if (methods_of(A)->reserve == NULL) return KAON_OK;
  const int calls = kaon_callback_begin();
  return kaon_agree(A->ctx, explain(A, calls, "function reserve",
                                    methods_of(A)->reserve(user_of(A), mode, columns)));
}

/* ---- an application ---- */

static kaon_status called(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  /* completes x for the function; fails while steps are recorded */
  KAON_TRY(A->ctx->backend->memory->synchronise(A->ctx));
  if (A->ctx->options.check) KAON_TRY(kaon_vector_poison(y));
  const int calls = kaon_callback_begin();
  return explain(A, calls, "function", methods_of(A)->apply(user_of(A), mode, x, y));
}

static kaon_status run(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                       const kaon_pass *pass) {
  shell *self = self_of(A);
  if (pass == NULL || pass->scalars == NULL) return called(A, mode, x, y);
  kaon_workspace *work;
  KAON_TRY(work_of(A, mode, y->nrhs, &work));
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

/* ---- operators made from it ---- */

static kaon_status make(const kaon_operator *like, kaon_precision precision, application *shared,
                        kaon_operator **A);

/* Checks an operator that the application made, and destroys it if it does not fit. */
static kaon_status check_made(const kaon_operator *A, int calls, const char *what,
                              kaon_precision precision, kaon_status status, kaon_operator **made) {
  status = explain(A, calls, what, status);
  if (status == KAON_OK && *made == NULL)
    status =
        kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "shell: the application's %s made no operator", what);
  if (status == KAON_OK && ((*made)->space != A->space || (*made)->range != A->range))
    status = kaon_fail(A->ctx, KAON_ERR_SHAPE,
                       "shell: the application's %s made an operator on other spaces than the "
                       "operator's; create it on the same kaon_space",
                       what);
  const int half_in_single =
      precision == KAON_HALF && status == KAON_OK && (*made)->precision == KAON_SINGLE;
  if (status == KAON_OK && (*made)->precision != precision && !half_in_single)
    status = kaon_fail(A->ctx, KAON_ERR_PRECISION,
                       "shell: the application's %s made an operator in precision %d, but %d (0 "
                       "double, 1 single, 2 half) was asked for",
                       what, (int)(*made)->precision, (int)precision);
  status = kaon_agree(A->ctx, status);
  if (status != KAON_OK) kaon_operator_destroy(made);
  return status;
}

static kaon_status make_twin(kaon_operator *A, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const shell *self = self_of(A);
  (void)reconstruct;
  *twin = NULL;
  if (methods_of(A)->twin != NULL) {
    const int calls = kaon_callback_begin();
    return check_made(A, calls, "function twin", precision,
                      methods_of(A)->twin(user_of(A), precision, twin), twin);
  }
  if (!self->options.any_precision && precision != A->precision)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "shell: precision %d (0 double, 1 single) was asked for, but the function "
                     "accepts only %d; set any_precision if it accepts both",
                     (int)precision, (int)A->precision);
  return make(A, precision == KAON_HALF ? KAON_SINGLE : precision, self->application, twin);
}

/* The rank is one block, and ranks take turns. */
static kaon_status local_part(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                              kaon_domains **domains) {
  const kaon_comm *comm = A->ctx->comm;
  const int32_t turn = comm->rank;
  *local = NULL;
  if (domains != NULL) *domains = NULL;
  for (int mu = 0; mu < 4; mu++)
    if (how->block[mu] != 0)
      return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                       "local part: blocks of %d x %d x %d x %d were asked for, but an operator of "
                       "the application has one block a rank; leave the extents 0",
                       how->block[0], how->block[1], how->block[2], how->block[3]);
  const int calls = kaon_callback_begin();
  KAON_TRY(check_made(A, calls, "function local", how->precision,
                      methods_of(A)->local(user_of(A), how->precision, local), local));
  if (domains == NULL) return KAON_OK;
  const kaon_status status =
      kaon_agree(A->ctx, kaon_domains_create(A->space, 1, NULL, NULL, &turn, comm->ranks, domains));
  if (status != KAON_OK) kaon_operator_destroy(local);
  return status;
}

static kaon_status diagonal(kaon_operator *A, kaon_vector *d) {
  const int calls = kaon_callback_begin();
  return kaon_agree(A->ctx,
                    explain(A, calls, "function diagonal", methods_of(A)->diagonal(user_of(A), d)));
}

static kaon_status absolute(kaon_operator *A, kaon_operator **made) {
  *made = NULL;
  const int calls = kaon_callback_begin();
  return check_made(A, calls, "function absolute", A->precision,
                    methods_of(A)->absolute(user_of(A), A->precision, made), made);
}

static const kaon_vector *factors(const kaon_operator *A) {
  return self_of(A)->factors;
}

static const kaon_absolute_values absolute_values = {absolute};
static const kaon_pointwise pointwise = {factors};

/* ---- creation ---- */

static kaon_cost cost(const kaon_operator *A, int columns) {
  const shell *self = self_of(A);
  (void)columns;
  return (kaon_cost){.flops = self->options.flops, .bytes = self->options.bytes};
}

static void release_application(application *gone) {
  if (--gone->references > 0) return;
  if (gone->methods.destroy != NULL) gone->methods.destroy(gone->user);
  kaon_revision_release(&gone->revision);
  free(gone);
}

static void destroy(kaon_operator *A) {
  shell *self = self_of(A);
  for (int mode = 0; mode < 2; mode++) kaon_workspace_free(&self->result[mode]);
  release_application(self->application);
  free(self->state);
  if (A->range != NULL) kaon_space_release(A->range);
  kaon_space_release(A->space);
}

static const kaon_operator_ops shell_ops = {.name = "shell",
                                            .apply = run,
                                            .twin = make_twin,
                                            .reserve = reserve,
                                            .cost = cost,
                                            .destroy = destroy};

/* Asks the application for the diagonal of a diagonal operator. */
static kaon_status take_factors(kaon_operator *A) {
  shell *self = self_of(A);
  if (methods_of(A)->factors == NULL) return KAON_OK;
  const int calls = kaon_callback_begin();
  kaon_status status = explain(A, calls, "function factors",
                               methods_of(A)->factors(user_of(A), A->precision, &self->factors));
  const kaon_vector *d = self->factors;
  if (status == KAON_OK &&
      (d == NULL || d->space != A->space || d->precision != A->precision || d->nrhs != 1))
    status = kaon_fail(A->ctx, KAON_ERR_SHAPE,
                       "shell: the application's function factors must give a vector of the "
                       "operator's space and precision with one column");
  return kaon_agree(A->ctx, status);
}

/* `like` has the spaces, the context and the options. */
static kaon_status allocate(const kaon_operator *like, kaon_precision precision,
                            application *shared, kaon_operator **A) {
  kaon_operator *made = kaon_operator_new(*like, sizeof(shell));
  if (made == NULL) return kaon_fail(like->ctx, KAON_ERR_MEMORY, "shell: out of host memory");
  shell *self = made->self;
  *self = (shell){.ops = shell_ops, .application = shared, .options = self_of(like)->options};
  const kaon_shell_methods *methods = &shared->methods;
  self->options.precision = precision;
  if (methods->local != NULL) self->ops.local = local_part;
  if (methods->diagonal != NULL) self->ops.diagonal = diagonal;
  if (methods->absolute != NULL) self->capabilities[KAON_CAPABILITY_ABSOLUTE] = &absolute_values;
  if (methods->factors != NULL) self->capabilities[KAON_CAPABILITY_POINTWISE] = &pointwise;
  self->ops.capabilities = self->capabilities;
  made->ops = &self->ops;
  made->precision = precision;
  made->revision = shared->revision;
  shared->references++;
  kaon_space_retain(made->space);
  if (made->range != NULL) kaon_space_retain(made->range);
  *A = made;
  return KAON_OK;
}

static kaon_status make(const kaon_operator *like, kaon_precision precision, application *shared,
                        kaon_operator **A) {
  kaon_status status = kaon_agree(like->ctx, allocate(like, precision, shared, A));
  if (status == KAON_OK) status = take_factors(*A);
  if (status != KAON_OK) kaon_operator_destroy(A);
  return status;
}

/* Smaller structs of older versions have fewer functions. */
static kaon_status take_methods(const kaon_space *space, const kaon_space *range,
                                const kaon_shell_methods *given, kaon_shell_methods *taken) {
  *taken = (kaon_shell_methods)KAON_SHELL_METHODS_INIT;
  if (given != NULL && given->size <= sizeof *taken) memcpy(taken, given, given->size);
  if (given == NULL || given->size > sizeof *taken || given->version != 1 || taken->apply == NULL)
    return kaon_fail(space->ctx, KAON_ERR_ARGUMENT,
                     "shell: a function apply is needed, in a struct that starts from "
                     "KAON_SHELL_METHODS_INIT");
  if (range->ctx != space->ctx)
    return kaon_fail(space->ctx, KAON_ERR_ARGUMENT,
                     "shell: the two spaces belong to two contexts; make both in one");
  if (range != space && (taken->local != NULL || taken->diagonal != NULL ||
                         taken->factors != NULL || taken->absolute != NULL))
    return kaon_fail(
        space->ctx, KAON_ERR_ARGUMENT,
        "shell: an operator between two spaces has no diagonal, factors, local part or "
        "absolute values; leave these functions NULL");
  return KAON_OK;
}

static kaon_status create(const kaon_space *space, const kaon_space *range,
                          const kaon_shell_methods *methods, void *user,
                          const kaon_shell_options *options, kaon_operator **A) {
  shell like = {.columns = 0};
  const kaon_operator shape = {
      .ctx = space->ctx, .space = space, .range = range != space ? range : NULL, .self = &like};
  kaon_shell_methods taken;
  KAON_TRY(take_methods(space, range, methods, &taken));
  KAON_TRY(
      kaon_options_share(space->ctx, KAON_OK, KAON_OPTIONS_SHELL, options, &like.options, NULL, 0));
  if (like.options.precision == KAON_HALF)
    return kaon_fail(space->ctx, KAON_ERR_UNSUPPORTED,
                     "shell: functions cannot take vectors in half precision; use single");
  application *own = calloc(1, sizeof *own);
  kaon_status status = KAON_AGREE_MEMORY(space->ctx, own != NULL, "shell: out of host memory");
  if (status != KAON_OK) {
    free(own);
    return status;
  }
  *own = (application){.references = 1, .methods = taken, .user = user};
  own->methods.destroy = NULL; /* until it has succeeded */
  status = kaon_agree(space->ctx, kaon_revision_create(space->ctx, "shell", NULL, &own->revision));
  if (status == KAON_OK) status = make(&shape, like.options.precision, own, A);
  if (status == KAON_OK) own->methods.destroy = taken.destroy;
  release_application(own);
  return status;
}

kaon_status kaon_shell_create(const kaon_space *space, const kaon_space *range,
                              const kaon_shell_methods *methods, void *user,
                              const kaon_shell_options *options, kaon_operator **A) {
  if (A != NULL) *A = NULL;
  KAON_ENTER(KAON_OF(space), space, methods, A);
  return create(space, range != NULL ? range : space, methods, user, options, A);
}

kaon_status kaon_operator_create_shell(const kaon_space *space, kaon_shell_apply *apply, void *user,
                                       const kaon_shell_options *options, kaon_operator **A) {
  kaon_shell_methods methods = KAON_SHELL_METHODS_INIT;
  if (A != NULL) *A = NULL;
  KAON_ENTER(KAON_OF(space), space, apply, A);
  methods.apply = apply;
  return create(space, space, &methods, user, options, A);
}

kaon_status kaon_shell_changed(kaon_operator *A) {
  KAON_ENTER(KAON_OF(A), A);
  if (A->ops->destroy != destroy)
    return kaon_fail(
        A->ctx, KAON_ERR_UNSUPPORTED,
        "shell: operator '%s' is not one of the application's; leave out the call, since "
        "kaon sees its changes",
        A->ops->name);
  kaon_changed(self_of(A)->application->revision);
  return KAON_OK;
}
