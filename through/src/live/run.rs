//! Which job is looked at, and where its profile will be.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use commsee::profile::debris::State;
use commsee::profile::recover::{Run, host_name};
use commsee::settings;
use commsee::shard::{self, read_header};

use crate::job::shards;
use crate::query::catalog::Catalog;
use crate::query::open::{Profile, databases};

pub enum Wanted {
    /// The one that was started last.
    Newest,
    /// By the begin of its id, or by its batch job.
    Named(String),
    /// That of a `through run`.
    Launched(String),
}

impl Wanted {
    fn is(&self, run: &Run) -> bool {
        match self {
            Wanted::Newest => true,
            Wanted::Named(name) => run.id.starts_with(name.as_str()) || shards::title(run) == *name,
            Wanted::Launched(launch) => run.launch == *launch,
        }
    }
}

/// Runs that go on, those that were started last first. Only reads.
pub fn running(directories: &[PathBuf], wanted: &Wanted) -> Vec<Run> {
    let mut runs = shards::find(directories);
    runs.retain(|run| run.state != State::Dead && wanted.is(run));
    runs.sort_by_key(|run| Reverse(run.started_unix_ns));
    runs
}

/// Processes that are asked where they write to: all do so to the same place.
const ASKED: usize = 4;

/// Where the profile of a run may go, as far as the system tells of its processes on this host.
pub fn places(run: &Run) -> BTreeSet<PathBuf> {
    let mut places: BTreeSet<PathBuf> = std::env::current_dir().into_iter().collect();
    for header in run.shards.iter().take(ASKED).filter_map(|path| read_header(path)) {
        if shard::text(&header.host) != host_name() {
            continue;
        }
        let process = Path::new("/proc").join(header.pid.to_string());
        let Ok(directory) = fs::read_link(process.join("cwd")) else { continue };
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        let set = |name: &str| {
            let mut words = environment.split(|byte| *byte == 0);
            words.find_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        };
        if let Some(pattern) = set(settings::OUT).or_else(|| set(settings::OUT_COMPATIBLE)) {
            let name = run.origin.expand(&String::from_utf8_lossy(pattern));
            places.extend(directory.join(name).parent().map(Path::to_owned));
        }
        let set = |name: &str| set(name).map(|value| String::from_utf8_lossy(value).into_owned());
        places.extend(settings::profile_directories(&directory, set));
    }
    places
}

/// Profiles of a directory that are looked into, the newest first.
const OPENED: usize = 16;

/// The profile of a run that has ended.
pub fn profile(id: &str, places: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let is_of_run = |path: &PathBuf| {
        let catalog = Profile::open(path).and_then(|profile| Catalog::read(&profile));
        catalog.is_ok_and(|catalog| catalog.meta("run") == Some(id))
    };
    places.iter().flat_map(|place| databases(place).into_iter().take(OPENED)).find(is_of_run)
}
