/* milc_start.c - start and end as MILC calls them, memory, and what its calls share (milc.h). */
#include <stdlib.h>
#include <string.h>

#include "milc.h"
#include "ranks.h"

/* ---- start and end ---- */

void qudaSetMPICommHandle(void *mycomm) {
  kaon_quda_keep_communicator(mycomm);
}

/* A second call with the same lattice changes nothing. */
static kaon_status check_lattice(const int *other) {
  const kaon_quda_state *state = kaon_quda();
  int have[4];
  for (int d = 0; d < 4; d++) have[d] = state->local[d] * state->ranks.grid[d];
  if (have[0] == 0 || memcmp(have, other, sizeof have) == 0) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "a lattice of %d x %d x %d x %d sites is in use, but this call has %d x "
                          "%d x %d x %d; call qudaFinalize() and qudaInit() between two lattices",
                          have[0], have[1], have[2], have[3], other[0], other[1], other[2],
                          other[3]);
}

static kaon_status set_layout(const QudaLayout_t *layout) {
  static const int one[4] = {1, 1, 1, 1};
  kaon_quda_state *state = kaon_quda();
  const int *ranks = layout->machsize != NULL ? layout->machsize : one;
  for (int d = 0; d < 4; d++)
    if (ranks[d] < 1 || layout->latsize[d] < 1 || layout->latsize[d] % (2 * ranks[d]) != 0)
      return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "%d ranks cannot divide %d sites in direction %d into parts with an "
                              "even number of sites; choose another lattice or grid of ranks",
                              ranks[d], layout->latsize[d], d);
  const kaon_status status = check_lattice(layout->latsize);
  if (status != KAON_OK) return status;
  if (state->ctx == NULL) {
    memcpy(state->ranks.grid, ranks, sizeof state->ranks.grid);
    state->ranks.rank_of = NULL; /* x runs fastest */
  }
  for (int d = 0; d < 4; d++) state->local[d] = layout->latsize[d] / state->ranks.grid[d];
  return kaon_quda_start();
}

void qudaSetLayout(QudaLayout_t layout) {
  kaon_quda_check(__func__, set_layout(&layout));
}

void qudaInit(QudaInitArgs_t input) {
  if (kaon_quda()->ctx == NULL || kaon_quda()->local[0] == 0)
    kaon_quda()->verbosity = input.verbosity;
  kaon_quda_check(__func__, set_layout(&input.layout));
}

void qudaFinalize(void) {
  kaon_quda_end();
}

/* kaon projects to U(3) without a choice of methods and limits. */
void qudaHisqParamsInit(QudaHisqParams_t hisq_params) {
  (void)hisq_params;
}

/* ---- memory ---- */

void *qudaAllocatePinned(size_t bytes) {
  void *memory;
  const kaon_status status = kaon_quda_allocate(bytes, &memory);
  if (status != KAON_OK) kaon_quda_ended(__func__, status, 1); /* ranks need not call it alike */
  return memory;
}

void qudaFreePinned(void *ptr) {
  free(ptr);
}

void *qudaAllocateManaged(size_t bytes) {
  return qudaAllocatePinned(bytes);
}

void qudaFreeManaged(void *ptr) {
  free(ptr);
}

/* ---- parameters ---- */

static kaon_status precision_of(const char *name, int number, QudaPrecision *precision) {
  *precision = number == 2 ? QUDA_DOUBLE_PRECISION : QUDA_SINGLE_PRECISION;
  if (kaon_quda()->local[0] == 0)
    return kaon_quda_refuse(KAON_ERR_STATE,
                            "this function was called before qudaInit(); call qudaInit() first");
  if (number == 1 || number == 2) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT, "%s is %d, but must be 1 (single) or 2 (double)", name,
                          number);
}

kaon_status kaon_quda_milc_links(int precision, QudaGaugeParam *param) {
  *param = newQudaGaugeParam();
  memcpy(param->X, kaon_quda()->local, sizeof param->X);
  param->type = QUDA_WILSON_LINKS;
  param->gauge_order = QUDA_MILC_GAUGE_ORDER;
  param->t_boundary = QUDA_PERIODIC_T;
  param->staggered_phase_type = QUDA_STAGGERED_PHASE_MILC;
  param->anisotropy = 1;
  return precision_of("external_precision", precision, &param->cpu_prec);
}

kaon_status kaon_quda_milc_solve(int external, int internal, int mixed, QudaInvertParam *param) {
  *param = newQudaInvertParam();
  kaon_status status = precision_of("external_precision", external, &param->cpu_prec);
  if (status == KAON_OK)
    status = precision_of("quda_precision", internal, &param->cuda_prec_sloppy);
  if (mixed == 1) param->cuda_prec_sloppy = QUDA_SINGLE_PRECISION;
  if (mixed == 2) param->cuda_prec_sloppy = QUDA_HALF_PRECISION;
  param->cuda_prec = QUDA_DOUBLE_PRECISION;
  param->clover_cpu_prec = param->cpu_prec;
  param->clover_order = QUDA_PACKED_CLOVER_ORDER;
  param->gamma_basis = QUDA_DEGRAND_ROSSI_GAMMA_BASIS;
  param->dirac_order = QUDA_DIRAC_ORDER;
  param->dagger = QUDA_DAG_NO;
  return status;
}

kaon_status kaon_quda_milc_targets(QudaInvertParam *param, double target, double fermilab) {
  param->tol = target;
  param->tol_hq = fermilab;
  param->residual_type = (QudaResidualType)((target > 0 ? QUDA_L2_RELATIVE_RESIDUAL : 0) |
                                            (fermilab > 0 ? QUDA_HEAVY_QUARK_RESIDUAL : 0));
  if (target >= 0 && fermilab >= 0 && target + fermilab > 0) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "target_residual is %g and target_fermilab_residual %g, but one must be "
                          "above 0 and none below it",
                          target, fermilab);
}

/* ---- links that are loaded already ---- */

uint64_t kaon_quda_milc_digest(const void *array, QudaPrecision precision, int sample,
                               uint64_t more) {
  enum { LANES = 8, SAMPLES = 4096 / LANES }; /* lanes hide the latency of the multiplication */
  const uint64_t odd = 0x9e3779b97f4a7c15u;
  if (array == NULL) return 0;
  const size_t groups = 72 * kaon_quda_sites(kaon_quda()->local) * (size_t)precision / 8 / LANES;
  size_t step = sample && groups > SAMPLES ? groups / SAMPLES | 1 : 1;
  if (step % 3 == 0) step += 2; /* a site has 9 groups, or half as many: take all parts of sites */
  uint64_t sum[LANES] = {1, 2, 3, 4, 5, 6, 7, 8}, digest = (more + 1) * 0xbf58476d1ce4e5b9u;
  for (size_t g = 0; g < groups; g += step) {
    uint64_t word[LANES];
    memcpy(word, (const char *)array + 8 * LANES * g, sizeof word);
    for (int i = 0; i < LANES; i++) sum[i] = (sum[i] ^ word[i]) * odd + 1;
  }
  for (int i = 0; i < LANES; i++) digest = (digest ^ sum[i] ^ sum[i] >> 29) * odd;
  return digest | 1;
}

kaon_status kaon_quda_milc_any(int mine, int *any) {
  double number = mine;
  const kaon_status status = kaon_quda_sum_ranks(&number);
  *any = number > 0;
  return status;
}

kaon_status kaon_quda_milc_load(const void *array, const QudaGaugeParam *param, uint64_t digest,
                                int fresh) {
  kaon_quda_links *links = &kaon_quda()->links[param->type];
  kaon_status status = kaon_quda_milc_any(fresh || digest == 0 || digest != links->digest, &fresh);
  if (status == KAON_OK && fresh) status = kaon_quda_load(array, param);
  if (status == KAON_OK) links->digest = digest;
  return status;
}
