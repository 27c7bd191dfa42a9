/* staggered.c - staggered actions as the command line poses them (problem.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

enum { STAGGERED = 2, ASQTAD, HISQ }; /* PROBLEM_ACTIONS */

int staggered_action(const problem_args *a) {
  return a->action >= STAGGERED;
}

int staggered_check(const problem_args *a, problem *p) {
  char name[32];
  cli_choice(PROBLEM_ACTIONS, a->action, name);
  if (isnan(a->mass) || !isnan(a->kappa))
    return cli_wrong("--action %s needs --mass M (M = 2 mass + D) and no --kappa", name);
  if ((!isnan(a->csw) && a->csw != 0) || a->anisotropy != 1 || a->temporal_gauge)
    return cli_wrong("--csw, --anisotropy and --temporal-gauge are not for --action %s", name);
  if (a->mass == 0 && a->even_odd != KAON_EVEN_ODD_NONE)
    return cli_wrong("--mass 0 leaves the odd sites undetermined; give a mass, or --even-odd none");
  if (a->preconditioner)
    return cli_wrong("--preconditioner is not for --action %s; leave it out", name);
  if (a->action == STAGGERED && (a->fat_links || a->long_links))
    return cli_wrong("--fat-links and --long-links are for --action asqtad and hisq");
  if (a->action != STAGGERED && !a->synthetic_links && (!a->fat_links || !a->long_links)) {
    cli_error("%s links from --gauge are not built into this version of kaon; give them by "
              "--fat-links and --long-links",
              name);
    return EXIT_DEVICE;
  }
  p->staggered = 1;
  p->mass = a->mass;
  return EXIT_DONE;
}

/* A is Hermitian and positive definite: no normal equations of it. */
kaon_method staggered_method(const problem_args *a, kaon_method method) {
  static const kaon_method methods[] = {KAON_CG,  KAON_CGNR, KAON_CGNE,    KAON_BICGSTAB,
                                        KAON_GCR, KAON_MR,   KAON_BLOCKCG, KAON_PIPECG,
                                        KAON_PIPEBICGSTAB};
  return staggered_action(a) && a->even_odd != KAON_EVEN_ODD_NONE ? methods[a->solver] : method;
}

/* A file's links without MILC's signs. */
static kaon_status read_links(const problem_args *a, const problem *p, const char *path, int steps,
                              kaon_gauge **links) {
  kaon_status status =
      kaon_gauge_create(p->field.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links);
  if (status == KAON_OK) status = kaon_staggered_read_links(*links, path, a->ignore_checksum);
  if (status == KAON_OK) status = kaon_staggered_fold(*links, steps, KAON_PHASES_MILC);
  return status;
}

/* A field's links, each times `factor` and a phase that goes round with its number. */
static kaon_status turned(const kaon_gauge *from, double factor, int turns, kaon_gauge *to) {
  int extents[4];
  kaon_lattice_part(kaon_gauge_lattice(from), extents, NULL, NULL);
  const size_t links = 4 * (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2] *
                       (size_t)extents[3];
  double *u = malloc(18 * links * sizeof *u);
  void *out[1] = {u};
  const void *in[1] = {u};
  if (!u) return KAON_ERR_MEMORY;
  kaon_status status = kaon_gauge_export(from, KAON_ORDER_NATURAL, KAON_DOUBLE, out);
  for (size_t i = 0; i < 9 * links && status == KAON_OK; i++) {
    const double theta = turns ? (double)(i / 9 % 61) / 61 : 0, re = u[2 * i], im = u[2 * i + 1];
    u[2 * i] = factor * (cos(theta) * re - sin(theta) * im);
    u[2 * i + 1] = factor * (cos(theta) * im + sin(theta) * re);
  }
  if (status == KAON_OK)
    status = kaon_staggered_import_links(to, KAON_ORDER_NATURAL, KAON_DOUBLE, in);
  free(u);
  return status;
}

kaon_status staggered_synthetic(const field *f, int action, kaon_gauge **fat, kaon_gauge **naik) {
  kaon_status status = kaon_gauge_create(f->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, fat);
  if (status == KAON_OK)
    status = kaon_gauge_create(f->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, naik);
  if (status == KAON_OK) status = kaon_gauge_copy(*fat, f->gauge);
  if (status == KAON_OK) status = turned(f->gauge, -1.0 / 24, action == HISQ, *naik);
  return status;
}

kaon_status staggered_make(const problem_args *a, problem *p) {
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  kaon_status status = KAON_OK;
  o.mass = p->mass;
  if (!a->synthetic_links) {
    o.naik = -1 / (24 * a->u0 * a->u0);
    o.naik_epsilon = a->naik_epsilon;
  }
  o.precision = p->precision;
  if (p->options.sloppy == p->precision) o.reconstruct = p->options.reconstruct;
  if (a->synthetic_links && a->action != STAGGERED)
    status = staggered_synthetic(&p->field, a->action, &p->fat, &p->naik);
  if (a->fat_links) status = read_links(a, p, a->fat_links, 1, &p->fat);
  if (status == KAON_OK && a->long_links) status = read_links(a, p, a->long_links, 3, &p->naik);
  if (status == KAON_OK)
    status = kaon_staggered_create(p->fat ? p->fat : p->field.gauge, p->naik, &o, &p->M);
  if (status == KAON_OK && a->even_odd != KAON_EVEN_ODD_NONE)
    status = kaon_staggered_even_odd(p->M, KAON_EVEN, &p->R);
  return status;
}
