//! `MPI_Pcontrol`: pauses, snapshots and phases.

use std::ffi::{CStr, c_int};

use vocabulary::calls::op;

use crate::guest::caller::Caller;
use crate::guest::{guard, probe, state};
use crate::mpi::abi::Word;
use crate::objects::communicators;
use crate::record::enter;
use crate::record::phases;
use crate::record::tally::Done;
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
    let Some(thread) = thread::here() else { return };
    match level {
        1 => pause(false),
        3.. => begin_phase(level, name),
        _ => {}
    }
    if state::is_on() {
        let done = Done::well(op::MPI_Pcontrol, 0);
        enter::apart(thread, communicators::world(), done, caller);
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

/// Begins the phase of the name at the address, or that of the level where there is none that looks like a name.
fn begin_phase(level: c_int, name: Option<Word>) {
    let mut bytes = [0; NAME_BYTES + 1];
    match name.and_then(|address| name_at(address, &mut bytes)) {
        Some(name) => phases::begin(name),
        None => phases::begin(&level.to_string()),
    }
}

fn name_at(address: Word, bytes: &mut [u8; NAME_BYTES + 1]) -> Option<&str> {
    let read = probe::read(address, bytes);
    let name = CStr::from_bytes_until_nul(&bytes[..read]).ok()?;
    name.to_str().ok().filter(|name| is_name(name.as_bytes()))
}

fn is_name(text: &[u8]) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_between = |byte: u8| matches!(byte, b' ' | b'-' | b'.' | b':' | b'/' | b'+');
    text.first().copied().is_some_and(is_letter) && text.iter().all(|byte| is_letter(*byte) || is_between(*byte))
}
