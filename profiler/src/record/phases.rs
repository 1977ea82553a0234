//! Parts of the program that it marks itself, by `MPI_Pcontrol`: every call is counted in the phase that its process is in when
//! the call is made.

use std::sync::atomic::{AtomicU64, Ordering};

use vocabulary::shard::{Cell, NO_PHASE, OTHER_PHASE, PHASES};

use crate::guest::say::warn_once;
use crate::guest::signals::Undisturbed;
use crate::objects::handles::next_generation;
use crate::shard::texts::Texts;

/// The name of what comes when all numbers are given away.
const OTHER: &str = "other";

/// As it stands in a key.
static CURRENT: AtomicU64 = AtomicU64::new(Cell::phase_bits(NO_PHASE));

struct Phases {
    /// In the order of their numbers, the first being 1.
    names: Vec<String>,
    texts: Texts,
}

static ALL: Undisturbed<Phases> = Undisturbed::new(Phases { names: Vec::new(), texts: Texts::new(PHASES) });

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
    enter(ALL.with(|phases| phases.number_of(name)));
}

pub fn end() {
    enter(NO_PHASE);
}

fn enter(phase: u8) {
    CURRENT.store(Cell::phase_bits(phase), Ordering::Relaxed);
    next_generation();
}

impl Phases {
    /// The number of a phase, which gets one when it is first named.
    fn number_of(&mut self, name: &str) -> u8 {
        if let Some(place) = self.names.iter().position(|known| known == name) {
            return place as u8 + 1;
        }
        let next = self.names.len() as u32 + 1;
        if next > OTHER_PHASE.into() {
            return OTHER_PHASE;
        }
        let name = if next < OTHER_PHASE.into() { name } else { OTHER };
        if next == u32::from(OTHER_PHASE) {
            warn_once!("more than {} phases: new ones are counted as '{OTHER}'", OTHER_PHASE - 1);
        }
        if self.texts.add(next, 0, name).is_none() {
            return NO_PHASE;
        }
        self.names.push(name.to_owned());
        next as u8
    }
}
