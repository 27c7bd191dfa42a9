/* comm_windows.c - windows of MPI 3.
 * - Mapped windows are shared memory. Puts and gets are atomic accesses of the processor with a
 *   fence that keeps their order. Accesses of 4 and 8 bytes need no lock, so they work between
 *   processes.
 * - Other windows are written by MPI_Accumulate with MPI_REPLACE, and read, also by their owner,
 *   by MPI_Get_accumulate with MPI_NO_OP. These are atomic for each value (MPI 3.1, section
 *   11.7.1). Each put is flushed, so that the next one comes later.
 * Freeing a window is collective, but a rank that failed may want to free it alone. So windows are
 * freed when all ranks are known to be there. */
#include "lib/comm/comm_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/core/error.h"

/* The MPI window of a kaon_window, in the communicator's list from its creation on. */
typedef struct mpi_window {
  struct mpi_window *next;
  MPI_Win win;
  int number; /* in the order of creation, equal on all ranks */
  int gone;   /* 1: its kaon_window is destroyed */
} mpi_window;

struct kaon_windows {
  mpi_window *windows; /* oldest first */
  int made;            /* number created so far */
  double all[];        /* a number of each rank */
};

/* Frees the windows that all ranks have destroyed. All ranks are here. */
static kaon_status free_windows(kaon_comm *comm) {
  kaon_windows *comm_windows = kaon_mpi_self(comm)->comm_windows;
  double *all = comm_windows->all;
  kaon_status status = KAON_OK;
  for (mpi_window **at = &comm_windows->windows; status == KAON_OK;) {
    while (*at != NULL && !(*at)->gone) at = &(*at)->next;
    mpi_window *found = *at;
    const double mine = found != NULL ? found->number : -1;
    int alike = 1;
    status = comm->ops->gather(comm, &mine, 1, all);
    for (int r = 0; r < comm->ranks; r++) alike = alike && all[r] == mine;
    if (found == NULL || !alike) break;
    *at = found->next;
    MPI_Win_unlock_all(found->win);
    MPI_Win_free(&found->win);
    free(found);
  }
  return status;
}

void kaon_window_destroy(kaon_window **comm_window) {
  kaon_window *lost = comm_window != NULL ? *comm_window : NULL;
  if (lost == NULL) return;
  *comm_window = NULL;
  mpi_window *window = lost->self;
  window->gone = 1;
  free(lost->there);
  free(lost);
}

static kaon_status open_window(kaon_window *comm_window, int mapped) {
  enum { PAGE = 4096 };
  kaon_comm *comm = comm_window->comm;
  mpi_window *window = comm_window->self;
  const MPI_Comm mpi = kaon_mpi_self(comm)->comm;
  const MPI_Aint bytes = (MPI_Aint)((comm_window->bytes + PAGE) / PAGE * PAGE);
  const char *what = "making a window of memory";
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  int code;
  if (mapped) {
    MPI_Info_set(info, "alloc_shared_noncontig", "true"); /* separate pages for each rank */
    code = MPI_Win_allocate_shared(bytes, 1, info, mpi, &comm_window->mine, &window->win);
  } else {
    code = MPI_Win_allocate(bytes, 1, info, mpi, &comm_window->mine, &window->win);
  }
  MPI_Info_free(&info);
  KAON_TRY(kaon_mpi_check(comm, code, what));
  MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
  KAON_TRY(kaon_mpi_check(comm, MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win), what));
  for (int r = 0; r < comm->ranks && mapped; r++) {
    MPI_Aint size;
    int unit;
    KAON_TRY(kaon_mpi_check(
        comm, MPI_Win_shared_query(window->win, r, &size, &unit, &comm_window->there[r]),
        "finding the memory of another rank"));
  }
  memset(comm_window->mine, 0, comm_window->bytes);
  return kaon_mpi_check(comm, MPI_Win_sync(window->win), what);
}

kaon_status kaon_window_create(kaon_comm *comm, size_t bytes, int mapped,
                               kaon_window **comm_window) {
  kaon_windows **own = &kaon_mpi_self(comm)->comm_windows;
  kaon_status status = KAON_OK;
  *comm_window = NULL;
  if (mapped && comm->local_ranks != comm->ranks)
    status = kaon_fail(
        comm->ctx, KAON_ERR_UNSUPPORTED,
        "MPI: %d of %d ranks are on this node, but only the ranks of one node share memory",
        comm->local_ranks, comm->ranks);
  kaon_window *made = calloc(1, sizeof *made);
  mpi_window *window = calloc(1, sizeof *window);
  void **there = calloc((size_t)comm->ranks, sizeof *there);
  if (*own == NULL) *own = calloc(1, sizeof **own + (size_t)comm->ranks * sizeof *(*own)->all);
  if (made == NULL || window == NULL || there == NULL || *own == NULL)
    status = kaon_fail(comm->ctx, KAON_ERR_MEMORY, "MPI: out of host memory");
  status = kaon_agree(comm->ctx, status);
  if (status == KAON_OK) status = free_windows(comm);
  if (status != KAON_OK) {
    free(made);
    free(window);
    free(there);
    return status;
  }
  *made = (kaon_window){.comm = comm, .bytes = bytes, .there = there, .self = window};
  *window = (mpi_window){.win = MPI_WIN_NULL, .number = (*own)->made++};
  status = kaon_agree(comm->ctx, open_window(made, mapped));
  if (window->win == MPI_WIN_NULL) {
    free(window); /* MPI creates a window on all ranks or on none */
    free(there);
    free(made);
    return status;
  }
  mpi_window **last = &(*own)->windows;
  while (*last != NULL) last = &(*last)->next;
  *last = window;
  if (!mapped) {
    free(there);
    made->there = NULL;
  }
  *comm_window = made;
  if (status != KAON_OK) kaon_window_destroy(comm_window);
  return status;
}

/* Copies n values between mapped memory; each access is atomic. */
static void move_numbers(void *to, const void *from, int width, int64_t n) {
  if (width == 8) {
    for (int64_t i = 0; i < n; i++)
      __atomic_store_n((uint64_t *)to + i,
                       __atomic_load_n((const uint64_t *)from + i, __ATOMIC_RELAXED),
                       __ATOMIC_RELAXED);
    return;
  }
  for (int64_t i = 0; i < n; i++)
    __atomic_store_n((uint32_t *)to + i,
                     __atomic_load_n((const uint32_t *)from + i, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
}

static MPI_Datatype number_of(int width) {
  return width == 8 ? MPI_UINT64_T : MPI_UINT32_T;
}

kaon_status kaon_window_put(kaon_window *comm_window, int peer, size_t at, const void *numbers,
                            int width, int64_t n) {
  const MPI_Win win = ((mpi_window *)comm_window->self)->win;
  const char *what = "writing into the memory of another rank";
  const MPI_Datatype type = number_of(width);
  if (comm_window->there != NULL) {
    __atomic_thread_fence(__ATOMIC_RELEASE); /* after all earlier puts */
    move_numbers((char *)comm_window->there[peer] + at, numbers, width, n);
    return KAON_OK;
  }
  for (int64_t done = 0; done < n;) {
    const int64_t left = n - done;
    const int piece = (int)(left < INT_MAX / 16 ? left : INT_MAX / 16);
    const size_t from = (size_t)done * (size_t)width;
    KAON_TRY(kaon_mpi_check(comm_window->comm,
                            MPI_Accumulate((const char *)numbers + from, piece, type, peer,
                                           (MPI_Aint)(at + from), piece, type, MPI_REPLACE, win),
                            what));
    done += piece;
  }
  return kaon_mpi_check(comm_window->comm, MPI_Win_flush(peer, win), what);
}

kaon_status kaon_window_get(kaon_window *comm_window, size_t at, void *numbers, int width,
                            int64_t n) {
  const MPI_Win win = ((mpi_window *)comm_window->self)->win;
  const char *what = "reading memory that other ranks write";
  const MPI_Datatype type = number_of(width);
  const int rank = comm_window->comm->rank;
  if (comm_window->there != NULL) {
    move_numbers(numbers, (const char *)comm_window->mine + at, width, n);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* before all later reads */
    return KAON_OK;
  }
  for (int64_t done = 0; done < n;) {
    const int64_t left = n - done;
    const int piece = (int)(left < INT_MAX / 16 ? left : INT_MAX / 16);
    const size_t from = (size_t)done * (size_t)width;
    KAON_TRY(
        kaon_mpi_check(comm_window->comm,
                       MPI_Get_accumulate(NULL, 0, type, (char *)numbers + from, piece, type, rank,
                                          (MPI_Aint)(at + from), piece, type, MPI_NO_OP, win),
                       what));
    done += piece;
  }
  return kaon_mpi_check(comm_window->comm, MPI_Win_flush(rank, win), what);
}

/* At the end: returns 1 if all ranks arrive within two seconds. */
static int all_here(const kaon_comm *comm) {
  const struct timespec pause = {0, 1000000};
  MPI_Request request;
  int come = 0;
  if (MPI_Ibarrier(kaon_mpi_self(comm)->comm, &request) != MPI_SUCCESS) return 0;
  for (int i = 0; i < 2000; i++) {
    if (MPI_Test(&request, &come, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 0;
    if (come) return 1;
    nanosleep(&pause, NULL);
  }
  return 0;
}

/* Windows of ranks that did not arrive stay until the process ends. */
void kaon_windows_end(kaon_comm *comm) {
  kaon_windows *comm_windows = kaon_mpi_self(comm)->comm_windows;
  if (comm_windows == NULL) return;
  for (mpi_window *w = comm_windows->windows; w != NULL; w = w->next) w->gone = 1;
  if (comm_windows->windows != NULL && all_here(comm)) free_windows(comm);
  while (comm_windows->windows != NULL) {
    mpi_window *left = comm_windows->windows;
    comm_windows->windows = left->next;
    free(left);
  }
  kaon_mpi_self(comm)->comm_windows = NULL;
  free(comm_windows);
}
