"""kaon tune: the file that it writes, its use by --tuning, and refusals."""
import json

import system

SMALL = system.SMALL


class Tune(system.Case):
    def tune(self, *more):
        return self.succeeds("tune", "--lattice", "4x4x4x8", "--samples", "2", "--output", "t.json", *more)

    def changed(self, **new):
        """The file with some of its members, or of its first entry, replaced; None: left out."""
        file = self.report("t.json")
        for key, value in new.items():
            where = file if key in file else file["entries"][0]
            where[key] = value
            if value is None:
                del where[key]
        with open(self.path("changed.json"), "w") as out:
            json.dump(file, out)

    def test_the_file_says_what_was_measured_where(self):
        self.tune("--columns", "1,3", "--precision", "single,half", "--reconstruct", "18,8")
        self.succeeds("info", "--report", "report.json")
        file, info = self.report("t.json"), self.report()
        for key in ("kaon", "commit", "backend", "device", "isa", "threads"):
            self.assertEqual(file[key], info[key])
        cases = [(e["kernel"], e["precision"], e["links"], e["columns"]) for e in file["entries"]]
        expected = [(kernel, p, links, columns) for p in ("single", "half") for columns in (1, 3)
                    for kernel, links in (("hop", 18), ("hop", 8), ("vector", 0))]
        self.assertEqual(sorted(cases), sorted(expected))
        for entry in file["entries"]:
            self.assertEqual(entry["lattice"], [4, 4, 4, 8])
            self.assertGreater(entry["seconds_by_rule"], 0)
            if not entry["choice"]:
                self.assertEqual(entry["seconds"], entry["seconds_by_rule"])

    def test_a_tuning_leaves_the_results_alone(self):
        self.tune("--columns", "12", "--precision", "double,single", "--reconstruct", "18")
        on_cpu = self.report("t.json")["backend"] == "cpu"
        outputs = []
        for n, choice in enumerate((None, {}, {"prefetch": "on", "stream": "on"}, {"prefetch": "off", "stream": "off"},
                                    {"prefetch": "on", "level": 1}, {"prefetch": "on", "level": 2})):
            if choice and not on_cpu:
                continue
            more = []
            if choice is not None:  # every hop goes by it
                file = self.report("t.json")
                for entry in file["entries"]:
                    entry["choice"] = choice if entry["kernel"] == "hop" else {}
                with open(self.path("changed.json"), "w") as out:
                    json.dump(file, out)
                more = ["--tuning", "changed.json"]
            self.succeeds("invert", *SMALL, "--correlators", f"c{n}", "--history", f"h{n}", *more)
            outputs.append((self.read(f"c{n}"), self.read(f"h{n}")))
        self.assertEqual(len(set(outputs)), 1)

    def test_files_that_do_not_fit_are_refused(self):
        self.tune("--columns", "1", "--precision", "single", "--reconstruct", "18")
        for words, new in ((["kaon '0.0.0'", "kaon tune"], {"kaon": "0.0.0"}),
                           (["device 'Another'", "kaon tune"], {"device": "Another"}),
                           (["backend 'opencl'"], {"backend": "opencl"}),
                           (["instruction set 'sse9'"], {"isa": "sse9"}),
                           (["commit"], {"commit": None}),
                           (["links"], {"links": None}),
                           (["links"], {"links": "all"}),
                           (["17 reals a link"], {"links": 17}),
                           (["kernel hup"], {"kernel": "hup"}),
                           (["precision quarter"], {"precision": "quarter"}),
                           (["0 columns"], {"columns": 0}),
                           (["lattice"], {"lattice": [4, 4, 4]}),
                           (["0 sites"], {"lattice": [-4, -4, 4, 4]}),
                           (["0 sites"], {"lattice": [2147483647, 2147483647, 2147483647, 2147483647]}),
                           (["reals a link"], {"links": 2**33 + 18}),
                           (["columns"], {"columns": 2**32 + 1}),
                           (["choice colour"], {"choice": {"colour": "on"}}),
                           (["threads is 96"] if self.report("t.json")["backend"] == "cuda" else ["threads", "cuda"],
                            {"choice": {"threads": 96}})):
            with self.subTest(new=new):
                self.changed(**new)
                self.refused("invert", *SMALL, "--tuning", "changed.json", words=words)
        file = self.report("t.json")
        file["entries"].append(file["entries"][0])
        with open(self.path("changed.json"), "w") as out:
            json.dump(file, out)
        self.refused("info", "--tuning", "changed.json", words=["0 and 2", "same case"])
        with open(self.path("changed.json"), "w") as out:
            out.write('{"kaon": ')
        self.refused("bench", "vector", "--tuning", "changed.json", words=["--tuning changed.json"])
        self.refused("info", "--tuning", "absent.json", words=["absent.json", "kaon tune --output"])
        with open(self.path("text"), "w") as out:
            out.write("hello\n")
        self.refused("info", "--tuning", "text", words=["--tuning text is no tuning file", "kaon tune --output"])

    def test_a_tuning_is_not_written_over(self):
        self.tune("--columns", "1", "--precision", "single", "--reconstruct", "18")
        before = self.read("t.json")
        for arguments in (["invert", *SMALL, "--output", "t.json"], ["invert", *SMALL, "--report", "./t.json"],
                          ["info", "--report", "t.json"], ["bench", "vector", "--json", "t.json"],
                          ["generate", "--lattice", "4x4x4x4", "--output", "t.json"],
                          ["gauge", "absent", "--convert", "t.json"]):
            with self.subTest(arguments=arguments):
                self.refused(*arguments, "--tuning", "t.json", words=["--tuning", "same file"])
        self.assertEqual(self.read("t.json"), before)

    def test_options_of_multigrid(self):
        """The fastest is one of those that were tried, and solves as it did in the trial."""
        links = ["--gauge", "weak:0.3", "--lattice", "4x4x4x4", "--kappa", "0.12", "--csw", "1"]
        out = self.succeeds("tune", *links, "--columns", "1,2", "--report", "report.json")
        report = self.report()
        rows = {row["multigrid"]: row for row in report["multigrid"]}
        self.assertGreaterEqual(len(rows), 14)
        self.assertTrue(all(row["converged"] for row in rows.values()))
        for row in rows.values():
            self.assertAlmostEqual(row["column_seconds"], (row["setup_seconds"] + row["seconds"]) / 2, delta=1e-12 * row["column_seconds"])
        best = report["fastest"]
        self.assertLessEqual(rows[best]["column_seconds"], rows[""]["column_seconds"])
        self.assertIn("fastest: --precond multigrid " + (f"--multigrid {best}" if best else "with its defaults"), out)
        self.succeeds("invert", *links, "--precond", "multigrid", *(["--multigrid", best] if best else []), "--source", "z4:1", "--columns", 2, "--report",
                      "report.json")
        self.assertEqual(max(s["iterations"] for s in self.report()["solves"]), rows[best]["steps"])

    def test_wrong_command_lines(self):
        for words, arguments in ((["--output"], ["--lattice", "4x4x4x4"]),
                                 (["--lattice"], ["--output", "x.json"]),
                                 (["even"], ["--lattice", "4x4x4x5", "--output", "x.json"]),
                                 (["as many sites"], ["--lattice", "4x4x4x8", "--lattice", "8x4x4x4", "--output", "x.json"]),
                                 (["twice"], ["--lattice", "4x4x4x8", "--columns", "1,2,1", "--output", "x.json"]),
                                 (["--tuning"], ["--lattice", "4x4x4x8", "--tuning", "x.json", "--output", "x.json"]),
                                 (["same file"], ["--lattice", "4x4x4x8", "--output", "x.json", "--report", "x.json"]),
                                 (["--kappa needs --gauge"], ["--lattice", "4x4x4x4", "--kappa", "0.12", "--output", "x.json"]),
                                 (["--kappa is missing"], ["--gauge", "unit", "--lattice", "4x4x4x4"]),
                                 (["--output is for launch choices"], [*SMALL, "--output", "x.json"]),
                                 (["once"], ["--gauge", "unit", "--kappa", "0.12", "--lattice", "4x4x4x4", "--lattice", "4x4x4x8"])):
            with self.subTest(arguments=arguments):
                self.refused("tune", *arguments, words=words)


if __name__ == "__main__":
    system.main()
