/* ranks.h - several processes ("ranks") that work on one lattice, a part of it each.
 *
 * Every rank makes the same calls in the same order with the same arguments; of a context's options
 * threads and memory_limit may be each rank's own. Functions marked collective return the same
 * status on all ranks, with the sentence of the first rank that failed, of those that failed for
 * another reason than COMM if there are some. Devices wait for each other: a rank whose part of a
 * collective function has not begun a time after another one's ends that one's work with COMM (the
 * context's option patience, 120 s). Over stores into each other's memory (transport peer) it is a
 * kernel that waits, and what else the process has on its device, in kaon and outside, ends with
 * it. This header needs no MPI of its own; functions that need it return NOT_BUILT without. */
#ifndef KAON_RANKS_H
#define KAON_RANKS_H

#include <kaon/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a context that is one of several ranks.
 *   communicator  address of the application's MPI_Comm (kaon works on a copy of it) or, where kaon
 *                 was built over QMP, of its QMP_comm_t (which must outlive the context); or NULL:
 *                 all processes that were started together (the library's default communicator;
 *                 MPI or QMP is started if the application has not done it)
 *   grid          ranks in x, y, z, t, their product the communicator's size; or NULL: chosen for
 *                 each lattice so that the faces are small. Rank r stands at x = r mod grid[0],
 *                 y = r / grid[0] mod grid[1], ...; a communicator of another order can be put into
 *                 this one by MPI_Comm_split.
 * All ranks need one kind of backend and instruction set, and the same options transport, overlap
 * and issue. Where a node has several ranks, each
 * makes the device of its number among them (counted round the devices it sees) the current one,
 * and works on it. How devices talk: kaon_transport in kaon/context.h; one that is asked for by
 * name and does not work is UNSUPPORTED, with the reason. NCCL_NVLS_ENABLE=0 is set in the
 * environment where NCCL is tried. Collective. Errors (read with kaon_last_error(NULL)): those of
 * kaon_context_create, COMM, NOT_BUILT, ARGUMENT (grid, options that
 * differ), UNSUPPORTED (machines that differ). */
kaon_status kaon_context_create_ranks(const kaon_context_options *options, const void *communicator,
                                      const int grid[4], kaon_context **ctx);

/* The grid that `ranks` ranks have of a lattice of `extents` = X, Y, Z, T sites (each even, from
 * 2 to 4096) where they were given none (grid[0] = 0; grid is written), else whether they can have
 * `grid` of it (`ranks` is then not looked at). Parts are equal; those of ranks that choose are at
 * least 3 sites thick in divided directions if that can be, of these even ones if that can be (else
 * odd in y, z and t, else in x too, of an odd number of sites last), of these those with the
 * smallest faces. Nothing is made, no ranks are needed. Not collective. Errors
 * (kaon_last_error(NULL)): ARGUMENT. */
kaon_status kaon_ranks_grid(const int extents[4], int ranks, int grid[4]);

/* What several ranks talk by: "MPI" or "QMP", or "" where neither is built in. Not collective. */
const char *kaon_ranks_library(void);

/* For an application's own steps that may fail on one rank alone: hands in each rank's status and
 * returns that of the first rank that failed (one with COMM, which may have waited for another,
 * after all others), whose sentence kaon_last_error(ctx) then has on all ranks; OK if none did.
 * `mine` other than OK should be the status of the last kaon function that failed on ctx.
 * Collective. */
kaon_status kaon_context_agree(kaon_context *ctx, kaon_status mine);

/* all[r * n + i] = mine[i] of rank r, on all ranks; none leaves before the last one has entered, so
 * it is a barrier too, of the hosts: devices' work is waited for by kaon_context_synchronise. n >=
 * 1; numbers are finite (a transport may add zeros to them); mine and all do not overlap. One rank:
 * all = mine. Collective. Errors: ARGUMENT, COMM. */
kaon_status kaon_context_gather(kaon_context *ctx, const double *mine, int n, double *all);

/* Ends MPI or QMP if kaon started it; does nothing otherwise. Call it once, after the last context
 * with several ranks was destroyed. Collective. */
void kaon_ranks_end(void);

/* The same for a program that is about to exit with `status`, possibly because this rank alone
 * failed: waits at most `seconds` (negative: for ever) until all ranks have called it, then ends
 * MPI as kaon_ranks_end does. 1: it is ended, or was not kaon's to end; *first is what rank 0
 * handed in. 0: others did not come; nothing is ended, *first is this rank's own, and nothing but
 * exit is left. `status` is not negative. Over QMP, which cannot wait for a limited time, all ranks
 * are taken to have come where `seconds` is negative and to be missing else. */
int kaon_ranks_finish(int status, double seconds, int *first);

#ifdef __cplusplus
}
#endif
#endif
