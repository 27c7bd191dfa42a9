#!/usr/bin/env python3
"""plots.py - the plots of docs/papers.md, drawn from bench/results by gnuplot.

  python3 bench/papers/plots.py             write docs/plots/paper-*.svg
  python3 bench/papers/plots.py --scripts   print the gnuplot scripts instead; gnuplot is not needed

Python's standard library only. Each plot takes its rows from the newest file of one topic of one device.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEVICE = "nvidia-h200"


def rows_of(topic, wanted):
    """The wanted rows of the newest file of a topic that has some; a row inherits what the first one of its benchmark says."""
    for path in sorted(glob.glob(os.path.join(ROOT, "bench", "results", DEVICE, f"*-{topic}.json")), reverse=True):
        if os.path.basename(path).split("-", 4)[4] == f"{topic}.json":
            with open(path, encoding="utf-8") as file:
                rows, first = json.load(file), {}
            rows = [{**first.setdefault(row["bench"], row), **row} for row in rows]
            rows = [row for row in rows if wanted(row)]
            if rows:
                return rows
    return sys.exit(f"plots.py: no file *-{topic}.json of bench/results/{DEVICE} has the rows of this plot")


def script(title, axes, curves):
    """A gnuplot script of curves (name, style, points)."""
    lines = ["set terminal svg size 720,460 font 'sans,13' background 'white'", f"set title '{title}' noenhanced", "set grid", "set key noenhanced", *axes]
    lines.append("plot " + ", ".join(f"'-' using 1:2 with {style} title '{name}'" for name, style, _ in curves))
    for _, _, points in curves:
        lines += [f"{x:.8g} {y:.8g}" for x, y in points] + ["e"]
    return "\n".join(lines) + "\n"


# Paper A, Figure 9: name in the plot, method of the row, curve of the history
RELAXATION = (("Gauss-Seidel, one core", "gauss-seidel, one core", "gauss-seidel"), ("Jacobi", "jacobi", "jacobi"), ("CG", "cg", "cg"),
              ("async-(5), by launches", "async, launches", "async-(k)"), ("async-(5), free-running (end)", "async, free", None))


def relaxation():
    """Residual by time: a history times the mean time of an iteration."""
    rows = rows_of("async-time", lambda row: row["matrix"] == "fv1.mtx")
    history = next(row["curves"] for row in rows if row["bench"] == "relax-history")
    times = {row["method"]: row for row in rows if row["bench"] == "async-time"}
    curves = []
    for name, method, curve in RELAXATION:
        step = 1e3 * times[method]["seconds"] / times[method]["iterations"]
        if curve:
            curves.append((name, "lines linewidth 2", [(step * x, y) for x, y in history[curve] if x > 0]))
        else:  # no residual is taken before the end
            curves.append((name, "points pointtype 7 linecolor 'black'", [(1e3 * times[method]["seconds"], times[method]["residual"])]))
    axes = ["set logscale xy", "set format y '10^{%L}'", "set xlabel 'milliseconds'", "set ylabel '|b - A x| / |b|'", "set xrange [0.01:3000]", "set key top right"]
    return script("fv1 on one H200: residual by time", axes, curves)


# Paper C, Figure 7, Problem 1, degree 1: the authors' medians (rows, seconds)
SIZES = (30, 103, 381, 1465, 5745, 22753, 90561, 361345)
THEIRS = {"paper: CARP-CG (GPU)": (0.0156, 0.0763, 0.137, 0.144, 0.649, 3.89, 55.8, 861), "paper: CGMNC": (6.45e-6, 6.45e-5, 8.33e-4, 0.0136, 0.283, 5.07, 72.2, 1530),
          "paper: BiCGStab": (2.17e-6, 1.56e-5, 1.55e-4, 1.24e-3, 8.5e-3, 0.0598, 0.371, 9.6),
          "paper: cuDSS": (0.0101, 0.0107, 0.012, 0.0185, 0.0374, 0.109, 0.375, 1.63)}
OURS = (("Cimmino (GPU)", "cuda", "cimmino-rule"), ("CGMNC, one core", "cpu-serial", "cgmnc"), ("BiCGStab (GPU)", "cuda", "bicgstab-jacobi"), ("cuDSS", "cuda", "cudss"))


def kaczmarz_time():
    rows = [row for direct in (True, False)
            for row in rows_of("kaczmarz-fig7", lambda row: row["matrix"].startswith("fem:1,1,") and (row["what"] == "cudss") == direct)]
    curves = []
    for i, (name, machine, what) in enumerate(OURS):
        points = {row["rows"]: row["value"] for row in rows if (row["machine"], row["what"]) == (machine, what) and row.get("value")}
        curves.append((name, f"linespoints linewidth 2 linecolor {i + 1} pointtype 7 pointsize 0.5", sorted(points.items())))
    for i, (name, seconds) in enumerate(THEIRS.items()):
        curves.append((name, f"lines dashtype 2 linecolor {i + 1}", list(zip(SIZES, seconds))))
    axes = ["set logscale xy", "set format '10^{%L}'", "set xlabel 'rows'", "set ylabel 'seconds to 1e-9'", "set key outside bottom center horizontal maxcols 2"]
    return script("Problem 1, degree 1: our H200 and the paper", axes, [curve for curve in curves if curve[2]])


def kaczmarz_relaxation():
    rows = rows_of("kaczmarz-fig6", lambda row: row["matrix"].startswith("fem:1,"))
    curves = []
    for degree in (1, 2, 3):
        points = sorted((row["x"], row["value"]) for row in rows if row["matrix"] == f"fem:1,{degree},4" and row.get("value"))
        least = min((steps for _, steps in points), default=1)
        curves.append((f"degree {degree}", "linespoints linewidth 2 pointtype 7 pointsize 0.5", [(x, steps / least) for x, steps in points]))
    axes = ["set xlabel 'relaxation'", "set ylabel 'steps over the least'", "set yrange [0.9:3]", "set xrange [0.2:0.7]", "set key top left"]
    return script("Problem 1, level 4: steps of Cimmino-CG", axes, [curve for curve in curves if curve[2]])


DELAYED = (("CG", "cg"), ("pipelined CG", "pipecg"), ("BiCGStab", "bicgstab"), ("pipelined BiCGStab", "pipebicgstab"))


def pipelined():
    rows = rows_of("pipelined", lambda row: (row["matrix"], row["ranks"], row["backend"]) == ("cavity3d:126", 2, "cuda") and not row.get("solver"))
    curves = []
    for i, (name, method) in enumerate(DELAYED):
        points = sorted((1e6 * row["reduce_delay"], 1e6 * row["seconds_mean"] / row["iterations"]) for row in rows if row["method"] == method)
        curves.append((name, f"linespoints linewidth 2 linecolor {i // 2 + 1} dashtype {2 - i % 2} pointtype 7 pointsize 0.6", points))
    axes = ["set xlabel 'least time of a reduction, microseconds'", "set ylabel 'microseconds a step'", "set yrange [0:*]", "set key top left"]
    return script("cavity3d:126 on two H200", axes, curves)


PLOTS = {"paper-relaxation-time": relaxation, "paper-kaczmarz-time": kaczmarz_time, "paper-kaczmarz-relaxation": kaczmarz_relaxation, "paper-pipelined-delay": pipelined}


def main():
    if sys.argv[1:] not in ([], ["--scripts"]):
        sys.exit(__doc__)
    if not sys.argv[1:] and not shutil.which("gnuplot"):
        sys.exit("plots.py: gnuplot is missing")
    for name, plot in PLOTS.items():
        text = plot()
        if sys.argv[1:]:
            print(f"# {name}\n{text}")
            continue
        drawn = subprocess.run(["gnuplot"], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
        with open(os.path.join(ROOT, "docs", "plots", name + ".svg"), "w", encoding="utf-8") as file:
            file.write(drawn)


if __name__ == "__main__":
    main()
