//! `MPI_Pcontrol(2)`: what was counted so far, as a profile of its own, while counting goes on. The call is local and waits for
//! nobody. Each process keeps a copy of its shard beside it; where all copies come together in one directory (a job on one
//! host, or with `COMMSEE_DIR` on a shared file system) the last process to call writes the profile at once, else
//! `MPI_Finalize` gathers the copies.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use vocabulary::access;
use vocabulary::profile::recover::snapshot_name;
use vocabulary::shard::{Header, SNAPSHOT, Shard};

use crate::guest::say::warn_once;
use crate::guest::{clock, say, signals};
use crate::run::join;
use crate::shard;
use crate::shard::paths;

/// As many as there are bits in the word that says which are left.
pub const MOST: u32 = 63;

/// The files of this process's snapshots, in their order, the first being number 1.
static TAKEN: Mutex<Vec<PathBuf>> = parking_lot::const_mutex(Vec::new());

/// Takes the next snapshot of this process.
#[inline(never)]
pub fn take() {
    let Some(header) = shard::header() else { return };
    let Some(directory) = shard::path().and_then(|path| path.parent().map(Path::to_owned)) else {
        warn_once!("MPI_Pcontrol(2): no snapshot, because counters are kept in memory only; set COMMSEE_DIR");
        return;
    };
    let mut taken = TAKEN.lock();
    let number = taken.len() as u32 + 1;
    if number > MOST {
        warn_once!("MPI_Pcontrol(2): {MOST} snapshots were taken, further ones are left out");
        return;
    }
    let path = directory.join(snapshot_name(header.run(), header.world_rank(), number));
    if let Err(error) = signals::held_back(|| store(&path)) {
        warn_once!("MPI_Pcontrol(2): no snapshot in {} ({error})", path.display());
    }
    taken.push(path);
    let (run, size) = (header.run(), header.world_size());
    let names: Vec<String> = (0..size).map(|rank| snapshot_name(run, rank, number)).collect();
    let claim = directory.join(format!("{}.claim", names[0]));
    join::when_complete(&claim, &names, |header| header.state == SNAPSHOT, &wanted(number), say_lost);
}

/// Where the profile of a snapshot is wanted: `run-snapshot-1.db` beside `run.db`.
pub fn wanted(number: u32) -> PathBuf {
    let whole = paths::profile();
    let stem = whole.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension = whole.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    whole.with_file_name(format!("{stem}-snapshot-{number}{extension}"))
}

/// The snapshots of this process that nobody has written yet: bit n for number n.
pub fn left() -> u64 {
    let taken = TAKEN.lock();
    let left = (1..).zip(taken.iter()).filter(|(_, path)| path.exists());
    left.fold(0, |all, (number, _): (u32, _)| all | 1 << number)
}

/// What a snapshot holds; nothing if this process has none of this number.
pub fn parse(number: u32) -> Option<Shard> {
    let image = TAKEN.lock().get(number as usize - 1).and_then(|path| fs::read(path).ok())?;
    Shard::parse(&image).ok()
}

/// Removes what is left.
pub fn remove() {
    TAKEN.lock().drain(..).for_each(|path| _ = fs::remove_file(path));
}

/// `MPI_Finalize` tries again, `through recover` does not.
pub fn say_lost(trouble: &str) {
    say::warn(&format!("a snapshot could not be written ({trouble})"));
}

/// Whole or not at all under its name: others look for it there.
fn store(path: &Path) -> std::io::Result<()> {
    let mut image = shard::image();
    let place = std::mem::offset_of!(Header, state);
    image[place..place + 4].copy_from_slice(&SNAPSHOT.to_ne_bytes());
    let place = std::mem::offset_of!(Header, latest);
    image[place..place + 16].copy_from_slice(bytemuck::bytes_of(&clock::moment()));
    let aside = path.with_extension("part");
    // Nobody else writes it: what stands there was left by a process that was killed.
    let _ = fs::remove_file(&aside);
    let written = (|| {
        let mut file = access::open(OpenOptions::new().write(true).create_new(true).mode(0o600), &aside)?;
        file.write_all(&image)?;
        fs::rename(&aside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}
