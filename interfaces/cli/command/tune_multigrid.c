/* tune_multigrid.c - kaon tune --gauge: which options of --multigrid solve fastest on the user's
 * links. One option after another is varied, the others as best so far. */
#include "interfaces/cli/command/commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/problem/problem.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

enum { TEXT = 192, SOLVES = 2 };
/* Least gain of an option that is advised: less is noise. */
static const double gain = 0.03;

typedef struct trial {
  char options[TEXT];
  int steps, converged;
  double setup, solve;
} trial;

typedef struct search {
  const tune_args *args;
  kaon_context *ctx;
  int columns;
  int extents[4], grid[4]; /* as the first trial found them */
  trial best;
  json_t *rows;
} search;

/* The system as kaon invert --precond multigrid poses it. */
static problem_args arguments(const search *s, const char *options) {
  const tune_args *a = s->args;
  problem_args p = {.gauge = a->gauge,
                    .action = a->csw ? ACTION_CLOVER : ACTION_WILSON,
                    .kappa = a->kappa,
                    .mass = NAN,
                    .mu = NAN,
                    .anisotropy = 1,
                    .csw = a->csw,
                    .boundary_t = a->boundary_t,
                    .source = "z4:1",
                    .columns = s->columns,
                    .solver = KAON_GCR,
                    .tol = a->tol,
                    .max_iter = 1000,
                    .precision = KAON_DOUBLE,
                    .sloppy = KAON_HALF,
                    .even_odd = KAON_EVEN_ODD_NONE,
                    .stop = KAON_STOP_FULL,
                    .preconditioner = PROBLEM_MULTIGRID,
                    .schwarz_relaxation = NAN,
                    .schwarz_precision = -1,
                    .multigrid = *options ? options : NULL};
  if (a->lattices.count) memcpy(p.lattice, a->lattices.extents[0], sizeof p.lattice);
  memcpy(p.grid, a->grid, sizeof p.grid);
  return p;
}

/* The shortest of a few solves. */
static kaon_status solve(const search *s, problem *p, const kaon_vector *b, kaon_vector *x,
                         trial *t) {
  kaon_column_report *columns = calloc((size_t)s->columns, sizeof *columns);
  kaon_status status = kaon_context_agree(s->ctx, columns ? KAON_OK : KAON_ERR_MEMORY);
  t->solve = INFINITY;
  for (int i = 0; i < SOLVES && status == KAON_OK; i++) {
    kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
    status = kaon_vector_zero(x);
    if (status == KAON_OK) status = kaon_solver_solve(p->solver, b, x, columns, &report);
    t->solve = fmin(t->solve, report.seconds);
  }
  t->converged = status == KAON_OK;
  for (int k = 0; k < s->columns && status == KAON_OK; k++) {
    if (columns[k].reason == KAON_CANCELLED) status = KAON_ERR_CANCELLED;
    t->converged &= columns[k].reason == KAON_CONVERGED;
    if (columns[k].iterations > t->steps) t->steps = columns[k].iterations;
  }
  free(columns);
  return status;
}

/* Set-up and solves with t->options, on the slowest rank. Exit status. */
static int measure(search *s, trial *t) {
  const problem_args a = arguments(s, t->options);
  problem p;
  field_spec spec;
  kaon_vector *b = NULL, *x = NULL;
  int code = problem_check(&a, &p, &spec);
  p.multigrid.monitor = signals_monitor;
  if (code == EXIT_DONE) code = problem_links(s->ctx, &a, &spec, &p);
  signals_stage("measuring", "no options were found");
  if (code == EXIT_DONE) memcpy(s->extents, p.field.extents, sizeof s->extents);
  if (code == EXIT_DONE) kaon_lattice_part(p.field.lattice, NULL, NULL, s->grid);
  if (code == EXIT_DONE) code = problem_operator(s->ctx, &a, &p);
  p.options.monitor = signals_monitor;
  if (code == EXIT_DONE) code = problem_solver(s->ctx, s->columns, &p);
  kaon_status status = KAON_OK;
  const kaon_space *space = code == EXIT_DONE ? problem_space(&p) : NULL;
  if (code == EXIT_DONE) status = kaon_vector_create(s->ctx, space, p.precision, s->columns, &b);
  if (code == EXIT_DONE && status == KAON_OK)
    status = kaon_vector_create(s->ctx, space, p.precision, s->columns, &x);
  if (code == EXIT_DONE && status == KAON_OK) status = problem_source(&p, b);
  if (code == EXIT_DONE && status == KAON_OK) status = solve(s, &p, b, x, t);
  double seconds[2] = {p.made[0] + p.made[1], t->solve};
  if (code == EXIT_DONE && status == KAON_OK) status = ranks_most(seconds, 2);
  t->setup = seconds[0];
  t->solve = seconds[1];
  if (code == EXIT_DONE) code = cli_status(s->ctx, status, NULL);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  problem_close(&p);
  return code;
}

static double seconds_of(const search *s, const trial *t) {
  return (t->setup + t->solve) / s->columns;
}

static const char *shown(const trial *t) {
  return *t->options ? t->options : "the defaults";
}

static void note(search *s, const trial *t) {
  cli_print(&s->args->common, "%9.3f %9.3f %6d %12.4f  %s%s\n", t->setup, t->solve, t->steps,
            seconds_of(s, t), shown(t), t->converged ? "" : " (did not converge)");
  fflush(stdout);
  json_array_append_new(
      s->rows,
      json_pack("{s:s s:b s:i s:o s:o s:o}", "multigrid", t->options, "converged", t->converged,
                "steps", t->steps, "setup_seconds", report_real(t->setup), "seconds",
                report_real(t->solve), "column_seconds", report_real(seconds_of(s, t))));
}

/* How many levels these options make on this lattice; 0: they cannot be used. */
static int levels_of(const search *s, const char *text) {
  kaon_multigrid_options o = KAON_MULTIGRID_OPTIONS_INIT;
  kaon_multigrid_info info = KAON_MULTIGRID_INFO_INIT;
  const int made = kaon_options_parse(KAON_OPTIONS_MULTIGRID, &o, text) == KAON_OK &&
                   kaon_multigrid_plan(s->ctx, s->extents, s->grid, &o, &info) == KAON_OK;
  return made ? info.levels : 0;
}

/* One more option beside those of `base`. A set-up that fails has said why, and is passed over. */
static int try_option(search *s, const trial *base, const char *option) {
  trial t = {.steps = 0};
  int stopped = 0;
  snprintf(t.options, sizeof t.options, "%.128s%s%.48s", base->options, *base->options ? "," : "",
           option);
  int code = ranks_interrupted(&stopped);
  if (code != EXIT_DONE || stopped) return code != EXIT_DONE ? code : EXIT_STOPPED;
  const int levels = levels_of(s, t.options), same = levels == levels_of(s, base->options);
  if (levels == 0 || (same && strncmp(option, "levels", 6) == 0)) return EXIT_DONE;
  code = measure(s, &t);
  if (code == EXIT_USAGE) return EXIT_DONE;
  if (code != EXIT_DONE) return code;
  note(s, &t);
  const double most = s->best.converged ? (1 - gain) * seconds_of(s, &s->best) : INFINITY;
  if (t.converged && seconds_of(s, &t) < most) s->best = t;
  return EXIT_DONE;
}

/* Rows end with NULL. */
static const char *const varied[][10] = {
    {"levels=2", "levels=3", "levels=4"},
    {"vectors_0=16", "vectors_0=24", "vectors_0=28"},
    {"steps_0=2", "steps_0=3", "steps_0=5", "steps_0=6", "smoother_0=mr,steps_0=2",
     "smoother_0=mr,steps_0=4", "smoother_0=mr,steps_0=6"},
    {"setup=2", "setup=3", "setup=6"}};

static int vary(search *s) {
  int code = measure(s, &s->best);
  if (code == EXIT_DONE) note(s, &s->best);
  for (size_t i = 0; i < sizeof varied / sizeof *varied; i++) {
    const trial base = s->best;
    for (int k = 0; varied[i][k] != NULL && code == EXIT_DONE; k++)
      code = try_option(s, &base, varied[i][k]);
  }
  return code;
}

static int conclude(const search *s) {
  const cli_common *common = &s->args->common;
  if (!s->best.converged)
    cli_print(common, "no solve converged in 1000 steps\n");
  else if (*s->best.options)
    cli_print(common, "fastest: --precond multigrid --multigrid %s\n", s->best.options);
  else
    cli_print(common, "fastest: --precond multigrid with its defaults\n");
  json_t *report = report_new(s->ctx, "tune");
  json_object_set(report, "multigrid", s->rows);
  json_object_set_new(report, "fastest",
                      s->best.converged ? json_string(s->best.options) : json_null());
  const int code = report_write(common->report, report);
  json_decref(report);
  return code != EXIT_DONE ? code : s->best.converged ? EXIT_DONE : EXIT_NOT_CONVERGED;
}

static int check(const tune_args *a) {
  static const char *const others[] = {"output", "precision", "reconstruct", "samples", "tuning"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (cli_option_given(&a->common, others[i]))
      return cli_wrong(
          "--%s is for launch choices, but --gauge asks for options of multigrid, which are "
          "printed; leave one of them out",
          others[i]);
  if (isnan(a->kappa)) return cli_wrong("--kappa is missing, which --gauge needs");
  if (a->lattices.count > 1)
    return cli_wrong("--lattice is given %d times, but --gauge is one field; give it once",
                     a->lattices.count);
  return EXIT_DONE;
}

int tune_multigrid(const tune_args *a) {
  search s = {.args = a, .columns = a->columns.value[a->columns.count - 1]};
  problem p;
  field_spec spec;
  int code = check(a);
  const problem_args first = arguments(&s, "");
  if (code == EXIT_DONE) code = problem_check(&first, &p, &spec);
  if (code == EXIT_DONE) code = ranks_context(&a->common, a->grid, &s.ctx);
  if (code == EXIT_DONE) code = ranks_check(&a->common, s.ctx);
  if (code == EXIT_DONE) {
    s.rows = json_array();
    cli_print(&a->common, "set-up s   solve s  steps  s a column  --multigrid (%d columns)\n",
              s.columns);
    code = vary(&s);
    if (code == EXIT_DONE) code = conclude(&s);
    json_decref(s.rows);
  }
  kaon_context_destroy(&s.ctx);
  return code;
}
