/* vector_layout.c - the layouts of arrays that vectors are imported from and exported to, and the
 * checks of all arguments. vector_transfer.h has the orders themselves. */
#include <float.h>
#include <stdio.h>

#include "lib/vector/vector_transfer.h"

static const char *const site_orders[] = {"lexicographic", "even-odd", "one parity"};
static const char *const component_orders[] = {"spin-colour", "colour-spin"};
enum {
  SITE_ORDERS = sizeof site_orders / sizeof *site_orders,
  COMPONENT_ORDERS = sizeof component_orders / sizeof *component_orders
};

kaon_vector_layout kaon_layout_of(kaon_basis basis) {
  return (kaon_vector_layout){.size = sizeof(kaon_vector_layout), .basis = basis};
}

/* Records of the array. */
static int64_t records_of(const kaon_space *space, const kaon_vector_layout *layout) {
  if (layout->sites != KAON_SITES_ONE_PARITY) return kaon_space_caller_rows(space);
  return space->lattice->stencil.sites[space->parity & 1] * space->inner;
}

size_t kaon_layout_bytes(const kaon_space *space, const kaon_vector_layout *layout) {
  return (size_t)records_of(space, layout) * (size_t)space->ncomp *
         kaon_precision_bytes(layout->precision);
}

/* Copies the caller's layout. Members that its version does not have are 0. */
static kaon_status copy_layout(const kaon_context *ctx, const kaon_vector_layout *from,
                               const char *name, kaon_vector_layout *to) {
  *to = kaon_layout_of(KAON_BASIS_UKQCD);
  if (from->size < sizeof from->size || from->size > sizeof *to)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "vector %s: member size of the layout is %zu, but at most %zu is known; start "
                     "from KAON_VECTOR_LAYOUT_INIT",
                     name, from->size, sizeof *to);
  memcpy(to, from, from->size);
  return KAON_OK;
}

static kaon_status check_orders(const kaon_vector *v, const kaon_vector_layout *layout,
                                const char *name) {
  const int sites = (int)layout->sites, components = (int)layout->components;
  if (sites < 0 || sites >= SITE_ORDERS)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT,
                     "vector %s: order of sites %d is not known; 0 is lexicographic, 1 even-odd, 2 "
                     "one parity",
                     name, sites);
  if (components < 0 || components >= COMPONENT_ORDERS)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT,
                     "vector %s: order of components %d is not known; 0 is spin-colour, 1 "
                     "colour-spin",
                     name, components);
  if (layout->precision != KAON_DOUBLE && layout->precision != KAON_SINGLE)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT,
                     "vector %s: the array's precision is %d, but arrays are double (0) or single "
                     "(1)",
                     name, (int)layout->precision);
  if (v->space->lattice == NULL && (sites != 0 || components != 0 || layout->precision != 0))
    return kaon_fail(
        v->ctx, KAON_ERR_ARGUMENT,
        "vector %s: order %s, %s in precision %d is for vectors of a lattice, and this "
        "one is not; pass KAON_VECTOR_LAYOUT_INIT as it is",
        name, site_orders[sites], component_orders[components], (int)layout->precision);
  if (sites == KAON_SITES_ONE_PARITY && v->space->parity == KAON_FULL)
    return kaon_fail(v->ctx, KAON_ERR_SHAPE,
                     "vector %s: an array of one parity was passed, but the vector has both "
                     "parities; pass KAON_SITES_EVEN_ODD and a whole array, or a vector of one "
                     "parity",
                     name);
  return KAON_OK;
}

static kaon_status check_basis(const kaon_vector *v, kaon_basis basis, const char *name) {
  const kaon_basis_change *change = kaon_basis_find(basis);
  if (change == NULL)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT,
                     "vector %s: basis %d is not known; 0 is UKQCD, 1 DeGrand-Rossi, 2 DDalphaAMG, "
                     "3 chiral",
                     name, (int)basis);
  const int spinor = v->space->lattice != NULL && v->space->ncomp == KAON_RECORD_SPINOR;
  if (basis != KAON_BASIS_UKQCD && !spinor)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT,
                     "vector %s: basis %s is for spinors, but this space has %d reals a site; pass "
                     "KAON_BASIS_UKQCD",
                     name, change->name, v->space->ncomp);
  return KAON_OK;
}

static kaon_status check_length(const kaon_vector *v, const kaon_vector_layout *layout,
                                size_t bytes, const char *name) {
  const size_t needed = kaon_layout_bytes(v->space, layout);
  if (bytes == needed) return KAON_OK;
  return kaon_fail(
      v->ctx, KAON_ERR_SHAPE,
      "vector %s: the array has %zu bytes, but %lld sites of %d %s in %s order are %zu; "
      "pass an array of this rank's part in that precision and order",
      name, bytes, (long long)records_of(v->space, layout), v->space->ncomp,
      layout->precision == KAON_DOUBLE ? "doubles" : "floats", site_orders[layout->sites], needed);
}

/* Half of the largest value: a change of basis may add components (by at most sqrt 2). */
static double largest(kaon_precision precision) {
  return (precision == KAON_DOUBLE ? DBL_MAX : (double)FLT_MAX) / 2;
}

kaon_status kaon_transfer_make(const kaon_vector *v, int column, const void *array, size_t bytes,
                               const kaon_vector_layout *layout, kaon_side side, const char *name,
                               kaon_vector_transfer *d) {
  *d = (kaon_vector_transfer){
      .vector = v, .space = v->space, .column = column, .inner = v->space->inner};
  KAON_TRY(copy_layout(v->ctx, layout, name, &d->layout));
  KAON_TRY(check_orders(v, &d->layout, name));
  if (array == NULL && records_of(v->space, &d->layout) > 0)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT, "vector %s: the array is NULL", name);
  if (column < 0 || column >= v->nrhs)
    return kaon_fail(v->ctx, KAON_ERR_SHAPE,
                     "vector %s: column %d asked for, but the vector has columns 0 to %d", name,
                     column, v->nrhs - 1);
  KAON_TRY(check_basis(v, d->layout.basis, name));
  if (v->space->ncomp > KAON_RECORD_MOST)
    return kaon_fail(v->ctx, KAON_ERR_UNSUPPORTED,
                     "vector %s: spaces of more than %d reals a site are not supported (here %d)",
                     name, KAON_RECORD_MOST, v->space->ncomp);
  KAON_TRY(check_length(v, &d->layout, bytes, name));
  char what[32];
  snprintf(what, sizeof what, "vector %s", name);
  KAON_TRY(kaon_check_memory_side(v->ctx, side, array, what));
  d->limit = largest(v->precision);
  d->pack = kaon_pack_of(v->ctx, v->space->ncomp, v->precision);
  d->basis = d->layout.basis == KAON_BASIS_UKQCD ? NULL : kaon_basis_find(d->layout.basis);
  return KAON_OK;
}
