//! What stands under a handle: its oldest request, and those like it.

use std::mem::offset_of;
use std::ptr;

use commsee_runtime::table;

use super::request::{Completed, HandleAddress, Kind, NOWHERE, Request, State};
use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::objects::shortcuts::{self, Shortcut};

/// No handle of any family.
pub const EMPTY: Word = Word::MAX;

/// The oldest request of a handle, field by field: one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Slot {
    pub handle: Word,
    pub comm: Record,
    pub kind: Kind,
    pub state: State,
    /// How many follow that leave nothing to be done either: libraries give one handle to all sends that are complete at once.
    pub(super) alike: u16,
    /// [`Request::posted`]; of those that are alike, how many the latest look has seen.
    pub posted: u32,
    pub ticks: u64,
    pub shortcut: *const Shortcut,
    /// The key of the counters; of those that leave nothing to be done, how many groups are in the queue.
    pub cells: u64,
    /// The last look that passed here: so a call that names one handle several times sees one request after the other.
    pub stamp: u64,
    pub extra: u32,
    /// Place in `Table::queues` of what is behind the first request and those like it, or `NOWHERE` where nothing is.
    pub queue: u32,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// [`Slot::kind_and_state`] of what is active and takes no more than a few comparisons to complete.
pub const SOLE_RECEIVE: u16 = kind_and_state(Kind::Receive, State::Sole);
pub const SOLE_PLAIN: u16 = kind_and_state(Kind::Plain, State::Sole);

const fn kind_and_state(kind: Kind, state: State) -> u16 {
    u16::from_ne_bytes([kind as u8, state as u8])
}

impl Slot {
    pub(super) const fn of(handle: Word, request: Request) -> Slot {
        let Request { comm, ticks, shortcut, cells, kind, posted, extra, .. } = request;
        let state = match request.state {
            State::Active if extra == NOWHERE => State::Sole,
            state => state,
        };
        Slot { handle, comm, kind, state, alike: 0, posted, ticks, shortcut, cells, stamp: 0, extra, queue: NOWHERE }
    }

    /// Both, for one comparison.
    #[inline(always)]
    pub fn kind_and_state(&self) -> u16 {
        const { assert!(offset_of!(Slot, state) == offset_of!(Slot, kind) + 1) };
        // SAFETY: they stand one behind the other, and are a byte each.
        unsafe { ptr::from_ref(self).byte_add(offset_of!(Slot, kind)).cast::<u16>().read() }
    }

    /// Whether it is one of several under its handle, all of which are alike, and leave nothing to be done.
    #[inline(always)]
    pub fn stands_for_alike(&self) -> bool {
        self.kind == Kind::Plain && self.is_one_of_those_alike() && self.queue == NOWHERE
    }

    /// What is known of it wherever it stands.
    pub fn request(&self) -> Request {
        let Slot { comm, ticks, shortcut, cells, kind, posted, extra, .. } = *self;
        let state = if self.state.is_sole() { State::Active } else { self.state };
        Request { comm, ticks, shortcut, cells, kind, state, posted, extra }
    }

    pub fn set_request(&mut self, request: Request) {
        let Request { comm, ticks, shortcut, cells, kind, state, posted, extra } = request;
        (self.comm, self.ticks, self.shortcut, self.cells) = (comm, ticks, shortcut, cells);
        (self.kind, self.state, self.posted, self.extra) = (kind, state, posted, extra);
    }

    /// Whether it is a persistent one that is not started, and the only one of its handle.
    #[inline(always)]
    pub fn is_idle_alone(&self) -> bool {
        self.state == State::Inactive && self.queue == NOWHERE
    }

    /// Starts a persistent one. `is_alone`: it is known to be the only one of its handle.
    #[inline(always)]
    pub fn restart(
        &mut self,
        kind: Kind,
        (posted, is_alone): (u32, bool),
        cells: u64,
        ticks: u64,
        shortcut: *const Shortcut,
    ) {
        self.kind = kind;
        self.state = if is_alone || self.queue == NOWHERE { State::Started } else { State::Active };
        self.posted = posted;
        self.cells = cells;
        self.ticks = ticks;
        self.shortcut = shortcut;
    }

    /// Starts an idle one. Nothing of what is behind it is there, nor what few have.
    #[inline(always)]
    pub fn start(&mut self, comm: Record, kind: Kind, posted: u32, cells: u64, ticks: u64, shortcut: *const Shortcut) {
        self.comm = comm;
        self.kind = kind;
        self.state = State::Sole;
        // As it is: with it these fields are one word.
        self.alike = 0;
        self.posted = posted;
        self.stamp = 0;
        self.cells = cells;
        self.shortcut = shortcut;
        // Nobody asks for it where all was counted.
        if kind != Kind::Plain {
            self.ticks = ticks;
        }
    }

    /// Starts one that leaves nothing to be done behind others that do neither, and returns whether it could.
    #[inline(always)]
    pub fn start_alike(&mut self, comm: Record, shortcut: *const Shortcut) -> bool {
        // Only such have others behind them that are alike.
        let may_have_some = self.alike != 0 || self.state == State::Sole && self.kind == Kind::Plain;
        if !may_have_some || self.alike == u16::MAX || self.comm != comm || self.cells != 0 {
            return false;
        }
        self.add_alike(shortcut);
        true
    }

    /// Another one comes behind it, and those like it, that is alike.
    #[inline(always)]
    pub(super) fn add_alike(&mut self, shortcut: *const Shortcut) {
        if self.alike == 0 {
            self.state = State::Active;
            // A look may have seen the first one already.
            self.posted = u32::from(self.stamp != 0);
        }
        self.alike += 1;
        self.shortcut = common(self.shortcut, shortcut);
    }

    /// Whether it is in front of others that are alike, so that it does not matter which of them is looked at.
    #[inline(always)]
    pub fn is_one_of_those_alike(&self) -> bool {
        self.state == State::Active && self.alike != 0
    }

    /// Whether a look comes past a request for the first time, or past others that are alike.
    #[inline(always)]
    pub fn is_seen_simply(&mut self, stamp: u64) -> bool {
        if self.stamp == stamp {
            return self.look_on();
        }
        if self.queue != NOWHERE {
            return false;
        }
        self.stamp = stamp;
        if self.alike != 0 {
            self.posted = 1;
        }
        true
    }

    /// The only request of its handle, or one of several that are alike, has completed: whether it was that simple.
    #[inline(always)]
    pub fn complete_simply(&mut self) -> bool {
        if self.state.is_sole() {
            self.state = self.state.completed();
            return true;
        }
        if self.is_one_of_those_alike() {
            self.remove_alike(1);
            return true;
        }
        false
    }

    /// So many of those that are alike have completed, and one at least is left.
    #[inline(always)]
    pub(super) fn remove_alike(&mut self, count: u16) {
        self.alike -= count;
        // None that a look has not seen is completed before one that it has.
        self.posted = self.posted.saturating_sub(count.into());
        if self.alike == 0 {
            if self.posted == 0 {
                // No look has seen the one that is left.
                self.stamp = 0;
            }
            self.is_left();
        }
    }

    /// So many of those that it stands for have completed ([`Slot::stands_for_alike`]). Returns false, and takes none, where there are fewer.
    #[inline(always)]
    pub fn complete_alike(&mut self, count: u32) -> bool {
        let alike = u32::from(self.alike);
        if count > alike {
            if count != alike + 1 {
                return false;
            }
            (self.state, self.alike) = (State::Idle, 0);
        } else if count != 0 {
            self.remove_alike(count as u16);
        }
        count != 0
    }

    /// Nothing stands behind it that is alike: whether anything does.
    #[inline(always)]
    pub(super) fn is_left(&mut self) {
        if self.queue == NOWHERE && self.state == State::Active && self.extra == NOWHERE {
            self.state = State::Sole;
        }
    }

    /// Another look that comes past again sees the next one of those that are alike, if there is one.
    #[inline(always)]
    pub fn look_on(&mut self) -> bool {
        if self.alike == 0 || self.posted > u32::from(self.alike) {
            return false;
        }
        self.posted += 1;
        true
    }

    /// Whether the look with this stamp has seen it, or one that came later, or the first of those that are alike, and not completed it yet. 0 is
    /// no look.
    pub fn is_seen_by(&self, stamp: u64) -> bool {
        let are_completed = self.alike != 0 && self.kind == Kind::Plain && self.posted == 0;
        stamp != 0 && self.stamp >= stamp && !are_completed
    }

    #[inline(always)]
    pub fn completed(&self) -> Completed {
        let Slot { comm, ticks, shortcut, cells, kind, posted, .. } = *self;
        let is_counted = self.state == State::Revealed;
        Completed { comm, ticks, shortcut, cells, kind, is_counted, posted, duplicate: (HandleAddress::C(0), comm) }
    }
}

impl table::Slot for Slot {
    const EMPTY: Slot =
        Slot::of(EMPTY, Request { state: State::Idle, ..Request::new(std::ptr::null_mut(), Kind::Plain) });
    const KEY_FIRST: bool = true;

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.handle == EMPTY
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.handle = EMPTY;
    }
}

/// How requests were started which nobody tells apart.
pub(super) fn common(one: *const Shortcut, other: *const Shortcut) -> *const Shortcut {
    if one == other { one } else { shortcuts::unused() }
}
