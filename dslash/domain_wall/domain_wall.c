/* domain_wall.c - the domain-wall operator (Shamir), M = T - D / 2 on spinors with a fifth dimension
 * of ls sites: its row in the frame (dslash/operator/frame.h). T = P+ T+ + P- T-, where
 *
 *   T+_st = a delta_st - delta_s,t+1, but +mass in place of -1 from t = ls - 1 to s = 0
 *
 * with a = 5 - m5, and T- is the transpose. Sources: Shamir, Nucl. Phys. B 406 (1993) 90; Furman,
 * Shamir, Nucl. Phys. B 439 (1995) 54. */
#include <kaon/context.h>
#include <math.h>

#include "dslash/domain_wall/inner_term.h"
#include "lib/core/entry.h"
#include "lib/core/options_table.h"

/* x^n, n >= 0 */
static double power(double x, int n) {
  return n > 0 ? x * power(x, n - 1) : 1;
}

/* det T+ */
static double determinant(double a, double mass, int ls) {
  return power(a, ls) + mass;
}

static double term(double a, double mass, int ls, int s, int t) {
  const double diagonal = s == t ? a : 0;
  if (s == t + 1) return -1;
  return s == 0 && t == ls - 1 ? diagonal + mass : diagonal;
}

/* A step forward in s divides by a, and the way round has the factor -mass. */
static double inverse(double a, double mass, int ls, int s, int t) {
  const double det = determinant(a, mass, ls);
  return s >= t ? power(a, ls - 1 - (s - t)) / det : -mass * power(a, t - s - 1) / det;
}

static double element(const kaon_inner_family *family, kaon_site_kind kind, int chirality, int s,
                      int t) {
  const double a = 5 - family->m5;
  const int ls = family->base.base.spaces->inner;
  const int i = chirality == 0 ? s : t, j = chirality == 0 ? t : s;
  return (kind == KAON_SITE_TERM ? term : inverse)(a, family->mass, ls, i, j);
}

/* docs/conventions.md, "Cost". T has 96 flops a site of five dimensions, T^-1 48 ls. */
static kaon_cost cost(const kaon_fields *fields, kaon_form form, int columns) {
  const int ls = fields->family->spaces->inner;
  const kaon_cost hops = kaon_spinor_cost(fields, form, columns * ls);
  const int inverses = form == KAON_FORM_SYMMETRIC ? 2 : form == KAON_FORM_ASYMMETRIC;
  const int terms = form != KAON_FORM_SYMMETRIC;
  return (kaon_cost){.flops = hops.flops + inverses * 48 * ls + terms * 96, .bytes = hops.bytes};
}

static const kaon_action domain_wall = {
    .name = "domain wall",
    .update = "kaon_dirac_update",
    .forms = {[KAON_FORM_SYMMETRIC] = "domain wall even-odd symmetric",
              [KAON_FORM_ASYMMETRIC] = "domain wall even-odd asymmetric",
              [KAON_FORM_NONE] = "domain wall full lattice",
              [KAON_FORM_WHOLE] = "domain wall"},
    .reals = KAON_SPINOR_REALS,
    .fields_size = sizeof(kaon_inner_fields),
    .build = kaon_dirac_build,
    .fill = kaon_dirac_fill,
    .fill_sites = kaon_inner_fill,
    .release_fields = kaon_inner_fields_release,
    .hop = kaon_inner_hop,
    .site = kaon_inner_site,
    .halos = kaon_spinor_halos,
    .cost = cost,
    .diagonal = kaon_inner_diagonal,
    .halves = KAON_HALVES_TURNED,
    .blocks = 1,
};

/* Refuses a T without inverse. */
static kaon_status check(kaon_context *ctx, const kaon_domain_wall_options *o) {
  const double a = 5 - o->m5, det = determinant(a, o->mass, o->ls);
  if (fabs(det) > 1e-12 * (power(fabs(a), o->ls) + fabs(o->mass))) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_SINGULAR,
                   "domain wall: the site term has the determinant (5 - m5)^ls + mass, which is 0 "
                   "with m5 = %g, ls = %d and mass = %g; change one of them",
                   o->m5, o->ls, o->mass);
}

kaon_status kaon_domain_wall_create(kaon_gauge *gauge, const kaon_domain_wall_options *options,
                                    kaon_operator **M) {
  kaon_domain_wall_options own;
  kaon_family *family = NULL;
  if (M != NULL) *M = NULL;
  KAON_ENTER(KAON_OF(gauge), gauge, M);
  KAON_TRY(
      kaon_options_share(gauge->ctx, KAON_OK, KAON_OPTIONS_DOMAIN_WALL, options, &own, NULL, 0));
  KAON_TRY(check(gauge->ctx, &own));
  kaon_lattice *lattice = gauge->lattice;
  const kaon_space *spaces = kaon_lattice_spinors_5d(lattice, own.ls, KAON_EVEN);
  if (spaces == NULL)
    return kaon_fail(lattice->ctx, KAON_ERR_ARGUMENT,
                     "domain wall: %d sites of the fifth dimension were asked for, but 1 to %d are "
                     "possible, and at most 2^31 sites of five dimensions on a rank (here %lld); "
                     "use more ranks for more",
                     own.ls, KAON_INNER_MAX, (long long)(own.ls * lattice->volume));
  KAON_TRY(kaon_family_create(&domain_wall, sizeof(kaon_inner_family), lattice, spaces, gauge, NULL,
                              &family));
  kaon_inner_family *self = (kaon_inner_family *)family;
  self->base.anisotropy = 1;
  self->element = element;
  self->mass = own.mass;
  self->m5 = own.m5;
  family->hop = -0.5;
  return kaon_lattice_operator_first(family, own.precision, own.reconstruct, M);
}
