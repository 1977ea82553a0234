//! The calls that a thread is in, one in the other: in the shard, so that whoever comes after a crash finds them.
//!
//! One number tells where the thread is: 0 in the program, n in the MPI library, in its n-th call; with [`OURS`] in commsee's own code around that call.
//!
//! ```text
//!            a wrapper begins          the library is called        it has returned             the wrapper returns
//!     0 ──────────────────────▶ 1|OURS ─────────────────────▶ 1 ─────────────────────▶ 1|OURS ─────────────────────▶ 0
//!                                                             │ a callback of the program calls MPI
//!                                                             └──▶ 2|OURS ──▶ 2 ──▶ 2|OURS ──▶ 1
//! ```
//!
//! A call that begins where the thread is `OURS` is made by a handler of a signal, which MPI does not allow: it is passed on, and counted as lost. So
//! nothing of a thread is ever found half changed. Where such a handler leaves by a jump, the thread stays there: its later calls are lost, too.

use std::cell::Cell;

use vocabulary::shard::{BLOCK_HEADER_BYTES, IN_FLIGHT_CALLS, IN_FLIGHT_LEVELS, InFlightCall};

use crate::guest::caller::Caller;
use crate::shard::{self, memory};

const OURS: u8 = 0x80;
/// Calls were made within the innermost one.
const HAS_NESTED: u8 = 0x40;
const FLAGS: u8 = OURS | HAS_NESTED;

/// The calls that a thread is in, the outermost first.
pub struct InFlight {
    at: Cell<u8>,
    /// The outermost level, and the innermost one that is taken.
    first: *mut InFlightCall,
    own: Cell<*mut InFlightCall>,
}

impl InFlight {
    /// None where there is no memory for it.
    pub fn new(thread: usize) -> Option<InFlight> {
        let first = first_level(thread)?;
        Some(InFlight { at: Cell::new(0), first, own: Cell::new(first) })
    }

    /// Whether it is in the program.
    #[inline(always)]
    pub fn is_outside(&self) -> bool {
        self.at.get() == 0
    }

    /// Whether it is in commsee's own code.
    pub fn is_ours(&self) -> bool {
        self.at.get() & OURS != 0
    }

    /// Whether it is in commsee's own code around a call that the program has made, neither within another one nor around one.
    #[inline(always)]
    pub fn is_outermost(&self) -> bool {
        self.at.get() == OURS + 1
    }

    /// How many calls it is in.
    #[inline(always)]
    pub fn depth(&self) -> usize {
        usize::from(self.at.get() & !FLAGS)
    }

    /// Whether a call may begin within the one that it is in.
    pub fn has_level(&self) -> bool {
        self.depth() < IN_FLIGHT_LEVELS
    }

    /// A wrapper begins in the program, which was called from there.
    #[inline(always)]
    pub fn begin_outermost(&self, caller: Caller, stack: usize) {
        self.at.set(OURS + 1);
        self.own().begin(caller, stack);
    }

    /// The same anywhere. There is a level for it.
    #[inline(always)]
    pub fn begin(&self, caller: Caller, stack: usize) {
        let level = self.level(self.depth());
        self.at.set(self.at.get().wrapping_add(OURS + 1));
        self.own.set(level.0);
        level.begin(caller, stack);
    }

    /// It returns.
    #[inline(always)]
    pub fn end(&self) {
        self.at.set(self.at.get().wrapping_sub(OURS + 1));
        if !self.is_outside() {
            self.return_to_outer();
        }
    }

    #[cold]
    #[inline(never)]
    fn return_to_outer(&self) {
        let (depth, flags) = (self.depth(), self.at.get());
        // A call has returned that had seemed to be left: threads of the program's own take turns on this one.
        if depth == 0 || depth > IN_FLIGHT_LEVELS {
            self.own.set(self.first);
            return self.at.set(0);
        }
        self.own.set(self.level(depth - 1).0);
        self.at.set(flags | HAS_NESTED);
    }

    /// The time of calls that were made within the innermost one.
    pub fn take_nested(&self) -> u64 {
        let has_nested = self.at.get() & HAS_NESTED != 0;
        self.at.set(self.at.get() & !HAS_NESTED);
        if has_nested { self.own().take_nested() } else { 0 }
    }

    /// It calls the library.
    #[inline(always)]
    pub fn call(&self) {
        self.at.set(self.at.get() & !OURS);
    }

    /// The library has returned.
    #[inline(always)]
    pub fn come_back(&self) {
        self.at.set(self.at.get() | OURS);
    }

    /// Below `IN_FLIGHT_LEVELS`.
    #[inline(always)]
    fn level(&self, level: usize) -> Level {
        debug_assert!(level < IN_FLIGHT_LEVELS);
        // SAFETY: there are so many, and they are this thread's.
        Level(unsafe { self.first.add(level) })
    }

    /// The call that the thread is in, which it must be.
    #[inline(always)]
    pub fn own(&self) -> Level {
        Level(self.own.get())
    }

    /// The call within which that one was made.
    pub fn outer(&self) -> Option<Level> {
        self.depth().checked_sub(2).map(|level| self.level(level))
    }

    /// Where the call was made that the thread is in; 0 where it is in none.
    pub fn caller(&self) -> u64 {
        if self.depth() == 0 { 0 } else { self.own().noted().caller }
    }

    /// Where a hook module reads the outer levels.
    pub fn address(&self) -> *const InFlightCall {
        self.first
    }

    /// The thread's number.
    pub fn thread(&self) -> u32 {
        self.level(0).noted().thread
    }

    /// The call of the library that the thread is in, the innermost if a callback made another one.
    #[inline(always)]
    pub fn innermost(&self) -> Option<&InFlightCall> {
        let mut levels = (0..self.depth()).rev().map(|level| self.level(level));
        levels.find(Level::is_inside).map(|level| level.noted())
    }

    /// Whether the thread is still in the call with this begin.
    pub fn is_inside(&self, begin_ticks: u64) -> bool {
        let mut levels = (0..IN_FLIGHT_LEVELS).map(|level| self.level(level));
        levels.any(|level| level.is_inside() && level.noted().begin_ticks == begin_ticks)
    }

    /// A thread begins to be seen, or ends (0).
    pub fn set(&self, now_ticks: u64) {
        for level in 0..IN_FLIGHT_LEVELS {
            let place = self.level(level);
            place.set_begin(0);
            place.set_end(if level == 0 { now_ticks } else { 0 });
        }
        self.at.set(0);
        self.own.set(self.first);
    }
}

/// Room for all levels of a thread. None where there is no memory for it.
fn first_level(thread: usize) -> Option<*mut InFlightCall> {
    let empty = |level| InFlightCall { thread: thread as u32, level: level as u32, ..bytemuck::Zeroable::zeroed() };
    let levels: [InFlightCall; IN_FLIGHT_LEVELS] = std::array::from_fn(empty);
    match shard::block(IN_FLIGHT_CALLS, BLOCK_HEADER_BYTES + size_of_val(&levels)) {
        // SAFETY: the block has room for these entries behind its header, and belongs to nobody else.
        Some(block) => unsafe {
            let first = (block.as_ptr() as usize + BLOCK_HEADER_BYTES) as *mut InFlightCall;
            first.cast::<[InFlightCall; IN_FLIGHT_LEVELS]>().write(levels);
            (*block.as_ptr()).used = IN_FLIGHT_LEVELS as u32;
            Some(first)
        },
        // Without room in the shard nobody reads it; so no call needs a test.
        None => {
            let place = memory::array::<[InFlightCall; IN_FLIGHT_LEVELS]>(1)?.as_ptr();
            // SAFETY: room for it, which belongs to nobody else.
            unsafe { place.write(levels) };
            Some(place.cast())
        }
    }
}

/// Where one call is noted. The words are written one by one: a reader may come, or the process end, between them.
#[derive(Clone, Copy)]
pub struct Level(*mut InFlightCall);

impl Level {
    #[inline(always)]
    fn is_inside(&self) -> bool {
        let noted = self.noted();
        InFlightCall::is_inside(noted.begin_ticks, noted.end_ticks)
    }

    #[inline(always)]
    fn begin(self, caller: Caller, stack: usize) {
        // SAFETY: the entry is this thread's, and never freed.
        unsafe {
            (&raw mut (*self.0).caller).write(caller.address());
            (&raw mut (*self.0).stack).write(stack as u64);
        }
    }

    #[inline(always)]
    fn set_begin(self, begin_ticks: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).begin_ticks).write_volatile(begin_ticks) };
    }

    #[inline(always)]
    pub fn set_end(self, end_ticks: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).end_ticks).write_volatile(end_ticks) };
    }

    /// The library is about to be called.
    #[inline(always)]
    pub fn fill(self, operation: u16, is_handle: bool, comm: u64, begin_ticks: u64) {
        // SAFETY: as above.
        unsafe {
            (&raw mut (*self.0).comm).write_volatile(comm);
            let (place, word) = (&raw mut (*self.0).word, InFlightCall::word(operation, is_handle, begin_ticks));
            if cfg!(target_endian = "little") {
                // What a compiler knows needs no register where it is stored apart. The upper end is always 0.
                place.cast::<u16>().write_volatile(word as u16);
                place.byte_add(2).cast::<u32>().write_unaligned((word >> 16) as u32);
            } else {
                place.write_volatile(word);
            }
        }
        self.set_begin(begin_ticks);
        // Where the clock may tell the same time twice: the latest call may have ended just now.
        self.set_end(0);
    }

    /// A call that was made within this one took so long, and is counted itself.
    pub fn add_nested(self, ticks: u64) {
        // SAFETY: as above.
        unsafe { (*self.0).nested_ticks = (*self.0).nested_ticks.wrapping_add(ticks) };
    }

    fn take_nested(self) -> u64 {
        // SAFETY: as above.
        unsafe { std::mem::take(&mut (*self.0).nested_ticks) }
    }

    #[inline(always)]
    pub fn noted<'a>(&self) -> &'a InFlightCall {
        // SAFETY: as above; only its thread writes it.
        unsafe { &*self.0 }
    }
}
