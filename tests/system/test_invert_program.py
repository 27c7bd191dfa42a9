"""kaon invert: reports, files, batches, resumption, reproducibility."""
import json
import os
import shutil
import unittest

import system

SMALL = system.SMALL


class Invert(system.Case):
    def test_a_propagator_leaves_all_it_promises(self):
        self.succeeds("invert", *SMALL, "--sloppy", "half", "--output", "p.lime", "--correlators", "c.txt", "--history",
                      "h.csv", "--report", "report.json", "--plot", "h.png", "--plot-pion", "pion.png")
        report = self.report()
        for key in "kaon commit backend device threads ranks seconds gflops joules solves plaquette lattice pion".split():
            self.assertIn(key, report)
        self.assertEqual(report["lattice"], [4, 4, 4, 8])
        self.assertEqual([s["column"] for s in report["solves"]], list(range(12)))
        worst = max(s["residual"] for s in report["solves"])
        print(f"  largest residual {worst:.2e} (bound 1.1e-10)")
        self.assertLessEqual(worst, 1.1e-10)
        self.assertEqual({s["status"] for s in report["solves"]}, {"converged"})
        self.assertEqual(len(report["pion"]), 8)
        self.assertTrue(all(c > 0 for c in report["pion"]))
        rows = [line.split() for line in self.read("c.txt").decode().splitlines() if not line.startswith("#")]
        self.assertEqual([int(r[0]) for r in rows], list(range(8)))
        self.assertEqual([float(r[1]) for r in rows], report["pion"])
        head, *lines = self.read("h.csv").decode().splitlines()
        self.assertEqual(head.split(",")[0], "iteration")
        self.assertEqual(len(head.split(",")), 13)
        self.assertEqual(float(lines[0].split(",")[1]), 1.0)
        self.assertGreaterEqual(len(lines), report["solves"][0]["iterations"])
        if shutil.which("gnuplot"):
            for name in ("h.png", "pion.png"):
                self.assertEqual(self.read(name)[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(os.path.getsize(self.path("p.lime")), 12 * 512 * 24 * 8)

    def test_every_solver_and_form_finds_the_same_pion(self):
        def pion(*more):
            self.succeeds("invert", *SMALL, "--report", "report.json", *more)
            return self.report()["pion"]
        first = pion()
        for more in (["--method", "cgne"], ["--method", "bicgstab"], ["--method", "gcr"],
                     ["--method", "blockcg"], ["--method", "pipecg"], ["--method", "pipebicgstab"],
                     ["--even-odd", "asymmetric"], ["--even-odd", "none"], ["--temporal-gauge"],
                     ["--sloppy", "double"], ["--sloppy", "half", "--reconstruct", "8"],
                     ["--reconstruct", "12"], ["--refinement", "restart"], ["--stop", "schur"]):
            with self.subTest(more=more):
                other = pion(*more)
                worst = max(abs(a / b - 1) for a, b in zip(first, other))
                # x is off by at most tol / (smallest singular value, about 0.1 here) in norm
                print(f"  {' '.join(more)}: largest relative difference {worst:.1e} (bound 1e-6)")
                self.assertLess(worst, 1e-6)

    def test_staggered_actions(self):
        lattice = [*system.LINKS, "--action", "staggered", "--mass", "0.2"]
        pions = []
        for more in (["--source", "corner:2", "--output", "chi.lime", "--correlators", "c.txt"],
                     ["--source", "corner:2", "--sloppy", "half", "--reconstruct", "8"],
                     ["--source", "corner:2", "--method", "pipecg"],
                     ["--source", "corner:2", "--even-odd", "none", "--method", "bicgstab", "--sloppy", "double"]):
            with self.subTest(more=more):
                self.succeeds("invert", *lattice, *more, "--report", "report.json")
                report = self.report()
                self.assertEqual((report["action"], report["mass"]), ("staggered", 0.2))
                self.assertEqual([s["status"] for s in report["solves"]], ["converged"] * 3)
                self.assertTrue(all(c > 0 for c in report["pion"]))
                pions.append(report["pion"])
        worst = max(abs(a / b - 1) for other in pions for a, b in zip(pions[0], other))
        # x is off by at most tol / (2 m) in norm
        print(f"  largest relative difference {worst:.1e} (bound 1e-6)")
        self.assertLess(worst, 1e-6)
        self.assertGreater(os.path.getsize(self.path("chi.lime")), 3 * 512 * 6 * 8)
        for more, words in ((["--kappa", "0.1"], ["--mass"]), (["--csw", "1"], ["--csw"]),
                            (["--columns", "4"], ["3"]), (["--resume", "--output", "x"], ["--resume"])):
            with self.subTest(more=more):
                self.refused("invert", *lattice, *more, words=words)

    def test_links_are_fattened(self):
        lattice = [*system.LINKS, "--mass", "0.2", "--report", "report.json"]
        for action, levels in (("asqtad", 1), ("hisq", 2)):
            with self.subTest(action=action):
                out = self.succeeds("invert", *lattice, "--action", action, "--naik-epsilon", "-0.1")
                report = self.report()
                self.assertEqual((report["action"], report["naik_epsilon"]), (action, -0.1))
                self.assertEqual([s["status"] for s in report["solves"]], ["converged"] * 3)
                made = report["fattening"]
                self.assertEqual(len(made["level_seconds"]), levels)
                self.assertTrue(0 < sum(made["level_seconds"]) <= made["seconds"])
                self.assertIn("of the solve's time", out)
                if levels == 2:
                    self.assertEqual(made["svd_links"], 0)
                    self.assertTrue(0 < made["smallest_det"] < 1)
        self.succeeds("invert", *lattice, "--action", "asqtad", "--u0", "auto", "--columns", "1")
        report = self.report()
        self.assertAlmostEqual(report["u0"], report["plaquette"] ** 0.25, delta=1e-14)
        self.succeeds("invert", *lattice, "--action", "hisq", "--dry-run")
        self.succeeds("generate", "--lattice", "4", "4", "4", "8", "--beta", "6", "--sweeps", "1", "--output", "thin.lime")
        for more, words in ((["--action", "hisq", "--u0", "0.9"], ["--u0", "asqtad"]),
                            (["--action", "asqtad", "--u0", "low"], ["--u0", "auto"]),
                            (["--action", "staggered", "--naik-epsilon", "0.1"], ["--naik-epsilon", "hisq"]),
                            (["--action", "hisq", "--fat-links", "x"], ["--long-links"]),
                            (["--action", "hisq", "--fat-links", "thin.lime", "--long-links", "thin.lime"],
                             ["thin.lime", "gauge configuration", "thin links"])):
            with self.subTest(more=more):
                self.refused("invert", *lattice, *more, words=words)

    def test_ready_made_links_of_few_reals_hang_on_u0(self):
        fat, long = system.data("milc", "milc_fat.l8"), system.data("milc", "milc_long.l8")
        job = ["invert", "--gauge", system.data("milc", "milc_lat.sample.l8"), "--action", "asqtad", "--mass", "0.5", "--columns", "1", "--tol", "1e-6",
               "--fat-links", fat, "--long-links", long]
        self.succeeds(*job)
        self.refused(*job, "--u0", "0.502", words=["--u0 0.502", "--reconstruct 12 or 8", "leave it out"])
        self.succeeds(*job, "--reconstruct", "12", "--u0", "0.502")
        self.succeeds(*job, "--reconstruct", "8", "--u0", "auto")
        self.assertIn("--reconstruct 12 is not used", self.succeeds(*job, "--reconstruct", "12", "--sloppy", "double"))
        for more in ([], ["--shifts", "0,0.1"], ["--u0", "0.8"]):
            with self.subTest(more=more):
                self.refused(*job, "--reconstruct", "12", *more, words=["--u0 auto", "here 0.8" if "0.8" in more else "here 1;", "leave --reconstruct out"])

    def test_the_method_is_named(self):
        for solver, name, word in (("cg", "CGNR", "cgnr"), ("bicgstab", "BiCGStab", "bicgstab"), ("mr", "MR", "mr"),
                                   ("blockcg", "block CGNR", "blockcgnr"), ("pipecg", "pipelined CGNR", "pipecgnr"),
                                   ("pipebicgstab", "pipelined BiCGStab", "pipebicgstab")):
            out = self.succeeds("invert", *SMALL, "--method", solver, "--columns", "2", "--report", "report.json")
            self.assertIn(f"\n{name} to 1e-10", out)
            self.assertEqual(self.report()["solver"], word)

    def test_preconditioners_are_named_and_counted(self):
        small, gcr = [*SMALL, "--columns", "2", "--report", "report.json"], ["--method", "gcr"]
        self.succeeds("invert", *small, *gcr)
        alone = self.report()
        self.assertIsNone(alone["preconditioner"])
        self.assertEqual((alone["exchanges"], alone["bytes_sent"]), (0, 0))  # one rank
        for more, text, used in (
                ([*gcr, "--precond", "schwarz"], "GCR, preconditioned by additive Schwarz, a block a rank, to 1e-10",
                 {"kind": "schwarz", "block": [4, 4, 4, 8], "cut": [], "steps": 10, "cycles": 1, "precision": "half"}),
                ([*gcr, "--precond", "sap", "--schwarz-block", "4", "2", "4", "4", "--schwarz-steps", "3", "--schwarz-cycles", "2",
                  "--schwarz-precision", "single", "--schwarz-relaxation", "0.9"],
                 "GCR, preconditioned by SAP in blocks of 4x2x4x4, to 1e-10",
                 {"kind": "sap", "block": [4, 2, 4, 4], "cut": ["x", "y", "z", "t"], "steps": 3, "cycles": 2, "precision": "single", "relaxation": 0.9}),
                (["--method", "async-schwarz", "--schwarz-block", "4", "2", "4", "4", "--schwarz-groups", "3"],
                 "GCR, preconditioned by asynchronous Schwarz in blocks of 4x2x4x4, to 1e-10",
                 {"kind": "async-schwarz", "block": [4, 2, 4, 4], "steps": 4, "cycles": 5, "groups": 3, "reads": 0, "late": 0, "oldest": 0}),
                ([*gcr, "--precond", "async-schwarz"], "GCR, preconditioned by asynchronous Schwarz, a block a rank, to 1e-10",
                 {"kind": "async-schwarz", "block": [4, 4, 4, 8]})):
            with self.subTest(more=more):
                self.assertIn(text, self.succeeds("invert", *small, *more))
                report = self.report()
                self.assertEqual(report["preconditioner"], {**report["preconditioner"], **used})
                print(f"  {report['solves'][0]['iterations']} steps, {report['sums']} sums; without {alone['solves'][0]['iterations']}, "
                      f"{alone['sums']}")
                self.assertLess(2 * report["solves"][0]["iterations"], alone["solves"][0]["iterations"])
                self.assertLess(report["sums"], alone["sums"])
        for wrong, why in ((["--method", "cg", "--precond", "sap"], "--precond sap needs --method gcr; --method is cg"),
                           ([*gcr, "--schwarz-steps", "3"], "--schwarz-steps is for --precond schwarz, sap and async-schwarz"),
                           ([*gcr, "--precond", "schwarz", "--schwarz-block", "3", "4", "4", "4"], "an even divisor"),
                           ([*gcr, "--precond", "sap", "--schwarz-groups", "3"], "--schwarz-groups is for --precond async-schwarz, but it is sap"),
                           (["--method", "async-schwarz", "--precond", "sap"], "but --precond is sap; leave it out, or give --method gcr"),
                           (["--method", "async-schwarz", "--precond", "none"], "but --precond is none")):
            code, _, err = system.kaon("invert", *small, *wrong)
            self.assertEqual(code, 2)
            self.assertIn(why, err)

    def test_staggered_actions_refuse_schwarz_by_its_name(self):
        self.refused("invert", "--gauge", "weak:0.3", "--lattice", "4", "4", "4", "4", "--action", "staggered", "--mass", "0.1", "--method", "async-schwarz",
                     words=("--method async-schwarz is not for --action staggered",))

    def test_the_temporal_gauge_of_links_that_are_off_the_group(self):
        """MILC's links are in single precision: what is off SU(3) by 5e-7 has no solution to 1e-10 there, and that is said"""
        name = system.data("milc/milc_lat.sample.l8888")
        common = ["invert", "--gauge", name, "--kappa", "0.12", "--csw", "1", "--columns", "1", "--temporal-gauge"]
        code, _, err = system.kaon(*common)
        self.assertEqual(code, 1)
        self.assertIn("warning: --temporal-gauge is for SU(3) links, but these are off it by 5", err)
        self.assertIn("--temporal-gauge rotates by links that are not SU(3) to within --tol", err)
        self.assertNotIn("warning", self.succeeds(*common, "--tol", "1e-6"))
        self.assertNotIn("warning", self.succeeds("invert", *system.SMALL, "--columns", "1", "--temporal-gauge"))

    def test_names_that_are_not_utf8_leave_the_reports_whole(self):
        name = b"links\xff.lime"
        self.succeeds("generate", "--lattice", "4x4x4x4", "--sweeps", "1", "--output", name, "--report", "report.json")
        self.assertEqual(self.report()["output"], "links?.lime")
        self.succeeds("gauge", name, "--report", "report.json")
        self.assertEqual((self.report()["file"], self.report()["lattice"]), ("links?.lime", [4, 4, 4, 4]))
        physics = ["--kappa", "0.1", "--csw", "1", "--columns", "1"]
        self.succeeds("invert", "--gauge", name, *physics, "--report", "report.json", "--output", "p.lime")
        self.assertEqual(self.report()["gauge"], "links?.lime")
        self.assertIn("1 of 1 columns taken over",
                      self.succeeds("invert", "--gauge", name, *physics, "--output", "p.lime", "--resume"))
        self.succeeds("bench", "solve", "--gauge", name, *physics, "--precision", "double", "--json", "rows.json")
        self.assertEqual([row["gauge"] for row in self.report("rows.json")], ["links?.lime"])

    def test_bitwise_the_same_for_any_threads_and_check_interval(self):
        outputs = []
        for n, more in enumerate((["--threads", "1"], ["--threads", "2"], ["--threads", "3"],
                                  ["--threads", "2", "--set", "check_interval=1"],
                                  ["--threads", "1", "--set", "check_interval=37"])):
            self.succeeds("invert", *SMALL, "--sloppy", "half", "--correlators", f"c{n}", "--history", f"h{n}",
                          "--report", f"r{n}", *more)
            solves = [(s["iterations"], s["residual"]) for s in self.report(f"r{n}")["solves"]]
            outputs.append((self.read(f"c{n}"), self.read(f"h{n}"), solves))
        for other in outputs[1:]:
            self.assertEqual(outputs[0], other)

    def test_batches_give_the_same_columns(self):
        self.succeeds("invert", *SMALL, "--correlators", "whole", "--report", "whole.json")
        self.succeeds("invert", *SMALL, "--correlators", "parts", "--report", "parts.json", "--batch", "5", "--output",
                      "p.lime")
        self.assertFalse(os.path.exists(self.path("p.lime.partial")))
        self.assertEqual(self.read("whole"), self.read("parts"))

    def test_not_converging_is_status_1_and_leaves_no_solution(self):
        out = self.succeeds("invert", *SMALL, "--max-iter", "3", "--output", "p.lime", "--correlators", "c.txt",
                            "--report", "report.json", status=1)
        self.assertIn("max-iterations", out)
        self.assertEqual({s["status"] for s in self.report()["solves"]}, {"max-iterations"})
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.lime.unconverged", "report.json"])

    def test_advice_is_of_the_residual(self):
        """far above rounding it is not rounding that keeps it there"""
        hopeless = ["invert", "--gauge", "random:1", "--lattice", "4", "4", "4", "8", "--kappa", "0.25", "--csw", "1", "--columns", "1"]
        out = self.succeeds(*hopeless, "--method", "bicgstab", "--max-iter", "5000", "--no-fallback", status=1)
        self.assertIn("stagnated: try --method cg, or --method cg --sloppy double\n", out)
        for more, words in ((["--sloppy", "double"], "rounding keeps it above --tol (give a larger one), or"), (["--no-fallback"], "try --sloppy double")):
            out = self.succeeds("invert", *SMALL, "--columns", "1", "--tol", "1e-16", *more, status=1)
            self.assertIn(words, out)

    def test_relaxation_says_what_helps(self):
        job = [*SMALL, "--columns", "1"]
        for form in ([], ["--even-odd", "asymmetric"]):
            self.refused("invert", *job, "--method", "jacobi", *form, words=["--method jacobi needs the operator's diagonal", "give --even-odd none"])
        self.succeeds("invert", *job, "--method", "jacobi", "--even-odd", "none")
        heavy = ["--gauge", "random:3", "--lattice", "4", "4", "4", "8", "--kappa", "0.22", "--csw", "1", "--columns", "1"]
        for method in ("jacobi", "richardson"):
            said = self.succeeds("invert", *heavy, "--method", method, "--even-odd", "none", "--no-fallback", status=1)
            self.assertIn("diverging: try --method cg", said)
        self.succeeds("invert", *heavy, "--method", "cg", "--even-odd", "none", "--max-iter", "20000")

    def test_links_off_su3_want_18_reals(self):
        self.succeeds("generate", "--lattice", "4", "4", "4", "4", "--sweeps", "1", "--output", "c.lime")
        data = bytearray(self.read("c.lime"))
        at = data.index(b"ildg-binary-data") - 16 + 144
        job = ["invert", "--gauge", "bad", "--kappa", "0.1", "--csw", "1", "--columns", "1", "--ignore-checksum", "--reconstruct"]
        for bad, more in enumerate((r"1e-04\)\n", "and so is 1 more link\n", "and so are 2 more links\n")):
            data[at + 1440 * bad:at + 1440 * bad + 8] = b"\0" * 8  # a link's first real
            with open(self.path("bad"), "wb") as file:
                file.write(data)
            self.assertRegex(self.succeeds(*job, "18"), r"away from SU\(3\) \(allowed is .*" + more)
        self.refused(*job, "12", words=["--reconstruct 12", "give --reconstruct 18"])

    def test_resume_takes_over_finished_columns(self):
        job = ["invert", *SMALL, "--output", "p.lime"]
        self.succeeds(*job, "--report", "first.json", "--correlators", "first")
        out = self.succeeds(*job, "--resume", "--report", "again.json", "--correlators", "again")
        self.assertIn("12 of 12 columns taken over", out)
        self.assertEqual(self.report("again.json")["seconds"], 0)
        # the file's basis is another one: a rotation there and back, each sum of two numbers rounded
        worst = max(abs(a / b - 1) for a, b in zip(self.report("first.json")["pion"], self.report("again.json")["pion"]))
        self.assertLess(worst, 1e-14)
        # another equation is refused
        self.refused("invert", *system.LINKS, "--kappa", "0.11", "--csw", "1", "--output", "p.lime", "--resume", words=["kappa is 0.12,", "0.11"])
        self.refused(*job, "--resume", "--boundary-t", "periodic", words=['"antiperiodic"', '"periodic"'])
        self.refused(*job, "--resume", "--columns", "4", words=["columns", "the 4 of"])
        # a tighter tolerance sends the columns back
        out = self.succeeds(*job, "--resume", "--tol", "1e-12")
        self.assertIn("0 of 12 columns taken over", out)

    def test_resume_by_another_residual(self):
        """what --stop chooses decides whether a column is taken over, and is what is reported"""
        job = ["invert", *SMALL, "--columns", "3", "--output", "p.lime"]
        self.succeeds(*job, "--tol", "1e-2")
        for stop in ("schur", "normal"):
            out = self.succeeds(*job, "--tol", "1e-12", "--stop", stop, "--resume", "--report", "r.json")
            taken = [s for s in self.report("r.json")["solves"] if s["stop_residual"] > 1.1e-12]
            self.assertEqual(taken, [])
            self.assertIn("of 3 columns taken over", out)
            if stop == "schur":
                self.assertIn("0 of 3 columns taken over", out)
        # taken over by the residual that a solve reports, to its roundings
        self.succeeds(*job, "--tol", "1e-6", "--stop", "normal", "--report", "a.json")
        out = self.succeeds(*job, "--tol", "1e-6", "--stop", "normal", "--resume", "--report", "b.json")
        self.assertIn("3 of 3 columns taken over", out)
        for a, b in zip(self.report("a.json")["solves"], self.report("b.json")["solves"]):
            self.assertLess(abs(a["stop_residual"] / b["stop_residual"] - 1), 1e-6)
            self.assertGreater(abs(b["stop_residual"] / b["residual"] - 1), 1e-3)

    def test_a_run_that_solves_nothing_leaves_histories_alone(self):
        job = ["invert", *SMALL, "--columns", "2", "--output", "p.lime", "--history", "h.csv", "--plot", "p.png"]
        self.succeeds(*job)
        before = [open(self.path(name), "rb").read() for name in ("h.csv", "p.png") if os.path.exists(self.path(name))]
        out = self.succeeds(*job, "--resume")
        self.assertIn("there is no history to write or to plot", out)
        after = [open(self.path(name), "rb").read() for name in ("h.csv", "p.png") if os.path.exists(self.path(name))]
        self.assertEqual(before, after)

    def test_staggered_columns_are_not_said_to_be_kept(self):
        out = self.succeeds("invert", "--gauge", "weak:0.3", "--lattice", "4", "4", "4", "4", "--action", "staggered",
                            "--mass", "0.1", "--batch", "1", "--output", "s.lime")
        self.assertNotIn("kept", out)
        self.assertFalse(os.path.exists(self.path("s.lime.partial")))

    def test_earlier_columns_are_not_replaced_unsaid(self):
        with open(self.path("p.lime.partial"), "w") as file:
            file.write("x")
        out = self.succeeds("invert", *SMALL, "--columns", "1", "--output", "p.lime")
        self.assertIn("p.lime.partial holds columns of an earlier run", out)

    def test_resume_from_a_partial_file(self):
        """some columns of a run that converge sooner than others are kept"""
        job = ["invert", *SMALL, "--output", "p.lime", "--batch", "4"]
        self.succeeds(*job, "--report", "r.json")
        os.remove(self.path("p.lime"))
        counts = [s["iterations"] for s in self.report("r.json")["solves"]]
        limit = sorted(counts)[len(counts) // 2] - 1
        if limit < min(counts):
            raise unittest.SkipTest("all columns take equally long")
        self.succeeds(*job, "--max-iter", limit, "--report", "r1.json", status=1)
        self.assertTrue(os.path.exists(self.path("p.lime.partial")))
        out = self.succeeds(*job, "--resume", "--report", "r2.json")
        kept = [s["column"] for s in self.report("r1.json")["solves"] if s["status"] == "converged"]
        self.assertIn(f"{len(kept)} of 12 columns taken over", out)
        after = [s["iterations"] for s in self.report("r2.json")["solves"]]
        for k in range(12):
            self.assertEqual(after[k], self.report("r1.json")["solves"][k]["iterations"] if k in kept else counts[k])
        self.assertTrue(os.path.exists(self.path("p.lime")))
        self.assertFalse(os.path.exists(self.path("p.lime.partial")))

    def test_noise_sources_of_any_number(self):
        self.succeeds("invert", *SMALL, "--source", "z4:3", "--columns", "5", "--output", "n.lime", "--report",
                      "report.json")
        self.assertEqual(len(self.report()["solves"]), 5)
        self.assertNotIn("pion", self.report())
        out = self.succeeds("invert", *SMALL, "--source", "z4:3", "--columns", "5", "--output", "n.lime", "--resume")
        self.assertIn("5 of 5 columns taken over", out)

    def test_hundreds_of_noise_columns_resume(self):
        """the file's description names every column: with this many it is longer than 4096 bytes"""
        job = ["invert", "--gauge", "weak:0.3", "--lattice", "4", "4", "4", "4", "--kappa", "0.11", "--csw", "1",
               "--tol", "1e-5", "--source", "gauss:3", "--columns", "900", "--batch", "300", "--output", "n.lime"]
        self.succeeds(*job, "--report", "first.json")
        out = self.succeeds(*job, "--resume", "--report", "again.json")
        self.assertIn("900 of 900 columns taken over", out)
        counts = [[s["iterations"] for s in self.report(name)["solves"]] for name in ("first.json", "again.json")]
        self.assertEqual(*counts)

    def test_twelve_noise_fields_are_no_propagator(self):
        out = self.succeeds("invert", *SMALL, "--source", "gauss:1", "--report", "report.json")
        self.assertNotIn("pion", out)
        self.assertNotIn("pion", self.report())

    def test_mass_is_kappa(self):
        self.succeeds("invert", *SMALL, "--report", "a.json")
        self.succeeds("invert", *system.LINKS, "--csw", "1", "--mass", repr(0.5 / 0.12 - 4), "--report", "b.json")
        a, b = self.report("a.json")["pion"], self.report("b.json")["pion"]
        self.assertLess(max(abs(x / y - 1) for x, y in zip(a, b)), 1e-8)
        self.succeeds("invert", *system.LINKS, "--action", "wilson", "--mass", "0.1", "--anisotropy", "0.3", "--columns", "1", "--report", "c.json")
        self.assertAlmostEqual(self.report("c.json")["kappa"], 0.25, delta=1e-15)

    def test_anisotropic_clover_takes_two_coefficients(self):
        self.succeeds("invert", *SMALL, "--report", "one.json")
        self.succeeds("invert", *SMALL[:-1], "1,1", "--report", "two.json")
        one, two = self.report("one.json"), self.report("two.json")
        self.assertEqual((one["pion"], one["solves"]), (two["pion"], two["solves"]))
        bent = [*SMALL, "--anisotropy", "0.5", "--columns", "1"]
        self.refused("invert", *bent, words=["--csw 1 with --anisotropy 0.5", "--csw C_S,C_T, such as 1,1"])
        self.assertIn("csw 1.2,0.9,", self.succeeds("invert", *bent[:-5], "1.2,0.9", *bent[-4:], "--report", "report.json"))
        self.assertEqual((self.report()["csw"], self.report()["csw_time"]), (1.2, 0.9))
        for csw, words in (("1,", "--csw is 1,;"), ("a", "--csw is a;"), ("1,2,3", "--csw is 1,2,3;"), ("0,1", "first"), ("11", "from -10 to 10")):
            with self.subTest(csw=csw):
                self.refused("invert", *SMALL[:-1], csw, words=[words])
        self.refused("invert", *SMALL[:-4], "--mass", "-1.95", "--anisotropy", "0.3", "--csw", "0", words=["kappa = -10", "above -1.9"])

    def test_twisted_mass(self):
        """Forms and inner precisions give one pion; mu = 0 gives the results of the action without mu"""
        lattice = ["--gauge", "weak:0.3", "--lattice", "4", "4", "4", "8", "--kappa", "0.12"]
        for action, more in (("twisted", []), ("twisted-clover", ["--csw", "1"])):
            pions = []
            for form in ([], ["--even-odd", "asymmetric", "--sloppy", "half"], ["--even-odd", "none", "--method", "gcr"]):
                with self.subTest(action=action, form=form):
                    self.succeeds("invert", *lattice, "--action", action, *more, "--mu", "0.05", *form, "--report", "report.json")
                    report = self.report()
                    self.assertEqual((report["action"], report["mu"]), (action, 0.05))
                    pions.append(report["pion"])
            for pion in pions[1:]:
                self.assertLess(max(abs(x / y - 1) for x, y in zip(pion, pions[0])), 1e-8)
            said = self.succeeds("invert", *lattice, "--action", action, *more, "--mu", "0", "--report", "a.json", "--correlators", "c.txt")
            what = f"{action}, kappa 0.12, csw {1 if more else 0}, mu 0"
            self.assertIn(f"action {what}, antiperiodic", said)
            self.assertIn(f"{what}, antiperiodic".encode(), self.read("c.txt"))
            self.succeeds("invert", *lattice, "--action", "clover" if more else "wilson", *more, "--report", "b.json")
            a, b = self.report("a.json"), self.report("b.json")
            self.assertEqual((a["pion"], a["solves"]), (b["pion"], b["solves"]))
            self.assertEqual((a["action"], a["mu"], "mu" in b), (action, 0, False))
            self.refused("invert", *lattice, "--action", action, *more, words=("needs --mu",))

    def test_quiet_prints_nothing(self):
        code, out, err = system.kaon("invert", *SMALL, "--quiet")
        self.assertEqual((code, out, err), (0, "", ""))

    def test_bench_rows_have_the_fields_of_the_contract(self):
        for bench, names in (("dslash", {"wilson-hop", "clover-matrix"}),
                             ("vector", {"vector-copy", "vector-axpy", "vector-norm2", "vector-dot"}),
                             ("solve", {"solve-cgnr"})):
            brief = [] if bench == "solve" else ["--calls", "2", "--samples", "1"]
            self.succeeds("bench", bench, "--lattice", "4", "4", "4", "8", *brief, "--precision", "half",
                          "--columns", "2", "--json", "rows.json")
            rows = json.loads(self.read("rows.json"))
            self.assertEqual({r["bench"] for r in rows}, names)
            for row in rows:
                for key in ("backend device commit ranks lattice precision links columns seconds gflops ideal_gbs "
                            "limit_gbs triad_gbs fma_gflops").split():
                    self.assertIn(key, row)
                if bench == "solve":
                    for key in ("iterations", "residual", "joules", "setup_seconds"):
                        self.assertIn(key, row)

    def test_bench_dslash_has_the_matrix_of_the_action(self):
        """without a clover term it moves and computes less"""
        matrix = {}
        for action in ("clover", "wilson"):
            self.succeeds("bench", "dslash", "--action", action, "--lattice", "4", "4", "4", "8", "--calls", "2", "--samples", "1", "--precision", "double",
                          "--columns", "1", "--temporal-gauge", "--json", "rows.json")
            rows = {r["bench"]: r for r in json.loads(self.read("rows.json"))}
            self.assertEqual(set(rows), {"wilson-hop", action + "-matrix", action + "-temporal"})
            row = rows[action + "-matrix"]
            matrix[action] = (row["gflops"] * row["seconds"], row["ideal_gbs"] * row["seconds"])
        for clover, wilson in zip(matrix["clover"], matrix["wilson"]):
            self.assertLess(wilson, 0.95 * clover)

    @unittest.skipIf(system.SLOWED, "sanitizers watch")
    def test_bench_dslash_in_turn_has_the_same_rows(self):
        rows = []
        for turns in ([], ["--in-turn"]):
            self.succeeds("bench", "dslash", "--lattice", "4", "4", "4", "8", "--lattice", "4", "4", "2", "4", "--calls", "2", "--samples",
                          "2", "--precision", "half", "--reconstruct", "12", "--columns", "1,2", "--temporal-gauge",
                          *turns, "--json", "rows.json")
            rows.append(json.loads(self.read("rows.json")))
        same = "bench lattice precision links columns calls samples resident_bytes".split()
        self.assertEqual(*([[row[key] for key in same] for row in part] for part in rows))
        self.assertEqual(len(rows[0]), 2 * 2 * 3)
        self.assertEqual(["in_turn" in row for row in rows[0] + rows[1]], [False] * 12 + [True] * 12)
        for row in rows[1]:
            self.assertGreater(min(row["seconds"], row["limit_gbs"], row["gflops"]), 0)

    def test_bench_solve_takes_the_wilson_action_as_it_is(self):
        self.succeeds("bench", "solve", "--lattice", "4", "4", "4", "4", "--action", "wilson", "--precision", "single",
                      "--columns", "1", "--json", "rows.json")
        self.assertEqual([r["csw"] for r in json.loads(self.read("rows.json"))], [0])


if __name__ == "__main__":
    system.main()
