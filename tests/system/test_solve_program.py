"""kaon solve, info --matrix, bench spmv and krylov: counts against PETSc's, reports, files, refusals, interruption."""
import gzip
import json
import os
import re
import shutil
import signal
import statistics
import time
import unittest

import system

SMALL = ["--matrix", "laplace3d:12"]

# PETSc 3.18, one rank, b = A * ones, x0 = 0, unpreconditioned residual to 1e-8 (bench/peers/petsc_ksp.c); of chrongear cg's counts,
# which it shares in exact arithmetic
PETSC = {
    "fv1.mtx": {("cg", "none"): 27, ("cg", "jacobi"): 27, ("pipecg", "jacobi"): 27, ("groppcg", "jacobi"): 27, ("chrongear", "jacobi"): 27,
                ("bicgstab", "jacobi"): 19, ("pipebicgstab", "jacobi"): 19, ("rbicgstab", "jacobi"): 19},
    "fv3.mtx": {("cg", "none"): 127, ("cg", "jacobi"): 127, ("pipecg", "jacobi"): 127, ("groppcg", "jacobi"): 127, ("chrongear", "jacobi"): 127,
                ("bicgstab", "jacobi"): 102, ("pipebicgstab", "jacobi"): 102, ("rbicgstab", "jacobi"): 102},
    "Chem97ZtZ.mtx": {("cg", "none"): 100, ("cg", "jacobi"): 22, ("pipecg", "jacobi"): 22, ("groppcg", "jacobi"): 22, ("chrongear", "jacobi"): 22,
                      ("bicgstab", "jacobi"): 14, ("pipebicgstab", "jacobi"): 14, ("rbicgstab", "jacobi"): 14},
    "Trefethen_2000.mtx": {("cg", "none"): 435, ("cg", "jacobi"): 8, ("pipecg", "jacobi"): 8, ("groppcg", "jacobi"): 8, ("chrongear", "jacobi"): 8,
                           ("bicgstab", "jacobi"): 5, ("pipebicgstab", "jacobi"): 5, ("rbicgstab", "jacobi"): 5},
}
# On add32 rounding decides: PETSc on 1, 2, 3, 4 ranks (the same program)
PETSC_ADD32 = {"bicgstab": (48, 45, 92, 61), "pipebicgstab": (54, 51, 62, 61), "rbicgstab": (58, 46, 55, 55)}
CG_TYPES = ("cg", "pipecg", "groppcg", "chrongear")


def market(rows, entries, symmetry="general", field="real"):
    """A coordinate file's text; entries: (row, column, value...), from 1."""
    lines = [f"%%MatrixMarket matrix coordinate {field} {symmetry}", f"{rows} {rows} {len(entries)}"]
    return "\n".join(lines + [" ".join(map(str, entry)) for entry in entries]) + "\n"


def tridiagonal(n, below=-1.0, diagonal=2.0, above=-1.0):
    entries = []
    for i in range(1, n + 1):
        if i > 1:
            entries.append((i, i - 1, below))
        entries.append((i, i, diagonal))
        if i < n:
            entries.append((i, i + 1, above))
    return entries


class Solve(system.Case):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def solve(self, *arguments, status=0):
        """The report of one run."""
        self.succeeds("solve", *arguments, "--report", "report.json", status=status)
        return self.report()

    def vector(self, name, columns=1):
        """A Matrix Market array, column by column."""
        opener = gzip.open if name.endswith(".gz") else open
        with opener(self.path(name), "rt", encoding="utf-8") as file:
            lines = [line for line in file.read().splitlines() if line and not line.startswith("%")]
        rows, width = map(int, lines[0].split())
        self.assertEqual(width, columns)
        values = [float(line) for line in lines[1:]]
        return [values[k * rows:(k + 1) * rows] for k in range(columns)]

    # --- results ---

    def test_a_solve_leaves_all_it_promises(self):
        out = self.succeeds("solve", *SMALL, "--precond", "jacobi", "--columns", "3", "--output", "x.mtx", "--history", "h.csv",
                            "--plot", "h.png", "--report", "report.json")
        report = self.report()
        for key in ("kaon commit backend device threads ranks seconds gflops joules solves matrix format stored method tol rhs "
                    "preconditioner precision sloppy setup_seconds sums exchanges").split():
            self.assertIn(key, report)
        matrix = report["matrix"]
        self.assertEqual((matrix["rows"], matrix["entries"], matrix["hermitian"], matrix["shortest"], matrix["longest"]),
                         (12 ** 3, 7 * 12 ** 3 - 6 * 12 ** 2, True, 4, 7))
        self.assertEqual((report["method"], report["rhs"], report["preconditioner"]["kind"]), ("cg", "A*ones", "jacobi"))
        self.assertEqual([s["column"] for s in report["solves"]], [0, 1, 2])
        for s in report["solves"]:
            self.assertEqual(s["status"], "converged")
            self.assertLessEqual(s["residual"], 1.1e-8)
        self.assertLess(report["error"], 1e-6)  # b = A * ones
        for words in ("CG, preconditioned by", "b = A*ones", "noise by seed 1", "column", "real symmetric", report["stored"]):
            self.assertIn(words, out)
        head, *lines = self.read("h.csv").decode().splitlines()
        self.assertEqual(head, "iteration,column 0,column 1,column 2")
        self.assertEqual([float(x) for x in lines[0].split(",")[1:]], [1, 1, 1])
        self.assertGreaterEqual(len(lines), 1 + max(s["iterations"] for s in report["solves"]))
        if shutil.which("gnuplot"):
            self.assertEqual(self.read("h.png")[:8], b"\x89PNG\r\n\x1a\n")
        x = self.vector("x.mtx", 3)
        self.assertLess(max(abs(a - 1) for a in x[0]), 1e-6)
        self.assertGreater(max(abs(a) for a in x[1]), 0.1)
        self.assertNotEqual(x[1], x[2])

    def test_counts_are_those_of_petsc(self):
        """of CG types within 2, of BiCGStab types within 10 %"""
        worst = 0
        for name, solves in PETSC.items():
            file = system.data("sparse", name)
            for (method, precond), theirs in solves.items():
                with self.subTest(matrix=name, method=method, precond=precond):
                    report = self.solve("--matrix", file, "--method", method, "--precond", precond, "--quiet")
                    ours = report["solves"][0]["iterations"]
                    print(f"  {name} {method} {precond}: {ours} (PETSc {theirs})")
                    self.assertLessEqual(report["solves"][0]["residual"], 1.1e-8)
                    if method in CG_TYPES:
                        self.assertLessEqual(abs(ours - theirs), 2)
                    else:  # fewer is no harm
                        self.assertLessEqual(ours, max(1.1 * theirs, theirs + 1))
                    worst = max(worst, report["error"])
        print(f"  largest |x - 1|: {worst:.1e}")

    def test_counts_that_hang_on_rounding_have_petscs_median(self):
        """over forms of storage and instruction sets, which are the processor's, as PETSc's over ranks; within 10 %"""
        file = system.data("sparse", "add32.mtx")
        self.succeeds("info", "--report", "report.json")
        sets = self.report()["isas"]
        before = os.environ.get("KAON_ISA")
        self.addCleanup(lambda: os.environ.pop("KAON_ISA", None) if before is None else os.environ.update(KAON_ISA=before))
        for method, theirs in PETSC_ADD32.items():
            ours = []
            for isa in sets:
                os.environ["KAON_ISA"] = isa
                for form in ("csr", "sell"):
                    report = self.solve("--matrix", file, "--method", method, "--precond", "jacobi", "--format", form, "--backend", "cpu")
                    ours.append(report["solves"][0]["iterations"])
            print(f"  {method}: {ours}, PETSc {theirs}")
            self.assertLessEqual(statistics.median(ours), 1.1 * statistics.median(theirs))

    def test_blocks_of_rows_precondition(self):
        """approximate solves in blocks, of gcr, which is the method where none is given"""
        for matrix in ("laplace3d:12", "convdiff3d:12,50"):
            alone = self.solve("--matrix", matrix, "--method", "gcr", "--precond", "none")["solves"][0]["iterations"]
            for more, text, used in (
                    (["--precond", "schwarz"], "GCR, preconditioned by additive Schwarz, a block a rank, to 1e-08",
                     {"kind": "schwarz", "block": 0, "steps": 10, "cycles": 1, "relaxation": 1, "precision": "double"}),
                    (["--precond", "schwarz", "--schwarz-block", "144", "--schwarz-relaxation", "0.9", "--precond-precision", "half"],
                     "GCR, preconditioned by additive Schwarz in blocks of 144 rows, to 1e-08",
                     {"kind": "schwarz", "block": 144, "steps": 10, "cycles": 1, "relaxation": 0.9, "precision": "half"}),
                    (["--precond", "sap", "--method", "gcr", "--schwarz-block", "288", "--schwarz-steps", "3", "--schwarz-cycles", "2",
                      "--sloppy", "single"],
                     "GCR, preconditioned by SAP in blocks of 288 rows, to 1e-08",
                     {"kind": "sap", "block": 288, "steps": 3, "cycles": 2, "relaxation": 1, "precision": "single"})):
                with self.subTest(matrix=matrix, more=more):
                    out = self.succeeds("solve", "--matrix", matrix, *more, "--report", "report.json")
                    report = self.report()
                    self.assertIn(text, out)
                    self.assertEqual((report["method"], report["preconditioner"]), ("gcr", used))
                    self.assertLessEqual(report["solves"][0]["residual"], 1.1e-8)
                    self.assertLess(report["error"], 1e-5)
                    self.assertLess(report["solves"][0]["iterations"], alone)
                    print(f"  {matrix} {' '.join(more)}: {report['solves'][0]['iterations']} steps, {alone} without")

    def test_every_preconditioner_takes_no_more_steps_than_none(self):
        file = system.data("sparse", "fv3.mtx")
        counts = {}
        for precond in ("none", "jacobi", "block-jacobi", "dic", "dilu", "ssor", "gs", "ic0", "ilu0", "ainv", "fsai", "chebyshev"):
            method = "bicgstab" if precond in ("dilu", "gs", "ilu0") else "cg"
            with self.subTest(precond=precond):
                report = self.solve("--matrix", file, "--method", method, "--precond", precond, "--columns", "2")
                counts[precond] = report["solves"][1]["iterations"]  # noise: ones share the matrix' symmetries
                self.assertEqual((report["preconditioner"] or {"kind": "none"})["kind"], precond)
                self.assertLessEqual(report["solves"][0]["residual"], 1.1e-8)
                self.assertLess(report["error"], 1e-4)
        print(f"  {counts}")
        for precond, count in counts.items():  # blocks of 4 rows of a plane grid have worse ends than points
            self.assertLessEqual(count, counts["none"] * (1.2 if precond == "block-jacobi" else 1), precond)
        for precond in ("dic", "ssor", "ic0", "ainv", "fsai", "chebyshev"):
            self.assertLess(1.2 * counts[precond], counts["none"], precond)

    def test_every_method_solves_what_it_is_for(self):
        for method in ("cg", "pipecg", "groppcg", "chrongear", "bicg", "bicgstab", "rbicgstab", "pipebicgstab", "gcr", "cgnr", "cgne", "mr",
                       "blockcg"):
            with self.subTest(method=method):
                report = self.solve(*SMALL, "--method", method, "--columns", "2")
                self.assertEqual(report["method"], method)
                self.assertEqual({s["status"] for s in report["solves"]}, {"converged"})
                self.assertLess(report["error"], 1e-5)
        for method in ("bicg", "bicgstab", "rbicgstab", "pipebicgstab", "gcr", "cgnr", "cgne"):
            with self.subTest(method=method):
                report = self.solve("--matrix", "convdiff3d:10,20", "--method", method)
                self.assertLess(report["error"], 1e-4)

    def test_the_matrix_chooses_the_method(self):
        self.assertEqual(self.solve(*SMALL)["method"], "cg")
        self.assertEqual(self.solve("--matrix", "convdiff3d:8,10")["method"], "bicgstab")
        self.assertEqual(self.solve("--matrix", "fem:1,1,2")["rhs"], "own")

    def test_forms_orderings_and_precisions_give_one_answer(self):
        counts = {}
        for more in ([], ["--format", "csr"], ["--format", "ell"], ["--format", "sell"], ["--ordering", "rcm"],
                     ["--format", "sell", "--window", "1"], ["--sloppy", "single"], ["--sloppy", "half"],
                     ["--sloppy", "single", "--refinement", "restart"], ["--precision", "single", "--tol", "1e-5"],
                     ["--threads", "1"], ["--set", "check_interval=1"]):
            with self.subTest(more=more):
                report = self.solve("--matrix", "trefethen:500", "--precond", "jacobi", "--output", "x.mtx", *more)
                counts[" ".join(more)] = report["solves"][0]["iterations"]
                worst = max(abs(a - 1) for a in self.vector("x.mtx")[0])
                self.assertLess(worst, 5e-2 if "--precision" in more else 1e-5)
                self.assertAlmostEqual(worst, report["error"], delta=1e-12)
                if "--format" in more:
                    self.assertIn(more[1].upper(), report["stored"].upper())
        print(f"  {counts}")
        self.assertEqual(len({n for how, n in counts.items() if "--sloppy" not in how and "--precision" not in how}), 1)

    def test_files_go_in_and_out(self):
        self.write("A.mtx", market(40, tridiagonal(40)))
        with open(self.path("A.mtx"), "rb") as plain, gzip.open(self.path("A.mtx.gz"), "wb") as packed:
            packed.write(plain.read())
        self.write("b.mtx", "%%MatrixMarket matrix array real general\n40 2\n" + "\n".join(["1"] * 40 + ["2"] * 40) + "\n")
        for name in ("A.mtx", "A.mtx.gz"):
            report = self.solve("--matrix", name, "--rhs", "b.mtx", "--columns", "3", "--output", "x.mtx.gz")
            self.assertEqual((report["rhs"], len(report["solves"])), ("b.mtx", 3))
            x = self.vector("x.mtx.gz", 3)
            for i, (one, two) in enumerate(zip(x[0], x[1])):  # -x'' = 1: a parabola
                self.assertAlmostEqual(one, 0.5 * (i + 1) * (40 - i), delta=1e-4)
                self.assertAlmostEqual(two, 2 * one, delta=1e-3)
            self.assertGreater(max(abs(a) for a in x[2]), 0.01)
        # a solution is a right-hand side like any other
        self.solve("--matrix", "A.mtx", "--rhs", "x.mtx.gz", "--columns", "3")
        code, _, err = system.kaon("solve", "--matrix", "A.mtx", "--rhs", "x.mtx.gz", cwd=self.folder)
        self.assertEqual(code, 2)
        self.assertIn("--rhs x.mtx.gz has 3 columns, but --columns is 1; pass --columns 3", err)
        with open(os.path.join(self.folder, "none.mtx"), "w") as f:
            f.write("%%MatrixMarket matrix array real general\n40 0\n")
        code, _, err = system.kaon("solve", "--matrix", "A.mtx", "--rhs", "none.mtx", cwd=self.folder)
        self.assertEqual(code, 2)
        self.assertIn("--rhs none.mtx has 0 columns", err)
        self.solve("--matrix", "A.mtx", "--rhs", "ones", "--output", "ones.mtx")
        self.assertAlmostEqual(self.vector("ones.mtx")[0][0], 20, delta=1e-4)

    def test_complex_systems(self):
        hermitian = [(1, 1, 3, 0), (2, 1, 0, 1), (2, 2, 3, 0), (3, 2, 0.5, -0.5), (3, 3, 4, 0)]
        self.write("H.mtx", market(3, hermitian, "hermitian", "complex"))
        report = self.solve("--matrix", "H.mtx")
        self.assertEqual((report["method"], report["matrix"]["field"]), ("cg", "complex"))
        self.assertLess(report["error"], 1e-7)

    def test_nearly_symmetric_matrices_are_symmetric(self):
        """who assembles one in another order rounds otherwise; said once, and the same for method and preconditioners"""
        self.write("A.mtx", market(30, tridiagonal(30, below=-1.0000000000000002)))
        for more in ([], *(["--method", "cg", "--precond", kind] for kind in ("none", "ic0", "dic", "fsai", "ainv"))):
            with self.subTest(more=more):
                out = self.succeeds("solve", "--matrix", "A.mtx", *more, "--report", "report.json")
                self.assertEqual(out.count("to rounding"), 1)
                self.assertEqual((self.report()["matrix"]["hermitian"], self.report()["method"]), (True, "cg"))
                self.assertAlmostEqual(self.report()["matrix"]["asymmetry"], 2.0 ** -53)
        self.write("A.mtx", market(30, tridiagonal(30, below=-1.000000001)))  # half of that of the diagonal
        self.assertEqual(self.solve("--matrix", "A.mtx")["method"], "bicgstab")
        self.refused("solve", "--matrix", "A.mtx", "--method", "cg", words=["is not: entries of A and A^H differ by up to 5e-10 times"])

    def test_noise_columns_do_not_depend_on_their_number(self):
        self.solve(*SMALL, "--columns", "2", "--output", "two.mtx", "--seed", "5")
        self.solve(*SMALL, "--columns", "3", "--output", "three.mtx", "--seed", "5")
        self.solve(*SMALL, "--columns", "2", "--output", "other.mtx", "--seed", "6")
        two, three, other = (self.vector(name, n) for name, n in (("two.mtx", 2), ("three.mtx", 3), ("other.mtx", 2)))
        self.assertLess(max(abs(a - b) for a, b in zip(two[1], three[1])), 1e-6)
        self.assertGreater(max(abs(a - b) for a, b in zip(two[1], other[1])), 1e-2)

    def test_not_converging_is_status_1_and_says_why(self):
        code, out, err = system.kaon("solve", *SMALL, "--max-iter", "3", "--output", "x.mtx", "--report", "report.json",
                                     cwd=self.folder)
        self.assertEqual(code, 1, out + err)
        self.assertIn("--max-iter", err)
        self.assertEqual(self.report()["solves"][0]["status"], "max-iterations")
        self.assertEqual(sorted(os.listdir(self.folder)), ["report.json", "x.mtx.unconverged"])

    def test_single_precision_says_what_it_can_reach(self):
        """before the solve, and at its end"""
        code, out, err = system.kaon("solve", "--matrix", "laplace2d:60", "--precision", "single", cwd=self.folder)
        self.assertEqual(code, 1, out + err)
        for words, text in (("--precision double --sloppy single", out), ("6e-08", out), ("1e-08", out),
                            ("--precision double --sloppy single", err)):
            self.assertIn(words, text)
        out = self.succeeds("solve", "--matrix", "laplace2d:60", "--precision", "double", "--sloppy", "single")
        self.assertNotIn("note:", out)
        out = self.succeeds("solve", "--matrix", "laplace2d:12", "--precision", "single", "--tol", "1e-5")
        self.assertNotIn("note:", out)

    def test_the_report_says_how_steps_were_issued(self):
        if self.solve(*SMALL)["backend"] != "cpu":
            self.assertIn(self.report()["regime"], ("replay", "dynamic"))
        else:
            self.assertEqual(self.report()["regime"], "merged")
        for method in ("cg", "bicgstab", "gcr", "pipecg", "pipebicgstab", "groppcg", "chrongear", "rbicgstab"):
            report = self.solve(*SMALL, "--regime", "kernels", "--method", method)
            self.assertEqual((report["regime"], report["fused"]), ("kernels", method not in ("cg", "bicgstab", "gcr")))

    def test_matrices_that_are_not_positive_definite_break_down_by_name(self):
        self.write("A.mtx", market(40, tridiagonal(40, diagonal=1.0)))  # eigenvalues 1 - 2 cos
        for method in ("cg", "pipecg", "groppcg", "chrongear"):
            with self.subTest(method=method):
                code, out, err = system.kaon("solve", "--matrix", "A.mtx", "--rhs", "ones", "--method", method, "--no-fallback",
                                             "--report", "report.json", cwd=self.folder)
                print(f"  {method}: {code}: {err.strip().splitlines()[-1] if err else ''}")
                if code == 0:  # by luck, and then it is a solution
                    self.assertLessEqual(self.report()["solves"][0]["residual"], 1.1e-8)
                    continue
                self.assertEqual(code, 1)
                if self.report()["solves"][0]["status"] == "breakdown":
                    self.assertIn("not Hermitian positive definite", err)
                else:
                    self.assertIn("not positive definite", err)
        self.write("I.mtx", market(60, [(i + 1, i + 1, 6 if i % 2 else -6) for i in range(60)] +
                                   [(i + 2, i + 1, 1) for i in range(59)] + [(i + 1, i + 2, 1) for i in range(59)]))
        code, _, err = system.kaon("solve", "--matrix", "I.mtx", "--rhs", "ones", "--method", "pipecg", "--no-fallback", cwd=self.folder)
        self.assertEqual(code, 1, err)
        self.assertIn("positive definite", err)
        self.write("N.mtx", market(2, [(1, 1, -1), (2, 2, -2)]))
        for method in ("cg", "blockcg"):
            code, out, err = system.kaon("solve", "--matrix", "N.mtx", "--rhs", "ones", "--method", method, "--no-fallback", "--report",
                                         "report.json", cwd=self.folder)
            self.assertEqual(code, 1, out + err)
            self.assertIn("ended with breakdown: (p, A p) is negative, so the operator is not Hermitian positive definite", err)
            self.assertIn("(p, A p) is negative", self.report()["solves"][0]["breakdown"])

    # --- refusals ---

    def test_wrong_systems_are_named(self):
        nan = market(2, [(1, 1, 1), (2, 2, "nan")])
        self.write("nan.mtx", nan)
        self.write("inf.mtx", nan.replace("nan", "1e999"))
        self.write("empty-row.mtx", market(3, [(1, 1, 1), (3, 3, 1)]))
        self.write("zero-row.mtx", market(3, [(1, 1, 1), (2, 3, 0), (1, 2, 2), (3, 3, 1)]))
        self.write("empty-column.mtx", market(3, [(1, 1, 1), (2, 1, 1), (2, 3, 2), (3, 3, 1)]))
        self.write("zero-column.mtx", market(3, [(1, 1, 1), (2, 1, 1), (2, 2, 0), (2, 3, 2), (3, 3, 1)]))
        self.write("no-diagonal.mtx", market(2, [(1, 2, 1), (2, 1, 1)]))
        self.write("zero-diagonal.mtx", market(2, [(1, 1, 0), (1, 2, 1), (2, 1, 1), (2, 2, 1)]))
        self.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 2 1\n")
        self.write("skewed.mtx", market(20, tridiagonal(20, below=-0.5)))
        self.write("skew.mtx", market(2, [(2, 1, 1)], "skew-symmetric"))
        self.write("indefinite.mtx", market(2, [(1, 1, 1), (1, 2, 2), (2, 1, 2), (2, 2, 3)]))
        self.write("beyond.mtx", market(2, [(1, 1, 1), (3, 2, 1)]))
        self.write("short.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n")
        self.write("dependent.mtx", market(3, [(1, 1, 2), (2, 1, 3), (3, 2, 1), (3, 3, 1)]))  # rows 1 and 2 in column 1
        self.write("word.mtx", market(2, [(1, 1, "one"), (2, 2, 1)]))
        self.write("text.mtx", "hello\n")
        self.write("A.mtx", market(4, tridiagonal(4)))
        self.write("b3.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n")
        self.write("bc.mtx", "%%MatrixMarket matrix array complex general\n4 1\n1 0\n1 0\n1 0\n1 0\n")
        self.write("bnan.mtx", "%%MatrixMarket matrix array real general\n4 1\n1\nnan\n1\n1\n")
        for words, arguments in (
                (["nan.mtx", "line 4"], ["--matrix", "nan.mtx"]),
                (["inf.mtx", "line 4"], ["--matrix", "inf.mtx"]),
                (["structurally singular", "1 of its 3 rows", "row 2 "], ["--matrix", "empty-row.mtx"]),
                (["structurally singular", "1 of its 3 rows", "row 2 "], ["--matrix", "zero-row.mtx"]),
                (["structurally singular", "1 of its 3 columns", "column 2 "], ["--matrix", "empty-column.mtx"]),
                (["structurally singular", "1 of its 3 columns", "column 2 "], ["--matrix", "zero-column.mtx"]),
                (["structurally singular", "at most 2 of its 3 rows", "counted from 1"], ["--matrix", "dependent.mtx"]),
                *((["--precond " + kind, "1 of the 2 rows", "row 1 "], ["--matrix", "zero-diagonal.mtx", "--precond", kind])
                  for kind in ("jacobi", "chebyshev", "dic", "ic0", "ssor", "gs", "ainv", "fsai")),
                (["--precond fsai", "A and A^H differ", "take ainv"], ["--matrix", "skewed.mtx", "--precond", "fsai"]),
                (["--precond fsai", "row 2 (counted from 1", "pivot -0.333", "'shift'"],
                 ["--matrix", "indefinite.mtx", "--precond", "fsai", "--shift", "0", "--method", "cg"]),
                (["--precond jacobi", "take --precond none", "ilu0 and block-jacobi may break down"], ["--matrix", "no-diagonal.mtx", "--precond", "jacobi"]),
                *(([kind, "row 1 ", "has no entry on the diagonal", "--precond none", "cgnr"], ["--matrix", "no-diagonal.mtx", "--method", "gcr", "--precond", kind])
                  for kind in ("ilu0", "dilu")),
                (["--precond jacobi", "diagonal", "row"], ["--matrix", "no-diagonal.mtx", "--method", "bicgstab", "--precond", "jacobi"]),
                (["--precond jacobi", "diagonal", "row"], ["--matrix", "zero-diagonal.mtx", "--method", "gcr", "--precond", "jacobi"]),
                (["square", "2", "3"], ["--matrix", "wide.mtx"]),
                (["--method cg", "Hermitian", "skewed.mtx", "bicgstab"], ["--matrix", "skewed.mtx", "--method", "cg"]),
                (["--method cg", "Hermitian", "take cgnr"], ["--matrix", "skew.mtx", "--method", "cg"]),
                (["--method cgnr", "--precond is jacobi", "--precond none"], ["--matrix", "A.mtx", "--method", "cgnr", "--precond", "jacobi"]),
                (["laplace3d:1300", "1 to 1290"], ["--matrix", "laplace3d:1300", "--dry-run"]),
                (["fem:1,1,99", "LEVEL", "0 to 11"], ["--matrix", "fem:1,1,99"]),
                (["--output text.mtx/x", "its folder"], ["--matrix", "A.mtx", "--output", "text.mtx/x"]),
                (["--method blockcg", "Hermitian"], ["--matrix", "skewed.mtx", "--method", "blockcg"]),
                (["beyond.mtx", "line 4"], ["--matrix", "beyond.mtx"]),
                (["short.mtx", "3"], ["--matrix", "short.mtx"]),
                (["word.mtx", "line 3"], ["--matrix", "word.mtx"]),
                (["text.mtx"], ["--matrix", "text.mtx"]),
                (["--matrix absent.mtx", "no such file", "laplace3d:N"], ["--matrix", "absent.mtx"]),
                (["--rhs absent.mtx", "no such file"], ["--matrix", "A.mtx", "--rhs", "absent.mtx"]),
                (["--rhs b3.mtx", "3 rows", "has 4"], ["--matrix", "A.mtx", "--rhs", "b3.mtx"]),
                (["--rhs bc.mtx", "complex", "real"], ["--matrix", "A.mtx", "--rhs", "bc.mtx"]),
                (["bnan.mtx", "line 4"], ["--matrix", "A.mtx", "--rhs", "bnan.mtx"])):
            with self.subTest(arguments=arguments):
                self.refused("solve", *arguments, words=words)

    def test_wrong_command_lines(self):
        for words, arguments in (
                (["--matrix is missing", "laplace3d:N"], []),
                (["laplace3d", "elasticity"], ["--matrix", "laplace9d:4"]),
                (["--matrix", "laplace3d"], ["--matrix", "laplace3d:"]),
                (["--matrix", "laplace3d"], ["--matrix", "laplace3d:-3"]),
                (["--method", "cg|pipecg"], [*SMALL, "--method", "gauss"]),
                (["--precond", "none|jacobi"], [*SMALL, "--precond", "magic"]),
                (["--format", "auto|csr"], [*SMALL, "--format", "coo"]),
                (["--ordering", "none|rcm"], [*SMALL, "--ordering", "amd"]),
                (["--rhs own", "laplace3d:12", "brings no"], [*SMALL, "--rhs", "own"]),
                (["--rhs own", "is a file"], ["--matrix", "A.mtx", "--rhs", "own"]),
                (["--rhs is empty"], [*SMALL, "--rhs", ""]),
                (["--rhs own", "brings no right-hand side"], [*SMALL, "--rhs", "own", "--dry-run"]),
                (["--tol", "between"], [*SMALL, "--tol", "2"]),
                (["--columns", "between"], [*SMALL, "--columns", "0"]),
                (["--sloppy", "--precision"], [*SMALL, "--precision", "single", "--sloppy", "double"]),
                (["--drop", "ainv"], [*SMALL, "--drop", "0.1"]),
                (["--degree", "chebyshev", "jacobi"], [*SMALL, "--precond", "jacobi", "--degree", "3"]),
                (["--power", "fsai", "is ainv"], [*SMALL, "--precond", "ainv", "--power", "2"]),
                (["--power", "between 1 and 8"], [*SMALL, "--precond", "fsai", "--power", "9"]),
                (["--drop", "ainv", "is fsai"], [*SMALL, "--precond", "fsai", "--drop", "0.1"]),
                (["--omega", "ssor"], [*SMALL, "--precond", "ic0", "--omega", "1.2"]),
                *((["--precond " + kind, "--method gcr", "--method is " + method], [*SMALL, "--precond", kind, "--method", method])
                  for kind, method in (("schwarz", "cg"), ("sap", "bicgstab"), ("schwarz", "pipecg"), ("sap", "carpcg"))),
                (["--schwarz-block", "schwarz and sap", "is auto", "or name one"], [*SMALL, "--schwarz-block", "8"]),
                (["--schwarz-steps", "schwarz and sap", "is jacobi"], [*SMALL, "--precond", "jacobi", "--schwarz-steps", "8"]),
                (["--schwarz-relaxation", "between"], [*SMALL, "--precond", "sap", "--schwarz-relaxation", "2"]),
                (["--drop", "ainv"], [*SMALL, "--precond", "schwarz", "--drop", "0.1"]),
                (["--omega", "between"], [*SMALL, "--precond", "ssor", "--omega", "2"]),
                (["--precond-block", "block-jacobi"], [*SMALL, "--precond", "jacobi", "--precond-block", "3"]),
                (["--set", "tol"], [*SMALL, "--set", "tol=1e-3"]),
                (["--set subspace", "gcr", "cg"], [*SMALL, "--set", "subspace=8"]),
                (["--seed", "--columns"], [*SMALL, "--seed", "3"]),
                (["--refinement", "--sloppy"], [*SMALL, "--refinement", "restart"]),
                (["blockcg", "64", "65"], [*SMALL, "--method", "blockcg", "--columns", "65"]),
                (["pipecg", "half"], [*SMALL, "--method", "pipecg", "--sloppy", "half"]),
                (["mr takes no preconditioner"], [*SMALL, "--method", "mr", "--precond", "jacobi"]),
                (["--reduce-delay", "100us"], [*SMALL, "--reduce-delay", "100"]),
                (["--output", "--report"], [*SMALL, "--output", "same", "--report", "same"]),
                (["--history", "--plot"], [*SMALL, "--plot", "a.png", "--output", "a.csv"]),
                (["--output", "folder"], [*SMALL, "--output", "no/such/folder/x.mtx"]),
                (["--grid"], [*SMALL, "--grid", "1", "1", "1", "2"])):
            with self.subTest(arguments=arguments):
                self.refused("solve", *arguments, words=words if words != ["--history", "--plot"] else ["--output", "--plot"])

    def test_right_hand_sides_too_small_for_their_squares_are_refused(self):
        """|b|^2 of 1e-170 is 0 in double, which is no reason to call x = 0 a solution"""
        n = 20
        self.write("A.mtx", market(n, tridiagonal(n)))
        for size, fits in (("0", True), ("1e-130", True), ("1e-145", False), ("1e-170", False), ("4.9e-324", False)):
            self.write("b.mtx", f"%%MatrixMarket matrix array real general\n{n} 1\n" + f"{size}\n" * n)
            with self.subTest(size=size):
                if fits:
                    report = self.solve("--matrix", "A.mtx", "--rhs", "b.mtx", "--output", "x.mtx", "--tol", "1e-10")
                    self.assertEqual(report["solves"][0]["status"], "converged")
                    (x,), b = self.vector("x.mtx"), float(size)
                    left = [abs(2 * v - (x[i - 1] if i else 0) - (x[i + 1] if i + 1 < n else 0) - b) for i, v in enumerate(x)]
                    self.assertLessEqual(max(left), 1e-9 * b)
                else:
                    self.refused("solve", "--matrix", "A.mtx", "--rhs", "b.mtx", "--tol", "1e-10", words=["|b|^2", "power of 2"])

    def test_memory_that_is_not_there_is_status_3(self):
        self.refused("solve", "--matrix", "laplace3d:40", "--memory-limit", "0.002", status=3, words=["memory"])

    # --- other ways to ask ---

    def test_a_dry_run_predicts_the_memory(self):
        for matrix in ("laplace3d:60", "trefethen:100000"):
            with self.subTest(matrix=matrix):
                out = self.succeeds("solve", "--matrix", matrix, "--columns", "2", "--precond", "jacobi", "--dry-run", "--report",
                                    "plan.json")
                self.assertIn("would take", out)
                plan = self.report("plan.json")
                real = self.solve("--matrix", matrix, "--columns", "2", "--precond", "jacobi", "--threads", "2")
                ratio = plan["predicted_peak"] / real["peak_resident"]
                print(f"  {matrix}: predicted {plan['predicted_peak'] / 2 ** 20:.0f} MiB, ratio {ratio:.2f}")
                self.assertTrue(0.8 < ratio < 1.25, ratio)
                self.assertEqual((plan["matrix"]["name"], plan["matrix"]["rows"], plan["matrix"]["field"]),
                                 (matrix, real["matrix"]["rows"], real["matrix"]["field"]))
        self.assertEqual(sorted(os.listdir(self.folder)), ["plan.json", "report.json"])

    def test_a_dry_run_of_a_file_reads_its_size_alone(self):
        self.write("big.mtx", "%%MatrixMarket matrix coordinate real symmetric\n% " + "no entries follow " * 400 +
                   "\n100000000 100000000 400000000\n")
        os.truncate(self.path("big.mtx"), 400000000 * 6 + 100)  # a hole, of a size that could hold them
        self.succeeds("solve", "--matrix", "big.mtx", "--dry-run", "--report", "plan.json")
        peak = self.report("plan.json")["predicted_peak"]
        print(f"  1e8 rows, 7e8 entries: {peak / 2 ** 30:.1f} GiB")
        self.assertGreater(peak, 7e8 * 12)
        self.assertLess(peak, 7e8 * 120)
        self.refused("solve", "--matrix", "absent.mtx", "--dry-run", words=["--matrix absent.mtx", "no such file"])
        self.write("text.mtx", "hello\n")
        self.refused("solve", "--matrix", "text.mtx", "--dry-run", words=["text.mtx", "Matrix Market"])
        self.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 2 1\n")
        self.refused("solve", "--matrix", "wide.mtx", "--dry-run", words=["wide.mtx", "line 2", "square"])

    def test_a_dry_run_knows_the_kinds_of_files(self):
        """arrays spell out every number, general files both triangles"""
        n, m = 900, 300000
        self.write("dense.mtx", "%%MatrixMarket matrix array real general\n" + f"{n} {n}\n" +
                   "".join(f"{n if i == j else 1}\n" for i in range(n) for j in range(n)))
        self.write("general.mtx", market(m, tridiagonal(m, below=-0.5)))
        for name, rows, entries in (("dense.mtx", n, n * n), ("general.mtx", m, 3 * m - 2)):
            with self.subTest(name=name):
                out = self.succeeds("solve", "--matrix", name, "--precond", "none", "--dry-run", "--report", "plan.json")
                self.assertNotIn("matrix 0 B", out)
                plan = self.report("plan.json")
                real = self.solve("--matrix", name, "--precond", "none", "--threads", "2")
                ratio = plan["predicted_peak"] / real["peak_resident"]
                print(f"  {name}: predicted {plan['predicted_peak'] / 2 ** 20:.0f} MiB, ratio {ratio:.2f}")
                # the rows of small matrices share no pattern, and those of these do
                self.assertTrue(0.8 < ratio < 1.25, ratio)
                self.assertAlmostEqual(plan["predicted_matrix"] / (12 * entries + 8 * rows), 1, delta=0.2)

    def test_info_describes_a_matrix(self):
        out = self.succeeds("info", "--matrix", "trefethen:300", "--report", "report.json")
        report = self.report()
        self.assertEqual((report["matrix"]["rows"], report["matrix"]["hermitian"]), (300, True))
        for words in ("300 rows", "real symmetric", "entries a row", "bandwidth 256", report["stored"]):
            self.assertIn(words, out)
        self.assertIn("csr", self.succeeds("info", "--matrix", "trefethen:300", "--format", "csr").lower())
        self.refused("info", "--format", "csr", words=["--format", "--matrix"])
        self.refused("info", "--matrix", "absent.mtx", words=["--matrix absent.mtx"])

    def test_bench_spmv_has_the_fields_of_the_contract(self):
        self.write("A.mtx", market(300, tridiagonal(300)))
        self.succeeds("bench", "spmv", "--matrix", "laplace3d:10", "--matrix", "A.mtx", "--format", "csr,ell,sell", "--precision",
                      "double,single,half", "--columns", "1,4", "--calls", "2", "--samples", "1", "--json", "rows.json")
        rows = self.report("rows.json")
        self.assertEqual(len(rows), 2 * 3 * 3 * 2)
        for row in rows:
            self.assertEqual(row["bench"], "spmv")
            for key in ("backend device commit ranks lattice precision links columns seconds gflops ideal_gbs limit_gbs matrix rows "
                        "entries format stored").split():
                self.assertIn(key, row)
        first = next(r for r in rows if r["matrix"] == "laplace3d:10" and r["precision"] == "double" and r["columns"] == 1)
        entries = 7 * 1000 - 600
        self.assertEqual((first["rows"], first["entries"]), (1000, entries))
        self.assertAlmostEqual(first["gflops"] * first["seconds"] * 1e9, 2 * entries, delta=1)
        self.assertAlmostEqual(first["ideal_gbs"] * first["seconds"] * 1e9, 12 * entries + 20 * 1000, delta=1)
        self.assertEqual({r["format"] for r in rows}, {"csr", "ell", "sell"})

    def test_bench_krylov_leaves_out_what_takes_no_preconditioner(self):
        out = self.succeeds("bench", "krylov", "--matrix", "laplace3d:6", "--method", "cgnr,cg", "--tol", "1e-6", "--json", "k.json")
        self.assertIn("cgnr with --precond jacobi: left out", out)
        self.assertEqual([(row["method"], row["preconditioner"]["kind"] if row["preconditioner"] else None) for row in self.report("k.json")],
                         [("cg", None), ("cgnr", None), ("cg", "jacobi")])
        self.refused("bench", "krylov", "--matrix", "laplace3d:6", "--outer", "single", "--precision", "double", words=["--precision double", "--outer single"])
        for kind in ("krylov", "regimes"):
            self.refused("bench", kind, "--matrix", "laplace3d:6", "--precond", "none,jacobi", "--drop", "0.1", words=["--drop", "ainv", "none of these"])
            self.refused("bench", kind, "--matrix", "laplace3d:6", "--precond", "jacobi", "--degree", "3", words=["--degree", "chebyshev", "jacobi"])

    def test_bench_krylov_says_what_a_step_moves(self):
        out = self.succeeds("bench", "krylov", "--matrix", "laplace3d:10", "--method", "cg,pipecg", "--precond", "none,jacobi",
                            "--json", "rows.json")
        rows = self.report("rows.json")
        self.assertEqual([(r["bench"], (r["preconditioner"] or {"kind": "none"})["kind"]) for r in rows],
                         [("solve-cg", "none"), ("solve-pipecg", "none"), ("solve-cg", "jacobi"), ("solve-pipecg", "jacobi")])
        self.assertEqual([(r["vectors_read"], r["vectors_written"]) for r in rows], [(5, 3), (7, 6), (6, 4), (8, 7)])
        self.assertEqual({r["status"] for r in rows}, {"converged"})
        spmv = 12 * 6400 + 20 * 1000
        self.assertEqual([round(r["bytes_step"]) for r in rows], [spmv + 8000 * n for n in (8, 13, 10, 15)])
        self.assertIn("a step reads 5 vectors and writes 3", out)
        self.refused("bench", "krylov", "--lattice", "4x4x4x4", words=["--lattice", "bench krylov"])
        self.refused("bench", "spmv", "--method", "cg", words=["--method", "bench spmv"])
        self.refused("bench", "dslash", "--matrix", "laplace3d:8", words=["--matrix", "bench dslash"])

    def test_ctrl_c_ends_within_a_second(self):
        process = system.start("solve", "--matrix", "laplace3d:64", "--rhs", "ones", "--tol", "1e-16", "--method", "mr",
                               "--max-iter", "1000000000", "--output", "x.mtx", "--history", "h.csv", cwd=self.folder)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("MR"):
                break
        time.sleep(0.5)
        if process.poll() is not None:
            self.fail("it ended before it could be interrupted: " + str(process.communicate()))
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        took = time.monotonic() - sent
        print(f"  ended {took:.2f} s after Ctrl-C: {err.strip().splitlines()[-1]}")
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn("interrupted", err)
        self.assertLess(took, 1.0)
        self.assertNotIn("x.mtx", os.listdir(self.folder))

    def test_a_column_that_is_watched_is_not_done(self):
        for more, columns in (["--columns", "1"], 1), (["--columns", "3"], 3):
            out = self.succeeds("solve", "--matrix", "laplace3d:6", "--tol", "1e-8", "--reduce-delay", "50ms", "--sloppy", "single", *more)
            done = [tuple(map(int, found)) for found in re.findall(r"iteration +\d+, .* (\d+) of (\d+) columns done,", out)]
            print(f"  {done}")
            self.assertGreater(len(done), 1 if os.environ.get("KAON_BACKEND") == "cuda" else 2)  # a device is looked at less often
            self.assertTrue(all(k < columns and of == columns for k, of in done))

    def test_quiet_prints_nothing(self):
        self.assertEqual(system.kaon("solve", *SMALL, "--quiet"), (0, "", ""))


if __name__ == "__main__":
    system.main()
