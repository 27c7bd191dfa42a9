/* inner.c - matrices between the sites of a fifth dimension on the CPU (dslash_ops.h). */
#include "dslash/cpu/kernels.h"
#include "dslash/cpu/site.h"
#include "lib/cpu/team.h"

enum { HALF = 12 }; /* reals of half a spinor */

typedef struct inner_job {
  const kaon_inner_args *args;
  site_plan plan; /* its columns are those of a hop */
  double *partials;
} inner_job;

/* Row s: the sum over t, as chiralities. */
KAON_INLINE void inner_row(const kaon_inner_args *args, int s, vreal (*in)[2 * HALF], vreal *out) {
  const real *matrix = args->matrix;
  for (int i = 0; i < 2 * HALF; i++) out[i] = v_set(0);
  for (int t = 0; t < args->inner; t++)
    for (int c = 0; c < 2; c++) {
      const real *element = matrix + INNER_PARTS * kaon_inner_index(args->inner, c, s, t);
      if (element[0] != 0) inner_add(HALF, element, in[t] + c * HALF, out + c * HALF);
    }
}

/* All sites of the fifth dimension of column k. */
static void inner_site(const inner_job *j, int64_t block, int part, int k, double *sums,
                       site_late *late) {
  const kaon_inner_args *args = j->args;
  vreal in[KAON_INNER_MAX][2 * HALF];
  for (int t = 0; t < args->inner; t++) {
    site_load(&j->plan, args->in, block, part, t * args->nrhs + k, (vspinor *)in[t]);
    inner_split(HALF, in[t]);
  }
  for (int s = 0; s < args->inner; s++) {
    vspinor d;
    inner_row(args, s, in, (vreal *)&d);
    inner_join(HALF, args->b, (vreal *)&d);
    if (args->x.data != NULL) {
      vspinor x;
      site_load(&j->plan, args->x, block, part, s * args->nrhs + k, &x);
      spinor_add(&d, v_set((real)args->a), &x);
    }
    site_drain_all(late);
    site_finish(&j->plan, block, part, s * args->nrhs + k, &d, sums, late);
  }
}

static void inner_chunk(const void *job, int chunk, double *partial) {
  const inner_job *j = job;
  const kaon_inner_args *args = j->args;
  const int64_t nblocks = args->stencil->nblocks;
  site_late late = {.to = NULL};
  for (int64_t block = kaon_chunk_begin(nblocks, chunk);
       block < kaon_chunk_begin(nblocks, chunk + 1); block++)
    for (int k = 0; k < args->nrhs; k++) {
      if (!kaon_gate_open(&args->gate, k)) continue;
      double *sums = partial != NULL ? partial + 4 * k : NULL;
      for (int part = 0; part < KAON_PARTS; part++) inner_site(j, block, part, k, sums, &late);
    }
  site_drain_all(&late);
  v_stream_fence();
}

void KAON_EXPORT(kaon_dslash_inner)(const kaon_launch *launch, const kaon_inner_args *args) {
  const int64_t nblocks = args->stencil->nblocks;
  const int columns = args->nrhs * args->inner;
  inner_job j = {.args = args};
  j.plan = site_plan_make(launch, args->stencil, args->parity, columns, args->out, &args->sum);
  j.plan.w = args->w;
  j.plan.dot = args->sum.state != NULL && args->w.data != NULL && args->sum.slot[1] != KAON_NO_SLOT;
  const kaon_chunks chunks = {.nblocks = nblocks,
                              .nrhs = args->nrhs,
                              .nslots = 2,
                              .partials = args->sum.state != NULL ? launch->partials : NULL,
                              .work = inner_chunk,
                              .job = &j};
  kaon_team_run(kaon_team_of(launch, 24 * KAON_W * nblocks * columns), kaon_chunks_share, &chunks);
  kaon_reduce_finish(launch->partials, nblocks, args->nrhs, &args->gate, &args->sum, 2);
}
