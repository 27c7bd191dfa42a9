/* direction.c - the hops of an operator along one direction. In the other directions every site is
 * a block of its own, so their hops are cut. The hops that leave a block are all hops along mu
 * minus those inside blocks. */
#include <stdlib.h>

#include "dslash/operator/frame.h"

struct kaon_direction {
  const kaon_fields *fields;
  kaon_stencil along, inside;
  kaon_cuts *cuts[2];
  int leaving;
};

static kaon_status cut(const kaon_fields *fields, int mu, int block, kaon_stencil *stencil,
                       kaon_cuts **cuts) {
  *stencil = fields->stencil;
  if (block > 0) stencil->faces = NULL;
  for (int nu = 0; nu < 4; nu++) stencil->cut[nu] = nu == mu ? block : 1;
  KAON_TRY(kaon_cuts_create(fields->family->lattice, stencil->cut, cuts));
  stencil->cuts = *cuts;
  return KAON_OK;
}

static kaon_status check(const kaon_operator *A, int mu, int block) {
  const kaon_family *family = kaon_fields_of(A)->family;
  const int extent = mu >= 0 && mu < 4 ? family->lattice->extents[mu] : 0;
  if (!family->action->cuts)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "direction: '%s' has no hops in one direction alone", A->ops->name);
  if (extent == 0 || (block != 0 && (block < 2 || block % 2 != 0 || extent % block != 0)))
    return kaon_fail(
        A->ctx, KAON_ERR_ARGUMENT,
        "direction: mu is %d and the block %d, but mu is 0 to 3, and the block an even "
        "divisor of the rank's extent %d (0: all hops)",
        mu, block, extent);
  if (kaon_fields_of(A)->stencil.faces != NULL && A->ctx->backend->computed_neighbours)
    return kaon_fail(
        A->ctx, KAON_ERR_UNSUPPORTED,
        "direction: backend %s has no hops in one direction alone on a lattice that is "
        "divided among ranks; use one rank, or --backend cpu",
        A->ctx->backend->name);
  return KAON_OK;
}

kaon_status kaon_direction_create(const kaon_operator *A, int mu, int block,
                                  kaon_direction **direction) {
  const kaon_fields *fields = kaon_fields_of(A);
  *direction = NULL;
  KAON_TRY(check(A, mu, block));
  kaon_direction *made = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "direction: out of host memory");
  *made = (kaon_direction){.fields = fields, .leaving = block != 0};
  kaon_status status = cut(fields, mu, 0, &made->along, &made->cuts[0]);
  if (status == KAON_OK && made->leaving)
    status = cut(fields, mu, block, &made->inside, &made->cuts[1]);
  status = kaon_agree(A->ctx, status);
  if (status != KAON_OK) kaon_direction_destroy(&made);
  *direction = made;
  return status;
}

void kaon_direction_destroy(kaon_direction **direction) {
  kaon_direction *gone = *direction;
  *direction = NULL;
  if (gone == NULL) return;
  for (int i = 0; i < 2; i++) kaon_cuts_destroy(gone->fields->family->ctx, &gone->cuts[i]);
  free(gone);
}

kaon_status kaon_direction_hop(const kaon_direction *direction, int parity, kaon_mode mode,
                               const kaon_vector *in, kaon_vector *out, const kaon_pass *gate) {
  const kaon_fields *fields = direction->fields;
  const kaon_action *action = fields->family->action;
  const kaon_fused along = {.b = 1, .stencil = &direction->along};
  const kaon_fused less = {.a = 1, .x = out, .b = -1, .stencil = &direction->inside};
  KAON_TRY(kaon_fields_check(fields));
  KAON_TRY(action->hop(fields, parity, mode, &along, in, out, gate));
  return direction->leaving ? action->hop(fields, parity, mode, &less, in, out, gate) : KAON_OK;
}
