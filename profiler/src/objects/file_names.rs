//! Files by the names under which the program opened them.

use std::collections::HashMap;
use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use vocabulary::settings::{self, FileNames};
use vocabulary::shard::{FILE_NAME_BYTES, FILES, File, MOST_FILES, UNNAMED_FILE, set_text};
use xxhash_rust::xxh3::xxh3_64;

use crate::guest::say::{self, warn_once};
use crate::shard::memory;
use crate::shard::texts::Entries;

struct Files {
    /// Their numbers, by the hash of the path.
    numbers: Option<HashMap<u64, u32>>,
    entries: Entries<File>,
}

static ALL: Mutex<Files> = parking_lot::const_mutex(Files { numbers: None, entries: Entries::new(FILES) });

/// Whether paths are kept, or only their last components.
static ARE_WHOLE: AtomicBool = AtomicBool::new(false);

/// What a path may begin with to tell ROMIO how to reach the file (`adio/common/ad_fstype.c`).
const PREFIXES: [&str; 21] = [
    "bg",
    "bgl",
    "bglockless",
    "daos",
    "gpfs",
    "gridftp",
    "hfs",
    "ime",
    "lustre",
    "nfs",
    "panfs",
    "pfs",
    "piofs",
    "pvfs",
    "pvfs2",
    "quobyte",
    "sfs",
    "testfs",
    "ufs",
    "xfs",
    "zoidfs",
];

/// Reads what is to be kept of a path.
pub fn prepare() {
    let wanted = env::var(settings::FILES).ok();
    let names = FileNames::parse(wanted.as_deref().unwrap_or_default()).unwrap_or_else(|| {
        let wanted = wanted.unwrap_or_default();
        say::warn_for_all(&format!("COMMSEE_FILES={wanted} is neither name nor path: taken for name"));
        FileNames::Last
    });
    ARE_WHOLE.store(names == FileNames::Whole, Ordering::Relaxed);
}

/// The number of the file with this path, as the program gave it. Equal paths are one file, different ones are different files.
pub fn number(path: &[u8]) -> u32 {
    let path = without_prefix(path);
    let hash = xxh3_64(path).max(1);
    let Files { numbers, entries } = &mut *ALL.lock();
    let numbers = numbers.get_or_insert_default();
    if let Some(known) = numbers.get(&hash) {
        return *known;
    }
    let number = numbers.len() as u32 + 1;
    if number > MOST_FILES {
        warn_once!("more than {MOST_FILES} file names: files of further names are counted together, without a name");
        return UNNAMED_FILE;
    }
    if numbers.try_reserve(1).is_err() {
        memory::lose_call();
        return UNNAMED_FILE;
    }
    let mut entry = File { number, reserved: 0, hash, name: [0; FILE_NAME_BYTES] };
    set_text(&mut entry.name, &kept(&String::from_utf8_lossy(path)));
    // Its number is taken also if there is no room: it is counted without a name then.
    let number = entries.put(entry).map_or(UNNAMED_FILE, |_| number);
    numbers.insert(hash, number);
    number
}

fn without_prefix(path: &[u8]) -> &[u8] {
    let colon = path.iter().position(|byte| *byte == b':');
    let is_prefix = |prefix: &[u8]| PREFIXES.iter().any(|known| prefix.eq_ignore_ascii_case(known.as_bytes()));
    match colon {
        Some(at) if is_prefix(&path[..at]) => &path[at + 1..],
        _ => path,
    }
}

/// What the profile says of a path. Of one that is too long, its end.
fn kept(path: &str) -> String {
    let last = || path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let wanted = if ARE_WHOLE.load(Ordering::Relaxed) { path } else { last() };
    if wanted.len() < FILE_NAME_BYTES {
        return wanted.to_owned();
    }
    let mut from = wanted.len() - (FILE_NAME_BYTES - 1 - '…'.len_utf8());
    while !wanted.is_char_boundary(from) {
        from += 1;
    }
    format!("…{}", &wanted[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_go_away_and_times_stay() {
        assert_eq!(without_prefix(b"ufs:/scratch/a"), b"/scratch/a");
        assert_eq!(without_prefix(b"PVFS2:a"), b"a");
        assert_eq!(without_prefix(b"run-12:30:00"), b"run-12:30:00");
        assert_eq!(without_prefix(b"c:a"), b"c:a");
    }

    #[test]
    fn the_last_component_is_kept() {
        assert_eq!(["/a/b/c", "c", "/a/c/", "./c", ""].map(kept), ["c", "c", "c", "c", ""]);
        let long = "ü".repeat(FILE_NAME_BYTES);
        let cut = kept(&format!("/a/{long}"));
        assert!(cut.len() < FILE_NAME_BYTES && cut.starts_with("…ü") && cut.len() > FILE_NAME_BYTES - 4, "{cut}");
    }
}
