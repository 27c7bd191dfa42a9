/* progress.c - the display on stderr. Contract: progress.h. */
#include "interfaces/cli/report/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interfaces/common/signals.h"

enum { BAR = 28 };
static const double redraw_seconds = 0.1;

int progress_start(const cli_common *common, int first, int columns, double tol, progress *p) {
  *p = (progress){.shown = !common->quiet,
                  .terminal = isatty(STDERR_FILENO),
                  .columns = columns,
                  .first = first,
                  .tol = tol,
                  .started = cli_now()};
  p->residual = malloc((size_t)columns * sizeof *p->residual);
  p->seen = calloc((size_t)columns, sizeof *p->seen);
  if (!p->residual || !p->seen) {
    progress_end(p);
    return 0;
  }
  for (int k = 0; k < columns; k++) p->residual[k] = 1;
  return 1;
}

/* Krylov residuals fall roughly geometrically, so time is extrapolated in the logarithm. */
static void time_left(const progress *p, double worst, char text[16]) {
  double done = log(worst) / log(p->tol), spent = cli_now() - p->started;
  double left = done > 0.02 ? spent * (1 - done) / done : -1;
  if (!(left >= 0 && left <= 359999)) /* or no number: --tol 1 */
    snprintf(text, 16, "--:--");
  else if (left < 3600)
    snprintf(text, 16, "%d:%02d", (int)left / 60, (int)left % 60);
  else
    snprintf(text, 16, "%d:%02d:%02d", (int)left / 3600, (int)left / 60 % 60, (int)left % 60);
}

static void draw(progress *p, double worst, int finished) {
  char bar[BAR + 1], left[16];
  double done = log(worst) / log(p->tol);
  int filled = done > 1 ? BAR : done > 0 ? (int)(done * BAR) : 0;
  for (int i = 0; i < BAR; i++) bar[i] = i < filled ? '#' : '.';
  bar[BAR] = '\0';
  time_left(p, worst, left);
  if (p->terminal) {
    fprintf(stderr,
            "\r  [%s] iteration %d, residual %.1e, %d of %d columns done, time left %s \033[K", bar,
            p->iteration, worst, finished, p->columns, left);
  } else {
    if (log10(worst) > p->decade - 1) return;
    p->decade = ceil(log10(worst));
    fprintf(stderr, "  iteration %6d, residual %.1e, %d of %d columns done, time left %s\n",
            p->iteration, worst, finished, p->columns, left);
  }
  fflush(stderr);
}

/* The residual shown is that of the recurrence. A column at the tolerance may continue, if its true
 * residual is still larger. So it counts as finished once the others have continued without it. */
static void refresh(progress *p) {
  double worst = 0;
  int finished = 0;
  for (int k = 0; k < p->columns; k++) {
    if (p->residual[k] > worst) worst = p->residual[k];
    if (p->residual[k] <= p->tol && p->seen[k] < p->iteration) finished++;
  }
  if (worst > 0) draw(p, worst, finished);
}

/* Columns are heard of step by step: with the next one's first call a step is complete. */
int progress_monitor(void *user, int iteration, int column, double residual) {
  progress *p = user;
  const double now = cli_now();
  if (p->shown && iteration > p->iteration && now - p->drawn >= redraw_seconds) {
    p->drawn = now;
    refresh(p);
  }
  if (iteration > p->iteration) p->iteration = iteration;
  if (column >= 0 && column < p->columns) {
    p->residual[column] = residual;
    p->seen[column] = p->iteration;
  }
  return signals_interrupted();
}

void progress_end(progress *p) {
  if (p->shown && p->terminal && p->residual) fputs("\r\033[K", stderr);
  fflush(stderr);
  free(p->residual);
  free(p->seen);
  p->residual = NULL;
  p->seen = NULL;
}

void setup_progress_start(const cli_common *common, int rounds, setup_progress *p) {
  *p = (setup_progress){!common->quiet && ranks_first() && isatty(STDERR_FILENO), rounds};
}

int setup_progress_monitor(void *user, int round, int level, double unused) {
  const setup_progress *p = user;
  (void)unused;
  if (p->shown && round == 0) fprintf(stderr, "\r  set-up: first vectors of level %d\033[K", level);
  if (p->shown && round > 0)
    fprintf(stderr, "\r  set-up: round %d of %d on level %d\033[K", round, p->rounds, level);
  fflush(stderr);
  return signals_interrupted();
}

void setup_progress_end(const setup_progress *p) {
  if (p->shown) fputs("\r\033[K", stderr);
  fflush(stderr);
}
