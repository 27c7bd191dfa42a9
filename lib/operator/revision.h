/* revision.h - whether a derived object is current, or what it was made of has changed.
 *
 * A kaon_revision stands for the numbers of one object, such as links, and counts their changes. If
 * the object is derived, it also notes the revisions of its sources, and their counts when the
 * object was made. kaon_current() compares these with the present counts. If one differs, the
 * object is recomputed at once if it can be (`follow`). Otherwise the status is STALE, and the
 * sentence names the object, its source and the calls that update it.
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
  const char *remedy; /* the public function that makes the object again; NULL: there is none */
  const char *copied; /* the public function that then copied it; NULL: none */
  /* Makes the object again from its sources. NULL: only the caller can. Collective. */
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

/* The numbers changed in place. */
void kaon_changed(kaon_revision *revision);
/* The numbers were replaced, and have no sources. They get this name and remedy. */
void kaon_replaced(kaon_revision *revision, const char *name, const char *remedy);
/* Adds a source, with its present count. NULL: one that never changes. */
void kaon_made_of(kaon_revision *revision, kaon_revision *source);
/* The numbers were replaced by a copy of those of `from`, made by this public function. They get
 * the sources of `from`. */
void kaon_made_as(kaon_revision *revision, const kaon_revision *from, const char *function);
/* The object was made again from its present sources. It is STALE if `status` is a failure. */
void kaon_made_anew(kaon_revision *revision, kaon_status status);

/* Returns OK if the object is current, or after `follow` made it so. NULL: it never changes.
 * Errors: STALE; those of `follow`. Collective if something has to follow, which all ranks find
 * alike. */
kaon_status kaon_current(kaon_revision *revision);
