/* issue_times.c - how long a step of a solve takes on a CUDA device, issued in every way and in
 * blocks of several lengths; how long the kernels of a step take by themselves; what a launch and
 * a wait cost the processor. CGNR on the even-odd clover operator, kappa 0.13, csw 1, weak links,
 * one column, to 1e-10. A program to run by hand:
 *
 *  cmake --build <build> --target issue_times; <build>/bench/measure/issue_times */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kaon/context.h>
#include <kaon/lab.h>

#include "lib/core/tuning_internal.h"
#include "bench/measure/world.h"

static const char *const issue_names[] = {"plain", "plain", "replay", "while", "tail"};

static kaon_solver_options options_of(kaon_precision sloppy) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.sloppy = sloppy;
  o.stop = KAON_STOP_NORMAL;
  return o;
}

typedef struct {
  double seconds, cpu;
  kaon_column_report report;
  kaon_issue form;
  int block;
} timing;

/* The best of a few solves. */
static timing time_one(world *w, kaon_precision sloppy, kaon_issue issue, int block, int limit) {
  enum { REPEATS = 5 };
  kaon_solver_options o = options_of(sloppy);
  kaon_solver *s = NULL;
  timing best = {.seconds = 1e30};
  if (limit > 0) o.max_iterations = limit;
  w->c.ctx->lab.issue = issue;
  must(w->c.ctx, kaon_solver_create(w->R, 1, &o, &s));
  if (block > 0) s->replay.block = block;
  for (int i = 0; i < REPEATS; i++) {
    kaon_column_report r;
    must(w->c.ctx, kaon_vector_zero(w->x));
    must(w->c.ctx, kaon_context_synchronise(w->c.ctx));
    const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), begin = seconds_of(CLOCK_MONOTONIC);
    must(w->c.ctx, kaon_solver_solve(s, w->b, w->x, &r, NULL));
    const double time = seconds_of(CLOCK_MONOTONIC) - begin;
    if (time < best.seconds)
      best = (timing){time, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu, r, s->replay.recorded.form,
                      s->replay.block};
  }
  assert_int_equal(best.report.reason, limit > 0 ? KAON_MAX_ITERATIONS : KAON_CONVERGED);
  kaon_solver_destroy(&s);
  return best;
}

static void print_time(const world *w, kaon_precision sloppy, const timing *t) {
  printf(
      "  %2d^4 double/%-6s %-6s block %2d: %4d steps, %2d updates, %6.1f us a step, cpu %4.1f %%\n",
      w->c.lattice->extents[0], precision_names[sloppy], issue_names[t->form], t->block,
      t->report.iterations, t->report.updates, 1e6 * t->seconds / t->report.iterations,
      100 * t->cpu / t->seconds);
}

/* What 32 steps more take, and what a solve takes besides. */
static void print_slope(world *w, kaon_precision sloppy) {
  const timing a = time_one(w, sloppy, KAON_ISSUE_AUTO, 0, 8),
               b = time_one(w, sloppy, KAON_ISSUE_AUTO, 0, 40);
  const double step = (b.seconds - a.seconds) / 32;
  printf(
      "  %2d^4 double/%-6s %.1f us a further step (%d updates in 32), besides %.0f us; cpu %.1f, "
      "besides %.0f us\n",
      w->c.lattice->extents[0], precision_names[sloppy], 1e6 * step,
      b.report.updates - a.report.updates, 1e6 * (a.seconds - 8 * step), 1e6 * (b.cpu - a.cpu) / 32,
      1e6 * (a.cpu - 8 * (b.cpu - a.cpu) / 32));
}

static void times_a_step(void) {
  static const int sizes[] = {8, 16};
  for (int i = 0; i < 2; i++) {
    const int extents[4] = {sizes[i], sizes[i], sizes[i], sizes[i]};
    world w;
    if (!open_world(&w, extents, KAON_RECONSTRUCT_18)) return;
    for (int p = KAON_HALF; p >= KAON_DOUBLE; p--) {
      timing t = time_one(&w, (kaon_precision)p, KAON_ISSUE_PLAIN, 0, 0);
      print_time(&w, (kaon_precision)p, &t);
      for (int issue = KAON_ISSUE_REPLAY; issue <= KAON_ISSUE_TAIL; issue++)
        for (int block = 2; block <= 16; block *= 2) {
          t = time_one(&w, (kaon_precision)p, (kaon_issue)issue, block, 0);
          print_time(&w, (kaon_precision)p, &t);
        }
      print_slope(&w, (kaon_precision)p);
    }
    close_world(&w);
  }
}

/* ---- times of a step's parts ---- */

enum { COPIES = 16, BLOCKS = 20 };

typedef enum {
  CLOSED,
  AXPY,
  AXPY_NORM,
  AXPY_END,
  AXPY_XPAY,
  APPLY,
  APPLY_NORM,
  APPLY_DAGGER,
  ADD_INNER,
  PARTS
} part_kind;
static const char *const part_names[] = {
    "axpy, closed", "axpy",        "axpy, norm",  "axpy, norm, end of step", "axpy_xpay", "A",
    "A, norm",      "A^dag, norm", "x += x_inner"};

typedef struct {
  kaon_operator *A;
  kaon_scalars *scalars;
  kaon_vector *v[3], *outer;
  part_kind kind;
} parts;

static kaon_status issue_copy(parts *p) {
  kaon_pass pass = KAON_PASS_INIT;
  const kaon_coefficient a = KAON_NUMBER(1e-9);
  pass.scalars = p->scalars;
  pass.gate = p->kind == CLOSED ? 0 : KAON_GATE_ANY;
  if (p->kind == AXPY_NORM || p->kind == AXPY_END || p->kind == APPLY_NORM ||
      p->kind == APPLY_DAGGER)
    pass.norm = KAON_S_R2;
  if (p->kind == AXPY_END) pass.then = KAON_REC_CG_BETA;
  switch (p->kind) {
    case AXPY_XPAY:
      return kaon_blas_axpy_xpay(a, p->v[0], p->v[1], p->v[2], a, &pass);
    case APPLY:
    case APPLY_NORM:
      return kaon_operator_run(p->A, KAON_PLAIN, p->v[0], p->v[1], &pass);
    case APPLY_DAGGER:
      return kaon_operator_run(p->A, KAON_DAGGER, p->v[0], p->v[1], &pass);
    case ADD_INNER:
      return kaon_blas_add_and_zero(p->v[0], p->outer, &pass);
    default:
      return kaon_blas_axpy(a, p->v[0], p->v[1], &pass);
  }
}

static kaon_status issue_copies(void *user) {
  for (int i = 0; i < COPIES; i++) KAON_TRY(issue_copy(user));
  return KAON_OK;
}

static double time_part(world *w, parts *p) {
  const kaon_record_ops *ops = w->c.ctx->backend->record;
  kaon_recorder *r = NULL;
  const kaon_loop loop = {
      .steps = issue_copies, .service = issue_copies, .user = p, .state = p->scalars->state};
  must(w->c.ctx, ops->create(w->c.ctx, 1, &r));
  must(w->c.ctx, ops->record(r, &loop, KAON_ISSUE_REPLAY));
  double time = 0;
  for (int i = 0; i < 2; i++) { /* the first time is warm-up */
    must(w->c.ctx, kaon_context_synchronise(w->c.ctx));
    const double begin = seconds_of(CLOCK_MONOTONIC);
    must(w->c.ctx, ops->run(r, BLOCKS));
    must(w->c.ctx, kaon_context_synchronise(w->c.ctx));
    time = (seconds_of(CLOCK_MONOTONIC) - begin) / (COPIES * BLOCKS);
  }
  ops->destroy(&r);
  return time;
}

/* Processor time of a launch, and of the wait for what it does. */
static void time_waits(world *w, parts *p, double part) {
  const kaon_record_ops *ops = w->c.ctx->backend->record;
  kaon_recorder *r = NULL;
  kaon_column_state host;
  const kaon_loop loop = {issue_copies, issue_copies, p, p->scalars->state};
  must(w->c.ctx, ops->create(w->c.ctx, 1, &r));
  must(w->c.ctx, ops->record(r, &loop, KAON_ISSUE_REPLAY));
  for (double wanted = 0.001; wanted < 0.03; wanted *= 5) {
    const int blocks = (int)(wanted / (part * COPIES)) + 1;
    must(w->c.ctx, kaon_context_synchronise(w->c.ctx));
    const double c0 = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    must(w->c.ctx, ops->run(r, blocks));
    must(w->c.ctx, ops->post(r, p->scalars->state, 0));
    const double c1 = seconds_of(CLOCK_PROCESS_CPUTIME_ID), begin = seconds_of(CLOCK_MONOTONIC);
    must(w->c.ctx, ops->wait(r, 0, &host));
    const double c2 = seconds_of(CLOCK_PROCESS_CPUTIME_ID), end = seconds_of(CLOCK_MONOTONIC);
    printf("  %d launches: cpu %.1f us each; a wait of %.0f us: cpu %.0f us\n", blocks,
           1e6 * (c1 - c0) / blocks, 1e6 * (end - begin), 1e6 * (c2 - c1));
  }
  ops->destroy(&r);
  const struct timespec pause = {0, 200000};
  const double c0 = seconds_of(CLOCK_PROCESS_CPUTIME_ID), begin = seconds_of(CLOCK_MONOTONIC);
  for (int i = 0; i < 20; i++) nanosleep(&pause, NULL);
  printf("  20 sleeps of 200 us: %.0f us, cpu %.0f us\n",
         1e6 * (seconds_of(CLOCK_MONOTONIC) - begin),
         1e6 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - c0));
}

static void times_of_parts(void) {
  static const int sizes[] = {8, 16};
  for (int i = 0; i < 2; i++)
    for (int precision = KAON_HALF; precision >= KAON_DOUBLE; precision -= 2) {
      const int extents[4] = {sizes[i], sizes[i], sizes[i], sizes[i]};
      world w;
      parts p = {0};
      kaon_column_state start = {
          .gate = KAON_GATE_STEP, .threshold = -1, .max_iterations = 1 << 30, .first = 1e300};
      if (!open_world(&w, extents, KAON_RECONSTRUCT_18)) return;
      must(w.c.ctx, w.R->ops->twin(w.R, (kaon_precision)precision, KAON_RECONSTRUCT_18, &p.A));
      must(w.c.ctx, kaon_operator_reserve(p.A, KAON_PLAIN, 1));
      must(w.c.ctx, kaon_scalars_create(w.c.ctx, 1, &p.scalars));
      for (int k = 0; k < 4; k++)
        must(w.c.ctx, kaon_vector_create(w.c.ctx, p.A->space, k < 3 ? p.A->precision : KAON_DOUBLE,
                                         1, k < 3 ? &p.v[k] : &p.outer));
      for (p.kind = CLOSED; p.kind < PARTS; p.kind++) {
        for (int k = 0; k < 3; k++) must(w.c.ctx, kaon_vector_zero(p.v[k]));
        must(w.c.ctx, kaon_vector_zero(p.outer));
        must(w.c.ctx, kaon_scalars_write(p.scalars, &start));
        const double seconds = time_part(&w, &p);
        printf("  %2d^4 %-6s %-24s %5.2f us\n", sizes[i], precision_names[precision],
               part_names[p.kind], 1e6 * seconds);
        if (p.kind == ADD_INNER && i == 0) time_waits(&w, &p, seconds);
      }
      for (int k = 0; k < 3; k++) kaon_vector_destroy(&p.v[k]);
      kaon_vector_destroy(&p.outer);
      kaon_scalars_destroy(&p.scalars);
      kaon_operator_destroy(&p.A);
      close_world(&w);
    }
}

/* ---- what a sum adds to a kernel: by marks or tickets, launched early or not ---- */

static void times_of_sums(void) {
  static const int sizes[] = {8, 12, 16};
  static const part_kind kinds[] = {AXPY, AXPY_NORM, APPLY, APPLY_NORM, APPLY_DAGGER};
  for (int i = 0; i < 3; i++)
    for (int precision = KAON_HALF; precision >= KAON_DOUBLE; precision--) {
      const int extents[4] = {sizes[i], sizes[i], sizes[i], sizes[i]};
      world w;
      parts p = {0};
      const kaon_column_state start = {
          .gate = KAON_GATE_STEP, .threshold = -1, .max_iterations = 1 << 30, .first = 1e300};
      if (!open_world(&w, extents, KAON_RECONSTRUCT_18)) return;
      uint64_t *const marked = w.c.ctx->marked;
      const int dependent = w.c.ctx->dependent;
      must(w.c.ctx, w.R->ops->twin(w.R, (kaon_precision)precision, KAON_RECONSTRUCT_18, &p.A));
      must(w.c.ctx, kaon_operator_reserve(p.A, KAON_PLAIN, 1));
      must(w.c.ctx, kaon_scalars_create(w.c.ctx, 1, &p.scalars));
      for (int k = 0; k < 4; k++)
        must(w.c.ctx, kaon_vector_create(w.c.ctx, p.A->space, k < 3 ? p.A->precision : KAON_DOUBLE,
                                         1, k < 3 ? &p.v[k] : &p.outer));
      for (int way = 0; way < 4; way++) {
        printf("  %2d^4 %-6s %s, %s:", sizes[i], precision_names[precision],
               way & 1 ? "tickets" : "marks", way & 2 ? "plain launches" : "dependent launches");
        w.c.ctx->marked = way & 1 ? NULL : marked;
        w.c.ctx->dependent = way & 2 ? 0 : dependent;
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
          p.kind = kinds[k];
          for (int v = 0; v < 3; v++) must(w.c.ctx, kaon_vector_zero(p.v[v]));
          must(w.c.ctx, kaon_scalars_write(p.scalars, &start));
          double best = 1e30;
          for (int n = 0; n < 3; n++) {
            const double seconds = time_part(&w, &p);
            if (seconds < best) best = seconds;
          }
          printf(" %s %.2f us;", part_names[p.kind], 1e6 * best);
        }
        printf("\n");
      }
      w.c.ctx->marked = marked;
      w.c.ctx->dependent = dependent;
      for (int k = 0; k < 3; k++) kaon_vector_destroy(&p.v[k]);
      kaon_vector_destroy(&p.outer);
      kaon_scalars_destroy(&p.scalars);
      kaon_operator_destroy(&p.A);
      close_world(&w);
    }
}

/* ---- the operator with the hop's blocks of several sizes ---- */

static double time_application(world *w, kaon_precision precision, int threads) {
  kaon_tuning_entry e = {.kernel = KAON_TUNED_HOP,
                         .precision = precision,
                         .reconstruct = 12,
                         .columns = 1,
                         .sites = kaon_lattice_volume(w->c.lattice),
                         .threads = threads};
  const kaon_tuning tuning = {
      kaon_version(), w->c.ctx->backend->name, w->c.ctx->device, w->c.ctx->backend->isa, 1, &e};
  const kaon_column_state start = {.gate = KAON_GATE_STEP};
  parts p = {.kind = APPLY};
  double best = 1e30;
  must(w->c.ctx, kaon_context_set_tuning(w->c.ctx, threads > 0 ? &tuning : NULL));
  must(w->c.ctx, w->R->ops->twin(w->R, precision, KAON_RECONSTRUCT_12, &p.A));
  must(w->c.ctx, kaon_operator_reserve(p.A, KAON_PLAIN, 1));
  must(w->c.ctx, kaon_scalars_create(w->c.ctx, 1, &p.scalars));
  must(w->c.ctx, kaon_scalars_write(p.scalars, &start));
  for (int k = 0; k < 2; k++) {
    must(w->c.ctx, kaon_vector_create(w->c.ctx, p.A->space, p.A->precision, 1, &p.v[k]));
    must(w->c.ctx, kaon_vector_zero(p.v[k]));
  }
  for (int i = 0; i < 3; i++) {
    const double seconds = time_part(w, &p);
    if (seconds < best) best = seconds;
  }
  for (int k = 0; k < 2; k++) kaon_vector_destroy(&p.v[k]);
  kaon_scalars_destroy(&p.scalars);
  kaon_operator_destroy(&p.A);
  must(w->c.ctx, kaon_context_set_tuning(w->c.ctx, NULL));
  return best;
}

static void times_of_blocks(void) {
  static const int sizes[][4] = {
      {8, 8, 8, 8}, {12, 12, 12, 12}, {16, 16, 16, 16}, {16, 16, 16, 32}, {24, 24, 24, 24}};
  static const int threads[] = {0, 32, 64, 128};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    world w;
    if (!open_world(&w, sizes[i], KAON_RECONSTRUCT_18)) return;
    for (int precision = KAON_HALF; precision >= KAON_DOUBLE; precision--) {
      printf("  %dx%dx%dx%d %-6s A, blocks of", sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3],
             precision_names[precision]);
      for (int k = 0; k < 4; k++)
        printf("%s %d: %.2f us", k > 0 ? "," : "", threads[k],
               1e6 * time_application(&w, (kaon_precision)precision, threads[k]));
      printf("\n");
    }
    close_world(&w);
  }
}

int main(void) {
  if (machine_lacks(MACHINE_CUDA)) return 1;
  times_of_sums();
  times_of_blocks();
  times_of_parts();
  times_a_step();
  return 0;
}
