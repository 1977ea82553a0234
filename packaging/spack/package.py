# SPDX-License-Identifier: MIT OR Apache-2.0
from spack.package import *


class Commsee(Package):
    """Profiles MPI programs by communicator: counts every MPI call by communicator, operation, message size and rank."""

    # Built from the archive of the sources, which lies beside: spack mirror, or spack install in its directory.
    url = "file:///opt/sources/commsee-0.1.0.tar.gz"

    license("MIT OR Apache-2.0")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")

    # No MPI: the one library serves all of them, and finds the program's at run time.

    def install(self, spec, prefix):
        Executable("./install")("--prefix", prefix)

    def setup_run_environment(self, env):
        # through finds the libraries beside itself; this is for programs that load them by their names.
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)
