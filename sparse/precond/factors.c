/* factors.c - incomplete factors M = (E + L) E^-1 (E + U), of the kinds without fill-in. */
#include "sparse/precond/factors.h"

#include <stdlib.h>
#include <string.h>

#include "sparse/storage/number.h"

void kaon_factors_destroy(kaon_factors **factors) {
  if (factors == NULL || *factors == NULL) return;
  kaon_csr_destroy(&(*factors)->lower);
  kaon_csr_destroy(&(*factors)->upper);
  free((*factors)->pivot);
  free(*factors);
  *factors = NULL;
}

static kaon_status no_memory(const kaon_context *ctx, int64_t rows) {
  return kaon_fail(ctx, KAON_ERR_MEMORY, "factors: out of host memory for %lld rows",
                   (long long)rows);
}

/* The strict triangle of A above (upper = 1) or below the diagonal. */
static kaon_status triangle(const kaon_context *ctx, const kaon_csr *A, int upper,
                            kaon_csr **part) {
  int64_t entries = 0, at = 0;
  for (int64_t i = 0; i < A->rows; i++)
    for (int64_t n = A->start[i]; n < A->start[i + 1]; n++)
      entries += A->column[n] < A->rows && (upper ? A->column[n] > i : A->column[n] < i);
  KAON_TRY(kaon_csr_create(ctx, A->rows, A->rows, A->reals, entries, part));
  for (int64_t i = 0; i < A->rows; i++) {
    for (int64_t n = A->start[i]; n < A->start[i + 1]; n++) {
      if (A->column[n] >= A->rows || (upper ? A->column[n] <= i : A->column[n] >= i)) continue;
      (*part)->column[at] = A->column[n];
      kaon_number_put((*part)->value, at++, A->reals, kaon_number_at(A->value, n, A->reals));
    }
    (*part)->start[i + 1] = at;
  }
  return KAON_OK;
}

/* The size that a pivot of row i is compared with. */
static double measure(const kaon_csr *A, int64_t i, int hermitian) {
  double largest = 0;
  for (int64_t n = A->start[i]; n < A->start[i + 1]; n++) {
    if (A->column[n] >= A->rows || (hermitian && A->column[n] != i)) continue;
    const double size = kaon_number_size(kaon_number_at(A->value, n, A->reals), A->reals);
    if (size > largest) largest = size;
  }
  return largest;
}

/* Checks the pivot of row i. Stores it and returns 1 if it is large enough. */
static int accept(const kaon_csr *A, kaon_factors *f, int64_t i, kaon_number pivot,
                  const kaon_factor_how *how, kaon_bad_pivot *where) {
  const int hermitian = how->hermitian;
  const double bound = kaon_smallest_pivot(how->singular) * measure(A, i, hermitian);
  const double size = hermitian ? pivot.re : kaon_number_size(pivot, A->reals);
  if (size > bound && size < INFINITY) {
    if (hermitian) pivot.im = 0;
    kaon_number_put(f->pivot, i, A->reals, pivot);
    return 1;
  }
  *where = (kaon_bad_pivot){i, {pivot.re, pivot.im}};
  return 0;
}

static kaon_number diagonal_of(const kaon_csr *A, int64_t i, double shift) {
  const int64_t n = kaon_csr_find(A, i, (int32_t)i);
  if (n < 0) return (kaon_number){0, 0};
  kaon_number a = kaon_number_at(A->value, n, A->reals);
  a.re *= 1 + shift;
  a.im *= 1 + shift;
  return a;
}

/* ---- kinds; each returns 0 if a pivot broke down ---- */

/* Marks row i's entries by column. at[j] - 1 is the entry, of L for j < i, of U for j > i; 0:
 * none. */
static void mark(const kaon_factors *f, int64_t i, int64_t *at, int on) {
  for (int64_t n = f->lower->start[i]; n < f->lower->start[i + 1]; n++)
    at[f->lower->column[n]] = on ? n + 1 : 0;
  for (int64_t n = f->upper->start[i]; n < f->upper->start[i + 1]; n++)
    at[f->upper->column[n]] = on ? n + 1 : 0;
}

/* Subtracts the multiple of row k from row i that clears entry n of L in column k. L_ik is final,
 * and a_ij -= L_ik U_kj / E_k where A has an entry. For a Hermitian matrix U_kj is known for j < i,
 * up to entry `end` of U. */
static inline void eliminate(kaon_factors *f, int64_t n, int64_t k, int64_t end, const int64_t *at,
                             int64_t i, kaon_number *pivot, int reals) {
  double *l = f->lower->value, *u = f->upper->value;
  const kaon_number factor =
      kaon_number_times(kaon_number_at(l, n, reals),
                        kaon_number_inverse(kaon_number_at(f->pivot, k, reals), reals), reals);
  for (int64_t m = f->upper->start[k]; m < end; m++) {
    const int64_t j = f->upper->column[m], to = at[j] - 1;
    const kaon_number entry = kaon_number_at(u, m, reals);
    if (j == i) {
      *pivot = kaon_number_less(*pivot, factor, entry, reals);
    } else if (to >= 0) {
      double *values = j < i ? l : u;
      kaon_number_put(values, to, reals,
                      kaon_number_less(kaon_number_at(values, to, reals), factor, entry, reals));
    }
  }
}

/* filled[k]: the first entry of U's row k that is not known yet (Hermitian). */
static inline int lu0(const kaon_csr *A, kaon_factors *f, const kaon_factor_how *how, int64_t *at,
                      int64_t *filled, int reals, kaon_bad_pivot *where) {
  const int hermitian = how->hermitian;
  if (hermitian) memcpy(filled, f->upper->start, (size_t)A->rows * sizeof *filled);
  for (int64_t i = 0; i < A->rows; i++) {
    kaon_number pivot = diagonal_of(A, i, how->shift);
    mark(f, i, at, 1);
    for (int64_t n = f->lower->start[i]; n < f->lower->start[i + 1]; n++) {
      const int64_t k = f->lower->column[n];
      if (hermitian) { /* U_ki = conj(L_ik) is the next entry of U's row k */
        const kaon_number l = kaon_number_at(f->lower->value, n, reals);
        kaon_number_put(f->upper->value, filled[k]++, reals, kaon_number_conjugate(l, reals));
      }
      eliminate(f, n, k, hermitian ? filled[k] : f->upper->start[k + 1], at, i, &pivot, reals);
    }
    mark(f, i, at, 0);
    if (!accept(A, f, i, pivot, how, where)) return 0;
  }
  return 1;
}

static inline int diagonal_only(const kaon_csr *A, kaon_factors *f, const kaon_factor_how *how,
                                int reals, kaon_bad_pivot *where) {
  for (int64_t i = 0; i < A->rows; i++) {
    kaon_number pivot = diagonal_of(A, i, how->shift);
    for (int64_t n = f->lower->start[i]; n < f->lower->start[i + 1]; n++) {
      const int64_t k = f->lower->column[n], m = kaon_csr_find(f->upper, k, (int32_t)i);
      if (m < 0) continue;
      const kaon_number l = kaon_number_at(f->lower->value, n, reals);
      const kaon_number u = kaon_number_at(f->upper->value, m, reals);
      const kaon_number e = kaon_number_inverse(kaon_number_at(f->pivot, k, reals), reals);
      pivot = kaon_number_less(pivot, kaon_number_times(l, u, reals), e, reals);
    }
    if (!accept(A, f, i, pivot, how, where)) return 0;
  }
  return 1;
}

static int ssor(const kaon_csr *A, kaon_factors *f, const kaon_factor_how *how,
                kaon_bad_pivot *where) {
  for (int64_t i = 0; i < A->rows; i++) {
    kaon_number pivot = diagonal_of(A, i, how->shift);
    pivot.re /= how->omega;
    pivot.im /= how->omega;
    if (!accept(A, f, i, pivot, how, where)) return 0;
  }
  f->scale = 2 - how->omega;
  return 1;
}

/* One call for each kind and number of reals, so that each is compiled separately. */
static int factorise(const kaon_csr *A, kaon_factors *f, const kaon_factor_how *how, int64_t *at,
                     int64_t *filled, kaon_bad_pivot *where) {
  switch (how->kind) {
    case KAON_FACTOR_LU0:
      return A->reals == 1 ? lu0(A, f, how, at, filled, 1, where)
                           : lu0(A, f, how, at, filled, 2, where);
    case KAON_FACTOR_DIAGONAL:
      return A->reals == 1 ? diagonal_only(A, f, how, 1, where)
                           : diagonal_only(A, f, how, 2, where);
    default:
      return ssor(A, f, how, where);
  }
}

kaon_status kaon_factors_create(const kaon_context *ctx, const kaon_csr *A,
                                const kaon_factor_how *how, kaon_factors **factors,
                                kaon_bad_pivot *where) {
  *factors = NULL;
  if (A->columns < A->rows)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "factors: a matrix of %lld rows and %lld columns is not square",
                     (long long)A->rows, (long long)A->columns);
  const size_t rows = (size_t)A->rows + 1;
  kaon_factors *made = calloc(1, sizeof *made);
  int64_t *at = calloc(rows, sizeof *at), *filled = malloc(rows * sizeof *filled);
  kaon_status status = KAON_OK;
  if (made != NULL) made->pivot = malloc(rows * (size_t)A->reals * sizeof *made->pivot);
  if (made == NULL || made->pivot == NULL || at == NULL || filled == NULL)
    status = no_memory(ctx, A->rows);
  if (status == KAON_OK) status = triangle(ctx, A, 0, &made->lower);
  if (status == KAON_OK)
    status = how->hermitian ? kaon_csr_transpose(ctx, made->lower, 1, &made->upper)
                            : triangle(ctx, A, 1, &made->upper);
  if (status == KAON_OK) {
    made->scale = 1;
    if (!factorise(A, made, how, at, filled, where))
      status = kaon_fail(ctx, KAON_ERR_SINGULAR,
                         "factors: the pivot of row %lld (counted from 1) is %g%+gi",
                         (long long)where->row + 1, where->pivot[0], where->pivot[1]);
  }
  free(at);
  free(filled);
  *factors = made;
  if (status != KAON_OK) kaon_factors_destroy(factors);
  return status;
}
