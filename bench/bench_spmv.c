/* bench_spmv.c - y = A x with sparse matrices, by storage, precision and columns. Flops and ideal
 * bytes are those that the operator counts (docs/conventions.md, "Cost"). */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench_matrix.h"
#include "interfaces/common/report.h"

static const cli_option option_rows[] = {
    MATRIX_OPTION_MATRIX("laplace3d:64"),
    MATRIX_OPTION_FORMAT,
    BENCH_OPTION_PRECISION(MATRIX_AT, "double,single,half"),
    MATRIX_OPTION_COLUMNS,
    CLI_TABLE_ROW(matrix_storage_rows, offsetof(matrix_args, linear)),
    CLI_TABLE_ROW(bench_sample_rows, 0),
    BENCH_OPTION_JSON,
    CLI_TABLE_ROW(bench_rank_rows, 0),
    CLI_END_ROW};

typedef struct spmv_case {
  bench *b;
  linear l;
  kaon_vector *x, *y;
  int columns;
} spmv_case;

static kaon_status multiply(void *user) {
  spmv_case *c = user;
  return kaon_operator_apply(c->l.A, KAON_PLAIN, c->x, c->y);
}

static kaon_status make_vectors(spmv_case *c) {
  const kaon_space *space = kaon_operator_space(c->l.A);
  const kaon_precision precision = kaon_operator_precision(c->l.A);
  kaon_status status = kaon_vector_create(c->b->ctx, space, precision, c->columns, &c->x);
  if (status == KAON_OK)
    status = kaon_vector_create(c->b->ctx, space, precision, c->columns, &c->y);
  return status == KAON_OK ? matrix_fill(&c->l, c->x) : status;
}

static kaon_status time_columns(spmv_case *c, kaon_precision precision) {
  const linear *l = &c->l;
  char form[16];
  const char *words = kaon_matrix_operator_format(l->A);
  bench_row row = {.name = "spmv",
                   .matrix = cli_name(l->args->matrix),
                   .stored = bench_form(words, form),
                   .precision = precision,
                   .columns = c->columns};
  kaon_cost cost;
  kaon_status status = make_vectors(c);
  if (status == KAON_OK) status = bench_time(c->b, multiply, c, &row);
  if (status == KAON_OK) status = kaon_operator_cost(l->A, c->columns, &cost);
  kaon_vector_destroy(&c->x);
  kaon_vector_destroy(&c->y);
  if (status != KAON_OK) return status;
  const double vectors =
      2 * bench_size(kaon_operator_precision(l->A)) * l->info.reals * (double)l->info.rows;
  double totals[] = {cost.flops * c->columns, cost.bytes * c->columns,
                     kaon_matrix_operator_bytes(l->A) + vectors};
  status = ranks_sum(totals, 3);
  row.flops = totals[0];
  row.bytes = totals[1];
  row.resident = totals[1];
  json_t *json = bench_add(c->b, &row);
  matrix_describe(l, words, json);
  json_object_set_new(json, "stored_gbs",
                      c->columns == 1 ? report_real(totals[2] / row.seconds / 1e9) : json_null());
  return status == KAON_OK ? bench_save(c->b) : status;
}

/* Measures all columns with one precision and storage. */
static int measure(spmv_case *c, int precision, int form) {
  const cli_counts *columns = &matrix_of(c->b)->columns;
  kaon_matrix_operator_options options = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  options.precision = (kaon_precision)precision;
  options.format = (kaon_matrix_format)form;
  int code = cli_status(c->b->ctx, kaon_matrix_operator(c->l.matrix, &options, &c->l.A), NULL);
  bench_stage(c->b);
  for (int i = 0; i < columns->count && code == EXIT_DONE; i++) {
    c->columns = columns->value[i];
    code = cli_status(c->b->ctx, time_columns(c, options.precision), NULL);
  }
  linear_clear(&c->l);
  return code;
}

static int matrix(bench *b, const char *name) {
  const matrix_args *a = matrix_of(b);
  linear_args args = a->linear;
  spmv_case c = {.b = b};
  args.matrix = name;
  args.tol = 1e-8;
  args.sloppy = -1;
  int code = linear_check(&args, &c.l);
  if (code == EXIT_DONE) code = linear_matrix(b->ctx, &c.l);
  if (code == EXIT_DONE) linear_print(&b->args->common, &c.l);
  for (int p = 0; p < BENCH_PRECISIONS && code == EXIT_DONE; p++)
    for (int f = 0; f < BENCH_FORMATS && code == EXIT_DONE; f++)
      if (a->precision >> p & 1 && a->formats >> f & 1) code = measure(&c, p, f);
  linear_close(&c.l);
  return code;
}

static int measure_all(bench *b) {
  static const char *const usual[] = {"laplace3d:64", NULL};
  bench_header(b, "matrix");
  return matrix_each(b, usual, matrix);
}

static int run(void *arguments) {
  matrix_args *a = arguments;
  relax_defaults(&a->linear);
  linear_without_preconds(&a->linear);
  linear_without_projections(&a->linear);
  return bench_run(&a->bench, option_rows, measure_all);
}

const cli_command bench_spmv = {
    .name = "spmv",
    .summary = "Products y = A x of sparse matrices.",
    .examples =
        "Example:\n  kaon bench spmv --matrix laplace3d:128 --matrix A.mtx --format csr,sell",
    .options = option_rows,
    .arguments = sizeof(matrix_args),
    .run = run,
    .daily = "matrix format precision columns ordering samples calls json backend threads"};
