/* direct_cudss.c - cuDSS as a direct solver (direct.h). Its matrices refer to arrays on the device.
 */
#include <cudss.h>
#include <stdlib.h>

#include "bench/papers/direct.h"

typedef struct cudss_job {
  cudssHandle_t handle;
  cudssConfig_t config;
  cudssData_t data;
  cudssMatrix_t A, x, b;
  void *memory[5]; /* starts, columns, values, b, x */
} cudss_job;

static int to_device(void **device, const void *host, size_t bytes) {
  return cudaMalloc(device, bytes) == cudaSuccess &&
         (host == NULL || cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice) == cudaSuccess);
}

static int cudss_open(cudss_job *job, const direct_system *s, int32_t *start) {
  const size_t rows = (size_t)s->rows, entries = (size_t)s->start[s->rows];
  for (size_t i = 0; i <= rows; i++) start[i] = (int32_t)s->start[i];
  if (!to_device(&job->memory[0], start, (rows + 1) * sizeof *start) ||
      !to_device(&job->memory[1], s->column, entries * sizeof *s->column) ||
      !to_device(&job->memory[2], s->value, entries * sizeof *s->value) ||
      !to_device(&job->memory[3], s->b, rows * sizeof *s->b) ||
      !to_device(&job->memory[4], NULL, rows * sizeof *s->x))
    return 0;
  if (cudssCreate(&job->handle) != CUDSS_STATUS_SUCCESS ||
      cudssConfigCreate(&job->config) != CUDSS_STATUS_SUCCESS ||
      cudssDataCreate(job->handle, &job->data) != CUDSS_STATUS_SUCCESS)
    return 0;
  return cudssMatrixCreateDn(&job->b, s->rows, 1, s->rows, job->memory[3], CUDA_R_64F,
                             CUDSS_LAYOUT_COL_MAJOR) == CUDSS_STATUS_SUCCESS &&
         cudssMatrixCreateDn(&job->x, s->rows, 1, s->rows, job->memory[4], CUDA_R_64F,
                             CUDSS_LAYOUT_COL_MAJOR) == CUDSS_STATUS_SUCCESS &&
         cudssMatrixCreateCsr(&job->A, s->rows, s->rows, (int64_t)entries, job->memory[0], NULL,
                              job->memory[1], job->memory[2], CUDA_R_32I,
#if CUDSS_VERSION >= 10000 /* the type of starts differs from that of columns */
                              CUDA_R_32I,
#endif
                              CUDA_R_64F, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL,
                              CUDSS_BASE_ZERO) == CUDSS_STATUS_SUCCESS;
}

static void cudss_close(cudss_job *job) {
  if (job->A != NULL) cudssMatrixDestroy(job->A);
  if (job->x != NULL) cudssMatrixDestroy(job->x);
  if (job->b != NULL) cudssMatrixDestroy(job->b);
  if (job->data != NULL) cudssDataDestroy(job->handle, job->data);
  if (job->config != NULL) cudssConfigDestroy(job->config);
  if (job->handle != NULL) cudssDestroy(job->handle);
  for (int i = 0; i < 5; i++) cudaFree(job->memory[i]);
}

static const char *cudss(const direct_system *s) {
  static const int phases[] = {CUDSS_PHASE_ANALYSIS, CUDSS_PHASE_FACTORIZATION, CUDSS_PHASE_SOLVE};
  cudss_job job = {NULL, NULL, NULL, NULL, NULL, NULL, {NULL}};
  if (s->start[s->rows] > INT32_MAX) return "its indices have 32 bits here";
  int32_t *start = malloc((size_t)(s->rows + 1) * sizeof *start);
  int good = start != NULL && cudss_open(&job, s, start);
  for (int i = 0; i < 3 && good; i++)
    good = cudssExecute(job.handle, phases[i], job.config, job.data, job.A, job.x, job.b) ==
           CUDSS_STATUS_SUCCESS;
  good = good && cudaMemcpy(s->x, job.memory[4], (size_t)s->rows * sizeof *s->x,
                            cudaMemcpyDeviceToHost) == cudaSuccess;
  cudss_close(&job);
  free(start);
  return good ? NULL : "it failed";
}

const direct_solver direct_cudss = {"cudss", 1, cudss};
