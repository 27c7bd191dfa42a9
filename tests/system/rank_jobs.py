"""rank_jobs.py - what tests of the program on several ranks share: starting jobs, and reading their files."""
import os
import struct
import subprocess

import system

MPIRUN = os.environ["KAON_MPIRUN"].split()


def records(data):
    """The records of a LIME file: (type, bytes) in order. A header has 144 bytes; bodies are filled up to multiples of 8."""
    found, at = [], 0
    while at < len(data):
        magic, _, _, length, kind = struct.unpack(">IHHQ128s", data[at:at + 144])
        assert magic == 0x456789AB, hex(magic)
        found.append((kind.split(b"\0")[0].decode(), data[at + 144:at + 144 + length]))
        at += 144 + (length + 7) // 8 * 8
    return found


def payload(data):
    """The fields in a SciDAC file, without descriptions."""
    return [body for kind, body in records(data) if kind == "scidac-binary-data"]


class Case(system.Case):
    def launch(self, ranks, *arguments):
        return [*MPIRUN, str(ranks), system.PROGRAM, *map(str, arguments)]

    def job(self, launch):
        """Runs a command of the launcher. Once a rank has failed, Open MPI's launcher kills the others at once, not after a second."""
        return subprocess.run(launch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, timeout=300,
                              env=dict(os.environ, OMPI_MCA_odls_base_sigkill_timeout="0"))

    def ranks(self, ranks, *arguments, status=0):
        """The launcher's own status is that of the rank that failed first. What it prints to stderr is not checked."""
        done = self.job(self.launch(ranks, *arguments))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def correlators(self, name):
        """[t][pion, rho]"""
        rows = [line.split() for line in self.read(name).decode().splitlines() if not line.startswith("#")]
        return [[float(x) for x in row[1:]] for row in rows]
