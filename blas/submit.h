/* submit.h - how blas functions pass operands to a kernel: begin, name the operands and
 * coefficients, launch. The first failure is stored, and later calls do nothing. */
#pragma once

#include "blas/blas.h"
#include "blas/blas_ops.h"

typedef void kaon_update_entry(const kaon_launch *launch, const kaon_update_args *args);

typedef struct kaon_update {
  kaon_status status;
  kaon_context *ctx;
  const char *name; /* of the function, for messages */
  const kaon_blas_ops *ops;
  const kaon_vector *shape; /* the operand that all others must match */
  int any_precision;        /* operands may differ in precision */
  int count;                /* number of operands so far */
  const kaon_vector *operand[KAON_MAX_OPERANDS];
  const char *operand_name[KAON_MAX_OPERANDS];
  /* Bit masks of operands: written ones; those read after the update, which may overlap. */
  uint64_t written;
  uint64_t late;
  int offers; /* what the kernel offers for its sums; at first what most updates do */
  kaon_kernel_sums sums;
  kaon_update_args args; /* without the sums until the launch */
} kaon_update;

/* `shape`: the result, or the only operand that is never NULL. */
void kaon_update_begin(kaon_update *u, const char *name, const kaon_vector *shape,
                       const kaon_pass *pass);
void kaon_update_read(kaon_update *u, int number, const char *name, const kaon_vector *v);
/* read_shared: an operand of one column, which all columns use. read_cyclic: one whose number of
 * columns divides that of the others; column k uses its column k modulo that number. */
void kaon_update_read_shared(kaon_update *u, int number, const char *name, const kaon_vector *v);
void kaon_update_read_cyclic(kaon_update *u, int number, const char *name, const kaon_vector *v);
void kaon_update_write(kaon_update *u, int number, const char *name, kaon_vector *v);
void kaon_update_coefficient(kaon_update *u, int number, kaon_coefficient c);
/* Requests the kernel's sum `number`; KAON_NO_SLOT: not wanted. */
void kaon_update_sum(kaon_update *u, int number, int slot);
/* Requests pass->norm as sum 0 and pass->dot as sum 1, with pass->w as operand `w`. w < 0: this
 * function has no dot (UNSUPPORTED if the pass wants it). */
void kaon_update_pass_sums(kaon_update *u, int w);
/* Notes that the kernel also fills `slot`. */
void kaon_update_slot(kaon_update *u, int slot);
/* Checks that no written operand overlaps another; returns the first failure. */
kaon_status kaon_update_check(kaon_update *u);
/* kaon_update_launch checks, runs the entry (NULL: NOT_BUILT) and completes the sums. A kernel that
 * is not an update runs after kaon_update_prepare, and kaon_sums_after_kernel follows it. */
kaon_status kaon_update_launch(kaon_update *u, kaon_update_entry *entry);
kaon_status kaon_update_prepare(kaon_update *u, int built, kaon_launch *launch);

/* ---- updates of lib/math/steps/update_rows.h ---- */

/* Columns of operand 0. */
enum { KAON_ROW_PLAIN, KAON_ROW_SCALED, KAON_ROW_CYCLIC };

/* A row as the host reads it. */
typedef struct kaon_update_row {
  const char *name;
  size_t entry; /* its place in the table of kernels */
  int form;
  unsigned reads, writes; /* bit masks of operands; reads: also by sums alone */
  int coefficients, sums;
} kaon_update_row;

/* The rows of a list, for kernels of a table of this type. */
#define KAON_UPDATE_ROW(table, name, form, reads, summed, writes, coefficients, sums) \
  { #name, offsetof(table, name), KAON_ROW_##form, (reads) | (summed), writes, coefficients, sums }

typedef struct kaon_operand {
  const char *name; /* for messages */
  const kaon_vector *vector;
} kaon_operand;

/* Checks the operands, coefficients and sums that the row has, and runs its kernel of `table` (of
 * the backend, in the operands' precision; NULL: NOT_BUILT). offers: bits KAON_SUMS_... that the
 * kernel offers besides those of most updates. */
kaon_status kaon_update_run_row(const kaon_update_row *row, const void *table,
                                const kaon_operand operands[], const kaon_coefficient c[],
                                const int slot[], int offers, const kaon_pass *pass);

size_t kaon_vector_bytes(const kaon_vector *v);
