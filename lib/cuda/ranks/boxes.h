/* boxes.h - the sites of a lattice whose faces belong to other ranks (lib/grid/faces.c), as boxes:
 * the interior, whose hops stay on this rank, then slabs along the faces. Also the indices of the
 * ghosts that sites at a face need. No tables; for the host and for kernels.
 *
 * Boxes are disjoint. In x they count pairs of sites, one of each parity. If an extent is odd, the
 * last pair has one site, so a position in a box may have none.
 * A slab at a face across mu covers the whole lattice in the directions after mu, and their
 * interior in the directions before. With an extent of 1 or 2 there is no interior. For hops of
 * three sites slabs are three sites thick, or as thick as the lattice allows.
 * Pairs in x are neighbours in memory, and a thin slab would read every line of it once more. So a
 * slab across x has whole rows, and with it there is no interior. */
#pragma once

#include "lib/cuda/memory/neighbours.h"

enum { KAON_SLABS = 8 };

typedef struct kaon_box {
  int low[4]; /* the first x / 2, y, z, t */
  uint32_t sites;
  kaon_divisor divisor[3]; /* by the extents in x / 2, y, z */
} kaon_box;

/* box[0] is the interior, which may be empty. The `slabs` boxes after it are not empty. */
typedef struct kaon_boxes {
  kaon_box box[1 + KAON_SLABS];
  int slabs;
} kaon_boxes;

/* The box of sites low <= c < high. */
static inline kaon_box kaon_box_of(const int low[4], const int high[4]) {
  kaon_box b = {0};
  b.sites = 1;
  for (int mu = 0; mu < 4; mu++) {
    const int extent = high[mu] > low[mu] ? high[mu] - low[mu] : 0;
    b.low[mu] = low[mu];
    b.sites *= (uint32_t)extent;
    if (mu < 3) b.divisor[mu] = kaon_divisor_of((uint32_t)(extent > 0 ? extent : 1));
  }
  return b;
}

/* Adds the box of sites with begin <= c_mu < end. */
static inline void kaon_boxes_add(kaon_boxes *boxes, const int low[4], const int high[4], int mu,
                                  int begin, int end) {
  int from[4], to[4];
  for (int i = 0; i < 4; i++) {
    from[i] = i == mu ? begin : low[i];
    to[i] = i == mu ? end : high[i];
  }
  const kaon_box b = kaon_box_of(from, to);
  if (b.sites > 0) boxes->box[1 + boxes->slabs++] = b;
}

/* The boxes for hops of at most `steps` sites, an odd number. */
static inline kaon_boxes kaon_boxes_deep(const kaon_sites *s, const int partitioned[4], int steps) {
  kaon_boxes boxes = {0};
  int low[4] = {0, 0, 0, 0}, high[4];
  for (int mu = 0; mu < 4; mu++) high[mu] = mu == 0 ? s->half_x : s->extents[mu];
  for (int mu = 0; mu < 4; mu++) {
    const int extent = high[mu], wanted = mu == 0 ? extent : steps;
    const int thick = wanted < extent ? wanted : extent;
    const int top = extent - thick > thick ? extent - thick : thick;
    if (!partitioned[mu]) continue;
    if (top < extent) kaon_boxes_add(&boxes, low, high, mu, top, extent);
    kaon_boxes_add(&boxes, low, high, mu, 0, thick);
    low[mu] = thick;
    high[mu] = top;
  }
  boxes.box[0] = kaon_box_of(low, high);
  return boxes;
}

static inline kaon_boxes kaon_boxes_of(const kaon_sites *s, const int partitioned[4]) {
  return kaon_boxes_deep(s, partitioned, 1);
}

/* The site of a pair in x. At the end of an odd row there may be none (kaon_here_exists). */
static inline KAON_HD kaon_here kaon_here_at(const kaon_sites *s, int parity, int half, int y,
                                             int z, int t) {
  kaon_here h;
  h.parity = parity;
  h.x = 2 * half + ((y + z + t + parity) & 1);
  h.y = y;
  h.z = z;
  h.t = t;
  h.number = h.x + y * s->stride[1] + z * s->stride[2] + t * s->stride[3];
  h.at = h.number >> 1;
  return h;
}

static inline KAON_HD int kaon_here_exists(const kaon_sites *s, const kaon_here *h) {
  return h->x < s->extents[0];
}

/* The site at the n-th position of a box, if one exists. */
static inline KAON_HD kaon_here kaon_here_in_box(const kaon_sites *s, const kaon_box *b, int parity,
                                                 uint32_t n) {
  const uint32_t row = kaon_divide_by(n, &b->divisor[0]);
  const uint32_t plane = kaon_divide_by(row, &b->divisor[1]);
  const uint32_t slice = kaon_divide_by(plane, &b->divisor[2]);
  return kaon_here_at(s, parity, b->low[0] + (int)(n - row * b->divisor[0].d),
                      b->low[1] + (int)(row - plane * b->divisor[1].d),
                      b->low[2] + (int)(plane - slice * b->divisor[2].d), b->low[3] + (int)slice);
}

/* 1 if the hop in direction dir leaves the local lattice. dir should be a compile-time constant. */
static inline KAON_HD int kaon_leaves(const kaon_sites *s, const kaon_here *h, const int dir) {
  const int mu = dir % 4, forward = dir < 4;
  return kaon_here_coordinate(h, mu) == (forward ? s->extents[mu] - 1 : 0);
}

/* The ghosts of a face across mu, of one parity: as many as a slice has sites. Sender and receiver
 * share the other three coordinates, which determine the index: the order is x / 2, y, z, t without
 * mu, or y / 2, z, t across x. A row of odd extent, in x or in y, ends with a ghost that exists for
 * one parity only. */
typedef struct kaon_face {
  uint32_t ghosts;
  kaon_divisor divisor[2]; /* by the first two extents of that order */
} kaon_face;

static inline kaon_face kaon_face_of(const kaon_sites *s, int mu) {
  kaon_face f = {0};
  int extent[3], n = 0;
  for (int i = 0; i < 4; i++)
    if (i != mu) extent[n++] = i == 0 ? s->half_x : s->extents[i];
  if (mu == 0) extent[0] = (extent[0] + 1) / 2;
  f.ghosts = (uint32_t)extent[0] * (uint32_t)extent[1] * (uint32_t)extent[2];
  for (int i = 0; i < 2; i++) f.divisor[i] = kaon_divisor_of((uint32_t)extent[i]);
  return f;
}

/* The ghost that site h needs across mu. The extents are used directly instead of the face's
 * divisor, which would make kernels in double precision spill registers. */
static inline KAON_HD uint32_t kaon_ghost_of(const kaon_sites *s, const kaon_here *h,
                                             const int mu) {
  const int half = h->x / 2, y = s->extents[1], z = s->extents[2];
  if (mu == 0) return (uint32_t)(h->y / 2 + (y + 1) / 2 * (h->z + z * h->t));
  if (mu == 1) return (uint32_t)(half + s->half_x * (h->z + z * h->t));
  if (mu == 2) return (uint32_t)(half + s->half_x * (h->y + y * h->t));
  return (uint32_t)(half + s->half_x * (h->y + y * h->z));
}

/* The n-th site of `parity` of a slice across mu, in the order of the ghosts. If that ghost does
 * not exist for the parity, a neighbouring site of the other parity. */
static inline KAON_HD kaon_here kaon_here_in_slice(const kaon_sites *s, const kaon_face *f,
                                                   int parity, int mu, int slice, uint32_t n) {
  const uint32_t row = kaon_divide_by(n, &f->divisor[0]);
  const uint32_t plane = kaon_divide_by(row, &f->divisor[1]);
  const int a = (int)(n - row * f->divisor[0].d), b = (int)(row - plane * f->divisor[1].d);
  const int c = (int)plane;
  kaon_here h;
  if (mu == 0) {
    const int y = 2 * a + ((slice + b + c + parity) & 1), last = s->extents[1] - 1;
    h = kaon_here_at(s, y <= last ? parity : 1 - parity, slice / 2, y <= last ? y : last, b, c);
  } else if (mu == 1) {
    h = kaon_here_at(s, parity, a, slice, b, c);
  } else if (mu == 2) {
    h = kaon_here_at(s, parity, a, b, slice, c);
  } else {
    h = kaon_here_at(s, parity, a, b, c, slice);
  }
  if (!kaon_here_exists(s, &h)) {
    h.x--;
    h.number--;
    h.at = h.number >> 1;
    h.parity = 1 - h.parity;
  }
  return h;
}

/* The local site of `parity` that becomes the n-th ghost of hops in direction dir, on the neighbour
 * in the opposite direction. */
static inline KAON_HD kaon_here kaon_sender_of(const kaon_sites *s, const kaon_face *f, int parity,
                                               int dir, uint32_t n) {
  const int mu = dir % 4;
  return kaon_here_in_slice(s, f, parity, mu, dir < 4 ? 0 : s->extents[mu] - 1, n);
}

/* For hops of up to three sites a face has layers: slices of the neighbour, counted from the face.
 * Ghost n of a slice has index layer * ghosts + n. This returns the layer in which the hop of
 * `steps` sites from h in direction dir ends, or a negative value if it stays on this rank. dir and
 * steps should be compile-time constants. Extents are at least the number of layers. */
static inline KAON_HD int kaon_layer_of(const kaon_sites *s, const kaon_here *h, const int dir,
                                        const int steps) {
  const int mu = dir % 4;
  const int c = kaon_here_coordinate(h, mu);
  return dir < 4 ? c + steps - s->extents[mu] : steps - 1 - c;
}

/* As kaon_sender_of, for up to three layers. */
static inline KAON_HD kaon_here kaon_far_sender_of(const kaon_sites *s, const kaon_face *f,
                                                   int parity, int dir, uint32_t n) {
  const int mu = dir % 4, layer = (n >= f->ghosts) + (n >= 2 * f->ghosts);
  return kaon_here_in_slice(s, f, parity, mu, dir < 4 ? layer : s->extents[mu] - 1 - layer,
                            n - (uint32_t)layer * f->ghosts);
}
