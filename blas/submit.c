/* submit.c - the checks that all vector functions share, and the launch. */
#include "blas/submit.h"

#include <stdio.h>
#include <string.h>

#include "lib/core/tuning_internal.h"

enum { TEXT = 80 };

/* "even sites of 4x4x4x8" or "1000 rows". */
static const char *describe(const kaon_space *space, char text[TEXT]) {
  static const char *const parities[] = {"even", "odd", "all"};
  const kaon_lattice *lattice = space->lattice;
  if (lattice == NULL)
    snprintf(text, TEXT, "%lld rows of %d reals", (long long)space->nsites, space->ncomp);
  else
    snprintf(text, TEXT, "%d x %d reals on %s sites of %dx%dx%dx%d", space->inner, space->ncomp,
             parities[space->parity], lattice->extents[0], lattice->extents[1], lattice->extents[2],
             lattice->extents[3]);
  return text;
}

size_t kaon_vector_bytes(const kaon_vector *v) {
  const kaon_space *s = v->space;
  return (size_t)s->nblocks * (size_t)s->width * (size_t)s->ncomp * (size_t)v->nrhs *
         kaon_precision_bytes(v->precision);
}

static int has_scalars(const kaon_update *u) {
  return u->sums.pass != NULL && u->sums.pass->scalars != NULL;
}

void kaon_update_begin(kaon_update *u, const char *name, const kaon_vector *shape,
                       const kaon_pass *pass) {
  *u = (kaon_update){.name = name,
                     .shape = shape,
                     .offers = KAON_SUMS_RECURRENCES | KAON_SUMS_RANKS,
                     .sums = {.y = shape, .pass = pass, .sum = KAON_SUM_NONE}};
  if (shape == NULL) {
    u->status = kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s: a vector is NULL", name);
    return;
  }
  const kaon_space *s = shape->space;
  u->ctx = shape->ctx;
  u->ops = u->ctx->backend->blas[shape->precision];
  u->args.shape = (kaon_shape){.nblocks = s->nblocks,
                               .width = s->width,
                               .ncomp = s->ncomp,
                               .nrhs = shape->nrhs,
                               .complex_space = s->complex_space};
  u->status = kaon_pass_check(u->ctx, name, pass, shape->nrhs);
  u->args.gate = kaon_pass_gate(pass);
  u->args.c.state = has_scalars(u) ? pass->scalars->state : NULL;
}

static kaon_status wrong_space(const kaon_update *u, const char *name, const kaon_space *space) {
  char theirs[TEXT], ours[TEXT];
  describe(space, theirs);
  describe(u->shape->space, ours);
  return kaon_fail(u->ctx, KAON_ERR_SHAPE,
                   "%s: vector %s holds %s but the result holds %s%s; all must be created from one "
                   "space",
                   u->name, name, theirs, ours,
                   strcmp(theirs, ours) == 0 ? " of another lattice object" : "");
}

static void add_operand(kaon_update *u, int number, const char *name, const kaon_vector *v,
                        int columns) {
  if (u->status != KAON_OK) return;
  if (v == NULL)
    u->status = kaon_fail(u->ctx, KAON_ERR_ARGUMENT, "%s: vector %s is NULL", u->name, name);
  else if (v->space != u->shape->space)
    u->status = wrong_space(u, name, v->space);
  else if (v->nrhs != columns)
    u->status = kaon_fail(u->ctx, KAON_ERR_SHAPE,
                          "%s: vector %s has %d columns but %d are needed (the result has %d)",
                          u->name, name, v->nrhs, columns, u->shape->nrhs);
  else if (v->precision != u->shape->precision && !u->any_precision)
    u->status = kaon_fail(u->ctx, KAON_ERR_PRECISION,
                          "%s: vector %s has precision %d but the result %d (0 double, 1 single, 2 "
                          "half); convert it with kaon_vector_copy",
                          u->name, name, (int)v->precision, (int)u->shape->precision);
  if (u->status != KAON_OK) return;
  u->operand[number] = v;
  u->operand_name[number] = name;
  u->args.v[number] = kaon_view_of(v);
  if (u->count <= number) u->count = number + 1;
}

void kaon_update_read(kaon_update *u, int number, const char *name, const kaon_vector *v) {
  add_operand(u, number, name, v, u->shape != NULL ? u->shape->nrhs : 0);
}

void kaon_update_read_shared(kaon_update *u, int number, const char *name, const kaon_vector *v) {
  add_operand(u, number, name, v, 1);
  u->args.shared = 1;
}

void kaon_update_read_cyclic(kaon_update *u, int number, const char *name, const kaon_vector *v) {
  const int columns = v != NULL && u->shape != NULL ? v->nrhs : 1;
  if (u->status == KAON_OK && u->shape->nrhs % columns != 0)
    u->status = kaon_fail(u->ctx, KAON_ERR_SHAPE,
                          "%s: vector %s has %d columns, which do not divide the result's %d",
                          u->name, name, columns, u->shape->nrhs);
  add_operand(u, number, name, v, columns);
  u->args.shared = columns;
}

void kaon_update_write(kaon_update *u, int number, const char *name, kaon_vector *v) {
  add_operand(u, number, name, v, u->shape != NULL ? u->shape->nrhs : 0);
  u->written |= UINT64_C(1) << number;
}

static void check_slot(kaon_update *u, int slot) {
  if (u->status != KAON_OK) return;
  if (slot < 0 || slot >= KAON_SLOTS)
    u->status = kaon_fail(u->ctx, KAON_ERR_ARGUMENT, "%s: slot %d is not in 0 .. %d", u->name, slot,
                          KAON_SLOTS - 1);
  else if (!has_scalars(u))
    u->status = kaon_fail(u->ctx, KAON_ERR_ARGUMENT,
                          "%s: slot %d is named but the pass has no scalars; set pass.scalars",
                          u->name, slot);
}

void kaon_update_coefficient(kaon_update *u, int number, kaon_coefficient c) {
  u->args.c.slot[number] = c.slot;
  u->args.c.sign[number] = c.sign;
  if (c.slot != KAON_NO_SLOT) check_slot(u, c.slot);
}

_Static_assert((int)KAON_BLAS_MULTI + 1 <= (int)KAON_KERNEL_SLOTS,
               "multi_dot fills the most slots, besides gram (block.c)");
void kaon_update_slot(kaon_update *u, int slot) {
  check_slot(u, slot);
  if (u->status == KAON_OK) u->sums.slots[u->sums.nslots++] = slot;
}

void kaon_update_sum(kaon_update *u, int number, int slot) {
  if (slot == KAON_NO_SLOT) return;
  u->sums.sum.slot[number] = slot;
  kaon_update_slot(u, slot);
}

void kaon_update_pass_sums(kaon_update *u, int w) {
  const kaon_pass *pass = u->sums.pass;
  if (u->status != KAON_OK || pass == NULL) return;
  u->sums.separate = kaon_separate(u->ctx);
  if (u->sums.separate) return;
  kaon_update_sum(u, 0, pass->norm);
  if (pass->dot == KAON_NO_SLOT) return;
  if (w < 0) {
    u->status = kaon_fail(u->ctx, KAON_ERR_UNSUPPORTED,
                          "%s: this update does not sum (w, result); ask kaon_blas_dot afterwards",
                          u->name);
    return;
  }
  kaon_update_read(u, w, "w of the pass", pass->w);
  u->late |= UINT64_C(1) << w;
  kaon_update_sum(u, 1, pass->dot);
}

static int overlap(const kaon_vector *a, const kaon_vector *b) {
  const uintptr_t a0 = (uintptr_t)a->data, b0 = (uintptr_t)b->data;
  return a0 < b0 + kaon_vector_bytes(b) && b0 < a0 + kaon_vector_bytes(a);
}

kaon_status kaon_update_check(kaon_update *u) {
  for (int i = 0; i < u->count && u->status == KAON_OK; i++) {
    if (!(u->written >> i & 1)) continue;
    for (int j = 0; j < u->count && u->status == KAON_OK; j++)
      if (j != i && u->operand[j] != NULL && !(u->late >> j & 1) &&
          overlap(u->operand[i], u->operand[j]))
        u->status = kaon_fail(u->ctx, KAON_ERR_ALIAS,
                              "%s: vector %s is written and shares memory with vector %s; they "
                              "must be different vectors",
                              u->name, u->operand_name[i], u->operand_name[j]);
  }
  return u->status;
}

kaon_status kaon_update_prepare(kaon_update *u, int built, kaon_launch *launch) {
  KAON_TRY(kaon_update_check(u));
  if (!built)
    return kaon_fail(
        u->ctx, KAON_ERR_NOT_BUILT,
        "%s: backend %s %s has no kernel for it in precision %d (0 double, 1 single, 2 "
        "half); choose another backend",
        u->name, u->ctx->backend->name, u->ctx->backend->isa, (int)u->shape->precision);
  if (!u->sums.separate) kaon_sums_plan(&u->sums, u->offers);
  u->args.sum = u->sums.sum;
  /* A pass larger than the cache leaves none of its result there. */
  size_t bytes = 0;
  for (int i = 0; i < u->count; i++)
    if (u->operand[i] != NULL) bytes += kaon_vector_bytes(u->operand[i]);
  KAON_TRY(kaon_launch_prepare(u->ctx, u->shape->nrhs, bytes, launch));
  /* Without written operands and sums nothing is launched. */
  u->ctx->no_flush_needed = u->written != 0 || u->args.sum.state != NULL;
  const kaon_space *space = u->shape->space;
  kaon_tuning_apply(u->ctx, KAON_TUNED_VECTOR, u->shape->precision, 0, u->shape->nrhs,
                    space->lattice != NULL ? kaon_space_caller_rows(space) : space->nsites, launch);
  return KAON_OK;
}

kaon_status kaon_update_launch(kaon_update *u, kaon_update_entry *entry) {
  kaon_launch launch;
  KAON_TRY(kaon_update_prepare(u, entry != NULL, &launch));
  entry(&launch, &u->args);
  return kaon_sums_after_kernel(&u->sums);
}

static void add_row_operand(kaon_update *u, const kaon_update_row *row, int number,
                            const kaon_operand *of) {
  if (row->writes >> number & 1) u->written |= UINT64_C(1) << number;
  if (number == 0 && row->form == KAON_ROW_SCALED)
    kaon_update_read_shared(u, number, of->name, of->vector);
  else if (number == 0 && row->form == KAON_ROW_CYCLIC)
    kaon_update_read_cyclic(u, number, of->name, of->vector);
  else
    kaon_update_read(u, number, of->name, of->vector);
}

kaon_status kaon_update_run_row(const kaon_update_row *row, const void *table,
                                const kaon_operand operands[], const kaon_coefficient c[],
                                const int slot[], int offers, const kaon_pass *pass) {
  const unsigned operands_of_row = row->reads | row->writes;
  kaon_update u;
  int first = 0; /* of those that are written */
  while (!(row->writes >> first & 1)) first++;
  kaon_update_begin(&u, row->name, operands[first].vector, pass);
  u.offers |= offers;
  for (int i = 0; i < KAON_MAX_OPERANDS && operands_of_row >> i != 0; i++)
    if (operands_of_row >> i & 1) add_row_operand(&u, row, i, &operands[i]);
  for (int i = 0; i < row->coefficients; i++) kaon_update_coefficient(&u, i, c[i]);
  for (int i = 0; i < row->sums; i++) kaon_update_sum(&u, i, slot[i]);
  kaon_update_entry *entry = NULL;
  if (table != NULL) memcpy(&entry, (const char *)table + row->entry, sizeof entry);
  return kaon_update_launch(&u, entry);
}
