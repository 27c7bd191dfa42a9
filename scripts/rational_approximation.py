#!/usr/bin/env python3
"""Coefficients of the best rational approximation of x^p, for kaon_rational_read (include/kaon/multishift.h).

    scripts/rational_approximation.py --power=-1/4 --interval 1e-4 10 --terms 10 [--output FILE]
    scripts/rational_approximation.py --power 1/8 --interval 1e-4 10 --error 1e-8

r(x) = constant + sum_i residue_i / (x + pole_i) has N terms and minimises the maximum of |r(x) / x^p - 1| on [LO, HI], for
-1 < p < 1, p not 0. The method is Remez' exchange. At 2 N + 2 points the errors must have equal size and alternating sign;
Newton's method solves this system for the coefficients and the size. The points then move to the extrema of the error.
The first points are Zolotarev's, which are close to those of all powers. Needs mpmath (python3-mpmath).
"""
import argparse
import fractions
import sys

import mpmath as mp


def value(coefficients, x):
    """A polynomial, its coefficient of x^0 first."""
    total = mp.mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


class Approximation:
    """P / Q of degrees n and n, Q's highest coefficient 1, of f(x) = x^power on [lo, hi]."""

    def __init__(self, power, lo, hi, n):
        self.power, self.lo, self.hi, self.n = power, mp.mpf(lo), mp.mpf(hi), n
        self.P, self.Q, self.level = None, None, mp.mpf(0)

    def f(self, x):
        return mp.power(x, self.power)

    def error(self, x):
        return value(self.P, x) / (value(self.Q, x) * self.f(x)) - 1

    def zolotarev(self, count):
        """`count` points from lo to hi as the extrema of Zolotarev's approximations have them."""
        m = 1 - self.lo / self.hi
        quarter = mp.ellipk(m)
        points = []
        for j in range(count):
            sn = mp.ellipfun("sn", j * quarter / (count - 1), m=m)
            points.append(self.lo / (1 - m * sn ** 2))
        points[0], points[-1] = self.lo, self.hi
        return points

    def solve(self, rows, right):
        return mp.lu_solve(mp.matrix(rows), mp.matrix(right))

    def interpolate(self, nodes):
        """P = f Q at 2 n + 1 nodes."""
        n = self.n
        rows = [[x ** k for k in range(n + 1)] + [-self.f(x) * x ** k for k in range(n)] for x in nodes]
        solution = self.solve(rows, [self.f(x) * x ** n for x in nodes])
        self.P, self.Q = list(solution[:n + 1]), list(solution[n + 1:]) + [mp.mpf(1)]

    def equalise(self, points):
        """P - (1 + s E) f Q = 0 at 2 n + 2 points, s = 1, -1, ..., by Newton's method from the current P, Q, E."""
        n = self.n
        for _ in range(40):
            rows, right = [], []
            for k, x in enumerate(points):
                s, f, q = (-1) ** k, self.f(x), value(self.Q, x)
                weight = 1 / (f * q)
                factor = (1 + s * self.level) * f
                rows.append([weight * x ** i for i in range(n + 1)] + [-weight * factor * x ** i for i in range(n)] + [-s])
                right.append(weight * factor * x ** n - s * self.level)
            solution = self.solve(rows, right)
            before = self.level
            self.P, self.Q, self.level = list(solution[:n + 1]), list(solution[n + 1:2 * n + 1]) + [mp.mpf(1)], solution[2 * n + 1]
            if abs(self.level - before) <= mp.mpf(10) ** (-mp.mp.dps // 2) * abs(self.level):
                return
        raise ArithmeticError("the errors at the reference points could not be made equal")

    def extrema(self):
        """Both ends, and where |error| is largest between neighbouring changes of its sign."""
        grid = [self.lo * (self.hi / self.lo) ** (mp.mpf(i) / (60 * self.n)) for i in range(60 * self.n + 1)]
        grid = sorted(set(grid + self.reference))
        errors = [self.error(x) for x in grid]
        found, begin = [], 0
        for i in range(1, len(grid) + 1):
            if i < len(grid) and (errors[i] > 0) == (errors[begin] > 0):
                continue
            best = max(range(begin, i), key=lambda j: abs(errors[j]))
            if 0 < best < len(grid) - 1:
                found.append(self.refine(grid[best - 1], grid[best + 1]))
            else:
                found.append(grid[best])
            begin = i
        return found

    def refine(self, a, b):
        """The largest |error| in (a, b), which holds one, by sections of the golden ratio in log x."""
        ratio = (mp.sqrt(5) - 1) / 2
        a, b = mp.log(a), mp.log(b)
        size = lambda t: abs(self.error(mp.exp(t)))
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        fc, fd = size(c), size(d)
        for _ in range(40):
            if fc > fd:
                b, d, fd = d, c, fc
                c = b - ratio * (b - a)
                fc = size(c)
            else:
                a, c, fc = c, d, fd
                d = a + ratio * (b - a)
                fd = size(d)
        return mp.exp((a + b) / 2)

    def exchange(self):
        self.reference = self.zolotarev(2 * self.n + 2)
        self.interpolate([mp.sqrt(a * b) for a, b in zip(self.reference, self.reference[1:])])
        for _ in range(60):
            self.reference = self.extrema()
            if len(self.reference) != 2 * self.n + 2:
                raise ArithmeticError(f"the error alternates {len(self.reference)} times, not {2 * self.n + 2}")
            sizes = [abs(self.error(x)) for x in self.reference]
            if max(sizes) / min(sizes) - 1 < mp.mpf("1e-6"):
                return max(sizes)
            self.level = self.error(self.reference[0])
            self.equalise(self.reference)
        raise ArithmeticError("Remez' exchange did not come to an end")

    def fractions(self):
        """constant, [(residue, pole)], the smallest pole first."""
        scale = mp.sqrt(self.lo * self.hi)  # so that coefficients are of one size
        scaled = [c * scale ** k for k, c in enumerate(self.Q)]
        roots = mp.polyroots(list(reversed([c / scaled[-1] for c in scaled])), maxsteps=500, extraprec=4 * mp.mp.prec)
        terms = []
        derivative = [k * c for k, c in enumerate(self.Q)][1:]
        for root in roots:
            x = mp.re(root) * scale
            if abs(mp.im(root)) > mp.mpf(10) ** (-mp.mp.dps // 3) * abs(root) or x >= 0:
                raise ArithmeticError("a pole is not real and negative")
            terms.append((value(self.P, x) / value(derivative, x), -x))
        return self.P[-1] / self.Q[-1], sorted(terms, key=lambda t: t[1])


def rounded_error(power, lo, hi, constant, terms):
    """The largest relative error on a grid with the coefficients as doubles."""
    worst = mp.mpf(0)
    points = 200 * len(terms)
    for i in range(points + 1):
        x = lo * (hi / lo) ** (mp.mpf(i) / points)
        r = mp.mpf(float(constant)) + sum(mp.mpf(float(c)) / (x + mp.mpf(float(p))) for c, p in terms)
        worst = max(worst, abs(r / mp.power(x, power) - 1))
    return worst


def approximate(power, lo, hi, n):
    a = Approximation(power, lo, hi, n)
    error = a.exchange()
    constant, terms = a.fractions()
    return max(error, rounded_error(a.power, a.lo, a.hi, constant, terms)), constant, terms


def write(file, power, lo, hi, error, constant, terms):
    number = lambda x: repr(float(x))
    file.write("# x^power ~ constant + sum_i residue_i / (x + pole_i) on the interval, relative error at most `error`;\n"
               "# made by scripts/rational_approximation.py\n"
               f"kaon-rational 1\npower {number(power)}\ninterval {number(lo)} {number(hi)}\n"
               f"error {mp.nstr(error * mp.mpf('1.000001'), 6)}\nconstant {number(constant)}\nterms {len(terms)}\n")
    for residue, pole in terms:
        file.write(f"{number(residue)} {number(pole)}\n")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--power", required=True, help="p, between -1 and 1, such as 1/8 (with a sign: --power=-1/4)")
    parser.add_argument("--interval", required=True, nargs=2, metavar=("LO", "HI"), help="0 < LO < HI")
    parser.add_argument("--terms", type=int, help="N, 1 to 64")
    parser.add_argument("--error", help="instead: as many terms as bring the error below this")
    parser.add_argument("--digits", type=int, help="of the arithmetic (default: by the number of terms)")
    parser.add_argument("--output", help="a file (default: printed)")
    a = parser.parse_args(arguments)
    try:
        power = fractions.Fraction(a.power)
        lo, hi = mp.mpf(a.interval[0]), mp.mpf(a.interval[1])
        goal = mp.mpf(a.error) if a.error else None
    except ValueError as e:
        parser.error(str(e))
    if not 0 < abs(power) < 1:
        parser.error(f"--power is {a.power}; it must lie between -1 and 1 and not be 0")
    if not 0 < lo < hi:
        parser.error(f"--interval is {a.interval[0]} {a.interval[1]}; 0 < LO < HI is needed")
    if (a.terms is None) == (goal is None) or (a.terms is not None and not 1 <= a.terms <= 64):
        parser.error("give --terms from 1 to 64, or --error")
    p = mp.mpf(power.numerator) / power.denominator
    for n in [a.terms] if a.terms else range(1, 65):
        mp.mp.dps = a.digits or 40 + 6 * n
        p = mp.mpf(power.numerator) / power.denominator
        error, constant, terms = approximate(p, mp.mpf(a.interval[0]), mp.mpf(a.interval[1]), n)
        if goal is None or error <= goal:
            break
    else:
        sys.exit(f"64 terms leave an error of {mp.nstr(error, 3)}")
    if a.output:
        with open(a.output, "w", encoding="ascii") as file:
            write(file, p, lo, hi, error, constant, terms)
    else:
        write(sys.stdout, p, lo, hi, error, constant, terms)
    return error


if __name__ == "__main__":
    main()
