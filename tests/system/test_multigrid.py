"""kaon invert --precond multigrid, and the same of kaon-bench: counts on MILC's 8^4 near criticality, reports, memory, what is refused."""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import system

KAPPA, CSW = "0.1352", "1.769"
# two levels with a small basis: the set-up takes a second
SMALL = ["invert", *system.LINKS, "--kappa", "0.12", "--csw", "1", "--precond", "multigrid", "--multigrid", "vectors_0=6,setup=1"]
LEVEL = {"lattice", "grid", "dof", "block", "vectors", "unknowns", "complexity", "bytes", "steps", "setup_seconds", "dense_inverse_norm", "cycles", "seconds",
         "share", "parts"}
PARTS = ("smooth", "orthonormalise", "galerkin", "dense")
# Aggregates of 4 sites, whose vectors come to depend on each other in many rounds: the modes of unit links are few.
TINY_BLOCKS = "block_0_x=1,block_0_y=2,block_0_z=2,block_0_t=1,levels=2,dense=16"


class Light(system.Case):
    def test_a_light_quark_takes_few_steps_with_the_defaults(self):
        sample = system.data("milc", "milc_lat.sample.l8888")
        job = ["invert", "--gauge", sample, "--kappa", KAPPA, "--csw", CSW, "--report", "report.json"]
        self.succeeds(*job, "--dry-run", "--precond", "multigrid")
        predicted = self.report()
        out = self.succeeds(*job, "--precond", "multigrid", "--no-fallback", "--output", "multigrid.lime")
        report = self.report()
        steps = [s["iterations"] for s in report["solves"]]
        print(f"  {steps} steps, set-up {report['preconditioner']['setup']}")
        self.assertEqual({s["status"] for s in report["solves"]}, {"converged"})
        self.assertLess(max(s["residual"] for s in report["solves"]), 1.1e-10)
        self.assertLess(max(steps), 40)  # CG takes some 180
        self.assertEqual((report["method"], report["even_odd"], report["sloppy"], report["stop"]), ("gcr", "none", "half", "full"))
        for line in ("setting up multigrid", "level 0: 8x8x8x8, 12 numbers a site, 20 vectors on blocks of 4x4x4x4", "level 1: 2x2x2x2, 40 numbers a site, inverted",
                     "multigrid set-up ", "GCR, preconditioned by multigrid, to 1e-10 for 12 columns"):
            self.assertIn(line, out)
        self.check_levels(report)
        self.check_memory(predicted, report)
        # the same system as by CG: a solution of one is one of the other
        self.succeeds(*job, "--guess", "multigrid.lime")
        self.assertEqual({s["iterations"] for s in self.report()["solves"]}, {0})

    def check_levels(self, report):
        used, levels = report["preconditioner"], report["levels"]
        self.assertEqual((used["kind"], used["levels"]), ("multigrid", levels))
        for level in levels:
            self.assertEqual(set(level), LEVEL)
            self.assertGreater(level["bytes"], 0)
        fine, coarse = levels
        self.assertEqual((fine["lattice"], fine["dof"], fine["block"], fine["vectors"], fine["unknowns"]), ([8] * 4, 12, [4] * 4, 20, 12 * 8**4))
        self.assertEqual((coarse["lattice"], coarse["dof"], coarse["block"], coarse["vectors"], coarse["unknowns"]), ([2] * 4, 40, None, 0, 40 * 2**4))
        setup = used["setup"]
        parts = sum(setup[part] for part in PARTS)
        self.assertTrue(all(setup[part] > 0 for part in PARTS))
        self.assertLessEqual(parts, 1.001 * setup["seconds"])  # they are disjoint
        self.assertLessEqual(sum(level["setup_seconds"] for level in levels), 1.001 * setup["seconds"])
        self.assertGreater(report["setup_seconds"], setup["seconds"])
        self.assertEqual(fine["complexity"], 1)
        self.check_times(report)

    def check_times(self, report):
        levels, outer, steps = report["levels"], report["outer"], max(s["iterations"] for s in report["solves"])
        for level in levels:
            self.assertEqual(level["cycles"], steps * level["steps"])
            self.assertAlmostEqual(sum(level["parts"].values()), level["seconds"], delta=1e-12 * level["seconds"])
        self.assertEqual(outer["steps"], steps)
        self.assertAlmostEqual(sum(level["share"] for level in levels) + outer["share"], 1, delta=1e-12)
        seconds = sum(level["seconds"] for level in levels) + outer["seconds"]
        self.assertGreaterEqual(seconds, (1 - 1e-12) * report["seconds"])

    def check_memory(self, predicted, report):
        """of fields; test_memory compares the resident peak, which sanitizers raise"""
        off = predicted["predicted_fields"] / report["peak_fields"] - 1
        print(f"  predicted {predicted['predicted_fields'] / 2**20:.1f} MiB, off by {100 * off:+.1f} % (bound 10 %)")
        self.assertLess(abs(off), 0.10)


class Program(system.Case):
    def test_every_action_and_precision_is_solved(self):
        for action, more in (("wilson", []), ("clover", ["--csw", "1"]), ("twisted", ["--mu", "0.1"]), ("twisted-clover", ["--csw", "1", "--mu", "0.1"])):
            for sloppy in ("double", "single", "half"):
                with self.subTest(action=action, sloppy=sloppy):
                    self.succeeds("invert", *system.LINKS, "--kappa", "0.12", "--action", action, *more, "--precond", "multigrid", "--multigrid",
                                  "vectors_0=6,setup=1", "--sloppy", sloppy, "--columns", 3, "--batch", 2, "--no-fallback", "--report", "report.json")
                    report = self.report()
                    self.assertEqual([s["status"] for s in report["solves"]], ["converged"] * 3)
                    self.assertEqual((report["sloppy"], report["action"], report["preconditioner"]["kind"]), (sloppy, action, "multigrid"))

    def test_options_of_levels_are_used(self):
        for text, level in (("block_0_x=2,block_0_t=4", {"block": [2, 2, 2, 4]}), ("vectors_0=8", {"vectors": 8}), ("smoother_0=sap", {}), ("smoother_0=mr", {})):
            self.succeeds(*SMALL[:-1], SMALL[-1] + "," + text if "vectors" not in text else text, "--columns", 1, "--report", "report.json")
            found = self.report()["levels"][0]
            self.assertEqual(found, {**found, **level})

    def test_columns_of_an_earlier_run_are_taken_over(self):
        self.succeeds(*SMALL, "--columns", 12, "--batch", 6, "--output", "x.lime", "--report", "report.json")
        self.assertEqual({s["status"] for s in self.report()["solves"]}, {"converged"})
        self.assertIn("taken over", self.succeeds(*SMALL, "--columns", 12, "--output", "x.lime", "--resume"))

    def test_vectors_are_saved_and_loaded(self):
        self.succeeds(*SMALL, "--columns", 1, "--save-vectors", "v.lime", "--report", "report.json")
        saved = self.report()
        job = [*SMALL[:-2], "--columns", 1, "--load-vectors", "v.lime", "--report", "report.json"]
        self.assertIn("6 vectors on blocks", self.succeeds(*job, "--dry-run"))
        self.assertIn("loading the vectors of multigrid from v.lime", self.succeeds(*job))
        loaded = self.report()
        self.assertEqual(loaded["solves"], saved["solves"])  # to the last bit of the residual
        self.assertEqual([r["preconditioner"]["setup"]["smooth"] > 0 for r in (saved, loaded)], [True, False])
        self.assertEqual([r["preconditioner"][name] for r in (saved, loaded) for name in ("save_vectors", "load_vectors")], ["v.lime", None, None, "v.lime"])
        other = [text.replace("0.12", "0.121") if isinstance(text, str) else text for text in job]
        self.assertIn("warning: v.lime: its vectors are of an operator with other links or parameters", self.succeeds(*other))
        for wrong, words in ((["--multigrid", "vectors_0=7"], ["6 there, but the options ask for 7", "leave it 0"]),
                             (["--multigrid", "setup=1"], ["has options of a set-up", "leave out setup and seed"]),
                             (["--save-vectors", "v.lime"], ["name the same file"])):
            self.refused(*job, *wrong, words=words)
        self.refused("invert", *system.SMALL, "--load-vectors", "v.lime", words=["--load-vectors is for --precond multigrid, which is missing"])
        self.refused("invert", *system.SMALL, "--save-vectors", "v.lime", words=["--save-vectors is for --precond multigrid, which is missing"])
        self.refused(*job[:-4], "--load-vectors", "report.json", words=["it is a file that begins with"])

    def test_times_and_estimate_of_a_heavy_quark(self):
        """Three levels in two batches. A set-up costs far more than all that BiCGStab needs here."""
        out = self.succeeds("invert", "--gauge", "weak:0.3", "--lattice", "8x8x8x8", "--kappa", "0.11", "--csw", "1", "--precond", "multigrid", "--multigrid",
                            "levels=3,vectors_0=8,vectors_1=8,setup=1,block_0_x=2,block_0_y=2,block_0_z=2,block_0_t=2", "--columns", 3, "--batch", 2,
                            "--report", "report.json", "--plot-levels", "levels.png")
        report = self.report()
        steps = [s["iterations"] for s in report["solves"]]
        self.assertEqual(report["outer"]["steps"], max(steps[:2]) + steps[2] / 2)
        self.assertEqual([level["steps"] for level in report["levels"]], [1, 2, 2])
        self.assertEqual([sorted(part for part, seconds in level["parts"].items() if seconds > 0) for level in report["levels"]],
                         [["smoother", "transfer"], ["krylov", "smoother", "transfer"], ["coarsest"]])
        self.assertIn("time of the solve by level", out)
        self.check_estimate(report, out)
        self.assertTrue(report["estimate"]["converged"])
        self.assertTrue(self.read("levels.png").startswith(b"\x89PNG") if shutil.which("gnuplot") else "levels.png was not drawn" in out)

    def test_the_estimate_of_a_light_quark(self):
        """Beyond critical BiCGStab hardly gets further in its first 40 steps, or not at all."""
        sample = system.data("milc", "milc_lat.sample.l8888")
        out = self.succeeds("invert", "--gauge", sample, "--kappa", "0.15", "--csw", CSW, "--columns", 1, "--precond", "multigrid", "--multigrid", "setup=2",
                            "--report", "report.json")
        self.check_estimate(self.report(), out)
        self.assertFalse(self.report()["estimate"]["converged"])

    def check_estimate(self, report, out):
        """It is printed where it is below half of what multigrid took. By how much depends on the machine."""
        estimate = report["estimate"]
        print(f"  {estimate}")
        self.assertEqual(estimate["method"], "bicgstab")
        self.assertEqual(estimate["multigrid_seconds"], report["setup_seconds"] + report["seconds"])
        self.assertEqual(estimate["steps"] is None, estimate["seconds"] is None)
        seconds, some = estimate["seconds"], "" if estimate["converged"] else "some "
        if seconds is not None and seconds < estimate["multigrid_seconds"] / 2:
            self.assertIn(f"BiCGStab would have taken about {seconds:.2g} s ({some}{estimate['steps']:.0f} steps a column)", out)
        else:
            self.assertNotIn("BiCGStab would have taken", out)

    @unittest.skipIf(system.SLOWED, "the same code runs elsewhere")
    def test_remedies_of_messages_help(self):
        free = ["invert", "--gauge", "unit", "--lattice", "4x4x4x8", "--action", "wilson", "--columns", 1, "--precond", "multigrid"]
        self.refused(*free, "--kappa", "0.125", "--multigrid", TINY_BLOCKS + ",vectors_0=12,setup=10",
                     words=["of the 12 of level 0 depends", "larger blocks, fewer rounds of the set-up (there are 10) or fewer vectors"])
        for remedy in ("vectors_0=12,setup=10", TINY_BLOCKS + ",vectors_0=12,setup=4", TINY_BLOCKS + ",vectors_0=6,setup=10"):
            self.succeeds(*free, "--kappa", "0.125", "--multigrid", remedy, "--no-fallback")
        # kappa 0.125 has 12 zero modes if the boundary is periodic: in single precision the norm is one over some roundings
        words = "nearly singular on this configuration"
        for kappa, status, found in (("0.125", 1, self.assertIn), ("0.124", 0, self.assertNotIn)):
            found(words, self.succeeds(*free, "--kappa", kappa, "--boundary-t", "periodic", "--source", "z4:1", "--no-fallback", "--max-iter", 30, status=status))

    def test_ctrl_c_ends_the_set_up(self):
        job = system.start(*SMALL[:2], "weak:0.3", "--lattice", "16x16x16x16", *SMALL[8:-2], "--columns", 1, "--output", self.path("x.lime"))
        self.assertIn("setting up multigrid", job.stdout.readline())
        time.sleep(0.5)
        begun = time.monotonic()
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130)
        self.assertIn("preparing the operator", err)
        self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual(os.listdir(self.folder), [])

    def test_dry_run_prints_the_levels_of_a_lattice_that_is_too_large(self):
        code, out, err = system.kaon("invert", "--gauge", "weak:0.3", "--lattice", "64x64x64x128", "--kappa", "0.12", "--csw", "1", "--precond", "multigrid",
                                     "--dry-run")
        self.assertIn("level 1: 16x16x16x32, 40 numbers a site, 24 vectors on blocks of 2x2x2x2", out)
        self.assertIn(code, (0, 3), err)
        code, out, err = system.kaon("invert", "--gauge", "weak:0.3", "--lattice", "16x16x16x16", "--kappa", "0.12", "--csw", "1", "--precond", "multigrid",
                                     "--dry-run", "--grid", "1x1x1x4", "--multigrid", "levels=3")
        self.assertIn("level 1: 4x4x4x4 on 1x1x1x2 ranks, 40 numbers a site, 24 vectors on blocks of 2x2x2x2", out)
        self.assertIn("level 2: 2x2x2x2 on 1x1x1x2 ranks", out)

    def test_what_does_not_go_with_it_is_refused(self):
        for wrong, words in ((["--method", "bicgstab"], ["--method bicgstab does not go with --precond multigrid", "leave it out"]),
                             (["--method", "async-schwarz"], ["but --precond is multigrid"]),
                             (["--even-odd", "symmetric"], ["--even-odd symmetric does not go", "reduces to even ones inside"]),
                             (["--even-odd", "asymmetric"], ["--even-odd asymmetric does not go"]),
                             (["--stop", "schur"], ["--stop schur does not go"]),
                             (["--temporal-gauge"], ["--temporal-gauge does not go"]),
                             (["--set", "deflation=4"], ["--set deflation=4 is for cg and cgnr", "leave it out"]),
                             (["--shifts", "0,1"], ["--precond does not go with --shifts"]),
                             (["--schwarz-steps", "3"], ["--schwarz-steps is for --precond schwarz"])):
            self.refused(*SMALL, *wrong, words=words)
        for text, words in (("levels=5", ["--multigrid: ", "levels is 5, but must be 0 to 4"]), ("levels=1", ["1 level was asked for"]),
                            ("levels=4", ["4 levels are needed", "ask for fewer"]), ("block_0_x=3", ["blocks of 3 sites in X", "sizes that do: 1, 2"]), ("vectors=8", ["no field is called vectors"]),
                            ("setup=1,setup=2", ["setup is given twice", "leave one of them out"]),
                            ("levels=2,steps_1=3", ["there are 2 levels, from 0 to 1, and level 1 has no smoother", "ask for 3 levels"]),
                            ("smoother_0=jacobi", ["gcr, mr, sap or async"])):
            self.refused(*SMALL[:-1], text, words=words)
        self.refused("invert", *system.SMALL, "--plot-levels", "l.png", words=["--plot-levels is for --precond multigrid, which is missing"])
        self.refused("invert", *system.SMALL, "--multigrid", "levels=2", words=["--multigrid is for --precond multigrid, which is missing"])
        for action in ("staggered", "asqtad", "hisq"):
            self.refused("invert", *system.LINKS, "--mass", "0.1", "--action", action, "--precond", "multigrid", words=["wilson, clover, twisted", action])
        for chosen in (["--method", "gcr"], ["--even-odd", "none"], ["--stop", "full"]):  # what it chooses itself
            self.succeeds(*SMALL, *chosen, "--columns", 1)

    def test_the_benchmark_measures_it(self):
        bench = os.path.join(system.BUILD, "kaon-bench")
        job = [bench, "solve", "--lattice", "4x4x4x8", "--precond", "multigrid", "--multigrid", "vectors_0=6,setup=1", "--columns", "1,2", "--precision", "half",
               "--json", self.path("rows.json")]
        done = subprocess.run(job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600, env=system.environment())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("multigrid set-up", done.stdout)
        rows = json.loads(self.read("rows.json"))
        self.assertEqual([(r["bench"], r["columns"], r["status"], len(r["levels"])) for r in rows],
                         [("solve-gcr-multigrid", columns, "converged", 2) for columns in (1, 2)])
        self.assertGreater(rows[0]["setup_seconds"], rows[0]["preconditioner"]["setup"]["seconds"])
        refused = subprocess.run([*job, "--method", "cg"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--method cg does not go", refused.stderr)


if __name__ == "__main__":
    system.main()
