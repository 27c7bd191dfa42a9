/* bench_own_context.c - rows measured in contexts of their own, beside the run's; rows of earlier runs.
 * Contract: bench.h. */
#include <string.h>

#include "bench/bench.h"

static kaon_status create(const cli_common *common, kaon_context **ctx) {
  kaon_lab_options lab;
  const kaon_context_options options = cli_context_options(common, &lab);
  return ranks_launched() ? kaon_context_create_ranks(&options, NULL, NULL, ctx)
                          : kaon_context_create(&options, ctx);
}

int bench_own_context_open(bench *b, const cli_common *common, bench_own_context *own) {
  *own = (bench_own_context){.bench = *b, .args = *b->args};
  bench *o = &own->bench;
  own->args.common = *common;
  o->args = &own->args;
  o->ctx = NULL;
  o->numbers = NULL;
  o->numbers_count = 0;
  o->processor = NULL;
  int code = cli_status(NULL, create(common, &o->ctx), NULL);
  o->info = (kaon_context_info)KAON_CONTEXT_INFO_INIT;
  if (code == EXIT_DONE) code = cli_status(o->ctx, kaon_context_query(o->ctx, &o->info), NULL);
  if (code != EXIT_DONE) return code;
  if (strcmp(o->info.backend, b->info.backend) == 0 && o->info.threads == b->info.threads) {
    if (!bench_on_host(o)) o->processor = b->processor;
    return EXIT_DONE;
  }
  own->machine_is_own = 1;
  memset(&o->machine, 0, sizeof o->machine);
  return bench_open_machine(o);
}

void bench_own_context_close(bench *b, bench_own_context *own) {
  bench *o = &own->bench;
  if (o->failed) b->failed = o->failed;
  if (o->unconverged) b->unconverged = 1;
  if (own->machine_is_own) machine_close(&o->machine);
  kaon_context_destroy(&o->ctx);
}

void bench_complete_rows(json_t *rows) {
  json_t *first = json_object(), *row;
  size_t k;
  json_array_foreach(rows, k, row) {
    const char *bench = json_string_value(json_object_get(row, "bench"));
    if (!bench || json_object_get(row, "command")) continue;
    json_t *base = json_object_get(first, bench);
    if (base) json_object_update_missing(row, base);
    else json_object_set(first, bench, row);
  }
  json_decref(first);
}

int bench_merge_rows(bench *b, const char *name) {
  const cli_texts *files = &b->args->joined;
  for (int i = 0; i < files->count; i++) {
    json_error_t error = {.text = ""};
    json_t *rows = json_load_file(files->text[i], 0, &error), *row;
    size_t k, before = json_array_size(b->rows);
    bench_complete_rows(rows);
    json_array_foreach(rows, k, row) {
      const char *of = json_string_value(json_object_get(row, "bench"));
      if (of && strcmp(of, name) == 0) json_array_append(b->rows, row);
    }
    json_decref(rows);
    if (json_array_size(b->rows) == before)
      return cli_wrong("--join %s: %s%sit is no file of kaon bench %s --json", files->text[i],
                       error.text, *error.text ? "; " : "", name);
  }
  return EXIT_DONE;
}
