/* invert_plan.c - how much memory kaon invert takes, computed without doing the work: for --dry-run,
 * and before every run. Every object's bytes are a constant plus a multiple of the sites. So the
 * job's objects are created on two small lattices (forecast.h), whose extents are those of the job
 * modulo 4, which decides the site order. A lattice that is no larger than these is set up itself.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <kaon/context.h>

#include "interfaces/cli/command/forecast.h"
#include "interfaces/cli/command/invert.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

/* A job of at most small_bytes, by a rough estimate from the bytes a site, is set up itself instead
 * of smaller ones. */
static const double small_bytes = 100e6;
static const double site_bytes_links = 3000, site_bytes_real = 62.5; /* a real number of a column */

/* A batch's own vectors and its solver. */
static int create_batch(invert_job *job, int columns, forecast *f) {
  const kaon_space *full = problem_space(&job->p);
  kaon_vector *own[2] = {NULL, NULL};
  int code = EXIT_DONE;
  for (int i = 0; i < 2 && code == EXIT_DONE && columns < job->columns; i++)
    code = cli_status(job->ctx,
                      kaon_vector_create(job->ctx, full, job->p.precision, columns, &own[i]), NULL);
  const double before = forecast_now(job->ctx);
  if (code == EXIT_DONE) code = problem_solver(job->ctx, columns, &job->p);
  f->solver = fmax(f->solver, forecast_now(job->ctx) - before);
  kaon_solver_destroy(&job->p.solver);
  kaon_vector_destroy(&own[0]);
  kaon_vector_destroy(&own[1]);
  return code;
}

/* Multi-shift CG allocates in the solve, so two steps are made. Otherwise solvers are created, also
 * that of a last, smaller batch, which may deflate where others do not. */
static int create_solvers(invert_job *job, forecast *f) {
  const double before = forecast_now(job->ctx);
  const int rest = job->columns % job->batch;
  if (!job->shifts.count) {
    const int code = create_batch(job, job->batch, f);
    return code == EXIT_DONE && rest ? create_batch(job, rest, f) : code;
  }
  int code = shifts_take(job);
  if (code == EXIT_DONE) code = shifts_memory_trial(job);
  f->solver = forecast_now(job->ctx) - before;
  return code;
}

/* All that the job holds when it solves. */
static int create_all(invert_job *job, forecast *f) {
  double before = forecast_now(job->ctx);
  job->links = (kaon_observables)KAON_OBSERVABLES_INIT;
  int code = cli_status(job->ctx, kaon_gauge_measure(job->p.field.gauge, &job->links), NULL);
  if (code == EXIT_DONE) code = invert_allocate(job);
  f->vectors = forecast_now(job->ctx) - before;
  if (code == EXIT_DONE) code = cli_status(job->ctx, problem_source(&job->p, job->b), "--source");
  before = forecast_now(job->ctx);
  if (code == EXIT_DONE) code = problem_operator(job->ctx, &job->args->problem, &job->p);
  f->operator= forecast_now(job->ctx) - before;
  if (code == EXIT_DONE) code = create_solvers(job, f);
  forecast_count(job->ctx, f);
  /* a column on its way, and another one of the file writer; a guess comes before the solver */
  const double column = f->size * problem_reals(&job->p) * sizeof(double);
  f->host = column + fmax(job->args->output ? column : 0, guess_bytes(job) - f->solver);
  return code;
}

static double volume_of(const int e[4]) {
  return (double)e[0] * e[1] * e[2] * e[3];
}

/* Sets a small job up on `extents`, for a job of `sites`. Exit status. */
static int count_small(const invert_args *args, const int extents[4], double sites, forecast *f) {
  invert_args own = *args;
  field_spec spec;
  invert_job job = {.args = &own, .memory_trial = 1};
  char weak[] = "weak:0.1";
  own.problem.gauge = weak;
  own.problem.ignore_checksum = 0; /* of a file, which is not read */
  own.common.quiet = 1;
  own.common.memory_limit = NAN;
  own.common.tuning = own.common.report = NULL;
  own.common.deflation_limit = forecast_deflation(volume_of(extents) / sites);
  memcpy(own.problem.lattice, extents, sizeof own.problem.lattice);
  for (int mu = 0; mu < 4; mu++) /* some divisor: sizes hardly depend on it */
    if (own.problem.schwarz_block[mu])
      own.problem.schwarz_block[mu] = extents[mu] % 4 == 0 ? 2 : extents[mu]; /* SAP: even or 1 */
  own.problem.columns = job.columns = problem_columns(&args->common, &own.problem);
  if (own.problem.fat_links) own.problem.synthetic_links = 1; /* as large as those of files */
  own.problem.fat_links = own.problem.long_links = NULL;
  job.batch = own.batch && own.batch < job.columns ? own.batch : job.columns;
  int code = problem_check(&own.problem, &job.p, &spec);
  job.p.counted = multigrid_asked(&own.problem);
  if (code == EXIT_DONE && own.shifts) code = shifts_parse(own.shifts, &job.shifts);
  for (int mu = 0; mu < 4; mu++) job.p.source.site[mu] = 0;
  if (code == EXIT_DONE) code = cli_context(&own.common, &job.ctx);
  if (code == EXIT_DONE) code = problem_links(job.ctx, &own.problem, &spec, &job.p);
  if (code == EXIT_DONE) {
    f->input = forecast_now(job.ctx);
    f->size = (double)kaon_lattice_volume(job.p.field.lattice);
    job.p.options.max_iterations = 2;
    code = create_all(&job, f);
  }
  invert_close(&job);
  return signals_interrupted() ? EXIT_STOPPED : code;
}

static double per_site(const invert_args *args, const problem *p) {
  return site_bytes_links + site_bytes_real * problem_reals(p) * args->problem.columns;
}

/* Adds what multigrid takes, beside its finest links. It is set up before the solver, and its work
 * vectors are released then, but the pool holds them: they have other numbers of columns. The
 * solver converts to its precision and back. The host inverts the coarsest level. */
static int add_multigrid(const kaon_context *ctx, const invert_job *job, const int part[4],
                         const int grid[4], forecast *f) {
  kaon_multigrid_info info;
  int extents[4];
  for (int mu = 0; mu < 4; mu++) extents[mu] = part[mu] * grid[mu];
  const int code = multigrid_plan(ctx, &job->args->problem, &job->p, extents, grid, &info);
  if (code != EXIT_DONE) return code;
  const double rows = (double)info.level[info.levels - 1].unknowns;
  const int converts = job->p.options.sloppy != job->p.multigrid.precision[0];
  const double solve = job->batch * ((double)info.column_bytes +
                                     converts * 2 * 24 * sizeof(float) * volume_of(part));
  const double setup = fmax(solve, (double)info.setup_bytes - f->solver);
  f->operator+=(double) info.bytes;
  f->fields += (double)info.bytes + setup;
  f->held += (double)info.bytes + (double)info.setup_bytes + solve;
  f->solver += solve;
  if (rows <= job->p.multigrid.dense) f->host = fmax(f->host, rows * rows * 2 * sizeof(double));
  return EXIT_DONE;
}

/* Odd extents are a rank's: a part with even ones above them is counted, and scaled. */
static int predict(const kaon_context *ctx, const invert_job *job, const int part[4],
                   const int grid[4], forecast *all) {
  const invert_args *args = job->args;
  forecast a = {0}, b = {0}; /* a job that is set up itself: the line from nothing to it */
  int even[4], less[4], more[4];
  for (int mu = 0; mu < 4; mu++) {
    even[mu] = part[mu] + part[mu] % 2;
    less[mu] = even[mu] < 4 ? even[mu] : 4 + even[mu] % 4;
    more[mu] = less[mu] < even[mu] ? less[mu] + 4 : less[mu];
  }
  const double sites = volume_of(part);
  const int itself =
      sites * per_site(args, &job->p) < small_bytes || volume_of(more) == volume_of(less);
  int code = itself ? EXIT_DONE : count_small(args, less, sites, &a);
  if (code == EXIT_DONE) code = count_small(args, itself ? even : more, sites, &b);
  if (code == EXIT_DONE) *all = forecast_follow(&a, &b, sites);
  if (code == EXIT_DONE && multigrid_asked(&args->problem))
    code = add_multigrid(ctx, job, part, grid, all);
  return code;
}

/* The grid that ranks will have, and one rank's part. Exit status. */
static int divide(const invert_args *args, const int extents[4], int grid[4], int part[4]) {
  const int started = ranks_started();
  memcpy(grid, args->problem.grid, 4 * sizeof *grid);
  if (!grid[0] && started < 1)
    return cli_wrong("--dry-run needs --grid: the launcher does not say how many ranks it started");
  if (kaon_ranks_grid(extents, started, grid) != KAON_OK)
    return cli_wrong("%s", kaon_last_error(NULL));
  for (int mu = 0; mu < 4; mu++) part[mu] = extents[mu] / grid[mu];
  return EXIT_DONE;
}

/* Refuses extents that are no lattice's, and parts that a rank cannot hold. Exit status. */
static int check_part(const int extents[4], const int part[4]) {
  int e[4];
  for (int mu = 0; mu < 4; mu++) e[mu] = extents[mu] % 2 ? extents[mu] : part[mu] + part[mu] % 2;
  return cli_status(NULL, kaon_lattice_check(NULL, e), NULL);
}

/* How many applications of an asynchronous preconditioner's operator may have messages under way at
 * once. */
static int rounds_of(const invert_args *args, const problem *p) {
  const kaon_schwarz_options *o = &p->schwarz;
  const int blocks = o->block[0] || o->block[1] || o->block[2] || o->block[3];
  if (problem_precond_asked(&args->problem) != 3) return 0;
  return (o->cycles ? o->cycles : 5) * (!blocks ? 1 : o->groups ? o->groups : 2);
}

/* Ghosts of both parities on a face across mu. On a GPU, rows of odd extents have room for one more
 * (lib/grid/faces.c). */
static double ghosts_of(const int part[4], int mu, int on_gpu) {
  const int row = mu == 0 ? 1 : 0;
  const double all = volume_of(part) / part[mu];
  return on_gpu ? all / part[row] * (part[row] + part[row] % 2) : all;
}

/* What a rank's part takes for its faces, beside what it would take alone:
 * - Messages of hops: two in each divided direction, sent and received, for vectors of each
 *   precision that hops see. A ghost has 12 numbers of a spinor or 6 of a staggered vector. Improved
 *   actions send one layer of a face and three; half precision adds a scale for each.
 * - Links on the sites next to a face, and next to an edge of two. There are those of the outer and
 *   the inner operator; improved actions have thin, fat and long ones in double, and those that fat
 *   ones are made from. */
static double faces_of(const invert_args *args, const problem *p, const int grid[4],
                       const int part[4], int on_gpu) {
  static const int real_bytes[] = {8, 4, 2};
  const int improved = p->staggered && args->problem.action > ACTION_STAGGERED,
            layers = improved ? 4 : 1;
  const int reals = (p->staggered ? 6 : 12) * layers;
  const int ghost_bytes[] = {reals * 8, reals * 4, reals * 2 + 4 * layers};
  const int all_columns = problem_columns(&args->common, &args->problem);
  const int columns = args->batch && args->batch < all_columns ? args->batch : all_columns;
  const kaon_precision sloppy = p->options.sloppy;
  int seen[3] = {1, 0, 0}; /* residuals are taken in double */
  double faces = 0, edges = 0, all = 0;
  seen[p->precision] = seen[sloppy] = 1;
  if (problem_precond_asked(&args->problem) >= 2 || args->problem.schwarz_cycles > 1)
    seen[p->schwarz.precision] = 1;
  for (int mu = 0; mu < 4; mu++)
    for (int nu = mu; nu < 4; nu++) {
      if (grid[mu] == 1 || grid[nu] == 1) continue;
      if (nu == mu)
        faces += 2 * ghosts_of(part, mu, on_gpu);
      else
        edges += 4 * volume_of(part) / part[mu] / part[nu];
    }
  for (int i = 0; i < 3; i++) all += seen[i] * faces * ghost_bytes[i] * columns;
  all += 2.0 * rounds_of(args, p) * faces * ghost_bytes[p->schwarz.precision] * columns; /* hops */
  const int links = 4 * (layers * 18 * 8 + (sloppy != p->precision) * (int)p->options.reconstruct *
                                               real_bytes[sloppy]);
  return all + (faces + edges) * links;
}

/* Prints what one rank takes, and all of them. */
static void print_plan(const invert_job *job, const field_spec *spec, const int grid[4],
                       const int part[4], const forecast *f, double peak, double faces,
                       const kaon_context_info *info) {
  const cli_common *common = &job->args->common;
  const int ranks = grid[0] * grid[1] * grid[2] * grid[3];
  char text[5][32];
  if (ranks > 1)
    cli_print(common,
              "%d ranks, grid %dx%dx%dx%d: %s each, %s in total, their faces %s of it; the rest is "
              "that of %dx%dx%dx%d:\n",
              ranks, grid[0], grid[1], grid[2], grid[3], cli_bytes(peak, text[0]),
              cli_bytes(ranks * peak, text[1]), cli_bytes(ranks * faces, text[2]), part[0], part[1],
              part[2], part[3]);
  cli_print(common,
            "%s on %dx%dx%dx%d, %d columns would take %s of memory at its peak:\n"
            "  links %s, operator %s, solver %s, sources and solutions %s, the rest the program\n",
            spec->text, part[0], part[1], part[2], part[3], job->columns, cli_bytes(peak, text[0]),
            cli_bytes(f->input, text[1]), cli_bytes(f->operator, text[2]),
            cli_bytes(f->solver, text[3]), cli_bytes(f->vectors, text[4]));
  forecast_print_free(common, f, info);
}

/* Those of multigrid. Exit status. */
static int print_levels(const kaon_context *ctx, const invert_job *job, const int extents[4],
                        const int grid[4]) {
  kaon_multigrid_info info;
  if (!multigrid_asked(&job->args->problem)) return EXIT_DONE;
  const int code = multigrid_plan(ctx, &job->args->problem, &job->p, extents, grid, &info);
  if (code != EXIT_DONE) return code;
  multigrid_print_levels(&job->args->common, &job->p, &info);
  return multigrid_fits(&job->args->problem, &info);
}

/* The sentence of a job that does not fit: its part of the lattice, or e. Exit status. */
static int refuse(const invert_job *job, const field_spec *spec, const int e[4], double need,
                  const kaon_context_info *info) {
  char job_text[512], advice[192];
  snprintf(job_text, sizeof job_text, "%.400s on %dx%dx%dx%d with %d column%s, %d at a time, needs",
           spec->text, e[0], e[1], e[2], e[3], job->columns, job->columns == 1 ? "" : "s",
           job->batch);
  snprintf(advice, sizeof advice,
           "take %s%smore ranks (mpirun) or, on a CPU with more memory, a larger --memory-limit",
           job->batch > 1 ? "fewer columns at a time (--batch), " : "",
           job->columns > 1 ? "fewer of them (--columns), " : "");
  return forecast_refuse(&job->args->common, job_text, need, info, advice);
}

static int report_plan(const invert_args *args, const kaon_context *ctx, const int extents[4],
                       const int grid[4], const int part[4], double peak, double fields) {
  json_t *report = report_new(ctx, "invert");
  json_object_set_new(report, "dry_run", json_true());
  json_object_set_new(report, "lattice", report_ints(extents, 4));
  json_object_set_new(report, "grid", report_ints(grid, 4));
  json_object_set_new(report, "local_lattice", report_ints(part, 4));
  json_object_set_new(report, "ranks", json_integer(grid[0] * grid[1] * grid[2] * grid[3]));
  json_object_set_new(report, "predicted_peak", report_real(peak)); /* a rank's */
  json_object_set_new(report, "predicted_fields", report_real(fields));
  const int code = report_write(args->common.report, report);
  json_decref(report);
  return code;
}

int plan_invert(const invert_job *job, const field_spec *spec) {
  const invert_args *args = job->args;
  int extents[4], grid[4], part[4];
  forecast f = {0};
  if (!ranks_first()) return EXIT_DONE; /* the first one says it for all */
  kaon_context *ctx = NULL;
  signals_stage("predicting the memory", "nothing was to be computed or written");
  int code =
      field_extents(NULL, spec, args->problem.lattice, args->problem.ignore_checksum, extents);
  /* What a run refuses is refused here; the lattice itself may be larger than this machine. */
  if (code == EXIT_DONE) code = divide(args, extents, grid, part);
  if (code == EXIT_DONE) code = check_part(extents, part);
  if (code == EXIT_DONE) code = problem_check_source(&args->problem, &job->p, extents);
  if (code == EXIT_DONE) code = problem_precond_fits(&args->problem, part, extents);
  if (code == EXIT_DONE) code = guess_fits(job, NULL, extents);
  if (code == EXIT_DONE) code = cli_context(&args->common, &ctx);
  const double program = forecast_program();
  if (code == EXIT_DONE) code = predict(ctx, job, part, grid, &f);
  if (code == EXIT_DONE) {
    const kaon_context_info info = forecast_info(ctx);
    const int ranks = grid[0] * grid[1] * grid[2] * grid[3];
    const int on_gpu = strcmp(info.backend, "cuda") == 0;
    const double faces = ranks > 1 ? faces_of(args, &job->p, grid, part, on_gpu) : 0;
    /* slices of the whole lattice that every rank holds on their way into a file */
    if (ranks > 1 && args->output)
      f.host += 2 * 24 * sizeof(double) * volume_of(part) / part[3] * (ranks / grid[3]);
    f.fields += faces;
    f.held += faces;
    const double peak = forecast_peak(&f, program, &info);
    print_plan(job, spec, grid, part, &f, peak, faces, &info);
    code = print_levels(ctx, job, extents, grid);
    if (code == EXIT_DONE) code = report_plan(args, ctx, extents, grid, part, peak, f.fields);
    if (code == EXIT_DONE && forecast_exceeds(&args->common, &info, ranks, f.fields))
      code = refuse(job, spec, part, f.fields, &info);
    if (code == EXIT_DONE) code = results_fit(job, extents);
  }
  kaon_context_destroy(&ctx);
  return code;
}

static int memory_fits(const invert_job *job, const field_spec *spec, const int extents[4]) {
  const kaon_context_info info = forecast_info(job->ctx);
  const double rough = per_site(job->args, &job->p) * volume_of(extents);
  forecast f = {0};
  if (!forecast_needed(&info, rough)) return EXIT_DONE;
  signals_stage("predicting the memory", "nothing was computed or written");
  const int code = predict(job->ctx, job, extents, (const int[]){1, 1, 1, 1}, &f);
  if (code != EXIT_DONE || !forecast_exceeds(&job->args->common, &info, 1, f.fields)) return code;
  return refuse(job, spec, extents, f.fields, &info);
}

int plan_fits(const invert_job *job, const field_spec *spec) {
  const problem_args *a = &job->args->problem;
  int extents[4];
  int code = field_extents(job->ctx, spec, a->lattice, a->ignore_checksum, extents);
  if (code == EXIT_DONE) code = cli_status(job->ctx, kaon_lattice_check(job->ctx, extents), NULL);
  if (code == EXIT_DONE) code = problem_check_source(a, &job->p, extents);
  if (code == EXIT_DONE) code = memory_fits(job, spec, extents);
  return code == EXIT_DONE ? results_fit(job, extents) : code;
}
