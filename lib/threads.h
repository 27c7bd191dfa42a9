/* threads.h - whether as many threads can be at work as a context asks for. */
#ifndef KAON_LIB_THREADS_H
#define KAON_LIB_THREADS_H

#include <kaon/status.h>

/* KAON_ERR_MEMORY where the system refuses some of them: the OpenMP runtime would end the whole
 * process at its first parallel loop. Asks the system once for each larger number, by as many
 * threads that begin and end; with none once the process has had as many. */
kaon_status kaon_threads_check(int threads);

#endif
