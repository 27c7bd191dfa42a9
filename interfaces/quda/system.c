/* system.c - a few operators with their solvers. Contract: system.h. */
#include "system.h"

#include <stdlib.h>
#include <string.h>

enum { SYSTEMS = 8 };

static kaon_quda_system systems[SYSTEMS]; /* used = 0: empty */
static unsigned long calls;

static void drop_solver(kaon_quda_system *system) {
  kaon_solver_destroy(&system->solver);
  kaon_multishift_destroy(&system->shifts);
  kaon_vector_destroy(&system->b);
  kaon_vector_destroy(&system->x);
  system->columns = 0;
}

/* Another system with this M; NULL: none. */
static kaon_quda_system *sharing(const kaon_quda_system *system) {
  for (int i = 0; i < SYSTEMS; i++)
    if (&systems[i] != system && systems[i].M == system->M) return &systems[i];
  return NULL;
}

static void drop(kaon_quda_system *system) {
  drop_solver(system);
  if (system->A != system->M) kaon_operator_destroy(&system->A);
  system->A = NULL;
  if (system->M != NULL && sharing(system) == NULL) kaon_operator_destroy(&system->M);
  system->M = NULL;
  system->used = 0;
}

static void drop_all(void) {
  kaon_quda_forget(NULL);
}

void kaon_quda_forget(const kaon_gauge *links) {
  for (int i = 0; i < SYSTEMS; i++) {
    const kaon_quda_system *system = &systems[i];
    if (links == NULL || system->key.links[0] == links || system->key.links[1] == links)
      drop(&systems[i]);
  }
}

int kaon_quda_same_operator(const kaon_quda_key *a, const kaon_quda_key *b) {
  return a->kind == b->kind && memcmp(a->option, b->option, sizeof a->option) == 0 &&
         memcmp(a->number, b->number, sizeof a->number) == 0 &&
         memcmp(a->links, b->links, sizeof a->links) == 0;
}

static int same_key(const kaon_quda_key *a, const kaon_quda_key *b) {
  return kaon_quda_same_operator(a, b) && memcmp(a->form, b->form, sizeof a->form) == 0;
}

/* An M that is there already, or NULL. */
static kaon_operator *find_operator(const kaon_quda_key *key) {
  for (int i = 0; i < SYSTEMS; i++)
    if (systems[i].used > 0 && kaon_quda_same_operator(&systems[i].key, key)) return systems[i].M;
  return NULL;
}

kaon_status kaon_quda_find(const kaon_quda_key *key, kaon_quda_make *make,
                           kaon_quda_system **system) {
  kaon_quda_system *oldest = &systems[0];
  kaon_quda_at_end(drop_all);
  for (int i = 0; i < SYSTEMS; i++) {
    *system = &systems[i];
    if ((*system)->used > 0 && same_key(&(*system)->key, key)) {
      (*system)->used = ++calls;
      return KAON_OK;
    }
    if ((*system)->used < oldest->used) oldest = *system;
  }
  *system = oldest;
  drop(oldest);
  kaon_operator *M = find_operator(key), *A = NULL;
  const kaon_status status = make(key, &M, &A);
  if (status != KAON_OK) return status;
  oldest->M = M;
  oldest->A = A;
  oldest->key = *key;
  oldest->used = ++calls;
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

/* Vectors of this space, b with `sources` and x with `solutions` columns, in A's precision. */
static kaon_status prepare_vectors(kaon_quda_system *system, const kaon_space *space, int sources,
                                   int solutions) {
  const kaon_precision precision = kaon_operator_precision(system->A);
  kaon_context *ctx = kaon_quda()->ctx;
  kaon_status status = KAON_OK;
  if (system->b != NULL && kaon_vector_space(system->b) != space) {
    kaon_vector_destroy(&system->b);
    kaon_vector_destroy(&system->x);
  }
  if (system->b == NULL) status = kaon_vector_create(ctx, space, precision, sources, &system->b);
  if (status == KAON_OK && system->x == NULL)
    status = kaon_vector_create(ctx, space, precision, solutions, &system->x);
  return status;
}

kaon_status kaon_quda_prepare(kaon_quda_system *system, const kaon_solver_options *options,
                              int columns, const kaon_space *space) {
  kaon_status status = KAON_OK;
  if (system->solver == NULL || system->columns != columns ||
      memcmp(&system->options, options, sizeof *options) != 0)
    drop_solver(system);
  if (system->solver == NULL) {
    memcpy(&system->options, options, sizeof *options);
    system->columns = columns;
    status = kaon_solver_create(system->A, columns, options, &system->solver);
  }
  if (status == KAON_OK) status = prepare_vectors(system, space, columns, columns);
  if (status != KAON_OK) drop_solver(system);
  return status;
}

kaon_status kaon_quda_prepare_shifts(kaon_quda_system *system,
                                     const kaon_multishift_options *options, int shifts,
                                     const double *sigma, const kaon_space *space) {
  const size_t bytes = sizeof *sigma * (size_t)shifts;
  kaon_status status = KAON_OK;
  if (system->shifts == NULL || system->columns != shifts ||
      memcmp(&system->shift_options, options, sizeof *options) != 0 ||
      memcmp(system->sigma, sigma, bytes) != 0)
    drop_solver(system);
  if (system->shifts == NULL) {
    memcpy(&system->shift_options, options, sizeof *options);
    system->columns = shifts;
    memcpy(system->sigma, sigma, bytes);
    status = kaon_multishift_create(system->A, shifts, sigma, options, &system->shifts);
  }
  if (status == KAON_OK) status = prepare_vectors(system, space, 1, shifts);
  if (status != KAON_OK) drop_solver(system);
  return status;
}
