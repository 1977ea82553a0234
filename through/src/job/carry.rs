//! Carries the shards of a host to where the others see them, and makes a profile of what was carried.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use commsee::profile::hosts::{self, Folder, Made, Note, Told};
use commsee::profile::recover::{Absence, Recovered, Run};
use commsee::profile::{State, life};
use commsee::ranks::Ranks;
use commsee::shard::{self, Header, read_header};

use crate::job::shards;

/// The shards of a host of a job, where they can be seen from here.
pub fn shards_of(note: &Note) -> Vec<(PathBuf, Header)> {
    let prefix = format!("commsee-{}-", note.run);
    let is_shard = |path: &PathBuf| {
        path.extension() == Some(OsStr::new("shard"))
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    let entries = note.directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(is_shard);
    let is_of_host = |header: &Header| shard::text(&header.host) == note.host;
    paths.filter_map(|path| read_header(&path).filter(is_of_host).map(|header| (path, header))).collect()
}

/// How long ranks may outlive their launcher before they count as still running: Open MPI and Slurm ask them to end, and kill them later.
const ENDING: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// What became of a host's shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    All,
    /// Ranks live there.
    Living,
    /// Some could not be moved, and stay where they are.
    Stuck,
    /// None of them are to be seen here: another host may bear this name, or other processes other directories.
    Elsewhere,
}

/// `through carry NOTE`, on the host that the note is of. The exit status tells the one who asked.
pub fn command(note: &Path) -> u8 {
    match (hosts::read(note), Folder::of_note(note)) {
        (Some(told), Some(folder)) if folder.is_ours() => host(&told, &folder).status(),
        _ => Carried::Stuck.status(),
    }
}

impl Carried {
    fn status(self) -> u8 {
        match self {
            Carried::All => 0,
            Carried::Living => 3,
            Carried::Stuck => 4,
            Carried::Elsewhere => 5,
        }
    }

    /// What an exit status says; `None`: it is not one of `through carry`.
    pub fn of_status(status: i32) -> Option<Carried> {
        let all = [Carried::All, Carried::Living, Carried::Stuck, Carried::Elsewhere];
        all.into_iter().find(|carried| i32::from(carried.status()) == status)
    }
}

/// Carries the shards of a host whose directories can be seen from here, and whose ranks have ended.
pub fn host(told: &Told, folder: &Folder) -> Carried {
    let begun = Instant::now();
    let shards = loop {
        let shards = shards_of(&told.note);
        match shards.iter().map(|(path, header)| life(path, header)).max() {
            None | Some(State::Dead) => break shards,
            // They may be ending just now, as their launcher did.
            Some(State::Alive) if begun.elapsed() < ENDING => sleep(PAUSE),
            Some(_) => return Carried::Living,
        }
    };
    let paths: Vec<PathBuf> = shards.into_iter().map(|(path, _)| path).collect();
    // The rank that told of the host had its shard by then.
    let first = format!("commsee-{}-{}.shard", told.note.run, told.note.rank);
    if !folder.has(first.as_ref()) && !paths.iter().any(|path| path.ends_with(&first)) {
        return Carried::Elsewhere;
    }
    if !all(folder, &paths) {
        return Carried::Stuck;
    }
    if let Some(roll) = told.note.own_roll() {
        let _ = fs::remove_file(roll);
    }
    let _ = Folder::set_carried(&told.path);
    Carried::All
}

/// Carries shards, several at a time: file servers take longer to answer than to write. Returns whether none is left here.
pub fn all(folder: &Folder, shards: &[PathBuf]) -> bool {
    const AT_A_TIME: usize = 8;
    // Another process may do the same at the same time.
    let carry = |path: &PathBuf| folder.carry(path).is_ok() || !path.exists();
    let share = shards.len().div_ceil(AT_A_TIME).max(1);
    thread::scope(|scope| {
        let parts: Vec<_> = shards
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().filter(|path| !carry(path)).count()))
            .collect();
        parts.into_iter().all(|part| part.join().is_ok_and(|left| left == 0))
    })
}

/// Makes the profile of what all hosts carried into a folder, which goes if nothing more can come. `None`: there is nothing, somebody
/// else does it, or it cannot be done.
pub fn join(folder: &Folder) -> Option<(Run, Recovered)> {
    let _claim = folder.claim()?;
    let Some(run) = folder.run() else {
        if folder.waiting().is_empty() {
            folder.remove();
        }
        return None;
    };
    let present: Ranks = run.shards.iter().filter_map(|path| Some(read_header(path)?.world_rank)).collect();
    let is_whole = folder.waiting().is_empty();
    let made = folder.made().filter(|made| made.path.exists());
    if let Some(made) = made.as_ref().filter(|made| made.ranks == present.to_string()) {
        let missing_ranks = Ranks::first(run.world_size.into()).without(&present);
        let absence = Absence::OtherHosts;
        let recovered = Recovered { path: made.path.clone(), missing_ranks, absence, notes: Vec::new() };
        return Some((run, recovered));
    }
    let mut recovered = shards::recover(&run, &folder.wanted()?).ok()?;
    if let Some(made) = made {
        let has = shards::ranks(&Ranks::read(&made.ranks));
        recovered.notes.push(format!("{}, made earlier, has only {has}", made.path.display()));
    }
    if is_whole {
        folder.remove();
    } else {
        let _ = folder.set_made(&Made { path: recovered.path.clone(), ranks: present.to_string() });
    }
    Some((run, recovered))
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
