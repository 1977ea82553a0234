//! The communicators of this process, by their handles.

mod identity;
pub mod make;

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};

use commsee_runtime::pointers::Pointers;
use commsee_runtime::{guard, memory};

use crate::abi::{Handle, SUCCESS};
use crate::library::Vendor;
use crate::module::{self, Module};
use crate::{peers, unseen};

/// One rank of a communicator. Never freed: what was counted on it may be told of it later.
pub struct Communicator {
    /// The core's; 0 where it had no room.
    pub number: u32,
    /// 0 where the library does not tell them.
    pub ranks: u32,
    pub rank: u32,
    /// Of its GPU, as CUDA numbers them in this process: [`Communicator::device`].
    device: AtomicI32,
    identity: [u64; 2],
    /// 0 once it is freed.
    handle: AtomicUsize,
    /// What the plugin knows it by; 0 if it may not.
    pub expected: u32,
    /// How many communicators were made of it, by those functions that all its ranks call.
    split: AtomicU32,
    shrunk: AtomicU32,
    grown: AtomicU32,
    /// The core's numbers of its ranks, as they are asked for; null without memory.
    peers: *mut AtomicU32,
}

static KNOWN: Pointers = Pointers::new(module::say_what_is_lost);

/// What is known of a handle.
#[inline(always)]
pub fn known(handle: Handle) -> Option<&'static Communicator> {
    // SAFETY: an address of `register`, which is never freed.
    KNOWN.get(handle as usize).map(|address| unsafe { at(address) })
}

/// The same for one with which a call succeeded: one that was made unseen is taken in now.
#[inline(always)]
pub fn known_or_new<V: Vendor>(module: &Module, handle: Handle) -> Option<&'static Communicator> {
    match known(handle) {
        Some(known) => Some(known),
        None => guard::guarded(|| make::first_seen::<V>(module, handle)).flatten(),
    }
}

/// Whether a call on a handle that is not known, or on none, is for the plugin to count: the program passes the wrappers by, and it is the library that
/// calls them, or nobody could say which of several communicators it is on.
#[cold]
pub fn is_for_the_plugin<V: Vendor>(handle: Handle) -> bool {
    V::HAS_PLUGIN
        && unseen::has_been()
        && (!IS_ANY_MADE.load(Ordering::Relaxed) || !handle.is_null() && unseen::count() > 1)
}

/// Whether the program has made any of a library with a plugin by the wrappers.
static IS_ANY_MADE: AtomicBool = AtomicBool::new(false);

/// The program frees it: the library may give the handle to the next one before its call returns.
pub fn forget(handle: Handle) -> Option<&'static Communicator> {
    let known = known(handle);
    KNOWN.remove(handle as usize);
    if let Some(known) = known {
        known.handle.store(0, Ordering::Relaxed);
    }
    known
}

/// It was not freed after all.
pub fn keep(handle: Handle, communicator: &'static Communicator) {
    communicator.handle.store(handle as usize, Ordering::Relaxed);
    KNOWN.set(handle as usize, address(communicator));
}

fn address(communicator: &'static Communicator) -> u64 {
    ptr::from_ref(communicator) as u64
}

/// SAFETY: of `address`.
unsafe fn at(address: u64) -> &'static Communicator {
    // SAFETY: none is ever freed.
    unsafe { &*(address as usize as *const Communicator) }
}

/// Whether the library says that a communicator is complete. Where it cannot say it, it is.
pub fn is_complete<V: Vendor>(handle: Handle) -> bool {
    let mut state = SUCCESS;
    // SAFETY: the handle is one that the library gave.
    !handle.is_null()
        && V::state().is_none_or(|ask| unsafe { ask(handle, &raw mut state) } == SUCCESS && state == SUCCESS)
}

/// What the library says of one that is complete: its ranks, and this one. None where it says nothing that can be: oneCCL 2022.2 answers for
/// splits on processors with success and whatever lay in the memory.
fn ask<V: Vendor>(handle: Handle) -> Option<(u32, u32)> {
    let (mut ranks, mut rank) = (0, -1);
    // SAFETY: the handle is one with which a call succeeded.
    unsafe {
        if V::ranks()?(handle, &raw mut ranks) != SUCCESS || V::rank()?(handle, &raw mut rank) != SUCCESS {
            return None;
        }
    }
    let (ranks, rank) = (u32::try_from(ranks).ok()?, u32::try_from(rank).ok()?);
    (rank < ranks && ranks <= MOST_RANKS).then_some((ranks, rank))
}

/// What is larger is no answer.
const MOST_RANKS: u32 = 1 << 24;

/// The ranks of a communicator of which nobody knows them, and this one.
const UNKNOWN: (u32, u32) = (0, commsee_hook::UNKNOWN);

/// Not asked for yet.
const UNASKED: i32 = -2;
/// The library does not tell.
const NO_DEVICE: i32 = -1;

impl Communicator {
    /// The number of its GPU; below 0 where that is not known.
    #[inline(always)]
    pub fn device(&self) -> i32 {
        self.device.load(Ordering::Relaxed)
    }

    /// What was called on it is done: it is complete, and knows its GPU.
    #[inline(always)]
    pub fn is_used<V: Vendor>(&self) {
        if self.device() == UNASKED {
            self.ask_device::<V>();
        }
    }

    #[cold]
    fn ask_device<V: Vendor>(&self) {
        let handle = self.handle.load(Ordering::Relaxed) as Handle;
        if !is_complete::<V>(handle) {
            return;
        }
        let mut device = NO_DEVICE;
        // SAFETY: the handle is one with which a call succeeded.
        let is_told = V::device().is_some_and(|ask| unsafe { ask(handle, &raw mut device) } == SUCCESS);
        self.device.store(if is_told { device } else { NO_DEVICE }, Ordering::Relaxed);
    }

    /// Whether both are ranks of one communicator, which may both be this process's.
    pub fn is_same(&self, other: &Communicator) -> bool {
        self.identity == other.identity
    }

    /// The core's number of a rank as a peer; 0 where there is none.
    #[inline(always)]
    pub fn peer(&self, module: &Module, rank: i32) -> u32 {
        let Some(rank) = u32::try_from(rank).ok().filter(|rank| *rank < self.ranks) else { return 0 };
        if self.peers.is_null() {
            return 0;
        }
        // SAFETY: there are as many as ranks.
        let place = unsafe { &*self.peers.add(rank as usize) };
        match place.load(Ordering::Relaxed) {
            0 => self.ask_peer(module, rank, place),
            number => number,
        }
    }

    #[cold]
    fn ask_peer(&self, module: &Module, rank: u32, place: &AtomicU32) -> u32 {
        let number = module.peer(peers::identity(self.identity, rank));
        place.store(number, Ordering::Relaxed);
        number
    }
}

/// By the number that the plugin knows it by: the core's number, and who it is.
pub fn of_expected(expected: u32) -> Option<(u32, [u64; 2])> {
    // SAFETY: as in `known`.
    let communicator = EXPECTED.get(expected as usize).map(|address| unsafe { at(address) })?;
    Some((communicator.number, communicator.identity))
}

/// Those that the plugin may be told of, by their numbers.
static EXPECTED: Pointers = Pointers::new(module::say_what_is_lost);

/// Who a communicator is, before it is known to the core.
struct New<'a> {
    identity: [u64; 2],
    ranks: u32,
    rank: u32,
    letter: u8,
    label: &'a [u8],
    parent: u32,
    expected: u32,
}

fn register<V: Vendor>(module: &Module, handle: Handle, new: &New) -> Option<&'static Communicator> {
    let mut label = [0; LABEL_BYTES];
    let length = new.label.len().min(LABEL_BYTES - 1);
    label[..length].copy_from_slice(&new.label[..length]);
    let number = module.communicator_number(&commsee_hook::Communicator {
        ranks: new.ranks,
        identity: new.identity,
        label: label.as_ptr().cast(),
        rank: new.rank,
        parent: new.parent,
        letter: new.letter.cast_signed() as _,
        layer: V::NAME.as_ptr(),
        ..commsee_hook::Communicator::NONE
    });
    if new.ranks > 0 {
        module.own_identity(peers::identity(new.identity, new.rank));
    }
    let communicator = memory::keep(Communicator {
        number,
        ranks: new.ranks,
        rank: new.rank,
        device: AtomicI32::new(UNASKED),
        handle: AtomicUsize::new(handle as usize),
        identity: new.identity,
        expected: new.expected,
        split: AtomicU32::new(0),
        shrunk: AtomicU32::new(0),
        grown: AtomicU32::new(0),
        peers: memory::zeroed(new.ranks as usize),
    });
    let Some(communicator) = communicator else {
        module::say_what_is_lost();
        return None;
    };
    keep(handle, communicator);
    if V::HAS_PLUGIN && new.letter != make::letter::UNSEEN {
        IS_ANY_MADE.store(true, Ordering::Relaxed);
    }
    if new.expected != 0 {
        EXPECTED.set(new.expected as usize, address(communicator));
    }
    Some(communicator)
}

/// What a profile keeps of a name.
const LABEL_BYTES: usize = 64;
