/* agree.c - what all ranks must find alike: their statuses, and the arguments of collective
 * functions. Each rank gathers the statuses and a digest of the arguments of all, and comes to the
 * same verdict. The arguments themselves follow only if digests differ. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/comm.h"
#include "lib/core/context_internal.h"
#include "lib/core/error.h"
#include "lib/core/options_table.h"

/* What a rank sends first: its status, the function it is in (0: not said), and the digest. Whole
 * numbers, since some transports gather by adding doubles. */
enum { STATUS, FUNCTION, DIGEST, NUMBERS };

kaon_argument kaon_whole(const char *name, int64_t value) {
  return (kaon_argument){name, KAON_ARGUMENT_WHOLE, (uint64_t)value, NULL};
}

kaon_argument kaon_seed(const char *name, uint64_t value) {
  return (kaon_argument){name, KAON_ARGUMENT_SEED, value, NULL};
}

kaon_argument kaon_real(const char *name, double value) {
  kaon_argument argument = {name, KAON_ARGUMENT_REAL, 0, NULL};
  memcpy(&argument.bits, &value, sizeof value);
  return argument;
}

kaon_argument kaon_enumeration(kaon_options_kind kind, const char *name, int value) {
  const kaon_field *f = kaon_options_table_of(kind)->fields;
  while (strcmp(f->name, name) != 0) f++;
  kaon_argument argument = kaon_whole(name, value);
  argument.names = f->names;
  return argument;
}

/* FNV-1a, of the 52 bits that a double holds. */
static double digest_of(const void *data, size_t bytes) {
  const unsigned char *at = data;
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 1099511628211u;
  return (double)(hash >> 12);
}

static void print_value(const kaon_argument *a, uint64_t bits, char *text, size_t room) {
  double real;
  memcpy(&real, &bits, sizeof real);
  if (a->type == KAON_ARGUMENT_WHOLE) snprintf(text, room, "%" PRId64, (int64_t)bits);
  if (a->type == KAON_ARGUMENT_SEED) snprintf(text, room, "%" PRIu64, bits);
  if (a->type == KAON_ARGUMENT_REAL) snprintf(text, room, "%.17g", real);
  const char *name = a->names != NULL ? kaon_field_name(a->names, (int)(int64_t)bits) : NULL;
  if (name != NULL) snprintf(text, room, "%s", name);
}

/* Returns the first rank that failed, or -1. Ranks that only timed out waiting for another (COMM)
 * count after those with a reason of their own. *alike: all ranks failed with the same status. */
static int first_failed(const double *all, int ranks, int *alike) {
  int first = -1;
  *alike = 1;
  for (int r = ranks - 1; r >= 0; r--) {
    const double status = all[r * NUMBERS + STATUS];
    if (status != all[STATUS] || status == KAON_OK) *alike = 0;
    if (status == KAON_OK) continue;
    if (first < 0 || status != KAON_ERR_COMM || all[first * NUMBERS + STATUS] == KAON_ERR_COMM)
      first = r;
  }
  return first;
}

/* Stores the message of rank `first` on all ranks. */
static kaon_status report(kaon_comm *comm, int first, kaon_status status, int alike) {
  char text[KAON_SENTENCE] = "";
  if (comm->rank == first) {
    const char *sentence = kaon_last_error(comm->ctx);
    if (sentence[0] == '\0') sentence = kaon_status_text(status);
    strncpy(text, sentence, sizeof text - 1);
  }
  KAON_TRY(comm->ops->broadcast(comm, text, sizeof text, first));
  if (alike) /* the rank's index would say nothing */
    kaon_fail(comm->ctx, status, "%s", text);
  else
    kaon_fail(comm->ctx, status, "rank %d: %s", first, text);
  kaon_error_mark_agreed(1);
  return status;
}

/* Names the first argument that differs, and the rank. */
static kaon_status name_difference(kaon_comm *comm, const char *what,
                                   const kaon_argument *arguments, int n) {
  double numbers[2 * KAON_SAME_MOST], *all = malloc((size_t)comm->ranks * sizeof numbers);
  kaon_status status = KAON_OK;
  for (int i = 0; i < n; i++) {
    numbers[2 * i] = (double)(arguments[i].bits >> 32);
    numbers[2 * i + 1] = (double)(arguments[i].bits & 0xffffffffu);
  }
  if (all == NULL) return kaon_fail(comm->ctx, KAON_ERR_MEMORY, "ranks: out of host memory");
  status = comm->ops->gather(comm, numbers, 2 * n, all);
  for (int k = 0; k < comm->ranks * n && status == KAON_OK; k++) {
    const double *its = all + 2 * k, *firsts = all + 2 * (k % n);
    const kaon_argument *a = &arguments[k % n];
    char first[32], other[32];
    if (its[0] == firsts[0] && its[1] == firsts[1]) continue;
    print_value(a, (uint64_t)firsts[0] << 32 | (uint64_t)firsts[1], first, sizeof first);
    print_value(a, (uint64_t)its[0] << 32 | (uint64_t)its[1], other, sizeof other);
    status = kaon_fail(comm->ctx, KAON_ERR_ARGUMENT,
                       "%s: %s is %s on rank 0, but %s on rank %d; give all ranks the same", what,
                       a->name, first, other, k / n);
  }
  free(all);
  return status;
}

/* Fails if a rank is in another function than rank 0, or has another argument. */
static kaon_status compare(kaon_comm *comm, const double *all, const char *what,
                           const kaon_argument *arguments, int n) {
  kaon_status status = KAON_OK;
  int differ = 0;
  for (int r = 1; r < comm->ranks && status == KAON_OK; r++) {
    const double *its = all + r * NUMBERS;
    if (its[FUNCTION] != all[FUNCTION])
      status = kaon_fail(comm->ctx, KAON_ERR_STATE,
                         "%s: ranks 0 and %d called different functions; all ranks must make the "
                         "same calls in the same order",
                         what[0] != '\0' ? what : "ranks", r);
    differ |= its[DIGEST] != all[DIGEST];
  }
  if (status == KAON_OK && differ) status = name_difference(comm, what, arguments, n);
  if (status != KAON_OK) kaon_error_mark_agreed(1);
  return status;
}

kaon_status kaon_same(const kaon_context *ctx, kaon_status mine, const char *what,
                      const kaon_argument *arguments, int n) {
  if (ctx == NULL || ctx->comm->ranks == 1) return mine;
  if (n > KAON_SAME_MOST) n = KAON_SAME_MOST;
  if (mine != KAON_OK && kaon_error_agreed(ctx)) return mine;
  if (mine == KAON_OK) kaon_error_mark_agreed(0); /* forgets earlier failures */
  kaon_comm *comm = ctx->comm;
  uint64_t bits[KAON_SAME_MOST] = {0};
  for (int i = 0; i < n; i++) bits[i] = arguments[i].bits;
  const double numbers[NUMBERS] = {[STATUS] = mine,
                                   [FUNCTION] = digest_of(what, strlen(what)),
                                   [DIGEST] = digest_of(bits, (size_t)n * sizeof *bits)};
  KAON_AUTOFREE double *all = malloc((size_t)comm->ranks * sizeof numbers);
  if (all == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "ranks: out of host memory");
  int alike = 0;
  kaon_saved_error own;
  kaon_error_save(&own);
  kaon_status status = comm->ops->gather(comm, numbers, NUMBERS, all);
  if (status != KAON_OK && mine != KAON_OK) { /* this rank's own reason says more */
    kaon_error_restore(&own);
    status = mine;
  }
  const int failed = status == KAON_OK ? first_failed(all, comm->ranks, &alike) : -1;
  if (failed >= 0)
    status = report(comm, failed, (kaon_status)(int)all[failed * NUMBERS + STATUS], alike);
  else if (status == KAON_OK)
    status = compare(comm, all, what, arguments, n);
  return status;
}

kaon_status kaon_agree(const kaon_context *ctx, kaon_status mine) {
  return kaon_same(ctx, mine, "", NULL, 0);
}

static kaon_argument argument_of(const kaon_field *field, const void *options) {
  const char *at = (const char *)options + field->offset;
  switch (field->type) {
    case KAON_FIELD_UINT64:
      return kaon_seed(field->name, *(const uint64_t *)at);
    case KAON_FIELD_INT64:
      return kaon_whole(field->name, *(const int64_t *)at);
    case KAON_FIELD_DOUBLE:
      return kaon_real(field->name, *(const double *)at);
    default: {
      kaon_argument argument = kaon_whole(field->name, *(const int *)at);
      if (field->type == KAON_FIELD_ENUM) argument.names = field->names;
      return argument;
    }
  }
}

kaon_status kaon_options_share(const kaon_context *ctx, kaon_status mine, kaon_options_kind kind,
                               const void *given, void *taken, const kaon_argument *more, int n) {
  const kaon_options_table *table = kaon_options_table_of(kind);
  kaon_argument all[KAON_SAME_MOST];
  int count = 0;
  if (mine == KAON_OK) mine = kaon_options_take(kind, given, taken);
  for (; count < n && count < KAON_SAME_MOST; count++) all[count] = more[count];
  for (const kaon_field *f = table->fields;
       mine == KAON_OK && f->name != NULL && count < KAON_SAME_MOST; f++)
    all[count++] = argument_of(f, taken);
  return kaon_same(ctx, mine, table->name, all, count);
}
