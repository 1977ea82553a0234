//! Compiles what lies in `tests/programs/`, once per MPI library and per content.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::launch::execute;
use super::mpi::{Mpi, demand};

/// A C program of `tests/programs/`, with what it is linked to beyond MPI.
pub struct Program<'a> {
    pub name: &'a str,
    pub link: Vec<String>,
}

impl Program<'_> {
    /// The executable for one MPI library.
    pub fn compiled(&self, mpi: Mpi) -> PathBuf {
        mpi.demand();
        let mut flags = vec!["-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"];
        // Both follow from declaring MPI_STATUSES_IGNORE and MPI_UNWEIGHTED as arrays, as mpi.h does.
        flags.extend(["-Wno-stringop-overflow", "-Wno-stringop-overread"]);
        let library = mpi.compiler_flags();
        flags.extend(self.link.iter().chain(&library).map(String::as_str));
        cached(mpi.compiler(), &source(self.name), &flags, &format!("{}-{mpi}", self.name))
    }
}

/// A C source of `tests/programs/` as a shared library that needs no MPI to be compiled.
pub fn shared_library(name: &str) -> PathBuf {
    demand("cc", "gcc");
    cached("cc", &source(name), &["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"], &format!("{name}.so"))
}

/// A C source of `tests/programs/` as a shared library that is compiled for an MPI library.
pub fn mpi_shared_library(mpi: Mpi, name: &str) -> PathBuf {
    mpi.demand();
    let flags = ["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"];
    cached(mpi.compiler(), &source(name), &flags, &format!("{name}-{mpi}.so"))
}

/// A C program of `tests/programs/` as a plugin for `host.c`: its `main` is called `run`.
pub fn plugin(mpi: Mpi, name: &str) -> PathBuf {
    mpi.demand();
    let mut flags = vec!["-Dmain=run", "-O1", "-shared", "-fPIC", "-pthread"];
    flags.extend(["-Wno-stringop-overflow", "-Wno-stringop-overread"]);
    cached(mpi.compiler(), &source(name), &flags, &format!("{name}-{mpi}.plugin.so"))
}

/// A C program of `tests/programs/` that has nothing to do with MPI.
pub fn executable(name: &str) -> PathBuf {
    demand("cc", "gcc");
    cached("cc", &source(name), &["-Wall", "-Wextra", "-Werror", "-O1", "-ldl"], name)
}

/// The names of the symbols that a shared object defines for others.
pub fn symbols(object: &Path) -> BTreeSet<String> {
    demand("nm", "binutils");
    let listed = execute(Command::new("nm").args(["--dynamic", "--defined-only"]).arg(object));
    assert!(listed.status.success(), "nm {}: {}", object.display(), listed.stderr);
    let name = |line: &str| Some(line.split_whitespace().nth(2)?.split('@').next()?.to_owned());
    listed.stdout.lines().filter_map(name).collect()
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(format!("{name}.c"))
}

fn cached(compiler: &str, source: &Path, flags: &[&str], name: &str) -> PathBuf {
    let read = |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut hasher = DefaultHasher::new();
    (read(source), read(&source.with_file_name("truth.h")), compiler, flags).hash(&mut hasher);
    for archive in flags.iter().filter(|flag| flag.ends_with(".a")) {
        read(Path::new(archive)).hash(&mut hasher);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("programs/{:016x}", hasher.finish()));
    let target = folder.join(name);
    if !target.exists() {
        fs::create_dir_all(&folder).expect("the folder for compiled programs");
        // Under a name of its own first: another test may be compiling the same.
        let mine = tempfile::NamedTempFile::new_in(&folder).expect("a temporary file").into_temp_path();
        let made = execute(Command::new(compiler).arg(source).args(flags).arg("-o").arg(&mine));
        assert!(made.status.success(), "{compiler} {}:\n{}", source.display(), made.stderr);
        fs::rename(&mine, &target).expect("a place for the compiled program");
    }
    target
}
