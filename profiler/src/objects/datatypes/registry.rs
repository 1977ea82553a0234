//! Which datatypes were used: a number for each structure, found by handle. Only where `COMMSEE_DATATYPES` asks for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use vocabulary::shard::{CONTIGUOUS, DATATYPES};

use super::describe::{Description, describe};
use crate::guest::guard::guarded;
use crate::guest::latest::Latest;
use crate::guest::say::warn_once;
use crate::guest::signals::Undisturbed;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::shard::texts::Texts;

/// Structures that are told apart: 256 bytes each in the shard.
const MOST_NUMBERS: u32 = 4096;
const OTHER: &str = "other";

static RECORDED: AtomicBool = AtomicBool::new(false);
/// Raised whenever a handle loses its meaning, so that no thread trusts what it remembers.
static EPOCH: AtomicU32 = AtomicU32::new(0);

#[derive(Clone, Copy)]
struct Known {
    number: u32,
    size_bytes: u64,
}

struct Registry {
    handles: HashMap<Word, Known>,
    numbers: HashMap<Description, u32>,
    texts: Texts,
}

static REGISTRY: Undisturbed<Option<Registry>> = Undisturbed::new(None);

/// The datatypes that one thread used last, by a few bits of their handles.
pub struct Recent([Latest<Word, Known>; RECENT]);

const RECENT: usize = 16;

impl Recent {
    pub const fn new() -> Recent {
        Recent([const { Latest::none(Word::MAX, Known { number: 0, size_bytes: 0 }) }; RECENT])
    }
}

pub fn record() {
    RECORDED.store(true, Ordering::Relaxed);
    state::want_more();
}

#[inline(always)]
pub fn are_recorded() -> bool {
    RECORDED.load(Ordering::Relaxed)
}

/// The number of a datatype that a successful call was given. `None`: there is no room for it.
pub fn number_of(recent: &Recent, datatype: Word, size_bytes: u64) -> Option<u32> {
    let handle = datatype & abi().mask;
    let epoch = EPOCH.load(Ordering::Acquire).into();
    let place = (handle ^ handle >> 4 ^ handle >> 8) % RECENT;
    if let Some(known) = recent.0[place].get(handle, epoch).filter(|known| known.size_bytes == size_bytes) {
        return Some(known.number);
    }
    let known = guarded(|| look_up(handle, size_bytes)).flatten()?;
    recent.0[place].keep(handle, epoch, known);
    Some(known.number)
}

/// A handle that is known under another size was freed where nobody saw it, and given again.
fn look_up(handle: Word, size_bytes: u64) -> Option<Known> {
    // A call that was given none may only seem to have succeeded.
    if handle == abi().datatype_null {
        return None;
    }
    let known = REGISTRY.with(|registry| registry.as_ref()?.handles.get(&handle).copied());
    if let Some(known) = known.filter(|known| known.size_bytes == size_bytes) {
        return Some(known);
    }
    // Without the lock: this calls the MPI library.
    let description = describe(handle, size_bytes);
    REGISTRY.with(|registry| {
        let registry = registry.get_or_insert_with(|| Registry {
            handles: HashMap::new(),
            numbers: HashMap::new(),
            texts: Texts::new(DATATYPES),
        });
        let known = Known { number: registry.number(description)?, size_bytes };
        registry.handles.insert(handle, known);
        Some(known)
    })
}

impl Registry {
    fn number(&mut self, mut description: Description) -> Option<u32> {
        if let Some(number) = self.numbers.get(&description) {
            return Some(*number);
        }
        let next = self.numbers.len() as u32;
        if next >= MOST_NUMBERS {
            warn_once!("more than {MOST_NUMBERS} datatype structures: new ones are counted as '{OTHER}'");
            description = Description { text: OTHER.to_owned(), contiguous: false };
            if let Some(number) = self.numbers.get(&description) {
                return Some(*number);
            }
        }
        let flags = if description.contiguous { CONTIGUOUS } else { 0 };
        self.texts.add(next, flags, &description.text)?;
        self.numbers.insert(description, next);
        Some(next)
    }
}

/// A datatype is about to be freed: its handle may be another's as soon as it is. Nobody may use it meanwhile, so that it is not
/// entered again before.
pub fn forget(handle: Word) {
    if !are_recorded() || state::is_off() {
        return;
    }
    REGISTRY.with(|registry| {
        registry.as_mut().and_then(|registry| registry.handles.remove(&(handle & abi().mask)));
    });
    EPOCH.fetch_add(1, Ordering::Release);
}
