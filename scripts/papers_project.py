"""papers_project.py - docs/papers.md: tables and figures of paper C, from rows of kaon bench kaczmarz.

C is Faroux, Fukala, Herfarth, Hug, Zeiter, "Kaczmarz-inspired CUDA solvers for LSEs arising from PDEs" (ETH Zurich 2024).
Each table takes the rows of one device; `words` are performance.py's helpers.
"""

import csv
import math
import os
import re

from papers_rows import against, blank, residual

OTHER = "**Another conclusion than the paper's:** "

C_TABLE3 = {"none": 53.0, "sections": 78.4, "random": 132.0, "cuda": 77.6}  # seconds of 10000 sweeps

C_SWEEPS = 30000  # of Figure 5

C_MEDIANS = {  # problem 1, degree 1: rows: GPU CARP-CG, CGMNC, BiCGStab (Eigen), direct (Eigen), direct (cuDSS)
    30: (0.0156, 6.45e-06, 2.17e-06, 7.24e-06, 0.0101), 103: (0.0763, 6.45e-05, 1.56e-05, 4.59e-05, 0.0107),
    381: (0.137, 0.000833, 0.000155, 0.000525, 0.012), 1465: (0.144, 0.0136, 0.00124, 0.00338, 0.0185),
    5745: (0.649, 0.283, 0.0085, 0.0174, 0.0374), 22753: (3.89, 5.07, 0.0598, 0.105, 0.109),
    90561: (55.8, 72.2, 0.371, 0.828, 0.375), 361345: (861, 1.53e+03, 9.6, 7.24, 1.63)}
C_CURVES = ("paper: GPU CARP-CG", "paper: CGMNC", "paper: BiCGStab", "paper: SparseLU", "paper: cuDSS")


def problem_of(row):
    """(problem, degree, level) of a row, None where it is of another matrix."""
    found = re.match(r"fem:(\d+),(\d+),(\d+)", row["matrix"])
    named = [row.get(key) for key in ("problem", "degree", "level")]
    return tuple(named) if None not in named else tuple(map(int, found.groups())) if found else None


def device_of(rows):
    return next((row["device"] for row in rows if row["machine"] == "cuda"), rows[0]["device"])


# ---- sweeps: Figures 4 and 5, Table 3 ----

def share_of(row, words):
    return words.percent(row["ideal_gbs"] / row["limit_gbs"]) if row.get("ideal_gbs") and row.get("limit_gbs") else "-"


def sweeps(rows, words):
    lines, third = [], rows[0]["figure"] == "table3"
    for row in rows:
        at = None
        if third and row["machine"] != "cpu-openmp" and (row["machine"] != "cuda" or row["what"] == "sections"):
            at = C_TABLE3.get("cuda" if row["machine"] == "cuda" else row["what"])
        lines.append([row["matrix"] + (", RCM" if row.get("rcm") else ""), row["machine"], row["what"], str(row["rows"]), str(row["classes"]), str(row["sweeps"]),
                      words.number(row["value"]), words.number(1e4 / row["value"]) if row["value"] else "-", *([blank(at, "{:g}")] if third else []),
                      words.number(row["ideal_gbs"]), share_of(row, words), runs_of(row), blank(row["residual_l1"], "{:.5g}")])
    more = ["the paper's"] if third else []
    return [words.markdown(["matrix", "machine", "order", "rows", "classes", "sweeps", "sweeps/s", "s for 10000", *more, "GB/s", "of streaming reads", "runs (spread)",
                            "L1 of b - A x"], lines)]


def table_3(rows, words):
    """Table 3, and whether a device is ahead of one core, as the paper's was not."""
    order = {row["what"]: row for row in rows if row["machine"] == "cuda" and row["value"]}
    serial = {row["what"]: row for row in rows if row["machine"] == "cpu-serial" and row["value"]}
    table = sweeps(rows, words)
    if "sections" not in order or not {"none", "sections"} <= serial.keys():
        return table
    took = {name: 1e4 / row["value"] for name, row in (("cuda", order["sections"]), ("none", serial["none"]), ("sections", serial["sections"]))}
    text = f"the paper's GPU, by sections, takes {C_TABLE3['cuda']:g} s, {against(C_TABLE3['cuda'], C_TABLE3['none'])} than its serial code in the rows' order ({C_TABLE3['none']:g} s)" \
           f" and about what that takes by sections ({C_TABLE3['sections']:g} s); the device here takes {took['cuda']:.1f} s by sections, {against(took['cuda'], took['none'])} than one core " \
           f"in the rows' order ({took['none']:.1f} s), {against(took['cuda'], took['sections'])} than by sections ({took['sections']:.1f} s)."
    return table + [(OTHER + text if took["cuda"] < took["none"] else text[0].upper() + text[1:]) + "\n"]


def runs_of(row):
    runs, low, high = (row.get(key) for key in ("runs", "seconds_min", "seconds_max"))
    return "-" if not runs else f"{runs} ({100 * (high / low - 1):.1f} %)" if runs > 1 and low and high else str(runs)


def banded(rows, words):
    """Figure 4."""
    texts = []
    for name in words.unique((row["matrix"], bool(row.get("rcm"))) for row in rows):
        own = [row for row in rows if (row["matrix"], bool(row.get("rcm"))) == name]
        done, sums = {row["sweeps"] or 0 for row in own}, [row["residual_l1"] for row in own if row["residual_l1"]]
        same = f"all after {done.pop()} sweeps" if len(done) == 1 else f"**not after one number of sweeps ({min(done)} to {max(done)}), so residuals do not compare**"
        texts.append(f"{name[0]}{', RCM' if name[1] else ''}: {same}; L1 residuals within {100 * (max(sums) / min(sums) - 1):.2f} % of each other (the paper's: 3 %).")
    machines = {row["machine"] for row in rows}
    texts += [f"Not measured here: {name}." for name in MACHINES if name not in machines]
    return [" ".join(texts) + "\n"] + sweeps(rows, words) + banded_speeds(rows, words)


def banded_speeds(rows, words):
    """The device against the processor, as the paper has them: there threads of the processor are ahead."""
    texts = []
    for matrix, rcm in words.unique((row["matrix"], bool(row.get("rcm"))) for row in rows):
        own = {(row["machine"], row["what"]): row for row in rows if (row["matrix"], bool(row.get("rcm"))) == (matrix, rcm) and row["value"]}
        parts, ahead = [], []
        for scheme in ("S1", "S2"):
            device, threads, serial = (own.get((machine, scheme)) for machine in ("cuda", "cpu-openmp", "cpu-serial"))
            if device and threads and serial:
                ahead.append(device["value"] > threads["value"])
                parts.append(f"{scheme} {words.number(device['value'])} sweeps/s, {against(1 / device['value'], 1 / threads['value'])} than threads ({words.number(threads['value'])}) and "
                             f"{against(1 / device['value'], 1 / serial['value'])} than one core ({words.number(serial['value'])})")
        if parts:
            second = own.get(("cuda", "S2"))
            few = f" The band leaves little to do at once: {second['classes']} classes of about {second['rows'] // second['classes']} rows in S2." if second and not any(ahead) else ""
            texts.append(f"- {OTHER if all(ahead) else ''}{matrix}{', RCM' if rcm else ''}, the device: {'; '.join(parts)}.{few}")
    if not texts:
        return []
    return ["The paper's threads of a processor are faster than its GPU on banded matrices. Here:\n\n" + "\n".join(texts) + "\n"]


def plots_banded(folder, rows, words):
    bars = [(f"{row['machine'].replace('cpu-', '')} {row['what']}" + (" (RCM)" if row.get("rcm") else ""), row["value"]) for row in rows]
    ticks = ", ".join(f"{words.quoted(name)} {i}" for i, (name, _) in enumerate(bars))
    axes = [f"set xtics ({ticks}) rotate by 25 right", "set ylabel 'sweeps a second'", "set logscale y", f"set xrange [-1:{len(bars)}]", "set boxwidth 0.6",
            "set style fill solid 0.7"]
    curves = [("sweeps/s", "boxes", [(i, y) for i, (_, y) in enumerate(bars)])]
    return [(f"{folder}-paper-c-fig4.svg", "Figure 4", words.plot_script(f"{device_of(rows)}: as Figure 4 of paper C", axes, curves))]


def by_order(rows, words):
    """[(order, machine, points)] of Figure 5."""
    keys = words.unique((row["what"], row["machine"]) for row in rows)
    return [(*key, sorted((row["x"], row["value"]) for row in rows if (row["what"], row["machine"]) == key and row["value"] is not None)) for key in keys]


def orders_hold(curves):
    """Whether what reached the paper's number of sweeps fell as little as there."""
    falls = [points[max(points)] / points[min(x for x in points if x > 0)] - 1 for _, _, points in curves if points and max(points) >= C_SWEEPS]
    if not falls:
        return ""
    return " The paper's conclusion, less than 10 % in so many sweeps, holds." if all(-0.1 < fall < 0 for fall in falls) else " Not as in the paper."


def orders(rows, words):
    """Figure 5."""
    curves = [(what, machine, dict(points)) for what, machine, points in by_order(rows, words)]
    xs = sorted({x for _, _, points in curves for x in points})
    text, last = [], max(xs, default=0)
    for what, _, points in curves:
        later = [x for x in points if x > 0 and points[x]]
        if later:
            low, high = min(later), max(later)
            ends = "" if high == last else f" (to {high:.0f}, where its time was over)" if high > low else f" (its time was over at {low:.0f})"
            text.append(f"{what} " + (f"{100 * (points[high] / points[low] - 1):+.1f} %" if high > low else "one point") + ends)
    first = min((x for x in xs if x > 0), default=0)
    rises = [f"{what} {100 * (points[first] / points[0] - 1):+.1f} %" for what, _, points in curves if points.get(first) and points.get(0)]
    lines = [[f"{x:.0f}", *(blank(points.get(x), "{:.5g}") for _, _, points in curves)] for x in xs]
    return [f"{rows[0]['matrix']}, L1 norm of b - A x by sweeps; from {first:.0f} sweeps to {last:.0f}: {', '.join(text)}. The sweeps before the first recorded ones raise it from x = 0: "
            f"{', '.join(rises)}.{orders_hold(curves)}\n\n" + words.markdown(["sweeps", *(f"{what} ({machine})" for what, machine, _ in curves)], lines)]


def plots_orders(folder, rows, words):
    curves = [(what, "linespoints", points) for what, _, points in by_order(rows, words)]
    return [(f"{folder}-paper-c-fig5.svg", "Figure 5", words.plot_script(f"{rows[0]['matrix']}, {device_of(rows)}: as Figure 5 of paper C",
                                                                          ["set xlabel 'sweeps'", "set ylabel 'L1 norm of b - A x'"], curves))]


# ---- Figure 6 ----

def lambdas(rows, words):
    xs = sorted({row["x"] for row in rows})
    lines = []
    for matrix in words.unique(row["matrix"] for row in rows):
        own = {row["x"]: row["value"] for row in rows if row["matrix"] == matrix}
        least = min((y for y in own.values() if y), default=None)
        lines.append([matrix, str(next(row["rows"] for row in rows if row["matrix"] == matrix))] +
                     [f"{own[x]:.0f} ({own[x] / least:.2f})" if own.get(x) else "-" for x in xs])
    return ["Steps of Cimmino-CG (the paper's GPU CARP-CG) by lambda, and over the least; `-`: not there in the steps of the run.\n\n" +
            words.markdown(["matrix", "rows", *(f"{x:g}" for x in xs)], lines)]


def paper_steps(folder, key):
    """{lambda: steps} of the shared file for (problem, degree, level), without those that did not end; None where there is no file."""
    problem, degree, level = key
    path = os.path.join(folder, "lambda", f"carp-cg-lambda-steps-problem{problem}_complexity{level}_degree{degree}.txt.csv")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        read = [(round(float(row["Relaxation"]), 4), int(row["Carp_steps"])) for row in csv.DictReader(file)]
    return {x: steps for x, steps in read if steps > 0}


def compared(rows, folder, words):
    """Figure 6 against the steps of the shared files; None without these."""
    if not folder:
        return None
    lines = []
    for matrix in words.unique(row["matrix"] for row in rows):
        own = {round(row["x"], 4): row["value"] for row in rows if row["matrix"] == matrix and row["value"]}
        theirs = paper_steps(folder, problem_of({"matrix": matrix})) if problem_of({"matrix": matrix}) else None
        both = sorted(set(own) & set(theirs or {}))
        parts = [[(own[x] / theirs[x] - 1, x) for x in both if (x <= 0.45) == low] for low in (True, False)]
        cells = [f"{100 * off:+.2f} % at {x:g}" for part in parts for off, x in [max(part, key=lambda p: abs(p[0]), default=(None, None))] if part]
        beyond = [f"{x:g}" for off, x in parts[0] if abs(off) > 0.01]
        lines.append([matrix, f"{len(parts[0])} + {len(parts[1])}", cells.pop(0) if parts[0] else "-", cells.pop(0) if parts[1] else "-",
                      "-" if not parts[0] else "all" if not beyond else "**not at " + ", ".join(beyond) + "**"])
    return "Steps less those of the columns `Carp_steps` in `sparse/kaczmarz/lambda`, at the values of lambda that both have and where both ended: how many, and the largest " \
           "difference (bar: 1 % to lambda 0.45).\n\n" + \
        words.markdown(["matrix", "compared, to 0.45 + above", "to 0.45: largest", "above: largest", "within 1 % to 0.45"], lines)


def plots_lambdas(folder, rows, words):
    curves = []
    for name in words.unique(row["matrix"] for row in rows):
        points = [(row["x"], row["value"]) for row in rows if row["matrix"] == name and row["value"]]
        least = min((y for _, y in points), default=1)
        curves.append((name, "linespoints", [(x, y / least) for x, y in sorted(points)]))
    axes = ["set xlabel 'lambda'", "set ylabel 'steps over the least'", "set yrange [0.95:2]"]
    return [(f"{folder}-paper-c-fig6.svg", "Figure 6", words.plot_script(f"{device_of(rows)}: as Figure 6 of paper C", axes, [c for c in curves if c[2]]))]


# ---- Figure 7 ----

MACHINES = ("cpu-serial", "cpu-openmp", "cuda")


def against_serial(rows):
    """From how many rows on the device's projections are ahead of CGMNC on one core; "" without a device."""
    best, serial = {}, {row["rows"]: row["value"] for row in rows if (row["machine"], row["what"]) == ("cpu-serial", "cgmnc") and row["value"]}
    for row in rows:
        if row["machine"] == "cuda" and row["value"] and row["status"] == "converged" and row["what"].startswith(("cgmnc", "carpcg", "cimmino")) and row["rows"] in serial:
            best[row["rows"]] = min(best.get(row["rows"], (math.inf, "")), (row["value"], row["what"]))
    if not best:
        return ""
    return "Serial CGMNC over the fastest projections of the device: " + \
        ", ".join(f"{n} rows {serial[n] / seconds:.2g} ({what})" for n, (seconds, what) in sorted(best.items())) + "."


def each_problem(rows):
    """[((problem, degree), rows)]"""
    found = {}
    for row in rows:
        if problem_of(row):
            found.setdefault(problem_of(row)[:2], []).append(row)
    return sorted(found.items())


def solve_cell(row):
    if not row:
        return "-"
    if row["value"] is None or row["status"] == "out of time":
        return f"out of time at {row['iterations']}, {residual(row)}"
    if (row["status"] or "converged") != "converged":
        return f"{row['status']} at {row['iterations']}, {residual(row)}"
    spread = ""
    if (row.get("runs") or 0) > 1 and row.get("quantile5") and row.get("quantile95"):
        spread = f" [{row['quantile5']:.3g}, {row['quantile95']:.3g}]"
    return f"{row['value']:.3g}{spread}" + (f" ({row['iterations']})" if row["iterations"] else "")


def how_often(rows):
    """What a time is: a median only of several runs."""
    runs = {row.get("runs") or 1 for row in rows if row["value"] and row["status"] == "converged"} or {1}
    low, high = min(runs), max(runs)
    number = str(high) if low == high else f"{low} to {high}"
    if high == 1:
        return "seconds to 1e-9 (steps) of one run each"
    spread = "[least, most]" if high < 20 else "[5th, 95th percentile]"  # the indices of these are the first and the last below 20 runs
    return ("median seconds" if low > 1 else "seconds") + f" to 1e-9 {spread} (steps) of {number} runs" + ("" if low > 1 else ", the median where there are several")


def crossings(rows):
    """From how many rows on projections of a device pass serial CGMNC, and iterative solvers direct ones, beside the paper's medians; problem 1, degree 1."""
    done = [row for row in rows if row["value"] and row["status"] == "converged"]
    def least(test):
        found = {}
        for row in done:
            if test(row):
                found[row["rows"]] = min(row["value"], found.get(row["rows"], row["value"]))
        return found
    def passed(fast, slow):
        both = sorted(fast.keys() & slow.keys())
        ahead = [n for n in both if all(fast[m] < slow[m] for m in both if m >= n)]
        return min(ahead, default=None)
    device = least(lambda row: row["machine"] == "cuda" and row["what"].startswith(("cgmnc", "carpcg", "cimmino")))
    serial = least(lambda row: (row["machine"], row["what"]) == ("cpu-serial", "cgmnc"))
    stabilised = least(lambda row: row["what"].startswith("bicgstab"))
    direct = least(lambda row: not row["what"].startswith(("bicgstab", "carpcg", "cimmino", "cgmnc")))
    if not device or not serial or not passed(device, serial):
        return []
    theirs = passed({n: found[0] for n, found in C_MEDIANS.items()}, {n: found[1] for n, found in C_MEDIANS.items()})
    n = max(device.keys() & serial.keys())
    texts = [f"projections of the device pass serial CGMNC from {passed(device, serial)} rows on (the paper's GPU from {theirs} of the same sizes), and at {n} rows are "
             f"{against(device[n], serial[n])} (the paper's: {against(C_MEDIANS[n][0], C_MEDIANS[n][1])})" if n in C_MEDIANS else ""]
    both = device.keys() & stabilised.keys() & direct.keys() & C_MEDIANS.keys()
    if both:
        n = max(both)
        paper = C_MEDIANS[n]
        texts.append(f"at {n} rows they stay {against(device[n], direct[n])} than the fastest direct solver (the paper's: {against(paper[0], min(paper[3:]))}), and "
                     f"BiCGStab is {against(stabilised[n], direct[n])} than that (the paper's: {against(paper[2], min(paper[3:]))})")
    return [OTHER + "; ".join(text for text in texts if text) + ".\n"]


def solves(rows, words):
    parts = []
    for (problem, degree), own in each_problem(rows):
        names, lines = sorted(words.unique((row["machine"], row["what"]) for row in own), key=lambda name: MACHINES.index(name[0])), []
        theirs = C_CURVES if (problem, degree) == (1, 1) else ()
        for n in sorted({row["rows"] for row in own}):
            cells = {(row["machine"], row["what"]): row for row in own if row["rows"] == n}
            paper = [f"{x:g}" for x in C_MEDIANS[n]] if n in C_MEDIANS else ["-"] * len(theirs)
            lines.append([str(n), *(solve_cell(cells.get(key)) for key in names), *(paper if theirs else [])])
        text = f"**Problem {problem}, degree {degree}**: {how_often(own)}. Direct solvers: analysis, factors and solution. {against_serial(own)}"
        parts.append(text.rstrip() + "\n\n" + words.markdown(["rows", *(f"{machine} {what}" for machine, what in names), *theirs], lines))
        if (problem, degree) == (1, 1):
            parts += crossings(own)
    have = {key for key, _ in each_problem(rows)}
    lacking = [f"problem {p}, degree {d}" for p in (1, 2, 3) for d in (1, 2, 3) if (p, d) not in have]
    return parts + ([f"Not measured here: {'; '.join(lacking)}.\n"] if lacking else [])


def paper_medians(folder):
    """{(problem, degree, rows): {solver: seconds}} of the shared table."""
    found = {}
    with open(os.path.join(folder, "fig7_medians.md"), encoding="utf-8") as file:
        cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in file if line.startswith("|")]
    for line in cells[2:]:
        row = dict(zip(cells[0], line))
        found[int(row["prob"]), int(row["deg"]), int(float(row["n"]))] = row
    return found


def medians(rows, folder, words):
    """The paper's medians for every problem beside the fastest rows of the same size; None without the data."""
    if not folder:
        return None
    lines = []
    for (problem, degree, n), paper in sorted(paper_medians(folder).items()):
        own = [row for row in rows if row["rows"] == n and problem_of(row) and problem_of(row)[:2] == (problem, degree) and row["value"] and row["status"] == "converged"]
        def least(test):
            best = min((row for row in own if test(row)), key=lambda row: row["value"], default=None)
            return "-" if best is None else f"{best['value']:.3g} ({best['machine']} {best['what']})"
        projections = lambda row: row["what"].startswith(("carpcg", "cimmino")) or row["what"].startswith("cgmnc-")
        lines.append([str(problem), str(degree), str(n), paper["carp_cgspecificarchitecture"], least(projections), paper["cgmnc"],
                      least(lambda row: row["what"] == "cgmnc"), paper["eigen_bicgstab"], least(lambda row: row["what"].startswith("bicgstab")), paper["eigen_direct"],
                      paper["cusolverspecificarchitecture"], least(lambda row: not row["what"].startswith(("bicgstab", "carpcg", "cimmino", "cgmnc")))])
    return "The paper's medians of problems 1, 2 and 3 (degree 1), seconds, each beside our fastest of that kind.\n\n" + \
        words.markdown(["problem", "degree", "rows", "paper: GPU CARP-CG", "parallel projections", "paper: CGMNC", "serial cgmnc", "paper: BiCGStab", "bicgstab",
                        "paper: SparseLU", "paper: cuDSS", "direct"], lines)


def with_bars(script, curves):
    """Adds the quantiles of `curves`, [(index of the curve, [(x, low, high)])], as error bars."""
    head, _, data = script.partition("plot ")
    plots, _, points = data.partition("\n")
    while plots.endswith("\\"):
        more, _, points = points.partition("\n")
        plots += "\n" + more
    for index, bars in curves:
        plots += f", \\\n  '-' using 1:2:3:4 with yerrorbars pointtype 0 linecolor {index + 1} notitle"
        points += "".join(f"{x:.8g} {y:.8g} {low:.8g} {high:.8g}\n" for x, y, low, high in bars) + "e\n"
    return head + "plot " + plots + "\n" + points


WIDER = ("size 820,520", "size 1060,620")


def plots_solves(folder, rows, words):
    made = []
    for (problem, degree), every in each_problem(rows):
        own = [row for row in every if row["value"] and row["status"] == "converged"]
        curves, bars = [], []
        for i, key in enumerate(sorted(words.unique((row["machine"], row["what"]) for row in own), key=lambda name: MACHINES.index(name[0]))):
            line = sorted((row for row in own if (row["machine"], row["what"]) == key), key=lambda row: row["rows"])
            curves.append((" ".join(key), f"linespoints linewidth 1.5 linecolor {i + 1}", [(row["rows"], row["value"]) for row in line]))
            found = [(row["rows"], row["value"], row["quantile5"], row["quantile95"]) for row in line
                     if (row.get("runs") or 0) > 1 and row.get("quantile5") and row.get("quantile95")]
            bars += [(i, found)] if found else []
        if (problem, degree) == (1, 1):
            curves += [(name, f"lines dashtype {i + 2} linewidth 1.5 linecolor 'gray40'", [(n, found[i]) for n, found in sorted(C_MEDIANS.items())]) for i, name in enumerate(C_CURVES)]
        axes = ["set logscale xy", "set xlabel 'rows'", f"set ylabel {words.quoted('seconds to 1e-9' + (', median where there are several runs' if bars else ''))}", "set format y '10^{%L}'"]
        title = f"{device_of(own or every)}: as Figure 7 of paper C, problem {problem}, degree {degree}"
        if curves:
            made.append((f"{folder}-paper-c-fig7-{problem}-{degree}.svg", f"Figure 7: problem {problem}, degree {degree}", with_bars(words.plot_script(title, axes, curves).replace(*WIDER), bars)))
    return made


# ---- CARP-CG against CGMNC ----

def ratios(rows):
    """{kind of block: [(ratio, matrix, n, machine, over what)]} of CARP-CG's steps over CGMNC's, from counts and from solves."""
    found, base = {}, {}
    for row in rows:
        if row["figure"] == "fig7" and row["what"] in ("cgmnc", "cgmnc-colours") and row["status"] == "converged" and (row["what"] == "cgmnc" or row["matrix"] not in base):
            base[row["matrix"]] = row["iterations"], row["what"]
    for row in rows:
        if not row["what"].startswith("carp") or row["figure"] not in ("counts", "fig7"):
            continue
        if row["figure"] == "counts":
            over, ratio, ended = row["over"] or "cgmnc", row["over_cgmnc"], row["value"] is not None and (row["status"] or "converged") == "converged"
        else:
            steps, over = base.get(row["matrix"], (None, None))
            ratio, ended = (row["iterations"] / steps if steps and row["iterations"] else None), row["status"] == "converged"
        if ratio and ended:
            found.setdefault(row["what"], []).append((ratio, row["matrix"], row["rows"], row["machine"], over))
    return found


def worst_ratios(rows, words):
    lines = []
    for kind, own in sorted(ratios(rows).items()):
        ratio, matrix, n, machine, over = max(own)
        lines.append([kind, f"{ratio:.3f}", matrix, str(n), machine, over, str(len(own)), "yes" if ratio <= 2.5 else "**no**"])
    return words.markdown(["blocks", "largest ratio", "matrix", "n", "machine", "over", "rows of the kind", "at most 2.5"], lines)


def counts(rows, words):
    own = [row for row in rows if row["figure"] == "counts"]
    names, cells = words.unique(row["what"] for row in own), {(row["matrix"], row["what"]): row for row in own}
    lines = []
    for matrix in words.unique(row["matrix"] for row in own):
        line = [matrix, str(next(row["rows"] for row in own if row["matrix"] == matrix))]
        for name in names:
            row = cells.get((matrix, name))
            ratio = row and row.get("over_cgmnc")
            line.append("-" if not row or row["value"] is None else f"{row['value']:.0f}" + (f" ({ratio:.2f})" if ratio and name != "cgmnc" else ""))
        lines.append(line)
    parts = ["The largest of all rows, those of Figure 7 among them, by kind of block:\n\n" + worst_ratios(rows, words)]
    if own:
        parts.append("`-`: not there within the time of a line. With one row a block every unknown has a copy for each of its rows, and an average moves it by so many times less, "
                     "which the rule's lambda (-rule) makes up for in part.\n\n" + words.markdown(["matrix", "rows", *names], lines))
    return parts


# ---- the sections ----

def of_figure(*names):
    return lambda row: row["bench"] == "kaczmarz" and row["figure"] in names


def of_steps(row):
    """Rows that a ratio of CARP-CG to CGMNC comes from."""
    return row["bench"] == "kaczmarz" and (row["figure"] == "counts" or (row["figure"] == "fig7" and row["what"].startswith(("carp", "cgmnc"))))


# (heading, about the paper's form, which rows, table, plots, what is compared with data that not everybody has)
SECTIONS = [
    ("Figure 4: banded matrices", "Sweeps a second of a banded matrix (d = 200000, b = 2, the paper: 50000 sweeps, means of 5 runs) and of one made banded by reverse Cuthill-McKee, in "
     "schemes S1 and S2; L1 residuals after the sweeps.", of_figure("fig4"), banded, plots_banded, None),
    ("Table 3: sweeps by the order of the rows", "Problem 2, degree 1, n = 361345, 10000 sweeps. GB/s: the sweep's own least traffic.", of_figure("table3"), table_3, None, None),
    ("Figure 5: the residual by the order of the rows", "L1 norm of the residual; the paper: down by less than 10 % in 30000 sweeps.", of_figure("fig5"), orders, plots_orders, None),
    ("Figure 6: steps by lambda", "The paper: least between 0.35 and 0.6, lower for higher degrees.", of_figure("fig6"), lambdas, plots_lambdas, ("figure 6 against the shared steps", compared)),
    ("Figure 7: time by size", "Seconds to 1e-9; the paper: medians of 10 to 1000 runs, with 5th and 95th percentiles.", of_figure("fig7"), solves, plots_solves,
     ("figure 7 beside the shared medians", medians)),
    ("Steps of CARP-CG over CGMNC's", "Products weighted by the copies, to 1e-9 (bar: 2.5 times CGMNC's).", of_steps, counts, None, None)]
