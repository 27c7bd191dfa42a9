/* test_scaling.c - solves for right-hand sides far from 1 have the bits of ordinary ones
 * (scaling_case.h), for all forms of lattice operators, methods and inner precisions. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/util/scaling_case.h"
#include "tests/util/staggered_case.h"

typedef enum {
  WILSON,
  CLOVER_SYMMETRIC,
  CLOVER_ASYMMETRIC,
  CLOVER_TEMPORAL,
  CLOVER_DAGGER,
  TWISTED,
  DOMAIN_WALL,
  STAGGERED,
  STAGGERED_EVEN_ODD,
  HISQ,
  HISQ_EVEN_ODD,
  FORMS
} form;
enum { LS = 4 };

/* The operator that b belongs to. */
static kaon_operator *whole(staggered_case *s, form f) {
  kaon_domain_wall_options w = KAON_DOMAIN_WALL_OPTIONS_INIT;
  kaon_dirac_options d = KAON_DIRAC_OPTIONS_INIT;
  kaon_operator *M = NULL;
  if (f >= STAGGERED)
    return staggered_operator(s, 1.5, 0, KAON_PHASES_MILC, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  w.ls = LS;
  w.mass = 0.5;
  d.kappa = 0.11;
  d.csw = f == WILSON ? 0 : 1;
  d.mu = f == TWISTED ? 0.2 : 0;
  must(ctx, f == DOMAIN_WALL ? kaon_domain_wall_create(s->c.gauge, &w, &M)
                             : kaon_dirac_create(s->c.gauge, &d, &M));
  return M;
}

static kaon_operator *operator_of(staggered_case *s, form f) {
  kaon_operator *M = whole(s, f), *A = NULL;
  if (f == WILSON || f == STAGGERED || f == HISQ) return M;
  if (f == CLOVER_DAGGER)
    must(ctx, kaon_operator_adjoint(M, &A));
  else if (f == STAGGERED_EVEN_ODD || f == HISQ_EVEN_ODD)
    must(ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  else
    A = case_even_odd(&s->c, M, f == CLOVER_ASYMMETRIC ? KAON_EVEN_ODD_ASYMMETRIC : 0, KAON_EVEN,
                      f == CLOVER_TEMPORAL);
  kaon_operator_destroy(&M);
  return A;
}

static void all_sources(staggered_case *s, form f) {
  const int sites = (int)ref_volume(&s->c.L);
  const int hermitian = f == STAGGERED_EVEN_ODD || f == HISQ_EVEN_ODD;
  system_of plain = {.A = operator_of(s, f)}, scaled;
  plain.space = f >= STAGGERED     ? kaon_lattice_staggered(s->c.lattice, KAON_FULL)
                : f == DOMAIN_WALL ? kaon_lattice_spinors_5d(s->c.lattice, LS, KAON_FULL)
                                   : kaon_lattice_spinors(s->c.lattice, KAON_FULL);
  plain.numbers = sites * (f >= STAGGERED ? 6 : f == DOMAIN_WALL ? 24 * LS : 24);
  scaled = plain;
  scaled.of_b = powers;
  for (int m = 0; m < METHODS; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      const kaon_solver_options o = options_of(m, p);
      outcome a, b;
      if (!repeats(m) || (method_has(m, KAON_METHOD_HERMITIAN) && !hermitian)) continue;
      if (!run(&plain, &o, &a)) continue;
      assert_int_equal(run(&scaled, &o, &b), 1);
      converged(&o, &a);
      same(&scaled, &o, &a, &b);
      free(a.x);
      free(b.x);
    }
  kaon_operator_destroy(&plain.A);
}

static void lattice_operators_do_not_see_the_size_of_b(void **state) {
  static const int extents[4] = {4, 2, 2, 4};
  (void)state;
  for (int i = 0; i < 2; i++)
    for (int f = 0; f < FORMS; f++) {
      staggered_case s;
      machine = machines[i];
      if (!staggered_open(&s, machine, extents, 1, f >= HISQ ? 2 : 0)) continue;
      ctx = s.c.ctx;
      all_sources(&s, (form)f);
      staggered_close(&s);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lattice_operators_do_not_see_the_size_of_b),
  };
  return test_main(tests, NULL, NULL);
}
