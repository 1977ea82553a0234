//! A profile that is made without a message, by the process that is the last to have its part ready in the directory of the
//! shards.

use std::fs;
use std::path::{Path, PathBuf};

use vocabulary::profile::{Claim, Written};
use vocabulary::shard::{Header, Shard, read_file, read_header};
use vocabulary::stream::{Detail, Extent, MergedShards, OTHER_EDGES};

use crate::guest::{say, signals};
use crate::run::output;
use crate::shard;

/// Writes the profile if the files of all processes are there and ready, and removes them. Returns whether it did; `lost` says why it
/// could not.
pub fn when_complete(names: &[String], is_ready: impl Fn(&Header) -> bool, wanted: &Path, lost: fn(&str)) -> bool {
    let Some(directory) = shard::path().and_then(|path| path.parent().map(Path::to_owned)) else { return false };
    let files: Vec<PathBuf> = names.iter().map(|name| directory.join(name)).collect();
    if !files.iter().all(|file| read_header(file).is_some_and(|header| is_ready(&header))) {
        return false;
    }
    // Two processes may both see that they are the last.
    let Some(_claim) = Claim::take(&directory.join(format!("{}.claim", names[0]))) else { return false };
    // It may have been done, and the claim given back, between the look and the claim.
    if !files.iter().all(|file| file.exists()) {
        return false;
    }
    let written = self::files(&files, wanted);
    match &written {
        Ok(written) => {
            output::say_where(written, wanted);
            files.iter().for_each(|file| _ = fs::remove_file(file));
        }
        Err(trouble) => lost(trouble),
    }
    written.is_ok()
}

/// Makes a profile of the shards or snapshots of this run.
pub fn files(files: &[PathBuf], wanted: &Path) -> Result<Written, String> {
    signals::held_back(|| join_files(files, wanted))
}

fn join_files(files: &[PathBuf], wanted: &Path) -> Result<Written, String> {
    let writer = output::create(wanted)?;
    let read = |file: &Path| {
        let bytes = read_file(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok::<_, String>(Shard::parse(&bytes).map_err(|error| error.to_string()).and_then(|shard| {
            if shard.header.run == own_run() { Ok((shard, bytes)) } else { Err("of another run".to_owned()) }
        }))
    };
    let (mut found, mut ranks) = (0, 0);
    let extents = files.iter().filter_map(|file| {
        let (shard, _) = read(file).ok()?.ok()?;
        (found, ranks) = (found + 1, shard.header.world_size);
        Some(Extent::of(&shard))
    });
    let extent = Extent::of_all(extents);
    let (detail, trouble) = Detail::wanted(extent);
    trouble.iter().for_each(|trouble| say::warn(trouble));
    if extent.has_lost_edges {
        say::warn(OTHER_EDGES);
    }
    let mut merged = MergedShards::new(detail, extent.is_phased);
    for file in files {
        match read(file)? {
            Ok((mut shard, bytes)) => {
                if found < ranks {
                    // Others may have left the rest.
                    writer.keep(shard.header.world_rank, &bytes).map_err(|error| error.to_string())?;
                }
                shard.coarsen(&extent.buckets());
                merged.add(shard);
            }
            Err(error) => say::warn(&format!("{}: {error}: left out of the profile", file.display())),
        }
    }
    writer.write(detail, &mut merged.stream()).map_err(|error| error.to_string())
}

fn own_run() -> [u64; 2] {
    shard::header().map(|header| header.run()).unwrap_or_default()
}
