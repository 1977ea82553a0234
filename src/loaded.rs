//! What processes tell the `through run` that started them: that they loaded the profiler, and how far they came with `MPI_Init`. Where
//! nothing was profiled, it says why. `through run` makes the file, each process adds lines to it, and only on the host of
//! `through run`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How far a process came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    Loaded = b'L',
    /// It called `MPI_Init`.
    Entered = b'E',
    /// `MPI_Init` returned.
    Returned = b'R',
}

/// Memory of this host, first: processes of a large job must not all come to one file of a file server.
pub const PLACES: [&str; 2] = ["/dev/shm", "/tmp"];

/// The longest file: a job may start any number of programs.
pub const MOST_BYTES: u64 = 1 << 20;

/// The name of the file, in one of the [`PLACES`]: that of a claim, which `through run` holds, and which goes by `through recover --clean` if it was killed.
pub fn file_name(launch: &str) -> String {
    format!("commsee-{launch}-loaded.claim")
}

/// What a process adds, whose program this is.
pub fn line(stage: Stage, program: &Path) -> Vec<u8> {
    [&[stage as u8][..], program.as_os_str().as_bytes(), b"\n"].concat()
}

/// All lines of a file.
pub fn read(text: &[u8]) -> Vec<(Stage, PathBuf)> {
    let told = |line: &[u8]| {
        let (first, program) = line.split_first()?;
        let stages = [Stage::Loaded, Stage::Entered, Stage::Returned];
        let stage = stages.into_iter().find(|stage| *stage as u8 == *first)?;
        Some((stage, PathBuf::from(OsStr::from_bytes(program))))
    };
    text.split(|byte| *byte == b'\n').filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let told = [(Stage::Loaded, "/bin/sh"), (Stage::Entered, "/a b/app")].map(|(stage, path)| (stage, path.into()));
        let text: Vec<u8> = told.iter().flat_map(|(stage, path): &(Stage, PathBuf)| line(*stage, path)).collect();
        assert_eq!(read(&[&text[..], b"?\n\n"].concat()), told);
    }
}
