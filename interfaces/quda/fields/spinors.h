/* spinors.h - spinors and staggered vectors in the orders of clients. */
#pragma once

#include "quda.h"
#include "state.h"

/* How a client stores a spinor, from its parameters. */
typedef struct kaon_quda_spinor_layout {
  QudaDiracFieldOrder order;
  QudaPrecision precision;
  QudaGammaBasis basis; /* of staggered vectors: any */
  QudaFieldLocation location;
  int slices; /* sites of the fifth dimension, the slowest index of a parity. 0: there is none */
  int parity_of_five; /* 1: parity counts the fifth coordinate too, in arrays of both parities */
} kaon_quda_spinor_layout;

/* Column `column` of a vector from, or to, an array of a client. A vector of one parity takes an
 * array of that parity's sites alone (`whole` = 0), or its half of a whole array (`whole` = 1). */
kaon_status kaon_quda_import_spinor(kaon_vector *vector, int column, const void *array, int whole,
                                    const kaon_quda_spinor_layout *layout);
kaon_status kaon_quda_export_spinor(const kaon_vector *vector, int column, void *array, int whole,
                                    const kaon_quda_spinor_layout *layout);
