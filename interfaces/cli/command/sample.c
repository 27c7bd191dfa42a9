/* sample.c - a job in a child process. Contract: sample.h. */
#include "interfaces/cli/command/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interfaces/common/signals.h"

kaon_context_info sample_info(const kaon_context *ctx) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  info.memory_free = -1;
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

/* Whatever lies there: AddressSanitizer, which has gaps between strings, is not to look. */
__attribute__((no_sanitize("address"))) static void read_byte(uintptr_t at) {
  (void)*(const volatile char *)at;
}

/* A child begins without those pages of the program's and its libraries' files that its parent has
 * had since it was loaded, and a real job would have: it reads them. `present`: the parent's
 * pagemap, a word for each page, of which the highest bit is set for one that is there. */
static void load_program(int present) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], mode[5];
  while (maps && fgets(line, sizeof line, maps)) {
    uintptr_t from, to;
    unsigned long file = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &from, &to, mode, &file) != 4)
      continue;
    if (file == 0 || mode[0] != 'r' || mode[1] == 'w' || mode[3] != 'p') continue;
    for (uint64_t word; from < to; from += page) {
      const off_t at = (off_t)(from / page * sizeof word);
      if (pread(present, &word, sizeof word, at) == (ssize_t)sizeof word && word >> 63)
        read_byte(from);
    }
  }
  if (maps) fclose(maps);
}

/* Resident bytes of a process; 0: not told. */
static double resident(pid_t child) {
  char name[64];
  long pages = 0;
  snprintf(name, sizeof name, "/proc/%ld/statm", (long)child);
  FILE *in = fopen(name, "r");
  if (in && fscanf(in, "%*s %ld", &pages) != 1) pages = 0;
  if (in) fclose(in);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

void sample_bound(sample *s, const kaon_context *ctx) {
  const double free_bytes = (double)sample_info(ctx).memory_free;
  if (s->bound && !s->on_device && free_bytes > 0) *s->bound = 0.8 * free_bytes;
}

/* 1: the child said something, or has ended; 0: it was given up. Signals are not this one's. */
static int ready(int from, pid_t child, double seconds, const volatile double *bound) {
  enum { LOOK_MS = 100 };
  struct pollfd end = {.fd = from, .events = POLLIN};
  const double last = cli_now() + seconds;
  for (;;) {
    const int n = poll(&end, 1, seconds > 0 ? LOOK_MS : -1);
    if (n > 0 || (n < 0 && errno != EINTR)) return 1;
    if (seconds > 0 && (cli_now() > last || (bound && *bound > 0 && resident(child) > *bound)))
      return 0;
  }
}

static double *shared_number(void) {
  void *memory =
      mmap(NULL, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Of the child, which is not waited for yet. */
static ssize_t hear(int from, pid_t child, double seconds, sample *s) {
  double *bound = s->bound;
  const int late = !ready(from, child, seconds, bound);
  if (late) kill(child, SIGKILL);
  const ssize_t n = read(from, s, sizeof *s);
  if (late) *s = (sample){.late = 1};
  s->bound = NULL;
  if (bound) munmap(bound, sizeof *bound);
  return n;
}

int sample_process(sample_fn *work, void *user, double seconds, sample *s) {
  int ends[2];
  if (pipe(ends) != 0) return EXIT_DEVICE;
  s->bound = shared_number();
  const int present = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC); /* -1: not told */
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* Ctrl-C ends it with its parent */
    close(ends[0]);
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    if (present >= 0) load_program(present);
    s->code = work(user, s);
    ssize_t n = write(ends[1], s, sizeof *s);
    _exit(n == (ssize_t)sizeof *s ? 0 : EXIT_DEVICE);
  }
  close(ends[1]);
  if (present >= 0) close(present);
  signals_child(child > 0 ? child : 0);
  struct rusage usage = {0};
  int status = 0;
  const ssize_t n = child > 0 ? hear(ends[0], child, seconds, s) : -1;
  close(ends[0]);
  signals_child(0);
  if (s->late) {
    waitpid(child, &status, 0);
    return EXIT_DEVICE;
  }
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
                  .most = follow(a->most, b->most, part),
                  .on_device = b->on_device};
}
