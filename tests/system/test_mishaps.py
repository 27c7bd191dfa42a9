"""What must not get lost, be overwritten or be called right: links off SU(3), trial runs, files that cannot be written, odd names."""
import os
import time
import signal
import shutil
import unittest

import system

SMALL = system.SMALL
SOLVE = ["--kappa", "0.12", "--csw", "1"]


class Mishaps(system.Case):
    def rounded(self):
        """A configuration in 32 bits: off SU(3) by their rounding, like most that are stored so."""
        self.succeeds("generate", "--lattice", 4, 4, 4, 8, "--sweeps", 5, "--format", "milc", "--output", "rounded")
        return ["--gauge", "rounded", *SOLVE, "--source", "z4:1", "--columns", 2]

    def test_the_residual_is_of_the_links_as_they_are(self):
        # Eight reals a link would make another system of links that are off SU(3), and report that one's residual. A later run
        # takes columns over if the residual on all 18 reals, made anew, is within the tolerance.
        problem = self.rounded()
        for reals in (12, 8):
            for sloppy in ("double", "single"):
                with self.subTest(reals=reals, sloppy=sloppy):
                    said = self.succeeds("invert", *problem, "--sloppy", sloppy, "--reconstruct", reals, "--output", "x")
                    self.assertEqual("is not used: these links are off SU(3)" in said, sloppy == "double", said)
                    said = self.succeeds("invert", *problem, "--output", "x", "--resume")
                    self.assertIn("2 of 2 columns taken over", said)
        said = self.succeeds("invert", "--gauge", "rounded", "--action", "staggered", "--mass", 0.5, "--sloppy", "double",
                             "--reconstruct", 8)
        self.assertIn("is not used", said)

    def test_links_in_the_group_keep_their_reals(self):
        self.succeeds("generate", "--lattice", 4, 4, 4, 8, "--sweeps", 5, "--output", "whole")
        for gauge in (["--gauge", "whole"], ["--gauge", "weak:0.3", "--lattice", 4, 4, 4, 8]):
            said = self.succeeds("invert", *gauge, *SOLVE, "--columns", 1, "--sloppy", "double", "--reconstruct", 8)
            self.assertNotIn("is not used", said)
            self.assertIn("links 8", said)

    def test_a_dry_run_ignores_what_it_does_not_read(self):
        problem = self.rounded()
        self.succeeds("invert", *problem, "--ignore-checksum", "--dry-run")

    def test_a_dry_run_leaves_unfinished_output_alone(self):
        # A quark so heavy that the trial, two steps of it, converges, and batches, after which finished columns are kept.
        light = ["--kappa", "1e-6", "--csw", "1", "--batch", "6", "--output", "x", "--dry-run"]
        self.rounded()
        self.succeeds("invert", "--gauge", "rounded", *light)
        self.assertEqual(sorted(os.listdir(self.folder)), ["rounded"])
        with open(self.path("x.partial"), "wb") as file:
            file.write(b"twelve hours of somebody's work")
        self.succeeds("invert", "--gauge", "rounded", *light)
        self.assertEqual(self.read("x.partial"), b"twelve hours of somebody's work")

    def test_unfinished_output_is_looked_at_before_the_work(self):
        os.mkdir(self.path("x.partial"))
        self.refused("invert", *SMALL, "--batch", "4", "--output", "x", words=["x.partial"])

    def test_correlators_that_cannot_be_written_take_nothing_along(self):
        os.mkdir(self.path("gone"))
        problem = ["--gauge", "weak:0.3", "--lattice", 8, 8, 8, 8, *SOLVE]  # takes long enough to lose a folder meanwhile
        job = system.start("invert", *problem, "--tol", "1e-12", "--output", "x", "--correlators", "gone/c", "--report", "r.json",
                           cwd=self.folder)
        for line in job.stdout:  # what is to be done has been checked and said
            if line.startswith("column") or "CGNR" in line:
                break
        shutil.rmtree(self.path("gone"))
        out, err = job.communicate(timeout=600)
        self.assertEqual(job.returncode, 3, out + err)
        self.assertIn("gone/c", err)
        self.assertEqual(len(self.report("r.json")["pion"]), 8)
        self.assertIn("12 of 12 columns taken over",
                      self.succeeds("invert", *problem, "--tol", "1.1e-12", "--output", "x", "--resume"))

    def test_names_are_names_to_gnuplot_as_well(self):
        if not shutil.which("gnuplot"):
            raise unittest.SkipTest("no gnuplot")
        heavy = ["--gauge", "unit", "--lattice", 4, 4, 4, 4, "--kappa", "0.1", "--csw", "0", "--columns", 1]
        for name in ("|touch happened;.png", "~there.png", "it's $HOME.png"):
            self.succeeds("invert", *heavy, "--plot", name)
            self.assertEqual(self.read(name)[:8], b"\x89PNG\r\n\x1a\n")
        self.assertFalse(os.path.exists(self.path("happened")))
        self.assertFalse([n for n in os.listdir(self.folder) if n.endswith(".part")])
        self.refused("invert", *heavy, "--plot", "a\nb.png", words=["control character"])

    def test_what_is_stopped_before_it_solves_leaves_earlier_reports(self):
        files = {"r.json": b"the report of yesterday", "h.csv": b"its history"}
        for name, text in files.items():
            with open(self.path(name), "wb") as file:
                file.write(text)
        job = system.start("invert", "--gauge", "weak:0.3", "--lattice", 12, 12, 12, 24, *SOLVE, "--columns", 1, "--threads", 1,
                           "--report", "r.json", "--history", "h.csv", cwd=self.folder)
        time.sleep(0.1)
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, out + err)
        if "nothing was computed" in err:  # a fast machine solves already
            for name, text in files.items():
                self.assertEqual(self.read(name), text)

    def test_large_seeds_are_reported_as_they_are(self):
        for seed, told in ((2**64 - 1, str(2**64 - 1)), (2**63 - 1, 2**63 - 1)):
            self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--seed", seed, "--output", "g", "--report", "r.json")
            self.assertEqual(self.report("r.json")["seed"], told)

    def test_a_pipe_is_no_tuning_file(self):
        os.mkfifo(self.path("pipe"))
        self.refused("invert", *SMALL, "--tuning", "pipe", words=["no ordinary file"])

    def test_a_file_called_cold_is_named_so_that_it_is_read(self):
        self.assertIn("--start ./cold ", self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--output", "cold"))


if __name__ == "__main__":
    system.main()
