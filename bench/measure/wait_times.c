/* wait_times.c - what a short solve costs the processor on a CUDA device where the host sleeps:
 * by process, by thread, by calls to the runtime and the system, and how often the thread slept. CG
 * on a real matrix from a file, b = A * ones, from x = 0, the same solve again and again. A program
 * to run by hand: cmake --build <build> --target wait_times; <build>/bench/measure/wait_times fv1.mtx
 * [double|single [while|persistent [blocking|polling]]]. Calls are counted by the linker's
 * --wrap. Each counted call reads a clock twice; this time is subtracted from the figures of calls
 * only. The first two runs are without counting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

enum { SOLVES = 1000, WARM = 200 };

static int counting;

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

#define WRAPPED(X)                                                                              \
  X(cudaError_t, cudaGraphLaunch, (cudaGraphExec_t e, cudaStream_t s), (e, s))                  \
  X(cudaError_t, cudaEventRecord, (cudaEvent_t e, cudaStream_t s), (e, s))                      \
  X(cudaError_t, cudaEventQuery, (cudaEvent_t e), (e))                                          \
  X(cudaError_t, cudaStreamQuery, (cudaStream_t s), (s))                                        \
  X(cudaError_t, cudaMemcpyAsync,                                                               \
    (void *to, const void *from, size_t n, enum cudaMemcpyKind k, cudaStream_t s),              \
    (to, from, n, k, s))                                                                        \
  X(cudaError_t, cudaEventSynchronize, (cudaEvent_t e), (e))                                    \
  X(cudaError_t, cudaGetDevice, (int *d), (d))                                                  \
  X(cudaError_t, cudaGetLastError, (void), ())                                                  \
  X(int, nanosleep, (const struct timespec *t, struct timespec *rest), (t, rest))               \
  X(int, prctl, (int what, unsigned long a, unsigned long b, unsigned long c, unsigned long d), \
    (what, a, b, c, d))

#define NUMBER(type, name, formal, actual) OF_##name,
enum { WRAPPED(NUMBER) CALLS };
#define NAME(type, name, formal, actual) #name,
static const char *const names[CALLS] = {WRAPPED(NAME)};
static struct {
  long calls;
  double cpu;
} of[CALLS];

#define WRAP(type, name, formal, actual)                        \
  type __real_##name formal;                                    \
  type __wrap_##name formal;                                    \
  type __wrap_##name formal {                                   \
    if (!counting) return __real_##name actual;                 \
    const double before = now(CLOCK_THREAD_CPUTIME_ID);         \
    const type result = __real_##name actual;                   \
    of[OF_##name].cpu += now(CLOCK_THREAD_CPUTIME_ID) - before; \
    of[OF_##name].calls++;                                      \
    return result;                                              \
  }
WRAPPED(WRAP)

static double cost_of_clock(void) {
  enum { N = 20000 };
  const double before = now(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < N; i++) now(CLOCK_THREAD_CPUTIME_ID);
  return (now(CLOCK_THREAD_CPUTIME_ID) - before) / N;
}

static long switches(void) {
  struct rusage r;
  getrusage(RUSAGE_THREAD, &r);
  return r.ru_nvcsw;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static kaon_context *ctx;

static void must(kaon_status status) {
  if (status == KAON_OK) return;
  fprintf(stderr, "%s\n", kaon_last_error(ctx));
  exit(2);
}

static void time_solves(kaon_solver *solver, const kaon_vector *b, kaon_vector *x, int steps) {
  static double wall[SOLVES];
  double process = 0, thread = 0, sum = 0;
  long slept = 0;
  const int counted = counting; /* of solves alone */
  for (int i = -WARM; i < SOLVES; i++) {
    counting = 0;
    must(kaon_vector_zero(x));
    must(kaon_context_synchronise(ctx));
    counting = counted && i >= 0;
    const long s = switches();
    const double p = now(CLOCK_PROCESS_CPUTIME_ID), t = now(CLOCK_THREAD_CPUTIME_ID),
                 w = now(CLOCK_MONOTONIC);
    must(kaon_solver_solve(solver, b, x, NULL, NULL));
    const double w1 = now(CLOCK_MONOTONIC), t1 = now(CLOCK_THREAD_CPUTIME_ID),
                 p1 = now(CLOCK_PROCESS_CPUTIME_ID);
    counting = 0;
    if (i < 0) continue;
    slept += switches() - s;
    wall[i] = w1 - w;
    sum += w1 - w;
    process += p1 - p;
    thread += t1 - t;
  }
  counting = counted;
  qsort(wall, SOLVES, sizeof *wall, by_size);
  printf(
      "%d steps: wall mean %.1f, median %.1f, least %.1f, 95 %% below %.1f us; processor %.1f us "
      "= %.2f %%, of this thread %.1f; slept %.2f times\n",
      steps, sum / SOLVES, wall[SOLVES / 2], wall[0], wall[SOLVES * 95 / 100], process / SOLVES,
      100 * process / sum, thread / SOLVES, (double)slept / SOLVES);
}

static int is(int argc, char **argv, int i, const char *word) {
  return argc > i && strcmp(argv[i], word) == 0;
}

int main(int argc, char **argv) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  kaon_matrix_operator_options stored = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  kaon_solver_options cg = KAON_SOLVER_OPTIONS_INIT;
  kaon_matrix *matrix;
  kaon_matrix_info info = KAON_MATRIX_INFO_INIT;
  kaon_operator *A;
  kaon_solver *solver;
  kaon_vector *b, *x;
  kaon_column_report done;
  if (argc < 2) return fprintf(stderr, "wait_times MATRIX [precision [issue [sync]]]\n"), 2;
  options.backend = KAON_BACKEND_CUDA;
  options.lab = &lab;
  lab.issue = is(argc, argv, 3, "persistent") ? KAON_ISSUE_PERSISTENT : KAON_ISSUE_WHILE;
  options.sync = is(argc, argv, 4, "polling") ? KAON_SYNC_POLLING : KAON_SYNC_BLOCKING;
  stored.precision = is(argc, argv, 2, "single") ? KAON_SINGLE : KAON_DOUBLE;
  must(kaon_context_create(&options, &ctx));
  must(kaon_matrix_read(ctx, argv[1], NULL, &matrix));
  must(kaon_matrix_operator(matrix, &stored, &A));
  const kaon_space *space = kaon_matrix_space(matrix);
  cg.method = KAON_CG;
  cg.sloppy = stored.precision;
  cg.tol = stored.precision == KAON_SINGLE ? 1e-5 : 1e-8;
  must(kaon_solver_create(A, 1, &cg, &solver));
  must(kaon_vector_create(ctx, space, stored.precision, 1, &b));
  must(kaon_vector_create(ctx, space, stored.precision, 1, &x));
  must(kaon_matrix_describe(matrix, &info));
  double *ones = malloc((size_t)info.rows * sizeof *ones);
  if (ones == NULL) return 2;
  for (int64_t i = 0; i < info.rows; i++) ones[i] = 1;
  must(kaon_vector_import(x, 0, ones, KAON_BASIS_UKQCD));
  must(kaon_operator_apply(A, KAON_PLAIN, x, b));
  must(kaon_vector_zero(x));
  free(ones);
  must(kaon_solver_solve(solver, b, x, &done, NULL));
  printf("%s, %s, clock %.3f us\n", argv[1], kaon_stop_reason_name(done.reason), cost_of_clock());
  for (int i = 0; i < 2; i++) time_solves(solver, b, x, done.iterations);
  counting = 1;
  time_solves(solver, b, x, done.iterations);
  counting = 0;
  const double clock = cost_of_clock();
  for (int i = 0; i < CALLS; i++)
    if (of[i].calls > 0)
      printf("  %-20s %5.2f calls a solve, %6.2f us each\n", names[i], (double)of[i].calls / SOLVES,
             of[i].cpu / (double)of[i].calls - clock);
  return 0;
}
