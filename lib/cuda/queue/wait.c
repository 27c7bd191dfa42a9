/* wait.c - how the host waits for its device (the option `sync`).
 *   POLLING   Polls continuously.
 *   BLOCKING  Sleeps in short intervals, then in the driver until an interrupt (events created
 *             with cudaEventBlockingSync). For a word it first sleeps for nearly the usual wait,
 *             then in short intervals: consecutive waits are similar, and the driver wakes late.
 *   AUTO      For an event or a word: polls at first, then as BLOCKING, since waking takes some
 *             50 us. For a stream: as the driver does, which polls unless the application has set
 *             the device's flags (cudaSetDeviceFlags).
 * The device's flags belong to the application and stay unchanged. A recorded loop that is not
 * polled sleeps in intervals (graph.c, completion.c). */
#include <math.h>
#include <stdatomic.h>
#include <time.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "lib/cpu/clock.h"
#include "lib/cuda/ranks/ranks.h"

/* How long AUTO polls for an event, and for a word. After that time waking adds only a small
 * fraction. */
static const double spin_seconds = 300e-6, word_seconds = 1e-3;
/* Interval at which a polling host checks the transport of ranks. A sleeping host checks after each
 * sleep. */
static const double rank_check_seconds = 1e-3;

/* BLOCKING sleeps in intervals for long_sleep_seconds (for an event, or for a word after its usual
 * time) before it waits in the driver. The driver's wait costs some 100 us of processor time
 * however short it is. The other two bound an interval. */
static const double long_sleep_seconds = 100e-6, shortest_sleep = 20e-6, longest_sleep = 1e-3;

unsigned long kaon_cuda_timer_slack(unsigned long wanted) {
#ifdef __linux__
  const int now = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  if (now > 0 && wanted > 0) prctl(PR_SET_TIMERSLACK, wanted, 0, 0, 0);
  return now > 0 ? (unsigned long)now : 0;
#else
  (void)wanted;
  return 0;
#endif
}

void kaon_cuda_timer_slack_back(unsigned long before) {
#ifdef __linux__
  if (before > 0) prctl(PR_SET_TIMERSLACK, before, 0, 0, 0);
#else
  (void)before;
#endif
}

/* Sleeping until a word arrives. The first sleep ends word_lead before the usual time. Further
 * sleeps take word_sleep, or word_part of the time passed. This ends after word_most or twice the
 * usual time, and is skipped if the usual time exceeds half of word_longest. */
static const double word_lead = 25e-6, word_sleep = 10e-6, word_part = 1. / 32, word_most = 1e-3;
static const double word_longest = 20e-3;

kaon_status kaon_cuda_check_ranks(const kaon_context *ctx, double waited) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  if (r == NULL || r->transport == NULL || r->transport->check_ranks == NULL) return KAON_OK;
  return r->transport->check_ranks((kaon_context *)(uintptr_t)ctx, waited);
}

static int has_rank_check(const kaon_context *ctx) {
  const kaon_cuda_ranks *r = kaon_cuda_ranks_of(ctx);
  return r != NULL && r->transport != NULL && r->transport->check_ranks != NULL;
}

/* What is waited for: an event, a word that a kernel in the stream writes, or all work in the
 * stream. */
typedef struct aim {
  cudaStream_t stream;
  cudaEvent_t event;
  const volatile uint32_t *word;
  uint32_t turn;
} aim;

static int is_written(aim at) {
  if (at.word == NULL || *at.word != at.turn) return 0;
  atomic_thread_fence(memory_order_acquire);
  return 1;
}

/* Queries the driver. For a word the driver reports only errors, or that no work is left which
 * could write it. */
static cudaError_t ask(aim at) {
  if (is_written(at)) return cudaSuccess;
  return at.event != NULL ? cudaEventQuery(at.event) : cudaStreamQuery(at.stream);
}

static cudaError_t query(aim at) {
  if (at.word == NULL) return ask(at);
  return is_written(at) ? cudaSuccess : cudaErrorNotReady;
}

/* Polls for at most `seconds`. Afterwards *answer is cudaErrorNotReady if it has not occurred. */
static kaon_status spin(const kaon_context *ctx, aim at, double seconds, cudaError_t *answer) {
  const double begin = kaon_seconds();
  double next = rank_check_seconds;
  *answer = query(at);
  for (double waited = 0; *answer == cudaErrorNotReady && waited <= seconds;) {
    waited = kaon_seconds() - begin;
    *answer = query(at);
    if (waited < next || *answer != cudaErrorNotReady) continue;
    next = waited + rank_check_seconds;
    *answer = ask(at);
    KAON_TRY(kaon_cuda_check_ranks(ctx, waited));
  }
  return KAON_OK;
}

/* Waits in the driver. Waiting for an event sleeps, so a wait for a stream uses an event if it is
 * to sleep. */
static cudaError_t driver_wait(const kaon_context *ctx, aim at) {
  const cudaEvent_t here = kaon_cuda_machine_of(ctx)->here;
  if (at.event != NULL) return cudaEventSynchronize(at.event);
  if (ctx->options.sync == KAON_SYNC_AUTO && at.word == NULL)
    return cudaStreamSynchronize(at.stream);
  const cudaError_t error = cudaEventRecord(here, at.stream);
  return error == cudaSuccess ? cudaEventSynchronize(here) : error;
}

/* Sleeps in intervals, each a quarter of the time passed, then waits in the driver. The intervals
 * continue while ranks must be checked; otherwise, for BLOCKING, for long_sleep_seconds. */
static kaon_status sleep_until_done(const kaon_context *ctx, aim at, cudaError_t *answer) {
  const int watches_ranks = has_rank_check(ctx), sleeps = ctx->options.sync == KAON_SYNC_BLOCKING;
  const double begin = kaon_seconds();
  kaon_status status = KAON_OK;
  double waited = 0;
  *answer = ask(at);
  if (*answer != cudaErrorNotReady) return KAON_OK;
  const unsigned long slack = kaon_cuda_timer_slack(watches_ranks || sleeps ? 1 : 0);
  while (*answer == cudaErrorNotReady && status == KAON_OK &&
         (watches_ranks || (sleeps && waited < long_sleep_seconds))) {
    const double wanted = fmin(fmax(waited / 4, shortest_sleep), longest_sleep);
    const struct timespec sleep_seconds_for = {0, (long)(1e9 * wanted)};
    if (watches_ranks) status = kaon_cuda_check_ranks(ctx, waited);
    nanosleep(&sleep_seconds_for, NULL);
    *answer = ask(at);
    waited = kaon_seconds() - begin;
  }
  if (watches_ranks || sleeps) kaon_cuda_timer_slack_back(slack);
  if (*answer == cudaErrorNotReady && status == KAON_OK) *answer = driver_wait(ctx, at);
  return status;
}

/* The usual wait falls to a quarter if a sleep that was to end just before the word was too long.
 * Otherwise it moves by a quarter of the difference. Sleeping too long costs more than another
 * sleep. */
static void update_typical_wait(double *usual, double waited, int early) {
  *usual += early ? -*usual * 3 / 4 : (fmin(waited, word_longest) - *usual) / 4;
}

/* Waits that are usually too long for this are left to sleep_until_done. */
static void sleep_until_word(const kaon_context *ctx, aim at, cudaError_t *answer) {
  double *usual = &kaon_cuda_machine_of(ctx)->typical_wait, waited = 0;
  const double begin = kaon_seconds(), most = fmax(word_most, 2 * *usual);
  const unsigned long slack = kaon_cuda_timer_slack(1);
  int early = 0, sleeps = 0;
  *answer = query(at);
  while (*answer == cudaErrorNotReady && waited < most && *usual < word_longest / 2) {
    const double left = *usual - word_lead - waited;
    const double wanted = fmax(fmax(left, word_sleep), word_part * waited);
    const struct timespec sleep_seconds_for = {0, (long)(1e9 * wanted)};
    nanosleep(&sleep_seconds_for, NULL);
    *answer = query(at);
    waited = kaon_seconds() - begin;
    early = left > word_sleep && *answer == cudaSuccess;
    sleeps++;
  }
  kaon_cuda_timer_slack_back(slack);
  if (*answer != cudaErrorNotReady && sleeps > 0) update_typical_wait(usual, waited, early);
}

static kaon_status wait_for(const kaon_context *ctx, aim at, double spin_for, const char *what) {
  const kaon_sync sync = ctx->options.sync;
  cudaError_t answer = cudaErrorNotReady;
  if (sync == KAON_SYNC_POLLING) spin_for = 1e300;
  if (sync == KAON_SYNC_BLOCKING) spin_for = 0;
  kaon_status status = spin_for > 0 ? spin(ctx, at, spin_for, &answer) : KAON_OK;
  const int sleeps = sync == KAON_SYNC_BLOCKING && at.word != NULL && !has_rank_check(ctx);
  const double begin = sleeps ? kaon_seconds() : 0;
  if (sleeps) sleep_until_word(ctx, at, &answer);
  if (status == KAON_OK && answer == cudaErrorNotReady) {
    status = sleep_until_done(ctx, at, &answer);
    if (sleeps)
      update_typical_wait(&kaon_cuda_machine_of(ctx)->typical_wait, kaon_seconds() - begin, 0);
  }
  if (cudaPeekAtLastError() == cudaErrorNotReady) cudaGetLastError(); /* not an error */
  if (status == KAON_OK) status = kaon_cuda_check(ctx, answer, what);
  if (status == KAON_OK && at.word != NULL && !is_written(at))
    return kaon_fail(ctx, KAON_ERR_DEVICE, "cuda: %s: it ended without writing its result", what);
  return status;
}

kaon_status kaon_cuda_await(const kaon_context *ctx, cudaEvent_t event, const char *what) {
  return wait_for(ctx, (aim){.event = event}, spin_seconds, what);
}

kaon_status kaon_cuda_wait_stream(const kaon_context *ctx, cudaStream_t stream, const char *what) {
  return wait_for(ctx, (aim){.stream = stream}, 0, what);
}

kaon_status kaon_cuda_wait_word(const kaon_context *ctx, const uint32_t *word, uint32_t turn,
                                const char *what) {
  const cudaStream_t stream = kaon_cuda_machine_of(ctx)->stream;
  return wait_for(ctx, (aim){.stream = stream, .word = word, .turn = turn}, word_seconds, what);
}
