//! Shards of jobs that did not reach `MPI_Finalize`: the one place that knows how the library finds and joins them.

use std::env;
use std::path::{Path, PathBuf};

use commsee::profile::recover::{self, Recovered, Run};
use commsee::settings;

use crate::error::Error;
use crate::escape::{cut, visible};
use crate::units;

/// Where shards lie unless somebody says otherwise.
pub fn directories(named: &[PathBuf]) -> Vec<PathBuf> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let set = |name: &str| env::var(name).ok();
    let places = settings::shard_directories(set(settings::DIR), set("TMPDIR"));
    places.into_iter().map(PathBuf::from).collect()
}

pub fn find(directories: &[PathBuf]) -> Vec<Run> {
    recover::find(directories)
}

/// Directories in words.
pub fn names(directories: &[PathBuf]) -> String {
    directories.iter().map(|directory| directory.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Makes a profile, under the wanted name or the next free one.
pub fn recover(run: &Run, wanted: &Path) -> Result<Recovered, Error> {
    recover::recover(run, wanted).map_err(|error| Error::Recover(format!("run {}: {error}", short(run))))
}

pub fn remove(run: &Run) -> Result<(), Error> {
    run.remove().map_err(|source| Error::Output { path: run.shards.first().cloned().unwrap_or_default(), source })
}

/// The first digits of a run's id, which tell it from others.
pub fn short(run: &Run) -> &str {
    &run.id[..run.id.len().min(8)]
}

/// `run 1a2b3c4d, started 2026-11-21T07:15:00Z, 3 shards of 4 ranks: ./heat -n 4`.
pub fn describe(run: &Run) -> String {
    let started = commsee::profile::utc(run.started_unix_ns);
    let shards = units::count(run.shards.len() as u64, "shard");
    let of = units::count(u64::from(run.world_size), "rank");
    let command = visible(&run.command);
    format!("run {}, started {started}, {shards} of {of}: {}", short(run), cut(&command, 60))
}

/// Which ranks are missing, in words; nothing if none are.
pub fn missing(recovered: &Recovered) -> Option<String> {
    let missing = &recovered.missing_ranks;
    match missing.count() {
        0 => None,
        1 => Some(format!("rank {missing} left no shard")),
        _ => Some(format!("ranks {missing} left no shard")),
    }
}
