/* clover.c - clover blocks on a spinor, site by site, on the CPU (dslash_ops.h). */
#include "dslash/cpu/kernels.h"
#include "dslash/cpu/site.h"

static void clover_chunk(const kaon_clover_args *args, const site_plan *plan, int chunk,
                         double *partials) {
  const int64_t nblocks = args->stencil->nblocks;
  double *sums = NULL;
  site_late late = {.to = NULL};
  if (args->sum.state) kaon_partial_clear(partials, chunk, args->nrhs, 2);
  for (int64_t block = kaon_chunk_begin(nblocks, chunk);
       block < kaon_chunk_begin(nblocks, chunk + 1); block++)
    for (int k = 0; k < args->nrhs; k++) {
      if (!kaon_gate_open(&args->gate, k)) continue;
      if (args->sum.state) sums = kaon_partial(partials, chunk, k, args->nrhs, 2);
      for (int part = 0; part < KAON_PARTS; part++) {
        vspinor d;
        site_load(plan, args->in, block, part, k, &d);
        site_clover(plan, block, part, &d);
        for (int s = 0; s < 4; s++)
          for (int c = 0; c < 3; c++) d.s[s][c] = c_scale(d.s[s][c], v_set(0.5));
        site_drain_all(&late);
        site_finish(plan, block, part, k, &d, sums, &late);
      }
    }
  site_drain_all(&late);
}

void KAON_EXPORT(kaon_dslash_clover)(const kaon_launch *launch, const kaon_clover_args *args) {
  site_plan plan = site_plan_make(launch, args->stencil, args->nrhs, args->out, &args->sum);
  plan.clover = args->clover;
  plan.clover_scale = args->clover_scale;
  const int threads = launch->threads;
  const int64_t nblocks = args->stencil->nblocks;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; t++) {
    const int end = kaon_chunk_of_thread(nblocks, t + 1, threads);
    for (int chunk = kaon_chunk_of_thread(nblocks, t, threads); chunk < end; chunk++)
      clover_chunk(args, &plan, chunk, launch->partials);
    v_stream_fence();
  }
  kaon_reduce_finish(launch->partials, nblocks, args->nrhs, &args->gate, &args->sum, 2);
}
