/* spmv_times.c - products of sparse matrices on a device: every way of storing rows, called in the
 * kernel table itself, the form that the library takes, and cuSPARSE's algorithms on the same
 * matrix in the same run, timed by events. A program to run by hand:
 * cmake --build <build> --target spmv_times; <build>/bench/measure/spmv_times FILE.json
 * [laplace|elasticity|trefethen|skewed ...] [double|single|half] [columns] [variants] [own]
 *   columns   products by several columns alone (2, 4, 8, 12; not of skewed)
 *   own       the form that the library takes, and cuSPARSE's
 *   variants  also kernels with more or fewer loads in flight */
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "sparse/storage/matrix.h"
#include "sparse/storage/stored.h"
#include "bench/measure/sell_variants.h"
#include "bench/measure/spmv_fixture.h"
#include "bench/measure/spmv_matrices.h"
#include "bench/measure/spmv_peers.h"
#include "tests/util/stored_rows.h"

enum { NORM = 100, DOT = 101 };

static const char *const forms[] = {"csr", "sell", "ell"};
static const char *const kinds[] = {"", " narrow", " shared"};

/* ---- a product ---- */

typedef struct our_way {
  const kaon_stored_matrix *matrix;
  int count, sums;
  kaon_precision precision;
} our_way;

static void run_ours(fixture *b, const void *way) {
  const our_way *w = way;
  const int columns = column_counts[w->count];
  kaon_launch launch;
  fixture_ok(kaon_launch_prepare(b->ctx, columns, 0, &launch));
  kaon_spmv_args args = {.matrix = w->matrix, .nrhs = columns, .a = 1};
  args.x = kaon_view_of(b->x[w->count]);
  args.y = kaon_view_of(b->y[w->count]);
  for (int i = 0; i < 4; i++) args.sum.slot[i] = KAON_NO_SLOT;
  const int separate =
      !(b->ctx->backend->sparse[w->precision]->sums(w->matrix, columns) & KAON_SUMS_NORM);
  if (w->sums && (!separate || b->variant >= 0)) {
    args.w = args.x;
    args.sum.state = b->scalars->state;
    args.sum.slot[0] = NORM;
    args.sum.slot[1] = DOT;
  }
  if (b->variant < 0)
    b->ctx->backend->sparse[w->precision]->spmv(&launch, &args);
  else if (w->precision == KAON_DOUBLE)
    sell_variant_d(&launch, &args, b->variant);
  else
    sell_variant_s(&launch, &args, b->variant);
  b->ctx->no_flush_needed = 1;
  if (w->sums && separate && b->variant < 0) {
    static const int slot[3] = {DOT, KAON_NO_SLOT, NORM};
    kaon_pass pass = KAON_PASS_INIT;
    pass.scalars = b->scalars;
    fixture_ok(kaon_blas_dot(b->x[w->count], b->y[w->count], slot, &pass));
  }
}

static void our_row(fixture *b, const kaon_stored_matrix *matrix, const product_row *row) {
  const our_way way = {.matrix = matrix,
                       .count = row->count,
                       .sums = row->sums,
                       .precision = fixture_precision(row->type)};
  const dense y = fixture_dense(b->y[row->count]);
  fixture_measure(b, row, run_ours, &way, &y);
}

/* ---- the library's form ---- */

/* rows: those of the matrix, in the order in which vectors have them. */
static void own_form(fixture *b, int type, const kaon_csr *rows) {
  kaon_stored *stored;
  char name[48];
  product_row row = {.form = name, .type = type};
  fixture_ok(kaon_stored_create(b->ctx, rows, rows->rows, fixture_precision(type), type == HALF,
                                KAON_STORE_AUTO, &stored));
  const kaon_stored_matrix *m = &stored->matrix;
  const int csr = m->form == KAON_STORED_CSR;
  printf("%s, %s: the library stores it as %s\n", b->name, type_names[type], stored->text);
  snprintf(name, sizeof name, "auto %s%s%s", forms[m->form], kinds[m->columns],
           m->long_part != NULL   ? " and long rows"
           : csr && m->lanes == 0 ? " shared out"
                                  : "");
  b->lanes = m->lanes;
  row.lanes = csr ? m->lanes : 0;
  row.index = (double)stored->index_bytes;
  for (row.count = 0; row.count < COUNTS; row.count++)
    for (row.sums = 0; row.sums < 2; row.sums++)
      if (fixture_counts(b, type, row.count, row.sums)) our_row(b, m, &row);
  kaon_stored_destroy(&stored);
}

/* Of rows that the library puts into an order of its own. */
static void own_order(fixture *b) {
  const kaon_csr_arrays arrays = {.global_rows = b->csr.rows,
                                  .rows = b->csr.rows,
                                  .reals = 1,
                                  .start64 = b->csr.start,
                                  .column32 = b->csr.column,
                                  .values = b->csr.value};
  kaon_matrix *matrix = NULL;
  fixture_ok(kaon_matrix_create_csr(b->ctx, &arrays, NULL, &matrix));
  printf("%s: the library keeps the rows in %s order\n", b->name,
         matrix->order != NULL ? "another" : "the given");
  b->given = matrix->space.rows.there;
  for (int type = 0; type < HALF; type++) {
    if (!b->types[type]) continue;
    fixture_open_vectors(b, kaon_matrix_space(matrix), type);
    own_form(b, type, matrix->rows->rows);
    fixture_close_vectors(b);
  }
  b->given = NULL;
  kaon_matrix_destroy(&matrix);
}

/* ---- every form ---- */

/* The same by kernels that differ in what they have on their way (sell_variants.cu). */
static void our_variants(fixture *b, const kaon_stored_matrix *matrix, const product_row *of) {
  for (int v = 0; v < sell_variants; v++) {
    char name[48];
    product_row row = *of;
    b->variant = v;
    snprintf(name, sizeof name, "%s:%s", of->form, sell_variant_names[v]);
    row.form = name;
    if (sell_variant_takes(v, matrix)) our_row(b, matrix, &row);
  }
  b->variant = -1;
}

/* Threads a row that are worth a look: as many as the library takes, and those about the mean. */
static int lanes_wanted(const fixture *b, int lanes, int sums) {
  const double mean = (double)b->csr.start[b->csr.rows] / (double)b->csr.rows;
  if (b->skewed) return !sums;
  if (!sums && lanes == b->lanes) return 1;
  return lanes <= mean && mean <= 16 * lanes && !(sums && (lanes > mean / 2 || 8 * lanes < mean));
}

static void our_csr(fixture *b, kaon_stored_matrix *matrix, product_row row) {
  for (int lanes = 1; lanes <= 32; lanes *= 2) {
    if (!lanes_wanted(b, lanes, row.sums)) continue;
    matrix->lanes = row.lanes = lanes;
    our_row(b, matrix, &row);
  }
  matrix->lanes = row.lanes = 0;
  row.form = "csr shared out";
  our_row(b, matrix, &row);
}

/* Our products of rows that are stored one way, by every number of columns. */
static void our_ways(fixture *b, kaon_stored_matrix *matrix, product_row row) {
  const int form = matrix->form;
  for (row.count = 0; row.count < (form == KAON_STORED_ELL ? 1 : COUNTS); row.count++)
    for (row.sums = 0; row.sums < 2; row.sums++) {
      if (!fixture_counts(b, row.type, row.count, row.sums)) continue;
      if (form == KAON_STORED_CSR) {
        our_csr(b, matrix, row);
        continue;
      }
      our_row(b, matrix, &row);
      if (b->variants && row.count == 0) our_variants(b, matrix, &row);
    }
}

static void our_form(fixture *b, int type, int form, int kind) {
  stored_rows stored;
  char name[32];
  product_row row = {.form = name, .type = type};
  const stored_shape shape = {
      .precision = fixture_precision(type), .half = type == HALF, .form = form, .columns = kind};
  snprintf(name, sizeof name, "%s%s", forms[form], kinds[kind]);
  stored_open(b->ctx, &b->csr, &shape, &stored);
  row.index = (double)stored.index_bytes;
  if (!b->own) our_ways(b, &stored.matrix, row);
  if (type != HALF && form == KAON_STORED_CSR) peers_of_csr(b, type, &stored);
  if (type != HALF && form == KAON_STORED_SELL && kind == KAON_COLUMNS_32BIT && !b->skewed)
    peers_of_sell(b, type, &stored);
  stored_close(&stored);
}

/* SELL or ELL with columns of every kind that the matrix allows. */
static void our_blocks(fixture *b, int type, int form) {
  for (int kind = KAON_COLUMNS_32BIT; kind <= KAON_COLUMNS_SHARED; kind++)
    if (kind != KAON_COLUMNS_16BIT || b->near) our_form(b, type, form, kind);
}

/* ---- all ---- */

typedef struct matrix_case {
  const char *word, *name;
  row_maker *maker;
  int64_t n, rows;
  int skewed;
} matrix_case;

enum { MATRICES = 4 };
static const matrix_case matrices[MATRICES] = {
    {"laplace", "laplace3d:252", laplace_row, 252, INT64_C(252) * 252 * 252, 0},
    {"elasticity", "elasticity:100", elasticity_row, 100, 3000000, 0},
    {"trefethen", "trefethen:20000", trefethen_row, 20000, 20000, 0},
    {"skewed", "skewed:22", skewed_row, 22, INT64_C(1) << 22, 1}};

static void every_form(fixture *b, int type) {
  if (b->skewed || b->own)
    our_form(b, type, KAON_STORED_SELL, KAON_COLUMNS_32BIT);
  else
    our_blocks(b, type, KAON_STORED_SELL);
  if (!b->skewed && b->one_column && !b->own) our_blocks(b, type, KAON_STORED_ELL);
  our_form(b, type, KAON_STORED_CSR, KAON_COLUMNS_32BIT);
}

/* All ways in one type; the library keeps these rows in the given order, unless they are skewed. */
static void sweep_type(fixture *b, int type) {
  const int64_t rows = b->csr.rows;
  const kaon_space space = {.inner = 1,
                            .ctx = b->ctx,
                            .nblocks = (rows + 31) / 32,
                            .nsites = rows,
                            .width = 32,
                            .ncomp = 1};
  fixture_open_vectors(b, &space, type);
  if (!b->skewed) own_form(b, type, &b->csr);
  if (!b->own || type != HALF) every_form(b, type);
  fixture_close_vectors(b);
}

static void sweep(fixture *b, const matrix_case *c) {
  if (c->skewed && (!b->one_column || !(b->types[DOUBLE] || b->types[SINGLE]))) return;
  b->name = c->name;
  b->skewed = c->skewed;
  matrix_make(c->maker, c->n, c->rows, &b->csr);
  b->near = !c->skewed && matrix_columns_are_near(&b->csr);
  if (c->skewed) own_order(b);
  for (int type = 0; type < (c->skewed ? HALF : TYPES); type++)
    if (b->types[type]) sweep_type(b, type);
  matrix_free(&b->csr);
  fixture_cuda_ok(cudaFree(b->expected));
  b->expected = NULL;
}

/* A matrix or a type of values is measured where it is named, or where none of its kind is. */
static int wanted(int argc, char **argv, const char *name, const char *const *kind, int count) {
  int any = 0;
  for (int i = 2; i < argc; i++)
    for (int k = 0; k < count; k++) {
      if (strncmp(argv[i], kind[k], strlen(argv[i])) != 0) continue;
      any = 1;
      if (strcmp(kind[k], name) == 0) return 1;
    }
  return !any;
}

static void open_fixture(fixture *b, const char *path) {
  const kaon_context_options defaults = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context_options options = defaults;
  options.backend = KAON_BACKEND_CUDA;
  fixture_ok(kaon_context_create(&options, &b->ctx));
  b->info = (kaon_context_info)KAON_CONTEXT_INFO_INIT;
  fixture_ok(kaon_context_query(b->ctx, &b->info));
  const char *missing = machine_open("cuda", 1, 1, &b->machine);
  if (missing != NULL) {
    fprintf(stderr, "spmv_times: %s\n", missing);
    exit(EXIT_FAILURE);
  }
  if (path != NULL && (b->json = fopen(path, "w")) == NULL) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  fixture_cuda_ok(cudaEventCreate(&b->begin));
  fixture_cuda_ok(cudaEventCreate(&b->end));
}

int main(int argc, char **argv) {
  fixture b = {.variant = -1, .one_column = 1};
  const char *words[MATRICES];
  open_fixture(&b, argc > 1 ? argv[1] : NULL);
  for (int i = 2; i < argc; i++) {
    b.variants |= strcmp(argv[i], "variants") == 0;
    b.own |= strcmp(argv[i], "own") == 0;
    b.one_column &= strcmp(argv[i], "columns") != 0;
  }
  printf("reads %.0f GB/s, copies %.0f GB/s\n", b.machine.read_gbs, b.machine.copy_gbs);
  if (b.json != NULL) fprintf(b.json, "[\n");
  for (int type = 0; type < TYPES; type++)
    b.types[type] = wanted(argc, argv, type_names[type], type_names, TYPES);
  for (int n = 0; n < MATRICES; n++) words[n] = matrices[n].word;
  for (int n = 0; n < MATRICES; n++)
    if (wanted(argc, argv, words[n], words, MATRICES)) sweep(&b, &matrices[n]);
  if (b.json != NULL) {
    fprintf(b.json, "\n]\n");
    fclose(b.json);
  }
  machine_close(&b.machine);
  kaon_context_destroy(&b.ctx);
  return EXIT_SUCCESS;
}
