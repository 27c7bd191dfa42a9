/* commit.c - the commit this was built from: the only file that is compiled anew for another one.
 */
#include <kaon/context.h>

#include "lib/commit.h" /* written by cmake/KaonCommit.cmake */

const char *kaon_commit(void) {
  return KAON_COMMIT;
}
