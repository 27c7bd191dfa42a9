/* solving.h - what commands that solve share: names, histories of residuals, and advice about
 * columns that did not converge. */
#ifndef KAON_COMMON_SOLVING_H
#define KAON_COMMON_SOLVING_H

#include "interfaces/common/cli.h"

/* The methods of the library as values of options, in the order of kaon_method, and what each is
 * for. Both can be followed by more. */
#define METHOD_CHOICE(value, descriptor, name, purpose) name "|"
#define METHOD_CHOICES KAON_METHOD_LIST(METHOD_CHOICE)
#define METHOD_PURPOSE(value, descriptor, name, purpose) " " name ": " purpose "."
#define METHOD_PURPOSES KAON_METHOD_LIST(METHOD_PURPOSE)
#define METHOD_ONE(value, descriptor, name, purpose) +1
enum { METHODS = KAON_METHOD_LIST(METHOD_ONE) };

kaon_method_info method_info(kaon_method method);
/* 1: the method has one of these traits (kaon_method_trait). */
int method_has(kaon_method method, unsigned traits);
/* Names of the methods that have one of the traits: "cg, pipecg or fcg". There is room for all. */
#define METHOD_LISTED(value, descriptor, name, purpose) name ", "
enum { METHODS_ROOM = sizeof(KAON_METHOD_LIST(METHOD_LISTED) " or ") };
const char *methods_with(unsigned traits, char text[METHODS_ROOM]);
/* Name of a method in options and reports ("cg"), and in text ("CG"). */
const char *method_name(kaon_method method);
const char *method_title(kaon_method method);
const char *precision_name(kaon_precision precision);
/* "in double", or "in double, inner iteration in half". */
const char *precisions_text(kaon_precision outer, kaon_precision inner, char text[64]);
/* The word of CLI_REGIMES for how kernels were issued. Valid until the next call. */
const char *regime_name(kaon_issue issue);

/* Refuses a key of --set that the method does not use. `option`: the option that chose the method.
 * set NULL: does nothing. Exit status. */
int solving_idle(const char *set, const char *option, kaon_method method);

/* Prints a note where the precision of x is likely to keep |b - A x| above the tolerance. */
void solving_warn(const cli_common *common, kaon_precision precision, double tol);

/* The residuals of one column by iteration. */
typedef struct column_history {
  double *residual;
  int count;
} column_history;

/* Copies the residuals of the last solve into histories[0 .. columns - 1], which must be empty.
 * They stay empty where memory is short. */
void histories_copy(const kaon_solver *solver, int columns, column_history *histories);
/* Frees the residuals and the array. NULL is allowed. */
void histories_free(column_history *histories, int columns);
#define HISTORIES_HEAD "iteration,column 0"
/* Writes a CSV file that begins with HISTORIES_HEAD: a line an iteration, a field a column. path
 * NULL: nothing to do. Exit status. */
int histories_write(const column_history *histories, int columns, const char *path);

/* Advice about columns that ended for `reason`; `worst` is the one with the largest residual. */
typedef const char *advice_fn(const void *user, kaon_stop_reason reason,
                              const kaon_column_report *worst);
/* What tried to help after a failure, in vain. */
typedef struct solving_trials {
  char names[160]; /* "cg with ic0, gcr with ilu0"; "": nothing was tried */
  int left;        /* 1: --max-iter ended it before the table of remedies did */
} solving_trials;
/* Advice by the library's table of remedies. failure: `reason` and `breakdown` are set here, from
 * `worst`. singular: what to say of a system that no method solves. Valid until the next call. */
const char *solving_advice(kaon_failure failure, const kaon_column_report *worst,
                           const solving_trials *trials, const char *singular);
/* 1 where rounding may be why the residual stays this large. x in single precision leaves 6e-8 |A|
 * |x| / |b|: a residual of 0.01 would need |x| > 1e5 |b| / |A|. */
int solving_rounds(double residual);
/* Reports how many columns did not converge, that `lost` was not written, and advice for each
 * reason. */
void solving_explain(const kaon_column_report *solves, int columns, const char *lost,
                     advice_fn *advice, const void *user);

#endif
