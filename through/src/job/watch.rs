//! `through watch NOTE`: the process that the first rank of a host starts in `MPI_Init` of a job over several hosts. It sleeps until
//! the shards of its host are gone, as after `MPI_Finalize`, or the ranks are. What ranks leave it carries to where all hosts
//! see it, and the last one makes the profile. It has no terminal and nobody to talk to.

mod processes;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use commsee::profile::hosts::{self, Folder, Note, Told};
use commsee::shard::{FINISHED, read_header};

use crate::job::carry;
use processes::{Event, Process, Watch};

/// All ranks come out of `MPI_Init` together.
const LATE: Duration = Duration::from_secs(2);
/// Programs with sessions may take their time.
const SCANNED: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Where the end of a process cannot be waited for it is asked for so often.
const LOOK: Duration = Duration::from_secs(2);
/// How long a host that nobody is heard of is waited for before the others make a profile without it.
const PATIENCE: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(100);

/// A shard of this host.
struct Local {
    process: Process,
    /// A next program under the same launcher has shards of the same names.
    inode: Option<(u64, u64)>,
}

struct Watcher {
    note: Note,
    path: PathBuf,
    folder: Folder,
    watch: Watch,
    shards: BTreeMap<PathBuf, Local>,
    /// Copies in the folder that were made while their processes lived.
    copies: BTreeMap<PathBuf, Option<(u64, u64)>>,
    /// Ranks whose shard was seen.
    seen: u32,
    has_carried: bool,
    /// The note's lock, which says that this process is there.
    held: Option<File>,
    /// The file in which the ranks of this host found each other.
    roll: Option<(u64, u64)>,
}

/// Returns whether there was anything to carry.
pub fn watch(path: &Path) -> bool {
    let (Some(told), Some(folder)) = (hosts::read(path), Folder::of_note(path)) else { return false };
    // Nobody else carries what this host has.
    let Some(held) = Told::hold(path) else { return false };
    let Some(watch) = Watch::new() else { return false };
    // No file system is kept busy.
    let _ = std::env::set_current_dir("/");
    let mut watcher = Watcher {
        roll: told.note.own_roll().and_then(inode),
        note: told.note,
        path: path.to_owned(),
        folder,
        watch,
        shards: BTreeMap::new(),
        copies: BTreeMap::new(),
        seen: 0,
        has_carried: false,
        held: Some(held),
    };
    watcher.outlive();
    watcher.end()
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

impl Watcher {
    /// Until no rank of this host lives, or no shard is left.
    fn outlive(&mut self) {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let is_complete = self.note.local_ranks.is_some_and(|ranks| self.seen >= ranks);
            let patience = if self.shards.is_empty() && self.seen > 0 { LATE } else { SCANNED };
            let is_scanning = !is_complete && begun.elapsed() < patience && self.path.exists();
            if is_scanning {
                self.scan();
            }
            self.drop_gone();
            self.carry_dead();
            if self.shards.is_empty() && !is_scanning {
                return;
            }
            let timeout = if is_scanning {
                pause = (pause * 2).min(LOOK);
                Some(pause)
            } else {
                self.shards.values().any(|local| !local.process.is_waitable()).then_some(LOOK)
            };
            let processes = self.shards.values().map(|local| &local.process);
            if self.watch.wait(processes, timeout) == Event::ToldToEnd {
                self.copy_all();
            }
        }
    }

    /// Looks for shards of ranks that were not known yet.
    fn scan(&mut self) {
        for (path, header) in carry::shards_of(&self.note) {
            if self.shards.contains_key(&path) {
                continue;
            }
            // Another host of this name may use the same directory.
            let Some(process) = Process::of(&header, &path) else { continue };
            self.watch.add(&path);
            let inode = inode(&path);
            self.shards.insert(path, Local { process, inode });
            self.seen += 1;
        }
    }

    /// Shards that were gathered, or joined by the ranks themselves.
    fn drop_gone(&mut self) {
        self.shards.retain(|path, local| inode(path).is_some_and(|found| Some(found) == local.inode));
    }

    /// Of a job that ended well no copy is needed: then its notes are gone, some time after its shards. Those that the ranks brought there
    /// themselves bear the same names.
    fn drop_copies(&self) {
        let begun = Instant::now();
        while !self.copies.is_empty() && self.path.exists() && begun.elapsed() < PATIENCE {
            sleep(PAUSE);
            self.folder.look_again();
        }
        if self.path.exists() || Folder::as_carried(&self.path).exists() {
            return;
        }
        let unchanged = self.copies.iter().filter(|(copy, known)| known.is_some() && inode(copy) == **known);
        unchanged.for_each(|(copy, _)| _ = fs::remove_file(copy));
    }

    /// What a rank left that died is carried at once: a batch system may leave little time. Ranks that have reached `MPI_Finalize` have
    /// an agreement of their own, for as long as any of them is there to keep it.
    fn carry_dead(&mut self) {
        self.shards.values_mut().for_each(|local| local.process.look());
        let is_any_alive = self.shards.values().any(|local| local.process.lives());
        let mut dead: Vec<PathBuf> = Vec::new();
        self.shards.retain(|path, local| {
            if local.process.lives() {
                return true;
            }
            // An inode may be another file's by now.
            let Some(header) = read_header(path).filter(|header| local.process.is_of(header)) else { return false };
            if !is_any_alive || header.state < FINISHED {
                dead.push(path.clone());
            }
            true
        });
        let is_carried = carry::all(&self.folder, &dead);
        self.has_carried |= !dead.is_empty();
        dead.iter().for_each(|path| _ = self.shards.remove(path));
        if !is_carried {
            // It stays where it is, and the note says that nobody carries it.
            self.held = None;
        }
    }

    /// Somebody is about to end all processes here, perhaps soon after they have begun.
    fn copy_all(&mut self) {
        self.scan();
        for path in self.shards.keys() {
            if let Ok(copy) = self.folder.copy(path) {
                let known = inode(&copy);
                self.copies.insert(copy, known);
            }
        }
    }

    /// Nothing of the job goes on here. Makes the profile if the other hosts are done as well.
    fn end(mut self) -> bool {
        if !self.has_carried {
            drop(self.held.take());
            self.drop_copies();
            self.folder.remove_if_empty();
            return false;
        }
        // A next program under the same launcher may have made a roll of its own by now.
        if let Some(roll) = self.note.own_roll().filter(|roll| self.roll.is_some() && inode(roll) == self.roll) {
            let _ = fs::remove_file(roll);
        }
        if self.held.is_none() {
            return true;
        }
        if Folder::set_carried(&self.path).is_err() {
            // The job was over for others.
            let _ = self.folder.tell(&self.note).and_then(|path| Folder::set_carried(&path));
        }
        if self.is_last() {
            carry::join(&self.folder);
        }
        true
    }

    /// Whether all other hosts are done, or lost. Thousands may ask at the same time: what names tell is not read.
    fn is_last(&self) -> bool {
        let begun = Instant::now();
        let mut pause = PAUSE;
        loop {
            self.folder.look_again();
            let waiting = self.folder.waiting_notes();
            if waiting.is_empty() && (self.is_whole() || begun.elapsed() > PATIENCE / 2) {
                return true;
            }
            let mut is_known = true;
            for note in &waiting {
                match hosts::is_held(note) {
                    // Ranks live there. Whoever carries what they leave makes the profile.
                    Some(true) => return false,
                    Some(false) => {}
                    None => is_known = false,
                }
            }
            if begun.elapsed() > PATIENCE {
                return is_known;
            }
            sleep(pause);
            pause = (pause * 2).min(LOOK);
        }
    }

    /// Whether the shards of all ranks were carried, or those of all hosts.
    fn is_whole(&self) -> bool {
        let shards = self.folder.files(&["shard"]).len();
        shards >= self.note.world_size as usize || carry::are_all_hosts(&self.folder.told())
    }
}
