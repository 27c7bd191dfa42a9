/* convert.c - copies and sums across precisions. */
#include "blas/submit.h"

/* clear: 1: `from` is set to 0. */
static kaon_status run(const char *name, const kaon_vector *from, kaon_vector *to, int add,
                       int clear, const kaon_pass *pass) {
  kaon_update u;
  kaon_launch launch;
  kaon_update_begin(&u, name, to, pass);
  u.any_precision = 1;
  if (clear)
    kaon_update_write(&u, 0, "from", (kaon_vector *)from);
  else
    kaon_update_read(&u, 0, "from", from);
  kaon_update_write(&u, 1, "to", to);
  kaon_update_pass_sums(&u, -1);
  KAON_TRY(kaon_update_check(&u));
  const kaon_convert_ops *ops = u.ctx->backend->convert;
  KAON_TRY(kaon_update_prepare(&u, ops != NULL, &launch));
  const kaon_convert_args args = {.shape = u.args.shape,
                                  .from = (int)from->precision,
                                  .to = (int)to->precision,
                                  .add = add,
                                  .clear = clear,
                                  .v = {u.args.v[0], u.args.v[1]},
                                  .gate = u.args.gate,
                                  .sum = u.args.sum};
  ops->convert(&launch, &args);
  return kaon_sums_after_kernel(&u.sums);
}

kaon_status kaon_blas_convert(const kaon_vector *from, kaon_vector *to, int add,
                              const kaon_pass *pass) {
  if (from != NULL && to != NULL && from->precision == to->precision && !add)
    return kaon_blas_copy(from, to, pass); /* the same bits, in half too */
  return run("convert", from, to, add != 0, 0, pass);
}

kaon_status kaon_blas_add_and_zero(kaon_vector *from, kaon_vector *to, const kaon_pass *pass) {
  return run("add_and_zero", from, to, 1, 1, pass);
}
