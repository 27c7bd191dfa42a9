/* link_orders.h - the site and direction of matrix m in a host array, for each kaon_gauge_order.
 * Sites and directions as in docs/conventions.md. Common subset of C and CUDA C.
 * Sources: the link layouts documented by QDP++, MILC, CPS and openQCD (export order). */
#pragma once

#include <kaon/gauge.h>

#include "lib/vector/layout.h"

/* The number of arrays of an order, and whether its matrices are stored [col][row]. */
static inline KAON_HD int kaon_order_arrays(int order) {
  return order == KAON_ORDER_QDP ? 4 : 1;
}

static inline KAON_HD int kaon_order_transposed(int order) {
  return order == KAON_ORDER_CPS;
}

/* Position in a matrix of the order of link component c = (row * 3 + col) * 2 + reim. */
static inline KAON_HD int kaon_order_element(int transposed, int c) {
  return transposed ? (c / 2 % 3 * 3 + c / 6) * 2 + c % 2 : c;
}

static inline KAON_HD void kaon_order_natural(const int n[4], int64_t number, int site[4]) {
  const int64_t row = number / n[0], plane = row / n[1];
  site[0] = (int)(number - row * n[0]);
  site[1] = (int)(row % n[1]);
  site[2] = (int)(plane % n[2]);
  site[3] = (int)(plane / n[2]);
}

/* Site `rank` of a parity in lexicographic order, x fastest. Of sites 2 rank and 2 rank + 1 one is
 * even (lib/grid/site_order.c). */
static inline KAON_HD void kaon_order_site(const int n[4], int parity, int64_t rank, int site[4]) {
  kaon_order_natural(n, 2 * rank, site);
  if (((site[0] + site[1] + site[2] + site[3]) & 1) == parity) return;
  if (n[0] & 1)
    kaon_order_natural(n, 2 * rank + 1, site);
  else
    site[0]++;
}

/* Even sites first, then odd. odd: 1 if sites with odd local coordinates are even in the whole
 * lattice (kaon_stencil.odd_origin). */
static inline KAON_HD void kaon_order_even_odd(const int n[4], int odd, int64_t number,
                                               int site[4]) {
  /* odd volumes have one more even site */
  const int64_t even = ((int64_t)n[0] * n[1] * n[2] * n[3] + !odd) / 2;
  const int parity = number >= even;
  kaon_order_site(n, parity ^ odd, number - parity * even, site);
}

/* Only odd sites, t slowest, then x, y, z fastest. Each has 8 links: U_mu(x) and U_mu(x - mu) for
 * mu = t, x, y, z. A link belongs to its odd end. Extents are even. */
static inline KAON_HD int kaon_order_openqcd(const int n[4], int64_t matrix, int site[4]) {
  const int which = (int)(matrix % 8), mu = (which / 2 + 3) % 4, half = n[2] / 2;
  const int64_t pair = matrix / 8, row = pair / half, plane = row / n[1];
  site[1] = (int)(row % n[1]);
  site[0] = (int)(plane % n[0]);
  site[3] = (int)(plane / n[0]);
  site[2] = 2 * (int)(pair % half) + ((site[0] + site[1] + site[3] + 1) & 1);
  for (int nu = 0; nu < 4; nu++) /* a constant index keeps the coordinates in registers */
    if (which % 2 && nu == mu) site[nu] = site[nu] > 0 ? site[nu] - 1 : n[nu] - 1;
  return mu;
}

/* Returns the direction of a link and writes its site. odd: as for kaon_order_even_odd. */
static inline KAON_HD int kaon_order_link(int order, const int n[4], int odd, int array,
                                          int64_t matrix, int site[4]) {
  if (order == KAON_ORDER_OPENQCD) return kaon_order_openqcd(n, matrix, site);
  if (order == KAON_ORDER_NATURAL)
    kaon_order_natural(n, matrix / 4, site);
  else
    kaon_order_even_odd(n, odd, order == KAON_ORDER_QDP ? matrix : matrix / 4, site);
  return order == KAON_ORDER_QDP ? array : (int)(matrix % 4);
}
