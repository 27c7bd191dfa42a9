/* atomic_file.h - output that appears under its name completely or not at all.
 * open -> write ... -> commit, or abandon on any failure. The bytes go to an unnamed file in the
 * target's directory (O_TMPFILE) if the system supports it, so that even a killed process leaves
 * nothing behind. Otherwise they go to NAME.XXXXXX.part beside the target, which abandon removes.
 * commit flushes to the disk and renames. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/core/error.h"

typedef struct kaon_atomic_file kaon_atomic_file;

/* Starts a new version of `path`. An existing file stays until commit, and its permissions are
 * kept. Errors: ARGUMENT, IO (no such directory, no permission, not a regular file), MEMORY. */
kaon_status kaon_atomic_open(const kaon_context *ctx, const char *path, kaon_atomic_file **file);

/* Appends n bytes. After a failure only abandon is allowed. Errors: IO (with the system's
 * reason). */
kaon_status kaon_atomic_write(kaon_atomic_file *file, const void *data, size_t n);
kaon_status kaon_atomic_printf(kaon_atomic_file *file, const char *format, ...) KAON_PRINTF(2, 3);

/* Overwrites n bytes at `offset` of what was already written (for example a checksum in a header).
 * Errors: IO, ARGUMENT. */
kaon_status kaon_atomic_patch(kaon_atomic_file *file, int64_t offset, const void *data, size_t n);

/* Bytes written so far. */
int64_t kaon_atomic_position(const kaon_atomic_file *file);
/* The target's path, shortened for messages. */
const char *kaon_atomic_name(const kaon_atomic_file *file);

/* Writes the content to disk under its name. Always frees *file and sets it to NULL. On failure the
 * old file is untouched and the new content is lost. Errors: IO. */
kaon_status kaon_atomic_commit(kaon_atomic_file **file);
/* Discards the new content; *file may be NULL. */
void kaon_atomic_abandon(kaon_atomic_file **file);
/* Commits if `status` is OK; else abandons, and returns it. */
kaon_status kaon_atomic_end(kaon_atomic_file **file, kaon_status status);

/* The date to write into a file: `given`, as one printable line; NULL: the present time. */
const char *kaon_file_date(const char *given, char date[64]);
