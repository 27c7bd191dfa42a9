/* atomic_file.c - writes a temporary file, flushes, renames. Contract: atomic_file.h.
 * rename(2) replaces the target atomically. fsync of the file before it and of the directory after
 * it keep the order even in a power failure. */
#include "lib/io/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/comm/comm.h"
#include "lib/io/bytes.h"

enum { BUFFER = 1 << 18, NAME_TRIES = 100 };

/* With several ranks all ranks write the same data, but only rank 0 has a file. The others count
 * bytes and receive the status at each flush. */

struct kaon_atomic_file {
  const kaon_context *ctx;
  char *path;   /* the target, with symbolic links resolved */
  char *folder; /* its directory */
  char *aside;  /* temporary name; "" while the file has none */
  int fd;
  int64_t position;
  size_t used;
  unsigned char buffer[BUFFER];
};

static void release(kaon_atomic_file *f) {
  if (f->fd >= 0) close(f->fd);
  free(f->path);
  free(f->folder);
  free(f->aside);
  free(f);
}

static kaon_status fail_errno(const kaon_atomic_file *f, const char *what, const char *advice) {
  return kaon_fail(f->ctx, KAON_ERR_IO, "%s: %s failed: %s; %s", kaon_short_path(f->path), what,
                   strerror(errno), advice);
}

/* Makes a name beside the target that is not yet in use. `number` differs between attempts. */
static void name_aside(kaon_atomic_file *f, int number) {
  snprintf(f->aside, strlen(f->path) + 40, "%s.%ld-%d.part", f->path, (long)getpid(), number);
}

static kaon_status open_named(kaon_atomic_file *f, mode_t mode) {
  for (int i = 0; i < NAME_TRIES; i++) {
    name_aside(f, i);
    f->fd = open(f->aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (f->fd >= 0) return KAON_OK;
    if (errno != EEXIST) break;
  }
  f->aside[0] = '\0';
  return fail_errno(f, "creating a file in its folder",
                    "check that the folder exists and is writable");
}

static kaon_status open_aside(kaon_atomic_file *f, mode_t mode) {
#ifdef O_TMPFILE
  /* The unnamed file gets its name through /proc. Without that, a name is used from the start. */
  if (access("/proc/self/fd", X_OK) == 0) {
    f->fd = open(f->folder, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
    if (f->fd >= 0) return KAON_OK;
  }
#endif
  return open_named(f, mode);
}

/* Sets path, folder and an empty aside name. Resolves a symbolic link, whose target is to be
 * replaced. */
static kaon_status set_names(kaon_atomic_file *f, const char *path) {
  f->path = realpath(path, NULL);
  if (!f->path) f->path = strdup(path); /* it does not exist yet */
  if (!f->path)
    return kaon_fail(f->ctx, KAON_ERR_MEMORY, "%s: out of memory", kaon_short_path(path));
  f->folder = strdup(f->path);
  f->aside = calloc(1, strlen(f->path) + 40);
  if (!f->folder || !f->aside) {
    return kaon_fail(f->ctx, KAON_ERR_MEMORY, "%s: out of memory", kaon_short_path(path));
  }
  char *slash = strrchr(f->folder, '/');
  if (!slash) {
    strcpy(f->folder, ".");
  } else {
    slash[slash == f->folder] = '\0'; /* "/name" is in "/" */
  }
  return KAON_OK;
}

/* 1 if path is a dangling symbolic link, which the rename would replace. */
static int leads_nowhere(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) != 0;
}

kaon_status kaon_atomic_open(const kaon_context *ctx, const char *path, kaon_atomic_file **file) {
  *file = NULL;
  size_t length = path ? strlen(path) : 0;
  if (length == 0 || path[length - 1] == '/') {
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "no output file name was given; pass the path of a file");
  }
  kaon_atomic_file *f = malloc(sizeof *f);
  if (!f) return kaon_fail(ctx, KAON_ERR_MEMORY, "%s: out of memory", kaon_short_path(path));
  memset(f, 0, offsetof(kaon_atomic_file, buffer));
  f->ctx = ctx;
  f->fd = -1;
  kaon_status status = set_names(f, path);
  struct stat st;
  if (status == KAON_OK && leads_nowhere(path))
    status = kaon_fail(ctx, KAON_ERR_IO,
                       "%s: is a symbolic link to a file that is not there; make that file first, "
                       "or choose another name",
                       kaon_short_path(path));
  int exists = status == KAON_OK && stat(f->path, &st) == 0;
  if (exists && !S_ISREG(st.st_mode)) {
    status =
        kaon_fail(ctx, KAON_ERR_IO, "%s: exists and is not a regular file; choose another name",
                  kaon_short_path(path));
  }
  if (status == KAON_OK && kaon_is_first(ctx)) status = open_aside(f, 0666);
  if (status == KAON_OK && exists && f->fd >= 0)
    (void)!fchmod(f->fd, st.st_mode & 0777); /* optional; may fail */
  status = kaon_agree(ctx, status);
  *file = f;
  if (status != KAON_OK) kaon_atomic_abandon(file);
  return status;
}

static kaon_status write_here(kaon_atomic_file *f, int64_t offset, const unsigned char *data,
                              size_t n) {
  while (n > 0) {
    ssize_t put = pwrite(f->fd, data, n, (off_t)offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno(f, "writing", "free disk space or write elsewhere");
    data += put;
    offset += put;
    n -= (size_t)put;
  }
  return KAON_OK;
}

static kaon_status write_at(kaon_atomic_file *f, int64_t offset, const unsigned char *data,
                            size_t n) {
  return kaon_agree(f->ctx, f->fd >= 0 ? write_here(f, offset, data, n) : KAON_OK);
}

static kaon_status flush_buffer(kaon_atomic_file *f) {
  KAON_TRY(write_at(f, f->position - (int64_t)f->used, f->buffer, f->used));
  f->used = 0;
  return KAON_OK;
}

kaon_status kaon_atomic_write(kaon_atomic_file *f, const void *data, size_t n) {
  const unsigned char *from = data;
  while (n > 0) {
    size_t take = BUFFER - f->used < n ? BUFFER - f->used : n;
    memcpy(f->buffer + f->used, from, take);
    f->used += take;
    f->position += (int64_t)take;
    from += take;
    n -= take;
    if (f->used == BUFFER) KAON_TRY(flush_buffer(f));
  }
  return KAON_OK;
}

kaon_status kaon_atomic_printf(kaon_atomic_file *f, const char *format, ...) {
  char small[512];
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(small, sizeof small, format, args);
  va_end(args);
  char *text = small;
  if (n >= (int)sizeof small) {
    text = malloc((size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, format, again);
  }
  va_end(again);
  if (n < 0)
    return kaon_fail(f->ctx, KAON_ERR_INTERNAL, "%s: text formatting failed", kaon_atomic_name(f));
  if (!text) return kaon_fail(f->ctx, KAON_ERR_MEMORY, "%s: out of memory", kaon_atomic_name(f));
  kaon_status status = kaon_atomic_write(f, text, (size_t)n);
  if (text != small) free(text);
  return status;
}

kaon_status kaon_atomic_patch(kaon_atomic_file *f, int64_t offset, const void *data, size_t n) {
  if (offset < 0 || offset + (int64_t)n > f->position) {
    return kaon_fail(f->ctx, KAON_ERR_ARGUMENT,
                     "%s: a patch of %zu bytes at offset %lld ends beyond the %lld bytes written",
                     kaon_atomic_name(f), n, (long long)offset, (long long)f->position);
  }
  KAON_TRY(flush_buffer(f));
  return write_at(f, offset, data, n);
}

int64_t kaon_atomic_position(const kaon_atomic_file *f) {
  return f->position;
}

const char *kaon_atomic_name(const kaon_atomic_file *f) {
  return kaon_short_path(f->path);
}

/* Names the unnamed file beside the target, since linkat cannot replace an existing file. */
static kaon_status give_name(kaon_atomic_file *f) {
  char link_path[64];
  snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", f->fd);
  for (int i = 0; i < NAME_TRIES; i++) {
    name_aside(f, i);
    if (linkat(AT_FDCWD, link_path, AT_FDCWD, f->aside, AT_SYMLINK_FOLLOW) == 0) return KAON_OK;
    if (errno != EEXIST) break;
  }
  f->aside[0] = '\0';
  return fail_errno(f, "naming the new file", "check that its folder still exists and is writable");
}

static void sync_folder(const kaon_atomic_file *f) {
  int fd = open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return; /* the file is safe; some file systems do not sync directories */
  (void)!fsync(fd);
  close(fd);
}

/* Flushes the file to disk and renames it. */
static kaon_status commit_file(kaon_atomic_file *f) {
  if (f->fd < 0) return KAON_OK;
  if (fsync(f->fd) != 0 && errno != EINVAL && errno != ENOTSUP)
    return fail_errno(f, "flushing to disk", "free disk space or write elsewhere");
  if (f->aside[0] == '\0') KAON_TRY(give_name(f));
  if (rename(f->aside, f->path) != 0)
    return fail_errno(f, "renaming the new file", "check the permissions of its folder");
  sync_folder(f);
  return KAON_OK;
}

kaon_status kaon_atomic_commit(kaon_atomic_file **file) {
  kaon_atomic_file *f = *file;
  kaon_status status = flush_buffer(f);
  if (status == KAON_OK) status = kaon_agree(f->ctx, commit_file(f));
  if (status != KAON_OK) {
    kaon_atomic_abandon(file);
    return status;
  }
  release(f);
  *file = NULL;
  return KAON_OK;
}

kaon_status kaon_atomic_end(kaon_atomic_file **file, kaon_status status) {
  if (status == KAON_OK) return kaon_atomic_commit(file);
  kaon_atomic_abandon(file);
  return status;
}

const char *kaon_file_date(const char *given, char date[64]) {
  char now[64] = "";
  const time_t seconds = time(NULL);
  struct tm utc;
  if (gmtime_r(&seconds, &utc)) strftime(now, sizeof now, "%a %b %d %H:%M:%S %Y UTC", &utc);
  if (given == NULL) given = now;
  return kaon_printable(given, strlen(given), date, 64);
}

void kaon_atomic_abandon(kaon_atomic_file **file) {
  if (!*file) return;
  if ((*file)->aside && (*file)->aside[0] != '\0') unlink((*file)->aside);
  release(*file);
  *file = NULL;
}
