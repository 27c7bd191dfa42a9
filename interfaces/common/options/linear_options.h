/* linear_options.h - option tables of commands that solve A x = b with a sparse matrix (linear.h).
 * Offsets count from a linear_args. */
#ifndef KAON_COMMON_LINEAR_OPTIONS_H
#define KAON_COMMON_LINEAR_OPTIONS_H

#include "interfaces/common/linear/linear.h"

#define RELAX_EXCHANGES "auto|amc|dc|dk|push|sync"

extern const cli_option linear_matrix_rows[], linear_precond_rows[], linear_schwarz_rows[],
    linear_precond_figure_rows[], linear_relax_rows[], linear_projection_rows[],
    linear_fault_rows[], linear_solver_rows[];

/* The same as rows of a command's table. AT(member): offset of a linear_args member in the
 * command's arguments. */
#define LINEAR_ROWS(rows, AT) CLI_TABLE_ROW(rows, (AT(matrix)) - offsetof(linear_args, matrix))
#define LINEAR_OPTIONS_MATRIX(AT) LINEAR_ROWS(linear_matrix_rows, AT)
#define LINEAR_OPTIONS_SOLVER(AT) LINEAR_ROWS(linear_solver_rows, AT)
#define LINEAR_OPTIONS_RELAX(AT) LINEAR_ROWS(linear_relax_rows, AT)
#define LINEAR_OPTIONS_PROJECTIONS(AT) LINEAR_ROWS(linear_projection_rows, AT)
#define LINEAR_OPTIONS_FAULTS(AT) LINEAR_ROWS(linear_fault_rows, AT)
#define LINEAR_OPTIONS_SCHWARZ(AT) LINEAR_ROWS(linear_schwarz_rows, AT)
#define LINEAR_OPTIONS_PRECOND_FIGURES(AT) LINEAR_ROWS(linear_precond_figure_rows, AT)
#define LINEAR_OPTIONS_PRECOND(AT)                                          \
  LINEAR_ROWS(linear_precond_rows, AT), LINEAR_OPTIONS_PRECOND_FIGURES(AT), \
      LINEAR_OPTIONS_SCHWARZ(AT)

#endif
