"""Files that several ranks write: the propagators and correlators of one rank, as far as the residuals allow or to the byte; columns
continued by another number of ranks; nothing half-written after Ctrl-C."""
import math
import os
import shutil
import signal
import struct
import subprocess
import time

import rank_jobs
import system

KAPPA = 0.11
ACTION = ["--action", "wilson", "--kappa", str(KAPPA)]
WILSON = ["invert", *system.LINKS, *ACTION]

# M = 1 - kappa D with |D| <= 8: each direction's two hops, P_- U T + P_+ (U T)^dag with projectors of norm 1 that add up to 1
# after a factor 2, have norm 2 together. So |M^-1| <= 1 / (1 - 8 kappa), whatever the links are.
INVERSE = 1 / (1 - 8 * KAPPA)

# Hopeless on purpose: a light quark on a rough field, far more steps than there is time for.
ENDLESS = ["invert", "--gauge", "weak:0.9", "--lattice", "8", "8", "8", "8", "--kappa", "0.2", "--csw", "1", "--tol", "1e-16",
           "--sloppy", "double", "--max-iter", "1000000000"]


class Results(rank_jobs.Case):
    def distances(self, one, other):
        """What two solutions of M x = b may be apart, by column, |b| = 1: M (x - x') = r' - r, and both have residuals as
        reported; 1e-13 for roundings of these, recomputed in double."""
        return [INVERSE * (a["residual"] + b["residual"] + 1e-13)
                for a, b in zip(self.report(one)["solves"], self.report(other)["solves"])]

    def test_propagators_and_correlators_of_one_rank(self):
        for inner, grids in (("double", ((4, "2 2 1 1"),)), ("half", ((2, "1 1 1 2"), (4, "1 1 2 2")))):
            words = [*WILSON, "--sloppy", inner, "--tol", "1e-11"]
            self.succeeds(*words, "--output", "one.lime", "--correlators", "one.txt", "--report", "one.json")
            for ranks, grid in grids:
                name = f"{ranks}.lime"
                self.ranks(ranks, *words, "--grid", *grid.split(), "--output", name, "--correlators", "more.txt", "--report",
                           "more.json")
                bound = self.distances("one.json", "more.json")
                self.check_propagators("one.lime", name, bound)
                self.check_correlators("one.txt", "more.txt", math.hypot(*bound))

    def test_staggered_solutions_of_one_rank(self):
        # |M^-1| <= 1 / (2 m): D is anti-Hermitian
        mass = 0.2
        words = ["invert", *system.LINKS, "--action", "staggered", "--mass", str(mass), "--source", "corner:1", "--tol", "1e-11", "--sloppy", "half", "--reconstruct", "8"]
        self.succeeds(*words, "--output", "one.lime", "--report", "one.json")
        for ranks, grid in ((2, "1 1 1 2"), (4, "1 1 2 2"), (8, "1 1 1 8")):
            self.ranks(ranks, *words, "--grid", *grid.split(), "--output", "more.lime", "--report", "more.json")
            solves = [self.report(name)["solves"] for name in ("one.json", "more.json")]
            a, b = ([x for x in rank_jobs.payload(self.read(name)) if len(x) == 512 * 6 * 8] for name in ("one.lime", "more.lime"))
            self.assertEqual((len(a), len(b)), (3, 3))
            for k in range(3):
                numbers = [struct.unpack(f">{512 * 6}d", x[k]) for x in (a, b)]
                apart = math.sqrt(sum((p - q) ** 2 for p, q in zip(*numbers)))
                # |b|^2 = 8: the corners of a slice of 4 x 4 x 4
                bound = math.sqrt(8) / (2 * mass) * (solves[0][k]["residual"] + solves[1][k]["residual"] + 1e-13)
                print(f"  {ranks} ranks, column {k}: {apart:.1e} apart, bound {bound:.1e}")
                self.assertLessEqual(apart, bound)

    def test_parts_of_odd_extents(self):
        """in y, z and t: propagators of one rank, and in domains that are whole parts the same system's"""
        words = ["invert", "--gauge", "weak:0.3", "--lattice", "4", "6", "6", "6", *ACTION, "--sloppy", "single", "--tol", "1e-11"]
        self.succeeds(*words, "--output", "one.lime", "--correlators", "one.txt", "--report", "one.json")
        for ranks, grid, more in ((2, "1 1 1 2", ""), (4, "1 1 2 2", ""), (2, "1 1 2 1", "schwarz"), (4, "1 2 2 1", "sap"), (2, "1 1 1 2", "async-schwarz")):
            extra = ["--method", "gcr", "--precond", more] if more else []
            self.ranks(ranks, *words, *extra, "--grid", *grid.split(), "--output", "more.lime", "--correlators", "more.txt",
                       "--report", "more.json")
            report, part = self.report("more.json"), [n // int(g) for n, g in zip((4, 6, 6, 6), grid.split())]
            self.assertEqual(report["local_lattice"], part)
            self.assertTrue(any(n % 2 for n in part))
            bound = self.distances("one.json", "more.json")
            self.check_propagators("one.lime", "more.lime", bound)
            self.check_correlators("one.txt", "more.txt", math.hypot(*bound))

    def check_propagators(self, one, other, bound):
        a, b = (rank_jobs.records(self.read(name)) for name in (one, other))
        self.assertEqual([kind for kind, _ in a], [kind for kind, _ in b])
        a, b = (rank_jobs.payload(self.read(name)) for name in (one, other))
        squares = 0
        for x, y in zip(a, b):
            self.assertEqual(len(x), len(y))
            if len(x) % 8 == 0 and x != y:
                numbers = f">{len(x) // 8}d"
                squares += sum((p - q) ** 2 for p, q in zip(struct.unpack(numbers, x), struct.unpack(numbers, y)))
        # of all columns: the file's basis, another one, is a rotation of them
        print(f"  {other}: {math.sqrt(squares):.1e} apart, bound {math.hypot(*bound):.1e}")
        self.assertLessEqual(math.sqrt(squares), math.hypot(*bound))
        self.assertEqual(a[0], b[0])  # the source

    def check_correlators(self, one, other, delta):
        """pion(t) = |S_t|^2, S_t the columns on a slice: a change of S by delta changes it by 2 |S_t| delta + delta^2. So it
        does each of the rho's three parts, which are products of the same columns with factors of norm 1; 1e-14 for sums of
        4^3 * 144 terms of one sign, or bounded by such, in another order."""
        for (pion, rho), (pion2, rho2) in zip(self.correlators(one), self.correlators(other)):
            bound = 2 * math.sqrt(pion) * delta + delta ** 2 + 1e-14 * pion
            self.assertLessEqual(abs(pion - pion2), bound)
            self.assertLessEqual(abs(rho - rho2), bound)

    def test_files_are_those_of_one_rank_to_the_byte(self):
        """equal solutions: read from one file, and written again"""
        for more, columns in (([], 12), (["--source", "z4:5", "--columns", "5"], 5)):
            words = [*WILSON, *more]
            self.succeeds(*words, "--output", "first.lime")
            for ranks in (1, 2, 4):
                shutil.copy(self.path("first.lime"), self.path(f"{ranks}.lime"))
                words_there = [*words, "--output", f"{ranks}.lime", "--resume"]
                out = self.succeeds(*words_there) if ranks == 1 else self.ranks(ranks, *words_there)[0]
                self.assertIn(f"{columns} of {columns} columns taken over", out)
            one = rank_jobs.payload(self.read("1.lime"))
            self.assertGreater(len(one), 1)
            for ranks in (2, 4):
                self.assertEqual(rank_jobs.payload(self.read(f"{ranks}.lime")), one)

    def test_columns_of_one_rank_are_gone_on_with_by_two_and_by_one_again(self):
        words = [*WILSON, "--source", "z4:5", "--output", "x.lime"]
        self.succeeds(*words, "--columns", "3")
        out, _ = self.ranks(2, *words, "--columns", "5", "--resume", "--report", "two.json")
        self.assertIn("3 of 5 columns taken over", out)
        out = self.succeeds(*words, "--columns", "6", "--resume", "--report", "one.json")
        self.assertIn("5 of 6 columns taken over", out)
        counts = [[solve["iterations"] for solve in self.report(name)["solves"]] for name in ("two.json", "one.json")]
        self.assertEqual(counts[1][:5], counts[0])
        out, _ = self.ranks(4, *words, "--columns", "6", "--resume")
        self.assertIn("6 of 6 columns taken over", out)

    def test_last_iterates_of_ranks_are_gone_on_with_by_others(self):
        """a sparse system's, a propagator's and staggered ones: as far as one rank came, and on from there"""
        staggered = ["invert", *system.LINKS, "--action", "staggered", "--mass", "0.2"]
        for words, short in ((["solve", "--matrix", "convdiff3d:9,10", "--precond", "none", "--columns", "2"], 8), ([*WILSON, "--columns", "3"], 9),
                             ([*staggered, "--batch", "2"], 15)):
            self.succeeds(*words, "--report", "whole.json")
            whole = [s["iterations"] for s in self.report("whole.json")["solves"]]
            self.succeeds(*words, "--max-iter", short, "--output", "one", status=1)
            self.ranks(2, *words, "--max-iter", short, "--output", "two", "--report", "short.json", status=1)
            self.assertEqual(self.report("short.json")["unconverged"], "two.unconverged")
            self.assertFalse(os.path.exists(self.path("two")))
            begun = []
            for ranks, name in ((1, "two"), (2, "one"), (2, "two")):
                job = [*words, "--guess", name + ".unconverged", "--output", "x", "--report", "r.json", "--history", "h.csv"]
                out = self.succeeds(*job) if ranks == 1 else self.ranks(ranks, *job)[0]
                self.assertIn("starting from", out)
                counts = [s["iterations"] for s in self.report("r.json")["solves"]]
                begun.append([float(x) for x in self.read("h.csv").decode().splitlines()[1].split(",")[1:]])
                for fewer, more in zip(counts, whole):
                    self.assertLess(fewer, more)
                    self.assertGreater(fewer, 0)
            print(f"  {words[0]} {words[-3:]}: {whole} steps from 0, {short} and then {counts}")
            for other in begun[1:]:  # sums of ranks in another order, some steps long
                self.assertLess(max(abs(a / b - 1) for a, b in zip(begun[0], other)), 1e-4)
            self.ranks(2, *words, "--guess", "x", "--report", "r.json")
            self.assertEqual({s["iterations"] for s in self.report("r.json")["solves"]}, {0})

    def test_guesses_that_do_not_fit_are_refused_by_all_ranks(self):
        with open(self.path("x"), "w", encoding="ascii") as file:
            file.write("%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n")
        _, err = self.ranks(2, "solve", "--matrix", "laplace2d:5", "--guess", "x", status=2)
        self.assertEqual(err.count("--guess x has 3 rows, but --matrix laplace2d:5 has 25"), 1, err)
        self.succeeds(*WILSON, "--columns", "2", "--output", "p.lime")
        _, err = self.ranks(2, *WILSON, "--columns", "3", "--guess", "p.lime", status=2)
        self.assertEqual(err.count("--guess p.lime holds 2 columns, but this run has 3"), 1, err)

    def test_a_full_disk_is_every_ranks_status(self):
        with open(self.path("x.unconverged"), "w", encoding="ascii") as file:
            file.write("older")
        limited = ["bash", "-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "-"]
        for words in (["solve", "--matrix", "laplace3d:12"], [*WILSON, "--columns", "2"]):
            done = self.job([*rank_jobs.MPIRUN, "2", *limited, system.PROGRAM, *words, "--max-iter", "3", "--output", "x"])
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn("did not converge", done.stderr)
            self.assertEqual(os.listdir(self.folder), ["x.unconverged"])
            self.assertEqual(self.read("x.unconverged"), b"older")

    def test_asynchronous_relaxation_takes_rows_as_they_arrive(self):
        words = ["solve", "--matrix", "trefethen:900", "--rhs", "ones", "--method", "async", "--block", "50", "--tol", "1e-9"]
        for ranks, exchange, driver in ((2, "push", "free"), (4, "dk", "launch"), (2, "amc", "free"), (2, "dc", "launch")):
            out, _ = self.ranks(ranks, *words, "--exchange", exchange, "--async-driver", driver, "--rank-lag", "2", "--report", "r.json")
            report = self.report("r.json")
            self.assertEqual(report["solves"][0]["status"], "converged")
            self.assertLessEqual(report["solves"][0]["residual"], 1.1e-9)
            r = report["relaxation"]
            if exchange == "dc":  # of devices
                self.assertEqual(r["exchange"], "amc")
                self.assertIn("no copy engines", out)
            else:
                self.assertEqual((r["exchange"], r["exchange_note"]), (exchange, ""))
            self.assertGreater(sum(r["rank_shifts"].values()), 0)
            self.assertLessEqual(r["rank_oldest"], 2)
            self.assertGreaterEqual(r["rank_newest"], -3)

    def interrupted(self, ranks, *arguments, ready):
        job = subprocess.Popen(self.launch(ranks, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=self.folder, preexec_fn=system.default_signals)
        self.addCleanup(job.kill)
        for line in job.stdout:
            if ready in line:
                break
        time.sleep(0.5)
        self.assertIsNone(job.poll(), "it ended before it could be interrupted")
        begun = time.monotonic()
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=60)
        print(f"  {ranks} ranks ended {time.monotonic() - begun:.1f} s after Ctrl-C with status {job.returncode}")
        self.assertNotEqual(job.returncode, 0)
        # mpirun kills after a second; iterates are kept if that is enough
        return [name for name in sorted(os.listdir(self.folder)) if ".unconverged" not in name]

    def test_interrupted_jobs_leave_iterates_alone(self):
        left = self.interrupted(2, *ENDLESS, "--output", "p.lime", "--correlators", "c.txt", ready="CGNR to")
        self.assertEqual(left, [])
        for name in os.listdir(self.folder):
            os.remove(self.path(name))
        self.interrupted(4, "generate", "--lattice", "8", "8", "8", "8", "--sweeps", "1000000", "--output", "c.lime",
                         ready="sweep")
        self.assertEqual(os.listdir(self.folder), [])

    def test_interrupted_jobs_leave_what_was_there(self):
        """an older output, and what earlier batches left, which other ranks go on with"""
        with open(self.path("p.lime"), "wb") as file:
            file.write(b"older")
        self.assertEqual(self.interrupted(2, *ENDLESS, "--output", "p.lime", ready="CGNR to"), ["p.lime"])
        self.assertEqual(self.read("p.lime"), b"older")
        for name in os.listdir(self.folder):
            os.remove(self.path(name))
        many = ["invert", "--gauge", "weak:0.3", "--lattice", "8", "8", "8", "8", *ACTION, "--source", "z4:5", "--columns", "400",
                "--batch", "2", "--output", "x.lime"]
        self.assertEqual(self.interrupted(2, *many, ready="are kept in x.lime.partial"), ["x.lime.partial"])
        kept = len(rank_jobs.payload(self.read("x.lime.partial"))) // 2  # each with its source
        self.assertGreaterEqual(kept, 2)
        columns = kept + kept % 2  # of the batch that was interrupted either column may be the one that had converged
        many[many.index("400")] = str(columns)
        self.assertIn(f"{kept} of {columns} columns taken over", self.succeeds(*many, "--resume"))
        self.assertEqual([name for name in os.listdir(self.folder) if ".unconverged" not in name], ["x.lime"])


if __name__ == "__main__":
    system.main()
