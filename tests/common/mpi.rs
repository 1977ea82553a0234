//! The MPI libraries that the tests run under, side by side on one system.

use std::fmt;
use std::path::Path;
use std::process::Command;

use super::paths::fetched;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names)] // Open MPI has its name.
pub enum Mpi {
    OpenMpi,
    Mpich,
    /// A library with the standard ABI of MPI 5.0, unpacked where `COMMSEE_STANDARD_MPI` says (`./test` does it): with
    /// `include/mpi.h`, `lib/libmpi_abi.so.1` and `bin/mpiexec`.
    Standard,
}

impl Mpi {
    /// Those that Debian has packages of.
    pub const ALL: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];

    /// Whether the standard ABI's library is at hand; the others must be.
    pub fn is_there(self) -> bool {
        self != Mpi::Standard || std::env::var_os("COMMSEE_STANDARD_MPI").is_some()
    }

    fn standard_folder() -> String {
        fetched("COMMSEE_STANDARD_MPI").expect("COMMSEE_STANDARD_MPI").display().to_string()
    }

    /// What the compiler needs beyond the program.
    pub fn compiler_flags(self) -> Vec<String> {
        if self != Mpi::Standard {
            return Vec::new();
        }
        let folder = Mpi::standard_folder();
        let flags = ["-DMPI_ABI", "-Wl,--allow-shlib-undefined", "-l:libmpi_abi.so.1"].map(str::to_owned);
        let paths = [format!("-I{folder}/include"), format!("-L{folder}/lib"), format!("-Wl,-rpath,{folder}/lib")];
        paths.into_iter().chain(flags).collect()
    }

    /// The compiler's command.
    pub fn compiler(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "mpicc.openmpi",
            Mpi::Mpich => "mpicc.mpich",
            Mpi::Standard => "cc",
        }
    }

    pub fn fortran_compiler(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "mpifort.openmpi",
            Mpi::Mpich => "mpifort.mpich",
            Mpi::Standard => unimplemented!("the standard ABI's library at hand comes without Fortran"),
        }
    }

    /// The file that its programs load.
    pub fn library(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "libmpi.so.40",
            Mpi::Mpich => "libmpich.so.12",
            Mpi::Standard => "libmpi_abi.so.1",
        }
    }

    /// A launcher with everything that comes before the program. It is told to live with more ranks than processors.
    pub fn launcher(self, ranks: usize, preload: &[&Path]) -> Command {
        self.demand();
        let list: Vec<&str> = preload.iter().map(|path| path.to_str().expect("a path in UTF-8")).collect();
        let list = list.join(":");
        let mut command;
        match self {
            Mpi::OpenMpi => {
                command = Command::new("mpirun.openmpi");
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                // Looking for networks that few machines have takes 0.2 s of each job, and nothing is sent over them.
                command.env("OMPI_MCA_mtl", "^ofi,psm,psm2");
                if ranks == 1 {
                    // Behind a rank that failed it gives the others a second or two, and there are none.
                    command.env("OMPI_MCA_odls_base_sigkill_timeout", "0");
                }
                command.args(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", &ranks.to_string()]);
                if !list.is_empty() {
                    command.args(["-x", &format!("LD_PRELOAD={list}")]);
                }
            }
            Mpi::Mpich | Mpi::Standard => {
                command = match self {
                    Mpi::Standard => Command::new(format!("{}/bin/mpiexec", Mpi::standard_folder())),
                    _ => Command::new("mpirun.mpich"),
                };
                command.args(["-n", &ranks.to_string()]);
                if !list.is_empty() {
                    command.args(["-genv", "LD_PRELOAD", &list]);
                }
            }
        }
        command
    }

    /// A `through run` in front of the launcher, with everything that comes before the program.
    pub fn run_by(self, through: &Path, options: &[&str], ranks: usize) -> Command {
        let launcher = self.launcher(ranks, &[]);
        let mut command = Command::new(through);
        command.arg("run").args(options).arg("--").arg(launcher.get_program()).args(launcher.get_args());
        command.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?)))).env_remove("LD_PRELOAD");
        command
    }

    /// Fails with what to install where this MPI is missing: a test that cannot run must not look as if it had passed.
    pub fn demand(self) {
        let (command, package) = match self {
            Mpi::OpenMpi => ("mpirun.openmpi", "libopenmpi-dev and openmpi-bin"),
            Mpi::Mpich => ("mpirun.mpich", "libmpich-dev and mpich"),
            Mpi::Standard => return,
        };
        demand(command, package);
        demand(self.compiler(), package);
    }
}

/// Fails with the name of the package where a command is missing.
pub fn demand(command: &str, package: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(command).is_file());
    assert!(found, "{command} is missing: install {package}");
}

impl fmt::Display for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mpi::OpenMpi => "openmpi",
            Mpi::Mpich => "mpich",
            Mpi::Standard => "standard",
        })
    }
}
