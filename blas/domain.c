/* domain.c - calls the kernels that work on each domain separately. */
#include "blas/domain.h"

#include "blas/blas.h"
#include "blas/domain_ops.h"

int kaon_domains_supported(const kaon_context *ctx, kaon_precision precision) {
  return ctx->backend->domain[precision] != NULL;
}

size_t kaon_domains_work(const kaon_space *space, const kaon_domains *domains, int columns) {
  const size_t sites = (size_t)(space->nblocks * space->width);
  return (KAON_DOMAIN_WORK * sites + 2 * (size_t)domains->view.count) * (size_t)columns;
}

static kaon_domain_args arguments(const kaon_domains *domains, const kaon_vector *like,
                                  const kaon_pass *pass) {
  const kaon_space *s = like->space;
  return (kaon_domain_args){.shape = {.nblocks = s->nblocks,
                                      .width = s->width,
                                      .ncomp = s->ncomp,
                                      .nrhs = like->nrhs,
                                      .complex_space = s->complex_space},
                            .domains = domains->view,
                            .gate = kaon_pass_gate(pass)};
}

/* bytes: touched by the call. */
static kaon_status prepare(const kaon_vector *like, size_t bytes, kaon_launch *launch) {
  kaon_context *ctx = like->ctx;
  if (!kaon_domains_supported(ctx, like->precision))
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "domains: backend %s has no blocks smaller than a rank's part in precision %d "
                     "(0 double, 1 single, 2 half); leave the blocks' extents 0",
                     ctx->backend->name, (int)like->precision);
  KAON_TRY(kaon_launch_prepare(ctx, like->nrhs, bytes, launch));
  ctx->no_flush_needed = 1;
  return KAON_OK;
}

kaon_status kaon_domains_mr(const kaon_domains *domains, double relaxation, int fresh,
                            kaon_vector *x, kaon_vector *r, const kaon_vector *q, double *work,
                            const kaon_pass *pass) {
  kaon_launch launch;
  kaon_domain_args args = arguments(domains, r, pass);
  KAON_TRY(prepare(r, 3 * kaon_vector_needs(r->space, r->precision, r->nrhs), &launch));
  args.x = kaon_view_of(x);
  args.r = kaon_view_of(r);
  args.q = kaon_view_of(q);
  args.relaxation = relaxation;
  args.fresh = fresh;
  args.work = work;
  r->ctx->backend->domain[r->precision]->mr(&launch, &args);
  return KAON_OK;
}

kaon_status kaon_domains_mask(const kaon_domains *domains, int turn, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass) {
  kaon_launch launch;
  kaon_domain_args args = arguments(domains, y, pass);
  KAON_TRY(prepare(y, 2 * kaon_vector_needs(y->space, y->precision, y->nrhs), &launch));
  args.x = kaon_view_of(y);
  args.r = kaon_view_of(x);
  args.turn = turn;
  y->ctx->backend->domain[y->precision]->mask(&launch, &args);
  return KAON_OK;
}
