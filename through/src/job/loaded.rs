//! The file in which processes of a job tell that they loaded the profiler. It goes with the job.

use std::fs;
use std::path::{Path, PathBuf};

use commsee::loaded::{self, PLACES, Stage};
use commsee::profile::Claim;

pub struct Loaded(Option<(PathBuf, Claim)>);

impl Loaded {
    /// Where it cannot be made, nothing is told.
    pub fn expect(launch: &str) -> Loaded {
        let paths = PLACES.iter().map(|place| Path::new(place).join(loaded::file_name(launch)));
        // The first that takes it is the first in which processes find it.
        let made = |path: PathBuf| Claim::take(&path).map(|claim| (path, claim));
        Loaded(paths.into_iter().find_map(made))
    }

    /// The programs that told it, and how far they came.
    pub fn told(&self) -> Vec<(Stage, PathBuf)> {
        let text = self.0.as_ref().and_then(|(path, _)| fs::read(path).ok());
        loaded::read(&text.unwrap_or_default())
    }
}
