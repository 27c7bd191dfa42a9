"""kaon invert --shifts: solutions by file against those of other masses, reports, refusals; the condensate of staggered noise."""
import array
import struct
import sys

import system

LATTICE = system.LINKS
STAGGERED = [*LATTICE, "--action", "staggered"]


def records(data, kind):
    """The data of a LIME file's records of one type."""
    at, found = 0, []
    while at + 144 <= len(data):
        length, name = struct.unpack(">Q", data[at + 8:at + 16])[0], data[at + 16:at + 144].split(b"\0")[0].decode()
        if name == kind:
            found.append(data[at + 144:at + 144 + length])
        at += 144 + (length + 7) // 8 * 8
    return found


def even_numbers(record):
    """The numbers on the even sites of a staggered vector on 4x4x4x8."""
    values = array.array("d", record)
    if sys.byteorder == "little":
        values.byteswap()
    assert len(values) == 512 * 6
    for site in range(512):
        x, y, z, t = site % 4, site // 4 % 4, site // 16 % 4, site // 64
        if (x + y + z + t) % 2 == 0:
            yield from values[6 * site:6 * site + 6]


class Shifts(system.Case):
    def columns(self, name):
        return [list(even_numbers(r)) for r in records(self.read(name), "scidac-binary-data")]

    def test_a_shift_is_another_mass(self):
        """A + sigma = 4 mass'^2 - D D with mass'^2 = mass^2 + sigma / 4; M x = b with b on even sites: x_e = 2 mass' (A + sigma)^-1 b."""
        sigma = [0.3, 0.0, 4.0, 0.05]
        for sloppy in ("double", "single", "half"):
            self.succeeds("invert", *STAGGERED, "--mass", "0.1", "--shifts", ",".join(map(str, sigma)), "--sloppy", sloppy,
                          "--output", "x", "--report", "report.json")
            report = self.report()
            self.assertEqual(report["shifts"], sigma)
            self.assertEqual([(s["shift"], s["column"]) for s in report["solves"]], [(s, k) for s in sigma for k in range(3)])
            self.assertTrue(all(s["status"] == "converged" and s["residual"] <= 1.1e-10 for s in report["solves"]))
            worst = 0
            for i, s in enumerate(sigma):
                mass = (0.01 + s / 4) ** 0.5
                self.succeeds("invert", *STAGGERED, "--mass", repr(mass), "--output", "y")
                for ours, theirs in zip(self.columns(f"x.{i}"), self.columns("y"), strict=True):
                    size = sum(v * v for v in theirs)
                    worst = max(worst, (sum((2 * mass * a - b) ** 2 for a, b in zip(ours, theirs)) / size) ** 0.5)
            # residuals of both are 1e-10 |b|; |x| >= |b| 2 mass / |A|, |A| < 64 + 4: at most 2.2e-10 * 68 / 0.04
            print(f"  {sloppy}: solutions differ by {worst:.1e} (bound 4e-7)")
            self.assertLess(worst, 4e-7)

    def test_wilson_like_operators_are_solved_by_their_normal_equations(self):
        for more in ([], ["--even-odd", "none"]):
            out = self.succeeds("invert", *LATTICE, "--kappa", "0.12", "--csw", "1", "--columns", "2", "--shifts", "0,0.1", *more,
                                "--sloppy", "half", "--output", "x", "--report", "report.json")
            report = self.report()
            self.assertIn("applications of the", out)
            self.assertEqual([s["status"] for s in report["solves"]], ["converged"] * 4)
            self.assertEqual(report["applications"] % 2, 0)
            for i in range(2):
                self.assertIn(b"shift", self.read(f"x.{i}"))

    def test_batches_share_applications(self):
        """Columns by batches of one or two are the same files; all together take fewer applications."""
        run = ["invert", *STAGGERED, "--mass", "0.1", "--shifts", "0,0.3", "--columns", "3", "--report", "report.json", "--output"]
        self.succeeds(*run, "together")
        together = self.report()["applications"]
        for batch in ("1", "2"):
            self.succeeds(*run, "x", "--batch", batch)
            self.assertLess(1.3 * together, self.report()["applications"])
            for i in range(2):
                self.assertEqual(self.columns(f"x.{i}"), self.columns(f"together.{i}"))

    def test_noise_gives_the_condensate(self):
        """Of M = 2 mass + D with a large mass: 3 / (2 mass) and corrections of order 1 / mass^3; errors fall with sources."""
        for action, more in (("staggered", []), ("staggered", ["--even-odd", "none"])):
            out = self.succeeds("invert", *LATTICE, "--action", action, "--mass", "50", "--source", "z4:3", "--columns", "8", *more,
                                "--report", "report.json")
            c = self.report()["condensate"]
            self.assertIn("condensate", out)
            self.assertEqual(c["sources"], 8)
            # (M^-1)_ii = 1 / 2m - (-D^2)_ii / (2m)^3: (D^2)_ii = 8 for unitary links
            self.assertLess(abs(c["whole"] - 3 * (0.01 - 8e-6)), 5 * c["whole_error"] + 3 * 64e-10)
            self.assertAlmostEqual(c["whole"], (c["even"] + c["odd"]) / 2, 15)
        self.succeeds("invert", *STAGGERED, "--mass", "0.5", "--source", "gauss:3", "--columns", "1", "--report", "report.json")
        self.assertIsNone(self.report()["condensate"]["whole_error"])
        self.succeeds("invert", *LATTICE, "--kappa", "0.12", "--csw", "1", "--source", "z4:3", "--columns", "1", "--report", "report.json")
        self.assertNotIn("condensate", self.report())

    def test_what_cannot_be_done_is_refused(self):
        m = ["--mass", "0.1"]
        for shifts, words in (("0,a", ["--shifts", "a"]), ("", ["--shifts"]), ("0,,1", ["--shifts"]), ("nan", ["nan"]), ("1e999", ["1e999"]),
                              ("0,", ["comma"]), ("0.1,-0.04", ["-0.04", "0.04"]), (",".join(["1"] * 65), ["64"])):
            with self.subTest(shifts=shifts):
                self.refused("invert", *STAGGERED, *m, "--shifts", shifts, words=words)
        for more in (["--stop", "normal"], ["--correlators", "c"], ["--history", "h"], ["--plot", "p.png"],
                     ["--method", "bicgstab"], ["--set", "delta=0.1"]):
            with self.subTest(more=more):
                self.refused("invert", *STAGGERED, *m, "--shifts", "0,1", *more, words=["--shifts"])
        self.refused("invert", *STAGGERED, *m, "--shifts", "0", "--source", "point:1,0,0,0", words=["even", "point:1,0,0,0"])
        self.refused("invert", *STAGGERED, *m, "--shifts", "0", "--output", "x", "--report", "x.0", words=["--report"])
        self.succeeds("invert", *STAGGERED, *m, "--shifts", "0", "--source", "point:1,0,0,0", "--even-odd", "none")
        self.assertIn("-4", self.succeeds("invert", *LATTICE, "--kappa", "0.12", "--csw", "1", "--columns", "1", "--shifts", "-4", status=1))
        self.assertIn("MiB", self.succeeds("invert", *STAGGERED, *m, "--shifts", "0,1", "--dry-run"))


if __name__ == "__main__":
    system.main()
