//! To which communicator a matched message belongs: MPI has no call that tells, so it is kept from the probe to the
//! receive. So is the place of the probe among the receives of the timeline: it is the probe that takes the message.

use std::collections::HashMap;
use std::ptr;

use crate::guest::serial::Serial;
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
struct Messages {
    /// In the order in which they were matched, and nearly always all of them: so few are found faster by one look at each.
    first: [(Word, Matched); FIRST],
    count: usize,
    others: Option<HashMap<Word, Vec<Matched>>>,
}

const FIRST: usize = 8;

static MESSAGES: Serial<Messages> =
    Serial::new(Messages { first: [(0, Matched { comm: ptr::null_mut(), posted: 0 }); FIRST], count: 0, others: None });

impl Messages {
    fn add(&mut self, message: Word, matched: Matched) -> Option<()> {
        if let Some(place) = self.first.get_mut(self.count) {
            *place = (message, matched);
            self.count += 1;
            return Some(());
        }
        let others = self.others.get_or_insert_default();
        others.try_reserve(1).ok()?;
        let same = others.entry(message).or_default();
        same.try_reserve(1).ok()?;
        same.push(matched);
        Some(())
    }

    fn take(&mut self, message: Word) -> Option<Matched> {
        if let Some(others) = &mut self.others
            && let Some(same) = others.get_mut(&message)
        {
            let matched = same.pop();
            if same.is_empty() {
                others.remove(&message);
            }
            return matched;
        }
        let place = self.first[..self.count].iter().rposition(|(known, _)| *known == message)?;
        let (_, matched) = self.first[place];
        self.first.copy_within(place + 1..self.count, place);
        self.count -= 1;
        Some(matched)
    }
}

/// `MPI_Mprobe` or `MPI_Improbe` has matched a message.
pub fn matched(message: Word, matched: Matched) {
    if matched.comm == communicators::none() {
        return;
    }
    match MESSAGES.with(|messages| messages.add(message, matched)) {
        Some(Some(())) => {}
        Some(None) => memory::lose_call(),
        None => memory::give_up_call(),
    }
}

/// The message is about to be received (afterwards its handle may be another's); the row `-` if it was never seen, as
/// `MPI_MESSAGE_NO_PROC` is not.
pub fn received(message: Word) -> Matched {
    let none = Matched { comm: communicators::none(), posted: 0 };
    MESSAGES.with(|messages| messages.take(message)).flatten().unwrap_or(none)
}
