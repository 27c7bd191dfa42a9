/* plot.h - the convergence plot, drawn by gnuplot through a pipe. */
#ifndef KAON_CLI_PLOT_H
#define KAON_CLI_PLOT_H

#include "interfaces/common/solving.h"

typedef struct plot {
  const char *path, *history; /* --plot; --history, or NULL */
  const char *title;
  double tol;
  const column_history *histories;
  int columns;
} plot;

/* residual against iteration, a line a column, the tolerance dashed, as PNG. Where gnuplot is
 * absent, or the user asked to stop, the CSV takes its place, and it says so; that is no failure.
 * Collective. Exit status. */
int plot_convergence(const plot *p);
/* Refuses a name that does not end in .png; NULL is allowed. Exit status. */
int plot_check(const char *path);
/* The CSV of the same numbers: --history, else beside the plot, NAME.csv of NAME.png, or where that
 * is a file of something else NAME.png.csv. NULL: no plot, or no memory. The caller frees it. */
char *plot_csv(const char *path, const char *history);

#endif
