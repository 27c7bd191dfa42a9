/* surroundings.c - the run's surroundings: messages, exit statuses, context, small helpers. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/common/disk_space.h"
#include "interfaces/common/tuning_file.h"

void cli_print(const cli_common *common, const char *format, ...) {
  if (common->quiet) return;
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  fflush(stdout);
}

/* Bytes of the printable character at p, in UTF-8; 0: it is none. */
static int printable(const unsigned char *p) {
  if (*p < 0x80) return (*p >= 0x20 && *p != 0x7f) || *p == '\n' || *p == '\t';
  const int n = *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
  for (int i = 1; i < n; i++)
    if (p[i] >> 6 != 2) return 0;
  return *p == 0xc2 && p[1] < 0xa0 ? 0 : n; /* further control characters */
}

/* What cannot be printed, such as bytes of a file's name, is shown in hexadecimal. */
static void complain(const char *format, va_list args) {
  char *text = NULL;
  if (ranks_hold_back(format, args)) return;
  fflush(stdout);
  fputs("kaon: ", stderr);
  if (vasprintf(&text, format, args) < 0) text = NULL;
  for (const char *p = text ? text : format; *p;) {
    const int n = printable((const unsigned char *)p);
    if (n > 0)
      fwrite(p, 1, (size_t)n, stderr);
    else
      fprintf(stderr, "\\x%02x", (unsigned char)*p);
    p += n > 0 ? n : 1;
  }
  fputc('\n', stderr);
  free(text);
}

void cli_error(const char *format, ...) {
  va_list args;
  va_start(args, format);
  complain(format, args);
  va_end(args);
}

int cli_wrong(const char *format, ...) {
  va_list args;
  va_start(args, format);
  complain(format, args);
  va_end(args);
  return EXIT_USAGE;
}

/* 1: standard output is a pipe whose reader has gone. */
static int reader_has_gone(void) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

int cli_printed(int code) {
  errno = 0;
  if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_has_gone()) return code;
  cli_error("standard output could not be written%s%s; what was printed is lost", errno ? ": " : "",
            errno ? strerror(errno) : "");
  return code == EXIT_DONE ? EXIT_DEVICE : code;
}

int cli_status(const kaon_context *ctx, kaon_status status, const char *what) {
  if (status == KAON_OK) return EXIT_DONE;
  if (status == KAON_ERR_CANCELLED) return EXIT_STOPPED; /* signals_finish says what was lost */
  const char *sentence = kaon_last_error(ctx);
  if (!sentence[0]) sentence = kaon_status_text(status);
  if (what) {
    cli_error("%s: %s", what, sentence);
  } else {
    cli_error("%s", sentence); /* the library's sentences name their object */
  }
  switch (status) {
    case KAON_ERR_NOT_BUILT:
    case KAON_ERR_NO_DEVICE:
    case KAON_ERR_MEMORY:
    case KAON_ERR_DEVICE:
    case KAON_ERR_COMM:
    case KAON_ERR_STATE:
    case KAON_ERR_STALE:
    case KAON_ERR_INTERNAL:
      return EXIT_DEVICE;
    default:
      return EXIT_USAGE;
  }
}

int cli_write_status(const kaon_context *ctx, kaon_status status, const char *what) {
  int code = cli_status(ctx, status, what);
  return status == KAON_ERR_IO ? EXIT_DEVICE : code;
}

static void on_log(void *user, kaon_log_level level, const char *line) {
  (void)user;
  cli_error("%s%s", level == KAON_LOG_WARNING ? "warning: " : "", line);
}

/* CLI_REGIMES, in order. */
static const kaon_issue regime_issue[] = {
    KAON_ISSUE_AUTO,  KAON_ISSUE_LIBRARY, KAON_ISSUE_SEPARATE,
    KAON_ISSUE_PLAIN, KAON_ISSUE_REPLAY,  KAON_ISSUE_WHILE,
    KAON_ISSUE_TAIL,  KAON_ISSUE_CDP,     KAON_ISSUE_PERSISTENT};

const char *cli_regime(kaon_issue issue, char name[32]) {
  int i = 0;
  while (i < (int)(sizeof regime_issue / sizeof *regime_issue) && regime_issue[i] != issue) i++;
  return cli_choice(CLI_REGIMES, i, name);
}

double cli_cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

kaon_context_options cli_context_options(const cli_common *common, kaon_lab_options *lab) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = (kaon_backend_kind)common->backend; /* auto|cpu|cuda, in this order */
  options.threads = common->threads;
  if (!isnan(common->memory_limit))
    options.memory_limit = (int64_t)(common->memory_limit * 1024 * 1024 * 1024);
  *lab = (kaon_lab_options)KAON_LAB_OPTIONS_INIT;
  lab->reduce_delay = common->reduce_delay;
  lab->issue = regime_issue[common->regime];
  if (common->deflation_limit > 0) lab->deflation_limit = common->deflation_limit;
  options.lab = lab;
  options.transport =
      (kaon_transport)common->transport; /* CLI_TRANSPORTS, CLI_OVERLAPS: in order */
  options.overlap = (kaon_overlap)common->overlap;
  options.sync = (kaon_sync)common->sync; /* CLI_SYNCS: in order */
  if (common->patience > 0) options.patience = common->patience;
  options.log_level = common->quiet ? KAON_LOG_ERROR : KAON_LOG_WARNING;
  options.log = on_log;
  return options;
}

int cli_context(const cli_common *common, kaon_context **ctx) {
  kaon_lab_options lab;
  const kaon_context_options options = cli_context_options(common, &lab);
  const int code = cli_status(NULL, kaon_context_create(&options, ctx), NULL);
  if (code != EXIT_DONE || !common->tuning) return code;
  const int used = tuning_use(*ctx, common->tuning);
  if (used != EXIT_DONE) kaon_context_destroy(ctx);
  return used;
}

int cli_read_time(const char *option, const char *text, double *seconds) {
  static const struct {
    const char *name;
    double in_a_second; /* whole, so that 100us is the double next to 1e-4 */
  } units[] = {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}};
  char *end = NULL;
  *seconds = text ? strtod(text, &end) : 0;
  if (!text || strcmp(text, "0") == 0) return EXIT_DONE; /* nothing has no unit */
  for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++) {
    if (strcmp(end, units[i].name) != 0) continue;
    *seconds /= units[i].in_a_second;
    if (*seconds >= 0 && *seconds <= 1) return EXIT_DONE;
  }
  return cli_wrong(
      "--%s is %s; it must be a time from 0 to 1 s with its unit, ns, us, ms or s, as in 100us",
      option, text);
}

const char *cli_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

double cli_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *cli_bytes(double bytes, char text[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int u = 0;
  for (; bytes >= 1024 && u < 5; u++) bytes /= 1024;
  snprintf(text, 32, u == 0 ? "%.0f %s" : "%.2f %s", bytes, units[u]);
  return text;
}

/* Of "VmHWM:     1234 kB" in /proc/self/status; 0: not said there. */
static double high_water(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  double kib = 0;
  while (status && kib == 0 && fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtod(line + 6, NULL);
  if (status) fclose(status);
  return 1024 * kib;
}

/* ru_maxrss outlives exec: it may be that of a larger process which started this program. */
double cli_peak_resident(void) {
  const double own = high_water();
  struct rusage usage;
  if (own > 0) return own;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : 0;
}

static int name_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return (int)strlen(slash ? slash + 1 : path);
}

/* What is wrong with the folder of `path`; NULL: nothing. */
static const char *folder_trouble(const char *folder) {
  struct stat st;
  if (stat(folder, &st) != 0) return "does not exist";
  if (!S_ISDIR(st.st_mode)) return "is not a folder";
  return access(folder, W_OK) == 0 ? NULL : "is not writable";
}

/* The folder of a path, the caller's. NULL: no memory. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* What is printed may go to the same file, by /dev/stdout or by its name, and would be lost. */
static int is_printed_to(const struct stat *st) {
  struct stat out;
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
    if (fstat(fd, &out) == 0 && out.st_dev == st->st_dev && out.st_ino == st->st_ino) return 1;
  return 0;
}

/* 1 if `path` is not there yet or an ordinary file: folders and devices are not replaced. */
static int can_replace(const char *path) {
  struct stat st;
  return stat(path, &st) != 0 || (S_ISREG(st.st_mode) && !is_printed_to(&st));
}

char *cli_target(const char *path) {
  char *target = realpath(path, NULL);
  return target ? target : strdup(path);
}

/* 1 if it would be replaced itself, since what it leads to is not there. */
static int leads_nowhere(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) != 0;
}

char *cli_file_trouble(const char *path) {
  char *target = cli_target(path), *text = NULL;
  const char *file = target ? target : path;
  char *folder = folder_of(file);
  const char *trouble = folder ? folder_trouble(folder) : "cannot be examined";
  const size_t length = strlen(path), shown = 40;
  int n = 0;
  if (leads_nowhere(path))
    n = asprintf(&text,
                 "%s: it is a symbolic link to a file that is not there; make that file first, or "
                 "give another name",
                 path);
  else if (name_length(file) > CLI_NAME_MAX)
    n = asprintf(&text,
                 "%s%s: the file's name has %d bytes, but at most %d leave room for the suffix of "
                 "its temporary file; give a shorter one",
                 length > shown ? "..." : "", length > shown ? path + length - shown : path,
                 name_length(file), CLI_NAME_MAX);
  else if (trouble)
    n = asprintf(&text, "%s: its folder %s %s", path, folder ? folder : "", trouble);
  else if (!can_replace(file))
    n = asprintf(&text,
                 "%s: it exists and is not an ordinary file, or is where this is printed; give "
                 "another name",
                 path);
  free(folder);
  free(target);
  return n < 0 ? NULL : text;
}

int cli_writable(const char *option, const char *path) {
  char *trouble = path ? cli_file_trouble(path) : NULL;
  const int code = trouble ? cli_wrong("%s %s", option, trouble) : EXIT_DONE;
  free(trouble);
  return code;
}

/* This rank's view. */
static int check_room(const char *option, const char *path, double least, double likely) {
  char *target = cli_target(path), text[2][32];
  const double there = target ? path_free_bytes(target) : -1;
  const int fits = bytes_fit(least, there);
  const char *beside =
      target && access(target, F_OK) == 0 ? ", while the earlier file is still there," : "";
  free(target);
  if (fits && bytes_fit(likely, there)) return EXIT_DONE;
  const double bytes = fits ? likely : least;
  cli_error(
      "%s%s %s takes %s %s (%.0f bytes) on the disk, but %s (%.0f bytes) are free there%s; free "
      "disk space or write elsewhere",
      fits ? "note: " : "", option, path, fits ? "about" : "at least", cli_bytes(bytes, text[0]),
      bytes, cli_bytes(there, text[1]), there, beside);
  return fits ? EXIT_DONE : EXIT_DEVICE;
}

int cli_check_disk_space(const char *option, const char *path, double least, double likely) {
  return ranks_agree(ranks_first() ? check_room(option, path, least, likely) : EXIT_DONE);
}

static int same_inode(const char *a, const char *b) {
  struct stat p, q;
  return stat(a, &p) == 0 && stat(b, &q) == 0 && p.st_dev == q.st_dev && p.st_ino == q.st_ino;
}

/* Files that are not there yet are one if their names and folders are. */
static int same_file(const char *a, const char *b) {
  if (strcmp(a, b) == 0 || same_inode(a, b)) return 1;
  const char *slash[2] = {strrchr(a, '/'), strrchr(b, '/')};
  if (strcmp(slash[0] ? slash[0] + 1 : a, slash[1] ? slash[1] + 1 : b) != 0) return 0;
  char *x = slash[0] ? strndup(a, (size_t)(slash[0] - a) + 1) : strdup(".");
  char *y = slash[1] ? strndup(b, (size_t)(slash[1] - b) + 1) : strdup(".");
  int same = x && y && same_inode(x, y);
  free(x);
  free(y);
  return same;
}

int cli_check_overwrite(const char *option, const char *input, const cli_path *outputs, int count) {
  for (int i = 0; i < count; i++)
    if (input && outputs[i].path && same_file(input, outputs[i].path))
      return cli_wrong(
          "%s and %s name the same file, %s, but each is a file of its own; give one of them "
          "another name",
          option, outputs[i].option, outputs[i].path);
  return EXIT_DONE;
}

int cli_distinct(const cli_path *paths, int count) {
  int code = EXIT_DONE;
  for (int i = 0; i < count && code == EXIT_DONE; i++)
    code = cli_check_overwrite(paths[i].option, paths[i].path, paths + i + 1, count - i - 1);
  return code;
}
