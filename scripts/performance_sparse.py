"""performance_sparse.py - tables of docs/performance.md for rows on sparse matrices (`matrix` in the place of `lattice`)."""


def is_sparse(row):
    return bool(row.get("matrix"))


def form(row):
    """The stored form; in rows of spmv_times also how many threads share a row, and whether sums are taken."""
    text = row.get("format") or row["form"]
    lanes = f", {row['lanes']} lanes" if row.get("lanes") else ""
    return text + lanes + (", with sums" if row.get("sums") else "")


def products(rows, words):
    """A line a matrix, format and precision; a column a number of columns."""
    columns = sorted({row["columns"] for row in rows})
    lines = {}
    for row in rows:
        key = (row["matrix"], f"{row['rows']}", f"{row['entries']}", form(row), row["precision"], str(row.get("ranks") or 1))
        share = words.share(row)
        lines.setdefault(key, {})[row["columns"]] = words.number(row["ideal_gbs"]) + (f" ({share})" if share else "")
    return words.markdown(["matrix", "rows", "entries", "format", "precision", "ranks",
                           *(f"GB/s, {n} column{'s' if n > 1 else ''}" for n in columns)],
                          [[*key, *(cells.get(n, "-") for n in columns)] for key, cells in lines.items()])


def beside_cusparse(rows, words):
    """Where the library's own choice was measured: it, the best of its forms and the best of cuSPARSE's, in microseconds, without sums."""
    cells = {}
    for row in rows:
        if row.get("form") and not row.get("sums"):
            cells.setdefault((row["matrix"], row["precision"], row["columns"]), []).append((1e6 * row["seconds"], row["form"]))
    lines = []
    for (matrix, precision, columns), times in cells.items():
        peer = min((t for t in times if t[1].startswith("cusparse")), default=None)
        own = min((t for t in times if t[1].startswith("auto ")), default=None)
        best = min(t for t in times if not t[1].startswith("cusparse"))
        if peer and own:
            lines.append([matrix, precision, str(columns), f"{words.number(own[0])} ({own[1][len('auto '):]})", f"{words.number(best[0])} ({best[1]})",
                          f"{words.number(peer[0])} ({peer[1][len('cusparse '):]})", f"{peer[0] / own[0]:.2f}"])
    return [words.markdown(["matrix", "precision", "columns", "chosen by rule, us", "best of all, us", "cuSPARSE's best, us", "times faster"], lines)] if lines else []


def preconditioner(row):
    given = row.get("preconditioner")
    return given["kind"] if isinstance(given, dict) else str(given or "none")


def solves(rows, words):
    """A line a solve; vectors are what a step reads and writes besides its products."""
    lines = []
    delayed = any(row.get("reduce_delay") for row in rows)
    ahead = any(row.get("exchanges_ahead") for row in rows)
    ways = len({row.get("transport") for row in rows if (row.get("ranks") or 1) > 1}) > 1
    for row in rows:
        moved = "-" if row.get("vectors_read") is None else f"{row['vectors_read']:g} + {row['vectors_written']:g}"
        step = row.get("bytes_step")
        rate = words.number(1e-3 * step / row["step_microseconds"]) if step and row.get("step_microseconds") else "-"
        lines.append([row["matrix"], row["method"], preconditioner(row), row["precision"], row.get("regime") or "auto",
                      str(row.get("ranks") or 1), *([row.get("transport") or "-"] if ways else []), *([row.get("overlap") or "-"] if ahead else []), str(row["columns"]), *([words.number(1e6 * (row["reduce_delay"] or 0))] if delayed else []),
                      str(row["iterations"]), words.number(row["seconds"]), words.number(row["step_microseconds"]), moved, rate,
                      words.percent(row.get("cpu_share")), words.number(row.get("joules")), f"{row['residual']:.1e}", row["status"]])
    return words.markdown(["matrix", "method", "preconditioner", "precision", "regime", "ranks", *(["transport"] if ways else []), *(["overlap"] if ahead else []), "columns",
                           *(["delay of sums, us"] if delayed else []), "steps", "seconds", "us a step", "vectors", "GB/s", "CPU", "joules",
                           "residual", "status"], lines)


# ---- regimes: the tables of the paper on dynamic parallelism ----

def ran(row):
    """What was asked for, and what it came to where that is something else."""
    asked, came = row["regime_asked"], row["regime"]
    return asked if asked == came else f"{asked} (ran as {came})"


def energy(row):
    """Of device and, where that is known, processors; None: not known."""
    return None if row.get("joules") is None else row["joules"] + (row.get("host_joules") or 0)


def case(row):
    return row["matrix"], row["precision"], row["method"], preconditioner(row)


def signed(x):
    return "n/a" if x is None else f"{x:+.2f}"


BASELINE = ("cublas", "polling")


def varied(rows):
    """The rows with their variations against the baseline, which a run that was ended early has not worked out."""
    base = {case(row): row for row in rows if (row["regime_asked"], row["sync"]) == BASELINE}
    found = []
    for row in rows:
        row, first = dict(row), base.get(case(row))
        if row.get("time_percent") is None and first:
            row["time_percent"] = 100 * (row["seconds_mean"] / first["seconds_mean"] - 1)
            if energy(row) is not None and energy(first):
                row["energy_percent"] = 100 * (energy(row) / energy(first) - 1)
        found.append(row)
    return found


def summed_up(rows):
    """The rows of Table 2 of a run that was ended before it made them: over the matrices that it has."""
    groups, made = {}, []
    for row in varied(rows):
        groups.setdefault((row["precision"], row["method"], preconditioner(row), row["sync"], row["regime_asked"]), []).append(row)
    for (precision, method, precond, sync, regime), own in groups.items():
        new = {"precision": precision, "method": method, "precond": precond, "sync": sync, "regime": regime, "cases": len(own),
               "baseline_regime": BASELINE[0], "baseline_sync": BASELINE[1]}
        for what in ("time", "energy"):
            known = [row[f"{what}_percent"] for row in own if row.get(f"{what}_percent") is not None]
            new[f"{what}_min"] = min(known, key=abs) if known else None
            new[f"{what}_max"] = max(known, key=abs) if known else None
            new[f"{what}_average"] = sum(known) / len(known) if known else None
        made.append(new)
    return made


def regimes(rows, words):
    """A line a row, with its variation against the baseline."""
    lines, rows = [], varied(rows)
    for row in rows:
        rate = words.number(1e-9 * row["bytes_step"] * row["iterations"] / row["seconds_mean"]) if row.get("bytes_step") else "-"
        lines.append([*case(row), ran(row), row["sync"], str(row["iterations"]), str(row["samples"]),
                      words.number(row["seconds_mean"]), signed(row.get("time_percent")),
                      "n/a" if energy(row) is None else words.number(energy(row)), signed(row.get("energy_percent")),
                      words.percent(row["cpu_seconds"] / row["seconds_mean"]), rate, row["status"]])
    return words.markdown(["matrix", "precision", "method", "preconditioner", "regime", "waiting", "steps", "solves", "seconds",
                           "%", "joules", "%", "CPU", "GB/s", "status"], lines)


def variations(rows, words):
    """The paper's Table 2; one for each precision, method and preconditioner."""
    parts = []
    for key in words.unique((row["precision"], row["method"], row["precond"]) for row in rows):
        own = [row for row in rows if (row["precision"], row["method"], row["precond"]) == key]
        first, lines = own[0], []
        for row in own:
            lines.append([row["sync"], row["regime"],
                          *(signed(row[f"{what}_{how}"]) for what in ("time", "energy") for how in ("min", "max", "average"))])
        most = max(row["cases"] for row in own)
        fewer = [f"{row['regime']}, {row['sync']}: {row['cases']}" for row in own if row["cases"] < most]
        about = f"{key[1]}, {key[0]}, preconditioner {key[2]}: variation against {first['baseline_regime']}, " \
                f"{first['baseline_sync']}, in per cent over {most} matrices" + (f" ({'; '.join(fewer)})" if fewer else "") + \
                "; min and max by absolute value.\n\n"
        parts.append(about + words.markdown(["waiting", "regime", "time: min", "max", "average", "energy: min", "max", "average"], lines))
    return parts


def bars(title, what, rows, key, words):
    """The paper's Figure 7: a group of bars a case, a bar a regime and way of waiting; None where nothing is known."""
    cases = words.unique(case(row) for row in rows)
    names = words.unique((row["regime_asked"], row["sync"]) for row in rows)
    found = {(case(row), row["regime_asked"], row["sync"]): row.get(key) for row in rows}
    if not any(x for x in found.values()):
        return None
    names = [name for name in names if any(found.get((one, *name)) is not None for one in cases)]
    text = ["set terminal svg size 1000,520 font 'sans,12' background 'white'", f"set title {words.quoted(title)} noenhanced",
            "set style data histogram", "set style histogram clustered gap 2", "set style fill solid 0.8 noborder", "set grid ytics",
            "set key outside right noenhanced", "set xtics noenhanced rotate by 20 right", f"set ylabel {words.quoted(what)}"]
    text.append("plot " + ", \\\n  ".join(f"'-' using 2:xtic(1) title {words.quoted(f'{regime}, {sync}')}" for regime, sync in names))
    for regime, sync in names:
        for one in cases:
            x = found.get((one, regime, sync))
            text.append(f'"{one[0]} {one[1].split("/")[-1]} {one[2]}" ' + ("NaN" if x is None else f"{x:.6g}"))
        text.append("e")
    return "\n".join(text) + "\n"


def plots(runs, words):
    """[(its file's name behind the device's, what it shows, gnuplot script, the rows in it)]"""
    rows = [row for run in runs for row in varied([row for row in run.rows if row["bench"] == "regimes"])]
    if not rows:
        return []
    made = []
    for what in ("time", "energy"):
        script = bars(f"{rows[0]['device']}: {what} of a solve by regime", f"variation of {what}, %", rows, f"{what}_percent", words)
        if script:
            made.append((f"regimes-{what}", f"{what} of regimes, against cuBLAS with polling where it was measured", script,
                         [row for run in runs for row in run.rows if row["bench"] == "regimes"]))
    return made


# ---- pipelined: the tables of the paper on communication hiding ----

COLUMNS = ("PCG", "BiCGStab", "GPUPCG", "GPUBCGS")


def by_processors(rows, words):
    """Seconds of a solve by the number of processors or devices, and the speed-up from the fewest to the most."""
    parts = []
    for matrix in words.unique(row["matrix"] for row in rows if row["solver"]):
        own = {(row["ranks"], row["solver"]): row for row in rows if row["matrix"] == matrix and row["solver"]}
        counts = sorted({ranks for ranks, _ in own})
        lines = [[str(ranks), *(words.number(own[ranks, name]["seconds_mean"]) if (ranks, name) in own else "-" for name in COLUMNS)]
                 for ranks in counts]
        ends = [[own.get((ranks, name)) for ranks in (counts[0], counts[-1])] for name in COLUMNS]
        if len(counts) > 1:
            lines.append(["speed-up", *(f"{a['seconds_mean'] / b['seconds_mean']:.2f}" if a and b else "-" for a, b in ends)])
        lines.append(["steps", *(str(b["iterations"]) if b else "-" for _, b in ends)])
        devices = {name: words.unique(f"{row['device']}, {row['threads']} threads" if row["backend"] == "cpu" else row["device"]
                                      for (_, other), row in own.items() if other == name) for name in COLUMNS}
        where = "; ".join(f"{name}: {' and '.join(devices[name])}" for name in COLUMNS if devices[name])
        about = f"{matrix}, seconds of a solve; {where}.\n\n"
        parts.append(about + words.markdown(["processors/devices", *COLUMNS], lines))
    return parts


def delayed(rows, words):
    """Classic and pipelined methods under delays of their sums."""
    lines = []
    for row in rows:
        steps, hidden = row["iterations"], row["sums_hidden"]
        lines.append([row["matrix"], row["method"], preconditioner(row), str(row["ranks"]), words.number(1e6 * row["reduce_delay"]), str(steps),
                      words.number(1e6 * row["seconds_mean"] / steps), f"{(row['sums'] - hidden) / steps:.2f}",
                      f"{hidden / steps:.2f}",
                      "-" if row.get("vectors_read") is None else f"{row['vectors_read']:g} + {row['vectors_written']:g}",
                      "-" if row.get("bytes_step") is None else words.number(1e-6 * row["bytes_step"]),
                      words.number(row.get("time_of_classic")), words.number(row.get("bytes_of_classic")),
                      words.percent(row.get("cpu_share"))])
    return words.markdown(["matrix", "method", "preconditioner", "ranks", "delay of sums, us", "steps", "us a step",
                           "sums a step, exposed", "hidden", "vectors", "MB a step", "a step's time over the classic one's",
                           "its bytes", "CPU"], lines)


def beside_petsc(rows, words):
    """Medians of rounds in which both ran in turn, and the fastest of each over one another."""
    middle = lambda values: words.number(sorted(values)[len(values) // 2])
    return words.markdown(["matrix", "method", "preconditioner", "cores", "steps", "PETSc's steps", "us a step", "PETSc's", "times faster"],
                          [[row["matrix"], row["method"], row["preconditioner"], str(row["threads"]), str(row["iterations"]), str(row["petsc_iterations"]),
                            middle(row["microseconds"]), middle(row["petsc_microseconds"]), f"{row['ratio']:.2f}"] for row in rows])


# ---- all ----

def tables(rows, words):
    """words: the module with number, percent, share, unique, quoted and markdown."""
    of = {kind: [row for row in rows if row["bench"] == kind] for kind in ("spmv", "regimes", "regimes-variation", "pipelined", "against-petsc")}
    others = [row for row in rows if row["bench"] not in of]
    others = [row for row in others if "step_microseconds" in row]  # tables of relaxation and projections are the program's own
    parts = beside_cusparse(of["spmv"], words) + ([products(of["spmv"], words)] if of["spmv"] else []) + ([solves(others, words)] if others else [])
    parts += variations(of["regimes-variation"] or summed_up(of["regimes"]), words) + ([regimes(of["regimes"], words)] if of["regimes"] else [])
    late = [row for row in of["pipelined"] if not row["solver"]]
    parts += [beside_petsc(of["against-petsc"], words)] if of["against-petsc"] else []
    return parts + by_processors(of["pipelined"], words) + ([delayed(late, words)] if late else [])
