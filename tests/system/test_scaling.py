"""test_scaling.py - kaon bench scaling --model finds the parameters that rows were made with, and predicts by them."""
import json
import math
import re

import system

LATENCY, BANDWIDTH, FACE, FIXED, SUM = 6e-6, 300e9, 2e-13, (3e-6, 2e-6, 1.5e-6), 5e-6
GHOST, RATE = {"double": 96, "single": 48, "half": 28}, {"double": 4.4e9, "single": 8.8e9, "half": 14e9}  # bytes; sites/s
PRECISIONS = list(GHOST)
HOPS, SUMS, STEP = {"cgnr": 4, "bicgstab": 4, "gcr-schwarz": 2}, {"cgnr": 2, "bicgstab": 4, "gcr-schwarz": 3}, \
    {"cgnr": 4e-10, "bicgstab": 4.5e-10, "gcr-schwarz": 8e-9}


def product(x):
    return math.prod(x)


def inside(precision, sites):
    return 4e-6 + sites / 2 / RATE[precision]


def sent(precision, lattice, grid):
    sites = product(lattice) / product(grid)
    return sum(GHOST[precision] * sites * g / l for l, g in zip(lattice, grid) if g > 1)


def hop(precision, lattice, grid, hidden):
    alone, size = inside(precision, product(lattice) / product(grid)), sent(precision, lattice, grid)
    if product(grid) == 1:
        return alone
    message = LATENCY + size / BANDWIDTH
    return alone + FIXED[PRECISIONS.index(precision)] + FACE * size + (max(0, message - alone) if hidden else message)


def step(method, lattice, grid):
    sites = product(lattice) / product(grid)
    return 40e-6 + STEP[method] * sites + HOPS[method] * (hop("half", lattice, grid, True) - inside("half", sites)) \
        + SUMS[method] * SUM * math.log2(product(grid))


def steps(method, lattice, grid):
    if method != "gcr-schwarz":
        return {"cgnr": 2000, "bicgstab": 400}[method]
    return 30 * 2 ** (-0.2 * math.log2(product(lattice) / product(grid) / 2 ** 21))


def row(bench, precision, lattice, grid, seconds, **more):
    return dict(bench=bench, backend="cuda", device="a device", commit="0", ranks=product(grid), grid=grid, lattice=lattice,
                precision=precision, links=12, columns=1, seconds=seconds, gflops=1e-9 * 1320 * product(lattice) / 2 / seconds,
                ideal_gbs=1.0, limit_gbs=1.0, transport="peer stores", overlap="auto", **more)


def hop_rows(ranks):
    places = [([32, 32, 32, 64 * ranks], [1, 1, 1, ranks]), ([32, 32, 32, 64], [1, 1, 1, ranks])]
    if ranks == 1:
        places = [([32, 32, 32, t], [1, 1, 1, 1]) for t in (64, 32, 16)] + [([16, 16, 16, 8], [1, 1, 1, 1]), ([8] * 4, [1] * 4)]
    if ranks == 4:
        places.append(([32, 32, 32, 64], [1, 1, 2, 2]))
    made = []
    for lattice, grid in places:
        for precision in PRECISIONS:
            for overlap in ("auto", "none") if ranks > 1 else ("auto",):
                made.append(row("wilson-hop", precision, lattice, grid, hop(precision, lattice, grid, overlap == "auto")))
                made[-1]["overlap"] = overlap
            slower = dict(made[-1], seconds=made[-1]["seconds"] * 2, overlap="staged")  # another way that lost
            made += [slower, dict(slower, bench="clover-matrix"), dict(slower, links=18)]
    return made


def solve_rows(ranks):
    made = []
    for method in STEP:
        lattices = [[32, 32, 32, 64]] + ([[16, 16, 16, 16], [16, 16, 16, 8]] if ranks == 1 else [])
        for lattice in lattices:
            grid = [1, 1, 1, ranks]
            count = steps(method, lattice, grid)
            made.append(row("solve-" + method, "double/half", lattice, grid, count * step(method, lattice, grid), iterations=count,
                            status="converged", residual=1e-11, gauge="critical.lime", kappa=0.1345))
            if method == "gcr-schwarz":
                made[-1].update(preconditioner={"kind": "schwarz"}, sums=SUMS[method] * count)
                if ranks > 1:
                    made[-1]["exchanges"] = HOPS[method] * count
    made.append(dict(made[0], status="max-iterations", seconds=1000.0))  # tells nothing
    return made


class Scaling(system.Case):
    def files(self, ranks=(1, 2, 4)):
        words = []
        for n in ranks:
            with open(self.path(f"{n}.json"), "w", encoding="utf-8") as file:
                json.dump(hop_rows(n) + solve_rows(n), file)
            words += ["--model", f"{n}.json"]
        return words

    def test_the_parameters_are_found(self):
        out = self.succeeds("bench", "scaling", *self.files(), "--json", "model.json", "--latency", "4us", "--bandwidth", "40",
                            "--node", "4")
        print(out)
        model = json.loads(self.read("model.json"))[0]["model"]
        for key, true in (("latency", LATENCY), ("bandwidth", BANDWIDTH), ("face", FACE), ("sum", SUM)):
            self.assertAlmostEqual(model[key] / true, 1, places=3, msg=key)
        for found, true in zip(model["fixed"], FIXED):
            self.assertAlmostEqual(found / true, 1, places=3)
        self.assertIn("off by 0.0 % in the mean, 0.0 % at most", out)
        self.assertEqual((model["network_latency"], model["network_bandwidth"], model["node"]), (4e-6, 40e9, 4))

    def test_predictions_follow_from_them(self):
        out = self.succeeds("bench", "scaling", *self.files(), "--json", "model.json", "--lattice", "32", "32", "32", "256",
                            "--latency", "4us", "--bandwidth", "40", "--node", "4")
        rows = json.loads(self.read("model.json"))
        found = {(row["bench"], row["ranks"]): row for row in rows}
        self.assertEqual(sorted({row["ranks"] for row in rows}), [2 ** k for k in range(9)])
        lattice = [32, 32, 32, 256]
        for method in STEP:  # on a node it is the same formula
            seconds = steps(method, lattice, [1, 1, 1, 4]) * step(method, lattice, [1, 1, 1, 4])
            self.assertAlmostEqual(found["model-" + method, 4]["seconds"] / seconds, 1, places=3)
        row = found["model-bicgstab", 32]  # and between nodes the network's
        self.assertEqual(row["grid"], [1, 1, 1, 32])
        alone, face = inside("half", 2 ** 18), 28 * 2 ** 14  # one of the two leaves the node
        each = alone + FIXED[2] + FACE * 2 * face + max(0, max(4e-6 + face / 40e9, LATENCY + face / BANDWIDTH) - alone)
        seconds = 400 * (40e-6 + STEP["bicgstab"] * 2 ** 18 + 4 * (each - alone) + 4 * (2 * SUM + 3 * 4e-6))
        self.assertAlmostEqual(row["seconds"] / seconds, 1, places=3)
        slower = [n for n in (2 ** k for k in range(9)) if found["model-gcr-schwarz", n]["seconds"] > found["model-bicgstab", n]["seconds"]]
        print(f"  gcr-dd is slower on {slower}")
        self.assertEqual(slower[0], 2)
        self.assertIn(f"gcr-schwarz double/half is faster than BiCGStab on 1, {2 * slower[-1]} to 256 ranks", out)

    def test_a_slower_network_moves_the_crossover_down(self):
        def first(latency):
            out = self.succeeds("bench", "scaling", *self.files(), "--latency", latency, "--lattice", "32", "32", "32", "256")
            words = re.search(r"is faster than BiCGStab on (?:1, )?(\d+) to 256 ranks", out)
            return int(words[1]) if words else 512

        found = [first(latency) for latency in ("1us", "20us", "100us")]
        print(f"  from {found} ranks on")
        self.assertEqual(found, sorted(found, reverse=True))
        self.assertLess(found[-1], 512)

    def test_what_cannot_be_fitted_is_refused(self):
        self.files()
        with open(self.path("text.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        self.refused("bench", "scaling", "--model", "none.json", words=["none.json"])
        self.refused("bench", "scaling", "--model", "text.json", words=["text.json", "list"])
        with open(self.path("words.json"), "w", encoding="utf-8") as file:
            file.write("[1, 2")
        self.refused("bench", "scaling", "--model", "words.json", words=["words.json", "not JSON", "--json"])
        self.refused("bench", "scaling", "--model", "1.json", words=["rows of 1 rank found, rows of 2 or more are needed", "mpirun"])
        self.refused("bench", "scaling", "--model", "2.json", words=["one rank"])
        for output in ("--json", "--report"):  # before anything is read
            self.refused("bench", "scaling", "--model", "text.json", output, "./text.json", words=["same file"])
        for idle in (["--grid", "1", "1", "1", "2"], ["--local-lattice", "8", "8", "8", "8"], ["--samples", "3"], ["--columns", "1"],
                     ["--lattice", "8", "8", "8", "8", "--lattice", "8", "8", "8", "16"]):
            self.refused("bench", "scaling", "--model", "1.json", "--model", "2.json", *idle, words=[idle[0], "out"])
        self.refused("bench", "scaling", "--latency", "5us", words=["--model"])
        self.refused("bench", "dslash", "--model", "1.json", words=["--model", "bench dslash"])

    def changed(self, name, change, made=None):
        """A file of two ranks' rows after change(row); returns the words that name it and that of one rank."""
        rows = made or hop_rows(2) + solve_rows(2)
        for one in rows:
            change(one)
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(rows, file)
        return ["--model", "1.json", "--model", name]

    def test_rows_that_do_not_belong_together_are_refused(self):
        everything = {"csw": 1.0, "tol": 1e-10, "stop": "full", "even_odd": "symmetric"}

        def solved(**more):
            def change(one):
                if one["bench"].startswith("solve-"):
                    one.update({**everything, **more})
                    if "preconditioner" in one:
                        one["preconditioner"] = {"kind": "schwarz", "steps": 10, "cycles": 1, **more.get("preconditioner", {})}
            return change

        self.files()
        self.changed("1.json", solved(), hop_rows(1) + solve_rows(1))
        self.succeeds("bench", "scaling", *self.changed("same.json", solved()))
        for change, values in ((lambda one: one.update(device="another"), ("a device", "another")),
                               (lambda one: one.update(backend="cpu"), ("cuda", "cpu")),
                               (solved(csw=1.5), ("csw", "1.5")), (solved(tol=1e-6), ("tol", "1e-10", "1e-06")),
                               (solved(stop="schur"), ("stop", "full", "schur")), (solved(links=18), ("links", "12", "18")),
                               (solved(even_odd="none"), ("even-odd", "symmetric", "none")),
                               (solved(preconditioner={"steps": 4}), ("steps", "10", "4")),
                               (solved(preconditioner={"cycles": 2}), ("cycles", "2")),
                               (solved(preconditioner={"kind": "sap"}), ("schwarz", "sap"))):
            with self.subTest(values=values):
                self.refused("bench", "scaling", *self.changed("other.json", change), words=["1.json", "other.json", *values])
        # steps are compared within a problem: on other links they are others
        self.succeeds("bench", "scaling", *self.changed("links.json", solved(csw=1.5, tol=1e-6, gauge="others.lime")))

    def test_steps_on_domains_of_one_size_are_not_extrapolated(self):
        words = []
        for n in (1, 2):
            rows = hop_rows(n) + [one for one in solve_rows(n) if n == 1 or one["bench"] != "solve-gcr-schwarz"]
            with open(self.path(f"{n}.json"), "w", encoding="utf-8") as file:
                json.dump(rows, file)
            words += ["--model", f"{n}.json"]
        out = self.succeeds("bench", "scaling", *words, "--json", "model.json")
        self.assertIn("gcr-schwarz double/half: steps on smaller domains not measured", out)
        self.assertNotIn("than BiCGStab on", out)
        rows = json.loads(self.read("model.json"))
        self.assertEqual([row["ranks"] for row in rows if row["bench"] == "model-gcr-schwarz"], [1])
        growth = {method["method"]: method["growth"] for method in rows[0]["model"]["methods"]}
        self.assertEqual((growth["gcr-schwarz"], growth["bicgstab"]), (None, 0))

    def test_blocks_that_do_not_shrink_need_no_more_steps(self):
        words = []
        for n in (1, 2):
            rows = hop_rows(n) + solve_rows(n)
            for one in rows:
                if "preconditioner" in one:  # steps are those of one rank at any number
                    one["preconditioner"]["block"] = [8, 8, 8, 8]
                    one["seconds"] *= 30 / one["iterations"]
                    one.update(iterations=30, sums=30 * SUMS["gcr-schwarz"])
            with open(self.path(f"{n}.json"), "w", encoding="utf-8") as file:
                json.dump(rows, file)
            words += ["--model", f"{n}.json"]
        self.succeeds("bench", "scaling", *words, "--json", "model.json")
        rows = json.loads(self.read("model.json"))
        found = {row["ranks"]: row["iterations"] for row in rows if row["bench"] == "model-gcr-schwarz"}
        self.assertEqual((sorted(found), {round(steps, 6) for steps in found.values()}), ([2 ** k for k in range(9)], {30}))

    def test_a_bad_fit_does_not_say_which_method_wins(self):
        self.files()

        def worse(one):
            if one["bench"].startswith("solve-"):
                one["seconds"] *= 0.05  # faster than the sites of one rank allow

        out = self.succeeds("bench", "scaling", *self.changed("worse.json", worse), "--json", "model.json")
        self.assertRegex(out, r"which method is faster is not said: the model is off by \d+ % in the mean, more than 30 %")
        self.assertNotIn("than BiCGStab on", out)
        model = json.loads(self.read("model.json"))[0]["model"]
        self.assertGreater(model["mean_error"], 0.3)
        self.assertGreaterEqual(model["largest_error"], model["mean_error"])
        self.assertGreater(model["figures"], 0)

    def test_scaling_measures_hops_and_solves(self):
        self.succeeds("bench", "scaling", "--lattice", "4", "4", "4", "8", "--kappa", "0.12", "--precision", "single,half",
                      "--samples", "1", "--calls", "2", "--json", "rows.json")
        rows = json.loads(self.read("rows.json"))
        self.assertEqual([(row["bench"], row["precision"]) for row in rows],
                         [(bench, precision) for precision in ("single", "half") for bench in ("wilson-hop", "clover-matrix")] +
                         [("solve-cgnr", "double/half"), ("solve-bicgstab", "double/half"), ("solve-gcr-schwarz", "double/half")])
        self.assertEqual({row["links"] for row in rows}, {12})


if __name__ == "__main__":
    system.main()
