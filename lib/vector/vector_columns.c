/* vector_columns.c - what moves the numbers of a vector without computing: copies of columns, and
 * gamma_5. A column of a block is contiguous (lib/vector/layout.h), so both copy pieces of memory. */
#include "lib/core/entry.h"
#include "lib/vector/space.h"

enum { HALF_SPINOR = 12 };

/* Bytes of one column of a block, and of its scales. */
static size_t piece_of(const kaon_vector *v) {
  return (size_t)v->space->width * (size_t)v->space->ncomp * kaon_precision_bytes(v->precision);
}

static size_t scales_of(const kaon_vector *v) {
  return (size_t)v->space->width * sizeof *v->scale;
}

static kaon_status check(const kaon_vector *x, const kaon_vector *y, const char *what) {
  if (x->space != y->space)
    return kaon_fail(x->ctx, KAON_ERR_SHAPE,
                     "%s: the vectors are of two spaces; create both from one", what);
  if (x->precision != y->precision)
    return kaon_fail(x->ctx, KAON_ERR_PRECISION,
                     "%s: the vectors have precisions %d and %d (0 double, 1 single, 2 half); "
                     "convert one with kaon_vector_copy",
                     what, (int)x->precision, (int)y->precision);
  return KAON_OK;
}

static kaon_status check_range(const kaon_vector *v, int first, int columns) {
  if (first >= 0 && columns >= 0 && columns <= v->nrhs && first <= v->nrhs - columns)
    return KAON_OK;
  return kaon_fail(v->ctx, KAON_ERR_SHAPE,
                   "copy columns: %d columns from %d on were asked for, but a vector has columns 0 "
                   "to %d",
                   columns, first, v->nrhs - 1);
}

kaon_status kaon_vector_copy_columns(kaon_vector *to, int to_first, const kaon_vector *from,
                                     int from_first, int columns) {
  KAON_ENTER(KAON_OF(to), to, from);
  const kaon_memory_ops *memory = to->ctx->backend->memory;
  const size_t piece = piece_of(to), scales = scales_of(to), n = (size_t)columns;
  KAON_TRY(check(from, to, "copy columns"));
  KAON_TRY(check_range(to, to_first, columns));
  KAON_TRY(check_range(from, from_first, columns));
  const int apart = to_first - from_first;
  if (to->data == from->data && apart == 0) return KAON_OK;
  if (to->data == from->data && apart < columns && -apart < columns)
    return kaon_fail(to->ctx, KAON_ERR_ALIAS,
                     "copy columns: columns %d to %d of a vector overlap its columns %d to %d",
                     to_first, to_first + columns - 1, from_first, from_first + columns - 1);
  if (columns == 0 || to->space->nblocks == 0) return KAON_OK;
  KAON_TRY(memory->copy(to->ctx, (char *)to->data + (size_t)to_first * piece,
                        (size_t)to->nrhs * piece,
                        (const char *)from->data + (size_t)from_first * piece,
                        (size_t)from->nrhs * piece, n * piece, (size_t)to->space->nblocks));
  if (to->scale == NULL) return KAON_OK;
  return memory->copy(to->ctx, (char *)to->scale + (size_t)to_first * scales,
                      (size_t)to->nrhs * scales,
                      (const char *)from->scale + (size_t)from_first * scales,
                      (size_t)from->nrhs * scales, n * scales, (size_t)to->space->nblocks);
}

kaon_status kaon_vector_copy_parity(kaon_vector *to, const kaon_vector *from) {
  KAON_ENTER(KAON_OF(to), to, from);
  const int take = to->space->parity != KAON_FULL;
  const kaon_vector *part = take ? to : from, *whole = take ? from : to;
  kaon_vector view;
  if (whole->space->parity != KAON_FULL || part->space->parity == KAON_FULL)
    return kaon_fail(to->ctx, KAON_ERR_SHAPE,
                     "copy parity: one vector must be on all sites of a lattice and the other on "
                     "those of one parity");
  KAON_TRY(kaon_vector_view(whole, part->space->parity, &view));
  KAON_TRY(check(&view, part, "copy parity"));
  if (part->nrhs != whole->nrhs)
    return kaon_fail(to->ctx, KAON_ERR_SHAPE, "copy parity: the vectors have %d and %d columns",
                     from->nrhs, to->nrhs);
  return take ? kaon_vector_copy(to, &view) : kaon_vector_copy(&view, from);
}

/* ---- gamma_5 ---- */

/* Exchanges the halves of each spinor, which are contiguous for all lanes of a block. */
static kaon_status exchange(const kaon_vector *x, kaon_vector *y) {
  const kaon_memory_ops *memory = x->ctx->backend->memory;
  const size_t piece = piece_of(x), half = piece / 2,
               pieces = (size_t)x->space->nblocks * (size_t)x->nrhs;
  if (pieces == 0) return KAON_OK;
  KAON_TRY(memory->copy(x->ctx, y->data, piece, (const char *)x->data + half, piece, half, pieces));
  KAON_TRY(memory->copy(x->ctx, (char *)y->data + half, piece, x->data, piece, half, pieces));
  if (x->scale == NULL) return KAON_OK;
  const size_t scales = scales_of(x);
  return memory->copy(x->ctx, y->scale, scales, x->scale, scales, scales, pieces);
}

/* Where groups of components hold numbers of both halves: in single precision. */
static kaon_status exchange_in_single(const kaon_vector *x, kaon_vector *y) {
  KAON_AUTO(kaon_vector_destroy) kaon_vector *in = NULL, *out = NULL;
  KAON_TRY(kaon_vector_create(x->ctx, x->space, KAON_SINGLE, x->nrhs, &in));
  KAON_TRY(kaon_vector_create(x->ctx, x->space, KAON_SINGLE, x->nrhs, &out));
  KAON_TRY(kaon_vector_copy(in, x));
  KAON_TRY(exchange(in, out));
  return kaon_vector_copy(y, out);
}

kaon_status kaon_vector_gamma5(const kaon_vector *x, kaon_vector *y) {
  KAON_ENTER(KAON_OF(x), x, y);
  const kaon_space *space = x->space;
  KAON_TRY(check(x, y, "gamma_5"));
  if (x->nrhs != y->nrhs)
    return kaon_fail(x->ctx, KAON_ERR_SHAPE, "gamma_5: x has %d columns, but y has %d", x->nrhs,
                     y->nrhs);
  if (space->lattice == NULL || space->ncomp != 2 * HALF_SPINOR)
    return kaon_fail(
        x->ctx, KAON_ERR_SHAPE,
        "gamma_5: the vectors have %d reals a site, but spinors have %d; create them on "
        "kaon_lattice_spinors",
        space->ncomp, 2 * HALF_SPINOR);
  if (x->data == y->data)
    return kaon_fail(x->ctx, KAON_ERR_ALIAS, "gamma_5: x and y are the same vector; use two");
  return HALF_SPINOR % kaon_pack_of(x->ctx, space->ncomp, x->precision) == 0
             ? exchange(x, y)
             : exchange_in_single(x, y);
}
