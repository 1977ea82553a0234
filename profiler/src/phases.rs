//! Parts of the program that it marks itself, by `MPI_Pcontrol`: every call is counted in the phase that its process is in when
//! the call is made.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use vocabulary::calls::op;
use vocabulary::shard::{NO_PHASE, OTHER_PHASE, PHASES};

use crate::abi::Word;
use crate::say::warn_once;
use crate::tally::{self, Done};
use crate::texts::Texts;
use crate::{communicators, probe, shard, snapshots, state, thread};

/// The level that asks for a snapshot.
pub const SNAPSHOT: c_int = 2;
/// The longest name.
const NAME_BYTES: usize = 63;
/// The name of what comes when all numbers are given away.
const OTHER: &str = "other";

static CURRENT: AtomicU8 = AtomicU8::new(NO_PHASE);

struct Phases {
    /// In the order of their numbers, the first being 1.
    names: Vec<String>,
    texts: Texts,
}

static ALL: Mutex<Phases> = parking_lot::const_mutex(Phases { names: Vec::new(), texts: Texts::new(PHASES) });

/// The phase that calls made now belong to.
#[inline(always)]
pub fn current() -> u8 {
    CURRENT.load(Ordering::Relaxed)
}

/// What `MPI_Pcontrol` does: 0 pauses counting and 1 resumes it, 2 takes a snapshot. A level above begins a phase, one
/// below 0 ends it. `name` is the word that the program may have passed behind the level: the address of the phase's
/// name, or anything. The call that begins a phase belongs to it, and so does the one that ends it.
pub fn control(level: c_int, name: Option<Word>) {
    let Some(thread) = thread::following(op::MPI_Pcontrol) else { return };
    match level {
        1 => pause(false),
        3.. => CURRENT.store(number_of(&name_of(level, name)), Ordering::Relaxed),
        _ => {}
    }
    if state::is_on() {
        let done = Done { operation: op::MPI_Pcontrol, code: 0, ticks: 0 };
        tally::plain(thread, communicators::world(), done);
    }
    match level {
        0 => pause(true),
        SNAPSHOT => snapshots::take(),
        ..0 => CURRENT.store(NO_PHASE, Ordering::Relaxed),
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

/// The number of a phase, which gets one when it is first named.
fn number_of(name: &str) -> u8 {
    let mut phases = ALL.lock();
    if let Some(place) = phases.names.iter().position(|known| known == name) {
        return place as u8 + 1;
    }
    let next = phases.names.len() as u32 + 1;
    if next > OTHER_PHASE.into() {
        return OTHER_PHASE;
    }
    let name = if next < OTHER_PHASE.into() { name } else { OTHER };
    if next == u32::from(OTHER_PHASE) {
        warn_once!("more than {} phases: from now on new ones are counted as one, '{OTHER}'", OTHER_PHASE - 1);
    }
    if phases.texts.add(next, 0, name).is_none() {
        return NO_PHASE;
    }
    phases.names.push(name.to_owned());
    next as u8
}
