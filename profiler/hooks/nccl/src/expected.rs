//! Which communicators of the plugin are those of the wrappers: the plugin is told of one while the wrapper makes it, maybe in another
//! thread, or after the wrapper has returned. One that no wrapper makes was made by a program that found NCCL by `dlsym`, or has it linked in.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// One that a wrapper begins to make.
#[derive(Clone, Copy)]
struct Begun {
    number: u32,
    /// None where only the library knows, as for splits.
    ranks: Option<u32>,
    rank: Option<u32>,
}

/// One that the plugin was told of while wrappers made communicators of which only the library knows the ranks.
struct Told {
    ranks: u32,
    rank: u32,
    /// NCCL's own, which is the same on all ranks.
    hash: u64,
    /// Where the plugin reads which one it is.
    number: &'static AtomicU32,
}

struct Expected {
    begun: Vec<Begun>,
    told: Vec<Told>,
    /// Those that wrappers have made, and the plugin was not told of yet: nonblocking ones, which may be there before they are complete.
    late: VecDeque<Begun>,
    last: u32,
    /// Whether the plugin is told of any.
    has_plugin: bool,
}

/// So many that are late are waited for.
const MOST_LATE: usize = 64;

static EXPECTED: Mutex<Expected> =
    Mutex::new(Expected { begun: Vec::new(), told: Vec::new(), late: VecDeque::new(), last: 0, has_plugin: false });

fn with<T>(work: impl FnOnce(&mut Expected) -> T) -> T {
    work(&mut EXPECTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// A wrapper begins to make one. Returns its number, above 0; 0 where there is no memory.
pub fn expect(ranks: Option<u32>, rank: Option<u32>) -> u32 {
    with(|expected| {
        if expected.begun.try_reserve(1).is_err() {
            return 0;
        }
        expected.last += 1;
        let number = expected.last;
        expected.begun.push(Begun { number, ranks, rank });
        number
    })
}

/// What the plugin is told of.
pub enum Taken {
    /// The one of this number.
    Known(u32),
    /// One of those that wrappers make: [`pend`], and it will be known which.
    Later,
    /// No wrapper makes it.
    Unseen,
}

/// The plugin is told of one.
pub fn take(ranks: u32, rank: u32) -> Taken {
    with(|expected| {
        expected.has_plugin = true;
        let is_it = |one: &Begun| one.ranks == Some(ranks) && one.rank == Some(rank);
        if let Some(place) = expected.begun.iter().position(is_it) {
            return Taken::Known(expected.begun.remove(place).number);
        }
        if let Some(late) = expected.late.iter().position(is_it).and_then(|place| expected.late.remove(place)) {
            return Taken::Known(late.number);
        }
        let may_be = |one: &Begun| one.rank.is_none() && one.ranks.is_none_or(|wanted| wanted == ranks);
        if expected.begun.iter().any(may_be) { Taken::Later } else { Taken::Unseen }
    })
}

/// The plugin waits to be told which one it is: in `number`, which is 0 until then.
pub fn pend(ranks: u32, rank: u32, hash: u64, number: &'static AtomicU32) {
    with(|expected| {
        if expected.told.try_reserve(1).is_ok() {
            expected.told.push(Told { ranks, rank, hash, number });
        }
    });
}

/// A wrapper has made one, and knows its ranks now: NCCL's hash of it, if the plugin was told.
pub fn made(number: u32, ranks: u32, rank: u32) -> Option<u64> {
    with(|expected| {
        expected.begun.retain(|one| one.number != number);
        let place = expected.told.iter().position(|told| (told.ranks, told.rank) == (ranks, rank));
        let Some(place) = place else {
            expected.be_late(Begun { number, ranks: Some(ranks), rank: Some(rank) });
            return None;
        };
        let told = expected.told.remove(place);
        told.number.store(number, Ordering::Release);
        Some(told.hash)
    })
}

impl Expected {
    fn be_late(&mut self, late: Begun) {
        if self.has_plugin && late.number != 0 && self.late.try_reserve(1).is_ok() {
            if self.late.len() == MOST_LATE {
                self.late.pop_front();
            }
            self.late.push_back(late);
        }
    }
}

/// It was made without a word to the plugin, or not at all, or it is no more.
pub fn withdraw(number: u32) {
    with(|expected| {
        expected.begun.retain(|one| one.number != number);
        expected.late.retain(|one| one.number != number);
    });
}
