//! Where a thread stands: the call that it is in is in the shard before the library is called, so that a job that hangs or is
//! killed leaves word of it. Each thread writes cache lines of its own.
//!
//! What it costs a call: before it, two loads, one compare and seven stores, after it one store, and on the full path a look at whether
//! there is a timeline. The communicator stands there as the program's handle, and the caller as an address: what these mean is looked
//! up by whoever reads them. On the short path what the call was given is read from there when it has returned, so that fewer
//! registers have to be saved.
//!
//! A program may leave a call otherwise than by its return. By an exception, or by the end of its thread: then the way out leads
//! through the wrapper, which a value to be dropped there costs nothing as long as nobody comes that way ([`Inside`]). Or by
//! `longjmp`, of which nobody is told: the thread's next call finds the place taken, compares stack pointers, and ends the call that
//! was left. A call that was left counts as one that failed.
//!
//! A handler of a signal may call MPI at any instruction of this, whether or not the standard allows it. So a call takes its place by the
//! first word that it stores, and the stack pointer is the second: the handler's call finds the place taken, and takes the next one.
//! One over several requests takes its place before it looks at them, and gives it back when it has dealt with them: what a thread has found in an
//! array is kept by level.

use std::cell::Cell;
use std::marker::PhantomData;

use commsee_runtime::stack::is_in_handler;
use vocabulary::shard::{ABOUT_TO_BEGIN, IN_FLIGHT_LEVELS, InFlightCall, NO_COMM};

use crate::guest::guard::caught;
use crate::guest::short_path::{Full, Path};
use crate::guest::{clock, stack};
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::record::tally;
use crate::thread::Thread;
use crate::thread::in_flight::Level;
use crate::trace;

/// A call that the thread is in. Dropped where the program leaves it by an exception or by the end of its thread.
pub struct Inside<'a, P: Path> {
    thread: &'a Thread,
    level: Level,
    path: PhantomData<P>,
}

impl<P: Path> Inside<'_, P> {
    /// On the short path it is found again, since a register for it would have to be saved.
    #[inline(always)]
    fn level(&self) -> Level {
        if P::IS_SHORT { self.thread.in_flight.lowest_again() } else { self.level }
    }
}

impl<P: Path> Drop for Inside<'_, P> {
    // Inlined, so that its parts stay in registers.
    #[inline(always)]
    fn drop(&mut self) {
        left(self.thread, self.level());
    }
}

#[cold]
#[inline(never)]
fn left(thread: &Thread, level: Level) {
    caught(|| {
        let end_ticks = clock::now();
        level.set_end(end_ticks);
        let noted = level.noted();
        if trace::is_on() {
            trace::call(thread, &noted, end_ticks);
        }
        // Without that of the calls that were made in it, which are counted themselves.
        let within = thread.in_flight.counted_within.get(noted.level as usize).map(Cell::get);
        let within = within.filter(|(begin_ticks, _)| *begin_ticks == noted.begin_ticks);
        let counted = within.map_or(0, |(_, before)| thread.counters.counted_ticks.get().wrapping_sub(before));
        let ticks = end_ticks.wrapping_sub(noted.begin_ticks).saturating_sub(counted);
        tally::left(thread, number_of(&noted), operation_of(&noted), ticks);
    });
}

fn operation_of(call: &InFlightCall) -> u16 {
    (call.word >> 16) as u16
}

fn number_of(call: &InFlightCall) -> u32 {
    if !call.is_of_handle() {
        return call.comm as u32;
    }
    // SAFETY: records are never freed.
    unsafe { (*communicators::known(call.comm as Word)).number }
}

/// A handle is about to lose its meaning: calls that were noted with it are noted by the record's number from now on. Those are calls that
/// the program has left, unnoticed so far.
#[cold]
#[inline(never)]
pub fn outlast_handle(thread: &Thread, handle: Word, record: Record) {
    for level in (0..IN_FLIGHT_LEVELS).map(|level| thread.in_flight.level(level)) {
        let noted = level.noted();
        let has_begun = noted.begin_ticks != ABOUT_TO_BEGIN;
        if level.is_inside() && has_begun && noted.is_of_handle() && (noted.comm as Word ^ handle) & abi().mask == 0 {
            // SAFETY: records are never freed.
            level.fill::<Full>(operation_of(&noted), false, unsafe { (*record).number }.into(), noted.begin_ticks);
        }
    }
}

/// The level that a call has taken. One that looks at what it is given takes it before: a handler of a signal that calls meanwhile finds the thread in a
/// call, and looks at a level of its own.
#[derive(Clone, Copy)]
pub struct Taken {
    level: Level,
    /// `IN_FLIGHT_LEVELS` where none was free, and it shares the highest.
    number: usize,
}

impl Taken {
    /// On the short path that is the lowest, which is found again: a register for it would have to be saved.
    #[inline(always)]
    fn level<P: Path>(self, thread: &Thread) -> Level {
        if P::IS_SHORT { thread.in_flight.lowest_again() } else { self.level }
    }

    /// The level, in the function that forwards the call. On the short path another one may have taken it.
    #[inline(always)]
    pub fn level_here<P: Path>(self, thread: &Thread) -> Level {
        if P::IS_SHORT {
            note_frame(thread);
        }
        self.level::<P>(thread)
    }

    #[inline(always)]
    pub fn number<P: Path>(self) -> usize {
        if P::IS_SHORT { 0 } else { self.number }
    }

    /// What the call has looked at is needed no more.
    #[inline(always)]
    pub fn give_back<P: Path>(self, thread: &Thread) {
        self.level::<P>(thread).give_back();
    }
}

#[inline(always)]
pub fn free_level<P: Path>(thread: &Thread) -> Level {
    let level = take::<P>(thread).level;
    if P::IS_SHORT {
        note_frame(thread);
    }
    level
}

/// A call takes its level. On the short path its stack pointer is still to be noted there.
#[inline(always)]
pub fn take<P: Path>(thread: &Thread) -> Taken {
    let lowest = Taken { level: thread.in_flight.level(0), number: 0 };
    // On the short path the thread is outside.
    if P::IS_SHORT {
        lowest.level.take();
        return lowest;
    }
    let caller = thread.in_flight.take_caller();
    let taken = match lowest.level.is_inside() {
        true => above(thread, stack::pointer(), caller as usize),
        false => {
            lowest.level.take();
            note_frame(thread);
            lowest
        }
    };
    taken.level.set_caller(caller);
    taken
}

/// The program's callbacks (of attributes, reductions, errors) may call MPI themselves, or it has jumped out of a call.
#[cold]
#[inline(never)]
fn above(thread: &Thread, frame: usize, caller: usize) -> Taken {
    let number = end_left_by(thread, frame, caller, !thread.in_flight.is_looked_at.take());
    let place = number.min(IN_FLIGHT_LEVELS - 1);
    let level = thread.in_flight.level(place);
    level.take();
    thread.in_flight.frames[place].set(frame);
    thread.in_flight.is_made_within(place, thread.counters.counted_ticks.get());
    Taken { level, number }
}

/// Ends the calls that the program has jumped out of, before one that looks at requests does so: when they end, so does what was looked at.
#[inline(always)]
pub fn end_left<P: Path>(thread: &Thread) {
    // On the short path the thread is outside.
    if !P::IS_SHORT && thread.in_flight.level(0).is_inside() {
        end_left_by(thread, stack::pointer(), thread.in_flight.caller() as usize, true);
        thread.in_flight.is_looked_at.set(true);
    }
}

/// The same, as a call with this stack pointer tells, which returns to `caller` (0: not known). With `samples` some calls look closely that
/// need not. Returns the level that is free then, or `IN_FLIGHT_LEVELS`.
#[cold]
#[inline(never)]
fn end_left_by(thread: &Thread, frame: usize, caller: usize, samples: bool) -> usize {
    let is_left = |outer| is_left(thread, outer, (frame, caller), samples);
    for level in 0..IN_FLIGHT_LEVELS {
        if !thread.in_flight.level(level).is_inside() {
            return level;
        }
        // What stands there between the two first words of a call is an older stack pointer.
        let is_level_left = match thread.in_flight.level(level).begin() == ABOUT_TO_BEGIN {
            true => !is_in_handler(),
            false => is_left(thread.in_flight.frames[level].get()),
        };
        if is_level_left {
            end_from(thread, level, is_left);
            return level;
        }
    }
    IN_FLIGHT_LEVELS
}

/// Two stack pointers that lie closer may be those of two wrappers that were called from one place: none needs more than two thirds of it.
const LARGEST_FRAME_BYTES: usize = 1536;
/// One of so many calls that seem to be made within another is looked at closely.
const NESTED_UNSEEN: u32 = 256;

/// Whether the program has jumped out of the call that had one stack pointer, as a call tells that has another one. What was called
/// from within lies below.
fn is_left(thread: &Thread, outer: usize, (frame, caller): (usize, usize), samples: bool) -> bool {
    if outer == 0 {
        return false;
    }
    let nested = thread.in_flight.nested.get().wrapping_add(u32::from(samples));
    thread.in_flight.nested.set(nested);
    frame >= outer
        || (outer - frame <= LARGEST_FRAME_BYTES || samples && nested.is_multiple_of(NESTED_UNSEEN))
            && !stack::is_executing(outer, frame, caller)
}

/// The calls of a level and of those above it have been left.
fn end_from(thread: &Thread, level: usize, is_left: impl Fn(usize) -> bool) {
    caught(|| {
        thread.communicators.freeing.revive(is_left);
        // The innermost first: where a call was made is looked for at the level of the innermost that goes on.
        for level in (level..IN_FLIGHT_LEVELS).rev() {
            let level = thread.in_flight.level(level);
            if level.is_inside() {
                let noted = level.noted();
                if noted.begin_ticks == ABOUT_TO_BEGIN {
                    level.give_back();
                    continue;
                }
                // Nobody knows when. The call that finds this out has begun already, and must not seem to have ended.
                level.set_end(noted.begin_ticks);
                tally::left(thread, number_of(&noted), operation_of(&noted), 0);
            }
        }
    });
}

/// The thread ends, or MPI does, and so do all calls that it has not returned from.
pub fn end_all(thread: &Thread) {
    end_from(thread, 0, |_| true);
}

/// One instruction where the machine has one for it.
#[inline(always)]
fn note_frame(thread: &Thread) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes this thread's own field.
    unsafe {
        std::arch::asm!(
            "mov qword ptr [{thread} + {frames}], rsp",
            thread = in(reg) thread,
            frames = const std::mem::offset_of!(Thread, in_flight.frames),
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    thread.in_flight.frames[0].set(stack::pointer());
}

/// The thread is about to enter a call that is given this handle of a communicator, which may be none at all.
#[inline(always)]
pub fn enter<P: Path>(thread: &Thread, level: Level, comm: Word, operation: u16, begin_ticks: u64) -> Inside<'_, P> {
    level.fill::<P>(operation, true, comm as u64, begin_ticks);
    Inside { thread, level, path: PhantomData }
}

/// The same where the communicator is known by its record.
#[inline(always)]
pub fn enter_over<P: Path>(
    thread: &Thread,
    level: Level,
    record: Record,
    operation: u16,
    begin_ticks: u64,
) -> Inside<'_, P> {
    // SAFETY: records are never freed.
    let number = if !P::IS_SHORT && record.is_null() { NO_COMM } else { unsafe { (*record).number } };
    level.fill::<P>(operation, false, number.into(), begin_ticks);
    Inside { thread, level, path: PhantomData }
}

/// The thread is in a call whose return nobody will see any more.
pub fn stay(thread: &Thread, record: Record, operation: u16, begin_ticks: u64) {
    std::mem::forget(enter_over::<Full>(thread, free_level::<Full>(thread), record, operation, begin_ticks));
}

/// The call has returned.
#[inline(always)]
pub fn leave<P: Path>(inside: Inside<P>, end_ticks: u64) {
    let (thread, level) = (inside.thread, inside.level());
    std::mem::forget(inside);
    level.set_end(end_ticks);
    if trace::is_on_in::<P>() {
        trace::call(thread, level.as_noted(), end_ticks);
    }
}

/// The same, and when it began: on the short path as it was noted.
#[inline(always)]
pub fn leave_begun<P: Path>(inside: Inside<P>, begin_ticks: u64, end_ticks: u64) -> u64 {
    if !P::IS_SHORT {
        leave::<P>(inside, end_ticks);
        return begin_ticks;
    }
    let level = inside.level();
    std::mem::forget(inside);
    let begin_ticks = level.begin();
    level.set_end(end_ticks);
    begin_ticks
}

/// The same, but the call goes on with what it has looked at, and so stays at its level, as one that is about to begin, until [`Taken::give_back`].
#[inline(always)]
pub fn leave_looking<P: Path>(inside: Inside<P>, begin_ticks: u64, end_ticks: u64) -> u64 {
    let (thread, level) = (inside.thread, inside.level());
    std::mem::forget(inside);
    let begin_ticks = if P::IS_SHORT { level.begin() } else { begin_ticks };
    if trace::is_on_in::<P>() {
        trace::call(thread, level.as_noted(), end_ticks);
    }
    level.take();
    level.set_end(end_ticks);
    begin_ticks
}

/// The same as [`leave_begun`], and the handle that the call was given: on the short path as they were noted.
#[inline(always)]
pub fn leave_as_noted<P: Path>(inside: Inside<P>, begin_ticks: u64, comm: Word, end_ticks: u64) -> (u64, Word) {
    if !P::IS_SHORT {
        leave::<P>(inside, end_ticks);
        return (begin_ticks, comm);
    }
    let level = inside.level();
    std::mem::forget(inside);
    let noted = level.begin_and_comm();
    level.set_end(end_ticks);
    noted
}
