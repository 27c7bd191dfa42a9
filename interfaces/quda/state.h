/* state.h - what the interface knows between calls: one context, its lattices, and how errors end.
 * It is the one global of libquda.so, because QUDA's functions have no handle. All functions are
 * collective, as QUDA's. */
#pragma once

#include <kaon/kaon.h>

#include "enum_quda.h"

/* What ranks do with the lattice: as initCommsGridQuda() or qudaSetLayout() said. */
typedef struct kaon_quda_ranks {
  const void *communicator; /* address of an MPI_Comm; NULL: all processes */
  int grid[4];              /* ranks in x, y, z, t */
  int (*rank_of)(const int *coordinates, void *user); /* NULL: x runs fastest */
  void *user;
} kaon_quda_ranks;

typedef struct kaon_quda_state {
  kaon_quda_ranks ranks;
  kaon_context *ctx;        /* NULL before initQuda() and after endQuda() */
  QudaVerbosity verbosity;  /* of messages to standard output */
  kaon_lattice *lattice[2]; /* by kaon_boundary; NULL until links or vectors need it */
} kaon_quda_state;

/* The state. Before initQuda() its context is NULL. */
kaon_quda_state *kaon_quda(void);

/* Creates the context, as the ranks say. A second call does nothing. */
kaon_status kaon_quda_start(void);
/* Destroys the context and all that was made in it. */
void kaon_quda_end(void);
/* Registers a function that destroys a family's objects; kaon_quda_end() calls it first. A second
 * registration does nothing. */
void kaon_quda_at_end(void (*destroy)(void));

/* The lattice whose part on a rank has the extents `local`. Vectors and links of all calls live on
 * it. Errors: STATE (initQuda() was not called); ARGUMENT (extents of another lattice are in use,
 * or no lattice can have these). */
kaon_status kaon_quda_lattice(const int local[4], kaon_boundary boundary, kaon_lattice **lattice);

/* Sets a sentence as kaon's functions do, and returns the status. */
kaon_status kaon_quda_refuse(kaon_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends a call: nothing if the status is OK, and the result is then 1. Otherwise prints function and
 * sentence to standard error. The process then exits with status 1, unless the environment variable
 * KAON_QUDA_ON_ERROR is "return" and the function has a way to tell of the failure
 * (`can_return`). The result is then 0. */
int kaon_quda_ended(const char *function, kaon_status status, int can_return);
/* For functions that cannot tell of a failure. */
static inline void kaon_quda_check(const char *function, kaon_status status) {
  (void)kaon_quda_ended(function, status, 0);
}
/* A name of the interface without a body was called: says so and exits. */
void kaon_quda_missing(const char *function);
/* Prints one line to standard output, on rank 0, if the verbosity is at least `from`. */
void kaon_quda_print(QudaVerbosity from, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* QUDA_DOUBLE_PRECISION, or 8 or 2 of MILC's calls, and so on, as kaon has it. Quarter becomes
 * half. Errors: ARGUMENT. */
kaon_status kaon_quda_precision(QudaPrecision precision, kaon_precision *kaon);
/* 1: arrays of this location are in memory of a device. On the CPU none are. */
int kaon_quda_on_device(QudaFieldLocation location);
