/* completion.c - waiting for the look that a whole solve ends in. A kernel writes it into the host's
 * memory and says when it is there, so the driver is not asked but now and then, in case of an
 * error; and it says how long the solve took on the device, from the loop's entry on. The next one,
 * if it is like those before and takes less than 3 ms, is slept through in one nap as long as they
 * took and a lead, which is what goes before the loop, launches and waking take, learnt from when
 * naps end: a nap costs the processor some 5 to 10 us, more than all else but the launch. */
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "lib/cuda/queue/completion.h"

/* Nanoseconds. Naps; waits so long before their end are halved, since they may be shorter this
 * time; behind a nap the look is seldom far: it is looked for so long before there is another nap;
 * and the driver is asked so often. */
enum { SHORTEST = 10000, LONGEST = 5000000, MUCH = 3000000, SPIN_NANOSECONDS = 8000, OFTEN = 1000000 };
/* The lead at first, at most either way; what it becomes less by where a nap was long enough, a
 * fraction of what an early end costs, so that most naps end just behind the look, and twice as
 * much with each so many of them in a row; and, after the first waits, more by at most, since one
 * wait may be disturbed. */
enum { FIRST_LEAD = -10000, MOST_LEAD = 5000000, LESS = 250, IN_A_ROW = 8, TIMES = 4 };
enum { FIRST_WAITS = 16, MORE = 2000 };

static int64_t nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

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
  int64_t begin, aim, passed, asked; /* aim: when it is expected; the others: since the begin */
  int64_t woke;                      /* from the nap that was to end then; 0: not yet */
  int late;                          /* it was there by then */
  unsigned long slack;
  int slept;
} wait_clock;

/* Until it is there, for `most` nanoseconds at most. */
static int poll_for(const kaon_completion *completion, wait_clock *w, int64_t most) {
  const int64_t until = w->passed + most;
  while (!is_there(completion)) {
    w->passed = nanoseconds() - w->begin;
    if (w->passed >= until) return 0;
  }
  w->passed = nanoseconds() - w->begin;
  return 1;
}

/* Nearly always there is nothing to tell. */
static kaon_status ask(const kaon_context *ctx, const kaon_completion *completion, wait_clock *w) {
  if (w->passed - w->asked < OFTEN) return KAON_OK;
  w->asked = w->passed;
  const cudaError_t answer = cudaStreamQuery(kaon_cuda_machine_of(ctx)->stream);
  if (answer == cudaErrorNotReady) {
    if (cudaPeekAtLastError() == cudaErrorNotReady) cudaGetLastError(); /* no error */
    return kaon_cuda_check_ranks(ctx, 1e-9 * (double)w->passed);
  }
  KAON_TRY(kaon_cuda_check(ctx, answer, "work on the device"));
  return is_there(completion) ? KAON_OK
                        : kaon_fail(ctx, KAON_ERR_DEVICE, "cuda: a solve ended without a look");
}

static void sleep_for_ns(const kaon_completion *completion, wait_clock *w) {
  const int64_t left = w->aim - w->passed;
  const int64_t wanted = left > MUCH ? left / 2 : left >= SHORTEST ? left : -left / 4;
  const int64_t length = wanted < SHORTEST ? SHORTEST : wanted < LONGEST ? wanted : LONGEST;
  const struct timespec pause = {0, (long)length};
  if (!w->slept) w->slack = kaon_cuda_timer_slack(1);
  w->slept = 1;
  nanosleep(&pause, NULL);
  w->passed = nanoseconds() - w->begin;
  if (length != left) return;
  w->woke = w->passed;
  w->late = is_there(completion);
}

/* What the device took longer than usual explains as much of a nap that was too short, and a nap
 * that was too long where it took less says nothing. What is usual falls at once and rises by a
 * quarter: where solves differ, sleeping too long costs more than another nap. */
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
  completion->lasted = longer < 0 || completion->lasted == 0 ? elapsed : completion->lasted + longer / 4;
  if (completion->lasted == 0) completion->lasted = 1;
}

/* When it is expected; never so soon that no nap ends then, from which alone is learnt. */
static int64_t expected(const kaon_completion *completion) {
  const int64_t at = completion->lasted > 0 ? completion->lasted + completion->lead : 0;
  return completion->lasted > 2 * SHORTEST && at < 2 * SHORTEST ? 2 * SHORTEST : at;
}

kaon_status kaon_completion_await(const kaon_context *ctx, kaon_completion *completion) {
  const int polls = ctx->options.sync == KAON_SYNC_POLLING;
  wait_clock w = {.begin = nanoseconds(), .aim = expected(completion)};
  kaon_status status = KAON_OK;
  if (is_there(completion)) return KAON_OK; /* and was taken once */
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
