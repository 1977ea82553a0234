//! Which communicators of the plugin are those of the wrappers: the plugin is told of one while the wrapper makes it, maybe in another
//! thread. One that no wrapper makes was made by a program that found NCCL by `dlsym`, or has it linked in.

use std::sync::Mutex;

#[derive(Clone, Copy)]
struct Expected {
    number: u32,
    /// None where only the library knows, as for splits.
    ranks: Option<u32>,
    rank: Option<u32>,
}

struct Made {
    begun: Vec<Expected>,
    last: u32,
}

static MADE: Mutex<Made> = Mutex::new(Made { begun: Vec::new(), last: 0 });

/// A wrapper begins to make one. Returns its number, above 0; 0 where there is no memory.
pub fn expect(ranks: Option<u32>, rank: Option<u32>) -> u32 {
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if made.begun.try_reserve(1).is_err() {
        return 0;
    }
    made.last += 1;
    let number = made.last;
    made.begun.push(Expected { number, ranks, rank });
    number
}

/// The plugin is told of one. None: no wrapper makes it.
pub fn take(ranks: u32, rank: u32) -> Option<u32> {
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let fits = |wanted: Option<u32>, told| wanted.is_none_or(|wanted| wanted == told);
    let place = made.begun.iter().position(|one| fits(one.ranks, ranks) && fits(one.rank, rank))?;
    Some(made.begun.remove(place).number)
}

/// It was made without a word to the plugin, or not at all.
pub fn withdraw(number: u32) {
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    made.begun.retain(|one| one.number != number);
}

/// What the plugin was told of those that it took: NCCL's hash, which is the same on all ranks.
static TOLD: Mutex<Vec<(u32, u64)>> = Mutex::new(Vec::new());

pub fn tell(number: u32, hash: u64) {
    let mut told = TOLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if told.try_reserve(1).is_ok() {
        told.push((number, hash));
    }
}

pub fn told(number: u32) -> Option<u64> {
    let told = TOLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    told.iter().find(|(one, _)| *one == number).map(|(_, hash)| *hash)
}
