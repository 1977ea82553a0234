//! Where a thread keeps its shortcuts, and finds the one of a call.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use commsee_runtime::table;
use vocabulary::calls::CALLS;
use vocabulary::shard::Edge;

use super::{NO_KEY, Shortcut};
use crate::guest::latest::in_order;
use crate::guest::short_path::Path;
use crate::mpi::abi::Word;
use crate::objects::turns::{NO_DESTINATION, Turns};
use crate::shard::memory;

/// The shortcuts of one thread.
pub struct Shortcuts {
    /// By operation, the one that was used last.
    latest: [Cell<*const Shortcut>; CALLS.len()],
    table: Cell<*const Shortcut>,
    /// A power of two, or 0 before there is a table: then it is [`UNUSED`].
    slots: Cell<usize>,
    shift: Cell<u32>,
    taken: Cell<usize>,
    /// Whose place is taken next where there is no vacant one.
    victim: Cell<usize>,
    turns: Turns,
    /// Where there is no memory for a table.
    spare: Shortcut,
}

/// Never written to. A table of as many as there are at least.
struct Unused([Shortcut; PROBES]);

// SAFETY: see above.
unsafe impl Sync for Unused {}

static UNUSED: Unused = Unused([const { Shortcut::none() }; PROBES]);

/// One that is nobody's, for whoever must point to one.
pub const fn unused() -> *const Shortcut {
    (&raw const UNUSED.0).cast()
}

const FIRST_SLOTS: usize = 32;
/// Then shortcuts take each other's places: 256 KiB.
const MOST_SLOTS: usize = 2048;
/// How many places a shortcut has to choose from.
pub const PROBES: usize = 4;
/// How many of these are looked at without a call. They lie side by side.
pub const NEAR: usize = 2;

impl Shortcuts {
    pub const fn none() -> Shortcuts {
        Shortcuts {
            latest: [const { Cell::new(unused()) }; CALLS.len()],
            table: Cell::new(unused()),
            slots: Cell::new(0),
            shift: Cell::new(u64::BITS - PROBES.trailing_zeros()),
            taken: Cell::new(0),
            victim: Cell::new(0),
            turns: Turns::none(),
            spare: Shortcut::none(),
        }
    }

    /// The one that calls of this operation used last.
    #[inline(always)]
    pub fn latest(&self, operation: u16) -> &Shortcut {
        // SAFETY: an operation is one of the table's; shortcuts are never freed.
        unsafe { &*self.latest.get_unchecked(usize::from(operation)).get() }
    }

    /// The shortcut of these where nothing that it tells has changed since, and it lies in one of so many places that it may lie in: it becomes
    /// the latest one.
    #[inline(always)]
    pub fn again<P: Path>(
        &self,
        key: Word,
        operation: u16,
        caller: u64,
        generation: u64,
        places: usize,
    ) -> Option<&Shortcut> {
        debug_assert!(places <= PROBES);
        let home = self.home(key, operation, caller);
        for probe in 0..places {
            // SAFETY: in the table, of which there are as many slots.
            let shortcut = unsafe { &*self.table.get().add(home ^ probe) };
            if shortcut.is_for_call::<P>(key, caller, generation) && shortcut.operation.get() == operation {
                // SAFETY: as in `latest`.
                unsafe { self.latest.get_unchecked(usize::from(operation)) }.set(shortcut);
                return Some(shortcut);
            }
        }
        None
    }

    #[inline(always)]
    fn home(&self, key: Word, operation: u16, caller: u64) -> usize {
        (table::hash(key as u64 ^ u64::from(operation) << 48 ^ caller.rotate_left(16)) >> self.shift.get()) as usize
    }

    /// The shortcut of these, which becomes the latest one, or one to be made theirs by `begin`, and whether it is theirs.
    pub fn find(&self, (key, operation, caller): (Word, u16, u64), phase: u8) -> (&Shortcut, bool) {
        let is_it = |shortcut: &Shortcut| {
            shortcut.key.get() == key
                && shortcut.operation.get() == operation
                && shortcut.phase.get() == phase
                && shortcut.caller.get() == caller
        };
        let home = || self.home(key, operation, caller);
        let (mut found, mut known) = self.probe(home(), is_it);
        if !known && found.key.get() == NO_KEY {
            if (self.taken.get() + 1) * 2 > self.slots.get() && self.enlarge() {
                (found, known) = self.probe(home(), is_it);
            }
            self.taken.set(self.taken.get() + 1);
        } else if !known && self.enlarge() {
            (found, known) = self.probe(home(), is_it);
            self.taken.set(self.taken.get() + 1);
        }
        // Calls of the operation that it was for until now must not take it for theirs, which they know by the handle alone. Nor must those of
        // this one while it is that.
        if !known {
            found.reserve();
            if let Some(latest) = self.latest.get(usize::from(found.operation.get()))
                && ptr::eq(latest.get(), found)
            {
                latest.set(unused());
            }
        }
        if let Some(latest) = self.latest.get(usize::from(operation)) {
            latest.set(found);
        }
        (found, known)
    }

    #[inline(always)]
    fn probe(&self, home: usize, is_it: impl Fn(&Shortcut) -> bool) -> (&Shortcut, bool) {
        let slots = self.slots.get();
        if slots == 0 {
            return (&self.spare, is_it(&self.spare));
        }
        // SAFETY: in the table, of which there are as many slots.
        let at = |place: usize| unsafe { &*self.table.get().add(place) };
        let mut vacant = None;
        for probe in 0..PROBES {
            let shortcut = at(home ^ probe);
            if is_it(shortcut) {
                return (shortcut, true);
            }
            if vacant.is_none() && shortcut.key.get() == NO_KEY {
                vacant = Some(shortcut);
            }
        }
        let victim = || {
            self.victim.set(self.victim.get().wrapping_add(1));
            at(home ^ (self.victim.get() % PROBES))
        };
        // One that is being made is so by a call that this one interrupts, or that was left by a jump.
        (vacant.unwrap_or_else(|| Some(victim()).filter(|found| !found.is_reserved()).unwrap_or_else(victim)), false)
    }

    /// Whether a call is the one that was thought to be next: then its place becomes that of the latest call.
    #[inline(always)]
    pub fn take_turn<P: Path>(&self, shortcut: &Shortcut, destination: c_int, message_bytes: u64) -> bool {
        let next = self.turns.next(&shortcut.latest);
        let is_next = next.destination.get() == destination as u32
            && next.reaches(message_bytes)
            // SAFETY: it reaches something, so that it has counters, which are never freed, and whose keys never change.
            && unsafe { shortcut.counts_in(next.cell.get()) }
            // SAFETY: the same.
            && (!P::IS_SITED || next.at_site().is_some_and(|place| unsafe { (*place).site } == shortcut.site.get()));
        if is_next {
            shortcut.latest.set(next);
        }
        is_next
    }

    /// It is not: `look_up` makes its place that of the latest call, but for the counters of no message.
    #[inline(always)]
    pub fn learn_turn<R>(
        &self,
        shortcut: &Shortcut,
        destination: c_int,
        nobody: *mut Edge,
        look_up: impl FnOnce() -> R,
    ) -> R {
        self.turns.learn(&shortcut.latest, &shortcut.misses, |learns| {
            if learns && destination < 0 {
                shortcut.set_edge(NO_DESTINATION as u32, nobody);
            }
            look_up()
        })
    }

    /// A larger table, without what was in the old one, which is left to the requests that point there: together they are smaller
    /// than it is.
    #[cold]
    #[inline(never)]
    fn enlarge(&self) -> bool {
        let slots = (self.slots.get() * 2).max(FIRST_SLOTS);
        if slots > MOST_SLOTS {
            return false;
        }
        let Some(table) = memory::array::<Shortcut>(slots) else { return false };
        for place in 0..slots {
            // SAFETY: there is room for so many.
            unsafe { table.add(place).write(Shortcut::none()) };
        }
        // No place that a handler of a signal finds meanwhile lies behind the table.
        self.table.set(table.as_ptr());
        in_order();
        self.slots.set(slots);
        self.shift.set(u64::BITS - slots.trailing_zeros());
        self.taken.set(0);
        true
    }
}
