//! Calls that make, free and name communicators. Their names need no message: what all members know decides.

use std::ffi::{CStr, c_char, c_int};

use vocabulary::shard::{FREED, INTER};

use super::{real_function, timed};
use crate::abi::{Word, abi};
use crate::communicators::{self, Record};
use crate::guard::guarded;
use crate::identity;
use crate::requests::{Extra, Kind, Request};
use crate::state;
use crate::tally::{self, Done};
use crate::thread::{self, Thread};

/// The communicator that a creating call is collective over. One that is not known is registered now, before the call: all
/// members do so at the same point of their order.
pub fn parent(thread: &mut Thread, comm: Word) -> Record {
    // The call may fail, and a handle that is none must not be asked for its size.
    let known = communicators::known(comm);
    if known != communicators::none() || comm & abi().mask == abi().comm_null {
        return known;
    }
    if comm & abi().mask == abi().comm_self { communicators::of(thread, comm) } else { known }
}

/// Notes that a parent has seen one more creating call, and returns which one it was.
unsafe fn next_child(parent: Record) -> u32 {
    // SAFETY: records are never freed; MPI forbids two collective calls over one communicator at the same time.
    unsafe {
        (*parent).children += 1;
        (*parent).children
    }
}

/// The time of a call without that of the calls that the program's callbacks (copy and delete functions of attributes) made
/// in it: those are counted themselves, and a moment is charged once.
pub fn without_nested(thread: &Thread, counted_before: u64, ticks: u64) -> u64 {
    ticks.saturating_sub(thread.counted_ticks.wrapping_sub(counted_before))
}

fn count(thread: &mut Thread, record: Record, done: Done) {
    if state::is_on() {
        tally::plain(thread, record, done);
    }
}

/// After a call that made a communicator (or gave this process none) collectively over its parent.
pub unsafe fn created(thread: &mut Thread, parent: Record, letter: u8, comm: Word, place: Word, done: Done) {
    if done.code != 0 {
        return tally::failed(thread, comm, done);
    }
    let parent = if parent == communicators::none() { communicators::of(thread, comm) } else { parent };
    count(thread, parent, done);
    guarded(|| unsafe {
        let sequence = next_child(parent);
        let made = abi().load(place);
        let is_duplicate = matches!(letter, b'd' | b'D') && made != abi().comm_null;
        match is_duplicate {
            true => {
                if let Some(record) = communicators::duplicate(parent, sequence, letter) {
                    communicators::enter(made, record);
                }
            }
            false => communicators::created(parent, sequence, letter, made),
        }
    });
}

/// After a nonblocking duplication: named now, entered under its handle when the request has completed.
unsafe fn duplicating(thread: &mut Thread, letter: u8, comm: Word, place: Word, request: Word, done: Done) {
    if done.code != 0 {
        return tally::failed(thread, comm, done);
    }
    let parent = communicators::of(thread, comm);
    count(thread, parent, done);
    guarded(|| unsafe {
        let sequence = next_child(parent);
        let Some(record) = communicators::duplicate(parent, sequence, letter) else { return };
        let handle = abi().load(request);
        if handle == abi().request_null {
            return communicators::enter(abi().load(place), record);
        }
        let request = Request::new(handle, parent, done.operation, Kind::Duplicate, done.ticks);
        thread.requests.start_with(request, Extra::Duplicate { place, record });
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_idup(comm: Word, newcomm: Word, request: Word) -> c_int {
    let real = real_function!(MPI_Comm_idup, fn(Word, Word, Word));
    let Some(thread) = thread::following() else { return unsafe { real(comm, newcomm, request) } };
    let done = timed!(MPI_Comm_idup, real(comm, newcomm, request));
    unsafe { duplicating(thread, b'i', comm, newcomm, request, done) };
    done.code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_idup_with_info(comm: Word, info: Word, newcomm: Word, request: Word) -> c_int {
    let real = real_function!(MPI_Comm_idup_with_info, fn(Word, Word, Word, Word));
    let Some(thread) = thread::following() else { return unsafe { real(comm, info, newcomm, request) } };
    let done = timed!(MPI_Comm_idup_with_info, real(comm, info, newcomm, request));
    unsafe { duplicating(thread, b'o', comm, newcomm, request, done) };
    done.code
}

/// Collective over the group only: its members know the parent, the tag and the group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_create_group(comm: Word, group: Word, tag: c_int, newcomm: Word) -> c_int {
    let real = real_function!(MPI_Comm_create_group, fn(Word, Word, c_int, Word));
    let Some(thread) = thread::following() else { return unsafe { real(comm, group, tag, newcomm) } };
    let done = timed!(MPI_Comm_create_group, real(comm, group, tag, newcomm));
    if done.code != 0 {
        tally::failed(thread, comm, done);
        return done.code;
    }
    let parent = communicators::of(thread, comm);
    count(thread, parent, done);
    guarded(|| unsafe {
        let made = abi().load(newcomm);
        let facts = |_: &_| {
            let [low, high] = communicators::union_identity(made, 0)?;
            Some(identity::of_facts(b'u', (*parent).identity, &[tag as u64, low, high]))
        };
        communicators::created_from(facts, parent, b'u', made);
    });
    done.code
}

/// There is no parent: the members know the group and the text of the tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_create_from_group(
    group: Word,
    stringtag: Word,
    info: Word,
    errhandler: Word,
    newcomm: Word,
) -> c_int {
    let real = real_function!(MPI_Comm_create_from_group, fn(Word, Word, Word, Word, Word));
    let Some(thread) = thread::following() else {
        return unsafe { real(group, stringtag, info, errhandler, newcomm) };
    };
    let done = timed!(MPI_Comm_create_from_group, real(group, stringtag, info, errhandler, newcomm));
    count(thread, communicators::none(), done);
    if done.code == 0 {
        guarded(|| unsafe {
            let made = abi().load(newcomm);
            let facts = |_: &_| {
                let [low, high] = communicators::union_identity(made, 0)?;
                Some(identity::of_facts(b'f', [low, high], &text_words(stringtag)))
            };
            communicators::created_from(facts, communicators::none(), b'f', made);
        });
    }
    done.code
}

/// Both groups know both groups and the tag; the leaders' communicator is no parent of the other side.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Intercomm_create(
    local_comm: Word,
    local_leader: c_int,
    peer_comm: Word,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: Word,
) -> c_int {
    let real = real_function!(MPI_Intercomm_create, fn(Word, c_int, Word, c_int, c_int, Word));
    let Some(thread) = thread::following() else {
        return unsafe { real(local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm) };
    };
    let done =
        timed!(MPI_Intercomm_create, real(local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm));
    if done.code != 0 {
        tally::failed(thread, local_comm, done);
        return done.code;
    }
    let parent = communicators::of(thread, local_comm);
    count(thread, parent, done);
    guarded(|| unsafe {
        let made = abi().load(newintercomm);
        let facts = |_: &_| {
            let pair = communicators::union_identity(made, INTER)?;
            Some(identity::of_facts(b'n', pair, &[tag as u64]))
        };
        communicators::created_from(facts, parent, b'n', made);
    });
    done.code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Intercomm_create_from_groups(
    local_group: Word,
    local_leader: c_int,
    remote_group: Word,
    remote_leader: c_int,
    stringtag: Word,
    info: Word,
    errhandler: Word,
    newintercomm: Word,
) -> c_int {
    let real = real_function!(MPI_Intercomm_create_from_groups, fn(Word, c_int, Word, c_int, Word, Word, Word, Word));
    let Some(thread) = thread::following() else {
        return unsafe {
            real(local_group, local_leader, remote_group, remote_leader, stringtag, info, errhandler, newintercomm)
        };
    };
    let done = timed!(
        MPI_Intercomm_create_from_groups,
        real(local_group, local_leader, remote_group, remote_leader, stringtag, info, errhandler, newintercomm)
    );
    count(thread, communicators::none(), done);
    if done.code == 0 {
        guarded(|| unsafe {
            let made = abi().load(newintercomm);
            let facts = |_: &_| {
                let pair = communicators::union_identity(made, INTER)?;
                Some(identity::of_facts(b'N', pair, &text_words(stringtag)))
            };
            communicators::created_from(facts, communicators::none(), b'N', made);
        });
    }
    done.code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_spawn(
    command: Word,
    argv: Word,
    maxprocs: c_int,
    info: Word,
    root: c_int,
    comm: Word,
    intercomm: Word,
    array_of_errcodes: Word,
) -> c_int {
    let real = real_function!(MPI_Comm_spawn, fn(Word, Word, c_int, Word, c_int, Word, Word, Word));
    let Some(thread) = thread::following() else {
        return unsafe { real(command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes) };
    };
    let parent = parent(thread, comm);
    let done = timed!(MPI_Comm_spawn, real(command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes));
    unsafe { created(thread, parent, b'p', comm, intercomm, done) };
    done.code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_spawn_multiple(
    count: c_int,
    array_of_commands: Word,
    array_of_argv: Word,
    array_of_maxprocs: Word,
    array_of_info: Word,
    root: c_int,
    comm: Word,
    intercomm: Word,
    array_of_errcodes: Word,
) -> c_int {
    let real = real_function!(MPI_Comm_spawn_multiple, fn(c_int, Word, Word, Word, Word, c_int, Word, Word, Word));
    let forward = || unsafe {
        real(
            count,
            array_of_commands,
            array_of_argv,
            array_of_maxprocs,
            array_of_info,
            root,
            comm,
            intercomm,
            array_of_errcodes,
        )
    };
    let Some(thread) = thread::following() else { return forward() };
    let parent = parent(thread, comm);
    let done = timed_forward(forward, vocabulary::calls::op::MPI_Comm_spawn_multiple);
    unsafe { created(thread, parent, b'P', comm, intercomm, done) };
    done.code
}

fn timed_forward(forward: impl FnOnce() -> c_int, operation: u16) -> Done {
    let begin = crate::clock::now();
    let code = forward();
    Done { operation, code, ticks: crate::clock::now().wrapping_sub(begin) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_accept(port_name: Word, info: Word, root: c_int, comm: Word, newcomm: Word) -> c_int {
    let real = real_function!(MPI_Comm_accept, fn(Word, Word, c_int, Word, Word));
    let Some(thread) = thread::following() else { return unsafe { real(port_name, info, root, comm, newcomm) } };
    let parent = parent(thread, comm);
    let done = timed!(MPI_Comm_accept, real(port_name, info, root, comm, newcomm));
    unsafe { created(thread, parent, b'k', comm, newcomm, done) };
    done.code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_connect(
    port_name: Word,
    info: Word,
    root: c_int,
    comm: Word,
    newcomm: Word,
) -> c_int {
    let real = real_function!(MPI_Comm_connect, fn(Word, Word, c_int, Word, Word));
    let Some(thread) = thread::following() else { return unsafe { real(port_name, info, root, comm, newcomm) } };
    let parent = parent(thread, comm);
    let done = timed!(MPI_Comm_connect, real(port_name, info, root, comm, newcomm));
    unsafe { created(thread, parent, b'q', comm, newcomm, done) };
    done.code
}

/// One process on each side, joined over a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_join(fd: c_int, intercomm: Word) -> c_int {
    let real = real_function!(MPI_Comm_join, fn(c_int, Word));
    let Some(thread) = thread::following() else { return unsafe { real(fd, intercomm) } };
    let done = timed!(MPI_Comm_join, real(fd, intercomm));
    let own = communicators::of(thread, abi().comm_self);
    unsafe { created(thread, own, b'v', abi().comm_self, intercomm, done) };
    done.code
}

/// The intercommunicator to the processes that spawned this world: one, however often it is asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_get_parent(parent: Word) -> c_int {
    let real = real_function!(MPI_Comm_get_parent, fn(Word));
    let Some(thread) = thread::following() else { return unsafe { real(parent) } };
    let done = timed!(MPI_Comm_get_parent, real(parent));
    let world = communicators::world();
    count(thread, world, done);
    if done.code == 0 {
        guarded(|| unsafe {
            let made = abi().load(parent);
            if communicators::known(made) == communicators::none() {
                let facts = |_: &_| Some(identity::of_facts(b'e', (*world).identity, &[]));
                communicators::created_from(facts, world, b'e', made);
            }
        });
    }
    done.code
}

/// The handle loses its meaning before the library can give it to another communicator.
unsafe fn free(thread: &mut Thread, comm: Word, forward: impl FnOnce() -> Done) -> c_int {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if comm == 0 { abi().comm_null } else { unsafe { abi().load(comm) } };
    let record = communicators::leave(handle);
    // Delete functions of attributes may still use it, during the call.
    thread.dying.push((handle, record));
    let counted = thread.counted_ticks;
    let mut done = forward();
    done.ticks = without_nested(thread, counted, done.ticks);
    thread.dying.pop();
    communicators::forget_last();
    count(thread, record, done);
    if record != communicators::none() {
        if done.code == 0 {
            // SAFETY: records are never freed.
            unsafe { (*record).flags |= FREED };
        } else {
            communicators::enter(handle, record);
        }
    }
    done.code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_free(comm: Word) -> c_int {
    let real = real_function!(MPI_Comm_free, fn(Word));
    let Some(thread) = thread::following() else { return unsafe { real(comm) } };
    unsafe { free(thread, comm, || timed!(MPI_Comm_free, real(comm))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_disconnect(comm: Word) -> c_int {
    let real = real_function!(MPI_Comm_disconnect, fn(Word));
    let Some(thread) = thread::following() else { return unsafe { real(comm) } };
    unsafe { free(thread, comm, || timed!(MPI_Comm_disconnect, real(comm))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_set_name(comm: Word, comm_name: Word) -> c_int {
    let real = real_function!(MPI_Comm_set_name, fn(Word, Word));
    let Some(thread) = thread::following() else { return unsafe { real(comm, comm_name) } };
    let done = timed!(MPI_Comm_set_name, real(comm, comm_name));
    if done.code != 0 {
        tally::failed(thread, comm, done);
        return done.code;
    }
    let record = communicators::of(thread, comm);
    count(thread, record, done);
    if record == communicators::none() {
        return done.code;
    }
    guarded(|| unsafe {
        let label = CStr::from_ptr(comm_name as *const c_char).to_string_lossy();
        communicators::set_label(record, &label);
    });
    done.code
}

/// The bytes of a text as words to be hashed.
unsafe fn text_words(text: Word) -> Vec<u64> {
    // SAFETY: the call succeeded, so it was given a text.
    unsafe { CStr::from_ptr(text as *const c_char) }.to_bytes().iter().map(|byte| u64::from(*byte)).collect()
}
