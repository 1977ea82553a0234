//! The calls that a thread is in, by level: in the shard, so that whoever comes after a crash finds them.

use std::cell::Cell;
use std::hint::assert_unchecked;
use std::mem::offset_of;
use std::ptr;

use vocabulary::shard::{
    ABOUT_TO_BEGIN, BLOCK_HEADER_BYTES, IN_FLIGHT_CALLS, IN_FLIGHT_LEVELS, InFlightCall, NO_OPERATION,
};

use crate::guest::caller::Caller;
use crate::guest::clock;
use crate::guest::latest::in_order;
use crate::guest::short_path::Path;
use crate::mpi::abi::Word;
use crate::shard::{self, memory};

/// The calls that a thread is in, the outermost first.
pub struct InFlight {
    /// The address of the lowest level.
    first: usize,
    /// The stack pointers of the wrappers that the thread is in, by level: they tell a call that it is still in from one that it has
    /// jumped out of.
    pub frames: [Cell<usize>; IN_FLIGHT_LEVELS],
    /// For each level the begin of a call in which another one was made, and the time of all calls counted by then.
    pub counted_within: [Cell<(u64, u64)>; IN_FLIGHT_LEVELS],
    /// How often a call was taken for one within another.
    pub nested: Cell<u32>,
    /// Whether the call that begins has been found to be made within another before it takes a level.
    pub is_looked_at: Cell<bool>,
    /// The caller of a call that has taken no level yet.
    caller: Cell<u64>,
    /// The latest call that takes no level, and its caller.
    apart: Cell<(u16, u64)>,
}

impl InFlight {
    /// None where there is no memory for it.
    pub fn new(thread: usize) -> Option<InFlight> {
        Some(InFlight {
            first: first_level(thread)?.expose_provenance(),
            frames: [const { Cell::new(0) }; IN_FLIGHT_LEVELS],
            counted_within: [const { Cell::new((0, 0)) }; IN_FLIGHT_LEVELS],
            nested: Cell::new(0),
            is_looked_at: Cell::new(false),
            caller: Cell::new(0),
            apart: Cell::new((NO_OPERATION, 0)),
        })
    }

    /// Where the address of the lowest level lies.
    pub const LOWEST: usize = offset_of!(InFlight, first);

    /// The lowest level of one of which nothing else need be there.
    ///
    /// # Safety
    /// The address of it is there.
    #[inline(always)]
    pub unsafe fn lowest_of(in_flight: *const InFlight) -> Level {
        // SAFETY: as demanded.
        let address: usize = unsafe { *in_flight.wrapping_byte_add(InFlight::LOWEST).cast() };
        Level(ptr::with_exposed_provenance_mut(address))
    }

    /// One of `IN_FLIGHT_LEVELS`.
    #[inline(always)]
    pub fn level(&self, level: usize) -> Level {
        debug_assert!(level < IN_FLIGHT_LEVELS);
        // SAFETY: there are so many, and they are this thread's.
        Level(unsafe { self.first().add(level) })
    }

    #[inline(always)]
    fn first(&self) -> *mut InFlightCall {
        ptr::with_exposed_provenance_mut(self.first)
    }

    /// The call that begins will be the only one that the thread is in.
    #[inline(always)]
    pub fn is_called_from_outside_by(&self, caller: Caller) {
        self.set_lowest_caller(caller.address());
    }

    #[inline(always)]
    fn set_lowest_caller(&self, caller: u64) {
        let lowest = self.level(0);
        lowest.set_caller(caller);
        // SAFETY: levels never move. A compiler cannot know that this was not written there, and would read it again.
        unsafe { assert_unchecked(self.first == lowest.0.addr()) };
    }

    /// The same of a C function, which the library's Fortran layer may have called. Paths that tell calls apart by their caller want to know
    /// the program's.
    #[inline(always)]
    pub fn is_called_from_outside_on<P: Path>(&self, caller: Caller) {
        let level = self.level(0).as_noted();
        let is_in_fortran = P::IS_SITED && level.fortran_layer == caller.address();
        self.set_lowest_caller(if is_in_fortran { level.fortran_caller } else { caller.address() });
    }

    /// The same of a Fortran call that is counted by the C function, which the library's Fortran layer calls from an address of its own.
    #[inline(always)]
    pub fn is_called_in_fortran_by(&self, caller: Caller, layer: u64) {
        self.level(0).set_fortran_caller(caller.address(), layer);
    }

    /// The call that begins will take a level.
    #[inline(always)]
    pub fn is_called_by(&self, caller: Caller) {
        self.caller.set(caller.address());
    }

    /// Where a call that has taken no level yet was called.
    pub fn caller(&self) -> u64 {
        self.caller.get()
    }

    /// Where the latest call that has taken no level yet was called; what calls itself has no caller.
    #[inline(always)]
    pub fn take_caller(&self) -> u64 {
        self.caller.take()
    }

    /// The lowest level, whatever a compiler has in a register.
    #[inline(always)]
    pub fn lowest_again(&self) -> Level {
        // SAFETY: reads a field of this very struct.
        let address = unsafe { (&raw const self.first).read_volatile() };
        Level(ptr::with_exposed_provenance_mut(address))
    }

    /// Where the call was made that has just returned, or of which it is known by the path that there is none around it.
    #[inline(always)]
    pub fn caller_on<P: Path>(&self, operation: u16) -> u64 {
        if P::IS_SHORT { self.level(0).as_noted().caller } else { self.caller_of(operation) }
    }

    /// What tells the calls of the path apart: where they were made, where that is counted, or 0.
    #[inline(always)]
    pub fn caller_to_tell_apart<P: Path>(&self) -> u64 {
        if P::IS_SITED { self.level(0).as_noted().caller } else { 0 }
    }

    /// A call is made within so many others: the innermost of these keeps what was counted before the first such call.
    pub fn is_made_within(&self, depth: usize, counted_ticks: u64) {
        if let Some(outer) = depth.checked_sub(1) {
            let begin_ticks = self.level(outer).noted().begin_ticks;
            if self.counted_within[outer].get().0 != begin_ticks {
                self.counted_within[outer].set((0, counted_ticks));
                in_order();
                self.counted_within[outer].set((begin_ticks, counted_ticks));
            }
        }
    }

    /// A call that takes no level is being counted.
    pub fn is_apart(&self, operation: u16, caller: u64) {
        self.apart.set((operation, caller));
    }

    /// Where a call of this operation was made, which has just returned or does not return; 0 where that is not known.
    pub fn caller_of(&self, operation: u16) -> u64 {
        let depth = self.depth();
        // One that goes on with what it has looked at is still there; another one has left its level.
        let (free, taken) = (Some(depth).filter(|depth| *depth < IN_FLIGHT_LEVELS), depth.checked_sub(1));
        let stays = taken.is_some_and(|taken| self.level(taken).begin() == ABOUT_TO_BEGIN);
        let levels = if stays { [taken, free] } else { [free, taken] };
        let noted = levels.into_iter().flatten().map(|level| self.level(level).noted());
        let is_it = |call: &InFlightCall| (call.word >> 16) as u16 == operation && call.begin_ticks != 0;
        let (apart, caller) = self.apart.get();
        noted.into_iter().find(is_it).map_or(if apart == operation { caller } else { 0 }, |call| call.called_from())
    }

    /// Where a hook module reads the two outer levels.
    pub fn address(&self) -> *const InFlightCall {
        self.first()
    }

    /// The thread's number.
    pub fn thread(&self) -> u32 {
        // SAFETY: the entry is this thread's, and never freed.
        unsafe { (*self.first()).thread }
    }

    /// The call that the thread is in, the innermost if a callback made another one.
    #[inline(always)]
    pub fn innermost(&self) -> Option<&InFlightCall> {
        let at = |level| self.level(level);
        let mut innermost = at(0);
        if !innermost.is_inside() {
            return None;
        }
        for level in (1..IN_FLIGHT_LEVELS).map(at).take_while(|level| level.is_inside()) {
            innermost = level;
        }
        Some(innermost.as_noted())
    }

    /// How many calls the thread is in, one in the other.
    pub fn depth(&self) -> usize {
        (0..IN_FLIGHT_LEVELS).take_while(|level| self.level(*level).is_inside()).count()
    }

    /// Whether the thread is still in the call with this begin.
    pub fn is_inside(&self, begin_ticks: u64) -> bool {
        (0..IN_FLIGHT_LEVELS)
            .map(|level| self.level(level))
            .any(|level| level.is_inside() && level.noted().begin_ticks == begin_ticks)
    }

    /// A thread begins to be seen, or ends (0).
    pub fn set(&self, now_ticks: u64) {
        for level in 0..IN_FLIGHT_LEVELS {
            let place = self.level(level);
            place.set_begin(0);
            place.set_end(if level == 0 { now_ticks } else { 0 });
        }
    }
}

/// Room for all levels of a thread. None where there is no memory for it.
fn first_level(thread: usize) -> Option<*mut InFlightCall> {
    let empty = |level| InFlightCall {
        word: 0,
        comm: 0,
        begin_ticks: 0,
        end_ticks: 0,
        thread: thread as u32,
        level: level as u32,
        caller: 0,
        fortran_caller: 0,
        fortran_layer: 0,
    };
    let levels: [InFlightCall; IN_FLIGHT_LEVELS] = std::array::from_fn(empty);
    match shard::block(IN_FLIGHT_CALLS, BLOCK_HEADER_BYTES + size_of_val(&levels)) {
        // SAFETY: the block has room for these entries behind its header, and belongs to nobody else.
        Some(block) => unsafe {
            let first = (block.as_ptr() as usize + BLOCK_HEADER_BYTES) as *mut InFlightCall;
            first.cast::<[InFlightCall; IN_FLIGHT_LEVELS]>().write(levels);
            (*block.as_ptr()).used = IN_FLIGHT_LEVELS as u32;
            Some(first)
        },
        // Without room in the shard nobody reads it; so the hot path needs no test.
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
    pub fn is_inside(self) -> bool {
        // SAFETY: the entry is this thread's, and never freed.
        unsafe { InFlightCall::is_inside((*self.0).begin_ticks, (*self.0).end_ticks) }
    }

    /// When the call that it notes began.
    #[inline(always)]
    pub fn begin(self) -> u64 {
        // SAFETY: as above.
        unsafe { (&raw const (*self.0).begin_ticks).read_volatile() }
    }

    /// The same, and the handle that it was given.
    #[inline(always)]
    pub fn begin_and_comm(self) -> (u64, Word) {
        // SAFETY: as above.
        unsafe {
            ((&raw const (*self.0).begin_ticks).read_volatile(), (&raw const (*self.0).comm).read_volatile() as Word)
        }
    }

    #[inline(always)]
    pub fn set_caller(self, caller: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).caller).write_volatile(caller) };
    }

    #[inline(always)]
    fn set_fortran_caller(self, caller: u64, layer: u64) {
        // SAFETY: as above.
        unsafe {
            (&raw mut (*self.0).fortran_caller).write_volatile(caller);
            (&raw mut (*self.0).fortran_layer).write_volatile(layer);
        }
    }

    #[inline(always)]
    fn set_begin(self, begin_ticks: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).begin_ticks).write_volatile(begin_ticks) };
    }

    /// A call will begin here: whatever a handler of a signal calls from now on is a call within it.
    #[inline(always)]
    pub fn take(self) {
        self.set_begin(ABOUT_TO_BEGIN);
    }

    /// The call that was about to begin does not.
    pub fn give_back(self) {
        self.set_begin(0);
    }

    #[inline(always)]
    pub fn set_end(self, end_ticks: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).end_ticks).write_volatile(end_ticks) };
    }

    /// A call begins.
    #[inline(always)]
    pub fn fill<P: Path>(self, operation: u16, is_handle: bool, comm: u64, begin_ticks: u64) {
        let word = InFlightCall::word(operation, is_handle, begin_ticks);
        // SAFETY: as above.
        unsafe {
            (&raw mut (*self.0).comm).write_volatile(comm);
            let place = &raw mut (*self.0).word;
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
        if !P::IS_SHORT || !clock::NEVER_REPEATS {
            self.set_end(0);
        }
    }

    /// The call, as it was noted.
    pub fn noted(self) -> InFlightCall {
        // SAFETY: as above.
        unsafe { *self.0 }
    }

    #[inline(always)]
    pub fn as_noted<'a>(self) -> &'a InFlightCall {
        // SAFETY: as above; only its thread writes it.
        unsafe { &*self.0 }
    }
}
