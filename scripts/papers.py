"""papers.py - docs/papers.md: the tables and figures of two papers, from rows of kaon bench async, faults and kaczmarz.

Used by performance.py, whose helpers it is handed as `words`; it makes no file of its own accord. Paper A stands in
papers_relax.py (its variations in papers_variations.py), paper C in papers_project.py; which rows count in papers_rows.py.
"""

import glob
import os

import papers_project
import papers_relax
from papers_rows import Row, data_folder, kept_text, newest, renamed

KINDS = ("async-", "faults-", "relax-history", "kaczmarz")

HEAD = """# Tables and figures of the papers on relaxation and on projections
{made}

The papers: **A**, Anzt, Tomov, Dongarra, Heuveline, *A block-asynchronous relaxation method for graphics processing units* (2012): Fermi C2070,
two Xeon E5540. **C**, Faroux, Fukala, Herfarth, Hug, Zeiter, *Kaczmarz-inspired CUDA solvers for LSEs arising from PDEs* (ETH Zurich 2024): RTX A1000
notebook GPU, Ryzen 7 PRO 7840HS. Numbers of theirs stand beside ours where the same thing was measured; other programs' machines are other machines.
A time in a row of relaxation that has `seconds_min` is the median of its `samples` solves, of files without that field the fastest of them.
Above each table stand the device, the commit and the commands that made its rows; the file holds all digits. Of rows with the same parameters those of the newest
file count. `kaon bench` writes rows and draws nothing: `make performance` makes tables and plots from `bench/results` (with gnuplot); the same rows
as CSV: `--csv FILE`, and every iteration of the histories: `--histories FILE.csv` (async, faults).

Of the papers on Krylov methods the tables are in [performance.md](performance.md), a section a file: **B**, Aliaga, Davidovic, Perez, Quintana-Orti, *Harnessing CUDA Dynamic Parallelism for the Solution of Sparse Linear Systems*: Table 2 under
`regimes-large` and `regimes-large-blocking`, BiCG, BiCGStab and small matrices under `regimes` (`kaon bench regimes`). **D**, Platonov and Monakov on overlapping communication and computation in iterative methods on GPUs: its two tables and the delays of sums under
`pipelined` (`kaon bench pipelined`), transports under `ranks-transports`.
"""

BUSY = "Measured on two cores that other work shared, so **counts are to be trusted here and times are not**.\n"


def is_paper(run):
    return all(row["bench"].startswith(KINDS) for row in run.rows)


def started(row):
    """The row's command, and what started its ranks."""
    ranks = row.get("ranks") or 1
    return f"mpirun -np {ranks} {row['command']}" if ranks > 1 else row["command"]


def rows_of(folder, root, words):
    """The rows that count of one device, of all its files, each with the file it is from."""
    found = []
    for path in sorted(glob.glob(os.path.join(root, "bench", "results", folder, "*.json"))):
        run = words.Run(path, root)
        if is_paper(run):
            found += [renamed(Row(row, folder=folder, file=run.path, date=run.date, age=run.age)) for row in run.rows]
    return newest(found)


def device_of(rows):
    return next((row["device"] for row in rows if row["backend"] == "cuda"), rows[0]["device"])


def made_by(rows):
    """Commits, files and commands."""
    lines = {}
    for row in rows:
        head = f"Commit {row['commit']}, {row['date']}; `{row['file']}`:"
        commands = lines.setdefault(head, {})
        if row.get("command"):
            commands[started(row)] = True
    return "\n".join(f"{head}\n\n```\n" + "\n".join(commands) + "\n```\n" for head, commands in lines.items())


def block(folder, device, rows, parts, drawn):
    """What made them, tables and pictures of one device."""
    head = f"#### {device} (`bench/results/{folder}`)\n"
    pictures = [f"![{device}: {what}](plots/{name})\n" for name, what, _ in drawn]
    return [head] + ([BUSY] if folder.startswith("cpu-") else []) + [made_by(rows)] + parts + pictures


def section(about, own, devices, words, compare):
    """One heading, with every device below it that has rows; the others are named."""
    title, form, wanted, table, plots = about
    parts, scripts, lacking = [f"### {title}\n", form + "\n"], {}, []
    for folder, device in devices.items():
        rows = [row for row in own[folder] if wanted(row)] if any(map(wanted, own[folder])) else []
        if not rows:
            lacking.append(device)
            continue
        drawn = [plot for plot in plots(folder, rows, words) if plot[2]] if plots else []
        parts += block(folder, device, rows, table(rows, words) + compare(folder, rows), drawn)
        scripts.update({name: script for name, _, script in drawn})
    return parts + ([f"Not measured on {', '.join(lacking)}.\n"] if lacking else []), scripts


def paper_a(own, devices, words, _):
    parts, scripts = ["## Paper A: block-asynchronous relaxation\n"], {}
    for title, form, wanted, key, table, plots in papers_relax.SECTIONS:
        some = {folder: rows if any(row["bench"] == key for row in rows) else [] for folder, rows in own.items()}
        more, drawn = section((title, form, wanted, table, plots), some, devices, words, lambda folder, rows: [])
        parts += more
        scripts.update(drawn)
    return parts, scripts


def paper_c(own, devices, words, root):
    parts, scripts, data = ["## Paper C: Kaczmarz and CARP-CG\n"], {}, data_folder(root)
    for title, form, wanted, table, plots, beside in papers_project.SECTIONS:
        def compare(folder, rows, beside=beside):
            return [kept_text(root, f"{folder}, {beside[0]}", beside[1](rows, data, words))] if beside else []
        more, drawn = section((title, form, wanted, table, plots), own, devices, words, compare)
        parts += more
        scripts.update(drawn)
    return parts, scripts


def page(folders, words, root):
    """(text, {plot's file name: gnuplot script}) of docs/papers.md."""
    own = {folder: rows_of(folder, root, words) for folder in folders}
    own = {folder: rows for folder, rows in own.items() if rows}
    devices = {folder: device_of(rows) for folder, rows in own.items()}
    parts, scripts = [HEAD.format(made=words.MADE)], {}
    for paper in (paper_a, paper_c) if own else ():
        more, drawn = paper(own, devices, words, root)
        parts += more
        scripts.update(drawn)
    return "\n".join(parts), scripts
