/* state.c - start and end, the lattice, errors. Contract: state.h. */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"
#include "system.h"

static kaon_quda_state state = {.ranks = {.grid = {1, 1, 1, 1}}, .verbosity = QUDA_SUMMARIZE};

kaon_quda_state *kaon_quda(void) {
  return &state;
}

/* ---- start and end ---- */

kaon_status kaon_quda_start(void) {
  return state.ctx != NULL ? KAON_OK : kaon_quda_create_context(&state.ranks, &state.ctx);
}

void kaon_quda_end(void) {
  kaon_quda_forget(NULL);
  while (state.multigrid != NULL) destroyMultigridQuda(state.multigrid);
  flushChronoQuda(-1);
  freeCloverQuda();
  freeGaugeQuda();
  memset(state.local, 0, sizeof state.local);
  for (int i = 0; i < 2; i++) kaon_lattice_destroy(&state.lattice[i]);
  kaon_context_destroy(&state.ctx);
}

/* ---- the lattice ---- */

kaon_status kaon_quda_lattice(const int local[4], kaon_boundary boundary, kaon_lattice **lattice) {
  int extents[4], have[4];
  *lattice = NULL;
  if (state.ctx == NULL)
    return kaon_quda_refuse(KAON_ERR_STATE,
                            "this function was called before initQuda(); call initQuda() (MILC: "
                            "qudaInit()) first");
  for (int d = 0; d < 4; d++) {
    if (local[d] < 1 || local[d] % 2 != 0)
      return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "a rank's part has %d sites in direction %d, but must have an even "
                              "number of them; choose another grid of ranks",
                              local[d], d);
    extents[d] = local[d] * state.ranks.grid[d];
  }
  for (int i = 0; i < 2; i++) {
    if (state.lattice[i] == NULL) continue;
    kaon_lattice_extents(state.lattice[i], have);
    if (memcmp(have, extents, sizeof have) != 0)
      return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "a lattice of %d x %d x %d x %d sites is in use, but this call has "
                              "%d x %d x %d x %d; call endQuda() and initQuda() between two "
                              "lattices",
                              have[0], have[1], have[2], have[3], extents[0], extents[1],
                              extents[2], extents[3]);
  }
  kaon_status status = KAON_OK;
  if (state.lattice[boundary] == NULL)
    status = kaon_lattice_create(state.ctx, extents, boundary, &state.lattice[boundary]);
  *lattice = state.lattice[boundary];
  return status;
}

/* ---- errors and messages ---- */

kaon_status kaon_quda_refuse(kaon_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(state.sentence, sizeof state.sentence, format, arguments);
  va_end(arguments);
  return status;
}

kaon_status kaon_quda_allocate(size_t bytes, void *pointer_to_pointer) {
  void *memory = malloc(bytes > 0 ? bytes : 1);
  memcpy(pointer_to_pointer, &memory, sizeof memory);
  if (memory != NULL) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_MEMORY,
                          "cannot allocate %zu bytes; use a smaller lattice or more ranks", bytes);
}

static int rank(void) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  return state.ctx != NULL && kaon_context_query(state.ctx, &info) == KAON_OK ? info.rank : 0;
}

/* Ends this process, and with MPI all processes. */
static void quit(void) {
  fflush(NULL);
  kaon_quda_abort_ranks();
  exit(EXIT_FAILURE);
}

/* 1: the environment asks for calls that return after a failure. */
static int returns(void) {
  const char *on_error = getenv("KAON_QUDA_ON_ERROR");
  if (on_error == NULL || strcmp(on_error, "return") == 0) return on_error != NULL;
  if (rank() == 0)
    fprintf(stderr, "kaon: KAON_QUDA_ON_ERROR is \"%s\"; set it to \"return\" or unset it\n",
            on_error);
  return 0;
}

/* The library's failures are those of all ranks. A refusal of the interface may be of this rank
 * alone. The others then wait in a collective function of the library, or here: both begin with
 * kaon_context_agree(), and fail too. Returns the status of all ranks, and 1 in *alike if all of
 * them refused. */
static kaon_status agree(kaon_status mine, int *alike) {
  if (state.ctx == NULL) return mine;
  const kaon_status status = kaon_context_agree(state.ctx, mine);
  *alike = strcmp(kaon_last_error(state.ctx), kaon_status_text(status)) == 0; /* names no rank */
  return status;
}

int kaon_quda_ended(const char *function, kaon_status status, int can_return) {
  char text[sizeof state.sentence];
  const int own = status != KAON_OK && state.sentence[0] != '\0';
  int alike = 1;
  snprintf(text, sizeof text, "%s", own ? state.sentence : kaon_last_error(state.ctx));
  state.sentence[0] = '\0';
  const int mine = rank(); /* clears the library's sentence */
  if (own || status == KAON_OK) {
    const kaon_status all = agree(status, &alike);
    if (all == KAON_OK) return 1;
    if (!own) snprintf(text, sizeof text, "%s", kaon_last_error(state.ctx));
  }
  if (mine == 0)
    fprintf(stderr, "kaon: %s: %s\n", function, text);
  else if (own && !alike)
    fprintf(stderr, "kaon: %s: rank %d: %s\n", function, mine, text);
  if (returns() && can_return) return 0;
  /* One rank's exit ends all of them: wait until each has printed. */
  if (state.ctx != NULL) (void)kaon_context_agree(state.ctx, KAON_OK);
  quit();
  return 0;
}

void kaon_quda_missing(const char *function) {
  fprintf(stderr,
          "kaon: %s is not offered by kaon's libquda; switch off the application's option that "
          "calls it (docs/applications.md lists what is offered)\n",
          function);
  quit();
}

void kaon_quda_print(QudaVerbosity from, const char *format, ...) {
  va_list arguments;
  if (state.verbosity < from || rank() != 0) return;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
  fflush(stdout);
}

kaon_status kaon_quda_precision(QudaPrecision precision, kaon_precision *kaon) {
  *kaon = precision == QUDA_DOUBLE_PRECISION   ? KAON_DOUBLE
          : precision == QUDA_SINGLE_PRECISION ? KAON_SINGLE
                                               : KAON_HALF;
  if (*kaon != KAON_HALF || precision == QUDA_HALF_PRECISION || precision == QUDA_QUARTER_PRECISION)
    return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "a precision is %d, but must be %d (double), %d (single) or %d (half)",
                          (int)precision, (int)QUDA_DOUBLE_PRECISION, (int)QUDA_SINGLE_PRECISION,
                          (int)QUDA_HALF_PRECISION);
}

int kaon_quda_on_device(QudaFieldLocation location) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  return location == QUDA_CUDA_FIELD_LOCATION && state.ctx != NULL &&
         kaon_context_query(state.ctx, &info) == KAON_OK && strcmp(info.backend, "cpu") != 0;
}

kaon_status kaon_quda_sum_ranks(double *number) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  double *all;
  kaon_status status = kaon_context_query(state.ctx, &info);
  if (status != KAON_OK || info.ranks == 1) return status;
  status = kaon_quda_allocate(sizeof *all * (size_t)info.ranks, &all);
  if (status != KAON_OK) return status;
  status = kaon_context_agree(state.ctx, KAON_OK); /* another rank may have refused */
  if (status == KAON_OK) status = kaon_context_gather(state.ctx, number, 1, all);
  *number = 0.0;
  for (int r = 0; r < info.ranks && status == KAON_OK; r++) *number += all[r];
  free(all);
  return status;
}
