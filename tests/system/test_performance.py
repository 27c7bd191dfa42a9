"""test_performance.py - benchmark rows, their files in bench/results, and docs/performance.md, which scripts/performance.py makes."""
import glob
import json
import os
import shutil
import subprocess
import sys

import system

SCRIPT = os.path.join(system.SOURCE, "scripts", "performance.py")
sys.path.insert(0, os.path.dirname(SCRIPT))
import performance as module  # noqa: E402


def performance(*arguments, **more):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def results(pattern="*"):
    return sorted(glob.glob(os.path.join(system.SOURCE, "bench", "results", pattern, "*.json")))


class Page(system.Case):
    def copy(self):
        """A source folder of its own: results, peers, page and plots."""
        for part in ("bench/results", "bench/peers", "docs/plots"):
            shutil.copytree(os.path.join(system.SOURCE, part), self.path(part))
        shutil.copy(os.path.join(system.SOURCE, "docs/performance.md"), self.path("docs/performance.md"))

    def test_page_and_plots_are_what_the_results_give(self):
        self.assertEqual(performance("--check"), (0, "", ""))

    def test_another_figure_and_an_edited_plot_are_noticed(self):
        self.copy()
        path = module.Results(self.folder).files["nvidia-h200", "dslash"]
        rows = module.read_json(path)
        for row in rows:
            row["gflops"] *= 1.5
        module.write_rows(path, rows)
        code, _, err = performance("--check", "--root", self.folder)
        self.assertEqual(code, 1)
        for word in ("docs/performance.md", "docs/plots/h200-wilson.svg"):
            self.assertIn(word, err)
        self.assertNotIn("cpu-wilson", err)
        os.remove(self.path("docs/plots/cpu-wilson.svg"))
        self.assertIn("cpu-wilson", performance("--check", "--root", self.folder)[2])
        if shutil.which("gnuplot"):
            self.assertEqual(performance("--root", self.folder), (0, "", ""))
            self.assertEqual(performance("--check", "--root", self.folder), (0, "", ""))

    def test_without_gnuplot_it_says_so_and_writes_nothing(self):
        self.copy()
        code, _, err = performance("--root", self.folder, env=dict(os.environ, PATH=self.folder))
        self.assertEqual(code, 3)
        self.assertIn("gnuplot is missing", err)
        self.assertEqual(performance("--check", "--root", self.folder)[0], 0)

    def test_two_files_of_a_topic_are_refused(self):
        self.copy()
        path = module.Results(self.folder).files["nvidia-h200", "dslash"]
        shutil.copy(path, os.path.join(os.path.dirname(path), "2099-01-01-feedbeef0123-dslash.json"))
        code, _, err = performance("--check", "--root", self.folder)
        self.assertEqual(code, 3)
        self.assertIn("another file of the topic dslash", err)


class Files(system.Case):
    def test_hop_rows_can_be_read_alone(self):
        found = 0
        for path in results("nvidia-*"):
            for row in module.read_json(path):
                if row["bench"] in ("wilson-hop", "staggered-hop", "hisq-hop"):
                    found += 1
                    for key in ("device", "lattice", "precision", "links", "columns", "gflops"):
                        self.assertIn(key, row, path)
        self.assertGreater(found, 100)

    def test_files_are_short_and_name_no_host_and_no_arguments(self):
        size = 0
        for path in results():
            size += os.path.getsize(path)
            for row in module.read_rows(path):
                for key in module.LEFT_OUT:
                    self.assertNotIn(key, row, path)
        self.assertLess(size, 2000000)

    def test_a_new_file_replaces_its_predecessor(self):
        rows = [{"bench": "wilson-hop", "device": "X", "precision": p, "links": 18, "columns": 1, "gflops": 1 / 3, "seconds": 1.5, "lattice": [8, 8, 8, 8],
                 "threads": 2, "host": "name", "command": "kaon-bench dslash", **more} for p, more in (("double", {"calls": 7}), ("half", {}))]
        for date in ("2030-01-01", "2030-01-02"):
            with open(self.path(f"{date}-feedbeef0123-dslash.json"), "w", encoding="utf-8") as file:
                json.dump(rows, file)
            self.assertEqual(performance("--root", self.folder, "--keep", "a-device", self.path(f"{date}-feedbeef0123-dslash.json")), (0, "", ""))
        self.assertEqual(os.listdir(self.path("bench/results/a-device")), ["2030-01-02-feedbeef0123-dslash.json"])
        path = self.path("bench/results/a-device/2030-01-02-feedbeef0123-dslash.json")
        short, full = module.read_json(path), module.read_rows(path)
        self.assertNotIn("threads", short[1])
        for key in ("device", "lattice", "precision", "links", "columns", "gflops"):
            self.assertIn(key, short[1])
        self.assertEqual((full[1]["threads"], full[1]["calls"], full[1]["gflops"], full[1]["precision"]), (2, None, 0.33333, "half"))
        self.assertNotIn("host", full[0])


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
