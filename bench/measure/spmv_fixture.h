/* spmv_fixture.h - what the parts of spmv_times share: the matrix under measurement with its vectors,
 * and how a way of multiplying is timed, held against the first one and written down. */
#ifndef SPMV_FIXTURE_H
#define SPMV_FIXTURE_H

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "bench/machine.h"
#include "kaon/kaon.h"
#include "lib/operator/operator_internal.h"
#include "lib/vector/space.h"
#include "sparse/storage/csr.h"
#include "bench/measure/spmv_columns.h"

/* How many columns there are, by number. */
enum { COUNTS = 5, MOST_COLUMNS = 12 };
static const int column_counts[COUNTS] = {1, 2, 4, 8, MOST_COLUMNS};

enum { DOUBLE, SINGLE, HALF, TYPES }; /* of values; vectors of HALF are in single */
extern const char *const type_names[TYPES];

typedef struct fixture {
  kaon_context *ctx;
  kaon_context_info info;
  machine machine;
  FILE *json;
  int written;
  int types[TYPES];              /* which are wanted */
  int variants, one_column, own; /* those are wanted */
  int variant;                   /* of the kernel of SELL and ELL; -1: the library's */
  const char *name;              /* of the matrix */
  kaon_csr csr;
  int skewed; /* one column alone, and no form that rows of one length or patterns are for */
  int near;   /* columns of a line of the matrix are within 16 bits */
  int lanes;  /* that the library has for its rows */
  cudaEvent_t begin, end;
  kaon_vector *x[COUNTS], *y[COUNTS];
  kaon_scalars *scalars;
  /* On the device: the row of the matrix that a vector's row is, NULL: the same; and y of the first
   * way, which the others are held against. */
  const int32_t *given;
  double *expected;
} fixture;

void fixture_ok(kaon_status status);
void fixture_cuda_ok(cudaError_t status);

static inline kaon_precision fixture_precision(int type) {
  return type == DOUBLE ? KAON_DOUBLE : KAON_SINGLE;
}

/* Whether products by column_counts[count] columns are measured, without sums or with them. */
int fixture_counts(const fixture *b, int type, int count, int sums);

/* x, whose columns are all the same, and y, for each count that is measured. */
void fixture_open_vectors(fixture *b, const kaon_space *space, int type);
void fixture_close_vectors(fixture *b);
dense fixture_dense(const kaon_vector *vector);

/* A product as it is written down. */
typedef struct product_row {
  const char *form;
  int lanes, type, count, sums;
  double index; /* bytes of columns and starts as they are stored */
} product_row;

/* Times a way, whose results are in y, and writes its row. */
typedef void product_run(fixture *b, const void *way);
void fixture_measure(fixture *b, const product_row *row, product_run *run, const void *way,
                     const dense *y);

#endif
