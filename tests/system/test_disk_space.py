"""A job checks the free space on the disk before it starts to compute."""
import os
import re
import resource
import subprocess
import unittest

import system

MIB = 2**20
SMALL = [*system.SMALL, "--tol", "1e-3", "--output", "p"]


class Room(system.Case):
    def fits(self, size, *arguments):
        code, said, left = self.on_a_disk(size, system.PROGRAM, *arguments)
        self.assertEqual(code, 0, said)
        self.assertEqual(len(left), 1, left)

    def lacks(self, size, needs, *arguments, option="--output", before=""):
        """Refused for its bytes, before anything is printed but what has `before` in it."""
        code, said, left = self.on_a_disk(size, system.PROGRAM, *arguments)
        self.assertEqual((code, left), (3, []), said)
        if before:
            self.assertIn(before, said)
            said = said.splitlines(keepends=True)[-1]
        self.assertTrue(said.startswith(f"kaon: {option} "), said)
        self.assertEqual(said.count("\n"), 1, said)
        bytes_needed, there = map(int, re.search(r"\((\d+) bytes\).*\((\d+) bytes\)", said).groups())
        self.assertEqual((bytes_needed, there), (needs, size), said)
        self.assertIn("free disk space or write elsewhere", said)
        print(f"  {said.strip()}")

    def test_configurations(self):
        make = ["generate", "--sweeps", 1, "--output", "c"]
        self.lacks(MIB, 8**4 * 576, *make, "--lattice", 8, 8, 8, 8)
        self.fits(8**4 * 288 + 4096, *make, "--lattice", 8, 8, 8, 8, "--format", "milc")
        self.lacks(8**4 * 288 - 4096, 8**4 * 288, *make, "--lattice", 8, 8, 8, 8, "--format", "milc")
        self.succeeds("generate", "--lattice", 4, 4, 8, 16, "--sweeps", 1, "--output", "c")
        self.lacks(MIB, 2048 * 576, "gauge", "../c", "--convert", "d", option="--convert")
        self.lacks(MIB, 2048 * 576, "generate", "--start", "../c", "--sweeps", 1, "--output", "d")
        self.fits(MIB, "gauge", "../c", "--convert", "d", "--bits", 32)
        self.fits(MIB, "gauge", "../c", "--convert", "d", "--format", "nersc", "--rows", 2)

    def test_solutions(self):
        self.lacks(MIB, 512 * 8 * (24 * 12 + 2), "invert", *SMALL)
        self.lacks(MIB, 512 * 8 * (24 * 12 + 2), "invert", *SMALL, "--dry-run", before="of memory at its peak")
        self.fits(MIB, "invert", *SMALL, "--precision", "single")
        self.lacks(MIB // 2, 512 * 4 * 48 * 8, "invert", *SMALL, "--precision", "single", "--source", "gauss:1", "--columns", 8)
        self.fits(MIB, "invert", *SMALL, "--precision", "single", "--source", "gauss:1", "--columns", 8)
        staggered = [*system.LINKS, "--action", "staggered", "--mass", 1, "--tol", "1e-3", "--output", "p"]
        self.lacks(65536, 512 * 8 * 6 * 3, "invert", *staggered)
        self.fits(131072, "invert", *staggered)

    def test_finished_columns_and_shifts_are_counted(self):
        whole = 512 * 4 * (24 * 12 + 2)
        single = [*SMALL, "--precision", "single"]
        self.fits(MIB, "invert", *single, "--batch", 6)
        self.lacks(MIB, whole + 512 * 4 * 26 * 10, "invert", *single, "--batch", 10)
        self.lacks(MIB, 2 * whole, "invert", *single, "--shifts", "0,0.1")

    def test_an_earlier_file_is_not_counted_as_free(self):
        make = '"$0" generate --lattice 4 4 4 16 --sweeps 1 --quiet --output c'
        code, said, left = self.on_a_disk(MIB, "sh", "-c", f"{make} && {make}", system.PROGRAM)
        self.assertEqual((code, left), (3, ["c"]), said)
        self.assertIn("while the earlier file is still there", said)
        code, said, left = self.on_a_disk(3 * MIB // 2, "sh", "-c", f"{make} && {make}", system.PROGRAM)
        self.assertEqual((code, left), (0, ["c"]), said)

    def test_an_earlier_run_s_columns_make_room_as_they_are_replaced(self):
        job = ["invert", *SMALL, "--precision", "single", "--batch", "6"]  # 580 and 312 KiB
        run = 'head -c 300000 /dev/zero > p.partial; "$@"'
        code, said, left = self.on_a_disk(1000 * 1024, "sh", "-c", run, system.PROGRAM, *([system.PROGRAM] + job))
        self.assertEqual((code, left), (0, ["p"]), said)

    def test_solutions_in_text_have_a_least_and_a_usual_size(self):
        solve = ["solve", "--matrix", "laplace3d:24", "--rhs", "ones", "--columns", 2]
        numbers = 2 * 24**3
        code, said, left = self.on_a_disk(numbers * 2 - 2048, system.PROGRAM, *solve, "--output", "x")
        self.assertEqual((code, left), (3, []), said)
        self.assertRegex(said, rf"kaon: --output x takes at least .*\({2 * numbers} bytes\)")
        self.assertNotIn("column  iterations", said)
        code, said, left = self.on_a_disk(numbers * 8, system.PROGRAM, *solve, "--output", "x")
        self.assertEqual((code, left), (3, []), said)  # as the note predicted
        self.assertRegex(said, rf"kaon: note: --output x takes about .*\({18 * numbers} bytes\)")
        self.assertIn("column  iterations", said)
        code, said, left = self.on_a_disk(numbers * 20, system.PROGRAM, *solve, "--output", "x")
        self.assertEqual((code, left), (0, ["x"]), said)
        self.assertNotIn("note:", said)
        code, said, left = self.on_a_disk(numbers * 10, system.PROGRAM, *solve, "--output", "x.gz")
        self.assertEqual((code, left), (0, ["x.gz"]), said)
        self.assertNotIn("note:", said)

    @unittest.skipIf(system.SLOWED, "sanitizers take address space that is limited here")
    def test_what_no_disk_holds_is_refused(self):
        """27 TB: on the disk that is there, so without any mount; should it begin, its address space ends it"""
        disk = os.statvfs(self.folder)
        needs = 128**3 * 254 * 8 * 48 * 130
        if disk.f_bfree * disk.f_frsize >= needs or disk.f_blocks == 0:
            raise unittest.SkipTest("this disk holds it")
        job = ["invert", "--backend", "cpu", "--gauge", "unit", "--lattice", "128x128x128x254", "--kappa", "0.1", "--csw", "0", "--source",
               "gauss:1", "--columns", "130", "--memory-limit", "1e6", "--output", "p"]
        done = subprocess.run([system.PROGRAM, *job], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, timeout=300,
                              env=system.environment(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33)))
        self.assertEqual((done.returncode, done.stdout, os.listdir(self.folder)), (3, "", []), done.stderr)
        self.assertRegex(done.stderr, rf"^kaon: --output p takes at least .*\({needs} bytes\) on the disk, but .* are free there")


if __name__ == "__main__":
    system.main()
