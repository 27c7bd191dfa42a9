/* submit.h - how blas functions hand operands to a kernel: begin, name the operands and
 * coefficients, launch. The first failure is kept and everything after it does nothing. */
#ifndef KAON_BLAS_SUBMIT_H
#define KAON_BLAS_SUBMIT_H

#include "blas/blas.h"
#include "blas/blas_ops.h"

typedef void kaon_update_entry(const kaon_launch *launch, const kaon_update_args *args);

typedef struct kaon_update {
  kaon_status status;
  kaon_context *ctx;
  const char *name; /* of the function, for sentences */
  const kaon_blas_ops *ops;
  const kaon_vector *shape; /* the operand that the others must fit */
  const kaon_pass *pass;    /* NULL: all columns, no sums */
  int any_precision;        /* operands may differ in precision */
  int count;                /* operands so far, by number */
  const kaon_vector *operand[KAON_MAX_OPERANDS];
  const char *operand_name[KAON_MAX_OPERANDS];
  uint64_t written; /* bit masks of operands: written; read after the update, so free to overlap */
  uint64_t late;
  int separate;  /* the pass' sums are taken over `shape` afterwards */
  int summed; /* sums that were asked for in sum.slot */
  int joined; /* the kernel's sums are not those of one column (blas/block.c) */
  int leaves; /* the kernel offers to leave its sums in parts (kaon_blas_leaves_partials) */
  int nslots; /* slots that will be summed */
  int slots[KAON_BLAS_MULTI + 4];
  kaon_update_args args;
} kaon_update;

/* `shape`: the result, or the only certain operand. */
void kaon_update_begin(kaon_update *u, const char *name, const kaon_vector *shape,
                       const kaon_pass *pass);
void kaon_update_read(kaon_update *u, int number, const char *name, const kaon_vector *v);
/* An operand of one column, which all columns meet; or, where it may have several, of as many as
 * divide the others': column k meets its column k modulo their number. */
void kaon_update_read_shared(kaon_update *u, int number, const char *name, const kaon_vector *v);
void kaon_update_read_cyclic(kaon_update *u, int number, const char *name, const kaon_vector *v);
void kaon_update_write(kaon_update *u, int number, const char *name, kaon_vector *v);
void kaon_update_coefficient(kaon_update *u, int number, kaon_coefficient c);
/* Asks for a sum in sum.slot[number]; KAON_NO_SLOT: not wanted. */
void kaon_update_sum(kaon_update *u, int number, int slot);
/* pass->norm into slot[0]; pass->dot into slot[1] with pass->w as operand `w` (w < 0: this function
 * has no dot, UNSUPPORTED where the pass wants it). */
void kaon_update_pass_sums(kaon_update *u, int w);
/* Notes that the kernel fills `slot` besides those of kaon_update_sum. */
void kaon_update_slot(kaon_update *u, int slot);
/* Checks that no written operand overlaps another, and returns what failed first. */
kaon_status kaon_update_check(kaon_update *u);
/* Checks and runs the entry (NULL: NOT_BUILT), completes the slots over ranks. The two halves
 * around the call of a kernel that is not an update: */
kaon_status kaon_update_launch(kaon_update *u, kaon_update_entry *entry);
kaon_status kaon_update_prepare(kaon_update *u, int built, kaon_launch *launch);
kaon_status kaon_update_complete(kaon_update *u);

size_t kaon_vector_bytes(const kaon_vector *v);

#endif
