/* revision.h - whether what was made of numbers that can change still belongs to them.
 *
 * A kaon_revision stands for the numbers of one object, such as links. It counts their changes. Of a
 * derived object it also notes the revisions that the object was made of, and their counts at that
 * time. kaon_current() compares them. An object that differs follows at once if it can (`follow`).
 * Otherwise the status is STALE, and the sentence names the object, its source and the calls that
 * mend it.
 *
 * Changes are made by collective functions, so all ranks count alike and no message is needed. */
#pragma once

#include <stdint.h>

#include <kaon/status.h>

#include "lib/core/error.h"

enum { KAON_REVISION_SOURCES = 6 };

typedef struct kaon_revision kaon_revision;
struct kaon_revision {
  const kaon_context *ctx;
  uint64_t number;    /* of changes; it only grows */
  const char *name;   /* for sentences: "fat links" */
  const char *remedy; /* the public function that makes the object anew; NULL: there is none */
  const char *copied; /* the one that then copied it; NULL: none */
  /* Makes the object anew from its sources. NULL: only the caller can. Collective. */
  kaon_status (*follow)(void *owner);
  void *owner; /* the derived object, for `follow` */
  int references;
  int failed; /* 1: the last attempt to make the object failed */
  int sources;
  struct {
    kaon_revision *of;
    uint64_t number;
  } source[KAON_REVISION_SOURCES];
};

/* Creates a revision without sources, with number 0. Errors: MEMORY. */
kaon_status kaon_revision_create(const kaon_context *ctx, const char *name, const char *remedy,
                                 kaon_revision **revision);
/* Releases a reference; NULL is allowed. Derived objects keep the revisions of their sources, not
 * the sources: a source that is destroyed no longer changes. */
void kaon_revision_release(kaon_revision **revision);

/* The numbers changed where they stand. */
void kaon_changed(kaon_revision *revision);
/* The numbers were replaced: forgets the sources. */
void kaon_replaced(kaon_revision *revision, const char *name, const char *remedy);
/* Adds a source as it is now. NULL: one that never changes. */
void kaon_made_of(kaon_revision *revision, kaon_revision *source);
/* The numbers were replaced by those of `from`, copied by this public function: they have its
 * sources. */
void kaon_made_as(kaon_revision *revision, const kaon_revision *from, const char *function);
/* The object was made again of its sources as they are now; after a failure it is STALE. */
void kaon_made_anew(kaon_revision *revision, kaon_status status);

/* Returns OK if the object belongs to its sources, or follows them; NULL: it has none. Errors: STALE;
 * those of `follow`. Collective if something has to follow, on all ranks or on none. */
kaon_status kaon_current(kaon_revision *revision);
