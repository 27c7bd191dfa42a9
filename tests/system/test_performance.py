"""test_performance.py - benchmark rows, and docs/performance.md: what stands there is what bench/results gives."""
import json
import os
import re
import shutil
import subprocess
import sys

import system
import test_scaling

SCRIPT = os.path.join(system.SOURCE, "scripts", "performance.py")


def performance(*arguments):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    return done.returncode, done.stdout, done.stderr


class Page(system.Case):
    def copy(self):
        """A source folder of its own: results, peers, page and plots."""
        for part in ("bench/results", "bench/peers", "docs/plots"):
            shutil.copytree(os.path.join(system.SOURCE, part), self.path(part))
        shutil.copy(os.path.join(system.SOURCE, "docs/performance.md"), self.path("docs/performance.md"))

    def first_result(self):
        for folder, _, names in sorted(os.walk(self.path("bench/results"))):
            for name in sorted(names):
                if name.endswith("-dslash.json"):
                    return os.path.join(folder, name)
        self.fail("no dslash file in bench/results")

    def stale(self, *words):
        code, out, err = performance("--check", "--root", self.folder)
        self.assertEqual(code, 1, out + err)
        for word in words:
            self.assertIn(word, err)

    def test_the_page_is_what_the_files_give(self):
        self.assertEqual(performance("--check"), (0, "", ""))

    def test_another_figure_is_noticed_in_page_and_plot(self):
        self.copy()
        path = self.first_result()
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        rows[0]["gflops"] *= 1.5
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rows, file)
        self.stale("docs/performance.md", "docs/plots/")

    def test_an_edited_page_or_plot_is_noticed(self):
        self.copy()
        with open(self.path("docs/performance.md"), "a", encoding="utf-8") as file:
            file.write("faster\n")
        plot = sorted(os.listdir(self.path("docs/plots")))[0]
        os.remove(self.path("docs/plots/" + plot))
        self.stale("docs/performance.md", plot)

    def test_the_last_run_of_a_topic_counts(self):
        self.copy()
        path = self.first_result()
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        for row in rows:
            row.update(commit="feedbeef0123", measured="2099-01-01T00:00:00Z", command="kaon bench dslash --calls 77")
        name = os.path.basename(path)[:10] + "-feedbeef0123-dslash.json"
        with open(os.path.join(os.path.dirname(path), name), "w", encoding="utf-8") as file:
            json.dump(rows, file)
        self.stale("docs/performance.md")
        code, out, err = performance("--table", os.path.join(os.path.dirname(path), name))
        self.assertEqual((code, err), (0, ""))
        self.assertIn("kaon bench dslash --calls 77", out)
        if shutil.which("gnuplot"):
            self.assertEqual(performance("--root", self.folder), (0, "", ""))
            page = self.read("docs/performance.md").decode()
            self.assertIn("feedbeef0123", page)
            self.assertNotIn(os.path.basename(path), page)
            self.assertEqual(performance("--check", "--root", self.folder), (0, "", ""))

    def test_without_gnuplot_it_says_so_and_writes_nothing(self):
        self.copy()
        done = subprocess.run([sys.executable, SCRIPT, "--root", self.folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False, env=dict(os.environ, PATH=self.folder))
        self.assertEqual(done.returncode, 3)
        self.assertIn("gnuplot is missing", done.stderr)
        self.assertEqual(performance("--check", "--root", self.folder)[0], 0)


class Ranks(system.Case):
    """Rows of 1, 2 and 4 devices, and what kaon bench scaling makes of them."""

    def place(self, topic):
        return self.path(f"bench/results/a-device/2030-01-01-feedbeef0123-ranks-{topic}.json")

    def keep(self, topic, rows):
        os.makedirs(os.path.dirname(self.place(topic)), exist_ok=True)
        with open(self.place(topic), "w", encoding="utf-8") as file:
            json.dump([dict(row, gflops_rank=row["gflops"] / row["ranks"], command="kaon bench " + topic) for row in rows], file)

    def setUp(self):
        super().setUp()
        self.keep("dslash", [row for n in (1, 2, 4) for row in test_scaling.hop_rows(n)])
        self.keep("solve", [dict(row, bytes_sent=5e6, effective_gflops=123.0) for n in (1, 2, 4) for row in test_scaling.solve_rows(n)])
        self.succeeds("bench", "scaling", f"--model={self.place('dslash')}", f"--model={self.place('solve')}", "--json",
                      self.place("model"))
        os.makedirs(self.path("bench/peers"))
        with open(self.path("bench/peers/other.json"), "w", encoding="utf-8") as file:
            json.dump({"name": "Other", "device": "a device", "about": "On four.", "rows": [
                {"bench": "wilson-hop", "ranks": 4, "lattice": [32, 32, 32, 64], "grid": [1, 1, 2, 2], "precision": "half", "links": 12,
                 "columns": 1, "gflops_rank": 1000.0}]}, file)

    def test_tables_hold_each_device_against_one(self):
        code, out, err = performance("--root", self.folder, "--table", *(self.place(t) for t in ("dslash", "solve", "model")))
        self.assertEqual((code, err), (0, ""))
        lattice, grid = [32, 32, 32, 64], [1, 1, 2, 2]
        seconds, alone = test_scaling.hop("half", lattice, grid, True), test_scaling.inside("half", 2 ** 19)
        gflops = 1e-9 * 1320 * 2 ** 18 / seconds
        lines = [line for line in out.splitlines() if line.startswith("| wilson-hop | 12 | 1 | 4 | 32x32x32x64 | 1x1x2x2 | peer stores | auto |")]
        self.assertEqual(len(lines), 1, out)
        self.assertIn(f"{gflops:.0f} ({100 * alone / seconds:.0f} %, {gflops / 1000:.2f}x Other)", lines[0])
        one = [line for line in out.splitlines() if line.startswith("| wilson-hop | half | 12 | 1 |")]
        self.assertEqual(len(one), 1, "one rank has a table of its own")
        solve = [line for line in out.splitlines() if "| gcr-schwarz | double/half |" in line and "4 (1x1x1x4)" in line]
        self.assertEqual(len(solve), 1, out)
        for word in ("| 5 |", "| 123 |"):
            self.assertIn(word, solve[0])
        self.assertRegex(out, r"Fitted on one node: a message 6 us and 300 GB/s a rank; .* a sum 5 us")
        self.assertEqual(len([line for line in out.splitlines() if re.match(r"\| (1|2|4|8|16|32|64|128|256) \| \d+x", line)]), 9)

    def test_the_page_has_plots_of_scaling_and_crossover(self):
        if not shutil.which("gnuplot"):
            self.skipTest("no gnuplot")
        self.assertEqual(performance("--root", self.folder), (0, "", ""))
        page = self.read("docs/performance.md").decode()
        for name in ("ranks", "crossover"):
            self.assertIn(f"plots/a-device-{name}.svg", page)
        svg = self.read("docs/plots/a-device-ranks.svg").decode()
        for word in ("half r12, weak 32x32x32x64", "half r12, strong 32x32x32x64", "Other"):
            self.assertIn(word, svg)
        svg = self.read("docs/plots/a-device-crossover.svg").decode()
        for word in ("gcr-schwarz double/half", "bicgstab double/half, measured"):
            self.assertIn(word, svg)
        self.assertEqual(performance("--check", "--root", self.folder), (0, "", ""))
        self.keep("dslash", [dict(row, gflops=2 * row["gflops"]) for row in test_scaling.hop_rows(1) + test_scaling.hop_rows(4)])
        code, _, err = performance("--check", "--root", self.folder)
        self.assertEqual(code, 1)
        self.assertIn("a-device-ranks.svg", err)


class Rows(system.Case):
    def rows(self, *arguments):
        self.succeeds("bench", *arguments, "--json", "rows.json", "--report=report.json")
        return json.loads(self.read("rows.json"))

    def test_rows_say_how_they_were_measured(self):
        words = ["dslash", "--lattice", "4x4x4x8", "--columns", "1", "--precision", "single", "--reconstruct", "18"]
        rows = self.rows(*words)
        self.assertEqual([row["bench"] for row in rows], ["wilson-hop", "clover-matrix"])
        for row in rows:
            self.assertEqual(row["command"], " ".join(["kaon bench", *words]))
            self.assertRegex(row["measured"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertGreater(row["limit_gbs"], 0)
            self.assertGreaterEqual(row["calls"] * row["samples"], 100)
            self.assertLessEqual(row["seconds_min"], row["seconds"])
            self.assertLessEqual(row["seconds"], row["seconds_max"])
            self.assertAlmostEqual(row["gflops"] * row["seconds"] * 1e9 / 256 / {"wilson-hop": 1320, "clover-matrix": 3792}[
                row["bench"]], 1, places=6)

    def test_a_solve_names_the_file_without_its_folder(self):
        self.succeeds("generate", "--lattice", "4x4x4x4", "--sweeps", "1", "--output", "config.lime")
        rows = self.rows("solve", f"--gauge={self.path('config.lime')}", "--kappa", "0.1", "--columns", "1", "--precision",
                         "single")
        self.assertEqual(rows[0]["gauge"], "config.lime")
        self.assertNotIn(self.folder, json.dumps(rows))
        self.assertIn("--gauge=config.lime", rows[0]["command"])
        self.assertGreaterEqual(rows[0]["samples"], 3)


if __name__ == "__main__":
    system.main()
