/* completion.c - the wait for the snapshot that ends a whole solve.
 * A kernel writes the snapshot into host memory and then sets a flag. So the driver is queried only
 * now and then, in case of an error. The kernel also reports how long the solve took on the device,
 * from the entry of the loop.
 * If solves usually take less than 3 ms, the host sleeps once, for the usual time plus a lead. The
 * lead covers what happens before the loop, launch latency and wake-up, and is learned from when
 * sleeps end. One sleep costs 5 to 10 us of processor time, so fewer sleeps are cheaper. */
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "lib/cpu/clock.h"
#include "lib/cuda/queue/completion.h"

/* Nanoseconds. SHORTEST, LONGEST: bounds of a sleep. MUCH: if more is left, the sleep is half of
 * it, since this wait may be shorter. SPIN_NANOSECONDS: polling after a sleep before the next one,
 * since the snapshot is then usually close. OFTEN: interval of driver queries. */
enum {
  SHORTEST = 10000,
  LONGEST = 5000000,
  MUCH = 3000000,
  SPIN_NANOSECONDS = 8000,
  OFTEN = 1000000
};
/* Nanoseconds of the lead. FIRST_LEAD: initial value; MOST_LEAD: its largest magnitude.
 * - LESS: decrease after a sleep that was long enough. It is small compared to the cost of waking
 *   early, so that most sleeps end just after the snapshot. It doubles after each IN_A_ROW such
 *   sleeps in a row, at most TIMES times.
 * - MORE: largest increase after the first FIRST_WAITS waits, since a single wait may be
 *   disturbed. */
enum { FIRST_LEAD = -10000, MOST_LEAD = 5000000, LESS = 250, IN_A_ROW = 8, TIMES = 4 };
enum { FIRST_WAITS = 16, MORE = 2000 };

void kaon_completion_expect(kaon_completion *completion) {
  if (completion->lasted == 0) completion->lead = FIRST_LEAD;
  *(volatile uint32_t *)&completion->loop_done->there = 0;
}

static int is_there(const kaon_completion *completion) {
  if (*(volatile uint32_t *)&completion->loop_done->there == 0) return 0;
  atomic_thread_fence(memory_order_acquire);
  return 1;
}

typedef struct wait_clock {
  int64_t begin, aim, passed, asked; /* aim: expected time; all but begin: relative to begin */
  int64_t woke;                      /* end of the sleep that was to last until aim; 0: none yet */
  int late;                          /* the snapshot was there by then */
  unsigned long slack;
  int slept;
} wait_clock;

/* Polls until the snapshot is there, for at most `most` nanoseconds. */
static int poll_for(const kaon_completion *completion, wait_clock *w, int64_t most) {
  const int64_t until = w->passed + most;
  while (!is_there(completion)) {
    w->passed = kaon_nanoseconds() - w->begin;
    if (w->passed >= until) return 0;
  }
  w->passed = kaon_nanoseconds() - w->begin;
  return 1;
}

/* Queries the driver for errors, at intervals. */
static kaon_status ask(const kaon_context *ctx, const kaon_completion *completion, wait_clock *w) {
  if (w->passed - w->asked < OFTEN) return KAON_OK;
  w->asked = w->passed;
  const cudaError_t answer = cudaStreamQuery(kaon_cuda_machine_of(ctx)->stream);
  if (answer == cudaErrorNotReady) {
    if (cudaPeekAtLastError() == cudaErrorNotReady) cudaGetLastError(); /* not an error */
    return kaon_cuda_check_ranks(ctx, 1e-9 * (double)w->passed);
  }
  KAON_TRY(kaon_cuda_check(ctx, answer, "work on the device"));
  return is_there(completion)
             ? KAON_OK
             : kaon_fail(ctx, KAON_ERR_DEVICE, "cuda: a solve ended without a final host poll");
}

static void sleep_for_ns(const kaon_completion *completion, wait_clock *w) {
  const int64_t left = w->aim - w->passed;
  const int64_t wanted = left > MUCH ? left / 2 : left >= SHORTEST ? left : -left / 4;
  const int64_t length = wanted < SHORTEST ? SHORTEST : wanted < LONGEST ? wanted : LONGEST;
  const struct timespec pause = {0, (long)length};
  if (!w->slept) w->slack = kaon_cuda_timer_slack(1);
  w->slept = 1;
  nanosleep(&pause, NULL);
  w->passed = kaon_nanoseconds() - w->begin;
  if (length != left) return;
  w->woke = w->passed;
  w->late = is_there(completion);
}

/* Adapts lead and usual time. If the device took longer than usual, a sleep that was too short is
 * explained by that amount. If it took less, a sleep that was too long says nothing. The usual time
 * falls at once and rises by a quarter of the difference, because sleeping too long costs more than
 * another sleep. */
static void update_estimate(kaon_completion *completion, const wait_clock *w) {
  const int64_t elapsed = *(volatile uint32_t *)&completion->loop_done->elapsed;
  const int64_t longer = elapsed - completion->lasted, early = w->passed - w->woke - longer;
  if (w->woke > 0 && w->late && longer >= 0) {
    const int times = completion->late++ / IN_A_ROW;
    completion->lead -= LESS << (times < TIMES ? times : TIMES);
    if (completion->lead < -MOST_LEAD) completion->lead = -MOST_LEAD;
  } else if (w->woke > 0 && !w->late) {
    const int64_t most = completion->waits < FIRST_WAITS ? MOST_LEAD : MORE;
    completion->late = 0;
    if (early > 0) completion->lead += early / 2 < most ? early / 2 : most;
    if (completion->lead > MOST_LEAD) completion->lead = MOST_LEAD;
  }
  completion->waits += completion->waits < FIRST_WAITS;
  completion->lasted =
      longer < 0 || completion->lasted == 0 ? elapsed : completion->lasted + longer / 4;
  if (completion->lasted == 0) completion->lasted = 1;
}

/* The expected time. It is bounded below so that a sleep ends then: the lead is learned only from
 * such sleeps. */
static int64_t expected(const kaon_completion *completion) {
  const int64_t at = completion->lasted > 0 ? completion->lasted + completion->lead : 0;
  return completion->lasted > 2 * SHORTEST && at < 2 * SHORTEST ? 2 * SHORTEST : at;
}

kaon_status kaon_completion_await(const kaon_context *ctx, kaon_completion *completion) {
  const int polls = ctx->options.sync == KAON_SYNC_POLLING;
  wait_clock w = {.begin = kaon_nanoseconds(), .aim = expected(completion)};
  kaon_status status = KAON_OK;
  if (is_there(completion)) return KAON_OK; /* already there, and counted before */
  while (status == KAON_OK && !is_there(completion)) {
    const int near = w.passed + SHORTEST > w.aim;
    if ((polls || near) && poll_for(completion, &w, polls ? OFTEN : SPIN_NANOSECONDS)) break;
    status = ask(ctx, completion, &w);
    if (status == KAON_OK && !polls && !is_there(completion)) sleep_for_ns(completion, &w);
  }
  if (w.slept) kaon_cuda_timer_slack_back(w.slack);
  if (status == KAON_OK) update_estimate(completion, &w);
  return status;
}
