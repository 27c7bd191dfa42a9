/* linear_faults.c - faults of relaxation for experiments (kaon_fault_options): their options, what
 * was lost, found and repaired. Contract: linear.h. */
#include <math.h>
#include <stdio.h>

#include "interfaces/common/linear/linear.h"
#include "interfaces/common/report.h"

static int frozen_asked(const linear_args *a) {
  return a->fault_share > 0 || a->fault_rank >= 0;
}

static int flips_asked(const linear_args *a) {
  return a->flip_rate > 0;
}

/* Options that wait for one which says that there are faults at all. */
static int check_idle(const linear_args *a) {
  const struct {
    const char *option;
    int given, used;
    const char *missing;
  } idle[] = {
      {"fault-kind", a->fault_kind >= 0, a->fault_share > 0, "--fault-share"},
      {"fault-begin", a->fault_begin >= 0, frozen_asked(a), "--fault-share or --fault-rank"},
      {"fault-recovery", a->fault_recovery > 0, frozen_asked(a), "--fault-share or --fault-rank"},
      {"flip-begin", a->flip_begin > 0, flips_asked(a), "--flip-rate"},
      {"flip-end", a->flip_end > 0, flips_asked(a), "--flip-rate"},
      {"no-repair", a->no_repair, frozen_asked(a) || flips_asked(a),
       "--fault-share, --fault-rank or --flip-rate"}};
  for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
    if (idle[i].given && !idle[i].used)
      return cli_wrong("--%s has no effect without %s; give that, or leave it out", idle[i].option,
                       idle[i].missing);
  if (a->fault_rank >= 0 && !isnan(a->fault_share))
    return cli_wrong(
        "--fault-rank %d loses all rows of that rank, --fault-share %g so many of each; leave one "
        "out",
        a->fault_rank, a->fault_share);
  if (a->flip_end > 0 && a->flip_end <= a->flip_begin)
    return cli_wrong("--flip-end %d is not after --flip-begin %d; no bit would flip", a->flip_end,
                     a->flip_begin);
  return EXIT_DONE;
}

int faults_options(const linear_args *a, kaon_fault_options *o) {
  *o = (kaon_fault_options)KAON_FAULT_OPTIONS_INIT;
  if (check_idle(a) != EXIT_DONE) return EXIT_USAGE;
  if (a->fault_kind >= 0) o->kind = (kaon_fault_kind)a->fault_kind; /* LINEAR_FAULTS' order */
  if (!isnan(a->fault_share)) o->share = a->fault_share;
  if (a->fault_rank >= 0) {
    o->kind = KAON_FAULT_RANK;
    o->rank = a->fault_rank;
    o->share = 1;
  }
  if (a->fault_begin >= 0) o->begin = a->fault_begin;
  o->recovery = a->fault_recovery;
  if (!isnan(a->flip_rate)) o->flip_rate = a->flip_rate;
  o->flip_begin = a->flip_begin;
  o->flip_end = a->flip_end;
  o->repair = !a->no_repair;
  o->seed = a->fault_seed;
  return EXIT_DONE;
}

int faults_check(const linear_args *a, linear *l) {
  const kaon_method method = l->options.method;
  l->lab.faults = NULL;
  if (a->relax_absent) return EXIT_DONE;
  const int asked = frozen_asked(a) || flips_asked(a);
  const int solves = a->method >= 0 && (method == KAON_TWO_STAGE || method == KAON_ASYNC);
  if (asked && !solves)
    return cli_wrong(
        "--%s is for --method two-stage and async, which look for faults, but --method is %s; "
        "leave it out",
        flips_asked(a)       ? "flip-rate"
        : a->fault_rank >= 0 ? "fault-rank"
                             : "fault-share",
        a->method >= 0 ? linear_method_name(l) : "not given");
  if (faults_options(a, &l->faults) != EXIT_DONE) return EXIT_USAGE;
  if (asked) l->lab.faults = &l->faults;
  return EXIT_DONE;
}

kaon_status faults_count(linear *l) {
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  if (!l->lab.faults || kaon_solver_relaxation(l->solver, &r) != KAON_OK) return KAON_OK;
  double flips = (double)r.flips;
  const kaon_status status = ranks_sum(&flips, 1);
  l->flips = (int64_t)flips;
  return status;
}

void faults_print(const cli_common *common, const linear *l, const kaon_relax_report *r) {
  const kaon_fault_options *o = l->lab.faults;
  if (!o) return;
  if (o->share > 0 && r->frozen_at < 0)
    cli_print(common, "lost: no row, since iteration %d was not reached\n", o->begin);
  else if (o->share > 0)
    cli_print(common, "lost: %lld rows from iteration %d on", (long long)r->frozen, r->frozen_at);
  if (o->share > 0 && r->frozen_at >= 0) {
    if (r->restored_at < 0)
      cli_print(common, ", never updated again\n");
    else
      cli_print(common, ", updated again from iteration %d, by %s\n", r->restored_at,
                r->restored_by_monitor ? "the monitor" : "--fault-recovery");
  }
  if (o->flip_rate > 0)
    cli_print(common, "lost: %lld bit%s of x flipped\n", (long long)l->flips,
              l->flips == 1 ? "" : "s");
  cli_print(common, "found: %d alarm%s", r->alarms, r->alarms == 1 ? "" : "s");
  if (r->alarms) cli_print(common, ", the first at iteration %d", r->first_alarm);
  cli_print(common, "; repaired: %d cop%s of x restored%s\n", r->rollbacks,
            r->rollbacks == 1 ? "y" : "ies", o->repair ? "" : " (--no-repair)");
}

json_t *faults_describe(const linear *l, const kaon_relax_report *r) {
  static const char *const kinds[] = {"rows", "block", "rank"};
  const kaon_fault_options *o = l->lab.faults;
  if (!o) return json_null();
  return json_pack("{s:s s:o s:i s:i s:i s:o s:i s:i s:b s:o s:I s:i s:i s:b s:I s:i s:i s:i}",
                   "kind", kinds[o->kind], "share", report_real(o->share), "rank", o->rank, "begin",
                   o->begin, "recovery", o->recovery, "flip_rate", report_real(o->flip_rate),
                   "flip_begin", o->flip_begin, "flip_end", o->flip_end, "repair", o->repair,
                   "seed", report_seed(o->seed), "frozen", (json_int_t)r->frozen, "frozen_at",
                   r->frozen_at, "restored_at", r->restored_at, "restored_by_monitor",
                   r->restored_by_monitor, "flips", (json_int_t)l->flips, "alarms", r->alarms,
                   "first_alarm", r->first_alarm, "rollbacks", r->rollbacks);
}

const char *faults_advice(const linear *l) {
  kaon_relax_report r = KAON_RELAX_REPORT_INIT;
  if (!l->lab.faults || kaon_solver_relaxation(l->solver, &r) != KAON_OK) return "";
  if (r.frozen_at >= 0 && r.restored_at < 0)
    return l->faults.repair ? "rows that were lost prevented convergence and were never updated "
                              "again; give --fault-recovery"
                            : "rows that were lost prevented convergence; give --fault-recovery, "
                              "or leave --no-repair out";
  if (l->flips > 0)
    return l->faults.repair
               ? "bits of x flipped faster than it converges; give a smaller --flip-rate"
               : "bits of x flipped; leave --no-repair out, or give a smaller "
                 "--flip-rate";
  return "";
}
