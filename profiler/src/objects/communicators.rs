//! What a communicator handle means: a record in the shard.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Zeroable;
use vocabulary::creators;
use vocabulary::shard::{Communicator, FREED, INTER, InFlightCall, REMEMBERED, REMOTE};

use crate::guest::generation::generation;
use crate::guest::latest::Latest;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi::{self, Group};
use crate::mpi::world;
use crate::objects::freeing::BeingFreed;
use crate::objects::handles::Handles;
use crate::objects::identity::{self, Identity};
use crate::objects::records::{self, with_registry};
use crate::shard::{self, memory};

pub use crate::objects::records::{Record, none, prepare, several};

pub static HANDLES: Handles = Handles::new();
/// Registers `MPI_COMM_WORLD`.
pub fn add_world(world_rank: u32, world_size: u32) {
    let mut record = Communicator::zeroed();
    record.identity = identity::world();
    record.letter = creators::WORLD as u8;
    (record.rank, record.size) = (world_rank, world_size);
    if let Some(record) = with_registry(|registry| registry.keep(|| record)).flatten() {
        enter(abi().world, record);
    }
}

/// What one thread does with communicators.
pub struct Recent {
    /// The communicator that it used last, valid in one generation of handles.
    used: Latest<Word, Record>,
    /// The same of windows.
    pub window: Latest<Word, Record>,
    /// Communicators and windows that it is freeing just now.
    pub freeing: BeingFreed,
}

impl Recent {
    pub const fn none() -> Recent {
        Recent {
            used: Latest::none(0, ptr::null_mut()),
            window: Latest::none(0, ptr::null_mut()),
            freeing: BeingFreed::none(),
        }
    }

    /// Has the communicator that was used last looked up once more.
    pub fn forget(&self) {
        self.used.forget();
    }
}

/// The record of `MPI_COMM_WORLD`.
pub fn world() -> Record {
    find(abi().world).unwrap_or(none())
}

/// The record of a handle that a successful call was given. One that is not known yet is registered.
#[inline(always)]
pub fn of(recent: &Recent, comm: Word) -> Record {
    let handle = comm & abi().mask;
    match recent.used.get(handle, generation()) {
        Some(record) => record,
        None => look_up(recent, handle),
    }
}

#[inline(never)]
fn look_up(recent: &Recent, handle: Word) -> Record {
    let now = generation();
    let record = find(handle).or_else(|| recent.freeing.find(handle)).unwrap_or_else(|| foreign(handle));
    if record != none() {
        remember(record);
        recent.used.keep(handle, now, record);
    }
    record
}

/// The record of a handle that a call has been given which has not returned: nothing may be asked of the library now.
fn during_call(handle: Word) -> Record {
    find(handle).unwrap_or_else(|| if handle == abi().comm_self { foreign(handle) } else { none() })
}

/// The communicator that was looked up last while calls go on: the number of its handle in one generation.
pub struct LastLookUp(Latest<Word, u32>);

impl LastLookUp {
    pub const fn none() -> LastLookUp {
        LastLookUp(Latest::none(0, 0))
    }

    /// The number of the communicator of a call.
    #[inline(always)]
    pub fn of(&self, call: &InFlightCall) -> u32 {
        if !call.is_of_handle() {
            return call.comm as u32;
        }
        let handle = call.comm as Word & abi().mask;
        let now = generation();
        match self.0.get(handle, now) {
            Some(number) => number,
            None => self.look_up(handle, now),
        }
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self, handle: Word, now: u64) -> u32 {
        let record = during_call(handle);
        // SAFETY: records are never freed.
        let number = unsafe { (*record).number };
        if record != none() {
            remember(record);
            self.0.keep(handle, now, number);
        }
        number
    }
}

/// The record of a handle that may be none at all, because the call failed.
pub fn known(comm: Word) -> Record {
    find(comm & abi().mask).unwrap_or(none())
}

fn find(handle: Word) -> Option<Record> {
    HANDLES.find(handle)
}

/// A handle that nobody told us of: MPI_COMM_SELF, or what a library made without our seeing it.
#[cold]
fn foreign(handle: Word) -> Record {
    if handle == abi().comm_null {
        return none();
    }
    // Else each call would find it anew.
    if state::is_threaded() && !(HANDLES.are_open() && records::is_registry_open()) {
        memory::give_up_call();
        return none();
    }
    crate::guest::guard::guarded(|| {
        let is_self = handle == abi().comm_self;
        let letter = if is_self { creators::SELF } else { creators::FOREIGN };
        // SAFETY: the program has just used it in a call that succeeded.
        let mut record = if is_self { of_self() } else { unsafe { describe(handle, letter as u8) }? };
        record.identity = if is_self {
            identity::of_self(record.root)
        } else {
            // SAFETY: the program has just used it in a call that succeeded.
            let group = unsafe { union_identity(handle, record.flags) }?;
            identity::of_known(record.letter, group, &[])
        };
        with_registry(|registry| {
            if let Some(known) = find(handle) {
                return Some(known);
            }
            if !is_self {
                record.counter = registry.next_foreign();
            }
            let record = registry.keep(|| record)?;
            enter(handle, record);
            Some(record)
        })?
    })
    .flatten()
    .unwrap_or(none())
}

/// `MPI_COMM_SELF`, of which everything is known.
fn of_self() -> Communicator {
    let root = shard::header().map_or(0, |header| header.world_rank());
    Communicator { letter: creators::SELF as u8, root, size: 1, ..Communicator::zeroed() }
}

/// A communicator that is being made collectively over `parent`, which has seen `sequence` such calls.
pub unsafe fn created(parent: Record, sequence: u32, letter: u8, comm: Word, birthplace: impl FnOnce() -> u32) {
    let handle = comm & abi().mask;
    if handle == abi().comm_null {
        return;
    }
    // SAFETY: the call that made it has succeeded; records are never freed.
    let Some(mut record) = (unsafe { describe(handle, letter) }) else { return };
    // SAFETY: records are never freed.
    unsafe {
        record.parent = (*parent).number;
        record.identity = identity::child((*parent).identity, sequence, letter, record.root);
    }
    record.set_site(birthplace());
    register(record, handle);
}

/// A duplicate: all but its identity and name is its parent's. Its handle is entered when it is ready.
pub unsafe fn duplicate(parent: Record, sequence: u32, letter: u8, birthplace: u32) -> Option<Record> {
    // SAFETY: records are never freed.
    let parent = unsafe { &*parent };
    let identity = identity::child(parent.identity, sequence, letter, parent.root);
    let (remote, site_low) = parent.words_with_site(birthplace);
    let flags = parent.flags & !(FREED | REMEMBERED);
    let duplicate = || Communicator {
        identity,
        parent: parent.number,
        letter,
        flags,
        site_low,
        children: 0,
        collectives: 0,
        handle: 0,
        remote,
        ..*parent
    };
    with_registry(|registry| registry.keep_counted(duplicate))?
}

/// A communicator whose identity follows from what all its members know.
pub unsafe fn created_from(
    identity_of: impl FnOnce(&Communicator) -> Option<Identity>,
    parent: Record,
    letter: u8,
    comm: Word,
    birthplace: impl FnOnce() -> u32,
) {
    let handle = comm & abi().mask;
    if handle == abi().comm_null {
        return;
    }
    // SAFETY: the call that made it has succeeded; records are never freed.
    let Some(mut record) = (unsafe { describe(handle, letter) }) else { return };
    // SAFETY: records are never freed.
    record.parent = unsafe { (*parent).number };
    let Some(identity) = identity_of(&record) else { return };
    record.identity = identity;
    record.set_site(birthplace());
    register(record, handle);
}

/// The program has asked for its parents.
static HAS_ASKED_FOR_PARENTS: AtomicBool = AtomicBool::new(false);

/// What `MPI_Comm_get_parent` told: the communicator to the processes that spawned this world, one however often it is asked for.
pub unsafe fn met_parents(comm: Word, birthplace: impl FnOnce() -> u32) {
    HAS_ASKED_FOR_PARENTS.store(true, Ordering::Relaxed);
    let world = world();
    // SAFETY: the call has succeeded; records are never freed.
    unsafe {
        if known(comm) == none() {
            let identity = |_: &_| Some(identity::of_known(creators::PARENTS as u8, (*world).identity, &[]));
            created_from(identity, world, creators::PARENTS as u8, comm, birthplace);
        }
    }
}

/// Before the profile is made, which tells by the communicator to its parents that it is not that of the program that was started: also where the
/// program has never asked for them. MPI is not finalized yet.
pub fn meet_parents() {
    if HAS_ASKED_FOR_PARENTS.load(Ordering::Relaxed) {
        return;
    }
    let mut parents = 0;
    // SAFETY: the place has room for a handle of any family: an `int` handle fills the lower half. The call is local.
    unsafe {
        if pmpi::comm_get_parent(&mut parents).is_some() {
            met_parents(parents as Word, || 0);
        }
    }
}

fn register(record: Communicator, handle: Word) {
    if let Some(record) = with_registry(|registry| registry.keep_counted(|| record)).flatten() {
        enter(handle, record);
    }
}

/// The caller is about to remember what its handle means.
pub fn remember(record: Record) {
    // Where several threads may call, all of them are told always.
    if !state::is_threaded() {
        // SAFETY: records are never freed, and this is the only thread that calls.
        unsafe { (*record).flags |= REMEMBERED };
    }
}

/// Gives a record the handle under which the program will use it.
pub fn enter(handle: Word, record: Record) {
    // SAFETY: records are never freed.
    unsafe { (*record).handle = (handle & abi().mask) as u64 };
    HANDLES.enter(handle & abi().mask, record);
}

/// Takes the handle of a communicator away: where several threads may call, before it is freed, since another one may get the same handle at once.
pub fn leave(comm: Word) -> Record {
    HANDLES.leave(comm & abi().mask).unwrap_or(none())
}

/// Size, rank, root and kind of a communicator, asked of the library without communication.
unsafe fn describe(handle: Word, letter: u8) -> Option<Communicator> {
    let mut record = Communicator::zeroed();
    record.letter = letter;
    // SAFETY: the caller passes a communicator.
    unsafe {
        record.rank = pmpi::comm_rank(handle)? as u32;
        record.size = pmpi::comm_size(handle)? as u32;
        record.root = first_world_rank(&Group::of(handle)?)?;
        if record.root == u32::MAX {
            // Rank 0 is a process of another world: the first member of this one stands in for it.
            record.flags |= REMOTE;
            let members = world::members(Group::of(handle)?.handle())?;
            record.root = members.into_iter().find(|rank| *rank != u32::MAX)?;
        }
        if pmpi::comm_test_inter(handle)? != 0 {
            record.flags |= INTER;
            record.set_remote_size(pmpi::comm_remote_size(handle)? as u32);
            match first_world_rank(&Group::remote_of(handle)?)? {
                u32::MAX => record.flags |= REMOTE,
                // Both sides of these know a communicator of their own, even within one world.
                _ if matches!(letter, b'k' | b'q' | b'v') => {}
                remote => record.root = record.root.min(remote),
            }
        }
    }
    Some(record)
}

unsafe fn first_world_rank(group: &Group) -> Option<u32> {
    // SAFETY: a group has a rank 0.
    unsafe { world::world_ranks(group.handle(), &[0]) }?.first().copied()
}

/// The identity of a communicator's group; of an intercommunicator, of both groups in an order that both sides see alike.
pub unsafe fn union_identity(handle: Word, flags: u8) -> Option<Identity> {
    // SAFETY: the caller passes a communicator.
    let local = identity::group(&unsafe { world::members(Group::of(handle)?.handle()) }?);
    if flags & INTER == 0 {
        return Some(local);
    }
    // SAFETY: as above; it has a remote group.
    let remote = identity::group(&unsafe { world::members(Group::remote_of(handle)?.handle()) }?);
    let (low, high) = (local.min(remote), local.max(remote));
    Some([low[0] ^ high[1].rotate_left(1), low[1] ^ high[0].rotate_left(1)])
}

/// World rank of a rank of a communicator (of an intercommunicator: of its remote group); `None` where it cannot be had.
pub unsafe fn world_rank_of(record: Record, comm: Word, rank: c_int) -> Option<u32> {
    // SAFETY: the caller passes a communicator with its record, which is never freed.
    unsafe {
        let handle = comm & abi().mask;
        let group = if (*record).flags & INTER == 0 { Group::of(handle)? } else { Group::remote_of(handle)? };
        world::world_ranks(group.handle(), &[rank])?.first().copied()
    }
}
