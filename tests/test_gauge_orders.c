/* test_gauge_orders.c - orders of links in an application's memory. Each means what
 * docs/conventions.md says, and links go through every order unchanged, bit by bit. Factors that an
 * application has multiplied in are divided out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include <kaon/staggered.h>

#include "tests/util/link_case.h"

static const char *const order_names[] = {"natural", "QDP", "MILC", "CPS", "openQCD"};
enum { ORDERS = 5 };

/* Room for all links in any order, as one or four arrays. */
static void *take_arrays(const dirac_case *c, kaon_gauge_order order, size_t real_bytes,
                         void *arrays[4]) {
  const size_t reals = 2 * ref_links_size(&c->L);
  char *room = calloc(reals, real_bytes);
  for (size_t mu = 0; mu < 4; mu++)
    arrays[mu] = room + (order == KAON_ORDER_QDP ? mu : 0) * (reals / 4) * real_bytes;
  return room;
}

/* The same through the machine's own memory: device arrays hold the numbers of host arrays. */
static void check_device_arrays(dirac_case *c, kaon_gauge *other, kaon_gauge_order order,
                                kaon_precision p, const void *room) {
  const size_t bytes = 2 * ref_links_size(&c->L) * (p == KAON_DOUBLE ? 8 : 4);
  void *device = machine_array(c->ctx, room, bytes), *arrays[4];
  for (size_t mu = 0; mu < 4; mu++)
    arrays[mu] = (char *)device + (order == KAON_ORDER_QDP ? mu : 0) * (bytes / 4);
  const void *const *links = (const void *const *)arrays;
  must(c->ctx, kaon_gauge_import_matrices(other, order, p, links));
  must(c->ctx, kaon_gauge_export_device(other, order, p, arrays));
  must(c->ctx, kaon_gauge_unit(other));
  must(c->ctx, kaon_gauge_import_device(other, order, p, (const void *const *)arrays));
  must(c->ctx, c->ctx->backend->memory->clear(c->ctx, device, bytes));
  must(c->ctx, kaon_gauge_export_device(other, order, p, arrays));
  void *back = machine_read(c->ctx, device, bytes);
  assert_memory_equal(room, back, bytes);
  free(back);
  if (!c->ctx->backend->host_accessible) {
    void *host[4] = {(void *)(uintptr_t)room, NULL, NULL, NULL};
    if (order == KAON_ORDER_NATURAL) {
      assert_int_equal(kaon_gauge_import(other, order, p, (const void *const *)arrays),
                       KAON_ERR_ARGUMENT);
      printf("  %s\n", kaon_last_error(c->ctx));
      assert_int_equal(kaon_gauge_import_device(other, order, p, (const void *const *)host),
                       KAON_ERR_ARGUMENT);
      printf("  %s\n", kaon_last_error(c->ctx));
    }
  }
  machine_array_free(c->ctx, device);
}

static void check_round_trip(dirac_case *c) {
  kaon_gauge *other = NULL;
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &other));
  const size_t count = 2 * ref_links_size(&c->L);
  for (int order = 0; order < ORDERS; order++)
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
      const size_t bytes = p == KAON_DOUBLE ? 8 : 4;
      void *arrays[4], *again[4];
      void *first = take_arrays(c, order, bytes, arrays);
      void *second = take_arrays(c, order, bytes, again);
      must(c->ctx, kaon_gauge_export(c->gauge, order, p, arrays));
      must(c->ctx, kaon_gauge_import(other, order, p, (const void *const *)arrays));
      must(c->ctx, kaon_gauge_export(other, order, p, again));
      assert_memory_equal(first, second, count * bytes);
      check_device_arrays(c, other, order, p, first);
      ref_complex *u = case_links(c, other);
      if (p == KAON_DOUBLE)
        assert_memory_equal(u, c->u, ref_links_size(&c->L) * sizeof *u);
      else
        for (size_t i = 0; i < count; i++)
          assert_true(((double *)u)[i] == (double)(float)((double *)c->u)[i]);
      free(u), free(first), free(second);
    }
  printf("  %d orders, double and float, host and device memory: the same bits\n", ORDERS);
  kaon_gauge_destroy(&other);
}

/* On the device, links in host memory are copied in pieces and links in device memory at once,
 * with the same bits. */
static void a_field_of_several_pieces_is_whole(void **state) {
  (void)state;
  static const int extents[4] = {16, 16, 16, 32};
  dirac_case c;
  if (!case_open(&c, MACHINE_CUDA, extents, 0, LINKS_RANDOM, 5)) skip();
  kaon_gauge *other = NULL;
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &other));
  for (int order = 0; order < ORDERS; order++) {
    void *arrays[4];
    void *room = take_arrays(&c, order, 8, arrays);
    must(c.ctx, kaon_gauge_export(c.gauge, order, KAON_DOUBLE, arrays));
    check_device_arrays(&c, other, order, KAON_DOUBLE, room);
    must(c.ctx, kaon_gauge_unit(other));
    must(c.ctx, kaon_gauge_import(other, order, KAON_DOUBLE, (const void *const *)arrays));
    ref_complex *u = case_links(&c, other);
    assert_memory_equal(u, c.u, ref_links_size(&c.L) * sizeof *u);
    free(u), free(room);
  }
  kaon_gauge_destroy(&other);
  case_close(&c);
}

static void links_survive_every_order(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_round_trip);
}

/* Walks through each order in its own sequence, as its code's documentation describes it, and
 * compares. */
static void expect_link(const dirac_case *c, const ref_complex *host, size_t matrix, int transposed,
                        size_t site, int mu) {
  const ref_complex *u = c->u + 9 * (4 * site + (size_t)mu);
  for (size_t i = 0; i < 3; i++)
    for (size_t j = 0; j < 3; j++)
      assert_true(host[9 * matrix + (transposed ? 3 * j + i : 3 * i + j)] == u[3 * i + j]);
}

static void walk_even_odd(const dirac_case *c, kaon_gauge_order order, void *const arrays[4]) {
  size_t number = 0;
  for (int parity = 0; parity < 2; parity++)
    for (size_t site = 0; site < ref_volume(&c->L); site++) {
      if (ref_parity(&c->L, site) != parity) continue;
      for (int mu = 0; mu < 4; mu++) {
        if (order == KAON_ORDER_QDP)
          expect_link(c, arrays[mu], number, 0, site, mu);
        else
          expect_link(c, arrays[0], 4 * number + (size_t)mu, order == KAON_ORDER_CPS, site, mu);
      }
      number++;
    }
}

/* Odd sites, loops t (slowest), x, y, z; per direction t, x, y, z: U(x, mu), U(x - mu, mu). */
static void walk_openqcd(const dirac_case *c, const ref_complex *host) {
  static const int direction[4] = {3, 0, 1, 2};
  size_t matrix = 0;
  int x[4];
  for (x[3] = 0; x[3] < c->L.n[3]; x[3]++)
    for (x[0] = 0; x[0] < c->L.n[0]; x[0]++)
      for (x[1] = 0; x[1] < c->L.n[1]; x[1]++)
        for (x[2] = 0; x[2] < c->L.n[2]; x[2]++) {
          const size_t site = ref_site(&c->L, x);
          if (ref_parity(&c->L, site) == 0) continue;
          for (int i = 0; i < 4; i++) {
            const int mu = direction[i];
            expect_link(c, host, matrix++, 0, site, mu);
            expect_link(c, host, matrix++, 0, ref_shift(&c->L, site, mu, -1), mu);
          }
        }
}

static void check_meaning(dirac_case *c) {
  for (int order = 0; order < ORDERS; order++) {
    void *arrays[4];
    void *room = take_arrays(c, order, 8, arrays);
    must(c->ctx, kaon_gauge_export(c->gauge, order, KAON_DOUBLE, arrays));
    if (order == KAON_ORDER_NATURAL)
      assert_memory_equal(room, c->u, ref_links_size(&c->L) * sizeof *c->u);
    else if (order == KAON_ORDER_OPENQCD)
      walk_openqcd(c, room);
    else
      walk_even_odd(c, order, arrays);
    printf("  %s\n", order_names[order]);
    free(room);
  }
}

static void orders_are_those_of_the_other_codes(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_meaning);
}

/* ---- factors ---- */

static const kaon_link_factors folded = {{0.25, 0.25, 0.25, 2}, 1};

/* Any matrices: the case's links times `folded`. */
static kaon_gauge *folded_links(dirac_case *c) {
  const size_t volume = ref_volume(&c->L);
  ref_complex *u = ref_new(ref_links_size(&c->L));
  kaon_gauge *gauge = NULL;
  for (size_t i = 0; i < ref_links_size(&c->L); i++) {
    const size_t mu = i / 9 % 4, last = volume - volume / (size_t)c->L.n[3];
    u[i] = folded.factor[mu] * (mu == 3 && i / 36 >= last ? -1 : 1) * c->u[i];
  }
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(c->ctx,
       kaon_gauge_import_matrices(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (const void *[]){u}));
  free(u);
  return gauge;
}

static void check_factors(dirac_case *c) {
  kaon_gauge *source = folded_links(c), *other = NULL;
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &other));
  const size_t count = 2 * ref_links_size(&c->L);
  for (int order = 0; order < ORDERS; order++)
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
      void *arrays[4];
      void *room = take_arrays(c, order, p == KAON_DOUBLE ? 8 : 4, arrays);
      must(c->ctx, kaon_gauge_export(source, order, p, arrays));
      must(c->ctx,
           kaon_gauge_import_factors(other, order, p, (const void *const *)arrays, &folded));
      ref_complex *u = case_links(c, other);
      for (size_t i = 0; i < count; i++) { /* powers of 2 and signs are exact */
        const double expected = ((double *)c->u)[i];
        assert_true(((double *)u)[i] == (p == KAON_DOUBLE ? expected : (double)(float)expected));
      }
      free(u), free(room);
    }
  printf("  factors are divided out in %d orders, double and float\n", ORDERS);
  kaon_gauge_destroy(&source);
  kaon_gauge_destroy(&other);
}

static void factors_are_divided_out(void **state) {
  (void)state;
  for_all_cases(LINKS_RANDOM, check_factors);
}

/* The check of SU(3) comes after the division, and names the function that divides. */
static void wrong_factors_are_refused(void **state) {
  (void)state;
  static const int extents[4] = {4, 4, 2, 6};
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_RANDOM, 5));
  kaon_gauge *source = folded_links(&c), *other = NULL;
  kaon_link_factors wrong[] = {folded, folded, folded, folded};
  wrong[0].antiperiodic_t = 0;
  wrong[1].factor[2] = 0.5;
  wrong[2].factor[3] = 0;
  wrong[3].factor[0] = NAN;
  void *arrays[4];
  void *room = take_arrays(&c, KAON_ORDER_MILC, 8, arrays);
  const void *const *in = (const void *const *)arrays;
  must(c.ctx, kaon_gauge_export(source, KAON_ORDER_MILC, KAON_DOUBLE, arrays));
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_12, &other));
  must_refuse(c.ctx, KAON_ERR_UNITARITY,
              kaon_gauge_import(other, KAON_ORDER_MILC, KAON_DOUBLE, in));
  assert_non_null(strstr(kaon_last_error(c.ctx), "kaon_gauge_import_factors"));
  for (int i = 0; i < 4; i++)
    must_refuse(c.ctx, i < 2 ? KAON_ERR_UNITARITY : KAON_ERR_ARGUMENT,
                kaon_gauge_import_factors(other, KAON_ORDER_MILC, KAON_DOUBLE, in, &wrong[i]));
  must(c.ctx, kaon_gauge_import_factors(other, KAON_ORDER_MILC, KAON_DOUBLE, in, &folded));
  kaon_gauge_destroy(&source);
  kaon_gauge_destroy(&other);
  free(room);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(links_survive_every_order),
      cmocka_unit_test(a_field_of_several_pieces_is_whole),
      cmocka_unit_test(orders_are_those_of_the_other_codes),
      cmocka_unit_test(factors_are_divided_out),
      cmocka_unit_test(wrong_factors_are_refused),
  };
  return test_main(tests, NULL, NULL);
}
