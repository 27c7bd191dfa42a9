/* free_memory.c - free memory as reported by Linux. Contract: free_memory.h.
 * A control group also counts cached pages of files and the kernel's caches of file metadata
 * (reclaimable slab). Both are reclaimed on demand, so they count as free. A limit of a parent
 * applies to all its groups together, so every group up to the root is read. In a container the
 * group's path may not exist; then the root is that of the container. */
#include "lib/cpu/free_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096, TEXT = 16384 };

/* The files of one version of control groups. */
typedef struct group_files {
  const char *mount, *limit, *used, *inactive, *active; /* the last two are lines of memory.stat */
} group_files;

static const group_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                      "inactive_file", "active_file"};
static const group_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                      "memory.usage_in_bytes", "total_inactive_file",
                                      "total_active_file"};

/* Reads a small file as a string. Returns 1, or 0 if it cannot be read. */
static int read_text(const char *path, char text[TEXT]) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  const size_t n = fread(text, 1, TEXT - 1, file);
  const int good = !ferror(file);
  fclose(file);
  text[n] = '\0';
  return good && n > 0;
}

/* Reads a number that is followed by `after`. Returns 1, or 0 if there is none or it is out of
 * range. */
static int read_number(const char *text, const char *after, int64_t *number) {
  char *end;
  text += strspn(text, " \t");
  if (*text < '0' || *text > '9') return 0;
  const intmax_t n = strtoimax(text, &end, 10);
  if (n == INTMAX_MAX || strncmp(end, after, strlen(after)) != 0) return 0;
  *number = (int64_t)n;
  return 1;
}

/* Reads the number after `name` at the start of a line. */
static int find_number(const char *text, const char *name, const char *after, int64_t *number) {
  const size_t length = strlen(name);
  for (const char *line = text; line != NULL && *line != '\0';) {
    if (strncmp(line, name, length) == 0 && (line[length] == ' ' || line[length] == '\t'))
      return read_number(line + length, after, number);
    line = strchr(line, '\n');
    if (line != NULL) line++;
  }
  return 0;
}

static void bound(int64_t *bytes, int64_t by) {
  if (*bytes < 0 || by < *bytes) *bytes = by;
}

static int read_group_file(const char *folder, const char *name, char text[TEXT]) {
  char path[PATH];
  const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
  return n < (int)sizeof path && read_text(path, text);
}

/* Bounds *bytes by what the limit of one group leaves. A group without a limit, or one that does
 * not exist, imposes no bound. */
static void bound_by_group(const char *folder, const group_files *files, int64_t *bytes) {
  char text[TEXT];
  int64_t limit = 0, used = 0, inactive = 0, active = 0, slab = 0;
  if (!read_group_file(folder, files->limit, text) || !read_number(text, "\n", &limit)) return;
  if (!read_group_file(folder, files->used, text) || !read_number(text, "\n", &used)) return;
  if (!read_group_file(folder, "memory.stat", text) ||
      !find_number(text, files->inactive, "\n", &inactive) ||
      !find_number(text, files->active, "\n", &active))
    return;
  find_number(text, "slab_reclaimable", "\n", &slab); /* only version 2 reports it */
  int64_t taken = used; /* step by step, since the sum of three numbers from a file may overflow */
  taken -= inactive < taken ? inactive : taken;
  taken -= active < taken ? active : taken;
  taken -= slab < taken ? slab : taken;
  bound(bytes, taken < limit ? limit - taken : 0);
}

/* Applies the limits of the group and of all its parents. */
static void bound_by_groups(const char *root, const char *group, const group_files *files,
                            int64_t *bytes) {
  char folder[PATH];
  const int top = snprintf(folder, sizeof folder, "%s%s", root, files->mount);
  if (top >= (int)sizeof folder ||
      snprintf(folder + top, sizeof folder - (size_t)top, "%s", group) >= (int)sizeof folder - top)
    return;
  for (;;) {
    char *slash = strrchr(folder + top, '/');
    if (slash != NULL && slash[1] == '\0') { /* "/": the name of the root */
      *slash = '\0';
      continue;
    }
    bound_by_group(folder, files, bytes);
    if (slash == NULL) return;
    *slash = '\0';
  }
}

/* 1: the comma-separated `list` of controllers contains "memory". */
static int has_memory(const char *list, size_t length) {
  static const char name[] = "memory";
  const size_t n = sizeof name - 1;
  for (size_t i = 0; i + n <= length; i++)
    if (strncmp(list + i, name, n) == 0 && (i == 0 || list[i - 1] == ',') &&
        (i + n == length || list[i + n] == ','))
      return 1;
  return 0;
}

/* Parses /proc/self/cgroup: lines of number:controllers:group, with no controllers in version 2. */
static void bound_by_limits(const char *root, int64_t *bytes) {
  char path[PATH], text[TEXT];
  if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path) return;
  if (!read_text(path, text)) return;
  for (char *line = text, *next; line != NULL; line = next) {
    next = strchr(line, '\n');
    if (next != NULL) *next++ = '\0';
    const char *list = strchr(line, ':'), *group = list != NULL ? strchr(list + 1, ':') : NULL;
    if (group == NULL || group[1] != '/') continue;
    const size_t length = (size_t)(group - list) - 1;
    if (length == 0) bound_by_groups(root, group + 1, &version_2, bytes);
    if (has_memory(list + 1, length)) bound_by_groups(root, group + 1, &version_1, bytes);
  }
}

int64_t kaon_cpu_free_memory(const char *root) {
  char path[PATH], text[TEXT];
  int64_t bytes = -1, kib = 0;
  if (snprintf(path, sizeof path, "%s/proc/meminfo", root) < (int)sizeof path &&
      read_text(path, text) && find_number(text, "MemAvailable:", " kB", &kib) &&
      kib <= INT64_MAX / 1024)
    bytes = 1024 * kib;
  bound_by_limits(root, &bytes);
  return bytes;
}
