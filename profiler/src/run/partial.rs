//! The end of a job of which not all ranks record. No message may be sent; each rank leaves its shard final, and the last to do so
//! makes the profile of all shards there are.

use std::fs;
use std::path::{Path, PathBuf};

use vocabulary::profile::hosts::Folder;
use vocabulary::profile::join::Joined;
use vocabulary::profile::recover::{shard_name, snapshot_name};
use vocabulary::shard::FINISHED;

use crate::guest::say;
use crate::rollcall::{Remains, RollCall};
use crate::run::{join, output, snapshots};
use crate::shard;
use crate::shard::paths;

/// This rank is done.
pub fn finish(roll_call: &RollCall) {
    let Some(header) = shard::header() else { return };
    header.set_state(FINISHED);
    let (run, size) = (header.run(), header.world_size());
    let own = output::keep(FINISHED);
    if let Err(trouble) = &own {
        output::say_lost(trouble);
    }
    let bring = |local: &[u32], folder: &Folder| local.iter().all(|rank| bring(&shard_name(run, *rank), folder));
    let Some(remains) = roll_call.finish(bring) else { return };
    let files = match &remains {
        Remains { carried: Some((folder, _)), .. } => folder.files(&["shard"]),
        Remains { local, .. } if local.is_empty() => own.into_iter().collect(),
        Remains { local, .. } => local.iter().filter_map(|rank| find(&shard_name(run, *rank))).collect(),
    };
    if files.is_empty() {
        return;
    }
    let Some(joined) = join::files(&files, &paths::profile(), output::say_lost) else { return };
    say_missing(&joined, roll_call, remains.carried.is_some());
    write_snapshots(run, size);
    // What else the files of a run that are left tell, they tell to `through recover`.
    if !joined.is_cut {
        roll_call.clear();
    }
}

/// Which ranks the profile lacks. It must not be taken for whole.
fn say_missing(joined: &Joined, roll_call: &RollCall, are_carried: bool) {
    let Joined { present, ranks, .. } = joined;
    if joined.missing().is_empty() {
        return;
    }
    let why = if roll_call.is_all_of_host(present.count()) {
        "the launcher does not show which hosts belong together, so each has its own profile"
    } else if !are_carried && roll_call.spans_hosts() {
        "the others ran without commsee, or their shards are on other hosts. Load it on every rank"
    } else {
        "the others ran without commsee. Load it on every rank"
    };
    say::warn(&format!("only ranks {present} of {ranks} are in the profile: {why}"));
}

/// Snapshots that not all ranks took part in.
fn write_snapshots(run: [u64; 2], size: u32) {
    for number in 1..=snapshots::MOST {
        let of_this = |rank| find(&snapshot_name(run, rank, number));
        let files: Vec<PathBuf> = (0..size).filter_map(of_this).collect();
        if files.is_empty() {
            return;
        }
        join::files(&files, &snapshots::wanted(number), snapshots::say_lost);
        files.iter().for_each(|file| _ = fs::remove_file(file));
    }
}

/// Where a file of this run lies, which another rank made.
fn find(name: &str) -> Option<PathBuf> {
    let beside = paths::profile().parent().map(|parent| parent.to_string_lossy().into_owned());
    let directories = paths::of_shards().into_iter().chain(beside);
    directories.map(|directory| Path::new(&directory).join(name)).find(|path| path.exists())
}

/// Moves a shard to where other hosts may see it. Of a rank that died somebody else may have done so.
fn bring(name: &str, folder: &Folder) -> bool {
    match find(name) {
        Some(shard) => folder.carry(&shard).is_ok(),
        None => folder.has(name.as_ref()),
    }
}
