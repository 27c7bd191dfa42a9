/* atomic_file.h - output that appears under its name whole, or not at all.
 * open -> write ... -> commit, or abandon on any failure. The bytes go to a nameless file of the
 * target's directory (O_TMPFILE) where the system has one, so that even a killed process leaves
 * nothing; else to NAME.XXXXXX.part beside it, removed by abandon. commit flushes to the disk and
 * renames. */
#ifndef KAON_LIB_IO_ATOMIC_FILE_H
#define KAON_LIB_IO_ATOMIC_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/core/error.h"

typedef struct kaon_atomic_file kaon_atomic_file;

/* Starts a new content of `path` (an existing file stays until commit and lends its permissions).
 * Errors: ARGUMENT, IO (no such folder, no permission, not a regular file), MEMORY. */
kaon_status kaon_atomic_open(const kaon_context *ctx, const char *path, kaon_atomic_file **file);

/* Appends n bytes. After a failure only abandon is meaningful. Errors: IO (with the system's
 * reason). */
kaon_status kaon_atomic_write(kaon_atomic_file *file, const void *data, size_t n);
kaon_status kaon_atomic_printf(kaon_atomic_file *file, const char *format, ...) KAON_PRINTF(2, 3);

/* Overwrites n bytes at `offset` of what was written already (a checksum in a header). Errors: IO,
 * ARGUMENT. */
kaon_status kaon_atomic_patch(kaon_atomic_file *file, int64_t offset, const void *data, size_t n);

/* Bytes written so far. */
int64_t kaon_atomic_position(const kaon_atomic_file *file);
/* The target's path, shortened for sentences. */
const char *kaon_atomic_name(const kaon_atomic_file *file);

/* Puts the content on disk under its name and frees *file (set to NULL), also when it fails: then
 * the old file is untouched and the new content is gone. Errors: IO. */
kaon_status kaon_atomic_commit(kaon_atomic_file **file);
/* Drops the new content; *file may be NULL. */
void kaon_atomic_abandon(kaon_atomic_file **file);

#endif
