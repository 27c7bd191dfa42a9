/* deflate.h - what mixed-precision conjugate gradients have found of the smallest eigenvectors,
 * kept so that rounding does not bring it back. See deflate.c. */
#ifndef KAON_SOLVERS_DEFLATE_H
#define KAON_SOLVERS_DEFLATE_H

#include "solvers/engine/method.h"
#include "solvers/spectra/ritz.h"

/* RULE: pairs by the rule, LEAST: where all of them do not fit deflation_limit; STEPS: between two
 * services at most, from iteration BEGIN on. With 56 steps, or half of the places kept at a
 * restart, 16^4 at kappa 0.1350 takes 1034 to 1074 steps in single, now 1004 to 1008 (996 in
 * double). They are used from KAON_DEFLATION_FIRST on (lib/math/steps/recurrences.h). */
enum { KAON_DEFLATION_RULE = 16, KAON_DEFLATION_LEAST = 8 };
enum { KAON_DEFLATION_STEPS = 48, KAON_DEFLATION_BEGIN = 48 };

typedef struct kaon_deflated_column {
  int marked; /* the marks are x and r of its last service */
  int used;   /* a bit for each place that is taken */
  int place;  /* of the pair that is being made; -1: none is */
  kaon_z g[KAON_RITZ_MAX * KAON_RITZ_MAX], b[KAON_RITZ_MAX * KAON_RITZ_MAX];
} kaon_deflated_column;

struct kaon_deflation {
  int pairs, columns;
  int first; /* KAON_DEFLATION_FIRST */
  int late;  /* this service has a column that is behind KAON_DEFLATION_FIRST */
  kaon_vector *d[KAON_RITZ_MAX], *e[KAON_RITZ_MAX];
  kaon_vector *image[2];        /* of p and z; the first one is room for a new pair as well */
  kaon_vector *mark_x, *mark_r; /* of the last service, in the outer precision */
  kaon_scalars *scalars;        /* products and coefficients; their gates say who takes part */
  kaon_column_state *host, *now;
  kaon_deflated_column *column;
};

/* How many pairs a solver of these options keeps: the user's number, or the rule's; 0: none.
 * Collective. Errors: UNSUPPORTED (asked for where it is not offered). */
kaon_status kaon_deflation_choose(const kaon_solver *s, int *pairs);
/* s->deflation, with its vectors, of which `pairs` are kept; while s->counting: counts them. */
kaon_status kaon_deflation_create(kaon_solver *s, int pairs);
void kaon_deflation_destroy(kaon_solver *s);
/* A solve begins: nothing is known of its operator and source. */
void kaon_deflation_reset(kaon_solver *s);
/* In a service, after r = b - A x has been replaced: a pair more of each column that goes on, and
 * the step within their span, into x_inner and r. Asks the scalars for numbers, so it cannot be
 * recorded. `relative` stays that of before, whence the state's scale is taken before it
 * (kaon_deflated_scale). */
kaon_status kaon_deflation_run(kaon_solver *s);
/* The end of `renew`, in the place of KAON_REC_RESUME: the direction that p and z = r, K r (CG) or
 * A^dag r (CGNR) lead to becomes conjugate to p, and KAON_REC_DEFLATED_RESUME. */
kaon_status kaon_deflation_renew(kaon_solver *s, const kaon_vector *p, const kaon_vector *z);
/* Applications of the inner operator in it, to a column that it is for. */
int kaon_deflation_applications(const kaon_solver *s);

#endif
