/* linear_relax.c - relaxation methods by name: their figures, what is predicted before a solve,
 * what is reported after it. Contract: linear.h. */
#include <math.h>
#include <stdio.h>

#include "interfaces/common/linear/linear.h"
#include "interfaces/common/report.h"

int relax_is(kaon_method method) {
  return method_has(method, KAON_METHOD_RELAXATION);
}

void relax_defaults(linear_args *args) {
  args->relax_tau = NAN;
  args->relax_driver = args->relax_lag = args->relax_exchange = args->relax_rank_lag = -1;
  args->relax_absent = 1;
}

int relax_used(const linear *l) {
  if (l->args->method >= 0 && relax_is(l->options.method)) return (int)l->options.method;
  return sweeps_method(l->args->precond);
}

#define BIT(method) (1u << (method))

/* A figure, and the methods that look at it; solves: a few sweeps as a preconditioner do not. */
typedef struct figure {
  const char *option, *of;
  unsigned used;
  int given, solves;
} figure;

/* Refuses options that have no effect: blocks that wait for each other have no lag, and one rank
 * has no other to exchange rows with. relax_driver 1: free. */
static int check_relax_options(const linear_args *a) {
  if (a->relax_absent) return EXIT_DONE;
  if (a->relax_lag >= 0 && a->relax_driver != 1)
    return cli_wrong(
        "--lag is for blocks that iterate on their own; give --async-driver free, or leave it out");
  if (a->relax_stride && a->relax_driver != 1 && ranks_started() <= 1)
    return cli_wrong(
        "--stride is how often the residual of blocks that iterate on their own is checked; give "
        "--async-driver free, or leave it out");
  if ((a->relax_exchange >= 0 || a->relax_rank_lag >= 0) && ranks_started() <= 1)
    return cli_wrong(
        "--%s is for rows of other ranks, but there is one rank; leave it out, or start several by "
        "mpirun",
        a->relax_exchange >= 0 ? "exchange" : "rank-lag");
  return EXIT_DONE;
}

/* omega: it was given for relaxation. */
static int check_idle(const linear_args *a, const linear *l, int omega) {
  const unsigned blocks = BIT(KAON_TWO_STAGE) | BIT(KAON_ASYNC), async = BIT(KAON_ASYNC),
                 rows = BIT(KAON_GS) | BIT(KAON_SOR), damped = BIT(KAON_MR) | BIT(KAON_RICHARDSON);
  const int method = (int)l->options.method;
  const int used = damped & BIT(method) ? method : relax_used(l),
            coloured = a->relax_colour && !a->relax_absent;
  const figure figures[] = {
      {"omega", "sor, two-stage and async (and --precond ssor)", BIT(KAON_SOR) | blocks, omega, 0},
      {"tau", "mr, richardson, jacobi, two-stage and async", BIT(KAON_JACOBI) | blocks | damped,
       !isnan(a->relax_tau), 0},
      {"coloring", "gs, sor, kaczmarz, cgmnc and carpcg", rows, coloured && projections_used(l) < 0,
       0},
      {"block", "two-stage and async", blocks, a->relax_block != 0, 0},
      {"local-sweeps", "two-stage and async", blocks, a->relax_sweeps != 0, 0},
      {"async-driver", "async", async, a->relax_driver >= 0, 1},
      {"lag", "async", async, a->relax_lag >= 0, 1},
      {"stride", "async", async, a->relax_stride != 0, 1},
      {"exchange", "async", async, a->relax_exchange >= 0, 1},
      {"rank-lag", "async", async, a->relax_rank_lag >= 0, 1},
      {"together", "async", async, a->relax_together != 0, 0},
      {"order-seed", "async", async, a->relax_seed != 0, 0}};
  char name[32];
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    const figure *f = &figures[i];
    if (!f->given) continue;
    if (used < 0 || !(f->used & BIT(used)))
      return cli_wrong(
          "--%s is for --method %s%s, but --method is %s and --precond %s; leave it out", f->option,
          f->of, f->solves ? "" : ", and for a --precond of such sweeps",
          a->method >= 0 ? linear_method_name(l) : "not given",
          cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name));
    if (f->solves && !relax_is(l->options.method))
      return cli_wrong(
          "--%s is for solves by --method async; in --precond async each block comes once a sweep; "
          "leave it out",
          f->option);
  }
  return check_relax_options(a);
}

int relax_check(const linear_args *a, linear *l) {
  const int alone = a->precond == PRECOND_NONE && !a->relax_absent;
  const int omega = !isnan(a->precond_omega) && (alone || sweeps_method(a->precond) >= 0);
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  if (check_idle(a, l, omega) != EXIT_DONE) return EXIT_USAGE;
  if (omega) o.omega = a->precond_omega;
  if (!isnan(a->relax_tau)) o.tau = a->relax_tau;
  if (a->relax_colour) o.by_colour = 1;
  if (a->relax_block) o.block = a->relax_block;
  if (a->relax_sweeps) o.local_sweeps = a->relax_sweeps;
  if (a->relax_driver >= 0) o.driver = (kaon_relax_driver)a->relax_driver;
  if (a->relax_lag >= 0) o.lag = a->relax_lag;
  if (a->relax_stride) o.stride = a->relax_stride;
  if (a->relax_together) o.together = a->relax_together;
  if (a->relax_seed) o.seed = a->relax_seed;
  l->relax = o;
  l->lab = (kaon_lab_relax_options)KAON_LAB_RELAX_OPTIONS_INIT;
  if (a->relax_exchange >= 0) l->lab.exchange = (kaon_relax_exchange)a->relax_exchange;
  if (a->relax_rank_lag >= 0) l->lab.rank_lag = a->relax_rank_lag;
  return faults_check(a, l);
}

/* ---- predictions ---- */

json_t *spectrum_describe(const kaon_spectrum *s) {
  return json_pack("{s:b s:b s:o s:o s:o s:o s:o s:o s:o s:i}", "hermitian", s->hermitian,
                   "indefinite", s->indefinite, "low", report_real(s->low), "high",
                   report_real(s->high), "rho", report_real(s->rho), "rho_error",
                   report_real(s->rho_error), "rho_absolute", report_real(s->rho_absolute),
                   "most_absolute", report_real(s->most_absolute), "tau", report_real(s->tau),
                   "products", s->steps);
}

const char *spectrum_how(const kaon_spectrum *s) {
  return s->hermitian ? "at least" : "about";
}

static const double ROUNDING = 1e-12; /* of numbers near 1 */

/* The smallest eigenvalue of D^-1 A to which a residual of a solvable system can belong. For a
 * singular A this is not 0 but the next one, which follows from tau. */
static double least(const kaon_spectrum *s) {
  return s->low > 0 ? s->low : 2 / s->tau - s->high;
}

/* 1: undecided: the error of the estimate reaches across 1. */
static int is_open(const kaon_spectrum *s) {
  if (s->low == 0) return s->high < 2 - ROUNDING && s->rho + s->rho_error > 1 + ROUNDING;
  return s->rho < 1 && s->rho + s->rho_error >= 1;
}

static void print_eigenvalues(const cli_common *common, const kaon_spectrum *s) {
  if (s->low == 0)
    cli_print(common,
              "eigenvalues of D^-1 A: 0 to rounding, for A is singular, and from %.6g or less to "
              "%.6g or more (condition of these at least %.5g); tau = %.6g\n",
              least(s), s->high, s->high / least(s), s->tau);
  else
    cli_print(common,
              "eigenvalues of D^-1 A from %.6g or less to %.6g or more (condition at least %.5g); "
              "tau = %.6g\n",
              s->low, s->high, s->high / s->low, s->tau);
}

/* What the radius says of Jacobi's iteration. A singular A's null vectors alone make it 1. */
static const char *verdict(const kaon_spectrum *s) {
  if (s->indefinite)
    return ", for A is not positive definite, so Jacobi's iteration does not converge for most "
           "right-hand sides";
  if (s->hermitian && s->high >= 2 - ROUNDING && s->high <= 2 + ROUNDING)
    return ", so Jacobi's iteration does not converge for most right-hand sides";
  if (s->low == 0 && s->high < 2)
    return is_open(s) ? "" : ": Jacobi's iteration converges where A x = b has solutions";
  return s->rho < 1 ? "" : ", so Jacobi's iteration diverges";
}

void spectrum_print(const cli_common *common, const kaon_spectrum *s) {
  if (s->hermitian) print_eigenvalues(common, s);
  cli_print(common, "spectral radius of B = 1 - D^-1 A: %s%s %.4f%s",
            s->indefinite ? "1 or more, " : "", spectrum_how(s), s->rho, verdict(s));
  if (is_open(s))
    cli_print(common, ", but the estimate's error is %.2g, so Jacobi's iteration may diverge",
              s->rho_error);
  if (!isnan(s->rho_absolute))
    cli_print(common, "; of |B|: %s %.4f, at most %.4f%s", spectrum_how(s), s->rho_absolute,
              s->most_absolute,
              s->most_absolute < 1 ? ", so asynchronous iteration converges whatever the order"
              : s->rho_absolute < 1 && s->rho < 1 && !is_open(s)
                  ? ": as far as this tells, asynchronous iteration converges"
                  : ": nothing says that asynchronous iteration converges");
  cli_print(common, "\n");
}

enum { SHORT_STEPS = 20 };

/* A sweep of Jacobi's takes K = tau D^-1, which is positive, so K A has an eigenvalue <= 0 as A
 * has; Gauss-Seidel's and SOR's converge for positive definite A alone (Ostrowski, Reich). */
static void warn_indefinite(linear *l, const kaon_spectrum *s) {
  const kaon_method method = l->options.method;
  const char *sure = method == KAON_TWO_STAGE || method == KAON_ASYNC ? "may not" : "will not";
  l->diverges = l->indefinite = 1;
  cli_error(
      "warning: %s %s converge for most right-hand sides: A is Hermitian, but not positive "
      "definite, so the spectral radius of 1 - D^-1 A is 1 or more (about %.4f); give --method "
      "cgnr, or gcr with a --precond",
      method_name(method), sure, s->rho);
}

/* |B| promises nothing, and B not enough. */
static void warn_open(kaon_method method, const kaon_spectrum *s) {
  cli_error(
      "warning: %s may diverge: the spectral radius of 1 - D^-1 A is %s %.4f, with an error of %.2g"
      " left after %d products, and that of its absolute values %s %.4f; give --method gcr%s",
      method_name(method), spectrum_how(s), s->rho, s->rho_error, s->steps, spectrum_how(s),
      s->rho_absolute, s->hermitian ? ", or --tau 0 if A is positive definite" : "");
}

/* What --tau changes is known of Hermitian matrices: an eigenvalue of D^-1 A from 2 / tau on keeps
 * all of its part of the error. --tau 0 takes a step that is too short for that. */
static void warn_long(linear *l, const kaon_spectrum *s) {
  const double top = l->relax.tau * s->high - 1;
  l->diverges = 1;
  cli_error(
      "warning: %s will %s: the spectral radius of 1 - tau D^-1 A is at least %.4f; give --tau 0",
      method_name(l->options.method),
      top > 1 + ROUNDING ? "diverge" : "not converge for most right-hand sides", top);
}

static void warn(linear *l, const kaon_spectrum *s) {
  const kaon_method method = l->options.method;
  const double tau = l->relax.tau;
  const int blocks = method == KAON_TWO_STAGE || method == KAON_ASYNC;
  if (s->indefinite) {
    warn_indefinite(l, s);
    return;
  }
  if (blocks && l->relax.omega > 1) /* of the steps within blocks nothing is estimated */
    cli_error(
        "warning: %s may diverge: --omega %g lengthens every update within blocks, of which "
        "the spectral radius of 1 - D^-1 A says nothing; leave --omega out",
        method_name(method), l->relax.omega);
  if (!s->hermitian && tau != 1) return;
  if (method == KAON_GS || method == KAON_SOR) {
    if (!s->hermitian && s->rho_absolute >= 1)
      cli_error("warning: nothing says that %s converges: |B| has spectral radius %s %.4f",
                method_name(method), spectrum_how(s), s->rho_absolute);
  } else if (s->hermitian && tau * s->high >= 2 - ROUNDING) {
    warn_long(l, s);
  } else if (!s->hermitian && s->rho > 1) {
    cli_error(
        "warning: %s may diverge: A is not Hermitian positive definite, and powers of 1 - D^-1 A "
        "let a vector grow by %.4f a step; take gcr or bicgstab (--tau 0 is for Hermitian ones)",
        method_name(method), s->rho);
  } else if (method == KAON_ASYNC && s->rho_absolute >= 1) {
    cli_error("warning: %s may diverge: the spectral radius of |B| is %s %.4f", method_name(method),
              spectrum_how(s), s->rho_absolute);
  } else if (tau == 1 && is_open(s) && s->rho_absolute >= 1) {
    warn_open(method, s);
  }
}

/* Without --spectrum: few steps (43 products, 63 where A is Hermitian but not positive), of those
 * methods alone whose divergence they can show. What they cannot estimate, such as a matrix without
 * a diagonal, the solver refuses in its own words. */
static void look_ahead(linear *l) {
  const kaon_method method = l->options.method;
  kaon_spectrum s = KAON_SPECTRUM_INIT;
  if (method != KAON_JACOBI && method != KAON_TWO_STAGE && method != KAON_ASYNC) return;
  if (kaon_spectrum_estimate(l->A, SHORT_STEPS, &s) == KAON_OK) warn(l, &s);
}

int relax_spectrum(linear *l) {
  l->diverges = l->indefinite = 0;
  if (!l->args->spectrum) {
    look_ahead(l);
    return EXIT_DONE;
  }
  l->spectrum = (kaon_spectrum)KAON_SPECTRUM_INIT;
  const int code = cli_status(l->ctx, kaon_spectrum_estimate(l->A, 0, &l->spectrum), "--spectrum");
  if (code == EXIT_DONE && relax_is(l->options.method)) warn(l, &l->spectrum);
  return code;
}

/* ---- afterwards ---- */

void relax_print(const cli_common *common, const linear *l) {
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  if (l->args->spectrum) spectrum_print(common, &l->spectrum);
  if (!relax_is(l->options.method) || kaon_solver_relaxation(l->solver, &r) != KAON_OK) return;
  if (r.levels)
    cli_print(common, "rows in %d levels%s\n", r.levels, r.colours ? ", by colours" : "");
  if (r.tau != 1) cli_print(common, "tau = %.6g\n", r.tau);
  if (r.blocks && l->options.method == KAON_ASYNC)
    cli_print(common,
              "%lld blocks, %lld iterations of them (%d to %d each); shifts from %d to %d as they "
              "begin, from %d when they have read, %.1f and %.1f %% of them not 0\n",
              (long long)r.blocks, (long long)r.updates, r.least, r.most, r.newest, r.oldest,
              r.newest_after, 100 * r.asynchronous, 100 * r.asynchronous_after);
  if (r.exchange_note[0]) cli_print(common, "%s\n", r.exchange_note);
  if (r.exchange != KAON_EXCHANGE_SYNC && l->options.method == KAON_ASYNC)
    cli_print(
        common,
        "exchange %s; shifts of other ranks' blocks from %d to %d, %.1f %% of these reads not "
        "synchronous\n",
        relax_exchange_name(r.exchange), r.rank_newest, r.rank_oldest, 100 * r.rank_asynchronous);
  faults_print(common, l, &r);
}

const char *relax_exchange_name(kaon_relax_exchange exchange) {
  static const char *const names[] = {"auto", "amc", "dc", "dk", "push", "sync"};
  return names[exchange];
}

json_t *relax_shifts_describe(const int64_t count[2 * KAON_RELAX_SHIFTS + 1]) {
  json_t *shifts = json_object();
  for (int i = 0; i < 2 * KAON_RELAX_SHIFTS + 1; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i - KAON_RELAX_SHIFTS);
    if (count[i]) json_object_set_new(shifts, name, json_integer((json_int_t)count[i]));
  }
  return shifts;
}

json_t *relax_options_describe(const kaon_relax_options *o, const kaon_relax_report *r) {
  return json_pack("{s:o s:o s:b s:i s:i s:i s:i s:i s:I s:I}", "omega", report_real(o->omega),
                   "tau", report_real(r->tau), "coloring", o->by_colour, "colours", r->colours,
                   "levels", r->levels, "block", o->block, "local_sweeps", o->local_sweeps,
                   "together", o->together, "order_seed", (json_int_t)o->seed, "blocks",
                   (json_int_t)r->blocks);
}

json_t *relax_describe(const linear *l) {
  static const char *const drivers[] = {"launch", "free"};
  const kaon_relax_options *o = &l->relax;
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  if (!relax_is(l->options.method) || kaon_solver_relaxation(l->solver, &r) != KAON_OK)
    return json_null();
  json_t *all = relax_options_describe(o, &r);
  json_t *figures =
      json_pack("{s:s s:s s:i s:o s:i s:i s:o}", "exchange", relax_exchange_name(r.exchange),
                "exchange_note", r.exchange_note, "rank_lag", l->lab.rank_lag, "rank_shifts",
                relax_shifts_describe(r.rank_shifts), "rank_newest", r.rank_newest, "rank_oldest",
                r.rank_oldest, "rank_asynchronous", report_real(r.rank_asynchronous));
  json_object_update(all, figures);
  json_decref(figures);
  figures = json_pack("{s:s s:i s:i s:I s:o s:i s:i s:o s:i s:i s:o}", "driver", drivers[o->driver],
                      "lag", o->lag, "stride", o->stride, "updates", (json_int_t)r.updates,
                      "shifts", relax_shifts_describe(r.shifts), "newest", r.newest, "oldest",
                      r.oldest, "asynchronous", report_real(r.asynchronous), "least", r.least,
                      "most", r.most, "faults", faults_describe(l, &r));
  json_object_update(all, figures);
  json_decref(figures);
  figures = json_pack("{s:o s:i s:o}", "shifts_after", relax_shifts_describe(r.shifts_after),
                      "newest_after", r.newest_after, "asynchronous_after",
                      report_real(r.asynchronous_after));
  json_object_update(all, figures);
  json_decref(figures);
  return all;
}
