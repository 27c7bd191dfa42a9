/* spmv_peers.c - see spmv_peers.h. Each product has its own description of the matrix and its own
 * workspace, looked through beforehand (cusparseSpMV_preprocess, cusparseSpMM_preprocess), as
 * NVIDIA recommends for a matrix that is multiplied again and again. */
#include "bench/measure/spmv_peers.h"

#define DISABLE_CUSPARSE_DEPRECATED
#include <cusparse.h>

typedef struct peer {
  fixture *fixture;
  cusparseHandle_t handle;
  cusparseSpMatDescr_t sparse;
  cudaDataType type;
  const void *one, *zero;
  void *workspace;
  cusparseDnVecDescr_t in, out; /* one column */
  cusparseSpMVAlg_t algorithm;
  cusparseDnMatDescr_t all_in, all_out; /* several */
  cusparseSpMMAlg_t of_several;
} peer;

static const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

static void sparse_ok(cusparseStatus_t status) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  fprintf(stderr, "spmv_times: %s\n", cusparseGetErrorString(status));
  exit(EXIT_FAILURE);
}

static peer peer_open(fixture *b, int type) {
  static const double numbers[] = {1, 0};
  static const float numbers_single[] = {1, 0};
  peer p = {.fixture = b, .type = type == DOUBLE ? CUDA_R_64F : CUDA_R_32F};
  p.one = type == DOUBLE ? (const void *)numbers : (const void *)numbers_single;
  p.zero = type == DOUBLE ? (const void *)(numbers + 1) : (const void *)(numbers_single + 1);
  sparse_ok(cusparseCreate(&p.handle));
  sparse_ok(cusparseSetStream(p.handle, b->ctx->queue));
  return p;
}

static void peer_close(peer *p) {
  sparse_ok(cusparseDestroy(p->handle));
}

static void take_workspace(peer *p, size_t bytes) {
  fixture_cuda_ok(cudaMalloc(&p->workspace, bytes > 0 ? bytes : 1));
}

static void take_csr(peer *p, const stored_rows *csr) {
  const kaon_csr *m = &p->fixture->csr;
  sparse_ok(cusparseCreateCsr(&p->sparse, m->rows, m->rows, m->start[m->rows], csr->arrays[0],
                              csr->arrays[1], csr->arrays[2], CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type));
}

static double csr_index(const fixture *b) {
  return 4.0 * (double)(b->csr.start[b->csr.rows] + b->csr.rows);
}

/* ---- one column ---- */

static void run_one(fixture *b, const void *way) {
  const peer *p = way;
  (void)b;
  sparse_ok(cusparseSpMV(p->handle, plain, p->one, p->sparse, p->in, p->zero, p->out, p->type,
                         p->algorithm, p->workspace));
}

static void one_column(peer *p, const char *form, int type, cusparseSpMVAlg_t algorithm) {
  fixture *b = p->fixture;
  const dense x = fixture_dense(b->x[0]), y = fixture_dense(b->y[0]);
  const product_row row = {.form = form, .type = type, .index = csr_index(b)};
  size_t bytes = 0;
  p->algorithm = algorithm;
  sparse_ok(cusparseCreateDnVec(&p->in, x.rows, x.data, p->type));
  sparse_ok(cusparseCreateDnVec(&p->out, y.rows, y.data, p->type));
  sparse_ok(cusparseSpMV_bufferSize(p->handle, plain, p->one, p->sparse, p->in, p->zero, p->out,
                                    p->type, algorithm, &bytes));
  take_workspace(p, bytes);
  sparse_ok(cusparseSpMV_preprocess(p->handle, plain, p->one, p->sparse, p->in, p->zero, p->out,
                                    p->type, algorithm, p->workspace));
  fixture_measure(b, &row, run_one, p, &y);
  fixture_cuda_ok(cudaFree(p->workspace));
  sparse_ok(cusparseDestroyDnVec(p->in));
  sparse_ok(cusparseDestroyDnVec(p->out));
}

static void csr_by_one(peer *p, int type, const stored_rows *csr) {
  static const struct {
    const char *name;
    cusparseSpMVAlg_t algorithm;
  } ways[] = {{"cusparse csr", CUSPARSE_SPMV_ALG_DEFAULT},
              {"cusparse csr 1", CUSPARSE_SPMV_CSR_ALG1},
              {"cusparse csr 2", CUSPARSE_SPMV_CSR_ALG2}};
  for (int i = 0; i < 3; i++) {
    take_csr(p, csr);
    one_column(p, ways[i].name, type, ways[i].algorithm);
    sparse_ok(cusparseDestroySpMat(p->sparse));
  }
}

/* ---- several columns ---- */

static void run_several(fixture *b, const void *way) {
  const peer *p = way;
  (void)b;
  sparse_ok(cusparseSpMM(p->handle, plain, plain, p->one, p->sparse, p->all_in, p->zero, p->all_out,
                         p->type, p->of_several, p->workspace));
}

/* What an algorithm does not offer is said to be that. */
static void several_columns(peer *p, const product_row *row, const dense *y) {
  size_t bytes = 0;
  cusparseStatus_t status =
      cusparseSpMM_bufferSize(p->handle, plain, plain, p->one, p->sparse, p->all_in, p->zero,
                              p->all_out, p->type, p->of_several, &bytes);
  if (status == CUSPARSE_STATUS_SUCCESS) {
    take_workspace(p, bytes);
    status = cusparseSpMM_preprocess(p->handle, plain, plain, p->one, p->sparse, p->all_in, p->zero,
                                     p->all_out, p->type, p->of_several, p->workspace);
    if (status == CUSPARSE_STATUS_SUCCESS) fixture_measure(p->fixture, row, run_several, p, y);
    fixture_cuda_ok(cudaFree(p->workspace));
  }
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  if (status != CUSPARSE_STATUS_NOT_SUPPORTED) sparse_ok(status);
  printf("%-10s %-11s %-25s by %d columns: not offered\n", p->fixture->name, type_names[row->type],
         row->form, y->columns);
}

static void csr_by_several(peer *p, int type, const stored_rows *csr, const dense *x,
                           const dense *y, int count) {
  static const struct {
    const char *name;
    cusparseSpMMAlg_t algorithm;
  } ways[] = {{"cusparse csr", CUSPARSE_SPMM_ALG_DEFAULT},
              {"cusparse csr 1", CUSPARSE_SPMM_CSR_ALG1},
              {"cusparse csr 2", CUSPARSE_SPMM_CSR_ALG2},
              {"cusparse csr 3", CUSPARSE_SPMM_CSR_ALG3}};
  const int by_rows = x->order == DENSE_ROWS;
  const cusparseOrder_t order = by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  const int64_t leading = by_rows ? x->columns : x->rows;
  char form[40];
  const product_row row = {
      .form = form, .type = type, .count = count, .index = csr_index(p->fixture)};
  sparse_ok(cusparseCreateDnMat(&p->all_in, x->rows, x->columns, leading, x->data, p->type, order));
  sparse_ok(
      cusparseCreateDnMat(&p->all_out, y->rows, y->columns, leading, y->data, p->type, order));
  for (int i = 0; i < 4; i++) {
    snprintf(form, sizeof form, "%s, %s", ways[i].name, by_rows ? "by rows" : "by columns");
    p->of_several = ways[i].algorithm;
    take_csr(p, csr);
    several_columns(p, &row, y);
    sparse_ok(cusparseDestroySpMat(p->sparse));
  }
  sparse_ok(cusparseDestroyDnMat(p->all_in));
  sparse_ok(cusparseDestroyDnMat(p->all_out));
}

/* x and y of most columns have room for those of fewer. */
static void several_counts(peer *p, int type, const stored_rows *csr) {
  fixture *b = p->fixture;
  const dense from = fixture_dense(b->x[0]);
  const size_t room = (size_t)from.rows * (size_t)from.size * MOST_COLUMNS;
  dense x = from, y = from;
  fixture_cuda_ok(cudaMalloc(&x.data, room));
  fixture_cuda_ok(cudaMalloc(&y.data, room));
  for (int n = 1; n < COUNTS; n++) {
    x.columns = y.columns = column_counts[n];
    for (int by_rows = 1; by_rows >= 0; by_rows--) {
      x.order = y.order = by_rows ? DENSE_ROWS : DENSE_COLUMNS;
      fixture_cuda_ok(dense_spread(b->ctx->queue, &from, &x));
      csr_by_several(p, type, csr, &x, &y, n);
    }
  }
  fixture_cuda_ok(cudaFree(x.data));
  fixture_cuda_ok(cudaFree(y.data));
}

/* ---- all ---- */

void peers_of_csr(fixture *b, int type, const stored_rows *csr) {
  peer p = peer_open(b, type);
  if (b->one_column) csr_by_one(&p, type, csr);
  if (!b->skewed) several_counts(&p, type, csr);
  peer_close(&p);
}

void peers_of_sell(fixture *b, int type, const stored_rows *sell) {
  const int64_t rows = b->csr.rows, blocks = (rows + 31) / 32;
  const size_t bytes = (size_t)(blocks + 1) * sizeof(int32_t);
  if (!b->one_column) return;
  peer p = peer_open(b, type);
  int32_t *entries = stored_room(bytes);
  fixture_ok(b->ctx->backend->memory->to_host(b->ctx, entries, sell->arrays[0], bytes));
  for (int64_t i = 0; i <= blocks; i++) entries[i] *= 32;
  void *device = stored_array(b->ctx, entries, bytes);
  if (cusparseCreateSlicedEll(&p.sparse, rows, rows, b->csr.start[rows], entries[blocks], 32,
                              device, sell->arrays[1], sell->arrays[2], CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                              p.type) == CUSPARSE_STATUS_SUCCESS) {
    one_column(&p, "cusparse sell", type, CUSPARSE_SPMV_SELL_ALG1);
    sparse_ok(cusparseDestroySpMat(p.sparse));
  }
  free(entries);
  kaon_pool_release(b->ctx, device);
  peer_close(&p);
}
