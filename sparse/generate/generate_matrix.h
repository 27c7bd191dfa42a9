/* generate_matrix.h - matrices by name, generated row by row. No entries are collected and sorted,
 * and a rank generates only its own rows. Formulas: docs/conventions.md, "Generated matrices". */
#pragma once

#include "sparse/storage/csr.h"

typedef struct kaon_generator kaon_generator;

/* Computes row i: its columns, ascending, and its real values, at most `longest`. Returns their
 * number. *rhs: row i of the generator's right-hand side. Several threads call it concurrently. */
typedef int kaon_generator_row(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                               double *rhs);

struct kaon_generator {
  int64_t rows, entries; /* of the whole matrix */
  int longest;
  int has_rhs;
  kaon_generator_row *row;
  int64_t n;       /* parameter of the name: points along an edge, or rows */
  double strength; /* convdiff3d: the cells' Peclet number */
  int64_t band;    /* banded: half the width */
  uint64_t seed;
  void *table; /* lookup data of the rows; freed by `release`, or by free() */
  void (*release)(void *table);
};

/* Errors: ARGUMENT (unknown name or parameters out of range; the message lists the names or the
 * limits), UNSUPPORTED (2^31 or more rows), MEMORY. */
kaon_status kaon_generator_create(const kaon_context *ctx, const char *name,
                                  kaon_generator **generator);
void kaon_generator_destroy(kaon_generator **generator); /* NULL allowed */

/* Generates rows [first, last) with `threads` threads; columns are those of the whole matrix. *own:
 * the generator's right-hand side [last - first], which the caller frees; NULL if the generator has
 * none. own NULL: not requested. Errors: MEMORY (checked before memory is allocated). */
kaon_status kaon_generate_rows(const kaon_context *ctx, const kaon_generator *g, int64_t first,
                               int64_t last, int threads, kaon_csr **csr, double **own);

/* The generators. numbers[count]: the parameters after the colon, in range. Each sets rows,
 * entries, longest, row, and the data that row needs. */
kaon_status kaon_generate_laplace2d(const kaon_context *ctx, const double *numbers, int count,
                                    kaon_generator *g);
kaon_status kaon_generate_laplace3d(const kaon_context *ctx, const double *numbers, int count,
                                    kaon_generator *g);
kaon_status kaon_generate_laplace3d27(const kaon_context *ctx, const double *numbers, int count,
                                      kaon_generator *g);
kaon_status kaon_generate_convdiff3d(const kaon_context *ctx, const double *numbers, int count,
                                     kaon_generator *g);
kaon_status kaon_generate_cavity3d(const kaon_context *ctx, const double *numbers, int count,
                                   kaon_generator *g);
kaon_status kaon_generate_elasticity(const kaon_context *ctx, const double *numbers, int count,
                                     kaon_generator *g);
kaon_status kaon_generate_trefethen(const kaon_context *ctx, const double *numbers, int count,
                                    kaon_generator *g);
kaon_status kaon_generate_banded(const kaon_context *ctx, const double *numbers, int count,
                                 kaon_generator *g);
kaon_status kaon_generate_fem(const kaon_context *ctx, const double *numbers, int count,
                              kaon_generator *g);
