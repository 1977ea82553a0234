//! Parts of the program that it marks itself, by `MPI_Pcontrol`: every call is counted in the phase that its process is in when
//! the call is made.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use vocabulary::shard::{Cell, NO_PHASE, OTHER_PHASE, PHASES};

use crate::guest::say::warn_once;
use crate::guest::signals::Undisturbed;
use crate::guest::state::next_generation;
use crate::shard::texts::Texts;

/// The name of what comes when all numbers are given away.
const OTHER: &str = "other";

/// As it stands in a key.
static CURRENT: AtomicU64 = AtomicU64::new(Cell::phase_bits(NO_PHASE));

/// In the order of their numbers, the first being 1. They are read without a lock, and without holding back signals: programs come back to
/// the same few phases in each step.
static NAMES: [OnceLock<Box<str>>; OTHER_PHASE as usize] = [const { OnceLock::new() }; OTHER_PHASE as usize];

/// Who gives numbers away.
static TEXTS: Undisturbed<Texts> = Undisturbed::new(Texts::new(PHASES));

/// The phase that calls made now belong to.
#[inline(always)]
pub fn current() -> u8 {
    Cell::phase_of(current_bits())
}

/// The same as it stands in a key.
#[inline(always)]
pub fn current_bits() -> u64 {
    CURRENT.load(Ordering::Relaxed)
}

/// What is called from now on belongs to the phase of this name.
pub fn begin(name: &str) {
    enter(known(name).unwrap_or_else(|| TEXTS.with(|texts| number_of(texts, name))));
}

pub fn end() {
    enter(NO_PHASE);
}

fn enter(phase: u8) {
    let bits = Cell::phase_bits(phase);
    if CURRENT.swap(bits, Ordering::Relaxed) != bits {
        next_generation();
    }
}

/// The names that have a number.
fn named() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map_while(|name| Some(&**name.get()?))
}

fn known(name: &str) -> Option<u8> {
    named().position(|known| known == name).map(|place| place as u8 + 1)
}

/// The number of a phase, which gets one when it is first named.
fn number_of(texts: &mut Texts, name: &str) -> u8 {
    // Another thread may have named it by now.
    if let Some(known) = known(name) {
        return known;
    }
    let Ok(next) = u8::try_from(named().count() + 1) else { return OTHER_PHASE };
    let name = if next < OTHER_PHASE { name } else { OTHER };
    if next == OTHER_PHASE {
        warn_once!("more than {} phases: new ones are counted as '{OTHER}'", OTHER_PHASE - 1);
    }
    if texts.add(next.into(), 0, name).is_none() {
        return NO_PHASE;
    }
    let _ = NAMES[usize::from(next) - 1].set(name.into());
    next
}
