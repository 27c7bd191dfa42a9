/* test_far_neighbours.c - neighbours at one and three sites as a GPU computes them
 * (lib/cuda/memory/neighbours.h) agree with coordinates, on lattices of every kind of extent.
 * Extents of 2 are included, and odd ones with another rank's sites beyond the faces. The code
 * runs on the host. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "lib/cuda/memory/neighbours.h"
#include "tests/util/test_util.h"

/* Number among its parity's sites, and the parity. */
static int number_of(const int n[4], const int x[4], int *parity) {
  *parity = (x[0] + x[1] + x[2] + x[3]) & 1;
  return (x[0] + n[0] * (x[1] + n[1] * (x[2] + n[2] * x[3]))) / 2;
}

static void check(const int n[4], int antiperiodic) {
  kaon_stencil st = {.nsites = n[0] * n[1] * n[2] * n[3] / 2, .antiperiodic = antiperiodic};
  for (int mu = 0; mu < 4; mu++) st.extents[mu] = n[mu];
  const kaon_sites sites = kaon_sites_of(&st, 0);
  const kaon_far far = kaon_far_of(&sites);
  int x[4];
  for (x[3] = 0; x[3] < n[3]; x[3]++)
    for (x[2] = 0; x[2] < n[2]; x[2]++)
      for (x[1] = 0; x[1] < n[1]; x[1]++)
        for (x[0] = 0; x[0] < n[0]; x[0]++)
          for (int dir = 0; dir < KAON_DIRS; dir++)
            for (int steps = 1; steps <= 3; steps += 2) {
              const int mu = dir % 4, ahead = x[mu] + (dir < 4 ? steps : -steps);
              int parity, other, sign, y[4] = {x[0], x[1], x[2], x[3]}, crossings = 0;
              y[mu] = ahead;
              while (y[mu] >= n[mu]) y[mu] -= n[mu], crossings++;
              while (y[mu] < 0) y[mu] += n[mu], crossings++;
              const int at = number_of(n, x, &parity), to = number_of(n, y, &other);
              const kaon_here here = kaon_here_of(&sites, parity, at);
              const int c[4] = {here.x, here.y, here.z, here.t};
              for (int nu = 0; nu < 4; nu++) assert_int_equal(c[nu], x[nu]);
              if (n[mu] % 2 && (ahead < 0 || ahead >= n[mu])) continue;
              const int found = steps == 1 ? kaon_neighbour_of(&sites, &here, dir, &sign)
                                           : kaon_far_neighbour_of(&sites, &far, &here, dir, &sign);
              assert_int_equal(other, 1 - parity);
              assert_int_equal(found, to);
              if (steps == 1)
                assert_int_equal(kaon_neighbour_by_index(&sites, &here, dir, &sign), to);
              assert_int_equal(sign, mu == 3 && antiperiodic && crossings % 2 ? -1 : 1);
            }
}

static void neighbours_are_where_coordinates_say(void **state) {
  (void)state;
  static const int shapes[][4] = {{2, 2, 2, 2}, {4, 4, 4, 4},  {2, 4, 6, 8},  {8, 6, 4, 2},
                                  {6, 2, 2, 4}, {4, 6, 2, 10}, {8, 4, 12, 4}, {10, 2, 4, 6},
                                  {3, 2, 4, 6}, {5, 3, 4, 3},  {7, 5, 3, 4},  {1, 3, 4, 2}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int antiperiodic = 0; antiperiodic < 2; antiperiodic++) check(shapes[i], antiperiodic);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(neighbours_are_where_coordinates_say)};
  return test_main(tests, NULL, NULL);
}
