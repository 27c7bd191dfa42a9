/* pipelined.c - the updates of pipelined methods (blas.h): assigns operands. */
#include "blas/submit.h"

kaon_status kaon_blas_pipecg(int a, int b, const kaon_pipecg_vectors *v, const int slot[2],
                             const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "pipecg", v->r, pass);
  kaon_update_read(&u, 0, "q", v->q);
  kaon_update_write(&u, 1, "z", v->z);
  kaon_update_write(&u, 2, "w", v->w);
  kaon_update_write(&u, 3, "s", v->s);
  kaon_update_write(&u, 4, "r", v->r);
  kaon_update_write(&u, 5, "p", v->p);
  kaon_update_write(&u, 6, "x", v->x);
  kaon_update_coefficient(&u, 0, KAON_PLUS(b));
  kaon_update_coefficient(&u, 1, KAON_PLUS(a));
  kaon_update_coefficient(&u, 2, KAON_MINUS(a));
  for (int i = 0; i < 2; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, u.ops != NULL ? u.ops->pipecg : NULL);
}

kaon_status kaon_blas_pipecgnr(int a, int b, const kaon_pipecgnr_vectors *v, const int slot[4],
                               const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "pipecgnr", v->r, pass);
  u.offers |= KAON_SUMS_LEAVES;
  kaon_update_read(&u, 0, "u", v->u);
  kaon_update_write(&u, 1, "s", v->s);
  kaon_update_write(&u, 2, "r", v->r);
  kaon_update_write(&u, 3, "p", v->p);
  kaon_update_write(&u, 4, "x", v->x);
  kaon_update_coefficient(&u, 0, KAON_PLUS(b));
  kaon_update_coefficient(&u, 1, KAON_PLUS(a));
  kaon_update_coefficient(&u, 2, KAON_MINUS(a));
  for (int i = 0; i < 4; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, u.ops != NULL ? u.ops->pipecgnr : NULL);
}

kaon_status kaon_blas_pipebicgstab_direction(int a, int b, int o,
                                             const kaon_pipebicgstab_vectors *v, const int slot[4],
                                             const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "pipebicgstab_direction", v->r, pass);
  kaon_update_write(&u, 0, "r", v->r);
  kaon_update_write(&u, 1, "w", v->w);
  kaon_update_read(&u, 2, "t", v->t);
  kaon_update_write(&u, 3, "p", v->p);
  kaon_update_write(&u, 4, "s", v->s);
  kaon_update_write(&u, 5, "z", v->z);
  kaon_update_read(&u, 6, "v", v->v);
  kaon_update_read(&u, 7, "r0", v->r0);
  kaon_update_coefficient(&u, 0, KAON_PLUS(b));
  kaon_update_coefficient(&u, 1, KAON_MINUS(o));
  kaon_update_coefficient(&u, 2, KAON_MINUS(a));
  for (int i = 0; i < 4; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, u.ops != NULL ? u.ops->pipebicgstab_direction : NULL);
}

kaon_status kaon_blas_pipebicgstab_solution(int a, int o, const kaon_pipebicgstab_vectors *v,
                                            const int slot[3], const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "pipebicgstab_solution", v->r, pass);
  kaon_update_read(&u, 0, "p", v->p);
  kaon_update_write(&u, 1, "r", v->r);
  kaon_update_write(&u, 2, "w", v->w);
  kaon_update_read(&u, 3, "t", v->t);
  kaon_update_read(&u, 4, "v", v->v);
  kaon_update_write(&u, 5, "x", v->x);
  kaon_update_read(&u, 6, "r0", v->r0);
  kaon_update_coefficient(&u, 0, KAON_PLUS(a));
  kaon_update_coefficient(&u, 1, KAON_PLUS(o));
  kaon_update_coefficient(&u, 2, KAON_MINUS(o));
  kaon_update_coefficient(&u, 3, KAON_MINUS(a));
  for (int i = 0; i < 3; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, u.ops != NULL ? u.ops->pipebicgstab_solution : NULL);
}
