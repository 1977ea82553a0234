//! Persistent requests are started. On the short path a start is counted where the one before was, if none has changed since the look at
//! what it is given; all else takes the way apart.

use std::ffi::c_int;
use std::slice;

use vocabulary::calls::op;

use super::array::Handle;
use super::forward::timed;
use super::look::{Several, count, look_any};
use super::walk::involve_all;
use crate::guest::guard::recorded;
use crate::guest::short_path::{Full, Path};
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::requests::Noted;
use crate::objects::requests::slot::Slot;
use crate::record::in_flight::{self, Taken};
use crate::record::persistent::{self, Startall};
use crate::record::tally::{self, Done};
use crate::thread::Thread;

/// Whether starts may be counted at once. By call site they are counted apart.
const fn at_once<P: Path>() -> bool {
    P::IS_SHORT && !P::IS_SITED
}

pub unsafe fn MPI_Start<P: Path>(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes the place of a request.
    unsafe {
        match Idle::look::<P>(thread, request) {
            Some(idle) => idle.start::<P>(thread, request, forward),
            None => start_otherwise::<P>(thread, request, forward),
        }
    }
}

/// A persistent request that is not started, and the only one of its handle.
struct Idle {
    slot: *mut Slot,
    record: Record,
    /// How often requests have changed by then.
    changes: u64,
}

impl Idle {
    #[inline(always)]
    unsafe fn look<P: Path>(thread: &Thread, request: Word) -> Option<Idle> {
        if !at_once::<P>() || request == 0 {
            return None;
        }
        let mut requests = thread.requests().enter()?;
        let mut requests = requests.held();
        // SAFETY: the program passes the place of a request.
        let slot = requests.idle(unsafe { abi().load_on::<P>(request) })?;
        Some(Idle { slot, record: slot.comm, changes: thread.requests().changed_so_far() })
    }

    #[inline(always)]
    unsafe fn start<P: Path>(self, thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
        let done = timed!(P, thread, self.record, MPI_Start, forward());
        recorded(move || {
            if done.code == 0
                && self.changes == thread.requests().changed_so_far()
                && let Some(mut requests) = thread.requests().enter()
            {
                let mut requests = requests.held();
                // SAFETY: nothing has changed.
                if let Some((slot, persistent)) = unsafe { requests.persistent(self.slot) } {
                    thread.requests().changed();
                    return persistent::restarted::<P>(thread, slot, persistent, done.ticks);
                }
            }
            // SAFETY: as above; a start leaves the handle as it is.
            started_otherwise(thread, unsafe { abi().load(request) }, self.record, done);
        });
        done.code
    }
}

#[inline(never)]
unsafe fn start_otherwise<P: Path>(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes the place of a request.
    let (handle, record, _) = unsafe { look_any(thread, request) };
    let done = timed!(P, thread, record, MPI_Start, forward());
    recorded(move || {
        started_otherwise(thread, handle, record, done);
        thread.looked::<P>();
    });
    done.code
}

/// A call that failed, or that started what is not known, is counted as one that carries nothing.
#[cold]
#[inline(never)]
fn started_otherwise(thread: &Thread, handle: Word, record: Record, done: Done) {
    let is_known = done.code == 0
        && thread.requests().activate(handle, |slot, persistent| match state::is_on() {
            true => persistent::restarted::<Full>(thread, slot, persistent, done.ticks),
            false => persistent::restarted_uncounted(slot),
        });
    if !is_known && state::is_on() {
        tally::plain(thread, record, done);
    }
}

pub unsafe fn MPI_Startall<P: Path>(
    thread: &Thread,
    length: c_int,
    array: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the program passes an array of so many requests.
    unsafe {
        let taken = in_flight::take::<P>(thread);
        match IdleOnes::look::<P>(thread, length, array) {
            Some(idle) => idle.start::<P>(thread, taken, forward),
            None if P::IS_SHORT => start_all_apart::<P>(thread, length, array, forward),
            None => start_all_otherwise::<P>(thread, taken, length, array, forward),
        }
    }
}

/// Persistent requests, none of them started, each the only one of its handle.
struct IdleOnes<'a> {
    noted: &'a [Noted],
    /// Whose they are; the row `*` where they are of several.
    record: Record,
    are_of_several: bool,
    /// What their starts send and receive, as far as it is known.
    volume: (u64, u64),
    changes: u64,
}

impl<'a> IdleOnes<'a> {
    #[inline(always)]
    unsafe fn look<P: Path>(thread: &'a Thread, length: c_int, array: Word) -> Option<IdleOnes<'a>> {
        if !at_once::<P>() || array == 0 || length <= 0 {
            return None;
        }
        // SAFETY: as demanded of this one.
        unsafe {
            match abi().handle_bytes_on::<P>() {
                4 => IdleOnes::look_at(thread, array as *const u32, length as usize),
                _ => IdleOnes::look_at(thread, array as *const u64, length as usize),
            }
        }
    }

    #[inline(always)]
    unsafe fn look_at<H: Handle>(thread: &'a Thread, array: *const H, length: usize) -> Option<IdleOnes<'a>> {
        let look = thread.looks.at(0);
        look.forget();
        let first = look.noted(length);
        if first.is_null() {
            return None;
        }
        let mut requests = thread.requests().enter()?;
        let mut requests = requests.held();
        let (mut record, mut difference): (Record, usize) = (std::ptr::null_mut(), 0);
        let mut volume = (0u64, 0u64);
        for index in 0..length {
            // SAFETY: the program passes an array of so many handles.
            let handle = unsafe { array.add(index).read_unaligned() }.word();
            let slot: *mut Slot = requests.idle(handle)?;
            // SAFETY: found just now.
            let (slot, persistent) = unsafe { requests.persistent(slot) }?;
            if index == 0 {
                record = slot.comm;
            }
            difference |= slot.comm.addr() ^ record.addr();
            volume = (volume.0.wrapping_add(persistent.sent), volume.1.wrapping_add(persistent.received));
            // SAFETY: there is room for as many.
            unsafe { first.add(index).write(Noted::of_idle(handle, slot, persistent, index)) };
        }
        // SAFETY: so many were written, and nobody else writes there before this call has returned.
        let noted = unsafe { slice::from_raw_parts(first, length) };
        let are_of_several = difference != 0;
        if are_of_several {
            // SAFETY: noted just now.
            involve_all(thread, op::MPI_Startall, noted.iter().map(|noted| unsafe { noted.idle() }.0.comm));
            record = communicators::several();
        }
        Some(IdleOnes { noted, record, are_of_several, volume, changes: thread.requests().changed_so_far() })
    }

    #[inline(always)]
    unsafe fn start<P: Path>(self, thread: &Thread, taken: Taken, forward: impl FnOnce() -> c_int) -> c_int {
        let IdleOnes { noted, record, are_of_several, volume, changes } = self;
        let done = timed!(P, thread staying at taken, record, MPI_Startall, forward());
        recorded(move || {
            let are_as_seen = done.code == 0 && changes == thread.requests().changed_so_far();
            let Some(_entered) = are_as_seen.then(|| thread.requests().enter()).flatten() else {
                return all_started_otherwise(thread, noted, record, done);
            };
            let call = persistent::restarted_all::<P>(thread, record, done, volume);
            // SAFETY: nothing has changed, and the table is entered.
            unsafe {
                match are_of_several {
                    true => restart_of_several::<P>(thread, noted, call, done.ticks),
                    false => restart_noted::<P, false>(thread, noted, call, done.ticks),
                }
            }
            thread.requests().changed();
        });
        taken.give_back::<P>(thread);
        done.code
    }
}

/// Idle requests were started together, after which the table has not changed, and is entered.
#[inline(always)]
unsafe fn restart_noted<P: Path, const OF_SEVERAL: bool>(
    thread: &Thread,
    noted: &[Noted],
    mut call: Startall,
    ticks: u64,
) {
    for noted in noted {
        // SAFETY: as demanded.
        let (slot, persistent) = unsafe { noted.idle() };
        persistent::restarted_among::<P, OF_SEVERAL>(thread, slot, persistent, &mut call, ticks);
    }
}

/// The same of several communicators, apart.
#[inline(never)]
unsafe fn restart_of_several<P: Path>(thread: &Thread, noted: &[Noted], call: Startall, ticks: u64) {
    // SAFETY: as demanded.
    unsafe { restart_noted::<P, true>(thread, noted, call, ticks) };
}

#[inline(never)]
unsafe fn start_all_apart<P: Path>(
    thread: &Thread,
    length: c_int,
    array: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: as demanded of this one.
    unsafe { start_all_otherwise::<P>(thread, in_flight::taken_on_short::<P>(thread), length, array, forward) }
}

#[inline(always)]
unsafe fn start_all_otherwise<P: Path>(
    thread: &Thread,
    taken: Taken,
    length: c_int,
    array: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the program passes an array of so many requests.
    let several = unsafe { Several::look::<P>(thread, taken, op::MPI_Startall, length, array, true) };
    let done = timed!(P, thread staying at taken, several.record, MPI_Startall, forward());
    recorded(move || {
        all_started_otherwise(thread, several.noted(), several.record, done);
    });
    several.leave::<P>(thread, taken);
    done.code
}

#[cold]
#[inline(never)]
fn all_started_otherwise(thread: &Thread, noted: &[Noted], record: Record, done: Done) {
    if done.code != 0 {
        count::<Full>(thread, record, done);
        return;
    }
    let mut call = state::is_on().then(|| {
        let volumes = noted.iter().filter_map(|noted| thread.requests().volume(noted.handle));
        let volume = volumes
            .fold((0u64, 0u64), |sum, (sent, received)| (sum.0.wrapping_add(sent), sum.1.wrapping_add(received)));
        persistent::restarted_all::<Full>(thread, record, done, volume)
    });
    for noted in noted {
        thread.requests().activate(noted.handle, |slot, persistent| match &mut call {
            Some(call) => {
                persistent::restarted_among::<Full, true>(thread, slot, persistent, call, done.ticks);
            }
            None => persistent::restarted_uncounted(slot),
        });
    }
}
