"""system.py - what the tests of the program share: where things are, how the program is run.

Python's standard library only. CMake sets KAON_PROGRAM, KAON_BUILD and KAON_SOURCE. Data files of other codes are below KAON_TEST_DATA, else
below KAON_TEST_DATA_DEFAULT (CMake's KAON_TEST_DATA); tests that lack them are skipped.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("KAON_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("KAON_BUILD", os.path.join(SOURCE, "build"))
PROGRAM = os.environ.get("KAON_PROGRAM", os.path.join(BUILD, "kaon"))
# Sanitizers make the program several times slower: tests of figures are left out where other tests run the same code.
SLOWED = os.environ.get("KAON_TEST_SLOWED") == "ON"
DATA = os.environ.get("KAON_TEST_DATA") or os.environ.get("KAON_TEST_DATA_DEFAULT", "")

# A small problem that every test can afford: light enough to take some iterations, solved in well under a second.
LINKS = ["--gauge", "weak:0.3", "--lattice", "4", "4", "4", "8"]
SMALL = [*LINKS, "--kappa", "0.12", "--csw", "1"]


def default_signals():
    """Background jobs of a shell ignore SIGINT; here Ctrl-C must reach the program under test."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def environment():
    """Threads sleep at barriers: tests share the processors, and some use more threads than there are."""
    return dict(os.environ, OMP_WAIT_POLICY="passive",
                ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=1")


def kaon(*arguments, cwd=None, timeout=600):
    """Runs the program; returns (exit status, stdout, stderr)."""
    words = [a if isinstance(a, bytes) else str(a) for a in arguments]
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", cwd=cwd, timeout=timeout, env=environment(), preexec_fn=default_signals)
    return done.returncode, done.stdout, done.stderr


def start(*arguments, cwd=None):
    return subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                            env=environment(), preexec_fn=default_signals)


def data(*path):
    """A file that others produced; skips the test where the data are not there."""
    name = os.path.join(DATA, *path)
    if not os.path.exists(name):
        raise unittest.SkipTest(f"no test data: {name}; set KAON_TEST_DATA")
    return name


class Case(unittest.TestCase):
    """A test with a folder of its own, and the checks that all of them need."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kaon-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def on_a_disk(self, size, *words):
        """Runs a command in a new folder on a disk of `size` bytes; returns its status, its output, and the files it leaves. The disk is a
        tmpfs in a namespace of its own. The test is skipped where the system does not let users have one."""
        mount = 'mount -t tmpfs -o size="$0" tmpfs disk || exit 77; cd disk; "$@"; code=$?; echo "left:" $(ls -A); exit $code'
        os.makedirs(self.path("disk"), exist_ok=True)
        try:
            done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, str(size), *map(str, words)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder, timeout=300, env=environment(),
                                  preexec_fn=default_signals)
        except FileNotFoundError:
            raise unittest.SkipTest("no unshare") from None
        if "left:" not in done.stdout:
            raise unittest.SkipTest("no small disk can be mounted: " + done.stdout)
        said, left = done.stdout.rsplit("left:", 1)
        return done.returncode, said, left.split()

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def report(self, name="report.json"):
        return json.loads(self.read(name))

    def succeeds(self, *arguments, status=0):
        code, out, err = kaon(*arguments, cwd=self.folder)
        self.assertEqual(code, status, f"kaon {' '.join(map(str, arguments))}\n{out}{err}")
        return out + err

    def refused(self, *arguments, status=2, words=()):
        """The program ends with `status` and one clear sentence that has `words` in it; nothing appears."""
        before = sorted(os.listdir(self.folder))
        code, out, err = kaon(*arguments, cwd=self.folder)
        said = f"kaon {' '.join(map(str, arguments))} -> {code}\n{out}{err}"
        self.assertEqual(code, status, said)
        self.assertTrue(err.startswith("kaon"), said)
        self.assertNotIn("defect", err, said)
        for word in words:
            self.assertIn(word, err, said)
        self.assertEqual(sorted(os.listdir(self.folder)), before, "something was written: " + said)
        print(f"  {err.strip().splitlines()[0]}")
        return err


class PartLoader(unittest.TestLoader):
    """KAON_TEST_PART=K/N takes every N-th test of each class, from the K-th on, so that parts of a long file run side by side."""

    def getTestCaseNames(self, testCaseClass):
        part, parts = map(int, os.environ.get("KAON_TEST_PART", "1/1").split("/"))
        return super().getTestCaseNames(testCaseClass)[part - 1::parts]


def main():
    """Runs the cases of the file, says how many passed, failed and were skipped, and ends with 0, 1, or 77 (ctest's "skipped") if none ran."""
    result = unittest.main(verbosity=2, testLoader=PartLoader(), exit=False).result
    name = lambda case: getattr(case, "test_case", case).id()  # of a subTest: its test's
    failed = {name(case) for case, _ in result.failures + result.errors}
    skipped = {name(case): reason for case, reason in result.skipped if name(case) not in failed}
    passed = max(result.testsRun - len(failed) - len(skipped), 0)
    without_data = sum("KAON_TEST_DATA" in reason for reason in skipped.values())
    sys.stderr.flush()
    print(f"cases: {passed} passed, {len(failed)} failed, {len(skipped)} skipped, {without_data} of them without data", flush=True)
    sys.exit(1 if not result.wasSuccessful() else 77 if passed == 0 else 0)
