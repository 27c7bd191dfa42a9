"""papers_relax.py - docs/papers.md: tables and figures of paper A, from rows of kaon bench async and faults.

A is Anzt, Tomov, Dongarra, Heuveline, "A block-asynchronous relaxation method for graphics processing units" (2012). Each
table takes the rows of one device; `words` are performance.py's helpers.
"""

from papers_rows import against, blank, count, each_matrix, file_name, name_of, of, residual
from papers_variations import COUNTED, LOG_Y, OTHER, falling, plots_statistics, shifts_of, statistics

# What the paper prints.
A_RHO = {"Chem97ZtZ": 0.7889, "fv1": 0.8541, "fv2": 0.8541, "fv3": 0.9993, "Trefethen_2000": 0.8601, "Trefethen_20000": 0.8601}
A_CONDITION = {"Chem97ZtZ": (1.3e3, 7.2e3), "fv1": (9.3e4, 12.76), "fv2": (9.5e4, 12.76), "fv3": (3.6e7, 4.4e3), "Trefethen_2000": (5.1e4, 6.1579),
               "Trefethen_20000": (5.1e4, 6.1579)}  # as printed: of A, of D^-1 A
A_OVERHEAD = {2: (4.0, 4.7), 9: (29.8, 36.5)}  # per cent more than async-(1), after 100 and 500 iterations
A_SECONDS = {"Chem97ZtZ": (0.008448, 0.002051, 0.001742), "fv1": (0.120191, 0.019449, 0.012964), "fv3": (0.125577, 0.021009, 0.014737),
             "Trefethen_2000": (0.007603, 0.001494, 0.001305)}  # an iteration: Gauss-Seidel (CPU), Jacobi (GPU), async-(5) (GPU)
A_ASYNC_5 = {"Trefethen_2000": 28}  # iterations of async-(5) to 1e-12 (Figure 7), where they are fewer than the synchronous method's
A_AHEAD_OF_ASYNC = {"fv1": ("cg",), "fv3": ("cg",), "Chem97ZtZ": (), "Trefethen_2000": ()}  # Figure 9: what is faster than async-(5) to the end
A_RECOVERY = {("fv1", 10): 8.16, ("fv1", 20): 19.50, ("fv1", 30): 31.66, ("Trefethen_2000", 10): 8.16, ("Trefethen_2000", 20): 11.45,
              ("Trefethen_2000", 30): 16.61}


def condition(row, key, text):
    """A condition number, or a lower bound said as such."""
    return (">= " if row.get(key + "_bound") else "") + blank(row.get(key), text)


def primes(n):
    """The first n."""
    end = 20 + n * (n.bit_length() + 1)
    free = bytearray([1]) * end
    free[:2] = b"\0\0"
    for i in range(2, int(end ** 0.5) + 1):
        if free[i]:
            free[i * i::i] = bytes(len(range(i * i, end, i)))
    return [i for i in range(end) if free[i]][:n]


def trefethen_column(n, at=1):
    """|D^-1 A|_1 times the sum of one column of (D^-1 A)^-1: at most cond_1. A: primes, and ones where |i - j| is a power of 2. By CG with D."""
    diagonal = primes(n)
    strides = [1 << k for k in range(n.bit_length()) if 1 << k < n]

    def product(x):
        y = [d * v for d, v in zip(diagonal, x)]
        for k in strides:
            y = [a + b for a, b in zip(y, x[k:] + [0.0] * k)]
            y = [a + b for a, b in zip(y, [0.0] * k + x[:n - k])]
        return y

    r = [float(diagonal[at]) if i == at else 0.0 for i in range(n)]
    x, z = [0.0] * n, [v / d for v, d in zip(r, diagonal)]
    p, rz = z, sum(map(float.__mul__, r, z))
    first = rz
    while rz > 1e-14 * first:
        q = product(p)
        a = rz / sum(map(float.__mul__, p, q))
        x, r = [u + a * v for u, v in zip(x, p)], [u - a * v for u, v in zip(r, q)]
        z = [v / d for v, d in zip(r, diagonal)]
        before, rz = rz, sum(map(float.__mul__, r, z))
        p = [u + rz / before * v for u, v in zip(z, p)]
    inverse = [1 / d for d in diagonal]
    sums = [1 + sum(inverse[j - k] for k in strides if j >= k) + sum(inverse[j + k] for k in strides if j + k < n) for j in range(n)]
    return max(sums) * sum(map(abs, x))


def conditions(rows):
    """Where and why the conditions are others than the paper's, in a sentence each."""
    own = [(name_of(row), row, A_CONDITION.get(name_of(row).replace("trefethen:", "Trefethen_"))) for row in rows if row["cond1"]]
    apart = [f"{name} {row['cond1']:.4g} ({paper[0]:.2g})" for name, row, paper in own if paper and not 0.95 < row["cond1"] / paper[0] < 1.05]
    texts = ["Computed: |M|_1 |M^-1|_1, the first factor exactly, the second from below, by solves that go from column to column of M^-1 (Hager, Higham)."] if own else []
    if apart:
        texts.append(f"Of A these are other numbers than the paper's: {', '.join(apart)}; what it computed there is not known.")
    for name, row, paper in own:
        if not paper or "refethen" not in name or not row["cond1_scaled"]:
            continue
        column = trefethen_column(row["rows"])
        if column > 1.001 * row["cond1_scaled"]:
            ours = f"{name}, D^-1 A: {row['cond1_scaled']:.4f} is below the condition: the ascent ended at another column than the second, which alone gives {column:.4f}"
            texts.append(ours + (", the paper's number." if abs(column - paper[1]) < 1e-4 else f" (the paper: {paper[1]:.4f}, as for 2000 rows)."))
    return [" ".join(texts) + "\n"] if texts else []


def properties(rows, words):
    """Table 1."""
    lines = []
    for row in rows:
        s = row["spectrum"]
        low, high = s.get("lambda_low", s.get("low")), s.get("lambda_high", s.get("high"))
        printed = name_of(row).replace("trefethen:", "Trefethen_")
        paper = A_CONDITION.get(printed, (None, None))
        lines.append([name_of(row), str(row["rows"]), str(row["entries"]), condition(row, "cond1", "{:.4g}"), blank(paper[0], "{:.2g}"),
                      condition(row, "cond1_scaled", "{:.5g}"), blank(paper[1], "{:.5g}"), f"{high / low:.4g}" if low and high else "-", blank(s.get("rho"), "{:.4f}"),
                      blank(s.get("rho_absolute"), "{:.4f}"), blank(A_RHO.get(printed), "{:.4f}")])
    norms = [] if all("cond1" in row for row in rows) else ["Conditions in the 1-norm: not measured where there is a `-`.\n"]
    norms += [f"{name_of(row)}, {key}: {row[key + '_note']}{', a lower bound' if row.get(key + '_bound') else ''}.\n"
              for row in rows for key in ("cond1", "cond1_scaled") if row.get(key + "_note")]
    return [words.markdown(["matrix", "n", "nnz", "cond_1(A)", "paper's", "cond_1(D^-1 A)", "paper's", "cond_2(D^-1 A)", "rho(B)", "rho(abs B)", "paper's rho"],
                           lines)] + norms + conditions(rows)


# ---- Figures 6 and 7 ----

A_BLOCKS = ("async", "two")
WANTED = ("fv1", "fv3", "Chem97ZtZ", "Trefethen_2000", "bar")


def lacking(rows):
    """Which of the matrices have no rows, in a sentence."""
    gone = [name for name in WANTED if name not in {name_of(row) for row in rows}]
    return [f"Not measured here: {', '.join(gone)}.\n"] if gone else []


def beside_synchronous(rows, words, synchronous, asynchronous):
    """What asynchrony by launches changes in the counts of a device, in sentences."""
    same, apart, lines = [], [], {}
    for name, own in each_matrix(of(rows, "async-rate"), words):
        by = {row["method"]: row for row in own}
        if {synchronous, asynchronous} <= by.keys() and by[synchronous]["to_1e-12"] and by[asynchronous]["to_1e-12"]:
            lines[name] = row = by[asynchronous]
            counts = by[synchronous]["to_1e-12"], row["to_1e-12"]
            if counts[0] == counts[1]:
                same.append(f"{name} {counts[0]}")
            else:
                seen = " with no shift counted, so values newer than that were read" if counts[1] < counts[0] and row["newest"] == row["oldest"] == row.get("newest_after", 0) == 0 else ""
                early = " (the same to 1e-8)" if row["to_1e-8"] == by[synchronous]["to_1e-8"] else ""
                apart.append(f"{name} {counts[1]} to {counts[0]}{early}{seen}")
    if not same or rows[0]["backend"] != "cuda":
        return []
    text = f"to 1e-12 {asynchronous} by launches takes as many iterations as the synchronous method ({synchronous}) on {', '.join(same)}: the device holds all blocks at once, " \
           "and they have read before one writes."
    text += f" Others, asynchronous to synchronous: {'; '.join(apart)}." if apart else ""
    text += " The paper's conclusion, about as many as Jacobi's, holds." if synchronous == "jacobi" else ""
    gains = [f"{name} {paper} to the {lines[name]['to_1e-12']} of both here" for name, paper in A_ASYNC_5.items()
             if asynchronous == "async-(k)" and any(part.startswith(name + " ") for part in same) and paper < lines[name]["to_1e-12"]]
    if gains:
        text = OTHER + text + f" What the paper gained by reading what others had just written comes of fewer blocks at a time, on its 14 multiprocessors: {', '.join(gains)}."
    return [text[0].upper() + text[1:] + "\n"]


def iterations(wanted, synchronous, asynchronous):
    def table(rows, words):
        lines = [[name_of(row), row["method"] + (f", {row['block']} x {row['local_sweeps']}" if row["method"].startswith(A_BLOCKS) else ""),
                  count(row["to_1e-4"]), count(row["to_1e-8"]), count(row["to_1e-12"]), shifts_of(row), residual(row),
                  row["status"]] for row in rows if row["bench"] == "async-rate" and row["method"] in wanted]
        return [words.markdown(["matrix", "method", "to 1e-4", "1e-8", "1e-12", "shifts seen", "residual", "status"], lines)] + \
            beside_synchronous(rows, words, synchronous, asynchronous) + lacking(of(rows, "async-rate"))
    return table


FIGURE_6 = ("jacobi", "gauss-seidel", "async-(1)")
FIGURE_7 = ("jacobi", "gauss-seidel", "two-stage", "async-(k)", "async-(k) free")

def rate_curves(rows, matrix):
    """Residuals by iteration: the histories where rows have them, of table rate before those of time, else the three points of a table."""
    made = {}
    for row in of(rows, "async-rate"):
        if name_of(row) == matrix:
            made[row["method"]] = [(0, 1.0)] + [(row[f"to_{y}"], float(y)) for y in ("1e-4", "1e-8", "1e-12") if row[f"to_{y}"]]
    for what in ("time", "rate"):
        for row in of(rows, "relax-history"):
            if row["what"] == what and name_of(row) == matrix:
                made.update({name: falling(curve) for name, curve in row["curves"].items()})
    return made


def plots_rate(figure, wanted):
    def plots(folder, rows, words):
        made, device = [], rows[0]["device"]
        for matrix in words.unique(name_of(row) for row in of(rows, "async-rate")):
            curves = rate_curves(rows, matrix)
            thin = [] if any(row["bench"] == "relax-history" and name_of(row) == matrix for row in rows) else ["set label 'three points of each' at graph 0.02,0.04"]
            own = [(name, "linespoints pointinterval 20" if len(curves[name]) > 9 else "linespoints", curves[name]) for name in wanted if curves.get(name)]
            script = words.plot_script(f"{matrix}, {device}: as Figure {figure} of paper A", [*LOG_Y, "set xlabel 'global iterations'"], own, thin)
            made.append((f"{folder}-paper-a-fig{figure}-{file_name(matrix)}.svg", f"Figure {figure}: {matrix}", script))
        return made
    return plots


# ---- Table 4 ----

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


# ---- Table 5, Figures 8 and 9 ----

def paces(name, by):
    """What an iteration takes by launches beside Jacobi's, with the residual of each and without, in a sentence."""
    jacobi, launches, free = (by.get(key) for key in ("jacobi", "async, launches", "async, free"))
    if not jacobi or not launches:
        return ""
    k = launches["local_sweeps"]
    text = f"{name}, an iteration: async-({k}) by launches {1e6 * seconds_of(launches):.3g} us with the residual of each, Jacobi {1e6 * seconds_of(jacobi):.3g}: " \
           f"{against(seconds_of(launches), seconds_of(jacobi))}"
    if launches.get("seconds_sweep") and jacobi.get("seconds_sweep"):
        text += f"; without residuals {1e6 * launches['seconds_sweep']:.3g} and {1e6 * jacobi['seconds_sweep']:.3g}: {against(launches['seconds_sweep'], jacobi['seconds_sweep'])}"
    if free:
        text += f"; free-running {1e6 * seconds_of(free):.3g}: {against(seconds_of(free), seconds_of(jacobi))}"
    return text + "."


def whole(name, by):
    """Time to the tolerance, in a sentence."""
    free = by.get("async, free")
    others = [(key, by[key]) for key in ("jacobi", "async, launches", "gauss-seidel, one core", "cg") if key in by]
    if not free or not others or free["status"] != "converged":
        return ""
    spoken = {"jacobi": "Jacobi", "async, launches": "by launches", "gauss-seidel, one core": "Gauss-Seidel on one core", "cg": "CG"}
    texts = [f"{against(free['seconds'], row['seconds'])} than {spoken[key]}" + ("" if row["status"] == "converged" else f" (which ended as {row['status']})") for key, row in others]
    return f"{name} to {free['tol']:g}: free-running async-({free['local_sweeps']}) takes {1e3 * free['seconds']:.3g} ms, " + ", ".join(texts) + "."


def faster_where(found, key, of_what):
    """Matrices on which async by launches is faster than Jacobi, and the rest."""
    both = [(name, key(by["async, launches"]), key(by["jacobi"])) for name, by in found.items() if "async, launches" in by and "jacobi" in by]
    both = [(name, a, b) for name, a, b in both if a and b]
    ahead, behind = [name for name, a, b in both if a < b], [name for name, a, b in both if a >= b]
    if not both:
        return ""
    return f"{of_what}, async by launches is faster an iteration than Jacobi on {', '.join(ahead) or 'none'}; slower on {', '.join(behind) or 'none'}."


def span(parts):
    low, high = f"{min(parts):.2f}", f"{max(parts):.2f}"
    return low if low == high else f"{low} to {high}"


def table_5_holds(found):
    """The paper's order of async-(5) and Jacobi an iteration, beside ours with residuals and without."""
    theirs = {name: A_SECONDS[name][1] / A_SECONDS[name][2] for name in found if name in A_SECONDS}
    texts, other = [], False
    for key, of_what in ((seconds_of, "with the residual of each"), (lambda row: row.get("seconds_sweep"), "without residuals")):
        ratio = {}
        for name in theirs:
            a, b = (found[name].get(method) for method in ("async, launches", "jacobi"))
            if a and b and key(a) and key(b):
                ratio[name] = key(b) / key(a)
        holds, fails = [name for name in ratio if ratio[name] > 1], [name for name in ratio if ratio[name] <= 1]
        other = other or bool(fails)
        if ratio:
            texts.append(f"{of_what} this " + (f"holds on {', '.join(holds)} ({span([ratio[name] for name in holds])} times faster)" if holds else "holds on none") +
                         (f"{' and not' if holds else ': not'} on {', '.join(fails)} ({span([1 / ratio[name] for name in fails])} times slower)" if fails else ""))
    if not texts:
        return ""
    return f"{OTHER if other else ''}an iteration of async-(5) is faster than Jacobi's there on all of these ({span(list(theirs.values()))} times); by launches {'; '.join(texts)}."


def figure_9_holds(found):
    """What is ahead of asynchronous relaxation to the tolerance, beside the paper's."""
    spoken, texts = {"jacobi": "Jacobi", "cg": "CG", "gauss-seidel, one core": "Gauss-Seidel on one core"}, []
    for name, ahead in A_AHEAD_OF_ASYNC.items():
        by = found.get(name, {})
        free = by.get("async, free")
        for method, word in spoken.items():
            row = by.get(method)
            if free and row and free["status"] == row["status"] == "converged" and (row["seconds"] < free["seconds"]) != (method in ahead):
                texts.append(f"{name}: {word} is {against(row['seconds'], free['seconds'])} than free-running async-({free['local_sweeps']}), in the paper "
                             f"{'faster' if method in ahead else 'slower'}")
    return f"{OTHER}to the end (its Figure 9), {'; '.join(texts)}." if texts else ""


def times(rows, words):
    """Table 5, and the figures behind Figures 8 and 9."""
    lines, found = [], {}
    for name, own in each_matrix(of(rows, "async-time"), words):
        found[name] = {row["method"]: row for row in own}
        gs, jacobi, block = A_SECONDS.get(name, (None, None, None))
        theirs = {"jacobi": jacobi, "gauss-seidel, one core": gs, "async, launches": block}
        for row in own:
            paper = theirs.get(row["method"])
            lines.append([name, row["method"], str(row["iterations"]), words.number(1e3 * row["seconds"]), words.number(1e6 * seconds_of(row)) if row["iterations"] else "-",
                          "-" if not row.get("seconds_sweep") else words.number(1e6 * row["seconds_sweep"]), "-" if paper is None else words.number(1e6 * paper),
                          shifts_of(row), row["status"]])
    table = words.markdown(["matrix", "method", "iterations", "ms", "us an iteration", "us a sweep alone", "paper's us an iteration", "shifts seen", "status"], lines)
    if all(row["backend"] == "cpu" for row in rows):
        return [table] + lacking(of(rows, "async-time"))
    sentences = [faster_where(found, seconds_of, "With a residual taken in each iteration"), faster_where(found, lambda row: row.get("seconds_sweep"), "Without residuals")]
    sentences.append(table_5_holds(found))
    sentences += [paces(name, by) for name, by in found.items()] + [whole(name, by) for name, by in found.items()] + [figure_9_holds(found)]
    return [table, "\n".join("- " + text for text in sentences if text) + "\n"] + lacking(of(rows, "async-time"))


CURVES = {"jacobi": "jacobi", "gauss-seidel, one core": "gauss-seidel", "two-stage": "two-stage", "async, launches": "async-(k)", "async, free": "async-(k) free", "cg": "cg"}


def plots_time(folder, rows, words):
    """Figure 9: histories by the mean time of an iteration; of CG its end where rows have no history of it."""
    made, device = [], rows[0]["device"]
    for matrix, every in each_matrix(of(rows, "async-time"), words):
        curves = rate_curves(rows, matrix)
        seconds = {CURVES[row["method"]]: seconds_of(row) for row in every if row["method"] in CURVES and row["iterations"]}
        own = [(name, "lines linewidth 2", [(1e3 * x * seconds[name], y) for x, y in curves[name] if x > 0]) for name in curves if name in seconds]
        for row in every:
            if row["method"] == "cg" and "cg" not in curves and row["residual"]:
                own.append((f"cg, its end alone ({row['iterations']} steps)", "points pointtype 7 pointsize 1.3", [(1e3 * row["seconds"], row["residual"])]))
        if own:
            script = words.plot_script(f"{matrix}, {device}: as Figure 9 of paper A", [*LOG_Y, "set logscale x", "set xlabel 'milliseconds (iterations times the mean time of one)'"], own)
            made.append((f"{folder}-paper-a-fig9-{file_name(matrix)}.svg", f"Figure 9: {matrix}", script))
    return made


def no_history(rows, words):
    """Figure 9 in words."""
    have = [name for name in words.unique(name_of(row) for row in of(rows, "async-time")) if "cg" not in rate_curves(rows, name)]
    return [f"No history of CG in the rows of {', '.join(have)}: its end alone is drawn.\n"] if have else []


# ---- faults ----

def recoveries(rows, words):
    """Table 6, Figure 10."""
    lines, rows = [], of(rows, "faults-recovery")
    for row in rows:
        kind = "no fault" if row["share"] == 0 else f"recover-({row['recovery']})" if row["recovery"] else "by the monitor" if row["repair"] else "never"
        paper = A_RECOVERY.get((name_of(row), row["recovery"])) if row["share"] else None
        lines.append([name_of(row), kind, str(row["iterations"]), f"{row['more_iterations']:+.1f}", f"{row['more_seconds']:+.1f}",
                      "-" if paper is None else f"{paper:+.2f}", residual(row), row["status"], str(row["alarms"]),
                      "-" if row["first_alarm"] < 0 else str(row["first_alarm"])])
    given = [row for row in rows if row["share"] and (row["recovery"] or row["repair"])]
    ended = sum(row["status"] == "converged" for row in given)
    text = f"A quarter of the rows frozen from iteration 10 on: more iterations and time than without, per cent. {ended} of {len(given)} recoveries " \
           "end at the same tolerance, the later the dearer; without one the residual stays where it is and the status says so. The paper's Trefethen figures are " \
           "below ours: a synchronous emulation needs 27, 58 and 88 % more iterations there too, so another measure must have been meant."
    if any(row["more_seconds"] < -3 for row in given if row["backend"] == "cuda"):
        text += " (Times below 0: the solve without faults was the first of the process and has in its time what is done once.)"
    return [text + "\n\n" +
            words.markdown(["matrix", "given back", "iterations", "more, %", "more time, %", "paper, %", "residual", "status", "alarms", "the first at"], lines)]


def flips(rows, words):
    lines = [[name_of(row), f"{row['flip_rate']:.0e}", "yes" if row["repair"] else "no", str(row["flips"]), str(row["alarms"]), str(row["rollbacks"]),
              str(row["iterations"]), residual(row), row["status"]] for row in rows]
    return [words.markdown(["matrix", "rate", "repaired", "flips", "alarms", "copies put back", "iterations", "residual", "status"], lines)]


def plots_faults(folder, rows, words):
    made = []
    for row in rows:
        if row["bench"] == "relax-history" and row["what"] == "faults":
            own = [(name, "lines linewidth 2", falling(curve)) for name, curve in row["curves"].items()]
            own = [(name, style, [p for p in points if p[0] <= 200]) for name, style, points in own]
            script = words.plot_script(f"{name_of(row)}, {row['device']}: as Figure 10 of paper A", [*LOG_Y, "set xlabel 'global iterations'"], own)
            made.append((f"{folder}-paper-a-fig10-{file_name(name_of(row))}.svg", f"Figure 10: {name_of(row)}", script))
    return made


# ---- Figure 11 ----

WAYS = {"amc": "AMC, by memory of the host", "dc": "DC, rows copied into the others' memory behind each iteration", "dk": "DK, others read rows where they are",
        "push": "push, each block stores into all that read it", "sync": "sync, by the products that take residuals"}


def words_of(row):
    """How the ranks' rows travelled."""
    return str(row["exchange"]).lower()


def runs_apart(rows):
    """Whether rows of one device and of several are of one run, in a sentence."""
    one, more = ({row["commit"]: None for row in rows if (row["ranks"] == 1) == alone} for alone in (True, False))
    if not one or not more or list(one) == list(more):
        return []
    return [f"Rows of one device are of {', '.join(one)}, those of several of {', '.join(more)}: \"times faster than one\" divides across these runs, by driver."]


def amc_holds(rows):
    """AMC on several devices beside one, in a sentence."""
    alone = {}
    for row in rows:
        if row["ranks"] == 1:
            alone[row["driver"]] = min(row["seconds"], alone.get(row["driver"], row["seconds"]))
    parts, two = {}, []
    for row in rows:
        if words_of(row) == "amc" and row["driver"] in alone and row["ranks"] > 1 and row["status"] == "converged":
            parts.setdefault(row["ranks"], []).append(alone[row["driver"]] / row["seconds"])
            two += [alone[row["driver"]] / row["seconds"]] if row["ranks"] == 2 else []
    if not parts or not two or max(two) >= 1:
        return []
    best = max((alone[row["driver"]] / row["seconds"], row["ranks"], words_of(row), row["driver"]) for row in rows
               if row["ranks"] > 1 and row["driver"] in alone and row["status"] == "converged")
    speeds = ", ".join(f"on {ranks} {span(found)}" for ranks, found in sorted(parts.items()))
    return [f"{OTHER}by memory of the host (AMC) several devices are slower than one, {speeds} of its speed, where the paper's two take almost half the time of one; " \
           f"the most that several gain is {best[0]:.2f} ({best[2]}, {best[3]}, {best[1]} devices): {1e6 * min(row['seconds_iteration'] for row in rows if row['ranks'] == 1):.3g} us " \
           "an iteration of one device leave little for a way through the host."]


def figure_11(rows, words):
    """Time to the tolerance by devices and way of exchanging."""
    lines = []
    for name, own in each_matrix(rows, words):
        for row in sorted(own, key=lambda r: (r["ranks"], words_of(r), r["driver"])):
            alone = [other["seconds"] for other in own if other["ranks"] == 1 and other["driver"] == row["driver"]]
            lines.append([name, str(row["ranks"]), WAYS.get(words_of(row), words_of(row)), row["driver"], str(row["iterations"]),
                          words.number(1e3 * row["seconds"]), words.number(1e6 * row["seconds_iteration"]),
                          f"{min(alone) / row['seconds']:.2f}" if alone else "-", f"{row['rank_newest']} to {row['rank_oldest']}",
                          residual(row), row["status"]])
    text = "Each rank's rows stay in its own memory, in every way; the paper's DC and DK keep all of x on a master GPU, to and from which others copy (DC) or whose memory " \
           "their kernels read and write (DK)."
    for ranks in sorted({row["ranks"] for row in rows if row["ranks"] > 1}):
        own = [row for row in rows if row["ranks"] == ranks and row["status"] == "converged"]
        best = min(own, key=lambda r: r["seconds"], default=None)
        text += f" Fastest of {ranks} devices: {words_of(best)} ({best['driver']}), {1e3 * best['seconds']:.3g} ms." if best else ""
    more = [sentence for _, own in each_matrix(rows, words) for sentence in amc_holds(own)] + runs_apart(rows)
    counts = {row["ranks"] for row in rows}
    missing = [str(n) for n in (1, 2, 3, 4) if n not in counts]
    text += f" Not measured: {', '.join(missing)} devices." if missing else ""
    return ["\n\n".join([text, *more]) + "\n\n" + words.markdown(["matrix", "devices", "exchange", "driver", "iterations", "ms", "us an iteration", "times faster than one",
                                            "shifts across ranks", "residual", "status"], lines)]


def plots_11(folder, rows, words):
    made = []
    for matrix, every in each_matrix(rows, words):
        own = [row for row in every if row["status"] == "converged"]
        curves = []
        for way, driver in words.unique((words_of(row), row["driver"]) for row in own if row["ranks"] > 1):
            points = {}
            for row in own:
                if row["driver"] == driver and (words_of(row) == way or row["ranks"] == 1):
                    points[row["ranks"]] = min(1e3 * row["seconds"], points.get(row["ranks"], 1e99))
            curves.append((f"{way}, {driver}", f"linespoints linewidth 1.5 dashtype {2 if driver == 'launch' else 1}", sorted(points.items())))
        if curves:
            most = max(row["ranks"] for row in own)
            axes = ["set xlabel 'devices'", "set ylabel 'milliseconds to the tolerance'", "set yrange [0:*]", "set xtics 1", f"set xrange [0.8:{max(most, 2)}.2]"]
            made.append((f"{folder}-paper-a-fig11-{file_name(matrix)}.svg", f"Figure 11: {matrix}",
                         words.plot_script(f"{matrix}, {own[0]['device']}: as Figure 11 of paper A", axes, curves)))
    return made


# ---- the sections ----

def of_bench(*names, what=None):
    return lambda row: row["bench"] in names or (row["bench"] == "relax-history" and row["what"] in (what or ()))


# (heading, about the paper's form, which rows, of which there must be some, table, plots)
SECTIONS = [
    ("Table 1: properties of the matrices", "The paper's conditions of D^-1 A are those of the 1-norm; that of A and that of D^-1 A ought to be one number for fv1, whose diagonal is constant. cond_2, rho(B) and rho(abs B) are estimates from below.", of_bench("async-props"), "async-props", properties, None),
    ("Tables 2 and 3, Figure 5: variations between runs", "The paper: 1000 runs on 14 multiprocessors, fv1 (Table 2) and Trefethen_2000 (Table 3)." + COUNTED,
     of_bench("async-stat"), "async-stat", statistics, plots_statistics),
    ("Figure 6: iterations of async-(1)", "Iterations to a residual. The paper's, to 1e-12: fv1 175 Jacobi, 94 Gauss-Seidel; Trefethen_2000 167, 18; fv3 41701, 20851; Chem97ZtZ 110, 55; "
     "async-(1) near Jacobi, all diverging on s1rmt3m1, for which bar stands in; fv2 and s1rmt3m1 themselves: not measured. async-(k): blocks x local sweeps." + COUNTED,
     of_bench("async-rate", what=("rate",)), "async-rate", iterations(FIGURE_6, "jacobi", "async-(1)"), plots_rate(6, FIGURE_6)),
    ("Figure 7: iterations of async-(5)", "As Figure 6, what is said of shifts too. The paper's async-(5): fv1 about 100, Trefethen_2000 28, fv3 about 12000, Chem97ZtZ 110.",
     of_bench("async-rate", what=("rate",)), "async-rate", iterations(FIGURE_7, "two-stage", "async-(k)"), plots_rate(7, FIGURE_7)),
    ("Table 4: the cost of local sweeps", "fv3, seconds of 100 to 500 iterations and what local sweeps add.", of_bench("async-overhead"), "async-overhead", overheads, None),
    ("Table 5, Figure 8: time of an iteration", "The paper's have copies to and from the host in them: Gauss-Seidel on the CPU, Jacobi and async-(5) on the GPU.",
     of_bench("async-time"), "async-time", times, None),
    ("Figure 9: residual by time", "Histories of Figures 6 and 7 times the mean time of an iteration in Table 5.", of_bench("async-time", "async-rate", what=("rate", "time")),
     "async-time", no_history, plots_time),
    ("Table 6, Figure 10: recovery", "A quarter of the rows lost at iteration 10, given back after 10, 20, 30 or never.", of_bench("faults-recovery", what=("faults",)),
     "faults-recovery", recoveries, plots_faults),
    ("Silent errors", "Not in the paper: bits of x that flip at a rate a row and iteration, found by the convergence monitor; repaired: the last good copy is put back.",
     of_bench("faults-flips"), "faults-flips", flips, None),
    ("Figure 11: several devices", "Time to the tolerance. The paper's, four C2070 on PCI: AMC halves the time on two, is slower on three than on two and hardly faster on four; DC "
     "and DK gain little.", of_bench("async-figure11"), "async-figure11", figure_11, plots_11)]
