"""papers.py - docs/papers.md: the tables and figures of two papers, from rows of kaon bench async, faults and kaczmarz.

Used by performance.py, whose helpers it is handed as `words`; it makes no file of its own accord. A is Anzt, Tomov, Dongarra,
Heuveline, "A block-asynchronous relaxation method for graphics processing units" (2012); C is Faroux, Fukala, Herfarth, Hug,
Zeiter, "Kaczmarz-inspired CUDA solvers for LSEs arising from PDEs" (ETH Zurich 2024).
"""

import math

KINDS = ("async-", "faults-", "relax-history", "kaczmarz")

# What the papers print, for the cells that are compared.
A_STAT = {("Trefethen_2000", 5): 8.02e-4, ("Trefethen_2000", 10): 8.43e-6, ("Trefethen_2000", 20): 9.30e-10,
          ("Trefethen_2000", 30): 1.03e-13, ("fv1", 10): 7.83e-2, ("fv1", 30): 5.14e-4}
A_RHO = {"Chem97ZtZ": 0.7889, "fv1": 0.8541, "fv2": 0.8541, "fv3": 0.9993, "Trefethen_2000": 0.8601, "Trefethen_20000": 0.8601}
A_OVERHEAD = {2: (4.0, 4.7), 9: (29.8, 36.5)}  # per cent more than async-(1), after 100 and 500 iterations
A_SECONDS = {"Chem97ZtZ": (0.008448, 0.002051, 0.001742), "fv1": (0.120191, 0.019449, 0.012964), "fv3": (0.125577, 0.021009, 0.014737),
             "Trefethen_2000": (0.007603, 0.001494, 0.001305)}  # an iteration: Gauss-Seidel (CPU), Jacobi (GPU), async-(5) (GPU)
A_RECOVERY = {("fv1", 10): 8.16, ("fv1", 20): 19.50, ("fv1", 30): 31.66, ("Trefethen_2000", 10): 8.16, ("Trefethen_2000", 20): 11.45,
              ("Trefethen_2000", 30): 16.61}
C_TABLE3 = {"none": 53.0, "sections": 78.4, "random": 132.0, "cuda": 77.6}  # seconds of 10000 sweeps
C_MEDIANS = {  # problem 1, degree 1: rows: GPU CARP-CG, CGMNC, BiCGStab (Eigen), direct (Eigen), direct (cuDSS)
    30: (0.0156, 6.45e-06, 2.17e-06, 7.24e-06, 0.0101), 103: (0.0763, 6.45e-05, 1.56e-05, 4.59e-05, 0.0107),
    381: (0.137, 0.000833, 0.000155, 0.000525, 0.012), 1465: (0.144, 0.0136, 0.00124, 0.00338, 0.0185),
    5745: (0.649, 0.283, 0.0085, 0.0174, 0.0374), 22753: (3.89, 5.07, 0.0598, 0.105, 0.109),
    90561: (55.8, 72.2, 0.371, 0.828, 0.375), 361345: (861, 1.53e+03, 9.6, 7.24, 1.63)}
C_CURVES = ("paper: GPU CARP-CG", "paper: CGMNC", "paper: BiCGStab", "paper: SparseLU", "paper: cuDSS")

HEAD = """# Tables and figures of the papers on relaxation and on projections
{made}

The papers: **A**, Anzt, Tomov, Dongarra, Heuveline, *A block-asynchronous relaxation method for graphics processing units* (2012): Fermi C2070,
two Xeon E5540. **C**, Faroux, Fukala, Herfarth, Hug, Zeiter, *Kaczmarz-inspired CUDA solvers for LSEs arising from PDEs* (ETH Zurich 2024): RTX A1000
notebook GPU, Ryzen 7 PRO 7840HS. Numbers of theirs stand beside ours where the same thing was measured; other programs' machines are other machines.
Above each set of tables stand the commands that made its rows; the file holds all digits. Made from `bench/results` by `make performance`; the same rows as CSV: `--csv FILE`, and
every iteration of the histories: `--histories FILE.csv` (async, faults).
"""

BUSY = "Measured on two cores that other work shared, so **counts are to be trusted here and times are not**.\n"


def is_paper(run):
    return all(row["bench"].startswith(KINDS) for row in run.rows)


def of(rows, bench):
    return [row for row in rows if row["bench"] == bench]


def name_of(row):
    return row["matrix"].replace(".mtx", "")


def exponent(x):
    return "-" if x is None else f"{x:.3e}"


def residual(row):
    """Not finite ones are null in JSON."""
    return "not finite" if row["residual"] is None else f"{row['residual']:.1e}"


def count(x):
    return "-" if x is None else str(x)


def blank(x, text):
    return "-" if x is None else text.format(x)


def each_matrix(rows, words):
    return [(name, [row for row in rows if name_of(row) == name]) for name in words.unique(name_of(row) for row in rows)]


# ---- paper A ----

def properties(rows, words):
    """Table 1."""
    lines = []
    for row in rows:
        s = row["spectrum"]
        low, high = s.get("lambda_low", s.get("low")), s.get("lambda_high", s.get("high"))
        condition = f"{high / low:.4g}" if low and high else "-"
        lines.append([name_of(row), str(row["rows"]), str(row["entries"]), condition, f"{s['rho']:.4f}",
                      f"{s['rho_absolute']:.4f}", blank(A_RHO.get(name_of(row)), "{:.4f}")])
    return "**Table 1**, properties (2-norm condition of D^-1 A; the paper prints another norm's).\n\n" + \
        words.markdown(["matrix", "n", "nnz", "cond(D^-1 A)", "rho(B)", "rho(abs B)", "paper's rho"], lines)


A_BANDS = {"Trefethen_2000": 0.10, "fv1": 0.03}  # how far averages may be from the paper's


def band(name, own):
    """Whether averages are within the bands, "" where the paper prints none of them."""
    off = [row["average"] / A_STAT[name, row["iteration"]] - 1 for row in own if (name, row["iteration"]) in A_STAT]
    if not off:
        return ""
    worst = max(off, key=abs)
    return f" Averages at most {100 * abs(worst):.1f} % {'above' if worst > 0 else 'below'} the paper's (band: {100 * A_BANDS[name]:.0f} %)."


def statistics(rows, words):
    """Tables 2 and 3, Figure 5."""
    parts = []
    drivers = [(name, row.get("driver", "launch")) for name, own in each_matrix(rows, words) for row in own]
    for name, driver in words.unique(drivers):
        own = [row for row in rows if name_of(row) == name and row.get("driver", "launch") == driver]
        first, last = own[0], own[-1]
        lines = []
        for row in own:
            mean, span = row["average"], row["maximum"] - row["minimum"]
            lines.append([str(row["iteration"]), exponent(mean), blank(A_STAT.get((name, row["iteration"])), "{:.2e}"), exponent(row["maximum"]),
                          exponent(row["minimum"]), exponent(span), exponent(span / mean if mean else None), exponent(row["variance"]),
                          exponent(row["deviation"]), exponent(row["error"])])
        share = first.get("asynchronous")
        how = "without barriers" if driver == "free" else "a launch an iteration"
        about = f"**Table {'3' if 'refethen' in name else '2'}**, {name}, {how}: residuals of {first['runs']} runs, blocks of {first['block']} rows, " \
                f"{first['local_sweeps']} local sweeps; shifts {last['newest']} to {last['oldest']}" + \
                (f", {100 * share:.1f} % of the reads not those of a synchronous iteration" if share is not None else "") + "." + band(name, own) + "\n\n"
        parts.append(about + words.markdown(["iterations", "average", "paper", "max.", "min.", "abs. var.", "rel. var.", "variance",
                                             "std. deviation", "std. error"], lines))
        if first.get("shifts"):
            parts.append("Reads by shift (the reader's iterations less those of the block it reads): " +
                         ", ".join(f"{shift}: {reads}" for shift, reads in sorted(first["shifts"].items(), key=lambda item: int(item[0]))) + ".\n")
        if driver == "launch" and first["backend"] == "cpu":
            parts.append("Processors hold no such number of blocks at once: in each run the blocks begin in another order, drawn by its seed, and all but one of them read before "
                         "one writes.\n")
        if driver == "launch" and first["backend"] == "cuda" and "together" in first:
            parts.append(f"{first['together']} thread blocks, fewer than there are blocks of rows, take these by tickets as they get done: the device would hold them all at "
                         "once, and then all read before one writes (variance 0: the synchronous two-stage method).\n")
        if all(row["variance"] == 0 for row in own) and first["backend"] == "cuda":
            blocks = -(-first["rows"] // first["block"])
            parts.append(f"**Another conclusion than the paper's:** all {blocks} blocks of {name} are resident on this device at once and read before any of them "
                         "writes, so a launch an iteration is the synchronous two-stage method: the variance of the runs is exactly 0 and no read has a shift, where 14 "
                         "multiprocessors gave the paper relative variations of 1e-3 (fv1) and 20 % (Trefethen_2000). Averages within the paper's bands therefore say nothing "
                         "about asynchrony here. The free-running kernel is the asynchronous one: its lags stand with Figures 7 and 9.\n")
    return parts


def iterations(rows, words):
    """Figures 6 and 7 as a table."""
    lines = [[name_of(row), row["method"] + (f", {row['block']} x {row['local_sweeps']}" if row["method"].startswith(("async", "two")) else ""),
              count(row["to_1e-4"]), count(row["to_1e-8"]), count(row["to_1e-12"]), f"{row['newest']} to {row['oldest']}", residual(row),
              row["status"]] for row in rows]
    return "**Figures 6 and 7**, iterations to a residual (the paper: fv1 175 Jacobi, 94 Gauss-Seidel, about 100 async-(5); Trefethen_2000 167, 18, 28; " \
           "fv3 41701, 20851, about 12000; Chem97ZtZ 110, 55, 110). async-(k): blocks x local sweeps.\n\n" + \
        words.markdown(["matrix", "method", "to 1e-4", "1e-8", "1e-12", "shifts seen", "residual", "status"], lines)


def overheads(rows, words):
    """Table 4."""
    parts = []
    for name, own in each_matrix(rows, words):
        lengths = sorted({row["iterations"] for row in own})
        lines = []
        for k in sorted({row["local_sweeps"] for row in own}):
            cells = {row["iterations"]: row for row in own if row["local_sweeps"] == k}
            lines.append([f"async-({k})"] + [f"{1e3 * cells[n]['seconds']:.4g} ({100 * cells[n]['overhead']:+.1f} %)" if n in cells else "-" for n in lengths] +
                         ["{:.1f} to {:.1f} %".format(*A_OVERHEAD[k]) if k in A_OVERHEAD else "-"])
        parts.append(f"**Table 4**, {name}, blocks of {own[0]['block']}: milliseconds of so many iterations, and more than with one local sweep.\n\n" +
                     words.markdown(["", *map(str, lengths), "the paper's"], lines))
        worst = {k: max(row["overhead"] for row in own if row["local_sweeps"] == k) for k in (2, 9)}
        text = f"At most {100 * worst[2]:.1f} % more with 2 sweeps (bar: 5 %), {100 * worst[9]:.1f} % with 9 (bar: 36.5 %)."
        if worst[9] > 0.365:
            one = min((row for row in own if row["local_sweeps"] == 1), key=seconds_of)
            nine = min((row for row in own if row["local_sweeps"] == 9), key=seconds_of)
            text += f" **Another conclusion than the paper's:** local sweeps do not come almost for free here. An iteration of async-(1) takes {1e6 * seconds_of(one):.2g} us " \
                    f"(fv3 in the paper: 11 ms), and each further sweep {1e6 * (seconds_of(nine) - seconds_of(one)) / 8:.2g} us: what a block waits for its own sweeps is no " \
                    "longer small beside reading the matrix."
        parts.append(text + "\n")
    return parts


def seconds_of(row):
    return row["seconds"] / row["iterations"] if row["iterations"] else None


def times(rows, words):
    """Table 5, and the figures behind Figures 8 and 9."""
    lines, notes = [], []
    for name, own in each_matrix(rows, words):
        by = {row["method"]: row for row in own}
        for row in own:
            lines.append([name, row["method"], str(row["iterations"]), words.number(1e3 * row["seconds"]), words.number(1e6 * seconds_of(row)),
                          "-" if not row.get("seconds_sweep") else words.number(1e6 * row["seconds_sweep"]), f"{row['newest']} to {row['oldest']}",
                          row["status"]])
        jacobi, free, cg, core = (by.get(key) for key in ("jacobi", "async, free", "cg", "gauss-seidel, one core"))
        if jacobi and free:
            text = f"{name} to {jacobi['tol']:g}: free-running async-({free['local_sweeps']}) takes {1e3 * free['seconds']:.3g} ms, " \
                   f"{jacobi['seconds'] / free['seconds']:.1f} times faster than Jacobi"
            text += f", {core['seconds'] / free['seconds']:.1f} times faster than Gauss-Seidel on one core" if core else ""
            if cg:
                ratio = cg["seconds"] / free["seconds"]
                text += f", and {ratio:.1f} times faster than CG (the paper's CG was ahead on fv1)" if ratio > 1 else f"; CG is {1 / ratio:.1f} times faster still"
            notes.append(text + ".")
    papers = "; ".join(f"{name} {gs:g}, {jacobi:g}, {block:g}" for name, (gs, jacobi, block) in A_SECONDS.items())
    if all(row["backend"] == "cpu" for row in rows):
        notes = []
    return "**Table 5**, seconds an iteration, and to the tolerance. The paper's seconds an iteration (with copies to and from the host: Gauss-Seidel on the CPU, " \
           f"Jacobi, async-(5) on the GPU): {papers}.\n\n" + \
        words.markdown(["matrix", "method", "iterations", "ms", "us an iteration", "us a sweep alone", "shifts seen", "status"], lines) + \
        "\n" + "\n".join(notes) + "\n"


def recoveries(rows, words):
    """Table 6, Figure 10."""
    lines = []
    for row in rows:
        kind = "no fault" if row["share"] == 0 else f"recover-({row['recovery']})" if row["recovery"] else "by the monitor" if row["repair"] else "never"
        paper = A_RECOVERY.get((name_of(row), row["recovery"])) if row["share"] else None
        lines.append([name_of(row), kind, str(row["iterations"]), f"{row['more_iterations']:+.1f}", f"{row['more_seconds']:+.1f}",
                      "-" if paper is None else f"{paper:+.2f}", residual(row), row["status"], str(row["alarms"]),
                      "-" if row["first_alarm"] < 0 else str(row["first_alarm"])])
    given = [row for row in rows if row["share"] and (row["recovery"] or row["repair"])]
    ended = sum(row["status"] == "converged" for row in given)
    text = f"**Table 6, Figure 10**, a quarter of the rows frozen from iteration 10 on: more iterations and time than without, per cent. {ended} of {len(given)} recoveries " \
           "end at the same tolerance, the later the dearer; without one the residual stays where it is and the status says so. The paper's Trefethen figures are " \
           "below ours: a synchronous emulation needs 27, 58 and 88 % more iterations there too, so another measure must have been meant."
    if any(row["more_seconds"] < -3 for row in given if row["backend"] == "cuda"):
        text += " (Times below 0: the solve without faults was the first of the process and has in its time what is done once.)"
    return text + "\n\n" + \
        words.markdown(["matrix", "given back", "iterations", "more, %", "more time, %", "paper, %", "residual", "status", "alarms", "the first at"], lines)


def flips(rows, words):
    lines = [[name_of(row), f"{row['flip_rate']:.0e}", "yes" if row["repair"] else "no", str(row["flips"]), str(row["alarms"]), str(row["rollbacks"]),
              str(row["iterations"]), residual(row), row["status"]] for row in rows]
    return "**Silent errors**, bits of x that flip at a rate a row and iteration, found by the convergence monitor; repaired: the last good copy is put back.\n\n" + \
        words.markdown(["matrix", "rate", "repaired", "flips", "alarms", "copies put back", "iterations", "residual", "status"], lines)


WAYS = {"amc": "AMC, by host memory", "dc": "DC, copies to and from the first", "dk": "DK, the first's memory in the kernel", "push": "push to all"}


def words_of(row):
    """How the ranks' rows travelled."""
    return str(row["exchange"]).lower()


def figure_11(rows, words):
    """Time to the tolerance by devices and way of exchanging; rows of one device stand in every way's place."""
    lines = []
    for name, own in each_matrix(rows, words):
        for row in sorted(own, key=lambda r: (r["ranks"], words_of(r), r["driver"])):
            alone = [other["seconds"] for other in own if other["ranks"] == 1 and other["driver"] == row["driver"]]
            lines.append([name, str(row["ranks"]), WAYS.get(words_of(row), words_of(row)), row["driver"], str(row["iterations"]),
                          words.number(1e3 * row["seconds"]), words.number(1e6 * row["seconds_iteration"]),
                          f"{min(alone) / row['seconds']:.2f}" if alone else "-", f"{row['rank_newest']} to {row['rank_oldest']}",
                          residual(row), row["status"]])
    several = [row for row in rows if row["ranks"] > 1 and row["status"] == "converged"]
    text = "**Figure 11**, time to the tolerance on several devices. The paper's, four C2070 on PCI: AMC halves the time on two, is slower on three than on two " \
           "and hardly faster on four; DC and DK gain little."
    if several:
        best = min(several, key=lambda r: r["seconds"])
        text += f" Here the fastest of several is {WAYS.get(words_of(best), words_of(best))} ({best['driver']}) on {best['ranks']}."
    return text + "\n\n" + words.markdown(["matrix", "devices", "exchange", "driver", "iterations", "ms", "us an iteration", "times faster than one",
                                           "shifts across ranks", "residual", "status"], lines)


def paper_a(rows, words):
    parts = []
    for bench, table in (("async-props", properties), ("async-rate", iterations), ("async-time", times), ("faults-recovery", recoveries), ("faults-flips", flips),
                         ("async-figure11", figure_11)):
        if of(rows, bench):
            parts.append(table(of(rows, bench), words))
    if of(rows, "async-stat"):
        parts[1:1] = statistics(of(rows, "async-stat"), words)
    if of(rows, "async-overhead"):
        parts += overheads(of(rows, "async-overhead"), words)
    return parts


LOG_Y = ["set logscale y", "set format y '10^{%L}'", "set yrange [1e-15:10]", "set ylabel '|b - A x| / |b|'"]


def falling(points):
    """[(x, residual)] where there is one to draw."""
    return [(x, y) for x, y in points if y and 0 < y < 1e3]


def rate_curves(rows, matrix):
    """Residuals by iteration: the histories where rows have them, else the three points of a table."""
    found = [row for row in rows if row["bench"] == "relax-history" and row["what"] == "rate" and name_of(row) == matrix]
    if found:
        return {name: falling(curve) for name, curve in found[0]["curves"].items()}
    made = {}
    for row in of(rows, "async-rate"):
        if name_of(row) == matrix:
            made[row["method"]] = [(0, 1.0)] + [(row[f"to_{y:.0e}".replace("e-0", "e-")], y) for y in (1e-4, 1e-8, 1e-12)
                                                if row[f"to_{y:.0e}".replace("e-0", "e-")]]
    return made


def time_of_iteration(rows, matrix):
    """Seconds an iteration, by the names of the curves."""
    names = {"jacobi": "jacobi", "gauss-seidel, one core": "gauss-seidel", "two-stage": "two-stage", "async, launches": "async-(k)", "async, free": "async-(k) free"}
    return {names[row["method"]]: seconds_of(row) for row in of(rows, "async-time") if name_of(row) == matrix and row["method"] in names}


def plots_a(folder, rows, words):
    made, device = [], rows[0]["device"]
    for matrix in words.unique(name_of(row) for row in of(rows, "async-rate")):
        curves = rate_curves(rows, matrix)
        thin = [] if any(row["bench"] == "relax-history" for row in rows) else ["set label 'three points of each' at graph 0.02,0.04"]
        for figure, wanted in ((6, ("jacobi", "gauss-seidel", "async-(1)")), (7, ("jacobi", "gauss-seidel", "two-stage", "async-(k)", "async-(k) free"))):
            own = [(name, "linespoints pointinterval 20" if len(curves[name]) > 9 else "linespoints", curves[name]) for name in wanted if curves.get(name)]
            script = words.plot_script(f"{matrix}, {device}: as Figure {figure} of paper A", [*LOG_Y, "set xlabel 'global iterations'"], own, thin)
            made.append((f"{folder}-paper-a-fig{figure}-{matrix.replace(':', '-')}.svg", f"Figure {figure}: {matrix}", script))
        seconds = time_of_iteration(rows, matrix)
        own = [(name, "lines linewidth 2", [(1e3 * x * seconds[name], y) for x, y in curves[name]]) for name in curves if name in seconds]
        for row in of(rows, "async-time"):
            if name_of(row) == matrix and row["method"] == "cg":
                own.append((f"cg, its end ({row['iterations']} steps)", "points pointtype 7 pointsize 1.3", [(1e3 * row["seconds"], row["residual"])]))
        if own and seconds:
            script = words.plot_script(f"{matrix}, {device}: as Figure 9 of paper A", [*LOG_Y, "set logscale x", "set xlabel 'milliseconds (iterations times the mean time of one)'"], own)
            made.append((f"{folder}-paper-a-fig9-{matrix.replace(':', '-')}.svg", f"Figure 9: {matrix}", script))
    for matrix, every in each_matrix(of(rows, "async-figure11"), words):
        own = [row for row in every if row["status"] == "converged"]
        ways = words.unique((words_of(row), row["driver"]) for row in own if row["ranks"] > 1)
        curves = []
        for way, driver in ways:
            points = [(row["ranks"], 1e3 * row["seconds"]) for row in own if row["driver"] == driver and (words_of(row) == way or row["ranks"] == 1)]
            curves.append((f"{way}, {driver}", "linespoints linewidth 1.5", sorted(points)))
        if curves:
            axes = ["set xlabel 'devices'", "set ylabel 'milliseconds to the tolerance'", "set yrange [0:*]", "set xtics 1"]
            made.append((f"{folder}-paper-a-fig11-{matrix.replace(':', '-')}.svg", f"Figure 11: {matrix}", words.plot_script(f"{matrix}, {device}: as Figure 11 of paper A", axes, curves)))
    for row in rows:
        if row["bench"] == "relax-history" and row["what"] == "faults":
            own = [(name, "lines linewidth 2", falling(curve)) for name, curve in row["curves"].items()]
            own = [(name, style, [p for p in points if p[0] <= 200]) for name, style, points in own]
            script = words.plot_script(f"{name_of(row)}, {device}: as Figure 10 of paper A", [*LOG_Y, "set xlabel 'global iterations'"], own)
            made.append((f"{folder}-paper-a-fig10-{name_of(row).replace(':', '-')}.svg", f"Figure 10: {name_of(row)}", script))
    return made


# ---- paper C ----

def figure(rows, name):
    """Of figure 7, which one command measures, those of the command that ran last."""
    own = [row for row in rows if row["bench"] == "kaczmarz" and row["figure"] == name]
    last = max(own, key=lambda row: row["measured"])["command"] if own and name == "fig7" else None
    return [row for row in own if last is None or row["command"] == last]


def share_of(row, words):
    return words.percent(row["ideal_gbs"] / row["limit_gbs"]) if row.get("ideal_gbs") and row.get("limit_gbs") else "-"


def sweeps(rows, title, words):
    lines = []
    for row in rows:
        at = "" if row["figure"] != "table3" else blank(C_TABLE3.get("cuda" if row["machine"] == "cuda" and row["what"] == "sections" else row["what"]) if
                                                        row["machine"] != "cpu-openmp" and (row["machine"] != "cuda" or row["what"] == "sections") else None, "{:g}")
        lines.append([row["matrix"] + (", RCM" if row.get("rcm") else ""), row["machine"], row["what"], str(row["rows"]), str(row["classes"]), str(row["sweeps"]),
                      words.number(row["value"]), words.number(1e4 / row["value"]), *([at] if row["figure"] == "table3" else []), words.number(row["ideal_gbs"]),
                      share_of(row, words), f"{row['residual_l1']:.5g}"])
    more = ["the paper's"] if rows[0]["figure"] == "table3" else []
    return title + words.markdown(["matrix", "machine", "order", "rows", "classes", "sweeps", "sweeps/s", "s for 10000", *more, "GB/s", "of streaming reads",
                                   "L1 of b - A x"], lines)


def counts(rows, words):
    names = words.unique(row["what"] for row in rows)
    cells = {(row["matrix"], row["what"]): row for row in rows}
    lines, worst = [], {}
    for matrix in words.unique(row["matrix"] for row in rows):
        line = [matrix, str(next(row["rows"] for row in rows if row["matrix"] == matrix))]
        for name in names:
            row = cells.get((matrix, name))
            ratio = row and row.get("over_cgmnc")
            line.append("-" if not row or row["value"] is None else f"{row['value']:.0f}" + (f" ({ratio:.2f})" if ratio and name != "cgmnc" else ""))
            if ratio and (name not in worst or ratio > worst[name][0]):
                worst[name] = ratio, matrix
        lines.append(line)
    text = "; ".join(f"{name} {ratio:.2f} ({matrix})" for name, (ratio, matrix) in worst.items() if name.startswith("carp"))
    return "**Steps of CARP-CG**, with products weighted by the copies, to 1e-9 and over CGMNC's (bar: 2.5). At most: " + text + ". `-`: not there within the time of a line. " \
        "One row a block, every unknown has a copy for each of its rows: 7 of them in degree 1, 12 in degree 2, 18 in degree 3, and an average moves it by so many times less; " \
        "steps grow by the root of that, which the rule's lambda (-rule) makes up for in part.\n\n" + \
        words.markdown(["matrix", "rows", *names], lines)


def lambdas(rows, words):
    """Figure 6."""
    xs = sorted({row["x"] for row in rows})
    lines = []
    for matrix in words.unique(row["matrix"] for row in rows):
        own = {row["x"]: row["value"] for row in rows if row["matrix"] == matrix}
        least = min((y for y in own.values() if y), default=None)
        lines.append([matrix, str(next(row["rows"] for row in rows if row["matrix"] == matrix))] +
                     [f"{own[x]:.0f} ({own[x] / least:.2f})" if own.get(x) else "-" for x in xs])
    return "**Figure 6**, steps of Cimmino-CG (the paper's GPU CARP-CG) by lambda, and over the least.\n\n" + \
        words.markdown(["matrix", "rows", *(f"{x:.2f}" for x in xs)], lines)


def against_serial(rows):
    """From how many rows on the device's projections are ahead of CGMNC on one core; "" without a device."""
    best, serial = {}, {row["rows"]: row["value"] for row in rows if (row["machine"], row["what"]) == ("cpu-serial", "cgmnc") and row["value"]}
    for row in rows:
        if row["machine"] == "cuda" and row["value"] and row["status"] == "converged" and row["what"].startswith(("cgmnc", "carpcg", "cimmino")) and row["rows"] in serial:
            best[row["rows"]] = min(best.get(row["rows"], (math.inf, "")), (row["value"], row["what"]))
    if not best:
        return ""
    return " Serial CGMNC over the fastest projections of the device: " + \
        ", ".join(f"{n} rows {serial[n] / seconds:.2g} ({what})" for n, (seconds, what) in sorted(best.items())) + "."


def solves(rows, words):
    """Figure 7."""
    names = words.unique((row["machine"], row["what"]) for row in rows)
    lines = []
    for n in sorted({row["rows"] for row in rows}):
        cells = {(row["machine"], row["what"]): row for row in rows if row["rows"] == n}
        line = [str(n)]
        for key in names:
            row = cells.get(key)
            if not row:
                line.append("-")
            elif row["value"] is None:
                line.append(f"over time at {row['iterations']}, {residual(row)}")
            elif row["status"] != "converged":
                line.append(f"{row['status']} at {row['iterations']}, {residual(row)}")
            else:
                line.append(f"{row['value']:.3g}" + (f" ({row['iterations']})" if row["iterations"] else ""))
        lines.append(line + ([f"{x:g}" for x in C_MEDIANS[n]] if n in C_MEDIANS else ["-"] * len(C_CURVES)))
    return "**Figure 7**, median seconds to 1e-9 (steps). Direct solvers: analysis, factors and solution." + against_serial(rows) + "\n\n" + \
        words.markdown(["rows", *(f"{machine} {what}" for machine, what in names), *C_CURVES], lines)


def paper_c(rows, words):
    parts = []
    if figure(rows, "fig4"):
        parts.append(sweeps(figure(rows, "fig4"), "**Figure 4**, sweeps a second of banded matrices, in schemes S1 and S2; L1 residuals after so many sweeps.\n\n", words))
    if figure(rows, "table3"):
        parts.append(sweeps(figure(rows, "table3"), "**Table 3**, sweeps over problem 2, degree 1 by the order of the rows. GB/s: the sweep's own least traffic.\n\n", words))
    for name, table in (("fig6", lambdas), ("fig7", solves), ("counts", counts)):
        if figure(rows, name):
            parts.append(table(figure(rows, name), words))
    return parts


def plots_c(folder, rows, words):
    made, device = [], next((row["device"] for row in rows if row["machine"] == "cuda"), rows[0]["device"])
    own = figure(rows, "fig4")
    if own:
        bars = [(f"{row['machine'].replace('cpu-', '')} {row['what']}" + (" (RCM)" if row.get("rcm") else ""), row["value"]) for row in own]
        ticks = ", ".join(f"{words.quoted(name)} {i}" for i, (name, _) in enumerate(bars))
        axes = [f"set xtics ({ticks}) rotate by 25 right", "set ylabel 'sweeps a second'", "set logscale y", f"set xrange [-1:{len(bars)}]", "set boxwidth 0.6",
                "set style fill solid 0.7"]
        made.append((f"{folder}-paper-c-fig4.svg", "Figure 4", words.plot_script(f"{device}: as Figure 4 of paper C", axes,
                                                                                  [("sweeps/s", "boxes", [(i, y) for i, (_, y) in enumerate(bars)])])))
    own = figure(rows, "fig5")
    if own:
        curves = [(name, "linespoints", sorted((row["x"], row["value"]) for row in own if row["what"] == name)) for name in words.unique(row["what"] for row in own)]
        made.append((f"{folder}-paper-c-fig5.svg", "Figure 5", words.plot_script(f"{own[0]['matrix']}, {device}: as Figure 5 of paper C",
                                                                                  ["set xlabel 'sweeps'", "set ylabel 'L1 norm of b - A x'"], curves)))
    own = figure(rows, "fig6")
    if own:
        curves = []
        for name in words.unique(row["matrix"] for row in own):
            points = [(row["x"], row["value"]) for row in own if row["matrix"] == name and row["value"]]
            least = min((y for _, y in points), default=1)
            curves.append((name, "linespoints", [(x, y / least) for x, y in sorted(points)]))
        made.append((f"{folder}-paper-c-fig6.svg", "Figure 6", words.plot_script(f"{device}: as Figure 6 of paper C",
                                                                                  ["set xlabel 'lambda'", "set ylabel 'steps over the least'", "set yrange [0.95:2]"], [c for c in curves if c[2]])))
    own = [row for row in figure(rows, "fig7") if row["value"]]
    if own:
        curves = [(f"{machine} {what}", "linespoints linewidth 1.5", sorted((row["rows"], row["value"]) for row in own if (row["machine"], row["what"]) == (machine, what)))
                  for machine, what in words.unique((row["machine"], row["what"]) for row in own)]
        if all(row["matrix"].startswith("fem:1,1,") for row in own):
            curves += [(name, f"lines dashtype 2 linecolor {i + 1}", [(n, found[i]) for n, found in sorted(C_MEDIANS.items())]) for i, name in enumerate(C_CURVES)]
        axes = ["set logscale xy", "set xlabel 'rows'", "set ylabel 'seconds to 1e-9, median'", "set format y '10^{%L}'"]
        made.append((f"{folder}-paper-c-fig7.svg", "Figure 7", words.plot_script(f"{device}: as Figure 7 of paper C", axes, curves)))
    return made


# ---- the page ----

def started(row):
    """The row's command, and what started its ranks."""
    ranks = row.get("ranks") or 1
    return f"mpirun -np {ranks} {row['command']}" if ranks > 1 else row["command"]


def block(folder, runs, parts, plots, busy):
    """Commands and files, tables, pictures of one device."""
    every = [row for run in runs for row in run.rows]
    device = next((row["device"] for row in every if row["backend"] == "cuda"), every[0]["device"])
    text = [f"### {device} (`bench/results/{folder}`)\n"] + ([BUSY] if busy else [])
    for run in runs:
        commands = list(dict.fromkeys(started(row) for row in run.rows if row.get("command")))
        text.append(f"Commit {run.commit}, {run.date}; `{run.path}`:\n\n```\n" + "\n".join(commands) + "\n```\n")
    text += parts
    text += [f"![{device}: {what}](plots/{name})\n" for name, what, _ in plots]
    return text


def page(folders, words):
    """(text, {plot's file name: gnuplot script}) of docs/papers.md."""
    parts, scripts = [HEAD.format(made=words.MADE)], {}
    for title, tables, plots, wanted in (("Paper A: block-asynchronous relaxation", paper_a, plots_a, lambda row: row["bench"] != "kaczmarz"),
                                         ("Paper C: Kaczmarz and CARP-CG", paper_c, plots_c, lambda row: row["bench"] == "kaczmarz")):
        parts.append(f"## {title}\n")
        for folder, every in folders.items():
            runs = [run for run in every if is_paper(run) and any(wanted(row) for row in run.rows)]
            rows = [row for run in runs for row in run.rows if wanted(row)]
            if not rows:
                continue
            drawn = [plot for plot in plots(folder, rows, words) if plot[2]]
            parts += block(folder, runs, tables(rows, words), drawn, folder.startswith("cpu-"))
            scripts.update({name: script for name, _, script in drawn})
    return "\n".join(parts), scripts
