//! How the program of a case is run.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::cases::{Program, Recording};
use super::common::{Library, Mpi, compiled, output_of, place, version_of};

/// The name of the library that only reads the clock.
const FLOOR: &str = "floor";

pub struct Programs {
    c: PathBuf,
    threads: Option<PathBuf>,
    fortran: Option<PathBuf>,
}

impl Programs {
    pub fn compiled(mpi: Mpi) -> Option<Programs> {
        let (threads, fortran) = (compiled(mpi, "percall_threads.c"), compiled(mpi, "percall.F90"));
        Some(Programs { c: compiled(mpi, "percall.c")?, threads, fortran })
    }

    pub fn of(&self, program: Program) -> Option<&Path> {
        match program {
            Program::C | Program::Pair => Some(&self.c),
            Program::Threads => self.threads.as_deref(),
            Program::Fortran => self.fortran.as_deref(),
        }
    }

    /// What the MPI library says of itself.
    pub fn version(&self, mpi: Mpi) -> Option<String> {
        let mut command = mpi.unbound(1);
        command.arg(&self.c).args(["floor", "1", "1"]);
        let said = output_of(&command, place().path()).ok()?;
        said.lines().find_map(|line| line.strip_prefix("# version: ")).map(version_of)
    }
}

/// The library that only reads the clock.
pub fn floor(mpi: Mpi) -> Option<Library> {
    let preload = compiled(mpi, "percall_floor.c")?.display().to_string();
    Some(Library { name: FLOOR.to_owned(), preload, launcher: Vec::new() })
}

/// What a case is run under.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub mpi: Mpi,
    pub program: Program,
    pub recording: Recording,
    pub library: Option<&'a Library>,
}

impl Job<'_> {
    /// Nobody else knows the variables: to measure another library under them would be to measure it twice.
    pub fn makes_sense(&self) -> bool {
        let known = self.recording.variable().is_none() || self.library.is_none_or(|library| library.name == FLOOR);
        known || self.is_commsee()
    }

    /// Up to what is to have the library.
    pub fn launcher(&self) -> Command {
        let mut command = self.mpi.unbound(if self.program == Program::Pair { 2 } else { 1 });
        if self.recording == Recording::Module {
            command.env("UCX_TLS", "posix,self");
            if self.mpi == Mpi::OpenMpi {
                command.args(["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]);
            }
        }
        command.envs(self.recording.variable());
        command
    }

    /// Through env, so that only the program has it.
    pub fn preload(&self, command: &mut Command) {
        let Some(library) = self.library else { return };
        let mut preload = library.preload.clone();
        if self.recording == Recording::Module && self.is_commsee() {
            preload += &format!(":{}", preload.replace("libcommsee.so", "libcommsee_ucx.so"));
        }
        command.arg("env").arg(format!("LD_PRELOAD={preload}"));
    }

    pub fn library_name(&self) -> &str {
        self.library.map_or("alone", |library| &library.name)
    }

    fn is_commsee(&self) -> bool {
        self.library.is_some_and(|library| library.name == "commsee")
    }
}
