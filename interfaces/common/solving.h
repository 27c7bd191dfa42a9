/* solving.h - what the commands that solve share: names, the residuals of columns by iteration,
 * what to say of columns that did not converge. */
#ifndef KAON_COMMON_SOLVING_H
#define KAON_COMMON_SOLVING_H

#include "interfaces/common/cli.h"

/* "cg" as options and reports have it; "CG" as it is written. */
const char *method_name(kaon_method method);
const char *method_title(kaon_method method);
const char *precision_name(kaon_precision precision);
/* CLI_REGIMES' word for how steps were issued, until the next call. */
const char *regime_name(kaon_issue issue);

/* Refuses a key of --set that the method, chosen by `option`, does not look at; NULL: none was
 * given. Exit status. */
int solving_idle(const char *set, const char *option, kaon_method method);

/* Says so where x in this precision is likely to keep |b - A x| above the tolerance. */
void solving_warn(const cli_common *common, kaon_precision precision, double tol);

/* The residuals of one column by iteration. */
typedef struct column_history {
  double *residual;
  int count;
} column_history;

/* Those of the solver's last solve into histories[0 .. columns - 1], which are empty. Where memory
 * is short they stay so: a picture less. */
void histories_copy(const kaon_solver *solver, int columns, column_history *histories);
/* Lets go of the residuals and of the array itself; NULL is allowed. */
void histories_free(column_history *histories, int columns);
#define HISTORIES_HEAD "iteration,column 0"
/* As CSV, whose first line begins so: a line an iteration, a column each. path NULL: nothing to do.
 * Exit status. */
int histories_write(const column_history *histories, int columns, const char *path);

/* What can be done about columns that ended for a reason other than convergence; `worst`: the one
 * of them with the largest residual. */
typedef const char *advice_fn(const void *user, kaon_stop_reason reason,
                              const kaon_column_report *worst);
/* `before`, then what makes a solve whose solution is in precision `outer` one in double
 * throughout, then `after`. Stands until the next call. */
const char *solving_in_double(kaon_precision outer, const char *before, const char *after);
/* 1 where rounding may be what keeps it there. That of x in single precision leaves 6e-8 |A| |x| /
 * |b|: a hundredth takes an |x| of more than 1e5 |b| / |A|, and in double far more. */
int solving_rounds(double residual);
/* Says how many columns did not converge, that `lost` was not written, and the remedy for each way
 * in which they failed. */
void solving_explain(const kaon_column_report *solves, int columns, const char *lost,
                    advice_fn *advice, const void *user);

#endif
