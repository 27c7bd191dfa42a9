/* domain.c - work by Schwarz domains on the CPU (blas/domain_ops.h), one table for each instruction
 * set and precision.
 * A step of minimal residual reads the fields in storage order twice. The first pass writes the
 * products of each site to `work`. Then each domain adds up its products in double, in the order of
 * its site list. In the second pass every lane uses the step length of its domain. So the bits of a
 * domain depend neither on the number of threads nor on other domains. */
#include <string.h>

#include "blas/domain_ops.h"
#include "blas/cpu/unit.h"
#include "lib/cpu/reduce.h"
#include "lib/math/steps/domain_step.h"

enum { X, R, Q };

typedef struct domain_plan {
  const kaon_domain_args *args;
  kaon_update_args views; /* for unit_at */
  double *alpha;          /* [(domain * nrhs + column) * 2] */
} domain_plan;

static domain_plan make_plan(const kaon_domain_args *args) {
  domain_plan plan = {.args = args};
  const kaon_shape *s = &args->shape;
  plan.views.shape = *s;
  plan.views.v[X] = args->x;
  plan.views.v[R] = args->r;
  plan.views.v[Q] = args->q;
  if (args->work != NULL)
    plan.alpha = args->work + KAON_DOMAIN_WORK * s->nblocks * s->width * s->nrhs;
  return plan;
}

/* For a block and column: |q|^2, Re and Im of conj(q) r, W values each. */
KAON_INLINE double *products_at(const domain_plan *plan, int64_t block, int column) {
  return plan->args->work + (block * plan->args->shape.nrhs + column) * KAON_DOMAIN_WORK * KAON_W;
}

/* Writes the sums of a part, lane by lane, in double. u and v are the factors of the products. */
static void leave_lanes(double *to, accumulator a, const unit *u, const unit *v) {
#if KAON_IS_HALF
  const vwide lanes = w_mul(w_from(a), w_mul(w_from(u->step), w_from(v->step)));
#else
  const vwide lanes = a;
  (void)u, (void)v;
#endif
  memcpy(to, &lanes, KAON_VL * sizeof *to);
}

static void site_products(const domain_plan *plan, int64_t block, int column) {
  const unit r = unit_at(&plan->views, R, block, column);
  const unit q = unit_at(&plan->views, Q, block, column);
  const int ncomp = plan->args->shape.ncomp, whole = plan->args->shape.complex_space;
  double *to = products_at(plan, block, column);
  for (int part = 0; part < KAON_PARTS; part++) {
    accumulator norm = sum_zero(), re = norm, im = norm;
    for (int c = 0; c < ncomp; c++) {
      const int64_t i = c * KAON_W + part * KAON_VL;
      const factor a = sum_load(&q, i);
      norm = sum_fma(a, a, norm);
      re = sum_fma(a, sum_load(&r, i), re);
      if (!whole) continue;
      if (c % 2 == 0)
        im = sum_fma(a, sum_load(&r, i + KAON_W), im);
      else
        im = sum_fnma(a, sum_load(&r, i - KAON_W), im);
    }
    leave_lanes(to + part * KAON_VL, norm, &q, &q);
    leave_lanes(to + KAON_W + part * KAON_VL, re, &q, &r);
    leave_lanes(to + 2 * KAON_W + part * KAON_VL, im, &q, &r);
  }
}

static void domain_step(const domain_plan *plan, int domain, int column) {
  const kaon_domain_view *d = &plan->args->domains;
  double norm = 0, re = 0, im = 0;
  for (int64_t i = d->first[domain]; i < d->first[domain + 1]; i++) {
    const int32_t site = d->list[i];
    const double *p = products_at(plan, site / KAON_W, column) + site % KAON_W;
    norm += p[0];
    re += p[KAON_W];
    im += p[2 * KAON_W];
  }
  kaon_domain_length(plan->args->relaxation, norm, re, im,
                     plan->alpha + ((int64_t)domain * plan->args->shape.nrhs + column) * 2);
}

/* The step length of each lane; 0 in masked lanes. */
static vcomplex lane_steps(const domain_plan *plan, int64_t block, int part, int column) {
  real re[KAON_VL] __attribute__((aligned(64))), im[KAON_VL] __attribute__((aligned(64)));
  for (int l = 0; l < KAON_VL; l++) {
    const int64_t domain = plan->args->domains.domain[block * KAON_W + part * KAON_VL + l];
    re[l] = im[l] = 0;
    if (domain < 0) continue;
    const double *alpha = plan->alpha + (domain * plan->args->shape.nrhs + column) * 2;
    re[l] = (real)alpha[0];
    im[l] = (real)alpha[1];
  }
  return (vcomplex){v_load_real(re), v_load_real(im)};
}

/* x += a r (or x = a r), r -= a q. */
KAON_INLINE void update_part(unit *x, unit *r, const unit *q, vcomplex a, int part, int ncomp,
                             const int fresh) {
  const vcomplex zero = {v_set(0), v_set(0)};
  for (int c = 0; c < ncomp; c += 2) {
    const int pair = c + 1 < ncomp;
    const int64_t i = c * KAON_W + part * KAON_VL;
    const vcomplex old = unit_pair(r, i, pair), image = unit_pair(q, i, pair);
    vcomplex sum, rest;
    domain_pair(a, fresh ? zero : unit_pair(x, i, pair), old, image, &sum, &rest);
    unit_store(x, i, sum.re);
    unit_store(r, i, rest.re);
    if (!pair) continue;
    unit_store(x, i + KAON_W, sum.im);
    unit_store(r, i + KAON_W, rest.im);
  }
}

static void domain_update(const domain_plan *plan, int64_t block, int column) {
  unit x = unit_at(&plan->views, X, block, column), r = unit_at(&plan->views, R, block, column);
  const unit q = unit_at(&plan->views, Q, block, column);
  const int ncomp = plan->args->shape.ncomp;
#if KAON_IS_HALF
  scratch results[2];
  x.target = results[0];
  r.target = results[1];
#endif
  for (int part = 0; part < KAON_PARTS; part++) {
    const vcomplex a = lane_steps(plan, block, part, column);
    if (plan->args->fresh)
      update_part(&x, &r, &q, a, part, ncomp, 1);
    else
      update_part(&x, &r, &q, a, part, ncomp, 0);
  }
#if KAON_IS_HALF
  quantise_store(x.data, x.scale, x.target, ncomp, x.largest);
  quantise_store(r.data, r.scale, r.target, ncomp, r.largest);
#endif
}

/* x = r in the lanes of domains whose turn it is, else 0. Copies bits. */
static void mask(const domain_plan *plan, int64_t block, int column) {
  const kaon_domain_view *d = &plan->args->domains;
  const unit x = unit_at(&plan->views, X, block, column),
             r = unit_at(&plan->views, R, block, column);
  int keep[KAON_W];
  for (int l = 0; l < KAON_W; l++) {
    const int32_t domain = d->domain[block * KAON_W + l];
    keep[l] = domain >= 0 && d->turn[domain] == plan->args->turn;
#if KAON_IS_HALF
    x.scale[l] = keep[l] ? r.scale[l] : 0;
#endif
  }
  for (int c = 0; c < plan->args->shape.ncomp; c++)
    for (int l = 0; l < KAON_W; l++) x.data[c * KAON_W + l] = keep[l] ? r.data[c * KAON_W + l] : 0;
}

typedef void block_work(const domain_plan *plan, int64_t block, int column);

typedef struct domain_job {
  const domain_plan *plan;
  block_work *work;
} domain_job;

static void block_share(const void *job_, int t, int threads) {
  const domain_job *j = job_;
  const kaon_domain_args *args = j->plan->args;
  const int32_t *blocks = args->blocks;
  const int64_t count = blocks != NULL ? args->nblocks : args->shape.nblocks;
  for (int64_t i = count * t / threads; i < count * (t + 1) / threads; i++)
    for (int k = 0; k < args->shape.nrhs; k++)
      if (kaon_gate_open(&args->gate, k)) j->work(j->plan, blocks != NULL ? blocks[i] : i, k);
}

static void every_block(int threads, const domain_plan *plan, block_work *work) {
  const domain_job j = {plan, work};
  kaon_team_run(threads, block_share, &j);
}

static void domain_share(const void *plan_, int t, int threads) {
  const domain_plan *plan = plan_;
  const kaon_domain_args *args = plan->args;
  const int32_t *list = args->list;
  const int nrhs = args->shape.nrhs;
  const int64_t count = (int64_t)(list != NULL ? args->listed : args->domains.count) * nrhs;
  const int end = (int)(count * (t + 1) / threads);
  for (int i = (int)(count * t / threads); i < end; i++)
    if (kaon_gate_open(&args->gate, i % nrhs))
      domain_step(plan, list != NULL ? list[i / nrhs] : i / nrhs, i % nrhs);
}

static void domain_mr(const kaon_launch *launch, const kaon_domain_args *args) {
  const domain_plan plan = make_plan(args);
  const int threads = unit_team(launch, &args->shape);
  every_block(threads, &plan, site_products);
  kaon_team_run(threads, domain_share, &plan);
  every_block(threads, &plan, domain_update);
}

static void domain_mask(const kaon_launch *launch, const kaon_domain_args *args) {
  const domain_plan plan = make_plan(args);
  every_block(unit_team(launch, &args->shape), &plan, mask);
}

const kaon_domain_ops KAON_EXPORT(kaon_domain_ops) = {domain_mr, domain_mask};
