"""scripts/rational_approximation.py: errors are what its files say, the files of the C tests are its own, wrong requests are refused."""
import importlib.util
import os
import subprocess
import sys
import unittest

import system

SCRIPT = os.path.join(system.SOURCE, "scripts", "rational_approximation.py")


def run(*arguments):
    done = subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def parse(text):
    words = " ".join(line.split("#")[0] for line in text.splitlines()).split()
    assert [words[i] for i in (0, 2, 4, 7, 9, 11)] == ["kaon-rational", "power", "interval", "error", "constant", "terms"]
    numbers = list(map(float, words[13:]))
    terms = int(words[12])
    assert len(numbers) == 2 * terms
    return {"power": float(words[3]), "lo": float(words[5]), "hi": float(words[6]), "error": float(words[8]),
            "constant": float(words[10]), "terms": list(zip(numbers[::2], numbers[1::2]))}


def worst(r, points=20000):
    most = 0
    for i in range(points + 1):
        x = r["lo"] * (r["hi"] / r["lo"]) ** (i / points)
        value = r["constant"] + sum(c / (x + p) for c, p in r["terms"])
        most = max(most, abs(value / x ** r["power"] - 1))
    return most


@unittest.skipUnless(importlib.util.find_spec("mpmath"), "mpmath (python3-mpmath) is not there")
class Script(system.Case):
    def test_errors_are_what_the_files_say(self):
        for power, lo, hi, n in (("-1/4", 0.01, 10, 3), ("-1/2", 1e-3, 1, 5), ("-1/8", 1e-6, 64, 8), ("1/8", 0.1, 20, 4), ("3/4", 1e-2, 4, 4),
                                 ("0.3", 1, 2, 1)):
            with self.subTest(power=power):
                code, out, err = run(f"--power={power}", "--interval", lo, hi, "--terms", n)
                self.assertEqual((code, err), (0, ""))
                r = parse(out)
                print(f"  x^({power}) on {lo} to {hi}, {n} terms: error {r['error']:.3e}, found {worst(r):.3e}")
                self.assertLessEqual(worst(r), r["error"] * (1 + 1e-6) + 1e-14)
                self.assertGreaterEqual(worst(r), r["error"] * 0.99 - 1e-14)

    def test_as_many_terms_as_an_error_needs(self):
        code, out, _ = run("--power=-1/4", "--interval", 0.01, 10, "--error", 1e-5)
        self.assertEqual(code, 0)
        r = parse(out)
        self.assertLessEqual(worst(r), 1e-5)
        code, out, _ = run("--power=-1/4", "--interval", 0.01, 10, "--terms", len(r["terms"]) - 1)
        self.assertGreater(worst(parse(out)), 1e-5)

    def test_the_files_of_the_tests_are_the_scripts_own(self):
        for power, name in (("-1/4", "rational_inverse_fourth_root.txt"), ("1/8", "rational_eighth_root.txt")):
            run(f"--power={power}", "--interval", 0.02, 64.1, "--terms", 9, "--output", self.path(name))
            with open(os.path.join(system.SOURCE, "tests", "reference", name), encoding="ascii") as file:
                theirs = parse(file.read())
            ours = parse(self.read(name).decode())
            for (a, b), (c, d) in zip(ours["terms"], theirs["terms"], strict=True):
                self.assertLess(abs(a / c - 1) + abs(b / d - 1), 1e-6)  # extrema are found to that

    def test_wrong_requests_are_refused(self):
        for wrong in (["--power=0", "--interval", 1, 2, "--terms", 3], ["--power=1", "--interval", 1, 2, "--terms", 3],
                      ["--power=-1/4", "--interval", 2, 1, "--terms", 3], ["--power=-1/4", "--interval", 0, 1, "--terms", 3],
                      ["--power=-1/4", "--interval", 1, 2], ["--power=-1/4", "--interval", 1, 2, "--terms", 65],
                      ["--power=x", "--interval", 1, 2, "--terms", 3]):
            with self.subTest(wrong=wrong):
                code, out, err = run(*wrong)
                self.assertEqual((code, out), (2, ""))
                self.assertIn("error:", err)


if __name__ == "__main__":
    system.main()
