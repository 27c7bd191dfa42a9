/* info.c - kaon info: what this program is and what it would run on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/machine.h"
#include "cli.h"
#include "report.h"

typedef struct info_args {
  cli_common common;
} info_args;

/* "yes", or why not: tried, not guessed. `why`: the sentence, or what the device is. */
static const char *backend_state(kaon_backend_kind kind, char *why, size_t room) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context_info info;
  kaon_context *ctx = NULL;
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
    kaon_context_info info;
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

static double cache_bytes(int name) {
  long bytes = sysconf(name);
  return bytes > 0 ? (double)bytes : 0;
}

static void print(const cli_common *common, const json_t *r) {
  const char *separator = "";
  char text[3][32];
  size_t i;
  json_t *isa;
  cli_say(common, "kaon %s, commit %s\n", kaon_version(), kaon_commit());
  cli_say(common, "backends   cpu: yes, cuda: %s\n",
          json_string_value(json_object_get(json_object_get(r, "backends"), "cuda")));
  if (strcmp(json_string_value(json_object_get(json_object_get(r, "backends"), "cuda")),
             "not built") != 0)
    cli_say(common, "cuda       %s\n", json_string_value(json_object_get(r, "cuda")));
  cli_say(common, "device     %s (%s backend)\n", json_string_value(json_object_get(r, "device")),
          json_string_value(json_object_get(r, "backend")));
  cli_say(common, "sets       ");
  json_array_foreach(json_object_get(r, "isas"), i, isa) {
    cli_say(common, "%s%s", separator, json_string_value(isa));
    separator = ", ";
  }
  cli_say(common, "; in use: %s\n", json_string_value(json_object_get(r, "isa")));
  cli_say(common, "threads    %d\n", (int)json_integer_value(json_object_get(r, "threads")));
  cli_say(common, "caches     L1 %s, L2 %s, L3 %s\n",
          cli_bytes(cache_bytes(_SC_LEVEL1_DCACHE_SIZE), text[0]),
          cli_bytes(cache_bytes(_SC_LEVEL2_CACHE_SIZE), text[1]),
          cli_bytes((double)machine_cache(), text[2]));
  const char *library = kaon_ranks_library();
  cli_say(common, "ranks      %s%s\n", library[0] ? "several, by " : "one: no MPI in this build",
          library);
  cli_say(common, "files      NERSC, ILDG, SciDAC, MILC v5, openQCD; DDalphaAMG (read only)\n");
  cli_say(common, "plots      gnuplot %s\n", has_gnuplot() ? "found" : "not found");
}

static int run(void *arguments) {
  const info_args *args = arguments;
  const cli_path paths[] = {{"--tuning", args->common.tuning}, {"--report", args->common.report}};
  kaon_context *ctx = NULL;
  int code = cli_distinct(paths, 2);
  if (code == EXIT_DONE) code = cli_context(&args->common, &ctx);
  if (code != EXIT_DONE) return code;
  json_t *report = report_new(ctx, "info");
  char cpu[512], cuda[512];
  const char *cpu_state = backend_state(KAON_BACKEND_CPU, cpu, sizeof cpu);
  const char *cuda_state = backend_state(KAON_BACKEND_CUDA, cuda, sizeof cuda);
  json_object_set_new(report, "backends",
                      json_pack("{s:s s:s}", "cpu", cpu_state, "cuda", cuda_state));
  json_object_set_new(report, "cuda", json_string(cuda));
  json_object_set_new(report, "communicator", json_string(kaon_ranks_library()));
  json_object_set_new(report, "isas", instruction_sets());
  json_object_set_new(report, "cache", report_real((double)machine_cache()));
  json_object_set_new(report, "gnuplot", json_boolean(has_gnuplot()));
  print(&args->common, report);
  code = report_write(args->common.report, report);
  json_decref(report);
  kaon_context_destroy(&ctx);
  return code;
}

const cli_command command_info = {
    "info", "Show the version, the backends and the machine.",
    NULL,   "Example:\n  kaon info\n  kaon info --backend cpu --report info.json",
    NULL,   sizeof(info_args),
    run,    NULL,
    0};
