/* vector_transfer.h - one column during import or export, for the files that implement them:
 * vector_import.c (checks, and memory that the host reads) and vector_import_device.c. */
#pragma once

#include "lib/math/basis.h"
#include "lib/vector/space.h"

typedef struct kaon_vector_transfer {
  const kaon_vector *vector;
  const kaon_space *space;
  int column;
  int pack;
  double limit;                   /* the largest value that can be stored */
  const kaon_basis_change *basis; /* NULL: components are copied unchanged */
} kaon_vector_transfer;

/* Where the caller's memory is. */
typedef enum kaon_side { KAON_SIDE_HOST, KAON_SIDE_DEVICE } kaon_side;

/* Fails with ARGUMENT if memory is not on the side that a function works on. The message begins
 * with `what`. */
kaon_status kaon_check_memory_side(kaon_context *ctx, kaon_side side, const void *memory,
                                   const char *what);

/* Bytes imported or exported at a time: enough for the full bus bandwidth, and small beside all
 * other memory. */
enum { KAON_TRANSFER_BYTES = 64 << 20 };

/* As kaon_vector_import and _export, but for the rows that this rank works on. They differ only if
 * a matrix has redistributed its rows (kaon_rows.enter). */
kaon_status kaon_vector_import_here(kaon_vector *vector, int column, const double *psi,
                                    kaon_basis basis);
kaon_status kaon_vector_export_here(const kaon_vector *vector, int column, double *psi,
                                    kaon_basis basis);

/* Copy the column from and to host memory, for backends whose memory the host cannot reach. psi has
 * been checked. */
kaon_status kaon_import_from_host(const kaon_vector_transfer *import_ops, const double *psi);
kaon_status kaon_export_to_host(const kaon_vector_transfer *import_ops, double *psi);
/* The same for device memory. find_unstorable returns the lowest site with a value that cannot be
 * stored, or -1. */
kaon_status kaon_import_from_device(const kaon_vector_transfer *import_ops, const double *psi);
kaon_status kaon_export_to_device(const kaon_vector_transfer *import_ops, double *psi);
kaon_status kaon_import_find_unstorable(const kaon_vector_transfer *import_ops, const double *psi,
                                        int64_t *site);
