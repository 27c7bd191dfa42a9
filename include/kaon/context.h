/* context.h - one (process, device): backend, threads, memory pool, log. Everything else is created
 * from a context. */
#ifndef KAON_CONTEXT_H
#define KAON_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <kaon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kaon_backend_kind {
  KAON_BACKEND_AUTO,
  KAON_BACKEND_CPU,
  KAON_BACKEND_CUDA
} kaon_backend_kind;

/* CPU instruction set: AUTO picks the widest that this processor has. */
typedef enum kaon_isa {
  KAON_ISA_AUTO,
  KAON_ISA_SCALAR,
  KAON_ISA_X86_64,
  KAON_ISA_AVX2,
  KAON_ISA_AVX512
} kaon_isa;

/* How solvers issue their steps where the machine can record them (CUDA): PLAIN one operation after
 * another; REPLAY recorded blocks of steps, as the host says; WHILE the device repeats the block
 * and serves columns by itself; TAIL each block and each service launches what follows, as a graph
 * of the device's own (0.98 to 1.11 times WHILE's time on small matrices). AUTO: WHILE, else
 * REPLAY, else PLAIN, as device and operators allow. Results do not depend on it.
 *   Two forms are for one column of one rank, matrices of real numbers and one precision, double or
 * single, and of the methods cg, bicg, bicgstab and pipecg, without a preconditioner or with
 * Jacobi; anything else is done as WHILE, which a warning in the log says: CDP a kernel of the
 * device launches those of a step, and itself behind them (dynamic parallelism; slow, to be
 * compared with); PERSISTENT one kernel stays and goes through the steps, for systems that the
 * device's cache holds. Two more are
 * there to be compared with, and differ from those by roundings: SEPARATE, as PLAIN but each update
 * and each sum is a pass of its own, nothing fused but the updates of pipelined and reordered
 * methods, groppcg and chrongear, as the report of a solve says (`fused`); LIBRARY, the same with
 * updates and dot products by cuBLAS (found at run time), whose results come back to the host,
 * where recurrences run: CUDA, one rank, one column at a time, double and single, and of the
 * methods cg, cgnr, cgne, bicgstab, mr and gcr. */
typedef enum kaon_issue {
  KAON_ISSUE_AUTO,
  KAON_ISSUE_PLAIN,
  KAON_ISSUE_REPLAY,
  KAON_ISSUE_WHILE,
  KAON_ISSUE_TAIL,
  KAON_ISSUE_CDP,
  KAON_ISSUE_PERSISTENT,
  KAON_ISSUE_SEPARATE,
  KAON_ISSUE_LIBRARY
} kaon_issue;

/* How devices of several ranks exchange messages: PEER kernels store into the neighbours' memory
 * (all on one node, with access to each other), DIRECT the communicator takes device memory
 * (CUDA-aware MPI), NCCL that library (where it is found at run time), HOST through the host's
 * memory. AUTO: the first of PEER, NCCL, DIRECT, HOST that works on all ranks; where two ranks
 * share a device, of DIRECT and HOST, with a warning: kernels of PEER wait for another rank's,
 * which then has to be let in (by time slices, some ms each; beside others under CUDA's
 * Multi-Process Service, where a large product leaves no room for it, and the job ends after
 * `patience`). Results do not depend on it. */
typedef enum kaon_transport {
  KAON_TRANSPORT_AUTO,
  KAON_TRANSPORT_PEER,
  KAON_TRANSPORT_DIRECT,
  KAON_TRANSPORT_NCCL,
  KAON_TRANSPORT_HOST
} kaon_transport;

/* How hops of a lattice divided among ranks hide their messages: FUSED one kernel sends, works
 * inside and then at the faces (PEER alone); STAGED kernels one after another, messages under way
 * beside the one for the inside; NONE nothing beside the messages. AUTO: FUSED where it is
 * possible, else STAGED. Results do not depend on it.
 * Products of divided matrices too; what they and updates sum on the way is, by FUSED, also added
 * up over ranks by the same kernels. Those sums then come in another order, the same on every run;
 * where a form of storage has no such kernel FUSED stands for STAGED.
 * UPDATES: as AUTO, and pipelined CG on a divided matrix updates what its product asks for first
 * and sends that, so that messages are also under way beside the updates of the rest. That reads
 * two vectors more a step, with a preconditioner three: worth while by NCCL, for parts of up to
 * some 1e6 rows, where sums are quick. Of other methods and of lattices it is AUTO. */
typedef enum kaon_overlap {
  KAON_OVERLAP_AUTO,
  KAON_OVERLAP_FUSED,
  KAON_OVERLAP_STAGED,
  KAON_OVERLAP_NONE,
  KAON_OVERLAP_UPDATES
} kaon_overlap;

/* How the host waits for its device, in all waits of a context: POLLING asks without pause, which
 * answers soonest and takes a processor core as long as it lasts; BLOCKING sleeps, which leaves the
 * core to others and wakes up some 50 us late, behind solves like those before some 5 us. AUTO:
 * polls for up to 300 us and then sleeps; for steps that a device repeats by itself it sleeps at
 * once. What waits are there is the option `issue`'s: LIBRARY has one at every sum, PLAIN and
 * SEPARATE one at every look, the others one at a look too, of which there are few. Results do not
 * depend on it. The CPU has no device to wait for. */
typedef enum kaon_sync { KAON_SYNC_AUTO, KAON_SYNC_POLLING, KAON_SYNC_BLOCKING } kaon_sync;

typedef enum kaon_log_level {
  KAON_LOG_ERROR,
  KAON_LOG_WARNING,
  KAON_LOG_INFO,
  KAON_LOG_DEBUG
} kaon_log_level;

/* Receives one line without newline. Called from the thread that called kaon. */
typedef void kaon_log_fn(void *user, kaon_log_level level, const char *line);

typedef struct kaon_context_options {
  size_t size;
  int version;
  kaon_backend_kind
      backend; /* AUTO: the environment's KAON_BACKEND, else CUDA if usable, else CPU */
  kaon_isa isa;
  int threads; /* CPU threads; 0: the environment's OMP_NUM_THREADS, else every processor */
  int check;   /* 1: check mode: guard pages and poisoned memory (slow). Aliasing and staleness are
                  looked for always */
  kaon_log_level log_level;
  kaon_log_fn *log; /* NULL: the library is silent */
  void *log_user;
  int64_t memory_limit; /* bytes that the pool may hold, on a CPU whatever seems to be free; 0: no
                           limit, but jobs that ask for more than is free are refused */
  kaon_issue issue;     /* how solvers issue steps on a device */
  double reduce_delay;  /* seconds: a sum over ranks, of a single rank too, takes at least so long,
                           to measure what methods wait for and what they hide; 0: no longer than
                           it does. Changes no bit */
  kaon_transport transport; /* of several ranks on devices; the CPU has none to choose */
  kaon_overlap overlap;     /* of several ranks */
  double patience; /* seconds that a device waits for another rank's before it ends its own work
                      with COMM: a rank that failed does not come. PEER: in a kernel, for a message
                      or a sum; NCCL: for the work of its queue; HOST, DIRECT over MPI: for a
                      message or a sum. Longer than any rank is at work elsewhere between two
                      operations, reading a file for instance */
  kaon_sync sync;  /* how the host waits for its device */
} kaon_context_options;

#define KAON_CONTEXT_OPTIONS_INIT                                                              \
  {                                                                                            \
    sizeof(kaon_context_options), 1, KAON_BACKEND_AUTO, KAON_ISA_AUTO, 0, 0, KAON_LOG_WARNING, \
        NULL, NULL, 0, KAON_ISSUE_AUTO, 0.0, KAON_TRANSPORT_AUTO, KAON_OVERLAP_AUTO, 120.0,    \
        KAON_SYNC_AUTO                                                                         \
  }

/* Creates a context; options = NULL takes the defaults. Several may live at once, each used by one
 * thread at a time. Errors (read with kaon_last_error(NULL)): ARGUMENT, NO_DEVICE, NOT_BUILT,
 * MEMORY. Not collective. */
kaon_status kaon_context_create(const kaon_context_options *options, kaon_context **ctx);

/* Destroys it and sets *ctx to NULL; NULL is allowed. Objects created from it keep it alive until
 * they are destroyed. */
void kaon_context_destroy(kaon_context **ctx);

typedef struct kaon_context_info {
  const char *backend; /* "cpu" or "cuda" */
  const char *device;  /* processor or GPU name */
  const char *isa;     /* "scalar", "x86-64", "avx2", "avx512"; "" on CUDA */
  int threads;
  int ranks;
  int64_t memory_now;  /* bytes in use by kaon's objects */
  int64_t memory_peak; /* the most there were */
  const char *details; /* CUDA: memory, compute capability and driver in words; "" on the CPU */
  int64_t memory_held; /* bytes taken from the system, those kept for reuse too */
  int64_t memory_free; /* bytes that could still be had of the device, of which ranks that share it
                          are each told all, or of memory_limit; -1: not known */
  const char *communicator; /* "single", "MPI" or "QMP" */
  int rank;                 /* of `ranks`, from 0 */
  int local_rank;           /* among those of this node, from 0 */
  const char *transport; /* of devices: "peer stores", "CUDA-aware MPI", "NCCL", "host memory"; ""
                            of one rank and on the CPU */
} kaon_context_info;

/* Waits until the device has done all that this context was asked for; to take times, or before
 * device memory is handed to others. Nothing to wait for on the CPU. Local to the rank. Errors:
 * ARGUMENT, DEVICE (the first error of asynchronous work). */
kaon_status kaon_context_synchronise(kaon_context *ctx);

/* The option `sync` from now on, to compare both ways with the same fields and solvers. Local to
 * the rank. Errors: ARGUMENT. */
kaon_status kaon_context_set_sync(kaon_context *ctx, kaon_sync sync);

/* Fills *info; the strings live as long as the context. Not collective. */
kaon_status kaon_context_query(const kaon_context *ctx, kaon_context_info *info);

/* *joules: the energy drawn so far from some moment in the past, so that differences count, by the
 * counter of the whole device: of a GPU NVML's, which moves every 20 to 100 ms; of the CPU those of
 * its packages (Linux powercap, usually for root alone), which begin again after about 260 kJ.
 * Whatever else runs there is in it. NaN where there is no counter or it may not be read. Does not
 * wait for the device's work. A call takes some milliseconds. Not collective. Errors: ARGUMENT.
 */
kaon_status kaon_context_energy(kaon_context *ctx, double *joules);

/* What iterations, operators and vector functions asked of the ranks' network. */
typedef struct kaon_traffic {
  int64_t sums;      /* sums over all ranks, several numbers in one message; where one rank has
                        nothing to add the same count, but for those that end the last column.
                        Without those of the host's looks at a solve */
  int64_t exchanges; /* of faces with the neighbours */
  int64_t bytes;     /* that this rank sent to others in these */
  int64_t hidden;    /* of the sums: those behind which other work was issued before they were
                        asked for */
  int64_t ahead;     /* of the exchanges: those that were begun before updates of vectors */
} kaon_traffic;

/* *traffic: since the context was made. Of steps that a device repeats by itself (the option
 * `issue`), what was recorded is counted once; the report of a solve counts them. Local to the
 * rank. Errors: ARGUMENT. */
kaon_status kaon_context_traffic(const kaon_context *ctx, kaon_traffic *traffic);

/* "0.1.0" and the commit it was built from: 12 hexadecimal digits, "-dirty" behind them where the
 * sources were not those of the commit; "unknown" outside a git checkout. */
const char *kaon_version(void);
const char *kaon_commit(void);

#ifdef __cplusplus
}
#endif
#endif
