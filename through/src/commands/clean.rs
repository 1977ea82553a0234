//! `through recover --clean`: removes what jobs left that did not reach `MPI_Finalize`, and what is kept of binaries.

use std::path::PathBuf;

use super::lines::Lines;
use crate::cli::Recover;
use crate::error::Error;
use crate::job::shards;
use crate::symbols::{Kept, cache_of_user};
use crate::text::message::say;
use crate::text::units;

/// Whether there was anything to remove.
pub fn clean(arguments: &Recover) -> Result<bool, Error> {
    shards::must_exist(&arguments.sources)?;
    let directories = shards::directories(&arguments.sources);
    let mut any = false;
    let mut lines = Lines::new();
    let left = shards::debris(&directories);
    for run in shards::find(&directories) {
        let description = shards::describe(&run);
        if let Some(obstacle) = shards::obstacle(&run, arguments.force) {
            say(format_args!("{description}: skipped, {obstacle}"));
            continue;
        }
        any = true;
        if !arguments.dry_run {
            shards::remove(&run)?;
        }
        let done = if arguments.dry_run { "would remove" } else { "removed" };
        lines.add(format_args!("{done} {description}"));
    }
    // Shards first: what lies elsewhere of a run is judged by them.
    for debris in left {
        let description = shards::describe_debris(&debris);
        if let Some(obstacle) = shards::obstacle_of_debris(&debris, arguments.force) {
            say(format_args!("{description}: skipped, {obstacle}"));
            continue;
        }
        any = true;
        if !arguments.dry_run {
            shards::remove_debris(&debris)?;
        }
        let done = if arguments.dry_run { "would remove" } else { "removed" };
        lines.add(format_args!("{done} {description}"));
    }
    let kept = cache_of_user().filter(|_| arguments.cache).map(|cache| Kept::find(&cache));
    if let Some(kept) = kept.as_ref().filter(|kept| kept.count() > 0) {
        any = true;
        if !arguments.dry_run {
            kept.remove().map_err(|source| Error::Output { path: kept.folder.clone(), source })?;
        }
        let done = if arguments.dry_run { "would remove" } else { "removed" };
        let (files, bytes) = (units::count(kept.count() as u64, "file"), units::bytes(kept.bytes()));
        lines.add(format_args!("{done} {}: {files} with names of functions and lines, {bytes}", kept.folder.display()));
    }
    if !any {
        let looked: Vec<PathBuf> = directories.into_iter().chain(kept.map(|kept| kept.folder)).collect();
        say(format_args!("nothing to remove in {}", shards::names(&looked)));
    }
    lines.end()?;
    Ok(any)
}
