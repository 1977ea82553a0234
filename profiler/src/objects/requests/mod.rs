//! To whom a request belongs: one map, from a handle to the requests that were started under it, oldest first. A handle alone does not
//! tell: libraries give one to several live requests (those that are complete at once, in Open MPI and in MPICH), and give it again as soon
//! as it is free.
//!
//! ```text
//!                    start                  take                       complete
//!   MPI_Isend, … ────────────▶  Active  ────────────▶  in the call  ────────────▶  counted, Gone
//!                                 ▲                         │
//!                                 └───────── put_back ──────┘  the call has not completed it
//!
//!                    start                 restart                  complete
//!   MPI_Send_init ───────────▶  Inactive ────────────▶  Started  ────────────▶  counted, Inactive
//!                                  │                       │
//!                                  └──────── forget ───────┴──▶  Gone   (MPI_Request_free, a call that failed)
//! ```
//!
//! A call that may complete requests takes them out before it, since afterwards their handles are null, or another thread's request has
//! them; it completes what has completed, and puts back the rest. Persistent ones have their handles for themselves, and stay in the map.
//!
//! Any thread may complete what another one has started. So the map is all threads': one table where calls come one after the other, and under
//! `MPI_THREAD_MULTIPLE` shards, each with its lock. Of requests that share a handle a thread is given its own first. If it has none, either of others' may be taken for
//! the other.

mod names;
mod persistent;
mod request;
pub mod site;
mod table;

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use commsee_runtime::table::{Finder, hash};

use crate::guest::serial::Serial;
use crate::guest::state::{self, Alone};
use crate::mpi::abi::{Word, abi};
use crate::objects::records::Record;
use crate::shard::memory;

pub use names::{OtherName, come_from_fortran, prepare};
pub use persistent::{Counted, Message, Persistent, Starts};
pub use request::{Extra, HandleAddress, Kind, Partition, Request, State, receives};
use table::{SHARD_BITS, Slot, Table};

/// Where requests are as long as calls come one after the other.
static FREE: Serial<Table> = Serial::new(Table::none());
/// It was used.
static HAS_FREE: AtomicBool = AtomicBool::new(false);

static SHARDS: [Shard; 1 << SHARD_BITS] = [const { Shard(Serial::new(Table::none())) }; 1 << SHARD_BITS];

/// A cache line of its own.
#[repr(align(64))]
struct Shard(Serial<Table>);

/// A request that a call was given.
#[derive(Clone, Copy)]
pub struct Noted {
    /// By which it is known.
    pub handle: Word,
    pub request: Request,
    /// Its place in the array that the call was given.
    pub index: usize,
}

/// The way to the map, for one handle after the other. Nothing may come back here while it is there.
pub struct Map {
    way: Way,
    /// Finds slots where no lock is needed, until the first is put in.
    finder: Option<Finder<'static, Slot>>,
}

#[derive(Clone, Copy)]
enum Way {
    /// Calls come one after the other.
    Free(Alone),
    /// Each shard has to be locked.
    Locked,
}

/// The shard of a request that a thread has started. What was started before several threads could call stays where it was put.
fn shard_of(handle: Word, thread: u16) -> &'static Serial<Table> {
    let is_there = |table: &mut Table| table.busy_slot(handle).is_some();
    if HAS_FREE.load(Ordering::Relaxed) && FREE.with(is_there) == Some(true) {
        return &FREE;
    }
    // Threads would wait for one another where they share a handle.
    let own = if abi().is_shared_request(handle) { u64::from(thread) << 32 } else { 0 };
    &SHARDS[(hash(handle as u64 ^ own) >> (u64::BITS - SHARD_BITS)) as usize].0
}

impl Map {
    #[inline(always)]
    pub fn enter() -> Map {
        match state::alone() {
            // SAFETY: nothing comes back here.
            Some(alone) => Map { way: Way::Free(alone), finder: unsafe { FREE.of(alone) }.finder() },
            None => Map { way: Way::Locked, finder: None },
        }
    }

    /// The slot of a handle, where no lock is needed.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    fn slot(&self, handle: Word) -> Option<&mut Slot> {
        table::slot_in(self.finder.as_ref()?, handle)
    }

    /// Notes the oldest request of a handle, which a call of this thread may complete, if it is active; with `inactive` also a persistent one that
    /// is not started. It is gone from the map, if it is not persistent, until [`Noted::put_back`]. False where there is none.
    ///
    /// # Safety
    /// There is room for it.
    #[inline(always)]
    pub unsafe fn take(&self, thread: u16, handle: Word, index: usize, noted: *mut Noted, inactive: bool) -> bool {
        // SAFETY: as demanded.
        unsafe {
            (&raw mut (*noted).index).write(index);
            match self.slot(handle) {
                Some(slot) if slot.is_alone() => {
                    (&raw mut (*noted).handle).write(handle);
                    slot.take_into(&raw mut (*noted).request);
                    true
                }
                _ => take_otherwise(self.way, thread, handle, noted, inactive),
            }
        }
    }

    /// Takes a request that is active, and the only one of its handle, where no lock is needed, if it is of this communicator, or that is null. Tells of
    /// which it is.
    ///
    /// # Safety
    /// There is room for it.
    #[inline(always)]
    pub unsafe fn take_only(&self, handle: Word, of: Record, noted: *mut Noted) -> Option<Record> {
        let slot = self.slot(handle).filter(|slot| slot.is_alone())?;
        let comm = slot.first.comm;
        if comm != of && !of.is_null() {
            return None;
        }
        // SAFETY: as demanded.
        unsafe {
            (&raw mut (*noted).handle).write(handle);
            slot.take_into(&raw mut (*noted).request);
        }
        Some(comm)
    }

    /// What a call that polls is given, if it is active, and all requests of its handle are of one communicator: that, and their kinds. None
    /// where other threads may come.
    #[inline(always)]
    pub fn peek(&self, handle: Word) -> Option<(Record, u8)> {
        self.slot(handle)?.peek()
    }
}

/// Works on the table of a handle; `missing` where nobody can be at that now.
#[inline(always)]
fn with<R>(way: Way, (handle, thread): (Word, u16), missing: R, work: impl FnOnce(&mut Table) -> R) -> R {
    let done = match way {
        // SAFETY: it was entered, and nothing comes back here.
        Way::Free(alone) => return work(unsafe { FREE.of(alone) }),
        Way::Locked => shard_of(handle, thread).with(work),
    };
    done.unwrap_or_else(|| {
        memory::give_up_call();
        missing
    })
}

/// As [`Map::take`], whatever it takes.
#[inline(never)]
unsafe fn take_otherwise(way: Way, thread: u16, handle: Word, noted: *mut Noted, inactive: bool) -> bool {
    let take = |handle| {
        let take = |table: &mut Table| {
            let slot = table.busy_slot(handle)?;
            // SAFETY: as demanded.
            unsafe {
                (&raw mut (*noted).handle).write(handle);
                let place = &raw mut (*noted).request;
                match slot.first.state {
                    State::Active if slot.has_others() => place.write(slot.take_of(thread)),
                    _ => slot.take_into(place),
                }
            }
            Some(())
        };
        with(way, (handle, thread), None, take).or_else(|| of_others(way, handle, take)).is_some()
    };
    // SAFETY: written just now.
    (take(handle) || names::other(handle).is_some_and(take)) && unsafe { inactive || (*noted).request.is_active() }
}

/// What other threads have started under a handle that they share.
#[cold]
fn of_others<R>(way: Way, handle: Word, find: impl Fn(&mut Table) -> Option<R>) -> Option<R> {
    let are_elsewhere = matches!(way, Way::Locked) && abi().is_shared_request(handle);
    if are_elsewhere { SHARDS.iter().find_map(|shard| shard.0.with(&find).flatten()) } else { None }
}

/// A call has started a request, which is put together where it goes. `is_within`: it was made in another call, whose request may have got the
/// same handle.
#[inline(always)]
pub fn start(handle: Word, request: impl Fn() -> Request, is_within: bool) {
    let map = Map::enter();
    if let Some(slot) = map.slot(handle) {
        if slot.first.state == State::Gone {
            slot.first = request();
            return;
        }
        if slot.start_alike(&request()) {
            return;
        }
    }
    start_otherwise(map.way, handle, request(), is_within);
}

#[inline(never)]
fn start_otherwise(way: Way, handle: Word, request: Request, is_within: bool) {
    with(way, (handle, request.thread), (), |table| match table.slot(handle) {
        Some(slot) if slot.first.state == State::Gone => slot.first = request,
        Some(slot) => slot.start(request, is_within),
        None => start_first(table, handle, request),
    });
}

#[cold]
#[inline(never)]
fn start_first(table: &mut Table, handle: Word, mut request: Request) {
    HAS_FREE.store(HAS_FREE.load(Ordering::Relaxed) || !state::is_threaded(), Ordering::Relaxed);
    if handle == abi().request_null {
        drop(request.take_extra());
    } else {
        table.insert(handle, request);
    }
}

/// The oldest request of a handle, which stays where it is: the handle by which it is known, and what is asked of it.
#[inline(always)]
pub fn find<R>(handle: Word, ask: impl Fn(&Request) -> R) -> Option<(Word, R)> {
    let find = |handle| {
        let elsewhere = |table: &mut Table| Some(ask(&table.busy_slot(handle)?.first));
        let found = in_place(handle, |request| ask(request));
        Some((handle, found.or_else(|| of_others(Map::enter().way, handle, elsewhere))?))
    };
    find(handle).or_else(|| find(names::other(handle)?))
}

impl Noted {
    /// Room for one.
    #[inline(always)]
    pub fn none() -> Noted {
        let request = Request { state: State::Gone, ..Request::new(0, ptr::null_mut(), Kind::Plain) };
        Noted { handle: 0, request, index: 0 }
    }

    /// The call has not completed it.
    #[inline(always)]
    pub fn put_back(&self) {
        if self.request.state == State::Active {
            self.restore();
        }
    }

    #[inline(always)]
    fn restore(&self) {
        let map = Map::enter();
        match map.slot(self.handle) {
            Some(slot) if slot.first.state == State::Gone => slot.first = self.request,
            _ => self.put_back_otherwise(map.way),
        }
    }

    #[inline(never)]
    fn put_back_otherwise(&self, way: Way) {
        with(way, (self.handle, self.request.thread), (), |table| match table.slot(self.handle) {
            Some(slot) => slot.put_back(&self.request),
            None => table.insert(self.handle, self.request),
        });
    }

    /// It has completed. A persistent one may be started again.
    #[inline(always)]
    pub fn complete(&mut self) {
        if self.request.state == State::Started {
            in_place(self.handle, |request| {
                if request.extra == self.request.extra {
                    request.state = State::Inactive;
                }
            });
        }
        self.request.state = State::Gone;
    }
}

/// Works on a request where it is, by the handle that it is known by. The work must not come back here.
#[inline(always)]
pub fn in_place<R>(handle: Word, work: impl FnOnce(&mut Request) -> R) -> Option<R> {
    let map = Map::enter();
    if let Way::Free(_) = map.way {
        let slot = map.slot(handle)?;
        return if slot.first.state == State::Gone { None } else { Some(work(&mut slot.first)) };
    }
    // Those that share their handles are nobody's in place.
    with(map.way, (handle, 0), None, |table| table.busy_slot(handle).map(|slot| work(&mut slot.first)))
}

/// Takes a request out that a call may free, persistent or not: that which the thread would be given first.
pub fn remove(thread: u16, handle: Word) -> Option<Removed> {
    let map = Map::enter();
    let remove = |handle| {
        let remove = |table: &mut Table| {
            let slot = table.busy_slot(handle)?;
            Some(if slot.first.is_persistent() { slot.take() } else { slot.take_of(thread) })
        };
        let request = with(map.way, (handle, thread), None, remove).or_else(|| of_others(map.way, handle, remove))?;
        Some(Removed(Noted { handle, request, index: 0 }))
    };
    remove(handle).or_else(|| remove(names::other(handle)?))
}

/// It comes back where the call has not freed it.
pub struct Removed(Noted);

impl Removed {
    pub fn comm(&self) -> Record {
        self.0.request.comm
    }

    /// The call has freed it.
    pub fn gone(mut self) {
        self.0.request.state = State::Gone;
        drop(self.0.request.take_extra());
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        if self.0.request.state != State::Gone {
            self.0.restore();
        }
    }
}

/// The library has freed a persistent request in a call that failed.
pub fn forget(noted: &Noted) {
    let map = Map::enter();
    let gone =
        with(map.way, (noted.handle, 0), None, |table| table.busy_slot(noted.handle)?.remove(noted.request.extra));
    drop(gone.and_then(|mut gone| gone.take_extra()));
}

/// Works on what is known of a persistent request.
#[inline(always)]
pub fn persistent<R>(handle: Word, work: impl FnOnce(&mut Request, &mut Persistent) -> R) -> Option<R> {
    in_place(handle, |request| {
        // SAFETY: in place; what is known of it lies apart.
        let persistent: *mut Persistent = unsafe { request.persistent()? };
        // SAFETY: as above.
        Some(work(request, unsafe { &mut *persistent }))
    })
    .flatten()
}

/// What is known of a partitioned request.
pub fn partition(handle: Word) -> Option<Partition> {
    let (handle, _) = find(handle, |_| ())?;
    persistent(handle, |request, persistent| Partition {
        comm: request.comm,
        bytes: persistent.message_bytes,
        destination: persistent.partitions_to,
    })
}
