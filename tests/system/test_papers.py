"""test_papers.py - docs/papers.md: its files are there, and its plots can be drawn from the results."""
import glob
import os
import re
import subprocess
import sys

import system

PAGE = os.path.join(system.SOURCE, "docs", "papers.md")
PLOTS = os.path.join(system.SOURCE, "bench", "papers", "plots.py")


class Papers(system.Case):
    def setUp(self):
        super().setUp()
        with open(PAGE, encoding="utf-8") as file:
            self.text = file.read()

    def test_every_file_of_the_page_exists(self):
        for link in re.findall(r"\]\(([^)#]+)", self.text):
            self.assertTrue(os.path.exists(os.path.join(os.path.dirname(PAGE), link)), link)
        topics = [topic for line in re.findall(r"Results: (.*)", self.text) for topic in re.findall(r"`\*?-([\w-]+)`", line)]
        self.assertGreater(len(topics), 10)
        for topic in topics:
            self.assertTrue(glob.glob(os.path.join(system.SOURCE, "bench", "results", "nvidia-h200", f"*-{topic}.json")), topic)

    def test_the_plots_have_their_curves(self):
        done = subprocess.run([sys.executable, PLOTS, "--scripts"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        scripts = dict(re.findall(r"(?ms)^# (paper-[\w-]+)\n(.*?)(?=^# |\Z)", done.stdout))
        self.assertEqual({name: text.count("title '") - 1 for name, text in scripts.items()},
                         {"paper-relaxation-time": 5, "paper-kaczmarz-time": 8, "paper-kaczmarz-relaxation": 3, "paper-pipelined-delay": 4})
        for name, text in scripts.items():
            self.assertIn(f"plots/{name}.svg", self.text)
            for curve in re.split(r"(?m)^e$", text)[:-1]:
                self.assertRegex(curve, r"(?m)^[0-9.e+-]+ [0-9.e+-]+$")


if __name__ == "__main__":
    system.main()
