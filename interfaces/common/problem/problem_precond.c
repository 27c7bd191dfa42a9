/* problem_precond.c - the preconditioner of a problem: its options, itself, what reports say of it.
 * Contract: problem.h. */
#include <math.h>
#include <stdio.h>

#include "interfaces/common/problem/problem.h"
#include "interfaces/common/report.h"

static const char *const kinds[] = {"none", "schwarz", "sap", "async-schwarz", "multigrid"};

enum { SAP = 2, ASYNC = 3 };

static const kaon_schwarz_kind schwarz_kind[] = {KAON_SCHWARZ_ADDITIVE, KAON_SCHWARZ_ADDITIVE,
                                                 KAON_SCHWARZ_MULTIPLICATIVE,
                                                 KAON_SCHWARZ_ASYNCHRONOUS};

enum { SOLVER_ASYNC = METHODS }; /* in PROBLEM_SOLVERS */

int problem_precond_asked(const problem_args *a) {
  return a->solver == SOLVER_ASYNC && a->preconditioner == 0 ? ASYNC : a->preconditioner;
}

/* A value may be what it is without the option: what counts is that it was given. */
static int schwarz_idle(const cli_common *common, const problem_args *a) {
  if (a->solver == SOLVER_ASYNC && cli_option_given(common, "precond") &&
      a->preconditioner != ASYNC)
    return cli_wrong(
        "--method async-schwarz is gcr with --precond async-schwarz, but --precond "
        "is %s; leave it out, or give --method gcr",
        kinds[a->preconditioner]);
  static const char *const options[] = {"schwarz-block",     "schwarz-steps",
                                        "schwarz-cycles",    "schwarz-relaxation",
                                        "schwarz-precision", "schwarz-groups"};
  for (int i = 0; i < 6; i++) {
    if (!cli_option_given(common, options[i])) continue;
    if (problem_precond_asked(a) == 0 || multigrid_asked(a))
      return cli_wrong(
          "--%s is for --precond schwarz, sap and async-schwarz, which is missing; leave it "
          "out, or give one",
          options[i]);
    if (i == 5 && problem_precond_asked(a) != ASYNC)
      return cli_wrong("--%s is for --precond async-schwarz, but it is %s; leave it out",
                       options[i], kinds[problem_precond_asked(a)]);
  }
  return EXIT_DONE;
}

int problem_precond_complete(const cli_common *common, problem_args *a) {
  const int code = schwarz_idle(common, a);
  return code == EXIT_DONE ? multigrid_complete(common, a) : code;
}

int problem_precond_fits(const problem_args *a, const int part[4], const int extents[4]) {
  for (int mu = 0; mu < 4 && problem_precond_asked(a) != 0 && !multigrid_asked(a); mu++) {
    const int n = a->schwarz_block[mu], one = n ? n : part[mu], blocks = extents[mu] / one;
    if (n && (part[mu] % n != 0 || n % 2 != 0))
      return cli_wrong(
          "--schwarz-block: a block has extent %d in %c, but an even divisor of the rank's %d is "
          "needed (0: all of it)",
          n, "XYZT"[mu], part[mu]);
    if (problem_precond_asked(a) == SAP && blocks > 1 && blocks % 2 != 0)
      return cli_wrong(
          "--schwarz-block: %d / %d = %d blocks in %c; --precond sap needs an even number "
          "or 1",
          extents[mu], one, blocks, "XYZT"[mu]);
  }
  return EXIT_DONE;
}

int problem_precond_check(const problem_args *a, problem *p) {
  kaon_schwarz_options *o = &p->schwarz;
  char solver[32];
  *o = (kaon_schwarz_options)KAON_SCHWARZ_OPTIONS_INIT;
  if (problem_precond_asked(a) == 0) return EXIT_DONE;
  if (multigrid_asked(a)) return multigrid_check(a, p);
  if (!method_has(p->options.method, KAON_METHOD_FLEXIBLE))
    return cli_wrong("--precond %s needs --method gcr; --method is %s",
                     kinds[problem_precond_asked(a)],
                     cli_choice(PROBLEM_SOLVERS, a->solver, solver));
  o->kind = schwarz_kind[problem_precond_asked(a)];
  for (int mu = 0; mu < 4; mu++) o->block[mu] = a->schwarz_block[mu];
  o->steps = a->schwarz_steps;
  o->cycles = a->schwarz_cycles;
  o->groups = a->schwarz_groups;
  if (!isnan(a->schwarz_relaxation)) o->relaxation = a->schwarz_relaxation;
  if (a->schwarz_precision >= 0) o->precision = (kaon_precision)a->schwarz_precision;
  o->reconstruct = p->options.reconstruct;
  return EXIT_DONE;
}

kaon_status problem_precond_make(const problem_args *a, problem *p) {
  if (problem_precond_asked(a) == 0 || p->counted) return KAON_OK;
  const kaon_status status = multigrid_asked(a)
                                 ? multigrid_make(a, p)
                                 : kaon_schwarz_create(p->R ? p->R : p->M, &p->schwarz, &p->K);
  p->options.preconditioner = p->K;
  return status;
}

void problem_precond_add(const problem_args *a, const problem *p, json_t *to) {
  static const char *const precisions[] = {"double", "single", "half"};
  kaon_schwarz_options o = p->schwarz;
  if (problem_precond_asked(a) == 0) {
    json_object_set_new(to, "preconditioner", json_null());
    return;
  }
  if (multigrid_asked(a)) {
    multigrid_add(a, p, to);
    return;
  }
  static const char *const names[] = {"x", "y", "z", "t"};
  int block[4], grid[4];
  if (p->K != NULL) (void)kaon_schwarz_describe(p->K, &o);
  json_t *cut = json_array();
  kaon_lattice_part(p->field.lattice, block, NULL, grid);
  for (int mu = 0; mu < 4; mu++) {
    if (o.block[mu] || grid[mu] > 1) json_array_append_new(cut, json_string(names[mu]));
    if (o.block[mu]) block[mu] = o.block[mu];
  }
  json_object_set_new(
      to, "preconditioner",
      json_pack("{s:s s:o s:o s:i s:i s:o s:s s:i}", "kind", kinds[problem_precond_asked(a)],
                "block", report_ints(block, 4), "cut", cut, "steps", o.steps, "cycles", o.cycles,
                "relaxation", report_real(o.relaxation), "precision", precisions[o.precision],
                "links", (int)o.reconstruct));
  kaon_schwarz_lags lags = KAON_SCHWARZ_LAGS_INIT;
  if (p->K == NULL || problem_precond_asked(a) != ASYNC) return;
  (void)kaon_schwarz_describe_lags(p->K, &lags);
  json_object_update_new(json_object_get(to, "preconditioner"),
                         json_pack("{s:i s:i s:i s:I s:I s:i}", "groups", o.groups, "parts",
                                   lags.parts, "lag", o.lag, "reads", (json_int_t)lags.reads,
                                   "late", (json_int_t)lags.late, "oldest", lags.oldest));
}

void schwarz_add_traffic(const kaon_traffic *traffic, json_t *to) {
  json_object_set_new(to, "sums", json_integer(traffic->sums));
  json_object_set_new(to, "exchanges", json_integer(traffic->exchanges));
  json_object_set_new(to, "bytes_sent", json_integer(traffic->bytes));
}

const char *problem_precond_text(const problem_args *a, const problem *p, char text[96]) {
  static const char *const names[] = {"", "additive Schwarz", "SAP", "asynchronous Schwarz",
                                      "multigrid"};
  const char *name = names[problem_precond_asked(a)];
  int n[4];
  text[0] = '\0';
  kaon_lattice_part(p->field.lattice, n, NULL, NULL);
  const int *asked = p->schwarz.block, whole = !asked[0] && !asked[1] && !asked[2] && !asked[3];
  for (int mu = 0; mu < 4; mu++)
    if (asked[mu]) n[mu] = asked[mu];
  if (multigrid_asked(a))
    snprintf(text, 96, ", preconditioned by %s,", name);
  else if (problem_precond_asked(a) != 0 && whole)
    snprintf(text, 96, ", preconditioned by %s, a block a rank,", name);
  else if (problem_precond_asked(a) != 0)
    snprintf(text, 96, ", preconditioned by %s in blocks of %dx%dx%dx%d,", name, n[0], n[1], n[2],
             n[3]);
  return text;
}
