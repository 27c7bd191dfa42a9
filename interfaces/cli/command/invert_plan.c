/* invert_plan.c - what a run of kaon invert will take, predicted without doing the work: for
 * --dry-run, and before every run on a machine that knows what it has. Every object's size is a
 * constant plus a multiple of the number of sites. So the same job is set up on two small lattices
 * of the same kind (extents alike modulo 4, which decides the site order), and the line through the
 * two is followed to the real extents. What a solver decides by the memory that it would take
 * (deflation) is decided in the samples as in the job. Nothing here has to be kept in step with the
 * library. A lattice smaller than those is set up itself. --dry-run wants the peak of the whole
 * process: each sample is then a child process that reports its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>

#include "interfaces/cli/command/invert.h"
#include "interfaces/common/report.h"
#include "interfaces/cli/command/sample.h"
#include "interfaces/common/signals.h"

/* Bytes that the smaller lattice should take, so that what does not grow with it is a small part;
 * and what a site takes, roughly, for choosing it. */
static const double sample_bytes = 48e6;
static const double site_bytes_links = 3000, site_bytes_column = 1500;

/* Vectors of a batch's own, and its solver. */
static int take_batch(invert_job *job, int columns, sample *s) {
  const kaon_space *full = problem_space(&job->p);
  kaon_vector *own[2] = {NULL, NULL};
  int code = EXIT_DONE;
  for (int i = 0; i < 2 && code == EXIT_DONE && columns < job->columns; i++)
    code = cli_status(job->ctx,
                      kaon_vector_create(job->ctx, full, job->p.precision, columns, &own[i]), NULL);
  const double before = sample_in_use(job->ctx);
  if (code == EXIT_DONE) code = problem_solver(job->ctx, columns, &job->p);
  s->solver = fmax(s->solver, sample_in_use(job->ctx) - before);
  kaon_solver_destroy(&job->p.solver);
  kaon_vector_destroy(&own[0]);
  kaon_vector_destroy(&own[1]);
  return code;
}

/* The last batch may be smaller and take more: its solver deflates where that of more columns does
 * not. */
static int take_batches(invert_job *job, sample *s) {
  const int rest = job->columns % job->batch;
  const int code = take_batch(job, job->batch, s);
  return code == EXIT_DONE && rest ? take_batch(job, rest, s) : code;
}

/* Multi-shift CG takes its room for a batch in the solve. Refinement of shifts that miss the
 * tolerance is not foreseen. */
static int take_shifts(invert_job *job, sample *s) {
  const double before = sample_in_use(job->ctx);
  int code = shifts_take(job);
  if (code == EXIT_DONE) code = shifts_memory_trial(job);
  s->solver = sample_in_use(job->ctx) - before;
  return code;
}

/* All that the job holds when it solves. */
static int take_everything(invert_job *job, sample *s) {
  double before = sample_in_use(job->ctx);
  job->links = (kaon_observables)KAON_OBSERVABLES_INIT;
  int code = cli_status(job->ctx, kaon_gauge_measure(job->p.field.gauge, &job->links), NULL);
  if (code == EXIT_DONE) code = invert_allocate(job);
  s->vectors = sample_in_use(job->ctx) - before;
  if (code == EXIT_DONE) code = cli_status(job->ctx, problem_source(&job->p, job->b), "--source");
  before = sample_in_use(job->ctx);
  if (code == EXIT_DONE) code = problem_operator(job->ctx, &job->args->problem, &job->p);
  s->operator= sample_in_use(job->ctx) - before;
  if (code == EXIT_DONE) code = guess_memory_trial(job);
  if (code == EXIT_DONE) code = job->shifts.count ? take_shifts(job, s) : take_batches(job, s);
  s->most = sample_most(job->ctx);
  return code;
}

/* A few steps, so that every page has been touched, and the files' buffers. */
static int memory_trial_run(invert_job *job) {
  int code = job->shifts.count ? shifts_solve(job) : invert_solve(job);
  /* the file writer's second column */
  size_t host = (size_t)kaon_lattice_volume(job->p.field.lattice) * sizeof(double) *
                (size_t)problem_reals(&job->p);
  double *second = code == EXIT_DONE && job->args->output ? malloc(host) : NULL;
  if (second) memset(second, 1, host);
  volatile double touched = second ? second[0] : 0;
  (void)touched;
  if (job->host) memset(job->host, 1, host);
  free(second);
  return code;
}

/* sites: of the job that it is a sample of. */
static int set_up(const invert_args *args, const int extents[4], double sites, int solve,
                  sample *s) {
  invert_args own = *args;
  field_spec spec;
  invert_job job = {.args = &own, .memory_trial = 1};
  char weak[] = "weak:0.1";
  own.problem.gauge = weak;
  own.problem.ignore_checksum = 0; /* of a file, which is not read */
  own.common.quiet = 1;
  own.common.memory_limit = NAN;
  own.common.tuning = own.common.report = NULL;
  memcpy(own.problem.lattice, extents, sizeof own.problem.lattice);
  for (int mu = 0; mu < 4; mu++) /* whatever divides the sample: sizes hardly depend on it */
    if (own.problem.schwarz_block[mu])
      own.problem.schwarz_block[mu] = extents[mu] % 4 == 0 ? 2 : extents[mu]; /* SAP: even or 1 */
  own.problem.columns = job.columns = problem_columns(&args->common, &own.problem);
  if (own.problem.fat_links) own.problem.synthetic_links = 1; /* as large as those of files */
  own.problem.fat_links = own.problem.long_links = NULL;
  job.batch = own.batch && own.batch < job.columns ? own.batch : job.columns;
  int code = problem_check(&own.problem, &job.p, &spec);
  if (code == EXIT_DONE && own.shifts) code = shifts_parse(own.shifts, &job.shifts);
  for (int mu = 0; mu < 4; mu++) job.p.source.site[mu] = 0;
  if (code == EXIT_DONE) code = cli_context(&own.common, &job.ctx);
  if (code == EXIT_DONE) code = problem_links(job.ctx, &own.problem, &spec, &job.p);
  if (code == EXIT_DONE) {
    s->input = sample_in_use(job.ctx);
    s->size = (double)kaon_lattice_volume(job.p.field.lattice);
    job.p.options.max_iterations = 2;
    job.p.options.deflation_limit *= s->size / sites; /* it deflates if the job will */
    code = take_everything(&job, s);
  }
  if (code == EXIT_DONE && solve) code = memory_trial_run(&job);
  invert_close(&job);
  return code;
}

typedef struct trial {
  const invert_args *args;
  const int *extents;
  double sites;
} trial;

static int set_up_and_solve(void *user, sample *s) {
  const trial *t = user;
  return set_up(t->args, t->extents, t->sites, 1, s);
}

static int measure_process(const invert_args *args, const int extents[4], double sites, sample *s) {
  return sample_process(set_up_and_solve, &(trial){args, extents, sites}, 0, s);
}

/* What fields take, in this process. */
static int measure_fields(const invert_args *args, const int extents[4], double sites, sample *s) {
  return set_up(args, extents, sites, 0, s);
}

typedef int measure_fn(const invert_args *args, const int extents[4], double sites, sample *s);

static double volume_of(const int e[4]) {
  return (double)e[0] * e[1] * e[2] * e[3];
}

/* Grows `e` towards `goal` by 4 at a time, so that each extent stays the same modulo 4, until it
 * has `sites`. 0: the goal is smaller than that, and e is it. */
static int grow(int e[4], const int goal[4], double sites) {
  while (volume_of(e) < sites) {
    int best = -1;
    for (int mu = 3; mu >= 0; mu--)
      if (e[mu] + 4 <= goal[mu] && (best < 0 || e[mu] < e[best])) best = mu;
    if (best < 0) return 0;
    e[best] += 4;
  }
  return 1;
}

static double per_site(const invert_args *args) {
  return site_bytes_links + site_bytes_column * args->problem.columns;
}

/* What a part of fewer sites takes, by what fields take. */
static void shrink(sample *s, double sites) {
  const double left = sites / s->size, saved = s->most * (1 - left);
  s->peak -= saved;
  s->most -= saved;
  s->input *= left;
  s->operator*= left;
  s->solver *= left;
  s->vectors *= left;
  s->size = sites;
}

/* Odd extents are a rank's: what is measured, alone, is the part with even ones above them. */
static int predict(const invert_args *args, const int part[4], measure_fn *measure, sample *all) {
  sample a = {0}, b = {0};
  int e[4], extents[4];
  for (int mu = 0; mu < 4; mu++) extents[mu] = part[mu] + part[mu] % 2;
  for (int mu = 0; mu < 4; mu++) e[mu] = extents[mu] < 4 ? extents[mu] : 4 + extents[mu] % 4;
  int two = grow(e, extents, sample_bytes / per_site(args));
  const double sites = volume_of(part);
  int code = measure(args, e, sites, &a);
  if (code == EXIT_DONE && two) two = grow(e, extents, 2 * a.size);
  if (!two && code == EXIT_DONE) code = measure(args, extents, sites, &a);
  if (!two && code == EXIT_DONE) shrink(&a, sites);
  *all = a;
  if (!two || code != EXIT_DONE) return code;
  code = measure(args, e, sites, &b);
  *all = sample_follow(&a, &b, sites);
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

/* Whether the extents can be a lattice's, and a rank holds its part. Exit status. */
static int check_part(const int extents[4], const int part[4]) {
  int e[4];
  for (int mu = 0; mu < 4; mu++) e[mu] = extents[mu] % 2 ? extents[mu] : part[mu] + part[mu] % 2;
  return cli_status(NULL, kaon_lattice_check(NULL, e), NULL);
}

/* Applications of an asynchronous preconditioner's operator whose messages may be under way at
 * once. */
static int rounds_of(const invert_args *args, const problem *p) {
  const kaon_schwarz_options *o = &p->schwarz;
  const int blocks = o->block[0] || o->block[1] || o->block[2] || o->block[3];
  if (schwarz_asked(&args->problem) != 3) return 0;
  return (o->cycles ? o->cycles : 5) * (!blocks ? 1 : o->groups ? o->groups : 2);
}

/* Ghosts of both parities on a face across mu: on a GPU rows of odd extents have room for one more
 * (lib/grid/faces.c). */
static double ghosts_of(const int part[4], int mu, int on_gpu) {
  const int row = mu == 0 ? 1 : 0;
  const double all = volume_of(part) / part[mu];
  return on_gpu ? all / part[row] * (part[row] + part[row] % 2) : all;
}

/* What a part has for its faces beside what it would have alone. Messages of hops: two a direction
 * that is divided, sent and received, for vectors of each precision that hops see; a ghost is 12
 * numbers of a spinor, 6 of a staggered vector, of which improved actions send one layer of a face
 * and three, in half a scale more, on one parity's sites. And links on the sites next to a face and
 * next to an edge of two: of the outer and the inner operator, or of improved actions in double
 * thin, fat and long ones and those that fat ones are made by way of. */
static double faces_of(const invert_args *args, const problem *p, const int grid[4],
                       const int part[4], int on_gpu) {
  static const int real_bytes[] = {8, 4, 2};
  const int improved = p->staggered && args->problem.action > 2, layers = improved ? 4 : 1;
  const int reals = (p->staggered ? 6 : 12) * layers;
  const int ghost_bytes[] = {reals * 8, reals * 4, reals * 2 + 4 * layers};
  const int all_columns = problem_columns(&args->common, &args->problem);
  const int columns = args->batch && args->batch < all_columns ? args->batch : all_columns;
  const kaon_precision sloppy = p->options.sloppy;
  int seen[3] = {1, 0, 0}; /* residuals are taken in double */
  double faces = 0, edges = 0, all = 0;
  seen[p->precision] = seen[sloppy] = 1;
  if (schwarz_asked(&args->problem) >= 2 || args->problem.schwarz_cycles > 1)
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

/* Of several ranks: the part of one, as if it were alone, and the slices of the whole lattice that
 * every rank holds on their way into a file. */
static void report_ranks(const invert_args *args, const problem *p, const int grid[4],
                         const int part[4], int on_gpu, sample *s) {
  char text[3][32];
  const int ranks = grid[0] * grid[1] * grid[2] * grid[3];
  if (ranks == 1) return;
  const double whole = (args->output ? 2 : 0) * 24 * sizeof(double) * volume_of(part) / part[3] *
                       (grid[0] * grid[1] * grid[2]);
  const double faces = faces_of(args, p, grid, part, on_gpu);
  s->peak += whole + faces;
  s->most += faces;
  cli_print(&args->common,
            "%d ranks, grid %dx%dx%dx%d: %s each, %s in total, their faces %s of it; the rest "
            "is that of %dx%dx%dx%d:\n",
            ranks, grid[0], grid[1], grid[2], grid[3], cli_bytes(s->peak, text[0]),
            cli_bytes(ranks * s->peak, text[1]), cli_bytes(ranks * faces, text[2]), part[0],
            part[1], part[2], part[3]);
}

/* The sentence of a job that is not begun, on e or a rank's part of that. Exit status. */
static int refuse(const invert_job *job, const field_spec *spec, const int e[4], double most,
                  const kaon_context_info *info) {
  char need[32], there[32];
  cli_error(
      "%s on %dx%dx%dx%d with %d column%s, %d at a time, needs %s (%.0f bytes) on %s, where %s "
      "(%lld bytes) are free%s; take %s%smore ranks (mpirun) or, on a CPU that has more, a larger "
      "--memory-limit",
      spec->text, e[0], e[1], e[2], e[3], job->columns, job->columns == 1 ? "" : "s", job->batch,
      cli_bytes(most, need), most, info->device, cli_bytes((double)info->memory_free, there),
      (long long)info->memory_free,
      isnan(job->args->common.memory_limit) ? "" : " within --memory-limit",
      job->batch > 1 ? "fewer columns at a time (--batch), " : "",
      job->columns > 1 ? "fewer of them (--columns), " : "");
  return EXIT_DEVICE;
}

static void print_plan(const invert_job *job, const field_spec *spec, const int part[4],
                       const sample *s, const kaon_context_info *info) {
  const cli_common *common = &job->args->common;
  char text[5][32];
  cli_print(common,
            "%s on %dx%dx%dx%d, %d columns would take %s of memory at its peak:\n"
            "  links %s, operator %s, solver %s, sources and solutions %s, the rest the program\n",
            spec->text, part[0], part[1], part[2], part[3], job->columns,
            cli_bytes(s->peak, text[0]), cli_bytes(s->input, text[1]),
            cli_bytes(s->operator, text[2]), cli_bytes(s->solver, text[3]),
            cli_bytes(s->vectors, text[4]));
  if (info->memory_free >= 0)
    cli_print(common, "  on %s: fields %s, where %s are free\n", info->device,
              cli_bytes(s->most, text[0]), cli_bytes((double)info->memory_free, text[1]));
}

int plan_invert(const invert_job *job, const field_spec *spec) {
  const invert_args *args = job->args;
  int extents[4], grid[4], part[4];
  sample s = {0};
  if (!ranks_first()) return EXIT_DONE; /* the first one says it for all */
  kaon_context *ctx = NULL;
  signals_stage("predicting the memory", "nothing was to be computed or written");
  int code =
      field_extents(NULL, spec, args->problem.lattice, args->problem.ignore_checksum, extents);
  /* What a run refuses is refused here; the lattice itself may be larger than this machine. */
  if (code == EXIT_DONE) code = divide(args, extents, grid, part);
  if (code == EXIT_DONE) code = check_part(extents, part);
  if (code == EXIT_DONE) code = problem_check_source(&args->problem, &job->p, extents);
  if (code == EXIT_DONE) code = schwarz_fits(&args->problem, part, extents);
  if (code == EXIT_DONE) code = guess_fits(job, NULL, extents);
  if (code == EXIT_DONE) code = predict(args, part, measure_process, &s);
  if (signals_interrupted()) code = EXIT_STOPPED; /* its samples may have ended early */
  if (code == EXIT_DONE) code = cli_context(&args->common, &ctx);
  if (code != EXIT_DONE) {
    kaon_context_destroy(&ctx);
    return code;
  }
  const kaon_context_info info = sample_info(ctx);
  report_ranks(args, &job->p, grid, part, strcmp(info.backend, "cuda") == 0, &s);
  const int ranks = grid[0] * grid[1] * grid[2] * grid[3];
  print_plan(job, spec, part, &s, &info);
  json_t *report = report_new(ctx, "invert");
  json_object_set_new(report, "dry_run", json_true());
  json_object_set_new(report, "lattice", report_ints(extents, 4));
  json_object_set_new(report, "grid", report_ints(grid, 4));
  json_object_set_new(report, "local_lattice", report_ints(part, 4));
  json_object_set_new(report, "ranks", json_integer(ranks));
  json_object_set_new(report, "predicted_peak", report_real(s.peak)); /* a rank's */
  json_object_set_new(report, "predicted_fields", report_real(s.most));
  code = report_write(args->common.report, report);
  json_decref(report);
  if (code == EXIT_DONE && sample_exceeds(&args->common, &info, ranks, s.most))
    code = refuse(job, spec, part, s.most, &info);
  if (code == EXIT_DONE) code = results_fit(job, extents);
  kaon_context_destroy(&ctx);
  return code;
}

/* The rough size of a job, many times over, spares small ones the samples. */
enum { PLENTY = 16 };

static int memory_fits(const invert_job *job, const field_spec *spec, const int extents[4]) {
  const invert_args *args = job->args;
  const kaon_context_info info = sample_info(job->ctx);
  sample s = {0};
  if (info.memory_free < 0 || info.ranks > 1) return EXIT_DONE; /* nobody knows; not foretold */
  if (PLENTY * per_site(args) * volume_of(extents) < (double)info.memory_free) return EXIT_DONE;
  signals_stage("predicting the memory", "nothing was computed or written");
  const int code = predict(args, extents, measure_fields, &s);
  if (code != EXIT_DONE || s.most <= (double)info.memory_free) return code;
  return refuse(job, spec, extents, s.most, &info);
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
