"""libquda in an installed prefix: what it exports, what applications find, and how a function without a body ends."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import quda_home
import system

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quda_client")
# The functions that the released applications are linked with.
CLIENTS = {
    "PyQUDA": """MatDagMatQuda MatQuda blasGEMMQuda blasLUInvQuda cloverQuda computeCloverForceQuda computeGaugeFixingFFTQuda
        computeGaugeFixingOVRQuda computeGaugeForceQuda computeGaugeLoopTraceQuda computeGaugePathQuda computeHISQForceQuda computeKSLinkQuda
        computeTwoLinkQuda contractQuda createCloverQuda destroyDeflationQuda destroyMultigridQuda dslashMultiSrcQuda dslashQuda dumpMultigridQuda
        eigensolveQuda endQuda flushChronoQuda freeCloverQuda freeGaugeQuda freeGaugeSmearedQuda freeUniqueGaugeQuda gaugeObservablesQuda
        gaussGaugeQuda gaussMomQuda initCommsGridQuda initQuda initQudaDevice initQudaMemory invertMultiShiftQuda invertMultiSrcQuda invertQuda
        loadCloverQuda loadGaugeQuda momActionQuda momResidentQuda newDeflationQuda newMultigridQuda newQudaBLASParam newQudaEigParam
        newQudaGaugeObservableParam newQudaGaugeParam newQudaGaugeSmearParam newQudaInvertParam newQudaMultigridParam performGaugeSmearQuda
        performTwoLinkGaussianSmearNStep performWFlowQuda performWuppertalnStep plaqQuda polyakovLoopQuda printQudaBLASParam printQudaEigParam
        printQudaGaugeObservableParam printQudaGaugeParam printQudaInvertParam printQudaMultigridParam projectSU3Quda saveGaugeQuda
        setVerbosityQuda staggeredPhaseQuda updateGaugeFieldQuda updateMultigridQuda updateR""",
    "Chroma": """MatQuda destroyMultigridQuda dslashQuda dumpMultigridQuda endQuda flushChronoQuda freeCloverQuda freeGaugeQuda initQuda initQudaDevice
        initQudaMemory invertMultiShiftQuda invertMultiSrcQuda invertQuda loadCloverQuda loadGaugeQuda newMultigridQuda newQudaGaugeParam
        newQudaInvertParam newQudaMultigridParam printQudaMultigridParam setVerbosityQuda updateMultigridQuda""",
    "tmLQCD": """MatQuda computeGaugeForceQuda computeTMCloverForceQuda destroyMultigridQuda eigensolveQuda endQuda freeCloverQuda freeGaugeQuda
        initCommsGridQuda initQuda invertMultiShiftQuda invertQuda loadCloverQuda loadGaugeQuda newMultigridQuda newQudaEigParam
        newQudaGaugeObservableParam newQudaGaugeParam newQudaGaugeSmearParam newQudaInvertParam newQudaMultigridParam performWFlowQuda
        printQudaInvertParam printQudaMultigridParam saveGaugeQuda setVerbosityQuda updateMultigridQuda""",
    "MILC": """qudaAllocatePinned qudaAsqtadForce qudaCloverInvert qudaComputeOprod qudaContractFT qudaDslash qudaFinalize qudaFreePinned qudaFreeTwoLink
        qudaGaugeFixingOVR qudaGaugeForcePhased qudaGaugeLoopTracePhased qudaHisqForce qudaHisqParamsInit qudaInit qudaInvert qudaInvertMG
        qudaInvertMsrc qudaLoadKSLink qudaLoadUnitarizedLink qudaMomAction qudaMomLoad qudaMultigridCreate qudaMultigridDestroy
        qudaMultishiftInvert qudaPlaquettePhased qudaPolyakovLoopPhased qudaSetMPICommHandle qudaShift qudaSpinTaste qudaTwoLinkGaussianSmear
        qudaUnitarizeSU3Phased qudaUpdateUPhased qudaUpdateUPhasedPipeline""",
}


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


class Package(system.Case):
    def setUp(self):
        super().setUp()
        self.home = quda_home.install(self.folder)
        self.library = os.path.join(self.home, "lib", "libquda.so")

    def test_every_declared_function_is_exported_and_nothing_else(self):
        declared = set()
        for header in ("quda.h", "quda_milc_interface.h"):
            with open(os.path.join(self.home, "include", header), encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            declared |= set(re.findall(r"^[A-Za-z][\w \n*]*[ *](\w+)\([^;]*\);", text, re.M))
        for client, names in CLIENTS.items():
            self.assertEqual(set(names.split()) - declared, set(), client)
        self.assertEqual(len(CLIENTS["PyQUDA"].split()), 70)
        code, out, err = run(sys.executable, "-c", "import ctypes, sys\nfor name in sys.argv[2:]: getattr(ctypes.CDLL(sys.argv[1]), name)",
                             self.library, *declared)
        self.assertEqual(code, 0, err)
        if shutil.which("nm"):
            code, out, err = run("nm", "-D", "--defined-only", self.library)
            lines = [line.split()[-2:] for line in out.splitlines()]
            self.assertEqual({name for kind, name in lines if not name.startswith("_ZN4quda4pool")}, declared)
            print(f"  {len(declared)} functions, {sum(kind == 'W' for kind, name in lines)} of them without a body")

    def test_applications_in_c_and_cxx_find_it_wherever_the_prefix_is(self):
        if not shutil.which("c++"):
            raise unittest.SkipTest("no c++ here")
        moved = self.path("moved")
        os.rename(self.path("prefix"), moved)
        home, build = self.home.replace(self.path("prefix"), moved), self.path("build")
        for command in (["-S", CLIENT, "-B", build, f"-DCMAKE_PREFIX_PATH={home}"], ["--build", build]):
            code, out, err = run("cmake", *command)
            self.assertEqual(code, 0, out + err)
        self.assertEqual(run(os.path.join(build, "client_cxx")), (0, "1 1\n", ""))
        # The numbers are QUDA's.
        code, out, err = run(os.path.join(build, "client_c"))
        self.assertEqual(out, "orders 10 9, precision 8, method 0, boundary -1, members 1.5 0.5 2\n")
        self.assertEqual(code, 1)
        self.assertIn("kaon: qudaDDInvert is not offered by kaon's libquda;", err)
        self.assertEqual(len(err.splitlines()), 1)


if __name__ == "__main__":
    system.main()
