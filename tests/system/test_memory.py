"""--dry-run predicts the peak memory of the run within 10 %; a job that does not fit is refused before it starts."""
import os
import re
import unittest

import system

CASES = (("8x8x8x16", ["--columns", "12"]),
         ("8x8x8x16", ["--columns", "12", "--sloppy", "half", "--output", "p.lime"]),
         ("12x12x12x16", ["--columns", "3", "--sloppy", "double"]),
         ("12x12x12x16", ["--columns", "1", "--sloppy", "half", "--reconstruct", "12"]),
         ("12x12x12x16", ["--columns", "4", "--batch", "2", "--method", "bicgstab", "--even-odd", "none"]),
         ("6x10x6x22", ["--columns", "12"]),
         ("4x4x8x8", ["--columns", "12"]),  # smaller jobs have little beside the program itself, of which the kernel maps parts of any size
         ("8x8x8x16", ["--columns", "12", "--precond", "multigrid"]),
         ("12x12x12x16", ["--columns", "9"]))

ON_DEVICE = os.environ.get("KAON_BACKEND") == "cuda"
WHY = "what the driver keeps of the host's memory is most of the peak there"

CLOVER = ["--kappa", "0.12", "--csw", "1"]
STAGGERED = ["--mass", "0.3", "--action", "staggered"]
# Fields alone: what a job is refused by
FIELDS = (("8x8x8x16", [*CLOVER, "--columns", "9"]),
          ("8x8x8x16", [*CLOVER, "--columns", "12", "--batch", "9"]),
          ("8x8x8x16", [*CLOVER, "--shifts", "0,0.1", "--output", "p.lime"]),
          ("8x8x8x16", [*CLOVER, "--shifts", "0,0.1,0.2,0.3,0.4", "--batch", "5", "--sloppy", "half"]),
          ("8x8x8x16", [*CLOVER, "--shifts", "0.1", "--columns", "1", "--even-odd", "none", "--sloppy", "double"]),
          ("8x8x8x16", [*STAGGERED, "--shifts", "0,0.1,0.2"]))


class Memory(system.Case):
    @unittest.skipIf(ON_DEVICE, WHY)
    def test_prediction_against_the_resident_peak(self):
        for extents, more in CASES:
            with self.subTest(extents=extents, more=more):
                job = ["invert", "--gauge", "weak:0.3", "--lattice", extents, "--kappa", "0.1", "--csw", "1", "--tol",
                       "1e-5", *more, "--report", "report.json"]
                out = self.succeeds(*job, "--dry-run")
                predicted = self.report()["predicted_peak"]
                self.assertIn("memory", out)
                self.succeeds(*job)
                actual = self.report()["peak_resident"]
                off = predicted / actual - 1
                print(f"  {extents} {' '.join(more)}: predicted {predicted / 2**20:.1f} MiB, actual "
                      f"{actual / 2**20:.1f} MiB, off by {100 * off:+.1f} % (bound 10 %)")
                self.assertLess(abs(off), 0.10)

    @unittest.skipIf(ON_DEVICE, WHY)
    def test_a_guess_is_predicted(self):
        """a propagator's columns come out of its file all at once, and beside a small batch that is the peak"""
        job = ["invert", "--gauge", "weak:0.3", "--lattice", "8x12x12x12", "--kappa", "0.1", "--csw", "1", "--tol", "1e-5"]
        self.succeeds(*job, "--output", "p.lime")
        found = {}
        for more in ([], ["--guess", "p.lime"]):
            self.succeeds(*job, "--batch", "1", "--sloppy", "double", "--method", "mr", *more, "--report", "report.json", "--dry-run")
            predicted = self.report()["predicted_peak"]
            self.succeeds(*job, "--batch", "1", "--sloppy", "double", "--method", "mr", *more, "--report", "report.json")
            found[len(more)] = self.report()["peak_resident"]
            off = predicted / found[len(more)] - 1
            print(f"  {' '.join(more)}: predicted {predicted / 2**20:.1f} MiB, off by {100 * off:+.1f} % (bound 10 %)")
            self.assertLess(abs(off), 0.10)
        self.assertGreater(found[2], 1.1 * found[0])  # or leaving it out would have passed

    def test_the_resident_peak_is_not_that_of_who_started_it(self):
        with open("/proc/self/status", encoding="ascii") as file:
            if "VmHWM:" not in file.read():
                raise unittest.SkipTest("/proc does not say a process' peak")
        job = ["invert", *system.SMALL, "--columns", "1", "--report", "report.json"]
        self.succeeds(*job)
        alone = self.report()["peak_resident"]
        large = b"x" * (2**28 + int(alone))  # this process, of which the program is begun
        self.succeeds(*job)
        peak = self.report()["peak_resident"]
        print(f"  alone {alone / 2**20:.1f} MiB, begun by one of more than {len(large) / 2**20:.1f} MiB: {peak / 2**20:.1f} MiB (bound 10 %)")
        self.assertLess(abs(peak / alone - 1), 0.10)

    def test_what_does_not_fit_is_refused_before_it_is_begun(self):
        for extents, more in (("8x8x8x16", []), ("8x8x8x16", ["--sloppy", "half", "--batch", "4", "--reconstruct", "12"]),
                              ("8x8x8x16", ["--columns", "2", "--method", "gcr"]),
                              ("6x10x6x22", ["--columns", "2", "--even-odd", "none", "--precision", "single"])):
            with self.subTest(extents=extents, more=more):
                job = ["invert", "--gauge", "weak:0.3", "--lattice", extents, "--kappa", "0.1", "--csw", "1", "--tol",
                       "1e-5", *more, "--output", "p.lime"]
                said = self.refused(*job, "--memory-limit", "0.02", status=3,
                                    words=["needs", "free within --memory-limit", "--batch"])
                needs, free = map(int, re.search(r"\((\d+) bytes\).*\((\d+) bytes\) are free", said).groups())
                self.assertEqual(free, int(0.02 * 2**30))
                self.refused(*job, "--memory-limit", 0.99 * needs / 2**30, status=3, words=["needs"])
                self.succeeds(*job, "--memory-limit", 1.01 * needs / 2**30)
                os.remove(self.path("p.lime"))

    def test_predicted_fields_are_those_of_the_run(self):
        for extents, more in FIELDS:
            with self.subTest(extents=extents, more=more):
                job = ["invert", "--gauge", "weak:0.3", "--lattice", extents, "--tol", "1e-5", *more, "--report", "report.json"]
                self.succeeds(*job, "--dry-run")
                predicted = self.report()["predicted_fields"]
                self.succeeds(*job, "--memory-limit", 1.01 * predicted / 2**30)
                actual = self.report()["peak_fields"]
                off = predicted / actual - 1
                print(f"  {extents} {' '.join(more)}: fields predicted {predicted / 2**20:.1f} MiB, actual "
                      f"{actual / 2**20:.1f} MiB, off by {100 * off:+.2f} % (bound 1 %)")
                self.assertLess(abs(off), 0.01)
                os.remove(self.path("report.json"))
                for name in [n for n in os.listdir(self.folder) if n.startswith("p.lime")]:
                    os.remove(self.path(name))
                self.refused(*job, "--memory-limit", 0.99 * predicted / 2**30, status=3, words=["needs"])

    def test_deflation_that_was_asked_for_is_counted_however_large(self):
        """by itself it keeps as many pairs as 2 GiB hold, of 24 columns of 16^4 ten"""
        fields = []
        for pairs in (0, -1, 16):
            self.succeeds("invert", "--gauge", "unit", "--lattice", "16x16x16x16", *CLOVER, "--source", "z4:1", "--columns", "24", "--set",
                          f"deflation={pairs}", "--report", "report.json", "--dry-run", "--memory-limit", "16")
            fields.append(self.report()["predicted_fields"] / 2**30)
        print(f"  {fields[1] - fields[0]:.2f}, {fields[2] - fields[0]:.2f} GiB")
        if not ON_DEVICE:
            self.assertLess(abs(fields[1] - fields[0] - 1.9), 0.15)
        self.assertGreater(fields[2] - fields[0], 2.5)

    @unittest.skipIf(ON_DEVICE, WHY)
    def test_systems_are_deflated_in_forecasts_as_in_the_run(self):
        for matrix, columns in (("laplace3d:48", 4), ("laplace3d:96", 20)):  # of the latter it keeps fewer pairs, by its limit
            job = ["solve", "--matrix", matrix, "--columns", columns, "--sloppy", "single", "--method", "cg", "--precond", "none", "--max-iter", "3",
                   "--report", "report.json"]
            self.succeeds(*job, "--dry-run")
            predicted = self.report()["predicted_peak"]
            self.succeeds(*job, status=1)  # three steps are too few
            actual = self.report()["peak_resident"]
            print(f"  {columns} columns: predicted {predicted / 2**20:.1f} MiB, actual {actual / 2**20:.1f} MiB (bound 10 %)")
            self.assertLess(abs(predicted / actual - 1), 0.10)

    def test_a_system_that_does_not_fit_is_refused_before_it_is_read(self):
        n = 300000
        with open(self.path("A.mtx"), "w") as f:
            f.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {2 * n - 1}\n")
            f.writelines(f"{i + 1} {i + 1} 2\n" + (f"{i + 2} {i + 1} -1\n" if i + 1 < n else "") for i in range(n))
        for matrix, more in (("laplace3d:80", []), ("laplace3d:80", ["--columns", "3", "--precond", "jacobi"]), ("A.mtx", ["--precond", "none"])):
            with self.subTest(matrix=matrix, more=more):
                job = ["solve", "--matrix", matrix, *more, "--max-iter", "5", "--output", "x.mtx"]
                said = self.refused(*job, "--memory-limit", "0.01", status=3,
                                    words=[matrix, "needs at least", "free within --memory-limit", "--columns"])
                self.assertNotIn("entries a row", said)
                needs, free = map(int, re.search(r"\((\d+) bytes\).*\((\d+) bytes\) are free", said).groups())
                self.assertEqual(free, int(0.01 * 2**30))
                code, out, err = system.kaon(*job, "--memory-limit", str(2.5 * needs / 2**30), cwd=self.folder)
                self.assertEqual(code, 1, out + err)  # five steps are too few
                self.assertIn("max-iterations", out)

    @unittest.skipIf(ON_DEVICE, WHY)
    def test_a_small_file_is_set_up_itself(self):
        """whatever its rows look like; an approximate inverse is left out, and said to be"""
        for n, more in ((100000, []), (3000, ["--format", "ell"]), (1000, ["--precond", "ainv", "--drop", "0"]), (1000, ["--precond", "fsai"]),
                        (100000, ["--columns", "4", "--sloppy", "single"])):
            with open(self.path("arrow.mtx"), "w", encoding="ascii") as file:
                file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {2 * n - 1}\n")
                file.writelines(f"{i + 1} {i + 1} {2 if i else n}\n" + (f"{i + 1} 1 -1\n" if i else "") for i in range(n))
            with self.subTest(more=more):
                job = ["solve", "--matrix", "arrow.mtx", *more, "--report", "report.json"]
                out = self.succeeds(*job, "--dry-run")
                predicted = self.report()
                inverse = "ainv" in more or "fsai" in more
                self.assertEqual(predicted["predicted_whole"], not inverse)
                self.assertIn("at least" if inverse else "about", out)
                self.succeeds(*job)
                actual = self.report()
                peak = actual["peak_resident"]
                off = predicted["predicted_peak"] - peak
                print(f"  {' '.join(more)}: actual {peak / 2**20:.1f} MiB, off by {100 * off / peak:+.1f} % (bound 10 %)")
                self.assertLess(off if inverse else abs(off), 0.10 * peak)

    def test_padding_that_does_not_fit_is_refused_before_it_is_filled_in(self):
        n = 40000
        with open(self.path("arrow.mtx"), "w", encoding="ascii") as file:
            file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {2 * n - 1}\n")
            file.writelines(f"{i + 1} {i + 1} {2 if i else n}\n" + (f"{i + 1} 1 -1\n" if i else "") for i in range(n))
        for more in ([], ["--dry-run"]):
            self.refused("solve", "--matrix", "arrow.mtx", "--format", "ell", "--memory-limit", "1", *more, status=3, words=["in ell, whose rows are all padded", "csr or auto"])
        self.succeeds("solve", "--matrix", "arrow.mtx", "--memory-limit", "1")

    def test_a_file_that_claims_more_rows_than_it_has_lines_is_refused(self):
        with open(self.path("huge.mtx"), "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n% a comment\n2000000000 2000000000 1\n1 1 1.0\n")
        self.refused("solve", "--matrix", "huge.mtx", "--memory-limit", "1", status=3, words=["huge.mtx", "needs at least", "free within --memory-limit"])

    def test_a_dry_run_of_what_cannot_fit_answers_and_ends_as_the_job_would(self):
        lattice = ["invert", "--gauge", "unit", "--lattice", "96", "96", "96", "192", "--kappa", "0.1", "--csw", "1", "--output", "p.lime"]
        for job, limit, size in ((lattice, [], "TiB"), (lattice, ["--memory-limit", "1"], "TiB"), (["solve", "--matrix", "laplace3d:1200", "--columns", "100"], [], "TiB"),
                                 (["invert", *system.SMALL], ["--memory-limit", "0.001"], "MiB"),
                                 (["solve", "--matrix", "laplace3d:60"], ["--memory-limit", "0.01"], "MiB")):
            with self.subTest(job=job, limit=limit):
                said = "free within --memory-limit" if limit else "are free;"
                out = self.succeeds(*job, *limit, "--dry-run", "--report", "report.json", status=3)
                self.assertIn(size, out)
                self.assertIn("needs ", out)
                self.assertIn(said, out)
                self.assertGreater(self.report()["predicted_fields"], 1e-3 * 2**30)
                os.remove(self.path("report.json"))
                self.refused(*job, *limit, status=3, words=["needs ", said])

    def test_a_dry_run_of_ranks_knows_of_the_limit_alone(self):
        job = ["invert", "--gauge", "unit", "--lattice", "96", "96", "96", "192", "--kappa", "0.1", "--csw", "1", "--grid", "2", "2", "2", "2", "--dry-run"]
        self.assertNotIn("--batch", self.succeeds(*job))  # the ranks may have machines of their own
        self.assertIn("free within --memory-limit", self.succeeds(*job, "--memory-limit", "1", status=3))

    def test_a_dry_run_reads_the_extents_of_a_file(self):
        name = system.data("milc", "milc_lat.sample.l8888")
        out = self.succeeds("invert", "--gauge", name, "--kappa", "0.1", "--csw", "1", "--dry-run")
        self.assertIn("8x8x8x8", out)


if __name__ == "__main__":
    system.main()
