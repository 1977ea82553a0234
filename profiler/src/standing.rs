//! Where a thread stands: the call that it is in is in the shard before the library is called, so that a job that hangs or is
//! killed leaves word of it. Each thread writes cache lines of its own.
//!
//! What it costs a call: before it, one load, one compare and four stores, after it one store, and a look at whether there is a
//! timeline. The communicator stands there as
//! the program's handle: what that means is looked up by whoever reads it.
//!
//! A program may leave a call otherwise than by its return. By an exception, or by the end of its thread: then the way out leads
//! through the wrapper, which a value to be dropped there costs nothing as long as nobody comes that way ([`Inside`]). Or by
//! `longjmp`, of which nobody is told: the thread's next call finds the place taken, compares stack pointers, and ends the call that
//! was left. So the stack pointer is the fourth word that is stored. A call that was left counts as one that failed.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use vocabulary::shard::{BLOCK_HEADER_BYTES, NO_COMM, STANDING_LEVELS, STANDINGS, Standing};

use crate::abi::Word;
use crate::communicators::{self, Record};
use crate::guard::caught;
use crate::thread::Thread;
use crate::{clock, memory, requests, shard, tally, trace};

/// The lowest of the places of one thread.
pub struct Places(*mut Standing);

impl Places {
    /// None where there is no memory for it.
    pub fn new(thread: usize) -> Option<Places> {
        let empty = |level| Standing {
            word: 0,
            comm: 0,
            begin_ticks: 0,
            end_ticks: 0,
            thread: thread as u32,
            level: level as u32,
            reserved: [0; 6],
        };
        let levels: [Standing; STANDING_LEVELS] = std::array::from_fn(empty);
        match shard::block(STANDINGS, BLOCK_HEADER_BYTES + size_of_val(&levels)) {
            // SAFETY: the block has room for these entries behind its header, and belongs to nobody else.
            Some(block) => unsafe {
                let first = (block.as_ptr() as usize + BLOCK_HEADER_BYTES) as *mut Standing;
                first.cast::<[Standing; STANDING_LEVELS]>().write(levels);
                (*block.as_ptr()).used = STANDING_LEVELS as u32;
                Some(Places(first))
            },
            // Without room in the shard nobody reads it; so the hot path needs no test.
            None => {
                let place = memory::array::<[Standing; STANDING_LEVELS]>(1)?.as_ptr();
                // SAFETY: room for it, which belongs to nobody else.
                unsafe { place.write(levels) };
                Some(Places(place.cast()))
            }
        }
    }

    /// The thread's number.
    pub fn thread(&self) -> u32 {
        // SAFETY: the entry is this thread's, and never freed.
        unsafe { (*self.0).thread }
    }

    /// The call that the thread is in, the innermost if a callback made another one.
    #[inline(always)]
    pub fn innermost(&self) -> Option<Standing> {
        // SAFETY: there are so many, and they are this thread's.
        let at = |level| Place(unsafe { self.0.add(level) });
        let mut place = at(0);
        if !place.is_inside() {
            return None;
        }
        for level in (1..STANDING_LEVELS).map(at).take_while(|place| place.is_inside()) {
            place = level;
        }
        // SAFETY: as above.
        Some(unsafe { *place.0 })
    }

    /// Whether the thread is still in the call with this begin.
    pub fn are_inside(&self, begin_ticks: u64) -> bool {
        // SAFETY: there are so many, and they are this thread's.
        let at = |level| Place(unsafe { self.0.add(level) });
        (0..STANDING_LEVELS).map(at).any(|place| place.is_inside() && place.standing().begin_ticks == begin_ticks)
    }

    /// A thread begins to be seen, or ends (0).
    pub fn set(&self, now_ticks: u64) {
        for level in 0..STANDING_LEVELS {
            // SAFETY: there are so many, and they are this thread's.
            let place = Place(unsafe { self.0.add(level) });
            place.set_begin(0);
            place.set_end(if level == 0 { now_ticks } else { 0 });
        }
    }
}

/// Where one call is noted. The words are written one by one: a reader may come, or the process end, between them.
#[derive(Clone, Copy)]
pub struct Place(*mut Standing);

impl Place {
    #[inline(always)]
    fn is_inside(self) -> bool {
        // SAFETY: the entry is this thread's, and never freed.
        unsafe { Standing::is_inside((*self.0).begin_ticks, (*self.0).end_ticks) }
    }

    #[inline(always)]
    fn set_begin(self, begin_ticks: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).begin_ticks).write_volatile(begin_ticks) };
    }

    #[inline(always)]
    fn set_end(self, end_ticks: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).end_ticks).write_volatile(end_ticks) };
    }

    #[inline(always)]
    fn fill(self, word: u64, comm: u64, begin_ticks: u64) {
        // SAFETY: as above.
        unsafe {
            (&raw mut (*self.0).comm).write_volatile(comm);
            (&raw mut (*self.0).word).write_volatile(word);
        }
        self.set_begin(begin_ticks);
    }

    /// The call, as it was noted.
    fn standing(self) -> Standing {
        // SAFETY: as above.
        unsafe { *self.0 }
    }
}

/// A call that the thread is in. Dropped where the program leaves it by an exception or by the end of its thread.
pub struct Inside<'a> {
    thread: &'a Thread,
    place: Place,
}

impl Drop for Inside<'_> {
    // Inlined, so that its parts stay in registers.
    #[inline(always)]
    fn drop(&mut self) {
        left(self.thread, self.place);
    }
}

#[cold]
#[inline(never)]
fn left(thread: &Thread, place: Place) {
    caught(|| {
        let end_ticks = clock::now();
        place.set_end(end_ticks);
        let standing = place.standing();
        if trace::is_on() {
            trace::call(&standing, end_ticks);
        }
        requests::looked(thread);
        // Without that of the calls that were made in it, which are counted themselves.
        let within = thread.counted_within.get(standing.level as usize).map(Cell::get);
        let within = within.filter(|(begin_ticks, _)| *begin_ticks == standing.begin_ticks);
        let counted = within.map_or(0, |(_, before)| thread.counted_ticks.get().wrapping_sub(before));
        let ticks = end_ticks.wrapping_sub(standing.begin_ticks).saturating_sub(counted);
        tally::left(thread, number_of(&standing), operation_of(&standing), ticks);
    });
}

fn operation_of(standing: &Standing) -> u16 {
    (standing.word >> 16) as u16
}

fn number_of(standing: &Standing) -> u32 {
    if !standing.is_of_handle() {
        return standing.comm as u32;
    }
    // SAFETY: records are never freed.
    unsafe { (*communicators::known(standing.comm as Word)).number }
}

#[inline(always)]
fn place(thread: &Thread) -> Place {
    let lowest = Place(thread.places.0);
    if lowest.is_inside() {
        return above(thread, stack_pointer());
    }
    note_frame(thread);
    lowest
}

/// The program's callbacks (of attributes, reductions, errors) may call MPI themselves, or it has jumped out of a call.
#[cold]
#[inline(never)]
fn above(thread: &Thread, frame: usize) -> Place {
    // SAFETY: a thread has so many places.
    let at = |level| Place(unsafe { thread.places.0.add(level) });
    let mut free = STANDING_LEVELS - 1;
    for level in 0..STANDING_LEVELS {
        if !at(level).is_inside() {
            free = level;
            break;
        }
        if is_left(thread, thread.frames[level].get(), frame) {
            end_from(thread, level, |of| is_left(thread, of, frame));
            free = level;
            break;
        }
    }
    thread.frames[free].set(frame);
    if let Some(outer) = free.checked_sub(1) {
        let begin_ticks = at(outer).standing().begin_ticks;
        if thread.counted_within[outer].get().0 != begin_ticks {
            thread.counted_within[outer].set((begin_ticks, thread.counted_ticks.get()));
        }
    }
    at(free)
}

/// Two stack pointers that lie closer may be those of two wrappers that were called from one place: no wrapper needs more.
const LARGEST_FRAME_BYTES: usize = 1024;
/// One of so many calls that seem to be made within another is looked at closely.
const NESTED_UNSEEN: u32 = 256;

/// Whether the program has jumped out of the call that had one stack pointer, as a call tells that has another one. What was called
/// from within lies below.
fn is_left(thread: &Thread, outer: usize, frame: usize) -> bool {
    if outer == 0 {
        return false;
    }
    thread.nested.set(thread.nested.get().wrapping_add(1));
    frame >= outer
        || (outer - frame <= LARGEST_FRAME_BYTES || thread.nested.get().is_multiple_of(NESTED_UNSEEN))
            && !is_on_stack(outer)
}

/// The calls of a level and of those above it have been left.
fn end_from(thread: &Thread, level: usize, is_left: impl Fn(usize) -> bool) {
    caught(|| {
        thread.dying.revive(is_left);
        requests::looked(thread);
        for level in level..STANDING_LEVELS {
            // SAFETY: a thread has so many places.
            let place = Place(unsafe { thread.places.0.add(level) });
            if place.is_inside() {
                let standing = place.standing();
                // Nobody knows when. The call that finds this out has begun already, and must not seem to have ended.
                place.set_end(standing.begin_ticks);
                tally::left(thread, number_of(&standing), operation_of(&standing), 0);
            }
        }
    });
}

/// The thread ends, and so do all calls that it has not returned from.
pub fn end_all(thread: &Thread) {
    end_from(thread, 0, |_| true);
}

/// Whether one of the functions that are being executed has this stack pointer, or a few arguments of a call below it. True where the
/// stack cannot be read so far.
fn is_on_stack(stack_pointer: usize) -> bool {
    const MOST_ARGUMENTS_BYTES: usize = 128;

    struct Search {
        wanted: usize,
        is_found: bool,
        is_passed: bool,
    }

    type Context = c_void;
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            step: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int,
            search: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetCFA(context: *mut Context) -> usize;
    }
    unsafe extern "C" fn step(context: *mut Context, search: *mut c_void) -> c_int {
        const CONTINUE: c_int = 0;
        const STOP: c_int = 4;
        // SAFETY: passed below; the context is valid during the call.
        let (search, pointer) = unsafe { (&mut *search.cast::<Search>(), _Unwind_GetCFA(context)) };
        search.is_passed |= pointer > search.wanted;
        search.is_found |= !search.is_passed && search.wanted - pointer <= MOST_ARGUMENTS_BYTES;
        if search.is_passed { STOP } else { CONTINUE }
    }
    let mut search = Search { wanted: stack_pointer, is_found: false, is_passed: false };
    // SAFETY: the search outlives the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut search).cast()) };
    search.is_found || !search.is_passed
}

pub use commsee_runtime::stack::pointer as stack_pointer;

/// One instruction where the machine has one for it.
#[inline(always)]
fn note_frame(thread: &Thread) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes this thread's own field.
    unsafe {
        std::arch::asm!(
            "mov qword ptr [{thread} + {frames}], rsp",
            thread = in(reg) thread,
            frames = const std::mem::offset_of!(Thread, frames),
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    thread.frames[0].set(stack_pointer());
}

/// The thread is about to enter a call that is given this handle of a communicator, which may be none at all.
#[inline(always)]
pub fn enter(thread: &Thread, comm: Word, operation: u16, begin_ticks: u64) -> Inside<'_> {
    let place = place(thread);
    place.fill(Standing::word(operation, true, begin_ticks), comm as u64, begin_ticks);
    Inside { thread, place }
}

/// The same where the communicator is known by its record.
#[inline(always)]
pub fn enter_over(thread: &Thread, record: Record, operation: u16, begin_ticks: u64) -> Inside<'_> {
    // SAFETY: records are never freed.
    let number = if record.is_null() { NO_COMM } else { unsafe { (*record).number } };
    let place = place(thread);
    place.fill(Standing::word(operation, false, begin_ticks), number.into(), begin_ticks);
    Inside { thread, place }
}

/// The thread is in a call whose return nobody will see any more.
pub fn stay(thread: &Thread, record: Record, operation: u16, begin_ticks: u64) {
    std::mem::forget(enter_over(thread, record, operation, begin_ticks));
}

/// The call has returned.
#[inline(always)]
pub fn leave(inside: Inside, end_ticks: u64) {
    let place = inside.place;
    std::mem::forget(inside);
    place.set_end(end_ticks);
    if trace::is_on() {
        // SAFETY: as above.
        trace::call(unsafe { &*place.0 }, end_ticks);
    }
}
