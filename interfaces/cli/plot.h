/* plot.h - the convergence plot, drawn by gnuplot through a pipe. */
#ifndef KAON_CLI_PLOT_H
#define KAON_CLI_PLOT_H

#include "invert.h"

/* residual against iteration, a line a column, the tolerance dashed, as PNG. Where gnuplot is
 * absent the CSV takes its place, and it says so; that is no failure. Exit status. */
int plot_convergence(const invert_job *job, const char *path);
/* The CSV of the same numbers: --history, else beside the plot. NULL: no plot, or no memory. The
 * caller frees it. */
char *plot_csv(const invert_args *args);

#endif
