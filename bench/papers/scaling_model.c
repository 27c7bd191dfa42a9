/* scaling_model.c - the fit of the model and its predictions. Contract: scaling_model.h. */
#include "bench/papers/scaling_model.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { LATENCY, PER_BYTE, FACE, FIXED, UNKNOWNS = FIXED + 3 };

/* ---- what was measured on one rank ---- */

double model_sites(const model_place *at) {
  double sites = 1;
  for (int mu = 0; mu < 4; mu++) sites *= (double)at->lattice[mu] / at->grid[mu];
  return sites;
}

/* Of two figures for the same sites the faster one counts. */
void model_add(model_curve *c, double sites, double seconds) {
  int i = 0;
  while (i < c->count && c->sites[i] < sites) i++;
  if (i < c->count && c->sites[i] == sites) {
    if (seconds < c->seconds[i]) c->seconds[i] = seconds;
    return;
  }
  if (c->count == MODEL_POINTS) return;
  for (int k = c->count++; k > i; k--) {
    c->sites[k] = c->sites[k - 1];
    c->seconds[k] = c->seconds[k - 1];
  }
  c->sites[i] = sites;
  c->seconds[i] = seconds;
}

/* Below the smallest size the line through the two smallest continues, which leaves the cost of a
 * launch. A line that reaches 0 before 0 sites means there is no such cost: proportional. */
double model_read(const model_curve *c, double sites) {
  const int last = c->count - 1;
  int i = 1;
  if (c->count == 0) return NAN;
  if (c->count == 1 || sites >= c->sites[last]) return c->seconds[last] * sites / c->sites[last];
  while (i < last && c->sites[i] < sites) i++;
  const double slope = (c->seconds[i] - c->seconds[i - 1]) / (c->sites[i] - c->sites[i - 1]);
  const double line = c->seconds[i - 1] + slope * (sites - c->sites[i - 1]);
  if (sites >= c->sites[0]) return line;
  const double rest = c->seconds[0] - slope * c->sites[0];
  if (slope < 0) return c->seconds[0];
  return rest > 0 ? line : c->seconds[0] * sites / c->sites[0];
}

/* ---- messages ---- */

/* Bytes of a half spinor: 12 reals, with a scale in half precision. */
static double ghost_bytes(int precision) {
  static const double bytes[] = {96, 48, 28};
  return bytes[precision];
}

/* Bytes that a rank sends for one hop within its node and to other nodes: two faces of one parity
 * in each divided direction. Of the rank that sends most to other nodes: both faces where
 * neighbours are never on its node, one where some are. */
static void bytes_of(const model_place *at, const model_network *network, int precision,
                     double *inside, double *outside) {
  const double half = 0.5 * model_sites(at);
  int reach = 1;
  *inside = *outside = 0;
  for (int mu = 0; mu < 4; mu++) {
    const int apart = reach; /* rank numbers of neighbours in mu differ by this */
    reach *= at->grid[mu];
    if (at->grid[mu] == 1) continue;
    const double face = ghost_bytes(precision) * half * at->grid[mu] / at->lattice[mu];
    const int leave = network == NULL || reach <= network->node ? 0
                      : apart >= network->node                  ? 2
                                                                : 1;
    *outside += leave * face;
    *inside += (2 - leave) * face;
  }
}

static double message(const model *m, const model_network *network, double inside, double outside) {
  const double near = inside > 0 ? m->latency + inside * m->per_byte : 0;
  const double far = outside > 0 ? network->latency + outside / network->bandwidth : 0;
  return fmax(near, far);
}

double model_hop_seconds(const model *m, const model_network *network, const model_place *at,
                         int precision, int hidden) {
  const double alone = model_read(&m->inside[precision], model_sites(at));
  double inside, outside;
  bytes_of(at, network, precision, &inside, &outside);
  if (inside + outside <= 0) return alone;
  const double waits = message(m, network, inside, outside);
  return alone + m->fixed[precision] + m->face * (inside + outside) +
         (hidden ? fmax(0, waits - alone) : waits);
}

/* ---- least squares: |A x - y|^2, x >= 0, by descent along one coordinate after another ---- */

typedef struct squares {
  double a[UNKNOWNS][UNKNOWNS], b[UNKNOWNS];
} squares;

static void add_row(squares *s, const double row[UNKNOWNS], double y) {
  for (int i = 0; i < UNKNOWNS; i++) {
    s->b[i] += row[i] * y;
    for (int k = 0; k < UNKNOWNS; k++) s->a[i][k] += row[i] * row[k];
  }
}

static void minimise(const squares *s, double x[UNKNOWNS]) {
  enum { SWEEPS = 400000 };
  static const double small = 1e-13;
  double scale[UNKNOWNS], most = 1;
  for (int i = 0; i < UNKNOWNS; i++) scale[i] = sqrt(s->a[i][i]);
  memset(x, 0, UNKNOWNS * sizeof *x);
  for (int n = 0; n < SWEEPS && most > small; n++) {
    most = 0;
    for (int i = 0; i < UNKNOWNS; i++) {
      if (!(scale[i] > 0)) continue; /* no measurement depends on it */
      double rest = s->b[i];
      for (int k = 0; k < UNKNOWNS; k++) rest -= s->a[i][k] * x[k];
      const double next = fmax(0, x[i] + rest / s->a[i][i]);
      most = fmax(most, fabs(next - x[i]) * scale[i]);
      x[i] = next;
    }
  }
}

/* ---- the fit ---- */

/* The equation of a hop, divided by its seconds so that all have equal weight. */
static void equation(const model *m, const model_hop *h, squares *s) {
  const double alone = model_read(&m->inside[h->precision], model_sites(&h->at));
  double row[UNKNOWNS] = {0}, bytes, none;
  bytes_of(&h->at, NULL, h->precision, &bytes, &none);
  const int exposed = !h->hidden || message(m, NULL, bytes, 0) > alone;
  row[LATENCY] = exposed / h->seconds;
  row[PER_BYTE] = exposed * bytes / h->seconds;
  row[FACE] = bytes / h->seconds;
  row[FIXED + h->precision] = 1 / h->seconds;
  /* A hidden message that takes longer than the interior replaces it. */
  const double before = h->hidden && exposed ? 0 : alone;
  add_row(s, row, (h->seconds - before) / h->seconds);
}

/* Which messages take longer than the interior depends on latency and bandwidth. Repeats the fit
 * until nothing changes. */
void model_fit_hops(model *m, model_hop *hops, int count) {
  enum { ROUNDS = 30 };
  double before[UNKNOWNS] = {0}, x[UNKNOWNS];
  m->latency = m->per_byte = m->face = 0;
  for (int n = 0; n < ROUNDS; n++) {
    squares s = {0};
    for (int i = 0; i < count; i++)
      if (hops[i].at.ranks > 1) equation(m, &hops[i], &s);
    minimise(&s, x);
    m->latency = x[LATENCY];
    m->per_byte = x[PER_BYTE];
    m->face = x[FACE];
    for (int p = 0; p < 3; p++) m->fixed[p] = x[FIXED + p];
    if (memcmp(before, x, sizeof x) == 0) break;
    memcpy(before, x, sizeof x);
  }
  for (int i = 0; i < count; i++)
    hops[i].fitted = model_hop_seconds(m, NULL, &hops[i].at, hops[i].precision, hops[i].hidden);
}

double model_step_seconds(const model *m, const model_network *network, const model_place *at,
                          const model_method *method, double sums) {
  const double sites = model_sites(at);
  const double alone = model_read(&m->inside[method->inner], sites);
  const double hop = model_hop_seconds(m, network, at, method->inner, 1);
  const int node = network != NULL && network->node < at->ranks ? network->node : at->ranks;
  double sum = m->sum * log2(node);
  if (network != NULL) sum += network->latency * log2((double)at->ranks / node);
  return model_read(&method->step, sites) + method->hops * (hop - alone) + sums * sum;
}

void model_fit_solves(model *m, model_solve *solves, int count) {
  double above = 0, below = 0;
  m->sum = 0;
  for (int i = 0; i < count; i++) {
    const model_solve *s = &solves[i];
    const model_method *method = &m->method[s->method];
    const double step = s->seconds / s->iterations;
    if (s->at.ranks == 1 || method->step.count == 0) continue;
    const double rest = step - model_step_seconds(m, NULL, &s->at, method, s->sums);
    const double factor = s->sums * log2(s->at.ranks);
    above += rest * factor / (step * step);
    below += factor * factor / (step * step);
  }
  m->sum = below > 0 ? fmax(0, above / below) : 0;
  for (int i = 0; i < count; i++) {
    model_solve *s = &solves[i];
    s->fitted = s->iterations * model_step_seconds(m, NULL, &s->at, &m->method[s->method], s->sums);
  }
}

/* gcr-schwarz, gcr-sap */
int model_in_domains(const model_method *method) {
  return strstr(method->name, "-schwarz") != NULL || strstr(method->name, "-sap") != NULL;
}

double model_steps(const model_method *method, const model_place *at) {
  double sites = 1;
  if (!model_in_domains(method)) return method->steps;
  for (int mu = 0; mu < 4; mu++) {
    const int part = at->lattice[mu] / at->grid[mu], n = method->block[mu];
    sites *= n > 0 && n < part ? n : part;
  }
  if (method->measured > 1)
    return method->steps * exp(method->growth * log2(sites / method->at_sites));
  return fabs(sites / method->at_sites - 1) < 1e-6 ? method->steps : NAN;
}
