/* disk_space.c - what statvfs says. Contract: disk_space.h. */
#include "interfaces/common/disk_space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

double disk_free_bytes(double blocks, double spare, double available, double block_bytes,
                       int superuser) {
  if (!(blocks > 0 && block_bytes > 0 && spare <= blocks && available <= spare)) return -1;
  return (superuser ? spare : available) * block_bytes;
}

double path_free_bytes(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = !slash          ? strdup(".")
                 : slash == path ? strdup("/")
                                 : strndup(path, (size_t)(slash - path));
  struct statvfs fs;
  const int known = folder && statvfs(folder, &fs) == 0;
  free(folder);
  if (!known) return -1;
  return disk_free_bytes((double)fs.f_blocks, (double)fs.f_bfree, (double)fs.f_bavail,
                         (double)fs.f_frsize, geteuid() == 0);
}

int bytes_fit(double bytes, double there) {
  return there < 0 || bytes <= there;
}
