/* condensate.c - the staggered quark condensate from noise and its solutions (kaon/measure.h). */
#include <math.h>
#include <stdlib.h>

#include <kaon/measure.h>

#include "dslash/measure/staggered_measure.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

static kaon_status check(const kaon_vector *eta, const kaon_vector *x) {
  if (!kaon_is_staggered(eta) || x->space != eta->space || x->nrhs != eta->nrhs)
    return kaon_fail(
        eta->ctx, KAON_ERR_SHAPE,
        "condensate: staggered vectors on all sites with equal columns are needed, not "
        "%d columns of %d reals a site and %d of %d",
        eta->nrhs, eta->space->ncomp, x->nrhs, x->space->ncomp);
  return KAON_OK;
}

/* Mean of value[k][which] and its error. */
static void estimate(int n, double (*value)[2], const double weight[2], double *mean,
                     double *error) {
  double sum = 0, square = 0;
  for (int k = 0; k < n; k++) sum += weight[0] * value[k][0] + weight[1] * value[k][1];
  *mean = sum / n;
  for (int k = 0; k < n; k++) {
    const double off = weight[0] * value[k][0] + weight[1] * value[k][1] - *mean;
    square += off * off;
  }
  *error = n > 1 ? sqrt(square / ((double)n * (n - 1))) : NAN;
}

static kaon_status contract(const kaon_vector *eta, const kaon_vector *x, double (*value)[2],
                            double (*dot)[2]) {
  const double volume = (double)eta->space->lattice->global_volume;
  for (int parity = 0; parity < 2; parity++) {
    kaon_vector a, b;
    KAON_TRY(kaon_vector_view(eta, (kaon_parity)parity, &a));
    KAON_TRY(kaon_vector_view(x, (kaon_parity)parity, &b));
    KAON_TRY(kaon_vector_dot(&a, &b, dot));
    for (int k = 0; k < eta->nrhs; k++) value[k][parity] = 2 * dot[k][0] / volume;
  }
  return KAON_OK;
}

kaon_status kaon_condensate_measure(const kaon_vector *sources, const kaon_vector *solutions,
                                    kaon_condensate *condensate, double (*columns)[2]) {
  KAON_ENTER(KAON_OF(sources), sources, solutions, condensate);
  static const double even[2] = {1, 0}, odd[2] = {0, 1}, both[2] = {0.5, 0.5};
  KAON_TRY(check(sources, solutions));
  KAON_TRY(kaon_output_check(sources->ctx, "kaon_condensate", condensate));
  const int n = sources->nrhs;
  double(*value)[2] = calloc((size_t)n, sizeof *value), (*dot)[2] = calloc((size_t)n, sizeof *dot);
  kaon_status status = KAON_AGREE_MEMORY(sources->ctx, value != NULL && dot != NULL,
                                         "condensate: out of host memory for %d columns", n);
  if (status == KAON_OK) status = contract(sources, solutions, value, dot);
  if (status == KAON_OK) {
    kaon_condensate c = {.sources = n};
    estimate(n, value, even, &c.even, &c.even_error);
    estimate(n, value, odd, &c.odd, &c.odd_error);
    estimate(n, value, both, &c.whole, &c.whole_error);
    kaon_output_fill(condensate, &c, sizeof c);
    for (int k = 0; columns != NULL && k < n; k++)
      for (int parity = 0; parity < 2; parity++) columns[k][parity] = value[k][parity];
  }
  free(value);
  free(dot);
  return status;
}
