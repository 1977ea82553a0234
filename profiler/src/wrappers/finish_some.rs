//! What is left to do when a call has returned that completes some of the requests that it is given.

use std::ffi::c_int;

use super::finish::{finish, finish_at_once, finish_in_turn, finish_where_null, peer};
use super::look::{Several, keep};
use crate::guest::short_path::Path;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators;
use crate::objects::requests::Noted;
use crate::objects::shortcuts::Shortcut;
use crate::record::completed::Ones;
use crate::record::tally::Done;
use crate::thread::Thread;

impl Several<'_> {
    /// Some requests of the call have completed. What it was told by follows, as [`Which`] takes it.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn finish<P: Path, W: Which>(
        &self,
        thread: &Thread,
        done: Done,
        shortcut: Option<&Shortcut>,
        array: Word,
        first: Word,
        second: Word,
        third: Word,
    ) {
        // SAFETY: as demanded of this one.
        unsafe {
            if W::IS_ONE
                && done.code == 0
                && self.is_unchanged::<P>(thread)
                && let Some(shortcut) = shortcut
                && finish_alone::<P>(thread, shortcut, done.ticks, self, array, first, second)
            {
                return;
            }
            finish_several::<P, W>(thread, done.code, done.ticks, shortcut, self, array, [first, second, third]);
        }
    }

    /// Nothing has changed since the requests were noted, and nobody changes anything.
    #[inline(always)]
    pub fn is_unchanged<P: Path>(&self, thread: &Thread) -> bool {
        P::IS_SHORT && self.changes == thread.requests().changed_so_far()
    }
}

/// The same in any case.
#[inline(always)]
pub unsafe fn finish_several<P: Path, W: Which>(
    thread: &Thread,
    code: c_int,
    ticks: u64,
    shortcut: Option<&Shortcut>,
    several: &Several,
    array: Word,
    told: [Word; 3],
) {
    let is_unchanged = code == 0 && several.is_unchanged::<P>(thread);
    let [first, second, third] = told;
    // SAFETY: as demanded of this one.
    unsafe {
        finish_some::<P, W>(
            thread,
            code,
            ticks,
            shortcut,
            several.noted(),
            several.receives,
            (array, several.length, is_unchanged),
            first,
            second,
            third,
        );
        if is_unchanged && several.length >= WORTH_KEEPING {
            keep_rest::<W>(thread, *several, array, told);
        }
    }
}

/// Where a call may complete several: to look at fewer handles once more takes no longer than to keep what was found.
const WORTH_KEEPING: usize = 8;

/// [`alone`], apart. What was found is given where it lies: a copy of what was just written in smaller pieces waits for them.
#[inline(never)]
unsafe fn finish_alone<P: Path>(
    thread: &Thread,
    shortcut: &Shortcut,
    ticks: u64,
    several: &Several,
    array: Word,
    index: Word,
    status: Word,
) -> bool {
    // SAFETY: as demanded of this one.
    unsafe { alone::<P>(thread, shortcut, ticks, *several, array, index, status) }
}

/// A call over several has completed one of them, and nothing has changed since they were noted: whether that is done. The next call over
/// the array finds the others. `index`: the place where the call has told which.
#[inline(always)]
pub unsafe fn alone<P: Path>(
    thread: &Thread,
    shortcut: &Shortcut,
    ticks: u64,
    several: Several,
    array: Word,
    index: Word,
    status: Word,
) -> bool {
    if index == 0 {
        return false;
    }
    // SAFETY: the call has filled the place.
    let Ok(index) = usize::try_from(unsafe { *(index as *const c_int) }) else { return true };
    let Several { look, length, count, record, .. } = several;
    let Some(place) = place_of(several.noted(), index) else { return false };
    let noted = &several.noted()[place];
    // A persistent one that was started where nobody saw it.
    if noted.is_crossed_out() {
        return true;
    }
    let Some(mut entered) = thread.requests().enter() else { return false };
    let mut requests = entered.held();
    // SAFETY: the call has filled the status, and the array has so many handles.
    unsafe {
        let slot = requests.noted_unchanged(noted);
        let is_simple = slot.state.is_sole() || slot.is_one_of_those_alike();
        let finished = if is_simple { finish_at_once::<P>(thread, slot, several.receives, status) } else { None };
        drop(entered);
        let Some(finished) = finished else { return false };
        finished.count(thread, shortcut, ticks, status);
        let changes = thread.requests().changed_so_far();
        if length > 1 && record != communicators::several() {
            // Programs do not wait for none.
            if look.completed() + 1 >= count {
                look.forget();
                return true;
            }
            if !look.is_kept() {
                keep(thread, Several { changes, ..several }, array);
            }
            if look.is_kept() {
                // A persistent one stays in the array: that it is started again is a change.
                look.complete::<P>(place, abi().load_at_on::<P>(array, index), changes);
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
    (array, length, is_unchanged): (Word, usize, bool),
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
                0 => match finish_in_turn::<P>(thread, noted, is_unchanged, receives, status) {
                    Some(finished) => Some(finished.one()),
                    None => finish::<P>(thread, *noted, 0, receives, status),
                },
                _ => finish_where_null::<P>(thread, noted, (array, index), receives, status),
            };
            if let Some(one) = one {
                ones.add(one, || peer(&one, code, status));
            }
        }
    }
    ones.end(ticks);
}
