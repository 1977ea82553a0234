//! What is left to do when a call has returned that completes requests.

use std::ffi::c_int;

use super::creators;
use super::look::{Several, Single, keep};
use crate::guest::short_path::Path;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators;
use crate::objects::requests::table::Slot;
use crate::objects::requests::{Completed, Held, Kind, Noted, State};
use crate::objects::shortcuts::Shortcut;
use crate::record::completed::{self, Completions, One, Ones, Started};
use crate::record::files;
use crate::record::nonblocking;
use crate::record::tally::Done;
use crate::thread::Thread;
use crate::trace;

impl Single {
    /// The call has returned. `is_done` tells whether the request has completed, where it succeeded.
    #[inline(always)]
    pub unsafe fn finish<P: Path>(
        &self,
        thread: &Thread,
        request: Word,
        done: Done,
        shortcut: Option<&Shortcut>,
        status: Word,
        is_done: impl FnOnce() -> bool,
    ) {
        if done.code == 0 && !is_done() {
            return;
        }
        if P::IS_SHORT
            && done.code == 0
            && self.changes == thread.requests().changed_so_far()
            && let (Some(noted), Some(shortcut)) = (&self.noted, shortcut)
            && let Some(mut requests) = thread.requests().enter()
        {
            // SAFETY: nothing has changed; the call has filled the status.
            let finished = unsafe {
                let mut requests = requests.held();
                finish_at_once::<P>(thread, requests.noted_unchanged(noted), self.receives, status)
            };
            drop(requests);
            if let Some(finished) = finished {
                // SAFETY: as above.
                return unsafe { finished.count(thread, shortcut, done.ticks, status) };
            }
        }
        // SAFETY: as demanded of this one.
        unsafe { self.finish_otherwise::<P>(thread, request, done.code, done.ticks, shortcut, status) };
    }

    #[inline(never)]
    unsafe fn finish_otherwise<P: Path>(
        &self,
        thread: &Thread,
        request: Word,
        code: c_int,
        ticks: u64,
        shortcut: Option<&Shortcut>,
        status: Word,
    ) {
        let Some(noted) = self.noted else { return };
        // A call that fails has completed a request whose handle it has set to null.
        // SAFETY: the program passed the place of a request.
        let completed = code == 0 || (unsafe { abi().load(request) }) == abi().request_null;
        if completed {
            // SAFETY: the call has filled the status.
            unsafe {
                let one = finish::<P>(thread, noted, code, self.receives, status);
                if let (Some(one), Some(shortcut)) = (one, shortcut) {
                    completed::single(thread, shortcut, one, ticks, || peer(&one, code, status));
                }
            }
        }
    }
}

/// What a call has completed that completed one request.
enum Finished {
    Received { started: Started, bytes: u64 },
    Other { started: Started },
}

impl Finished {
    /// Counts that the call completed it. May call the MPI library, to ask who the peer is.
    #[inline(always)]
    unsafe fn count(self, thread: &Thread, shortcut: &Shortcut, ticks: u64, status: Word) {
        match self {
            Finished::Received { started, bytes } => {
                // SAFETY: the call has filled the status.
                let peer = if bytes == 0 { completed::NO_PEER } else { unsafe { completed::peer(status) } };
                completed::single_received(thread, shortcut, started, (bytes, peer), ticks);
            }
            Finished::Other { started } => completed::single_other(thread, shortcut, started, ticks),
        }
    }
}

/// Finishes the one request that a call has completed, if it has its handle for itself, or is one of those alike, and takes no more than a
/// few comparisons.
#[inline(always)]
unsafe fn finish_at_once<P: Path>(thread: &Thread, slot: &mut Slot, receives: bool, status: Word) -> Option<Finished> {
    if slot.kind == Kind::Plain && slot.complete_simply() {
        thread.requests().changed();
        return Some(Finished::Other { started: slot.shortcut.cast() });
    }
    if slot.kind != Kind::Receive || !receives || !status::are_usual() {
        return None;
    }
    // SAFETY: the call has filled the status.
    let bytes = unsafe { status::bytes_where_usual(status) }?;
    slot.state = State::Idle;
    thread.requests().changed();
    Some(Finished::Received { started: nonblocking::arrived_where::<P>(thread, slot, bytes), bytes })
}

/// From whom the message of a completed receive came. The status of other requests tells nothing.
#[inline(always)]
unsafe fn peer(one: &One, code: c_int, status: Word) -> u64 {
    if code != 0 || one.kind != Kind::Receive || one.bytes == 0 {
        return completed::NO_PEER;
    }
    // SAFETY: the caller passes the status of a call that has filled it.
    unsafe { completed::peer(status) }
}

/// What is left to do for a request that has completed. An error keeps the message away.
#[inline(always)]
pub unsafe fn finish<P: Path>(thread: &Thread, noted: Noted, code: c_int, receives: bool, status: Word) -> Option<One> {
    let completed = thread.requests().complete(noted)?;
    if completed.kind == Kind::Plain {
        return Some(One { kind: Kind::Plain, started: nonblocking::started_as(thread, &completed), bytes: 0 });
    }
    // SAFETY: as demanded of this one.
    let (started, bytes) = unsafe { finish_completed::<P>(thread, &completed, code, receives, status) };
    Some(One { kind: completed.kind, started, bytes })
}

#[inline(never)]
unsafe fn finish_completed<P: Path>(
    thread: &Thread,
    completed: &Completed,
    code: c_int,
    receives: bool,
    status: Word,
) -> (Started, u64) {
    match completed.kind {
        Kind::Plain => (nonblocking::started_as(thread, completed), 0),
        Kind::Receive | Kind::ReceiveInto | Kind::Read => {
            let arrived = match code == 0 && receives {
                // SAFETY: the call has filled the status.
                true if completed.kind == Kind::Read => unsafe { files::arrived(thread, completed, status) },
                // SAFETY: as above.
                true => unsafe { status::bytes(status) },
                false => 0,
            };
            let started = nonblocking::arrived(thread, completed, arrived);
            if trace::is_on_in::<P>() && code == 0 && receives && completed.kind != Kind::Read {
                // SAFETY: as above.
                unsafe { trace::received(completed.comm, completed.operation(), completed.posted, status, arrived) };
            }
            (started, arrived)
        }
        Kind::Duplicate => {
            let (place, record) = completed.duplicate;
            // SAFETY: the request has completed.
            let comm = unsafe { creators::made(place) };
            if comm != abi().comm_null {
                communicators::enter(comm, record);
            }
            (nonblocking::started_as(thread, completed), 0)
        }
    }
}

impl Several<'_> {
    /// All requests of the call have completed. An error tells itself which have.
    #[inline(always)]
    pub unsafe fn finish_all<P: Path>(
        &self,
        thread: &Thread,
        done: Done,
        shortcut: Option<&Shortcut>,
        array: Word,
        statuses: Word,
    ) {
        if self.count == 0 {
            return;
        }
        // SAFETY: the call has filled the statuses, and the array has so many handles.
        unsafe {
            match done.code {
                0 => match (shortcut, self.noted()) {
                    (Some(shortcut), noted @ [_, _, ..]) => {
                        self.finish_several::<P>(thread, shortcut, done.ticks, noted, statuses);
                    }
                    (_, noted) => finish_each::<P>(thread, shortcut, done.ticks, noted, self.receives, statuses),
                },
                _ => finish_failed::<P>(thread, shortcut, done.ticks, self.noted(), array, self.receives, statuses),
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
        let mut completions = Completions::of(thread, shortcut);
        let mut left = noted;
        // SAFETY: the call has filled the statuses.
        unsafe {
            if P::IS_SHORT
                && self.changes == thread.requests().changed_so_far()
                && let Some(mut requests) = thread.requests().enter()
            {
                let requests = &mut requests.held();
                let are_usual = self.receives && status::are_usual();
                left = finish_sole::<P, false>(requests, thread, &mut completions, left, are_usual, statuses);
                thread.requests().changed();
            }
            if !left.is_empty() {
                completions = finish_all::<P>(thread, completions, left, self.receives, statuses);
            }
        }
        completions.end(ticks);
    }

    /// Some requests of the call have completed. `which`: where the call has told which, and their statuses.
    #[inline(always)]
    pub unsafe fn finish<P: Path, W: Which>(
        &self,
        thread: &Thread,
        done: Done,
        shortcut: Option<&Shortcut>,
        array: Word,
        which: [Word; 3],
    ) {
        let [first, second, third] = which;
        let nothing_else_changes = P::IS_SHORT && done.code == 0 && self.changes == thread.requests().changed_so_far();
        // SAFETY: as demanded of this one.
        unsafe {
            if W::IS_ONE
                && nothing_else_changes
                && let Some(shortcut) = shortcut
                && finish_alone::<P>(thread, shortcut, done.ticks, *self, array, *(first as *const c_int), second)
            {
                return;
            }
            finish_some::<P, W>(
                thread,
                done.code,
                done.ticks,
                shortcut,
                self.noted(),
                self.receives,
                (array, self.length),
                first,
                second,
                third,
            );
            if nothing_else_changes && self.length >= WORTH_KEEPING {
                keep_rest::<W>(thread, *self, array, which);
            }
        }
    }
}

/// To look at fewer handles once more takes no longer than to keep what was found.
const WORTH_KEEPING: usize = 8;

/// A call over several has completed one of them, and nothing has changed since they were noted: whether that is done. The next call over
/// the array finds the others.
#[inline(never)]
unsafe fn finish_alone<P: Path>(
    thread: &Thread,
    shortcut: &Shortcut,
    ticks: u64,
    several: Several,
    array: Word,
    index: c_int,
    status: Word,
) -> bool {
    let Ok(index) = usize::try_from(index) else { return true };
    let Several { look, length, count, .. } = several;
    let Some(place) = place_of(several.noted(), index) else { return false };
    let noted = several.noted()[place];
    let Some(mut entered) = thread.requests().enter() else { return false };
    let mut requests = entered.held();
    // SAFETY: the call has filled the status, and the array has so many handles.
    unsafe {
        // Of one behind others that have its handle and are not like it nobody has noted where it is.
        let Some(slot) = requests.noted(&noted) else { return false };
        let is_simple = slot.state == State::Sole || slot.is_one_of_those_alike();
        let finished = if is_simple { finish_at_once::<P>(thread, slot, several.receives, status) } else { None };
        drop(entered);
        let Some(finished) = finished else { return false };
        finished.count(thread, shortcut, ticks, status);
        let changes = thread.requests().changed_so_far();
        if length >= WORTH_KEEPING {
            // A persistent one may be started again. And programs do not wait for none.
            if abi().load_at(array, index) != abi().request_null || look.completed() + 1 >= count {
                look.forget();
                return true;
            }
            if !look.is_kept() {
                keep(thread, Several { changes, ..several }, array);
            }
            if look.is_kept() {
                look.complete(place, changes);
            }
        }
    }
    true
}

/// Of what was found those that have just completed are taken out: the next call over the same array finds the rest.
#[inline(never)]
unsafe fn keep_rest<W: Which>(thread: &Thread, several: Several, array: Word, told: [Word; 3]) {
    // SAFETY: the program passed an array of so many handles, and the call has told which have completed.
    unsafe {
        // Programs do not wait for none.
        if W::most(told) >= several.count || several.look.completed() != 0 {
            return several.look.forget();
        }
        let is_null = |index: usize| abi().load_at(array, index) == abi().request_null;
        let (mut completed, mut latest) = (0, 0);
        for (index, _) in W::completed(0, several.length, told) {
            // A persistent one may be started again.
            if !is_null(index) {
                return several.look.forget();
            }
            (completed, latest) = (completed + 1, index);
        }
        let count = match completed {
            1 => several.look.take_out(several.count, |noted| noted.index() == latest, true),
            _ => several.look.take_out(several.count, |noted| is_null(noted.index()), false),
        };
        // What completed may not have been noted.
        if count + completed != several.count {
            return several.look.forget();
        }
        keep(thread, Several { count, changes: thread.requests().changed_so_far(), ..several }, array);
    }
}

/// Each request that was noted, and its place in the array.
fn each(noted: &[Noted]) -> impl Iterator<Item = (&Noted, usize)> {
    noted.iter().flat_map(|noted| noted.places().map(move |place| (noted, place)))
}

/// The place in what was noted of the request at this index of the array, if it is followed.
#[inline(always)]
fn place_of(noted: &[Noted], index: usize) -> Option<usize> {
    // Most often all of them are.
    match noted.get(index) {
        Some(found) if found.index() == index => Some(index),
        _ => noted.binary_search_by_key(&index, |noted| noted.index()).ok(),
    }
}

/// How a call over several requests tells which have completed.
pub trait Which {
    /// It completes one at most, and tells its index and its status.
    const IS_ONE: bool = false;

    /// How many of a successful call at most.
    unsafe fn most(told: [Word; 3]) -> usize;

    /// Their places in the array of requests, of which it was given so many, and the addresses of their statuses.
    unsafe fn completed(code: c_int, length: usize, told: [Word; 3]) -> impl Iterator<Item = (usize, Word)>;
}

/// Apart, since calls that programs repeat complete none most often, and given words and no address of what tells them: so all of
/// it stays in registers where none has completed.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
unsafe fn finish_some<P: Path, W: Which>(
    thread: &Thread,
    code: c_int,
    ticks: u64,
    shortcut: Option<&Shortcut>,
    noted: &[Noted],
    receives: bool,
    (array, length): (Word, usize),
    first: Word,
    second: Word,
    third: Word,
) {
    let mut ones = Ones::of(thread, shortcut);
    // SAFETY: the call has filled the statuses, and the array has so many handles.
    unsafe {
        for (index, status) in W::completed(code, length, [first, second, third]) {
            let Some(noted) = place_of(noted, index).and_then(|place| noted.get(place)) else { continue };
            // Where the call failed, all that are null seem to have completed: an earlier call may have crossed some out.
            if noted.is_crossed_out() {
                continue;
            }
            let one = match code {
                0 => finish::<P>(thread, *noted, 0, receives, status),
                _ => finish_where_null::<P>(thread, noted, (array, index), receives, status),
            };
            if let Some(one) = one {
                ones.add(one, || peer(&one, code, status));
            }
        }
    }
    ones.end(ticks);
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
    for (noted, place) in each(noted) {
        let status = status_at(statuses, place);
        // SAFETY: the array has so many handles.
        let one = unsafe { finish_where_null::<P>(thread, noted, (array, place), receives, status) };
        one.into_iter().for_each(|one| ones.add(one, || completed::NO_PEER));
    }
    ones.end(ticks);
}

unsafe fn finish_where_null<P: Path>(
    thread: &Thread,
    noted: &Noted,
    (array, place): (Word, usize),
    receives: bool,
    status: Word,
) -> Option<One> {
    // SAFETY: the call has filled the status, and the array has this many handles.
    unsafe {
        if abi().load_at(array, place) != abi().request_null {
            return None;
        }
        let is_error = status == 0 || status::error(status) != 0;
        finish::<P>(thread, *noted, c_int::from(is_error), receives, status)
    }
}

/// Finishes requests that all have completed, up to the first that takes more than a few comparisons, and returns which are left.
/// `MAY_HAVE_CHANGED`: the table, since they were noted. `are_usual`: receives have statuses that tell their bytes without a call.
#[inline(always)]
unsafe fn finish_sole<'a, P: Path, const MAY_HAVE_CHANGED: bool>(
    requests: &mut Held,
    thread: &Thread,
    completions: &mut Completions,
    mut noted: &'a [Noted],
    are_usual: bool,
    statuses: Word,
) -> &'a [Noted] {
    while let [one, others @ ..] = noted {
        let slot = if !MAY_HAVE_CHANGED {
            // SAFETY: as is told.
            unsafe { requests.noted_unchanged(one) }
        } else if let Some(slot) = requests.noted(one) {
            slot
        } else {
            break;
        };
        if slot.kind == Kind::Plain {
            if slot.state == State::Sole {
                slot.state = State::Idle;
            } else if !MAY_HAVE_CHANGED {
                break;
            } else if let Some(count) = one.together() {
                let Some(shortcut) = requests.complete_alike(one, count) else { break };
                completions.others(shortcut.cast(), count);
                noted = others;
                continue;
            } else if !slot.complete_simply() {
                break;
            }
            completions.other(slot.shortcut.cast());
        } else {
            if slot.kind != Kind::Receive || slot.state != State::Sole || !are_usual {
                break;
            }
            // SAFETY: the call has filled the statuses.
            let bytes = unsafe { status::bytes_where_usual(statuses + one.index() * abi().status.bytes) };
            let Some(bytes) = bytes else { break };
            slot.state = State::Idle;
            completions.received(nonblocking::arrived_where::<P>(thread, slot, bytes), bytes);
        }
        noted = others;
    }
    noted
}

/// The same in any case, for all that are left.
#[inline(never)]
unsafe fn finish_all<'a, P: Path>(
    thread: &'a Thread,
    mut completions: Completions<'a>,
    mut noted: &[Noted],
    receives: bool,
    statuses: Word,
) -> Completions<'a> {
    // Where there is a timeline, more is to be done.
    let are_usual = P::IS_SHORT && receives && status::are_usual();
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
                let one = finish_apart::<P>(thread, one, receives, status_at(statuses, place));
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
    let left = thread.requests().locked(|mut requests| {
        thread.requests().changed();
        // SAFETY: as demanded of this one.
        unsafe { finish_sole::<P, true>(&mut requests, thread, &mut completions, noted, are_usual, statuses) }
    });
    (completions, left)
}

/// The same of a single one, which may tell from whom it came, and of what is not counted.
#[inline(never)]
unsafe fn finish_each<P: Path>(
    thread: &Thread,
    shortcut: Option<&Shortcut>,
    ticks: u64,
    noted: &[Noted],
    receives: bool,
    statuses: Word,
) {
    let mut ones = Ones::of(thread, shortcut);
    for (noted, place) in each(noted) {
        let status = status_at(statuses, place);
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

#[inline(always)]
pub fn status_at(statuses: Word, index: usize) -> Word {
    if statuses == abi().status_ignore { 0 } else { statuses + index * abi().status.bytes }
}
