//! What was found once, in the user's cache directory: a file for each build id, as many as the limits below allow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, fs, io, process};

use commsee::access;
use serde::{Deserialize, Serialize};

use super::{Found, Names};

/// Raised where the same files would be named in another way.
const FORMAT: u32 = 1;
/// What has not changed for so long is removed.
const KEPT: Duration = Duration::from_secs(90 * 24 * 3600);
/// All files together, of which the oldest go first. A module that takes more alone has more addresses than a person looks at.
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 1000;

#[derive(Default, Serialize, Deserialize)]
pub struct Cached {
    format: u32,
    /// The files that told it.
    identity: String,
    found: BTreeMap<u64, Found>,
}

/// The user's cache directory, as the XDG Base Directory Specification has it.
pub fn of_user() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

/// Nothing for a build id that is none.
pub fn path(cache: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let name: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(folder(cache).join(name + ".json")).filter(|_| !build_id.is_empty())
}

fn folder(cache: &Path) -> PathBuf {
    cache.join("commsee").join("symbols")
}

/// All that is kept.
pub struct Kept {
    pub folder: PathBuf,
    files: Vec<File>,
}

struct File {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

impl Kept {
    pub fn find(cache: &Path) -> Kept {
        Kept { folder: cache.join("commsee"), files: files(&folder(cache)) }
    }

    pub fn count(&self) -> usize {
        self.files.len()
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// With the directories, if nothing else lies there.
    pub fn remove(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| gone(fs::remove_file(&file.path)))?;
        let _ = fs::remove_dir(self.folder.join("symbols")).and_then(|()| fs::remove_dir(&self.folder));
        Ok(())
    }
}

/// Another process may have removed it.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

pub fn read(path: &Path) -> Cached {
    let read = || {
        path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() < MOST_BYTES)?;
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    };
    read().filter(|cached: &Cached| cached.format == FORMAT).unwrap_or_default()
}

impl Cached {
    /// What holds for these files; without any, what no file could tell better.
    pub fn names(&self, identity: Option<&str>, addresses: &BTreeSet<u64>) -> Names {
        let is_same = identity == Some(&self.identity);
        let of = |address: &u64| Some((*address, self.found.get(address)?));
        let known = addresses.iter().filter_map(of).filter(|(_, found)| is_same || found.is_exact);
        known.map(|(address, found)| (address, found.names.clone())).collect()
    }

    pub fn with(mut self, identity: String, found: &BTreeMap<u64, Found>) -> Cached {
        if self.identity != identity {
            self.found.retain(|_, found| found.is_exact);
        }
        self.found.extend(found.iter().map(|(address, found)| (*address, found.clone())));
        Cached { format: FORMAT, identity, found: self.found }
    }

    /// A directory that cannot be written costs time, and nothing else.
    pub fn write(&self, path: &Path) {
        let write = || {
            let folder = path.parent()?;
            let text = serde_json::to_vec(self).ok().filter(|text| (text.len() as u64) < MOST_BYTES)?;
            access::folders(folder).ok()?;
            let new = folder.join(format!(".{}.new", process::id()));
            access::write(&new, &text).ok()?;
            fs::rename(&new, path).or_else(|_| fs::remove_file(&new)).ok()?;
            forget(folder);
            Some(())
        };
        let _ = write();
    }
}

fn forget(folder: &Path) {
    let mut files = files(folder);
    files.sort_by_key(|file| std::cmp::Reverse(file.modified));
    let mut bytes = 0;
    for (index, file) in files.iter().enumerate() {
        bytes += file.bytes;
        let is_old = file.modified.elapsed().is_ok_and(|age| age > KEPT);
        if is_old || index >= MOST_FILES || bytes > MOST_BYTES {
            let _ = fs::remove_file(&file.path);
        }
    }
}

fn files(folder: &Path) -> Vec<File> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let facts = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
    let files = facts.filter(|(_, facts)| facts.is_file());
    files
        .filter_map(|(path, facts)| Some(File { path, bytes: facts.len(), modified: facts.modified().ok()? }))
        .collect()
}
