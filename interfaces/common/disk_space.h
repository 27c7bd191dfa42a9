/* disk_space.h - what may still be written to a disk. */
#ifndef KAON_COMMON_DISK_SPACE_H
#define KAON_COMMON_DISK_SPACE_H

/* Bytes that may be written to a file system of `blocks` blocks, `spare` of which are free,
 * `available` of them to everybody, the others to the superuser. -1: these are no figures of a disk
 * (some file systems say 0 of everything, some more than they have). */
double disk_free_bytes(double blocks, double spare, double available, double block_bytes, int superuser);
/* The same of the folder that `path` lies in or would, for this user; -1: nobody says. */
double path_free_bytes(const char *path);
/* 1 if `bytes` are no more than `there`, or `there` is not known. */
int bytes_fit(double bytes, double there);

#endif
