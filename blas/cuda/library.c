/* library.c - vectors by cuBLAS and scalars on the host, as a solver composed of library calls
 * works (KAON_ISSUE_LIBRARY); for comparison.
 * Each operation is one call. A dot product returns to the host, which runs the recurrence and
 * reads the coefficients of the next calls. The library writes the result into pinned memory. The
 * host waits for it by the context's option `sync`, as with the library's own copy and wait.
 * Fused entries are omitted, so blas.c composes them. Several columns are not contiguous and use
 * kaon's kernels; scalars are then complete once the queue is.
 * The library is loaded at first use, so nothing is linked. The few functions needed are declared
 * here as in its second interface (cuBLAS user guide, "cuBLAS Level-1 Function Reference"). Source:
 * the baseline CUBLASL of Anzt and others' "dynamic parallelism" paper on CG. */
#include "blas/cuda/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "blas/cuda/kernels.h"
#include "lib/cuda/device.h"
#include "lib/math/steps/recurrences.h"

enum { REAL_D, REAL_S, COMPLEX_D, COMPLEX_S, KINDS };
enum { BLAS_OK = 0, BLAS_WAIT_FAILED = -1 };
/* Where the scalars of a call are (cublasPointerMode_t). */
enum { BLAS_AT_HOST = 0, BLAS_AT_DEVICE = 1 };

/* Scalars are passed by address: real or complex, double or single, as the function is. */
typedef int blas_make(void **handle);
typedef int blas_destroy(void *handle);
typedef int blas_set_stream(void *handle, cudaStream_t stream);
typedef int blas_set_mode(void *handle, int mode);
typedef int blas_axpy(void *handle, int64_t n, const void *a, const void *x, int64_t step_x,
                      void *y, int64_t step_y);
typedef int blas_scale(void *handle, int64_t n, const void *a, void *x, int64_t step);
typedef int blas_dot(void *handle, int64_t n, const void *x, int64_t step_x, const void *y,
                     int64_t step_y, void *result);

typedef struct library {
  kaon_context *ctx;
  void *code, *handle;
  void *result; /* pinned: result of a dot product */
  cudaEvent_t arrived;
  int failed; /* first error of a call; later sums are then NaN, which ends the columns */
  blas_destroy *destroy;
  blas_set_mode *set_mode;
  blas_axpy *axpy[KINDS];
  blas_scale *scale[KINDS];
  blas_dot *dot[KINDS];
} library;

/* ---- the library ---- */

/* Looks up a function by name. The indirection avoids a cast from a data pointer, which C does not
 * allow. */
static int find(void *code, const char *name, void *function) {
  void *symbol = dlsym(code, name);
  if (symbol == NULL) return 0;
  *(void **)function = symbol;
  return 1;
}

static int find_all(library *l) {
  static const char *const axpy[KINDS] = {"cublasDaxpy_v2_64", "cublasSaxpy_v2_64",
                                          "cublasZaxpy_v2_64", "cublasCaxpy_v2_64"};
  static const char *const scale[KINDS] = {"cublasDscal_v2_64", "cublasSscal_v2_64",
                                           "cublasZscal_v2_64", "cublasCscal_v2_64"};
  static const char *const dot[KINDS] = {"cublasDdot_v2_64", "cublasSdot_v2_64",
                                         "cublasZdotc_v2_64", "cublasCdotc_v2_64"};
  for (int i = 0; i < KINDS; i++)
    if (!find(l->code, axpy[i], &l->axpy[i]) || !find(l->code, scale[i], &l->scale[i]) ||
        !find(l->code, dot[i], &l->dot[i]))
      return 0;
  return find(l->code, "cublasDestroy_v2", &l->destroy) &&
         find(l->code, "cublasSetPointerMode_v2", &l->set_mode);
}

static kaon_status load(kaon_context *ctx, library *l) {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  blas_make *make;
  blas_set_stream *set_stream;
  for (size_t i = 0; i < sizeof names / sizeof *names && l->code == NULL; i++)
    l->code = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (l->code == NULL || !find_all(l) || !find(l->code, "cublasCreate_v2", &make) ||
      !find(l->code, "cublasSetStream_v2", &set_stream))
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "context: issue=library (--regime cublas) needs cuBLAS of CUDA 12 or later, "
                     "but no libcublas.so.13 "
                     "or .12 is found; name its folder in LD_LIBRARY_PATH");
  if (make(&l->handle) != BLAS_OK ||
      set_stream(l->handle, kaon_cuda_machine_of(ctx)->stream) != BLAS_OK)
    return kaon_fail(ctx, KAON_ERR_DEVICE, "context: cuBLAS does not start on %s", ctx->device);
  KAON_TRY(ctx->backend->memory->shared(ctx, 2 * sizeof(double), &l->result));
  return kaon_cuda_check(
      ctx, cudaEventCreateWithFlags(&l->arrived, cudaEventDisableTiming | cudaEventBlockingSync),
      "an event");
}

kaon_status kaon_cuda_library_open(kaon_context *ctx) {
  library *l = calloc(1, sizeof *l);
  if (l == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "cuda: out of host memory");
  ctx->library = l;
  l->ctx = ctx;
  KAON_TRY(kaon_cuda_open(ctx));
  return load(ctx, l);
}

void kaon_cuda_library_close(kaon_context *ctx) {
  library *l = ctx->library;
  if (l->handle != NULL) l->destroy(l->handle);
  if (l->arrived != NULL) cudaEventDestroy(l->arrived);
  if (l->result != NULL) ctx->backend->memory->unshare(ctx, l->result);
  if (l->code != NULL) dlclose(l->code);
  free(l);
  ctx->library = NULL;
  kaon_cuda_close(ctx);
}

/* ---- entries of the table ---- */

typedef struct number {
  double d[2];
  float s[2];
} number;

typedef struct call {
  library *with;
  const kaon_update_args *args;
  int kind, single;
  int64_t n; /* values in a vector */
} call;

/* Returns 0 if the column is closed. */
static int begin(call *c, const kaon_launch *launch, const kaon_update_args *args, int single) {
  const kaon_shape *s = &args->shape;
  const int64_t reals = s->nblocks * s->width * s->ncomp;
  *c = (call){.with = launch->library,
              .args = args,
              .kind = 2 * (s->complex_space != 0) + single,
              .single = single,
              .n = s->complex_space ? reals / 2 : reals};
  return args->gate.state == NULL || (args->gate.state[0].gate & args->gate.mask) != 0;
}

static number make(double re, double im) {
  return (number){{re, im}, {(float)re, (float)im}};
}

static const void *at(const call *c, const number *a) {
  return c->single ? (const void *)a->s : (const void *)a->d;
}

static number coefficient(const call *c, int i) {
  const kaon_coefficients *k = &c->args->c;
  if (k->slot[i] == KAON_NO_SLOT) return make(k->sign[i], 0);
  const double *slot = k->state[0].slot[k->slot[i]];
  return make(k->sign[i] * slot[0], k->sign[i] * slot[1]);
}

static void note(const call *c, int error) {
  if (error != BLAS_OK && c->with->failed == BLAS_OK) c->with->failed = error;
}

static void run_axpy(const call *c, number a, int x, int y) {
  const kaon_view *v = c->args->v;
  note(c, c->with->axpy[c->kind](c->with->handle, c->n, at(c, &a), v[x].data, 1, v[y].data, 1));
}

static void run_scale(const call *c, number a, int x) {
  note(c, c->with->scale[c->kind](c->with->handle, c->n, at(c, &a), c->args->v[x].data, 1));
}

/* Waits for the dot product; its result is then in pinned memory. */
static void await(const call *c) {
  const kaon_context *ctx = c->with->ctx;
  const cudaError_t error = cudaEventRecord(c->with->arrived, kaon_cuda_machine_of(ctx)->stream);
  if (kaon_cuda_check(ctx, error, "a dot product") != KAON_OK ||
      kaon_cuda_await(ctx, c->with->arrived, "a dot product") != KAON_OK)
    note(c, BLAS_WAIT_FAILED);
}

static void run_dot(const call *c, int x, int y, double *slot) {
  const kaon_view *v = c->args->v;
  library *l = c->with;
  memset(l->result, 0, 2 * sizeof(double)); /* a real result has no imaginary part */
  note(c, l->set_mode(l->handle, BLAS_AT_DEVICE));
  note(c, l->dot[c->kind](l->handle, c->n, v[x].data, 1, v[y].data, 1, l->result));
  note(c, l->set_mode(l->handle, BLAS_AT_HOST));
  await(c);
  for (int i = 0; i < 2; i++)
    slot[i] = c->single ? (double)((float *)l->result)[i] : ((double *)l->result)[i];
  if (l->failed != BLAS_OK) slot[0] = NAN;
}

static void copy_vector(const kaon_launch *launch, const call *c, int from, int to) {
  const size_t bytes = (size_t)c->n * (c->single ? 4 : 8) * (c->kind >= COMPLEX_D ? 2 : 1);
  cudaMemcpyAsync(c->args->v[to].data, c->args->v[from].data, bytes, cudaMemcpyDeviceToDevice,
                  launch->queue);
}

static void run_recur(const kaon_update_args *args) {
  if (args->sum.state != NULL && args->sum.then != 0)
    kaon_recurrence_run(args->sum.then, &args->sum.state[0]);
}

static void axpy(const kaon_launch *launch, const kaon_update_args *args, int single) {
  call c;
  if (begin(&c, launch, args, single)) run_axpy(&c, coefficient(&c, 0), 0, 1);
}

static void scale(const kaon_launch *launch, const kaon_update_args *args, int single) {
  call c;
  if (begin(&c, launch, args, single)) run_scale(&c, coefficient(&c, 0), 0);
}

/* v1 = v0 + c0 v1 */
static void xpay(const kaon_launch *launch, const kaon_update_args *args, int single) {
  call c;
  if (!begin(&c, launch, args, single)) return;
  run_scale(&c, coefficient(&c, 0), 1);
  run_axpy(&c, make(1, 0), 0, 1);
}

/* v1 = c0 v0 + c1 v1 */
static void axpby(const kaon_launch *launch, const kaon_update_args *args, int single) {
  call c;
  if (!begin(&c, launch, args, single)) return;
  run_scale(&c, coefficient(&c, 1), 1);
  run_axpy(&c, coefficient(&c, 0), 0, 1);
}

static void dot(const kaon_launch *launch, const kaon_update_args *args, int single) {
  static const int pairs[3][2] = {{0, 1}, {0, 0}, {1, 1}};
  call c;
  if (args->sum.state == NULL || !begin(&c, launch, args, single)) return;
  for (int i = 0; i < 3; i++)
    if (args->sum.slot[i] != KAON_NO_SLOT)
      run_dot(&c, pairs[i][0], pairs[i][1], args->sum.state[0].slot[args->sum.slot[i]]);
  run_recur(args);
}

static void zero(const kaon_launch *launch, const kaon_update_args *args, int single) {
  call c;
  if (!begin(&c, launch, args, single)) return;
  const size_t bytes = (size_t)c.n * (single ? 4 : 8) * (c.kind >= COMPLEX_D ? 2 : 1);
  cudaMemsetAsync(args->v[0].data, 0, bytes, launch->queue);
}

static void copy(const kaon_launch *launch, const kaon_update_args *args, int single) {
  call c;
  if (begin(&c, launch, args, single)) copy_vector(launch, &c, 0, 1);
}

static void recur(const kaon_launch *launch, const kaon_update_args *args, int single) {
  call c;
  if (begin(&c, launch, args, single)) run_recur(args);
}

/* Defines an entry for one precision. One column uses cuBLAS, several use kaon's kernel. */
#define ENTRY(entry, precision, single)                                                      \
  static void entry##_##precision(const kaon_launch *launch, const kaon_update_args *args) { \
    if (args->shape.nrhs == 1)                                                               \
      entry(launch, args, single);                                                           \
    else                                                                                     \
      kaon_##entry##_cuda_##precision(launch, args);                                         \
  }
#define ENTRIES(precision, single)                                                     \
  ENTRY(zero, precision, single)                                                       \
  ENTRY(copy, precision, single)                                                       \
  ENTRY(scale, precision, single)                                                      \
  ENTRY(axpy, precision, single)                                                       \
  ENTRY(xpay, precision, single)                                                       \
  ENTRY(axpby, precision, single)                                                      \
  ENTRY(dot, precision, single)                                                        \
  ENTRY(recur, precision, single)                                                      \
  const kaon_blas_ops kaon_blas_ops_library_##precision = {.zero = zero_##precision,   \
                                                           .copy = copy_##precision,   \
                                                           .scale = scale_##precision, \
                                                           .axpy = axpy_##precision,   \
                                                           .xpay = xpay_##precision,   \
                                                           .axpby = axpby_##precision, \
                                                           .dot = dot_##precision,     \
                                                           .recur = recur_##precision}

ENTRIES(d, 0);
ENTRIES(s, 1);
