/* bench_fatten.c - fat and long links from thin links, level by level. Ideal bytes are those of the
 * stages in gauge/cuda/fatten.cu: 100 matrices a site for fat links, 20 more for long links. */
#include <string.h>

#include "bench/bench_lattice.h"

static const int default_lattice[4] = {16, 16, 16, 16}, device_lattice[4] = {32, 32, 32, 64};

static const cli_option option_rows[] = {
    LATTICE_OPTIONS_EXTENTS("16x16x16x16, on a device 32x32x32x64"),
    {CLI_SET, "precision", "double|single", "double,single", LATTICE_AT(precision), 0, 0,
     "a list with commas"},
    CLI_TABLE_ROW(bench_sample_rows, 0),
    BENCH_OPTION_JSON,
    CLI_TABLE_ROW(lattice_rank_rows, 0),
    CLI_END_ROW};

typedef struct fatten_case {
  bench *b;
  field field;
  kaon_gauge *thin, *fat, *naik; /* in the precision of the rows */
  kaon_fatten_options hisq;
  kaon_fatten_coefficients level[2];
  kaon_fatten_report report;
} fatten_case;

static kaon_status first_level(void *user) {
  fatten_case *c = user;
  c->report = (kaon_fatten_report)KAON_FATTEN_REPORT_INIT;
  return kaon_fatten_paths(c->thin, &c->level[0], c->fat, NULL, &c->report);
}

static kaon_status back_to_u3(void *user) {
  fatten_case *c = user;
  c->report = (kaon_fatten_report)KAON_FATTEN_REPORT_INIT;
  return kaon_fatten_unitarise(c->fat, &c->hisq, &c->report);
}

static kaon_status second_level(void *user) {
  fatten_case *c = user;
  c->report = (kaon_fatten_report)KAON_FATTEN_REPORT_INIT;
  return kaon_fatten_paths(c->thin, &c->level[1], c->fat, c->naik, &c->report);
}

static kaon_status both_levels(void *user) {
  fatten_case *c = user;
  c->report = (kaon_fatten_report)KAON_FATTEN_REPORT_INIT;
  return kaon_fatten(c->thin, &c->hisq, c->fat, c->naik, &c->report);
}

static kaon_status open_fields(fatten_case *c, kaon_precision precision) {
  kaon_gauge **const fields[] = {&c->thin, &c->fat, &c->naik};
  kaon_status status = KAON_OK;
  for (int i = 0; i < 3 && status == KAON_OK; i++)
    status = kaon_gauge_create(c->field.lattice, precision, KAON_RECONSTRUCT_18, fields[i]);
  if (status == KAON_OK) status = kaon_gauge_copy(c->thin, c->field.gauge);
  for (int i = 0; i < 2 && status == KAON_OK; i++)
    status = kaon_fatten_action_coefficients(&c->hisq, i, &c->level[i]);
  return status;
}

static void close_fields(fatten_case *c) {
  kaon_gauge_destroy(&c->thin);
  kaon_gauge_destroy(&c->fat);
  kaon_gauge_destroy(&c->naik);
}

static kaon_status time_levels(fatten_case *c, kaon_precision precision) {
  static const struct {
    const char *name;
    bench_work *work;
    double matrices; /* matrices moved a site */
    int levels;      /* number of levels whose flops count */
  } rows[] = {{"fatten-level-1", first_level, 100, 1},
              {"fatten-u3", back_to_u3, 8, 0},
              {"fatten-level-2", second_level, 120, 1},
              {"fatten-hisq", both_levels, 228, 2}};
  const double matrix = 18 * bench_size(precision);
  kaon_status status = open_fields(c, precision);
  for (size_t i = 0; i < sizeof rows / sizeof *rows && status == KAON_OK; i++) {
    bench_row row = {.name = rows[i].name,
                     .extents = c->field.extents,
                     .precision = precision,
                     .links = 18,
                     .columns = 1};
    kaon_lattice_part(c->field.lattice, NULL, NULL, row.grid);
    status = bench_time(c->b, rows[i].work, c, &row);
    if (status != KAON_OK) break;
    row.flops = rows[i].levels * c->report.level_flops * c->b->info.ranks;
    row.bytes = rows[i].matrices * matrix * (double)kaon_lattice_volume(c->field.lattice);
    row.resident = row.bytes;
    bench_add(c->b, &row);
    status = bench_save(c->b);
  }
  close_fields(c);
  return status;
}

static int time_lattice(bench *b, const int extents[4]) {
  field_spec weak;
  fatten_case c = {.b = b, .hisq = KAON_FATTEN_OPTIONS_INIT};
  c.hisq.action = KAON_FATTEN_HISQ;
  int code = field_parse("weak:0.3", &weak);
  if (code == EXIT_DONE) code = field_open(b->ctx, &weak, extents, KAON_ANTIPERIODIC, 0, &c.field);
  bench_stage(b);
  kaon_status status = KAON_OK;
  for (int p = KAON_DOUBLE; p <= KAON_SINGLE && code == EXIT_DONE && status == KAON_OK; p++)
    if (lattice_of(b)->precision >> p & 1) status = time_levels(&c, (kaon_precision)p);
  if (code == EXIT_DONE) code = cli_status(b->ctx, status, NULL);
  field_close(&c.field);
  return code;
}

static int measure(bench *b) {
  cli_lattices list = lattice_of(b)->lattices;
  int code = EXIT_DONE;
  if (!list.count) {
    list.count = 1;
    memcpy(list.extents, bench_on_host(b) ? default_lattice : device_lattice,
           sizeof default_lattice);
  }
  bench_header(b, "lattice");
  for (int i = 0; i < list.count && code == EXIT_DONE; i++) code = time_lattice(b, list.extents[i]);
  return code;
}

static int run(void *arguments) {
  return lattice_run(arguments, option_rows, measure);
}

const cli_command bench_fatten = {
    .name = "fatten",
    .summary = "Fat and long links of HISQ from thin ones, level by level.",
    .examples = "Example:\n  kaon bench fatten --lattice 16 16 16 16 --precision single",
    .options = option_rows,
    .arguments = sizeof(lattice_args),
    .run = run,
    .daily = "lattice precision samples calls json backend threads"};
