/* clover_import.c - the clover term of an application: from its host array to clover blocks in
 * double. Order and basis of the application are converted here and nowhere else. */
#include <math.h>
#include <stdlib.h>

#include "dslash/wilson/wilson.h"
#include "lib/comm/comm.h"
#include "lib/core/threads.h"
#include "lib/vector/vector_transfer.h"

static kaon_status check(kaon_context *ctx, const kaon_host_clover *term) {
  if (term->reals == NULL)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "clover: the array of the given term is NULL");
  if (term->order != KAON_ORDER_NATURAL && term->order != KAON_ORDER_MILC)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "clover: the given term has order %d, but its sites can be in order %d "
                     "(natural) or %d (MILC: even sites first)",
                     (int)term->order, (int)KAON_ORDER_NATURAL, (int)KAON_ORDER_MILC);
  if (term->precision != KAON_DOUBLE && term->precision != KAON_SINGLE)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "clover: the given term has precision %d, but must be double (0) or single "
                     "(1)",
                     (int)term->precision);
  return kaon_check_memory_side(ctx, KAON_SIDE_ANY, term->reals, "clover: the given term");
}

/* Number of a site in the application's order. */
static int64_t number_of(const kaon_lattice *lattice, kaon_gauge_order order, int parity,
                         const int x[4]) {
  const int *n = lattice->extents;
  const int64_t natural = x[0] + n[0] * (x[1] + n[1] * (x[2] + (int64_t)n[2] * x[3]));
  return order == KAON_ORDER_NATURAL ? natural : parity * lattice->stencil.sites[0] + natural / 2;
}

/* The 36 reals of one block, in double. Returns 0 if one is not finite. */
static int read_block(const kaon_host_clover *term, int64_t number, double from[36]) {
  int finite = 1;
  for (int i = 0; i < 36; i++) {
    from[i] = term->precision == KAON_DOUBLE
                  ? ((const double *)term->reals)[36 * number + i]
                  : (double)((const float *)term->reals)[36 * number + i];
    finite = finite && isfinite(from[i]);
  }
  return finite;
}

/* From a block in the DeGrand-Rossi basis, whose lower triangle is stored column by column, to one
 * of lib/math/clover.h. Of either chirality the spins 0 and 1 inside are spin 1 and minus spin 0 of
 * the application (lib/math/basis.h). So an element between two spins changes sign, and is the
 * conjugate of one of the lower triangle. */
static void convert_block(const double from[36], double to[36]) {
  for (int i = 0; i < 6; i++) {
    const int row = (i + 3) % 6;
    to[i] = from[row];
    for (int j = 0; j < i; j++) {
      const int column = (j + 3) % 6, mixed = row < column;
      const int high = mixed ? column : row, low = mixed ? row : column;
      const double *z = from + 6 + 2 * (low * (11 - low) / 2 + high - low - 1);
      double *at = to + 6 + 2 * (i * (i - 1) / 2 + j);
      at[0] = mixed ? -z[0] : z[0];
      at[1] = z[1];
    }
  }
}

/* One parity's blocks; the unit matrix in masked lanes. Returns the least natural number of a site
 * with a number that is not finite, or the volume. */
static int64_t convert_parity(const kaon_lattice *lattice, const kaon_host_clover *term, int parity,
                              double *blocks) {
  const int width = lattice->stencil.width;
  const int pack = kaon_pack_of(lattice->ctx, 72, KAON_DOUBLE);
  const int64_t lanes = lattice->stencil.nblocks * width;
  int64_t bad = lattice->volume;
#pragma omp parallel for num_threads(lattice->ctx->threads) schedule(static) reduction(min : bad)
  for (int64_t at = 0; at < lanes; at++) {
    const int64_t block = at / width;
    const int lane = (int)(at % width);
    int x[4];
    const int valid = kaon_lattice_site(lattice, parity, block, lane, x);
    const int64_t number = valid ? number_of(lattice, term->order, parity, x) : 0;
    for (int chirality = 0; chirality < 2; chirality++) {
      double from[36] = {1, 1, 1, 1, 1, 1}, to[36];
      double *site = blocks + kaon_packed_index(block, 0, 0, lane, 1, 72, width, pack);
      if (valid && !read_block(term, 2 * number + chirality, from)) {
        const int64_t natural = number_of(lattice, KAON_ORDER_NATURAL, parity, x);
        if (natural < bad) bad = natural;
      }
      convert_block(from, to);
      for (int i = 0; i < 36; i++)
        site[kaon_component_offset(36 * chirality + i, width, pack)] = to[i];
    }
  }
  return bad;
}

static kaon_status check_finite(const kaon_lattice *lattice, int64_t bad) {
  int x[4];
  if (bad == lattice->volume) return KAON_OK;
  kaon_site_coordinates(lattice->extents, bad, x);
  for (int mu = 0; mu < 4; mu++) x[mu] += lattice->origin[mu];
  return kaon_fail(lattice->ctx, KAON_ERR_NOT_FINITE,
                   "clover: the given term at site (%d, %d, %d, %d) holds NaN or infinity; check "
                   "how it was made, and the precision and order that were passed",
                   x[0], x[1], x[2], x[3]);
}

/* Both parities, odd after even. */
static kaon_status convert(const kaon_lattice *lattice, const kaon_host_clover *term, size_t reals,
                           double *host) {
  KAON_AUTOFREE void *room = NULL;
  KAON_TRY(check(lattice->ctx, term));
  const size_t bytes = 72 * (size_t)lattice->volume * kaon_precision_bytes(term->precision);
  KAON_TRY(kaon_stage_on_host(lattice->ctx, term->reals, bytes, &room));
  kaon_host_clover there = *term;
  if (room != NULL) there.reals = room;
  const int64_t even = convert_parity(lattice, &there, 0, host);
  const int64_t odd = convert_parity(lattice, &there, 1, host + reals);
  return check_finite(lattice, even < odd ? even : odd);
}

static kaon_status take_arrays(kaon_dirac_family *family, size_t bytes) {
  kaon_context *ctx = family->base.ctx;
  for (int p = 0; p < 2; p++) {
    void *pointer = family->given[p];
    if (pointer == NULL) KAON_TRY(kaon_pool_allocate(ctx, bytes, "a given clover term", &pointer));
    family->given[p] = pointer;
  }
  return KAON_OK;
}

static kaon_status import(kaon_dirac_family *family, const kaon_host_clover *term) {
  const kaon_lattice *lattice = family->base.lattice;
  kaon_context *ctx = family->base.ctx;
  const size_t reals = (size_t)(lattice->stencil.nblocks * lattice->stencil.width) * 72;
  KAON_AUTOFREE double *host = malloc(2 * reals * sizeof *host);
  kaon_status status =
      KAON_CHECK_MEMORY(ctx, host != NULL, "clover: out of host memory for a given term");
  if (status == KAON_OK) status = convert(lattice, term, reals, host);
  if (status == KAON_OK) status = take_arrays(family, reals * sizeof *host);
  KAON_TRY(kaon_agree(ctx, status)); /* no rank has changed its term before this */
  for (int p = 0; p < 2 && status == KAON_OK; p++)
    status = ctx->backend->memory->to_device(ctx, family->given[p], host + (size_t)p * reals,
                                             reals * sizeof *host);
  return kaon_agree(ctx, status);
}

/* The numbers may be NaN, so floating-point traps are off. */
kaon_status kaon_clover_import(kaon_dirac_family *family, const kaon_host_clover *term) {
  KAON_RETURN_UNTRAPPED(family->base.ctx, import(family, term));
}

void kaon_dirac_family_release(kaon_family *family) {
  for (int p = 0; p < 2; p++)
    kaon_pool_release(family->ctx, ((kaon_dirac_family *)family)->given[p]);
}
