"""Wrong command lines are refused in a sentence with status 2, what this build lacks with 3; help shows how to use each command."""
import os
import re
import shutil
import signal
import subprocess
import unittest

import system

SMALL_FIELD = ["--lattice", "8", "8", "8", "8", "--sweeps", "100000", "--output", "never.lime"]
ONE_SWEEP = ["--lattice", "8", "8", "8", "8", "--sweeps", "1", "--output", "once.lime"]
GNU_OPENMP = b"libgomp" in open(system.PROGRAM, "rb").read()


# What stands in the sentence, and the command line that it refuses.
WRONG = (
    (["--output", "250 bytes", "220"], ["generate", "--lattice", "4", "4", "4", "4", "--output", "n" * 250]),
    (["--lattice", "--matrix"], ["info", "--matrix", "laplace2d:5", "--lattice", "4", "4", "4", "4"]),
    (["inverse"], ["inverse"]),
    (["inverse"], ["help", "inverse"]),
    (["--lattice", "even"], ["bench", "dslash", "--lattice", "4x4x4x4", "--lattice", "4x4x4x5"]),
    (["COMMAND"], ["--threads", "1", "info"]),
    (["--colour"], ["invert", "--colour"]),
    (["gauge"], ["invert"]),
    (["weak"], ["invert", "--gauge", "weak:much", "--lattice", "4", "4", "4", "4", "--kappa", "0.1", "--csw", "1"]),
    (["--lattice"], ["invert", "--gauge", "unit", "--kappa", "0.1", "--csw", "1"]),
    (["--lattice", "8x8"], ["invert", "--gauge", "weak:0.3", "--lattice", "8x8", "--kappa", "0.12", "--csw", "1"]),
    (["--lattice", "found three"], ["invert", "--lattice", "8", "8", "8"]),
    (["--kappa", "--mass", "neither"], ["invert", "--gauge", "unit", "--lattice", "4", "4", "4", "4", "--csw", "1"]),
    (["--kappa", "--mass", "both"], ["invert", *system.SMALL, "--mass", "0.1"]),
    (["--csw"], ["invert", "--gauge", "unit", "--lattice", "4", "4", "4", "4", "--kappa", "0.1"]),
    (["--csw", "wilson"], ["invert", *system.SMALL, "--action", "wilson"]),
    (["--tol", "zero"], ["invert", *system.SMALL, "--tol", "zero"]),
    (["--tol", "between"], ["invert", *system.SMALL, "--tol", "7"]),
    (["--stop schur", "--even-odd is none"], ["invert", *system.SMALL, "--even-odd", "none", "--stop", "schur"]),
    (["--gauge is missing", "extents for --fat-links f"],
     ["invert", "--action", "asqtad", "--mass", "0.05", "--fat-links", "f", "--long-links", "l"]),
    (["--tuning . is a directory", "kaon tune --output"], ["info", "--tuning", "."]),
    (["--action", "overlap"], ["invert", *system.SMALL, "--action", "overlap"]),
    (["--source", "line"], ["invert", *system.SMALL, "--source", "line:3"]),
    (["source"], ["invert", *system.SMALL, "--source", "point:9,0,0,0"]),
    (["source"], ["invert", *system.SMALL, "--source", "point:4294967296,0,0,0"]),
    (["source", "2^64"], ["invert", *system.SMALL, "--source", "z4:18446744073709551616"]),
    (["--gauge", "EPS from 0 to 10"], ["invert", "--gauge", "weak:-1", "--kappa", "0.1", "--csw", "1"]),
    (["--grid", "1 1 2 2", "needs four numbers", "found three"], ["invert", *system.SMALL, "--grid", "1", "1", "1"]),
    (["--grid", "found two"], ["invert", "--grid", "1", "1", *system.SMALL]),
    (["--schwarz-block", "non-negative"], ["invert", *system.SMALL, "--method", "gcr", "--precond", "sap",
                                           "--schwarz-block", "-2", "0", "0", "0"]),
    (["--schwarz-block", "for --precond"], ["invert", *system.SMALL, "--schwarz-block", "0", "0", "0", "4"]),
    (["--schwarz-block", "for --precond"], ["invert", *system.SMALL, "--schwarz-block", "0", "0", "0", "0"]),
    (["--schwarz-steps", "for --precond"], ["bench", "solve", "--lattice", "4x4x4x4", "--schwarz-steps", "3"]),
    (["extent 3 in X", "even divisor of the rank's 4"],
     ["invert", *system.SMALL, "--method", "gcr", "--precond", "schwarz", "--schwarz-block", "3", "4", "4", "4", "--dry-run"]),
    (["extent 8 in T", "even divisor of the rank's 4"],
     ["invert", *system.SMALL, "--method", "gcr", "--precond", "schwarz", "--schwarz-block", "0", "0", "0", "8", "--grid",
      "1", "1", "1", "2", "--dry-run"]),
    (["12 / 4 = 3 blocks in T", "even number"],
     ["invert", "--gauge", "weak:0.3", "--lattice", "4x4x4x12", "--kappa", "0.12", "--csw", "1", "--method", "gcr", "--precond", "sap",
      "--schwarz-block", "0", "0", "0", "4", "--dry-run"]),
    (["--schwarz-relaxation", "1.99"], ["invert", *system.SMALL, "--method", "gcr", "--precond", "sap",
                                        "--schwarz-relaxation", "2"]),
    (["12 / 4 = 3 blocks in X"], ["invert", "--gauge", "unit", "--lattice", "12x4x4x4", "--kappa", "0.1", "--csw", "1",
                                  "--method", "gcr", "--precond", "sap", "--schwarz-block", "4x0x0x0"]),
    (["--precond schwarz", "--method is bicgstab"], ["invert", *system.SMALL, "--method", "bicgstab", "--precond", "schwarz"]),
    (["--transport peer", "backend is cpu"], ["invert", "--backend", "cpu", *system.SMALL, "--transport", "peer"]),
    (["--overlap fused", "backend is cpu"], ["bench", "dslash", "--backend", "cpu", "--overlap", "fused"]),
    (["--local-lattice", "Y", "is 5"], ["bench", "dslash", "--local-lattice", "4", "5", "4", "4"]),
    (["source"], ["invert", *system.SMALL, "--source", "wall:8"]),
    (["source", "4x4x4x8"], ["invert", *system.SMALL, "--source", "wall:8", "--dry-run"]),
    (["--sloppy"], ["invert", *system.SMALL, "--precision", "single", "--sloppy", "double"]),
    (["--columns"], ["invert", *system.SMALL, "--columns", "0"]),
    (["12 columns"], ["invert", *system.SMALL, "--columns", "4", "--correlators", "c.txt"]),
    (["--output", "folder"], ["invert", *system.SMALL, "--output", "no/such/folder/x.lime"]),
    (["--resume", "--output"], ["invert", *system.SMALL, "--resume"]),
    (["--guess is of one system", "--shifts"], ["invert", *system.SMALL, "--shifts", "0.1", "--guess", "x"]),
    (["the last iterates of --output", "--report"], ["invert", *system.SMALL, "--output", "x", "--report", "x.unconverged"]),
    (["--guess", "--output"], ["invert", *system.SMALL, "--output", "x", "--guess", "x"]),
    (["--guess", "--history"], ["solve", "--matrix", "laplace2d:5", "--history", "x", "--guess", "x"]),
    (["--guess absent"], ["solve", "--matrix", "laplace2d:5", "--guess", "absent", "--dry-run"]),
    (["--guess", "absent"], ["invert", *system.SMALL, "--guess", "absent", "--dry-run"]),
    (["--set", "tol"], ["invert", *system.SMALL, "--set", "delta=0.1,tol=1e-3"]),
    (["--columns", "12"], ["invert", *system.SMALL, "--columns", "13"]),
    (["--format", "--convert"], ["gauge", "a", "--format", "nersc"]),
    (["--bits", "--convert"], ["gauge", "a", "--bits", "32"]),
    (["sites"], ["invert", "--gauge", "unit", "--lattice", "256x256x256x64", "--kappa", "0.1", "--csw", "1",
                 "--dry-run"]),
    (["point or wall"], ["invert", *system.SMALL, "--source", "z4:1", "--correlators", "c.txt"]),
    (["--output", "--history"], ["invert", *system.SMALL, "--output", "same", "--history", "./same"]),
    (["--history", "--report"], ["invert", *system.SMALL, "--history", "same", "--report", "same"]),
    (["--output", "--report"], ["invert", *system.SMALL, "--output", "x", "--report", "x.partial"]),
    (["--output", "--report"], ["generate", "--lattice", "4x4x4x4", "--output", "x", "--report", "x"]),
    (["--set"], ["invert", *system.SMALL, "--set", "colour=red"]),
    (["64", "65", "--batch"], ["invert", *system.SMALL, "--source", "z4:1", "--columns", "65", "--method", "blockcg"]),
    (["64", "65"], ["bench", "solve", "--lattice", "4x4x4x4", "--columns", "1,65", "--method", "blockcg"]),
    (["--precision", "empty"], ["bench", "dslash", "--precision", ""]),
    (["--threads"], ["invert", *system.SMALL, "--threads", "0"]),
    (["--ignore-checksum", "weak:0.3"], ["invert", "--gauge", "weak:0.3", "--lattice", "4x4x4x4", "--kappa", "0.1", "--csw", "1", "--ignore-checksum"]),
    (["--ignore-checksum", "hot"], ["generate", "--lattice", "4x4x4x4", "--output", "x", "--start", "hot",
                                    "--ignore-checksum"]),
    (["FILE"], ["gauge"]),
    (["FILE"], ["gauge", "a", "b"]),
    (["--output"], ["generate", "--lattice", "4", "4", "4", "4"]),
    (["--lattice"], ["generate", "--output", "x.lime"]),
    (["even"], ["generate", "--lattice", "4", "4", "4", "5", "--output", "x.lime"]),
    (["--reduce-delay", "100us"], ["bench", "solve", "--lattice", "4x4x4x4", "--reduce-delay", "100"]),
    (["--reduce-delay", "bench dslash"], ["bench", "dslash", "--lattice", "4x4x4x4", "--reduce-delay", "1us"]),
    (["dslash"], ["bench", "everything"]),
    (["--precision", "quarter"], ["bench", "vector", "--precision", "double,quarter"]))


# Small jobs whose reports have most fields.
CLOVER = ["--gauge", "weak:0.3", "--lattice", 4, 4, 4, 4, "--kappa", "0.12", "--csw", 1]
HISQ = ["--action", "hisq", "--gauge", "weak:0.1", "--lattice", 4, 4, 4, 4, "--mass", "0.5", "--source", "z4:1"]
LAPLACE = ["solve", "--matrix", "laplace2d:10"]
REPORTING = (
    ["invert", *CLOVER, "--columns", 2],
    ["invert", *CLOVER, "--columns", 1, "--method", "gcr", "--precond", "async-schwarz"],
    ["invert", *HISQ, "--columns", 2],
    ["invert", *CLOVER, "--dry-run"],
    [*LAPLACE, "--method", "cg", "--columns", 2],
    [*LAPLACE, "--method", "cg", "--precond", "ic0", "--spectrum"],
    [*LAPLACE, "--method", "cg", "--precond", "chebyshev"],
    [*LAPLACE, "--method", "async", "--flip-rate", "1e-6"],
    [*LAPLACE, "--method", "kaczmarz", "--tol", "1e-3"],
    [*LAPLACE, "--dry-run"],
    ["info"])
HISTOGRAMS = ("shifts", "shifts_after", "rank_shifts")  # objects whose names are numbers


def fields(value):
    """The names of all fields of a report, of objects within it too."""
    if isinstance(value, list):
        return set().union(*map(fields, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(fields(part) for name, part in value.items() if name not in HISTOGRAMS))


class Usage(system.Case):
    def test_no_command_teaches_and_fails(self):
        code, out, err = system.kaon()
        self.assertEqual(code, 2)
        self.assertIn("Usage: kaon COMMAND", err)

    def test_help_of_every_command_has_options_and_an_example(self):
        for command in ("info", "gauge", "generate", "invert", "solve", "bench", "tune"):
            code, out, err = system.kaon(command, "--help-all")
            self.assertEqual(code, 0, err)
            self.assertIn(f"kaon {command}", out)
            self.assertIn("Example", out)
            for option in ("--backend", "--threads", "--report", "--quiet"):
                self.assertIn(option, out, command)
        self.assertEqual(system.kaon("--help")[0], 0)
        for word in ("-h", "-?"):
            self.assertEqual(system.kaon(word), system.kaon("--help"))
            self.assertEqual(system.kaon("tune", word), system.kaon("tune", "--help"))

    def test_every_option_of_the_contract_is_there(self):
        out = system.kaon("invert", "--help-all")[1]
        for option in ("gauge lattice ignore-checksum action kappa mass csw boundary-t source columns method precond tol "
                       "max-iter precision sloppy reconstruct refinement even-odd stop grid output correlators history "
                       "dry-run resume guess").split():
            self.assertIn("--" + option, out)

        out = system.kaon("solve", "--help-all")[1]
        for option in ("matrix rhs method precond ordering tol max-iter precision sloppy format columns output history dry-run "
                       "reduce-delay plot guess").split():
            self.assertIn("--" + option, out)

    def test_patience_is_an_option_of_every_command(self):
        for command in ("info", "gauge", "generate", "invert", "solve", "bench", "tune"):
            self.assertIn("--patience", system.kaon(command, "--help-all")[1])
        self.succeeds("info", "--patience", "5")
        self.refused("info", "--patience", "0", words=["--patience", "between"])

    def test_the_first_example_of_each_help_works(self):
        for command in ("info", "generate", "invert", "solve", "gauge"):
            text = system.kaon(command, "--help")[1]
            example = re.sub(r"\\\n", " ", text[text.index("Example"):]).splitlines()[1].split()
            self.assertEqual(example[:2], ["kaon", command])
            if command == "generate":  # the same, shorter
                example[example.index("--sweeps") + 1] = "1"
            self.succeeds(*example[1:])

    def test_examples_can_be_pasted(self):
        """no line of them is broken but behind a backslash"""
        for command in ("info", "gauge", "generate", "invert", "solve", "bench", "tune"):
            lines = re.search(r"\nExamples?:\n(.*?)\n\n", system.kaon(command, "--help")[1] + "\n", re.DOTALL).group(1).split("\n")
            for line, before in zip(lines, ["", *lines]):
                with self.subTest(line=line):
                    self.assertRegex(line, r"^  (kaon|mpirun) " if not before.endswith("\\") else r"^      \S")
            self.assertFalse(lines[-1].endswith("\\"))

    def test_help_fits_80_columns(self):
        """with every option at its place"""
        for command in ([], ["invert"], ["generate"], ["gauge"], ["solve"], ["bench"], ["info"], ["tune"]):
            for line in (system.kaon(*command, "--help")[1] + system.kaon(*command, "--help-all")[1]).splitlines():
                self.assertLessEqual(len(line), 80, line)
                self.assertEqual(line, line.rstrip())
                self.assertNotRegex(line, r"^ {7,}--[a-z-]+=", "not where options begin")
                self.assertNotRegex(line, r"^[0-9.]+$", "an example that was wrapped")

    def test_output_that_cannot_be_printed_is_an_error(self):
        if not os.path.exists("/dev/full"):
            raise unittest.SkipTest("no /dev/full here")
        for arguments in (["--help"], ["--version"], ["invert", "--help"], ["bench", "dslash", "--help"], ["help", "gauge"],
                          ["info"]):
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                done = subprocess.run([system.PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("standard output", done.stderr)

    def test_a_reader_of_the_output_that_has_gone_costs_no_run(self):
        """No complaint: the solve ends as it should, and its files are whole."""
        self.succeeds("invert", *system.SMALL, "--output", "read.lime")
        for arguments, file in ((["invert", *system.SMALL, "--output", "p.lime"], "p.lime"), (["solve", "--matrix", "laplace2d:12", "--output", "x.mtx"], "x.mtx"),
                                (["solve", "--help"], None)):
            with self.subTest(arguments=arguments):
                out, into = os.pipe()
                os.close(out)
                done = subprocess.run([system.PROGRAM, *arguments], cwd=self.folder, env=system.environment(), stdout=into, stderr=subprocess.PIPE, text=True)
                os.close(into)
                said = [line for line in done.stderr.splitlines() if not line.startswith("  iteration")]  # a slow machine shows progress
                self.assertEqual((done.returncode, said), (0, []))
                self.assertTrue(file is None or os.path.getsize(self.path(file)) > 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.lime", "read.lime", "x.mtx"])
        self.assertEqual(os.path.getsize(self.path("p.lime")), os.path.getsize(self.path("read.lime")))

    def test_descriptors_that_the_caller_closed_are_taken_by_no_file(self):
        """The pipe by which signals wake the program would else be what is printed to."""
        words = f"'{system.PROGRAM}' generate --lattice 4 4 4 4 --sweeps 1 --output field <&- >&-"
        done = subprocess.run(["sh", "-c", words], cwd=self.folder, env=system.environment(), stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("standard output could not be written", done.stderr)
        self.assertGreater(os.path.getsize(self.path("field")), 1000)
        words = f"'{system.PROGRAM}' solve --matrix laplace2d:12 --max-iter 2 --report report.json <&- 2>&-"
        done = subprocess.run(["sh", "-c", words], cwd=self.folder, env=system.environment(), stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(os.path.exists(self.path("report.json")))

    def test_links_stay_and_their_targets_are_replaced(self):
        for name in ("target.json", "target.csv"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("old")
        os.symlink("target.json", self.path("report"))
        os.symlink("target.csv", self.path("history"))
        self.succeeds("solve", "--matrix", "laplace2d:5", "--report", "report", "--history", "history")
        for link, target in (("report", "target.json"), ("history", "target.csv")):
            self.assertTrue(os.path.islink(self.path(link)))
            self.assertNotEqual(self.read(target), b"old")
        os.symlink("absent.json", self.path("nowhere")), os.symlink("loop", self.path("loop"))
        os.mkdir(self.path("closed")), os.mkdir(self.path("plots.csv"))
        with open(self.path("closed/report"), "w", encoding="utf-8") as file:
            file.write("old")
        os.symlink("closed/report", self.path("into")), os.chmod(self.path("closed"), 0o555)
        self.addCleanup(os.chmod, self.path("closed"), 0o755)
        for option in ("--report", "--history", "--plot", "--output"):
            for name in ("nowhere", "loop"):
                self.refused("solve", "--matrix", "laplace2d:5", option, name, words=[f"{option} {name}", "symbolic link", "not there"])
            if os.getuid() != 0:  # who may write everywhere
                self.refused("solve", "--matrix", "laplace2d:5", option, "into", words=[f"{option} into", "its folder"])
        for job in (["solve", "--matrix", "laplace2d:5"], ["invert", *system.SMALL]):
            self.refused(*job, "--plot", "plots.png", words=["the numbers of --plot plots.csv", "not an ordinary file"])
            self.refused(*job, "--plot", "p" * 218 + ".png", words=["--plot ...ppp", "222 bytes", "at most 220"])
            for name in ("plot", "plot.pdf", "plot.PNG", ".png"):
                self.refused(*job, "--plot", name, words=[f"--plot {name}:", "ends in .png"])
        done = subprocess.run(["sh", "-c", f"'{system.PROGRAM}' solve --matrix laplace2d:5 --report log > log"], cwd=self.folder, env=system.environment(),
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--report log", done.stderr)
        self.assertIn("printed", done.stderr)

    def test_options_without_effect_are_refused(self):
        for bench, option, value in (("dslash", "kappa", ["0.1"]), ("vector", "temporal-gauge", []),
                                     ("dslash", "csw", ["1"]), ("dslash", "gauge", ["weak:0.3"]),
                                     ("dslash", "set", ["delta=0.1"]), ("vector", "reconstruct", ["18"]),
                                     ("vector", "tol", ["1e-10"]), ("vector", "even-odd", ["none"]),
                                     ("solve", "calls", ["2"]), ("solve", "samples", ["7"])):
            with self.subTest(bench=bench, option=option):
                self.refused("bench", bench, "--lattice", "4x4x4x4", "--" + option, *value,
                             words=["--" + option, "bench " + bench])

    def test_messages_name_the_option_that_was_given(self):
        for words, arguments in (
                (["FILE absent", "configuration"], ["gauge", "absent"]),
                (["--start absent", "cold, hot"], ["generate", "--start", "absent", "--output", "x.lime"]),
                (["--gauge absent", "weak:EPS"], ["invert", "--gauge", "absent", "--kappa", "0.1", "--csw", "1"]),
                (["--gauge absent", "weak:EPS"], ["bench", "solve", "--gauge", "absent"])):
            with self.subTest(arguments=arguments):
                said = self.refused(*arguments, words=words)
                if arguments[0] in ("gauge", "generate"):
                    self.assertNotIn("--gauge", said)

    def test_bench_solve_prints_nothing_before_it_refuses(self):
        small = ["--lattice", "4x4x4x4", "--kappa", "0.1", "--csw", "1"]
        self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--output", "sound", "--format", "nersc")
        text = self.read("sound")
        with open(self.path("damaged"), "wb") as file:
            file.write(text[:-1] + bytes([text[-1] ^ 1]))
        for word, arguments in (("--gauge absent", ["--gauge", "absent", "--kappa", "0.1"]),
                                ("joins at most 64", [*small, "--columns", "1,65", "--method", "blockcg"]),
                                ("--precond", [*small, "--precond", "sap"]),
                                ("--set", [*small, "--set", "nothing=1"]),
                                ("checksum", ["--gauge", "damaged", "--kappa", "0.1"]),
                                ("damaged", ["--gauge", "damaged", "--kappa", "0.1", "--lattice", "4x4x4x8"]),
                                ("sound", ["--gauge", "sound", "--kappa", "0.1", "--lattice", "4x4x4x4", "--lattice", "4x4x4x8"]),
                                ("an even divisor", [*small, "--method", "gcr", "--precond", "schwarz", "--schwarz-block", "3,3,3,3"])):
            with self.subTest(arguments=arguments):
                code, out, err = system.kaon("bench", "solve", *arguments, cwd=self.folder)
                self.assertEqual((code, out), (2, ""), err)
                self.assertIn(word, err)
        out = self.succeeds("bench", "solve", *small, "--precision", "single,double", "--columns", "1,2")
        self.assertEqual(out.count("machine: read"), 1)

    def test_conversions_that_cannot_be_fail_before_the_file_is_read(self):
        """the file is absent: what is said is about the options"""
        for words, arguments in ((["--bits", "64", "milc", "32"], ["--format", "milc", "--bits", "64"]),
                                 (["--bits", "32", "openqcd", "64"], ["--format", "openqcd", "--bits", "32"]),
                                 (["--rows", "ildg", "3"], ["--rows", "2"]),
                                 (["--format", "hdf5"], ["--format", "hdf5"])):
            with self.subTest(arguments=arguments):
                self.refused("gauge", "absent", "--convert", "x", *arguments, words=words)
        os.mkdir(self.path("folder"))
        self.refused("gauge", "absent", "--convert", "folder", words=["--convert folder", "not an ordinary file"])
        self.refused("gauge", "absent", "--convert", "", words=["--convert", "empty"])

    def test_version(self):
        code, out, err = system.kaon("--version")
        self.assertEqual(code, 0)
        first, *facts = out.splitlines()
        self.assertRegex(first, r"^kaon \d+\.\d+\.\d+$")
        names = ["commit", "compiler", "CUDA", "ranks", "NCCL", "METIS", "instruction sets"]
        self.assertEqual([re.split(r"  +", line)[0] for line in facts], names)

    def test_help_fits_a_screen_and_a_half(self):
        for command in ([], ["info"], ["gauge"], ["generate"], ["invert"], ["solve"], ["tune"]):
            code, out, err = system.kaon(*command, "--help")
            self.assertEqual((code, err), (0, ""))
            print(f"  kaon {' '.join(command)} --help: {len(out.splitlines())} lines")
            self.assertLessEqual(len(out.splitlines()), 45, command)
            if command:
                self.assertIn("--help-all", out)
                self.assertGreater(len(system.kaon(*command, "--help-all")[1]), len(out))

    def test_the_nearest_name_is_offered(self):
        for said, words in (("--kapa is not an option of kaon invert; did you mean --kappa?", ["invert", "--kapa", "0.1"]),
                            ("--tolerance=1e-8 is not", ["invert", "--tolerance=1e-8"]),
                            ("inver is not a command of kaon; did you mean invert?", ["inver"]),
                            ("did you mean clover?", ["invert", "--action", "clovr"]),
                            ("did you mean ilu0?", ["solve", "--matrix", "laplace2d:5", "--precond", "iluo"]),
                            ("did you mean laplace3d?", ["solve", "--matrix", "laplce3d"]),
                            ("did you mean point?", ["invert", *system.SMALL, "--source", "piont:0,0,0,0"]),
                            ("kaon invert --help-all lists them", ["invert", "--zzzzzz"]),
                            ("kaon --help lists them", ["zzzzzz"]),
                            ("beginning of several options", ["invert", "--schwarz", "3"]),
                            ("--quiet takes no value", ["info", "--quiet=1"]),
                            ("--tol needs a value", ["invert", "--tol"]),
                            ("--output needs a value (FILE), but --report follows", ["invert", "--output", "--report", "x"])):
            with self.subTest(words=words):
                self.refused(*words, words=[said.replace("--tolerance=1e-8", "--tolerance")])

    def test_an_option_given_twice_is_refused(self):
        for said, words in (("--gauge is given twice, as a and as b; give it once", ["invert", "--gauge", "a", "--gauge", "b"]),
                            ("as 4 4 4 4 and as 8x8x8x8", ["invert", "--lattice", "4", "4", "4", "4", "--lattice", "8x8x8x8"]),
                            ("--precond is given twice", ["solve", "--precond=jacobi", "--precond", "ilu0"]),
                            ("--quiet is given twice; give it once", ["info", "--quiet", "--quiet"])):
            with self.subTest(words=words):
                self.refused(*words, words=[said])

    def test_older_names_of_options_are_accepted(self):
        self.succeeds("solve", "--matrix", "laplace2d:9", "--solver", "cg", "--preconditioner", "jacobi", "--report", "report.json")
        self.assertEqual((self.report()["method"], self.report()["preconditioner"]["kind"]), ("cg", "jacobi"))
        self.succeeds("invert", *system.SMALL, "--columns", "1", "--solver", "gcr", "--preconditioner", "none", "--report", "report.json")
        self.assertEqual(self.report()["solver"], "gcr")
        for name in ("--solver", "--preconditioner"):
            self.assertNotIn(name, system.kaon("invert", "--help-all")[1])
        self.refused("invert", "--solver", "cg", "--method", "gcr", words=["--method is given twice, as cg and as gcr"])
        self.refused("solve", "--precond=jacobi", "--preconditioner", "ilu0", words=["--precond is given twice, as jacobi and as ilu0"])

    def test_every_report_says_what_ran_when_and_where(self):
        self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--output", "c.lime", "--report", "generate.json")
        jobs = {"gauge": ["gauge", "c.lime"], "info": ["info"], "solve": ["solve", "--matrix", "laplace2d:9", "--columns", "2", "--seed", "5"],
                "invert": ["invert", "--gauge", "c.lime", "--kappa", "0.1", "--csw", "1", "--source", "z4:7", "--columns", "1"]}
        for name, words in jobs.items():
            self.succeeds(*words, "--report", name + ".json")
        for name in ["generate", *jobs]:
            report = self.report(name + ".json")
            self.assertEqual(report["argv"][1], name)
            self.assertEqual(report["argv"][-1], name + ".json")
            self.assertRegex(report["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertEqual(report["host"], os.uname().nodename)
            for key in "kaon commit backend device threads ranks seconds gflops joules solves seed".split():
                self.assertIn(key, report, name)
        seeds = [self.report(name + ".json")["seed"] for name in ("generate", "gauge", "solve", "invert")]
        self.assertEqual(seeds, [1, None, 5, 7])
        self.assertEqual(self.report("invert.json")["gauge_checksum"], " ".join(self.report("gauge.json")["checksum_stored"]))

    def test_every_field_of_a_report_is_described(self):
        """in docs/files.md, by its name in backticks"""
        with open(os.path.join(system.SOURCE, "docs", "files.md"), encoding="utf-8") as file:
            page = file.read()
        described = set(re.findall(r"`([^`\n]+)`", page[page.index("\n## Reports\n"):page.index("\n## Adding a format\n")]))
        for words in REPORTING:
            with self.subTest(words=words):
                self.succeeds(*words, "--report", "report.json")
                self.assertEqual(fields(self.report()) - described, set())

    def test_wrong_command_lines(self):
        for words, arguments in WRONG:
            with self.subTest(arguments=arguments):
                self.refused(*arguments, words=words)

    def test_a_grid_for_more_ranks_than_were_started_says_how_to_start_them(self):
        self.succeeds("info", "--backend", "cpu", "--report", "report.json")
        built = self.report()["communicator"] != ""
        for grid in (["2", "1", "1", "1"], ["65536x65536x65536x65536"]):
            with self.subTest(grid=grid):
                self.refused("invert", *system.SMALL, "--grid", *grid, status=2 if built else 3,
                             words=["--grid", "mpirun -n" if built else "not built"])

    def test_a_backend_that_cannot_be_used_says_why_and_what_to_do(self):
        self.succeeds("info", "--backend", "cpu", "--report", "report.json")
        state, said = self.report()["backends"]["cuda"], self.report()["cuda"]
        print(f"  cuda: {state}: {said}")
        small = ["invert", *system.SMALL, "--backend", "cuda"]
        if state == "not built":
            self.refused("info", "--backend", "cuda", status=3, words=["-DKAON_CUDA=ON", "--backend cpu"])
            self.refused(*small, status=3, words=["-DKAON_CUDA=ON"])
            return
        if state == "yes":  # take the devices away
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
            self.addCleanup(os.environ.pop, "CUDA_VISIBLE_DEVICES")
            self.refused("info", "--backend", "cuda", status=3, words=["CUDA_VISIBLE_DEVICES", "--backend cpu"])
        else:
            self.refused("info", "--backend", "cuda", status=3, words=[said])
            self.assertRegex(said, "driver|device")
        self.refused(*small, status=3, words=["backend"])
        self.assertIn("cpu backend", self.succeeds("info"))  # by rule

    def test_a_driver_that_is_too_old_is_named(self):
        """A library in the driver's place that says it serves CUDA 11.8 and has no device; the runtime asks no more of it."""
        self.succeeds("info", "--backend", "cpu", "--report", "report.json")
        state, said = self.report()["backends"]["cuda"], self.report()["cuda"]
        compiler = next(filter(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang")), None)
        if state == "not built":
            self.skipTest(said)
        if compiler is None:
            self.skipTest("no C compiler for a driver that is too old")
        with open(self.path("driver.c"), "w", encoding="utf-8") as file:
            file.write("int cuInit(unsigned flags) { return flags != 0; }\nint cuDriverGetVersion(int *version) { *version = 11080; return 0; }\n")
        subprocess.run([compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1", "driver.c"], cwd=self.folder, check=True)
        before = os.environ.get("LD_LIBRARY_PATH")
        self.addCleanup(lambda: os.environ.pop("LD_LIBRARY_PATH", None) if before is None else os.environ.update(LD_LIBRARY_PATH=before))
        os.environ["LD_LIBRARY_PATH"] = self.folder + (":" + before if before else "")
        for job in (["info"], ["invert", *system.SMALL]):
            self.refused(*job, "--backend", "cuda", status=3, words=["driver supports CUDA 11.8", "built with CUDA", "--backend cpu"])

    @unittest.skipUnless(os.path.exists("/proc/self/environ"), "no /proc")
    def test_threads_spin_shortly_unless_told_otherwise(self):
        """The program begins once more with GNU's GOMP_SPINCOUNT set; what the user set stays, and Ctrl-C still ends it."""
        for given, expected in (({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, None)):
            env = {k: v for k, v in system.environment().items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")} | given
            running = subprocess.Popen([system.PROGRAM, "generate", *SMALL_FIELD], cwd=self.folder, env=env, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, preexec_fn=system.default_signals)
            self.addCleanup(running.kill)
            line = running.stdout.readline()  # it is at work, so it has begun for good
            with open(f"/proc/{running.pid}/environ", "rb") as there:
                names = dict(word.split(b"=", 1) for word in there.read().split(b"\0") if b"=" in word)
            running.send_signal(signal.SIGINT)
            err = running.communicate(timeout=60)[1]
            self.assertTrue(line)
            self.assertEqual(running.returncode, 130, err)
            if expected is None or GNU_OPENMP:
                self.assertEqual(names.get(b"GOMP_SPINCOUNT", b"").decode() or None, expected)

    @unittest.skipUnless(GNU_OPENMP and len(os.sched_getaffinity(0)) >= 2, "GNU's OpenMP and two processors are needed")
    def test_bound_threads_keep_their_processors(self):
        """Beginning once more must not take the first thread's place for the whole machine."""
        for bound in ({"OMP_PROC_BIND": "close"}, {"OMP_PROC_BIND": "spread", "OMP_PLACES": "threads"}, {"OMP_PLACES": "cores"}):
            env = {k: v for k, v in system.environment().items() if not k.startswith(("OMP_", "GOMP_"))} | bound
            env |= {"OMP_DISPLAY_AFFINITY": "true", "OMP_AFFINITY_FORMAT": "at %A", "OMP_NUM_THREADS": "2"}
            run = subprocess.run([system.PROGRAM, "generate", *ONE_SWEEP, "--threads", "2"], cwd=self.folder, env=env,
                                 capture_output=True, text=True, timeout=300)
            places = {line[3:] for line in run.stderr.splitlines() if line.startswith("at ")}
            ends = [[int(n) for n in part.split("-")] for place in places for part in place.split(",")]
            processors = {n for end in ends for n in range(end[0], end[-1] + 1)}  # a place may have several
            self.assertGreaterEqual(len(processors), 2, f"{bound}: threads run at {places}\n{run.stderr}")

    def test_info_report(self):
        out = self.succeeds("info", "--report", "report.json")
        self.assertIn("backends", out)
        report = self.report()
        for key in ("kaon", "commit", "backend", "device", "threads", "ranks", "isas"):
            self.assertIn(key, report)
        self.assertIn("scalar", report["isas"])


if __name__ == "__main__":
    system.main()
