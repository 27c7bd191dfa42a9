/* choice.c - kaon_precond_auto: a method and a preconditioner from the entries of a matrix. The
 * rule is stated in docs/choosing.md. Each rank looks at its own block, as preconditioners do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>
#include <kaon/vector.h>

#include "lib/comm/comm.h"
#include "lib/core/output.h"
#include "sparse/precond/matrix_precond.h"
#include "sparse/storage/number.h"
#include "lib/core/entry.h"

/* Limits of the rule, tuned on the set of bench/auto_precond.py. */
static const double DOMINATED = 0.9; /* of the mean row: entries beside the diagonal, over it */
static const double COUPLED = 0.4;   /* of the mean strongest coupling of a row */
static const double EQUAL = 1.5;     /* ratio of diagonal entries that need no scaling */
static const double STABLE = 1e4;    /* of |A K e| / |e| */
static const double MOST_RATIO = 2;  /* of a row in the means */
enum { MANY_THREADS = 8, MANY_COLUMNS = 8, TRIES = 10 };

/* What the rule looks at. */
typedef struct facts {
  double rows;
  double ratio, strongest; /* sums over rows: of |a_ij| / |a_ii|; largest |a_ij| / sqrt(...) */
  double unsure; /* rows that show that A is not positive definite: an entry <= 0 on the diagonal,
                    or |a_ij|^2 > a_ii a_jj */
  double no_diagonal;   /* rows */
  double reverse, most; /* 1 over the least |a_ii| that is not 0; the largest */
} facts;
enum { SUMS = 5, NUMBERS = 7 }; /* sums over ranks come first, then largest numbers */
enum { WINDOW = 1 << 17 };      /* rows that all threads look at before they are added up */

/* What row i adds to the facts. root: as in `look`. reals: a constant where it is called. */
static inline facts look_at_row(const kaon_csr *a, const double *root, int64_t i, int reals) {
  double others = 0, strongest = 0, mine = 0;
  for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
    const int64_t j = a->column[n];
    const double size = kaon_number_size(kaon_number_at(a->value, n, reals), reals);
    if (j == i) {
      mine = size;
      continue;
    }
    others += size;
    if (j >= a->rows || !(size > 0)) continue;
    const double coupling = size / (fabs(root[i]) * fabs(root[j]));
    if (coupling > strongest) strongest = coupling;
  }
  return (facts){.ratio = others < MOST_RATIO * mine ? others / mine
                          : others > 0               ? MOST_RATIO
                                                     : 0,
                 .strongest = strongest < MOST_RATIO ? strongest : MOST_RATIO,
                 .unsure = !(root[i] > 0) || strongest > 1 + KAON_SYMMETRIC_TO,
                 .no_diagonal = mine == 0,
                 .reverse = mine > 0 ? 1 / mine : 0,
                 .most = mine};
}

/* Looks at rows `first` to `first` + WINDOW. The sums over rows are added in the order of the rows,
 * for which there is room. */
static void look_at_window(const kaon_context *ctx, const kaon_csr *a, const double *root,
                           int64_t first, double (*room)[2], facts *f) {
  const int64_t count = a->rows - first < WINDOW ? a->rows - first : WINDOW;
  double unsure = 0, no_diagonal = 0, reverse = f->reverse, most = f->most;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) \
    reduction(+ : unsure, no_diagonal) reduction(max : reverse, most)
  for (int64_t i = 0; i < count; i++) {
    const facts row =
        a->reals == 1 ? look_at_row(a, root, first + i, 1) : look_at_row(a, root, first + i, 2);
    room[i][0] = row.ratio;
    room[i][1] = row.strongest;
    unsure += row.unsure;
    no_diagonal += row.no_diagonal;
    if (row.reverse > reverse) reverse = row.reverse;
    if (row.most > most) most = row.most;
  }
  for (int64_t i = 0; i < count; i++) {
    f->ratio += room[i][0];
    f->strongest += room[i][1];
  }
  f->unsure += unsure;
  f->no_diagonal += no_diagonal;
  f->reverse = reverse;
  f->most = most;
}

/* The facts of all ranks. Collective. */
static kaon_status look(const kaon_matrix *matrix, facts *f) {
  const kaon_csr *a = matrix->rows->rows;
  kaon_context *ctx = matrix->ctx;
  const int ranks = ctx->comm->ranks;
  KAON_AUTOFREE double *root = malloc(((size_t)a->rows + 1) * sizeof *root);
  KAON_AUTOFREE double(*room)[2] = malloc(WINDOW * sizeof *room);
  KAON_AUTOFREE double *all = malloc((size_t)ranks * NUMBERS * sizeof *all);
  double sum[NUMBERS] = {0};
  facts mine = {.rows = (double)a->rows};
  KAON_TRY(KAON_AGREE_MEMORY(ctx, root != NULL && room != NULL && all != NULL,
                             "preconditioner: out of host memory for %lld rows",
                             (long long)a->rows));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
  for (int64_t i = 0; i < a->rows; i++) { /* of |a_ii|, with the sign of a_ii's real part */
    const int64_t n = kaon_csr_find(a, i, (int32_t)i);
    const kaon_number d = n < 0 ? (kaon_number){0, 0} : kaon_number_at(a->value, n, a->reals);
    root[i] = copysign(sqrt(kaon_number_size(d, a->reals)), d.re);
  }
  for (int64_t first = 0; first < a->rows; first += WINDOW)
    look_at_window(ctx, a, root, first, room, &mine);
  const double sent[NUMBERS] = {mine.rows,        mine.ratio,   mine.strongest, mine.unsure,
                                mine.no_diagonal, mine.reverse, mine.most};
  KAON_TRY(ctx->comm->ops->gather(ctx->comm, sent, NUMBERS, all));
  for (int n = 0; n < ranks * NUMBERS; n++) {
    const int i = n % NUMBERS;
    sum[i] = i < SUMS ? sum[i] + all[n] : fmax(sum[i], all[n]);
  }
  *f = (facts){sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6]};
  return KAON_OK;
}

/* ---- the rule ---- */

/* Names of kinds that the rule takes. */
static const struct {
  const char *name;
  kaon_precond_kind kind;
} kinds[] = {{"ic0", KAON_PRECOND_IC0},
             {"ilu0", KAON_PRECOND_ILU0},
             {"ainv", KAON_PRECOND_AINV},
             {"fsai", KAON_PRECOND_FSAI}};

/* For A that is Hermitian and, as far as this shows, positive definite. */
static void choose_definite(const facts *f, int parallel, kaon_precond_choice *c) {
  const double strongest = f->strongest / fmax(f->rows, 1), spread = f->most * f->reverse;
  if (strongest > COUPLED) {
    c->precond = parallel ? "fsai" : "ic0";
    snprintf(c->why, sizeof c->why,
             "A is Hermitian, and a row's strongest entry is %.2f of the diagonal on average",
             strongest);
  } else {
    c->precond = spread > EQUAL ? "jacobi" : "none";
    snprintf(c->why, sizeof c->why,
             "A is Hermitian, and the entries of its diagonal differ by a factor of %.3g", spread);
  }
}

static void choose_general(const facts *f, int hermitian, int parallel, int columns,
                           kaon_precond_choice *c) {
  const double ratio = f->ratio / fmax(f->rows, 1);
  const int many = parallel || columns >= MANY_COLUMNS; /* the set-up pays */
  const int dominated = ratio < DOMINATED && f->no_diagonal == 0;
  c->precond = !dominated ? "ilu0" : many ? "ainv" : "jacobi";
  snprintf(c->why, sizeof c->why,
           "A is %s, and a row's other entries add up to %.2f of the diagonal on average",
           hermitian ? "Hermitian, but not positive definite" : "not Hermitian", ratio);
}

static void choose(const kaon_matrix *matrix, const facts *f, int method, int columns,
                   kaon_precision sloppy, kaon_precond_choice *c) {
  kaon_method_info info = KAON_METHOD_INFO_INIT;
  const int parallel =
      !matrix->ctx->backend->host_accessible || matrix->ctx->threads >= MANY_THREADS;
  const int definite = matrix->hermitian && f->unsure == 0;
  c->method = method >= 0    ? (kaon_method)method
              : definite     ? KAON_CG
              : matrix->skew ? KAON_CGNR /* (r, A r) = 0, where BiCGStab breaks down */
                             : KAON_BICGSTAB;
  (void)kaon_method_query(c->method, &info);
  c->precond = "none";
  const int refuses = c->method == KAON_PIPEBICGSTAB && sloppy == KAON_HALF;
  if (!(info.traits & KAON_METHOD_PRECONDITIONED) || refuses)
    snprintf(c->why, sizeof c->why, "%s takes none%s", info.name,
             refuses ? " in half precision" : "");
  else if (definite)
    choose_definite(f, parallel, c);
  else if (info.traits & KAON_METHOD_HERMITIAN)
    snprintf(c->why, sizeof c->why, "A is not Hermitian positive definite, as %s needs it",
             info.name);
  else
    choose_general(f, matrix->hermitian, parallel, columns, c);
}

/* ---- the preconditioner ---- */

/* *amplified = |A K e| / |e| for e of ones. */
static kaon_status amplify(kaon_operator *A, kaon_operator *K, const double *ones,
                           double *amplified) {
  kaon_vector *v[4] = {NULL, NULL, NULL, NULL};
  double norm2[2] = {0, 1};
  kaon_status status = KAON_OK;
  for (int i = 0; i < 4 && status == KAON_OK; i++)
    status = kaon_vector_create(A->ctx, A->space, i < 2 ? K->precision : A->precision, 1, &v[i]);
  if (status == KAON_OK) status = kaon_vector_import(v[0], 0, ones, KAON_BASIS_UKQCD);
  if (status == KAON_OK) status = kaon_operator_run(K, KAON_PLAIN, v[0], v[1], NULL);
  if (status == KAON_OK) status = kaon_vector_copy(v[2], v[1]);
  if (status == KAON_OK) status = kaon_operator_run(A, KAON_PLAIN, v[2], v[3], NULL);
  if (status == KAON_OK) status = kaon_vector_norm2(v[3], &norm2[0]);
  if (status == KAON_OK) status = kaon_vector_norm2(v[0], &norm2[1]);
  for (int i = 0; i < 4; i++) kaon_vector_destroy(&v[i]);
  *amplified = norm2[1] > 0 ? sqrt(norm2[0] / norm2[1]) : 0;
  return status;
}

/* The triangles of incomplete factors of a matrix that is not positive definite may be far worse conditioned than A (Chow, Saad, J. Comput.
 * Appl. Math. 86 (1997) 387). Collective. */
static kaon_status find_stable(kaon_operator *A, kaon_operator *K, int *stable) {
  const int64_t numbers = kaon_space_caller_rows(A->space) * A->space->ncomp;
  double *ones = malloc(((size_t)numbers + 1) * sizeof *ones), amplified = INFINITY;
  kaon_status status = KAON_AGREE_MEMORY(
      A->ctx, ones != NULL, "preconditioner: out of host memory for %lld rows", (long long)numbers);
  for (int64_t i = 0; i < numbers && status == KAON_OK; i++)
    ones[i] = A->space->complex_space ? i % 2 == 0 : 1;
  if (status == KAON_OK) status = amplify(A, K, ones, &amplified);
  free(ones);
  *stable = amplified <= STABLE; /* not NaN */
  return status;
}

/* Where the choice breaks down, or is of no use, the diagonal is left, or nothing. */
static kaon_status make(kaon_matrix *matrix, kaon_operator *A, const facts *f,
                        kaon_precision precision, kaon_precond_choice *c, kaon_operator **K) {
  kaon_precond_options options = KAON_PRECOND_OPTIONS_INIT;
  int stable = 1;
  if (strcmp(c->precond, "none") == 0) return KAON_OK;
  if (strcmp(c->precond, "jacobi") == 0) return kaon_precond_jacobi(A, K);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(c->precond, kinds[i].name) == 0) options.kind = kinds[i].kind;
  options.precision = precision == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE;
  options.tries = TRIES;
  kaon_status status = kaon_precond_create(matrix, &options, K);
  if (status == KAON_OK && options.kind == KAON_PRECOND_ILU0) status = find_stable(A, *K, &stable);
  if (status == KAON_OK && stable) return KAON_OK;
  kaon_operator_destroy(K);
  if (status != KAON_OK && status != KAON_ERR_SINGULAR) return status;
  kaon_error_clear();
  const size_t used = strlen(c->why);
  snprintf(c->why + used, sizeof c->why - used, "; %s %s", c->precond,
           stable ? "breaks down" : "is unstable");
  c->precond = f->no_diagonal > 0 ? "none" : "jacobi";
  return f->no_diagonal > 0 ? KAON_OK : kaon_precond_jacobi(A, K);
}

kaon_status kaon_precond_auto(kaon_operator *A, int method, int columns, kaon_precision sloppy,
                              kaon_precond_choice *choice, kaon_operator **K) {
  if (K != NULL) *K = NULL;
  KAON_ENTER(KAON_OF(A), A, choice);
  kaon_matrix *matrix = kaon_operator_matrix(A);
  kaon_method_info info = KAON_METHOD_INFO_INIT;
  facts f;
  if (matrix == NULL || columns < 1 || (int)sloppy < KAON_DOUBLE || sloppy > KAON_HALF)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "preconditioner: a choice needs an operator of kaon_matrix_operator (this is "
                     "'%s'), 1 column or more (%d) and a precision (%d)",
                     A->ops->name, columns, (int)sloppy);
  if (method >= 0 && kaon_method_query((kaon_method)method, &info) != KAON_OK)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT, "preconditioner: there is no method %d", method);
  KAON_TRY(kaon_output_check(A->ctx, "kaon_precond_choice", choice));
  kaon_precond_choice made = {.size = sizeof made};
  KAON_TRY(look(matrix, &f));
  choose(matrix, &f, method, columns, sloppy, &made);
  if (K != NULL) KAON_TRY(make(matrix, A, &f, sloppy, &made, K));
  kaon_output_fill(choice, &made, sizeof made);
  return KAON_OK;
}
