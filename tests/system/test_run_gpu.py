"""tests/run_gpu.sh runs programs as it promises: several at a time, longest first, alone where needed, and all killed at the end.
The programs are shell scripts here, in the folder that KAON_BUILD names; no device is needed."""
import os
import signal
import subprocess
import time

import system

SCRIPT = os.path.join(os.environ.get("KAON_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")), "tests", "run_gpu.sh")
FOREVER = "sleep 300 & echo $$ $! >%s; wait"
DEAF = "trap '' TERM; " + FOREVER  # it is killed three seconds after it was asked to end
NOTED = "echo begin $0 >>%s; sleep 0.5; echo end $0 >>%s"
BRIEF = "echo begin $0 >>%s; echo end $0 >>%s"  # where one runs at a time


class RunGpu(system.Case):
    def program(self, name, text):
        os.makedirs(self.path("tests/ranks"), exist_ok=True)
        path = os.path.normpath(self.path(os.path.join("tests", name)))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text + "\n")
        os.chmod(path, 0o755)

    def without_unittest(self):
        """A PYTHONPATH with which tests of the program are skipped"""
        os.makedirs(self.path("lacking"), exist_ok=True)
        with open(self.path("lacking/unittest.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError\n")
        return self.path("lacking")

    def environment(self, **settings):
        return dict({key: value for key, value in os.environ.items() if not key.startswith("KAON_")},
                    KAON_BUILD=self.folder, OUT=self.path("out"), **{key: str(value) for key, value in settings.items()})

    def run_script(self, *what, **settings):
        """(status, output, summary)"""
        done = subprocess.run(["bash", SCRIPT, *what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=self.environment(**settings), timeout=120, check=False)
        return done.returncode, done.stdout, self.read("out/summary.txt").decode()

    def assert_gone(self, name):
        """Nobody of those whose numbers the file holds is there any more."""
        for pid in map(int, self.read(name).split()):
            for _ in range(50):
                state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
                if state in ("", "Z"):
                    break
                time.sleep(0.1)
            else:
                self.fail(f"process {pid} still runs")

    def order(self):
        """[(begin or end, name)]"""
        return [(word, os.path.basename(path)) for word, path in (line.split() for line in self.read("noted").decode().splitlines())]

    def test_each_ends_as_it_is_said(self):
        self.program("test_good", "echo fine")
        self.program("test_bad", "echo first; echo '[  FAILED  ] b'; echo last; exit 3")
        self.program("test_lots", "seq 100000; exit 1")
        self.program("test_hangs", DEAF % self.path("pids"))
        self.program("test_dies", "kill -SEGV $$")
        self.program("test_blind", "echo 'cuda: skipped: no device'")
        self.program("test_empty", "echo 'cases: 0 passed, 0 failed, 2 skipped'; exit 77")
        status, out, summary = self.run_script("tests", KAON_TEST_LIMIT=2)
        self.assertEqual(status, 1, out)
        for line in ("PASSED   test_good, ", "FAILED   test_bad (status 3): [  FAILED  ] b;", "FAILED   test_lots (status 1)", "FAILED   test_dies (status 139)",
                     "FAILED   test_hangs: did not end in 2 s", "SKIPPED  test_blind: passed, but cuda: skipped: no device", "SKIPPED  test_empty: cases: 0 passed"):
            self.assertIn(line, summary)
        self.assertRegex(summary, r"(?m)^TOTAL +\d+ s, 4 failed, 0 out of time, 0 not run, 3 skipped, 1 passed$")
        self.assertRegex(summary, r"(?m)^FAILED: .*\btest_lots\b")
        self.assertIn("first\n[  FAILED  ] b\nlast\n", out)
        self.assertIn("\n99999\n100000\n", out)
        self.assertNotIn("fine", out)
        self.assertEqual(self.read("out/tests/test_good.log"), b"fine\n")
        self.assertNotIn("run_jobs.sh: line", out)
        self.assert_gone("pids")

    def test_the_program_is_tested_as_well_or_it_is_said_why_not(self):
        self.program("test_good", "echo fine")
        summary = self.run_script("tests")[2]
        self.assertRegex(summary, r"(?m)^SKIPPED  tests of the program: .*/kaon was not built$")
        self.program("../kaon", "echo 'nothing works on' $KAON_BACKEND >&2; exit 3")
        status, out, summary = self.run_script("tests", KAON_TEST_JOBS=2)
        self.assertEqual(status, 1, out)
        parts = [f"{name}_program part {part}/3" for name in ("invert", "solve") for part in (1, 2, 3)]
        for name in ["tune", "memory", "usage"] + parts:
            self.assertRegex(summary, rf"(?m)^FAILED   system_{name} \(status 1\): .*(FAIL|ERROR): test_\w+ ")
        self.assertIn("nothing works on cuda", self.read("out/tests/system_tune.log").decode())
        self.assertIn("Ran 2 tests", self.read("out/tests/system_usage.log").decode())
        self.assertIn("PASSED   test_good", summary)
        status, out, summary = self.run_script("tests", PYTHONPATH=self.without_unittest())
        self.assertEqual(status, 0, out)
        self.assertIn("SKIPPED  tests of the program: python3 lacks the module unittest", summary)

    def test_what_has_no_time_is_never_called_passed(self):
        self.program("test_a", FOREVER % self.path("pids"))
        self.program("test_b", "echo '[       OK ] one'; sleep 60")
        self.program("test_c", "echo never")
        status, out, summary = self.run_script("tests", "bench", "profile", KAON_GPU_SECONDS=3, KAON_TEST_JOBS=2)
        self.assertEqual(status, 4, out)
        self.assertRegex(summary, r"(?m)^LATE     test_b: ended after \d s; 1 tests passed, none failed till then$")
        self.assertIn("NOT RUN  test_c: no time left", summary)
        self.assertNotIn("PASSED", summary)
        self.assertRegex(summary, r"(?m)^LATE:    test_a, test_b$|^LATE:    test_b, test_a$")
        self.assertFalse(os.path.exists(self.path("out/tests/test_c.log")))
        self.assert_gone("pids")

    def test_the_longest_come_first_and_some_come_alone(self):
        noted = NOTED % (self.path("noted"), self.path("noted"))
        for name in ("test_locale", "test_decimal", "test_context"):
            self.program(name, noted)
        status, out, summary = self.run_script("tests", KAON_TEST_JOBS=2)
        self.assertEqual((status, summary.count("PASSED ")), (0, 3), out)
        order = self.order()
        self.assertEqual({name for _, name in order[:2]}, {"test_decimal", "test_locale"}, "two at a time, but for those alone")
        self.assertEqual([word for word, _ in order[:4]], ["begin", "begin", "end", "end"])
        self.assertEqual(order[4:], [("begin", "test_context"), ("end", "test_context")])
        os.remove(self.path("noted"))
        for name in ("test_locale", "test_decimal", "test_context"):
            self.program(name, BRIEF % (self.path("noted"), self.path("noted")))
        self.run_script("tests", KAON_TEST_JOBS=1)
        self.assertEqual([name for word, name in self.order() if word == "begin"], ["test_decimal", "test_locale", "test_context"])

    def test_tests_of_the_program_and_of_the_sanitizer_come_among_the_others(self):
        noted = BRIEF % (self.path("noted"), self.path("noted"))
        self.program("test_vector", noted)
        self.program("test_sparse_kernels", "echo 'RACECHECK SUMMARY: 0 hazards'; echo 'ERROR SUMMARY: 0 errors'\n" + noted)
        self.program("../kaon", "echo begin $0 >>%s; exit 3" % self.path("noted"))
        self.program("../bin/compute-sanitizer", 'echo begin $2 >>%s; exec "${@: -1}"' % self.path("noted"))
        self.run_script("tests", "sanitizer", KAON_TEST_JOBS=1, KAON_TEST_LIMIT=3, PATH=self.path("bin") + ":" + os.environ["PATH"])
        began = [name for word, name in self.order() if word == "begin"]
        self.assertLess(began.index("kaon"), began.index("racecheck"), "the longest first")
        self.assertLess(began.index("racecheck"), began.index("test_vector"))
        self.assertLess(began.index("test_vector"), began.index("memcheck"))

    def test_those_that_keep_the_device_at_work_take_turns(self):
        noted = NOTED % (self.path("noted"), self.path("noted"))
        for name in ("test_solvers", "test_blockcg", "test_sync", "test_vector"):
            self.program(name, noted)
        for at_a_time, expected in ((1, ["begin", "end", "begin", "end", "begin", "end"]), (2, ["begin", "begin", "end"])):
            status, out, _ = self.run_script("tests", KAON_TEST_JOBS=4, KAON_TEST_TURNS=at_a_time)
            self.assertEqual(status, 0, out)
            order = self.order()
            turns = [word for word, name in order if name != "test_vector"]
            self.assertEqual(turns[:len(expected)], expected)
            self.assertIn(("begin", "test_vector"), order[:at_a_time + 1], "beside the first of them")
            os.remove(self.path("noted"))

    MPS = """folder=$CUDA_MPS_PIPE_DIRECTORY
if [ "${1:-}" = -d ]; then
  %s
  echo "$folder" >>FOLDER/begun; echo "it began" >"$CUDA_MPS_LOG_DIRECTORY/server.log"
else
  read -r word; echo "$word $folder" >>FOLDER/ended
fi"""

    def mps(self, begin=""):
        self.program("../bin/nvidia-cuda-mps-control", (self.MPS % begin).replace("FOLDER", self.folder))
        return self.path("bin") + ":" + os.environ["PATH"]

    def test_programs_share_a_device_by_mps_where_it_is_installed(self):
        noted = NOTED % (self.path("noted"), self.path("noted"))
        for name in ("test_vector", "test_solvers", "test_blockcg", "test_solver_histories", "test_context"):
            self.program(name, "echo mps: $CUDA_MPS_PIPE_DIRECTORY; test -d \"${CUDA_MPS_PIPE_DIRECTORY%/none}\" && test ! -e \"${CUDA_MPS_PIPE_DIRECTORY%/none}/none\" || exit\n" + noted)
        status, out, summary = self.run_script("tests", KAON_TEST_JOBS=3, PATH=self.mps())
        self.assertEqual(status, 0, out)
        self.assertIn("device   shared by MPS", summary)
        folder = self.read("begun").decode().strip()
        self.assertEqual(self.read("ended").decode(), f"quit -t 10 {folder}\n", "begun once, ended once")
        self.assertFalse(os.path.exists(folder))
        self.assertEqual(self.read("out/mps.log"), b"it began\n")
        for name in ("test_vector", "test_solvers", "test_blockcg", "test_solver_histories-mps"):
            self.assertEqual(self.read(f"out/tests/{name}.log").decode(), f"mps: {folder}\n")
        self.assertIn("PASSED   test_solver_histories under MPS, ", summary)
        for name in ("test_solver_histories", "test_context"):
            self.assertEqual(self.read(f"out/tests/{name}.log").decode(), f"mps: {folder}/none\n", "MPS keeps it from what it tests")
        order = self.order()
        self.assertEqual([word for word, _ in order[:3]], ["begin"] * 3, "no turns")
        self.assertEqual(order[-2:], [("begin", "test_context"), ("end", "test_context")])

    def test_without_mps_the_device_is_shared_in_turn(self):
        self.program("test_vector", "echo mps: $CUDA_MPS_PIPE_DIRECTORY")
        status, _, summary = self.run_script("tests", PATH=self.mps("echo 'no such thing here'; exit 1"))
        self.assertEqual(status, 0)
        self.assertIn("device   shared in turn: MPS does not start: no such thing here", summary)
        self.assertEqual(self.read("out/tests/test_vector.log"), b"mps:\n")
        for settings in ({"KAON_TEST_MPS": 0}, {"CUDA_MPS_PIPE_DIRECTORY": "/theirs"}):
            self.assertNotIn("MPS", self.run_script("tests", PATH=self.mps(), **settings)[2])
            self.assertFalse(os.path.exists(self.path("begun")))
        self.program("../kaon", "echo no device")
        self.assertIn("MPS starts, but kaon info does not find the device", self.run_script("tests", PATH=self.mps(), PYTHONPATH=self.without_unittest())[2])
        self.assertTrue(os.path.exists(self.path("ended")))
        os.remove(self.path("kaon"))
        self.program("test_vector", "exit 1")
        self.assertIn("KAON_TEST_MPS=0 keeps them apart", self.run_script("tests", PATH=self.mps())[2])

    def test_mps_ends_where_nothing_is_run(self):
        self.assertEqual(self.run_script("tests", PATH=self.mps())[0], 1)
        folder = self.read("begun").decode().strip()
        self.assertEqual(self.read("ended").decode(), f"quit -t 10 {folder}\n")
        self.assertFalse(os.path.exists(folder))

    def test_a_signal_ends_mps(self):
        self.program("test_a", FOREVER % self.path("test_a"))
        process = subprocess.Popen(["bash", SCRIPT, "tests"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=self.environment(PATH=self.mps()), preexec_fn=system.default_signals)
        self.addCleanup(process.kill)
        for _ in range(100):
            if os.path.exists(self.path("test_a")):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130, out)
        folder = self.read("begun").decode().strip()
        self.assertEqual(self.read("ended").decode(), f"quit -t 10 {folder}\n")
        self.assertFalse(os.path.exists(folder))
        self.assert_gone("test_a")

    def test_ranks_are_started_by_the_launcher(self):
        self.program("ranks/ranks_good", "echo $KAON_TEST_MACHINE $OMP_NUM_THREADS; [ $KAON_NUMBER != 2 ]")
        self.program("launch", "[ $1 = -n ] && KAON_NUMBER=$2 exec $3")
        status, out, summary = self.run_script("ranks", KAON_MPIRUN=self.path("tests/launch"), KAON_RANKS="1 2")
        self.assertEqual(status, 1, out)
        self.assertIn("PASSED   ranks_good on 1 ranks", summary)
        self.assertIn("FAILED   ranks_good on 2 ranks", summary)
        self.assertEqual(self.read("out/tests/ranks_good-1.log"), b"cuda 1\n")

    def test_a_signal_ends_all_of_it(self):
        for number, text in ((signal.SIGINT, DEAF), (signal.SIGTERM, FOREVER)):
            for name in ("test_a", "test_b"):
                self.program(name, text % self.path(name))
            process = subprocess.Popen(["bash", SCRIPT, "tests"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       env=self.environment(KAON_TEST_JOBS=2), preexec_fn=system.default_signals)
            self.addCleanup(process.kill)
            for _ in range(100):
                if os.path.exists(self.path("test_a")) and os.path.exists(self.path("test_b")):
                    break
                time.sleep(0.1)
            process.send_signal(number)
            out, _ = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 130, out)
            self.assertIn("STOPPED  by a signal", out)
            for name in ("test_a", "test_b"):
                self.assert_gone(name)
                os.remove(self.path(name))

    def test_no_programs_are_no_success(self):
        status, out, summary = self.run_script("tests")
        self.assertEqual(status, 1, out)
        self.assertIn("FAILED   tests: there are none in ", summary)

    def test_parts_are_named_and_nothing_else(self):
        status, out, _ = self.run_script("tests", "test")
        self.assertEqual(status, 2)
        self.assertIn("test is none of build, tests, ranks, sanitizer, races, bench, more, profile", out)


if __name__ == "__main__":
    system.main()
