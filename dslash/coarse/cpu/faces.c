/* faces.c - packs what the neighbours' coarse hops read on this rank into messages, on the CPU
 * (coarse_ops.h): the numbers of a face's sites as they are. */
#include "dslash/coarse/cpu/kernels.h"

static void face_pack(const kaon_coarse_gather_args *a, int dir, int64_t place) {
  const kaon_faces *faces = a->stencil->faces;
  const int side = faces->group[dir & 3];
  const int64_t block = faces->sender[a->parity][dir][place];
  const int32_t *target = faces->target[a->parity][dir] + place * KAON_W;
  for (int k = 0; k < a->nrhs; k++) {
    const real *from = (const real *)a->in.data + (block * a->nrhs + k) * a->reals * KAON_W;
    if (!kaon_gate_open(&a->gate, k)) continue;
    for (int lane = 0; lane < KAON_W; lane++) {
      if (target[lane] < 0) continue;
      real *to =
          (real *)a->send[dir].data + kaon_ghost_index(target[lane], k, 0, a->nrhs, a->reals, side);
      for (int c = 0; c < a->reals; c++) to[c * side] = from[c * KAON_W + lane];
    }
  }
}

void KAON_EXPORT(kaon_coarse_gather)(const kaon_launch *launch,
                                     const kaon_coarse_gather_args *args) {
  const int threads = launch->threads;
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    if (!args->stencil->faces->partitioned[dir & 3]) continue;
    const int64_t n = args->stencil->faces->senders[args->parity][dir];
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t place = 0; place < n; place++) face_pack(args, dir, place);
  }
}
