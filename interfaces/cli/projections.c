/* projections.c - methods of row projections: their options, what is solved in A's place, what
 * reports say of it. Contract: linear.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "linear.h"
#include "report.h"

static const double cimmino_lambda = 0.35; /* the paper's; docs/conventions.md */

static const kaon_sweep_order orders[] = {KAON_SWEEP_ROWS,    KAON_SWEEP_RANDOM,
                                          KAON_SWEEP_COLOURS, KAON_SWEEP_GROUPS,
                                          KAON_SWEEP_STRIDES, KAON_SWEEP_SECTIONS};
enum { COLOURS = 2 };

int projections_check(const linear_args *a, const linear *l) {
  const int kind = l->projections,
            swept = kind == KAON_KACZMARZ_SWEEP || kind == KAON_KACZMARZ_DOUBLE;
  const char *name = linear_method_name(l);
  if (kind < 0 && !isnan(a->lambda))
    return cli_wrong(
        "--lambda is for --method kaczmarz, cgmnc, carpcg and cimmino, but --method is "
        "%s; leave it out",
        name);
  if (a->relax_colour && kind == KAON_KACZMARZ_CIMMINO)
    return cli_wrong(
        "--coloring orders the rows of a sweep, but cimmino takes all at once; leave it "
        "out");
  if (a->sweep_order >= 0 && !swept)
    return cli_wrong(
        "--sweep-order is for --method kaczmarz and cgmnc, but --method is %s; leave it "
        "out",
        name);
  if (a->sweep_order >= 0 && a->sweep_order != COLOURS && a->relax_colour)
    return cli_wrong(
        "--coloring is --sweep-order colours, but another one is given; leave one out");
  if (a->carp_blocks && kind != KAON_KACZMARZ_CARP)
    return cli_wrong("--carp-blocks is for --method carpcg, but --method is %s; leave it out",
                     name);
  if (kind < 0) return EXIT_DONE;
  const int all_at_once = /* if the blocks are as many as the rows, which the library sees */
      kind == KAON_KACZMARZ_CIMMINO || (kind == KAON_KACZMARZ_CARP && a->carp_blocks > 0);
  if (!all_at_once && !isnan(a->lambda) && !(a->lambda < 2))
    return cli_wrong("--lambda %g: %s converges for 0 < lambda < 2 (0: by rule)", a->lambda, name);
  if (a->precond)
    return cli_wrong(
        "--method %s solves a system made of sweeps, of which --precond knows nothing; "
        "leave it out",
        name);
  if (l->options.sloppy == KAON_HALF)
    return cli_wrong("--method %s takes no half precision; give --sloppy single", name);
  return EXIT_DONE;
}

kaon_status projections_make(linear *l) {
  const linear_args *a = l->args;
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  o.kind = (kaon_kaczmarz_kind)l->projections;
  if (a->sweep_order >= 0) o.order = orders[a->sweep_order];
  if (a->relax_colour && o.kind != KAON_KACZMARZ_CARP) o.order = KAON_SWEEP_COLOURS;
  o.colour = a->relax_colour && o.kind == KAON_KACZMARZ_CARP;
  o.blocks = o.kind == KAON_KACZMARZ_CARP ? a->carp_blocks : 0;
  o.seed = a->seed;
  if (!isnan(a->lambda))
    o.lambda = a->lambda;
  else if (o.kind == KAON_KACZMARZ_CIMMINO)
    o.lambda = cimmino_lambda;
  double *points = NULL;
  kaon_status status = KAON_OK;
  if (o.order == KAON_SWEEP_SECTIONS)
    status = kaon_matrix_generate_points(l->ctx, a->matrix, &o.dimensions, &points);
  o.coordinates = points;
  if (status == KAON_OK) status = kaon_kaczmarz_reduce(l->A, &o, &l->R);
  free(points);
  return status;
}

void projections_print(const cli_common *common, const linear *l) {
  kaon_kaczmarz_info info;
  if (!l->R || kaon_kaczmarz_describe(l->R, &info) != KAON_OK) return;
  cli_say(common, "lambda %.4g", info.options.lambda);
  if (info.options.kind == KAON_KACZMARZ_CARP)
    cli_say(common, ", %d blocks, %.2f copies of an unknown", info.options.blocks, info.copies);
  else if (info.options.kind != KAON_KACZMARZ_CIMMINO && info.classes > 1)
    cli_say(common, ", %d classes of rows at once, %lld groups", info.classes,
            (long long)info.groups);
  cli_say(common, ", made in %.3g s\n", info.seconds);
}

json_t *projections_describe(const linear *l) {
  kaon_kaczmarz_info info;
  if (!l->R || kaon_kaczmarz_describe(l->R, &info) != KAON_OK) return json_null();
  static const char *const names[] = {"rows",   "permutation", "random",  "colours",
                                      "groups", "strides",     "sections"};
  const int carp = info.options.kind == KAON_KACZMARZ_CARP;
  return json_pack(
      "{s:o s:s? s:i s:I s:i s:o s:b s:o s:o}", "lambda", report_real(info.options.lambda), "order",
      carp || info.options.kind == KAON_KACZMARZ_CIMMINO ? NULL : names[info.options.order],
      "classes", info.classes, "groups", (json_int_t)info.groups, "blocks", info.options.blocks,
      "copies", report_real(carp ? info.copies : NAN), "colour", info.options.colour, "sweep_bytes",
      report_real(info.bytes), "seconds", report_real(info.seconds));
}
