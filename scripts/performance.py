#!/usr/bin/env python3
"""performance.py - docs/performance.md and its plots, from the benchmark files.

  performance.py                write the page and docs/plots/*.svg (by gnuplot)
  performance.py --check        status 1, and which, where one of them is not what the files give; needs no gnuplot
  performance.py --table FILE...  the tables of these files alone, to standard output

Reads bench/results/DEVICE/DATE-COMMIT-TOPIC.json (of each topic the file measured last) and bench/peers/*.json, other
programs' figures on the same device. Python's standard library alone.
"""
import argparse
import glob
import hashlib
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys

import performance_model
import performance_plots
import performance_sparse

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
MADE = "<!-- Made by scripts/performance.py (make performance). Do not edit. -->"
STALE, MISSING = 1, 3
PAPERS = ("async-", "faults-", "relax-history", "kaczmarz")  # rows of docs/papers.md, which is written by hand
METHODS = {"solve-cg": "cg", "solve-cgnr": "cg", "solve-cgne": "cgne", "solve-bicgstab": "bicgstab", "solve-mr": "mr",
           "solve-gcr": "gcr", "solve-blockcg": "blockcg", "solve-blockcgnr": "blockcg",
           "solve-pipecg": "pipecg", "solve-pipecgnr": "pipecg", "solve-pipebicgstab": "pipebicgstab"}

HEAD = f"""# Performance
{MADE}

Every table stands below the commands that made it; `commit` is the source that was measured, and the file holds every figure with
all its digits. What the figures mean: [conventions.md](conventions.md#benchmarks).

- A hop or matrix cell is **GFLOPS (share of the limit, times a peer)**. The share is the ideal traffic - every link, spinor and clover
  block once - against the bandwidth of streaming reads that the same run measured; what fits in a cache may pass 100 %. `*`: the
  call is so short that the host's launches, not the device, set the pace.
- A vector cell is GB/s (share of the limit).
- Devices: since edbe2d5 each row begins after 0.3 s of rest, since at its limit of power a device still has the clock that the row
  before left it with: the same cell was 12151 or 13982 GFLOPS, by the order of rows alone (`2026-11-27-b4327dbb3a90-power.txt`).
- A plot has the row that was measured last of each cell, so those that only runs on several devices have (32x32x32x64 of the hop,
  say) are from before rows rested; tables further down may be older than others. What a later file of another
  topic replaced is in `bench/results/DEVICE/earlier/`.
- A solve's time is the median of its repeats (the fastest in files before 0f19248), without set-up; joules are their mean, by the device's own counter. A step
  is one of all columns together. CPU: the processor's time as a share of the solve's, where a row has it.
- Several ranks, a device each: a hop cell is **GFLOPS a rank (efficiency, times a peer)**, the efficiency against one rank with as
  many sites as each has there (the same file). Times are the slowest rank's. "In terms of BiCGStab": the GFLOPS that
  BiCGStab with single precision inside would have to reach to solve in the same time.
- Relaxation and projections, in the form of the papers they are from: [papers.md](papers.md).
- Peers' figures, where there are some for the same cell, are in `bench/peers/`; their conditions stand below each device's name.
"""


class Wrong(Exception):
    """What the user can mend, in a sentence."""


# ---- the files ----

def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from error


class Run:
    """One benchmark file: rows of one topic on one device."""

    def __init__(self, path, root):
        self.path = os.path.relpath(path, root)
        self.rows = read_json(path)
        name = re.fullmatch(r"(\d{4}-\d\d-\d\d)-([0-9a-f]+(?:-dirty)?)-(.+)\.json", os.path.basename(path))
        self.date, self.commit, self.topic = name.groups() if name else ("", "", os.path.basename(path)[:-5])
        if not isinstance(self.rows, list) or not self.rows or not all("bench" in row for row in self.rows):
            raise Wrong(f"{path}: not a list of benchmark rows")
        self.commit = " and ".join(dict.fromkeys(row.get("commit", self.commit) for row in self.rows))
        self.age = (self.date, max(row.get("measured", "") for row in self.rows), self.path)


def find_runs(root):
    """{folder: [the last run of each topic]}"""
    last = {}
    for path in sorted(glob.glob(os.path.join(root, "bench", "results", "*", "*.json"))):
        run = Run(path, root)
        key = os.path.basename(os.path.dirname(path)), run.topic
        if key not in last or run.age > last[key].age:
            last[key] = run
    folders = {}
    for (folder, _), run in sorted(last.items()):
        folders.setdefault(folder, []).append(run)
    return folders


def find_peers(root):
    return [read_json(path) for path in sorted(glob.glob(os.path.join(root, "bench", "peers", "*.json")))]


def ranks_of(row):
    return row.get("ranks") or 1


def peer_of(row, peers):
    """(name, the peer's row) for the same cell, or (None, None)."""
    for peer in peers:
        if peer["device"] != row["device"]:
            continue
        for other in peer["rows"]:
            same = [key for key in other if key not in ("gflops", "gflops_rank", "seconds", "iterations")]
            if ranks_of(row) == ranks_of(other) and all(row.get(key) == other[key] for key in same):
                return peer["name"], other
    return None, None


# ---- commands ----

def unique(values):
    return list(dict.fromkeys(values))


def listed(rows, key):
    return ",".join(str(x) for x in unique(row[key] for row in rows))


def put_together(rows):
    """A command for rows of a time when they did not carry theirs."""
    first = rows[0]
    kind = first["bench"].split("-")[0]
    words = ["kaon bench", {"vector": "vector", "solve": "solve"}.get(kind, "dslash"), "--backend", first["backend"]]
    if first["backend"] == "cpu":
        words += ["--threads", str(first["threads"])]
    gauge = os.path.basename(first.get("gauge", "weak:0.3"))
    if kind != "solve" or ":" in gauge:
        for lattice in unique(tuple(row["lattice"]) for row in rows):
            words += ["--lattice", *map(str, lattice)]
    words += ["--precision", ",".join(unique(row["precision"].split("/")[-1] for row in rows))]
    if kind != "vector":
        words += ["--reconstruct", listed(rows, "links")]
    words += ["--columns", listed(rows, "columns"), *["--in-turn"] * bool(first.get("in_turn"))]
    if any(row["bench"] == "clover-temporal" for row in rows):
        words += ["--temporal-gauge"]
    if kind == "solve":
        words += ["--gauge", gauge, "--kappa", f"{first['kappa']:g}", "--csw", f"{first['csw']:g}", "--solver",
                  METHODS[first["bench"]]]
    return " ".join(words)


def commands(run):
    """(the commands, a remark on them)"""
    given = unique(started(row) for row in run.rows if row.get("command"))
    if given:
        return given, ""
    remark = " The command is put together from the rows"
    solves = any(row["bench"].startswith("solve-") for row in run.rows)
    return [put_together(run.rows)], remark + (", which do not carry `--stop` and `--tol`." if solves else ".")


# ---- tables ----

def extents(lattice):
    return "x".join(map(str, lattice))


def volume(row):
    x, y, z, t = row["lattice"]
    return x * y * z * t


def number(x):
    """Four digits, no exponent."""
    if x is None:
        return "-"
    return f"{x:.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def percent(x):
    return "-" if x is None else f"{100 * x:.0f} %"


def share(row):
    if not row.get("ideal_gbs") or not row.get("limit_gbs"):
        return None
    return percent(row["ideal_gbs"] / row["limit_gbs"])


def launched(row):
    issue = row.get("issue_seconds")
    return "*" if issue and issue > 0.9 * row["seconds"] else ""


def times_peer(row, peers):
    name, other = peer_of(row, peers)
    if not other:
        return None
    key = "gflops_rank" if "gflops_rank" in other else "gflops"
    return f"{row[key] / other[key]:.2f}x {name}"


def field_cell(row, peers):
    inside = [text for text in (share(row), times_peer(row, peers)) if text]
    return number(row["gflops"]) + launched(row) + (f" ({', '.join(inside)})" if inside else "")


def vector_cell(row, _):
    return number(row["ideal_gbs"]) + launched(row) + (f" ({share(row)})" if share(row) else "")


def markdown(header, lines):
    rows = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(rows + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def grid(rows, cell, peers):
    """A line a benchmark, precision, link storage and number of columns; a column a lattice."""
    lattices = unique(tuple(row["lattice"]) for row in sorted(rows, key=volume))
    lines = {}
    for row in rows:
        key = row["bench"], row["precision"], str(row["links"] or "-"), str(row["columns"])
        lines.setdefault(key, {})[tuple(row["lattice"])] = cell(row, peers)
    return markdown(["bench", "precision", "links", "columns", *map(extents, lattices)],
                    [[*key, *(cells.get(lattice, "-") for lattice in lattices)] for key, cells in lines.items()])


def local(row):
    """The part of one rank."""
    return tuple(n // g for n, g in zip(row["lattice"], row.get("grid") or [1, 1, 1, 1]))


def rank_cell(row, rows, peers):
    alone = [other["gflops"] for other in rows if ranks_of(other) == 1 and math.prod(local(other)) == math.prod(local(row)) and
             all(other[key] == row[key] for key in ("bench", "precision", "links", "columns"))]
    inside = [text for text in (percent(row["gflops_rank"] / max(alone)) if alone else None, times_peer(row, peers)) if text]
    return number(row["gflops_rank"]) + (f" ({', '.join(inside)})" if inside else "")


def ranks_grid(rows, peers):
    """Hops and matrices of several ranks: a line a lattice, grid and way of hiding messages; a column a precision."""
    precisions = [p for p in ("double", "single", "half") if any(row["precision"] == p for row in rows)]
    lines = {}
    for row in sorted((row for row in rows if ranks_of(row) > 1), key=lambda r: (r["bench"] != "wilson-hop", ranks_of(r), volume(r))):
        key = (row["bench"], str(row["links"] or "-"), str(row["columns"]), str(ranks_of(row)), extents(row["lattice"]),
               extents(row["grid"]), row.get("transport") or "-", row.get("overlap") or "-")
        lines.setdefault(key, {})[row["precision"]] = rank_cell(row, rows, peers)
    return markdown(["bench", "links", "columns", "ranks", "lattice", "grid", "messages by", "overlap", *precisions],
                    [[*key, *(cells.get(p, "-") for p in precisions)] for key, cells in lines.items()])


def microseconds(row):
    """A step's, by the row's own field where it has one."""
    own = row.get("step_microseconds")
    if own is None and row["iterations"]:
        own = 1e6 * row["seconds"] / row["iterations"]
    return number(own)


# What only rows of several ranks, or of some options, have.
MORE = [("ranks", lambda row: f"{ranks_of(row)} ({extents(row['grid'])})" if row.get("grid") else str(ranks_of(row)),
         lambda row: ranks_of(row) > 1),
        ("sums", lambda row: number(row.get("sums")), lambda row: ranks_of(row) > 1 and row.get("sums")),
        ("MB sent a rank", lambda row: number(1e-6 * row["bytes_sent"] if row.get("bytes_sent") is not None else None),
         lambda row: row.get("bytes_sent")),
        ("delay of sums, us", lambda row: number(1e6 * (row.get("reduce_delay") or 0)), lambda row: row.get("reduce_delay")),
        ("in terms of BiCGStab, GFLOPS", lambda row: number(row.get("effective_gflops")), lambda row: row.get("effective_gflops"))]


def solve_table(rows, peers):
    lines = []
    more = [(name, cell) for name, cell, wanted in MORE if any(wanted(row) for row in rows)]
    for row in rows:
        name, other = peer_of(row, peers)
        against = "-"
        if other:
            against = f"{name} {other['seconds']:g} s, {other['iterations']}: {other['seconds'] / row['seconds']:.2f}x"
        lines.append([extents(row["lattice"]), row["bench"][len("solve-"):], row["precision"], str(row["links"]),
                      str(row["columns"]), str(row["iterations"]), number(row["seconds"]), microseconds(row),
                      percent(row.get("cpu_share")), number(row["gflops"]), number(row.get("joules")), f"{row['residual']:.1e}", row.get("status", "-"),
                      against, *(cell(row) for _, cell in more)])
    return markdown(["lattice", "method", "precision", "links", "columns", "steps", "seconds", "us a step", "CPU", "GFLOPS", "joules",
                     "residual", "status", "peer's seconds, steps: ours are faster by", *(name for name, _ in more)], lines)


def tables(rows, peers):
    sparse = performance_sparse.tables([row for row in rows if performance_sparse.is_sparse(row)], sys.modules[__name__])
    rows = [row for row in rows if not performance_sparse.is_sparse(row)]
    model = [row for row in rows if row["bench"].startswith("model-")]
    vectors = [row for row in rows if row["bench"].startswith("vector-")]
    solves = [row for row in rows if row["bench"].startswith("solve-")]
    fields = [row for row in rows if row["bench"].split("-")[0] not in ("model", "vector", "solve")]
    alone = [row for row in fields if ranks_of(row) == 1]
    parts = [grid(alone, field_cell, peers)] if alone else []
    parts += [ranks_grid(fields, peers)] if len(alone) < len(fields) else []
    parts += [performance_model.table(model, sys.modules[__name__])] if model else []
    parts += [grid(vectors, vector_cell, peers)] if vectors else []
    parts += [solve_table(sorted(solves, key=ranks_of), peers)] if solves else []
    return "\n".join(parts + sparse)


def median_of(rows, key):
    found = [row[key] for row in rows if row.get(key)]
    return statistics.median(found) if found else None


def limits(rows):
    """In words what the machine reached beside these rows; of several ranks, each of them."""
    rows = [dict(row, **{key: row[key] / ranks_of(row) for key in ("limit_gbs", "copy_gbs", "triad_gbs", "fma_gflops") if row.get(key)})
            for row in rows]
    if all(row["bench"].startswith("model-") for row in rows):
        return "Nothing was measured for it but what the files that it names hold."
    parts = [f"{name} {number(median_of(rows, key))} GB/s"
             for key, name in (("limit_gbs", "streaming reads"), ("copy_gbs", "copies"), ("triad_gbs", "triad"))
             if median_of(rows, key)]
    for precision in ("double", "single"):
        peak = median_of([row for row in rows if row["precision"] == precision], "fma_gflops")
        parts += [f"multiply-adds in {precision} {number(peak)} GFLOPS"] if peak else []
    return "The machine beside them: " + ", ".join(parts) + "." if parts else "The machine's limits were not measured."


def spread(rows):
    found = [(row["seconds_max"] - row["seconds_min"]) / row["seconds"] for row in rows
             if row.get("seconds_min") and row.get("seconds_max")]
    if not found:
        return ""
    return f" Slowest less fastest sample: {100 * statistics.median(found):.1f} % in the median, " \
           f"{100 * max(found):.1f} % at most."


def section(run, peers):
    lines, remark = commands(run)
    shell = "\n".join(lines)
    return f"""### {run.topic}

Commit {run.commit}, {run.date}; `{run.path}`.{remark} {limits(run.rows)}{spread(run.rows)}

```
{shell}
```

{tables(run.rows, peers)}"""


# ---- plots: gnuplot scripts, with their data inside ----

def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def plot_script(title, axes, curves, extra=()):
    """curves: [(title, style, [(x, y)...])]"""
    words = ["set terminal svg size 820,520 font 'sans,12' background 'white'", f"set title {quoted(title)} noenhanced", *axes,
             "set grid", "set key outside right noenhanced", *extra]
    plots = [f"'-' using 1:2 with {style} title {quoted(name)}" for name, style, _ in curves]
    words.append("plot " + ", \\\n  ".join(plots))
    for _, _, points in curves:
        words += [f"{x:.8g} {y:.8g}" for x, y in points] + ["e"]
    return "\n".join(words) + "\n"


def label(row, *keys):
    return " ".join({"links": f"r{row['links']}"}.get(key, str(row[key])) for key in keys)


def series(rows, keys, point):
    found = {}
    for row in rows:
        found.setdefault(label(row, *keys), []).append(point(row))
    return {name: sorted(set(points)) for name, points in found.items()}


def newest(rows, *keys):
    """Of rows that are alike in `keys` the one that was measured last, in the order of the rows."""
    last = {}
    for row in rows:
        key = json.dumps([row.get(name) for name in keys])
        if key not in last or row.get("measured", "") >= last[key].get("measured", ""):
            last[key] = row
    return [row for row in rows if any(row is kept for kept in last.values())]


CELL = ("bench", "lattice", "precision", "links", "columns", "ranks", "grid")
SOLVE = CELL + ("gauge", "kappa", "mass", "csw", "action", "tol", "stop", "preconditioner", "refinement", "overlap", "reduce_delay")


def plots_of(folder, runs, peers):
    """[(file name, what it shows, gnuplot script, the rows in it)]"""
    every = [row for run in runs for row in run.rows if not performance_sparse.is_sparse(row)]
    rows = [row for row in every if ranks_of(row) == 1 and not row["bench"].startswith("model-")]
    if not rows:
        return []
    device, words = every[0]["device"], sys.modules[__name__]
    roof = newest([row for row in rows if row.get("ideal_gbs") and row["gflops"] > 0], *SOLVE)
    hops = newest([row for row in rows if row["bench"] == "wilson-hop" and row["columns"] == 1], *CELL)
    solves = newest([row for row in rows if row["bench"].startswith("solve-")], *SOLVE)
    made = [("roofline", "GFLOPS against flops a byte, with the limits of the same runs", performance_plots.roofline(device, roof, words), roof),
            ("volume", "GFLOPS of the Wilson hop against the volume", performance_plots.by_volume(device, hops, peers, words), hops),
            ("solution", "time to solution", performance_plots.solution_time(device, solves, peers, words), solves),
            ("ranks", "GFLOPS a device of the Wilson hop against the number of devices", performance_plots.by_ranks(device, every, peers, words),
             [row for row in every if row["bench"] == "wilson-hop" and row["columns"] == 1]),
            ("crossover", "time to solution on many devices, as the model foretells it", performance_plots.crossover(device, every, words),
             [row for row in every if row["bench"].startswith("model-")])]
    return [plot for plot in made if plot[2]]


def beside(runs, rows):
    """What stands below a plot: the commands that made its rows, and it."""
    used = [run for run in runs if any(row is own for own in run.rows for row in rows)]
    lines = unique(started(row) if row.get("command") else commands(run)[0][0]
                   for run in used for row in run.rows if any(row is own for own in rows))
    return "Drawn by `make performance` from rows that these commands made (sections of the same topics below: " + \
        ", ".join(run.topic for run in used) + "):\n\n```\n" + "\n".join(lines) + "\n```\n"


# ---- the page ----

def is_paper(run):
    return all(row["bench"].startswith(PAPERS) for row in run.rows)


def started(row):
    """The row's command, and what started its ranks."""
    ranks = row.get("ranks") or 1
    return f"mpirun -np {ranks} {row['command']}" if ranks > 1 else row["command"]


def page(folders, every_peer):
    """(text of the page, {plot's file name: gnuplot script})"""
    parts, scripts = [HEAD], {}
    for folder, every in folders.items():
        peers = [peer for peer in every_peer if peer.get("results", folder) == folder] # not another of that name
        runs = [run for run in every if not is_paper(run)] or every
        device = runs[0].rows[0]["device"]
        parts.append(f"## {device} (`bench/results/{folder}`)\n")
        for peer in peers:
            if any(peer_of(row, [peer])[0] for run in runs for row in run.rows):
                parts.append(f"{peer['name']}: {peer['about']}\n")
        for plot, text, script, rows in plots_of(folder, runs, peers) + performance_sparse.plots(runs, sys.modules[__name__]):
            name = f"{folder}-{plot}.svg"
            parts.append(f"![{device}: {text}](plots/{name})\n\n{beside(runs, rows)}")
            scripts[name] = script
        parts += [section(run, peers) for run in runs]
    return "\n".join(parts), scripts


def pages(root):
    """({page's file name: text}, {plot's file name: gnuplot script})"""
    folders = find_runs(root)
    text, scripts = page(folders, find_peers(root))
    return {"performance.md": text}, scripts


def signature(script):
    return f"<!-- drawn from {hashlib.sha256(script.encode()).hexdigest()} -->\n"


def draw(name, script):
    done = subprocess.run(["gnuplot"], input=script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode or "</svg>" not in done.stdout:
        raise Wrong(f"{name} was not drawn: {done.stderr.strip() or 'gnuplot has no svg terminal'}; install gnuplot-nox")
    return re.sub(r"[ \t]+$", "", done.stdout, flags=re.M) + signature(script)


def write(root):
    texts, scripts = pages(root)
    if scripts and not shutil.which("gnuplot"):
        raise Wrong("gnuplot is missing; install gnuplot-nox. Nothing was written")
    drawn = {name: draw(name, script) for name, script in scripts.items()}
    folder = os.path.join(root, "docs", "plots")
    os.makedirs(folder, exist_ok=True)
    for old in glob.glob(os.path.join(folder, "*.svg")): # others' pictures stay
        if os.path.basename(old) not in drawn and "<!-- drawn from" in open(old, encoding="utf-8").read():
            os.remove(old)
    for name, svg in drawn.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(svg)
    for name, text in texts.items():
        with open(os.path.join(root, "docs", name), "w", encoding="utf-8") as file:
            file.write(text)


def read_text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def check(root):
    """Status 1 where a file is not what `write` would leave."""
    texts, scripts = pages(root)
    stale = [f"docs/{name}" for name, text in texts.items() if read_text(os.path.join(root, "docs", name)) != text]
    for name, script in scripts.items():
        if not read_text(os.path.join(root, "docs", "plots", name)).endswith(signature(script)):
            stale.append(f"docs/plots/{name}")
    if stale:
        print(f"performance.py: not what bench/results and bench/peers give: {', '.join(stale)}; run make performance",
              file=sys.stderr)
    return STALE if stale else 0


def main():
    parser = argparse.ArgumentParser(description="docs/performance.md and its plots, from bench/results")
    parser.add_argument("--check", action="store_true", help="say what is not up to date; write nothing")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="print the tables of these files")
    parser.add_argument("--root", default=ROOT, help="the source folder")
    options = parser.parse_args()
    try:
        if options.table:
            peers = find_peers(options.root)
            print("\n\n".join(section(Run(path, os.path.dirname(os.path.abspath(path))), peers) for path in options.table))
            return 0
        if options.check:
            return check(options.root)
        write(options.root)
        return 0
    except Wrong as wrong:
        print(f"performance.py: {wrong}", file=sys.stderr)
        return MISSING


if __name__ == "__main__":
    sys.exit(main())
