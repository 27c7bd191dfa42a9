/* command_tune.c - kaon tune: measures launch choices (kaon/context.h) and writes those that are
 * faster than the built-in rule. A choice must keep every bit of the result and be faster by more
 * than the noise. A file is used only where --tuning names it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cli/command/commands.h"
#include "interfaces/common/problem/field.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"
#include "interfaces/common/tuning_file.h"

#define OWN(member) offsetof(tune_args, member)
static const cli_option options[] = {
    {CLI_GROUP, "What is measured:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_LATTICES, "lattice", "X Y Z T", NULL, OWN(lattices), 0, 0,
     "lattice to measure, repeatable. Needed. A choice is used for lattices up to twice as large "
     "or "
     "small."},
    {CLI_SET, "precision", "double|single|half", "double,single,half", OWN(precision), 0, 0,
     "precisions to measure"},
    {CLI_SET, "reconstruct", "18|12|8", "18,12,8", OWN(reconstruct), 0, 0,
     "reals stored of each link, to measure"},
    {CLI_COUNTS, "columns", "N,...", "1,12", OWN(columns), 1, 256,
     "right-hand sides at once, to measure"},
    {CLI_INT, "samples", "N", "8", OWN(samples), 1, 1000,
     "samples of each choice, whose median counts"},
    {CLI_FILE, "output", "FILE.json", NULL, OWN(output), 0, 0,
     "the file to write, for --tuning. Needed."},
    {CLI_EXTENTS, "grid", "a b c d", NULL, OWN(grid), 0, 0, CLI_GRID_TEXT},
    CLI_RANKS_OPTIONS,
    CLI_GROUP_ROW("Options of multigrid, in place of launch choices:"),
    {CLI_TEXT, "gauge", "FILE|unit|random:SEED|weak:EPS[:SEED]", NULL, OWN(gauge), 0, 0,
     "solve with --precond multigrid on these links, vary its options, and print the fastest. The "
     "largest of --columns is how many right-hand sides share a set-up."},
    {CLI_REAL, "kappa", "K", NULL, OWN(kappa), 1e-6, 10, "hopping parameter. Needed with --gauge."},
    {CLI_TEXT, "csw", "C|C_S,C_T", NULL, OWN(csw), 0, 0, "coefficient of a clover term"},
    {CLI_CHOICE, "boundary-t", "antiperiodic|periodic", "antiperiodic", OWN(boundary_t), 0, 0,
     "boundary condition of the fermions in t"},
    {CLI_REAL, "tol", "EPS", "1e-10", OWN(tol), 1e-16, 1, "residual of these solves"},
    {CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

enum { CANDIDATES_MAX = 32 };
static const double sample_seconds = 0.02;
/* Least gain of a choice that is written. */
static const double gain = 0.03;

typedef struct tune {
  const tune_args *args;
  kaon_context *ctx;
  kaon_context_info info;
  field field;
  kaon_operator *M;
  kaon_vector *in, *out, *begin, *expected;
  json_t *file;
  kaon_tuning_entry key; /* of the case that is being measured */
  int kept;
} tune;

typedef struct candidate {
  kaon_tuning_entry entry;
  int calls;
  double *sample, seconds; /* the median */
  int same;                /* the result has the rule's bits */
  int faster;              /* than the rule, by more than noise */
} candidate;

/* One call of what is tuned: a hop; or copy and axpy. */
static kaon_status call(tune *t) {
  if (t->key.kernel == KAON_TUNED_HOP)
    return kaon_dirac_hop(t->M, KAON_EVEN, KAON_PLAIN, t->in, t->out);
  kaon_status status = kaon_vector_copy(t->out, t->begin);
  return status == KAON_OK ? kaon_vector_axpy(0.5, 0.25, t->in, t->out) : status;
}

static kaon_status choose(const tune *t, const kaon_tuning_entry *e) {
  const kaon_tuning tuning = {.version = kaon_version(),
                              .backend = t->info.backend,
                              .device = t->info.device,
                              .isa = t->info.isa,
                              .count = 1,
                              .entries = e};
  return kaon_context_set_tuning(t->ctx, &tuning);
}

static void add(candidate *list, int *count, kaon_tuning_entry e) {
  if (*count < CANDIDATES_MAX) list[(*count)++] = (candidate){.entry = e};
}

/* The rule first. */
static int candidates(const tune *t, candidate *list) {
  static const int threads[] = {32, 64, 128}; /* what the hop is compiled for (dslash/cuda) */
  static const int blocks[] = {256, 512, 2048, 4096, 16384};
  const int on_cpu = strcmp(t->info.backend, "cpu") == 0;
  const int hop = t->key.kernel == KAON_TUNED_HOP;
  int count = 0;
  kaon_tuning_entry e = t->key;
  add(list, &count, e);
  for (int s = KAON_OFF; on_cpu && s <= KAON_ON; s++)
    for (int p = hop ? KAON_OFF : KAON_BY_RULE; p <= (hop ? KAON_ON : KAON_BY_RULE); p++) {
      e.stream = (kaon_choice)s;
      e.prefetch = (kaon_choice)p;
      for (int level = 1; level <= (p == KAON_ON ? 2 : 1); level++) {
        e.level = p == KAON_ON ? level : 0; /* off, or no choice: there is none */
        add(list, &count, e);
      }
    }
  for (int i = 0; !on_cpu && hop && i < 3; i++)
    for (int g = 0; g <= (e.columns > 1); g++) {
      e.threads = threads[i];
      e.group = g; /* as many columns as the kernel is made for, or one */
      add(list, &count, e);
    }
  e = t->key;
  for (int g = 4; !on_cpu && hop && g <= 16 && g / 2 < e.columns; g *= 2) {
    e.group = g; /* one after another */
    add(list, &count, e);
  }
  for (int i = 0; !on_cpu && !hop && i < 5; i++) {
    e.blocks = blocks[i];
    add(list, &count, e);
  }
  return count;
}

/* The slowest rank's seconds, so that all ranks choose alike. */
static kaon_status time_calls(tune *t, int calls, double *seconds) {
  kaon_status status = kaon_context_synchronise(t->ctx);
  double took[2] = {0, 0};
  if (status == KAON_OK) status = ranks_most(took, 1); /* begin together */
  const double begin = cli_now();
  for (int i = 0; i < calls && status == KAON_OK; i++) status = call(t);
  if (status == KAON_OK) status = kaon_context_synchronise(t->ctx);
  took[0] = (cli_now() - begin) / calls;
  took[1] = signals_interrupted();
  if (status == KAON_OK) status = ranks_most(took, 2);
  *seconds = took[0];
  return status == KAON_OK && took[1] > 0 ? KAON_ERR_CANCELLED : status;
}

/* out - expected = 0 in every number? */
static kaon_status compare(tune *t, int *same) {
  double norm2[256];
  kaon_status status = kaon_vector_axpy(-1, 0, t->expected, t->out);
  if (status == KAON_OK) status = kaon_vector_norm2(t->out, norm2);
  *same = 1;
  for (int k = 0; k < t->key.columns; k++) *same &= norm2[k] == 0;
  return status;
}

/* First use of each candidate: its result, and how many calls make a sample. */
static kaon_status try_candidate(tune *t, candidate *c, int first) {
  double seconds = 0;
  kaon_status status = choose(t, &c->entry);
  if (status == KAON_OK) status = call(t);
  if (status == KAON_OK && first) status = kaon_vector_copy(t->expected, t->out);
  if (status == KAON_OK) status = compare(t, &c->same);
  if (status == KAON_OK) status = time_calls(t, 2, &seconds);
  const double calls = sample_seconds / (seconds > 0 ? seconds : 1e-9);
  c->calls = calls < 2 ? 2 : calls > 1000 ? 1000 : (int)calls;
  return status;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* By the median of the ratios to the rule's turns, and in three turns of four. */
static int is_faster(const candidate *c, const candidate *rule, int samples, double *room) {
  for (int s = 0; s < samples; s++) room[s] = c->sample[s] / rule->sample[s];
  qsort(room, (size_t)samples, sizeof *room, by_size);
  return room[samples / 2] < 1 - gain && room[3 * samples / 4] < 1;
}

/* Candidates take turns, so that other loads on the machine meet all of them. */
static kaon_status measure(tune *t, candidate *list, int count) {
  const int samples = t->args->samples;
  double *room = calloc((size_t)samples, sizeof *room);
  kaon_status status = room ? KAON_OK : KAON_ERR_MEMORY;
  for (int i = 0; i < count && status == KAON_OK; i++) {
    list[i].sample = calloc((size_t)samples, sizeof *list[i].sample);
    if (!list[i].sample) status = KAON_ERR_MEMORY;
  }
  status = kaon_context_agree(t->ctx, status);
  for (int i = 0; i < count && status == KAON_OK; i++) status = try_candidate(t, &list[i], i == 0);
  for (int s = 0; s < samples && status == KAON_OK; s++)
    for (int i = 0; i < count && status == KAON_OK; i++) {
      status = choose(t, &list[i].entry);
      if (status == KAON_OK) status = time_calls(t, list[i].calls, &list[i].sample[s]);
    }
  for (int i = 1; i < count && status == KAON_OK; i++)
    list[i].faster = is_faster(&list[i], &list[0], samples, room);
  for (int i = 0; i < count && status == KAON_OK; i++) {
    qsort(list[i].sample, (size_t)samples, sizeof *list[i].sample, by_size);
    list[i].seconds = list[i].sample[samples / 2];
  }
  for (int i = 0; i < count; i++) free(list[i].sample);
  free(room);
  const kaon_status back = kaon_context_set_tuning(t->ctx, NULL);
  return status == KAON_OK ? back : status;
}

static kaon_status tune_case(tune *t) {
  static const char *const kernels[] = {"hop", "vector"};
  static const char *const precisions[] = {"double", "single", "half"};
  candidate list[CANDIDATES_MAX];
  char words[128];
  const int count = candidates(t, list);
  const kaon_status status = measure(t, list, count);
  if (status != KAON_OK) return status;
  int best = 0, other_bits = 0;
  for (int i = 1; i < count; i++) {
    other_bits += !list[i].same;
    if (!list[i].same || !list[i].faster) continue;
    if (best == 0 || list[i].seconds < list[best].seconds) best = i;
  }
  t->kept += best != 0;
  int part[4]; /* choices go by what a rank has */
  kaon_lattice_part(t->field.lattice, part, NULL, NULL);
  tuning_add(t->file, &list[best].entry, part, list[best].seconds, list[0].seconds);
  cli_print(&t->args->common, "%-6s %-6s %5d %7d  %11.4e %11.4e %6.2f  %s", kernels[t->key.kernel],
            precisions[t->key.precision], t->key.reconstruct, t->key.columns, list[0].seconds,
            list[best].seconds, list[0].seconds / list[best].seconds,
            tuning_words(&list[best].entry, words));
  cli_print(&t->args->common, other_bits ? " (%d left out: other bits)\n" : "\n", other_bits);
  return KAON_OK;
}

/* Numbers of order 1: timings of zeros would flatter. */
static kaon_status fill(tune *t, kaon_vector *v) {
  const size_t n = 24 * (size_t)kaon_lattice_volume(t->field.lattice) / (size_t)t->info.ranks;
  double *psi = malloc(n * sizeof *psi);
  kaon_status status = kaon_context_agree(t->ctx, psi ? KAON_OK : KAON_ERR_MEMORY);
  for (size_t i = 0; psi && i < n; i++) /* Weyl's sequence, of the golden ratio */
    psi[i] = 2 * ((double)(i * UINT64_C(0x9e3779b97f4a7c15) >> 11) * 0x1p-53) - 1;
  for (int k = 0; k < t->key.columns && status == KAON_OK; k++)
    status = kaon_vector_import(v, k, psi, KAON_BASIS_UKQCD);
  free(psi);
  return status;
}

static kaon_status make_vectors(tune *t) {
  kaon_lattice *lattice = t->field.lattice;
  const kaon_space *even = kaon_lattice_spinors(lattice, KAON_EVEN);
  const kaon_space *from =
      t->key.kernel == KAON_TUNED_HOP ? kaon_lattice_spinors(lattice, KAON_ODD) : even;
  kaon_vector **made[] = {&t->in, &t->out, &t->expected, &t->begin};
  kaon_status status = KAON_OK;
  for (int i = 0; i < 4 && status == KAON_OK; i++)
    status =
        kaon_vector_create(t->ctx, i == 0 ? from : even, t->key.precision, t->key.columns, made[i]);
  if (status == KAON_OK) status = fill(t, t->in);
  if (status == KAON_OK) status = fill(t, t->begin);
  return status;
}

static kaon_status run_case(tune *t, kaon_tuned kernel, int precision, int reconstruct,
                            int columns) {
  t->key = (kaon_tuning_entry){.kernel = kernel,
                               .precision = (kaon_precision)precision,
                               .reconstruct = reconstruct,
                               .columns = columns,
                               .sites = kaon_lattice_volume(t->field.lattice) / t->info.ranks};
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  dirac.kappa = 0.12;
  dirac.precision = t->key.precision;
  dirac.reconstruct = (kaon_reconstruct)reconstruct;
  kaon_status status =
      kernel == KAON_TUNED_HOP ? kaon_dirac_create(t->field.gauge, &dirac, &t->M) : KAON_OK;
  if (status == KAON_OK) status = make_vectors(t);
  if (status == KAON_OK) status = tune_case(t);
  kaon_vector_destroy(&t->in);
  kaon_vector_destroy(&t->out);
  kaon_vector_destroy(&t->begin);
  kaon_vector_destroy(&t->expected);
  kaon_operator_destroy(&t->M);
  return status;
}

static int tune_lattice(tune *t, const int extents[4]) {
  static const int reals[] = {18, 12, 8};
  const tune_args *a = t->args;
  field_spec weak;
  kaon_status status = KAON_OK;
  int code = field_parse("weak:0.3", &weak);
  if (code == EXIT_DONE) code = field_open(t->ctx, &weak, extents, KAON_ANTIPERIODIC, 0, &t->field);
  if (code == EXIT_DONE)
    cli_print(&a->common, "%dx%dx%dx%d\n%-6s %-6s %5s %7s  %11s %11s %6s  %s\n", extents[0],
              extents[1], extents[2], extents[3], "kernel", "prec.", "links", "columns",
              "s by rule", "s chosen", "gain", "choice");
  signals_stage("measuring", "no tuning was written");
  for (int p = 0; p < 3 && code == EXIT_DONE; p++)
    for (int k = 0; k < a->columns.count && (a->precision >> p & 1); k++) {
      const int columns = a->columns.value[k];
      for (int r = 0; r < 3 && status == KAON_OK; r++)
        if (a->reconstruct >> r & 1) status = run_case(t, KAON_TUNED_HOP, p, reals[r], columns);
      if (status == KAON_OK) status = run_case(t, KAON_TUNED_VECTOR, p, 0, columns);
    }
  if (code == EXIT_DONE) code = cli_status(t->ctx, status, NULL);
  field_close(&t->field);
  return code;
}

/* Two entries for one case would be refused when the file is read. */
static int check(const tune_args *a) {
  static const char *const others[] = {"kappa", "csw", "boundary-t", "tol"};
  int code = EXIT_DONE;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (cli_option_given(&a->common, others[i]))
      return cli_wrong("--%s needs --gauge, for options of multigrid; leave it out", others[i]);
  if (!a->output) return cli_wrong("--output is missing: the file that --tuning takes afterwards");
  if (a->common.tuning)
    return cli_wrong(
        "--tuning has no effect on tune, which measures against the rule; leave it out");
  if (!a->lattices.count) return cli_wrong("--lattice is missing: the extents to tune for");
  for (int i = 0; i < a->lattices.count && code == EXIT_DONE; i++) {
    const int *e = a->lattices.extents[i];
    if (!ranks_launched()) code = cli_status(NULL, kaon_lattice_check(NULL, e), "--lattice");
    for (int k = 0; k < i && code == EXIT_DONE; k++) {
      const int *f = a->lattices.extents[k];
      if ((int64_t)e[0] * e[1] * e[2] * e[3] == (int64_t)f[0] * f[1] * f[2] * f[3])
        code = cli_wrong(
            "--lattice %dx%dx%dx%d has as many sites as %dx%dx%dx%d, and choices go "
            "by that number; give one of them",
            e[0], e[1], e[2], e[3], f[0], f[1], f[2], f[3]);
    }
  }
  for (int i = 0; i < a->columns.count; i++)
    for (int k = 0; k < i && code == EXIT_DONE; k++)
      if (a->columns.value[i] == a->columns.value[k])
        code = cli_wrong("--columns has %d twice", a->columns.value[i]);
  const cli_path paths[] = {{"--output", a->output}, {"--report", a->common.report}};
  return code == EXIT_DONE ? cli_distinct(paths, 2) : code;
}

static int run(void *arguments) {
  const tune_args *a = arguments;
  tune t = {.args = a};
  if (a->gauge) return tune_multigrid(a);
  int code = check(a);
  if (code != EXIT_DONE) return code;
  signals_stage("measuring", "no tuning was written");
  code = ranks_context(&a->common, a->grid, &t.ctx);
  if (code == EXIT_DONE) code = ranks_check(&a->common, t.ctx);
  if (code != EXIT_DONE) return code;
  t.info = (kaon_context_info)KAON_CONTEXT_INFO_INIT;
  code = cli_status(t.ctx, kaon_context_query(t.ctx, &t.info), NULL);
  t.file = tuning_new(t.ctx);
  cli_print(&a->common, "kaon %s (%s), %s, %s, %d threads\n", kaon_version(), kaon_commit(),
            t.info.device, *t.info.isa ? t.info.isa : t.info.backend, t.info.threads);
  for (int i = 0; i < a->lattices.count && code == EXIT_DONE; i++)
    code = tune_lattice(&t, a->lattices.extents[i]);
  if (code == EXIT_DONE) code = report_write(a->output, t.file);
  if (code == EXIT_DONE)
    cli_print(&a->common, "%s: %d cases, %d with a choice faster than the built-in rule\n",
              a->output, (int)json_array_size(json_object_get(t.file, "entries")), t.kept);
  if (code == EXIT_DONE && a->common.report) {
    json_t *report = report_new(t.ctx, "tune");
    json_object_set(report, "tuning", t.file);
    code = report_write(a->common.report, report);
    json_decref(report);
  }
  json_decref(t.file);
  kaon_context_destroy(&t.ctx);
  return code;
}

const cli_command command_tune = {
    .name = "tune",
    .summary = "Measure launch choices, for --tuning; or options of multigrid.",
    .examples =
        "Example:\n"
        "  kaon tune --lattice 8 8 8 16 --precision single --output tuning.json\n"
        "  kaon invert --tuning tuning.json --gauge config.lime --kappa 0.130 \\\n"
        "      --csw 1.769\n"
        "  kaon tune --gauge config.lime --kappa 0.1352 --csw 1.769 --columns 12\n\n"
        "Choices never change the bits of a field; on a GPU they may change how sums are split, "
        "and so "
        "their last bits: the same file, the same bits. A file counts for the device, the "
        "instruction "
        "set and the version of kaon that it was measured with. Under mpirun all ranks measure the "
        "parts "
        "they have, and choices serve parts of that size, on one rank too.",
    .options = options,
    .arguments = sizeof(tune_args),
    .run = run,
    .daily =
        "lattice output precision reconstruct columns samples gauge kappa csw grid backend threads "
        "report"};
