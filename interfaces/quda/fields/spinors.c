/* spinors.c - spinors and staggered vectors in the orders of clients. Contract: spinors.h.
 * The library has some orders of its own. Arrays in the others are copied into the order DIRAC. */
#include "spinors.h"

#include <stdlib.h>
#include <string.h>

enum { COLOURS = 3 };

/* How an order differs from one of the library's. */
typedef enum deviation {
  NONE,
  ODD_FIRST,  /* the odd sites, then the even ones */
  REALS_FIRST /* [re, im][colour][spin][parity][site] */
} deviation;

typedef struct spinor_order {
  QudaDiracFieldOrder order;
  const char *name;
  kaon_site_order sites;
  kaon_component_order components;
  deviation deviation;
} spinor_order;

static const spinor_order orders[] = {
    {QUDA_DIRAC_ORDER, "DIRAC", KAON_SITES_EVEN_ODD, KAON_COMPONENTS_SPIN_COLOUR, NONE},
    {QUDA_QDP_DIRAC_ORDER, "QDP", KAON_SITES_EVEN_ODD, KAON_COMPONENTS_COLOUR_SPIN, NONE},
    {QUDA_LEX_DIRAC_ORDER, "LEX", KAON_SITES_LEXICOGRAPHIC, KAON_COMPONENTS_SPIN_COLOUR, NONE},
    {QUDA_CPS_WILSON_DIRAC_ORDER, "CPS", KAON_SITES_EVEN_ODD, KAON_COMPONENTS_SPIN_COLOUR,
     ODD_FIRST},
    {QUDA_QDPJIT_DIRAC_ORDER, "QDPJIT", KAON_SITES_EVEN_ODD, KAON_COMPONENTS_SPIN_COLOUR,
     REALS_FIRST},
};
enum { ORDERS = sizeof orders / sizeof orders[0] };

static const struct {
  QudaGammaBasis quda;
  kaon_basis kaon;
} bases[] = {{QUDA_DEGRAND_ROSSI_GAMMA_BASIS, KAON_BASIS_DEGRAND_ROSSI},
             {QUDA_UKQCD_GAMMA_BASIS, KAON_BASIS_UKQCD},
             {QUDA_CHIRAL_GAMMA_BASIS, KAON_BASIS_CHIRAL}};

/* A client's array: what it holds, and how. */
typedef struct client {
  const spinor_order *order;
  kaon_vector_layout layout;
  kaon_parity parity; /* of the vector */
  int whole;          /* the array has both parities */
  int spins, slices, alternate, extents[4];
  size_t sites;       /* of a parity */
  size_t site, bytes; /* bytes of a site; of the array in the library's order */
} client;

/* Finds which space of the lattice a vector is of. */
static kaon_status identify(const kaon_vector *vector, client *c) {
  const kaon_space *space = kaon_vector_space(vector);
  for (int b = 0; b < 2; b++) {
    kaon_lattice *lattice = kaon_quda()->lattice[b];
    for (int parity = KAON_EVEN; lattice != NULL && parity <= KAON_FULL; parity++) {
      const int wilson = kaon_lattice_spinors_5d(lattice, c->slices, (kaon_parity)parity) == space;
      if (!wilson && kaon_lattice_staggered(lattice, (kaon_parity)parity) != space) continue;
      c->parity = (kaon_parity)parity;
      c->spins = wilson ? 4 : 1;
      kaon_lattice_part(lattice, c->extents, NULL, NULL);
      c->sites = kaon_quda_sites(c->extents) / 2;
      return KAON_OK;
    }
  }
  return kaon_quda_refuse(
      KAON_ERR_UNSUPPORTED,
      "Ls is %d, which fits no vectors on the lattice in use; set it to that of "
      "the operator",
      c->slices);
}

static kaon_status find_basis(QudaGammaBasis basis, client *c) {
  c->layout.basis = KAON_BASIS_UKQCD; /* staggered vectors */
  if (c->spins == 1) return KAON_OK;
  for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
    if (bases[i].quda == basis) {
      c->layout.basis = bases[i].kaon;
      return KAON_OK;
    }
  return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                          "gamma_basis is %d, but must be %d (DeGrand-Rossi), %d (UKQCD) or %d "
                          "(chiral)",
                          (int)basis, (int)QUDA_DEGRAND_ROSSI_GAMMA_BASIS,
                          (int)QUDA_UKQCD_GAMMA_BASIS, (int)QUDA_CHIRAL_GAMMA_BASIS);
}

static kaon_status find_order(QudaDiracFieldOrder order, client *c) {
  for (int i = 0; i < ORDERS; i++)
    if (orders[i].order == order) c->order = &orders[i];
  if (c->order == NULL)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "dirac_order is %d, but must be from %d (DIRAC) to %d (LEX); QUDA's "
                            "internal order is not offered",
                            (int)order, (int)QUDA_DIRAC_ORDER, (int)QUDA_LEX_DIRAC_ORDER);
  if (c->slices > 1 && c->order->deviation != NONE)
    return kaon_quda_refuse(
        KAON_ERR_UNSUPPORTED,
        "dirac_order of spinors with a fifth dimension is %s, but must be DIRAC "
        "(%d)",
        c->order->name, (int)QUDA_DIRAC_ORDER);
  if (!c->whole && c->order->sites == KAON_SITES_LEXICOGRAPHIC)
    return kaon_quda_refuse(
        KAON_ERR_UNSUPPORTED,
        "dirac_order is LEX, which is not offered for one parity; use DIRAC (%d)",
        (int)QUDA_DIRAC_ORDER);
  return KAON_OK;
}

static kaon_status describe(const kaon_vector *vector, const void *array, int whole,
                            const kaon_quda_spinor_layout *layout, client *c) {
  *c = (client){.whole = whole,
                .slices = layout->slices > 1 ? layout->slices : 1,
                .layout = KAON_VECTOR_LAYOUT_INIT};
  if (array == NULL)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "an array of spinors (source or solution) is NULL; pass an array");
  kaon_status status = identify(vector, c);
  if (status == KAON_OK && c->parity == KAON_FULL) c->whole = 1;
  if (status == KAON_OK) status = find_order(layout->order, c);
  if (status == KAON_OK) status = find_basis(layout->basis, c);
  if (status == KAON_OK) status = kaon_quda_precision(layout->precision, &c->layout.precision);
  if (status == KAON_OK && c->layout.precision == KAON_HALF)
    status = kaon_quda_refuse(
        KAON_ERR_ARGUMENT, "cpu_prec of spinors is %d, but must be %d (double) or %d (single)",
        (int)layout->precision, (int)QUDA_DOUBLE_PRECISION, (int)QUDA_SINGLE_PRECISION);
  if (status == KAON_OK && c->order->deviation != NONE && kaon_quda_on_device(layout->location))
    status =
        kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                         "spinors of order %s are in GPU memory, where only DIRAC, QDP and LEX "
                         "are offered; use one of these or host memory",
                         c->order->name);
  if (status != KAON_OK) return status;
  c->layout.sites = c->whole ? c->order->sites : KAON_SITES_ONE_PARITY;
  c->layout.components = c->order->components;
  c->site = (size_t)c->spins * COLOURS * 2 * (c->layout.precision == KAON_DOUBLE ? 8 : 4);
  c->alternate = layout->parity_of_five && c->order->sites == KAON_SITES_EVEN_ODD;
  c->bytes = (c->whole ? 2 : 1) * (size_t)c->slices * c->sites * c->site;
  return KAON_OK;
}

/* ---- orders that the library does not have ---- */

/* The byte at which real r of a site is: [spin][colour][re, im]. */
static size_t place(const client *c, int parity, size_t site, int r) {
  const size_t real = c->layout.precision == KAON_DOUBLE ? 8 : 4;
  const size_t spin = (size_t)(r / 2 / COLOURS), colour = (size_t)(r / 2 % COLOURS);
  if (c->order->deviation == ODD_FIRST)
    return ((c->whole ? 1 - (size_t)parity : 0) * c->sites + site) * c->site + (size_t)r * real;
  /* Arrays always have both parities; one alone is the odd half. */
  const size_t row = ((size_t)(r % 2) * COLOURS + colour) * (size_t)c->spins + spin;
  return ((row * 2 + (c->whole ? (size_t)parity : 1)) * c->sites + site) * real;
}

/* Copies the parities of the vector between an array of the client and one in order DIRAC. */
static void copy(const client *c, char *array, char *dirac, int take) {
  const int reals = c->spins * COLOURS * 2;
  const size_t real = c->site / (size_t)reals;
  for (int parity = 0; parity < 2; parity++) {
    if (c->parity != KAON_FULL && parity != (int)c->parity) continue;
    char *here = dirac + (c->whole ? (size_t)parity * c->sites * c->site : 0);
    for (size_t site = 0; site < c->sites; site++)
      for (int r = 0; r < reals; r++, here += real) {
        char *there = array + place(c, parity, site, r);
        if (take)
          memcpy(here, there, real);
        else
          memcpy(there, here, real);
      }
  }
}

/* Likewise whole slices of the fifth dimension, whose parities change places in every other one. */
static void copy_slices(const client *c, char *array, char *dirac, int take) {
  const size_t slice = c->sites * c->site, slices = (size_t)c->slices;
  for (size_t parity = 0; parity < 2; parity++)
    for (size_t s = 0; s < slices; s++) {
      char *here = dirac + (parity * slices + s) * slice;
      char *there = array + ((parity + s) % 2 * slices + s) * slice;
      memcpy(take ? here : there, take ? there : here, slice);
    }
}

/* An array in order DIRAC with the client's numbers; NULL: the client's array is in an order of the
 * library. */
static kaon_status make_room(const client *c, char *array, int take, char **room) {
  *room = NULL;
  if (c->order->deviation == NONE && !c->alternate) return KAON_OK;
  const kaon_status status = kaon_quda_allocate(c->bytes, room);
  if (status == KAON_OK && take) (c->alternate ? copy_slices : copy)(c, array, *room, 1);
  return status;
}

kaon_status kaon_quda_import_spinor(kaon_vector *vector, int column, const void *array, int whole,
                                    const kaon_quda_spinor_layout *layout) {
  client c;
  char *room = NULL, *there = (char *)(uintptr_t)array;
  kaon_status status = describe(vector, array, whole, layout, &c);
  if (status == KAON_OK) status = make_room(&c, there, 1, &room);
  if (status == KAON_OK)
    status =
        kaon_vector_import_ordered(vector, column, room != NULL ? room : there, c.bytes, &c.layout);
  free(room);
  return status;
}

kaon_status kaon_quda_export_spinor(const kaon_vector *vector, int column, void *array, int whole,
                                    const kaon_quda_spinor_layout *layout) {
  client c;
  char *room = NULL;
  kaon_status status = describe(vector, array, whole, layout, &c);
  if (status == KAON_OK) status = make_room(&c, array, 0, &room);
  if (status == KAON_OK)
    status =
        kaon_vector_export_ordered(vector, column, room != NULL ? room : array, c.bytes, &c.layout);
  if (status == KAON_OK && room != NULL) (c.alternate ? copy_slices : copy)(&c, array, room, 0);
  free(room);
  return status;
}
