/* scaling_case.h - systems at all scales. b or A is multiplied by powers of 2. Steps, histories and
 * residuals then stay the same in every bit, and so does x apart from its power of 2. Include the
 * cmocka preamble before. */
#ifndef SCALING_CASE_H
#define SCALING_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/machine.h"
#include "tests/util/methods.h"
#include "tests/util/test_util.h"

/* From 1e-100 to 1e40, and both ends of the range in which b is solved as it is. */
static const int powers[] = {-332, -133, -100, -47, -20, 18, 47, 133};
enum { COLUMNS = 8, HISTORY = 256 };
static const int machines[] = {MACHINE_CPU, MACHINE_CUDA};

static kaon_context *ctx;
static int machine;

static inline int open_machine(int which) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.threads = 1;
  machine = which;
  if (machine_lacks(machine)) return 0;
  must(NULL, machine_open(machine, options, &ctx));
  return 1;
}

/* A x = b with A = 2^of_A times the ordinary A, and random b times 2^of_b[k] in column k. */
typedef struct system {
  kaon_operator *A;
  const kaon_space *space; /* of b */
  int numbers, of_A;
  const int *of_b; /* NULL: 0 */
} system_of;

/* The result of a solve, with x times 2^(of_A - of_b[k]). */
typedef struct outcome {
  double *x, history[COLUMNS][HISTORY];
  kaon_column_report reports[COLUMNS];
} outcome;

static inline int power_of(const system_of *s, int k) {
  return s->of_b != NULL ? s->of_b[k] : 0;
}

/* Random numbers of this size, times 2^(of_b[k] - of_A). */
static inline void import(const system_of *s, kaon_vector *v, uint64_t seed, double size,
                          int of_A) {
  double *host = malloc((size_t)s->numbers * sizeof *host);
  for (int k = 0; k < COLUMNS; k++) {
    for (int i = 0; i < s->numbers; i++)
      host[i] = ldexp(size * test_uniform(&seed), power_of(s, k) - of_A);
    must(ctx, kaon_vector_import(v, k, host, KAON_BASIS_UKQCD));
  }
  free(host);
}

static inline void export(const system_of *s, const kaon_vector *x, double *host) {
  for (int k = 0; k < COLUMNS; k++) {
    double *column = host + k * s->numbers;
    must(ctx, kaon_vector_export(x, k, column, KAON_BASIS_UKQCD));
    for (int i = 0; i < s->numbers; i++) column[i] = ldexp(column[i], s->of_A - power_of(s, k));
  }
}

static inline kaon_vector *vector(const system_of *s, kaon_precision precision, int times) {
  kaon_vector *v = NULL;
  must(ctx, kaon_vector_create(ctx, s->space, precision, times * COLUMNS, &v));
  return v;
}

/* Solves. 0: the method does not offer these options. */
static inline int run(const system_of *s, const kaon_solver_options *o, outcome *out) {
  kaon_solver *solver = NULL;
  if (kaon_solver_create(s->A, COLUMNS, o, &solver) != KAON_OK) return 0;
  memset(out->history, 0, sizeof out->history);
  out->x = calloc((size_t)(COLUMNS * s->numbers), sizeof *out->x);
  kaon_vector *b = vector(s, KAON_DOUBLE, 1), *x = vector(s, KAON_DOUBLE, 1);
  import(s, b, 5, 1, 0);
  import(s, x, 6, 0.1, s->of_A);
  must(ctx, kaon_solver_solve(solver, b, x, out->reports, NULL));
  export(s, x, out->x);
  for (int k = 0; k < COLUMNS; k++) {
    int count = HISTORY;
    must(ctx, kaon_solver_history(solver, k, out->history[k], &count));
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&b);
  kaon_solver_destroy(&solver);
  return 1;
}

/* Fails unless b, the outcome at another scale, equals a in every bit. */
static inline void same(const system_of *s, const kaon_solver_options *o, const outcome *a,
                        const outcome *b) {
  int differs = memcmp(a->x, b->x, (size_t)(COLUMNS * s->numbers) * sizeof *a->x) ? -1 : 0;
  for (int k = 0; k < COLUMNS; k++) {
    const kaon_column_report *p = &a->reports[k], *q = &b->reports[k];
    if (memcmp(a->history[k], b->history[k], sizeof a->history[k]) != 0 || p->reason != q->reason ||
        p->iterations != q->iterations || p->residual != q->residual ||
        p->stop_residual != q->stop_residual)
      differs = k + 1;
    if (differs > 0)
      printf(
          "  %s, inner precision %d, A times 2^%d, b times 2^%d: %s after %d steps, residual %g; "
          "ordinary: %s, %d, %g\n",
          method_name(o->method), (int)o->sloppy, s->of_A, power_of(s, k),
          kaon_stop_reason_name(q->reason), q->iterations, q->residual,
          kaon_stop_reason_name(p->reason), p->iterations, p->residual);
  }
  assert_int_equal(differs, 0);
}

static inline void converged(const kaon_solver_options *o, const outcome *out) {
  for (int k = 0; k < COLUMNS && !method_has(o->method, KAON_METHOD_STATIONARY); k++) {
    if (out->reports[k].reason != KAON_CONVERGED) printf("  %s\n", method_name(o->method));
    assert_int_equal(out->reports[k].reason, KAON_CONVERGED);
  }
}

/* Asynchronous blocks have the same bits in every run on one CPU thread only. */
static inline int repeats(int method) {
  return method != KAON_ASYNC || machine == MACHINE_CPU;
}

static inline kaon_solver_options options_of(int method, int precision) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = (kaon_method)method;
  o.sloppy = (kaon_precision)precision;
  o.tol = 1e-8;
  o.max_iterations = method_has(method, KAON_METHOD_STATIONARY) ? 20 : 1000;
  return o;
}

#endif
