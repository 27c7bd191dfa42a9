"""kaon bench async, faults and kaczmarz: the papers' tables, rows as they come, rows of other jobs."""
import csv
import json
import os
import unittest

import system


class RelaxBench(system.Case):
    def check_spread(self, row, samples):
        self.assertEqual(row["samples"], samples)
        self.assertLessEqual(row["seconds_min"], row["seconds"])
        self.assertLessEqual(row["seconds"], row["seconds_max"])

    def test_bench_async_prints_the_tables(self):
        out = self.succeeds("bench", "async", "--matrix", "trefethen:300", "--runs", "5", "--block", "32", "--samples", "3",
                            "--threads", "1", "--json", "rows.json", "--histories", "h.csv")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        for key in ("device", "backend", "commit", "ranks", "lattice", "precision", "links", "columns", "seconds", "gflops",
                    "ideal_gbs", "limit_gbs", "matrix", "rows", "entries"):
            for row in rows:
                self.assertIn(key, row, row["bench"])
        kinds = {row["bench"] for row in rows}
        self.assertEqual(kinds, {"async-props", "async-stat", "async-rate", "async-overhead", "async-time", "relax-history"})
        stat = [row for row in rows if row["bench"] == "async-stat"]
        self.assertEqual([(row["driver"], row["iteration"]) for row in stat],
                         [(driver, at) for driver in ("launch", "free") for at in range(5, 51, 5)])
        for row in stat:
            self.assertLessEqual(row["minimum"], row["average"])
            self.assertLessEqual(row["average"], row["maximum"])
        self.assertGreater(stat[0]["variance"], 0)
        self.assertGreater(stat[0]["asynchronous"], 0)
        self.assertEqual(sum(row["bench"] == "async-overhead" for row in rows), 45)
        for row in rows:
            if row["bench"] in ("async-overhead", "async-time"):
                self.check_spread(row, 3)
        self.assertTrue(os.path.exists(self.path("h-trefethen:300-rate.csv")), out)
        curves = next(row["curves"] for row in rows if row["bench"] == "relax-history" and row["what"] == "time")
        self.assertEqual(list(curves), ["jacobi", "gauss-seidel", "two-stage", "async-(k)", "async-(k) free", "cg"])
        cg = next(row for row in rows if row["bench"] == "async-time" and row["method"] == "cg")
        self.assertEqual(curves["cg"][0], [0, 1.0])
        self.assertEqual(curves["cg"][-1][0], cg["iterations"])
        self.assertLessEqual(curves["cg"][-1][1], 1e-8)
        with open(self.path("h-trefethen:300-time.csv"), encoding="utf-8") as file:
            self.assertEqual(file.readline().strip().split(","), ["iteration", *curves])

    def test_asynchronous_is_what_differs_from_the_synchronous_iteration(self):
        """all of 10 blocks that read before one writes are a two-stage sweep, whatever the runs' orders are"""
        for together, effect in ((10, "synchronous"), (4, "asynchronous")):
            out = self.succeeds("bench", "async", "--table", "stat", "--matrix", "trefethen:300", "--block", "32", "--runs", "4", "--threads", "1",
                                "--together", str(together), "--json", "rows.json")
            with open(self.path("rows.json"), encoding="utf-8") as file:
                rows = [row for row in json.load(file) if row["driver"] == "launch"]
            self.assertEqual({row["in_effect"] for row in rows}, {effect}, out)
            self.assertIn(f"{effect} in effect", out)
            off = max(abs(row["average"] / row["synchronous"] - 1) for row in rows if row["synchronous"] > 1e-11)
            self.assertEqual(off <= 1e-4, effect == "synchronous", off)
        self.succeeds("solve", "--rhs", "ones", "--matrix", "trefethen:300", "--method", "two-stage", "--block", "32", "--local-sweeps", "6",
                      "--max-iter", "5", "--report", "report.json", status=1)
        report = self.report()
        self.assertAlmostEqual(rows[0]["synchronous"] / report["solves"][0]["residual"], 1, places=9)

    def test_times_of_a_matrix_that_is_not_hermitian_are_without_cg(self):
        self.succeeds("bench", "async", "--table", "time", "--matrix", "convdiff3d:6,1", "--block", "36", "--samples", "1", "--threads", "1", "--json", "rows.json")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        self.assertNotIn("cg", [row["method"] for row in rows if row["bench"] == "async-time"])
        self.assertEqual([len(row["curves"]) for row in rows if row["bench"] == "relax-history"], [5])

    @unittest.skipIf(system.SLOWED, "sanitizers watch")
    def test_condition_numbers_are_the_papers(self):
        for matrix, plain, scaled in (("fv1", 12.761, 12.761), ("fv3", 4420.5, 4420.5), ("Trefethen_2000", 22525, 6.1579)):
            path = system.data("sparse", matrix + ".mtx")
            self.succeeds("bench", "async", "--table", "props", "--matrix", path, "--json", "rows.json")
            with open(self.path("rows.json"), encoding="utf-8") as file:
                row = json.load(file)[0]
            self.assertAlmostEqual(row["cond1"] / plain, 1, places=4)
            self.assertAlmostEqual(row["cond1_scaled"] / scaled, 1, places=4)
            self.assertEqual((row["cond1_bound"], row["cond1_note"]), (False, None))

    def test_condition_numbers_that_are_not_estimated_say_why(self):
        out = self.succeeds("bench", "async", "--table", "props", "--matrix", "convdiff3d:5,50", "--json", "rows.json")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            row = json.load(file)[0]
        self.assertEqual((row["cond1"], row["cond1_scaled"], row["cond1_note"]), (None, None, "estimated of Hermitian matrices alone"))
        self.assertIn("cond_1(A) n/a", out)

    def test_bench_faults_prints_the_table(self):
        self.succeeds("bench", "faults", "--matrix", "trefethen:300", "--block", "32", "--threads", "1", "--json", "rows.json",
                      "--csv", "rows.csv")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        with open(self.path("rows.csv"), encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        self.assertEqual([line["bench"] for line in lines], [row["bench"] for row in rows])
        self.assertEqual([int(line["iterations"]) for line in lines if line["iterations"]], [row["iterations"] for row in rows if "iterations" in row])
        recovery = [row for row in rows if row["bench"] == "faults-recovery"]
        self.assertEqual([row["recovery"] for row in recovery], [0, 10, 20, 30, 0, 0])
        self.assertEqual([row["status"] for row in recovery], ["converged"] * 5 + [recovery[5]["status"]])
        self.assertNotEqual(recovery[5]["status"], "converged")
        self.assertEqual([row["frozen"] for row in recovery], [0] + [75] * 5)
        for row in recovery:
            self.check_spread(row, 5)
        self.assertLessEqual(recovery[1]["iterations"], recovery[2]["iterations"])

    def test_bench_kaczmarz_prints_lines_as_they_come(self):
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("earlier\n")
        os.link(self.path("rows.csv"), self.path("kept.csv"))
        out = self.succeeds("bench", "kaczmarz", "--tables", "table3,fig7,counts", "--kaczmarz-level", "3", "--kaczmarz-sweeps", "20", "--samples", "2",
                            "--threads", "1", "--seconds", "20", "--json", "rows.json", "--csv", "rows.csv")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        self.assertEqual({row["figure"] for row in rows}, {"table3", "fig7", "counts"})
        self.assertEqual(len(self.read("rows.csv").decode().splitlines()), 1 + len(rows))
        self.assertEqual(self.read("kept.csv"), b"earlier\n")  # it is replaced, not written into
        self.assertEqual(sorted(os.listdir(self.folder)), ["kept.csv", "rows.csv", "rows.json"])
        for row in rows:
            self.assertTrue(row["command"] and row["commit"] and row["device"])
        for row in (row for row in rows if row["figure"] == "table3" and row["machine"] == "cpu-openmp"):
            self.assertGreater(row["limit_gbs"], 0)
            self.assertEqual((row["sweeps"], row["sweeps_asked"]), (20, 20))
        self.assertIn("of reads)", out)
        solves = [row for row in rows if row["figure"] == "fig7"]
        self.assertEqual({row["status"] for row in solves}, {"converged"})
        self.assertTrue({"cgmnc", "bicgstab-jacobi"} <= {row["what"] for row in solves if row["machine"] == "cpu-serial"})
        for row in (row for row in solves if row["what"] == "umfpack"):
            self.assertLess(row["residual"], 1e-12)
        for row in (row for row in rows if row["figure"] == "counts" and row["what"].startswith("carpcg-near")):
            self.assertLessEqual(row["over_cgmnc"], 2.5)

    def test_bench_kaczmarz_takes_lists_of_problems_and_degrees(self):
        self.succeeds("bench", "kaczmarz", "--tables", "fig7,counts", "--kaczmarz-problem", "1,3", "--kaczmarz-degree", "2,1", "--kaczmarz-level", "2",
                      "--samples", "1", "--threads", "1", "--json", "rows.json")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        solves = [row for row in rows if row["figure"] == "fig7"]
        self.assertEqual(list(dict.fromkeys((row["problem"], row["degree"], row["level"]) for row in solves)),
                         [(problem, degree, level) for problem in (1, 3) for degree in (2, 1) for level in (1, 2)])
        # one name, one order of the rows in a block
        self.assertIn("carpcg-near-16-colours", {row["what"] for row in solves})
        self.assertNotIn("carpcg-near-16", {row["what"] for row in solves})
        self.assertEqual({row["coloured"] for row in rows if row["figure"] == "counts" and row["what"] == "carpcg-16-blocks"}, {False})
        for wrong in ("", "1,4", "1,,2", "1,"):
            self.refused("bench", "kaczmarz", "--kaczmarz-problem", wrong, words=["--kaczmarz-problem", "from 1 to 3, with commas"])

    @unittest.skipIf(system.SLOWED, "sanitizers watch")
    def test_bench_kaczmarz_compares_after_as_many_sweeps(self):
        out = self.succeeds("bench", "kaczmarz", "--tables", "table3,fig6", "--kaczmarz-level", "2", "--kaczmarz-sweeps", "21", "--samples", "3",
                            "--threads", "1", "--seconds", "20", "--json", "rows.json")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        self.assertIn("22 sweeps a run in every line, 3 runs", out)
        sweeps = [row for row in rows if row["figure"] == "table3"]
        self.assertEqual({(row["sweeps"], row["runs"]) for row in sweeps}, {(22, 3)})
        for row in sweeps:
            self.assertLessEqual(row["seconds_min"], row["seconds"])
            self.assertLessEqual(row["seconds"], row["seconds_max"])
        lambdas = [row for row in rows if row["figure"] == "fig6"]
        self.assertEqual({(row["problem"], row["degree"], row["level"]) for row in lambdas},
                         {(problem, degree, level) for problem in (1, 2, 3) for degree in (1, 2, 3) for level in (1, 2)})
        own = {round(row["x"], 3): row["value"] for row in lambdas if row["matrix"] == "fem:1,1,2"}
        self.assertEqual(len(own), 21)
        self.assertEqual((own[0.2], own[0.225], own[0.35]), (65, 64, 58))

    def test_bench_kaczmarz_keeps_to_its_time(self):
        out = self.succeeds("bench", "kaczmarz", "--tables", "table3,fig7", "--kaczmarz-level", "4", "--kaczmarz-sweeps", "100000000", "--samples", "1",
                            "--threads", "1", "--seconds", "0.002", "--json", "rows.json")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            rows = json.load(file)
        self.assertEqual(len({row["sweeps"] for row in rows if row["figure"] == "table3"}), 1)
        for row in (row for row in rows if row["figure"] == "table3"):
            self.assertLess(row["sweeps"], 100000)
            self.assertGreaterEqual(row["sweeps"], 2)
        late = [row for row in rows if row.get("status") == "out of time"]
        self.assertTrue(late or "left out" in out, out)
        for row in late:
            self.assertIsNone(row["value"])

    def test_figure_11_takes_in_the_rows_of_other_jobs(self):
        self.succeeds("bench", "async", "--table", "figure11", "--matrix", "trefethen:300", "--block", "32", "--samples", "2",
                      "--json", "one.json")
        with open(self.path("one.json"), encoding="utf-8") as file:
            rows = json.load(file)
        self.assertEqual([(row["bench"], row["exchange"], row["driver"], row["status"]) for row in rows],
                         [("async-figure11", "none", driver, "converged") for driver in ("launch", "free")])
        for row in rows:
            self.check_spread(row, 2)
            row.update(ranks=2, exchange="push", seconds=0.125)
        with open(self.path("two.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file)
        out = self.succeeds("bench", "async", "--join", "one.json", "--join", "two.json", "--json", "all.json")
        self.assertRegex(out, r"(?m)^ +2 +- +- +- +0\.125 \([0-9.]+\) +-$")
        with open(self.path("all.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)), 4)


if __name__ == "__main__":
    system.main()
