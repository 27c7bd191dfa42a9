"""--guess and OUTPUT.unconverged of kaon solve and kaon invert: an unfinished run can be continued, unsuitable guesses are refused, and
no file is left half-written."""
import os
import resource
import signal
import subprocess
import time

import system

SMALL = system.SMALL
LINKS = ["--gauge", "weak:0.3", "--lattice", "4", "4", "4", "4"]
CORNER = ["--mass", "0.1", "--source", "corner:0"]
STAGGERED = [*LINKS, "--action", "staggered", *CORNER]
SYSTEM = ["--matrix", "laplace3d:12"]
ARRAY = "%%MatrixMarket matrix array "


class Guess(system.Case):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def run_for(self, *arguments, status=0):
        """The report of one run, and its columns' first relative residuals."""
        said = self.succeeds(*arguments, "--report", "r.json", "--history", "h.csv", status=status)
        report = self.report("r.json")
        report["said"] = said
        report["counts"] = [s["iterations"] for s in report["solves"]]
        lines = self.read("h.csv").decode().splitlines()
        report["first"] = [float(x) if x else None for x in lines[1].split(",")[1:]]
        return report

    def vector(self, name):
        """A Matrix Market array: its columns."""
        with open(self.path(name), encoding="utf-8") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("%")]
        rows, columns = map(int, lines[0].split())
        values = [float(line) for line in lines[1:]]
        self.assertEqual(len(values), rows * columns)
        return [values[k * rows:(k + 1) * rows] for k in range(columns)]

    def goes_on(self, job, output):
        """From zero to the end; half of the way and the rest; and once more from the end."""
        whole = self.run_for(*job, "--output", "whole")
        self.assertIsNone(whole["unconverged"])
        self.assertIsNone(whole["guess"])
        half = min(whole["counts"]) // 2
        for name in (output, output + ".unconverged"):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
        short = self.run_for(*job, "--max-iter", half, "--output", output, status=1)
        left = output + ".unconverged"
        self.assertEqual(short["unconverged"], left)
        self.assertIn(f"but the last iterates of all columns are in {left}; go on from there with --guess {left} --max-iter {2 * half}",
                      short["said"])
        self.assertFalse(os.path.exists(self.path(output)))
        rest = self.run_for(*job, "--guess", left, "--output", output)
        self.assertEqual((rest["guess"], rest["unconverged"]), (left, None))
        for k, count in enumerate(rest["counts"]):
            self.assertLess(count, whole["counts"][k])
            self.assertGreater(count, 0)
            # where the one ended the other begins: to single precision, which the recurrence may be in
            self.assertLess(abs(rest["first"][k] / short["solves"][k]["residual"] - 1), 1e-2)
        self.assertIn("starting from", rest["said"])
        self.assertIn(f"{left}, of an earlier run, is not needed any more", rest["said"])
        again = self.run_for(*job, "--guess", output, "--output", "again")
        self.assertEqual(again["counts"], [0] * len(again["counts"]))
        print(f"  {' '.join(map(str, job[:1] + job[-4:]))}: {whole['counts']} steps from 0, {half} and then {rest['counts']}")
        return whole, rest

    # --- kaon solve ---

    def test_a_sparse_solve_is_gone_on_with(self):
        for words in ([*SYSTEM, "--columns", "3"], [*SYSTEM, "--sloppy", "single"], [*SYSTEM, "--method", "gcr", "--precond", "jacobi"],
                      [*SYSTEM, "--method", "bicgstab"], [*SYSTEM, "--method", "cgmnc", "--columns", "2"],
                      ["--matrix", "laplace3d:6", "--method", "two-stage"]):
            with self.subTest(words=words):
                _, rest = self.goes_on(["solve", *words], "x.mtx")
                self.assertLess(rest["error"], 1e-5)
                self.assertLess(max(abs(a - 1) for a in self.vector("x.mtx")[0]), 1e-5)

    def test_single_precision_begins_there_as_well(self):
        self.goes_on(["solve", *SYSTEM, "--precision", "single", "--tol", "1e-5"], "x.mtx")

    def test_one_command_line_serves_until_it_is_done(self):
        """the last iterates are read before they are replaced"""
        job = ["solve", *SYSTEM, "--max-iter", "14", "--output", "x.mtx"]
        residuals = [self.run_for(*job, status=1)["solves"][0]["residual"]]
        for _ in range(8):
            code, _, err = system.kaon(*job, "--guess", "x.mtx.unconverged", "--report", "r.json", cwd=self.folder)
            self.assertIn(code, (0, 1), err)
            residuals.append(self.report("r.json")["solves"][0]["residual"])
            if code == 0:
                break
        print(f"  {residuals}")
        self.assertEqual(code, 0)
        self.assertGreater(len(residuals), 2)  # it was replaced at least once
        self.assertEqual(residuals, sorted(residuals, reverse=True))

    def test_complex_and_real_guesses(self):
        hermitian = "%%MatrixMarket matrix coordinate complex hermitian\n3 3 5\n1 1 3 0\n2 1 0 1\n2 2 3 0\n3 2 0.5 -0.5\n3 3 4 0\n"
        self.write("H.mtx", hermitian)
        self.write("ones", ARRAY + "real general\n3 1\n1\n1\n1\n")
        self.write("i", ARRAY + "complex general\n3 1\n1 0\n1 0\n1 0\n")
        for name in ("ones", "i"):  # b = A * ones: this is the solution
            self.assertEqual(self.run_for("solve", "--matrix", "H.mtx", "--guess", name)["counts"], [0])
        self.refused("solve", "--matrix", "laplace2d:2", "--guess", "i", words=["--guess i has 3 rows", "laplace2d:2 has 4", "give an x"])
        self.write("i4", ARRAY + "complex general\n4 1\n" + "1 0\n" * 4)
        self.refused("solve", "--matrix", "laplace2d:2", "--guess", "i4", words=["--guess i4 is complex", "laplace2d:2 is real"])

    def test_wrong_guesses_are_refused(self):
        two = self.write("two", ARRAY + "real general\n4 2\n" + "1\n" * 8)
        one = self.write("one", ARRAY + "real general\n4 1\n" + "1\n" * 4)
        self.write("nan", ARRAY + "real general\n4 1\n1\nnan\n1\n1\n")
        self.write("text", "hello\n")
        for words, guess, more in ((["--guess two has 2 columns, but --columns is 1", "pass --columns 2"], two, []),
                                   (["--guess one has 1 column, but --columns is 3", "or --columns 1"], one, ["--columns", "3"]),
                                   (["--guess", "nan, line 4"], "nan", []), (["--guess: text: it is a file that begins with 'hello'"], "text", []),
                                   (["--guess absent: there is no such file", "Matrix Market"], "absent", [])):
            with self.subTest(guess=guess, more=more):
                self.refused("solve", "--matrix", "laplace2d:2", "--guess", guess, *more, words=words)

    def test_columns_that_diverged_are_left_as_0(self):
        """Jacobi's radius is 3 on rows 2 and 3, 0 on row 1"""
        self.write("A.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n2 2 1\n2 3 3\n3 2 3\n3 3 1\n")
        self.write("b", ARRAY + "real general\n3 2\n5\n0\n0\n0\n1\n1\n")
        job = ["solve", "--matrix", "A.mtx", "--method", "jacobi", "--max-iter", "1000", "--no-fallback"]
        report = self.run_for(*job, "--rhs", "b", "--columns", "2", "--output", "x", status=1)
        self.assertEqual([s["status"] for s in report["solves"]], ["converged", "diverging"])
        self.assertIn("are in x.unconverged (0 for the 1 that did not improve); go on from there with --guess x.unconverged\n", report["said"])
        self.assertEqual(self.vector("x.unconverged"), [[5, 0, 0], [0, 0, 0]])
        os.remove(self.path("x.unconverged"))
        report = self.run_for(*job, "--rhs", "ones", "--output", "x", status=1)
        self.assertIn("the solutions were not written, nor were the last iterates, since no column improved on x = 0", report["said"])
        self.assertIsNone(report["unconverged"])
        self.assertFalse(os.path.exists(self.path("x.unconverged")))

    def test_without_output_nothing_is_written(self):
        for job in (["solve", *SYSTEM], ["invert", *SMALL]):
            report = self.run_for(*job, "--max-iter", "3", status=1)
            self.assertIsNone(report["unconverged"])
            self.assertNotIn("last iterates", report["said"])
            self.assertEqual(sorted(os.listdir(self.folder)), ["h.csv", "r.json"])

    # --- kaon invert ---

    def test_propagators_are_gone_on_with(self):
        for more in (["--columns", "12"], ["--columns", "5", "--batch", "2"], ["--columns", "1", "--even-odd", "none", "--method", "bicgstab"],
                     ["--columns", "2", "--sloppy", "half", "--even-odd", "asymmetric"], ["--source", "z4:3", "--columns", "3"],
                     ["--columns", "1", "--method", "gcr", "--precond", "schwarz", "--schwarz-block", "2", "2", "2", "4"]):
            with self.subTest(more=more):
                whole, rest = self.goes_on(["invert", *SMALL, *more], "p.lime")
                if "pion" in whole:  # both to residuals of 1e-10
                    self.assertLess(max(abs(a / b - 1) for a, b in zip(whole["pion"], rest["pion"])), 1e-8)

    def test_staggered_solutions_are_gone_on_with(self):
        for words in (STAGGERED, [*STAGGERED, "--batch", "2"], [*STAGGERED, "--even-odd", "none", "--method", "cgnr"],
                      [*LINKS, "--action", "hisq", *CORNER, "--columns", "2"]):
            with self.subTest(words=words):
                whole, rest = self.goes_on(["invert", *words], "s.lime")
                if "pion" in whole:
                    self.assertLess(max(abs(a / b - 1) for a, b in zip(whole["pion"], rest["pion"])), 1e-8)

    def test_a_guess_of_another_mass_is_one_and_is_said(self):
        lighter = [*system.LINKS, "--kappa", "0.121", "--csw", "1"]
        self.succeeds("invert", *SMALL, "--output", "p.lime")
        from_zero = self.run_for("invert", *lighter)["counts"]
        report = self.run_for("invert", *lighter, "--guess", "p.lime")
        self.assertIn("starting from p.lime, which solves another equation: its kappa is 0.12, this run's 0.121", report["said"])
        self.assertLess(max(report["counts"]), min(from_zero))
        self.assertLess(max(report["first"]), 0.1)
        heavier = [*LINKS, "--action", "staggered", "--mass", "0.11", "--source", "corner:0"]
        self.succeeds("invert", *STAGGERED, "--output", "s.lime")
        report = self.run_for("invert", *heavier, "--guess", "s.lime")
        self.assertIn('it says "staggered, mass 0.1, source corner:0", this run is "staggered, mass 0.11"', report["said"])
        self.assertLess(max(report["first"]), 0.5)

    def test_another_mu_or_a_shift_is_another_equation(self):
        twisted = [*LINKS, "--action", "twisted", "--kappa", "0.12", "--columns", "1"]
        self.succeeds("invert", *twisted, "--mu", "0.1", "--output", "p.lime")
        kept = self.read("p.lime")
        for mu in ("0", "-0.1"):
            job = ["invert", *twisted, "--mu", mu]
            self.refused(*job, "--output", "p.lime", "--resume", words=["--resume: p.lime holds other solutions: its mu is 0.1", f"this run's {mu}"])
            self.assertEqual(self.read("p.lime"), kept)
            self.assertIn("starting from p.lime, which solves another equation: its mu is 0.1", self.succeeds(*job, "--guess", "p.lime"))
        self.succeeds("invert", *twisted, "--mu", "0", "--output", "q.lime")
        self.assertIn("1 of 1 columns taken over", self.succeeds("invert", *twisted, "--mu", "0", "--output", "q.lime", "--resume"))
        self.refused("invert", *twisted, "--mu", "0.1", "--output", "q.lime", "--resume", words=["its mu is 0.0, this run's 0.1"])
        for shift in ("0", "1"):
            self.succeeds("invert", *SMALL, "--columns", "1", "--shifts", shift, "--output", "s.lime")
            kept = self.read("s.lime.0")
            self.refused("invert", *SMALL, "--columns", "1", "--output", "s.lime.0", "--resume",
                         words=[f"its shift is {shift}.0, this run's none"])
            self.assertEqual(self.read("s.lime.0"), kept)

    def test_what_is_taken_over_stays_and_the_rest_begins_at_the_guess(self):
        job = ["invert", *SMALL, "--output", "p.lime"]
        whole = self.run_for("invert", *SMALL)["counts"]
        if min(whole) == max(whole):
            raise system.unittest.SkipTest("all columns take equally long")
        limit = sorted(whole)[len(whole) // 2] - 1
        if limit < min(whole):
            limit = max(whole) - 1
        short = self.run_for(*job, "--max-iter", limit, status=1)
        kept = [s["column"] for s in short["solves"] if s["status"] == "converged"]
        self.assertTrue(0 < len(kept) < 12)
        self.assertIn("go on from there with --resume --guess p.lime.unconverged --max-iter", short["said"])
        self.assertTrue(os.path.exists(self.path("p.lime.partial")))
        self.assertNotEqual(kept, list(range(len(kept))))  # what they are is said, not taken for the first ones
        self.refused("invert", *SMALL, "--columns", len(kept), "--guess", "p.lime.partial", words=[f"from column {kept[0]} on", "--resume"])
        rest = self.run_for(*job, "--resume", "--guess", "p.lime.unconverged")
        self.assertIn(f"{len(kept)} of 12 columns taken over", rest["said"])
        self.assertEqual((rest["taken_over"], short["taken_over"]), (kept, []))
        for k in range(12):
            if k in kept:
                self.assertEqual(rest["counts"][k], short["counts"][k])
            else:
                self.assertLess(rest["counts"][k], whole[k] // 2)

    def test_columns_that_are_sent_back_begin_where_they_were(self):
        """by a smaller --tol, all together or in batches"""
        job = ["invert", *SMALL, "--columns", "4", "--output", "p.lime"]
        whole = self.run_for(*job, "--tol", "1e-6")["counts"]
        for more in ([], ["--batch", "3"]):
            report = self.run_for("invert", *SMALL, "--columns", "4", "--output", "p.lime", "--tol", "1e-7", "--resume", *more)
            self.assertIn("0 of 4 columns taken over", report["said"])
            self.assertLess(max(report["counts"]), min(whole))
            self.succeeds(*job, "--tol", "1e-6")

    def test_wrong_propagators_are_refused(self):
        self.succeeds("invert", *SMALL, "--columns", "3", "--output", "p.lime")
        self.succeeds("invert", *STAGGERED, "--output", "s.lime")
        self.succeeds("invert", *SMALL, "--columns", "3", "--shifts", "0.5", "--output", "shifted")
        self.succeeds("invert", *STAGGERED, "--shifts", "0.5", "--output", "s")
        self.succeeds("generate", "--lattice", "4x4x4x8", "--sweeps", "1", "--output", "links.lime")
        smaller = [*LINKS, "--kappa", "0.12", "--csw", "1", "--columns", "3"]
        data = bytearray(self.read("p.lime"))
        data[-3000] ^= 1
        with open(self.path("damaged.lime"), "wb") as file:
            file.write(data)
        for words, arguments in (
                (["--guess p.lime is of a lattice of 4x4x4x8", "4x4x4x4"], [*smaller, "--guess", "p.lime"]),
                (["--guess p.lime holds 3 columns, but this run has 4"], [*SMALL, "--columns", "4", "--guess", "p.lime"]),
                (["--guess p.lime", "--source point:0,0,0,0", "wall:1"], [*SMALL, "--columns", "3", "--source", "wall:1", "--guess", "p.lime"]),
                (["--guess p.lime holds spinors", "this run's action is staggered; give a file of staggered vectors"], [*STAGGERED, "--guess", "p.lime"]),
                (["--guess s.lime holds staggered vectors", "this run's action is clover; give a file of spinors"], [*SMALL, "--guess", "s.lime"]),
                (["--guess s.lime holds 3 columns, but this run has 2"], [*STAGGERED, "--columns", "2", "--guess", "s.lime"]),
                (["--guess s.lime is of a lattice of 4x4x4x4", "4x4x4x8"], [*system.LINKS, "--action", "staggered", *CORNER, "--guess", "s.lime"]),
                (["--guess s.lime", "corner:0", "wall:0"], [*LINKS, "--action", "staggered", "--mass", "0.1", "--source", "wall:0", "--guess", "s.lime"]),
                (["--guess shifted.0", "--shifts"], [*SMALL, "--columns", "3", "--guess", "shifted.0"]),
                (["--guess s.0 holds solutions of (A + 0.5)", "--shifts"], [*STAGGERED, "--guess", "s.0"]),
                (["--guess", "links.lime"], [*SMALL, "--guess", "links.lime"]),
                (["--guess", "damaged.lime", "checksums"], [*SMALL, "--columns", "3", "--guess", "damaged.lime"])):
            with self.subTest(arguments=arguments):
                self.refused("invert", *arguments, words=words)
        self.refused("invert", *smaller, "--guess", "p.lime", "--dry-run", words=["4x4x4x8", "4x4x4x4"])
        self.succeeds("invert", *SMALL, "--columns", "3", "--guess", "p.lime", "--dry-run")

    def test_ignored_checksums_are_said(self):
        """also where the links come from no file"""
        for job, place in (([*SMALL, "--columns", "3"], -3000), (STAGGERED, -2000)):
            self.succeeds("invert", *job, "--output", "p")
            data = bytearray(self.read("p"))
            data[place] ^= 1
            with open(self.path("damaged"), "wb") as file:
                file.write(data)
            self.refused("invert", *job, "--guess", "damaged", words=["checksums", "--ignore-checksum"])
            said = self.succeeds("invert", *job, "--guess", "damaged", "--ignore-checksum")
            self.assertEqual(said.count("warning: "), 1, said)
            self.assertIn("warning: damaged: ", said)
            self.refused("invert", *job, "--ignore-checksum", words=["--ignore-checksum is for a file of --gauge"])
        self.succeeds("invert", *SMALL, "--columns", "3", "--output", "p")
        data = bytearray(self.read("p"))
        data[-3000] ^= 1
        with open(self.path("p"), "wb") as file:
            file.write(data)
        again = ["invert", *SMALL, "--columns", "3", "--output", "p", "--resume"]
        self.refused(*again, words=["checksums"])
        self.assertIn("warning: p: ", self.succeeds(*again, "--ignore-checksum"))

    def test_solutions_of_shifts_leave_no_iterates(self):
        said = self.succeeds("invert", *SMALL, "--columns", "1", "--shifts", "0.1", "--max-iter", "3", "--output", "s", status=1)
        self.assertIn("the solutions were not written\n", said)
        self.assertEqual(os.listdir(self.folder), [])

    # --- files ---

    def test_the_name_is_looked_at_before_the_work(self):
        os.mkdir(self.path("x.unconverged"))
        for job in (["invert", *SMALL], ["solve", *SYSTEM]):
            self.refused(*job, "--output", "x", words=["the last iterates of --output x.unconverged", "not an ordinary file"])

    def test_a_full_disk_leaves_an_older_file(self):
        def no_room():
            system.default_signals()
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        for job in (["solve", *SYSTEM], ["invert", *SMALL], ["invert", *STAGGERED]):
            with self.subTest(job=job):
                self.write("x.unconverged", "older")
                done = subprocess.run([system.PROGRAM, *job, "--max-iter", "3", "--output", "x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, cwd=self.folder, env=system.environment(), preexec_fn=no_room, restore_signals=False)
                print(f"  {done.stderr.splitlines()[0]}")
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertIn("did not converge", done.stderr)
                self.assertNotIn("last iterates of all columns are in", done.stderr)
                self.assertEqual(os.listdir(self.folder), ["x.unconverged"])
                self.assertEqual(self.read("x.unconverged"), b"older")

    def test_ctrl_c_while_they_are_written(self):
        """an older file or a whole new one, at whatever moment"""
        rows = 40 ** 3
        for delay in (0, 0.1, 0.3):
            self.write("x.unconverged", "older")
            process = system.start("solve", "--matrix", "laplace3d:40", "--columns", "24", "--max-iter", "2", "--output", "x", cwd=self.folder)
            self.addCleanup(process.kill)
            for line in process.stdout:
                if "max-iterations" in line:
                    break
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            self.assertEqual(os.listdir(self.folder), ["x.unconverged"], err)
            whole = self.read("x.unconverged") != b"older"
            print(f"  after {delay} s: status {process.returncode}, {'a whole new file' if whole else 'the older one'}")
            if whole:
                columns = self.vector("x.unconverged")
                self.assertEqual((len(columns), len(columns[0])), (24, rows))
            else:
                self.assertEqual(process.returncode, 130, err)


if __name__ == "__main__":
    system.main()
