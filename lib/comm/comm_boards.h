/* comm_boards.h - boards (kaon_board in lib/comm/comm.h) as windows of MPI 3, for communicators over it.
 */
#ifndef KAON_LIB_COMM_BOARDS_H
#define KAON_LIB_COMM_BOARDS_H

#include "lib/comm/comm.h"

/* The windows of a communicator; NULL: none so far. */
typedef struct kaon_boards kaon_boards;

/* As kaon_comm_ops. */
kaon_status kaon_board_create(kaon_comm *comm, size_t bytes, int mapped, kaon_board **board);
kaon_status kaon_board_put(kaon_board *board, int peer, size_t at, const void *numbers, int width,
                           int64_t n);
kaon_status kaon_board_get(kaon_board *board, size_t at, void *numbers, int width, int64_t n);
void kaon_board_destroy(kaon_board **board);
/* When the communicator ends, before its MPI_Comm. */
void kaon_boards_end(kaon_comm *comm);

/* comm_mpi.c: the address of the communicator's MPI_Comm, and of its boards; what an MPI function
 * returned, as a status. */
void *kaon_mpi_of(const kaon_comm *comm, kaon_boards ***boards);
kaon_status kaon_mpi_check(const kaon_comm *comm, int code, const char *what);

#endif
