//! Carries the shards of a host to where the others see them, and makes a profile of what was carried.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use commsee::profile::hosts::{Folder, Note, Told};
use commsee::profile::recover::{self, Recovered};
use commsee::shard::{Header, read_header};

use crate::leftovers;

/// The shards of a job on this host, wherever they lie.
pub fn shards_here(note: &Note) -> Vec<(PathBuf, Header)> {
    let prefix = format!("commsee-{}-", note.run);
    let is_shard = |path: &PathBuf| {
        path.extension() == Some(OsStr::new("shard"))
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    let entries = note.directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(is_shard);
    paths.filter_map(|path| read_header(&path).filter(recover::is_here).map(|header| (path, header))).collect()
}

/// Whether these are all hosts that the job was on, as far as launchers tell.
pub fn are_all_hosts(told: &[Told]) -> bool {
    let ranks: Option<u64> = told.iter().map(|told| told.note.local_ranks.map(u64::from)).sum();
    told.first().is_some_and(|first| ranks >= Some(u64::from(first.note.world_size)))
}

/// Makes the profile of what all hosts carried into a folder, which goes if nothing more can come. `None`: there is nothing, somebody
/// else does it, or it cannot be done.
pub fn join(folder: &Folder) -> Option<Recovered> {
    let _claim = folder.claim()?;
    let Some(run) = folder.run() else {
        if folder.waiting().is_empty() {
            folder.remove();
        }
        return None;
    };
    let recovered = leftovers::recover(&run, &folder.wanted()?).ok()?;
    if folder.waiting().is_empty() {
        folder.remove();
    }
    Some(recovered)
}

/// Directories in which jobs whose profile is wanted there have their folders.
pub fn places(wanted: Option<&Path>) -> Vec<PathBuf> {
    let beside = wanted.and_then(Path::parent).map(Path::to_owned);
    let here = std::env::current_dir().ok();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let mut places: Vec<PathBuf> = Vec::new();
    for place in [beside, here, home].into_iter().flatten() {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}
