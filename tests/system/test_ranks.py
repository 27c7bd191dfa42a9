"""The program on several ranks: the results of one rank, one set of messages, and an end for every failure."""
import concurrent.futures
import json
import os
import signal
import subprocess
import time
import unittest

import rank_jobs
import system

MPIRUN = rank_jobs.MPIRUN


class Ranks(rank_jobs.Case):
    def test_generate_gives_the_links_of_one_rank(self):
        common = ["generate", "--lattice", "4", "4", "8", "8", "--sweeps", "3", "--format", "openqcd"]
        self.succeeds(*common, "--output", "one")
        for grid in (["1", "1", "2", "2"], ["2", "2", "1", "1"], None):
            out, _ = self.ranks(4, *common, "--output", "four", *(["--grid", *grid] if grid else []))
            self.assertEqual(out.count("written: four"), 1, out)
            one, four = self.read("one"), self.read("four")
            head = 16 + 8  # the extents and the plaquette, whose last bits hang on the order of a sum
            self.assertEqual(one[head:], four[head:])
            self.assertEqual(one[:16], four[:16])

    def test_generate_on_parts_of_odd_extents(self):
        common = ["generate", "--lattice", "4", "6", "6", "12", "--sweeps", "3"]
        divided = (4, "1 2 1 2")
        for form, grids in (("openqcd", ((2, "1 1 2 1"), (4, "1 1 1 4"), divided)), ("nersc", (divided,)), ("milc", (divided,))):
            self.succeeds(*common, "--format", form, "--output", "one")
            for ranks, grid in grids:
                self.ranks(ranks, *common, "--format", form, "--grid", *grid.split(), "--output", "more")
                links = 4 * 6 * 6 * 12 * 4 * 9 * 2  # behind a head with the plaquette, and a date
                size = links * 8 if form == "openqcd" else len(self.read("one")) - 4096
                self.assertEqual(self.read("one")[-size:], self.read("more")[-size:])

    def test_invert_says_where_it_ran(self):
        common = ["invert", *system.SMALL, "--tol", "1e-11"]
        self.ranks(4, *common, "--grid", "1", "1", "2", "2", "--output", "four.lime", "--report", "four.json", "--history", "four.csv")
        report = self.report("four.json")
        self.assertEqual((report["ranks"], report["grid"], report["local_lattice"]), (4, [1, 1, 2, 2], [4, 4, 2, 4]))
        # one rank takes the solutions over and finds their residuals small
        out = self.succeeds(*common, "--output", "four.lime", "--resume")
        self.assertIn("12 of 12 columns taken over", out)

    def test_the_grid_that_is_chosen_serves_every_action(self):
        """hops of three sites need three on a rank, which the grid of the smallest faces does not leave here"""
        for ranks, lattice, grid in ((4, "8 8 4 8", [1, 2, 1, 2]), (2, "6 6 6 4", [1, 1, 2, 1]), (4, "4 4 4 12", [1, 1, 1, 4])):
            self.ranks(ranks, "invert", "--gauge", "weak:0.3", "--lattice", *lattice.split(), "--action", "hisq", "--mass", "0.2", "--columns", "1",
                       "--report", "thick.json")
            self.assertEqual(self.report("thick.json")["grid"], grid)

    def test_ranks_resume_what_ranks_left(self):
        common = ["invert", *system.SMALL, "--output", "x.lime"]
        self.ranks(2, *common)
        out, _ = self.ranks(4, *common, "--resume", "--grid", "2", "2", "1", "1")
        self.assertEqual(out.count("plaquette"), 1, out)

    def test_resuming_nothing_is_a_beginning(self):
        out, _ = self.ranks(2, "invert", *system.SMALL, "--columns", "1", "--output", "new.lime", "--resume")
        self.assertEqual(out.count("nothing to resume"), 1, out)

    def test_solve_gives_the_solution_of_one_rank(self):
        """rows are divided; a file is written by the first rank, in the caller's order"""
        with open(self.path("b.mtx"), "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix array real general\n1000 2\n" + "".join(f"{i % 7 - 3}\n" for i in range(2000)))
        for more in (["--method", "cg", "--precond", "jacobi"], ["--method", "pipecg"], ["--method", "groppcg", "--precond", "jacobi"],
                     ["--method", "chrongear"], ["--method", "chrongear", "--precond", "jacobi"],
                     ["--method", "bicgstab", "--format", "csr"], ["--method", "rbicgstab", "--precond", "jacobi"],
                     ["--method", "cgnr"], ["--ordering", "rcm"], ["--rhs", "b.mtx", "--sloppy", "single"],
                     ["--partition", "metis", "--ordering", "rcm", "--precond", "jacobi"],
                     ["--partition", "metis", "--rhs", "b.mtx", "--sloppy", "single"], ["--partition", "auto"]):
            with self.subTest(more=more):
                common = ["solve", "--matrix", "laplace3d:10", "--columns", "3", "--tol", "1e-10", *more]
                self.succeeds(*common, "--output", "one.mtx", "--report", "one.json")
                out, _ = self.ranks(3, *common, "--output", "three.mtx", "--report", "three.json", "--history", "three.csv")
                self.assertEqual(out.count("laplace3d:10"), 1, out)
                one, three = ([float(line) for line in self.read(name).decode().splitlines()[2:] if not line.startswith("%")]
                              for name in ("one.mtx", "three.mtx"))
                self.assertEqual(len(one), len(three))
                worst = max(abs(a - b) for a, b in zip(one, three))
                counts = [[s["iterations"] for s in self.report(name)["solves"]] for name in ("one.json", "three.json")]
                print(f"  {' '.join(more)}: solutions differ by {worst:.1e}, steps {counts}")
                self.assertLess(worst, 1e-6)
                for a, b in zip(*counts):
                    self.assertLessEqual(abs(a - b), max(2, a // 10))
                report = self.report("three.json")
                self.assertEqual((report["ranks"], report["matrix"]["rows"]), (3, 1000))
                self.assertRegex(report["transport"], "^[A-Z]+, by hosts$" if report["backend"] == "cpu" else ".")
                shares = report["matrix"]["shares"]
                self.assertGreater(shares["cut"], 0)
                if "metis" in more and "without METIS" not in shares["how"]:
                    self.assertTrue(shares["moved"], shares)
                self.assertGreater(report["exchanges"], 0)

    def test_a_skew_symmetric_matrix_is_one_on_any_number_of_ranks(self):
        """one pair of entries that ranks share is changed; where A = -A^T bicgstab's first step would divide by (r, A r) = 0"""
        rows = 40
        for changed, text, more in ((None, "real skew-symmetric", []), (20, "real, not symmetric", ["--method", "cgnr"])):
            entries = [f"{i + 1} {i} {1 + i % 3}\n{i} {i + 1} {-7 if i == changed else -1 - i % 3}\n" for i in range(1, rows)]
            with open(self.path("a.mtx"), "w", encoding="utf-8") as file:
                file.write(f"%%MatrixMarket matrix coordinate real general\n{rows} {rows} {2 * len(entries)}\n" + "".join(entries))
            for ranks in (1, 2, 4):
                out, _ = self.ranks(ranks, "solve", "--matrix", "a.mtx", *more)
                self.assertIn(text, out)
                self.assertIn("CGNR to", out)

    def test_sums_of_a_preconditioner_within_a_hidden_one(self):
        # Sweeps as a preconditioner sum over ranks while the pipelined methods' own sum is under way.
        for method, precond in (("pipecg", "jacobi-sweeps"), ("groppcg", "two-stage"), ("rbicgstab", "gs-sweeps"),
                                ("pipebicgstab", "sor-sweeps")):
            for more in ([], ["--reduce-delay", "10us"]):
                with self.subTest(method=method, more=more):
                    self.ranks(2, "solve", "--matrix", "laplace3d:12", "--method", method, "--precond", precond, "--report", "r.json", *more)
                    report = self.report("r.json")
                    self.assertEqual(report["solves"][0]["status"], "converged")
                    self.assertLess(report["error"], 1e-5)

    def test_one_process_of_a_launcher_plans_its_memory(self):
        out = self.ranks(1, "solve", "--matrix", "laplace3d:20", "--dry-run")[0]
        self.assertIn("at its peak", out)
        self.ranks(1, "solve", "--matrix", "laplace3d:1000", "--dry-run", "--memory-limit", "1", status=3)

    def test_preconditioners_of_several_ranks_are_those_of_each(self):
        """made of each rank's rows, whichever these are: half of the kinds on each partition"""
        for partition, kinds in (("blocks", (("ic0", "cg"), ("ainv", "cg"), ("ssor", "cg"), ("schwarz", "gcr"), ("two-stage", "cg"), ("async", "gcr"))),
                                 ("metis", (("ilu0", "bicgstab"), ("fsai", "cg"), ("chebyshev", "cg"), ("sap", "gcr"), ("gs-sweeps", "bicgstab"),
                                            ("cimmino", "bicgstab")))):
            for precond, method in kinds:
                with self.subTest(precond=precond, partition=partition):
                    self.ranks(2, "solve", "--matrix", "laplace3d:12", "--method", method, "--precond", precond, "--partition", partition,
                               "--report", "r.json")
                    report = self.report("r.json")
                    self.assertEqual(report["solves"][0]["status"], "converged")
                    self.assertLess(report["error"], 1e-5)

    def test_faults_of_all_ranks_are_reported(self):
        words = ["solve", "--matrix", "trefethen:600", "--rhs", "ones", "--method", "two-stage", "--block", "32", "--report", "r.json"]
        self.ranks(2, *words, "--fault-rank", "1", "--fault-recovery", "8")
        f = self.report("r.json")["relaxation"]["faults"]
        self.assertEqual((f["kind"], f["rank"], f["frozen"], f["frozen_at"], f["restored_at"]), ("rank", 1, 300, 10, 18))
        self.ranks(2, *words, "--flip-rate", "1e-2", "--flip-begin", "2", "--flip-end", "4")
        self.assertEqual(self.report("r.json")["relaxation"]["faults"]["flips"], 12)  # 3 a rank and iteration
        _, err = self.ranks(2, *words, "--fault-rank", "2", status=2)
        self.assertEqual(err.count("rank 2 should lose its rows"), 1, err)

    def test_rows_are_swept_on_one_rank(self):
        with open(self.path("order.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"{i}\n" for i in range(25, 0, -1)))
        for words in (["--method", "cgmnc", "--permutation", "order.txt"], ["--precond", "kaczmarz", "--permutation", "order.txt"]):
            _, err = self.ranks(2, "solve", "--matrix", "laplace2d:5", *words, status=2)
            self.assertEqual(err.count("work on one rank only"), 1, err)

    def test_a_wrong_system_ends_all_ranks_with_one_sentence(self):
        _, err = self.ranks(2, "solve", "--matrix", "laplace9d:3", status=2)
        self.assertEqual(err.count("laplace3d:N"), 1, err)

    def test_one_process_of_a_launcher_is_alone(self):
        out, _ = self.ranks(1, "info")
        self.assertIn("backend", out)

    def rows(self, ranks, *arguments):
        out, _ = self.ranks(ranks, "bench", *arguments, "--json", "rows.json")
        return json.loads(self.read("rows.json")), out

    def test_projections_but_cimmino_want_one_rank(self):
        for method in ("kaczmarz", "cgmnc", "carpcg"):
            err = self.ranks(2, "solve", "--matrix", "laplace2d:16", "--method", method, status=2)[1]
            self.assertIn("but there are 2; take cimmino (the program's --method)", err)
        self.ranks(2, "solve", "--matrix", "laplace2d:16", "--method", "cimmino")

    def test_bench_measures_all_ranks_together(self):
        quick = ["--columns", "1", "--precision", "single", "--reconstruct", "12", "--samples", "2", "--calls", "5"]
        rows, out = self.rows(4, "dslash", "--local-lattice", "4", "4", "4", "8", "--grid", "1", "1", "2", "2", "--overlap",
                              "staged", *quick)
        self.assertEqual(out.count("machine:"), 1, out)
        self.assertEqual([row["bench"] for row in rows], ["wilson-hop", "clover-matrix"])
        for row, flops in zip(rows, (1320, 3792)):
            self.assertEqual((row["ranks"], row["grid"], row["lattice"]), (4, [1, 1, 2, 2], [4, 4, 8, 16]))
            self.assertEqual((row["overlap"], row["calls"]), ("staged", 5))
            self.assertRegex(row["transport"], "^[A-Z]+, by hosts$")
            self.assertAlmostEqual(row["gflops"] * row["seconds"] * 1e9 / (4 * 4 * 8 * 16 / 2 * flops), 1, places=6)
            self.assertAlmostEqual(row["gflops_rank"] * 4 / row["gflops"], 1, places=9)
        whole, _ = self.rows(2, "vector", "--lattice", "4", "4", "4", "16", "--overlap", "none", *quick[:4], *quick[6:])
        for row in whole:
            self.assertEqual((row["lattice"], row["grid"], row["overlap"]), ([4, 4, 4, 16], [1, 1, 1, 2], "none"))
            self.assertAlmostEqual(row["ideal_gbs"] * row["seconds"] * 1e9 / row["resident_bytes"], 1, places=6)

    def test_bench_solve_counts_the_steps_of_one_rank(self):
        words = ["solve", "--lattice", "4", "4", "4", "8", "--kappa", "0.12", "--columns", "1", "--precision", "double"]
        self.succeeds("bench", *words, "--json", "one.json")
        one = json.loads(self.read("one.json"))[0]
        four = self.rows(4, *words, "--grid", "1", "1", "2", "2")[0][0]
        self.assertEqual(four["iterations"], one["iterations"])
        self.assertEqual((four["ranks"], four["status"]), (4, "converged"))
        self.assertAlmostEqual(four["gflops"] * four["seconds"] / (one["gflops"] * one["seconds"]), 1, places=6)
        self.assertGreater(four["cpu_share"], 0)

    def test_sums_of_ranks_take_their_time(self):
        common = ["solve", "--matrix", "laplace3d:10", "--precond", "jacobi", "--sync", "blocking", "--report", "r.json"]
        for method, exposed in (("cg", 2), ("pipecg", 0), ("rbicgstab", 0)):
            reports = []
            for delay in ("0s", "200us"):
                self.ranks(2, *common, "--method", method, "--reduce-delay", delay)
                reports.append(self.report("r.json"))
            at_once, late = reports
            self.assertEqual(late["solves"][0]["residual"], at_once["solves"][0]["residual"])
            self.assertEqual(late["solves"][0]["iterations"], at_once["solves"][0]["iterations"])
            self.assertGreaterEqual(late["seconds"], 200e-6 * max(exposed, 1) * late["solves"][0]["iterations"])

    def test_messages_ahead_of_updates(self):
        rows = {}
        for overlap in ("auto", "updates"):
            found, _ = self.rows(2, "krylov", "--matrix", "laplace3d:10", "--method", "cg,pipecg", "--precond", "none,jacobi,ic0",
                                 "--overlap", overlap, "--threads", "1")
            rows[overlap] = {(row["method"], (row["preconditioner"] or {"kind": None})["kind"]): row for row in found}
        self.assertEqual(len(rows["updates"]), 6)
        for name, row in rows["updates"].items():
            with self.subTest(name=name):
                whole, piped = rows["auto"][name], name[0] == "pipecg"
                self.assertEqual([row["iterations"], row["residual"]], [whole["iterations"], whole["residual"]])
                self.assertEqual((whole["exchanges_ahead"], row["exchanges_ahead"] >= row["iterations"]), (0, piped))
                self.assertEqual((row["vectors_read"] or 0) - (whole["vectors_read"] or 0), (3 if name[1] else 2) if piped else 0)
                self.assertGreater(row["exchanges"], row["exchanges_ahead"])

    def test_bench_pipelined_joins_one_rank_and_two(self):
        words = ["pipelined", "--matrix", "cavity3d:6", "--seconds", "0.01", "--reduce-delay", "0,20us", "--threads", "1"]
        self.succeeds("bench", *words, "--json", "one.json")
        rows, out = self.rows(2, *words, "--join", "one.json")
        self.assertEqual(sorted((row["ranks"], row["solver"]) for row in rows if row["solver"]),
                         sorted((n, name) for n in (1, 2) for name in ("PCG", "BiCGStab", "GPUPCG", "GPUBCGS")))
        self.assertEqual(sum(row["ranks"] == 2 and not row["solver"] for row in rows), 14)
        self.assertEqual(out.count("speed-up"), 1, out)
        for row in rows:
            self.assertEqual(row["status"], "converged")
            if row["ranks"] == 2:
                self.assertGreater(row["exchanges"], 0)

    def test_bench_regimes_on_ranks(self):
        rows, out = self.rows(2, "regimes", "--matrix", "laplace3d:6", "--seconds", "0.01", "--precision", "double", "--threads", "1")
        self.assertIn("cublas: n/a", out)
        self.assertEqual({row["ranks"] for row in rows}, {2})
        self.assertEqual({row["regime"] for row in rows if row["bench"] == "regimes"}, {"kernels", "merged"})

    def test_tuning_of_ranks_serves_one_rank(self):
        out, _ = self.ranks(2, "tune", "--lattice", "4", "4", "4", "16", "--precision", "single", "--reconstruct", "12",
                            "--columns", "1", "--samples", "2", "--output", "tuning.json")
        self.assertEqual(out.count("tuning.json"), 1, out)
        self.assertEqual([entry["lattice"] for entry in self.report("tuning.json")["entries"]], [[4, 4, 4, 8]] * 2)
        self.succeeds("bench", "dslash", "--tuning", "tuning.json", "--lattice", "4", "4", "4", "8", "--columns", "1",
                      "--precision", "single", "--reconstruct", "12", "--samples", "1", "--calls", "1")

    def test_info_speaks_of_all_ranks(self):
        out, _ = self.ranks(4, "info", "--grid", "1", "1", "2", "2", "--lattice", "4", "4", "8", "8", "--report", "info.json")
        self.assertEqual(out.count("kaon "), 1, out)
        report = self.report("info.json")
        self.assertEqual((report["ranks"], report["grid"], report["local_lattice"]), (4, [1, 1, 2, 2], [4, 4, 4, 4]))
        self.assertEqual(len(report["devices"]), 4)
        for rank, device in enumerate(report["devices"]):
            self.assertIn(f"its rank {rank}: {report['device']}", device)
            self.assertIn(device, out)

    def test_another_launcher_is_noticed(self):
        """PMI's count counts though a step of srun around it has one process; PALS' rank may be alone"""
        for said, word in (({"PMI_RANK": "0", "PMI_SIZE": "2"}, "started 2 processes"),
                           ({"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "1", "PMI_RANK": "0", "PMI_SIZE": "2"}, "started 2 processes"),
                           ({"PALS_RANKID": "0", "PMI_SIZE": "4"}, "started 4 processes"),
                           ({"PALS_RANKID": "2"}, "started at least 3 processes")):
            with self.subTest(said=said):
                done = subprocess.run([system.PROGRAM, "invert", *map(str, system.SMALL)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, cwd=self.folder, timeout=60, env={**os.environ, **said})
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("another MPI", done.stderr)
                self.assertIn(word, done.stderr)

    def test_gauge_reads_on_all_ranks(self):
        self.succeeds("generate", "--lattice", "4", "4", "4", "8", "--sweeps", "2", "--output", "x.lime")
        alone = self.succeeds("gauge", "x.lime")
        out, _ = self.ranks(2, "gauge", "x.lime")
        self.assertEqual([line for line in out.splitlines() if "plaquette" in line],
                         [line for line in alone.splitlines() if "plaquette" in line])

    def test_failures_end_all_ranks_with_one_sentence(self):
        with open(self.path("bad.lime"), "wb") as file:
            file.write(b"no configuration")
        for ranks, arguments, word in (
                (2, ["invert", "--gauge", "bad.lime", "--kappa", "0.1", "--csw", "1"], "bad.lime"),
                (4, ["invert", *system.SMALL, "--grid", "1", "1", "1", "2"], "for 2 ranks, but 4 processes were started; write: mpirun -n 2"),
                (3, ["invert", *system.SMALL, "--grid", "1", "1", "1", "3"], "extent T"),
                (3, ["invert", *system.SMALL], "no grid of 3 ranks divides"),
                (3, ["invert", *system.SMALL, "--dry-run"], "no grid of 3 ranks divides"),
                (2, ["invert", *system.LINKS, "--kappa", "-3", "--csw", "1"], "kappa"),
                (2, ["bench", "dslash", "--lattice", "6", "4", "4", "4", "--grid", "4", "1", "1", "1"], "for 4 ranks"),
                (4, ["bench", "dslash", "--lattice", "4", "4", "4", "6", "--grid", "1", "1", "1", "4"], "extent T"),
                (2, ["bench", "scaling", "--lattice", "4", "4", "4", "8", "--local-lattice", "4", "4", "5", "4"], "in Z is 5"),
                (2, ["bench", "dslash", "--lattice", "4", "4", "4", "8", "--local-lattice", "4", "4", "4", "4"], "leave one"),
                (2, ["tune", "--lattice", "4", "4", "4", "8", "--grid", "2", "2", "1", "1", "--output", "t.json"], "grid")):
            with self.subTest(arguments=arguments):
                _, err = self.ranks(ranks, *arguments, status=2)
                said = [line for line in err.splitlines() if line.startswith("kaon")]
                print(f"  {said}")
                self.assertEqual(len(said), 1, err)
                self.assertIn(word, said[0])

    @unittest.skipIf(os.environ.get("KAON_COMM") == "QMP", "QMP cannot wait for others for a limited time")
    def test_what_ranks_agree_on_ends_mpi(self):
        with open(self.path("bad.lime"), "wb") as file:
            file.write(b"no configuration")
        bad = ["invert", "--gauge", "bad.lime", "--kappa", "0.1", "--csw", "1"]
        slow = ["invert", *system.SMALL, "--max-iter", "1"]
        for ranks, arguments, status in ((2, bad, 2), (2, slow, 1), (4, ["info"], 0)):
            with self.subTest(arguments=arguments):
                launch = self.launch(ranks, *arguments)
                launch[1:1] = ["-x", "LD_PRELOAD=" + os.environ["KAON_FINALISED"]]
                done = subprocess.run(launch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                      timeout=120)
                self.assertEqual(done.returncode, status, done.stderr)
                if arguments is bad:
                    self.assertEqual(done.stderr.count("kaon: "), 1, "a rank that the launcher ends says nothing")
                self.assertEqual(sorted(self.read("finalised").split()), [b"%d" % rank for rank in range(ranks)])
                os.remove(self.path("finalised"))

    def two(self, first, second):
        """A command that starts one rank with the arguments `first` and one with `second`."""
        return [*self.launch(1, *first), ":", *self.launch(1, *second)[len(MPIRUN[:1]):]]

    def test_a_rank_that_fails_alone_says_so(self):
        """by a word that it cannot read, or by options that exclude each other; both jobs wait for the first rank for some seconds"""
        bench, invert = ["bench", "dslash", "--lattice", "4", "4", "4", "8"], ["invert", *system.SMALL, "--columns", "1"]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            jobs = [pool.submit(self.job, self.two(words, [*words, *more]))
                    for words, more in ((bench, ["--local-lattice", "4", "4", "4", "4"]), (invert, ["--nosuch"]))]
        for job, text in zip(jobs, ("rank 1: --lattice and --local-lattice", "rank 1: --nosuch is not an option of kaon invert")):
            done = job.result()
            self.assertEqual(done.returncode, 2, done.stderr)
            said = [line for line in done.stderr.splitlines() if line.startswith("kaon: rank")]
            print(f"  {said}")
            self.assertEqual(len(said), 1, done.stderr)
            self.assertIn(text, said[0])

    def test_ranks_that_were_told_different_things_are_refused(self):
        """other grids and solvers made ranks wait for each other for ever, another kappa solved no one's system"""
        words, kappa = ["invert", *system.LINKS, "--csw", "1", "--columns", "1"], ["--kappa", "0.12"]
        for other in ([*kappa, "--grid", "1", "1", "2", "1"], [*kappa, "--method", "bicgstab"], ["--kappa", "0.11"], [*kappa, "--output", "x.lime"]):
            with self.subTest(other=other):
                done = self.job(self.two([*words, *kappa], [*words, *other]))
                self.assertEqual(done.returncode, 2, done.stderr)
                said = "ranks: grid[0] is 0 on rank 0, but 1 on rank 1" if "--grid" in other else "rank 1 was started with other options"
                self.assertEqual(done.stderr.count(said), 1, done.stderr)
                self.assertEqual(os.listdir(self.folder), [])

    def test_ranks_may_have_machines_of_their_own(self):
        """threads and memory are a rank's own; how an option is written is nobody's"""
        words = ["invert", *system.SMALL, "--columns", "1"]
        for other in (["--threads", "2"], ["--thr=1", "--memory-limit=1"]):
            with self.subTest(other=other):
                done = self.job(self.two([*words, "--tol", "1e-8", "--threads", "1", "--report", "r.json"],
                                         [*words, *other, "--tol=1e-8", "--report", "r.json"]))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.report("r.json")["ranks"], 2)

    def test_room_on_the_disk_is_what_the_first_rank_sees(self):
        """one rank's folder lies on a small disk, the other's does not"""
        job = [system.PROGRAM, "generate", "--lattice", "8", "8", "8", "8", "--sweeps", "1", "--output", "c"]
        above = ["sh", "-c", 'cd ..; exec "$0" "$@"', *job]
        first, second = [*MPIRUN, "1"], [":", *MPIRUN[1:], "1"]
        code, said, left = self.on_a_disk(2**20, *first, *job, *second, *above)
        self.assertEqual((code, left, os.listdir(self.folder)), (3, [], ["disk"]), said)
        self.assertEqual(said.count("(2359296 bytes) on the disk, but 1.00 MiB (1048576 bytes) are free there"), 1, said)
        self.assertNotIn("sweep", said)
        code, said, left = self.on_a_disk(2**20, *first, *above, *second, *job)
        self.assertEqual((code, left, sorted(os.listdir(self.folder))), (0, [], ["c", "disk"]), said)

    def test_a_dry_run_speaks_of_each_rank_and_all(self):
        common = ["invert", "--gauge", "weak:0.3", "--lattice", "8", "8", "8", "16", "--kappa", "0.12", "--csw", "1", "--dry-run"]
        out, _ = self.ranks(2, *common, "--report", "two.json")
        self.assertEqual(out.count("2 ranks, grid 1x1x1x2"), 1, out)
        self.assertRegex(out, r"iB each, .*iB in total")
        self.succeeds(*common, "--grid", "1", "1", "2", "2", "--report", "four.json")
        two, four = self.report("two.json"), self.report("four.json")
        self.assertEqual((two["ranks"], two["local_lattice"]), (2, [8, 8, 8, 8]))
        self.assertEqual((four["ranks"], four["local_lattice"]), (4, [8, 8, 4, 8]))
        self.assertLess(four["predicted_fields"], two["predicted_fields"])

    def test_a_dry_run_of_odd_parts_says_no_less_than_they_take(self):
        common = ["invert", "--gauge", "weak:0.3", "--lattice", "8", "8", "8", "18", "--kappa", "0.12", "--csw", "1", "--columns", "4"]
        self.succeeds(*common, "--grid", "1", "1", "1", "2", "--dry-run", "--report", "plan.json")
        self.ranks(2, *common, "--grid", "1", "1", "1", "2", "--max-iter", "20", "--tol", "1e-2", "--report", "run.json")
        plan, run = self.report("plan.json"), self.report("run.json")
        self.assertEqual(plan["local_lattice"], [8, 8, 8, 9])
        ratio = plan["predicted_fields"] / run["peak_fields"]
        print(f"  predicted {ratio:.3f} of what fields took")
        self.assertTrue(0.95 < ratio < 1.15, ratio)
        self.succeeds(*common[:3], "--lattice", "6", "6", "6", "6", "--kappa", "0.12", "--csw", "1", "--grid", "2", "2", "2", "2", "--dry-run", "--report", "odd.json")
        self.assertEqual(self.report("odd.json")["local_lattice"], [3, 3, 3, 3])
        for lattice, grid, word in (("10 4 4 4", "4 1 1 1", "extent X"), ("4 4 4 9", "1 1 1 3", "extent T is 9")):
            self.refused("invert", "--gauge", "unit", "--lattice", *lattice.split(), "--kappa", "0.1", "--csw", "1", "--grid",
                         *grid.split(), "--dry-run", words=[word])

    def test_a_dry_run_of_a_matrix_says_what_a_rank_takes(self):
        out, _ = self.ranks(4, "solve", "--matrix", "laplace3d:300", "--dry-run", "--report", "four.json")
        self.assertRegex(out, r"each of 4 ranks holds its share of the rows, about .*iB")
        self.succeeds("solve", "--matrix", "laplace3d:300", "--dry-run", "--report", "one.json")
        one, four = self.report("one.json"), self.report("four.json")
        self.assertIsNone(one["predicted_share"])
        self.assertTrue(0.25 < four["predicted_share"] / one["predicted_peak"] < 0.27, (one, four))

    def test_a_dry_run_counts_what_faces_take(self):
        """What is left out, buffers that carry links to ghosts once, is some per cent of so small a part."""
        common = ["invert", "--gauge", "weak:0.3", "--lattice", "8", "8", "8", "16", "--sloppy", "half", "--columns", "3"]
        clover, one, two = ["--kappa", "0.12", "--csw", "1"], (["1", "1", "1", "2"], 2), (["1", "1", "2", "2"], 4)
        for more, grids in ((clover, (one, two)), (clover + ["--method", "gcr", "--precond", "sap", "--schwarz-precision", "single"], (one,)),
                            (["--action", "staggered", "--mass", "0.5"], (one,)), (["--action", "hisq", "--mass", "0.5"], (two,))):
            for grid, ranks in grids:
                self.succeeds(*common, *more, "--grid", *grid, "--dry-run", "--report", "plan.json")
                self.ranks(ranks, *common, *more, "--grid", *grid, "--max-iter", "20", "--tol", "1e-2", "--report", "run.json")
                ratio = self.report("plan.json")["predicted_fields"] / self.report("run.json")["peak_fields"]
                print(f"  {ranks} ranks: predicted {ratio:.3f} of what fields took")
                self.assertTrue(0.95 < ratio < 1.05, ratio)

    def begun(self, ranks, word, *arguments):
        """A job that has printed `word`, and its processes by rank."""
        job = subprocess.Popen(self.launch(ranks, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(job.kill)
        for line in job.stdout:
            if word in line:
                break
        pids = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertEqual(len(pids), ranks)
        return job, [int(pid) for pid in pids]

    def test_one_rank_that_is_interrupted_stops_all_of_them(self):
        generate = ("plaquette", "generate", "--lattice", "8", "8", "8", "8", "--sweeps", "100000", "--output", "never.lime")
        invert = ("source", "invert", "--gauge", "weak:0.3", "--lattice", "8", "8", "8", "16", "--kappa", "0.13", "--csw", "1", "--columns", "12",
                  "--batch", "1", "--tol", "1e-12", "--output", "never.lime")
        shifts = (*invert, "--shifts", "0,0.1")
        for words in (generate, shifts, (*invert, "--plot", "never.png")):
            job, pids = self.begun(2, *words)
            begin = time.monotonic()
            os.kill(pids[1], signal.SIGINT)
            out, err = job.communicate(timeout=60)
            took = time.monotonic() - begin
            print(f"  {words[1]}: ended {took:.1f} s after one rank was asked to")
            self.assertEqual(job.returncode, 130, out + err)
            self.assertIn("interrupted", err)
            self.assertLess(took, 3, "it waited for the other, which knew nothing")
            kept = {"never.lime.partial", "never.lime.unconverged"}  # of columns that had begun
            kept |= {"never.csv"} if "--plot" in words else set()  # the plot's numbers
            self.assertEqual(set(os.listdir(self.folder)) - kept, set())
            for name in os.listdir(self.folder):
                os.remove(self.path(name))

    def test_a_killed_rank_ends_the_job_and_leaves_nothing(self):
        job, victims = self.begun(4, "plaquette", "generate", "--lattice", "8", "8", "8", "8", "--sweeps", "100000", "--output", "never.lime")
        begin = time.monotonic()
        os.kill(victims[2], signal.SIGKILL)
        job.communicate(timeout=120)
        print(f"  ended after {time.monotonic() - begin:.1f} s with status {job.returncode}")
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    system.main()
