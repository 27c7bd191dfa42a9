/* test_ghosts.c - links beyond the faces of a lattice whose kernels compute neighbours themselves
 * and whose memory the host cannot read: the messages of lib/grid/ghosts.c and the site order of a
 * GPU's threads (lib/cuda/memory/site_steps.h), divided and not. The CPU plays a device: its addresses
 * are shifted so far that the host would fault at the first use. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>

#include "lib/cuda/memory/site_steps.h"
#include "lib/vector/import_ops.h"
#include "lib/grid/ghosts.h"
#include "lib/grid/site_table.h"
#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

enum { MATRIX = 18 };

/* ---- a device ---- */

static const kaon_memory_ops *cpu;
static const uintptr_t far_off = (uintptr_t)1 << 54; /* beyond what a process may have */

/* What the context took before it became a device's is the host's. */
static void *host_of(const void *device) {
  return (void *)((uintptr_t)device & ~far_off);
}

static kaon_status allocate(kaon_context *ctx, size_t bytes, void **pointer) {
  const kaon_status status = cpu->allocate(ctx, bytes, pointer);
  if (status == KAON_OK) *pointer = (void *)((uintptr_t)*pointer | far_off);
  return status;
}

static void release(kaon_context *ctx, void *pointer, size_t bytes) {
  cpu->release(ctx, host_of(pointer), bytes);
}

static kaon_status to_device(kaon_context *ctx, void *device, const void *host, size_t bytes) {
  return cpu->to_device(ctx, host_of(device), host, bytes);
}

static kaon_status to_host(kaon_context *ctx, void *host, const void *device, size_t bytes) {
  return cpu->to_host(ctx, host, host_of(device), bytes);
}

static kaon_status clear(kaon_context *ctx, void *device, size_t bytes) {
  return cpu->clear(ctx, host_of(device), bytes);
}

/* Component c of a site's matrix in a field of one parity. */
static double *component(double *field, int64_t site, int c) {
  const int pack = kaon_pack(KAON_ACCESS, MATRIX, sizeof *field);
  return field + kaon_packed_index(site / KAON_LANES, 0, c, (int)(site % KAON_LANES), 1, MATRIX,
                                   KAON_LANES, pack);
}

static void copy_matrices(const kaon_launch *launch, const kaon_matrix_copy_args *a) {
  const int32_t *sites = host_of(a->sites);
  double *field = host_of(a->field), *memory = host_of(a->memory);
  (void)launch;
  for (int64_t i = 0; i < a->count; i++)
    for (int c = 0; c < MATRIX; c++)
      if (a->import_values)
        *component(field, sites[i], c) = memory[i * MATRIX + c];
      else
        memory[i * MATRIX + c] = *component(field, sites[i], c);
}

static const kaon_import_ops import_ops = {.copy_matrices = copy_matrices};

/* A context on it. */
static kaon_context *open_device(kaon_backend *backend, kaon_memory_ops *memory) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  must(NULL, machine_open(MACHINE_CPU, options, &ctx));
  cpu = ctx->backend->memory;
  *memory = *cpu;
  memory->allocate = allocate;
  memory->release = release;
  memory->to_device = to_device;
  memory->to_host = to_host;
  memory->clear = clear;
  *backend = *ctx->backend;
  backend->memory = memory;
  backend->import_ops = &import_ops;
  backend->width = KAON_LANES;
  backend->access = KAON_ACCESS;
  backend->host_accessible = 0;
  backend->computed_neighbours = 1;
  ctx->backend = backend;
  return ctx;
}

/* ---- a field whose matrices say where they are ---- */

static double value_at(const int x[4], int c) {
  return x[0] + 10 * x[1] + 100 * x[2] + 1000 * x[3] + 0.01 * c;
}

static void step(const kaon_lattice *lattice, int x[4], int dir) {
  const int mu = dir % 4, n = lattice->global[mu];
  x[mu] = (x[mu] + (dir < 4 ? 1 : n - 1)) % n;
}

typedef struct {
  kaon_lattice *lattice;
  kaon_stencil stencil; /* with tables that the host can read */
  double *field[2];     /* device memory */
} world;

static void open_world(world *w, kaon_context *ctx, const int extents[4], int mask) {
  for (int mu = 0; mu < 4; mu++) ctx->comm->partitioned[mu] = mask >> mu & 1;
  must(ctx, kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &w->lattice));
  w->stencil = w->lattice->stencil;
  assert_int_equal(w->stencil.walk[0] != NULL, mask != 0);
  assert_null(w->stencil.edge[0]);
  assert_null(w->stencil.neighbour[0]);
  const size_t blocks = (size_t)kaon_matrix_blocks(&w->stencil);
  const size_t bytes = blocks * MATRIX * KAON_LANES * sizeof(double);
  for (int p = 0; p < 2; p++) {
    void *device = NULL;
    if (mask != 0) w->stencil.walk[p] = host_of(w->stencil.walk[p]);
    must(ctx, kaon_pool_allocate(ctx, bytes, "a test's field", &device));
    w->field[p] = device;
    memset(host_of(device), 0xff, bytes); /* NaN */
    for (int64_t i = 0; i < w->stencil.sites[p]; i++) {
      int x[4];
      sites_coordinates(&w->stencil, p, i, x);
      for (int c = 0; c < MATRIX; c++) *component(host_of(device), i, c) = value_at(x, c);
    }
  }
}

static void close_world(world *w, kaon_context *ctx) {
  for (int p = 0; p < 2; p++) kaon_pool_release(ctx, w->field[p]);
  kaon_lattice_destroy(&w->lattice);
}

/* Where a thread stands, it has to find the matrix of x. */
static int finds(const world *w, const vsites *s, const int x[4]) {
  const unsigned site = sites_rank(&w->stencil, s);
  int right = s->parity == ((x[0] + x[1] + x[2] + x[3]) & 1);
  for (int c = 0; c < MATRIX; c++)
    right &= *component(host_of(w->field[s->parity]), site, c) == value_at(x, c);
  return right;
}

/* One step, two in different directions, and once round a plaquette. */
static int64_t walk_from(const world *w, int parity, int64_t i) {
  const kaon_stencil *st = &w->stencil;
  int64_t wrong = 0;
  for (int a = 0; a < KAON_DIRS; a++)
    for (int b = 0; b < KAON_DIRS; b++) {
      const vsites home = sites_local(st, parity, i), one = sites_step(st, &home, a);
      const vsites two = sites_step(st, &one, b);
      int x[4];
      if (a % 4 == b % 4) continue;
      sites_coordinates(st, parity, i, x);
      wrong += !finds(w, &home, x);
      step(w->lattice, x, a);
      wrong += !finds(w, &one, x);
      step(w->lattice, x, b);
      wrong += !finds(w, &two, x);
      const vsites three = sites_step(st, &two, (a + 4) % 8),
                   end = sites_step(st, &three, (b + 4) % 8);
      wrong += sites_rank(st, &end) != (unsigned)i || end.parity != parity;
    }
  return wrong;
}

/* Who a site is: by its number, its home and its slice. */
static int64_t misnamed(const world *w, int parity, int64_t i) {
  const kaon_stencil *st = &w->stencil;
  int x[4];
  sites_coordinates(st, parity, i, x);
  const kaon_place place = kaon_lattice_place(w->lattice, x);
  const int t = x[3] + st->origin[3];
  const int64_t first = sites_of_slice(st, parity, t), end = sites_of_slice(st, parity, t + 1);
  return (place.parity != parity || place.block * KAON_LANES + place.lane != i) +
         (sites_index(st, parity, i) != kaon_site_index(w->lattice->global, x)) +
         (sites_rank_at(st, x) != (unsigned)i) + (i < first || i >= end);
}

static void ways_lead_to_ghosts(void **state) {
  (void)state;
  static const int shapes[][4] = {{8, 8, 4, 8}, {4, 6, 2, 10}, {2, 4, 6, 8}, {2, 2, 2, 2}};
  kaon_backend backend;
  kaon_memory_ops memory;
  kaon_context *ctx = open_device(&backend, &memory);
  for (int shape = 0; shape < 4; shape++) {
    int64_t wrong = 0;
    for (int mask = 0; mask < 16; mask++) {
      world w;
      open_world(&w, ctx, shapes[shape], mask);
      for (int p = 0; p < 2; p++) must(ctx, kaon_ghosts_fill(w.lattice, p, w.field[p]));
      for (int p = 0; p < 2; p++)
        for (int64_t i = 0; i < w.stencil.sites[p]; i++)
          wrong += walk_from(&w, p, i) + misnamed(&w, p, i);
      close_world(&w, ctx);
    }
    const int *n = shapes[shape];
    char text[80];
    snprintf(text, sizeof text, "%dx%dx%dx%d: sites not met", n[0], n[1], n[2], n[3]);
    test_below(text, (double)wrong, 0);
  }
  kaon_context_destroy(&ctx);
}

/* The slow way: the sites of a parity of the whole lattice in the order of their numbers on the
 * rank, and how many of them precede slice t. */
static void check_part(const kaon_stencil *st) {
  const int *n = st->extents;
  for (int p = 0; p < 2; p++) {
    int64_t i = 0, before[64] = {0};
    int x[4], y[4], whole[4];
    for (x[3] = 0; x[3] < n[3]; x[3]++) {
      before[x[3]] = i;
      for (x[2] = 0; x[2] < n[2]; x[2]++)
        for (x[1] = 0; x[1] < n[1]; x[1]++)
          for (x[0] = 0; x[0] < n[0]; x[0]++) {
            if (((x[0] + x[1] + x[2] + x[3] + st->odd_origin) & 1) != p) continue;
            for (int mu = 0; mu < 4; mu++) whole[mu] = x[mu] + st->origin[mu];
            sites_coordinates(st, p ^ st->odd_origin, i, y);
            for (int mu = 0; mu < 4; mu++) assert_int_equal(x[mu], y[mu]);
            assert_int_equal(sites_rank_at(st, x), i);
            assert_int_equal(sites_index(st, p, i), kaon_site_index(st->global, whole));
            i++;
          }
    }
    assert_int_equal(i, st->sites[p]);
    for (int t = 0; t < st->global[3]; t++) {
      const int local = t - st->origin[3];
      const int64_t expected = local < 0 ? 0 : local < n[3] ? before[local] : st->sites[p];
      assert_int_equal(sites_of_slice(st, p, t), expected);
    }
  }
}

/* A part of a whole lattice has the numbers and slices of the whole. Extents are odd where the
 * whole lattice is divided. */
static void sites_are_numbered_in_the_whole_lattice(void **state) {
  (void)state;
  static const int parts[][4] = {{4, 2, 6, 4}, {3, 2, 6, 4}, {5, 3, 2, 4}, {3, 5, 3, 4},
                                 {3, 4, 3, 5}, {4, 3, 5, 3}, {1, 1, 1, 4}, {1, 3, 2, 3},
                                 {3, 3, 3, 3}, {3, 5, 1, 7}, {1, 1, 1, 1}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    for (int at = 0; at < 16; at++) {
      kaon_stencil st = {.nsites = 1};
      for (int mu = 0; mu < 4; mu++) {
        st.extents[mu] = parts[i][mu];
        st.global[mu] = 4 * parts[i][mu];
        st.origin[mu] = (1 + (at >> mu & 1)) * parts[i][mu];
        st.odd_origin ^= st.origin[mu] & 1;
        st.nsites *= parts[i][mu];
      }
      for (int p = 0; p < 2; p++) st.sites[p] = (st.nsites + ((p ^ st.odd_origin) == 0)) / 2;
      check_part(&st);
    }
}

int main(void) {
  const struct CMUnitTest ghosts[] = {
      cmocka_unit_test(ways_lead_to_ghosts),
      cmocka_unit_test(sites_are_numbered_in_the_whole_lattice),
  };
  return test_main(ghosts, NULL, NULL);
}
