/* signals.h - Ctrl-C: ends the program within a second, says what was lost, leaves nothing
 * half-written.
 * A thread waits for SIGINT, SIGTERM and SIGHUP. It raises a flag that solver monitors and loops
 * look at; when the program has not ended by itself after GRACE (it was inside one long call), the
 * thread removes unfinished files, writes the report that was made for this case, and ends it. */
#ifndef KAON_COMMON_SIGNALS_H
#define KAON_COMMON_SIGNALS_H

#include <stddef.h>
#include <sys/types.h>

/* Before any other thread exists. 0: the thread could not be started. */
int signals_start(void);
/* 1 once the user asked to stop: this process, which on several ranks may be the only one as yet
 * (ranks_interrupted). */
int signals_interrupted(void);
/* Another rank was asked to. */
void signals_raise(void);
/* What is being done and what is lost if it stops here: "reading the configuration", "nothing was
 * written". An empty `doing`: `loss` says it all. Copied. */
void signals_stage(const char *doing, const char *loss);
/* A stage within the stage, and its end: the earlier stage holds again. `written`: a file that is
 * now complete and what the sentence is about from here on, or NULL. Not nested. */
void signals_enter(const char *doing, const char *loss);
void signals_leave(const char *written);
/* Files of this name may be under way: their unfinished forms (NAME.PID-N.part, the library's
 * naming) are removed at a hard end. Copied. */
void signals_output(const char *path);
/* A file that is of use to this process alone: it goes at a hard end, and so does what the child is
 * writing of it. NULL: none any more. Copied. */
void signals_scratch(const char *path);
/* What a hard end leaves at `path`: `length` bytes of `text`, made beforehand, since by then the
 * main thread may hold the allocator's locks for good; NULL: nothing. Taken over; free() is its
 * end. */
void signals_report(char *path, char *text, size_t length);
/* A process of ours that writes one of them is ended before they are removed. 0: it is over, and is
 * said to be before it is waited for, so that its number is nobody else's. */
void signals_child(pid_t child);
/* The program's exit status: 130, and the sentence said once, if the user asked to stop, else
 * `code`. Called last. */
int signals_finish(int code);

#endif
