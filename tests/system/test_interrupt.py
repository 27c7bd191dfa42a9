"""Ctrl-C: the program ends within a second with status 130, says what was lost, leaves nothing half-written."""
import os
import signal
import time

import system


class Interrupt(system.Case):
    def interrupted(self, after, *arguments, signals=1, ready=None):
        process = system.start(*arguments, cwd=self.folder)
        for line in process.stdout if ready else ():
            if ready in line:
                break
        begun = time.monotonic()
        while time.monotonic() < begun + after and process.poll() is None:
            time.sleep(0.01)
        if process.poll() is not None:
            self.fail("it ended before it could be interrupted: " + str(process.communicate()))
        self.addCleanup(process.kill)
        sent = time.monotonic()
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        out, err = process.communicate(timeout=30)
        took = time.monotonic() - sent
        print(f"  {' '.join(arguments[:1])}: ended {took:.2f} s after Ctrl-C (bound 1 s): {err.strip().splitlines()[-1]}")
        self.assertEqual(process.returncode, 130, out + err)
        self.assertLess(took, 1.0)
        self.assertIn("interrupted", err)
        return out + err

    def test_during_a_solve(self):
        # hopeless on purpose: a light quark on a rough field, far more steps than there is time for
        self.interrupted(0.5, "invert", "--gauge", "weak:0.9", "--lattice", "8", "8", "8", "8", "--kappa", "0.2", "--csw",
                         "1", "--tol", "1e-16", "--sloppy", "double", "--max-iter", "1000000000", "--output", "p.lime",
                         "--correlators", "c.txt", ready="CGNR to")
        self.assertEqual(os.listdir(self.folder), [])

    def test_during_a_solve_with_slow_steps(self):
        """one look of the host is longer than a second: the program ends hard, and clean"""
        self.interrupted(0.5, "invert", "--gauge", "weak:0.9", "--lattice", "24", "24", "16", "16", "--kappa", "0.2",
                         "--csw", "1", "--tol", "1e-16", "--max-iter", "1000000000", "--set", "check_interval=256",
                         "--columns", "4", "--output", "p.lime", ready="CGNR to")
        self.assertEqual(os.listdir(self.folder), [])

    def test_during_generation(self):
        self.interrupted(0.5, "generate", "--lattice", "8", "8", "8", "8", "--sweeps", "1000000", "--output", "c.lime",
                         ready="sweep")
        self.assertEqual(os.listdir(self.folder), [])

    def test_while_links_are_made(self):
        self.interrupted(0.3, "invert", "--gauge", "random:3", "--lattice", "32", "32", "32", "16", "--kappa", "0.1", "--csw",
                         "1", "--columns", "1", "--output", "p.lime")
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_older_output_survives(self):
        with open(self.path("p.lime"), "wb") as file:
            file.write(b"older")
        self.interrupted(0.5, "invert", "--gauge", "weak:0.9", "--lattice", "8", "8", "8", "8", "--kappa", "0.2", "--csw",
                         "1", "--tol", "1e-16", "--sloppy", "double", "--max-iter", "1000000000", "--output", "p.lime",
                         ready="CGNR to")
        self.assertEqual(self.read("p.lime"), b"older")
        self.assertEqual(os.listdir(self.folder), ["p.lime"])

    def test_twice_is_at_once(self):
        self.interrupted(0.5, "generate", "--lattice", "16", "16", "16", "16", "--sweeps", "1000000", "--output", "c.lime",
                         signals=2, ready="sweep")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    system.main()
