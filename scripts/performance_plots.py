"""performance_plots.py - the plots of docs/performance.md of hops and solves on lattices, as gnuplot scripts.

Each takes the rows of one device and returns None where they show nothing; `words` are performance.py's helpers.
"""
import os


def roofline(device, rows, words):
    read = words.median_of(rows, "limit_gbs")
    if not rows:
        return None
    intensity = [row["gflops"] / row["ideal_gbs"] for row in rows]
    span = [0.5 * min(intensity), 2 * max(intensity)]
    curves = []
    for precision in ("double", "single"):
        peak = words.median_of([row for row in rows if row["precision"] == precision], "fma_gflops")
        if read and peak:
            knee = min(max(peak / read, span[0]), span[1])
            curves.append((f"limit, {precision}", "lines dashtype 2",
                           [(x, min(peak, read * x)) for x in words.unique([span[0], knee, span[1]])]))
    for name, points in words.series(rows, ["bench", "precision"], lambda r: (r["gflops"] / r["ideal_gbs"], r["gflops"])).items():
        curves.append((name, "points", points))
    axes = ["set logscale xy", "set xlabel 'flops a byte of ideal traffic'", "set ylabel 'GFLOPS'"]
    return words.plot_script(f"{device}: hops, matrices and vector operations against the roof", axes, curves)


def by_volume(device, rows, peers, words):
    if len({tuple(row["lattice"]) for row in rows}) < 2:
        return None
    curves = []
    for precision, colour in (("double", "dark-blue"), ("single", "dark-green"), ("half", "dark-red")):
        own = [row for row in rows if row["precision"] == precision]
        for i, (name, points) in enumerate(words.series(own, ["precision", "links"], lambda r: (words.volume(r), r["gflops"])).items()):
            curves.append((name, f"linespoints linecolor '{colour}' dashtype {i + 1} pointtype {(7, 5, 9)[i % 3]}", points))
            peer, theirs = None, set()
            for row in own:
                found, other = words.peer_of(row, peers)
                if other and words.label(row, "precision", "links") == name:
                    peer = found
                    theirs.add((words.volume(row), other["gflops"]))
            if theirs:
                curves.append((f"{peer} {name}", f"points linecolor '{colour}' pointtype {(6, 4, 8)[i % 3]}", sorted(theirs)))
    axes = ["set logscale x", "set format x '10^{%L}'", "set xlabel 'sites'", "set ylabel 'GFLOPS'", "set yrange [0:*]"]
    return words.plot_script(f"{device}: Wilson hop, one column", axes, curves)


def solution_time(device, rows, peers, words):
    if not rows:
        return None
    names, ours, theirs, peer_name = [], [], [], "peer"
    for i, row in enumerate(rows):
        name, other = words.peer_of(row, peers)
        columns = f" {row['columns']} columns" if row["columns"] > 1 else ""
        quark = f"kappa {row['kappa']:g}" if row.get("kappa") is not None else f"{row.get('action', '')} mass {row.get('mass', 0):g}"
        names.append(f"{words.extents(row['lattice'])} {row['bench'][6:]} {row['precision']} r{row['links']}{columns}, {os.path.basename(row.get('gauge', ''))} {quark}")
        ours.append((len(rows) - i, row["seconds"] / row["columns"]))
        if other:
            peer_name = name
            theirs.append((len(rows) - i, other["seconds"] / row["columns"]))
    ticks = ", ".join(f"{words.quoted(name)} {len(rows) - i}" for i, name in enumerate(names))
    axes = [f"set ytics ({ticks}) noenhanced font 'sans,10'", f"set yrange [0.3:{len(rows)}.7]",
            "set xlabel 'seconds a column'", "set logscale x", "set key outside bottom center horizontal"]
    curves = [("kaon", "points pointtype 7 pointsize 1.1", [(y, x) for x, y in ours])]
    if theirs:
        curves.append((peer_name, "points pointtype 4 pointsize 1.1 linecolor 'black'", [(y, x) for x, y in theirs]))
    return words.plot_script(f"{device}: time to solution", axes, curves)


def fastest(points):
    """Of several figures in one place the best."""
    best = {}
    for x, y in points:
        best[x] = max(y, best.get(x, y))
    return sorted(best.items())


def by_ranks(device, rows, peers, words):
    """GFLOPS a rank against ranks: strong where the lattice stays, weak where a rank's part does."""
    rows = [row for row in rows if row["bench"] == "wilson-hop" and row["columns"] == 1]
    curves, theirs = [], set()
    for row in rows:
        name, other = words.peer_of(row, peers) if words.ranks_of(row) > 1 else (None, None)
        if other and "gflops_rank" in other:
            theirs.add((name, words.ranks_of(row), other["gflops_rank"]))
    for precision, colour in (("double", "dark-blue"), ("single", "dark-green"), ("half", "dark-red")):
        for word, place, dashes, point in (("weak", words.local, 1, 7), ("strong", lambda row: tuple(row["lattice"]), 2, 5)):
            groups = {}
            for row in rows:
                if row["precision"] == precision:
                    groups.setdefault((place(row), row["links"]), []).append((words.ranks_of(row), row.get("gflops_rank", row["gflops"])))
            for (where, links), points in sorted(groups.items()):
                if len({ranks for ranks, _ in points}) > 1 and 1 in {ranks for ranks, _ in points}:
                    curves.append((f"{precision} r{links}, {word} {words.extents(where)}",
                                   f"linespoints linecolor '{colour}' dashtype {dashes} pointtype {point}", fastest(points)))
    for name in words.unique(name for name, _, _ in sorted(theirs)):
        curves.append((name, "points linecolor 'black' pointtype 4", sorted((x, y) for n, x, y in theirs if n == name)))
    if not curves:
        return None
    axes = ["set logscale x 2", "set xlabel 'devices'", "set ylabel 'GFLOPS a device'", "set yrange [0:*]", "set xrange [0.9:*]"]
    return words.plot_script(f"{device}: Wilson hop on several", axes, curves)


def crossover(device, rows, words):
    """Seconds against ranks, as foretold, and what was measured of the same problem."""
    model = [row for row in rows if row["bench"].startswith("model-")]
    if not model:
        return None
    curves = []
    for i, (name, points) in enumerate(words.series(model, ["bench", "precision"], lambda r: (r["ranks"], r["seconds"])).items()):
        curves.append((name[len("model-"):], f"lines linewidth 2 linetype {i + 1}", points))
        method, precision = name[len("model-"):].split(" ")
        own = [row for row in rows if row["bench"] == "solve-" + method and row["precision"] == precision and row["columns"] == 1 and
               row["lattice"] == model[0]["lattice"] and
               model[0]["problem"].startswith(f"{row.get('gauge', '')}, kappa {row.get('kappa', 0):g},")]
        if own:
            curves.append((f"{method} {precision}, measured", f"points linetype {i + 1} pointtype 7",
                           [(x, -y) for x, y in fastest((words.ranks_of(row), -row["seconds"]) for row in own)]))
    axes = ["set logscale xy", "set logscale x 2", "set xlabel 'devices'", "set ylabel 'seconds'"]
    return words.plot_script(f"{device}: {words.extents(model[0]['lattice'])}, foretold", axes, curves)
