/* test_link_roles.c - fat and long links in their places are accepted; exchanged ones, thin ones,
 * those of another configuration and those with signs are refused by the likely mistake. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/util/link_case.h"

/* Thin links and what is made of them, rounded as files of 32 bits round it. */
typedef struct set {
  kaon_gauge *thin, *fat, *naik;
} set;

static kaon_gauge *new_field(dirac_case *c, kaon_precision precision) {
  kaon_gauge *g = NULL;
  must(c->ctx, kaon_gauge_create(c->lattice, precision, KAON_RECONSTRUCT_18, &g));
  return g;
}

/* eps 0: unit links; above 1: random ones. Long links are times 1 + epsilon, as in MILC's files. */
static set make(dirac_case *c, double eps, uint64_t seed, kaon_fatten_action action, double u0,
                double epsilon) {
  set s = {new_field(c, KAON_DOUBLE), new_field(c, KAON_SINGLE), new_field(c, KAON_SINGLE)};
  kaon_fatten_options o = KAON_FATTEN_OPTIONS_INIT;
  must(c->ctx, eps > 1 ? kaon_gauge_random(s.thin, seed) : kaon_gauge_weak(s.thin, eps, seed));
  kaon_gauge *fat = new_field(c, KAON_DOUBLE), *naik = new_field(c, KAON_DOUBLE);
  o.action = action;
  o.u0 = u0;
  o.naik_epsilon = epsilon;
  must(c->ctx, kaon_fatten(s.thin, &o, fat, naik, NULL));
  ref_complex *u = case_links(c, naik);
  for (size_t i = 0; i < ref_links_size(&c->L); i++) u[i] *= 1 + epsilon;
  must(c->ctx,
       kaon_gauge_import_matrices(naik, KAON_ORDER_NATURAL, KAON_DOUBLE, (const void *const[]){u}));
  free(u);
  must(c->ctx, kaon_gauge_copy(s.fat, fat));
  must(c->ctx, kaon_gauge_copy(s.naik, naik));
  kaon_gauge_destroy(&fat);
  kaon_gauge_destroy(&naik);
  return s;
}

static void drop(set *s) {
  kaon_gauge_destroy(&s->thin);
  kaon_gauge_destroy(&s->fat);
  kaon_gauge_destroy(&s->naik);
}

/* words NULL: accepted. */
static void check(dirac_case *c, const kaon_gauge *fat, const kaon_gauge *naik,
                  const kaon_gauge *thin, kaon_fatten_action action, const char *words) {
  const kaon_status status = kaon_staggered_check_links(fat, naik, thin, action);
  if (words == NULL) {
    must(c->ctx, status);
    return;
  }
  assert_int_equal(status, KAON_ERR_ARGUMENT);
  if (!strstr(kaon_last_error(c->ctx), words))
    fail_msg("no '%s' in: %s", words, kaon_last_error(c->ctx));
}

/* In double, where signs can be folded. */
static kaon_gauge *folded(dirac_case *c, const kaon_gauge *from, int steps) {
  kaon_gauge *g = new_field(c, KAON_DOUBLE);
  must(c->ctx, kaon_gauge_copy(g, from));
  must(c->ctx, kaon_staggered_fold(g, steps, KAON_PHASES_MILC));
  return g;
}

static void roles_are_told_apart(void **state) {
  static const int extents[4] = {4, 4, 6, 8};
  static const struct {
    kaon_fatten_action action;
    double eps, u0, epsilon;
  } cases[] = {{KAON_FATTEN_ASQTAD, 0.3, 0.9, 0},  {KAON_FATTEN_ASQTAD, 2, 0.502, 0},
               {KAON_FATTEN_HISQ, 0.3, 1, 0},      {KAON_FATTEN_HISQ, 2, 1, -0.3},
               {KAON_FATTEN_ASQTAD, 0.1, 0.98, 0}, {KAON_FATTEN_HISQ, 0.1, 1, -0.1}};
  static const char made[] = "links are not made of the thin links";
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_UNIT, 1));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const kaon_fatten_action action = cases[i].action;
    set s = make(&c, cases[i].eps, 1, action, cases[i].u0, cases[i].epsilon);
    set other = make(&c, cases[i].eps, 2, action, cases[i].u0, cases[i].epsilon);
    check(&c, s.fat, s.naik, s.thin, action, NULL);
    check(&c, s.fat, s.naik, NULL, action, NULL);
    check(&c, s.naik, s.fat, s.thin, action, "exchange the two");
    check(&c, s.naik, s.fat, NULL, action, "exchange the two");
    check(&c, s.fat, s.fat, NULL, action, "long links are not multiples of unitary matrices");
    check(&c, s.naik, s.naik, NULL, action, "not smaller multiples");
    check(&c, s.thin, s.naik, NULL, action, "the fat links are unitary, as thin links are");
    check(&c, s.fat, s.thin, s.thin, action, "the long links are unitary, as thin links are");
    check(&c, other.fat, other.naik, s.thin, action, made);
    check(&c, s.fat, other.naik, s.thin, action, made);
    check(&c, other.fat, s.naik, s.thin, action, made);
    print_message("%s\n", kaon_last_error(c.ctx));
    kaon_gauge *fat = folded(&c, s.fat, 1), *naik = folded(&c, s.naik, 3);
    check(&c, fat, s.naik, s.thin, action,
          "the fat links are those of the thin links but for signs");
    check(&c, s.fat, naik, s.thin, action,
          "the long links are those of the thin links but for signs");
    kaon_gauge_destroy(&fat);
    kaon_gauge_destroy(&naik);
    naik = folded(&c, s.naik, 1); /* 3 of 8 slices have the other boundary sign */
    kaon_gauge *back = folded(&c, naik, 3);
    check(&c, s.fat, back, s.thin, action, "but for signs");
    kaon_gauge_destroy(&naik);
    kaon_gauge_destroy(&back);
    drop(&s);
    drop(&other);
  }
  set unit = make(&c, 0, 1, KAON_FATTEN_ASQTAD, 1, 0);
  check(&c, unit.fat, unit.naik, unit.thin, KAON_FATTEN_ASQTAD, NULL);
  check(&c, unit.fat, unit.naik, NULL, KAON_FATTEN_ASQTAD, NULL);
  check(&c, unit.naik, unit.fat, NULL, KAON_FATTEN_ASQTAD, "exchange the two");
  drop(&unit);
  case_close(&c);
}

/* MILC's recorded links, with its signs: they are those of its sample lattice alone. */
static void recorded_links_belong_to_their_lattice(void **state) {
  static const int extents[4] = {8, 8, 8, 8};
  static const char *const names[4] = {"milc/milc_lat.sample.l8", "milc/milc_lat.sample.l8888",
                                       "milc/milc_fat.l8", "milc/milc_long.l8"};
  char path[4][1024];
  (void)state;
  for (int i = 0; i < 4; i++)
    if (!test_data_path(names[i], path[i], sizeof path[i])) skip();
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_UNIT, 1));
  kaon_gauge *g[4];
  for (int i = 0; i < 4; i++) {
    g[i] = new_field(&c, KAON_DOUBLE);
    must(c.ctx, i < 2 ? kaon_gauge_read(g[i], path[i], NULL, NULL)
                      : kaon_staggered_read_links(g[i], path[i], 0));
    if (i >= 2) must(c.ctx, kaon_staggered_fold(g[i], i == 2 ? 1 : 3, KAON_PHASES_MILC));
  }
  check(&c, g[2], g[3], g[0], KAON_FATTEN_ASQTAD, NULL);
  check(&c, g[2], g[3], g[1], KAON_FATTEN_ASQTAD, "not made of the thin links");
  for (int i = 0; i < 4; i++) kaon_gauge_destroy(&g[i]);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(roles_are_told_apart),
      cmocka_unit_test(recorded_links_belong_to_their_lattice),
  };
  return test_main(tests, NULL, NULL);
}
