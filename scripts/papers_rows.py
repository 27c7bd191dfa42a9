"""papers_rows.py - rows of the papers' benchmarks: which of them count, and how their figures are written. Used by papers*.py."""

import os
import re

# What a row is of, apart from its point on a curve: of rows that agree in all of these, those of the newest file count.
SAME = ("folder", "bench", "figure", "matrix", "machine", "what", "method", "driver", "block", "local_sweeps", "exchange", "rank_lag", "ranks", "share",
        "recovery", "flip_rate", "repair", "rcm")
POINT = ("iteration", "iterations", "x")


class Row(dict):
    """A row of a benchmark; what it does not carry is None."""

    def __missing__(self, key):
        return None


def renamed(row):
    """Older counts of a device call 16 blocks by colours as those without colours are called."""
    if row["what"] == "carpcg-16-blocks" and row["coloured"]:
        row["what"] = "carpcg-16-blocks-colours"
    return row


def order_seed(row):
    """The seed by which the order of blocks was drawn, None by default."""
    found = re.search(r"--order-seed[ =](\d+)", row.get("command") or "")
    return int(found.group(1)) if found else row.get("order_seed")


def group_of(row):
    parts = [row.get(key) for key in SAME]
    if row["bench"] == "async-stat":
        parts[SAME.index("driver")] = row.get("driver") or "launch"
    return (*parts, order_seed(row))


def newest(rows):
    """Of rows with the same parameters those of the newest file; of the same point in one file the last."""
    ages, kept = {}, {}
    for row in rows:
        ages[group_of(row)] = max(row["age"], ages.get(group_of(row), row["age"]))
    for row in rows:
        if row["age"] == ages[group_of(row)]:
            point = tuple(row.get(key) for key in POINT) if row["bench"] in ("async-stat", "async-overhead", "kaczmarz") else ()
            if row.get("figure") not in (None, "fig5", "fig6"):
                point = ()
            kept[group_of(row), point] = row
    return list(kept.values())


def of(rows, bench):
    return [row for row in rows if row["bench"] == bench]


def name_of(row):
    return row["matrix"].replace(".mtx", "")


def each_matrix(rows, words):
    return [(name, [row for row in rows if name_of(row) == name]) for name in words.unique(name_of(row) for row in rows)]


def file_name(text):
    return re.sub(r"[^\w.-]+", "-", text)


def exponent(x):
    return "-" if x is None else f"{x:.3e}"


def residual(row):
    """Not finite ones are null in JSON."""
    return "not finite" if row.get("residual") is None else f"{row['residual']:.1e}"


def count(x):
    return "-" if x is None else str(x)


def blank(x, text):
    return "-" if x is None else text.format(x)


def signed(part):
    """A share as per cent with the digits that tell it from a band's edge."""
    return f"{100 * part:+.2f} %"


def against(a, b):
    """How a's time stands to b's, in words."""
    return f"{b / a:.2f} times faster" if a < b else f"{a / b:.2f} times slower"


def data_folder(root):
    """The folder of other people's data, None where it is not there."""
    for folder in (os.environ.get("KAON_TEST_DATA"), os.path.join(root, "..", "shared", "data")):
        if folder and os.path.isdir(os.path.join(folder, "sparse", "kaczmarz")):
            return os.path.join(folder, "sparse", "kaczmarz")
    return None


def kept_text(root, name, made):
    """Text made from data that not everybody has, between marks; without the data that of the page as it is."""
    first, last = f"<!-- {name}: made where the data are -->\n", f"<!-- end of {name} -->\n"
    if made is None:
        try:
            with open(os.path.join(root, "docs", "papers.md"), encoding="utf-8") as file:
                found = file.read().partition(first)[2].partition(last)[0]
        except OSError:
            found = ""
        made = found or "Not compared: the data are not there.\n"
    return first + made + last
