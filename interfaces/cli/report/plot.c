/* plot.c - gnuplot as a child process. Contract: plot.h. */
#include "interfaces/cli/report/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interfaces/common/signals.h"

/* gnuplot's string literals in single quotes: a quote is doubled. */
static void quoted(FILE *to, const char *text) {
  fputc('\'', to);
  for (; *text; text++) {
    if (*text == '\'') fputc('\'', to);
    if (*text != '\n') fputc(*text, to);
  }
  fputc('\'', to);
}

/* Twelve columns are told apart by colour, more by dashes. */
static void line(FILE *to, int column, int points) {
  static const char *const colours[12] = {"1f5fa8", "d1495b", "2e8b57", "e3a008",
                                          "7b3fa0", "00a5a5", "8b5a2b", "f06ebc",
                                          "6b7280", "84b817", "0b2545", "ff7f0e"};
  fprintf(to, ", '-' using 1:2 title 'column %d' with %s dashtype %d linecolor rgb '#%s'", column,
          points > 1 ? "lines" : "linespoints pointtype 7", 1 + column / 12 % 5,
          colours[column % 12]);
}

/* A name that begins with | or ~ is another thing to gnuplot. */
static void script(FILE *to, const plot *p, const char *part) {
  char name[4200];
  snprintf(name, sizeof name, "%s%s", part[0] == '/' ? "" : "./", part);
  fputs("set terminal pngcairo size 900,600 font ',11'\nset output ", to);
  quoted(to, name);
  fputs("\nset title ", to);
  quoted(to, p->title);
  fprintf(to,
          " noenhanced\nset xlabel 'step'\nset ylabel '|r| / |b|'\nset logscale y\n"
          "set format y '10^{%%L}'\nset grid\nset key outside right\nplot %.17g title 'tolerance' "
          "with lines dashtype 2 linecolor 'black'",
          p->tol);
  for (int k = 0; k < p->columns; k++)
    if (p->histories[k].count) line(to, k, p->histories[k].count);
  fputc('\n', to);
  for (int k = 0; k < p->columns; k++) {
    const column_history *h = &p->histories[k];
    for (int i = 0; i < h->count; i++)
      if (h->residual[i] > 0) fprintf(to, "%d %.6e\n", i, h->residual[i]);
    if (h->count) fputs("e\n", to);
  }
}

/* Its own words about a missing terminal are of no use to the user; ours are. 0: not begun. */
static pid_t start_gnuplot(FILE **to) {
  char *arguments[] = {"gnuplot", NULL};
  posix_spawn_file_actions_t files;
  int ends[2];
  pid_t child = 0;
  if (pipe2(ends, O_CLOEXEC) != 0) return 0;
  *to = fdopen(ends[1], "w");
  if (*to != NULL && posix_spawn_file_actions_init(&files) == 0) {
    posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&child, "gnuplot", &files, NULL, arguments, environ) != 0) child = 0;
    posix_spawn_file_actions_destroy(&files);
  }
  close(ends[0]);
  if (child > 0) return child;
  if (*to != NULL)
    fclose(*to);
  else
    close(ends[1]);
  return 0;
}

static int draw(const plot *p, const char *part) {
  FILE *to = NULL;
  int status = 0;
  const pid_t child = start_gnuplot(&to);
  if (child == 0) return 0;
  signals_child(child);
  script(to, p, part);
  const int sent = fclose(to) == 0;
  siginfo_t how;
  while (waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  signals_child(0);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  struct stat drawn; /* gnuplot says nothing of a full disk, and leaves a file of no bytes */
  return sent && WIFEXITED(status) && WEXITSTATUS(status) == 0 && stat(part, &drawn) == 0 &&
         drawn.st_size > 0;
}

static int is_png(const char *path) {
  const size_t length = strlen(path);
  return length > 4 && strcmp(path + length - 4, ".png") == 0;
}

int plot_check(const char *path) {
  for (const char *c = path; c && *c; c++)
    if ((unsigned char)*c < ' ')
      return cli_wrong("--plot %s: the name has a control character; give one without",
                       cli_name(path));
  if (!path || is_png(path)) return EXIT_DONE;
  return cli_wrong("--plot %s: the picture is a PNG; give a name that ends in .png",
                   cli_name(path));
}

/* There is a file of that name which is none of histories_write's. */
static int is_others(const char *csv) {
  static const char head[] = HISTORIES_HEAD;
  char first[sizeof head] = "";
  struct stat there;
  if (stat(csv, &there) != 0 || !S_ISREG(there.st_mode)) return 0;
  FILE *in = fopen(csv, "r");
  if (!in) return 0;
  const size_t read = fread(first, 1, sizeof head - 1, in);
  fclose(in);
  return read > 0 && strcmp(first, head) != 0;
}

char *plot_csv(const char *path, const char *history) {
  char *name = NULL;
  if (history) return strdup(history);
  size_t length = path ? strlen(path) : 0;
  if (path && is_png(path)) length -= 4;
  if (!path || asprintf(&name, "%.*s.csv", (int)length, path) < 0) return NULL;
  if (!is_others(name)) return name;
  free(name);
  return asprintf(&name, "%s.csv", path) < 0 ? NULL : name;
}

/* The numbers in its place. Exit status. */
static int not_drawn(const plot *p, const char *why) {
  char *csv = plot_csv(p->path, p->history);
  int code = csv ? EXIT_DONE : EXIT_DEVICE;
  if (csv && !p->history && is_others(csv)) {
    cli_error(
        "%s was not drawn, nor were its numbers written, for %s is a file of something else; "
        "give --history FILE.csv",
        p->path, csv);
    free(csv);
    return EXIT_DEVICE;
  }
  if (csv && !p->history) code = histories_write(p->histories, p->columns, csv);
  if (code == EXIT_DONE)
    cli_error("%s was not drawn: %s %s, which has the numbers", p->path, why, csv);
  free(csv);
  return code;
}

int plot_convergence(const plot *p) {
  int stopped, code = ranks_interrupted(&stopped);
  if (code != EXIT_DONE) return code;
  if (stopped) return not_drawn(p, "the run was interrupted; plot");
  char part[4096], *target = cli_target(p->path); /* a symbolic link stays */
  const char *path = target ? target : p->path;
  int n = snprintf(part, sizeof part, "%s.%ld-0.part", path, (long)getpid());
  if (n >= (int)sizeof part) {
    free(target);
    return cli_wrong("%s: the path is too long", p->path);
  }
  signals_output(path);
  void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* gnuplot may be missing or give up */
  int drawn = ranks_first() ? draw(p, part) : 1;
  signal(SIGPIPE, before);
  if (drawn && ranks_first()) drawn = rename(part, path) == 0;
  if (!drawn) unlink(part);
  free(target);
  if (ranks_agree(drawn ? EXIT_DONE : EXIT_DEVICE) == EXIT_DONE) return EXIT_DONE;
  return not_drawn(
      p,
      "gnuplot is missing, or failed, or the disk is full; install gnuplot-nox or make "
      "room, or plot");
}
