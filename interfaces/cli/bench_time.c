/* bench_time.c - the seconds of one call: the median of samples, after warm-up.
 * On the CPU a call is done when it returns. On a device calls are queued and the host waits once a
 * sample, so a sample is long enough for that wait (some 10 us) not to count. A short kernel may
 * still be faster than the host launches it: what the host alone needs for a call is measured
 * beside it, and a row whose seconds are no longer than that tells of launches. Several ranks make
 * equally many calls, and a sample's time is that of the slowest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "signals.h"

/* Calls of a sample: 100, and on a device as many more as fill least_sample; fewer where they would
 * take longer than most_sample, but with all samples 100. */
enum { usual_calls = 100, most_calls = 1000000, burst_calls = 200 };
static const double least_sample = 0.02, most_sample = 0.5, warm_seconds = 0.05;

int bench_on_host(const bench *b) {
  return strcmp(b->info.backend, "cpu") == 0;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *sample, int count) {
  qsort(sample, (size_t)count, sizeof *sample, by_size);
  return 0.5 * (sample[count / 2] + sample[(count - 1) / 2]);
}

/* Seconds a call of `calls` in a row; *issue: of them, what the host needed before it waited. Both
 * are the slowest rank's of all, which begin together; none stops alone, since the others would
 * wait for its messages. */
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
  if (!bench_on_host(b)) wanted = fmax(wanted, ceil(least_sample / seconds));
  return (int)fmin(fmax(fmin(wanted, fit), fewest), most_calls);
}

/* Once, whatever it takes (first touch, memory taken); then batches until they last. */
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

/* One sample. The machine's bandwidth is taken just before it, so that both medians saw the same
 * moments: other loads on a shared machine come and go. One call then brings back what the
 * bandwidth test pushed out of the cache. */
static kaon_status sample(bench *b, bench_work *work, void *user, int calls, double figures[4]) {
  double ignored;
  kaon_status status = bench_bandwidth(b);
  figures[2] = b->all.triad_gbs;
  figures[3] = b->all.read_gbs;
  if (status == KAON_OK) status = batch(b, work, user, 1, &ignored, &ignored);
  if (status == KAON_OK) status = batch(b, work, user, calls, &figures[0], &figures[1]);
  if (status == KAON_OK && calls > burst_calls) /* more than the queue takes: the host waited */
    status = batch(b, work, user, burst_calls, &ignored, &figures[1]);
  if (bench_on_host(b)) figures[1] = 0;
  return status == KAON_OK && bench_stopped() ? KAON_ERR_CANCELLED : status;
}

kaon_status bench_time(bench *b, bench_work *work, void *user, bench_row *row) {
  int samples = b->args->samples;
  size_t room = (size_t)samples;
  double *seconds = malloc(4 * room * sizeof *seconds);
  double *issue = seconds + room, *triad = issue + room, *read = triad + room;
  kaon_status status = seconds ? warm_up(b, work, user, &row->calls) : KAON_ERR_MEMORY;
  for (int s = 0; s < samples && status == KAON_OK; s++) {
    double figures[4] = {0};
    status = sample(b, work, user, row->calls, figures);
    seconds[s] = figures[0];
    issue[s] = figures[1];
    triad[s] = figures[2];
    read[s] = figures[3];
  }
  if (status == KAON_OK) {
    row->seconds = median(seconds, samples); /* sorted by it */
    row->least = seconds[0];
    row->most = seconds[samples - 1];
    row->issue = median(issue, samples);
    row->samples = samples;
    b->all.triad_gbs = median(triad, samples);
    b->all.read_gbs = median(read, samples);
  }
  free(seconds);
  return status;
}
