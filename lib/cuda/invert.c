/* invert.c - the inverse of a large dense matrix by cuSOLVER: LU factors with row exchanges, and a
 * solve for each column of the identity.
 * cuSOLVER and what it needs take about 900 MB, and only multigrid with a dense coarsest level uses
 * them. So nothing is linked, and the library is loaded at first use. The few functions needed are
 * declared here as in its documentation (cuSOLVER API reference, "cuSolverDN", version 11 and
 * later: CUDA 12). Its results are the same in every run on one device: that is its default mode,
 * which is requested all the same. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"

enum { SOLVER_OK = 0, SOLVER_NO_MEMORY = 2 };
enum { SOLVER_DETERMINISTIC = 1, SOLVER_NOT_TRANSPOSED = 0 };

typedef int solver_make(void **handle);
typedef int solver_destroy(void *handle);
typedef int solver_set_stream(void *handle, cudaStream_t stream);
typedef int solver_set_mode(void *handle, int mode);
typedef int solver_room(void *handle, int m, int n, void *a, int step, int *numbers);
typedef int solver_factor(void *handle, int m, int n, void *a, int step, void *room, int *order,
                          int *info);
typedef int solver_solve(void *handle, int transposed, int n, int columns, const void *a, int step,
                         const int *order, void *b, int step_b, int *info);

struct kaon_cuda_solver {
  void *code, *handle;
  solver_make *make;
  solver_destroy *destroy;
  solver_set_stream *set_stream;
  solver_set_mode *set_mode; /* NULL before CUDA 12.2, which has that mode alone */
  solver_room *room;
  solver_factor *factor;
  solver_solve *solve;
};

/* ---- the library ---- */

/* Looks up a function by name. The indirection avoids a cast from a data pointer, which C does not
 * allow. */
static int find(void *code, const char *name, void *function) {
  void *symbol = dlsym(code, name);
  if (symbol == NULL) return 0;
  *(void **)function = symbol;
  return 1;
}

/* It stays loaded until the process ends: loading takes long, and contexts may follow. */
static int load(struct kaon_cuda_solver *s) {
  static const char *const names[] = {"libcusolver.so.12", "libcusolver.so.11",
#ifdef KAON_CUSOLVER_LIBRARY
                                      KAON_CUSOLVER_LIBRARY,
#endif
                                      "libcusolver.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names && s->code == NULL; i++)
    s->code = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (s->code == NULL) return 0;
  find(s->code, "cusolverDnSetDeterministicMode", &s->set_mode);
  return find(s->code, "cusolverDnCreate", &s->make) &&
         find(s->code, "cusolverDnDestroy", &s->destroy) &&
         find(s->code, "cusolverDnSetStream", &s->set_stream) &&
         find(s->code, "cusolverDnZgetrf_bufferSize", &s->room) &&
         find(s->code, "cusolverDnZgetrf", &s->factor) &&
         find(s->code, "cusolverDnZgetrs", &s->solve);
}

void kaon_cuda_solver_destroy(struct kaon_cuda_solver **solver) {
  struct kaon_cuda_solver *s = *solver;
  if (s == NULL) return;
  if (s->handle != NULL) s->destroy(s->handle);
  if (s->code != NULL) dlclose(s->code);
  free(s);
  *solver = NULL;
}

static kaon_status check(const kaon_context *ctx, int error, const char *what) {
  if (error == SOLVER_OK) return KAON_OK;
  const int memory = error == SOLVER_NO_MEMORY;
  return kaon_fail(ctx, memory ? KAON_ERR_MEMORY : KAON_ERR_DEVICE,
                   "cuSOLVER: %s returned %d on %s%s", what, error, ctx->device,
                   memory ? ", out of device memory" : "");
}

/* The library may be one that the driver is too old for. */
static kaon_status start(kaon_context *ctx, struct kaon_cuda_solver *s) {
  const int error = s->make(&s->handle);
  if (error != SOLVER_OK && error != SOLVER_NO_MEMORY)
    return kaon_fail(
        ctx, KAON_ERR_UNSUPPORTED,
        "dense inverse: cuSOLVER does not start (cusolverDnCreate returned %d), so the "
        "host inverts, which takes longer; name the folder of another libcusolver in "
        "LD_LIBRARY_PATH",
        error);
  KAON_TRY(check(ctx, error, "cusolverDnCreate"));
  KAON_TRY(check(ctx, s->set_stream(s->handle, kaon_cuda_machine_of(ctx)->stream),
                 "cusolverDnSetStream"));
  if (s->set_mode == NULL) return KAON_OK;
  return check(ctx, s->set_mode(s->handle, SOLVER_DETERMINISTIC), "cusolverDnSetDeterministicMode");
}

static kaon_status open_solver(kaon_context *ctx, struct kaon_cuda_solver **solver) {
  kaon_cuda_machine *machine = kaon_cuda_machine_of(ctx);
  *solver = machine->solver;
  if (*solver != NULL) return KAON_OK;
  struct kaon_cuda_solver *s = calloc(1, sizeof *s);
  kaon_status status = KAON_CHECK_MEMORY(ctx, s != NULL, "cuda: out of host memory");
  if (status == KAON_OK && !load(s))
    status = kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                       "dense inverse: cuSOLVER of CUDA 12 or later (libcusolver.so.12 or .11) is "
                       "not found, so the host inverts, which takes longer; name its folder in "
                       "LD_LIBRARY_PATH");
  if (status == KAON_OK) status = start(ctx, s);
  if (status == KAON_OK)
    *solver = machine->solver = s;
  else
    kaon_cuda_solver_destroy(&s);
  return status;
}

/* ---- the inverse ---- */

typedef struct number {
  double re, im;
} number;

/* Device memory of one inverse. */
typedef struct rooms {
  void *work, *order, *info, *diagonal;
} rooms;

static kaon_status take(kaon_context *ctx, size_t rows, int numbers, rooms *r) {
  const char *what = "the factors of a dense matrix";
  KAON_TRY(kaon_pool_allocate(ctx, (size_t)numbers * sizeof(number), what, &r->work));
  KAON_TRY(kaon_pool_allocate(ctx, rows * sizeof(int), what, &r->order));
  KAON_TRY(kaon_pool_allocate(ctx, sizeof(double), what, &r->info));
  return kaon_pool_allocate(ctx, rows * sizeof(number), what, &r->diagonal);
}

/* The magnitudes of the pivots, from the factors in `matrix`. host: room for the diagonal. */
static kaon_status read_pivots(kaon_context *ctx, int64_t rows, const void *matrix, const rooms *r,
                               number *host, double *pivots) {
  const kaon_memory_ops *memory = ctx->backend->memory;
  const size_t size = sizeof(number), n = (size_t)rows;
  KAON_TRY(memory->copy(ctx, r->diagonal, size, matrix, (n + 1) * size, size, n));
  KAON_TRY(memory->to_host(ctx, host, r->diagonal, n * size));
  for (size_t i = 0; i < n; i++) pivots[i] = hypot(host[i].re, host[i].im);
  return KAON_OK;
}

static kaon_status write_identity(kaon_context *ctx, int64_t rows, void *matrix, const rooms *r,
                                  number *host) {
  const kaon_memory_ops *memory = ctx->backend->memory;
  const size_t size = sizeof(number), n = (size_t)rows;
  for (size_t i = 0; i < n; i++) host[i] = (number){1, 0};
  KAON_TRY(memory->clear(ctx, matrix, n * n * size));
  KAON_TRY(memory->to_device(ctx, r->diagonal, host, n * size));
  return memory->copy(ctx, matrix, (n + 1) * size, r->diagonal, size, size, n);
}

/* Reads the solver's report. A factor that is 0 is reported by the pivots. */
static kaon_status read_info(kaon_context *ctx, int64_t rows, const rooms *r, const char *what) {
  int info[2] = {0, 0};
  KAON_TRY(ctx->backend->memory->to_host(ctx, info, r->info, sizeof info));
  if (info[0] >= 0) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_INTERNAL, "cuSOLVER: %s of %lld rows refused argument %d", what,
                   (long long)rows, -info[0]);
}

static kaon_status invert(kaon_context *ctx, struct kaon_cuda_solver *s, int64_t rows,
                          double *matrix, double *inverse, const rooms *r, number *host,
                          double *pivots) {
  const int n = (int)rows;
  KAON_TRY(ctx->backend->memory->clear(ctx, r->info, sizeof(double)));
  KAON_TRY(check(ctx, s->factor(s->handle, n, n, matrix, n, r->work, r->order, r->info),
                 "cusolverDnZgetrf"));
  KAON_TRY(read_info(ctx, rows, r, "cusolverDnZgetrf"));
  KAON_TRY(read_pivots(ctx, rows, matrix, r, host, pivots));
  for (int64_t i = 0; i < rows; i++)
    if (pivots[i] == 0) return KAON_OK;
  KAON_TRY(write_identity(ctx, rows, inverse, r, host));
  KAON_TRY(check(
      ctx,
      s->solve(s->handle, SOLVER_NOT_TRANSPOSED, n, n, matrix, n, r->order, inverse, n, r->info),
      "cusolverDnZgetrs"));
  return read_info(ctx, rows, r, "cusolverDnZgetrs");
}

kaon_status kaon_cuda_invert(kaon_context *ctx, int64_t rows, double *matrix, double *inverse,
                             double *pivots) {
  struct kaon_cuda_solver *solver = NULL;
  rooms r = {0};
  int numbers = 0;
  KAON_TRY(kaon_cuda_refuse_recorded(ctx, "an inverse"));
  kaon_cuda_enter(ctx);
  KAON_TRY(open_solver(ctx, &solver));
  KAON_AUTOFREE number *host = malloc((size_t)rows * sizeof *host);
  KAON_TRY(KAON_CHECK_MEMORY(ctx, host != NULL, "cuda: out of host memory for %lld pivots",
                             (long long)rows));
  kaon_status status =
      check(ctx, solver->room(solver->handle, (int)rows, (int)rows, matrix, (int)rows, &numbers),
            "cusolverDnZgetrf_bufferSize");
  if (status == KAON_OK) status = take(ctx, (size_t)rows, numbers, &r);
  if (status == KAON_OK) status = invert(ctx, solver, rows, matrix, inverse, &r, host, pivots);
  kaon_pool_release(ctx, r.work);
  kaon_pool_release(ctx, r.order);
  kaon_pool_release(ctx, r.info);
  kaon_pool_release(ctx, r.diagonal);
  return status;
}
