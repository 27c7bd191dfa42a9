/* direct.c - the direct solver on the processor. Contract: direct.h. The rows of A are the columns
 * of A^T, so UMFPACK gets A^T and solves with its transpose. */
#include "bench/papers/direct.h"

#include <stddef.h>
#include <stdlib.h>

#ifdef KAON_WITH_UMFPACK
#include <umfpack.h>

static const char *umfpack(const direct_system *s) {
  SuiteSparse_long *column = malloc((size_t)s->start[s->rows] * sizeof *column);
  SuiteSparse_long *start = malloc((size_t)(s->rows + 1) * sizeof *start);
  void *symbolic = NULL, *numeric = NULL;
  SuiteSparse_long status = UMFPACK_ERROR_out_of_memory;
  if (column != NULL && start != NULL) {
    for (int64_t n = 0; n < s->start[s->rows]; n++) column[n] = s->column[n];
    for (int64_t i = 0; i <= s->rows; i++) start[i] = s->start[i];
    status = umfpack_dl_symbolic(s->rows, s->rows, start, column, s->value, &symbolic, NULL, NULL);
  }
  if (status == UMFPACK_OK)
    status = umfpack_dl_numeric(start, column, s->value, symbolic, &numeric, NULL, NULL);
  if (status == UMFPACK_OK)
    status = umfpack_dl_solve(UMFPACK_At, start, column, s->value, s->x, s->b, numeric, NULL, NULL);
  if (symbolic != NULL) umfpack_dl_free_symbolic(&symbolic);
  if (numeric != NULL) umfpack_dl_free_numeric(&numeric);
  free(column);
  free(start);
  if (status == UMFPACK_OK) return NULL;
  return status == UMFPACK_ERROR_out_of_memory       ? "it is out of memory for the factors"
         : status == UMFPACK_WARNING_singular_matrix ? "it finds the matrix singular"
                                                     : "it failed";
}

static const direct_solver on_host = {"umfpack", 0, umfpack};
#endif

const direct_solver *direct_find(int device) {
#ifdef KAON_WITH_UMFPACK
  if (!device) return &on_host;
#endif
#ifdef KAON_WITH_CUDSS
  if (device) return &direct_cudss;
#endif
  (void)device;
  return NULL;
}
