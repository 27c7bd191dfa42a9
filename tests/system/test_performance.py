"""test_performance.py - benchmark rows, and docs/performance.md: what stands there is what bench/results gives."""
import json
import os
import shutil
import subprocess
import sys

import system

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
