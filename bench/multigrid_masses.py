#!/usr/bin/env python3
"""multigrid_masses.py PROGRAM --gauge FILE [--kappa K ...] [--methods M ...] [--rounds 3] [--options "..."] [--json FILE] - time to
solution against the quark mass: CG, BiCGStab and multigrid in turn, `--rounds` times, on one configuration.

Prints for each kappa and method the steps, the median seconds of the solve and of the set-up, and the seconds of the best other method
over those of multigrid, and the parts of its set-up. A method that does not converge within 20,000 steps is marked. --json writes a
list of rows. Exit status: 0; 2 if the program cannot be run.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

METHODS = {"cg": "--method cg --sloppy half", "bicgstab": "--method bicgstab --sloppy half", "multigrid": "--precond multigrid"}


def solve(options, kappa, method, report):
    words = [options.program, "invert", "--gauge", options.gauge, "--kappa", str(kappa), "--csw", str(options.csw), "--source", "z4:1",
             "--columns", str(options.columns), "--tol", "1e-10", "--max-iter", "20000", "--no-fallback", "--quiet", "--report", report]
    run = subprocess.run(words + shlex.split(METHODS[method]) + shlex.split(options.options), capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"multigrid_masses.py: {shlex.join(words)}: {run.stderr.strip()}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def measure(options, kappa):
    runs = {method: [] for method in options.methods}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for method in options.methods:
                runs[method].append(solve(options, kappa, method, os.path.join(folder, "report.json")))
    rows = []
    for method, reports in runs.items():
        first = reports[0]["solves"]
        about = {key: reports[0][key] for key in ("commit", "device", "lattice", "columns")}
        parts = [r["preconditioner"]["setup"] for r in reports if method == "multigrid"]
        rows.append({**about, "kappa": kappa, "method": method, "steps": max(s["iterations"] for s in first),
                     "converged": all(s["status"] == "converged" for s in first),
                     "seconds": statistics.median(r["seconds"] for r in reports),
                     "setup_seconds": statistics.median(r["setup_seconds"] for r in reports),
                     "setup_parts": {key: statistics.median(p[key] for p in parts) for key in (parts[0] if parts else [])}})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--gauge", required=True)
    parser.add_argument("--kappa", type=float, nargs="+", default=[0.1345, 0.1350, 0.1352])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--csw", type=float, default=1.769)
    parser.add_argument("--columns", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--options", default="", help="more options of every solve, such as --backend cuda")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    rows = []
    print("kappa    method      steps    solve s   set-up s")
    for kappa in options.kappa:
        of_kappa = measure(options, kappa)
        rows += of_kappa
        for r in of_kappa:
            print(f"{r['kappa']:.4f}   {r['method']:9s} {r['steps']:7d} {r['seconds']:10.4f} {r['setup_seconds']:10.4f}"
                  + ("" if r["converged"] else "   not converged")
                  + "".join(f"   {name} {seconds:.3f}" for name, seconds in r["setup_parts"].items() if name != "seconds"))
        others = [r["seconds"] for r in of_kappa if r["method"] != "multigrid" and r["converged"]]
        own = [r["seconds"] for r in of_kappa if r["method"] == "multigrid"]
        if others and own:
            print(f"         best other / multigrid: {min(others) / own[0]:.2f}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
