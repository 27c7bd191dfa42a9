/* clover.c - clover blocks on a spinor, site by site, on the CPU (dslash_ops.h). */
#include "dslash/cpu/kernels.h"
#include "dslash/cpu/site.h"
#include "lib/cpu/team.h"

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

typedef struct clover_job {
  const kaon_clover_args *args;
  site_plan plan;
  double *partials;
} clover_job;

static void clover_share(const void *job_, int t, int threads) {
  const clover_job *j = job_;
  const int64_t nblocks = j->args->stencil->nblocks;
  const int end = kaon_chunk_of_thread(nblocks, t + 1, threads);
  for (int chunk = kaon_chunk_of_thread(nblocks, t, threads); chunk < end; chunk++)
    clover_chunk(j->args, &j->plan, chunk, j->partials);
  v_stream_fence();
}

void KAON_EXPORT(kaon_dslash_clover)(const kaon_launch *launch, const kaon_clover_args *args) {
  const int64_t nblocks = args->stencil->nblocks;
  clover_job j = {
      args, site_plan_make(launch, args->stencil, args->parity, args->nrhs, args->out, &args->sum),
      launch->partials};
  j.plan.clover = args->clover;
  j.plan.clover_scale = args->clover_scale;
  kaon_team_run(kaon_team_of(launch, 24 * KAON_W * nblocks * args->nrhs), clover_share, &j);
  kaon_reduce_finish(launch->partials, nblocks, args->nrhs, &args->gate, &args->sum, 2);
}
