/* linear_sweeps.c - preconditioners of a few sweeps: relaxation (a solver of fixed steps as an
 * operator, kaon/relax.h) and row projections (kaon/relax.h). Contract: linear.h. */
#include <stdio.h>

#include "interfaces/common/linear/linear.h"
#include "interfaces/common/report.h"

/* An odd number of Jacobi's makes a K that is positive definite wherever A is. */
enum { USUAL_SWEEPS = 3 };

static const struct {
  int method, kind; /* one of them -1 */
  const char *title;
} made_of[] = {{KAON_JACOBI, -1, NULL},
               {KAON_GS, -1, NULL},
               {KAON_SOR, -1, NULL},
               {KAON_TWO_STAGE, -1, NULL},
               {KAON_ASYNC, -1, NULL},
               {-1, KAON_KACZMARZ_SWEEP, "Kaczmarz"},
               {-1, KAON_KACZMARZ_DOUBLE, "Kaczmarz, there and back"},
               {-1, KAON_KACZMARZ_CARP, "CARP"},
               {-1, KAON_KACZMARZ_CIMMINO, "Cimmino"}};

static int is_one(int precond) {
  return precond >= PRECOND_JACOBI_SWEEPS && precond <= PRECOND_CIMMINO;
}

int sweeps_method(int precond) {
  return is_one(precond) ? made_of[precond - PRECOND_JACOBI_SWEEPS].method : -1;
}

int sweeps_kind(int precond) {
  return is_one(precond) ? made_of[precond - PRECOND_JACOBI_SWEEPS].kind : -1;
}

int sweeps_count(const linear_args *a) {
  return a->precond_sweeps ? a->precond_sweeps : USUAL_SWEEPS;
}

const char *sweeps_text(const linear_args *a, char text[64]) {
  const int n = sweeps_count(a), method = sweeps_method(a->precond);
  snprintf(text, 64, "%d sweep%s of %s", n, n == 1 ? "" : "s",
           method >= 0 ? method_title((kaon_method)method)
                       : made_of[a->precond - PRECOND_JACOBI_SWEEPS].title);
  return text;
}

void sweeps_clear(linear *l) {
  if (!l->smoother && !l->S) return;
  kaon_operator_destroy(&l->K);
  kaon_solver_destroy(&l->smoother);
  kaon_operator_destroy(&l->S);
}

static kaon_status make_relaxation(linear *l, kaon_operator *A, int columns) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = (kaon_method)sweeps_method(l->args->precond);
  o.tol = 0;
  o.max_iterations = sweeps_count(l->args);
  o.sloppy = precond_precision(l);
  l->smoother_relax = l->relax;
  l->smoother_lab = l->lab;
  l->smoother_lab.faults = NULL; /* of solves alone */
  l->smoother_relax.lab = &l->smoother_lab;
  o.relax = &l->smoother_relax;
  l->smoothed = columns;
  const kaon_status status = kaon_solver_create(A, columns, &o, &l->smoother);
  return status == KAON_OK ? kaon_solver_as_operator(l->smoother, &l->K) : status;
}

kaon_status sweeps_make(linear *l, int columns) {
  kaon_matrix_operator_options options = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  kaon_status status = KAON_OK;
  options.precision = precond_precision(l);
  options.format = (kaon_matrix_format)l->args->format;
  sweeps_clear(l);
  if (options.precision != l->precision) status = kaon_matrix_operator(l->matrix, &options, &l->S);
  kaon_operator *A = l->S ? l->S : l->A;
  if (status != KAON_OK) return status;
  return sweeps_method(l->args->precond) >= 0
             ? make_relaxation(l, A, columns)
             : projections_precondition(l, A, sweeps_count(l->args));
}

json_t *sweeps_describe(const linear *l) {
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  json_t *d = json_pack("{s:i s:s}", "sweeps", sweeps_count(l->args), "precision",
                        precision_name(precond_precision(l)));
  json_t *more = NULL;
  if (sweeps_kind(l->args->precond) >= 0)
    more = projections_describe(l, l->K);
  else if (kaon_solver_relaxation(l->smoother, &r) == KAON_OK)
    more = relax_options_describe(&l->relax, &r);
  json_object_update(d, more);
  json_decref(more);
  return d;
}
