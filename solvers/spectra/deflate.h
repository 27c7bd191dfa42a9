/* deflate.h - stores what mixed-precision conjugate gradients have found of the smallest
 * eigenvectors, so that rounding does not bring them back. See deflate.c. */
#pragma once

#include "solvers/engine/method.h"
#include "solvers/spectra/ritz.h"

/* RULE: the default number of pairs. LEAST: the least number, where RULE pairs exceed
 * its limit (kaon/lab.h). STEPS: most steps between two services, from iteration BEGIN on. Pairs are used
 * from KAON_DEFLATION_FIRST on (lib/math/steps/recurrences.h). */
enum { KAON_DEFLATION_RULE = 16, KAON_DEFLATION_LEAST = 8 };
enum { KAON_DEFLATION_STEPS = 48, KAON_DEFLATION_BEGIN = 48 };

typedef struct kaon_deflated_column {
  int marked; /* the marks are x and r of its last service */
  int used;   /* bit mask of the positions in use */
  int place;  /* of the pair being made; -1: none */
  kaon_z g[KAON_RITZ_MAX * KAON_RITZ_MAX], b[KAON_RITZ_MAX * KAON_RITZ_MAX];
} kaon_deflated_column;

struct kaon_deflation {
  int pairs, columns;
  int first; /* KAON_DEFLATION_FIRST */
  int late;  /* this service has a column beyond KAON_DEFLATION_FIRST */
  kaon_vector *d[KAON_RITZ_MAX], *e[KAON_RITZ_MAX];
  kaon_vector *image[2];        /* of p and z; the first is also workspace for a new pair */
  kaon_vector *mark_x, *mark_r; /* of the last service, in the outer precision */
  kaon_scalars *scalars;        /* products and coefficients; their gates say which columns take
                                   part */
  kaon_column_state *host, *now;
  kaon_deflated_column *column;
};

/* 1: deflation minimises the error in the norm of A (CG). 0: the residual (CGNR). */
static inline int kaon_deflates_error(const kaon_solver *s) {
  return !kaon_method_has(s->method, KAON_METHOD_NORMAL);
}

/* *pairs: how many pairs a solver with these options stores, by the user's option or by default; 0:
 * none. Collective. Errors: UNSUPPORTED (requested where it is not offered). */
kaon_status kaon_deflation_choose(const kaon_solver *s, int *pairs);
/* Allocates s->deflation with vectors for `pairs` pairs. While s->process.counting, it only counts
 * them. */
kaon_status kaon_deflation_create(kaon_solver *s, int pairs);
void kaon_deflation_destroy(kaon_solver *s);
/* Begins a solve: forgets all pairs. */
void kaon_deflation_reset(kaon_solver *s);
/* Runs in a service, after r = b - A x was replaced. Gathers a pair of each column that continues,
 * and adds the step within their span to x_inner and r. It reads scalars on the host, so it cannot
 * be recorded. `relative` keeps its older value, from which the state's scale was taken before
 * (kaon_deflated_scale). */
kaon_status kaon_deflation_run(kaon_solver *s);
/* The end of `renew`, instead of KAON_REC_RESUME. It makes the new direction conjugate to p, from p
 * and z (CG: z = r or K r; CGNR: A^dag r), then runs KAON_REC_DEFLATED_RESUME. */
kaon_status kaon_deflation_renew(kaon_solver *s, const kaon_vector *p, const kaon_vector *z);
/* Applications of the inner operator in it, per column that takes part. */
int kaon_deflation_applications(const kaon_solver *s);
