//! Compiles what lies in `tests/programs/`, once per MPI library and per content.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::execute::execute;
use super::mpi::{Mpi, demand};
use super::paths::{root, temporary_folder};

/// A C program of `tests/programs/`, with what it is linked to beyond MPI.
pub struct Program<'a> {
    pub name: &'a str,
    pub link: Vec<String>,
}

impl Program<'_> {
    /// The executable for one MPI library.
    pub fn compiled(&self, mpi: Mpi) -> PathBuf {
        mpi.demand();
        self.compiled_by(mpi.compiler(), &mpi.to_string(), &mpi.compiler_flags())
    }

    /// The executable by a compiler's command, `library`: for which MPI library.
    pub fn compiled_by(&self, compiler: &str, library: &str, for_library: &[String]) -> PathBuf {
        let mut flags = vec!["-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"];
        // Both follow from declaring MPI_STATUSES_IGNORE and MPI_UNWEIGHTED as arrays, as mpi.h does.
        flags.extend(["-Wno-stringop-overflow", "-Wno-stringop-overread"]);
        flags.extend(self.link.iter().chain(for_library).map(String::as_str));
        cached(compiler, &source(self.name), &flags, &format!("{}-{library}", self.name))
    }
}

/// A Fortran program of `tests/programs/` through one of Fortran's interfaces to MPI (1: `mpif.h`, 2: `use mpi`, 3:
/// `use mpi_f08`), with the C functions through which it states its truth.
pub fn fortran(mpi: Mpi, name: &str, interface: u32) -> PathBuf {
    mpi.demand();
    let source = source(name).with_extension("F90");
    fortran_source(mpi, &source, name, "fortran_truth", interface)
}

/// A C program of `tests/programs/` that is linked with the library's Fortran layer as well.
pub fn with_fortran(mpi: Mpi, name: &str) -> PathBuf {
    mpi.demand();
    demand(mpi.fortran_compiler(), "gfortran");
    cached(mpi.fortran_compiler(), &source(name), &["-O1", "-w"], &format!("{name}-fortran-{mpi}"))
}

/// A Fortran source of `tests/programs/` as a shared library, through `use mpi`.
pub fn fortran_library(mpi: Mpi, name: &str) -> PathBuf {
    mpi.demand();
    demand(mpi.fortran_compiler(), "gfortran");
    let modules = tempfile::tempdir().expect("a temporary folder");
    let output = ["-J", &modules.path().display().to_string()];
    let flags = ["-O1", "-w", "-shared", "-fPIC"];
    cached_with(
        mpi.fortran_compiler(),
        &source(name).with_extension("F90"),
        &flags,
        &output,
        &format!("{name}-{mpi}.so"),
    )
}

/// As `fortran`, for a source that a test has written, which may include what lies in `tests/programs/`, with C functions from there.
pub fn fortran_source(mpi: Mpi, source: &Path, name: &str, helpers: &str, interface: u32) -> PathBuf {
    demand(mpi.fortran_compiler(), "gfortran");
    let modules = tempfile::tempdir().expect("a temporary folder");
    let (modules, helpers) = (modules.path().display().to_string(), self::source(helpers).display().to_string());
    // mpif.h gives no interfaces: the compiler would have all calls of a function agree in their types.
    let flags = ["-O1", "-g", "-w", "-ffree-line-length-none", "-fallow-argument-mismatch"];
    let interface_flag = format!("-DINTERFACE={interface}");
    let library = if mpi == Mpi::Mpich { "-DMPICH" } else { "-DOPENMPI" };
    let folder = format!("-I{}", programs().display());
    let flags: Vec<&str> = flags.into_iter().chain([interface_flag.as_str(), library, &helpers, &folder]).collect();
    let output = ["-J", &modules];
    cached_with(mpi.fortran_compiler(), source, &flags, &output, &format!("{name}-{interface}-{mpi}"))
}

/// A Fortran program of `tests/programs/`, through `mpif.h`, whose INTEGERs are 8 bytes wide, with the library that translates them, and those that it
/// needs itself.
pub fn wide_fortran(mpi: Mpi, name: &str, libraries: &[PathBuf]) -> PathBuf {
    mpi.demand();
    demand(mpi.fortran_compiler(), "gfortran");
    let modules = tempfile::tempdir().expect("a temporary folder");
    let helpers = source("fortran_truth").display().to_string();
    let folder = libraries[0].parent().expect("a folder").display();
    let (rpath, libraries) = (format!("-Wl,-rpath,{folder}"), libraries.iter().map(|path| path.display().to_string()));
    let libraries: Vec<String> = libraries.collect();
    let flags = ["-O1", "-g", "-w", "-fdefault-integer-8", "-ffree-line-length-none", "-fallow-argument-mismatch"];
    // The MPI library that the compiler's command adds is not needed where another is among these.
    let ends = [rpath.as_str(), "-Wl,--as-needed", "-Wl,--allow-shlib-undefined"];
    let flags: Vec<&str> =
        flags.into_iter().chain([helpers.as_str()]).chain(libraries.iter().map(String::as_str)).chain(ends).collect();
    let output = ["-J", &modules.path().display().to_string()];
    cached_with(mpi.fortran_compiler(), &source(name).with_extension("F90"), &flags, &output, &format!("{name}-{mpi}"))
}

/// A C program that a test has written, which may include what lies in `tests/programs/`.
pub fn c_source(mpi: Mpi, source: &Path, name: &str) -> PathBuf {
    mpi.demand();
    let folder = format!("-I{}", programs().display());
    let library = mpi.compiler_flags();
    let flags = ["-O1", "-g", "-Wall", "-Wno-stringop-overflow", "-Wno-stringop-overread", "-Wno-unused-variable"];
    let flags: Vec<&str> =
        flags.into_iter().chain([folder.as_str()]).chain(library.iter().map(String::as_str)).collect();
    cached(mpi.compiler(), source, &flags, &format!("{name}-{mpi}"))
}

/// A C source of `tests/programs/` as a shared library that needs no MPI to be compiled.
pub fn shared_library(name: &str) -> PathBuf {
    shared_library_of(name, &[])
}

/// The same of several sources, of which the first gives its name.
pub fn shared_library_of(name: &str, others: &[&str]) -> PathBuf {
    demand("cc", "gcc");
    let others: Vec<String> = others.iter().map(|other| source(other).display().to_string()).collect();
    let flags = ["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"];
    let flags: Vec<&str> = flags.into_iter().chain(others.iter().map(String::as_str)).collect();
    cached("cc", &source(name), &flags, &format!("{name}.so"))
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

/// Where they lie.
pub fn programs() -> PathBuf {
    root().join("tests/programs")
}

pub fn source(name: &str) -> PathBuf {
    programs().join(format!("{name}.c"))
}

/// All that programs may include, so that none outlives a change of it.
fn headers() -> Vec<PathBuf> {
    let folders =
        ["tests/programs", "profiler/hooks"].map(|folder| fs::read_dir(root().join(folder)).expect("a folder"));
    let paths = folders.into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut headers: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "h")).collect();
    headers.sort();
    headers
}

fn cached(compiler: &str, source: &Path, flags: &[&str], name: &str) -> PathBuf {
    cached_with(compiler, source, flags, &[], name)
}

/// What `output` tells the compiler has no influence on the result.
fn cached_with(compiler: &str, source: &Path, flags: &[&str], output: &[&str], name: &str) -> PathBuf {
    let read = |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut hasher = DefaultHasher::new();
    (read(source), compiler, flags).hash(&mut hasher);
    headers().iter().for_each(|path| read(path).hash(&mut hasher));
    for archive in flags.iter().filter(|flag| [".a", ".c", ".cpp"].iter().any(|end| flag.ends_with(end))) {
        read(Path::new(archive)).hash(&mut hasher);
    }
    let folder = temporary_folder().join(format!("programs/{:016x}", hasher.finish()));
    let target = folder.join(name);
    if !target.exists() {
        fs::create_dir_all(&folder).expect("the folder for compiled programs");
        // Under a name of its own first: another test may be compiling the same.
        let mine = tempfile::NamedTempFile::new_in(&folder).expect("a temporary file").into_temp_path();
        let made = execute(Command::new(compiler).arg(source).args(flags).args(output).arg("-o").arg(&mine));
        assert!(made.status.success(), "{compiler} {}:\n{}", source.display(), made.stderr);
        fs::rename(&mine, &target).expect("a place for the compiled program");
    }
    target
}
