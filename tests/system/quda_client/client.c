/* An application in C99 that sets the structs of the interface and calls a function without a body, which ends it. */
#include <quda_milc_interface.h>
#include <quda_api.h>
#include <stdio.h>

int main(void) {
  QudaInvertParam solve;
  QudaInvertArgs_t args = {.evenodd = QUDA_EVEN_PARITY, .solver_type = QUDA_CG_INVERTER};
  solve.b_5[QUDA_MAX_DWF_LS - 1] = 1.5;
  solve.true_res[QUDA_MAX_MULTI_SRC - 1] = 0.5;
  solve.gamma_basis = QUDA_CHIRAL_GAMMA_BASIS;
  printf("orders %d %d, precision %d, method %d, boundary %d, members %g %g %d\n",
         QUDA_QDP_GAUGE_ORDER, QUDA_PACKED_CLOVER_ORDER, QUDA_DOUBLE_PRECISION, args.solver_type,
         QUDA_ANTI_PERIODIC_T, (double)solve.b_5[QUDA_MAX_DWF_LS - 1],
         solve.true_res[QUDA_MAX_MULTI_SRC - 1], solve.gamma_basis);
  fflush(stdout);
  qudaDDInvert(2, 2, 0.1, args, 1e-10, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  printf("it came back\n");
  return 0;
}
