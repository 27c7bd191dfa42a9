#!/usr/bin/env python3
"""performance.py - docs/performance.md and its plots, drawn from bench/results and bench/peers.

  performance.py                     write the page and docs/plots/*.svg (needs gnuplot)
  performance.py --check             names each file that differs from the results; status 1 if there is one
  performance.py --keep DEVICE FILE...   store files of kaon-bench as bench/results/DEVICE/DATE-COMMIT-TOPIC.json, shortened,
                                     and remove the file of the same topic that each one replaces

bench/results/README.md describes the form of the files. Python's standard library only.
"""
import argparse
import glob
import json
import os
import re
import sys

from performance_draw import DASHED, LINE, against, bars, draw, lines, mark, number, section, table

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
NAME = re.compile(r"(\d{4}-\d\d-\d\d)-([0-9a-f]+(?:-dirty)?)-(.+)\.json")
# Keys of docs/conventions.md that scripts rely on: every row of these benchmarks carries them.
CONTRACT = ("bench backend device commit ranks lattice precision links columns seconds gflops ideal_gbs limit_gbs iterations residual "
            "joules").split()
IN_FULL = re.compile(r"(wilson|staggered|hisq|clover|fatten|vector|solve|spmv|model)(-|$)")
LEFT_OUT = ("command", "argv", "host", "measured", "stored")


class Wrong(Exception):
    """An error that the user can correct, as a sentence."""


# ---- result files ----

def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from error


def read_rows(path):
    """The rows of a file, each with all its keys."""
    rows, first = read_json(path), {}
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "bench" in row for row in rows):
        raise Wrong(f"{path}: not a list of benchmark rows")
    return [{**first.setdefault(row["bench"], row), **row} for row in rows]


def rounded(value):
    """Five digits."""
    if isinstance(value, float):
        value = float(f"{value:.5g}")
        return int(value) if value == int(value) else value
    if isinstance(value, list):
        return [rounded(x) for x in value]
    if isinstance(value, dict):
        return {key: rounded(x) for key, x in value.items()}
    return value


def shortened(rows):
    """Rows without values that the first row of their benchmark has, and without what made them."""
    first, short = {}, []
    for row in rows:
        seed = re.search(r"--order-seed[ =](\d+)", row.get("command") or "")
        if seed:
            row = {**row, "order_seed": int(seed.group(1))}
        if "curves" in row:
            at = lambda n: range(n) if n <= 40 else [round(i * (n - 1) / 39) for i in range(40)]
            row = {**row, "curves": {name: [curve[i] for i in at(len(curve))] for name, curve in row["curves"].items()}}
        row = {key: rounded(value) for key, value in row.items() if key not in LEFT_OUT}
        if row["bench"] not in first:
            first[row["bench"]] = {key: value for key, value in row.items() if value is not None or key in CONTRACT}
            short.append(first[row["bench"]])
            continue
        base, always = first[row["bench"]], CONTRACT if IN_FULL.match(row["bench"]) else ("bench",)
        new = {key: value for key, value in row.items() if key in always or base.get(key) != value}
        short.append({**new, **{key: None for key in base if key not in row}})
    return short


def write_rows(path, rows):
    lines = (json.dumps(row, separators=(",", ":")) for row in shortened(rows))
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(lines) + "\n]\n")


def keep(root, device, paths):
    folder = os.path.join(root, "bench", "results", device)
    os.makedirs(folder, exist_ok=True)
    for path in paths:
        name = NAME.fullmatch(os.path.basename(path))
        if not name:
            raise Wrong(f"{path}: not named DATE-COMMIT-TOPIC.json")
        rows = read_rows(path)  # before anything is removed
        if all(row.get("command") for row in rows):  # as kaon-bench wrote it: nothing is shared with the first row
            rows = read_json(path)
        for old in glob.glob(os.path.join(folder, "*.json")):
            known = NAME.fullmatch(os.path.basename(old))
            if known and known.group(3) == name.group(3):
                os.remove(old)
        write_rows(os.path.join(folder, name.group(0)), rows)


class Results:
    """The rows of bench/results and bench/peers."""

    def __init__(self, root):
        self.root, self.files = root, {}
        for path in sorted(glob.glob(os.path.join(root, "bench", "results", "*", "*.json"))):
            name, device = NAME.fullmatch(os.path.basename(path)), os.path.basename(os.path.dirname(path))
            if not name:
                raise Wrong(f"{path}: not named DATE-COMMIT-TOPIC.json")
            if (device, name.group(3)) in self.files:
                raise Wrong(f"{path}: {device} has another file of the topic {name.group(3)}; the newer one replaces the older")
            self.files[device, name.group(3)] = path

    def rows(self, device, *topics):
        """Rows of these topics, in this order."""
        for topic in topics:
            if (device, topic) not in self.files:
                raise Wrong(f"bench/results/{device} has no file of the topic {topic}")
        return [row for topic in topics for row in read_rows(self.files[device, topic])]

    def sources(self, device, *topics):
        """The names of the files, and what was measured when."""
        return "; ".join(f"`{topic}` ({m.group(1)}, {m.group(2)})" for topic in topics
                         for m in [NAME.fullmatch(os.path.basename(self.files[device, topic]))])

    def peer(self, name):
        return read_json(os.path.join(self.root, "bench", "peers", name + ".json"))


def find(rows, **cell):
    """The last row of this cell, or None."""
    found = [row for row in rows if all(row.get(key) == value for key, value in cell.items())]
    return found[-1] if found else None


# ---- the page ----

PRECISIONS = ("double", "single", "half")
LARGE, MIDDLE = [48, 48, 48, 64], [32, 32, 32, 32]
H200, H100, ZEN4, ZEN5 = "nvidia-h200", "nvidia-h100", "cpu-amd-epyc-zen4-2c", "cpu-amd-epyc-2c"
OPERATORS = (("Wilson", "wilson-hop", (18, 12, 8)), ("clover matrix", "clover-matrix", (18, 12, 8)),
             ("staggered", "staggered-hop", (18, 12, 8)), ("HISQ", "hisq-hop", (18, 13, 9)))


def hop(rows, bench, precision, links, lattice, columns=1):
    return find(rows, bench=bench, lattice=lattice, precision=precision, links=links, columns=columns)


def hops(results, plots):
    topics, quda = ("dslash", "staggered", "hisq"), results.peer("quda-h200")
    rows, peer = results.rows(H200, *topics), quda["rows"]
    cells = [[f"{title}, {p}", *(against(hop(rows, bench, p, n, LARGE), hop(peer, bench, p, n, LARGE)) for n in links)]
             for title, bench, links in OPERATORS for p in PRECISIONS]
    keys = [(p, n) for p in PRECISIONS for n in (18, 12, 8)]
    plots["h200-wilson"] = bars("Wilson hop, 48x48x48x64, one H200, by precision and reals a link", "GFLOPS", [f"{p}\\n{n}" for p, n in keys],
                                {name: [hop(source, "wilson-hop", p, n, LARGE)["gflops"] for p, n in keys] for name, source in (("kaon", rows), ("QUDA", peer))})
    sizes = ([16, 16, 16, 16], MIDDLE, LARGE)
    plots["h200-volume"] = lines("Wilson hop by volume, 12 reals a link, one H200", "lattice", "GFLOPS",
                                 [(f"{name} {p}", PRECISIONS.index(p), style, [(x, hop(source, "wilson-hop", p, 12, size)["gflops"]) for x, size in enumerate(sizes)])
                                  for p in reversed(PRECISIONS) for name, style, source in (("kaon", LINE, rows), ("QUDA", DASHED, peer))],
                                 ["set xtics ('16^4' 0, '32^4' 1, '48^3x64' 2)", "set xrange [-0.2:2.2]"])
    full = hop(rows, "wilson-hop", "double", 18, LARGE)
    return section("## One NVIDIA H200\n\n### Hops", "48x48x48x64, one right-hand side: GFLOPS, in brackets times QUDA. The columns are the real numbers stored for a link.",
                   table(["operator", "18", "12 or 13", "8 or 9"], cells) + f"""
The first cell moves its ideal traffic at {100 * full["ideal_gbs"] / full["limit_gbs"]:.0f} % of the bandwidth of streaming reads, {number(full["limit_gbs"])} GB/s.
{quda["about"]}
""", {"h200-wilson": "Wilson hop beside QUDA", "h200-volume": "Wilson hop by volume"},
                   ["kaon-bench dslash --backend cuda --lattice 16 16 16 16 --lattice 32 32 32 32 --lattice 48 48 48 64 --columns 1",
                    "kaon-bench dslash --backend cuda --action staggered --lattice 48 48 48 64 --columns 1",
                    "kaon-bench dslash --backend cuda --action hisq --lattice 48 48 48 64 --columns 1"], results.sources(H200, *topics))


def columns(results, _):
    rows = results.rows(H200, "dslash", "columns", "hisq")
    cases = [("Wilson, 12 reals", "wilson-hop", 12, 1), ("Wilson, 12 reals", "wilson-hop", 12, 12)] + [("HISQ, 18 reals", "hisq-hop", 18, n) for n in (1, 8, 12)]
    figures = {p: [hop(rows, bench, p, links, MIDDLE, n)["gflops"] for _, bench, links, n in cases] for p in PRECISIONS}
    cells = [[title, n, *(number(figures[p][i]) for p in PRECISIONS)] for i, (title, _, _, n) in enumerate(cases)]
    return section("### Several right-hand sides", "32x32x32x32: GFLOPS of all right-hand sides together.", table(["operator", "right-hand sides", *PRECISIONS], cells),
                   {},
                   ["kaon-bench dslash --backend cuda --lattice 32 32 32 32 --columns 1,12 --reconstruct 12",
                    "kaon-bench dslash --backend cuda --action hisq --lattice 32 32 32 32 --columns 1,8,12 --reconstruct 18"], results.sources(H200, "columns", "hisq"))


def solves(results, plots):
    topics, cells, both = ("solve-cg", "solve-bicgstab", "solve-columns", "hisq-solve", "critical"), [], {}
    rows, hard = results.rows(H200, *topics[:4]), results.rows(H200, "critical")
    peer = [row for row in results.peer("quda-h200")["rows"] if row.get("ranks", 1) == 1]
    weak, thermal = ("weak", rows, peer), ("thermalised", hard, [])
    for title, bench, inside, n, (links, own, others) in (
            ("clover CG", "solve-cgnr", "double", 1, weak), ("clover CG", "solve-cgnr", "single", 1, weak), ("clover CG", "solve-cgnr", "half", 1, weak),
            ("clover BiCGStab", "solve-bicgstab", "single", 1, weak), ("clover BiCGStab", "solve-bicgstab", "half", 1, weak),
            ("HISQ CG", "solve-cg", "half", 1, weak), ("clover CG", "solve-cgnr", "half", 12, weak), ("clover BiCGStab", "solve-bicgstab", "half", 12, weak),
            ("clover CG", "solve-cgnr", "half", 1, thermal), ("clover BiCGStab", "solve-bicgstab", "half", 1, thermal)):
        row, other = (find(source, bench=bench, precision="double/" + inside, columns=n) for source in (own, others))
        cells.append([title, inside, links, n, row["iterations"], against(row, other, "seconds"), number(row["gflops"]), number(row["joules"])])
        if other:
            both[f"{title.split()[1]}\\n{inside}"] = row["seconds"], other["seconds"]
    plots["h200-solves"] = bars("Clover solve on one H200, 32x32x32x64, by method and inner precision", "seconds to 1e-10", both,
                                {name: [times[i] for times in both.values()] for i, name in enumerate(("kaon", "QUDA"))})
    return section("### Solves", """32x32x32x64 to 1e-10; in brackets times faster than QUDA. Weak: links `weak:0.3`, kappa 0.130 and csw 1, or mass 0.05 (HISQ).
Thermalised: a configuration of beta 6.0 with kappa 0.1345 and csw 1.769.""",
                   table(["solve", "inner precision", "links", "columns", "steps", "seconds", "GFLOPS", "joules"], cells), {"h200-solves": "Time to solution beside QUDA"},
                   ["kaon-bench solve --backend cuda --lattice 32 32 32 64 --gauge weak:0.3 --kappa 0.130 --csw 1 --reconstruct 12 --method cg --stop normal --columns 1",
                    "kaon-bench solve --backend cuda --lattice 32 32 32 64 --gauge weak:0.3 --kappa 0.130 --csw 1 --reconstruct 12 --method bicgstab --stop schur --columns 1",
                    "kaon-bench solve --backend cuda --action hisq --mass 0.05 --lattice 32 32 32 64 --gauge weak:0.3 --precision half --columns 1"],
                   results.sources(H200, *topics))


def ranks(results, plots):
    rows, peer = results.rows(H200, "ranks-dslash", "ranks-solve"), results.peer("quda-h200")["rows"]
    at = lambda source, how, n, p: find([row for row in source if row.get("overlap") in ("auto", "fused", None)], bench="wilson-hop", ranks=n, precision=p,
                                        links=12, grid=[1, 1, 1, n], lattice=[32, 32, 32, 64 * n if how == "weak" else 64])
    cases = [(p, how) for p in reversed(PRECISIONS) for how in ("weak", "strong")]
    cells = [[f"{p}, {how}", *(against(at(rows, how, n, p), at(peer, how, n, p), "gflops_rank") for n in (1, 2, 4))] for p, how in cases]
    series = [(f"kaon {p}, {how}", PRECISIONS.index(p), LINE if how == "weak" else DASHED, [(n, at(rows, how, n, p)["gflops_rank"]) for n in (1, 2, 4)]) for p, how in cases]
    series += [(f"QUDA {p}, {how}", PRECISIONS.index(p), f"points ps 1.3 lw 2 pt {5 if how == 'weak' else 4}", [(4, at(peer, how, 4, p)["gflops_rank"])]) for p, how in cases]
    plots["h200-ranks"] = lines("Wilson hop on several H200, 12 reals a link", "devices", "GFLOPS a device", series, ["set xtics (1, 2, 4)", "set xrange [0.8:4.2]"])
    own, other = (find(source, bench="solve-cgnr", ranks=4, precision="double/half") or find(source, bench="solve-cgnr", ranks=4) for source in (rows, peer))
    return section("## Several H200", """Joined by NVLink, a process each, the lattice cut in t: GFLOPS a device, in brackets times QUDA.
Weak: 32x32x32x64 a device. Strong: 32x32x32x64 in all. The hop kernel stores messages into the neighbour's memory.""",
                   table(["Wilson hop, 12 reals", "1 device", "2", "4"], cells) +
                   f"\nThe clover solve above by CG, with half inside, takes {own['seconds']:.4f} s on four devices. QUDA takes {other['seconds']:g} s.\n",
                   {"h200-ranks": "Wilson hop on several H200"},
                   ["mpirun -np 4 kaon-bench dslash --backend cuda --grid 1 1 1 4 --columns 1 --reconstruct 12 --lattice 32 32 32 64 --lattice 32 32 32 256"],
                   results.sources(H200, "ranks-dslash", "ranks-solve"))


def sparse(results, plots):
    rows = [row for row in results.rows(H200, "spmv-own") if not row["sums"]]
    matrices, times = list(dict.fromkeys(row["matrix"] for row in rows)), {}
    for row in rows:
        who = "cusparse" if row["form"].startswith("cusparse") else "auto" if row["form"].startswith("auto ") else ""
        key = row["matrix"], row["precision"], row["columns"]
        times[who, key] = min(times.get((who, key), row), row, key=lambda row: row["seconds"])
    micro = lambda who, *key: times.get((who, key)) and {"seconds": 1e6 * times[who, key]["seconds"]}
    cells = [[m, p, *(against(micro("auto", m, p, n), micro("cusparse", m, p, n), "seconds") for n in (1, 4, 12))] for m in matrices for p in PRECISIONS[:2]]
    plots["h200-spmv"] = lines("Sparse products in double on one H200", "right-hand sides", "times faster than cuSPARSE",
                               [(m, i, LINE, [(n, micro("cusparse", m, "double", n)["seconds"] / micro("auto", m, "double", n)["seconds"]) for n in (1, 2, 4, 8, 12)])
                                for i, m in enumerate(matrices[:3])], ["set xtics (1, 2, 4, 8, 12)", "set xrange [0.5:12.5]"])
    return section("## Sparse products on one H200", """Microseconds of a product in the form that the library chooses.
In brackets: times faster than the best of cuSPARSE's forms in the same run.""", table(["matrix", "precision", "1 column", "4", "12"], cells),
                   {"h200-spmv": "Sparse products beside cuSPARSE"}, ["cmake --build build --target spmv_times && build/bench/measure/spmv_times FILE.json own"], results.sources(H200, "spmv-own"))


def light_quarks(results, plots):
    rows, volumes = results.rows(ZEN5, "light-quarks"), results.rows(ZEN5, "multigrid-volumes")
    methods = (("CG", "solve-cgnr"), ("BiCGStab", "solve-bicgstab"), ("multigrid", "solve-gcr-multigrid"))
    kappas, lattices = sorted({row["kappa"] for row in rows}), [list(x) for x in dict.fromkeys(tuple(row["lattice"]) for row in volumes)]
    at = {(name, k): find(rows, bench=bench, kappa=k, columns=1) for name, bench in methods for k in kappas}
    shown = lambda row: f"{number(row['seconds'])} ({row['iterations']})" if row["status"] == "converged" else row["status"]
    cells = [[k, *(shown(at[name, k]) for name, _ in methods), number(at["multigrid", k]["setup_seconds"])] for k in kappas]
    title = lambda x: "x".join(map(str, x))
    steps = {(tuple(x), k): find(volumes, lattice=x, kappa=k) for x in lattices for k in kappas}
    dozen = [f"{number(row['seconds'])} s at {row['kappa']}" for row in rows if row["columns"] == 12]
    seen = [k for k in kappas if any(steps[tuple(x), k] for x in lattices)]
    masses = [f"set xtics ({', '.join(f'{chr(39)}{k:.4f}{chr(39)} {i}' for i, k in enumerate(kappas))})", f"set xrange [-0.2:{len(kappas) - 0.8}]"]
    plots["light-quarks"] = lines("Clover solve, 16x16x16x16, two cores of a Zen 5", "kappa", "seconds to 1e-10",
                                  [(name, i, LINE, [(j, at[name, k]["seconds"] if at[name, k]["status"] == "converged" else None) for j, k in enumerate(kappas)])
                                   for i, (name, _) in enumerate(methods)], masses)
    plots["multigrid-steps"] = lines("Steps of GCR with multigrid", "kappa", "steps to 1e-10",
                                     [(title(x), i, LINE, [(kappas.index(k), steps[tuple(x), k] and steps[tuple(x), k]["iterations"]) for k in seen]) for i, x in enumerate(lattices)],
                                     masses)
    return section("### Light quarks", """Clover, csw 1.769, 16x16x16x16 (MILC's quenched configuration of beta 6.0), to 1e-10 with half precision inside, two threads of a Zen 5: seconds (steps).
The last column is the set-up of multigrid, which serves all right-hand sides.""",
                   table(["kappa", *(name for name, _ in methods), "set-up"], cells) + f"\nTwelve right-hand sides together take multigrid {' and '.join(dozen)}.\n" + "\nSteps of multigrid on quenched configurations of beta 6.0 (8x8x8x8: MILC's sample):\n\n" +
                   table(["lattice", *seen], [[title(x), *(steps[tuple(x), k]["iterations"] if steps[tuple(x), k] else "-" for k in seen)] for x in lattices]),
                   {"light-quarks": "Time to solution against the quark mass", "multigrid-steps": "Steps of multigrid against mass and volume"},
                   ["bench/multigrid_masses.py build/kaon-bench --gauge FILE --lattice 16 16 16 16 --json OUT",
                    "kaon generate --lattice 16 16 16 32 --seed 11 --output FILE",
                    "kaon generate --lattice 24 24 24 24 --seed 12 --output FILE",
                    "bench/multigrid_masses.py build/kaon-bench --gauge FILE --lattice 24 24 24 24 --kappa 0.1345 0.1350 0.1352 --methods multigrid --json OUT"],
                   results.sources(ZEN5, "light-quarks", "multigrid-volumes"))


def h100(results, _):
    topics = ("dslash", "solve-cg", "solve-bicgstab")
    rows = results.rows(H100, *topics)
    cells = [[f"Wilson hop, {n} reals, GFLOPS", *(number(hop(rows, "wilson-hop", p, n, LARGE)["gflops"]) for p in PRECISIONS)] for n in (18, 12, 8)]
    cells += [[f"clover {title}, seconds", *(number(find(rows, bench=bench, precision="double/" + p, columns=1)["seconds"]) for p in PRECISIONS)]
              for title, bench in (("CG", "solve-cgnr"), ("BiCGStab", "solve-bicgstab"))]
    return section("## One NVIDIA H100", "The hops at 48x48x48x64 and the solves by inner precision, as above.", table(["", *PRECISIONS], cells), {},
                   ["kaon-bench dslash --backend cuda --lattice 48 48 48 64 --columns 1"], results.sources(H100, *topics))


def cpu(results, plots):
    grid = results.peer("grid-epyc-2c")
    sources = {"kaon, Zen 4": results.rows(ZEN4, "hop-large"), "kaon, Zen 5": results.rows(ZEN5, "dslash-in-turn"), "Grid, Zen 5": [
        {**row, "triad_gbs": grid["triad_gbs"], "ideal_gbs": row["gflops"] * {"double": 1536, "single": 768}[row["precision"]] / 1320} for row in grid["rows"]]}
    at = {name: [hop(rows, "wilson-hop", p, 18, [16, 16, 16, 32]) for p in PRECISIONS] for name, rows in sources.items()}
    share = {name: [row and 100 * row["ideal_gbs"] / row["triad_gbs"] for row in own] for name, own in at.items()}
    cells = [[name, *(f"{number(row['gflops'])} ({part:.0f} %)" if row else "-" for row, part in zip(own, share[name]))] for name, own in at.items()]
    plots["cpu-wilson"] = bars("Wilson hop, 16x16x16x32, two cores, 18 reals a link", "ideal traffic, % of the STREAM triad", PRECISIONS, share)
    petsc, ways = results.rows(ZEN4, "petsc", "petsc-large"), [("none", 1), ("none", 2), ("jacobi", 1), ("jacobi", 2), ("ic0", 1)]
    ratios = [[m, *(f"{row['ratio']:.2f}" if row else "-" for row in (find(petsc, matrix=m, preconditioner=k, threads=n) for k, n in ways))]
              for m in dict.fromkeys(row["matrix"] for row in petsc)]
    own = results.rows(ZEN4, "solve-16", "solve-1350")
    solved = [[k, *(f"{row['seconds']:.1f} ({row['iterations']})" for row in (find(own, kappa=k, precision="double/" + p) for p in PRECISIONS))] for k in (0.1345, 0.135)]
    return section("## Two cores of a CPU\n\n### Wilson hop", "16x16x16x32, 18 reals a link: GFLOPS, in brackets the ideal traffic's share of the STREAM triad.",
                   table(["", *PRECISIONS], cells) + f"\n{grid['about']} Other work shares all these machines.\n", {"cpu-wilson": "Wilson hop on two cores"},
                   ["kaon-bench dslash --threads 2 --lattice 16 16 16 32 --precision double,single,half --reconstruct 18 --columns 1 --in-turn"],
                   results.sources(ZEN4, "hop-large") + "; " + results.sources(ZEN5, "dslash-in-turn")) + "\n" + \
        section("### Clover CG", "16x16x16x16, thermalised (beta 6.0), csw 1.769, to 1e-10, on a Zen 4: seconds (steps) by inner precision.", table(["kappa", *PRECISIONS], solved), {},
                ["kaon-bench solve --threads 2 --gauge FILE --kappa 0.1345 --csw 1.769 --method cg --columns 1"], results.sources(ZEN4, "solve-16", "solve-1350")) + "\n" + \
        section(f"### Conjugate gradients beside PETSc {petsc[0]['petsc']}", "Times faster a step on a Zen 4, in turn and in as many steps. Two cores: two threads of kaon, two ranks of PETSc.",
                table(["matrix", *(f"{k}, {n} core{'s' * (n > 1)}" for k, n in ways)], ratios), {},
                ["bench/peers/petsc_compare.py --kaon build/kaon --matrix fv1.mtx --matrix laplace3d:64 --solve cg:none --solve cg:jacobi --solve cg:ic0 --threads 1,2"],
                results.sources(ZEN4, "petsc", "petsc-large"))


HEAD = """# Performance
<!-- Made by scripts/performance.py (make performance). Do not edit. -->

The newest figures of each device, beside other programs on the same device.

- A hop updates one parity of the lattice. A GFLOPS figure counts 1320 flops a site (Wilson), 3792 (clover matrix), 570 (staggered) or
  1146 (HISQ). [Conventions](conventions.md#benchmarks) define every figure.
- Each table names its command and the topics of its files in [bench/results](../bench/results/README.md), with date and commit.
- [Notes](../bench/notes/README.md) tell why kernels are as they are and what was tried. [Papers](papers.md) has the papers' experiments.
"""


def page(results):
    plots = {}
    return "\n".join([HEAD] + [part(results, plots) for part in (hops, columns, solves, ranks, sparse, h100, cpu, light_quarks)]), plots


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--root", default=ROOT, help="the source folder")
    options.add_argument("--check", action="store_true")
    options.add_argument("--keep", nargs="+", metavar=("DEVICE", "FILE"))
    given = options.parse_args()
    if given.keep:
        keep(given.root, given.keep[0], given.keep[1:])
        return 0
    text, plots = page(Results(given.root))
    target, folder = os.path.join(given.root, "docs", "performance.md"), os.path.join(given.root, "docs", "plots")
    if given.check:
        read = lambda path: open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        stale = [] if read(target) == text else ["docs/performance.md"]
        stale += [f"docs/plots/{name}.svg" for name, plot in plots.items() if not read(os.path.join(folder, name + ".svg")).endswith(mark(plot))]
        print("".join(f"{name} is not what bench/results gives: run make performance\n" for name in stale), end="", file=sys.stderr)
        return 1 if stale else 0
    made = {target: text, **{os.path.join(folder, name + ".svg"): draw(plot) for name, plot in plots.items()}}
    os.makedirs(folder, exist_ok=True)
    for path, content in made.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Wrong, FileNotFoundError) as wrong:
        print(f"performance.py: {wrong}", file=sys.stderr)
        sys.exit(3)
