//! `MPI_Pcontrol`: pauses, snapshots and phases.

use std::ffi::c_int;

use vocabulary::calls::op;

use crate::guest::caller::Caller;
use crate::guest::{guard, probe, state};
use crate::mpi::abi::Word;
use crate::objects::communicators;
use crate::record::phases;
use crate::record::tally::{self, Done};
use crate::run::snapshots;
use crate::{shard, thread};

/// The level that asks for a snapshot.
pub const SNAPSHOT: c_int = 2;
/// The longest name of a phase.
const NAME_BYTES: usize = 63;

/// What `MPI_Pcontrol` does: 0 pauses counting and 1 resumes it, 2 takes a snapshot. A level above begins a phase, one
/// below 0 ends it. `name` is the word that the program may have passed behind the level: the address of the phase's
/// name, or anything. The call that begins a phase belongs to it, and so does the one that ends it.
pub fn control(level: c_int, name: Option<Word>, caller: Caller) {
    let Some(thread) = thread::following(op::MPI_Pcontrol) else { return };
    match level {
        1 => pause(false),
        3.. => phases::begin(&name_of(level, name)),
        _ => {}
    }
    if state::is_on() {
        let done = Done { operation: op::MPI_Pcontrol, code: 0, ticks: 0 };
        tally::apart(thread, communicators::world(), done, caller);
    }
    match level {
        0 => pause(true),
        SNAPSHOT => _ = guard::with_room(snapshots::take),
        ..0 => phases::end(),
        _ => {}
    }
}

fn pause(paused: bool) {
    state::pause(paused);
    // While counting pauses most calls are not even looked at: where a thread stands is not known.
    if let Some(header) = shard::header() {
        header.set_paused(u32::from(paused));
    }
}

/// The text at the address, or the level where there is none that looks like a name.
fn name_of(level: c_int, word: Option<Word>) -> String {
    word.and_then(text_at).unwrap_or_else(|| level.to_string())
}

fn text_at(address: Word) -> Option<String> {
    let mut bytes = [0u8; NAME_BYTES + 1];
    let read = probe::read(address, &mut bytes);
    let end = bytes[..read].iter().position(|byte| *byte == 0)?;
    let name = str::from_utf8(&bytes[..end]).ok()?;
    is_name(name).then(|| name.to_owned())
}

fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().next().is_some_and(is_letter) && text.bytes().all(|byte| is_letter(byte) || b" -.:/+".contains(&byte))
}
