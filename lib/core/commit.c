/* commit.c - the commit of this build. Only this file is recompiled when the commit changes. */

#include "lib/commit.h" /* written by cmake/KaonCommit.cmake */

const char *kaon_commit(void) {
  return KAON_COMMIT;
}
