/* generate_matrix.h - matrices by name, row by row: no entries are collected and sorted, and a rank makes
 * its own rows alone. Formulas: docs/conventions.md, "Generated matrices". */
#ifndef KAON_SPARSE_GENERATE_H
#define KAON_SPARSE_GENERATE_H

#include "sparse/storage/csr.h"

typedef struct kaon_generator kaon_generator;

/* Row i: its columns, ascending, and values (real), at most `longest`; returns how many. *rhs: row
 * i of the right-hand side that it brings. Called by several threads at once. */
typedef int kaon_generator_row(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                               double *rhs);

struct kaon_generator {
  int64_t rows, entries; /* of the whole matrix */
  int longest;
  int has_rhs;
  kaon_generator_row *row;
  int64_t n;       /* of the name: points an edge, rows */
  double strength; /* convdiff3d: the cells' Peclet number */
  int64_t band;    /* banded: half its width */
  uint64_t seed;
  void *table; /* what rows look up; freed by `release`, or by free() */
  void (*release)(void *table);
};

/* Errors: ARGUMENT (unknown name, numbers out of range: the names there are, or the limits),
 * UNSUPPORTED (2^31 rows and more), MEMORY. */
kaon_status kaon_generator_create(const kaon_context *ctx, const char *name,
                                  kaon_generator **generator);
void kaon_generator_destroy(kaon_generator **generator); /* NULL allowed */

/* Rows [first, last) by `threads` threads; columns are those of the whole matrix. *own: [last -
 * first] of the right-hand side that it brings, to be freed, NULL where it brings none; own NULL:
 * not asked for. Errors: MEMORY (before anything is taken that the machine has not). */
kaon_status kaon_generate_rows(const kaon_context *ctx, const kaon_generator *g, int64_t first,
                               int64_t last, int threads, kaon_csr **csr, double **own);

/* The names' makers: numbers[count] are those behind the colon, in range. Each fills rows,
 * entries, longest, row and what row needs. */
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

#endif
