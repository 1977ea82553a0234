//! Calls that make communicators without one that all members have: what they know instead decides on the name.

use std::ffi::{CStr, c_char, c_int};

use vocabulary::shard::INTER;

use super::creators::{birthplace, count, created};
use super::forward::timed;
use crate::guest::guard::{guarded, recorded};
use crate::mpi::abi::{Word, abi};
use crate::objects::{communicators, identity};
use crate::record::carriers::Comm;
use crate::record::tally;
use crate::thread::Thread;

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
            communicators::created_from(identity, parent, b'u', made, || birthplace(thread));
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
                communicators::created_from(identity, communicators::none(), b'f', made, || birthplace(thread));
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
            communicators::created_from(identity, parent, b'n', made, || birthplace(thread));
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
                communicators::created_from(identity, communicators::none(), b'N', made, || birthplace(thread));
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
                communicators::met_parents(made, || birthplace(thread));
            });
        }
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
