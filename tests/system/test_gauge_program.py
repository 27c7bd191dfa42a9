"""kaon gauge and kaon generate: others' files, conversions, refusals, continuation."""
import os
import re
import unittest

import system

# docs of the files: format, extents to give, plaquette (recorded by an independent reader)
FILES = (("gauge/ddalphaamg_4x4x4x4b6.0000id3n1", [], 0.595565289703),
         ("gauge/nersc_l8t4b3360", [], 0.503866446950),
         ("gauge/ildg_l8t4b3360", [], 0.503866446950),
         ("gauge/glu_nersc_lat.400", [], 0.598545559083),
         ("gauge/pyquda_weak_field.lime", [], 0.994804132267),
         ("gauge/julia_conf_08080808.ildg", ["--lattice", "8", "8", "8", "8"], 0.555243594507),
         ("gauge/lyncs_unity.lime", [], 1.0),
         ("gauge/openqcd_gen_8x8x8x8_b6.0", [], 0.591657673492),
         ("milc/milc_lat.sample.l8888", [], 0.593560240433),
         ("milc/milc_lat.sample.l4444.scidac", [], 0.594850158947))
STAPLES = ["invert", "--gauge", "unit", "--lattice", "4", "4", "4", "4", "--action", "hisq", "--mass", "0.5"]
FORMATS = ("nersc", "ildg", "scidac", "milc", "openqcd")


class Gauge(system.Case):
    def plaquette(self, *arguments):
        self.succeeds("gauge", *arguments, "--report", "g.json", "--quiet")
        return self.report("g.json")["plaquette"]

    def test_recorded_plaquettes(self):
        for name, extents, recorded in FILES:
            with self.subTest(file=name):
                found = self.plaquette(system.data(name), *extents)
                # recorded to 12 digits: half a unit of the last, and the rounding of the sums
                print(f"  {name}: plaquette {found:.12f}, difference {abs(found - recorded):.1e} (bound 1e-12)")
                self.assertLess(abs(found - recorded), 1e-12)

    def test_conversion_round_trips_keep_the_plaquette(self):
        """double formats keep every bit of the plaquette; MILC stores floats, whose rounding 6e-8 a link averages out"""
        self.succeeds("generate", "--lattice", "4", "4", "4", "8", "--sweeps", "3", "--output", "start.lime")
        before = self.plaquette("start.lime")
        for there in FORMATS:
            for back in FORMATS:
                with self.subTest(there=there, back=back):
                    self.succeeds("gauge", "start.lime", "--convert", "there", "--format", there)
                    self.succeeds("gauge", "there", "--convert", "back", "--format", back)
                    after = self.plaquette("back")
                    floats = "milc" in (there, back)
                    bound = 6e-8 if floats else 1e-14  # 1e-14: NERSC may round the third row anew
                    self.assertLess(abs(after - before), bound)

    def test_conversion_there_and_back_is_bitwise(self):
        self.succeeds("generate", "--lattice", "4", "4", "4", "8", "--sweeps", "2", "--output", "a.ildg")
        for there in ("scidac", "openqcd", "nersc"):
            self.succeeds("gauge", "a.ildg", "--convert", "there", "--format", there)
            self.succeeds("gauge", "there", "--convert", "back", "--format", "openqcd")
            self.succeeds("gauge", "a.ildg", "--convert", "direct", "--format", "openqcd")
            self.assertEqual(self.read("back"), self.read("direct"), there)

    def test_bad_files_are_refused_in_a_sentence(self):
        self.succeeds("generate", "--lattice", "4", "4", "4", "4", "--sweeps", "1", "--output", "good.lime")
        good = self.read("good.lime")
        for name, content in (("empty", b""), ("text", b"hello\n" * 100), ("short", good[:len(good) // 2]),
                              ("header", good[:200]),
                              ("flipped", good[:len(good) // 2] + bytes([good[len(good) // 2] ^ 1]) +
                               good[len(good) // 2 + 1:])):
            with open(self.path(name), "wb") as file:
                file.write(content)
            with self.subTest(file=name):
                self.refused("gauge", name, "--convert", "out.lime", words=[name])
                self.refused("invert", "--gauge", name, "--kappa", "0.1", "--csw", "1", "--output", "x.lime",
                             words=[name])
        for name, content, said in (("text", b"hello\n" * 100, "begins with 'hello';"), ("long", b"a line of many words\n" * 9, "begins with 'a line of many w';"),
                                    ("h5", b"\0\x89HDF\r\n\x1a\n" + bytes(range(200)), "begins with the bytes 00 89 48 44 46 0d 0a 1a 0a 00 01 02 03 04 05 06;"),
                                    ("zeros", bytes(3), "begins with the bytes 00 00 00;")):
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.refused("gauge", name, words=[said])
        self.refused("gauge", "absent", words=["absent"])
        self.refused("gauge", ".")
        self.refused("gauge", "good.lime", "--lattice", "4", "4", "4", "8", words=["4x4x4x4", "4x4x4x8"])

    def test_a_wrong_stored_checksum_is_refused_unless_ignored(self):
        name = system.data("milc/milc_lat.sample.5p7")
        self.refused("gauge", name, words=["hecksum"])
        said = self.succeeds("gauge", name, "--ignore-checksum", "--report", "report.json")
        report = self.report()
        for problem in ("checksum", "SU(3)"):  # each with a warning of its own
            self.assertRegex(said, "warning: .*" + re.escape(problem))
        self.assertGreaterEqual(said.count("warning:"), report["warnings"])
        self.assertNotEqual(report["checksum_stored"], report["checksum_computed"])
        self.assertLess(abs(report["plaquette"] - 0.572689272204), 1e-6)  # boundary links are not unitary

    def test_every_failed_check_is_said(self):
        """a NERSC header with wrong checksum, link trace and plaquette: three warnings, each with both values"""
        self.succeeds("generate", "--lattice", "4", "4", "4", "4", "--sweeps", "1", "--output", "a", "--format", "nersc")
        text = self.read("a")
        for key, value in ((b"CHECKSUM", b"12345678"), (b"LINK_TRACE", b"0.25"), (b"PLAQUETTE", b"0.125")):
            text = re.sub(rb"(?m)^" + key + rb" = .*$", key + b" = " + value, text)
        with open(self.path("b"), "wb") as file:
            file.write(text)
        self.refused("gauge", "b", words=["12345678"])
        said = self.succeeds("gauge", "b", "--ignore-checksum", "--report", "report.json")
        for stored in ("12345678", "0.25", "0.125"):
            self.assertRegex(said, "warning: b: .*" + stored)
        self.assertEqual(said.count("warning:"), 3, said)
        self.assertEqual(self.report()["warnings"], 3)
        go_on = ["generate", "--start", "b", "--sweeps", "1", "--output", "c"]
        self.refused(*go_on, words=["--ignore-checksum"])
        self.assertEqual(self.succeeds(*go_on, "--ignore-checksum").count("warning:"), 3)

    def unverified(self, name, content):
        """The same without its checksum: the words that name it are others."""
        self.assertIn(1, (content.count(b"CHECKSUM ="), content.count(b"scidac-checksum")))
        with open(self.path(name), "wb") as file:
            file.write(content.replace(b"CHECKSUM =", b"SOMEWORD =").replace(b"scidac-checksum", b"scidac-someword"))

    def test_a_file_without_a_checksum_is_not_read_without_a_word(self):
        word = "there is no checksum to verify"
        for form, what in (("nersc", "its header has no CHECKSUM line"), ("ildg", "it has no scidac-checksum record"),
                           ("scidac", "it has no scidac-checksum record"), ("milc", None), ("openqcd", None)):
            with self.subTest(format=form):
                self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--output", "with", "--format", form)
                self.assertNotIn(word, self.succeeds("gauge", "with", "--report", "report.json"))
                self.assertEqual(len(self.report()["checksum_stored"]), {"nersc": 1, "openqcd": 0}.get(form, 2))
                if what is None:  # one that has always two, and one that has none
                    continue
                self.unverified("without", self.read("with"))
                for job in (["gauge", "without", "--report", "report.json"], ["gauge", "without", "--quiet"],
                            ["generate", "--start", "without", "--sweeps", 0, "--output", "x"],
                            ["invert", "--gauge", "without", "--kappa", 0.1, "--csw", 0, "--columns", 1]):
                    said = self.succeeds(*job)
                    self.assertEqual(said.count(f"kaon: note: without: {word} ({what}), so only its length, plaquette, link trace"), 1, said)
                self.assertEqual(self.report()["checksum_stored"], [])

    def test_fat_links_without_a_checksum_are_not_read_without_a_word(self):
        word = "there is no checksum to verify (it has no scidac-checksum record)"
        job = ["invert", "--gauge", "unit", "--lattice", 8, 8, 8, 8, "--action", "asqtad", "--mass", 0.5, "--columns", 1, "--tol", 1e-3]
        links = [system.data("milc", name) for name in ("milc_fat.l8", "milc_long.l8")]
        self.assertNotIn(word, self.succeeds(*job, "--fat-links", links[0], "--long-links", links[1]))
        with open(links[1], "rb") as file:
            self.unverified("long", file.read())
        said = self.succeeds(*job, "--fat-links", links[0], "--long-links", "long")
        self.assertEqual(said.count(f"kaon: warning: long: {word}"), 1, said)

    def test_wrong_extents_are_refused_with_all_sizes(self):
        name = system.data("gauge/julia_conf_08080808.ildg")
        self.refused("gauge", name, "--lattice", "8", "8", "8", "4", words=["589824 bytes in 32 bits", "1179648 in 64", "has 2359296"])

    def test_the_configuration_is_not_overwritten(self):
        self.succeeds("generate", "--lattice", "4", "4", "4", "4", "--sweeps", "1", "--output", "c.lime")
        os.symlink("c.lime", self.path("link"))
        self.refused(*STAPLES, "--fat-links", "f", "--long-links", "l", "--boundary-t", "periodic", words=["--boundary-t periodic", "antiperiodic"])
        before = self.read("c.lime")
        for option, arguments in (("--output", ["invert", "--gauge", "c.lime", "--kappa", "0.1", "--csw", "1", "--output"]),
                                  ("--convert", ["gauge", "c.lime", "--convert"]),
                                  ("--fat-links", [*STAPLES, "--fat-links", "c.lime", "--long-links", "l", "--output"]),
                                  ("--long-links", [*STAPLES, "--fat-links", "f", "--long-links", "c.lime", "--report"]),
                                  ("--long-links", [*STAPLES, "--fat-links", "f", "--long-links", "c.lime", "--history"]),
                                  ("--fat-links", [*STAPLES, "--fat-links", "c.lime", "--long-links", "l", "--plot"]),
                                  ("--start", ["generate", "--start", "c.lime", "--output"])):
            for name in ("c.lime", "./c.lime", "link"):
                with self.subTest(arguments=arguments, name=name):
                    self.refused(*arguments, name, words=[option, "same file"])
        self.assertEqual(self.read("c.lime"), before)

    def test_generate_continues_where_it_stopped(self):
        common = ["generate", "--beta", "5.9", "--seed", "4", "--overrelax", "2"]
        self.succeeds(*common, "--lattice", "4", "4", "4", "4", "--sweeps", "6", "--output", "whole.lime")
        self.succeeds(*common, "--lattice", "4", "4", "4", "4", "--sweeps", "4", "--output", "half.lime")
        self.succeeds(*common, "--start", "half.lime", "--first-sweep", "4", "--sweeps", "2", "--output", "rest.lime",
                      "--report", "report.json")
        for name in ("whole", "rest"):
            self.succeeds("gauge", name + ".lime", "--convert", name, "--format", "openqcd")
        self.assertEqual(self.read("whole"), self.read("rest"))
        self.assertEqual(self.report()["next_sweep"], 6)

    def test_generate_does_not_depend_on_threads(self):
        for threads in (1, 2, 3):
            self.succeeds("generate", "--lattice", "4", "4", "6", "4", "--sweeps", "3", "--seed", "9", "--threads",
                          threads, "--output", f"c{threads}", "--format", "openqcd")
        self.assertEqual(self.read("c1"), self.read("c2"))
        self.assertEqual(self.read("c1"), self.read("c3"))

    def test_generate_refuses_a_full_disk_or_keeps_nothing(self):
        if not os.path.exists("/dev/full"):
            raise unittest.SkipTest("no /dev/full here")
        code, out, err = system.kaon("generate", "--lattice", "4", "4", "4", "4", "--sweeps", "1", "--output",
                                     "/dev/full")
        self.assertIn(code, (2, 3), err)


if __name__ == "__main__":
    system.main()
