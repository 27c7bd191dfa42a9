/* system.c - a few operators with their solvers. Contract: system.h. */
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators.h"

static void drop_solver(kaon_quda_system *system) {
  kaon_solver_destroy(&system->solver);
  kaon_multishift_destroy(&system->shifts);
  kaon_vector_destroy(&system->b);
  kaon_vector_destroy(&system->x);
  system->columns = 0;
}

static void drop(kaon_quda_system *system) {
  int shared = 0;
  for (kaon_quda_system *s = kaon_quda()->systems; s < kaon_quda()->systems + KAON_QUDA_SYSTEMS;
       s++)
    shared |= s != system && s->M == system->M;
  drop_solver(system);
  if (system->A != system->M) kaon_operator_destroy(&system->A);
  if (!shared) kaon_operator_destroy(&system->M);
  system->A = system->M = NULL;
  system->used = 0;
}

void kaon_quda_forget(const kaon_gauge *links) {
  kaon_quda_system *s = kaon_quda()->systems;
  for (int i = 0; i < KAON_QUDA_SYSTEMS; i++)
    if (links == NULL || s[i].key.links[0] == links || s[i].key.links[1] == links) drop(&s[i]);
}

int kaon_quda_same_operator(const kaon_quda_key *a, const kaon_quda_key *b) {
  return memcmp(a->option, b->option, sizeof a->option) == 0 &&
         memcmp(a->number, b->number, sizeof a->number) == 0 &&
         memcmp(a->links, b->links, sizeof a->links) == 0;
}

kaon_status kaon_quda_find(const kaon_quda_key *key, kaon_quda_system **system) {
  kaon_quda_system *s = kaon_quda()->systems, *oldest = s;
  kaon_operator *M = NULL, *A = NULL;
  for (int i = 0; i < KAON_QUDA_SYSTEMS; i++) {
    *system = &s[i];
    const int same = s[i].used > 0 && kaon_quda_same_operator(&s[i].key, key);
    if (same && memcmp(s[i].key.form, key->form, sizeof key->form) == 0) {
      s[i].used = ++kaon_quda()->calls;
      return KAON_OK;
    }
    if (s[i].used < oldest->used) oldest = &s[i];
  }
  drop(oldest);
  for (int i = 0; i < KAON_QUDA_SYSTEMS; i++)
    if (s[i].used > 0 && kaon_quda_same_operator(&s[i].key, key)) M = s[i].M;
  const kaon_status status = kaon_quda_make_operators(key, &M, &A);
  if (status != KAON_OK) return status;
  *system = oldest;
  oldest->M = M;
  oldest->A = A;
  oldest->key = *key;
  oldest->used = ++kaon_quda()->calls;
  return KAON_OK;
}

void kaon_quda_solver_defaults(kaon_solver_options *options) {
  static const kaon_solver_options defaults = KAON_SOLVER_OPTIONS_INIT;
  memcpy(options, &defaults, sizeof defaults); /* an assignment may leave out bytes */
}

void kaon_quda_shift_defaults(kaon_multishift_options *options) {
  static const kaon_multishift_options defaults = KAON_MULTISHIFT_OPTIONS_INIT;
  memcpy(options, &defaults, sizeof defaults);
}

/* Vectors of this space, b with `sources` and x with `solutions` columns, in A's precision. After a
 * failure, `status` or one of its own, nothing stays. */
static kaon_status prepare_vectors(kaon_quda_system *system, kaon_status status,
                                   const kaon_space *space, int sources, int solutions) {
  const kaon_precision precision = kaon_operator_precision(system->A);
  kaon_context *ctx = kaon_quda()->ctx;
  if (system->b != NULL && kaon_vector_space(system->b) != space) {
    kaon_vector_destroy(&system->b);
    kaon_vector_destroy(&system->x);
  }
  if (status == KAON_OK && system->b == NULL)
    status = kaon_vector_create(ctx, space, precision, sources, &system->b);
  if (status == KAON_OK && system->x == NULL)
    status = kaon_vector_create(ctx, space, precision, solutions, &system->x);
  if (status != KAON_OK) drop_solver(system);
  return status;
}

/* 1: a solver that could not be made may be with these changes: links that are not compressed, or
 * single in place of half precision, which does not hold all links. */
static int retry(kaon_status status, kaon_precision *sloppy, kaon_reconstruct *reconstruct) {
  if (status == KAON_ERR_UNITARITY && *reconstruct != KAON_RECONSTRUCT_18) {
    *reconstruct = KAON_RECONSTRUCT_18;
    return 1;
  }
  if (status != KAON_ERR_UNSUPPORTED || *sloppy != KAON_HALF) return 0;
  char why[512]; /* printing replaces the library's sentence */
  snprintf(why, sizeof why, "%s", kaon_last_error(kaon_quda()->ctx));
  kaon_quda_print(QUDA_SUMMARIZE,
                  "kaon: cuda_prec_sloppy is %d (half), but the solve runs with %d (single): %s",
                  (int)QUDA_HALF_PRECISION, (int)QUDA_SINGLE_PRECISION, why);
  *sloppy = KAON_SINGLE;
  return 1;
}

kaon_status kaon_quda_prepare(kaon_quda_system *system, const kaon_solver_options *options,
                              int columns, const kaon_space *space) {
  kaon_solver_options own = *options;
  kaon_status status = KAON_OK;
  if (system->solver == NULL || system->columns != columns ||
      memcmp(&system->options, options, sizeof *options) != 0)
    drop_solver(system);
  if (system->solver == NULL) {
    memcpy(&system->options, options, sizeof *options);
    system->columns = columns;
    do status = kaon_solver_create(system->A, columns, &own, &system->solver);
    while (retry(status, &own.sloppy, &own.reconstruct));
  }
  return prepare_vectors(system, status, space, columns, columns);
}

kaon_status kaon_quda_prepare_shifts(kaon_quda_system *system,
                                     const kaon_multishift_options *options, int shifts,
                                     const double *sigma, const kaon_space *space) {
  const size_t bytes = sizeof *sigma * (size_t)shifts;
  kaon_multishift_options own = *options;
  kaon_status status = KAON_OK;
  if (system->shifts == NULL || system->columns != shifts ||
      memcmp(&system->shift_options, options, sizeof *options) != 0 ||
      memcmp(system->sigma, sigma, bytes) != 0)
    drop_solver(system);
  if (system->shifts == NULL) {
    memcpy(&system->shift_options, options, sizeof *options);
    system->columns = shifts;
    memcpy(system->sigma, sigma, bytes);
    do status = kaon_multishift_create(system->A, shifts, sigma, &own, &system->shifts);
    while (retry(status, &own.sloppy, &own.reconstruct));
  }
  return prepare_vectors(system, status, space, 1, shifts);
}
