/* command_info.c - kaon info: what this program is and what it would run on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/cli/command/commands.h"
#include "interfaces/common/cache.h"
#include "interfaces/common/options/linear_options.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

typedef struct info_args {
  cli_common common;
  int grid[4], lattice[4];
  linear_args linear;
} info_args;

#define AT(member) offsetof(info_args, member)
#define LIN(member) offsetof(info_args, linear) + offsetof(linear_args, member)
static const cli_option table[] = {
    {CLI_GROUP, "Several ranks, under mpirun:", NULL, NULL, 0, 0, 0, NULL},
    {CLI_EXTENTS, "grid", "a b c d", NULL, AT(grid), 0, 0, CLI_GRID_TEXT},
    {CLI_EXTENTS, "lattice", "X Y Z T", NULL, AT(lattice), 0, 0,
     "show how ranks divide a lattice of these extents"},
    CLI_RANKS_OPTIONS,
    {CLI_GROUP, "A sparse matrix, instead of the machine:", NULL, NULL, 0, 0, 0, NULL},
    LINEAR_OPTIONS_MATRIX(LIN),
    {CLI_FLAG, "spectrum", NULL, NULL, LIN(spectrum), 0, 0,
     "estimate the eigenvalues of D^-1 A and the spectral radii that decide whether relaxation "
     "converges. The radii are those of B = 1 - D^-1 A and |B|."},
    {CLI_GROUP, NULL, NULL, NULL, 0, 0, 0, NULL}};

/* "yes", or why not: tried, not guessed. `why`: the sentence, or what the device is. */
static const char *backend_state(kaon_backend_kind kind, char *why, size_t room) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  kaon_context *ctx = NULL;
  if (!ranks_first()) return why[0] = '\0', ""; /* who says nothing need not try */
  options.backend = kind;
  kaon_status status = kaon_context_create(&options, &ctx);
  if (status == KAON_OK && kaon_context_query(ctx, &info) == KAON_OK)
    snprintf(why, room, "%s%s%s", info.device, info.details[0] ? ", " : "", info.details);
  else
    snprintf(why, room, "%s", kaon_last_error(NULL));
  kaon_context_destroy(&ctx);
  if (status == KAON_OK) return "yes";
  return status == KAON_ERR_NOT_BUILT ? "not built" : "built, no usable device";
}

static json_t *instruction_sets(void) {
  static const kaon_isa isas[] = {KAON_ISA_SCALAR, KAON_ISA_X86_64, KAON_ISA_AVX2, KAON_ISA_AVX512};
  json_t *list = json_array();
  for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
    kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    kaon_context_info info = KAON_CONTEXT_INFO_INIT;
    kaon_context *ctx = NULL;
    options.backend = KAON_BACKEND_CPU;
    options.isa = isas[i];
    if (kaon_context_create(&options, &ctx) == KAON_OK && kaon_context_query(ctx, &info) == KAON_OK)
      json_array_append_new(list, json_string(info.isa));
    kaon_context_destroy(&ctx);
  }
  return list;
}

static int has_gnuplot(void) {
  char name[4096];
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t length = strcspn(path, ":");
    snprintf(name, sizeof name, "%.*s/gnuplot", (int)length, path);
    if (access(name, X_OK) == 0) return 1;
    path += length + (path[length] == ':');
  }
  return 0;
}

static double cache_level(int name) {
  long bytes = sysconf(name);
  return bytes > 0 ? (double)bytes : 0;
}

/* What each rank computes on, one text a rank. */
static kaon_status devices(kaon_context *ctx, const kaon_context_info *info, json_t *list) {
  char mine[RANKS_TEXT], host[64] = "";
  char(*all)[RANKS_TEXT] = calloc((size_t)info->ranks, sizeof *all);
  gethostname(host, sizeof host - 1);
  snprintf(mine, sizeof mine, "%s, its rank %d: %s%s%s", host, info->local_rank, info->device,
           info->details[0] ? ", " : "", info->details);
  kaon_status status = kaon_context_agree(ctx, all ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK) status = ranks_texts(mine, all);
  for (int r = 0; r < info->ranks && status == KAON_OK; r++)
    json_array_append_new(list, report_string(all[r]));
  free(all);
  return status;
}

/* The part of a rank, by the lattice itself. */
static kaon_status divide(const info_args *a, kaon_context *ctx, json_t *report) {
  kaon_lattice *lattice = NULL;
  if (!a->lattice[0]) return KAON_OK;
  const kaon_status status = kaon_lattice_create(ctx, a->lattice, KAON_PERIODIC, &lattice);
  if (status != KAON_OK) return status;
  json_object_set_new(report, "lattice", report_ints(a->lattice, 4));
  report_part(report, lattice);
  kaon_lattice_destroy(&lattice);
  return KAON_OK;
}

static int describe_ranks(const info_args *a, kaon_context *ctx, json_t *report) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  char overlap[32];
  json_t *list = json_array();
  kaon_status status = kaon_context_query(ctx, &info);
  json_object_set_new(report, "devices", list);
  json_object_set_new(report, "grid", a->grid[0] ? report_ints(a->grid, 4) : json_null());
  const int fused = a->common.overlap == KAON_OVERLAP_FUSED; /* hosts have no such hop */
  const int on_host = status == KAON_OK && strcmp(info.backend, "cpu") == 0;
  json_object_set_new(
      report, "overlap",
      json_string(cli_choice(CLI_OVERLAPS,
                             on_host && fused ? KAON_OVERLAP_STAGED : a->common.overlap, overlap)));
  if (status == KAON_OK) status = devices(ctx, &info, list);
  if (status == KAON_OK) status = divide(a, ctx, report);
  return cli_status(ctx, status, NULL);
}

static const char *text_of(const json_t *r, const char *key) {
  const char *text = json_string_value(json_object_get(r, key));
  return text ? text : "";
}

static void print_extents(const cli_common *common, const char *before, const json_t *list) {
  cli_print(common, "%s", before);
  for (size_t i = 0; i < json_array_size(list); i++)
    cli_print(common, "%s%lld", i ? "x" : "",
              (long long)json_integer_value(json_array_get(list, i)));
}

static void print_ranks(const cli_common *common, const json_t *r) {
  const json_t *grid = json_object_get(r, "grid"), *part = json_object_get(r, "local_lattice");
  const int ranks = (int)json_integer_value(json_object_get(r, "ranks"));
  const char *library = kaon_ranks_library();
  json_t *device;
  size_t i;
  if (ranks == 1 && library[0])
    cli_print(common, "ranks      one; start several with mpirun (%s)\n", library);
  else if (ranks == 1)
    cli_print(common, "ranks      one: no MPI in this build\n");
  else
    cli_print(common, "ranks      %d, by %s\n", ranks, library);
  if (json_is_null(grid))
    cli_print(common, "grid       chosen for each lattice, with small faces\n");
  else
    print_extents(common, "grid       ", grid);
  if (part) print_extents(common, ", each rank with ", part);
  if (!json_is_null(grid)) cli_print(common, "\n");
  if (*text_of(r, "transport"))
    cli_print(common, "transport  %s; overlap %s\n", text_of(r, "transport"),
              text_of(r, "overlap"));
  json_array_foreach(json_object_get(r, "devices"), i, device) {
    if (ranks > 1) cli_print(common, "rank %-5d %s\n", (int)i, json_string_value(device));
  }
}

static void print(const cli_common *common, const json_t *r) {
  const char *separator = "";
  char text[3][32];
  size_t i;
  json_t *isa;
  cli_print(common, "kaon %s, commit %s\n", kaon_version(), kaon_commit());
  cli_print(common, "backends   cpu: yes, cuda: %s\n",
            json_string_value(json_object_get(json_object_get(r, "backends"), "cuda")));
  if (strcmp(json_string_value(json_object_get(json_object_get(r, "backends"), "cuda")),
             "not built") != 0)
    cli_print(common, "cuda       %s\n", json_string_value(json_object_get(r, "cuda")));
  cli_print(common, "device     %s (%s backend)\n", json_string_value(json_object_get(r, "device")),
            json_string_value(json_object_get(r, "backend")));
  cli_print(common, "CPU sets   ");
  json_array_foreach(json_object_get(r, "isas"), i, isa) {
    cli_print(common, "%s%s", separator, json_string_value(isa));
    separator = ", ";
  }
  cli_print(common, "; in use: %s\n", json_string_value(json_object_get(r, "isa")));
  cli_print(common, "threads    %d\n", (int)json_integer_value(json_object_get(r, "threads")));
  cli_print(common, "caches     L1 %s, L2 %s, L3 %s\n",
            cli_bytes(cache_level(_SC_LEVEL1_DCACHE_SIZE), text[0]),
            cli_bytes(cache_level(_SC_LEVEL2_CACHE_SIZE), text[1]),
            cli_bytes((double)cache_bytes(), text[2]));
  print_ranks(common, r);
  cli_print(common, "files      NERSC, ILDG, SciDAC, MILC v5, openQCD; DDalphaAMG (read only)\n");
  cli_print(common, "plots      by gnuplot, which was %s\n", has_gnuplot() ? "found" : "not found");
}

/* Its rows, and how they would be stored. */
static int describe_matrix(info_args *args, kaon_context *ctx) {
  kaon_matrix_operator_options options = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  linear l;
  args->linear.sloppy = args->linear.method = -1;
  relax_defaults(&args->linear);
  args->linear.tol = 1e-8;
  args->linear.max_iter = 1;
  options.format = (kaon_matrix_format)args->linear.format;
  int code = linear_check(&args->linear, &l);
  if (code == EXIT_DONE) code = linear_matrix(ctx, &l);
  if (code == EXIT_DONE)
    code = cli_status(ctx, kaon_matrix_operator(l.matrix, &options, &l.A), "--format");
  if (code == EXIT_DONE) {
    json_t *report = report_new(ctx, "info");
    linear_print(&args->common, &l);
    json_object_set_new(report, "matrix", linear_describe(&l));
    json_object_set_new(report, "stored", json_string(kaon_matrix_operator_format(l.A)));
    if (args->linear.spectrum && l.info.global_rows == 0) {
      code = cli_wrong("--spectrum: --matrix %s has no rows, and so no spectrum; leave it out",
                       args->linear.matrix);
    } else if (args->linear.spectrum) {
      l.spectrum = (kaon_spectrum)KAON_SPECTRUM_INIT;
      code = cli_status(ctx, kaon_spectrum_estimate(l.A, 0, &l.spectrum), "--spectrum");
      if (code == EXIT_DONE) spectrum_print(&args->common, &l.spectrum);
      if (code == EXIT_DONE)
        json_object_set_new(report, "spectrum", spectrum_describe(&l.spectrum));
    }
    if (code == EXIT_DONE) code = report_write(args->common.report, report);
    json_decref(report);
  }
  linear_close(&l);
  return code;
}

static int run(void *arguments) {
  static const char *const of_matrices[] = {"format", "ordering", "partition", "window",
                                            "spectrum"};
  static const char *const of_lattices[] = {"lattice", "grid"};
  info_args *args = arguments;
  const cli_path paths[] = {{"--matrix", args->linear.matrix},
                            {"--tuning", args->common.tuning},
                            {"--report", args->common.report}};
  kaon_context *ctx = NULL;
  int code = cli_distinct(paths, 3);
  if (code == EXIT_DONE && !args->linear.matrix)
    for (size_t i = 0; i < sizeof of_matrices / sizeof *of_matrices; i++)
      if (cli_option_given(&args->common, of_matrices[i]))
        return cli_wrong("--%s is for --matrix, which is missing; leave it out", of_matrices[i]);
  for (size_t i = 0; i < sizeof of_lattices / sizeof *of_lattices && code == EXIT_DONE; i++)
    if (args->linear.matrix && cli_option_given(&args->common, of_lattices[i]))
      return cli_wrong("--%s is for lattices, but --matrix is given; leave it out", of_lattices[i]);
  if (code == EXIT_DONE) code = ranks_context(&args->common, args->grid, &ctx);
  if (code != EXIT_DONE) return code;
  if (args->linear.matrix) {
    code = describe_matrix(args, ctx);
    kaon_context_destroy(&ctx);
    return code;
  }
  json_t *report = report_new(ctx, "info");
  char cpu[512], cuda[512];
  const char *cpu_state = backend_state(KAON_BACKEND_CPU, cpu, sizeof cpu);
  const char *cuda_state = backend_state(KAON_BACKEND_CUDA, cuda, sizeof cuda);
  json_object_set_new(report, "backends",
                      json_pack("{s:s s:s}", "cpu", cpu_state, "cuda", cuda_state));
  json_object_set_new(report, "cuda", json_string(cuda));
  json_object_set_new(report, "communicator", json_string(kaon_ranks_library()));
  json_object_set_new(report, "isas", instruction_sets());
  json_object_set_new(report, "cache", report_real((double)cache_bytes()));
  json_object_set_new(report, "gnuplot", json_boolean(has_gnuplot()));
  code = describe_ranks(args, ctx, report);
  if (code == EXIT_DONE) print(&args->common, report);
  if (code == EXIT_DONE) code = report_write(args->common.report, report);
  json_decref(report);
  kaon_context_destroy(&ctx);
  return code;
}

const cli_command command_info = {
    .name = "info",
    .summary = "Show the version, the backends and the machine; or a matrix.",
    .examples =
        "Examples:\n  kaon info\n  kaon info --backend cpu --report info.json\n"
        "  mpirun -np 4 kaon info --lattice 32 32 32 64\n"
        "  kaon info --matrix A.mtx",
    .options = table,
    .arguments = sizeof(info_args),
    .run = run,
    .daily = "backend threads lattice grid matrix format ordering spectrum report"};
