/* block_recurrences.h - the small dense recurrences of block methods (solvers/methods/blockcg.c):
 * complex n x n matrices for a batch of n columns.
 * Common subset of C and CUDA C.
 * Storage: column k of a matrix is stored in the state of column k, entry (i, k) in slot base + i.
 * A column whose gate is closed has neither a row nor a column in these matrices: its entries read
 * as 0 and are not written.
 * The reduction that completes their inputs runs these functions. On the CPU that is one thread, on
 * a GPU all threads of the last block (kaon_block_team).
 *
 * Orthonormalisation uses the Cholesky factor of the Gram matrix: G = S^H S, and Q S^-1 has
 * orthonormal columns. A column is dropped if its part orthogonal to the columns before it is
 * within rounding. Its row of S, its column of S^-1 and so its basis vector are then 0. The lost
 * part of its residual is accumulated in KAON_S_LOST. A column whose residual has fallen to that
 * level requests a replacement of the residuals, which restores the lost part. */
#pragma once

#include <stddef.h>

#include "lib/math/steps/recurrences.h"

/* Largest number of columns in a block, and the doubles of workspace that n columns need. */
enum { KAON_BLOCK_MAX = 64 };
static inline KAON_HD int kaon_block_workspace(int n) {
  return 6 * n * n + 2 * n;
}

/* Slots: one residual part, then matrices of KAON_BLOCK_MAX rows.
 *   GRAM  the Gram matrix, written by a reduction    C  residuals in the basis: R = Q C
 *   T     Q becomes Q T                              M  P becomes Q + P M
 *   Z     the inverse of P^H A P                     Y  X grows by P Y */
enum {
  KAON_S_LOST = KAON_S_METHOD,
  KAON_S_GRAM = 32,
  KAON_S_C = KAON_S_GRAM + KAON_BLOCK_MAX,
  KAON_S_T = KAON_S_C + KAON_BLOCK_MAX,
  KAON_S_M = KAON_S_T + KAON_BLOCK_MAX,
  KAON_S_Z = KAON_S_M + KAON_BLOCK_MAX,
  KAON_S_Y = KAON_S_Z + KAON_BLOCK_MAX
};
#ifndef __cplusplus
_Static_assert((int)KAON_S_Y + (int)KAON_BLOCK_MAX <= (int)KAON_SLOTS, "the matrices fit a state");
#endif

/* X(id, function): continues the lists of recurrence_ids.h. Each runs once for all columns. */
#define KAON_BLOCK_RECURRENCES(X)                 \
  X(KAON_REC_BLOCK_VERIFIED, kaon_block_verified) \
  X(KAON_REC_BLOCK_START, kaon_block_start)       \
  X(KAON_REC_BLOCK_START_NR, kaon_block_start_nr) \
  X(KAON_REC_BLOCK_AGAIN, kaon_block_again)       \
  X(KAON_REC_BLOCK_ALPHA, kaon_block_alpha)       \
  X(KAON_REC_BLOCK_ALPHA_NR, kaon_block_alpha_nr) \
  X(KAON_REC_BLOCK_STEP, kaon_block_step)         \
  X(KAON_REC_BLOCK_STEP_NR, kaon_block_step_nr)   \
  X(KAON_REC_BLOCK_PROJECT, kaon_block_project)   \
  X(KAON_REC_BLOCK_INVERT, kaon_block_invert)     \
  X(KAON_REC_BLOCK_CONJUGATE, kaon_block_conjugate)

enum {
  KAON_REC_BLOCK = 1000, /* larger ids act on whole blocks */
#define KAON_X(id, function) id,
  KAON_BLOCK_RECURRENCES(KAON_X)
#undef KAON_X
};

/* A column is dropped if its orthogonal part squared is below this fraction of its square. The
 * first bound is the rounding of Gram sums in double. The second is the rounding of the vectors,
 * KAON_BLOCK_NOISE times their epsilon2. */
#define KAON_BLOCK_DEPENDENT 1e-12
#define KAON_BLOCK_NOISE 256.0
/* In P^H A P, a pivot below this fraction of the direction's own (p, A p) is rounding. The same
 * fraction bounds what can be known of |r|^2. */
#define KAON_BLOCK_ROUNDING 1e-14

#ifdef __CUDA_ARCH__
#define KAON_BLOCK_SYNC() __syncthreads()
#else
#define KAON_BLOCK_SYNC() ((void)0)
#endif

/* A thread's view of the team. `open` has one bit for each column that was open when the recurrence
 * began. a, b and c are matrices in the workspace, entry (i, j) at 2 (i n + j). pivot[] holds n
 * pivots, 0 for a dropped column; rest[] holds them before that decision. */
typedef struct kaon_block_team {
  kaon_column_state *state;
  uint64_t open;
  int n;
  int rank, size; /* of the threads that run a recurrence together */
  double *a, *b, *c, *pivot, *rest;
} kaon_block_team;

static inline KAON_HD kaon_block_team kaon_block_team_of(kaon_column_state *state, int n, int mask,
                                                         int rank, int size, double *room) {
  kaon_block_team t;
  t.state = state;
  t.n = n;
  t.open = 0;
  for (int k = 0; k < n; k++) t.open |= (uint64_t)((state[k].gate & mask) != 0) << k;
  t.rank = rank;
  t.size = size;
  t.a = room;
  t.b = t.a + 2 * n * n;
  t.c = t.b + 2 * n * n;
  t.pivot = t.c + 2 * n * n;
  t.rest = t.pivot + n;
  return t;
}

static inline KAON_HD int kaon_block_open(const kaon_block_team *t, int k) {
  return (int)(t->open >> k & 1);
}

/* to = the matrix at `base`. Like all functions below that write matrices, it ends with a barrier,
 * so the whole team sees the result. */
static inline KAON_HD_CALLED void kaon_block_load(const kaon_block_team *t, int base, double *to) {
  const int n = t->n;
  for (int e = t->rank; e < n * n; e += t->size) {
    const int i = e % n, j = e / n;
    const int open = kaon_block_open(t, i) && kaon_block_open(t, j);
    const double *slot = t->state[j].slot[base + i];
    to[2 * (i * n + j)] = open ? slot[0] : 0;
    to[2 * (i * n + j) + 1] = open ? slot[1] : 0;
  }
  KAON_BLOCK_SYNC();
}

static inline KAON_HD void kaon_block_put(const kaon_block_team *t, int base, int i, int j,
                                          double re, double im) {
  if (kaon_block_open(t, j)) kaon_set(&t->state[j], base + i, re, im);
}

/* The matrix at `base` = from, or its adjoint, or 0 if from is NULL. */
static inline KAON_HD_CALLED void kaon_block_store(const kaon_block_team *t, const double *from,
                                                   int adjoint, int base) {
  const int n = t->n;
  for (int e = t->rank; e < n * n; e += t->size) {
    const int i = e % n, j = e / n;
    if (from == NULL) {
      kaon_block_put(t, base, i, j, 0, 0);
      continue;
    }
    const double *z = from + 2 * (adjoint ? j * n + i : i * n + j);
    kaon_block_put(t, base, i, j, z[0], adjoint ? -z[1] : z[1]);
  }
  KAON_BLOCK_SYNC();
}

/* Entry (i, j) of x y, or of x^H y. */
static inline KAON_HD void kaon_block_entry(const kaon_block_team *t, const double *x, int adjoint,
                                            const double *y, int i, int j, double *z) {
  const int n = t->n;
  double re = 0, im = 0;
  for (int k = 0; k < n; k++) {
    const double *u = x + 2 * (adjoint ? k * n + i : i * n + k), *v = y + 2 * (k * n + j);
    const double ui = adjoint ? -u[1] : u[1];
    re += u[0] * v[0] - ui * v[1];
    im += u[0] * v[1] + ui * v[0];
  }
  z[0] = re;
  z[1] = im;
}

/* z = x y or x^H y. No two of x, y and z may be the same array. */
static inline KAON_HD_CALLED void kaon_block_multiply(const kaon_block_team *t, const double *x,
                                                      int adjoint, const double *y, double *z) {
  for (int e = t->rank; e < t->n * t->n; e += t->size)
    kaon_block_entry(t, x, adjoint, y, e / t->n, e % t->n, z + 2 * e);
  KAON_BLOCK_SYNC();
}

/* Eliminates with pivot row k: subtracts its multiple from each later row of the Hermitian matrix
 * a. The same steps on b turn the unit matrix into the inverse of the lower factor of a. */
static inline KAON_HD void kaon_block_eliminate(const kaon_block_team *t, int k, double pivot) {
  const int n = t->n;
  const double inverse = 1 / pivot;
  const double *row_a = t->a + 2 * k * n, *row_b = t->b + 2 * k * n;
  for (int e = t->rank; e < (n - k - 1) * n; e += t->size) {
    const int i = k + 1 + e / n, j = e % n;
    const double fr = row_a[2 * i] * inverse, fi = -row_a[2 * i + 1] * inverse;
    const double *row = j >= i ? row_a : row_b;
    double *to = (j >= i ? t->a : t->b) + 2 * (i * n + j);
    if (j < i && j > k) continue;
    to[0] -= fr * row[2 * j] - fi * row[2 * j + 1];
    to[1] -= fr * row[2 * j + 1] + fi * row[2 * j];
  }
}

/* Factors the Hermitian matrix a, given by its upper triangle, as S^H S. Afterwards a holds S and b
 * the inverse of S^H. A column is dropped if its pivot is at most `absolute`, or at most `relative`
 * times its initial diagonal element. */
static inline KAON_HD_CALLED void kaon_block_factor(const kaon_block_team *t, double relative,
                                                    double absolute) {
  const int n = t->n;
  for (int e = t->rank; e < n * n; e += t->size) {
    t->b[2 * e] = e / n == e % n;
    t->b[2 * e + 1] = 0;
  }
  for (int k = t->rank; k < n; k += t->size) t->rest[k] = t->a[2 * (k * n + k)];
  KAON_BLOCK_SYNC();
  for (int k = 0; k < n; k++) {
    const double pivot = t->a[2 * (k * n + k)];
    const int keep = pivot > absolute && pivot > relative * t->rest[k];
    if (keep) kaon_block_eliminate(t, k, pivot);
    KAON_BLOCK_SYNC();
    if (t->rank == 0) {
      t->pivot[k] = keep ? pivot : 0;
      t->rest[k] = pivot;
    }
  }
  KAON_BLOCK_SYNC();
  for (int e = t->rank; e < n * n; e += t->size) {
    const int i = e / n, j = e % n;
    const double scale = t->pivot[i] > 0 ? 1 / sqrt(t->pivot[i]) : 0;
    const double *a = t->a + 2 * e, *b = t->b + 2 * e;
    const double z[4] = {a[0], a[1], b[0], b[1]};
    for (int c = 0; c < 2; c++) {
      t->a[2 * e + c] = scale > 0 && j >= i ? scale * (i == j && c ? 0 : z[c]) : 0;
      t->b[2 * e + c] = scale > 0 && j <= i ? scale * z[2 + c] : 0;
    }
  }
  KAON_BLOCK_SYNC();
}

static inline KAON_HD double kaon_block_dependent(const kaon_block_team *t) {
  const double noise = KAON_BLOCK_NOISE * t->state[0].epsilon2;
  return noise > KAON_BLOCK_DEPENDENT ? noise : KAON_BLOCK_DEPENDENT;
}

/* |C_j|^2: the part of residual j that the basis holds. */
static inline KAON_HD double kaon_block_moving(const kaon_block_team *t, int j) {
  double sum = 0;
  for (int i = 0; i < t->n; i++) {
    const double *c = t->state[j].slot[KAON_S_C + i];
    if (kaon_block_open(t, i)) sum += c[0] * c[0] + c[1] * c[1];
  }
  return sum;
}

/* Writes the recurrence's squared residual of each column to slot `norm`. */
static inline KAON_HD_CALLED void kaon_block_norms(const kaon_block_team *t, int norm) {
  for (int j = t->rank; j < t->n; j += t->size)
    if (kaon_block_open(t, j))
      kaon_set(&t->state[j], norm, kaon_block_moving(t, j) + t->state[j].slot[KAON_S_LOST][0], 0);
  KAON_BLOCK_SYNC();
}

/* ---- start: Q holds the residuals, and their Gram matrix has been summed ---- */

static inline KAON_HD_CALLED void kaon_block_start(const kaon_block_team *t) {
  kaon_block_load(t, KAON_S_GRAM, t->a);
  kaon_block_factor(t, kaon_block_dependent(t), 0);
  kaon_block_store(t, t->b, 1, KAON_S_T);
  kaon_block_store(t, t->a, 0, KAON_S_C);
  kaon_block_store(t, NULL, 0, KAON_S_M);
  kaon_block_store(t, NULL, 0, KAON_S_Y);
  for (int j = t->rank; j < t->n; j += t->size)
    if (kaon_block_open(t, j))
      kaon_set(&t->state[j], KAON_S_LOST, t->pivot[j] > 0 || !(t->rest[j] > 0) ? 0 : t->rest[j], 0);
  KAON_BLOCK_SYNC();
}

/* The same for residuals of the normal equations. */
static inline KAON_HD void kaon_block_start_nr(const kaon_block_team *t) {
  kaon_block_start(t);
  kaon_block_norms(t, KAON_S_S2);
}

/* Second orthonormalisation: GRAM belongs to a Q that was already multiplied by T. Computes the T
 * of the next change of basis, C = S C, and what the dropped directions held. Leaves S in a. */
static inline KAON_HD_CALLED void kaon_block_again(const kaon_block_team *t) {
  const int n = t->n;
  kaon_block_load(t, KAON_S_GRAM, t->a);
  kaon_block_load(t, KAON_S_C, t->c);
  kaon_block_factor(t, kaon_block_dependent(t), 16 * t->state[0].epsilon2);
  kaon_block_store(t, t->b, 1, KAON_S_T);
  for (int j = t->rank; j < n; j += t->size) {
    double lost = 0;
    for (int i = 0; i < n; i++) {
      const double *c = t->c + 2 * (i * n + j);
      if (!(t->pivot[i] > 0) && t->rest[i] > 0) lost += t->rest[i] * (c[0] * c[0] + c[1] * c[1]);
    }
    if (kaon_block_open(t, j)) t->state[j].slot[KAON_S_LOST][0] += lost;
  }
  kaon_block_multiply(t, t->a, 0, t->c, t->b);
  kaon_block_store(t, t->b, 0, KAON_S_C);
}

/* ---- a step ---- */

/* Makes all open columns wait for the same reason. */
static inline KAON_HD_CALLED void kaon_block_wait(const kaon_block_team *t, int reason, int keep) {
  KAON_BLOCK_SYNC();
  for (int j = t->rank; j < t->n; j += t->size)
    if (kaon_block_open(t, j)) kaon_wait(&t->state[j], reason, keep);
}

/* Makes all open columns wait because the recurrence cannot continue. */
static inline KAON_HD_CALLED void kaon_block_broken(const kaon_block_team *t, int cause, int keep) {
  KAON_BLOCK_SYNC();
  for (int j = t->rank; j < t->n; j += t->size)
    if (kaon_block_open(t, j)) kaon_broken(&t->state[j], cause, keep);
}

/* The cause of a P^H A P that cannot be inverted; compare kaon_cause_of for a single (p, A p). */
static inline KAON_HD_CALLED int kaon_block_cause(const kaon_block_team *t, int negative) {
  for (int k = 0; k < t->n; k++)
    if (!kaon_finite(t->rest[k])) return KAON_CAUSE_NOT_FINITE;
  return negative ? KAON_CAUSE_OPERATOR : KAON_CAUSE_ZERO;
}

/* c = the inverse of the Hermitian matrix at GRAM, restricted to directions that were not dropped.
 * Returns a cause if the matrix is not positive: some (p, A p) < 0, or no direction is left. */
static inline KAON_HD_CALLED int kaon_block_inverse(const kaon_block_team *t) {
  int kept = 0, negative = 0;
  kaon_block_load(t, KAON_S_GRAM, t->a);
  for (int k = t->rank; k < t->n; k += t->size) t->c[k] = t->a[2 * (k * t->n + k)];
  kaon_block_factor(t, KAON_BLOCK_ROUNDING, 0);
  for (int k = 0; k < t->n; k++) {
    const double own = t->c[k], rest = t->rest[k];
    kept += t->pivot[k] > 0;
    negative |= !kaon_finite(rest) || own < 0 || rest < -KAON_BLOCK_ROUNDING * t->n * own;
  }
  KAON_BLOCK_SYNC();
  kaon_block_multiply(t, t->b, 1, t->b, t->c);
  return negative || kept == 0 ? kaon_block_cause(t, negative) : KAON_CAUSE_NONE;
}

/* Z = (P^H A P)^-1, Y = Z C; leaves C in a and Y in b. Returns 0 after a breakdown, which leaves x
 * unchanged. */
static inline KAON_HD_CALLED int kaon_block_solution(const kaon_block_team *t) {
  const int cause = kaon_block_inverse(t);
  if (cause != KAON_CAUSE_NONE) {
    kaon_block_store(t, NULL, 0, KAON_S_Y);
    kaon_block_broken(t, cause, 1);
    return 0;
  }
  kaon_block_store(t, t->c, 0, KAON_S_Z);
  kaon_block_load(t, KAON_S_C, t->a);
  kaon_block_multiply(t, t->c, 0, t->a, t->b);
  kaon_block_store(t, t->b, 0, KAON_S_Y);
  return 1;
}

static inline KAON_HD void kaon_block_alpha(const kaon_block_team *t) {
  kaon_block_solution(t);
}

/* The same on the normal equations, where |r|^2 is also updated. With W = A P, the new residual r -
 * W Y is orthogonal to W, and P^H A^dag r = P^H Q C = C. So |r|^2 of each column falls by its
 * diagonal element of C^H Y, with Y = (W^H W)^-1 C. The result is bounded below by the rounding of
 * that difference. */
static inline KAON_HD void kaon_block_alpha_nr(const kaon_block_team *t) {
  const int n = t->n;
  if (!kaon_block_solution(t)) return;
  for (int j = t->rank; j < n; j += t->size) {
    double *r2 = t->state[j].slot[KAON_S_R2], gain = 0;
    for (int i = 0; i < n; i++) {
      const double *c = t->a + 2 * (i * n + j), *y = t->b + 2 * (i * n + j);
      gain += c[0] * y[0] + c[1] * y[1];
    }
    const double rest = r2[0] - gain, least = KAON_BLOCK_ROUNDING * r2[0];
    if (kaon_block_open(t, j)) r2[0] = rest < least ? least : rest;
  }
  KAON_BLOCK_SYNC();
}

/* Requests that one column's residual makes to the block. */
enum {
  KAON_BLOCK_BROKEN = 1,
  KAON_BLOCK_AT_WORK = 2, /* not yet converged */
  KAON_BLOCK_LIMIT = 4,
  KAON_BLOCK_GROWTH = 8,
  KAON_BLOCK_UPDATE = 16,
  KAON_BLOCK_ALIVE = 32, /* not converged, with a recent new minimum */
  KAON_BLOCK_FLUSH = 64
};

/* Ends a step for one column of a block; compare kaon_step_end. The column does not stop by
 * itself. Once its residual has been below the threshold, its iteration count and history no
 * longer change. */
static inline KAON_HD int kaon_block_column_end(kaon_column_state *s, double watched,
                                                double moving) {
  int asks = KAON_BLOCK_AT_WORK;
  s->gate &= ~KAON_GATE_FLUSH; /* the flush that was due has been done */
  if (!kaon_finite(watched)) return KAON_BLOCK_BROKEN;
  if (s->lowest <= s->threshold) return 0;
  s->iterations++;
  s->history[s->iterations % KAON_HISTORY] = watched * s->scale;
  if (watched < s->lowest) {
    s->lowest = watched;
    s->lowest_at = s->iterations;
  }
  if (watched > s->peak && !(s->flags & KAON_FLAG_RESTART)) s->peak = watched;
  if (watched <= s->threshold) return 0;
  if (s->iterations - s->lowest_at < kaon_stall_steps(s)) asks |= KAON_BLOCK_ALIVE;
  if (s->flags & KAON_FLAG_FIXED) return asks;
  if (s->iterations >= s->max_iterations) asks |= KAON_BLOCK_LIMIT;
  if (watched * s->scale > KAON_GROWTH2 * s->first) asks |= KAON_BLOCK_GROWTH;
  if (watched < s->delta2 * s->peak || moving <= s->slot[KAON_S_LOST][0]) asks |= KAON_BLOCK_UPDATE;
  if (s->flush > 0 && (s->iterations - s->renewed) % s->flush == 0) asks |= KAON_BLOCK_FLUSH;
  return asks;
}

/* Makes all columns wait for new residuals because some requested them (t->pivot). The columns that
 * did not ask wait with KAON_WAIT_BLOCK. Such a column may be on a plateau while an easier column
 * needs many updates. Its lack of progress between them does not mean that its precision is
 * exhausted. */
static inline KAON_HD void kaon_block_update(const kaon_block_team *t) {
  KAON_BLOCK_SYNC();
  for (int j = t->rank; j < t->n; j += t->size) {
    const int asked = (int)t->pivot[j] & KAON_BLOCK_UPDATE;
    if (kaon_block_open(t, j))
      kaon_wait(&t->state[j], asked ? KAON_WAIT_UPDATE : KAON_WAIT_BLOCK, 1);
  }
}

/* Ends a step for the block: all its columns stop, wait or continue together. */
static inline KAON_HD_CALLED void kaon_block_end(const kaon_block_team *t, int norm) {
  int asks = 0, fixed = 0;
  for (int j = t->rank; j < t->n; j += t->size)
    t->pivot[j] = kaon_block_open(t, j)
                      ? kaon_block_column_end(&t->state[j], t->state[j].slot[norm][0],
                                              kaon_block_moving(t, j))
                      : 0;
  KAON_BLOCK_SYNC();
  for (int j = 0; j < t->n; j++) {
    asks |= (int)t->pivot[j];
    fixed |= t->state[j].flags & KAON_FLAG_FIXED;
  }
  if (asks & KAON_BLOCK_BROKEN)
    kaon_block_broken(t, KAON_CAUSE_NOT_FINITE, 0);
  else if (!(asks & KAON_BLOCK_AT_WORK))
    kaon_block_wait(t, KAON_WAIT_STOP, 1);
  else if (fixed)
    return;
  else if (asks & KAON_BLOCK_LIMIT)
    kaon_block_wait(t, KAON_WAIT_LIMIT, 1);
  else if (asks & KAON_BLOCK_GROWTH)
    kaon_block_wait(t, KAON_WAIT_GROWTH, 1);
  else if (asks & KAON_BLOCK_UPDATE)
    kaon_block_update(t);
  else if (!(asks & KAON_BLOCK_ALIVE))
    kaon_block_wait(t, KAON_WAIT_STALL, 1);
  else if (asks & KAON_BLOCK_FLUSH) {
    KAON_BLOCK_SYNC();
    for (int j = t->rank; j < t->n; j += t->size)
      if (kaon_block_open(t, j)) t->state[j].gate |= KAON_GATE_FLUSH;
  }
}

/* Q - A P Z has been made orthonormal: M = S^H, C = S C. `watched` is the slot of the residual that
 * stops a column, `norm` the slot of the residual that C holds. */
static inline KAON_HD_CALLED void kaon_block_advance(const kaon_block_team *t, int norm,
                                                     int watched) {
  kaon_block_again(t);
  kaon_block_store(t, t->a, 1, KAON_S_M);
  kaon_block_norms(t, norm);
  kaon_block_end(t, watched);
}

static inline KAON_HD void kaon_block_step(const kaon_block_team *t) {
  kaon_block_advance(t, KAON_S_R2, KAON_S_R2);
}

/* On the normal equations, where |r|^2 of the system itself is also known. */
static inline KAON_HD void kaon_block_step_nr(const kaon_block_team *t) {
  const int normal = t->state[0].flags & KAON_FLAG_NORMAL;
  kaon_block_advance(t, KAON_S_S2, normal ? KAON_S_S2 : KAON_S_R2);
}

/* ---- continue with the old directions after a residual replacement ---- */

/* Needs GRAM = Q^H P from before the last change of basis T. Sets Y = T T^H Q^H P. Then P - Q Y is
 * orthogonal to the new residuals, as it would be in exact arithmetic. */
static inline KAON_HD void kaon_block_project(const kaon_block_team *t) {
  kaon_block_load(t, KAON_S_GRAM, t->a);
  kaon_block_load(t, KAON_S_T, t->b);
  kaon_block_multiply(t, t->b, 1, t->a, t->c);
  kaon_block_multiply(t, t->b, 0, t->c, t->a);
  kaon_block_store(t, t->a, 0, KAON_S_Y);
}

/* Computes only Z. Z = 0 if there is no inverse, which discards the directions. */
static inline KAON_HD void kaon_block_invert(const kaon_block_team *t) {
  const int broken = kaon_block_inverse(t);
  kaon_block_store(t, broken ? NULL : t->c, 0, KAON_S_Z);
}

/* Needs GRAM = (A P)^H Q from before T. M = -Z (A P)^H Q T makes Q T + P M conjugate to P. */
static inline KAON_HD void kaon_block_conjugate(const kaon_block_team *t) {
  kaon_block_load(t, KAON_S_GRAM, t->a);
  kaon_block_load(t, KAON_S_T, t->b);
  kaon_block_multiply(t, t->a, 0, t->b, t->c);
  kaon_block_load(t, KAON_S_Z, t->a);
  kaon_block_multiply(t, t->a, 0, t->c, t->b);
  for (int e = t->rank; e < 2 * t->n * t->n; e += t->size) t->b[e] = -t->b[e];
  KAON_BLOCK_SYNC();
  kaon_block_store(t, t->b, 0, KAON_S_M);
  kaon_block_store(t, NULL, 0, KAON_S_Y);
}

/* Runs after each column has been verified. While one column continues, the converged ones stay in
 * the block, since their directions help. If one column has reached its iteration limit, or was
 * cancelled, all end. */
static inline KAON_HD void kaon_block_verified(const kaon_block_team *t) {
  int on = 0, fresh = 0, end = 0;
  if (t->rank != 0) return;
  for (int j = 0; j < t->n; j++) {
    const kaon_column_state *s = &t->state[j];
    on |= s->gate & (KAON_GATE_START | KAON_GATE_CONTINUE);
    fresh |= s->gate & KAON_GATE_START;
    if (s->gate != 0 || s->reference == 0 || s->reason == KAON_END_CONVERGED) continue;
    fresh = 1; /* it leaves the block */
    if (s->reason == KAON_END_MAX_ITERATIONS || s->reason == KAON_END_CANCELLED) end = s->reason;
  }
  for (int j = 0; j < t->n && on; j++) {
    kaon_column_state *s = &t->state[j];
    const int converged = s->gate == 0 && s->reference > 0 && s->reason == KAON_END_CONVERGED;
    if (s->gate == 0 && !converged) continue;
    if (end) {
      if (!converged) kaon_finish(s, end);
      continue;
    }
    if (converged) s->reason = KAON_WAIT_UPDATE;
    s->gate = KAON_GATE_SERVICE | (fresh ? KAON_GATE_START : KAON_GATE_CONTINUE);
  }
}

/* Every thread of the team calls it with its own rank. What was written before must be visible to
 * all. */
static inline KAON_HD void kaon_block_run(int id, const kaon_block_team *t) {
  switch (id) {
#define KAON_X(id_, function) \
  case id_:                   \
    function(t);              \
    break;
    KAON_BLOCK_RECURRENCES(KAON_X)
#undef KAON_X
    default:
      break;
  }
}
