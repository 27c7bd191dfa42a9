/* params.c - start and end as quda.h has them, and the parameter structs: defaults and printing.
 * A struct has one table of members and defaults for both. Members that no table names are 0. */
#include <float.h>
#include <string.h>

#include "ranks.h"
#include "state.h"

#define NO_INT QUDA_INVALID_ENUM
#define NO_DOUBLE DBL_MIN

/* ---- start and end ---- */

/* QUDA's order of ranks where the application has none: t runs fastest. */
static int rank_t_fastest(const int *coordinates, void *user) {
  const int *grid = user;
  int rank = coordinates[0];
  for (int d = 1; d < 4; d++) rank = grid[d] * rank + coordinates[d];
  return rank;
}

void initCommsGridQuda(int nDim, const int *dims, QudaCommsMap func, void *fdata) {
  kaon_quda_ranks *ranks = &kaon_quda()->ranks;
  if (kaon_quda()->ctx != NULL) return; /* as QUDA: the first call counts */
  if (nDim != 4)
    kaon_quda_check(__func__, kaon_quda_refuse(KAON_ERR_ARGUMENT,
                                               "the grid of ranks has %d directions, but must have "
                                               "4",
                                               nDim));
  memcpy(ranks->grid, dims, sizeof ranks->grid);
  ranks->rank_of = func != NULL ? func : rank_t_fastest;
  ranks->user = func != NULL ? fdata : ranks->grid;
}

void setMPICommHandleQuda(void *mycomm) {
  kaon_quda_keep_communicator(mycomm);
}

void qudaSetCommHandle(void *mycomm) {
  setMPICommHandleQuda(mycomm);
}

/* QMP, if the application has it, knows the grid of applications that do not call
 * initCommsGridQuda(), such as Chroma. */
extern int QMP_logical_topology_is_declared(void) __attribute__((weak));
extern int QMP_get_logical_number_of_dimensions(void) __attribute__((weak));
extern const int *QMP_get_logical_dimensions(void) __attribute__((weak));
extern int QMP_get_node_number_from(const int *coordinates) __attribute__((weak));

static int rank_of_qmp(const int *coordinates, void *user) {
  (void)user;
  return QMP_get_node_number_from(coordinates);
}

static void take_grid_of_qmp(void) {
  if (kaon_quda()->ranks.rank_of != NULL || QMP_get_node_number_from == NULL ||
      !QMP_logical_topology_is_declared())
    return;
  initCommsGridQuda(QMP_get_logical_number_of_dimensions(), QMP_get_logical_dimensions(),
                    rank_of_qmp, NULL);
}

/* kaon chooses the device by the rank on its node. */
void initQudaDevice(int device) {
  (void)device;
  take_grid_of_qmp();
  kaon_quda_check("initQuda", kaon_quda_start());
}

void initQudaMemory(void) {}

void initQuda(int device) {
  initQudaDevice(device);
  initQudaMemory();
}

void endQuda(void) {
  kaon_quda_end();
}

/* Widths of halos follow from the lattice. */
void updateR(void) {}

void setVerbosityQuda(QudaVerbosity verbosity, const char prefix[], FILE *outfile) {
  (void)prefix;
  (void)outfile;
  if (verbosity != QUDA_INVALID_VERBOSITY) kaon_quda()->verbosity = verbosity;
}

/* ---- tables: F(member, default), of members that kaon reads and whose default is not 0 ---- */

// clang-format off
#define GAUGE_TABLE(F)                                                                            \
  F(location, QUDA_CPU_FIELD_LOCATION) F(X[0], NO_INT) F(X[1], NO_INT) F(X[2], NO_INT)            \
  F(X[3], NO_INT) F(anisotropy, NO_DOUBLE) F(scale, 1.0) F(type, QUDA_INVALID_LINKS)              \
  F(gauge_order, QUDA_INVALID_GAUGE_ORDER) F(t_boundary, QUDA_INVALID_T_BOUNDARY)                 \
  F(cpu_prec, QUDA_INVALID_PRECISION) F(reconstruct_sloppy, QUDA_RECONSTRUCT_INVALID)             \
  F(return_result_gauge, 1)

#define INVERT_TABLE(F)                                                                           \
  F(input_location, QUDA_CPU_FIELD_LOCATION) F(output_location, QUDA_CPU_FIELD_LOCATION)          \
  F(dslash_type, QUDA_INVALID_DSLASH) F(inv_type, QUDA_INVALID_INVERTER) F(mass, NO_DOUBLE)       \
  F(kappa, NO_DOUBLE) F(m5, NO_DOUBLE) F(Ls, NO_INT) F(mu, NO_DOUBLE)                             \
  F(twist_flavor, QUDA_TWIST_INVALID) F(tol, NO_DOUBLE) F(tol_hq, NO_DOUBLE)                      \
  F(residual_type, QUDA_L2_RELATIVE_RESIDUAL) F(compute_true_res, 1) F(maxiter, NO_INT)           \
  F(num_src, 1) F(solution_type, QUDA_INVALID_SOLUTION) F(solve_type, QUDA_INVALID_SOLVE)         \
  F(matpc_type, QUDA_MATPC_INVALID) F(dagger, QUDA_DAG_INVALID)                                   \
  F(mass_normalization, QUDA_INVALID_NORMALIZATION) F(cpu_prec, QUDA_INVALID_PRECISION)           \
  F(cuda_prec, QUDA_INVALID_PRECISION) F(cuda_prec_sloppy, QUDA_INVALID_PRECISION)                \
  F(dirac_order, QUDA_INVALID_DIRAC_ORDER) F(gamma_basis, QUDA_INVALID_GAMMA_BASIS)               \
  F(clover_location, QUDA_CPU_FIELD_LOCATION) F(clover_cpu_prec, QUDA_INVALID_PRECISION)          \
  F(clover_order, QUDA_INVALID_CLOVER_ORDER) F(compute_clover_trlog, 1)                           \
  F(verbosity, QUDA_INVALID_VERBOSITY) F(gcrNkrylov, NO_INT)                                      \
  F(inv_type_precondition, QUDA_INVALID_INVERTER)

#define MULTIGRID_TABLE(F) F(n_level, NO_INT)

/* Of level i. */
#define LEVEL_TABLE(F)                                                                            \
  F(geo_block_size[i][0], NO_INT) F(geo_block_size[i][1], NO_INT)                                 \
  F(geo_block_size[i][2], NO_INT) F(geo_block_size[i][3], NO_INT) F(n_vec[i], NO_INT)             \
  F(precision_null[i], QUDA_SINGLE_PRECISION) F(nu_post[i], NO_INT)

#define NO_TABLE(F)
// clang-format on

/* ---- defaults, and printing of what differs from them ---- */

static void show(const char *member, int level, double value, double standard) {
  if (value == standard) return;
  if (level < 0)
    kaon_quda_print(QUDA_SILENT, "  %s = %.10g", member, value);
  else
    kaon_quda_print(QUDA_SILENT, "  %s = %.10g (level %d)", member, value, level);
}

#define SET(member, value) param.member = value;
#define SHOW(member, value) show(#member, -1, (double)param->member, (double)(value));
#define SHOW_LEVEL(member, value) show(#member, i, (double)param->member, (double)(value));

#define NEW(type, TABLE, MORE)        \
  type new##type(void) {              \
    type param;                       \
    memset(&param, 0, sizeof param);  \
    param.struct_size = sizeof param; \
    TABLE(SET) MORE return param;     \
  }
#define PRINT(type, TABLE, MORE)             \
  void print##type(type *param) {            \
    (void)param;                             \
    kaon_quda_print(QUDA_SILENT, #type ":"); \
    TABLE(SHOW) MORE                         \
  }

NEW(QudaGaugeParam, GAUGE_TABLE, )
PRINT(QudaGaugeParam, GAUGE_TABLE, )
NEW(QudaInvertParam, INVERT_TABLE, )
PRINT(QudaInvertParam, INVERT_TABLE, )
NEW(QudaEigParam, NO_TABLE, )
PRINT(QudaEigParam, NO_TABLE, )
NEW(QudaGaugeObservableParam, NO_TABLE, )
PRINT(QudaGaugeObservableParam, NO_TABLE, )
NEW(QudaBLASParam, NO_TABLE, )
PRINT(QudaBLASParam, NO_TABLE, )
NEW(QudaGaugeSmearParam, NO_TABLE, )
NEW(QudaMultigridParam, MULTIGRID_TABLE,
    for (int i = 0; i < QUDA_MAX_MG_LEVEL; i++){LEVEL_TABLE(SET)})
PRINT(
    QudaMultigridParam, MULTIGRID_TABLE,
    for (int i = 0; i < param->n_level && i < QUDA_MAX_MG_LEVEL; i++) {
      LEVEL_TABLE(SHOW_LEVEL)
    } if (param->invert_param != NULL) printQudaInvertParam(param->invert_param);)
