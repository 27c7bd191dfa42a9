"""Installed into an empty prefix, kaon is found by find_package from a C and from a C++17 program, out of tree; the examples
run and print the right results."""
import os
import re
import shutil
import subprocess
import unittest

import system


def run(*command, cwd=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd)
    return done.returncode, done.stdout


class Install(system.Case):
    def command(self, *command):
        code, out = run(*command, cwd=self.folder)
        self.assertEqual(code, 0, " ".join(command) + "\n" + out)
        return out

    def test_find_package_from_c_and_cxx(self):
        if not shutil.which("c++"):
            raise unittest.SkipTest("no C++ compiler here")
        prefix, build = self.path("prefix"), self.path("build")
        self.command("cmake", "--install", system.BUILD, "--prefix", prefix)
        self.assertTrue(os.path.exists(os.path.join(prefix, "bin", "kaon")))
        consumer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")
        self.command("cmake", "-S", consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DEXAMPLES=" + os.path.join(system.SOURCE, "examples"))
        self.command("cmake", "--build", build)
        for name in ("consumer_c", "consumer_cxx"):
            out = self.command(os.path.join(build, name))
            print(f"  {name}: {out.strip()}")
            self.assertIn("plaquette 1", out)
        out = self.command(os.path.join(prefix, "bin", "kaon"), "--version")
        self.assertTrue(out.startswith("kaon "))
        self.succeeds("generate", "--lattice", "4", "4", "4", "8", "--sweeps", "5", "--output", "c.lime")
        for name, arguments in (("propagator", ["c.lime", "0.12", "1"]), ("callback", []), ("csr", []), ("ldu", [])):
            with self.subTest(example=name):
                installed = self.command(os.path.join(build, name), *arguments)
                self.assertEqual(self.command(os.path.join(system.BUILD, "examples", name), *arguments), installed)
                self.assertNotEqual(installed.strip(), "")

    def test_every_header_stands_alone_in_c11_and_cxx17(self):
        include = os.path.join(system.SOURCE, "include")
        for name in sorted(os.listdir(os.path.join(include, "kaon"))):
            for compiler, language in (("cc", ["-x", "c", "-std=c11"]), ("c++", ["-x", "c++", "-std=c++17"])):
                if shutil.which(compiler):
                    self.command(compiler, *language, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I",
                                 include, os.path.join(include, "kaon", name))


class Commit(system.Case):
    """What reports call the source that was built, looked up at every build."""

    def commit(self, git):
        script = os.path.join(system.SOURCE, "cmake", "KaonCommit.cmake")
        code, out = run("cmake", "-DKAON_SOURCE=" + self.path("source"), "-DKAON_GIT=" + git, "-DKAON_HEADER=" + self.path("commit.h"), "-P", script)
        self.assertEqual((code, out), (0, ""))
        return re.search('#define KAON_COMMIT "(.*)"', self.read("commit.h").decode()).group(1)

    def test_the_commit_is_that_of_the_sources(self):
        git = shutil.which("git")
        if not git:
            raise unittest.SkipTest("no git here")
        os.makedirs(self.path("source/docs"))
        source, page = self.path("source/a.c"), self.path("source/docs/page.md")

        def write(name, text):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)

        def said(*words):
            code, out = run(git, "-c", "user.name=a", "-c", "user.email=a@b", *words, cwd=self.path("source"))
            self.assertEqual(code, 0, out)
            return out.strip()

        self.assertEqual(self.commit(git), "unknown")  # a tarball's folder
        write(source, "int a;"), write(page, "a")
        said("init", "-q"), said("add", "."), said("commit", "-qm", "a")
        clean = said("rev-parse", "--short=12", "HEAD")
        self.assertEqual(self.commit(git), clean)
        self.assertRegex(clean, "^[0-9a-f]{12}$")
        os.utime(self.path("commit.h"), (1, 1))
        write(page, "b"), write(self.path("source/new.json"), "{}")  # what is measured and written about it
        self.assertEqual(self.commit(git), clean)
        self.assertEqual(os.path.getmtime(self.path("commit.h")), 1)  # nothing is compiled anew
        write(source, "int b;")
        self.assertEqual(self.commit(git), clean + "-dirty")
        said("commit", "-qam", "b")
        self.assertEqual(self.commit(git), said("rev-parse", "--short=12", "HEAD"))
        self.assertEqual(self.commit("KAON-NOTFOUND"), "unknown")


class Examples(system.Case):
    def example(self, name, *arguments):
        return run(os.path.join(system.BUILD, "examples", name), *arguments, cwd=self.folder)

    def test_propagator_agrees_with_the_program(self):
        self.succeeds("generate", "--lattice", "4", "4", "4", "8", "--sweeps", "5", "--output", "c.lime")
        self.succeeds("invert", "--gauge", "c.lime", "--kappa", "0.12", "--csw", "1", "--sloppy", "half", "--report", "report.json")
        code, out = self.example("propagator", "c.lime", "0.12", "1")
        self.assertEqual(code, 0, out)
        pion = [float(line.split()[1]) for line in out.splitlines()]
        program = self.report()["pion"]
        worst = max(abs(a / b - 1) for a, b in zip(pion, program))
        print(f"  largest relative difference {worst:.1e} (bound 1e-9: ten digits are printed)")
        self.assertEqual(len(pion), 8)
        self.assertLess(worst, 1e-9)

    def test_propagator_says_what_is_wrong(self):
        code, out = self.example("propagator", "absent.lime")
        self.assertEqual(code, 2)
        self.assertIn("absent.lime", out)
        self.succeeds("generate", "--lattice", "4", "4", "4", "4", "--sweeps", "0", "--start", "hot", "--output", "hot.lime")
        code, out = self.example("propagator", "hot.lime", "10", "0")
        self.assertEqual(code, 1, out)
        self.assertIn("column", out)

    def test_callback_converges_and_stops_when_told(self):
        code, out = self.example("callback")
        self.assertEqual(code, 0, out)
        self.assertEqual(len(re.findall(r"column \d: converged", out)), 2, out)
        code, out = self.example("callback", "3")
        self.assertEqual(code, 0, out)
        self.assertIn("cancelled", out)

    def test_csr_arrays_of_an_application_are_solved(self):
        """the temperature in the middle of the unit square with -u'' = 1 and 0 outside: 0.0736713 N^2, and O(1) besides"""
        code, out = self.example("csr", "101")
        self.assertEqual(code, 0, out)
        rows, entries, middle = re.search(r"(\d+) rows, (\d+) entries: converged .* (\S+) in the middle", out).groups()
        self.assertEqual((int(rows), int(entries)), (101 ** 2, 5 * 101 ** 2 - 4 * 101))
        print(f"  {middle} (continuum {0.0736713 * 102 ** 2:.2f})")
        self.assertLess(abs(float(middle) / (0.0736713 * 102 ** 2) - 1), 1e-3)

    def test_a_system_in_openfoams_addressing_is_solved(self):
        code, out = self.example("ldu", "12")
        self.assertEqual(code, 0, out)
        self.assertIn(f"{12 ** 3} cells, {3 * 12 ** 2 * 11} faces: converged", out)
        self.assertLess(float(re.search(r"largest imbalance of a cell: (\S+)", out).group(1)), 1e-8)

        code, out = self.example("ldu", "12", "3")
        self.assertEqual(code, 1, out)
        self.assertIn("not converged", out)

    def test_the_first_examples_stay_short(self):
        for name, most in (("propagator.c", 40), ("csr.c", 60)):
            with open(os.path.join(system.SOURCE, "examples", name)) as file:
                self.assertLessEqual(len(file.readlines()), most, name)


if __name__ == "__main__":
    system.main()
