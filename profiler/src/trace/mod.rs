//! The timeline, where `COMMSEE_TRACE` asks for it: calls, messages and what hook modules tell, as events in blocks of the shard.
//! Each thread writes its own. When all together have the size that was asked for, a thread overwrites its oldest block.

mod clocks;

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use commsee_hook::Call;
use vocabulary::calls::{CALLS, Class};
use vocabulary::shard::{CALL, Event, InFlightCall, LAYER, RECEIVED, REMOTE_RANK, SENT};

use crate::guest::state;
use crate::mpi::status;
use crate::objects::communicators::Record;
use crate::sites;
use crate::thread::tracer::{self, Tracer};
use crate::thread::{self, Thread};

pub use clocks::{Partner, compare};

/// Receives that were posted so far.
static POSTED: AtomicU32 = AtomicU32::new(0);

/// From now on events are written, until they take so many bytes.
pub fn start(bytes: u64) {
    tracer::allow(bytes);
    if bytes > 0 {
        state::want_more();
    }
}

#[inline(always)]
pub fn is_on() -> bool {
    tracer::is_wanted()
}

fn tracer(thread: &Thread) -> Option<&Tracer> {
    if state::is_on() { thread.tracer.get(thread.in_flight.thread()) } else { None }
}

/// A call has returned.
#[cold]
#[inline(never)]
pub fn call(thread: &Thread, call: &InFlightCall, end_ticks: u64) {
    let Some(tracer) = tracer(thread) else { return };
    tracer.write_call(Event {
        begin_ticks: call.begin_ticks,
        end_ticks,
        bytes: 0,
        cause_ticks: 0,
        comm: tracer.communicator(call),
        operation: (call.word >> 16) as u16,
        kind: CALL,
        reserved: call.level as u8,
        route: 0,
        peer: if sites::are_counted() { sites::of_call(call.caller as usize) } else { 0 },
    });
}

/// The bytes of the call that has returned last, and its communicator, which may have been met with this call.
#[cold]
#[inline(never)]
pub fn volume(thread: &Thread, record: Record, operation: u16, bytes: u64) {
    if let Some(tracer) = tracer(thread) {
        // SAFETY: records are never freed.
        tracer.settle_call(unsafe { (*record).number }, sequence(record, operation), bytes);
    }
}

/// The number of a collective call among those on its communicator; 0 is none. Ranks that pause counting at different places number
/// what follows differently.
fn sequence(record: Record, operation: u16) -> u32 {
    let call = CALLS.get(usize::from(operation));
    if !call.is_some_and(|call| matches!(call.class, Class::Collective | Class::Neighborhood)) {
        return 0;
    }
    // SAFETY: records are never freed. A communicator has one such call at a time, unless the program breaks the rules.
    let collectives = unsafe { AtomicU32::from_ptr(&raw mut (*record).collectives) };
    collectives.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// The tag of what the call that has returned last sends.
#[cold]
#[inline(never)]
pub fn set_tag(thread: &Thread, tag: c_int) {
    if let Some(tracer) = tracer(thread) {
        tracer.tag.set(Some(tag));
    }
}

/// The tag that was set for this call, once.
#[cold]
#[inline(never)]
pub fn take_tag(thread: &Thread) -> Option<c_int> {
    tracer(thread)?.tag.take()
}

/// A message went out with the call that has returned last. Without a tag it is one that no receive of the program takes.
#[cold]
#[inline(never)]
pub fn sent(thread: &Thread, record: Record, operation: u16, tag: Option<c_int>, world_rank: u32, bytes: u64) {
    let (Some(tracer), Some(tag)) = (tracer(thread), tag) else { return };
    // SAFETY: records are never freed.
    let (comm, rank) = unsafe { ((*record).number, (*record).rank) };
    let begin_ticks = tracer.last_begin_ticks();
    tracer.write(Event {
        begin_ticks,
        end_ticks: Event::message(rank, tag),
        bytes,
        cause_ticks: begin_ticks,
        comm,
        operation,
        kind: SENT,
        reserved: 0,
        route: 0,
        peer: world_rank,
    });
}

/// The call that has returned last receives a message that was matched before: the number that it had then.
#[cold]
#[inline(never)]
pub fn set_posted(thread: &Thread, number: u32) {
    if let Some(tracer) = tracer(thread) {
        tracer.posted.set(number);
    }
}

/// The number of a receive that gets no message.
pub const NONE_POSTED: u32 = u32::MAX;

/// The number of a receive that is posted now.
#[cold]
#[inline(never)]
pub fn posted(thread: &Thread) -> u32 {
    if let Some(number) = tracer(thread).map(|tracer| tracer.posted.take()).filter(|number| *number > 0) {
        return number;
    }
    // 0 stays for receives that were posted before.
    POSTED.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// A message arrived with the call that has returned last.
#[cold]
#[inline(never)]
pub unsafe fn received(thread: &Thread, record: Record, operation: u16, posted: u32, status: usize, bytes: u64) {
    let Some(tracer) = tracer(thread).filter(|_| posted != NONE_POSTED) else { return };
    // SAFETY: the call has filled the status; records are never freed.
    let ((source, tag), comm) = unsafe { (status::source_and_tag(status), (*record).number) };
    // SAFETY: as above.
    if source < 0 || unsafe { status::is_cancelled(status) } {
        return;
    }
    tracer.write(Event {
        begin_ticks: posted.into(),
        end_ticks: Event::message(source as u32, tag),
        bytes,
        cause_ticks: tracer.last_begin_ticks(),
        comm,
        operation,
        kind: RECEIVED,
        reserved: 0,
        route: 0,
        peer: REMOTE_RANK,
    });
}

/// What a hook module tells.
/// `routed`: the route, in its context.
pub fn layer(call: &Call, routed: u32, peer: u32, bytes: u64, begin_ticks: u64, end_ticks: u64) {
    // Without MPI, layers alone are on.
    let thread = thread::of_run().filter(|_| state::layers_are_on());
    let Some(tracer) = thread.and_then(|thread| thread.tracer.get(thread.in_flight.thread())) else { return };
    tracer.write(Event {
        begin_ticks,
        end_ticks,
        bytes,
        cause_ticks: call.sequence,
        comm: call.comm,
        operation: call.operation,
        kind: LAYER,
        reserved: 0,
        route: routed,
        peer,
    });
}
