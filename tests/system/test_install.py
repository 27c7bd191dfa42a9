"""An installation into an empty prefix: what it holds and exports, and that applications in C, C++, Fortran and Python find it, by
CMake and by pkg-config. The examples run and print the right results."""
import ctypes
import os
import re
import shutil
import subprocess
import unittest

import system


def run(*command, cwd=None, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=env)
    return done.returncode, done.stdout


def cache(name):
    """a variable of the build's CMake"""
    with open(os.path.join(system.BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(rf"^{name}:\w+=(.*)$", file.read(), re.M)
    return found.group(1) if found else ""


CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")
LIBDIR = cache("CMAKE_INSTALL_LIBDIR")
SHARED = cache("BUILD_SHARED_LIBS") == "ON"


def public_functions():
    """the functions that include/kaon declares with KAON_API"""
    names = set()
    include = os.path.join(system.SOURCE, "include", "kaon")
    for header in os.listdir(include):
        if header.endswith(".h"):
            with open(os.path.join(include, header), encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            names.update(re.findall(r"^KAON_API\s[\w\s*]*\b(kaon_\w+)\(", text, re.M))
    return names


class Install(system.Case):
    def setUp(self):
        super().setUp()
        self.prefix = self.path("prefix")
        programs = [name for name in ("kaon", "kaon-bench") if os.path.exists(os.path.join(system.BUILD, name))]
        self.programs = programs
        self.command("cmake", "--build", system.BUILD, "--target", "kaon_installed", "kaon_static")
        self.command("cmake", "--install", system.BUILD, "--prefix", self.prefix)
        self.library = os.path.join(self.prefix, LIBDIR, "libkaon.so")

    def command(self, *command, env=None):
        code, out = run(*command, cwd=self.folder, env=env)
        self.assertEqual(code, 0, " ".join(command) + "\n" + out)
        return out

    def needs(self, program):
        if not shutil.which(program):
            raise unittest.SkipTest(f"no {program} here")

    def test_the_prefix_has_what_it_should_and_nothing_else(self):
        found = set()
        for folder, _, files in os.walk(self.prefix):
            found.update(os.path.relpath(os.path.join(folder, name), self.prefix) for name in files)
        headers = [name for name in os.listdir(os.path.join(system.SOURCE, "include", "kaon")) if name.endswith(".h")]
        expected = {f"include/kaon/{name}" for name in headers} | {f"bin/{name}" for name in self.programs}
        expected |= {f"share/bash-completion/completions/{name}" for name in self.programs}
        expected |= {"share/doc/kaon/LICENSE", "share/doc/kaon/README.md", "share/doc/kaon/CHANGELOG.md", f"{LIBDIR}/pkgconfig/kaon.pc", f"{LIBDIR}/libkaon.a"}
        if cache("KAON_BUILD_QUDA") == "ON":
            headers = os.listdir(os.path.join(system.SOURCE, "interfaces", "quda", "include"))
            expected |= {f"include/kaon-quda/{name}" for name in headers if name.endswith(".h")}
            expected |= {f"{LIBDIR}/kaon-quda/libquda.so", f"{LIBDIR}/kaon-quda/cmake/QUDA/QUDAConfig.cmake"}
        targets = ["kaonTargets"]
        if SHARED:
            expected |= {f"{LIBDIR}/{name}" for name in ("libkaon.so", "libkaon.so.0.1", "libkaon.so.0.1.0")}
            targets.append("kaonStaticTargets")
        kind = "-" + cache("CMAKE_BUILD_TYPE").lower()
        names = ["kaonConfig", "kaonConfigVersion"] + targets + [target + kind for target in targets]
        expected |= {f"{LIBDIR}/cmake/kaon/{name}.cmake" for name in names}
        if shutil.which("help2man"):
            expected |= {f"share/man/man1/{name}.1" for name in self.programs}
        self.assertEqual(found, expected)

    def test_the_library_exports_the_public_functions_alone(self):
        if not SHARED:
            raise unittest.SkipTest("kaon was built as a static library")
        self.needs("nm"), self.needs("readelf")
        self.assertIn("soname: [libkaon.so.0.1]", self.command("readelf", "-d", self.library))
        listed = self.command("nm", "-D", "--defined-only", self.library)
        exported = {line.split()[-1] for line in listed.splitlines()}
        self.assertEqual(exported, public_functions())
        print(f"  {len(exported)} functions")

    def test_programs_run_wherever_the_prefix_is(self):
        moved = self.path("moved")
        os.rename(self.prefix, moved)
        for name in self.programs:
            self.assertTrue(self.command(os.path.join(moved, "bin", name), "--version").startswith(name + " "))

    def test_completion_offers_commands_options_and_values(self):
        self.needs("bash")
        script = os.path.join(self.prefix, "share/bash-completion/completions/kaon")
        ask = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kaon; echo "${COMPREPLY[@]}"'
        program = os.path.join(self.prefix, "bin", "kaon")
        for words, answer in ((["in"], "info invert"), (["bench", "kry"], "krylov"), (["invert", "--act"], "--action"),
                              (["bench", "krylov", "--pow"], "--power"), (["invert", "--action", "wils"], "wilson"),
                              (["invert", "--action", "=", "hi"], "hisq"), (["solve", "--precision", ""], "double single"),
                              (["solve", "--method", "pipe"], "pipecg pipecgnr pipebicgstab"), (["solve", "--precond", "gs"], "gs gs-sweeps"),
                              (["invert", "--sloppy", "h"], "half"), (["invert", "--reconstruct", "1"], "18 12"),
                              (["invert", "--even-odd", "n"], "none"), (["gauge", "--format", "il"], "ildg"),
                              (["invert", "--backend", "cu"], "cuda"), (["invert", "--gauge", "we"], "weak:"),
                              (["solve", "--matrix", "laplace2"], "laplace2d:"), (["tune", "--precision", "double,s"], "double,single"),
                              (["solve", "--output", "x"], "")):
            if words[0] == "bench" and "kaon-bench" not in self.programs:
                continue
            with self.subTest(words=words):
                self.assertEqual(self.command("bash", "-c", ask, script, program, *words).strip(), answer)

    def test_cmake_finds_it_from_c_cxx_and_fortran(self):
        self.needs("c++")
        for target, component in [("kaon::kaon", "")] + [("kaon::kaon_static", "static")] * SHARED:
            with self.subTest(target=target):
                build = self.path(target.replace("::", "-"))
                self.command("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                             f"-DKAON_TARGET={target}", f"-DKAON_COMPONENTS={component}")
                self.command("cmake", "--build", build)
                for name, words in (("consumer_c", "plaquette 1"), ("consumer_cxx", "plaquette 1"), ("consumer_fortran", "512 sites")):
                    program = os.path.join(build, name)
                    if name != "consumer_fortran" or os.path.exists(program):
                        self.assertIn(words, self.command(program))

    def test_pkg_config_finds_it_from_c_cxx_and_fortran(self):
        self.needs("pkg-config")
        folder = os.path.join(self.prefix, LIBDIR)
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(folder, "pkgconfig"), LD_LIBRARY_PATH=folder)
        self.assertEqual(self.command("pkg-config", "--modversion", "kaon", env=env), "0.1.0\n")
        for kind in ["--shared"] * SHARED + ["--static"]:
            words = self.command("pkg-config", "--cflags", "--libs", *[kind] * (kind == "--static"), "kaon", env=env).split()
            if kind == "--static":  # a linker takes the shared one where both are
                words = [os.path.join(folder, "libkaon.a") if word == "-lkaon" else word for word in words]
            for compiler, source, out in (("cc", "consumer.c", "plaquette 1"), ("c++", "consumer.cpp", "plaquette 1"),
                                          ("gfortran", "consumer.f90", "512 sites")):
                if shutil.which(compiler):
                    with self.subTest(compiler=compiler, kind=kind):
                        self.command(compiler, "-o", self.path("client"), os.path.join(CONSUMER, source), *words, env=env)
                        self.assertIn(out, self.command(self.path("client"), env=env))

    def test_python_loads_it(self):
        if not SHARED:
            raise unittest.SkipTest("kaon was built as a static library")
        library = ctypes.CDLL(self.library)
        library.kaon_version.restype = ctypes.c_char_p
        self.assertEqual(library.kaon_version(), b"0.1.0")
        context = ctypes.c_void_p()
        self.assertEqual(library.kaon_context_create(None, ctypes.byref(context)), 0)
        library.kaon_context_destroy(ctypes.byref(context))
        self.assertIsNone(context.value)

    def test_examples_build_out_of_tree_and_print_the_same(self):
        build = self.path("build")
        examples = os.path.join(system.SOURCE, "examples")
        self.needs("c++")
        self.command("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DEXAMPLES={examples}")
        self.command("cmake", "--build", build)
        self.succeeds("generate", "--lattice", "4", "4", "4", "8", "--sweeps", "5", "--output", "c.lime")
        for name, arguments in (("propagator", ["c.lime", "0.12", "1"]), ("own_links", []), ("callback", []), ("csr", []), ("ldu", []), ("transfer", [])):
            with self.subTest(example=name):
                installed = self.command(os.path.join(build, name), *arguments)
                self.assertEqual(self.command(os.path.join(system.BUILD, "examples", name), *arguments), installed)
                self.assertNotEqual(installed.strip(), "")


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

    def test_links_in_memory_are_those_of_the_program(self):
        self.succeeds("invert", "--gauge", "weak:0.3:1", "--lattice", "4", "4", "4", "8", "--action", "wilson", "--kappa", "0.12", "--columns", "1",
                      "--report", "report.json")
        code, out = self.example("own_links")
        self.assertEqual(code, 0, out)
        plaquette, steps, residual = re.search(r"plaquette (\S+)\nconverged after (\d+) steps, residual (\S+), psi", out).groups()
        self.assertEqual(plaquette, f"{self.report()['plaquette']:.10f}")
        self.assertLessEqual(abs(int(steps) - self.report()["solves"][0]["iterations"]), 2)
        self.assertLessEqual(float(residual), 1.1e-10)
        code, out = self.example("own_links", "1e-6")  # M = 1 - kappa H is 1
        self.assertEqual(code, 0, out)
        self.assertIn("psi(0) = 1.000000000\n", out)

    def test_operator_between_two_spaces_has_an_adjoint(self):
        code, out = self.example("transfer")
        self.assertEqual(code, 0, out)
        plain, adjoint = map(float, re.search(r"x> = (\S+), <R\^dag y, x> = (\S+)", out).groups())
        self.assertGreater(plain, 0)
        self.assertLess(abs(plain - adjoint), 1e-12 * plain)

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
