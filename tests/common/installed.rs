//! What this machine has: the interpreter of Python, and what the MPI libraries export.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::compile::Program;
use super::execute::execute;
use super::mpi::{Mpi, demand};

/// Python's interpreter itself: `python3` may be a shell script that looks for it.
pub fn interpreter() -> PathBuf {
    demand("python3", "python3");
    let found = execute(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]));
    PathBuf::from(found.stdout.trim())
}

/// The file of an MPI library, as the programs compiled for it find it.
pub fn library_file(mpi: Mpi) -> PathBuf {
    let program = Program { name: "foreign", link: Vec::new() }.compiled(mpi);
    let listed = execute(Command::new("ldd").arg(program)).stdout;
    let line = listed.lines().find(|line| line.trim().starts_with(mpi.library()));
    let path = line.and_then(|line| line.split(" => ").nth(1)?.split(' ').next());
    PathBuf::from(path.unwrap_or_else(|| panic!("{} is not among\n{listed}", mpi.library())))
}

/// The symbols that an MPI library exports.
pub fn mpi_symbols(mpi: Mpi) -> &'static BTreeSet<String> {
    static KNOWN: [OnceLock<BTreeSet<String>>; 3] = [const { OnceLock::new() }; 3];
    KNOWN[mpi as usize].get_or_init(|| symbols(&library_file(mpi)))
}

/// Those of its Fortran layer.
pub fn fortran_symbols(mpi: Mpi) -> &'static BTreeSet<String> {
    static KNOWN: [OnceLock<BTreeSet<String>>; 3] = [const { OnceLock::new() }; 3];
    let libraries = match mpi {
        Mpi::OpenMpi => ["libmpi_mpifh.so.40", "libmpi_usempif08.so.40"].as_slice(),
        Mpi::Mpich => ["libmpichfort.so.12"].as_slice(),
        Mpi::Standard => [].as_slice(),
    };
    KNOWN[mpi as usize].get_or_init(|| {
        libraries.iter().flat_map(|library| symbols(&library_file(mpi).with_file_name(library))).collect()
    })
}

/// The names of the symbols that a shared object defines for others.
pub fn symbols(object: &Path) -> BTreeSet<String> {
    demand("nm", "binutils");
    let listed = execute(Command::new("nm").args(["--dynamic", "--defined-only"]).arg(object));
    assert!(listed.status.success(), "nm {}: {}", object.display(), listed.stderr);
    let name = |line: &str| Some(line.split_whitespace().nth(2)?.split('@').next()?.to_owned());
    listed.stdout.lines().filter_map(name).collect()
}
