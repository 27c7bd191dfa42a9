/* transfer.c - R maps to a coarse space: sums over 2^4 sites. Tests (y, R x) = (R^dag y, x). */
#include <stdio.h>
#include <kaon/kaon.h>
/* y = R x or R^dag x. site[n] = x + 8 (y + 8 (z + 8 t)) of place n in a spinor field's memory. */
static kaon_status apply(void *site, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  kaon_vector_storage in = KAON_VECTOR_STORAGE_INIT, out = KAON_VECTOR_STORAGE_INIT;
  int bad = kaon_vector_zero(y) || kaon_vector_locate(x, &in) || kaon_vector_locate(y, &out);
  for (int64_t i = 0; i < 24 * 4096 && !bad; i++) {
    const int64_t n = i / 24, s = ((const int64_t *)site)[n], plain = mode == KAON_PLAIN;
    const int64_t block = s / 2 % 4 + 4 * (s / 16 % 4 + 4 * (s / 128 % 4 + 4 * (s / 1024)));
    ((double *)out.data)[kaon_storage_index(&out, plain ? block : n, 0, i % 24)] +=
        ((double *)in.data)[kaon_storage_index(&in, plain ? n : block, 0, i % 24)];
  }
  return bad ? KAON_ERR_STATE : KAON_OK;
}

int main(void) {
  static int64_t site[4096];
  static kaon_context *ctx;
  static kaon_lattice *l;
  static kaon_space *coarse;
  static kaon_operator *R;
  static kaon_vector *x, *y, *z;
  kaon_context_options o = KAON_CONTEXT_OPTIONS_INIT;
  kaon_shell_methods m = {.size = sizeof m, .version = 1, .apply = apply};
  double xy[1][2], yy[1][2];
  o.backend = KAON_BACKEND_CPU; /* on a GPU, apply would launch a kernel */
  if (kaon_context_create(&o, &ctx) || kaon_space_create(ctx, 256, 12, 1, &coarse) ||
      kaon_lattice_create(ctx, (const int[4]){8, 8, 8, 8}, KAON_PERIODIC, &l) ||
      kaon_space_order(kaon_lattice_spinors(l, KAON_FULL), 4096, site) ||
      kaon_shell_create(kaon_lattice_spinors(l, KAON_FULL), coarse, &m, site, NULL, &R) ||
      kaon_vector_create(ctx, kaon_operator_space(R), KAON_DOUBLE, 1, &x) ||
      kaon_vector_create(ctx, kaon_operator_space(R), KAON_DOUBLE, 1, &z) ||
      kaon_vector_create(ctx, coarse, KAON_DOUBLE, 1, &y) || kaon_source_z4(x, 1) ||
      kaon_operator_apply(R, KAON_PLAIN, x, y) || kaon_operator_apply(R, KAON_DAGGER, y, z) ||
      kaon_vector_dot(y, y, yy) || kaon_vector_dot(z, x, xy))
    return fprintf(stderr, "%s\n", kaon_last_error(ctx)), 2;
  printf("<y, R x> = %.12f, <R^dag y, x> = %.12f\n", yy[0][0], xy[0][0]);
  return (yy[0][0] - xy[0][0]) * (yy[0][0] - xy[0][0]) > 1e-24 * yy[0][0] * yy[0][0];
}
