"""What must not be lost, overwritten or called right by mistake: links off SU(3), trial runs, files that cannot be written, odd names."""
import math
import os
import shutil
import signal
import time
import unittest
import unittest.mock

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
            self.assertIn("8 reals a link", said)

    def test_a_dry_run_ignores_what_it_does_not_read(self):
        problem = self.rounded()
        self.succeeds("invert", *problem, "--ignore-checksum", "--dry-run")

    def test_a_dry_run_leaves_unfinished_output_alone(self):
        # A quark so heavy that two steps converge, and batches, after which finished columns are kept.
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

    def test_numbers_without_gnuplot_spare_a_file_that_is_not_theirs(self):
        heavy = ["--gauge", "unit", "--lattice", 4, 4, 4, 4, "--kappa", "0.1", "--csw", "0", "--columns", 1, "--plot", "p.png"]
        for mine, theirs in ((b"a table of mine\n", "p.png.csv"), (b"iteration,column 0\n0,1\n", "p.csv"), (None, "p.csv")):
            for name in ("p.csv", "p.png.csv"):
                if os.path.exists(self.path(name)):
                    os.remove(self.path(name))
            if mine is not None:
                with open(self.path("p.csv"), "wb") as file:
                    file.write(mine)
            with unittest.mock.patch.dict(os.environ, PATH=self.folder):
                self.assertIn(f"{theirs}, which has the numbers", self.succeeds("invert", *heavy))
            self.assertTrue(self.read(theirs).startswith(b"iteration,column 0\n0,1.0"), self.read(theirs)[:60])
            if theirs != "p.csv":
                self.assertEqual(self.read("p.csv"), mine)

        for name in ("p.csv", "p.png.csv"):
            with open(self.path(name), "wb") as file:
                file.write(b"a table of mine\n")
        with unittest.mock.patch.dict(os.environ, PATH=self.folder):
            self.assertIn("nor were its numbers written", self.succeeds("invert", *heavy, status=3))
        self.assertEqual((self.read("p.csv"), self.read("p.png.csv")), (b"a table of mine\n", b"a table of mine\n"))

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

    def test_products_that_would_overflow_do_not(self):
        # (p, A p) is infinite where A and b are of 1e150, but for the power of 2 that b is solved times.
        with open(self.path("a.mtx"), "w", encoding="ascii") as file:
            file.write("%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n")
            file.write("1 1 2e150\n2 1 -1e150\n2 2 2e150\n3 2 -1e150\n3 3 2e150\n")
        for method in ("cg", "chrongear", "groppcg", "pipecg"):
            self.succeeds("solve", "--matrix", "a.mtx", "--method", method, "--max-iter", 1000, "--report", "r.json")
            self.assertLess(self.report("r.json")["solves"][0]["residual"], 1.1e-8)
        self.succeeds("solve", "--matrix", "a.mtx", "--method", "cg", "--precond", "jacobi")

    def test_fields_of_another_group_are_refused(self):
        self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--format", "ildg", "--output", "c.lime")
        whole = self.read("c.lime")
        self.assertEqual(whole.count(b"su3gauge"), 1)
        with open(self.path("c.lime"), "wb") as file:
            file.write(whole.replace(b"su3gauge", b"su2gauge"))
        self.refused("gauge", "c.lime", words=["su2gauge"])

    def test_a_pipe_is_no_tuning_file(self):
        os.mkfifo(self.path("pipe"))
        self.refused("invert", *SMALL, "--tuning", "pipe", words=["no ordinary file"])

    def test_a_file_called_cold_is_named_so_that_it_is_read(self):
        self.assertIn("--start ./cold ", self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--output", "cold"))

    def matrix(self, name, rows, entries):
        """entries: {(i, j): value}, counted from 0."""
        with open(self.path(name), "w") as file:
            file.write(f"%%MatrixMarket matrix coordinate real general\n{rows} {rows} {len(entries)}\n")
            file.writelines(f"{i + 1} {j + 1} {v!r}\n" for (i, j), v in entries.items())
        return ["solve", "--matrix", name, "--backend", "cpu"]

    def vector(self, name, numbers):
        with open(self.path(name), "w") as file:
            file.write(f"%%MatrixMarket matrix array real general\n{len(numbers)} 1\n")
            file.writelines(f"{x!r}\n" for x in numbers)
        return ["--rhs", name]

    def test_single_precision_refuses_what_it_does_not_hold(self):
        job = self.matrix("one.mtx", 8, {(i, i): 1.0 for i in range(8)})
        tiny, third = self.vector("tiny.mtx", [1e-50] * 8), self.vector("third.mtx", [1 / 3] * 8)
        self.refused(*job, *tiny, "--precision", "single", "--tol", "1e-4", words=["1e-50", "power of 2"])
        self.refused(*job, *third, "--precision", "single", "--tol", "1e-9", words=["rounds 3e-08", "--tol 1e-09"])
        self.succeeds(*job, *third, "--precision", "single", "--tol", "1e-6")
        self.succeeds(*job, *tiny, "--precision", "double")

    def test_single_precision_cannot_converge_below_its_rounding(self):
        # x is rounded for a user of single precision, and every residual that --stop may choose is of that x.
        for stop in ("full", "schur", "normal"):
            for sloppy in ("single", "half"):
                with self.subTest(stop=stop, sloppy=sloppy):
                    problem = [*SMALL, "--columns", 1, "--precision", "single", "--sloppy", sloppy, "--stop", stop]
                    self.succeeds("invert", *problem, "--tol", "1e-10", "--report", "r.json", status=1)
                    solve = self.report("r.json")["solves"][0]
                    self.assertEqual(solve["status"], "stagnated")
                    self.assertGreater(solve.get("stop_residual", solve["residual"]), 2.0 ** -28)
                    self.succeeds("invert", *problem, "--tol", "1e-6", "--report", "r.json")
                    solve = self.report("r.json")["solves"][0]
                    self.assertLessEqual(solve.get("stop_residual", solve["residual"]), 1.1e-6)

    def test_single_precision_is_judged_by_b_as_it_was_posed(self):
        # b = A * ones and b of a file are rounded before the solver sees them, and the residual is of what they were.
        n, rows = 60, []
        for i in range(n):
            rows += [(i, j, (4.1 + 0.37 * i if i == j else -1.0 / (3 + (7 * i + 3 * j) % 11))) for j in range(max(0, i - 3), i + 1)]
        with open(self.path("a.mtx"), "w", encoding="ascii") as file:
            file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(rows)}\n")
            file.writelines(f"{i + 1} {j + 1} {a:.17g}\n" for i, j, a in rows)
        A = [[0.0] * n for _ in range(n)]
        for i, j, a in rows:
            A[i][j] = A[j][i] = a
        b = [math.sin(i + 1) for i in range(n)]
        with open(self.path("b.mtx"), "w", encoding="ascii") as file:
            file.write(f"%%MatrixMarket matrix array real general\n{n} 1\n" + "".join(f"{x:.17g}\n" for x in b))
        ends = set()
        for rhs, right in (("A*ones", [sum(row) for row in A]), ("b.mtx", b)):
            for tol in (1e-7, 5e-8, 3e-8, 2.5e-8):
                with self.subTest(rhs=rhs, tol=tol):
                    code, _, said = system.kaon("solve", "--matrix", "a.mtx", "--rhs", rhs, "--precision", "single", "--tol", tol, "--method",
                                                "cg", "--report", "r.json", "--output", "x.mtx", cwd=self.folder)
                    if code == 2:
                        self.assertIn("single precision rounds", said)
                        continue
                    solve = self.report("r.json")["solves"][0]
                    self.assertEqual((code, solve["status"]) == (0, "converged"), solve["residual"] <= 1.1 * tol, solve)
                    ends.add(code)
                    if code == 0:
                        x = [float(line) for line in self.read("x.mtx").decode().splitlines()[2:]]
                        r = [y - sum(a * z for a, z in zip(row, x)) for row, y in zip(A, right)]
                        true = math.sqrt(sum(z * z for z in r) / sum(y * y for y in right))
                        self.assertLess(abs(true / solve["residual"] - 1), 1e-6)
                    else:
                        self.assertEqual(solve["status"], "stagnated")
                        self.assertIn("rounding of b and x", said)
        self.assertEqual(ends, {0, 1})

    def test_ones_meet_the_matrix_and_not_what_single_holds_of_it(self):
        # Neumann's Laplacian plus 1e-6: rows sum to 1e-6, of which the rounding of 2 + 1e-6 in single precision takes a tenth.
        n = 40
        entries = {(i, i): (1 if i in (0, n - 1) else 2) + 1e-6 for i in range(n)}
        entries.update({(i, i + s): -1.0 for i in range(n) for s in (-1, 1) if 0 <= i + s < n})
        job = self.matrix("m.mtx", n, entries)
        self.succeeds(*job, "--rhs", "A*ones", "--precision", "single", "--tol", "1e-3", "--output", "x.mtx")
        x = [float(v) for v in self.read("x.mtx").decode().splitlines()[-n:]]
        r = [1e-6 - sum(entries.get((i, j), 0) * x[j] for j in (i - 1, i, i + 1) if 0 <= j < n) for i in range(n)]
        residual = math.sqrt(sum(v * v for v in r) / n) / 1e-6
        print(f"  |b - A x| / |b| by hand {residual:.1e} (bound 1.1e-3, and b in single)")
        self.assertLess(residual, 1.2e-3)

    def test_a_residual_that_grows_first_is_no_divergence(self):
        # D T D, T = tridiag(-1, 2.1, -1): with Jacobi, CG sees T alone, but |r| is weighted by D, whose numbers differ by 1e6.
        n = 64
        d = [10.0**(-1.5 * (i * 7 % 5)) for i in range(n)]
        entries = {(i, j): (2.1 if i == j else -1) * d[i] * d[j] for i in range(n) for j in (i - 1, i, i + 1) if 0 <= j < n}
        job = self.matrix("scaled.mtx", n, entries)
        self.succeeds(*job, "--rhs", "ones", "--method", "cg", "--precond", "jacobi", "--history", "h.csv")
        rows = [float(line.split(",")[1]) for line in self.read("h.csv").decode().splitlines()[1:]]
        print(f"  |r| grew to {max(rows):.2e} |b| (refused before from 1e4 on)")
        self.assertGreater(max(rows), 1e4)

    def test_rows_of_other_scales_are_no_singular_block(self):
        job = self.matrix("scales.mtx", 4, {(i, i): 1e-15 if i == 0 else 1.0 for i in range(4)})
        self.succeeds(*job, "--rhs", "ones", "--precond", "block-jacobi")

    def test_permutations_end(self):
        job = self.matrix("one.mtx", 8, {(i, i): 1.0 for i in range(8)})
        with open(self.path("endless"), "wb") as file:
            file.write(b"\0" * 20000)
        self.refused(*job, "--method", "cgmnc", "--permutation", "endless", words=["longer than"])
        self.refused(*job, "--method", "cgmnc", "--permutation", "/dev/full", words=["no ordinary file"])


if __name__ == "__main__":
    system.main()
