/* signals.c - the waiting thread, and the handler that wakes it. Contract: signals.h. */
#include "interfaces/common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/common/cli.h"

/* Of the one second: the rest is for removing files and for a slow machine. */
enum { GRACE_MS = 650, PARTS_TRIED = 4 };

/* The program's one piece of global state: signals are per process. */
static struct {
  atomic_int interrupted;
  atomic_int said;
  atomic_int keeping;   /* signals_keep */
  pthread_mutex_t lock; /* of what follows */
  char doing[128], loss[1024];
  char outer_doing[128], outer_loss[1024]; /* of signals_enter */
  char *report, *report_text;              /* NULL: none */
  size_t report_length;
  char **outputs;
  int count;
  pid_t child; /* which may write one of them; 0: none */
  int wake[2]; /* a pipe: a byte for each signal */
  sem_t waits; /* the thread is past its beginning */
} now = {.lock = PTHREAD_MUTEX_INITIALIZER, .doing = "starting", .loss = "nothing was written"};

static void remove_parts_of(const char *path) {
  char part[4096];
  for (int n = 0; n < PARTS_TRIED; n++) {
    const int length = snprintf(part, sizeof part, "%s.%ld-%d.part", path, (long)getpid(), n);
    if (length < (int)sizeof part) unlink(part);
  }
}

static void remove_parts(void) {
  if (now.child > 0 && kill(now.child, SIGKILL) == 0) waitpid(now.child, NULL, 0);
  for (int i = 0; i < now.count; i++) remove_parts_of(now.outputs[i]);
}

/* write(2), not stdio: the main thread may hold stdio's locks for good. */
static void report_lost_rank(void) {
  char text[sizeof now.doing + sizeof now.loss + 64];
  if (atomic_exchange(&now.said, 1)) return;
  int n = snprintf(text, sizeof text, "\nkaon: interrupted%s%s; %s\n", *now.doing ? " while " : "",
                   now.doing, now.loss);
  if (n > 0) (void)!write(STDERR_FILENO, text, (size_t)n);
}

/* Calls of the system alone, as in report_lost_rank. The main thread's own part of a report is number 0;
 * whichever is renamed last is whole. */
static void write_report(void) {
  char part[4096];
  const char *text = now.report_text;
  size_t left = now.report_length;
  if (!now.report || !text) return;
  const int n = snprintf(part, sizeof part, "%s.%ld-1.part", now.report, (long)getpid());
  const int fd =
      n < (int)sizeof part ? open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
  ssize_t put = 0;
  while (fd >= 0 && left > 0 && ((put = write(fd, text, left)) >= 0 || errno == EINTR)) {
    if (put < 0) continue;
    text += put;
    left -= (size_t)put;
  }
  if (fd < 0) return;
  if (close(fd) != 0 || left > 0 || rename(part, now.report) != 0) unlink(part);
}

/* In whichever thread takes the signal: libraries (OpenBLAS) have threads before main begins. */
static void take_signal(int number) {
  const int before = errno;
  (void)number;
  (void)!write(now.wake[1], "", 1);
  errno = before;
}

/* 1: another signal came within the grace time. */
static int signal_again(void) {
  struct pollfd again = {.fd = now.wake[0], .events = POLLIN};
  const double end = cli_now() + 1e-3 * GRACE_MS;
  int found = 0;
  for (double left = GRACE_MS; left > 0 && found <= 0; left = 1e3 * (end - cli_now()))
    found = poll(&again, 1, (int)left + 1);
  return found > 0;
}

static void say_what_is_kept(void) {
  static const char text[] =
      "\nkaon: interrupted; ends after this step and keeps the iterates (interrupt again: ends "
      "now, "
      "without them)\n";
  static int said;
  if (!said++ && ranks_first()) (void)!write(STDERR_FILENO, text, sizeof text - 1);
}

static void *wait_for_signal(void *set) {
  char byte;
  pthread_sigmask(SIG_UNBLOCK, set, NULL);
  sem_post(&now.waits);
  while (read(now.wake[0], &byte, 1) != 1) {
  }
  atomic_store(&now.interrupted, 1);
  while (!signal_again() && atomic_load(&now.keeping)) say_what_is_kept();
  pthread_mutex_lock(&now.lock);
  remove_parts();
  write_report();
  report_lost_rank();
  _exit(EXIT_STOPPED);
}

/* SIGHUP stays ignored where it was when the program began: nohup. */
static int take_signals(sigset_t *set) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART}, before;
  sigemptyset(set);
  if (pipe2(now.wake, O_CLOEXEC) != 0) return 0;
  for (int i = 0; i < 3; i++) {
    sigaddset(set, numbers[i]);
    sigaction(numbers[i], NULL, &before);
    if (numbers[i] != SIGHUP || before.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
  }
  return 1;
}

int signals_start(void) {
  static sigset_t set;
  pthread_t thread;
  if (!take_signals(&set)) {
    cli_error("cannot open a pipe; is the limit of open files (ulimit -n) reached?");
    return 0;
  }
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  sem_init(&now.waits, 0, 0);
  if (pthread_create(&thread, NULL, wait_for_signal, &set) != 0) {
    cli_error("cannot start a thread; is the process limit (ulimit -u) reached?");
    return 0;
  }
  pthread_detach(thread);
  /* Waits until the thread runs. A thread that begins may hold the allocator's lock
   * (AddressSanitizer's), which a forked child would never see released. */
  while (sem_wait(&now.waits) != 0) {
  }
  return 1;
}

int signals_interrupted(void) {
  return atomic_load_explicit(&now.interrupted, memory_order_relaxed);
}

int signals_monitor(void *user, int iteration, int column, double residual) {
  (void)user;
  (void)iteration;
  (void)column;
  (void)residual;
  return signals_interrupted();
}

void signals_raise(void) {
  atomic_store(&now.interrupted, 1);
}

void signals_keep(int on) {
  atomic_store(&now.keeping, on);
}

void signals_stage(const char *doing, const char *loss) {
  pthread_mutex_lock(&now.lock);
  snprintf(now.doing, sizeof now.doing, "%s", doing);
  snprintf(now.loss, sizeof now.loss, "%s", loss);
  pthread_mutex_unlock(&now.lock);
}

void signals_enter(const char *doing, const char *loss) {
  pthread_mutex_lock(&now.lock);
  memcpy(now.outer_doing, now.doing, sizeof now.doing);
  memcpy(now.outer_loss, now.loss, sizeof now.loss);
  pthread_mutex_unlock(&now.lock);
  signals_stage(doing, loss);
}

void signals_leave(const char *written) {
  pthread_mutex_lock(&now.lock);
  memcpy(now.doing, now.outer_doing, sizeof now.doing);
  memcpy(now.loss, now.outer_loss, sizeof now.loss);
  if (written) {
    now.doing[0] = '\0';
    snprintf(now.loss, sizeof now.loss, "%.200s is complete", written);
  }
  pthread_mutex_unlock(&now.lock);
}

void signals_output(const char *path) {
  pthread_mutex_lock(&now.lock);
  int known = 0;
  for (int i = 0; path && i < now.count; i++) known |= strcmp(now.outputs[i], path) == 0;
  char *copy = path && !known ? strdup(path) : NULL;
  char **more = copy ? realloc(now.outputs, ((size_t)now.count + 1) * sizeof *more) : NULL;
  if (more) {
    now.outputs = more;
    now.outputs[now.count++] = copy;
  } else {
    free(copy);
  }
  pthread_mutex_unlock(&now.lock);
}

void signals_report(char *path, char *text, size_t length) {
  pthread_mutex_lock(&now.lock);
  char *const old[2] = {now.report, now.report_text};
  now.report = path;
  now.report_text = text;
  now.report_length = length;
  pthread_mutex_unlock(&now.lock);
  free(old[0]);
  free(old[1]);
}

void signals_child(pid_t child) {
  pthread_mutex_lock(&now.lock);
  now.child = child;
  pthread_mutex_unlock(&now.lock);
}

int signals_finish(int code) {
  signals_report(NULL, NULL, 0);
  pthread_mutex_lock(&now.lock); /* held for good: the thread stays out from here on */
  if (signals_interrupted()) {
    report_lost_rank();
    code = EXIT_STOPPED;
  }
  for (int i = 0; i < now.count; i++) free(now.outputs[i]);
  free(now.outputs);
  now.outputs = NULL;
  now.count = 0;
  return code;
}
