//! Calls that make, free and name communicators. Their names need no message: what all members know decides.

use std::ffi::{CStr, c_char, c_int};

use vocabulary::calls::op;
use vocabulary::shard::{FREED, INTER};

use super::forward::timed;
use crate::fortran::{self, Object};
use crate::guest::clock;
use crate::guest::guard::{guarded, recorded};
use crate::guest::short_path::{Full, Path};
use crate::guest::state::{self, Alone};
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::freeing::Freeing;
use crate::objects::identity;
use crate::objects::labels;
use crate::objects::requests::{Extra, HandleAddress, Kind, Request};
use crate::record::carriers::{self, Comm};
use crate::record::in_flight::{self, Inside};
use crate::record::tally::{self, Done};
use crate::sites;
use crate::thread::Thread;

/// The communicator that a creating call is collective over. One that is not known is registered now, before the call: all
/// members do so at the same point of their order.
pub fn parent(thread: &Thread, comm: Word) -> Record {
    // The call may fail, and a handle that is none must not be asked for its size.
    let known = communicators::known(comm);
    if known != communicators::none() || comm & abi().mask == abi().comm_null {
        return known;
    }
    if comm & abi().mask == abi().comm_self { communicators::of(&thread.communicators, comm) } else { known }
}

/// The same where the record is asked for afterwards: should the program die in the call, it is there. That of the latest call was registered
/// then.
#[inline(always)]
pub fn meet<P: Path>(thread: &Thread, comm: Word, operation: u16) {
    if !P::IS_SHORT || !thread.shortcuts.latest(operation).was_for(comm) {
        meet_first(thread, comm);
    }
}

#[cold]
#[inline(never)]
fn meet_first(thread: &Thread, comm: Word) {
    parent(thread, comm);
}

/// As [`failed`](super::forward::failed), which is of the short path only, without the time of calls that were made in it.
#[cold]
#[inline(never)]
pub fn failed<P: Path>(thread: &Thread, inside: Inside<P>, operation: u16, code: c_int) -> c_int {
    let end = clock::now_on::<P>();
    let (begin, comm) = in_flight::leave_as_noted::<P>(inside, 0, 0, end);
    let ticks = tally::without_nested::<P>(thread, tally::counted_before::<P>(thread), begin, end.wrapping_sub(begin));
    recorded(|| tally::failed::<Comm>(thread, comm, operation, code, ticks));
    code
}

/// Notes that a parent has seen one more creating call, and returns which one it was.
unsafe fn next_child(parent: Record) -> u32 {
    // SAFETY: records are never freed; MPI forbids two collective calls over one communicator at the same time.
    unsafe {
        (*parent).children += 1;
        (*parent).children
    }
}

/// Where in the code a call was made that has made something.
#[inline(always)]
fn birthplace(thread: &Thread, done: Done) -> u32 {
    sites::birthplace(thread.in_flight.caller_of(done.operation) as usize)
}

fn count(thread: &Thread, record: Record, done: Done) {
    if state::is_on() {
        tally::plain(thread, record, done);
    }
}

/// After a call that made a communicator (or gave this process none) collectively over its parent.
pub unsafe fn created(thread: &Thread, parent: Record, letter: u8, comm: Word, place: Word, done: Done) {
    if done.code != 0 {
        return tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
    }
    let parent = if parent == communicators::none() { communicators::of(&thread.communicators, comm) } else { parent };
    count(thread, parent, done);
    // SAFETY: the call succeeded, so it has filled the place.
    let (sequence, made) = unsafe { (next_child(parent), abi().load_made(place, abi().comm_null)) };
    if matches!(letter, b'd' | b'D') && made != abi().comm_null {
        let birthplace = birthplace(thread, done);
        // SAFETY: records are never freed.
        if let Some(record) = unsafe { communicators::duplicate(parent, sequence, letter, birthplace) } {
            communicators::enter(made, record);
        }
    } else {
        // SAFETY: the call that made it has succeeded.
        guarded(|| unsafe { communicators::created(parent, sequence, letter, made, || birthplace(thread, done)) });
    }
}

/// The same for a duplicate. All that might need a function is asked for before anything is done, so that no register must outlast one.
#[inline(always)]
pub unsafe fn duplicated<P: Path>(thread: &Thread, letter: u8, comm: Word, place: Word, done: Done) {
    let Done { operation, code, ticks } = done;
    // SAFETY: as demanded of this one.
    unsafe {
        if !duplicated_at_once::<P>(state::alone_unwatched(), thread, letter, comm, place, done) {
            duplicated_apart::<P>(thread, letter, comm, place, operation, code, ticks);
        }
    }
}

/// Returns whether there was room, and the call was made where the one before was.
#[inline(always)]
unsafe fn duplicated_at_once<P: Path>(
    alone: Option<Alone>,
    thread: &Thread,
    letter: u8,
    comm: Word,
    place: Word,
    Done { operation, code, ticks }: Done,
) -> bool {
    // As it is known now: the program's callbacks may have changed whatever was known before the call.
    if P::IS_SHORT
        && code == 0
        && let Some(alone) = alone
        && let Some(shortcut) = carriers::latest::<P>(thread, operation, comm)
        && let Some(words) = shortcut.duplicate(thread.in_flight.caller_on::<P>(operation))
        && communicators::have_room(alone)
    {
        let parent = shortcut.record.get();
        // SAFETY: the call succeeded, so it has filled the place; records are never freed; there is room.
        unsafe {
            let (sequence, made) = (next_child(parent), abi().load_made(place, abi().comm_null));
            if made != abi().comm_null {
                communicators::duplicated(alone, parent, sequence, letter, words, made);
            }
        }
        tally::again_without_bytes::<P>(thread, shortcut, operation, ticks);
        return true;
    }
    false
}

/// It is given words, not a [`Done`], which would lie in memory for it.
#[cold]
#[inline(never)]
unsafe fn duplicated_apart<P: Path>(
    thread: &Thread,
    letter: u8,
    comm: Word,
    place: Word,
    operation: u16,
    code: c_int,
    ticks: u64,
) {
    let done = Done { operation, code, ticks };
    // Where a hook module watches handles, it is told.
    // SAFETY: as demanded of this one.
    if unsafe { duplicated_at_once::<P>(state::alone(), thread, letter, comm, place, done) } {
        return;
    }
    let parent = parent(thread, comm);
    if !P::IS_SHORT || parent == communicators::none() || done.code != 0 {
        // SAFETY: as demanded of this one.
        return unsafe { created(thread, parent, letter, comm, place, done) };
    }
    tally::call_without_bytes::<P, Comm>(thread, comm, done);
    // SAFETY: the call succeeded, so it has filled the place; records are never freed.
    unsafe {
        let (sequence, made) = (next_child(parent), abi().load_made(place, abi().comm_null));
        if made == abi().comm_null {
            return;
        }
        let caller = thread.in_flight.caller_on::<P>(operation);
        let (site, is_of_all) = sites::of_any_call_from(caller as usize);
        if let Some(shortcut) = carriers::latest::<P>(thread, operation, comm) {
            match is_of_all {
                true => shortcut
                    .set_duplicate(caller, communicators::words_of_duplicate(&*shortcut.record.get(), letter, site)),
                // What stands there may be another parent's.
                false => shortcut.forget_duplicate(),
            }
        }
        if let Some(record) = communicators::duplicate(parent, sequence, letter, site) {
            communicators::enter(made, record);
        }
    }
}

/// The handle that a nonblocking duplication has made.
pub unsafe fn made(place: HandleAddress) -> Word {
    // SAFETY: the program keeps the place until the request has completed.
    unsafe {
        match place {
            HandleAddress::C(place) => abi().load_made(place, abi().comm_null),
            HandleAddress::Fortran(place) => fortran::handle(Object::Comm, place),
        }
    }
}

/// After a nonblocking duplication: named now, entered under its handle when the request has completed.
unsafe fn duplicating(thread: &Thread, letter: u8, comm: Word, place: HandleAddress, request: Word, done: Done) {
    if done.code != 0 {
        return tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
    }
    let parent = communicators::of(&thread.communicators, comm);
    count(thread, parent, done);
    // SAFETY: the call has succeeded, so the program passed a place for the request.
    guarded(|| unsafe {
        let sequence = next_child(parent);
        let Some(record) = communicators::duplicate(parent, sequence, letter, birthplace(thread, done)) else {
            return;
        };
        let handle = abi().load_made(request, abi().request_null);
        if handle == abi().request_null {
            let made = made(place);
            if made != abi().comm_null {
                communicators::enter(made, record);
            }
            return;
        }
        let request = Request::started(parent, Kind::Duplicate, tally::key(parent, done.operation, 0), 0);
        let is_within = !thread.is_outside();
        thread.requests().start_with(handle, request, Extra::Duplicate { place, record }, is_within);
    });
}

macro_rules! duplications {
    ($($name:ident $letter:literal;)*) => {$(
        pub unsafe fn $name(
            thread: &Thread,
            comm: Word,
            newcomm: HandleAddress,
            request: Word,
            forward: impl FnOnce() -> c_int,
        ) -> c_int {
            let done = timed!(thread, communicators::known(comm), $name, forward());
            recorded(|| {
                // SAFETY: the program passed places for what the call makes.
                unsafe { duplicating(thread, $letter, comm, newcomm, request, done) };
            });
            done.code
        }
    )*};
}

duplications! {
    MPI_Comm_idup b'i';
    MPI_Comm_idup_with_info b'o';
}

/// Collective over the group only: its members know the parent, the tag and the group.
pub unsafe fn MPI_Comm_create_group(
    thread: &Thread,
    comm: Word,
    tag: c_int,
    newcomm: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let done = timed!(thread, communicators::known(comm), MPI_Comm_create_group, forward());
    recorded(|| {
        if done.code != 0 {
            tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
            return;
        }
        let parent = communicators::of(&thread.communicators, comm);
        count(thread, parent, done);
        // SAFETY: the call has succeeded and filled the place; records are never freed.
        guarded(|| unsafe {
            let made = abi().load_made(newcomm, abi().comm_null);
            let identity = |_: &_| {
                let [low, high] = communicators::union_identity(made, 0)?;
                Some(identity::of_known(b'u', (*parent).identity, &[tag as u64, low, high]))
            };
            communicators::created_from(identity, parent, b'u', made, || birthplace(thread, done));
        });
    });
    done.code
}

/// There is no parent: the members know the group and the text of the tag.
pub unsafe fn MPI_Comm_create_from_group(
    thread: &Thread,
    stringtag: Word,
    newcomm: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let done = timed!(thread, communicators::none(), MPI_Comm_create_from_group, forward());
    recorded(|| {
        count(thread, communicators::none(), done);
        if done.code == 0 {
            // SAFETY: as above.
            guarded(|| unsafe {
                let made = abi().load_made(newcomm, abi().comm_null);
                let identity = |_: &_| {
                    let [low, high] = communicators::union_identity(made, 0)?;
                    Some(identity::of_known(b'f', [low, high], &text_words(stringtag)))
                };
                communicators::created_from(identity, communicators::none(), b'f', made, || birthplace(thread, done));
            });
        }
    });
    done.code
}

/// Both groups know both groups and the tag; the leaders' communicator is no parent of the other side.
pub unsafe fn MPI_Intercomm_create(
    thread: &Thread,
    local_comm: Word,
    _: Word,
    tag: c_int,
    newintercomm: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let done = timed!(thread, communicators::known(local_comm), MPI_Intercomm_create, forward());
    recorded(|| {
        if done.code != 0 {
            tally::failed::<Comm>(thread, local_comm, done.operation, done.code, done.ticks);
            return;
        }
        let parent = communicators::of(&thread.communicators, local_comm);
        count(thread, parent, done);
        // SAFETY: as above.
        guarded(|| unsafe {
            let made = abi().load_made(newintercomm, abi().comm_null);
            let identity = |_: &_| {
                let pair = communicators::union_identity(made, INTER)?;
                Some(identity::of_known(b'n', pair, &[tag as u64]))
            };
            communicators::created_from(identity, parent, b'n', made, || birthplace(thread, done));
        });
    });
    done.code
}

pub unsafe fn MPI_Intercomm_create_from_groups(
    thread: &Thread,
    stringtag: Word,
    newintercomm: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let done = timed!(thread, communicators::none(), MPI_Intercomm_create_from_groups, forward());
    recorded(|| {
        count(thread, communicators::none(), done);
        if done.code == 0 {
            // SAFETY: as above.
            guarded(|| unsafe {
                let made = abi().load_made(newintercomm, abi().comm_null);
                let identity = |_: &_| {
                    let pair = communicators::union_identity(made, INTER)?;
                    Some(identity::of_known(b'N', pair, &text_words(stringtag)))
                };
                communicators::created_from(identity, communicators::none(), b'N', made, || birthplace(thread, done));
            });
        }
    });
    done.code
}

/// One process on each side, joined over a socket.
pub unsafe fn MPI_Comm_join(thread: &Thread, intercomm: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let done = timed!(thread, communicators::known(abi().comm_self), MPI_Comm_join, forward());
    recorded(|| {
        let own = communicators::of(&thread.communicators, abi().comm_self);
        // SAFETY: the call has filled the place where it succeeded.
        unsafe { created(thread, own, b'v', abi().comm_self, intercomm, done) };
    });
    done.code
}

/// The intercommunicator to the processes that spawned this world: one, however often it is asked for.
pub unsafe fn MPI_Comm_get_parent(thread: &Thread, parent: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let done = timed!(thread, communicators::world(), MPI_Comm_get_parent, forward());
    recorded(|| {
        let world = communicators::world();
        count(thread, world, done);
        if done.code == 0 {
            // SAFETY: the call has succeeded and filled the place.
            guarded(|| unsafe {
                let made = abi().load_made(parent, abi().comm_null);
                communicators::met_parents(made, || birthplace(thread, done));
            });
        }
    });
    done.code
}

/// Where calls come one after the other, nobody can be given the handle before this call has returned. So it keeps its meaning until then:
/// delete functions of attributes may still use it, and nothing is to be undone where the call fails or is left.
#[inline(always)]
unsafe fn free<P: Path>(thread: &Thread, comm: Word, operation: u16, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if comm == 0 { abi().comm_null } else { unsafe { abi().load(comm) } };
    if state::is_threaded() {
        return free_among_threads::<P>(thread, handle, operation, forward);
    }
    let counted = tally::counted_before::<P>(thread);
    let level = in_flight::free_level::<P>(thread);
    let begin = clock::now_on::<P>();
    let place = in_flight::enter::<P>(thread, level, handle, operation, begin);
    let code = forward();
    if P::IS_SHORT && code != 0 {
        return failed(thread, place, operation, code);
    }
    let code = if P::IS_SHORT { 0 } else { code };
    let end = clock::now_on::<P>();
    let (begin, handle) = in_flight::leave_as_noted::<P>(place, begin, handle, end);
    recorded(|| {
        let ticks = tally::without_nested::<P>(thread, counted, begin, end.wrapping_sub(begin));
        // Where hook modules watch handles, one more call is made.
        let freed = match P::IS_SHORT {
            true => state::alone_unwatched(),
            false => state::alone(),
        };
        let freed =
            freed.filter(|_| code == 0).and_then(|alone| freed_at_once::<P>(alone, thread, handle, operation, ticks));
        if freed.is_none() {
            not_freed::<P>(thread, handle, operation, code, ticks);
        }
    });
    code
}

/// What is known of it and takes no more, is counted.
#[inline(always)]
fn freed_at_once<P: Path>(alone: Alone, thread: &Thread, handle: Word, operation: u16, ticks: u64) -> Option<()> {
    let record = communicators::freed(alone, handle)?;
    if !P::IS_SHORT {
        in_flight::outlast_handle(thread, handle, record);
    }
    if state::is_on_in::<P>() {
        tally::once::<P>(thread, record, operation, ticks);
    }
    Some(())
}

/// Nothing is known of what the call freed, or the program has opened a session with more threads in it, or a hook module watches handles. On the
/// full path, also: the call failed.
#[cold]
#[inline(never)]
fn not_freed<P: Path>(thread: &Thread, handle: Word, operation: u16, code: c_int, ticks: u64) {
    if P::IS_SHORT
        && let Some(alone) = state::alone()
        && freed_at_once::<P>(alone, thread, handle, operation, ticks).is_some()
    {
        return;
    }
    let record = if code == 0 { communicators::leave(handle) } else { communicators::known(handle) };
    if code == 0 && record != communicators::none() {
        // SAFETY: records are never freed.
        unsafe { (*record).flags |= FREED };
    }
    count(thread, record, Done { operation, code, ticks });
}

/// The handle loses its meaning before the library can give it to another communicator.
#[cold]
#[inline(never)]
fn free_among_threads<P: Path>(
    thread: &Thread,
    handle: Word,
    operation: u16,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let record = communicators::leave(handle);
    if !P::IS_SHORT && record != communicators::none() {
        in_flight::outlast_handle(thread, handle, record);
    }
    // Delete functions of attributes may still use it, during the call.
    let freeing = Freeing::begin(thread, &communicators::HANDLES, handle & abi().mask, record);
    let counted = tally::counted_before::<P>(thread);
    let level = in_flight::free_level::<P>(thread);
    let begin = clock::now_on::<P>();
    let place = in_flight::enter_over::<P>(thread, level, record, operation, begin);
    let code = forward();
    let end = clock::now_on::<P>();
    in_flight::leave::<P>(place, end);
    recorded(|| {
        let ticks = tally::without_nested::<P>(thread, counted, begin, end.wrapping_sub(begin));
        freeing.end();
        thread.communicators.forget();
        if state::is_on_in::<P>() {
            if code == 0 && record != communicators::none() {
                tally::once::<P>(thread, record, operation, ticks);
            } else {
                tally::plain(thread, record, Done { operation, code, ticks });
            }
        }
        if record != communicators::none() {
            if code == 0 {
                // SAFETY: records are never freed.
                unsafe { (*record).flags |= FREED };
            } else {
                communicators::enter(handle, record);
            }
        }
    });
    code
}

pub unsafe fn MPI_Comm_free<P: Path>(thread: &Thread, comm: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes the place of a communicator.
    unsafe { free::<P>(thread, comm, op::MPI_Comm_free, forward) }
}

pub unsafe fn MPI_Comm_disconnect(thread: &Thread, comm: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as above.
    unsafe { free::<Full>(thread, comm, op::MPI_Comm_disconnect, forward) }
}

pub unsafe fn MPI_Comm_set_name(
    thread: &Thread,
    comm: Word,
    comm_name: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let done = timed!(thread, communicators::known(comm), MPI_Comm_set_name, forward());
    recorded(|| {
        if done.code != 0 {
            tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
            return;
        }
        let record = communicators::of(&thread.communicators, comm);
        count(thread, record, done);
        if record == communicators::none() || comm_name == 0 {
            return;
        }
        // SAFETY: the call has succeeded, so the text that it was given ends with a zero byte.
        guarded(|| unsafe {
            let label = CStr::from_ptr(comm_name as *const c_char).to_string_lossy();
            labels::set(record, &label);
        });
    });
    done.code
}

/// The bytes of a text as words to be hashed.
unsafe fn text_words(text: Word) -> Vec<u64> {
    // As in `Abi::load_made`.
    if text == 0 {
        return Vec::new();
    }
    // SAFETY: the call succeeded, so it was given a text.
    unsafe { CStr::from_ptr(text as *const c_char) }.to_bytes().iter().map(|byte| u64::from(*byte)).collect()
}
