/* state.c - start and end, the lattice, errors. Contract: state.h. */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { FAMILIES = 16 };

static kaon_quda_state state = {.ranks = {.grid = {1, 1, 1, 1}}, .verbosity = QUDA_SUMMARIZE};
static void (*families[FAMILIES])(void);
static char sentence[1024]; /* of a refusal of the interface's own; "": the library has it */

kaon_quda_state *kaon_quda(void) {
  return &state;
}

/* ---- start and end ---- */

kaon_status kaon_quda_start(void) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  if (state.ctx != NULL) return KAON_OK;
  return kaon_quda_create_context(&state.ranks, &options, &state.ctx);
}

void kaon_quda_at_end(void (*destroy)(void)) {
  for (int i = 0; i < FAMILIES; i++) {
    if (families[i] == destroy) return;
    if (families[i] == NULL) {
      families[i] = destroy;
      return;
    }
  }
}

void kaon_quda_end(void) {
  for (int i = 0; i < FAMILIES && families[i] != NULL; i++) {
    families[i]();
    families[i] = NULL;
  }
  for (int i = 0; i < 2; i++) kaon_lattice_destroy(&state.lattice[i]);
  kaon_context_destroy(&state.ctx);
}

/* ---- the lattice ---- */

static kaon_status check_extents(const kaon_lattice *lattice, const int extents[4]) {
  int have[4];
  kaon_lattice_extents(lattice, have);
  if (memcmp(have, extents, sizeof have) == 0) return KAON_OK;
  return kaon_quda_refuse(
      KAON_ERR_ARGUMENT,
      "a lattice of %d x %d x %d x %d sites is in use, but this call has %d x %d x %d x %d; call "
      "endQuda() and initQuda() between two lattices",
      have[0], have[1], have[2], have[3], extents[0], extents[1], extents[2], extents[3]);
}

kaon_status kaon_quda_lattice(const int local[4], kaon_boundary boundary, kaon_lattice **lattice) {
  int extents[4];
  *lattice = NULL;
  if (state.ctx == NULL)
    return kaon_quda_refuse(KAON_ERR_STATE, "initQuda() or qudaInit() must be called first");
  for (int d = 0; d < 4; d++) {
    if (local[d] < 1 || local[d] % 2 != 0)
      return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "a rank's part has %d sites in direction %d, but must have an even "
                              "number of them; choose another grid of ranks",
                              local[d], d);
    extents[d] = local[d] * state.ranks.grid[d];
  }
  for (int i = 0; i < 2; i++)
    if (state.lattice[i] != NULL) {
      const kaon_status status = check_extents(state.lattice[i], extents);
      if (status != KAON_OK) return status;
    }
  if (state.lattice[boundary] == NULL) {
    const kaon_status status =
        kaon_lattice_create(state.ctx, extents, boundary, &state.lattice[boundary]);
    if (status != KAON_OK) return status;
  }
  *lattice = state.lattice[boundary];
  return KAON_OK;
}

/* ---- errors and messages ---- */

kaon_status kaon_quda_refuse(kaon_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return status;
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

int kaon_quda_ended(const char *function, kaon_status status, int can_return) {
  char text[sizeof sentence];
  const char *on_error = getenv("KAON_QUDA_ON_ERROR");
  if (status == KAON_OK) {
    sentence[0] = '\0';
    return 1;
  }
  /* The rank comes last: asking for it replaces the library's sentence. */
  snprintf(text, sizeof text, "%s", sentence[0] != '\0' ? sentence : kaon_last_error(state.ctx));
  sentence[0] = '\0';
  if (rank() == 0) fprintf(stderr, "kaon: %s: %s\n", function, text);
  if (!can_return || on_error == NULL || strcmp(on_error, "return") != 0) quit();
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
  switch (precision) {
    case QUDA_DOUBLE_PRECISION:
      *kaon = KAON_DOUBLE;
      return KAON_OK;
    case QUDA_SINGLE_PRECISION:
      *kaon = KAON_SINGLE;
      return KAON_OK;
    case QUDA_HALF_PRECISION:
    case QUDA_QUARTER_PRECISION:
      *kaon = KAON_HALF;
      return KAON_OK;
    default:
      return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "a precision has the value %d, but must be one of QUDA's (%d double, "
                              "%d single, %d half)",
                              (int)precision, (int)QUDA_DOUBLE_PRECISION,
                              (int)QUDA_SINGLE_PRECISION, (int)QUDA_HALF_PRECISION);
  }
}

int kaon_quda_on_device(QudaFieldLocation location) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  return location == QUDA_CUDA_FIELD_LOCATION && state.ctx != NULL &&
         kaon_context_query(state.ctx, &info) == KAON_OK && strcmp(info.backend, "cpu") != 0;
}
