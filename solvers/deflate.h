/* deflate.h - what mixed-precision conjugate gradients have found of the smallest eigenvectors,
 * kept so that rounding does not bring it back. See deflate.c. */
#ifndef KAON_SOLVERS_DEFLATE_H
#define KAON_SOLVERS_DEFLATE_H

#include "solvers/method.h"
#include "solvers/ritz.h"

/* RULE: pairs by the rule; STEPS: between two services at most, from iteration BEGIN on. With 56
 * steps, or half of the places kept at a restart, 16^4 at kappa 0.1350 takes 1034 to 1074 steps in
 * single, now 1005 to 1024 (996 in double). */
enum { KAON_DEFLATION_RULE = 16, KAON_DEFLATION_STEPS = 48, KAON_DEFLATION_BEGIN = 48 };

/* How many pairs a solver of these options keeps: the user's number, or the rule's; 0: none.
 * Collective. Errors: UNSUPPORTED (asked for where it is not offered). */
kaon_status kaon_deflation_choose(const kaon_solver *s, int *pairs);
/* s->deflation, with its vectors, of which `pairs` are kept; while s->counting: counts them. */
kaon_status kaon_deflation_create(kaon_solver *s, int pairs);
void kaon_deflation_destroy(kaon_solver *s);
/* A solve begins: nothing is known of its operator and source. */
void kaon_deflation_forget(kaon_solver *s);
/* In a service, after r = b - A x has been replaced: a pair more of each column that goes on, and
 * the step within their span, into x_inner and r. Asks the scalars for numbers, so it cannot be
 * recorded. */
kaon_status kaon_deflation_run(kaon_solver *s);
/* The end of `renew`, in the place of KAON_REC_RESUME: the direction that p and z = r (CG) or A^dag
 * r (CGNR) lead to becomes conjugate to p. */
kaon_status kaon_deflation_renew(kaon_solver *s, const kaon_vector *p, const kaon_vector *z);
/* Applications of the inner operator in it, to a column that it is for. */
int kaon_deflation_applications(const kaon_solver *s);

#endif
