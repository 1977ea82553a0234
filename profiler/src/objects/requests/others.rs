//! Requests that one thread started and another one completes: it takes them over when it looks for them.

use std::iter;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use commsee_runtime::{stack, table};

use super::request::{Extra, Kind, Partition, Request};
use super::slot::EMPTY;
use super::table::{Table, at};
use super::{Requests, Seen, names, site};
use crate::guest::latest::Latest;
use crate::guest::serial::Serial;
use crate::guest::state::{self, OWNERS};
use crate::mpi::abi::{Word, abi};
use crate::objects::shortcuts;
use crate::shard::memory;
use crate::sites;

/// Those of the first of all threads that ever called MPI while recording: each knows the next. They are never freed, so nobody needs
/// a lock to go through them.
static FIRST: AtomicPtr<Requests> = AtomicPtr::new(ptr::null_mut());

/// Held by the thread that takes a request over from another one, where it asks all of them.
static TAKING: Serial<()> = Serial::new(());

/// By handle, the threads that have started a request of it, or have taken one over, the latest first, once one was handed over: these are asked
/// first. To ask all of them took a program of 128 threads 9 µs each time. Many handles share a place, so that a word holds four threads.
static STARTERS: [AtomicU64; 1 << STARTERS_BITS] = [const { AtomicU64::new(0) }; 1 << STARTERS_BITS];

/// They take memory where they are used only: 128 KiB at most, for some 65 536 requests that are under way at a time.
const STARTERS_BITS: u32 = 14;

/// Threads by their numbers, of which 0 is nobody's. Those that come later are asked after all others.
static NUMBERED: [AtomicPtr<Requests>; MOST_NUMBERED] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST_NUMBERED];

const MOST_NUMBERED: usize = 4096;

/// So many have a number.
static JOINED: AtomicUsize = AtomicUsize::new(0);

/// The number of the thread that gave a request where all were asked.
static GAVE_LAST: AtomicU16 = AtomicU16::new(1);

/// To ask so many costs less than to tell.
const FEW_THREADS: usize = 8;

fn starters(handle: Word) -> &'static AtomicU64 {
    &STARTERS[(table::hash(handle as u64) >> (u64::BITS - STARTERS_BITS)) as usize]
}

/// The latest becomes the first, and whom there is no room for is forgotten.
fn starters_with(starters: u64, latest: u16) -> u64 {
    let mut with = u64::from(latest);
    let others = starters.to_le_bytes();
    let mut room = 16;
    for other in others.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])) {
        if other != latest && other != 0 && room < u64::BITS {
            with |= u64::from(other) << room;
            room += 16;
        }
    }
    with
}

/// Handles that a thread asked for and that no thread knew, each with how often requests of all threads had changed by then: generalized
/// requests, say, which a program polls. As long as none changes, nobody is asked again.
pub struct Unknown([Latest<Word, ()>; UNKNOWN]);

const UNKNOWN: usize = 16;

/// In the place of how often requests have changed.
const NOT_SUMMED: u64 = u64::MAX;

impl Unknown {
    pub const fn none() -> Unknown {
        Unknown([const { Latest::none(EMPTY, ()) }; UNKNOWN])
    }

    fn place(&self, handle: Word) -> &Latest<Word, ()> {
        &self.0[(handle ^ handle >> 4 ^ handle >> 8) % UNKNOWN]
    }
}

/// What a thread answers that is asked for a request.
enum Given {
    Request(Request, Option<Extra>),
    /// It may know one, but is completing it just now.
    Busy,
    Unknown,
}

impl Requests {
    /// A new thread's requests become known to all others. One thread at a time may do so.
    pub fn join(&'static self) {
        let (mut end, mut number) = (&FIRST, 1);
        // SAFETY: requests of threads are never freed.
        while let Some(requests) = unsafe { end.load(Ordering::Acquire).as_ref() } {
            state::share();
            end = &requests.next;
            number += 1;
        }
        if let Some(place) = NUMBERED.get(number) {
            place.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
            self.number.store(number as u16, Ordering::Relaxed);
            JOINED.store(number, Ordering::Release);
        }
        end.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    /// The thread ends: what it has left by a jump is for others.
    pub fn let_go(&self) {
        self.table.let_go(|left| self.anew(left));
        TAKING.let_go();
    }

    /// The program has jumped out of a call, perhaps while this thread was at another one's table.
    pub fn let_go_of_others(&self) {
        if self.is_at_others.load(Ordering::Relaxed) && !stack::is_in_handler() {
            self.is_at_others.store(false, Ordering::Relaxed);
            self.others().for_each(|other| other.table.leave());
        }
    }

    /// Those of all other threads.
    fn others(&self) -> impl Iterator<Item = &'static Requests> {
        let mut next = &FIRST;
        iter::from_fn(move || {
            loop {
                // SAFETY: as above.
                let requests = unsafe { next.load(Ordering::Acquire).as_ref() }?;
                next = &requests.next;
                if !ptr::eq(requests, self) {
                    return Some(requests);
                }
            }
        })
    }

    /// Others will find out that this thread has this request. Where two threads tell at once one may be missing, and is found otherwise.
    /// A handle of several threads' requests would be a word that all of them write to.
    #[inline(always)]
    pub(super) fn tell(&self, handle: Word) {
        if OWNERS.do_lock() && !abi().is_shared_request(handle) {
            let (place, own) = (starters(handle), self.number.load(Ordering::Relaxed));
            let starters = place.load(Ordering::Relaxed);
            // Most often the library gives a thread the same handles again.
            if starters as u16 != own && own != 0 {
                place.store(starters_with(starters, own), Ordering::Relaxed);
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn take_over(&self, unknown: &Unknown, handle: Word, stamp: u64) -> Option<Seen> {
        self.others().next()?;
        // A handler that has interrupted the owner may not wait for who waits for the owner, nor take what it cannot keep.
        if self.table.is_owner_at_it() {
            return None;
        }
        let _there = AtOthers::of(self);
        let place = unknown.place(handle);
        let given = match place.key() == handle {
            true => Given::Unknown,
            false => self.take_from_starter(handle),
        };
        if let Given::Request(request, extra) = given {
            return Some(self.adopt(handle, request, extra, stamp));
        }
        self.take_from_all(place, handle, stamp)
    }

    /// A request is nearly always found with who has started it.
    fn take_from_starter(&self, handle: Word) -> Given {
        for starter in self.starters(handle) {
            let given = starter.with_others(|| Given::Unknown, |table| starter.give(table, handle));
            if matches!(given, Given::Request(..)) {
                return given;
            }
        }
        Given::Unknown
    }

    /// Other threads that may have a request of this handle, the likeliest first.
    fn starters(&self, handle: Word) -> impl Iterator<Item = &'static Requests> {
        let numbers = starters(handle).load(Ordering::Relaxed);
        let numbered = (0..4).filter_map(move |at| NUMBERED.get(usize::from((numbers >> (16 * at)) as u16)));
        // SAFETY: requests of threads are never freed.
        let starters = numbered.filter_map(|place| unsafe { place.load(Ordering::Acquire).as_ref() });
        starters.filter(|starter| !ptr::eq(*starter, self))
    }

    #[cold]
    #[inline(never)]
    fn take_from_all(&self, place: &Latest<Word, ()>, handle: Word, stamp: u64) -> Option<Seen> {
        // Only who asks again and again, in vain, has to know whether anything has changed.
        let changes = match place.key() == handle {
            // A request that this thread may ask for was entered before its program knew of it, and so is among these.
            true => {
                self.others().fold(0u64, |sum, requests| sum.wrapping_add(requests.changes.load(Ordering::Acquire)))
            }
            false => NOT_SUMMED,
        };
        if changes != NOT_SUMMED && place.get(handle, changes).is_some() {
            return None;
        }
        // While nothing else moves: what is taken from a thread not yet asked for one that was asked before would be missed.
        let missing = || {
            memory::give_up_call();
            None
        };
        TAKING.with_or(missing, |()| match self.take_first(handle) {
            Given::Request(request, extra) => {
                // From now on who starts one tells. Where calls come one after the other nothing else needs a lock, and few are asked sooner.
                if self.others().nth(FEW_THREADS).is_some() {
                    OWNERS.lock();
                }
                place.keep(EMPTY, 0, ());
                Some(self.adopt(handle, request, extra, stamp))
            }
            Given::Busy => None,
            Given::Unknown => {
                place.keep(handle, changes, ());
                None
            }
        })
    }

    /// Those of all other threads, from the one on that was found to have a request the last time: of requests that share a handle it is likely to
    /// have more, and those behind it were not asked for long.
    fn others_in_turn(&self) -> impl Iterator<Item = &'static Requests> {
        let numbered = JOINED.load(Ordering::Acquire).min(MOST_NUMBERED - 1);
        let last = usize::from(GAVE_LAST.load(Ordering::Relaxed)).clamp(1, numbered.max(1));
        // SAFETY: requests of threads are never freed.
        let of = |number: usize| unsafe { NUMBERED[number].load(Ordering::Acquire).as_ref() };
        let in_turn = (last..=numbered).chain(1..last).filter_map(of).filter(|requests| !ptr::eq(*requests, self));
        let come_later = self.others().filter(|requests| requests.number.load(Ordering::Relaxed) == 0);
        in_turn.chain(come_later)
    }

    fn take_first(&self, handle: Word) -> Given {
        let mut is_busy = false;
        for requests in self.others_in_turn() {
            match requests.with_others(knows_nothing, |table| requests.give(table, handle)) {
                Given::Unknown => {}
                Given::Busy => is_busy = true,
                given => {
                    GAVE_LAST.store(requests.number.load(Ordering::Relaxed), Ordering::Relaxed);
                    return given;
                }
            }
        }
        // Those that were busy may have ended their calls by now.
        if is_busy { self.take_at_once(&FIRST, handle) } else { Given::Unknown }
    }

    /// The same of all that follow, as they are at one moment: nobody gets at his table until all have answered that come after it.
    fn take_at_once(&self, next: &AtomicPtr<Requests>, handle: Word) -> Given {
        // SAFETY: requests of threads are never freed.
        let Some(requests) = (unsafe { next.load(Ordering::Acquire).as_ref() }) else { return Given::Unknown };
        if ptr::eq(requests, self) {
            return self.take_at_once(&requests.next, handle);
        }
        requests.with_others(knows_nothing, |table| match self.take_at_once(&requests.next, handle) {
            given @ Given::Request(..) => given,
            Given::Busy => match requests.give(table, handle) {
                Given::Unknown => Given::Busy,
                given => given,
            },
            Given::Unknown => requests.give(table, handle),
        })
    }

    /// What is known of a partitioned request. It stays where it is: several threads may mark its partitions at the same time.
    pub fn partition(&self, handle: Word) -> Option<Partition> {
        self.partition_of(handle).or_else(|| self.partition_of(names::other(handle)?))
    }

    fn partition_of(&self, handle: Word) -> Option<Partition> {
        let of = |other: &Requests| other.with_others(|| None, |table| partition_in(table, handle));
        self.with(|| None, |table| partition_in(table, handle)).or_else(|| {
            let _there = AtOthers::of(self);
            self.starters(handle).find_map(of).or_else(|| self.others().find_map(of))
        })
    }

    /// The oldest request of a handle is handed to another thread, but none that the owner is completing just now: the
    /// library may already have given its handle to the request that the other thread asks for.
    fn give(&self, requests: &mut Table, handle: Word) -> Given {
        let Some(place) = requests.busy_slot_of(handle) else { return Given::Unknown };
        let slot = *at(&mut requests.slots, place);
        let mut request = slot.request();
        if slot.is_seen_by(self.looking.load(Ordering::Acquire)) {
            match requests.take_unseen(place) {
                Some(unseen) => request = unseen,
                None => return Given::Busy,
            }
        } else {
            requests.remove_first(place);
        }
        self.changed();
        // The shortcut is its thread's own; a site is the process's.
        if request.kind.receives() && sites::are_counted() {
            request.shortcut = site::for_any_thread(request.shortcut, request.posted);
        } else if request.kind != Kind::Plain {
            request.shortcut = shortcuts::unused();
        }
        let mut extra = requests.give_extra(request.extra);
        if let Some(Extra::Persistent(persistent)) = &mut extra {
            persistent.forget();
        }
        Given::Request(request, extra)
    }

    /// Takes a request over from another thread, as one that the look with this stamp has seen.
    fn adopt(&self, handle: Word, mut request: Request, extra: Option<Extra>, stamp: u64) -> Seen {
        let seen = Seen::of(handle, &request);
        self.tell(handle);
        self.with(
            || (),
            |requests| {
                self.changed();
                if let Some(extra) = extra {
                    match requests.keep_extra(extra) {
                        Some(place) => request.extra = place,
                        None => return memory::lose_call(),
                    }
                }
                self.put(requests, handle, request);
                if let Some(place) = requests.busy_slot_of(handle) {
                    let slot = at(&mut requests.slots, place);
                    if slot.stamp != stamp {
                        slot.stamp = stamp;
                        requests.look_anew(place);
                    } else if !slot.look_on() {
                        // What is before it under its handle this look has seen.
                        requests.look_on(place);
                    }
                }
            },
        );
        seen
    }
}

/// The answer of one that has left its table by a jump.
#[cold]
fn knows_nothing() -> Given {
    memory::give_up_call();
    Given::Unknown
}

/// As long as this is there, its thread may be at other threads' tables, which a handler of a signal may leave half changed, by a jump.
struct AtOthers<'a> {
    of: &'a Requests,
    /// A handler that comes in between does the same.
    was_there: bool,
}

impl AtOthers<'_> {
    #[inline(always)]
    fn of(of: &Requests) -> AtOthers<'_> {
        let was_there = of.is_at_others.load(Ordering::Relaxed);
        of.is_at_others.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        AtOthers { of, was_there }
    }
}

impl Drop for AtOthers<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.of.is_at_others.store(self.was_there, Ordering::Relaxed);
    }
}

fn partition_in(requests: &mut Table, handle: Word) -> Option<Partition> {
    let slot = requests.busy_slot_of(handle)?;
    let Request { comm, extra, .. } = at(&mut requests.slots, slot).request();
    let persistent = requests.persistent(extra)?;
    Some(Partition { comm, bytes: persistent.message_bytes, destination: persistent.partitions_to })
}
