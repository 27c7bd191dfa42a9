/* problem_staggered.c - staggered actions as the command line poses them (problem.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/problem/problem.h"
#include "interfaces/common/report.h"

int staggered_action(const problem_args *a) {
  return a->action >= ACTION_STAGGERED;
}

static int read_u0(const problem_args *a, problem *p) {
  char *end = NULL;
  p->u0 = 1;
  if (!a->u0 || strcmp(a->u0, "1") == 0) return EXIT_DONE; /* the default */
  if (a->action != ACTION_ASQTAD) return cli_wrong("--u0 %s is for --action asqtad", a->u0);
  p->u0 = 0;
  if (strcmp(a->u0, "auto") == 0) return EXIT_DONE;
  p->u0 = strtod(a->u0, &end);
  if (end == a->u0 || *end || !(p->u0 >= 1e-2 && p->u0 <= 10))
    return cli_wrong("--u0 is %s; it must be a number from 0.01 to 10, or auto", a->u0);
  return EXIT_DONE;
}

int staggered_check(const problem_args *a, problem *p) {
  char name[32];
  cli_choice(PROBLEM_ACTIONS, a->action, name);
  if (isnan(a->mass) || !isnan(a->kappa))
    return cli_wrong("--action %s needs --mass M (M = 2 mass + D) and no --kappa", name);
  if ((a->csw && strspn(a->csw, "0.") != strlen(a->csw)) || !isnan(a->mu) || a->anisotropy != 1 ||
      a->temporal_gauge)
    return cli_wrong("--csw, --mu, --anisotropy and --temporal-gauge are not for --action %s",
                     name);
  if (a->mass == 0 && a->even_odd != KAON_EVEN_ODD_NONE)
    return cli_wrong("--mass 0 leaves the odd sites undetermined; give a mass, or --even-odd none");
  if (a->preconditioner) return cli_wrong("--precond is not for --action %s; leave it out", name);
  if (problem_precond_asked(a))
    return cli_wrong("--method async-schwarz is not for --action %s; give --method cg", name);
  if (a->action == ACTION_STAGGERED && (a->fat_links || a->long_links))
    return cli_wrong("--fat-links and --long-links are for --action asqtad and hisq");
  if (a->action == ACTION_STAGGERED && a->naik_epsilon != 0)
    return cli_wrong("--naik-epsilon %g is for --action asqtad and hisq, which have long links",
                     a->naik_epsilon);
  if (a->fat_links && a->naik_epsilon != 0)
    return cli_wrong(
        "--naik-epsilon %g is for links that are made here; those of --fat-links %s and "
        "--long-links have theirs in them; leave it out",
        a->naik_epsilon, a->fat_links);
  if (!a->fat_links != !a->long_links)
    return cli_wrong(
        "--fat-links and --long-links belong together: give both, or neither and the "
        "links of --gauge are fattened");
  if (a->fat_links && a->boundary_t)
    return cli_wrong(
        "--boundary-t periodic is not for links that were made already: those of --fat-links %s "
        "and --long-links carry the sign of an antiperiodic t; leave it out",
        a->fat_links);
  if (read_u0(a, p) != EXIT_DONE) return EXIT_USAGE;
  if (a->fat_links && a->reconstruct == 0 && a->u0 && strcmp(a->u0, "1") != 0)
    return cli_wrong(
        "--u0 %s says how large ready-made long links are, which matters only with --reconstruct "
        "12 or 8; here it is 18, so there is no effect with --fat-links %s; leave it out",
        a->u0, a->fat_links);
  p->ready_made = a->fat_links ? a->action : 0;
  p->staggered = 1;
  p->mass = a->mass;
  return EXIT_DONE;
}

int staggered_hermitian(const problem_args *a) {
  return staggered_action(a) && a->even_odd != KAON_EVEN_ODD_NONE;
}

/* A file's links without MILC's signs. */
static kaon_status read_links(const problem_args *a, const problem *p, const char *path, int steps,
                              kaon_gauge **links) {
  kaon_status status = kaon_gauge_create(p->field.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links);
  if (status == KAON_OK) status = kaon_staggered_read_links(*links, path, a->ignore_checksum);
  if (status == KAON_OK) status = kaon_staggered_fold(*links, steps, KAON_PHASES_MILC);
  return status;
}

/* A field's links, each times `factor` and a phase that goes round with its number. */
static kaon_status turned(const kaon_gauge *from, double factor, int turns, kaon_gauge *to) {
  int extents[4];
  kaon_lattice_part(kaon_gauge_lattice(from), extents, NULL, NULL);
  const size_t links =
      4 * (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2] * (size_t)extents[3];
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
    status = kaon_gauge_import_matrices(to, KAON_ORDER_NATURAL, KAON_DOUBLE, in);
  free(u);
  return status;
}

kaon_status staggered_synthetic(const field *f, int action, kaon_gauge **fat, kaon_gauge **naik) {
  kaon_status status = kaon_gauge_create(f->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, fat);
  if (status == KAON_OK)
    status = kaon_gauge_create(f->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, naik);
  if (status == KAON_OK) status = kaon_gauge_copy(*fat, f->gauge);
  if (status == KAON_OK) status = turned(f->gauge, -1.0 / 24, action == ACTION_HISQ, *naik);
  return status;
}

static kaon_status fatten(const problem_args *a, problem *p) {
  kaon_fatten_options o = KAON_FATTEN_OPTIONS_INIT;
  o.action = a->action == ACTION_HISQ ? KAON_FATTEN_HISQ : KAON_FATTEN_ASQTAD;
  o.u0 = p->u0;
  o.naik_epsilon = a->naik_epsilon;
  kaon_lattice *lattice = p->field.lattice;
  kaon_status status = kaon_gauge_create(lattice, p->precision, KAON_RECONSTRUCT_18, &p->fat);
  if (status == KAON_OK)
    status = kaon_gauge_create(lattice, p->precision, KAON_RECONSTRUCT_18, &p->naik);
  p->fattening = (kaon_fatten_report)KAON_FATTEN_REPORT_INIT;
  if (status == KAON_OK) status = kaon_fatten(p->field.gauge, &o, p->fat, p->naik, &p->fattening);
  if (status == KAON_OK && a->action == ACTION_ASQTAD) p->u0 = p->fattening.u0;
  return status;
}

/* Unit links serve for the extents alone. */
static kaon_status read_both(const problem_args *a, problem *p) {
  const kaon_gauge *thin = p->field.spec.kind == FIELD_UNIT ? NULL : p->field.gauge;
  kaon_status status = read_links(a, p, a->fat_links, 1, &p->fat);
  if (status == KAON_OK) status = read_links(a, p, a->long_links, 3, &p->naik);
  if (status == KAON_OK)
    status = kaon_staggered_check_links(
        p->fat, p->naik, thin, a->action == ACTION_HISQ ? KAON_FATTEN_HISQ : KAON_FATTEN_ASQTAD);
  return status;
}

kaon_status staggered_make(const problem_args *a, problem *p) {
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  kaon_status status = problem_outer_links(p);
  o.mass = p->mass;
  o.precision = p->precision;
  if (p->options.sloppy == p->precision) o.reconstruct = p->options.reconstruct;
  if (a->action != ACTION_STAGGERED)
    status = a->synthetic_links ? staggered_synthetic(&p->field, a->action, &p->fat, &p->naik)
             : a->fat_links     ? read_both(a, p)
                                : fatten(a, p);
  if (!a->synthetic_links) {
    o.naik = p->u0 > 0 ? -1 / (24 * p->u0 * p->u0) : 0; /* 0: as found */
    o.naik_epsilon = a->naik_epsilon;
  }
  if (status == KAON_OK)
    status = kaon_staggered_create(p->fat ? p->fat : p->field.gauge, p->naik, &o, &p->M);
  if (status == KAON_OK && a->even_odd != KAON_EVEN_ODD_NONE)
    status = kaon_staggered_even_odd(p->M, KAON_EVEN, &p->R);
  return status;
}

void staggered_hint(const problem *p) {
  if (p->ready_made == ACTION_ASQTAD)
    cli_error(
        "--reconstruct 12 and 8 take those of --long-links for -1/(24 u0^2) times matrices of "
        "U(3), with the u0 of --u0, here %g; give the u0 that they were made with, or --u0 auto "
        "to take their size from the file, or leave --reconstruct out",
        p->u0);
  else if (p->ready_made)
    cli_error(
        "--reconstruct 12 and 8 take those of --long-links for -1/24 times matrices of U(3); leave "
        "--reconstruct out");
}

void staggered_print(const cli_common *common, const problem *p, double seconds) {
  const kaon_fatten_report *f = &p->fattening;
  if (f->levels == 0) return;
  if (seconds > 0)
    cli_print(common, "%.4f s of fattening before it, %.1f %% of the solve's time\n", f->seconds,
              100 * f->seconds / seconds);
  else if (f->levels == 1)
    cli_print(common, "links fattened in %.4f s (u0 %.6f)\n", f->seconds, f->u0);
  else
    cli_print(
        common,
        "links fattened in %.4f s (levels %.4f and %.4f, U(3) %.4f); %lld by singular values, "
        "smallest |det| %.2e\n",
        f->seconds, f->level_seconds[0], f->level_seconds[1], f->unitarise_seconds,
        (long long)f->svd_links, f->smallest_det);
}

void staggered_describe(const problem_args *a, const problem *p, json_t *report) {
  const kaon_fatten_report *f = &p->fattening;
  json_object_set_new(report, "mass", report_real(p->mass));
  json_object_set_new(report, "naik_epsilon", report_real(a->naik_epsilon));
  if (a->action == ACTION_ASQTAD && !a->fat_links)
    json_object_set_new(report, "u0", report_real(p->u0));
  if (f->levels == 0) return;
  json_t *made = json_object();
  json_object_set_new(made, "seconds", report_real(f->seconds));
  json_object_set_new(made, "level_seconds", report_reals(f->level_seconds, f->levels));
  json_object_set_new(made, "level_gflops",
                      report_real(1e-9 * f->level_flops / f->level_seconds[f->levels - 1]));
  if (f->levels > 1) {
    json_object_set_new(made, "unitarise_seconds", report_real(f->unitarise_seconds));
    json_object_set_new(made, "svd_links", json_integer((json_int_t)f->svd_links));
    json_object_set_new(made, "smallest_det", report_real(f->smallest_det));
    json_object_set_new(made, "smallest_det_site", report_ints(f->site, 4));
  }
  json_object_set_new(report, "fattening", made);
}
