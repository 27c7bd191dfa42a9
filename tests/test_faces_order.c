/* test_faces_order.c - how a GPU divides the sites of a lattice with faces
 * (lib/cuda/ranks/boxes.h), computed on the host. Boxes contain every site once, the interior
 * touches no ghost, and sender and receiver number a ghost alike. Every subset of directions, with
 * odd extents as ranks may have them (lib/grid/rank_grid.c), for hops of one site and of three
 * (extents from 3 in divided directions). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lib/cuda/ranks/boxes.h"
#include "tests/util/test_util.h"

static const int shapes[][4] = {
    {2, 2, 2, 2}, {2, 4, 6, 2},  {4, 2, 2, 6}, {6, 4, 2, 4}, {8, 6, 4, 2}, {4, 6, 2, 10},
    {8, 8, 4, 8}, {10, 2, 8, 4}, {4, 3, 2, 4}, {4, 4, 5, 6}, {6, 4, 6, 3}, {4, 3, 3, 4},
    {8, 3, 4, 5}, {4, 2, 3, 7},  {4, 1, 4, 2}, {4, 5, 1, 4}, {6, 3, 3, 3}, {4, 1, 1, 1},
    {3, 4, 2, 4}, {5, 2, 6, 4},  {3, 3, 4, 2}, {7, 3, 5, 4}, {5, 4, 3, 3}, {3, 5, 2, 3},
    {1, 4, 2, 2}, {1, 3, 4, 1},  {9, 2, 4, 2}, {3, 1, 2, 3}, {3, 3, 3, 3}, {5, 3, 3, 7},
    {3, 1, 5, 3}, {1, 1, 1, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static kaon_sites sites_of(const int extents[4], int parity) {
  kaon_stencil st = {.nsites = 1};
  for (int mu = 0; mu < 4; mu++) {
    st.extents[mu] = extents[mu];
    st.nsites *= extents[mu];
  }
  for (int p = 0; p < 2; p++)
    st.sites[p] = (st.nsites + 1 - p) / 2; /* an odd number's last is even */
  return kaon_sites_of(&st, parity);
}

/* The sites that a hop across mu leads to. If the extent is odd, the other rank has the opposite
 * parities (kaon_here). */
static int parity_beyond(const kaon_sites *s, int parity, int mu) {
  return (1 - parity) ^ (s->extents[mu] & 1);
}

/* Ghosts without a site of one parity: rows of an odd extent, in y across x, else in x, end with
 * them. */
static void check_seen(const kaon_sites *s, int mu, const uint8_t *seen, uint32_t ghosts,
                       int64_t sites) {
  const int extent = s->extents[mu == 0 ? 1 : 0];
  const uint32_t row = (uint32_t)(extent + 1) / 2;
  for (uint32_t n = 0; n < ghosts; n++) {
    sites -= seen[n];
    if (extent % 2 == 0 || n % row != row - 1) assert_int_equal(seen[n], 1);
  }
  assert_int_equal(sites, 0);
}

static int coordinate(const kaon_here *h, int mu) {
  return mu == 0 ? h->x : mu == 1 ? h->y : mu == 2 ? h->z : h->t;
}

/* The slow way round. */
static int leaves(const kaon_sites *s, const kaon_here *h, const int partitioned[4], int dir,
                  int steps) {
  const int mu = dir % 4, c = coordinate(h, mu) + (dir < 4 ? steps : -steps);
  return partitioned[mu] && (c < 0 || c >= s->extents[mu]);
}

static void same_site(const kaon_here *a, const kaon_here *b) {
  assert_int_equal(a->at, b->at);
  assert_int_equal(a->number, b->number);
  assert_int_equal(a->parity, b->parity);
  for (int mu = 0; mu < 4; mu++) assert_int_equal(coordinate(a, mu), coordinate(b, mu));
}

typedef void checker(const kaon_sites *s, const int partitioned[4], int parity, int steps);

static void for_all(checker *check) {
  for (int i = 0; i < SHAPES * 15 * 4; i++) {
    const int mask = 1 + i / 4 % 15, parity = i % 2, steps = i / 2 % 2 ? 3 : 1;
    const kaon_sites s = sites_of(shapes[i / 60], parity);
    int partitioned[4], possible = 1;
    for (int mu = 0; mu < 4; mu++) {
      partitioned[mu] = mask >> mu & 1;
      if (steps == 3 && partitioned[mu] && s.extents[mu] < 3) possible = 0;
      if (!partitioned[mu] && s.extents[mu] % 2 != 0) possible = 0;
    }
    if (possible) check(&s, partitioned, parity, steps);
  }
}

static void check_boxes(const kaon_sites *s, const int partitioned[4], int parity, int steps) {
  const kaon_boxes boxes =
      steps == 1 ? kaon_boxes_of(s, partitioned) : kaon_boxes_deep(s, partitioned, steps);
  uint8_t *seen = calloc((size_t)s->nsites, 1);
  assert_non_null(seen);
  assert_true(boxes.slabs >= 1 && boxes.slabs <= KAON_SLABS);
  for (int i = 0; i <= boxes.slabs; i++) {
    const kaon_box *box = &boxes.box[i];
    int edge = 0, sites = 0;
    if (i > 0) assert_true(box->sites > 0);
    for (uint32_t n = 0; n < box->sites; n++) {
      const kaon_here h = kaon_here_in_box(s, box, parity, n);
      if (!kaon_here_exists(s, &h)) {
        assert_int_equal(s->extents[0] & 1, 1);
        continue;
      }
      const kaon_here plain = kaon_here_of(s, parity, h.at);
      sites++;
      assert_true(h.at >= 0 && h.at < s->nsites);
      same_site(&h, &plain);
      assert_int_equal(seen[h.at]++, 0);
      for (int dir = 0; dir < KAON_DIRS; dir++) {
        const int out = leaves(s, &h, partitioned, dir, steps);
        const int near = leaves(s, &h, partitioned, dir, 1);
        assert_int_equal(partitioned[dir % 4] && kaon_leaves(s, &h, dir), near);
        assert_int_equal(partitioned[dir % 4] && kaon_layer_of(s, &h, dir, steps) >= 0, out);
        edge |= out;
        if (i == 0) assert_false(out);
      }
    }
    if (i > 0 && sites > 0) assert_true(edge); /* a slab has its reason */
  }
  for (int32_t at = 0; at < s->nsites; at++) assert_int_equal(seen[at], 1);
  free(seen);
}

static void boxes_have_every_site_once(void **state) {
  (void)state;
  for_all(check_boxes);
}

/* The place of the neighbour on the lattice closed to a ring. */
static int32_t place_beyond(const kaon_sites *s, const kaon_here *h, int dir) {
  const int mu = dir % 4, last = s->extents[mu] - 1, c = coordinate(h, mu);
  const int steps = dir < 4 ? (c == last ? -last : 1) : (c == 0 ? last : -1);
  return (h->number + steps * s->stride[mu]) / 2;
}

/* All parts have one shape, so the neighbour's numbers are computed on the same sites: a site that
 * reads ghost n and the sender of n are one step apart on the periodically closed lattice. */
static void check_ghosts(const kaon_sites *s, const int partitioned[4], int parity, int steps) {
  if (steps != 1) return;
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int mu = dir % 4;
    if (!partitioned[mu]) continue;
    const kaon_face face = kaon_face_of(s, mu);
    uint8_t *seen = calloc(face.ghosts, 1);
    assert_non_null(seen);
    int64_t sites = 0;
    for (int32_t at = 0; at < s->nsites; at++) {
      const kaon_here h = kaon_here_of(s, parity, at);
      if (!kaon_leaves(s, &h, dir)) continue;
      sites++;
      const uint32_t n = kaon_ghost_of(s, &h, mu);
      assert_true(n < face.ghosts);
      assert_int_equal(seen[n]++, 0);
      const int theirs = parity_beyond(s, parity, mu);
      const kaon_here from = kaon_sender_of(s, &face, theirs, dir, n);
      const kaon_here there = kaon_here_of(s, theirs, place_beyond(s, &h, dir));
      same_site(&from, &there);
    }
    check_seen(s, mu, seen, face.ghosts, sites);
    for (uint32_t n = 0; n < face.ghosts; n++) /* others are read and sent, too: some site */
      for (int p = 0; p < 2; p++) {
        const kaon_here any = kaon_sender_of(s, &face, p, dir, n);
        const kaon_sites own = sites_of(s->extents, any.parity);
        assert_true(any.at >= 0 && any.at < own.nsites);
      }
    free(seen);
  }
}

/* Layers: hops of one and of three sites find theirs in one message. */
static void check_layers(const kaon_sites *s, const int partitioned[4], int parity, int steps) {
  const kaon_far far = kaon_far_of(s);
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int mu = dir % 4;
    if (!partitioned[mu]) continue;
    const kaon_face face = kaon_face_of(s, mu);
    const uint32_t ghosts = (uint32_t)steps * face.ghosts;
    uint8_t *seen = calloc(ghosts, 1);
    int64_t sites = 0;
    assert_non_null(seen);
    for (int32_t at = 0; at < s->nsites; at++)
      for (int hop = 1; hop <= steps; hop += 2) {
        const kaon_here h = kaon_here_of(s, parity, at);
        const int layer = kaon_layer_of(s, &h, dir, hop);
        int sign;
        if (layer < 0) continue;
        assert_true(layer < hop);
        const uint32_t n = (uint32_t)layer * face.ghosts + kaon_ghost_of(s, &h, mu);
        assert_true(n < ghosts);
        if (hop == steps) assert_int_equal(seen[n]++, 0);
        sites += hop == steps;
        const int theirs = parity_beyond(s, parity, mu);
        const kaon_here from = kaon_far_sender_of(s, &face, theirs, dir, n);
        const int32_t to =
            hop == 1 ? place_beyond(s, &h, dir) : kaon_far_neighbour_of(s, &far, &h, dir, &sign);
        const kaon_here there = kaon_here_of(s, theirs, to);
        same_site(&from, &there);
      }
    check_seen(s, mu, seen, ghosts, sites);
    free(seen);
  }
}

static void layers_have_every_ghost_once(void **state) {
  (void)state;
  for_all(check_layers);
}

static void who_sends_and_who_receives_agree_on_numbers(void **state) {
  (void)state;
  for_all(check_ghosts);
}

int main(void) {
  const struct CMUnitTest faces_order[] = {
      cmocka_unit_test(boxes_have_every_site_once),
      cmocka_unit_test(who_sends_and_who_receives_agree_on_numbers),
      cmocka_unit_test(layers_have_every_ghost_once),
  };
  return test_main(faces_order, NULL, NULL);
}
