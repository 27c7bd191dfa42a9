/* state.h - what the interface knows between calls, and how errors end. It is the one global of
 * libquda.so, because QUDA's functions have no handle. All functions are collective, as QUDA's. */
#pragma once

#include <kaon/kaon.h>

#include "quda.h"

/* What ranks do with the lattice: as initCommsGridQuda() or qudaSetLayout() said. */
typedef struct kaon_quda_ranks {
  int has_communicator;                               /* 0: all processes */
  char communicator[sizeof(void *)];                  /* a copy of the application's MPI_Comm */
  int grid[4];                                        /* ranks in x, y, z, t */
  int (*rank_of)(const int *coordinates, void *user); /* NULL: x runs fastest */
  void *user;
} kaon_quda_ranks;

/* Links of one type: QUDA_WILSON_LINKS, QUDA_ASQTAD_FAT_LINKS, QUDA_ASQTAD_LONG_LINKS. */
typedef struct kaon_quda_links {
  QudaGaugeParam param;  /* as they were loaded */
  kaon_lattice *lattice; /* its boundary is the one that the operator must have */
  kaon_gauge *gauge;     /* NULL: none loaded. Without the signs and factors that the operator
                            multiplies by itself; 18 reals in double */
  double anisotropy;     /* factor of spatial hops that was divided out of the links; 1: none */
  int special_unitary;   /* 1: in SU(3), so they may be compressed. 0: any matrices, such as links
                            with U(1) phases; the operator has 18 reals then */
  uint64_t digest;       /* of the array of a MILC call that loaded them; 0: another call did */
} kaon_quda_links;
enum { KAON_QUDA_LINK_TYPES = 3 };

/* A clover term. */
typedef struct kaon_quda_clover {
  QudaInvertParam param; /* as it was loaded */
  const kaon_gauge *of; /* the links that it was loaded with, an address alone. NULL: none loaded */
  double *term; /* 72 reals a site, even sites first (kaon_dirac_create_clover(), KAON_ORDER_MILC).
                   NULL: made from the Wilson links, with the product kappa csw of
                   param.clover_coeff */
  uint64_t digest;        /* as that of links */
  kaon_quda_links former; /* with a gauge: links that were replaced before their term was made */
} kaon_quda_clover;

/* What an operator is made of. Equal members mean the same operator. */
typedef struct kaon_quda_key {
  int option[4];    /* of M: operators.c has the places */
  int form[8];      /* of A: parity, reduction, ... Systems that differ here alone share M */
  double number[8]; /* kappa, mass, ... */
  const kaon_gauge *links[2];
} kaon_quda_key;

/* An operator with its solver and vectors. */
typedef struct kaon_quda_system {
  kaon_quda_key key;
  kaon_operator *M; /* on all sites; perhaps also that of other systems */
  kaon_operator *A; /* the one to solve: M, a reduction, a normal operator; it may be M itself */
  kaon_solver *solver;
  kaon_solver_options options; /* of the solver */
  int columns;                 /* of the solver and of the vectors */
  kaon_vector *b, *x;
  kaon_multishift *shifts; /* in place of the solver; b has one column then, x one for each shift */
  kaon_multishift_options shift_options;
  double sigma[KAON_MULTISHIFT_MAX]; /* `columns` shifts */
  unsigned long used;                /* the number of the call that used it last; 0: empty */
} kaon_quda_system;
enum { KAON_QUDA_SYSTEMS = 8 };

/* Earlier solutions of one index (guesses.c). */
typedef struct kaon_quda_solutions {
  int count;
  kaon_vector *kept[KAON_FORECAST_MOST]; /* the newest first */
} kaon_quda_solutions;
enum { KAON_QUDA_CHRONO = 12 };

typedef struct kaon_quda_state {
  kaon_quda_ranks ranks;
  int local[4];             /* extents of a rank's part, as MILC said; 0: it did not */
  QudaVerbosity verbosity;  /* of messages to standard output */
  kaon_context *ctx;        /* NULL before initQuda() and after endQuda() */
  kaon_lattice *lattice[2]; /* by kaon_boundary; NULL until links or vectors need it */
  kaon_quda_links links[KAON_QUDA_LINK_TYPES];
  kaon_quda_clover clover;
  kaon_quda_system systems[KAON_QUDA_SYSTEMS];
  unsigned long calls; /* of kaon_quda_find() */
  kaon_quda_solutions solutions[KAON_QUDA_CHRONO];
  struct kaon_quda_mg *multigrid; /* a list (quda_multigrid.c) */
  char sentence[1024];            /* of a refusal of the interface's own; "": the library has it */
} kaon_quda_state;

/* The state. */
kaon_quda_state *kaon_quda(void);

/* Creates the context, as the ranks say. A second call does nothing. */
kaon_status kaon_quda_start(void);
/* Destroys the context and all that was made in it. Ranks and verbosity stay. */
void kaon_quda_end(void);

/* The lattice whose part on a rank has the extents `local`. Vectors and links of all calls live on
 * it. Errors: STATE (initQuda() was not called); ARGUMENT (extents of another lattice are in use,
 * or no lattice can have these). */
kaon_status kaon_quda_lattice(const int local[4], kaon_boundary boundary, kaon_lattice **lattice);
/* Sites of a rank's part. */
static inline size_t kaon_quda_sites(const int X[4]) {
  return (size_t)X[0] * (size_t)X[1] * (size_t)X[2] * (size_t)X[3];
}

/* Sets a sentence as kaon's functions do, and returns the status. */
kaon_status kaon_quda_refuse(kaon_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Memory that the caller frees. Errors: MEMORY. */
kaon_status kaon_quda_allocate(size_t bytes, void *pointer_to_pointer);
/* Ends a call on all ranks. If the status is OK on all of them, the result is 1. Otherwise prints
 * function and sentence to standard error: on rank 0, and on each rank that has refused by itself.
 * The process then exits with status 1, unless the environment variable
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

/* QUDA_DOUBLE_PRECISION and so on as kaon has it. Quarter becomes half. Errors: ARGUMENT. */
kaon_status kaon_quda_precision(QudaPrecision precision, kaon_precision *kaon);
/* 1: arrays of this location are in memory of a device. On the CPU none are. */
int kaon_quda_on_device(QudaFieldLocation location);
/* The sum of a number of each rank. Errors: MEMORY, COMM. */
kaon_status kaon_quda_sum_ranks(double *number);
