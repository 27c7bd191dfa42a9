#!/usr/bin/env python3
"""petsc_compare.py - kaon against PETSc on this machine's processors: microseconds a step of the same solves.

  petsc_compare.py --kaon build/kaon [--matrix laplace3d:128 --matrix fv1.mtx ...] [--solve cg:none --solve cg:jacobi ...]
                   [--threads 1,2] [--rounds 5] [--json FILE]

For every matrix, solve (method:preconditioner) and number of processors kaon (threads) and PETSc (ranks) run in turn, round
after round, so that what else the machine does meets both. A round is the median of its repeats, for both (PETSc's was its
fastest one up to 8c97317); the fastest and the median of the rounds are printed, and the ratio of the fastest. kaon stores
rows as --format says (auto). Incomplete factors (ic0: PETSc's icc; ilu0) are compared on one processor. b = A * ones, x = 0,
until the unpreconditioned residual is below --tol.

PETSc is found by pkg-config (Debian: petsc-dev) or by PETSC_DIR and PETSC_ARCH; petsc_ksp.c beside this file is compiled by
mpicc. Exit status 3 where PETSc is not there. Python's standard library alone.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MISSING = 3
PETSC = {"cg": ["-ksp_type", "cg"], "pipecg": ["-ksp_type", "pipecg"], "groppcg": ["-ksp_type", "groppcg"],
         "chrongear": ["-ksp_type", "cg", "-ksp_cg_single_reduction"],
         "bicg": ["-ksp_type", "bicg"], "bicgstab": ["-ksp_type", "bcgs"], "rbicgstab": ["-ksp_type", "ibcgs"],
         "pipebicgstab": ["-ksp_type", "pipebcgs"]}
PC = {"none": "none", "jacobi": "jacobi", "ic0": "icc", "ilu0": "ilu"}
# On several ranks PETSc's factors are of each rank's own rows: another preconditioner.
WHOLE = ("ic0", "ilu0")


def flags_of_petsc():
    """Compiler and linker words, or None."""
    folder, arch = os.environ.get("PETSC_DIR"), os.environ.get("PETSC_ARCH", "")
    if folder:
        return [f"-I{folder}/include", f"-I{folder}/{arch}/include", f"-L{folder}/{arch}/lib", "-lpetsc"]
    for name in ("petsc", "PETSc"):
        done = subprocess.run(["pkg-config", "--cflags", "--libs", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True)
        if done.returncode == 0:
            return done.stdout.split()
    return None


def compile_peer(folder):
    flags = os.environ.get("PETSC_FLAGS", "").split() or (flags_of_petsc() if shutil.which("pkg-config") else None)
    if not flags or not shutil.which("mpicc"):
        return None
    program = os.path.join(folder, "petsc_ksp")
    done = subprocess.run(["mpicc", "-O3", "-march=native", os.path.join(HERE, "petsc_ksp.c"), "-o", program, *flags],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return None
    return program


def run_petsc(program, matrix, method, precond, ranks, tol):
    command = [*os.environ.get("MPIRUN", "mpirun").split(), "-n", str(ranks), program, "-matrix", matrix, *PETSC[method],
               "-pc_type", PC[precond], "-ksp_rtol", repr(tol)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"))
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    row = json.loads(done.stdout.strip().splitlines()[-1])
    return row["iterations"], 1e6 * row["seconds_median"] / max(row["iterations"], 1), row["petsc"]


def run_kaon(arguments, matrix, method, precond, threads, folder):
    rows = os.path.join(folder, "rows.json")
    command = [arguments.kaon, "bench", "krylov", "--backend", "cpu", "--matrix", matrix, "--method", method, "--precond",
               precond, "--threads", str(threads), "--format", arguments.format, "--tol", repr(arguments.tol), "--json", rows,
               "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    with open(rows, encoding="utf-8") as file:
        row = json.load(file)[-1]
    return row["iterations"], row["step_microseconds"], row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kaon", default="build/kaon")
    parser.add_argument("--matrix", action="append")
    parser.add_argument("--solve", action="append", help="METHOD:PRECONDITIONER of kaon's")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--format", default="auto")
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    arguments.kaon = os.path.abspath(arguments.kaon)
    results = []
    command = " ".join(["bench/peers/petsc_compare.py", *(os.path.basename(word) if "/" in word else word for word in sys.argv[1:])])
    with tempfile.TemporaryDirectory() as folder:
        program = compile_peer(folder)
        if not program:
            print("petsc_compare.py: PETSc or mpicc is missing; install petsc-dev, or set PETSC_DIR", file=sys.stderr)
            return MISSING
        print(f"{'matrix':14s} {'solve':18s} {'cores':>5s} {'steps':>11s} {'kaon us':>16s} {'PETSc us':>16s} {'ratio':>6s}")
        for matrix in arguments.matrix or ["laplace3d:64"]:
            for solve in arguments.solve or ["cg:none", "cg:jacobi"]:
                method, precond = solve.split(":")
                for cores in map(int, arguments.threads.split(",")):
                    if precond in WHOLE and cores > 1:
                        continue
                    ours, theirs = [], []
                    for _ in range(arguments.rounds):
                        steps, microseconds, row = run_kaon(arguments, matrix, method, precond, cores, folder)
                        ours.append(microseconds)
                        other, microseconds, version = run_petsc(program, matrix, method, precond, cores, arguments.tol)
                        theirs.append(microseconds)
                    best = min(theirs) / min(ours)
                    print(f"{os.path.basename(matrix):14s} {solve:18s} {cores:5d} {steps:5d}/{other:5d} "
                          f"{min(ours):7.1f}/{statistics.median(ours):8.1f} {min(theirs):7.1f}/{statistics.median(theirs):8.1f} "
                          f"{best:6.2f}", flush=True)
                    results.append({"bench": "against-petsc", "command": command, "measured": row["measured"], "backend": "cpu",
                                    "device": row["device"], "commit": row["commit"], "ranks": 1, "threads": cores,
                                    "matrix": os.path.basename(matrix), "method": method, "preconditioner": precond,
                                    "precision": "double", "columns": 1, "rounds": arguments.rounds, "stored": row["stored"],
                                    "iterations": steps, "residual": row["residual"],
                                    "seconds": 1e-6 * steps * statistics.median(ours), "microseconds": ours, "petsc": version,
                                    "petsc_iterations": other, "petsc_microseconds": theirs, "ratio": best,
                                    "lattice": None, "links": None, "gflops": None, "ideal_gbs": None, "limit_gbs": None})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
