//! Files by the names under which the program opened them.

use std::collections::HashMap;
use std::env;
use std::sync::atomic::{AtomicBool, Ordering};

use vocabulary::settings::{self, FileNames};
use vocabulary::shard::{FILE_NAME_BYTES, FILES, File, MOST_FILES, UNNAMED_FILE, kept, set_text, without_prefix};
use xxhash_rust::xxh3::xxh3_64;

use crate::guest::say::{self, warn_once};
use crate::guest::signals::Undisturbed;
use crate::shard::memory;
use crate::shard::texts::Entries;

struct Files {
    /// Their numbers, by the hash of the path.
    numbers: Option<HashMap<u64, u32>>,
    entries: Entries<File>,
}

static ALL: Undisturbed<Files> = Undisturbed::new(Files { numbers: None, entries: Entries::new(FILES) });

/// Whether paths are kept, or only their last components.
static ARE_WHOLE: AtomicBool = AtomicBool::new(false);

/// Reads what is to be kept of a path.
pub fn prepare() {
    let wanted = env::var(settings::FILES).ok();
    let names = FileNames::parse(wanted.as_deref().unwrap_or_default()).unwrap_or_else(|| {
        let wanted = wanted.unwrap_or_default();
        say::warn_for_all(&format!("COMMSEE_FILES={wanted} is not name or path: using name"));
        FileNames::Last
    });
    ARE_WHOLE.store(names == FileNames::Whole, Ordering::Relaxed);
}

/// The number of the file with this path, as the program gave it. Equal paths are one file, different ones are different files.
pub fn number(path: &[u8]) -> u32 {
    ALL.with(|files| files.number(without_prefix(path)))
}

impl Files {
    fn number(&mut self, path: &[u8]) -> u32 {
        let hash = xxh3_64(path).max(1);
        let numbers = self.numbers.get_or_insert_default();
        if let Some(known) = numbers.get(&hash) {
            return *known;
        }
        let number = numbers.len() as u32 + 1;
        if number > MOST_FILES {
            warn_once!(
                "more than {MOST_FILES} file names: files of further names are counted together, without a name"
            );
            return UNNAMED_FILE;
        }
        if numbers.try_reserve(1).is_err() {
            memory::lose_call();
            return UNNAMED_FILE;
        }
        let mut entry = File { number, reserved: 0, hash, name: [0; FILE_NAME_BYTES] };
        set_text(&mut entry.name, &kept(&String::from_utf8_lossy(path), ARE_WHOLE.load(Ordering::Relaxed)));
        // Its number is taken also if there is no room: it is counted without a name then.
        let number = self.entries.put(entry).map_or(UNNAMED_FILE, |_| number);
        numbers.insert(hash, number);
        number
    }
}
