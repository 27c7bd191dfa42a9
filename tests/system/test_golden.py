"""The main path of the program against golden files of the project's own (tests/golden): a configuration's plaquette, its pion and rho, and
a sparse system with a known answer. Needs no other data."""
import json
import math
import os

import system

GOLDEN = os.path.join(system.SOURCE, "tests", "golden")
EPSILON = 2.0 ** -53  # of one rounding
TOL = 1e-12

with open(os.path.join(GOLDEN, "expected.json"), encoding="utf-8") as expected_file:
    EXPECTED = json.load(expected_file)


def numbers(name):
    """Of an array file: the numbers after the line of the sizes."""
    with open(name, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("%")]
    return [float(line) for line in lines[1:]]


class Golden(system.Case):
    CONFIG = os.path.join(GOLDEN, "config.lime")

    def close(self, what, found, expected, bound):
        print(f"  {what}: {found:.16g}, expected {expected:.16g}, off by {abs(found - expected):.1e}, bound {bound:.1e}")
        self.assertLessEqual(abs(found - expected), bound, what)

    def check_plaquette(self, found):
        """A mean of 6 numbers a site, none above 1. Each is a trace of products of four links, within 64 roundings; the sum adds a rounding for
        each number. Both sides have this error."""
        count = 6 * math.prod(EXPECTED["lattice"])
        self.close("plaquette", found, EXPECTED["plaquette"], 2 * (count + 64) * EPSILON)

    def test_the_plaquette(self):
        self.succeeds("gauge", self.CONFIG, "--report", "report.json")
        report = self.report()
        self.assertEqual(report["lattice"], EXPECTED["lattice"])
        self.check_plaquette(report["plaquette"])

    def check_correlators(self, *arguments):
        """A residual of 1.1 TOL leaves an error of at most |M^-1| 1.1 TOL in each of the 12 columns of norm-1 sources. `inverse_norm` is an
        estimate from below and the reference has an error as well, hence twice that. C(t) is a sum of products of two entries of the propagator
        S, so its error is at most 2 |S(t)| |error| with |S(t)|^2 = pion(t); adding 144 L^3 products adds a rounding for each."""
        self.succeeds("invert", "--gauge", self.CONFIG, "--action", "clover", "--kappa", EXPECTED["kappa"], "--csw", EXPECTED["csw"], "--tol", TOL,
                      "--correlators", "correlators.txt", "--report", "report.json", *arguments)
        report = self.report()
        self.check_plaquette(report["plaquette"])
        self.assertEqual([solve["status"] for solve in report["solves"]], 12 * ["converged"])
        self.assertLessEqual(max(solve["residual"] for solve in report["solves"]), 1.1 * TOL)
        rows = [line.split() for line in self.read("correlators.txt").decode().splitlines() if not line.startswith("#")]
        self.assertEqual(len(rows), EXPECTED["lattice"][3])
        error = math.sqrt(12) * 2 * EXPECTED["inverse_norm"] * 1.1 * TOL
        products = 144 * math.prod(EXPECTED["lattice"][:3])
        for t, (pion, rho) in enumerate(zip(EXPECTED["pion"], EXPECTED["rho"])):
            bound = 2 * math.sqrt(pion) * error + 2 * products * EPSILON * pion
            self.close(f"pion({t})", report["pion"][t], pion, bound)
            self.close(f"pion({t}) in the file", float(rows[t][1]), pion, bound)
            self.close(f"rho({t}) in the file", float(rows[t][2]), rho, bound)

    def test_the_pion(self):
        self.check_correlators()

    def test_the_pion_with_half_precision_inside(self):
        self.check_correlators("--sloppy", "half", "--reconstruct", "12")

    def test_the_pion_without_even_odd_reduction(self):
        self.check_correlators("--even-odd", "none")

    def check_system(self, *arguments):
        """Each diagonal entry exceeds the sum of its row's others by at least 1: no entry of A^-1 r is larger than |r|, here at most 1.1 TOL |b|.
        The residual itself is computed to 10 roundings of 16 times the largest entry of the answer in each row."""
        right = numbers(os.path.join(GOLDEN, "rhs.mtx"))
        self.succeeds("solve", "--matrix", os.path.join(GOLDEN, "matrix.mtx"), "--rhs", os.path.join(GOLDEN, "rhs.mtx"), "--tol", TOL,
                      "--output", "answer.mtx", *arguments)
        answer = numbers(os.path.join(GOLDEN, "answer.mtx"))
        found = numbers(self.path("answer.mtx"))
        self.assertEqual(len(found), len(answer))
        largest = max(map(abs, answer))
        bound = 1.1 * TOL * math.sqrt(sum(b * b for b in right)) + 10 * 16 * largest * EPSILON * math.sqrt(len(answer))
        self.close("largest error", max(abs(x - y) for x, y in zip(found, answer)), 0, bound)

    def test_the_sparse_system(self):
        self.check_system()

    def test_the_sparse_system_with_a_preconditioner(self):
        self.check_system("--method", "gcr", "--precond", "ilu0")


if __name__ == "__main__":
    system.main()
