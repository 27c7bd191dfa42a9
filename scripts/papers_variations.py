"""papers_variations.py - docs/papers.md: tables 2 and 3 and figure 5 of paper A, how residuals differ from run to run, and whether
runs are asynchronous in effect. Used by papers_relax.py.
"""

from papers_rows import each_matrix, exponent, file_name, name_of, order_seed, signed

# What the paper prints, for the cells that are compared: by iteration (average, relative variation).
A_STAT = {
    "Trefethen_2000": {5: (8.0190e-04, 9.7614e-02), 10: (8.4330e-06, 1.1282e-01), 15: (8.8600e-08, 1.4462e-01), 20: (9.3022e-10, 1.6309e-01),
                       25: (9.7817e-12, 1.8524e-01), 30: (1.0260e-13, 2.1747e-01), 35: (1.0906e-15, 2.0818e-01), 40: (1.1012e-16, 9.880e-02),
                       45: (1.0811e-16, 3.2261e-02), 50: (1.0811e-16, 3.0875e-02)},
    "fv1": {10: (7.8304e-02, 3.5885e-04), 20: (6.3243e-03, 3.1782e-04), 30: (5.1392e-04, 3.1716e-04), 40: (4.1902e-05, 4.2002e-04),
            50: (3.4238e-06, 3.7969e-04), 60: (2.8019e-07, 4.7467e-04), 70: (2.2956e-08, 4.2254e-04), 80: (1.8825e-09, 5.0995e-04),
            90: (1.5449e-10, 5.4372e-04), 100: (1.2685e-11, 5.2025e-04), 110: (1.0422e-12, 6.9082e-04), 120: (8.5725e-14, 6.6724e-04),
            130: (7.1399e-15, 1.5823e-03), 140: (9.2748e-16, 1.1608e-02), 150: (6.5579e-16, 1.8243e-02)}}
# Residuals of the synchronous (two-stage) iteration of these blocks and local sweeps, for rows of files that have none of their own:
# `kaon solve --method two-stage --rhs ones --block 128 --local-sweeps 6 --tol 1e-16 --history FILE.csv`, and --block 112.
A_SYNCHRONOUS = {
    ("Trefethen_2000", 128, 6): {5: 8.152005429e-04, 10: 8.682517232e-06, 15: 9.247615832e-08, 20: 9.849493683e-10, 25: 1.049053795e-11},
    ("fv1", 112, 6): {10: 7.820181010e-02, 20: 6.307498222e-03, 30: 5.118566068e-04, 40: 4.167617058e-05, 50: 3.400690995e-06, 60: 2.779160015e-07,
                      70: 2.273851709e-08, 80: 1.862108571e-09, 90: 1.526044123e-10, 100: 1.251392880e-11}}
A_BANDS = {"Trefethen_2000": (0.10, (5, 10, 20, 30)), "fv1": (0.03, (10, 30))}  # how far averages may be from the paper's, and where

FLOOR = 1e-14  # below it rounding makes the variations
COUNTED = " Shifts and shares of reads are counted as a block begins: it reads the others' counts of iterations before their values, so each read is at least as new as is " \
          "counted and may have seen newer values."
OTHER = "**Another conclusion than the paper's:** "
SAME, COMPARED = 1e-4, 1e-11  # as in_effect of kaon bench async has them (bench/papers/bench_async.c argues them)


def shifts_of(row):
    """Smallest and largest shift as blocks begin; where what was read may be newer, that too."""
    text = f"{row.get('newest', '-')} to {row.get('oldest', '-')}"
    return text + (f" ({row['newest_after']} when read)" if row.get("newest_after", 0) < row.get("newest", 0) else "")


def driver_of(row):
    return row.get("driver") or "launch"


def variations(rows, words):
    """[(matrix, driver, seed, rows by iteration)]"""
    found = {}
    for row in rows:
        found.setdefault((name_of(row), driver_of(row), order_seed(row)), []).append(row)
    return [(*key, sorted(own, key=lambda row: row["iteration"])) for key, own in sorted(found.items(), key=lambda item: (item[0][0], item[0][1] == "free", item[0][2] or -1))]


def relative(row):
    return (row["maximum"] - row["minimum"]) / row["average"] if row["average"] else 0


def how_run(driver, seed):
    return ("without barriers" if driver == "free" else "a launch an iteration") + (f", blocks in an order drawn from seed {seed}" if seed is not None else "")


def band(name, own):
    """How far averages are from the paper's, against the notes' band; "" where there is none."""
    width, points = A_BANDS.get(name, (0, ()))
    parts = {row["iteration"]: row["average"] / A_STAT[name][row["iteration"]][0] - 1 for row in own if row["iteration"] in points}
    if not parts:
        return ""
    out = [at for at, part in parts.items() if abs(part) > width]
    verdict = "all within it" if not out else "**outside it at " + ", ".join(map(str, out)) + "**"
    return "Averages less the paper's, by iteration: " + ", ".join(f"{at}: {signed(part)}" for at, part in parts.items()) + \
        f"; band {100 * width:.0f} %: {verdict}."


def widest_of(own):
    """The largest relative variation above the floor."""
    return max((relative(row) for row in own if row["average"] > FLOOR), default=0)


def reversed_order(kinds):
    """Which of the two matrices varies more, where it is not the paper's."""
    theirs = {name: max(part for mean, part in points.values() if mean > FLOOR) for name, points in A_STAT.items()}
    found = {(name, driver, seed): widest_of(own) for name, driver, seed, own in kinds}
    ways = [(driver, seed) for name, driver, seed in found if name == "fv1" and ("Trefethen_2000", driver, seed) in found]
    turned = [way for way in ways if found[("fv1", *way)] > found[("Trefethen_2000", *way)]]
    if not turned or theirs["fv1"] > theirs["Trefethen_2000"]:
        return ""
    pairs = "; ".join(f"{how_run(*way)}: {found[('fv1', *way)]:.2e} and {found[('Trefethen_2000', *way)]:.2e}" for way in turned)
    return f"{OTHER}{'in every way of running' if len(turned) == len(ways) else 'in some ways of running'} fv1 varies more than Trefethen_2000, in the paper less " \
           f"({theirs['fv1']:.2e} and {theirs['Trefethen_2000']:.2e}); relative variations of the two: {pairs}.\n"


def band_by_rule(kinds):
    """Where a band is met only with a number of blocks at once that the benchmark chose."""
    parts = []
    for matrix in A_BANDS:
        width, points = A_BANDS[matrix]
        own = [(how_run(driver, seed), rows) for name, driver, seed, rows in kinds if name == matrix]
        off = {how: max((row["average"] / A_STAT[matrix][row["iteration"]][0] - 1 for row in rows if row["iteration"] in points), key=abs) for how, rows in own}
        inside = [(how, rows[0]) for how, rows in own if abs(off[how]) <= width]
        outside = [how for how, _ in own if abs(off[how]) > width]
        if inside and outside and all(row.get("together") for _, row in inside):
            met = "; ".join(f"{how}, {row['together']} of {-(-row['rows'] // row['block'])} blocks at once ({signed(off[how])})" for how, row in inside)
            parts.append(f"{matrix}'s band of {100 * width:.0f} % is met by {met}. Outside it: {'; '.join(f'{how} ({signed(off[how])})' for how in outside)}. That number at once is a "
                         "rule of the benchmark (of more than 32 blocks all but one in sixteen: `stat_run`, bench/papers/bench_async.c), not what the device would do.\n")
    return parts


def furthest(own):
    """How far averages are from the synchronous iteration's residuals at most, relative; None where nothing is to be compared."""
    parts = []
    for row in own:
        known = A_SYNCHRONOUS.get((name_of(row), row["block"], row["local_sweeps"]), {})
        there = row["synchronous"] if "synchronous" in row else known.get(row["iteration"])
        if there and there > COMPARED:
            parts.append(float("inf") if row["average"] is None else abs(row["average"] / there - 1))
    return max(parts, default=None)


def synchrony(own):
    """Whether the runs are asynchronous in effect, and why, in words."""
    first, last = own[0], own[-1]
    widest = widest_of(own)
    share, reads = first.get("asynchronous"), ""
    if share is not None:
        reads = f"{100 * share:.2f} % of the reads are counted as not those of a synchronous iteration, shifts {last['newest']} to {last['oldest']}"
    if first.get("shifts"):
        reads += " (reads by shift, the reader's iterations less those of the block it reads: " + \
                 ", ".join(f"{shift}: {n}" for shift, n in sorted(first["shifts"].items(), key=lambda item: int(item[0]))) + ")"
    theirs = another_conclusion(first, widest)
    off = furthest(own)
    alike = all(row["variance"] == 0 for row in own)
    if alike and off is not None and off > SAME:
        return f"the variance is 0 at every iteration, with averages up to {off:.1e} of them off the residuals of the synchronous iteration: blocks came in one " \
               f"order in all runs, which are not counted as asynchronous; {reads}{theirs}"
    if alike:
        return f"the variance is 0 at every iteration: these runs are synchronous in effect and are not counted as asynchronous; {reads}{theirs}"
    if widest < 1e-12:
        return f"residuals differ by rounding alone (by {widest:.1e} of the average at most): synchronous in effect, not counted as asynchronous; {reads}{theirs}"
    if off is not None and off <= SAME:
        return f"the averages are the residuals of the synchronous iteration to {off:.1e} of them (bound: {SAME:g}): synchronous in effect, not counted as " \
               f"asynchronous; {reads}; relative variation up to {widest:.2e} above {FLOOR:g}{theirs}"
    apart = "" if off is None else f"; averages up to {off:.1e} of them off the residuals of the synchronous iteration"
    return f"asynchronous: {reads}{apart}; relative variation up to {widest:.2e} above {FLOOR:g}{theirs}"


def statistics(rows, words):
    """Tables 2 and 3, Figure 5."""
    parts, verdicts = [], []
    for name, driver, seed, own in variations(rows, words):
        first, lines = own[0], []
        for row in own:
            mean, span = row["average"], row["maximum"] - row["minimum"]
            paper = A_STAT.get(name, {}).get(row["iteration"])
            lines.append([str(row["iteration"]), exponent(mean), exponent(paper and paper[0]), exponent(row["maximum"]), exponent(row["minimum"]), exponent(span),
                          exponent(relative(row)), exponent(paper and paper[1]), exponent(row["variance"]), exponent(row["deviation"]), exponent(row["error"])])
        at_once = f", {first['together']} blocks at work at once" if first.get("together") else ""
        parts.append(f"**Table {'3' if 'refethen' in name else '2'}**, {name}, {how_run(driver, seed)}: residuals of {first['runs']} runs, blocks of {first['block']} rows, "
                     f"{first['local_sweeps']} local sweeps{at_once}. {band(name, own)}\n\n" +
                     words.markdown(["iterations", "average", "paper's", "max.", "min.", "abs. var.", "rel. var.", "paper's", "variance", "std. deviation",
                                     "std. error"], lines))
        why = synchrony(own)
        verdicts.append(f"- {name}, {how_run(driver, seed)} ({first['runs']} runs): {why}.")
    if any(row["backend"] == "cuda" and row.get("together") for row in rows):
        parts.append("Blocks at work at once: thread blocks, fewer than there are blocks of rows, take these by tickets as they get done. The device would hold all of the "
                     "papers' blocks at once, and then all read before one writes.\n")
    if any(row["backend"] == "cpu" for row in rows):
        parts.append("Processors hold no such number of blocks at once: in each run the blocks begin in another order, drawn by its seed, and all but one of them read before "
                     "one writes.\n")
    kinds = variations(rows, words)
    return parts + ["Which runs are asynchronous, and by how much:\n\n" + "\n".join(verdicts) + "\n"] + \
        [text for text in (reversed_order(kinds), *band_by_rule(kinds)) if text]


def another_conclusion(first, widest):
    """The paper's relative variation beside ours, where it is of another order."""
    paper = max((part for mean, part in A_STAT.get(name_of(first), {}).values() if mean > FLOOR), default=0)
    if not paper:
        return ""
    return f"; the paper's relative variation: up to {paper:.2e}" + \
        (f", {paper / widest:.2g} times as much" if widest and widest < 0.1 * paper else "") + \
        (". **Another conclusion than the paper's:** averages in its band say nothing about asynchrony here" if widest < 0.1 * paper else "")


LOG_Y = ["set logscale y", "set format y '10^{%L}'", "set yrange [1e-15:10]", "set ylabel '|b - A x| / |b|'"]


def falling(points):
    """[(x, residual)] where there is one to draw."""
    return [(x, y) for x, y in points if y and 0 < y < 1e3]


WIDER = ("size 820,520", "size 1060,620")


def plots_statistics(folder, rows, words):
    made = []
    for name, own in each_matrix(rows, words):
        curves = []
        for _, driver, seed, points in variations(own, words):
            short = ("free" if driver == "free" else "launches") + (f", seed {seed}" if seed is not None else "")
            curves.append((f"average, {short}", "lines linewidth 2", falling([(row["iteration"], row["average"]) for row in points])))
            curves.append((f"abs. var., {short}", "points", falling([(row["iteration"], row["maximum"] - row["minimum"]) for row in points])))
            curves.append((f"rel. var., {short}", "linespoints dashtype 2", falling([(row["iteration"], relative(row)) for row in points if row["average"] > FLOOR])))
        if name in A_STAT:
            curves.append(("rel. var., the paper's", "lines linecolor 'black'", [(at, part) for at, (mean, part) in A_STAT[name].items() if mean > FLOOR]))
        axes = ["set logscale y", "set format y '10^{%L}'", "set xlabel 'global iterations'"]
        script = words.plot_script(f"{name}, {rows[0]['device']}: as Figure 5 of paper A", axes, [curve for curve in curves if curve[2]]).replace(*WIDER)
        made.append((f"{folder}-paper-a-fig5-{file_name(name)}.svg", f"Figure 5: {name}", script))
    return made
