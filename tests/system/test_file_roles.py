"""Files in the wrong place: each is refused by the name of what it is, and the remedy that the message names leads on."""
import os
import re
import struct
import unittest

import system

WILSON = ["--kappa", "0.1", "--csw", "0", "--columns", "1"]
ASQTAD = ["invert", "--action", "asqtad", "--mass", "0.5", "--columns", "1", "--tol", "1e-6"]


def record(kind, body, flags=0, length=None):
    """A LIME record; its header says `length` bytes."""
    head = struct.pack(">IHHQ", 0x456789ab, 1, flags, len(body) if length is None else length) + kind.encode().ljust(128, b"\0")
    return head + body + bytes(-len(body) % 8)


class FileRoles(system.Case):
    def test_a_file_in_the_wrong_place_is_named(self):
        self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--output", "thin.lime")
        self.succeeds("generate", "--lattice", 4, 4, 4, 4, "--sweeps", 1, "--format", "nersc", "--output", "thin.nersc")
        self.succeeds("invert", "--gauge", "thin.lime", *WILSON[:4], "--output", "prop.lime")
        self.succeeds("invert", "--gauge", "thin.lime", "--action", "staggered", "--mass", "0.5", "--output", "chi.lime")
        with open(self.path("a.mtx"), "w", encoding="ascii") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n")
        thin, nersc = "a gauge configuration (ILDG), which --gauge takes", "a gauge configuration (nersc), which --gauge takes"
        prop, chi = "a propagator of a Wilson-like action, which --guess takes", "staggered vectors, which --guess takes"
        matrix = "a Matrix Market file, which kaon solve takes"
        wilson = ["invert", "--gauge", "thin.lime", *WILSON]
        staggered = ["invert", "--gauge", "thin.lime", "--action", "staggered", "--mass", "0.5"]
        links = [*ASQTAD, "--gauge", "unit", "--lattice", 4, 4, 4, 4]
        for job, words in ((["gauge", "prop.lime"], prop), (["gauge", "chi.lime"], chi), (["gauge", "a.mtx"], matrix),
                           (["generate", "--start", "prop.lime", "--output", "x"], prop),
                           (["invert", "--gauge", "prop.lime", *WILSON], prop),
                           ([*wilson, "--guess", "thin.lime"], thin), ([*wilson, "--guess", "thin.nersc"], nersc),
                           ([*wilson, "--guess", "a.mtx"], matrix), ([*staggered, "--guess", "thin.lime"], thin),
                           ([*links, "--fat-links", "prop.lime", "--long-links", "x"], prop),
                           ([*links, "--fat-links", "chi.lime", "--long-links", "x"], chi),
                           ([*links, "--fat-links", "thin.nersc", "--long-links", "x"], nersc),
                           (["solve", "--matrix", "thin.lime"], thin), (["solve", "--matrix", "a.mtx", "--rhs", "thin.nersc"], nersc),
                           (["solve", "--matrix", "prop.lime"], prop)):
            with self.subTest(job=job):
                self.refused(*job, words=[words])

    def test_links_in_each_others_place_are_named(self):
        lat, other, fat, long, moments = (system.data(name) for name in (
            "milc/milc_lat.sample.l8", "milc/milc_lat.sample.l8888", "milc/milc_fat.l8", "milc/milc_long.l8", "actions/milc/colormatrix.mom.sample.l8"))
        unit = ["--gauge", "unit", "--lattice", 8, 8, 8, 8]
        right = ["--fat-links", fat, "--long-links", long]
        exchanged = ["--fat-links", long, "--long-links", fat]
        for thin in (["--gauge", lat], unit):
            with self.subTest(thin=thin):
                self.succeeds(*ASQTAD, *thin, *right)
                self.refused(*ASQTAD, *thin, *exchanged, words=["the fat links are 0.1653 times unitary matrices", "exchange the two"])
        self.refused(*ASQTAD, "--gauge", other, *right, words=["not made of the thin links", "another configuration", "--gauge unit --lattice"])
        self.refused(*ASQTAD, "--gauge", lat, "--fat-links", lat, "--long-links", long, words=["the fat links are unitary, as thin links are"])
        self.refused(*ASQTAD, "--gauge", lat, *right, "--naik-epsilon", "0.1", words=["--naik-epsilon 0.1", "leave it out"])
        for name, words in ((fat, ["as fat links are", "--fat-links"]), (long, ["as long links are", "--long-links"]), (moments, ["momenta"])):
            with self.subTest(name=name):
                self.refused("gauge", name, words=words)
                self.refused("invert", "--gauge", name, *WILSON, words=words)
                self.assertIn("warning: ", self.succeeds("gauge", name, "--ignore-checksum"))

    def test_whole_links_are_read_with_a_warning_where_their_records_are_wrong(self):
        """Message marks, the checksum's length; without the last byte of the links the file is refused"""
        self.succeeds("generate", "--lattice", 4, 4, 4, 8, "--sweeps", 1, "--output", "c.lime")
        whole = self.read("c.lime")
        plaquette = re.search(r"plaquette +(\S+), measured", self.succeeds("gauge", "c.lime")).group(1)
        links = whole[whole.index(b"ildg-binary-data") + 128:][:4 * 4 * 4 * 8 * 576]
        header = re.search(rb"<ildgFormat.*?</ildgFormat>", whole).group(0)
        commented = header.replace(b"<lx>", b"<!-- <lx>8</lx><lt>4</lt> --><lx>")
        for name, content, said in (("marks", record("ildg-format", header) + record("ildg-binary-data", links), "ends inside a LIME message"),
                                    ("length", whole.replace(b"scidac-checksum", b"scidac-checksum", 1)[:-9], "after the data"),
                                    ("comment", record("ildg-format", commented, 0x8000) + record("ildg-binary-data", links, 0x4000), None)):
            with self.subTest(name=name):
                with open(self.path(name), "wb") as file:
                    file.write(content)
                out = self.succeeds("gauge", name, "--report", "report.json")
                self.assertIn(f"{plaquette}, measured", out)
                self.assertEqual(self.report()["warnings"], 0 if said is None else 1)
                if said:
                    self.assertRegex(out, f"warning: {name}: .*{said}")
        with open(self.path("cut"), "wb") as file:
            file.write(record("ildg-format", header) + record("ildg-binary-data", links)[:-1])
        self.refused("gauge", "cut", words=["truncated"])

    def test_remedies_for_matrices_lead_to_the_matrix(self):
        texts = {"upper": ("symmetric", "3 3 5\n1 1 4\n1 2 -1\n2 2 4\n2 3 -1\n3 3 4\n"),
                 "both": ("symmetric", "3 3 7\n1 1 4\n1 2 -1\n2 1 -1\n2 2 4\n2 3 -1\n3 2 -1\n3 3 4\n")}
        for name, (kind, text) in texts.items():
            for encoding in ("ascii", "utf-8-sig", "utf-16"):
                with open(self.path(f"{name}.{encoding}"), "w", encoding=encoding) as file:
                    file.write(f"%%MatrixMarket matrix coordinate real {kind}\n{text}")
        steps = set()
        for encoding in ("ascii", "utf-8-sig"):
            self.assertIn("real symmetric", self.succeeds("solve", "--matrix", f"upper.{encoding}", "--method", "cg", "--report", "report.json"))
            steps.add(self.report()["solves"][0]["iterations"])
            self.refused("solve", "--matrix", f"both.{encoding}", words=["line 4", "write 'general' on line 1"])
        self.refused("solve", "--matrix", "upper.utf-16", words=["iconv -f UTF-16 -t UTF-8 FILE >NEW"])
        with open(self.path("upper.utf-16"), encoding="utf-16") as file, open(self.path("again"), "w", encoding="utf-8") as new:
            new.write(file.read())
        self.succeeds("solve", "--matrix", "again", "--method", "cg", "--report", "report.json")
        steps.add(self.report()["solves"][0]["iterations"])
        with open(self.path("both.ascii"), encoding="ascii") as file, open(self.path("general"), "w", encoding="ascii") as new:
            new.write(file.read().replace("symmetric", "general"))
        self.succeeds("solve", "--matrix", "general", "--method", "cg", "--report", "report.json")
        steps.add(self.report()["solves"][0]["iterations"])
        self.assertEqual(len(steps), 1)

    def test_messages_show_no_bytes(self):
        """Not of files, and not of their names"""
        name = os.fsencode(self.path("odd")) + b"\xff\x1b[31m"
        with open(name, "wb") as file:
            file.write(b"\xff\x00\x1b[31m hello\n")
        code, _, err = system.kaon("solve", "--matrix", name)
        self.assertEqual(code, 2)
        self.assertIn(r"odd\xff\x1b[31m", err)
        self.assertTrue(all(c == "\n" or " " <= c < "\x7f" for c in err), err)


if __name__ == "__main__":
    system.main()
