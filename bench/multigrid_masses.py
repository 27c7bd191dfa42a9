#!/usr/bin/env python3
"""multigrid_masses.py KAON-BENCH --gauge FILE --lattice X Y Z T [--kappa K ...] [--methods M ...] [--rounds 3] [--options "..."]
[--json FILE] - time to solution against the quark mass: CG, BiCGStab and multigrid on one configuration.

The methods take turns, `--rounds` times, each with half precision inside. Prints for each kappa and method the steps and the seconds of
the solve and of the set-up, those of the round with the median time, and the seconds of the best other method over those of multigrid. A
method that does not converge is marked. --json writes the rows of kaon-bench. Exit status: 0; 2 if the program cannot be run.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile

METHODS = {"cg": "--method cg", "bicgstab": "--method bicgstab", "multigrid": "--method gcr --precond multigrid"}


def solve(options, kappa, method, path):
    words = [options.program, "solve", "--gauge", options.gauge, "--lattice", *map(str, options.lattice), "--kappa", str(kappa), "--csw", str(options.csw),
             "--precision", "half", "--columns", str(options.columns), "--max-iter", "20000", "--json", path]
    run = subprocess.run(words + shlex.split(METHODS[method]) + shlex.split(options.options), capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"multigrid_masses.py: {shlex.join(words)}: {run.stderr.strip()}")
    with open(path, encoding="utf-8") as file:
        return [row for row in json.load(file) if row["bench"].startswith("solve-")][-1]


def measure(options, kappa):
    """The row of the median round of each method."""
    runs = {method: [] for method in options.methods}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for method in options.methods:
                runs[method].append(solve(options, kappa, method, os.path.join(folder, "rows.json")))
    return {method: sorted(rows, key=lambda row: row["seconds"])[len(rows) // 2] for method, rows in runs.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="KAON-BENCH")
    parser.add_argument("--gauge", required=True)
    parser.add_argument("--lattice", type=int, nargs=4, required=True)
    parser.add_argument("--kappa", type=float, nargs="+", default=[0.1300, 0.1330, 0.1345, 0.1350, 0.1352])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--csw", type=float, default=1.769)
    parser.add_argument("--columns", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--options", default="", help="more options of every solve, such as --backend cuda")
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args()
    rows = []
    print("kappa    method      steps    solve s   set-up s")
    for kappa in options.kappa:
        found = measure(options, kappa)
        rows += found.values()
        for method, row in found.items():
            print(f"{kappa:.4f}   {method:9s} {row['iterations']:7d} {row['seconds']:10.4f} {row['setup_seconds']:10.4f}"
                  + ("" if row["status"] == "converged" else f"   {row['status']}"))
        others = [row["seconds"] for method, row in found.items() if method != "multigrid" and row["status"] == "converged"]
        if others and "multigrid" in found:
            print(f"         best other / multigrid: {min(others) / found['multigrid']['seconds']:.2f}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
