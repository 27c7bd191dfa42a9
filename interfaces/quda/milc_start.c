/* milc_start.c - start and end as MILC calls them, and memory. Contract: milc.h. */
#include <stdlib.h>
#include <string.h>

#include "milc.h"

static int local[4]; /* extents of a rank's part; 0: no layout */

/* ---- start and end ---- */

void qudaSetMPICommHandle(void *mycomm) {
  kaon_quda()->ranks.communicator = mycomm;
}

static kaon_status set_layout(const QudaLayout_t *layout) {
  kaon_quda_state *state = kaon_quda();
  for (int d = 0; d < 4; d++) {
    const int ranks = layout->machsize != NULL ? layout->machsize[d] : 1;
    if (ranks < 1 || layout->latsize[d] < 1 || layout->latsize[d] % (2 * ranks) != 0)
      return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "%d ranks cannot divide %d sites in direction %d into parts with an "
                              "even number of sites; choose another lattice or grid of ranks",
                              ranks, layout->latsize[d], d);
  }
  for (int d = 0; d < 4; d++) {
    if (state->ctx == NULL)
      state->ranks.grid[d] = layout->machsize != NULL ? layout->machsize[d] : 1;
    local[d] = layout->latsize[d] / state->ranks.grid[d];
  }
  if (state->ctx == NULL) state->ranks.rank_of = NULL; /* x runs fastest */
  return kaon_quda_start();
}

void qudaSetLayout(QudaLayout_t layout) {
  kaon_quda_check(__func__, set_layout(&layout));
}

void qudaInit(QudaInitArgs_t input) {
  if (kaon_quda()->ctx != NULL && local[0] > 0) return;
  kaon_quda()->verbosity = input.verbosity;
  kaon_quda_check(__func__, set_layout(&input.layout));
}

void qudaFinalize(void) {
  kaon_quda_end();
  memset(local, 0, sizeof local);
}

/* kaon projects to U(3) without a choice of methods and limits. */
void qudaHisqParamsInit(QudaHisqParams_t hisq_params) {
  (void)hisq_params;
}

/* ---- memory ---- */

static void *allocate(const char *function, size_t bytes) {
  void *memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL)
    kaon_quda_ended(function, kaon_quda_refuse(KAON_ERR_MEMORY, "no room for %zu bytes", bytes), 1);
  return memory;
}

void *qudaAllocatePinned(size_t bytes) {
  return allocate(__func__, bytes);
}

void qudaFreePinned(void *ptr) {
  free(ptr);
}

void *qudaAllocateManaged(size_t bytes) {
  return allocate(__func__, bytes);
}

void qudaFreeManaged(void *ptr) {
  free(ptr);
}

/* ---- what calls share ---- */

kaon_status kaon_quda_milc_lattice(kaon_boundary boundary, kaon_lattice **lattice) {
  if (local[0] == 0) return kaon_quda_refuse(KAON_ERR_STATE, "qudaInit() must be called first");
  return kaon_quda_lattice(local, boundary, lattice);
}

const int *kaon_quda_milc_extents(void) {
  return local;
}

int64_t kaon_quda_milc_sites(void) {
  return (int64_t)local[0] * local[1] * local[2] * local[3];
}

static kaon_status check_precision(const char *name, int number) {
  if (number == 1 || number == 2) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT, "%s is %d, but must be 1 (single) or 2 (double)", name,
                          number);
}

kaon_status kaon_quda_milc_precisions(int external, int internal, int mixed,
                                      kaon_quda_milc_call *call) {
  kaon_status status = check_precision("external_precision", external);
  if (status == KAON_OK) status = check_precision("quda_precision", internal);
  if (status != KAON_OK) return status;
  call->host = external == 2 ? KAON_DOUBLE : KAON_SINGLE;
  call->sloppy = internal == 2 ? KAON_DOUBLE : KAON_SINGLE;
  if (mixed == 1) call->sloppy = KAON_SINGLE;
  if (mixed == 2) call->sloppy = KAON_HALF;
  return KAON_OK;
}

kaon_status kaon_quda_milc_parity(QudaParity parity, kaon_quda_milc_call *call) {
  if (parity != QUDA_EVEN_PARITY && parity != QUDA_ODD_PARITY)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "evenodd is %d, but must be QUDA_EVEN_PARITY (%d) or QUDA_ODD_PARITY "
                            "(%d); call twice for both parities",
                            (int)parity, (int)QUDA_EVEN_PARITY, (int)QUDA_ODD_PARITY);
  call->parity = parity == QUDA_EVEN_PARITY ? KAON_EVEN : KAON_ODD;
  return KAON_OK;
}

uint64_t kaon_quda_milc_digest(const void *array, int64_t reals, kaon_precision precision,
                               int sample) {
  enum { LANES = 8, SAMPLES = 4096 / LANES }; /* lanes hide the latency of the multiplication */
  const int64_t words = reals * (precision == KAON_DOUBLE ? 8 : 4) / 8;
  const int64_t groups = words / LANES;
  int64_t step = sample && groups > SAMPLES ? groups / SAMPLES | 1 : 1;
  if (step % 3 == 0) step += 2; /* a site has 9 groups, or half as many: take all parts of sites */
  uint64_t sum[LANES] = {1, 2, 3, 4, 5, 6, 7, 8}, digest = 0;
  for (int64_t g = 0; g < groups; g += step) {
    uint64_t word[LANES];
    memcpy(word, (const char *)array + 8 * LANES * g, sizeof word);
    for (int i = 0; i < LANES; i++) sum[i] = (sum[i] ^ word[i]) * 0x9e3779b97f4a7c15u + 1;
  }
  for (int i = 0; i < LANES; i++) digest = (digest ^ sum[i] ^ sum[i] >> 29) * 0x9e3779b97f4a7c15u;
  return digest;
}

kaon_status kaon_quda_milc_any(int mine, int *any) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  const double number = mine;
  kaon_status status = kaon_context_query(kaon_quda()->ctx, &info);
  *any = mine;
  if (status != KAON_OK || info.ranks == 1) return status;
  double *all = malloc(sizeof *all * (size_t)info.ranks);
  if (all == NULL) return kaon_quda_refuse(KAON_ERR_MEMORY, "no room for %d ranks", info.ranks);
  status = kaon_context_gather(kaon_quda()->ctx, &number, 1, all);
  for (int r = 0; status == KAON_OK && r < info.ranks; r++) *any |= all[r] != 0;
  free(all);
  return status;
}

void kaon_quda_warn(const char *function, const kaon_column_report *column, double tol) {
  if (column->reason == KAON_CONVERGED) return;
  kaon_quda_print(
      QUDA_SUMMARIZE, "kaon: %s: %s after %d steps with a residual of %.3e; %.3e was asked for",
      function, kaon_stop_reason_name(column->reason), column->iterations, column->residual, tol);
}

/* ---- heavy-quark residual ---- */

/* r = b - (A + sigma) x, in vectors with a column for each of x. */
static kaon_status residual_of(kaon_operator *A, const double *sigma, const kaon_vector *b,
                               const kaon_vector *x, kaon_vector *Ax, kaon_vector *r) {
  const int columns = kaon_vector_columns(x), sources = kaon_vector_columns(b);
  kaon_status status = kaon_operator_apply(A, KAON_PLAIN, x, Ax);
  for (int k = 0; k < columns && status == KAON_OK; k++)
    status = kaon_vector_copy_columns(r, k, b, sources == columns ? k : 0, 1);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, Ax, r);
  if (status != KAON_OK || sigma == NULL) return status;
  double(*factor)[2] = calloc((size_t)columns, sizeof *factor);
  if (factor == NULL) return kaon_quda_refuse(KAON_ERR_MEMORY, "no room for %d shifts", columns);
  for (int k = 0; k < columns; k++) factor[k][0] = -sigma[k];
  status = kaon_vector_axpy_columns((const double(*)[2])factor, x, r);
  free(factor);
  return status;
}

kaon_status kaon_quda_heavy_quark(kaon_operator *A, const double *sigma, const kaon_vector *b,
                                  const kaon_vector *x, double *residual) {
  kaon_vector *Ax = NULL, *r = NULL;
  const kaon_precision precision = kaon_vector_precision(x);
  const int columns = kaon_vector_columns(x);
  kaon_context *ctx = kaon_quda()->ctx;
  kaon_status status = kaon_vector_create(ctx, kaon_vector_space(x), precision, columns, &Ax);
  if (status == KAON_OK)
    status = kaon_vector_create(ctx, kaon_vector_space(x), precision, columns, &r);
  if (status == KAON_OK) status = residual_of(A, sigma, b, x, Ax, r);
  if (status == KAON_OK) status = kaon_vector_heavy_quark(r, x, residual);
  kaon_vector_destroy(&Ax);
  kaon_vector_destroy(&r);
  return status;
}
