/* richardson.c - the stationary iteration x += omega (b - A x), for A whose 1 - omega A contracts.
 * For the reduced systems of sweeps, (1 - Q) x = R b, it is the sweep's own iteration (omega = 1:
 * x' = Q x + R b).
 * Source: Richardson, Phil. Trans. R. Soc. A 210 (1911) 307.
 *   x += omega r;  q = A r;  r -= omega q
 * Storage: q. A step: 1 A; vectors read 4, written 2 by kernels 2. */
#include "solvers/engine/method.h"

enum { Q, VECTORS };

static kaon_status step(kaon_solver *s, int position) {
  kaon_vector *r = s->r, *q = s->work[Q];
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass residual = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, KAON_REC_MR_RESIDUAL);
  (void)position;
  KAON_TRY(kaon_blas_axpy(KAON_PLUS(KAON_S_RELAXATION), r, s->x_inner, &plain));
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, r, q, &plain));
  return kaon_blas_axpy(KAON_MINUS(KAON_S_RELAXATION), q, r, &residual);
}

const kaon_method_ops kaon_method_richardson = {
    .title = "Richardson's iteration",
    .option = "relaxation",
    .traits = KAON_METHOD_STATIONARY,
    .storage = {.vectors = VECTORS, .scratch = Q},
    .products = {.step = 1},
    .cost = {{1, 0, 4, 2}},
    .replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 0.1, 0.1}},
    .step = step,
};
