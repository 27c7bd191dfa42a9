/* revision.c - counts changes, and finds objects whose sources have changed. Contract:
 * revision.h. */
#include "lib/operator/revision.h"

#include <stdlib.h>

kaon_status kaon_revision_create(const kaon_context *ctx, const char *name, const char *remedy,
                                 kaon_revision **revision) {
  kaon_revision *made = *revision = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "%s: out of host memory", name);
  *made = (kaon_revision){.ctx = ctx, .name = name, .remedy = remedy, .references = 1};
  return KAON_OK;
}

static void forget_sources(kaon_revision *revision) {
  while (revision->sources > 0) kaon_revision_release(&revision->source[--revision->sources].of);
}

void kaon_revision_release(kaon_revision **revision) {
  kaon_revision *gone = *revision;
  *revision = NULL;
  if (gone == NULL || --gone->references > 0) return;
  forget_sources(gone);
  free(gone);
}

void kaon_changed(kaon_revision *revision) {
  revision->number++;
}

void kaon_replaced(kaon_revision *revision, const char *name, const char *remedy) {
  forget_sources(revision);
  revision->name = name;
  revision->remedy = remedy;
  revision->copied = NULL;
  revision->number++;
}

void kaon_made_of(kaon_revision *revision, kaon_revision *source) {
  if (source == NULL) return;
  source->references++;
  revision->source[revision->sources].of = source;
  revision->source[revision->sources++].number = source->number;
}

/* `revision` itself is left out, because its former numbers are lost. */
void kaon_made_as(kaon_revision *revision, const kaon_revision *from, const char *function) {
  kaon_replaced(revision, from->name, from->remedy);
  revision->copied = function;
  for (int i = 0; i < from->sources; i++) {
    if (from->source[i].of == revision) continue;
    kaon_made_of(revision, from->source[i].of);
    revision->source[revision->sources - 1].number = from->source[i].number;
  }
}

void kaon_made_anew(kaon_revision *revision, kaon_status status) {
  for (int i = 0; i < revision->sources; i++)
    revision->source[i].number = revision->source[i].of->number;
  revision->failed = status != KAON_OK;
  revision->number++;
}

/* A stale source must be made again first: appends this object's remedy to its sentence. */
static kaon_status and_then(const kaon_revision *revision, kaon_status status) {
  if (status != KAON_ERR_STALE || revision->remedy == NULL) return status;
  return kaon_fail(revision->ctx, status, "%s, then %s", kaon_last_error(revision->ctx),
                   revision->remedy);
}

static int changed(const kaon_revision *revision, int i) {
  return revision->source[i].of->number != revision->source[i].number;
}

/* Source i has changed: makes the object again, or names the calls that do. */
static kaon_status renew(kaon_revision *revision, int i) {
  const kaon_revision *of = revision->source[i].of;
  if (revision->follow == NULL)
    return kaon_fail(revision->ctx, KAON_ERR_STALE,
                     "%s: made of revision %llu of the %s, now at revision %llu; call "
                     "%s%s%s",
                     revision->name, (unsigned long long)revision->source[i].number, of->name,
                     (unsigned long long)of->number, revision->remedy,
                     revision->copied != NULL ? " and " : "",
                     revision->copied != NULL ? revision->copied : "");
  KAON_TRY(revision->follow(revision->owner));
  kaon_made_anew(revision, KAON_OK);
  return KAON_OK;
}

/* Sources are checked first, because they may follow their own. */
kaon_status kaon_current(kaon_revision *revision) {
  if (revision == NULL) return KAON_OK;
  if (revision->failed)
    return kaon_fail(revision->ctx, KAON_ERR_STALE,
                     "%s: the last %s failed; remove the cause and call it again", revision->name,
                     revision->remedy);
  for (int i = 0; i < revision->sources; i++) {
    if (revision->follow == NULL && changed(revision, i)) return renew(revision, i);
    KAON_TRY(and_then(revision, kaon_current(revision->source[i].of)));
  }
  for (int i = 0; i < revision->sources; i++)
    if (changed(revision, i)) return renew(revision, i);
  return KAON_OK;
}
