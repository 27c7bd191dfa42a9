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


def preconditioner(row):
    given = row.get("preconditioner")
    return given["kind"] if isinstance(given, dict) else str(given or "none")


def solves(rows, words):
    """A line a solve; vectors are what a step reads and writes besides its products."""
    lines = []
    delayed = any(row.get("reduce_delay") for row in rows)
    for row in rows:
        moved = "-" if row.get("vectors_read") is None else f"{row['vectors_read']:g} + {row['vectors_written']:g}"
        step = row.get("bytes_step")
        rate = words.number(1e-3 * step / row["step_microseconds"]) if step and row.get("step_microseconds") else "-"
        lines.append([row["matrix"], row["method"], preconditioner(row), row["precision"], row.get("regime") or "auto",
                      str(row.get("ranks") or 1), str(row["columns"]), *([words.number(1e6 * (row["reduce_delay"] or 0))] if delayed else []),
                      str(row["iterations"]), words.number(row["seconds"]), words.number(row["step_microseconds"]), moved, rate,
                      words.percent(row.get("cpu_share")), words.number(row.get("joules")), f"{row['residual']:.1e}", row["status"]])
    return words.markdown(["matrix", "method", "preconditioner", "precision", "regime", "ranks", "columns",
                           *(["delay of sums, us"] if delayed else []), "steps", "seconds", "us a step", "vectors", "GB/s", "CPU", "joules",
                           "residual", "status"], lines)


def tables(rows, words):
    """words: the module with number, percent, share and markdown."""
    spmv = [row for row in rows if row["bench"] == "spmv"]
    others = [row for row in rows if row["bench"] != "spmv"]
    return ([products(spmv, words)] if spmv else []) + ([solves(others, words)] if others else [])
