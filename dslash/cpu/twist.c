/* twist.c - the site term of twisted mass on a spinor, site by site, on the CPU (dslash_ops.h). */
#include "dslash/cpu/kernels.h"
#include "dslash/cpu/site.h"
#include "lib/cpu/team.h"

/* Plans for the result and A, and for C. */
typedef struct twist_job {
  const kaon_twist_args *args;
  site_plan plan, after;
  double *partials;
} twist_job;

static void twist_site(const twist_job *j, int64_t block, int part, int column, vspinor *d) {
  const kaon_twist_args *args = j->args;
  vspinor in;
  site_load(&j->plan, args->in, block, part, column, &in);
  *d = in;
  if (j->plan.clover != NULL) site_clover(&j->plan, block, part, d);
  spinor_scale(d, j->plan.clover != NULL ? 0.5 * args->p : args->p);
  twist_spinor(d, args->q, &in);
  if (j->after.clover != NULL) {
    site_clover(&j->after, block, part, d);
    spinor_scale(d, 0.5);
  }
  if (args->x.data == NULL) return;
  vspinor x;
  site_load(&j->plan, args->x, block, part, column, &x);
  spinor_add(d, v_set((real)args->a), &x);
}

static void twist_chunk(const twist_job *j, int chunk) {
  const kaon_twist_args *args = j->args;
  const int64_t nblocks = args->stencil->nblocks;
  double *sums = NULL;
  site_late late = {.to = NULL};
  if (args->sum.state) kaon_partial_clear(j->partials, chunk, args->nrhs, 2);
  for (int64_t block = kaon_chunk_begin(nblocks, chunk);
       block < kaon_chunk_begin(nblocks, chunk + 1); block++)
    for (int k = 0; k < args->nrhs; k++) {
      if (!kaon_gate_open(&args->gate, k)) continue;
      if (args->sum.state) sums = kaon_partial(j->partials, chunk, k, args->nrhs, 2);
      for (int part = 0; part < KAON_PARTS; part++) {
        vspinor d;
        twist_site(j, block, part, k, &d);
        site_drain_all(&late);
        site_finish(&j->plan, block, part, k, &d, sums, &late);
      }
    }
  site_drain_all(&late);
}

static void twist_share(const void *job, int t, int threads) {
  const twist_job *j = job;
  const int64_t nblocks = j->args->stencil->nblocks;
  const int end = kaon_chunk_of_thread(nblocks, t + 1, threads);
  for (int chunk = kaon_chunk_of_thread(nblocks, t, threads); chunk < end; chunk++)
    twist_chunk(j, chunk);
  v_stream_fence();
}

void KAON_EXPORT(kaon_dslash_twist)(const kaon_launch *launch, const kaon_twist_args *args) {
  const int64_t nblocks = args->stencil->nblocks;
  twist_job j = {.args = args, .partials = launch->partials};
  j.plan = site_plan_make(launch, args->stencil, args->parity, args->nrhs, args->out, &args->sum);
  j.plan.w = args->w;
  j.plan.dot = args->sum.state != NULL && args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  j.after = j.plan;
  j.plan.clover = args->term;
  j.plan.clover_scale = args->term_scale;
  j.after.clover = args->after;
  j.after.clover_scale = args->after_scale;
  kaon_team_run(kaon_team_of(launch, 24 * KAON_W * nblocks * args->nrhs), twist_share, &j);
  kaon_reduce_finish(launch->partials, nblocks, args->nrhs, &args->gate, &args->sum, 2);
}
