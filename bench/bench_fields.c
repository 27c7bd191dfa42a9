/* bench_fields.c - hops, the even-odd clover matrix and vector operations. Flops and ideal bytes
 * are defined in docs/conventions.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_lattice.h"
#include "interfaces/common/signals.h"

static const int default_lattices[][4] = {{8, 8, 8, 8}, {16, 16, 16, 32}, {24, 24, 24, 24}};
static const kaon_reconstruct reals[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                         KAON_RECONSTRUCT_8};
static const double hop_flops_a_site = 1320;

static const cli_option dslash_options[] = {
    LATTICE_OPTIONS_EXTENTS("8x8x8x8, 16x16x16x32, 24x24x24x24"),
    LATTICE_OPTION_ACTION("staggered, asqtad and hisq have hops of their own, on links made up"),
    BENCH_OPTION_PRECISION(LATTICE_AT, "double,single,half"),
    LATTICE_OPTION_RECONSTRUCT("18,12,8"),
    LATTICE_OPTION_COLUMNS("1,12"),
    LATTICE_OPTION_TEMPORAL("measure the even-odd matrix in the temporal gauge as well"),
    {CLI_FLAG, "in-turn", NULL, NULL, BENCH_AT(in_turn), 0, 0,
     "interleave the samples of a lattice's rows, so that drifts of the clock cancel in their "
     "ratios; holds all operators in memory at once"},
    CLI_TABLE_ROW(bench_sample_rows, 0),
    BENCH_OPTION_JSON,
    CLI_TABLE_ROW(lattice_rank_rows, 0),
    CLI_END_ROW};

static const cli_option vector_options[] = {
    LATTICE_OPTIONS_EXTENTS("8x8x8x8, 16x16x16x32, 24x24x24x24"),
    BENCH_OPTION_PRECISION(LATTICE_AT, "double,single,half"),
    LATTICE_OPTION_COLUMNS("1,12"),
    CLI_TABLE_ROW(bench_sample_rows, 0),
    BENCH_OPTION_JSON,
    CLI_TABLE_ROW(lattice_rank_rows, 0),
    CLI_END_ROW};

enum { ROWS_OF_A_CASE = 4 };

/* One lattice with its links. For one precision, reconstruction and number of columns it also has
 * operators and vectors. */
typedef struct bench_case {
  bench *b;
  field field;
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int columns;
  kaon_operator *M, *R, *T;     /* R: even-odd matrix; T: the same in temporal gauge */
  kaon_operator *plain[2];      /* twisted actions: M and R with mu = 0 */
  kaon_gauge *fat, *naik;       /* links of improved staggered actions */
  kaon_vector *in, *same, *out; /* in: other parity; same, out: own parity */
  double *norm2;
  double (*dot)[2];
  struct turns *turns; /* of --in-turn, or NULL */
} bench_case;

static kaon_status hop(void *user) {
  bench_case *c = user;
  return kaon_dirac_hop(c->M, KAON_EVEN, KAON_PLAIN, c->in, c->out);
}

static kaon_status staggered_hop(void *user) {
  bench_case *c = user;
  return kaon_staggered_hop(c->M, KAON_EVEN, c->in, c->out);
}

static kaon_status matrix(void *user) {
  bench_case *c = user;
  return kaon_operator_apply(c->R, KAON_PLAIN, c->same, c->out);
}

static kaon_status temporal_matrix(void *user) {
  bench_case *c = user;
  return kaon_operator_apply(c->T, KAON_PLAIN, c->same, c->out);
}

static kaon_status plain_matrix(void *user) {
  bench_case *c = user;
  return kaon_operator_apply(c->plain[1], KAON_PLAIN, c->same, c->out);
}

static kaon_status copy(void *user) {
  bench_case *c = user;
  return kaon_vector_copy(c->out, c->same);
}

static kaon_status axpy(void *user) {
  bench_case *c = user;
  return kaon_vector_axpy(1e-6, 0, c->same, c->out);
}

static kaon_status norm2(void *user) {
  bench_case *c = user;
  return kaon_vector_norm2(c->same, c->norm2);
}

static kaon_status dot(void *user) {
  bench_case *c = user;
  return kaon_vector_dot(c->same, c->out, c->dot);
}

static bench_row row_of(const bench_case *c, const char *name) {
  bench_row row = {.name = name,
                   .extents = c->field.extents,
                   .precision = c->precision,
                   .links = (int)c->reconstruct,
                   .columns = c->columns};
  kaon_lattice_part(c->field.lattice, NULL, NULL, row.grid);
  return row;
}

static double half_volume(const bench_case *c) {
  return 0.5 * (double)kaon_lattice_volume(c->field.lattice);
}

/* Bytes of one spinor: 24 reals, and the scale of half precision. */
static double spinor_bytes(kaon_precision precision) {
  return 24 * bench_size(precision) + (precision == KAON_HALF ? 4 : 0);
}

/* Reuses a vector of the right kind, since filling many gigabytes takes seconds. The output begins
 * as zeros. */
static kaon_status make_vector(bench_case *c, const kaon_space *space, kaon_vector **v) {
  if (*v && kaon_vector_space(*v) == space && kaon_vector_precision(*v) == c->precision &&
      kaon_vector_columns(*v) == c->columns)
    return KAON_OK;
  kaon_vector_destroy(v);
  kaon_status status = kaon_vector_create(c->b->ctx, space, c->precision, c->columns, v);
  if (status == KAON_OK && v != &c->out) status = lattice_fill(c->b, *v, c->field.lattice);
  return kaon_context_agree(c->b->ctx, status);
}

/* Prepares the hop: its vectors and its row without seconds. */
static kaon_status open_hop(bench_case *c, bench_timed *t) {
  double sites = half_volume(c), links = 8.0 * (double)c->reconstruct * bench_size(c->precision);
  kaon_lattice *lattice = c->field.lattice;
  kaon_status status = make_vector(c, kaon_lattice_spinors(lattice, KAON_ODD), &c->in);
  if (status == KAON_OK) status = make_vector(c, kaon_lattice_spinors(lattice, KAON_EVEN), &c->out);
  *t = (bench_timed){.work = hop, .user = c, .row = row_of(c, "wilson-hop")};
  t->row.flops = hop_flops_a_site * sites * c->columns;
  t->row.bytes = sites * (links + 2 * spinor_bytes(c->precision) * c->columns);
  return status;
}

/* Prepares the even-odd matrix R of M: its vectors and its row without seconds. */
static kaon_status open_matrix(bench_case *c, kaon_operator *M, int temporal_gauge,
                               kaon_operator **R, bench_work *work, const char *name,
                               bench_timed *t) {
  kaon_cost cost = {0};
  kaon_even_odd_options reduction = KAON_EVEN_ODD_OPTIONS_INIT;
  reduction.temporal_gauge = temporal_gauge;
  reduction.form = KAON_EVEN_ODD_ASYMMETRIC;
  kaon_status status = kaon_dirac_even_odd(M, &reduction, R);
  if (status == KAON_OK) status = make_vector(c, kaon_operator_space(*R), &c->same);
  if (status == KAON_OK) status = kaon_operator_cost(*R, c->columns, &cost);
  *t = (bench_timed){.work = work, .user = c, .row = row_of(c, name)};
  t->row.flops = cost.flops * c->columns * c->b->info.ranks;
  t->row.bytes = cost.bytes * c->columns * c->b->info.ranks;
  return status;
}

/* Beside the matrix of a twisted action stands that with mu = 0: two hops each, so their ratio is
 * that of the hops. */
static kaon_status open_wilson(bench_case *c, bench_timed timed[], int *count) {
  static const char *const names[][3] = {
      [ACTION_WILSON] = {"wilson-matrix", "wilson-temporal", NULL},
      [ACTION_CLOVER] = {"clover-matrix", "clover-temporal", NULL},
      [ACTION_TWISTED] = {"twisted-matrix", "twisted-temporal", "wilson-matrix"},
      [ACTION_TWISTED_CLOVER] = {"twisted-clover-matrix", "twisted-clover-temporal",
                                 "clover-matrix"}};
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  dirac.kappa = 0.12;
  const int action = lattice_of(c->b)->problem.action;
  dirac.csw = action == ACTION_CLOVER || action == ACTION_TWISTED_CLOVER;
  dirac.mu = action == ACTION_TWISTED || action == ACTION_TWISTED_CLOVER ? 0.01 : 0;
  dirac.precision = c->precision;
  dirac.reconstruct = c->reconstruct;
  kaon_status status = kaon_dirac_create(c->field.gauge, &dirac, &c->M);
  if (status == KAON_OK) status = open_hop(c, &timed[(*count)++]);
  if (status == KAON_OK)
    status = open_matrix(c, c->M, 0, &c->R, matrix, names[action][0], &timed[(*count)++]);
  if (status == KAON_OK && lattice_of(c->b)->problem.temporal_gauge)
    status = open_matrix(c, c->M, 1, &c->T, temporal_matrix, names[action][1], &timed[(*count)++]);
  if (dirac.mu == 0) return status;
  dirac.mu = 0;
  if (status == KAON_OK) status = kaon_dirac_create(c->field.gauge, &dirac, &c->plain[0]);
  if (status == KAON_OK)
    status = open_matrix(c, c->plain[0], 0, &c->plain[1], plain_matrix, names[action][2],
                         &timed[(*count)++]);
  return status;
}

/* Prepares the staggered hop, with thin links or with fat and long ones. A long link of U(3) stores
 * its phase beside 12 or 8 reals. */
static kaon_status open_staggered(bench_case *c, bench_timed timed[], int *count) {
  const int action = lattice_of(c->b)->problem.action, improved = action > ACTION_STAGGERED;
  const int phases = action == ACTION_HISQ;
  kaon_lattice *lattice = c->field.lattice;
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  kaon_status status = KAON_OK;
  if (improved && c->fat == NULL)
    status = staggered_synthetic(&c->field, action, &c->fat, &c->naik);
  o.precision = c->precision;
  o.reconstruct = c->reconstruct;
  if (status == KAON_OK)
    status = kaon_staggered_create(improved ? c->fat : c->field.gauge, c->naik, &o, &c->M);
  if (status == KAON_OK) status = make_vector(c, kaon_lattice_staggered(lattice, KAON_ODD), &c->in);
  if (status == KAON_OK)
    status = make_vector(c, kaon_lattice_staggered(lattice, KAON_EVEN), &c->out);
  bench_timed *t = &timed[(*count)++];
  *t = (bench_timed){.work = staggered_hop, .user = c};
  t->row = row_of(c, improved ? "hisq-hop" : "staggered-hop");
  if (phases && c->reconstruct != KAON_RECONSTRUCT_18) t->row.links++;
  const double sites = half_volume(c), size = bench_size(c->precision);
  const double vectors = 2 * (6 * size + (c->precision == KAON_HALF ? 4 : 0)) * c->columns;
  t->row.flops = (improved ? 1146 : 570) * sites * c->columns;
  t->row.bytes = sites * (8.0 * (t->row.links + (improved ? 18 : 0)) * size + vectors);
  return status;
}

static kaon_status open_operators(bench_case *c, bench_timed timed[], int *count) {
  return staggered_action(&lattice_of(c->b)->problem) ? open_staggered(c, timed, count)
                                                      : open_wilson(c, timed, count);
}

static kaon_status add_rows(bench *b, bench_timed timed[], int count) {
  kaon_status status = KAON_OK;
  for (int i = 0; i < count && status == KAON_OK; i++) {
    timed[i].row.resident = timed[i].row.bytes;
    b->all.triad_gbs = timed[i].triad;
    b->all.read_gbs = timed[i].read;
    bench_add(b, &timed[i].row);
    status = bench_save(b);
  }
  return status;
}

/* Times each row by itself, so that operators of large lattices need not fit together. */
static kaon_status time_operators(bench_case *c) {
  bench_timed timed[ROWS_OF_A_CASE];
  int count = 0;
  kaon_status status = open_operators(c, timed, &count);
  for (int i = 0; i < count && status == KAON_OK; i++) {
    status = bench_time_in_turn(c->b, &timed[i], 1);
    if (status == KAON_OK) status = add_rows(c->b, &timed[i], 1);
  }
  return status;
}

/* Counts of one operation: spinors moved, and flops a site. */
static kaon_status time_vectors(bench_case *c) {
  static const struct {
    const char *name;
    bench_work *work;
    double spinors, flops; /* spinors moved a site; flops a site (24 reals) */
    int waits;             /* 1: the host waits for each result */
  } operations[] = {{"vector-copy", copy, 2, 0, 0},
                    {"vector-axpy", axpy, 3, 96, 0},
                    {"vector-norm2", norm2, 1, 48, 1},
                    {"vector-dot", dot, 2, 96, 1}};
  double norms[256], dots[256][2];
  const kaon_space *even = kaon_lattice_spinors(c->field.lattice, KAON_EVEN);
  kaon_status status = make_vector(c, even, &c->same);
  if (status == KAON_OK) status = make_vector(c, even, &c->out);
  c->norm2 = norms;
  c->dot = dots;
  for (size_t i = 0; i < sizeof operations / sizeof *operations && status == KAON_OK; i++) {
    bench_row row = row_of(c, operations[i].name);
    row.links = 0;
    status = bench_time(c->b, operations[i].work, c, &row);
    if (status != KAON_OK) break;
    if (operations[i].waits) row.issue = 0;
    double spinors = half_volume(c) * c->columns;
    row.flops = operations[i].flops * spinors;
    row.bytes = operations[i].spinors * spinors * spinor_bytes(c->precision);
    row.resident = row.bytes;
    bench_add(c->b, &row);
    status = bench_save(c->b);
  }
  return status;
}

static void clear_operators(bench_case *c) {
  for (int i = 1; i >= 0; i--) kaon_operator_destroy(&c->plain[i]);
  kaon_operator_destroy(&c->T);
  kaon_operator_destroy(&c->R);
  kaon_operator_destroy(&c->M);
}

static void clear_vectors(bench_case *c) {
  kaon_vector_destroy(&c->in);
  kaon_vector_destroy(&c->same);
  kaon_vector_destroy(&c->out);
}

/* Calls `measure` for each case of one lattice, with the case in c. */
static kaon_status sweep_cases(bench_case *c, int with_links,
                               kaon_status (*measure)(bench_case *c)) {
  const lattice_args *a = lattice_of(c->b);
  const unsigned reconstruct = a->reconstruct ? a->reconstruct : 7;
  kaon_status status = KAON_OK;
  for (int p = 0; p < 3; p++)
    for (int r = 0; r < (with_links ? 3 : 1); r++)
      for (int i = 0; i < a->columns.count && status == KAON_OK; i++) {
        if (!(a->precision >> p & 1) || (with_links && !(reconstruct >> r & 1))) continue;
        c->precision = (kaon_precision)p;
        c->reconstruct = reals[r];
        c->columns = a->columns.value[i];
        status = measure(c);
        clear_operators(c);
      }
  return status;
}

/* All cases of one lattice at once: samples of their rows are taken in turn. */
typedef struct turns {
  bench_case *cases;
  bench_timed *timed;
  int count, rows;
} turns;

static kaon_status count_case(bench_case *c) {
  c->turns->count++;
  return KAON_OK;
}

static kaon_status open_case(bench_case *c) {
  turns *t = c->turns;
  bench_case *own = &t->cases[t->count++];
  *own = *c;
  kaon_status status = open_operators(own, t->timed, &t->rows);
  c->fat = own->fat; /* made by the first case, shared by all */
  c->naik = own->naik;
  return status;
}

static kaon_status time_in_turn(bench_case *c) {
  turns t = {0};
  c->turns = &t;
  kaon_status status = sweep_cases(c, 1, count_case);
  const size_t cases = (size_t)t.count;
  t.cases = calloc(cases, sizeof *t.cases);
  t.timed = calloc(cases * ROWS_OF_A_CASE, sizeof *t.timed);
  t.count = 0;
  if (t.cases == NULL || t.timed == NULL) status = KAON_ERR_MEMORY;
  status = kaon_context_agree(c->b->ctx, status);
  if (status == KAON_OK) status = sweep_cases(c, 1, open_case);
  if (status == KAON_OK) status = bench_time_in_turn(c->b, t.timed, t.rows);
  if (status == KAON_OK) status = add_rows(c->b, t.timed, t.rows);
  for (int i = 0; i < t.count; i++) {
    clear_operators(&t.cases[i]);
    clear_vectors(&t.cases[i]);
  }
  free(t.timed);
  free(t.cases);
  return status;
}

static int sweep_lattice(bench *b, const int extents[4], int with_links) {
  field_spec weak;
  bench_case c = {.b = b};
  int code = field_parse("weak:0.3", &weak);
  if (code == EXIT_DONE) code = field_open(b->ctx, &weak, extents, KAON_ANTIPERIODIC, 0, &c.field);
  bench_stage(b);
  kaon_status status = KAON_OK;
  if (code == EXIT_DONE)
    status = with_links && b->args->in_turn
                 ? time_in_turn(&c)
                 : sweep_cases(&c, with_links, with_links ? time_operators : time_vectors);
  if (code == EXIT_DONE) code = cli_status(b->ctx, status, NULL);
  clear_vectors(&c);
  kaon_gauge_destroy(&c.fat);
  kaon_gauge_destroy(&c.naik);
  field_close(&c.field);
  return code;
}

static int sweep(bench *b, int with_links) {
  cli_lattices list = lattice_of(b)->lattices;
  int code = EXIT_DONE;
  if (!list.count) {
    list.count = (int)(sizeof default_lattices / sizeof *default_lattices);
    memcpy(list.extents, default_lattices, sizeof default_lattices);
  }
  bench_header(b, "lattice");
  for (int i = 0; i < list.count && code == EXIT_DONE; i++)
    code = sweep_lattice(b, list.extents[i], with_links);
  return code;
}

int dslash_measure(bench *b) {
  return sweep(b, 1);
}

static int vector_measure(bench *b) {
  return sweep(b, 0);
}

static int run_dslash(void *arguments) {
  return lattice_run(arguments, dslash_options, dslash_measure);
}

static int run_vector(void *arguments) {
  return lattice_run(arguments, vector_options, vector_measure);
}

const cli_command bench_dslash = {
    .name = "dslash",
    .summary = "The hops of Dirac operators, and the even-odd clover matrix.",
    .examples =
        "Examples:\n"
        "  kaon bench dslash --lattice 16 16 16 32 --precision single --columns 1\n"
        "  mpirun -np 4 kaon bench dslash --grid 1 1 1 4 --local-lattice 32 32 32 64\n\n"
        "A hop computes one parity from the other. Ideal GB/s count every link, spinor and "
        "clover block once; lattices that fit the cache are compared with the multiply-add "
        "peak.",
    .options = dslash_options,
    .arguments = sizeof(lattice_args),
    .run = run_dslash,
    .daily =
        "lattice action precision reconstruct columns samples calls json local-lattice grid "
        "backend threads"};

const cli_command bench_vector = {
    .name = "vector",
    .summary = "Vector operations: copy, axpy, norm, dot.",
    .examples = "Example:\n  kaon bench vector --lattice 16 16 16 32 --precision single",
    .options = vector_options,
    .arguments = sizeof(lattice_args),
    .run = run_vector,
    .daily = "lattice precision columns samples calls json local-lattice grid backend threads"};
