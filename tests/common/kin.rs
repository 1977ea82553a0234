//! MPI libraries that have the ABI of one of Debian's: newer MPICHs and Intel MPI have MPICH's, and Open MPI 5 has Open MPI 4's.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::compile::{Program, programs};
use super::mpi::Mpi;

/// Programs whose part for MPI 4 calls functions for large counts.
const WITH_LARGE_COUNTS: [&str; 2] = ["io", "rma"];

/// One, unpacked with `lib` and `bin`.
#[derive(Clone)]
pub struct Kin {
    folder: PathBuf,
}

impl Kin {
    /// Those in the folder that `COMMSEE_KIN` names (`./test` fetches some), by their names.
    pub fn all() -> Vec<Kin> {
        let Some(folder) = std::env::var_os("COMMSEE_KIN") else { return Vec::new() };
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut kin: Vec<Kin> = entries.map(|entry| Kin { folder: entry.expect("an entry").path() }).collect();
        kin.sort_by_key(|kin| kin.folder.clone());
        kin
    }

    pub fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8")
    }

    /// Whose ABI it has.
    pub fn mpi(&self) -> Mpi {
        if self.name().starts_with("openmpi-") { Mpi::OpenMpi } else { Mpi::Mpich }
    }

    pub fn is_intel(&self) -> bool {
        self.library("libmpi_ilp64.so.4").exists()
    }

    /// One of its libraries.
    pub fn library(&self, file: &str) -> PathBuf {
        self.folder.join("lib").join(file)
    }

    /// A C program of `tests/programs/` for it.
    pub fn compiled(&self, name: &str) -> PathBuf {
        self.compiled_with(name, &[])
    }

    /// The same with more to link. Debian's `mpi.h` serves all of MPICH's ABI; Open MPI 5 has one of its own, with functions of MPI 4
    /// (`mpi4.h`).
    pub fn compiled_with(&self, name: &str, more: &[&str]) -> PathBuf {
        let folder = self.folder.display();
        let mut link: Vec<String> = more.iter().map(|flag| (*flag).to_owned()).collect();
        link.extend([format!("-L{folder}/lib"), "-Wl,--allow-shlib-undefined".to_owned()]);
        match self.mpi() {
            Mpi::OpenMpi => {
                link.extend([format!("-I{folder}/include"), "-l:libmpi.so.40".to_owned()]);
                if !WITH_LARGE_COUNTS.contains(&name) {
                    link.extend(["-include".to_owned(), programs().join("mpi4.h").display().to_string()]);
                }
                Program { name, link }.compiled_by("cc", self.name(), &[])
            }
            mpi => {
                // The compiler's command adds Debian's library behind.
                link.extend(["-l:libmpi.so.12", "-Wl,--as-needed"].map(str::to_owned));
                Program { name, link }.compiled(mpi)
            }
        }
    }

    /// As [`Mpi::launcher`].
    pub fn launcher(&self, ranks: usize, preload: &[&Path]) -> Command {
        let list: Vec<&str> = preload.iter().map(|path| path.to_str().expect("a path in UTF-8")).collect();
        let list = list.join(":");
        let ranks = ranks.to_string();
        let command = |name: &str| Command::new(self.folder.join("bin").join(name));
        let mut command = match self.mpi() {
            Mpi::OpenMpi => {
                let mut command = command("mpirun");
                command.env("OPAL_PREFIX", &self.folder).env("OMPI_MCA_mpi_yield_when_idle", "1");
                command.args(["--oversubscribe", "--allow-run-as-root", "-n", &ranks]);
                if !list.is_empty() {
                    command.args(["-x", &format!("LD_PRELOAD={list}")]);
                }
                command
            }
            _ => {
                let mut command = command("mpiexec");
                command.env("I_MPI_ROOT", &self.folder).args(["-n", &ranks]);
                if !list.is_empty() {
                    command.args(["-genv", "LD_PRELOAD", &list]);
                }
                command
            }
        };
        command.env("LD_LIBRARY_PATH", self.folder.join("lib"));
        command
    }
}
