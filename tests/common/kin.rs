//! Other libraries with the ABI of MPICH than Debian's MPICH: newer ones, and Intel MPI. A program that is compiled with MPICH's `mpi.h` runs with each.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::compile::Program;
use super::mpi::Mpi;

/// One, unpacked with `lib/libmpi.so.12` and `bin/mpiexec`.
#[derive(Clone)]
pub struct Kin {
    folder: PathBuf,
}

impl Kin {
    /// Those in the folder that `COMMSEE_MPICH_KIN` names (`./test` fetches some), by their names.
    pub fn all() -> Vec<Kin> {
        let Some(folder) = std::env::var_os("COMMSEE_MPICH_KIN") else { return Vec::new() };
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut kin: Vec<Kin> = entries.map(|entry| Kin { folder: entry.expect("an entry").path() }).collect();
        kin.sort_by_key(|kin| kin.folder.clone());
        kin
    }

    pub fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8")
    }

    pub fn is_intel(&self) -> bool {
        self.library("libmpi_ilp64.so.4").exists()
    }

    /// One of its libraries.
    pub fn library(&self, file: &str) -> PathBuf {
        self.libraries().join(file)
    }

    pub fn libraries(&self) -> PathBuf {
        self.folder.join("lib")
    }

    /// What links a program with it, and not with MPICH, which the compiler's command adds behind.
    pub fn link(&self) -> Vec<String> {
        let mut flags = vec![format!("-L{}", self.libraries().display())];
        flags.extend(["-l:libmpi.so.12", "-Wl,--as-needed", "-Wl,--allow-shlib-undefined"].map(str::to_owned));
        flags
    }

    /// A C program of `tests/programs/` for it.
    pub fn compiled(&self, name: &str) -> PathBuf {
        Program { name, link: self.link() }.compiled(Mpi::Mpich)
    }

    /// As [`Mpi::launcher`].
    pub fn launcher(&self, ranks: usize, preload: &[&Path]) -> Command {
        let mut command = Command::new(self.folder.join("bin/mpiexec"));
        command.env("LD_LIBRARY_PATH", self.libraries()).env("I_MPI_ROOT", &self.folder);
        command.args(["-n", &ranks.to_string()]);
        if !preload.is_empty() {
            let list: Vec<&str> = preload.iter().map(|path| path.to_str().expect("a path in UTF-8")).collect();
            command.args(["-genv", "LD_PRELOAD", &list.join(":")]);
        }
        command
    }
}
