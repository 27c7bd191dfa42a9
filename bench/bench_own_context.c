/* bench_own_context.c - rows that are measured in contexts of their own. Contract: bench_matrix.h.
 */
#include <string.h>

#include "bench/bench_matrix.h"

static kaon_status create(const cli_common *common, kaon_context **ctx) {
  kaon_lab_options lab;
  const kaon_context_options options = cli_context_options(common, &lab);
  return ranks_launched() ? kaon_context_create_ranks(&options, NULL, NULL, ctx)
                          : kaon_context_create(&options, ctx);
}

int bench_own_context_open(bench *b, const cli_common *common, bench_own_context *own) {
  *own = (bench_own_context){.bench = *b, .args = *matrix_of(b)};
  bench *o = &own->bench;
  own->args.bench.common = *common;
  o->args = &own->args.bench;
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
