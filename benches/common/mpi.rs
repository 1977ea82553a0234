//! The MPI libraries under which is measured, and their compilers and launchers.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fmt};

use super::processor::processors;
use super::run::{workplace, yielding};
use super::{Library, note};

#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(clippy::enum_variant_names)] // Open MPI has its name.
pub enum Mpi {
    OpenMpi,
    Mpich,
}

impl Mpi {
    /// Those that the variable `MPI` asks for: `openmpi`, `mpich` or `both`.
    pub fn wanted() -> Vec<Mpi> {
        let wanted = env::var("MPI").unwrap_or_else(|_| "both".to_owned());
        [Mpi::OpenMpi, Mpi::Mpich].into_iter().filter(|mpi| wanted == "both" || wanted == mpi.to_string()).collect()
    }

    /// Whether a library calls itself so, as in `Open MPI 4.1.4`.
    pub fn is(self, version: &str) -> bool {
        version.replace(' ', "").to_lowercase().starts_with(&self.to_string())
    }

    /// A job whose ranks choose their processors themselves, up to the program. Without a launcher, Open MPI's programs
    /// start one, into which everything would be preloaded as well.
    pub fn unbound(self, ranks: usize) -> Command {
        let mut command = Command::new(format!("mpirun.{self}"));
        command.args(["-n", &ranks.to_string()]);
        if self == Mpi::OpenMpi {
            command.args(["--bind-to", "none"]);
        }
        command
    }

    /// A job of some ranks, up to the program, with a library preloaded into the ranks alone.
    pub fn job(self, ranks: usize, library: Option<&Library>) -> Command {
        let crowded = ranks > processors().len();
        let mut preload: Vec<String> = library.iter().map(|library| library.preload.clone()).collect();
        preload.retain(|list| !list.is_empty());
        let mut command = Command::new(format!("mpirun.{self}"));
        command.args(["-n", &ranks.to_string()]);
        if self == Mpi::Mpich && crowded {
            preload.push(yielding().display().to_string());
        }
        if self == Mpi::OpenMpi && crowded {
            command.args(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
        }
        let list = preload.join(":");
        if !list.is_empty() {
            match self {
                Mpi::OpenMpi => command.args(["-x", &format!("LD_PRELOAD={list}")]),
                Mpi::Mpich => command.args(["-genv", "LD_PRELOAD", &list]),
            };
        }
        command.args(library.iter().flat_map(|library| &library.launcher));
        command
    }
}

impl fmt::Display for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mpi::OpenMpi => "openmpi",
            Mpi::Mpich => "mpich",
        })
    }
}

/// A program of `benches/`, in C or Fortran, or a library to preload, compiled for an MPI library. None, with a note, where that is not
/// possible.
pub fn compiled(mpi: Mpi, source: &str) -> Option<PathBuf> {
    let path = ::common::root().join("benches").join(source);
    let program = workplace().join(format!("{}-{mpi}", source.replace('.', "-")));
    let (compiler, flags): (_, &[&str]) = match source.ends_with(".F90") {
        // Inlined, the loops could not be told apart by their names.
        true => (format!("mpifort.{mpi}"), &["-O2", "-w", "-fno-inline"]),
        false => (format!("mpicc.{mpi}"), &["-O2", "-w", "-pthread"]),
    };
    let shared: &[&str] = if source.ends_with("_floor.c") { &["-shared", "-fPIC"] } else { &[] };
    match Command::new(&compiler).args(flags).args(shared).arg("-o").arg(&program).arg(path).status() {
        Ok(status) if status.success() => Some(program),
        _ => {
            note(&format!("{source} is left out under {mpi}: {compiler} is not there or fails"));
            None
        }
    }
}

/// `Open MPI 4.1.4` or `MPICH 4.0.2` of how the library says it: `Open MPI v4.1.4` and `MPICH Version: 4.0.2`.
pub fn version_of(said: &str) -> String {
    let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "Version:").collect();
    words.join(" ").replace(" v", " ")
}

/// Whether a command is there; a note where it is not.
pub fn installed(command: &str, package: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|folder| folder.join(command).is_file());
    if !found {
        note(&format!("{command} is left out: install {package}"));
    }
    found
}
