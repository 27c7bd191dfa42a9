/* comm_windows.h - windows (kaon_window in lib/comm/comm.h) by MPI 3, for communicators over
 * MPI. */
#pragma once

#include "lib/comm/comm.h"

/* All windows of a communicator; NULL: none so far. */
typedef struct kaon_windows kaon_windows;

/* As in kaon_comm_ops. */
kaon_status kaon_window_create(kaon_comm *comm, size_t bytes, int mapped,
                               kaon_window **comm_window);
kaon_status kaon_window_put(kaon_window *comm_window, int peer, size_t at, const void *numbers,
                            int width, int64_t n);
kaon_status kaon_window_get(kaon_window *comm_window, size_t at, void *numbers, int width,
                            int64_t n);
void kaon_window_destroy(kaon_window **comm_window);
/* Frees all windows; called when the communicator ends, before its MPI_Comm is freed. */
void kaon_windows_end(kaon_comm *comm);
