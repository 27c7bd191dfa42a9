#!/usr/bin/env python3
"""compare_solves.py OLD_PROGRAM NEW_PROGRAM [--backend cuda] [--only TEXT] [-v] - do two builds of kaon compute the same bits?

Runs small solves of every action, method, precision and preconditioner with both programs, with two threads, and
compares exit status and reports: iterations, residuals, statuses, plaquettes, correlators, sizes of matrices and
preconditioners. Values must be equal in every bit. Times, texts and keys that only the new program writes are ignored.
Options have names that both generations of the program accept. Asynchronous methods are not reproducible with several threads, so
they run with one.

Prints every run that differs and a summary. Exit status: 0 if all are equal, 1 otherwise, 2 if a program does not start.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

# The results in a report. Objects listed here are compared key by key, except for those of VOLATILE.
KEYS = ("solves", "plaquette", "pion", "rho", "condensate", "condensates", "shifts", "history", "lattice", "matrix", "preconditioner",
        "updates", "error", "sums", "exchanges", "bytes_sent", "spectrum", "relaxation", "next_sweep", "gauges")
VOLATILE = ("seconds", "setup_seconds", "cpu_seconds", "joules", "gflops", "bytes", "name")

FIELD = ["--gauge", "weak:0.3:1", "--lattice", "4", "4", "4", "8"]
WILSON = ["--action", "clover", "--kappa", "0.12", "--csw", "1"]
ACTIONS = {
    "wilson": ["--action", "wilson", "--kappa", "0.12"],
    "clover": WILSON,
    "twisted": ["--action", "twisted", "--kappa", "0.12", "--mu", "0.05"],
    "twisted-clover": ["--action", "twisted-clover", "--kappa", "0.12", "--csw", "1", "--mu", "0.05"],
    "staggered": ["--action", "staggered", "--mass", "0.2"],
    "asqtad": ["--action", "asqtad", "--mass", "0.2", "--u0", "auto"],
    "hisq": ["--action", "hisq", "--mass", "0.2"],
}
SYMMETRIC = ("laplace2d:24", "laplace3d:10", "trefethen:500", "fem:1,2,3", "elasticity:4")
GENERAL = ("convdiff3d:8,10", "cavity3d:4")


def invert_runs():
    for action, words in ACTIONS.items():
        yield action, words
        for precision, sloppy in (("double", "double"), ("double", "half"), ("single", "single"), ("single", "half")):
            tol = "1e-10" if precision == "double" else "1e-5"
            yield f"{action} {precision} {sloppy}", words + ["--precision", precision, "--sloppy", sloppy, "--tol", tol]
        for reals in ("12", "8"):
            yield f"{action} reconstruct {reals}", words + ["--reconstruct", reals]
        yield f"{action} half reconstruct 12", words + ["--reconstruct", "12", "--sloppy", "half"]
        yield f"{action} restart", words + ["--refinement", "restart", "--sloppy", "half"]
        yield f"{action} all sites", words + ["--even-odd", "none"]
        yield f"{action} periodic", words + ["--boundary-t", "periodic"]
        yield f"{action} noise", words + ["--source", "z4:1", "--columns", "3"]
        yield f"{action} shifts", words + ["--shifts", "0.1,0.5,2"]
        yield f"{action} one step short", words + ["--max-iter", "3"]
    for method in ("cg", "cgnr", "cgne", "bicgstab", "gcr", "mr", "blockcg", "pipecg", "pipebicgstab"):
        for sloppy in ("double", "single", "half"):
            yield f"clover {method}, {sloppy}", WILSON + ["--solver", method, "--sloppy", sloppy]
        if method not in ("bicgstab", "mr", "pipebicgstab"):
            yield f"hisq {method}", ACTIONS["hisq"] + ["--solver", method]
    yield "clover asymmetric", WILSON + ["--even-odd", "asymmetric"]
    yield "clover temporal gauge", WILSON + ["--temporal-gauge", "--reconstruct", "8"]
    anisotropic = ["1,1" if before == "--csw" else word for before, word in zip([""] + WILSON, WILSON)]
    yield "clover anisotropic", anisotropic + ["--anisotropy", "2.5"]
    for stop in ("schur", "normal"):
        yield f"clover stop {stop}", WILSON + ["--stop", stop]
    for source in ("wall:2", "gauss:7"):
        yield f"wilson {source}", ACTIONS["wilson"] + ["--source", source]
    yield "staggered corner", ACTIONS["staggered"] + ["--source", "corner:0"]
    blocks = ["--solver", "gcr", "--schwarz-block", "2", "2", "2", "4"]
    for kind, precision in itertools.product(("schwarz", "sap"), ("double", "single", "half")):
        yield f"clover {kind} {precision}", WILSON + blocks + ["--preconditioner", kind, "--schwarz-precision", precision]
    yield "clover async-schwarz", WILSON + blocks + ["--preconditioner", "async-schwarz"]


def solve_runs():
    for matrix in SYMMETRIC:
        yield matrix, ["--matrix", matrix]
        for method in ("pipecg", "groppcg", "chrongear", "blockcg", "bicg", "bicgstab", "rbicgstab", "pipebicgstab", "gcr", "cgnr", "cgne",
                       "mr"):
            yield f"{matrix} {method}", ["--matrix", matrix, "--method", method]
    for matrix in GENERAL:
        for method in ("bicg", "bicgstab", "rbicgstab", "pipebicgstab", "gcr", "cgnr", "cgne"):
            yield f"{matrix} {method}", ["--matrix", matrix, "--method", method]
        for precond in ("jacobi", "block-jacobi", "dilu", "ilu0", "ainv", "gs-sweeps", "kaczmarz", "carp", "cimmino", "schwarz", "sap"):
            yield f"{matrix} with {precond}", ["--matrix", matrix, "--precond", precond, "--method", "gcr"]
    for matrix in SYMMETRIC[1:3]:
        for precond in ("jacobi", "block-jacobi", "dic", "dilu", "ssor", "ic0", "ilu0", "ainv", "fsai", "chebyshev", "jacobi-sweeps",
                        "two-stage"):
            yield f"{matrix} with {precond}", ["--matrix", matrix, "--precond", precond]
        for precond in ("gs-sweeps", "sor-sweeps", "kaczmarz", "kaczmarz-double", "carp", "cimmino", "async"):
            yield f"{matrix} with {precond}", ["--matrix", matrix, "--precond", precond, "--method", "gcr"]
        for precond in ("schwarz", "sap"):
            yield f"{matrix} with {precond}", ["--matrix", matrix, "--precond", precond, "--method", "gcr", "--schwarz-block", "64"]
        for precond in ("block-jacobi", "ic0", "fsai"):
            yield f"{matrix} with {precond} half", ["--matrix", matrix, "--precond", precond, "--precond-precision", "half"]
        for precond in ("ic0", "ssor"):
            yield f"{matrix} with {precond} colours", ["--matrix", matrix, "--precond", precond, "--precond-order", "colour"]
        yield f"{matrix} ic0 sweeps", ["--matrix", matrix, "--precond", "ic0", "--sweeps", "3"]
        for method in ("jacobi", "gs", "sor", "kaczmarz", "cgmnc", "carpcg", "cimmino"):
            yield f"{matrix} {method}", ["--matrix", matrix, "--method", method, "--max-iter", "300"]
        for method in ("two-stage", "async"):
            yield f"{matrix} {method}", ["--matrix", matrix, "--method", method, "--max-iter", "300", "--block", "64"]
        for method in ("gs", "kaczmarz", "cgmnc", "carpcg"):
            yield f"{matrix} {method} colours", ["--matrix", matrix, "--method", method, "--coloring", "--max-iter", "300"]
        for sloppy in ("single", "half"):
            yield f"{matrix} {sloppy}", ["--matrix", matrix, "--sloppy", sloppy]
        yield f"{matrix} in single", ["--matrix", matrix, "--precision", "single", "--tol", "1e-5"]
        for form in ("csr", "ell", "sell"):
            yield f"{matrix} {form}", ["--matrix", matrix, "--format", form]
        yield f"{matrix} rcm", ["--matrix", matrix, "--ordering", "rcm"]
        yield f"{matrix} columns", ["--matrix", matrix, "--columns", "5"]


def runs(folder):
    yield "generate", ["generate", "--lattice", "4", "4", "4", "8", "--sweeps", "5", "--output", os.path.join(folder, "c.lime")], False
    made = ["--gauge", os.path.join(folder, "c.lime")]
    yield "gauge", ["gauge", made[1]], False
    for action, words in ACTIONS.items():
        yield f"invert {action}, made links", ["invert", *made, *words], False
    for name, words in invert_runs():
        yield "invert " + name, ["invert", *FIELD, *words], "async" in name
    for name, words in solve_runs():
        given = any(word in ("--precond", "--preconditioner") for word in words)
        yield "solve " + name, ["solve", *words, *([] if given else ["--precond", "none"])], "async" in name


def run(program, words, report, alone, backend):
    if os.path.exists(report):
        os.remove(report)
    threads = "1" if alone else "2"
    environment = dict(os.environ, OMP_NUM_THREADS=threads, KAON_BACKEND=backend, OMP_WAIT_POLICY="passive")
    words = [program, *words, "--report", report, "--threads", threads, "--quiet"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, timeout=300)
    found = {"status": done.returncode}
    if os.path.exists(report):
        with open(report, encoding="utf-8") as file:
            said = json.load(file, parse_float=lambda text: float(text).hex())  # bits
        found.update((key, said[key]) for key in KEYS if key in said)
    return found, done.stdout.strip()


def differences(old, new, path=""):
    """the places where new differs from old"""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in VOLATILE:
                yield from differences(value, new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{path}[{i}]")
    elif isinstance(old, str) and not old.startswith(("0x", "-0x")) and not path.endswith("status"):
        return
    elif old != new:
        yield f"{path.lstrip('.')}: {shown(old)}, now {shown(new)}"


def shown(value):
    return repr(float.fromhex(value)) if isinstance(value, str) and value.startswith(("0x", "-0x")) else json.dumps(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old"), parser.add_argument("new")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", default="", metavar="TEXT", help="leave out runs whose names lack TEXT")
    parser.add_argument("-v", action="store_true", dest="verbose", help="name every run")
    given = parser.parse_args()
    for program in (given.old, given.new):
        if not os.access(program, os.X_OK):
            print(f"compare_solves.py: {program} is no program", file=sys.stderr)
            return 2
    equal = refused = 0
    bad, solves = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, words, alone in runs(folder):
            if given.only not in name and name != "generate":
                continue
            report = os.path.join(folder, "report.json")
            old, said = run(os.path.abspath(given.old), words, report, alone, given.backend)
            new, now = run(os.path.abspath(given.new), words, report, alone, given.backend)
            found = list(differences(old, new))
            refused += old["status"] > 1
            solves += len(old.get("solves", []))
            if found:
                bad.append(name)
                print(f"{name}: {' '.join(words)}")
                for line in found[:5]:
                    print("    " + line)
                if new["status"] > 1:
                    print("    " + now.split("\n")[0])
            else:
                equal += 1
                if given.verbose:
                    print(f"{name}: equal, status {old['status']}" + (f": {said}" if old["status"] > 1 else ""))
    print(f"{equal + len(bad)} runs, {solves} columns: {equal} equal, {len(bad)} different; {refused} refused by the old program")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
