/* tuning.c - a context's table of launch choices: checked when it is set, looked up at launches. */
#include "lib/core/tuning_internal.h"
#include "lib/core/entry.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernels[] = {"hop", "vector"};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

/* A choice: its range, and the kernels and the backend that have it. */
typedef struct choice_row {
  const char *name;
  size_t offset;
  unsigned kernels; /* bit i: kernel i has it */
  const char *backend;
  int max, power_of_two;
} choice_row;

#define HOP (1u << KAON_TUNED_HOP)
#define VECTOR (1u << KAON_TUNED_VECTOR)
#define ROW(member, kernels, backend, max, power) \
  { #member, offsetof(kaon_tuning_entry, member), kernels, backend, max, power }
static const choice_row choices[] = {
    ROW(prefetch, HOP, "cpu", KAON_ON, 0), ROW(stream, HOP | VECTOR, "cpu", KAON_ON, 0),
    ROW(level, HOP, "cpu", 2, 0),          ROW(threads, HOP, "cuda", 1024, 1),
    ROW(group, HOP, "cuda", 16, 0),        ROW(blocks, VECTOR, "cuda", 65535, 0),
};
#undef ROW
#undef HOP
#undef VECTOR

static kaon_status check_text(const kaon_context *ctx, const char *what, const char *theirs,
                              const char *ours) {
  if (theirs != NULL && strcmp(theirs, ours) == 0) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "tuning: it was measured with %s '%s', but this is '%s'; measure again with "
                   "kaon tune, or leave the tuning out",
                   what, theirs != NULL ? theirs : "", ours);
}

static kaon_status check_choice(const kaon_context *ctx, int number, const kaon_tuning_entry *e,
                                const choice_row *row) {
  int value;
  memcpy(&value, (const char *)e + row->offset, sizeof value); /* an int or a kaon_choice */
  if (value == 0) return KAON_OK;
  if (!(row->kernels >> e->kernel & 1))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "tuning: entry %d: kernel %s has no choice of %s",
                     number, kernels[e->kernel], row->name);
  if (strcmp(row->backend, ctx->backend->name) != 0)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "tuning: entry %d: %s is a choice of the %s backend, but this is %s", number,
                     row->name, row->backend, ctx->backend->name);
  if (value < 0 || value > row->max ||
      (row->power_of_two && (value < 32 || (value & (value - 1)) != 0)))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT, "tuning: entry %d: %s is %d; it must be %s up to %d",
                     number, row->name, value,
                     row->power_of_two ? "a power of two from 32" : "from 1", row->max);
  return KAON_OK;
}

static int same_case(const kaon_tuning_entry *a, const kaon_tuning_entry *b) {
  return a->kernel == b->kernel && a->precision == b->precision &&
         a->reconstruct == b->reconstruct && a->columns == b->columns && a->sites == b->sites;
}

static kaon_status check_entry(const kaon_context *ctx, int number, const kaon_tuning_entry *all) {
  const kaon_tuning_entry *e = &all[number];
  if ((int)e->kernel < 0 || (int)e->kernel >= KERNELS)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "tuning: entry %d: kernel number %d is not known; 0 (hop) and 1 (vector) are",
                     number, (int)e->kernel);
  const int links = e->reconstruct;
  if (e->kernel == KAON_TUNED_HOP ? links != 18 && links != 12 && links != 8 : links != 0)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "tuning: entry %d: %d reals a link; a hop has 18, 12 or 8, a vector 0", number,
                     links);
  if ((int)e->precision < KAON_DOUBLE || (int)e->precision > KAON_HALF || e->columns < 1 ||
      e->sites < 1)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "tuning: entry %d: precision %d, %d columns, %lld sites; the precision must "
                     "be 0 to 2, the others at least 1",
                     number, (int)e->precision, e->columns, (long long)e->sites);
  for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
    KAON_TRY(check_choice(ctx, number, e, &choices[i]));
  for (int i = 0; i < number; i++)
    if (same_case(&all[i], e))
      return kaon_fail(ctx, KAON_ERR_ARGUMENT, "tuning: entries %d and %d are for the same case", i,
                       number);
  return KAON_OK;
}

void kaon_tuning_release(kaon_context *ctx) {
  free(ctx->tuning);
  ctx->tuning = NULL;
  ctx->tuning_count = 0;
  ctx->tunings++;
}

kaon_status kaon_context_set_tuning(kaon_context *ctx, const kaon_tuning *tuning) {
  KAON_ENTER(ctx, ctx);
  if (tuning == NULL) {
    kaon_tuning_release(ctx);
    return KAON_OK;
  }
  if (tuning->count < 0 || (tuning->count > 0 && tuning->entries == NULL))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "tuning: %d entries are announced, but their address is NULL", tuning->count);
  KAON_TRY(check_text(ctx, "kaon", tuning->version, kaon_version()));
  KAON_TRY(check_text(ctx, "the backend", tuning->backend, ctx->backend->name));
  KAON_TRY(check_text(ctx, "the device", tuning->device, ctx->device));
  KAON_TRY(check_text(ctx, "the instruction set", tuning->isa, ctx->backend->isa));
  for (int i = 0; i < tuning->count; i++) KAON_TRY(check_entry(ctx, i, tuning->entries));
  const size_t bytes = (size_t)tuning->count * sizeof *tuning->entries;
  kaon_tuning_entry *copy = malloc(bytes + 1);
  if (copy == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "tuning: out of host memory for %d entries",
                     tuning->count);
  if (bytes > 0) memcpy(copy, tuning->entries, bytes);
  kaon_tuning_release(ctx);
  ctx->tuning = copy;
  ctx->tuning_count = tuning->count;
  return KAON_OK;
}

/* Ratio of the larger to the smaller value, at least 1. */
static double ratio(int64_t a, int64_t b) {
  return a > b ? (double)a / (double)b : (double)b / (double)a;
}

const kaon_tuning_entry *kaon_tuning_lookup(const kaon_context *ctx, kaon_tuned kernel,
                                            kaon_precision precision, int reconstruct, int columns,
                                            int64_t sites) {
  const kaon_tuning_entry wanted = {
      .kernel = kernel, .precision = precision, .reconstruct = reconstruct, .columns = columns};
  const kaon_tuning_entry *best = NULL;
  for (int i = 0; i < ctx->tuning_count; i++) {
    const kaon_tuning_entry *e = &ctx->tuning[i];
    kaon_tuning_entry here = wanted;
    here.sites = e->sites;
    if (!same_case(e, &here) || ratio(e->sites, sites) > 2) continue;
    if (best == NULL || ratio(e->sites, sites) < ratio(best->sites, sites)) best = e;
  }
  return best;
}

void kaon_tuning_apply(const kaon_context *ctx, kaon_tuned kernel, kaon_precision precision,
                       int reconstruct, int columns, int64_t sites, kaon_launch *launch) {
  const kaon_tuning_entry *e =
      kaon_tuning_lookup(ctx, kernel, precision, reconstruct, columns, sites);
  if (e == NULL) return;
  const int level = e->level != 0 ? e->level : ctx->prefetch_level;
  const int ahead = e->prefetch == KAON_BY_RULE ? launch->prefetch != 0 : e->prefetch == KAON_ON;
  launch->prefetch = ahead ? level : 0;
  if (e->stream != KAON_BY_RULE) launch->stream_stores = e->stream == KAON_ON;
  launch->tuned.threads = e->threads;
  launch->tuned.group = e->group;
  launch->tuned.blocks = e->blocks;
}
