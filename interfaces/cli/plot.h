/* plot.h - the convergence plot, drawn by gnuplot through a pipe. */
#ifndef KAON_CLI_PLOT_H
#define KAON_CLI_PLOT_H

#include "invert.h"

/* residual against iteration, a line a column, the tolerance dashed, as PNG. Where gnuplot is
 * absent it says so and names the CSV instead; that is no failure. Exit status. */
int plot_convergence(const invert_job *job, const char *path);

#endif
