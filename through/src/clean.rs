//! `through clean`: removes what jobs left that did not reach `MPI_Finalize`.

use std::io::{self, Write};

use crate::cli::Clean;
use crate::error::Error;
use crate::leftovers;
use crate::message::say;
use crate::recover::obstacle;

/// Whether there was anything to remove.
pub fn clean(arguments: &Clean) -> Result<bool, Error> {
    let directories = leftovers::directories(&arguments.directories);
    let mut any = false;
    let left = leftovers::debris(&directories);
    for run in leftovers::find(&directories) {
        let description = leftovers::describe(&run);
        if let Some(obstacle) = obstacle(&run, arguments.force) {
            say(format_args!("{description}: left alone, {obstacle}"));
            continue;
        }
        any = true;
        if !arguments.dry_run {
            leftovers::remove(&run)?;
        }
        let done = if arguments.dry_run { "would remove" } else { "removed" };
        let _ = writeln!(io::stdout(), "{done} {description}");
    }
    // Shards first: what lies elsewhere of a run is judged by them.
    for debris in left {
        let description = leftovers::describe_debris(&debris);
        if let Some(obstacle) = leftovers::obstacle(&debris, arguments.force) {
            say(format_args!("{description}: left alone, {obstacle}"));
            continue;
        }
        any = true;
        if !arguments.dry_run {
            leftovers::remove_debris(&debris)?;
        }
        let done = if arguments.dry_run { "would remove" } else { "removed" };
        let _ = writeln!(io::stdout(), "{done} {description}");
    }
    if !any {
        say(format_args!("nothing to remove in {}", leftovers::names(&directories)));
    }
    Ok(any)
}
