/* precond.c - preconditioners by name: their figures, themselves, what reports say of them.
 * Contract: linear.h. */
#include <math.h>
#include <stdio.h>

#include "linear.h"
#include "report.h"

static const char *const titles[] = {"",       "Jacobi", "block Jacobi",         "DIC",
                                     "DILU",   "SSOR",   "Gauss-Seidel",         "IC(0)",
                                     "ILU(0)", "AINV",   "Chebyshev polynomials"};

/* A figure, and the preconditioners that look at it (bits). */
typedef struct figure {
  const char *option, *of;
  unsigned used;
  int given;
} figure;

int precond_check(const linear_args *a) {
  const figure figures[] = {
      {"precond-block", "block-jacobi", 1u << PRECOND_BLOCK_JACOBI, a->precond_block != 0},
      {"omega", "ssor", 1u << PRECOND_SSOR, !isnan(a->precond_omega)},
      {"drop", "ainv", 1u << PRECOND_AINV, !isnan(a->precond_drop)},
      {"degree", "chebyshev", 1u << PRECOND_CHEBYSHEV, a->precond_degree != 0},
      {"low", "chebyshev", 1u << PRECOND_CHEBYSHEV, !isnan(a->precond_low)},
      {"high", "chebyshev", 1u << PRECOND_CHEBYSHEV, !isnan(a->precond_high)}};
  char name[32];
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    if (figures[i].given && !(figures[i].used >> a->precond & 1))
      return cli_wrong("--%s is for --precond %s, but --precond is %s; leave it out",
                       figures[i].option, figures[i].of,
                       cli_choice(LINEAR_PRECONDS, a->precond, name));
  if (isnan(a->precond_low) != isnan(a->precond_high))
    return cli_wrong(
        "--low and --high are the ends of one interval; give both, or none: it is then estimated");
  return EXIT_DONE;
}

static kaon_status make_chebyshev(linear *l) {
  const linear_args *a = l->args;
  kaon_chebyshev_options options = KAON_CHEBYSHEV_OPTIONS_INIT;
  if (a->precond_degree) options.degree = a->precond_degree;
  if (!isnan(a->precond_low)) options.low = a->precond_low;
  if (!isnan(a->precond_high)) options.high = a->precond_high;
  return kaon_precond_chebyshev(l->A, &options, &l->K);
}

kaon_status precond_make(linear *l) {
  switch ((linear_precond)l->args->precond) {
    case PRECOND_NONE:
      return KAON_OK;
    case PRECOND_JACOBI:
      return kaon_precond_jacobi(l->A, &l->K);
    case PRECOND_CHEBYSHEV:
      return make_chebyshev(l);
    default:
      return KAON_ERR_NOT_BUILT;
  }
}

const char *precond_text(const linear *l, char text[96]) {
  text[0] = '\0';
  if (l->args->precond) snprintf(text, 96, ", preconditioned by %s,", titles[l->args->precond]);
  return text;
}

json_t *precond_describe(const linear *l) {
  const linear_args *a = l->args;
  char name[32];
  double low = NAN, high = NAN;
  if (!a->precond) return json_null();
  json_t *d = json_pack("{s:s}", "kind", cli_choice(LINEAR_PRECONDS, a->precond, name));
  if (a->precond == PRECOND_CHEBYSHEV) {
    const kaon_chebyshev_options usual = KAON_CHEBYSHEV_OPTIONS_INIT;
    json_object_set_new(d, "degree",
                        json_integer(a->precond_degree ? a->precond_degree : usual.degree));
    if (l->K) (void)kaon_precond_chebyshev_interval(l->K, &low, &high);
    json_object_set_new(d, "low", report_real(low));
    json_object_set_new(d, "high", report_real(high));
  }
  return d;
}
