"""Every remedy that a message of kaon solve or kaon invert names is carried out, and leads to the answer.

A row: what the message says (a regular expression), the command that it comes from, and the same command with each of the remedies.
The rows are held against the messages in the source: one that names a remedy and has no row fails.
"""
import glob
import os
import re
import unittest

import system

N = 40
GRID = ["--matrix", "laplace2d:10"]
LINKS = ["--gauge", "weak:0.3", "--lattice", "4", "4", "4", "8", "--columns", "1"]
WILSON = [*LINKS, "--action", "wilson", "--kappa", "0.12"]
MULTIGRID = ["--precond", "multigrid", "--multigrid", "vectors_0=6,setup=1"]
STAGGERED = [*LINKS, "--action", "staggered", "--mass", "0.1"]
HARD = ["--gauge", "random:1", "--lattice", "4", "4", "4", "8", "--kappa", "0.25", "--csw", "1", "--columns", "1"]


def matrix(rows, entries, symmetry="general"):
    return (f"%%MatrixMarket matrix coordinate real {symmetry}\n{rows} {rows} {len(entries)}\n" +
            "".join(f"{i} {j} {a!r}\n" for i, j, a in entries))


def array(*columns):
    return f"%%MatrixMarket matrix array real general\n{len(columns[0])} {len(columns)}\n" + "".join(f"{x!r}\n" for c in columns for x in c)


def chain(below=-1.0, diagonal=2.5, above=-1.0, n=N):
    entries = [(i, i, diagonal) for i in range(1, n + 1)]
    return entries + [(i + 1, i, below) for i in range(1, n)] + [(i, i + 1, above) for i in range(1, n)]


def full(n, diagonal, other):
    return [(i, j, diagonal if i == j else other) for i in range(1, n + 1) for j in range(1, n + 1)]


def closed(before, behind, n=N):
    """A chain whose rows add up to 0: A times ones is 0."""
    entries = [(i, i - 1, -before) for i in range(2, n + 1)] + [(i, i + 1, -behind) for i in range(1, n)]
    return entries + [(i, i, (before if i > 1 else 0) + (behind if i < n else 0)) for i in range(1, n + 1)]


FILES = {
    "A": matrix(N, chain()),
    "wind": matrix(N, chain(below=-1.4, above=-0.2)),
    "skew": matrix(N, chain(below=-1.0, diagonal=0.0, above=1.0)),
    "indefinite": matrix(N, chain(diagonal=1.0)),
    "heavy": matrix(3, full(3, 3.0, 2.0)),
    "heavier": matrix(3, [(i, j, a if i <= j or i == j else 2.1) for i, j, a in full(3, 3.0, 2.0)]),
    "tiny": matrix(N, [(i, j, a * 1e-180) for i, j, a in chain(below=-1.4, above=-0.2)]),
    "tiny-mended": matrix(N, [(i, j, a * 2.0 ** 598 * 1e-180) for i, j, a in chain(below=-1.4, above=-0.2)]),
    "hole": matrix(2, [(1, 2, 1.0), (2, 1, 2.0)]),
    "hole-mended": matrix(2, [(1, 1, 2.0), (2, 2, 1.0)]),
    "dependent": matrix(3, [(1, 1, 2.0), (2, 1, 3.0), (3, 2, 1.0), (3, 3, 1.0)]),
    "dependent-mended": matrix(2, [(1, 1, 2.0), (2, 1, 1.0), (2, 2, 1.0)]),
    "empty": matrix(3, [(1, 1, 1.0), (3, 3, 1.0)]),
    "empty-mended": matrix(3, [(1, 1, 1.0), (2, 2, 1.0), (3, 3, 1.0)]),
    "one": matrix(8, [(i, i, 1.0) for i in range(1, 9)]),
    "b3": array([1.0] * 3), "b40": array([1.0] * N), "b2x40": array([1.0] * N, [0.5] * N), "none40": f"%%MatrixMarket matrix array real general\n{N} 0\n",
    "b40i": f"%%MatrixMarket matrix array complex general\n{N} 1\n" + "1 1\n" * N,
    "small8": array([1e-50] * 8), "small8-mended": array([2.0 ** 166 * 1e-50] * 8), "third8": array([1 / 3] * 8),
    "neumann": matrix(N, closed(1.0, 1.0)), "drift": matrix(N, closed(1.05, 0.95)), "drift-turned": matrix(N, [(j, i, a) for i, j, a in closed(1.05, 0.95)]),
    "ramp40": array([float(i) for i in range(N)]), "wave40": array([1.0, -1.0] * (N // 2)), "seventeen": array(*[[1.0] * N] * 17),
    "order": "".join(f"{i}\n" for i in range(N, 0, -1)), "short-order": "1\n", "word-order": "one\n" * N, "long-order": " " * 5000 + "1" + "\n",
}

SOLVE = [
    ("--set has tol; it takes delta", ["A", "--set", "tol=1e-3"], [["A", "--tol", "1e-3"], ["A", "--set", "delta=0.1"]]),
    ("--set subspace is for", ["A", "--method", "cg", "--set", "subspace=8"], [["A", "--method", "cg"], ["A", "--method", "gcr", "--set", "subspace=8"]]),
    ("finer than --precision single", ["A", "--precision", "single", "--sloppy", "double", "--tol", "1e-5"], [["A", "--precision", "double", "--sloppy", "double"]]),
    ("--rhs own is what a generator brings", ["A", "--rhs", "own"], [["A", "--rhs", "b40"], ["A", "--rhs", "ones"], ["A", "--rhs", "A*ones"]]),
    ("brings no right-hand side", [*GRID, "--rhs", "own"], [[*GRID, "--rhs", "ones"], [*GRID, "--rhs", "A*ones"]]),
    ("--rhs is empty", ["A", "--rhs", ""], [["A", "--rhs", "ones"]]),
    ("structurally singular, whatever", ["dependent"], [["dependent-mended"]]),
    ("have no entries other than 0", ["empty"], [["empty-mended"]]),
    ("needs a Hermitian matrix", ["wind", "--method", "cg"], [["wind", "--method", m] for m in ("bicgstab", "gcr", "cgnr")]),
    ("needs a Hermitian matrix", ["skew", "--method", "cg"], [["skew", "--method", "cgnr"]]),
    ("joins at most 64 columns", [*GRID, "--method", "blockcg", "--columns", "65"], [[*GRID, "--method", "blockcg", "--columns", "64"]]),
    ("b3 has 3 rows", ["A", "--rhs", "b3"], [["A", "--rhs", "b40"]]),
    ("b40i is complex", ["A", "--rhs", "b40i"], [["A", "--rhs", "b40"]]),
    ("none40 has 0 columns", ["A", "--rhs", "none40"], [["A", "--rhs", "b40"]]),
    ("pass --columns 2", ["A", "--rhs", "b2x40"], [["A", "--rhs", "b2x40", "--columns", "2"]]),
    ("multiply b by a power of 2", ["one", "--rhs", "small8", "--precision", "single", "--tol", "1e-4"],
     [["one", "--rhs", "small8-mended", "--precision", "single", "--tol", "1e-4"], ["one", "--rhs", "small8"]]),
    ("single precision rounds", ["one", "--rhs", "third8", "--precision", "single", "--tol", "1e-9"],
     [["one", "--rhs", "third8", "--precision", "single", "--tol", "1e-6"], ["one", "--rhs", "third8", "--sloppy", "single"]]),
    # faults
    ("has no effect without", ["A", "--method", "async", "--fault-begin", "3"], [["A", "--method", "async"], ["A", "--method", "async", "--fault-begin", "3", "--fault-share", "0.1", "--fault-recovery", "5"]]),
    ("leave one out", ["A", "--method", "async", "--fault-rank", "0", "--fault-share", "0.1"],
     [["A", "--method", "async", "--fault-rank", "0", "--fault-recovery", "5"], ["A", "--method", "async", "--fault-share", "0.1", "--fault-recovery", "5"]]),
    ("which look for faults", ["A", "--method", "cg", "--fault-share", "0.1"], [["A", "--method", "cg"]]),
    ("--fault-seed has no effect", ["A", "--method", "async", "--fault-seed", "3"], [["A", "--method", "async"], ["A", "--method", "async", "--fault-seed", "3", "--fault-share", "0.1", "--fault-recovery", "5"]]),
    # orders of rows
    ("'one' is not a row number", ["A", "--method", "kaczmarz", "--permutation", "word-order"], [["A", "--method", "kaczmarz", "--permutation", "order"]]),
    ("give a row number a line", ["A", "--method", "kaczmarz", "--permutation", "long-order"], [["A", "--method", "kaczmarz", "--permutation", "order"]]),
    ("is no ordinary file", ["A", "--method", "kaczmarz", "--permutation", "."], [["A", "--method", "kaczmarz", "--permutation", "order"]]),
    ("give each row once", ["A", "--method", "kaczmarz", "--permutation", "short-order"], [["A", "--method", "kaczmarz", "--permutation", "order"]]),
    ("a text of row numbers", ["A", "--method", "kaczmarz", "--permutation", "absent"], [["A", "--method", "kaczmarz", "--permutation", "order"]]),
    # preconditioners
    ("changes from step to step", ["A", "--precond", "sap", "--method", "bicgstab"], [["A", "--precond", "sap", "--method", "gcr"], ["A", "--precond", "sap", "--method", "fcg"], ["A", "--precond", "jacobi", "--method", "bicgstab"]]),
    ("is not Hermitian, as --method", ["A", "--precond", "gs-sweeps", "--method", "cg"],
     [["A", "--precond", "gs-sweeps", "--method", "gcr"], ["A", "--precond", "gs-sweeps", "--method", "bicgstab"], ["A", "--precond", "ssor", "--method", "cg"]]),
    ("is not Hermitian, as --method", ["A", "--precond", "kaczmarz", "--method", "cg"], [["A", "--precond", "jacobi-sweeps", "--method", "cg"]]),
    ("takes no preconditioner", ["A", "--method", "mr", "--precond", "jacobi"],
     [["A", "--method", "mr", "--precond", "none"], *(["A", "--method", m, "--precond", "jacobi"] for m in ("gcr", "bicgstab", "cg"))]),
    ("has no adjoint", ["A", "--precond", "jacobi-sweeps", "--method", "bicg"], [["A", "--precond", "jacobi-sweeps", "--method", m] for m in ("bicgstab", "gcr")]),
    ("or name one of these", ["A", "--degree", "3"], [["A"], ["A", "--precond", "chebyshev", "--degree", "3"]]),
    ("are the ends of one interval", ["A", "--precond", "chebyshev", "--low", "0.3"], [["A", "--precond", "chebyshev", "--low", "0.3", "--high", "1.9"], ["A", "--precond", "chebyshev"]]),
    ("--precond-precision half: sweeps", ["A", "--precond", "jacobi-sweeps", "--precond-precision", "half"], [["A", "--precond", "jacobi-sweeps", "--precond-precision", p] for p in ("double", "single")]),
    ("needs a diagonal without 0", ["hole", "--precond", "jacobi"], [["hole", "--precond", "none"], ["hole-mended", "--precond", "jacobi"]]),
    ("take ilu0", ["wind", "--precond", "ic0"], [["wind", "--precond", "ilu0"]]),
    ("take dilu", ["wind", "--precond", "dic"], [["wind", "--precond", "dilu"]]),
    ("take ainv", ["wind", "--precond", "fsai"], [["wind", "--precond", "ainv"]]),
    ("which 'shift' only multiplies", ["hole", "--precond", "ilu0"], [["hole", "--precond", "none", "--method", "gcr"], ["hole", "--precond", "none", "--method", "cgnr"], ["hole-mended", "--precond", "ilu0"]]),
    ("give a larger 'shift', or choose", ["indefinite", "--precond", "ic0", "--shift", "0", "--method", "gcr"],
     [["indefinite", "--precond", "ic0", "--shift", "2", "--method", "gcr"], ["indefinite", "--precond", "ilu0", "--method", "gcr"]]),
    ("does not support an inner iteration in half", ["A", "--method", "pipecg", "--sloppy", "half"],
     [["A", "--method", "pipecg", "--sloppy", "single"], ["A", "--method", "cg", "--sloppy", "half"], ["A", "--method", "bicgstab", "--sloppy", "half"]]),
    # projections
    ("and for a --precond of such sweeps", ["A", "--lambda", "1"], [["A"], ["A", "--method", "cimmino", "--lambda", "0.4"], ["A", "--precond", "cimmino", "--lambda", "0.4"]]),
    ("cimmino takes all at once", ["A", "--method", "cimmino", "--coloring"], [["A", "--method", "cimmino"]]),
    ("--coloring is --sweep-order colours", ["A", "--method", "cgmnc", "--coloring", "--sweep-order", "rows"], [["A", "--method", "cgmnc", "--coloring"], ["A", "--method", "cgmnc", "--sweep-order", "rows"]]),
    ("--sweep-order another one", ["A", "--method", "cgmnc", "--permutation", "order", "--sweep-order", "rows"], [["A", "--method", "cgmnc", "--permutation", "order"], ["A", "--method", "cgmnc", "--sweep-order", "rows"]]),
    ("--coloring another one", ["A", "--method", "cgmnc", "--permutation", "order", "--coloring"], [["A", "--method", "cgmnc", "--permutation", "order"], ["A", "--method", "cgmnc", "--coloring"]]),
    ("--carp-rows says which rows", ["A", "--method", "carpcg", "--permutation", "order", "--carp-rows", "near"], [["A", "--method", "carpcg", "--permutation", "order"], ["A", "--method", "carpcg", "--carp-rows", "near"]]),
    ("of which --precond knows nothing", ["A", "--method", "cgmnc", "--precond", "jacobi"], [["A", "--method", "cgmnc"]]),
    ("takes no half precision", ["A", "--method", "cgmnc", "--sloppy", "half"], [["A", "--method", "cgmnc", "--sloppy", "single"]]),
    ("give --lambda 0, which is", ["--matrix", "fem:1,1,2", "--method", "cimmino", "--lambda", "5", "--no-fallback", "--max-iter", "500"],
     [["--matrix", "fem:1,1,2", "--method", "cimmino", "--lambda", "0"], ["--matrix", "fem:1,1,2", "--method", "cimmino", "--lambda", "0.3"]]),
    ("give a smaller one, or 0 for", ["--matrix", "fem:1,1,2", "--method", "cimmino", "--lambda", "5", "--no-fallback", "--max-iter", "50"],
     [["--matrix", "fem:1,1,2", "--method", "cimmino", "--lambda", "0"], ["--matrix", "fem:1,1,2", "--method", "cimmino", "--lambda", "0.3"]]),
    # relaxation
    ("--lag is for blocks that iterate", ["A", "--method", "async", "--lag", "1"], [["A", "--method", "async"], ["A", "--method", "async", "--async-driver", "free", "--lag", "1"]]),
    ("--stride is how often", ["A", "--method", "async", "--stride", "8"], [["A", "--method", "async"], ["A", "--method", "async", "--async-driver", "free", "--stride", "8"]]),
    ("is for rows of other ranks", ["A", "--method", "async", "--rank-lag", "1"], [["A", "--method", "async"]]),
    ("--tau is for --method", ["A", "--method", "cg", "--tau", "0.5"], [["A", "--method", "cg"], ["A", "--method", "jacobi", "--tau", "0.5"]]),
    ("once a sweep; leave it out", ["A", "--precond", "async", "--lag", "1"], [["A", "--precond", "async"]]),
    ("will not converge for most right-hand sides: A is Hermitian, but", ["indefinite", "--method", "gs", "--spectrum", "--no-fallback", "--max-iter", "99"],
     [["indefinite", "--method", "cgnr"], ["indefinite", "--method", "gcr", "--precond", "ilu0"]]),
    ("will diverge: the spectral radius of 1 - tau", ["heavy", "--method", "jacobi", "--no-fallback"], [["heavy", "--method", "jacobi", "--tau", "0"]]),
    ("give --tau 0; or try --method cg --precond ic0", ["heavy", "--method", "jacobi", "--no-fallback"],
     [["heavy", "--method", "jacobi", "--tau", "0"], ["heavy", "--method", "cg", "--precond", "ic0"]]),
    ("take gcr or bicgstab", ["heavier", "--method", "jacobi", "--no-fallback"], [["heavier", "--method", "gcr"], ["heavier", "--method", "bicgstab"]]),
    ("leave --omega out", [*GRID, "--method", "two-stage", "--omega", "1.1", "--no-fallback"], [[*GRID, "--method", "two-stage"]]),
    ("--method cg may need fewer", [*GRID, "--method", "jacobi", "--max-iter", "9"], [[*GRID, "--method", "jacobi", "--max-iter", "9999"], [*GRID, "--method", "cg", "--max-iter", "40"]]),
    ("--method gcr may need fewer", ["wind", "--method", "jacobi", "--max-iter", "3"], [["wind", "--method", "jacobi", "--max-iter", "9999"], ["wind", "--method", "gcr"]]),
    ("residual has not fallen", ["wind", "--method", "jacobi", "--tau", "3", "--max-iter", "5"], [["wind", "--method", "gcr"]]),
    ("--max-iter allows more steps; sweeps", [*GRID, "--method", "kaczmarz", "--max-iter", "9"], [[*GRID, "--method", "cgmnc"], [*GRID, "--method", "kaczmarz", "--max-iter", "99999"]]),
    ("--max-iter allows more steps", [*GRID, "--max-iter", "9"], [[*GRID, "--max-iter", "99"]]),
    # ends
    ("rounding of b and x in single precision", [*GRID, "--precision", "single", "--tol", "3e-8"],
     [[*GRID, "--precision", "double", "--sloppy", "single", "--tol", "3e-8"], [*GRID, "--precision", "single", "--tol", "1e-5"]]),
    ("try --method bicgstab, or --method bicgstab --precond ilu0", ["indefinite", "--method", "cg", "--precond", "none", "--no-fallback"],
     [["indefinite", "--method", "bicgstab", "--precond", "none"], ["indefinite", "--method", "bicgstab", "--precond", "ilu0"]]),
    ("try --precond ilu0, or --method gcr --precond ilu0", ["--matrix", "banded:500,2", "--precond", "none", "--no-fallback"],
     [["--matrix", "banded:500,2", "--precond", "ilu0"], ["--matrix", "banded:500,2", "--method", "gcr", "--precond", "ilu0"]]),
    # singular systems
    ("b is inconsistent.* 0.861 .*give --null-space constant --project-rhs", ["neumann", "--rhs", "ramp40"], [["neumann", "--rhs", "ramp40", "--null-space", "constant", "--project-rhs"]]),
    ("give --project-rhs", ["neumann", "--rhs", "ramp40", "--null-space", "constant"], [["neumann", "--rhs", "ramp40", "--null-space", "b40", "--project-rhs"]]),
    ("give --project-rhs", ["drift-turned", "--rhs", "ramp40"], [["drift-turned", "--rhs", "ramp40", "--project-rhs"]]),
    ("--output FILE --guess FILE.unconverged --tol 0.27 accepts", ["drift", "--rhs", "ramp40", "--output", "x"],
     [["drift", "--rhs", "ramp40", "--output", "x", "--guess", "x.unconverged", "--tol", "0.27"]]),
    ("--max-iter allows more steps; A is singular.* give --null-space constant, too", ["neumann", "--rhs", "wave40", "--max-iter", "3"],
     [["neumann", "--rhs", "wave40", "--null-space", "constant", "--max-iter", "99"]]),
    ("--rhs is missing: with --null-space", ["neumann", "--null-space", "constant"], [["neumann", "--null-space", "constant", "--rhs", "wave40"]]),
    ("takes 16 at most; give fewer", ["neumann", "--rhs", "wave40", "--null-space", "seventeen"], [["neumann", "--rhs", "wave40", "--null-space", "b40"]]),
    ("give vectors with A n = 0, or none", ["A", "--null-space", "constant", "--rhs", "b40"], [["A", "--rhs", "b40"]]),
    ("--seed is for the columns after", ["A", "--seed", "3"], [["A"], ["A", "--seed", "3", "--columns", "2"]]),
    ("--refinement corrects an inner iteration", ["A", "--refinement", "restart"], [["A"], ["A", "--refinement", "restart", "--sloppy", "single"]]),
    ("--guess b2x40 has 2 columns", ["A", "--guess", "b2x40"], [["A", "--guess", "b40"], ["A", "--guess", "b2x40", "--columns", "2"]]),
]

INVERT = [
    ("needs --csw C", [*LINKS, "--kappa", "0.12"], [[*LINKS, "--kappa", "0.12", "--csw", "1"], WILSON]),
    ("--ignore-checksum is for a file", [*WILSON, "--ignore-checksum"], [WILSON]),
    ("is for Hermitian positive definite operators", [*WILSON, "--method", "fcg"], [[*WILSON, "--method", "cg"], [*WILSON, "--method", "gcr"], [*STAGGERED, "--method", "fcg"]]),
    ("give --even-odd none", [*WILSON, "--method", "jacobi"], [[*WILSON, "--method", "jacobi", "--even-odd", "none"]]),
    ("--set has tol", [*WILSON, "--set", "tol=1e-3"], [[*WILSON, "--tol", "1e-3"]]),
    ("finer than --precision single", [*WILSON, "--precision", "single", "--sloppy", "double", "--tol", "1e-5"], [[*WILSON, "--precision", "double", "--sloppy", "double"]]),
    ("is for staggered actions; take wall", [*WILSON, "--source", "corner:0"], [[*WILSON, "--source", "wall:0"], [*STAGGERED, "--source", "corner:0"]]),
    ("--stop schur is for the even-odd system", [*WILSON, "--stop", "schur", "--even-odd", "none"], [[*WILSON, "--stop", "schur"], [*WILSON, "--even-odd", "none"]]),
    ("give one of --kappa and --mass", [*LINKS, "--action", "wilson"], [WILSON, [*LINKS, "--action", "wilson", "--mass", "0.2"]]),
    ("which is missing; leave it out, or give one", [*WILSON, "--schwarz-steps", "3"], [WILSON, [*WILSON, "--schwarz-steps", "3", "--precond", "schwarz", "--method", "gcr"]]),
    ("is for --precond async-schwarz, but", [*WILSON, "--precond", "sap", "--method", "gcr", "--schwarz-groups", "2"], [[*WILSON, "--precond", "sap", "--method", "gcr"]]),
    ("does not go with --precond multigrid", [*WILSON, *MULTIGRID, "--even-odd", "symmetric"], [[*WILSON, *MULTIGRID]]),
    ("does not go with --precond multigrid, which is made", [*WILSON, *MULTIGRID, "--temporal-gauge"], [[*WILSON, *MULTIGRID]]),
    ("is for cg and cgnr, but --precond multigrid", [*WILSON, *MULTIGRID, "--set", "deflation=8"], [[*WILSON, *MULTIGRID], [*WILSON, "--set", "deflation=8"]]),
    ("--plot-levels is for", [*WILSON, "--plot-levels", "levels.png"], [WILSON]),
    ("--multigrid is for", [*WILSON, "--multigrid", "setup=1"], [WILSON, [*WILSON, *MULTIGRID]]),
    ("--precond multigrid is for", [*STAGGERED, "--precond", "multigrid"], [STAGGERED, [*WILSON, *MULTIGRID]]),
    ("--method async-schwarz is gcr", [*WILSON, "--method", "async-schwarz", "--precond", "sap"], [[*WILSON, "--method", "async-schwarz"], [*WILSON, "--method", "gcr", "--precond", "sap"]]),
    ("--mass 0 leaves the odd sites", [*LINKS, "--action", "staggered", "--mass", "0"], [STAGGERED, [*LINKS, "--action", "staggered", "--mass", "0", "--even-odd", "none"]]),
    ("--precond is not for --action", [*STAGGERED, "--precond", "sap", "--method", "gcr"], [[*STAGGERED, "--method", "gcr"]]),
    ("--method async-schwarz is not for", [*STAGGERED, "--method", "async-schwarz"], [[*STAGGERED, "--method", "cg"]]),
    ("blockcg joins at most 64", [*WILSON[:-6], *WILSON[-4:], "--columns", "65", "--source", "z4:1", "--method", "blockcg"], []),
    ("--resume looks for", [*WILSON, "--resume"], [[*WILSON, "--resume", "--output", "p.lime"]]),
    ("--resume takes over no staggered", [*STAGGERED, "--resume", "--output", "s.lime"], [[*STAGGERED, "--output", "s.lime"]]),
    ("would not be positive definite; give shifts above", [*STAGGERED, "--shifts", "-0.05,1"], [[*STAGGERED, "--shifts", "-0.03,1"]]),
    ("has nothing on the even sites", [*STAGGERED, "--shifts", "0,1", "--source", "point:1,0,0,0"],
     [[*STAGGERED, "--shifts", "0,1", "--source", "point:1,1,0,0"], [*STAGGERED, "--shifts", "0,1", "--source", "point:1,0,0,0", "--even-odd", "none"]]),
    ("--stop does not go with --shifts", [*WILSON, "--shifts", "0,1", "--stop", "schur"], [[*WILSON, "--shifts", "0,1"], [*WILSON, "--stop", "schur"]]),
    ("a shift is so negative", [*WILSON, "--shifts", "-3,1"], [[*WILSON, "--shifts", "0,1"]]),
    ("give a larger --tol, or --precision double", [*WILSON, "--shifts", "0,1", "--tol", "1e-9", "--precision", "single"],
     [[*WILSON, "--shifts", "0,1", "--tol", "1e-5", "--precision", "single"], [*WILSON, "--shifts", "0,1", "--tol", "1e-9"]]),
    ("above --tol; give a larger --tol$", [*WILSON, "--shifts", "0,1", "--tol", "1e-16"], [[*WILSON, "--shifts", "0,1", "--tol", "1e-14"]]),
    ("means kappa = ", [*LINKS, "--action", "wilson", "--mass", "-1.5", "--anisotropy", "0.01"], [[*LINKS, "--action", "wilson", "--mass", "1", "--anisotropy", "0.01"]]),
    ("--max-iter allows more steps", [*WILSON, "--max-iter", "3"], [[*WILSON, "--max-iter", "300"]]),
    ("try --method cg, or --method cg --sloppy double", [*HARD, "--method", "bicgstab", "--no-fallback"], [[*HARD, "--method", "cg"], [*HARD, "--method", "cg", "--sloppy", "double"]]),
    ("rounding of x in single precision", [*WILSON, "--precision", "single", "--tol", "1e-9"], [[*WILSON, "--precision", "double", "--sloppy", "single", "--tol", "1e-9"], [*WILSON, "--precision", "single", "--tol", "1e-6"]]),
]

# Messages whose remedy cannot be carried out in a test, or is carried out in another one.
ELSEWHERE = [
    "out of memory", "out of host memory", "on several ranks kaon does not check", "the machine has", "choose another backend",
    "rows that were lost prevented", "bits of x flipped",  # test_relax_program
    "numbers near overflow",  # below
    "--temporal-gauge", "links are off SU",  # test_invert_program
    "--reconstruct", "--u0", "--fat-links", "--boundary-t periodic is not",  # test_light_quarks
    "--guess", "has no extents of its own", "does not say its extents",  # test_guess_program, test_gauge_program
    "--shifts has more than", "--shifts begins all", "give other shifts",  # test_shifts_program
    "with an error of",  # test_relax_program
    "lambda is too large for this matrix: give a smaller --lambda",  # on several ranks
    "A is singular or nearly so", "rounding keeps it above --tol (give", "the operator is singular or nearly so",  # nothing helps
    "cannot be described here",  # by the library alone
    "nearly singular on this configuration",  # test_multigrid
    "has options of a set-up, but --load-vectors",  # test_multigrid
]
SOURCES = ["interfaces/common/solving.c", "interfaces/common/linear/*.c", "interfaces/common/problem/*.c", "interfaces/cli/command/command_solve.c",
           "interfaces/cli/command/solve_files.c", "interfaces/cli/command/command_invert.c", "interfaces/cli/command/invert_guess.c",
           "interfaces/cli/command/invert_shifts.c", "sparse/precond/matrix_precond.c", "sparse/precond/precond_build.c"]
VERBS = re.compile(r"[;:,(] ?(?:else |or |and )?(?:take|give|try|leave|name|pass|use|raise|multiply|exchange|solve|split|choose)\b")


def messages():
    """The texts in the source that name a remedy: (file, text)."""
    for pattern in SOURCES:
        for path in sorted(glob.glob(os.path.join(system.SOURCE, pattern))):
            with open(path, encoding="utf-8") as file:
                source = file.read()
            for joined in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', source):
                text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', joined.group(0)))
                if VERBS.search(text) and len(text) > 30 and "GFLOPS" not in text:
                    yield os.path.basename(path), text


def as_pattern(text):
    """Of a format: what it prints."""
    return ".*".join(re.escape(part.replace("%%", "%")) for part in re.split(r"%[-+.*0-9]*(?:ll)?[a-z]", text.replace('\\"', '"').replace("\\n", "")))


class Remedies(system.Case):
    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write(text)

    def command(self, program, arguments):
        words = list(arguments)
        if program == "solve" and words[0] != "--matrix":
            words[:1] = ["--matrix", "./" + words[0]]
        return system.kaon(program, *words, cwd=self.folder)

    def carry_out(self, program, rows):
        """Returns all that the failing commands say."""
        said = ""
        for says, fails, remedies in rows:
            with self.subTest(says=says, fails=fails):
                _, out, err = self.command(program, fails)
                said += err
                self.assertRegex(err, says, out)
            for remedy in remedies:
                with self.subTest(says=says, remedy=remedy):
                    code, out, err = self.command(program, remedy)
                    self.assertEqual(code, 0, out + err)
                    self.assertNotIn("converged, by", out)  # it is the remedy that leads to the answer
        return said

    def test_every_remedy_leads_to_the_answer(self):
        said = [self.carry_out("solve", SOLVE), self.carry_out("invert", INVERT)]
        missing = [f"{name}: {text}" for name, text in messages()
                   if not any(word in text for word in ELSEWHERE) and not re.search(as_pattern(text), "\n".join(said))]
        self.assertEqual(missing, [], "messages without a row:\n" + "\n".join(missing))

    def test_numbers_out_of_range_are_scaled(self):
        code, _, err = self.command("solve", ["tiny", "--method", "cgnr", "--precond", "none", "--no-fallback"])
        if code != 0:
            self.assertIn("power of 2", err)
        self.assertEqual(self.command("solve", ["tiny-mended", "--method", "cgnr", "--precond", "none"])[0], 0)

    def test_what_is_advised_is_tried_first(self):
        """and both are reported: the iterations of the method asked for, and those of the other"""
        for arguments, by in ((["indefinite", "--method", "cg", "--precond", "none"], ("bicgstab", "none")),
                              (["--matrix", "banded:500,2", "--precond", "none"], ("bicgstab", "ilu0")),
                              (["heavy", "--method", "jacobi"], ("cg", "ic0"))):
            with self.subTest(arguments=arguments):
                code, out, err = self.command("solve", [*arguments, "--report", "r.json"])
                self.assertEqual(code, 0, out + err)
                solve = self.report("r.json")["solves"][0]
                self.assertEqual((solve["status"], solve["fallback"]["method"], solve["fallback"]["precond"]), ("converged", *by))
                self.assertLessEqual(solve["residual"], 1.1e-8)
                self.assertIn(f"trying {by[0]}", out)
                self.assertIn("converged, by " + (by[0] if by[1] == "none" else " with ".join(by)) + " in", out)
                self.assertEqual(self.command("solve", [*arguments, "--no-fallback", "--report", "alone.json"])[0], 1)
                alone = self.report("alone.json")["solves"][0]
                self.assertNotIn("fallback", alone)
                self.assertEqual(alone["iterations"], solve["iterations"])
        code, out, err = self.command("invert", [*HARD, "--method", "bicgstab", "--report", "r.json"])
        self.assertEqual(code, 0, out + err)
        solve = self.report("r.json")["solves"][0]
        self.assertEqual((solve["status"], solve["fallback"]["method"], solve["fallback"]["precond"]), ("converged", "cgnr", "none"))
        self.assertEqual(system.kaon("bench", "krylov", "--matrix", "banded:500,2", "--method", "bicgstab", "--precond", "none", cwd=self.folder)[0], 1)

    def test_a_larger_max_iter_leaves_steps_for_what_helps(self):
        asked = ["indefinite", "--method", "cg", "--precond", "none", "--max-iter"]
        code, _, err = self.command("solve", [*asked, "16"])
        self.assertEqual(code, 1)
        self.assertIn("a larger --max-iter leaves steps for what else may help", err)
        self.assertEqual(self.command("solve", [*asked, "60"])[0], 0)

    def test_inconsistent_systems_are_named_in_reports(self):
        """with the size of what A x cannot reach; x has no part in the null space"""
        mean = sum(range(N)) / N
        part = mean * N ** 0.5 / sum(i * i for i in range(N)) ** 0.5
        for more, status, field in (([], "stagnated", "unreachable"), (["--project-rhs"], "converged", "removed")):
            code, out, err = self.command("solve", ["neumann", "--rhs", "ramp40", "--null-space", "constant", "--output", "x", "--report", "r.json", *more])
            report = self.report("r.json")
            self.assertEqual((code, report["null_space"], report["solves"][0]["status"]), (status != "converged", "constant", status), out + err)
            self.assertAlmostEqual(report["solves"][0][field], part, delta=1e-13)
        with open(self.path("x"), encoding="ascii") as file:
            x = [float(word) for word in file.read().split("\n")[2:] if word]
        self.assertEqual(len(x), N)
        self.assertLessEqual(abs(sum(x)), 1e-12 * max(map(abs, x)))
        self.assertEqual(self.command("solve", ["drift", "--rhs", "ramp40", "--null-space", "constant", "--project-rhs"])[0], 2)


if __name__ == "__main__":
    system.main()
