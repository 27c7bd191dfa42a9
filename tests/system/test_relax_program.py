"""kaon solve, info and bench by relaxation: counts, what reports say of blocks and lags, warnings, refusals."""
import json
import math
import os
import unittest

import system

# (matrix, arguments) -> iterations to 1e-8 (b = 1, x = 0)
COUNTS = {
    ("fv1.mtx", "--method", "jacobi"): 116,
    ("fv1.mtx", "--method", "gs"): 63,
    ("fv1.mtx", "--method", "two-stage"): 37,  # blocks of 448, 5 sweeps: the defaults
    ("Trefethen_2000.mtx", "--method", "two-stage", "--block", "128"): 22,
    ("Chem97ZtZ.mtx", "--method", "gs"): 35,
}


class Relax(system.Case):
    def solve(self, *arguments, rhs="ones", status=0):
        self.succeeds("solve", "--rhs", rhs, *arguments, "--report", "report.json", status=status)
        return self.report()

    def test_steps_that_are_too_long_within_blocks_are_named(self):
        """the spectrum of 1 - D^-1 A is that of --omega 1"""
        for method in ("two-stage", "async"):
            code, _, err = system.kaon("solve", "--matrix", "laplace2d:20", "--method", method, "--omega", "1.1", "--threads", "1", "--no-fallback")
            self.assertEqual(code, 1)
            self.assertIn(f"warning: {method} may diverge: --omega 1.1 lengthens every update", err)
            self.assertIn("leave --omega out; or try --method", err.splitlines()[-1])
            self.succeeds("solve", "--matrix", "laplace2d:20", "--method", method, "--threads", "1")

    def test_counts(self):
        for (matrix, *arguments), expected in COUNTS.items():
            path = system.data("sparse", matrix)
            report = self.solve("--matrix", path, *arguments)
            self.assertEqual(report["solves"][0]["iterations"], expected, (matrix, arguments))
            self.assertEqual(report["method"], arguments[1])

    def test_asynchronous_blocks_report_their_lags(self):
        for driver, lag in (("launch", 0), ("free", 3)):
            extra = ["--lag", str(lag)] if driver == "free" else []
            report = self.solve("--matrix", "trefethen:600", "--method", "async", "--block", "50", "--local-sweeps", "3",
                                "--async-driver", driver, "--threads", "2", *extra)
            r = report["relaxation"]
            self.assertEqual(report["solves"][0]["status"], "converged")
            self.assertEqual((r["blocks"], r["block"], r["local_sweeps"], r["driver"]), (12, 50, 3, driver))
            self.assertGreater(r["asynchronous"], 0)
            self.assertEqual(min(map(int, r["shifts"])), r["newest"])
            self.assertEqual(max(map(int, r["shifts"])), r["oldest"])
            self.assertLessEqual(r["oldest"], lag)
            self.assertGreaterEqual(r["updates"], 12)

    def test_colours_are_few_levels(self):
        rows = self.solve("--matrix", "laplace2d:30", "--method", "gs", "--max-iter", "5000")
        colours = self.solve("--matrix", "laplace2d:30", "--method", "gs", "--coloring", "--max-iter", "5000")
        self.assertEqual(rows["relaxation"]["levels"], 59)
        self.assertEqual((colours["relaxation"]["colours"], colours["relaxation"]["levels"]), (2, 2))
        sor = self.solve("--matrix", "laplace2d:30", "--method", "sor", "--omega", "1.8")
        self.assertLess(sor["solves"][0]["iterations"], rows["solves"][0]["iterations"] / 5)

    def test_divergence_is_warned_of_and_reported(self):
        with open(self.path("A.mtx"), "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n3 3 9\n" +
                       "".join(f"{i} {j} {3 if i == j else 2}\n" for i in (1, 2, 3) for j in (1, 2, 3)))
        code, out, err = system.kaon("solve", "--matrix", "A.mtx", "--rhs", "ones", "--method", "jacobi", "--spectrum",
                                   "--no-fallback", "--report", "report.json", cwd=self.folder)
        self.assertEqual(code, 1, out + err)
        self.assertIn("warning: jacobi will diverge", err)
        report = self.report()
        self.assertEqual(report["solves"][0]["status"], "diverging")
        self.assertAlmostEqual(report["spectrum"]["rho"], 4 / 3, places=6)
        self.assertAlmostEqual(report["spectrum"]["tau"], 2 / (1 / 3 + 7 / 3), places=6)
        for method, warned in (("jacobi", True), ("two-stage", True), ("async", True), ("gs", False)):
            block = ["--block", "1"] if method in ("two-stage", "async") else []
            _, _, err = system.kaon("solve", "--matrix", "A.mtx", "--rhs", "ones", "--method", method, *block, cwd=self.folder)
            self.assertEqual("will diverge" in err, warned, (method, err))
        with open(self.path("B.mtx"), "w", encoding="utf-8") as file:  # not Hermitian: |B| says nothing for sure
            file.write("%%MatrixMarket matrix coordinate real general\n3 3 9\n" +
                       "".join(f"{i} {j} {3 if i == j else 2 if i < j else 2.1}\n" for i in (1, 2, 3) for j in (1, 2, 3)))
        _, _, err = system.kaon("solve", "--matrix", "B.mtx", "--rhs", "ones", "--method", "jacobi", cwd=self.folder)
        self.assertIn("warning: jacobi may diverge", err)
        self.assertIn("take gcr or bicgstab", err)
        report = self.solve("--matrix", "A.mtx", "--method", "jacobi", "--tau", "0")
        self.assertIsNone(report.get("spectrum"))
        self.assertEqual(report["solves"][0]["status"], "converged")
        self.assertAlmostEqual(report["relaxation"]["tau"], 0.75, places=6)
        self.succeeds("info", "--matrix", "A.mtx", "--spectrum", "--report", "info.json")
        self.assertAlmostEqual(self.report("info.json")["spectrum"]["rho_absolute"], 4 / 3, places=4)
        self.refused("info", "--spectrum", words=["--spectrum is for --matrix"])

    def test_radii_that_are_below_one_by_too_few_steps_promise_nothing(self):
        """off-diagonal -c of 1: the radius of B is 2 c cos(pi / (n + 1)), of which an estimate is below 1 for long"""
        def chain(n, c):
            with open(self.path("A.mtx"), "w", encoding="utf-8") as file:
                file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {2 * n - 1}\n" + "".join(f"{i} {i} 1\n" for i in range(1, n + 1)) +
                           "".join(f"{i + 1} {i} {-c}\n" for i in range(1, n)))

        def told(*arguments):
            code, out, err = system.kaon("solve", "--matrix", "A.mtx", "--rhs", "ones", *arguments, "--max-iter", "100", "--no-fallback", cwd=self.folder)
            self.assertEqual(code, 1, out + err)
            return out + err
        chain(1000, 0.5002)
        out = self.succeeds("info", "--matrix", "A.mtx", "--spectrum", "--report", "info.json")
        self.assertIn("1 - D^-1 A: 1 or more, about 1.0000, for A is not positive definite", out)
        self.assertIn("of |B|: about 1.0004, at most 1.0004", out)
        self.assertEqual([self.report("info.json")["spectrum"][key] for key in ("hermitian", "indefinite")], [False, True])
        for method in ("jacobi", "gs", "sor"):
            out = told("--method", method, "--spectrum")
            self.assertIn(f"warning: {method} will not converge for most right-hand sides", out)
            self.assertIn("not positive definite, so the spectral radius", out)
            self.assertIn("give --method cgnr", out)
        self.succeeds("solve", "--matrix", "A.mtx", "--rhs", "ones", "--method", "gcr", "--precond", "ilu0")
        self.assertRegex(told("--method", "jacobi"), r"warning: jacobi may diverge: .* is at least 0\.99\d\d, with an error of 0\.00\d+ left after \d+ products")
        chain(20000, 0.5000002)  # not seen to be indefinite
        out = self.succeeds("info", "--matrix", "A.mtx", "--spectrum")
        self.assertIn("at least 1.0000, but the estimate's error is", out)
        self.assertNotIn("converges", out.replace("nothing says that asynchronous iteration converges", ""))
        chain(1000, 0.48)
        out = told("--method", "jacobi", "--spectrum")
        self.assertIn("at least 0.9600; of |B|: at least 0.9600, at most 0.9600, so asynchronous iteration converges whatever the order", out)
        self.assertNotIn("warning", out)

    def test_singular_matrices_are_warned_of_by_the_step_in_use(self):
        """line of n points, open: D^-1 A has 1 - cos(pi k / (n - 1)), k = 0 ... n - 1, so 1 - D^-1 A has -1 and 1"""
        def line(n):
            rows = [f"{i} {i} {1 if i in (1, n) else 2}\n" for i in range(1, n + 1)] + [f"{i + 1} {i} -1\n" for i in range(1, n)]
            with open(self.path("A.mtx"), "w", encoding="utf-8") as file:
                file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {2 * n - 1}\n" + "".join(rows))
            with open(self.path("b.mtx"), "w", encoding="utf-8") as file:  # its sum is 0, so there are solutions
                file.write(f"%%MatrixMarket matrix array real general\n{n} 1\n" + "".join(f"{(-1) ** (i // 2)}\n" for i in range(n)))

        def told(*arguments):
            code, out, err = system.kaon("solve", "--matrix", "A.mtx", "--rhs", "b.mtx", *arguments, "--max-iter", "20000", "--report",
                                         "report.json", cwd=self.folder)
            return code, out + err
        for n in (4, 8, 20, 32):
            line(n)
            out = self.succeeds("info", "--matrix", "A.mtx", "--spectrum", "--report", "info.json")
            spectrum, second = self.report("info.json")["spectrum"], 1 - math.cos(math.pi / (n - 1))
            self.assertEqual((spectrum["hermitian"], spectrum["indefinite"], spectrum["low"]), (True, False, 0))
            for key, expected in (("high", 2), ("rho", 1), ("rho_absolute", 1), ("tau", 2 / (2 + second))):
                self.assertAlmostEqual(spectrum[key], expected, places=9)
            self.assertIn("eigenvalues of D^-1 A: 0 to rounding, for A is singular, and from", out)
            self.assertIn("at least 1.0000, so Jacobi's iteration does not converge for most right-hand sides", out)
            for more in (["--tau", "0"], ["--tau", "0.9"], ["--tau", "0", "--spectrum"], ["--tau", "0.9", "--spectrum"]):
                code, out = told("--method", "jacobi", *more)
                self.assertEqual((code, "warning" in out), (0, False), out)
            for tau, words in (("1", "will not converge for most right-hand sides: the spectral radius of 1 - tau D^-1 A is at least 1.0000"),
                               ("1.5", "will diverge: the spectral radius of 1 - tau D^-1 A is at least 2.0000")):
                code, out = told("--method", "jacobi", "--tau", tau, "--spectrum")
                self.assertIn(f"warning: jacobi {words}; give --tau 0", out)
            code, out = told("--method", "cg", "--precond", "chebyshev")
            self.assertEqual(code, 0, out)
            low, high = (self.report()["preconditioner"][key] for key in ("low", "high"))
            self.assertTrue(high <= 2.2 + 1e-9 and high / 30 - 1e-9 <= low <= 0.9 * high + 1e-9, (low, high))
        with open(self.path("A.mtx"), "w", encoding="utf-8") as file:  # a triangle: 0 and 1.5, so 1 - D^-1 A has 1 and -0.5
            file.write("%%MatrixMarket matrix coordinate real symmetric\n3 3 6\n1 1 2\n2 2 2\n3 3 2\n2 1 -1\n3 1 -1\n3 2 -1\n")
        with open(self.path("b.mtx"), "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix array real general\n3 1\n1\n2\n-3\n")
        self.assertIn("at least 1.0000: Jacobi's iteration converges where A x = b has solutions", self.succeeds("info", "--matrix", "A.mtx", "--spectrum"))
        code, out = told("--method", "jacobi")
        self.assertEqual((code, "warning" in out), (0, False), out)

    def test_too_few_steps_get_advice_that_is_taken(self):
        """relaxation takes no --precond; one that diverges is not helped by more steps"""
        for method in ("jacobi", "gs", "async"):
            out = self.succeeds("solve", "--matrix", "laplace2d:16", "--method", method, "--max-iter", "3", status=1)
            self.assertIn("max-iterations: --max-iter allows more steps; --method cg may need fewer", out)
        out = self.succeeds("solve", "--matrix", "elasticity:4", "--method", "jacobi", "--max-iter", "3", status=1)
        self.assertIn("jacobi will diverge", out)
        self.assertIn("max-iterations: relaxation does not converge for this matrix", out)
        self.assertNotIn("--max-iter allows", out)
        self.succeeds("solve", "--matrix", "elasticity:4", "--method", "cg")

    def test_options_of_other_methods_are_refused(self):
        for arguments, words in ((("--method", "cg", "--block", "10"), "--block is for --method two-stage and async"),
                                 (("--method", "jacobi", "--coloring"), "--coloring is for --method gs, sor, kaczmarz"),
                                 (("--method", "two-stage", "--lag", "2"), "--lag is for --method async"),
                                 (("--method", "gs", "--precond", "jacobi"), "takes no preconditioner"),
                                 (("--method", "async", "--block", "5000"), "--block")):
            code, out, err = system.kaon("solve", "--matrix", "laplace2d:5", *arguments, cwd=self.folder)
            self.assertEqual(code, 2 if "--precond" not in arguments else code, out + err)
            self.assertNotEqual(code, 0)
            self.assertIn(words, err)

    # --- faults ---

    FAULTED = ["--matrix", "trefethen:600", "--method", "async", "--block", "32", "--threads", "1"]

    def test_lost_rows_are_reported_and_given_back(self):
        plain = self.solve(*self.FAULTED)
        self.assertIsNone(plain["relaxation"]["faults"])
        whole = plain["solves"][0]["iterations"]
        for more, (begin, back, by_monitor) in ((["--fault-recovery", "10", "--fault-begin", "5"], (5, 15, False)), ([], (10, None, True)),
                                                (["--fault-kind", "block"], (10, None, True))):
            out = self.succeeds("solve", "--rhs", "ones", *self.FAULTED, "--fault-share", "0.25", *more, "--report", "report.json")
            report = self.report()
            f = report["relaxation"]["faults"]
            self.assertEqual(report["solves"][0]["status"], "converged")
            self.assertGreaterEqual(report["solves"][0]["iterations"], whole)
            self.assertEqual((f["share"], f["frozen"], f["frozen_at"], f["restored_by_monitor"]), (0.25, 150, begin, by_monitor))
            self.assertEqual(f["kind"], "block" if "block" in more else "rows")
            self.assertGreaterEqual(f["alarms"], 1)
            if back:
                self.assertEqual(f["restored_at"], back)
            self.assertIn(f"lost: 150 rows from iteration {begin} on, updated again from iteration {f['restored_at']}, by ", out)
            self.assertIn(f"found: {f['alarms']} alarm", out)

    def test_lost_rows_that_are_never_given_back_keep_it_from_converging(self):
        out = self.succeeds("solve", "--rhs", "ones", *self.FAULTED, "--fault-share", "0.25", "--no-repair", "--max-iter", "200",
                            "--report", "report.json", status=1)
        f = self.report()["relaxation"]["faults"]
        self.assertEqual((f["restored_at"], f["rollbacks"], f["repair"]), (-1, 0, False))
        self.assertIn("never updated again", out)
        self.assertIn("give --fault-recovery, or leave --no-repair out", out)

    def test_flipped_bits_are_counted_and_repaired(self):
        seeds = {}
        for seed in ("1", "2"):
            report = self.solve(*self.FAULTED, "--flip-rate", "2e-3", "--fault-seed", seed)
            f = report["relaxation"]["faults"]
            self.assertEqual(report["solves"][0]["status"], "converged")
            self.assertGreater(f["flips"], 10)
            self.assertEqual((f["seed"], f["frozen_at"]), (int(seed), -1))
            seeds[seed] = (report["solves"][0]["residual"], f["rollbacks"])
        self.assertNotEqual(seeds["1"], seeds["2"])
        self.assertGreater(seeds["1"][1] + seeds["2"][1], 0)
        few = self.solve(*self.FAULTED, "--flip-rate", "2e-3", "--flip-begin", "4", "--flip-end", "6")["relaxation"]["faults"]
        self.assertIn(few["flips"], (2, 3, 4))  # 1.2 an iteration

    def test_faults_without_effect_are_refused(self):
        small = ["--matrix", "laplace2d:5"]
        faulted = [*small, "--method", "async", "--block", "5"]
        for words, arguments in ((["--fault-share", "two-stage and async", "is jacobi"], [*small, "--method", "jacobi", "--fault-share", "0.1"]),
                                 (["--flip-rate", "two-stage and async", "not given"], [*small, "--precond", "two-stage", "--flip-rate", "0.1"]),
                                 (["--fault-kind", "without --fault-share"], [*faulted, "--fault-rank", "0", "--fault-kind", "block"]),
                                 (["--fault-begin", "--fault-share or --fault-rank"], [*faulted, "--flip-rate", "0.1", "--fault-begin", "3"]),
                                 (["--fault-recovery", "--fault-share or --fault-rank"], [*faulted, "--fault-recovery", "3"]),
                                 (["--flip-begin", "--flip-rate"], [*faulted, "--fault-share", "0.1", "--flip-begin", "3"]),
                                 (["--flip-end 3", "--flip-begin 3"], [*faulted, "--flip-rate", "0.1", "--flip-begin", "3", "--flip-end", "3"]),
                                 (["--no-repair", "no effect"], [*faulted, "--no-repair"]),
                                 (["--fault-seed", "no effect"], [*faulted, "--fault-seed", "3"]),
                                 (["--fault-rank 0", "--fault-share 0.1"], [*faulted, "--fault-rank", "0", "--fault-share", "0.1"]),
                                 (["rank 3", "1 ranks"], [*faulted, "--fault-rank", "3"]),
                                 (["--fault-share", "between"], [*faulted, "--fault-share", "0"]),
                                 (["--flip-rate", "between"], [*faulted, "--flip-rate", "1.5"])):
            with self.subTest(arguments=arguments):
                self.refused("solve", *arguments, words=words)

    def test_bench_faults_takes_other_faults(self):
        out = self.succeeds("bench", "faults", "--matrix", "trefethen:300", "--block", "50", "--threads", "1", "--fault-share", "0.1", "--fault-kind", "block",
                            "--fault-begin", "5", "--fault-recovery", "4", "--flip-rate", "1e-4", "--json", "rows.json")
        self.assertIn("10 % of the rows frozen from iteration 5 on", out)
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        back = [(row["share"], row["begin"], row["recovery"], row["repair"]) for row in rows if row["bench"] == "faults-recovery"]
        self.assertEqual(back, [(0, 5, 0, 0), (0.1, 5, 4, 0), (0.1, 5, 0, 1), (0.1, 5, 0, 0)])
        self.assertEqual([(row["flip_rate"], row["repair"]) for row in rows if row["bench"] == "faults-flips"], [(1e-4, 0), (1e-4, 1)])
        for words, arguments in ((["--no-repair", "with and without"], ["--no-repair"]), (["--fault-rank is 1", "0 to 0"], ["--fault-rank", "1"]),
                                 (["--flip-end 3", "--flip-begin 3"], ["--flip-begin", "3", "--flip-end", "3"])):
            with self.subTest(arguments=arguments):
                code, _, err = system.kaon("bench", "faults", "--matrix", "laplace2d:5", *arguments)
                self.assertNotEqual(code, 0)
                for word in words:
                    self.assertIn(word, err)
        self.refused("bench", "async", "--fault-share", "0.1", words=["--fault-share", "bench async"])

    # --- rows in an order of one's own ---

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        return name

    def test_a_permutation_is_the_order_of_a_sweep(self):
        rows = 144
        self.write("forward.txt", ["# as they stand", "% the same", "", *range(1, rows + 1)])
        self.write("mixed.txt", [1 + i * 7 % 144 for i in range(144)])
        for method in (["kaczmarz", "--max-iter", "5000", "--tol", "1e-2"], ["cgmnc"], ["carpcg", "--carp-blocks", "5"], ["carpcg", "--carp-blocks", "5", "--coloring"]):
            common = ["--matrix", "laplace2d:12", "--method", *method]
            by_number = ["--carp-rows", "consecutive"] if method[0] == "carpcg" else []
            plain, same, other = (self.solve(*common, *more) for more in (by_number, ["--permutation", "forward.txt"], ["--permutation", "mixed.txt"]))
            self.assertEqual(plain["solves"], same["solves"])
            self.assertNotEqual(plain["solves"][0]["residual"], other["solves"][0]["residual"])
            self.assertEqual(other["solves"][0]["status"], "converged")
            self.assertIsNone(plain["projections"]["permutation"])
            self.assertEqual((other["projections"]["order"], other["projections"]["permutation"]), ("permutation", "mixed.txt"))
        # of the rows as the caller has them, whatever order they are kept in
        kept = self.solve("--matrix", "laplace2d:12", "--method", "cgmnc", "--permutation", "mixed.txt", "--ordering", "rcm")
        self.assertEqual(kept["solves"][0]["iterations"], self.solve("--matrix", "laplace2d:12", "--method", "cgmnc", "--permutation", "mixed.txt")["solves"][0]["iterations"])
        self.succeeds("solve", "--matrix", "laplace2d:12", "--method", "cgmnc", "--permutation", "mixed.txt", "--dry-run")

    def test_wrong_permutations_are_refused_by_line(self):
        right = list(range(1, 26))
        for lines, words in ((right[:-1], ["24 row numbers", "25 rows"]), ([*right, 7], ["26 row numbers", "25 rows"]), ([], ["0 row numbers", "25 rows"]),
                             ([*right[:-1], 3], ["line 25", "row 3 was on line 3"]), ([0, *right[1:]], ["line 1", "0 is not a row", "1 to 25"]),
                             (["# a", *right[:-1], 26], ["line 26", "26 is not a row", "1 to 25"]), ([-2], ["line 1", "-2 is not a row"]),
                             ([1, 2, "three"], ["line 3", "'three'"]), (["1 2"], ["line 1", "'1 2'"]), (["1.5"], ["line 1", "'1.5'"]),
                             ([1, "9" * 40], ["line 2", "is not a row"]), (["1\0 2"], ["line 1", "'1'"])):
            with self.subTest(words=words):
                self.write("order.txt", lines)
                for more in ([], ["--dry-run"]):
                    self.refused("solve", "--matrix", "laplace2d:5", "--method", "cgmnc", "--permutation", "order.txt", *more, words=["--permutation order.txt", *words])
        self.write("A.mtx", ["%%MatrixMarket matrix coordinate real symmetric", "30 30 30", *(f"{i} {i} 1" for i in range(1, 31))])
        for matrix, rows in (("A.mtx", 30), ("elasticity:5", 300), ("fem:2,1,1", 30), ("cavity3d:4", 64), ("banded:50,3", 50)):
            with self.subTest(matrix=matrix):  # a dry run knows how many rows there are
                job = ["solve", "--matrix", matrix, "--method", "cgmnc", "--permutation", "order.txt", "--dry-run"]
                self.write("order.txt", list(range(rows, 0, -1)))
                self.succeeds(*job)
                self.write("order.txt", list(range(rows - 1, 0, -1)))
                self.refused(*job, words=[f"{rows - 1} row numbers", f"has {rows} rows"])
        os.mkdir(self.path("folder"))
        self.write("order.txt", right)
        for arguments, words in ((["cgmnc", "--permutation", "folder"], ["--permutation folder", "no ordinary file"]),
                                 (["cgmnc", "--permutation", "none.txt"], ["--permutation none.txt", "no such file"]),
                                 (["cgmnc", "--permutation", "order.txt", "--coloring"], ["--permutation", "--coloring"]),
                                 (["kaczmarz", "--permutation", "order.txt", "--sweep-order", "random"], ["--permutation", "--sweep-order"]),
                                 (["cimmino", "--permutation", "order.txt"], ["--permutation", "kaczmarz, cgmnc and carpcg", "is cimmino"]),
                                 (["cg", "--permutation", "order.txt"], ["--permutation", "kaczmarz, cgmnc and carpcg", "is cg"]),
                                 (["cgmnc", "--carp-rows", "near"], ["--carp-rows", "carpcg", "is cgmnc"]),
                                 (["carpcg", "--carp-rows", "near", "--permutation", "order.txt"], ["--carp-rows", "--permutation", "leave one out"]),
                                 (["cgmnc", "--permutation", "order.txt", "--output", "order.txt"], ["--permutation", "--output"])):
            with self.subTest(arguments=arguments):
                self.refused("solve", "--matrix", "laplace2d:5", "--method", *arguments, words=words)

    @unittest.skipIf(system.SLOWED, "sanitizers watch")
    def test_blocks_of_near_rows_have_few_copies(self):
        shares = {}
        for rows in ("near", "consecutive"):
            report = self.solve("--matrix", "fem:1,3,3", "--method", "carpcg", "--tol", "1e-9", "--max-iter", "100000", "--carp-rows", rows, rhs="own")
            shares[rows] = (report["projections"]["copies"], report["solves"][0]["iterations"])
            self.assertEqual(report["projections"]["block_rows"], rows)
            self.assertEqual(report["solves"][0]["status"], "converged")
        self.assertLess(shares["near"][0], shares["consecutive"][0])
        self.assertLess(shares["near"][1], shares["consecutive"][1])
        self.assertIn("blocks of consecutive rows", self.succeeds("solve", "--matrix", "laplace2d:20", "--method", "carpcg", "--carp-rows", "consecutive"))

    def test_random_orders_go_by_the_seed(self):
        first, second = (self.solve("--matrix", "laplace2d:12", "--method", "cgmnc", "--sweep-order", "random", "--seed", seed) for seed in "34")
        self.assertNotEqual(first["solves"][0]["residual"], second["solves"][0]["residual"])
        self.assertEqual((first["projections"]["seed"], second["projections"]["seed"]), (3, 4))

    # --- as preconditioners ---

    def test_sweeps_precondition(self):
        matrix = ["--matrix", "laplace3d:12", "--threads", "1"]
        alone = self.succeeds("solve", *matrix, "--report", "report.json") and self.report()["solves"][0]["iterations"]
        self.write("order.txt", [1 + i * 7 % 1728 for i in range(1728)])
        # the method that is chosen, and its steps over those of cg alone
        for precond, more, method, share in (("jacobi-sweeps", [], "cg", 0.7), ("jacobi-sweeps", ["--sweeps", "1", "--tau", "0"], "cg", 1.01),
                                             ("gs-sweeps", ["--coloring"], "bicgstab", 0.6), ("sor-sweeps", ["--omega", "1.2"], "bicgstab", 0.6),
                                             ("two-stage", ["--block", "100", "--local-sweeps", "3"], "cg", 0.6), ("async", ["--block", "100", "--sweeps", "2"], "gcr", 0.6),
                                             ("kaczmarz", ["--sweep-order", "colours"], "bicgstab", 3), ("kaczmarz-double", ["--permutation", "order.txt"], "bicgstab", 3),
                                             ("carp", ["--carp-blocks", "7"], "bicgstab", 3), ("cimmino", ["--lambda", "0"], "bicgstab", 3)):
            for columns in ("1", "3"):
                with self.subTest(precond=precond, columns=columns):
                    out = self.succeeds("solve", *matrix, "--precond", precond, *more, "--columns", columns, "--report", "report.json")
                    report = self.report()
                    self.assertEqual({s["status"] for s in report["solves"]}, {"converged"})
                    self.assertEqual(report["method"], method)
                    self.assertLessEqual(report["solves"][0]["iterations"], share * alone)
                    used = report["preconditioner"]
                    sweeps = int(more[more.index("--sweeps") + 1]) if "--sweeps" in more else 3
                    self.assertEqual((used["kind"], used["sweeps"], used["precision"]), (precond, sweeps, "double"))
                    self.assertIn(f"preconditioned by {sweeps} sweep", out)
        self.assertEqual((used["lambda"] > 0, used["order"]), (True, None))
        for precond in ("two-stage", "kaczmarz"):
            for sloppy in ("single", "half"):
                self.succeeds("solve", *matrix, "--precond", precond, "--sloppy", sloppy, "--report", "report.json")
                self.assertEqual(self.report()["preconditioner"]["precision"], "single")

    def test_relaxation_that_diverges_is_no_preconditioner_for_cg(self):
        with open(self.path("A.mtx"), "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix coordinate real symmetric\n3 3 6\n" +
                       "".join(f"{i} {j} {3 if i == j else 2}\n" for i in (1, 2, 3) for j in range(1, i + 1)))
        out = self.succeeds("solve", "--matrix", "A.mtx", "--rhs", "ones", "--precond", "jacobi-sweeps", "--sweeps", "2", "--no-fallback", status=1)
        self.assertIn("not Hermitian positive definite", out)
        self.succeeds("solve", "--matrix", "A.mtx", "--rhs", "ones", "--precond", "jacobi-sweeps")
        self.succeeds("solve", "--matrix", "A.mtx", "--rhs", "ones", "--precond", "jacobi-sweeps", "--sweeps", "2", "--tau", "0")

    def test_sweeps_that_are_no_preconditioner_are_refused(self):
        small = ["--matrix", "laplace2d:5"]
        for words, arguments in ((["gs-sweeps is not Hermitian", "--method cg", "ssor"], ["--precond", "gs-sweeps", "--method", "cg"]),
                                 (["carp is not Hermitian", "--method pipecg"], ["--precond", "carp", "--method", "pipecg"]),
                                 (["async changes from step to step", "--method is bicgstab"], ["--precond", "async", "--method", "bicgstab"]),
                                 (["jacobi-sweeps has no adjoint", "bicg"], ["--precond", "jacobi-sweeps", "--method", "bicg"]),
                                 (["mr takes no preconditioner"], ["--precond", "two-stage", "--method", "mr"]),
                                 (["--precond knows nothing"], ["--precond", "kaczmarz", "--method", "cgmnc"]),
                                 (["--block is for --method two-stage and async", "--precond jacobi-sweeps"], ["--precond", "jacobi-sweeps", "--block", "3"]),
                                 (["--lag is for solves", "once a sweep"], ["--precond", "async", "--lag", "1"]),
                                 (["--lag", "--async-driver free"], ["--method", "async", "--lag", "1"]),
                                 (["--stride", "--async-driver free"], ["--method", "async", "--stride", "8"]),
                                 (["--exchange", "there is one rank"], ["--method", "async", "--exchange", "push"]),
                                 (["--rank-lag", "there is one rank"], ["--method", "async", "--rank-lag", "1"]),
                                 (["--lambda", "is cg"], ["--precond", "two-stage", "--method", "cg", "--lambda", "1"]),
                                 (["--lambda 2", "kaczmarz converges"], ["--precond", "kaczmarz", "--lambda", "2"]),
                                 (["--sweeps", "jacobi-sweeps to cimmino", "is jacobi"], ["--precond", "jacobi", "--sweeps", "2"]),
                                 (["--precond-precision half", "two-stage"], ["--precond", "two-stage", "--precond-precision", "half"])):
            with self.subTest(arguments=arguments):
                self.refused("solve", *small, *arguments, words=words)

    def test_a_lambda_beyond_what_converges_is_warned_of(self):
        """fem:1,1,3 has 381 rows; its rule takes 0.5154 for cimmino, on every processor, 1.8 for a row a block"""
        small = ["--matrix", "fem:1,1,3", "--rhs", "own"]
        advice = "max-iterations: --lambda is too large for this matrix"
        for arguments, most in ((["--method", "cimmino", "--lambda", "5"], "0.5726"), (["--method", "carpcg", "--carp-blocks", "381", "--lambda", "5"], "2"),
                                (["--method", "gcr", "--precond", "cimmino", "--lambda", "9"], "0.5726")):
            _, _, err = system.kaon("solve", *small, *arguments, "--max-iter", "50", "--no-fallback", cwd=self.folder)
            self.assertIn(f"--lambda is {arguments[-1]}, but for this matrix it converges below {most}; give --lambda 0", err)
            self.assertIn(advice, err)
        for arguments in (["--method", "cimmino", "--lambda", "0.57"], ["--method", "cimmino"], ["--method", "cimmino", "--lambda", "0"],
                          ["--method", "carpcg", "--carp-blocks", "381", "--lambda", "1.9"], ["--method", "cgmnc", "--lambda", "1.5"]):
            _, _, err = system.kaon("solve", *small, *arguments, "--max-iter", "3", cwd=self.folder)
            self.assertNotIn("warning", err)
            self.assertIn("--max-iter allows more steps", err)
        report = self.solve("--matrix", "fem:1,1,3", "--method", "carpcg", "--carp-blocks", "381")
        self.assertAlmostEqual(report["projections"]["lambda"], 1.8, places=6)
        out = " ".join(self.succeeds("solve", "--help-all").split())
        self.assertIn("0, and the default of carpcg with a block a row: computed from the matrix", out)

    def test_a_matrix_of_no_rows_is_solved_by_whatever_is_asked_for(self):
        with open(self.path("none.mtx"), "w", encoding="ascii") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n0 0 0\n")
        for more in (["--method", "cg"], ["--precond", "chebyshev"], ["--precond", "ainv"], ["--method", "jacobi"], ["--method", "kaczmarz", "--coloring"],
                     ["--method", "carpcg", "--coloring"], ["--method", "carpcg", "--carp-blocks", "3"], ["--method", "carpcg", "--sloppy", "single"],
                     ["--method", "cimmino"], ["--method", "bicgstab", "--precond", "ilu0"], ["--method", "cg", "--dry-run"]):
            with self.subTest(more=more):
                self.succeeds("solve", "--matrix", "none.mtx", *more)

    def test_bench_says_that_solves_did_not_converge(self):
        for more in ([], ["--quiet"]):
            said = self.succeeds("bench", "krylov", "--matrix", "laplace2d:30", "--method", "cg", "--max-iter", "3", *more, status=1)
            self.assertIn("not all solves converged", said)

    def test_bench_krylov_takes_sweeps_for_every_number_of_columns(self):
        self.succeeds("bench", "krylov", "--matrix", "laplace3d:8", "--method", "cg,bicgstab", "--precond", "two-stage", "--columns", "1,2", "--threads", "1",
                      "--json", "rows.json")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        self.assertEqual([(row["method"], row["columns"], row["preconditioner"]["kind"], row["status"]) for row in rows],
                         [(method, columns, "two-stage", "converged") for method in ("cg", "bicgstab") for columns in (1, 2)])


if __name__ == "__main__":
    system.main()
