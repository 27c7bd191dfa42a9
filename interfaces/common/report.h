/* report.h - the JSON report, and small text files that appear whole or not at all. */
#ifndef KAON_COMMON_REPORT_H
#define KAON_COMMON_REPORT_H

#include "interfaces/common/cli.h"

/* A JSON string. JSON is UTF-8, but names of files need not be: in a text that is not UTF-8, bytes
 * above 127 become question marks. */
json_t *report_string(const char *text);
/* A number, or null where it is not finite. */
json_t *report_real(double x);
json_t *report_reals(const double *x, int count);
json_t *report_ints(const int *x, int count);
/* An integer. Beyond 2^63 - 1 it is a string, because readers of JSON would round it or take it for
 * negative. */
json_t *report_seed(uint64_t seed);

/* Remembers the words of the command line for the reports of this process. */
void report_command_line(int argc, char **argv);
/* The fields that every report has. seconds, gflops, joules and seed are null, solves is empty. The
 * caller owns it (json_decref). */
json_t *report_new(const kaon_context *ctx, const char *command);
/* How several ranks exchange messages, in words: the transport of devices (kaon_context_info), or
 * the communicator. "" for one rank. */
const char *report_transport(const kaon_context_info *info, char text[64]);
/* Adds how ranks divide the lattice: "grid" and "local_lattice". */
void report_part(json_t *report, const kaon_lattice *lattice);
/* Appends {column, iterations, residual, status} (and stop_residual if the stop was not on the full
 * system). */
void report_solve(json_t *report, int column, const kaon_column_report *solve, int other_stop);

/* Prepares the report that is written to `path` if Ctrl-C ends the program inside one long call
 * (signals.h). It takes over `report` and adds "interrupted". Iterations and residuals of columns
 * first .. first + count - 1, which are being solved, become null. path NULL: nothing to do. Valid
 * until report_write. */
void report_in_case(const char *path, json_t *report, int first, int count);
/* Writes `report` to `path` (NULL: nothing to do). Exit status. */
int report_write(const char *path, const json_t *report);
/* Writes a text file, whole or not at all. Exit status. */
int report_text(const char *path, const char *text, size_t length);

#endif
