/* test_faces_order.c - how a GPU divides the sites of a lattice with faces (lib/cuda/boxes.h), on
 * the host: boxes have every site once, the interior meets no ghost, and who sends and who receives
 * give a ghost the same number. Every subset of directions, extents from 2 on. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lib/cuda/boxes.h"

static const int shapes[][4] = {{2, 2, 2, 2}, {2, 4, 6, 2},  {4, 2, 2, 6}, {6, 4, 2, 4},
                                {8, 6, 4, 2}, {4, 6, 2, 10}, {8, 8, 4, 8}, {10, 2, 8, 4}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static kaon_sites sites_of(const int extents[4]) {
  kaon_stencil st = {.nsites = 1};
  for (int mu = 0; mu < 4; mu++) {
    st.extents[mu] = extents[mu];
    st.nsites *= extents[mu];
  }
  st.nsites /= 2;
  return kaon_sites_of(&st);
}

static int coordinate(const kaon_here *h, int mu) {
  return mu == 0 ? 2 * h->half + h->odd_x : mu == 1 ? h->y : mu == 2 ? h->z : h->t;
}

/* The slow way round. */
static int leaves(const kaon_sites *s, const kaon_here *h, const int partitioned[4], int dir) {
  const int mu = dir % 4;
  return partitioned[mu] && coordinate(h, mu) == (dir < 4 ? s->extents[mu] - 1 : 0);
}

static void same_site(const kaon_here *a, const kaon_here *b) {
  assert_int_equal(a->at, b->at);
  assert_int_equal(a->parity, b->parity);
  for (int mu = 0; mu < 4; mu++) assert_int_equal(coordinate(a, mu), coordinate(b, mu));
}

static void for_all(void (*check)(const kaon_sites *s, const int partitioned[4], int parity)) {
  for (int shape = 0; shape < SHAPES; shape++)
    for (int mask = 1; mask < 16; mask++)
      for (int parity = 0; parity < 2; parity++) {
        const kaon_sites s = sites_of(shapes[shape]);
        int partitioned[4];
        for (int mu = 0; mu < 4; mu++) partitioned[mu] = mask >> mu & 1;
        check(&s, partitioned, parity);
      }
}

static void check_boxes(const kaon_sites *s, const int partitioned[4], int parity) {
  const kaon_boxes boxes = kaon_boxes_of(s, partitioned);
  uint8_t *seen = calloc((size_t)s->nsites, 1);
  assert_non_null(seen);
  assert_true(boxes.slabs >= 1 && boxes.slabs <= KAON_SLABS);
  for (int i = 0; i <= boxes.slabs; i++) {
    const kaon_box *box = &boxes.box[i];
    int edge = 0;
    if (i > 0) assert_true(box->sites > 0);
    for (uint32_t n = 0; n < box->sites; n++) {
      const kaon_here h = kaon_here_in_box(s, box, parity, n);
      const kaon_here plain = kaon_here_of(s, parity, h.at);
      assert_true(h.at >= 0 && h.at < s->nsites);
      same_site(&h, &plain);
      assert_int_equal(seen[h.at]++, 0);
      for (int dir = 0; dir < KAON_DIRS; dir++) {
        const int out = leaves(s, &h, partitioned, dir);
        assert_int_equal(partitioned[dir % 4] && kaon_leaves(s, &h, dir), out);
        edge |= out;
        if (i == 0) assert_false(out);
      }
    }
    if (i > 0) assert_true(edge); /* a slab has its reason */
  }
  for (int32_t at = 0; at < s->nsites; at++) assert_int_equal(seen[at], 1);
  free(seen);
}

static void boxes_have_every_site_once(void **state) {
  (void)state;
  for_all(check_boxes);
}

/* All parts have one shape, so the neighbour's numbers are worked out on the same sites: a site
 * that meets ghost n, and the sender of n, are one step apart on the lattice closed to a ring. */
static void check_ghosts(const kaon_sites *s, const int partitioned[4], int parity) {
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int mu = dir % 4;
    if (!partitioned[mu]) continue;
    const kaon_face face = kaon_face_of(s, mu);
    uint8_t *seen = calloc(face.ghosts, 1);
    assert_non_null(seen);
    assert_int_equal(face.ghosts, s->nsites / s->extents[mu]);
    for (int32_t at = 0; at < s->nsites; at++) {
      const kaon_here h = kaon_here_of(s, parity, at);
      int sign;
      if (!kaon_leaves(s, &h, dir)) continue;
      const uint32_t n = kaon_ghost_of(s, &h, mu);
      assert_true(n < face.ghosts);
      assert_int_equal(seen[n]++, 0);
      const kaon_here from = kaon_sender_of(s, &face, 1 - parity, dir, n);
      const kaon_here there = kaon_here_of(s, 1 - parity, kaon_neighbour_of(s, &h, dir, &sign));
      same_site(&from, &there);
    }
    for (uint32_t n = 0; n < face.ghosts; n++) assert_int_equal(seen[n], 1);
    free(seen);
  }
}

static void who_sends_and_who_receives_agree_on_numbers(void **state) {
  (void)state;
  for_all(check_ghosts);
}

int main(void) {
  const struct CMUnitTest faces_order[] = {
      cmocka_unit_test(boxes_have_every_site_once),
      cmocka_unit_test(who_sends_and_who_receives_agree_on_numbers),
  };
  return cmocka_run_group_tests_name("faces_order", faces_order, NULL, NULL);
}
