//! The file in which processes of a job tell that they loaded the profiler. It goes with the job.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use commsee::access;
use commsee::loaded::{self, Stage};

use crate::job::shards;

pub struct Loaded(Option<PathBuf>);

impl Loaded {
    /// Where it cannot be made, nothing is told.
    pub fn expect(launch: &str) -> Loaded {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let paths = shards::directories(&[]).into_iter().map(|place| place.join(loaded::file_name(launch)));
        // The first that takes it is the first in which processes find it.
        let made = |path: PathBuf| match access::open(&options, &path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => None,
            _ => Some(path),
        };
        Loaded(paths.into_iter().find_map(made))
    }

    /// The programs that told it, and how far they came.
    pub fn told(&self) -> Vec<(Stage, PathBuf)> {
        let text = self.0.as_ref().and_then(|path| fs::read(path).ok());
        loaded::read(&text.unwrap_or_default())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}
