/* ref_kaczmarz.c - row projections, CGMNC, CARP-CG and Cimmino-CG as the papers write them, on
 * triplets sorted by row. Whole vectors, no copies except those of blocks, the weighted product of
 * CARP-CG as it is, and the true residual after each step.
 *
 * Sources: Kaczmarz, Bull. Int. Acad. Pol. Sci. Lett. 35 (1937) 355; Bjorck, Elfving, BIT 19
 * (1979) 145; Gordon, Gordon, Parallel Computing 36 (2010) 495. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t rows;
  size_t *start; /* of row i in the lists */
  int64_t *column;
  ref_complex *value;
  double *norm2;
} table;

static table make_table(const ref_sparse *a) {
  table t = {.rows = a->rows};
  t.start = calloc(a->rows + 2, sizeof *t.start);
  t.column = malloc((a->entries + 1) * sizeof *t.column);
  t.value = malloc((a->entries + 1) * sizeof *t.value);
  t.norm2 = calloc(a->rows + 1, sizeof *t.norm2);
  for (size_t n = 0; n < a->entries; n++) t.start[a->row[n] + 2]++;
  for (size_t i = 0; i < a->rows; i++) t.start[i + 2] += t.start[i + 1];
  for (size_t n = 0; n < a->entries; n++) {
    const size_t to = t.start[a->row[n] + 1]++;
    t.column[to] = a->column[n];
    t.value[to] = a->value[n];
  }
  /* entries of one place are one: their sum counts */
  for (size_t i = 0; i < a->rows; i++)
    for (size_t n = t.start[i]; n < t.start[i + 1]; n++)
      for (size_t m = n + 1; m < t.start[i + 1]; m++)
        if (t.column[m] == t.column[n]) {
          t.value[n] += t.value[m];
          t.value[m] = 0;
        }
  for (size_t i = 0; i < a->rows; i++)
    for (size_t n = t.start[i]; n < t.start[i + 1]; n++)
      t.norm2[i] += creal(t.value[n]) * creal(t.value[n]) + cimag(t.value[n]) * cimag(t.value[n]);
  return t;
}

static void free_table(table *t) {
  free(t->start);
  free(t->column);
  free(t->value);
  free(t->norm2);
}

static ref_complex row_times(const table *t, size_t i, const ref_complex *x) {
  ref_complex s = 0;
  for (size_t n = t->start[i]; n < t->start[i + 1]; n++) s += t->value[n] * x[t->column[n]];
  return s;
}

static void project(const table *t, size_t i, double lambda, ref_complex b, ref_complex *x) {
  const ref_complex c = lambda * (b - row_times(t, i, x)) / t->norm2[i];
  for (size_t n = t->start[i]; n < t->start[i + 1]; n++) x[t->column[n]] += c * conj(t->value[n]);
}

static size_t row_at(const int64_t *order, size_t at) {
  return order ? (size_t)order[at] : at;
}

static void sweep(const table *t, const int64_t *order, size_t first, size_t last, int backward,
                  double lambda, const ref_complex *b, ref_complex *x) {
  for (size_t k = first; k < last; k++) {
    const size_t i = row_at(order, backward ? first + last - 1 - k : k);
    project(t, i, lambda, b ? b[i] : 0, x);
  }
}

/* How many of the blocks meet column j; 1 where none does. */
static int *count_blocks(const table *t, size_t blocks, const int64_t *order) {
  int *s = calloc(t->rows + 1, sizeof *s);
  long long *last = malloc((t->rows + 1) * sizeof *last);
  for (size_t j = 0; j < t->rows; j++) last[j] = -1;
  for (size_t k = 0; k < blocks; k++)
    for (size_t at = t->rows * k / blocks; at < t->rows * (k + 1) / blocks; at++)
      for (size_t i = row_at(order, at), n = t->start[i]; n < t->start[i + 1]; n++)
        if (last[t->column[n]] != (long long)k) {
          last[t->column[n]] = (long long)k;
          s[t->column[n]]++;
        }
  for (size_t j = 0; j < t->rows; j++)
    if (s[j] == 0) s[j] = 1;
  free(last);
  return s;
}

/* Each block from x, then averages of what those that meet a component made of it. */
static void block_sweep(const table *t, size_t blocks, const int64_t *order, const int *s,
                        int backward, double lambda, const ref_complex *b, ref_complex *x) {
  ref_complex *own = malloc(t->rows * sizeof *own), *sum = calloc(t->rows, sizeof *sum);
  int *seen = calloc(t->rows, sizeof *seen);
  for (size_t k = 0; k < blocks; k++) {
    const size_t first = t->rows * k / blocks, last = t->rows * (k + 1) / blocks;
    memcpy(own, x, t->rows * sizeof *own);
    sweep(t, order, first, last, backward, lambda, b, own);
    for (size_t at = first; at < last; at++)
      for (size_t i = row_at(order, at), n = t->start[i]; n < t->start[i + 1]; n++) {
        const int64_t j = t->column[n];
        if (seen[j] == (int)k + 1) continue;
        seen[j] = (int)k + 1;
        sum[j] += own[j];
      }
  }
  for (size_t j = 0; j < t->rows; j++)
    if (seen[j]) x[j] = sum[j] / s[j];
  free(own);
  free(sum);
  free(seen);
}

/* x += lambda A^H D^-1 (b - A x) */
static void all_rows(const table *t, double lambda, const ref_complex *b, ref_complex *x) {
  ref_complex *c = malloc(t->rows * sizeof *c);
  for (size_t i = 0; i < t->rows; i++)
    c[i] = lambda * ((b ? b[i] : 0) - row_times(t, i, x)) / t->norm2[i];
  for (size_t i = 0; i < t->rows; i++)
    for (size_t n = t->start[i]; n < t->start[i + 1]; n++)
      x[t->column[n]] += c[i] * conj(t->value[n]);
  free(c);
}

static void sweeps(const table *t, const ref_projection *p, const int *s, const ref_complex *b,
                   ref_complex *x) {
  for (int back = 0; back < (p->kind == REF_SINGLE_SWEEP ? 1 : 2); back++) {
    if (p->kind == REF_BLOCK_SWEEPS)
      block_sweep(t, p->blocks, p->order, s, back, p->lambda, b, x);
    else if (p->kind == REF_ALL_ROWS)
      all_rows(t, p->lambda, b, x);
    else
      sweep(t, p->order, 0, t->rows, back, p->lambda, b, x);
  }
}

void ref_project(const ref_sparse *a, const ref_projection *p, const ref_complex *b,
                 ref_complex *x) {
  table t = make_table(a);
  int *s = p->kind == REF_BLOCK_SWEEPS ? count_blocks(&t, p->blocks, p->order) : NULL;
  sweeps(&t, p, s, b, x);
  free(s);
  free_table(&t);
}

static ref_complex weighted(size_t n, const int *s, const ref_complex *x, const ref_complex *y) {
  ref_complex sum = 0;
  for (size_t j = 0; j < n; j++) sum += (s ? s[j] : 1) * conj(x[j]) * y[j];
  return sum;
}

static double residual(const table *t, const ref_complex *b, const ref_complex *x) {
  double r2 = 0, b2 = 0;
  for (size_t i = 0; i < t->rows; i++) {
    const double r = cabs(b[i] - row_times(t, i, x)), size = cabs(b[i]);
    r2 += r * r;
    b2 += size * size;
  }
  return sqrt(r2 / b2);
}

int ref_projection_cg(const ref_sparse *a, const ref_projection *how, const ref_complex *b,
                      double tol, int most, ref_complex *x) {
  table t = make_table(a);
  const size_t n = a->rows;
  int *s = how->kind == REF_BLOCK_SWEEPS ? count_blocks(&t, how->blocks, how->order) : NULL;
  ref_complex *r = calloc(n, sizeof *r), *p = malloc(n * sizeof *p), *q = malloc(n * sizeof *q);
  int steps = 0;
  memset(x, 0, n * sizeof *x);
  sweeps(&t, how, s, b, r);
  memcpy(p, r, n * sizeof *p);
  double rho = creal(weighted(n, s, r, r));
  for (; steps < most && residual(&t, b, x) >= tol; steps++) {
    memcpy(q, p, n * sizeof *q);
    sweeps(&t, how, s, NULL, q);
    for (size_t j = 0; j < n; j++) q[j] = p[j] - q[j];
    const double alpha = rho / creal(weighted(n, s, p, q));
    for (size_t j = 0; j < n; j++) {
      x[j] += alpha * p[j];
      r[j] -= alpha * q[j];
    }
    const double next = creal(weighted(n, s, r, r)), beta = next / rho;
    for (size_t j = 0; j < n; j++) p[j] = r[j] + beta * p[j];
    rho = next;
  }
  free(r);
  free(p);
  free(q);
  free(s);
  free_table(&t);
  return steps;
}
