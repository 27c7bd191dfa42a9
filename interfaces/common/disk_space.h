/* disk_space.h - what may still be written to a disk. */
#ifndef KAON_COMMON_DISK_SPACE_H
#define KAON_COMMON_DISK_SPACE_H

/* Bytes that this user can write to a file system. `blocks`: its size; `spare`: free blocks;
 * `available`: those for all users, the others only for the superuser. -1: implausible figures, as
 * some file systems report. */
double disk_free_bytes(double blocks, double spare, double available, double block_bytes,
                       int superuser);
/* The same for the folder of `path` and this user. -1: unknown. */
double path_free_bytes(const char *path);
/* 1 if `bytes` are no more than `there`, or `there` is not known. */
int bytes_fit(double bytes, double there);

#endif
