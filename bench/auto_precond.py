#!/usr/bin/env python3
"""auto_precond.py --data DIR [--program build/kaon] [--clones DIR] [--rounds 5] [--json FILE] [MATRIX ...] - how good is --precond auto?

For every matrix of the set below: seconds to 1e-8 (operator, preconditioner, solver and solve; b = A * ones) of the default and
of every listed combination of method and preconditioner, each the fastest of --rounds runs in turn. Prints the ratio of the default
to the fastest combination. Exit status 1 if it exceeds 1.5 on more than a fifth of the set, or if a default run neither converges
nor says what is wrong with the matrix.

--clones first makes the files in --data from clones of the public repositories, DIR/REPOSITORY. The set was fixed before the rule
was tuned. Matrices of kaon's own generators need no file; those of shared/data/sparse lie in --data or below KAON_TEST_DATA.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

# name: (class, repository at GitHub, commit, path, form). Forms: how the file becomes Matrix Market.
#   whole: it is. general, symmetric: it lacks the banner. The others are triplets from 0, real or complex.
PUBLIC = {
    "bcsstk16": ("structural", "DrTimothyAldenDavis/SuiteSparse", "038d6635", "CSparse/Matrix/bcsstk16", "real symmetric"),
    "nos7": ("structural", "zhaoli0321/faspsolver", "281ceb07", "data/nos7.mtx", "symmetric"),
    "orsreg_1": ("CFD", "zhaoli0321/faspsolver", "281ceb07", "data/orsreg_1.mtx", "general"),
    "e05r0500": ("CFD", "zhaoli0321/faspsolver", "281ceb07", "data/e05r0500.mtx", "general"),
    "add20": ("circuit", "chenxm1986/nicslu", "9842830d", "nicslu202110/demo/add20.mtx", "whole"),
    "memplus": ("circuit", "ocramz/matrix-market-attoparsec", "be585e2c", "data/memplus.mtx", "whole"),
    "circuit_1": ("circuit", "double-flower/AMF-CSR", "751280ba", "circuit_1.mtx", "whole"),
    "recirc_flow": ("convection", "pyamg/pyamg", "ab9eb1c8", "pyamg/gallery/example_data/recirc_flow.mat", "mat"),
    "cdde1": ("convection", "zelda2333/A-block-IDR-s-method-for-nonsymmetric-linear-systems-with-multiple", "88994a87", "cdde1.mtx",
              "whole"),
    "young1c": ("indefinite", "DrTimothyAldenDavis/SuiteSparse", "038d6635", "CXSparse/Matrix/young1c", "complex general"),
    "utm1700a": ("indefinite", "zelda2333/A-block-IDR-s-method-for-nonsymmetric-linear-systems-with-multiple", "88994a87", "utm1700a.mtx",
                 "whole"),
    "mhd1280b": ("complex", "DrTimothyAldenDavis/SuiteSparse", "038d6635", "CXSparse/Matrix/mhd1280b", "complex hermitian"),
    "qc324": ("complex", "DrTimothyAldenDavis/SuiteSparse", "038d6635", "CXSparse/Matrix/qc324", "complex general"),
    "helmholtz_2D": ("complex", "pyamg/pyamg", "ab9eb1c8", "pyamg/gallery/example_data/helmholtz_2D.mat", "mat"),
}
SHARED = {"Trefethen_2000": "structural", "Chem97ZtZ": "structural", "bar": "structural", "fv1": "structural", "fv3": "structural",
          "ldg_diffusion": "convection", "add32": "circuit"}
GENERATED = {"elasticity:16": "structural", "laplace3d:48": "CFD", "cavity3d:32": "CFD", "fem:1,1,6": "CFD", "convdiff3d:32,50": "convection",
             "convdiff3d:64,1000": "convection", "banded:2000,2": "indefinite"}
# An indefinite symmetric matrix: the Laplacian of 5 points on a square of this many, less this.
SHIFTED = ("shifted_laplace", 48, 0.05)

HERMITIAN = [("cg", k) for k in ("none", "jacobi", "dic", "ssor", "ic0", "fsai", "ainv", "chebyshev")]
GENERAL = [(m, k) for m in ("bicgstab", "gcr") for k in ("none", "jacobi", "dilu", "ilu0", "ainv")] + [("cgnr", "none")]
TOLERATED, SHARE = 1.5, 0.8


def triplets(text, field, symmetry):
    entries = [line.split() for line in text.splitlines() if line.strip()]
    size = 1 + max(max(int(e[0]), int(e[1])) for e in entries)
    body = (f"{int(e[0]) + 1} {int(e[1]) + 1} {' '.join(e[2:])}" for e in entries)
    return "\n".join([f"%%MatrixMarket matrix coordinate {field} {symmetry}", f"{size} {size} {len(entries)}", *body]) + "\n"


def convert(content, form, path):
    """Writes the file in Matrix Market format."""
    if form == "mat":
        import io
        import scipy.io
        scipy.io.mmwrite(path, scipy.io.loadmat(io.BytesIO(content))["A"], symmetry="general", precision=17)
        return
    text = content.decode()
    if form in ("general", "symmetric"):
        text = f"%%MatrixMarket matrix coordinate real {form}\n{text}"
    elif form != "whole":
        text = triplets(text, *form.split())
    with open(path, "w", encoding="ascii", errors="ignore") as file:
        file.write(text)


def write_shifted(path, edge, shift):
    entries = []
    for i in range(edge * edge):
        entries.append((i, i, 4 - shift))
        if i % edge:
            entries.append((i, i - 1, -1.0))
        if i >= edge:
            entries.append((i, i - edge, -1.0))
    with open(path, "w", encoding="ascii") as file:
        file.write(triplets("\n".join(f"{i} {j} {a}" for i, j, a in entries), "real", "symmetric"))


def prepare(clones, folder):
    os.makedirs(folder, exist_ok=True)
    for name, (_, repository, commit, path, form) in PUBLIC.items():
        clone = os.path.join(clones, repository.split("/")[1])
        content = subprocess.run(["git", "-C", clone, "show", f"{commit}:{path}"], check=True, stdout=subprocess.PIPE).stdout
        convert(content, form, os.path.join(folder, f"{name}.mtx"))


def find(name, folder):
    if ":" in name:
        return name
    for place in (folder, os.path.join(os.environ.get("KAON_TEST_DATA", ""), "sparse")):
        if os.path.exists(os.path.join(place, f"{name}.mtx")):
            return os.path.join(place, f"{name}.mtx")
    sys.exit(f"{name}.mtx is not in {folder}; make it by --clones, or set KAON_TEST_DATA")


class Runs:
    """Repeated runs of kaon solve with one matrix."""
    def __init__(self, program, matrix, more, limit):
        self.words, self.limit = [program, "solve", "--matrix", matrix, "--max-iter", "20000", *more], limit

    def run(self, *options):
        """(seconds or None, report or None, messages)"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            try:
                done = subprocess.run([*self.words, *options, "--report", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      timeout=self.limit)
            except subprocess.TimeoutExpired:
                return None, None, "too slow"
            report = None
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    report = json.load(file)
            seconds = report["make_seconds"] + report["seconds"] if done.returncode == 0 else None
            return seconds, report, done.stderr


def measure(program, name, matrix, rounds, more):
    default = Runs(program, matrix, more, 600)
    seconds, report, messages = default.run()
    if report is None:
        return {"matrix": name, "default": None, "says": messages.strip()}
    listed = (HERMITIAN, GENERAL) if report["matrix"]["hermitian"] else (GENERAL,)
    used = f"{report['method']} {(report['preconditioner'] or {'kind': 'none'})['kind']}"
    limit = 30 if seconds is None else max(2, 20 * seconds)
    others = Runs(program, matrix, ["--no-fallback", *more], limit)
    times = {}
    for part in listed:
        for method, precond in part if not times else ():
            first = others.run("--method", method, "--precond", precond)[0]
            if first is not None:
                times[method, precond] = [first]
    best = min((t[0] for t in times.values()), default=float("inf"))
    times = {k: t for k, t in times.items() if t[0] <= 3 * best}
    mine = [] if seconds is None else [seconds]
    for _ in range(rounds - 1):
        for (method, precond), t in times.items():
            t.append(others.run("--method", method, "--precond", precond)[0] or float("inf"))
        if seconds is not None:
            mine.append(default.run()[0] or float("inf"))
    least = {k: min(t) for k, t in times.items()}
    fastest = min(least, key=least.get, default=None)
    solve = report["solves"][0]
    return {"matrix": name, "default": min(mine) if mine else None, "used": used, "iterations": solve["iterations"],
            "fallback": solve.get("fallback"), "best": least.get(fastest), "fastest": " ".join(fastest) if fastest else None,
            "all": {" ".join(k): t for k, t in sorted(least.items(), key=lambda p: p[1])}, "says": messages.strip()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="*")
    parser.add_argument("--data", required=True)
    parser.add_argument("--clones")
    parser.add_argument("--program", default="build/kaon")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--more", default="", help="further options of kaon solve")
    a = parser.parse_args()
    if a.clones:
        prepare(a.clones, a.data)
    os.makedirs(a.data, exist_ok=True)
    write_shifted(os.path.join(a.data, f"{SHIFTED[0]}.mtx"), *SHIFTED[1:])
    kinds = {**{k: v[0] for k, v in PUBLIC.items()}, **SHARED, **GENERATED, SHIFTED[0]: "indefinite"}
    rows, failed = [], 0
    for name in a.matrices or kinds:
        row = measure(a.program, name, find(name, a.data), a.rounds, a.more.split())
        row["class"] = kinds.get(name)
        rows.append(row)
        ratio = row["default"] / row["best"] if row["default"] and row.get("best") else None
        row["ratio"] = ratio
        failed += row["default"] is None and not row["says"]
        print(f"{name:18} {row['class'] or '':11} {row.get('used') or '':20} {1e3 * (row['default'] or 0):9.3f} ms  "
              f"best {row.get('fastest') or 'none':20} {1e3 * (row.get('best') or 0):9.3f} ms  ratio "
              f"{ratio or float('nan'):.2f}{'' if row['default'] else '  ' + row['says'][:160]}", flush=True)
        if a.json:
            with open(a.json, "w", encoding="utf-8") as file:
                json.dump(rows, file, indent=1)
    judged = [r for r in rows if r.get("best")]
    good = sum(r["ratio"] is not None and r["ratio"] <= TOLERATED for r in judged)
    print(f"{good} of {len(judged)} within {TOLERATED} of the best; {failed} ended without converging and without a word")
    return 1 if failed or good < SHARE * len(judged) else 0


if __name__ == "__main__":
    sys.exit(main())
