"""Ctrl-C: the program ends within a second with status 130, says what was lost or kept, and leaves nothing half-written."""
import fcntl
import os
import signal
import subprocess
import sys
import termios
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
        self.assertEqual(os.listdir(self.folder), ["p.lime.unconverged"])

    def test_a_run_goes_on_from_the_iterates(self):
        """SIGTERM too; together both runs take few more steps than one alone"""
        job = ["invert", "--gauge", "weak:0.3:5", "--lattice", "8", "8", "8", "16", "--kappa", "0.1425", "--csw", "1", "--method", "cg",
               "--tol", "1e-13", "--sloppy", "double", "--even-odd", "none", "--columns", "1", "--output", "p.lime", "--report", "r.json"]
        self.succeeds(*job)
        alone = self.report("r.json")["solves"][0]["iterations"]
        os.remove(self.path("p.lime"))
        process = system.start(*job, "--set", "check_interval=1", cwd=self.folder)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("CGNR to"):
                break
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, sorted(os.listdir(self.folder))), (130, ["p.lime.unconverged", "r.json"]), out + err)
        self.assertIn("last iterates of all columns are in p.lime.unconverged; go on from there with --guess p.lime.unconverged", err)
        report = self.report("r.json")
        self.assertEqual((report["unconverged"], report["interrupted"]), ("p.lime.unconverged", True))
        begun = report["solves"][0]["iterations"]
        self.succeeds(*job, "--guess", "p.lime.unconverged")
        rest = self.report("r.json")["solves"][0]["iterations"]
        print(f"  {alone} steps alone; {begun} and {rest} with an interrupt")
        self.assertGreater(begun, 0)
        self.assertLess(rest, alone)

    def test_during_a_solve_with_slow_steps(self):
        """the host looks less than once a second: a second Ctrl-C ends the program hard, and clean"""
        self.interrupted(0.5, "invert", "--gauge", "weak:0.9", "--lattice", "24", "24", "16", "16", "--kappa", "0.2",
                         "--csw", "1", "--tol", "1e-16", "--max-iter", "1000000000", "--set", "check_interval=256",
                         "--columns", "4", "--output", "p.lime", signals=2, ready="CGNR to")
        self.assertEqual(os.listdir(self.folder), [])

    def test_during_a_forecast(self):
        """nothing is printed or written"""
        jobs = (["invert", "--gauge", "weak:0.3", "--lattice", "32", "32", "32", "32", "--kappa", "0.1", "--csw", "1", "--sloppy", "half"],
                ["solve", "--matrix", "laplace3d:300", "--precond", "ainv"])
        for job in jobs:
            for after in (0.05, 0.1, 0.2):
                process = system.start(*job, "--dry-run", "--report", "r.json", cwd=self.folder)
                self.addCleanup(process.kill)
                time.sleep(after)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
                if process.returncode != 0:  # else it had ended
                    self.assertEqual(process.returncode, 130, out + err)
                    self.assertNotIn("would take", out)
                    self.assertEqual(os.listdir(self.folder), [], out + err)
                elif os.path.exists(self.path("r.json")):
                    os.remove(self.path("r.json"))

    def ended_hard(self, ready, *arguments, signals=1):
        """Once it has said `ready` the program finds no room to print how far it is, so it looks no more."""
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([system.PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=write, text=True, cwd=self.folder,
                                   env=system.environment(), preexec_fn=system.default_signals)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if ready in line:
                break
        os.close(write)
        room = os.open(f"/proc/self/fd/{read}", os.O_WRONLY | os.O_NONBLOCK)  # apart: the program itself is to wait for room
        try:
            while os.write(room, b" "):
                pass
        except BlockingIOError:
            os.close(room)
        time.sleep(1)  # till it has got further
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        end = time.monotonic() + 20
        while not os.path.exists(self.path("r.json")) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1)
        self.assertIsNone(process.poll())  # it has no room for its last sentence either
        with os.fdopen(read) as file:
            err = file.read()
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted while solving", err)
        return self.report("r.json")

    def test_the_report_of_what_was_done_survives_a_hard_end(self):
        """steps and residuals of what is being solved are not known, all else is"""
        job = ["invert", "--gauge", "weak:0.3", "--lattice", "12", "12", "12", "24", "--kappa", "0.14", "--csw", "1", "--tol", "1e-12",
               "--sloppy", "double", "--threads", "1", "--columns", "2", "--batch", "1", "--output", "p.lime", "--report", "r.json"]
        report = self.ended_hard("1 of 2 columns are kept", *job, signals=2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.lime.partial", "r.json"])
        self.assertIs(report["interrupted"], True)
        self.assertGreater(report["seconds"], 0)
        done, ended = report["solves"]
        self.assertEqual(done["status"], "converged")
        self.assertGreater(done["iterations"], 10)
        self.assertLess(done["residual"], 1.1e-12)
        self.assertEqual((ended["status"], ended["iterations"], ended["residual"]), ("cancelled", None, None))
        os.remove(self.path("r.json"))
        report = self.ended_hard("CGNR to", *job[:-6], "--report", "r.json")
        self.assertEqual((report["kappa"], report["lattice"], report["seconds"]), (0.14, [12, 12, 12, 24], 0))
        self.assertEqual([(s["column"], s["iterations"], s["residual"], s["status"]) for s in report["solves"]],
                         [(k, None, None, "cancelled") for k in (0, 1)])

    def test_the_report_of_a_matrix_survives_a_hard_end(self):
        report = self.ended_hard("CG to", "solve", "--matrix", "laplace3d:100", "--method", "cg", "--tol", "1e-13", "--threads", "1",
                                 "--report", "r.json")
        self.assertIs(report["interrupted"], True)
        self.assertEqual(report["matrix"]["rows"], 10**6)
        self.assertEqual((report["solves"][0]["status"], report["solves"][0]["iterations"]), ("cancelled", None))

    def test_during_generation(self):
        self.interrupted(0.5, "generate", "--lattice", "8", "8", "8", "8", "--sweeps", "1000000", "--output", "c.lime",
                         ready="sweep")
        self.assertEqual(os.listdir(self.folder), [])

    def test_while_links_are_made(self):
        self.interrupted(0.3, "invert", "--gauge", "random:3", "--lattice", "32", "32", "32", "16", "--kappa", "0.1", "--csw",
                         "1", "--columns", "1", "--output", "p.lime")
        self.assertEqual(os.listdir(self.folder), [])

    def test_numbers_take_the_place_of_a_plot(self):
        said = self.interrupted(1, "solve", "--matrix", "laplace3d:30", "--method", "kaczmarz", "--max-iter", "1000000", "--tol", "1e-16", "--plot",
                                "p.png", "--report", "report.json", "--output", "x.mtx", ready="to 1e-16")
        self.assertIn("p.png was not drawn: the run was interrupted; plot p.csv", said)
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.csv", "report.json", "x.mtx.unconverged"])
        report = self.report()
        self.assertIs(report["interrupted"], True)
        steps = report["solves"][0]["iterations"]
        self.assertEqual((report["solves"][0]["status"], len(self.read("p.csv").decode().splitlines()) > steps > 0), ("cancelled", True))

    def test_an_older_output_survives(self):
        with open(self.path("p.lime"), "wb") as file:
            file.write(b"older")
        self.interrupted(0.5, "invert", "--gauge", "weak:0.9", "--lattice", "8", "8", "8", "8", "--kappa", "0.2", "--csw",
                         "1", "--tol", "1e-16", "--sloppy", "double", "--max-iter", "1000000000", "--output", "p.lime",
                         ready="CGNR to")
        self.assertEqual(self.read("p.lime"), b"older")
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.lime", "p.lime.unconverged"])

    def test_at_the_end_nothing_is_said_to_be_lost(self):
        """the program waits for room to print; Ctrl-C meanwhile finds all of the work done"""
        self.assertEqual(system.kaon("generate", "--lattice", "4", "4", "4", "4", "--sweeps", "1", "--output", "c.lime", cwd=self.folder)[0], 0)
        for more in ([], ["--convert", "d.lime"]):
            out, into = os.pipe()
            fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
            os.write(into, b" " * 3996)  # there is room for a line or two
            process = subprocess.Popen([system.PROGRAM, "gauge", "c.lime", *more], stdout=into, stderr=subprocess.PIPE, text=True,
                                       cwd=self.folder, env=system.environment(), preexec_fn=system.default_signals)
            self.addCleanup(process.kill)
            os.close(into)
            there = bytes(4)
            while int.from_bytes(there, sys.byteorder) <= 3996 and process.poll() is None:
                there = fcntl.ioctl(out, termios.FIONREAD, bytes(4))
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
            with os.fdopen(out) as file:
                file.read()
            err = process.communicate(timeout=30)[1]
            print(f"  gauge {' '.join(more)}: {err.strip()}")
            self.assertEqual(process.returncode, 130, err)
            self.assertIn("interrupted; all was done by then", err)
        self.assertEqual(sorted(os.listdir(self.folder)), ["c.lime", "d.lime"])

    def test_while_the_plot_is_drawn(self):
        """a gnuplot that has begun its picture and takes its time ends with us, and the picture goes"""
        tools, work = self.path("tools"), self.path("work")
        os.mkdir(tools)
        os.mkdir(work)
        with open(os.path.join(tools, "gnuplot"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nname=$(sed -n \"s/^set output '\\(.*\\)'$/\\1/p\")\n: > \"$name\"\nexec sleep 20\n")
        os.chmod(file.name, 0o755)
        environment = dict(system.environment(), PATH=tools + os.pathsep + os.environ["PATH"])
        process = subprocess.Popen([system.PROGRAM, "invert", *system.SMALL, "--columns", "1", "--plot", "p.png"], cwd=work,
                                   env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=system.default_signals)
        self.addCleanup(process.kill)
        end = time.monotonic() + 20
        while not os.listdir(work) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual([".part" in name for name in os.listdir(work)], [True])
        sent = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - sent, 1.0)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(os.listdir(work), [])

    def test_twice_is_at_once(self):
        self.interrupted(0.5, "generate", "--lattice", "16", "16", "16", "16", "--sweeps", "1000000", "--output", "c.lime",
                         signals=2, ready="sweep")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    system.main()
