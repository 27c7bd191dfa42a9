/* test_disk_space.c - how much of a disk is free according to its figures, and what fits there. The
 * program's part of it: tests/system/test_disk_space.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "interfaces/common/disk_space.h"
#include "tests/util/test_util.h"

static void free_is_what_this_user_may_have(void **state) {
  (void)state;
  assert_true(disk_free_bytes(1000, 100, 60, 4096, 0) == 60 * 4096.0);
  assert_true(disk_free_bytes(1000, 100, 60, 4096, 1) == 100 * 4096.0);
  assert_true(disk_free_bytes(1000, 0, 0, 4096, 0) == 0); /* it is full, which is known */
  assert_true(disk_free_bytes(0x1p62, 0x1p62, 0x1p62, 4096, 0) == 0x1p74);
}

static void figures_of_no_disk_are_none(void **state) {
  (void)state;
  assert_true(disk_free_bytes(0, 0, 0, 4096, 0) < 0);        /* a tmpfs without limit, some FUSE */
  assert_true(disk_free_bytes(1000, 100, 60, 0, 0) < 0);     /* no size of a block */
  assert_true(disk_free_bytes(1000, 1001, 60, 4096, 0) < 0); /* more than there are */
  assert_true(disk_free_bytes(1000, 100, 0x1p64 - 8, 512, 0) <
              0); /* a negative number, read unsigned */
}

static void what_is_not_known_refuses_nothing(void **state) {
  (void)state;
  assert_int_equal(bytes_fit(4096, 4096), 1);
  assert_int_equal(bytes_fit(4097, 4096), 0);
  assert_int_equal(bytes_fit(1, 0), 0);
  assert_int_equal(bytes_fit(0, 0), 1);
  assert_int_equal(bytes_fit(-5, 0), 1);
  assert_int_equal(bytes_fit(1e30, -1), 1);
}

/* Other programs write at the same time: within a GB of the system's figures just before and
 * after. */
static void the_folder_is_the_paths(void **state) {
  (void)state;
  struct statvfs fs;
  static const char *const paths[3][2] = {
      {"/tmp/absent", "/tmp"}, {"/absent", "/"}, {"absent", "."}};
  assert_true(path_free_bytes("/tmp/no such folder/absent") < 0);
  assert_true(path_free_bytes("no such folder/absent") < 0);
  for (int i = 0; i < 3; i++) {
    if (statvfs(paths[i][1], &fs) != 0 || fs.f_blocks == 0) continue;
    const double there = (double)(geteuid() == 0 ? fs.f_bfree : fs.f_bavail) * (double)fs.f_frsize;
    assert_true(path_free_bytes(paths[i][0]) >= there - 1e9);
    assert_true(path_free_bytes(paths[i][0]) <= there + 1e9);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(free_is_what_this_user_may_have),
                                     cmocka_unit_test(figures_of_no_disk_are_none),
                                     cmocka_unit_test(what_is_not_known_refuses_nothing),
                                     cmocka_unit_test(the_folder_is_the_paths)};
  return test_main(tests, NULL, NULL);
}
