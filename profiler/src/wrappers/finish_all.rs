//! What is left to do when a call has returned that completes all requests that it is given.

use std::ffi::c_int;
use std::ops::Range;
use std::slice;

use super::finish::{finish, finish_in_turn, finish_into, finish_where_null, peer};
use super::look::{Several, count};
use super::rest;
use crate::guest::guard::recorded;
use crate::guest::short_path::Path;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::Record;
use crate::objects::requests::slot;
use crate::objects::requests::{Held, Kind, Noted, State};
use crate::objects::shortcuts::Shortcut;
use crate::record::completed::{self, Completions, One, Ones};
use crate::record::tally::Done;
use crate::record::{in_flight, nonblocking};
use crate::thread::Thread;
use crate::thread::looks::Look;

impl Several<'_> {
    /// All requests of the call have completed. An error tells itself which have. `FREES`: the call is one that frees the others then, if it is given no
    /// statuses.
    #[inline(always)]
    pub unsafe fn finish_all<P: Path, const FREES: bool>(
        &self,
        thread: &Thread,
        done: Done,
        shortcut: Option<&Shortcut>,
        array: Word,
        statuses: Word,
    ) {
        // SAFETY: the array is the call's, which was given one at least.
        let is_left = || unsafe { rest::is_left::<P>(thread, self.noted(), array) };
        if self.count > 1
            && done.code == 0
            && let Some(shortcut) = shortcut
            && !is_left()
        {
            // SAFETY: as below.
            return unsafe { self.finish_several::<P>(thread, shortcut, done.ticks, self.noted(), statuses) };
        }
        if self.count == 0 {
            return;
        }
        // SAFETY: the call has filled the statuses, and the array has so many handles.
        unsafe {
            match done.code {
                0 if !is_left() => match (shortcut, self.noted()) {
                    (Some(shortcut), [one])
                        if finish_one::<P>(
                            thread,
                            shortcut,
                            done.ticks,
                            one,
                            self.receives,
                            self.changes,
                            statuses,
                        ) => {}
                    (_, noted) => finish_each::<P>(thread, shortcut, done.ticks, noted, self.receives, statuses),
                },
                _ => {
                    if FREES {
                        rest::free(thread, self.noted(), array, statuses, self.receives.then_some(self.look));
                    }
                    finish_failed::<P>(thread, shortcut, done.ticks, self.noted(), array, self.receives, statuses);
                }
            }
        }
    }

    /// The same of more than one, where the call is counted.
    #[inline(always)]
    unsafe fn finish_several<P: Path>(
        &self,
        thread: &Thread,
        shortcut: &Shortcut,
        ticks: u64,
        noted: &[Noted],
        statuses: Word,
    ) {
        let mut completions = Completions::none(thread, shortcut);
        let mut left = noted;
        // SAFETY: the call has filled the statuses, and what was noted is there where nothing has changed.
        unsafe {
            if P::IS_SHORT
                && (!self.receives || status::may_be_usual::<P>(statuses))
                && self.changes == thread.requests().changed_so_far()
                && let Some(mut requests) = thread.requests().enter()
            {
                thread.requests().changed();
                if !P::IS_SITED && shortcut.completes_alike() {
                    if self.receives {
                        left = finish_alike::<P, true>(shortcut, noted, statuses);
                        if left.is_empty() {
                            return completed::waited_for(shortcut.latest_completed(), ticks);
                        }
                    } else {
                        left = finish_alike::<P, false>(shortcut, noted, statuses);
                        if left.is_empty() {
                            return completed::waited_for(shortcut.latest_completed_other(), ticks);
                        }
                    }
                    for noted in &noted[..noted.len() - left.len()] {
                        completions.have_alike(noted.slot_unchanged().kind);
                    }
                }
                shortcut.forget_peer();
                // What is there now was noted: where nothing receives, no status is asked for.
                left = finish_sole::<P, false>(&mut requests.held(), thread, &mut completions, left, true, statuses);
            } else {
                shortcut.forget_peer();
            }
            if !left.is_empty() {
                completions = finish_all::<P>(completions, left, self.receives, statuses);
            }
        }
        completions.end(ticks);
    }
}

/// Finishes requests as they were noted, nothing having changed since in the table, which is entered, up to the first that is not like the latest of its
/// kind. Returns which are left. `RECEIVES`: there may be some that receive, with statuses that tell their bytes without a call. It calls next to
/// nothing, so that all of it stays in registers.
#[inline(always)]
unsafe fn finish_alike<'a, P: Path, const RECEIVES: bool>(
    shortcut: &Shortcut,
    noted: &'a [Noted],
    statuses: Word,
) -> &'a [Noted] {
    let Range { start: mut next, end } = noted.as_ptr_range();
    while next != end {
        // SAFETY: so many were noted, and nothing has changed.
        let (one, slot) = unsafe { (&*next, (*next).slot_unchanged()) };
        let kind_and_state = slot.kind_and_state();
        if kind_and_state == slot::SOLE_PLAIN {
            let Some(entry) = shortcut.completed_other(slot.shortcut.cast()) else { break };
            slot.state = State::Idle;
            completed::count_others(entry, 1);
        } else if RECEIVES && kind_and_state == slot::SOLE_RECEIVE {
            // SAFETY: the call has filled the statuses.
            let bytes =
                unsafe { status::bytes_where_usual::<P>(statuses + one.index_of_one() * abi().status_on::<P>().bytes) };
            let Some(bytes) = bytes else { break };
            let Some(arrived) = nonblocking::Arrived::find(slot, bytes) else { break };
            let Some(entry) = shortcut.completed_by_all(arrived.started()) else { break };
            slot.state = State::Idle;
            completed::count_received(entry, bytes);
            arrived.count(slot, bytes);
        // SAFETY: the table is entered.
        } else if unsafe { !finish_shared(shortcut, one) } {
            break;
        }
        // SAFETY: there is another one, or the end.
        next = unsafe { next.add(1) };
    }
    // SAFETY: these are what is left.
    unsafe { slice::from_raw_parts(next, end.offset_from_unsigned(next)) }
}

/// The same of some that share a handle, and leave nothing to be done, if these are such, and no other stands under it. It takes words that others have in
/// registers.
///
/// # Safety
/// The table is entered, and has changed since it was noted by what has completed alone.
#[inline(never)]
unsafe fn finish_shared(shortcut: &Shortcut, one: &Noted) -> bool {
    // SAFETY: as demanded; it was noted, and is there.
    let slot = unsafe { one.slot_unchanged() };
    if !slot.stands_for_alike() {
        return false;
    }
    let (started, count) = (slot.shortcut.cast(), one.together().unwrap_or(1));
    match shortcut.completed_other(started) {
        Some(entry) if slot.complete_alike(count) => completed::count_others(entry, count),
        _ => return false,
    }
    true
}

/// All that is left to do for one alone, if it takes no more than a few comparisons. Apart: it would need registers that others save. It is
/// given words, as below.
#[inline(never)]
unsafe fn finish_one<P: Path>(
    thread: &Thread,
    shortcut: &Shortcut,
    ticks: u64,
    one: &Noted,
    receives: bool,
    changes: u64,
    statuses: Word,
) -> bool {
    if one.together().is_some() {
        return false;
    }
    let (is_unchanged, status) =
        (changes == thread.requests().changed_so_far(), status::at_on::<P>(statuses, one.index()));
    // SAFETY: the call has filled the statuses.
    unsafe {
        let finished = finish_in_turn::<P>(thread, one, is_unchanged, receives, status);
        finished.map(|finished| finished.count(thread, shortcut, ticks, status)).is_some()
    }
}

/// All that is left to do for a call on the short path that has failed, and frees the others then. It is given words: more would lie in memory for it.
#[cold]
#[inline(never)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn failed<P: Path>(
    thread: &Thread,
    record: Record,
    noted: &[Noted],
    receives: bool,
    (operation, code, ticks): (u16, c_int, u64),
    look: &Look,
    array: Word,
    statuses: Word,
) -> c_int {
    recorded(|| {
        let shortcut = count::<P>(thread, record, Done { operation, code, ticks });
        // SAFETY: as demanded of this one.
        unsafe {
            rest::free(thread, noted, array, statuses, receives.then_some(look));
            finish_failed::<P>(thread, shortcut, ticks, noted, array, receives, statuses);
        }
    });
    in_flight::taken_on_short::<P>(thread).give_back::<P>(thread);
    thread.looked::<P>();
    code
}

/// A call that fails has completed those requests whose handle it has set to null.
#[cold]
#[inline(never)]
unsafe fn finish_failed<P: Path>(
    thread: &Thread,
    shortcut: Option<&Shortcut>,
    ticks: u64,
    noted: &[Noted],
    array: Word,
    receives: bool,
    statuses: Word,
) {
    let mut ones = Ones::of(thread, shortcut);
    for (noted, place) in Noted::each(noted) {
        let status = status::at(statuses, place);
        // SAFETY: the array has so many handles.
        let one = unsafe { finish_where_null::<P>(thread, noted, (array, place), receives, status) };
        one.into_iter().for_each(|one| ones.add(one, || completed::NO_PEER));
    }
    ones.end(ticks);
}

/// Finishes requests that all have completed, up to the first that takes more than a few comparisons, and returns which are left.
/// `MAY_HAVE_CHANGED`: the table, since they were noted. `are_usual`: receives have statuses that tell their bytes without a call.
#[inline(always)]
unsafe fn finish_sole<'a, P: Path, const MAY_HAVE_CHANGED: bool>(
    requests: &mut Held,
    thread: &Thread,
    completions: &mut Completions,
    noted: &'a [Noted],
    are_usual: bool,
    statuses: Word,
) -> &'a [Noted] {
    let mut noted = noted.iter();
    loop {
        let left = noted.as_slice();
        let Some(one) = noted.next() else { return &[] };
        let slot = if !MAY_HAVE_CHANGED {
            // SAFETY: as is told.
            unsafe { requests.noted_unchanged(one) }
        } else if let Some(slot) = requests.noted(one) {
            slot
        } else {
            return left;
        };
        if slot.kind == Kind::Plain {
            let (shortcut, count) = if slot.state.is_sole() {
                slot.state = slot.state.completed();
                (slot.shortcut, 1)
            } else {
                let (count, shortcut) = (one.together().unwrap_or(1), slot.shortcut);
                if !MAY_HAVE_CHANGED && slot.stands_for_alike() {
                    if !slot.complete_alike(count) {
                        return left;
                    }
                    (shortcut, count)
                } else {
                    let Some(shortcut) = requests.complete_shared(one, count) else { return left };
                    (shortcut, count)
                }
            };
            completions.others(shortcut.cast(), count);
        } else {
            if slot.kind != Kind::Receive || !slot.state.is_sole() || !are_usual {
                let status =
                    if are_usual { statuses + one.index() * abi().status_on::<P>().bytes } else { return left };
                // SAFETY: as demanded of this one.
                let finished = unsafe { finish_into::<P>(thread, slot, status) };
                let Some((started, bytes)) = finished else { return left };
                completions.take_more();
                completions.received(started, bytes);
                continue;
            }
            let index = if MAY_HAVE_CHANGED { one.index() } else { one.index_of_one() };
            // SAFETY: the call has filled the statuses.
            let bytes = unsafe { status::bytes_where_usual::<P>(statuses + index * abi().status_on::<P>().bytes) };
            let Some(bytes) = bytes else { return left };
            slot.state = slot.state.completed();
            completions.received(nonblocking::arrived_where::<P>(thread, slot, bytes), bytes);
        }
    }
}

/// The same in any case, for all that are left.
#[inline(never)]
unsafe fn finish_all<'a, P: Path>(
    mut completions: Completions<'a>,
    mut noted: &[Noted],
    receives: bool,
    statuses: Word,
) -> Completions<'a> {
    let thread = completions.thread();
    // Where there is a timeline, more is to be done.
    let are_usual = P::IS_SHORT && receives && status::may_be_usual::<P>(statuses);
    while !noted.is_empty() {
        // SAFETY: the call has filled the statuses.
        unsafe {
            match thread.requests().enter() {
                Some(mut requests) => {
                    let requests = &mut requests.held();
                    noted = finish_sole::<P, true>(requests, thread, &mut completions, noted, are_usual, statuses);
                    thread.requests().changed();
                }
                None => (completions, noted) = finish_locked::<P>(thread, completions, noted, are_usual, statuses),
            }
            let [one, others @ ..] = noted else { break };
            for place in one.places() {
                let one = finish_apart::<P>(thread, one, receives, status::at(statuses, place));
                one.into_iter().for_each(|one| completions.add(one));
            }
            noted = others;
        }
    }
    completions
}

/// Up to the first that takes more, where other threads wait for it.
#[inline(never)]
unsafe fn finish_locked<'a, 'b, P: Path>(
    thread: &'a Thread,
    mut completions: Completions<'a>,
    noted: &'b [Noted],
    are_usual: bool,
    statuses: Word,
) -> (Completions<'a>, &'b [Noted]) {
    // Where nobody can come to them, they are missing together.
    let left = thread.requests().locked(
        || &[] as &[Noted],
        |mut requests| {
            thread.requests().changed();
            // SAFETY: as demanded of this one.
            unsafe { finish_sole::<P, true>(&mut requests, thread, &mut completions, noted, are_usual, statuses) }
        },
    );
    (completions, left)
}

/// The same of a single one, which may tell from whom it came, of several that are noted together, and of what is not counted.
#[inline(never)]
unsafe fn finish_each<P: Path>(
    thread: &Thread,
    shortcut: Option<&Shortcut>,
    ticks: u64,
    noted: &[Noted],
    receives: bool,
    statuses: Word,
) {
    if let (Some(shortcut), [together]) = (shortcut, noted)
        && let Some(count) = together.together()
        && let Some(mut requests) = thread.requests().enter()
        && let Some(started) = requests.held().complete_shared(together, count)
    {
        thread.requests().changed();
        drop(requests);
        let mut completions = Completions::of(thread, shortcut);
        completions.others(started.cast(), count);
        return completions.end(ticks);
    }
    let mut ones = Ones::of(thread, shortcut);
    for (noted, place) in Noted::each(noted) {
        let status = status::at(statuses, place);
        // SAFETY: the call has filled the statuses.
        unsafe {
            if let Some(one) = finish::<P>(thread, *noted, 0, receives, status) {
                ones.add(one, || peer(&one, 0, status));
            }
        }
    }
    ones.end(ticks);
}

#[cold]
#[inline(never)]
unsafe fn finish_apart<P: Path>(thread: &Thread, noted: &Noted, receives: bool, status: Word) -> Option<One> {
    // SAFETY: the call has filled the status.
    unsafe { finish::<P>(thread, *noted, 0, receives, status) }
}
