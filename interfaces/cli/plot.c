/* plot.c - gnuplot as a child process. Contract: plot.h. */
#include "plot.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "signals.h"

/* gnuplot's string literals in single quotes: a quote is doubled. */
static void quoted(FILE *to, const char *text) {
  fputc('\'', to);
  for (; *text; text++) {
    if (*text == '\'') fputc('\'', to);
    if (*text != '\n') fputc(*text, to);
  }
  fputc('\'', to);
}

static void script(FILE *to, const invert_job *job, const char *part) {
  fputs("set terminal pngcairo size 900,600 font ',11'\nset output ", to);
  quoted(to, part);
  fputs("\nset title ", to);
  quoted(to, job->args->problem.gauge);
  fprintf(to,
          " noenhanced\nset xlabel 'step'\nset ylabel '|r| / |b|'\nset logscale y\n"
          "set format y '10^{%%L}'\nset grid\nset key outside right\nplot %.17g title 'tolerance' "
          "with lines dashtype 2 linecolor 'black'",
          job->p.options.tol);
  for (int k = 0; k < job->columns; k++)
    if (job->histories[k].count) fprintf(to, ", '-' using 1:2 title 'column %d' with lines", k);
  fputc('\n', to);
  for (int k = 0; k < job->columns; k++) {
    const column_history *h = &job->histories[k];
    for (int i = 0; i < h->count; i++)
      if (h->residual[i] > 0) fprintf(to, "%d %.6e\n", i, h->residual[i]);
    if (h->count) fputs("e\n", to);
  }
}

/* gnuplot's own words about a missing terminal are of no use to the user; ours are. */
static int draw(const invert_job *job, const char *part) {
  FILE *pipe = popen("gnuplot >/dev/null 2>&1", "w");
  if (!pipe) return 0;
  script(pipe, job, part);
  int status = pclose(pipe);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

char *plot_csv(const invert_args *args) {
  char *name = NULL;
  if (args->history) return strdup(args->history);
  size_t length = args->plot ? strlen(args->plot) : 0;
  if (length > 4 && strcmp(args->plot + length - 4, ".png") == 0) length -= 4;
  if (!args->plot || asprintf(&name, "%.*s.csv", (int)length, args->plot) < 0) return NULL;
  return name;
}

int plot_convergence(const invert_job *job, const char *path) {
  char part[4096];
  int n = snprintf(part, sizeof part, "%s.%ld-0.part", path, (long)getpid());
  if (n >= (int)sizeof part) return cli_wrong("%s: the path is too long", path);
  signals_output(path);
  void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* gnuplot may be missing or give up */
  int drawn = ranks_first() ? draw(job, part) : 1;
  signal(SIGPIPE, before);
  if (drawn && ranks_first()) drawn = rename(part, path) == 0;
  if (!drawn) unlink(part);
  if (ranks_agree(drawn ? EXIT_DONE : EXIT_DEVICE) == EXIT_DONE) return EXIT_DONE;
  char *csv = plot_csv(job->args);
  int code = csv ? EXIT_DONE : EXIT_DEVICE;
  if (csv && !job->args->history) code = results_history(job, csv);
  if (code == EXIT_DONE)
    cli_error(
        "%s was not drawn: gnuplot is missing or failed; install gnuplot-nox, or plot %s, "
        "which has the numbers",
        path, csv);
  free(csv);
  return code;
}
