//! `through clean`: removes what jobs left that did not reach `MPI_Finalize`.

use super::lines::Lines;
use crate::cli::Clean;
use crate::error::Error;
use crate::job::shards;
use crate::text::message::say;

/// Whether there was anything to remove.
pub fn clean(arguments: &Clean) -> Result<bool, Error> {
    shards::must_exist(&arguments.directories)?;
    let directories = shards::directories(&arguments.directories);
    let mut any = false;
    let mut lines = Lines::new();
    let left = shards::debris(&directories);
    for run in shards::find(&directories) {
        let description = shards::describe(&run);
        if let Some(obstacle) = shards::obstacle(&run, arguments.force) {
            say(format_args!("{description}: left alone, {obstacle}"));
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
            say(format_args!("{description}: left alone, {obstacle}"));
            continue;
        }
        any = true;
        if !arguments.dry_run {
            shards::remove_debris(&debris)?;
        }
        let done = if arguments.dry_run { "would remove" } else { "removed" };
        lines.add(format_args!("{done} {description}"));
    }
    if !any {
        say(format_args!("nothing to remove in {}", shards::names(&directories)));
    }
    lines.end()?;
    Ok(any)
}
