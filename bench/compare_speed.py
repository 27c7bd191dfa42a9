#!/usr/bin/env python3
"""compare_speed.py OLD_PROGRAM NEW_PROGRAM [--backend cpu|cuda] [--rounds 9] [--json FILE] - is a new kaon as fast as an old one?

Twelve named solves, each by both programs in turn: old, new, new, old, and so on. Prints the median seconds of both and the ratio
old / new; at least 0.97 is expected where nothing was meant to change. Exit status: 0 if every ratio is, 1 if one is not, 2 if a
program cannot be run. Programs from before the option --method are called with --solver and --preconditioner.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

LEAST = 0.97
CLOVER = "invert --gauge weak:0.3 --kappa 0.130 --csw 1"
CELLS = {
    "clover CG, half inside, 12 reals": f"{CLOVER} --lattice LARGE --columns 1 --sloppy half --reconstruct 12 --method cg",
    "clover CG, single inside": f"{CLOVER} --lattice LARGE --columns 1 --sloppy single --method cg",
    "clover BiCGStab, half inside": f"{CLOVER} --lattice LARGE --columns 1 --sloppy half --method bicgstab",
    "clover BiCGStab, double": f"{CLOVER} --lattice SMALL --columns 1 --sloppy double --method bicgstab",
    "clover CG, 12 columns, half inside": f"{CLOVER} --lattice SMALL --columns 12 --sloppy half --method cg",
    "clover pipelined CG, single inside": f"{CLOVER} --lattice LARGE --columns 1 --sloppy single --method pipecg",
    "clover block CG, 12 columns, double": f"{CLOVER} --lattice SMALL --columns 12 --sloppy double --method blockcg",
    "HISQ CG, single inside": "invert --gauge weak:0.3 --action hisq --mass 0.05 --lattice LARGE --columns 3 --sloppy single",
    "Laplace CG": "solve --matrix laplace3d:EDGE --method cg --precond none",
    "elasticity CG, Jacobi, single inside": "solve --matrix elasticity:BEAM --method cg --precond jacobi --sloppy single",
    "convection BiCGStab, Jacobi": "solve --matrix convdiff3d:MIDDLE,10 --method bicgstab --precond jacobi",
    "Laplace pipelined CG": "solve --matrix laplace3d:MIDDLE --method pipecg --precond none",
}
SIZES = {"cuda": {"LARGE": "32 32 32 32", "SMALL": "16 16 16 16", "EDGE": "128", "MIDDLE": "96", "BEAM": "60"},
         "cpu": {"LARGE": "8 8 8 16", "SMALL": "8 8 8 8", "EDGE": "48", "MIDDLE": "32", "BEAM": "20"}}
OLD_NAMES = {"--method": "--solver", "--precond": "--preconditioner"}


def words_of(program, text, backend):
    for name, value in SIZES[backend].items():
        text = text.replace(name, value)
    words = text.split() + ["--backend", backend, "--quiet"]
    known = subprocess.run([program, words[0], "--help"], capture_output=True, text=True).stdout
    return words if "--method=" in known else [OLD_NAMES.get(w, w) for w in words]


def seconds(program, words, report):
    run = subprocess.run([program] + words + ["--report", report], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"compare_speed.py: {program} {' '.join(words)}: {run.stderr.strip()}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    for program in (options.old, options.new):
        if not os.access(program, os.X_OK):
            print(f"compare_speed.py: {program} is not a program", file=sys.stderr)
            return 2
    rows, slow = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in CELLS.items():
            jobs = [(p, words_of(p, text, options.backend)) for p in (options.old, options.new)]
            times = [[], []]
            for i in range(options.rounds):
                for which in ((0, 1) if i % 2 == 0 else (1, 0)):
                    times[which].append(seconds(*jobs[which], os.path.join(folder, "report.json")))
            old, new = statistics.median(times[0]), statistics.median(times[1])
            rows.append({"cell": name, "old_seconds": old, "new_seconds": new, "ratio": old / new})
            slow += old / new < LEAST
            print(f"{name:38s} old {old:.5f} s  new {new:.5f} s  old / new {old / new:.3f}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
