/* sample.c - a job in a child process. Contract: sample.h. */
#include "sample.h"

#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

kaon_context_info sample_info(const kaon_context *ctx) {
  kaon_context_info info = {.memory_free = -1};
  (void)kaon_context_query(ctx, &info);
  return info;
}

int sample_exceeds(const cli_common *common, const kaon_context_info *info, int ranks,
                   double most) {
  if (ranks > 1) return !isnan(common->memory_limit) && most > 0x1p30 * common->memory_limit;
  return info->memory_free >= 0 && most > (double)info->memory_free;
}

double sample_in_use(const kaon_context *ctx) {
  return (double)sample_info(ctx).memory_now;
}

double sample_most(const kaon_context *ctx) {
  return (double)sample_info(ctx).memory_peak;
}

/* Arrays of a real job are mapped one by one and go back to the system when they are given back; in
 * a small job those below this many bytes would stay in the heap. */
enum { MAPPED_BYTES = 1 << 15 };

int sample_process(sample_fn *work, void *user, sample *s) {
  int ends[2];
  if (pipe(ends) != 0) return EXIT_DEVICE;
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* Ctrl-C ends it with its parent */
    close(ends[0]);
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    s->code = work(user, s);
    ssize_t n = write(ends[1], s, sizeof *s);
    _exit(n == (ssize_t)sizeof *s ? 0 : EXIT_DEVICE);
  }
  close(ends[1]);
  struct rusage usage = {0};
  int status = 0;
  ssize_t n = child > 0 ? read(ends[0], s, sizeof *s) : -1;
  close(ends[0]);
  if (child < 0 || wait4(child, &status, 0, &usage) != child || n != (ssize_t)sizeof *s) {
    cli_error("--dry-run: the small trial run failed; there may be too little memory even for it");
    return EXIT_DEVICE;
  }
  s->peak = 1024.0 * (double)usage.ru_maxrss;
  return s->code;
}

static double follow(double a, double b, double part) {
  return a + (b - a) * part;
}

sample sample_follow(const sample *a, const sample *b, double size) {
  const double part = (size - a->size) / (b->size - a->size);
  return (sample){.size = size,
                  .peak = follow(a->peak, b->peak, part),
                  .input = follow(a->input, b->input, part),
                  .operator= follow(a->operator, b->operator, part),
                  .solver = follow(a->solver, b->solver, part),
                  .vectors = follow(a->vectors, b->vectors, part),
                  .most = follow(a->most, b->most, part)};
}
