"""quda_home.py - installs kaon into a folder, for tests of applications that call QUDA."""
import os
import subprocess
import unittest

import system


def install(folder):
    """Returns the QUDA home of a new prefix below the folder: it has include/ and lib/. Skips the test where libquda was not built."""
    if not os.path.isdir(os.path.join(system.BUILD, "interfaces", "quda")):
        raise unittest.SkipTest("kaon was built without libquda; configure with -DKAON_BUILD_QUDA=ON")
    prefix = os.path.join(folder, "prefix")
    for command in (["--build", system.BUILD, "--target", "kaon_installed"], ["--install", system.BUILD, "--prefix", prefix]):
        subprocess.run(["cmake", *command], stdout=subprocess.DEVNULL, check=True)
    return os.path.join(prefix, "share", "kaon-quda", "prefix")
