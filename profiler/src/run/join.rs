//! A profile that is made without a message, by the process that is the last to have its part ready.

use std::fs;
use std::path::{Path, PathBuf};

use vocabulary::profile::Claim;
use vocabulary::profile::join::{From, Joined, join};
use vocabulary::shard::{Header, read_header, run_name};

use crate::guest::{say, signals};
use crate::run::output;
use crate::shard;

/// Makes the profile if the files of all processes are there and ready, beside the claim that one of them must hold. Returns whether
/// all is in it; `lost` says why there is none.
pub fn when_complete(
    claim: &Path,
    names: &[String],
    is_ready: impl Fn(&Header) -> bool,
    wanted: &Path,
    lost: fn(&str),
) -> bool {
    let files: Vec<PathBuf> = names.iter().map(|name| claim.with_file_name(name)).collect();
    if !files.iter().all(|file| read_header(file).is_some_and(|header| is_ready(&header))) {
        return false;
    }
    // Two processes may both see that they are the last.
    let Some(_claim) = Claim::take(claim) else { return false };
    // It may have been done, and the claim given back, between the look and the claim.
    files.iter().all(|file| file.exists()) && self::files(&files, wanted, lost).is_some_and(|joined| !joined.is_cut)
}

/// Makes a profile of shards or snapshots of this run, and removes them if all is in it.
pub fn files(files: &[PathBuf], wanted: &Path, lost: fn(&str)) -> Option<Joined> {
    let run = run_name(shard::header()?.run());
    let sources = files.iter().map(|file| From::File(file));
    let joined = signals::held_back(|| {
        join(output::create(wanted)?, &run, sources, |_, _| ()).map_err(|error| error.to_string())
    });
    let joined = joined.inspect_err(|trouble| lost(trouble)).ok()?;
    output::say_where(&joined.written, wanted);
    joined.notes.iter().for_each(|note| say::warn(note));
    if !joined.is_cut {
        files.iter().for_each(|file| _ = fs::remove_file(file));
    }
    Some(joined)
}
