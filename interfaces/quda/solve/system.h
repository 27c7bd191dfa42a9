/* system.h - operators that clients use again and again, each with its solver and vectors. The
 * eight last used are kept, so that a second solve on the same links and masses sets nothing up. */
#pragma once

#include "state.h"

/* 1: M is the same; all members but `form` are equal. */
int kaon_quda_same_operator(const kaon_quda_key *a, const kaon_quda_key *b);
/* Finds the system of a key, or makes it. It stays valid until the next call of this function. */
kaon_status kaon_quda_find(const kaon_quda_key *key, kaon_quda_system **system);
/* Defaults to begin options with. They are compared byte by byte, with the bytes between members. */
void kaon_quda_solver_defaults(kaon_solver_options *options);
void kaon_quda_shift_defaults(kaon_multishift_options *options);
/* Gives the system a solver of A with these options, and vectors b and x of `space` in A's precision.
 * What is there already and fits is kept. Links that cannot be compressed as the options say stay as
 * they are. Where half precision is not possible, single takes its place, and a line says so. */
kaon_status kaon_quda_prepare(kaon_quda_system *system, const kaon_solver_options *options,
                              int columns, const kaon_space *space);
/* The same with a solver of A for several shifts. Its tolerances are those of the options, or of
 * kaon_multishift_set_tol(). */
kaon_status kaon_quda_prepare_shifts(kaon_quda_system *system,
                                     const kaon_multishift_options *options, int shifts,
                                     const double *sigma, const kaon_space *space);
/* Forgets all systems that were made of these links, because they change. NULL: all systems. */
void kaon_quda_forget(const kaon_gauge *links);
