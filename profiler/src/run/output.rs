//! Where the profile of a run goes, and what the user hears of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use vocabulary::profile::recover::host_name;
use vocabulary::profile::{Error, Writer, Written};
use vocabulary::shard::FINISHED;

use crate::guest::{say, signals};
use crate::shard::{self, paths};

/// What this process counted is lost, and that was said.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Called when nothing is counted any more.
pub fn say_lost(trouble: &str) {
    let shard = keep(shard::header().map_or(FINISHED, |header| header.state()));
    IS_LOST.fetch_or(shard.is_err(), Ordering::Relaxed);
    say::warn(&match shard {
        Ok(_) => format!("no profile could be written ({trouble}); `through recover` makes it from the shards"),
        Err(_) => format!(
            "no profile could be written ({trouble}), and what this process counted is lost; `through recover` reads the shards \
             that other ranks may have left"
        ),
    });
}

/// What was kept in memory because the shard's file could not grow must be in a file where no profile has it. Tells where.
pub fn keep(state: u32) -> Result<PathBuf, String> {
    signals::held_back(|| shard::make_final(state))
}

/// The same, and says what could not be kept.
pub fn keep_or_say(state: u32) -> Option<PathBuf> {
    keep(state)
        .inspect_err(|trouble| {
            if !IS_LOST.swap(true, Ordering::Relaxed) {
                say::warn(&format!("the shard of this process lacks counters, which are lost ({trouble})"));
            }
        })
        .ok()
}

/// Opens the profile under the wanted name, or where that cannot be, under the same name where the job was started or beside the
/// shards.
pub fn create(output: &Path) -> Result<Writer, String> {
    let trouble = match Writer::create(output) {
        Ok(writer) => return Ok(writer),
        Err(error) => format!("{} on host {}: {}", output.display(), host_name(), reason(&error, output)),
    };
    let name = output.file_name().unwrap_or_default();
    let others = paths::instead().into_iter().map(|directory| directory.join(name));
    let found = others.filter(|path| path != output).find_map(|path| Writer::create(&path).ok());
    found.ok_or(trouble)
}

/// Silent where the profile is where the user wants it and `COMMSEE_LOG` asks for warnings only.
pub fn say_where(Written { path, are_spawned, .. }: &Written, wanted: &Path) {
    let shown = path.display();
    if path == wanted {
        say::info(&format!("profile in {shown}"));
    } else if *are_spawned && path.parent() == wanted.parent() {
        say::info(&format!("profile of the spawned processes in {shown}"));
    } else if path.parent() == wanted.parent() {
        say::warn(&format!("{} already exists; the profile is in {shown}", wanted.display()));
    } else {
        // Asked again: what was in the way is most likely there still.
        let trouble = Writer::create(wanted).err().map(|error| format!(" ({})", reason(&error, wanted)));
        say::warn(&format!(
            "{} cannot be written on host {}{}; the profile is in {shown}",
            wanted.display(),
            host_name(),
            trouble.unwrap_or_default()
        ));
    }
}

/// Without the path, which the sentence names anyway.
fn reason(error: &Error, path: &Path) -> String {
    let text = error.to_string();
    let text = text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&text);
    text.split(" (os error").next().unwrap_or(text).to_owned()
}
