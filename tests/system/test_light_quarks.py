"""Steps of CG on a light quark, MILC's quenched 16^4 at beta 6.0, csw 1.769: against DDalphaAMG's, and in mixed precision."""
import system

KAPPA = "0.1350"
# CGN of DDalphaAMG (github.com/DDalphaAMG/DDalphaAMG) on this file: normal equations without even-odd reduction, antiperiodic t, a
# random source, 1e-10. (At kappa 0.1345, a heavier quark, it takes 2815.)
DDALPHAAMG = 3298


class LightQuarks(system.Case):
    def steps(self, *more):
        self.succeeds("invert", "--gauge", system.data("milc", "milc_gen_16x16x16x16_b6.00.lat"), "--kappa", KAPPA, "--csw", "1.769", "--source", "gauss:1",
                      "--columns", 1, "--threads", 2, "--tol", "1e-10", "--report", "r.json", *more)
        solve = self.report("r.json")["solves"][0]
        self.assertEqual(solve["status"], "converged")
        self.assertLess(solve["residual"], 1e-10)
        print(f"  kappa {KAPPA} {' '.join(more)}: {solve['iterations']} steps")
        return solve["iterations"]

    def test_normal_equations_take_ddalphaamgs_steps(self):
        steps = self.steps("--even-odd", "none", "--sloppy", "half")
        self.assertLess(abs(steps / DDALPHAAMG - 1), 0.1)

    def test_mixed_precision_keeps_the_number_of_steps(self):
        double = self.steps("--sloppy", "double")
        self.assertLessEqual(self.steps("--sloppy", "single"), 1.05 * double)
        self.assertLessEqual(self.steps("--sloppy", "half"), 1.15 * double)


if __name__ == "__main__":
    system.main()
