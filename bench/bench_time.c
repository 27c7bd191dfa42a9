/* bench_time.c - the seconds of one call: the median of samples, after warm-up.
 * On the CPU a call is done when it returns. On a device calls are queued, and the host waits once
 * a sample: a sample is long enough that this wait of about 10 us does not count. A short kernel
 * may be faster than its launch. The time that the host needs to launch a call is measured beside
 * it. A row whose seconds are no longer than that measures launches. All ranks make equally many
 * calls, and a sample takes as long as the slowest rank. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "interfaces/common/signals.h"

/* Calls of a sample: 100, or as many as fill least_sample. Fewer where they would take longer than
 * most_sample, but 100 in all samples together. */
enum { usual_calls = 100, most_calls = 1000000, burst_calls = 200 };
static const double least_sample = 0.02, most_sample = 0.5, warm_seconds = 0.05;

/* A device at its power limit lowers its clock and recovers it at rest. Without rest a row would
 * depend on the row before it (bench/notes/speed-power-limit.md). */
static const double rest_seconds = 0.3;

int bench_on_host(const bench *b) {
  return strcmp(b->info.backend, "cpu") == 0;
}

static void rest(const bench *b) {
  const struct timespec piece = {.tv_nsec = 20000000};
  const double end = cli_now() + rest_seconds;
  while (!bench_on_host(b) && !signals_interrupted() && cli_now() < end) nanosleep(&piece, NULL);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

bench_spread bench_spread_of(double *seconds, int count) {
  qsort(seconds, (size_t)count, sizeof *seconds, by_size);
  return (bench_spread){.median = 0.5 * (seconds[count / 2] + seconds[(count - 1) / 2]),
                        .least = seconds[0],
                        .most = seconds[count - 1],
                        .count = count};
}

/* Seconds a call of `calls` in a row, and in *issue the part before the host waits. Both are those
 * of the slowest rank. All ranks begin together, and none stops alone, since others wait for its
 * messages. */
static kaon_status batch(const bench *b, bench_work *work, void *user, int calls, double *seconds,
                         double *issue) {
  const int alone = b->info.ranks == 1;
  kaon_status status = bench_stopped() ? KAON_ERR_CANCELLED : KAON_OK;
  double begin = cli_now();
  for (int i = 0; i < calls && status == KAON_OK && !(alone && signals_interrupted()); i++)
    status = work(user);
  double took[2] = {0, (cli_now() - begin) / calls};
  if (status == KAON_OK) status = kaon_context_synchronise(b->ctx);
  took[0] = (cli_now() - begin) / calls;
  if (status == KAON_OK) status = ranks_most(took, 2);
  *seconds = took[0];
  *issue = took[1];
  return status;
}

static int calls_of_a_sample(const bench *b, double seconds) {
  const int samples = b->args->samples, fewest = (usual_calls + samples - 1) / samples;
  double wanted = usual_calls, fit = floor(most_sample / seconds);
  if (b->args->calls) return b->args->calls;
  wanted = fmax(wanted, ceil(least_sample / seconds));
  return (int)fmin(fmax(fmin(wanted, fit), fewest), most_calls);
}

/* Makes one call (first touch, allocations), then batches until they take warm_seconds. */
static kaon_status warm_up(const bench *b, bench_work *work, void *user, int *calls) {
  double seconds = 0, issue;
  kaon_status status = batch(b, work, user, 1, &seconds, &issue);
  for (int n = 1; status == KAON_OK; n *= 2) {
    status = batch(b, work, user, n, &seconds, &issue);
    if (n * seconds >= warm_seconds || n >= most_calls) break;
  }
  *calls = calls_of_a_sample(b, fmax(seconds, 1e-9));
  return status;
}

/* Takes one sample. The bandwidth of the machine is measured just before, so that both medians see
 * the same load. Some calls then reload the cache that the bandwidth test replaced. */
static kaon_status sample(bench *b, bench_work *work, void *user, int calls, double figures[4]) {
  double ignored;
  kaon_status status = bench_bandwidth(b);
  figures[2] = b->all.triad_gbs;
  figures[3] = b->all.read_gbs;
  if (status == KAON_OK) status = batch(b, work, user, (calls + 9) / 10, &ignored, &ignored);
  if (status == KAON_OK) status = batch(b, work, user, calls, &figures[0], &figures[1]);
  if (status == KAON_OK && calls > burst_calls &&
      !bench_on_host(b)) /* the queue was full: the host waited */
    status = batch(b, work, user, burst_calls, &ignored, &figures[1]);
  if (bench_on_host(b)) figures[1] = 0;
  return status == KAON_OK && bench_stopped() ? KAON_ERR_CANCELLED : status;
}

/* The four figures of sample s of row i are at [4 * (i * samples + s)]. Takes the median of each.
 */
static void take_medians(bench_timed *t, double *figures, double *sorted, int samples) {
  double *of[4] = {&t->row.seconds, &t->row.issue, &t->triad, &t->read};
  for (int k = 0; k < 4; k++) {
    for (int s = 0; s < samples; s++) sorted[s] = figures[4 * s + k];
    const bench_spread spread = bench_spread_of(sorted, samples);
    *of[k] = spread.median;
    if (k > 0) continue;
    t->row.least = spread.least;
    t->row.most = spread.most;
  }
  t->row.samples = samples;
}

kaon_status bench_time_in_turn(bench *b, bench_timed timed[], int count) {
  const int samples = b->args->samples;
  double *figures = calloc((size_t)(4 * count + 1) * (size_t)samples, sizeof *figures);
  kaon_status status = figures ? KAON_OK : KAON_ERR_MEMORY;
  rest(b);
  for (int i = 0; i < count && status == KAON_OK; i++)
    status = warm_up(b, timed[i].work, timed[i].user, &timed[i].row.calls);
  for (int n = 0; n < samples * count && status == KAON_OK; n++) {
    const int i = n % count, s = n / count;
    status = sample(b, timed[i].work, timed[i].user, timed[i].row.calls,
                    &figures[4 * (i * samples + s)]);
  }
  for (int i = 0; i < count && status == KAON_OK; i++)
    take_medians(&timed[i], &figures[4 * i * samples], &figures[4 * count * samples], samples);
  free(figures);
  return status;
}

kaon_status bench_time(bench *b, bench_work *work, void *user, bench_row *row) {
  bench_timed timed = {.work = work, .user = user, .row = *row};
  const kaon_status status = bench_time_in_turn(b, &timed, 1);
  if (status != KAON_OK) return status;
  *row = timed.row;
  b->all.triad_gbs = timed.triad;
  b->all.read_gbs = timed.read;
  return KAON_OK;
}
