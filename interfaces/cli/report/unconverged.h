/* unconverged.h - OUTPUT.unconverged: the last iterates of a run in which some column did not
 * converge. Another run continues from it with --guess. Shared by invert and solve. */
#ifndef KAON_CLI_UNCONVERGED_H
#define KAON_CLI_UNCONVERGED_H

#include "interfaces/common/cli.h"
#include "interfaces/common/solving.h"

/* The name OUTPUT.unconverged; the caller frees it. NULL: no --output, or no memory. */
char *unconverged_name(const char *output);
/* Sets columns of x to 0 that are no useful starting point: those that diverged, and those with
 * values that are not finite. *cleared: how many. `numbers`: values of a column on this rank. Exit
 * status. */
int unconverged_clear(kaon_context *ctx, const kaon_column_report *solves, size_t numbers,
                      kaon_vector *x, int *cleared);
/* The text for unconverged_explain: `lost`, then where the last iterates are and how to continue from
 * them with the options `more`. name NULL: no column was a useful starting point, so nothing was
 * written. The caller frees it. NULL: no memory. */
char *unconverged_text(const char *lost, const char *name, const kaon_column_report *solves,
                       int columns, int cleared, int max_iterations, const char *more);
/* Explains why columns did not converge, or, after an interrupt, prepares its last sentence.
 * lost: what is not written; text: that of unconverged_text, or NULL without --output. The iterates
 * are written by now. */
void unconverged_explain(const kaon_column_report *solves, int columns, const char *lost,
                         const char *text, advice_fn *advice, const void *user);
/* After OUTPUT was written: reports that an earlier run's last iterates are no longer needed. */
void unconverged_over(const cli_common *common, const char *output);

#endif
