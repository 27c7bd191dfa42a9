/* system.h - operators that clients use again and again, each with its solver and vectors. The
 * eight last used are kept, so that a second solve on the same links and masses sets nothing up. */
#pragma once

#include "state.h"

/* What an operator is made of. Equal members mean the same operator, so begin with KAON_QUDA_KEY. */
typedef struct kaon_quda_key {
  int kind;         /* of a family: a number that no other family uses */
  int option[8];    /* of M: boundary, extents, ... */
  int form[8];      /* of A: parity, reduction, ... Systems that differ here alone share M */
  double number[8]; /* kappa, mass, ... */
  const kaon_gauge *links[2];
} kaon_quda_key;
#define KAON_QUDA_KEY \
  { 0 }

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
  unsigned long used;
} kaon_quda_system;

/* Makes the operators of a key. *M may be there already: that of a system which shares it. After a
 * failure *A is NULL, and *M is what it was. If A is M, both are one pointer. */
typedef kaon_status kaon_quda_make(const kaon_quda_key *key, kaon_operator **M, kaon_operator **A);

/* 1: M is the same; all members but `form` are equal. */
int kaon_quda_same_operator(const kaon_quda_key *a, const kaon_quda_key *b);
/* Finds the system of a key, or makes it. It stays valid until the next call of this function. */
kaon_status kaon_quda_find(const kaon_quda_key *key, kaon_quda_make *make,
                           kaon_quda_system **system);
/* Defaults to begin options with. They are compared byte by byte, with the bytes between members. */
void kaon_quda_solver_defaults(kaon_solver_options *options);
void kaon_quda_shift_defaults(kaon_multishift_options *options);
/* Gives the system a solver of A with these options, and vectors b and x of `space` in A's precision.
 * What is there already and fits is kept. */
kaon_status kaon_quda_prepare(kaon_quda_system *system, const kaon_solver_options *options,
                              int columns, const kaon_space *space);
/* The same with a solver of A for several shifts. Its tolerances are those of the options, or of
 * kaon_multishift_set_tol(). */
kaon_status kaon_quda_prepare_shifts(kaon_quda_system *system,
                                     const kaon_multishift_options *options, int shifts,
                                     const double *sigma, const kaon_space *space);
/* Forgets all systems that were made of these links, because they change. NULL: all systems. */
void kaon_quda_forget(const kaon_gauge *links);
