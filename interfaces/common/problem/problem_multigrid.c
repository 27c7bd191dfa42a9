/* problem_multigrid.c - multigrid as the preconditioner of a problem: its options, itself, what
 * text and reports say of it. Contract: problem.h. */
#include <stdio.h>
#include <string.h>

#include "interfaces/common/problem/problem.h"
#include "interfaces/common/report.h"

int multigrid_asked(const problem_args *a) {
  return a->preconditioner == PROBLEM_MULTIGRID;
}

/* An option that multigrid decides itself. Exit status. */
static int refuse_choice(const cli_common *common, const char *option, const char *value,
                         const char *wanted, const char *why) {
  if (!cli_option_given(common, option) || strcmp(value, wanted) == 0) return EXIT_DONE;
  return cli_wrong("--%s %s does not go with --precond multigrid, %s; leave it out", option, value,
                   why);
}

int multigrid_complete(const cli_common *common, problem_args *a) {
  char method[32], form[32], stop[32], action[32];
  const char *const idle = a->multigrid      ? "multigrid"
                           : a->load_vectors ? "load-vectors"
                           : a->save_vectors ? "save-vectors"
                                             : NULL;
  if (!multigrid_asked(a) && idle)
    return cli_wrong(
        "--%s is for --precond multigrid, which is missing; leave it out, or "
        "give that",
        idle);
  if (!multigrid_asked(a)) return EXIT_DONE;
  if (a->action > ACTION_TWISTED_CLOVER)
    return cli_wrong(
        "--precond multigrid is for --action wilson, clover, twisted and twisted-clover; the "
        "action is %s; leave it out",
        cli_choice(PROBLEM_ACTIONS, a->action, action));
  int code = refuse_choice(common, "method", cli_choice(PROBLEM_SOLVERS, a->solver, method), "gcr",
                           "which changes from step to step and so needs --method gcr");
  if (code == EXIT_DONE)
    code = refuse_choice(common, "even-odd",
                         cli_choice("symmetric|asymmetric|none", a->even_odd, form), "none",
                         "which solves on all sites and reduces to even ones inside");
  if (code == EXIT_DONE)
    code = refuse_choice(common, "stop", cli_choice("full|schur|normal", a->stop, stop), "full",
                         "which solves the system as posed");
  if (code != EXIT_DONE) return code;
  if (a->temporal_gauge)
    return cli_wrong(
        "--temporal-gauge does not go with --precond multigrid, which is made for the "
        "links as they are; leave it out");
  a->solver = KAON_GCR;
  a->even_odd = KAON_EVEN_ODD_NONE;
  if (a->sloppy < 0) a->sloppy = KAON_HALF;
  return EXIT_DONE;
}

int multigrid_check(const problem_args *a, problem *p) {
  p->multigrid = (kaon_multigrid_options)KAON_MULTIGRID_OPTIONS_INIT;
  if (p->options.deflation > 0) /* the solver would say so after the set-up */
    return cli_wrong(
        "--set deflation=%d is for cg and cgnr, but --precond multigrid needs --method gcr; leave "
        "it out",
        p->options.deflation);
  if (!a->multigrid) return EXIT_DONE;
  if (a->load_vectors && (strstr(a->multigrid, "setup=") || strstr(a->multigrid, "seed=")))
    return cli_wrong(
        "--multigrid %s has options of a set-up, but --load-vectors %s takes the place of one; "
        "leave out setup and seed, or --load-vectors",
        a->multigrid, a->load_vectors);
  return cli_status(NULL, kaon_options_parse(KAON_OPTIONS_MULTIGRID, &p->multigrid, a->multigrid),
                    "--multigrid");
}

kaon_status multigrid_make(const problem_args *a, problem *p) {
  kaon_status status = a->load_vectors
                           ? kaon_multigrid_load(p->M, &p->multigrid, a->load_vectors, &p->K)
                           : kaon_multigrid_create(p->M, &p->multigrid, &p->K);
  if (status == KAON_OK && a->save_vectors) status = kaon_multigrid_save(p->K, a->save_vectors);
  return status;
}

static kaon_multigrid_info describe(const problem *p) {
  kaon_multigrid_info info = KAON_MULTIGRID_INFO_INIT;
  if (p->K != NULL) (void)kaon_multigrid_describe(p->K, &info);
  return info;
}

static json_t *level(const kaon_multigrid_level *l, const int grid[4]) {
  return json_pack("{s:o s:o s:i s:o s:i s:I s:o s:I s:i s:o s:o}", "lattice",
                   report_ints(l->extents, 4), "grid", report_ints(grid, 4), "dof", l->numbers,
                   "block", l->vectors ? report_ints(l->block, 4) : json_null(), "vectors",
                   l->vectors, "unknowns", (json_int_t)l->unknowns, "complexity",
                   report_real(l->complexity), "bytes", (json_int_t)l->bytes, "steps", l->cycles,
                   "setup_seconds", report_real(l->seconds), "dense_inverse_norm",
                   l->dense_inverse_norm > 0 ? report_real(l->dense_inverse_norm) : json_null());
}

static json_t *path(const char *name) {
  return name ? report_string(name) : json_null();
}

void multigrid_add(const problem_args *a, const problem *p, json_t *to) {
  const kaon_multigrid_info info = describe(p);
  json_t *levels = json_array();
  for (int l = 0; l < info.levels; l++)
    json_array_append_new(levels, level(&info.level[l], info.grid[l]));
  json_object_set(to, "levels", levels);
  json_object_set_new(
      to, "preconditioner",
      json_pack("{s:s s:o s:o s:o s:{s:o s:o s:o s:o s:o}}", "kind", "multigrid", "levels", levels,
                "load_vectors", path(a->load_vectors), "save_vectors", path(a->save_vectors),
                "setup", "seconds", report_real(info.seconds), "smooth", report_real(info.smooth),
                "orthonormalise", report_real(info.orthonormalise), "galerkin",
                report_real(info.galerkin), "dense", report_real(info.dense)));
}

int multigrid_plan(const kaon_context *ctx, const problem_args *a, const problem *p,
                   const int extents[4], const int grid[4], kaon_multigrid_info *info) {
  kaon_multigrid_options options = p->multigrid;
  *info = (kaon_multigrid_info)KAON_MULTIGRID_INFO_INIT;
  if (a->load_vectors) {
    const int code = cli_status(ctx, kaon_multigrid_probe(ctx, a->load_vectors, extents, &options),
                                "--load-vectors");
    if (code != EXIT_DONE) return code;
  }
  return cli_status(ctx, kaon_multigrid_plan(ctx, extents, grid, &options, info),
                    "--precond multigrid");
}

/* The file has a basis in single precision, and the candidates in terms of it. */
int multigrid_fits(const problem_args *a, const kaon_multigrid_info *info) {
  double bytes = 0;
  if (!a->save_vectors) return EXIT_DONE;
  for (int l = 0; l + 1 < info->levels; l++)
    bytes += info->level[l].vectors * 2 * sizeof(float) *
             (double)(info->level[l].unknowns + info->level[l + 1].unknowns);
  return cli_check_disk_space("--save-vectors", a->save_vectors, bytes, bytes);
}

void multigrid_print_levels(const cli_common *common, const problem *p,
                            const kaon_multigrid_info *info) {
  for (int l = 0; l < info->levels; l++) {
    const kaon_multigrid_level *at = &info->level[l];
    char bytes[32], below[96], ranks[64] = "";
    const int *e = at->extents, *b = at->block, *g = info->grid[l], *all = info->grid[0];
    if (all[0] * all[1] * all[2] * all[3] > 1)
      snprintf(ranks, sizeof ranks, " on %dx%dx%dx%d ranks", g[0], g[1], g[2], g[3]);
    if (at->vectors)
      snprintf(below, sizeof below, "%d vectors on blocks of %dx%dx%dx%d", at->vectors, b[0], b[1],
               b[2], b[3]);
    else
      snprintf(below, sizeof below, "%s",
               at->unknowns <= p->multigrid.dense ? "inverted as a dense matrix" : "solved by GCR");
    cli_print(common, "  level %d: %dx%dx%dx%d%s, %d numbers a site, %s, %s\n", l, e[0], e[1], e[2],
              e[3], ranks, at->numbers, below, cli_bytes((double)at->bytes, bytes));
  }
}

int multigrid_announce(const cli_common *common, const kaon_context *ctx, const problem_args *a,
                       const problem *p) {
  kaon_multigrid_info info;
  int grid[4];
  if (!multigrid_asked(a)) return EXIT_DONE;
  kaon_lattice_part(p->field.lattice, NULL, NULL, grid);
  int code = multigrid_plan(ctx, a, p, p->field.extents, grid, &info);
  if (code == EXIT_DONE) code = multigrid_fits(a, &info);
  if (code != EXIT_DONE) return code;
  if (a->load_vectors)
    cli_print(common, "loading the vectors of multigrid from %s:\n", a->load_vectors);
  else
    cli_print(common, "setting up multigrid, which takes as long as some solves:\n");
  multigrid_print_levels(common, p, &info);
  fflush(stdout);
  return EXIT_DONE;
}

/* Single precision, in which a cycle works, has seven digits: little is left of them. */
static const double nearly_singular = 1e6;

void multigrid_print_setup(const cli_common *common, const problem *p) {
  const kaon_multigrid_info info = describe(p);
  cli_print(common,
            "multigrid set-up %.3g s: smoothing and cycles %.3g, orthonormal bases %.3g, coarse "
            "matrices %.3g, dense inverse %.3g\n",
            info.seconds, info.smooth, info.orthonormalise, info.galerkin, info.dense);
  const double norm = info.levels > 0 ? info.level[info.levels - 1].dense_inverse_norm : 0;
  if (norm > nearly_singular)
    cli_error(
        "warning: the inverse of multigrid's coarsest level has a norm of %.1g, so the operator is "
        "nearly singular on this configuration: it is an exceptional one, or kappa is close to a "
        "critical value; give a smaller --kappa, or leave out the configuration",
        norm);
}
