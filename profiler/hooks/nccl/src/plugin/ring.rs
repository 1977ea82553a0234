//! The last things of a kind, by ascending numbers. Memory stays bounded however many there are, and a number of what is gone finds
//! nothing: NCCL gives handles back late, twice, or after the graph that they were captured in is launched again.

use std::sync::Mutex;

/// So many are kept.
const MOST: usize = 1 << 14;

pub struct Ring<T> {
    kept: Mutex<Kept<T>>,
}

struct Kept<T> {
    slots: Vec<T>,
    /// Of the next one.
    number: u64,
}

/// What became of one that was put there.
pub struct Put<T> {
    /// Its number, above 0. None: there is no memory.
    pub number: Option<u64>,
    /// The oldest one, which had to go for it.
    pub gone: Option<T>,
}

impl<T: Copy> Ring<T> {
    pub const fn new() -> Ring<T> {
        Ring { kept: Mutex::new(Kept { slots: Vec::new(), number: 1 }) }
    }

    fn with<R>(&self, work: impl FnOnce(&mut Kept<T>) -> R) -> R {
        work(&mut self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    pub fn put(&self, thing: T) -> Put<T> {
        self.with(|kept| {
            let place = place_of(kept.number);
            let gone = kept.slots.get_mut(place).map(|slot| std::mem::replace(slot, thing));
            if gone.is_none() {
                if kept.slots.try_reserve(1).is_err() {
                    return Put { number: None, gone };
                }
                kept.slots.push(thing);
            }
            kept.number += 1;
            Put { number: Some(kept.number - 1), gone }
        })
    }

    /// Changes one that is still there.
    pub fn change<R>(&self, number: u64, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.with(|kept| {
            let is_kept = number > 0 && number < kept.number && kept.number - number <= MOST as u64;
            let slot = kept.slots.get_mut(place_of(number)).filter(|_| is_kept)?;
            Some(work(slot))
        })
    }

    /// All of them, from the oldest on.
    pub fn each(&self, work: impl FnMut(&mut T)) {
        self.with(|kept| {
            let oldest = if kept.slots.len() < MOST { 0 } else { place_of(kept.number) };
            let (later, earlier) = kept.slots.split_at_mut(oldest);
            earlier.iter_mut().chain(later).for_each(work);
        });
    }
}

fn place_of(number: u64) -> usize {
    (number.wrapping_sub(1) % MOST as u64) as usize
}
