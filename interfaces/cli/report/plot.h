/* plot.h - pictures of residuals, correlators and times, drawn by gnuplot through a pipe. */
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

/* Draws residual against iteration as PNG: a band from the smallest to the largest of all columns,
 * their median, and the tolerance as a dashed line. Where gnuplot is absent, or the user asked to
 * stop, it writes the CSV instead and reports so; that is no failure. Collective. Exit status. */
int plot_convergence(const plot *p);
/* Draws a correlator pion[slices] on a logarithmic scale, and its effective mass, in lattice units.
 * A picture that cannot be drawn is reported and is no failure. Collective. Exit status. */
int plot_pion(const char *path, const char *title, const double *pion, int slices);
/* A bar of seconds, stacked from its parts. */
enum { PLOT_PARTS = 4 };
typedef struct plot_bar {
  char name[64];
  double part[PLOT_PARTS]; /* smoother, transfer, GCR, coarsest level */
} plot_bar;
/* Draws where the time of a solve with multigrid goes. The rest as plot_pion. */
int plot_levels(const char *path, const char *title, const plot_bar *bars, int count);
/* Refuses a name that does not end in .png; NULL is allowed. Exit status. */
int plot_check(const char *option, const char *path);
/* Name of the CSV file with the same numbers: --history if given, else NAME.csv for NAME.png. If
 * NAME.csv exists with other content, it is NAME.png.csv. NULL: no plot, or no memory. The caller
 * frees it. */
char *plot_csv(const char *path, const char *history);

#endif
