/* unconverged.h - OUTPUT.unconverged: the last iterates of a run in which some column did not
 * converge, from which another run goes on by --guess. Shared by invert and solve. */
#ifndef KAON_CLI_UNCONVERGED_H
#define KAON_CLI_UNCONVERGED_H

#include "interfaces/common/cli.h"

/* OUTPUT.unconverged, the caller's; NULL where there is no --output (or no memory). */
char *unconverged_name(const char *output);
/* Sets to 0 the columns of x that no run could begin from: those that ended with diverging, and
 * those whose numbers or residual are not finite. *cleared of them. `numbers`: of a column on this
 * rank. Exit status. */
int unconverged_clear(kaon_context *ctx, const kaon_column_report *solves, size_t numbers,
                      kaon_vector *x, int *cleared);
/* What solving_explain says: `lost`, and where the last iterates are and how to go on from them with
 * `more` options. name NULL: they are nowhere, for all `cleared` columns have none that is worth
 * anything. The caller's; NULL without memory. */
char *unconverged_text(const char *lost, const char *name, const kaon_column_report *solves,
                       int columns, int cleared, int max_iterations, const char *more);
/* Once OUTPUT is there: says that an earlier run's last iterates are not needed any more. */
void unconverged_over(const cli_common *common, const char *output);

#endif
