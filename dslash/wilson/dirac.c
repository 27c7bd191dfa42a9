/* dirac.c - the Wilson and clover operator M = A - kappa D on full-lattice spinors, and what it
 * shares with its reductions: operator objects, costs, log-determinant. Each parity is one fused
 * kernel: y_p = A_pp x_p - kappa D_pq x_q. M^dagger uses the hop's dagger, since A is Hermitian. */
#include <stdlib.h>

#include <kaon/context.h>

#include "dslash/operator/dirac_internal.h"
#include "lib/core/options_table.h"

kaon_status kaon_dirac_full(const kaon_dirac *dirac, kaon_mode mode, const kaon_vector *x,
                            kaon_vector *y, const kaon_pass *pass) {
  const kaon_dirac_fields *fields = dirac->fields;
  KAON_TRY(kaon_dirac_fields_check(fields));
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_vector xs[2], ys[2];
  for (int p = 0; p < 2; p++) {
    KAON_TRY(kaon_vector_view(x, (kaon_parity)p, &xs[p]));
    KAON_TRY(kaon_vector_view(y, (kaon_parity)p, &ys[p]));
  }
  for (int p = 0; p < 2; p++) {
    const kaon_fused hop = {1,
                            &xs[p],
                            -fields->family->kappa,
                            KAON_CLOVER_ON_X,
                            KAON_BLOCKS_TERM,
                            kaon_dirac_stencil(dirac)};
    KAON_TRY(kaon_dslash_hop(fields, p, mode, &hop, &xs[1 - p], &ys[p], &gate));
  }
  return kaon_pass_sum_separately(y, pass); /* a kernel covers one parity, but the sums are over
                                               both */
}

static kaon_status apply(kaon_operator *M, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  return kaon_dirac_full(kaon_dirac_of(M), mode, x, y, pass);
}

kaon_status kaon_dirac_reserve(kaon_operator *M, kaon_mode mode, int columns) {
  const kaon_dirac *dirac = kaon_dirac_of(M);
  (void)mode;
  return dirac->cut != NULL ? KAON_OK : kaon_dslash_reserve(dirac->fields, columns);
}

double kaon_dirac_traffic(const kaon_dirac_fields *fields, int clover, int columns, int spinors) {
  const double size = (double)kaon_precision_bytes(fields->precision);
  const double scale = fields->precision == KAON_HALF ? 4 : 0;
  const double block = clover ? KAON_CLOVER_REALS * size + scale : 0;
  return columns * spinors * (24 * size + scale) + 8 * (int)fields->reconstruct * size + block;
}

/* docs/conventions.md, "Cost". Flops of one updated site: 1320 for the hop, 48 for the x-pay, 504
 * for a clover block. Links are read once for all columns. */
static kaon_cost hop_cost(const kaon_dirac_fields *fields, int columns) {
  const int clover = fields->family->csw != 0;
  return (kaon_cost){.flops = 1320 + (clover ? 504 : 0),
                     .bytes = kaon_dirac_traffic(fields, clover, columns, 2) / columns};
}

/* Sites: those that M or the Schur complement acts on; hops: 1 or 2 for each. Besides the hops
 * there is one x-pay (48 flops) and, for a Schur complement with clover blocks, 144 flops. Totals:
 * 1368, 1872, 2688, 3792. */
kaon_cost kaon_dirac_cost(const kaon_dirac_fields *fields, int64_t sites, int hops, int columns) {
  const kaon_cost hop = hop_cost(fields, columns);
  const double rest = hops == 2 && fields->family->csw != 0 ? 144 : 48;
  return (kaon_cost){.flops = (double)sites * (hops * hop.flops + rest),
                     .bytes = (double)sites * hops * hop.bytes};
}

static kaon_cost cost(const kaon_operator *M, int columns) {
  return kaon_dirac_cost(kaon_dirac_of(M)->fields, M->space->nsites, 1, columns);
}

kaon_status kaon_dirac_operator_new(const kaon_operator_ops *ops, kaon_dirac_fields *fields,
                                    const kaon_space *space, kaon_operator **A) {
  kaon_context *ctx = fields->family->ctx;
  kaon_operator *made = calloc(1, sizeof *made);
  kaon_dirac *self = calloc(1, sizeof *self);
  if (made == NULL || self == NULL) {
    free(made);
    free(self);
    kaon_dirac_fields_release(&fields);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "dirac: out of host memory for an operator");
  }
  self->fields = fields;
  self->form = (kaon_even_odd_options)KAON_EVEN_ODD_OPTIONS_INIT;
  self->form.form = KAON_EVEN_ODD_NONE;
  *made = (kaon_operator){.ops = ops,
                          .ctx = ctx,
                          .space = space,
                          .precision = fields->precision,
                          .references = 1,
                          .self = self};
  *A = made;
  return KAON_OK;
}

/* The context outlives the fields because their lattice keeps it. */
void kaon_dirac_operator_destroy(kaon_operator *A) {
  kaon_dirac *self = kaon_dirac_of(A);
  kaon_vector_destroy(&self->scratch);
  kaon_dirac_cut_destroy(A->ctx, &self->cut);
  kaon_operator_destroy(&self->reduction.parent);
  kaon_dirac_fields_release(&self->fields);
  free(self);
  free(A);
}

/* The diagonal of A: 1 (Wilson), or that of the clover blocks. The blocks are in the chiral basis,
 * so both spins s and s + 2 have the mean of the two blocks' elements. */
static kaon_status diagonal(kaon_operator *M, kaon_vector *d) {
  const kaon_dirac_fields *fields = kaon_dirac_of(M)->fields;
  KAON_TRY(kaon_dirac_fields_check(fields));
  double *host = NULL;
  KAON_TRY(kaon_dirac_family_diagonal(fields->family, &host));
  kaon_status status = KAON_OK;
  for (int column = 0; column < d->nrhs && status == KAON_OK; column++)
    status = kaon_vector_import(d, column, host, KAON_BASIS_UKQCD);
  free(host);
  return status;
}

/* blocks of M: A on both parities */
static kaon_status operator_of(kaon_dirac_family *family, kaon_precision precision,
                               kaon_reconstruct reconstruct, kaon_operator **M) {
  kaon_dirac_fields *fields = NULL;
  KAON_TRY(kaon_dirac_fields_get(family, precision, reconstruct, 0,
                                 kaon_blocks_both(KAON_BLOCKS_TERM), &fields));
  return kaon_dirac_operator_new(&kaon_dirac_ops, fields, &family->lattice->spinors[KAON_FULL], M);
}

/* The twin is cut like M. */
static kaon_status make_twin(kaon_operator *M, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  const kaon_dirac *dirac = kaon_dirac_of(M);
  KAON_TRY(operator_of(dirac->fields->family, precision, reconstruct, twin));
  if (dirac->cut == NULL) return KAON_OK;
  const kaon_status status = kaon_dirac_cut_make(*twin, dirac->cut->block, NULL);
  if (status != KAON_OK) kaon_operator_destroy(twin);
  return status;
}

static kaon_status local_part(kaon_operator *M, const kaon_local *how, kaon_operator **local,
                              kaon_domains **domains) {
  *local = NULL;
  KAON_TRY(kaon_dirac_cut_check(M, how));
  kaon_status status =
      operator_of(kaon_dirac_of(M)->fields->family, how->precision, how->reconstruct, local);
  if (status == KAON_OK) status = kaon_dirac_cut_make(*local, how->block, domains);
  status = kaon_agree(M->ctx, status);
  if (status != KAON_OK) kaon_operator_destroy(local);
  return status;
}

kaon_status kaon_dirac_create(kaon_gauge *gauge, const kaon_dirac_options *options,
                              kaon_operator **M) {
  kaon_dirac_options own;
  if (M != NULL) *M = NULL;
  if (gauge == NULL || M == NULL)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "dirac: the gauge field and the address of the result are needed");
  kaon_dirac_family *family = NULL;
  kaon_status status = kaon_options_take(KAON_OPTIONS_DIRAC, options, &own);
  if (status != KAON_OK)
    return kaon_fail(kaon_gauge_lattice(gauge)->ctx, status, "%s", kaon_last_error(NULL));
  KAON_TRY(kaon_dirac_family_create(gauge, &own, &family));
  status = operator_of(family, own.precision, own.reconstruct, M);
  kaon_dirac_family_release(&family);
  return kaon_agree(kaon_gauge_lattice(gauge)->ctx, status);
}

int kaon_dirac_is(const kaon_operator *A) {
  return A->ops->destroy == kaon_dirac_operator_destroy;
}

static kaon_status not_dirac(const kaon_operator *M, const char *what) {
  if (M == NULL) return kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s: the operator is NULL", what);
  return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                   "%s: operator '%s' is no Wilson-like one; pass one made by kaon_dirac_create",
                   what, M->ops->name);
}

kaon_status kaon_dirac_update(kaon_operator *M) {
  if (M == NULL || !kaon_dirac_is(M)) return not_dirac(M, "dirac update");
  return kaon_dirac_family_update(kaon_dirac_of(M)->fields->family);
}

kaon_status kaon_dirac_clover_logdet(kaon_operator *M, kaon_parity parity, double *logdet,
                                     int64_t *negative) {
  if (M == NULL || !kaon_dirac_is(M)) return not_dirac(M, "clover logdet");
  if (logdet == NULL || (parity != KAON_EVEN && parity != KAON_ODD && parity != KAON_FULL))
    return kaon_fail(M->ctx, KAON_ERR_ARGUMENT,
                     "clover logdet: parity is %d, but must be 0 (even), 1 (odd) or 2 (both), and "
                     "a pointer to the result is needed",
                     (int)parity);
  const kaon_dirac_fields *fields = kaon_dirac_of(M)->fields;
  if (fields->family->csw == 0)
    return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                     "clover logdet: csw is 0, so there is no clover term (its determinant is 1)");
  KAON_TRY(kaon_dirac_fields_check(fields));
  kaon_clover_det det;
  KAON_TRY(kaon_dirac_family_det(fields->family, parity, &det));
  if (negative == NULL && det.negative % 2 != 0)
    return kaon_fail(
        M->ctx, KAON_ERR_ARGUMENT,
        "clover logdet: det A is negative (%lld blocks are, at kappa = %g, csw = %g), so it has no "
        "real logarithm; ask for the number of negative blocks together with log |det A|",
        (long long)det.negative, fields->family->kappa, fields->family->csw);
  *logdet = det.log_abs;
  if (negative != NULL) *negative = det.negative;
  return KAON_OK;
}

kaon_status kaon_dirac_operator_check(const kaon_operator *A) {
  return kaon_dirac_fields_check(kaon_dirac_of(A)->fields);
}

static const void *const capabilities[KAON_CAPABILITIES] = {[KAON_CAPABILITY_FREE_BLOCKS] =
                                                                &kaon_dirac_free_access};

const kaon_operator_ops kaon_dirac_ops = {.name = "dirac",
                                          .apply = apply,
                                          .capabilities = capabilities,
                                          .twin = make_twin,
                                          .local = local_part,
                                          .diagonal = diagonal,
                                          .check = kaon_dirac_operator_check,
                                          .reserve = kaon_dirac_reserve,
                                          .cost = cost,
                                          .destroy = kaon_dirac_operator_destroy};
