/* deflate.c - deflation in mixed-precision conjugate gradients.
 *
 * Once CG has found an eigenvector of a small eigenvalue, its residuals stay orthogonal to it in
 * exact arithmetic. Rounding brings that component back, and CG has to find it again in as many
 * steps. Parlett and Scott (Math. Comput. 33 (1979) 217) orthogonalise Lanczos vectors against
 * converged Ritz vectors.
 *
 * Here the Ritz vectors come from the changes of x. Between two services x changes by d and the
 * residual by -e, with e = A d. Both are known in the outer precision without extra work. A service
 * is due KAON_DEFLATION_STEPS steps after the last one, and each gathers one pair (d, e). From
 * KAON_DEFLATION_FIRST on, x also takes the step within the span of the d that minimises the
 * method's error, and r follows:
 *
 *   CG:   (d_i, r) = 0, G_ij = (d_i, e_j)
 *
 *   CGNR: (e_i, r) = 0, G_ij = (e_i, e_j)
 *
 * A preconditioner of CG changes the path of x, and with it the pairs, but none of these equations.
 *
 * When all pairs are in use, the basis is restarted with three quarters as many vectors. They span
 * the smallest Ritz values of G v = theta (d, d) v (a thick restart: Wu, Simon, SIAM J. Matrix
 * Anal. Appl. 22 (2000) 602; eigCG, which sees every step's residual: Stathopoulos, Orginos, SIAM
 * J. Sci. Comput. 32 (2010) 439). Any basis of that space serves: the retained vectors absorb the
 * others in place (ritz.h).
 *
 * A direction from a recurrence is conjugate to the one before only for the recurrence's r.
 * Replacing r this often would therefore cost steps. So beta is computed from the images of p and
 * of the new r (CGNR: A^dag r). tests/test_deflation.c has spectra where this matters.
 *
 * Pairs are stored in the inner precision. Each column has its own pairs: the pairs in use differ
 * from column to column, and coefficients of the others are 0. All ranks solve the small problems
 * on the host, with equal results. */
#include "solvers/spectra/deflate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = KAON_RITZ_MAX };
/* Vectors that a restart retains, of n. */
#define KEPT(n) (3 * (n) / 4)

/* Slots: products with d; products with the test vectors; products of these with r; coefficients.
 * Combinations of pairs use all of them. */
enum { OF_D = 0, OF_TEST = MAX, OF_R = 2 * MAX, COEFFICIENT = 3 * MAX, NORM = 4 * MAX };
_Static_assert(MAX *MAX <= KAON_SLOTS, "every vector's part of every other fits a state");

/* ---- creation ---- */

static double bytes_of(const kaon_solver *s, int pairs) {
  return 2.0 * (pairs + 1) *
             (double)kaon_vector_needs(s->inner->space, s->inner->precision, s->columns) +
         2.0 * (double)kaon_vector_needs(s->system->space, s->system->precision, s->columns);
}

kaon_status kaon_deflation_choose(const kaon_solver *s, int *pairs) {
  const int asked = s->options.deflation;
  const int offered = kaon_method_has(s->method, KAON_METHOD_DEFLATES) &&
                      s->options.refinement == KAON_REFINE_RELIABLE && s->options.tol > 0;
  *pairs = 0;
  if (asked > 0 && !offered)
    return kaon_fail(
        s->ctx, KAON_ERR_UNSUPPORTED,
        "solver: deflation=%d is for cg and cgnr with a tolerance and reliable updates; %s here "
        "takes deflation=0 or -1",
        asked, kaon_method_name(s->options.method));
  if (asked == 0 || !offered || !s->process.mixed) return KAON_OK;
  if (asked > 0) {
    *pairs = asked;
    return KAON_OK;
  }
  /* with a preconditioner, single precision loses nothing that pairs would recover */
  if (s->K != NULL && s->options.sloppy != KAON_HALF) return KAON_OK;
  if (s->ctx->backend->record != NULL) return KAON_OK; /* recorded steps cannot wait for the host */
  const kaon_pool_use use = kaon_pool_usage(s->ctx);
  const double limit = s->ctx->lab.deflation_limit;
  const double left = use.free >= 0 ? (double)use.free - (double)s->process.bytes : limit;
  const double most = left < limit ? left : limit;
  double beyond[KAON_DEFLATION_RULE + 1] = {0}; /* number of ranks on which n pairs do not fit */
  for (int n = KAON_DEFLATION_LEAST; n <= KAON_DEFLATION_RULE; n++)
    beyond[n] = bytes_of(s, n) > most;
  KAON_TRY(kaon_comm_sum(s->ctx, beyond, KAON_DEFLATION_RULE + 1));
  for (int n = KAON_DEFLATION_LEAST; n <= KAON_DEFLATION_RULE && beyond[n] == 0; n++) *pairs = n;
  if (*pairs < KAON_DEFLATION_RULE)
    kaon_log(
        s->ctx, KAON_LOG_INFO,
        "solver: deflation keeps %d pairs of vectors, not %d, which would take %.2f GiB of the "
        "%.2f that are its limit, and %.2f are free; near-critical solves in single or half "
        "may take more steps",
        *pairs, (int)KAON_DEFLATION_RULE, bytes_of(s, KAON_DEFLATION_RULE) / 0x1p30, limit / 0x1p30,
        left / 0x1p30);
  return KAON_OK;
}

static kaon_status take(kaon_solver *s, const kaon_operator *like, kaon_vector **v) {
  KAON_TRY(kaon_vector_create(s->ctx, like->space, like->precision, s->columns, v));
  return kaon_blas_zero(*v, NULL);
}

kaon_status kaon_deflation_create(kaon_solver *s, int pairs) {
  if (pairs == 0) return KAON_OK;
  if (s->process.counting) {
    s->process.bytes += (size_t)bytes_of(s, pairs);
    return KAON_OK;
  }
  struct kaon_deflation *f = calloc(1, sizeof *f);
  if (f == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY, "solver: out of host memory for deflation");
  s->deflation = f;
  f->pairs = pairs;
  f->columns = s->columns;
  f->first = KAON_DEFLATION_FIRST;
  f->host = calloc((size_t)s->columns, sizeof *f->host);
  f->now = calloc((size_t)s->columns, sizeof *f->now);
  f->column = calloc((size_t)s->columns, sizeof *f->column);
  if (f->host == NULL || f->now == NULL || f->column == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY,
                     "solver: out of host memory for deflation of %d columns", s->columns);
  for (int i = 0; i < pairs; i++) {
    KAON_TRY(take(s, s->inner, &f->d[i]));
    KAON_TRY(take(s, s->inner, &f->e[i]));
  }
  for (int i = 0; i < 2; i++) KAON_TRY(take(s, s->inner, &f->image[i]));
  KAON_TRY(take(s, s->system, &f->mark_x));
  KAON_TRY(take(s, s->system, &f->mark_r));
  return kaon_scalars_create(s->ctx, s->columns, &f->scalars);
}

void kaon_deflation_destroy(kaon_solver *s) {
  struct kaon_deflation *f = s->deflation;
  s->deflation = NULL;
  if (f == NULL) return;
  for (int i = 0; i < f->pairs; i++) {
    kaon_vector_destroy(&f->d[i]);
    kaon_vector_destroy(&f->e[i]);
  }
  for (int i = 0; i < 2; i++) kaon_vector_destroy(&f->image[i]);
  kaon_vector_destroy(&f->mark_x);
  kaon_vector_destroy(&f->mark_r);
  kaon_scalars_destroy(&f->scalars);
  free(f->host);
  free(f->now);
  free(f->column);
  free(f);
}

void kaon_deflation_reset(kaon_solver *s) {
  if (s->deflation == NULL) return;
  for (int k = 0; k < s->columns; k++) {
    s->deflation->column[k].marked = 0;
    s->deflation->column[k].used = 0;
  }
}

/* ---- which columns take part ---- */

typedef int who(const struct kaon_deflation *f, int k);

/* Opens the columns that `takes` selects, with the slots as the host has them. *open: their
 * number. */
static kaon_status open_columns(struct kaon_deflation *f, who *takes, int *open) {
  *open = 0;
  for (int k = 0; k < f->columns; k++) {
    f->host[k].gate = takes(f, k) ? KAON_GATE_STEP : 0;
    *open += f->host[k].gate != 0;
  }
  return *open > 0 ? kaon_scalars_write(f->scalars, f->host) : KAON_OK;
}

static int goes_on(const struct kaon_deflation *f, int k) {
  return (f->now[k].gate & KAON_GATE_RENEW) && f->now[k].iterations >= KAON_DEFLATION_BEGIN;
}

static int makes_pair(const struct kaon_deflation *f, int k) {
  return goes_on(f, k) && f->column[k].place >= 0;
}

/* 1: pairs are used, not only gathered. */
static int uses(const struct kaon_deflation *f, int k) {
  return goes_on(f, k) && f->now[k].iterations >= f->first;
}

static int projects(const struct kaon_deflation *f, int k) {
  return uses(f, k) && f->column[k].used != 0;
}

static int is_full(const struct kaon_deflation *f, int k) {
  return goes_on(f, k) && f->column[k].used == (int)(1u << f->pairs) - 1;
}

static kaon_pass pass_of(const struct kaon_deflation *f, int norm) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = f->scalars;
  pass.norm = norm;
  return pass;
}

/* ---- pairs ---- */

/* Copies v into the free position of each column that makes a pair, one position after another. */
static kaon_status put(struct kaon_deflation *f, const kaon_vector *v, kaon_vector *const *places) {
  const kaon_pass plain = pass_of(f, KAON_NO_SLOT);
  for (int place = 0; place < f->pairs; place++) {
    int any = 0;
    for (int k = 0; k < f->columns; k++) {
      const int here = makes_pair(f, k) && f->column[k].place == place;
      f->host[k].gate = here ? KAON_GATE_STEP : 0;
      any |= here;
    }
    if (!any) continue;
    KAON_TRY(kaon_scalars_write(f->scalars, f->host));
    KAON_TRY(kaon_blas_copy(v, places[place], &plain));
  }
  return KAON_OK;
}

/* Reads the products of `places` with v into the host's slots, and |v|^2 into NORM if `norm` says
 * so. */
static kaon_status multiply(struct kaon_deflation *f, kaon_vector *const *places,
                            const kaon_vector *v, int slot, int norm) {
  const kaon_pass pass = pass_of(f, norm);
  KAON_TRY(kaon_blas_multi_dot(f->pairs, places, v, slot, &pass));
  return kaon_scalars_read(f->scalars, f->host);
}

static kaon_z slot_of(const kaon_column_state *state, int slot) {
  return state->slot[slot][0] + I * state->slot[slot][1];
}

/* Fills row and column `place` of m, from the products of all others with it, and its own. */
static void enter(kaon_z *m, int n, int place, const kaon_column_state *state, int slot,
                  double own) {
  for (int i = 0; i < n; i++) {
    const kaon_z product = slot_of(state, slot + i);
    m[i * n + place] = product;
    m[place * n + i] = conj(product);
  }
  m[place * n + place] = own;
}

static int first_free(int used) {
  int place = 0;
  while (used >> place & 1) place++;
  return place;
}

static int begins(const struct kaon_deflation *f, int k) {
  return goes_on(f, k) && !f->column[k].marked;
}

/* If the solve began from x = 0, where the residual is b, the first pair covers all steps so
 * far. */
static kaon_status mark_zero(kaon_solver *s) {
  struct kaon_deflation *f = s->deflation;
  const kaon_pass plain = pass_of(f, KAON_NO_SLOT);
  int open;
  if (!s->solve.from_zero) return KAON_OK;
  KAON_TRY(open_columns(f, begins, &open));
  if (open == 0) return KAON_OK;
  KAON_TRY(kaon_blas_zero(f->mark_x, &plain));
  KAON_TRY(kaon_blas_copy(s->outer.b, f->mark_r, &plain));
  for (int k = 0; k < f->columns; k++) f->column[k].marked |= begins(f, k);
  return KAON_OK;
}

/* Stores d = x - mark_x and e = mark_r - r, with e = A d, in a free position. `room`: a work vector
 * of the inner precision. */
static kaon_status make_pairs(kaon_solver *s, kaon_vector *room) {
  struct kaon_deflation *f = s->deflation;
  const kaon_pass plain = pass_of(f, KAON_NO_SLOT), norm = pass_of(f, NORM);
  const int by_error = kaon_deflates_error(s), n = f->pairs;
  int open;
  for (int k = 0; k < f->columns; k++) {
    kaon_deflated_column *c = &f->column[k];
    c->place = goes_on(f, k) && c->marked ? first_free(c->used) : -1;
  }
  KAON_TRY(open_columns(f, makes_pair, &open));
  if (open == 0) return KAON_OK;
  KAON_TRY(kaon_blas_xpay(s->outer.x, KAON_NUMBER(-1), f->mark_x, &plain));
  KAON_TRY(kaon_blas_convert(f->mark_x, room, 0, &norm));
  KAON_TRY(multiply(f, f->d, room, OF_D, KAON_NO_SLOT));
  for (int k = 0; k < f->columns; k++) /* a value that is not finite would spoil every
                                          combination */
    if (makes_pair(f, k) && !isfinite(f->host[k].slot[NORM][0])) f->column[k].place = -1;
  for (int k = 0; k < f->columns; k++)
    if (makes_pair(f, k))
      enter(f->column[k].b, n, f->column[k].place, &f->host[k], OF_D, f->host[k].slot[NORM][0]);
  KAON_TRY(put(f, room, f->d));
  KAON_TRY(open_columns(f, makes_pair, &open));
  KAON_TRY(kaon_blas_axpby(KAON_NUMBER(-1), s->outer.r, KAON_NUMBER(1), f->mark_r, &plain));
  KAON_TRY(kaon_blas_convert(f->mark_r, room, 0, &norm));
  KAON_TRY(multiply(f, by_error ? f->d : f->e, room, OF_TEST, KAON_NO_SLOT));
  for (int k = 0; k < f->columns; k++) {
    kaon_deflated_column *c = &f->column[k];
    if (!makes_pair(f, k)) continue;
    const double own = f->host[k].slot[by_error ? OF_TEST + c->place : NORM][0];
    if (!isfinite(own) || !isfinite(f->host[k].slot[NORM][0])) {
      c->place = -1;
      continue;
    }
    enter(c->g, n, c->place, &f->host[k], OF_TEST, own);
  }
  KAON_TRY(put(f, room, f->e));
  for (int k = 0; k < f->columns; k++)
    if (makes_pair(f, k)) f->column[k].used |= 1 << f->column[k].place;
  return KAON_OK;
}

/* ---- projection ---- */

/* taken: m without the rows and columns of unused positions. */
static void taken_only(int n, int used, const kaon_z *m, kaon_z *taken) {
  for (int i = 0; i < n * n; i++) taken[i] = (used >> i / n & 1) && (used >> i % n & 1) ? m[i] : 0;
}

/* x_inner += sum c d, r -= sum c e */
static kaon_status project(kaon_solver *s) {
  struct kaon_deflation *f = s->deflation;
  const kaon_pass plain = pass_of(f, KAON_NO_SLOT);
  const int n = f->pairs;
  kaon_vector *const *test = kaon_deflates_error(s) ? f->d : f->e;
  kaon_coefficient plus[MAX], minus[MAX];
  int open;
  KAON_TRY(open_columns(f, projects, &open));
  if (open == 0) return KAON_OK;
  KAON_TRY(multiply(f, test, s->r, OF_R, KAON_NO_SLOT));
  for (int k = 0; k < f->columns; k++) {
    kaon_z g[MAX * MAX], c[MAX];
    if (!projects(f, k)) continue;
    taken_only(n, f->column[k].used, f->column[k].g, g);
    for (int i = 0; i < n; i++) c[i] = slot_of(&f->host[k], OF_R + i);
    kaon_ritz_solve(n, g, kaon_ritz_dependent(f->now[k].epsilon2), c);
    for (int i = 0; i < n; i++) {
      const int good = isfinite(creal(c[i])) && isfinite(cimag(c[i]));
      f->host[k].slot[COEFFICIENT + i][0] = good ? creal(c[i]) : 0;
      f->host[k].slot[COEFFICIENT + i][1] = good ? cimag(c[i]) : 0;
    }
  }
  for (int i = 0; i < n; i++) {
    plus[i] = KAON_PLUS(COEFFICIENT + i);
    minus[i] = KAON_MINUS(COEFFICIENT + i);
  }
  KAON_TRY(kaon_scalars_write(f->scalars, f->host));
  KAON_TRY(kaon_blas_multi_axpy(n, plus, f->d, s->x_inner, &plain));
  return kaon_blas_multi_axpy(n, minus, f->e, s->r, &plain);
}

/* ---- restart ---- The matrices g and b are transformed with the vectors. Recomputing their
 * products would cost as much as the restart itself. They are then the products of unrounded
 * vectors: a restart adds an error of 2 eps of both vectors' lengths to a product. Older errors are
 * restricted with the product, so their share of a vector's square does not grow.
 * tests/test_deflation_uses.c allows 2 eps a restart.
 * x and r move alike whatever the coefficients are. What a projection leaves because of these
 * errors is left to the next one. */

/* Column k's coefficients: that of vector i for the one in position p is in slot p n + i. */
static void choose(const kaon_solver *s, int k) {
  struct kaon_deflation *f = s->deflation;
  kaon_deflated_column *c = &f->column[k];
  kaon_z w[MAX * MAX];
  const int n = f->pairs;
  int kept[MAX];
  double least = 0;
  const double dependent = kaon_ritz_dependent(f->now[k].epsilon2);
  const int keep = kaon_ritz_choose(n, c->g, c->b, dependent, KEPT(n), kept, w, &least);
  memset(f->host[k].slot, 0, (size_t)(n * n) * sizeof f->host[k].slot[0]);
  c->used = 0;
  for (int m = 0; m < keep; m++) {
    c->used |= 1 << kept[m];
    for (int i = 0; i < n; i++) {
      f->host[k].slot[kept[m] * n + i][0] = creal(w[i * keep + m]);
      f->host[k].slot[kept[m] * n + i][1] = cimag(w[i * keep + m]);
    }
  }
  kaon_ritz_restrict(n, keep, kept, w, c->g);
  kaon_ritz_restrict(n, keep, kept, w, c->b);
  kaon_log(s->ctx, KAON_LOG_DEBUG,
           "solver: column %d, step %d: %d of %d directions kept, the smallest Ritz value %.3e", k,
           f->now[k].iterations, keep, n, least);
}

static kaon_status restart(kaon_solver *s) {
  struct kaon_deflation *f = s->deflation;
  const kaon_pass plain = pass_of(f, KAON_NO_SLOT);
  const int n = f->pairs;
  int any = 0;
  for (int k = 0; k < f->columns; k++) {
    f->column[k].place = is_full(f, k) ? 0 : -1; /* it takes part below */
    if (!is_full(f, k)) continue;
    choose(s, k);
    any = 1;
  }
  for (int p = 0; any && p < n; p++) {
    kaon_coefficient a[MAX];
    kaon_vector *d[MAX], *e[MAX];
    int open = 0, others = 0;
    for (int i = 0; i < n; i++) {
      if (i == p) continue;
      a[others] = KAON_PLUS(p * n + i);
      d[others] = f->d[i];
      e[others++] = f->e[i];
    }
    for (int k = 0; k < f->columns; k++) {
      const int takes = f->column[k].place == 0 && (f->column[k].used >> p & 1);
      f->host[k].gate = takes ? KAON_GATE_STEP : 0;
      open += takes;
    }
    if (open == 0) continue;
    KAON_TRY(kaon_scalars_write(f->scalars, f->host));
    KAON_TRY(kaon_blas_multi_axpy(others, a, d, f->d[p], &plain));
    KAON_TRY(kaon_blas_multi_axpy(others, a, e, f->e[p], &plain));
  }
  return KAON_OK;
}

/* ---- a service ---- */

static kaon_status mark(kaon_solver *s) {
  struct kaon_deflation *f = s->deflation;
  const kaon_pass plain = pass_of(f, KAON_NO_SLOT);
  int open;
  KAON_TRY(open_columns(f, goes_on, &open));
  if (open == 0) return KAON_OK;
  KAON_TRY(kaon_blas_copy(s->outer.x, f->mark_x, &plain));
  KAON_TRY(kaon_blas_copy(s->outer.r, f->mark_r, &plain));
  for (int k = 0; k < f->columns; k++) f->column[k].marked |= goes_on(f, k) != 0;
  return KAON_OK;
}

kaon_status kaon_deflation_run(kaon_solver *s) {
  struct kaon_deflation *f = s->deflation;
  if (f == NULL || s->replay.recording) return KAON_OK;
  KAON_TRY(kaon_scalars_read(s->states.scalars, f->now));
  int any = 0;
  f->late = 0;
  for (int k = 0; k < f->columns; k++) any |= goes_on(f, k);
  for (int k = 0; k < f->columns; k++) f->late |= uses(f, k);
  if (!any) return KAON_OK;
  KAON_TRY(mark_zero(s));
  KAON_TRY(make_pairs(s, s->deflation->image[0]));
  KAON_TRY(mark(s));
  KAON_TRY(project(s));
  return restart(s);
}

kaon_status kaon_deflation_renew(kaon_solver *s, const kaon_vector *p, const kaon_vector *z) {
  struct kaon_deflation *f = s->deflation;
  const int by_error = kaon_deflates_error(s), gate = KAON_GATE_CONTINUE;
  const kaon_pass norm = kaon_gated_norm(s, gate, KAON_S_DENOMINATOR, KAON_REC_NONE);
  const kaon_pass own = kaon_gated_dot(s, gate, KAON_NO_SLOT, p, KAON_S_DENOMINATOR, KAON_REC_NONE);
  const kaon_pass other =
      kaon_gated_dot(s, gate, KAON_NO_SLOT, f->image[0], KAON_S_OVERLAP, KAON_REC_CG_DEFLATED);
  const int slots[3] = {KAON_S_OVERLAP, KAON_NO_SLOT, KAON_NO_SLOT};
  if (!s->replay.recording && f->late) {
    KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, p, f->image[0], by_error ? &own : &norm));
    if (by_error) {
      const kaon_pass pass = kaon_gated_norm(s, gate, KAON_NO_SLOT, KAON_REC_CG_DEFLATED);
      KAON_TRY(kaon_blas_dot(f->image[0], z, slots, &pass));
    } else {
      KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, z, f->image[1], &other));
    }
  }
  return kaon_recur(s, KAON_GATE_RENEW, KAON_REC_DEFLATED_RESUME);
}

int kaon_deflation_applications(const kaon_solver *s) {
  if (s->deflation == NULL) return 0;
  return kaon_deflates_error(s) ? 1 : 2;
}
