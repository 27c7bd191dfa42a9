/* plot.c - gnuplot as a child process. Contract: plot.h. */
#include "interfaces/cli/report/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
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

/* A name that begins with | or ~ is another thing to gnuplot. */
static void begin(FILE *to, const char *part, const char *title) {
  char name[4200];
  snprintf(name, sizeof name, "%s%s", part[0] == '/' ? "" : "./", part);
  fputs("set terminal pngcairo size 900,600 font ',12'\nset output ", to);
  quoted(to, name);
  fputs("\nset grid linecolor rgb '#d0d0d0'\nset title ", to);
  quoted(to, title);
  fputs(" noenhanced\n", to);
}

/* The residual of a column after iteration i; behind its last one it stays as it is. */
static double residual(const column_history *h, int i) {
  return h->residual[i < h->count ? i : h->count - 1];
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* "iteration smallest median largest" of all columns, a line an iteration. */
static void spread(FILE *to, const plot *p, int iterations, double *sorted) {
  for (int i = 0; i < iterations; i++) {
    int n = 0;
    for (int k = 0; k < p->columns; k++)
      if (p->histories[k].count && residual(&p->histories[k], i) > 0)
        sorted[n++] = residual(&p->histories[k], i);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    if (n > 0) fprintf(to, "%d %.6e %.6e %.6e\n", i, sorted[0], sorted[n / 2], sorted[n - 1]);
  }
  fputs("e\n", to);
}

static void draw_convergence(FILE *to, const void *user) {
  const plot *p = user;
  int iterations = 0;
  double *sorted = calloc((size_t)p->columns + 1, sizeof *sorted);
  for (int k = 0; k < p->columns; k++)
    if (p->histories[k].count > iterations) iterations = p->histories[k].count;
  fputs(
      "set xlabel 'iteration'\nset ylabel 'relative residual  |b - A x| / |b|'\nset logscale y\n"
      "set format y '10^{%L}'\nset key top right\nset style fill solid 0.3 noborder\nplot ",
      to);
  if (p->columns > 1)
    fprintf(to,
            "'-' using 1:2:4 with filledcurves linecolor rgb '#1f5fa8' title '%d columns, smallest "
            "to largest', ",
            p->columns);
  fprintf(to, "'-' using 1:3 with %s linecolor rgb '#1f5fa8' linewidth 2 title '%s', ",
          iterations > 1 ? "lines" : "linespoints pointtype 7",
          p->columns > 1 ? "median" : "residual");
  fprintf(to, "%.17g with lines dashtype 2 linewidth 2 linecolor 'black' title 'tolerance'\n",
          p->tol);
  for (int pass = 0; sorted && pass < 1 + (p->columns > 1); pass++)
    spread(to, p, iterations, sorted);
  free(sorted);
}

typedef struct pion_plot {
  const double *pion;
  int slices;
} pion_plot;

/* m with C(t - 1) + C(t + 1) = 2 cosh(m) C(t), which holds for one state on a periodic lattice; NaN:
 * there is none. */
static double effective_mass(const pion_plot *p, int t) {
  const double before = p->pion[(t + p->slices - 1) % p->slices], here = p->pion[t];
  const double after = p->pion[(t + 1) % p->slices];
  return here > 0 ? acosh((before + after) / (2 * here)) : NAN;
}

/* The correlator above, the effective mass below. Around the source other states contribute, and
 * the mass of slice 0 is not one of this formula. */
static void draw_pion(FILE *to, const void *user) {
  const pion_plot *p = user;
  fprintf(to,
          "set multiplot layout 2,1\nset lmargin 12\nset xrange [-0.5:%d.5]\nset logscale y\n"
          "set format y '10^{%%L}'\nset ylabel 'pion correlator  C(t)'\nset xlabel 't / a'\n"
          "plot '-' using 1:2 with linespoints pointtype 7 linecolor rgb '#1f5fa8' notitle\n",
          p->slices - 1);
  for (int t = 0; t < p->slices; t++)
    if (p->pion[t] > 0) fprintf(to, "%d %.10e\n", t, p->pion[t]);
  fputs(
      "e\nunset title\nunset logscale y\nset format y '%g'\n"
      "set key top center\nset ylabel 'effective mass  a m_{eff}(t)'\nset yrange [0:*]\n"
      "plot '-' using 1:2 with points pointtype 7 linecolor rgb '#d1495b' title "
      "'cosh(a m_{eff}) = [C(t-1) + C(t+1)] / 2 C(t)'\n",
      to);
  int drawn = 0;
  for (int t = 1; t < p->slices; t++)
    if (isfinite(effective_mass(p, t)) && ++drawn)
      fprintf(to, "%d %.10e\n", t, effective_mass(p, t));
  fprintf(to, "%se\nunset multiplot\n", drawn ? "" : "0 NaN\n");
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

typedef void drawer(FILE *to, const void *user);

static int draw(drawer *lines, const void *user, const char *title, const char *part) {
  FILE *to = NULL;
  int status = 0;
  const pid_t child = start_gnuplot(&to);
  if (child == 0) return 0;
  signals_child(child);
  begin(to, part, title);
  lines(to, user);
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

int plot_check(const char *option, const char *path) {
  for (const char *c = path; c && *c; c++)
    if ((unsigned char)*c < ' ')
      return cli_wrong("%s %s: the name has a control character; give one without", option,
                       cli_name(path));
  if (!path || is_png(path)) return EXIT_DONE;
  return cli_wrong("%s %s: the picture is a PNG; give a name that ends in .png", option,
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

/* Draws aside and renames; *drawn: it is there, on all ranks. Exit status. */
static int draw_file(const char *name, const char *title, drawer *lines, const void *user,
                     int *drawn) {
  char part[4096], *target = cli_target(name); /* a symbolic link stays */
  const char *path = target ? target : name;
  const int n = snprintf(part, sizeof part, "%s.%ld-0.part", path, (long)getpid());
  if (n >= (int)sizeof part) {
    free(target);
    return cli_wrong("%s: the path is too long", name);
  }
  signals_output(path);
  void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* gnuplot may be missing or give up */
  int done = ranks_first() ? draw(lines, user, title, part) : 1;
  signal(SIGPIPE, before);
  if (done && ranks_first()) done = rename(part, path) == 0;
  if (!done) unlink(part);
  free(target);
  *drawn = ranks_agree(done ? EXIT_DONE : EXIT_DEVICE) == EXIT_DONE;
  return EXIT_DONE;
}

int plot_convergence(const plot *p) {
  int stopped, drawn = 0, code = ranks_interrupted(&stopped);
  if (code != EXIT_DONE) return code;
  if (stopped) return not_drawn(p, "the run was interrupted; plot");
  code = draw_file(p->path, p->title, draw_convergence, p, &drawn);
  if (code != EXIT_DONE || drawn) return code;
  return not_drawn(p,
                   "gnuplot is missing, or failed, or the disk is full; install gnuplot-nox or "
                   "free disk space, or plot");
}

typedef struct level_plot {
  const plot_bar *bars;
  int count;
} level_plot;

static void draw_levels(FILE *to, const void *user) {
  static const char *const parts[PLOT_PARTS] = {"smoother", "transfer", "GCR", "coarsest level"};
  static const char *const colours[PLOT_PARTS] = {"#1f5fa8", "#e0a030", "#d1495b", "#5a9e5a"};
  const level_plot *p = user;
  fputs(
      "set style data histograms\nset style histogram rowstacked\nset style fill solid 0.9\n"
      "set boxwidth 0.6\nset yrange [0:*]\nset ylabel 'seconds of the solve'\n"
      "set key top right reverse Left\nplot ",
      to);
  for (int i = 0; i < PLOT_PARTS; i++)
    fprintf(to, "%s'-' using 2:xtic(1) linecolor rgb '%s' title '%s'", i ? ", " : "", colours[i],
            parts[i]);
  fputc('\n', to);
  for (int i = 0; i < PLOT_PARTS; i++) {
    for (int k = 0; k < p->count; k++)
      fprintf(to, "\"%s\" %.6e\n", p->bars[k].name, p->bars[k].part[i]);
    fputs("e\n", to);
  }
}

int plot_levels(const char *path, const char *title, const plot_bar *bars, int count) {
  const level_plot p = {bars, count};
  int drawn = 0;
  const int code = draw_file(path, title, draw_levels, &p, &drawn);
  if (code == EXIT_DONE && !drawn)
    cli_error(
        "%s was not drawn: gnuplot is missing, or failed, or the disk is full; install "
        "gnuplot-nox or free disk space. --report writes the numbers",
        path);
  return code;
}

int plot_pion(const char *path, const char *title, const double *pion, int slices) {
  const pion_plot p = {pion, slices};
  int drawn = 0;
  const int code = draw_file(path, title, draw_pion, &p, &drawn);
  if (code == EXIT_DONE && !drawn)
    cli_error(
        "%s was not drawn: gnuplot is missing, or failed, or the disk is full; install "
        "gnuplot-nox or free disk space. --correlators writes the numbers",
        path);
  return code;
}
