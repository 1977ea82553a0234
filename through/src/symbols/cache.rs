//! What was found once, in the user's cache directory: a file for each build id.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{Found, Names};

/// Raised where the same files would be named in another way.
const FORMAT: u32 = 1;
/// What nobody asked for so long is removed.
const KEPT: Duration = Duration::from_secs(90 * 24 * 3600);
/// A module with more addresses is none that a person looks at.
const MOST_BYTES: u64 = 64 << 20;

#[derive(Default, Serialize, Deserialize)]
pub struct Cached {
    format: u32,
    /// The files that told it.
    identity: String,
    found: BTreeMap<u64, Found>,
}

/// Nothing for a build id that is none.
pub fn path(cache: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let name: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(cache.join("commsee").join("symbols").join(name + ".json")).filter(|_| !build_id.is_empty())
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
            fs::create_dir_all(folder).ok()?;
            let new = folder.join(format!(".{}.new", process::id()));
            fs::write(&new, serde_json::to_vec(self).ok()?).ok()?;
            fs::rename(&new, path).or_else(|_| fs::remove_file(&new)).ok()?;
            forget(folder);
            Some(())
        };
        let _ = write();
    }
}

fn forget(folder: &Path) {
    let now = SystemTime::now();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if modified.and_then(|modified| now.duration_since(modified).ok()).is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
