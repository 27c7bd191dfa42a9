/* signals.h - Ctrl-C: ends the program within a second, reports what was lost, leaves no
 * incomplete file. A thread waits for SIGINT, SIGTERM and SIGHUP and sets a flag that solver
 * monitors and loops test. If the program has not ended by itself after a grace time, because it
 * is inside one long call, the thread removes unfinished files, writes the prepared report and
 * ends the program (a hard end). While iterates are to be kept, it waits for them; a second signal
 * always ends the program hard. */
#ifndef KAON_COMMON_SIGNALS_H
#define KAON_COMMON_SIGNALS_H

#include <stddef.h>
#include <sys/types.h>

/* Starts the thread. Call it before any other thread exists. 0: it could not be started. */
int signals_start(void);
/* 1 once this process was asked to stop. On several ranks it may be the only one so far:
 * ranks_interrupted. */
int signals_interrupted(void);
/* The same as a kaon_monitor_fn, which ends a solve or a set-up. Nothing is read of its arguments. */
int signals_monitor(void *user, int iteration, int column, double residual);
/* Sets the flag because another rank was asked to stop. */
void signals_raise(void);
/* 1: an interrupt waits until the main thread has kept its work in a file, however long that takes.
 * 0: the grace time holds again. */
void signals_keep(int on);
/* Says what is being done and what is lost if it stops here: "reading the configuration", "nothing
 * was written". An empty `doing`: only `loss` is printed. Both are copied. */
void signals_stage(const char *doing, const char *loss);
/* Begins and ends a stage inside a stage; then the earlier one holds again. `written`: a file that
 * is complete from here on and is named in the message, or NULL. Not nested. */
void signals_enter(const char *doing, const char *loss);
void signals_leave(const char *written);
/* Names an output file. Its unfinished forms (NAME.PID-N.part, as the library names them) are
 * removed at a hard end. Copied. */
void signals_output(const char *path);
/* Prepares the report of a hard end: `length` bytes of `text` for `path`. It must exist
 * beforehand, since the main thread may hold the allocator's lock then. NULL: none. Takes over
 * both; they are freed by free(). */
void signals_report(char *path, char *text, size_t length);
/* Names a child process that writes such a file; a hard end stops it first. Set 0 before waiting
 * for the child, so that its number is not another process's by then. */
void signals_child(pid_t child);
/* Returns the exit status: 130, after the message, if the user asked to stop, else `code`. Call it
 * last. */
int signals_finish(int code);

#endif
