//! The folder for the profile that each look is made of: it is this program's own, and goes with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::{env, io, process};

use commsee::access;

pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> io::Result<Scratch> {
        let mut number = 0;
        loop {
            let folder = env::temp_dir().join(format!("through-watch-{}-{number}", process::id()));
            match access::folder(&folder, 0o700) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                made => return made.map(|()| Scratch(folder)),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
