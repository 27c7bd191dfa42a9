"""Scripts that show what a change leaves as it is: check.sh, compare_code.py, compare_solves.py, check_house.sh."""
import os
import shutil
import subprocess
import sys
import unittest

import system

SCRIPTS = os.path.join(system.SOURCE, "scripts")

KERNEL = """
static double scaled(double x) { return x * FACTOR; }
double NAME(const double *x, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += scaled(x[i]);
  return sum;
}
int other(int n) { return n * 3; }
"""


def run(*command, cwd=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, timeout=300)
    return done.returncode, done.stdout


class CompareCode(system.Case):
    def build(self, name, flags, folder):
        place = self.path(f"{name}/CMakeFiles/kaon_{folder}_cpu_avx2_d.dir/Unity")
        os.makedirs(place)
        source = self.path(f"{name}.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(KERNEL)
        code, out = run("cc", "-O2", "-c", *flags, "-o", os.path.join(place, "unity_0_c.c.o"), source)
        self.assertEqual(code, 0, out)
        return self.path(name)

    def compare(self, *builds):
        return run(sys.executable, os.path.join(SCRIPTS, "compare_code.py"), "--cpu", *builds)

    def test_names_do_not_count_and_constants_do(self):
        if not shutil.which("objdump"):
            raise unittest.SkipTest("no objdump here")
        old = self.build("old", ["-DNAME=sum", "-DFACTOR=1.25"], "blas")
        code, out = self.compare(old, self.build("renamed", ["-DNAME=total", "-DFACTOR=1.25"], "dslash"))
        self.assertEqual(code, 0, out)
        self.assertIn("2 compared  2 equal  0 different  0 missing  0 new", out)
        code, out = self.compare(old, self.build("changed", ["-DNAME=sum", "-DFACTOR=1.26"], "blas"))
        self.assertEqual(code, 1, out)
        self.assertIn("different: sum", out)
        code, out = self.compare(old, self.path("nothing"))
        self.assertEqual(code, 2, out)


class CompareSolves(unittest.TestCase):
    def test_what_differs_is_named(self):
        sys.path.insert(0, SCRIPTS)
        import compare_solves
        old = {"status": 0, "solves": [{"column": 0, "residual": (1e-11).hex(), "status": "converged"}], "matrix": {"name": "a", "rows": 4}}
        new = {"status": 0, "solves": [{"column": 0, "residual": (1e-11).hex(), "status": "converged", "more": 1}], "matrix": {"name": "b", "rows": 4}}
        self.assertEqual(list(compare_solves.differences(old, new)), [])
        new["solves"][0]["residual"] = (1.0000000000000001e-11 * (1 + 2e-16)).hex()
        self.assertEqual(len(list(compare_solves.differences(old, new))), 1)
        new["solves"][0].update(residual=(1e-11).hex(), status="diverging")
        self.assertIn("solves[0].status", "".join(compare_solves.differences(old, new)))
        del new["matrix"]
        self.assertEqual(len(list(compare_solves.differences(old, new))), 2)
        names = [name for name, _, _ in compare_solves.runs("")]
        self.assertEqual(len(names), len(set(names)))


class House(system.Case):
    def test_what_exceeds_a_budget_is_named(self):
        git = shutil.which("git")
        if not git:
            raise unittest.SkipTest("no git here")
        os.makedirs(self.path("scripts")), os.makedirs(self.path("lib"))
        for name in ("check_house.sh", "check_house.py"):
            shutil.copy(os.path.join(SCRIPTS, name), self.path("scripts"))
        for name, text in (("README.md", "word " * 1201), ("lib/a.c", "/* the door */\n" * 601), ("docs.md", "an H200 makes 3 TFLOPS at edfd80732bd9\n")):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

        def said(*words):
            code, out = run(git, "-c", "user.name=a", "-c", "user.email=a@b", *words, cwd=self.folder)
            self.assertEqual(code, 0, out)

        said("init", "-q"), said("add", "."), said("commit", "-qm", "a"), said("commit", "--allow-empty", "-qm", "b" * 73)
        code, out = run(self.path("scripts/check_house.sh"), cwd=self.folder)
        self.assertEqual(code, 1, out)
        for line in ("README.md: 1201 words, at most 1200", "lib/a.c: 601 lines, at most 600", 'lib/a.c:1: "door"', "lib: no README.md",
                     'docs.md:1: device name "H200"', 'docs.md:1: speed "3 TFLOPS"', 'docs.md:1: commit hash "edfd80732bd9"',
                     "73 letters in the subject, at most 72", "docs/tutorial.md: missing"):
            self.assertIn(line, out)


TESTS = """
cmake_minimum_required(VERSION 3.22)
project(tests NONE)
enable_testing()
add_test(NAME whole COMMAND sh -c "echo 'cases: 3 passed, 0 failed, 0 skipped, 0 of them without data'")
add_test(NAME partly COMMAND sh -c "echo 'cases: 3 passed, 0 failed, 2 skipped, 1 of them without data'")
add_test(NAME skipped COMMAND sh -c "echo 'cases: 0 passed, 0 failed, 2 skipped, 2 of them without data'; exit 77")
add_test(NAME fails COMMAND false)
set_tests_properties(whole partly skipped fails PROPERTIES SKIP_RETURN_CODE 77)
"""


class Check(system.Case):
    def last_line(self, *options):
        code, out = run(os.path.join(SCRIPTS, "check.sh"), self.path("build"), *options)
        return code, out.splitlines()[-1]

    def test_the_last_line_counts_and_says_what_to_set(self):
        with open(self.path("CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(TESTS)
        self.assertEqual(run("cmake", "-S", self.folder, "-B", self.path("build"))[0], 0)
        self.assertEqual(self.last_line("-R", "whole"), (0, "1 passed, 0 failed, 0 skipped"))
        lacks = "cases lack their data: set KAON_TEST_DATA to its folder (see DEVELOPERS.md)"
        self.assertEqual(self.last_line("-E", "fails", "-j", "2"),
                         (0, "2 passed, 0 failed, 1 skipped; 2 cases skipped in programs that passed; 3 " + lacks))
        code, line = self.last_line()
        self.assertNotEqual(code, 0)
        self.assertTrue(line.startswith("2 passed, 1 failed, 1 skipped; "), line)


if __name__ == "__main__":
    system.main()
