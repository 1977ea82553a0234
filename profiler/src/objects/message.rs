//! To which communicator a matched message belongs: MPI has no call that tells, so it is kept from the probe to the
//! receive. So is the place of the probe among the receives of the timeline: it is the probe that takes the message.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::mpi::abi::Word;
use crate::objects::communicators::{self, Record};
use crate::shard::memory;

#[derive(Clone, Copy)]
pub struct Matched {
    pub comm: Record,
    /// Its number among the receives on the timeline; 0 without one.
    pub posted: u32,
}

// SAFETY: records are never freed.
unsafe impl Send for Matched {}

/// Several live messages may share a handle, as requests do: the latest is taken first, since a message is usually
/// received right behind its probe.
static MATCHED: Mutex<Option<HashMap<Word, Vec<Matched>>>> = parking_lot::const_mutex(None);

/// `MPI_Mprobe` or `MPI_Improbe` has matched a message.
pub fn matched(message: Word, matched: Matched) {
    if matched.comm == communicators::none() {
        return;
    }
    let mut all = MATCHED.lock();
    let all = all.get_or_insert_default();
    if all.try_reserve(1).is_err() {
        return memory::lose_call();
    }
    let same = all.entry(message).or_default();
    match same.try_reserve(1) {
        Ok(()) => same.push(matched),
        Err(_) => memory::lose_call(),
    }
}

/// The message is about to be received (afterwards its handle may be another's); the row `-` if it was never seen, as
/// `MPI_MESSAGE_NO_PROC` is not.
pub fn received(message: Word) -> Matched {
    let none = Matched { comm: communicators::none(), posted: 0 };
    let mut guard = MATCHED.lock();
    let messages = guard.get_or_insert_default();
    let Some(all) = messages.get_mut(&message) else { return none };
    let matched = all.pop().unwrap_or(none);
    if all.is_empty() {
        messages.remove(&message);
    }
    matched
}
