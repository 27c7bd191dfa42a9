/* bench_async_condition.c - condition numbers |M|_1 |M^-1|_1 of M = A and of M = D^-1 A. |M|_1 is
 * exact. |M^-1|_1 is estimated from below by solves with CG, for a limited time. Four ascents run
 * together, since one alone stops at a column that is not the largest (Trefethen_2000: 5.16 for
 * 6.158). Sources: Hager, SIAM J. Sci. Stat. Comput. 5 (1984) 311; Higham, ACM Trans. Math. Softw.
 * 14 (1988) 381; Higham, Tisseur, SIAM J. Matrix Anal. Appl. 21 (2000) 1185. */
#include "bench/papers/bench_async_condition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "interfaces/common/signals.h"

typedef struct estimate {
  relax_bench *r;
  kaon_solver *solver;
  double end;          /* cli_now() at which solves end */
  const double *scale; /* the diagonal, or NULL: M = A */
  int64_t rows;
  double *x, *y, *slope; /* slope: growth of the norm towards each unit vector */
  int *solves;
  const char *why; /* why a solve did not converge; or "" */
} estimate;

static int is_over(void *user, int iteration, int column, double residual) {
  const estimate *e = user;
  (void)iteration;
  (void)column;
  (void)residual;
  return signals_interrupted() || cli_now() >= e->end;
}

/* y = M^-1 x, or M^-T x. For M = D^-1 A and A = A^T these are A^-1 D x and D A^-1 x. */
static kaon_status solve(estimate *e, int transposed) {
  kaon_column_report report;
  const double *given = e->x;
  if (e->scale && !transposed)
    for (int64_t i = 0; i < e->rows; i++) e->y[i] = e->scale[i] * e->x[i];
  if (e->scale && !transposed) given = e->y;
  kaon_status status = kaon_vector_import(e->r->right, 0, given, KAON_BASIS_UKQCD);
  if (status == KAON_OK) status = kaon_vector_zero(e->r->x);
  if (status == KAON_OK) status = kaon_solver_solve(e->solver, e->r->right, e->r->x, &report, NULL);
  if (status == KAON_OK && bench_stopped()) status = KAON_ERR_CANCELLED;
  if (status == KAON_OK && report.reason == KAON_CANCELLED) e->why = "out of time";
  if (status == KAON_OK && report.reason != KAON_CONVERGED && !*e->why)
    e->why = "a solve did not converge";
  if (status == KAON_OK) status = kaon_vector_export(e->r->x, 0, e->y, KAON_BASIS_UKQCD);
  if (e->scale && transposed)
    for (int64_t i = 0; i < e->rows; i++) e->y[i] *= e->scale[i];
  ++*e->solves;
  return status;
}

static double sum_of(const estimate *e) {
  double sum = 0;
  for (int64_t i = 0; i < e->rows; i++) sum += fabs(e->y[i]);
  return sum;
}

/* Tries the additional vector of Higham, for which the ascent misses little. */
static kaon_status alternating(estimate *e, double *norm) {
  const double n = (double)e->rows;
  for (int64_t i = 0; i < e->rows; i++)
    e->x[i] = (i % 2 ? -1 : 1) * (1 + (n > 1 ? (double)i / (n - 1) : 0));
  const kaon_status status = solve(e, 0);
  if (status == KAON_OK && !*e->why) *norm = fmax(*norm, 2 * sum_of(e) / (3 * n));
  return status;
}

enum { TOGETHER = 4, ASCENTS = 5 };

/* Sets x of ascent j: the unit vector `at`, or at the start (-1) 1 / n everywhere, with random
 * signs for j > 0. */
static void begin_at(estimate *e, int j, int64_t at) {
  uint64_t state = (uint64_t)j;
  for (int64_t i = 0; i < e->rows; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    e->x[i] = at >= 0 ? i == at : (j > 0 && state >> 63 ? -1 : 1) / (double)e->rows;
  }
}

/* One turn of an ascent from x: its norm and the slopes there. */
static kaon_status climb(estimate *e, double *norm) {
  kaon_status status = solve(e, 0);
  if (status != KAON_OK || *e->why) return status;
  *norm = fmax(*norm, sum_of(e));
  for (int64_t i = 0; i < e->rows; i++) e->x[i] = e->y[i] < 0 ? -1 : 1;
  status = solve(e, 1);
  if (status != KAON_OK || *e->why) return status;
  for (int64_t i = 0; i < e->rows; i++) e->slope[i] = fmax(e->slope[i], fabs(e->y[i]));
  return status;
}

/* Chooses the unit vectors of the steepest slopes, without those visited before (-1). Returns how
 * many. */
static int choose_next(estimate *e, int64_t at[TOGETHER]) {
  int found = 0;
  for (int j = 0; j < TOGETHER; j++) {
    int64_t best = 0;
    for (int64_t i = 1; i < e->rows; i++)
      if (e->slope[i] > e->slope[best]) best = i;
    at[j] = e->slope[best] > 0 ? best : -1;
    found += at[j] >= 0;
    e->slope[best] = -1;
  }
  return found;
}

/* *norm = |M^-1|_1, by ascents over unit vectors. Where time is over: the best so far, or 0. */
static kaon_status inverse_norm(estimate *e, double *norm) {
  int64_t at[TOGETHER], been[TOGETHER * ASCENTS];
  int count = 0;
  *norm = 0;
  for (int n = 0; n < ASCENTS; n++) {
    const double before = *norm;
    for (int64_t i = 0; i < e->rows; i++) e->slope[i] = 0;
    for (int j = 0; j < TOGETHER; j++) {
      if (n > 0 && at[j] < 0) continue;
      begin_at(e, j, n > 0 ? at[j] : -1);
      const kaon_status status = climb(e, norm);
      if (status != KAON_OK || *e->why) return status;
    }
    if (n > 0 && *norm <= before) break;
    for (int i = 0; i < count; i++) e->slope[been[i]] = -1;
    if (!choose_next(e, at)) break;
    for (int j = 0; j < TOGETHER; j++)
      if (at[j] >= 0) been[count++] = at[j];
  }
  return alternating(e, norm);
}

/* |A|_1, |D^-1 A|_1 and the diagonal. */
static kaon_status norms_of(const relax_bench *r, double *diagonal, double norms[2]) {
  const size_t rows = (size_t)r->l.info.rows, entries = (size_t)r->l.info.entries;
  int64_t *start = malloc((rows + 1) * sizeof *start);
  int32_t *column = malloc((entries + 1) * sizeof *column);
  double *value = malloc((entries + 1) * sizeof *value);
  double *sums = calloc(2 * rows + 1, sizeof *sums);
  kaon_status status = start && column && value && sums ? KAON_OK : KAON_ERR_MEMORY;
  if (status == KAON_OK) status = kaon_matrix_rows(r->l.matrix, start, column, value);
  for (size_t i = 0; i < rows && status == KAON_OK; i++) {
    diagonal[i] = 0;
    for (int64_t k = start[i]; k < start[i + 1]; k++)
      if (column[k] == (int32_t)i) diagonal[i] = value[k];
    for (int64_t k = start[i]; k < start[i + 1]; k++) {
      sums[column[k]] += fabs(value[k]);
      sums[rows + (size_t)column[k]] += fabs(value[k] / diagonal[i]);
    }
  }
  norms[0] = norms[1] = 0;
  for (size_t i = 0; i < rows && status == KAON_OK; i++) {
    norms[0] = fmax(norms[0], sums[i]);
    norms[1] = fmax(norms[1], sums[rows + i]);
  }
  free(start);
  free(column);
  free(value);
  free(sums);
  return status;
}

static kaon_status make_solver(estimate *e, kaon_operator **K) {
  const relax_bench *r = e->r;
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  options.method = KAON_CG;
  options.tol = 1e-10;
  options.max_iterations = 100000;
  options.monitor = is_over;
  options.monitor_user = e;
  kaon_status status = kaon_precond_jacobi(r->l.A, K);
  options.preconditioner = *K;
  return status == KAON_OK ? kaon_solver_create(r->l.A, 1, &options, &e->solver) : status;
}

/* work: the diagonal and space for three vectors. scale: as in estimate. */
static kaon_status number_of(estimate *e, const double *scale, double norm, double *work,
                             condition_number *n) {
  double inverse = 0;
  e->scale = scale;
  e->x = work + e->rows;
  e->y = work + 2 * e->rows;
  e->slope = work + 3 * e->rows;
  e->why = "";
  e->end = cli_now() + CONDITION_SECONDS;
  const kaon_status status = inverse_norm(e, &inverse);
  n->value = inverse > 0 ? norm * inverse : NAN;
  n->why = e->why;
  n->bound = *e->why && inverse > 0;
  return status;
}

static const char *refusal_of(const relax_bench *r) {
  if (r->b->info.ranks > 1) return "estimated on one rank alone";
  if (!r->l.info.hermitian) return "estimated of Hermitian matrices alone";
  return r->l.info.reals != 1 ? "estimated of real matrices alone" : "";
}

const char *condition_text(const condition_number *n, char text[32]) {
  if (isnan(n->value)) return "n/a";
  snprintf(text, 32, "%s%.5g", n->bound ? "at least " : "", n->value);
  return text;
}

int condition_estimate(relax_bench *r, condition *c) {
  const size_t rows = (size_t)r->l.info.rows;
  double norms[2] = {NAN, NAN};
  kaon_operator *K = NULL;
  const char *why = refusal_of(r);
  *c = (condition){{NAN, 0, why}, {NAN, 0, why}, 0};
  if (*why) return EXIT_DONE;
  double *work = malloc((4 * rows + 1) * sizeof *work);
  estimate e = {.r = r, .rows = r->l.info.rows, .solves = &c->solves, .why = ""};
  kaon_status status = work ? norms_of(r, work, norms) : KAON_ERR_MEMORY;
  if (status == KAON_OK) status = make_solver(&e, &K);
  if (status == KAON_OK) status = number_of(&e, NULL, norms[0], work, &c->plain);
  if (status == KAON_OK) status = number_of(&e, work, norms[1], work, &c->scaled);
  kaon_solver_destroy(&e.solver);
  kaon_operator_destroy(&K);
  free(work);
  const int code = cli_status(r->l.ctx, status, "condition numbers");
  return code == EXIT_DONE ? linear_source(&r->l, r->right) : code;
}
