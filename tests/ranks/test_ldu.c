/* test_ldu.c - OpenFOAM's addressing (LDU) on several ranks: a mesh divided by hand, cell by cell,
 * into local faces and processor interfaces, against the undivided mesh, which every process holds
 * too. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "ranks.h"
#include "sparse/storage/matrix.h"
#include "tests/util/sparse_case.h"

enum { NX = 7, NY = 5, NZ = 4, CELLS = NX * NY * NZ, FACES = 3 * CELLS, TAGS = 2 };
static const int *const any_grid = NULL;

/* Not symmetric, diagonally dominant. tag: faces along x, and the others. */
typedef struct mesh {
  int faces;
  int32_t owner[FACES], neighbour[FACES], tag[FACES];
  double diagonal[CELLS], upper[FACES], lower[FACES];
} mesh;

static double number(uint64_t seed) {
  uint64_t z = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  return (double)(z >> 11) * 0x1p-53;
}

static void add_face(mesh *m, int owner, int neighbour, int tag) {
  const int f = m->faces++;
  m->owner[f] = owner;
  m->neighbour[f] = neighbour;
  m->tag[f] = tag;
  m->upper[f] = -0.5 - number(2 * (uint64_t)f);
  m->lower[f] = -0.5 - number(2 * (uint64_t)f + 1);
  m->diagonal[owner] += 1.6;
  m->diagonal[neighbour] += 1.6;
}

static mesh make_mesh(void) {
  mesh m = {0};
  for (int c = 0; c < CELLS; c++) {
    m.diagonal[c] += 0.2;
    if (c % NX < NX - 1) add_face(&m, c, c + 1, 0);
    if (c / NX % NY < NY - 1) add_face(&m, c, c + NX, 1);
    if (c / NX / NY < NZ - 1) add_face(&m, c, c + NX * NY, 1);
  }
  return m;
}

/* Most neighbours of a cell belong to the same rank, and every pair of ranks shares a face. */
static int rank_of_cell(int cell, int ranks) {
  return (cell % NX + 2 * (cell / NX % NY) + 3 * (cell / NX / NY) / 2) / 3 % ranks;
}

/* A rank's part, with arrays that the interfaces point into. */
typedef struct part {
  kaon_ldu_arrays arrays;
  int cells, faces, rank_first;
  int local[CELLS], cell[CELLS]; /* [cell of the mesh] its number here, -1: not here; back */
  int32_t owner[FACES], neighbour[FACES], side[FACES];
  double diagonal[CELLS], upper[FACES], lower[FACES], beyond[FACES];
  kaon_ldu_interface interface[8 * TAGS];
} part;

static void divide(const mesh *m, int rank, int ranks, part *p) {
  int at = 0;
  *p = (part){0};
  for (int c = 0; c < CELLS; c++) {
    p->local[c] = rank_of_cell(c, ranks) == rank ? p->cells : -1;
    p->rank_first += rank_of_cell(c, ranks) < rank;
    if (p->local[c] < 0) continue;
    p->cell[p->cells] = c;
    p->diagonal[p->cells++] = m->diagonal[c];
  }
  for (int f = 0; f < m->faces; f++) {
    if (p->local[m->owner[f]] < 0 || p->local[m->neighbour[f]] < 0) continue;
    p->owner[p->faces] = p->local[m->owner[f]];
    p->neighbour[p->faces] = p->local[m->neighbour[f]];
    p->upper[p->faces] = m->upper[f];
    p->lower[p->faces++] = m->lower[f];
  }
  for (int other = ranks - 1; other >= 0; other--) /* in no particular order */
    for (int tag = 0; tag < TAGS; tag++) {
      const int begin = at;
      for (int f = 0; f < m->faces; f++) {
        const int own = p->local[m->owner[f]] >= 0;
        const int near = own ? m->owner[f] : m->neighbour[f];
        const int far = own ? m->neighbour[f] : m->owner[f];
        if (m->tag[f] != tag || p->local[near] < 0 || p->local[far] >= 0 ||
            rank_of_cell(far, ranks) != other)
          continue;
        p->side[at] = p->local[near];
        p->beyond[at++] = own ? -m->upper[f] : -m->lower[f];
      }
      if (other == rank || (at == begin && tag == 0)) continue; /* one without faces, too */
      p->interface[p->arrays.interfaces++] =
          (kaon_ldu_interface){.rank = other,
                               .tag = tag,
                               .faces = at - begin,
                               .cells = p->side + begin,
                               .coefficients = p->beyond + begin};
    }
  p->arrays.cells = p->cells;
  p->arrays.faces = p->faces;
  p->arrays.owner = p->owner;
  p->arrays.neighbour = p->neighbour;
  p->arrays.diagonal = p->diagonal;
  p->arrays.upper = p->upper;
  p->arrays.lower = p->lower;
  p->arrays.interface = p->interface;
}

/* x of A x = b and y = A b by the matrix, for the rows that `cell` names (NULL: all). */
static void use(kaon_matrix *matrix, int rows, const int *cell, double *x, double *y) {
  kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO);
  kaon_context *ctx = A->ctx;
  kaon_vector *b = sparse_vector(A, 1), *v = sparse_vector(A, 1);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  double in[CELLS + 1];
  for (int i = 0; i < rows; i++) in[i] = 1 + number(1000 + (uint64_t)(cell != NULL ? cell[i] : i));
  must(ctx, kaon_vector_import(b, 0, in, KAON_BASIS_UKQCD));
  must(ctx, kaon_operator_apply(A, KAON_PLAIN, b, v));
  must(ctx, kaon_vector_export(v, 0, y, KAON_BASIS_UKQCD));
  o.method = KAON_BICGSTAB;
  o.tol = 1e-12;
  must(ctx, kaon_solver_create(A, 1, &o, &solver));
  must(ctx, kaon_solver_solve(solver, b, v, &report, NULL));
  assert_true(report.residual <= 1.1e-12);
  must(ctx, kaon_vector_export(v, 0, x, KAON_BASIS_UKQCD));
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&v);
  kaon_operator_destroy(&A);
}

static void divided_meshes_are_the_undivided_one(void **state) {
  (void)state;
  const mesh m = make_mesh();
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *alone = NULL, *ctx = ranks_open(KAON_ISA_AUTO, any_grid);
  double x[CELLS + 1], y[CELLS + 1], worst = 0, apart = 0;
  kaon_matrix *matrix = NULL;
  kaon_matrix_info whole = KAON_MATRIX_INFO_INIT, info = KAON_MATRIX_INFO_INIT;
  part p;
  const kaon_ldu_arrays all = {.cells = CELLS,
                               .faces = m.faces,
                               .owner = m.owner,
                               .neighbour = m.neighbour,
                               .diagonal = m.diagonal,
                               .upper = m.upper,
                               .lower = m.lower};
  must(NULL, kaon_context_create(&options, &alone));
  must(alone, kaon_matrix_create_ldu(alone, &all, NULL, &matrix));
  must(alone, kaon_matrix_describe(matrix, &whole));
  use(matrix, CELLS, NULL, x, y);
  kaon_matrix_destroy(&matrix);
  divide(&m, ctx->comm->rank, ctx->comm->ranks, &p);
  for (int partition = 0; partition < 2; partition++) {
    kaon_matrix_options how = KAON_MATRIX_OPTIONS_INIT;
    double own_x[CELLS + 1], own_y[CELLS + 1];
    how.partition = partition ? KAON_PARTITION_METIS : KAON_PARTITION_GIVEN;
    must(ctx, kaon_matrix_create_ldu(ctx, &p.arrays, &how, &matrix));
    must(ctx, kaon_matrix_describe(matrix, &info));
    assert_int_equal(info.global_rows, CELLS);
    assert_int_equal(info.global_entries, whole.global_entries);
    assert_int_equal(info.rows, p.cells);
    assert_int_equal(info.first_row, p.rank_first);
    use(matrix, p.cells, p.cell, own_x, own_y);
    for (int i = 0; i < p.cells; i++) {
      worst = larger(worst, fabs(own_y[i] - y[p.cell[i]]));
      apart = larger(apart, fabs(own_x[i] - x[p.cell[i]]));
    }
    kaon_matrix_destroy(&matrix);
  }
  /* y: 7 terms of up to 20; x: rows exceed the others' sums by 0.2 at least, so |A^-1| <= 5 */
  test_below("A b on ranks against one: difference", worst, 7 * 20 * 0x1p-52);
  test_below("x on ranks against one: difference", apart, 2 * 5 * 1.1e-12 * 2 * CELLS);
  kaon_context_destroy(&ctx);
  kaon_context_destroy(&alone);
}

static void refused(kaon_context *ctx, const part *p, kaon_status status, const char *word,
                    int says) {
  kaon_matrix *matrix = NULL;
  assert_int_equal(kaon_matrix_create_ldu(ctx, &p->arrays, NULL, &matrix), status);
  assert_null(matrix);
  if (says) assert_non_null(strstr(kaon_last_error(ctx), word));
}

/* All ranks hear of what one of them did wrong. */
static void interfaces_that_do_not_meet_are_refused(void **state) {
  (void)state;
  const mesh m = make_mesh();
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, any_grid);
  const int first = ctx->comm->rank == 0, ranks = ctx->comm->ranks;
  part p;
  divide(&m, ctx->comm->rank, ranks, &p);
  kaon_ldu_interface *i = &p.interface[0], kept;
  if (ranks > 1) {
    kaon_ldu_interface *full = i;
    while (full->faces == 0 && full < p.interface + p.arrays.interfaces - 1) full++;
    if (first) full->faces--;
    refused(ctx, &p, KAON_ERR_SHAPE, "the other side", first);
    if (first) full->faces++;
    kept = *i;
    if (first) i->rank = ranks;
    refused(ctx, &p, KAON_ERR_ARGUMENT, "interface 0 is with rank", first);
    if (first) i->rank = 0;
    refused(ctx, &p, KAON_ERR_ARGUMENT, "interface 0 is with rank", first);
    *i = kept;
    if (first) p.interface[1].tag = i->tag;
    if (first) p.interface[1].rank = i->rank;
    refused(ctx, &p, KAON_ERR_ARGUMENT, "tags that differ", first);
    divide(&m, ctx->comm->rank, ranks, &p);
    const int32_t beyond = CELLS;
    kaon_ldu_interface bad = {.rank = kept.rank, .tag = 9, .faces = 1, .cells = &beyond};
    bad.coefficients = p.beyond;
    if (first) p.interface[0] = bad;
    refused(ctx, &p, KAON_ERR_ARGUMENT, "cells are 0 to", first);
    divide(&m, ctx->comm->rank, ranks, &p);
    if (first) p.arrays.interfaces = 0;
    refused(ctx, &p, KAON_ERR_SHAPE, "faces", first);
  } else {
    kaon_ldu_interface self = {.rank = 0};
    p.arrays.interfaces = 1;
    p.arrays.interface = &self;
    refused(ctx, &p, KAON_ERR_ARGUMENT, "cyclic", 1);
    p.arrays.interface = NULL;
    refused(ctx, &p, KAON_ERR_ARGUMENT, "are announced", 1);
  }
  kaon_context_destroy(&ctx);
}

static const struct CMUnitTest ldu_on_ranks[] = {
    cmocka_unit_test(divided_meshes_are_the_undivided_one),
    cmocka_unit_test(interfaces_that_do_not_meet_are_refused)};
RANKS_MAIN(ldu_on_ranks)
